/*
 * What the two halves of a system share: trees (system_tree.c) and closures, steps, the model
 * (system.c). Spatial vectors are [v; w] and [f; t] in world axes, each body about its own origin.
 */
#ifndef GW_DYNAMICS_SYSTEM_PRIVATE_H
#define GW_DYNAMICS_SYSTEM_PRIVATE_H

#include <stdint.h>

#include "rt/dynamics/system.h"

#define GW_SYSTEM_STAGES 4 /* of the Runge-Kutta step */

/* The state as a model: what a copy of it has to have. */
typedef struct gw_system_state {
    gw_model model;
    gw_system *system;
    uint64_t stamp; /* names the state: the system's, where it is the one that is worked out */
    gw_mobilizer_state joints[];
} gw_system_state;

/* Rates of a joint's coordinates and velocities at one stage. */
typedef struct gw_stage_rates {
    double z[6], u[6];
} gw_stage_rates;

typedef struct gw_system_body {
    gw_system_body_def def;
    gw_pose m_from_body;
    int dof, first; /* coordinates; of them in the system's vectors */
    gw_mobilizer_state joint;
    /* of positions */
    gw_pose pose;
    gw_vec3 r, com, arm; /* from the parent's origin; to the centre of mass; from M's origin */
    gw_mat3 inertia_com; /* about it */
    double columns[6][6];
    double inertia[6][6]; /* articulated */
    double pulled[6][6];  /* U = I^A S, one row a coordinate */
    double chol[6][6];    /* L of S^T I^A S = L L^T */
    /* of velocities too */
    gw_twist twist;
    double bias[6];
    double gyroscopic[6]; /* p: rate of momentum at zero acceleration */
    /* scratch of the passes */
    double force[6], acceleration[6], rest[6];
} gw_system_body;

/* One row of a closure at a configuration: as wrenches on its bodies, and its right sides. */
typedef struct gw_closure_row {
    int a, b;
    double on_a[6], on_b[6];
    double value, rate, bias; /* g, J v, J-dot v */
    double scale;             /* to metres */
} gw_closure_row;

struct gw_system {
    int body_count, closure_count, dof, row_count, rank;
    gw_system_body *bodies;
    gw_closure_def *closures;
    gw_vec3 gravity;
    double length;
    int held;
    gw_pose body_from_held;
    gw_closure_row *rows;
    double *delassus, *factor, *multiplier, *right; /* row_count^2 twice, row_count twice */
    int *order;
    gw_mobilizer_state *home; /* where a step begins */
    gw_stage_rates *rates;    /* GW_SYSTEM_STAGES of each body */
    gw_pose *poses;           /* of bodies, as forces are asked with them */
    gw_twist *twists;
    gw_wrench *on, *joint_wrench, *pushed; /* from outside in all; of joints; gw_system_push() */
    double *generalised; /* forces at the coordinates, besides what acts on the bodies */
    double projected;
    gw_model_ops ops;
    gw_system_state *model;
    gw_mobilizer_state *start;
    uint64_t stamp, last_stamp; /* of what bodies, rows and factors are of; given last */
};

/* ---- spatial vectors ------------------------------------------------------------------------ */

static inline gw_vec3 gw_linear_part(const double x[6])
{
    return gw_v3(x[0], x[1], x[2]);
}

static inline gw_vec3 gw_angular_part(const double x[6])
{
    return gw_v3(x[3], x[4], x[5]);
}

static inline void gw_spatial_set(double x[6], gw_vec3 a, gw_vec3 b)
{
    x[0] = a.x, x[1] = a.y, x[2] = a.z;
    x[3] = b.x, x[4] = b.y, x[5] = b.z;
}

static inline double gw_dot6(const double a[6], const double b[6])
{
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2] + a[3] * b[3] + a[4] * b[4] + a[5] * b[5];
}

/* ---- trees: system_tree.c -------------------------------------------------------------------- */

/* Poses, columns and inertias about the centres of mass, from the joints' positions; then twists,
 * bias accelerations and gyroscopic forces, from their velocities. */
void gw_tree_update_positions(gw_system *system);
void gw_tree_update_velocities(gw_system *system);

/* Articulated inertias of all bodies, and the factors of their joints' inertias. */
void gw_tree_articulate(gw_system *system);

void gw_tree_clear_forces(gw_system *system);

/* Accelerations of all bodies, and of the joints in `rest`, by what is in the bodies' `force` and
 * the joints' `rest`; with the bias accelerations or without. */
void gw_tree_accelerations(gw_system *system, bool biased);

#endif
