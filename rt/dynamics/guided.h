/*
 * The guided body: one rigid body whose frame stays on a submanifold of SE(3) (framework IV).
 *
 * Its coordinates are a local chart's, recentred every step: no orientation is singular, and the
 * pose is put exactly on the set each time. A fourth-order Runge-Kutta step; see README.md.
 *
 * A value without heap memory; it belongs to one thread at a time. RT safe throughout.
 */
#ifndef GW_DYNAMICS_GUIDED_H
#define GW_DYNAMICS_GUIDED_H

#include "rt/geometry/shape.h"
#include "rt/geometry/submanifold.h"
#include "rt/dynamics/model.h"

typedef struct gw_guided_def {
    gw_submanifold set;
    gw_mass mass;           /* in the body's axes; com may lie off its frame */
    gw_vec3 gravity;        /* m/s^2 */
    double damping_linear;  /* N s/m, at the held frame */
    double damping_angular; /* N m s/rad */
    gw_pose body_from_held; /* the tool frame in the body */
    double length;          /* L of the metric, for general sets (m); 0: 0.05 */
} gw_guided_def;

/* A frame that carries the set along, steadily: from `from` with the twist (of the world's point at
 * its origin), where def.set is as seen from the frame. */
typedef struct gw_base_motion {
    bool moves;            /* false: the set stands, where def.set has it in the world */
    gw_twist twist, inner; /* in world axes; the same motion in the frame's */
    gw_pose from;          /* world_from_frame when `time` is 0 */
    double time;           /* s, goes on with the steps */
} gw_base_motion;

/* A ride that begins now, at a frame, with a twist; or that takes `dt` seconds to another one. */
gw_base_motion gw_base_motion_from_twist(const gw_pose *from, const gw_twist *twist);
gw_base_motion gw_base_motion_between(const gw_pose *from, const gw_pose *to, double dt);

typedef struct gw_guided {
    gw_model model;
    gw_guided_def def;
    gw_pose pose;    /* world_from_body, on the set */
    gw_twist twist;  /* of the body's origin; where the set stands, tangent to it */
    double z_dot[6]; /* along the set, in the chart at the pose; of a body that floats: of its
                        centre of mass, and its spin in its own axes; unused for a general set */
    double decay[2]; /* the most that linear and angular damping take of the motion (1/s) */
    gw_mat3 inverse; /* of the inertia about the centre of mass, in the body's axes */
    gw_base_motion ride;
} gw_guided;

/* At rest, on a set that stands, at the pose of it next to `world_from_body`, which must be on it
 * or near. */
void gw_guided_init(gw_guided *body, const gw_guided_def *def, const gw_pose *world_from_body);

/* Gives it the twist of the set that is nearest to `twist` (of the body's origin) in the mass
 * metric: what is left of a motion when the set's constraints take hold of the body at once. */
void gw_guided_set_twist(gw_guided *body, const gw_twist *twist);

/* The set rides from now on, or stands where ride->moves is false; the body keeps of its motion
 * what the set leaves it, as above. Its pose must be on the set, where that is now. */
void gw_guided_set_base_motion(gw_guided *body, const gw_base_motion *ride);

/* What its set's ride gives a point of the world where it is; nothing where the set stands. */
gw_twist gw_guided_base_velocity(const gw_guided *body, gw_vec3 point);

/* At rest in the world, whatever its set does; what lets it move next gives it a motion. */
void gw_guided_stop(gw_guided *body);

/* The last `dt` seconds did nothing but take it along from `pose` with what its set rides on; it
 * rests. */
void gw_guided_revert_step(gw_guided *body, const gw_pose *pose, double dt);

/* So pass the next `dt` seconds. */
void gw_guided_move_with_base(gw_guided *body, double dt);

/* Multiplies its velocity along the set by `factor`; the kinetic energy that went (J). */
double gw_guided_scale_velocity(gw_guided *body, double factor);

/* The largest entry of its set's H (m) at a pose, its own or one that it is shown at. */
double gw_guided_residual(const gw_guided *body, const gw_pose *world_from_body);

#endif
