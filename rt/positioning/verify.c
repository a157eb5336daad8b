/*
 * The check of a problem before it is solved, and the verification of poses and sets against the
 * constraints as they were stated: independent of the decomposition, the rules and the rows. Any
 * thread, RT safe; gw_problem_check() formats text.
 */
#include <assert.h>
#include <float.h>
#include <stdio.h>

#include "rt/geometry/nurbs_nearest.h"
#include "rt/positioning/solver.h"

/* ---- the problem ----------------------------------------------------------------------------- */

static bool fail_at(gw_error *error, int i, const char *member, const char *message)
{
    char where[64];
    if (i < 0)
        snprintf(where, sizeof where, "/%s", member);
    else
        snprintf(where, sizeof where, "/constraints/%d%s%s", i, *member ? "/" : "", member);
    return gw_fail(error, GW_BAD_INPUT, where, "%s", message);
}

static bool reachable(gw_vec3 p)
{
    return fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))) <= GW_MAX_COORDINATE;
}

static bool check_element(const gw_element *e, int i, const char *member, gw_error *error)
{
    if (!gw_finite3(e->p))
        return fail_at(error, i, member, "The point's coordinates must be finite numbers.");
    if (!reachable(e->p))
        return fail_at(error, i, member, "The point's coordinates must be at most 1e75 m.");
    if (gw_is_free_form(e->kind))
        return (e->nurbs && fabs(gw_quat_dot(e->q, e->q) - 1) < 1e-6) ||
               fail_at(error, i, member, "A curve or surface needs its shape and a frame.");
    if (e->kind == GW_POINT)
        return true;
    if (!gw_finite3(e->d) || fabs(gw_norm(e->d) - 1) > 1e-9)
        return fail_at(error, i, member,
                       "The direction or normal must be a vector of unit length.");
    return true;
}

static bool check_value(const gw_constraint *c, int i, gw_error *error)
{
    double low, high;
    if (!gw_constraint_has_value(c->kind))
        return true;
    if (!isfinite(c->value))
        return fail_at(error, i, "value", "The value must be a finite number.");
    if (fabs(c->value) > GW_MAX_COORDINATE)
        return fail_at(error, i, "value", "The value must be at most 1e75 m.");
    gw_constraint_value_range(c->kind, c->mobile.kind, c->fixed.kind, &low, &high);
    if (gw_constraint_has_length(c->kind))
        return c->value >= low ||
               fail_at(error, i, "value",
                       "A distance between points and lines is not negative; it is signed only "
                       "where a plane is involved.");
    if (c->value < low - 1e-12 || c->value > high + 1e-12)
        return fail_at(error, i, "value",
                       low < 0 ? "An angle between a line and a plane is within -pi/2 .. pi/2 rad."
                               : "An angle between directions is within 0 .. pi rad.");
    return true;
}

/* Offset surfaces fold at the focal distance. */
static bool check_offset(const gw_constraint *c, const gw_pose *pose, int i, gw_error *error)
{
    char message[200];
    double focal;
    const char *folds = gw_constraint_offset_folds(c, pose, &focal);
    if (!folds)
        return true;
    snprintf(message, sizeof message,
             "The offset of %g m is %s the focal distance, %g m at the closest point now: the "
             "surface bends by 1/%g m towards that side.",
             c->value, folds, focal, fabs(focal));
    return fail_at(error, i, "value", message);
}

/* Nothing can follow a tangent, a normal or an offset that turns all at once. */
static bool check_smooth(const gw_constraint *c, int i, gw_error *error)
{
    char message[300], parameter;
    double at;
    bool fixed;
    const char *lacks = gw_constraint_kink(c, &parameter, &at, &fixed);
    if (!lacks)
        return true;
    snprintf(message, sizeof message, "The %s has a sharp bend at %c = %g, %s.",
             parameter == 's' ? "curve" : "surface", parameter, at, lacks);
    return fail_at(error, i, fixed ? "fixed" : "mobile", message);
}

static bool check_constraint(const gw_constraint *c, const gw_pose *pose, int i, gw_error *error)
{
    const char *why = "";
    if ((unsigned)c->kind >= GW_CONSTRAINT_KIND_COUNT)
        return fail_at(error, i, "type", "The constraint's type is not one of the known ones.");
    if ((unsigned)c->sense > GW_OPPOSITE)
        return fail_at(error, i, "sense", "The sense is either, same or opposite.");
    if (!gw_constraint_fits(c->kind, c->mobile.kind, c->fixed.kind, &why))
        return fail_at(error, i, "type", why);
    return check_element(&c->mobile, i, "mobile", error) &&
           check_element(&c->fixed, i, "fixed", error) && check_value(c, i, error) &&
           check_smooth(c, i, error) && check_offset(c, pose, i, error);
}

bool gw_problem_check(const gw_problem *p, gw_error *error)
{
    assert(p);
    if (p->count < 0 || p->count > GW_MAX_PROBLEM)
        return gw_fail(error, GW_TOO_LARGE, "/constraints",
                       "%d constraints; at most %d join one object to its surroundings.", p->count,
                       GW_MAX_PROBLEM);
    if (!gw_finite_pose(&p->pose) || fabs(gw_quat_dot(p->pose.q, p->pose.q) - 1) > 1e-6)
        return fail_at(error, -1, "mobile/pose",
                       "The pose must be finite, its quaternion of unit length.");
    if (!reachable(p->pose.p))
        return fail_at(error, -1, "mobile/pose", "The position must be at most 1e75 m away.");
    if (!isfinite(p->length) || p->length <= 0)
        return fail_at(error, -1, "mobile/length", "The length must be a positive number.");
    for (int i = 0; i < p->count; i++)
        if (!check_constraint(&p->constraints[i], &p->pose, i, error))
            return false;
    return true;
}

/* ---- residuals ------------------------------------------------------------------------------- */

/* Rounding of coordinates that far from the origin, and of the displacement from the present pose,
 * is no residual. */
static double residual_of(const gw_problem *problem, unsigned long use, double size,
                          const gw_pose *x, long *work)
{
    assert(problem && size > 0 && x);
    const double rounding = 8 * DBL_EPSILON * (gw_norm(x->p) + gw_norm(problem->pose.p));
    double worst = 0;
    for (int i = 0; i < problem->count; i++) {
        if (!(use >> i & 1))
            continue;
        double off = gw_constraint_residual_counted(&problem->constraints[i], x, size, work);
        if (isnan(off))
            return HUGE_VAL;
        worst = off > worst ? off : worst;
    }
    return worst > rounding ? (worst - rounding) / size : 0;
}

double gw_problem_residual(const gw_problem *problem, unsigned long use, double size,
                           const gw_pose *x)
{
    return residual_of(problem, use, size, x, NULL);
}

double gw_solver_residual(gw_solver *solver, const gw_pose *x)
{
    return residual_of(solver->problem, solver->use, solver->size, x, &solver->work);
}

bool gw_has_free_form(const gw_problem *p)
{
    for (int i = 0; i < p->count; i++)
        if (gw_is_free_form(p->constraints[i].fixed.kind) ||
            gw_is_free_form(p->constraints[i].mobile.kind))
            return true;
    return false;
}

long gw_most_work(const gw_problem *p)
{
    return gw_has_free_form(p) ? GW_MAX_FREE_FORM_WORK : GW_MAX_WORK;
}

unsigned long gw_satisfied_constraints(gw_solver *solver, const gw_pose *x, unsigned long asked)
{
    unsigned long held = 0;
    for (int i = 0; i < solver->problem->count; i++)
        if (asked >> i & 1 &&
            residual_of(solver->problem, 1ul << i, solver->size, x, &solver->work) <= GW_VERIFIED)
            held |= 1ul << i;
    return held;
}

/* ---- sets of poses --------------------------------------------------------------------------- */

/* Arbitrary parameters within the domain. */
static void generic_parameters(const gw_nurbs *shape, int k, double *z)
{
    static const double share[2][2] = {{0.37, 0.71}, {0.83, 0.19}};
    for (int i = 0; i < shape->dimension; i++) {
        const gw_nurbs_direction *d = &shape->direction[i];
        z[i] = d->low + share[k][i] * (d->high - d->low);
    }
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
    const bool turns = kind == GW_LOCUS_SPHERE || kind == GW_LOCUS_CIRCLE ||
                       kind == GW_LOCUS_ELLIPSE || kind == GW_LOCUS_CURVE ||
                       kind == GW_LOCUS_SURFACE;
    for (int k = 0; k < 2; k++) {
        double z[6];
        for (int i = 0; i < 6; i++)
            z[i] = generic[k][i];
        if (kind == GW_LOCUS_CURVE || kind == GW_LOCUS_SURFACE)
            generic_parameters(set->translation.locus.nurbs, k, z + set->rotation.dof);
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

bool gw_verified(const gw_solver *solver, const gw_submanifold *set, long *work)
{
    gw_pose x[2];
    int n = gw_generic_poses(set, solver->size, x);
    /* elsewhere on a set it may be some times as much */
    double most = (set->dof > 0 ? 0.25 : 1) * GW_VERIFIED;
    for (int k = 0; k < n; k++)
        if (residual_of(solver->problem, solver->use, solver->size, &x[k], work) > most)
            return false;
    return true;
}
