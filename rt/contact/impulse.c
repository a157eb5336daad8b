/*
 * Simultaneous impulses through an orthonormal basis of the rows. RT safe.
 *
 *   w_k = combination of rows,  w_k^T D^-1 w_m = (k == m),  y_k = D^-1 w_k
 *   J = L W,  s = W v,  u = L s;  an answer x in the basis is v' = v + sum x_k y_k, J^T p = W^T x
 *
 * Kinetic energy in the rows' space is |s|^2/2, so everything is decided among short vectors.
 */
#include "rt/contact/impulse.h"

#include <math.h>
#include <string.h>

/* A row of which less than this part is new follows from the others. */
#define DEPENDENT 1e-11

size_t gw_impulse_memory(int rows, int dof)
{
    return 2 * (size_t)rows * (size_t)dof;
}

static double dot(int n, const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* a += s b */
static void add(int n, double *a, double s, const double *b)
{
    for (int i = 0; i < n; i++)
        a[i] += s * b[i];
}

static void scale(int n, double *a, double s)
{
    for (int i = 0; i < n; i++)
        a[i] *= s;
}

/* ---- the basis ------------------------------------------------------------------------------ */

static void swap_rows(int dof, double *m, int a, int b)
{
    if (a == b)
        return;
    double *x = m + (size_t)a * (size_t)dof, *y = m + (size_t)b * (size_t)dof;
    for (int i = 0; i < dof; i++) {
        double t = x[i];
        x[i] = y[i];
        y[i] = t;
    }
}

/* What is left of row i, as a basis vector: orthogonal to those before it to the last digit, its
 * image by D itself and not by what was subtracted. */
static bool orthonormal(const gw_impulse_problem *problem, gw_impulse_work *work, int k)
{
    int n = problem->dof;
    size_t stride = (size_t)n;
    double *w = work->w + (size_t)k * stride, *y = work->y + (size_t)k * stride;
    for (int pass = 0; pass < 2; pass++) {
        for (int m = 0; m < k; m++)
            add(n, w, -dot(n, w, work->y + (size_t)m * stride), work->w + (size_t)m * stride);
        problem->inverse(problem->context, w, y);
        double norm = dot(n, w, y);
        if (!(norm > 0))
            return false;
        scale(n, w, 1 / sqrt(norm));
        scale(n, y, 1 / sqrt(norm));
    }
    return true;
}

/* The row of which most is left, relative to what it was. */
static int largest_left(const gw_impulse_problem *problem, const gw_impulse_work *work, int k,
                        const double *size, const int *row, double *most)
{
    int n = problem->dof, best = k;
    *most = -1;
    for (int i = k; i < problem->rows; i++) {
        size_t at = (size_t)i * (size_t)n;
        double left = dot(n, work->w + at, work->y + at);
        double part = left > 0 && size[row[i]] > 0 ? left / size[row[i]] : 0;
        if (part > *most)
            best = i, *most = part;
    }
    return best;
}

static void build_basis(const gw_impulse_problem *problem, gw_impulse_work *work)
{
    int n = problem->dof, rows = problem->rows, row[GW_MAX_COLLIDING];
    double size[GW_MAX_COLLIDING];
    size_t stride = (size_t)n;
    work->w = work->memory;
    work->y = work->memory + (size_t)rows * stride;
    memcpy(work->w, problem->j, (size_t)rows * stride * sizeof(double));
    for (int i = 0; i < rows; i++) {
        problem->inverse(problem->context, work->w + (size_t)i * stride,
                         work->y + (size_t)i * stride);
        size[i] = dot(n, work->w + (size_t)i * stride, work->y + (size_t)i * stride);
        row[i] = i;
    }
    for (work->rank = 0; work->rank < rows && work->rank < n; work->rank++) {
        int k = work->rank;
        double most;
        int best = largest_left(problem, work, k, size, row, &most);
        if (!(most > DEPENDENT * DEPENDENT))
            return;
        swap_rows(n, work->w, k, best);
        swap_rows(n, work->y, k, best);
        int picked = row[best];
        row[best] = row[k];
        row[k] = work->pivot[k] = picked;
        if (!orthonormal(problem, work, k))
            return;
        const double *w = work->w + (size_t)k * stride, *y = work->y + (size_t)k * stride;
        for (int i = 0; i < rows; i++)
            work->l[i][k] = dot(n, problem->j + (size_t)i * stride, y);
        for (int i = k + 1; i < rows; i++) {
            double part = dot(n, work->w + (size_t)i * stride, y);
            add(n, work->w + (size_t)i * stride, -part, w);
            add(n, work->y + (size_t)i * stride, -part, y);
        }
    }
}

/* ---- between rows and basis ----------------------------------------------------------------- */

/* L = Q R where there are more rows than the basis has vectors; a triangle in the order of the
 * pivots where not. */
static void factor_rows(const gw_impulse_problem *problem, gw_impulse_work *work)
{
    gw_cone *f = &work->cone;
    int rows = problem->rows;
    if (work->rank == rows)
        return;
    for (int k = 0; k < work->rank; k++) {
        double *q = f->q[k];
        for (int i = 0; i < rows; i++)
            q[i] = work->l[i][k];
        for (int m = 0; m < k; m++)
            f->r[m][k] = 0;
        for (int pass = 0; pass < 2; pass++)
            for (int m = 0; m < k; m++) {
                double part = dot(rows, f->q[m], q);
                f->r[m][k] += part;
                add(rows, q, -part, f->q[m]);
            }
        f->r[k][k] = sqrt(dot(rows, q, q));
        scale(rows, q, 1 / f->r[k][k]);
    }
}

/* z = L^+ b, the basis' answer to values of rows. */
static void from_rows(const gw_impulse_problem *problem, const gw_impulse_work *work,
                      const double *b, double *z)
{
    const gw_cone *f = &work->cone;
    int rank = work->rank;
    if (rank == problem->rows) {
        for (int k = 0; k < rank; k++) {
            const double *l = work->l[work->pivot[k]];
            z[k] = (b[work->pivot[k]] - dot(k, l, z)) / l[k];
        }
        return;
    }
    for (int k = 0; k < rank; k++)
        z[k] = dot(problem->rows, f->q[k], b);
    for (int k = rank - 1; k >= 0; k--) {
        for (int m = k + 1; m < rank; m++)
            z[k] -= f->r[k][m] * z[m];
        z[k] /= f->r[k][k];
    }
}

/* The least p with L^T p = x. */
static void to_rows(const gw_impulse_problem *problem, const gw_impulse_work *work, const double *x,
                    double *p)
{
    const gw_cone *f = &work->cone;
    int rank = work->rank;
    double t[GW_MAX_COLLIDING];
    memset(p, 0, (size_t)problem->rows * sizeof *p);
    if (rank == problem->rows) {
        for (int k = rank - 1; k >= 0; k--) {
            double sum = x[k];
            for (int m = k + 1; m < rank; m++)
                sum -= work->l[work->pivot[m]][k] * p[work->pivot[m]];
            p[work->pivot[k]] = sum / work->l[work->pivot[k]][k];
        }
        return;
    }
    for (int k = 0; k < rank; k++) {
        t[k] = x[k];
        for (int m = 0; m < k; m++)
            t[k] -= f->r[m][k] * t[m];
        t[k] /= f->r[k][k];
        add(problem->rows, p, t[k], f->q[k]);
    }
}

/* ---- the impulse ---------------------------------------------------------------------------- */

/* What moves by itself gives a row its speed; nearly redundant ones that are told different speeds
 * ask for more than any does, and get no more than twice what each would alone. */
static void take_along(const gw_impulse_problem *problem, const gw_impulse_work *work, double *s)
{
    double z[GW_MAX_COLLIDING], most = 0;
    from_rows(problem, work, problem->offset, z);
    for (int i = 0; i < problem->rows; i++) {
        double size = dot(work->rank, work->l[i], work->l[i]);
        most += size > 0 ? 4 * problem->offset[i] * problem->offset[i] / size : 0;
    }
    double is = dot(work->rank, z, z);
    add(work->rank, s, is > most ? sqrt(most / is) : 1, z);
}

/* z: how the rows' space rebounds, e s where all are alike; else L^+ E L s, no longer than s. */
static void rebound(const gw_impulse_problem *problem, const gw_impulse_work *work, const double *s,
                    double *z)
{
    double bounce[GW_MAX_COLLIDING];
    int rank = work->rank;
    bool alike = true;
    for (int i = 1; i < problem->rows; i++)
        alike = alike && problem->e[i] == problem->e[0];
    if (alike) {
        for (int k = 0; k < rank; k++)
            z[k] = problem->e[0] * s[k];
        return;
    }
    for (int i = 0; i < problem->rows; i++)
        bounce[i] = problem->e[i] * dot(rank, work->l[i], s);
    from_rows(problem, work, bounce, z);
    double before = dot(rank, s, s), after = dot(rank, z, z);
    if (after > before)
        scale(rank, z, sqrt(before / after));
}

/* x = -(s + z): eq. 22 */
static void reflect(const gw_impulse_problem *problem, const gw_impulse_work *work, const double *s,
                    const double *z, double *p, double *x)
{
    for (int k = 0; k < work->rank; k++)
        x[k] = -(s[k] + z[k]);
    to_rows(problem, work, x, p);
}

/* The same without pulling. With different e on redundant rows energy may rise: less rebound. */
static void push(const gw_impulse_problem *problem, gw_impulse_work *work, const double *s,
                 const double *z, double *p, double *x)
{
    double b[GW_MAX_COLLIDING], after[GW_MAX_COLLIDING];
    int rank = work->rank;
    static const double shares[] = {1, 0.5, 0.25, 0};
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < rank; k++)
            b[k] = s[k] + shares[i] * z[k];
        gw_cone_nearest(problem->rows, rank, (const double(*)[GW_MAX_COLLIDING])work->l, b,
                        &work->cone, p, x);
        for (int k = 0; k < rank; k++)
            after[k] = s[k] + x[k];
        if (dot(rank, after, after) <= (1 + 1e-14) * dot(rank, s, s))
            return;
    }
}

int gw_impulse(const gw_impulse_problem *problem, gw_impulse_work *work, double *dv,
               double *generalised, double *p)
{
    int n = problem->dof;
    double s[GW_MAX_COLLIDING], z[GW_MAX_COLLIDING], x[GW_MAX_COLLIDING];
    memset(dv, 0, (size_t)n * sizeof *dv);
    memset(generalised, 0, (size_t)n * sizeof *generalised);
    memset(p, 0, (size_t)problem->rows * sizeof *p);
    if (problem->rows <= 0)
        return 0;
    build_basis(problem, work);
    factor_rows(problem, work);
    for (int k = 0; k < work->rank; k++)
        s[k] = dot(n, work->w + (size_t)k * (size_t)n, problem->v);
    if (problem->offset)
        take_along(problem, work, s);
    rebound(problem, work, s, z);
    if (problem->only_push)
        push(problem, work, s, z, p, x);
    else
        reflect(problem, work, s, z, p, x);
    for (int k = 0; k < work->rank; k++) {
        add(n, dv, x[k], work->y + (size_t)k * (size_t)n);
        add(n, generalised, x[k], work->w + (size_t)k * (size_t)n);
    }
    return work->rank;
}
