/*
 * Springs with dampers between device and model: coordination and virtual coupling, the stiffness
 * and damping that are stable at a period, and their easing in after a switch. Pure functions and a
 * small state. RT safe.
 */
#ifndef GW_HAPTICS_VIRTUAL_COUPLING_H
#define GW_HAPTICS_VIRTUAL_COUPLING_H

#include "rt/base/space.h"

typedef struct gw_spring_damper {
    double linear, angular;                 /* N/m, N m/rad */
    double linear_damping, angular_damping; /* N s/m, N m s/rad */
} gw_spring_damper;

/* The paper's coordination (mechanisms eq. 19, 20). */
#define GW_PAPER_COORDINATION ((gw_spring_damper){100, 0.5, 70, 0.375})

/* False where all is zero: nothing was stated. */
bool gw_spring_is_stated(const gw_spring_damper *k);

/* k e + b e': the wrench on the device towards the model, `error` being model less device. */
gw_wrench gw_spring_wrench(const gw_spring_damper *k, const gw_twist *error, const gw_twist *rate);

/* 1/2 k e^2 (J) */
double gw_spring_energy(const gw_spring_damper *k, const gw_twist *error);

/* Largest inverse mass and inverse inertia at the held frame (1/kg, 1/(kg m^2)). */
typedef struct gw_inverse_mass {
    double linear, angular;
} gw_inverse_mass;

/* An upper bound of the eigenvalues of Lambda^-1's diagonal blocks. */
gw_inverse_mass gw_inverse_mass_bound(const double inverse_inertia[6][6]);

/* The spring scaled down so that its dampers reduce a velocity difference between two bodies of
 * these inverse masses by at most a quarter in a step of dt. */
gw_spring_damper gw_spring_within_step_limit(const gw_spring_damper *k, gw_inverse_mass a,
                                             gw_inverse_mass b, double dt);

/* The stiffest virtual coupling between device and model at the period dt and the additional
 * `delay` (s): damping ratio one, a quarter of the stable stiffness. Theory in README.md. */
gw_spring_damper gw_virtual_coupling_bound(double device_mass, double device_inertia,
                                           double model_mass, double model_inertia, double dt,
                                           double delay);

/* The rest position of the springs: after a switch it moves from the device's position to the
 * model's while the stiffness rises from zero; slack added to it pays for an energy deficit. */
typedef struct gw_easing {
    gw_twist rest;      /* model less device at the switch (m, rad) */
    double time, lasts; /* s */
    gw_twist slack;     /* of the rest: stretch that was given away and has not recovered */
} gw_easing;

void gw_easing_start(gw_easing *easing, const gw_twist *error);

/* Shifts the rest by `displacement`, a relative motion in directions that the spring does not
 * follow. */
void gw_easing_shift(gw_easing *easing, const gw_twist *displacement);

/* The spring's stretch in this tick; softens `k`. *booked: the energy that easing puts in (J). */
gw_twist gw_easing_tick(gw_easing *easing, gw_spring_damper *k, const gw_twist *error, double dt,
                        double *booked);

/* Adds slack to the spring to release up to `energy` (J); returns the energy released. */
double gw_easing_release_energy(gw_easing *easing, const gw_spring_damper *k, gw_twist *stretch,
                                double energy);

/* Reduces the slack as fast as `energy` (J) and its time constant allow; returns the energy
 * used. */
double gw_easing_recover(gw_easing *easing, const gw_spring_damper *k, gw_twist *stretch,
                         double energy, double dt);

#endif
