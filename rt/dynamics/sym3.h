/*
 * Symmetric 3 x 3 matrices, for the recursions of systems of bodies. Pure functions, RT safe.
 */
#ifndef GW_DYNAMICS_SYM3_H
#define GW_DYNAMICS_SYM3_H

#include "rt/base/space.h"

/* Lower triangle of a symmetric matrix. */
typedef struct gw_sym3 {
    double xx, yx, yy, zx, zy, zz;
} gw_sym3;

static inline __attribute__((always_inline)) gw_vec3 gw_sym3_mul(const gw_sym3 *s, gw_vec3 a)
{
    return gw_v3(s->xx * a.x + s->yx * a.y + s->zx * a.z, s->yx * a.x + s->yy * a.y + s->zy * a.z,
                 s->zx * a.x + s->zy * a.y + s->zz * a.z);
}

/* The product R [x y z], which must be symmetric: its lower triangle is computed. */
static inline __attribute__((always_inline)) gw_sym3 gw_sym3_of_rows(const gw_mat3 *r, gw_vec3 x,
                                                                     gw_vec3 y, gw_vec3 z)
{
    return (gw_sym3){r->m[0][0] * x.x + r->m[0][1] * x.y + r->m[0][2] * x.z,
                     r->m[0][0] * y.x + r->m[0][1] * y.y + r->m[0][2] * y.z,
                     r->m[1][0] * y.x + r->m[1][1] * y.y + r->m[1][2] * y.z,
                     r->m[0][0] * z.x + r->m[0][1] * z.y + r->m[0][2] * z.z,
                     r->m[1][0] * z.x + r->m[1][1] * z.y + r->m[1][2] * z.z,
                     r->m[2][0] * z.x + r->m[2][1] * z.y + r->m[2][2] * z.z};
}

/* R I R^T */
static inline __attribute__((always_inline)) gw_sym3 gw_sym3_turned(const gw_mat3 *r,
                                                                    const gw_sym3 *s)
{
    gw_vec3 x = gw_sym3_mul(s, gw_v3(r->m[0][0], r->m[0][1], r->m[0][2]));
    gw_vec3 y = gw_sym3_mul(s, gw_v3(r->m[1][0], r->m[1][1], r->m[1][2]));
    gw_vec3 z = gw_sym3_mul(s, gw_v3(r->m[2][0], r->m[2][1], r->m[2][2]));
    return gw_sym3_of_rows(r, x, y, z);
}

/* The same where I is diagonal. */
static inline __attribute__((always_inline)) gw_sym3 gw_sym3_turned_diagonal(const gw_mat3 *r,
                                                                             const gw_sym3 *s)
{
    gw_vec3 x = gw_v3(s->xx * r->m[0][0], s->yy * r->m[0][1], s->zz * r->m[0][2]);
    gw_vec3 y = gw_v3(s->xx * r->m[1][0], s->yy * r->m[1][1], s->zz * r->m[1][2]);
    gw_vec3 z = gw_v3(s->xx * r->m[2][0], s->yy * r->m[2][1], s->zz * r->m[2][2]);
    return gw_sym3_of_rows(r, x, y, z);
}

#endif
