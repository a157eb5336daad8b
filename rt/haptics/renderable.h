/*
 * The stiffness and mass that a device can render of the requested ones, and the reasons. A spring
 * of stiffness K and damping B sampled at a period T, with a delay, generates energy unless the
 * device's own friction b dissipates it (Colgate and Schenkel, "Passivity of a class of
 * sampled-data systems", 1997):
 *
 *   b > K (T/2 + delay) + |B|
 *
 * An admittance device shows any spring, in series with its own structure: 1/K = 1/K_d + 1/K_s.
 *
 * Task space, linear or angular alike: N/m or N m/rad, kg or kg m^2. Pure functions, any thread.
 */
#ifndef GW_HAPTICS_RENDERABLE_H
#define GW_HAPTICS_RENDERABLE_H

#include <stdbool.h>

#include "rt/haptics/desired_impedance.h"
#include "rt/haptics/impedance.h"

/* The stiffest hand with which a rendered mass must be stable (N/m, N m/rad): the simulated hand's.
 */
#define GW_HAND_STIFFNESS         500.0
#define GW_HAND_STIFFNESS_ANGULAR 5.0

typedef enum gw_renderable_reason {
    GW_RENDERED_AS_ASKED,     /* within every bound */
    GW_RENDERED_BY_DEFAULT,   /* no value requested */
    GW_RENDERED_WATCHED,      /* beyond the sampling bound, with the passivity controller on */
    GW_RENDERED_BEYOND_BOUND, /* beyond the sampling bound, without it */
    GW_RENDERED_WITH_DEVICE,  /* the law leaves the device its own mass */
    GW_RENDERED_TOO_LIGHT,    /* below the smallest mass stable with a hand of GW_HAND_STIFFNESS */
    GW_RENDERED_SOFTER        /* in series with the compliance of the device's own structure */
} gw_renderable_reason;

extern const char *const gw_renderable_reason_names[]; /* "as-asked", .. */

/* Linear, or angular. */
typedef struct gw_rendered_value {
    double requested; /* 0: nothing was */
    double applied;
    double bound; /* stiffness: the most, mass: the least that is within it; INFINITY: none */
    gw_renderable_reason why;
} gw_rendered_value;

/* The rendered values of a tool's requests. */
typedef struct gw_rendered {
    gw_control_law law;
    bool impedance; /* else an admittance device: control has no springs of its own */
    gw_rendered_value mass, inertia;
    gw_rendered_value stiffness, stiffness_angular; /* of coordination or coupling */
    gw_rendered_value desired, desired_angular;     /* stiffness that the tool asks for, the most */
    gw_rendered_value penalty;                      /* along resisted directions (N/m) */
    double reach; /* m, after which the device's force limit is met at that stiffness; 0: never */
} gw_rendered;

typedef struct gw_render_request {
    const gw_impedance_def *def;   /* NULL: an admittance device */
    const gw_desired_def *desired; /* NULL: nothing is desired */
    gw_impedance_device device;    /* mass, damping, delays and limits, task space */
    double bandwidth;              /* Hz, of an admittance device's servo; 0: exact */
    double structure;              /* N/m, of its structure, task space; 0: rigid */
    double structure_angular;      /* N m/rad */
    double mass, inertia;          /* of the model at the hand: a lower bound */
    int couplings;                 /* gw_operational_state */
    double dt;                     /* s */
} gw_render_request;

/* The largest K with b > K (T/2 + delay) + |B|; 0 where there is none. */
double gw_sampling_bound(double friction, double damping, double dt, double delay);

/* The smallest mass that is stable with a hand of stiffness K_h and delay tau (s), with a factor of
 * four on the stiffness at which it oscillates: 7 K_h tau^2. */
double gw_smallest_mass(double hand_stiffness, double tau);

gw_rendered gw_renderable_values(const gw_render_request *request);

#endif
