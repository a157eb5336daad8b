/*
 * The table of constraint kinds, and the functions of a row of it: the decomposition of an input
 * constraint into fundamental ones (relational-positioning Table I), and its residual, computed
 * from the elements. Any thread, RT safe.
 *
 *   d(P, S) = p            distance of P from S
 *   d(L_m, L_f) = p        distance of a point of L_m from L_f, and d_m along d_f
 *   d(L, Pi) = p           distance of a point of L from Pi, and L across its normal
 *   d(Pi_m, Pi_f) = p      distance of a point of Pi_m from Pi_f, and the normals along
 *   angle(..) = alpha      angle of directions; pi/2 - alpha between a line and a plane's normal
 *
 * Distances to planes are signed along the normal: the fundamental constraint has the plane moved
 * by the value, and p = 0.
 */
#include "rt/positioning/constraint_kinds.h"

#include <assert.h>
#include <string.h>

#include "rt/geometry/nurbs_motion.h"
#include "rt/positioning/solver.h"

/* ---- the table ------------------------------------------------------------------------------- */

const char *const gw_constraint_kind_names[GW_CONSTRAINT_KIND_COUNT + 1] = {
    [GW_DISTANCE] = "distance",
    [GW_ANGLE] = "angle",
    [GW_COINCIDENT] = "coincident",
    [GW_PARALLEL] = "parallel",
    [GW_PERPENDICULAR] = "perpendicular",
    [GW_NORMAL] = "normal",
    [GW_TANGENT] = "tangent",
};

static const gw_constraint_kind_info kinds[GW_CONSTRAINT_KIND_COUNT] = {
    [GW_DISTANCE] =
        {
            .description = "The elements are `value` metres apart: signed along the normal where a "
                           "plane or a free-form surface is involved, between two planes along "
                           "that of b. Two lines, "
                           "a line and a plane, and two planes are also made parallel.",
            .value = GW_LENGTH_VALUE,
            .unit = "m",
            .one_sided = true,
            .distance = GW_VALUE_DISTANCE,
            .alike = GW_ALONG,
            .mixed = GW_ACROSS,
        },
    [GW_ANGLE] =
        {
            .description = "The directed elements are at an angle of `value` radians: between two "
                           "lines or two planes cos(value) = a . b, between a line and a plane "
                           "sin(value) = d . n.",
            .value = GW_ANGLE_VALUE,
            .unit = "rad",
            .one_sided = true,
            .needs = "An angle joins lines and planes; a point has no direction.",
            .alike = GW_VALUE_ANGLE,
            .mixed = GW_COMPLEMENT_ANGLE,
        },
    [GW_COINCIDENT] =
        {
            .description = "One element is, or lies in, the other: distance 0.",
            .distance = GW_ZERO_DISTANCE,
            .alike = GW_ALONG,
            .mixed = GW_ACROSS,
        },
    [GW_PARALLEL] =
        {
            .description = "The lines or planes are parallel.",
            .needs = "Lines and planes can be parallel; a point has no direction.",
            .alike = GW_ALONG,
            .mixed = GW_ACROSS,
        },
    [GW_PERPENDICULAR] =
        {
            .description = "The lines or planes are perpendicular.",
            .needs = "Lines and planes can be perpendicular; a point has no direction.",
            .alike = GW_ACROSS,
            .mixed = GW_ALONG,
        },
    [GW_NORMAL] =
        {
            .description = "A line lies along the normal of a free-form surface at the point "
                           "closest to its own point, which is `value` metres from the surface "
                           "along that normal. The turn about the line is free.",
            .value = GW_LENGTH_VALUE,
            .unit = "m",
            .distance = GW_VALUE_DISTANCE,
            .alike = GW_ALONG,
            .mixed = GW_ALONG,
        },
    [GW_TANGENT] =
        {
            .description = "A line is tangent to a free-form curve: the point of the line that is "
                           "`value` metres from its own point, in its direction, lies on the "
                           "curve, and the line along the tangent there. The place along the "
                           "curve and the turn about the line are free.",
            .value = GW_LENGTH_VALUE,
            .unit = "m",
            .distance = GW_ZERO_DISTANCE,
            .alike = GW_ALONG,
            .mixed = GW_ALONG,
        },
};

const gw_constraint_kind_info *gw_constraint_kind_info_of(gw_constraint_kind kind)
{
    assert((unsigned)kind < GW_CONSTRAINT_KIND_COUNT);
    return &kinds[kind];
}

bool gw_constraint_fits(gw_constraint_kind kind, gw_element_kind a, gw_element_kind b,
                        const char **why)
{
    const char *needs = gw_constraint_kind_info_of(kind)->needs;
    bool lies = (a == GW_LINE && b == GW_SURFACE) || (a == GW_SURFACE && b == GW_LINE);
    if (kind == GW_NORMAL) {
        if (why && !lies)
            *why = "normal joins a line and a free-form surface: the line lies along the "
                   "surface's normal.";
        return lies;
    }
    if (kind == GW_TANGENT) {
        bool touches = (a == GW_LINE && b == GW_CURVE) || (a == GW_CURVE && b == GW_LINE);
        if (why && !touches)
            *why = "tangent joins a line and a free-form curve: the line touches the curve, along "
                   "its tangent.";
        return touches;
    }
    if (gw_is_free_form(a) || gw_is_free_form(b)) {
        bool curve = a == GW_CURVE || b == GW_CURVE, point = a == GW_POINT || b == GW_POINT;
        if (point && (kind == GW_COINCIDENT || (kind == GW_DISTANCE && !curve)))
            return true;
        if (why)
            *why =
                "A free-form curve or surface takes a point: coincident with it or, of a surface, "
                "at a distance; a surface takes a line as well, along its normal, and a curve one "
                "along its tangent.";
        return false;
    }
    if (!needs || (a != GW_POINT && b != GW_POINT))
        return true;
    if (why)
        *why = needs;
    return false;
}

bool gw_bound_fits(gw_constraint_kind kind, gw_element_kind a, gw_element_kind b, const char **why)
{
    bool one = gw_is_free_form(a) != gw_is_free_form(b), point = a == GW_POINT || b == GW_POINT;
    if (kind == GW_DISTANCE || (kind == GW_ANGLE && one && !point))
        return true;
    if (kind == GW_ANGLE && !one && gw_is_free_form(a)) {
        if (why)
            *why = "An angle joins a free-form curve or surface and a line or plane, at whose "
                   "point it is taken.";
        return false;
    }
    if (kind == GW_ANGLE && one) { /* of a point */
        if (why)
            *why = gw_constraint_kind_info_of(kind)->needs;
        return false;
    }
    return gw_constraint_fits(kind, a, b, why);
}

bool gw_constraint_has_value(gw_constraint_kind kind)
{
    return gw_constraint_is_positional(kind) &&
           gw_constraint_kind_info_of(kind)->value != GW_NO_VALUE;
}

bool gw_constraint_has_length(gw_constraint_kind kind)
{
    return gw_constraint_kind_info_of(kind)->value == GW_LENGTH_VALUE;
}

bool gw_constraint_has_distance(gw_constraint_kind kind)
{
    return gw_constraint_kind_info_of(kind)->distance != GW_ANY_DISTANCE;
}

/* The demand of a kind on the directions of two elements that both have one. */
static gw_angle_demand angle_demand(gw_constraint_kind kind, gw_element_kind a, gw_element_kind b)
{
    const gw_constraint_kind_info *info = gw_constraint_kind_info_of(kind);
    return a == b ? info->alike : info->mixed;
}

bool gw_constraint_has_sense(gw_constraint_kind kind, gw_element_kind a, gw_element_kind b)
{
    return a != GW_POINT && b != GW_POINT && angle_demand(kind, a, b) == GW_ALONG;
}

/* A curve counts as its tangent, a surface as its tangent plane. */
static bool has_tangent_line(gw_element_kind kind)
{
    return kind == GW_LINE || kind == GW_CURVE;
}

void gw_constraint_value_range(gw_constraint_kind kind, gw_element_kind a, gw_element_kind b,
                               double *low, double *high)
{
    assert(gw_constraint_has_value(kind));
    if (gw_constraint_has_length(kind)) {
        bool has_sides = a == GW_PLANE || b == GW_PLANE || a == GW_SURFACE || b == GW_SURFACE ||
                         kind == GW_TANGENT;
        *low = has_sides ? -HUGE_VAL : 0;
        *high = HUGE_VAL;
        return;
    }
    bool alike = has_tangent_line(a) == has_tangent_line(b);
    *low = alike ? 0 : -GW_PI / 2;
    *high = alike ? GW_PI : GW_PI / 2;
}

/* ---- decomposition --------------------------------------------------------------------------- */

/* The angle, or 0 or pi if it is within GW_SNAP_ALONG of these. */
static double snapped_angle(double angle)
{
    return angle <= GW_SNAP_ALONG ? 0 : angle >= GW_PI - GW_SNAP_ALONG ? GW_PI : angle;
}

gw_angle_constraint gw_angle_constraint_of(gw_vec3 u, gw_vec3 f, double angle, unsigned long from)
{
    angle = snapped_angle(angle);
    if (angle == GW_PI)
        return (gw_angle_constraint){gw_neg(u), f, 0, 1, from};
    if (angle == 0)
        return (gw_angle_constraint){u, f, 0, 1, from};
    double cosine = fabs(angle - GW_PI / 2) < 1e-15 ? 0 : cos(angle);
    return (gw_angle_constraint){u, f, angle, cosine, from};
}

/* True for kinds of a line along the normal of a surface or the tangent of a curve. */
static bool is_directed(gw_constraint_kind kind)
{
    return kind == GW_NORMAL || kind == GW_TANGENT;
}

/* The point of a line that touches the curve that it is tangent to; of any other kind the element's
 * own. */
static gw_vec3 point_of(const gw_constraint *c, const gw_element *e)
{
    return c->kind == GW_TANGENT && e->kind == GW_LINE ? gw_mul_add(e->p, c->value, e->d) : e->p;
}

/* Of the problem's size: least span of the rows of directions, also on smaller shapes, since
 * residuals of rows are compared with that size. */
#define LEAST_SPAN 0.1

/* The distance of one element's point from the other element: the higher one is the surface, planes
 * over lines over points, the fixed one of equals. */
static void add_distance(const gw_solver *solver, gw_solver_state *state, const gw_constraint *c,
                         double value, gw_sense sense, unsigned long from)
{
    gw_element_kind m = c->mobile.kind, f = c->fixed.kind;
    /* a distance that is zero but for round-off is a coincidence: its sphere has no gradient */
    value = gw_zero_length(solver, value) ? 0 : value;
    bool from_mobile = m == GW_PLANE && f == GW_PLANE && c->reversed;
    bool fixed_surface = f >= m && !from_mobile;
    const gw_element *surface = fixed_surface ? &c->fixed : &c->mobile;
    const gw_element *point = fixed_surface ? &c->mobile : &c->fixed;
    gw_distance_constraint p = {.surface = surface->kind,
                                .body_owns = !fixed_surface,
                                .a = point_of(c, point),
                                .b = surface->p,
                                .d = surface->d,
                                .p = value,
                                .from = from,
                                .serial = 0};
    if (gw_is_free_form(surface->kind)) {
        p.q = surface->q;
        p.nurbs = surface->nurbs;
    }
    p.directed = is_directed(c->kind);
    p.along = sense == GW_OPPOSITE ? gw_neg(point->d) : point->d;
    p.span = p.directed ? fmax(p.nurbs->size, LEAST_SPAN * solver->size) : 0;
    if (surface->kind == GW_PLANE) {
        p.b = gw_mul_add(surface->p, value, surface->d);
        p.p = 0;
    }
    gw_add_distance(state, &p);
}

/* The angle of a demand; `along`: 0 or pi. */
static double angle_asked(gw_angle_demand demand, double along, double value)
{
    switch (demand) {
    case GW_ALONG:
        return along;
    case GW_ACROSS:
        return GW_PI / 2;
    case GW_VALUE_ANGLE:
        return value;
    case GW_COMPLEMENT_ANGLE:
        return GW_PI / 2 - value;
    }
    return 0;
}

void gw_decompose(const gw_solver *solver, gw_solver_state *state, int i, gw_sense sense)
{
    assert(i >= 0 && i < solver->problem->count);
    const gw_constraint *c = &solver->problem->constraints[i];
    const gw_constraint_kind_info *info = &kinds[c->kind];
    gw_element_kind m = c->mobile.kind, f = c->fixed.kind;
    unsigned long from = 1ul << i;
    if (info->distance != GW_ANY_DISTANCE)
        add_distance(solver, state, c, info->distance == GW_ZERO_DISTANCE ? 0 : c->value, sense,
                     from);
    if (m == GW_POINT || f == GW_POINT || is_directed(c->kind))
        return;
    double angle =
        angle_asked(m == f ? info->alike : info->mixed, sense == GW_OPPOSITE ? GW_PI : 0, c->value);
    gw_angle_constraint d = gw_angle_constraint_of(c->mobile.d, c->fixed.d, angle, from);
    gw_add_angle(state, &d);
}

void gw_decompose_all(const gw_solver *solver, gw_solver_state *state)
{
    gw_solver_state_init(state);
    for (int i = 0; i < solver->problem->count; i++) {
        gw_sense sense = solver->problem->constraints[i].sense;
        gw_decompose(solver, state, i, sense == GW_EITHER ? GW_SAME : sense);
    }
}

int gw_constraint_rows(const gw_solver *solver, int i, gw_row *rows)
{
    gw_solver_state state;
    int n = 0;
    memset(&state, 0, offsetof(gw_solver_state, distances));
    gw_sense sense = solver->problem->constraints[i].sense;
    gw_decompose(solver, &state, i, sense == GW_EITHER ? GW_SAME : sense);
    for (int k = 0; k < state.angle_count && n + 2 <= GW_MAX_ROWS; k++)
        n += gw_angle_rows(&state.angles[k], rows + n);
    for (int k = 0; k < state.distance_count && n + GW_DISTANCE_ROWS <= GW_MAX_ROWS; k++)
        n += gw_distance_rows(&state.distances[k], rows + n);
    return n;
}

int gw_constraint_codimension(const gw_constraint *c)
{
    gw_element_kind m = c->mobile.kind, f = c->fixed.kind, surface = m > f ? m : f;
    gw_distance_demand distance = gw_constraint_kind_info_of(c->kind)->distance;
    bool zero = distance == GW_ZERO_DISTANCE || c->value == 0;
    int rows = 0;
    if (distance != GW_ANY_DISTANCE)
        rows += surface == GW_PLANE || surface == GW_SURFACE || !zero ? 1
                : surface == GW_LINE || surface == GW_CURVE           ? 2
                                                                      : 3;
    if (m != GW_POINT && f != GW_POINT)
        rows += angle_demand(c->kind, m, f) == GW_ALONG ? 2 : 1;
    return rows;
}

gw_sense gw_implied_sense(const gw_solver *solver, const gw_solver_state *state, int i)
{
    const gw_constraint *c = &solver->problem->constraints[i];
    gw_vec3 u = c->mobile.d, f = c->fixed.d;
    if (is_directed(c->kind)) /* normals and tangents depend on where they are */
        return GW_EITHER;
    if (state->rotation_known)
        return gw_dot(gw_rotate(state->rotation, u), f) < 0 ? GW_OPPOSITE : GW_SAME;
    for (int k = 0; k < state->angle_count; k++) {
        const gw_angle_constraint *d = &state->angles[k];
        if (d->angle == 0 && gw_norm(gw_cross(d->u, u)) <= solver->direction_snap)
            return gw_dot(d->u, u) * gw_dot(d->f, f) < 0 ? GW_OPPOSITE : GW_SAME;
    }
    return GW_EITHER;
}

/* ---- residual: shares nothing with the decomposition but the table --------------------------- */

/* Smallest |angle - wanted| that the sense allows, "along" being 0 or pi. */
static double along_error(gw_vec3 a, gw_vec3 b, gw_sense sense)
{
    double angle = gw_angle_between(a, b);
    if (sense == GW_SAME)
        return angle;
    if (sense == GW_OPPOSITE)
        return GW_PI - angle;
    return fmin(angle, GW_PI - angle);
}

/* The closest point of a shape. */
typedef struct foot {
    gw_vec3 from; /* in the shape's frame */
    gw_nurbs_nearest nearest;
    gw_nurbs_point at;
} foot;

static foot foot_of(gw_vec3 point, const gw_element *shape, long *work)
{
    foot f = {.from = gw_unrotate(shape->q, gw_sub(point, shape->p))};
    gw_nurbs_nearest_point(shape->nurbs, f.from, &f.nearest);
    if (work)
        *work -= GW_NURBS_FOLLOW_WORK + (long)f.nearest.cells * gw_nurbs_cell_work(shape->nurbs);
    gw_nurbs_evaluate(shape->nurbs, f.nearest.parameter, 2, NULL, &f.at);
    return f;
}

/* The normal of a surface or the tangent of a curve there, in world axes. */
static gw_vec3 direction_at(const foot *f, const gw_element *shape)
{
    if (shape->kind == GW_CURVE)
        return gw_rotate(shape->q, gw_unit(f->at.d[1][0]));
    return gw_rotate(shape->q, gw_nurbs_normal(shape->nurbs, f->nearest.parameter, &f->at));
}

/* The free-form shape of a constraint on one, and the other element, in world axes. */
static const gw_element *shape_of(const gw_constraint *c, const gw_element *m,
                                  const gw_element **other)
{
    bool fixed = gw_is_free_form(c->fixed.kind);
    *other = fixed ? m : &c->fixed;
    return fixed ? &c->fixed : m;
}

/* |angle - the angle demanded| between elements that both have a direction. */
static double angle_error(const gw_constraint *c, const gw_element *m)
{
    const gw_element *f = &c->fixed;
    const gw_constraint_kind_info *info = &kinds[c->kind];
    gw_angle_demand demand = m->kind == f->kind ? info->alike : info->mixed;
    switch (demand) {
    case GW_ALONG:
        return along_error(m->d, f->d, c->sense);
    case GW_ACROSS: /* |pi/2 - angle| */
        return fabs(asin(fmax(-1, fmin(1, gw_dot(m->d, f->d)))));
    case GW_VALUE_ANGLE:
    case GW_COMPLEMENT_ANGLE:
        break;
    }
    double wanted = snapped_angle(angle_asked(demand, 0, c->value));
    return fabs(gw_angle_between(m->d, f->d) - wanted);
}

static double distance_to_line(gw_vec3 point, const gw_element *line)
{
    return gw_norm(gw_reject(gw_sub(point, line->p), line->d));
}

static double height_over_plane(gw_vec3 point, const gw_element *plane)
{
    return gw_dot(plane->d, gw_sub(point, plane->p));
}

gw_sense gw_constraint_sense_at(const gw_constraint *c, const gw_pose *x)
{
    gw_element m = gw_element_moved(x, &c->mobile);
    if (!is_directed(c->kind))
        return gw_dot(m.d, c->fixed.d) < 0 ? GW_OPPOSITE : GW_SAME;
    const gw_element *other, *shape = shape_of(c, &m, &other);
    foot at = foot_of(point_of(c, other), shape, NULL);
    return gw_dot(other->d, direction_at(&at, shape)) < 0 ? GW_OPPOSITE : GW_SAME;
}

#define AT_FOCUS 1e-5 /* of the focal distance: nearer to it a normal's direction is uncertain */

const char *gw_constraint_offset_folds(const gw_constraint *c, const gw_pose *x, double *focal)
{
    bool surface = c->fixed.kind == GW_SURFACE || c->mobile.kind == GW_SURFACE;
    if (!surface || !gw_constraint_has_length(c->kind) || c->value == 0)
        return NULL;
    gw_element m = gw_element_moved(x, &c->mobile);
    const gw_element *other, *shape = shape_of(c, &m, &other);
    foot at = foot_of(other->p, shape, NULL);
    *focal = gw_nurbs_focal_distance(shape->nurbs, at.nearest.parameter, c->value);
    double share = fabs(c->value) / fabs(*focal);
    return share > 1 + AT_FOCUS ? "beyond" : share > 1 - AT_FOCUS ? "at" : NULL;
}

const char *gw_constraint_kink(const gw_constraint *c, char *parameter, double *at, bool *fixed)
{
    assert(c && parameter && at && fixed);
    *fixed = gw_is_free_form(c->fixed.kind);
    const gw_element *shape = *fixed ? &c->fixed : &c->mobile;
    bool surface = shape->kind == GW_SURFACE;
    bool follows = c->kind == GW_TANGENT || (surface && c->kind == GW_NORMAL) ||
                   (surface && c->kind == GW_DISTANCE && c->value != 0) ||
                   (c->kind == GW_ANGLE && gw_is_free_form(shape->kind));
    for (int k = 0; follows && k < 2; k++) {
        const gw_nurbs_direction *d = &shape->nurbs->direction[k];
        if (d->kink_count == 0)
            continue;
        *parameter = surface ? "uv"[k] : 's';
        *at = d->kinks[0];
        return c->kind == GW_TANGENT  ? "where it has no one tangent: a line can be tangent to a "
                                        "smooth curve, or to a part of this one that is trimmed "
                                        "off there"
               : c->kind == GW_ANGLE  ? "where its direction jumps: an angle can be bounded to a "
                                        "smooth shape, or to a part of this one that is trimmed "
                                        "off there"
               : c->kind == GW_NORMAL ? "where it has no one normal: a line can keep to the normal "
                                        "of a smooth surface, or of a part of this one that is "
                                        "trimmed off there"
                                      : "where its offsets jump: a point can keep a distance from "
                                        "a smooth surface, or from a part of this one that is "
                                        "trimmed off there";
    }
    return NULL;
}

/* Residual of an offset: distance of x from the point at `wanted` along the surface's normal at the
 * closest point, which is not below x beyond an edge; for a curve the distance from the closest
 * point. */
static double error_from_shape(const foot *f, const gw_element *shape, double wanted)
{
    if (shape->kind == GW_CURVE || wanted == 0)
        return f->nearest.distance;
    double over;
    if (gw_nurbs_apex_distance(shape->nurbs, f->from, f->nearest.parameter, &over))
        return fabs(over - wanted);
    gw_vec3 normal = gw_nurbs_normal(shape->nurbs, f->nearest.parameter, &f->at);
    return gw_norm(gw_mul_add(gw_sub(f->from, f->nearest.point), -wanted, normal));
}

/* The error of a constraint on a free-form shape, with the error of the direction weighted by
 * `length`. */
static double error_on_shape(const gw_constraint *c, const gw_element *m, double wanted,
                             double length, long *work)
{
    const gw_element *other, *shape = shape_of(c, m, &other);
    foot f = foot_of(point_of(c, other), shape, work);
    double error = error_from_shape(&f, shape, wanted);
    if (!is_directed(c->kind))
        return error;
    return fmax(error, length * along_error(other->d, direction_at(&f, shape), c->sense));
}

/* |distance - wanted| between the elements, m the mobile one in world axes. */
static double distance_error(const gw_constraint *c, const gw_element *m, double wanted)
{
    const gw_element *f = &c->fixed;
    if (m->kind == GW_PLANE && f->kind == GW_PLANE)
        return fabs((c->reversed ? height_over_plane(f->p, m) : height_over_plane(m->p, f)) -
                    wanted);
    if (f->kind == GW_PLANE)
        return fabs(height_over_plane(m->p, f) - wanted);
    if (m->kind == GW_PLANE)
        return fabs(height_over_plane(f->p, m) - wanted);
    if (f->kind == GW_LINE)
        return fabs(distance_to_line(m->p, f) - wanted);
    if (m->kind == GW_LINE)
        return fabs(distance_to_line(f->p, m) - wanted);
    return fabs(gw_distance(m->p, f->p) - wanted);
}

double gw_constraint_residual(const gw_constraint *c, const gw_pose *x, double length)
{
    return gw_constraint_residual_counted(c, x, length, NULL);
}

double gw_constraint_residual_counted(const gw_constraint *c, const gw_pose *x, double length,
                                      long *work)
{
    assert((unsigned)c->kind < GW_CONSTRAINT_KIND_COUNT);
    gw_element m = gw_element_moved(x, &c->mobile);
    const gw_constraint_kind_info *info = &kinds[c->kind];
    double wanted = info->distance == GW_ZERO_DISTANCE ? 0 : c->value;
    if (gw_is_free_form(m.kind) || gw_is_free_form(c->fixed.kind))
        return error_on_shape(c, &m, wanted, length, work);
    bool directed = m.kind != GW_POINT && c->fixed.kind != GW_POINT;
    double turn = directed ? length * angle_error(c, &m) : 0;
    if (info->distance == GW_ANY_DISTANCE)
        return turn;
    double off = distance_error(c, &m, wanted);
    return turn > off ? turn : off; /* not a number if the pose is not finite */
}

#define NEXT_TO_NOTHING 1e-9 /* of the length: a residual that needs no other branch */
#define BRANCH_STARTS   8    /* along each parameter */

/* Residual of a point on the offset of any part of a surface. */
static double error_from_offset(gw_vec3 x, const gw_nurbs *shape, double wanted)
{
    const gw_nurbs_direction *u = &shape->direction[0], *v = &shape->direction[1];
    double least = HUGE_VAL;
    for (int i = 0; i < BRANCH_STARTS * BRANCH_STARTS; i++) {
        double a = (i / BRANCH_STARTS + 0.5) / BRANCH_STARTS;
        double b = (i % BRANCH_STARTS + 0.5) / BRANCH_STARTS;
        double at[2] = {u->low + a * (u->high - u->low), v->low + b * (v->high - v->low)};
        gw_nurbs_point below;
        gw_nurbs_follow(shape, x, at, NULL, &below);
        gw_vec3 n = gw_nurbs_normal(shape, at, &below);
        least = fmin(least, gw_norm(gw_mul_add(gw_sub(x, below.d[0][0]), -wanted, n)));
    }
    return least;
}

/* Residual of a line through x along d: distance from the shape, and angle of d with the normal. */
static double error_from_foot(const gw_constraint *c, gw_vec3 x, gw_vec3 d, const gw_nurbs *shape,
                              double length)
{
    double least = HUGE_VAL;
    for (int side = -1; side <= 1; side += 2) {
        gw_nurbs_nearest nearest;
        gw_nurbs_point below;
        if (side == (c->sense == GW_SAME ? -1 : c->sense == GW_OPPOSITE ? 1 : 0))
            continue;
        gw_nurbs_nearest_point(shape, gw_mul_add(x, -side * c->value, d), &nearest);
        gw_nurbs_evaluate(shape, nearest.parameter, 2, NULL, &below);
        gw_vec3 n = gw_nurbs_normal(shape, nearest.parameter, &below);
        double turn = length * gw_angle_between(gw_scale(side, d), n);
        least = fmin(least, fmax(nearest.distance, turn));
    }
    return least;
}

double gw_constraint_branch_residual(const gw_constraint *c, const gw_pose *x, double length)
{
    bool surface = c->fixed.kind == GW_SURFACE || c->mobile.kind == GW_SURFACE;
    double residual = gw_constraint_residual(c, x, length);
    if (!surface || !gw_constraint_has_length(c->kind) || c->value == 0 ||
        residual <= NEXT_TO_NOTHING * length)
        return residual;
    gw_element m = gw_element_moved(x, &c->mobile);
    const gw_element *other, *shape = shape_of(c, &m, &other);
    gw_vec3 at = gw_unrotate(shape->q, gw_sub(other->p, shape->p));
    gw_vec3 d = gw_unrotate(shape->q, other->d);
    return fmin(residual, c->kind == GW_NORMAL ? error_from_foot(c, at, d, shape->nurbs, length)
                                               : error_from_offset(at, shape->nurbs, c->value));
}
