/*
 * Circles and the round surfaces as rational B-splines, exactly.
 *
 * A quarter of a circle is the rational quadratic Bezier curve (1, 0), (1, 1), (0, 1) with weights
 * 1, 1/sqrt(2), 1; a surface of revolution is the tensor product of a circle with its profile
 * (Versprille 1975).
 */
#include "tests/nurbs_shapes.h"

#include <assert.h>

enum { RING = 9, ARC = 5, SHAPE_POINTS = RING * RING };

static const double ring_knots[RING + 3] = {0, 0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 4};
static const double ring[RING][2] = {{1, 0},   {1, 1},  {0, 1},  {-1, 1}, {-1, 0},
                                     {-1, -1}, {0, -1}, {1, -1}, {1, 0}};
static const double arc_knots[ARC + 3] = {0, 0, 0, 0.5, 0.5, 1, 1, 1};
static const double line_knots[4] = {0, 0, 1, 1};

static double ring_weight(int i)
{
    return i % 2 ? sqrt(0.5) : 1;
}

gw_nurbs *gw_nurbs_circle(double radius, gw_error *error)
{
    gw_vec3 points[RING];
    double weights[RING];
    assert(radius > 0);
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

gw_nurbs *gw_nurbs_cylinder(double radius, double height, gw_error *error)
{
    assert(radius > 0 && height > 0);
    profile side = {1, 2, line_knots, {{radius, -0.5 * height}, {radius, 0.5 * height}}, {1, 1}};
    return revolved(&side, 1, 1, error);
}

gw_nurbs *gw_nurbs_cone(double radius, double height, gw_error *error)
{
    assert(radius > 0 && height > 0);
    profile side = {1, 2, line_knots, {{radius, 0}, {0, height}}, {1, 1}};
    return revolved(&side, 1, 1, error);
}

gw_nurbs *gw_nurbs_ellipsoid(gw_vec3 a, gw_error *error)
{
    assert(a.x > 0 && a.y > 0 && a.z > 0);
    double corner = ring_weight(1);
    profile half = {2,
                    ARC,
                    arc_knots,
                    {{0, -a.z}, {1, -a.z}, {1, 0}, {1, a.z}, {0, a.z}},
                    {1, corner, 1, corner, 1}};
    return revolved(&half, a.x, a.y, error);
}

gw_nurbs *gw_nurbs_torus(double radius, double tube_radius, gw_error *error)
{
    assert(radius > tube_radius && tube_radius > 0);
    profile tube = {.degree = 2, .count = RING, .knots = ring_knots};
    for (int j = 0; j < RING; j++) {
        tube.at[j][0] = radius + tube_radius * ring[j][0];
        tube.at[j][1] = tube_radius * ring[j][1];
        tube.weights[j] = ring_weight(j);
    }
    return revolved(&tube, 1, 1, error);
}
