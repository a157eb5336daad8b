/*
 * Convex solids as the narrow phase sees them: where they end in a direction, their faces and
 * edges. A solid is a core (a polytope, a cylinder or a cone) with a rounding around it: a ball is
 * a point, a capsule a segment with one. Lengths in m.
 *
 * Pure functions of their arguments once made. Any thread; making takes memory.
 */
#ifndef GW_COLLISION_CONVEX_H
#define GW_COLLISION_CONVEX_H

#include <stdint.h>

#include "rt/base/error.h"
#include "rt/base/space.h"
#include "rt/geometry/shape.h"

/* A face: its corners are loop[first] to loop[first + count - 1], counter-clockwise from outside.
 */
typedef struct gw_polytope_face {
    gw_vec3 normal; /* outward, unit */
    double offset;  /* normal . x of its points */
    int first, count;
} gw_polytope_face;

/* A convex polytope; fewer dimensions are fine: a point has no edges, a segment no faces, a
 * triangle one (its other side does not touch). */
typedef struct gw_polytope {
    int vertex_count, edge_count, face_count, direction_count;
    const gw_vec3 *vertices;
    const int (*edges)[2];
    const gw_polytope_face *faces;
    const int *loop;
    const gw_vec3 *directions; /* of the edges, unit, each once */
    bool box;                  /* corner i has the signs of i's bits: 1 x, 2 y, 4 z */
} gw_polytope;

typedef enum gw_convex_core { GW_CORE_POLYTOPE, GW_CORE_CYLINDER, GW_CORE_CONE } gw_convex_core;

/* One solid somewhere. */
typedef struct gw_convex {
    gw_convex_core core;
    const gw_polytope *polytope;
    double r, low, high; /* cylinder, cone: of the base disc; ends along z */
    double rounding;     /* of a ball around every point of the core */
    double size;         /* of a ball about the pose's origin that holds the core */
    gw_vec3 at;          /* world_from_core */
    gw_mat3 turn;
} gw_convex;

#define GW_FEATURE_POINTS 24 /* corners of a face that are looked at; of larger ones every n-th */

/* Corners of a solid that lead in a direction. */
typedef struct gw_support_feature {
    int count;
    gw_vec3 p[GW_FEATURE_POINTS];
    double radius[GW_FEATURE_POINTS]; /* of a ball around each that touches instead of it */
    int id[GW_FEATURE_POINTS];        /* the same while the same feature leads */
    bool closed;                      /* they go round a face; else a chain of one or two */
} gw_support_feature;

/* A face in world coordinates: a polygon, or a disc. */
typedef struct gw_reference_face {
    gw_vec3 normal;
    double offset;
    int id;
    int count;                      /* of its corners; 0: a disc */
    gw_vec3 p[GW_FEATURE_POINTS];   /* counter-clockwise from outside */
    gw_vec3 out[GW_FEATURE_POINTS]; /* across the side from each to the next, and as long as that */
    gw_vec3 centre;                 /* of a disc, and its radius */
    double radius;
} gw_reference_face;

/* Directions that n keeps to where the solid has a straight line across it: d . n = c. */
typedef struct gw_normal_circle {
    gw_vec3 d;
    double c;
} gw_normal_circle;

/* The core's farthest point along the unit vector d (world), rounding left out. */
gw_vec3 gw_convex_support(const gw_convex *s, gw_vec3 d);

/* How far a polytope's core reaches against and along n, from its `at` (m). */
void gw_convex_project(const gw_convex *s, gw_vec3 n, double *low, double *high);

/* Whether the solid's normals are not all known beforehand: it is a cylinder or a cone. */
static inline bool gw_convex_is_curved(const gw_convex *s)
{
    return s->core != GW_CORE_POLYTOPE;
}

/* The face whose outward normal is nearest to d; false where there is none within `cosine`. */
bool gw_convex_reference_face(const gw_convex *s, gw_vec3 d, double cosine,
                              gw_reference_face *plate);

/* The outward normal of face i (polytope, ends of a cylinder, base of a cone); false beyond. */
bool gw_convex_face_normal(const gw_convex *s, int i, gw_vec3 *normal);

/* How far the point, or what is above or below it, is from the plate's border; < 0: beside it. */
double gw_reference_face_inset(const gw_reference_face *plate, gw_vec3 p);

/* Whether the point is above or below the plate, or at most `slack` (m) beside that. */
bool gw_reference_face_contains(const gw_reference_face *plate, gw_vec3 p, double slack);

/* The straight lines of the surface that are level, within `slack` (rad), where d leads. At most
 * `room`; returns how many. */
int gw_convex_normal_circles(const gw_convex *s, gw_vec3 d, double slack, gw_normal_circle *flats,
                             int room);

/* The core's farthest points along d: one, the two ends of a line, or a face; what is lower than
 * the farthest by less than `slack` (m) counts. */
void gw_convex_support_feature(const gw_convex *s, gw_vec3 d, double slack,
                               gw_support_feature *top);

/* Corners that are about to touch a plate whose normal is -d: those of the face, edge or side that
 * leads in d, however they are tilted. */
void gw_convex_incident_feature(const gw_convex *s, gw_vec3 d, gw_support_feature *corners);

#endif
