/*
 * Refinement: the same curve or surface with other control points. Not for use inside a tick.
 *
 * Everything follows from polar forms (Ramshaw, Blossoming: a connect-the-dots approach to splines,
 * 1987): control point i of a spline of degree d on knots T is f(T_i+1, .., T_i+d), f being the
 * polar form of any span that it acts on. So knot insertion evaluates f at the new knots, a Bezier
 * piece of low .. high at low and high, and degree elevation averages over the argument left out:
 *
 *   F(t_1, .., t_d+1) = sum_k f(t_1, .., t_k-1, t_k+1, .., t_d+1) / (d + 1)
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rt/geometry/nurbs.h"

int gw_nurbs_spans(const gw_nurbs *s, int direction, int *spans)
{
    assert(s && (direction == 0 || direction == 1));
    const gw_nurbs_direction *d = &s->direction[direction];
    int count = 0;
    for (int i = d->degree; i < d->count; i++) {
        if (d->knots[i + 1] <= d->knots[i] || d->knots[i + 1] <= d->low || d->knots[i] >= d->high)
            continue;
        if (spans)
            spans[count] = i;
        count++;
    }
    return count;
}

void gw_nurbs_bezier(const gw_nurbs *s, const int span[2], const double low[2],
                     const double high[2], gw_homogeneous *points)
{
    double weights[2][GW_MAX_NURBS_DEGREE + 1][GW_MAX_NURBS_DEGREE + 1];
    gw_homogeneous half[GW_BEZIER_POINTS];
    int p = s->direction[0].degree, q = s->direction[1].degree, columns = s->direction[1].count;
    for (int k = 0; k < 2; k++) {
        int degree = s->direction[k].degree;
        for (int i = 0; i <= degree; i++) {
            double arguments[GW_MAX_NURBS_DEGREE + 1];
            for (int j = 0; j < degree; j++)
                arguments[j] = j < degree - i ? low[k] : high[k];
            gw_nurbs_polar_weights(&s->direction[k], span[k], arguments, weights[k][i]);
        }
    }
    const gw_homogeneous *block = s->points + (span[0] - p) * columns + span[1] - q;
    for (int i = 0; i <= p; i++) {
        for (int b = 0; b <= q; b++) {
            gw_homogeneous sum = {0, 0, 0, 0};
            for (int j = 0; j <= q; j++)
                sum += weights[1][b][j] * block[i * columns + j];
            half[i * (q + 1) + b] = sum;
        }
    }
    for (int a = 0; a <= p; a++) {
        for (int b = 0; b <= q; b++) {
            gw_homogeneous sum = {0, 0, 0, 0};
            for (int i = 0; i <= p; i++)
                sum += weights[0][a][i] * half[i * (q + 1) + b];
            points[a * (q + 1) + b] = sum;
        }
    }
}

/* New degree and knots of one direction. */
typedef struct refinement {
    int direction, degree, count; /* of control points */
    double *knots;                /* count + degree + 1, clamped */
} refinement;

/* Weights of the old control points in new control point i; returns the span of the old control
 * points. */
static int new_weights(const gw_nurbs_direction *d, const refinement *to, int i, double *weights)
{
    /* the span that the middle of the new point's knots is on */
    double middle = 0.5 * (to->knots[i] + to->knots[i + to->degree + 1]);
    int span = gw_nurbs_find_span(d, middle, 0), left_out = to->degree - d->degree;
    memset(weights, 0, (size_t)(d->degree + 1) * sizeof *weights);
    int variants = left_out ? to->degree : 1;
    for (int k = 0; k < variants; k++) {
        double arguments[GW_MAX_NURBS_DEGREE + 1], part[GW_MAX_NURBS_DEGREE + 1];
        int n = 0;
        for (int j = 0; j < to->degree; j++)
            if (!left_out || j != k)
                arguments[n++] = to->knots[i + 1 + j];
        gw_nurbs_polar_weights(d, span, arguments, part);
        for (int r = 0; r <= d->degree; r++)
            weights[r] += part[r] / variants;
    }
    return span;
}

static gw_nurbs *refine_knots(const gw_nurbs *s, const refinement *to, gw_error *error)
{
    const gw_nurbs_direction *d = &s->direction[to->direction];
    int across = s->direction[1 - to->direction].count, columns = s->direction[1].count;
    int new_columns = to->direction == 1 ? to->count : columns;
    size_t all = (size_t)(to->count * across);
    gw_vec3 *points = malloc(all * sizeof *points);
    double *weights = malloc(all * sizeof *weights);
    gw_nurbs *result = NULL;
    for (int i = 0; points && weights && i < to->count; i++) {
        double share[GW_MAX_NURBS_DEGREE + 1];
        int first = new_weights(d, to, i, share) - d->degree;
        for (int j = 0; j < across; j++) {
            gw_homogeneous sum = {0, 0, 0, 0};
            for (int r = 0; r <= d->degree; r++)
                sum += share[r] * s->points[to->direction == 0 ? (first + r) * columns + j
                                                               : j * columns + first + r];
            int at = to->direction == 0 ? i * new_columns + j : j * new_columns + i;
            points[at] = gw_v3(sum[0] / sum[3], sum[1] / sum[3], sum[2] / sum[3]);
            weights[at] = sum[3];
        }
    }
    if (points && weights) {
        gw_nurbs_def def = {
            .dimension = s->dimension, .points = points, .weights = s->rational ? weights : NULL};
        for (int k = 0; k < 2; k++) {
            bool changed = k == to->direction;
            def.degree[k] = changed ? to->degree : s->direction[k].degree;
            def.count[k] = changed ? to->count : s->direction[k].count;
            def.knots[k] = changed ? to->knots : s->direction[k].knots;
            def.knot_count[k] = def.count[k] + def.degree[k] + 1;
            if (!changed)
                gw_nurbs_keep_trim(&s->direction[k], &def, k);
        }
        result = gw_nurbs_create(&def, error);
    } else {
        gw_fail(error, GW_FAILED, "", "no memory to refine a curve or surface");
    }
    free(points);
    free(weights);
    return result;
}

/* Clamped knots of `degree` with the direction's inner knots, each `more` times more, and room for
 * `extra`; their number, without the room. */
static int clamped_knots(const gw_nurbs_direction *d, int degree, int more, int extra,
                         double **knots)
{
    int n = 0, room = 2 * (degree + 1) + (1 + more) * d->count + extra;
    *knots = malloc((size_t)room * sizeof **knots);
    if (!*knots)
        return 0;
    for (int i = 0; i <= degree; i++)
        (*knots)[n++] = d->low;
    for (int i = d->degree + 1; i < d->count; i++) {
        if (d->knots[i] <= d->low || d->knots[i] >= d->high)
            continue;
        (*knots)[n++] = d->knots[i];
        if (d->knots[i + 1] > d->knots[i])
            for (int k = 0; k < more; k++)
                (*knots)[n++] = d->knots[i];
    }
    for (int i = 0; i <= degree; i++)
        (*knots)[n++] = d->high;
    return n;
}

static int compare_knots(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

gw_nurbs *gw_nurbs_insert_knots(const gw_nurbs *s, int direction, int count, const double *knots,
                                gw_error *error)
{
    assert(direction >= 0 && direction < s->dimension && count >= 0);
    const gw_nurbs_direction *d = &s->direction[direction];
    for (int i = 0; i < count; i++) {
        if (!(knots[i] > d->low && knots[i] < d->high)) {
            gw_fail(error, GW_BAD_INPUT, "/knots", "the new knot %g must be inside of %g .. %g",
                    knots[i], d->low, d->high);
            return NULL;
        }
    }
    refinement to = {.direction = direction, .degree = d->degree};
    int n = clamped_knots(d, d->degree, 0, count, &to.knots);
    if (!to.knots) {
        gw_fail(error, GW_FAILED, "", "no memory to refine a curve or surface");
        return NULL;
    }
    if (count > 0)
        memcpy(to.knots + n, knots, (size_t)count * sizeof *knots);
    qsort(to.knots, (size_t)(n + count), sizeof *to.knots, compare_knots);
    to.count = n + count - d->degree - 1;
    gw_nurbs *result = refine_knots(s, &to, error);
    free(to.knots);
    return result;
}

gw_nurbs *gw_nurbs_elevate(const gw_nurbs *s, int direction, gw_error *error)
{
    assert(direction >= 0 && direction < s->dimension);
    const gw_nurbs_direction *d = &s->direction[direction];
    refinement to = {.direction = direction, .degree = d->degree + 1};
    if (d->degree == GW_MAX_NURBS_DEGREE) {
        gw_fail(error, GW_BAD_INPUT, "/degree", "the degree is at most %d", GW_MAX_NURBS_DEGREE);
        return NULL;
    }
    int n = clamped_knots(d, to.degree, 1, 0, &to.knots);
    if (!to.knots) {
        gw_fail(error, GW_FAILED, "", "no memory to refine a curve or surface");
        return NULL;
    }
    to.count = n - to.degree - 1;
    gw_nurbs *result = refine_knots(s, &to, error);
    free(to.knots);
    return result;
}

/* ---- edges ---------------------------------------------------------------------------------- */

/* Control points along the other direction at an end of direction k; NULL if memory is exhausted,
 * or, with *point set, if they coincide. */
static gw_nurbs *edge_of(const gw_nurbs *s, int k, bool upper, gw_nurbs *like, bool *point,
                         gw_error *error)
{
    const gw_nurbs_direction *d = &s->direction[k], *other = &s->direction[1 - k];
    double at[GW_MAX_NURBS_DEGREE + 1], share[GW_MAX_NURBS_DEGREE + 1];
    gw_vec3 *points = malloc((size_t)other->count * sizeof *points);
    double *weights = malloc((size_t)other->count * sizeof *weights), extent = 0;
    gw_nurbs *edge = NULL;
    int span = gw_nurbs_find_span(d, upper ? d->high : d->low, 0), columns = s->direction[1].count;
    for (int i = 0; i < d->degree; i++)
        at[i] = upper ? d->high : d->low;
    gw_nurbs_polar_weights(d, span, at, share);
    for (int j = 0; points && weights && j < other->count; j++) {
        gw_homogeneous sum = {0, 0, 0, 0};
        for (int r = 0; r <= d->degree; r++) {
            int i = span - d->degree + r;
            sum += share[r] * s->points[k == 0 ? i * columns + j : j * columns + i];
        }
        points[j] = gw_v3(sum[0] / sum[3], sum[1] / sum[3], sum[2] / sum[3]);
        weights[j] = sum[3];
        extent = fmax(extent, gw_distance(points[j], points[0]));
    }
    *point = extent < 1e-8 * s->size || extent < 2e-9;
    gw_nurbs_def def = {.dimension = 1,
                        .degree = {other->degree},
                        .count = {other->count},
                        .knot_count = {other->count + other->degree + 1},
                        .knots = {other->knots},
                        .points = points,
                        .weights = s->rational ? weights : NULL,
                        .like = like};
    gw_nurbs_keep_trim(other, &def, 0);
    if (points && weights && !*point)
        edge = gw_nurbs_create(&def, error);
    else if (!points || !weights)
        gw_fail(error, GW_FAILED, "", "no memory for the edges of a surface");
    free(points);
    free(weights);
    return edge;
}

bool gw_nurbs_make_edges(gw_nurbs *s, const gw_nurbs *like, gw_error *error)
{
    for (int i = 0; i < 4; i++) {
        bool point = false;
        s->edge[i] = edge_of(s, i / 2, i % 2, like ? like->edge[i] : NULL, &point, error);
        if (!s->edge[i] && !point)
            return false;
    }
    return true;
}
