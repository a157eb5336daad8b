/*
 * Simultaneous impulses of many rows: no basis is written out; W = L^-1 J of the rows that lead.
 * RT safe.
 *
 *   A = J D^-1 J^T = L L^T, rows in the order of what is left of them,   s = L^-1 J v
 *   L^T p = x,   dv = D^-1 J^T p,   and again for what x - L^-1 J dv is missing
 *
 * A row of which less than 3e-7 is new counts as one that follows from others and takes no part.
 * What rounding leaves must not bring energy: the answer is stretched along itself to where the
 * reflection about that one direction is exact, whatever the direction,
 *
 *   dv <- -(1+e) (dv^T D v)/(dv^T D dv) dv
 */
#include <math.h>
#include <string.h>

#include "rt/contact/impulse_private.h"

#define DEPENDENT 1e-13 /* of A's diagonal: what is left of a row that leads */
#define POLISH    2

/* D^-1 J^T J's products: only rows that share a block have one. */
static void form_products(const gw_impulse_problem *problem, gw_impulse_work *work)
{
    size_t n = (size_t)problem->dof;
    gw_impulse_images(problem, work);
    for (int i = 0; i < problem->rows; i++)
        for (int m = 0; m <= i; m++) {
            gw_block_set both = gw_blocks_common(&work->in[i], &work->in[m]);
            work->a[i][m] = work->a[m][i] =
                gw_blocks_dot(problem, &both, gw_impulse_row(problem, i), work->y + (size_t)m * n);
        }
}

/* Row i leads: column k of L, and A without it. */
static void take_off(gw_impulse_work *work, int i, int k, int *left, int count)
{
    double root = sqrt(work->a[i][i]);
    int with[GW_MAX_SIMULTANEOUS_CONTACTS], some = 0;
    work->l[i][k] = root;
    for (int r = 0; r < count; r++) {
        int row = left[r];
        work->l[row][k] = work->a[row][i] / root;
        if (work->l[row][k] != 0)
            with[some++] = row;
    }
    for (int r = 0; r < some; r++) {
        double *a = work->a[with[r]], by = work->l[with[r]][k];
        for (int c = 0; c < some; c++)
            a[with[c]] -= by * work->l[with[c]][k];
    }
}

void gw_impulse_delassus_basis(const gw_impulse_problem *problem, gw_impulse_work *work)
{
    int left[GW_MAX_SIMULTANEOUS_CONTACTS], count = problem->rows;
    double size[GW_MAX_SIMULTANEOUS_CONTACTS];
    form_products(problem, work);
    for (int i = 0; i < count; i++) {
        left[i] = i;
        size[i] = work->a[i][i];
        memset(work->l[i], 0, sizeof work->l[i]);
    }
    for (work->rank = 0; count > 0 && work->rank < problem->dof; work->rank++) {
        int best = 0;
        double most = 0;
        for (int r = 0; r < count; r++) {
            double part = size[left[r]] > 0 ? work->a[left[r]][left[r]] / size[left[r]] : 0;
            if (part > most)
                best = r, most = part;
        }
        if (!(most > DEPENDENT))
            return;
        int row = left[best];
        left[best] = left[--count];
        work->pivot[work->rank] = row;
        take_off(work, row, work->rank, left, count);
    }
}

void gw_impulse_delassus_speeds(const gw_impulse_problem *problem, const gw_impulse_work *work,
                                const double *v, double *s)
{
    double u[GW_MAX_SIMULTANEOUS_CONTACTS];
    for (int i = 0; i < problem->rows; i++)
        u[i] = gw_blocks_dot(problem, &work->in[i], gw_impulse_row(problem, i), v);
    gw_impulse_from_rows(problem, work, u, s);
}

/* dv by D itself: large impulses of nearly redundant rows cancel, and what they leave would not fit
 * what they left in the other sum. */
static void apply(const gw_impulse_problem *problem, const gw_impulse_work *work, const double *p,
                  double *dv, double *generalised)
{
    memset(generalised, 0, (size_t)problem->dof * sizeof *generalised);
    for (int i = 0; i < problem->rows; i++)
        if (p[i] != 0)
            gw_blocks_add(problem, &work->in[i], generalised, p[i], gw_impulse_row(problem, i));
    for (int k = 0; k < problem->blocks; k++)
        problem->inverse(problem->context, k, generalised + problem->from[k],
                         dv + problem->from[k]);
}

/* Where along itself the answer takes (1 - e^2) of what it could, or at least brings nothing. */
static double stretch(const gw_impulse_problem *problem, double along, double across)
{
    double e = problem->e[0];
    bool alike = !problem->only_push;
    for (int i = 1; i < problem->rows; i++)
        alike = alike && problem->e[i] == e;
    if (!(across > 0))
        return 1;
    return alike ? -(1 + e) * along / across : fmin(1, fmax(0, -2 * along / across));
}

void gw_impulse_delassus_answer(const gw_impulse_problem *problem, const gw_impulse_work *work,
                                const double *s, const double *x, double *p, double *dv,
                                double *generalised)
{
    double was[GW_MAX_SIMULTANEOUS_CONTACTS], is[GW_MAX_SIMULTANEOUS_CONTACTS],
        more[GW_MAX_SIMULTANEOUS_CONTACTS];
    int n = problem->dof;
    apply(problem, work, p, dv, generalised);
    for (int turn = 0; turn < POLISH && !problem->only_push; turn++) {
        gw_impulse_delassus_speeds(problem, work, dv, is);
        for (int k = 0; k < work->rank; k++)
            is[k] = x[k] - is[k];
        gw_impulse_to_rows(problem, work, is, more);
        for (int i = 0; i < problem->rows; i++)
            p[i] += more[i];
        apply(problem, work, p, dv, generalised);
    }
    /* what moves by itself is in s, not in v */
    gw_impulse_delassus_speeds(problem, work, problem->v, was);
    double along = 0, across = 0;
    for (int k = 0; k < work->rank; k++)
        along += x[k] * (s[k] - was[k]);
    for (int i = 0; i < n; i++) {
        along += generalised[i] * problem->v[i];
        across += generalised[i] * dv[i];
    }
    double by = stretch(problem, along, across);
    for (int i = 0; i < n; i++) {
        dv[i] *= by;
        generalised[i] *= by;
    }
    for (int i = 0; i < problem->rows; i++)
        p[i] *= by;
}
