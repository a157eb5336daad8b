/*
 * Polytopes out of their corners and faces. Not for use inside a tick.
 */
#include "rt/contact/polytope.h"

#include <stdlib.h>
#include <string.h>

/* The polytope and all of its arrays, so that one piece of memory holds them. */
typedef struct owner {
    gw_polytope p;
    gw_vec3 *vertices, *directions;
    int (*edges)[2];
    gw_face *faces;
    int *loop;
} owner;

static owner *allocate(int vertices, int edges, int faces, int corners)
{
    size_t v = (size_t)vertices * sizeof(gw_vec3), d = (size_t)edges * sizeof(gw_vec3);
    size_t f = (size_t)faces * sizeof(gw_face), e = (size_t)edges * 2 * sizeof(int);
    size_t c = (size_t)corners * sizeof(int);
    owner *o = calloc(1, sizeof *o + v + d + f + e + c);
    if (!o)
        return NULL;
    char *at = (char *)(o + 1);
    o->vertices = (gw_vec3 *)(void *)at;
    o->directions = (gw_vec3 *)(void *)(at + v);
    o->faces = (gw_face *)(void *)(at + v + d);
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
static gw_face make_face(const owner *o, int first, int count)
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
    return (gw_face){n, gw_dot(n, middle), first, count};
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
    /* corner i has the signs of its bits: 1 x, 2 y, 4 z */
    static const int loop[24] = {1, 3, 7, 5, 0, 4, 6, 2, 2, 6, 7, 3,
                                 0, 1, 5, 4, 4, 5, 7, 6, 0, 2, 3, 1};
    gw_vec3 corners[8];
    for (int i = 0; i < 8; i++)
        corners[i] = gw_v3(i & 1 ? size.x / 2 : -size.x / 2, i & 2 ? size.y / 2 : -size.y / 2,
                           i & 4 ? size.z / 2 : -size.z / 2);
    return gw_polytope_create(&(gw_polytope_def){
        .vertex_count = 8, .face_count = 6, .vertices = corners, .counts = counts, .loop = loop});
}
