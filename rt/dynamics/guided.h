/*
 * The guided body: one rigid body whose frame stays on a submanifold of SE(3) (framework IV).
 *
 * Its coordinates are those of a local chart, recentred every step, so that no orientation is
 * singular and the pose lies exactly on the set after each step. See README.md for the integrators.
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

/* Base motion: the set is fixed in a base frame that moves from the pose `from` with a constant
 * twist; def.set is then given in the base frame. */
typedef struct gw_base_motion {
    bool moves;            /* false: the base is the world */
    gw_twist twist, inner; /* about the world's origin in world axes; about the base's in its own */
    gw_pose from;          /* world_from_base when `time` is 0 */
    double time;           /* s since then */
} gw_base_motion;

/* A base motion that starts now at the pose `from`, with a twist, or such that it reaches `to` in
 * `dt` seconds. */
gw_base_motion gw_base_motion_from_twist(const gw_pose *from, const gw_twist *twist);
gw_base_motion gw_base_motion_between(const gw_pose *from, const gw_pose *to, double dt);

typedef struct gw_guided {
    gw_model model;
    gw_pose pose; /* world_from_body, on the set */
    gw_twist
        twist; /* of the body's origin, world axes; relative to the base it is tangent to the set */
    double z_dot[6]; /* in the chart at the pose; of a body without constraints: velocity of the
                        centre of mass, angular velocity in body axes; unused for a general set */
    double decay;    /* upper bound of the decay rate that damping causes (1/s) */
    double lag;      /* of damping in this step (s), gw_rigid_body_lagging() */
    gw_mat3 inverse; /* of the inertia about the centre of mass, in the body's axes */
    gw_base_motion base;
    unsigned held;   /* within a step: the coordinates (bits) that are held at edges or on a kink */
    int crease;      /* the one on a kink, or -1 */
    bool met_a_kink; /* the last part of the step ended at one */
    gw_guided_def
        def; /* last, so that the state of a body without constraints is the bytes before it */
} gw_guided;

/* True if the model is a guided body. */
bool gw_model_is_guided(const gw_model *model);

/* At rest, with a fixed base, at the pose of the set nearest to `world_from_body`, which must be on
 * the set or near it. */
void gw_guided_init(gw_guided *body, const gw_guided_def *def, const gw_pose *world_from_body);

/* Sets the twist nearest to `twist` (of the body's origin, world axes) in the mass metric that is
 * tangent to the set: the motion after an impulse of the constraints. */
void gw_guided_set_twist(gw_guided *body, const gw_twist *twist);

/* Sets the base motion. The body's twist is projected onto the set as above; its pose must be on
 * the set at the set's present pose. */
void gw_guided_set_base_motion(gw_guided *body, const gw_base_motion *base);

/* The twist of the base at a point of the world; zero with a fixed base. */
gw_twist gw_guided_base_velocity(const gw_guided *body, gw_vec3 point);

/* Puts the body at rest in the world, whatever its base does, until a twist or base motion is set.
 */
void gw_guided_stop(gw_guided *body);

/* Replaces the last step of `dt` seconds, which began at `pose`, by the base's motion alone; the
 * body is at rest. */
void gw_guided_revert_step(gw_guided *body, const gw_pose *pose, double dt);

/* Advances by `dt` seconds in which the body only moves with its base; it is at rest. */
void gw_guided_move_with_base(gw_guided *body, double dt);

/* Multiplies the velocity relative to the base by `factor`; returns the kinetic energy removed
 * (J). */
double gw_guided_scale_velocity(gw_guided *body, double factor);

/* The largest residual |H_i| of the set's rows (m) at a pose. */
double gw_guided_residual(const gw_guided *body, const gw_pose *world_from_body);

#endif
