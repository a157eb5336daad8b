/*
 * The facade of the library (rt/guideway.h): a scene's layout, its open devices and its simulation
 * under one handle, with collision detection run between two ticks. One thread at a time.
 */
#include "rt/guideway.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base/clock.h"
#include "rt/sim/detection.h"

struct gw_sim {
    gw_layout *layout;
    gw_device_slot *slots[GW_MAX_DEVICES];
    int slot_count;
    gw_simulation *simulation;
    int rate, object_count, body_count; /* bodies: objects, then links */
    uint64_t revision;
    uint64_t ticks; /* ticks made so far, moving or not */
    gw_pose *poses; /* per body, as of the last snapshot requested */
};

/* ---- create and destroy --------------------------------------------------------------------- */

static bool open_devices(gw_sim *sim, const gw_scene *scene, gw_error *error)
{
    for (int i = 0; i < scene->device_count; i++) {
        sim->slots[i] = gw_device_slot_open(&scene->devices[i], gw_scene_step_rate(scene), error);
        if (!sim->slots[i])
            return false;
        sim->slot_count++;
    }
    return true;
}

/* A layout in which all objects are solved; NULL with an error that describes the conflict. */
static gw_layout *solved_layout(const gw_scene *scene, const gw_pose *poses, gw_error *error)
{
    const char *ids[GW_MAX_PROBLEM];
    char words[300];
    gw_layout *layout = gw_layout_create(scene, poses, error);
    const gw_placement *p = layout ? gw_layout_unsolved(layout) : NULL;
    if (!p)
        return layout;
    for (int i = 0; i < p->count; i++)
        ids[i] = scene->constraints[p->ids[i]].id;
    bool incompatible = p->solution.status == GW_STATUS_INCOMPATIBLE;
    if (incompatible)
        gw_conflict_description(&p->solution.conflict, ids, words, sizeof words);
    else
        snprintf(words, sizeof words, "%s", p->solution.reason ? p->solution.reason : "unhandled");
    gw_fail(error, incompatible ? GW_INCOMPATIBLE : GW_UNHANDLED, "/constraints",
            "\"%s\" cannot be placed: %s", scene->objects[p->object].id, words);
    gw_layout_destroy(layout);
    return NULL;
}

static gw_scenario *scenario_of(const gw_sim *sim, const gw_scene *scene, const gw_layout *layout,
                                uint64_t revision, gw_error *error)
{
    gw_scenario_def def = {.scene = scene,
                           .layout = layout,
                           .slots = sim->slots,
                           .slot_count = sim->slot_count,
                           .revision = revision};
    return gw_scenario_create(&def, error);
}

gw_sim *gw_sim_create(const gw_scene *scene, gw_error *error)
{
    assert(scene);
    size_t bodies = (size_t)gw_scene_body_count(scene);
    gw_sim *sim = calloc(1, sizeof *sim);
    if (!sim || !(sim->poses = calloc(bodies + 1, sizeof *sim->poses))) {
        gw_fail(error, GW_FAILED, "", "no memory to run the scene");
        gw_sim_destroy(sim);
        return NULL;
    }
    sim->revision = 1;
    sim->rate = scene->rate > 0 ? scene->rate : 1000;
    sim->object_count = scene->object_count;
    sim->body_count = gw_scene_body_count(scene);
    sim->layout = solved_layout(scene, NULL, error);
    gw_scenario *scenario = sim->layout && open_devices(sim, scene, error)
                                ? scenario_of(sim, scene, sim->layout, sim->revision, error)
                                : NULL;
    sim->simulation = scenario ? gw_simulation_create(scenario, error) : NULL;
    if (!sim->simulation) {
        gw_sim_destroy(sim);
        return NULL;
    }
    if (bodies > 0)
        memcpy(sim->poses, sim->layout->poses, bodies * sizeof *sim->poses);
    return sim;
}

void gw_sim_destroy(gw_sim *sim)
{
    if (!sim)
        return;
    gw_simulation_destroy(sim->simulation);
    for (int i = 0; i < sim->slot_count; i++)
        gw_device_slot_close(sim->slots[i]);
    gw_layout_destroy(sim->layout);
    free(sim->poses);
    free(sim);
}

/* ---- commands ------------------------------------------------------------------------------- */

void gw_sim_command(gw_sim *sim, const gw_command *command)
{
    gw_command retired;
    assert(sim && command && command->kind != GW_COMMAND_SCENARIO);
    gw_simulation_apply(sim->simulation, command, &retired);
    if (retired.kind == GW_COMMAND_OPERATOR)
        gw_operator_program_destroy(retired.operator.program);
}

void gw_sim_set_state(gw_sim *sim, gw_run_state state)
{
    gw_sim_command(sim, &(gw_command){.kind = GW_COMMAND_STATE, .state = state});
}

bool gw_sim_change(gw_sim *sim, const gw_scene *scene, gw_error *error)
{
    gw_command retired, command = {.kind = GW_COMMAND_SCENARIO};
    assert(sim && scene);
    if (scene->object_count != sim->object_count || gw_scene_body_count(scene) != sim->body_count)
        return gw_fail(error, GW_BAD_INPUT, "/objects",
                       "a change keeps the %d objects and %d links", sim->object_count,
                       sim->body_count - sim->object_count);
    gw_layout *layout = solved_layout(scene, gw_sim_poses(sim), error);
    command.scenario = layout ? scenario_of(sim, scene, layout, sim->revision + 1, error) : NULL;
    if (!command.scenario) {
        gw_layout_destroy(layout);
        return false;
    }
    gw_simulation_apply(sim->simulation, &command, &retired);
    gw_scenario_destroy(retired.scenario);
    gw_layout_destroy(sim->layout);
    sim->layout = layout;
    sim->revision++;
    return true;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* Runs detection if it is due, in place of the world's thread of a loop. */
static void detect_when_asked(gw_sim *sim)
{
    gw_detection *detection = gw_simulation_detection(sim->simulation);
    if (detection && gw_detection_asked(detection))
        gw_detection_run(detection);
}

static double now_us(void)
{
    return 1e-3 * (double)gw_now_ns();
}

void gw_sim_step(gw_sim *sim, uint64_t ticks)
{
    assert(sim);
    for (uint64_t k = 0; k < ticks; k++) {
        double begin = now_us();
        gw_simulation_tick(sim->simulation);
        double cost = now_us() - begin;
        detect_when_asked(sim);
        gw_simulation_timing(sim->simulation,
                             &(gw_tick_timing){.tick_us = cost, .overrun = cost > 1e6 / sim->rate});
        sim->ticks++;
    }
}

void gw_sim_finish(gw_sim *sim)
{
    gw_sim_set_state(sim, GW_PAUSED);
    gw_simulation_tick(sim->simulation); /* moves nothing */
}

/* ---- what it tells -------------------------------------------------------------------------- */

const gw_snapshot *gw_sim_snapshot(const gw_sim *sim)
{
    assert(sim);
    return gw_simulation_snapshot(sim->simulation);
}

bool gw_sim_event(gw_sim *sim, gw_event *event)
{
    assert(sim && event);
    return gw_simulation_events(sim->simulation, event, 1) == 1;
}

const gw_layout *gw_sim_layout(const gw_sim *sim)
{
    assert(sim);
    return sim->layout;
}

uint64_t gw_sim_revision(const gw_sim *sim)
{
    assert(sim);
    return sim->revision;
}

const gw_pose *gw_sim_poses(gw_sim *sim)
{
    const gw_snapshot *s = gw_sim_snapshot(sim);
    for (int i = 0; i < s->tool_count; i++)
        if (s->tools[i].object >= 0)
            sim->poses[s->tools[i].object] = s->tools[i].world_from_object;
    for (int i = 0; i < s->follower_count; i++)
        sim->poses[s->followers[i].object] = s->followers[i].world_from_object;
    for (int i = 0; i < s->free_count; i++)
        sim->poses[s->free[i].object] = s->free[i].pose;
    memcpy(sim->poses + sim->object_count, s->links, (size_t)s->joint_count * sizeof *s->links);
    return sim->poses;
}
