/*
 * Assemblies that everyone knows, with the freedoms that everyone knows them by: pegs, hinges,
 * slides, couplings, a platform on six legs.
 */
#include "solve_util.h"

#define ANY (-1)

typedef struct mate {
    const char *name;
    int count;
    gw_constraint c[10];
    int branches, turns, slides; /* ANY: not the same on all branches, or not told apart */
    int dof, redundant;          /* ANY: an implementation may tell more or less */
} mate;

/* Elements by coordinates: points, lines, planes of the body and of the world alike. */
#define P(x, y, z)             point(x, y, z)
#define L(x, y, z, dx, dy, dz) line(gw_v3(x, y, z), gw_v3(dx, dy, dz))
#define N(x, y, z, nx, ny, nz) plane(gw_v3(x, y, z), gw_v3(nx, ny, nz))
#define SAME(m, f)             sensed(coincident(m, f), GW_SAME)
#define FACE(m, f)             sensed(coincident(m, f), GW_OPPOSITE)

static gw_constraint along(gw_element m, gw_element f, gw_sense sense)
{
    return (gw_constraint){GW_PARALLEL, sense, 0, false, m, f};
}

static gw_constraint across(gw_element m, gw_element f)
{
    return (gw_constraint){GW_PERPENDICULAR, GW_EITHER, 0, false, m, f};
}

static void check(const mate *m)
{
    solve_set(m->c, m->count);
    if (solution.status != GW_SOLVED)
        fail_msg("%s: status %d", m->name, solution.status);
    if (solution.dof != m->dof)
        fail_msg("%s: %d freedoms, not %d", m->name, solution.dof, m->dof);
    if (m->branches != ANY && solution.branch_count != m->branches)
        fail_msg("%s: %d branches, not %d", m->name, solution.branch_count, m->branches);
    if (m->redundant != ANY && solution.redundant_count != m->redundant)
        fail_msg("%s: %d redundant, not %d", m->name, solution.redundant_count, m->redundant);
    for (int i = 0; i < solution.branch_count && m->turns != ANY; i++) {
        const gw_submanifold *set = &solution.branches[i].set;
        if (set->rotation.dof != m->turns || set->translation.dof != m->slides)
            fail_msg("%s: branch %s turns %d, slides %d, not %d, %d", m->name,
                     solution.branches[i].id, set->rotation.dof, set->translation.dof, m->turns,
                     m->slides);
    }
}

#define CHECK(name, branches, turns, slides, redundant, ...)                                       \
    do {                                                                                           \
        const gw_constraint list[] = {__VA_ARGS__};                                                \
        mate m = {name,                                                                            \
                  (int)(sizeof list / sizeof *list),                                               \
                  {{0}},                                                                           \
                  branches,                                                                        \
                  turns,                                                                           \
                  slides,                                                                          \
                  (turns) + (slides),                                                              \
                  redundant};                                                                      \
        memcpy(m.c, list, sizeof list);                                                            \
        check(&m);                                                                                 \
    } while (0)

static void joints_have_their_freedoms(void **unused)
{
    (void)unused;
    gw_element axis = L(0, 0, 0, 0, 0, 1), top = N(0, 0, 0, 0, 0, 1), hole = L(3, 2, 0, 1, 0, 0),
               seat = N(3, 2, 5, 1, 0, 0);
    CHECK("ball joint", 1, 3, 0, 0, coincident(P(1, 0, 0), P(0, 2, 0)));
    CHECK("ball in a groove", 1, 3, 1, 0, coincident(P(1, 0, 0), hole));
    CHECK("ball on a table", 1, 3, 2, 0, distance(P(1, 0, 0), seat, 0.5));
    CHECK("rod with two balls", 1, 3, 2, 0, distance(P(1, 0, 0), P(0, 2, 0), 4));
    CHECK("peg in a hole", 1, 1, 1, 0, SAME(axis, hole));
    CHECK("peg in a hole, either way", 2, 1, 1, 0, coincident(axis, hole));
    CHECK("peg to its shoulder", 1, 1, 0, 0, SAME(axis, hole), SAME(top, seat));
    CHECK("plate on a table", 1, 1, 2, 0, FACE(top, seat));
    CHECK("keyed shaft", 1, 0, 1, 0, SAME(axis, hole),
          SAME(N(0, 0, 0, 1, 0, 0), N(3, 2, 0, 0, 1, 0)));
    CHECK("hinge of two points", 1, 1, 0, 0, coincident(P(0, 0, 0), P(1, 1, 1)),
          coincident(P(0, 0, 2), P(1, 3, 1)));
    CHECK("universal joint", 1, 2, 0, 0, coincident(P(0, 0, 0), P(1, 1, 1)),
          across(axis, L(1, 1, 1, 0, 1, 0)));
    CHECK("dovetail", 1, 0, 1, 0, FACE(N(0, 0, 0, 0, 0, -1), N(0, 0, 1, 0, 0, 1)),
          FACE(N(1, 0, 0, 1, 0, 1), N(1, 0, 1, -1, 0, -1)));
    CHECK("cross slide", 1, 0, 2, 0, FACE(top, seat),
          along(L(0, 0, 0, 1, 0, 0), L(0, 0, 0, 0, 1, 0), GW_SAME));
    CHECK("crank, axes parallel at a distance", 1, 1, 2, 0,
          sensed(distance(axis, hole, 0.7), GW_SAME));
    CHECK("two pins in one slot", 2, 1, 1, 0, coincident(P(0, 0, 0), hole),
          coincident(P(0, 0, 2), hole));
}

static void tangent_bodies_have_their_freedoms(void **unused)
{
    (void)unused;
    gw_element axis = L(0, 0, 0, 0, 0, 1), left = N(0, 0, 0, 1, 1, 0), right = N(0, 0, 0, -1, 1, 0),
               wall = N(0, 0, 0, 0, 0, 1);
    CHECK("ball in a vee", 1, 3, 1, 0, distance(P(1, 2, 3), left, 0.5),
          distance(P(1, 2, 3), right, 0.5));
    CHECK("ball in a corner", 1, 3, 0, 0, distance(P(1, 2, 3), left, 0.5),
          distance(P(1, 2, 3), right, 0.5), distance(P(1, 2, 3), wall, 0.5));
    CHECK("cylinder on a table", 1, 2, 2, 0, distance(axis, wall, 0.5));
    CHECK("cylinder in a vee", 2, 1, 1, 0, distance(axis, left, 0.5), distance(axis, right, 0.5));
    CHECK("ball in a tube's end, against its wall", 1, 3, 1, 0, distance(P(0, 0, 0), axis, 0.2),
          coincident(P(0, 0, 0), wall));
    CHECK("ball between a ball and a table, touching both", 1, 3, 1, 0,
          distance(P(0, 0, 0), P(0, 0, 1), 2), distance(P(0, 0, 0), wall, 0.5));
    CHECK("ball on a ball, on top", 1, 3, 0, 0, distance(P(0, 0, 0), P(0, 0, 1), 2),
          distance(P(0, 0, 0), wall, 3));
}

static void located_bodies_are_fixed(void **unused)
{
    (void)unused;
    CHECK("box in a corner", 1, 0, 0, 0, FACE(N(-1, 0, 0, -1, 0, 0), N(0, 0, 0, 1, 0, 0)),
          FACE(N(0, -2, 0, 0, -1, 0), N(0, 0, 0, 0, 1, 0)),
          FACE(N(0, 0, -3, 0, 0, -1), N(0, 0, 0, 0, 0, 1)));
    CHECK("box on locators, 3-2-1", 4, 0, 0, 0, coincident(P(1, 1, 0), N(0, 0, 0, 0, 0, 1)),
          coincident(P(-1, 1, 0), N(0, 0, 0, 0, 0, 1)),
          coincident(P(0, -1, 0), N(0, 0, 0, 0, 0, 1)),
          coincident(P(1, 0, 0.2), N(1, 0, 0, 1, 0, 0)),
          coincident(P(1, 0.5, 0.3), N(1, 0, 0, 1, 0, 0)),
          coincident(P(0, 1, 0.2), N(0, 1, 0, 0, 1, 0)));
    /* socket, groove that points at it, flat that holds both: the groove's ball on either side,
     * the third one on either side of their line */
    CHECK("Kelvin coupling", 4, 0, 0, 0, coincident(P(0, 0, 0), P(0, 0, 0)),
          coincident(P(3, 0, 0), L(0, 0, 0, 1, 0, 0)), coincident(P(1, 2, 0), N(0, 0, 0, 0, 0, 1)));
}

/*
 * Three balls at radius r on three radial grooves: at s_i along them, s_i^2 + s_i s_j + s_j^2 =
 * 3 r^2 for each pair. So all s are r, or all are -r; or they add up to zero, a curve: the triangle
 * turned over runs in three lines through one point (Cardan's motion).
 */
static void a_maxwell_coupling_holds_and_turned_over_runs(void **unused)
{
    (void)unused;
    gw_constraint c[3];
    for (int i = 0; i < 3; i++) {
        gw_vec3 u = {cos(2 * i * GW_PI / 3), sin(2 * i * GW_PI / 3), 0};
        c[i] = coincident(point_at(gw_scale(2, u)), line(gw_v3(0, 0, 0), u));
    }
    solve_set(c, 3);
    assert_int_equal(solution.status, GW_SOLVED);
    assert_int_equal(solution.dof, 1);
    int poses = 0, curves = 0;
    for (int i = 0; i < solution.branch_count; i++) {
        poses += solution.branches[i].set.dof == 0;
        curves += solution.branches[i].set.dof == 1;
    }
    assert_int_equal(poses, 2);
    assert_int_equal(curves, 1);
    assert_true(solution.branches[0].distance < 1e-9);
}

static void more_than_needed_is_true_and_told(void **unused)
{
    (void)unused;
    gw_element base = N(0, 0, 0, 0, 0, -1), bed = N(0, 0, 1, 0, 0, 1);
    CHECK("plate on two pins", 1, 0, 0, 0, FACE(base, bed),
          SAME(L(0, 0, 0, 0, 0, 1), L(5, 5, 0, 0, 0, 1)),
          SAME(L(2, 0, 0, 0, 0, 1), L(5, 7, 0, 0, 0, 1)));
    CHECK("flange on four bolts", 1, 0, 0, 2, FACE(base, bed),
          SAME(L(1, 1, 0, 0, 0, 1), L(6, 6, 0, 0, 0, 1)),
          SAME(L(-1, 1, 0, 0, 0, 1), L(4, 6, 0, 0, 0, 1)),
          SAME(L(-1, -1, 0, 0, 0, 1), L(4, 4, 0, 0, 0, 1)),
          SAME(L(1, -1, 0, 0, 0, 1), L(6, 4, 0, 0, 0, 1)));
    CHECK("shaft in two bearings", 1, 1, 1, 1, SAME(L(0, 0, 0, 0, 0, 1), L(1, 0, 0, 1, 0, 0)),
          SAME(L(0, 0, 9, 0, 0, 1), L(8, 0, 0, 1, 0, 0)));
    CHECK("door on two hinges", 1, 1, 0, 1, SAME(L(0, 0, 0, 0, 0, 1), L(0, 0, 0, 0, 0, 1)),
          SAME(L(0, 0, 2, 0, 0, 1), L(0, 0, 2, 0, 0, 1)), coincident(P(0, 0, 0), P(0, 0, 0)));
    CHECK("table on four legs", 2, 1, 2, 1, coincident(P(1, 1, 0), bed),
          coincident(P(-1, 1, 0), bed), coincident(P(-1, -1, 0), bed),
          coincident(P(1, -1, 0), bed));
    CHECK("ruler on three points", 1, 2, 2, 1, coincident(P(0, 0, 0), bed),
          coincident(P(1, 0, 0), bed), coincident(P(3, 0, 0), bed));
    CHECK("slide between two faces", 1, 1, 2, 1, FACE(base, bed),
          FACE(N(0, 0, 2, 0, 0, 1), N(0, 0, 3, 0, 0, -1)));
}

static void what_does_not_fit_is_refused(void **unused)
{
    (void)unused;
    gw_element base = N(0, 0, 0, 0, 0, -1), bed = N(0, 0, 1, 0, 0, 1);
    const gw_constraint sets[][3] = {
        {FACE(base, bed), FACE(N(0, 0, 2, 0, 0, 1), N(0, 0, 3.1, 0, 0, -1)), FACE(base, bed)},
        {FACE(base, bed), SAME(L(0, 0, 0, 0, 0, 1), L(5, 5, 0, 0, 0, 1)),
         SAME(L(2, 0, 0, 0, 0, 1), L(5, 7.01, 0, 0, 0, 1))},
        {coincident(P(0, 0, 0), P(1, 1, 1)), coincident(P(0, 0, 0), P(1, 1, 1.001)),
         coincident(P(0, 0, 0), P(1, 1, 1))},
        {distance(P(0, 0, 0), P(0, 0, 0), 1), distance(P(0, 0, 0), P(3, 0, 0), 1),
         coincident(P(1, 0, 0), bed)},
        {FACE(base, bed), across(N(0, 0, 0, 0, 1, 1), N(0, 0, 0, 0, 0, 1)), FACE(base, bed)},
    };
    for (size_t i = 0; i < sizeof sets / sizeof *sets; i++) {
        solve_set(sets[i], 3);
        if (solution.status != GW_STATUS_INCOMPATIBLE)
            fail_msg("set %zu: status %d", i, solution.status);
    }
}

/* Legs of given lengths between a platform and its base: isolated poses, the planted one among
 * them, as many as 40 and an even number. */
static void a_platform_on_six_legs_has_isolated_poses(void **unused)
{
    (void)unused;
    for (int trial = 0; trial < 6; trial++) {
        gw_constraint c[6];
        gw_pose x = random_pose();
        for (int i = 0; i < 6; i++) {
            gw_vec3 m = vector(), f = vector();
            c[i] = distance(point_at(m), point_at(f), gw_distance(gw_pose_point(&x, m), f));
        }
        gw_problem p = {x, 1, 6, c};
        solve(&p);
        assert_int_equal(solution.status, GW_SOLVED);
        assert_int_equal(solution.dof, 0);
        assert_int_equal(solution.branch_count % 2, 0);
        assert_in_range(solution.branch_count, 2, 40);
        assert_true(solution.branches[0].distance < 1e-6);
    }
}

static void legs_fewer_than_six_leave_as_many_freedoms(void **unused)
{
    (void)unused;
    for (int legs = 1; legs < 6; legs++) {
        gw_constraint c[6];
        gw_pose x = random_pose();
        for (int i = 0; i < legs; i++) {
            gw_vec3 m = vector(), f = vector();
            c[i] = distance(point_at(m), point_at(f), gw_distance(gw_pose_point(&x, m), f));
        }
        gw_problem p = {x, 1, legs, c};
        solve(&p);
        assert_int_equal(solution.status, GW_SOLVED);
        assert_int_equal(solution.dof, 6 - legs);
        assert_true(solution.branches[0].distance < 1e-6);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joints_have_their_freedoms),
        cmocka_unit_test(tangent_bodies_have_their_freedoms),
        cmocka_unit_test(located_bodies_are_fixed),
        cmocka_unit_test(a_maxwell_coupling_holds_and_turned_over_runs),
        cmocka_unit_test(more_than_needed_is_true_and_told),
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(a_platform_on_six_legs_has_isolated_poses),
        cmocka_unit_test(legs_fewer_than_six_leave_as_many_freedoms),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
