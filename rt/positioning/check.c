/*
 * What gw_solve() takes for granted about a problem. Any thread; formats text.
 */
#include <stdio.h>

#include "rt/positioning/solver.h"

bool gw_constraint_has_sense(gw_constraint_kind kind, gw_element_kind a, gw_element_kind b)
{
    if (a == GW_POINT || b == GW_POINT)
        return false;
    switch (kind) {
    case GW_DISTANCE:
    case GW_COINCIDENT:
    case GW_PARALLEL:
        return a == b;
    case GW_PERPENDICULAR:
        return a != b;
    default:
        return false;
    }
}

bool gw_constraint_has_value(gw_constraint_kind kind)
{
    return kind == GW_DISTANCE || kind == GW_ANGLE;
}

bool gw_constraint_fits(gw_constraint_kind kind, gw_element_kind a, gw_element_kind b,
                        const char **why)
{
    bool fits = kind == GW_DISTANCE || kind == GW_COINCIDENT || (a != GW_POINT && b != GW_POINT);
    if (!fits && why)
        *why = kind == GW_ANGLE ? "An angle joins lines and planes; a point has no direction."
               : kind == GW_PARALLEL
                   ? "Lines and planes can be parallel; a point has no direction."
                   : "Lines and planes can be perpendicular; a point has no direction.";
    return fits;
}

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
    if (e->kind == GW_POINT)
        return true;
    if (!gw_finite3(e->d) || fabs(gw_norm(e->d) - 1) > 1e-9)
        return fail_at(error, i, member,
                       "The direction or normal must be a vector of unit length.");
    return true;
}

static bool check_value(const gw_constraint *c, int i, gw_error *error)
{
    if (!gw_constraint_has_value(c->kind))
        return true;
    if (!isfinite(c->value))
        return fail_at(error, i, "value", "The value must be a finite number.");
    if (fabs(c->value) > GW_MAX_COORDINATE)
        return fail_at(error, i, "value", "The value must be at most 1e75 m.");
    bool plane = c->mobile.kind == GW_PLANE || c->fixed.kind == GW_PLANE;
    if (c->kind == GW_DISTANCE && !plane && c->value < 0)
        return fail_at(error, i, "value",
                       "A distance between points and lines is not negative; it is signed only "
                       "where a plane is involved.");
    if (c->kind == GW_DISTANCE)
        return true;
    bool mixed = c->mobile.kind != c->fixed.kind;
    double low = mixed ? -GW_PI / 2 : 0, high = mixed ? GW_PI / 2 : GW_PI;
    if (c->value < low - 1e-12 || c->value > high + 1e-12)
        return fail_at(error, i, "value",
                       mixed ? "An angle between a line and a plane is within -pi/2 .. pi/2 rad."
                             : "An angle between directions is within 0 .. pi rad.");
    return true;
}

static bool check_constraint(const gw_constraint *c, int i, gw_error *error)
{
    const char *why = "";
    if (c->kind < GW_DISTANCE || c->kind > GW_PERPENDICULAR)
        return fail_at(error, i, "type", "The constraint's type is not one of the known ones.");
    if (c->sense < GW_EITHER || c->sense > GW_OPPOSITE)
        return fail_at(error, i, "sense", "The sense is either, same or opposite.");
    if (!gw_constraint_fits(c->kind, c->mobile.kind, c->fixed.kind, &why))
        return fail_at(error, i, "type", why);
    return check_element(&c->mobile, i, "mobile", error) &&
           check_element(&c->fixed, i, "fixed", error) && check_value(c, i, error);
}

bool gw_problem_check(const gw_problem *p, gw_error *error)
{
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
        if (!check_constraint(&p->constraints[i], i, error))
            return false;
    return true;
}
