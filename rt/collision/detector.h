/*
 * Collision detection: contact candidates of all bodies. Broad phase: an AABB tree of all geoms'
 * boxes, enlarged by the distance that they can travel (a speculative margin). Narrow phase: GJK,
 * SAT and EPA on the solids as they are, then contact manifolds.
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
    int material; /* what `surface` is asked with */
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
} gw_detector_def;

typedef struct gw_detector gw_detector;

/* NULL with an error: GW_FAILED where memory is short. */
gw_detector *gw_detector_create(const gw_detector_def *def, gw_error *error);
void gw_detector_destroy(gw_detector *detector); /* NULL is fine */

/* A detector of the same solids as `like`, which is not changed: bodies, colliders and who is
 * static have to be the same, the functions and the context are those of `def` (NULL: it keeps the
 * solids and never detects). Nothing is built again. The two may detect on two threads, one of
 * which waits; either may be destroyed first. NULL where memory is short. */
gw_detector *gw_detector_share(const gw_detector *like, const gw_detector_def *def,
                               gw_error *error);

/*
 * Finds all candidates with a gap of at most the distance that the bodies can come together within
 * `horizon` (s), plus `margin` (m): at most `capacity`, nearest first; *lost: how many more there
 * were. Poses and twists (of the bodies' origins, world axes) are arrays of body_count. Returns how
 * many; they depend on the arguments alone.
 */
int gw_detect(gw_detector *detector, const gw_pose *world_from_body, const gw_twist *twists,
              double horizon, double margin, gw_contact_candidate *candidates, int capacity,
              int *lost);

/* The narrow phase of one pair of geoms: its candidates, nearest first, and the distance of the two
 * solids in *gap, however far; returns how many candidates. -1: two triangle meshes, which only
 * gw_detect() collides. */
int gw_detect_pair(const void *detector, const gw_pair_query *query,
                   gw_contact_candidate candidates[GW_PAIR_CANDIDATES], double *gap);

/* A sphere that holds the geom, in its body's frame; the radius is 0 for a ball, whose own turning
 * brings nothing nearer. Always true. */
bool gw_detector_bounding_sphere(const void *detector, int geom, gw_vec3 *centre, double *radius);

/* The part of the geom in the work of gw_detect_pair(), in steps of a free body. */
int gw_detector_query_cost(const void *detector, int geom);

/* For the only candidate of a pair, found at these poses: how far the solids may move against one
 * another (m) before any other points of them can touch. INFINITY for two balls, 0 where it is not
 * known. */
double gw_detector_breaking_distance(const void *detector, const gw_pair_query *query,
                                     const gw_contact_candidate *candidate);

#endif
