/*
 * Geodesics by projection: a step along the tangent, back onto the rows by the shortest way, and
 * the direction onto the tangent space there (a retraction and its vector transport, both of second
 * order). Any thread, RT safe.
 */
#include "rt/geometry/geodesic.h"

#include <assert.h>
#include <math.h>
#include <string.h>
#include "rt/base/spatial.h"

#define STEP      0.1  /* in units of the metric's length */
#define MOST      400  /* steps of an exponential map: longer ones beyond 40 lengths */
#define HALVINGS  12   /* of a step, at high curvature */
#define TRIES     4000 /* steps in all, halved ones too: some ten milliseconds */
#define TURN      0.85 /* least cosine between the directions before and after a step */
#define ON_ROWS   1e-11
#define SAME_POSE 1e-9 /* in lengths: rounding of a distance between poses */

/* d <- Z Z^T d / |Z Z^T d|, Z the tangent basis at x in [v; length w]; the cosine between both. */
static double rotate_to_tangent(const gw_submanifold *set, const gw_pose *x, double length,
                                double *d)
{
    double basis[6][6], to[6] = {0}, before = sqrt(gw_dot6(d, d));
    gw_submanifold_tangent(set, x, length, basis);
    for (int k = 0; k < set->dof; k++) {
        for (int i = 3; i < 6; i++)
            basis[k][i] *= length;
        double c = gw_dot6(basis[k], d);
        for (int i = 0; i < 6; i++)
            to[i] += c * basis[k][i];
    }
    double norm = sqrt(gw_dot6(to, to));
    for (int i = 0; i < 6; i++)
        d[i] = norm > 0 ? to[i] / norm : 0;
    return before > 0 ? norm / before : 0;
}

gw_geodesic gw_geodesic_from(gw_submanifold *set, const gw_pose *pose, const double direction[6],
                             double length)
{
    assert(set->general && length > 0);
    gw_rows_start_at(set->rows, set->row_count, pose);
    gw_geodesic g = {.set = set, .length = length, .x = *pose};
    memcpy(g.direction, direction, sizeof g.direction);
    rotate_to_tangent(set, pose, length, g.direction);
    return g;
}

static bool advance_with_halvings(gw_geodesic *g, double step, int halvings)
{
    gw_submanifold *set = g->set;
    double d[6], l = g->length;
    if (++g->tried > TRIES || gw_rows_out_of_work(set->rows, set->row_count))
        return false;
    memcpy(d, g->direction, sizeof d);
    gw_twist move = {{step * d[0], step * d[1], step * d[2]},
                     {step * d[3] / l, step * d[4] / l, step * d[5] / l}};
    gw_pose next = gw_pose_add(&g->x, &move);
    double off = gw_rows_project(set->rows, set->row_count, 6 - set->dof, l, 20, &next);
    double gone = gw_pose_distance(&g->x, &next, l);
    gw_rows_start_at(set->rows, set->row_count, &next);
    if (off <= ON_ROWS * l && fabs(gone - step) <= 0.25 * step + SAME_POSE * l &&
        rotate_to_tangent(set, &next, l, d) >= TURN) {
        g->x = next;
        memcpy(g->direction, d, sizeof d);
        return true;
    }
    return halvings > 0 && advance_with_halvings(g, step / 2, halvings - 1) &&
           advance_with_halvings(g, step / 2, halvings - 1);
}

bool gw_geodesic_step(gw_geodesic *g, double step)
{
    assert(step >= 0);
    gw_geodesic before = *g;
    if (step == 0 || advance_with_halvings(g, step, HALVINGS))
        return true;
    before.tried = g->tried;
    *g = before;
    return false;
}

double gw_exponential_map_unit(const gw_submanifold *set)
{
    assert(set->general);
    double most = 0;
    for (int i = 0; i < set->row_count; i++) {
        const gw_row *row = &set->rows[i];
        if (row->kind == GW_ROW_ANGLE || gw_row_of_direction(row->kind))
            continue;
        gw_vec3 point = gw_pose_point(&set->seed, row->m);
        most =
            fmax(most, fmax(gw_norm(row->m), fmax(fabs(row->value), gw_distance(point, row->f))));
    }
    return most > 0 ? most : 1;
}

/* The geodesic from the seed with the first tangent z. */
static gw_geodesic from_seed(gw_submanifold *set, double length, const double *z)
{
    double basis[6][6], direction[6] = {0};
    gw_submanifold_tangent(set, &set->seed, length, basis);
    for (int k = 0; k < set->dof; k++)
        for (int i = 0; i < 6; i++)
            direction[i] += z[k] * (i < 3 ? basis[k][i] : length * basis[k][i]);
    return gw_geodesic_from(set, &set->seed, direction, length);
}

bool gw_exponential_map(const gw_submanifold *set, const double *z, gw_pose *pose)
{
    assert(set->general);
    gw_submanifold followed = *set;
    double left = 0, length = gw_exponential_map_unit(set);
    for (int k = 0; k < set->dof; k++)
        left = hypot(left, z[k]);
    gw_geodesic g = from_seed(&followed, length, z);
    double step = fmax(STEP * length, left / MOST);
    bool there = true;
    while (left > 0 && there) {
        there = gw_geodesic_step(&g, fmin(step, left));
        left = left > step ? left - step : 0;
    }
    *pose = g.x;
    return there && gw_submanifold_contains(&followed, pose);
}
