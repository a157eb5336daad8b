/*
 * `guideway bench`: the benchmark table. Each row reports the median and p99 of many measurements
 * and the figure that it is held to; a row beyond it is marked, and makes the command fail.
 *
 * Absolute times depend on the machine; compare rows of one run.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/command.h"
#include "server/wire.h"

typedef struct row {
    const char *name, *what, *unit;
    double median, p99;
    double limit; /* of the median; for "x" the least */
    bool at_least;
    double tail; /* p99 at most this many medians; 0: not held to any */
} row;

enum { INSTANCES = 1000 };

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void set_quantiles(row *r, double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, ascending);
    r->median = times[count / 2];
    r->p99 = times[count * 99 / 100];
}

/* ---- solver -------------------------------------------------------------------------------- */

/* A deterministic number within -1 .. 1 for instance i and use k. */
static double spread(int i, int k)
{
    double s = sin(12.9898 * i + 78.233 * k) * 43758.5453;
    return 2 * (s - floor(s)) - 1;
}

static gw_vec3 spread3(int i, int k)
{
    return gw_v3(spread(i, k), spread(i, k + 1), spread(i, k + 2));
}

/* framework V-A and V-B: the cone's base on the cylinder's top, then the axes 6 cm apart too; the
 * world, the points of support and the starting pose are moved about. */
static int cone_problem(int i, int count, gw_constraint *c, gw_problem *p)
{
    gw_pose world = {gw_scale(0.3, spread3(i, 0)), gw_quat_exp(gw_scale(2, spread3(i, 3)))};
    gw_element top = {GW_PLANE, {0.02 * spread(i, 6), 0, 0.1}, {0, 0, 1}};
    gw_element axis = {GW_LINE, {0, 0, 0.1 * spread(i, 7)}, {0, 0, 1}};
    c[0] = (gw_constraint){.kind = GW_COINCIDENT,
                           .sense = GW_OPPOSITE,
                           .mobile = {GW_PLANE, {0, 0, 0}, {0, 0, -1}},
                           .fixed = gw_element_moved(&world, &top)};
    c[1] = (gw_constraint){.kind = GW_DISTANCE,
                           .value = 0.06 * (1 + 0.2 * spread(i, 8)),
                           .mobile = {GW_LINE, {0, 0, 0}, {0, 0, 1}},
                           .fixed = gw_element_moved(&world, &axis)};
    p->pose = (gw_pose){gw_scale(0.3, spread3(i, 9)), gw_quat_exp(spread3(i, 12))};
    p->length = 0.05;
    p->count = count;
    p->constraints = c;
    return count;
}

/* One time an instance: the least of a few, since the machine's noise only ever adds. */
static void time_solves(row *r, int count, gw_solution *solution)
{
    static double times[INSTANCES];
    for (int i = 0; i < INSTANCES; i++) {
        gw_constraint c[2];
        gw_problem p;
        cone_problem(i, count, c, &p);
        times[i] = INFINITY;
        for (int k = 0; k < 7; k++) {
            double start = command_now_us();
            gw_solve(&p, solution);
            times[i] = fmin(times[i], command_now_us() - start);
        }
        if (solution->status != GW_SOLVED)
            times[i] = INFINITY; /* an instance without an answer must not look fast */
    }
    set_quantiles(r, times, INSTANCES);
}

static bool bench_solve(row *r, int count)
{
    gw_solution *solution = calloc(1, sizeof *solution);
    if (!solution)
        return false;
    time_solves(r, count, solution);
    free(solution);
    return true;
}

static bool bench_solve_plane(row *r)
{
    return bench_solve(r, 1);
}

static bool bench_solve_circle(row *r)
{
    return bench_solve(r, 2);
}

/* ---- step ---------------------------------------------------------------------------------- */

static gw_wrench half_newton(const void *context, double t, const gw_pose *pose,
                             const gw_twist *twist)
{
    (void)context, (void)t, (void)pose, (void)twist;
    return (gw_wrench){{0.5, 0.1, 0}, {0, 0, 0.001}};
}

/* Batches of steps, each timed as a whole. */
static bool bench_step(row *r, int count)
{
    enum { BATCHES = 1000, STEPS = 20 };
    static double times[BATCHES];
    gw_constraint c[2];
    gw_problem p;
    gw_solution *solution = calloc(1, sizeof *solution);
    if (!solution)
        return false;
    cone_problem(1, count, c, &p);
    gw_solve(&p, solution);
    gw_shape cone = {.kind = GW_SHAPE_CONE, .radius = 0.04, .height = 0.1};
    gw_guided_def def = {.set = solution->branches[0].set,
                         .mass = gw_shape_mass(&cone, 12000),
                         .body_from_held = gw_pose_identity(),
                         .length = 0.05};
    static gw_guided body;
    gw_guided_init(&body, &def, &solution->branches[0].nearest);
    gw_forces forces = {half_newton, NULL};
    for (int i = 0; i < BATCHES; i++) {
        double start = command_now_us();
        gw_step step;
        for (int k = 0; k < STEPS; k++)
            gw_model_step(&body.model, &forces, 1e-3, &step);
        times[i] = (command_now_us() - start) / STEPS;
    }
    set_quantiles(r, times, BATCHES);
    free(solution);
    return true;
}

static bool bench_step_plane(row *r)
{
    return bench_step(r, 1);
}

static bool bench_step_circle(row *r)
{
    return bench_step(r, 2);
}

/* ---- ticks and runs ------------------------------------------------------------------------ */

/* A bundled scene set running, and what it needs. */
typedef struct ground {
    gw_scene *scene;
    gw_layout *layout;
    gw_device_slot *slots[GW_MAX_DEVICES];
    int slot_count;
    gw_simulation *simulation;
} ground;

static bool ground_open(ground *g, const char *name)
{
    gw_error error = {0};
    g->scene = command_scene(name, &error);
    g->layout = g->scene ? gw_layout_create(g->scene, NULL, &error) : NULL;
    if (!g->layout)
        return false;
    for (; g->slot_count < g->scene->device_count; g->slot_count++)
        g->slots[g->slot_count] =
            gw_device_slot_open(&g->scene->devices[g->slot_count], g->scene->rate, &error);
    gw_scenario_def def = {
        .scene = g->scene, .layout = g->layout, .slots = g->slots, .slot_count = g->slot_count};
    gw_scenario *scenario = gw_scenario_create(&def, &error);
    g->simulation = scenario ? gw_simulation_create(scenario, &error) : NULL;
    if (!g->simulation)
        return false;
    gw_command retired, start = {.kind = GW_COMMAND_STATE, .state = GW_RUNNING};
    gw_simulation_apply(g->simulation, &start, &retired);
    return true;
}

static void ground_close(ground *g)
{
    gw_simulation_destroy(g->simulation);
    for (int i = 0; i < g->slot_count; i++)
        gw_device_slot_close(g->slots[i]);
    gw_layout_destroy(g->layout);
    gw_scene_destroy(g->scene);
}

static bool bench_ticks(row *r, const char *scene)
{
    enum { TICKS = 20000 };
    static double times[TICKS];
    ground g = {0};
    bool ok = ground_open(&g, scene);
    for (int i = 0; ok && i < TICKS; i++) {
        double start = command_now_us();
        gw_simulation_tick(g.simulation);
        times[i] = command_now_us() - start;
    }
    set_quantiles(r, times, TICKS);
    ground_close(&g);
    return ok;
}

static bool bench_tick_plane(row *r)
{
    return bench_ticks(r, "paper-plane");
}

static bool bench_tick_circle(row *r)
{
    return bench_ticks(r, "paper-circle");
}

/* How much faster than real time 60 s of the scene pass. */
static bool bench_run(row *r)
{
    enum { RUNS = 5, TICKS = 60000 };
    double factors[RUNS];
    for (int i = 0; i < RUNS; i++) {
        ground g = {0};
        bool ok = ground_open(&g, "paper-circle");
        double start = command_now_us();
        for (int k = 0; ok && k < TICKS; k++)
            gw_simulation_tick(g.simulation);
        factors[i] = 60e6 / (command_now_us() - start);
        ground_close(&g);
        if (!ok)
            return false;
    }
    set_quantiles(r, factors, RUNS);
    return true;
}

/* ---- the table ----------------------------------------------------------------------------- */

typedef struct bench {
    row row;
    bool (*measure)(row *r);
} bench;

static const bench benches[] = {
    {{"solve-plane", "solve, plane on plane (framework V-A)", "us", 0, 0, 5, false, 2},
     bench_solve_plane},
    {{"solve-circle", "solve, and axes apart (V-B)", "us", 0, 0, 5, false, 2}, bench_solve_circle},
    {{"step-plane", "guided-body step on the plane", "us", 0, 0, 1, false, 0}, bench_step_plane},
    {{"step-circle", "guided-body step on the circle", "us", 0, 0, 1, false, 0}, bench_step_circle},
    {{"tick-plane", "whole tick with device and control, V-A", "us", 0, 0, 10, false, 0},
     bench_tick_plane},
    {{"tick-circle", "whole tick with device and control, V-B", "us", 0, 0, 10, false, 0},
     bench_tick_circle},
    {{"run-circle", "60 s of V-B, times faster than real time", "x", 0, 0, 50, true, 0}, bench_run},
};

static bool within(const row *r)
{
    if (r->tail > 0 && r->p99 > r->tail * r->median)
        return false;
    return r->at_least ? r->median >= r->limit : r->median <= r->limit;
}

static void print_row(const row *r, FILE *csv)
{
    printf("%-14s %-42s %10.3g %10.3g %-3s %s %g%s\n", r->name, r->what, r->median, r->p99, r->unit,
           r->at_least ? ">=" : "<=", r->limit, within(r) ? "" : "  MISSED");
    fflush(stdout);
    if (csv)
        fprintf(csv, "%s,%s,%.6g,%.6g,%s%g,%s\n", r->name, r->unit, r->median, r->p99,
                r->at_least ? ">=" : "<=", r->limit, within(r) ? "met" : "missed");
}

/* Every row whose name begins with `name`; the number of rows, and of those beyond their figure. */
static int measure_all(const char *name, FILE *csv, int *missed)
{
    int count = 0;
    for (size_t i = 0; i < sizeof benches / sizeof *benches; i++) {
        row r = benches[i].row;
        if (strncmp(r.name, name, strlen(name)) != 0)
            continue;
        count++;
        if (!benches[i].measure(&r))
            r.median = r.p99 = r.at_least ? 0 : INFINITY;
        *missed += !within(&r);
        print_row(&r, csv);
    }
    return count;
}

int command_bench(int argc, char **argv)
{
    const char *name = "", *path = NULL;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--csv") == 0 && i + 1 < argc)
            path = argv[++i];
        else
            name = argv[i];
    }
    FILE *csv = path ? fopen(path, "w") : NULL;
    if (path && !csv) {
        fprintf(stderr, "guideway: %s cannot be written: %s\n", path, strerror(errno));
        return EXIT_WORK_FAILED;
    }
    if (csv)
        fputs("name,unit,median,p99,figure,result\n", csv);
    int missed = 0, count = measure_all(name, csv, &missed);
    if (csv)
        fclose(csv);
    if (count == 0) {
        fprintf(stderr, "guideway: there is no benchmark \"%s\"\n", name);
        return EXIT_BAD_INPUT;
    }
    return missed ? EXIT_WORK_FAILED : EXIT_DONE;
}
