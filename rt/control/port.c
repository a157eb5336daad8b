/*
 * Passivity observer and controller. On the loop's thread, RT safe.
 */
#include "rt/control/port.h"

static double work(const gw_wrench *w, const gw_twist *way)
{
    return gw_dot(w->f, way->v) + gw_dot(w->t, way->w);
}

void gw_port_observe(gw_port *p, const gw_pose *device, const gw_pose *model, double stored,
                     double booked, int delay)
{
    p->rise = 0;
    if (p->started) {
        gw_twist way = gw_pose_sub(device, &p->device), of_model = gw_pose_sub(model, &p->model);
        const gw_wrench *acted = &p->on_device[(p->at - delay) & (GW_PORT_PAST - 1)];
        p->rise = work(acted, &way) - work(&p->fed, &way) + work(&p->on_model, &of_model) + stored -
                  p->stored - booked;
    }
    p->device = *device;
    p->model = *model;
    p->stored = stored;
    p->started = true;
    p->excess += p->rise;
    p->balance = fmax(p->balance + p->rise, -GW_PORT_CREDIT);
}

void gw_port_hold(gw_port *p, const gw_wrench *on_device, const gw_wrench *on_model,
                  const gw_wrench *fed)
{
    p->at = (p->at + 1) & (GW_PORT_PAST - 1);
    p->on_device[p->at] = *on_device;
    p->on_model = *on_model;
    p->fed = *fed;
}

/* A tick late is too late: what the next one will bring is taken to be like the last, and half of
 * the credit is kept in hand. */
double gw_port_due(const gw_port *p)
{
    double ahead = p->rise > 0 ? 2 * p->rise : 0;
    return p->balance + ahead + 0.5 * GW_PORT_CREDIT;
}

gw_wrench gw_port_damping(double excess, const gw_twist *twist, double arm, double most, double dt)
{
    double square = gw_norm2(twist->v) + arm * arm * gw_norm2(twist->w);
    if (!(excess > 0) || !(square > 0))
        return (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    double alpha = fmin(excess / (square * dt), most);
    return (gw_wrench){gw_scale(-alpha, twist->v), gw_scale(-alpha * arm * arm, twist->w)};
}
