/*
 * Continuous contacts: friction against Coulomb's law, sticking on a slope, stacks, loads.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/contact_fixture.h"

static const gw_vec3 up = {0, 0, 1};
static const gw_vec3 half = {0.1, 0.1, 0.05};

static gw_contact_material surface(double e, double mu)
{
    return (gw_contact_material){.restitution = e, .friction = mu};
}

/* The four lower corners of a box over the ground's plane z = 0. */
static void box_on_ground(arena *a, int m, gw_vec3 h, gw_contact_material s)
{
    for (int i = 0; i < 4; i++)
        arena_over_plane(a, m, gw_v3(i & 1 ? h.x : -h.x, i & 2 ? h.y : -h.y, -h.z), 0,
                         gw_v3(0, 0, 0), up, s);
}

/* Lower corners of box `upper` over the top of box `lower`. */
static void box_on_box(arena *a, int upper, int lower, gw_vec3 h, gw_contact_material s)
{
    for (int i = 0; i < 4; i++) {
        gw_contact_candidate *n = arena_candidate(a, s);
        n->a = upper;
        n->b = lower;
        n->point_a = gw_v3(i & 1 ? h.x : -h.x, i & 2 ? h.y : -h.y, -h.z);
        n->point_b = gw_v3(0, 0, h.z);
        n->kind = GW_NORMAL_IN_B;
        n->normal = up;
    }
}

/* ---- friction ------------------------------------------------------------------------------- */

static double slide(gw_friction_rule rule, double v, double mu, arena *a)
{
    arena_open(a, (gw_contact_rules){.friction = rule});
    a->gravity = gw_v3(0, 0, -9.81);
    int m = arena_box(a, 1, half, gw_v3(0, 0, half.z));
    box_on_ground(a, m, half, surface(0, mu));
    arena_start(a);
    for (int i = 0; i < 1000; i++) /* let it settle */
        arena_step(a);
    gw_twist twist = {{v, 0, 0}, {0, 0, 0}};
    gw_guided_set_twist(&a->body[m], &twist);
    double from = a->body[m].pose.p.x;
    for (int i = 0; i < 4000; i++)
        arena_step(a);
    return a->body[m].pose.p.x - from;
}

static void a_sliding_block_stops_where_coulombs_law_says(void **state)
{
    (void)state;
    static arena a;
    for (int i = 0; i < 4; i++) {
        double v = i & 1 ? 1 : 0.3, mu = i & 2 ? 0.6 : 0.2, far = v * v / (2 * mu * 9.81);
        double crept = slide(GW_FRICTION_CREEP, v, mu, &a);
        print_message("v %g mu %g: %.6f m, creep %+.2e, generated %.1e", v, mu, far, crept - far,
                      a.generated);
        assert_true(a.worst <= 1e-12);
        arena_close(&a);
        double stuck = slide(GW_FRICTION_STICK, v, mu, &a);
        print_message(", stick %+.2e m, generated %.1e\n", stuck - far, a.generated);
        assert_true(a.worst <= 1e-12);
        arena_close(&a);
        assert_true(fabs(crept - far) <= 4e-5);
        /* the grip's spring takes it back by mu F_n / k */
        assert_true(fabs(stuck - far) <= 1.2e-4 * mu + 1e-6);
    }
}

/* Gravity turned instead of the ground. */
static double on_a_slope(gw_friction_rule rule, double angle, double mu, double seconds, arena *a)
{
    arena_open(a, (gw_contact_rules){.friction = rule});
    a->gravity = gw_v3(9.81 * sin(angle), 0, -9.81 * cos(angle));
    int m = arena_box(a, 1, half, gw_v3(0, 0, half.z));
    box_on_ground(a, m, half, surface(0, mu));
    arena_start(a);
    for (int i = 0; i < 500; i++)
        arena_step(a);
    double from = a->body[m].pose.p.x;
    for (int i = 0; i < (int)(seconds * 1000); i++)
        arena_step(a);
    return a->body[m].pose.p.x - from;
}

static void a_sticking_box_stays_on_a_slope(void **state)
{
    (void)state;
    static arena a;
    double held = on_a_slope(GW_FRICTION_STICK, 0.3, 0.5, 10, &a);
    print_message("in 10 s on a slope of 0.3 rad, mu 0.5: %.2e m, generated %.1e J", held,
                  a.generated);
    assert_true(fabs(held) < 1e-7);
    assert_true(a.worst <= 1e-12);
    arena_close(&a);
    double crept = on_a_slope(GW_FRICTION_CREEP, 0.3, 0.5, 10, &a);
    print_message("; creeping %.2e m\n", crept);
    assert_true(crept > 1e-4 && crept < 0.05);
    arena_close(&a);
    /* steeper than the grip: slides with g (sin - mu cos) */
    double slid = on_a_slope(GW_FRICTION_STICK, 0.6, 0.5, 1, &a);
    double g = 9.81 * (sin(0.6) - 0.5 * cos(0.6)), want = 0.5 * g * (1.5 * 1.5 - 0.25);
    print_message("slope of 0.6 rad: %.5f m in a second, Coulomb %.5f\n", slid, want);
    assert_true(fabs(slid / want - 1) < 0.01);
    arena_close(&a);
}

/* A solid ball rolls down with 5/7 of g sin, under either rule. */
static void a_ball_rolls_down_a_slope(void **state)
{
    (void)state;
    static arena a;
    for (int rule = 0; rule < 2; rule++) {
        arena_open(&a,
                   (gw_contact_rules){.friction = rule ? GW_FRICTION_STICK : GW_FRICTION_CREEP});
        a.gravity = gw_v3(9.81 * sin(0.2), 0, -9.81 * cos(0.2));
        int m = arena_ball(&a, 1, 0.05, gw_v3(0, 0, 0.05), gw_v3(0, 0, 0));
        arena_over_plane(&a, m, gw_v3(0, 0, 0), 0.05, gw_v3(0, 0, 0), up, surface(0, 0.5));
        arena_start(&a);
        for (int i = 0; i < 2000; i++)
            arena_step(&a);
        double want = 0.5 * 5. / 7 * 9.81 * sin(0.2) * 4, far = a.body[m].pose.p.x;
        print_message("rolled %.5f m in 2 s, %.5f is right; slip %.1e m/s\n", far, want,
                      a.body[m].twist.v.x - 0.05 * a.body[m].twist.w.y);
        assert_true(fabs(far / want - 1) < 5e-3);
        assert_true(a.worst <= 1e-12);
        arena_close(&a);
    }
}

/* ---- stacks --------------------------------------------------------------------------------- */

static void three_boxes_stand(void **state)
{
    (void)state;
    static arena a;
    for (int rule = 0; rule < 2; rule++) {
        arena_open(&a,
                   (gw_contact_rules){.friction = rule ? GW_FRICTION_STICK : GW_FRICTION_CREEP});
        a.gravity = gw_v3(0, 0, -9.81);
        for (int i = 0; i < 3; i++)
            arena_box(&a, 1, half, gw_v3(0, 0, half.z + 2 * i * half.z + 1e-4 * i));
        box_on_ground(&a, 0, half, surface(0.2, 0.5));
        box_on_box(&a, 1, 0, half, surface(0.2, 0.5));
        box_on_box(&a, 2, 1, half, surface(0.2, 0.5));
        arena_start(&a);
        for (int i = 0; i < 10000; i++)
            arena_step(&a);
        print_message("after 10 s: generated %.1e J, dissipated %.3g J, worst %.1e J\n",
                      a.generated, a.dissipated, a.worst);
        for (int i = 0; i < 3; i++) {
            gw_vec3 p = a.body[i].pose.p;
            print_message("  box %d: down %.3g mm, aside %.1e m, %.1e m/s, %.1e rad/s\n", i,
                          1e3 * (half.z * (2 * i + 1) - p.z), hypot(p.x, p.y),
                          gw_norm(a.body[i].twist.v), gw_norm(a.body[i].twist.w));
            assert_true(fabs(p.z - half.z * (2 * i + 1)) < 2e-3);
            assert_true(hypot(p.x, p.y) < 1e-5);
            assert_true(gw_norm(a.body[i].twist.v) < 1e-6);
        }
        assert_true(a.worst <= 1e-12);
        arena_close(&a);
    }
}

/* Boxes set down touching, nothing pressed yet: the corners of each share what holds it. */
static void a_tower_comes_to_rest(void **state)
{
    (void)state;
    static arena a;
    const gw_vec3 flat = {0.05, 0.05, 0.025};
    gw_contact_material wood = {
        .restitution = 0.5, .friction = 0.5, .stiffness = 1e4, .damping = 25};
    arena_open(&a, (gw_contact_rules){.friction = GW_FRICTION_STICK});
    a.gravity = gw_v3(0, 0, -9.81);
    for (int i = 0; i < 8; i++)
        arena_box(&a, 0.5, flat, gw_v3(0, 0, flat.z * (2 * i + 1)));
    box_on_ground(&a, 0, flat, wood);
    for (int i = 1; i < 8; i++)
        box_on_box(&a, i, i - 1, flat, wood);
    arena_start(&a);
    for (int i = 0; i < 6000; i++)
        arena_step(&a);
    double v = 0, w = 0, aside = 0;
    for (int i = 0; i < 8; i++) {
        v = fmax(v, gw_norm(a.body[i].twist.v));
        w = fmax(w, gw_norm(a.body[i].twist.w));
        aside = fmax(aside, hypot(a.body[i].pose.p.x, a.body[i].pose.p.y));
    }
    print_message("a tower of eight after 6 s: %.1e m/s, %.1e rad/s, %.1e m aside\n", v, w, aside);
    assert_true(v < 1e-3 && w < 5e-3 && aside < 1e-3);
    assert_true(a.worst <= 1e-12);
    arena_close(&a);
}

/* Found deep in and on its way, it would hop by less than it falls in a tick, and sink with every
 * one. */
static void a_body_that_collides_in_every_step_comes_to_rest(void **state)
{
    (void)state;
    static arena a;
    arena_open(&a, (gw_contact_rules){0});
    a.gravity = gw_v3(0, 0, -9.81);
    int m = arena_box(&a, 1, half, gw_v3(0, 0, half.z - 3e-3));
    box_on_ground(&a, m, half, surface(0.5, 0.3));
    arena_start(&a);
    gw_twist twist = {{0, 0, -6.5e-3}, {0, 0, 0}};
    gw_guided_set_twist(&a.body[m], &twist);
    for (int i = 0; i < 4000; i++)
        arena_step(&a);
    print_message("found 3 mm deep, %.3f mm after 4 s\n", 1e3 * (half.z - a.body[m].pose.p.z));
    assert_true(half.z - a.body[m].pose.p.z < 3.2e-3);
    assert_true(fabs(a.body[m].twist.v.z) < 1e-6);
    assert_true(a.worst <= 1e-12);
    arena_close(&a);
}

/* 100 kg on a surface that would give 10 cm bottoms out, and neither sinks nor buzzes. */
static void a_heavy_ball_rests_on_a_soft_surface(void **state)
{
    (void)state;
    static arena a;
    gw_contact_material wood = {
        .restitution = 0.5, .friction = 0.3, .stiffness = 1e4, .damping = 25};
    for (int fell = 0; fell < 2; fell++) {
        arena_open(&a, (gw_contact_rules){0});
        a.gravity = gw_v3(0, 0, -9.81);
        int m = arena_ball(&a, 100, 0.05, gw_v3(0, 0, 0.05 + 0.2 * fell), gw_v3(0, 0, 0));
        arena_over_plane(&a, m, gw_v3(0, 0, 0), 0.05, gw_v3(0, 0, 0), up, wood);
        arena_start(&a);
        double deepest = 0;
        for (int i = 0; i < 4000; i++) {
            arena_step(&a);
            deepest = fmax(deepest, 0.05 - a.body[m].pose.p.z);
        }
        print_message("100 kg on 10 N/mm: %.2f mm deep, %.2f at rest, %.1e m/s\n", 1e3 * deepest,
                      1e3 * (0.05 - a.body[m].pose.p.z), a.body[m].twist.v.z);
        assert_true(deepest < 2.5e-3);
        assert_true(fabs(a.body[m].twist.v.z) < 1e-9);
        assert_true(a.worst <= 1e-12);
        arena_close(&a);
    }
}

/* ---- what it tells -------------------------------------------------------------------------- */

static gw_wrench press(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    (void)t, (void)held, (void)twist;
    return (gw_wrench){*(const gw_vec3 *)context, {0, 0, 0}};
}

static void contact_forces_balance_the_load(void **state)
{
    (void)state;
    static arena a;
    gw_vec3 push = {1, 0, -5};
    arena_open(&a, (gw_contact_rules){.friction = GW_FRICTION_STICK});
    int m = arena_box(&a, 1, half, gw_v3(0, 0, half.z));
    box_on_ground(&a, m, half, surface(0, 0.5));
    a.system[m].hand = (gw_forces){.at = press, .context = &push};
    arena_start(&a);
    for (int i = 0; i < 3000; i++)
        arena_step(&a);
    gw_contact_data at[8];
    int count = gw_world_contacts(a.world, at, 8);
    assert_int_equal(count, 4);
    gw_vec3 sum = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        assert_int_equal(at[i].state, GW_CONTACT_CONTINUOUS);
        assert_true(gw_distance(at[i].normal, up) < 1e-5);
        sum = gw_add(sum, at[i].force);
    }
    print_message("forces add up to %.9f %.9f %.9f\n", sum.x, sum.y, sum.z);
    assert_true(gw_distance(sum, gw_neg(push)) < 1e-6);
    assert_int_equal(a.last.touching, 4);
    arena_close(&a);
}

/* A body that is put deep into the ground is let go, not thrown. */
static void overlapping_bodies_are_not_thrown_apart(void **state)
{
    (void)state;
    static arena a;
    arena_open(&a, (gw_contact_rules){0});
    int m = arena_ball(&a, 1, 0.05, gw_v3(0, 0, 0.03), gw_v3(0, 0, 0));
    arena_over_plane(&a, m, gw_v3(0, 0, 0), 0.05, gw_v3(0, 0, 0), up, surface(1, 0));
    arena_start(&a);
    for (int i = 0; i < 100; i++)
        arena_step(&a);
    assert_true(gw_norm(a.body[m].twist.v) < 1e-12);
    gw_vec3 push = {0, 0, -5};
    a.system[m].hand = (gw_forces){.at = press, .context = &push};
    for (int i = 0; i < 1000; i++)
        arena_step(&a);
    assert_true(a.body[m].pose.p.z > 0.0299);
    assert_true(a.worst <= 1e-12);
    arena_close(&a);
}

/* A hand presses a heavy ball on a light one, or a light one itself: the light one bears little
 * stiffness, yet it is not pressed through. */
static void light_bodies_do_not_pass_through_their_springs(void **state)
{
    (void)state;
    static arena a;
    static const double masses[][2] = {{2, 0.1}, {2, 0.02}, {2, 0.002}, {0.02, 2}};
    for (int i = 0; i < 4; i++) {
        gw_vec3 push = {0, 0, -20};
        double deep = 0;
        arena_open(&a, (gw_contact_rules){0});
        arena_ball(&a, masses[i][0], 0.03, gw_v3(0, 0, 0.055), gw_v3(0, 0, 0));
        arena_ball(&a, masses[i][1], 0.01, gw_v3(0, 0, 0.01), gw_v3(0, 0, 0));
        arena_balls(&a, 0, 0.03, 1, 0.01, surface(0.3, 0.3));
        arena_over_plane(&a, 1, gw_v3(0, 0, 0), 0.01, gw_v3(0, 0, 0), up, surface(0.3, 0.3));
        a.system[0].hand = (gw_forces){.at = press, .context = &push};
        arena_start(&a);
        for (int k = 0; k < 5000; k++) {
            arena_step(&a);
            deep = fmax(deep, 0.01 - a.body[1].pose.p.z);
            deep = fmax(deep, 0.04 - gw_distance(a.body[0].pose.p, a.body[1].pose.p));
        }
        print_message("20 N on %g kg on %g kg: %.2f mm deep\n", masses[i][0], masses[i][1],
                      1e3 * deep);
        assert_true(deep < 4e-3);
        assert_true(a.worst <= 1e-12);
        arena_close(&a);
    }
}

/* A table that rises and falls carries a box; its work is told. */
static void external_work_is_that_of_the_moved_body(void **state)
{
    (void)state;
    static arena a;
    arena_open(&a, (gw_contact_rules){0});
    a.gravity = gw_v3(0, 0, -9.81);
    int m = arena_box(&a, 1, half, gw_v3(0, 0, half.z));
    box_on_ground(&a, m, half, surface(0, 0.5));
    arena_start(&a);
    gw_pose table = gw_pose_identity();
    for (int i = 0; i < 4000; i++) {
        double t = 1e-3 * i, z = 0.01 * (1 - cos(2 * GW_PI * t));
        gw_twist twist = {{0, 0, (z - table.p.z) / 1e-3}, {0, 0, 0}};
        table.p.z = z;
        gw_world_set_body(a.world, ground(&a), &table, &twist);
        arena_step(&a);
        if (i % 1000 == 500) { /* up: the table has lifted it */
            print_message("lifted by %.5f J, %.5f are right\n", a.external_work, 9.81 * 0.02);
            assert_true(fabs(a.external_work - 9.81 * 0.02) < 1e-3);
        }
        assert_true(fabs(a.body[m].pose.p.z - half.z - z) < 5e-4);
    }
    print_message("after four times up and down: %.2e J of work, %.2e J dissipated\n",
                  a.external_work, a.dissipated);
    assert_true(fabs(a.external_work) < 3e-3);
    assert_true(a.worst <= 1e-9);
    arena_close(&a);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_sliding_block_stops_where_coulombs_law_says),
        cmocka_unit_test(a_sticking_box_stays_on_a_slope),
        cmocka_unit_test(a_ball_rolls_down_a_slope),
        cmocka_unit_test(three_boxes_stand),
        cmocka_unit_test(a_tower_comes_to_rest),
        cmocka_unit_test(a_heavy_ball_rests_on_a_soft_surface),
        cmocka_unit_test(a_body_that_collides_in_every_step_comes_to_rest),
        cmocka_unit_test(contact_forces_balance_the_load),
        cmocka_unit_test(overlapping_bodies_are_not_thrown_apart),
        cmocka_unit_test(light_bodies_do_not_pass_through_their_springs),
        cmocka_unit_test(external_work_is_that_of_the_moved_body),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
