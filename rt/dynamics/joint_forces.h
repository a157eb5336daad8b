/*
 * The forces of one joint coordinate: motor, damping, Coulomb friction by a bristle model (its
 * equations are in joint_forces.c), springs with damping at the limits. RT safe.
 */
#ifndef GW_DYNAMICS_JOINT_FORCES_H
#define GW_DYNAMICS_JOINT_FORCES_H

#include <stdbool.h>

#include "rt/base/space.h"

/* A motor at the joint: torque + stiffness (target - q) + damping (rate - v), at most `max` either
 * way, and what would speed the joint up fades out towards `speed`. All zero: none. */
typedef struct gw_motor {
    double torque;            /* N m, N */
    double target, stiffness; /* rad, m; N m/rad, N/m */
    double rate, damping;     /* rad/s, m/s; N m s/rad, N s/m */
    double max;               /* N m, N; 0: unlimited */
    double speed;             /* rad/s, m/s: beyond, it drives no faster; 0: unlimited */
} gw_motor;

#define GW_LIMIT_RAMP 1e-3 /* rad, m: by then the damper of a limit is all there */

/* All that acts at one coordinate. */
typedef struct gw_joint_law {
    double damping;  /* N m s/rad, N s/m */
    double friction; /* Coulomb's, holding and sliding alike (N m, N) */
    bool limited;
    double lower, upper; /* rad, m */
    double limit_stiffness, limit_damping;
    double bristle_stiffness, bristle_damping; /* where friction holds */
    double bristle_root;                       /* rad, m: where the bristle is unbent */
    const gw_motor *motor;
} gw_joint_law;

/* The force at position q and velocity v; adds the power of the motor and the dissipated power (W).
 */
double gw_joint_force(const gw_joint_law *law, double q, double v, double *motor_power,
                      double *dissipated_power);

/* Energy of the limit's spring and of the bristle (J). */
double gw_joint_energy(const gw_joint_law *law, double q);
double gw_joint_friction_energy(const gw_joint_law *law, double q); /* of the bristle alone */

/* Moves the root of a bristle that is deflected beyond its span; returns the energy that this
 * dissipates (J). */
double gw_joint_slip(const gw_joint_law *law, double q, double *root);

/* The force of friction alone, with the damper of a bristle that holds. */
double gw_joint_friction(const gw_joint_law *law, double q, double v);

/* True where the coordinate slides: its bristle is deflected as far as it can be, the way that the
 * coordinate moves. */
bool gw_joint_slides(const gw_joint_law *law, double q, double v);

/* The root of a bristle that exerts `force` at q, at most all of friction's; returns the energy
 * that the other deflection gives up (J). */
double gw_joint_turn_bristle(const gw_joint_law *law, double q, double force, double *root);

/* How far (0 or more; rad, m) the bristle of `law` is deflected with an energy (J), at most as far
 * as it can be; returns what energy is left over. */
double gw_joint_deflect_bristle(const gw_joint_law *law, double energy, double *deflection);

/* The same of a ball, whose friction bounds a torque whatever its axis: `deflection` is the
 * rotation vector from the bristle's root, and the torque is against it and against the angular
 * velocity (same axes; N m). Then its energy (J), and what slips beyond the span: `deflection` is
 * what is left of it. */
gw_vec3 gw_ball_friction(const gw_joint_law *law, gw_vec3 deflection, gw_vec3 velocity,
                         double *dissipated_power);
double gw_ball_friction_energy(const gw_joint_law *law, gw_vec3 deflection);
double gw_ball_slip(const gw_joint_law *law, gw_vec3 *deflection);

/* The spring and damper of a limit or a bristle, as stiff as steps of dt bear: k = (phase / dt)^2
 * inertia. */
void gw_joint_limit_spring(double inertia, double dt, double *stiffness, double *damping);

/* ---- in an implicit step -------------------------------------------------------------------- */

/* A motor's force about the present state, force - damping dv - stiffness dq, within -most .. most
 * and, where it drives, at most fade_slope (speed - |v|). */
typedef struct gw_motor_force_model {
    double force, damping, stiffness, most, speed, fade_slope;
} gw_motor_force_model;

/* All forces of the coordinate linearised about q and v: damper, friction and limit together, the
 * motor apart. */
typedef struct gw_joint_force_model {
    double force, damping, stiffness;
    double bound_damping; /* more of it, by the dampers of the limit and of a bristle that holds */
    gw_motor_force_model motor;
} gw_joint_force_model;

void gw_joint_linearise(const gw_joint_law *law, double q, double v, gw_joint_force_model *model);

/* Slope of a motor's force by the joint's speed where it fades out (N m s/rad, N s/m). */
double gw_motor_fade_slope(const gw_motor *m, double q, double v);

/* How a motor's force is bounded: not at all (linear law), by its maximum either way, by its speed,
 * beyond its speed. The first and third are also the sign of the maximum. */
enum {
    GW_MOTOR_AT_MIN = -1,
    GW_MOTOR_LINEAR,
    GW_MOTOR_AT_MAX,
    GW_MOTOR_AT_SPEED,
    GW_MOTOR_BEYOND_SPEED
};

/* The motor's force in a state, over a step of h from velocity v with acceleration a. */
double gw_motor_force_in(const gw_motor_force_model *m, int state, double h, double v, double a);

/* The state that a motor belongs in there, where it has been in `state`. */
int gw_motor_state_at(const gw_motor_force_model *m, int state, double h, double v, double a);

/* The most work (J) that the motor can have done from q0 to q1: a spring gives what it held,
 * b (rate - v) no more than b rate, and a bounded one no more than its maximum times the way. Adds
 * the size of the terms to `size`. */
double gw_motor_work_max(const gw_motor *m, double q0, double q1, double *size);

#endif
