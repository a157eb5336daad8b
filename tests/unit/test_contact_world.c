/*
 * The world's step against known outcomes: bouncing, cradles, bars, walls met at speed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/contact_fixture.h"

static const gw_vec3 up = {0, 0, 1};

static gw_contact_material surface(double e, double mu)
{
    return (gw_contact_material){.restitution = e, .friction = mu};
}

/* ---- one ball ------------------------------------------------------------------------------- */

/* Dropped from h: between bounces it rises to h e^(2n), at sums of geometric times. */
static void bouncing_ball_rises_as_often_as_it_should(void **state)
{
    (void)state;
    static const double es[] = {1, 0.9, 0.5};
    for (int i = 0; i < 3; i++) {
        static arena a;
        double e = es[i], h = 0.1, g = 9.81, fall = sqrt(2 * h / g);
        arena_open(&a, (gw_contact_rules){0});
        a.gravity = gw_v3(0, 0, -g);
        int m = arena_ball(&a, 0.3, 0.02, gw_v3(0, 0, 0.02 + h), gw_v3(0, 0, 0));
        arena_over_plane(&a, m, gw_v3(0, 0, 0), 0.02, gw_v3(0, 0, 0), up, surface(e, 0));
        arena_start(&a);
        for (int n = 1; n <= 5; n++) {
            /* at the n-th apex: fall, then n - 1 whole hops and half of the n-th */
            double t = fall;
            for (int k = 1; k < n; k++)
                t += 2 * fall * pow(e, k);
            t += fall * pow(e, n);
            static arena b;
            b = a;
            gw_world_reset(a.world);
            gw_world_set_candidates(a.world, a.candidates, a.candidate_count);
            int steps = (int)ceil(t / 1e-3);
            b.dt = t / steps;
            b.system[m].model = &b.body[m].model;
            for (int k = 0; k < steps; k++)
                arena_step(&b);
            double height = b.body[m].pose.p.z - 0.02, apex = h * pow(e, 2 * n);
            if (fabs(height - apex) > 1e-9)
                print_error("e %g apex %d: %.12g, not %.12g\n", e, n, height, apex);
            assert_true(fabs(height - apex) <= 1e-9);
            assert_true(fabs(b.body[m].twist.v.z) <= 1e-7);
        }
        arena_close(&a);
    }
}

static void a_dropped_ball_comes_to_rest(void **state)
{
    (void)state;
    static arena a;
    arena_open(&a, (gw_contact_rules){0});
    a.gravity = gw_v3(0, 0, -9.81);
    int m = arena_ball(&a, 1, 0.02, gw_v3(0, 0, 0.12), gw_v3(0, 0, 0));
    arena_over_plane(&a, m, gw_v3(0, 0, 0), 0.02, gw_v3(0, 0, 0), up, surface(0.5, 0));
    arena_start(&a);
    for (int i = 0; i < 3000; i++)
        arena_step(&a);
    print_message("rests %.3g mm deep at %.1e m/s, generated %.1e J\n",
                  1e3 * (0.02 - a.body[m].pose.p.z), a.body[m].twist.v.z, a.generated);
    assert_true(fabs(a.body[m].twist.v.z) < 1e-9);
    assert_true(a.body[m].pose.p.z > 0.0199 && a.body[m].pose.p.z < 0.02);
    assert_true(a.worst <= 1e-12);
    arena_close(&a);
}

/* ---- cradles -------------------------------------------------------------------------------- */

static void line_of_balls(arena *a, int balls, double e, gw_contact_rules rules)
{
    arena_open(a, rules);
    for (int i = 0; i < balls; i++)
        arena_ball(a, 1, 0.05, gw_v3(i == 0 ? -0.0005 : 0.1 * i, 0, 0),
                   gw_v3(i == 0 ? 1 : 0, 0, 0));
    for (int i = 0; i + 1 < balls; i++)
        arena_balls(a, i + 1, 0.05, i, 0.05, surface(e, 0));
    arena_start(a);
}

static void speeds_are(const arena *a, const double *v)
{
    for (int i = 0; i < a->count; i++) {
        if (fabs(a->body[i].twist.v.x - v[i]) > 1e-10)
            print_error("ball %d at %.17g, not %.17g\n", i, a->body[i].twist.v.x, v[i]);
        assert_true(fabs(a->body[i].twist.v.x - v[i]) <= 1e-10);
    }
}

static void cradles_end_by_their_rule(void **state)
{
    (void)state;
    static arena a;
    static const struct {
        int balls;
        double e, v[5];
        gw_contact_rules rules;
    } cases[] = {
        {3, 1, {-1. / 3, 2. / 3, 2. / 3}, {0}},
        {3, 0.5, {0, 0.5, 0.5}, {0}},
        {3, 0, {1. / 3, 1. / 3, 1. / 3}, {0}},
        {5, 1, {-0.6, 0.4, 0.4, 0.4, 0.4}, {0}},
        {3, 1, {0, 0, 1}, {.colliding = GW_COLLIDING_APPROACHING}},
        {5, 1, {0, 0, 0, 0, 1}, {.colliding = GW_COLLIDING_APPROACHING}},
        {3, 1, {-1. / 3, 2. / 3, 2. / 3}, {.impulse = GW_IMPULSE_NON_ADHESIVE}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        line_of_balls(&a, cases[i].balls, cases[i].e, cases[i].rules);
        for (int k = 0; k < 3; k++)
            arena_step(&a);
        speeds_are(&a, cases[i].v);
        assert_true(a.worst <= 1e-12);
        arena_close(&a);
    }
}

/* ---- flat and fast -------------------------------------------------------------------------- */

static void a_flat_bar_rebounds_the_same_on_any_number_of_points(void **state)
{
    (void)state;
    static arena a;
    for (int points = 2; points <= 4; points++)
        for (int e = 0; e <= 1; e++) {
            arena_open(&a, (gw_contact_rules){0});
            gw_guided_def def = arena_def(&a, 1, gw_v3(0.01 / 3, 0.01 / 3, 0.01 / 3));
            int m = arena_add(&a, &def, gw_v3(0, 0, 0), gw_v3(0, 0, -1));
            gw_twist twist = {{0, 0, -1}, {0, 3, 0}};
            gw_guided_set_twist(&a.body[m], &twist);
            for (int k = 0; k < points; k++)
                arena_over_plane(&a, m, gw_v3(-0.1 + 0.2 * k / (points - 1), 0, 0), 0,
                                 gw_v3(0, 0, 0), up, surface(e, 0));
            arena_start(&a);
            a.dt = 1e-9;
            arena_step(&a);
            assert_true(fabs(a.body[m].twist.v.z - e) <= 1e-6);
            assert_true(fabs(a.body[m].twist.w.y + 3 * e) <= 1e-6);
            arena_close(&a);
        }
}

/* 200 m/s against a wall of 1 mm: both of its sides are near. */
static void nothing_passes_a_thin_wall(void **state)
{
    (void)state;
    static arena a;
    for (int e = 0; e <= 1; e++) {
        arena_open(&a, (gw_contact_rules){0});
        int m = arena_ball(&a, 0.1, 0.005, gw_v3(0, 0, 0.1234), gw_v3(0, 0, -200));
        arena_over_plane(&a, m, gw_v3(0, 0, 0), 0.005, gw_v3(0, 0, 0), up, surface(e, 0));
        arena_start(&a);
        for (int i = 0; i < 5; i++) {
            arena_step(&a);
            assert_true(a.body[m].pose.p.z >= 0.005 - 1e-9);
        }
        assert_true(fabs(a.body[m].twist.v.z - 200 * e) < 1e-9);
        arena_close(&a);
    }
}

/* A small ball at 300 m/s meets one of its size inside a step. */
static void balls_do_not_pass_through_one_another(void **state)
{
    (void)state;
    static arena a;
    for (int i = 0; i < 50; i++) {
        arena_open(&a, (gw_contact_rules){0});
        arena_ball(&a, 1, 0.005, gw_v3(-0.02 - 0.005 * i, 0.0001 * i, 0), gw_v3(300, 0, 0));
        arena_ball(&a, 1, 0.005, gw_v3(0, 0, 0), gw_v3(0, 0, 0));
        arena_balls(&a, 0, 0.005, 1, 0.005, surface(1, 0));
        arena_start(&a);
        arena_step(&a);
        arena_step(&a);
        gw_vec3 p = gw_add(a.body[0].twist.v, a.body[1].twist.v);
        assert_true(a.body[1].twist.v.x > 100);
        assert_true(fabs(p.x - 300) < 1e-9 && fabs(p.y) < 1e-9);
        assert_true(fabs(arena_energy(&a) / 45000 - 1) < 1e-12);
        arena_close(&a);
    }
}

/* ---- guided bodies
 * -------------------------------------------------------------------------------- */

/* A body that its set holds on the plane z = 0 slides on a floor that it cannot leave, and bounces
 * off a wall: the floor is carried by the set. */
static void a_contact_of_a_moving_base_is_immovable(void **state)
{
    (void)state;
    static arena a;
    for (int i = 0; i < 2; i++) {
        /* a floor that leans by 1e-12 rad is no wall either */
        gw_vec3 lean = gw_unit(gw_v3(-1e-12 * i, 0, 1));
        arena_open(&a, (gw_contact_rules){0});
        gw_guided_def def = fixture_body(fixture_turning(GW_LOCUS_PLANE));
        def.gravity = gw_v3(0, 0, -9.81);
        int m = arena_add(&a, &def, gw_v3(0, 0, 0), gw_v3(1, 0, 0));
        arena_over_plane(&a, m, gw_v3(0, 0, 0), 0.05, gw_v3(0, 0, -0.05), lean, surface(0.5, 0));
        arena_over_plane(&a, m, gw_v3(0, 0, 0), 0.05, gw_v3(0.2, 0, 0), gw_v3(-1, 0, 0),
                         surface(0.5, 0));
        arena_start(&a);
        bool hit = false;
        for (int k = 0; k < 300; k++) {
            arena_step(&a);
            assert_true(a.last.immovable);
            if (a.system[m].collided) {
                hit = true;
                /* coordinates: a turn, two slides */
                assert_true(fabs(a.system[m].impulse[1] + 2 * 1.5) < 1e-9);
            }
        }
        assert_true(hit);
        assert_true(fabs(a.body[m].twist.v.x + 0.5) < 1e-9);
        assert_true(fabs(a.body[m].pose.p.x - (0.15 - 0.5 * 0.15)) < 1e-9);
        assert_true(a.worst <= 1e-12);
        arena_close(&a);
    }
}

/* On a circle, thrown against a wall that is met at an angle: the mass along the normal is what the
 * circle leaves of it. */
static void a_body_on_a_circle_bounces_along_it(void **state)
{
    (void)state;
    static arena a;
    arena_open(&a, (gw_contact_rules){0});
    gw_guided_def def = fixture_body(fixture_set(GW_ROTATION_FIXED, GW_LOCUS_CIRCLE, false));
    int m = arena_add(&a, &def, gw_v3(0.1, 0, 0), gw_v3(0, 1, 0));
    /* y = 0.1 sin 1 is met at one radian, the normal half along the motion */
    arena_over_plane(&a, m, gw_v3(0, 0, 0), 0, gw_v3(0, 0.1 * sin(1), 0), gw_v3(0, -1, 0),
                     surface(0.8, 0));
    arena_start(&a);
    for (int k = 0; k < 200; k++)
        arena_step(&a);
    double angle = atan2(a.body[m].pose.p.y, a.body[m].pose.p.x);
    assert_true(fabs(angle - (1 - 0.8 * (2 - 1))) < 1e-9);
    assert_true(fabs(gw_norm(a.body[m].twist.v) - 0.8) < 1e-9);
    assert_true(a.worst <= 1e-12);
    arena_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bouncing_ball_rises_as_often_as_it_should),
        cmocka_unit_test(a_dropped_ball_comes_to_rest),
        cmocka_unit_test(cradles_end_by_their_rule),
        cmocka_unit_test(a_flat_bar_rebounds_the_same_on_any_number_of_points),
        cmocka_unit_test(nothing_passes_a_thin_wall),
        cmocka_unit_test(balls_do_not_pass_through_one_another),
        cmocka_unit_test(a_contact_of_a_moving_base_is_immovable),
        cmocka_unit_test(a_body_on_a_circle_bounces_along_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
