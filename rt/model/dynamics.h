/*
 * Newton and Euler for one rigid body seen from its frame's origin: shared by the guided body's
 * two integrators. Pure functions, RT safe.
 */
#ifndef GW_MODEL_DYNAMICS_H
#define GW_MODEL_DYNAMICS_H

#include "rt/model/guided.h"

/* A body's quantities at one pose, world axes. */
typedef struct gw_rigid {
    gw_vec3 com;     /* from the body's origin to its centre of mass */
    gw_vec3 held;    /* from the body's origin to the held frame's */
    gw_quat held_q;  /* world_from_held */
    gw_mat3 inertia; /* about the centre of mass */
} gw_rigid;

gw_rigid gw_rigid_at(const gw_guided_def *def, const gw_pose *world_from_body);

/* The held frame there, moving so. */
void gw_rigid_held(const gw_rigid *r, const gw_pose *pose, const gw_twist *twist, gw_pose *held,
                   gw_twist *held_twist);

/* What acts on the body: force, and torque about the centre of mass; the power of the forces and
 * of the damping (W). */
typedef struct gw_load {
    gw_wrench about_com;
    double power, dissipation;
} gw_load;

gw_load gw_rigid_load(const gw_guided_def *def, const gw_rigid *r, const gw_pose *pose,
                      const gw_twist *twist, const gw_forces *forces, double t);

/* The wrench that would give the body the acceleration [a; alpha] of its origin: momentum's rate,
 * force and torque about the centre of mass. */
gw_wrench gw_rigid_rate(double mass, const gw_rigid *r, gw_vec3 w, gw_vec3 a, gw_vec3 alpha);

/* Constraint wrench at the held frame: momentum rate minus load. */
gw_wrench gw_rigid_constraint(const gw_rigid *r, const gw_wrench *rate, const gw_wrench *load);

/* One step of a body on a general set, by its rows; in guided_general.c. */
void gw_guided_general_step(gw_guided *body, const gw_forces *forces, double dt, gw_step *step);

/* The twist of the general set nearest to `twist` in the mass metric, at the body's pose. */
gw_twist gw_guided_general_project(const gw_guided *body, const gw_twist *twist);

/* Kinetic energy (J). */
double gw_rigid_kinetic(double mass, const gw_rigid *r, const gw_twist *twist);

/* L of L L^T = m (n x n in rows of 6, lower triangle read), in place; false where m is not positive
 * definite. For the step's inner loop there is L D L^T, with 1/D on the diagonal: no roots, one
 * division a row. */
bool gw_cholesky(double (*m)[6], int n);
void gw_cholesky_solve(double (*l)[6], int n, double *x);
bool gw_ldl(double (*m)[6], int n);
void gw_ldl_solve(double (*l)[6], int n, double *x);

#endif
