/*
 * Short ways to state problems, for the solver's tests.
 */
#ifndef GW_TESTS_UNIT_SOLVE_UTIL_H
#define GW_TESTS_UNIT_SOLVE_UTIL_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "rt/positioning/solve.h"

__attribute__((unused)) static gw_solution solution;
__attribute__((unused)) static unsigned long long seed = 1;

__attribute__((unused)) static double uniform(void)
{
    seed = seed * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(seed >> 11) / 9007199254740992.0 * 2 - 1;
}

__attribute__((unused)) static gw_vec3 vector(void)
{
    return gw_v3(uniform(), uniform(), uniform());
}

__attribute__((unused)) static gw_vec3 direction(void)
{
    return gw_unit(vector());
}

__attribute__((unused)) static gw_quat rotation(void)
{
    return gw_quat_unit((gw_quat){uniform(), uniform(), uniform(), uniform()});
}

__attribute__((unused)) static gw_pose random_pose(void)
{
    return (gw_pose){vector(), rotation()};
}

__attribute__((unused)) static gw_element point(double x, double y, double z)
{
    return (gw_element){.kind = GW_POINT, .p = {x, y, z}, .d = {0, 0, 0}};
}

__attribute__((unused)) static gw_element point_at(gw_vec3 p)
{
    return (gw_element){.kind = GW_POINT, .p = p, .d = {0, 0, 0}};
}

__attribute__((unused)) static gw_element line(gw_vec3 p, gw_vec3 d)
{
    return (gw_element){.kind = GW_LINE, .p = p, .d = gw_unit(d)};
}

__attribute__((unused)) static gw_element plane(gw_vec3 p, gw_vec3 n)
{
    return (gw_element){.kind = GW_PLANE, .p = p, .d = gw_unit(n)};
}

__attribute__((unused)) static gw_constraint coincident(gw_element m, gw_element f)
{
    return (gw_constraint){GW_COINCIDENT, GW_EITHER, 0, false, m, f};
}

__attribute__((unused)) static gw_constraint distance(gw_element m, gw_element f, double value)
{
    return (gw_constraint){GW_DISTANCE, GW_EITHER, value, false, m, f};
}

__attribute__((unused)) static gw_constraint angle(gw_element m, gw_element f, double value)
{
    return (gw_constraint){GW_ANGLE, GW_EITHER, value, false, m, f};
}

__attribute__((unused)) static gw_constraint sensed(gw_constraint c, gw_sense sense)
{
    c.sense = sense;
    return c;
}

__attribute__((unused)) static gw_problem problem_of(const gw_constraint *c, int count)
{
    return (gw_problem){gw_pose_identity(), 1, count, c};
}

/* Largest coordinate or value of a problem, at least a length that stands for none. */
__attribute__((unused)) static double size_of(const gw_problem *p)
{
    double size = 0;
    for (int i = 0; i < p->count; i++) {
        const gw_constraint *c = &p->constraints[i];
        size = fmax(size, fmax(gw_norm(c->mobile.p), gw_norm(c->fixed.p)));
        if (c->kind == GW_DISTANCE)
            size = fmax(size, fabs(c->value));
    }
    return fmax(size, 1e-4 * p->length);
}

/* Every branch's nearest pose, and samples of it, satisfy every constraint and its own rows. */
__attribute__((unused)) static void assert_sound(const gw_problem *p, const gw_solution *s)
{
    double size = size_of(p);
    unsigned long long random = 3;
    for (int b = 0; b < s->branch_count; b++)
        for (int k = 0; k < 8; k++) {
            const gw_branch *branch = &s->branches[b];
            gw_pose x = k == 0 ? branch->nearest : gw_branch_sample(branch, size, &random);
            double h[GW_MAX_ROWS], slack = 1e-9;
            for (int i = 0; i < p->count; i++) {
                double r = gw_constraint_residual(&p->constraints[i], &x, size);
                if (!(r < slack * size))
                    fail_msg("branch %s, pose %d, constraint %d: residual %g", branch->id, k, i,
                             r / size);
            }
            gw_rows_value(branch->set.rows, branch->set.row_count, &x, h);
            for (int i = 0; i < branch->set.row_count; i++)
                assert_true(fabs(h[i]) <
                            slack * (branch->set.rows[i].kind == GW_ROW_ANGLE ? 1 : size));
        }
}

__attribute__((unused)) static void solve(const gw_problem *p)
{
    gw_error error;
    if (!gw_problem_check(p, &error))
        fail_msg("%s: %s", error.where, error.message);
    gw_solve(p, &solution);
    assert_sound(p, &solution);
}

__attribute__((unused)) static void solve_set(const gw_constraint *c, int count)
{
    gw_problem p = problem_of(c, count);
    solve(&p);
}

__attribute__((unused)) static void assert_mobility(int branches, int turns, int slides)
{
    if (solution.status != GW_SOLVED || solution.branch_count != branches ||
        solution.branches[0].set.rotation.dof != turns ||
        solution.branches[0].set.translation.dof != slides)
        fail_msg("status %d, %d branches, %dR%dT (wanted %d of %dR%dT); residual %g",
                 solution.status, solution.branch_count, solution.branches[0].set.rotation.dof,
                 solution.branches[0].set.translation.dof, branches, turns, slides,
                 solution.best_residual);
    assert_int_equal(solution.dof, turns + slides);
    for (int i = 0; i < solution.branch_count; i++)
        assert_int_equal(solution.branches[i].set.row_count, 6 - turns - slides);
}

__attribute__((unused)) static void assert_vec(gw_vec3 a, gw_vec3 b, double tolerance)
{
    if (!(gw_distance(a, b) <= tolerance))
        fail_msg("(%.12g %.12g %.12g) is not (%.12g %.12g %.12g)", a.x, a.y, a.z, b.x, b.y, b.z);
}

#endif
