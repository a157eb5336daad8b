/*
 * Problems made around a known pose: none may be refused, and the pose must be on a branch. Points
 * and directions come from a small lattice, so that special positions are frequent.
 */
#include "solve_util.h"

#include "rt/solve/solve_internal.h"

static int below(int n)
{
    return (int)((uniform() + 1) / 2 * n) % n;
}

static gw_vec3 lattice_point(void)
{
    return gw_v3(below(3) - 1, below(3) - 1, below(3) - 1);
}

static gw_vec3 lattice_direction(void)
{
    gw_vec3 d;
    do
        d = lattice_point();
    while (gw_norm2(d) == 0);
    return gw_unit(d);
}

/* One of the 24 turns of the lattice. */
static gw_quat lattice_rotation(void)
{
    gw_vec3 axes[] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    gw_quat q = gw_quat_identity();
    for (int i = 0; i < 3; i++)
        q = gw_quat_mul(gw_quat_axis(axes[i], below(4) * GW_PI / 2), q);
    return gw_quat_unit(q);
}

static gw_element element(bool lattice)
{
    gw_element e = {(gw_element_kind)below(3), lattice ? lattice_point() : vector(),
                    lattice ? lattice_direction() : direction()};
    return e;
}

/* Turns the direction of `f` so that the constraint's angle holds with m (both in the world). */
static void align(gw_constraint *c, const gw_element *m, bool lattice)
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
static void place(gw_constraint *c, const gw_element *m)
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

static gw_constraint planted(const gw_pose *x, bool lattice)
{
    gw_constraint c = {0};
    do {
        c.kind = (gw_constraint_kind)below(5);
        c.sense = (gw_sense)below(3);
        c.mobile = element(lattice);
        c.fixed = element(lattice);
    } while (!gw_constraint_fits(c.kind, c.mobile.kind, c.fixed.kind, NULL));
    gw_element m = gw_element_moved(x, &c.mobile);
    align(&c, &m, lattice);
    if (c.kind == GW_DISTANCE || c.kind == GW_COINCIDENT)
        place(&c, &m);
    return c;
}

static void describe(const gw_constraint *c, int count)
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

static int numeric_count, total_count;

/* Solves with the planted pose as the present one: a branch must be there. */
static void check_planted(const gw_constraint *c, int count, const gw_pose *x)
{
    gw_problem p = {*x, 1, count, c};
    solve(&p);
    total_count++;
    numeric_count += solution.method == GW_NUMERIC;
    double near = 1e-3; /* multiple roots hold to the cube root of round-off */
    if (solution.status != GW_SOLVED || !(solution.branches[0].distance < near)) {
        describe(c, count);
        for (int i = 0; i < solution.trace_count; i++)
            printf("  trace: %s\n", solution.trace[i].rule);
        fail_msg("status %d, distance %g, method %d, %d branches, condition %s, trial seed %llu",
                 solution.status, solution.branch_count ? solution.branches[0].distance : -1,
                 solution.method, solution.branch_count,
                 solution.status == GW_STATUS_INCOMPATIBLE ? solution.conflict.condition : "-",
                 seed);
    }
}

static void run(int trials, int count, bool lattice_rotations, bool lattice)
{
    numeric_count = total_count = 0;
    for (int trial = 0; trial < trials; trial++) {
        gw_constraint c[8];
        gw_pose x = {lattice ? lattice_point() : vector(),
                     lattice_rotations ? lattice_rotation() : rotation()};
        for (int i = 0; i < count; i++)
            c[i] = planted(&x, lattice);
        check_planted(c, count, &x);
    }
    printf("%d constraints: %d of %d numeric\n", count, numeric_count, total_count);
}

static void single_constraints_are_closed_forms(void **unused)
{
    (void)unused;
    run(400, 1, false, false);
    assert_int_equal(numeric_count, 0);
    run(400, 1, true, true);
    assert_int_equal(numeric_count, 0);
}

static void pairs_are_never_refused(void **unused)
{
    (void)unused;
    run(150, 2, false, false);
    run(400, 2, true, true);
    run(400, 2, false, true);
}

static void more_are_never_refused(void **unused)
{
    (void)unused;
    for (int count = 3; count < 6; count++) {
        run(60, count, false, false);
        run(200, count, true, true);
    }
}

/* Poses found by Newton's method on the fundamental rows from anywhere: none may be missing. */
static void found_poses_are_listed(int trials, int count, bool lattice_rotations, bool lattice)
{
    for (int trial = 0; trial < trials; trial++) {
        gw_constraint c[8];
        gw_pose x = {lattice ? lattice_point() : vector(),
                     lattice_rotations ? lattice_rotation() : rotation()};
        for (int i = 0; i < count; i++)
            c[i] = planted(&x, lattice);
        gw_problem p = {x, 1, count, c};
        double size = fmax(size_of(&p), 1e-3);
        gw_run run_all = {.problem = &p, .use = ~0ul};
        static gw_state state;
        memset(&state, 0, sizeof state);
        for (int i = 0; i < count; i++)
            gw_decompose(&run_all, &state, i, c[i].sense == GW_EITHER ? GW_SAME : c[i].sense);
        gw_row rows[GW_MAX_ROWS];
        int n = 0;
        for (int i = 0; i < state.place_count; i++)
            n += gw_place_rows(&state.places[i], rows + n);
        for (int i = 0; i < state.direction_count; i++)
            n += gw_direction_rows(&state.directions[i], rows + n);
        for (int start = 0; start < 12; start++) {
            gw_pose y = random_pose();
            double residual = 0;
            if (gw_rows_project(rows, n, 1, 60, &y) > 1e-12)
                continue;
            for (int i = 0; i < count; i++)
                residual = fmax(residual, gw_constraint_residual(&c[i], &y, size));
            if (residual < 1e-11)
                check_planted(c, count, &y);
        }
    }
}

static void no_pose_is_missing(void **unused)
{
    (void)unused;
    for (int count = 1; count < 5; count++) {
        found_poses_are_listed(12, count, false, false);
        found_poses_are_listed(25, count, true, true);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(single_constraints_are_closed_forms),
        cmocka_unit_test(pairs_are_never_refused),
        cmocka_unit_test(more_are_never_refused),
        cmocka_unit_test(no_pose_is_missing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
