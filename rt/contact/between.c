/*
 * Looks between a piece's beginning and its end, at pieces of solids that came far in it: features
 * that touch first need not be near at either end. The gap of two convex pieces falls by no more
 * than their bodies can move,
 *
 *   gap(t) >= gap(s) - (|v_a - v_b| + |w_a| r_a + |w_b| r_b) |t - s|
 *
 * so few looks tell that they stay apart, or find them overlapping; the moment when they begin to
 * is sought by the gap itself, whatever both do. What touches then is followed from there. RT safe.
 */
#include "rt/contact/world_private.h"

#define FAST    2e-4 /* what comes nearer by less in a piece is known by its end (m) */
#define SURELY  1.1  /* of speeds at the piece's ends: those between */
#define GRAZES  1e-5 /* so deep they may touch unseen (m) */
#define LATER   8    /* looks that wait, later than the one in question */
#define BETWEEN 12   /* looks at a couple, until it overlaps; until it is about to touch */
#define PARTS   4    /* looks at one that begins touching */

/* A look in between. */
typedef struct moment {
    double t, gap; /* s into the step, m */
} moment;

static bool look_at(gw_world *w, gw_collision_pair *p, double t, moment *m)
{
    gw_body_state a = gw_body_state_interpolate(w, p->a, t),
                  b = gw_body_state_interpolate(w, p->b, t);
    *m = (moment){t, 0};
    if (!gw_pair_redetect_at(w, p, &a, &b))
        return false;
    m->gap = p->gap;
    return true;
}

/* Looks until one finds them overlap, which is `hi`, and `lo` the last before it; false where none
 * does. Between two looks the gap falls by no more than at `speed`. */
static bool overlap(gw_world *w, gw_collision_pair *p, double speed, moment *lo, moment *hi)
{
    moment later[LATER];
    int count = 1;
    later[0] = *hi;
    for (int i = 0; count > 0 && i < BETWEEN;) {
        *hi = later[count - 1];
        double h = hi->t - lo->t;
        if (hi->gap < -GRAZES)
            return true;
        if (count == LATER || speed * h - lo->gap - hi->gap < 2 * GRAZES) {
            *lo = *hi;
            count--;
            continue;
        }
        double t = lo->t + 0.5 * (h + (lo->gap - hi->gap) / speed);
        i++;
        if (!look_at(w, p, t, &later[count++]))
            return false;
    }
    return false;
}

/* The last look is just before they touch, as nearly as so many can tell: by false position, the
 * side that stays counting half (Illinois). Returns when that is. */
static double about_to_touch(gw_world *w, gw_collision_pair *p, moment lo, moment hi)
{
    double f_lo = lo.gap - GW_TOI_TARGET_GAP, f_hi = hi.gap - GW_TOI_TARGET_GAP;
    moment m = hi;
    int side = 0;
    for (int i = 0; i < BETWEEN; i++) {
        double t = (lo.t * f_hi - hi.t * f_lo) / (f_hi - f_lo);
        if (!look_at(w, p, t, &m) || fabs(m.gap - GW_TOI_TARGET_GAP) < 0.9 * GW_TOI_TARGET_GAP)
            break;
        if (m.gap > GW_TOI_TARGET_GAP) {
            lo = m, f_lo = m.gap - GW_TOI_TARGET_GAP;
            f_hi *= side == 1 ? 0.5 : 1;
            side = 1;
        } else {
            hi = m, f_hi = m.gap - GW_TOI_TARGET_GAP;
            f_lo *= side == -1 ? 0.5 : 1;
            side = -1;
        }
    }
    if (m.gap <= 0)
        look_at(w, p, lo.t, &m);
    return m.t;
}

/* When they are apart, soon after they hit one another. */
static bool parted(gw_world *w, gw_collision_pair *p, double h, moment *lo)
{
    double from = lo->t;
    for (int i = 0; i < PARTS && lo->gap <= GW_TOI_TARGET_GAP; i++) {
        h *= 0.25;
        if (!look_at(w, p, from + h, lo))
            return false;
    }
    return lo->gap > GW_TOI_TARGET_GAP;
}

static bool rests(const gw_world *w, const gw_collision_pair *p)
{
    for (int i = p->first; i >= 0; i = w->touches[i].sibling)
        if (w->touches[i].continuous)
            return true;
    return false;
}

double gw_pair_motion_bound(const gw_world *w, const gw_collision_pair *p)
{
    double from = gw_pair_substep_start(w, p), h = gw_pair_substep_end(w, p) - from;
    double way = SURELY * h * gw_pair_approach_bound(p, &w->places[p->a], &w->places[p->b]);
    if (!(way > FAST) || rests(w, p))
        return 0;
    gw_body_state a = gw_body_state_interpolate(w, p->a, from),
                  b = gw_body_state_interpolate(w, p->b, from);
    return fmax(way, SURELY * h * gw_pair_approach_bound(p, &a, &b));
}

bool gw_pair_conservative_advancement(gw_world *w, gw_collision_pair *p, double way)
{
    moment lo = {gw_pair_substep_start(w, p), 0}, hi = {gw_pair_substep_end(w, p), p->gap};
    double h = hi.t - lo.t;
    if (!look_at(w, p, lo.t, &lo))
        return false;
    /* apart at both ends, features of its beginning may be gone before they touch */
    bool counts = hi.gap < 0 || lo.gap <= GW_TOI_TARGET_GAP;
    if (counts && gw_pair_follow_redetected(w, p, lo.t))
        return true;
    return parted(w, p, h, &lo) && overlap(w, p, way / h, &lo, &hi) &&
           gw_pair_follow_redetected(w, p, about_to_touch(w, p, lo, hi));
}
