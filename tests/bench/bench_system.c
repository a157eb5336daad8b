/*
 * Rows of systems of bodies: steps of 1 ms of chains, a tree, the N four-bar (IFToMM A02; its
 * hinges are spatial, three of five rows redundant) and the bundled Stewart platform; ticks of
 * sliders on stiff springs at a limit.
 */
#include <stdio.h>
#include <stdlib.h>

#include "rt/rt.h"
#include "server/cli/command.h"
#include "tests/bench/bench.h"

static gw_pose at(double x, double y)
{
    return (gw_pose){{x, y, 0}, {1, 0, 0, 0}};
}

/* A uniform bar of 1 m and 1 kg along x that turns about its parent's z there. */
static gw_system_body_def bar(int parent, gw_pose parent_from_f, double angle, double rate)
{
    double i = 1.0 / 12;
    return (gw_system_body_def){.mass = {1, {0.5, 0, 0}, {{{0, 0, 0}, {0, i, 0}, {0, 0, i}}}},
                                .parent = parent,
                                .joint = GW_MOBILIZER_REVOLUTE,
                                .parent_from_f = parent_from_f,
                                .body_from_m = gw_pose_identity(),
                                .position = {angle},
                                .velocity = {rate}};
}

/* A chain of `count` bars, or a binary tree of them. */
static gw_system *open_tree(int count, bool binary)
{
    gw_system_body_def *bodies = calloc((size_t)count, sizeof *bodies);
    gw_system_def def = {.body_count = count, .bodies = bodies, .gravity = {0, -9.81, 0}};
    for (int i = 0; bodies && i < count; i++)
        bodies[i] = bar(i == 0 ? GW_GROUND : binary ? (i - 1) / 2 : i - 1, at(i > 0, 0), 0, 0);
    gw_system *system = bodies ? gw_system_create(&def, NULL) : NULL;
    free(bodies);
    return system;
}

static gw_system *n_four_bar(int n)
{
    size_t bars = (size_t)(2 * n + 1);
    gw_system_body_def *bodies = calloc(bars, sizeof *bodies);
    gw_closure_def *closures = calloc((size_t)n, sizeof *closures);
    gw_system *system = NULL;
    gw_pose tip = at(1, 0);
    for (int i = 0; bodies && i <= n; i++)
        bodies[i] = bar(GW_GROUND, at(i, 0), GW_PI / 2, -1);
    for (int i = 0; bodies && closures && i < n; i++) {
        bodies[n + 1 + i] = bar(i, tip, -GW_PI / 2, 1);
        closures[i] = (gw_closure_def){.a = n + 1 + i, .b = i + 1};
        closures[i].row_count =
            gw_mobilizer_rows(GW_MOBILIZER_REVOLUTE, &tip, &tip, closures[i].rows);
    }
    gw_system_def def = {.body_count = (int)bars,
                         .closure_count = n,
                         .bodies = bodies,
                         .closures = closures,
                         .gravity = {0, -9.81, 0}};
    if (bodies && closures)
        system = gw_system_create(&def, NULL);
    free(bodies);
    free(closures);
    return system;
}

/* Thirteen bodies, five loops, falling slowly. */
static gw_system *stewart_platform(void)
{
    gw_scene *scene = command_scene("stewart-platform", NULL);
    gw_layout *layout = scene ? gw_layout_create(scene, NULL, NULL) : NULL;
    gw_system *system = NULL;
    if (layout && layout->system_count > 0) {
        gw_system_def def = gw_scene_system_def(layout->systems[0]);
        def.gravity = (gw_vec3){0.004, 0.004, -0.01};
        system = gw_system_create(&def, NULL);
    }
    gw_layout_destroy(layout);
    gw_scene_destroy(scene);
    return system;
}

static bool measure_system(bench_row *r, int which)
{
    enum { BATCHES = 200 };
    double times[BATCHES];
    gw_system *s = which == 0      ? stewart_platform()
                   : which >= 1000 ? n_four_bar(which - 1000)
                   : which < 0     ? open_tree(-which, true)
                                   : open_tree(which, false);
    int steps = which > 1010 ? 1 : 20;
    gw_step step;
    for (int i = 0; s && i < BATCHES; i++) {
        double start = command_now_us();
        for (int k = 0; k < steps; k++)
            gw_model_step(gw_system_model(s), NULL, 1e-3, &step);
        times[i] = (command_now_us() - start) / steps;
    }
    if (s)
        bench_quantiles(r, times, BATCHES);
    gw_system_destroy(s);
    return s != NULL;
}

/* ---- ticks with stiff springs and a limit ---------------------------------------------------- */

enum { SLIDERS = 4 };

/* Sliders of 0.5 kg above one another, each on the one below by a spring of `stiffness` (N/m); the
 * second leans on its lower limit while the others swing. NULL: no memory. */
static gw_scene *sliders_at_limit(double stiffness)
{
    gw_scene *s = malloc(sizeof *s);
    if (s)
        *s = gw_scene_default();
    for (int i = 0; s && i < SLIDERS; i++) {
        gw_object *o = gw_scene_add_object(s, NULL);
        gw_scene_joint *j = o ? gw_scene_add_joint(s, NULL) : NULL;
        if (!j) {
            gw_scene_destroy(s);
            return NULL;
        }
        snprintf(o->id, sizeof o->id, "slider-%d", i);
        o->shape = (gw_shape){.kind = GW_SHAPE_BOX, .size = {0.05, 0.05, 0.05}};
        o->pose = (gw_pose){{0, 0, 0.1 * i}, gw_quat_identity()};
        o->free = true;
        o->body = (gw_body){.source = GW_MASS_GIVEN, .mass = 0.5};
        snprintf(j->id, sizeof j->id, "joint-%d", i);
        snprintf(j->a.object, sizeof j->a.object, "%s", o->id);
        snprintf(j->b.object, sizeof j->b.object, "%s",
                 i > 0 ? s->objects[i - 1].id : GW_WORLD_FRAME);
        j->a.at = gw_pose_identity();
        j->b.at = (gw_pose){{0, 0, i > 0 ? 0.1 : 0}, gw_quat_identity()};
        j->type = GW_MOBILIZER_PRISMATIC;
        j->enabled = j->has_velocity = true;
        j->velocity[0] = 0.1;
        j->stiffness[0] = stiffness;
        j->rest[0] = i == 1 ? -0.005 : 0.005;
        j->limited[0] = i == 1;
        j->lower[0] = -0.002;
        j->upper[0] = 0.02;
    }
    return s;
}

/* Ticks of them, at `kilo` kN/m. */
static bool measure_limit(bench_row *r, int kilo)
{
    enum { TICKS = 2000 };
    static double times[TICKS];
    gw_scene *scene = sliders_at_limit(1e3 * kilo);
    gw_sim *sim = scene ? gw_sim_create(scene, NULL) : NULL;
    gw_scene_destroy(scene);
    if (!sim)
        return false;
    gw_sim_set_state(sim, GW_RUNNING);
    for (int i = 0; i < TICKS; i++) {
        gw_sim_step(sim, 1);
        times[i] = gw_sim_snapshot(sim)->tick_us;
    }
    bench_quantiles(r, times, TICKS);
    gw_sim_destroy(sim);
    return true;
}

int bench_system_rows(bench *rows, int room)
{
    static const struct {
        const char *name, *what;
        int which;
        double limit;        /* us; 0: no limit */
        bool limit_of_joint; /* measure_limit() */
    } table[] = {{"system-chain-3", "system of bodies, chain of 3, a step", 3, 0, false},
                 {"system-chain-20", "chain of 20", 20, 0, false},
                 {"system-chain-500", "chain of 500", 500, 350, false},
                 {"system-tree-50", "binary tree of 50", -50, 40, false},
                 {"system-four-bar", "four-bar, one spatial loop", 1001, 5, false},
                 {"system-four-bar-2", "N four-bar, N = 2", 1002, 8, false},
                 {"system-four-bar-40", "N four-bar, N = 40", 1040, 120, false},
                 {"system-stewart", "Stewart platform, 13 bodies, 5 loops", 0, 40, false},
                 {"tick-limit-100", "4 sliders, 100 kN/m, one at a limit", 100, 0, true},
                 {"tick-limit-1000", "4 sliders, 1 MN/m, one at a limit", 1000, 0, true}};
    int count = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table && count < room; i++) {
        bench *b = &rows[count++];
        *b = (bench){.row = {.unit = "us", .limit = table[i].limit, .held = table[i].limit > 0},
                     .measure = table[i].limit_of_joint ? measure_limit : measure_system,
                     .which = table[i].which};
        snprintf(b->row.name, sizeof b->row.name, "%s", table[i].name);
        snprintf(b->row.what, sizeof b->row.what, "%s", table[i].what);
    }
    return count;
}
