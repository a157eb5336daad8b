/*
 * One branch tracked while its elements move (solve_branch.c).
 */
#include "planting.h"

#define STEPS 1000

static double frac(double x)
{
    return x - floor(x);
}

/* A smooth motion of three numbers, its own for each `k`. */
static gw_vec3 sway(int k, double t)
{
    double a = 6.3 * frac(0.618 * k), b = 6.3 * frac(0.414 * k), c = 6.3 * frac(0.732 * k);
    return gw_v3(sin(t + a) - sin(a), sin(1.3 * t + b) - sin(b), sin(0.7 * t + c) - sin(c));
}

static gw_pose sway_pose(int k, double t)
{
    return (gw_pose){sway(k, t), gw_quat_exp(sway(k + 1, t))};
}

/* Rigidly: the set moves along, whatever it is. */
static void move_rigidly(const gw_constraint *c, int count, double t, gw_constraint *out)
{
    gw_pose world = sway_pose(5, t), body = sway_pose(8, t);
    for (int i = 0; i < count; i++) {
        out[i] = c[i];
        out[i].fixed = gw_element_moved(&world, &c[i].fixed);
        out[i].mobile = gw_element_moved(&body, &c[i].mobile);
    }
}

static gw_pose moved_pose(const gw_pose *x, double t)
{
    gw_pose world = sway_pose(5, t), body = sway_pose(8, t), back = gw_pose_inverse(&body);
    gw_pose y = gw_pose_mul(&world, x);
    return gw_pose_mul(&y, &back);
}

/* Each element by itself. */
static void move_elements(const gw_constraint *c, int count, double t, gw_constraint *out)
{
    for (int i = 0; i < count; i++) {
        gw_element *e[2] = {&out[i].mobile, &out[i].fixed};
        out[i] = c[i];
        for (int k = 0; k < 2; k++) {
            e[k]->p = gw_mul_add(e[k]->p, 0.3, sway(20 * i + 9 * k, t));
            if (e[k]->kind != GW_POINT)
                e[k]->d =
                    gw_rotate(gw_quat_exp(gw_scale(0.3, sway(20 * i + 9 * k + 3, t))), e[k]->d);
        }
    }
}

static const gw_branch *branch_with_id(const char *id)
{
    for (int i = 0; i < solution.branch_count; i++)
        if (strcmp(solution.branches[i].id, id) == 0)
            return &solution.branches[i];
    return NULL;
}

static void assert_on_all(const gw_problem *p, const gw_branch *b)
{
    double size = size_of(p);
    unsigned long long random = 5;
    for (int k = 0; k < 3; k++) {
        gw_pose x = k == 0 ? b->nearest : gw_branch_sample(b, size, &random);
        for (int i = 0; i < p->count; i++)
            if (!(gw_constraint_residual(&p->constraints[i], &x, size) < 1e-9 * size)) {
                print_problem(p->constraints, p->count);
                fail_msg("branch %s: constraint %d is off", b->id, i);
            }
    }
}

/* How far a pose is from the nearest branch of the answer with these freedoms. */
static double off_answer(int dof, const gw_pose *x, double size)
{
    double least = HUGE_VAL;
    gw_pose on;
    for (int i = 0; i < solution.branch_count; i++)
        if (solution.branches[i].set.dof == dof)
            least =
                fmin(least, gw_submanifold_nearest(&solution.branches[i].set, x, size, &on) / size);
    return least;
}

/* ---- rigid motions: the branch never ends ---------------------------------------------------- */

/* True where another branch is no farther from this one than a few steps of the motion lead: which
 * of them goes on as which cannot be told. Nor can it at the singular poses of general sets. */
static bool is_ambiguous(const gw_branch *b, double size)
{
    gw_pose on;
    for (int i = 0; i < solution.branch_count && b->set.dof == 0; i++) {
        const gw_branch *other = &solution.branches[i];
        if (strcmp(other->id, b->id) != 0 &&
            gw_submanifold_nearest(&other->set, &b->nearest, size, &on) < 0.05 * size)
            return true;
    }
    return b->set.dof > 0 && b->set.general;
}

/* One branch through 1000 steps of a rigid motion. `regular`: only one that goes on in one way. */
static void follow_rigidly(const gw_constraint *c, int count, bool regular)
{
    gw_constraint now[8];
    gw_problem p = problem_of(c, count);
    p.pose = random_pose();
    gw_solve(&p, &solution);
    if (solution.status != GW_SOLVED)
        return;
    gw_branch b = solution.branches[below(solution.branch_count)];
    if (regular && is_ambiguous(&b, size_of(&p)))
        return;
    gw_pose start = b.nearest, hand = p.pose;
    p.constraints = now;
    for (int i = 1; i <= STEPS; i++) {
        double t = 0.003 * i, size;
        move_rigidly(c, count, t, now);
        p.pose = moved_pose(&hand, t);
        char id[16];
        strcpy(id, b.id);
        if (!gw_solve_branch(&p, &b, &b)) {
            print_problem(now, count);
            fail_msg("branch %s of %d freedoms lost at step %d", b.id, b.set.dof, i);
        }
        assert_string_equal(b.id, id);
        if (i % 50 != 0)
            continue;
        size = size_of(&p);
        assert_on_all(&p, &b);
        gw_pose on, there = moved_pose(&start, t);
        if (b.set.dof > 0 && b.set.general)
            continue; /* the start may be far along the set */
        double off = gw_submanifold_nearest(&b.set, &there, size, &on) / size;
        if (!(off < 1e-5)) {
            print_problem(now, count);
            fail_msg("branch %s of %d freedoms is off by %g at step %d", b.id, b.set.dof, off, i);
        }
    }
}

/* Sets of up to six constraints, of random elements or of a lattice's. */
static void follow_sets_rigidly(int sets, bool lattice, bool regular)
{
    gw_constraint c[6];
    for (int i = 0; i < sets; i++) {
        int count = 1 + below(6);
        gw_pose x = lattice ? (gw_pose){lattice_point(), lattice_rotation()} : random_pose();
        for (int k = 0; k < count; k++)
            c[k] = planted(&x, lattice);
        follow_rigidly(c, count, regular);
    }
}

static void a_set_that_moves_rigidly_is_followed_for_good(void **state)
{
    (void)state;
    follow_sets_rigidly(150, false, false);
    follow_sets_rigidly(150, true, false);
}

/* Signs of lines that cross, and rotations that are labelled by where they are, among them. */
static void sets_of_many_seeds_that_move_rigidly_are_followed(void **state)
{
    (void)state;
    static const unsigned long long seeds[] = {7, 9, 10, 25, 33, 37};
    unsigned long long kept = seed;
    for (size_t k = 0; k < sizeof seeds / sizeof seeds[0]; k++) {
        seed = seeds[k] * 2654435761ull + 1;
        follow_sets_rigidly(150, false, true);
        follow_sets_rigidly(150, true, true);
    }
    seed = kept;
}

/* ---- elements that move by themselves ---------------------------------------------------------
 */

typedef struct tally {
    int steps, kept, lost, compared, named_otherwise, missing;
} tally;

static void compare(const gw_problem *p, const gw_branch *b, bool kept, tally *sum)
{
    double size = size_of(p);
    gw_solve(p, &solution);
    const gw_branch *same = branch_with_id(b->id);
    sum->lost += !kept;
    if (!kept && same && same->set.dof == b->set.dof && solution.method == GW_CLOSED_FORM) {
        print_problem(p->constraints, p->count);
        fail_msg("branch %s is there and was not followed", b->id);
    }
    if (!kept)
        return;
    assert_on_all(p, b);
    double off = off_answer(b->set.dof, &b->nearest, size);
    if (!(off < 1e-5) && solution.method == GW_CLOSED_FORM) {
        print_problem(p->constraints, p->count);
        fail_msg("branch %s of %d freedoms is off the answer by %g", b->id, b->set.dof, off);
    }
    sum->compared++;
    sum->missing += !(off < 1e-5); /* a numeric answer is not complete */
    /* rotations out of three angles, and numeric poses, are named anew by the view; loops of two
     * angles that have met and parted since may have changed their names */
    bool other = !same || fabs(same->distance - b->distance) > 1e-6 * size;
    bool by_signs = !b->set.general && b->set.rotation.kind != GW_ROTATION_FIXED &&
                    b->set.rotation.kind != GW_ROTATION_TWO_ANGLES;
    if (by_signs && other) {
        print_problem(p->constraints, p->count);
        fail_msg("branch %s is another one in the answer", b->id);
    }
    sum->named_otherwise += other;
}

/* The problem at time t. */
static gw_problem moving(const gw_constraint *c, int count, double t, gw_constraint *now)
{
    move_elements(c, count, t, now);
    gw_problem p = problem_of(now, count);
    p.pose = sway_pose(50, t);
    return p;
}

/* A long way in one step: fine steps must lead to the same pose. */
static void assert_as_by_fine_steps(const gw_constraint *c, int count, double t, double step,
                                    const gw_branch *before, const gw_branch *after)
{
    enum { FINE = 64 };
    gw_constraint now[8];
    gw_branch b = *before;
    for (int i = 1; i <= FINE; i++) {
        gw_problem p = moving(c, count, t - step + step * i / FINE, now);
        if (!gw_solve_branch(&p, &b, &b))
            return; /* it ends on the way, and another one began */
    }
    gw_pose on;
    double size = size_of(&(gw_problem){.count = count, .constraints = now, .length = 1});
    double off = gw_submanifold_nearest(&b.set, &after->nearest, size, &on) / size;
    if (!(off < 1e-5)) {
        print_problem(now, count);
        fail_msg("branch %s of %d freedoms jumps: by fine steps it is %g off", b.id, b.set.dof,
                 off);
    }
}

static void follow_elements(const gw_constraint *c, int count, tally *sum)
{
    const double step = 0.002;
    gw_constraint now[8];
    gw_branch b;
    bool kept = false;
    for (int i = 0; i <= STEPS; i++) {
        gw_problem p = moving(c, count, step * i, now);
        if (kept) {
            gw_branch before = b;
            gw_pose on;
            kept = gw_solve_branch(&p, &before, &b);
            sum->steps++;
            sum->kept += kept;
            double size = size_of(&p);
            if (kept && gw_submanifold_nearest(&b.set, &before.nearest, size, &on) > 0.03 * size)
                assert_as_by_fine_steps(c, count, step * i, step, &before, &b);
            if (!kept || i % 20 == 0)
                compare(&p, kept ? &b : &before, kept, sum);
        }
        if (!kept && i % 20 == 0) {
            gw_solve(&p, &solution);
            kept = solution.status == GW_SOLVED;
            if (kept)
                b = solution.branches[below(solution.branch_count)];
        }
    }
}

static void elements_that_move_are_followed_as_the_solver_would(void **state)
{
    (void)state;
    gw_constraint c[4];
    tally sum = {0};
    for (int i = 0; i < 200; i++) {
        int count = 1 + below(3);
        gw_pose x = random_pose();
        for (int k = 0; k < count; k++)
            c[k] = planted(&x, false);
        follow_elements(c, count, &sum);
    }
    printf(
        "%d steps, %d kept, %d ends; of %d compared %d are named otherwise, %d not in the answer\n",
        sum.steps, sum.kept, sum.lost, sum.compared, sum.named_otherwise, sum.missing);
    assert_true(sum.kept > 100 * STEPS);
    assert_true(sum.named_otherwise < sum.compared / 5);
    assert_true(sum.missing < sum.compared / 20);
}

/* ---- branches that meet, and end --------------------------------------------------------------
 */

/* A point on a sphere of radius 1, and on a line at the height h: two points, one, none. */
static gw_problem sphere_and_line(double h, gw_constraint c[2])
{
    c[0] = distance(point(0, 0, 0), point(0, 0, 0), 1);
    c[1] = coincident(point(0, 0, 0), line(gw_v3(0, 0, h), gw_v3(1, 0, 0)));
    return problem_of(c, 2);
}

static void a_branch_ends_where_two_meet(void **state)
{
    (void)state;
    gw_constraint c[2];
    gw_problem p = sphere_and_line(0.5, c);
    solve(&p);
    assert_int_equal(solution.branch_count, 2);
    for (int k = 0; k < 2; k++) {
        p = sphere_and_line(0.5, c);
        gw_branch b = solution.branches[k], last;
        double side = b.nearest.p.x;
        for (int i = 51; i <= 99; i++) {
            p = sphere_and_line(0.01 * i, c);
            assert_true(gw_solve_branch(&p, &b, &b));
            assert_true(b.nearest.p.x * side > 0);
        }
        p = sphere_and_line(1, c); /* they touch: it is still there, and goes on as itself */
        assert_true(gw_solve_branch(&p, &b, &b));
        assert_vec(b.nearest.p, gw_v3(0, 0, 1), 1e-9);
        last = b;
        p = sphere_and_line(1.01, c);
        assert_false(gw_solve_branch(&p, &b, &b));
        assert_memory_equal(&b, &last, sizeof b);
        p = sphere_and_line(0.99, c);
        assert_true(gw_solve_branch(&p, &b, &b));
        assert_true(b.nearest.p.x * side > 0);
        assert_string_equal(b.id, solution.branches[k].id);
    }
}

static gw_problem three_angles(double tilt, gw_constraint c[4])
{
    gw_quat turn = gw_quat_axis(gw_unit(gw_v3(1, 2, -1)), tilt);
    gw_vec3 e[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    for (int i = 0; i < 3; i++)
        c[i] = angle(line(gw_v3(0, 0, 0), e[i]), line(gw_v3(0, 0, 0), gw_rotate(turn, e[i])),
                     GW_PI / 3 + 0.05 * i);
    c[3] = coincident(point(0, 0, 0), point(1, 0, 0));
    return problem_of(c, 4);
}

/* Eight rotations, the world turned once round: the names by the view change hands, the branches
 * do not. */
static void a_branch_keeps_its_id_where_its_label_changes(void **state)
{
    (void)state;
    gw_constraint c[4];
    gw_problem p = three_angles(0, c);
    solve(&p);
    assert_true(solution.branch_count >= 4);
    int renamed = 0, count = solution.branch_count;
    gw_branch first[8];
    memcpy(first, solution.branches, sizeof first[0] * (size_t)count);
    for (int k = 0; k < count; k++) {
        gw_branch b = first[k];
        for (int i = 1; i <= STEPS; i++) {
            double tilt = 2 * GW_PI * i / STEPS;
            p = three_angles(tilt, c);
            gw_quat was = b.nearest.q;
            assert_true(gw_solve_branch(&p, &b, &b));
            assert_string_equal(b.id, first[k].id);
            assert_true(gw_quat_angle(was, b.nearest.q) < 0.02);
            gw_quat along =
                gw_quat_mul(gw_quat_axis(gw_unit(gw_v3(1, 2, -1)), tilt), first[k].nearest.q);
            assert_true(gw_quat_angle(along, b.nearest.q) < 1e-9);
            if (i % 100 != 50)
                continue;
            gw_solve(&p, &solution);
            const gw_branch *same = branch_with_id(b.id);
            renamed += !same || gw_quat_angle(same->nearest.q, b.nearest.q) > 1e-6;
        }
    }
    assert_true(renamed > 0);
}

/* Six distances to three points each: no closed form. */
static gw_problem six_distances(double t, gw_constraint c[6])
{
    static const gw_vec3 of[3] = {{0, 0, 0}, {0.4, 0, 0.1}, {0.1, 0.5, 0}};
    gw_pose there = {{0.1, 0.2, 0.9}, {0.9, 0.2, -0.3, 0.1}};
    there.q = gw_quat_unit(there.q);
    for (int i = 0; i < 6; i++) {
        gw_vec3 foot = gw_v3(cos(1.1 * i + t), sin(1.1 * i + t), 0.02 * i * t);
        double leg =
            gw_distance(gw_pose_point(&there, of[i / 2]), gw_v3(cos(1.1 * i), sin(1.1 * i), 0));
        c[i] = distance(point_at(of[i / 2]), point_at(foot), leg + 0.05 * sin(t + i));
    }
    return problem_of(c, 6);
}

static void a_branch_without_closed_form_is_continued(void **state)
{
    (void)state;
    gw_constraint c[6];
    gw_problem p = six_distances(0, c);
    solve(&p);
    assert_int_equal(solution.method, GW_NUMERIC);
    assert_true(solution.branch_count > 0);
    gw_branch b = solution.branches[0];
    char id[16];
    strcpy(id, b.id);
    int kept = 0;
    for (int i = 1; i <= STEPS; i++) {
        p = six_distances(0.002 * i, c);
        gw_pose was = b.nearest;
        if (!gw_solve_branch(&p, &b, &b))
            break;
        kept++;
        assert_string_equal(b.id, id);
        assert_int_equal(b.set.dof, 0);
        assert_true(gw_pose_distance(&was, &b.nearest, 1) < 0.1);
        assert_on_all(&p, &b);
    }
    assert_true(kept > 100);
}

/* Freedoms that come or go are another branch. */
static void a_branch_whose_freedoms_change_is_not_followed(void **state)
{
    (void)state;
    gw_constraint c[2] = {
        coincident(plane(gw_v3(0, 0, 0), gw_v3(0, 0, 1)), plane(gw_v3(0, 0, 1), gw_v3(0, 0, 1))),
        coincident(point(0, 0, 0), point(0, 0, 1))};
    gw_problem p = problem_of(c, 2);
    solve(&p);
    gw_branch b = solution.branches[0];
    assert_int_equal(b.set.dof, 1);
    c[1].fixed.p.x = 0.5;
    assert_true(gw_solve_branch(&p, &b, &b));
    c[1].fixed.p.z = 2; /* off the plane */
    assert_false(gw_solve_branch(&p, &b, &b));
    c[1] = c[0]; /* nothing but the plane */
    assert_false(gw_solve_branch(&p, &b, &b));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_set_that_moves_rigidly_is_followed_for_good),
        cmocka_unit_test(sets_of_many_seeds_that_move_rigidly_are_followed),
        cmocka_unit_test(elements_that_move_are_followed_as_the_solver_would),
        cmocka_unit_test(a_branch_ends_where_two_meet),
        cmocka_unit_test(a_branch_keeps_its_id_where_its_label_changes),
        cmocka_unit_test(a_branch_without_closed_form_is_continued),
        cmocka_unit_test(a_branch_whose_freedoms_change_is_not_followed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
