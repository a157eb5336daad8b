/*
 * Triangle meshes: checked at creation, then shared and immutable; their mass, bounds and convex
 * hulls. Any thread; not for use inside a tick.
 */
#ifndef GW_GEOMETRY_MESH_H
#define GW_GEOMETRY_MESH_H

#include <stdatomic.h>

#include "rt/base/limits.h"
#include "rt/geometry/shape.h"

struct gw_mesh {
    char file[GW_MAX_ID + 1]; /* its name in scenes */
    bool convex;              /* it is its own convex hull */
    bool closed;              /* each edge occurs once in either direction: it has an inside */
    int vertex_count, triangle_count;
    gw_vec3 *vertices;
    int (*triangles)[3]; /* corners counter-clockwise from outside */
    gw_mass mass;        /* at 1 kg/m^3, if it is closed */
    gw_aabb bounds;
    atomic_int references;
};

/* An edge of a triangle by its corners, low < high. */
typedef struct gw_mesh_edge {
    int low, high, triangle;
} gw_mesh_edge;

typedef struct gw_mesh_def {
    const char *file;
    int vertex_count, triangle_count;
    const gw_vec3 *vertices;
    const int (*triangles)[3];
} gw_mesh_def;

/*
 * A mesh with one reference. Coincident vertices are merged, triangles without area removed, a mesh
 * that is inside out reversed. NULL with an error (GW_BAD_INPUT, GW_TOO_LARGE) if indices are out
 * of range, numbers are not finite, or no triangle is left. An open mesh has no mass: only its hull
 * is a solid.
 */
gw_mesh *gw_mesh_create(const gw_mesh_def *def, gw_error *error);

/* The convex hull of its vertices, with one reference; NULL with an error if they are coplanar, or
 * with GW_TOO_LARGE beyond GW_MAX_HULL corners. */
gw_mesh *gw_mesh_hull(const gw_mesh *mesh, gw_error *error);

gw_mesh *gw_mesh_get(gw_mesh *mesh); /* one more reference */
void gw_mesh_put(gw_mesh *mesh);     /* one reference less; NULL is allowed */

/* Triangles (counter-clockwise from outside, by index) of the convex hull of `count` points with at
 * most `room` corners: at most 2 `room` - 4 triangles. Returns their number; 0 if the points are
 * coplanar, -1 if there are more corners or memory is exhausted. */
int gw_convex_hull(int count, const gw_vec3 *points, int room, int (*triangles)[3]);

/* The three edges of each triangle, sorted by their corners, equal ones by their triangle; to be
 * freed with free(). NULL: memory is exhausted. */
gw_mesh_edge *gw_mesh_sorted_edges(const gw_mesh *mesh);
bool gw_mesh_same_edge(const gw_mesh_edge *a, const gw_mesh_edge *b);

#endif
