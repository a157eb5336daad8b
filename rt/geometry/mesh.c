/*
 * Triangle meshes: welding, closedness, mass properties. Not for use inside a tick.
 */
#include "rt/geometry/mesh.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ownership ------------------------------------------------------------------------------ */

static gw_mesh *allocate_mesh(const char *file, int vertices, int triangles, gw_error *error)
{
    gw_mesh *m = calloc(1, sizeof *m);
    if (m) {
        m->vertices = malloc(((size_t)vertices + 1) * sizeof *m->vertices);
        m->triangles = malloc(((size_t)triangles + 1) * sizeof *m->triangles);
        atomic_init(&m->references, 1);
        snprintf(m->file, sizeof m->file, "%s", file ? file : "");
    }
    if (m && m->vertices && m->triangles)
        return m;
    gw_mesh_put(m);
    gw_fail(error, GW_FAILED, "", "no memory for a mesh");
    return NULL;
}

gw_mesh *gw_mesh_get(gw_mesh *mesh)
{
    atomic_fetch_add_explicit(&mesh->references, 1, memory_order_relaxed);
    return mesh;
}

void gw_mesh_put(gw_mesh *mesh)
{
    if (!mesh || atomic_fetch_sub_explicit(&mesh->references, 1, memory_order_acq_rel) > 1)
        return;
    free(mesh->vertices);
    free(mesh->triangles);
    free(mesh);
}

/* ---- check ---------------------------------------------------------------------------------- */

static bool check_definition(const gw_mesh_def *def, gw_error *error)
{
    if (def->vertex_count > GW_MAX_MESH_VERTICES || def->triangle_count > GW_MAX_MESH_TRIANGLES)
        return gw_fail(
            error, GW_TOO_LARGE, "", "%d vertices and %d triangles, at most %d and %d are taken",
            def->vertex_count, def->triangle_count, GW_MAX_MESH_VERTICES, GW_MAX_MESH_TRIANGLES);
    for (int i = 0; i < def->vertex_count; i++)
        if (!gw_finite3(def->vertices[i]) || gw_norm(def->vertices[i]) > GW_MAX_SHAPE_EXTENT)
            return gw_fail(error, GW_BAD_INPUT, "",
                           "vertex %d is not finite, or more than %g m away", i,
                           GW_MAX_SHAPE_EXTENT);
    for (int i = 0; i < def->triangle_count; i++)
        for (int k = 0; k < 3; k++)
            if (def->triangles[i][k] < 0 || def->triangles[i][k] >= def->vertex_count)
                return gw_fail(error, GW_BAD_INPUT, "", "triangle %d names vertex %d of %d", i,
                               def->triangles[i][k], def->vertex_count);
    return true;
}

/* ---- welding -------------------------------------------------------------------------------- */

typedef struct placed {
    gw_vec3 p;
    int index;
} placed;

static int by_place(const void *a, const void *b)
{
    const placed *x = a, *y = b;
    if (x->p.x != y->p.x)
        return x->p.x < y->p.x ? -1 : 1;
    if (x->p.y != y->p.y)
        return x->p.y < y->p.y ? -1 : 1;
    if (x->p.z != y->p.z)
        return x->p.z < y->p.z ? -1 : 1;
    return (x->index > y->index) - (x->index < y->index);
}

/* Sets first[i] to the lowest index of the vertices that coincide with vertex i; false if memory is
 * exhausted. */
static bool weld_vertices(const gw_mesh_def *def, int *first)
{
    placed *all = malloc(((size_t)def->vertex_count + 1) * sizeof *all);
    if (!all)
        return false;
    for (int i = 0; i < def->vertex_count; i++)
        all[i] = (placed){def->vertices[i], i};
    qsort(all, (size_t)def->vertex_count, sizeof *all, by_place);
    for (int i = 0; i < def->vertex_count; i++) {
        bool same = i > 0 && gw_norm2(gw_sub(all[i].p, all[i - 1].p)) == 0;
        first[all[i].index] = same ? first[all[i - 1].index] : all[i].index;
    }
    free(all);
    return true;
}

/* The index of a vertex in the mesh, to which it is added at its first use. */
static int number_vertex(gw_mesh *m, const gw_mesh_def *def, int *numbers, int vertex)
{
    if (numbers[vertex] < 0) {
        numbers[vertex] = m->vertex_count;
        m->vertices[m->vertex_count++] = def->vertices[vertex];
    }
    return numbers[vertex];
}

static bool fill_mesh(gw_mesh *m, const gw_mesh_def *def)
{
    size_t bytes = ((size_t)def->vertex_count + 1) * sizeof(int);
    int *first = malloc(bytes), *numbers = malloc(bytes);
    bool done = first && numbers && weld_vertices(def, first);
    for (int i = 0; done && i < def->vertex_count; i++)
        numbers[i] = -1;
    for (int i = 0; done && i < def->triangle_count; i++) {
        int a = first[def->triangles[i][0]], b = first[def->triangles[i][1]];
        int c = first[def->triangles[i][2]];
        if (a == b || b == c || c == a)
            continue;
        int *t = m->triangles[m->triangle_count++];
        t[0] = number_vertex(m, def, numbers, a);
        t[1] = number_vertex(m, def, numbers, b);
        t[2] = number_vertex(m, def, numbers, c);
    }
    free(first);
    free(numbers);
    return done;
}

/* ---- edges, closedness
 * ---------------------------------------------------------------------------- */

bool gw_mesh_same_edge(const gw_mesh_edge *a, const gw_mesh_edge *b)
{
    return a->low == b->low && a->high == b->high;
}

/* Stable counting sort by the lower or the higher corner; `next`: room for a place by vertex. */
static void sort_by_corner(const gw_mesh_edge *from, size_t count, bool low, int vertices,
                           size_t *next, gw_mesh_edge *to)
{
    memset(next, 0, ((size_t)vertices + 1) * sizeof *next);
    for (size_t i = 0; i < count; i++)
        next[(low ? from[i].low : from[i].high) + 1]++;
    for (int v = 0; v < vertices; v++)
        next[v + 1] += next[v];
    for (size_t i = 0; i < count; i++)
        to[next[low ? from[i].low : from[i].high]++] = from[i];
}

gw_mesh_edge *gw_mesh_sorted_edges(const gw_mesh *mesh)
{
    assert(mesh);
    size_t count = 3 * (size_t)mesh->triangle_count;
    gw_mesh_edge *edges = malloc((count + 1) * sizeof *edges);
    gw_mesh_edge *other = malloc((count + 1) * sizeof *other);
    size_t *next = malloc(((size_t)mesh->vertex_count + 1) * sizeof *next);
    bool sorted = edges && other && next;
    for (size_t i = 0; sorted && i < count; i++) {
        const int *t = mesh->triangles[i / 3];
        int from = t[i % 3], to = t[(i + 1) % 3];
        edges[i] = (gw_mesh_edge){from < to ? from : to, from < to ? to : from, (int)(i / 3)};
    }
    if (sorted) {
        sort_by_corner(edges, count, false, mesh->vertex_count, next, other);
        sort_by_corner(other, count, true, mesh->vertex_count, next, edges);
    }
    free(other);
    free(next);
    if (sorted)
        return edges;
    free(edges);
    return NULL;
}

/* True if the edge's triangle has it from its lower to its higher corner. */
static bool goes_up(const gw_mesh *m, const gw_mesh_edge *edge)
{
    const int *t = m->triangles[edge->triangle];
    return (t[0] == edge->low && t[1] == edge->high) || (t[1] == edge->low && t[2] == edge->high) ||
           (t[2] == edge->low && t[0] == edge->high);
}

/* A mesh is closed if each edge of a triangle occurs in the other direction in exactly one other
 * triangle. */
static bool find_closed(gw_mesh *m, gw_error *error)
{
    size_t count = 3 * (size_t)m->triangle_count;
    gw_mesh_edge *edges = gw_mesh_sorted_edges(m);
    if (!edges)
        return gw_fail(error, GW_FAILED, "", "no memory for a mesh");
    m->closed = count > 0;
    for (size_t i = 0; m->closed && i < count; i += 2)
        m->closed = i + 1 < count && gw_mesh_same_edge(&edges[i], &edges[i + 1]) &&
                    goes_up(m, &edges[i]) != goes_up(m, &edges[i + 1]) &&
                    (i + 2 >= count || !gw_mesh_same_edge(&edges[i], &edges[i + 2]));
    free(edges);
    return true;
}

/* ---- mass ----------------------------------------------------------------------------------- */

static gw_aabb bounds_of(const gw_mesh *m)
{
    gw_aabb box = {m->vertices[0], m->vertices[0]};
    for (int i = 1; i < m->vertex_count; i++) {
        gw_vec3 v = m->vertices[i];
        box.low = gw_v3(fmin(box.low.x, v.x), fmin(box.low.y, v.y), fmin(box.low.z, v.z));
        box.high = gw_v3(fmax(box.high.x, v.x), fmax(box.high.y, v.y), fmax(box.high.z, v.z));
    }
    return box;
}

/*
 * Sums over the tetrahedra between a middle o and the triangles, V = a . (b x c) / 6:
 *
 *   first moment   V (a + b + c) / 4
 *   second moment  V / 20 (a a^T + b b^T + c c^T + s s^T),  s = a + b + c
 */
static void add_tetrahedron(gw_vec3 a, gw_vec3 b, gw_vec3 c, double *volume, gw_vec3 *first,
                            double second[3][3])
{
    double v = gw_dot(a, gw_cross(b, c)) / 6;
    gw_vec3 s = gw_add(a, gw_add(b, c));
    const double p[4][3] = {{a.x, a.y, a.z}, {b.x, b.y, b.z}, {c.x, c.y, c.z}, {s.x, s.y, s.z}};
    *volume += v;
    *first = gw_mul_add(*first, v / 4, s);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            for (int k = 0; k < 4; k++)
                second[i][j] += v / 20 * p[k][i] * p[k][j];
}

/* Mass properties at 1 kg/m^3, summed about the middle of the bounds; negative if the mesh is
 * inside out. */
static gw_mass mass_of(const gw_mesh *m)
{
    gw_vec3 o = gw_scale(0.5, gw_add(m->bounds.low, m->bounds.high)), first = {0, 0, 0};
    double volume = 0, second[3][3] = {{0}};
    for (int i = 0; i < m->triangle_count; i++) {
        const int *t = m->triangles[i];
        add_tetrahedron(gw_sub(m->vertices[t[0]], o), gw_sub(m->vertices[t[1]], o),
                        gw_sub(m->vertices[t[2]], o), &volume, &first, second);
    }
    gw_mass mass = {.mass = volume};
    gw_vec3 d = volume != 0 ? gw_scale(1 / volume, first) : gw_v3(0, 0, 0);
    double com[3] = {d.x, d.y, d.z}, trace = 0;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            second[i][j] -= volume * com[i] * com[j];
    for (int i = 0; i < 3; i++)
        trace += second[i][i];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            mass.inertia.m[i][j] = (i == j ? trace : 0) - second[i][j];
    mass.com = gw_add(o, d);
    return mass;
}

static void flip_triangles(gw_mesh *m)
{
    for (int i = 0; i < m->triangle_count; i++) {
        int swap = m->triangles[i][1];
        m->triangles[i][1] = m->triangles[i][2];
        m->triangles[i][2] = swap;
    }
}

/* ---- creation ----------------------------------------------------------------------------- */

gw_mesh *gw_mesh_create(const gw_mesh_def *def, gw_error *error)
{
    assert(def);
    if (!check_definition(def, error))
        return NULL;
    gw_mesh *m = allocate_mesh(def->file, def->vertex_count, def->triangle_count, error);
    if (!m)
        return NULL;
    bool done = fill_mesh(m, def) || gw_fail(error, GW_FAILED, "", "no memory for a mesh");
    if (done && m->triangle_count == 0)
        done = gw_fail(error, GW_BAD_INPUT, "", "a mesh needs triangles; this one has none");
    if (!done || !find_closed(m, error)) {
        gw_mesh_put(m);
        return NULL;
    }
    m->bounds = bounds_of(m);
    if (!m->closed)
        return m;
    m->mass = mass_of(m);
    if (m->mass.mass < 0) {
        flip_triangles(m);
        m->mass = mass_of(m);
    }
    double size = gw_distance(m->bounds.low, m->bounds.high);
    m->closed = m->mass.mass > 1e-12 * size * size * size;
    return m;
}

gw_mesh *gw_mesh_hull(const gw_mesh *mesh, gw_error *error)
{
    assert(mesh);
    int(*triangles)[3] = malloc((2 * GW_MAX_HULL) * sizeof *triangles);
    int count =
        triangles ? gw_convex_hull(mesh->vertex_count, mesh->vertices, GW_MAX_HULL, triangles) : -1;
    gw_mesh *hull = NULL;
    if (count > 0)
        hull = gw_mesh_create(&(gw_mesh_def){.file = mesh->file,
                                             .vertex_count = mesh->vertex_count,
                                             .triangle_count = count,
                                             .vertices = mesh->vertices,
                                             .triangles = (const int(*)[3])triangles},
                              error);
    else if (count == 0)
        gw_fail(error, GW_BAD_INPUT, "", "the mesh's vertices lie in a plane: it has no hull");
    else
        gw_fail(error, triangles ? GW_TOO_LARGE : GW_FAILED, "",
                "the mesh's hull has more than %d corners, or memory is short", GW_MAX_HULL);
    free(triangles);
    if (hull)
        hull->convex = true;
    return hull;
}
