/*
 * Contact worlds under load: ten bodies pushed about in an enclosure for a minute, boxes that
 * tumble, each with its energy audited in every step.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/collision/detector.h"
#include "tests/unit/contact_fixture.h"

static gw_contact_material surface(double e, double mu)
{
    return (gw_contact_material){.restitution = e, .friction = mu};
}

static uint64_t seed = 7;

static double random_signed(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return 2 * ((double)(seed >> 11) / 9007199254740992.0) - 1;
}

/* ---- ten bodies in an enclosure ----------------------------------------------------------------
 */

enum { BODIES = 10, PUSHED = 3 };

/* A solid of one or two balls. */
typedef struct solid {
    int balls;
    double radius;
    gw_vec3 centre[2];
} solid;

typedef struct play {
    arena a;
    solid solid[BODIES];
    gw_vec3 push[BODIES]; /* forces and torques of hands */
    gw_vec3 twist[BODIES];
    double half; /* the enclosure is a cube (m) */
} play;

typedef struct hold {
    const play *p;
    int m;
} hold;

static hold holds[BODIES];

static gw_wrench pushed(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    const hold *h = context;
    (void)t, (void)held, (void)twist;
    return (gw_wrench){h->p->push[h->m], h->p->twist[h->m]};
}

static void walls(play *p, int m, gw_contact_material s)
{
    for (int side = 0; side < 6; side++) {
        gw_vec3 n = gw_v3(side / 2 == 0, side / 2 == 1, side / 2 == 2);
        n = gw_scale(side & 1 ? -1 : 1, n);
        for (int k = 0; k < p->solid[m].balls; k++)
            arena_over_plane(&p->a, m, p->solid[m].centre[k], p->solid[m].radius,
                             gw_scale(-p->half, n), n, s);
    }
}

static void pairs(play *p, int m, int k, gw_contact_material s)
{
    for (int i = 0; i < p->solid[m].balls; i++)
        for (int j = 0; j < p->solid[k].balls; j++) {
            gw_contact_candidate *n = arena_candidate(&p->a, s);
            n->a = m;
            n->b = k;
            n->point_a = p->solid[m].centre[i];
            n->point_b = p->solid[k].centre[j];
            n->radius_a = p->solid[m].radius;
            n->radius_b = p->solid[k].radius;
            n->kind = GW_NORMAL_BETWEEN;
        }
}

static void furnish(play *p, gw_contact_rules rules, gw_vec3 gravity)
{
    memset(p, 0, sizeof *p);
    arena_open(&p->a, rules);
    p->a.gravity = gravity;
    p->half = 0.15;
    for (int m = 0; m < BODIES; m++) {
        double r = 0.02 + 0.002 * (m % 4), mass = 0.1 + 0.05 * m;
        gw_vec3 at = gw_v3(0.1 * (m % 3 - 1), 0.1 * (m / 3 % 3 - 1), 0.1 * (m / 9) - 0.05);
        p->solid[m] = (solid){m < 8 ? 1 : 2, r, {{0, 0, 0}, {0, 0, 0}}};
        gw_vec3 velocity = {random_signed(), random_signed(), random_signed()};
        double i = 0.4 * mass * r * r;
        gw_guided_def def = arena_def(&p->a, mass, gw_v3(i, i, i));
        if (m >= 8) { /* a rod: two balls apart */
            p->solid[m].centre[0].x = 0.025;
            p->solid[m].centre[1].x = -0.025;
            def.mass.inertia.m[1][1] = def.mass.inertia.m[2][2] = i + mass * 0.025 * 0.025;
        }
        arena_add(&p->a, &def, at, velocity);
        holds[m] = (hold){p, m};
        if (m % PUSHED == 0)
            p->a.system[m].hand = (gw_forces){.at = pushed, .context = &holds[m]};
    }
    for (int m = 0; m < BODIES; m++) {
        gw_contact_material s = surface(0.1 * m, 0.1 * (m % 5));
        walls(p, m, s);
        for (int k = 0; k < m; k++)
            pairs(p, m, k, s);
    }
    arena_start(&p->a);
}

/* Other pushes every tenth of a second. */
static void push_around(play *p, int step)
{
    for (int m = 0; m < BODIES && step % 100 == 0; m += PUSHED) {
        p->push[m] = gw_v3(5 * random_signed(), 5 * random_signed(), 5 * random_signed());
        p->twist[m] = gw_scale(0.02, gw_v3(random_signed(), random_signed(), random_signed()));
    }
}

static double deepest(const play *p)
{
    double most = 0;
    for (int m = 0; m < BODIES; m++)
        for (int k = 0; k < p->solid[m].balls; k++) {
            gw_vec3 x = gw_pose_point(&p->a.body[m].pose, p->solid[m].centre[k]);
            double out = fmax(fabs(x.x), fmax(fabs(x.y), fabs(x.z))) + p->solid[m].radius;
            most = fmax(most, out - p->half);
        }
    return most;
}

static void energy_never_rises_in_a_minute_of_pushing_ten_bodies(void **state)
{
    (void)state;
    static play p;
    static const gw_contact_rules rules[] = {
        {0},
        {.friction = GW_FRICTION_STICK, .impulse = GW_IMPULSE_NON_ADHESIVE},
        {.colliding = GW_COLLIDING_APPROACHING},
    };
    for (int i = 0; i < 3; i++) {
        furnish(&p, rules[i], gw_v3(0, 0, -9.81));
        double lowest = arena_energy(&p.a), peak = lowest, deep = 0;
        long collisions = 0, most = 0;
        for (int k = 0; k < (i == 0 ? 60000 : 10000); k++) {
            push_around(&p, k);
            arena_step(&p.a);
            double now = arena_energy(&p.a) - p.a.work - p.a.external_work;
            assert_true(now <= lowest + 1e-9); /* an observer: it only falls */
            lowest = fmin(lowest, now);
            peak = fmax(peak, arena_energy(&p.a));
            deep = fmax(deep, deepest(&p));
            collisions += p.a.last.collisions;
            most = p.a.last.collisions > most ? p.a.last.collisions : most;
        }
        print_message("rule %d: %ld collisions, at most %ld in a step; %.1f J by hands, generated "
                      "%.2g J, worst step %.1e J, deepest %.2g mm, peak %.2g J\n",
                      i, collisions, most, p.a.work, p.a.generated, p.a.worst, 1e3 * deep, peak);
        double out = arena_energy(&p.a) - p.a.start - p.a.work - p.a.external_work + p.a.dissipated;
        print_message("  energy audit off by %.1e J\n", out);
        assert_true(fabs(out) <= 1e-8);
        assert_true(p.a.worst <= 1e-9);
        assert_true(deep < 0.01);
        assert_true(collisions > 1000);
        arena_close(&p.a);
    }
}

static void a_step_allocates_nothing(void **state)
{
    (void)state;
    static play p;
    furnish(&p, (gw_contact_rules){0}, gw_v3(0, 0, -9.81));
    arena_step(&p.a);
    struct mallinfo2 before = mallinfo2();
    for (int k = 0; k < 2000; k++) {
        gw_contact_data at[64];
        push_around(&p, k);
        gw_world_set_candidates(p.a.world, p.a.candidates, p.a.candidate_count);
        arena_step(&p.a);
        gw_world_contacts(p.a.world, at, 64);
    }
    struct mallinfo2 after = mallinfo2();
    assert_int_equal(before.uordblks, after.uordblks);
    assert_int_equal(before.hblkhd, after.hblkhd);
    arena_close(&p.a);
}

/* ---- boxes that the detector watches ------------------------------------------------------------
 */

enum { BOXES = 8 };

static bool nobody(const void *context, int a, int b)
{
    (void)context, (void)a, (void)b;
    return false;
}

static gw_contact_material alike(const void *context, int a, int b)
{
    (void)a, (void)b;
    return *(const gw_contact_material *)context;
}

static gw_detector *watch(const arena *a, gw_shape *shapes, const gw_contact_material *s)
{
    gw_collider colliders[BOXES + 6];
    static gw_shape wall = {.kind = GW_SHAPE_BOX, .size = {2, 2, 2}};
    for (int i = 0; i < BOXES; i++)
        colliders[i] = (gw_collider){i, &shapes[i], gw_pose_identity(), 0};
    for (int k = 0; k < 6; k++) {
        gw_vec3 out = gw_v3(k / 2 == 0, k / 2 == 1, k / 2 == 2);
        gw_pose at = {gw_scale(k & 1 ? -1.3 : 1.3, out), gw_quat_identity()};
        colliders[BOXES + k] = (gw_collider){ground(a), &wall, at, 0};
    }
    gw_detector_def def = {.body_count = BOXES + 1,
                           .collider_count = BOXES + 6,
                           .colliders = colliders,
                           .ignore = nobody,
                           .surface = alike,
                           .context = s};
    return gw_detector_create(&def, NULL);
}

static void detect(arena *a, gw_detector *detector)
{
    gw_pose poses[BOXES + 1] = {[BOXES] = {{0, 0, 0}, {1, 0, 0, 0}}};
    gw_twist twists[BOXES + 1] = {[BOXES] = {{0, 0, 0}, {0, 0, 0}}};
    int lost;
    for (int m = 0; m < BOXES; m++)
        gw_model_body(a->system[m].model, 0, &poses[m], &twists[m]);
    int count =
        gw_detect(detector, poses, twists, 0.01, 0.002, a->candidates, SOME_CANDIDATES, &lost);
    gw_world_set_candidates(a->world, a->candidates, count);
}

static void drop_boxes(arena *a, gw_contact_rules rules, gw_shape *shapes)
{
    arena_open(a, rules);
    a->gravity = gw_v3(0, 0, -9.81);
    for (int i = 0; i < BOXES; i++) {
        gw_vec3 h = {0.03 + 0.01 * (i % 3), 0.03, 0.02 + 0.01 * (i % 2)};
        shapes[i] = (gw_shape){.kind = GW_SHAPE_BOX, .size = gw_scale(2, h)};
        arena_box(a, 0.2 + 0.1 * i, h, gw_v3(0.12 * (i % 3 - 1), 0.12 * (i / 3 - 1), -0.2));
        gw_twist twist = {{random_signed(), random_signed(), random_signed()},
                          {5 * random_signed(), 5 * random_signed(), 5 * random_signed()}};
        gw_guided_set_twist(&a->body[i], &twist);
    }
}

/* Detected at 200 Hz, stepped at 1 kHz: they tumble, pile up, come to rest. */
static void boxes_tumble_and_come_to_rest(void **state)
{
    (void)state;
    static arena a;
    gw_shape shapes[BOXES];
    gw_contact_material s = surface(0.3, 0.4);
    for (int rule = 0; rule < 4; rule++) {
        gw_contact_rules rules = {.impulse = rule & 1 ? GW_IMPULSE_NON_ADHESIVE
                                                      : GW_IMPULSE_PSEUDO_INVERSE,
                                  .friction = rule & 2 ? GW_FRICTION_STICK : GW_FRICTION_CREEP};
        drop_boxes(&a, rules, shapes);
        gw_detector *detector = watch(&a, shapes, &s);
        assert_non_null(detector);
        arena_start(&a);
        double deep = 0, fastest = 0, spin = 0;
        long collisions = 0;
        for (int k = 0; k < 5000; k++) {
            gw_contact_data at[GW_MAX_SHOWN_CONTACTS];
            if (k % 5 == 0)
                detect(&a, detector);
            arena_step(&a);
            collisions += a.last.collisions;
            int count = gw_world_contacts(a.world, at, GW_MAX_SHOWN_CONTACTS);
            for (int i = 0; i < count; i++)
                deep = fmax(deep, -at[i].gap);
        }
        for (int m = 0; m < BOXES; m++) {
            fastest = fmax(fastest, gw_norm(a.body[m].twist.v));
            spin = fmax(spin, gw_norm(a.body[m].twist.w));
        }
        print_message("rule %d: %ld collisions, deepest %.2f mm, in the end %.1e m/s %.1e rad/s, "
                      "generated %.1e J, worst step %.1e J\n",
                      rule, collisions, 1e3 * deep, fastest, spin, a.generated, a.worst);
        assert_true(a.worst <= 1e-9);
        assert_true(deep < 2e-3);
        /* what leans on another may creep */
        assert_true(rule & 2 ? fastest < 1e-6 && spin < 1e-5 : fastest < 5e-3 && spin < 0.1);
        gw_detector_destroy(detector);
        arena_close(&a);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(energy_never_rises_in_a_minute_of_pushing_ten_bodies),
        cmocka_unit_test(a_step_allocates_nothing),
        cmocka_unit_test(boxes_tumble_and_come_to_rest),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
