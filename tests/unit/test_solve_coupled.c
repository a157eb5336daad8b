/*
 * Closed forms with a rotation parameter on which the translation depends, or of two angles
 * (relational-positioning Table III, fourth row; Table IV, second, third and sixth row): named
 * parameters for the whole set, poses that satisfy what was stated, the nearest pose, both sides.
 */
#include "solve_util.h"

#include "rt/dynamics/guided.h"

/* A point of the body on an element of the world, or an element of the body through a point of the
 * world, that holds at x. */
static gw_constraint on(gw_element_kind kind, bool mobile, const gw_pose *x)
{
    gw_element e = {.kind = kind, .p = vector(), .d = direction()};
    gw_pose back = gw_pose_inverse(x);
    if (!mobile)
        return coincident(point_at(gw_pose_point(&back, e.p)), e);
    return coincident(e, point_at(gw_pose_point(x, e.p)));
}

static gw_constraint at_angle(const gw_pose *x)
{
    gw_element m = line(vector(), vector()), f = line(vector(), vector());
    return angle(m, f, gw_angle_between(gw_rotate(x->q, m.d), f.d));
}

static void assert_parameters(const gw_submanifold *set, const char *names)
{
    gw_submanifold_parameter p[6];
    char text[64] = "";
    int n = gw_submanifold_parameters(set, p);
    assert_int_equal(n, set->dof);
    for (int i = 0; i < n; i++)
        sprintf(text + strlen(text), "%s%s", i ? " " : "", p[i].name);
    assert_string_equal(text, names);
}

/* No sample of the branch is nearer than its nearest pose; each is at its parameters again. */
static void assert_samples(const gw_problem *p, const gw_branch *b)
{
    unsigned long long random = 3;
    for (int k = 0; k < 300; k++) {
        gw_pose x = gw_branch_sample(b, 1, &random), again;
        double z[6];
        for (int i = 0; i < p->count; i++)
            assert_true(gw_constraint_residual(&p->constraints[i], &x, 1) < 2e-9);
        gw_submanifold_parameters_at(&b->set, &x, z);
        assert_true(gw_submanifold_try_pose(&b->set, z, &again));
        assert_true(gw_pose_distance(&x, &again, 1) < 1e-6);
        assert_true(gw_pose_distance(&x, &p->pose, p->length) > b->distance - 1e-9);
    }
}

/* Solved in closed form, with these parameters, the pose x on one of the branches. */
static void check(const gw_constraint *c, int count, const gw_pose *x, int dof, const char *names)
{
    gw_problem p = {random_pose(), 1, count, c};
    gw_solve(&p, &solution);
    assert_int_equal(solution.status, GW_SOLVED);
    assert_int_equal(solution.method, GW_CLOSED_FORM);
    double least = HUGE_VAL;
    for (int i = 0; i < solution.branch_count; i++) {
        const gw_branch *b = &solution.branches[i];
        gw_pose near;
        assert_false(b->set.general);
        assert_int_equal(b->set.dof, dof);
        assert_parameters(&b->set, names);
        assert_samples(&p, b);
        least = fmin(least, gw_submanifold_nearest(&b->set, x, 1, &near));
    }
    assert_true(least < 1e-7);
}

static void tables_three_and_four_have_their_closed_forms(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 40; trial++) {
        gw_pose x = random_pose();
        bool mobile = trial % 2;
        gw_constraint two[] = {at_angle(&x), at_angle(&x)};
        check(two, 2, &x, 4, "psi x y z");
        gw_constraint lines[] = {on(GW_LINE, mobile, &x), on(GW_LINE, mobile, &x)};
        check(lines, 2, &x, 2, "phi theta");
        gw_constraint mixed[] = {on(GW_LINE, mobile, &x), on(GW_PLANE, mobile, &x)};
        check(mixed, 2, &x, 3, "yaw pitch roll");
        gw_constraint planes[] = {on(GW_PLANE, mobile, &x), on(GW_PLANE, mobile, &x)};
        check(planes, 2, &x, 4, "yaw pitch roll s");
    }
}

static void they_combine_with_further_angles_and_places(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 40; trial++) {
        gw_pose x = random_pose();
        bool mobile = trial % 2;
        gw_constraint pin[] = {at_angle(&x), on(GW_POINT, false, &x), at_angle(&x)};
        check(pin, 3, &x, 1, "psi");
        gw_constraint slide[] = {at_angle(&x), on(GW_LINE, mobile, &x), at_angle(&x)};
        check(slide, 3, &x, 2, "psi s");
        gw_constraint planes[] = {on(GW_PLANE, mobile, &x), on(GW_PLANE, mobile, &x), at_angle(&x)};
        check(planes, 3, &x, 3, "phi theta s");
        gw_constraint both[] = {on(GW_PLANE, mobile, &x), at_angle(&x), on(GW_PLANE, mobile, &x),
                                at_angle(&x)};
        check(both, 4, &x, 2, "psi s");
        gw_constraint three[] = {on(GW_PLANE, mobile, &x), on(GW_PLANE, mobile, &x),
                                 on(GW_PLANE, mobile, &x)};
        check(three, 3, &x, 3, "yaw pitch roll");
    }
}

/* A guided body without loads keeps its energy, and stays on the set by its charts alone. */
static void a_guided_body_keeps_to_the_set(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 6; trial++) {
        gw_pose x = random_pose();
        gw_constraint c[] = {on(GW_PLANE, trial % 2, &x), on(GW_PLANE, trial % 2, &x), at_angle(&x),
                             at_angle(&x)};
        gw_problem p = {x, 0.3, 4, c};
        gw_solve(&p, &solution);
        assert_int_equal(solution.method, GW_CLOSED_FORM);
        gw_guided_def def = {
            .set = solution.branches[0].set,
            .mass = {.mass = 2, .inertia = {{{2e-2, 0, 0}, {0, 3e-2, 0}, {0, 0, 1e-2}}}},
            .body_from_held = gw_pose_identity(),
            .length = 0.3};
        gw_guided body;
        gw_guided_init(&body, &def, &solution.branches[0].nearest);
        gw_twist push = {gw_scale(0.5, vector()), gw_scale(2, vector())};
        gw_guided_set_twist(&body, &push);
        double before, after, potential;
        gw_model_energy(&body.model, &before, &potential);
        for (int i = 0; i < 1000; i++) {
            gw_step step;
            gw_model_step(&body.model, NULL, 1e-3, &step);
            assert_true(step.finite);
        }
        gw_pose now = body.pose;
        for (int i = 0; i < 4; i++)
            assert_true(gw_constraint_residual(&c[i], &now, 1) < 1e-9);
        gw_model_energy(&body.model, &after, &potential);
        assert_true(before > 1e-3 && fabs(after - before) < 1e-6 * before);
        assert_true(gw_pose_distance(&now, &x, 0.3) > 1e-3);
    }
}

/* The least local minimum, 1.5557, has no point of the search's grid that is lower than all those
 * around it; another one, 1.5641, has. */
static void the_nearest_pose_is_in_the_lowest_valley(void **state)
{
    (void)state;
    gw_constraint c[2] = {
        coincident(
            point_at(gw_v3(-0.19132581627854961, 0.061313741991762073, -0.037635018331639007)),
            line(gw_v3(-0.16471024366810327, -0.2790357457107932, -0.17182061337386093),
                 gw_v3(0.56309823861243591, -0.66686367674154512, 0.48807090705585043))),
        coincident(
            point_at(gw_v3(-0.13216442164557521, -0.14205560795380734, -0.045850735573912976)),
            line(gw_v3(0.093330843236928057, -0.3196076639568825, -0.18587482732995372),
                 gw_v3(-0.27887559030547121, 0.76176590077178907, -0.58475731509158557)))};
    gw_pose now = {
        {-0.26238106801574756, -0.22954172710860801, 0.2800853815060691},
        {0.80756109241026763, -0.0030192346789986216, -0.16310721918693372, -0.56677332443949213}};
    gw_problem p = {now, 1, 2, c};
    gw_solve(&p, &solution);
    assert_int_equal(solution.branch_count, 1);
    assert_true(fabs(solution.branches[0].distance - 1.5556806040911635) < 1e-9);
    assert_samples(&p, &solution.branches[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_three_and_four_have_their_closed_forms),
        cmocka_unit_test(they_combine_with_further_angles_and_places),
        cmocka_unit_test(a_guided_body_keeps_to_the_set),
        cmocka_unit_test(the_nearest_pose_is_in_the_lowest_valley),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
