/*
 * A scene running, tick by tick, with looks as `run` has them: what a snapshot tells of every tick
 * is there to be judged.
 */
#ifndef GW_TESTS_UNIT_SCENE_RUNNING_H
#define GW_TESTS_UNIT_SCENE_RUNNING_H

#include "rt/rt.h"

typedef struct running {
    gw_scene *scene;
    gw_layout *layout;
    gw_device_slot *slots[GW_MAX_DEVICES];
    gw_simulation *simulation;
    uint64_t tick;
} running;

/* Takes the scene; `rehearsed`: with a rehearsal, which nobody ticks. */
static inline void running_open_as(running *r, gw_scene *scene, bool rehearsed)
{
    gw_error error = {0};
    *r = (running){.scene = scene};
    r->layout = gw_layout_create(scene, NULL, &error);
    assert_non_null(r->layout);
    for (int i = 0; i < scene->device_count; i++) {
        r->slots[i] = gw_device_slot_open(&scene->devices[i], gw_scene_step_rate(scene), &error);
        assert_non_null(r->slots[i]);
    }
    gw_scenario_def def = {.scene = scene,
                           .layout = r->layout,
                           .slots = r->slots,
                           .slot_count = scene->device_count,
                           .rehearsed = rehearsed};
    gw_scenario *scenario = gw_scenario_create(&def, &error);
    assert_non_null(scenario);
    r->simulation = gw_simulation_create(scenario, &error);
    assert_non_null(r->simulation);
    gw_command retired, start = {.kind = GW_COMMAND_STATE, .state = GW_RUNNING};
    gw_simulation_apply(r->simulation, &start, &retired);
}

static inline void running_open(running *r, gw_scene *scene)
{
    running_open_as(r, scene, false);
}

static inline const gw_snapshot *running_tick(running *r)
{
    r->tick++;
    gw_simulation_tick(r->simulation);
    gw_detection *d = gw_simulation_detection(r->simulation);
    if (d)
        gw_detection_run(d);
    return gw_simulation_snapshot(r->simulation);
}

static inline void running_close(running *r)
{
    gw_simulation_destroy(r->simulation);
    for (int i = 0; i < r->scene->device_count; i++)
        gw_device_slot_close(r->slots[i]);
    gw_layout_destroy(r->layout);
    gw_scene_destroy(r->scene);
}

#endif
