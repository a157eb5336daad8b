/*
 * Impulses within limits. On the loop's thread, RT safe.
 */
#include "rt/haptics/impulse_rendering.h"

static double size_of(const gw_wrench *impulse)
{
    return gw_norm(impulse->f) + gw_norm(impulse->t) / GW_IMPULSE_RENDERING_ARM;
}

static gw_wrench times(double a, const gw_wrench *w)
{
    return (gw_wrench){gw_scale(a, w->f), gw_scale(a, w->t)};
}

static gw_wrench less(const gw_wrench *a, const gw_wrench *b)
{
    return (gw_wrench){gw_sub(a->f, b->f), gw_sub(a->t, b->t)};
}

static gw_wrench plus(const gw_wrench *a, const gw_wrench *b)
{
    return (gw_wrench){gw_add(a->f, b->f), gw_add(a->t, b->t)};
}

/* The largest part of `more`, 0 .. 1, with |base + part more| <= most; `base` is within it. */
static double room(gw_vec3 base, gw_vec3 more, double most)
{
    double a = gw_norm2(more), b = gw_dot(base, more), c = gw_norm2(base) - most * most;
    if (!(most > 0) || !(a > 0) || a + 2 * b + c <= 0)
        return 1;
    double root = sqrt(fmax(b * b - a * c, 0));
    return fmin(fmax((root - b) / a, 0), 1);
}

/* What the budget of this second still allows of a new impulse; the rest is withheld. */
static gw_wrench granted(gw_impulse_rendering *s, const gw_wrench *hit, double budget, double dt)
{
    double size = size_of(hit), most = budget > 0 ? budget : GW_IMPULSE_RENDERING_BUDGET;
    s->spent = fmax(s->spent - most * dt, 0);
    double left = most - s->spent;
    double part = size > left ? left / size : 1;
    s->spent += part * size;
    return times(part, hit);
}

gw_impulse_rendered gw_impulse_rendering_tick(gw_impulse_rendering *s, const gw_wrench *hit,
                                              const gw_wrench *quiet, double force_max,
                                              double torque_max, double budget, double dt)
{
    gw_impulse_rendered out = {.limited = false};
    gw_wrench taken = granted(s, hit, budget, dt);
    out.withheld = less(hit, &taken);
    s->owed = plus(&s->owed, &taken);
    if (!(size_of(&s->owed) > 0)) {
        s->owed_for = 0;
        return out;
    }
    gw_wrench all = times(1 / dt, &s->owed);
    double f = room(quiet->f, all.f, force_max), t = room(quiet->t, all.t, torque_max);
    out.wrench = (gw_wrench){gw_scale(f, all.f), gw_scale(t, all.t)};
    out.limited = f < 1 || t < 1;
    if (!out.limited) {
        s->owed = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
        s->owed_for = 0;
        return out;
    }
    s->owed = (gw_wrench){gw_scale(1 - f, s->owed.f), gw_scale(1 - t, s->owed.t)};
    s->owed_for += dt;
    if (s->owed_for > GW_IMPULSE_RENDERING_SPREAD - 0.5 * dt) {
        out.withheld = plus(&out.withheld, &s->owed);
        s->owed = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
        s->owed_for = 0;
    }
    return out;
}
