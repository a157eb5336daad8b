/*
 * Contact kinematics: gap, normal and contact points of a candidate with its bodies in given poses.
 * Pure functions: any thread, RT safe.
 */
#ifndef GW_CONTACT_KINEMATICS_H
#define GW_CONTACT_KINEMATICS_H

#include "rt/collision/candidate.h"

/*
 * The force F n on a at at_a with -F n on b at at_b has the power F d(gap)/dt. Both act at one
 * point, which conserves angular momentum: where the normal is fixed to one body at the contact
 * point of the other body, which accounts for the normal's rotation. Only at_a and at_b of a row
 * (unilateral_row.h) may differ.
 */
typedef struct gw_gap {
    double gap;         /* m, < 0: penetration */
    gw_vec3 normal;     /* unit, world, from b towards a */
    gw_vec3 at_a, at_b; /* world */
    double lever;       /* > 0: the row of an angle, with the couple lever F n on a and its opposite
                           on b in place of the force (m) */
    bool general;       /* the normal has any length, and the couple acts beside the force: */
    gw_vec3 couple;     /* F couple on a and its opposite on b (m) */
} gw_gap;

/* True if the contact has no tangential directions. */
static inline bool gw_gap_has_no_tangents(const gw_gap *g)
{
    return g->lever > 0 || g->general;
}

/* Force and couple on a of the scalar contact force `push` (N); the opposite acts on b. */
static inline gw_wrench gw_gap_wrench(const gw_gap *g, double push)
{
    return (gw_wrench){gw_scale(g->lever > 0 ? 0 : push, g->normal),
                       g->general ? gw_scale(push, g->couple)
                                  : gw_scale(push * g->lever, g->normal)};
}

/* Gap of a candidate; `a` and `b` are world_from_body of its bodies. */
gw_gap gw_gap_at(const gw_contact_candidate *candidate, const gw_pose *a, const gw_pose *b);

/* Velocity of the material point of a body at `point` (world). */
static inline gw_vec3 gw_velocity_at(const gw_pose *body, const gw_twist *twist, gw_vec3 point)
{
    return gw_add(twist->v, gw_cross(twist->w, gw_sub(point, body->p)));
}

/* Wrench at the body's origin of a force that acts at `point` (world). */
static inline gw_wrench gw_wrench_at(const gw_pose *body, gw_vec3 point, gw_vec3 force)
{
    return (gw_wrench){force, gw_cross(gw_sub(point, body->p), force)};
}

#endif
