/*
 * Polytopes out of their vertices and faces. Not for use inside a tick.
 */
#include "rt/collision/polytope.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Face i has counts[i] vertices, counter-clockwise from outside; `loop` lists those of all faces
 * one after the other. `edges` are those of a polytope without faces; the others follow from the
 * faces.
 */
typedef struct polytope_def {
    int vertex_count, face_count, edge_count;
    const gw_vec3 *vertices;
    const int *counts, *loop;
    const int (*edges)[2];
} polytope_def;

/* The polytope, followed in the same block of memory by its arrays. */
typedef struct owner {
    gw_polytope p;
    gw_vec3 *vertices, *directions;
    int (*edges)[2];
    gw_polytope_face *faces;
    int *loop;
} owner;

static owner *allocate_polytope(int vertices, int edges, int faces, int loop)
{
    size_t v = (size_t)vertices * sizeof(gw_vec3), d = (size_t)edges * sizeof(gw_vec3);
    size_t f = (size_t)faces * sizeof(gw_polytope_face), e = (size_t)edges * 2 * sizeof(int);
    size_t c = (size_t)loop * sizeof(int);
    owner *o = calloc(1, sizeof *o + v + d + f + e + c);
    if (!o)
        return NULL;
    char *at = (char *)(o + 1);
    o->vertices = (gw_vec3 *)(void *)at;
    o->directions = (gw_vec3 *)(void *)(at + v);
    o->faces = (gw_polytope_face *)(void *)(at + v + d);
    o->edges = (int(*)[2])(void *)(at + v + d + f);
    o->loop = (int *)(void *)(at + v + d + f + e);
    return o;
}

static void add_edge(owner *o, int from, int to)
{
    o->edges[o->p.edge_count][0] = from;
    o->edges[o->p.edge_count++][1] = to;
}

/* Newell's normal: a sum over all vertices, right where some of them are collinear. */
static gw_polytope_face make_face(const owner *o, int first, int count)
{
    gw_vec3 n = {0, 0, 0}, middle = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        gw_vec3 a = o->vertices[o->loop[first + i]];
        gw_vec3 b = o->vertices[o->loop[first + (i + 1) % count]];
        gw_vec3 from = o->vertices[o->loop[first]];
        n = gw_add(n, gw_cross(gw_sub(a, from), gw_sub(b, from)));
        middle = gw_mul_add(middle, 1.0 / count, a);
    }
    n = gw_unit(n);
    return (gw_polytope_face){n, gw_dot(n, middle), first, count};
}

static void set_faces(owner *o, const polytope_def *def)
{
    for (int f = 0, first = 0; f < def->face_count; first += def->counts[f++]) {
        int count = def->counts[f];
        o->faces[f] = make_face(o, first, count);
        for (int i = 0; i < count; i++) {
            int from = o->loop[first + i], to = o->loop[first + (i + 1) % count];
            /* each edge is in two faces, once in either direction; a triangle's in one */
            if (from < to || def->face_count == 1)
                add_edge(o, from, to);
        }
    }
}

/* Directions of the edges, parallel ones once. */
static void set_directions(owner *o)
{
    int count = 0;
    for (int i = 0; i < o->p.edge_count; i++) {
        gw_vec3 d = gw_unit(gw_sub(o->vertices[o->edges[i][1]], o->vertices[o->edges[i][0]]));
        bool known = false;
        for (int k = 0; k < count && !known; k++)
            known = fabs(gw_dot(o->directions[k], d)) > 1 - 1e-12;
        if (!known)
            o->directions[count++] = d;
    }
    o->p.direction_count = count;
}

static gw_polytope *create_polytope(const polytope_def *def)
{
    assert(def->vertex_count > 0 && def->face_count >= 0 && def->edge_count >= 0);
    int loop = 0;
    for (int i = 0; i < def->face_count; i++)
        loop += def->counts[i];
    owner *o = allocate_polytope(def->vertex_count, loop + def->edge_count, def->face_count, loop);
    if (!o)
        return NULL;
    memcpy(o->vertices, def->vertices, (size_t)def->vertex_count * sizeof *o->vertices);
    if (loop > 0)
        memcpy(o->loop, def->loop, (size_t)loop * sizeof *o->loop);
    for (int i = 0; i < def->edge_count; i++)
        add_edge(o, def->edges[i][0], def->edges[i][1]);
    set_faces(o, def);
    set_directions(o);
    o->p.vertex_count = def->vertex_count;
    o->p.face_count = def->face_count;
    o->p.vertices = o->vertices;
    o->p.edges = (const int(*)[2])o->edges;
    o->p.faces = o->faces;
    o->p.loop = o->loop;
    o->p.directions = o->directions;
    return &o->p;
}

void gw_polytope_destroy(gw_polytope *polytope)
{
    free(polytope); /* the owner's first member */
}

gw_polytope *gw_polytope_point(void)
{
    const gw_vec3 origin = {0, 0, 0};
    return create_polytope(&(polytope_def){.vertex_count = 1, .vertices = &origin});
}

gw_polytope *gw_polytope_segment(double length)
{
    assert(length >= 0);
    const gw_vec3 ends[2] = {{0, 0, -length / 2}, {0, 0, length / 2}};
    static const int edge[1][2] = {{0, 1}};
    return create_polytope(
        &(polytope_def){.vertex_count = 2, .edge_count = 1, .vertices = ends, .edges = edge});
}

gw_polytope *gw_polytope_box(gw_vec3 size)
{
    assert(size.x >= 0 && size.y >= 0 && size.z >= 0);
    static const int counts[6] = {4, 4, 4, 4, 4, 4};
    static const int loop[24] = {1, 3, 7, 5, 0, 4, 6, 2, 2, 6, 7, 3,
                                 0, 1, 5, 4, 4, 5, 7, 6, 0, 2, 3, 1};
    gw_vec3 vertices[8];
    for (int i = 0; i < 8; i++)
        vertices[i] = gw_v3(i & 1 ? size.x / 2 : -size.x / 2, i & 2 ? size.y / 2 : -size.y / 2,
                            i & 4 ? size.z / 2 : -size.z / 2);
    gw_polytope *box = create_polytope(&(polytope_def){
        .vertex_count = 8, .face_count = 6, .vertices = vertices, .counts = counts, .loop = loop});
    if (box)
        box->box = true;
    return box;
}

/* ---- hulls ----------------------------------------------------------------------------------- */

/* A hull's coplanar triangles are merged, face by face. */
typedef struct merging {
    const gw_mesh *mesh;
    gw_vec3 *normals;
    bool *merged;     /* triangles that are in a face */
    int (*border)[2]; /* directed edges round the current face */
    int border_count;
    int *counts, *loop;
    int face_count, loop_count;
} merging;

static bool are_coplanar(const merging *h, int t, int of, double slack)
{
    const gw_mesh *m = h->mesh;
    gw_vec3 from = m->vertices[m->triangles[of][0]];
    for (int k = 0; k < 3; k++)
        if (fabs(gw_dot(h->normals[of], gw_sub(m->vertices[m->triangles[t][k]], from))) > slack)
            return false;
    return gw_dot(h->normals[t], h->normals[of]) > 0;
}

/* Adds a directed edge to the border, or removes its reverse. */
static void add_border_edge(merging *h, int from, int to)
{
    for (int i = 0; i < h->border_count; i++) {
        if (h->border[i][0] == to && h->border[i][1] == from) {
            memcpy(h->border[i], h->border[--h->border_count], sizeof h->border[i]);
            return;
        }
    }
    h->border[h->border_count][0] = from;
    h->border[h->border_count++][1] = to;
}

/* Puts the border's edges in order as a face; false where they are not one loop. */
static bool close_border(merging *h)
{
    int first = h->loop_count, at = h->border[0][0];
    for (int step = 0; step < h->border_count; step++) {
        int edge = 0;
        while (edge < h->border_count && h->border[edge][0] != at)
            edge++;
        if (edge == h->border_count)
            return false;
        h->loop[h->loop_count++] = at;
        at = h->border[edge][1];
    }
    h->counts[h->face_count++] = h->border_count;
    return at == h->loop[first];
}

/* All triangles coplanar with triangle t as one face: on a hull they are neighbours. */
static bool merge_face(merging *h, int t)
{
    const gw_mesh *m = h->mesh;
    double slack = 1e-8 * gw_distance(m->bounds.low, m->bounds.high);
    h->border_count = 0;
    for (int i = t; i < m->triangle_count; i++) {
        if (h->merged[i] || (i != t && !are_coplanar(h, i, t, slack)))
            continue;
        h->merged[i] = true;
        for (int k = 0; k < 3; k++)
            add_border_edge(h, m->triangles[i][k], m->triangles[i][(k + 1) % 3]);
    }
    return close_border(h);
}

static gw_polytope *merge_all(merging *h)
{
    const gw_mesh *m = h->mesh;
    for (int t = 0; t < m->triangle_count; t++) {
        gw_vec3 a = m->vertices[m->triangles[t][0]];
        h->normals[t] = gw_unit(gw_cross(gw_sub(m->vertices[m->triangles[t][1]], a),
                                         gw_sub(m->vertices[m->triangles[t][2]], a)));
    }
    for (int t = 0; t < m->triangle_count; t++)
        if (!h->merged[t] && !merge_face(h, t))
            return NULL;
    return create_polytope(&(polytope_def){.vertex_count = m->vertex_count,
                                           .face_count = h->face_count,
                                           .vertices = m->vertices,
                                           .counts = h->counts,
                                           .loop = h->loop});
}

gw_polytope *gw_polytope_hull(const gw_mesh *mesh)
{
    assert(mesh);
    size_t n = (size_t)mesh->triangle_count;
    merging h = {.mesh = mesh};
    h.normals = malloc(n * sizeof *h.normals);
    h.merged = calloc(n, sizeof *h.merged);
    h.border = malloc(3 * n * sizeof *h.border);
    h.counts = malloc(n * sizeof *h.counts);
    h.loop = malloc(3 * n * sizeof *h.loop);
    gw_polytope *polytope =
        h.normals && h.merged && h.border && h.counts && h.loop ? merge_all(&h) : NULL;
    free(h.normals);
    free(h.merged);
    free(h.border);
    free(h.counts);
    free(h.loop);
    return polytope;
}
