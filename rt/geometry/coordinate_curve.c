/*
 * Coordinate curves: a set with factors is followed along its parameter, a general one along a
 * geodesic. Any thread, RT safe.
 */
#include "rt/geometry/coordinate_curve.h"
#include "rt/geometry/geodesic.h"

#include <assert.h>
#include <math.h>

/* ---- sets with factors: one parameter varies ------------------------------------------------ */

/* The step of parameter k that moves the body by `step` (m), from a difference quotient of the
 * pose. */
static double parameter_step(const gw_submanifold *set, const double *at, int k, double length,
                             double step)
{
    const double eps = 1e-6;
    double z[6];
    for (int i = 0; i < 6; i++)
        z[i] = i < set->dof ? at[i] : 0;
    gw_pose here = gw_submanifold_pose(set, z);
    z[k] += eps;
    gw_pose there = gw_submanifold_pose(set, z);
    double speed = gw_pose_distance(&here, &there, length) / eps;
    return step / fmax(speed, 1e-6);
}

static int parameter_side(const gw_submanifold *set, const double *at, int k, double by, int most,
                          gw_pose *out)
{
    gw_submanifold_parameter parameters[6];
    gw_submanifold_parameters(set, parameters);
    double z[6] = {0};
    for (int i = 0; i < set->dof; i++)
        z[i] = at[i];
    for (int n = 0; n < most; n++) {
        z[k] = at[k] + (n + 1) * by;
        bool beyond = z[k] < parameters[k].low || z[k] > parameters[k].high;
        bool round = parameters[k].periodic && fabs(z[k] - at[k]) > GW_PI;
        if (round || (beyond && !parameters[k].periodic))
            return n;
        out[n] = gw_submanifold_pose(set, z);
    }
    return most;
}

/* ---- general sets: a geodesic --------------------------------------------------------------- */

/* The tangent basis in weighted coordinates [v; length w]. */
static void tangent_at(const gw_submanifold *set, const gw_pose *x, double length,
                       double (*basis)[6])
{
    gw_submanifold_tangent(set, x, length, basis);
    for (int k = 0; k < set->dof; k++)
        for (int i = 3; i < 6; i++)
            basis[k][i] *= length;
}

static int general_side(const gw_submanifold *set, const gw_pose *from, const double *first,
                        double length, double step, int most, gw_pose *out, bool *closed)
{
    gw_submanifold followed = *set;
    gw_geodesic g = gw_geodesic_from(&followed, from, first, length);
    for (int n = 0; n < most; n++) {
        if (!gw_geodesic_step(&g, step) || !gw_submanifold_contains(set, &g.x))
            return n;
        if (n > 2 && gw_pose_distance(&g.x, from, length) < 0.6 * step) {
            *closed = true;
            return n;
        }
        out[n] = g.x;
    }
    return most;
}

/* ---- both ----------------------------------------------------------------------------------- */

/* The poses of one side; `way` is 1 or -1. */
static int trace_side(const gw_submanifold *set, const gw_pose *from, int k, double length,
                      double step, int way, int most, gw_pose *out, bool *closed)
{
    if (!set->general) {
        double at[6];
        gw_submanifold_parameters_at(set, from, at);
        return parameter_side(set, at, k, way * parameter_step(set, at, k, length, step), most,
                              out);
    }
    double basis[6][6], first[6];
    tangent_at(set, from, length, basis);
    for (int i = 0; i < 6; i++)
        first[i] = way * basis[k][i];
    return general_side(set, from, first, length, step, most, out, closed);
}

void gw_coordinate_curve_along(const gw_submanifold *set, const gw_pose *from, int freedom,
                               double length, double step, int most, gw_coordinate_curve *path)
{
    assert(set && from && freedom >= 0 && freedom < set->dof && step > 0 && path);
    gw_pose ahead[GW_COORDINATE_CURVE_MAX], behind[GW_COORDINATE_CURVE_MAX];
    most = most < GW_COORDINATE_CURVE_MAX ? most : GW_COORDINATE_CURVE_MAX;
    path->closed = false;
    int after = trace_side(set, from, freedom, length, step, 1, most, ahead, &path->closed);
    int before = path->closed ? 0
                              : trace_side(set, from, freedom, length, step, -1, most, behind,
                                           &path->closed);
    path->closed = path->closed && before == 0;
    for (int i = 0; i < before; i++)
        path->poses[i] = behind[before - 1 - i];
    path->poses[before] = *from;
    for (int i = 0; i < after; i++)
        path->poses[before + 1 + i] = ahead[i];
    path->here = before;
    path->count = before + 1 + after;
}
