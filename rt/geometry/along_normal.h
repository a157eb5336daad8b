/*
 * Sets whose rotation is of the kind normal: an axis along the normal of a free-form surface, its
 * point at an offset from the surface, the rotation about it free, three freedoms: phi, u, v; and
 * of the kind tangent: an axis along the tangent of a free-form curve, its point on the curve, two
 * freedoms: phi, s. Private to rt/geometry. Any thread, RT safe.
 *
 * On one side the axis is a point s and a unit direction d, on the other the shape is S(u, v) or
 * C(s) in the frame of the locus. With A the rotation that takes the axis's side to that of the
 * shape, and P = S + a n, or P = C and n = C' / |C'|:
 *
 *   A d = n(u, v),   A s + t = P                  the shape is the world's: A = R
 *                    R P + t = s                  it is the body's: A = R^T
 *   A = F(u, v) R(z, phi) zero                    F's columns: S_u / |S_u|, n x that, n
 *
 * On a curve F is the least rotation from the z axis of its frame to the tangent, so phi jumps
 * where the tangent is opposite to that axis; the coordinates of charts do not.
 */
#ifndef GW_GEOMETRY_ALONG_NORMAL_H
#define GW_GEOMETRY_ALONG_NORMAL_H

#include "rt/geometry/submanifold.h"

/* The direction d. */
static inline gw_vec3 gw_along_normal_axis(const gw_submanifold *set)
{
    return set->translation.in_mobile ? set->rotation.axis : set->rotation.axis_body;
}

/* The pose at z = phi, u, v, and z of a pose on the set. */
gw_pose gw_along_normal_pose(const gw_submanifold *set, const double *z);
void gw_along_normal_parameters(const gw_submanifold *set, const gw_pose *x, double *z);

/* The pose of the set nearest to `near`, edges and ends of the shape included, and its distance
 * (m): a descent from the shape's point closest to s and, if the result is not close, from the best
 * points of a grid over the whole set, as far as the set's bound of work goes. */
double gw_along_normal_nearest(const gw_submanifold *set, const gw_pose *near, double length,
                               gw_pose *nearest);

/* The bounds of parameter k for charts and for nearest poses. They end a little before an edge that
 * is one point but not a pole (the corner of a patch, the apex of a cone), where there is no
 * normal.
 */
void gw_chart_bounds(const gw_nurbs *nurbs, int k, double *low, double *high);

/* Centres the chart's coordinates of a free-form locus at these parameters (chart.c). */
void gw_chart_centre_at(gw_chart *chart, const double parameter[2]);

/* gw_chart_at(), gw_chart_velocity() and gw_chart_eval() for such a set; z are the rotation about
 * the axis and u, v or s, relative to the centre. */
void gw_along_normal_chart_at(const gw_submanifold *set, const gw_pose *x, gw_chart *chart);
void gw_along_normal_velocity(const gw_chart *chart, const gw_twist *twist, double *z_dot);
void gw_along_normal_eval(const gw_chart *chart, const double *z, const double *z_dot,
                          gw_pose *pose, double (*jacobian)[6], double *bias);

#endif
