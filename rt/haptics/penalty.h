/*
 * Penalties along resisted directions (mechanisms eq. 17): a spring and a damper between the device
 * and the model, along directions that change with the configuration.
 *
 * In scaled coordinates e_s = (e_p / L, e_r), with weights w_i of the directions n_i:
 *
 *   wrench = S (k X^T s + b X^T X e_s'),   X^T X = W (W M_s^-1 W + (I - P)/m)^-1 W,
 *   P = sum w_i n_i n_i^T,  W = sum sqrt(w_i) n_i n_i^T,  M_s the device's inertia so scaled
 *
 * so that the device is accelerated by k and b along n, whatever its inertia. The stretch s is a
 * state, s' = X e_s', so that the spring's energy 1/2 k |s|^2 changes by the wrench's work alone,
 * however X changes. A difference of s from X e_s is reduced with energy that the damper dissipated
 * before. README.md says more. On the loop's thread, RT safe.
 */
#ifndef GW_HAPTICS_PENALTY_H
#define GW_HAPTICS_PENALTY_H

#include "rt/haptics/operational_space.h"

/* Changing weights change the wrench by this much at most (N/s; torques: times L). */
#define GW_PENALTY_SLEW 150.0

typedef struct gw_penalty_def {
    double stiffness, damping; /* k (1/s^2), b (1/s) */
    double mass, inertia;      /* of the device, as far as it is known (kg, kg m^2) */
    bool by_mass;              /* wrench M_d n as in the paper */
    bool at_once;              /* weights act as they are: no state, no slew; the paper's */
} gw_penalty_def;

typedef struct gw_penalty {
    double factor[6][6]; /* X (kg^(1/2) m and the like: its square times 1/s^2 is N m) */
    double stretch[6];   /* s */
    double error[6];     /* e_s of the last tick */
    double tank;         /* what the damper took and weights may spend (J) */
    double stored;       /* by the spring now (J) */
    bool started;
    bool eased; /* starts without stretch, with a tank that pays for it: after a switch */
} gw_penalty;

/* The wrench on the device for the pose error `error` (model less device) and its rate. *weights:
 * energy that changes of weights put into the spring in this tick (J). */
gw_wrench gw_penalty_tick(gw_penalty *p, const gw_penalty_def *def,
                          const gw_resisted_directions *directions, const gw_twist *error,
                          const gw_twist *rate, double dt, double *weights);

/* Energy of spring and tank after the model moves by `displacement` against the device in dt (J).
 */
double gw_penalty_predicted_energy(const gw_penalty *p, const gw_penalty_def *def, double length,
                                   const gw_twist *displacement, double dt);

/* Takes up to `energy` (J) from the tank and from the spring, whose stretch and wrench decrease.
 * Returns the energy taken; 0 with weights that act at once. */
double gw_penalty_release_energy(gw_penalty *p, const gw_penalty_def *def, double length,
                                 double energy, gw_wrench *wrench);

#endif
