/*
 * The detector: an ODE space of boxes around all pieces for who may meet whom, and the pairs of
 * points of those that do. Never inside a tick.
 */
#include "rt/collision/detector.h"

#include <assert.h>
#include <ode/ode.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "rt/collision/geom.h"
#include "rt/collision/manifold.h"
#include "rt/geometry/convex_decomposition.h"

enum { MESH_COST = 320 }; /* of a look at a mesh within a step, in corners */

struct gw_detector {
    gw_detector_def def; /* its colliders are not kept */
    int piece_count, piece_room;
    gw_geom *pieces;
    bool *is_static; /* body_count */
    dSpaceID space;
    dGeomID *geoms; /* one a piece, owned by the space */
    /* while it detects */
    const gw_pose *poses;
    double horizon, margin;
    int found_count, found_room;
    gw_contact_candidate *found;
    bool short_of_memory;
};

/* ---- ODE ----------------------------------------------------------------------------------- */

static void start_ode(void)
{
    dInitODE2(0);
}

/* Once a process, and once a thread: ODE keeps what its tree walks need by thread. */
static bool enter_ode(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, start_ode);
    return dAllocateODEDataForThread(~0u) != 0;
}

enum { STANDING = 1, MOVING = 2 };

static bool add_geom(gw_detector *d, int i)
{
    dGeomID geom = dCreateBox(d->space, 1, 1, 1);
    if (!geom)
        return false;
    bool stands = d->is_static[d->pieces[i].body];
    dGeomSetData(geom, (void *)(intptr_t)i);
    dGeomSetCategoryBits(geom, stands ? STANDING : MOVING);
    dGeomSetCollideBits(geom, stands ? MOVING : STANDING | MOVING);
    d->geoms[i] = geom;
    return true;
}

/* ---- creation ------------------------------------------------------------------------------ */

static bool make_room(gw_detector *d, gw_error *error)
{
    if (d->piece_count < d->piece_room)
        return true;
    size_t room = 2 * (size_t)d->piece_room + 16;
    gw_geom *pieces = realloc(d->pieces, room * sizeof *pieces);
    if (pieces)
        d->pieces = pieces;
    dGeomID *geoms = realloc(d->geoms, room * sizeof *geoms);
    if (geoms)
        d->geoms = geoms;
    if (!pieces || !geoms)
        return gw_fail(error, GW_FAILED, "", "no memory for solids");
    d->piece_room = (int)room;
    return true;
}

static bool add_piece(gw_detector *d, const gw_collider *c, const gw_shape *shape,
                      const gw_pose *pose, gw_error *error)
{
    if (!make_room(d, error))
        return false;
    gw_geom *p = &d->pieces[d->piece_count];
    if (!gw_geom_init(p, shape, pose, error))
        return false;
    p->body = c->body;
    p->material = c->material;
    p->next = d->piece_count++;
    for (int i = 0; i < d->piece_count - 1; i++) {
        if (d->pieces[i].body == c->body) {
            p->next = d->pieces[i].next;
            d->pieces[i].next = d->piece_count - 1;
            break;
        }
    }
    return add_geom(d, d->piece_count - 1) ||
           gw_fail(error, GW_FAILED, "", "no memory for a solid's box");
}

/* A primitive or a hull; a mesh as its convex cells, or as it is where these are too many. */
static bool add_shape(gw_detector *d, const gw_collider *c, const gw_shape *shape,
                      const gw_pose *pose, gw_error *error)
{
    gw_mesh *cells[GW_MAX_CONVEX_PIECES];
    bool mesh = shape->kind == GW_SHAPE_MESH && !shape->mesh->convex, added = true;
    int count = mesh ? gw_mesh_convex_decomposition(shape->mesh, cells) : 0;
    for (int i = 0; i < count; i++) {
        gw_shape cell = {.kind = GW_SHAPE_MESH, .mesh = cells[i]};
        added = added && add_piece(d, c, &cell, pose, error);
        gw_mesh_put(cells[i]);
    }
    return count > 0 ? added : add_piece(d, c, shape, pose, error);
}

static bool add_collider(gw_detector *d, const gw_collider *c, gw_error *error)
{
    assert(c->body >= 0 && c->body < d->def.body_count);
    if (c->shape->kind != GW_SHAPE_COMPOUND)
        return add_shape(d, c, c->shape, &c->body_from_shape, error);
    for (int i = 0; i < c->shape->part_count; i++) {
        const gw_part *part = &c->shape->parts[i];
        gw_pose pose = gw_pose_mul(&c->body_from_shape, &part->pose);
        if (!add_shape(d, c, &part->shape, &pose, error))
            return false;
    }
    return true;
}

static bool fill(gw_detector *d, const gw_detector_def *def, gw_error *error)
{
    d->is_static = calloc((size_t)def->body_count + 1, sizeof *d->is_static);
    /* ODE's hash space loses pairs whose boxes differ much in size */
    d->space = enter_ode() ? dSweepAndPruneSpaceCreate(NULL, dSAP_AXES_XYZ) : NULL;
    if (!d->is_static || !d->space)
        return gw_fail(error, GW_FAILED, "", "no memory for a detector");
    for (int i = 0; def->is_static && i < def->body_count; i++)
        d->is_static[i] = def->is_static(def->context, i);
    for (int i = 0; i < def->collider_count; i++)
        if (!add_collider(d, &def->colliders[i], error))
            return false;
    return true;
}

gw_detector *gw_detector_create(const gw_detector_def *def, gw_error *error)
{
    gw_detector *d = calloc(1, sizeof *d);
    if (!d) {
        gw_fail(error, GW_FAILED, "", "no memory for a detector");
        return NULL;
    }
    d->def = *def;
    d->def.colliders = NULL;
    if (fill(d, def, error))
        return d;
    gw_detector_destroy(d);
    return NULL;
}

void gw_detector_destroy(gw_detector *d)
{
    if (!d)
        return;
    enter_ode();
    if (d->space)
        dSpaceDestroy(d->space); /* and the boxes in it */
    for (int i = 0; i < d->piece_count; i++)
        gw_geom_finish(&d->pieces[i]);
    free(d->pieces);
    free(d->geoms);
    free(d->is_static);
    free(d->found);
    free(d);
}

/* ---- what is found ------------------------------------------------------------------------- */

/* Each step of splitmix64 is a permutation: what differs stays apart, but for one in 2^64. */
static uint64_t mix(uint64_t key, uint64_t value)
{
    key = (key ^ value) + 0x9e3779b97f4a7c15u;
    key = (key ^ (key >> 30)) * 0xbf58476d1ce4e5b9u;
    key = (key ^ (key >> 27)) * 0x94d049bb133111ebu;
    return key ^ (key >> 31);
}

/* Two pieces, and where their bodies are. */
typedef struct pair {
    int a, b;
    gw_pose in_a, in_b;
} pair;

static uint64_t key_of(const pair *p, uint32_t feature_a, uint32_t feature_b)
{
    uint64_t pieces = (uint64_t)p->a << 32 | (uint64_t)p->b;
    return mix(mix(mix(pieces, feature_a), feature_b), 1);
}

static gw_contact_candidate near_of(const gw_detector *d, const pair *p, const gw_manifold_point *t)
{
    const gw_geom *pa = &d->pieces[p->a], *pb = &d->pieces[p->b];
    const gw_pose *in_a = &p->in_a, *in_b = &p->in_b;
    gw_contact_candidate n = {.key = key_of(p, t->feature_a, t->feature_b),
                              .a = pa->body,
                              .b = pb->body,
                              .geom_a = p->a,
                              .geom_b = p->b,
                              .point_a = gw_unrotate(in_a->q, gw_sub(t->a, in_a->p)),
                              .point_b = gw_unrotate(in_b->q, gw_sub(t->b, in_b->p)),
                              .radius_a = t->radius_a,
                              .radius_b = t->radius_b,
                              .kind = t->kind,
                              .normal = t->normal,
                              .gap = t->gap};
    if (t->kind == GW_NORMAL_IN_A)
        n.normal = gw_unrotate(in_a->q, t->normal);
    else if (t->kind == GW_NORMAL_IN_B)
        n.normal = gw_unrotate(in_b->q, t->normal);
    if (d->def.surface)
        n.surface = d->def.surface(d->def.context, pa->material, pb->material);
    return n;
}

static void keep(gw_detector *d, const gw_contact_candidate *n)
{
    if (d->found_count == d->found_room) {
        int room = d->found_room ? 2 * d->found_room : 64;
        gw_contact_candidate *grown = realloc(d->found, (size_t)room * sizeof *grown);
        if (!grown) {
            d->short_of_memory = true;
            return;
        }
        d->found = grown;
        d->found_room = room;
    }
    d->found[d->found_count++] = *n;
}

/* How far the points of a piece can come along in a second, its centre's way left out (m/s). */
static double spin_speed(const gw_geom *p)
{
    return gw_norm(p->twist.w) * p->radius;
}

/* A mesh and something else, both where `a` and `b` are. */
static gw_trimesh_query mesh_pair(const gw_geom *pa, const gw_geom *pb, const gw_convex *a,
                                  const gw_convex *b, double reach, gw_vec3 slide)
{
    bool first = pa->facets != NULL;
    const gw_geom *mesh = first ? pa : pb, *other = first ? pb : pa;
    const gw_convex *at = first ? a : b;
    return (gw_trimesh_query){.facets = mesh->facets,
                              .at = at->at,
                              .turn = at->turn,
                              .convex = first ? b : a,
                              .centre = other->centre,
                              .half = other->half,
                              .other = other->facets,
                              .mesh_is_a = first,
                              .reach = reach,
                              .slide = slide};
}

/* Whether the face at `on` is bare beside another piece that is next to it or covers it, the short
 * way out of that one: what is in the corner between the two touches both. Where two pieces go on
 * as one, there is no face beside it either. */
static bool bare_beside(const gw_detector *d, int piece, int other, const gw_pose *body, gw_vec3 on,
                        gw_vec3 out, gw_signed_distance way)
{
    const double far = 1e-2, slack = 1e-6; /* of the piece's size */
    double size = d->pieces[piece].radius;
    gw_signed_distance left;
    if (way.gap < 0 &&
        !gw_geom_point_distance(&d->pieces[other], body, gw_mul_add(on, far * size, out), 0, &way))
        return false;
    double along = gw_dot(way.normal, out);
    if (along < -0.9 || along > 0.5)
        return false;
    gw_vec3 beside = gw_mul_add(on, slack * size - fmin(way.gap, 0), way.normal);
    return gw_geom_point_distance(&d->pieces[piece], body, beside, size, &left) &&
           left.gap < 0.1 * slack * size;
}

/* Whether another piece of the same body lies where the direction leads out of this one: a face
 * or an edge between two pieces, inside the solid that they are together. */
static bool leads_inside(const gw_detector *d, int piece, const gw_pose *body, gw_vec3 on,
                         gw_vec3 out, bool face)
{
    double step = 1e-4 * d->pieces[piece].radius;
    gw_vec3 there = gw_mul_add(on, step, out);
    for (int i = d->pieces[piece].next; i != piece; i = d->pieces[i].next) {
        gw_signed_distance way;
        if (gw_geom_point_distance(&d->pieces[i], body, there, 0.99 * step, &way) &&
            way.gap < 0.99 * step && !(face && bare_beside(d, piece, i, body, on, out, way)))
            return true;
    }
    return false;
}

/* A pair of points between pieces of one body: no contact. */
typedef struct between {
    const gw_detector *d;
    const pair *p;
} between;

static bool between_own_pieces(const void *context, const gw_manifold_point *t)
{
    const between *x = context;
    const pair *p = x->p;
    gw_vec3 on_a = gw_mul_add(t->a, -t->radius_a, t->normal);
    gw_vec3 on_b = gw_mul_add(t->b, t->radius_b, t->normal);
    bool face_a = t->of_face && t->kind == GW_NORMAL_IN_A;
    bool face_b = t->of_face && t->kind == GW_NORMAL_IN_B;
    return leads_inside(x->d, p->b, &p->in_b, on_b, t->normal, face_b) ||
           leads_inside(x->d, p->a, &p->in_a, on_a, gw_neg(t->normal), face_a);
}

static int touch_mesh(const gw_detector *d, const pair *p, const gw_trimesh_query *mesh,
                      gw_contact_candidate *near, int room, double *gap)
{
    between x = {d, p};
    gw_manifold_point pairs[GW_TRIMESH_POINTS];
    int found = gw_trimesh_manifold(mesh, pairs, room, gap), count = 0;
    for (int i = 0; i < found; i++)
        if (!between_own_pieces(&x, &pairs[i]))
            near[count++] = near_of(d, p, &pairs[i]);
    return count;
}

/* Two convex pieces whose gap is known. Where they overlap and the shortest way apart leads into
 * another piece of either body, the next one is taken. */
static int touch(const gw_detector *d, const pair *p, const gw_convex *a, const gw_convex *b,
                 gw_signed_distance gap, double reach, gw_vec3 slide,
                 gw_contact_candidate near[GW_MANIFOLD_POINTS])
{
    const double deepest = -0.5 * fmin(d->pieces[p->a].radius, d->pieces[p->b].radius);
    between x = {d, p};
    gw_manifold_filter filter = {between_own_pieces, &x};
    gw_manifold_point pairs[GW_MANIFOLD_POINTS];
    int count = gw_manifold_build(a, b, &gap, reach, slide, &filter, pairs);
    while (count == 0 && gap.gap < 0 && gw_next_separating_axis(a, b, &gap) && gap.gap > deepest)
        count = gw_manifold_build(a, b, &gap, reach, slide, &filter, pairs);
    for (int i = 0; i < count; i++)
        near[i] = near_of(d, p, &pairs[i]);
    return count;
}

static void look(gw_detector *d, int a, int b)
{
    const gw_geom *pa = &d->pieces[a], *pb = &d->pieces[b];
    gw_vec3 slide = gw_sub(pa->twist.v, pb->twist.v);
    double speed = gw_norm(slide) + spin_speed(pa) + spin_speed(pb);
    double reach = speed * d->horizon + d->margin;
    pair p = {a, b, d->poses[pa->body], d->poses[pb->body]};
    gw_contact_candidate near[GW_TRIMESH_POINTS];
    gw_signed_distance gap = {.gap = INFINITY};
    int count = 0;
    if (pa->facets || pb->facets) {
        gw_trimesh_query mesh = mesh_pair(pa, pb, &pa->convex, &pb->convex, reach, slide);
        count = touch_mesh(d, &p, &mesh, near, GW_TRIMESH_POINTS, NULL);
    } else if (gw_convex_distance(&pa->convex, &pb->convex, reach, &gap)) {
        count = touch(d, &p, &pa->convex, &pb->convex, gap, reach, slide, near);
    }
    for (int i = 0; i < count; i++)
        keep(d, &near[i]);
    if (count > 0 || pa->facets || pb->facets || !(gap.gap <= reach))
        return;
    near[0] = (gw_contact_candidate){.key = key_of(&p, 0, 0),
                                     .a = pa->body,
                                     .b = pb->body,
                                     .geom_a = a,
                                     .geom_b = b,
                                     .proximity_only = true,
                                     .gap = gap.gap};
    keep(d, &near[0]);
}

/* ODE's call for boxes that overlap. */
static void meet(void *data, dGeomID one, dGeomID other)
{
    gw_detector *d = data;
    int a = (int)(intptr_t)dGeomGetData(one), b = (int)(intptr_t)dGeomGetData(other);
    int body_a = d->pieces[a].body, body_b = d->pieces[b].body;
    if (body_a == body_b || (d->def.ignore && d->def.ignore(d->def.context, body_a, body_b)))
        return;
    bool swap = d->is_static[body_a] || (a > b && !d->is_static[body_b]);
    look(d, swap ? b : a, swap ? a : b);
}

/* ---- detection ----------------------------------------------------------------------------- */

static void place(gw_detector *d, const gw_twist *twists)
{
    for (int i = 0; i < d->piece_count; i++) {
        gw_geom *p = &d->pieces[i];
        gw_geom_set_pose(p, &d->poses[p->body], &twists[p->body]);
        double reach = (gw_norm(p->twist.v) + spin_speed(p)) * d->horizon + 0.5 * d->margin;
        gw_vec3 h = gw_geom_half_extents(p);
        dGeomSetPosition(d->geoms[i], p->at.x, p->at.y, p->at.z);
        dGeomBoxSetLengths(d->geoms[i], 2 * (h.x + reach), 2 * (h.y + reach), 2 * (h.z + reach));
    }
}

static int nearer(const void *a, const void *b)
{
    const gw_contact_candidate *x = a, *y = b;
    int by_gap = (x->gap > y->gap) - (x->gap < y->gap);
    return by_gap ? by_gap : (x->key > y->key) - (x->key < y->key);
}

int gw_detect(gw_detector *d, const gw_pose *world_from_body, const gw_twist *twists,
              double horizon, double margin, gw_contact_candidate *near, int capacity, int *lost)
{
    enter_ode();
    d->poses = world_from_body;
    d->horizon = horizon;
    d->margin = margin;
    d->found_count = 0;
    d->short_of_memory = false;
    place(d, twists);
    dSpaceCollide(d->space, d, meet);
    if (d->found_count > 1)
        qsort(d->found, (size_t)d->found_count, sizeof *d->found, nearer);
    int count = d->found_count < capacity ? d->found_count : capacity;
    if (count > 0)
        memcpy(near, d->found, (size_t)count * sizeof *near);
    if (lost)
        *lost = d->found_count - count + d->short_of_memory;
    return count;
}

/* ---- in a tick ----------------------------------------------------------------------------- */

static bool is_ball(const gw_geom *p)
{
    return p->polytope && p->polytope->vertex_count == 1;
}

bool gw_detector_bounding_sphere(const void *detector, int piece, gw_vec3 *centre, double *radius)
{
    const gw_geom *p = &((const gw_detector *)detector)->pieces[piece];
    *centre = gw_pose_point(&p->body_from, p->centre);
    *radius = is_ball(p) ? 0 : p->radius; /* a ball turns in its place */
    return true;
}

/* All corners are asked how far they reach, a few triangles of a mesh are near; of a body's other
 * pieces each may lie in the way. */
int gw_detector_query_cost(const void *detector, int piece)
{
    const gw_detector *d = detector;
    const gw_polytope *p = d->pieces[piece].polytope;
    int asked = p ? p->vertex_count : d->pieces[piece].facets ? MESH_COST : 0;
    for (int i = d->pieces[piece].next; i != piece; i = d->pieces[i].next)
        asked++;
    return asked / 32;
}

/* A ball of centre c above a face: its border, or its plane, is so far away. Where the other solid
 * turns, c goes farther than that one's own points. */
static double above_face(gw_vec3 c, const gw_convex *other, double radius, gw_vec3 out)
{
    gw_reference_face plate;
    if (!gw_convex_reference_face(other, out, 1 - 1e-9, &plate))
        return 0;
    double far = fmin(gw_dot(plate.normal, c) - plate.offset, gw_reference_face_inset(&plate, c));
    return far * radius / fmax(radius, gw_distance(c, other->at) + radius);
}

double gw_detector_breaking_distance(const void *detector, const gw_pair_query *again,
                                     const gw_contact_candidate *near)
{
    const gw_detector *d = detector;
    const gw_geom *pa = &d->pieces[again->geom_a], *pb = &d->pieces[again->geom_b];
    bool alone = pa->next == again->geom_a && pb->next == again->geom_b;
    if (!alone || pa->facets || pb->facets)
        return 0;
    if (is_ball(pa) && is_ball(pb))
        return near->kind == GW_NORMAL_BETWEEN ? INFINITY : 0;
    gw_convex a = gw_geom_convex_at(pa, &again->world_from_a);
    gw_convex b = gw_geom_convex_at(pb, &again->world_from_b);
    if (is_ball(pa) && near->kind == GW_NORMAL_IN_B)
        return above_face(a.at, &b, pb->radius, gw_rotate(again->world_from_b.q, near->normal));
    if (is_ball(pb) && near->kind == GW_NORMAL_IN_A)
        return above_face(b.at, &a, pa->radius,
                          gw_neg(gw_rotate(again->world_from_a.q, near->normal)));
    return 0;
}

/* No farther than where something is: of a fine mesh little lies there. */
static int look_at_mesh(const gw_detector *d, const pair *p, const gw_pair_query *again,
                        const gw_convex *a, const gw_convex *b, gw_contact_candidate *near,
                        double *gap)
{
    const double first = 2e-3, more = 3;
    gw_trimesh_query mesh =
        mesh_pair(&d->pieces[p->a], &d->pieces[p->b], a, b, first, again->slide);
    mesh.few = true;
    for (;; mesh.reach = fmin(again->reach, more * mesh.reach)) {
        int count = touch_mesh(d, p, &mesh, near, GW_PAIR_CANDIDATES, gap);
        if (*gap < mesh.reach || mesh.reach >= again->reach)
            return count;
    }
}

int gw_detect_pair(const void *detector, const gw_pair_query *again,
                   gw_contact_candidate near[GW_PAIR_CANDIDATES], double *gap)
{
    const gw_detector *d = detector;
    pair p = {again->geom_a, again->geom_b, again->world_from_a, again->world_from_b};
    const gw_geom *pa = &d->pieces[p.a], *pb = &d->pieces[p.b];
    gw_convex a = gw_geom_convex_at(pa, &p.in_a), b = gw_geom_convex_at(pb, &p.in_b);
    gw_signed_distance clearance;
    if (pa->facets && pb->facets)
        return -1;
    if (pa->facets || pb->facets)
        return look_at_mesh(d, &p, again, &a, &b, near, gap);
    /* exactly, however far: so long it need not be asked again */
    if (!gw_convex_distance(&a, &b, INFINITY, &clearance))
        return 0;
    *gap = clearance.gap;
    if (clearance.gap > again->reach)
        return 0;
    return touch(d, &p, &a, &b, clearance, again->reach, again->slide, near);
}
