/*
 * Control of an impedance device at the tool: the model at the held frame and the device in task
 * space, as rt/control/rendering.h wants them. On the loop's thread, RT safe.
 */
#include <string.h>

#include "rt/loop/hold.h"

#define BRAKE_TIME 0.05 /* s, in which a device that nobody pushes loses most of its speed */

/* out = J a */
static void at_hand(int dof, const double (*columns)[6], const double *a, double scale,
                    double out[6])
{
    memset(out, 0, 6 * sizeof *out);
    for (int k = 0; k < dof; k++)
        for (int i = 0; i < 6; i++)
            out[i] += scale * columns[k][i] * a[k];
}

/*
 * What contacts, walls and what the set rides on gave to the hand's acceleration in the last step,
 * as it came about:
 *
 *   ([v; w] - [v; w]_before) / dt - (Lambda^-1 F + J D^-1 tau + J-dot v)_before - impulses
 *
 * Their forces change within a tick: what they are as one begins, held for all of it, would leave
 * the device behind the model a little more with every touch.
 */
static void contact_acceleration(const gw_hold *hold, const gw_movers *movers, int index,
                                 const gw_rendered *r, double dt, double out[6])
{
    const double *before = hold->foreseen.before, *a = hold->foreseen.acceleration;
    double now[6] = {r->twist.v.x, r->twist.v.y, r->twist.v.z,
                     r->twist.w.x, r->twist.w.y, r->twist.w.z};
    bool ridden = hold->foreseen.rode || (!hold->chain && hold->body.ride.moves);
    bool touched = hold->wall.near || ridden || gw_movers_touched(movers, index);
    for (int i = 0; i < 6; i++)
        out[i] = hold->foreseen.known && touched ? (now[i] - before[i]) / dt - a[i] - r->hit[i] : 0;
}

/*
 * What changes smoothly, as it will be amid the coming step: 3/2 of now less 1/2 of a step ago. As
 * it is when the step begins, held for all of it, the device would leave a bend on its outer side,
 * the faster the longer it lasts, and pull the model along.
 */
static void amid(const double now[6], double last[6], bool again, double out[6])
{
    for (int i = 0; i < 6; i++) {
        out[i] = again ? 1.5 * now[i] - 0.5 * last[i] : now[i];
        last[i] = now[i];
    }
}

/* What the coming step would do to the hand without contacts. */
static void foresee(gw_hold *hold, const gw_rendered *r, const double own[6])
{
    const gw_wrench *f = &hold->rendered.on_model;
    double wrench[6] = {f->f.x, f->f.y, f->f.z, f->t.x, f->t.y, f->t.z};
    double *a = hold->foreseen.acceleration;
    for (int i = 0; i < 6; i++) {
        a[i] = own[i] + r->drift[i];
        for (int k = 0; k < 6; k++)
            a[i] += r->inverse_inertia[i][k] * wrench[k];
    }
    double now[6] = {r->twist.v.x, r->twist.v.y, r->twist.v.z,
                     r->twist.w.x, r->twist.w.y, r->twist.w.z};
    memcpy(hold->foreseen.before, now, sizeof now);
    hold->foreseen.known = true;
    hold->foreseen.rode = !hold->chain && hold->body.ride.moves;
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
           hold->foreseen.again && hold->sensed.valid && !hold->clutched && !hold->clutch_wanted;
}

/* While nothing moves it is braked; in the clutch, and where it is lost or halted, let go. */
static void let_go(gw_hold *hold, const gw_tick *tick)
{
    hold->rendered = (gw_rendering_out){0};
    if (!tick->moving && tick->engaged && hold->sensed.valid && !hold->clutched)
        hold->rendered.command = brake(hold);
    gw_rendering_let_go(&hold->rendering, tick->dt);
    hold->was_hit = hold->foreseen.known = hold->foreseen.again = false;
}

void gw_hold_render(gw_hold *hold, const gw_tick *tick, const gw_movers *movers, int index)
{
    double columns[GW_MODEL_MAX_DOF][6], a[GW_MODEL_MAX_DOF], bias[6], drift[6], own[6], touch[6];
    const gw_model *model = gw_hold_model(hold);
    gw_rendered r = {.dof = gw_model_dof(model), .jacobian = (const double(*)[6])columns};
    if (!tick->moving || !tick->engaged || !hold->sensed.valid || hold->clutched) {
        let_go(hold, tick);
        return;
    }
    r.pose = hold->shown;
    r.twist = hold->shown_twist;
    gw_model_jacobian(model, columns, drift);
    gw_inverse_inertia(model, r.dof, r.jacobian, r.inverse_inertia);
    gw_model_free_acceleration(model, a);
    at_hand(r.dof, r.jacobian, a, 1, bias);
    amid(bias, hold->foreseen.own, hold->foreseen.again, own);
    amid(drift, hold->foreseen.drift, hold->foreseen.again, r.drift);
    hold->foreseen.again = true;
    if (hold->was_hit) {
        gw_model_apply_inverse(model, hold->hit, a);
        at_hand(r.dof, r.jacobian, a, 1 / tick->dt, r.hit);
    }
    r.directions = gw_movers_directions(movers, index);
    contact_acceleration(hold, movers, index, &r, tick->dt, touch);
    for (int i = 0; i < 6; i++)
        r.free[i] = own[i] + touch[i];
    gw_rendering_device device = device_now(hold);
    hold->rendered = gw_rendering_tick(&hold->rendering, &r, &device, tick->dt);
    foresee(hold, &r, own);
    hold->wrench = hold->rendered.hand;
    hold->acting = hold->rendered.on_model;
    hold->damped += hold->rendered.damped;
    hold->withheld += hold->rendered.withheld;
    hold->limited = hold->limited || hold->rendered.limited;
}
