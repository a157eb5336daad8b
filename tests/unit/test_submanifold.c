/*
 * Submanifolds: parameters and poses are inverse, tangents lie in the set, the nearest pose is the
 * nearest of all.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rt/geometry/coordinate_curve.h"
#include "rt/geometry/nurbs.h"
#include "rt/geometry/submanifold.h"
#include "rt/geometry/two_angles.h"
#include "rt/geometry/nurbs_primitive.h"

static unsigned long long state = 11;

static double uniform(void)
{
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(state >> 11) / 9007199254740992.0 * 2 - 1;
}

static gw_vec3 vector(void)
{
    return gw_v3(uniform(), uniform(), uniform());
}

static gw_quat rotation(void)
{
    return gw_quat_unit((gw_quat){uniform(), uniform(), uniform(), uniform()});
}

static gw_submanifold random_set(gw_rotation_kind rotation_kind, gw_locus_kind locus, bool mobile)
{
    static const int rotation_dof[] = {3, 2, 1, 0}, locus_dof[] = {3, 2, 2, 2, 1, 1, 1, 1, 2, 0};
    gw_submanifold set;
    memset(&set, 0, sizeof set);
    set.rotation.kind = rotation_kind;
    set.rotation.dof = rotation_dof[rotation_kind];
    set.rotation.zero = rotation_kind == GW_ROTATION_FREE ? gw_quat_identity() : rotation();
    set.rotation.axis = gw_unit(vector());
    set.rotation.axis_body = rotation_kind == GW_ROTATION_AXIS
                                 ? gw_unrotate(set.rotation.zero, set.rotation.axis)
                                 : gw_unit(vector());
    set.rotation.angle =
        gw_angle_between(set.rotation.axis, gw_rotate(set.rotation.zero, set.rotation.axis_body));
    gw_locus *l = &set.translation.locus;
    l->kind = locus;
    l->origin = vector();
    l->e3 = gw_unit(vector());
    l->e1 = gw_any_normal(l->e3);
    l->e2 = gw_cross(l->e3, l->e1);
    l->a = 0.8;
    l->b = 0.3;
    if (locus == GW_LOCUS_CURVE || locus == GW_LOCUS_SURFACE) {
        static gw_nurbs *curve, *surface;
        curve = curve ? curve : gw_nurbs_circle(0.8, NULL);
        surface = surface ? surface : gw_nurbs_ellipsoid(gw_v3(0.8, 0.5, 0.3), NULL);
        l->nurbs = locus == GW_LOCUS_CURVE ? curve : surface;
        l->a = locus == GW_LOCUS_CURVE ? 0 : 0.1;
    }
    set.translation.dof = locus_dof[locus];
    set.translation.in_mobile = mobile;
    set.translation.of = vector();
    set.dof = set.rotation.dof + set.translation.dof;
    return set;
}

static bool is_named(const char *name)
{
    for (const char *const *known = gw_submanifold_parameter_names(); *known; known++)
        if (strcmp(*known, name) == 0)
            return true;
    return false;
}

static void random_parameters(const gw_submanifold *set, double *z)
{
    gw_submanifold_parameter p[6];
    int n = gw_submanifold_parameters(set, p);
    assert_int_equal(n, set->dof);
    for (int i = 0; i < n; i++) {
        assert_true(is_named(p[i].name));
        z[i] = isfinite(p[i].low)
                   ? 0.5 * (p[i].low + p[i].high) + 0.49 * uniform() * (p[i].high - p[i].low)
                   : uniform();
    }
}

/* Two angles out of one rotation that has them; on a loop where there are two. */
static gw_rotation_set random_two_angles(void)
{
    gw_rotation_set r = {.kind = GW_ROTATION_FREE};
    bool made = false;
    while (!made) {
        gw_quat q = rotation();
        gw_vector_angle pair[2];
        for (int i = 0; i < 2; i++) {
            pair[i].axis = gw_unit(vector()), pair[i].axis_body = gw_unit(vector());
            pair[i].angle = gw_angle_between(pair[i].axis, gw_rotate(q, pair[i].axis_body));
        }
        made = gw_two_angles(&pair[0], &pair[1], &r);
        if (made)
            gw_two_angles_choose(&r, gw_two_angles_loop(&r, q));
    }
    return r;
}

static gw_submanifold random_two_angle_set(gw_locus_kind locus, bool mobile)
{
    gw_submanifold set = random_set(GW_ROTATION_AXIS, locus, mobile);
    set.rotation = random_two_angles();
    return set;
}

/* A set of any rotation but a fixed one, whose locus shifts as the body rotates. */
static gw_submanifold random_shifting_set(int rotation_kind, gw_locus_kind locus, bool mobile)
{
    gw_submanifold set = rotation_kind == 3
                             ? random_two_angle_set(locus, mobile)
                             : random_set((gw_rotation_kind)rotation_kind, locus, mobile);
    set.translation.shift_count = 1 + (int)(1.49 * (1 + uniform()));
    for (int i = 0; i < set.translation.shift_count; i++)
        set.translation.shifts[i] =
            (gw_locus_shift){gw_unit(vector()), gw_unit(vector()), gw_scale(0.7, vector())};
    return set;
}

enum { PLAIN = 4 * 8 * 2, TWO_ANGLES = 8 * 2, SHIFTING = 4 * 4 * 2, FREE_FORM = 4 * 2 * 2 };

static gw_submanifold nth_random_set(int k)
{
    static const gw_locus_kind plain[] = {GW_LOCUS_FREE,     GW_LOCUS_PLANE, GW_LOCUS_SPHERE,
                                          GW_LOCUS_CYLINDER, GW_LOCUS_LINE,  GW_LOCUS_CIRCLE,
                                          GW_LOCUS_ELLIPSE,  GW_LOCUS_POINT};
    static const gw_locus_kind shifting[] = {GW_LOCUS_POINT, GW_LOCUS_LINE, GW_LOCUS_ELLIPSE,
                                             GW_LOCUS_CIRCLE};
    if (k < PLAIN)
        return random_set((gw_rotation_kind)(k % 4), plain[k / 4 % 8], k >= 32);
    k -= PLAIN;
    if (k < TWO_ANGLES)
        return random_two_angle_set(plain[k % 8], k >= 8);
    k -= TWO_ANGLES;
    if (k < SHIFTING)
        return random_shifting_set(k % 4, shifting[k / 4 % 4], k >= 16);
    k -= SHIFTING;
    return random_set((gw_rotation_kind)(k % 4), k / 4 % 2 ? GW_LOCUS_SURFACE : GW_LOCUS_CURVE,
                      k >= 8);
}

#define FOR_EVERY_SET(set)                                                                         \
    for (int k_ = 0; k_ < PLAIN + TWO_ANGLES + SHIFTING + FREE_FORM; k_++)                         \
        for (gw_submanifold set = nth_random_set(k_), *once_ = &set; once_; once_ = NULL)

static void parameters_and_poses_are_inverse(void **unused)
{
    (void)unused;
    FOR_EVERY_SET(set)
    {
        for (int trial = 0; trial < 20; trial++) {
            double z[6], back[6];
            random_parameters(&set, z);
            gw_pose x = gw_submanifold_pose(&set, z);
            gw_submanifold_parameters_at(&set, &x, back);
            for (int i = 0; i < set.dof; i++)
                assert_true(fabs(remainder(z[i] - back[i], 2 * GW_PI)) < 1e-9);
        }
    }
}

static void tangents_are_orthonormal_and_lie_in_the_set(void **unused)
{
    (void)unused;
    const double length = 0.4, h = 1e-5;
    FOR_EVERY_SET(set)
    {
        double z[6], basis[6][6];
        random_parameters(&set, z);
        gw_pose x = gw_submanifold_pose(&set, z);
        gw_submanifold_tangent(&set, &x, length, basis);
        for (int i = 0; i < set.dof; i++) {
            for (int j = 0; j <= i; j++) {
                double dot = 0;
                for (int c = 0; c < 6; c++)
                    dot += basis[i][c] * basis[j][c] * (c < 3 ? 1 : length * length);
                assert_true(fabs(dot - (i == j)) < 1e-12);
            }
            gw_twist d = {{h * basis[i][0], h * basis[i][1], h * basis[i][2]},
                          {h * basis[i][3], h * basis[i][4], h * basis[i][5]}};
            gw_pose next = gw_pose_add(&x, &d), on;
            assert_true(gw_submanifold_nearest(&set, &next, length, &on) < 1e-7);
        }
    }
}

static void check_nearest(const gw_submanifold *set, double length)
{
    gw_pose near = {gw_scale(length > 0.1 ? 1 : 3, vector()), rotation()}, best;
    double distance = gw_submanifold_nearest(set, &near, length, &best), z[6], back[6];
    assert_true(fabs(distance - gw_pose_distance(&best, &near, length)) < 1e-9);
    gw_submanifold_parameters_at(set, &best, back);
    gw_pose again = gw_submanifold_pose(set, back);
    assert_true(gw_pose_distance(&again, &best, length) < 1e-7);
    for (int i = 0; i < 3000; i++) {
        random_parameters(set, z);
        for (int c = 0; c < set->dof && i >= 2000; c++) /* closer and closer by */
            z[c] = back[c] + 0.3 * uniform() * (3000 - i) / 1000;
        gw_pose other = gw_submanifold_pose(set, z);
        double d = gw_pose_distance(&other, &near, length);
        if (d < distance - 1e-9)
            fail_msg("rotation %d locus %d mobile %d length %g: %.12g beats %.12g",
                     set->rotation.kind, set->translation.locus.kind, set->translation.in_mobile,
                     length, d, distance);
    }
}

static void nearest_beats_every_sampled_pose(void **unused)
{
    (void)unused;
    static const double lengths[] = {0.05, 0.4, 2};
    for (int trial = 0; trial < 12; trial++)
        FOR_EVERY_SET(set)
        {
            check_nearest(&set, lengths[trial % 3]);
        }
}

static void nearest_holds_for_planes_across_an_axis(void **unused)
{
    (void)unused;
    static const double lengths[] = {0.05, 0.4, 2};
    for (int trial = 0; trial < 120; trial++) {
        bool mobile = trial % 2;
        gw_submanifold set = random_set(trial % 4 < 2 ? GW_ROTATION_ANGLE : GW_ROTATION_AXIS,
                                        GW_LOCUS_PLANE, mobile);
        gw_locus *l = &set.translation.locus;
        l->e3 = mobile ? set.rotation.axis_body : set.rotation.axis;
        l->e1 = gw_any_normal(l->e3);
        l->e2 = gw_cross(l->e3, l->e1);
        check_nearest(&set, lengths[trial % 3]);
    }
}

/* The number of sheets at which two angles hold, counted on a fine grid of azimuths. */
static void check_loops(const gw_vector_angle pair[2], int loops)
{
    gw_rotation_set r;
    assert_true(gw_two_angles(&pair[0], &pair[1], &r));
    assert_int_equal(r.second.loops, loops);
    for (int loop = 1; loop >= (loops == 2 ? -1 : 1); loop -= 2) {
        gw_two_angles_choose(&r, loop);
        gw_quat before = gw_two_angles_rotation(&r, -GW_PI);
        for (int i = 1; i <= 4000; i++) {
            double psi = -GW_PI + i * (2 * GW_PI / 4000);
            gw_quat q = gw_two_angles_rotation(&r, psi);
            for (int k = 0; k < 2; k++)
                assert_true(fabs(gw_angle_between(pair[k].axis, gw_rotate(q, pair[k].axis_body)) -
                                 pair[k].angle) < 1e-12);
            assert_true(gw_quat_angle(before, q) < 0.1); /* it goes on without a jump */
            if (loops == 2)
                assert_int_equal(gw_two_angles_loop(&r, q), loop);
            before = q;
        }
        assert_true(gw_quat_angle(gw_two_angles_rotation(&r, -GW_PI), before) < 1e-7);
    }
}

/* Each kind of the curve of two angles: loops by either sign, one loop, one that crosses itself,
 * and two that cross. */
static void two_angles_leave_closed_loops(void **unused)
{
    (void)unused;
    const gw_vec3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
    const gw_vec3 off = {cos(0.8), sin(0.8), 0};
    check_loops((const gw_vector_angle[]){{z, x, 0.6}, {x, y, 1.3}}, 2);
    check_loops((const gw_vector_angle[]){{z, x, 1.4}, {x, y, 0.5}}, 2);
    check_loops((const gw_vector_angle[]){{z, x, 0.6}, {x, off, 0.5}}, 1);
    check_loops((const gw_vector_angle[]){{z, x, 1}, {x, y, 1}}, 1); /* all of two loops */
    check_loops((const gw_vector_angle[]){{z, x, GW_PI / 2}, {x, y, 1}}, 2);
    /* sigma_b - alpha = sigma - beta, at one end alone */
    gw_vec3 u = gw_v3(cos(0.9), sin(0.9), 0), f = gw_v3(sin(1.2), 0, cos(1.2));
    check_loops((const gw_vector_angle[]){{z, gw_v3(1, 0, 0), 0.5}, {f, u, 0.2}}, 1);
    /* corners of one diagonal meet: the other one serves */
    check_loops((const gw_vector_angle[]){{z, gw_v3(1, 0, 0), 1.2}, {f, u, 0.9}}, 1);
}

static void a_general_set_is_parameterised_about_its_seed(void **unused)
{
    (void)unused;
    /* two points on two planes: four freedoms that do not separate */
    gw_submanifold set;
    memset(&set, 0, sizeof set);
    set.general = true;
    set.dof = 4;
    set.row_count = 2;
    set.rows[0] =
        (gw_row){.kind = GW_ROW_PLANE, .m = {1, 0, 0}, .f = {1, 0, 0}, .n = {1, 0, 0}, .value = 0};
    set.rows[1] =
        (gw_row){.kind = GW_ROW_PLANE, .m = {0, 1, 0}, .f = {0, 1, 0}, .n = {0, 1, 0}, .value = 0};
    set.seed = gw_pose_identity();
    for (int trial = 0; trial < 50; trial++) {
        double z[6], back[6], h[2];
        for (int i = 0; i < 4; i++)
            z[i] = 0.2 * uniform();
        gw_pose x = gw_submanifold_pose(&set, z);
        gw_rows_value(set.rows, 2, &x, h);
        assert_true(fabs(h[0]) < 1e-12 && fabs(h[1]) < 1e-12);
        gw_submanifold_parameters_at(&set, &x, back);
        for (int i = 0; i < 4; i++)
            assert_true(fabs(z[i] - back[i]) < 1e-10);
        gw_pose near = {vector(), gw_quat_exp(gw_scale(0.5, vector()))}, on;
        double d = gw_submanifold_nearest(&set, &near, 1, &on);
        gw_rows_value(set.rows, 2, &on, h);
        assert_true(fabs(h[0]) < 1e-9 && fabs(h[1]) < 1e-9);
        for (int i = 0; i < 200; i++) {
            double basis[6][6];
            gw_submanifold_tangent(&set, &on, 1, basis);
            gw_twist step = {{0, 0, 0}, {0, 0, 0}};
            for (int k = 0; k < 4; k++) {
                double c = 0.1 * uniform();
                step.v = gw_add(step.v, gw_scale(c, gw_v3(basis[k][0], basis[k][1], basis[k][2])));
                step.w = gw_add(step.w, gw_scale(c, gw_v3(basis[k][3], basis[k][4], basis[k][5])));
            }
            gw_pose other = gw_pose_add(&on, &step);
            gw_rows_project(set.rows, 2, 6, 1, 20, &other);
            if (gw_pose_distance(&other, &near, 1) < d - 1e-9)
                fail_msg("%.12g beats %.12g", gw_pose_distance(&other, &near, 1), d);
        }
    }
}

/* Two points on two planes, told far parameters: the pose has them and is on the set, or there is
 * none, and that is said. */
static void a_general_sets_parameters_lead_onto_it_or_nowhere(void **unused)
{
    (void)unused;
    gw_submanifold set = {.general = true, .dof = 4, .row_count = 2};
    set.rows[0] =
        (gw_row){.kind = GW_ROW_PLANE, .m = {1, 0, 0}, .f = {1, 0, 0}, .n = {1, 0, 0}, .value = 0};
    set.rows[1] =
        (gw_row){.kind = GW_ROW_PLANE, .m = {0, 1, 0}, .f = {0, 1, 0}, .n = {0, 1, 0}, .value = 0};
    set.seed = gw_pose_identity();
    int reached = 0;
    for (int trial = 0; trial < 200; trial++) {
        double z[6], back[6], h[2], far = trial < 100 ? 1 : 6;
        gw_pose x;
        for (int i = 0; i < 4; i++)
            z[i] = far * uniform();
        bool there = gw_submanifold_try_pose(&set, z, &x);
        gw_rows_value(set.rows, 2, &x, h);
        assert_true(fabs(h[0]) < 1e-10 && fabs(h[1]) < 1e-10);
        gw_submanifold_parameters_at(&set, &x, back);
        for (int i = 0; i < 4 && there; i++)
            assert_true(fabs(z[i] - back[i]) < 1e-10);
        reached += there;
    }
    assert_true(reached > 60 && reached < 200);
}

/* A point of the body on a plane and another at a distance from a point: four freedoms. */
static gw_submanifold on_a_plane_and_a_sphere(void)
{
    gw_submanifold set;
    memset(&set, 0, sizeof set);
    set.general = true;
    set.dof = 4;
    set.rotation.kind = GW_ROTATION_GENERAL;
    set.translation.locus.kind = GW_LOCUS_GENERAL;
    set.row_count = 2;
    set.rows[0] = (gw_row){.kind = GW_ROW_PLANE,
                           .m = gw_v3(0.4, 0, 0),
                           .f = gw_v3(0, 0, 0),
                           .n = gw_v3(0, 0, 1),
                           .value = 0};
    set.rows[1] = (gw_row){.kind = GW_ROW_SPHERE,
                           .m = gw_v3(-0.4, 0, 0),
                           .f = gw_v3(0, 0.3, 0.5),
                           .n = gw_v3(0, 0, 1),
                           .value = 0.6};
    set.seed = (gw_pose){gw_v3(0.1, 0, 0.1), gw_quat_identity()};
    gw_rows_project(set.rows, set.row_count, 6, 1, 40, &set.seed);
    return set;
}

static void check_curve(const gw_submanifold *set, const gw_pose *from,
                        const gw_coordinate_curve *s, double step)
{
    double h[GW_MAX_ROWS];
    assert_true(s->count >= 3 && s->here >= 0 && s->here < s->count);
    assert_true(gw_pose_distance(&s->poses[s->here], from, 1) < 1e-12);
    for (int i = 0; i < s->count; i++) {
        gw_rows_value(set->rows, set->row_count, &s->poses[i], h);
        for (int k = 0; k < set->row_count; k++)
            assert_true(fabs(h[k]) < 1e-9);
        double gone = i ? gw_pose_distance(&s->poses[i - 1], &s->poses[i], 1) : step;
        assert_true(gone > 0.25 * step && gone < 2.1 * step);
    }
}

static void coordinate_curves_of_a_general_set_stay_on_it(void **unused)
{
    (void)unused;
    gw_submanifold set = on_a_plane_and_a_sphere();
    gw_coordinate_curve s;
    for (int k = 0; k < set.dof; k++) {
        gw_coordinate_curve_along(&set, &set.seed, k, 1, 0.05, 20, &s);
        check_curve(&set, &set.seed, &s, 0.05);
    }
}

static void the_coordinate_curve_of_a_rotation_covers_the_circle(void **unused)
{
    (void)unused;
    gw_submanifold set = random_set(GW_ROTATION_AXIS, GW_LOCUS_POINT, false);
    const double z[1] = {0.7};
    gw_pose from = gw_submanifold_pose(&set, z);
    gw_coordinate_curve s;
    gw_coordinate_curve_along(&set, &from, 0, 1e-3, 1e-3, 48, &s);
    assert_int_equal(s.count, 2 * s.here + 1);
    for (int i = 0; i < s.count; i++) {
        double at[1];
        gw_submanifold_parameters_at(&set, &s.poses[i], at);
        gw_pose again = gw_submanifold_pose(&set, at);
        assert_true(gw_pose_distance(&again, &s.poses[i], 1) < 1e-9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parameters_and_poses_are_inverse),
        cmocka_unit_test(tangents_are_orthonormal_and_lie_in_the_set),
        cmocka_unit_test(nearest_beats_every_sampled_pose),
        cmocka_unit_test(nearest_holds_for_planes_across_an_axis),
        cmocka_unit_test(two_angles_leave_closed_loops),
        cmocka_unit_test(a_general_set_is_parameterised_about_its_seed),
        cmocka_unit_test(a_general_sets_parameters_lead_onto_it_or_nowhere),
        cmocka_unit_test(coordinate_curves_of_a_general_set_stay_on_it),
        cmocka_unit_test(the_coordinate_curve_of_a_rotation_covers_the_circle),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
