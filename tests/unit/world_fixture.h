/*
 * A world of one tool at an ideal or profiled device, on a set made by hand.
 */
#ifndef GW_TESTS_UNIT_WORLD_FIXTURE_H
#define GW_TESTS_UNIT_WORLD_FIXTURE_H

#include "tests/unit/scenario_fixture.h"

typedef struct world {
    gw_device_slot *slot;
    gw_simulation *simulation;
    gw_guided_def body;
    int rate;
} world;

typedef struct world_def {
    gw_guided_def body;
    int rate;                    /* 0: 1 kHz */
    const char *profile;         /* of the device, NULL: ideal */
    const gw_operator *operator; /* NULL: nobody */
    const fixture_wall *walls;
    int wall_count;
} world_def;

/* The scenario that w starts with or is switched to: its body as it is now, these walls. */
static inline gw_scenario *scenario_of(const world *w, const fixture_wall *walls, int count)
{
    gw_scenario *s = fixture_scenario(&w->body, w->slot, w->rate);
    if (count)
        fixture_set_walls(s, walls, count);
    return s;
}

static inline world fixture_world(const world_def *def)
{
    static const gw_operator nobody = {.kind = GW_OPERATOR_NONE};
    world w = {.body = def->body, .rate = def->rate ? def->rate : 1000};
    w.slot = fixture_device(def->profile ? def->profile : "",
                            def->operator? def->operator: & nobody, w.rate);
    w.simulation = gw_simulation_create(scenario_of(&w, def->walls, def->wall_count), NULL);
    assert_non_null(w.simulation);
    return w;
}

static inline void gone(world *w)
{
    gw_simulation_destroy(w->simulation);
    gw_device_slot_close(w->slot);
}

static inline const gw_tool_state *ticked(world *w, int ticks)
{
    for (int i = 0; i < ticks; i++)
        gw_simulation_tick(w->simulation);
    return &gw_simulation_snapshot(w->simulation)->tools[0];
}

static inline void command(world *w, gw_command c)
{
    gw_command retired;
    gw_simulation_apply(w->simulation, &c, &retired);
    if (retired.kind == GW_COMMAND_SCENARIO)
        gw_scenario_destroy(retired.scenario);
    if (retired.kind == GW_COMMAND_OPERATOR)
        gw_operator_program_destroy(retired.operator.program);
}

#endif
