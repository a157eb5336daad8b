/*
 * A piece of a step: from one cut to the next. Models are stepped on trial; where a gap closes on
 * the way they are put back and stepped to the moment when it does. RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/contact/world_private.h"

#define EXACT    1e-12 /* gap at which a pair is said to meet (m) */
#define TRIALS   32    /* of a piece */
#define MEETINGS 48    /* evaluations of one gap until it meets */
#define GUESSES  3     /* of when it meets */
#define SEARCHES 16    /* evaluations of one gap for where it is least */

/* ---- trials --------------------------------------------------------------------------------- */

static gw_wrench hand_at(const void *asking, double t, const gw_pose *held, const gw_twist *twist)
{
    const gw_contact_force_query *ask = asking;
    const gw_forces *hand = &ask->world->movers[ask->mover].hand;
    return hand->at(hand->context, ask->world->since[ask->mover] + t, held, twist);
}

static void step_model(gw_world *w, int m, gw_model *model, double h, gw_step *step)
{
    gw_contact_force_query ask = {.world = w, .mover = m};
    if (w->crowd[m] > 0)
        gw_contact_gather_forces(w, m, &ask);
    gw_forces forces = {.at = w->movers[m].hand.at ? hand_at : NULL,
                        .context = &ask,
                        .touch = w->crowd[m] > 0 ? gw_contact_stage_forces : NULL,
                        .touching = &ask};
    gw_model_step(model, &forces, h, step);
}

/* A model from where its piece began to t seconds into the step. */
static void step_from(gw_world *w, int m, gw_model *model, double t, gw_step *step)
{
    double h = t - w->since[m];
    bool own = model == gw_world_model(w, m);
    if (!own || w->tried[m])
        memcpy((void *)model, w->saved + (size_t)m * w->stride, gw_world_model(w, m)->ops->size);
    w->tried[m] = w->tried[m] || own;
    *step = (gw_step){.finite = true, .margin = 1};
    if (!(h > 0) || w->stands[w->group[m]])
        return;
    step_model(w, m, model, h, step);
    w->effort += 1 + gw_model_dof(model) / 8;
}

void gw_substep_without_contacts(gw_world *w)
{
    gw_world_system *mover = &w->movers[w->whole.movers[0]];
    gw_forces hand = {.at = mover->hand.at, .context = mover->hand.context};
    gw_model_step(mover->model, &hand, w->dt, &mover->step);
}

void gw_substep_trial(gw_world *w, double t)
{
    for (int i = 0; i < w->island.mover_count; i++) {
        int m = w->island.movers[i];
        step_from(w, m, gw_world_model(w, m), t, &w->trial[m]);
        w->until[m] = t;
    }
    gw_world_update_gaps(w, t);
}

/* A body of a pair in a trial of its own. */
static gw_body_state try_body(const gw_world *w, int body, gw_model *model, double t)
{
    gw_body_state place = w->places[body];
    if (model) {
        gw_model_body(model, place.index, &place.pose, &place.twist);
        return place;
    }
    place.pose = place.start;
    if (place.model < 0)
        place.pose = gw_body_state_extrapolate(&w->places[body], t, &place.twist);
    return place;
}

void gw_substep_trial_of_pair(gw_world *w, const gw_contact *c, double t, double *gap, double *rate)
{
    gw_model *model[2] = {NULL, NULL};
    int mover[2] = {c->mover_a, c->mover_b};
    for (int k = 0; k < 2; k++) {
        gw_step step;
        if (mover[k] < 0)
            continue;
        model[k] = (gw_model *)(void *)w->scratch[k];
        if (k == 1 && mover[1] == mover[0]) {
            model[1] = model[0];
            break;
        }
        step_from(w, mover[k], model[k], t, &step);
    }
    gw_body_state a = try_body(w, c->near.a, model[0], t);
    gw_body_state b = try_body(w, c->near.b, model[1], t);
    *gap = gw_gap_of_states(&c->near, &a, &b, rate).gap - c->level;
}

/* ---- when a gap closes ---------------------------------------------------------------------- */

/* Open at lo, closed at hi. */
typedef struct bracket {
    double lo, hi, gap_lo, gap_hi;
} bracket;

/* A gap and its rate at a time. */
typedef struct instant {
    double t, gap, rate;
} instant;

/* With the bodies where the trial's beginning and end say: as good as 1e-10 m. */
static double gap_between(const gw_world *w, const gw_contact *c, double t, double *rate)
{
    gw_body_state a = gw_body_state_interpolate(w, c->near.a, t),
                  b = gw_body_state_interpolate(w, c->near.b, t);
    return gw_gap_of_states(&c->near, &a, &b, rate).gap - c->level;
}

/* Where two tangents meet: below it no convex gap falls. */
static double deepest(const instant *a, const instant *b, double *t)
{
    double h = b->t - a->t;
    double at = (b->gap - a->gap - b->rate * h) / (a->rate - b->rate);
    at = at > 0.01 * h && at < 0.99 * h ? at : 0.5 * h;
    *t = a->t + at;
    return fmin(a->gap + a->rate * at, b->gap - b->rate * (h - at));
}

/* Approaching at first and separating at the end: it may have met in between, or passed through.
 * Looks for the smallest gap until one is found that is closed, or none can be. */
static bool met_between(const gw_world *w, const gw_contact *c, double t, bracket *b)
{
    instant lo = {c->from, c->start.gap - c->level, c->start_rate}, at;
    instant hi = {t, c->now.gap - c->level, c->rate};
    for (int i = 0; i < SEARCHES && deepest(&lo, &hi, &at.t) < -GW_CONTACT_CLOSED_GAP; i++) {
        at.gap = gap_between(w, c, at.t, &at.rate);
        *b = (bracket){c->from, at.t, c->start.gap - c->level, at.gap};
        if (at.gap < -GW_CONTACT_CLOSED_GAP)
            return true;
        if (at.rate < 0)
            lo = at;
        else
            hi = at;
    }
    return false;
}

/* It went off from where it touched and came back: the way up has an end. */
static bool met_again(const gw_world *w, const gw_contact *c, double t, bracket *b)
{
    double r0 = c->start_rate, r1 = c->rate, rate;
    if (!(r0 > 0 && r1 < 0))
        return false;
    b->lo = c->from + (t - c->from) * r0 / (r0 - r1);
    b->gap_lo = gap_between(w, c, b->lo, &rate);
    b->hi = t;
    b->gap_hi = c->now.gap - c->level;
    return b->gap_lo > GW_CONTACT_CLOSED_GAP;
}

static bool closes(const gw_world *w, const gw_contact *c, double t, bracket *b)
{
    double g0 = c->start.gap - c->level, g1 = c->now.gap - c->level, rest = w->rules.rest_speed;
    if (c->immovable || c->aside || c->slow || c->deferred ||
        fmax(fabs(c->start_rate), fabs(c->rate)) < rest)
        return false;
    if (g1 < -GW_CONTACT_CLOSED_GAP) {
        *b = (bracket){c->from, t, g0, g1};
        return g0 > GW_CONTACT_CLOSED_GAP || met_again(w, c, t, b);
    }
    return g0 > GW_CONTACT_CLOSED_GAP && c->start_rate < 0 && c->rate > 0 &&
           met_between(w, c, t, b);
}

static double secant(const bracket *b)
{
    return b->lo + (b->hi - b->lo) * b->gap_lo / (b->gap_lo - b->gap_hi);
}

/* Near the moment, without stepping anything. */
static double about(const gw_world *w, const gw_contact *c, const bracket *b)
{
    double t = secant(b), rate;
    for (int i = 0; i < GUESSES; i++) {
        double gap = gap_between(w, c, t, &rate);
        if (rate < 0)
            t = fmin(b->hi, fmax(b->lo, t - gap / rate));
    }
    return t;
}

/* The moment itself, by Newton's method kept within the bracket; INFINITY where it meets too slowly
 * to collide. */
static double meeting(gw_world *w, const gw_contact *c, bracket b)
{
    double t = about(w, c, &b), gap = 0, rate = 0;
    for (int i = 0; i < MEETINGS; i++) {
        gw_substep_trial_of_pair(w, c, t, &gap, &rate);
        if (fabs(gap) <= EXACT || b.hi - b.lo <= 1e-9 * w->dt)
            break;
        if (gap > 0)
            b.lo = t;
        else
            b.hi = t;
        t -= rate < 0 ? gap / rate : INFINITY;
        if (!(t > b.lo && t < b.hi))
            t = 0.5 * (b.lo + b.hi);
    }
    return rate < -w->rules.rest_speed ? t : INFINITY;
}

/* The contact that closes first, by a guess that is good enough to put them in order. A step that
 * bears no more goes back for what would be too far only. */
static gw_contact *first_closing(gw_world *w, double t, bracket *found)
{
    gw_contact *first = NULL;
    double least = INFINITY;
    bool spent = w->effort >= w->budget;
    for (int i = 0; i < w->island.touch_count; i++) {
        gw_contact *c = &w->touches[w->island.touches[i]];
        bracket b;
        if ((spent && !gw_contact_overshot(c)) || !closes(w, c, t, &b) || secant(&b) >= least)
            continue;
        least = secant(&b);
        first = c;
        *found = b;
    }
    return first;
}

double gw_toi_estimate(gw_world *w, gw_contact *c, double t)
{
    bracket b;
    return closes(w, c, t, &b) ? secant(&b) : INFINITY;
}

/* Nobody of the island can be put back beyond this. */
static double latest(const gw_world *w)
{
    double t = 0;
    for (int i = 0; i < w->island.mover_count; i++)
        t = fmax(t, w->since[w->island.movers[i]]);
    return t;
}

double gw_toi_rewind(gw_world *w, gw_contact *c, double t)
{
    bracket b;
    bool met = false;
    if (!closes(w, c, t, &b))
        return INFINITY;
    for (int i = 0; c && i < TRIALS; i++) {
        double at = fmax(meeting(w, c, b), latest(w));
        if (at < t) {
            t = at;
            met = c->struck = true;
            gw_substep_trial(w, t);
        } else {
            c->slow = true;
            if (!met)
                return INFINITY;
        }
        c = first_closing(w, t, &b);
        if (!c && gw_toi_redetect_after_trial(w))
            c = first_closing(w, t, &b);
    }
    return t;
}
