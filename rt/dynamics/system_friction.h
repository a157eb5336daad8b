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
    double by[3];     /* `row` along the axes of the contact's slip */
} gw_contact_friction;

#define GW_COMPLETE_SLIPS 256 /* contacts of a complete response, at most */

/* The motion of all contacts that slip by their friction (system_slip_response.c). A column has an
 * entry per contact, for a force of 1 N along an axis of one of them; column 0 is the motion
 * without friction. */
typedef struct gw_slip_response {
    int count;            /* contacts; */
    int *contact, *first; /* their closures and first columns, and the number of columns; */
    int *index;           /* of a closure among them */
    bool complete;        /* else a column per contact, along its friction: normal forces alone */
    double *normal;       /* lambda, C */
    double *acceleration; /* a_0, R: three per contact, the last one of flat rims only */
    gw_vec3 *moment;      /* of flat rims p_0, P (N, world) */
    double *force;        /* of each column (N), as gw_slip_motion() takes it */
    bool *left_out;       /* contacts whose friction it does not take */
    double *kept;         /* scratch */
} gw_slip_response;

bool gw_slip_response_init(gw_slip_response *response, int contacts, int closures);
void gw_slip_response_free(gw_slip_response *response);

/* The axes x, y, n of a contact's slip, along which its rows of rolling act by `lever`; returns the
 * number of these rows. */
int gw_slip_axes(const gw_system *system, int closure, gw_vec3 axis[3], double lever[3]);

/* Finds the response with the bodies where they are and the forces evaluated before. Not complete
 * with more than GW_COMPLETE_SLIPS contacts. */
void gw_slip_find_response(gw_system *system, bool complete);

/* Takes a contact's friction as it is into `force`. */
void gw_slip_take_friction(gw_system *system, int contact);

/* Slip acceleration along the axes, normal force, and lambda times the centre of pressure. */
void gw_slip_motion(const gw_slip_response *response, int contact, double a[3], double *lambda,
                    gw_vec3 *moment);

/* R: of a contact along its axes, by a column. */
static inline const double *gw_slip_column(const gw_slip_response *response, int column,
                                           int contact)
{
    return response->acceleration + 3 * (column * response->count + contact);
}

/* Friction along the axes x, y of a plane and, by its couple over the radius, about the
 * normal x cross y. */
typedef struct gw_rim_friction {
    double at[3][3];
} gw_rim_friction;

/* Contacts that slip and share bodies, up to `most`: of each a number along every axis; of matrices
 * columns one after the other. */
typedef struct gw_slip_group {
    int most, count, size;        /* size: axes of all contacts */
    int *contact, *first, *owner; /* closures, their first axes; of each axis its contact */
    bool *rest;                   /* it counts as at rest */
    gw_rim_friction *rim;         /* A of flat rims */
    double *free, *lambda;        /* without friction: accelerations of slip, normal forces */
    double *inverse, *push;       /* the same per friction, negative, and positive */
    double *direction, *force;    /* of friction (negative) */
    double *excess, *resistance;  /* acceleration by which slip grows; by its own friction */
    double *present, *coupling; /* of slips, by the friction that acts; by one another's (m/s^2) */
    double *pull;               /* `free` less the common motion of contacts at rest */
    double *limit;              /* mu lambda (N) */
    double *solution, *acceleration, *ratio; /* f, a, w as slip grows */
    double *before, *step, *factor, *matrix; /* of Newton's method */
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

/* Takes the contacts that slip and are connected with a contact by their bodies into the group,
 * itself first; itself alone if there are too many. */
void gw_friction_group(const gw_system *system, int closure, gw_slip_group *group);

/* True for the contact with the lowest number of its group. */
bool gw_friction_is_first(const gw_slip_group *group, int closure);

/* At a substep's start, with the complete response there: sets `onset`, and the directions of
 * contacts that slip from rest. Returns the longest substep that resolves the slip (s); 0: it ends
 * at once, of which contacts into `stops`. */
double gw_friction_begin_group(gw_system *system, gw_slip_group *group, bool *stops);

/* Finds the directions in which slips with an `onset` grow. */
void gw_friction_find_growth(gw_system *system, gw_slip_group *group);

/* The two rows of rolling along tangents. */
const gw_closure_row *gw_rolling_rows(const gw_system *system, int closure);

/* gw_friction_begin_group() of a contact whose slip accelerates by a, would grow by `excess` from
 * rest (m/s^2) and is resisted by `resistance` (m/s^2); and the slip below which it has the
 * direction in which it grows (m/s). */
double gw_friction_substep(gw_system *system, int closure, gw_vec3 a, double excess,
                           double resistance);
double gw_friction_onset(const gw_system *system, int closure, double excess, double resistance);

#endif
