/*
 * Parts that the simulated devices share: a seeded generator, quantisation, limits, rotation. No
 * state of its own; RT safe.
 */
#ifndef GW_DRIVERS_SIM_COMMON_H
#define GW_DRIVERS_SIM_COMMON_H

#include <stdbool.h>

/* Uniform in -1 .. 1; the state moves on. */
double gw_sim_noise(unsigned long long *state);

/* Rounded to whole quanta; 0: exact. */
double gw_sim_quantised(double x, double quantum);

/* Cut at `most` either way; 0: no limit. */
double gw_sim_clamp(double x, double most);

/* Scales a vector of three down to the length `most`, 0: no limit; true when it did. */
bool gw_sim_clamp_length(double *x, double most);

/* q = exp(r) q, of a rotation vector r (rad). */
void gw_sim_rotate(double *q, const double *r);

/* q with its entries rounded to half a quantum, of unit length again. */
void gw_sim_quantised_rotation(const double *q, double quantum, double *out);

#endif
