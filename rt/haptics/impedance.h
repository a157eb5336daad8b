/*
 * Control of impedance devices: what the device is to exert and what the model is to feel, so that
 * the hand has the model's held frame in it (mechanisms II, IV, V).
 *
 * A tick has two halves. gw_impedance_pre_step() tells what the model is to feel; the model steps;
 * gw_impedance_post_step() tells what the device is to exert while the same tick lasts, knowing
 * what the step did: contacts, impulses and bends reach the hand when they reach the model.
 *
 * All quantities in task space at the held frame's origin, world axes, [v; w] and [f; t]. Pure
 * functions of their arguments and a small state; one state per tool, on the loop's thread, RT
 * safe.
 */
#ifndef GW_HAPTICS_IMPEDANCE_H
#define GW_HAPTICS_IMPEDANCE_H

#include "rt/haptics/penalty.h"
#include "rt/haptics/passivity.h"
#include "rt/haptics/operational_space.h"
#include "rt/haptics/virtual_coupling.h"
#include "rt/haptics/impulse_rendering.h"

typedef enum gw_control_law {
    GW_LAW_IMPEDANCE,   /* eq. 11: the device's acceleration follows the model's */
    GW_LAW_PENALTY,     /* eq. 18: the same, and penalties along resisted directions */
    GW_LAW_COUPLING,    /* a spring and damper between device and model, nothing else */
    GW_LAW_FOUR_CHANNEL /* force fed forward and back, coordination; the device keeps its mass */
} gw_control_law;

/* Which terms the model's acceleration at the hand has: all, or without J-dot v as in the paper. */
typedef enum gw_jdot { GW_JDOT_FULL, GW_JDOT_PAPER } gw_jdot;

/* Where the hand's wrench comes from. */
typedef enum gw_hand_force_source {
    GW_HAND_MEASURED,  /* by the device's sensor */
    GW_HAND_ESTIMATED, /* M_d a + C_d v - u of the last tick, filtered: an estimate */
    GW_HAND_UNKNOWN    /* taken as zero */
} gw_hand_force_source;

typedef struct gw_impedance_def {
    gw_control_law kind;
    gw_jdot jdot;
    gw_hand_force_source hand;
    gw_resisted_def resisted;
    gw_spring_damper coordination;   /* K_pc, B_pc; 0: eq. 19, 20, less where a step bears less */
    gw_spring_damper coupling;       /* K_vc, B_vc; 0: the stiffest that the bound allows */
    double penalty, penalty_damping; /* k_j (1/s^2), b_j (1/s) of eq. 17 */
    bool penalty_by_mass;            /* wrench M_d n as in the paper; else n itself */
    bool passivity;                  /* the device port's passivity controller is on */
    double mass_known;               /* what control takes M_d for, as a part of what it is; 0: 1 */
    double slew; /* of the command after a switch (N/s; torque: a twentieth of it in N m/s), more
                    where the rest of the old one would throw the device about; 0: 1000 */
    double impulse_budget; /* N s in a second; 0: GW_IMPULSE_RENDERING_BUDGET */
} gw_impedance_def;

/* Penalties, J-dot in full, hand measured; k_j 200 and b_j 50 as in the paper. */
gw_impedance_def gw_impedance_def_default(void);

/* The model at the held frame as the tick begins. */
typedef struct gw_operational_state {
    int dof;
    gw_pose pose;
    gw_twist twist;
    const double (*jacobian)[6];  /* columns */
    double drift[6];              /* J-dot v */
    double inverse_inertia[6][6]; /* Lambda^-1 = J D^-1 P J^T */
    double free[6];               /* J D^-1 tau: of weight, bias and motors (eq. 12, 13) */
    const gw_resisted_directions
        *directions; /* of a local model (U-hat, eq. 22); NULL: from the Jacobian */
} gw_operational_state;

/* All of it from a model. `jacobian`: room for the model's columns. */
void gw_operational_state_of(const gw_model *model, double (*jacobian)[6],
                             gw_operational_state *out);

/* What a step did to it. */
typedef struct gw_operational_step {
    gw_pose pose; /* at the step's end */
    gw_twist twist;
    double drift[6]; /* J-dot v there */
    double hit[6];   /* J D^-1 J_c^T p: what impulses gave to the velocity in it */
} gw_operational_step;

/* From the model after its step; `impulse`: generalised, of its contacts in it (gw_world_system);
 * NULL: none. */
void gw_operational_step_of(const gw_model *model, const double *impulse, gw_operational_step *out);

/* The device in this tick. M_d is a mass and principal moments, in task space. */
typedef struct gw_impedance_device {
    gw_pose pose;
    gw_twist twist;
    gw_wrench hand;                  /* as measured; zero where it is not */
    double mass;                     /* kg */
    double inertia;                  /* kg m^2 */
    double damping, damping_angular; /* C_d as far as it is known: N s/m, N m s/rad */
    double force_max, torque_max;    /* 0: unlimited */
    double delay;                    /* s, from command to force beyond the tick */
    double velocity_delay;           /* s, by which `twist` is old */
    bool planar;                     /* moves in x, y and turns about z only */
} gw_impedance_device;

/* What a tick gives. */
typedef struct gw_impedance_out {
    gw_wrench command;    /* u: for the device to exert */
    gw_wrench on_model;   /* at the held frame: hand's force fed forward, coordination, coupling */
    gw_wrench hand;       /* F_h as it was taken */
    gw_wrench impulse;    /* the part of `command` that is impulsive */
    double withheld;      /* of impulses, by limits and budget, dropped for good (N s) */
    double withheld_turn; /* the same of turning (N m s) */
    double damped;        /* by the passivity controller (J) */
    double weights;       /* energy that changed weights put into the penalties' springs (J) */
    double stored;        /* by all springs between device and model now (J) */
    bool limited;
} gw_impedance_out;

/* What a tick of control works on, in both of its halves. */
typedef struct gw_impedance_work {
    gw_operational_state model;
    gw_impedance_device device; /* as control knows it */
    gw_twist error, rate;       /* model less device */
    gw_wrench hand;
    gw_spring_damper k; /* K_pc, B_pc or K_vc, B_vc */
    gw_twist stretch;
    gw_wrench spring; /* F_pc or F_vc on the device */
    gw_penalty_def penalties;
    gw_wrench penalty;  /* u_add */
    gw_wrench damping;  /* of the port's controller, on the device */
    gw_wrench slowing;  /* and on the model */
    gw_wrench on_model; /* all that it feels */
    double own[6];      /* its acceleration but for what the hand's frame feels: free + drift and
                           contacts' part, foreseen before the step, as it was after it */
    double drift[6];    /* its part J-dot v, amid the step */
    double dt;
} gw_impedance_work;

#define GW_IMPEDANCE_HISTORY 16 /* ticks of command kept; a power of two, beyond any delay */

typedef struct gw_impedance_control {
    gw_impedance_def def;
    gw_resisted_directions resisted; /* directions of this tick */
    gw_penalty penalty;
    gw_passivity_observer
        port; /* port.excess: energy that came out of the device's port so far (J) */
    gw_impulse_rendering strike;
    gw_wrench waiting; /* an impulse that the next tick is to give (N s, N m s) */
    gw_wrench sent[GW_IMPEDANCE_HISTORY];   /* commands, newest at `at` */
    gw_wrench struck[GW_IMPEDANCE_HISTORY]; /* their impulsive parts */
    int at;
    gw_twist last_twist;
    gw_twist last_error;          /* model less device, */
    gw_twist last_rate;           /* and its rate */
    gw_wrench estimate;           /* of the hand's wrench, where it is not measured */
    gw_wrench bump;               /* what a switch left between old and new command */
    double bump_time, bump_lasts; /* s since it, and until it is gone */
    gw_easing easing;             /* of the springs after a switch */
    gw_wrench steady;             /* command of the last tick without impulse */
    double own[6];                /* of the model in the last step, where that is known */
    bool own_known, was_hit;      /* the last tick was answered; a collision was in it */
    gw_impedance_work work;       /* between the halves of a tick */
    bool started, switched;
} gw_impedance_control;

void gw_impedance_init(gw_impedance_control *r, const gw_impedance_def *def);

/* Another control from the next tick on; the command goes over by the slew limit. What springs hold
 * then is an edit: it is not counted at the port. */
void gw_impedance_switch(gw_impedance_control *r, const gw_impedance_def *def);

/* The device is let go, for whatever reason: from the next tick on control begins anew, with
 * springs that are slack at first. For every tick in which gw_impedance_pre_step() is not called.
 */
void gw_impedance_disengage(gw_impedance_control *r, double dt);

/* The first half of a tick: `on_model` and `hand`. */
gw_impedance_out gw_impedance_pre_step(gw_impedance_control *r, const gw_operational_state *model,
                                       const gw_impedance_device *device, double dt);

/* The second, once the model has stepped: all the rest. */
void gw_impedance_post_step(gw_impedance_control *r, const gw_operational_step *step,
                            gw_impedance_out *out);

/* What the model does by itself changed without a step (an edit): it is not foreseen from the
 * last one. */
void gw_impedance_reset_prediction(gw_impedance_control *r);

#endif
