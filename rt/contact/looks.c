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
#include "rt/contact/world_private.h"

#define STALE      2e-5 /* moved by less, features that were found are as good (m) */
#define STALE_PART 1e-3 /* and, of corners and edges, of the smaller piece */
#define MARGIN     1e-3 /* found beyond what may be reached in a step (m) */
#define AHEAD      2.0  /* steps for which a look serves */
#define HELD       1e-4 /* deeper than what holds by less: that holds it as well (m) */
#define GHOST      1e-7 /* pieces so far apart do not touch, whatever a pair of points says (m) */

/* Looks that a step bears: a step of 1 ms some 50, of 125 us some 16; of costly ones fewer. */
static int affordable(double dt)
{
    double looks = GW_WORLD_REDETECTIONS_MIN + GW_WORLD_REDETECTIONS_PER_SECOND * dt;
    return looks < GW_WORLD_REDETECTIONS_MAX ? (int)looks : GW_WORLD_REDETECTIONS_MAX;
}

/* ---- how far pieces moved ------------------------------------------------------------------- */

static gw_vec3 way(const gw_pose *from, const gw_pose *to, gw_vec3 centre)
{
    if (gw_norm2(centre) == 0)
        return gw_sub(to->p, from->p);
    return gw_sub(gw_pose_point(to, centre), gw_pose_point(from, centre));
}

/* Of what is so far from the axis (m): no more than pi / 2 times the angle's half chord. */
static double turned(const gw_pose *from, const gw_pose *to, double radius)
{
    double c = fabs(gw_quat_dot(from->q, to->q));
    return radius > 0 ? radius * GW_PI * sqrt(fmax(0, 1 - c * c)) : 0;
}

/* Since its last look, its bodies there. */
static double moved(const gw_collision_pair *p, const gw_pose *a, const gw_pose *b)
{
    gw_vec3 apart = gw_sub(way(&p->at_a, a, p->centre_a), way(&p->at_b, b, p->centre_b));
    return gw_norm(apart) + turned(&p->at_a, a, p->radius_a) + turned(&p->at_b, b, p->radius_b);
}

static double gone(const gw_world *w, const gw_collision_pair *p)
{
    return moved(p, &w->places[p->a].pose, &w->places[p->b].pose);
}

/* Velocity of a against b, its bodies there (m/s). */
static gw_vec3 sliding(const gw_collision_pair *p, const gw_body_state *a, const gw_body_state *b)
{
    return gw_sub(gw_velocity_at(&a->pose, &a->twist, gw_pose_point(&a->pose, p->centre_a)),
                  gw_velocity_at(&b->pose, &b->twist, gw_pose_point(&b->pose, p->centre_b)));
}

double gw_pair_approach_bound(const gw_collision_pair *p, const gw_body_state *a,
                              const gw_body_state *b)
{
    return gw_norm(sliding(p, a, b)) + gw_norm(a->twist.w) * p->radius_a +
           gw_norm(b->twist.w) * p->radius_b;
}

/* What they may come nearer by in a step. */
static double coming(const gw_world *w, const gw_collision_pair *p)
{
    return gw_pair_approach_bound(p, &w->places[p->a], &w->places[p->b]) * w->dt;
}

/* Whether they may touch, having come nearer by `more`, elsewhere than was found. */
static bool due(const gw_world *w, const gw_collision_pair *p, double more)
{
    double by = p->looked ? gone(w, p) : INFINITY;
    double stale = STALE + (p->sharp ? STALE_PART * fmin(p->radius_a, p->radius_b) : 0);
    return p->watched && by > stale && fmax(p->gap, p->holds) - by - more < 0;
}

/* ---- a look --------------------------------------------------------------------------------- */

/* Whether only corners and edges were found: they stay where they are in their bodies. */
static bool are_sharp(const gw_contact_candidate *near, int count)
{
    bool sharp = true;
    for (int i = 0; i < count; i++)
        sharp = sharp && near[i].radius_a + near[i].radius_b == 0;
    return sharp;
}

/* One, however costly it is, always is to be had. */
bool gw_pair_redetect_at(gw_world *w, gw_collision_pair *p, const gw_body_state *a,
                         const gw_body_state *b)
{
    bool first = w->looks_left == affordable(w->dt);
    if (p->cost > w->looks_left && !first) {
        w->redetections_skipped++;
        return false;
    }
    w->looks_left = p->cost < w->looks_left ? w->looks_left - p->cost : 0;
    w->looking += p->cost;
    if (p->found < 0) {
        p->found = w->found_count;
        w->found_count += GW_PAIR_CANDIDATES;
    }
    p->looked = true;
    p->at_a = a->pose;
    p->at_b = b->pose;
    gw_pair_query again = {.geom_a = p->geom_a,
                           .geom_b = p->geom_b,
                           .world_from_a = p->at_a,
                           .world_from_b = p->at_b,
                           .reach = AHEAD * gw_pair_approach_bound(p, a, b) * w->dt + MARGIN,
                           .slide = sliding(p, a, b)};
    p->found_count = w->looker.again(w->looker.context, &again, &w->found[p->found], &p->gap);
    if (p->found_count < 0) {
        p->watched = p->looked = false;
        p->found = -1;
        return false;
    }
    p->sharp = are_sharp(&w->found[p->found], p->found_count);
    bool asks = p->found_count == 1 && w->looker.holds;
    p->holds = asks ? w->looker.holds(w->looker.context, &again, &w->found[p->found]) : 0;
    return true;
}

static bool look(gw_world *w, gw_collision_pair *p)
{
    return gw_pair_redetect_at(w, p, &w->places[p->a], &w->places[p->b]);
}

/* Those of which nothing is followed come first. Of the others those that were left out last time;
 * whom no look is left for goes on by what the detector tells. */
void gw_toi_redetect_before_step(gw_world *w)
{
    unsigned count = (unsigned)w->couple_count, from = count > 0 ? w->look_from % count : 0;
    bool left_out = false;
    w->looks_left = affordable(w->dt);
    for (int pass = 0; pass < 2; pass++)
        for (unsigned i = 0; i < count; i++) {
            unsigned at = (from + i) % count;
            gw_collision_pair *p = &w->couples[at];
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

double gw_pair_substep_start(const gw_world *w, const gw_collision_pair *p)
{
    double a = p->mover_a >= 0 ? w->since[p->mover_a] : 0;
    double b = p->mover_b >= 0 ? w->since[p->mover_b] : 0;
    return fmax(a, b);
}

double gw_pair_substep_end(const gw_world *w, const gw_collision_pair *p)
{
    double a = p->mover_a >= 0 ? w->until[p->mover_a] : w->dt;
    double b = p->mover_b >= 0 ? w->until[p->mover_b] : w->dt;
    return fmin(a, b);
}

/* How it was then, or as the piece began, and is now. */
static void follow(gw_world *w, gw_contact *c, double from)
{
    gw_contact_set_start(w, c, from);
    gw_contact_update_gap(w, c);
}

/* Whether a contact holds there: an edge that takes turns with a face is no contact more, and what
 * holds is taken over as the step begins. */
static bool held_there(const gw_world *w, const gw_collision_pair *p,
                       const gw_contact_candidate *near)
{
    gw_gap gap = gw_gap_at(near, &w->places[p->a].pose, &w->places[p->b].pose);
    for (int i = p->first; i >= 0; i = w->touches[i].sibling) {
        const gw_contact *c = &w->touches[i];
        if (c->continuous && gap.gap > c->now.gap - HELD &&
            gw_dot(gap.normal, c->now.normal) > 0.9 &&
            gw_distance(gap.at_a, c->now.at_a) < GW_CONTACT_MATCH_DISTANCE)
            return true;
    }
    return false;
}

/* True where it will meet. What was there then may be as near as it is touching: it meets at once.
 */
static bool follow_found(gw_world *w, gw_collision_pair *p, const gw_contact_candidate *near,
                         bool there, double from)
{
    gw_contact *c = gw_pair_find_contact(w, p, near);
    if (c && c->continuous) {
        c->fresh = true;
        return false;
    }
    if (held_there(w, p, near))
        return false;
    bool known = c && !there && !c->aside && c->now.gap < -GW_CONTACT_CLOSED_GAP;
    if (c)
        c->near = *near;
    else if (!(c = w->touch_count < GW_MAX_CONTACT_CANDIDATES ? gw_island_add_contact(w, p, near)
                                                              : NULL))
        return false;
    c->fresh = true;
    c->aside = false;
    follow(w, c, from);
    if (there && c->start.gap <= GW_TOI_TARGET_GAP)
        c->level = c->start.gap - GW_TOI_TARGET_GAP;
    return !known && isfinite(gw_toi_estimate(w, c, gw_pair_substep_end(w, p)));
}

static bool follow_all(gw_world *w, gw_collision_pair *p, bool there, double from)
{
    bool met = false;
    for (int k = 0; k < p->found_count; k++)
        met = follow_found(w, p, &w->found[p->found + k], there, from) || met;
    return met;
}

bool gw_pair_follow_redetected(gw_world *w, gw_collision_pair *p, double from)
{
    return follow_all(w, p, true, from);
}

/* Features that are there now; those that are not are no contacts. */
static bool refresh(gw_world *w, gw_collision_pair *p)
{
    for (int i = p->first; i >= 0; i = w->touches[i].sibling)
        w->touches[i].fresh = false;
    bool met = follow_all(w, p, false, 0);
    for (int i = p->first; i >= 0; i = w->touches[i].sibling) {
        gw_contact *c = &w->touches[i];
        c->aside = c->aside || (!c->fresh && !c->continuous);
        c->fresh = false;
    }
    return met;
}

static bool sets_off(const gw_world *w, const gw_collision_pair *p)
{
    for (int i = p->first; i >= 0; i = w->touches[i].sibling)
        if (gw_contact_collides(w, &w->touches[i]))
            return true;
    return false;
}

/* ---- as a trial ends, all of it ------------------------------------------------------------- */

/* How far apart they were as the piece began, at least. */
static double gap_before(const gw_world *w, const gw_collision_pair *p)
{
    double t = gw_pair_substep_start(w, p);
    gw_body_state a = gw_body_state_interpolate(w, p->a, t),
                  b = gw_body_state_interpolate(w, p->b, t);
    return p->looked ? p->gap - moved(p, &a.pose, &b.pose) : 0;
}

bool gw_toi_redetect_after_trial(gw_world *w)
{
    bool met = false;
    for (int i = 0; i < w->island.couple_count; i++) {
        gw_collision_pair *p = &w->couples[w->island.couples[i]];
        bool doubted = p->watched && sets_off(w, p) && gone(w, p) > fmax(GHOST, p->holds);
        bool is_due = due(w, p, 0);
        if (!doubted && !is_due)
            continue;
        double way = is_due ? gw_pair_motion_bound(w, p) : 0;
        double before = way > 0 ? gap_before(w, p) : 0;
        if (!look(w, p))
            continue;
        bool meets = refresh(w, p);
        if (!meets && fmax(p->holds, fmax(0, before) + p->gap) < way)
            meets = gw_pair_conservative_advancement(w, p, way);
        met = met || meets;
    }
    return met;
}
