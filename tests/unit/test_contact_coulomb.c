/*
 * Sliding, rolling and rest by Coulomb's law in a scene that only turns contacts on, against closed
 * forms of rigid bodies.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/unit/free_fixture.h"

#define G 9.81

/* A floor whose face is z = 0 of a frame that is turned about y by `slope`. */
static gw_scene *floor_scene(double slope, double mu)
{
    gw_scene *s = new_scene();
    s->gravity = gw_v3(0, 0, -G);
    s->contact.enabled = true;
    gw_quat turned = gw_quat_exp(gw_v3(0, slope, 0));
    gw_object *floor = add_box(s, "floor", gw_rotate(turned, gw_v3(0, 0, -0.05)), true);
    floor->pose.q = turned;
    floor->shape.size = gw_v3(40, 4, 0.1);
    if (mu > 0) {
        gw_material *m = gw_scene_add_material(s, NULL);
        assert_non_null(m);
        strcpy(m->id, "m");
        m->surface.friction = mu;
        strcpy(floor->material, "m");
    }
    return s;
}

/* A box of so many kg on it, its underside `up` above the floor, at a speed down the slope. */
static void lay(gw_scene *s, const char *id, gw_vec3 size, double mass, double up, double speed)
{
    gw_quat turned = s->objects[0].pose.q;
    gw_object *o = add_box(s, id, gw_rotate(turned, gw_v3(0, 0, up + 0.5 * size.z)), false);
    o->pose.q = turned;
    o->shape.size = size;
    o->free = true;
    o->body = (gw_body){.source = GW_MASS_GIVEN, .mass = mass};
    o->velocity = gw_rotate(turned, gw_v3(speed, 0, 0));
    strcpy(o->material, s->objects[0].material);
}

static double along(const gw_scene *s, gw_vec3 p)
{
    return gw_unrotate(s->objects[0].pose.q, p).x;
}

/* Ticks; the energy balance stays closed. */
static const gw_snapshot *run_for(running *r, double seconds)
{
    const gw_snapshot *now = NULL;
    double worst = 0;
    for (int i = 0; i <= (int)lround(seconds * r->scene->rate); i++) {
        now = running_tick(r);
        worst = fmax(worst, fabs(energy_error(now)) / fmax(1, now->energy.initial));
    }
    assert_true(worst < 1e-9);
    return now;
}

static void blocks_stop_after_their_way(void **state)
{
    (void)state;
    static const gw_vec3 sizes[] = {{0.1, 0.1, 0.1}, {0.3, 0.2, 0.05}, {0.06, 0.06, 0.03}};
    static const double masses[] = {0.05, 0.5, 5, 20};
    for (int k = 0; k < 3; k++)
        for (int m = 0; m < 4; m++)
            for (int i = 0; i < 4; i++) {
                running r;
                double v = i & 1 ? 1 : 3, mu = i & 2 ? 0.15 : 0.3, way = v * v / (2 * mu * G);
                gw_scene *s = floor_scene(0, mu);
                if (mu == 0.3) { /* the plain material's */
                    gw_scene_destroy(s);
                    s = floor_scene(0, 0);
                }
                lay(s, "block", sizes[k], masses[m], 0, v);
                running_open(&r, s);
                const gw_snapshot *now = run_for(&r, v / (mu * G) + 0.3);
                double x = body(now, &r, "block")->pose.p.x;
                print_message("%g kg, %g high, mu %g, %g m/s: %.6f m of %.6f (%+.1e)\n", masses[m],
                              sizes[k].z, mu, v, x, way, x / way - 1);
                /* friction at its lower face tilts it: what is left is its middle's way back */
                assert_true(fabs(x / way - 1) < 4e-4 && fabs(x - way) < 5e-5);
                assert_true(gw_norm(body(now, &r, "block")->twist.v) < 1e-6);
                running_close(&r);
            }
}

static void blocks_on_slopes_hold_or_slide(void **state)
{
    (void)state;
    static const double parts[] = {0.5, 0.9, 0.99, 1.01, 1.1, 1.5};
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < 6; i++) {
            running r;
            double mu = k & 1 ? 0.5 : 0.2, slope = atan(mu * parts[i]), t = 1;
            gw_scene *s = floor_scene(slope, mu);
            lay(s, "block", gw_v3(0.1, 0.1, 0.06), k & 2 ? 5 : 0.1, 0, 0);
            running_open(&r, s);
            double x = along(s, body(run_for(&r, t), &r, "block")->pose.p);
            double way = parts[i] < 1 ? 0 : 0.5 * G * (sin(slope) - mu * cos(slope)) * t * t;
            print_message("mu %g, tan(slope) / mu %g: %.8f m of %.8f\n", mu, parts[i], x, way);
            assert_true(parts[i] < 1 ? fabs(x) < 3e-6 : fabs(x - way) < 4e-5);
            assert_true(parts[i] < 1.1 || fabs(x / way - 1) < 1e-4);
            running_close(&r);
        }
}

/* 2/7 of the speed is lost, after 2 v / (7 mu g). */
static void balls_begin_to_roll(void **state)
{
    (void)state;
    static const double radii[] = {0.01, 0.05, 0.2};
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++) {
            running r;
            double v = i & 1 ? 1 : 0.4, mu = i & 2 ? 0.1 : 0.3, t = 2 * v / (7 * mu * G), end = 1;
            gw_scene *s = floor_scene(0, mu);
            lay(s, "ball", gw_v3(2 * radii[k], 2 * radii[k], 2 * radii[k]), 0.5, 0, v);
            s->objects[1].shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = radii[k]};
            running_open(&r, s);
            const gw_free_body *b = body(run_for(&r, end), &r, "ball");
            double way = v * t - 0.5 * mu * G * t * t + 5.0 / 7 * v * (end - t);
            double slip = b->twist.v.x - b->twist.w.y * radii[k];
            print_message("radius %g, mu %g, %g m/s: %.6f m of %.6f, slip %.1e m/s\n", radii[k], mu,
                          v, b->pose.p.x, way, slip);
            assert_true(fabs(b->pose.p.x / way - 1) < 5e-5);
            assert_true(fabs(b->twist.v.x / v - 5.0 / 7) < 1e-7 && fabs(slip) < 1e-7);
            running_close(&r);
        }
}

/* A ball on a slope rolls with 5/7 of g sin where friction bears 2/7 of it, else it slips. */
static void balls_roll_or_slip_down_slopes(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        running r;
        double slope = 0.4, mu = i ? 0.05 : 0.3, t = 1;
        gw_scene *s = floor_scene(slope, mu);
        lay(s, "ball", gw_v3(0.1, 0.1, 0.1), 2, 0, 0);
        s->objects[1].shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.05};
        running_open(&r, s);
        double x = along(s, body(run_for(&r, t), &r, "ball")->pose.p);
        double a = i ? G * (sin(slope) - mu * cos(slope)) : 5.0 / 7 * G * sin(slope);
        print_message("down a slope, mu %g: %.7f m of %.7f\n", mu, x, 0.5 * a * t * t);
        assert_true(fabs(x / (0.5 * a * t * t) - 1) < 2e-5);
        running_close(&r);
    }
}

/* A block thrown along on a plank: mu (m + M) g holds the plank, so it stops like on the floor. On
 * smooth ground, of geometric means, they end with the momentum. */
static void blocks_slide_on_others(void **state)
{
    (void)state;
    const double v = 0.8, mu = 0.3;
    running r;
    gw_scene *s = floor_scene(0, 0);
    lay(s, "plank", gw_v3(1, 0.2, 0.04), 2, 0, 0);
    lay(s, "block", gw_v3(0.08, 0.08, 0.04), 1, 0.04, v);
    running_open(&r, s);
    const gw_snapshot *now = run_for(&r, 0.6);
    double x = body(now, &r, "block")->pose.p.x, moved = body(now, &r, "plank")->pose.p.x;
    print_message("on a plank that stays: %.7f m of %.7f, it %.1e\n", x, v * v / (2 * mu * G),
                  moved);
    assert_true(fabs(x * 2 * mu * G / (v * v) - 1) < 1e-3 && fabs(moved) < 1e-5);
    running_close(&r);

    s = floor_scene(0, 1e-12);
    lay(s, "plank", gw_v3(1, 0.2, 0.04), 2, 0, 0);
    lay(s, "block", gw_v3(0.08, 0.08, 0.04), 1, 0.04, v);
    gw_material *m = gw_scene_add_material(s, NULL);
    assert_non_null(m);
    strcpy(m->id, "rough");
    m->surface.friction = mu;
    strcpy(s->objects[1].material, "rough");
    strcpy(s->objects[2].material, "rough");
    running_open(&r, s);
    now = run_for(&r, 0.6);
    double left = body(now, &r, "block")->twist.v.x, end = v / 3;
    double apart = body(now, &r, "block")->pose.p.x - body(now, &r, "plank")->pose.p.x;
    /* (two that move see one another a step behind as they come to stick.) v^2 / 2 of what moves,
     * 2/3 kg, is lost over that way by mu m g */
    double way = 0.5 * v * v * (2.0 / 3) / (mu * G);
    print_message("on one that is free: %.7f m/s of %.7f, %.7f m of %.7f\n", left, end, apart, way);
    assert_true(fabs(left / end - 1) < 2e-3 && fabs(apart / way - 1) < 1e-3);
    running_close(&r);
}

/* Bodies that rest from the start neither sink nor slide off: friction between four is found to a
 * part of its springs' way. */
static void piles_stay_where_they_are_put(void **state)
{
    (void)state;
    running r;
    gw_scene *s = floor_scene(0.2, 0.4);
    for (int i = 0; i < 4; i++) {
        char id[16];
        snprintf(id, sizeof id, "b%d", i);
        lay(s, id, gw_v3(0.1, 0.1, 0.03), i == 2 ? 10 : 1, 0.03 * i, 0);
    }
    running_open(&r, s);
    const gw_snapshot *now = run_for(&r, 3);
    double most = 0;
    for (int i = 0; i < 4; i++)
        most = fmax(most, gw_distance(now->free[i].pose.p, s->objects[1 + i].pose.p));
    print_message("a pile on a slope moved by %.2e m\n", most);
    assert_true(most < 1e-3);
    running_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_stop_after_their_way),
        cmocka_unit_test(blocks_on_slopes_hold_or_slide),
        cmocka_unit_test(balls_begin_to_roll),
        cmocka_unit_test(balls_roll_or_slip_down_slopes),
        cmocka_unit_test(blocks_slide_on_others),
        cmocka_unit_test(piles_stay_where_they_are_put),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
