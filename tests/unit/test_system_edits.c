/*
 * Systems of bodies on geometry that moves, and at edits: they ride along, nothing jumps, and the
 * energy balance closes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/sim/scenario_private.h"
#include "tests/unit/free_fixture.h"

#define DT 1e-3

static gw_pose ground_at(double t)
{
    return (gw_pose){{0.05 * sin(4 * t), 0.03 * sin(7 * t), 0.02 * t},
                     gw_quat_exp(gw_v3(0.1 * sin(3 * t), 0, 0.2 * sin(5 * t)))};
}

/* How far the bearings of the four-bar are from their pins, the ground being at `ground`. */
static double open_by(const running *r, const gw_snapshot *s, const gw_pose *ground, double right)
{
    const gw_pose *crank = &body(s, r, "crank")->pose, *rocker = &body(s, r, "rocker")->pose;
    gw_vec3 z = {0, 0, 1};
    double tilt = gw_norm(gw_sub(gw_rotate(crank->q, z), gw_rotate(ground->q, z)));
    double left = gw_distance(crank->p, ground->p);
    return fmax(fmax(left, tilt),
                gw_distance(rocker->p, gw_pose_point(ground, gw_v3(right, 0, 0))));
}

static void a_four_bar_rides_on_a_ground_that_is_streamed(void **state)
{
    (void)state;
    running r;
    double open = 0, worst = 0;
    running_open(&r, four_bar());
    const gw_snapshot *now = running_tick(&r);
    assert_true(open_by(&r, now, &(gw_pose){{0, 0, 0}, {1, 0, 0, 0}}, 0.3) < 1e-12);
    for (int i = 0; i < 1000; i++) {
        move_object(&r, "ground", ground_at(fmax(0, i - 2) * DT));
        gw_pose ground = gw_kinematics_pose(gw_simulation_scenario(r.simulation)->kinematics, 0);
        now = running_tick(&r); /* as it was before that */
        worst = fmax(worst, fabs(energy_error(now)));
        open = fmax(open, open_by(&r, now, &ground, 0.3));
    }
    gw_pose last = ground_at(997 * DT);
    for (int i = 0; i < 500; i++)
        now = running_tick(&r);
    print_message("bearings open by %.2g m, at the end %.2g m; energy balance off by %.2g J\n",
                  open, open_by(&r, now, &last, 0.3), worst);
    assert_true(open < 1e-12);
    assert_true(open_by(&r, now, &last, 0.3) < 1e-12);
    assert_true(worst < 1e-9);
    running_close(&r);
}

/* An edit that changes nothing, while the ground is on its way, changes nothing. */
static void an_edit_on_the_way_hits_nothing(void **state)
{
    (void)state;
    running r, beside;
    double off = 0, worst = 0;
    running_open(&r, four_bar());
    running_open(&beside, four_bar());
    for (int i = 0; i < 600; i++) {
        move_object(&r, "ground", ground_at(fmax(0, i - 2) * DT));
        move_object(&beside, "ground", ground_at(fmax(0, i - 2) * DT));
        const gw_snapshot *now = running_tick(&r), *other = running_tick(&beside);
        worst = fmax(worst, fabs(energy_error(now)));
        off = fmax(off, gw_distance(body(now, &r, "coupler")->pose.p,
                                    body(other, &beside, "coupler")->pose.p));
        if (i == 300)
            hand_over(&r, now, NULL);
    }
    print_message("off by %.2g m; energy balance off by %.2g J\n", off, worst);
    assert_true(off < 1e-4 && worst < 1e-9); /* the ground stands for a tick at the edit */
    running_close(&r);
    running_close(&beside);
}

/* The most that any body's origin went in a tick beyond its speed, and the largest speed. */
typedef struct watched {
    gw_vec3 p[3], v[3];
    double jump, speed, imbalance;
    bool any;
} watched;

static void watch(watched *w, const running *r, const gw_snapshot *s)
{
    static const char *const names[3] = {"crank", "coupler", "rocker"};
    for (int i = 0; i < 3; i++) {
        const gw_free_body *b = body(s, r, names[i]);
        gw_vec3 mean = gw_scale(0.5 * DT, gw_add(b->twist.v, w->v[i]));
        if (w->any)
            w->jump = fmax(w->jump, gw_norm(gw_sub(gw_sub(b->pose.p, w->p[i]), mean)));
        w->speed = fmax(w->speed, gw_norm(b->twist.v));
        w->p[i] = b->pose.p;
        w->v[i] = b->twist.v;
    }
    w->any = true;
    w->imbalance = fmax(w->imbalance, fabs(energy_error(s)));
}

static void a_four_bar_goes_with_a_ground_that_is_dragged_away(void **state)
{
    (void)state;
    running r;
    watched w = {.any = false};
    gw_pose to = {{0.3, -0.2, 0.1}, gw_quat_exp(gw_v3(0, 0, 0.7))};
    const gw_snapshot *now = NULL;
    running_open(&r, four_bar());
    for (int i = 0; i < 5000; i++) {
        now = running_tick(&r);
        watch(&w, &r, now);
        if (i != 300)
            continue;
        r.scene->objects[0].pose = to;
        hand_over(&r, now, NULL);
    }
    print_message("a tick's way is %.2g m off the speed, at most %.3g m/s; open by %.2g m; energy "
                  "balance off by %.2g J\n",
                  w.jump, w.speed, open_by(&r, now, &to, 0.3), w.imbalance);
    assert_true(w.jump < 1e-5);
    assert_true(w.speed < 1);
    assert_true(open_by(&r, now, &to, 0.3) < 1e-12);
    assert_true(w.imbalance < 1e-9);
    running_close(&r);
}

/* A longer coupler, a pin elsewhere: bodies go on as they move, and take the new lengths at bounded
 * speed. */
static void a_four_bar_takes_new_lengths_at_bounded_speed(void **state)
{
    (void)state;
    running r;
    watched w = {.any = false};
    const gw_snapshot *now = NULL;
    double before = 0;
    gw_scene *scene = four_bar();
    scene->objects[gw_scene_object(scene, "crank")].spin.z = 2;
    running_open(&r, scene);
    for (int i = 0; i < 3000; i++) {
        now = running_tick(&r);
        watch(&w, &r, now);
        if (i == 200)
            before = w.speed;
        if (i != 300 && i != 1000)
            continue;
        if (i == 300)
            r.scene->features[gw_scene_feature(r.scene, "coupler", "far")].element.p.x = 0.33;
        else
            r.scene->features[gw_scene_feature(r.scene, "ground", "right")].element.p.x = 0.28;
        hand_over(&r, now, NULL);
    }
    print_message(
        "a tick's way is %.2g m off the speed, at most %.3g m/s (%.3g before); open by %.2g "
        "m; energy balance off by %.2g J\n",
        w.jump, w.speed, before, residual(&r, now), w.imbalance);
    assert_true(w.jump < 1e-5);
    assert_true(w.speed < 1);
    assert_true(residual(&r, now) < 1e-12);
    assert_true(w.imbalance < 1e-9);
    running_close(&r);
}

/* A ball lies on a tray that a hinge and a stop hold to the ground: contacts know how the ground
 * moves the tray, and what it works. */
static void a_ball_rides_on_a_tray_on_the_ground(void **state)
{
    (void)state;
    running r;
    gw_scene *s = new_scene();
    double apart = 0, worst = 0;
    s->gravity = gw_v3(0, 0, -9.81);
    s->contact.enabled = true;
    add_ground(s, 0.5);
    gw_object *tray = add_box(s, "tray", gw_v3(0, 0, 0.5), false);
    tray->free = true;
    gw_scene_joint *j = gw_scene_add_joint(s, NULL);
    strcpy(j->id, "post");
    strcpy(j->a.object, "tray");
    strcpy(j->b.object, "ground");
    j->type = GW_MOBILIZER_FIXED;
    j->enabled = true;
    j->a.at = gw_pose_identity();
    j->b.at = (gw_pose){{0, 0, 0.5}, {1, 0, 0, 0}};
    add_ball(s, "ball", gw_v3(0, 0, 0.58), 0.03);
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 2300; i++) {
        double t = fmax(0, i - 500) * DT; /* a whole period */
        if (i >= 500 && i < 2071)
            move_object(&r, "ground", (gw_pose){{0, 0, 0.05 * (1 - cos(4 * t))}, {1, 0, 0, 0}});
        now = running_tick(&r);
        worst = fmax(worst, fabs(energy_error(now)));
        double above = body(now, &r, "ball")->pose.p.z - body(now, &r, "tray")->pose.p.z;
        apart = fmax(apart, fabs(above - 0.08));
    }
    print_message("the ball is off its place on the tray by %.2g m; energy balance off by %.2g J\n",
                  apart, worst);
    assert_true(apart < 5e-4);
    assert_true(worst < 1e-9);
    running_close(&r);
}

/* Momentum, and its moment about the world's origin, of boxes named `a` and `b`. */
static void momentum_of(const running *r, const gw_snapshot *now, gw_vec3 sums[2])
{
    static const char *const ids[] = {"a", "b"};
    sums[0] = sums[1] = gw_v3(0, 0, 0);
    for (int i = 0; i < 2; i++) {
        gw_mass m = gw_scene_body_mass(r->scene, gw_scene_object(r->scene, ids[i]));
        const gw_free_body *b = body(now, r, ids[i]);
        gw_vec3 p = gw_scale(m.mass, b->twist.v);
        gw_vec3 w = gw_rotate(gw_quat_conj(b->pose.q), b->twist.w);
        gw_vec3 spin = gw_rotate(b->pose.q, gw_mat3_mul(&m.inertia, w));
        sums[0] = gw_add(sums[0], p);
        sums[1] = gw_add(sums[1], gw_add(gw_cross(b->pose.p, p), spin));
    }
}

/* Two boxes that fly are joined where they are: an inelastic impact, whichever is the parent. */
static void joining_what_flies_keeps_its_momentum(void **state)
{
    (void)state;
    for (int turned = 0; turned < 2; turned++) {
        running r;
        gw_scene *s = new_scene();
        gw_vec3 before[2], after[2];
        gw_object *a = add_box(s, "a", gw_v3(0, 0, 0), false);
        a->free = true, a->velocity = gw_v3(1, 0, 0);
        gw_object *b = add_box(s, "b", gw_v3(0.5, 0, 0), false);
        b->free = true, b->velocity = gw_v3(0, 1, 0), b->spin = gw_v3(0, 0, 2);
        running_open(&r, s);
        const gw_snapshot *now = running_tick(&r);
        momentum_of(&r, now, before);
        gw_scene_joint *j = gw_scene_add_joint(r.scene, NULL);
        gw_pose at = body(now, &r, turned ? "a" : "b")->pose, back = gw_pose_inverse(&at);
        strcpy(j->id, "j");
        strcpy(j->a.object, turned ? "b" : "a");
        strcpy(j->b.object, turned ? "a" : "b");
        j->type = GW_MOBILIZER_SPHERICAL;
        j->enabled = true;
        j->a.at = gw_pose_identity();
        j->b.at.p = gw_pose_point(&back, body(now, &r, turned ? "b" : "a")->pose.p);
        j->b.at.q = (gw_quat){1, 0, 0, 0};
        hand_over(&r, now, NULL);
        for (int i = 0; i < 20; i++) {
            now = running_tick(&r);
            assert_true(fabs(energy_error(now)) < 1e-9);
        }
        momentum_of(&r, now, after);
        print_message("momentum changed by %.2g, its moment by %.2g\n",
                      gw_distance(before[0], after[0]), gw_distance(before[1], after[1]));
        assert_true(gw_norm(before[0]) > 0.1);
        assert_true(gw_distance(before[0], after[0]) < 1e-9 * gw_norm(before[0]));
        assert_true(gw_distance(before[1], after[1]) < 1e-9 * gw_norm(before[0]));
        running_close(&r);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_four_bar_rides_on_a_ground_that_is_streamed),
        cmocka_unit_test(an_edit_on_the_way_hits_nothing),
        cmocka_unit_test(a_four_bar_goes_with_a_ground_that_is_dragged_away),
        cmocka_unit_test(a_four_bar_takes_new_lengths_at_bounded_speed),
        cmocka_unit_test(a_ball_rides_on_a_tray_on_the_ground),
        cmocka_unit_test(joining_what_flies_keeps_its_momentum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
