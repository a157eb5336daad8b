/*
 * What the files of simultaneous impulses share: vectors over the freedoms of all movers, of which
 * only some movers' blocks have entries. RT safe.
 */
#ifndef GW_CONTACT_IMPULSE_PRIVATE_H
#define GW_CONTACT_IMPULSE_PRIVATE_H

#include "rt/contact/impulse.h"

#define GW_BLOCK_WORDS (int)(sizeof(gw_block_set) / sizeof(uint64_t))

/* For each block: its first entry, and one beyond its last. */
#define GW_EACH_BLOCK(problem, in, begin, end)                                                     \
    for (int word_ = 0; word_ < GW_BLOCK_WORDS; word_++)                                           \
        for (uint64_t bits_ = (in)->bits[word_]; bits_; bits_ &= bits_ - 1)                        \
            for (int begin = (problem)->from[64 * word_ + __builtin_ctzll(bits_)],                 \
                     end = (problem)->from[64 * word_ + __builtin_ctzll(bits_) + 1];               \
                 begin < end; begin = end)

static inline const double *gw_impulse_row(const gw_impulse_problem *problem, int i)
{
    return problem->j + (size_t)i * (size_t)problem->dof;
}

static inline void gw_blocks_put(gw_block_set *in, int block)
{
    if (block >= 0)
        in->bits[block / 64] |= (uint64_t)1 << (block % 64);
}

static inline gw_block_set gw_blocks_of(const gw_impulse_problem *problem, int row)
{
    gw_block_set in = {{0}};
    gw_blocks_put(&in, problem->of ? problem->of[row][0] : 0);
    gw_blocks_put(&in, problem->of ? problem->of[row][1] : -1);
    return in;
}

static inline gw_block_set gw_blocks_common(const gw_block_set *a, const gw_block_set *b)
{
    gw_block_set both;
    for (int i = 0; i < GW_BLOCK_WORDS; i++)
        both.bits[i] = a->bits[i] & b->bits[i];
    return both;
}

static inline double gw_blocks_dot(const gw_impulse_problem *problem, const gw_block_set *in,
                                   const double *a, const double *b)
{
    double sum = 0;
    GW_EACH_BLOCK(problem, in, begin, end)
    for (int i = begin; i < end; i++)
        sum += a[i] * b[i];
    return sum;
}

/* a += s b */
static inline void gw_blocks_add(const gw_impulse_problem *problem, const gw_block_set *in,
                                 double *a, double s, const double *b)
{
    GW_EACH_BLOCK(problem, in, begin, end)
    for (int i = begin; i < end; i++)
        a[i] += s * b[i];
}

static inline void gw_blocks_scale(const gw_impulse_problem *problem, const gw_block_set *in,
                                   double *a, double s)
{
    GW_EACH_BLOCK(problem, in, begin, end)
    for (int i = begin; i < end; i++)
        a[i] *= s;
}

static inline void gw_blocks_copy(const gw_impulse_problem *problem, const gw_block_set *in,
                                  double *to, const double *from)
{
    GW_EACH_BLOCK(problem, in, begin, end)
    for (int i = begin; i < end; i++)
        to[i] = from[i];
}

static inline void gw_blocks_clear(const gw_impulse_problem *problem, const gw_block_set *in,
                                   double *a)
{
    GW_EACH_BLOCK(problem, in, begin, end)
    for (int i = begin; i < end; i++)
        a[i] = 0;
}

/* y = D^-1 w */
static inline void gw_blocks_inverse(const gw_impulse_problem *problem, const gw_block_set *in,
                                     const double *w, double *y)
{
    for (int k = 0; k < problem->blocks; k++)
        if (in->bits[k / 64] >> (k % 64) & 1)
            problem->inverse(problem->context, k, w + problem->from[k], y + problem->from[k]);
}

/* y = D^-1 j of every row, each in the slot of its number, and where it has entries. */
static inline void gw_impulse_images(const gw_impulse_problem *problem, gw_impulse_work *work)
{
    for (int i = 0; i < problem->rows; i++) {
        work->slot[i] = i;
        work->in[i] = gw_blocks_of(problem, i);
        gw_blocks_inverse(problem, &work->in[i], gw_impulse_row(problem, i),
                          work->y + (size_t)i * (size_t)problem->dof);
    }
}

/* z = L^+ b, the basis' answer to values of rows. */
void gw_impulse_from_rows(const gw_impulse_problem *problem, const gw_impulse_work *work,
                          const double *b, double *z);

/* The least p with L^T p = x. */
void gw_impulse_to_rows(const gw_impulse_problem *problem, const gw_impulse_work *work,
                        const double *x, double *p);

static inline bool gw_impulse_uses_delassus(const gw_impulse_problem *problem)
{
    return problem->rows > (problem->few > 0 ? problem->few : GW_IMPULSE_MAX_BASIS_ROWS);
}

/* ---- many rows: impulse_many.c --------------------------------------------------------------- */

/* Pivots, rank and L. */
void gw_impulse_delassus_basis(const gw_impulse_problem *problem, gw_impulse_work *work);

/* s = W v */
void gw_impulse_delassus_speeds(const gw_impulse_problem *problem, const gw_impulse_work *work,
                                const double *v, double *s);

/* The change of v and J^T p for the answer x, and p brought nearer to it. */
void gw_impulse_delassus_answer(const gw_impulse_problem *problem, const gw_impulse_work *work,
                                const double *s, const double *x, double *p, double *dv,
                                double *generalised);

#endif
