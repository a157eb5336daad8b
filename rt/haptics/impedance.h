/*
 * Control of impedance devices (mechanisms II, IV, V): the wrench that the device exerts and the
 * wrench on the model, such that the hand feels the model's held frame.
 *
 * A tick has two halves. gw_impedance_pre_step() gives the wrench on the model; the model steps;
 * gw_impedance_post_step() gives the command that the device exerts during the same tick. The
 * command takes the step into account: contacts, impulses and curvature reach the hand in the tick
 * in which they reach the model.
 *
 * All quantities: task space, at the held frame's origin, world axes, [v; w] and [f; t]. One state
 * per tool, on the loop's thread, RT safe.
 */
#ifndef GW_HAPTICS_IMPEDANCE_H
#define GW_HAPTICS_IMPEDANCE_H

#include "rt/haptics/impulse_rendering.h"
#include "rt/haptics/limits.h"
#include "rt/haptics/operational_space.h"
#include "rt/haptics/passivity.h"
#include "rt/haptics/penalty.h"
#include "rt/haptics/virtual_coupling.h"

/* Numbers of the equations are those of mechanisms. */
typedef enum gw_control_law {
    GW_LAW_IMPEDANCE,   /* eq. 11: the device's acceleration follows the model's */
    GW_LAW_PENALTY,     /* eq. 18: the same, and penalties along resisted directions */
    GW_LAW_COUPLING,    /* a virtual coupling between device and model, nothing else */
    GW_LAW_FOUR_CHANNEL /* force fed forward and back, coordination; the device keeps its mass */
} gw_control_law;

/* Terms of the model's acceleration at the hand: all, or without J-dot v as in the paper. */
typedef enum gw_jdot { GW_JDOT_FULL, GW_JDOT_PAPER } gw_jdot;

/* Source of the hand's wrench F_h. */
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
    gw_spring_damper coordination;   /* K_pc, B_pc; 0: eq. 19, 20, reduced to what a step bears */
    gw_spring_damper coupling;       /* K_vc, B_vc; 0: the stiffest that the bound allows */
    double penalty, penalty_damping; /* k_j (1/s^2), b_j (1/s) of eq. 17 */
    bool penalty_by_mass;            /* wrench M_d n as in the paper; else n itself */
    bool passivity;                  /* the passivity controller is on */
    double mass_known;               /* M_d that control assumes, relative to the device's; 0: 1 */
    double slew; /* of the command after a switch (N/s; torque: a twentieth of it in N m/s),
                    more where the remainder of the old command would accelerate the device too
                    much; 0: 1000 */
    double impulse_budget; /* N s in a second; 0: GW_IMPULSE_RENDERING_BUDGET */
} gw_impedance_def;

/* Penalties with k_j 200 and b_j 50 as in the paper, J-dot in full, hand measured. */
gw_impedance_def gw_impedance_def_default(void);

/* The device in this tick. M_d is a mass and principal moments, in task space. */
typedef struct gw_impedance_device {
    gw_pose pose;
    gw_twist twist;
    gw_wrench hand;                  /* as measured; zero where it is not */
    double mass;                     /* kg, > 0 */
    double inertia;                  /* kg m^2, > 0 */
    double damping, damping_angular; /* C_d as far as it is known: N s/m, N m s/rad */
    double force_max, torque_max;    /* of the command (N, N m); 0: unlimited */
    double delay;                    /* s, from command to force beyond the tick */
    double velocity_delay;           /* s, by which `twist` is old */
    bool planar;                     /* moves in x, y and turns about z only */
    bool point; /* holds a point: control has no part in its turn, pose and twist have none */
} gw_impedance_device;

/* Results of a tick. */
typedef struct gw_impedance_out {
    gw_wrench command;    /* u: for the device to exert, within its limits */
    gw_wrench on_model;   /* at the held frame: F_h fed forward, coordination, coupling, damping */
    gw_wrench hand;       /* F_h as it was taken */
    gw_wrench impulse;    /* the impulsive part of `command` */
    double withheld;      /* impulse dropped for good, by limits and budget (N s) */
    double withheld_turn; /* angular impulse dropped for good (N m s) */
    double damped;        /* by the passivity controller (J) */
    double weights;       /* energy that changed weights put into the penalties' springs (J) */
    double stored;        /* by all springs between device and model now (J) */
    bool limited;         /* the limits cut the command */
} gw_impedance_out;

/* Intermediate results of a tick, kept between its halves. Errors are model less device. */
typedef struct gw_impedance_work {
    gw_operational_state model;
    gw_impedance_device device; /* as control knows it */
    gw_twist error, rate;
    gw_wrench hand;
    gw_spring_damper k; /* K_pc, B_pc or K_vc, B_vc */
    gw_twist stretch;
    gw_wrench spring; /* F_pc or F_vc on the device */
    gw_penalty_def penalties;
    gw_wrench penalty;           /* u_add */
    gw_wrench damping_on_device; /* by the passivity controller */
    gw_wrench damping_on_model;
    gw_wrench on_model;          /* all that the model feels */
    double free_acceleration[6]; /* of the held frame but for Lambda^-1 F: J D^-1 tau, J-dot v and
                                    contacts; predicted before the step, measured after it */
    double jdot_v[6];            /* its part J-dot v, amid the step */
    double dt;
    bool outweighs;       /* the device is heavier than the model somewhere, under four channels */
    double reflect[6][6]; /* then: what it exerts for an acceleration of the model (kg, kg m^2) */
} gw_impedance_work;

#define GW_IMPEDANCE_HISTORY 16 /* ticks of command kept; a power of two, beyond any delay */

typedef struct gw_impedance_control {
    gw_impedance_def def;
    gw_resisted_directions resisted; /* of this tick */
    /* of them those that rows of positions resist, and those that velocity rows do beyond */
    gw_resisted_directions by_positions, by_velocities;
    gw_penalty penalty, slip;       /* spring and damper along the first, damper along the second */
    gw_passivity_observer observer; /* observer.excess: energy that left the port so far (J) */
    gw_impulse_rendering impulses;
    gw_wrench pending_impulse;                 /* to be given in the next tick (N s, N m s) */
    gw_wrench sent[GW_IMPEDANCE_HISTORY];      /* commands, newest at `at` */
    gw_wrench impulsive[GW_IMPEDANCE_HISTORY]; /* their impulsive parts */
    int at;
    gw_twist last_twist; /* of the device */
    gw_twist last_error, last_rate;
    gw_wrench estimate;                  /* of F_h, where it is not measured */
    gw_wrench switch_offset;             /* old less new command at a switch */
    double switch_time, switch_duration; /* s since the switch, and until its offset is gone */
    gw_easing easing;                    /* of the springs after a switch */
    gw_spring_damper last_k;             /* of the springs, but for that */
    gw_wrench steady;                    /* command of the last tick without its impulse */
    double free_acceleration[6];         /* measured in the last step, if `prediction_known` */
    bool prediction_known;
    bool had_impulse;       /* the model was hit in the last step */
    gw_impedance_work work; /* between the halves of a tick */
    bool started, switched;
    bool springs_go_on; /* over this switch, where the error does */
} gw_impedance_control;

void gw_impedance_init(gw_impedance_control *c, const gw_impedance_def *def);

/* Switches to another control law from the next tick on; the command changes within the slew limit.
 * Energy in the springs at the switch is booked as an edit and not counted by the passivity
 * observer. From four channels to four channels, or a coupling to a coupling, with the same
 * springs, as in an edit of the scene, the springs keep their force, and the observer continues,
 * unless device or model jump. */
void gw_impedance_switch(gw_impedance_control *c, const gw_impedance_def *def);

/* For every tick in which gw_impedance_pre_step() is not called: control restarts with the next
 * call, with springs that are slack at first. */
void gw_impedance_disengage(gw_impedance_control *c, double dt);

/* First half of a tick, before the model's step: returns `on_model` and `hand`. The arrays to which
 * `model` points are used during the call only. */
gw_impedance_out gw_impedance_pre_step(gw_impedance_control *c, const gw_operational_state *model,
                                       const gw_impedance_device *device, double dt);

/* Second half, after the model's step: fills in the remaining members of *out, which
 * gw_impedance_pre_step() returned. */
void gw_impedance_post_step(gw_impedance_control *c, const gw_operational_step *step,
                            gw_impedance_out *out);

/* After a change of the free acceleration without a step (an edit): the next prediction does not
 * use the last step. */
void gw_impedance_reset_prediction(gw_impedance_control *c);

#endif
