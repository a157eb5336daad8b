/*
 * A link of a serial mechanism with its joint of one coordinate: its definition as in a scene or a
 * robot description, and its conversion to a body of a system (system.h).
 *
 * Link i moves with joint i and has its frame: parent_from_link(q) is `parent_from_joint`, then the
 * joint's motion (joint.h). Pure values and functions: any thread, RT safe.
 */
#ifndef GW_DYNAMICS_LINK_H
#define GW_DYNAMICS_LINK_H

#include "rt/dynamics/joint.h"
#include "rt/dynamics/system.h"

typedef struct gw_link_def {
    gw_joint_kind kind;
    gw_pose parent_from_joint; /* of the link's frame at q = 0, in the parent link's frame */
    gw_vec3 axis;              /* unit vector in the link's frame */
    double damping;            /* N m s/rad, N s/m */
    double friction;           /* Coulomb friction, static and sliding alike (N m, N) */
    bool limited;
    double lower, upper; /* rad, m */
    double restitution;  /* coefficient of restitution at the limits, where these are contacts: 0 to
                            1 */
    gw_motor motor;
    gw_mass mass; /* in the link's axes */
} gw_link_def;

/* The joint's frames, z along its axis: M in the link, F in the parent (at q = 0 they coincide). */
void gw_link_frames(const gw_link_def *link, gw_pose *link_from_m, gw_pose *parent_from_f);

/* The link as a body of a system with the parent `parent`, a body or a ground, at position and
 * velocity 0. */
gw_system_body_def gw_link_body(const gw_link_def *link, int parent);

#endif
