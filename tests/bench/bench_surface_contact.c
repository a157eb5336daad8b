/*
 * Rows of free-form surfaces: evaluation of a bicubic patch with its derivatives, and steps of 1 ms
 * of bodies of bundled scenes that are guided by such surfaces or in contact with them.
 */
#include <math.h>
#include <stdio.h>

#include "rt/geometry/nurbs.h"
#include "rt/guideway.h"
#include "rt/rt.h"
#include "server/cli/command.h"
#include "tests/bench/bench.h"

enum { BATCHES = 2000 };

/* ---- evaluation ------------------------------------------------------------------------------ */

static bool measure_evaluation(bench_row *r, int order)
{
    double times[BATCHES], sum = 0;
    gw_scene *scene = command_scene("probe-on-hood", NULL);
    int hood = scene ? gw_scene_object(scene, "hood") : -1;
    for (int i = 0; hood >= 0 && i < BATCHES; i++) {
        const gw_nurbs *s = scene->objects[hood].shape.nurbs;
        gw_nurbs_point at;
        double start = command_now_us();
        for (int k = 0; k < 100; k++) {
            double x[2] = {0.3 + 2.4e-2 * k, 1.5 + sin(0.1 * k)};
            gw_nurbs_evaluate(s, x, order, NULL, &at);
            sum += at.d[0][0].z;
        }
        times[i] = (command_now_us() - start) / 100;
    }
    if (hood >= 0)
        bench_quantiles(r, times, BATCHES);
    gw_scene_destroy(scene);
    return hood >= 0 && isfinite(sum);
}

/* ---- steps ----------------------------------------------------------------------------------- */

static gw_wrench pushed(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    (void)context, (void)t, (void)held, (void)twist;
    return (gw_wrench){{0.02, 0.01, 0}, {0, 0, 1e-5}};
}

static void time_steps(bench_row *r, gw_model *model)
{
    double times[BATCHES];
    gw_forces forces = {.at = pushed, .context = NULL};
    gw_step step;
    for (int i = 0; i < BATCHES; i++) {
        double start = command_now_us();
        gw_model_step(model, &forces, 1e-3, &step);
        times[i] = command_now_us() - start;
    }
    bench_quantiles(r, times, BATCHES);
}

/* The probe whose tip is on the hood: a guided body. */
static bool measure_point(bench_row *r, int unused)
{
    static gw_guided body;
    gw_scene *scene = command_scene("probe-on-hood", NULL);
    gw_layout *layout = scene ? gw_layout_create(scene, NULL, NULL) : NULL;
    int probe = scene ? gw_scene_object(scene, "probe") : -1;
    const gw_placement *p = layout ? gw_layout_placement(layout, probe) : NULL;
    bool placed = p && p->branch >= 0;
    (void)unused;
    if (placed) {
        gw_guided_def def = {.set = p->solution.branches[p->branch].set,
                             .mass = gw_shape_mass(&scene->objects[probe].shape, 12000),
                             .body_from_held = gw_pose_identity(),
                             .length = p->length};
        gw_guided_init(&body, &def, &layout->poses[probe]);
        time_steps(r, &body.model);
    }
    gw_layout_destroy(layout);
    gw_scene_destroy(scene);
    return placed;
}

/* The ball (0) or the egg (1) on the saddle: a system of one body; two wires on axles (2). */
static bool measure_contact(bench_row *r, int which)
{
    gw_scene *scene = command_scene(which == 2 ? "curve-on-curve" : "rolling-on-saddle", NULL);
    gw_layout *layout = scene ? gw_layout_create(scene, NULL, NULL) : NULL;
    gw_system *system = NULL;
    int number = which == 2 ? 0 : which;
    if (layout && number < layout->system_count) {
        gw_system_def def = gw_scene_system_def(layout->systems[number]);
        system = gw_system_create(&def, NULL);
    }
    if (system)
        time_steps(r, gw_system_model(system));
    gw_system_destroy(system);
    gw_layout_destroy(layout);
    gw_scene_destroy(scene);
    return system != NULL;
}

/* ---- ticks ----------------------------------------------------------------------------------- */

/* Ticks of a scene, which is destroyed. */
static bool time_ticks(bench_row *r, gw_scene *scene)
{
    double times[BATCHES];
    gw_sim *sim = scene ? gw_sim_create(scene, NULL) : NULL;
    gw_scene_destroy(scene);
    if (!sim)
        return false;
    gw_sim_set_state(sim, GW_RUNNING);
    for (int i = 0; i < BATCHES; i++) {
        double start = command_now_us();
        gw_sim_step(sim, 1);
        times[i] = command_now_us() - start;
    }
    gw_sim_destroy(sim);
    bench_quantiles(r, times, BATCHES);
    return true;
}

/* Whole ticks of bundled scenes whose contacts may separate. */
static bool measure_ticks(bench_row *r, int which)
{
    static const char *const names[] = {"marble-run", "knee", "blade-under-probe", "draw-shot"};
    return time_ticks(r, command_scene(names[which], NULL));
}

/* z = x^2 + y^2 over a square of 1 m. */
static gw_nurbs *paraboloid(void)
{
    static const double knots[] = {0, 0, 0, 1, 1, 1}, x[3] = {-0.5, 0, 0.5},
                        square[3] = {0.25, -0.25, 0.25};
    gw_vec3 points[9];
    for (int i = 0; i < 9; i++)
        points[i] = gw_v3(x[i / 3], x[i % 3], square[i / 3] + square[i % 3]);
    const gw_nurbs_def def = {.dimension = 2,
                              .degree = {2, 2},
                              .count = {3, 3},
                              .knot_count = {6, 6},
                              .knots = {knots, knots},
                              .points = points};
    return gw_nurbs_create(&def, NULL);
}

/* `balls` copies of the ball of bouncing-ball, which roll in a bowl in place of its floor. */
static bool measure_bowl(bench_row *r, int balls)
{
    static const char *const names[] = {"elastic", "rubber", "wood", "clay"};
    gw_scene *scene = command_scene("bouncing-ball", NULL);
    int floor = scene ? gw_scene_object(scene, "floor") : -1;
    gw_nurbs *bowl = floor >= 0 ? paraboloid() : NULL;
    if (!bowl) {
        gw_scene_destroy(scene);
        return false;
    }
    gw_shape_finish(&scene->objects[floor].shape);
    scene->objects[floor].shape = (gw_shape){.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = bowl};
    scene->objects[floor].pose.p = gw_v3(0, 0, 0);
    for (int i = 0; i < 4; i++) {
        gw_object *ball = &scene->objects[gw_scene_object(scene, names[i])];
        double x = i / 2 ? 0.2 : -0.2, y = i % 2 ? 0.2 : -0.2;
        ball->pose.p = gw_v3(x, y, 0.12);
        ball->velocity = gw_v3(y, -x, 0); /* all in one sense, so that they do not collide */
        if (i >= balls) {
            ball->pose.p.z = 2 + i;
            ball->free = false;
            ball->fixed = true;
        }
    }
    return time_ticks(r, scene);
}

int bench_surface_contact_rows(bench *rows, int room)
{
    static const struct {
        const char *name, *what;
        bool (*measure)(bench_row *row, int which);
        int which;
        double limit; /* us; 0: no limit */
    } table[] = {
        {"surface-evaluation", "bicubic patch, second derivatives", measure_evaluation, 2, 0.25},
        {"surface-evaluation-3", "and third ones", measure_evaluation, 3, 0},
        {"surface-point", "point on a bicubic surface, a step", measure_point, 0, 3},
        {"surface-rolling-ball", "ball that rolls on a saddle, a step", measure_contact, 0, 12},
        {"surface-rolling-egg", "surface that rolls purely on it", measure_contact, 1, 12},
        {"curve-sliding-wires", "two wires that touch, on axles, a step", measure_contact, 2, 12},
        {"surface-parting-marbles", "marble run, a tick", measure_ticks, 0, 250},
        {"surface-parting-knee", "knee on two condyles, a tick", measure_ticks, 1, 250},
        {"surface-parting-probe", "probe on a blade, a tick", measure_ticks, 2, 50},
        {"surface-slipping-balls", "two balls on a cloth with friction, a tick", measure_ticks, 3,
         100},
        {"surface-bowl-ball", "ball in a free-form bowl, detected, a tick", measure_bowl, 1, 30},
        {"surface-bowl-balls", "four such balls, a tick", measure_bowl, 4, 120},
    };
    int count = 0;
    for (size_t i = 0; i < sizeof table / sizeof *table && count < room; i++) {
        bench *b = &rows[count++];
        *b = (bench){.row = {.unit = "us", .limit = table[i].limit, .held = table[i].limit > 0},
                     .measure = table[i].measure,
                     .which = table[i].which};
        snprintf(b->row.name, sizeof b->row.name, "%s", table[i].name);
        snprintf(b->row.what, sizeof b->row.what, "%s", table[i].what);
    }
    return count;
}
