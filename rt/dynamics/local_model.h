/*
 * The local model of a system (mechanisms VII, eq. 21): mass matrix D^ and weight G^ of the
 * configuration q^ at which it was made, kinematics of the present configuration, no Coriolis
 * terms,
 *
 *   D^ q'' + G^ = motors - damping - friction + J_h^T F_h + sum J_i^T F_i
 *
 * It applies to trees of at most GW_MAX_LOCAL_LINKS joints of one coordinate each, without
 * closures, springs between bodies and damping of bodies, on grounds that do not move.
 *
 * gw_local_model_make() runs on the world thread (or another one), on a copy of the system. The
 * loop's system then steps by that model until it gets a newer one. Making a model costs O(n^3). RT
 * safe.
 *
 * A model conserves its own energy, 1/2 v^T D^ v + V^ + G^ (q - q^). A new model changes that
 * energy at constant q and v; gw_system_set_local_model() returns the change.
 */
#ifndef GW_DYNAMICS_LOCAL_MODEL_H
#define GW_DYNAMICS_LOCAL_MODEL_H

#include "rt/dynamics/system.h"

/* The wrench of the hand for which the reach is computed. */
#define GW_LOCAL_MODEL_FORCE  50.0 /* N */
#define GW_LOCAL_MODEL_TORQUE 5.0  /* N m */

typedef struct gw_local_model {
    int count;                        /* joints */
    double potential;                 /* V^, of weight (J) */
    double q[GW_MAX_LOCAL_LINKS];     /* q^ */
    double reach[GW_MAX_LOCAL_LINKS]; /* bound of the joints' motion within the horizon (rad, m) */
    double gravity[GW_MAX_LOCAL_LINKS]; /* G^ (N m, N) */
    double factor[GW_MAX_LOCAL_LINKS * (GW_MAX_LOCAL_LINKS + 1) /
                  2]; /* D^ = L L^T: rows of L, with the reciprocal diagonal */
} gw_local_model;

/* Size (bytes) of the used part of a model for `count` joints. */
size_t gw_local_model_bytes(int count);

/* True if a system of that definition can step by local models. */
bool gw_system_takes_local_model(const gw_system_def *def);

/* True where joint springs or dampers may be too stiff for the explicit step of a local model, or a
 * ground moves: the system then has to use its exact model. */
bool gw_system_too_stiff_for_local_model(gw_system *system);

/* The model of an exact system at its present state, for use during `horizon` seconds. */
void gw_local_model_make(gw_system *system, double horizon, gw_local_model *out);

/* The system uses D and G of `local`, which must outlive its use; NULL: those of its own
 * configuration. Returns the change of energy (J). */
double gw_system_set_local_model(gw_system *system, const gw_local_model *local);

/* The local model in use; NULL: none. */
const gw_local_model *gw_system_local_model(const gw_system *system);

/* The largest distance of a joint from q^ relative to its reach: up to 1 the model is valid. 0
 * without a model. */
double gw_system_local_model_validity(gw_system *system);

#endif
