/*
 * Time of impact of contacts and pairs within a trial: from the start of a substep to its end.
 *
 * 1. Contacts that are followed. Their gap is a function of time; it is bracketed from the trial's
 *    ends and solved by Newton's method, each evaluation integrating the two systems anew. Earlier
 *    decisions use the cubic of each body through both ends of its substep.
 *
 * 2. Contacts that are not followed yet. Bodies rotate and pass each other faster than the detector
 *    runs: other features come to touch, and a face that is followed as a plane ends. Therefore
 *    pairs are queried again inside the step, with bounding spheres (c, r) about their geoms, once
 *
 *      |d(c_a - c_b)| + angle_a r_a + angle_b r_b >= gap of the last query
 *
 *    before which nothing touches.
 *
 * 3. Pairs that move far in a substep. Features may meet and part between its ends. Conservative
 *    advancement bounds the gap from below,
 *
 *      gap(t) >= gap(s) - (|v_a - v_b| + |w_a| r_a + |w_b| r_b) |t - s|
 *
 *    so a few queries show that the geoms stay apart, or find them overlapping; false position on
 *    the gap then leads to shortly before they touch, and the features found there are followed.
 *
 * RT safe.
 */
#include <assert.h>

#include "rt/base/small.h"
#include "rt/contact/world_private.h"

/* followed contacts */
#define GAP_TOLERANCE    1e-12 /* of a time of impact (m) */
#define MAX_TRIALS       32    /* of a substep that is shortened to its earliest impact */
#define MAX_NEWTON       48    /* integrations for one time of impact */
#define SHORTEST_BRACKET 1e-9  /* of a time of impact, as a part of the step */
#define NEWTON_GUESSES   3     /* Newton steps on the cubic before these */
#define MAX_CLOSING      2     /* trials in lockstep until a contact is closed */
#define MAX_MINIMUM      16    /* evaluations of a gap for where it is least */

/* queries inside a step */
#define STALE            2e-5 /* geoms that moved less have the same features (m) */
#define STALE_SHARP      1e-3 /* and, of corners and edges, this part of the smaller radius */
#define QUERY_MARGIN     1e-3 /* reach beyond what may be reached in a step (m) */
#define QUERY_STEPS      2.0  /* steps for which a query serves */
#define SAME_CONTACT_GAP 1e-4 /* no new contact where one is at most so much less deep (m) */
#define UNSEEN_DEPTH     0.05 /* of the smaller radius: overlap that a lack of queries may leave */
#define SPURIOUS_GAP     1e-7 /* geoms so far apart do not touch, whatever a candidate says (m) */

/* conservative advancement */
#define SHORT_MOTION  2e-4 /* pairs that approach by less are known by the substep's ends (m) */
#define SPEED_MARGIN  1.1  /* speeds within a substep over those at its ends */
#define GRAZING_DEPTH 1e-5 /* penetration that may be missed (m) */
#define MAX_PENDING   8    /* instants on the stack of the search */
#define MAX_QUERIES   12   /* of a pair, for an overlap, and for when it starts */
#define MAX_PARTING   4    /* of one that touches at the start of the substep */

/* ---- 1. time of impact of a followed contact --------------------------------------------------
 */

/* The gap is open at lo and closed at hi. */
typedef struct bracket {
    double lo, hi, gap_lo, gap_hi;
    bool interpolated; /* it is closed at hi by the cubics, which stiff joints do not follow */
} bracket;

/* A gap and its rate at a time. */
typedef struct instant {
    double t, gap, rate;
} instant;

/* Gap above impact_gap on the cubics of both bodies: within 1e-10 m of the integrated one. */
static double interpolated_gap(const gw_world *w, const gw_contact *c, double t, double *rate)
{
    gw_body_state a = gw_body_state_interpolate(w, c->candidate.a, t);
    gw_body_state b = gw_body_state_interpolate(w, c->candidate.b, t);
    return gw_gap_of_states(&c->candidate, &a, &b, rate).gap - c->impact_gap;
}

/* Lower bound of a convex gap between a and b: where the tangents at both intersect, *t. */
static double tangent_bound(const instant *a, const instant *b, double *t)
{
    double h = b->t - a->t;
    double at = (b->gap - a->gap - b->rate * h) / (a->rate - b->rate);
    at = at > 0.01 * h && at < 0.99 * h ? at : 0.5 * h;
    *t = a->t + at;
    return fmin(a->gap + a->rate * at, b->gap - b->rate * (h - at));
}

/* Open at both ends, approaching at first and separating at the end: it may have closed in between.
 * Searches its minimum until an instant is closed, or none can be. */
static bool bracket_minimum(const gw_world *w, const gw_contact *c, double t, bracket *b)
{
    instant lo = {c->start_time, c->start.gap - c->impact_gap, c->start_gap_rate}, at;
    instant hi = {t, c->now.gap - c->impact_gap, c->gap_rate};
    for (int i = 0; i < MAX_MINIMUM && tangent_bound(&lo, &hi, &at.t) < -GW_CONTACT_CLOSED_GAP;
         i++) {
        at.gap = interpolated_gap(w, c, at.t, &at.rate);
        *b = (bracket){c->start_time, at.t, c->start.gap - c->impact_gap, at.gap, true};
        if (at.gap < -GW_CONTACT_CLOSED_GAP)
            return true;
        if (at.rate < 0)
            lo = at;
        else
            hi = at;
    }
    return false;
}

/* Closed at both ends: it separated and came back, so it is open near its largest gap. */
static bool bracket_return(const gw_world *w, const gw_contact *c, double t, bracket *b)
{
    double r0 = c->start_gap_rate, r1 = c->gap_rate, rate;
    if (!(r0 > 0 && r1 < 0))
        return false;
    double lo = c->start_time + (t - c->start_time) * r0 / (r0 - r1);
    *b = (bracket){lo, t, interpolated_gap(w, c, lo, &rate), c->now.gap - c->impact_gap, false};
    return b->gap_lo > GW_CONTACT_CLOSED_GAP;
}

/* Whether the gap closes between start_time and t, where the bodies are now. */
static bool bracket_impact(const gw_world *w, const gw_contact *c, double t, bracket *b)
{
    double g0 = c->start.gap - c->impact_gap, g1 = c->now.gap - c->impact_gap;
    /* slow at both ends it may have been fast between them: what is driven by stiff motors */
    double mean = gw_contact_bounds_coordinate(c) ? fabs(g1 - g0) / w->dt : 0;
    double fast = gw_max(mean, gw_max(fabs(c->start_gap_rate), fabs(c->gap_rate)));
    if (c->constrained || c->immovable || c->spurious || c->slow_impact || c->deferred ||
        fast < w->rules.rest_speed)
        return false;
    if (g1 < -GW_CONTACT_CLOSED_GAP) {
        *b = (bracket){c->start_time, t, g0, g1, false};
        return g0 > GW_CONTACT_CLOSED_GAP || bracket_return(w, c, t, b);
    }
    return g0 > GW_CONTACT_CLOSED_GAP && c->start_gap_rate < 0 && c->gap_rate > 0 &&
           bracket_minimum(w, c, t, b);
}

static double secant_root(const bracket *b)
{
    return b->lo + (b->hi - b->lo) * b->gap_lo / (b->gap_lo - b->gap_hi);
}

double gw_toi_estimate(gw_world *w, gw_contact *c, double t)
{
    assert(w && c);
    bracket b;
    return bracket_impact(w, c, t, &b) ? secant_root(&b) : INFINITY;
}

/* True if the gap jumps from open to closed within the shortest bracket: with stiff motors on a
 * light body the integrator changes its formula with the length of the substep, and with it the end
 * pose.
 */
static bool gap_jumps(const gw_world *w, const bracket *b)
{
    return b->hi - b->lo <= SHORTEST_BRACKET * w->dt && b->gap_lo > GW_CONTACT_CLOSED_GAP &&
           b->gap_hi < -GW_CONTACT_CLOSED_GAP;
}

/* Whether a system of the contact stepped in lockstep in the last trial: its motion depends on
 * those of many others, so it is not integrated alone. */
static bool steps_in_lockstep(const gw_world *w, const gw_contact *c)
{
    return (c->system_a >= 0 && w->lockstep_of[c->system_a] >= 0) ||
           (c->system_b >= 0 && w->lockstep_of[c->system_b] >= 0);
}

/* Gap above impact_gap at t, by integration or, in lockstep, by the cubics. */
static double gap_in_trial(gw_world *w, const gw_contact *c, double t, double *rate)
{
    double gap;
    if (steps_in_lockstep(w, c))
        return interpolated_gap(w, c, t, rate);
    gw_substep_trial_of_pair(w, c, t, &gap, rate);
    return gap;
}

/* Time of impact within the bracket (s into the step), by Newton's method safeguarded by bisection;
 * if the gap jumps, the last time at which it is open. INFINITY if the contact closes too slowly to
 * collide, or only on the cubics. */
static double time_of_impact(gw_world *w, const gw_contact *c, bracket b)
{
    double gap = 0, rate = 0;
    if (b.interpolated) {
        b.gap_hi = gap_in_trial(w, c, b.hi, &rate);
        if (b.gap_hi > -GW_CONTACT_CLOSED_GAP)
            return INFINITY;
    }
    double t = secant_root(&b);
    for (int i = 0; i < NEWTON_GUESSES; i++) {
        gap = interpolated_gap(w, c, t, &rate);
        if (rate < 0)
            t = fmin(b.hi, fmax(b.lo, t - gap / rate));
    }
    for (int i = 0; i < MAX_NEWTON; i++) {
        gap = gap_in_trial(w, c, t, &rate);
        if (fabs(gap) <= GAP_TOLERANCE || b.hi - b.lo <= SHORTEST_BRACKET * w->dt)
            break;
        if (gap > 0)
            b.lo = t, b.gap_lo = gap;
        else
            b.hi = t, b.gap_hi = gap;
        t -= rate < 0 ? gap / rate : INFINITY;
        if (!(t > b.lo && t < b.hi))
            t = 0.5 * (b.lo + b.hi);
    }
    if (gap_jumps(w, &b) && b.lo > c->start_time)
        return b.lo;
    return rate < -w->rules.rest_speed ? t : INFINITY;
}

/* The active contact that closes first before t, by secants, which suffice for the order. When the
 * step's effort is spent, only contacts that would overshoot count. */
static gw_contact *first_impact(gw_world *w, double t, bracket *found)
{
    gw_contact *first = NULL;
    double least = INFINITY;
    bool spent = w->effort >= w->budget;
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        bracket b;
        if ((spent && !gw_contact_overshot(c)) || !bracket_impact(w, c, t, &b) ||
            secant_root(&b) >= least)
            continue;
        least = secant_root(&b);
        first = c;
        *found = b;
    }
    return first;
}

/* ---- 2. queries of the narrow phase inside a step ---------------------------------------------
 */

/* Displacement of a bounding sphere's centre. */
static gw_vec3 centre_displacement(const gw_pose *from, const gw_pose *to, gw_vec3 centre)
{
    if (gw_norm2(centre) == 0)
        return gw_sub(to->p, from->p);
    return gw_sub(gw_pose_point(to, centre), gw_pose_point(from, centre));
}

/* Bound of the displacement of points within `radius` by a rotation: pi / 2 times its half chord
 * (m).
 */
static double rotation_bound(const gw_pose *from, const gw_pose *to, double radius)
{
    double c = fabs(gw_quat_dot(from->q, to->q));
    return radius > 0 ? radius * GW_PI * sqrt(gw_max(1 - c * c, 0)) : 0;
}

/* Bound of the motion of the geoms against one another since the last query (m). */
static double motion_since_query(const gw_collision_pair *p, const gw_pose *a, const gw_pose *b)
{
    gw_vec3 d = gw_sub(centre_displacement(&p->detected_pose_a, a, p->centre_a),
                       centre_displacement(&p->detected_pose_b, b, p->centre_b));
    return gw_norm(d) + rotation_bound(&p->detected_pose_a, a, p->radius_a) +
           rotation_bound(&p->detected_pose_b, b, p->radius_b);
}

static double motion_since_query_now(const gw_world *w, const gw_collision_pair *p)
{
    return motion_since_query(p, &w->bodies[p->a].pose, &w->bodies[p->b].pose);
}

/* Velocity of the centre of a's bounding sphere relative to that of b's (m/s, world axes). */
static gw_vec3 relative_velocity(const gw_collision_pair *p, const gw_body_state *a,
                                 const gw_body_state *b)
{
    return gw_sub(gw_velocity_at(&a->pose, &a->twist, gw_pose_point(&a->pose, p->centre_a)),
                  gw_velocity_at(&b->pose, &b->twist, gw_pose_point(&b->pose, p->centre_b)));
}

/* Bound of the speed at which the geoms' gap may fall (m/s). */
static double approach_bound(const gw_collision_pair *p, const gw_body_state *a,
                             const gw_body_state *b)
{
    return gw_norm(relative_velocity(p, a, b)) + gw_norm(a->twist.w) * p->radius_a +
           gw_norm(b->twist.w) * p->radius_b;
}

/* True if the geoms may touch within `dt` (s) elsewhere than was detected. */
static bool query_is_due(const gw_world *w, const gw_collision_pair *p, double dt)
{
    if (!p->can_redetect)
        return false;
    double motion = p->has_detection ? motion_since_query_now(w, p) : INFINITY;
    double stale =
        STALE + (p->only_sharp_features ? STALE_SHARP * gw_min(p->radius_a, p->radius_b) : 0);
    if (!(motion > stale))
        return false;
    double approach = dt > 0 ? approach_bound(p, &w->bodies[p->a], &w->bodies[p->b]) * dt : 0;
    return gw_max(p->gap, p->breaking_distance) - motion - approach < 0;
}

/* Budget of queries in a step of dt: some 50 at 1 ms, some 16 at 125 us, fewer for costly geoms. */
static int redetection_budget(double dt)
{
    double cost = GW_WORLD_REDETECTIONS_MIN + GW_WORLD_REDETECTIONS_PER_SECOND * dt;
    return cost < GW_WORLD_REDETECTIONS_MAX ? (int)cost : GW_WORLD_REDETECTIONS_MAX;
}

/* True if all candidates are of corners and edges, which are fixed in their bodies, unlike the
 * balls of rounded features. */
static bool are_sharp(const gw_contact_candidate *candidates, int count)
{
    bool sharp = true;
    for (int i = 0; i < count; i++)
        sharp = sharp && candidates[i].radius_a + candidates[i].radius_b == 0 &&
                !candidates[i].bend.tilts;
    return sharp;
}

/* Budget of queries of surfaces in a step of dt. */
static double surface_budget(double dt)
{
    return fmax(GW_WORLD_SURFACE_EFFORT_MIN, GW_WORLD_SURFACE_EFFORT_PER_SECOND * dt);
}

/* Whether the budgets of the step suffice for a query of the pair. */
static bool may_query(const gw_world *w, const gw_collision_pair *p)
{
    bool first = w->redetections_left == redetection_budget(w->dt);
    return first || (p->query_cost <= w->redetections_left && p->effort <= w->surface_effort_left);
}

/* Queries the pair with its bodies in these states; false if the budget of queries is used up (the
 * first one is always made) or the pair cannot be queried. */
static bool query_pair(gw_world *w, gw_collision_pair *p, const gw_body_state *a,
                       const gw_body_state *b)
{
    if (!may_query(w, p)) {
        w->redetections_skipped++;
        return false;
    }
    w->redetections_left =
        p->query_cost < w->redetections_left ? w->redetections_left - p->query_cost : 0;
    w->redetection_cost += p->query_cost;
    if (p->detected < 0) {
        p->detected = w->detected_count;
        w->detected_count += GW_PAIR_CANDIDATES;
        assert(w->detected_count <= GW_WORLD_REDETECTIONS_MAX * GW_PAIR_CANDIDATES);
    }
    p->has_detection = true;
    p->detected_pose_a = a->pose;
    p->detected_pose_b = b->pose;
    gw_pair_query query = {.geom_a = p->geom_a,
                           .geom_b = p->geom_b,
                           .world_from_a = p->detected_pose_a,
                           .world_from_b = p->detected_pose_b,
                           .reach = QUERY_STEPS * approach_bound(p, a, b) * w->dt + QUERY_MARGIN,
                           .near = w->near,
                           .effort = &p->effort};
    const gw_narrow_phase *n = &w->narrow_phase;
    p->effort = 0;
    p->detected_count = n->query(n->context, &query, &w->detected[p->detected], &p->gap);
    w->surface_effort_left -= p->effort;
    w->redetection_cost += (int)p->effort;
    if (p->detected_count < 0) {
        p->can_redetect = p->has_detection = false;
        p->detected = -1;
        return false;
    }
    p->only_sharp_features = are_sharp(&w->detected[p->detected], p->detected_count);
    bool asks = p->detected_count == 1 && n->breaking_distance;
    p->breaking_distance =
        asks ? n->breaking_distance(n->context, &query, &w->detected[p->detected]) : 0;
    return true;
}

static bool query_pair_now(gw_world *w, gw_collision_pair *p)
{
    return query_pair(w, p, &w->bodies[p->a], &w->bodies[p->b]);
}

/* Pairs that were frozen come first, then those without contacts; of the others those that were
 * skipped in the last step. A pair for which no query is left keeps the candidates that the
 * detector gave. */
void gw_toi_redetect_before_step(gw_world *w)
{
    unsigned count = (unsigned)w->pair_count, from = count > 0 ? w->redetect_from % count : 0;
    bool any_skipped = false;
    w->redetections_left = redetection_budget(w->dt);
    w->surface_effort_left = surface_budget(w->dt);
    for (unsigned i = 0; i < count; i++) {
        w->pairs[i].waited = w->pairs[i].frozen;
        w->pairs[i].frozen = w->pairs[i].unsure = false;
    }
    for (int pass = 0; pass < 3; pass++)
        for (unsigned i = 0; i < count; i++) {
            unsigned at = (from + i) % count;
            gw_collision_pair *p = &w->pairs[at];
            if (pass != (p->waited ? 0 : p->first_contact < 0 ? 1 : 2))
                continue;
            bool skipped = query_is_due(w, p, w->dt) && !query_pair_now(w, p);
            p->time_skipped = skipped ? p->time_skipped + w->dt : 0;
            if (skipped && !any_skipped)
                w->redetect_from = at;
            any_skipped = any_skipped || skipped;
        }
}

/* ---- detected features that were not followed -------------------------------------------------
 */

/* Start and end of the substeps of both bodies (s into the step). */
static double pair_start(const gw_world *w, const gw_collision_pair *p)
{
    double a = p->system_a >= 0 ? w->substep_start[p->system_a] : 0;
    double b = p->system_b >= 0 ? w->substep_start[p->system_b] : 0;
    return fmax(a, b);
}

static double pair_end(const gw_world *w, const gw_collision_pair *p)
{
    double a = p->system_a >= 0 ? w->substep_end[p->system_a] : w->dt;
    double b = p->system_b >= 0 ? w->substep_end[p->system_b] : w->dt;
    return fmin(a, b);
}

/* True if a continuous contact already acts at the candidate: an edge that alternates with a face
 * is not another contact; it continues the state at the start of the next step. */
static bool is_continuous_there(const gw_world *w, const gw_collision_pair *p,
                                const gw_contact_candidate *candidate)
{
    gw_gap gap = gw_gap_at(candidate, &w->bodies[p->a].pose, &w->bodies[p->b].pose);
    for (int i = p->first_contact; i >= 0; i = w->contacts[i].next_in_pair) {
        const gw_contact *c = &w->contacts[i];
        if (c->continuous && gap.gap > c->now.gap - SAME_CONTACT_GAP &&
            gw_dot(gap.normal, c->now.normal) > 0.9 &&
            gw_distance(gap.at_a, c->now.at_a) < GW_CONTACT_MATCH_DISTANCE)
            return true;
    }
    return false;
}

/* Follows a detected candidate from `from` (s into the step), or from the start of the substep if
 * that is later; true if it collides. `within`: it was detected at `from`, within the substep, and
 * collides at once if it is within GW_TOI_TARGET_GAP there. */
static bool follow_candidate(gw_world *w, gw_collision_pair *p,
                             const gw_contact_candidate *candidate, bool within, double from)
{
    gw_contact *c = gw_pair_find_contact(w, p, candidate);
    if (c && c->continuous) {
        c->fresh = true;
        return false;
    }
    if (is_continuous_there(w, p, candidate))
        return false;
    bool known = c && !within && !c->spurious && c->now.gap < -GW_CONTACT_CLOSED_GAP;
    if (c)
        c->candidate = *candidate;
    else if (w->contact_count >= GW_MAX_CONTACT_CANDIDATES ||
             !(c = gw_island_add_contact(w, p, candidate)))
        return false;
    c->fresh = true;
    c->spurious = false;
    gw_contact_set_start(w, c, from);
    gw_contact_update_gap(w, c);
    if (within && c->start.gap <= GW_TOI_TARGET_GAP)
        c->impact_gap = c->start.gap - GW_TOI_TARGET_GAP;
    return !known && isfinite(gw_toi_estimate(w, c, pair_end(w, p)));
}

/* The same for all candidates of the last query. */
static bool follow_candidates(gw_world *w, gw_collision_pair *p, bool within, double from)
{
    bool collides = false;
    for (int k = 0; k < p->detected_count; k++)
        collides = follow_candidate(w, p, &w->detected[p->detected + k], within, from) || collides;
    return collides;
}

/* After a query at the end of the substep: its candidates are followed; contacts of the pair that
 * are no longer detected are spurious, except for continuous ones. True where one collides. */
static bool refresh_contacts(gw_world *w, gw_collision_pair *p)
{
    for (int i = p->first_contact; i >= 0; i = w->contacts[i].next_in_pair)
        w->contacts[i].fresh = false;
    bool collides = follow_candidates(w, p, false, 0);
    for (int i = p->first_contact; i >= 0; i = w->contacts[i].next_in_pair) {
        gw_contact *c = &w->contacts[i];
        c->spurious = c->spurious || (!c->fresh && !c->continuous);
        c->fresh = false;
    }
    return collides;
}

/* ---- limits of coordinates that were too far to be followed -----------------------------------
 */

/* Sets the states of a body of system m that is in no pair: at the start of its substep, and
 * now. */
static void take_body_states(gw_world *w, int m, int body)
{
    gw_body_state *state = &w->bodies[body];
    if (state->model != m)
        return;
    gw_model_body(gw_world_scratch_model(w, 0, m), state->index, &state->start_pose,
                  &state->start_twist);
    gw_model_body(gw_world_model(w, m), state->index, &state->pose, &state->twist);
}

/* Follows a limit of system m from the start of the substep; true if it is violated within it. */
static bool follow_limit(gw_world *w, int m, int limit)
{
    const gw_contact_candidate *candidate = &w->unilaterals[limit];
    if (w->contact_count >= GW_MAX_CONTACT_CANDIDATES)
        return false;
    gw_collision_pair *p = gw_island_add_pair(w, m, candidate);
    gw_contact *c = gw_island_add_contact(w, p, candidate);
    if (!c)
        return false;
    w->followed[limit] = true;
    take_body_states(w, m, candidate->a);
    take_body_states(w, m, candidate->b);
    gw_contact_set_start(w, c, 0);
    gw_contact_update_turned_gap(w, c);
    return isfinite(gw_toi_estimate(w, c, pair_end(w, p)));
}

bool gw_toi_follow_passed_limits(gw_world *w)
{
    assert(w);
    bool any = false;
    for (int i = 0; i < w->active.system_count; i++) {
        int m = w->active.systems[i];
        const gw_model *model = gw_world_model(w, m);
        for (int k = w->first_limit[m]; k >= 0; k = w->next_limit[k]) {
            const gw_unilateral_row *row = w->unilaterals[k].row;
            if (!w->followed[k] &&
                row->sign *
                        (model->ops->coordinate(model, row->joint, row->coordinate) - row->value) <
                    0)
                any = follow_limit(w, m, k) || any;
        }
    }
    return any;
}

/* ---- 3. conservative advancement --------------------------------------------------------------
 */

/* A query within the substep: when (s into the step), and the geoms' gap there (m). */
typedef struct query_at {
    double t, gap;
} query_at;

static bool query_pair_at(gw_world *w, gw_collision_pair *p, double t, query_at *q)
{
    gw_body_state a = gw_body_state_interpolate(w, p->a, t);
    gw_body_state b = gw_body_state_interpolate(w, p->b, t);
    *q = (query_at){t, 0};
    if (!query_pair(w, p, &a, &b))
        return false;
    q->gap = p->gap;
    return true;
}

/* Queries until one finds an overlap (`hi`), `lo` being the last query before it; false if none
 * does. Between two queries the gap decreases no faster than `speed` (m/s). */
static bool find_overlap(gw_world *w, gw_collision_pair *p, double speed, query_at *lo,
                         query_at *hi)
{
    query_at pending[MAX_PENDING];
    int count = 1;
    pending[0] = *hi;
    for (int i = 0; count > 0 && i < MAX_QUERIES;) {
        *hi = pending[count - 1];
        double h = hi->t - lo->t;
        if (hi->gap < -GRAZING_DEPTH)
            return true;
        if (count == MAX_PENDING || speed * h - lo->gap - hi->gap < 2 * GRAZING_DEPTH) {
            *lo = *hi;
            count--;
            continue;
        }
        double t = lo->t + 0.5 * (h + (lo->gap - hi->gap) / speed);
        i++;
        if (!query_pair_at(w, p, t, &pending[count++]))
            return false;
    }
    return false;
}

/* Time shortly before the geoms touch, at which the last query is made: false position on the gap
 * with the Illinois modification. */
static double advance_to_touch(gw_world *w, gw_collision_pair *p, query_at lo, query_at hi)
{
    double f_lo = lo.gap - GW_TOI_TARGET_GAP, f_hi = hi.gap - GW_TOI_TARGET_GAP;
    query_at q = hi;
    int side = 0;
    for (int i = 0; i < MAX_QUERIES; i++) {
        double t = (lo.t * f_hi - hi.t * f_lo) / (f_hi - f_lo);
        if (!query_pair_at(w, p, t, &q) ||
            fabs(q.gap - GW_TOI_TARGET_GAP) < 0.9 * GW_TOI_TARGET_GAP)
            break;
        if (q.gap > GW_TOI_TARGET_GAP) {
            lo = q, f_lo = q.gap - GW_TOI_TARGET_GAP;
            f_hi *= side == 1 ? 0.5 : 1;
            side = 1;
        } else {
            hi = q, f_hi = q.gap - GW_TOI_TARGET_GAP;
            f_lo *= side == -1 ? 0.5 : 1;
            side = -1;
        }
    }
    if (q.gap <= 0)
        query_pair_at(w, p, lo.t, &q);
    return q.t;
}

/* Moves `lo` to a time at which the geoms are apart, after a contact at the start of the
 * substep. */
static bool skip_initial_touch(gw_world *w, gw_collision_pair *p, double h, query_at *lo)
{
    double from = lo->t;
    for (int i = 0; i < MAX_PARTING && lo->gap <= GW_TOI_TARGET_GAP; i++) {
        h *= 0.25;
        if (!query_pair_at(w, p, from + h, lo))
            return false;
    }
    return lo->gap > GW_TOI_TARGET_GAP;
}

static bool has_continuous_contact(const gw_world *w, const gw_collision_pair *p)
{
    for (int i = p->first_contact; i >= 0; i = w->contacts[i].next_in_pair)
        if (w->contacts[i].continuous)
            return true;
    return false;
}

/* Bound of the geoms' approach within the substep (m); 0: the query at its end suffices. */
static double approach_in_substep(const gw_world *w, const gw_collision_pair *p)
{
    double from = pair_start(w, p), h = pair_end(w, p) - from;
    double approach = SPEED_MARGIN * h * approach_bound(p, &w->bodies[p->a], &w->bodies[p->b]);
    if (!(approach > SHORT_MOTION) || has_continuous_contact(w, p))
        return 0;
    gw_body_state a = gw_body_state_interpolate(w, p->a, from);
    gw_body_state b = gw_body_state_interpolate(w, p->b, from);
    return fmax(approach, SPEED_MARGIN * h * approach_bound(p, &a, &b));
}

/* For a pair without collision at the end of the substep whose geoms, with this approach, may have
 * touched and separated, or touched elsewhere. True if they did: the contacts found are
 * followed. */
static bool conservative_advancement(gw_world *w, gw_collision_pair *p, double approach)
{
    query_at lo = {pair_start(w, p), 0}, hi = {pair_end(w, p), p->gap};
    double h = hi.t - lo.t;
    if (!query_pair_at(w, p, lo.t, &lo))
        return false;
    /* apart at both ends, features of the start may be gone before they touch */
    bool counts = hi.gap < 0 || lo.gap <= GW_TOI_TARGET_GAP;
    if (counts && follow_candidates(w, p, true, lo.t))
        return true;
    return skip_initial_touch(w, p, h, &lo) && find_overlap(w, p, approach / h, &lo, &hi) &&
           follow_candidates(w, p, true, advance_to_touch(w, p, lo, hi));
}

/* ---- end of a trial ---------------------------------------------------------------------------
 */

static bool any_contact_collides(const gw_world *w, const gw_collision_pair *p)
{
    for (int i = p->first_contact; i >= 0; i = w->contacts[i].next_in_pair)
        if (gw_contact_collides(w, &w->contacts[i]))
            return true;
    return false;
}

/* Lower bound of the geoms' gap at the start of the substep (m). */
static double gap_at_start(const gw_world *w, const gw_collision_pair *p)
{
    double t = pair_start(w, p);
    gw_body_state a = gw_body_state_interpolate(w, p->a, t);
    gw_body_state b = gw_body_state_interpolate(w, p->b, t);
    return p->has_detection ? p->gap - motion_since_query(p, &a.pose, &b.pose) : 0;
}

/* By how much geoms may overlap elsewhere than followed until the next step (m). */
static double unseen_depth(const gw_collision_pair *p)
{
    return fmax(GW_WORLD_DEFERRED_DEPTH, UNSEEN_DEPTH * fmin(p->radius_a, p->radius_b));
}

/* Whether geoms for which no query is left may overlap more. */
static bool may_overlap_unseen(const gw_world *w, const gw_collision_pair *p)
{
    if (!p->can_redetect || p->effort == 0)
        return false;
    double gap = fmax(p->gap, p->breaking_distance);
    return !p->has_detection || gap - motion_since_query_now(w, p) < -unseen_depth(p);
}

bool gw_toi_redetect_after_trial(gw_world *w)
{
    bool any = gw_toi_follow_passed_limits(w);
    /* pairs that waited for a query come first */
    for (int i = 0; i < 2 * w->active.pair_count; i++) {
        gw_collision_pair *p = &w->pairs[w->active.pairs[i % w->active.pair_count]];
        if (p->waited != (i < w->active.pair_count))
            continue;
        /* a contact that is about to collide is confirmed: faces end */
        bool unconfirmed = p->can_redetect && any_contact_collides(w, p) &&
                           motion_since_query_now(w, p) > fmax(SPURIOUS_GAP, p->breaking_distance);
        bool due = query_is_due(w, p, 0);
        if (!unconfirmed && !due)
            continue;
        double approach = due ? approach_in_substep(w, p) : 0;
        double gap_before = approach > 0 ? gap_at_start(w, p) : 0;
        if (!query_pair_now(w, p)) {
            p->unsure = may_overlap_unseen(w, p);
            continue;
        }
        bool collides = refresh_contacts(w, p);
        double gaps = fmax(p->breaking_distance, fmax(0, gap_before) + p->gap);
        int skipped = w->redetections_skipped;
        if (!collides && gaps < approach)
            collides = conservative_advancement(w, p, approach);
        p->unsure = !collides && p->effort > 0 && w->redetections_skipped > skipped &&
                    gaps < approach - 2 * unseen_depth(p);
        any = any || collides;
    }
    return any;
}

/* A trial of the active part to the time of impact t of contact c, and by Newton's method somewhat
 * later if the contact is still open there, because t was found on the cubics. Returns its end. */
static double try_to_impact(gw_world *w, const gw_contact *c, double t)
{
    gw_substep_trial(w, t);
    for (int i = 0; i < MAX_CLOSING && steps_in_lockstep(w, c); i++) {
        double gap = c->now.gap - c->impact_gap;
        if (gap <= GW_CONTACT_CLOSED_GAP || !(c->gap_rate < -w->rules.rest_speed))
            break;
        t = fmin(w->dt, t - gap / c->gap_rate);
        gw_substep_trial(w, t);
    }
    return t;
}

double gw_toi_rewind(gw_world *w, gw_contact *c, double t)
{
    bracket b;
    bool rewound = false;
    if (!bracket_impact(w, c, t, &b))
        return INFINITY;
    for (int i = 0; c && i < MAX_TRIALS; i++) {
        double at = fmax(time_of_impact(w, c, b), gw_substep_latest_start(w));
        if (at < t) {
            rewound = c->reimpact = true;
            t = try_to_impact(w, c, at);
        } else {
            c->slow_impact = true;
            if (!rewound)
                return INFINITY;
        }
        /* an earlier impact on the way, also of features that were not followed */
        c = first_impact(w, t, &b);
        if (!c && gw_toi_redetect_after_trial(w))
            c = first_impact(w, t, &b);
    }
    return t;
}
