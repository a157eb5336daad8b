/*
 * Distance of a free-form curve or surface from another element, for bounds: its local minima,
 * followed as the elements move, and starts to find them from. Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_FREE_FORM_DISTANCE_H
#define GW_GEOMETRY_FREE_FORM_DISTANCE_H

#include "rt/geometry/nurbs.h"

/* A local minimum of the distance: its parameters on either element; of a line the coordinate along
 * it (m), of a point or plane none. */
typedef struct gw_distance_place {
    bool known;
    double on_a[2], on_b[2];
} gw_distance_place;

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

/* The distance h at a place, with dh/dt = normal . (v_a - v_b), of the bodies' points at `at`. */
typedef struct gw_distance_at {
    double value;       /* h (m) */
    gw_vec3 at;         /* world */
    gw_vec3 normal;     /* from b to a; a unit vector but for signed distances past an edge */
    gw_vec3 on_a, on_b; /* the closest points, of a plane the shape's */
} gw_distance_at;

/* The local minimum near `place`, found by Newton's method; `place` is moved there. False where
 * there is none near it (past a centre of curvature): `place` is then another one. */
bool gw_free_form_follow(const gw_element *a, const gw_element *b, gw_distance_kind kind,
                         gw_distance_place *place, gw_distance_at *distance);

/* The nearest place, by a search of the whole shape with at most `cells` cells, from a point or
 * another shape; from a line or plane the least one from all starts. */
void gw_free_form_nearest(const gw_element *a, const gw_element *b, gw_distance_kind kind,
                          int cells, gw_distance_place *place, gw_distance_at *distance);

/* The number of starts of a complete search: parts of one of the shapes. */
int gw_free_form_starts(const gw_element *a, const gw_element *b);

/* Start i, 0 .. gw_free_form_starts() - 1: the middle of a part, with the closest point of the
 * other element. *bound: no point of the part has a lower distance (m; of the highest point: a
 * higher one, negated). */
void gw_free_form_start(const gw_element *a, const gw_element *b, gw_distance_kind kind, int i,
                        gw_distance_place *place, double *bound);

#endif
