/*
 * Friction of a collision: impulses across contacts that push, after those along their normals.
 *
 *   min over p of  1/2 p^T A p + p^T u,   |p_i| <= mu_i p_n,i,   A = J_t D^-1 J_t^T,  u = J_t v
 *
 * which is the kinetic energy, so none is gained, and where a contact goes on sliding its impulse
 * is against its velocity after the collision: Coulomb's law of impulses. One contact at a time,
 * each exactly, until none changes any more: every change takes energy away. RT safe.
 */
#include <math.h>
#include <string.h>

#include "rt/contact/impulse_private.h"

#define SWEEPS  64    /* over all contacts */
#define SETTLED 1e-12 /* of the largest limit: nothing changes any more */
#define SECANTS 40    /* of one contact */

/* ---- one contact ---------------------------------------------------------------------------- */

/* |(A + shift)^-1 g| in the axes of A, and its answer. */
static double held_back(const double axis[2], const double along[2], double shift, double p[2])
{
    for (int k = 0; k < 2; k++)
        p[k] = along[k] == 0 ? 0 : -along[k] / (axis[k] + shift);
    return hypot(p[0], p[1]);
}

/* It slides: the shift that brings p to the limit, between two that do not. */
static void slide(const double axis[2], const double along[2], double limit, double p[2])
{
    double size = hypot(along[0], along[1]);
    double low = fmax(0, size / limit - fmax(axis[0], axis[1]));
    double high = size / limit - fmin(axis[0], axis[1]);
    for (int i = 0; i < SECANTS && high - low > 1e-15 * high; i++) {
        double middle = 0.5 * (low + high);
        if (held_back(axis, along, middle, p) > limit)
            low = middle;
        else
            high = middle;
    }
    double is = held_back(axis, along, high, p);
    for (int k = 0; k < 2 && is > limit; k++)
        p[k] *= limit / is;
}

void gw_impulse_friction_one(const double a[3], const double g[2], double limit, double p[2])
{
    double half = 0.5 * (a[0] - a[2]), apart = hypot(half, a[1]), mean = 0.5 * (a[0] + a[2]);
    double turn = 0.5 * atan2(a[1], half), c = cos(turn), s = sin(turn), q[2];
    double axis[2] = {mean + apart, fmax(0, mean - apart)};
    double along[2] = {c * g[0] + s * g[1], c * g[1] - s * g[0]};
    p[0] = p[1] = 0;
    if (!(limit > 0) || !(axis[0] > 0))
        return;
    /* what it hardly yields to is no way to stop it */
    bool stops = axis[1] > 1e-12 * axis[0] && held_back(axis, along, 0, q) <= limit;
    if (!stops)
        slide(axis, along, limit, q);
    p[0] = c * q[0] - s * q[1];
    p[1] = s * q[0] + c * q[1];
}

/* ---- all together --------------------------------------------------------------------------- */

static const double *image(const gw_impulse_problem *problem, const double *images, int row)
{
    return images + (size_t)row * (size_t)problem->dof;
}

static double yield(const gw_impulse_problem *problem, const double *images, int row, int other)
{
    gw_block_set in = gw_blocks_of(problem, row);
    return gw_blocks_dot(problem, &in, gw_impulse_row(problem, row), image(problem, images, other));
}

/* The speed across row i after what was done already. */
static double speed(const gw_impulse_problem *problem, const double *dv, int i)
{
    gw_block_set in = gw_blocks_of(problem, i);
    const double *row = gw_impulse_row(problem, i);
    return gw_blocks_dot(problem, &in, row, problem->v) + gw_blocks_dot(problem, &in, row, dv) +
           (problem->offset ? problem->offset[i] : 0);
}

/* Contact i by itself, the others as they are; returns by how much its impulse changed. */
static double rub(const gw_impulse_problem *problem, const double *images, int i, double limit,
                  double *dv, double *generalised, double *p)
{
    int row[2] = {2 * i, 2 * i + 1};
    double a[3] = {yield(problem, images, row[0], row[0]), yield(problem, images, row[0], row[1]),
                   yield(problem, images, row[1], row[1])};
    double u[2] = {speed(problem, dv, row[0]), speed(problem, dv, row[1])}, next[2];
    const double *was = p + row[0];
    double g[2] = {u[0] - a[0] * was[0] - a[1] * was[1], u[1] - a[1] * was[0] - a[2] * was[1]};
    gw_impulse_friction_one(a, g, limit, next);
    double change[2] = {next[0] - was[0], next[1] - was[1]};
    for (int k = 0; k < 2; k++) {
        gw_block_set in = gw_blocks_of(problem, row[k]);
        gw_blocks_add(problem, &in, dv, change[k], image(problem, images, row[k]));
        gw_blocks_add(problem, &in, generalised, change[k], gw_impulse_row(problem, row[k]));
        p[row[k]] = next[k];
    }
    return hypot(change[0], change[1]);
}

int gw_impulse_friction(const gw_impulse_problem *problem, const double *limit, double *images,
                        double *dv, double *generalised, double *p)
{
    double most = 0;
    memset(p, 0, (size_t)problem->rows * sizeof *p);
    for (int i = 0; i < problem->rows; i++) {
        gw_block_set in = gw_blocks_of(problem, i);
        gw_blocks_inverse(problem, &in, gw_impulse_row(problem, i),
                          images + (size_t)i * (size_t)problem->dof);
        most = fmax(most, limit[i / 2]);
    }
    double change = INFINITY;
    int sweep = 0;
    for (; sweep < SWEEPS && change > SETTLED * most; sweep++) {
        change = 0;
        for (int i = 0; i < problem->rows / 2; i++)
            if (limit[i] > 0)
                change = fmax(change, rub(problem, images, i, limit[i], dv, generalised, p));
    }
    return sweep;
}
