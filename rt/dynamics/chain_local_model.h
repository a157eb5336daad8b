/*
 * A chain's local model (mechanisms VII, eq. 21): inertia and weight of where the chain was looked
 * at, kinematics of where it is, no Coriolis terms,
 *
 *   D^ q'' + G^ = motors - damping - friction - limits + J_h^T F_h + sum J_i^T F_i
 *
 * gw_chain_local_model_make() runs wherever there is time, the world thread as a rule, on a chain
 * of its own put where the loop's was; the loop's chain then runs on what it made
 * (gw_chain_set_local_model()) until there is a newer one. Any thread, RT safe; a look costs
 * O(n^3).
 *
 * Between two looks the model keeps energy by its own measure, 1/2 v^T D^ v + V^ + G^ (q - q^). A
 * new look changes that measure at constant q and v: gw_chain_set_local_model() tells by how much.
 */
#ifndef GW_DYNAMICS_CHAIN_LOCAL_MODEL_H
#define GW_DYNAMICS_CHAIN_LOCAL_MODEL_H

#include "rt/dynamics/chain.h"

/* The hand that a look reckons with: no joint goes farther than it can be pushed by that much. */
#define GW_LOCAL_MODEL_FORCE  50.0 /* N */
#define GW_LOCAL_MODEL_TORQUE 5.0  /* N m */

typedef struct gw_chain_local_model {
    int count;
    double potential;             /* of weight, at the look (J) */
    double q[GW_MAX_LINKS];       /* of the look */
    double reach[GW_MAX_LINKS];   /* how far the joints come within the horizon (rad, m) */
    double gravity[GW_MAX_LINKS]; /* G^ (N m, N) */
    double factor[GW_MAX_LINKS * (GW_MAX_LINKS + 1) / 2]; /* D^ = L L^T: rows of L, one over its
                                                             diagonal; the rest is not used */
} gw_chain_local_model;

/* Bytes of it that a chain of so many links uses. */
size_t gw_chain_local_model_bytes(int count);

/* Of an exact chain, as it is now, to serve for `horizon` seconds: two periods of the world. */
void gw_chain_local_model_make(const gw_chain *at, double horizon, gw_chain_local_model *out);

/* The chain goes on from where it is by a local model, which outlives it or its next one; NULL:
 * exactly. Energy that this brought (J). */
double gw_chain_set_local_model(gw_chain *chain, const gw_chain_local_model *local);

/* How far a local chain is from its look, as a part of the farthest reach: beyond 1 the model is no
 * longer good. 0 of an exact chain. */
double gw_chain_local_model_strain(const gw_chain *chain);

#endif
