/*
 * Simultaneous impulses through an orthonormal basis of the rows. RT safe.
 *
 *   w_k = combination of rows,  w_k^T D^-1 w_m = (k == m),  y_k = D^-1 w_k
 *   J = L W,  s = W v,  u = L s;  an answer x in the basis is v' = v + sum x_k y_k, J^T p = W^T x
 *
 * Kinetic energy in the rows' space is |s|^2/2, so everything is decided among short vectors. A row
 * has entries for two movers; a vector of the basis for those that it leads on to: what it has none
 * for is neither stored nor read.
 */
#include <math.h>
#include <string.h>

#include "rt/contact/impulse_private.h"

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

static double *w_of(const gw_impulse_problem *problem, const gw_impulse_work *work, int k)
{
    return work->w + (size_t)work->slot[k] * (size_t)problem->dof;
}

static double *y_of(const gw_impulse_problem *problem, const gw_impulse_work *work, int k)
{
    return work->y + (size_t)work->slot[k] * (size_t)problem->dof;
}

static void swap_rows(gw_impulse_work *work, int a, int b)
{
    int slot = work->slot[a];
    gw_block_set in = work->in[a];
    work->slot[a] = work->slot[b];
    work->in[a] = work->in[b];
    work->slot[b] = slot;
    work->in[b] = in;
}

/* Vector k takes some of vector m: it has entries in m's blocks from now on. */
static void widen(const gw_impulse_problem *problem, gw_impulse_work *work, int k, int m)
{
    gw_block_set fresh;
    for (int i = 0; i < GW_BLOCK_WORDS; i++) {
        fresh.bits[i] = work->in[m].bits[i] & ~work->in[k].bits[i];
        work->in[k].bits[i] |= work->in[m].bits[i];
    }
    gw_blocks_clear(problem, &fresh, w_of(problem, work, k));
    gw_blocks_clear(problem, &fresh, y_of(problem, work, k));
}

/* What is left of row i, as a basis vector: orthogonal to those before it to the last digit, its
 * image by D itself and not by what was subtracted. */
static bool orthonormal(const gw_impulse_problem *problem, gw_impulse_work *work, int k)
{
    double *w = w_of(problem, work, k), *y = y_of(problem, work, k);
    for (int pass = 0; pass < 2; pass++) {
        for (int m = 0; m < k; m++) {
            gw_block_set both = gw_blocks_common(&work->in[k], &work->in[m]);
            double part = gw_blocks_dot(problem, &both, w, y_of(problem, work, m));
            if (part == 0)
                continue;
            widen(problem, work, k, m);
            gw_blocks_add(problem, &work->in[m], w, -part, w_of(problem, work, m));
        }
        gw_blocks_inverse(problem, &work->in[k], w, y);
        double norm = gw_blocks_dot(problem, &work->in[k], w, y);
        if (!(norm > 0))
            return false;
        gw_blocks_scale(problem, &work->in[k], w, 1 / sqrt(norm));
        gw_blocks_scale(problem, &work->in[k], y, 1 / sqrt(norm));
    }
    return true;
}

/* The row of which most is left, relative to what it was. */
static int largest_left(const gw_impulse_problem *problem, const gw_impulse_work *work, int k,
                        const double *size, double *most)
{
    int best = k;
    *most = -1;
    for (int i = k; i < problem->rows; i++) {
        double left =
            gw_blocks_dot(problem, &work->in[i], w_of(problem, work, i), y_of(problem, work, i));
        double was = size[work->slot[i]], part = left > 0 && was > 0 ? left / was : 0;
        if (part > *most)
            best = i, *most = part;
    }
    return best;
}

/* Vector k is done: how much of it each row has, and those that are left without it. */
static void take_off(const gw_impulse_problem *problem, gw_impulse_work *work, int k)
{
    const double *w = w_of(problem, work, k), *y = y_of(problem, work, k);
    for (int i = 0; i < problem->rows; i++) {
        gw_block_set of = gw_blocks_of(problem, i);
        of = gw_blocks_common(&of, &work->in[k]);
        work->l[i][k] = gw_blocks_dot(problem, &of, gw_impulse_row(problem, i), y);
    }
    for (int i = k + 1; i < problem->rows; i++) {
        gw_block_set both = gw_blocks_common(&work->in[i], &work->in[k]);
        double part = gw_blocks_dot(problem, &both, w_of(problem, work, i), y);
        if (part == 0)
            continue;
        widen(problem, work, i, k);
        gw_blocks_add(problem, &work->in[k], w_of(problem, work, i), -part, w);
        gw_blocks_add(problem, &work->in[k], y_of(problem, work, i), -part, y);
    }
}

static void build_basis(const gw_impulse_problem *problem, gw_impulse_work *work)
{
    int rows = problem->rows;
    double size[GW_MAX_SIMULTANEOUS_CONTACTS];
    gw_impulse_images(problem, work);
    for (int i = 0; i < rows; i++) {
        gw_blocks_copy(problem, &work->in[i], w_of(problem, work, i), gw_impulse_row(problem, i));
        size[i] =
            gw_blocks_dot(problem, &work->in[i], w_of(problem, work, i), y_of(problem, work, i));
    }
    for (work->rank = 0; work->rank < rows && work->rank < problem->dof; work->rank++) {
        int k = work->rank;
        double most;
        int best = largest_left(problem, work, k, size, &most);
        if (!(most > DEPENDENT * DEPENDENT))
            return;
        swap_rows(work, k, best);
        work->pivot[k] = work->slot[k];
        if (!orthonormal(problem, work, k))
            return;
        take_off(problem, work, k);
    }
}

/* ---- between rows and basis ----------------------------------------------------------------- */

/* L = Q R where there are more rows than the basis has vectors; a triangle in the order of the
 * pivots where not, and where rows are many: those that follow from others take no part then. */
static void factor_rows(const gw_impulse_problem *problem, gw_impulse_work *work)
{
    gw_nnls *f = &work->cone;
    int rows = problem->rows;
    work->square = work->rank == rows || gw_impulse_uses_delassus(problem);
    if (work->square)
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
void gw_impulse_from_rows(const gw_impulse_problem *problem, const gw_impulse_work *work,
                          const double *b, double *z)
{
    const gw_nnls *f = &work->cone;
    int rank = work->rank;
    if (work->square) {
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
void gw_impulse_to_rows(const gw_impulse_problem *problem, const gw_impulse_work *work,
                        const double *x, double *p)
{
    const gw_nnls *f = &work->cone;
    int rank = work->rank;
    double t[GW_MAX_SIMULTANEOUS_CONTACTS];
    memset(p, 0, (size_t)problem->rows * sizeof *p);
    if (work->square) {
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
    double z[GW_MAX_SIMULTANEOUS_CONTACTS], most = 0;
    gw_impulse_from_rows(problem, work, problem->offset, z);
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
    double bounce[GW_MAX_SIMULTANEOUS_CONTACTS];
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
    gw_impulse_from_rows(problem, work, bounce, z);
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
    gw_impulse_to_rows(problem, work, x, p);
}

/* The same without pulling. With different e on redundant rows energy may rise: less rebound. */
static void push(const gw_impulse_problem *problem, gw_impulse_work *work, const double *s,
                 const double *z, double *p, double *x)
{
    double b[GW_MAX_SIMULTANEOUS_CONTACTS], after[GW_MAX_SIMULTANEOUS_CONTACTS];
    int rank = work->rank;
    static const double shares[] = {1, 0.5, 0.25, 0};
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < rank; k++)
            b[k] = s[k] + shares[i] * z[k];
        gw_nnls_solve(problem->rows, rank, (const double(*)[GW_MAX_SIMULTANEOUS_CONTACTS])work->l,
                      b, &work->cone, p, x);
        for (int k = 0; k < rank; k++)
            after[k] = s[k] + x[k];
        if (dot(rank, after, after) <= (1 + 1e-14) * dot(rank, s, s))
            return;
    }
}

/* s = W v */
static void speeds(const gw_impulse_problem *problem, const gw_impulse_work *work, double *s)
{
    if (gw_impulse_uses_delassus(problem)) {
        gw_impulse_delassus_speeds(problem, work, problem->v, s);
        return;
    }
    for (int k = 0; k < work->rank; k++)
        s[k] = gw_blocks_dot(problem, &work->in[k], w_of(problem, work, k), problem->v);
}

static int resolve(const gw_impulse_problem *problem, gw_impulse_work *work, double *dv,
                   double *generalised, double *p)
{
    double s[GW_MAX_SIMULTANEOUS_CONTACTS], z[GW_MAX_SIMULTANEOUS_CONTACTS],
        x[GW_MAX_SIMULTANEOUS_CONTACTS];
    bool many = gw_impulse_uses_delassus(problem);
    if (many)
        gw_impulse_delassus_basis(problem, work);
    else
        build_basis(problem, work);
    factor_rows(problem, work);
    speeds(problem, work, s);
    if (problem->offset)
        take_along(problem, work, s);
    rebound(problem, work, s, z);
    if (problem->only_push)
        push(problem, work, s, z, p, x);
    else
        reflect(problem, work, s, z, p, x);
    if (many) {
        gw_impulse_delassus_answer(problem, work, s, x, p, dv, generalised);
        return work->rank;
    }
    for (int k = 0; k < work->rank; k++) {
        gw_blocks_add(problem, &work->in[k], dv, x[k], y_of(problem, work, k));
        gw_blocks_add(problem, &work->in[k], generalised, x[k], w_of(problem, work, k));
    }
    return work->rank;
}

int gw_impulse_solve(const gw_impulse_problem *problem, gw_impulse_work *work, double *dv,
                     double *generalised, double *p)
{
    size_t n = (size_t)problem->dof;
    gw_impulse_problem whole = *problem;
    int from[2] = {0, problem->dof};
    memset(dv, 0, n * sizeof *dv);
    memset(generalised, 0, n * sizeof *generalised);
    memset(p, 0, (size_t)problem->rows * sizeof *p);
    if (problem->rows <= 0)
        return 0;
    work->w = work->memory;
    work->y = work->memory + (size_t)problem->rows * n;
    if (problem->blocks > 0)
        return resolve(problem, work, dv, generalised, p);
    whole.blocks = 1;
    whole.from = from;
    whole.of = NULL;
    return resolve(&whole, work, dv, generalised, p);
}
