/*
 * Primitives as rational B-splines.
 *
 * A quarter of a circle is the rational quadratic Bezier curve (1, 0), (1, 1), (0, 1) with weights
 * 1, 1/sqrt(2), 1; a surface of revolution is the tensor product of a circle with its profile
 * (Versprille 1975).
 */
#include "rt/geometry/nurbs_primitive.h"

#include <assert.h>
#include <stddef.h>

enum { RING = 9, ARC = 5, SHAPE_POINTS = RING * RING };

static const double ring_knots[RING + 3] = {0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
static const double ring[RING][2] = {{1, 0},   {1, 1},  {0, 1},  {-1, 1}, {-1, 0},
                                     {-1, -1}, {0, -1}, {1, -1}, {1, 0}};
static const double arc_knots[ARC + 3] = {0, 0, 0, 0.5, 0.5, 1, 1, 1};
static const double capsule_knots[10] = {0, 0, 0, 1, 1, 2, 2, 3, 3, 3};
static const double line_knots[4] = {0, 0, 1, 1};

static double ring_weight(int i)
{
    return i % 2 ? sqrt(0.5) : 1;
}

static gw_nurbs *circle(double radius, gw_error *error)
{
    gw_vec3 points[RING];
    double weights[RING];
    for (int i = 0; i < RING; i++) {
        points[i] = gw_v3(radius * ring[i][0], radius * ring[i][1], 0);
        weights[i] = ring_weight(i);
    }
    return gw_nurbs_create(&(gw_nurbs_def){.dimension = 1,
                                           .degree = {2},
                                           .count = {RING},
                                           .knot_count = {RING + 3},
                                           .knots = {ring_knots},
                                           .points = points,
                                           .weights = weights},
                           error);
}

/* A profile (distance from the axis, height) and its weights. */
typedef struct profile {
    int degree, count;
    const double *knots;
    double at[RING][2], weights[RING];
} profile;

/* The profile about z, x and y scaled. */
static gw_nurbs *revolved(const profile *of, double x, double y, gw_error *error)
{
    gw_vec3 points[SHAPE_POINTS];
    double weights[SHAPE_POINTS];
    for (int i = 0; i < RING; i++) {
        for (int j = 0; j < of->count; j++) {
            double r = of->at[j][0];
            points[i * of->count + j] = gw_v3(x * r * ring[i][0], y * r * ring[i][1], of->at[j][1]);
            weights[i * of->count + j] = ring_weight(i) * of->weights[j];
        }
    }
    return gw_nurbs_create(&(gw_nurbs_def){.dimension = 2,
                                           .degree = {2, of->degree},
                                           .count = {RING, of->count},
                                           .knot_count = {RING + 3, of->count + of->degree + 1},
                                           .knots = {ring_knots, of->knots},
                                           .points = points,
                                           .weights = weights},
                           error);
}

static gw_nurbs *rectangle(const double size[2], gw_error *error)
{
    double x = 0.5 * size[0], y = 0.5 * size[1];
    gw_vec3 points[4] = {{-x, -y, 0}, {-x, y, 0}, {x, -y, 0}, {x, y, 0}};
    return gw_nurbs_create(&(gw_nurbs_def){.dimension = 2,
                                           .degree = {1, 1},
                                           .count = {2, 2},
                                           .knot_count = {4, 4},
                                           .knots = {line_knots, line_knots},
                                           .points = points},
                           error);
}

/* A straight profile; of a disc and a cone it ends at the axis. */
static gw_nurbs *straight(double r0, double z0, double r1, double z1, gw_error *error)
{
    profile side = {1, 2, line_knots, {{r0, z0}, {r1, z1}}, {1, 1}};
    return revolved(&side, 1, 1, error);
}

static gw_nurbs *ellipsoid(gw_vec3 a, gw_error *error)
{
    double corner = ring_weight(1);
    profile half = {2,
                    ARC,
                    arc_knots,
                    {{0, -a.z}, {1, -a.z}, {1, 0}, {1, a.z}, {0, a.z}},
                    {1, corner, 1, corner, 1}};
    return revolved(&half, a.x, a.y, error);
}

/* Two quarters of a circle and the straight line between them. */
static gw_nurbs *capsule(double r, double height, gw_error *error)
{
    double h = 0.5 * height, corner = ring_weight(1);
    profile side = {2,
                    7,
                    capsule_knots,
                    {{0, -h - r}, {r, -h - r}, {r, -h}, {r, 0}, {r, h}, {r, h + r}, {0, h + r}},
                    {1, corner, 1, 1, 1, corner, 1}};
    return revolved(&side, 1, 1, error);
}

static gw_nurbs *torus(double radius, double tube_radius, gw_error *error)
{
    profile tube = {.degree = 2, .count = RING, .knots = ring_knots};
    for (int j = 0; j < RING; j++) {
        tube.at[j][0] = radius + tube_radius * ring[j][0];
        tube.at[j][1] = tube_radius * ring[j][1];
        tube.weights[j] = ring_weight(j);
    }
    return revolved(&tube, 1, 1, error);
}

/* ---- conversion ----------------------------------------------------------------------------- */

#define KIND(name) (1u << GW_PRIMITIVE_##name)

const char *gw_primitive_kind_name(gw_primitive_kind kind)
{
    static const char *const names[] = {"circle",  "plane", "disc",  "sphere",   "cylinder",
                                        "capsule", "cone",  "torus", "ellipsoid"};
    return (size_t)kind < sizeof names / sizeof *names ? names[kind] : NULL;
}

/* The lengths that a kind has are positive and finite. */
static bool check(const gw_primitive *p, gw_error *error)
{
    const struct {
        const char *where;
        double length;
        unsigned kinds;
    } lengths[] = {
        {"/radius", p->radius, ~(KIND(PLANE) | KIND(ELLIPSOID))},
        {"/height", p->height, KIND(CYLINDER) | KIND(CAPSULE) | KIND(CONE)},
        {"/tube_radius", p->tube_radius, KIND(TORUS)},
        {"/semi_axes/0", p->semi_axes.x, KIND(ELLIPSOID)},
        {"/semi_axes/1", p->semi_axes.y, KIND(ELLIPSOID)},
        {"/semi_axes/2", p->semi_axes.z, KIND(ELLIPSOID)},
        {"/size/0", p->size[0], KIND(PLANE)},
        {"/size/1", p->size[1], KIND(PLANE)},
    };
    for (size_t i = 0; i < sizeof lengths / sizeof *lengths; i++)
        if ((lengths[i].kinds >> p->kind & 1) &&
            !(lengths[i].length > 0 && isfinite(lengths[i].length)))
            return gw_fail(error, GW_BAD_INPUT, lengths[i].where, "%g m must be positive",
                           lengths[i].length);
    if (p->kind == GW_PRIMITIVE_TORUS && p->tube_radius >= p->radius)
        return gw_fail(error, GW_BAD_INPUT, "/tube_radius",
                       "%g m must be less than the radius, %g m", p->tube_radius, p->radius);
    return true;
}

gw_nurbs *gw_nurbs_convert(const gw_primitive *p, gw_error *error)
{
    assert(p);
    double r = p->radius, h = p->height;
    if (!check(p, error))
        return NULL;
    switch (p->kind) {
    case GW_PRIMITIVE_CIRCLE:
        return circle(r, error);
    case GW_PRIMITIVE_PLANE:
        return rectangle(p->size, error);
    case GW_PRIMITIVE_DISC:
        return straight(r, 0, 0, 0, error);
    case GW_PRIMITIVE_SPHERE:
        return ellipsoid(gw_v3(r, r, r), error);
    case GW_PRIMITIVE_CYLINDER:
        return straight(r, -0.5 * h, r, 0.5 * h, error);
    case GW_PRIMITIVE_CAPSULE:
        return capsule(r, h, error);
    case GW_PRIMITIVE_CONE:
        return straight(r, 0, 0, h, error);
    case GW_PRIMITIVE_TORUS:
        return torus(r, p->tube_radius, error);
    case GW_PRIMITIVE_ELLIPSOID:
        return ellipsoid(p->semi_axes, error);
    }
    return NULL;
}

gw_nurbs *gw_nurbs_circle(double radius, gw_error *error)
{
    return gw_nurbs_convert(&(gw_primitive){.kind = GW_PRIMITIVE_CIRCLE, .radius = radius}, error);
}

gw_nurbs *gw_nurbs_cylinder(double radius, double height, gw_error *error)
{
    return gw_nurbs_convert(
        &(gw_primitive){.kind = GW_PRIMITIVE_CYLINDER, .radius = radius, .height = height}, error);
}

gw_nurbs *gw_nurbs_cone(double radius, double height, gw_error *error)
{
    return gw_nurbs_convert(
        &(gw_primitive){.kind = GW_PRIMITIVE_CONE, .radius = radius, .height = height}, error);
}

gw_nurbs *gw_nurbs_ellipsoid(gw_vec3 semi_axes, gw_error *error)
{
    return gw_nurbs_convert(&(gw_primitive){.kind = GW_PRIMITIVE_ELLIPSOID, .semi_axes = semi_axes},
                            error);
}

gw_nurbs *gw_nurbs_torus(double radius, double tube_radius, gw_error *error)
{
    return gw_nurbs_convert(
        &(gw_primitive){.kind = GW_PRIMITIVE_TORUS, .radius = radius, .tube_radius = tube_radius},
        error);
}
