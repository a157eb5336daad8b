/*
 * Random constraints that hold at a known pose (tests/oracle/making.h makes them hold), general or
 * of a lattice, for the solver's tests.
 */
#ifndef GW_TESTS_UNIT_PLANTING_H
#define GW_TESTS_UNIT_PLANTING_H

#include "solve_util.h"
#include "tests/oracle/making.h"

__attribute__((unused)) static int below(int n)
{
    return (int)((uniform() + 1) / 2 * n) % n;
}

__attribute__((unused)) static gw_vec3 lattice_point(void)
{
    return gw_v3(below(3) - 1, below(3) - 1, below(3) - 1);
}

__attribute__((unused)) static gw_vec3 lattice_direction(void)
{
    gw_vec3 d;
    do
        d = lattice_point();
    while (gw_norm2(d) == 0);
    return gw_unit(d);
}

/* One of the 24 turns of the lattice. */
__attribute__((unused)) static gw_quat lattice_rotation(void)
{
    gw_vec3 axes[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    gw_quat q = gw_quat_identity();
    for (int i = 0; i < 3; i++)
        q = gw_quat_mul(gw_quat_axis(axes[i], below(4) * GW_PI / 2), q);
    return gw_quat_unit(q);
}

__attribute__((unused)) static gw_element element(bool lattice)
{
    gw_element e = {.kind = (gw_element_kind)below(3),
                    .p = lattice ? lattice_point() : vector(),
                    .d = lattice ? lattice_direction() : direction()};
    return e;
}

/* Two points, lines or planes and a kind that fits them. */
static gw_constraint some_kind(bool lattice)
{
    gw_constraint c = {0};
    do {
        c.kind = (gw_constraint_kind)below(GW_TANGENT);
        c.sense = (gw_sense)below(3);
        c.mobile = element(lattice);
        c.fixed = element(lattice);
    } while (!gw_constraint_fits(c.kind, c.mobile.kind, c.fixed.kind, NULL));
    return c;
}

/* A constraint that holds at x; a sense that is open is met either way, a distance of planes along
 * either normal. */
__attribute__((unused)) static gw_constraint planted(const gw_pose *x, bool lattice)
{
    gw_constraint c = some_kind(lattice);
    gw_sense stated = c.sense;
    unsigned long long unused = 0;
    if (stated == GW_EITHER && gw_constraint_has_sense(c.kind, c.mobile.kind, c.fixed.kind))
        c.sense = below(2) ? GW_SAME : GW_OPPOSITE;
    if (c.kind == GW_DISTANCE && c.mobile.kind == GW_PLANE && c.fixed.kind == GW_PLANE)
        c.reversed = below(2);
    making_hold(&c, x, &unused);
    c.sense = stated;
    return c;
}

/* Prints a problem as `guideway solve` takes it. */
__attribute__((unused)) static void print_problem(const gw_constraint *c, int count)
{
    gw_problem p = problem_of(c, count);
    making_print(stdout, &p);
}

#endif
