/*
 * Control of impedance devices: what the device is to exert and what the model is to feel, so that
 * the hand has the model's held frame in it (mechanisms II, IV, V).
 *
 * All quantities in task space at the held frame's origin, world axes, [v; w] and [f; t]. Pure
 * functions of their arguments and a small state; one state per tool, on the loop's thread, RT
 * safe.
 */
#ifndef GW_CONTROL_RENDERING_H
#define GW_CONTROL_RENDERING_H

#include "rt/control/resisted.h"

typedef enum gw_rendering_kind {
    GW_RENDER_IMPEDANCE,   /* eq. 11: the device's acceleration follows the model's */
    GW_RENDER_PENALTY,     /* eq. 18: the same, and penalties along resisted directions */
    GW_RENDER_COUPLING,    /* a spring and damper between device and model, nothing else */
    GW_RENDER_FOUR_CHANNEL /* force fed forward and back, coordination; the device keeps its mass */
} gw_rendering_kind;

/* Which terms the model's acceleration at the hand has: all, or without J-dot v as in the paper. */
typedef enum gw_jdot { GW_JDOT_FULL, GW_JDOT_PAPER } gw_jdot;

/* Where the hand's wrench comes from. */
typedef enum gw_hand_force {
    GW_HAND_MEASURED,  /* by the device's sensor */
    GW_HAND_ESTIMATED, /* M_d a - u of the last tick, filtered: an estimate */
    GW_HAND_UNKNOWN    /* taken as zero */
} gw_hand_force;

typedef struct gw_spring6 {
    double linear, angular;                 /* N/m, N m/rad */
    double linear_damping, angular_damping; /* N s/m, N m s/rad */
} gw_spring6;

typedef struct gw_rendering_def {
    gw_rendering_kind kind;
    gw_jdot jdot;
    gw_hand_force hand;
    gw_resisted_def resisted;
    gw_spring6 coordination;         /* K_pc, B_pc (eq. 19, 20) */
    gw_spring6 coupling;             /* K_vc, B_vc; 0: the stiffest that the bound allows */
    double penalty, penalty_damping; /* k_j (1/s^2), b_j (1/s) of eq. 17 */
    bool penalty_by_mass;            /* wrench M_d n as in the paper; else n itself */
    bool passivity;                  /* the device port's passivity controller is on */
    double mass_known;               /* what control takes M_d for, as a part of what it is; 0: 1 */
} gw_rendering_def;

gw_rendering_def gw_rendering_def_default(void);

/* The model at the held frame in this tick. */
typedef struct gw_rendered {
    int dof;
    gw_pose pose;
    gw_twist twist;
    const double (*jacobian)[6];  /* columns */
    double drift[6];              /* J-dot v */
    double inverse_inertia[6][6]; /* Lambda^-1 = J D^-1 P J^T */
    double free[6]; /* J D^-1 tau: of weight, bias, motors and contacts (eq. 12, 13) */
    double hit[6];  /* J D^-1 J_c^T p / dt: of the last step's impulses, for one tick */
} gw_rendered;

/* The device in this tick. M_d is a mass and principal moments, in task space. */
typedef struct gw_rendering_device {
    gw_pose pose;
    gw_twist twist;
    gw_wrench hand;                  /* as measured; zero where it is not */
    double mass;                     /* kg */
    double inertia;                  /* kg m^2 */
    double damping, damping_angular; /* C_d as far as it is known: N s/m, N m s/rad */
    double force_max, torque_max;    /* 0: unlimited */
    bool planar;                     /* moves in x, y and turns about z only */
} gw_rendering_device;

/* What a tick gives. */
typedef struct gw_rendering_out {
    gw_wrench command;  /* u: for the device to exert */
    gw_wrench on_model; /* at the held frame: hand's force fed forward, coordination, coupling */
    gw_wrench hand;     /* F_h as it was taken */
    gw_wrench impulse;  /* the part of `command` that is impulsive, before the clamp */
    double withheld;    /* of impulses, by the clamp, dropped for good (N s) */
    double damped;      /* by the passivity controller (J) */
    double weights;     /* energy that changed weights put into the penalties' springs (J) */
    bool limited;
} gw_rendering_out;

typedef struct gw_rendering {
    gw_rendering_def def;
    gw_resisted resisted; /* directions of this tick */
    gw_wrench last;       /* command of the last tick */
    gw_twist last_twist;
    gw_wrench estimate;
    double port;     /* energy that came out of the device's port so far (J) */
    gw_wrench owed;  /* impulse that the clamp held back and that is still to come (N s) */
    double owed_for; /* s since it began */
    bool started;
} gw_rendering;

void gw_rendering_init(gw_rendering *r, const gw_rendering_def *def);

/* One tick of control. */
gw_rendering_out gw_rendering_tick(gw_rendering *r, const gw_rendered *model,
                                   const gw_rendering_device *device, double dt);

/* The stiffest virtual coupling that a device of mass m, a model of mass m_model at the period dt,
 * with `delay` more, stands: N/m for a damping ratio of one. Theory in README.md. */
gw_spring6 gw_coupling_bound(double device_mass, double device_inertia, double model_mass,
                             double model_inertia, double dt, double delay);

#endif
