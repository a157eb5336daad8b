/*
 * The distribution of forces among redundant unilateral contacts, a body on four feet say.
 *
 * Normal forces lambda are those of the multipliers of least norm. Contacts that stick share the
 * tractions f_i with the least largest ratio to their limits, the normal forces, and all else,
 * being as they are:
 *
 *   min rho,   |f_i| <= rho mu_i lambda_i,   f - f_0 an internal stress
 *
 * with f_0 the tractions of least norm. Internal stresses are null vectors of J^T among tractions;
 * slips that the bodies allow do no work on them. They stick while rho <= 1, that is as long as any
 * admissible tractions exist. With P the projection onto these slips, and Z a basis of those across
 * u_0 = P f_0 / |P f_0|, the dual problem
 *
 *   |P f_0| / rho = min over y of  sum of mu_i lambda_i |u_i|,   u = u_0 + Z y
 *
 * has the slip u with which sticking ends: where u_i is not zero |f_i| = rho mu_i lambda_i, against
 * it. It is solved by Newton's method with |u_i| replaced by (|u_i|^2 + e^2)^(1/2) and a decreasing
 * e, which makes u_i, and with it f_i, unique.
 *
 * Stresses of flat rims stay as they are. Tractions fall into groups that share internal stresses.
 * RT safe, but for init and free.
 */
#include "rt/dynamics/system_traction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/dynamics/system_rim.h"

#define NO_STRESS  1e-9  /* of a null vector's largest number: it is 0 */
#define LEAST_LOAD 1e-13 /* of the limits: no traction */
#define NO_LIMIT   1e-12 /* of the largest limit: a contact without a normal force */
#define SHARPENS   0.03  /* ratio of successive e */
#define SHARPEST   1e-8  /* the last e */
#define NEWTON     30    /* steps per e */
#define CONVERGED  1e-28 /* of the sum: decrease by a step of Newton's method */
#define HALVINGS   30
#define RIDGE      1e-14 /* of the limits, added to the Hessian's diagonal */

bool gw_traction_init(gw_traction_scratch *x, int most)
{
    size_t n = (size_t)most + 1;
    x->most = most;
    x->contact = calloc(6 * n, sizeof *x->contact);
    x->null = calloc(9 * n * n + 8 * n * n + 9 * n, sizeof *x->null);
    if (!x->contact || !x->null)
        return false;
    x->group = x->contact + n;
    x->members = x->group + n;
    x->pivot = x->members + n;
    x->basis = x->null + 9 * n * n;
    x->hessian = x->basis + 4 * n * n;
    x->limit = x->hessian + 4 * n * n;
    x->direction = x->limit + n;
    x->force = x->direction + 2 * n;
    x->trial = x->force + 2 * n;
    x->step = x->trial + 2 * n;
    return true;
}

void gw_traction_free(gw_traction_scratch *x)
{
    free(x->contact);
    free(x->null);
}

/* ---- internal stresses ---------------------------------------------------------------------- */

/* Index in `multipliers` of a contact's row, normal (0) or along a tangent (1, 2); -1: not
 * active. */
static int index_of(const gw_system *s, int closure, int which)
{
    const gw_closure_block *k = &s->blocks[closure];
    int row = which == 0 ? 0 : k->position_rows + which - 1;
    for (int n = 0; n < k->active; n++)
        if (s->live[k->first + n] == row)
            return k->first + n;
    return -1;
}

static double entry_of(const gw_system *s, int closure, int which, const double *x)
{
    int at = index_of(s, closure, which);
    return at < 0 ? 0 : x[at];
}

/* The contact's index in the scratch, added where it is missing; -1: no room. */
static int place_of(gw_traction_scratch *x, int closure)
{
    for (int i = 0; i < x->count; i++)
        if (x->contact[i] == closure)
            return i;
    if (x->count == x->most)
        return -1;
    x->contact[x->count] = closure;
    x->group[x->count] = x->count;
    return x->count++;
}

/* The column of the largest number of a row among normals, or else tangents; -1: none. */
static int pivot_of(const gw_traction_scratch *x, const double *row)
{
    for (int tangents = 0; tangents < 2; tangents++) {
        int best = -1;
        double most = NO_STRESS;
        for (int i = 0; i < 3 * x->count; i++)
            if ((i % 3 > 0) == tangents && fabs(row[i]) > most)
                most = fabs(row[i]), best = i;
        if (best >= 0)
            return best;
    }
    return -1;
}

/* Adds a null vector of the contacts' rows, less its part along the former ones: rows whose pivot
 * is a tangent's are stresses among tractions alone. False: no room. */
static bool add_null_vector(gw_system *s, gw_traction_scratch *x, const double *vector)
{
    const gw_unilateral_contacts *u = s->unilateral;
    int stride = 3 * x->most;
    double *row = x->null + x->rows * stride;
    memset(row, 0, (size_t)stride * sizeof *row);
    for (int i = 0; i < s->closure_count; i++) {
        double v[3];
        bool any = false;
        if (u->mode[i].phase == GW_CONTACT_OPEN || !gw_contact_may_slip(s, i))
            continue;
        for (int k = 0; k < 3; k++) {
            v[k] = entry_of(s, i, k, vector);
            any = any || fabs(v[k]) > NO_STRESS;
        }
        if (any && gw_rim_spins(s, i)) /* its traction is not a force at a point */
            return true;
        int at = any ? place_of(x, i) : 0;
        if (at < 0)
            return false;
        for (int k = 0; k < 3 && any; k++)
            row[3 * at + k] = fabs(v[k]) > NO_STRESS ? v[k] : 0;
    }
    for (int n = 0; n < x->rows; n++) {
        const double *other = x->null + n * stride;
        double by = row[x->pivot[n]] / other[x->pivot[n]];
        for (int i = 0; i < 3 * x->count && by != 0; i++)
            row[i] = i == x->pivot[n] ? 0 : row[i] - by * other[i];
    }
    int pivot = pivot_of(x, row);
    if (pivot < 0)
        return true;
    for (int i = 0; i < 3 * x->count && pivot % 3 > 0; i += 3)
        row[i] = 0;
    x->pivot[x->rows++] = pivot;
    return true;
}

/* Joins the contacts of a stress into one group. */
static void join_groups(gw_traction_scratch *x, const double *row)
{
    int into = -1;
    for (int i = 0; i < x->count; i++) {
        int group = x->group[i];
        if (fabs(row[3 * i + 1]) <= NO_STRESS && fabs(row[3 * i + 2]) <= NO_STRESS)
            continue;
        into = into < 0 ? group : into;
        int low = group < into ? group : into, high = group < into ? into : group;
        for (int k = 0; k < x->count && low < high; k++)
            x->group[k] = x->group[k] == high ? low : x->group[k];
        into = low;
    }
}

/* The contacts with internal stresses of tractions, in groups; false: too many. */
static bool find_stresses(gw_system *s)
{
    gw_traction_scratch *x = &s->unilateral->redundant;
    double *vector = s->least_multipliers + 3 * s->rows_in_blocks;
    int n = gw_closures_find_dependent(s);
    x->count = x->rows = 0;
    for (int i = 0; i < n; i++) {
        gw_closures_null_vector(s, i, vector);
        if (!add_null_vector(s, x, vector))
            return false;
    }
    for (int i = 0; i < x->rows; i++)
        if (x->pivot[i] % 3 > 0)
            join_groups(x, x->null + i * 3 * x->most);
    return true;
}

/* ---- the slips of a group ------------------------------------------------------------------- */

void gw_reject_from(const double *basis, int n, int m, double *v)
{
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < n; k++) {
            const double *q = basis + k * m;
            double along = 0;
            for (int i = 0; i < m; i++)
                along += q[i] * v[i];
            for (int i = 0; i < m; i++)
                v[i] -= along * q[i];
        }
}

double gw_normalise(int m, double *v)
{
    double squares = 0;
    for (int i = 0; i < m; i++)
        squares += v[i] * v[i];
    double norm = sqrt(squares);
    for (int i = 0; i < m && norm > 0; i++)
        v[i] /= norm;
    return norm;
}

/* An orthonormal basis of the tractions of a group of m / 2 contacts: its internal stresses, then
 * u_0, from the tractions in x->force, and the columns of Z. Returns |P f_0|, and the number of
 * stresses. */
static double find_basis(gw_traction_scratch *x, int m, double least, int *stresses)
{
    int n = 0;
    for (int r = 0; r < x->rows && n < m; r++) {
        const double *row = x->null + r * 3 * x->most;
        double *q = x->basis + n * m;
        if (x->pivot[r] % 3 == 0)
            continue;
        for (int i = 0; i < m; i++)
            q[i] = row[3 * x->members[i / 2] + 1 + i % 2];
        if (gw_normalise(m, q) == 0)
            continue; /* of another group */
        gw_reject_from(x->basis, n, m, q);
        n += gw_normalise(m, q) > NO_STRESS;
    }
    *stresses = n;
    if (n == m)
        return 0;
    double *q = x->basis + n * m;
    memcpy(q, x->force, (size_t)m * sizeof *q);
    gw_reject_from(x->basis, n, m, q);
    double load = gw_normalise(m, q);
    if (load <= least)
        return 0;
    for (n++; n < m; n++) {
        int best = 0;
        double most = -1;
        for (int i = 0; i < m; i++) {
            double rest = 1;
            for (int k = 0; k < n; k++)
                rest -= x->basis[k * m + i] * x->basis[k * m + i];
            if (rest > most)
                most = rest, best = i;
        }
        q = x->basis + n * m;
        memset(q, 0, (size_t)m * sizeof *q);
        q[best] = 1;
        gw_reject_from(x->basis, n, m, q);
        gw_normalise(m, q);
    }
    return load;
}

/* ---- Newton's method ------------------------------------------------------------------------ */

/* The sum of limits times (|u_i|^2 + e^2)^(1/2). */
static double sum_at(const gw_traction_scratch *x, int m, const double *u, double e)
{
    double sum = 0;
    for (int i = 0; i < m; i += 2)
        sum += x->limit[i / 2] * sqrt(u[i] * u[i] + u[i + 1] * u[i + 1] + e * e);
    return sum;
}

/* x := h^-1 x of a positive definite matrix (lower triangle), which is overwritten. */
static void solve_definite(int n, double *h, double *x)
{
    for (int j = 0; j < n; j++) {
        for (int k = 0; k < j; k++)
            h[j * n + j] -= h[j * n + k] * h[j * n + k];
        double pivot = sqrt(fmax(h[j * n + j], 1e-300));
        h[j * n + j] = pivot;
        for (int i = j + 1; i < n; i++) {
            for (int k = 0; k < j; k++)
                h[i * n + j] -= h[i * n + k] * h[j * n + k];
            h[i * n + j] /= pivot;
        }
    }
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= h[i * n + k] * x[k];
        x[i] /= h[i * n + i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            x[i] -= h[k * n + i] * x[k];
        x[i] /= h[i * n + i];
    }
}

/* One step from u, with z the n columns of Z; f := the gradient by u. Returns how much the sum
 * decreases to first order. */
static double newton_step(const gw_traction_scratch *x, int m, int n, const double *z, double e,
                          double *u, double *f)
{
    double *step = x->step, *h = x->hessian, total = 0;
    for (int i = 0; i < m; i += 2) {
        double by = x->limit[i / 2] / sqrt(u[i] * u[i] + u[i + 1] * u[i + 1] + e * e);
        f[i] = by * u[i], f[i + 1] = by * u[i + 1];
        total += x->limit[i / 2];
    }
    for (int a = 0; a < n; a++) {
        step[a] = 0;
        for (int i = 0; i < m; i++)
            step[a] -= z[a * m + i] * f[i];
        for (int b = 0; b <= a; b++) {
            double sum = a == b ? RIDGE * total : 0;
            for (int i = 0; i < m; i += 2) {
                const double *p = z + a * m + i, *q = z + b * m + i;
                double square = u[i] * u[i] + u[i + 1] * u[i + 1] + e * e;
                double across = p[0] * q[0] + p[1] * q[1];
                double along = (p[0] * u[i] + p[1] * u[i + 1]) * (q[0] * u[i] + q[1] * u[i + 1]);
                sum += x->limit[i / 2] / sqrt(square) * (across - along / square);
            }
            h[a * n + b] = sum;
        }
    }
    double *gradient = x->trial, decrease = 0;
    memcpy(gradient, step, (size_t)n * sizeof *step);
    solve_definite(n, h, step);
    for (int a = 0; a < n; a++)
        decrease += gradient[a] * step[a];
    double before = sum_at(x, m, u, e), share = 1;
    for (int k = 0; k < HALVINGS && decrease > CONVERGED * before; k++, share *= 0.5) {
        for (int i = 0; i < m; i++) {
            x->trial[i] = u[i];
            for (int a = 0; a < n; a++)
                x->trial[i] += share * step[a] * z[a * m + i];
        }
        if (sum_at(x, m, x->trial, e) <= before - 1e-4 * share * decrease + 1e-15 * before) {
            memcpy(u, x->trial, (size_t)m * sizeof *u);
            break;
        }
    }
    return decrease / before;
}

/* The tractions x->force of a group of m / 2 contacts with the least rho, for those given. */
static void share_tractions(gw_traction_scratch *x, int m)
{
    double limits = 0, *f = x->force, *u = x->direction;
    int stresses;
    for (int i = 0; i < m / 2; i++)
        limits += x->limit[i];
    double load = find_basis(x, m, LEAST_LOAD * limits, &stresses);
    if (load == 0) {
        memset(f, 0, (size_t)m * sizeof *f);
        return;
    }
    const double *first = x->basis + stresses * m, *z = first + m;
    int n = m - stresses - 1;
    memcpy(u, first, (size_t)m * sizeof *u);
    for (double e = 1; e > SHARPEST; e *= SHARPENS)
        for (int k = 0; k < NEWTON && newton_step(x, m, n, z, e, u, f) > CONVERGED; k++) {
        }
    /* f by the last u, in equilibrium with the load */
    double along = 0;
    for (int i = 0; i < m; i++)
        along += first[i] * f[i];
    for (int i = 0; i < m; i++)
        f[i] *= load / along;
    for (int a = 0; a < n; a++) {
        double off = 0;
        for (int i = 0; i < m; i++)
            off += z[a * m + i] * f[i];
        for (int i = 0; i < m; i++)
            f[i] -= off * z[a * m + i];
    }
}

/* ---- all contacts --------------------------------------------------------------------------- */

/* Shares the tractions of the group whose first contact is `first` among its contacts that stick,
 * in the multipliers. */
static void share_group(gw_system *s, int first, double *multipliers)
{
    gw_unilateral_contacts *u = s->unilateral;
    gw_traction_scratch *x = &u->redundant;
    int count = 0;
    double most = 0;
    for (int i = first; i < x->count; i++) {
        int closure = x->contact[i];
        if (x->group[i] != first || u->mode[closure].phase != GW_CONTACT_STICKS)
            continue;
        x->members[count] = i;
        x->limit[count] = fmax(0, s->closures[closure].friction * u->normal_force[closure]);
        most = fmax(most, x->limit[count]);
        for (int k = 0; k < 2; k++)
            x->force[2 * count + k] = entry_of(s, closure, 1 + k, multipliers);
        count++;
    }
    if (count < 2 || most == 0)
        return;
    for (int i = 0; i < count; i++)
        x->limit[i] = fmax(x->limit[i], NO_LIMIT * most);
    share_tractions(x, 2 * count);
    for (int i = 0; i < 2 * count; i++) {
        int closure = x->contact[x->members[i / 2]], at = index_of(s, closure, 1 + i % 2);
        u->group[closure] = first;
        if (at >= 0)
            multipliers[at] = x->force[i];
    }
}

void gw_find_tractions(gw_system *s)
{
    gw_unilateral_contacts *u = s->unilateral;
    bool any = false;
    const double *multipliers = gw_closures_least_multipliers(s, true);
    for (int i = 0; i < s->closure_count; i++) {
        u->group[i] = -1;
        u->normal_force[i] = gw_contact_normal_force(s, i, multipliers);
        any = any || (u->mode[i].phase == GW_CONTACT_STICKS && gw_contact_may_slip(s, i));
    }
    if (any && s->rank < s->active_rows && find_stresses(s))
        for (int i = 0; i < u->redundant.count; i++)
            if (u->redundant.group[i] == i)
                share_group(s, i, s->least_multipliers);
    for (int i = 0; i < s->closure_count; i++) {
        u->surplus[i] = INFINITY;
        if (u->mode[i].phase != GW_CONTACT_STICKS || !gw_contact_may_slip(s, i))
            continue;
        u->traction[i] = gw_contact_traction(s, i, multipliers);
        if (s->rank == s->active_rows || u->normal_force[i] > 0)
            u->surplus[i] = s->closures[i].friction * u->normal_force[i] -
                            gw_contact_traction_size(s, i, multipliers);
    }
    u->multipliers = multipliers;
}
