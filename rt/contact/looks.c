/*
 * Looks at pieces within a step. Between two detections, and within a step of milliseconds, bodies
 * turn and pass beside one another: other features come to touch than those that were told, and a
 * face that is followed as a plane ends. So couples are looked at again as they have moved, and
 * before they collide. RT safe.
 *
 *   moved <= |d(c_a - c_b)| + angle_a r_a + angle_b r_b      of points of one piece against the
 * other
 *
 * with balls (c, r) about the pieces: while `moved` is less than the gap was, nothing touches; and
 * nothing but what was found while it is less than that `holds` for.
 */
#include "rt/contact/islands.h"

#define STALE      2e-5 /* moved by less, features that were found are as good (m) */
#define STALE_PART 1e-3 /* and of the smaller piece */
#define MARGIN     1e-3 /* found beyond what may be reached in a step (m) */
#define AHEAD      2.0  /* steps for which a look serves */
#define HELD       1e-4 /* deeper than what holds by less: that holds it as well (m) */
#define GHOST      1e-7 /* pieces so far apart do not touch, whatever a pair of points says (m) */

/* Looks that a step bears: a step of 1 ms some 50, of 125 us some 16; of costly ones fewer. */
static int affordable(double dt)
{
    double looks = GW_WORLD_LOOKS_LEAST + GW_WORLD_LOOKS * dt;
    return looks < GW_WORLD_LOOKS_MOST ? (int)looks : GW_WORLD_LOOKS_MOST;
}

/* ---- how far pieces moved ------------------------------------------------------------------- */

static gw_vec3 way(const gw_pose *from, const gw_pose *to, gw_vec3 centre)
{
    return gw_sub(gw_pose_point(to, centre), gw_pose_point(from, centre));
}

/* No more than pi / 2 times the angle's half chord. */
static double turned(const gw_pose *from, const gw_pose *to)
{
    double c = fabs(gw_quat_dot(from->q, to->q));
    return GW_PI * sqrt(fmax(0, 1 - c * c));
}

static double moved(const gw_world *w, const gw_couple *p)
{
    const gw_pose *a = &w->places[p->a].pose, *b = &w->places[p->b].pose;
    gw_vec3 apart = gw_sub(way(&p->at_a, a, p->centre_a), way(&p->at_b, b, p->centre_b));
    return gw_norm(apart) + turned(&p->at_a, a) * p->radius_a + turned(&p->at_b, b) * p->radius_b;
}

static gw_vec3 sliding(const gw_world *w, const gw_couple *p)
{
    const gw_place *a = &w->places[p->a], *b = &w->places[p->b];
    return gw_sub(gw_velocity_at(&a->pose, &a->twist, gw_pose_point(&a->pose, p->centre_a)),
                  gw_velocity_at(&b->pose, &b->twist, gw_pose_point(&b->pose, p->centre_b)));
}

/* What they may come nearer by in a step. */
static double coming(const gw_world *w, const gw_couple *p)
{
    double spin = gw_norm(w->places[p->a].twist.w) * p->radius_a +
                  gw_norm(w->places[p->b].twist.w) * p->radius_b;
    return (gw_norm(sliding(w, p)) + spin) * w->dt;
}

/* Whether they may touch, having come nearer by `more`, elsewhere than was found. */
static bool due(const gw_world *w, const gw_couple *p, double more)
{
    double by = p->looked ? moved(w, p) : INFINITY;
    double stale = STALE + STALE_PART * fmin(p->radius_a, p->radius_b);
    return p->watched && by > stale && fmax(p->gap, p->holds) - by - more < 0;
}

/* ---- a look --------------------------------------------------------------------------------- */

/* False where no more looks are to be had: one, however costly it is, always is. */
static bool look(gw_world *w, gw_couple *p)
{
    bool first = w->looks_left == affordable(w->dt);
    if (p->cost > w->looks_left && !first) {
        w->unseen++;
        return false;
    }
    w->looks_left = p->cost < w->looks_left ? w->looks_left - p->cost : 0;
    w->looking += p->cost;
    if (p->found < 0) {
        p->found = w->found_count;
        w->found_count += GW_TOUCHING;
    }
    p->looked = true;
    p->at_a = w->places[p->a].pose;
    p->at_b = w->places[p->b].pose;
    gw_again again = {.piece_a = p->piece_a,
                      .piece_b = p->piece_b,
                      .world_from_a = p->at_a,
                      .world_from_b = p->at_b,
                      .reach = AHEAD * coming(w, p) + MARGIN,
                      .slide = sliding(w, p)};
    p->found_count = w->looker.again(w->looker.context, &again, &w->found[p->found], &p->gap);
    bool asks = p->found_count == 1 && w->looker.holds;
    p->holds = asks ? w->looker.holds(w->looker.context, &again, &w->found[p->found]) : 0;
    return true;
}

/* Those of which nothing is followed come first. Of the others those that were left out last time;
 * whom no look is left for goes on by what the detector tells. */
void gw_looks_open(gw_world *w)
{
    unsigned count = (unsigned)w->couple_count, from = count > 0 ? w->look_from % count : 0;
    bool left_out = false;
    w->looks_left = affordable(w->dt);
    for (int pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < count; i++) {
            unsigned at = (from + i) % count;
            gw_couple *p = &w->couples[at];
            if ((p->first >= 0) != (pass == 1))
                continue;
            bool misses = due(w, p, coming(w, p)) && !look(w, p);
            p->left_out = misses ? p->left_out + w->dt : 0;
            if (misses && !left_out)
                w->look_from = at;
            left_out = left_out || misses;
        }
}

/* ---- as a trial ends ------------------------------------------------------------------------ */

/* How it was as the piece began, and is now. */
static void follow(gw_world *w, gw_touch *c)
{
    gw_touch_open(w, c);
    gw_touch_look(w, c);
}

/* Whether a contact holds there: an edge that takes turns with a face is no contact more, and what
 * holds is taken over as the step begins. */
static bool held_there(const gw_world *w, const gw_couple *p, const gw_near *near)
{
    gw_gap gap = gw_gap_at(near, &w->places[p->a].pose, &w->places[p->b].pose);
    for (int i = p->first; i >= 0; i = w->touches[i].sibling) {
        const gw_touch *c = &w->touches[i];
        if (c->continuous && gap.gap > c->now.gap - HELD &&
            gw_dot(gap.normal, c->now.normal) > 0.9 &&
            gw_distance(gap.at_a, c->now.at_a) < GW_WORLD_SAME)
            return true;
    }
    return false;
}

/* True where it is closed and was not known to be. */
static bool follow_found(gw_world *w, gw_couple *p, const gw_near *near)
{
    gw_touch *c = gw_couple_touch(w, p, near);
    if (c && c->continuous) {
        c->fresh = true;
        return false;
    }
    if (held_there(w, p, near))
        return false;
    bool closed = c && !c->aside && c->now.gap < -GW_WORLD_MET;
    if (c)
        c->near = *near;
    else if (!(c = w->touch_count < GW_MAX_NEAR ? gw_islands_add(w, p, near) : NULL))
        return false;
    c->fresh = true;
    c->aside = false;
    follow(w, c);
    return !closed && c->now.gap < -GW_WORLD_MET;
}

/* Features that are there now; those that are not are no contacts. */
static bool refresh(gw_world *w, gw_couple *p)
{
    bool met = false;
    for (int i = p->first; i >= 0; i = w->touches[i].sibling)
        w->touches[i].fresh = false;
    for (int k = 0; k < p->found_count; k++)
        met = follow_found(w, p, &w->found[p->found + k]) || met;
    for (int i = p->first; i >= 0; i = w->touches[i].sibling) {
        gw_touch *c = &w->touches[i];
        c->aside = c->aside || (!c->fresh && !c->continuous);
        c->fresh = false;
    }
    return met;
}

static bool sets_off(const gw_world *w, const gw_couple *p)
{
    for (int i = p->first; i >= 0; i = w->touches[i].sibling)
        if (gw_sets_off(w, &w->touches[i]))
            return true;
    return false;
}

bool gw_looks_close(gw_world *w)
{
    bool met = false;
    for (int i = 0; i < w->island.couple_count; i++) {
        gw_couple *p = &w->couples[w->island.couples[i]];
        bool doubted = p->watched && sets_off(w, p) && moved(w, p) > fmax(GHOST, p->holds);
        if ((doubted || due(w, p, 0)) && look(w, p))
            met = refresh(w, p) || met;
    }
    return met;
}
