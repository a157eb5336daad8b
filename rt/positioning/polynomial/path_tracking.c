/*
 * Path tracking (numerical homotopy continuation; Sommese and Wampler, "The numerical solution of
 * systems of polynomials", 2005, chapter 2). Along F(x, tau) = 0 Hermite's polynomial through the
 * last three points and their tangents predicts, and Newton's method corrects; the predictor's
 * error, of sixth order, sets the step. Four paths are tracked side by side in the lanes of a
 * vector, each with its own step; a lane whose path ends takes the next path. Any thread, RT safe.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/positioning/polynomial/path_tracking.h"

#define MAX_STEPS      1000
#define PREDICTED      1e-3  /* error of a prediction that the step is chosen for */
#define FIRST_STEP     0.02  /* of tau */
#define LAST_PART      1e-3  /* of tau: the endgame */
#define AT_INFINITY    1e-7  /* least |N| / |e|^2 of a finite endpoint */
#define LEAST_STEP     1e-11 /* of tau in the endgame, on a path to a simple root */
#define PATCH_OUTGROWN 8     /* |e|^2, with one entry fixed at one, above which another is fixed */
/* Limit of the sum of squared multipliers: above it elimination without pivots loses too many
 * digits, and the lane is solved with pivots. */
#define MAX_GROWTH 1e8

enum { EQUATIONS = GW_PATH_UNKNOWNS - 1, POINTS = 3, SLOTS = POINTS + 1 };

/* The affine patch of each lane: the unknown that is fixed at one. */
typedef struct affine_patch {
    int fixed[GW_LANES]; /* index of that unknown, 0 .. 3 */
    gw_mask before[3];   /* lanes with fixed <= k: column k is of unknown k + 1 */
    unsigned active;     /* lanes in use */
} affine_patch;

/* Squared modulus, for comparisons. */
static double modulus2(gw_complex z)
{
    return creal(z) * creal(z) + cimag(z) * cimag(z);
}

/* ---- Newton's method: one lane, with pivots -------------------------------------------------- */

typedef gw_complex_lanes matrix[EQUATIONS][EQUATIONS + 2];

static void exchange_rows(int n, gw_complex (*a)[EQUATIONS + 2], int i, int k)
{
    for (int j = 0; j < n + 2; j++) {
        gw_complex z = a[i][j];
        a[i][j] = a[k][j], a[k][j] = z;
    }
}

/* Solves for the two right-hand sides in the last columns of a by Gauss-Jordan elimination with row
 * pivots; the result is not finite if a is singular. */
static void solve_one(int n, gw_complex (*a)[EQUATIONS + 2])
{
    for (int k = 0; k < n; k++) {
        int p = k;
        for (int i = k + 1; i < n; i++)
            p = modulus2(a[i][k]) > modulus2(a[p][k]) ? i : p;
        exchange_rows(n, a, k, p);
        gw_complex inverse = 1 / a[k][k];
        for (int j = k; j < n + 2; j++)
            a[k][j] *= inverse;
        for (int i = 0; i < n; i++) {
            gw_complex m = a[i][k];
            for (int j = k; j < n + 2 && i != k; j++)
                a[i][j] -= m * a[k][j];
        }
    }
}

/* ---- Newton's method: all lanes, without pivots ---------------------------------------------- */

/* out = 1 / a */
GW_LANE_INLINE void invert(const gw_complex_lanes *a, gw_complex_lanes *out)
{
    gw_lanes k = 1 / (a->re * a->re + a->im * a->im);
    out->re = k * a->re;
    out->im = -k * a->im;
}

/* Columns n and, with tangents, n + 1 become the solutions. Returns the sum of squares of all
 * multipliers. */
GW_LANE_INLINE void eliminate(int n, bool tangents, matrix a, gw_lanes *growth)
{
    const int columns = n + 1 + tangents;
    gw_complex_lanes inverse[EQUATIONS];
    *growth = (gw_lanes){0};
    for (int k = 0; k < n; k++) {
        invert(&a[k][k], &inverse[k]);
        for (int i = k + 1; i < n; i++) {
            gw_complex_lanes m;
            gw_multiply(&a[i][k], &inverse[k], &m);
            gw_add_modulus2(growth, &m);
            for (int j = k + 1; j < columns; j++)
                gw_subtract_product(&a[i][j], &m, &a[k][j]);
        }
    }
    for (int k = n - 1; k >= 0; k--)
        for (int j = n; j < columns; j++) {
            gw_multiply(&a[k][j], &inverse[k], &a[k][j]);
            for (int i = 0; i < k; i++)
                gw_subtract_product(&a[i][j], &a[i][k], &a[k][j]);
        }
}

/* The columns of the unknowns that are not fixed, and the right-hand sides -F and -dF/dtau. */
GW_LANE_INLINE void fill(int n, bool tangents, const affine_patch *patch,
                         const gw_linearisation *now, matrix a)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < 3; k++)
            gw_complex_select(&patch->before[k], &now->j[i][k + 1], &now->j[i][k], &a[i][k]);
        for (int k = 3; k < n; k++)
            a[i][k] = now->j[i][k + 1];
        a[i][n] = (gw_complex_lanes){-now->f[i].re, -now->f[i].im};
        if (tangents)
            a[i][n + 1] = (gw_complex_lanes){-now->rate[i].re, -now->rate[i].im};
    }
}

/* Column j of the solutions as a vector of all unknowns, zero at each lane's fixed one. */
GW_LANE_INLINE void scatter(int n, const affine_patch *patch, matrix a, int j, gw_complex_lanes *d)
{
    const gw_complex_lanes none = {{0}, {0}};
    for (int k = 0; k < 4; k++) {
        gw_mask held = k > 0 ? ~patch->before[k - 1] : ~(gw_mask){0};
        held = k < 3 ? held & patch->before[k] : held;
        gw_complex_lanes x = k < 3 ? a[k][j] : none; /* the entries before the fixed one */
        if (k > 0)
            gw_complex_select(&patch->before[k - 1], &a[k - 1][j], &x, &x);
        gw_complex_select(&held, &none, &x, &d[k]);
    }
    for (int k = 4; k <= n; k++)
        d[k] = a[k - 1][j];
}

/* Solves the lanes that need pivots, one by one. */
static void solve_again(int n, bool tangents, const affine_patch *patch,
                        const gw_linearisation *now, const gw_lanes *growth, matrix a)
{
    for (int lane = 0; lane < GW_LANES; lane++) {
        gw_complex own[EQUATIONS][EQUATIONS + 2];
        if ((*growth)[lane] < MAX_GROWTH || !(patch->active >> lane & 1))
            continue;
        for (int i = 0; i < n; i++) {
            for (int k = 0; k < n; k++)
                own[i][k] = gw_lane_get(&now->j[i][k + (k >= patch->fixed[lane])], lane);
            own[i][n] = -gw_lane_get(&now->f[i], lane);
            own[i][n + 1] = tangents ? -gw_lane_get(&now->rate[i], lane) : 0;
        }
        solve_one(n, own);
        for (int i = 0; i < n; i++)
            for (int j = n; j < n + 1 + tangents; j++)
                gw_lane_set(&a[i][j], lane, own[i][j]);
    }
}

/* Squared lengths of steps: |d_e|^2 + |d_g|^2 / (1 + |g|^2) for x = (e, g), with the largest entry
 * of e near one. */
GW_LANE_INLINE void measure(int n, const gw_complex_lanes *x, const gw_complex_lanes *d,
                            gw_lanes *length2)
{
    gw_lanes size = {0}, moved = {0};
    *length2 = (gw_lanes){0};
    for (int k = 0; k < 4; k++)
        gw_add_modulus2(length2, &d[k]);
    for (int k = 4; k <= n; k++) {
        gw_add_modulus2(&size, &x[k]);
        gw_add_modulus2(&moved, &d[k]);
    }
    *length2 += moved / (1 + size);
}

GW_LANE_INLINE void step(int n, bool tangents, const affine_patch *patch,
                         const gw_linearisation *now, gw_complex_lanes *x, gw_complex_lanes *v,
                         gw_lanes *length2)
{
    matrix a;
    gw_lanes growth;
    gw_complex_lanes d[GW_PATH_UNKNOWNS];
    bool fine = true;
    fill(n, tangents, patch, now, a);
    eliminate(n, tangents, a, &growth);
    for (int lane = 0; lane < GW_LANES; lane++)
        fine = fine && growth[lane] < MAX_GROWTH;
    if (!fine)
        solve_again(n, tangents, patch, now, &growth, a);
    scatter(n, patch, a, n, d);
    if (tangents)
        scatter(n, patch, a, n + 1, v);
    measure(n, x, d, length2);
    for (int k = 0; k <= n; k++)
        x[k].re += d[k].re, x[k].im += d[k].im;
}

/* One Newton step in all lanes; tangents are written to v unless it is NULL. `length2`: the squares
 * of the steps' lengths, infinite or not a number where a lane is singular. */
GW_TARGET_CLONES
static void newton_step(const gw_homotopy *p, const affine_patch *patch, const gw_lanes *tau,
                        gw_complex_lanes *x, gw_complex_lanes *v, gw_lanes *length2)
{
    gw_linearisation now;
    p->evaluate(p->system, x, tau, v != NULL, &now);
    *p->work -= p->cost;
    if (p->unknowns == 8 && v)
        step(7, true, patch, &now, x, v, length2);
    else if (p->unknowns == 8)
        step(7, false, patch, &now, x, v, length2);
    else if (v)
        step(3, true, patch, &now, x, v, length2);
    else
        step(3, false, patch, &now, x, v, length2);
}

/* ---- the tracker ----------------------------------------------------------------------------- */

/* A point of each lane's path with its tangent, x[fixed] = 1. */
typedef struct path_point {
    gw_lanes tau;
    gw_complex_lanes x[GW_PATH_UNKNOWNS], v[GW_PATH_UNKNOWNS];
} path_point;

/* The phase of a lane: Newton's method at tau = 0 for the first tangent, tracking, or Newton's
 * method at tau = 1 down to round-off. */
typedef enum phase { STARTING, MOVING, FINISHING } phase;

typedef struct lane_path {
    gw_homotopy_path *path;
    phase phase;
    int known; /* number of points that the predictor uses */
    int steps;
    double tau, step; /* of the last point; to the next one */
    double before;    /* squared length of the last Newton step, when finishing */
} lane_path;

/* The paths of all lanes. Their points form a ring, in which `head` is the point being computed. */
typedef struct tracker {
    const gw_homotopy *p;
    double tolerance2;
    affine_patch patch;
    lane_path lane[GW_LANES];
    path_point ring[SLOTS];
    gw_mask known[POINTS]; /* lanes that have a point of this age */
    int head;
    gw_homotopy_path *next, *end;
} tracker;

/* The point `age` steps before the last one; age -1 is the point being computed. */
static path_point *point_ago(tracker *c, int age)
{
    return &c->ring[(c->head + SLOTS - 1 - age) % SLOTS];
}

static int largest_entry(const gw_complex *x)
{
    int most = 0;
    for (int i = 1; i < 4; i++)
        most = modulus2(x[i]) > modulus2(x[most]) ? i : most;
    return most;
}

/* |N| / |e|^2, made smaller if the quaternion is small compared with the other unknowns. */
static double relative_norm(const gw_homotopy *p, const gw_complex *x)
{
    gw_complex n = 0;
    double size = 0, rest = 0;
    for (int i = 0; i < 4; i++) {
        n += x[i] * x[i];
        size += modulus2(x[i]);
    }
    for (int i = 4; i < p->unknowns; i++)
        rest += modulus2(x[i]);
    return sqrt(modulus2(n)) / (size + 1e-6 * rest);
}

/* The kind of endpoint at which Newton's method does not converge as at a simple root. */
static gw_path_end not_simple(const gw_homotopy *p, const gw_complex *x)
{
    return relative_norm(p, x) < 5e-3 ? GW_END_INFINITY : GW_END_SINGULAR;
}

static void get_point(const tracker *c, const path_point *s, int lane, gw_complex *x)
{
    for (int i = 0; i < c->p->unknowns; i++)
        x[i] = gw_lane_get(&s->x[i], lane);
}

static void set_known(tracker *c, int lane, int known)
{
    c->lane[lane].known = known;
    for (int age = 0; age < POINTS; age++)
        c->known[age][lane] = age < known ? -1 : 0;
}

static void set_patch(tracker *c, int lane, int fixed)
{
    c->patch.fixed[lane] = fixed;
    for (int k = 0; k < 3; k++)
        c->patch.before[k][lane] = fixed <= k ? -1 : 0;
}

/* Scales a point so that entry `fixed` is one; the tangent is then d/dtau (x / x_fixed). */
static void rescale_point(const tracker *c, path_point *s, int lane, int fixed)
{
    gw_complex k = 1 / gw_lane_get(&s->x[fixed], lane), by = gw_lane_get(&s->v[fixed], lane);
    for (int i = 0; i < c->p->unknowns; i++) {
        gw_complex x = i == fixed ? 1 : k * gw_lane_get(&s->x[i], lane);
        gw_lane_set(&s->x[i], lane, x);
        gw_lane_set(&s->v[i], lane, i == fixed ? 0 : k * (gw_lane_get(&s->v[i], lane) - x * by));
    }
}

/* Puts the next path into a lane; false where there is none. */
static bool load_lane(tracker *c, int lane, bool finish)
{
    lane_path *t = &c->lane[lane];
    path_point *s = point_ago(c, 0);
    c->patch.active &= ~(1u << lane);
    if (c->next == c->end)
        return false;
    *t = (lane_path){.path = c->next++, .phase = finish ? FINISHING : STARTING};
    t->step = FIRST_STEP;
    t->tau = finish ? 1 : 0;
    t->before = HUGE_VAL;
    s->tau[lane] = t->tau;
    for (int i = 0; i < c->p->unknowns; i++) {
        gw_lane_set(&s->x[i], lane, t->path->x[i]);
        gw_lane_set(&s->v[i], lane, 0);
    }
    set_patch(c, lane, largest_entry(t->path->x));
    rescale_point(c, s, lane, c->patch.fixed[lane]);
    set_known(c, lane, 0);
    c->patch.active |= 1u << lane;
    return true;
}

/* Moves a lane's points on by one slot after a rejected step, so that they keep their ages. */
static void repeat_points(tracker *c, int lane)
{
    for (int age = -1; age < POINTS - 1; age++) {
        path_point *to = point_ago(c, age), *from = point_ago(c, age + 1);
        to->tau[lane] = from->tau[lane];
        for (int i = 0; i < c->p->unknowns; i++) {
            gw_lane_set(&to->x[i], lane, gw_lane_get(&from->x[i], lane));
            gw_lane_set(&to->v[i], lane, gw_lane_get(&from->v[i], lane));
        }
    }
}

static void store_path(tracker *c, int lane, const gw_complex *x, gw_path_end end)
{
    gw_homotopy_path *path = c->lane[lane].path;
    for (int i = 0; i < c->p->unknowns; i++)
        path->x[i] = x[i];
    path->end = end;
    c->patch.active &= ~(1u << lane);
}

/* The end of a path that did not arrive at a simple root. */
static void give_up(tracker *c, int lane, const path_point *last)
{
    gw_complex x[GW_PATH_UNKNOWNS];
    bool late = c->lane[lane].tau > 1 - LAST_PART;
    get_point(c, last, lane, x);
    store_path(c, lane, x, late ? not_simple(c->p, x) : GW_END_LOST);
}

/* ---- a round --------------------------------------------------------------------------------- */

/* Sets the tau that each lane steps to. */
static void choose_targets(tracker *c)
{
    gw_lanes *tau = &c->ring[c->head].tau;
    for (int lane = 0; lane < GW_LANES; lane++) {
        const lane_path *t = &c->lane[lane];
        bool on = t->phase == MOVING;
        (*tau)[lane] = on && t->step < 1 - t->tau ? t->tau + t->step : on ? 1 : t->tau;
    }
}

/* The weights of a point and its tangent in the polynomial through all known points:
 *   L_i = prod (tau - tau_k) / (tau_i - tau_k),  k != i,   L_i' = sum 1 / (tau_i - tau_k)
 *   x = sum (1 - 2 (tau - tau_i) L_i') L_i^2 x_i + (tau - tau_i) L_i^2 v_i
 * (Hermite's basis). */
GW_LANE_INLINE void weights(const tracker *c, path_point *const *past, int i, const gw_lanes *tau,
                            gw_lanes *by_x, gw_lanes *by_v)
{
    const gw_lanes one = 1 - (gw_lanes){0}, none = {0};
    gw_lanes l = one, slope = none, on = *tau - past[i]->tau;
    for (int k = 0; k < POINTS; k++) {
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
static void predict_point(tracker *c)
{
    path_point *to = &c->ring[c->head], *past[POINTS];
    gw_lanes by_x[POINTS], by_v[POINTS];
    for (int i = 0; i < POINTS; i++)
        past[i] = point_ago(c, i);
    for (int i = 0; i < POINTS; i++)
        weights(c, past, i, &to->tau, &by_x[i], &by_v[i]);
    for (int n = 0; n < c->p->unknowns; n++) {
        gw_complex_lanes x = {{0}, {0}};
        for (int i = 0; i < POINTS; i++) {
            x.re += by_x[i] * past[i]->x[n].re + by_v[i] * past[i]->v[n].re;
            x.im += by_x[i] * past[i]->x[n].im + by_v[i] * past[i]->v[n].im;
        }
        to->x[n] = x;
    }
    for (int lane = 0; lane < GW_LANES; lane++) /* the fixed unknown, which is not corrected */
        gw_lane_set(&to->x[c->patch.fixed[lane]], lane, 1);
}

/* The factor of the next step, within 0.5 .. 2, from the square of the prediction's error over its
 * tolerance; the error is of order 2 `known` in the step. */
static double step_growth(double part2, int known)
{
    return fmin(2, fmax(0.5, 0.9 * pow(part2 + 1e-18, -0.25 / known)));
}

static bool newton_converges(double first2, double second2)
{
    return second2 < 1e-10 && (second2 < 1e-2 * first2 || second2 < 1e-11); /* round-off */
}

/* Fixes the quaternion's largest entry at one when the fixed entry has become small in
 * comparison. */
static void change_patch(tracker *c, int lane)
{
    gw_complex e[4];
    double size = 0;
    path_point *s = &c->ring[c->head];
    for (int i = 0; i < 4; i++) {
        e[i] = gw_lane_get(&s->x[i], lane);
        size += modulus2(e[i]);
    }
    if (size < PATCH_OUTGROWN)
        return;
    int fixed = largest_entry(e);
    set_patch(c, lane, fixed);
    for (int age = -1; age < c->lane[lane].known - 1; age++)
        rescale_point(c, point_ago(c, age), lane, fixed);
}

/* Accepts a step and sets the size of the next one; at tau = 1 the endpoint is refined. */
static void accept_step(tracker *c, int lane, double part2)
{
    lane_path *t = &c->lane[lane];
    path_point *s = &c->ring[c->head];
    gw_complex x[GW_PATH_UNKNOWNS];
    double from = t->tau;
    t->tau = s->tau[lane];
    if (t->phase == STARTING) {
        t->phase = MOVING;
        set_known(c, lane, 1);
        return;
    }
    t->step = (t->tau - from) * step_growth(part2, t->known);
    set_known(c, lane, t->known < POINTS ? t->known + 1 : POINTS);
    if (t->tau > 1 - LAST_PART) {
        get_point(c, s, lane, x);
        if (relative_norm(c->p, x) < AT_INFINITY) {
            give_up(c, lane, s);
            return;
        }
    }
    if (t->tau >= 1) {
        for (int i = 0; i < c->p->unknowns; i++)
            t->path->x[i] = x[i];
        t->phase = FINISHING;
        set_known(c, lane, 0);
        return;
    }
    change_patch(c, lane);
}

/* Rejects a step: the next one is shorter, and below the least step the path is given up. */
static void reject_step(tracker *c, int lane)
{
    lane_path *t = &c->lane[lane];
    const path_point *s = &c->ring[c->head];
    t->step = 0.4 * (s->tau[lane] - t->tau);
    repeat_points(c, lane);
    if (t->phase == STARTING || t->step < (t->tau > 1 - LAST_PART ? 1 : 0.1) * LEAST_STEP)
        give_up(c, lane, s);
}

/* Judges a Newton step at tau = 1, repeated down to round-off. Without convergence the path ends at
 * `path->x`, where these steps began. */
static void refine_endpoint(tracker *c, int lane, double first2, double second2)
{
    lane_path *t = &c->lane[lane];
    gw_complex x[GW_PATH_UNKNOWNS];
    bool done = first2 < 1e-24 || (first2 < 1e-14 && first2 < 1e-6 * t->before) ||
                second2 < 1e-24 || (second2 < 1e-14 && second2 < 1e-6 * first2);
    t->before = second2;
    t->steps += MAX_STEPS / 3;
    if (done) {
        get_point(c, &c->ring[c->head], lane, x);
        store_path(c, lane, x,
                   relative_norm(c->p, x) < AT_INFINITY ? GW_END_INFINITY : GW_END_REGULAR);
    } else if (!(first2 < 1e-2 && second2 < 1e-2) || t->steps >= MAX_STEPS) {
        store_path(c, lane, t->path->x, not_simple(c->p, t->path->x));
    }
}

/* Judges a lane's step by the lengths of its two Newton steps. */
static void after_step(tracker *c, int lane, double first2, double second2)
{
    lane_path *t = &c->lane[lane];
    bool good = t->phase == STARTING || first2 < 16 * c->tolerance2;
    t->steps++;
    if (t->phase == FINISHING)
        refine_endpoint(c, lane, first2, second2);
    else if (good && newton_converges(first2, second2))
        accept_step(c, lane, first2 / c->tolerance2);
    else
        reject_step(c, lane);
    if (c->patch.active >> lane & 1 && t->steps >= MAX_STEPS && t->phase != FINISHING)
        give_up(c, lane, &c->ring[c->head]);
}

/* One step of every lane: a prediction and two Newton steps. */
static void step_all_lanes(tracker *c)
{
    path_point *to = &c->ring[c->head];
    gw_lanes first2, second2;
    choose_targets(c);
    predict_point(c);
    newton_step(c->p, &c->patch, &to->tau, to->x, NULL, &first2);
    newton_step(c->p, &c->patch, &to->tau, to->x, to->v, &second2);
    for (int lane = 0; lane < GW_LANES; lane++)
        if (c->patch.active >> lane & 1)
            after_step(c, lane, first2[lane], second2[lane]);
    c->head = (c->head + 1) % SLOTS;
}

static void track_batch(const gw_homotopy *p, double care, bool finish, gw_homotopy_path *path,
                        int count)
{
    assert((p->unknowns == 4 || p->unknowns == 8) && count <= GW_MAX_PATHS);
    tracker c;
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
                load_lane(&c, lane, finish);
        if (c.patch.active == 0)
            break;
        step_all_lanes(&c);
    }
}

void gw_refine_endpoints(const gw_homotopy *p, gw_homotopy_path *path, int count)
{
    track_batch(p, 1, true, path, count);
}

void gw_track_paths(const gw_homotopy *p, double care, gw_homotopy_path *path, int count)
{
    track_batch(p, care, false, path, count);
}
