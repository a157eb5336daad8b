/*
 * Rotations and vectors in SIMD lanes, one per lane. Private to rt/geometry. Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_QUAT_LANES_H
#define GW_GEOMETRY_QUAT_LANES_H

#include "rt/base/simd.h"
#include "rt/base/space.h"

typedef struct gw_quat_lanes {
    gw_lanes w, x, y, z;
} gw_quat_lanes;

/* a where the mask has bits, else b. */
#define GW_SELECT(mask, a, b) ((gw_lanes)(((gw_mask)(a) & (mask)) | ((gw_mask)(b) & ~(mask))))

GW_LANE_INLINE bool gw_any_lane(const gw_mask *mask)
{
    long long bits = 0;
    for (int k = 0; k < GW_LANES; k++)
        bits |= (*mask)[k];
    return bits != 0;
}

GW_LANE_INLINE void gw_lanes_sqrt(const gw_lanes *a, gw_lanes *out)
{
    for (int k = 0; k < GW_LANES; k++)
        (*out)[k] = sqrt((*a)[k]);
}

GW_LANE_INLINE void gw_lanes_dot(const gw_lanes a[3], const gw_lanes b[3], gw_lanes *out)
{
    *out = a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

/* out = a x b; out is neither. */
GW_LANE_INLINE void gw_lanes_cross(const gw_lanes a[3], const gw_lanes b[3], gw_lanes out[3])
{
    out[0] = a[1] * b[2] - a[2] * b[1];
    out[1] = a[2] * b[0] - a[0] * b[2];
    out[2] = a[0] * b[1] - a[1] * b[0];
}

GW_LANE_INLINE void gw_lanes_fill(gw_vec3 a, gw_lanes out[3])
{
    out[0] = (gw_lanes){0} + a.x;
    out[1] = (gw_lanes){0} + a.y;
    out[2] = (gw_lanes){0} + a.z;
}

GW_LANE_INLINE void gw_quat_lanes_set(gw_quat_lanes *to, int lane, gw_quat q)
{
    to->w[lane] = q.w, to->x[lane] = q.x, to->y[lane] = q.y, to->z[lane] = q.z;
}

GW_LANE_INLINE void gw_quat_lanes_fill(gw_quat_lanes *to, gw_quat q)
{
    const gw_lanes zero = {0};
    to->w = zero + q.w, to->x = zero + q.x, to->y = zero + q.y, to->z = zero + q.z;
}

GW_LANE_INLINE gw_quat gw_quat_lanes_get(const gw_quat_lanes *from, int lane)
{
    return (gw_quat){from->w[lane], from->x[lane], from->y[lane], from->z[lane]};
}

GW_LANE_INLINE void gw_quat_lanes_unit(gw_quat_lanes *q)
{
    gw_lanes square = q->w * q->w + q->x * q->x + q->y * q->y + q->z * q->z, size;
    gw_lanes_sqrt(&square, &size);
    gw_lanes scale = 1 / size;
    q->w *= scale, q->x *= scale, q->y *= scale, q->z *= scale;
}

/* q = (1, a) q, and q (1, a): the rotation exp(2 a) up to terms of third order in a, not
 * normalised. */
GW_LANE_INLINE void gw_quat_lanes_turn(gw_quat_lanes *q, const gw_lanes a[3])
{
    gw_quat_lanes o = *q;
    q->w = o.w - a[0] * o.x - a[1] * o.y - a[2] * o.z;
    q->x = o.x + a[0] * o.w + a[1] * o.z - a[2] * o.y;
    q->y = o.y - a[0] * o.z + a[1] * o.w + a[2] * o.x;
    q->z = o.z + a[0] * o.y - a[1] * o.x + a[2] * o.w;
}

GW_LANE_INLINE void gw_quat_lanes_turn_body(gw_quat_lanes *q, const gw_lanes a[3])
{
    gw_quat_lanes o = *q;
    q->w = o.w - a[0] * o.x - a[1] * o.y - a[2] * o.z;
    q->x = o.x + a[0] * o.w - a[1] * o.z + a[2] * o.y;
    q->y = o.y + a[0] * o.z + a[1] * o.w - a[2] * o.x;
    q->z = o.z - a[0] * o.y + a[1] * o.x + a[2] * o.w;
}

/* R(q) a, by a + 2 w (v x a) + 2 v x (v x a). */
GW_LANE_INLINE void gw_quat_lanes_rotate(const gw_quat_lanes *q, gw_vec3 a, gw_lanes out[3])
{
    gw_lanes tx = 2 * (q->y * a.z - q->z * a.y), ty = 2 * (q->z * a.x - q->x * a.z),
             tz = 2 * (q->x * a.y - q->y * a.x);
    out[0] = a.x + q->w * tx + (q->y * tz - q->z * ty);
    out[1] = a.y + q->w * ty + (q->z * tx - q->x * tz);
    out[2] = a.z + q->w * tz + (q->x * ty - q->y * tx);
}

/* theta / (2 sin(theta / 2)) of c = cos(theta / 2), from 0 to 1: with half of that angle, phi, it
 * is phi / sin(phi) / cos(phi). The first is a polynomial of u = 1 - cos(phi), the nearest one at
 * its Chebyshev nodes, within 1e-17. */
GW_LANE_INLINE void gw_lanes_half_angle_over_sine(const gw_lanes *c, gw_lanes *out)
{
    static const double over_sine[] = {
        0.000308394729830587,  0.00010081938119771236, 0.0006318583168355037, 0.0011473508835053567,
        0.0024907288809324097, 0.00532746069531852,    0.011544056412961296,  0.025396823063209596,
        0.057142857214242004,  0.13333333333220806,    0.33333333333334025,   1};
    gw_lanes square = 0.5 + 0.5 * *c, cosine, part[6];
    gw_lanes_sqrt(&square, &cosine);
    gw_lanes u = 1 - cosine, uu = u * u, u4 = uu * uu;
    for (int k = 0; k < 6; k++) /* Estrin's scheme: by twos, fours, all */
        part[k] = over_sine[2 * k] * u + over_sine[2 * k + 1];
    for (int k = 0; k < 3; k++)
        part[k] = part[2 * k] * uu + part[2 * k + 1];
    gw_lanes sum = (part[0] * u4 + part[1]) * u4 + part[2];
    *out = sum / cosine;
}

#endif
