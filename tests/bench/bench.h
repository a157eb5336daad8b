/*
 * Rows of the benchmark table, and the files that hold them.
 */
#ifndef GW_TESTS_BENCH_BENCH_H
#define GW_TESTS_BENCH_BENCH_H

#include <stdbool.h>

typedef struct bench_row {
    char name[40], what[48];
    const char *unit;
    double limit;        /* of the median: an upper limit, or a lower one */
    bool at_least, held; /* a lower limit; the row fails beyond its limit */
    double tail;         /* p99 at most this many medians; 0: no limit */
    double median, p99;
} bench_row;

/* A row and the function that measures it, which returns false if it could not. */
typedef struct bench {
    bench_row row;
    bool (*measure)(bench_row *row, int which);
    int which; /* argument of `measure` */
} bench;

/* Median and p99 of `count` values, which are put in order. */
void bench_quantiles(bench_row *row, double *values, int count);

/* The rows of each file, at most `room`; returns their number. */
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

/* Instance i of the problem of framework V-A (count 1) or V-B (2), its constraints in c. */
struct gw_constraint;
struct gw_problem;
void bench_cone_problem(int i, int count, struct gw_constraint *c, struct gw_problem *p);

#endif
