/*
 * What a constraint asks, straight from its elements: the check of every answer, independent of
 * the decomposition and of the rows. Any thread, RT safe.
 */
#include <float.h>

#include "rt/positioning/solver.h"

/* Smallest of |angle - wanted| that the sense allows, "along" being 0 or pi. */
static double along_error(gw_vec3 a, gw_vec3 b, gw_sense sense)
{
    double angle = gw_angle_between(a, b);
    if (sense == GW_SAME)
        return angle;
    if (sense == GW_OPPOSITE)
        return GW_PI - angle;
    return fmin(angle, GW_PI - angle);
}

/* |pi/2 - angle| */
static double across_error(gw_vec3 a, gw_vec3 b)
{
    return fabs(asin(fmax(-1, fmin(1, gw_dot(a, b)))));
}

static double line_gap(gw_vec3 point, const gw_element *line)
{
    return gw_norm(gw_reject(gw_sub(point, line->p), line->d));
}

static double plane_height(gw_vec3 point, const gw_element *plane)
{
    return gw_dot(plane->d, gw_sub(point, plane->p));
}

/* |distance - wanted| between the elements, m the mobile one in world axes. */
static double distance_error(const gw_constraint *c, const gw_element *m, double value)
{
    const gw_element *f = &c->fixed;
    if (m->kind == GW_PLANE && f->kind == GW_PLANE)
        return fabs((c->reversed ? plane_height(f->p, m) : plane_height(m->p, f)) - value);
    if (f->kind == GW_PLANE)
        return fabs(plane_height(m->p, f) - value);
    if (m->kind == GW_PLANE)
        return fabs(plane_height(f->p, m) - value);
    if (f->kind == GW_LINE)
        return fabs(line_gap(m->p, f) - value);
    if (m->kind == GW_LINE)
        return fabs(line_gap(f->p, m) - value);
    return fabs(gw_distance(m->p, f->p) - value);
}

/* Angle of the directions that a distance or coincidence asks for. */
static double distance_turn(const gw_constraint *c, const gw_element *m)
{
    if (m->kind == GW_POINT || c->fixed.kind == GW_POINT)
        return 0;
    return m->kind == c->fixed.kind ? along_error(m->d, c->fixed.d, c->sense)
                                    : across_error(m->d, c->fixed.d);
}

double gw_constraint_residual(const gw_constraint *c, const gw_pose *x, double length)
{
    gw_element m = gw_element_moved(x, &c->mobile);
    const gw_element *f = &c->fixed;
    bool mixed = m.kind != f->kind;
    switch (c->kind) {
    case GW_DISTANCE:
        return fmax(distance_error(c, &m, c->value), length * distance_turn(c, &m));
    case GW_COINCIDENT:
        return fmax(distance_error(c, &m, 0), length * distance_turn(c, &m));
    case GW_PARALLEL:
        return length * (mixed ? across_error(m.d, f->d) : along_error(m.d, f->d, c->sense));
    case GW_PERPENDICULAR:
        return length * (mixed ? along_error(m.d, f->d, c->sense) : across_error(m.d, f->d));
    default: {
        double wanted = gw_snapped_angle(mixed ? GW_PI / 2 - c->value : c->value);
        return length * fabs(gw_angle_between(m.d, f->d) - wanted);
    }
    }
}

/* What rounding makes of places that far from the origin is no residual, nor what it makes of the
 * way from the present pose. */
double gw_problem_residual(const gw_problem *problem, unsigned long use, double size,
                           const gw_pose *x)
{
    const double rounding = 8 * DBL_EPSILON * (gw_norm(x->p) + gw_norm(problem->pose.p));
    double worst = 0;
    for (int i = 0; i < problem->count; i++)
        if (use >> i & 1)
            worst = fmax(worst, gw_constraint_residual(&problem->constraints[i], x, size));
    return isnan(worst) ? HUGE_VAL : fmax(0, worst - rounding) / size;
}

int gw_generic_poses(const gw_submanifold *set, double size, gw_pose x[2])
{
    /* arbitrary parameters: within the range of angles, and of lengths about the size */
    static const double generic[2][6] = {{0.7, 1.1, -0.4, 0.9, -1.3, 0.6},
                                         {-2.1, 0.5, 1.9, 1.7, 0.8, -0.5}};
    /* no angle of these between axes and diagonals is a common one */
    static const gw_quat any[2] = {
        {0.11286402400164293, -0.29835131290481515, 0.89832065464112809, -0.30210628530248246},
        {0.84899021114913231, -0.48508424806143263, -0.19058175680446485, 0.087106185939633582}};
    const gw_locus_kind kind = set->translation.locus.kind;
    const bool turns =
        kind == GW_LOCUS_SPHERE || kind == GW_LOCUS_CIRCLE || kind == GW_LOCUS_ELLIPSE;
    for (int k = 0; k < 2; k++) {
        double z[6];
        for (int i = 0; i < 6; i++)
            z[i] = generic[k][i];
        for (int i = set->rotation.dof; i < set->dof && !turns; i++)
            z[i] *= kind == GW_LOCUS_CYLINDER && i + 1 == set->dof ? 1 : size;
        x[k] = set->rotation.kind == GW_ROTATION_FREE
                   ? gw_submanifold_pose_at_rotation(set, any[k], z + 3)
                   : gw_submanifold_pose(set, z);
        if (set->dof == 0)
            return 1;
    }
    return 2;
}

bool gw_verified(const gw_problem *problem, unsigned long use, double size,
                 const gw_submanifold *set)
{
    gw_pose x[2];
    int n = gw_generic_poses(set, size, x);
    /* elsewhere on a set it may be some times as much */
    double most = (set->dof > 0 ? 0.25 : 1) * GW_VERIFIED;
    for (int k = 0; k < n; k++)
        if (gw_problem_residual(problem, use, size, &x[k]) > most)
            return false;
    return true;
}
