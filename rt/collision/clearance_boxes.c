/*
 * Two boxes: their gap along the fifteen directions that can be the best while they overlap. Any
 * thread, no memory taken.
 *
 * In a's frame, halves h, t = A^T (x_b - x_a), R = A^T B:
 *
 *   faces of a:  |t_i| - h_ai - sum_k |R_ik| h_bk,          faces of b likewise with t R
 *   edges i, k:  (|l . t| - sum |l_m| h_am - sum |(R^T l)_m| h_bm) / |l|,   l = e_i x R e_k
 */
#include "rt/collision/gjk_epa.h"

#define PARALLEL 1e-6  /* edges whose directions differ by less span no direction (rad) */
#define LEAD     1e-14 /* of their sizes: by so much an edge must be better than a face */

typedef struct boxes {
    double half_a[3], half_b[3], t[3], r[3][3];
    double best;
    int i, k; /* the best: a face of a (k < 0), of b (i < 0), or edges */
} boxes;

static void consider(boxes *x, double s, int i, int k)
{
    if (s > x->best) {
        x->best = s;
        x->i = i;
        x->k = k;
    }
}

static void try_faces(boxes *x)
{
    for (int i = 0; i < 3; i++) {
        double b = 0;
        for (int k = 0; k < 3; k++)
            b += fabs(x->r[i][k]) * x->half_b[k];
        consider(x, fabs(x->t[i]) - x->half_a[i] - b, i, -1);
    }
    for (int k = 0; k < 3; k++) {
        double a = 0, along = 0;
        for (int i = 0; i < 3; i++) {
            a += fabs(x->r[i][k]) * x->half_a[i];
            along += x->t[i] * x->r[i][k];
        }
        consider(x, fabs(along) - x->half_b[k] - a, -1, k);
    }
}

static void try_edges(boxes *x, double lead)
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            int p = (i + 1) % 3, q = (i + 2) % 3, m = (k + 1) % 3, n = (k + 2) % 3;
            double up = x->r[p][k], uq = x->r[q][k], length = sqrt(up * up + uq * uq);
            if (length < PARALLEL)
                continue;
            double apart = fabs(x->t[q] * up - x->t[p] * uq);
            double a = x->half_a[p] * fabs(uq) + x->half_a[q] * fabs(up);
            double b = x->half_b[m] * fabs(x->r[i][n]) + x->half_b[n] * fabs(x->r[i][m]);
            consider(x, (apart - a - b) / length - lead, i, k);
        }
}

static gw_vec3 axis(const gw_convex *s, int i)
{
    return gw_v3(s->turn.m[0][i], s->turn.m[1][i], s->turn.m[2][i]);
}

static void put(double *to, gw_vec3 v)
{
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
}

void gw_sat_boxes(const gw_convex *a, const gw_convex *b, gw_signed_distance *gap)
{
    gw_vec3 apart = gw_sub(a->at, b->at);
    boxes x = {.best = -INFINITY};
    put(x.half_a, a->polytope->vertices[7]); /* the corner with no sign */
    put(x.half_b, b->polytope->vertices[7]);
    put(x.t, gw_neg(gw_mat3_tmul(&a->turn, apart)));
    for (int i = 0; i < 3; i++)
        put(x.r[i], gw_mat3_tmul(&b->turn, axis(a, i)));
    try_faces(&x);
    try_edges(&x, LEAD * (a->size + b->size));
    gw_vec3 n = x.k < 0   ? axis(a, x.i)
                : x.i < 0 ? axis(b, x.k)
                          : gw_unit(gw_cross(axis(a, x.i), axis(b, x.k)));
    n = gw_dot(n, apart) < 0 ? gw_neg(n) : n;
    *gap = (gw_signed_distance){gw_separation_along(a, b, n), n};
}
