/*
 * Free bodies that step together: each as it would by itself under the same forces, and what they
 * exert on one another leaves their momentum alone. A pile of them in contact keeps it as well.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "rt/dynamics/lockstep.h"
#include "tests/unit/contact_fixture.h"

enum { BODIES = 7, STEPS = 200, ROW = 24 };

#define STEP 1e-3 /* s */

static double some(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1u << 23) - 1;
}

static gw_vec3 some_vector(unsigned *seed, double size)
{
    double x = some(seed), y = some(seed), z = some(seed);
    return gw_scale(size, gw_v3(x, y, z));
}

/* Of any inertia, its centre of mass off its frame, turning by up to 0.03 rad in a step. */
static void some_body(gw_guided *body, gw_vec3 gravity, unsigned *seed)
{
    gw_guided_def def = fixture_body(fixture_set(GW_ROTATION_FREE, GW_LOCUS_FREE, false));
    gw_vec3 own = {1.5 + some(seed), 1.5 + some(seed), 1.5 + some(seed)};
    gw_mat3 turn = gw_quat_to_mat3(gw_quat_exp(some_vector(seed, 1)));
    def.mass.mass = 1.5 + some(seed);
    def.mass.com = some_vector(seed, 0.1);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            def.mass.inertia.m[i][j] =
                1e-2 * (own.x * turn.m[i][0] * turn.m[j][0] + own.y * turn.m[i][1] * turn.m[j][1] +
                        own.z * turn.m[i][2] * turn.m[j][2]);
    def.gravity = gravity;
    def.damping_linear = def.damping_angular = 0;
    gw_pose at = {some_vector(seed, 0.5), gw_quat_exp(some_vector(seed, 1))};
    gw_twist twist = {some_vector(seed, 1), some_vector(seed, 15)};
    gw_guided_init(body, &def, &at);
    gw_guided_set_twist(body, &twist);
}

/* A spring to the world's origin, a damper, and a couple that changes with time. */
static void pull(const void *context, double t, const gw_pose *at, const gw_twist *twist,
                 gw_wrench *on)
{
    (void)context;
    gw_vec3 drag = gw_scale(-0.5, twist->v);
    on[0] = (gw_wrench){gw_mul_add(drag, -80, at->p), gw_v3(0.1, 100 * t, -0.02)};
}

static void pull_all(void *context, double t)
{
    gw_lockstep *s = context;
    for (int i = 0; i < s->count; i++) {
        gw_pose at = {.p = s->motion[i].p};
        pull(NULL, t, &at, &s->motion[i].twist, &s->on[i]);
    }
}

static void each_moves_as_it_would_alone(void **state)
{
    (void)state;
    static gw_lockstep together;
    static gw_guided one[BODIES], other[BODIES];
    gw_forces forces = {.contact_wrenches = pull};
    bool finite[GW_LOCKSTEP_BODIES];
    unsigned seed = 3;
    double place = 0, speed = 0;
    together.count = BODIES;
    for (int i = 0; i < BODIES; i++) {
        some_body(&one[i], gw_v3(0, 0, -9.81), &seed);
        other[i] = one[i];
        together.bodies[i] = &one[i].model;
        assert_true(gw_lockstep_takes(&one[i].model, STEP));
    }
    for (int k = 0; k < 30; k++) {
        gw_lockstep_step(&together, pull_all, &together, STEP, finite);
        for (int i = 0; i < BODIES; i++) {
            gw_step step = {.finite = true};
            gw_model_step(&other[i].model, &forces, STEP, &step);
            assert_true(finite[i] && step.finite);
            place = fmax(place, gw_pose_distance(&one[i].pose, &other[i].pose, 1));
            speed = fmax(speed, gw_distance(one[i].twist.v, other[i].twist.v) +
                                    gw_distance(one[i].twist.w, other[i].twist.w));
        }
    }
    print_message("together and alone: %.1e m, %.1e m/s\n", place, speed);
    assert_true(place < 1e-14 && speed < 1e-12);
}

/* Springs between neighbours, from origin to origin. */
static void pull_neighbours(void *context, double t)
{
    gw_lockstep *s = context;
    (void)t;
    for (int i = 1; i < s->count; i++) {
        gw_vec3 f = gw_scale(30, gw_sub(s->motion[i].p, s->motion[i - 1].p));
        s->on[i - 1].f = gw_add(s->on[i - 1].f, f);
        s->on[i].f = gw_sub(s->on[i].f, f);
    }
}

/* Linear momentum, and its moment about the world's origin. */
static gw_wrench momentum_of(const gw_guided *bodies, int count)
{
    gw_wrench sum = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < count; i++) {
        const gw_guided *b = &bodies[i];
        gw_vec3 com = gw_rotate(b->pose.q, b->def.mass.com);
        gw_vec3 v = gw_add(b->twist.v, gw_cross(b->twist.w, com));
        gw_vec3 p = gw_scale(b->def.mass.mass, v), w = gw_unrotate(b->pose.q, b->twist.w);
        gw_vec3 own = gw_rotate(b->pose.q, gw_mat3_mul(&b->def.mass.inertia, w));
        sum.f = gw_add(sum.f, p);
        sum.t = gw_add(sum.t, gw_add(own, gw_cross(gw_add(b->pose.p, com), p)));
    }
    return sum;
}

static double change(const gw_wrench *a, const gw_wrench *b)
{
    return gw_distance(a->f, b->f) + gw_distance(a->t, b->t);
}

static void forces_between_them_keep_momentum(void **state)
{
    (void)state;
    static gw_lockstep together;
    static gw_guided body[BODIES];
    bool finite[GW_LOCKSTEP_BODIES];
    unsigned seed = 11;
    together.count = BODIES;
    for (int i = 0; i < BODIES; i++) {
        some_body(&body[i], gw_v3(0, 0, 0), &seed);
        together.bodies[i] = &body[i].model;
    }
    gw_wrench before = momentum_of(body, BODIES);
    for (int k = 0; k < STEPS; k++)
        gw_lockstep_step(&together, pull_neighbours, &together, STEP, finite);
    gw_wrench after = momentum_of(body, BODIES);
    print_message("momentum of bodies on springs changes by %.1e N s, %.1e N m s\n",
                  gw_distance(before.f, after.f), gw_distance(before.t, after.t));
    assert_true(gw_distance(before.f, after.f) < 1e-12);
    assert_true(gw_distance(before.t, after.t) < 1e-7); /* of its moment: the formula's order */
}

static void driven_damped_and_fast_bodies_step_alone(void **state)
{
    (void)state;
    unsigned seed = 5;
    gw_guided body;
    some_body(&body, gw_v3(0, 0, 0), &seed);
    gw_guided_set_twist(&body, &(gw_twist){{0, 0, 0}, {0, 60, 0}});
    assert_false(gw_lockstep_takes(&body.model, STEP));
    gw_guided_def def = body.def;
    def.damping_linear = 1;
    gw_guided_init(&body, &def, &body.pose);
    assert_false(gw_lockstep_takes(&body.model, STEP));
    def = fixture_body(fixture_set(GW_ROTATION_FIXED, GW_LOCUS_PLANE, false));
    gw_guided_init(&body, &def, &(gw_pose){{0, 0, 0}, gw_quat_identity()});
    assert_false(gw_lockstep_takes(&body.model, STEP));
}

/* A bent row of balls, so many that the island is large, runs together without rebound. */
static void a_row_that_is_pressed_together_keeps_momentum(void **state)
{
    (void)state;
    static arena a;
    double worst = 0;
    int touching = 0;
    arena_open(&a, (gw_contact_rules){0});
    for (int i = 0; i < ROW; i++)
        arena_ball(&a, 1 + 0.3 * (i % 3), 0.05, gw_v3(0.1005 * i, 0.004 * (i % 2), 0.002 * (i % 3)),
                   gw_v3(i < ROW / 2 ? 0.5 : -0.4, 0, 0));
    for (int i = 1; i < ROW; i++)
        arena_balls(&a, i - 1, 0.05, i, 0.05, (gw_contact_material){.friction = 0.3});
    arena_start(&a);
    gw_wrench before = momentum_of(a.body, ROW);
    for (int k = 0; k < STEPS; k++) {
        arena_step(&a);
        touching = a.last.touching > touching ? a.last.touching : touching;
        gw_wrench now = momentum_of(a.body, ROW);
        worst = fmax(worst, change(&before, &now));
    }
    arena_close(&a);
    print_message("%d contacts: momentum off by %.1e\n", touching, worst);
    assert_true(touching > ROW / 2);
    assert_true(worst < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_moves_as_it_would_alone),
        cmocka_unit_test(forces_between_them_keep_momentum),
        cmocka_unit_test(driven_damped_and_fast_bodies_step_alone),
        cmocka_unit_test(a_row_that_is_pressed_together_keeps_momentum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
