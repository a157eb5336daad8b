/*
 * Taking hold: at tick 0, at a change of scenario, onto moved geometry; and letting the tool rest.
 * On the loop's thread, RT safe.
 */
#include <string.h>

#include "rt/sim/contact.h"
#include "rt/sim/moved_set.h"

#define HAND_FORCE_RATE    45.0 /* N/s: 0.05 N per ms with a margin for rounding off */
#define HAND_DAMPING_LEAST 1.4  /* of sqrt(k m), twice the damping ratio */

void gw_haptic_tool_update_pose(gw_haptic_tool *hold)
{
    gw_model_held(gw_haptic_tool_model(hold), &hold->shown, &hold->shown_twist);
    gw_transition_apply(&hold->travel, &hold->shown, &hold->shown_twist);
}

double gw_haptic_tool_slow(gw_haptic_tool *hold, double factor)
{
    double v[GW_MODEL_MAX_DOF], before, after, potential;
    gw_model *model = gw_haptic_tool_model(hold);
    int dof = gw_model_dof(model);
    if (!hold->chain)
        return gw_guided_scale_velocity(&hold->body, factor);
    gw_model_energy(model, &before, &potential);
    gw_model_velocity(model, v);
    for (int i = 0; i < dof; i++)
        v[i] *= factor - 1;
    gw_model_kick(model, v);
    gw_model_energy(model, &after, &potential);
    return before - after;
}

/* Of a mechanism: 1 / the trace of each half of Lambda^-1, no more than any direction has. */
gw_mass gw_haptic_tool_mass(const gw_haptic_tool *hold)
{
    double columns[GW_MODEL_MAX_DOF][6], drift[6], inverse[6][6];
    if (!hold->chain)
        return hold->body.def.mass;
    const gw_model *model = &hold->chain->model;
    int dof = gw_model_dof(model);
    gw_model_jacobian(model, columns, drift);
    gw_operational_inverse_inertia(model, dof, (const double(*)[6])columns, inverse);
    double light = inverse[0][0] + inverse[1][1] + inverse[2][2];
    double nimble = inverse[3][3] + inverse[4][4] + inverse[5][5];
    double mass = light > 1e-6 ? 1 / light : 1e6, inertia = nimble > 1e-6 ? 1 / nimble : 1e6;
    gw_mass out = {.mass = mass};
    for (int i = 0; i < 3; i++)
        out.inertia.m[i][i] = inertia;
    return out;
}

static void take_settings(gw_haptic_tool *hold, const gw_scenario_tool *tool, double dt)
{
    hold->tool = tool;
    hold->pid.p = tool->gain_p;
    hold->pid.i = tool->gain_i;
    hold->pid.d = tool->gain_d;
    hold->coupling = gw_virtual_coupling_for(gw_haptic_tool_mass(hold).mass, hold->map.scale, dt);
}

/* The device at the tool: placed where the driver can, else the map is centred on it. */
static void join_device(gw_haptic_tool *hold)
{
    gw_pose at = {gw_add(hold->shown.p, hold->tool->start.p),
                  gw_quat_mul(hold->tool->start.q, hold->shown.q)};
    gw_pose device = gw_workspace_to_device(&hold->map, &at);
    if (gw_device_slot_place(hold->tool->slot, &device))
        return;
    hold->sensed = gw_device_slot_read(hold->tool->slot);
    if (hold->sensed.valid)
        hold->map = gw_workspace_recentred(&hold->map, &hold->shown, &hold->sensed.pose);
}

static void take_body(gw_haptic_tool *hold, const gw_scenario_tool *tool)
{
    gw_guided_init(&hold->body, &tool->guided, &tool->pose);
    gw_unilaterals_switch(&hold->walls, tool->walls, tool->wall_count, NULL, 0);
}

void gw_haptic_tool_reset(gw_haptic_tool *hold, const gw_scenario_tool *tool, gw_chain *chain,
                          double dt)
{
    memset(hold, 0, sizeof *hold);
    hold->map = tool->map;
    hold->chain = chain;
    if (!chain) {
        take_body(hold, tool);
        gw_guided_set_twist(&hold->body, &tool->twist);
    }
    take_settings(hold, tool, dt);
    gw_impedance_init(&hold->rendering, &tool->rendering);
    gw_pid_reset(&hold->pid);
    gw_haptic_tool_update_pose(hold);
    join_device(hold);
}

void gw_haptic_tool_restart(gw_haptic_tool *hold, double dt)
{
    const gw_haptic_tool was = *hold;
    gw_haptic_tool_reset(hold, was.tool, was.chain, dt);
    hold->drag = was.drag;
    hold->robot = was.robot;
    hold->push = was.push;
    hold->clutch_wanted = was.clutch_wanted;
}

/* ---- change of scenario --------------------------------------------------------------------- */

static gw_transition_limits travel_limits(const gw_haptic_tool *hold, const gw_scenario *scenario)
{
    gw_hand_model hand = gw_operator_hand(hold->tool->slot->program);
    if (hold->drag.active)
        hand = (gw_hand_model){hand.stiffness + hold->drag.stiffness,
                               hand.damping + hold->drag.damping, hand.mass};
    /* a hand that would ring is brought along as slowly as one that would not */
    hand.damping = fmax(hand.damping, HAND_DAMPING_LEAST * sqrt(hand.stiffness * hand.mass));
    gw_transition_limits limits = gw_scenario_transition_limits(scenario);
    limits.hand_stiffness = hand.stiffness;
    limits.hand_damping = hand.damping;
    limits.hand_mass = hand.mass;
    limits.hand_force_rate = HAND_FORCE_RATE;
    return limits;
}

/* The device stays where it is: where the tool's frame, its device, its object or the stated scale
 * changed, the map is centred anew on it; else the hand keeps the map it has. */
static void keep_device(gw_haptic_tool *hold, const gw_haptic_tool *old, const gw_pose *shown)
{
    bool same = old && old->tool->slot == hold->tool->slot;
    bool rescaled = same && hold->tool->scale_stated && hold->tool->map.scale != old->map.scale;
    hold->map = same ? old->map : hold->tool->map;
    if (rescaled)
        hold->map.scale = hold->tool->map.scale;
    if (!same || rescaled || gw_pose_distance(shown, &old->shown, 1) > 1e-12) {
        gw_device_reading s = gw_device_slot_read(hold->tool->slot);
        if (s.valid)
            hold->map = gw_workspace_recentred(&hold->map, shown, &s.pose);
        gw_pid_reset(&hold->pid);
    }
}

/* What was not held before. */
static void take_up(gw_haptic_tool *hold, const gw_scenario_tool *tool, gw_chain *chain, double dt)
{
    memset(hold, 0, sizeof *hold);
    hold->tool = tool;
    hold->chain = chain;
    if (!chain)
        take_body(hold, tool);
    gw_haptic_tool_update_pose(hold);
    keep_device(hold, NULL, &hold->shown);
    take_settings(hold, tool, dt);
    gw_impedance_init(&hold->rendering, &tool->rendering);
}

/* A mechanism goes on as it is: only the point where it is held may be another one. */
static void switch_chain(gw_haptic_tool *hold, const gw_haptic_tool *old,
                         const gw_scenario_tool *tool, gw_chain *chain, double dt)
{
    *hold = *old;
    gw_impedance_reset_prediction(&hold->rendering);
    hold->tool = tool;
    hold->chain = chain;
    hold->work = hold->dissipated = hold->edits = 0;
    gw_haptic_tool_update_pose(hold);
    keep_device(hold, old, &hold->shown);
    take_settings(hold, tool, dt);
    gw_impedance_switch(&hold->rendering, &tool->rendering);
}

/* Its set moves as geometry does that stays on its way. */
static void ride_on(gw_guided *body, const gw_guided *was, const gw_kinematics *network)
{
    const gw_pose here = gw_pose_identity();
    gw_twist motion = gw_moved_set_twist(network, was);
    gw_base_motion ride = gw_base_motion_from_twist(&here, &motion);
    if (gw_norm2(motion.v) + gw_norm2(motion.w) > 0)
        gw_guided_set_base_motion(body, &ride);
}

void gw_haptic_tool_switch(gw_haptic_tool *hold, const gw_haptic_tool *old,
                           const gw_scenario_tool *tool, gw_chain *chain,
                           const gw_scenario *scenario)
{
    if (!old) {
        take_up(hold, tool, chain, scenario->dt);
        return;
    }
    if (chain) {
        switch_chain(hold, old, tool, chain, scenario->dt);
        return;
    }
    gw_pose from = gw_haptic_tool_object_pose(old), at, to = tool->pose;
    gw_vec3 arm = gw_sub(from.p, old->shown.p);
    gw_twist twist = {gw_add(old->shown_twist.v, gw_cross(old->shown_twist.w, arm)),
                      old->shown_twist.w};
    *hold = *old;
    gw_impedance_reset_prediction(&hold->rendering);
    hold->tool = tool;
    hold->work = hold->dissipated = hold->edits = 0;
    at = gw_pose_mul(&from, &tool->guided.body_from_held);
    arm = gw_sub(at.p, from.p);
    gw_twist at_twist = {gw_add(twist.v, gw_cross(twist.w, arm)), twist.w};
    keep_device(hold, old, &at);
    take_settings(hold, tool, scenario->dt);
    gw_impedance_switch(&hold->rendering, &tool->rendering);
    gw_guided_def def = tool->guided;
    gw_moved_set_at_switch(scenario->network, tool->object, tool->branch, &def, &from);
    if (!scenario->go_to_layout)
        gw_submanifold_nearest(&def.set, &from, def.length, &to);
    gw_guided_init(&hold->body, &def, &to);
    ride_on(&hold->body, &old->body, scenario->network);
    if (!scenario->go_to_layout)
        gw_guided_set_twist(&hold->body, &twist);
    gw_pose model;
    gw_twist model_twist;
    gw_model_held(&hold->body.model, &model, &model_twist);
    gw_transition_limits limits = travel_limits(hold, scenario);
    gw_transition_start(&hold->travel, &at, &at_twist, &model, &model_twist, &limits);
    hold->robot.touched = gw_unilaterals_switch(&hold->walls, tool->walls, tool->wall_count,
                                                scenario->network, hold->robot.touched);
    gw_motion_switch_set(&hold->robot, &old->body.def.set, &def.set, &hold->body.pose,
                         &tool->guided.body_from_held);
    hold->settled = !hold->travel.active;
    gw_haptic_tool_update_pose(hold);
}

/* ---- clutch --------------------------------------------------------------------------------- */

void gw_haptic_tool_clutch(gw_haptic_tool *hold)
{
    bool wanted = hold->clutch_wanted || (hold->sensed.valid && hold->sensed.clutch);
    if (wanted && !hold->clutched) {
        gw_haptic_tool_stop(hold);
        hold->free = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    }
    if (!wanted && hold->clutched) {
        if (hold->sensed.valid)
            hold->map = gw_workspace_recentred(&hold->map, &hold->shown, &hold->sensed.pose);
        gw_pid_reset(&hold->pid);
    }
    hold->clutched = wanted;
}

void gw_haptic_tool_book_loss(gw_haptic_tool *hold, double lost)
{
    hold->dissipated += fmax(lost, 0);
    hold->edits += fmax(-lost, 0);
}

void gw_haptic_tool_stop(gw_haptic_tool *hold)
{
    if (hold->chain) {
        gw_haptic_tool_book_loss(hold, gw_haptic_tool_slow(hold, 0));
    } else {
        double before = gw_haptic_tool_total_energy(hold);
        gw_guided_stop(&hold->body);
        gw_haptic_tool_book_loss(hold, before - gw_haptic_tool_total_energy(hold));
    }
    hold->travel.pace = 0;
    gw_haptic_tool_update_pose(hold);
}

void gw_haptic_tool_undo_step(gw_haptic_tool *hold, double dt)
{
    if (hold->chain)
        return;
    double before = gw_haptic_tool_total_energy(hold);
    gw_guided_revert_step(&hold->body, &hold->start, dt);
    gw_haptic_tool_book_loss(hold, before - gw_haptic_tool_total_energy(hold));
}

/* ---- geometry that moves -------------------------------------------------------------------- */

bool gw_haptic_tool_move_set(gw_haptic_tool *hold, gw_kinematics *network, double dt)
{
    const gw_pose shown = gw_pose_identity();
    if (hold->chain || !(network || hold->body.ride.moves || hold->walls.moving))
        return true;
    double before = gw_haptic_tool_total_energy(hold);
    gw_moved_set_status moved = gw_moved_set_advance(
        network, hold->tool->object, hold->tool->branch, &hold->body, &shown, &shown, dt);
    gw_tool_unilateral_move(hold, network, dt);
    hold->edits += gw_haptic_tool_total_energy(hold) - before;
    return moved != GW_MOVED_SET_GONE;
}
