/*
 * Control of an impedance device at the tool: the model at the held frame before its step and after
 * it, and the device, in task space, as rt/haptics/rendering.h wants them. On the loop's thread, RT
 * safe.
 */
#include "rt/sim/hold.h"

#define BRAKE_TIME 0.05 /* s, in which a device that nobody pushes loses most of its speed */

static gw_rendering_device device_now(const gw_hold *hold)
{
    const gw_device_info *info = gw_device_slot_info(hold->tool->slot);
    double k = hold->map.scale;
    gw_rendering_device d = {.pose = gw_map_to_task(&hold->map, &hold->sensed.pose),
                             .twist = gw_map_twist_to_task(&hold->map, &hold->sensed.twist),
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
        d.hand = gw_map_wrench_to_task(&hold->map, &hold->sensed.wrench);
    return d;
}

/* The device comes to rest where it is: M_d x'' = -M_d x' / tau takes energy whatever moves it. */
static gw_wrench brake(const gw_hold *hold)
{
    gw_rendering_device d = device_now(hold);
    return (gw_wrench){gw_scale(-d.mass / BRAKE_TIME, d.twist.v),
                       gw_scale(-d.inertia / BRAKE_TIME, d.twist.w)};
}

bool gw_hold_waits(const gw_hold *hold, const gw_tick *tick)
{
    bool simulated = hold->tool->slot->driver->place != NULL;
    return !tick->moving && tick->engaged && hold->tool->renders && simulated &&
           hold->rendering.own_known && hold->sensed.valid && !hold->clutched &&
           !hold->clutch_wanted;
}

/* While nothing moves it is braked; in the clutch, and where it is lost or halted, let go. */
static void let_go(gw_hold *hold, const gw_tick *tick)
{
    hold->rendered = (gw_rendering_out){0};
    if (!tick->moving && tick->engaged && hold->sensed.valid && !hold->clutched)
        hold->rendered.command = brake(hold);
    gw_rendering_let_go(&hold->rendering, tick->dt);
    hold->was_hit = false;
}

void gw_hold_feel(gw_hold *hold, const gw_tick *tick, const gw_movers *movers, int index)
{
    double columns[GW_MODEL_MAX_DOF][6];
    gw_rendered seen;
    hold->answers = tick->moving && tick->engaged && hold->sensed.valid && !hold->clutched;
    if (!hold->answers) {
        let_go(hold, tick);
        return;
    }
    gw_rendered_at(gw_hold_model(hold), columns, &seen);
    seen.pose = hold->shown;
    seen.twist = hold->shown_twist;
    seen.directions = gw_movers_directions(movers, index);
    gw_rendering_device device = device_now(hold);
    hold->rendered = gw_rendering_feel(&hold->rendering, &seen, &device, tick->dt);
    hold->wrench = hold->rendered.hand;
    hold->acting = hold->rendered.on_model;
}

void gw_hold_answer(gw_hold *hold)
{
    gw_rendered_step step;
    if (!hold->answers)
        return;
    hold->answers = false;
    gw_rendered_stepped(gw_hold_model(hold), hold->was_hit ? hold->hit : NULL, &step);
    step.pose = hold->shown;
    step.twist = hold->shown_twist;
    gw_rendering_answer(&hold->rendering, &step, &hold->rendered);
    hold->damped += hold->rendered.damped;
    hold->withheld += hold->rendered.withheld;
    hold->limited = hold->limited || hold->rendered.limited;
}
