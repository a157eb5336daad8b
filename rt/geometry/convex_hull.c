/*
 * Convex hulls by Quickhull: the farthest point beyond a face is added, its visible faces replaced,
 * until no point is left outside. Any thread; not for use inside a tick.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rt/geometry/mesh.h"

typedef struct face {
    int corner[3];
    gw_vec3 normal;
    double offset;
    bool done; /* no point is beyond it */
} face;

typedef struct hull {
    int count, face_count, face_room, edge_count;
    const gw_vec3 *points;
    double size;
    face *faces;
    int (*edges)[2]; /* the horizon, room for 3 face_room */
} hull;

static bool add_face(hull *h, int i, int j, int k)
{
    const gw_vec3 *p = h->points;
    gw_vec3 n = gw_cross(gw_sub(p[j], p[i]), gw_sub(p[k], p[i]));
    if (h->face_count == h->face_room || gw_norm2(n) == 0)
        return false;
    n = gw_unit(n);
    h->faces[h->face_count++] = (face){{i, j, k}, n, gw_dot(n, p[i]), false};
    return true;
}

/* The point for which `measure` is largest. */
static int farthest_by(const hull *h, double (*measure)(const hull *h, const int *chosen, int i),
                       const int *chosen, double *value)
{
    int best = 0;
    *value = -1;
    for (int i = 0; i < h->count; i++) {
        double v = measure(h, chosen, i);
        if (v > *value) {
            *value = v;
            best = i;
        }
    }
    return best;
}

static double from_point(const hull *h, const int *chosen, int i)
{
    return gw_distance(h->points[i], h->points[chosen[0]]);
}

static double from_line(const hull *h, const int *chosen, int i)
{
    const gw_vec3 *p = h->points;
    gw_vec3 along = gw_unit(gw_sub(p[chosen[1]], p[chosen[0]]));
    return gw_norm(gw_reject(gw_sub(p[i], p[chosen[0]]), along));
}

static double above_plane(const hull *h, const int *chosen, int i)
{
    const gw_vec3 *p = h->points;
    gw_vec3 n =
        gw_unit(gw_cross(gw_sub(p[chosen[1]], p[chosen[0]]), gw_sub(p[chosen[2]], p[chosen[0]])));
    return gw_dot(n, gw_sub(p[i], p[chosen[0]]));
}

static double from_plane(const hull *h, const int *chosen, int i)
{
    return fabs(above_plane(h, chosen, i));
}

/* A large tetrahedron to start with; false where the points lie in a plane. */
static bool initial_tetrahedron(hull *h)
{
    int c[4] = {0};
    double far;
    c[0] = farthest_by(h, from_point, c, &h->size);
    c[1] = farthest_by(h, from_point, c, &h->size);
    c[2] = farthest_by(h, from_line, c, &far);
    if (far <= 1e-9 * h->size)
        return false;
    c[3] = farthest_by(h, from_plane, c, &far);
    if (far <= 1e-9 * h->size)
        return false;
    if (above_plane(h, c, c[3]) > 0) { /* the fourth below the first three */
        int swap = c[1];
        c[1] = c[2];
        c[2] = swap;
    }
    return add_face(h, c[0], c[1], c[2]) && add_face(h, c[0], c[3], c[1]) &&
           add_face(h, c[1], c[3], c[2]) && add_face(h, c[2], c[3], c[0]);
}

/* Adds an edge, or removes its reverse: the edges that are left are the horizon. */
static void toggle_edge(hull *h, int from, int to)
{
    for (int i = 0; i < h->edge_count; i++) {
        if (h->edges[i][0] == to && h->edges[i][1] == from) {
            memcpy(h->edges[i], h->edges[--h->edge_count], sizeof h->edges[i]);
            return;
        }
    }
    h->edges[h->edge_count][0] = from;
    h->edges[h->edge_count++][1] = to;
}

/* Removes the faces that the point sees, and joins the horizon to it. */
static bool add_point(hull *h, int point)
{
    int kept = 0;
    h->edge_count = 0;
    for (int i = 0; i < h->face_count; i++) {
        face *s = &h->faces[i];
        if (gw_dot(s->normal, h->points[point]) - s->offset <= 1e-13 * h->size) {
            h->faces[kept++] = *s;
            continue;
        }
        for (int k = 0; k < 3; k++)
            toggle_edge(h, s->corner[k], s->corner[(k + 1) % 3]);
    }
    h->face_count = kept;
    for (int i = 0; i < h->edge_count; i++)
        if (!add_face(h, h->edges[i][0], h->edges[i][1], point))
            return false;
    return true;
}

/* The point farthest beyond the face; of several at one height the outermost, a corner of the hull.
 * -1: none is beyond it. */
static int farthest_point_beyond(const hull *h, const face *s)
{
    const double level = 1e-9 * h->size;
    int best = -1;
    double most_high = level, most_far = 0;
    for (int i = 0; i < h->count; i++) {
        double high = gw_dot(s->normal, h->points[i]) - s->offset;
        if (high < most_high - level || high <= level)
            continue;
        double far = gw_distance(h->points[i], h->points[s->corner[0]]);
        if (best < 0 || high > most_high + level || far > most_far) {
            best = i;
            most_high = fmax(most_high, high);
            most_far = far;
        }
    }
    return best;
}

static bool all_inside(const hull *h)
{
    for (int k = 0; k < h->face_count; k++)
        for (int i = 0; i < h->count; i++)
            if (gw_dot(h->faces[k].normal, h->points[i]) - h->faces[k].offset > 1e-7 * h->size)
                return false;
    return true;
}

static bool expand_hull(hull *h)
{
    for (int i = 0; i < h->face_count;) {
        if (h->faces[i].done) {
            i++;
            continue;
        }
        int point = farthest_point_beyond(h, &h->faces[i]);
        if (point < 0) {
            h->faces[i].done = true;
            continue;
        }
        if (!add_point(h, point))
            return false;
        i = 0;
    }
    return all_inside(h);
}

int gw_convex_hull(int count, const gw_vec3 *points, int room, int (*triangles)[3])
{
    assert(points && room >= 4 && triangles);
    hull h = {.count = count, .points = points, .face_room = 2 * room - 4};
    size_t faces = (size_t)h.face_room;
    h.faces = malloc(faces * sizeof *h.faces);
    h.edges = malloc(3 * faces * sizeof *h.edges);
    int result = -1;
    if (h.faces && h.edges) {
        if (count < 4 || !initial_tetrahedron(&h))
            result = 0;
        else if (expand_hull(&h))
            result = h.face_count;
    }
    for (int i = 0; i < result; i++)
        memcpy(triangles[i], h.faces[i].corner, sizeof triangles[i]);
    free(h.faces);
    free(h.edges);
    return result;
}
