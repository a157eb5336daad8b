/*
 * Implicit curves traced by a predictor-corrector method: a step along tangent and curvature, then
 * Newton's method onto the rows. The step size follows the curvature; where two arcs cross, the
 * trace goes straight on. Any thread, RT safe.
 */
#include "rt/geometry/implicit_curve.h"

#include <assert.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/base/spatial.h"
#include "rt/geometry/geodesic.h"

/* Steps and arc lengths in units. */
#define MAX_STEP   0.2  /* small compared with a loop, which is mostly a turn or more */
#define MAX_TURN   0.3  /* rad a step, at most */
#define FIRST_STEP 0.03 /* while the curvature is unknown */
#define MAX_OFF    0.2  /* largest correction of a prediction on the same curve, by the step */
#define MIN_STEP   1e-5
#define LAST_STEP  1e-9 /* smallest step towards an end */
#define RESOLUTION 2e-5 /* arcs that pass each other closer than this count as crossing */
#define FAR        300  /* a curve that goes this far counts as unbounded */
#define ON_CURVE   1e-5 /* a pose this close to the curve is on it */
/* In sizes. */
#define ON_ROWS   1e-11
#define SAME_POSE 1e-9 /* tolerance of a pose that the curve passes */

#define COMING_STEPS 40 /* iterations to locate a pose on a step */

/* Size of the fifth pivot of the rows relative to the first: zero at a crossing. */
#define CROSSING 1e-6 /* below, the tangent is undefined */
#define REGULAR  1e-4 /* below, the pose may be the crossing itself */

/* The direction of smallest change of the rows; returns the fifth pivot over the first. */
static double tangent_at(const gw_submanifold *set, double unit, const gw_pose *x, double t[6])
{
    double a[GW_MAX_ROWS][6], basis[1][6];
    int order[GW_MAX_ROWS];
    gw_small_lq q;
    gw_rows_jacobian(set->rows, set->row_count, x, a);
    for (int i = 0; i < set->row_count; i++)
        for (int j = 3; j < 6 && set->rows[i].kind != GW_ROW_ANGLE; j++)
            a[i][j] /= unit;
    gw_small_lq_factor(set->row_count, a, 0, order, &q);
    gw_small_lq_columns(&q, 5, basis);
    for (int i = 0; i < 6; i++)
        t[i] = basis[0][i];
    return q.rank < 5 ? 0 : fabs(a[4][4] / a[0][0]);
}

/* The measure is scaled by the distance, because far away the rows' gradients are nearly
 * parallel. */
bool gw_implicit_curve_is_regular(const gw_submanifold *set, double size, const gw_pose *pose)
{
    assert(set && size > 0 && pose);
    double t[6], far = gw_norm(pose->p) / size;
    return tangent_at(set, size, pose, t) * (1 + far * far) > REGULAR;
}

/* The unit of arc length at a pose: rotations there move the rows' points as far as that. */
static double unit_at(double size, const gw_pose *x)
{
    return fmax(size, 0.5 * gw_norm(x->p));
}

gw_curve_trace gw_curve_trace_from_seed(gw_submanifold *set, double size, bool backward)
{
    gw_rows_start_at(set->rows, set->row_count, &set->seed);
    gw_curve_trace w = {
        .set = set, .size = size, .x = set->seed, .step = FIRST_STEP, .came = FIRST_STEP};
    w.unit = unit_at(size, &w.x);
    w.clear = tangent_at(set, w.unit, &w.x, w.tangent);
    w.least = fmin(CROSSING, 1e-3 * w.clear);
    for (int i = 0; i < 6; i++)
        w.tangent[i] *= backward ? -1 : 1;
    return w;
}

/* x moved by d. */
static gw_pose displace(double unit, const gw_pose *x, const double d[6])
{
    gw_twist move = {{unit * d[0], unit * d[1], unit * d[2]}, {d[3], d[4], d[5]}};
    return gw_pose_add(x, &move);
}

/* Predictor: the pose at arc length s ahead, by tangent and curvature. */
static gw_pose predict_pose(const gw_curve_trace *w, double s)
{
    double d[6];
    for (int i = 0; i < 6; i++)
        d[i] = s * (w->tangent[i] + 0.5 * s * w->curvature[i]);
    return displace(w->unit, &w->x, d);
}

/* The displacement from x to y, [v / unit; w]. */
static void displacement_between(double unit, const gw_pose *x, const gw_pose *y, double d[6])
{
    gw_twist t = gw_pose_sub(y, x);
    double k = 1 / unit;
    d[0] = k * t.v.x, d[1] = k * t.v.y, d[2] = k * t.v.z;
    d[3] = t.w.x, d[4] = t.w.y, d[5] = t.w.z;
}

/* Follows the curve from the present point to the point nearest to the pose, which coincides with
 * it if the pose is on this curve. Each correction is along the tangent at the new point, which
 * projection leaves unchanged: converges like Newton's method, also at high curvature. */
bool gw_curve_trace_passes(const gw_curve_trace *w, const gw_pose *y)
{
    double d[6], t[6], reach = fmax(w->step, w->came), far = reach * w->unit;
    if (gw_norm2(gw_sub(y->p, w->x.p)) > far * far)
        return false;
    displacement_between(w->unit, &w->x, y, d);
    double along = gw_dot6(d, w->tangent), off = gw_dot6(d, d) - along * along;
    if (fabs(along) > 0.75 * reach || off > 0.05 * reach * reach)
        return false;
    gw_pose x = w->x;
    memcpy(t, w->tangent, sizeof t);
    for (int k = 0; k < 8 && fabs(along) > 1e-9 && fabs(along) < reach; k++) {
        for (int i = 0; i < 6; i++)
            d[i] = along * t[i];
        x = displace(w->unit, &x, d);
        gw_rows_project(w->set->rows, w->set->row_count, 5, w->unit, 12, &x);
        if (tangent_at(w->set, w->unit, &x, t) < w->least)
            memcpy(t, w->tangent, sizeof t);
        displacement_between(w->unit, &x, y, d);
        along = gw_dot6(d, t);
    }
    return gw_dot6(d, d) < ON_CURVE * ON_CURVE;
}

static gw_curve_trace_status status_at(gw_curve_trace *w)
{
    gw_rows_start_at(w->set->rows, w->set->row_count, &w->x);
    bool home = gw_curve_trace_passes(w, &w->set->seed);
    if (home && w->away)
        return GW_TRACE_CLOSED;
    w->away = w->away || !home;
    return gw_distance(w->x.p, w->set->seed.p) > FAR * w->size ? GW_TRACE_UNBOUNDED
                                                               : GW_TRACE_CONTINUES;
}

/* Halves the distance to a crossing ahead, or to a close passage of two arcs: nearer to it the two
 * can be distinguished. */
static void shorten_before_crossing(const gw_curve_trace *w, double moved, gw_curve_trace *next)
{
    double fallen = w->clear - next->clear;
    if (fallen > 0)
        next->step = fmin(next->step, fmax(RESOLUTION, 0.5 * moved * next->clear / fallen));
}

/* The next step size, by the curvature of the last one. */
static double next_step(const gw_curve_trace *w, double s, double straight)
{
    const double *t = w->tangent;
    double turn = sqrt(t[3] * t[3] + t[4] * t[4] + t[5] * t[5]);
    double most = fmin(MAX_STEP, MAX_TURN / fmax(turn, 1e-3));
    return fmin(most, s * (straight > 0.98 ? 1.6 : straight > 0.94 ? 1 : 0.7));
}

/* Changes to the unit of arc length at the present point. */
static void update_unit(gw_curve_trace *w)
{
    double unit = unit_at(w->size, &w->x), k = w->unit / unit;
    if (k == 1)
        return;
    for (int i = 0; i < 3; i++)
        w->tangent[i] *= k, w->curvature[i] *= k;
    double longer = sqrt(gw_dot6(w->tangent, w->tangent));
    for (int i = 0; i < 6; i++)
        w->tangent[i] /= longer, w->curvature[i] /= longer * longer;
    w->step *= longer;
    w->came *= longer;
    w->unit = unit;
}

/* One step of length s; false if it may end on another curve, or beyond an end. */
static bool try_step(const gw_curve_trace *w, double s, gw_curve_trace *next)
{
    double d[6], off[6];
    *next = *w;
    next->off_surface = false;
    gw_pose guess = predict_pose(w, s);
    next->x = guess;
    double rows_off = gw_rows_project(w->set->rows, w->set->row_count, 5, w->unit, 12, &next->x);
    if (!(rows_off <= 1e-10 * w->size))
        return false;
    displacement_between(w->unit, &guess, &next->x, off);
    displacement_between(w->unit, &w->x, &next->x, d);
    if (gw_dot6(off, off) > MAX_OFF * MAX_OFF * s * s)
        return false;
    double moved = sqrt(gw_dot6(d, d));
    next->clear = tangent_at(w->set, w->unit, &next->x, next->tangent);
    double straight = gw_dot6(next->tangent, w->tangent);
    if (next->clear < w->least || !(moved > 0.5 * s && moved < 1.5 * s && fabs(straight) > 0.9))
        return false;
    next->off_surface = !gw_rows_over_surfaces(w->set->rows, w->set->row_count, &next->x);
    if (next->off_surface)
        return false;
    for (int i = 0; i < 6; i++) {
        next->tangent[i] *= straight < 0 ? -1 : 1;
        next->curvature[i] = (next->tangent[i] - w->tangent[i]) / moved;
    }
    straight = fabs(straight);
    next->came = moved;
    next->step = next_step(next, s, straight);
    shorten_before_crossing(w, moved, next);
    update_unit(next);
    return true;
}

/* One attempt of a step of length s; failures are counted in `from`. */
static bool attempt_step(gw_curve_trace *from, double s, gw_curve_trace *trace)
{
    bool steps = try_step(from, s, trace);
    from->tries += !steps;
    return steps;
}

gw_curve_trace_status gw_curve_trace_step(gw_curve_trace *trace)
{
    assert(trace);
    gw_curve_trace from = *trace;
    const gw_submanifold *set = from.set;
    from.tries = 0;
    for (double s = from.step; s >= MIN_STEP && !gw_rows_out_of_work(set->rows, set->row_count);
         s *= 0.5)
        if (attempt_step(&from, s, trace))
            return status_at(trace);
    /* across a crossing ahead; at a shape's edge, or if another part is nearer, the curve ends */
    bool ends = trace->off_surface;
    for (double s = 4 * MIN_STEP;
         !ends && s <= MAX_STEP && !gw_rows_out_of_work(set->rows, set->row_count); s *= 2)
        if (attempt_step(&from, s, trace))
            return status_at(trace);
    /* up to an end */
    for (double s = 0.5 * MIN_STEP;
         s >= LAST_STEP && !gw_rows_out_of_work(set->rows, set->row_count); s *= 0.5)
        if (try_step(&from, s, trace))
            from = *trace;
    *trace = from;
    return GW_TRACE_STUCK;
}

void gw_curve_trace_turn_back(gw_curve_trace *trace)
{
    assert(trace);
    for (int i = 0; i < 6; i++)
        trace->tangent[i] *= -1;
    trace->step = trace->came = FIRST_STEP;
}

/* ---- lengths along the curve ----------------------------------------------------------------- */

/* The pose of the curve at a fraction `share` of the chord from `before` to the present point,
 * projected onto the rows; the nearer end if the projection fails, as it may beside a crossing. */
static gw_pose pose_on_step(const gw_curve_trace *w, const gw_pose *before, double share)
{
    gw_twist d = gw_pose_sub(&w->x, before);
    gw_twist part = {gw_scale(share, d.v), gw_scale(share, d.w)};
    gw_pose x = gw_pose_add(before, &part);
    double chord = gw_pose_distance(before, &w->x, w->size);
    bool on_rows =
        gw_rows_project(w->set->rows, w->set->row_count, 5, w->size, 40, &x) < ON_ROWS * w->size;
    if (on_rows && gw_pose_distance(before, &x, w->size) <= 1.5 * chord)
        return x;
    return share < 0.5 ? *before : w->x;
}

/* Backward: against the direction of positive lengths, which is the tangent's at the seed. */
gw_curve_walk gw_curve_walk_from_seed(gw_submanifold *set, bool backward)
{
    assert(set && set->general && set->dof == 1);
    double basis[6][6], d[6], size = gw_exponential_map_unit(set);
    gw_curve_walk walk = {.trace = gw_curve_trace_from_seed(set, size, false),
                          .before = set->seed,
                          .status = GW_TRACE_CONTINUES};
    gw_submanifold_tangent(set, &set->seed, size, basis);
    for (int i = 0; i < 6; i++)
        d[i] = basis[0][i] * (i < 3 ? 1 / walk.trace.unit : 1);
    if ((gw_dot6(d, walk.trace.tangent) < 0) != backward)
        walk.trace = gw_curve_trace_from_seed(set, size, true);
    return walk;
}

bool gw_curve_walk_step(gw_curve_walk *walk)
{
    assert(walk);
    if (walk->status == GW_TRACE_STUCK || walk->status == GW_TRACE_UNBOUNDED ||
        walk->steps == GW_CURVE_TRACE_MAX_STEPS)
        return false;
    walk->before = walk->trace.x;
    walk->from = walk->to;
    walk->status = gw_curve_trace_step(&walk->trace);
    walk->to += gw_pose_distance(&walk->before, &walk->trace.x, walk->trace.size);
    walk->steps++;
    return true;
}

bool gw_implicit_curve_pose(const gw_submanifold *set, double s, gw_pose *pose)
{
    assert(set && pose);
    gw_submanifold followed = *set;
    gw_curve_walk walk = gw_curve_walk_from_seed(&followed, s < 0);
    *pose = set->seed;
    if (s == 0)
        return true;
    while (walk.to < fabs(s))
        if (!gw_curve_walk_step(&walk)) {
            *pose = walk.trace.x;
            return false;
        }
    *pose = pose_on_step(&walk.trace, &walk.before, (fabs(s) - walk.from) / (walk.to - walk.from));
    return gw_submanifold_contains(&followed, pose);
}

/* The share of the last step at which it reaches the pose; false if it does not. */
static bool comes_to(const gw_curve_walk *walk, const gw_pose *pose, double *share)
{
    double size = walk->trace.size, chord = walk->to - walk->from, along[6], left[6];
    if (!(chord > 0) || gw_pose_distance(&walk->trace.x, pose, size) > 2 * chord)
        return false;
    displacement_between(size, &walk->before, &walk->trace.x, along);
    *share = 0;
    for (int k = 0; k < COMING_STEPS; k++) {
        gw_pose x = pose_on_step(&walk->trace, &walk->before, *share);
        if (gw_pose_distance(&x, pose, size) <= SAME_POSE * size)
            return true;
        displacement_between(size, &x, pose, left);
        *share = fmin(fmax(*share + gw_dot6(left, along) / gw_dot6(along, along), 0), 1);
    }
    return false;
}

bool gw_implicit_curve_length(const gw_submanifold *set, const gw_pose *pose, double *s)
{
    assert(set && pose && s);
    gw_curve_walk ways[2];
    gw_submanifold followed[2] = {*set, *set};
    bool goes[2] = {true, true};
    *s = 0;
    for (int w = 0; w < 2; w++)
        ways[w] = gw_curve_walk_from_seed(&followed[w], w > 0);
    if (gw_pose_distance(&set->seed, pose, ways[0].trace.size) <= SAME_POSE * ways[0].trace.size)
        return true;
    while (goes[0] || goes[1]) {
        double share;
        int w = goes[1] && (!goes[0] || ways[1].to < ways[0].to);
        goes[w] = ways[w].status != GW_TRACE_CLOSED && gw_curve_walk_step(&ways[w]);
        if (goes[w] && comes_to(&ways[w], pose, &share)) {
            *s = (w ? -1 : 1) * (ways[w].from + share * (ways[w].to - ways[w].from));
            return true;
        }
    }
    return false;
}

/* ---- the nearest pose ----------------------------------------------------------------------- */

/* The pose of the curve at arc length s from the present point, and half the slope of the squared
 * distance there. `on_curve`: true if the pose is nearer than `most` and on this curve, not beyond
 * an end or on another curve. */
static double slope_at(const gw_curve_trace *w, double s, const gw_pose *near, double length,
                       double most, gw_pose *x, bool *on_curve)
{
    double t[6], off[6], l = length / w->unit;
    gw_pose guess = predict_pose(w, s);
    *x = guess;
    bool on_rows =
        gw_rows_project(w->set->rows, w->set->row_count, 5, w->unit, 20, x) < 1e-10 * w->size;
    displacement_between(w->unit, &guess, x, off);
    *on_curve = on_rows &&
                gw_dot6(off, off) <= fmax(MAX_OFF * MAX_OFF * s * s, ON_CURVE * ON_CURVE) &&
                gw_pose_distance(x, near, length) < most &&
                gw_rows_over_surfaces(w->set->rows, w->set->row_count, x);
    if (tangent_at(w->set, w->unit, x, t) < w->least)
        for (int i = 0; i < 6; i++)
            t[i] = w->tangent[i] + s * w->curvature[i];
    gw_twist d = gw_pose_sub(x, near);
    double g[6] = {d.v.x, d.v.y, d.v.z, l * length * d.w.x, l * length * d.w.y, l * length * d.w.z};
    return gw_dot6(g, t) * (gw_dot6(t, w->tangent) < 0 ? -1 : 1);
}

/* The pose of the curve nearest to `near` within a step of the present point, at the zero of the
 * slope between one step back and one on, by false position (Illinois); its distance (m). */
static double trace_nearest(const gw_curve_trace *w, const gw_pose *near, double length,
                            gw_pose *nearest)
{
    gw_pose x;
    bool on_curve;
    double slope = slope_at(w, 0, near, length, HUGE_VAL, &x, &on_curve);
    *nearest = on_curve ? x : w->x;
    double best = gw_pose_distance(nearest, near, length);
    double low = 0, high = 0, at_low = slope, at_high = slope;
    for (int k = 1; k <= 6 && at_low * at_high > 0; k++) {
        low = high, at_low = at_high;
        high = 0.25 * k * (slope > 0 ? -w->came : w->step);
        at_high = slope_at(w, high, near, length, 0, &x, &on_curve);
    }
    for (int k = 0; k < 60 && at_low * at_high < 0 && fabs(high - low) > 1e-15 &&
                    !gw_rows_out_of_work(w->set->rows, w->set->row_count);
         k++) {
        double s = (low * at_high - high * at_low) / (at_high - at_low);
        double here = slope_at(w, s, near, length, best, &x, &on_curve);
        if (on_curve)
            best = gw_pose_distance(&x, near, length), *nearest = x;
        if (here * at_high < 0)
            low = high, at_low = at_high;
        else
            at_low *= 0.5;
        if (s == high)
            break;
        high = s, at_high = here;
    }
    return best;
}

void gw_curve_minima_begin(gw_curve_minima *v, const gw_pose *near, double length)
{
    assert(v && near && length > 0);
    v->near = near;
    v->length = length;
    v->count = 0;
}

static void insert_minimum(gw_curve_minima *v, const gw_curve_trace *at, double depth)
{
    int k = v->count < GW_CURVE_MINIMA ? v->count++ : GW_CURVE_MINIMA;
    for (; k > 0 && v->depth[k - 1] > depth; k--)
        if (k < GW_CURVE_MINIMA)
            v->depth[k] = v->depth[k - 1], v->trace[k] = v->trace[k - 1];
    if (k < GW_CURVE_MINIMA)
        v->depth[k] = depth, v->trace[k] = *at;
}

void gw_curve_minima_visit(gw_curve_minima *v, const gw_curve_trace *w, bool first)
{
    double d = gw_pose_distance(&w->x, v->near, v->length);
    if (!first && v->last <= v->before && v->last <= d)
        insert_minimum(v, &v->at, v->last);
    v->before = first ? HUGE_VAL : v->last;
    v->last = d;
    v->at = *w;
}

void gw_curve_minima_end(gw_curve_minima *v)
{
    if (v->last <= v->before)
        insert_minimum(v, &v->at, v->last);
}

double gw_curve_minima_nearest(const gw_curve_minima *v, gw_pose *nearest)
{
    double least = HUGE_VAL;
    for (int i = 0; i < v->count; i++) {
        gw_pose x;
        const gw_curve_trace *w = &v->trace[i];
        gw_submanifold *set = w->set;
        double reach = 1.5 * fmax(w->step, w->came) * fmax(w->unit, v->length);
        if (v->depth[i] - reach > least)
            continue;
        gw_rows_start_at(set->rows, set->row_count, &v->trace[i].x);
        double d = trace_nearest(&v->trace[i], v->near, v->length, &x);
        if (d < least)
            least = d, *nearest = x;
    }
    return least;
}

double gw_implicit_curve_nearest(const gw_submanifold *set, double size, const gw_pose *near,
                                 double length, gw_pose *nearest)
{
    assert(set && size > 0 && near && length > 0 && nearest);
    gw_submanifold followed = *set;
    gw_curve_minima v;
    gw_curve_trace_status t = GW_TRACE_UNBOUNDED;
    gw_curve_minima_begin(&v, near, length);
    for (int way = 0; way < 2 && t != GW_TRACE_CLOSED; way++) {
        gw_curve_trace w = gw_curve_trace_from_seed(&followed, size, way > 0);
        t = GW_TRACE_CONTINUES;
        gw_curve_minima_visit(&v, &w, true);
        for (int k = 0; k < GW_CURVE_TRACE_MAX_STEPS && t == GW_TRACE_CONTINUES; k++) {
            t = gw_curve_trace_step(&w);
            gw_curve_minima_visit(&v, &w, false);
        }
        gw_curve_minima_end(&v);
    }
    return gw_curve_minima_nearest(&v, nearest);
}
