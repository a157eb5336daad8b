/*
 * A contact candidate: a pair of points on two bodies, with a common normal, that may come into
 * contact soon. The detector finds candidates at its own rate; contact dynamics follows each one at
 * every stage of its steps in between.
 *
 *   gap = n . (x_a - x_b) - r_a - r_b,      x the points of a and b, n from b towards a
 *
 * A gap below zero is a penetration. Where one of the points is on a curved surface, gap and normal
 * are those of the surface to second order: with d = x_a - x_b in its frame, and the principal
 * curvatures k_i along e_i of the surface at that distance through the other point,
 *
 *   s = sum k_i (e_i . d) e_i,    n' = (n + s) / sqrt(1 + |s|^2)
 *   gap = n . d + d . s / (1 + sqrt(1 + |s|^2)) - r_a - r_b
 *
 * which is exact where the surface is a sphere or a circular cylinder and n . d does not change.
 * Where both are curved, the gap depends on the tilt of the other body, too. With w the change,
 * across n, of the normal that is fixed to that body,
 *
 *   s = sum k_i (e_i . d) e_i + T w,    r = T^T d + W w
 *   gap = n . d + (d . s + w . r) / (1 + sqrt(1 + |s|^2)) - r_a - r_b
 *
 * and the contact point is r away from where the ball of the other touches. Plain values.
 */
#ifndef GW_COLLISION_CANDIDATE_H
#define GW_COLLISION_CANDIDATE_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/base/space.h"

#define GW_MANIFOLD_POINTS 4  /* of two convex solids: more points add no constraint */
#define GW_PAIR_CANDIDATES 12 /* of gw_detect_pair(), where one solid is a triangle mesh */

/* Contact parameters of a pair of surfaces. */
typedef struct gw_contact_material {
    double restitution; /* e, 0 .. 1 */
    double friction;    /* mu */
    double stiffness;   /* of the penalty, at most: N/m; a step's stability limits it further */
    double damping;     /* likewise: N s/m */
} gw_contact_material;

/* Motion of the normal between two detections: with body a or body b, in which it is constant; or
 * it is the direction from x_b to x_a (two balls), or that across an edge of each, e_a x e_b / |e_a
 * x e_b| (two edges, rims, or axes), where these are nearest (edge_pair.h); beside the axis of a
 * cone it leads from point to point there. */
typedef enum gw_normal_kind {
    GW_NORMAL_IN_A,
    GW_NORMAL_IN_B,
    GW_NORMAL_BETWEEN,
    GW_NORMAL_ACROSS
} gw_normal_kind;

/* Principal curvatures (1/m) and directions (unit); and what a tilt of the other body does, along
 * these directions. */
typedef struct gw_curvatures {
    double curvature[2];
    gw_vec3 direction[2];
    bool tilts;          /* else the rest is zero */
    gw_vec3 other;       /* the normal, in the frame of the body that it is not fixed to */
    double across[2][2]; /* T, of d by w */
    double tilt[2][2];   /* W (m) */
} gw_curvatures;

static inline bool gw_is_curved(const gw_curvatures *bend)
{
    return bend->curvature[0] != 0 || bend->curvature[1] != 0 || bend->tilts;
}

struct gw_unilateral_row;

typedef struct gw_contact_candidate {
    uint64_t key; /* the same from one detection to the next while the same features are near */
    int a, b;     /* bodies, indices into the world's; b may be static */
    int geom_a, geom_b;        /* the detector's */
    bool proximity_only;       /* an internal face of a body lies between: no points, a gap alone */
    gw_vec3 point_a, point_b;  /* in the bodies' frames (m) */
    double radius_a, radius_b; /* of balls around the points (m) */
    gw_normal_kind kind;
    gw_vec3 normal;          /* unit, in the frame that `kind` says */
    gw_vec3 edge_a, edge_b;  /* GW_NORMAL_ACROSS: directions through the points, in the bodies'
                                frames (unit), else zero */
    gw_vec3 bow_a, bow_b;    /* and the curvature vectors there, of rims, towards their centres
                                (1/m); zero: straight */
    double taper_a, taper_b; /* of axes of cones: the rates of the radii along the edges */
    /* Of a curved surface, for kinds in a or b and in that frame: k_i of the surface at the
     * distance of the other's point (1/m; above zero where it bends away from that point), and
     * unit vectors e_i, across the normal and one another. Zero: a plane. */
    gw_curvatures bend;
    gw_contact_material surface;
    double gap; /* when it was found (m) */
    /* A unilateral constraint (rt/contact/unilateral_row.h) instead of points, radii and a normal,
     * which no detector finds; NULL: none. */
    const struct gw_unilateral_row *row;
} gw_contact_candidate;

/* True if an edge that the normal is across is a rim, or the axis of a cone. */
static inline bool gw_is_bowed(const gw_contact_candidate *c)
{
    return c->kind == GW_NORMAL_ACROSS &&
           (gw_norm2(c->bow_a) + gw_norm2(c->bow_b) > 0 || c->taper_a != 0 || c->taper_b != 0);
}

/* Steps of Newton's method (edge_pair.h) to where such edges are nearest: from a point a tenth of
 * the radius away they leave 1e-12 of it. */
#define GW_BOWED_STEPS 3

typedef struct gw_near_lists gw_near_lists; /* free_form.h */

/* Two geoms to be collided with their bodies at given poses. */
typedef struct gw_pair_query {
    int geom_a, geom_b;
    gw_pose world_from_a, world_from_b; /* of the bodies */
    double reach;                       /* largest gap of the candidates asked for (m) */
    gw_near_lists *near; /* of two free-form surfaces, kept from query to query; NULL: none */
    double *effort;      /* to which triangles and surfaces add their work, in steps of a free
                            body; NULL: not asked */
} gw_pair_query;

/* Adds to the effort of a query, if it is asked for. */
static inline void gw_add_effort(double *effort, double work)
{
    if (effort)
        *effort += work;
}

#endif
