/*
 * Constraints made around a known pose, and problems told in full where a test fails.
 */
#ifndef GW_TESTS_UNIT_PLANTING_H
#define GW_TESTS_UNIT_PLANTING_H

#include "solve_util.h"

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
    gw_element e = {(gw_element_kind)below(3), lattice ? lattice_point() : vector(),
                    lattice ? lattice_direction() : direction()};
    return e;
}

/* Turns the direction of `f` so that the constraint's angle holds with m (both in the world). */
__attribute__((unused)) static void align(gw_constraint *c, const gw_element *m, bool lattice)
{
    bool mixed = m->kind != c->fixed.kind;
    bool along = gw_constraint_has_sense(c->kind, m->kind, c->fixed.kind);
    gw_vec3 *d = &c->fixed.d;
    if (m->kind == GW_POINT || c->fixed.kind == GW_POINT)
        return;
    if (c->kind == GW_ANGLE) {
        double between = gw_angle_between(m->d, *d);
        c->value = mixed ? GW_PI / 2 - between : between;
    } else if (along) {
        bool same = c->sense == GW_SAME || (c->sense == GW_EITHER && below(2));
        *d = same ? m->d : gw_neg(m->d);
    } else {
        gw_vec3 out = gw_reject(*d, m->d);
        *d = gw_norm(out) > 1e-6 ? gw_unit(out) : gw_any_normal(m->d);
        (void)lattice;
    }
}

/* Moves the fixed element, or takes the value, so that the distance holds. */
__attribute__((unused)) static void place(gw_constraint *c, const gw_element *m)
{
    gw_element *f = &c->fixed;
    bool coincident_kind = c->kind == GW_COINCIDENT;
    gw_vec3 gap = gw_sub(m->p, f->p); /* from f to m */
    if (f->kind == GW_PLANE) {
        double h = gw_dot(f->d, gap);
        if (coincident_kind)
            f->p = gw_mul_add(f->p, h, f->d);
        else
            c->value = h;
        if (m->kind == GW_PLANE && !coincident_kind && below(2)) {
            c->reversed = true;
            c->value = -gw_dot(m->d, gap);
        }
    } else if (m->kind == GW_PLANE) {
        double h = -gw_dot(m->d, gap);
        if (coincident_kind)
            f->p = gw_mul_add(f->p, -h, m->d);
        else
            c->value = h;
    } else {
        gw_vec3 out = f->kind == GW_LINE   ? gw_reject(gap, f->d)
                      : m->kind == GW_LINE ? gw_reject(gap, m->d)
                                           : gap;
        if (coincident_kind)
            f->p = gw_add(f->p, out);
        else
            c->value = gw_norm(out);
    }
}

/* Two elements and a kind that fits them. */
static gw_constraint some_kind(bool lattice)
{
    gw_constraint c = {0};
    do {
        c.kind = (gw_constraint_kind)below(5);
        c.sense = (gw_sense)below(3);
        c.mobile = element(lattice);
        c.fixed = element(lattice);
    } while (!gw_constraint_fits(c.kind, c.mobile.kind, c.fixed.kind, NULL));
    return c;
}

__attribute__((unused)) static gw_constraint planted(const gw_pose *x, bool lattice)
{
    gw_constraint c = some_kind(lattice);
    gw_element m = gw_element_moved(x, &c.mobile);
    align(&c, &m, lattice);
    if (c.kind == GW_DISTANCE || c.kind == GW_COINCIDENT)
        place(&c, &m);
    return c;
}

__attribute__((unused)) static void describe(const gw_constraint *c, int count)
{
    static const char *const kinds[] = {"distance", "angle", "coincident", "parallel",
                                        "perpendicular"};
    for (int i = 0; i < count; i++)
        printf("  %s sense %d value %.17g reversed %d\n    %s (%.17g %.17g %.17g) (%.17g %.17g "
               "%.17g)\n    %s (%.17g %.17g %.17g) (%.17g %.17g %.17g)\n",
               kinds[c[i].kind], c[i].sense, c[i].value, c[i].reversed,
               gw_element_kind_name(c[i].mobile.kind), c[i].mobile.p.x, c[i].mobile.p.y,
               c[i].mobile.p.z, c[i].mobile.d.x, c[i].mobile.d.y, c[i].mobile.d.z,
               gw_element_kind_name(c[i].fixed.kind), c[i].fixed.p.x, c[i].fixed.p.y,
               c[i].fixed.p.z, c[i].fixed.d.x, c[i].fixed.d.y, c[i].fixed.d.z);
}

#endif
