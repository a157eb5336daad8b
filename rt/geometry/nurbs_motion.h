/*
 * Motion of points along free-form curves and surfaces or at an offset, in the shape's own frame,
 * for loci, charts and rows. Any thread, RT safe.
 */
#ifndef GW_GEOMETRY_NURBS_MOTION_H
#define GW_GEOMETRY_NURBS_MOTION_H

#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/nurbs_pole.h"

/*
 * The parameters of the point closest to `x`, which is about `distance` (m, of either sign) from
 * the shape: followed from `parameter`, or, if that ends at another distance, by a global search of
 * a bounded number of cells. Returns the number of cells searched.
 */
int gw_nurbs_closest(const gw_nurbs *nurbs, gw_vec3 x, double distance, double parameter[2],
                     gw_nurbs_point *at);

/* P = C(s) of a curve, S(u, v) + offset n(u, v) of a surface, while the parameters move at `rate`:
 * its derivatives by them, velocity, and acceleration at rate' = 0. With a plane, `parameter` is x
 * and y of it. */
typedef struct gw_nurbs_motion {
    gw_vec3 p, d[2];
    gw_vec3 velocity, bias;
} gw_nurbs_motion;

void gw_nurbs_motion_of(const gw_nurbs *nurbs, const gw_tangent_plane *plane,
                        const double parameter[2], const double rate[2], double offset,
                        gw_nurbs_motion *motion);

/* The same from an evaluation of the shape to the order that gw_nurbs_motion_order() returns. */
void gw_nurbs_motion_at(const gw_nurbs *nurbs, const gw_nurbs_point *at, const double rate[2],
                        double offset, gw_nurbs_motion *motion);
int gw_nurbs_motion_order(const gw_nurbs *nurbs, double offset);

/* The unit normal of a surface, or the unit tangent of a curve, while the parameters move: its
 * derivatives by them, its rate, and the rate of that at rate' = 0. */
typedef struct gw_nurbs_direction_motion {
    gw_vec3 n, d[2];
    gw_vec3 velocity, bias;
} gw_nurbs_direction_motion;

/* The same with the normal of a surface or the tangent of a curve. */
void gw_nurbs_motion_with_direction(const gw_nurbs *nurbs, const gw_tangent_plane *plane,
                                    const double parameter[2], const double rate[2], double offset,
                                    gw_nurbs_motion *motion, gw_nurbs_direction_motion *turn);

/*
 * The unit normal at the point of a surface closest to x, which is about `expected` from it: n, its
 * rate as x moves with `velocity`, and n'' for x'' = 0. The derivative of n by x is symmetric: the
 * gradient of t . n by x is the rate for x' = t. `parameter`: near the closest point; moved onto
 * it. Returns the number of cells searched.
 */
int gw_nurbs_normal_at(const gw_nurbs *surface, gw_vec3 x, gw_vec3 velocity, double expected,
                       bool past_edges, double parameter[2], gw_vec3 *n, gw_vec3 *rate,
                       gw_vec3 *second);

/* The same with the closest point known, at `parameter`. */
void gw_nurbs_normal_here(const gw_nurbs *surface, gw_vec3 x, gw_vec3 velocity,
                          const double parameter[2], gw_vec3 *n, gw_vec3 *rate, gw_vec3 *second);

/*
 * The unit tangent at the point of a curve closest to x: t, its rate as x moves with `velocity`,
 * t'' for x'' = 0, and the gradient of along . t by x. `parameter`: near the closest point; moved
 * onto it. Returns the number of cells searched.
 */
int gw_nurbs_tangent_at(const gw_nurbs *curve, gw_vec3 x, gw_vec3 velocity, gw_vec3 along,
                        bool past_ends, double parameter[2], gw_vec3 *t, gw_vec3 *rate,
                        gw_vec3 *second, gw_vec3 *gradient);

/*
 * The focal distance of a surface at a point, on the side of the sign of `side`: the least 1 / k of
 * the principal curvatures k towards that side, with its sign; infinite where there is none. S + a
 * n folds where a reaches it, and points beyond are closer to another point of the surface.
 */
double gw_nurbs_focal_distance(const gw_nurbs *surface, const double parameter[2], double side);

/* 1 - a / f of the offset a and the focal distance f at the point `at` (to second order): 1 on the
 * surface, 0 where S + a n folds, negative beyond. */
double gw_nurbs_fold_margin(const gw_nurbs *surface, const double parameter[2],
                            const gw_nurbs_point *at, double offset);

#define GW_FOLD_MARGIN 1e-3 /* a motion over an offset surface ends at this margin */

/* The gradient by x of parameter k of the point closest to x, at these parameters. */
void gw_nurbs_parameter_gradient(const gw_nurbs *nurbs, gw_vec3 x, const double parameter[2], int k,
                                 gw_vec3 *gradient);

/* The signed distance of x from the apex at these parameters, which is its closest point: along the
 * normals about the apex. False where the parameters are not at an apex (an edge that is one point
 * but not a pole). */
bool gw_nurbs_apex_distance(const gw_nurbs *nurbs, gw_vec3 x, const double parameter[2],
                            double *distance);

/* The point closest to x, followed by Newton's method from `parameter`, also past edges and ends,
 * where the last span's polynomials are extended; by a global search if that does not converge.
 * True if it is an apex (an edge that is one point but not a pole), past which the shape does not
 * continue. */
bool gw_nurbs_pass_edges(const gw_nurbs *nurbs, gw_vec3 x, double parameter[2], gw_nurbs_point *at);

/*
 * A distance of a point x from the shape: of a surface h = n . (x - S) with S closest to x and n
 * the normal there; of a curve h = along . (x - C). Both vanish on the shape, with the gradient
 * below; over an apex the distance is that from the apex. `parameter`: near the closest point;
 * moved onto it; `past_edges`: as by gw_nurbs_pass_edges().
 */
typedef struct gw_nurbs_distance {
    double value;
    gw_vec3 gradient;
    double second; /* h'' of an x with velocity x' and acceleration zero */
    int cells;     /* number of cells searched */
} gw_nurbs_distance;

void gw_nurbs_distance_at(const gw_nurbs *nurbs, gw_vec3 x, gw_vec3 velocity, gw_vec3 along,
                          double expected, bool past_edges, double parameter[2],
                          gw_nurbs_distance *distance);

#endif
