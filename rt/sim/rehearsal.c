/*
 * A second simulation of a scenario that keeps the caches warm. Created by the thread that builds
 * scenarios, ticked by the loop's.
 */
#include "rt/sim/rehearsal.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base/clock.h"
#include "rt/sim/device_slot.h"
#include "rt/sim/simulation.h"

#define FIRST_TICKS 16      /* they touch pages; the fastest gives the initial cost of a tick */
#define FIRST_NS    1000000 /* bound of their total time, as an edit waits for them */
#define COST_STEP   32 /* the cost approaches the median duration of ticks by this part of itself */

struct gw_rehearsal {
    gw_simulation *simulation;
    gw_device_slot *slots[GW_MAX_DEVICES];
    int slot_count;
    int64_t cost_ns;
};

/* Opens a simulated device in place of `device`: a rehearsal must not command a real one. */
static gw_device_slot *open_simulated(const gw_device *device, int rate)
{
    gw_device like = *device;
    const gw_driver *driver = gw_driver_find(device->driver);
    if (!driver)
        return NULL;
    if (!gw_driver_is_simulated(driver)) {
        strcpy(like.driver, driver->class == GW_DEVICE_IMPEDANCE ? "sim-impedance" : "sim");
        like.profile[0] = '\0';
        like.setting_count = 0;
    }
    return gw_device_slot_open(&like, rate, NULL);
}

static bool open_slots(gw_rehearsal *rehearsal, const gw_scene *scene)
{
    for (int i = 0; i < scene->device_count; i++) {
        gw_device_slot *slot = open_simulated(&scene->devices[i], gw_scene_step_rate(scene));
        if (!slot)
            return false;
        rehearsal->slots[rehearsal->slot_count++] = slot;
    }
    return true;
}

void gw_rehearsal_destroy(gw_rehearsal *rehearsal)
{
    if (!rehearsal)
        return;
    gw_simulation_destroy(rehearsal->simulation);
    for (int i = 0; i < rehearsal->slot_count; i++)
        gw_device_slot_close(rehearsal->slots[i]);
    free(rehearsal);
}

void gw_rehearsal_tick(gw_rehearsal *rehearsal)
{
    gw_event events[16];
    gw_simulation_tick(rehearsal->simulation);
    while (gw_simulation_events(rehearsal->simulation, events, 16) == 16)
        ;
}

/* Touches pages, and measures the initial cost. */
static void warm_up(gw_rehearsal *rehearsal)
{
    int64_t spent = 0;
    for (int i = 0; i < FIRST_TICKS && spent < FIRST_NS; i++) {
        int64_t from = gw_now_ns();
        gw_rehearsal_tick(rehearsal);
        int64_t took = gw_now_ns() - from;
        spent += took;
        if (i == 0 || took < rehearsal->cost_ns)
            rehearsal->cost_ns = took;
    }
}

gw_rehearsal *gw_rehearsal_create(const gw_scenario_def *def)
{
    assert(def);
    if (gw_scene_body_count(def->scene) > GW_REHEARSED_BODIES)
        return NULL;
    gw_rehearsal *rehearsal = calloc(1, sizeof *rehearsal);
    if (!rehearsal)
        return NULL;
    gw_scenario_def like = *def;
    like.rehearsed = false;
    like.slots = rehearsal->slots;
    gw_scenario *scenario = NULL;
    if (open_slots(rehearsal, def->scene)) {
        like.slot_count = rehearsal->slot_count;
        scenario = gw_scenario_create(&like, NULL);
    }
    rehearsal->simulation = scenario ? gw_simulation_create_sparse(scenario) : NULL;
    if (!rehearsal->simulation) {
        gw_rehearsal_destroy(rehearsal);
        return NULL;
    }
    gw_command retired, run = {.kind = GW_COMMAND_STATE, .state = GW_RUNNING};
    gw_simulation_apply(rehearsal->simulation, &run, &retired);
    warm_up(rehearsal);
    return rehearsal;
}

int64_t gw_rehearsal_cost_ns(const gw_rehearsal *rehearsal)
{
    return rehearsal->cost_ns;
}

void gw_rehearsal_took(gw_rehearsal *rehearsal, int64_t ns)
{
    int64_t step = rehearsal->cost_ns / COST_STEP + 1;
    rehearsal->cost_ns += ns > rehearsal->cost_ns ? step : -step;
}
