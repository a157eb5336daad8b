/*
 * Twists, wrenches and rows as six numbers, [v; w] or [f; t], and 6 x 6 matrices on them.
 *
 * Pure functions: any thread, RT safe.
 */
#ifndef GW_BASE_SPATIAL_H
#define GW_BASE_SPATIAL_H

#include "rt/base/space.h"

static inline gw_vec3 gw_linear_part(const double x[6])
{
    return gw_v3(x[0], x[1], x[2]);
}

static inline gw_vec3 gw_angular_part(const double x[6])
{
    return gw_v3(x[3], x[4], x[5]);
}

static inline void gw_spatial_set(double x[6], gw_vec3 a, gw_vec3 b)
{
    x[0] = a.x, x[1] = a.y, x[2] = a.z;
    x[3] = b.x, x[4] = b.y, x[5] = b.z;
}

static inline double gw_dot3(const double a[3], const double b[3])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

static inline double gw_dot6(const double a[6], const double b[6])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

/* y = M x */
static inline void gw_matrix6_apply(const double m[6][6], const double x[6], double y[6])
{
    for (int i = 0; i < 6; i++)
        y[i] = gw_dot6(m[i], x);
}

#endif
