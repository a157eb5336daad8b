/*
 * The forces of one joint coordinate: motor, damping, Coulomb friction by a bristle model (its
 * equations are in joint_forces.c), springs with damping at the limits. RT safe.
 */
#ifndef GW_DYNAMICS_JOINT_FORCES_H
#define GW_DYNAMICS_JOINT_FORCES_H

#include <stdbool.h>

#include "rt/base/space.h"

/* A motor at the joint: torque + stiffness (target - q) + damping (rate - v), clamped to -max ..
 * max; a force that accelerates the joint fades to 0 at `speed`. All zero: none. */
typedef struct gw_motor {
    double torque;            /* N m, N */
    double target, stiffness; /* rad, m; N m/rad, N/m */
    double rate, damping;     /* rad/s, m/s; N m s/rad, N s/m */
    double max;               /* N m, N; 0: unlimited */
    double speed; /* rad/s, m/s: above it the motor does not accelerate the joint; 0: unlimited */
} gw_motor;

#define GW_LIMIT_RAMP 1e-3 /* rad, m beyond a limit over which its damper ramps up */

/* All forces at one coordinate. */
typedef struct gw_joint_law {
    double damping;  /* N m s/rad, N s/m */
    double friction; /* Coulomb friction, static and sliding alike (N m, N) */
    bool limited;
    double lower, upper; /* rad, m */
    double limit_stiffness, limit_damping;
    double bristle_stiffness, bristle_damping; /* of static friction */
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
double gw_joint_bristle_capacity(const gw_joint_law *law); /* of a bristle that is bent fully */

/* Moves the root of a bristle that is deflected beyond its span; returns the energy that this
 * dissipates (J). */
double gw_joint_slip(const gw_joint_law *law, double q, double *root);

/* The force of friction alone, with the damper of a bristle that holds. */
double gw_joint_friction(const gw_joint_law *law, double q, double v);

/* True where the coordinate slides: its bristle is at its largest deflection, in the direction of
 * v. */
bool gw_joint_slides(const gw_joint_law *law, double q, double v);

/* Sets *root so that the bristle exerts `force` at q, clamped to the friction; returns the
 * bristle's loss of energy (J). */
double gw_joint_turn_bristle(const gw_joint_law *law, double q, double force, double *root);

/* The deflection (>= 0; rad, m) at which the bristle stores `energy` (J), clamped to its span;
 * returns the energy in excess (J). */
double gw_joint_deflect_bristle(const gw_joint_law *law, double energy, double *deflection);

/* Friction of a ball joint, which bounds the norm of the torque: `deflection` is the rotation
 * vector from the bristle's root; the torque opposes it and the angular velocity (same axes; N m).
 * Then the bristle's energy (J); then slip: clamps `deflection` to the span and returns the energy
 * dissipated (J). */
gw_vec3 gw_ball_friction(const gw_joint_law *law, gw_vec3 deflection, gw_vec3 velocity,
                         double *dissipated_power);
double gw_ball_friction_energy(const gw_joint_law *law, gw_vec3 deflection);
double gw_ball_slip(const gw_joint_law *law, gw_vec3 *deflection);

/* The spring and damper of a limit or a bristle, with the largest stiffness that is stable at steps
 * of dt: k = (phase / dt)^2 inertia. */
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
    double bound_damping; /* to be added to `damping` for a bound: dampers of the limit and of a
                             static bristle */
    gw_motor_force_model motor;
} gw_joint_force_model;

void gw_joint_linearise(const gw_joint_law *law, double q, double v, gw_joint_force_model *model);

/* Slope of the motor's force by the joint's speed in the range where it fades out (N m s/rad, N
 * s/m). */
double gw_motor_fade_slope(const gw_motor *m, double q, double v);

/* Which bound of a motor is active: its minimum, none (linear law), its maximum, the fade-out
 * towards its speed, or the joint moves beyond its speed. AT_MIN and AT_MAX are also the sign of
 * the maximum. */
typedef enum gw_motor_state {
    GW_MOTOR_AT_MIN = -1,
    GW_MOTOR_LINEAR,
    GW_MOTOR_AT_MAX,
    GW_MOTOR_AT_SPEED,
    GW_MOTOR_BEYOND_SPEED
} gw_motor_state;

/* The motor's force in a state, over a step of h from velocity v with acceleration a. */
double gw_motor_force_in(const gw_motor_force_model *m, gw_motor_state state, double h, double v,
                         double a);

/* The state of a motor after such a step, where its state has been `state`. */
gw_motor_state gw_motor_state_at(const gw_motor_force_model *m, gw_motor_state state, double h,
                                 double v, double a);

/* Upper bound of the motor's work (J) from q0 to q1: a bounded motor's `max` times the
 * displacement; else that of the law at rest, without the damper's loss. Adds the magnitude of the
 * latter to `size`. */
double gw_motor_work_max(const gw_motor *m, double q0, double q1, double *size);

/* The fraction of a substep at which a coordinate going from `a` to `b`, with rates u_a and u_b per
 * substep, first passes `level`, by the Hermite cubic; 2: it does not. */
double gw_joint_passing_fraction(double a, double u_a, double b, double u_b, double level);

#endif
