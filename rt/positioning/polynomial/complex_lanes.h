/*
 * Complex numbers in SIMD lanes, one path a lane, so that one operation serves all paths. Any
 * thread, RT safe.
 */
#ifndef GW_POSITIONING_POLYNOMIAL_COMPLEX_LANES_H
#define GW_POSITIONING_POLYNOMIAL_COMPLEX_LANES_H

#include <complex.h>

#include "rt/base/simd.h"

typedef double complex gw_complex;

typedef struct gw_complex_lanes {
    gw_lanes re, im;
} gw_complex_lanes;

GW_LANE_INLINE void gw_lane_set(gw_complex_lanes *c, int lane, gw_complex z)
{
    c->re[lane] = creal(z);
    c->im[lane] = cimag(z);
}

GW_LANE_INLINE gw_complex gw_lane_get(const gw_complex_lanes *c, int lane)
{
    return c->re[lane] + I * c->im[lane];
}

/* sum += a b */
GW_LANE_INLINE void gw_add_product(gw_complex_lanes *sum, const gw_complex_lanes *a,
                                   const gw_complex_lanes *b)
{
    sum->re += a->re * b->re - a->im * b->im;
    sum->im += a->re * b->im + a->im * b->re;
}

/* sum -= a b */
GW_LANE_INLINE void gw_subtract_product(gw_complex_lanes *sum, const gw_complex_lanes *a,
                                        const gw_complex_lanes *b)
{
    sum->re -= a->re * b->re - a->im * b->im;
    sum->im -= a->re * b->im + a->im * b->re;
}

/* sum += k a, the same k in all lanes */
GW_LANE_INLINE void gw_add_scaled(gw_complex_lanes *sum, double k, const gw_complex_lanes *a)
{
    sum->re += k * a->re;
    sum->im += k * a->im;
}

/* sum += z a */
GW_LANE_INLINE void gw_add_complex_scaled(gw_complex_lanes *sum, gw_complex z,
                                          const gw_complex_lanes *a)
{
    sum->re += creal(z) * a->re - cimag(z) * a->im;
    sum->im += creal(z) * a->im + cimag(z) * a->re;
}

/* out = a b; out may be a or b */
GW_LANE_INLINE void gw_multiply(const gw_complex_lanes *a, const gw_complex_lanes *b,
                                gw_complex_lanes *out)
{
    gw_lanes re = a->re * b->re - a->im * b->im;
    out->im = a->re * b->im + a->im * b->re;
    out->re = re;
}

/* sum += |a|^2 */
GW_LANE_INLINE void gw_add_modulus2(gw_lanes *sum, const gw_complex_lanes *a)
{
    *sum += a->re * a->re + a->im * a->im;
}

/* out = a where the mask has bits, else b; out may be a or b */
GW_LANE_INLINE void gw_lane_select(const gw_mask *mask, const gw_lanes *a, const gw_lanes *b,
                                   gw_lanes *out)
{
    *out = (gw_lanes)(((gw_mask)*a & *mask) | ((gw_mask)*b & ~*mask));
}

GW_LANE_INLINE void gw_complex_select(const gw_mask *mask, const gw_complex_lanes *a,
                                      const gw_complex_lanes *b, gw_complex_lanes *out)
{
    gw_lane_select(mask, &a->re, &b->re, &out->re);
    gw_lane_select(mask, &a->im, &b->im, &out->im);
}

#endif
