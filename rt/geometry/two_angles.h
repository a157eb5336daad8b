/*
 * The rotations that satisfy two angle constraints (relational-positioning Table III, fourth row):
 * one or two closed curves, with one parameter each. Private to rt/geometry and rt/positioning. Any
 * thread, RT safe.
 */
#ifndef GW_GEOMETRY_TWO_ANGLES_H
#define GW_GEOMETRY_TWO_ANGLES_H

#include "rt/geometry/quat_lanes.h"
#include "rt/geometry/submanifold.h"

/* One of the two constraints: cos(angle) = axis . R axis_body. */
typedef struct gw_vector_angle {
    gw_vec3 axis, axis_body; /* unit, world and body */
    double angle;            /* rad, within 0 .. pi */
} gw_vector_angle;

/*
 * The rotational factor of both. `second.loops` is the number of loops; of two, loop 1 is selected
 * until gw_two_angles_choose() is called. False if the curve has no closed form here: parallel
 * vectors on one side, angles that are impossible or at their limit, or all four sides of the
 * spherical quadrilateral equal.
 */
bool gw_two_angles(const gw_vector_angle *first, const gw_vector_angle *second,
                   gw_rotation_set *out);

/* Selects loop 1 or -1 of two; no effect if the loops are one set. */
void gw_two_angles_choose(gw_rotation_set *r, int loop);

/* The loop that a rotation of the set is on: 1 or -1. */
int gw_two_angles_loop(const gw_rotation_set *r, gw_quat q);

/* R(psi), psi within -pi .. pi, and back. */
gw_quat gw_two_angles_rotation(const gw_rotation_set *r, double psi);
double gw_two_angles_parameter(const gw_rotation_set *r, gw_quat q);

/* R times the frame of `second.body`, its three axes, at the sine and cosine of psi / 2. */
void gw_two_angles_frames(const gw_rotation_set *r, const gw_lanes *sine, const gw_lanes *cosine,
                          gw_lanes frame[3][3]);
/* The same with lower accuracy where s^2 is small: the axes are not normalised. */
void gw_two_angles_rough_frames(const gw_rotation_set *r, const gw_lanes *sine,
                                const gw_lanes *cosine, gw_lanes frame[3][3]);

/* R of the first `count` lanes of these. */
void gw_two_angles_rotations(const gw_rotation_set *r, const gw_lanes *sine, const gw_lanes *cosine,
                             int count, gw_quat *q);

/* The unit axis (world) about which R rotates along the curve, and its derivative by the rotation
 * angle. At a crossing of loops, one of the two. */
void gw_two_angles_axes(const gw_rotation_set *r, const gw_quat_lanes *q, gw_lanes axis[3],
                        gw_lanes rate[3]);

/* The axis alone, of one rotation. */
gw_vec3 gw_two_angles_axis(const gw_rotation_set *r, gw_quat q);

/* Projects q, which is near the set, onto it by Newton's method on both angles. */
void gw_two_angles_project_all(const gw_rotation_set *r, gw_quat_lanes *q);

/* The same for one rotation. */
gw_quat gw_two_angles_project(const gw_rotation_set *r, gw_quat q);

#endif
