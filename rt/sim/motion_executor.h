/*
 * The executor of guided motion (on the wire: the robot): an operator inside the loop that moves
 * the held object along its freedoms, guarded by position and force (relational-positioning
 * VI-B.1).
 *
 * A reference moves along a straight line in the branch's parameters from their present to their
 * target values, with bounded speed and acceleration; a spring with damping pulls the tool towards
 * it, like a hand at the device. The reaction is the component of the contact wrench C (at the tool
 * frame) against the motion; with T = d(tool frame) / d(path):
 *
 *   -C . T_slide / |v_slide|   (N),      -C . T_turn / |w_turn|   (N m)
 *
 * with T split into the twists of sliding and of turning parameters. If an edit moves the set the
 * motion continues, to the same parameters or by the remaining change. A value; on the loop's
 * thread, RT safe.
 */
#ifndef GW_SIM_MOTION_EXECUTOR_H
#define GW_SIM_MOTION_EXECUTOR_H

#include "rt/geometry/shape.h"
#include "rt/sim/simulation.h"

typedef struct gw_motion_executor {
    bool active; /* it holds the object */
    bool moving; /* and moves along a path */
    bool ended;  /* the path ended in this tick */
    bool fresh;  /* a command has arrived; its path begins in the next tick */
    bool loose;  /* in the next tick the reference is set to the tool's pose */
    gw_motion_target guide;
    uint64_t tag;
    int count;                 /* parameters */
    double from[6], change[6]; /* parameters at the path's start, and their change along it */
    double now[6];             /* of the reference */
    double progress, rate;     /* fraction of the path done, and its speed (1/s) */
    gw_twist slide, turn;      /* T of the sliding and turning parameters, tool frame */
    gw_pose reference;         /* of the tool frame, on the set */
    gw_twist reference_twist, acceleration;
    uint64_t touched;          /* bit set of the bounds touching at the path's start */
    double stuck;              /* time without progress (s) */
    gw_motion_outcome outcome; /* of the last path */
    double reaction; /* N of a slide or N m of a turn, at the last evaluation of the guards */
} gw_motion_executor;

/* Inputs of a tick. */
typedef struct gw_motion_input {
    const gw_submanifold *set;
    const gw_mass *mass;
    gw_vec3 gravity;
    gw_pose body_from_tool;
    gw_pose body, tool; /* of the model, on the set */
    gw_twist twist;     /* of the tool frame, relative to the motion of the set */
    gw_wrench contact;  /* at the tool frame */
    uint64_t touching;
    double length; /* L of the metric (m) */
    double dt;
} gw_motion_input;

/* Starts a command; a path under way ends with GW_MOTION_LOST. */
void gw_motion_start(gw_motion_executor *motion, const gw_command *command);

/* Releases the object; a path under way ends with GW_MOTION_LOST. */
void gw_motion_release(gw_motion_executor *motion);

/* Holds the object at its present pose; a path under way ends with GW_MOTION_LOST. No effect if
 * inactive. */
void gw_motion_hold(gw_motion_executor *motion);

/* The object's set is replaced; `body` is the body's pose on it. No effect if the sets are equal.
 * If they are of the same kind (geometry has moved), a path under way continues to the same target
 * parameters, or by the remaining change; else it ends with GW_MOTION_LOST, and the object is held
 * at its pose. */
void gw_motion_switch_set(gw_motion_executor *motion, const gw_submanifold *old,
                          const gw_submanifold *set, const gw_pose *body,
                          const gw_pose *body_from_tool);

/* One tick: evaluates guards and progress, moves the reference, and returns the wrench at the tool
 * frame (world axes). */
gw_wrench gw_motion_tick(gw_motion_executor *motion, const gw_motion_input *in);

#endif
