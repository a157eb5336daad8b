/*
 * A chain's local model (mechanisms VII, eq. 21): mass matrix D^ and weight G^ of the configuration
 * q^ at which it was made, kinematics of the present configuration, no Coriolis terms,
 *
 *   D^ q'' + G^ = motors - damping - friction - limits + J_h^T F_h + sum J_i^T F_i
 *
 * gw_chain_local_model_make() runs on another thread, as a rule the world thread, on a copy of the
 * loop's chain. The loop's chain then steps by that model until it gets a newer one. Any thread, RT
 * safe; making a model costs O(n^3).
 *
 * A model conserves its own energy, 1/2 v^T D^ v + V^ + G^ (q - q^). A new model changes that
 * energy at constant q and v; gw_chain_set_local_model() returns by how much.
 */
#ifndef GW_DYNAMICS_CHAIN_LOCAL_MODEL_H
#define GW_DYNAMICS_CHAIN_LOCAL_MODEL_H

#include "rt/dynamics/chain.h"

/* The wrench of the hand for which the reach is computed. */
#define GW_LOCAL_MODEL_FORCE  50.0 /* N */
#define GW_LOCAL_MODEL_TORQUE 5.0  /* N m */

typedef struct gw_chain_local_model {
    int count;
    double potential;             /* V^, of weight (J) */
    double q[GW_MAX_LINKS];       /* q^ */
    double reach[GW_MAX_LINKS];   /* bound of the joints' motion within the horizon (rad, m) */
    double gravity[GW_MAX_LINKS]; /* G^ (N m, N) */
    double factor[GW_MAX_LINKS * (GW_MAX_LINKS + 1) / 2]; /* D^ = L L^T: rows of L, one over its
                                                             diagonal; the rest is not used */
} gw_chain_local_model;

/* The bytes of a model that a chain of so many links uses. */
size_t gw_chain_local_model_bytes(int count);

/* The model of an exact chain at its present state, for use during `horizon` seconds. */
void gw_chain_local_model_make(const gw_chain *at, double horizon, gw_chain_local_model *out);

/* From now on the chain steps by the local model, which outlives its use; NULL: by the exact one.
 * Returns the energy added by the change (J). */
double gw_chain_set_local_model(gw_chain *chain, const gw_chain_local_model *local);

/* The distance of the chain from q^, the largest over the joints as a fraction of their reach:
 * beyond 1 the model is no longer valid. 0 of an exact chain. */
double gw_chain_local_model_strain(const gw_chain *chain);

#endif
