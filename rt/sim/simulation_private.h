/*
 * The structure of the simulation, shared by its tick (simulation.c) and its commands (commands.c).
 * Both run on the thread that owns the simulation.
 */
#ifndef GW_SIM_SIMULATION_PRIVATE_H
#define GW_SIM_SIMULATION_PRIVATE_H

#include "rt/sim/haptic_tool.h"
#include "rt/sim/simulation.h"

#define GW_EVENTS_KEPT 64 /* between two calls to gw_simulation_events() */

struct gw_simulation {
    gw_scenario *scenario;
    gw_run_state state;
    bool halted;
    bool softly;        /* latched devices are engaged with limits that grow from small values */
    bool reports_links; /* snapshots include wrenches of links */
    bool forced_off;    /* by a tick, for `cause` */
    gw_halt_cause cause;
    uint64_t tick;
    uint64_t now;    /* ticks since creation, moving or not */
    int moved_count; /* values not yet reported (see note_value); tag of the newest; tick of the
                        next report */
    uint64_t moved_tag, moved_next;
    uint64_t steps; /* ticks left to make while paused */
    uint64_t step_tag;
    int event_count; /* of `events`; here as every tick reads it */
    gw_haptic_tool tools[GW_MAX_TOOLS];
    gw_haptic_tool switched[GW_MAX_TOOLS]; /* scratch for a switch of scenario */
    double initial;                        /* energy at tick 0 (J) */
    int bound;         /* ticks during which blocked followers are not reported again */
    int at_edge;       /* the same for bodies at an edge */
    int degenerate;    /* the same for degenerate contacts */
    int failed;        /* the same for models whose step failed */
    gw_energy carried; /* work, dissipation and edits up to the last switch (J) */
    uint64_t limited_ticks, overruns, missed;
    bool rehearses;        /* it is a rehearsal: no thread runs its detection */
    int waited;            /* successive due ticks that waited for detection */
    uint64_t overdue_next; /* tick from which overdue detection is reported again */
    gw_histogram cost, lateness;
    gw_stages stages; /* of this tick */
    gw_histogram stage_cost[GW_STAGE_COUNT];
    gw_quantiles stage_us[GW_STAGE_COUNT]; /* of stage_cost, one stage updated at a time */
    uint64_t overruns_by[GW_STAGE_COUNT];
    int worst_count;
    gw_worst_tick worst[GW_WORST_TICKS];
    gw_snapshot snapshot;
    gw_event events[GW_EVENTS_KEPT];
    gw_follower moved[GW_MAX_FOLLOWERS]; /* scratch: moved objects for contacts */
};

/* Halts: everything at rest, devices off from the next command on. Emits one event. RT safe. */
__attribute__((cold)) void gw_simulation_halt(gw_simulation *s, uint64_t tag);

/* Stores an event of this tick; when full, the new one is dropped. Declared cold as most ticks have
 * no event. RT safe. */
__attribute__((cold)) void gw_simulation_emit(gw_simulation *s, gw_event event);

/* Emits the event for the end of a guided motion at a tool. RT safe. */
void gw_simulation_emit_motion_end(gw_simulation *s, int tool);

/* Present energies and works (J) of everything. RT safe. */
void gw_simulation_energy(const gw_simulation *s, gw_energy *e);

/* Passes followers and moved geometry to contacts as kinematic bodies; `dt`: time since their last
 * poses (s), 0: at rest. RT safe. */
void gw_simulation_place_kinematic(gw_simulation *s, double dt);

/* Resets everything to tick 0 of the scenario. RT safe. */
void gw_simulation_restart(gw_simulation *s);

#endif
