/*
 * The desired impedance of a held frame: mass, damping and stiffness that the hand is to feel
 * there in place of the model's own (mechanisms eq. 4):
 *
 *   M_d x_h'' + b_d x_h' + k_d x_h = F_h + F_env
 *
 * in the axes of the held frame, x_h counted from the pose at which the tool took hold. It is
 * realised as a wrench on the model, so that the model moves by eq. 4 and every control law renders
 * that motion. Directions that joints or constraints resist stay resisted: M_d acts only in the
 * range of Lambda^-1 = J_h D^-1 P J_h^T (eq. 6, 18). README.md has the derivation.
 *
 * All wrenches and twists: at the held frame's origin, world axes. One state per tool, on the
 * loop's thread, RT safe.
 */
#ifndef GW_HAPTICS_DESIRED_IMPEDANCE_H
#define GW_HAPTICS_DESIRED_IMPEDANCE_H

#include "rt/haptics/operational_space.h"

/* Diagonals of M_d, b_d and k_d: x, y, z, then about x, y, z of the held frame. All zero and no
 * mass: the model's own impedance is rendered. */
typedef struct gw_desired_def {
    bool has_mass;       /* false: the model's own */
    double mass[6];      /* kg, kg m^2; all > 0 where there is one */
    double damping[6];   /* N s/m, N m s/rad; >= 0 */
    double stiffness[6]; /* N/m, N m/rad; >= 0 */
} gw_desired_def;

/* A direction whose own inertia exceeds M_d by more than this factor is rendered with its own
 * inertia over this factor: near a singular posture its inertia, and with it the wrench, would be
 * unbounded. Where the motion passes such a posture within a few steps, the model's own is felt.
 */
#define GW_DESIRED_MASS_RATIO 100.0

#define GW_DESIRED_KEPT 48 /* figures of a tick that the next two look back on */

typedef struct gw_desired_impedance {
    gw_desired_def def;
    bool active; /* there is something to render */
    gw_pose rest;
    /* of this tick, in the held frame's axes */
    double gain[6][6];        /* wrench felt to wrench on the model: Lambda Lambda_d^-1, and */
    double by_environment[6]; /* wrench that brings the model's own free acceleration to eq. 4's:
                                 amid the step, by those of the last ticks */
    double by_acceleration[6][6];    /* the same for any free acceleration */
    double past[2][GW_DESIRED_KEPT]; /* of the last two ticks as they began: gain, by_environment
 where M_d is lighter, and where it is heavier */
    int known;                       /* of `past` */
    double inverse[6][6];            /* Lambda_d^-1 */
    double free[6], twist[6];        /* acceleration by F_env alone; [v; w] as the tick begins */
    double dt;
    gw_pose pose; /* as the tick begins */
    bool is_held; /* damper and spring are stiff: their wrench holds for the tick */
    gw_wrench held;
    int too_light;                             /* directions felt heavier than desired */
    bool has_last;                             /* of the last tick, in the held frame's axes: */
    double last_v[6][6], last_s[6], last_g[6]; /* m Lambda^-1 m = V S V^T, and g */
    bool shows_all;  /* all of the model's motion is that of the held frame, as judged by some */
    bool is_judged;  /* ticks, once there was one; */
    int differs;     /* ticks in a row that say otherwise */
    bool is_audited; /* a desired mass acts in this tick, and nothing inside the model is stiff: */
    double shaped;   /* 1/2 x'^T (M - Lambda) x' as it begins (J) */
    double told, told_lost; /* by gw_desired_unrendered() (J) */
    double worked, unseen;  /* sums of gw_desired_make_passive() (J): work of F_d and impulses, E */
    double lost;            /* what was taken out of the motion, or did not come back to it (J) */
    double tank;            /* what the desired mass took from the model and may give back (J) */
    double energy, power;   /* of the spring (J), of the damper (W), as the tick begins */
} gw_desired_impedance;

/* Sets another impedance from the next tick on, with its rest pose at the held frame's present one;
 * the rest pose is kept if the stiffness is unchanged. */
void gw_desired_take(gw_desired_impedance *d, const gw_desired_def *def, const gw_pose *held);

/* Begins a tick of dt seconds: replaces the model's own state at the held frame by the rendered
 * one, Lambda_d^-1 and the free acceleration of eq. 4, for the control laws. */
void gw_desired_begin(gw_desired_impedance *d, gw_operational_state *state, double dt);

/* Sets the wrench that hand and control apply in this tick, for gw_desired_wrench(). */
void gw_desired_apply(gw_desired_impedance *d, const gw_wrench *applied);

/* A hand at a model that another hand holds as well. */
typedef struct gw_desired_hold {
    gw_desired_impedance *desired;
    gw_wrench applied; /* of hand and control in this tick */
} gw_desired_hold;

/* After gw_desired_apply(): stiff springs and dampers of two hands at one model, in one implicit
 * step of both, which the wrench of a hand without such takes part in as it is. `between`:
 * gw_operational_inverse_between(). Nothing where none is stiff, or one desires a mass: its wrench
 * on the model is not that at its hand. */
void gw_desired_hold_together(const gw_desired_hold *a, const gw_desired_hold *b,
                              const double between[6][6]);

/* After gw_desired_apply() of both: the wrench of another hand at another body of the model is one
 * of the environment's (eq. 13). `between`: the acceleration at d's held frame by a wrench at the
 * other's. Nothing where d desires no mass. */
void gw_desired_feel_other(gw_desired_impedance *d, const gw_desired_hold *other,
                           const double between[6][6]);

/* True if gw_desired_hold_together() has something to do. */
bool gw_desired_is_stiff_with(const gw_desired_impedance *a, const gw_desired_impedance *b);

/* The wrench on the model with the held frame at `pose` and the twist `twist`. */
gw_wrench gw_desired_wrench(const gw_desired_impedance *d, const gw_wrench *applied,
                            const gw_pose *pose, const gw_twist *twist);

/* After the model's step, where the tick `is_audited`: the impulse on the model, in world axes at
 * the held frame, that takes out what the step gained from the desired mass. `end`: the model's
 * pose, twist and inverse inertia there; `by_impulses`: the part of the twist that impulses of
 * contacts made; `work`: of the wrench on the model less that of hand, spring and damper (J). */
gw_wrench gw_desired_make_passive(gw_desired_impedance *d, const gw_operational_state *end,
                                  const double by_impulses[6], double work);

/* Energy that the model gained from the desired mass and that could not be taken out of the held
 * frame's motion (J), as other bodies have it; negative: what was taken out of the motion, as a
 * passive M could not be felt. 0 up to 1e-6 of the model's kinetic energy, and until it is twice
 * what was told last. */
double gw_desired_unrendered(gw_desired_impedance *d, double kinetic);

/* 1/2 x_h^T k_d x_h (J), and the work of b_d x_h' in a tick (J) that ends at `pose` and `twist`. */
double gw_desired_energy(const gw_desired_impedance *d, const gw_pose *pose);
double gw_desired_damping_work(const gw_desired_impedance *d, const gw_pose *pose,
                               const gw_twist *twist);

/* Lower bound of the rendered mass (kg) and of the rendered inertia (kg m^2) in any direction; 0
 * without a desired mass. */
double gw_desired_least_mass(const gw_desired_def *def);
double gw_desired_least_inertia(const gw_desired_def *def);

#endif
