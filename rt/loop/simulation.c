/*
 * The simulation: commands in, ticks, a snapshot out. Runs on the loop's thread or in `run`; apply
 * and tick are RT safe: all memory is taken at creation.
 */
#include "rt/loop/simulation.h"

#include <stdlib.h>
#include <string.h>

#include "rt/loop/histogram.h"
#include "rt/loop/hold.h"

#define EVENTS_KEPT       64 /* between two calls to gw_simulation_events() */
#define PERCENTILE_PERIOD 64 /* ticks between two updates of the percentiles */

struct gw_simulation {
    gw_scenario *scenario;
    gw_run_state state;
    bool halted;
    uint64_t tick;
    uint64_t now;    /* ticks since creation, moving or not */
    int moved_count; /* values not yet told (see note_value), the newest's tag, when they may be */
    uint64_t moved_tag, moved_next;
    uint64_t steps; /* still to go while paused */
    gw_hold holds[GW_MAX_TOOLS];
    gw_hold switched[GW_MAX_TOOLS]; /* room for a switch of scenario */
    double initial;                 /* energy at tick 0 (J) */
    int bound;         /* ticks for which it is no news that what follows goes no farther */
    gw_energy carried; /* work, dissipation and edits up to the last switch (J) */
    uint64_t limited_ticks, overruns;
    gw_histogram cost, lateness;
    gw_snapshot snapshot;
    gw_event events[EVENTS_KEPT];
    int event_count;
    gw_follower moved[GW_MAX_FOLLOWERS]; /* room for what contacts are told of */
};

static void emit(gw_simulation *s, gw_event event)
{
    event.tick = s->tick;
    event.revision = s->scenario->revision;
    event.state = s->state;
    if (s->event_count < EVENTS_KEPT)
        s->events[s->event_count++] = event;
}

int gw_simulation_events(gw_simulation *s, gw_event *events, int capacity)
{
    int count = s->event_count < capacity ? s->event_count : capacity;
    memcpy(events, s->events, (size_t)count * sizeof *events);
    s->event_count -= count;
    memmove(s->events, s->events + count, (size_t)s->event_count * sizeof *events);
    return count;
}

/* The robot's way at a tool ended: said where it happens. */
static void report_way(gw_simulation *s, int tool)
{
    gw_robot *robot = &s->holds[tool].robot;
    if (robot->ended)
        emit(s, (gw_event){.kind = GW_EVENT_GUIDED,
                           .tool = tool,
                           .tag = robot->tag,
                           .outcome = robot->outcome,
                           .value = robot->reaction});
    robot->ended = false;
}

/* ---- energy --------------------------------------------------------------------------------- */

static void account(const gw_simulation *s, gw_energy *e)
{
    *e = s->carried;
    e->initial = s->initial;
    e->kinetic = 0;
    e->potential = s->scenario->rest_potential;
    for (int i = 0; i < s->scenario->tool_count; i++) {
        double kinetic, potential;
        gw_hold_energy(&s->holds[i], &kinetic, &potential);
        e->kinetic += kinetic;
        e->potential += potential;
        e->work_in += s->holds[i].work;
        e->dissipated += s->holds[i].dissipated;
        e->edits += s->holds[i].edits;
    }
    gw_movers_account(s->scenario->movers, e);
}

/* ---- commands ------------------------------------------------------------------------------- */

/* The mechanism that a tool holds, NULL where it holds an object. */
static gw_chain *chain_of(gw_scenario *scenario, int tool)
{
    int mechanism = scenario->tools[tool].mechanism;
    return mechanism >= 0 ? gw_movers_chain(scenario->movers, mechanism) : NULL;
}

/* Tick 0: everything where the scenario says. */
static void reset(gw_simulation *s)
{
    gw_energy now;
    s->tick = 0;
    s->steps = 0;
    s->limited_ticks = 0;
    s->carried = (gw_energy){0};
    s->bound = 0;
    gw_network_reset(s->scenario->network);
    gw_movers_reset(s->scenario->movers);
    for (int i = 0; i < s->scenario->tool_count; i++)
        gw_hold_reset(&s->holds[i], &s->scenario->tools[i], chain_of(s->scenario, i),
                      s->scenario->dt / s->scenario->substeps);
    for (int i = 0; i < s->scenario->slot_count; i++) {
        gw_device_slot *slot = s->scenario->slots[i];
        slot->start = 0;
        if (slot->program)
            gw_operator_rewind(slot->program);
    }
    account(s, &now);
    s->initial = now.kinetic + now.potential;
}

/* The hold that the new scenario's tool continues: the one of the same object. */
static const gw_hold *predecessor(const gw_simulation *s, const gw_scenario_tool *tool)
{
    for (int i = 0; i < s->scenario->tool_count; i++)
        if (strcmp(s->holds[i].tool->object_id, tool->object_id) == 0 &&
            (s->holds[i].tool->mechanism < 0) == (tool->mechanism < 0))
            return &s->holds[i];
    return NULL;
}

static void switch_scenario(gw_simulation *s, gw_scenario *next)
{
    gw_energy before, after;
    account(s, &before);
    gw_movers_carry(next->movers, s->scenario->movers);
    for (int i = 0; i < next->tool_count; i++)
        gw_hold_switch(&s->switched[i], predecessor(s, &next->tools[i]), &next->tools[i],
                       chain_of(next, i), next);
    s->scenario = next;
    memcpy(s->holds, s->switched, sizeof s->holds);
    /* energy that came or went with the switch, bodies taken up or let go included */
    s->carried = before;
    account(s, &after);
    s->carried.edits += after.kinetic + after.potential - before.kinetic - before.potential;
    for (int i = 0; i < next->tool_count; i++) {
        if (s->holds[i].settled)
            emit(s, (gw_event){.kind = GW_EVENT_SETTLED, .tool = i});
        report_way(s, i);
    }
}

/* What follows is shown where it is, beside held objects that travel. */
static void follow_now(gw_simulation *s)
{
    for (int i = 0; i < s->scenario->tool_count; i++) {
        gw_pose object = gw_hold_object(&s->holds[i]);
        if (!s->holds[i].chain)
            gw_network_hold(s->scenario->network, s->holds[i].tool->object, &object);
    }
    gw_network_follow(s->scenario->network, true);
}

static void apply_scenario(gw_simulation *s, const gw_command *command, gw_command *retired)
{
    gw_scenario *old = s->scenario;
    if (s->state == GW_STOPPED) {
        s->scenario = command->scenario;
        reset(s);
    } else {
        switch_scenario(s, command->scenario);
        follow_now(s);
    }
    *retired = (gw_command){.kind = GW_COMMAND_SCENARIO, .scenario = old};
    emit(s, (gw_event){.kind = GW_EVENT_ACTIVE, .tag = command->tag});
}

static void apply_state(gw_simulation *s, const gw_command *command)
{
    if (command->state == GW_RUNNING && s->halted)
        return;
    s->state = command->state;
    s->steps = 0;
    if (s->state == GW_STOPPED)
        reset(s);
    emit(s, (gw_event){.kind = GW_EVENT_STATE, .tag = command->tag});
}

static void apply_operator(gw_simulation *s, const gw_command *command, gw_command *retired)
{
    *retired = *command; /* a program for a device that is not open goes straight back */
    for (int i = 0; i < s->scenario->slot_count; i++) {
        gw_device_slot *slot = s->scenario->slots[i];
        if (slot->id != command->operator.device)
            continue;
        retired->operator.program = slot->program;
        slot->program = command->operator.program;
        slot->start = s->tick;
        emit(s, (gw_event){.kind = GW_EVENT_ACTIVE, .tag = command->tag});
        return;
    }
}

/* Said once: a halt that comes by two ways is one event. */
static void apply_halt(gw_simulation *s, const gw_command *command)
{
    if (s->halted)
        return;
    s->halted = true;
    s->steps = 0;
    if (s->state == GW_RUNNING)
        s->state = GW_PAUSED;
    for (int i = 0; i < s->scenario->tool_count; i++) {
        gw_hold_rest(&s->holds[i]);
        gw_robot_stay(&s->holds[i].robot);
        report_way(s, i);
    }
    emit(s, (gw_event){.kind = GW_EVENT_HALTED, .tag = command->tag});
}

static void apply_arm(gw_simulation *s, const gw_command *command)
{
    s->halted = false;
    for (int i = 0; i < s->scenario->tool_count; i++)
        gw_pid_reset(&s->holds[i].pid);
    emit(s, (gw_event){.kind = GW_EVENT_ARMED, .tag = command->tag});
}

/* A hand that takes the tool has it from a robot that only holds it. */
static void apply_drag(gw_simulation *s, const gw_command *command)
{
    gw_hold *hold = &s->holds[command->tool];
    if (!hold->robot.moving)
        gw_robot_release(&hold->robot);
    gw_mass mass = gw_hold_mass(hold);
    gw_drag_start(&hold->drag, command, &mass, s->scenario->dt);
}

static void apply_release(gw_simulation *s, int tool)
{
    gw_hold *hold = &s->holds[tool];
    if (!hold->drag.active)
        gw_robot_release(&hold->robot);
    hold->drag.active = false;
    report_way(s, tool);
}

/* The way that was under way is told of with its own tag before the new one begins. */
static void apply_guide(gw_simulation *s, const gw_command *command)
{
    gw_robot *robot = &s->holds[command->tool].robot;
    if (s->holds[command->tool].chain) {
        gw_robot refused = {.tag = command->tag, .outcome = GW_GUIDE_LOST, .ended = true};
        *robot = refused;
        report_way(s, command->tool);
        return;
    }
    if (robot->moving) {
        gw_robot_stay(robot);
        report_way(s, command->tool);
    }
    gw_robot_take(robot, command);
    report_way(s, command->tool);
}

/* A value of geometry, control or a motor is in effect. */
static void note_value(gw_simulation *s, uint64_t tag)
{
    s->moved_count++;
    s->moved_tag = tag;
}

static void apply_rendering(gw_simulation *s, const gw_command *command)
{
    gw_rendering_switch(&s->holds[command->tool].rendering, &command->rendering);
    gw_movers_resist(s->scenario->movers, command->tool, &command->rendering.resisted);
    note_value(s, command->tag);
}

/* Drag, release, push, clutch, guide, rendering: of one tool. */
static void apply_to_tool(gw_simulation *s, const gw_command *command)
{
    if (command->tool < 0 || command->tool >= s->scenario->tool_count)
        return;
    gw_hold *hold = &s->holds[command->tool];
    if (command->kind == GW_COMMAND_DRAG)
        apply_drag(s, command);
    else if (command->kind == GW_COMMAND_RELEASE)
        apply_release(s, command->tool);
    else if (command->kind == GW_COMMAND_GUIDE)
        apply_guide(s, command);
    else if (command->kind == GW_COMMAND_RENDERING)
        apply_rendering(s, command);
    else if (command->kind == GW_COMMAND_PUSH)
        hold->push = command->push;
    else
        hold->clutch_wanted = command->clutch;
}

static void apply_geometry(gw_simulation *s, const gw_command *command)
{
    s->scenario->revision = command->geometry.revision;
    gw_network_move(s->scenario->network, &command->geometry.moved, s->now, s->scenario->rate);
    note_value(s, command->tag);
}

/* Values may come every tick: they are told together, the first at once. */
static void tell_moved(gw_simulation *s)
{
    if (s->moved_count == 0 || s->now < s->moved_next)
        return;
    emit(s, (gw_event){.kind = GW_EVENT_MOVED, .tag = s->moved_tag, .value = s->moved_count});
    s->moved_count = 0;
    s->moved_next = s->now + (uint64_t)s->scenario->rate / 50;
}

void gw_simulation_apply(gw_simulation *s, const gw_command *command, gw_command *retired)
{
    *retired = (gw_command){.kind = GW_COMMAND_STATE};
    switch (command->kind) {
    case GW_COMMAND_SCENARIO:
        apply_scenario(s, command, retired);
        return;
    case GW_COMMAND_STATE:
        apply_state(s, command);
        return;
    case GW_COMMAND_STEP:
        if (s->state == GW_PAUSED && !s->halted)
            s->steps += command->ticks;
        return;
    case GW_COMMAND_OPERATOR:
        apply_operator(s, command, retired);
        return;
    case GW_COMMAND_GEOMETRY:
        apply_geometry(s, command);
        return;
    case GW_COMMAND_MOTOR:
        gw_movers_motor(s->scenario->movers, command->motor.mechanism, command->motor.joint,
                        &command->motor.motor);
        note_value(s, command->tag);
        return;
    case GW_COMMAND_HALT:
        apply_halt(s, command);
        return;
    case GW_COMMAND_ARM:
        apply_arm(s, command);
        return;
    case GW_COMMAND_DRAG:
    case GW_COMMAND_RELEASE:
    case GW_COMMAND_PUSH:
    case GW_COMMAND_CLUTCH:
    case GW_COMMAND_GUIDE:
    case GW_COMMAND_RENDERING:
        apply_to_tool(s, command);
        return;
    }
}

/* ---- the tick ------------------------------------------------------------------------------- */

/* What was so before the tick is no news. */
typedef struct state_before {
    bool lost, still, singular;
} state_before;

static void report(gw_simulation *s, int tool, state_before was)
{
    gw_hold *hold = &s->holds[tool];
    if (hold->settled)
        emit(s, (gw_event){.kind = GW_EVENT_SETTLED, .tool = tool});
    if (hold->limited && !hold->limiting)
        emit(s, (gw_event){.kind = GW_EVENT_LIMITED, .tool = tool});
    if (hold->lost && !was.lost)
        emit(s, (gw_event){.kind = GW_EVENT_DEVICE_LOST, .tool = tool});
    if (hold->held_still && !was.still)
        emit(s, (gw_event){.kind = GW_EVENT_NOT_FINITE, .tool = tool});
    if (hold->rendered.withheld > 0)
        emit(s,
             (gw_event){.kind = GW_EVENT_WITHHELD, .tool = tool, .value = hold->rendered.withheld});
    if (hold->singular && !was.singular)
        emit(s, (gw_event){.kind = GW_EVENT_SINGULAR, .tool = tool});
    report_way(s, tool);
    hold->limiting = hold->limited;
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
    out->limited_ticks = s->limited_ticks;
    out->overruns = s->overruns;
    out->follower_count =
        gw_network_followers(s->scenario->network, out->followers, GW_MAX_FOLLOWERS);
    gw_movers_publish(s->scenario->movers, out);
    account(s, &out->energy);
}

/* Geometry goes on its way; held objects that stand on it go over to their moved sets. */
static void move_geometry(gw_simulation *s)
{
    gw_constraint constraints[GW_MAX_PROBLEM];
    gw_network *network = s->scenario->network;
    if (!gw_network_advance(network))
        return;
    for (int i = 0; i < s->scenario->tool_count; i++) {
        gw_hold *hold = &s->holds[i];
        int count = hold->chain ? -1 : gw_network_problem(network, hold->tool->object, constraints);
        if (count >= 0 && !gw_hold_move_set(hold, constraints, count))
            emit(s, (gw_event){.kind = GW_EVENT_LEFT_BEHIND, .tool = i});
    }
}

/* After the tools' step: what follows them, or back with the step where that cannot. */
static void follow(gw_simulation *s)
{
    gw_network *network = s->scenario->network;
    bool travelling = false;
    for (int i = 0; i < s->scenario->tool_count; i++) {
        gw_pose object = gw_hold_object(&s->holds[i]);
        if (!s->holds[i].chain)
            gw_network_hold(network, s->holds[i].tool->object, &object);
        travelling = travelling || s->holds[i].travel.active;
    }
    bool bound = !gw_network_follow(network, travelling) && !travelling;
    for (int i = 0; i < s->scenario->tool_count && bound; i++) {
        gw_hold_undo(&s->holds[i]);
        if (!s->holds[i].chain)
            gw_network_hold(network, s->holds[i].tool->object, &s->holds[i].body.pose);
    }
    if (bound && s->bound == 0)
        emit(s, (gw_event){.kind = GW_EVENT_BOUND});
    s->bound = bound ? s->scenario->rate / 4 : s->bound > 0 ? s->bound - 1 : 0;
}

/* What followers and moved geometry are to contacts: bodies that are taken along. */
static void place_moved(gw_simulation *s, double dt)
{
    gw_follower *moved = s->moved;
    int count = gw_network_followers(s->scenario->network, moved, GW_MAX_FOLLOWERS);
    for (int i = 0; i < count; i++)
        gw_movers_place(s->scenario->movers, moved[i].object, &moved[i].world_from_object, dt);
}

/* All models go on by one step of `tick`. */
static void step_models(gw_simulation *s, const gw_tick *tick)
{
    gw_movers *movers = s->scenario->movers;
    int count = s->scenario->tool_count;
    for (int i = 0; i < count; i++)
        gw_hold_open(&s->holds[i], tick, gw_movers_of_tool(movers, i));
    if (tick->moving)
        gw_movers_step(movers, tick->dt);
    for (int i = 0; i < count; i++)
        gw_hold_close(&s->holds[i], tick, gw_movers_of_tool(movers, i));
    if (!tick->moving)
        return;
    follow(s);
    if (gw_movers_detection(movers))
        place_moved(s, tick->dt);
}

/* Sense, step and act, `substeps` times in a tick; the snapshot is of the first sense. */
static void step_all(gw_simulation *s, gw_tick *tick)
{
    gw_movers *movers = s->scenario->movers;
    int tools = s->scenario->tool_count, substeps = tick->moving ? s->scenario->substeps : 1;
    double whole = tick->dt;
    tick->dt = whole / s->scenario->substeps;
    for (int k = 0; k < substeps; k++) {
        tick->within = k * tick->dt;
        for (int i = 0; i < tools; i++) {
            gw_hold_sense(&s->holds[i], tick, movers, i);
            if (k == 0)
                gw_hold_before(&s->holds[i], &s->snapshot.tools[i]);
        }
        if (tick->moving && k == 0)
            move_geometry(s);
        step_models(s, tick);
        for (int i = 0; i < tools; i++)
            gw_hold_act(&s->holds[i], tick);
    }
    tick->dt = whole;
}

void gw_simulation_tick(gw_simulation *s)
{
    bool moving = !s->halted && (s->state == GW_RUNNING || (s->state == GW_PAUSED && s->steps));
    gw_tick tick = {.tick = s->tick,
                    .dt = s->scenario->dt,
                    .rate = s->scenario->rate,
                    .moving = moving,
                    .engaged = !s->halted};
    bool limited = false;
    state_before was[GW_MAX_TOOLS];
    gw_movers_exchange(s->scenario->movers);
    tick_figures(s);
    for (int i = 0; i < s->scenario->tool_count; i++)
        was[i] = (state_before){s->holds[i].lost, s->holds[i].held_still, s->holds[i].singular};
    step_all(s, &tick);
    for (int i = 0; i < s->scenario->tool_count; i++) {
        gw_hold_publish(&s->holds[i], &s->snapshot.tools[i]);
        report(s, i, was[i]);
        limited = limited || s->holds[i].limited;
    }
    if (moving && gw_movers_jammed(s->scenario->movers))
        emit(s, (gw_event){.kind = GW_EVENT_JAMMED});
    double strained = gw_movers_strained(s->scenario->movers);
    if (moving && strained > 0)
        emit(s, (gw_event){.kind = GW_EVENT_STRAINED, .value = strained});
    tell_moved(s);
    s->now++;
    s->limited_ticks += limited && moving;
    if (!moving)
        return;
    s->tick++;
    s->steps -= s->state == GW_PAUSED;
}

gw_detection *gw_simulation_detection(gw_simulation *s)
{
    return gw_movers_detection(s->scenario->movers);
}

const gw_snapshot *gw_simulation_snapshot(const gw_simulation *s)
{
    return &s->snapshot;
}

void gw_simulation_timing(gw_simulation *s, double tick_us, double late_us, bool overrun,
                          bool real_time)
{
    gw_snapshot *out = &s->snapshot;
    gw_histogram_add(&s->cost, tick_us);
    gw_histogram_add(&s->lateness, late_us);
    s->overruns += overrun;
    out->tick_us = tick_us;
    out->tick_us_max = s->cost.max;
    out->late_us_max = late_us > 0 ? s->lateness.max : out->late_us_max;
    out->real_time = real_time;
    out->overruns = s->overruns;
    if (overrun)
        emit(s, (gw_event){.kind = GW_EVENT_OVERRUN,
                           .value = fmax(tick_us, late_us) - 1e6 * s->scenario->dt});
    if (s->cost.count % PERCENTILE_PERIOD != 0)
        return;
    gw_histogram_percentiles(&s->cost, 0.5, 0.99, &out->tick_us_p50, &out->tick_us_p99);
    if (late_us > 0)
        gw_histogram_percentiles(&s->lateness, 0.5, 0.99, &out->late_us_p50, &out->late_us_p99);
}

/* ---- creation ------------------------------------------------------------------------------- */

gw_simulation *gw_simulation_create(gw_scenario *scenario, gw_error *error)
{
    gw_simulation *s = calloc(1, sizeof *s);
    if (!s) {
        gw_scenario_destroy(scenario);
        gw_fail(error, GW_FAILED, "", "no memory for a simulation");
        return NULL;
    }
    s->scenario = scenario;
    reset(s);
    tick_figures(s);
    for (int i = 0; i < scenario->tool_count; i++)
        gw_hold_before(&s->holds[i], &s->snapshot.tools[i]);
    return s;
}

void gw_simulation_destroy(gw_simulation *s)
{
    if (!s)
        return;
    gw_scenario_destroy(s->scenario);
    free(s);
}
