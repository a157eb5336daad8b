/*
 * Solids in an enclosure that are thrown about. What the detector finds is taken up a period later,
 * as in a simulation (rt/sim/detection.h).
 */
#ifndef GW_TESTS_UNIT_ENCLOSURE_FIXTURE_H
#define GW_TESTS_UNIT_ENCLOSURE_FIXTURE_H

#include "rt/sim/detection.h"
#include "tests/unit/contact_fixture.h"
#include "tests/unit/detector_fixture.h"
#include "tests/unit/mesh_fixture.h"

enum { THROWN = 9, ENCLOSURE = 6 };

typedef struct thrown {
    arena a;
    int count;
    unsigned seed;
    long tick;
    double half;
    double force, speed, spin; /* of hands (N), of a throw (m/s, rad/s) */
    gw_contact_material surface;
    gw_shape shapes[THROWN], wall;
    gw_shape parts[THROWN]; /* convex parts of one that is not convex, for `truth` */
    gw_mass mass[THROWN];
    gw_wrench push[THROWN], hurl[THROWN];
    gw_detection *detection;
    gw_detector *truth;
} thrown;

typedef struct thrown_hand {
    const thrown *t;
    int m;
} thrown_hand;

static thrown_hand thrown_hands[THROWN];

/* Presses all the time, throws in the first 20 ms of each half second. */
static inline gw_wrench thrown_pushed(const void *context, double t, const gw_pose *held,
                                      const gw_twist *twist)
{
    const thrown_hand *h = context;
    double now = (double)h->t->tick * h->t->a.dt;
    gw_wrench push = h->t->push[h->m], hurl = h->t->hurl[h->m];
    (void)t, (void)twist;
    if (fmod(now, 0.5) > 0.02)
        return push;
    return (gw_wrench){gw_add(push.f, hurl.f), gw_add(push.t, gw_rotate(held->q, hurl.t))};
}

static inline bool thrown_stands(const void *context, int body)
{
    return body >= ((const thrown *)context)->count;
}

static inline gw_contact_material thrown_surface(const void *context, int a, int b)
{
    (void)a, (void)b;
    return ((const thrown *)context)->surface;
}

static inline gw_shape thrown_hull(unsigned *seed, double size)
{
    static soup s;
    gw_vec3 p[12];
    s.vertex_count = s.triangle_count = 0;
    for (int i = 0; i < 12; i++)
        p[i] = gw_scale(size, gw_unit(some_vector(seed, 1)));
    for (int i = 0; i < 10; i++)
        add_triangle(&s, p[i], p[i + 1], p[i + 2]);
    gw_mesh *mesh = mesh_of(&s, NULL), *hull = gw_mesh_hull(mesh, NULL);
    gw_mesh_put(mesh);
    return (gw_shape){.kind = GW_SHAPE_MESH, .mesh = hull};
}

/* An L of three cubes, its inner edge in the middle: in triangles, and as two boxes. */
static inline gw_shape thrown_ell(double s, gw_shape *boxes)
{
    static soup t;
    const double outline[6][2] = {{-s, -s}, {s, -s}, {s, 0}, {0, 0}, {0, s}, {-s, s}};
    gw_vec3 p[6];
    for (int i = 0; i < 6; i++)
        p[i] = gw_v3(outline[i][0], -s / 2, outline[i][1]);
    t.vertex_count = t.triangle_count = 0;
    add_prism(&t, p, gw_v3(0, s, 0));
    *boxes = (gw_shape){
        .kind = GW_SHAPE_COMPOUND, .part_count = 2, .parts = calloc(2, sizeof *boxes->parts)};
    boxes->parts[0] = (gw_part){box_shape(s, s, 2 * s), {{-s / 2, 0, 0}, {1, 0, 0, 0}}};
    boxes->parts[1] = (gw_part){box_shape(s, s, s), {{s / 2, 0, -s / 2}, {1, 0, 0, 0}}};
    return (gw_shape){.kind = GW_SHAPE_MESH, .mesh = mesh_of(&t, NULL)};
}

enum { THROWN_KINDS = 6, THROWN_ELLS };

static inline const char *thrown_name(int kind)
{
    static const char *const names[] = {"box",  "capsule", "cylinder", "cone",
                                        "ball", "hull",    "all",      "an L"};
    return names[kind];
}

static inline gw_shape thrown_shape(int kind, unsigned *seed)
{
    double s = 0.03 + 0.01 * fabs(some(seed));
    switch (kind) {
    case 0:
        return box_shape(2 * s, 2 * s * (1.5 + 0.5 * some(seed)), 2 * s * (1 + 0.4 * some(seed)));
    case 1:
        return round_shape(GW_SHAPE_CAPSULE, 0.6 * s, 2 * s);
    case 2:
        return round_shape(GW_SHAPE_CYLINDER, 0.9 * s, 2.5 * s);
    case 3:
        return round_shape(GW_SHAPE_CONE, s, 2 * s);
    case 4:
        return round_shape(GW_SHAPE_SPHERE, s, 0);
    default:
        return thrown_hull(seed, 1.3 * s);
    }
}

/* One of a kind, and what it is made of where it is not convex. */
static inline gw_shape thrown_some(int kind, unsigned *seed, gw_shape *boxes)
{
    return kind == THROWN_ELLS ? thrown_ell(0.04, boxes) : thrown_shape(kind, seed);
}

static inline void thrown_body(thrown *t, int m, const gw_shape *shape, gw_vec3 at)
{
    gw_guided_def def = arena_def(&t->a, 1, gw_v3(1, 1, 1));
    t->shapes[m] = *shape;
    t->mass[m] = def.mass = gw_shape_mass(shape, 1500);
    arena_add(&t->a, &def, at, gw_v3(0, 0, 0));
    thrown_hands[m] = (thrown_hand){t, m};
    t->a.system[m].hand = (gw_forces){.at = thrown_pushed, .context = &thrown_hands[m]};
}

/* Bodies are there; `walls` are boxes of the ground. The world begins. */
static inline void thrown_start(thrown *t, const gw_collider *walls, int wall_count, double period)
{
    gw_collider colliders[THROWN + ENCLOSURE];
    gw_pose poses[THROWN + 1];
    int candidate_count;
    for (int m = 0; m < t->count; m++) {
        colliders[m] = (gw_collider){m, &t->shapes[m], gw_pose_identity(), 0};
        poses[m] = t->a.body[m].pose;
    }
    memcpy(colliders + t->count, walls, (size_t)wall_count * sizeof *walls);
    poses[t->count] = gw_pose_identity();
    gw_detector_def def = {.body_count = t->count + 1,
                           .collider_count = t->count + wall_count,
                           .colliders = colliders,
                           .is_static = thrown_stands,
                           .surface = thrown_surface,
                           .context = t};
    gw_detection_def queries = {.detector = def,
                                .poses = poses,
                                .moving = t->count,
                                .period = period,
                                .tick = t->a.dt,
                                .margin = 1e-3};
    t->detection = gw_detection_create(&queries, NULL);
    for (int m = 0; m < t->count; m++)
        if (t->parts[m].parts)
            colliders[m].shape = &t->parts[m];
    t->truth = gw_detector_create(&def, NULL);
    arena_start(&t->a);
    gw_narrow_phase narrow_phase = gw_detection_narrow_phase(t->detection);
    gw_world_set_narrow_phase(t->a.world, &narrow_phase);
    const gw_contact_candidate *candidates =
        gw_detection_start_candidates(t->detection, &candidate_count);
    gw_world_set_candidates(t->a.world, candidates, candidate_count);
}

/* Nine of a kind (THROWN_KINDS: of each in turn) in a cube of 0.52 m. */
static inline void thrown_open_by(thrown *t, gw_contact_rules rules, int kind, double dt,
                                  double period)
{
    memset(t, 0, sizeof *t);
    arena_open(&t->a, rules);
    t->a.gravity = gw_v3(0, 0, -9.81);
    t->a.dt = dt;
    t->count = THROWN;
    t->half = 0.26;
    t->seed = 1;
    t->force = 5;
    t->speed = 3;
    t->spin = 40;
    t->surface = (gw_contact_material){.restitution = 0.4, .friction = 0.3};
    for (int m = 0; m < t->count; m++) {
        gw_shape shape =
            thrown_some(kind == THROWN_KINDS ? m % kind : kind, &t->seed, &t->parts[m]);
        thrown_body(t, m, &shape, gw_v3(0.165 * (m % 3 - 1), 0.165 * (m / 3 - 1), -0.1));
    }
    gw_collider walls[ENCLOSURE];
    t->wall = box_shape(2.4, 2.4, 2.4);
    for (int k = 0; k < ENCLOSURE; k++) {
        gw_vec3 out = gw_v3(k / 2 == 0, k / 2 == 1, k / 2 == 2);
        gw_pose at = {gw_scale((k & 1 ? -1 : 1) * (1.2 + t->half), out), gw_quat_identity()};
        walls[k] = (gw_collider){t->count, &t->wall, at, 0};
    }
    thrown_start(t, walls, ENCLOSURE, period);
}

static inline void thrown_open(thrown *t, int kind, double dt, double period)
{
    thrown_open_by(t, (gw_contact_rules){0}, kind, dt, period);
}

static inline void thrown_close(thrown *t)
{
    arena_close(&t->a);
    gw_detection_destroy(t->detection);
    gw_detector_destroy(t->truth);
    for (int m = 0; m < t->count; m++)
        gw_shape_finish(&t->shapes[m]), gw_shape_finish(&t->parts[m]);
}

/* Every half second all are thrown, every quarter hands press elsewhere. */
static inline void thrown_push(thrown *t)
{
    long half = lround(0.5 / t->a.dt);
    for (int m = 0; m < t->count && t->tick % (half / 2) == 0; m++) {
        gw_vec3 f = gw_scale(t->force, gw_unit(some_vector(&t->seed, 1)));
        gw_wrench none = {{0, 0, 0}, {0, 0, 0}};
        t->push[m] = m % 2 ? none : (gw_wrench){f, some_vector(&t->seed, 1e-3 * t->force)};
        if (t->tick % half != 0)
            continue;
        t->hurl[m].f = gw_scale(t->mass[m].mass / 0.02, some_vector(&t->seed, t->speed));
        t->hurl[m].t =
            gw_scale(1 / 0.02, gw_mat3_mul(&t->mass[m].inertia, some_vector(&t->seed, t->spin)));
    }
}

static inline void thrown_publish(thrown *t)
{
    gw_detection_body told[THROWN];
    for (int m = 0; m < t->count; m++) {
        told[m].body = m;
        gw_model_body(t->a.system[m].model, 0, &told[m].pose, &told[m].twist);
    }
    gw_detection_publish(t->detection, told, t->count);
}

static inline void thrown_tick(thrown *t)
{
    int count;
    gw_detection_turn turn = gw_detection_begin_tick(t->detection);
    if (turn.takes) {
        const gw_contact_candidate *candidates = gw_detection_candidates(t->detection, &count);
        gw_world_set_candidates(t->a.world, candidates, count);
    }
    if (turn.asks) {
        thrown_publish(t);
        gw_detection_run(t->detection);
    }
    arena_step(&t->a);
    t->tick++;
}

/* The least gap of two convex pieces (m), by a detector of its own: how far one of them would have
 * to go. A pair of points that was told may lead farther, out of an inner corner. */
static inline double thrown_gap(thrown *t)
{
    static gw_contact_candidate candidates[1024];
    gw_pose poses[THROWN + 1];
    gw_twist twists[THROWN + 1] = {0};
    double least = INFINITY;
    int lost;
    for (int m = 0; m < t->count; m++)
        poses[m] = t->a.body[m].pose;
    poses[t->count] = gw_pose_identity();
    int count = gw_detect(t->truth, poses, twists, 0, 1e-5, candidates, 1024, &lost);
    for (int i = 0; i < count; i++) {
        gw_contact_candidate found[GW_PAIR_CANDIDATES];
        gw_pair_query query = {.geom_a = candidates[i].geom_a,
                               .geom_b = candidates[i].geom_b,
                               .world_from_a = poses[candidates[i].a],
                               .world_from_b = poses[candidates[i].b]};
        double gap;
        gw_detect_pair(t->truth, &query, found, &gap);
        least = fmin(least, gap);
    }
    return least;
}

#endif
