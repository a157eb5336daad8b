/*
 * Rows of free-form surfaces: a point with its derivatives, and closest points.
 */
#include <stdio.h>
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "rt/geometry/nurbs_nearest.h"
#include "rt/rt.h"
#include "server/cli/command.h"
#include "tests/unit/nurbs_fixture.h"

/* A number within -1 .. 1 for use k. */
static double spread(int k)
{
    double s = sin(12.9898 * k) * 43758.5453;
    return 2 * (s - floor(s)) - 1;
}

/* A point and its derivatives to order `order` anywhere on the surface; batches of calls. */
static bool measure_evaluation(bench_row *r, int order)
{
    enum { BATCHES = 2000, CALLS = 100 };
    static double times[BATCHES];
    unsigned long long seed = 1;
    gw_nurbs *s = random_bicubic(&seed, 10, 0.1);
    gw_nurbs_span span = {{0, 0}};
    gw_nurbs_point at;
    double sum = 0;
    if (!s)
        return false;
    for (int i = 0; i < BATCHES; i++) {
        double x[2] = {5 + 5 * spread(2 * i), 5 + 5 * spread(2 * i + 1)};
        double start = command_now_us();
        for (int k = 0; k < CALLS; k++) {
            x[0] = fmod(x[0] + 0.01, 10);
            gw_nurbs_evaluate(s, x, order, &span, &at);
            sum += at.d[0][0].z;
        }
        times[i] = (command_now_us() - start) / CALLS;
    }
    gw_nurbs_put(s);
    bench_quantiles(r, times, BATCHES);
    return isfinite(sum);
}

/* The certified closest point of a surface of 100 patches, from anywhere about it. */
static bool measure_nearest(bench_row *r, int which)
{
    enum { QUERIES = 4000 };
    static double times[QUERIES];
    unsigned long long seed = 1;
    gw_nurbs *s = random_bicubic(&seed, 10, 0.1);
    bool certified = s != NULL;
    (void)which;
    for (int i = 0; s && i < QUERIES; i++) {
        gw_vec3 to = gw_v3(0.5 + 0.8 * spread(3 * i), 0.5 + 0.8 * spread(3 * i + 1),
                           0.5 * spread(3 * i + 2));
        gw_nurbs_nearest nearest;
        double start = command_now_us();
        gw_nurbs_nearest_point(s, to, &nearest);
        times[i] = command_now_us() - start;
        certified = certified && nearest.bound >= nearest.distance - 1.01e-9 * s->size;
    }
    gw_nurbs_put(s);
    bench_quantiles(r, times, QUERIES);
    return certified;
}

/* A step of the followed closest point: 0.1 % of the surface's side. */
static bool measure_follow(bench_row *r, int which)
{
    enum { BATCHES = 1000, STEPS = 100 };
    static double times[BATCHES];
    unsigned long long seed = 1;
    gw_nurbs *s = random_bicubic(&seed, 10, 0.02);
    gw_nurbs_span span = {{0, 0}};
    gw_nurbs_point at;
    double x[2] = {5, 5};
    bool regular = s != NULL;
    (void)which;
    for (int i = 0; s && i < BATCHES; i++) {
        double start = command_now_us();
        for (int k = 0; k < STEPS; k++) {
            double turn = 2.5e-3 * (i * STEPS + k);
            gw_vec3 to = gw_v3(0.5 + 0.4 * cos(turn), 0.5 + 0.4 * sin(turn), 0.03);
            gw_nurbs_event event = gw_nurbs_follow(s, to, x, &span, &at);
            regular = regular && event == GW_NURBS_REGULAR;
        }
        times[i] = (command_now_us() - start) / STEPS;
    }
    gw_nurbs_put(s);
    bench_quantiles(r, times, BATCHES);
    return regular;
}

int bench_surface_rows(bench *rows, int room)
{
    static const bench mine[] = {
        {{"nurbs-point", "bicubic, the point alone", "us", 0.25, false, false, 0, 0, 0},
         measure_evaluation,
         0},
        {{"nurbs-second", "bicubic, with second derivatives", "us", 0.25, false, true, 0, 0, 0},
         measure_evaluation,
         2},
        {{"nurbs-third", "bicubic, with third derivatives", "us", 0.25, false, false, 0, 0, 0},
         measure_evaluation,
         3},
        {{"nurbs-nearest", "closest point of 100 patches, certified", "us", 60, false, true, 0, 0,
          0},
         measure_nearest,
         0},
        {{"nurbs-follow", "closest point followed, a step", "us", 3, false, true, 0, 0, 0},
         measure_follow,
         0},
    };
    int count = (int)(sizeof mine / sizeof *mine);
    for (int i = 0; i < count && i < room; i++)
        rows[i] = mine[i];
    return count < room ? count : room;
}
