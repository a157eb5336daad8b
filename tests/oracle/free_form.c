/*
 * Free-form shapes by de Boor's algorithm, a row of control points at a time; local minima of the
 * distance from samples of the whole domain, each refined by the Gauss-Newton method with
 * parameters held at their bounds. Single-threaded.
 */
#include "tests/oracle/free_form.h"

#include <assert.h>
#include <float.h>
#include <string.h>

#define MOST_ORDER (GW_MAX_NURBS_DEGREE + 1)
#define MOST_GRID  40 /* samples along a direction */
#define GRIDS      64 /* shapes whose samples are kept */
#define STEPS      60

#define NEWTON_STEPS 10 /* Newton steps after the Gauss-Newton steps */

/* ---- evaluation ------------------------------------------------------------------------------ */

typedef struct homogeneous {
    double c[4];
} homogeneous;

/* The span of a parameter: knots[k] <= t < knots[k + 1], the last one closed. */
static int span_of(const gw_nurbs_direction *d, double t)
{
    int k = d->degree;
    while (k + 1 < d->count && d->knots[k + 1] <= t)
        k++;
    return k;
}

/* De Boor's triangle on degree + 1 points of the span k: the value, and the derivative from the
 * last two. `q` is overwritten. */
static homogeneous triangle(const gw_nurbs_direction *d, int k, double t, homogeneous *q,
                            homogeneous *rate)
{
    int p = d->degree;
    *rate = (homogeneous){{0}};
    for (int r = 1; r <= p; r++)
        for (int j = p; j >= r; j--) {
            double low = d->knots[j + k - p], high = d->knots[j + 1 + k - r];
            double a = (t - low) / (high - low);
            for (int c = 0; c < 4; c++) {
                if (r == p)
                    rate->c[c] = p * (q[j].c[c] - q[j - 1].c[c]) / (high - low);
                q[j].c[c] = (1 - a) * q[j - 1].c[c] + a * q[j].c[c];
            }
        }
    return q[p];
}

static homogeneous control(const gw_nurbs *s, int i, int j)
{
    int at = i * (s->dimension == 2 ? s->direction[1].count : 1) + j;
    double w = s->weights ? s->weights[at] : 1;
    gw_vec3 p = s->stated[at];
    return (homogeneous){{w * p.x, w * p.y, w * p.z, w}};
}

static gw_vec3 place(const homogeneous *h)
{
    return gw_scale(1 / h->c[3], gw_v3(h->c[0], h->c[1], h->c[2]));
}

/* (a - w p) / weight: the derivative of a quotient. */
static gw_vec3 quotient_rate(const homogeneous *a, gw_vec3 p, double weight)
{
    return gw_scale(1 / weight, gw_mul_add(gw_v3(a->c[0], a->c[1], a->c[2]), -a->c[3], p));
}

/* The normal of a surface; where one of the tangents vanishes, its limit from within the domain,
 * where that tangent grows with the mixed derivative. */
static gw_vec3 normal_of(const gw_nurbs *s, const double z[2], const form_point *at, gw_vec3 mixed,
                         bool *degenerate)
{
    gw_vec3 n = gw_cross(at->d[0], at->d[1]);
    double span[2], speed[2];
    for (int k = 0; k < 2; k++) {
        span[k] = s->direction[k].high - s->direction[k].low;
        speed[k] = gw_norm(at->d[k]) * span[k];
    }
    *degenerate = fmin(speed[0], speed[1]) < 1e-9 * s->size;
    if (!*degenerate || fmax(speed[0], speed[1]) < 1e-9 * s->size)
        return gw_unit(n);
    int gone = speed[0] < speed[1] ? 0 : 1;
    const gw_nurbs_direction *along = &s->direction[1 - gone];
    double inward = z[1 - gone] < 0.5 * (along->low + along->high) ? 1 : -1;
    gw_vec3 grown = gw_scale(inward, mixed);
    return gw_unit(gone == 0 ? gw_cross(grown, at->d[1]) : gw_cross(at->d[0], grown));
}

void form_at(const gw_nurbs *s, const double z[2], form_point *at)
{
    const gw_nurbs_direction *u = &s->direction[0], *v = &s->direction[1];
    homogeneous row[MOST_ORDER], rows[MOST_ORDER], rates[MOST_ORDER], by_u, by_v, by_uv;
    int k = span_of(u, z[0]), l = s->dimension == 2 ? span_of(v, z[1]) : 0;
    for (int i = 0; i <= u->degree; i++) {
        rates[i] = (homogeneous){{0}};
        if (s->dimension == 1) {
            rows[i] = control(s, k - u->degree + i, 0);
            continue;
        }
        for (int j = 0; j <= v->degree; j++)
            row[j] = control(s, k - u->degree + i, l - v->degree + j);
        rows[i] = triangle(v, l, z[1], row, &rates[i]);
    }
    homogeneous h = triangle(u, k, z[0], rows, &by_u);
    by_v = triangle(u, k, z[0], rates, &by_uv);
    at->p = place(&h);
    at->d[0] = quotient_rate(&by_u, at->p, h.c[3]);
    at->d[1] = quotient_rate(&by_v, at->p, h.c[3]);
    gw_vec3 mixed = quotient_rate(&by_uv, at->p, h.c[3]);
    mixed = gw_mul_add(mixed, -by_u.c[3] / h.c[3], at->d[1]);
    mixed = gw_mul_add(mixed, -by_v.c[3] / h.c[3], at->d[0]);
    at->degenerate = false;
    at->direction =
        s->dimension == 1 ? gw_unit(at->d[0]) : normal_of(s, z, at, mixed, &at->degenerate);
}

void form_into_domain(const gw_nurbs *s, double z[2])
{
    for (int k = 0; k < s->dimension; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        double span = d->high - d->low;
        if (d->closed)
            z[k] -= span * floor((z[k] - d->low) / span);
        z[k] = fmin(d->high, fmax(d->low, z[k]));
    }
    if (s->dimension == 1)
        z[1] = 0;
}

/* ---- samples --------------------------------------------------------------------------------- */

typedef struct grid {
    const gw_nurbs *of;
    double mark; /* checksum of the shape: another shape may get the same address */
    int n[2];
    gw_vec3 p[MOST_GRID * MOST_GRID], d[MOST_GRID * MOST_GRID];
} grid;

static void sample_parameters(const gw_nurbs *s, const grid *g, int at, double z[2])
{
    int ij[2] = {at / g->n[1], at % g->n[1]};
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        z[k] = k < s->dimension ? d->low + (d->high - d->low) * ij[k] / (g->n[k] - 1) : 0;
    }
}

static double mark_of(const gw_nurbs *s)
{
    int n = s->direction[0].count * (s->dimension == 2 ? s->direction[1].count : 1);
    double sum = s->size;
    for (int k = 0; k < s->dimension; k++)
        sum += (k + 1) * (s->direction[k].low + 3 * s->direction[k].high + s->direction[k].degree);
    for (int i = 0; i < n; i += 1 + n / 64)
        sum += (i + 1) * (s->stated[i].x + 3 * s->stated[i].y + 7 * s->stated[i].z +
                          (s->weights ? s->weights[i] : 1));
    return sum;
}

static const grid *grid_of(const gw_nurbs *s)
{
    static grid kept[GRIDS];
    static int next;
    double mark = mark_of(s);
    for (int i = 0; i < GRIDS; i++)
        if (kept[i].of == s && kept[i].mark == mark)
            return &kept[i];
    grid *g = &kept[next++ % GRIDS];
    g->of = s;
    g->mark = mark;
    g->n[1] = 1;
    for (int k = 0; k < s->dimension; k++) {
        int n = 6 * (s->direction[k].count - s->direction[k].degree) + 9;
        g->n[k] = n < MOST_GRID ? n : MOST_GRID;
    }
    for (int i = 0; i < g->n[0] * g->n[1]; i++) {
        double z[2];
        form_point at;
        sample_parameters(s, g, i, z);
        form_at(s, z, &at);
        g->p[i] = at.p;
        g->d[i] = at.direction;
    }
    return g;
}

/* ---- closest points -------------------------------------------------------------------------- */

/* Derivatives of S + value n by the parameters as fractions of the domain, by differences if there
 * is an offset. */
static void columns(const gw_nurbs *s, const double z[2], double value, const form_point *at,
                    gw_vec3 c[2])
{
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        double span = d->high - d->low, step = 1e-6 * span;
        c[k] = k < s->dimension ? gw_scale(span, at->d[k]) : gw_v3(0, 0, 0);
        if (value == 0 || k >= s->dimension)
            continue;
        double low[2] = {z[0], z[1]}, high[2] = {z[0], z[1]};
        form_point a, b;
        low[k] = fmax(d->low, z[k] - step);
        high[k] = fmin(d->high, z[k] + step);
        form_at(s, low, &a);
        form_at(s, high, &b);
        gw_vec3 rate = gw_scale(1 / (high[k] - low[k]), gw_sub(b.direction, a.direction));
        c[k] = gw_mul_add(c[k], value * span, rate);
    }
}

/* One damped step n^-1 g of the parameters as fractions of the domain, with the slopes g and their
 * derivatives -n; parameters at a bound that would leave it are fixed. */
static void parameter_step(const gw_nurbs *s, double n[2][2], double g[2], double damping,
                           const double z[2], double next[2])
{
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        bool held = k >= s->dimension ||
                    (!d->closed && ((z[k] <= d->low && g[k] < 0) || (z[k] >= d->high && g[k] > 0)));
        if (held) {
            g[k] = n[k][1 - k] = 0;
            n[k][k] = 1;
        }
    }
    if (g[0] == 0)
        n[1][0] = 0;
    if (g[1] == 0)
        n[0][1] = 0;
    double floor_u = damping * (n[0][0] + 1e-12 * s->size * s->size),
           floor_v = damping * (n[1][1] + 1e-12 * s->size * s->size);
    double a = n[0][0] + floor_u, b = n[1][1] + floor_v;
    double det = a * b - n[0][1] * n[1][0];
    double step[2] = {0, 0};
    if (det > 0) {
        step[0] = (b * g[0] - n[0][1] * g[1]) / det;
        step[1] = (a * g[1] - n[1][0] * g[0]) / det;
    }
    for (int k = 0; k < 2; k++)
        next[k] = z[k] + step[k] * (s->direction[k].high - s->direction[k].low);
    form_into_domain(s, next);
}

/* A Gauss-Newton step: n is the matrix of products of the columns. */
static void columns_step(const gw_nurbs *s, const gw_vec3 c[2], gw_vec3 off, double damping,
                         const double z[2], double next[2])
{
    double n[2][2], g[2];
    for (int k = 0; k < 2; k++) {
        g[k] = gw_dot(c[k], off);
        for (int l = 0; l < 2; l++)
            n[k][l] = gw_dot(c[k], c[l]);
    }
    parameter_step(s, n, g, damping, z, next);
}

/* The slopes: rates at which |off|^2 / 2 falls along each parameter as a fraction of the domain. */
static void slopes_at(const gw_nurbs *s, gw_vec3 x, double value, const double z[2], double g[2])
{
    form_point at;
    gw_vec3 c[2];
    form_at(s, z, &at);
    columns(s, z, value, &at, c);
    for (int k = 0; k < 2; k++)
        g[k] = gw_dot(c[k], gw_sub(x, gw_mul_add(at.p, value, at.direction)));
}

/* A Newton step: n by differences of the slopes. */
static void newton_step(const gw_nurbs *s, gw_vec3 x, double value, const double z[2],
                        double next[2])
{
    double n[2][2] = {{1, 0}, {0, 1}}, g[2];
    for (int l = 0; l < s->dimension; l++) {
        const gw_nurbs_direction *d = &s->direction[l];
        double span = d->high - d->low, low[2] = {z[0], z[1]}, high[2] = {z[0], z[1]};
        double before[2], after[2];
        low[l] = fmax(d->low, z[l] - 1e-4 * span);
        high[l] = fmin(d->high, z[l] + 1e-4 * span);
        slopes_at(s, x, value, low, before);
        slopes_at(s, x, value, high, after);
        for (int k = 0; k < s->dimension; k++)
            n[k][l] = (before[k] - after[k]) * span / (high[l] - low[l]);
    }
    slopes_at(s, x, value, z, g);
    parameter_step(s, n, g, 0, z, next);
}

/* The sum of squares of the slopes, without those that lead out of the domain. */
static double slope_of(const gw_nurbs *s, const double z[2], double value, const form_point *at,
                       gw_vec3 off)
{
    gw_vec3 c[2];
    double slope = 0;
    columns(s, z, value, at, c);
    for (int k = 0; k < s->dimension; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        double g = gw_dot(c[k], off);
        bool held = !d->closed && ((z[k] <= d->low && g < 0) || (z[k] >= d->high && g > 0));
        slope += held ? 0 : g * g;
    }
    return slope;
}

/* True if `left` at `to` is shorter than `off` at `from`; if the lengths are equal within rounding,
 * the slopes are compared, which determine the minimum to all digits. */
static bool is_less(const gw_nurbs *s, double value, const double from[2], const form_point *at,
                    gw_vec3 off, const double to[2], const form_point *there, gw_vec3 left)
{
    double before = gw_norm(off), after = gw_norm(left);
    if (fabs(after - before) > 16 * DBL_EPSILON * before)
        return after < before;
    return slope_of(s, to, value, there, left) < slope_of(s, from, value, at, off);
}

/* Newton steps after the Gauss-Newton steps, which converge slowly near the focal distance. Returns
 * the distance. */
static double newton_descent(const gw_nurbs *s, gw_vec3 x, double value, double z[2],
                             const form_point *from, gw_vec3 off)
{
    form_point at = *from, there;
    for (int k = 0; k < NEWTON_STEPS; k++) {
        double next[2], rounding = 16 * DBL_EPSILON * s->size * gw_norm(off);
        if (slope_of(s, z, value, &at, off) <= rounding * rounding)
            break;
        newton_step(s, x, value, z, next);
        form_at(s, next, &there);
        gw_vec3 left = gw_sub(x, gw_mul_add(there.p, value, there.direction));
        if (!is_less(s, value, z, &at, off, next, &there, left))
            break;
        z[0] = next[0], z[1] = next[1];
        at = there, off = left;
    }
    return gw_norm(off);
}

double form_settle_offset(const gw_nurbs *s, gw_vec3 x, double value, double z[2])
{
    form_point at, there;
    double damping = 1e-6;
    form_at(s, z, &at);
    gw_vec3 off = gw_sub(x, gw_mul_add(at.p, value, at.direction));
    for (int k = 0; k < STEPS && damping < 1e6; k++) {
        gw_vec3 c[2];
        double next[2];
        columns(s, z, value, &at, c);
        columns_step(s, c, off, damping, z, next);
        form_at(s, next, &there);
        gw_vec3 left = gw_sub(x, gw_mul_add(there.p, value, there.direction));
        if (is_less(s, value, z, &at, off, next, &there, left)) {
            bool ends = gw_norm(gw_sub(left, off)) < 1e-15 * s->size;
            z[0] = next[0], z[1] = next[1];
            at = there, off = left;
            damping = fmax(0.1 * damping, 1e-14);
            if (ends)
                break;
        } else {
            damping = fmax(10 * damping, 1e-8);
        }
    }
    return newton_descent(s, x, value, z, &at, off);
}

static bool is_least_nearby(const gw_nurbs *s, const grid *g, gw_vec3 x, int at)
{
    int i = at / g->n[1], j = at % g->n[1];
    double here = gw_distance(g->p[at], x);
    for (int a = -1; a <= 1; a++)
        for (int b = -1; b <= 1; b++) {
            int k = i + a, l = j + b;
            if (s->direction[0].closed)
                k = (k + g->n[0]) % g->n[0];
            if (s->dimension == 2 && s->direction[1].closed)
                l = (l + g->n[1]) % g->n[1];
            if (k < 0 || k >= g->n[0] || l < 0 || l >= g->n[1])
                continue;
            if (gw_distance(g->p[k * g->n[1] + l], x) < here)
                return false;
        }
    return true;
}

/* Inserts parameters into the list, nearest first; a full list drops the farthest. Returns their
 * number. */
static int keep_foot(const double y[2], double d, int count, double far[MOST_FEET],
                     double z[MOST_FEET][2])
{
    int at = count < MOST_FEET ? count++ : d < far[count - 1] ? count - 1 : -1;
    if (at < 0)
        return count;
    for (; at > 0 && far[at - 1] > d; at--) {
        far[at] = far[at - 1];
        memcpy(z[at], z[at - 1], sizeof z[at]);
    }
    far[at] = d;
    memcpy(z[at], y, sizeof z[at]);
    return count;
}

int form_feet(const gw_nurbs *s, gw_vec3 x, double z[MOST_FEET][2])
{
    const grid *g = grid_of(s);
    double far[MOST_FEET];
    int count = 0;
    for (int i = 0; i < g->n[0] * g->n[1]; i++) {
        double y[2];
        double rough = gw_distance(g->p[i], x);
        if ((count == MOST_FEET && rough > 4 * far[count - 1]) || !is_least_nearby(s, g, x, i))
            continue;
        sample_parameters(s, g, i, y);
        double d = form_settle_offset(s, x, 0, y);
        count = keep_foot(y, d, count, far, z);
    }
    return count;
}

int form_feet_between(const gw_nurbs *s, gw_vec3 x, int count, double z[MOST_FEET][2])
{
    const grid *g = grid_of(s);
    double from[MOST_FEET][2], far[MOST_FEET], half[2] = {0, 0};
    int starts = count, all = s->dimension == 1 ? 3 : 9;
    memcpy(from, z, (size_t)count * sizeof *from);
    for (int k = 0; k < s->dimension; k++)
        half[k] = 0.5 * (s->direction[k].high - s->direction[k].low) / (g->n[k] - 1);
    count = 0;
    for (int i = 0; i < starts * all; i++) {
        double y[2] = {from[i / all][0] + (i % 3 - 1) * half[0],
                       from[i / all][1] + (i % all / 3 - 1) * half[1]};
        form_into_domain(s, y);
        double d = form_settle_offset(s, x, 0, y);
        bool known = false;
        for (int j = 0; j < count; j++)
            known |=
                fabs(y[0] - z[j][0]) <= 1e-3 * half[0] && fabs(y[1] - z[j][1]) <= 1e-3 * half[1];
        if (!known)
            count = keep_foot(y, d, count, far, z);
    }
    return count;
}

void form_start(const gw_nurbs *s, gw_vec3 x, double value, gw_vec3 along, bool either, double size,
                double z[2])
{
    const grid *g = grid_of(s);
    bool directed = gw_norm(along) > 0.5;
    double least = HUGE_VAL;
    int best = 0;
    for (int i = 0; i < g->n[0] * g->n[1]; i++) {
        double d = gw_distance(gw_mul_add(g->p[i], value, g->d[i]), x), turn = 0;
        if (directed)
            turn = gw_distance(g->d[i], along);
        if (directed && either)
            turn = fmin(turn, gw_norm(gw_add(g->d[i], along)));
        d = hypot(d, size * turn);
        if (d < least)
            least = d, best = i;
    }
    sample_parameters(s, g, best, z);
}
