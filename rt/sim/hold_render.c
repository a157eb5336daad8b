/*
 * Control of an impedance device at the tool: the model at the held frame before its step and after
 * it, and the device, in task space, as rt/haptics/impedance.h wants them. On the loop's thread, RT
 * safe.
 */
#include "rt/sim/haptic_tool.h"

#define BRAKE_TIME 0.05 /* s, in which a device that nobody pushes loses most of its speed */

static gw_impedance_device device_now(const gw_haptic_tool *hold)
{
    const gw_device_info *info = gw_device_slot_info(hold->tool->slot);
    double k = hold->map.scale;
    gw_impedance_device d = {.pose = gw_workspace_to_task(&hold->map, &hold->sensed.pose),
                             .twist = gw_workspace_twist_to_task(&hold->map, &hold->sensed.twist),
                             .mass = info->mass,
                             .inertia = info->inertia / (k * k),
                             .damping = info->damping,
                             .damping_angular = info->damping_angular / (k * k),
                             .force_max = info->force_max / k,
                             .torque_max = info->torque_max / (k * k),
                             .delay = info->delay,
                             .velocity_delay = info->velocity_delay,
                             .planar = info->planar};
    if (info->measures_wrench)
        d.hand = gw_workspace_wrench_to_task(&hold->map, &hold->sensed.wrench);
    return d;
}

/* The device comes to rest where it is: M_d x'' = -M_d x' / tau takes energy whatever moves it. */
static gw_wrench brake(const gw_haptic_tool *hold)
{
    gw_impedance_device d = device_now(hold);
    return (gw_wrench){gw_scale(-d.mass / BRAKE_TIME, d.twist.v),
                       gw_scale(-d.inertia / BRAKE_TIME, d.twist.w)};
}

bool gw_haptic_tool_waits(const gw_haptic_tool *hold, const gw_tick *tick)
{
    bool simulated = hold->tool->slot->driver->place != NULL;
    return !tick->moving && tick->engaged && hold->tool->renders && simulated &&
           hold->rendering.prediction_known && hold->sensed.valid && !hold->clutched &&
           !hold->clutch_wanted;
}

/* While nothing moves it is braked; in the clutch, and where it is lost or halted, let go. */
static void let_go(gw_haptic_tool *hold, const gw_tick *tick)
{
    hold->rendered = (gw_impedance_out){0};
    if (!tick->moving && tick->engaged && hold->sensed.valid && !hold->clutched)
        hold->rendered.command = brake(hold);
    gw_impedance_disengage(&hold->rendering, tick->dt);
    hold->was_hit = false;
}

void gw_haptic_tool_control_pre_step(gw_haptic_tool *hold, const gw_tick *tick,
                                     const gw_scene_dynamics *movers, int index)
{
    double columns[GW_MODEL_MAX_DOF][6];
    gw_operational_state seen;
    hold->answers = tick->moving && tick->engaged && hold->sensed.valid && !hold->clutched;
    if (!hold->answers) {
        let_go(hold, tick);
        return;
    }
    gw_operational_state_of(gw_haptic_tool_model(hold), columns, &seen);
    seen.pose = hold->shown;
    seen.twist = hold->shown_twist;
    seen.resisted = gw_scene_dynamics_resisted(movers, index);
    gw_impedance_device device = device_now(hold);
    hold->rendered = gw_impedance_pre_step(&hold->rendering, &seen, &device, tick->dt);
    hold->wrench = hold->rendered.hand;
    hold->acting = hold->rendered.on_model;
}

void gw_haptic_tool_control_post_step(gw_haptic_tool *hold)
{
    gw_operational_step step;
    if (!hold->answers)
        return;
    hold->answers = false;
    gw_operational_step_of(gw_haptic_tool_model(hold), hold->was_hit ? hold->hit : NULL, &step);
    step.pose = hold->shown;
    step.twist = hold->shown_twist;
    gw_impedance_post_step(&hold->rendering, &step, &hold->rendered);
    hold->damped += hold->rendered.damped;
    hold->withheld += hold->rendered.withheld;
    hold->limited = hold->limited || hold->rendered.limited;
}
