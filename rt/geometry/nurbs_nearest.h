/*
 * Closest points of curves and surfaces: the global one with a certificate, from a tree that is
 * built with the shape, and local minima followed along a branch. Queries: any thread, RT safe;
 * they do not allocate and their work is bounded.
 */
#ifndef GW_GEOMETRY_NURBS_NEAREST_H
#define GW_GEOMETRY_NURBS_NEAREST_H

#include "rt/geometry/nurbs.h"

typedef struct gw_nurbs_tree gw_nurbs_tree;

/* The tree of a shape whose other members are complete; NULL when memory is short. `like`: a shape
 * with the same spans (gw_nurbs_same_spans()), whose parts are reused where control points are the
 * same; NULL: none. The tree is the same with and without. Not RT safe. */
gw_nurbs_tree *gw_nurbs_tree_create(const gw_nurbs *nurbs, const gw_nurbs *like);
void gw_nurbs_tree_destroy(gw_nurbs_tree *tree); /* NULL is fine */
gw_aabb gw_nurbs_tree_bounds(const gw_nurbs_tree *tree);

/* Result of the global search. */
typedef struct gw_nurbs_nearest {
    double parameter[2];
    gw_vec3 point;
    double distance; /* of the point (m) */
    double bound;    /* no point of the shape is closer than this (m) */
    int cells;       /* number of parts of the shape that were searched */
} gw_nurbs_nearest;

/*
 * The point of the shape closest to `to`. The search ends when `bound` is within 1e-9 of the
 * shape's size of `distance`, or after a bounded number of cells, for at a centre of curvature all
 * points of an arc are equally close. If `to` is not finite or beyond GW_MAX_COORDINATE, as in a
 * diverging step, the result is the shape's first corner with the distance HUGE_VAL.
 */
void gw_nurbs_nearest_point(const gw_nurbs *nurbs, gw_vec3 to, gw_nurbs_nearest *nearest);

/* Cost of a searched cell, in scalar rows evaluated: 26 for a bicubic surface, 50 for degrees 7 and
 * 3, 8 for a cubic curve (measured; derivative bounds visit all Bezier points). */
static inline int gw_nurbs_cell_work(const gw_nurbs *nurbs)
{
    int points = (nurbs->direction[0].degree + 1) * (nurbs->direction[1].degree + 1);
    return 2 + 3 * points / 2;
}

/* Cost of a followed closest point, and of a known one, in the same unit (measured). */
#define GW_NURBS_FOLLOW_WORK 18
#define GW_NURBS_POINT_WORK  6

/* Largest number of cells of a search: some ten milliseconds; and inside a tick: a millisecond. */
#define GW_NURBS_MAX_CELLS  6000
#define GW_NURBS_TICK_CELLS 500

/* The same with at most `cells` cells. */
void gw_nurbs_nearest_within(const gw_nurbs *nurbs, gw_vec3 to, int cells,
                             gw_nurbs_nearest *nearest);

/* True if the search of at most *cells cells finds a point of the shape closer than `distance` (m)
 * by more than 1e-9 of the shape's size; farther cells are not searched. *cells becomes the number
 * searched. */
bool gw_nurbs_is_within(const gw_nurbs *nurbs, gw_vec3 to, double distance, int *cells);

/*
 * All local minima of the distance from `to` that are less than `distance` (m), with their points
 * inside the shape, where the line to `to` is a normal, and not at its ends or on sharp bends; the
 * `capacity` nearest ones, nearest first, with `bound` as their distance. Returns their number. The
 * search is complete where it takes at most *cells cells, which becomes the number searched; near a
 * centre of curvature it may not be.
 */
int gw_nurbs_minima(const gw_nurbs *nurbs, gw_vec3 to, double distance, int *cells, int capacity,
                    gw_nurbs_nearest *minima);

/* Result of the global search for the closest points of two shapes. */
typedef struct gw_nurbs_pair {
    double parameter[2][2]; /* on the first and on the second */
    double distance;        /* of the points (m) */
    double bound;           /* no points of the shapes are closer than this (m) */
    int cells;              /* number of pairs of cells that were searched */
} gw_nurbs_pair;

/*
 * The closest points of two shapes, the second at the pose `a_from_b`. The search ends when `bound`
 * is within 1e-4 of the smaller size of `distance`, or after `cells` pairs of cells, for parallel
 * shapes have the same distance everywhere.
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
 * Follows by Newton's method the local minimum of the distance from `to` that was at `parameter`
 * before `to` moved a little; `parameter` is moved there (in closed directions past the seam
 * without a jump, so not always within the domain). `span`: of evaluations, may be NULL. `at`: the
 * derivatives to second order there.
 */
gw_nurbs_event gw_nurbs_follow(const gw_nurbs *nurbs, gw_vec3 to, double parameter[2],
                               gw_nurbs_span *span, gw_nurbs_point *at);

/* The same near a pole, where the parameters are singular, in its tangent plane; *event: regular or
 * focal. False, with `parameter` unchanged, if it is not near a pole or the branch leads away. */
bool gw_nurbs_follow_about_pole(const gw_nurbs *nurbs, gw_vec3 to, double parameter[2],
                                gw_nurbs_event *event);

#endif
