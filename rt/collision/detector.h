/*
 * Collision detection: contact candidates of all bodies. Broad phase: an AABB tree of all geoms'
 * boxes, enlarged by the distance that they can travel (a speculative margin). Narrow phase: GJK,
 * SAT and EPA on the solids without a margin, then contact manifolds.
 *
 * gw_detect() runs on the world thread, or between two ticks; it takes and frees memory and is
 * never called inside a tick. A detector belongs to one thread at a time; several may share solids.
 * The functions that take a `const void *detector` are the narrow phase alone: any thread, RT safe.
 */
#ifndef GW_COLLISION_DETECTOR_H
#define GW_COLLISION_DETECTOR_H

#include "rt/base/error.h"
#include "rt/base/limits.h"
#include "rt/collision/candidate.h"
#include "rt/geometry/shape.h"

/* A shape of a body; a body may have many. */
typedef struct gw_collider {
    int body;              /* index into the world's bodies */
    const gw_shape *shape; /* copied at creation */
    gw_pose body_from_shape;
    int material; /* argument of gw_detector_def.surface */
} gw_collider;

typedef struct gw_detector_def {
    int body_count;
    int collider_count;
    const gw_collider *colliders;
    /* Pairs of bodies that never collide, such as neighbours in a chain. Symmetric; asked whenever
     * two boxes overlap. NULL: all collide. */
    bool (*ignore)(const void *context, int a, int b);
    /* Bodies that never move: they are `b` of their pairs, and no pairs among themselves. NULL: all
     * may move. Asked at creation. */
    bool (*is_static)(const void *context, int body);
    /* The contact material of a pair of materials. NULL: all zero. */
    gw_contact_material (*surface)(const void *context, int a, int b);
    const void *context;
    /* A detector of which parts of free-form surfaces are reused where they are the same; it may be
     * destroyed after the creation. NULL: none. */
    const struct gw_detector *reused;
} gw_detector_def;

typedef struct gw_detector gw_detector;

/* NULL with an error: GW_FAILED if memory is exhausted. */
gw_detector *gw_detector_create(const gw_detector_def *def, gw_error *error);
void gw_detector_destroy(gw_detector *detector); /* NULL is fine */

/* A detector that shares the solids of `like`, which is not changed, instead of building them
 * again. Bodies, colliders and static bodies must be the same; functions and context are those of
 * `def` (NULL: the detector only keeps the solids alive). The two may detect on two threads, one of
 * which then waits; either may be destroyed first. NULL if memory is exhausted. */
gw_detector *gw_detector_share(const gw_detector *like, const gw_detector_def *def,
                               gw_error *error);

/*
 * Finds the candidates with a gap of at most the distance by which the bodies can approach within
 * `horizon` (s), plus `margin` (m): the nearest `capacity` ones, nearest first; *lost: the number
 * of those left out. Poses and twists (of the bodies' origins, world axes) are arrays of
 * body_count. Returns the number of candidates; the result depends on the arguments alone.
 */
int gw_detect(gw_detector *detector, const gw_pose *world_from_body, const gw_twist *twists,
              double horizon, double margin, gw_contact_candidate *candidates, int capacity,
              int *lost);

/* The narrow phase of one pair of geoms: its candidates, nearest first, and the distance of the two
 * solids in *gap, however far; returns how many candidates. -1: two triangle meshes, which only
 * gw_detect() collides. */
int gw_detect_pair(const void *detector, const gw_pair_query *query,
                   gw_contact_candidate candidates[GW_PAIR_CANDIDATES], double *gap);

/* Bounding sphere of the geom, in its body's frame (m), for bounds of its motion: the radius is 0
 * for a ball, which its rotation does not move. Always true. */
bool gw_detector_bounding_sphere(const void *detector, int geom, gw_vec3 *centre, double *radius);

/* The geom's share of the cost of gw_detect_pair(), in steps of a free body. */
int gw_detector_query_cost(const void *detector, int geom);

/* For the only candidate of a pair, found at the query's poses: lower bound of the relative motion
 * of the solids (m) before any other points of them can touch. INFINITY for two balls; 0: unknown.
 */
double gw_detector_breaking_distance(const void *detector, const gw_pair_query *query,
                                     const gw_contact_candidate *candidate);

#endif
