/*
 * An axis along the normal of a free-form surface, or the tangent of a free-form curve: the
 * solver's answers, focal distances, and a held body that moves so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "rt/base/random.h"
#include "rt/dynamics/guided.h"
#include "rt/geometry/nurbs_motion.h"
#include "rt/positioning/solve.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/unit/nurbs_fixture.h"

/* An axis 0.1 m along z of the body, 0.05 m over the saddle, pointing down on it. */
static gw_constraint nozzle(const gw_nurbs *surface, bool swapped)
{
    gw_element line = {.kind = GW_LINE, .p = {0.02, 0, 0.1}, .d = {0, 0, 1}};
    gw_element shape = {
        .kind = GW_SURFACE, .p = {0.01, 0.02, 0}, .q = {1, 0, 0, 0}, .nurbs = surface};
    return (gw_constraint){.kind = GW_NORMAL,
                           .sense = GW_OPPOSITE,
                           .value = 0.05,
                           .mobile = swapped ? shape : line,
                           .fixed = swapped ? line : shape};
}

/* How far the line is from where it should be: from the offset point, and its direction. */
static double off_by(const gw_constraint *c, const gw_pose *x)
{
    gw_element m = gw_element_moved(x, &c->mobile);
    const gw_element *shape = c->fixed.kind == GW_SURFACE ? &c->fixed : &m;
    const gw_element *line = c->fixed.kind == GW_SURFACE ? &m : &c->fixed;
    gw_vec3 at = gw_unrotate(shape->q, gw_sub(line->p, shape->p));
    /* the foot: S + a n = p */
    double best = HUGE_VAL;
    for (int i = 0; i < 20; i++) {
        gw_vec3 foot = at;
        static double u, v;
        u = i == 0 ? at.x : u, v = i == 0 ? at.y : v;
        gw_vec3 n = gw_unit(gw_v3(-2 * u, 2 * v, 1));
        foot = gw_mul_add(at, -c->value, n);
        u = foot.x, v = foot.y;
        double height = fabs(foot.z - (u * u - v * v));
        gw_vec3 d = gw_unrotate(shape->q, line->d);
        best = fmax(height, gw_norm(gw_add(d, n)));
    }
    return best;
}

/* The answer to p, whose constraint is c, is one branch of `dof` freedoms in closed form: each pose
 * of it is on the shape by off(), has `rows` rows of zero and parameters that lead back to it; none
 * about its nearest pose is nearer; and it is followed as the value becomes `edited`. */
static void assert_in_closed_form(const gw_problem *p, gw_constraint *c,
                                  double (*off)(const gw_constraint *, const gw_pose *), int dof,
                                  int rows, const char *freedoms, double edited, gw_solution *s)
{
    gw_error error = {0};
    assert_true(gw_problem_check(p, &error));
    gw_solve(p, s);
    assert_int_equal(s->status, GW_SOLVED);
    assert_int_equal(s->method, GW_CLOSED_FORM);
    assert_int_equal(s->branch_count, 1);
    gw_branch *b = &s->branches[0], after;
    assert_int_equal(b->set.dof, dof);
    assert_int_equal(b->set.row_count, rows);
    char words[160];
    gw_submanifold_description(&b->set, NULL, words, sizeof words);
    assert_string_equal(words, freedoms);
    assert_true(off(c, &b->nearest) < 1e-12);
    unsigned long long random = 5;
    for (int i = 0; i < 50; i++) {
        gw_pose x = gw_branch_sample(b, 1, &random);
        double z[6], h[GW_MAX_ROWS];
        assert_true(off(c, &x) < 1e-12);
        gw_submanifold_parameters_at(&b->set, &x, z);
        gw_pose again = gw_submanifold_pose(&b->set, z);
        assert_true(gw_pose_distance(&x, &again, 1) < 1e-9);
        gw_rows_value(b->set.rows, rows, &x, h);
        for (int k = 0; k < rows; k++)
            assert_true(fabs(h[k]) < 1e-12);
    }
    for (int i = 0; i < 500; i++) {
        double z[6];
        gw_submanifold_parameters_at(&b->set, &b->nearest, z);
        for (int k = 0; k < dof; k++)
            z[k] += 0.2 * ((double)((i * (7 + 6 * k)) % 101) / 50 - 1);
        gw_pose x = gw_submanifold_pose(&b->set, z);
        assert_true(gw_pose_distance(&x, &p->pose, 1) > b->distance - 1e-12);
    }
    c->value = edited;
    assert_true(gw_solve_branch(p, b, &after));
    assert_true(off(c, &after.nearest) < 1e-12);
}

static void a_nozzle_keeps_its_offset_and_its_direction(void **unused)
{
    (void)unused;
    gw_nurbs *surface = saddle_of(1, 0.5);
    for (int swapped = 0; swapped < 2; swapped++) {
        static gw_solution s;
        gw_constraint c = nozzle(surface, swapped);
        gw_problem p = {{{0.2, -0.1, 0.4}, {0, 1, 0, 0}}, 1, 1, &c};
        assert_in_closed_form(&p, &c, off_by, 3, 3,
                              "3 freedoms: slides on the surface (2), turns about its normal (1)",
                              0.06, &s);
    }
    gw_nurbs_put(surface);
}

/* A point of the body is in a plane, too: a general set, which ends where the offset does. */
static void sets_of_an_offset_end_over_the_edges(void **unused)
{
    (void)unused;
    static gw_solution s;
    unsigned long long random = 2;
    gw_nurbs *surface = saddle_of(1, 0.5);
    int solved = 0;
    for (int trial = 0; trial < 12; trial++) {
        double r[3];
        for (int i = 0; i < 3; i++)
            r[i] = gw_random_uniform(&random, -1, 1);
        gw_constraint c[2] = {nozzle(surface, trial % 2)};
        c[1] = (gw_constraint){
            .kind = GW_COINCIDENT,
            .mobile = {.kind = GW_POINT, .p = {0.02, 0, 0.1}},
            .fixed = {.kind = GW_PLANE, .p = {0.3 * r[0], 0.3 * r[1], 0}, .d = {0.8, 0, 0.6}}};
        gw_problem p = {{{2 * r[0], 2 * r[1], r[2]}, {0, 1, 0, 0}}, 1, 2, c};
        gw_solve(&p, &s);
        solved += s.status == GW_SOLVED;
        for (int i = 0; i < s.branch_count; i++)
            for (int k = 0; k < 50; k++) {
                gw_pose x =
                    k ? gw_branch_sample(&s.branches[i], 1, &random) : s.branches[i].nearest;
                assert_true(off_by(&c[0], &x) < 1e-8);
                assert_true(gw_constraint_residual(&c[0], &x, 1) < 1e-8);
                assert_true(gw_constraint_residual(&c[1], &x, 1) < 1e-8);
            }
    }
    assert_int_equal(solved, 12);
    gw_nurbs_put(surface);
}

static void either_sense_is_two_branches(void **unused)
{
    (void)unused;
    static gw_solution s;
    gw_nurbs *surface = saddle_of(1, 0.5);
    gw_constraint c = nozzle(surface, false);
    c.sense = GW_EITHER;
    gw_problem p = {{{0.2, -0.1, 0.4}, {0, 1, 0, 0}}, 1, 1, &c};
    gw_solve(&p, &s);
    assert_int_equal(s.branch_count, 2);
    assert_string_equal(s.branches[0].id, "b1");
    assert_string_equal(s.branches[1].id, "b0");
    gw_nurbs_put(surface);
}

/* An ellipsoid's principal radii at the end of an axis a are b^2/a and c^2/a, inward. */
static void an_offset_ends_at_the_focal_distance(void **unused)
{
    (void)unused;
    gw_nurbs *s = gw_nurbs_ellipsoid(gw_v3(1, 0.5, 0.25), NULL);
    gw_constraint c = {.kind = GW_NORMAL,
                       .sense = GW_SAME,
                       .mobile = {.kind = GW_LINE, .d = {1, 0, 0}},
                       .fixed = {.kind = GW_SURFACE, .q = {1, 0, 0, 0}, .nurbs = s}};
    gw_problem p = {{{1.1, 0, 0}, {1, 0, 0, 0}}, 1, 1, &c};
    gw_error error = {0};
    double start[2] = {0, 0.5};
    assert_true(fabs(gw_nurbs_focal_distance(s, start, -1) + 0.0625) < 1e-12);
    assert_true(isinf(gw_nurbs_focal_distance(s, start, 1)));
    c.value = -0.06;
    assert_true(gw_problem_check(&p, &error));
    c.value = -0.07;
    assert_false(gw_problem_check(&p, &error));
    assert_string_equal(error.where, "/constraints/0/value");
    assert_non_null(strstr(error.message, "-0.07 m is beyond the focal distance, -0.0625 m"));
    gw_nurbs_put(s);
}

/* ---- along the tangent of a curve ----------------------------------------------------------- */

/* The twisted cubic (x, x^2, x^3) over -1 .. 1. */
static gw_nurbs *twisted_cubic(void)
{
    static const double knots[] = {0, 0, 0, 0, 1, 1, 1, 1};
    static const gw_vec3 points[] = {
        {-1, 1, -1}, {-1. / 3, -1. / 3, 1}, {1. / 3, -1. / 3, -1}, {1, 1, 1}};
    return gw_nurbs_create(&(gw_nurbs_def){.dimension = 1,
                                           .degree = {3},
                                           .count = {4, 1},
                                           .knot_count = {8},
                                           .knots = {knots},
                                           .points = points},
                           NULL);
}

/* A line that touches the curve 0.3 m behind its point. */
static gw_constraint pen(const gw_nurbs *curve, bool swapped)
{
    gw_element line = {.kind = GW_LINE, .p = {0.02, 0, 0.1}, .d = {0, 0.6, 0.8}};
    gw_element shape = {
        .kind = GW_CURVE, .p = {0.01, 0.02, 0}, .q = {0.8, 0, 0.6, 0}, .nurbs = curve};
    return (gw_constraint){.kind = GW_TANGENT,
                           .sense = GW_SAME,
                           .value = -0.3,
                           .mobile = swapped ? shape : line,
                           .fixed = swapped ? line : shape};
}

/* How far the point that touches is from the curve, and the line from the tangent there. */
static double off_tangent(const gw_constraint *c, const gw_pose *x)
{
    gw_element m = gw_element_moved(x, &c->mobile);
    const gw_element *shape = c->fixed.kind == GW_CURVE ? &c->fixed : &m;
    const gw_element *line = c->fixed.kind == GW_CURVE ? &m : &c->fixed;
    gw_vec3 touch = gw_mul_add(line->p, c->value, line->d);
    gw_vec3 at = gw_unrotate(shape->q, gw_sub(touch, shape->p));
    gw_vec3 t = gw_unit(gw_v3(1, 2 * at.x, 3 * at.x * at.x));
    gw_vec3 d = gw_unrotate(shape->q, line->d);
    double off = hypot(at.y - at.x * at.x, at.z - at.x * at.x * at.x);
    return fmax(off, gw_norm(c->sense == GW_OPPOSITE ? gw_add(d, t) : gw_sub(d, t)));
}

static void a_line_is_tangent_to_a_curve(void **unused)
{
    (void)unused;
    gw_nurbs *curve = twisted_cubic();
    for (int swapped = 0; swapped < 2; swapped++) {
        static gw_solution s;
        gw_constraint c = pen(curve, swapped);
        gw_problem p = {{{0.2, -0.1, 0.4}, {0.6, 0, 0.8, 0}}, 1, 1, &c};
        assert_in_closed_form(&p, &c, off_tangent, 2, 5,
                              "2 freedoms: slides along the curve (1), turns about its tangent (1)",
                              0.1, &s);
        c.sense = GW_EITHER;
        gw_solve(&p, &s);
        assert_int_equal(s.branch_count, 2);
        c.sense = GW_OPPOSITE;
        gw_solve(&p, &s);
        assert_int_equal(s.branch_count, 1);
        assert_true(off_tangent(&c, &s.branches[0].nearest) < 1e-12);
    }
    gw_nurbs_put(curve);
}

/* Beside other constraints the set is found numerically: one freedom, or none. */
static void a_tangent_combines_with_other_constraints(void **unused)
{
    (void)unused;
    gw_nurbs *curve = twisted_cubic();
    static gw_solution s;
    gw_constraint c[2] = {pen(curve, false), {.kind = GW_COINCIDENT}};
    c[1].mobile = (gw_element){.kind = GW_POINT, .p = {0.3, 0.1, 0}};
    c[1].fixed = (gw_element){.kind = GW_PLANE, .p = {0, 0, 0.1}, .d = {0, 0, 1}};
    gw_problem p = {{{0.2, -0.1, 0.4}, {0.6, 0, 0.8, 0}}, 1, 2, c};
    gw_solve(&p, &s);
    assert_int_equal(s.status, GW_SOLVED);
    assert_true(s.branch_count >= 1);
    for (int i = 0; i < s.branch_count; i++) {
        assert_int_equal(s.branches[i].set.dof, 1);
        gw_vec3 x = gw_pose_point(&s.branches[i].nearest, c[1].mobile.p);
        assert_true(off_tangent(&c[0], &s.branches[i].nearest) < 1e-9 && fabs(x.z - 0.1) < 1e-9);
    }
    gw_nurbs_put(curve);
}

/* ---- held bodies ---------------------------------------------------------------------------- */

/* From anywhere, beyond the shape's edges and ends too, the nearest pose is on the shape, and none
 * of the whole set is nearer. */
static void assert_nearest_of_all(const gw_constraint *c,
                                  double (*off)(const gw_constraint *, const gw_pose *))
{
    static gw_solution s;
    unsigned long long random = 11;
    for (int trial = 0; trial < 12; trial++) {
        double r[7];
        for (int i = 0; i < 7; i++)
            r[i] = gw_random_uniform(&random, -1, 1);
        gw_problem p = {
            {{2 * r[0], 2 * r[1], r[2]}, gw_quat_unit((gw_quat){r[3], r[4], r[5], r[6]})}, 1, 1, c};
        gw_solve(&p, &s);
        assert_int_equal(s.status, GW_SOLVED);
        for (int i = 0; i < s.branch_count; i++) {
            const gw_branch *b = &s.branches[i];
            assert_true(off(c, &b->nearest) < 1e-12);
            assert_true(gw_constraint_residual(c, &b->nearest, 1) < 1e-12);
            for (int k = 0; k < 400; k++) {
                gw_pose x = gw_branch_sample(b, 1, &random);
                assert_true(gw_pose_distance(&x, &p.pose, 1) > b->distance - 1e-9);
            }
        }
    }
}

static void nearest_poses_are_of_the_whole_shape(void **unused)
{
    (void)unused;
    gw_nurbs *surface = saddle_of(1, 0.5), *curve = twisted_cubic();
    for (int swapped = 0; swapped < 2; swapped++) {
        gw_constraint over = nozzle(surface, swapped), along = pen(curve, swapped);
        assert_nearest_of_all(&over, off_by);
        assert_nearest_of_all(&along, off_tangent);
    }
    gw_nurbs_put(surface);
    gw_nurbs_put(curve);
}

/* A line through the body's origin: f = |S - p|^2 + (L angle(d, n))^2 has no less value at 200 x
 * 200 points of a surface with many bends. */
static void nearest_poses_are_of_all_bends(void **unused)
{
    (void)unused;
    enum { N = 200 };
    static gw_solution s;
    unsigned long long random = 3;
    for (int trial = 0; trial < 40; trial++) {
        gw_nurbs *surface = random_bicubic(&random, 6 + trial % 4, 0.3);
        double r[10], least = HUGE_VAL;
        for (int i = 0; i < 10; i++)
            r[i] = gw_random_uniform(&random, -1, 1);
        gw_constraint c = {.kind = GW_NORMAL,
                           .sense = GW_SAME,
                           .mobile = {.kind = GW_LINE, .d = gw_unit(gw_v3(r[0], r[1], r[2]))},
                           .fixed = {.kind = GW_SURFACE, .q = {1, 0, 0, 0}, .nurbs = surface}};
        gw_problem p = {
            {{r[3], r[4], r[5]}, gw_quat_unit((gw_quat){r[6], r[7], r[8], r[9]})}, 1, 1, &c};
        gw_solve(&p, &s);
        assert_int_equal(s.status, GW_SOLVED);
        gw_vec3 d = gw_rotate(p.pose.q, c.mobile.d);
        const gw_nurbs_direction *u = &surface->direction[0], *v = &surface->direction[1];
        for (int i = 0; i <= N; i++)
            for (int j = 0; j <= N; j++) {
                gw_nurbs_point at;
                double z[2] = {u->low + (u->high - u->low) * i / N,
                               v->low + (v->high - v->low) * j / N};
                gw_nurbs_evaluate(surface, z, 2, NULL, &at);
                gw_vec3 n = gw_nurbs_normal(surface, z, &at);
                double angle = atan2(gw_norm(gw_cross(d, n)), gw_dot(d, n));
                least = fmin(least, hypot(gw_distance(at.d[0][0], p.pose.p), angle));
            }
        assert_true(s.branches[0].distance < least + 1e-9);
        gw_nurbs_put(surface);
    }
}

/* Without work that is left, the nearest pose is on the set all the same, and soon found. */
static void the_nearest_pose_has_a_bound_of_work(void **unused)
{
    (void)unused;
    static gw_solution s;
    unsigned long long random = 3;
    gw_nurbs *surface = random_bicubic(&random, 9, 0.3);
    gw_constraint c = nozzle(surface, false);
    c.value = 0;
    gw_problem p = {{{0.3, 0.4, 1}, {1, 0, 0, 0}}, 1, 1, &c};
    gw_solve(&p, &s);
    assert_int_equal(s.status, GW_SOLVED);
    gw_submanifold set = s.branches[0].set;
    const long bounds[] = {1000000, 20000, 0};
    for (int i = 0; i < 3; i++) {
        long work = bounds[i];
        gw_pose x;
        gw_submanifold_count_work(&set, &work);
        double distance = gw_submanifold_nearest(&set, &p.pose, 1, &x);
        assert_true(distance >= s.branches[0].distance - 1e-12);
        assert_true(gw_constraint_residual(&c, &x, 1) < 1e-9);
        assert_true(work < bounds[i]);
        /* besides the search of the surface, one sample at least and a step at most */
        assert_true(i == 0 ? bounds[i] - work > 20000 : work > -1000);
    }
    gw_nurbs_put(surface);
}

/* A body at the nearest pose of the branch, thrown along its freedoms: its energy stays, and it is
 * never off. */
static void check_swing(const gw_constraint *c, const gw_pose *near, double by,
                        double (*off)(const gw_constraint *c, const gw_pose *x))
{
    static gw_solution s;
    gw_problem p = {*near, 1, 1, c};
    gw_solve(&p, &s);
    gw_guided_def def = {.set = s.branches[0].set,
                         .mass = {.mass = 2, .com = {0.01, 0.02, 0.03}},
                         .body_from_held = gw_pose_identity(),
                         .length = 0.1};
    def.mass.inertia = (gw_mat3){{{0.02, 0, 0}, {0, 0.03, 0}, {0, 0, 0.01}}};
    gw_guided body;
    gw_guided_init(&body, &def, &s.branches[0].nearest);
    double basis[6][6];
    gw_pose at = body.pose;
    gw_submanifold_tangent(&def.set, &at, 1, basis);
    gw_twist t = {{0, 0, 0}, {0, 0, 0}};
    for (int k = 0; k < def.set.dof; k++, by -= 0.25) {
        t.v = gw_mul_add(t.v, by, gw_v3(basis[k][0], basis[k][1], basis[k][2]));
        t.w = gw_mul_add(t.w, by, gw_v3(basis[k][3], basis[k][4], basis[k][5]));
    }
    gw_guided_set_twist(&body, &t);
    double before, after, potential, worst = 0;
    gw_model_energy(&body.model, &before, &potential);
    for (int i = 0; i < 1000; i++) {
        gw_step step;
        gw_model_step(&body.model, NULL, 1e-3, &step);
        assert_true(step.finite);
        gw_pose x = body.pose;
        worst = fmax(worst, off(c, &x));
    }
    assert_true(worst < 1e-12);
    gw_model_energy(&body.model, &after, &potential);
    print_message("energy %g of %g J, off by %g\n", after - before, before, worst);
    assert_true(before > 0.005 && fabs(after - before) < 1e-9 * before);
}

static void energy_is_kept_along_normals_and_tangents(void **unused)
{
    (void)unused;
    gw_nurbs *surface = saddle_of(1, 0.5), *curve = twisted_cubic();
    for (int swapped = 0; swapped < 2; swapped++) {
        gw_constraint over = nozzle(surface, swapped), along = pen(curve, swapped);
        check_swing(&over, &(gw_pose){{0.2, -0.1, 0.4}, {0, 1, 0, 0}}, 0.3, off_by);
        check_swing(&along, &(gw_pose){{0.2, -0.1, 0.4}, {0.6, 0, 0.8, 0}}, 0.4, off_tangent);
    }
    gw_nurbs_put(surface);
    gw_nurbs_put(curve);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_nozzle_keeps_its_offset_and_its_direction),
        cmocka_unit_test(sets_of_an_offset_end_over_the_edges),
        cmocka_unit_test(either_sense_is_two_branches),
        cmocka_unit_test(an_offset_ends_at_the_focal_distance),
        cmocka_unit_test(a_line_is_tangent_to_a_curve),
        cmocka_unit_test(a_tangent_combines_with_other_constraints),
        cmocka_unit_test(nearest_poses_are_of_the_whole_shape),
        cmocka_unit_test(nearest_poses_are_of_all_bends),
        cmocka_unit_test(the_nearest_pose_has_a_bound_of_work),
        cmocka_unit_test(energy_is_kept_along_normals_and_tangents),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
