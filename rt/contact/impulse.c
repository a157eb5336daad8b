/*
 * Simultaneous impulses. A basis of the rows of J, orthonormal in the metric of D^-1, reduces the
 * collision to short vectors:
 *
 *   w_k = combination of rows,  w_k^T D^-1 w_m = (k == m),  y_k = D^-1 w_k
 *   J = L W,  s = W v,  u = L s;  impulse x in the basis: v' = v + sum x_k y_k, J^T p = W^T x
 *
 * Kinetic energy in the rows' space is |s|^2/2. Vectors are stored by blocks of D: a row has
 * entries in those of its two systems, a basis vector in those that it was combined from.
 *
 * In this file: vectors of blocks; the orthonormal basis; the Delassus operator in its place, for
 * many rows; answers between rows and basis; the impulse; its friction. RT safe.
 */
#include "rt/contact/impulse.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/base/small.h"

#define BASIS_DEPENDENT    1e-11 /* a row of which less than this part is new is redundant */
#define DELASSUS_DEPENDENT 1e-13 /* the same of the diagonal of A, i.e. 3e-7 of a row */
#define REFINEMENTS        2     /* of the answer by the Delassus operator, */
#define REFINED            1e-13 /* until it leaves only so much of what was asked */
#define MAX_SWEEPS         64    /* of friction over all contacts */
#define SWEEPS_CONVERGED   1e-12 /* change of an impulse, of the largest limit */
#define MAX_BISECTIONS     40    /* of one contact's friction */

static void scale_vector(int n, double *a, double s)
{
    for (int i = 0; i < n; i++)
        a[i] *= s;
}

/* ---- vectors of blocks --------------------------------------------------------------------------
 */

/* Words of a set that hold the problem's blocks: of most problems the first alone. */
static inline int words_of(const gw_impulse_problem *problem)
{
    return (problem->blocks + 63) / 64;
}

/* For each block: its first entry, and one beyond its last. */
#define EACH_BLOCK(problem, in, begin, end)                                                        \
    for (int word_ = 0, words_ = words_of(problem); word_ < words_; word_++)                       \
        for (uint64_t bits_ = (in)->bits[word_]; bits_; bits_ &= bits_ - 1)                        \
            for (int begin = (problem)->from[64 * word_ + __builtin_ctzll(bits_)],                 \
                     end = (problem)->from[64 * word_ + __builtin_ctzll(bits_) + 1];               \
                 begin < end; begin = end)

static inline const double *row_of(const gw_impulse_problem *problem, int i)
{
    return problem->j + (size_t)i * (size_t)problem->dof;
}

static inline void include_block(gw_block_set *in, int block)
{
    if (block >= 0)
        in->bits[block / 64] |= (uint64_t)1 << (block % 64);
}

static inline gw_block_set blocks_of(const gw_impulse_problem *problem, int row)
{
    gw_block_set in = {{0}};
    include_block(&in, problem->of ? problem->of[row][0] : 0);
    include_block(&in, problem->of ? problem->of[row][1] : -1);
    return in;
}

/* Words beyond the problem's are not set. */
static inline gw_block_set common_blocks(const gw_impulse_problem *problem, const gw_block_set *a,
                                         const gw_block_set *b)
{
    gw_block_set both;
    for (int i = 0; i < words_of(problem); i++)
        both.bits[i] = a->bits[i] & b->bits[i];
    return both;
}

static inline double blocks_dot(const gw_impulse_problem *problem, const gw_block_set *in,
                                const double *a, const double *b)
{
    double sum = 0;
    EACH_BLOCK(problem, in, begin, end)
    {
        if (end - begin == 6) { /* a free body */
            for (int i = 0; i < 6; i++)
                sum += a[begin + i] * b[begin + i];
            continue;
        }
        for (int i = begin; i < end; i++)
            sum += a[i] * b[i];
    }
    return sum;
}

/* a += s b */
static inline void blocks_add(const gw_impulse_problem *problem, const gw_block_set *in, double *a,
                              double s, const double *b)
{
    EACH_BLOCK(problem, in, begin, end)
    for (int i = begin; i < end; i++)
        a[i] += s * b[i];
}

static inline void blocks_scale(const gw_impulse_problem *problem, const gw_block_set *in,
                                double *a, double s)
{
    EACH_BLOCK(problem, in, begin, end)
    for (int i = begin; i < end; i++)
        a[i] *= s;
}

static inline void blocks_copy(const gw_impulse_problem *problem, const gw_block_set *in,
                               double *to, const double *from)
{
    EACH_BLOCK(problem, in, begin, end)
    for (int i = begin; i < end; i++)
        to[i] = from[i];
}

static inline void blocks_clear(const gw_impulse_problem *problem, const gw_block_set *in,
                                double *a)
{
    EACH_BLOCK(problem, in, begin, end)
    for (int i = begin; i < end; i++)
        a[i] = 0;
}

/* y = D^-1 w */
static inline void blocks_inverse(const gw_impulse_problem *problem, const gw_block_set *in,
                                  const double *w, double *y)
{
    for (int k = 0; k < problem->blocks; k++)
        if (in->bits[k / 64] >> (k % 64) & 1)
            problem->inverse(problem->context, k, w + problem->from[k], y + problem->from[k]);
}

/* y_i = D^-1 j_i of every row, in the slot of its number. */
static void images_of_rows(const gw_impulse_problem *problem, gw_impulse_work *work)
{
    for (int i = 0; i < problem->rows; i++) {
        work->slot[i] = i;
        work->in[i] = blocks_of(problem, i);
        blocks_inverse(problem, &work->in[i], row_of(problem, i),
                       work->y + (size_t)i * (size_t)problem->dof);
    }
}

static bool uses_delassus(const gw_impulse_problem *problem)
{
    int most = problem->max_basis_rows > 0 ? problem->max_basis_rows : GW_IMPULSE_MAX_BASIS_ROWS;
    return problem->rows > most;
}

/* ---- orthonormal basis: Gram-Schmidt with pivoting, each vector twice
 * ---------------------------- */

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

/* Vector k is combined with vector m: it has entries in m's blocks from now on. */
static void combine_vectors(const gw_impulse_problem *problem, gw_impulse_work *work, int k, int m)
{
    gw_block_set fresh;
    for (int i = 0; i < words_of(problem); i++) {
        fresh.bits[i] = work->in[m].bits[i] & ~work->in[k].bits[i];
        work->in[k].bits[i] |= work->in[m].bits[i];
    }
    blocks_clear(problem, &fresh, w_of(problem, work, k));
    blocks_clear(problem, &fresh, y_of(problem, work, k));
}

/* Makes vector k orthonormal to those before it; its image is computed by D itself, and not from
 * what was subtracted. */
static bool orthonormalise_vector(const gw_impulse_problem *problem, gw_impulse_work *work, int k)
{
    double *w = w_of(problem, work, k), *y = y_of(problem, work, k);
    for (int pass = 0; pass < 2; pass++) {
        for (int m = 0; m < k; m++) {
            gw_block_set both = common_blocks(problem, &work->in[k], &work->in[m]);
            double part = blocks_dot(problem, &both, w, y_of(problem, work, m));
            if (part == 0)
                continue;
            combine_vectors(problem, work, k, m);
            blocks_add(problem, &work->in[m], w, -part, w_of(problem, work, m));
        }
        blocks_inverse(problem, &work->in[k], w, y);
        double norm = blocks_dot(problem, &work->in[k], w, y);
        if (!(norm > 0))
            return false;
        blocks_scale(problem, &work->in[k], w, 1 / sqrt(norm));
        blocks_scale(problem, &work->in[k], y, 1 / sqrt(norm));
    }
    return true;
}

/* The row with the largest remainder, relative to its size. */
static int largest_remainder(const gw_impulse_problem *problem, const gw_impulse_work *work, int k,
                             const double *size, double *most)
{
    int best = k;
    *most = -1;
    for (int i = k; i < problem->rows; i++) {
        double left =
            blocks_dot(problem, &work->in[i], w_of(problem, work, i), y_of(problem, work, i));
        double was = size[work->slot[i]], part = left > 0 && was > 0 ? left / was : 0;
        if (part > *most)
            best = i, *most = part;
    }
    return best;
}

/* Column k of L, and the remainders of the rows that are left. */
static void subtract_vector(const gw_impulse_problem *problem, gw_impulse_work *work, int k)
{
    const double *w = w_of(problem, work, k), *y = y_of(problem, work, k);
    for (int i = 0; i < problem->rows; i++) {
        gw_block_set of = blocks_of(problem, i);
        of = common_blocks(problem, &of, &work->in[k]);
        work->l[i][k] = blocks_dot(problem, &of, row_of(problem, i), y);
    }
    for (int i = k + 1; i < problem->rows; i++) {
        gw_block_set both = common_blocks(problem, &work->in[i], &work->in[k]);
        double part = blocks_dot(problem, &both, w_of(problem, work, i), y);
        if (part == 0)
            continue;
        combine_vectors(problem, work, i, k);
        blocks_add(problem, &work->in[k], w_of(problem, work, i), -part, w);
        blocks_add(problem, &work->in[k], y_of(problem, work, i), -part, y);
    }
}

/* Pivots, rank, W and L. */
static void orthonormal_basis(const gw_impulse_problem *problem, gw_impulse_work *work)
{
    int rows = problem->rows;
    double size[GW_MAX_SIMULTANEOUS_CONTACTS];
    images_of_rows(problem, work);
    for (int i = 0; i < rows; i++) {
        blocks_copy(problem, &work->in[i], w_of(problem, work, i), row_of(problem, i));
        size[i] = blocks_dot(problem, &work->in[i], w_of(problem, work, i), y_of(problem, work, i));
    }
    for (work->rank = 0; work->rank < rows && work->rank < problem->dof; work->rank++) {
        int k = work->rank;
        double most;
        int best = largest_remainder(problem, work, k, size, &most);
        if (!(most > BASIS_DEPENDENT * BASIS_DEPENDENT))
            return;
        swap_rows(work, k, best);
        work->pivot[k] = work->slot[k];
        if (!orthonormalise_vector(problem, work, k))
            return;
        subtract_vector(problem, work, k);
    }
}

/* ---- Delassus operator: Cholesky factor with pivoting
 * --------------------------------------------
 *
 * For many rows the basis is not written out: A = J D^-1 J^T = L L^T, W = L^-1 J of the pivots'
 * rows. A redundant row takes no part.
 */

/* A: only rows that share a block have an entry. */
static void form_delassus(const gw_impulse_problem *problem, gw_impulse_work *work)
{
    size_t n = (size_t)problem->dof;
    images_of_rows(problem, work);
    for (int i = 0; i < problem->rows; i++)
        for (int m = 0; m <= i; m++) {
            gw_block_set both = common_blocks(problem, &work->in[i], &work->in[m]);
            work->a[i][m] = work->a[m][i] =
                blocks_dot(problem, &both, row_of(problem, i), work->y + (size_t)m * n);
        }
}

/* Row i is pivot k: column k of L, and what is left of A of the rows in `left`. */
static void subtract_pivot(gw_impulse_work *work, int i, int k, const int *left, int count)
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

/* Pivots, rank and L. */
static void factor_delassus(const gw_impulse_problem *problem, gw_impulse_work *work)
{
    int left[GW_MAX_SIMULTANEOUS_CONTACTS], count = problem->rows;
    double size[GW_MAX_SIMULTANEOUS_CONTACTS];
    form_delassus(problem, work);
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
        if (!(most > DELASSUS_DEPENDENT))
            return;
        int row = left[best];
        left[best] = left[--count];
        work->pivot[work->rank] = row;
        subtract_pivot(work, row, work->rank, left, count);
    }
}

/* ---- between rows and basis
 * ------------------------------------------------------------------------ */

/* How L is inverted: as a triangle in the order of the pivots, where it is square or A was
 * factored; else by L = Q R. */
static void factor_rows(const gw_impulse_problem *problem, gw_impulse_work *work)
{
    gw_nnls *f = &work->nnls;
    int rows = problem->rows;
    work->square = work->rank == rows || uses_delassus(problem);
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
                double part = gw_dot_n(rows, f->q[m], q);
                f->r[m][k] += part;
                gw_axpy_n(rows, -part, f->q[m], q);
            }
        f->r[k][k] = sqrt(gw_dot_n(rows, q, q));
        scale_vector(rows, q, 1 / f->r[k][k]);
    }
}

/* z = L^+ b */
static void from_rows(const gw_impulse_problem *problem, const gw_impulse_work *work,
                      const double *b, double *z)
{
    const gw_nnls *f = &work->nnls;
    int rank = work->rank;
    if (work->square) {
        for (int k = 0; k < rank; k++) {
            const double *l = work->l[work->pivot[k]];
            z[k] = (b[work->pivot[k]] - gw_dot_n(k, l, z)) / l[k];
        }
        return;
    }
    for (int k = 0; k < rank; k++)
        z[k] = gw_dot_n(problem->rows, f->q[k], b);
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
    const gw_nnls *f = &work->nnls;
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
        gw_axpy_n(problem->rows, t[k], f->q[k], p);
    }
}

/* s = W v */
static void basis_speeds(const gw_impulse_problem *problem, const gw_impulse_work *work,
                         const double *v, double *s)
{
    if (!uses_delassus(problem)) {
        for (int k = 0; k < work->rank; k++)
            s[k] = blocks_dot(problem, &work->in[k], w_of(problem, work, k), v);
        return;
    }
    double u[GW_MAX_SIMULTANEOUS_CONTACTS];
    for (int i = 0; i < problem->rows; i++)
        u[i] = blocks_dot(problem, &work->in[i], row_of(problem, i), v);
    from_rows(problem, work, u, s);
}

/* ---- the impulse
 * ------------------------------------------------------------------------------------ */

/* s += L^+ offset. Nearly redundant rows with different offsets ask for more than any of them does:
 * at most twice what each would alone is added. */
static void add_offsets(const gw_impulse_problem *problem, const gw_impulse_work *work, double *s)
{
    double z[GW_MAX_SIMULTANEOUS_CONTACTS], most = 0;
    from_rows(problem, work, problem->offset, z);
    for (int i = 0; i < problem->rows; i++) {
        double size = gw_dot_n(work->rank, work->l[i], work->l[i]);
        most += size > 0 ? 4 * problem->offset[i] * problem->offset[i] / size : 0;
    }
    double is = gw_dot_n(work->rank, z, z);
    gw_axpy_n(work->rank, is > most ? sqrt(most / is) : 1, z, s);
}

static bool same_restitution(const gw_impulse_problem *problem)
{
    bool same = true;
    for (int i = 1; i < problem->rows; i++)
        same = same && problem->e[i] == problem->e[0];
    return same;
}

/* The rebound z: e s where all rows have the same e; else L^+ E L s, no longer than s. */
static void rebound_of(const gw_impulse_problem *problem, const gw_impulse_work *work,
                       const double *s, double *z)
{
    double bounce[GW_MAX_SIMULTANEOUS_CONTACTS];
    int rank = work->rank;
    if (same_restitution(problem)) {
        for (int k = 0; k < rank; k++)
            z[k] = problem->e[0] * s[k];
        return;
    }
    for (int i = 0; i < problem->rows; i++)
        bounce[i] = problem->e[i] * gw_dot_n(rank, work->l[i], s);
    from_rows(problem, work, bounce, z);
    double before = gw_dot_n(rank, s, s), after = gw_dot_n(rank, z, z);
    if (after > before)
        scale_vector(rank, z, sqrt(before / after));
}

/* x = -(s + z): the pseudo-inverse, eq. 22 */
static void pseudo_inverse_impulse(const gw_impulse_problem *problem, const gw_impulse_work *work,
                                   const double *s, const double *z, double *p, double *x)
{
    for (int k = 0; k < work->rank; k++)
        x[k] = -(s[k] + z[k]);
    to_rows(problem, work, x, p);
}

/* x = the projection of -(s + z), b, onto the cone of L's rows: p >= 0. Different e on redundant
 * rows may raise the energy: then with less rebound. */
static void project_onto_cone(const gw_impulse_problem *problem, gw_impulse_work *work,
                              const double *s, const double *z, double *p, double *x, double *b)
{
    static const double shares[] = {1, 0.5, 0.25, 0};
    double after[GW_MAX_SIMULTANEOUS_CONTACTS];
    int rank = work->rank;
    for (int i = 0; i < 4; i++) {
        for (int k = 0; k < rank; k++)
            b[k] = s[k] + shares[i] * z[k];
        gw_nnls_solve(problem->rows, rank, (const double(*)[GW_MAX_SIMULTANEOUS_CONTACTS])work->l,
                      b, &work->nnls, p, x);
        for (int k = 0; k < rank; k++)
            after[k] = s[k] + x[k];
        if (gw_dot_n(rank, after, after) <= (1 + 1e-14) * gw_dot_n(rank, s, s))
            return;
    }
}

/* dv = D^-1 J^T p, by D itself: large impulses of nearly redundant rows cancel. */
static void apply_to_rows(const gw_impulse_problem *problem, const gw_impulse_work *work,
                          const double *p, double *dv, double *generalised)
{
    memset(generalised, 0, (size_t)problem->dof * sizeof *generalised);
    for (int i = 0; i < problem->rows; i++)
        if (p[i] != 0)
            blocks_add(problem, &work->in[i], generalised, p[i], row_of(problem, i));
    for (int k = 0; k < problem->blocks; k++)
        problem->inverse(problem->context, k, generalised + problem->from[k],
                         dv + problem->from[k]);
}

/* Factor of the answer so that rounding brings no energy: along = dv^T D v, across = dv^T D dv.
 * With one e it is that of the exact reflection about dv, -(1+e) along / across; else at most 1,
 * and such that the energy does not rise. */
static double energy_factor(const gw_impulse_problem *problem, double along, double across)
{
    if (!(across > 0))
        return 1;
    if (!problem->only_push && same_restitution(problem))
        return -(1 + problem->e[0]) * along / across;
    return fmin(1, fmax(0, -2 * along / across));
}

/* The answer x by the Delassus operator's rows: refined by what it leaves, then corrected in its
 * energy. `own`: s of the velocities alone, without offsets. */
static void answer_by_rows(const gw_impulse_problem *problem, const gw_impulse_work *work,
                           const double *s, const double *own, const double *x, double *p,
                           double *dv, double *generalised)
{
    double left[GW_MAX_SIMULTANEOUS_CONTACTS], more[GW_MAX_SIMULTANEOUS_CONTACTS];
    int n = problem->dof;
    apply_to_rows(problem, work, p, dv, generalised);
    for (int turn = 0; turn < REFINEMENTS && !problem->only_push; turn++) {
        basis_speeds(problem, work, dv, left);
        double most = 0, asked = 0;
        for (int k = 0; k < work->rank; k++) {
            left[k] = x[k] - left[k];
            most = gw_worst(most, fabs(left[k]));
            asked = gw_worst(asked, fabs(x[k]));
        }
        if (most <= REFINED * asked)
            break;
        to_rows(problem, work, left, more);
        for (int i = 0; i < problem->rows; i++)
            p[i] += more[i];
        apply_to_rows(problem, work, p, dv, generalised);
    }
    double along = 0, across = 0;
    for (int k = 0; k < work->rank; k++)
        along += x[k] * (s[k] - own[k]);
    for (int i = 0; i < n; i++) {
        along += generalised[i] * problem->v[i];
        across += generalised[i] * dv[i];
    }
    double factor = energy_factor(problem, along, across);
    scale_vector(n, dv, factor);
    scale_vector(n, generalised, factor);
    scale_vector(problem->rows, p, factor);
}

/* The same by the basis: v' = v + sum x_k y_k, J^T p = W^T x. */
static void answer_by_basis(const gw_impulse_problem *problem, const gw_impulse_work *work,
                            const double *x, double *dv, double *generalised)
{
    for (int k = 0; k < work->rank; k++) {
        blocks_add(problem, &work->in[k], dv, x[k], y_of(problem, work, k));
        blocks_add(problem, &work->in[k], generalised, x[k], w_of(problem, work, k));
    }
}

static int solve_impulse(const gw_impulse_problem *problem, gw_impulse_work *work, double *dv,
                         double *generalised, double *p)
{
    double s[GW_MAX_SIMULTANEOUS_CONTACTS], z[GW_MAX_SIMULTANEOUS_CONTACTS],
        x[GW_MAX_SIMULTANEOUS_CONTACTS], b[GW_MAX_SIMULTANEOUS_CONTACTS],
        own[GW_MAX_SIMULTANEOUS_CONTACTS];
    bool by_rows = uses_delassus(problem);
    if (by_rows)
        factor_delassus(problem, work);
    else
        orthonormal_basis(problem, work);
    factor_rows(problem, work);
    basis_speeds(problem, work, problem->v, s);
    memcpy(own, s, (size_t)work->rank * sizeof *own);
    if (problem->offset)
        add_offsets(problem, work, s);
    rebound_of(problem, work, s, z);
    if (problem->only_push)
        project_onto_cone(problem, work, s, z, p, x, b);
    else
        pseudo_inverse_impulse(problem, work, s, z, p, x);
    if (by_rows)
        answer_by_rows(problem, work, s, own, x, p, dv, generalised);
    else
        answer_by_basis(problem, work, x, dv, generalised);
    if (problem->only_push && problem->share) /* dv stands: only who pushes changes */
        gw_nnls_share(problem->rows, work->rank,
                      (const double(*)[GW_MAX_SIMULTANEOUS_CONTACTS])work->l, b, x, problem->slack,
                      &work->nnls, p);
    return work->rank;
}

size_t gw_impulse_memory(int rows, int dof)
{
    assert(rows >= 0 && dof >= 0);
    return 2 * (size_t)rows * (size_t)dof;
}

int gw_impulse_solve(const gw_impulse_problem *problem, gw_impulse_work *work, double *dv,
                     double *generalised, double *p)
{
    assert(problem->rows <= GW_MAX_SIMULTANEOUS_CONTACTS && problem->dof >= 0);
    assert(problem->blocks >= 0 && problem->blocks <= GW_MAX_MODELS && problem->inverse);
    size_t n = (size_t)problem->dof;
    gw_impulse_problem one_block = *problem;
    int from[2] = {0, problem->dof};
    memset(dv, 0, n * sizeof *dv);
    memset(generalised, 0, n * sizeof *generalised);
    if (problem->rows <= 0)
        return 0;
    memset(p, 0, (size_t)problem->rows * sizeof *p);
    work->w = work->memory;
    work->y = work->memory + (size_t)problem->rows * n;
    if (problem->blocks > 0)
        return solve_impulse(problem, work, dv, generalised, p);
    one_block.blocks = 1;
    one_block.from = from;
    one_block.of = NULL;
    return solve_impulse(&one_block, work, dv, generalised, p);
}

/* ---- friction
 * ----------------------------------------------------------------------------------------
 *
 *   min over p of  1/2 p^T A p + p^T u,   |p_i| <= mu_i p_n,i,   A = J_t D^-1 J_t^T,  u = J_t v
 *
 * The objective is the kinetic energy, so none is gained, and where a contact goes on sliding its
 * impulse is against its velocity after the collision: Coulomb's law of impulses. Projected
 * Gauss-Seidel, each contact solved exactly: every change takes energy away.
 */

/* p = -(A + shift)^-1 g in the principal axes of A; returns |p|. */
static double shifted_answer(const double axis[2], const double along[2], double shift, double p[2])
{
    for (int k = 0; k < 2; k++)
        p[k] = along[k] == 0 ? 0 : -along[k] / (axis[k] + shift);
    return hypot(p[0], p[1]);
}

/* It slides: the shift with |p| = limit, by bisection. */
static void slide_on_cone(const double axis[2], const double along[2], double limit, double p[2])
{
    double size = hypot(along[0], along[1]);
    double low = fmax(0, size / limit - fmax(axis[0], axis[1]));
    double high = size / limit - fmin(axis[0], axis[1]);
    for (int i = 0; i < MAX_BISECTIONS && high - low > 1e-15 * high; i++) {
        double middle = 0.5 * (low + high);
        if (shifted_answer(axis, along, middle, p) > limit)
            low = middle;
        else
            high = middle;
    }
    double is = shifted_answer(axis, along, high, p);
    for (int k = 0; k < 2 && is > limit; k++)
        p[k] *= limit / is;
}

/* p that minimises 1/2 p^T A p + g^T p over |p| <= limit; A = (a[0] a[1]; a[1] a[2]) >= 0. */
static void friction_of_contact(const double a[3], const double g[2], double limit, double p[2])
{
    double half = 0.5 * (a[0] - a[2]), apart = hypot(half, a[1]), mean = 0.5 * (a[0] + a[2]);
    double turn = 0.5 * atan2(a[1], half), c = cos(turn), s = sin(turn), q[2];
    double axis[2] = {mean + apart, fmax(0, mean - apart)};
    double along[2] = {c * g[0] + s * g[1], c * g[1] - s * g[0]};
    p[0] = p[1] = 0;
    if (!(limit > 0) || !(axis[0] > 0))
        return;
    /* it sticks where it can, but not by a direction along which it hardly moves */
    bool sticks = axis[1] > 1e-12 * axis[0] && shifted_answer(axis, along, 0, q) <= limit;
    if (!sticks)
        slide_on_cone(axis, along, limit, q);
    p[0] = c * q[0] - s * q[1];
    p[1] = s * q[0] + c * q[1];
}

static const double *image_of(const gw_impulse_problem *problem, const double *images, int row)
{
    return images + (size_t)row * (size_t)problem->dof;
}

/* Entry of A. */
static double delassus_entry(const gw_impulse_problem *problem, const double *images, int row,
                             int other)
{
    gw_block_set in = blocks_of(problem, row);
    return blocks_dot(problem, &in, row_of(problem, row), image_of(problem, images, other));
}

/* Speed along row i after the impulses so far. */
static double speed_after(const gw_impulse_problem *problem, const double *dv, int i)
{
    gw_block_set in = blocks_of(problem, i);
    const double *row = row_of(problem, i);
    return blocks_dot(problem, &in, row, problem->v) + blocks_dot(problem, &in, row, dv) +
           (problem->offset ? problem->offset[i] : 0);
}

/* Updates contact i, the others as they are; returns the change of its impulse. */
static double update_friction(const gw_impulse_problem *problem, const double *images, int i,
                              double limit, double *dv, double *generalised, double *p)
{
    int row[2] = {2 * i, 2 * i + 1};
    double a[3] = {delassus_entry(problem, images, row[0], row[0]),
                   delassus_entry(problem, images, row[0], row[1]),
                   delassus_entry(problem, images, row[1], row[1])};
    double u[2] = {speed_after(problem, dv, row[0]), speed_after(problem, dv, row[1])}, next[2];
    const double *was = p + row[0];
    double g[2] = {u[0] - a[0] * was[0] - a[1] * was[1], u[1] - a[1] * was[0] - a[2] * was[1]};
    friction_of_contact(a, g, limit, next);
    double change[2] = {next[0] - was[0], next[1] - was[1]};
    for (int k = 0; k < 2; k++) {
        gw_block_set in = blocks_of(problem, row[k]);
        blocks_add(problem, &in, dv, change[k], image_of(problem, images, row[k]));
        blocks_add(problem, &in, generalised, change[k], row_of(problem, row[k]));
        p[row[k]] = next[k];
    }
    return hypot(change[0], change[1]);
}

int gw_impulse_friction(const gw_impulse_problem *problem, const double *limit, double *images,
                        double *dv, double *generalised, double *p)
{
    assert(problem->rows % 2 == 0 && problem->rows <= 2 * GW_MAX_SIMULTANEOUS_CONTACTS);
    double most = 0;
    memset(p, 0, (size_t)problem->rows * sizeof *p);
    for (int i = 0; i < problem->rows; i++) {
        gw_block_set in = blocks_of(problem, i);
        blocks_inverse(problem, &in, row_of(problem, i), images + (size_t)i * (size_t)problem->dof);
        most = fmax(most, limit[i / 2]);
    }
    double change = INFINITY;
    int sweep = 0;
    for (; sweep < MAX_SWEEPS && change > SWEEPS_CONVERGED * most; sweep++) {
        change = 0;
        for (int i = 0; i < problem->rows / 2; i++)
            if (limit[i] > 0)
                change =
                    fmax(change, update_friction(problem, images, i, limit[i], dv, generalised, p));
    }
    return sweep;
}
