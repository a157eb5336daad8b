/*
 * Collision detection: who is near whom, and where. ODE's spaces (libode) tell which bodies' boxes,
 * enlarged by what they can travel, overlap; gaps and normals are found on the solids as they are.
 *
 * On the world thread, or between two ticks; it takes and gives memory as it likes and is never
 * called inside a tick. Each detector belongs to one thread at a time; several may live in one
 * process. ODE is started once and stays; its data of a thread go with the thread.
 */
#ifndef GW_COLLISION_DETECTOR_H
#define GW_COLLISION_DETECTOR_H

#include "rt/base/error.h"
#include "rt/base/limits.h"
#include "rt/collision/candidate.h"
#include "rt/geometry/shape.h"

/* One solid of a body. */
typedef struct gw_collider {
    int body;              /* index into the world's bodies */
    const gw_shape *shape; /* copied at creation */
    gw_pose body_from_shape;
    int material; /* index into the surfaces' table */
} gw_collider;

typedef struct gw_detector_def {
    int body_count;
    int collider_count;
    const gw_collider *colliders;
    /* Pairs of bodies that never touch: neighbours in a chain. Symmetric; asked whenever two come
     * near. NULL: all touch. */
    bool (*ignore)(const void *context, int a, int b);
    /* Bodies that never move: they are `b` of their pairs, and no pair among themselves. NULL: all
     * may move. Asked at creation. */
    bool (*is_static)(const void *context, int body);
    /* What the pair of materials is like. */
    gw_contact_material (*surface)(const void *context, int a, int b);
    const void *context;
} gw_detector_def;

typedef struct gw_detector gw_detector;

gw_detector *gw_detector_create(const gw_detector_def *def, gw_error *error);
void gw_detector_destroy(gw_detector *detector); /* NULL is fine */

/*
 * Finds all pairs of points nearer than what the bodies can come by within `horizon` seconds, plus
 * `margin` (m): at most `capacity`, nearest first; *lost: how many more there were. Bodies' poses
 * and twists (of their origins) are arrays of body_count. Flat against flat gives up to four pairs.
 */
int gw_detect(gw_detector *detector, const gw_pose *world_from_body, const gw_twist *twists,
              double horizon, double margin, gw_contact_candidate *near, int capacity, int *lost);

/* What gw_world_looks() wants (world.h): balls about its convex pieces, and two of them looked at
 * again with their bodies elsewhere, what that costs, and how long it holds. They read what never
 * changes: any thread, RT safe. */
bool gw_detector_bounding_sphere(const void *detector, int piece, gw_vec3 *centre, double *radius);
int gw_detect_pair(const void *detector, const gw_pair_query *again,
                   gw_contact_candidate near[GW_PAIR_CANDIDATES], double *gap);
int gw_detector_query_cost(const void *detector, int piece);
double gw_detector_breaking_distance(const void *detector, const gw_pair_query *again,
                                     const gw_contact_candidate *near);

#endif
