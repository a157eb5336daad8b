/*
 * Assembly within the limits of joints, and with gears.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "tests/unit/assembly_checks.h"

/* The six axes of a UR5 (its published frames), each free to turn by 1.2 rad either way of a bent
 * posture. */
static gw_mechanism *put_six_axes(gw_scene *s)
{
    static const struct {
        gw_vec3 p;
        double about_y;
        gw_vec3 axis;
        double bent;
    } frames[6] = {
        {{0, 0, 0.089159}, 0, {0, 0, 1}, 0.3},    {{0, 0.13585, 0}, GW_PI / 2, {0, 1, 0}, -1.2},
        {{0, -0.1197, 0.425}, 0, {0, 1, 0}, 1.4}, {{0, 0, 0.39225}, GW_PI / 2, {0, 1, 0}, -0.8},
        {{0, 0.093, 0}, 0, {0, 0, 1}, 0.9},       {{0, 0, 0.09465}, 0, {0, 1, 0}, 0.2}};
    gw_mechanism *m = gw_scene_add_mechanism(s, NULL);
    strcpy(m->id, "arm");
    assert_true(gw_mechanism_resize(m, 6));
    for (int i = 0; i < 6; i++) {
        gw_link_def *l = &m->links[i];
        l->parent_from_joint =
            (gw_pose){frames[i].p, gw_quat_axis(gw_v3(0, 1, 0), frames[i].about_y)};
        l->axis = frames[i].axis;
        l->limited = true;
        l->lower = frames[i].bent - 1.2, l->upper = frames[i].bent + 1.2;
        m->position[i] = frames[i].bent;
    }
    return m;
}

/* By how much a position is beyond its limits (rad). */
static double beyond(const gw_mechanism *m)
{
    double worst = -INFINITY;
    for (int i = 0; i < m->link_count; i++)
        worst = fmax(worst,
                     fmax(m->position[i] - m->links[i].upper, m->links[i].lower - m->position[i]));
    return worst;
}

/* Its flange brought to a place that it reaches within its limits; whether that came out. */
static bool flange_is_brought(gw_scene *s, gw_pose target, bool limits, double *over)
{
    const gw_assembly_def def = {.scene = s, .limits = limits};
    const gw_assembly_options options = {.seed = 1};
    gw_assembly_result r;
    gw_pose links[6];
    gw_assembly *a = gw_assembly_create(&def, NULL);
    assert_non_null(a);
    gw_assembly_solve(a, &options, &r);
    gw_assembly_apply(a, s);
    gw_assembly_destroy(a);
    gw_mechanism_poses(&s->mechanisms[0], NULL, links);
    assert_true(!r.held || gw_pose_distance(&links[5], &target, 1) < 1e-8);
    *over = beyond(&s->mechanisms[0]);
    return r.held;
}

static void inverse_kinematics_stays_within_limits(void **state)
{
    (void)state;
    unsigned long long random = 5;
    int beyond_without = 0;
    for (int i = 0; i < 200; i++) {
        double turned[6], over;
        gw_pose links[6];
        gw_scene *s = empty_scene(), *free_one;
        gw_mechanism *m = put_six_axes(s);
        part(s, "ground", true);
        for (int k = 0; k < 6; k++)
            turned[k] = random_uniform(&random, m->links[k].lower, m->links[k].upper);
        gw_mechanism_poses(m, turned, links);
        joint(s, GW_MOBILIZER_FIXED, "arm.5", place(gw_v3(0, 0, 0)), "ground", links[5]);
        free_one = gw_scene_copy(s);
        assert_true(flange_is_brought(s, links[5], true, &over));
        assert_true(over <= 0);
        if (flange_is_brought(free_one, links[5], false, &over))
            beyond_without += over > 1e-3;
        gw_scene_destroy(s);
        gw_scene_destroy(free_one);
    }
    assert_true(beyond_without > 5); /* the same targets without limits: they matter */
}

static void what_only_lies_beyond_a_limit_is_not_reached(void **state)
{
    (void)state;
    gw_pose links[6];
    double over;
    gw_scene *s = empty_scene();
    gw_mechanism *m = put_six_axes(s);
    part(s, "ground", true);
    double turned[6] = {2.5, -1.2, 1.4, -0.8, 0.9, 0.2}; /* the column by a radian too much */
    gw_mechanism_poses(m, turned, links);
    joint(s, GW_MOBILIZER_FIXED, "arm.5", place(gw_v3(0, 0, 0)), "ground", links[5]);
    for (int i = 1; i < 6; i++)
        m->links[i].lower = turned[i] - 0.1, m->links[i].upper = turned[i] + 0.1;
    assert_false(flange_is_brought(s, links[5], true, &over));
    gw_scene_destroy(s);
}

/* Every type of joint, its coordinates between limits that the scattered part is beyond. */
static void limits_of_every_joint_hold(void **state)
{
    (void)state;
    unsigned long long random = 6;
    for (int i = 0; i < 20 * GW_MOBILIZER_FREE; i++) {
        gw_mobilizer type = (gw_mobilizer)(i % GW_MOBILIZER_FREE);
        gw_scene *s = empty_scene();
        part(s, "ground", true);
        part(s, "part", false);
        gw_scene_joint *j = joint(s, type, "part", place_along(gw_v3(0.1, 0, 0.2), gw_v3(1, 1, 0)),
                                  "ground", place_along(gw_v3(0, 0.3, 0), gw_v3(0, 1, 2)));
        j->pitch = 0.02;
        for (int k = 0; k < gw_mobilizers[type].dof; k++) {
            bool ball = type == GW_MOBILIZER_SPHERICAL;
            double from = ball ? 0 : random_uniform(&random, -3, 8);
            j->limited[k] = !(ball && k == 2);
            j->lower[k] = from, j->upper[k] = from + (ball ? 0.3 : 0.1);
        }
        scatter_parts(s, &random);
        const gw_assembly_def def = {.scene = s, .limits = true};
        const gw_assembly_options options = {.seed = 1};
        gw_assembly_result r;
        gw_assembly *a = gw_assembly_create(&def, NULL);
        gw_assembly_solve(a, &options, &r);
        gw_assembly_apply(a, s);
        gw_assembly_destroy(a);
        assert_true(r.held && opening(s, 0) < 1e-7);
        gw_pose x = relative(s, 0);
        double now[6];
        gw_mobilizer_position(type, j->pitch, &x, now);
        if (type == GW_MOBILIZER_SPHERICAL) {
            double whole = gw_norm(gw_v3(now[0], now[1], now[2]));
            now[0] = acos(fmin(1, gw_rotate(x.q, gw_v3(0, 0, 1)).z)), now[1] = whole;
        }
        for (int k = 0; k < gw_mobilizers[type].dof; k++) {
            double turns = 0, centre = 0.5 * (j->lower[k] + j->upper[k]);
            if (gw_mobilizer_is_periodic(type, k))
                turns = 2 * GW_PI * round((centre - now[k]) / (2 * GW_PI));
            if (j->limited[k])
                assert_true(now[k] + turns > j->lower[k] - 1e-8 &&
                            now[k] + turns < j->upper[k] + 1e-8);
        }
        gw_scene_destroy(s);
    }
}

/* A gear between joints `first` and `second`. */
static void gear(gw_scene *s, const char *first, const char *second, double ratio)
{
    gw_scene_joint *j = gw_scene_add_joint(s, NULL);
    snprintf(j->id, sizeof j->id, "gear%d", s->joint_count);
    j->gear = j->enabled = true;
    snprintf(j->joints[0], sizeof j->joints[0], "%s", first);
    snprintf(j->joints[1], sizeof j->joints[1], "%s", second);
    j->ratio = ratio;
    j->coordinates[0] = j->coordinates[1] = -1;
}

/* A rack that a wheel drives (m/rad), the wheel driven by a pinion: lifted, the rack turns both, by
 * more than half a turn. */
static void a_gear_keeps_its_ratio(void **state)
{
    (void)state;
    for (int method = GW_ASSEMBLY_NEWTON; method < GW_ASSEMBLY_METHOD_COUNT; method++) {
        gw_scene *s = empty_scene();
        part(s, "ground", true);
        gw_mechanism *m = gw_scene_add_mechanism(s, NULL);
        strcpy(m->id, "lift");
        assert_true(gw_mechanism_resize(m, 3));
        for (int i = 0; i < 3; i++) {
            m->parent[i] = -1;
            m->links[i].parent_from_joint.p = gw_v3(0.1 * i, 0, 0);
            m->links[i].axis = gw_v3(0, 0, 1);
        }
        m->links[0].kind = GW_JOINT_PRISMATIC;
        const double start[3] = {0.05, 0.4, -0.3};
        memcpy(m->position, start, sizeof start);
        gear(s, "lift.0", "lift.1", 0.03);
        gear(s, "lift.2", "lift.1", -2.5);
        joint(s, GW_MOBILIZER_PLANAR, "lift.0", place(gw_v3(0, 0, 0)), "ground",
              place(gw_v3(0, 0, 0.2)));
        const gw_assembly_def def = {.scene = s, .limits = true};
        const gw_assembly_options options = {.method = (gw_assembly_method)method, .seed = 1};
        gw_assembly_result r;
        gw_assembly *a = gw_assembly_create(&def, NULL);
        gw_assembly_solve(a, &options, &r);
        gw_assembly_apply(a, s);
        assert_true(r.held && r.starts == 1);
        const double *q = m->position;
        assert_true(fabs(q[0] - 0.2) < 1e-8);
        assert_true(fabs(q[0] - start[0] - 0.03 * (q[1] - start[1])) < 1e-8); /* 5 rad */
        assert_true(fabs(q[2] - start[2] + 2.5 * (q[1] - start[1])) < 1e-6);
        gw_assembly_destroy(a);
        gw_scene_destroy(s);
    }
}

static void rows_of_limits_and_gears_have_their_derivatives(void **state)
{
    (void)state;
    const gw_pose m = place_along(gw_v3(0.1, 0.2, -0.1), gw_v3(1, 2, 2));
    const gw_pose f = place_along(gw_v3(-0.2, 0.1, 0.3), gw_v3(-2, 1, 2));
    for (int type = GW_MOBILIZER_REVOLUTE; type < GW_MOBILIZER_FREE; type++) {
        gw_scene *s = empty_scene();
        part(s, "box", false);
        part(s, "other", false);
        gw_scene_joint *j = joint(s, (gw_mobilizer)type, "box", m, "other", f);
        j->pitch = 0.03;
        for (int k = 0; k < gw_mobilizers[type].dof; k++)
            j->limited[k] = true, j->lower[k] = j->upper[k] = 1; /* beyond it */
        const gw_assembly_def def = {.scene = s, .limits = true};
        gw_assembly *w = gw_assembly_create(&def, NULL);
        assert_non_null(w);
        gw_vec3 v[6], u[6]; /* closed, each coordinate at some place */
        gw_mobilizer_state at = {.z = {0.3, 0.2, -0.4}, .turn = gw_quat_exp(gw_v3(0.3, 0.2, -0.4))};
        gw_pose f_from_m = gw_mobilizer_pose(j->type, j->pitch, &at, v, u);
        gw_pose world_from_m = gw_pose_mul(&f, &f_from_m), back = gw_pose_inverse(&m);
        w->poses[0] = gw_pose_mul(&world_from_m, &back);
        int limits = 0;
        for (int t = 0; t < w->term_count; t++)
            if (w->terms[t].kind == GW_TERM_LIMIT) {
                check_derivatives(w, t);
                limits++;
            }
        assert_int_equal(limits, gw_mobilizers[type].dof > 2 && type == GW_MOBILIZER_SPHERICAL
                                     ? 3
                                     : gw_mobilizers[type].dof);
        gw_assembly_destroy(w);
        gw_scene_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inverse_kinematics_stays_within_limits),
        cmocka_unit_test(what_only_lies_beyond_a_limit_is_not_reached),
        cmocka_unit_test(limits_of_every_joint_hold),
        cmocka_unit_test(a_gear_keeps_its_ratio),
        cmocka_unit_test(rows_of_limits_and_gears_have_their_derivatives),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
