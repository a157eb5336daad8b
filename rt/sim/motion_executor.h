/*
 * The executor of guided motion (on the wire: the robot): an operator inside the loop that moves
 * the held object along its freedoms, guarded by position and force (relational-positioning
 * VI-B.1).
 *
 * A reference runs along the parameters of the branch, straight from where they are to where they
 * shall be, with bounded speed and acceleration; a spring with damping draws the tool after it, at
 * the device, as a person's hand would. The reaction is what the environment exerts against the
 * motion: of C, the contact wrench at the tool frame, and T = d(tool frame) / d(path),
 *
 *   -C . T_slide / |v_slide|   (N),      -C . T_turn / |w_turn|   (N m)
 *
 * with T split into what slides and what turns. A value; on the loop's thread, RT safe.
 */
#ifndef GW_SIM_MOTION_EXECUTOR_H
#define GW_SIM_MOTION_EXECUTOR_H

#include "rt/geometry/shape.h"
#include "rt/sim/simulation.h"

typedef struct gw_motion_executor {
    bool active; /* it holds the object */
    bool moving; /* and runs along a path */
    bool ended;  /* the path ended in this tick */
    bool fresh;  /* a command arrived; its path begins with the next tick */
    bool loose;  /* the reference is where the tool is, from the next tick on */
    gw_motion_target guide;
    uint64_t tag;
    int count;                 /* parameters */
    double from[6], change[6]; /* parameters at the path's start, and their change along it */
    double now[6];             /* of the reference */
    double progress, rate;     /* fraction of the path done, and its speed (1/s) */
    gw_twist slide, turn;      /* T of the sliding and turning parameters, tool frame */
    gw_pose reference;         /* of the tool frame, on the set */
    gw_twist reference_twist, acceleration;
    uint64_t touched;          /* bounds that touched when the path began */
    double stuck;              /* s for which nothing went on */
    gw_motion_outcome outcome; /* of the last path */
    double reaction;           /* N or N m, whichever moves; of the last evaluation of its guards */
} gw_motion_executor;

/* Inputs of a tick. */
typedef struct gw_motion_input {
    const gw_submanifold *set;
    const gw_mass *mass;
    gw_vec3 gravity;
    gw_pose body_from_tool;
    gw_pose body, tool; /* the model's, on the set */
    gw_twist twist;     /* of the tool frame, beside what moves the set */
    gw_wrench contact;  /* at the tool frame */
    uint64_t touching;
    double length; /* L of the metric (m) */
    double dt;
} gw_motion_input;

/* Takes a command; a path under way ends as lost. */
void gw_motion_start(gw_motion_executor *motion, const gw_command *command);

/* Lets go; a path under way ends as lost. */
void gw_motion_release(gw_motion_executor *motion);

/* Holds the object where it is; a path under way ends as lost. Nothing where it does not hold. */
void gw_motion_hold(gw_motion_executor *motion);

/* The object goes on another set, the body standing at `body` on it. Where the sets are the same
 * nothing changes; where they are of one kind (geometry moved) a path under way goes on from there
 * to the same parameters, or by what is left; else it is lost, and the hold goes on from there. */
void gw_motion_switch_set(gw_motion_executor *motion, const gw_submanifold *old,
                          const gw_submanifold *set, const gw_pose *body,
                          const gw_pose *body_from_tool);

/* One tick: looks at guards and progress, moves the reference, gives the wrench at the tool frame,
 * world axes. */
gw_wrench gw_motion_tick(gw_motion_executor *motion, const gw_motion_input *in);

#endif
