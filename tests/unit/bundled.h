/*
 * A bundled scene set running, tick by tick, with looks as `run` has them: what a snapshot tells
 * of every tick is there to be judged. Scenes are read from scenes/, from the tree's root.
 */
#ifndef TESTS_BUNDLED_H
#define TESTS_BUNDLED_H

#include <jansson.h>

#include <stdio.h>

#include "rt/rt.h"
#include "server/wire.h"

typedef struct bundled {
    gw_scene *scene;
    gw_layout *layout;
    gw_device_slot *slots[GW_MAX_DEVICES];
    gw_simulation *simulation;
    uint64_t tick;
} bundled;

static inline gw_scene *bundled_scene(const char *name)
{
    char path[128];
    gw_error error = {0};
    snprintf(path, sizeof path, "scenes/%s.json", name);
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    gw_scene *scene = wire_get_scene(json, &error);
    json_decref(json);
    if (!scene)
        print_error("%s: %s\n", error.where, error.message);
    assert_non_null(scene);
    return scene;
}

/* Takes the scene. */
static inline void bundled_open(bundled *b, gw_scene *scene)
{
    gw_error error = {0};
    *b = (bundled){.scene = scene};
    b->layout = gw_layout_create(scene, NULL, &error);
    assert_non_null(b->layout);
    for (int i = 0; i < scene->device_count; i++) {
        b->slots[i] = gw_device_slot_open(&scene->devices[i], gw_scene_step_rate(scene), &error);
        assert_non_null(b->slots[i]);
    }
    gw_scenario_def def = {
        .scene = scene, .layout = b->layout, .slots = b->slots, .slot_count = scene->device_count};
    gw_scenario *scenario = gw_scenario_create(&def, &error);
    assert_non_null(scenario);
    b->simulation = gw_simulation_create(scenario, &error);
    assert_non_null(b->simulation);
    gw_command retired, start = {.kind = GW_COMMAND_STATE, .state = GW_RUNNING};
    gw_simulation_apply(b->simulation, &start, &retired);
}

static inline const gw_snapshot *bundled_tick(bundled *b)
{
    gw_detection *d = gw_simulation_detection(b->simulation);
    uint64_t every = d ? (uint64_t)(gw_detection_period(d) * b->scene->rate + 1e-9) : 1;
    if (d && b->tick % (every ? every : 1) == 0)
        gw_detection_look(d);
    b->tick++;
    gw_simulation_tick(b->simulation);
    return gw_simulation_snapshot(b->simulation);
}

static inline void bundled_close(bundled *b)
{
    gw_simulation_destroy(b->simulation);
    for (int i = 0; i < b->scene->device_count; i++)
        gw_device_slot_close(b->slots[i]);
    gw_layout_destroy(b->layout);
    gw_scene_destroy(b->scene);
}

#endif
