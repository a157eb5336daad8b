/*
 * Free bodies and floating systems of bodies as one: the twist at which a rigid body of their joint
 * (locked) inertia has their momentum and their angular momentum. What they do relative to it has
 * neither, so that this part of their motion may be changed in proportion without an external
 * impulse. RT safe.
 */
#ifndef GW_DYNAMICS_LOCKED_MOTION_H
#define GW_DYNAMICS_LOCKED_MOTION_H

#include "rt/dynamics/guided.h"

/* Sums over bodies, about a point of the world (world axes). Start: {.about = a point near them}.
 */
typedef struct gw_locked_sums {
    gw_vec3 about;
    double mass;
    gw_vec3 moment;                     /* sum of mass times distance (kg m) */
    gw_mat3 inertia;                    /* kg m^2 */
    gw_vec3 momentum, angular_momentum; /* N s, N m s */
    double kinetic;                     /* J */
} gw_locked_sums;

/* The common motion: the twist of the joint centre of mass. */
typedef struct gw_locked_motion {
    gw_vec3 centre;
    gw_twist twist;
    double relative; /* kinetic energy of the bodies relative to it (J) */
} gw_locked_motion;

/* True for a model that nothing joins to the ground; only such models may be added and scaled. */
bool gw_locked_motion_takes(const gw_model *model);

void gw_locked_sums_add(gw_locked_sums *sums, const gw_model *model);

gw_locked_motion gw_locked_motion_of(const gw_locked_sums *sums);

/* Multiplies a model's velocity relative to the common motion by `factor`. */
void gw_locked_motion_scale(const gw_locked_motion *motion, double factor, gw_model *model);

#endif
