/*
 * Control of an impedance device at the tool: the model at the held frame and the device in task
 * space, as rt/control/rendering.h wants them. On the loop's thread, RT safe.
 */
#include <string.h>

#include "rt/loop/hold.h"

/* out = J a */
static void at_hand(int dof, const double (*columns)[6], const double *a, double scale,
                    double out[6])
{
    memset(out, 0, 6 * sizeof *out);
    for (int k = 0; k < dof; k++)
        for (int i = 0; i < 6; i++)
            out[i] += scale * columns[k][i] * a[k];
}

/* tau of mechanisms eq. 12: contacts, weight, bias, motors; D^-1 of it. */
static void free_acceleration(const gw_model *model, const gw_movers *movers, int index, int dof,
                              double *a)
{
    double load[GW_MODEL_MAX_DOF] = {0}, by_load[GW_MODEL_MAX_DOF];
    gw_model_free_acceleration(model, a);
    gw_movers_load(movers, index, load);
    gw_model_apply_inverse(model, load, by_load);
    for (int k = 0; k < dof; k++)
        a[k] += by_load[k];
}

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

/* While nothing moves, or the hand is lost, the device is let go. */
static void let_go(gw_hold *hold)
{
    hold->rendered = (gw_rendering_out){0};
    hold->was_hit = false;
}

void gw_hold_render(gw_hold *hold, const gw_tick *tick, const gw_movers *movers, int index)
{
    double columns[GW_MODEL_MAX_DOF][6], a[GW_MODEL_MAX_DOF];
    const gw_model *model = gw_hold_model(hold);
    gw_rendered r = {.dof = gw_model_dof(model), .jacobian = (const double(*)[6])columns};
    if (!tick->moving || !tick->engaged || !hold->sensed.valid || hold->clutched) {
        let_go(hold);
        return;
    }
    r.pose = hold->shown;
    r.twist = hold->shown_twist;
    gw_model_jacobian(model, columns, r.drift);
    gw_inverse_inertia(model, r.dof, r.jacobian, r.inverse_inertia);
    free_acceleration(model, movers, index, r.dof, a);
    at_hand(r.dof, r.jacobian, a, 1, r.free);
    if (hold->was_hit) {
        gw_model_apply_inverse(model, hold->hit, a);
        at_hand(r.dof, r.jacobian, a, 1 / tick->dt, r.hit);
    }
    r.directions = gw_movers_directions(movers, index);
    gw_rendering_device device = device_now(hold);
    hold->rendered = gw_rendering_tick(&hold->rendering, &r, &device, tick->dt);
    hold->wrench = hold->rendered.hand;
    hold->acting = hold->rendered.on_model;
    hold->damped += hold->rendered.damped;
    hold->withheld += hold->rendered.withheld;
    hold->edits += hold->rendered.weights;
    hold->limited = hold->limited || hold->rendered.limited;
}
