/*
 * Directions and gains of a desired mass. On the loop's thread, RT safe.
 */
#include "rt/haptics/desired_basis.h"

#include <math.h>
#include <string.h>

#include "rt/base/small.h"

#define NEAR_SINGULAR 0.01 /* of the easiest direction: the rest of motion in a direction */
#define STEPS_LEAST   16.0 /* in which that rest may vanish */
#define GAIN_GROWTH   1.25 /* in a tick, near a singular posture */
#define RESISTED      1e-9 /* of the largest singular value: the constraints', not a light mass */

/* ---- axes of the held frame ------------------------------------------------------------------ */

void gw_held_in_axes(gw_quat q, gw_vec3 a, gw_vec3 b, double out[6])
{
    gw_vec3 x = gw_unrotate(q, a), y = gw_unrotate(q, b);
    memcpy(out, (double[6]){x.x, x.y, x.z, y.x, y.y, y.z}, 6 * sizeof *out);
}

void gw_held_row_in_axes(gw_quat q, const double x[6], double out[6])
{
    gw_held_in_axes(q, gw_v3(x[0], x[1], x[2]), gw_v3(x[3], x[4], x[5]), out);
}

gw_wrench gw_held_in_world(gw_quat q, const double f[6])
{
    return (gw_wrench){gw_rotate(q, gw_v3(f[0], f[1], f[2])),
                       gw_rotate(q, gw_v3(f[3], f[4], f[5]))};
}

void gw_held_matrix_in_axes(gw_quat q, const double m[6][6], double out[6][6])
{
    double half[6][6];
    for (int i = 0; i < 6; i++)
        gw_held_row_in_axes(q, m[i], half[i]);
    for (int j = 0; j < 6; j++) {
        double column[6], turned[6];
        for (int i = 0; i < 6; i++)
            column[i] = half[i][j];
        gw_held_row_in_axes(q, column, turned);
        for (int i = 0; i < 6; i++)
            out[i][j] = turned[i];
    }
}

void gw_held_matrix_in_world(gw_quat q, const double m[6][6], double out[6][6])
{
    gw_held_matrix_in_axes(gw_quat_conj(q), m, out);
}

/* ---- the basis ------------------------------------------------------------------------------- */

/* The factor from the felt wrench to the wrench on the model, along a direction in which M_d is the
 * fraction s of the model's own inertia: 1/s, bounded. 1 for resisted directions (s = 0), which are
 * left to the constraints. */
static double gain_of(double s)
{
    return s > 0 ? fmin(1 / s, GW_DESIRED_MASS_RATIO) : 1;
}

/*
 * The weight of M_d along a direction of which a posture near a singular one leaves little, the
 * share `left` of the easiest one: 1, but 0 where that share, the square of the lever, changes by
 * itself within a step. A wrench there grows as the inverse of the lever and holds for the step,
 * while the lever grows from nothing: it would throw the model. As a step may lead from one side of
 * the posture to the other, gains there rise by a quarter in a tick at most.
 */
static double weight_near_singular(double left, double share, double before)
{
    double change = 0.5 * fabs(share - before);
    double steps = change > 0 ? share / change : STEPS_LEAST;
    double resolved = fmin(steps / STEPS_LEAST, 1), near = fmin(left / NEAR_SINGULAR, 1);
    return near * near + (1 - near * near) * resolved * resolved;
}

/* The direction of the last tick that v_k continues: they turn in the axes of the held frame, and a
 * share taken of the last tick's matrix along v_k would be mostly that of an easy direction, which
 * v_k was turned away from. */
static int direction_before(const gw_desired_impedance *d, const double v[6][6], int k)
{
    double most = -1;
    int best = 0;
    for (int j = 0; j < 6; j++) {
        double same = 0;
        for (int i = 0; i < 6; i++)
            same += v[i][k] * d->last_v[i][j];
        if (fabs(same) > most) {
            most = fabs(same);
            best = j;
        }
    }
    return best;
}

void gw_desired_basis_of(gw_desired_impedance *d, const double own[6][6], gw_desired_basis *x)
{
    double us[6][6];
    for (int i = 0; i < 6; i++)
        x->m[i] = sqrt(d->def.mass[i]);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            us[i][j] = x->m[i] * own[i][j] * x->m[j];
    gw_small_svd(6, us, x->s, x->v);
    d->too_light = 0;
    for (int k = 0; k < 6; k++) {
        x->s[k] = x->s[k] > RESISTED * x->s[0] ? x->s[k] : 0;
        x->g[k] = gain_of(x->s[k]);
        x->weight[k] = 1;
        if (x->g[k] > 1 && d->has_last) {
            int j = direction_before(d, (const double(*)[6])x->v, k);
            double left = x->s[k] / x->s[0], before = d->last_s[j];
            double most = GAIN_GROWTH * fmax(d->last_g[j], 1);
            x->weight[k] = weight_near_singular(left, x->s[k], before);
            if (left < NEAR_SINGULAR)
                x->weight[k] = fmin(x->weight[k], (most - 1) / (x->g[k] - 1));
        }
        x->g[k] = 1 + (x->g[k] - 1) * x->weight[k];
        x->change[k] = x->s[k] > 0 ? (1 / x->g[k] - 1) / x->s[k] : 0;
        d->too_light += x->s[k] > 0 && x->g[k] * x->s[k] < 1 - 1e-9 && x->s[k] < 1;
    }
}

void gw_desired_basis_remember(gw_desired_impedance *d, const gw_desired_basis *x)
{
    d->has_last = true;
    memcpy(d->last_v, x->v, sizeof d->last_v);
    memcpy(d->last_s, x->s, sizeof d->last_s);
    memcpy(d->last_g, x->g, sizeof d->last_g);
}

void gw_desired_basis_along(const gw_desired_basis *x, const double twist[6], double y[6])
{
    for (int k = 0; k < 6; k++) {
        y[k] = 0;
        for (int i = 0; i < 6; i++)
            y[k] += x->v[i][k] * x->m[i] * twist[i];
    }
}
