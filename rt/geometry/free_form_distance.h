/*
 * Distance of a free-form curve or surface from another element, for bounds: its local minima,
 * followed as the elements move, and starts to find them from. Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_FREE_FORM_DISTANCE_H
#define GW_GEOMETRY_FREE_FORM_DISTANCE_H

#include "rt/geometry/nurbs.h"

/* A local minimum of the distance: its parameters on either element; of a line the coordinate along
 * it (m), of a point or plane none. */
typedef struct gw_distance_minimum {
    bool known;
    bool fixed;    /* no minimum: the parameters on the shape of the starts stay as they are */
    bool keeps;    /* these stay as they are while it is followed: */
    unsigned held; /* parameters that gw_distance_hold() has found, bit 2 side + k */
    double on_a[2], on_b[2];
} gw_distance_minimum;

/*
 * The distance to be kept, of elements a and b of which one at least is free-form. From a plane it
 * is the height of the shape's point along the plane's normal; with `side` 1 that of the lowest
 * point, with -1 of the highest one. Of a point from a surface it is signed along the normal with
 * `signs`. All others are lengths of 0 or more.
 */
typedef struct gw_distance_kind {
    int side; /* of a plane, else not read */
    bool signs;
} gw_distance_kind;

/* The distance h at a minimum, with dh/dt = normal . (v_a - v_b), of the bodies' points at `at`. */
typedef struct gw_distance_at {
    double value;       /* h (m) */
    gw_vec3 at;         /* world */
    gw_vec3 normal;     /* from b to a; a unit vector but for signed distances past an edge */
    gw_vec3 on_a, on_b; /* the closest points, of a plane the shape's */
} gw_distance_at;

/* The local minimum near `minimum`, found by Newton's method; `minimum` is moved there. False where
 * there is none near it (past a centre of curvature): `minimum` is then another one. */
bool gw_distance_follow(const gw_element *a, const gw_element *b, gw_distance_kind kind,
                        gw_distance_minimum *minimum, gw_distance_at *distance);

/* Finds the parameters that do not determine the minimum: those at ends and sharp bends, where the
 * distance falls outward, and those along which it hardly bends, as where a shape lies flat, and
 * the minimum would jump from one end of it to the other. */
void gw_distance_hold(const gw_element *a, const gw_element *b, gw_distance_kind kind,
                      gw_distance_minimum *minimum);

/*
 * The direction t of a shape at a minimum closest to a point x, which is the other element: the
 * unit tangent of a curve or normal of a surface; and the gradient by x of along . t (world).
 */
void gw_distance_direction(const gw_element *a, const gw_element *b,
                           const gw_distance_minimum *minimum, gw_vec3 along, gw_vec3 *t,
                           gw_vec3 *gradient);

/* The nearest minimum, by a search of the whole shape with at most `cells` cells, from a point or
 * another shape; from a line or plane the least one from all starts. */
void gw_distance_nearest(const gw_element *a, const gw_element *b, gw_distance_kind kind, int cells,
                         gw_distance_minimum *minimum, gw_distance_at *distance);

#define GW_DISTANCE_STARTS 64

/* A part of the shape, of two the smaller one, from which minima are searched: some neighbouring
 * leaves of its tree, each in turn. */
typedef struct gw_distance_start {
    int first, count, next; /* leaves; the last one that was tried */
    double reach; /* no point of the part is farther from the middle of its middle leaf (m) */
} gw_distance_start;

/* The starts of a complete search; returns their number. */
int gw_distance_starts(const gw_element *a, const gw_element *b,
                       gw_distance_start starts[GW_DISTANCE_STARTS]);

/* Its next leaf's middle, with the point of the other element closest to the part's middle. *bound:
 * no point of the part has a lower distance (m; of the highest point: a higher one, negated); from
 * `within` on the minimum may not be set. */
void gw_distance_try_start(const gw_element *a, const gw_element *b, gw_distance_kind kind,
                           gw_distance_start *start, double within, gw_distance_minimum *minimum,
                           double *bound);

/* Corner k of that leaf as a fixed minimum; false beyond the last one. The distance of a point that
 * is signed by a surface is there a length with the sign of `side`. */
bool gw_distance_corner(const gw_element *a, const gw_element *b, gw_distance_kind kind,
                        const gw_distance_start *start, int k, const gw_distance_minimum *minimum,
                        gw_distance_minimum *corner, gw_distance_at *distance);

#endif
