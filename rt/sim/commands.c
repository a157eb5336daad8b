/*
 * Commands of the simulation: they change run state, scenario, values and operators. On the thread
 * that owns the simulation, between two ticks; RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/sim/simulation_private.h"

/* ---- a new scenario -------------------------------------------------------------------------- */

/* The tool that each of the new scenario's tools continues, NULL for none: one of the same object
 * or mechanism and the same device, else one of the same object or mechanism that no other
 * continues. */
static void find_preceding(const gw_simulation *s, const gw_scenario *next,
                           const gw_haptic_tool *of[GW_MAX_TOOLS])
{
    bool taken[GW_MAX_TOOLS] = {false};
    for (int other_device = 0; other_device < 2; other_device++)
        for (int k = 0; k < next->tool_count; k++)
            for (int i = 0; i < s->scenario->tool_count && !of[k]; i++) {
                const gw_scenario_tool *was = s->tools[i].def, *tool = &next->tools[k];
                bool same =
                    was->name == tool->name && (was->mechanism < 0) == (tool->mechanism < 0);
                if (taken[i] || !same || (!other_device && was->slot->id != tool->slot->id))
                    continue;
                of[k] = &s->tools[i];
                taken[i] = true;
            }
}

/* Gives the former scenario the next one's name hashes, by which its entries are then found. */
static void take_new_names(gw_scenario *former, const gw_new_names *names)
{
    gw_kinematics_rename(former->kinematics, names);
    gw_scene_dynamics_rename(former->dynamics, names);
    for (int i = 0; i < former->tool_count; i++)
        gw_name_table_give(&names->bodies, &former->tools[i].name, 1);
}

static void switch_scenario(gw_simulation *s, gw_scenario *next)
{
    gw_energy before, after;
    gw_simulation_energy(s, &before);
    const gw_haptic_tool *preceding[GW_MAX_TOOLS] = {NULL};
    gw_transition_limits limits = gw_scenario_transition_limits(next);
    take_new_names(s->scenario, &next->new_names);
    gw_kinematics_carry_over(next->kinematics, s->scenario->kinematics, s->tick, next->rate);
    gw_scene_dynamics_carry_over(next->dynamics, s->scenario->dynamics, next->kinematics, &limits);
    find_preceding(s, next, preceding);
    for (int i = 0; i < next->tool_count; i++)
        gw_haptic_tool_switch(&s->switched[i], preceding[i], &next->tools[i],
                              gw_scene_dynamics_held_model(next->dynamics, i), next);
    s->scenario = next;
    memcpy(s->tools, s->switched, sizeof s->tools);
    /* energy added or removed by the change of scenario, including bodies taken hold of or
     * released */
    s->carried = before;
    gw_simulation_energy(s, &after);
    s->carried.edits += after.kinetic + after.potential - before.kinetic - before.potential;
    for (int i = 0; i < next->tool_count; i++) {
        if (s->tools[i].arrived)
            gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_SETTLED, .tool = i});
        gw_simulation_emit_motion_end(s, i);
    }
}

/* Solves followers for the displayed poses of held objects in transition. */
static void follow_now(gw_simulation *s)
{
    for (int i = 0; i < s->scenario->tool_count; i++) {
        gw_pose object = gw_haptic_tool_object_pose(&s->tools[i]);
        if (!s->tools[i].shared)
            gw_kinematics_set_held(s->scenario->kinematics, s->tools[i].def->object, &object);
    }
    gw_scene_dynamics_show_bodies(s->scenario->dynamics, s->scenario->kinematics);
    gw_kinematics_follow(s->scenario->kinematics, true);
}

/* Latched devices get limits that grow from small values: all of them, or those not engaged in this
 * way before. */
static void engage_latched_softly(gw_simulation *s, bool all)
{
    for (int i = 0; i < s->scenario->tool_count && s->softly; i++) {
        const gw_scenario_tool *def = s->tools[i].def;
        if (def->latched && (all || !def->slot->gate.begun))
            gw_gate_engage_softly(&def->slot->gate);
    }
}

static void apply_scenario(gw_simulation *s, const gw_command *command, gw_command *retired)
{
    gw_scenario *old = s->scenario;
    if (s->state == GW_STOPPED) {
        s->scenario = command->scenario;
        gw_simulation_restart(s);
    } else {
        switch_scenario(s, command->scenario);
        follow_now(s);
        gw_simulation_place_kinematic(s, 0);
    }
    if (s->reports_links)
        gw_scene_dynamics_report_links(s->scenario->dynamics);
    engage_latched_softly(s, false);
    if (!s->scenario->rehearsal) {
        s->scenario->rehearsal = old->rehearsal;
        old->rehearsal = NULL;
    }
    *retired = (gw_command){.kind = GW_COMMAND_SCENARIO, .scenario = old};
    gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_ACTIVE, .tag = command->tag});
}

void gw_simulation_engage_softly(gw_simulation *s)
{
    s->softly = true;
    engage_latched_softly(s, false);
}

/* Resets to the scenario's tick 0, whatever devices did while stopped; drags and pushes are
 * kept. */
static void begin_at_tick_zero(gw_simulation *s)
{
    gw_projection unlike = gw_scene_dynamics_projection(s->scenario->dynamics);
    for (int i = 0; i < s->scenario->tool_count; i++) {
        gw_haptic_tool *tool = &s->tools[i];
        gw_haptic_tool_restart(tool, s->scenario->dt / s->scenario->substeps);
        if (gw_haptic_tool_is_projected(tool))
            gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_PROJECTED, .tool = i});
    }
    if (unlike.number >= 0)
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_PROJECTED,
                                         .tool = -1,
                                         .object = unlike.number,
                                         .joint = 1 + unlike.joint,
                                         .stated = unlike.stated,
                                         .value = unlike.actual});
}

static void apply_state(gw_simulation *s, const gw_command *command)
{
    if (command->state == GW_RUNNING && s->halted)
        return;
    if (s->state == GW_STOPPED)
        begin_at_tick_zero(s);
    s->state = command->state;
    s->steps = 0;
    if (s->state == GW_STOPPED)
        gw_simulation_restart(s);
    gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_STATE, .tag = command->tag});
}

static void apply_operator(gw_simulation *s, const gw_command *command, gw_command *retired)
{
    *retired = *command; /* a program for a device that is not open is returned */
    for (int i = 0; i < s->scenario->slot_count; i++) {
        gw_device_slot *slot = s->scenario->slots[i];
        if (slot->id != command->operator.device)
            continue;
        retired->operator.program = slot->program;
        slot->program = command->operator.program;
        slot->start = s->tick;
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_ACTIVE, .tag = command->tag});
        return;
    }
}

/* Emits one event even if the halt is requested twice. */
void gw_simulation_halt(gw_simulation *s, uint64_t tag)
{
    if (s->halted)
        return;
    s->halted = true;
    s->steps = 0;
    if (s->state == GW_RUNNING)
        s->state = GW_PAUSED;
    for (int i = 0; i < s->scenario->tool_count; i++) {
        gw_haptic_tool_stop(&s->tools[i]);
        gw_motion_hold(&s->tools[i].motion);
        gw_simulation_emit_motion_end(s, i);
    }
    gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_HALTED, .tag = tag});
}

void gw_simulation_end_drags(gw_simulation *s)
{
    for (int i = 0; i < s->scenario->tool_count; i++) {
        if (!s->tools[i].def->latched)
            continue;
        s->tools[i].drag.active = false;
        s->tools[i].push = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
        gw_scene_dynamics_end_drags(s->scenario->dynamics, i);
    }
}

static void apply_arm(gw_simulation *s, const gw_command *command)
{
    s->halted = s->forced_off = false;
    for (int i = 0; i < s->scenario->tool_count; i++)
        gw_pid_reset(&s->tools[i].pid);
    engage_latched_softly(s, true);
    gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_ARMED, .tag = command->tag});
}

static void apply_step(gw_simulation *s, const gw_command *command)
{
    s->step_tag = command->tag;
    if (command->ticks == 0)
        s->steps = 0;
    else if (s->state == GW_PAUSED && !s->halted)
        s->steps += command->ticks;
}

/* A drag of a tool that guided motion only holds ends that hold. */
static void apply_drag(gw_simulation *s, const gw_command *command)
{
    gw_haptic_tool *held = &s->tools[command->tool];
    if (!held->motion.moving)
        gw_motion_release(&held->motion);
    gw_mass mass = gw_haptic_tool_mass(held);
    gw_drag_start(&held->drag, command, &mass, s->scenario->dt);
}

static void apply_release(gw_simulation *s, int tool)
{
    gw_haptic_tool *held = &s->tools[tool];
    if (!held->drag.active)
        gw_motion_release(&held->motion);
    held->drag.active = false;
    gw_simulation_emit_motion_end(s, tool);
}

/* The end of a motion under way is reported with its own tag before the new one begins. A motion
 * commanded while halted ends at once, as arming must not move anything. */
static void apply_guide(gw_simulation *s, const gw_command *command)
{
    gw_motion_executor *motion = &s->tools[command->tool].motion;
    if (s->halted && command->guide.on) {
        gw_simulation_emit(s, (gw_event){.kind = GW_EVENT_MOTION_ENDED,
                                         .tool = command->tool,
                                         .tag = command->tag,
                                         .outcome = GW_MOTION_LOST});
        return;
    }
    if (s->tools[command->tool].shared) {
        gw_motion_executor refused = {
            .tag = command->tag, .outcome = GW_MOTION_LOST, .ended = true};
        *motion = refused;
        gw_simulation_emit_motion_end(s, command->tool);
        return;
    }
    if (motion->moving) {
        gw_motion_hold(motion);
        gw_simulation_emit_motion_end(s, command->tool);
    }
    gw_motion_start(motion, command);
    gw_simulation_emit_motion_end(s, command->tool);
}

/* Records that a value of geometry, control or a motor has taken effect. */
static void note_value_in_effect(gw_simulation *s, uint64_t tag)
{
    s->moved_count++;
    s->moved_tag = tag;
}

static void apply_rendering(gw_simulation *s, const gw_command *command)
{
    gw_impedance_switch(&s->tools[command->tool].control, &command->rendering);
    gw_scene_dynamics_set_resisted(s->scenario->dynamics, command->tool,
                                   &command->rendering.resisted);
    note_value_in_effect(s, command->tag);
}

/* Drag, release, push, clutch, guided motion or control of one tool, or a drag or push of a free
 * object. */
static void apply_to_tool(gw_simulation *s, const gw_command *command)
{
    if (command->object[0]) {
        gw_scene_dynamics_hand(s->scenario->dynamics, command, s->scenario->dt);
        return;
    }
    if (command->tool < 0 || command->tool >= s->scenario->tool_count)
        return;
    gw_haptic_tool *held = &s->tools[command->tool];
    if (command->kind == GW_COMMAND_DRAG)
        apply_drag(s, command);
    else if (command->kind == GW_COMMAND_RELEASE)
        apply_release(s, command->tool);
    else if (command->kind == GW_COMMAND_MOTION)
        apply_guide(s, command);
    else if (command->kind == GW_COMMAND_CONTROL)
        apply_rendering(s, command);
    else if (command->kind == GW_COMMAND_PUSH)
        held->push = command->push;
    else
        held->clutch_wanted = command->clutch;
}

static void apply_geometry(gw_simulation *s, const gw_command *command)
{
    s->scenario->revision = command->geometry.revision;
    gw_kinematics_move(s->scenario->kinematics, &command->geometry.moved, s->tick,
                       s->scenario->rate);
    note_value_in_effect(s, command->tag);
}

void gw_simulation_apply(gw_simulation *s, const gw_command *command, gw_command *retired)
{
    assert(s && command && retired);
    *retired = (gw_command){.kind = GW_COMMAND_STATE};
    switch (command->kind) {
    case GW_COMMAND_SCENARIO:
        apply_scenario(s, command, retired);
        return;
    case GW_COMMAND_STATE:
        apply_state(s, command);
        return;
    case GW_COMMAND_STEP:
        apply_step(s, command);
        return;
    case GW_COMMAND_OPERATOR:
        apply_operator(s, command, retired);
        return;
    case GW_COMMAND_GEOMETRY:
        apply_geometry(s, command);
        return;
    case GW_COMMAND_MOTOR:
        gw_scene_dynamics_motor(s->scenario->dynamics, command->motor.mechanism,
                                command->motor.joint, command->motor.coordinate,
                                &command->motor.motor);
        note_value_in_effect(s, command->tag);
        return;
    case GW_COMMAND_REPORT_LINKS:
        s->reports_links = true;
        gw_scene_dynamics_report_links(s->scenario->dynamics);
        return;
    case GW_COMMAND_HALT:
        gw_simulation_halt(s, command->tag);
        return;
    case GW_COMMAND_ARM:
        apply_arm(s, command);
        return;
    case GW_COMMAND_DRAG:
    case GW_COMMAND_RELEASE:
    case GW_COMMAND_PUSH:
    case GW_COMMAND_CLUTCH:
    case GW_COMMAND_MOTION:
    case GW_COMMAND_CONTROL:
        apply_to_tool(s, command);
        return;
    }
}
