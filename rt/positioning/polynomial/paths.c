/*
 * Roots of one polynomial system followed to those of another (numerical continuation; Sommese and
 * Wampler, "The numerical solution of systems of polynomials", 2005, chapter 2). Along
 * F(x, tau) = 0 a polynomial through the last three points and their tangents predicts, Newton's
 * method corrects; the predictor's error, of sixth order, sets the step. Four paths go side by
 * side, each at its own pace; where one ends, the next one starts. Any thread, RT safe.
 */
#include <string.h>

#include "rt/positioning/polynomial/roots.h"

#define MOST_STEPS 1000
#define PREDICTED  1e-3 /* error that a prediction may have */
#define FIRST_STEP 0.02
#define LAST_PART  1e-3
#define NEAR_ZERO  1e-7  /* of N over e . e: with less in the end, a path goes to infinity */
#define LEAST_STEP 1e-11 /* in the last part: what goes on like this ends in no simple root */
#define OUTGROWN   8     /* of e . e, with one entry held at one: another is to be held */

enum { STATIONS = 3, SLOTS = STATIONS + 1 };

/* Points of the paths with their tangents, x[fixed] = 1. */
typedef struct station {
    gw_lanes tau;
    gw_complex_lanes x[GW_PATH_UNKNOWNS], v[GW_PATH_UNKNOWNS];
} station;

/* What a lane does: towards its first tangent, on the way, or at tau = 1 down to round-off. */
typedef enum phase { STARTING, MOVING, FINISHING } phase;

typedef struct traveller {
    gw_homotopy_path *path;
    phase phase;
    int known; /* stations */
    int steps;
    double at, step; /* tau */
    double before;   /* the last length squared, when finishing */
} traveller;

/* Four paths. Stations are a ring, the one being made at `head`. */
typedef struct convoy {
    const gw_homotopy *p;
    double tolerance2;
    gw_affine_patch patch;
    traveller lane[GW_LANES];
    station ring[SLOTS];
    gw_mask known[STATIONS]; /* lanes with so old a station */
    int head;
    gw_homotopy_path *next, *end;
} convoy;

/* The station of so many steps ago. */
static station *ago(convoy *c, int age)
{
    return &c->ring[(c->head + SLOTS - 1 - age) % SLOTS];
}

/* ---- one point ------------------------------------------------------------------------------- */

static double size2(gw_complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

static int largest(const gw_complex *x)
{
    int most = 0;
    for (int i = 1; i < 4; i++)
        most = size2(x[i]) > size2(x[most]) ? i : most;
    return most;
}

/* N over e . e, and less where the quaternion is small beside the rest. */
static double turning(const gw_homotopy *p, const gw_complex *x)
{
    gw_complex n = 0;
    double size = 0, rest = 0;
    for (int i = 0; i < 4; i++) {
        n += x[i] * x[i];
        size += size2(x[i]);
    }
    for (int i = 4; i < p->unknowns; i++)
        rest += size2(x[i]);
    return sqrt(size2(n)) / (size + 1e-6 * rest);
}

/* What there is where Newton's method does not converge as it does at simple roots. */
static gw_path_end not_simple(const gw_homotopy *p, const gw_complex *x)
{
    return turning(p, x) < 5e-3 ? GW_END_INFINITY : GW_END_SINGULAR;
}

/* ---- one lane -------------------------------------------------------------------------------- */

static void get_point(const convoy *c, const station *s, int lane, gw_complex *x)
{
    for (int i = 0; i < c->p->unknowns; i++)
        x[i] = gw_lane_get(&s->x[i], lane);
}

static void know(convoy *c, int lane, int known)
{
    c->lane[lane].known = known;
    for (int age = 0; age < STATIONS; age++)
        c->known[age][lane] = age < known ? -1 : 0;
}

static void hold(convoy *c, int lane, int fixed)
{
    c->patch.fixed[lane] = fixed;
    for (int k = 0; k < 3; k++)
        c->patch.before[k][lane] = fixed <= k ? -1 : 0;
}

/* Scales a point so that entry `fixed` is one; the tangent is then d/dtau (x / x_fixed). */
static void rescale(const convoy *c, station *s, int lane, int fixed)
{
    gw_complex k = 1 / gw_lane_get(&s->x[fixed], lane), by = gw_lane_get(&s->v[fixed], lane);
    for (int i = 0; i < c->p->unknowns; i++) {
        gw_complex x = i == fixed ? 1 : k * gw_lane_get(&s->x[i], lane);
        gw_lane_set(&s->x[i], lane, x);
        gw_lane_set(&s->v[i], lane, i == fixed ? 0 : k * (gw_lane_get(&s->v[i], lane) - x * by));
    }
}

/* Puts the next path into a lane; false where there is none. */
static bool board(convoy *c, int lane, bool finish)
{
    traveller *t = &c->lane[lane];
    station *s = ago(c, 0);
    c->patch.active &= ~(1u << lane);
    if (c->next == c->end)
        return false;
    *t = (traveller){.path = c->next++, .phase = finish ? FINISHING : STARTING};
    t->step = FIRST_STEP;
    t->at = finish ? 1 : 0;
    t->before = HUGE_VAL;
    s->tau[lane] = t->at;
    for (int i = 0; i < c->p->unknowns; i++) {
        gw_lane_set(&s->x[i], lane, t->path->x[i]);
        gw_lane_set(&s->v[i], lane, 0);
    }
    hold(c, lane, largest(t->path->x));
    rescale(c, s, lane, c->patch.fixed[lane]);
    know(c, lane, 0);
    c->patch.active |= 1u << lane;
    return true;
}

/* Where nothing was reached, a lane's stations stay as old as they were. */
static void keep(convoy *c, int lane)
{
    for (int age = -1; age < STATIONS - 1; age++) {
        station *to = ago(c, age), *from = ago(c, age + 1);
        to->tau[lane] = from->tau[lane];
        for (int i = 0; i < c->p->unknowns; i++) {
            gw_lane_set(&to->x[i], lane, gw_lane_get(&from->x[i], lane));
            gw_lane_set(&to->v[i], lane, gw_lane_get(&from->v[i], lane));
        }
    }
}

static void leave(convoy *c, int lane, const gw_complex *x, gw_path_end end)
{
    gw_homotopy_path *path = c->lane[lane].path;
    for (int i = 0; i < c->p->unknowns; i++)
        path->x[i] = x[i];
    path->end = end;
    c->patch.active &= ~(1u << lane);
}

/* The end of a path that did not arrive at a simple root. */
static void give_up(convoy *c, int lane, const station *last)
{
    gw_complex x[GW_PATH_UNKNOWNS];
    bool late = c->lane[lane].at > 1 - LAST_PART;
    get_point(c, last, lane, x);
    leave(c, lane, x, late ? not_simple(c->p, x) : GW_END_LOST);
}

/* ---- a round --------------------------------------------------------------------------------- */

static void choose_targets(convoy *c)
{
    gw_lanes *tau = &c->ring[c->head].tau;
    for (int lane = 0; lane < GW_LANES; lane++) {
        const traveller *t = &c->lane[lane];
        bool on = t->phase == MOVING;
        (*tau)[lane] = on && t->step < 1 - t->at ? t->at + t->step : on ? 1 : t->at;
    }
}

/* The weights of a station and its tangent in the polynomial through all known ones:
 *   L_i = prod (tau - tau_k) / (tau_i - tau_k),  k != i,   L_i' = sum 1 / (tau_i - tau_k)
 *   x = sum (1 - 2 (tau - tau_i) L_i') L_i^2 x_i + (tau - tau_i) L_i^2 v_i
 * (Hermite's basis). */
GW_LANE_INLINE void weights(const convoy *c, station *const *past, int i, const gw_lanes *tau,
                            gw_lanes *by_x, gw_lanes *by_v)
{
    const gw_lanes one = 1 - (gw_lanes){0}, none = {0};
    gw_lanes l = one, slope = none, on = *tau - past[i]->tau;
    for (int k = 0; k < STATIONS; k++) {
        if (k == i)
            continue;
        gw_lanes over = 1 / (past[i]->tau - past[k]->tau), part = (*tau - past[k]->tau) * over;
        if (k > 0) {
            gw_lane_select(&c->known[k], &over, &none, &over);
            gw_lane_select(&c->known[k], &part, &one, &part);
        }
        l *= part, slope += over;
    }
    *by_x = (1 - 2 * on * slope) * l * l;
    *by_v = on * l * l;
    if (i > 0) {
        gw_lane_select(&c->known[i], by_x, &none, by_x);
        gw_lane_select(&c->known[i], by_v, &none, by_v);
    }
}

GW_TARGET_CLONES
static void predict(convoy *c)
{
    station *to = &c->ring[c->head], *past[STATIONS];
    gw_lanes by_x[STATIONS], by_v[STATIONS];
    for (int i = 0; i < STATIONS; i++)
        past[i] = ago(c, i);
    for (int i = 0; i < STATIONS; i++)
        weights(c, past, i, &to->tau, &by_x[i], &by_v[i]);
    for (int n = 0; n < c->p->unknowns; n++) {
        gw_complex_lanes x = {{0}, {0}};
        for (int i = 0; i < STATIONS; i++) {
            x.re += by_x[i] * past[i]->x[n].re + by_v[i] * past[i]->v[n].re;
            x.im += by_x[i] * past[i]->x[n].im + by_v[i] * past[i]->v[n].im;
        }
        to->x[n] = x;
    }
    for (int lane = 0; lane < GW_LANES; lane++) /* nothing corrects it */
        gw_lane_set(&to->x[c->patch.fixed[lane]], lane, 1);
}

/* The factor of the next step, within 0.5 and 2, by the error squared in units of what it may be:
 * it grows with the step's power of 2 known. */
static double growth(double part2, int known)
{
    return fmin(2, fmax(0.5, 0.9 * pow(part2 + 1e-18, -0.25 / known)));
}

static bool converges(double first2, double second2)
{
    return second2 < 1e-10 && (second2 < 1e-2 * first2 || second2 < 1e-11); /* round-off */
}

/* Another entry of the quaternion is held at one where that has become small. */
static void change_patch(convoy *c, int lane)
{
    gw_complex e[4];
    double size = 0;
    station *s = &c->ring[c->head];
    for (int i = 0; i < 4; i++) {
        e[i] = gw_lane_get(&s->x[i], lane);
        size += size2(e[i]);
    }
    if (size < OUTGROWN)
        return;
    int fixed = largest(e);
    hold(c, lane, fixed);
    for (int age = -1; age < c->lane[lane].known - 1; age++)
        rescale(c, ago(c, age), lane, fixed);
}

/* A station is reached. */
static void advance(convoy *c, int lane, double part2)
{
    traveller *t = &c->lane[lane];
    station *s = &c->ring[c->head];
    gw_complex x[GW_PATH_UNKNOWNS];
    double from = t->at;
    t->at = s->tau[lane];
    if (t->phase == STARTING) {
        t->phase = MOVING;
        know(c, lane, 1);
        return;
    }
    t->step = (t->at - from) * growth(part2, t->known);
    know(c, lane, t->known < STATIONS ? t->known + 1 : STATIONS);
    if (t->at > 1 - LAST_PART) {
        get_point(c, s, lane, x);
        if (turning(c->p, x) < NEAR_ZERO) {
            give_up(c, lane, s);
            return;
        }
    }
    if (t->at >= 1) {
        for (int i = 0; i < c->p->unknowns; i++)
            t->path->x[i] = x[i];
        t->phase = FINISHING;
        know(c, lane, 0);
        return;
    }
    change_patch(c, lane);
}

static void retreat(convoy *c, int lane)
{
    traveller *t = &c->lane[lane];
    const station *s = &c->ring[c->head];
    t->step = 0.4 * (s->tau[lane] - t->at);
    keep(c, lane);
    if (t->phase == STARTING || t->step < (t->at > 1 - LAST_PART ? 1 : 0.1) * LEAST_STEP)
        give_up(c, lane, s);
}

/* Down to round-off; the path's own x is where it began. */
static void finish(convoy *c, int lane, double first2, double second2)
{
    traveller *t = &c->lane[lane];
    gw_complex x[GW_PATH_UNKNOWNS];
    bool done = first2 < 1e-24 || (first2 < 1e-14 && first2 < 1e-6 * t->before) ||
                second2 < 1e-24 || (second2 < 1e-14 && second2 < 1e-6 * first2);
    t->before = second2;
    t->steps += MOST_STEPS / 3;
    if (done) {
        get_point(c, &c->ring[c->head], lane, x);
        leave(c, lane, x, turning(c->p, x) < NEAR_ZERO ? GW_END_INFINITY : GW_END_REGULAR);
    } else if (!(first2 < 1e-2 && second2 < 1e-2) || t->steps >= MOST_STEPS) {
        leave(c, lane, t->path->x, not_simple(c->p, t->path->x));
    }
}

static void conclude(convoy *c, int lane, double first2, double second2)
{
    traveller *t = &c->lane[lane];
    bool good = t->phase == STARTING || first2 < 16 * c->tolerance2;
    t->steps++;
    if (t->phase == FINISHING)
        finish(c, lane, first2, second2);
    else if (good && converges(first2, second2))
        advance(c, lane, first2 / c->tolerance2);
    else
        retreat(c, lane);
    if (c->patch.active >> lane & 1 && t->steps >= MOST_STEPS && t->phase != FINISHING)
        give_up(c, lane, &c->ring[c->head]);
}

static void go_round(convoy *c)
{
    station *to = &c->ring[c->head];
    gw_lanes first2, second2;
    choose_targets(c);
    predict(c);
    gw_newton_step(c->p, &c->patch, &to->tau, to->x, NULL, &first2);
    gw_newton_step(c->p, &c->patch, &to->tau, to->x, to->v, &second2);
    for (int lane = 0; lane < GW_LANES; lane++)
        if (c->patch.active >> lane & 1)
            conclude(c, lane, first2[lane], second2[lane]);
    c->head = (c->head + 1) % SLOTS;
}

static void travel(const gw_homotopy *p, double care, bool finish, gw_homotopy_path *path,
                   int count)
{
    convoy c;
    memset(&c, 0, sizeof c);
    c.p = p;
    c.tolerance2 = PREDICTED * PREDICTED / (care * care);
    c.next = path;
    c.end = path + count;
    for (int i = 0; i < count; i++)
        path[i].end = GW_END_LOST;
    while (*p->work > 0) {
        for (int lane = 0; lane < GW_LANES; lane++)
            if (!(c.patch.active >> lane & 1))
                board(&c, lane, finish);
        if (c.patch.active == 0)
            break;
        go_round(&c);
    }
}

void gw_refine_endpoints(const gw_homotopy *p, gw_homotopy_path *path, int count)
{
    travel(p, 1, true, path, count);
}

void gw_track_paths(const gw_homotopy *p, double care, gw_homotopy_path *path, int count)
{
    travel(p, care, false, path, count);
}
