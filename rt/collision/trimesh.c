/*
 * Triangle meshes in contact. Making one takes memory; queries are RT safe.
 *
 * A triangle of a closed surface is not a solid: a solid that reaches it from inside makes no
 * contact, nor does an internal edge between two coplanar triangles. A direction n at a vertex or
 * an edge is a normal of the whole surface if all neighbours are lower along n. Otherwise only the
 * triangle's own normal counts, for a solid above the triangle itself. An open surface has no
 * inside: either side is the outside for a solid on that side.
 *
 * An AABB tree finds the triangles near the other solid; each is tested by gw_convex_distance() and
 * gw_manifold_build(); the points of all triangles are reduced to four for each normal.
 */
#include "rt/collision/trimesh.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRIANGLES_MAX = 4096,       /* of a query */
    TRIANGLES_MAX_NEAREST = 512 /* of one that asks for the nearest only */
};

#define EFFORT_OF_DISTANCE 0.5 /* of a triangle, in steps of a free body, */
#define EFFORT_OF_CONTACT  2.0 /* and of its points */

static const double nearest_margin = 1e-3;    /* m beyond the nearest */
static const double nearest_tolerance = 1e-4; /* of the nearest (m) */

struct gw_trimesh {
    gw_mesh *mesh;   /* shared */
    double diagonal; /* of its bounds (m) */
    gw_vec3 *normals;
    int *face_of;    /* by triangle: the first triangle of the flat face that it is a part of */
    int *neighbours; /* vertices next to vertex v: from neighbours_of[v] to neighbours_of[v + 1] */
    int *neighbours_of;
    gw_aabb_tree *tree; /* of the triangles */
};

/* A triangle as a convex solid, with all that its polytope points to. */
typedef struct triangle {
    gw_polytope polytope;
    gw_vec3 vertices[3], directions[3];
    gw_polytope_face face;
    int vertex[3], index;
    gw_convex convex;
} triangle;

static const int triangle_edges[3][2] = {{0, 1}, {1, 2}, {2, 0}};
static const int front_loop[3] = {0, 1, 2}, back_loop[3] = {0, 2, 1};

/* ---- creation -------------------------------------------------------------------------------- */

static gw_vec3 vertex_of(const gw_trimesh *f, int t, int k)
{
    return f->mesh->vertices[f->mesh->triangles[t][k]];
}

/* Each directed edge adds a neighbour; on a closed surface these are all. */
static bool find_neighbours(gw_trimesh *f)
{
    const gw_mesh *m = f->mesh;
    size_t vertices = (size_t)m->vertex_count, edges = 3 * (size_t)m->triangle_count;
    f->neighbours_of = calloc(vertices + 2, sizeof *f->neighbours_of);
    f->neighbours = malloc((edges + 1) * sizeof *f->neighbours);
    if (!f->neighbours_of || !f->neighbours)
        return false;
    int *next = f->neighbours_of + 1; /* while filling: where the next one of vertex v goes */
    for (size_t i = 0; i < edges; i++)
        if ((size_t)m->triangles[i / 3][i % 3] + 1 < vertices)
            next[m->triangles[i / 3][i % 3] + 1]++;
    for (size_t v = 1; v < vertices; v++)
        next[v] += next[v - 1];
    for (size_t i = 0; i < edges; i++)
        f->neighbours[next[m->triangles[i / 3][i % 3]]++] = m->triangles[i / 3][(i + 1) % 3];
    return true;
}

/* Union-find: the representative of a triangle's face. */
static int find_face(int *face_of, int t)
{
    while (face_of[t] != t)
        t = face_of[t] = face_of[face_of[t]];
    return t;
}

/* Coplanar triangles that share an edge are one face. */
static bool find_faces(gw_trimesh *f)
{
    const gw_mesh *m = f->mesh;
    size_t count = 3 * (size_t)m->triangle_count;
    gw_mesh_edge *edges = gw_mesh_sorted_edges(m);
    f->face_of = malloc(((size_t)m->triangle_count + 1) * sizeof *f->face_of);
    for (int t = 0; f->face_of && t < m->triangle_count; t++)
        f->face_of[t] = t;
    for (size_t i = 0; edges && f->face_of && i + 1 < count; i++) {
        int a = edges[i].triangle, b = edges[i + 1].triangle;
        if (gw_mesh_same_edge(&edges[i], &edges[i + 1]) &&
            gw_dot(f->normals[a], f->normals[b]) > 1 - 1e-12) {
            a = find_face(f->face_of, a), b = find_face(f->face_of, b);
            f->face_of[a > b ? a : b] = a > b ? b : a;
        }
    }
    free(edges);
    return edges && f->face_of;
}

static gw_aabb box_of(const gw_vec3 p[3])
{
    gw_aabb box = {p[0], p[0]};
    for (int k = 1; k < 3; k++) {
        box.low = gw_v3(fmin(box.low.x, p[k].x), fmin(box.low.y, p[k].y), fmin(box.low.z, p[k].z));
        box.high =
            gw_v3(fmax(box.high.x, p[k].x), fmax(box.high.y, p[k].y), fmax(box.high.z, p[k].z));
    }
    return box;
}

static bool make_tree(gw_trimesh *f)
{
    int count = f->mesh->triangle_count;
    gw_aabb *boxes = malloc(((size_t)count + 1) * sizeof *boxes);
    for (int t = 0; boxes && t < count; t++) {
        const gw_vec3 p[3] = {vertex_of(f, t, 0), vertex_of(f, t, 1), vertex_of(f, t, 2)};
        boxes[t] = box_of(p);
        assert(gw_finite3(boxes[t].low) && gw_finite3(boxes[t].high));
    }
    f->tree = boxes ? gw_aabb_tree_create(boxes, count) : NULL;
    free(boxes);
    return f->tree != NULL;
}

gw_trimesh *gw_trimesh_create(gw_mesh *mesh, gw_error *error)
{
    assert(mesh);
    gw_trimesh *f = calloc(1, sizeof *f);
    if (f) {
        f->mesh = gw_mesh_get(mesh);
        f->diagonal = gw_distance(mesh->bounds.low, mesh->bounds.high);
        f->normals = malloc(((size_t)mesh->triangle_count + 1) * sizeof *f->normals);
    }
    for (int t = 0; f && f->normals && t < mesh->triangle_count; t++) {
        gw_vec3 a = vertex_of(f, t, 0);
        f->normals[t] =
            gw_unit(gw_cross(gw_sub(vertex_of(f, t, 1), a), gw_sub(vertex_of(f, t, 2), a)));
    }
    if (f && f->normals && find_neighbours(f) && find_faces(f) && make_tree(f))
        return f;
    gw_trimesh_destroy(f);
    gw_fail(error, GW_FAILED, "", "no memory for a mesh's tree");
    return NULL;
}

void gw_trimesh_destroy(gw_trimesh *f)
{
    if (!f)
        return;
    gw_aabb_tree_destroy(f->tree);
    gw_mesh_put(f->mesh);
    free(f->normals);
    free(f->face_of);
    free(f->neighbours);
    free(f->neighbours_of);
    free(f);
}

/* ---- a triangle as a convex solid ------------------------------------------------------------ */

/* Made in place: the convex solid points into *t. Of an open mesh its outside is the side where the
 * point `towards` (world) is. */
static void make_triangle(triangle *t, const gw_trimesh *f, int index, gw_vec3 origin,
                          const gw_mat3 *rotation, gw_vec3 towards)
{
    gw_vec3 middle = {0, 0, 0};
    t->index = index;
    for (int k = 0; k < 3; k++) {
        t->vertex[k] = f->mesh->triangles[index][k];
        middle = gw_mul_add(middle, 1.0 / 3, vertex_of(f, index, k));
    }
    double size = 0;
    for (int k = 0; k < 3; k++) {
        t->vertices[k] = gw_sub(vertex_of(f, index, k), middle);
        size = fmax(size, gw_norm(t->vertices[k]));
    }
    for (int k = 0; k < 3; k++)
        t->directions[k] = gw_unit(gw_sub(t->vertices[(k + 1) % 3], t->vertices[k]));
    gw_vec3 n = f->normals[index], there = gw_mat3_tmul(rotation, gw_sub(towards, origin));
    bool back = !f->mesh->closed && gw_dot(n, gw_sub(there, middle)) < 0;
    n = back ? gw_neg(n) : n;
    t->face = (gw_polytope_face){n, gw_dot(n, t->vertices[0]), 0, 3};
    t->polytope = (gw_polytope){.vertex_count = 3,
                                .edge_count = 3,
                                .face_count = 1,
                                .direction_count = 3,
                                .vertices = t->vertices,
                                .edges = triangle_edges,
                                .faces = &t->face,
                                .loop = back ? back_loop : front_loop,
                                .directions = t->directions};
    t->convex = (gw_convex){.core = GW_CORE_POLYTOPE,
                            .polytope = &t->polytope,
                            .size = size,
                            .origin = gw_add(origin, gw_mat3_mul(rotation, middle)),
                            .rotation = *rotation};
}

static gw_vec3 normal_of(const triangle *t)
{
    return gw_mat3_mul(&t->convex.rotation, t->face.normal);
}

/* ---- which normals belong to the whole surface ----------------------------------------------- */

static bool is_neighbour(const gw_trimesh *f, int v, int other)
{
    for (int i = f->neighbours_of[v]; i < f->neighbours_of[v + 1]; i++)
        if (f->neighbours[i] == other)
            return true;
    return false;
}

/* Whether no neighbour of vertex v lies farther along n. Where v is an end of the farthest edge
 * (`other_end`, else -1), only the neighbours of both ends count. */
static bool is_farthest(const gw_trimesh *f, int v, int other_end, gw_vec3 n)
{
    for (int i = f->neighbours_of[v]; i < f->neighbours_of[v + 1]; i++) {
        int w = f->neighbours[i];
        gw_vec3 d = gw_sub(f->mesh->vertices[w], f->mesh->vertices[v]);
        bool counts =
            other_end < 0 || is_neighbour(f, other_end, w) || is_neighbour(f, w, other_end);
        if (counts && gw_dot(n, d) > 1e-7 * gw_norm(d) + 1e-9 * f->diagonal)
            return false;
    }
    return true;
}

/* Whether no neighbour of the triangle's farthest vertices along n (its frame) lies farther. */
static bool supports_surface(const gw_trimesh *f, const triangle *t, gw_vec3 n)
{
    double most = -INFINITY;
    int top[3], count = 0;
    for (int k = 0; k < 3; k++)
        most = fmax(most, gw_dot(n, t->vertices[k]));
    for (int k = 0; k < 3; k++)
        if (gw_dot(n, t->vertices[k]) >= most - 1e-9 * f->diagonal)
            top[count++] = t->vertex[k];
    for (int k = 0; k < count; k++)
        if (!is_farthest(f, top[k], count == 2 ? top[1 - k] : -1, n))
            return false;
    return true;
}

/* The solid that is tested against a mesh's triangles; it may be a triangle of another mesh. */
typedef struct other_solid {
    const gw_convex *convex;
    gw_vec3 centre, half;
    const gw_trimesh *trimesh; /* NULL: none */
    const triangle *triangle;
} other_solid;

static gw_vec3 centre_of(const other_solid *o)
{
    return gw_add(o->convex->origin, gw_mat3_mul(&o->convex->rotation, o->centre));
}

/* True if n, from the triangle towards the other solid, is a normal of both whole surfaces. */
static bool normal_counts(const gw_trimesh *f, const triangle *t, const other_solid *o, gw_vec3 n)
{
    gw_vec3 local = gw_mat3_tmul(&t->convex.rotation, n);
    if (gw_dot(local, t->face.normal) < -1e-6 || !supports_surface(f, t, local))
        return false;
    if (!o->trimesh)
        return true;
    local = gw_mat3_tmul(&o->convex->rotation, gw_neg(n));
    return gw_dot(local, o->triangle->face.normal) > -1e-6 &&
           supports_surface(o->trimesh, o->triangle, local);
}

/*
 * The best face normal, where the normal of least overlap is not one of the surface (it crosses an
 * internal edge, for instance). The triangle's own normal counts only for a solid whose centre is
 * above the triangle; any other solid is beyond another part of the surface. False if the
 * penetration would be more than a quarter of the other solid's size.
 */
static bool best_face_normal(const gw_trimesh *f, const triangle *t, const other_solid *o,
                             gw_signed_distance *best)
{
    bool cut = best->distance < 0; /* else nothing overlaps, and the nearest point is elsewhere */
    const gw_convex *c = o->convex;
    gw_vec3 own = normal_of(t), centre = centre_of(o), n;
    *best = (gw_signed_distance){-INFINITY, own};
    if (gw_dot(own, gw_sub(centre, t->convex.origin)) > 0)
        best->distance = gw_separation_along(c, &t->convex, own) - c->rounding;
    for (int i = 0; cut && gw_convex_face_normal(c, i, &n); i++) {
        n = gw_neg(n);
        double s = gw_separation_along(c, &t->convex, n) - c->rounding;
        if (s > best->distance && normal_counts(f, t, o, n))
            *best = (gw_signed_distance){s, n};
    }
    return best->distance > -0.25 * (c->size + c->rounding);
}

/* ---- one triangle against the other solid ---------------------------------------------------- */

typedef struct collector {
    const gw_trimesh_query *query;
    double gap;   /* of all triangles met (m) */
    double reach; /* of points (m) */
    int count;
    gw_manifold_point found[GW_TRIMESH_FOUND];
} collector;

static bool is_found(const collector *c, const gw_manifold_point *p)
{
    for (int i = 0; i < c->count; i++) {
        const gw_manifold_point *o = &c->found[i];
        gw_vec3 at = gw_mul_add(p->b, p->radius_b, p->normal);
        gw_vec3 was = gw_mul_add(o->b, o->radius_b, o->normal);
        if (gw_dot(o->normal, p->normal) > 1 - 1e-6 && gw_distance(at, was) < 1e-7)
            return true;
    }
    return false;
}

/* The triangle's feature as one of the mesh: a vertex has the mesh's number, a face that of its
 * first triangle. */
static uint32_t mesh_feature(const gw_trimesh *f, const triangle *t, uint32_t feature)
{
    if (feature & GW_FEATURE_SIDE)
        return feature ^ (uint32_t)t->index << 3;
    if (feature & GW_FEATURE_FACE)
        return feature ^ (uint32_t)f->face_of[t->index] << 3;
    return (feature & ~3u) ^ (uint32_t)t->vertex[feature & 3] << 2;
}

/* Points are from the other solid (a) to the triangle (b). */
static void collide_triangle(collector *c, const gw_trimesh *f, const triangle *t,
                             const other_solid *o)
{
    gw_signed_distance distance;
    gw_add_effort(c->query->effort, EFFORT_OF_DISTANCE);
    if (!gw_convex_distance(o->convex, &t->convex, c->reach, &distance))
        return;
    gw_add_effort(c->query->effort, EFFORT_OF_CONTACT);
    c->gap = fmin(c->gap, distance.distance);
    gw_vec3 own = normal_of(t);
    bool counts = normal_counts(f, t, o, distance.normal);
    if (!counts && !best_face_normal(f, t, o, &distance))
        return;
    counts |= gw_dot(distance.normal, own) < 1 - 1e-12;
    gw_manifold_point points[GW_MANIFOLD_POINTS];
    int count = gw_manifold_build(o->convex, &t->convex, &distance, c->reach, NULL, points);
    for (int i = 0; i < count; i++) {
        gw_manifold_point *p = &points[i];
        bool above = p->kind == GW_NORMAL_IN_B && (p->of_face || gw_is_curved(&p->bend)) &&
                     gw_dot(p->normal, own) > 1 - 1e-9;
        if (!counts && !above)
            continue;
        p->feature_b = mesh_feature(f, t, p->feature_b);
        if (o->trimesh)
            p->feature_a = mesh_feature(o->trimesh, o->triangle, p->feature_a);
        if (c->count < GW_TRIMESH_FOUND && !is_found(c, p))
            c->found[c->count++] = *p;
    }
}

/* ---- all triangles that are near ------------------------------------------------------------- */

/* The box of a solid in the frame of a mesh at that pose. */
static gw_oriented_box box_in_mesh(gw_vec3 origin, const gw_mat3 *rotation, const gw_convex *s,
                                   gw_vec3 centre, gw_vec3 half)
{
    gw_oriented_box box = {.half = half};
    gw_vec3 p = gw_add(s->origin, gw_mat3_mul(&s->rotation, centre));
    box.centre = gw_mat3_tmul(rotation, gw_sub(p, origin));
    for (int k = 0; k < 3; k++) {
        gw_vec3 axis = {s->rotation.m[0][k], s->rotation.m[1][k], s->rotation.m[2][k]};
        axis = gw_mat3_tmul(rotation, axis);
        box.rotation.m[0][k] = axis.x, box.rotation.m[1][k] = axis.y;
        box.rotation.m[2][k] = axis.z;
    }
    return box;
}

/* Whether a triangle is within the reach of a box (its frame) along its own normal and the box's
 * axes. */
static bool is_triangle_near(const gw_trimesh *f, int t, const gw_oriented_box *box, double reach)
{
    gw_vec3 own = gw_mat3_tmul(&box->rotation, f->normals[t]);
    double half = fabs(own.x) * box->half.x + fabs(own.y) * box->half.y + fabs(own.z) * box->half.z;
    gw_vec3 d[3];
    for (int k = 0; k < 3; k++)
        d[k] = gw_sub(vertex_of(f, t, k), box->centre);
    if (fabs(gw_dot(f->normals[t], d[0])) > half + reach)
        return false;
    gw_aabb at;
    for (int k = 0; k < 3; k++)
        d[k] = gw_mat3_tmul(&box->rotation, d[k]);
    at = box_of(d);
    return at.low.x <= box->half.x + reach && -at.high.x <= box->half.x + reach &&
           at.low.y <= box->half.y + reach && -at.high.y <= box->half.y + reach &&
           at.low.z <= box->half.z + reach && -at.high.z <= box->half.z + reach;
}

/* A search for the distance of a solid from a mesh. */
typedef struct nearest_search {
    collector *collector;
    const other_solid *solid;
    const gw_oriented_box *box;
} nearest_search;

/* Lowers the gap to the distance of the triangle if that is less by the tolerance; returns how far
 * one has to be looked for. */
static double approach_triangle(void *context, int index)
{
    nearest_search *s = context;
    collector *c = s->collector;
    const gw_trimesh_query *q = c->query;
    const gw_convex *solid = s->solid->convex;
    gw_signed_distance distance;
    double within = c->gap - nearest_tolerance;
    triangle t;
    if (is_triangle_near(q->trimesh, index, s->box, within)) {
        gw_add_effort(q->effort, EFFORT_OF_DISTANCE);
        make_triangle(&t, q->trimesh, index, q->origin, &q->rotation, centre_of(s->solid));
        if (gw_convex_distance(solid, &t.convex, within, &distance))
            c->gap = distance.distance;
    }
    return c->gap > nearest_tolerance ? c->gap - nearest_tolerance : -1;
}

/* False where more triangles are near than the limit. */
static bool collide_solid(collector *c, const other_solid *o)
{
    const gw_trimesh_query *q = c->query;
    int triangles[TRIANGLES_MAX],
        capacity = q->nearest_only ? TRIANGLES_MAX_NEAREST : TRIANGLES_MAX;
    gw_oriented_box box = box_in_mesh(q->origin, &q->rotation, o->convex, o->centre, o->half);
    if (q->nearest_only) {
        nearest_search s = {c, o, &box};
        gw_aabb_tree_approach(q->trimesh->tree, &box, c->gap - nearest_tolerance, approach_triangle,
                              &s);
        c->reach = fmin(c->reach, fmax(0, c->gap) + nearest_margin);
    }
    double reach = c->reach;
    int count = gw_aabb_tree_query_oriented(q->trimesh->tree, &box, reach, triangles, capacity);
    bool all = count <= capacity;
    count = all ? count : capacity;
    for (int i = 0; i < count; i++) {
        triangle t;
        if (!is_triangle_near(q->trimesh, triangles[i], &box, reach))
            continue;
        make_triangle(&t, q->trimesh, triangles[i], q->origin, &q->rotation, centre_of(o));
        collide_triangle(c, q->trimesh, &t, o);
    }
    return all;
}

/* Each triangle of the other mesh that is near this mesh's box, as a convex solid. */
static void collide_trimesh(collector *c)
{
    const gw_trimesh_query *q = c->query;
    const gw_trimesh *f = q->other;
    gw_aabb box = q->trimesh->mesh->bounds;
    gw_convex frame = {.origin = q->origin, .rotation = q->rotation};
    int triangles[TRIANGLES_MAX];
    gw_oriented_box whole = box_in_mesh(q->convex->origin, &q->convex->rotation, &frame,
                                        gw_scale(0.5, gw_add(box.low, box.high)),
                                        gw_scale(0.5, gw_sub(box.high, box.low)));
    int count = gw_aabb_tree_query_oriented(f->tree, &whole, q->reach, triangles, TRIANGLES_MAX);
    for (int i = 0; i < count && i < TRIANGLES_MAX; i++) {
        triangle t;
        make_triangle(&t, f, triangles[i], q->convex->origin, &q->convex->rotation, q->origin);
        gw_aabb its = box_of(t.vertices);
        other_solid o = {&t.convex, gw_scale(0.5, gw_add(its.low, its.high)),
                         gw_scale(0.5, gw_sub(its.high, its.low)), f, &t};
        collide_solid(c, &o);
    }
}

/* ---- reduction ------------------------------------------------------------------------------- */

void gw_trimesh_sort(gw_manifold_point *points, int count)
{
    assert(count >= 0 && count <= GW_TRIMESH_FOUND);
    int order[GW_TRIMESH_FOUND]; /* of numbers, which move faster than points */
    for (int i = 0; i < count; i++) {
        int k = i;
        for (; k > 0 && points[order[k - 1]].gap > points[i].gap; k--)
            order[k] = order[k - 1];
        order[k] = i;
    }
    /* along the cycles of the permutation; what is in its place has its own number */
    for (int i = 0; i < count; i++) {
        if (order[i] == i)
            continue;
        gw_manifold_point first = points[i];
        int at = i;
        for (int from = order[at]; from != i; from = order[at]) {
            points[at] = points[from];
            order[at] = at;
            at = from;
        }
        points[at] = first;
        order[at] = at;
    }
}

/* The one of a group that is farthest from those taken of it; -1: all are where those are. */
static int farthest_found(const gw_manifold_point *found, int found_count, const bool *in_group,
                          const int *taken, int count)
{
    int best = -1;
    double most = 1e-7;
    for (int i = 0; i < found_count; i++) {
        double far = INFINITY;
        for (int k = 0; in_group[i] && k < count; k++)
            far = fmin(far, gw_distance(found[taken[k]].b, found[i].b));
        if (in_group[i] && far > most * (1 + 1e-6)) {
            most = far;
            best = i;
        }
    }
    return best;
}

int gw_trimesh_reduce(gw_manifold_point *points, int found_count, int capacity)
{
    bool done[GW_TRIMESH_FOUND] = {false}, in_group[GW_TRIMESH_FOUND];
    int taken[GW_TRIMESH_FOUND], count = 0;
    gw_manifold_point kept[GW_TRIMESH_POINTS];
    assert(found_count <= GW_TRIMESH_FOUND && capacity <= GW_TRIMESH_POINTS);
    for (int i = 0; i < found_count; i++) {
        if (done[i])
            continue;
        for (int k = 0; k < found_count; k++) {
            in_group[k] = !done[k] && gw_dot(points[i].normal, points[k].normal) > 0.999;
            done[k] |= in_group[k];
        }
        int first = count;
        for (int best = i; best >= 0 && count < capacity && count < first + GW_MANIFOLD_POINTS;
             best = farthest_found(points, found_count, in_group, &taken[first], count - first))
            taken[count++] = best;
    }
    for (int i = 0; i < count; i++)
        kept[i] = points[taken[i]];
    for (int i = 0; i < count; i++)
        points[i] = kept[i];
    return count;
}

int gw_trimesh_manifold(const gw_trimesh_query *query, gw_manifold_point *points, int capacity,
                        double *gap)
{
    assert(query->trimesh && query->convex && capacity >= 0);
    collector c; /* 50 kB: not cleared */
    c.query = query;
    c.gap = c.reach = query->reach;
    c.count = 0;
    bool all = true;
    if (query->other) {
        collide_trimesh(&c);
    } else {
        other_solid whole = {query->convex, query->centre, query->half, NULL, NULL};
        all = collide_solid(&c, &whole);
    }
    gw_trimesh_sort(c.found, c.count);
    int count = query->unreduced ? c.count : gw_trimesh_reduce(c.found, c.count, capacity);
    for (int i = 0; i < count; i++)
        points[i] = c.found[i];
    for (int i = 0; query->mesh_is_a && i < count; i++)
        points[i] = gw_manifold_point_swapped(&points[i]);
    if (gap)
        *gap = all ? c.gap : fmin(0, c.gap);
    return count;
}

int gw_trimesh_near(const gw_trimesh *f, gw_vec3 point, double reach, int *triangles, int capacity)
{
    assert(f && reach >= 0 && capacity >= 0);
    gw_vec3 h = {reach, reach, reach};
    gw_aabb probe = {gw_sub(point, h), gw_add(point, h)};
    return gw_aabb_tree_query(f->tree, &probe, triangles, capacity);
}

int gw_trimesh_nearest(const gw_trimesh *f, gw_vec3 point, double range,
                       double (*distance)(const void *context, int triangle, gw_vec3 point),
                       const void *context)
{
    return gw_aabb_tree_nearest(f->tree, point, range, distance, context);
}

bool gw_trimesh_set_normals(gw_trimesh *f, const gw_vec3 *normals, const double *sines)
{
    return gw_aabb_tree_set_normals(f->tree, normals, sines);
}

void gw_trimesh_near_pairs(const gw_trimesh *a, const gw_trimesh *b, const gw_aabb_near *near)
{
    gw_aabb_trees_near(a->tree, b->tree, near);
}
