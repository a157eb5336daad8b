/*
 * Contacts of the same bodies that slip begin and end their slip together. With f = F d of each,
 *
 *   a = a_0 - R f,   lambda = lambda_0 + C f
 *
 * those at rest take f within mu lambda, with a = 0, or f = mu lambda d, with a along d; d of the
 * others is given. With R = G G^T, x = G^T f and the limits c = mu lambda as they are that is
 *
 *   min over x of  |x|^2 / 2 + sum of c |a_0 - G x|
 *
 * by Newton's method with |a| replaced by (|a|^2 + e^2)^(1/2) and a decreasing e; then c follows
 * from the directions, and so on. Flat rims (system_rim.c) slip each on its own. RT safe, but
 * for init and free.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/dynamics/system_rim.h"

#define TOGETHER    4.0   /* times GW_SLIP_STOPPING: for contacts of the same bodies */
#define INDEPENDENT 1e-11 /* of the largest response: smaller pivots are rounding */
#define COMMON      1e-9  /* of a column of G: less is a part of the others */
#define SHARPENS    0.03  /* ratio of successive e, and the last one, */
#define SHARPEST    1e-14 /* of the accelerations */
#define ROUGHLY     1e-10 /* the same for all but the last e */
#define ROUNDING    1e-18 /* of it: smaller decreases that do not shrink are rounding */
#define TURNS       20    /* directions and limits, per e; */
#define STEPS       20    /* Newton's method in each */
#define HALVINGS    30
#define RELAXED     1e-28 /* of the function: decrease by a step of Newton's method */
#define AT_LIMIT    1e-6  /* of mu lambda: it grows */

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

int gw_friction_group(const gw_system *s, int closure, int *list)
{
    const gw_unilateral_contacts *u = s->unilateral;
    int count = 1;
    list[0] = closure;
    for (int n = 0; n < count && !gw_rim_spins(s, closure); n++)
        for (int i = 0; i < s->closure_count; i++) {
            bool listed = u->mode[i].phase != GW_CONTACT_SLIPS || gw_rim_spins(s, i) ||
                          !are_coupled(s, list[n], i);
            for (int k = 0; k < count && !listed; k++)
                listed = list[k] == i;
            if (listed)
                continue;
            if (count == u->slip.most)
                return list[0] = closure, 1;
            list[count++] = i;
        }
    return count;
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
    size_t n = (size_t)most;
    g->most = most;
    g->contact = calloc(n + 1, sizeof *g->contact);
    g->rest = calloc(n + 1, sizeof *g->rest);
    g->free = calloc(15 * n * n + 23 * n + 1, sizeof *g->free);
    if (!g->contact || !g->rest || !g->free)
        return false;
    g->lambda = g->free + 2 * n;
    g->direction = g->lambda + n;
    g->force = g->direction + 2 * n;
    g->excess = g->force + 2 * n;
    g->resistance = g->excess + n;
    g->acceleration = g->resistance + n;
    g->present = g->acceleration + 2 * n;
    g->limit = g->present + 2 * n;
    g->size = g->limit + n;
    g->solution = g->size + n;
    g->trial = g->solution + 2 * n;
    g->step = g->trial + 2 * n;
    g->inverse = g->step + 2 * n;
    g->push = g->inverse + 4 * n * n;
    g->factor = g->push + 2 * n * n;
    g->hessian = g->factor + 4 * n * n;
    g->coupling = g->hessian + 4 * n * n;
    return true;
}

void gw_slip_group_free(gw_slip_group *g)
{
    free(g->contact);
    free(g->rest);
    free(g->free);
}

/* Accelerations of slip and normal forces of the group, by the forces set before. */
static void find_motion(gw_system *s, gw_slip_group *g, double *a, double *lambda)
{
    gw_system_solve_rows(s);
    gw_tree_accelerate(s);
    const double *multipliers = gw_contact_multipliers(s);
    for (int i = 0; i < g->count; i++) {
        const gw_closure_row *t = gw_rolling_rows(s, g->contact[i]);
        gw_vec3 slip = gw_contact_slip_acceleration(s, g->contact[i]);
        for (int k = 0; k < 2; k++)
            a[2 * i + k] = gw_dot(slip, gw_linear_part(t[k].on_a));
        lambda[i] = gw_contact_normal_force(s, g->contact[i], multipliers);
    }
}

/* a_0, R, lambda_0, C, and the directions and forces that the contacts' friction has. */
static void find_group_response(gw_system *s, gw_slip_group *g)
{
    gw_contact_friction *friction = s->unilateral->friction;
    int n = g->count;
    for (int i = 0; i < n; i++) {
        gw_contact_friction *f = &friction[g->contact[i]];
        const gw_closure_row *t = gw_rolling_rows(s, g->contact[i]);
        for (int k = 0; k < 2; k++) {
            g->direction[2 * i + k] =
                gw_dot(gw_linear_part(t[k].on_a), gw_linear_part(f->row.on_a));
            g->force[2 * i + k] = f->force * g->direction[2 * i + k];
        }
        f->force = 0;
    }
    find_motion(s, g, g->free, g->lambda);
    for (int j = 0; j < 2 * n; j++) {
        gw_contact_friction *f = &friction[g->contact[j / 2]];
        gw_closure_row kept = f->row;
        double *a = g->inverse + j * 2 * n, *lambda = g->push + j * n;
        double unit = fmax(1, hypot(g->force[j], g->force[j ^ 1]));
        f->force = unit;
        f->row = gw_rolling_rows(s, g->contact[j / 2])[j % 2];
        find_motion(s, g, a, lambda);
        f->force = 0;
        f->row = kept;
        for (int i = 0; i < 2 * n; i++)
            a[i] = (g->free[i] - a[i]) / unit;
        for (int i = 0; i < n; i++)
            lambda[i] = (lambda[i] - g->lambda[i]) / unit;
    }
    for (int i = 0; i < n; i++)
        friction[g->contact[i]].force = hypot(g->force[2 * i], g->force[2 * i + 1]);
}

/* g->coupling: |R_ij| F_j. Resistances to slip: of all contacts the largest that their friction
 * together may have; 0 where the other rows hold a contact. */
static void find_resistance(const gw_system *s, gw_slip_group *g)
{
    int n = g->count;
    double most = 0;
    for (int i = 0; i < n; i++) {
        double sum = 0;
        for (int j = 0; j < n; j++) {
            const double *x = g->inverse + 2 * j * 2 * n + 2 * i, *y = x + 2 * n;
            double by = sqrt(x[0] * x[0] + x[1] * x[1] + y[0] * y[0] + y[1] * y[1]);
            by *= hypot(g->force[2 * j], g->force[2 * j + 1]);
            g->coupling[i * n + j] = by;
            sum += by;
        }
        most = fmax(most, sum);
    }
    for (int i = 0; i < n; i++) {
        const double *x = g->inverse + 2 * i * (2 * n + 1);
        g->resistance[i] = x[0] + x[2 * n + 1] > GW_SLIP_HELD / s->total_mass ? most : 0;
    }
}

/* G of R = G G^T, by Cholesky factorisation with pivoting; returns its rank. Overwrites R. */
static int factor_response(gw_slip_group *g)
{
    int m = 2 * g->count, rank = 0;
    double most = 0, *r = g->inverse;
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
    int m = 2 * g->count, n = 0;
    double *basis = g->hessian, *kept = g->trial;
    for (int k = 0; k < rank; k++) {
        double *q = basis + n * m;
        for (int i = 0; i < m; i++)
            q[i] = g->rest[i / 2] ? g->factor[k * m + i] : 0;
        if (gw_normalise(m, q) == 0)
            continue;
        gw_reject_from(basis, n, m, q);
        n += gw_normalise(m, q) > COMMON;
    }
    for (int i = 0; i < m; i++)
        kept[i] = g->rest[i / 2] ? g->free[i] : 0;
    gw_reject_from(basis, n, m, kept);
    for (int i = 0; i < m; i++)
        g->free[i] -= kept[i];
}

/* The limits mu lambda with friction along the present directions, times g->size. */
static void find_limits(gw_system *s, gw_slip_group *g)
{
    int n = g->count;
    double *m = s->unilateral->matrix, *c = g->limit;
    for (int i = 0; i < n; i++) {
        double mu = s->closures[g->contact[i]].friction;
        c[i] = mu * g->lambda[i];
        for (int j = 0; j < n; j++)
            m[i * n + j] = (i == j) - mu * g->size[j] *
                                          (g->push[2 * j * n + i] * g->direction[2 * j] +
                                           g->push[(2 * j + 1) * n + i] * g->direction[2 * j + 1]);
    }
    if (!gw_friction_solve(n, m, c))
        for (int i = 0; i < n; i++)
            c[i] = s->closures[g->contact[i]].friction * g->lambda[i];
    for (int i = 0; i < n; i++)
        c[i] = fmax(c[i], 0);
}

/* a = a_0 - G x. */
static void move_by(const gw_slip_group *g, int rank, const double *x, double *a)
{
    int m = 2 * g->count;
    for (int i = 0; i < m; i++) {
        a[i] = g->free[i];
        for (int k = 0; k < rank; k++)
            a[i] -= g->factor[k * m + i] * x[k];
    }
}

/* |x|^2 / 2 + sum of c (|a|^2 + e^2)^(1/2) of contacts at rest, and of c d . a of the others; the
 * sum of absolute values into *size. */
static double function_at(const gw_slip_group *g, int rank, const double *x, const double *a,
                          double e, double *size)
{
    double sum = 0;
    for (int k = 0; k < rank; k++)
        sum += 0.5 * x[k] * x[k];
    *size = sum;
    for (int i = 0; i < g->count; i++) {
        const double *v = a + 2 * i, *d = g->direction + 2 * i;
        double own = g->limit[i] * (g->rest[i] ? sqrt(v[0] * v[0] + v[1] * v[1] + e * e)
                                               : d[0] * v[0] + d[1] * v[1]);
        sum += own;
        *size += fabs(own);
    }
    return sum;
}

/* Directions and sizes of friction, of contacts at rest, where they accelerate by a. */
static void take_directions(gw_slip_group *g, const double *a, double e)
{
    for (int i = 0; i < g->count; i++) {
        double size = hypot(a[2 * i], a[2 * i + 1]);
        if (!g->rest[i])
            continue;
        g->size[i] = size / sqrt(size * size + e * e);
        for (int k = 0; k < 2 && size > 0; k++)
            g->direction[2 * i + k] = a[2 * i + k] / size;
    }
}

/* One step of Newton's method from x. Returns by how much it decreases the function to first order,
 * relative to it; 0: not at all; -1: no step decreases it. */
static double newton_step(gw_slip_group *g, int rank, double e, double *x)
{
    int m = 2 * g->count;
    double *a = g->acceleration, *step = g->step, *h = g->hessian, decrease = 0;
    move_by(g, rank, x, a);
    for (int k = 0; k < rank; k++) {
        const double *p = g->factor + k * m;
        step[k] = -x[k];
        for (int l = 0; l <= k; l++)
            h[k * rank + l] = k == l;
        for (int i = 0; i < m; i += 2) {
            const double *d = g->direction + i;
            double square = a[i] * a[i] + a[i + 1] * a[i + 1] + e * e, c = g->limit[i / 2];
            if (!g->rest[i / 2]) {
                step[k] += c * (p[i] * d[0] + p[i + 1] * d[1]);
                continue;
            }
            c /= sqrt(square);
            step[k] += c * (p[i] * a[i] + p[i + 1] * a[i + 1]);
            for (int l = 0; l <= k; l++) {
                const double *q = g->factor + l * m;
                double along = p[i] * a[i] + p[i + 1] * a[i + 1];
                double other = q[i] * a[i] + q[i + 1] * a[i + 1];
                h[k * rank + l] += c * (p[i] * q[i] + p[i + 1] * q[i + 1] - along * other / square);
            }
        }
    }
    double *gradient = g->trial;
    memcpy(gradient, step, (size_t)rank * sizeof *step);
    gw_solve_definite(rank, h, step);
    for (int k = 0; k < rank; k++)
        decrease += gradient[k] * step[k];
    double size, other, before = function_at(g, rank, x, a, e, &size), share = 1;
    if (!(decrease > RELAXED * size))
        return 0;
    for (int n = 0; n < HALVINGS; n++, share *= 0.5) {
        for (int k = 0; k < rank; k++)
            g->trial[k] = x[k] + share * step[k];
        move_by(g, rank, g->trial, a);
        double rise = function_at(g, rank, g->trial, a, e, &other) - before;
        if (rise <= 1e-15 * size - 1e-4 * share * decrease) {
            memcpy(x, g->trial, (size_t)rank * sizeof *x);
            return decrease / size;
        }
    }
    return -1;
}

/* At most `most` steps, until one decreases the function by less than `enough`, or by rounding
 * alone. Returns the number of steps; leaves the directions of x, and the limits by them. */
static int minimise(gw_system *s, gw_slip_group *g, int rank, double e, double enough, int most)
{
    double last = INFINITY, now = 0;
    int steps = 0;
    while (steps < most && (now = newton_step(g, rank, e, g->solution)) != 0) {
        steps = now > 0 ? steps + 1 : most;
        if (now <= enough || (now < ROUNDING && now > 0.1 * last))
            break;
        last = now;
    }
    move_by(g, rank, g->solution, g->acceleration);
    take_directions(g, g->acceleration, e);
    find_limits(s, g);
    return steps;
}

/* The minimum at the last e; from the present directions alone if it is near. */
static void minimise_all(gw_system *s, gw_slip_group *g, int rank, double scale)
{
    double *x = g->solution;
    int m = 2 * g->count, last = STEPS;
    for (int near = 1; near >= 0 && last == STEPS; near--) {
        for (int k = 0; k < rank; k++) {
            x[k] = 0;
            for (int i = 0; i < m; i++)
                x[k] += g->factor[k * m + i] * g->force[i];
        }
        find_limits(s, g);
        for (double e = scale; !near && e > SHARPEST * scale; e *= SHARPENS)
            minimise(s, g, rank, e, ROUGHLY, STEPS);
        for (int turn = 0; turn < TURNS && last > 0 && (turn == 0 || last < STEPS); turn++)
            last = minimise(s, g, rank, SHARPEST * scale, RELAXED, STEPS);
    }
}

/* Finds the directions in which slips of the group grow, of the contacts in g->rest, and their
 * `excess`. */
static void relax_group(gw_system *s, gw_slip_group *g)
{
    int n = g->count, m = 2 * n;
    double scale = 0;
    for (int i = 0; i < n; i++) {
        const double trace = g->inverse[2 * i * (m + 1)] + g->inverse[(2 * i + 1) * (m + 1)];
        g->rest[i] = g->rest[i] && trace > GW_SLIP_HELD / s->total_mass;
        g->size[i] = 1;
    }
    int rank = factor_response(g);
    take_common_motion(g, rank);
    for (int i = 0; i < m; i++)
        scale = fmax(scale, fmax(fabs(g->free[i]), g->resistance[i / 2]));
    if (!(scale > 0))
        return;
    minimise_all(s, g, rank, scale);
    for (int i = 0; i < n; i++) {
        const gw_closure_row *t = gw_rolling_rows(s, g->contact[i]);
        const double *d = g->direction + 2 * i, *a = g->acceleration + 2 * i;
        if (!g->rest[i])
            continue;
        g->excess[i] =
            g->size[i] > 1 - AT_LIMIT ? hypot(a[0], a[1]) : (g->size[i] - 1) * g->resistance[i];
        s->unilateral->friction[g->contact[i]].growth =
            gw_mul_add(gw_scale(d[0], gw_linear_part(t[0].on_a)), d[1], gw_linear_part(t[1].on_a));
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
    for (int i = 0; i < g->count; i++)
        if (g->rest[i])
            gw_friction_set_row(s, g->contact[i]);
}

/* The fastest rate (1/s) at which friction changes directions of slip, except where it begins. */
static double turning_rate(const gw_system *s, const gw_slip_group *g)
{
    double most = 0;
    for (int i = 0; i < g->count; i++) {
        double rate = 0;
        for (int j = 0; j < g->count; j++) {
            const gw_contact_friction *f = &s->unilateral->friction[g->contact[j]];
            rate += f->onset > 0 || f->begin == 0 ? 0 : g->coupling[i * g->count + j] / f->begin;
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
    int n = g->count;
    bool any = false;
    find_group_response(s, g);
    find_resistance(s, g);
    /* accelerations of slip by the present friction */
    double *a = g->present;
    for (int i = 0; i < 2 * n; i++) {
        a[i] = g->free[i];
        for (int j = 0; j < 2 * n; j++)
            a[i] -= g->inverse[j * 2 * n + i] * g->force[j];
    }
    bool relaxed = all_slower(s, g, GW_SLIP_SLOW_ONSET);
    if (!relaxed || !try_onset(s, g, GW_SLIP_SLOW_ONSET)) {
        if (relaxed)
            find_group_response(s, g);
        try_onset(s, g, GW_SLIP_ONSET);
    }
    for (int i = 0; i < n; i++) {
        const gw_closure_row *t = gw_rolling_rows(s, g->contact[i]);
        gw_vec3 slip = gw_mul_add(gw_scale(a[2 * i], gw_linear_part(t[0].on_a)), a[2 * i + 1],
                                  gw_linear_part(t[1].on_a));
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
