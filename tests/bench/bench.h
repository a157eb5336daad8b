/*
 * Rows of the benchmark table, and the files that hold them.
 */
#ifndef GW_TESTS_BENCH_BENCH_H
#define GW_TESTS_BENCH_BENCH_H

#include <stdbool.h>

typedef struct bench_row {
    char name[40], what[48];
    const char *unit;
    double limit;        /* of the median; for "x" the least */
    bool at_least, held; /* held to its limit, or only told */
    double tail;         /* p99 at most this many medians; 0: not held to any */
    double median, p99;
} bench_row;

/* A row, and what measures it; false where it could not. */
typedef struct bench {
    bench_row row;
    bool (*measure)(bench_row *row, int which);
    int which; /* what `measure` makes of it */
} bench;

/* Median and p99 of `count` values, which are put in order. */
void bench_quantiles(bench_row *row, double *values, int count);

/* The rows of each file, at most `room`; returns how many. */
int bench_solve_rows(bench *rows, int room);
int bench_chain_rows(bench *rows, int room);
int bench_local_rows(bench *rows, int room);
int bench_system_rows(bench *rows, int room);
int bench_assembly_rows(bench *rows, int room);
int bench_surface_rows(bench *rows, int room);
int bench_baseline_rows(bench *rows, int room);
int bench_surface_contact_rows(bench *rows, int room);
int bench_contact_rows(bench *rows, int room);
int bench_heap_rows(bench *rows, int room);
int bench_detector_rows(bench *rows, int room);

/* A problem of framework V-A (count 1) or V-B (2) out of i, its constraints in c. */
struct gw_constraint;
struct gw_problem;
void bench_cone_problem(int i, int count, struct gw_constraint *c, struct gw_problem *p);

#endif
