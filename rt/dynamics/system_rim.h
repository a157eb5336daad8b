/*
 * Rims on planes that lie flat (system_rim.c). Inside of rt/dynamics; RT
 * safe.
 */
#ifndef GW_DYNAMICS_SYSTEM_RIM_H
#define GW_DYNAMICS_SYSTEM_RIM_H

#include "rt/dynamics/system_unilateral.h"

#define GW_RIM_ROWS 3 /* position rows: the gap, and two tilts of a flat rim */

/* True if a contact's rim may come to lie flat; its closure has GW_RIM_ROWS position rows and, if
 * it rolls, three velocity rows. */
bool gw_rim_may_lie(const gw_closure_def *closure);

/* The rows that are not active in the contact's mode. */
unsigned gw_rim_rows_aside(const gw_system *system, int closure);

/* True if the rim lies flat; and if its friction resists a spin about the normal as well. */
bool gw_rim_is_flat(const gw_system *system, int closure);
bool gw_rim_spins(const gw_system *system, int closure);

/* The couple M on a flat rim by the rows of its tilts (N m, world). */
gw_vec3 gw_rim_couple(const gw_system *system, int closure, const double *multipliers);

/* The centre of pressure of a flat rim (world; from the rim's centre, of its radius, at most 1), by
 * multipliers as in system->solution; and by the moment n x M / r (N) and the normal force. */
gw_vec3 gw_rim_pressure(const gw_system *system, int closure, const double *multipliers);
gw_vec3 gw_rim_moment(const gw_system *system, int closure, const double *multipliers);
gw_vec3 gw_rim_centre(gw_vec3 moment, double lambda);

/* The friction of a flat rim with a normal force of 1 / mu is -A slip: A, with the `slip` and the
 * centre of pressure in the same axes. */
gw_rim_friction gw_rim_friction_of(const double slip[3], const double pressure[2]);

/* The least mu lambda with which a flat rim bears this traction (N, world); where that is certainly
 * much less than the capacity, an upper bound. */
double gw_rim_traction_size(const gw_system *system, int closure, gw_vec3 traction,
                            gw_vec3 pressure, double capacity);

/* x := m^-1 x; false: m is singular. */
bool gw_rim_solve(const double m[3][3], double x[3]);

/* The values of GW_ENDS_FLAT and GW_ENDS_TILTED, with the multipliers in system->solution. */
double gw_rim_flat_surplus(const gw_system *system, int closure);
double gw_rim_tilt(const gw_system *system, int closure);

/* The posture in which a contact begins, and the changes at both endings, before the active rows
 * are set anew. A flat rim tips by this couple. */
void gw_rim_begin(gw_system *system, int closure);
void gw_rim_tips(gw_system *system, int closure, gw_vec3 couple);
void gw_rim_pin(gw_system *system, int closure);

/* At the start of a substep: keeps the direction in which a rim is tilted. True if it was pinned
 * and is tilted far enough to have a lowest point, on which it rolls from here. */
bool gw_rim_begin_substep(gw_system *system, int closure);

/* The longest substep that resolves the motion of the lowest point (s). */
double gw_rim_longest_substep(const gw_system *system, int closure);

#endif
