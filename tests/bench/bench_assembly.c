/*
 * Rows of assembly: a four-bar, a Stewart platform and chains from parts that lie anywhere, ground
 * that moves, and one update of gradient descent.
 */
#include <stdio.h>

#include "server/cli/command.h"
#include "tests/bench/bench.h"
#include "tests/unit/assembly_fixture.h"

enum { FOUR_BAR, STEWART, CHAIN };

/* Time of one assembly of the mechanism `which`, its parts scattered by `seed` except for chains
 * (us); negative if it failed. */
static double assembled_in(int which, int links, unsigned long long seed)
{
    gw_scene *s = which == FOUR_BAR  ? four_bar_of_joints()
                  : which == STEWART ? stewart_platform(-1)
                                     : hanging_chain(links);
    if (which != CHAIN)
        scatter_parts(s, &seed);
    const gw_assembly_def def = {.scene = s};
    const gw_assembly_options options = {.seed = 1};
    gw_assembly_result result = {0};
    gw_assembly *a = gw_assembly_create(&def, NULL);
    double start = command_now_us();
    if (a)
        gw_assembly_solve(a, &options, &result);
    double time = command_now_us() - start;
    gw_assembly_destroy(a);
    gw_scene_destroy(s);
    return result.held ? time : -1;
}

static bool measure_assembly(bench_row *r, int which)
{
    enum { SEEDS = 100 };
    double times[SEEDS];
    for (unsigned long long i = 0; i < SEEDS; i++) {
        times[i] = assembled_in(which < CHAIN ? which : CHAIN, which, i);
        if (times[i] < 0)
            return false;
    }
    bench_quantiles(r, times, SEEDS);
    return true;
}

/* Time of an update dq = -k C_q^T C of the four-bar, measured over a hundred from scattered
 * parts. */
static bool measure_update(bench_row *r, int which)
{
    enum { BATCHES = 200, UPDATES = 100 };
    double times[BATCHES];
    (void)which;
    for (unsigned long long i = 0; i < BATCHES; i++) {
        unsigned long long random = i;
        gw_scene *s = four_bar_of_joints();
        scatter_parts(s, &random);
        const gw_assembly_def def = {.scene = s};
        const gw_assembly_options options = {
            .method = GW_ASSEMBLY_GRADIENT, .starts = 1, .iterations = UPDATES};
        gw_assembly_result result = {0};
        gw_assembly *a = gw_assembly_create(&def, NULL);
        double start = command_now_us();
        if (a)
            gw_assembly_solve(a, &options, &result);
        times[i] = (command_now_us() - start) / UPDATES;
        gw_assembly_destroy(a);
        gw_scene_destroy(s);
        if (result.iterations != UPDATES)
            return false;
    }
    bench_quantiles(r, times, BATCHES);
    return true;
}

/* A platform that is dragged at 0.3 m/s and 0.5 rad/s: its legs follow by one iteration of Newton's
 * method per tick of 1 kHz. False if a relation is open by more than a micrometre after a tick. */
static bool measure_following(bench_row *r, int which)
{
    enum { TICKS = 2000 };
    static double times[TICKS];
    (void)which;
    gw_scene *s = stewart_platform(-1);
    const bool ground[14] = {true, true}; /* the base and the platform */
    s->objects[1].pose.p = gw_v3(0, 0, 0.6);
    const gw_assembly_def def = {.scene = s, .ground = ground};
    const gw_assembly_options whole = {.seed = 1};
    const gw_assembly_options once = {.method = GW_ASSEMBLY_NEWTON, .starts = 1, .iterations = 1};
    gw_assembly_result result = {0};
    gw_assembly *a = gw_assembly_create(&def, NULL);
    if (a)
        gw_assembly_solve(a, &whole, &result);
    bool held = result.held;
    for (int tick = 0; tick < TICKS && held; tick++) {
        gw_twist d = {{3e-4 * cos(0.005 * tick), 0, 3e-4 * sin(0.005 * tick)}, {0, 0, 5e-4}};
        gw_pose *platform = &gw_assembly_poses(a)[1];
        double start = command_now_us();
        *platform = gw_pose_add(platform, &d);
        gw_assembly_solve(a, &once, &result);
        times[tick] = command_now_us() - start;
        held = result.iterations == 1 && result.residual < 1e-6;
    }
    gw_assembly_destroy(a);
    gw_scene_destroy(s);
    bench_quantiles(r, times, TICKS);
    return held;
}

/* The least time of an iteration of scattered eggs, whose closest points are searched for (us). */
static double searched_in(gw_scene *s, int threads)
{
    enum { ROUNDS = 40 };
    double least = INFINITY;
    const gw_assembly_def def = {.scene = s, .threads = threads};
    const gw_assembly_options once = {.starts = 1, .limit = 1};
    for (int i = 0; i < ROUNDS; i++) {
        gw_assembly_result result;
        gw_assembly *a = gw_assembly_create(&def, NULL);
        if (!a)
            return INFINITY;
        double start = command_now_us();
        gw_assembly_solve(a, &once, &result);
        least = fmin(least, command_now_us() - start);
        gw_assembly_destroy(a);
    }
    return least;
}

/* The speed-up of an iteration on two threads. */
static bool measure_threads(bench_row *r, int pairs)
{
    unsigned long long random = 3;
    gw_scene *s = touching_eggs(pairs);
    scatter_parts(s, &random);
    double alone = searched_in(s, 1), two = searched_in(s, 2), ratio = alone / two;
    gw_scene_destroy(s);
    bench_quantiles(r, &ratio, 1);
    return isfinite(ratio);
}

int bench_assembly_rows(bench *rows, int room)
{
    static const struct {
        const char *name, *what;
        bool (*measure)(bench_row *row, int which);
        int which;
        double limit;
    } table[] = {
        {"assembly-four-bar", "four-bar from scattered parts", measure_assembly, FOUR_BAR, 5000},
        {"assembly-stewart", "Stewart platform, 13 bodies", measure_assembly, STEWART, 5000},
        {"assembly-chain-50", "chain of 50, both ends held", measure_assembly, 50, 0},
        {"assembly-chain-500", "chain of 500, both ends held", measure_assembly, 500, 0},
        {"assembly-follow", "a moving finger followed by an iteration a tick, 13 bodies",
         measure_following, 0, 100},
        {"assembly-update", "gradient descent, an update of the four-bar", measure_update, 0, 0.5},
        {"assembly-threads", "3 free-form contacts, two threads against one", measure_threads, 3,
         0}};
    int count = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table && count < room; i++) {
        bench *b = &rows[count++];
        bool ratio = table[i].measure == measure_threads;
        *b = (bench){.row = {.unit = ratio ? "x" : "us",
                             .limit = table[i].limit,
                             .at_least = ratio,
                             .held = table[i].limit > 0},
                     .measure = table[i].measure,
                     .which = table[i].which};
        snprintf(b->row.name, sizeof b->row.name, "%s", table[i].name);
        snprintf(b->row.what, sizeof b->row.what, "%s", table[i].what);
    }
    return count;
}
