/*
 * Contacts of the same bodies that slip begin and end their slip together. With the friction f,
 *
 *   a = a_0 - R f,   lambda = lambda_0 + C f
 *
 * those at rest take f within the limit c = mu lambda, with a = 0, or f = c d, with a along d; d of
 * the others is given:
 *
 *   (|a|^2 + e^2)^(1/2) f = c a   of those at rest,   f = c d   of the others
 *
 * with a small e, which makes f unique, by Newton's method with f kept within the limits. Of a flat
 * rim w = A^-1 f replaces f on the left, and A d replaces d, with A of its centre of pressure and
 * of its direction (system_rim.c), which follow from f after each step. RT safe, but for init and
 * free.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/dynamics/system_rim.h"

#define TOGETHER    4.0   /* times GW_SLIP_STOPPING: for contacts of the same bodies */
#define INDEPENDENT 1e-11 /* of the largest response: smaller pivots are rounding */
#define COMMON      1e-9  /* of a column of G: less is a part of the others */
#define SHARPENS    0.03  /* ratio of successive e, and the last one, */
#define SHARPEST    1e-12 /* of the accelerations; of the limits, what may be missing */
#define ROUGHLY     8     /* steps of Newton's method with all but the last e, */
#define STEPS       60    /* and with that, */
#define SHORTER     0.7   /* while each one is so much shorter than the one before, */
#define PATIENCE    2     /* but for one */
#define PARTS       4     /* halvings of a step and one */
#define AT_LIMIT    1e-6  /* of mu lambda: it grows */

#define AXES_PER_EFFORT 200 /* squared: of a step of Newton's method */

static int root_of(const gw_system *s, int body)
{
    while (body >= 0 && s->bodies[body].def.parent >= 0)
        body = s->bodies[body].def.parent;
    return body;
}

static bool are_coupled(const gw_system *s, int i, int k)
{
    int a = root_of(s, s->blocks[i].a), b = root_of(s, s->blocks[i].b);
    int c = root_of(s, s->blocks[k].a), d = root_of(s, s->blocks[k].b);
    return a == c || a == d || (b >= 0 && (b == c || b == d));
}

void gw_friction_group(const gw_system *s, int closure, gw_slip_group *g)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_unilateral_contacts *u = s->unilateral;
    g->count = 1;
    g->contact[0] = closure;
    for (int n = 0; n < g->count; n++)
        for (int i = 0; i < s->closure_count; i++) {
            bool listed = u->mode[i].phase != GW_CONTACT_SLIPS || !are_coupled(s, g->contact[n], i);
            for (int k = 0; k < g->count && !listed; k++)
                listed = g->contact[k] == i;
            if (listed)
                continue;
            if (g->count == g->most) {
                g->contact[0] = closure;
                g->count = 1;
                return;
            }
            g->contact[g->count++] = i;
        }
}

bool gw_friction_is_first(const gw_slip_group *g, int closure)
{
    for (int i = 0; i < g->count; i++)
        if (g->contact[i] < closure)
            return false;
    return true;
}

bool gw_slip_group_init(gw_slip_group *g, int most)
{
    size_t n = (size_t)most + 1, m = 3 * n;
    g->most = most;
    g->contact = calloc(2 * n + 1 + m, sizeof *g->contact);
    g->rest = calloc(n, sizeof *g->rest);
    g->rim = calloc(n, sizeof *g->rim);
    g->free = calloc(4 * n + 11 * m + 3 * m * m + n * m + n * n, sizeof *g->free);
    if (!g->contact || !g->rest || !g->rim || !g->free)
        return false;
    g->first = g->contact + n;
    g->owner = g->first + n + 1;
    g->direction = g->free + m;
    g->force = g->direction + m;
    g->acceleration = g->force + m;
    g->present = g->acceleration + m;
    g->pull = g->present + m;
    g->solution = g->pull + m;
    g->step = g->solution + m;
    g->before = g->step + m;
    g->ratio = g->before + 2 * m;
    g->lambda = g->ratio + m;
    g->excess = g->lambda + n;
    g->resistance = g->excess + n;
    g->limit = g->resistance + n;
    g->inverse = g->limit + n;
    g->factor = g->inverse + m * m;
    g->matrix = g->factor + m * m;
    g->push = g->matrix + m * m;
    g->coupling = g->push + n * m;
    return true;
}

void gw_slip_group_free(gw_slip_group *g)
{
    free(g->contact);
    free(g->rest);
    free(g->rim);
    free(g->free);
}

static int axes_of(const gw_slip_group *g, int i)
{
    return g->first[i + 1] - g->first[i];
}

static double norm_of(int n, const double *x)
{
    double sum = 0;
    for (int k = 0; k < n; k++)
        sum += x[k] * x[k];
    return sqrt(sum);
}

/* a_0, R, lambda_0, C, and the directions and forces that the contacts' friction has, with the
 * friction of others as it is. */
static void find_group_response(gw_system *s, gw_slip_group *g)
{
    gw_slip_response *r = &s->unilateral->response;
    int n = g->count, m = 0;
    for (int i = 0; i < n; i++) {
        int at = r->index[g->contact[i]];
        r->left_out[at] = true;
        g->first[i] = m;
        for (int k = r->first[at]; k < r->first[at + 1]; k++)
            g->owner[m++] = i;
    }
    g->first[n] = g->size = m;
    for (int i = 0; i < n; i++) {
        const gw_contact_friction *f = &s->unilateral->friction[g->contact[i]];
        int at = r->index[g->contact[i]], axes = axes_of(g, i);
        double a[3];
        gw_vec3 moment;
        gw_slip_motion(r, at, a, &g->lambda[i], &moment);
        for (int k = 0; k < axes; k++) {
            g->free[g->first[i] + k] = a[k];
            g->direction[g->first[i] + k] = f->by[k];
            g->force[g->first[i] + k] = f->force * f->by[k];
        }
        for (int j = 0; j < m; j++) {
            int of = g->owner[j], column = r->first[r->index[g->contact[of]]] + j - g->first[of];
            memcpy(g->inverse + j * m + g->first[i], gw_slip_column(r, column, at),
                   (size_t)axes * sizeof *a);
            g->push[j * n + i] = r->normal[column * r->count + at];
        }
    }
    for (int i = 0; i < n; i++)
        r->left_out[r->index[g->contact[i]]] = false;
}

/* True if the other rows hold a contact along all its axes. */
static bool is_held(const gw_system *s, const gw_slip_group *g, int i)
{
    double trace = 0;
    for (int k = g->first[i]; k < g->first[i + 1]; k++)
        trace += g->inverse[k * (g->size + 1)];
    return !(trace > GW_SLIP_HELD / s->total_mass);
}

/* g->coupling: |R_ij f_j|. Resistances to slip: of all contacts the largest that their friction
 * together may have; 0 where the other rows hold a contact. */
static void find_resistance(const gw_system *s, gw_slip_group *g)
{
    int n = g->count, m = g->size;
    double most = 0;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) {
            double a[3] = {0, 0, 0};
            for (int l = g->first[j]; l < g->first[j + 1]; l++)
                for (int k = 0; k < axes_of(g, i); k++)
                    a[k] += g->inverse[l * m + g->first[i] + k] * g->force[l];
            g->coupling[i * n + j] = norm_of(3, a);
            sum += g->coupling[i * n + j];
        }
        most = fmax(most, sum);
    }
    for (int i = 0; i < n; i++)
        g->resistance[i] = is_held(s, g, i) ? 0 : most;
}

/* G of R = G G^T, by Cholesky factorisation with pivoting; returns its rank. */
static int factor_response(gw_slip_group *g)
{
    int m = g->size, rank = 0;
    double most = 0, *r = g->matrix;
    memcpy(r, g->inverse, (size_t)(m * m) * sizeof *r);
    for (int i = 0; i < m; i++)
        most = fmax(most, r[i * m + i]);
    for (; rank < m; rank++) {
        int best = 0;
        double *column = g->factor + rank * m;
        for (int i = 0; i < m; i++)
            best = r[i * m + i] > r[best * m + best] ? i : best;
        if (!(r[best * m + best] > INDEPENDENT * most))
            break;
        double pivot = sqrt(r[best * m + best]);
        for (int i = 0; i < m; i++)
            column[i] = 0.5 * (r[best * m + i] + r[i * m + best]) / pivot;
        for (int i = 0; i < m; i++)
            for (int j = 0; j < m; j++)
                r[i * m + j] -= column[i] * column[j];
    }
    return rank;
}

/* Leaves of a_0 of the contacts at rest what friction could bring to rest, their motion as one of
 * the bodies: the rest is of second order in the velocities, the way that a foot turns about
 * another. */
static void take_common_motion(gw_slip_group *g, int rank)
{
    int m = g->size, n = 0;
    double *basis = g->matrix, *kept = g->step;
    for (int k = 0; k < rank; k++) {
        double *q = basis + n * m;
        for (int i = 0; i < m; i++)
            q[i] = g->rest[g->owner[i]] ? g->factor[k * m + i] : 0;
        if (gw_normalise(m, q) == 0)
            continue;
        gw_reject_from(basis, n, m, q);
        n += gw_normalise(m, q) > COMMON;
    }
    for (int i = 0; i < m; i++)
        kept[i] = g->rest[g->owner[i]] ? g->free[i] : 0;
    gw_reject_from(basis, n, m, kept);
    for (int i = 0; i < m; i++)
        g->pull[i] = g->free[i] - kept[i];
}

/* x := m^-1 x by Gaussian elimination with row pivoting; false: m is singular. */
static bool solve_pivoted(int n, double *m, double *x)
{
    for (int at = 0; at < n; at++) {
        int best = at;
        for (int i = at + 1; i < n; i++)
            best = fabs(m[i * n + at]) > fabs(m[best * n + at]) ? i : best;
        if (!(fabs(m[best * n + at]) > 0))
            return false;
        for (int j = at; j < n && best != at; j++) {
            double kept = m[at * n + j];
            m[at * n + j] = m[best * n + j], m[best * n + j] = kept;
        }
        double kept = x[at];
        x[at] = x[best], x[best] = kept;
        for (int i = at + 1; i < n; i++) {
            double by = m[i * n + at] / m[at * n + at];
            for (int j = at + 1; j < n && by != 0; j++)
                m[i * n + j] -= by * m[at * n + j];
            x[i] -= by * x[at];
        }
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int j = i + 1; j < n; j++)
            x[i] -= m[i * n + j] * x[j];
        x[i] /= m[i * n + i];
    }
    return true;
}

/* a = a_0 - R f and the limits c = mu (lambda_0 + C f), at least 0; w = A^-1 f of flat rims, f of
 * others. */
static void move_by(const gw_system *s, gw_slip_group *g, const double *f)
{
    int n = g->count, m = g->size;
    double *a = g->acceleration, *c = g->limit;
    memcpy(a, g->pull, (size_t)m * sizeof *a);
    memcpy(c, g->lambda, (size_t)n * sizeof *c);
    for (int j = 0; j < m; j++) {
        for (int i = 0; i < m; i++)
            a[i] -= f[j] * g->inverse[j * m + i];
        for (int i = 0; i < n; i++)
            c[i] += f[j] * g->push[j * n + i];
    }
    for (int i = 0; i < n; i++) {
        double *w = g->ratio + g->first[i];
        c[i] = fmax(0, s->closures[g->contact[i]].friction * c[i]);
        memcpy(w, f + g->first[i], (size_t)axes_of(g, i) * sizeof *w);
        if (axes_of(g, i) == 3 && !gw_rim_solve((const double(*)[3])g->rim[i].at, w))
            memset(w, 0, 3 * sizeof *w);
    }
}

/* The friction of contacts at rest is no larger than its limit; a, c and w of it. */
static void take_friction(const gw_system *s, gw_slip_group *g, double *f)
{
    bool exceeds = false;
    move_by(s, g, f);
    for (int i = 0; i < g->count; i++) {
        double size = norm_of(axes_of(g, i), g->ratio + g->first[i]);
        if (!g->rest[i] || size <= g->limit[i])
            continue;
        exceeds = true;
        for (int k = g->first[i]; k < g->first[i + 1]; k++)
            f[k] *= g->limit[i] / size;
    }
    if (exceeds)
        move_by(s, g, f);
}

/* A of flat rims, by the centre of pressure under f and the direction of w; and the friction along
 * the given directions of those that slip. */
static void take_rims(gw_system *s, gw_slip_group *g)
{
    gw_slip_response *r = &s->unilateral->response;
    bool any = false;
    for (int i = 0; i < g->count; i++) {
        any = any || axes_of(g, i) == 3;
        for (int k = 0; k < axes_of(g, i); k++)
            r->force[r->first[r->index[g->contact[i]]] + k] = g->solution[g->first[i] + k];
    }
    for (int i = 0; i < g->count && any; i++) {
        gw_contact_friction *f = &s->unilateral->friction[g->contact[i]];
        double a[3], lambda, lever[3], *w = g->ratio + g->first[i];
        gw_vec3 moment, axis[3];
        if (axes_of(g, i) != 3)
            continue;
        gw_slip_motion(r, r->index[g->contact[i]], a, &lambda, &moment);
        f->pressure = gw_rim_centre(moment, lambda);
        gw_slip_axes(s, g->contact[i], axis, lever);
        const double e[2] = {gw_dot(f->pressure, axis[0]), gw_dot(f->pressure, axis[1])};
        const gw_vec3 by = g->rest[i] && gw_norm2(f->growth) > 0.5 ? f->growth : f->along;
        double d[3] = {gw_dot(by, axis[0]), gw_dot(by, axis[1]), gw_dot(by, axis[2])};
        double size = norm_of(3, w);
        for (int k = 0; k < 3 && g->rest[i] && size > 0; k++)
            d[k] = w[k] / size;
        g->rim[i] = gw_rim_friction_of(d, e);
        *s->unilateral->effort += 1;
        for (int k = 0; k < 3 && !g->rest[i]; k++)
            g->direction[g->first[i] + k] =
                g->rim[i].at[k][0] * d[0] + g->rim[i].at[k][1] * d[1] + g->rim[i].at[k][2] * d[2];
    }
}

static double size_of(const gw_slip_group *g, int i, double e)
{
    double a = norm_of(axes_of(g, i), g->acceleration + g->first[i]);
    return sqrt(a * a + e * e);
}

/* Residual of equation k at f, a and c; divided by `scale` where the contact is at rest. */
static double missing_of(const gw_slip_group *g, int k, double e, double scale)
{
    int i = g->owner[k];
    double c = g->limit[i];
    return g->rest[i] ? (c * g->acceleration[k] - size_of(g, i, e) * g->ratio[k]) / scale
                      : c * g->direction[k] - g->solution[k];
}

/* The derivatives of the same by f, negative, into `row`; with A as it is. */
static void derive_equation(const gw_system *s, const gw_slip_group *g, int k, double e,
                            double scale, double *row)
{
    int n = g->count, m = g->size, i = g->owner[k], at = g->first[i], axes = axes_of(g, i);
    const double *a = g->acceleration + at, c = g->limit[i];
    double mu = c > 0 ? s->closures[g->contact[i]].friction : 0, by[3];
    if (!g->rest[i]) {
        for (int j = 0; j < m; j++)
            row[j] = (j == k) - mu * g->direction[k] * g->push[j * n + i];
        return;
    }
    double size = size_of(g, i, e), unit[3] = {0, 0, 0};
    for (int l = 0; l < axes; l++)
        by[l] = (at + l == k ? c : 0) - g->ratio[k] * a[l] / size;
    for (int j = 0; j < m; j++) {
        row[j] = -mu * g->acceleration[k] * g->push[j * n + i];
        for (int l = 0; l < axes; l++)
            row[j] += by[l] * g->inverse[j * m + at + l];
        row[j] /= scale;
    }
    unit[k - at] = 1;
    if (axes == 3 && !gw_rim_solve((const double(*)[3])g->rim[i].at, unit))
        return;
    for (int l = 0; l < axes; l++)
        row[at + l] += size / scale * unit[l];
}

/* One step of Newton's method, a part of it where the whole one leads farther off. Returns the
 * largest change of an acceleration; what is missing before it into *missing, of the largest
 * limit. */
static double newton_step(gw_system *s, gw_slip_group *g, double e, double scale, double *missing)
{
    int m = g->size;
    double *f = g->solution, *a = g->acceleration, *step = g->step, most = 0, moved = 0, share = 1;
    *missing = 0;
    *s->unilateral->effort += m * m / AXES_PER_EFFORT;
    for (int k = 0; k < m; k++) {
        derive_equation(s, g, k, e, scale, g->matrix + k * m);
        step[k] = missing_of(g, k, e, scale);
        *missing = fmax(*missing, fabs(step[k]));
        most = fmax(most, g->limit[g->owner[k]]);
    }
    if (!solve_pivoted(m, g->matrix, step))
        return 0;
    memcpy(g->before, f, (size_t)m * sizeof *f);
    memcpy(g->before + m, a, (size_t)m * sizeof *a);
    for (int n = 0; n < PARTS; n++, share *= 0.5) {
        double left = 0;
        for (int k = 0; k < m; k++)
            f[k] = g->before[k] + share * step[k];
        take_friction(s, g, f);
        for (int k = 0; k < m; k++)
            left = fmax(left, fabs(missing_of(g, k, e, scale)));
        if (left <= fmax(*missing, SHARPEST * most))
            break;
    }
    for (int k = 0; k < m; k++)
        moved = fmax(moved, fabs(a[k] - g->before[m + k]));
    *missing /= most;
    return moved / scale;
}

/* Steps until there is nothing left to do, while that becomes less; false: it does not. */
static bool iterate(gw_system *s, gw_slip_group *g, double e, double scale, int most)
{
    double before = INFINITY;
    int patience = PATIENCE;
    for (int n = 0; n < most && patience > 0; n++) {
        double missing, moved = newton_step(s, g, e, scale, &missing);
        if (moved <= SHARPEST && missing <= SHARPEST)
            return true;
        double left = fmax(moved, missing);
        patience -= left > SHORTER * before;
        before = left;
        take_rims(s, g);
        take_friction(s, g, g->solution);
    }
    return false;
}

/* Solves the equations at the last e, from the present friction; by way of larger ones if it is not
 * near. */
static void solve_growth(gw_system *s, gw_slip_group *g, double scale)
{
    bool found = false;
    for (int near = 1; near >= 0 && !found; near--) {
        memcpy(g->solution, g->force, (size_t)g->size * sizeof *g->force);
        memset(g->ratio, 0, (size_t)g->size * sizeof *g->ratio);
        take_rims(s, g);
        take_friction(s, g, g->solution);
        for (double e = scale; !near && e > SHARPEST * scale; e *= SHARPENS)
            iterate(s, g, e, scale, ROUGHLY);
        found = iterate(s, g, SHARPEST * scale, scale, STEPS);
    }
}

/* Finds the directions in which slips of the group grow, of the contacts in g->rest, and their
 * `excess`. */
static void relax_group(gw_system *s, gw_slip_group *g)
{
    double scale = 0;
    for (int i = 0; i < g->count; i++)
        g->rest[i] = g->rest[i] && !is_held(s, g, i);
    take_common_motion(g, factor_response(g));
    for (int k = 0; k < g->size; k++)
        scale = fmax(scale, fmax(fabs(g->pull[k]), g->resistance[g->owner[k]]));
    if (!(scale > 0))
        return;
    solve_growth(s, g, scale);
    for (int i = 0; i < g->count; i++) {
        const double *w = g->ratio + g->first[i], *a = g->acceleration + g->first[i];
        int axes = axes_of(g, i);
        double size = norm_of(axes, w), share = g->limit[i] > 0 ? size / g->limit[i] : 1;
        gw_vec3 axis[3], growth = {0, 0, 0};
        double lever[3];
        if (!g->rest[i])
            continue;
        g->excess[i] = share > 1 - AT_LIMIT ? norm_of(axes, a) : (share - 1) * g->resistance[i];
        gw_slip_axes(s, g->contact[i], axis, lever);
        for (int k = 0; k < axes; k++)
            growth = gw_mul_add(growth, size > 0 ? w[k] : a[k], axis[k]);
        if (gw_norm(growth) > 0)
            s->unilateral->friction[g->contact[i]].growth = gw_unit(growth);
    }
}

void gw_friction_find_growth(gw_system *s, gw_slip_group *g)
{
    bool any = false;
    for (int i = 0; i < g->count; i++) {
        g->rest[i] = s->unilateral->friction[g->contact[i]].onset > 0;
        any = any || g->rest[i];
    }
    if (!any)
        return;
    find_group_response(s, g);
    find_resistance(s, g);
    relax_group(s, g);
}

/* By how much friction of contact j across its direction accelerates contact i across its own, for
 * the size of j's friction; of flat rims at all (m/s^2). */
static double crosswise(const gw_slip_group *g, int i, int j)
{
    const double *x = g->inverse + g->first[j] * g->size + g->first[i], *y = x + g->size;
    const double *d = g->direction + g->first[i], *f = g->force + g->first[j];
    if (axes_of(g, i) == 3 || axes_of(g, j) == 3)
        return g->coupling[i * g->count + j];
    return fabs(d[1] * (x[0] * f[1] - y[0] * f[0]) - d[0] * (x[1] * f[1] - y[1] * f[0]));
}

/* The fastest rate (1/s) at which friction changes directions of slip, except where it begins. */
static double turning_rate(const gw_system *s, const gw_slip_group *g)
{
    double most = 0;
    for (int i = 0; i < g->count; i++) {
        double rate = 0;
        for (int j = 0; j < g->count; j++) {
            const gw_contact_friction *f = &s->unilateral->friction[g->contact[j]];
            rate += f->onset > 0 || f->begin == 0 ? 0 : crosswise(g, i, j) / f->begin;
        }
        most = fmax(most, rate);
    }
    return most;
}

static bool all_slower(const gw_system *s, const gw_slip_group *g, double onset)
{
    for (int i = 0; i < g->count; i++)
        if (s->unilateral->friction[g->contact[i]].begin > onset * s->dt * g->resistance[i])
            return false;
    return true;
}

/* Finds how the slips of a group grow of which contacts with a slip below `onset` steps of friction
 * are at rest. False if it is not theirs. */
static bool try_onset(gw_system *s, gw_slip_group *g, double onset)
{
    const gw_contact_friction *friction = s->unilateral->friction;
    bool fits = true;
    for (int i = 0; i < g->count; i++) {
        double speed = friction[g->contact[i]].begin;
        g->rest[i] = speed <= fmax(onset * s->dt * g->resistance[i], GW_NO_SLIP);
        g->excess[i] = -INFINITY;
    }
    relax_group(s, g);
    for (int i = 0; i < g->count; i++) {
        const gw_contact_friction *f = &friction[g->contact[i]];
        fits =
            fits && f->begin <= gw_friction_onset(s, g->contact[i], g->excess[i], g->resistance[i]);
    }
    return fits;
}

double gw_friction_begin_group(gw_system *s, gw_slip_group *g, bool *stops)
{
    gw_contact_friction *friction = s->unilateral->friction;
    double longest = INFINITY;
    bool any = false;
    find_group_response(s, g);
    find_resistance(s, g);
    int n = g->count, m = g->size;
    /* accelerations of slip by the present friction */
    double *a = g->present;
    for (int k = 0; k < m; k++) {
        a[k] = g->free[k];
        for (int j = 0; j < m; j++)
            a[k] -= g->inverse[j * m + k] * g->force[j];
    }
    bool relaxed = all_slower(s, g, GW_SLIP_SLOW_ONSET);
    if (!relaxed || !try_onset(s, g, GW_SLIP_SLOW_ONSET))
        try_onset(s, g, GW_SLIP_ONSET);
    for (int i = 0; i < n; i++) {
        gw_vec3 axis[3], slip = {0, 0, 0};
        double lever[3];
        gw_slip_axes(s, g->contact[i], axis, lever);
        for (int k = 0; k < axes_of(g, i); k++)
            slip = gw_mul_add(slip, a[g->first[i] + k], axis[k]);
        double most = gw_friction_substep(s, g->contact[i], slip, g->excess[i], g->resistance[i]);
        stops[i] = most == 0;
        any = any || stops[i];
        longest = fmin(longest, most);
    }
    longest = longest > 0 ? fmin(longest, GW_SLIP_TURNING / turning_rate(s, g)) : 0;
    for (int i = 0; i < n && any; i++) /* those that end with it */
        stops[i] = stops[i] || (g->rest[i] && !(g->excess[i] > -GW_SLIP_TIE * g->resistance[i]) &&
                                friction[g->contact[i]].begin <=
                                    TOGETHER * GW_SLIP_STOPPING * g->resistance[i]);
    return longest;
}
