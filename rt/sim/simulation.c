/*
 * The simulation's tick and its outputs: events, energies, figures, snapshot. On the loop's thread
 * or in the command `run`; RT safe except for creation, which allocates all memory.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt/base/fetch.h"
#include "rt/sim/simulation_private.h"

#define RUNAWAY           1.2 /* of a device's stated maximum speed */
#define PATIENCE          0.1 /* s that a running simulation waits for detection */
#define PERCENTILE_PERIOD 64  /* ticks between two updates of the percentiles */

void gw_simulation_emit(gw_simulation *s, gw_event event)
{
    event.tick = s->tick;
    event.revision = s->scenario->revision;
    event.state = s->state;
    if (s->event_count < GW_EVENTS_KEPT)
        s->events[s->event_count++] = event;
}

int gw_simulation_events(gw_simulation *s, gw_event *events, int capacity)
{
    assert(s && capacity >= 0 && (capacity == 0 || events));
    int count = s->event_count < capacity ? s->event_count : capacity;
    if (count == 0)
        return 0;
    memcpy(events, s->events, (size_t)count * sizeof *events);
    s->event_count -= count;
    memmove(s->events, s->events + count, (size_t)s->event_count * sizeof *events);
    return count;
}

void gw_simulation_emit_motion_end(gw_simulation *s, int tool)
{
    assert(s && tool >= 0);
    gw_motion_executor *motion = &s->tools[tool].motion;
    if (motion->ended)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_MOTION_ENDED,
                                         .tool = tool,
                                         .tag = motion->tag,
                                         .outcome = motion->outcome,
                                         .value = motion->reaction});
    motion->ended = false;
}

/* ---- energy --------------------------------------------------------------------------------- */

void gw_simulation_energy(const gw_simulation *s, gw_energy *e)
{
    *e = s->carried;
    e->initial = s->initial;
    e->kinetic = 0;
    e->potential = s->scenario->rest_potential;
    for (int i = 0; i < s->scenario->tool_count; i++) {
        double kinetic, potential;
        gw_haptic_tool_energy(&s->tools[i], &kinetic, &potential);
        e->kinetic += kinetic;
        e->potential += potential;
        e->work_in += s->tools[i].work;
        e->dissipated += s->tools[i].dissipated;
        e->motors += s->tools[i].motors;
        e->edits += s->tools[i].edits;
    }
    gw_scene_dynamics_energy(s->scenario->dynamics, e);
}

/* ---- the tick ------------------------------------------------------------------------------- */

void gw_simulation_place_kinematic(gw_simulation *s, double dt)
{
    if (!gw_scene_dynamics_has_contacts(s->scenario->dynamics))
        return;
    gw_scene_dynamics_move_unilaterals(s->scenario->dynamics, s->scenario->kinematics, dt);
    gw_follower *moved = s->moved;
    int count = gw_kinematics_moved_fixed(s->scenario->kinematics, moved, GW_MAX_FOLLOWERS);
    count +=
        gw_kinematics_followers(s->scenario->kinematics, moved + count, GW_MAX_FOLLOWERS - count);
    for (int i = 0; i < count; i++)
        gw_scene_dynamics_place_kinematic(s->scenario->dynamics, moved[i].object,
                                          &moved[i].world_from_object, dt);
}

void gw_simulation_restart(gw_simulation *s)
{
    gw_energy now;
    s->tick = 0;
    s->steps = 0;
    s->limited_ticks = 0;
    s->carried = (gw_energy){0};
    s->bound = s->at_edge = s->degenerate = s->failed = 0;
    gw_kinematics_reset(s->scenario->kinematics);
    gw_scene_dynamics_reset(s->scenario->dynamics);
    gw_simulation_place_kinematic(s, 0);
    for (int i = 0; i < s->scenario->tool_count; i++)
        gw_haptic_tool_reset(&s->tools[i], &s->scenario->tools[i],
                             gw_scene_dynamics_held_model(s->scenario->dynamics, i),
                             s->scenario->dt / s->scenario->substeps);
    for (int i = 0; i < s->scenario->slot_count; i++) {
        gw_device_slot *slot = s->scenario->slots[i];
        slot->start = 0;
        if (slot->program)
            gw_operator_rewind(slot->program);
    }
    gw_simulation_energy(s, &now);
    s->initial = now.kinetic + now.potential;
}

/* Reports values in effect together, as they may change every tick; the first one at once. */
static void report_moved(gw_simulation *s)
{
    if (s->moved_count == 0 || s->now < s->moved_next)
        return;
    gw_simulation_emit(
        s, (gw_event){.kind = GW_EVENT_MOVED, .tag = s->moved_tag, .value = s->moved_count});
    s->moved_count = 0;
    s->moved_next = s->now + (uint64_t)s->scenario->rate / 50;
}

/* Conditions before the tick: only changes make an event. */
typedef struct state_before {
    bool lost, still, singular;
} state_before;

static void report_tool_changes(gw_simulation *s, int tool, state_before was)
{
    gw_haptic_tool *held = &s->tools[tool];
    if (held->arrived)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_SETTLED, .tool = tool});
    if (held->limited && !held->was_limited)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_LIMITED, .tool = tool});
    if (held->lost && !was.lost)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_DEVICE_LOST, .tool = tool});
    if (held->step_failed && !was.still)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_NOT_FINITE, .tool = tool});
    if (held->unrendered != 0)
        gw_simulation_emit(
            s, (gw_event){.kind = GW_EVENT_UNRENDERED, .tool = tool, .value = held->unrendered});
    if (held->output.withheld > 0)
        gw_simulation_emit(
            s, (gw_event){.kind = GW_EVENT_WITHHELD, .tool = tool, .value = held->output.withheld});
    if (held->singular && !was.singular)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_SINGULAR, .tool = tool});
    gw_simulation_emit_motion_end(s, tool);
    held->was_limited = held->limited;
}

/* True if a device moves faster than its stated maximum speed allows. */
static bool runs_away(const gw_haptic_tool *held)
{
    const gw_device_info *info = gw_device_slot_info(held->def->slot);
    const gw_twist *moves = &held->reading.twist;
    return (info->speed_max > 0 && gw_norm(moves->v) > RUNAWAY * info->speed_max) ||
           (info->spin_max > 0 && gw_norm(moves->w) > RUNAWAY * info->spin_max);
}

/* True, with the cause, if the tool's device has to be off from this tick on: its stop button; if
 * it is latched also a missing sample, excess speed, or a non-finite step or command. */
static bool reason_to_halt(const gw_haptic_tool *held, state_before was, gw_halt_cause *cause)
{
    bool latched = held->def->latched;
    if (held->reading.valid && held->reading.stop)
        *cause = GW_HALT_BUTTON;
    else if (latched && held->lost && !was.lost)
        *cause = GW_HALT_DISCONNECT;
    else if (latched && held->reading.valid && runs_away(held))
        *cause = GW_HALT_VELOCITY;
    else if (latched && (held->command_failed || (held->step_failed && !was.still)))
        *cause = GW_HALT_FAULT;
    else
        return false;
    return true;
}

static void force_off(gw_simulation *s, int tool, state_before was)
{
    if (s->halted || !reason_to_halt(&s->tools[tool], was, &s->cause))
        return;
    s->forced_off = true;
    gw_simulation_halt(s, 0);
}

bool gw_simulation_forced_off(const gw_simulation *s, gw_halt_cause *cause)
{
    *cause = s->cause;
    return s->forced_off;
}

static bool all_simulated(const gw_simulation *s)
{
    bool simulated = true;
    for (int i = 0; i < s->scenario->slot_count; i++)
        simulated = simulated && gw_driver_is_simulated(s->scenario->slots[i]->driver);
    return simulated;
}

bool gw_simulation_steps_ahead(const gw_simulation *s)
{
    return all_simulated(s) && !s->halted && s->state == GW_PAUSED && s->steps > 0;
}

/* True if the coming step waits for detection results that are due: requested single steps always
 * do; a running simulation does for PATIENCE if no device is real and none is latched. After that
 * it continues without them, and does not wait again before results are in time. */
static bool waits_for_detection(gw_simulation *s)
{
    const gw_detection *d = gw_scene_dynamics_detection(s->scenario->dynamics);
    if (!d || s->rehearses || gw_detection_ready(d)) {
        s->waited = 0;
        return false;
    }
    if (s->state == GW_PAUSED)
        return true;
    return !gw_detection_overdue(d) && !s->scenario->latched && all_simulated(s) &&
           s->waited++ < PATIENCE * s->scenario->rate;
}

void gw_simulation_fetch(const gw_simulation *s)
{
    const gw_scenario *scenario = s->scenario;
    gw_fetch(s, s->tools + scenario->tool_count);
    gw_fetch(&s->initial, &s->cost);
    gw_fetch(&s->snapshot, s->snapshot.tools + scenario->tool_count);
    gw_fetch(scenario, scenario + 1);
    for (int i = 0; i < scenario->slot_count; i++)
        gw_fetch(scenario->slots[i], scenario->slots[i] + 1);
}

const gw_scenario *gw_simulation_scenario(const gw_simulation *s)
{
    return s->scenario;
}

static void tick_figures(gw_simulation *s)
{
    gw_snapshot *out = &s->snapshot;
    out->tick = s->tick;
    out->time = (double)s->tick / s->scenario->rate;
    out->scenario = s->scenario->built;
    out->revision = s->scenario->revision;
    out->state = s->state;
    out->halted = s->halted;
    out->tool_count = s->scenario->tool_count;
    out->steps_left = s->steps;
    out->step_tag = s->step_tag;
    out->limited_ticks = s->limited_ticks;
    out->overruns = s->overruns;
    out->missed = s->missed;
    out->follower_count =
        gw_kinematics_followers(s->scenario->kinematics, out->followers, GW_MAX_FOLLOWERS);
    gw_scene_dynamics_publish(s->scenario->dynamics, out);
    gw_simulation_energy(s, &out->energy);
}

/* Advances moving geometry with the sets that depend on it, and transitions of free objects'
 * sets. */
static void move_geometry(gw_simulation *s)
{
    double dt = s->scenario->dt;
    gw_kinematics *kinematics =
        gw_kinematics_advance(s->scenario->kinematics) ? s->scenario->kinematics : NULL;
    for (int i = 0; i < s->scenario->tool_count; i++)
        if (!gw_haptic_tool_move_set(&s->tools[i], kinematics, dt))
            gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_LEFT_BEHIND, .tool = i});
    gw_scene_dynamics *dynamics = s->scenario->dynamics;
    int left = gw_scene_dynamics_move_sets(dynamics, kinematics, dt), at = 0, object;
    if (left >= 0)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_LEFT_BEHIND, .tool = -1, .object = left});
    while ((object = gw_scene_dynamics_settled(dynamics, &at)) >= 0)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_SETTLED, .tool = -1, .object = object});
}

/* True if the tool is in a transition to a new set or, with its system, to new constraints. */
static bool is_travelling(const gw_simulation *s, int tool)
{
    return s->tools[tool].transition.active ||
           gw_scene_dynamics_in_transition(s->scenario->dynamics, tool);
}

static void publish_tool(gw_simulation *s, int tool)
{
    gw_haptic_tool_publish_state(&s->tools[tool], &s->snapshot.tools[tool]);
    s->snapshot.tools[tool].travelling = is_travelling(s, tool);
}

/* After the tools' step: solves followers, or reverts the step if they cannot follow. */
static void move_followers(gw_simulation *s, double dt)
{
    gw_kinematics *kinematics = s->scenario->kinematics;
    bool travelling = false;
    for (int i = 0; i < s->scenario->tool_count; i++) {
        gw_pose object = gw_haptic_tool_object_pose(&s->tools[i]);
        if (!s->tools[i].shared)
            gw_kinematics_set_held(kinematics, s->tools[i].def->object, &object);
        travelling = travelling || is_travelling(s, i);
    }
    gw_scene_dynamics_show_bodies(s->scenario->dynamics, kinematics);
    bool bound = !gw_kinematics_follow(kinematics, travelling) && !travelling;
    for (int i = 0; i < s->scenario->tool_count && bound; i++) {
        gw_haptic_tool_undo_step(&s->tools[i], dt);
        if (!s->tools[i].shared)
            gw_kinematics_set_held(kinematics, s->tools[i].def->object, &s->tools[i].body.pose);
    }
    if (bound && s->bound == 0)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_BOUND});
    s->bound = bound ? s->scenario->rate / 4 : s->bound > 0 ? s->bound - 1 : 0;
}

/* Steps all models once. */
static void step_models(gw_simulation *s, const gw_tick *tick)
{
    gw_scene_dynamics *dynamics = s->scenario->dynamics;
    int count = s->scenario->tool_count;
    for (int i = 0; i < count && tick->moving; i++)
        for (int k = 0; k < i; k++)
            if (gw_scene_dynamics_hold_one_model(dynamics, k, i))
                gw_haptic_tool_hold_together(&s->tools[k], &s->tools[i]);
    for (int i = 0; i < count; i++)
        gw_haptic_tool_pre_step(&s->tools[i], tick, gw_scene_dynamics_world_system(dynamics, i));
    if (tick->moving)
        gw_scene_dynamics_step(dynamics, tick->dt);
    for (int i = 0; i < count; i++)
        gw_haptic_tool_post_step(&s->tools[i], tick, gw_scene_dynamics_world_system(dynamics, i));
    if (!tick->moving)
        return;
    move_followers(s, tick->dt);
    gw_simulation_place_kinematic(s, tick->dt);
}

/* Counts the virtual couplings at each tool's model, which share its mass. */
static void count_couplings(gw_simulation *s)
{
    int count = s->scenario->tool_count;
    for (int i = 0; i < count; i++) {
        s->tools[i].couplings = 0;
        for (int k = 0; k < count; k++)
            s->tools[i].couplings += gw_haptic_tool_is_coupled(&s->tools[k]) &&
                                     gw_scene_dynamics_hold_one_model(s->scenario->dynamics, i, k);
    }
}

/* Sense, step and actuate, `substeps` times in a tick; the snapshot is that of the first sense. */
static void step_all(gw_simulation *s, gw_tick *tick)
{
    gw_scene_dynamics *dynamics = s->scenario->dynamics;
    int tools = s->scenario->tool_count, substeps = tick->moving ? s->scenario->substeps : 1;
    double whole = tick->dt;
    tick->dt = whole / s->scenario->substeps;
    count_couplings(s);
    for (int k = 0; k < substeps; k++) {
        tick->within = k * tick->dt;
        for (int i = 0; i < tools; i++) {
            gw_haptic_tool_sense(&s->tools[i], tick, dynamics, i);
            if (k == 0)
                publish_tool(s, i);
        }
        gw_stages_end(&s->stages, GW_STAGE_DEVICE);
        if (tick->moving && k == 0)
            move_geometry(s);
        gw_stages_end(&s->stages, GW_STAGE_GEOMETRY);
        step_models(s, tick);
        gw_stages_end(&s->stages, GW_STAGE_DYNAMICS);
        for (int i = 0; i < tools; i++)
            gw_haptic_tool_actuate(&s->tools[i], tick);
        gw_stages_end(&s->stages, GW_STAGE_CONTROL);
    }
    tick->dt = whole;
}

/* Reports a lasting condition when it begins, and again only if it was absent for a while. */
static void report_lasting(gw_simulation *s, bool lasts, int *quiet, gw_event_kind kind,
                           gw_found_at at)
{
    if (lasts && *quiet == 0)
        gw_simulation_emit(
            s, (gw_event){
                   .kind = kind, .tool = -1, .object = at.object, .constraint = 1 + at.constraint});
    *quiet = lasts ? s->scenario->rate / 4 : *quiet > 0 ? *quiet - 1 : 0;
}

/* Emits events for the step's findings, if there was a step. */
static void report_findings(gw_simulation *s, bool moving)
{
    static const gw_dynamics_findings none = {0};
    const gw_dynamics_findings *found =
        moving ? gw_scene_dynamics_findings(s->scenario->dynamics) : &none;
    if (!found->any && s->at_edge == 0 && s->degenerate == 0 && s->failed == 0)
        return;
    if (found->jammed)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_JAMMED});
    if (found->crowded > 0)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_CROWDED, .value = found->crowded});
    if (found->energy_error > 0)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_UNBOOKED, .value = found->energy_error});
    report_lasting(s, found->edge, &s->at_edge, GW_EVENT_EDGE, found->edge_at);
    report_lasting(s, found->degenerate, &s->degenerate, GW_EVENT_DEGENERATE, found->degenerate_at);
    report_lasting(s, found->failed, &s->failed, GW_EVENT_NOT_FINITE, found->failed_at);
    if (found->strained > 0)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_STRAINED, .value = found->strained});
}

static void report_overdue(gw_simulation *s)
{
    if (s->now >= s->overdue_next)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_OVERDUE});
    s->overdue_next = s->now + (uint64_t)s->scenario->rate;
}

void gw_simulation_tick(gw_simulation *s)
{
    assert(s);
    bool wanted = !s->halted && (s->state == GW_RUNNING || (s->state == GW_PAUSED && s->steps));
    bool moving = wanted && !waits_for_detection(s);
    gw_tick tick = {.tick = s->tick,
                    .dt = s->scenario->dt,
                    .rate = s->scenario->rate,
                    .moving = moving,
                    .paused = s->state == GW_PAUSED || wanted != moving,
                    .engaged = !s->halted};
    bool limited = false;
    state_before was[GW_MAX_TOOLS];
    if (moving && gw_scene_dynamics_exchange(s->scenario->dynamics))
        report_overdue(s);
    s->missed += wanted && !moving;
    tick_figures(s);
    s->snapshot.moving = moving;
    for (int i = 0; i < s->scenario->tool_count; i++)
        was[i] = (state_before){s->tools[i].lost, s->tools[i].step_failed, s->tools[i].singular};
    gw_stages_end(&s->stages, GW_STAGE_GEOMETRY);
    step_all(s, &tick);
    if (moving)
        gw_scene_dynamics_publish_step(s->scenario->dynamics, &s->snapshot);
    for (int i = 0; i < s->scenario->tool_count; i++) {
        gw_haptic_tool_publish_step(&s->tools[i], &s->snapshot.tools[i]);
        report_tool_changes(s, i, was[i]);
        force_off(s, i, was[i]);
        limited = limited || s->tools[i].limited;
    }
    report_findings(s, moving);
    report_moved(s);
    s->now++;
    s->limited_ticks += limited && moving;
    s->tick += moving;
    s->steps -= moving && s->state == GW_PAUSED;
    gw_stages_end(&s->stages, GW_STAGE_CONTROL);
}

gw_detection *gw_simulation_detection(gw_simulation *s)
{
    return gw_scene_dynamics_detection(s->scenario->dynamics);
}

const gw_snapshot *gw_simulation_snapshot(const gw_simulation *s)
{
    return &s->snapshot;
}

/* Keeps the tick if it is among the worst. */
static void note_worst(gw_simulation *s, const gw_tick_timing *timing)
{
    double mine = fmax(timing->late_us, timing->tick_us);
    int rank = s->worst_count;
    while (rank > 0 && mine > fmax(s->worst[rank - 1].late_us, s->worst[rank - 1].tick_us))
        rank--;
    if (rank == GW_WORST_TICKS)
        return;
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    s->worst_count += s->worst_count < GW_WORST_TICKS;
    memmove(&s->worst[rank + 1], &s->worst[rank],
            (size_t)(s->worst_count - 1 - rank) * sizeof *s->worst);
    s->worst[rank] = (gw_worst_tick){.tick = s->snapshot.tick,
                                     .late_us = timing->late_us,
                                     .tick_us = timing->tick_us,
                                     .stage = gw_stages_longest(&s->stages),
                                     .at_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec};
}

static gw_quantiles quantiles_of(const gw_histogram *h)
{
    static const double fractions[] = {0.5, 0.9, 0.99, 0.999};
    double q[4];
    gw_histogram_quantiles(h, 4, fractions, q);
    return (gw_quantiles){q[0], q[1], q[2], q[3], h->max};
}

static void note_stages(gw_simulation *s, bool overrun)
{
    for (int i = 0; i < GW_STAGE_COUNT && s->stages.counts; i++)
        gw_histogram_add(&s->stage_cost[i], s->stages.us[i]);
    if (overrun && s->stages.counts)
        s->overruns_by[gw_stages_longest(&s->stages)]++;
    /* one stage per tick: all of them at once would take too long */
    uint64_t turn = s->cost.count % PERCENTILE_PERIOD;
    if (turn < GW_STAGE_COUNT)
        s->stage_us[turn] = quantiles_of(&s->stage_cost[turn]);
}

gw_stages *gw_simulation_stages(gw_simulation *s)
{
    return &s->stages;
}

bool gw_simulation_sampled(const gw_simulation *s)
{
    bool sampled = true;
    for (int i = 0; i < s->scenario->tool_count; i++)
        sampled = sampled && s->tools[i].reading.valid;
    return sampled;
}

void gw_simulation_timing(gw_simulation *s, const gw_tick_timing *timing)
{
    static const double fractions[] = {0.5, 0.99};
    gw_snapshot *out = &s->snapshot;
    double q[2];
    bool waits = timing->late_us > 0;
    gw_histogram_add(&s->cost, timing->tick_us);
    gw_histogram_add(&s->lateness, timing->late_us);
    note_worst(s, timing);
    note_stages(s, timing->overrun);
    s->overruns += timing->overrun;
    s->missed += timing->missed;
    out->tick_us = timing->tick_us;
    out->tick_us_max = s->cost.max;
    out->late_us_max = waits ? s->lateness.max : out->late_us_max;
    out->real_time = timing->real_time;
    out->overruns = s->overruns;
    out->missed = s->missed;
    if (timing->overrun && out->moving)
        gw_simulation_emit(
            s, (gw_event){.kind = GW_EVENT_OVERRUN,
                          .stage = gw_stages_longest(&s->stages),
                          .value = fmax(timing->tick_us, timing->late_us) - 1e6 * s->scenario->dt});
    if (s->cost.count % PERCENTILE_PERIOD != 0)
        return;
    gw_histogram_quantiles(&s->cost, 2, fractions, q);
    out->tick_us_p50 = q[0];
    out->tick_us_p99 = q[1];
    if (!waits)
        return;
    gw_histogram_quantiles(&s->lateness, 2, fractions, q);
    out->late_us_p50 = q[0];
    out->late_us_p99 = q[1];
}

static gw_octaves octaves_of(const gw_histogram *h)
{
    gw_octaves out = {.count = GW_HISTOGRAM_OCTAVES, .sum_us = h->sum};
    for (int i = 0; i < GW_HISTOGRAM_OCTAVES; i++)
        out.at[i] = (gw_octave){ldexp(2 * GW_HISTOGRAM_LEAST, i), h->octaves[i]};
    return out;
}

void gw_simulation_figures(const gw_simulation *s, gw_tick_figures *figures)
{
    assert(s && figures);
    *figures = (gw_tick_figures){.ticks = s->cost.count,
                                 .missed = s->missed,
                                 .overruns = s->overruns,
                                 .late_us = quantiles_of(&s->lateness),
                                 .tick_us = quantiles_of(&s->cost),
                                 .late = octaves_of(&s->lateness),
                                 .tick = octaves_of(&s->cost),
                                 .worst_count = s->worst_count};
    memcpy(figures->stage_us, s->stage_us, sizeof figures->stage_us);
    memcpy(figures->overruns_by, s->overruns_by, sizeof figures->overruns_by);
    memcpy(figures->worst, s->worst, sizeof figures->worst);
}

/* ---- creation ------------------------------------------------------------------------------- */

/* Initialises zeroed memory; NULL if `s` is NULL. */
static gw_simulation *begin_simulation(gw_simulation *s, gw_scenario *scenario, gw_error *error)
{
    assert(scenario && scenario->dt > 0 && scenario->substeps > 0);
    if (!s) {
        gw_scenario_destroy(scenario);
        gw_fail(error, GW_FAILED, "", "no memory for a simulation");
        return NULL;
    }
    s->scenario = scenario;
    gw_simulation_restart(s);
    tick_figures(s);
    for (int i = 0; i < scenario->tool_count; i++)
        publish_tool(s, i);
    return s;
}

gw_simulation *gw_simulation_create(gw_scenario *scenario, gw_error *error)
{
    gw_simulation *s = aligned_alloc(64, (sizeof *s + 63) & ~(size_t)63);
    if (s)
        memset(s, 0, sizeof *s); /* touches the pages before the first tick */
    return begin_simulation(s, scenario, error);
}

gw_simulation *gw_simulation_create_sparse(gw_scenario *scenario)
{
    gw_simulation *s = calloc(1, sizeof *s);
    if (s)
        s->rehearses = true;
    return begin_simulation(s, scenario, NULL);
}

void gw_simulation_destroy(gw_simulation *s)
{
    if (!s)
        return;
    gw_scenario_destroy(s->scenario);
    free(s);
}
