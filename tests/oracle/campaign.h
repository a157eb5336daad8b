/*
 * Series of random problems for the judge. Single-threaded; no allocation.
 */
#ifndef GW_TESTS_ORACLE_CAMPAIGN_H
#define GW_TESTS_ORACLE_CAMPAIGN_H

#include "tests/oracle/judge.h"
#include "tests/oracle/making.h"

typedef enum series {
    SERIES_PAIRS,    /* every statement with every other, in turn */
    SERIES_TRUE,     /* two to six constraints that a hidden pose satisfies */
    SERIES_NUDGED,   /* the same, one of them moved by 1e-13 to 0.3 of the size */
    SERIES_CONTRARY, /* the same, one of them stated twice with another number or direction */
    SERIES_BESIDE,   /* two to seven whose elements differ from one another by 1e-12 to 1e-3 */
    SERIES_SHAPES,   /* one to five constraints, one at least on a free-form curve or surface */
    SERIES_COUNT
} series;

/* Makes the problem of this number in a series and judges the answer. Returns the number of
 * faults. */
int campaign_step(series which, long number, const searches *how, unsigned long long *random,
                  tally *count);

/* Runs all series in turn for some seconds, or `only` one of them (-1: all), and prints counts to
 * `to`. Returns the number of faults. */
long campaign(double seconds, unsigned long long random, int only, FILE *to);

#endif
