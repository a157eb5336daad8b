/*
 * Convex solids of the narrow phase: support functions, reference faces and incident features, and
 * the circles of the Gauss map to which a straight line of a surface restricts a normal.
 *
 * A solid is a core (a polytope, a cylinder or a cone) with a rounding: all points within that
 * distance of the core. A ball is a rounded point, a capsule a rounded segment. Lengths in m.
 * Pure functions: any thread, no allocation, RT safe.
 */
#ifndef GW_COLLISION_CONVEX_H
#define GW_COLLISION_CONVEX_H

#include <stdint.h>

#include "rt/base/error.h"
#include "rt/base/space.h"
#include "rt/collision/edge_pair.h"
#include "rt/geometry/shape.h"

/* Its vertices are loop[first] to loop[first + count - 1], counter-clockwise from outside. */
typedef struct gw_polytope_face {
    gw_vec3 normal; /* outward, unit */
    double offset;  /* normal . x of its points */
    int first, count;
} gw_polytope_face;

/* A convex polytope, made by polytope.h. A point has no edges, a segment no faces, a triangle one
 * face (contact is with that side only). */
typedef struct gw_polytope {
    int vertex_count, edge_count, face_count, direction_count;
    const gw_vec3 *vertices;
    const int (*edges)[2];
    const gw_polytope_face *faces;
    const int *loop;
    const gw_vec3 *directions; /* of the edges, unit, parallel ones once */
    bool box;                  /* the bits of a vertex's index are its signs: 1 x, 2 y, 4 z */
} gw_polytope;

typedef enum gw_convex_core { GW_CORE_POLYTOPE, GW_CORE_CYLINDER, GW_CORE_CONE } gw_convex_core;

/* A solid at a pose. */
typedef struct gw_convex {
    gw_convex_core core;
    const gw_polytope *polytope;
    double radius;    /* cylinder, cone: of the base disc */
    double low, high; /* cylinder, cone: ends along z */
    double rounding;
    double size;      /* radius of a ball about the origin that holds the core */
    gw_vec3 origin;   /* world_from_core */
    gw_mat3 rotation; /* world_from_core */
} gw_convex;

/* Largest number of vertices of a face that are used; of a face with more, every n-th. */
#define GW_FEATURE_POINTS 24

/* Ids of a cylinder's and a cone's features: of the ends of its side, which roll, an apex, and four
 * points of a rim, GW_ID_RIM to GW_ID_RIM + 3, with its lowest point, GW_ID_RIM + 4. */
enum { GW_ID_TOP = 0x10000, GW_ID_BASE, GW_ID_APEX, GW_ID_RIM };

/* A vertex, an edge or a face of a core, as points in world coordinates. Each stands for a ball
 * whose lowest point is the contact point. */
typedef struct gw_support_feature {
    int count;
    gw_vec3 p[GW_FEATURE_POINTS];
    double radius[GW_FEATURE_POINTS]; /* of the balls */
    int id[GW_FEATURE_POINTS];        /* the same while the same feature is found */
    bool closed;                      /* a polygon; else one point or the two ends of a segment */
} gw_support_feature;

/* A face in world coordinates: a polygon, or a disc. */
typedef struct gw_reference_face {
    gw_vec3 normal;
    double offset; /* normal . x of its points */
    int id;
    int count;                       /* of the polygon's vertices; 0: a disc */
    gw_vec3 p[GW_FEATURE_POINTS];    /* vertices, counter-clockwise from outside */
    gw_vec3 side[GW_FEATURE_POINTS]; /* outward normal of side i to i + 1, as long as the side */
    gw_vec3 centre;                  /* of the disc */
    double radius;
} gw_reference_face;

/* The unit normals n with d . n = c, which a straight line of a solid's surface has. Edge along d:
 * c = 0. Generators of a cylinder or a cone with axis d and half apex angle alpha: c = sin
 * alpha. */
typedef struct gw_normal_circle {
    gw_vec3 d;
    double c;
} gw_normal_circle;

/* Support function: the core's farthest point along the unit vector d (world axes). */
gw_vec3 gw_convex_support(const gw_convex *s, gw_vec3 d);

/* The interval of n . (x - origin) over a polytope's core (m). */
void gw_convex_project(const gw_convex *s, gw_vec3 n, double *low, double *high);

/* A cylinder or a cone: its normals cannot be enumerated. */
static inline bool gw_convex_is_curved(const gw_convex *s)
{
    return s->core != GW_CORE_POLYTOPE;
}

/* The face whose outward normal is nearest to the unit vector d; false where the cosine of the
 * angle between them is at most `cosine` for all faces. */
bool gw_convex_reference_face(const gw_convex *s, gw_vec3 d, double cosine,
                              gw_reference_face *face);

/* The outward normal of face i (of a polytope, the ends of a cylinder, the base of a cone); false
 * where there is no such face. */
bool gw_convex_face_normal(const gw_convex *s, int i, gw_vec3 *normal);

/* Distance of the point, projected to the face's plane, from the border; below 0: outside. */
double gw_reference_face_inset(const gw_reference_face *face, gw_vec3 p);

/* True if the inset of p is at least -slack (m). */
bool gw_reference_face_contains(const gw_reference_face *face, gw_vec3 p, double slack);

/* The normal circles of the straight lines of the surface that are farthest along d and orthogonal
 * to it within `slack` (rad). At most `capacity`; returns how many. */
int gw_convex_normal_circles(const gw_convex *s, gw_vec3 d, double slack, gw_normal_circle *circles,
                             int capacity);

/* The rim of a cylinder or a cone at a point of it. */
gw_edge_point gw_convex_rim_at(const gw_convex *s, gw_vec3 x);

/* The axis of a cylinder or a cone with the ball that touches its side at a point of it. */
gw_edge_point gw_convex_side_at(const gw_convex *s, gw_vec3 x);

/* The core's farthest points along d, within `slack` (m): a point, the ends of a segment or a face.
 */
void gw_convex_support_feature(const gw_convex *s, gw_vec3 d, double slack,
                               gw_support_feature *feature);

/* The incident feature on a reference face with normal -d: the vertices of the face, edge or side
 * whose normal is nearest to d, however they are tilted. */
void gw_convex_incident_feature(const gw_convex *s, gw_vec3 d, gw_support_feature *feature);

#endif
