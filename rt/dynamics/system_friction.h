/*
 * Coulomb friction of the unilateral contacts of a system (system_friction.c). Inside of
 * rt/dynamics; RT safe.
 */
#ifndef GW_DYNAMICS_SYSTEM_FRICTION_H
#define GW_DYNAMICS_SYSTEM_FRICTION_H

#include "rt/dynamics/system_private.h"

/* Friction of a contact that slips. */
typedef struct gw_contact_friction {
    gw_closure_row row; /* along the direction of friction d; its rate is the slip along d (m/s) */
    double force;       /* mu lambda (N): the multiplier of the row is its negative */
    double begin;       /* slip at the substep's start (m/s), */
    gw_vec3 along;      /* and its direction (world, unit) */
    double onset;       /* a smaller slip that grows has the direction `growth` (m/s); 0: none */
    gw_vec3 growth;
    gw_vec3 pressure; /* flat rim: its centre of pressure (world, of the radius; system_rim.h) */
} gw_contact_friction;

/* True if a contact may slip: it rolls, with a limit of traction. */
bool gw_contact_may_slip(const gw_system *system, int closure);

/* The slip of a contact (m/s, world): the velocity of a relative to b at the contact point, across
 * the normal; of a flat rim that of its centre, with the spin times the radius along the normal. */
gw_vec3 gw_contact_slip(const gw_system *system, int closure);

/* The force along the normal (N), and that of the rows of rolling on a (N, world), by multipliers
 * as in system->solution; of a flat rim with the couple over the radius along the normal. */
double gw_contact_normal_force(const gw_system *system, int closure, const double *multipliers);
gw_vec3 gw_contact_traction(const gw_system *system, int closure, const double *multipliers);

/* Finds the friction of all contacts that slip, at the present positions and velocities and the
 * forces evaluated before. */
void gw_friction_find(gw_system *system);

/* Adds the friction to the bodies' `force`. */
void gw_friction_load(gw_system *system);

/* The power that friction dissipates (W). */
double gw_friction_power(const gw_system *system);

/* The row of friction of a contact, and its multiplier; NULL: it does not slip. */
const gw_closure_row *gw_friction_row(const gw_system *system, int closure, double *multiplier);

/* gw_system_accelerate() with the outer forces `t` seconds into a step; and multipliers alone, as
 * gw_tree_reduce() and gw_closures_respond() leave them, under the loads and the friction found
 * before. */
void gw_system_find_accelerations(gw_system *system, const gw_forces *forces, double t);
void gw_system_solve_rows(gw_system *system);

/* At a substep's start, with the accelerations there, which are overwritten: sets `onset`, and the
 * direction of a contact that slips from rest. Returns the longest substep that resolves the slip
 * (s); 0: it ends at once. */
double gw_friction_begin_substep(gw_system *system, int closure);

#endif
