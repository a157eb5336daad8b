/*
 * Clusters: several bodies of a constraint graph with cycles, moved together until the constraints
 * between pairs of them are satisfied (framework III-B). Numeric, from given poses, so that bodies
 * remain on their present branch.
 *
 * Values in the caller's memory; any thread, RT safe.
 */
#ifndef GW_POSITIONING_CLUSTER_H
#define GW_POSITIONING_CLUSTER_H

#include "rt/positioning/solve.h"

#define GW_EDGE_ROWS 5

/* An edge of the constraint graph: a constraint between bodies a and b. `stated` has the mobile
 * element in a's frame and the fixed one in b's, so its rows hold for the pose b_from_a. */
typedef struct gw_constraint_edge {
    int a, b; /* indices of bodies, as numbered by the caller */
    gw_constraint stated;
    int row_count;
    gw_row rows[GW_EDGE_ROWS]; /* independent, for the sense that the bodies have */
} gw_constraint_edge;

/* Fills in the rows of `stated`; a sense that is open becomes the one of these poses. */
void gw_constraint_edge_resolve(gw_constraint_edge *edge, const gw_pose *world_from_a,
                                const gw_pose *world_from_b);

/* The edge as a constraint on body `mobile`, one of its ends, with the other one fixed at `pose`.
 */
gw_constraint gw_constraint_of_edge(const gw_constraint_edge *edge, int mobile,
                                    const gw_pose *pose);

/* Bodies that move together. */
typedef struct gw_cluster {
    int count;
    int bodies[GW_MAX_CLUSTER];
    double size; /* m: scales turns and tolerances */
    int link_count;
    const gw_constraint_edge *const *links; /* every edge of one of these bodies */
} gw_cluster;

/* Characteristic length of a cluster (m): the largest of its elements' distances from their frames,
 * the values of its distance constraints, and a tenth of the distances between its bodies. */
double gw_cluster_size(const gw_cluster *cluster, const gw_pose *poses);

/* Scratch of a cluster's size; not on a small stack. */
typedef struct gw_cluster_work {
    double n[6 * GW_MAX_CLUSTER][6 * GW_MAX_CLUSTER], g[6 * GW_MAX_CLUSTER], sum;
    gw_pose before[GW_MAX_CLUSTER];
} gw_cluster_work;

/* Moves the cluster's bodies, and no others of `poses` (indexed by body), by least-norm steps until
 * its edges are satisfied; at most `iterations` steps. Returns the largest residual over the
 * size. */
double gw_cluster_project(const gw_cluster *cluster, int iterations, gw_pose *poses,
                          gw_cluster_work *work);

/* Start number `k` of a search: the poses that the cluster's bodies have in `now` (in its order),
 * then random ones farther and farther away from them. */
void gw_cluster_scatter(const gw_cluster *cluster, const gw_pose *now, int k,
                        unsigned long long *random, gw_pose *poses);

/* Freedoms of the cluster with all other bodies at rest: 6 count - rank. */
int gw_cluster_dof(const gw_cluster *cluster, const gw_pose *poses, gw_cluster_work *work);

/* The Jacobian of a body's motion by the generalised velocities of the mechanism that moves it: one
 * twist a column, of the body's origin in world axes. */
typedef double gw_body_jacobian[GW_MAX_MOTION][6];

/* Fills in the Jacobians of the cluster's bodies from those of the others, so that the edges remain
 * satisfied; returns the largest residual rate of a row relative to the prescribed rate, 0 .. 1:
 * well above 0, these bodies cannot follow. */
double gw_cluster_jacobian(const gw_cluster *cluster, const gw_pose *poses, int columns,
                           gw_body_jacobian *motions, gw_cluster_work *work);

#endif
