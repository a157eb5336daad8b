/*
 * Walking along a general set of one freedom: a step along the tangent, then back onto the rows;
 * the step follows the curve's bend. Any thread, RT safe.
 */
#include "rt/geom/curve.h"

#define LONGEST  0.15  /* step, times the size: small beside a loop, most are a turn or more */
#define SHORTEST 0.025 /* where the curve bends most */
#define FAR      20    /* times the size: a curve that goes this far does not come back */

static double dot6(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < 6; i++)
        sum += a[i] * b[i];
    return sum;
}

/* Turns the tangent to the curve's at x, on in the same direction; returns the cosine between. */
static double take_tangent(gw_walk *w)
{
    double basis[6][6];
    gw_submanifold_tangent(w->set, &w->x, w->size, basis);
    for (int i = 3; i < 6; i++)
        basis[0][i] *= w->size;
    double dot = dot6(basis[0], w->tangent);
    for (int i = 0; i < 6; i++)
        w->tangent[i] = basis[0][i] * (dot < 0 ? -1 : 1);
    return fabs(dot);
}

gw_walk gw_walk_from(const gw_submanifold *set, double size, bool backward)
{
    gw_walk w = {.set = set, .size = size, .x = set->seed, .step = 2 * SHORTEST};
    take_tangent(&w);
    for (int i = 0; i < 6; i++)
        w.tangent[i] *= backward ? -1 : 1;
    return w;
}

bool gw_walk_passes(const gw_walk *w, const gw_pose *y)
{
    double l = w->size, s = w->step * l;
    if (gw_norm2(gw_sub(y->p, w->x.p)) > s * s)
        return false;
    gw_twist t = gw_pose_sub(y, &w->x);
    double d[6] = {t.v.x, t.v.y, t.v.z, l * t.w.x, l * t.w.y, l * t.w.z};
    double along = dot6(d, w->tangent);
    return fabs(along) < 0.75 * s && dot6(d, d) - along * along < 0.02 * s * s;
}

static gw_trip arrived(gw_walk *w)
{
    bool home = gw_walk_passes(w, &w->set->seed);
    if (home && w->away)
        return GW_CLOSED;
    w->away = w->away || !home;
    return gw_distance(w->x.p, w->set->seed.p) > FAR * w->size ? GW_GONE : GW_ON_THE_WAY;
}

gw_trip gw_walk_on(gw_walk *w)
{
    for (; w->step >= SHORTEST; w->step *= 0.5) {
        gw_walk next = *w;
        const double *t = w->tangent, s = w->step * w->size, turn = w->step;
        gw_twist d = {{s * t[0], s * t[1], s * t[2]}, {turn * t[3], turn * t[4], turn * t[5]}};
        next.x = gw_pose_add(&w->x, &d);
        double off = gw_rows_project(w->set->rows, w->set->row_count, w->size, 20, &next.x);
        double moved = gw_pose_distance(&next.x, &w->x, w->size), straight = take_tangent(&next);
        if (off > 1e-10 * w->size || moved > 1.5 * s || straight < 0.95)
            continue;
        next.step = fmin(LONGEST, w->step * (straight > 0.99 ? 1.4 : 1));
        *w = next;
        return arrived(w);
    }
    return GW_STUCK;
}

/* One way round; `found` where the pose is passed. */
static gw_trip visit(gw_walk *w, const gw_pose *pose, const gw_pose *near, double length,
                     gw_pose *best, bool *found)
{
    gw_trip t = GW_ON_THE_WAY;
    for (int k = 0; k < GW_CURVE_STEPS && t == GW_ON_THE_WAY && !*found; k++) {
        t = gw_walk_on(w);
        *found = gw_walk_passes(w, pose);
        if (gw_pose_distance(&w->x, near, length) < gw_pose_distance(best, near, length))
            *best = w->x;
    }
    return t;
}

bool gw_curve_has(const gw_submanifold *set, double size, const gw_pose *pose, const gw_pose *near,
                  double length, gw_pose *best)
{
    bool found = false;
    *best = set->seed;
    for (int way = 0; way < 2; way++) {
        gw_walk w = gw_walk_from(set, size, way > 0);
        gw_trip t = visit(&w, pose, near, length, best, &found);
        if (found || t == GW_CLOSED || t == GW_STUCK || t == GW_ON_THE_WAY)
            return found || t != GW_CLOSED;
    }
    return false;
}
