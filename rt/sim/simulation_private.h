/*
 * The simulation from the inside, shared by its tick (simulation.c) and its commands (commands.c).
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
    bool softly;        /* latched devices are engaged with small limits that grow */
    bool reports_links; /* snapshots have wrenches of links */
    bool forced_off;    /* by a tick, for `cause` */
    gw_halt_cause cause;
    uint64_t tick;
    uint64_t now;    /* ticks since creation, moving or not */
    int moved_count; /* values not yet reported (see note_value), the newest's tag, when they may be
                      */
    uint64_t moved_tag, moved_next;
    uint64_t steps; /* still to go while paused */
    uint64_t step_tag;
    gw_haptic_tool tools[GW_MAX_TOOLS];
    gw_haptic_tool switched[GW_MAX_TOOLS]; /* room for a switch of scenario */
    double initial;                        /* energy at tick 0 (J) */
    int bound;         /* ticks for which it is no news that what follows goes no farther */
    int at_edge;       /* the same of the edge of a surface */
    int degenerate;    /* and of degenerate contacts */
    gw_energy carried; /* work, dissipation and edits up to the last switch (J) */
    uint64_t limited_ticks, overruns, missed;
    bool rehearses;        /* nobody detects for it */
    int waited;            /* ticks in a row that were due and waited for detection */
    uint64_t overdue_next; /* when it is news again that they did not */
    gw_histogram cost, lateness;
    gw_stages stages; /* of this tick */
    gw_histogram stage_cost[GW_STAGE_COUNT];
    gw_quantiles stage_us[GW_STAGE_COUNT]; /* of them, each brought up to date in its turn */
    uint64_t overruns_by[GW_STAGE_COUNT];
    int worst_count;
    gw_worst_tick worst[GW_WORST_TICKS];
    gw_snapshot snapshot;
    gw_event events[GW_EVENTS_KEPT];
    int event_count;
    gw_follower moved[GW_MAX_FOLLOWERS]; /* the followers as contacts get them */
};

/* Everything to rest, devices off from the next command to them on. Said once. RT safe. */
__attribute__((cold)) void gw_simulation_halt(gw_simulation *s, uint64_t tag);

/* Keeps an event of this tick; the oldest stay where there is no room. Most ticks have none: cold,
 * so that the compiler moves what calls it out of their way. RT safe. */
__attribute__((cold)) void gw_simulation_emit(gw_simulation *s, gw_event event);

/* The robot's path at a tool ended: said where it happens. RT safe. */
void gw_simulation_emit_motion_end(gw_simulation *s, int tool);

/* Energies and works (J) of everything, as they are now. RT safe. */
void gw_simulation_energy(const gw_simulation *s, gw_energy *e);

/* Followers and moved geometry, to contacts kinematic bodies; `dt` since they
 * were given last, 0: they do not move. RT safe. */
void gw_simulation_place_kinematic(gw_simulation *s, double dt);

/* Tick 0: everything where the scenario says. RT safe. */
void gw_simulation_restart(gw_simulation *s);

#endif
