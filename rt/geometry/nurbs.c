/*
 * NURBS curves and surfaces: checks, lifetime, evaluation. Evaluation is for any thread and RT
 * safe; creation is not for use inside a tick.
 *
 * The basis functions that do not vanish on span i (knots U_i <= u < U_i+1), N_{i-d+r,d} for r = 0
 * .. d, follow from those of one degree less (Cox, de Boor):
 *
 *   N_{r,d} = (u - U_{i-d+r}) c_{d,r} N_{r-1,d-1} + (U_{i+r+1} - u) c_{d,r+1} N_{r,d-1}
 *   N'_{r,d} = d (c_{d,r} N'_{r-1,d-1} - c_{d,r+1} N'_{r,d-1})
 *   c_{d,r} = 1 / (U_{i+r} - U_{i-d+r})
 *
 * where the prime lifts a derivative by one order with the degree. So the k-th derivative is the
 * value at degree p - k, lifted k times. Of homogeneous sums A = w S the quotient rule gives
 *
 *   S^(k,l) = (A^(k,l) - sum_{(i,j) != 0} C(k,i) C(l,j) w^(i,j) S^(k-i,l-j)) / w
 */
#include "rt/geometry/nurbs.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base/simd.h"
#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/nurbs_pole.h"

#define ORDERS          (GW_NURBS_ORDER + 1)
#define KNOT_EQUAL      1e-12 /* of the spacing of periodic knots, relative to the domain */
#define MEETING         1e-12 /* distance of control points that coincide, relative to the size */
#define CURVATURE_JUMPS 1e-6  /* least jump, relative to both curvatures and 1 / size */
#define TANGENT_TURNS   1e-8  /* rad between tangents or normals on both sides of a kink */

/* ---- evaluation ----------------------------------------------------------------------------- */

int gw_nurbs_find_span(const gw_nurbs_direction *d, double u, int hint)
{
    assert(d && hint >= 0);
    const double *knots = d->knots;
    int first = d->degree, last = d->count - 1;
    if (hint >= first && hint <= last && knots[hint] <= u && u < knots[hint + 1])
        return hint;
    /* the last knot that is at most u, and below the end of the domain */
    int low = first, high = last + 1;
    while (high - low > 1) {
        int middle = (low + high) / 2;
        if (knots[middle] <= u)
            low = middle;
        else
            high = middle;
    }
    while (low > first && knots[low] >= knots[low + 1])
        low--;
    return low;
}

static double wrap_into_period(const gw_nurbs_direction *d, double u)
{
    if (!d->closed || (u >= d->low && u <= d->high))
        return u;
    double period = d->high - d->low;
    u = d->low + fmod(u - d->low, period);
    return u < d->low ? u + period : u;
}

/* n[k][r]: the k-th derivative of the r-th basis function of the span. */
GW_LANE_INLINE void basis(const gw_nurbs_direction *dir, int span, double u, int degree, int order,
                          double n[ORDERS][GW_MAX_NURBS_DEGREE + 1])
{
    double values[GW_MAX_NURBS_DEGREE + 1][GW_MAX_NURBS_DEGREE + 1];
    const double *knots = dir->knots + span, *row = dir->reciprocals + span;
    int stride = dir->count + degree + 1;
    values[0][0] = 1;
    for (int d = 1; d <= degree; d++, row += stride) {
        double left = 0;
        for (int r = 0; r < d; r++) {
            double share = values[d - 1][r] * row[r + 1 - d];
            values[d][r] = left + (knots[r + 1] - u) * share;
            left = (u - knots[r + 1 - d]) * share;
        }
        values[d][d] = left;
    }
    for (int r = 0; r <= degree; r++)
        n[0][r] = values[degree][r];
    for (int k = 1; k <= order; k++) {
        if (k > degree) {
            for (int r = 0; r <= degree; r++)
                n[k][r] = 0;
            continue;
        }
        for (int r = 0; r <= degree - k; r++)
            n[k][r] = values[degree - k][r];
        for (int d = degree - k + 1; d <= degree; d++) {
            const double *c = dir->reciprocals + (d - 1) * stride + span;
            double left = 0;
            for (int r = 0; r < d; r++) {
                double share = d * n[k][r] * c[r + 1 - d];
                n[k][r] = left - share;
                left = share;
            }
            n[k][d] = left;
        }
    }
}

/* a[k][l], zero before: derivatives of the homogeneous sum, k by u and l by v. */
GW_LANE_INLINE void homogeneous_sum(const gw_nurbs *s, const int span[2],
                                    double nu[ORDERS][GW_MAX_NURBS_DEGREE + 1],
                                    double nv[ORDERS][GW_MAX_NURBS_DEGREE + 1], int p, int q,
                                    int order, int order_v, gw_homogeneous a[ORDERS][ORDERS])
{
    const gw_homogeneous *row = s->points + (span[0] - p) * s->direction[1].count + span[1] - q;
    for (int i = 0; i <= p; i++, row += s->direction[1].count) {
        gw_homogeneous along[ORDERS];
        for (int l = 0; l <= order_v; l++) {
            along[l] = nv[l][0] * row[0];
            for (int j = 1; j <= q; j++)
                along[l] += nv[l][j] * row[j];
        }
        for (int k = 0; k <= order; k++)
            for (int l = 0; l <= order - k && l <= order_v; l++)
                a[k][l] += nu[k][i] * along[l];
    }
}

static const double binomial[ORDERS][ORDERS] = {{1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}};

GW_LANE_INLINE void quotients(bool rational, int order, int order_v,
                              gw_homogeneous a[ORDERS][ORDERS], gw_nurbs_point *point)
{
    double over = rational ? 1 / a[0][0][3] : 1;
    for (int k = 0; k <= order; k++) {
        for (int l = 0; l <= order - k; l++) {
            gw_vec3 sum = {a[k][l][0], a[k][l][1], a[k][l][2]};
            for (int i = 0; rational && i <= k; i++)
                for (int j = i == 0; j <= l && j <= order_v; j++)
                    sum = gw_mul_add(sum, -binomial[k][i] * binomial[l][j] * a[i][j][3],
                                     point->d[k - i][l - j]);
            point->d[k][l] = gw_scale(over, sum);
        }
    }
}

/* With constant degrees and order the loops unroll. */
GW_LANE_INLINE void evaluate_in(const gw_nurbs *s, const int span[2], const double x[2], int p,
                                int q, int order, gw_nurbs_point *point)
{
    double nu[ORDERS][GW_MAX_NURBS_DEGREE + 1], nv[ORDERS][GW_MAX_NURBS_DEGREE + 1];
    gw_homogeneous a[ORDERS][ORDERS] = {{{0}}};
    int order_v = q == 0 ? 0 : order;
    basis(&s->direction[0], span[0], x[0], p, order, nu);
    basis(&s->direction[1], span[1], x[1], q, order_v, nv);
    homogeneous_sum(s, span, nu, nv, p, q, order, order_v, a);
    quotients(s->rational, order, order_v, a, point);
}

GW_TARGET_CLONES
static void evaluate_on_spans(const gw_nurbs *s, const int span[2], const double x[2], int order,
                              gw_nurbs_point *point)
{
    int p = s->direction[0].degree, q = s->direction[1].degree;
    if (p == 3 && q == 3 && order == 2)
        evaluate_in(s, span, x, 3, 3, 2, point);
    else if (p == 2 && q == 2 && order == 2)
        evaluate_in(s, span, x, 2, 2, 2, point);
    else if (p == 3 && q == 0 && order == 3)
        evaluate_in(s, span, x, 3, 0, 3, point);
    else
        evaluate_in(s, span, x, p, q, order, point);
}

void gw_nurbs_evaluate(const gw_nurbs *s, const double parameter[2], int order, gw_nurbs_span *span,
                       gw_nurbs_point *point)
{
    assert(s && order >= 0 && order <= GW_NURBS_ORDER);
    assert(isfinite(parameter[0]) && (s->dimension == 1 || isfinite(parameter[1])));
    int at[2] = {0, 0};
    double x[2] = {0, 0};
    for (int k = 0; k < s->dimension; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        double inside = parameter[k], beyond = 0;
        if (d->partial) {
            inside = fmin(fmax(inside, d->part[0]), d->part[1]);
            beyond = parameter[k] - inside;
        }
        x[k] = wrap_into_period(d, inside);
        at[k] = gw_nurbs_find_span(d, x[k], span ? span->at[k] : 0);
        x[k] += beyond;
        if (span)
            span->at[k] = at[k];
    }
    evaluate_on_spans(s, at, x, order, point);
}

void gw_nurbs_view(const gw_nurbs *s, gw_nurbs *view)
{
    assert(s && view);
    memcpy(view, s, sizeof *view);
}

void gw_nurbs_set_part(gw_nurbs *view, int k, double low, double high)
{
    assert(view && (k == 0 || k == 1) && low < high);
    gw_nurbs_direction *d = &view->direction[k];
    d->partial = isfinite(low) || isfinite(high);
    d->part[0] = low, d->part[1] = nextafter(high, low);
}

gw_vec3 gw_nurbs_normal(const gw_nurbs *s, const double parameter[2], const gw_nurbs_point *point)
{
    assert(s && s->dimension == 2);
    gw_vec3 u = point->d[1][0], v = point->d[0][1];
    /* speeds per domain, in metres */
    double length[2];
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        length[k] = gw_norm(k == 0 ? u : v) * (d->high - d->low);
    }
    /* near a pole at u = c: S_v = (u - c) S_uv, hence the sign of u - c; and the same for v */
    if (length[1] < 1e-9 * s->size) {
        const gw_nurbs_direction *d = &s->direction[0];
        v = gw_scale(2 * parameter[0] < d->low + d->high ? 1 : -1, point->d[1][1]);
    } else if (length[0] < 1e-9 * s->size) {
        const gw_nurbs_direction *d = &s->direction[1];
        u = gw_scale(2 * parameter[1] < d->low + d->high ? 1 : -1, point->d[1][1]);
    }
    return gw_unit(gw_cross(u, v));
}

bool gw_nurbs_into_domain(const gw_nurbs *s, double parameter[2])
{
    assert(s && parameter);
    bool ended = false;
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        double inside = k < s->dimension ? wrap_into_period(d, parameter[k]) : 0;
        parameter[k] = fmin(fmax(inside, d->low), d->high);
        ended = ended || parameter[k] != inside;
    }
    return ended;
}

void gw_nurbs_keep_trim(const gw_nurbs_direction *d, gw_nurbs_def *def, int k)
{
    def->trimmed[k] = d->trimmed;
    def->trim[k][0] = d->low;
    def->trim[k][1] = d->high;
}

void gw_nurbs_polar_weights(const gw_nurbs_direction *d, int span, const double *arguments,
                            double *weights)
{
    const double *knots = d->knots + span;
    assert(knots[0] < knots[1]);
    weights[0] = 1;
    for (int k = 1; k <= d->degree; k++) {
        double left = 0, t = arguments[k - 1];
        for (int r = 0; r < k; r++) {
            double share = weights[r] / (knots[r + 1] - knots[r + 1 - k]);
            weights[r] = left + (knots[r + 1] - t) * share;
            left = (t - knots[r + 1 - k]) * share;
        }
        weights[k] = left;
    }
}

/* ---- checks --------------------------------------------------------------------------------- */

/* "/member" of a curve, "/member/k" of a surface, and "/i" where i is not negative. */
static const char *member_pointer(char where[64], const gw_nurbs_def *def, const char *member,
                                  int k, int i)
{
    int n = snprintf(where, 64, "/%s", member);
    if (def->dimension == 2)
        n += snprintf(where + n, 64 - (size_t)n, "/%d", k);
    if (i >= 0)
        snprintf(where + n, 64 - (size_t)n, "/%d", i);
    return where;
}

static bool clamped_end(const double *knots, int degree, int end)
{
    int first = end == 0 ? 0 : end - degree;
    for (int i = 1; i <= degree; i++)
        if (knots[first + i] != knots[first])
            return false;
    return true;
}

/* True where the spacing of the knots about both ends of the domain is the same. */
static bool periodic_knots(const double *knots, int degree, int count)
{
    double period = knots[count] - knots[degree];
    for (int i = 0; i <= 2 * degree; i++)
        if (fabs(knots[i + count - degree] - knots[i] - period) > KNOT_EQUAL * period)
            return false;
    return true;
}

static bool check_knots(const gw_nurbs_def *def, int k, gw_error *error)
{
    char where[64];
    int degree = def->degree[k], count = def->count[k], run = 1;
    const double *knots = def->knots[k];
    if (def->knot_count[k] != count + degree + 1)
        return gw_fail(error, GW_BAD_INPUT, member_pointer(where, def, "knots", k, -1),
                       "%d knots, must be %d: %d control points + degree %d + 1",
                       def->knot_count[k], count + degree + 1, count, degree);
    for (int i = 0; i < def->knot_count[k]; i++) {
        if (!isfinite(knots[i]) || fabs(knots[i]) > 1e9)
            return gw_fail(error, GW_BAD_INPUT, member_pointer(where, def, "knots", k, i),
                           "a knot is %g, must be a number of at most 1e9", knots[i]);
        if (i > 0 && knots[i] < knots[i - 1])
            return gw_fail(error, GW_BAD_INPUT, member_pointer(where, def, "knots", k, i),
                           "knot %g is below the one before it, %g: knots must not fall", knots[i],
                           knots[i - 1]);
        run = i > 0 && knots[i] == knots[i - 1] ? run + 1 : 1;
        if (run > degree && knots[i] > knots[degree] && knots[i] < knots[count])
            return gw_fail(error, GW_BAD_INPUT, member_pointer(where, def, "knots", k, i),
                           "the inner knot %g is there %d times, at most %d (the degree): the "
                           "shape would fall apart there",
                           knots[i], run, degree);
    }
    double domain = knots[count] - knots[degree];
    for (int i = degree; i < count; i++)
        if (knots[i + 1] > knots[i] && knots[i + 1] - knots[i] < 1e-9 * domain)
            return gw_fail(
                error, GW_BAD_INPUT, member_pointer(where, def, "knots", k, i + 1),
                "knots %.17g and %.17g are closer than 1e-9 of the domain: make them one", knots[i],
                knots[i + 1]);
    if (!(domain > 0))
        return gw_fail(error, GW_BAD_INPUT, member_pointer(where, def, "knots", k, -1),
                       "the domain from knot %d to knot %d is empty", degree, count);
    const double *trim = def->trim[k];
    if (def->trimmed[k] && !(trim[0] >= knots[degree] && trim[1] <= knots[count] &&
                             trim[1] - trim[0] >= 1e-6 * domain))
        return gw_fail(error, GW_BAD_INPUT, member_pointer(where, def, "trim", k, -1),
                       "%g to %g must be a part of the domain, %g to %g", trim[0], trim[1],
                       knots[degree], knots[count]);
    bool clamped = clamped_end(knots, degree, 0) && clamped_end(knots, degree, count + degree);
    if (!clamped && !periodic_knots(knots, degree, count))
        return gw_fail(error, GW_BAD_INPUT, member_pointer(where, def, "knots", k, -1),
                       "the end knots are neither clamped (the first and the last %d equal) nor "
                       "periodic (the same spacing about both ends of the domain)",
                       degree + 1);
    return true;
}

static bool check_direction(const gw_nurbs_def *def, int k, gw_error *error)
{
    char where[64];
    if (def->degree[k] < 1 || def->degree[k] > GW_MAX_NURBS_DEGREE)
        return gw_fail(error, GW_BAD_INPUT, member_pointer(where, def, "degree", k, -1),
                       "degree is %d, must be 1 to %d", def->degree[k], GW_MAX_NURBS_DEGREE);
    if (def->count[k] < def->degree[k] + 1)
        return gw_fail(error, GW_BAD_INPUT, "/points",
                       "%d control points %sof degree %d, must be at least %d", def->count[k],
                       def->dimension == 1 ? ""
                       : k == 0            ? "along u "
                                           : "along v ",
                       def->degree[k], def->degree[k] + 1);
    return check_knots(def, k, error);
}

static bool check_definition(const gw_nurbs_def *def, gw_error *error)
{
    char where[64];
    for (int k = 0; k < def->dimension; k++)
        if (!check_direction(def, k, error))
            return false;
    int across = def->dimension == 2 ? def->count[1] : 1;
    if (def->count[0] > GW_MAX_NURBS_POINTS / across)
        return gw_fail(error, GW_TOO_LARGE, "/points", "%d x %d control points, at most %d",
                       def->count[0], across, GW_MAX_NURBS_POINTS);
    for (int i = 0; i < def->count[0] * across; i++) {
        int row = def->dimension == 2 ? i / across : 0;
        int column = def->dimension == 2 ? i % across : i;
        if (!gw_finite3(def->points[i]) || gw_norm(def->points[i]) > GW_MAX_SHAPE_EXTENT)
            return gw_fail(error, GW_BAD_INPUT, member_pointer(where, def, "points", row, column),
                           "a control point is not finite, or more than %g m away",
                           GW_MAX_SHAPE_EXTENT);
        if (def->weights && !(def->weights[i] >= 1e-6 && def->weights[i] <= 1e6))
            return gw_fail(error, GW_BAD_INPUT, member_pointer(where, def, "weights", row, column),
                           "a weight is %g, must be 1e-6 to 1e6", def->weights[i]);
    }
    return true;
}

/* ---- creation ------------------------------------------------------------------------------- */

static bool allocate_direction(gw_nurbs_direction *d, int degree, int count)
{
    size_t knots = (size_t)(count + degree + 1), rows = degree > 0 ? (size_t)degree : 1;
    *d = (gw_nurbs_direction){.degree = degree, .count = count};
    d->knots = malloc(knots * sizeof *d->knots);
    d->reciprocals = calloc(rows * knots, sizeof *d->reciprocals);
    d->kinks = malloc(knots * sizeof *d->kinks);
    d->bends = malloc(knots * sizeof *d->bends);
    d->rates = malloc(knots * sizeof *d->rates);
    return d->knots && d->reciprocals && d->kinks && d->bends && d->rates;
}

/* A trim, moved onto a knot that is nearer than the shortest span allowed. */
static double at_knot(const gw_nurbs_direction *d, double trim)
{
    double near = 1e-9 * (d->knots[d->count] - d->knots[d->degree]);
    for (int i = d->degree; i <= d->count; i++)
        if (fabs(d->knots[i] - trim) < near)
            return d->knots[i];
    return trim;
}

static void fill_direction(gw_nurbs_direction *d, const double *knots, const double *trim)
{
    int all = d->count + d->degree + 1;
    memcpy(d->knots, knots, (size_t)all * sizeof *knots);
    for (int k = 1; k <= d->degree; k++) {
        double *row = d->reciprocals + (k - 1) * all;
        for (int j = 0; j + k < all; j++)
            row[j] = knots[j + k] > knots[j] ? 1 / (knots[j + k] - knots[j]) : 0;
    }
    d->trimmed = trim != NULL;
    d->low = trim ? at_knot(d, trim[0]) : knots[d->degree];
    d->high = trim ? at_knot(d, trim[1]) : knots[d->count];
}

static void fill_points(gw_nurbs *s, const gw_nurbs_def *def)
{
    int all = s->direction[0].count * s->direction[1].count;
    gw_aabb *box = &s->bounds;
    *box = (gw_aabb){def->points[0], def->points[0]};
    /* equal weights are all 1: only their ratios matter */
    for (int i = 0; def->weights && i < all; i++)
        s->rational = s->rational || def->weights[i] != def->weights[0];
    for (int i = 0; i < all; i++) {
        gw_vec3 p = s->stated[i] = def->points[i];
        if (def->weights)
            s->weights[i] = def->weights[i];
        double w = s->rational ? def->weights[i] : 1;
        s->points[i] = (gw_homogeneous){w * p.x, w * p.y, w * p.z, w};
        box->low = gw_v3(fmin(box->low.x, p.x), fmin(box->low.y, p.y), fmin(box->low.z, p.z));
        box->high = gw_v3(fmax(box->high.x, p.x), fmax(box->high.y, p.y), fmax(box->high.z, p.z));
    }
    s->size = gw_distance(box->low, box->high);
}

bool gw_nurbs_same_spans(const gw_nurbs *a, const gw_nurbs *b)
{
    bool same = a->dimension == b->dimension && a->rational == b->rational;
    for (int k = 0; same && k < a->dimension; k++) {
        const gw_nurbs_direction *p = &a->direction[k], *q = &b->direction[k];
        same =
            p->degree == q->degree && p->count == q->count && p->low == q->low &&
            p->high == q->high && p->trimmed == q->trimmed &&
            memcmp(p->knots, q->knots, (size_t)(p->count + p->degree + 1) * sizeof *p->knots) == 0;
    }
    return same;
}

bool gw_nurbs_equal(const gw_nurbs *a, const gw_nurbs *b)
{
    size_t points = (size_t)(a->direction[0].count * a->direction[1].count);
    return gw_nurbs_same_spans(a, b) && !a->weights == !b->weights &&
           memcmp(a->stated, b->stated, points * sizeof *a->stated) == 0 &&
           (!a->weights || memcmp(a->weights, b->weights, points * sizeof *a->weights) == 0);
}

/* True if control points i and j coincide. */
static bool same_point(const gw_nurbs *s, int i, int j)
{
    const gw_homogeneous a = s->points[i], b = s->points[j];
    double across = 0;
    for (int k = 0; k < 3; k++)
        across = fmax(across, fabs(a[k] / a[3] - b[k] / b[3]));
    return across <= MEETING * s->size && fabs(a[3] - b[3]) <= MEETING * (fabs(a[3]) + fabs(b[3]));
}

/* True if the first `repeat` rows of control points across direction k equal the last ones. */
static bool rows_repeat(const gw_nurbs *s, int k, int repeat)
{
    int along = s->direction[k].count, across = s->direction[1 - k].count;
    int step = k == 0 ? s->direction[1].count : 1, side = k == 0 ? 1 : s->direction[1].count;
    for (int i = 0; i < repeat; i++)
        for (int j = 0; j < across; j++)
            if (!same_point(s, i * step + j * side, (along - repeat + i) * step + j * side))
                return false;
    return true;
}

static void find_closed(gw_nurbs *s, int k)
{
    gw_nurbs_direction *d = &s->direction[k];
    bool clamped = clamped_end(d->knots, d->degree, 0);
    /* an end that is one point is a pole, and two such do not close a surface */
    int repeat = clamped ? 1 : d->degree;
    d->closed = !d->trimmed && rows_repeat(s, k, repeat);
}

/* The point with its derivatives on span `span` of direction k at its knot u. */
static void evaluate_side(const gw_nurbs *s, int k, int span, double u, double v, int order,
                          gw_nurbs_point *point)
{
    double x[2] = {k == 0 ? u : v, k == 0 ? v : u};
    int at[2] = {span, 0};
    if (s->dimension == 2) {
        at[1 - k] = gw_nurbs_find_span(&s->direction[1 - k], v, 0);
        at[k] = span;
    }
    evaluate_on_spans(s, at, x, order, point);
}

/* The tangent of a curve, or normal of a surface, there; zero at a pole. */
static gw_vec3 side_direction(const gw_nurbs *s, int k, int span, double u, double v)
{
    gw_nurbs_point point;
    evaluate_side(s, k, span, u, v, 1, &point);
    gw_vec3 a = point.d[1][0], b = point.d[0][1];
    return gw_unit(s->dimension == 1 ? a : gw_cross(a, b));
}

/*
 * The curvature there: of a curve, its vector; of a surface the normal one across the knot's line,
 *
 *   N . (S_kk x^2 + 2 S_kl x y + S_ll y^2),  c = S_k x + S_l y a unit vector across S_l,
 *
 * along N. The others are those of the line itself, on either side. Zero at a pole.
 */
static gw_vec3 side_curvature(const gw_nurbs *s, int k, int span, double u, double v)
{
    gw_nurbs_point p;
    evaluate_side(s, k, span, u, v, 2, &p);
    if (s->dimension == 1) {
        double speed2 = gw_norm2(p.d[1][0]);
        return speed2 > 0 ? gw_scale(1 / speed2, gw_reject(p.d[2][0], gw_unit(p.d[1][0])))
                          : gw_v3(0, 0, 0);
    }
    gw_vec3 across = k == 0 ? p.d[1][0] : p.d[0][1], along = k == 0 ? p.d[0][1] : p.d[1][0];
    gw_vec3 kk = k == 0 ? p.d[2][0] : p.d[0][2], ll = k == 0 ? p.d[0][2] : p.d[2][0];
    double length2 = gw_norm2(along);
    if (!(length2 > 0))
        return gw_v3(0, 0, 0);
    double y = -gw_dot(across, along) / length2;
    double width2 = gw_norm2(gw_mul_add(across, y, along));
    if (!(width2 > 0))
        return gw_v3(0, 0, 0);
    gw_vec3 n = gw_unit(gw_cross(across, along));
    gw_vec3 second = gw_mul_add(gw_mul_add(kk, 2 * y, p.d[1][1]), y * y, ll);
    return gw_scale(gw_dot(n, second) / width2, n);
}

typedef bool jump_test(const gw_nurbs *s, int k, const int span[2], const double u[2], double v);

static bool turns_at_once(const gw_nurbs *s, int k, const int span[2], const double u[2], double v)
{
    gw_vec3 a = side_direction(s, k, span[0], u[0], v), b = side_direction(s, k, span[1], u[1], v);
    return gw_norm(a) > 0 && gw_norm(b) > 0 && gw_angle_between(a, b) > TANGENT_TURNS;
}

static bool bends_at_once(const gw_nurbs *s, int k, const int span[2], const double u[2], double v)
{
    gw_vec3 a = side_curvature(s, k, span[0], u[0], v), b = side_curvature(s, k, span[1], u[1], v);
    return gw_distance(a, b) > CURVATURE_JUMPS * (gw_norm(a) + gw_norm(b) + 1 / s->size);
}

/* True if the test holds at a sample along the knots at the end of span `before` and the start of
 * span `after` of direction k. */
static bool holds_across(const gw_nurbs *s, int k, int before, int after, jump_test *holds)
{
    enum { SAMPLES = 9 };
    const gw_nurbs_direction *d = &s->direction[k], *other = &s->direction[1 - k];
    int samples = s->dimension == 1 ? 1 : SAMPLES, span[2] = {before, after};
    double u[2] = {d->knots[before + 1], d->knots[after]};
    for (int i = 0; i < samples; i++) {
        double v =
            s->dimension == 1 ? 0 : other->low + (other->high - other->low) * (i + 0.5) / SAMPLES;
        if (holds(s, k, span, u, v))
            return true;
    }
    return false;
}

/* Classifies the knot of this multiplicity at x, or the seam, by what jumps across it. */
static void note_knot(gw_nurbs *s, int k, int before, int after, int repeats, double x)
{
    gw_nurbs_direction *d = &s->direction[k];
    if (repeats >= d->degree && holds_across(s, k, before, after, turns_at_once)) {
        d->kinks[d->kink_count++] = x;
        return;
    }
    if (repeats < d->degree - 3)
        return;
    if (repeats >= d->degree - 1 && holds_across(s, k, before, after, bends_at_once))
        d->bends[d->bend_count++] = x;
    else
        d->rates[d->rate_count++] = x;
}

static void find_kinks(gw_nurbs *s, int k)
{
    gw_nurbs_direction *d = &s->direction[k];
    int first = gw_nurbs_find_span(d, d->low, 0), last = gw_nurbs_find_span(d, d->high, 0);
    if (d->closed && holds_across(s, k, last, first, turns_at_once))
        d->kinks[d->kink_count++] = d->low;
    else if (d->closed && (d->degree < 3 || d->knots[0] == d->knots[d->degree]))
        note_knot(s, k, last, first, d->degree - 1, d->low);
    else if (d->closed && d->degree < 5)
        note_knot(s, k, last, first, 1, d->low);
    for (int before = first; before < last;) {
        int after = before + 1;
        while (d->knots[after] >= d->knots[after + 1])
            after++;
        /* knots before + 1 to after are equal */
        if (d->knots[after] < d->high)
            note_knot(s, k, before, after, after - before, d->knots[after]);
        before = after;
    }
}

#define LEAST_AREA 1e-12 /* of S_u x S_v over the whole domain, by the size squared */

/* The parameter at a fraction `share` of the domain's part of the span above knot i; false if there
 * is no such part. */
static bool within_span(const gw_nurbs_direction *d, int i, double share, double *parameter)
{
    double low = fmax(d->knots[i], d->low), high = fmin(d->knots[i + 1], d->high);
    *parameter = low + share * (high - low);
    return low < high;
}

/* True if some pair of spans has area, so that the surface is not a line or a curve. Sampled beside
 * the middle, where a symmetric surface may be folded. */
static bool has_area(const gw_nurbs *s)
{
    static const double share[2][2] = {{0.31, 0.43}, {0.83, 0.69}};
    const gw_nurbs_direction *u = &s->direction[0], *v = &s->direction[1];
    double least = LEAST_AREA * s->size * s->size / (u->high - u->low) / (v->high - v->low), z[2];
    gw_nurbs_point at;
    for (int i = u->degree; i < u->count; i++)
        for (int j = v->degree; j < v->count; j++)
            for (int k = 0; k < 2; k++) {
                if (!within_span(u, i, share[k][0], &z[0]) ||
                    !within_span(v, j, share[k][1], &z[1]))
                    continue;
                gw_nurbs_evaluate(s, z, 1, NULL, &at);
                if (gw_norm(gw_cross(at.d[1][0], at.d[0][1])) > least)
                    return true;
            }
    return false;
}

gw_nurbs *gw_nurbs_create(const gw_nurbs_def *def, gw_error *error)
{
    assert(def && (def->dimension == 1 || def->dimension == 2));
    if (!check_definition(def, error))
        return NULL;
    bool surface = def->dimension == 2;
    gw_nurbs *s = calloc(1, sizeof *s);
    if (s) {
        int across = surface ? def->count[1] : 1;
        s->dimension = def->dimension;
        atomic_init(&s->references, 1);
        s->points = malloc((size_t)(def->count[0] * across) * sizeof *s->points);
        s->stated = malloc((size_t)(def->count[0] * across) * sizeof *s->stated);
        if (def->weights)
            s->weights = malloc((size_t)(def->count[0] * across) * sizeof *s->weights);
        bool u = allocate_direction(&s->direction[0], def->degree[0], def->count[0]);
        bool v = allocate_direction(&s->direction[1], surface ? def->degree[1] : 0, across);
        if (!s->points || !s->stated || (def->weights && !s->weights) || !u || !v) {
            gw_nurbs_put(s);
            s = NULL;
        }
    }
    if (!s) {
        gw_fail(error, GW_FAILED, "", "no memory for a curve or surface");
        return NULL;
    }
    for (int k = 0; k < 2; k++)
        fill_direction(&s->direction[k], k < def->dimension ? def->knots[k] : (double[]){0, 1},
                       k < def->dimension && def->trimmed[k] ? def->trim[k] : NULL);
    fill_points(s, def);
    const bool near = def->like && gw_nurbs_same_spans(s, def->like);
    if (near && gw_nurbs_equal(s, def->like)) {
        gw_nurbs_put(s);
        return gw_nurbs_get(def->like);
    }
    if (!(s->size > 1e-9)) {
        gw_nurbs_put(s);
        gw_fail(error, GW_BAD_INPUT, "/points", "all control points are one");
        return NULL;
    }
    if (surface && !has_area(s)) {
        gw_nurbs_put(s);
        gw_fail(error, GW_BAD_INPUT, "/points",
                "the surface has no area: its control points, in rows along u, are on a line or "
                "repeat a curve; a nurbs-curve may be meant");
        return NULL;
    }
    for (int k = 0; k < s->dimension; k++) {
        find_closed(s, k);
        find_kinks(s, k);
    }
    s->tree = gw_nurbs_tree_create(s, near ? def->like : NULL);
    if (!s->tree) {
        gw_nurbs_put(s);
        gw_fail(error, GW_FAILED, "", "no memory for the tree of a curve or surface");
        return NULL;
    }
    if (s->direction[0].trimmed || s->direction[1].trimmed) {
        s->bounds = gw_nurbs_tree_bounds(s->tree);
        s->size = gw_distance(s->bounds.low, s->bounds.high);
    }
    if (surface && !gw_nurbs_make_edges(s, near ? def->like : NULL, error)) {
        gw_nurbs_put(s);
        return NULL;
    }
    if (surface && !gw_nurbs_make_poles(s)) {
        gw_nurbs_put(s);
        gw_fail(error, GW_FAILED, "", "no memory for the poles of a surface");
        return NULL;
    }
    return s;
}

gw_nurbs *gw_nurbs_get(gw_nurbs *s)
{
    atomic_fetch_add_explicit(&s->references, 1, memory_order_relaxed);
    return s;
}

void gw_nurbs_put(gw_nurbs *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->references, 1, memory_order_acq_rel) > 1)
        return;
    for (int k = 0; k < 2; k++) {
        free(s->direction[k].knots);
        free(s->direction[k].reciprocals);
        free(s->direction[k].kinks);
        free(s->direction[k].bends);
        free(s->direction[k].rates);
    }
    for (int k = 0; k < 4; k++) {
        gw_nurbs_put(s->edge[k]);
        free(s->pole[k]);
    }
    gw_nurbs_tree_destroy(s->tree);
    free(s->points);
    free(s->stated);
    free(s->weights);
    free(s);
}
