/*
 * Compares an answer of the solver with the results of the oracle, and counts the faults.
 * Single-threaded; no allocation.
 */
#ifndef GW_TESTS_ORACLE_JUDGE_H
#define GW_TESTS_ORACLE_JUDGE_H

#include <stdio.h>

#include "rt/positioning/solve.h"

/* Faults of an answer. */
typedef enum fault {
    FAULT_STATUS,    /* solved without a branch, dof not the largest, text missing, not a number */
    FAULT_IDS,       /* two branches of one name, not nearest first */
    FAULT_RESIDUAL,  /* a nearest pose or a sample that is off a constraint */
    FAULT_NEAREST,   /* a distance that is not that of the nearest pose; a nearer pose exists */
    FAULT_REFUSED,   /* incompatible, and there is a pose */
    FAULT_UNHANDLED, /* unhandled, and there is a pose */
    FAULT_MISSED,    /* a pose on no branch of the answer */
    FAULT_LOST,      /* a pose on no branch, even as the present pose */
    FAULT_DIMENSION, /* more or fewer freedoms than the answer has */
    FAULT_FOLLOWS,   /* called redundant, and is not */
    FAULT_CONFLICT,  /* the constraints that are named as a conflict have a pose */
    FAULT_UNSTABLE,  /* other branches from another present pose or order of constraints */
    FAULT_COUNT
} fault;

typedef struct tally {
    long problems, solved, incompatible, unhandled, numeric;
    long branches, poses, roots, dimensions, redundant, conflicts;
    long faults[FAULT_COUNT];
    double slowest_us;
    long most_printed; /* faults of one kind that are printed with their problem */
    FILE *to;
} tally;

/* Searches besides the residuals of every branch. */
typedef struct searches {
    int starts;   /* of the brute force; 0: none */
    int samples;  /* of each branch, beside the nearest pose */
    int again;    /* further solves, with the roots as present poses */
    bool lenient; /* elements nearly coincide: unhandled is accepted */
    bool blurred; /* nearly degenerate: freedoms and roots depend on the tolerance */
} searches;

/* Solves a checked problem and judges the answer; `hidden` is a pose that satisfies it, or NULL.
 * Returns the number of faults. */
int judge(const gw_problem *problem, const gw_pose *hidden, const searches *how,
          unsigned long long *random, tally *count);

/* The checks that need no search, for the fuzzer. NULL, or the fault's description. */
const char *judge_sound(const gw_problem *problem, const gw_solution *solution, int samples,
                        unsigned long long *random, double *number);

/* The counts as lines of text. */
void judge_print(FILE *to, const tally *count);

#endif
