/*
 * The solver alone, from another C program: a cup's base on a table's top, 20 cm from a lamp.
 *
 *     make lib
 *     cc $(PKG_CONFIG_PATH=build pkg-config --cflags guideway) examples/solve.c \
 *        $(PKG_CONFIG_PATH=build pkg-config --libs guideway) -o /tmp/solve && /tmp/solve
 */
#include <stdio.h>

#include "rt/guideway.h"

static gw_solution solution; /* large: not for the stack */

int main(void)
{
    const gw_constraint constraints[] = {
        {.kind =
             GW_COINCIDENT, /* the cup's base on the table, its normal down onto the table's up */
         .sense = GW_OPPOSITE,
         .mobile = {.kind = GW_PLANE, .p = {0, 0, 0}, .d = {0, 0, -1}},
         .fixed = {.kind = GW_PLANE, .p = {0, 0, 0.75}, .d = {0, 0, 1}}},
        {.kind = GW_DISTANCE, /* the middle of the base 20 cm from the lamp's axis */
         .value = 0.2,
         .mobile = {.kind = GW_POINT, .p = {0, 0, 0}, .d = {0, 0, 0}},
         .fixed = {.kind = GW_LINE, .p = {0.1, 0.3, 0}, .d = {0, 0, 1}}},
    };
    const gw_problem problem = {.pose = {{0.5, 0.5, 1}, {1, 0, 0, 0}},
                                .length = 0.1,
                                .count = 2,
                                .constraints = constraints};
    gw_error error = {0};
    if (!gw_problem_check(&problem, &error)) {
        fprintf(stderr, "%s: %s\n", error.where, error.message);
        return 2;
    }
    gw_solve(&problem, &solution);
    for (int i = 0; i < solution.branch_count; i++) {
        const gw_branch *b = &solution.branches[i];
        char words[160];
        gw_submanifold_description(&b->set, NULL, words, sizeof words);
        printf("%s: %s; nearest at (%.3f, %.3f, %.3f), %.3f m away\n", b->id, words, b->nearest.p.x,
               b->nearest.p.y, b->nearest.p.z, b->distance);
    }
    return solution.status == GW_SOLVED ? 0 : 1;
}
