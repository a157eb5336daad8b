/*
 * Unilateral contacts of free-form surfaces: what rolls or slides on them lifts off, flies, meets
 * them again wherever they are, bounces, and falls off their edges; against closed forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/geometry/nurbs_nearest.h"
#include "tests/unit/unilateral_fixture.h"

/* A solid ball, whatever it is written as. */
static gw_object *add_ball_of(gw_scene *s, gw_shape shape, double radius, gw_vec3 at)
{
    gw_object *o = add_solid(s, "ball", shape, at, 1);
    double i = 0.4 * radius * radius;
    const double solid[6] = {i, i, i, 0, 0, 0};
    o->body.has_inertia = true;
    memcpy(o->body.inertia, solid, sizeof solid);
    return o;
}

static gw_shape sphere(double radius, bool free_form)
{
    if (!free_form)
        return (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = radius};
    return (gw_shape){.kind = GW_SHAPE_NURBS_SURFACE,
                      .nurbs = gw_nurbs_ellipsoid(gw_v3(radius, radius, radius), NULL)};
}

/* z = c x^2 over |x| <= half, |y| <= width. */
static gw_shape trough(double half, double width, double c)
{
    static const double knots[2][6] = {{0, 0, 0, 1, 1, 1}, {0, 0, 1, 1}};
    double high = c * half * half;
    gw_vec3 points[6];
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 2; k++)
            points[2 * i + k] = gw_v3(half * (i - 1), width * (2 * k - 1), i == 1 ? -high : high);
    gw_nurbs_def def = {.dimension = 2,
                        .degree = {2, 1},
                        .count = {3, 2},
                        .knot_count = {6, 4},
                        .knots = {knots[0], knots[1]},
                        .points = points};
    return (gw_shape){.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_create(&def, NULL)};
}

static gw_scene *weighty(int rate)
{
    gw_scene *s = new_scene();
    s->gravity = gw_v3(0, 0, -G);
    s->rate = rate;
    return s;
}

static gw_scene_constraint *touches(gw_scene *s, gw_constraint_kind kind, const char *a,
                                    const char *b)
{
    gw_scene_constraint *c = join(s, "touches", kind, a, "surface", b, "surface");
    c->unilateral = GW_CONTACT_UNILATERAL;
    return c;
}

/* ---- lift-off ------------------------------------------------------------------------------- */

/* Distance in z from the parabola of what leaves a circle of radius r about y at cos t = c, where
 * v^2 = g r c. */
static double off_parabola(gw_vec3 at, double r, double c)
{
    double s = sqrt(1 - c * c), v = sqrt(G * r * c), t = (at.x - r * s) / (v * c);
    return fabs(at.z - (r * c - v * s * t - 0.5 * G * t * t));
}

/* From rest near the top it leaves where the surface no longer pushes (test_unilateral_contacts.c):
 * cos t = 2 cos t0 / (3 + k). The force is linear in cos t, and that of a tick is the one at its
 * end, so the last two tell where it vanishes. */
static void a_ball_leaves_a_sphere(void **state)
{
    (void)state;
    static const struct {
        gw_constraint_kind kind;
        double leaves;
    } cases[] = {{GW_ROLLING, 10.0 / 17}, {GW_PURE_ROLLING, 10.0 / 17}, {GW_SLIDING, 2.0 / 3}};
    for (int n = 0; n < 12; n++) {
        const double start = 0.05, apart = 1.1;
        bool big_bends = n / 3 & 1, ball_bends = n / 6 & 1;
        gw_constraint_kind kind = cases[n % 3].kind;
        gw_scene *s = weighty(1000);
        running r;
        double worst = 0, slip = 0, off = 0, force[2] = {0, 0}, at[2] = {0, 0};
        add_solid(s, "big", sphere(1, big_bends), gw_v3(0, 0, 0), 0);
        add_ball_of(s, sphere(0.1, ball_bends), 0.1,
                    gw_v3(apart * sin(start), 0, apart * cos(start)));
        touches(s, kind, "ball", "big");
        running_open(&r, s);
        for (int i = 0; i < 2500; i++) {
            const gw_snapshot *now = running_tick(&r);
            const gw_free_body *b = body(now, &r, "ball");
            gw_vec3 up = gw_unit(b->pose.p);
            worst = fmax(worst, fabs(energy_error(now)));
            if (force_of(now) == 0 && i > 0)
                break;
            off = fmax(off, fabs(gw_norm(b->pose.p) - apart));
            slip = fmax(slip, fabs(b->twist.v.x * up.z - b->twist.v.z * up.x - 0.1 * b->twist.w.y));
            force[0] = force[1], at[0] = at[1];
            force[1] = force_of(now), at[1] = up.z;
        }
        double left = at[1] - force[1] * (at[1] - at[0]) / (force[1] - force[0]);
        print_message("%s, %s on %s: leaves at cos %.8f of its start's, %.8f expected; slip %.2g "
                      "m/s, off by %.2g m, energy by %.2g J\n",
                      gw_any_constraint_name(kind), ball_bends ? "NURBS" : "sphere",
                      big_bends ? "NURBS" : "sphere", left / cos(start), cases[n % 3].leaves, slip,
                      off, worst);
        assert_true(fabs(left / cos(start) - cases[n % 3].leaves) < 1e-9);
        assert_true(kind == GW_SLIDING || slip < 1e-10);
        assert_true(worst < 1e-9 && off < 1e-12);
        for (int i = 0; i < 50; i++)
            running_tick(&r);
        double beside = off_parabola(body(running_tick(&r), &r, "ball")->pose.p, apart,
                                     cases[n % 3].leaves * cos(start));
        print_message("    then flies %.2g m beside the parabola\n", beside);
        assert_true(beside < 1e-9);
        running_close(&r);
    }
}

/* ---- flight --------------------------------------------------------------------------------- */

static void make_bouncy(gw_scene *s, double restitution)
{
    gw_material *m = gw_scene_add_material(s, NULL);
    strcpy(m->id, "rubber");
    m->surface.restitution = restitution;
    strcpy(s->objects[s->object_count - 1].material, "rubber");
}

/* Each height is e^2 of the one before, at every bounce on the same spot. */
static void a_ball_bounces_on_a_trough(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        gw_scene *s = weighty(1000);
        running r;
        const double drop = 0.3, e = 0.8;
        double high = 0, expected = drop, last = -1;
        int bounces = 0;
        add_solid(s, "trough", trough(0.5, 0.5, 0.5), gw_v3(0, 0, 0), 0);
        add_ball_of(s, sphere(0.1, k == 1), 0.1, gw_v3(0, 0, 0.1 + drop));
        make_bouncy(s, e);
        touches(s, GW_SLIDING, "ball", "trough");
        running_open(&r, s);
        for (int i = 0; i < 1400; i++) {
            const gw_snapshot *now = running_tick(&r);
            const gw_free_body *b = body(now, &r, "ball");
            double v = b->twist.v.z, top = b->pose.p.z - 0.1 + v * v / (2 * G);
            if (last < -0.1 && v > 0.1) {
                expected *= e * e;
                bounces++;
                high = fmax(high, fabs(top - expected));
            }
            last = v;
            assert_true(b->pose.p.z > 0.1 - 1e-9 && fabs(energy_error(now)) < 1e-9);
        }
        print_message("%d bounces: heights off by %.2g m\n", bounces, high);
        assert_true(bounces >= 3 && high < 1e-9);
        running_close(&r);
    }
}

/* Thrown across a trough, it meets the slope elsewhere, and slides on in it. */
static void a_thrown_ball_meets_the_slope(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        gw_scene *s = weighty(1000);
        running r;
        add_solid(s, "trough", trough(1, 0.5, 0.5), gw_v3(0, 0, 0), 0);
        add_ball_of(s, sphere(0.1, k == 1), 0.1, gw_v3(-0.8, 0, 0.8))->velocity = gw_v3(3, 0, 0);
        touches(s, GW_ROLLING, "ball", "trough");
        running_open(&r, s);
        double deepest = 0, pressed = 0;
        for (int i = 0; i < 3000; i++) {
            const gw_snapshot *now = running_tick(&r);
            const gw_free_body *b = body(now, &r, "ball");
            gw_nurbs_nearest nearest;
            gw_nurbs_nearest_point(s->objects[0].shape.nurbs, b->pose.p, &nearest);
            deepest = fmax(deepest, 0.1 - nearest.distance);
            pressed += force_of(now) * 1e-3;
            assert_true(fabs(energy_error(now)) < 1e-9);
        }
        print_message("a thrown ball: %.2g m deep, pressed with %.3g N s\n", deepest, pressed);
        assert_true(deepest < 1e-6 && pressed > 10);
        running_close(&r);
    }
}

/* Past the end nothing bears it: it falls as it flies. */
static void a_ball_falls_off_the_edge(void **state)
{
    (void)state;
    gw_scene *s = weighty(1000);
    running r;
    add_solid(s, "table", trough(0.3, 0.3, 0), gw_v3(0, 0, 0), 0);
    add_ball_of(s, sphere(0.05, false), 0.05, gw_v3(0, 0, 0.05))->velocity = gw_v3(1, 0, 0);
    s->objects[1].spin = gw_v3(0, 20, 0);
    touches(s, GW_ROLLING, "ball", "table");
    running_open(&r, s);
    double off = 0, left = 0;
    for (int i = 0; i < 700; i++) {
        const gw_snapshot *now = running_tick(&r);
        const gw_free_body *b = body(now, &r, "ball");
        double t = now->time, fallen = t > left && left > 0 ? 0.5 * G * (t - left) * (t - left) : 0;
        if (!left && b->pose.p.x > 0.3)
            left = t - (b->pose.p.x - 0.3);
        else if (left > 0)
            off = fmax(off, fabs(0.05 - fallen - b->pose.p.z));
        assert_true(fabs(b->twist.v.x - 1) < 1e-9 && fabs(energy_error(now)) < 1e-9);
    }
    print_message("falls off the edge at %.4f s, %.2g m off the parabola\n", left, off);
    assert_true(fabs(left - 0.3) < 1e-9 && off < 1e-9);
    running_close(&r);
}

/* Where the bottom bends more than the ball it lies on both sides: with z = c x^2 its centre is at
 * r^2 c + 1 / (4 c). */
static void a_ball_lies_on_both_sides_of_a_groove(void **state)
{
    (void)state;
    const double c = 10;
    gw_scene *s = weighty(1000);
    running r;
    add_solid(s, "groove", trough(0.2, 0.3, c), gw_v3(0, 0, 0), 0);
    add_ball_of(s, sphere(0.1, false), 0.1, gw_v3(0.01, 0, 0.3));
    touches(s, GW_ROLLING, "ball", "groove");
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 2000; i++) {
        now = running_tick(&r);
        assert_true(fabs(energy_error(now)) < 1e-9);
    }
    const gw_free_body *b = body(now, &r, "ball");
    print_message("in a groove: %d contacts, %.2g m off\n", now->contact_count,
                  fabs(b->pose.p.z - (0.01 * c + 0.25 / c)));
    assert_int_equal(now->contact_count, 2);
    assert_true(fabs(b->pose.p.z - (0.01 * c + 0.25 / c)) < 1e-9);
    assert_true(gw_norm(b->twist.v) < 1e-6);
    running_close(&r);
}

/* ---- rolling -------------------------------------------------------------------------------- */

/* Of a solid ball in a trough (1 + k) v^2 / 2 + g z stays, k = 2/5 where it rolls, from rest high
 * on its side. What rolls stores some of it in the spring of its traction. */
static void a_marble_keeps_its_energy(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        gw_scene *s = weighty(1000);
        running r;
        const double c = 0.5, x = 0.5, share = k ? 1 : 1.4;
        gw_vec3 n = gw_unit(gw_v3(-2 * c * x, 0, 1));
        gw_vec3 at = gw_mul_add(gw_v3(x, 0, c * x * x), 0.1, n);
        add_solid(s, "trough", trough(1, 0.5, c), gw_v3(0, 0, 0), 0);
        add_ball_of(s, sphere(0.1, false), 0.1, at);
        touches(s, k ? GW_SLIDING : GW_ROLLING, "ball", "trough");
        running_open(&r, s);
        double off = 0, most = 0;
        for (int i = 0; i < 10000; i++) {
            const gw_snapshot *now = running_tick(&r);
            const gw_free_body *b = body(now, &r, "ball");
            double v2 = gw_norm2(b->twist.v), h = at.z - b->pose.p.z;
            off = fmax(off, fabs(0.5 * share * v2 - G * h));
            most = fmax(most, G * h);
            assert_true(fabs(energy_error(now)) < 1e-9);
        }
        print_message("a marble in a trough, %s: energy off by %.2g of itself in 10 s\n",
                      k ? "sliding" : "rolling", off / most);
        assert_true(off < (k ? 1e-6 : 5e-5) * most);
        running_close(&r);
    }
}

/* A ball that rolls round in a vertical tube bobs: z = -5 g / (2 W^2) (1 - cos(sqrt(2/7) W t)). */
static void a_ball_bobs_in_a_vertical_tube(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        gw_scene *s = weighty(1000);
        running r;
        const double tube = 0.5, radius = 0.1, turn = 10, way = tube - radius;
        gw_shape around = {.kind = GW_SHAPE_CYLINDER, .radius = tube, .height = 3};
        if (k == 1)
            around = (gw_shape){.kind = GW_SHAPE_NURBS_SURFACE,
                                .nurbs = gw_nurbs_cylinder(tube, 3, NULL)};
        add_solid(s, "tube", around, gw_v3(0, 0, 0), 0);
        gw_object *ball = add_ball_of(s, sphere(radius, false), radius, gw_v3(way, 0, 1));
        ball->velocity = gw_v3(0, turn * way, 0);
        ball->spin = gw_v3(0, 0, -turn * way / radius);
        touches(s, GW_ROLLING, "ball", "tube")->inside = true;
        running_open(&r, s);
        double off = 0;
        for (int i = 0; i < 3000; i++) {
            const gw_snapshot *now = running_tick(&r);
            const gw_free_body *b = body(now, &r, "ball");
            double z = 1 - 2.5 * G / (turn * turn) * (1 - cos(sqrt(2.0 / 7) * turn * now->time));
            off = fmax(off, fabs(b->pose.p.z - z));
            assert_true(fabs(energy_error(now)) < 1e-9);
        }
        print_message("a ball in a tube: %.2g m off its bobbing\n", off);
        assert_true(off < 1e-3);
        running_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ball_leaves_a_sphere),
        cmocka_unit_test(a_ball_bounces_on_a_trough),
        cmocka_unit_test(a_thrown_ball_meets_the_slope),
        cmocka_unit_test(a_ball_falls_off_the_edge),
        cmocka_unit_test(a_ball_lies_on_both_sides_of_a_groove),
        cmocka_unit_test(a_marble_keeps_its_energy),
        cmocka_unit_test(a_ball_bobs_in_a_vertical_tube),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
