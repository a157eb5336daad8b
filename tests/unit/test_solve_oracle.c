/*
 * The solver against an oracle that knows nothing of its rules (tests/oracle): a deterministic
 * slice of what `make verify` does by the minute.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <cmocka.h>

#include "tests/oracle/campaign.h"
#include "tests/oracle/oracle.h"

static tally run_with(const searches *how, series which, long first, long step, int count,
                      unsigned long long random)
{
    tally counts = {.most_printed = 3, .to = stdout};
    for (long i = 0; i < count; i++)
        campaign_step(which, first + i * step, how, &random, &counts);
    judge_print(stdout, &counts);
    return counts;
}

static tally run(series which, long first, long step, int count, unsigned long long random)
{
    const searches how = {.starts = 16, .samples = 4, .again = 1};
    return run_with(&how, which, first, step, count, random);
}

static void assert_true_answers(const tally *t)
{
    for (int i = 0; i < FAULT_COUNT; i++)
        if (i != FAULT_UNHANDLED)
            assert_int_equal(t->faults[i], 0);
}

static void every_pair_of_statements_is_solved_truly(void **unused)
{
    (void)unused;
    tally t = run(SERIES_PAIRS, 0, 11, 700, 1);
    assert_int_equal(t.solved, t.problems);
    assert_true_answers(&t);
}

static void true_sets_are_solved_truly(void **unused)
{
    (void)unused;
    tally t = run(SERIES_TRUE, 0, 1, 500, 2);
    assert_int_equal(t.solved, t.problems);
    assert_true_answers(&t);
}

static void sets_moved_by_little_are_solved_or_refused_truly(void **unused)
{
    (void)unused;
    tally t = run(SERIES_NUDGED, 0, 1, 400, 3);
    assert_int_equal(t.faults[FAULT_UNHANDLED], 0);
    assert_true_answers(&t);
}

static void contradictions_are_told_with_constraints_that_contradict(void **unused)
{
    (void)unused;
    tally t = run(SERIES_CONTRARY, 0, 1, 400, 4);
    assert_int_equal(t.faults[FAULT_UNHANDLED], 0);
    assert_true(t.incompatible > 300);
    assert_true_answers(&t);
}

/* Points, lines and planes that all but coincide: what rules derive from two of them is uncertain,
 * and no true set may be refused for it. */
static void elements_beside_one_another_are_answered_truly(void **unused)
{
    (void)unused;
    const searches how = {.samples = 4};
    tally t = run_with(&how, SERIES_BESIDE, 0, 1, 4000, 5);
    assert_true(t.solved > 0.95 * (double)t.problems);
    assert_true_answers(&t);
}

/* Leaves whose line is where two nearly parallel planes meet: rows are as far off as the closed
 * form that was given up, but for the nearest pose. */
static void samples_of_leaves_that_are_off_are_true(void **unused)
{
    (void)unused;
    static const long steps[] = {728, 988, 11801};
    const searches how = {.samples = 40};
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        unsigned long long state = 1000000ull + (unsigned long long)steps[i];
        tally t = run_with(&how, SERIES_BESIDE, steps[i], 1, 1, state);
        assert_true_answers(&t);
    }
}

/* Constraints that follow within the tolerance, and branches that end by less than what counts as
 * equal: each redundant constraint holds at every root of those that it is said to follow from. */
static void redundant_constraints_follow_from_those_named(void **unused)
{
    (void)unused;
    static const struct {
        long number;
        unsigned long long state;
    } made[] = {{269, 1000269},  {1159, 1001159}, {2328, 1002328}, {2349, 1002349}, {2370, 1002370},
                {4025, 1004025}, {5118, 1005118}, {8445, 1008445}, {8960, 1008960}};
    const searches how = {.starts = 64, .samples = 4, .again = 1};
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        tally t = run_with(&how, SERIES_BESIDE, made[i].number, 1, 1, made[i].state);
        assert_true(t.redundant > 0);
        assert_true_answers(&t);
    }
}

/* Points, axes along normals and tangents on free-form shapes, beside every other constraint. */
static void sets_on_free_form_shapes_are_answered_truly(void **unused)
{
    (void)unused;
    const searches how = {.starts = 8, .samples = 4};
    tally t = run_with(&how, SERIES_SHAPES, 0, 1, 120, 6);
    assert_int_equal(t.solved, t.problems);
    assert_true(t.roots > 400);
    assert_true_answers(&t);
}

/* Branches whose nearest pose is at a pole of the surface, or at an end where another part of an
 * offset surface comes nearer: such poses were off the set, and the branch was dropped for them, or
 * samples went on beyond the end. */
static void branches_that_end_at_poles_and_offsets_are_kept(void **unused)
{
    (void)unused;
    static const unsigned long long states[] = {2000418, 1000036, 1000106, 1000149};
    for (size_t i = 0; i < sizeof states / sizeof *states; i++) {
        /* of curves that offsets cut, other arcs may be missing: brute force is for the first
         * alone, which has a closed form */
        const searches how = {.starts = i == 0 ? 8 : 0, .samples = 4};
        tally t = run_with(&how, SERIES_SHAPES, 0, 1, 1, states[i]);
        assert_int_equal(t.solved, 1);
        assert_true_answers(&t);
    }
}

/* A closed form that is given up where another part of an offset surface is nearer: its rows hold,
 * and the branch has the same name wherever it is solved from. */
static void branches_keep_their_names_where_offsets_overlap(void **unused)
{
    (void)unused;
    const searches how = {.starts = 6, .samples = 2, .again = 8};
    tally t = run_with(&how, SERIES_SHAPES, 0, 1, 1, 1000032);
    assert_int_equal(t.solved, 1);
    assert_true_answers(&t);
}

static double seconds_used(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Geodesics of a set of two freedoms on a free-form surface: 32 of them took thirty times as long
 * as the answer itself. */
static void samples_take_no_longer_than_an_answer_may(void **unused)
{
    (void)unused;
    const searches how = {.samples = 32};
    double begin = seconds_used();
    tally t = run_with(&how, SERIES_SHAPES, 11, 1, 1, 8458334529955945091ull);
    double used = seconds_used() - begin;
    assert_int_equal(t.solved, 1);
    assert_true_answers(&t);
    assert_true(used < 10e-6 * t.slowest_us);
}

static bool on_a_branch(const gw_solution *s, const gw_pose *x, double size)
{
    gw_pose on;
    for (int b = 0; b < s->branch_count; b++)
        if (gw_submanifold_nearest(&s->branches[b].set, x, size, &on) < 1e-6 * size)
            return true;
    return false;
}

/* The largest distance of a root on a branch from the nearest of many samples, by the size. */
static double widest_gap(const gw_problem *p, const gw_solution *s, unsigned long long *random)
{
    enum { SAMPLES = 256, ROOTS = 40 };
    static gw_pose samples[GW_MAX_BRANCHES * SAMPLES], roots[ROOTS];
    const double size = oracle_size(p);
    int count = 0, n = oracle_roots(p, ~0ul, size, 30, random, roots, ROOTS);
    for (int b = 0; b < s->branch_count; b++)
        for (int i = 0; i < SAMPLES; i++)
            samples[count++] = gw_branch_sample(&s->branches[b], size, random);
    double widest = 0;
    for (int i = 0; i < n; i++) {
        double least = HUGE_VAL;
        if (!on_a_branch(s, &roots[i], size))
            continue;
        for (int k = 0; k < count; k++)
            least = fmin(least, oracle_distance(&roots[i], &samples[k], size));
        widest = fmax(widest, least / size);
    }
    return widest;
}

/* Five legs between two plates: closed curves of poses, some many times as long as the plates. */
static void samples_go_all_round_a_curve(void **unused)
{
    (void)unused;
    static gw_solution answer;
    unsigned long long random = 5;
    int covered = 0;
    const statement leg = {GW_DISTANCE, GW_POINT, GW_POINT, GW_EITHER, false};
    for (int trial = 0; trial < 12; trial++) {
        gw_constraint c[5];
        gw_pose x = making_pose(GENERAL, &random);
        for (int i = 0; i < 5; i++)
            c[i] = making_true(&leg, GENERAL, &x, c, 0, &random);
        gw_problem p = {x, 1, 5, c};
        gw_solve(&p, &answer);
        assert_int_equal(answer.dof, 1);
        covered += widest_gap(&p, &answer, &random) < 0.4;
    }
    assert_int_equal(covered, 12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pair_of_statements_is_solved_truly),
        cmocka_unit_test(true_sets_are_solved_truly),
        cmocka_unit_test(sets_moved_by_little_are_solved_or_refused_truly),
        cmocka_unit_test(elements_beside_one_another_are_answered_truly),
        cmocka_unit_test(contradictions_are_told_with_constraints_that_contradict),
        cmocka_unit_test(samples_of_leaves_that_are_off_are_true),
        cmocka_unit_test(redundant_constraints_follow_from_those_named),
        cmocka_unit_test(sets_on_free_form_shapes_are_answered_truly),
        cmocka_unit_test(branches_that_end_at_poles_and_offsets_are_kept),
        cmocka_unit_test(branches_keep_their_names_where_offsets_overlap),
        cmocka_unit_test(samples_take_no_longer_than_an_answer_may),
        cmocka_unit_test(samples_go_all_round_a_curve),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
