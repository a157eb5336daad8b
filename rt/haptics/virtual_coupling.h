/*
 * Springs with dampers between device and model: coordination and virtual coupling, what a step
 * bears of them, and how they come in after a switch. Pure functions and a small state. RT safe.
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

/* k e + b e': what pulls the device towards a model that is `error` away. */
gw_wrench gw_spring_wrench(const gw_spring_damper *k, const gw_twist *error, const gw_twist *rate);

/* 1/2 k e^2 (J) */
double gw_spring_energy(const gw_spring_damper *k, const gw_twist *error);

/* How lightly something moves at the hand (1/kg, 1/(kg m^2)). */
typedef struct gw_inverse_mass {
    double linear, angular;
} gw_inverse_mass;

/* A bound of the eigenvalues of Lambda^-1's blocks. */
gw_inverse_mass gw_inverse_mass_bound(const double inverse_inertia[6][6]);

/* The spring, scaled down until its dampers take a quarter at most of a difference of velocity in a
 * step of dt, between two that move so lightly. */
gw_spring_damper gw_spring_within_step_limit(const gw_spring_damper *k, gw_inverse_mass a,
                                             gw_inverse_mass b, double dt);

/* The stiffest virtual coupling that a device of mass m and a model of mass m_model stand at the
 * period dt with `delay` more: N/m for a damping ratio of one, a quarter of what is stable. Theory
 * in README.md. */
gw_spring_damper gw_virtual_coupling_bound(double device_mass, double device_inertia,
                                           double model_mass, double model_inertia, double dt,
                                           double delay);

/* The springs' rest: after a switch it goes from where the device is to the model, while their
 * stiffness goes from none to what it is; and it gives way where energy is owed. */
typedef struct gw_easing {
    gw_twist rest;      /* model less device at the switch (m, rad) */
    double time, lasts; /* s */
    gw_twist slack;     /* of the rest: what the spring gave away and has not got back */
} gw_easing;

void gw_easing_start(gw_easing *easing, const gw_twist *error);

/* Device and model went so far apart where the spring is not to follow. */
void gw_easing_shift(gw_easing *easing, const gw_twist *way);

/* The spring's stretch in this tick, `k` softened. *booked: the energy that easing brings (J). */
gw_twist gw_easing_tick(gw_easing *easing, gw_spring_damper *k, const gw_twist *error, double dt,
                        double *booked);

/* The spring, stretched so, grows slack by `energy`; returns what it had to give (J). */
double gw_easing_release_energy(gw_easing *easing, const gw_spring_damper *k, gw_twist *stretch,
                                double energy);

/* Slack dies out as quickly as `energy` and its time constant allow; returns what it took (J). */
double gw_easing_recover(gw_easing *easing, const gw_spring_damper *k, gw_twist *stretch,
                         double energy, double dt);

#endif
