/*
 * Polytopes out of their corners and faces. Not for use inside a tick.
 */
#include "rt/collision/polytope.h"

#include <stdlib.h>
#include <string.h>

/* The polytope and all of its arrays, so that one piece of memory holds them. */
typedef struct owner {
    gw_polytope p;
    gw_vec3 *vertices, *directions;
    int (*edges)[2];
    gw_polytope_face *faces;
    int *loop;
} owner;

static owner *allocate(int vertices, int edges, int faces, int corners)
{
    size_t v = (size_t)vertices * sizeof(gw_vec3), d = (size_t)edges * sizeof(gw_vec3);
    size_t f = (size_t)faces * sizeof(gw_polytope_face), e = (size_t)edges * 2 * sizeof(int);
    size_t c = (size_t)corners * sizeof(int);
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

/* Newell's normal: the sum over the corners is right where some of them are on a line. */
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

static void take_faces(owner *o, const gw_polytope_def *def)
{
    for (int f = 0, first = 0; f < def->face_count; first += def->counts[f++]) {
        int count = def->counts[f];
        o->faces[f] = make_face(o, first, count);
        for (int i = 0; i < count; i++) {
            int from = o->loop[first + i], to = o->loop[first + (i + 1) % count];
            /* each edge is met once in either direction; a triangle's once in all */
            if (from < to || def->face_count == 1)
                add_edge(o, from, to);
        }
    }
}

static void take_directions(owner *o)
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

gw_polytope *gw_polytope_create(const gw_polytope_def *def)
{
    int corners = 0;
    for (int i = 0; i < def->face_count; i++)
        corners += def->counts[i];
    owner *o = allocate(def->vertex_count, corners + def->edge_count, def->face_count, corners);
    if (!o)
        return NULL;
    memcpy(o->vertices, def->vertices, (size_t)def->vertex_count * sizeof *o->vertices);
    if (corners > 0)
        memcpy(o->loop, def->loop, (size_t)corners * sizeof *o->loop);
    for (int i = 0; i < def->edge_count; i++)
        add_edge(o, def->edges[i][0], def->edges[i][1]);
    take_faces(o, def);
    take_directions(o);
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
    return gw_polytope_create(&(gw_polytope_def){.vertex_count = 1, .vertices = &origin});
}

gw_polytope *gw_polytope_segment(double length)
{
    const gw_vec3 ends[2] = {{0, 0, -length / 2}, {0, 0, length / 2}};
    static const int edge[1][2] = {{0, 1}};
    return gw_polytope_create(
        &(gw_polytope_def){.vertex_count = 2, .edge_count = 1, .vertices = ends, .edges = edge});
}

gw_polytope *gw_polytope_box(gw_vec3 size)
{
    static const int counts[6] = {4, 4, 4, 4, 4, 4};
    static const int loop[24] = {1, 3, 7, 5, 0, 4, 6, 2, 2, 6, 7, 3,
                                 0, 1, 5, 4, 4, 5, 7, 6, 0, 2, 3, 1};
    gw_vec3 corners[8];
    for (int i = 0; i < 8; i++)
        corners[i] = gw_v3(i & 1 ? size.x / 2 : -size.x / 2, i & 2 ? size.y / 2 : -size.y / 2,
                           i & 4 ? size.z / 2 : -size.z / 2);
    gw_polytope *box = gw_polytope_create(&(gw_polytope_def){
        .vertex_count = 8, .face_count = 6, .vertices = corners, .counts = counts, .loop = loop});
    if (box)
        box->box = true;
    return box;
}

/* ---- hulls --------------------------------------------------------------------------------- */

/* A hull's triangles, put together face by face. */
typedef struct joining {
    const gw_mesh *mesh;
    gw_vec3 *normals;
    bool *taken;   /* triangles that are in a face */
    int (*rim)[2]; /* directed edges round the face at hand */
    int rim_count;
    int *counts, *loop;
    int face_count, loop_count;
} joining;

static bool in_plane(const joining *j, int t, int of, double slack)
{
    const gw_mesh *m = j->mesh;
    gw_vec3 from = m->vertices[m->triangles[of][0]];
    for (int k = 0; k < 3; k++)
        if (fabs(gw_dot(j->normals[of], gw_sub(m->vertices[m->triangles[t][k]], from))) > slack)
            return false;
    return gw_dot(j->normals[t], j->normals[of]) > 0;
}

/* Adds a directed edge to the rim, or strikes out its other direction. */
static void add_rim(joining *j, int from, int to)
{
    for (int i = 0; i < j->rim_count; i++) {
        if (j->rim[i][0] == to && j->rim[i][1] == from) {
            memcpy(j->rim[i], j->rim[--j->rim_count], sizeof j->rim[i]);
            return;
        }
    }
    j->rim[j->rim_count][0] = from;
    j->rim[j->rim_count++][1] = to;
}

/* The rim's edges in order, one after the other; false where they are not one loop. */
static bool walk_rim(joining *j)
{
    int first = j->loop_count, at = j->rim[0][0];
    for (int step = 0; step < j->rim_count; step++) {
        int edge = 0;
        while (edge < j->rim_count && j->rim[edge][0] != at)
            edge++;
        if (edge == j->rim_count)
            return false;
        j->loop[j->loop_count++] = at;
        at = j->rim[edge][1];
    }
    j->counts[j->face_count++] = j->rim_count;
    return at == j->loop[first];
}

/* All triangles in the plane of triangle t as one face: on a hull they are next to one another. */
static bool join_face(joining *j, int t)
{
    const gw_mesh *m = j->mesh;
    double slack = 1e-8 * gw_distance(m->bounds.low, m->bounds.high);
    j->rim_count = 0;
    for (int i = t; i < m->triangle_count; i++) {
        if (j->taken[i] || (i != t && !in_plane(j, i, t, slack)))
            continue;
        j->taken[i] = true;
        for (int k = 0; k < 3; k++)
            add_rim(j, m->triangles[i][k], m->triangles[i][(k + 1) % 3]);
    }
    return walk_rim(j);
}

static gw_polytope *join_all(joining *j)
{
    const gw_mesh *m = j->mesh;
    for (int t = 0; t < m->triangle_count; t++) {
        gw_vec3 a = m->vertices[m->triangles[t][0]];
        j->normals[t] = gw_unit(gw_cross(gw_sub(m->vertices[m->triangles[t][1]], a),
                                         gw_sub(m->vertices[m->triangles[t][2]], a)));
    }
    for (int t = 0; t < m->triangle_count; t++)
        if (!j->taken[t] && !join_face(j, t))
            return NULL;
    return gw_polytope_create(&(gw_polytope_def){.vertex_count = m->vertex_count,
                                                 .face_count = j->face_count,
                                                 .vertices = m->vertices,
                                                 .counts = j->counts,
                                                 .loop = j->loop});
}

gw_polytope *gw_polytope_hull(const gw_mesh *mesh)
{
    size_t n = (size_t)mesh->triangle_count;
    joining j = {.mesh = mesh};
    j.normals = malloc(n * sizeof *j.normals);
    j.taken = calloc(n, sizeof *j.taken);
    j.rim = malloc(3 * n * sizeof *j.rim);
    j.counts = malloc(n * sizeof *j.counts);
    j.loop = malloc(3 * n * sizeof *j.loop);
    gw_polytope *hull = j.normals && j.taken && j.rim && j.counts && j.loop ? join_all(&j) : NULL;
    free(j.normals);
    free(j.taken);
    free(j.rim);
    free(j.counts);
    free(j.loop);
    return hull;
}
