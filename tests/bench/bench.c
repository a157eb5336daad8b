/*
 * `guideway bench`: the benchmark table. Each row reports the median and p99 of many measurements
 * and its limit; a row beyond its limit is marked, and makes the command fail.
 *
 * Absolute times depend on the machine; compare rows of one run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/bench/bench.h"
#include "rt/rt.h"
#include "server/cli/command.h"
#include "server/schema/wire.h"

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void bench_quantiles(bench_row *r, double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, ascending);
    r->median = values[count / 2];
    r->p99 = values[count * 99 / 100];
}

/* ---- step ---------------------------------------------------------------------------------- */

static gw_wrench half_newton(const void *context, double t, const gw_pose *pose,
                             const gw_twist *twist)
{
    (void)context, (void)t, (void)pose, (void)twist;
    return (gw_wrench){{0.5, 0.1, 0}, {0, 0, 0.001}};
}

/* Batches of steps, each timed as a whole. */
static bool bench_step(bench_row *r, int count)
{
    enum { BATCHES = 1000, STEPS = 20 };
    static double times[BATCHES];
    gw_constraint c[2];
    gw_problem p;
    gw_solution *solution = calloc(1, sizeof *solution);
    if (!solution)
        return false;
    bench_cone_problem(1, count, c, &p);
    gw_solve(&p, solution);
    gw_shape cone = {.kind = GW_SHAPE_CONE, .radius = 0.04, .height = 0.1};
    gw_guided_def def = {.set = solution->branches[0].set,
                         .mass = gw_shape_mass(&cone, 12000),
                         .body_from_held = gw_pose_identity(),
                         .length = 0.05};
    static gw_guided body;
    gw_guided_init(&body, &def, &solution->branches[0].nearest);
    gw_forces forces = {.at = half_newton, .context = NULL};
    for (int i = 0; i < BATCHES; i++) {
        double start = command_now_us();
        gw_step step;
        for (int k = 0; k < STEPS; k++)
            gw_model_step(&body.model, &forces, 1e-3, &step);
        times[i] = (command_now_us() - start) / STEPS;
    }
    bench_quantiles(r, times, BATCHES);
    free(solution);
    return true;
}

/* ---- ticks and runs ------------------------------------------------------------------------ */

/* A running simulation of a bundled scene; NULL if it cannot be made. */
static gw_sim *running(const char *name)
{
    gw_error error = {0};
    gw_scene *scene = command_scene(name, &error);
    gw_sim *sim = scene ? gw_sim_create(scene, &error) : NULL;
    gw_scene_destroy(scene);
    if (sim)
        gw_sim_set_state(sim, GW_RUNNING);
    return sim;
}

/* The robot presses the cover against rails, back and lock, and holds it there. */
static void press(gw_sim *sim)
{
    gw_command command = {.kind = GW_COMMAND_MOTION};
    command.guide = (gw_motion_target){.on = true,
                                       .to = {0.1, -0.02, -0.02, NAN, NAN, NAN},
                                       .by = {NAN, NAN, NAN, NAN, NAN, NAN},
                                       .speed = 0.1,
                                       .spin = 1};
    gw_sim_command(sim, &command);
}

static bool bench_ticks(bench_row *r, int which)
{
    static const char *const scenes[] = {"paper-plane", "paper-circle", "tray", "four-bar",
                                         "cover-and-base"};
    enum { TICKS = 20000 };
    static double times[TICKS];
    gw_sim *sim = running(scenes[which]);
    if (!sim)
        return false;
    if (which == 4)
        press(sim);
    for (int i = 0; i < TICKS; i++) {
        gw_sim_step(sim, 1);
        times[i] = gw_sim_snapshot(sim)->tick_us; /* as measured by the facade */
    }
    bench_quantiles(r, times, TICKS);
    gw_sim_destroy(sim);
    return true;
}

/* Simulated time over elapsed time for 60 s of the scene. */
static bool bench_run(bench_row *r, int which)
{
    (void)which;
    enum { RUNS = 5, TICKS = 60000 };
    double factors[RUNS];
    for (int i = 0; i < RUNS; i++) {
        gw_sim *sim = running("paper-circle");
        if (!sim)
            return false;
        double start = command_now_us();
        gw_sim_step(sim, TICKS);
        factors[i] = 60e6 / (command_now_us() - start);
        gw_sim_destroy(sim);
    }
    bench_quantiles(r, factors, RUNS);
    return true;
}

/* ---- the table ----------------------------------------------------------------------------- */

static const bench benches[] = {
    {{"step-plane", "guided-body step on the plane", "us", 1, false, true, 0, 0, 0}, bench_step, 1},
    {{"step-circle", "guided-body step on the circle", "us", 1, false, true, 0, 0, 0},
     bench_step,
     2},
    {{"tick-plane", "whole tick with device and control, V-A", "us", 10, false, true, 0, 0, 0},
     bench_ticks,
     0},
    {{"tick-circle", "whole tick with device and control, V-B", "us", 10, false, true, 0, 0, 0},
     bench_ticks,
     1},
    {{"tick-tree", "whole tick, fifty objects following a tray", "us", 50, false, true, 0, 0, 0},
     bench_ticks,
     2},
    {{"tick-cycle", "whole tick, a four-bar solved as a whole", "us", 50, false, true, 0, 0, 0},
     bench_ticks,
     3},
    {{"tick-walls", "whole tick, a robot pressing on four walls", "us", 50, false, true, 0, 0, 0},
     bench_ticks,
     4},
    {{"run-circle", "60 s of V-B, times faster than real time", "x", 50, true, true, 0, 0, 0},
     bench_run,
     0},
};

static bool within(const bench_row *r)
{
    if (!r->held)
        return isfinite(r->median);
    if (r->tail > 0 && r->p99 > r->tail * r->median)
        return false;
    return r->at_least ? r->median >= r->limit : r->median <= r->limit;
}

static void print_row(const bench_row *r, FILE *csv)
{
    char figure[32] = "";
    if (r->held)
        snprintf(figure, sizeof figure, "%s%g", r->at_least ? ">=" : "<=", r->limit);
    const char *result = !within(r) ? "missed" : r->held ? "met" : "told";
    printf("%-34s %-42s %10.3g %10.3g %-3s %s%s\n", r->name, r->what, r->median, r->p99, r->unit,
           figure, within(r) ? "" : "  MISSED");
    fflush(stdout);
    if (csv)
        fprintf(csv, "%s,%s,%.6g,%.6g,%s,%s,\"%s\"\n", r->name, r->unit, r->median, r->p99, figure,
                result, r->what);
}

/* Measures a row whose name begins with `name`; adds to the number of rows, and of those beyond
 * their limit. */
static void measure(const bench *b, const char *name, FILE *csv, int *count, int *missed)
{
    bench_row r = b->row;
    if (strncmp(r.name, name, strlen(name)) != 0)
        return;
    ++*count;
    if (!b->measure(&r, b->which))
        r.median = r.p99 = r.at_least ? 0 : INFINITY;
    *missed += !within(&r);
    print_row(&r, csv);
}

static int measure_all(const char *name, FILE *csv, int *missed)
{
    enum { ROOM = 192 };
    bench others[ROOM];
    int count = 0, rows = bench_solve_rows(others, ROOM);
    rows += bench_chain_rows(others + rows, ROOM - rows);
    rows += bench_local_rows(others + rows, ROOM - rows);
    rows += bench_system_rows(others + rows, ROOM - rows);
    rows += bench_assembly_rows(others + rows, ROOM - rows);
    rows += bench_surface_rows(others + rows, ROOM - rows);
    rows += bench_baseline_rows(others + rows, ROOM - rows);
    rows += bench_surface_contact_rows(others + rows, ROOM - rows);
    rows += bench_contact_rows(others + rows, ROOM - rows);
    rows += bench_heap_rows(others + rows, ROOM - rows);
    rows += bench_detector_rows(others + rows, ROOM - rows);
    for (int i = 0; i < rows; i++)
        measure(&others[i], name, csv, &count, missed);
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++)
        measure(&benches[i], name, csv, &count, missed);
    return count;
}

int command_bench(const command_line *line)
{
    const char *name = line->argument ? line->argument : "", *path = command_value(line, "csv");
    FILE *csv = path ? fopen(path, "w") : NULL;
    if (path && !csv) {
        fprintf(stderr, "guideway: %s cannot be written: %s\n", path, strerror(errno));
        return EXIT_WORK_FAILED;
    }
    if (csv)
        fputs("name,unit,median,p99,figure,result,what\n", csv);
    int missed = 0, count = measure_all(name, csv, &missed);
    if (csv)
        fclose(csv);
    if (count == 0) {
        fprintf(stderr, "guideway: there is no benchmark \"%s\"\n", name);
        return EXIT_BAD_INPUT;
    }
    return missed ? EXIT_WORK_FAILED : EXIT_DONE;
}
