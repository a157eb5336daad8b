/*
 * Coulomb friction of the unilateral contacts of a system (system_friction.c). Inside of
 * rt/dynamics; RT safe.
 */
#ifndef GW_DYNAMICS_SYSTEM_FRICTION_H
#define GW_DYNAMICS_SYSTEM_FRICTION_H

#include "rt/dynamics/system_private.h"

#define GW_SLIP_HELD       1e-10 /* of the inverse inertia: rounding, the other rows hold it */
#define GW_SLIP_TIE        1e-9  /* of friction: rounding of the acceleration as slip begins */
#define GW_SLIP_STOPPING   1e-6  /* s: slip that would end within it is stopped */
#define GW_SLIP_TURNING    2.0 /* of the time in which friction alone would end a slip: a substep */
#define GW_SLIP_ONSET      0.06 /* of a step's slip by friction alone: below, `growth`; */
#define GW_SLIP_SLOW_ONSET 0.5  /* the same of one that grows slowly, for which it is stiff */

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

/* Contacts that slip and share bodies, up to `most`: of each two numbers along its tangents, of
 * matrices columns one after the other. */
typedef struct gw_slip_group {
    int most, count;
    int *contact;                   /* closures */
    bool *rest;                     /* it counts as at rest */
    double *free, *lambda;          /* without friction: accelerations of slip, normal forces */
    double *inverse, *push;         /* the same per friction, negative, and positive */
    double *direction, *force;      /* of friction (negative) */
    double *excess, *resistance;    /* acceleration by which slip grows; by its own friction */
    double *acceleration, *present; /* of slip: as it grows, and by the present friction */
    double *coupling;               /* of slips by one another's friction (m/s^2) */
    double *limit, *size;           /* mu lambda (N), and the share of it that acts */
    double *solution, *trial, *step, *factor, *hessian; /* of Newton's method */
} gw_slip_group;

bool gw_slip_group_init(gw_slip_group *group, int most);
void gw_slip_group_free(gw_slip_group *group);

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

/* Lists the contacts that slip and are connected with a contact by their bodies, itself first;
 * itself alone if there are too many. Returns their number. */
int gw_friction_group(const gw_system *system, int closure, int *list);

/* True for the contact with the lowest number of its group. */
bool gw_friction_is_first(const gw_slip_group *group, int closure);

/* gw_friction_begin_substep() of several contacts: which of them stop into `stops`. */
double gw_friction_begin_group(gw_system *system, gw_slip_group *group, bool *stops);

/* Their directions in which slips with an `onset` grow, and their rows. */
void gw_friction_find_growth(gw_system *system, gw_slip_group *group);

/* The two rows of rolling along tangents; the row of friction where the bodies are; and the
 * acceleration of slip (m/s^2, world). */
const gw_closure_row *gw_rolling_rows(const gw_system *system, int closure);
void gw_friction_set_row(gw_system *system, int closure);
gw_vec3 gw_contact_slip_acceleration(const gw_system *system, int closure);

/* x := m^-1 x by Gaussian elimination; false: a pivot is too small. */
bool gw_friction_solve(int n, double *m, double *x);

/* gw_friction_begin_substep() of a contact whose slip accelerates by a, would grow by `excess` from
 * rest (m/s^2) and is resisted by `resistance` (m/s^2); and the slip below which it has the
 * direction in which it grows (m/s). */
double gw_friction_substep(gw_system *system, int closure, gw_vec3 a, double excess,
                           double resistance);
double gw_friction_onset(const gw_system *system, int closure, double excess, double resistance);

#endif
