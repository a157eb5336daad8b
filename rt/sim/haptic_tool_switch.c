/*
 * Initialisation of a tool at tick 0, and its bumpless transition at a change of scenario: neither
 * forces at the hand nor the model's motion may jump. On the loop's thread, RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/haptics/limits.h"
#include "rt/scene/scene_system.h"
#include "rt/sim/haptic_tool.h"
#include "rt/sim/moving_submanifold.h"

#define HAND_FORCE_RATE    45.0 /* N/s: 0.05 N per ms with a margin for rounding off */
#define HAND_DAMPING_LEAST 1.4  /* of sqrt(k m), twice the damping ratio */

/* ---- taking hold ------------------------------------------------------------------------------
 */

/* Sets the desired impedance; its rest is the present held frame, unless it has one for the same
 * frame. At a point (`grasp`) no turn is resisted. */
static void take_desired(gw_haptic_tool *tool, const gw_scenario_tool *def)
{
    gw_pose held;
    gw_twist twist;
    const gw_pose *at = &def->guided.body_from_held, *was = &tool->desired_at;
    gw_model_held(tool->shared ? tool->shared : &tool->body.model, &held, &twist);
    if (memcmp(at, was, sizeof *at) != 0)
        tool->desired.active = false;
    tool->desired_at = *at;
    gw_desired_def desired = def->desired;
    for (int i = 3; i < 6 && def->grasp == GW_GRASP_POINT; i++)
        desired.damping[i] = desired.stiffness[i] = 0;
    gw_desired_take(&tool->desired, &desired, &held);
}

static void take_settings(gw_haptic_tool *tool, const gw_scenario_tool *def, double dt)
{
    tool->def = def;
    take_desired(tool, def);
    tool->pid.p = def->gain_p;
    tool->pid.i = def->gain_i;
    tool->pid.d = def->gain_d;
    gw_mass mass = gw_haptic_tool_mass(tool);
    tool->coupling = gw_virtual_coupling_for(mass.mass, tool->map.scale, dt);
    tool->felt_mass = mass.mass;
    tool->felt_inertia = gw_inertia_lower_bound(&mass.inertia);
}

/* Aligns device and tool: places the device if the driver can, else centres the map on it. */
static void join_device(gw_haptic_tool *tool)
{
    gw_pose at = {gw_add(tool->pose.p, tool->def->start.p),
                  gw_quat_mul(tool->def->start.q, tool->pose.q)};
    gw_pose device = gw_workspace_to_device(&tool->map, &at);
    if (gw_device_slot_place(tool->def->slot, &device))
        return;
    tool->reading = gw_device_slot_read(tool->def->slot);
    if (tool->reading.valid)
        tool->map = gw_workspace_recentred(&tool->map, &tool->pose, &tool->reading.pose);
}

static void take_body(gw_haptic_tool *tool, const gw_scenario_tool *def)
{
    gw_guided_init(&tool->body, &def->guided, &def->pose);
}

void gw_haptic_tool_reset(gw_haptic_tool *tool, const gw_scenario_tool *def, gw_model *shared,
                          double dt)
{
    assert(def && def->slot && dt > 0);
    memset(tool, 0, sizeof *tool);
    tool->map = def->map;
    tool->shared = shared;
    if (!shared) {
        take_body(tool, def);
        gw_guided_set_twist(&tool->body, &def->twist);
    }
    take_settings(tool, def, dt);
    gw_impedance_init(&tool->control, &def->rendering);
    gw_pid_reset(&tool->pid);
    gw_haptic_tool_update_pose(tool);
    join_device(tool);
}

void gw_haptic_tool_restart(gw_haptic_tool *tool, double dt)
{
    assert(tool && dt > 0);
    const gw_haptic_tool was = *tool;
    gw_haptic_tool_reset(tool, was.def, was.shared, dt);
    tool->drag = was.drag;
    tool->motion = was.motion;
    tool->push = was.push;
    tool->clutch_wanted = was.clutch_wanted;
}

bool gw_haptic_tool_is_projected(const gw_haptic_tool *tool)
{
    return !tool->shared &&
           gw_projected_share(&tool->def->twist, &tool->body.twist, 0) > GW_PROJECTED_SHARE;
}

/* ---- change of scenario -----------------------------------------------------------------------
 */

static gw_transition_limits transition_limits(const gw_haptic_tool *tool,
                                              const gw_scenario *scenario)
{
    gw_hand_model hand = gw_operator_hand(tool->def->slot->program);
    if (tool->drag.active)
        hand = (gw_hand_model){hand.stiffness + tool->drag.stiffness,
                               hand.damping + tool->drag.damping, hand.mass};
    /* damping of an underdamped hand is raised, so that it is taken over as slowly as a damped
     * one */
    hand.damping = fmax(hand.damping, HAND_DAMPING_LEAST * sqrt(hand.stiffness * hand.mass));
    gw_transition_limits limits = gw_scenario_transition_limits(scenario);
    limits.speed = gw_stricter_limit(limits.speed, tool->def->limits.speed);
    limits.spin = gw_stricter_limit(limits.spin, tool->def->limits.spin);
    limits.hand_stiffness = hand.stiffness;
    limits.hand_damping = hand.damping;
    limits.hand_mass = hand.mass;
    limits.hand_force_rate = HAND_FORCE_RATE;
    return limits;
}

/* The device keeps its pose. The map is re-centred on it if the tool's frame, device, object,
 * stated scale or the extent of its set has changed; else the map is kept. */
static void keep_device(gw_haptic_tool *tool, const gw_haptic_tool *old, const gw_pose *shown)
{
    bool same = old && old->def->slot == tool->def->slot;
    bool refitted = same && (tool->def->scale_fitted || old->def->scale_fitted);
    bool rescaled =
        same && (tool->def->scale_stated || refitted) && tool->def->map.scale != old->map.scale;
    tool->map = same ? old->map : tool->def->map;
    if (rescaled)
        tool->map.scale = tool->def->map.scale;
    double scaled = tool->def->map.force / tool->map.force;
    tool->map.force = tool->def->map.force;
    gw_wrench *steady = &tool->control.steady; /* the force at the hand is continuous */
    *steady = gw_wrench_scale(scaled, *steady);
    if (!same || rescaled || gw_pose_distance(shown, &old->pose, 1) > 1e-12) {
        gw_device_reading s = gw_device_slot_read(tool->def->slot);
        if (s.valid)
            tool->map = gw_workspace_recentred(&tool->map, shown, &s.pose);
        gw_pid_reset(&tool->pid);
    }
}

/* Takes hold of an object or mechanism that was not held before, or whose last step failed. A drag
 * continues. */
static void hold_anew(gw_haptic_tool *tool, const gw_haptic_tool *old, const gw_scenario_tool *def,
                      gw_model *shared, double dt)
{
    const gw_haptic_tool none = {0}, was = old ? *old : none;
    memset(tool, 0, sizeof *tool);
    tool->def = def;
    tool->shared = shared;
    tool->drag = was.drag;
    tool->push = was.push;
    tool->clutch_wanted = was.clutch_wanted;
    tool->coasts = was.coasts;
    if (!shared)
        take_body(tool, def);
    gw_haptic_tool_update_pose(tool);
    keep_device(tool, NULL, &tool->pose);
    take_settings(tool, def, dt);
    gw_impedance_init(&tool->control, &def->rendering);
}

/* A mechanism or system keeps its state; only the held frame may have changed. A single object that
 * becomes part of a system has kept its state there; its transition and guided motion end. */
static void switch_mechanism(gw_haptic_tool *tool, const gw_haptic_tool *old,
                             const gw_scenario_tool *def, gw_model *shared, double dt)
{
    *tool = *old;
    gw_impedance_reset_prediction(&tool->control);
    tool->def = def;
    tool->shared = shared;
    tool->work = tool->dissipated = tool->motors = tool->edits = 0;
    if (!old->shared) {
        tool->transition = (gw_transition){0};
        gw_motion_release(&tool->motion);
    }
    gw_haptic_tool_update_pose(tool);
    keep_device(tool, old, &tool->pose);
    take_settings(tool, def, dt);
    gw_impedance_switch(&tool->control, &def->rendering);
}

/* Maps the bit set of touching unilateral constraints to those of the same name. */
static uint64_t touched_by_same_name(const gw_scenario_tool *was, const gw_scenario_tool *def,
                                     uint64_t touched)
{
    uint64_t again = 0;
    for (int i = 0; i < def->unilateral_count; i++)
        for (int k = 0; k < was->unilateral_count; k++)
            if (def->unilaterals[i] == was->unilaterals[k])
                again |= (touched >> k & 1) << i;
    return again;
}

/* The new set keeps the base motion of moving geometry. */
static void keep_base_motion(gw_guided *body, const gw_guided *was, const gw_kinematics *kinematics)
{
    const gw_pose here = gw_pose_identity();
    gw_twist motion = gw_moving_submanifold_twist(kinematics, was);
    gw_base_motion base_motion = gw_base_motion_from_twist(&here, &motion);
    if (gw_norm2(motion.v) + gw_norm2(motion.w) > 0)
        gw_guided_set_base_motion(body, &base_motion);
}

void gw_haptic_tool_switch(gw_haptic_tool *tool, const gw_haptic_tool *old,
                           const gw_scenario_tool *def, gw_model *shared,
                           const gw_scenario *scenario)
{
    if (!old) {
        hold_anew(tool, old, def, shared, scenario->dt);
        return;
    }
    if (shared) {
        switch_mechanism(tool, old, def, shared, scenario->dt);
        return;
    }
    gw_pose from = gw_haptic_tool_object_pose(old), at, to = def->pose;
    if (!gw_finite_pose(&from)) { /* its last step failed */
        hold_anew(tool, old, def, NULL, scenario->dt);
        return;
    }
    gw_vec3 arm = gw_sub(from.p, old->pose.p);
    gw_twist twist = {gw_add(old->twist.v, gw_cross(old->twist.w, arm)), old->twist.w};
    *tool = *old;
    gw_impedance_reset_prediction(&tool->control);
    tool->def = def;
    tool->shared = NULL;
    tool->work = tool->dissipated = tool->motors = tool->edits = 0;
    at = gw_pose_mul(&from, &def->guided.body_from_held);
    arm = gw_sub(at.p, from.p);
    gw_twist at_twist = {gw_add(twist.v, gw_cross(twist.w, arm)), twist.w};
    keep_device(tool, old, &at);
    gw_impedance_switch(&tool->control, &def->rendering);
    gw_guided_def guided = def->guided;
    gw_moving_submanifold_at_switch(scenario->kinematics, def->object, def->branch, &guided, &from);
    if (!scenario->go_to_layout)
        to = gw_moving_submanifold_nearest(&guided, &from, &def->pose);
    gw_guided_init(&tool->body, &guided, &to);
    if (!old->shared)
        keep_base_motion(&tool->body, &old->body, scenario->kinematics);
    if (!scenario->go_to_layout)
        gw_guided_set_twist(&tool->body, &twist);
    take_settings(tool, def, scenario->dt);
    gw_pose model;
    gw_twist model_twist;
    gw_model_held(&tool->body.model, &model, &model_twist);
    gw_transition_limits limits = transition_limits(tool, scenario);
    gw_transition_start(&tool->transition, &at, &at_twist, &model, &model_twist, &limits);
    if (!old->shared) {
        tool->motion.touched = touched_by_same_name(old->def, def, old->motion.touched);
        gw_motion_switch_set(&tool->motion, &old->body.def.set, &guided.set, &tool->body.pose,
                             &def->guided.body_from_held);
    }
    tool->arrived = !tool->transition.active;
    gw_haptic_tool_update_pose(tool);
}
