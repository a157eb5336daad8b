/*
 * The detector, read from top to bottom: creation, internal faces, narrow phase, broad phase, and
 * the narrow phase of a single pair for substeps within a tick.
 */
#include "rt/collision/detector.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "rt/base/random.h"
#include "rt/collision/aabb_tree.h"
#include "rt/collision/geom.h"
#include "rt/collision/manifold.h"
#include "rt/collision/near_triangles.h"
#include "rt/geometry/convex_decomposition.h"

/* Sort key of a candidate: sorted in place of the candidates, which are larger. */
typedef struct ranked {
    double gap;
    uint64_t key;
    int found; /* index */
} ranked;

/* Shared by the detectors of the same solids; the last one frees it. */
typedef struct sharing {
    atomic_int detectors;
    pthread_mutex_t
        detecting; /* the geoms' poses, boxes and tree are of one gw_detect() at a time */
} sharing;

struct gw_detector {
    gw_detector_def def; /* its colliders are not kept */
    sharing *sharing;
    /* shared */
    int geom_count, geom_capacity;
    gw_geom *geoms;
    bool *is_static;    /* by body */
    gw_aabb *boxes;     /* by geom, enlarged by its reach */
    gw_aabb_tree *tree; /* of the boxes */
    /* its own, while it detects */
    const gw_pose *poses;
    double horizon, margin;
    int found_count, found_capacity;
    gw_contact_candidate *found;
    ranked *ranking; /* as many */
    bool short_of_memory;
};

/* ---- creation -------------------------------------------------------------------------------- */

static bool reserve_geom(gw_detector *d, gw_error *error)
{
    if (d->geom_count < d->geom_capacity)
        return true;
    size_t capacity = 2 * (size_t)d->geom_capacity + 16;
    gw_geom *geoms = realloc(d->geoms, capacity * sizeof *geoms);
    if (!geoms)
        return gw_fail(error, GW_FAILED, "", "no memory for solids");
    d->geoms = geoms;
    d->geom_capacity = (int)capacity;
    return true;
}

/* The contact data of the same surface, or else of another one of the same body; NULL: none. */
static gw_free_form *find_reused(const gw_detector *from, int body, const gw_shape *shape)
{
    gw_free_form *found = NULL;
    for (int i = 0; from && shape->kind == GW_SHAPE_NURBS_SURFACE && i < from->geom_count; i++) {
        const gw_geom *g = &from->geoms[i];
        if (g->free_form && gw_free_form_surface(g->free_form) == shape->nurbs)
            return g->free_form;
        if (g->free_form && g->body == body)
            found = g->free_form;
    }
    return found;
}

static bool add_geom(gw_detector *d, const gw_collider *c, const gw_shape *shape,
                     const gw_pose *body_from_shape, gw_error *error)
{
    if (!reserve_geom(d, error))
        return false;
    gw_geom *g = &d->geoms[d->geom_count];
    if (!gw_geom_init(g, shape, body_from_shape, find_reused(d->def.reused, c->body, shape),
                      error)) {
        gw_geom_finish(g);
        return false;
    }
    g->body = c->body;
    g->material = c->material;
    /* into the ring of its body's geoms, after the first */
    g->next = d->geom_count++;
    for (int i = 0; i < d->geom_count - 1; i++) {
        if (d->geoms[i].body == c->body) {
            g->next = d->geoms[i].next;
            d->geoms[i].next = d->geom_count - 1;
            break;
        }
    }
    return true;
}

/* A primitive or a hull; a mesh as its convex cells, or as a trimesh where these are too many. */
static bool add_shape(gw_detector *d, const gw_collider *c, const gw_shape *shape,
                      const gw_pose *body_from_shape, gw_error *error)
{
    gw_mesh *cells[GW_MAX_CONVEX_PIECES];
    bool concave = shape->kind == GW_SHAPE_MESH && !shape->mesh->convex, added = true;
    int count = concave ? gw_mesh_convex_decomposition(shape->mesh, cells) : 0;
    for (int i = 0; i < count; i++) {
        gw_shape cell = {.kind = GW_SHAPE_MESH, .mesh = cells[i]};
        added = added && add_geom(d, c, &cell, body_from_shape, error);
        gw_mesh_put(cells[i]);
    }
    return count > 0 ? added : add_geom(d, c, shape, body_from_shape, error);
}

static bool add_collider(gw_detector *d, const gw_collider *c, gw_error *error)
{
    assert(c->shape && c->body >= 0 && c->body < d->def.body_count);
    if (c->shape->kind == GW_SHAPE_NURBS_CURVE)
        return true; /* it has no surface */
    if (c->shape->kind != GW_SHAPE_COMPOUND)
        return add_shape(d, c, c->shape, &c->body_from_shape, error);
    for (int i = 0; i < c->shape->part_count; i++) {
        const gw_part *part = &c->shape->parts[i];
        gw_pose body_from_part = gw_pose_mul(&c->body_from_shape, &part->pose);
        if (!add_shape(d, c, &part->shape, &body_from_part, error))
            return false;
    }
    return true;
}

/* Mutex with priority inheritance: a thread that detects while the world thread waits runs at the
 * priority of the latter. */
static void init_sharing(sharing *s)
{
    pthread_mutexattr_t attr;
    atomic_init(&s->detectors, 1);
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&s->detecting, &attr);
    pthread_mutexattr_destroy(&attr);
}

static bool init_detector(gw_detector *d, const gw_detector_def *def, gw_error *error)
{
    d->sharing = calloc(1, sizeof *d->sharing);
    d->is_static = calloc((size_t)def->body_count + 1, sizeof *d->is_static);
    if (!d->sharing || !d->is_static)
        return gw_fail(error, GW_FAILED, "", "no memory for a detector");
    init_sharing(d->sharing);
    for (int i = 0; def->is_static && i < def->body_count; i++)
        d->is_static[i] = def->is_static(def->context, i);
    for (int i = 0; i < def->collider_count; i++)
        if (!add_collider(d, &def->colliders[i], error))
            return false;
    d->boxes = calloc((size_t)d->geom_count + 1, sizeof *d->boxes);
    d->tree = d->boxes ? gw_aabb_tree_create(d->boxes, d->geom_count) : NULL;
    return d->tree || gw_fail(error, GW_FAILED, "", "no memory for a detector");
}

gw_detector *gw_detector_create(const gw_detector_def *def, gw_error *error)
{
    assert(def->body_count >= 0 && def->collider_count >= 0);
    assert(def->colliders || def->collider_count == 0);
    gw_detector *d = calloc(1, sizeof *d);
    if (!d) {
        gw_fail(error, GW_FAILED, "", "no memory for a detector");
        return NULL;
    }
    d->def = *def;
    d->def.colliders = NULL;
    bool made = init_detector(d, def, error);
    d->def.reused = NULL;
    if (made)
        return d;
    gw_detector_destroy(d);
    return NULL;
}

gw_detector *gw_detector_share(const gw_detector *like, const gw_detector_def *def, gw_error *error)
{
    assert(like);
    assert(!def || (def->body_count == like->def.body_count &&
                    def->collider_count == like->def.collider_count));
    gw_detector *d = malloc(sizeof *d);
    if (!d) {
        gw_fail(error, GW_FAILED, "", "no memory for a detector");
        return NULL;
    }
    *d = (gw_detector){.def = def ? *def : like->def,
                       .sharing = like->sharing,
                       .geom_count = like->geom_count,
                       .geom_capacity = like->geom_capacity,
                       .geoms = like->geoms,
                       .is_static = like->is_static,
                       .boxes = like->boxes,
                       .tree = like->tree};
    d->def.colliders = NULL;
    atomic_fetch_add(&d->sharing->detectors, 1);
    return d;
}

static void free_solids(gw_detector *d)
{
    for (int i = 0; i < d->geom_count; i++)
        gw_geom_finish(&d->geoms[i]);
    gw_aabb_tree_destroy(d->tree);
    free(d->boxes);
    free(d->geoms);
    free(d->is_static);
    if (d->sharing)
        pthread_mutex_destroy(&d->sharing->detecting);
    free(d->sharing);
}

void gw_detector_destroy(gw_detector *d)
{
    if (!d)
        return;
    if (!d->sharing || atomic_fetch_sub(&d->sharing->detectors, 1) == 1)
        free_solids(d);
    free(d->found);
    free(d->ranking);
    free(d);
}

/* ---- candidates ------------------------------------------------------------------------------ */

/* Two geoms and the poses of their bodies. */
typedef struct geom_pair {
    int a, b;
    gw_pose world_from_a, world_from_b;
} geom_pair;

/* Hash of two values; collisions have probability 2^-64. */
static uint64_t mix_keys(uint64_t key, uint64_t value)
{
    return gw_splitmix64_mix((key ^ value) + GW_SPLITMIX64_STEP);
}

static uint64_t key_of(const geom_pair *p, uint32_t feature_a, uint32_t feature_b)
{
    uint64_t geoms = (uint64_t)p->a << 32 | (uint64_t)p->b;
    return mix_keys(mix_keys(mix_keys(geoms, feature_a), feature_b), 1);
}

/* The point of a manifold in the frames of the bodies. */
static gw_contact_candidate candidate_of(const gw_detector *d, const geom_pair *p,
                                         const gw_manifold_point *m)
{
    const gw_geom *ga = &d->geoms[p->a], *gb = &d->geoms[p->b];
    const gw_pose *in_a = &p->world_from_a, *in_b = &p->world_from_b;
    gw_contact_candidate c = {.key = key_of(p, m->feature_a, m->feature_b),
                              .a = ga->body,
                              .b = gb->body,
                              .geom_a = p->a,
                              .geom_b = p->b,
                              .point_a = gw_unrotate(in_a->q, gw_sub(m->a, in_a->p)),
                              .point_b = gw_unrotate(in_b->q, gw_sub(m->b, in_b->p)),
                              .radius_a = m->radius_a,
                              .radius_b = m->radius_b,
                              .kind = m->kind,
                              .normal = m->normal,
                              .gap = m->gap};
    gw_quat own = m->kind == GW_NORMAL_IN_A ? in_a->q : in_b->q;
    if (m->kind == GW_NORMAL_IN_A || m->kind == GW_NORMAL_IN_B)
        c.normal = gw_unrotate(own, m->normal);
    if (m->kind == GW_NORMAL_ACROSS) {
        c.edge_a = gw_unrotate(in_a->q, m->edge_a);
        c.edge_b = gw_unrotate(in_b->q, m->edge_b);
        c.bow_a = gw_unrotate(in_a->q, m->bow_a);
        c.bow_b = gw_unrotate(in_b->q, m->bow_b);
        c.taper_a = m->taper_a;
        c.taper_b = m->taper_b;
    }
    if (gw_is_curved(&m->bend)) {
        gw_quat other = m->kind == GW_NORMAL_IN_A ? in_b->q : in_a->q;
        c.bend = m->bend;
        c.bend.other = gw_unrotate(other, m->bend.other);
        for (int i = 0; i < 2; i++)
            c.bend.direction[i] = gw_unrotate(own, m->bend.direction[i]);
    }
    if (d->def.surface)
        c.surface = d->def.surface(d->def.context, ga->material, gb->material);
    return c;
}

/* ---- internal faces: of a body's geoms against one another ----------------------------------- */

/*
 * True if the face of `geom` at the point `on` is exposed beside another geom of the body, which
 * adjoins or covers it: a solid in the corner between the two touches both. False where the geoms
 * continue each other. `from_other`: distance of the point from the other geom, and its normal.
 */
static bool face_is_exposed_at(const gw_detector *d, int geom, int other, const gw_pose *body,
                               gw_vec3 on, gw_vec3 normal, gw_signed_distance from_other)
{
    const double far = 1e-2, slack = 1e-6; /* of the geom's size */
    double size = d->geoms[geom].radius;
    gw_signed_distance left;
    if (from_other.distance < 0 &&
        !gw_geom_point_distance(&d->geoms[other], body, gw_mul_add(on, far * size, normal), 0,
                                &from_other))
        return false;
    double along = gw_dot(from_other.normal, normal);
    if (along < -0.9 || along > 0.5)
        return false;
    gw_vec3 probe = gw_mul_add(on, slack * size - fmin(from_other.distance, 0), from_other.normal);
    return gw_geom_point_distance(&d->geoms[geom], body, probe, size, &left) &&
           left.distance < 0.1 * slack * size;
}

/* True if the normal at the point `on` of the geom leads into another geom of its body: it belongs
 * to a face or edge inside the union of the body's geoms. */
static bool leads_inside(const gw_detector *d, int geom, const gw_pose *body, gw_vec3 on,
                         gw_vec3 normal, bool face)
{
    double step = 1e-4 * d->geoms[geom].radius;
    gw_vec3 there = gw_mul_add(on, step, normal);
    for (int i = d->geoms[geom].next; i != geom; i = d->geoms[i].next) {
        gw_signed_distance from_other;
        if (gw_geom_point_distance(&d->geoms[i], body, there, 0.99 * step, &from_other) &&
            from_other.distance < 0.99 * step &&
            !(face && face_is_exposed_at(d, geom, i, body, on, normal, from_other)))
            return true;
    }
    return false;
}

typedef struct filter_context {
    const gw_detector *detector;
    const geom_pair *pair;
} filter_context;

static bool is_internal(const void *context, const gw_manifold_point *m)
{
    const gw_detector *d = ((const filter_context *)context)->detector;
    const geom_pair *p = ((const filter_context *)context)->pair;
    gw_vec3 on_a = gw_mul_add(m->a, -m->radius_a, m->normal);
    gw_vec3 on_b = gw_mul_add(m->b, m->radius_b, m->normal);
    bool face_a = m->of_face && m->kind == GW_NORMAL_IN_A;
    bool face_b = m->of_face && m->kind == GW_NORMAL_IN_B;
    return leads_inside(d, p->b, &p->world_from_b, on_b, m->normal, face_b) ||
           leads_inside(d, p->a, &p->world_from_a, on_a, gw_neg(m->normal), face_a);
}

/* ---- narrow phase ---------------------------------------------------------------------------- */

/* Two convex geoms whose distance is known. Where they overlap and all points of the manifold are
 * internal, the next best separating axis is taken, down to half of the smaller geom's radius. */
static int collide_convex(const gw_detector *d, const geom_pair *p, const gw_convex *a,
                          const gw_convex *b, gw_signed_distance distance, double reach,
                          gw_contact_candidate candidates[GW_MANIFOLD_POINTS])
{
    const double deepest = -0.5 * fmin(d->geoms[p->a].radius, d->geoms[p->b].radius);
    filter_context context = {d, p};
    gw_manifold_filter filter = {is_internal, &context};
    gw_manifold_point points[GW_MANIFOLD_POINTS];
    int count = gw_manifold_build(a, b, &distance, reach, &filter, points);
    while (count == 0 && distance.distance < 0 && gw_next_separating_axis(a, b, &distance) &&
           distance.distance > deepest)
        count = gw_manifold_build(a, b, &distance, reach, &filter, points);
    for (int i = 0; i < count; i++)
        candidates[i] = candidate_of(d, p, &points[i]);
    return count;
}

/* A trimesh against anything, at the poses of `a` and `b`. */
static gw_trimesh_query trimesh_query(const gw_geom *ga, const gw_geom *gb, const gw_convex *a,
                                      const gw_convex *b, double reach)
{
    bool first = ga->trimesh != NULL;
    const gw_geom *mesh = first ? ga : gb, *other = first ? gb : ga;
    const gw_convex *frame = first ? a : b;
    return (gw_trimesh_query){.trimesh = mesh->trimesh,
                              .origin = frame->origin,
                              .rotation = frame->rotation,
                              .convex = first ? b : a,
                              .centre = other->centre,
                              .half = other->half,
                              .other = other->trimesh,
                              .mesh_is_a = first,
                              .reach = reach};
}

static bool is_ball(const gw_geom *g)
{
    return g->polytope && g->polytope->vertex_count == 1;
}

static gw_free_form_query free_form_query(const gw_free_form *form, const gw_trimesh_query *query)
{
    const gw_convex *c = query->convex;
    return (gw_free_form_query){.form = form,
                                .origin = query->origin,
                                .rotation = query->rotation,
                                .convex = c,
                                .centre =
                                    gw_add(c->origin, gw_mat3_mul(&c->rotation, query->centre)),
                                .reach = query->reach,
                                .effort = query->effort};
}

/* Two free-form surfaces; by their triangles where only edges or kinks cross, which have no common
 * normal with a surface. */
static int free_forms_manifold(const gw_free_form *form, const gw_free_form *other,
                               const gw_trimesh_query *query, gw_manifold_point *points,
                               int capacity, double *gap)
{
    gw_free_form_query q = free_form_query(form, query);
    q.near = query->near;
    q.ahead = query->ahead;
    int count = gw_free_form_pair(&q, other, points, capacity, gap);
    if (count < 0)
        return gw_trimesh_manifold(query, points, capacity, gap);
    for (int i = 0; query->mesh_is_a && i < count; i++)
        points[i] = gw_manifold_point_swapped(&points[i]);
    return count;
}

/* A free-form surface against a convex solid: its triangles tell where they are near. */
static int free_form_manifold(const gw_free_form *form, bool ball, const gw_trimesh_query *query,
                              gw_manifold_point *points, int capacity, double *gap)
{
    gw_trimesh_query near = *query;
    gw_free_form_query q = free_form_query(form, query);
    double deviation = gw_free_form_deviation(form);
    int count;
    if (ball) {
        count = gw_free_form_ball(&q, points, capacity, gap);
    } else if ((count = gw_free_form_solid(&q, points, capacity, gap)) < 0) {
        near.reach += deviation;
        near.mesh_is_a = false;
        near.unreduced = true;
        gw_manifold_point found[GW_TRIMESH_FOUND];
        count = gw_trimesh_manifold(&near, found, GW_TRIMESH_FOUND, gap);
        count = gw_free_form_refine(&q, found, count, points, capacity);
        *gap = count > 0 ? points[0].gap : fmin(query->reach, *gap - deviation);
    }
    for (int i = 0; query->mesh_is_a && i < count; i++)
        points[i] = gw_manifold_point_swapped(&points[i]);
    return count;
}

static int collide_trimesh(const gw_detector *d, const geom_pair *p, const gw_trimesh_query *query,
                           gw_contact_candidate *candidates, int capacity, double *gap)
{
    filter_context context = {d, p};
    const gw_geom *ga = &d->geoms[p->a], *gb = &d->geoms[p->b];
    const gw_free_form *form = query->mesh_is_a ? ga->free_form : gb->free_form;
    gw_manifold_point points[GW_TRIMESH_POINTS];
    double distance;
    int count = 0, found;
    assert(capacity <= GW_TRIMESH_POINTS);
    const gw_free_form *other = query->mesh_is_a ? gb->free_form : ga->free_form;
    gap = gap ? gap : &distance;
    if (form && other)
        found = free_forms_manifold(form, other, query, points, capacity, gap);
    else if (form && !query->other)
        found = free_form_manifold(form, is_ball(query->mesh_is_a ? gb : ga), query, points,
                                   capacity, gap);
    else
        found = gw_trimesh_manifold(query, points, capacity, gap);
    for (int i = 0; i < found; i++)
        if (!is_internal(&context, &points[i]))
            candidates[count++] = candidate_of(d, p, &points[i]);
    return count;
}

/* A trimesh, with a reach that grows from 2 mm until a point is found, so that few triangles of a
 * fine mesh are tested; at most GW_PAIR_CANDIDATES. */
static int collide_trimesh_growing(const gw_detector *d, const geom_pair *p,
                                   const gw_pair_query *query, const gw_convex *a,
                                   const gw_convex *b, gw_contact_candidate *candidates,
                                   double *gap)
{
    const double first = 2e-3, factor = 3;
    gw_trimesh_query q = trimesh_query(&d->geoms[p->a], &d->geoms[p->b], a, b, first);
    bool free_form = d->geoms[p->a].free_form || d->geoms[p->b].free_form;
    q.nearest_only = true;
    q.effort = query->effort;
    if (query->near && free_form && q.other)
        q.near = gw_near_list_of(query->near, p->a, p->b);
    q.ahead = fmax(first, 0.5 * query->reach);
    for (;; q.reach = fmin(query->reach, factor * q.reach)) {
        int count = collide_trimesh(d, p, &q, candidates, GW_PAIR_CANDIDATES, gap);
        bool none = *gap >= q.reach || (free_form && count == 0);
        if (!(none && q.reach < query->reach)) /* ends if one is not a number, too */
            return count;
    }
}

/* Room for the candidates of one more pair; NULL: memory is short. */
static gw_contact_candidate *reserve_found(gw_detector *d)
{
    if (d->found_count + GW_TRIMESH_POINTS > d->found_capacity) {
        int capacity = 2 * d->found_capacity + 2 * GW_TRIMESH_POINTS;
        gw_contact_candidate *found = realloc(d->found, (size_t)capacity * sizeof *found);
        ranked *ranking = realloc(d->ranking, (size_t)capacity * sizeof *ranking);
        d->found = found ? found : d->found;
        d->ranking = ranking ? ranking : d->ranking;
        if (!found || !ranking) {
            d->short_of_memory = true;
            return NULL;
        }
        d->found_capacity = capacity;
    }
    return &d->found[d->found_count];
}

/* The largest speed of the geom's points relative to its centre (m/s). */
static double spin_speed(const gw_geom *g)
{
    return gw_norm(g->twist.w) * g->radius;
}

static void collide_pair(gw_detector *d, int a, int b)
{
    const gw_geom *ga = &d->geoms[a], *gb = &d->geoms[b];
    double speed = gw_norm(gw_sub(ga->twist.v, gb->twist.v)) + spin_speed(ga) + spin_speed(gb);
    double reach = speed * d->horizon + d->margin;
    geom_pair p = {a, b, d->poses[ga->body], d->poses[gb->body]};
    gw_signed_distance distance;
    gw_contact_candidate *candidates = reserve_found(d);
    if (!candidates)
        return;
    int count = 0;
    if (ga->free_form && gb->free_form) { /* the nearest alone, as within a tick */
        const gw_pair_query query = {.reach = reach};
        double gap;
        count = collide_trimesh_growing(d, &p, &query, &ga->convex, &gb->convex, candidates, &gap);
    } else if (ga->trimesh || gb->trimesh) {
        gw_trimesh_query query = trimesh_query(ga, gb, &ga->convex, &gb->convex, reach);
        count = collide_trimesh(d, &p, &query, candidates, GW_TRIMESH_POINTS, NULL);
    } else if (gw_convex_distance(&ga->convex, &gb->convex, reach, &distance)) {
        count = collide_convex(d, &p, &ga->convex, &gb->convex, distance, reach, candidates);
        if (count == 0)
            candidates[count++] = (gw_contact_candidate){.key = key_of(&p, 0, 0),
                                                         .a = ga->body,
                                                         .b = gb->body,
                                                         .geom_a = a,
                                                         .geom_b = b,
                                                         .proximity_only = true,
                                                         .gap = distance.distance};
    }
    d->found_count += count;
}

/* ---- broad phase ----------------------------------------------------------------------------- */

/* Sets the poses of the geoms, and their boxes enlarged by their reach. */
static void update_boxes(gw_detector *d, const gw_twist *twists)
{
    for (int i = 0; i < d->geom_count; i++) {
        gw_geom *g = &d->geoms[i];
        gw_geom_set_pose(g, &d->poses[g->body], &twists[g->body]);
        double reach = (gw_norm(g->twist.v) + spin_speed(g)) * d->horizon + 0.5 * d->margin;
        gw_vec3 half = gw_add(gw_geom_half_extents(g), gw_v3(reach, reach, reach));
        d->boxes[i] = (gw_aabb){gw_sub(g->world_centre, half), gw_add(g->world_centre, half)};
    }
}

/* Two geoms whose boxes overlap. Of each pair of bodies, a moves; where both do, geom a comes
 * first.
 */
static void on_overlap(void *context, int a, int b)
{
    gw_detector *d = context;
    int body_a = d->geoms[a].body, body_b = d->geoms[b].body;
    if (body_a == body_b || (d->is_static[body_a] && d->is_static[body_b]) ||
        (d->def.ignore && d->def.ignore(d->def.context, body_a, body_b)))
        return;
    bool swap = d->is_static[body_a] || (a > b && !d->is_static[body_b]);
    collide_pair(d, swap ? b : a, swap ? a : b);
}

/* The order of candidates is total, so they do not depend on the order of the pairs. */
static int by_gap(const void *a, const void *b)
{
    const ranked *x = a, *y = b;
    int gap = (x->gap > y->gap) - (x->gap < y->gap);
    return gap ? gap : (x->key > y->key) - (x->key < y->key);
}

/* The nearest candidates found, at most `capacity`; returns how many. */
static int take_nearest(gw_detector *d, gw_contact_candidate *candidates, int capacity)
{
    for (int i = 0; i < d->found_count; i++)
        d->ranking[i] = (ranked){d->found[i].gap, d->found[i].key, i};
    if (d->found_count > 1)
        qsort(d->ranking, (size_t)d->found_count, sizeof *d->ranking, by_gap);
    int count = d->found_count < capacity ? d->found_count : capacity;
    for (int i = 0; i < count; i++)
        candidates[i] = d->found[d->ranking[i].found];
    return count;
}

int gw_detect(gw_detector *d, const gw_pose *world_from_body, const gw_twist *twists,
              double horizon, double margin, gw_contact_candidate *candidates, int capacity,
              int *lost)
{
    assert(world_from_body && twists && capacity >= 0);
    assert(isfinite(horizon) && isfinite(margin) && horizon >= 0 && margin >= 0);
    d->poses = world_from_body;
    d->horizon = horizon;
    d->margin = margin;
    d->found_count = 0;
    d->short_of_memory = false;
    pthread_mutex_lock(&d->sharing->detecting);
    update_boxes(d, twists);
    gw_aabb_tree_update(d->tree, d->boxes);
    gw_aabb_tree_pairs(d->tree, on_overlap, d);
    pthread_mutex_unlock(&d->sharing->detecting);
    int count = take_nearest(d, candidates, capacity);
    if (lost)
        *lost = d->found_count - count + d->short_of_memory;
    return count;
}

/* ---- one pair, within a tick ----------------------------------------------------------------- */

static const gw_geom *geom_of(const gw_detector *d, int geom)
{
    assert(geom >= 0 && geom < d->geom_count);
    return &d->geoms[geom];
}

int gw_detect_pair(const void *detector, const gw_pair_query *query,
                   gw_contact_candidate candidates[GW_PAIR_CANDIDATES], double *gap)
{
    assert(detector && query && candidates && gap);
    const gw_detector *d = detector;
    const gw_geom *ga = geom_of(d, query->geom_a), *gb = geom_of(d, query->geom_b);
    geom_pair p = {query->geom_a, query->geom_b, query->world_from_a, query->world_from_b};
    gw_convex a = gw_geom_convex_at(ga, &p.world_from_a),
              b = gw_geom_convex_at(gb, &p.world_from_b);
    if (ga->trimesh && gb->trimesh && !(ga->free_form && gb->free_form))
        return -1;
    if (ga->trimesh || gb->trimesh)
        return collide_trimesh_growing(d, &p, query, &a, &b, candidates, gap);
    /* exact, however far: so long the pair need not be collided again */
    gw_signed_distance distance;
    if (!gw_convex_distance(&a, &b, INFINITY, &distance))
        return 0;
    *gap = distance.distance;
    if (distance.distance > query->reach)
        return 0;
    return collide_convex(d, &p, &a, &b, distance, query->reach, candidates);
}

bool gw_detector_bounding_sphere(const void *detector, int geom, gw_vec3 *centre, double *radius)
{
    assert(detector && geom >= 0 && centre && radius);
    const gw_geom *g = geom_of(detector, geom);
    *centre = gw_pose_point(&g->body_from_geom, g->centre);
    *radius = is_ball(g) ? 0 : g->radius;
    return true;
}

/* Proportional to the vertices, which the support function visits, and to the body's other geoms,
 * which leads_inside() tests. */
int gw_detector_query_cost(const void *detector, int geom)
{
    assert(detector && geom >= 0);
    enum {
        VISITS_A_STEP = 32,
        TRIMESH_VISITS = 10 * VISITS_A_STEP,
        FREE_FORM_VISITS = 5 * VISITS_A_STEP
    };
    const gw_detector *d = detector;
    const gw_geom *g = geom_of(d, geom);
    int visits = g->polytope    ? g->polytope->vertex_count
                 : g->free_form ? FREE_FORM_VISITS
                 : g->trimesh   ? TRIMESH_VISITS
                                : 0;
    for (int i = g->next; i != geom; i = d->geoms[i].next)
        visits++;
    return visits / VISITS_A_STEP;
}

/* For a ball of centre c above a face with the given normal: distance from the face's border and
 * plane. As the other solid rotates, c moves farther relative to it than the solid's own points. */
static double distance_to_border(gw_vec3 c, const gw_convex *other, double radius, gw_vec3 normal)
{
    gw_reference_face face;
    if (!gw_convex_reference_face(other, normal, 1 - 1e-9, &face))
        return 0;
    double far = fmin(gw_dot(face.normal, c) - face.offset, gw_reference_face_inset(&face, c));
    return far * radius / fmax(radius, gw_distance(c, other->origin) + radius);
}

double gw_detector_breaking_distance(const void *detector, const gw_pair_query *query,
                                     const gw_contact_candidate *candidate)
{
    assert(detector && query && candidate);
    const gw_detector *d = detector;
    const gw_geom *ga = geom_of(d, query->geom_a), *gb = geom_of(d, query->geom_b);
    bool alone = ga->next == query->geom_a && gb->next == query->geom_b;
    if (!alone || ga->trimesh || gb->trimesh)
        return 0;
    if (is_ball(ga) && is_ball(gb))
        return candidate->kind == GW_NORMAL_BETWEEN ? INFINITY : 0;
    gw_convex a = gw_geom_convex_at(ga, &query->world_from_a);
    gw_convex b = gw_geom_convex_at(gb, &query->world_from_b);
    if (is_ball(ga) && candidate->kind == GW_NORMAL_IN_B)
        return distance_to_border(a.origin, &b, gb->radius,
                                  gw_rotate(query->world_from_b.q, candidate->normal));
    if (is_ball(gb) && candidate->kind == GW_NORMAL_IN_A)
        return distance_to_border(b.origin, &a, ga->radius,
                                  gw_neg(gw_rotate(query->world_from_a.q, candidate->normal)));
    return 0;
}
