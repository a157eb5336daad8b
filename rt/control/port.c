/*
 * Passivity observer and controller of the device's port. On the loop's thread, RT safe.
 */
#include "rt/control/port.h"

static double work(const gw_wrench *w, const gw_pose *from, const gw_pose *to)
{
    gw_twist way = gw_pose_sub(to, from);
    return gw_dot(w->f, way.v) + gw_dot(w->t, way.w);
}

double gw_port_observe(gw_port *p, const gw_port_tick *now, double dt)
{
    double more = 0, sum = 0;
    if (p->started) {
        more = work(&p->on_model, &p->last.model, &now->model) -
               work(&p->hand, &p->last.device, &now->device) -
               work(&p->environment, &p->last.device, &now->device);
        more += now->stored - p->last.stored + now->kinetic - p->last.kinetic - now->booked;
    }
    p->last = *now;
    p->started = true;
    p->excess += more;
    p->slots[p->at] += more;
    for (int i = 0; i < GW_PORT_SLOTS; i++)
        sum += p->slots[i];
    p->slot_time += dt;
    if (p->slot_time > GW_PORT_WINDOW / GW_PORT_SLOTS - 0.5 * dt) {
        p->slot_time = 0;
        p->at = (p->at + 1) % GW_PORT_SLOTS;
        p->slots[p->at] = 0;
    }
    return sum;
}

void gw_port_hold(gw_port *p, const gw_wrench *hand, const gw_wrench *on_model,
                  const gw_wrench *environment)
{
    p->hand = *hand;
    p->on_model = *on_model;
    p->environment = *environment;
}

gw_wrench gw_port_damping(double excess, const gw_twist *twist, double arm, double most, double dt)
{
    double square = gw_norm2(twist->v) + arm * arm * gw_norm2(twist->w);
    if (!(excess > 0) || !(square > 0))
        return (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    double alpha = fmin(excess / (square * dt), most);
    return (gw_wrench){gw_scale(-alpha, twist->v), gw_scale(-alpha * arm * arm, twist->w)};
}
