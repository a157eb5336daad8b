/*
 * Inside of the numeric completion: four complex numbers side by side, one for each equation, so
 * that what is done to one equation is done to all. Eight equations are two such blocks. Any
 * thread, RT safe.
 */
#ifndef GW_SOLVE_LANES_H
#define GW_SOLVE_LANES_H

#include <complex.h>

#define GW_LANES  4
#define GW_BLOCKS 2

typedef double complex gw_complex;

/* Written for the compiler's own vectors: it makes of them what the processor has. */
typedef double gw_lanes __attribute__((vector_size(GW_LANES * sizeof(double))));

/* A version for wide vectors beside the plain one, chosen when the program starts: the same
 * operations in the same order, and so the same bits. Sanitizers do not bear such choices. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
#define GW_WIDE __attribute__((target_clones("avx2", "default")))
#else
#define GW_WIDE
#endif

#define GW_LANE_INLINE static inline __attribute__((always_inline))

typedef struct gw_column {
    gw_lanes re, im;
} gw_column;

GW_LANE_INLINE void gw_lane_set(gw_column *c, int lane, gw_complex z)
{
    c->re[lane] = creal(z);
    c->im[lane] = cimag(z);
}

GW_LANE_INLINE gw_complex gw_lane(const gw_column *c, int lane)
{
    return c->re[lane] + I * c->im[lane];
}

/* sum += a x */
GW_LANE_INLINE void gw_add_product(gw_column *sum, const gw_column *a, gw_complex x)
{
    double re = creal(x), im = cimag(x);
    sum->re += a->re * re - a->im * im;
    sum->im += a->re * im + a->im * re;
}

/* sum -= a x */
GW_LANE_INLINE void gw_take_product(gw_column *sum, const gw_column *a, gw_complex x)
{
    double re = creal(x), im = cimag(x);
    sum->re -= a->re * re - a->im * im;
    sum->im -= a->re * im + a->im * re;
}

/* out = a b, lane by lane; out may be either */
GW_LANE_INLINE void gw_columns_multiply(const gw_column *a, const gw_column *b, gw_column *out)
{
    gw_lanes re = a->re * b->re - a->im * b->im;
    out->im = a->re * b->im + a->im * b->re;
    out->re = re;
}

#endif
