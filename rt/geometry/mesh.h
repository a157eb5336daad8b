/*
 * Solids given by triangles: checked once, then shared and never changed. Their mass, bounds and
 * convex hulls. Any thread; not for use inside a tick.
 */
#ifndef GW_GEOMETRY_MESH_H
#define GW_GEOMETRY_MESH_H

#include <stdatomic.h>

#include "rt/base/limits.h"
#include "rt/geometry/shape.h"

struct gw_mesh {
    char file[GW_MAX_ID + 1]; /* the name that scenes know it by */
    bool convex;              /* its own hull */
    bool closed;              /* each edge is met once in either direction: it has an inside */
    int vertex_count, triangle_count;
    gw_vec3 *vertices;
    int (*triangles)[3]; /* corners counter-clockwise from outside */
    gw_mass mass;        /* at 1 kg/m^3, where it is closed */
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
 * A mesh with one reference. Vertices in the same place become one, triangles without area go, a
 * mesh that is inside out is turned. NULL with an error (GW_BAD_INPUT, GW_TOO_LARGE) where indices
 * are out of range, numbers are not finite, or nothing is left. One that is open has no mass: only
 * its hull is a solid.
 */
gw_mesh *gw_mesh_create(const gw_mesh_def *def, gw_error *error);

/* The convex hull of its vertices, with one reference; NULL with an error where they lie in a
 * plane, or GW_TOO_LARGE beyond GW_MAX_HULL corners. */
gw_mesh *gw_mesh_hull(const gw_mesh *mesh, gw_error *error);

gw_mesh *gw_mesh_get(gw_mesh *mesh); /* one more reference */
void gw_mesh_put(gw_mesh *mesh);     /* one less; NULL is fine */

/* Corners and triangles (counter-clockwise from outside) of the hull of `count` points, by index:
 * at most 2 `room` - 4 triangles for `room` corners. Returns how many triangles, 0 where the
 * points lie in a plane, -1 where there are more corners, or memory is short. */
int gw_convex_hull(int count, const gw_vec3 *points, int room, int (*triangles)[3]);

/* The three edges of each triangle, those with the same corners next to one another; to be freed
 * with free(). NULL: memory was short. */
gw_mesh_edge *gw_mesh_sorted_edges(const gw_mesh *mesh);
bool gw_mesh_same_edge(const gw_mesh_edge *a, const gw_mesh_edge *b);

#endif
