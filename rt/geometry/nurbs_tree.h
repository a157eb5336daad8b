/*
 * The subdivision tree of a free-form shape, for closest-point searches. Private to rt/geometry.
 * Built with the shape and immutable: any thread.
 */
#ifndef GW_GEOMETRY_NURBS_TREE_H
#define GW_GEOMETRY_NURBS_TREE_H

#include <math.h>

#include "rt/geometry/nurbs_nearest.h"

#define GW_NURBS_ORDERS (GW_NURBS_ORDER + 1)

typedef struct gw_nurbs_leaf {
    int span[2];
    double low[2], high[2];
    double bound[GW_NURBS_ORDERS]
                [GW_NURBS_ORDERS]; /* of |d^(k+l) S / du^k dv^l|; [0][0] is not used */
} gw_nurbs_leaf;

typedef struct gw_nurbs_node {
    gw_aabb box;
    int child[2]; /* nodes; of a leaf child[0] is ~leaf */
} gw_nurbs_node;

struct gw_nurbs_tree {
    int node_count, node_room, leaf_count, leaf_room;
    gw_nurbs_node *nodes; /* the root is the first */
    gw_nurbs_leaf *leaves;
};

/* Sets the derivative bounds of a part with known span and rectangle; returns its box. */
gw_aabb gw_nurbs_bound_part(const gw_nurbs *nurbs, gw_nurbs_leaf *part);

/* Bound on a part's deviation from its tangent plane (m); h: half lengths in the parameters. */
static inline double gw_nurbs_part_deviation(const gw_nurbs_leaf *part, const double h[2])
{
    return 0.5 * (part->bound[2][0] * h[0] * h[0] + part->bound[0][2] * h[1] * h[1]) +
           part->bound[1][1] * h[0] * h[1];
}

/* The direction in which to halve a part: the one along which the tangents change more, relative to
 * their lengths; for an edge the direction along it. */
static inline int gw_nurbs_worse_direction(const gw_nurbs_leaf *part, const double h[2])
{
    if (h[0] == 0)
        return 1;
    double u = part->bound[1][0], v = part->bound[0][1], uv = part->bound[1][1];
    double along_u = h[0] * (part->bound[2][0] * v + uv * u);
    double along_v = h[1] * (part->bound[0][2] * u + uv * v);
    return along_v > along_u;
}

/* Bounds of parameters, low .. high of each. */
typedef struct gw_nurbs_rectangle {
    double low[2], high[2];
} gw_nurbs_rectangle;

/* The smooth part of the domain about x: between kinks and ends, unbounded where the direction is
 * closed and smooth. A kink above x belongs to the part above it. */
gw_nurbs_rectangle gw_nurbs_smooth_part(const gw_nurbs *nurbs, const double x[2]);

/* True where a smooth part ends at a kink rather than at the end of the domain. */
static inline bool gw_nurbs_ends_at_kink(const gw_nurbs_direction *d, double bound)
{
    return d->closed || (bound > d->low && bound < d->high);
}

/* The box of Bezier control points. */
static inline gw_aabb gw_nurbs_hull_box(const gw_homogeneous *points, int count)
{
    gw_aabb box = {{HUGE_VAL, HUGE_VAL, HUGE_VAL}, {-HUGE_VAL, -HUGE_VAL, -HUGE_VAL}};
    for (int i = 0; i < count; i++) {
        double over = 1 / points[i][3];
        gw_vec3 p = {over * points[i][0], over * points[i][1], over * points[i][2]};
        box.low = gw_v3(fmin(box.low.x, p.x), fmin(box.low.y, p.y), fmin(box.low.z, p.z));
        box.high = gw_v3(fmax(box.high.x, p.x), fmax(box.high.y, p.y), fmax(box.high.z, p.z));
    }
    return box;
}

#endif
