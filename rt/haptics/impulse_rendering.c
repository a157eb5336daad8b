/*
 * Impulses within limits. On the loop's thread, RT safe.
 */
#include "rt/haptics/impulse_rendering.h"

#include <assert.h>

static double size_of(const gw_wrench *impulse)
{
    return gw_norm(impulse->f) + gw_norm(impulse->t) / GW_IMPULSE_RENDERING_ARM;
}

/* The largest part of `more`, 0 .. 1, with |base + part more| <= most; `base` is within it. */
static double largest_share(gw_vec3 base, gw_vec3 more, double most)
{
    double a = gw_norm2(more), b = gw_dot(base, more), c = gw_norm2(base) - most * most;
    if (!(most > 0) || !(a > 0) || a + 2 * b + c <= 0)
        return 1;
    double root = sqrt(fmax(b * b - a * c, 0));
    return fmin(fmax((root - b) / a, 0), 1);
}

/* The part of a new impulse that the budget still allows; the rest is withheld. */
static gw_wrench grant_within_budget(gw_impulse_rendering *s, const gw_wrench *impulse,
                                     double budget, double dt)
{
    double size = size_of(impulse), most = budget > 0 ? budget : GW_IMPULSE_RENDERING_BUDGET;
    s->spent = fmax(s->spent - most * dt, 0);
    double left = most - s->spent;
    double part = size > left ? left / size : 1;
    s->spent += part * size;
    return gw_wrench_scale(part, *impulse);
}

gw_impulse_rendered gw_impulse_rendering_tick(gw_impulse_rendering *s, const gw_wrench *impulse,
                                              const gw_wrench *steady, double force_max,
                                              double torque_max, double budget, double dt)
{
    assert(s && impulse && steady && dt > 0);
    gw_impulse_rendered out = {.limited = false};
    gw_wrench taken = grant_within_budget(s, impulse, budget, dt);
    out.withheld = gw_wrench_sub(*impulse, taken);
    s->pending = gw_wrench_add(s->pending, taken);
    if (!(size_of(&s->pending) > 0)) {
        s->pending_for = 0;
        return out;
    }
    gw_wrench all = gw_wrench_scale(1 / dt, s->pending);
    double f = largest_share(steady->f, all.f, force_max),
           t = largest_share(steady->t, all.t, torque_max);
    out.wrench = (gw_wrench){gw_scale(f, all.f), gw_scale(t, all.t)};
    out.limited = f < 1 || t < 1;
    if (!out.limited) {
        s->pending = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
        s->pending_for = 0;
        return out;
    }
    s->pending = (gw_wrench){gw_scale(1 - f, s->pending.f), gw_scale(1 - t, s->pending.t)};
    s->pending_for += dt;
    if (s->pending_for > GW_IMPULSE_RENDERING_SPREAD - 0.5 * dt) {
        out.withheld = gw_wrench_add(out.withheld, s->pending);
        s->pending = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
        s->pending_for = 0;
    }
    return out;
}
