/*
 * What a tick of control works on, shared by its parts: the springs and the four controls
 * (rendering_terms.c), what the port asks for (rendering_port.c), limits and the tick itself
 * (rendering.c). On the loop's thread, RT safe.
 */
#ifndef GW_HAPTICS_RENDERING_DATA_H
#define GW_HAPTICS_RENDERING_DATA_H

#include "rt/haptics/impedance.h"

static const gw_wrench gw_render_nothing = {{0, 0, 0}, {0, 0, 0}};

/* ---- wrenches as six numbers ---------------------------------------------------------------- */

static inline gw_wrench gw_render_negative(gw_wrench a)
{
    return (gw_wrench){gw_neg(a.f), gw_neg(a.t)};
}

static inline double gw_render_power(const gw_wrench *w, const gw_twist *twist)
{
    return gw_dot(w->f, twist->v) + gw_dot(w->t, twist->w);
}

static inline gw_wrench gw_render_of_six(const double x[6])
{
    return (gw_wrench){{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
}

/* [a; alpha] = Lambda^-1 F */
static inline gw_wrench gw_render_accelerate(const double inverse[6][6], gw_wrench w)
{
    const double x[6] = {w.f.x, w.f.y, w.f.z, w.t.x, w.t.y, w.t.z};
    double y[6];
    for (int i = 0; i < 6; i++) {
        y[i] = 0;
        for (int j = 0; j < 6; j++)
            y[i] += inverse[i][j] * x[j];
    }
    return gw_render_of_six(y);
}

/* M_d [a; alpha] */
static inline gw_wrench gw_render_weigh(const gw_impedance_device *d, gw_wrench a)
{
    return (gw_wrench){gw_scale(d->mass, a.f), gw_scale(d->inertia, a.t)};
}

/* C_d x-dot */
static inline gw_wrench gw_render_drag(const gw_impedance_device *d, const gw_twist *twist)
{
    return (gw_wrench){gw_scale(d->damping, twist->v), gw_scale(d->damping_angular, twist->w)};
}

/* What a planar device can exert, or be pushed by. */
static inline gw_wrench gw_render_in_reach(const gw_impedance_device *d, gw_wrench w)
{
    if (d->planar)
        w.f.z = w.t.x = w.t.y = 0;
    return w;
}

/* ---- ticks that were ------------------------------------------------------------------------ */

static inline int gw_render_past(const gw_impedance_control *r, int ticks)
{
    return (r->at - ticks) & (GW_IMPEDANCE_HISTORY - 1);
}

static inline int gw_render_delay(const gw_impedance_device *d, double dt)
{
    return (int)fmin(d->delay / dt + 0.5, GW_IMPEDANCE_HISTORY - 2);
}

/* ---- rendering_terms.c ---------------------------------------------------------------------- */

gw_inverse_mass gw_render_mobility(const gw_impedance_device *d);

/* The device moves as the model would: impedance control, with penalties or without. */
bool gw_render_matches(const gw_impedance_control *r);

/* It has penalties, or their dampers alone. */
bool gw_render_penalises(const gw_impedance_control *r);

/* The part of a way of model against device that the springs between them follow. */
gw_twist gw_render_followed(const gw_impedance_control *r, const gw_twist *way);

/* Springs between device and model, coordination or coupling and penalties, and what they pay. */
void gw_render_pull(gw_impedance_control *r, gw_impedance_work *w, gw_impedance_out *out);

/* What the model feels. */
gw_wrench gw_render_on_model(const gw_impedance_control *r, const gw_impedance_work *w);

/* What the control asks of the device, impulses apart, where the model moves as `own` says. */
gw_wrench gw_render_command(const gw_impedance_control *r, const gw_impedance_work *w);

/* ---- rendering_port.c ----------------------------------------------------------------------- */

/* Books the last tick. What is owed the springs pay, by growing slack; what they gave they get back
 * of what is lost below the last second's least. */
void gw_render_settle(gw_impedance_control *r, gw_impedance_work *w, double stored, double booked);

/* The damping that keeps the port from owing, foreseen: device and model lose speed at one rate. */
void gw_render_damp(gw_impedance_control *r, gw_impedance_work *w);

/* What it lacks, now that the model's way is known and this is commanded: of the device alone. */
void gw_render_damp_device(gw_impedance_control *r, gw_impedance_work *w,
                           const gw_operational_step *step, const gw_wrench *command);

/* What is held until the next tick, for the next booking. */
void gw_render_hold(gw_impedance_control *r, const gw_impedance_work *w);

#endif
