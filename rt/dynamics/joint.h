/*
 * Joint types of serial mechanisms: one table. A joint holds a link to its parent and has one
 * coordinate.
 *
 * A new type needs a member of the enum, a row of the table and a name, its motion in
 * gw_joint_motion() (joint.c), and its mobilizer (link.c). Any thread, RT safe.
 */
#ifndef GW_DYNAMICS_JOINT_H
#define GW_DYNAMICS_JOINT_H

#include "rt/base/space.h"

typedef enum gw_joint_kind {
    GW_JOINT_REVOLUTE,
    GW_JOINT_PRISMATIC,
    GW_JOINT_KIND_COUNT
} gw_joint_kind;

typedef struct gw_joint_type {
    const char *unit; /* of the coordinate */
    bool turns;       /* the coordinate is an angle about the axis, else a length along it */
} gw_joint_type;

/* By gw_joint_kind. */
extern const gw_joint_type gw_joint_types[GW_JOINT_KIND_COUNT];

/* The names on the wire, NULL-terminated, in the same order. */
extern const char *const gw_joint_kind_names[GW_JOINT_KIND_COUNT + 1];

/* joint_from_link: the motion of the joint at coordinate q (rad, m) about or along the unit vector
 * `axis`. */
gw_pose gw_joint_motion(gw_joint_kind kind, gw_vec3 axis, double q);

#endif
