/*
 * Closest points of curves and surfaces: the global one with a certificate, from a tree that is
 * built with the shape, and the one that follows a branch of local minima. Queries are for any
 * thread and RT safe: they allocate nothing and their work is bounded.
 */
#ifndef GW_GEOMETRY_NURBS_NEAREST_H
#define GW_GEOMETRY_NURBS_NEAREST_H

#include "rt/geometry/nurbs.h"

typedef struct gw_nurbs_tree gw_nurbs_tree;

/* The tree of a shape whose other members are complete; NULL when memory is short. Not RT safe. */
gw_nurbs_tree *gw_nurbs_tree_create(const gw_nurbs *nurbs);
void gw_nurbs_tree_destroy(gw_nurbs_tree *tree); /* NULL is fine */
gw_aabb gw_nurbs_tree_bounds(const gw_nurbs_tree *tree);

/* Result of the global search. */
typedef struct gw_nurbs_nearest {
    double parameter[2];
    gw_vec3 point;
    double distance; /* of the point (m) */
    double bound;    /* no point of the shape is closer than this (m) */
    int cells;       /* parts of the shape that were looked into */
} gw_nurbs_nearest;

/*
 * The point of the shape closest to `to`. The search ends where `bound` is within 1e-9 of the
 * shape's size of `distance`, or after a bounded number of parts: at centres of curvature all
 * points of an arc are equally close. From what a step that diverges asks for, a point that is not
 * finite or beyond GW_MAX_COORDINATE, the shape's first corner is as near as any: its distance is
 * HUGE_VAL.
 */
void gw_nurbs_nearest_point(const gw_nurbs *nurbs, gw_vec3 to, gw_nurbs_nearest *nearest);

/* What a part that is looked into costs, in scalar rows evaluated: 26 of a bicubic surface, 50 of
 * degrees 7 and 3, 8 of a cubic curve (measured: bounds of derivatives go over Bezier points). */
static inline int gw_nurbs_cell_work(const gw_nurbs *nurbs)
{
    int points = (nurbs->direction[0].degree + 1) * (nurbs->direction[1].degree + 1);
    return 2 + 3 * points / 2;
}

/* What a closest point costs that is followed, and one that is known, in the same unit (measured).
 */
#define GW_NURBS_FOLLOW_WORK 18
#define GW_NURBS_POINT_WORK  6

/* Parts that a search may look into: some ten milliseconds; and inside a tick: a millisecond. */
#define GW_NURBS_MAX_CELLS  6000
#define GW_NURBS_TICK_CELLS 500

/* The same, ended after at most `cells` parts. */
void gw_nurbs_nearest_within(const gw_nurbs *nurbs, gw_vec3 to, int cells,
                             gw_nurbs_nearest *nearest);

/* True where a point of the shape is closer than `distance` (m), by more than 1e-9 of the shape's
 * size, of those that at most `cells` parts lead to: what is farther is not looked into. `cells`
 * becomes how many were looked into. */
bool gw_nurbs_comes_within(const gw_nurbs *nurbs, gw_vec3 to, double distance, int *cells);

/* Result of the global search for the closest points of two shapes. */
typedef struct gw_nurbs_pair {
    double parameter[2][2]; /* on the first and on the second */
    double distance;        /* of the points (m) */
    double bound;           /* no points of the shapes are closer than this (m) */
    int cells;              /* pairs of parts that were looked into */
} gw_nurbs_pair;

/*
 * The points of two shapes that are closest to one another, `a_from_b` where the second is. The
 * search ends where `bound` is within 1e-4 of the lesser size of `distance`, or after that many
 * pairs: shapes that lie along one another are about as far everywhere.
 */
void gw_nurbs_nearest_pair(const gw_nurbs *a, const gw_nurbs *b, const gw_pose *a_from_b, int cells,
                           gw_nurbs_pair *nearest);

typedef enum gw_nurbs_event {
    GW_NURBS_REGULAR,
    GW_NURBS_EDGE, /* at the end of the domain, where the distance still falls outward */
    GW_NURBS_KINK, /* on a sharp bend, or past one */
    GW_NURBS_FOCAL /* near a centre of curvature, where the branch ends, or beyond: it may have
                      changed to another one */
} gw_nurbs_event;

/*
 * Follows the local minimum of the distance from `to` that `parameter` was on before `to` moved a
 * little, by Newton's method; `parameter` is moved there (in closed directions past the seam
 * without a jump, so not always within the domain). `span`: of evaluations, may be NULL. `at` has
 * the derivatives to second order there.
 */
gw_nurbs_event gw_nurbs_follow(const gw_nurbs *nurbs, gw_vec3 to, double parameter[2],
                               gw_nurbs_span *span, gw_nurbs_point *at);

/* The same from near a pole, in its tangent plane, where parameters are singular; regular or focal.
 * False, and `parameter` as it was, where they are not near one, or the branch leads away from it.
 */
bool gw_nurbs_follow_about_pole(const gw_nurbs *nurbs, gw_vec3 to, double parameter[2],
                                gw_nurbs_event *event);

#endif
