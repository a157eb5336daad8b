/*
 * Operators: scripted wrenches, a simulated hand, a drag, a push. Each returns a wrench at the tool
 * frame's origin, world axes, task space. On the loop's thread, RT safe, but for the program's
 * create and destroy (scenario.h).
 *
 * The simulated hand is a mass, integrated implicitly, that the spring and damper of an arm pull
 * along the path and those of the fingers, ten times as stiff, couple to the tool; in series they
 * have the stated stiffness. Rotation has a spring and no mass.
 */
#ifndef GW_SIM_OPERATORS_H
#define GW_SIM_OPERATORS_H

#include "rt/sim/simulation.h"

struct gw_operator_program {
    gw_operator what; /* owns its arrays */
    int at;           /* index of the sample or knot in force */
    bool started;     /* the hand has grasped the tool */
    gw_pose home;     /* hand without a path: pose at grasping */
    gw_vec3 hand, hand_velocity;
};

/* Inputs of an operator, task space. */
typedef struct gw_operator_input {
    gw_pose tool; /* pose of the grasped device: its true pose */
    gw_twist twist;
    double mass;    /* of the held body (kg) */
    double inertia; /* a lower bound of its principal inertias (kg m^2) */
    double dt;      /* period (s) */
} gw_operator_input;

/* Resets the program to t = 0. */
void gw_operator_rewind(gw_operator_program *program);

/* The wrench at t seconds since the operator took effect; called once a tick, t ascending. */
gw_wrench gw_operator_wrench(gw_operator_program *program, double t, const gw_operator_input *in);

/* Stiffness, damping and mass of a hand: N/m, N s/m, kg. */
typedef struct gw_hand_model {
    double stiffness, damping, mass;
} gw_hand_model;

/* The hand model of the program, with defaults filled in; all zero if it is no hand. */
gw_hand_model gw_operator_hand(const gw_operator_program *program);

typedef struct gw_drag {
    bool active, turn;
    gw_vec3 point, target; /* object's frame, world (m) */
    double stiffness, damping, force_max;
} gw_drag;

/* Replaces zeros by defaults, and bounds stiffness and damping for stability of the body at a step
 * of dt (s). */
void gw_drag_start(gw_drag *drag, const gw_command *command, const gw_mass *mass, double dt);

/* The drag's wrench at the tool frame. Twist of the tool frame's origin. */
gw_wrench gw_drag_wrench(const gw_drag *drag, const gw_pose *world_from_object, gw_vec3 centre,
                         const gw_pose *world_from_tool, const gw_twist *twist);

/* A lower bound of the principal inertias. */
double gw_inertia_lower_bound(const gw_mat3 *inertia);

#endif
