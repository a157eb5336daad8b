/*
 * Meshes in contact. Making them takes memory; asking is RT safe.
 *
 * A triangle of a closed surface is not a solid: what touches it from a side that is inside is no
 * contact, and an edge between two triangles in a plane is none. A direction n at a corner or an
 * edge belongs to the whole surface where everything next to it lies lower along n; else only the
 * triangle's own normal counts, for what is above the triangle itself. An open surface has no
 * inside: each side of it is outside for what is there.
 */
#include "rt/collision/trimesh.h"

#include <stdlib.h>
#include <string.h>

#include "rt/collision/aabb_tree.h"

enum { NEAR_FACETS = 4096, FEW_FACETS = 512, FOUND = 256 };

static const double about_as = 1e-3; /* where few are asked for: as near as the nearest (m) */

struct gw_trimesh {
    gw_mesh *mesh; /* shared */
    double size;
    gw_vec3 *normals; /* of the triangles */
    int *flats;       /* which flat face each triangle is a part of: its first triangle */
    int *rings;       /* vertices next to vertex v: from rings_of[v] to rings_of[v + 1] */
    int *rings_of;
    gw_aabb_tree *tree; /* of the triangles */
};

/* A triangle as a convex solid: what its polytope points to. */
typedef struct facet {
    gw_polytope polytope;
    gw_vec3 vertices[3], directions[3];
    gw_polytope_face face;
    int id[3], triangle;
    gw_convex convex;
} facet;

static const int triangle_edges[3][2] = {{0, 1}, {1, 2}, {2, 0}};
static const int triangle_loop[3] = {0, 1, 2}, triangle_back[3] = {0, 2, 1};

/* ---- making -------------------------------------------------------------------------------- */

static gw_vec3 corner(const gw_trimesh *f, int triangle, int k)
{
    return f->mesh->vertices[f->mesh->triangles[triangle][k]];
}

/* Vertices next to each one: each directed edge once, which on a closed surface is all of them. */
static bool find_rings(gw_trimesh *f)
{
    const gw_mesh *m = f->mesh;
    size_t vertices = (size_t)m->vertex_count, edges = 3 * (size_t)m->triangle_count;
    f->rings_of = calloc(vertices + 2, sizeof *f->rings_of);
    f->rings = malloc((edges + 1) * sizeof *f->rings);
    if (!f->rings_of || !f->rings)
        return false;
    int *next = f->rings_of + 1; /* while filling: where the next one of vertex v goes */
    for (size_t i = 0; i < edges; i++)
        if ((size_t)m->triangles[i / 3][i % 3] + 1 < vertices)
            next[m->triangles[i / 3][i % 3] + 1]++;
    for (size_t v = 1; v < vertices; v++)
        next[v] += next[v - 1];
    for (size_t i = 0; i < edges; i++)
        f->rings[next[m->triangles[i / 3][i % 3]]++] = m->triangles[i / 3][(i + 1) % 3];
    return true;
}

static int root(int *flats, int t)
{
    while (flats[t] != t)
        t = flats[t] = flats[flats[t]];
    return t;
}

typedef struct half_edge {
    int low, high, triangle;
} half_edge;

static int by_ends(const void *a, const void *b)
{
    const half_edge *x = a, *y = b;
    int low = (x->low > y->low) - (x->low < y->low);
    return low ? low : (x->high > y->high) - (x->high < y->high);
}

/* Triangles next to one another in one plane are one face. */
static bool find_flats(gw_trimesh *f)
{
    const gw_mesh *m = f->mesh;
    size_t count = 3 * (size_t)m->triangle_count;
    half_edge *edges = malloc((count + 1) * sizeof *edges);
    f->flats = malloc(((size_t)m->triangle_count + 1) * sizeof *f->flats);
    for (size_t i = 0; edges && i < count; i++) {
        int from = m->triangles[i / 3][i % 3], to = m->triangles[i / 3][(i + 1) % 3];
        edges[i] = (half_edge){from < to ? from : to, from < to ? to : from, (int)(i / 3)};
    }
    if (edges && f->flats) {
        qsort(edges, count, sizeof *edges, by_ends);
        for (int t = 0; t < m->triangle_count; t++)
            f->flats[t] = t;
    }
    for (size_t i = 0; edges && f->flats && i + 1 < count; i += 2) {
        int a = edges[i].triangle, b = edges[i + 1].triangle;
        if (gw_dot(f->normals[a], f->normals[b]) > 1 - 1e-12) {
            a = root(f->flats, a), b = root(f->flats, b);
            f->flats[a > b ? a : b] = a > b ? b : a;
        }
    }
    free(edges);
    return edges && f->flats;
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
        const gw_vec3 p[3] = {corner(f, t, 0), corner(f, t, 1), corner(f, t, 2)};
        boxes[t] = box_of(p);
    }
    f->tree = boxes ? gw_aabb_tree_create(boxes, count) : NULL;
    free(boxes);
    return f->tree != NULL;
}

gw_trimesh *gw_trimesh_create(gw_mesh *mesh, gw_error *error)
{
    gw_trimesh *f = calloc(1, sizeof *f);
    if (f) {
        f->mesh = gw_mesh_get(mesh);
        f->size = gw_distance(mesh->bounds.low, mesh->bounds.high);
        f->normals = malloc(((size_t)mesh->triangle_count + 1) * sizeof *f->normals);
    }
    for (int t = 0; f && f->normals && t < mesh->triangle_count; t++) {
        gw_vec3 a = corner(f, t, 0);
        f->normals[t] = gw_unit(gw_cross(gw_sub(corner(f, t, 1), a), gw_sub(corner(f, t, 2), a)));
    }
    if (f && f->normals && find_rings(f) && find_flats(f) && make_tree(f))
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
    free(f->flats);
    free(f->rings);
    free(f->rings_of);
    free(f);
}

/* ---- one triangle -------------------------------------------------------------------------- */

/* Made in place: the convex points into the facet. Of an open mesh it is the side `towards` a point
 * (world). */
static void make_facet(facet *t, const gw_trimesh *f, int triangle, gw_vec3 at, const gw_mat3 *turn,
                       gw_vec3 towards)
{
    gw_vec3 middle = {0, 0, 0};
    t->triangle = triangle;
    for (int k = 0; k < 3; k++) {
        t->id[k] = f->mesh->triangles[triangle][k];
        middle = gw_mul_add(middle, 1.0 / 3, corner(f, triangle, k));
    }
    double size = 0;
    for (int k = 0; k < 3; k++) {
        t->vertices[k] = gw_sub(corner(f, triangle, k), middle);
        size = fmax(size, gw_norm(t->vertices[k]));
    }
    for (int k = 0; k < 3; k++)
        t->directions[k] = gw_unit(gw_sub(t->vertices[(k + 1) % 3], t->vertices[k]));
    gw_vec3 n = f->normals[triangle], there = gw_mat3_tmul(turn, gw_sub(towards, at));
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
                                .loop = back ? triangle_back : triangle_loop,
                                .directions = t->directions};
    t->convex = (gw_convex){.core = GW_CORE_POLYTOPE,
                            .polytope = &t->polytope,
                            .size = size,
                            .at = gw_add(at, gw_mat3_mul(turn, middle)),
                            .turn = *turn};
}

static bool next_to(const gw_trimesh *f, int v, int other)
{
    for (int i = f->rings_of[v]; i < f->rings_of[v + 1]; i++)
        if (f->rings[i] == other)
            return true;
    return false;
}

/* Whether what is next to vertex v lies no farther along n; of an edge (`with` its other end, else
 * -1) only what is next to both. */
static bool tops(const gw_trimesh *f, int v, int with, gw_vec3 n)
{
    for (int i = f->rings_of[v]; i < f->rings_of[v + 1]; i++) {
        gw_vec3 d = gw_sub(f->mesh->vertices[f->rings[i]], f->mesh->vertices[v]);
        bool counts = with < 0 || next_to(f, with, f->rings[i]) || next_to(f, f->rings[i], with);
        if (counts && gw_dot(n, d) > 1e-7 * gw_norm(d) + 1e-9 * f->size)
            return false;
    }
    return true;
}

/* Whether nothing next to the triangle's farthest points along n (its frame) is farther. */
static bool leads(const gw_trimesh *f, const facet *t, gw_vec3 n)
{
    double most = -INFINITY;
    int top[3], count = 0;
    for (int k = 0; k < 3; k++)
        most = fmax(most, gw_dot(n, t->vertices[k]));
    for (int k = 0; k < 3; k++)
        if (gw_dot(n, t->vertices[k]) >= most - 1e-9 * f->size)
            top[count++] = t->id[k];
    for (int k = 0; k < count; k++)
        if (!tops(f, top[k], count == 2 ? top[1 - k] : -1, n))
            return false;
    return true;
}

/* ---- against something convex -------------------------------------------------------------- */

typedef struct work {
    const gw_trimesh_query *pair;
    double gap;   /* of all that was near (m) */
    double reach; /* farther pairs are not told (m) */
    int count;
    gw_manifold_point found[FOUND];
} work;

static gw_manifold_point turned(gw_manifold_point t)
{
    gw_manifold_point o = t;
    o.a = t.b, o.b = t.a;
    o.radius_a = t.radius_b, o.radius_b = t.radius_a;
    o.feature_a = t.feature_b, o.feature_b = t.feature_a;
    o.normal = gw_neg(t.normal);
    o.kind = t.kind == GW_NORMAL_IN_A   ? GW_NORMAL_IN_B
             : t.kind == GW_NORMAL_IN_B ? GW_NORMAL_IN_A
                                        : t.kind;
    return o;
}

static bool known(const work *w, const gw_manifold_point *t)
{
    for (int i = 0; i < w->count; i++) {
        const gw_manifold_point *o = &w->found[i];
        gw_vec3 at = gw_mul_add(t->b, t->radius_b, t->normal);
        gw_vec3 was = gw_mul_add(o->b, o->radius_b, o->normal);
        if (gw_dot(o->normal, t->normal) > 1 - 1e-6 && gw_distance(at, was) < 1e-7)
            return true;
    }
    return false;
}

/* A corner keeps the number of its vertex, a face that of its flat; marks are touching.c's. */
static uint32_t name(const gw_trimesh *f, const facet *t, uint32_t feature)
{
    const uint32_t face = 1u << 21, side = 1u << 22;
    if (feature & side)
        return feature ^ (uint32_t)t->triangle << 3;
    if (feature & face)
        return feature ^ (uint32_t)f->flats[t->triangle] << 3;
    return (feature & ~3u) ^ (uint32_t)t->id[feature & 3] << 2;
}

/* From the convex (a of these) to the triangle (b). */
static void keep(work *w, const gw_manifold_point *t)
{
    if (w->count < FOUND && !known(w, t))
        w->found[w->count++] = *t;
}

/* Something convex, and where its middle is; it may itself be a triangle of another mesh. */
typedef struct guest {
    const gw_convex *convex;
    gw_vec3 centre, half;
    const gw_trimesh *of; /* NULL: none */
    const facet *facet;
} guest;

/* Whether n, from the triangle t towards the guest, belongs to both surfaces. */
static bool fits(const gw_trimesh *f, const facet *t, const guest *g, gw_vec3 n)
{
    gw_vec3 here = gw_mat3_tmul(&t->convex.turn, n);
    if (gw_dot(here, t->face.normal) < -1e-6 || !leads(f, t, here))
        return false;
    if (!g->of)
        return true;
    here = gw_mat3_tmul(&g->convex->turn, gw_neg(n));
    return gw_dot(here, g->facet->face.normal) > -1e-6 && leads(g->of, g->facet, here);
}

static gw_vec3 own_normal(const facet *t)
{
    return gw_mat3_mul(&t->convex.turn, t->face.normal);
}

static gw_vec3 middle_of(const guest *g)
{
    return gw_add(g->convex->at, gw_mat3_mul(&g->convex->turn, g->centre));
}

/*
 * Where the least overlap of the two alone belongs to no surface (it leads out across a border
 * between two triangles of one plane, say): the best of the faces' normals. The triangle's own one
 * is told only for what is above the triangle, and not for what has its middle behind it: that is
 * beyond some other part of the surface.
 */
static bool by_faces(const gw_trimesh *f, const facet *t, const guest *g, gw_signed_distance *gap)
{
    bool cut = gap->gap < 0; /* else nothing is cut through, and what is nearest is elsewhere */
    const gw_convex *c = g->convex;
    gw_vec3 own = own_normal(t), middle = middle_of(g), n;
    *gap = (gw_signed_distance){-INFINITY, own};
    if (gw_dot(own, gw_sub(middle, t->convex.at)) > 0)
        gap->gap = gw_separation_along(c, &t->convex, own) - c->rounding;
    for (int i = 0; cut && gw_convex_face_normal(c, i, &n); i++) {
        n = gw_neg(n);
        double s = gw_separation_along(c, &t->convex, n) - c->rounding;
        if (s > gap->gap && fits(f, t, g, n))
            *gap = (gw_signed_distance){s, n};
    }
    return gap->gap > -0.25 * (c->size + c->rounding);
}

static void meet(work *w, const gw_trimesh *f, const facet *t, const guest *g)
{
    const gw_trimesh_query *p = w->pair;
    gw_signed_distance gap;
    if (!gw_convex_distance(g->convex, &t->convex, w->reach, &gap))
        return;
    w->gap = fmin(w->gap, gap.gap);
    gw_vec3 own = own_normal(t);
    bool fitting = fits(f, t, g, gap.normal);
    if (!fitting && !by_faces(f, t, g, &gap))
        return;
    fitting |= gw_dot(gap.normal, own) < 1 - 1e-12;
    gw_manifold_point pairs[GW_MANIFOLD_POINTS];
    gw_vec3 slide = p->mesh_is_a ? gw_neg(p->slide) : p->slide;
    int count = gw_manifold_build(g->convex, &t->convex, &gap, w->reach, slide, NULL, pairs);
    for (int i = 0; i < count; i++) {
        bool above = pairs[i].kind == GW_NORMAL_IN_B && gw_dot(pairs[i].normal, own) > 1 - 1e-9;
        if (!fitting && !above)
            continue;
        pairs[i].feature_b = name(f, t, pairs[i].feature_b);
        if (g->of)
            pairs[i].feature_a = name(g->of, g->facet, pairs[i].feature_a);
        keep(w, &pairs[i]);
    }
}

/* The triangles of `f` (at, turn) near a box (of `c`, centre and half in its frame). */
static int find_near(const gw_trimesh *f, gw_vec3 at, const gw_mat3 *turn, const gw_convex *c,
                     gw_vec3 centre, gw_vec3 half, double reach, int *near, int room)
{
    gw_vec3 p = gw_add(c->at, gw_mat3_mul(&c->turn, centre)), h = {reach, reach, reach};
    p = gw_mat3_tmul(turn, gw_sub(p, at));
    double size[3] = {half.x, half.y, half.z};
    for (int k = 0; k < 3; k++) {
        gw_vec3 column = {c->turn.m[0][k], c->turn.m[1][k], c->turn.m[2][k]};
        column = gw_mat3_tmul(turn, column);
        h = gw_mul_add(h, size[k], gw_v3(fabs(column.x), fabs(column.y), fabs(column.z)));
    }
    gw_aabb probe = {gw_sub(p, h), gw_add(p, h)};
    return gw_aabb_tree_query(f->tree, &probe, near, room);
}

/* How near the nearest of them is; what is about as near is left, and how many that are. */
static int narrow(work *w, const guest *g, int *near, int count)
{
    const gw_trimesh_query *p = w->pair;
    const double size = gw_norm(g->half) + g->convex->rounding;
    double apart[FEW_FACETS];
    int left = 0;
    for (int i = 0; i < count; i++) {
        facet t;
        gw_signed_distance gap = {.gap = INFINITY};
        make_facet(&t, p->facets, near[i], p->at, &p->turn, middle_of(g));
        double off = gw_dot(own_normal(&t), gw_sub(middle_of(g), t.convex.at));
        if (fabs(off) - size > w->gap ||
            !gw_convex_distance(g->convex, &t.convex, fmax(0, w->gap) + about_as, &gap))
            continue;
        w->gap = fmin(w->gap, gap.gap);
        apart[left] = gap.gap;
        near[left++] = near[i];
    }
    w->reach = fmin(w->reach, fmax(0, w->gap) + about_as);
    count = left;
    left = 0;
    for (int i = 0; i < count; i++)
        if (apart[i] <= w->reach)
            near[left++] = near[i];
    return left;
}

/* False where more are near than are asked for. */
static bool meet_all(work *w, const guest *g)
{
    const gw_trimesh_query *p = w->pair;
    int near[NEAR_FACETS], room = p->few ? FEW_FACETS : NEAR_FACETS;
    int count = find_near(p->facets, p->at, &p->turn, g->convex, g->centre, g->half,
                          p->reach + g->convex->rounding, near, room);
    bool all = count <= room;
    count = all ? count : room;
    if (p->few)
        count = narrow(w, g, near, count);
    for (int i = 0; i < count; i++) {
        facet t;
        make_facet(&t, p->facets, near[i], p->at, &p->turn, middle_of(g));
        meet(w, p->facets, &t, g);
    }
    return all;
}

/* Each triangle of the other mesh that is near this one's box, as a convex solid. */
static void meet_mesh(work *w)
{
    const gw_trimesh_query *p = w->pair;
    const gw_trimesh *o = p->other;
    gw_aabb box = p->facets->mesh->bounds;
    gw_convex whole = {.at = p->at, .turn = p->turn};
    int near[NEAR_FACETS];
    int count = find_near(o, p->convex->at, &p->convex->turn, &whole,
                          gw_scale(0.5, gw_add(box.low, box.high)),
                          gw_scale(0.5, gw_sub(box.high, box.low)), p->reach, near, NEAR_FACETS);
    for (int i = 0; i < count && i < NEAR_FACETS; i++) {
        facet t;
        make_facet(&t, o, near[i], p->convex->at, &p->convex->turn, p->at);
        gw_aabb its = box_of(t.vertices);
        guest g = {&t.convex, gw_scale(0.5, gw_add(its.low, its.high)),
                   gw_scale(0.5, gw_sub(its.high, its.low)), o, &t};
        meet_all(w, &g);
    }
}

static int nearer(const void *a, const void *b)
{
    const gw_manifold_point *x = a, *y = b;
    return (x->gap > y->gap) - (x->gap < y->gap);
}

/* The one of a group that is farthest from those taken of it; -1: all are at their places. */
static int farthest(const work *w, const bool *in_group, const gw_manifold_point *taken, int count)
{
    int best = -1;
    double most = 1e-7;
    for (int i = 0; i < w->count; i++) {
        double far = INFINITY;
        for (int k = 0; in_group[i] && k < count; k++)
            far = fmin(far, gw_distance(taken[k].b, w->found[i].b));
        if (in_group[i] && far > most * (1 + 1e-6)) {
            most = far;
            best = i;
        }
    }
    return best;
}

/* Of those that push alike the nearest, then what is farthest from those taken: four at most. */
static int choose(work *w, gw_manifold_point *pairs, int room)
{
    bool done[FOUND] = {false}, in_group[FOUND];
    int count = 0;
    for (int i = 0; i < w->count; i++) {
        if (done[i])
            continue;
        for (int k = 0; k < w->count; k++) {
            in_group[k] = !done[k] && gw_dot(w->found[i].normal, w->found[k].normal) > 0.999;
            done[k] |= in_group[k];
        }
        int first = count;
        for (int best = i; best >= 0 && count < room && count < first + GW_MANIFOLD_POINTS;
             best = farthest(w, in_group, &pairs[first], count - first))
            pairs[count++] = w->found[best];
    }
    return count;
}

int gw_trimesh_manifold(const gw_trimesh_query *pair, gw_manifold_point *pairs, int room,
                        double *gap)
{
    work w; /* 50 kB: what is found is not cleared beforehand */
    w.pair = pair;
    w.gap = w.reach = pair->reach;
    w.count = 0;
    guest whole = {pair->convex, pair->centre, pair->half, NULL, NULL};
    bool all = true;
    if (pair->other)
        meet_mesh(&w);
    else
        all = meet_all(&w, &whole);
    qsort(w.found, (size_t)w.count, sizeof *w.found, nearer);
    int count = choose(&w, pairs, room);
    for (int i = 0; pair->mesh_is_a && i < count; i++)
        pairs[i] = turned(pairs[i]);
    if (gap)
        *gap = all ? w.gap : fmin(0, w.gap);
    return count;
}
