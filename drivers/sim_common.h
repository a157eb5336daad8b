/*
 * What the simulated devices share: settings by name, a seeded generator, quanta, turning.
 * No state of its own; RT safe but for gw_driver_resolve_settings().
 */
#ifndef GW_DRIVERS_SIM_COMMON_H
#define GW_DRIVERS_SIM_COMMON_H

#include "drivers/driver.h"

/* The profile's values (`profiles`: NULL-terminated, the first is the ideal one; `values`: one
 * array for each of the others), then those given, into `out`. False with a sentence in `why`
 * where a name is unknown or a value out of range. */
bool gw_driver_resolve_settings(const gw_driver *driver, const double *const *values,
                                const char *profile, const gw_named_value *given, int count,
                                double *out, char *why, size_t why_size);

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
