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
#define SEARCHES 16    /* evaluations of one gap for where it is least */

/* ---- trials --------------------------------------------------------------------------------- */

static gw_wrench hand_at(const void *asking, double t, const gw_pose *held, const gw_twist *twist)
{
    const gw_asking *ask = asking;
    const gw_forces *hand = &ask->world->movers[ask->mover].hand;
    return hand->at(hand->context, ask->world->t + t, held, twist);
}

static void step_model(gw_world *w, int m, gw_model *model, double h, gw_step *step)
{
    gw_asking ask = {w, m};
    gw_forces forces = {.at = w->movers[m].hand.at ? hand_at : NULL,
                        .context = &ask,
                        .touch = w->crowd[m] > 0 ? gw_touch_stage : NULL,
                        .touching = &ask};
    gw_model_step(model, &forces, h, step);
}

static const unsigned char *saved(const gw_world *w, int m)
{
    return w->saved + (size_t)m * w->stride;
}

void gw_piece_alone(gw_world *w)
{
    gw_mover *mover = &w->movers[w->island.movers[0]];
    gw_forces hand = {.at = mover->hand.at, .context = mover->hand.context};
    gw_model_step(mover->model, &hand, w->dt, &mover->step);
}

void gw_piece_try(gw_world *w, double h)
{
    for (int i = 0; i < w->island.mover_count; i++) {
        int m = w->island.movers[i];
        gw_model *model = gw_world_model(w, m);
        memcpy((void *)model, saved(w, m), model->ops->size);
        step_model(w, m, model, h, &w->trial[m]);
    }
    gw_world_look(w, h);
}

/* A body of a pair in a trial of its own. */
static gw_place try_body(const gw_world *w, int body, gw_model *model, double h)
{
    gw_place place = w->places[body];
    if (model) {
        gw_model_body(model, place.index, &place.pose, &place.twist);
        return place;
    }
    place.pose = place.start;
    if (place.model < 0)
        place.pose = gw_place_ahead(&w->places[body], h, &place.twist);
    return place;
}

void gw_piece_try_pair(gw_world *w, const gw_touch *c, double h, double *gap, double *rate)
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
        memcpy(w->scratch[k], saved(w, mover[k]), gw_world_model(w, mover[k])->ops->size);
        step_model(w, mover[k], model[k], h, &step);
    }
    gw_place a = try_body(w, c->near.a, model[0], h);
    gw_place b = try_body(w, c->near.b, model[1], h);
    gw_gap g = gw_gap_at(&c->near, &a.pose, &b.pose);
    *gap = g.gap;
    *rate = gw_dot(g.normal, gw_sub(gw_velocity_at(&a.pose, &a.twist, g.at_a),
                                    gw_velocity_at(&b.pose, &b.twist, g.at_b)));
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
static bool met_between(gw_world *w, const gw_touch *c, double h, bracket *b)
{
    instant lo = {0, c->start.gap, c->start_rate}, hi = {h, c->now.gap, c->rate}, at;
    for (int i = 0; i < SEARCHES && deepest(&lo, &hi, &at.t) < -GW_WORLD_MET; i++) {
        gw_piece_try_pair(w, c, at.t, &at.gap, &at.rate);
        *b = (bracket){0, at.t, c->start.gap, at.gap};
        if (at.gap < -GW_WORLD_MET)
            return true;
        if (at.rate < 0)
            lo = at;
        else
            hi = at;
    }
    return false;
}

/* It went off from where it touched and came back: the way up has an end. */
static bool met_again(gw_world *w, const gw_touch *c, double h, bracket *b)
{
    double r0 = c->start_rate, r1 = c->rate, rate;
    if (!(r0 > 0 && r1 < 0))
        return false;
    b->lo = h * r0 / (r0 - r1);
    gw_piece_try_pair(w, c, b->lo, &b->gap_lo, &rate);
    b->hi = h;
    b->gap_hi = c->now.gap;
    return b->gap_lo > GW_WORLD_MET;
}

static bool closes(gw_world *w, const gw_touch *c, double h, bracket *b)
{
    double g0 = c->start.gap, g1 = c->now.gap, rest = w->rules.rest_speed;
    if (c->jammed || c->aside || c->slow || fmax(fabs(c->start_rate), fabs(c->rate)) < rest)
        return false;
    if (g1 < -GW_WORLD_MET) {
        *b = (bracket){0, h, g0, g1};
        return g0 > GW_WORLD_MET || met_again(w, c, h, b);
    }
    return g0 > GW_WORLD_MET && c->start_rate < 0 && c->rate > 0 && met_between(w, c, h, b);
}

static double secant(const bracket *b)
{
    return b->lo + (b->hi - b->lo) * b->gap_lo / (b->gap_lo - b->gap_hi);
}

/* The moment itself, by Newton's method kept within the bracket; INFINITY where it meets too slowly
 * to collide. */
static double meeting(gw_world *w, const gw_touch *c, bracket b)
{
    double t = secant(&b), gap = 0, rate = 0;
    for (int i = 0; i < MEETINGS; i++) {
        gw_piece_try_pair(w, c, t, &gap, &rate);
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

/* The contact that closes first, by a guess that is good enough to put them in order. */
static gw_touch *first_closing(gw_world *w, double h, bracket *found)
{
    gw_touch *first = NULL;
    double least = INFINITY;
    for (int i = 0; i < w->island.touch_count; i++) {
        gw_touch *c = &w->touches[w->island.touches[i]];
        bracket b;
        if (!closes(w, c, h, &b) || secant(&b) >= least)
            continue;
        least = secant(&b);
        first = c;
        *found = b;
    }
    return first;
}

double gw_piece_advance(gw_world *w, double h)
{
    bool tried = false;
    for (int i = 0; i < TRIALS; i++) {
        bracket b;
        if (!tried)
            gw_piece_try(w, h);
        gw_touch *c = first_closing(w, h, &b);
        if (!c && gw_looks_close(w)) {
            tried = true;
            continue;
        }
        if (!c)
            return h;
        double t = meeting(w, c, b);
        tried = !(t < h);
        if (tried) {
            c->slow = true;
            continue;
        }
        h = t;
        c->struck = true;
    }
    gw_piece_try(w, h);
    return h;
}
