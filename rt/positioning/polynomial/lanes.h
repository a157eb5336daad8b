/*
 * Inside of the numeric completion: complex numbers of some paths side by side, so that what is
 * done for one path is done for all. Any thread, RT safe.
 */
#ifndef GW_POSITIONING_POLYNOMIAL_LANES_H
#define GW_POSITIONING_POLYNOMIAL_LANES_H

#include <complex.h>

#include "rt/base/lanes.h"

typedef double complex gw_complex;

typedef struct gw_many {
    gw_lanes re, im;
} gw_many;

GW_LANE_INLINE void gw_lane_set(gw_many *c, int lane, gw_complex z)
{
    c->re[lane] = creal(z);
    c->im[lane] = cimag(z);
}

GW_LANE_INLINE gw_complex gw_lane(const gw_many *c, int lane)
{
    return c->re[lane] + I * c->im[lane];
}

/* sum += a b */
GW_LANE_INLINE void gw_add_product(gw_many *sum, const gw_many *a, const gw_many *b)
{
    sum->re += a->re * b->re - a->im * b->im;
    sum->im += a->re * b->im + a->im * b->re;
}

/* sum -= a b */
GW_LANE_INLINE void gw_take_product(gw_many *sum, const gw_many *a, const gw_many *b)
{
    sum->re -= a->re * b->re - a->im * b->im;
    sum->im -= a->re * b->im + a->im * b->re;
}

/* sum += k a, k one number for all */
GW_LANE_INLINE void gw_add_scaled(gw_many *sum, double k, const gw_many *a)
{
    sum->re += k * a->re;
    sum->im += k * a->im;
}

/* sum += z a */
GW_LANE_INLINE void gw_add_turned(gw_many *sum, gw_complex z, const gw_many *a)
{
    sum->re += creal(z) * a->re - cimag(z) * a->im;
    sum->im += creal(z) * a->im + cimag(z) * a->re;
}

/* out = a b; out may be either */
GW_LANE_INLINE void gw_multiply(const gw_many *a, const gw_many *b, gw_many *out)
{
    gw_lanes re = a->re * b->re - a->im * b->im;
    out->im = a->re * b->im + a->im * b->re;
    out->re = re;
}

/* |a|^2, added */
GW_LANE_INLINE void gw_add_square(gw_lanes *sum, const gw_many *a)
{
    *sum += a->re * a->re + a->im * a->im;
}

/* out = a where the mask has bits, else b; out may be either */
GW_LANE_INLINE void gw_pick(const gw_mask *mask, const gw_lanes *a, const gw_lanes *b,
                            gw_lanes *out)
{
    *out = (gw_lanes)(((gw_mask)*a & *mask) | ((gw_mask)*b & ~*mask));
}

GW_LANE_INLINE void gw_pick_many(const gw_mask *mask, const gw_many *a, const gw_many *b,
                                 gw_many *out)
{
    gw_pick(mask, &a->re, &b->re, &out->re);
    gw_pick(mask, &a->im, &b->im, &out->im);
}

#endif
