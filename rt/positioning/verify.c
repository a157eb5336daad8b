/*
 * The check of a problem before it is solved, and the verification of poses and sets against the
 * constraints as they were stated: independent of the decomposition, the rules and the rows. Any
 * thread, RT safe; gw_problem_check() formats text.
 */
#include <assert.h>
#include <float.h>
#include <stdio.h>

#include "rt/geometry/locus.h"
#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/two_angles.h"
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

static bool is_within_reach(gw_vec3 p)
{
    return fmax(fabs(p.x), fmax(fabs(p.y), fabs(p.z))) <= GW_MAX_COORDINATE;
}

static bool check_element(const gw_element *e, int i, const char *member, gw_error *error)
{
    if (!gw_finite3(e->p))
        return fail_at(error, i, member, "The point's coordinates must be finite numbers.");
    if (!is_within_reach(e->p))
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

/* Tangents, normals and offsets require a smooth shape: a kink cannot be followed. */
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
    if (!is_within_reach(p->pose.p))
        return fail_at(error, -1, "mobile/pose", "The position must be at most 1e75 m away.");
    if (!isfinite(p->length) || p->length <= 0)
        return fail_at(error, -1, "mobile/length", "The length must be a positive number.");
    for (int i = 0; i < p->count; i++)
        if (!check_constraint(&p->constraints[i], &p->pose, i, error))
            return false;
    return true;
}

/* ---- residuals ------------------------------------------------------------------------------- */

/* The largest residual over the size, less the rounding of coordinates at their distance from the
 * origin and of the displacement from the present pose. */
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

long gw_work_limit(const gw_problem *p)
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

/* Arbitrary parameters: angles, and lengths over the size; their cosines and sines, and those of
 * their halves. */
static const double generic[2][6] = {{0.7, 1.1, -0.4, 0.9, -1.3, 0.6},
                                     {-2.1, 0.5, 1.9, 1.7, 0.8, -0.5}};
static const double generic_turn[2][6][2] = {{{0.7648421872844885, 0.644217687237691},
                                              {0.4535961214255773, 0.8912073600614354},
                                              {0.9210609940028851, -0.3894183423086505},
                                              {0.6216099682706644, 0.7833269096274834},
                                              {0.26749882862458735, -0.963558185417193},
                                              {0.8253356149096783, 0.5646424733950354}},
                                             {{-0.5048461045998576, -0.8632093666488737},
                                              {0.8775825618903728, 0.479425538604203},
                                              {-0.32328956686350335, 0.9463000876874145},
                                              {-0.12884449429552464, 0.9916648104524686},
                                              {0.6967067093471654, 0.7173560908995228},
                                              {0.8775825618903728, -0.479425538604203}}};
static const double generic_half[2][2][2] = {
    {{0.9393727128473789, 0.34289780745545134}, {0.8525245220595057, 0.5226872289306592}},
    {{0.49757104789172696, -0.867423225594017}, {0.9689124217106447, 0.24740395925452294}}};

static gw_quat turn_about(gw_vec3 axis, const double half[2])
{
    return (gw_quat){half[0], half[1] * axis.x, half[1] * axis.y, half[1] * axis.z};
}

/* Two rotations of the factor; false where it has no closed form of its own. */
static bool generic_rotations(const gw_rotation_set *r, gw_quat q[2])
{
    /* no angle of these between axes and diagonals is a common one */
    static const gw_quat any[2] = {
        {0.11286402400164293, -0.29835131290481515, 0.89832065464112809, -0.30210628530248246},
        {0.84899021114913231, -0.48508424806143263, -0.19058175680446485, 0.087106185939633582}};
    gw_lanes cosine = {generic_half[0][0][0], generic_half[1][0][0]};
    gw_lanes sine = {generic_half[0][0][1], generic_half[1][0][1]};
    switch (r->kind) {
    case GW_ROTATION_FREE:
        q[0] = any[0], q[1] = any[1];
        return true;
    case GW_ROTATION_ANGLE:
        for (int k = 0; k < 2; k++)
            q[k] = gw_quat_unit(
                gw_quat_mul(gw_quat_mul(turn_about(r->axis, generic_half[k][0]), r->zero),
                            turn_about(r->axis_body, generic_half[k][1])));
        return true;
    case GW_ROTATION_AXIS:
        for (int k = 0; k < 2; k++)
            q[k] = gw_quat_unit(gw_quat_mul(turn_about(r->axis, generic_half[k][0]), r->zero));
        return true;
    case GW_ROTATION_TWO_ANGLES:
        gw_two_angles_rotations(r, &sine, &cosine, 2, q);
        return true;
    case GW_ROTATION_FIXED:
        q[0] = q[1] = r->zero;
        return true;
    case GW_ROTATION_NORMAL:
    case GW_ROTATION_TANGENT:
    case GW_ROTATION_GENERAL:
        break;
    }
    return false;
}

/* A point of the locus by those parameters, the first being number `at`. */
static gw_vec3 generic_place(const gw_locus *l, double size, int k, int at)
{
    const double *s = generic[k] + at, (*turn)[2] = generic_turn[k] + at, *c = turn[0];
    gw_vec3 x = {0, 0, 0};
    double z[2];
    switch (l->kind) {
    case GW_LOCUS_FREE:
        x = gw_v3(size * s[0], size * s[1], size * s[2]);
        break;
    case GW_LOCUS_PLANE:
        x = gw_v3(size * s[0], size * s[1], 0);
        break;
    case GW_LOCUS_LINE:
        x = gw_v3(0, 0, size * s[0]);
        break;
    case GW_LOCUS_SPHERE:
        x = gw_v3(l->a * turn[1][1] * c[0], l->a * turn[1][1] * c[1], l->a * turn[1][0]);
        break;
    case GW_LOCUS_CYLINDER:
        x = gw_v3(l->a * turn[1][0], l->a * turn[1][1], size * s[0]);
        break;
    case GW_LOCUS_CIRCLE:
        x = gw_v3(l->a * c[0], l->a * c[1], 0);
        break;
    case GW_LOCUS_ELLIPSE:
        x = gw_v3(l->a * c[0], l->b * c[1], 0);
        break;
    case GW_LOCUS_CURVE:
    case GW_LOCUS_SURFACE:
        generic_parameters(l->nurbs, k, z);
        return gw_locus_point(l, z);
    case GW_LOCUS_POINT:
    case GW_LOCUS_GENERAL:
        return l->origin;
    }
    return gw_mul_add(gw_mul_add(gw_mul_add(l->origin, x.x, l->e1), x.y, l->e2), x.z, l->e3);
}

/* A pose of a set whose rotation follows the shape. */
static gw_pose pose_along_shape(const gw_submanifold *set, int k)
{
    double z[6] = {generic[k][0]};
    generic_parameters(set->translation.locus.nurbs, k, z + set->rotation.dof);
    return gw_submanifold_pose(set, z);
}

int gw_generic_poses(const gw_submanifold *set, double size, gw_pose x[2])
{
    gw_quat q[2];
    const int count = set->dof == 0 ? 1 : 2;
    const bool closed = generic_rotations(&set->rotation, q);
    for (int k = 0; k < count; k++)
        x[k] = closed ? gw_submanifold_pose_at(
                            set, q[k],
                            generic_place(&set->translation.locus, size, k, set->rotation.dof))
                      : pose_along_shape(set, k);
    return count;
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
