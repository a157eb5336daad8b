/*
 * Levenberg and Marquardt's method for one pose: how many evaluations a descent takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "rt/positioning/levenberg_marquardt.h"

/* Rows x - 1 and x - 1 - off, and (y - x^2) curved beside them. */
typedef struct counted_rows {
    double off;
    int *evaluations;
} counted_rows;

static void evaluate(const void *context, const gw_pose *x, gw_normal_equations *out)
{
    const counted_rows *rows = context;
    ++*rows->evaluations;
    *out = (gw_normal_equations){.sum = 0};
    gw_normal_equations_add(out, x->p.x - 1, (const double[6]){1});
    gw_normal_equations_add(out, x->p.x - 1 - rows->off, (const double[6]){1});
    gw_normal_equations_add(out, x->p.y - x->p.x * x->p.x, (const double[6]){-2 * x->p.x, 1});
}

/* From 3, 2, 1 as the numeric completion descends; returns how many evaluations it took. */
static int descend(double off, gw_normal_equations *at)
{
    int evaluations = 0;
    const gw_levenberg_marquardt method = {.size = 1,
                                           .evaluate = evaluate,
                                           .context = &(counted_rows){off, &evaluations},
                                           .steps = 80,
                                           .goal = 1e-29,
                                           .round_off = 1e-24,
                                           .accepted = 1e-22,
                                           .damping = 1e-2,
                                           .least = 1e-15,
                                           .most = 1e12,
                                           .raise = 6};
    gw_pose x = {{3, 2, 1}, {1, 0, 0, 0}};
    gw_levenberg_marquardt_descend(&method, &x, at);
    return evaluations;
}

/* Rows that contradict one another within what is accepted: no step gains anything at the least
 * sum. */
static void a_descent_ends_where_steps_change_nothing(void **state)
{
    (void)state;
    gw_normal_equations at;
    assert_in_range(descend(0, &at), 1, 12);
    assert_true(at.sum <= 1e-29);
    assert_in_range(descend(8e-12, &at), 1, 12);
    assert_true(at.worst < 5e-12);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descent_ends_where_steps_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
