/*
 * Shared by the simulated devices: the state of a body that motors move and the operations on it; a
 * seeded generator, quantisation, limits, rotation. RT safe, except creating and closing.
 */
#ifndef GW_DRIVERS_SIM_COMMON_H
#define GW_DRIVERS_SIM_COMMON_H

#include "drivers/driver.h"

/* The first member of every simulated device, so that its operations can cast between the two. */
typedef struct gw_simulated {
    gw_device_info info;
    double dt;         /* s, of a tick */
    double p[3], q[4]; /* pose of what the motors move */
    double v[3], w[3]; /* its velocity */
    double f[3], t[3]; /* the operator's wrench */
    unsigned long long seed, random;
} gw_simulated;

/* Allocates a device of `size` bytes, at rest at the origin, the other members zero; NULL with a
 * sentence in `why`. */
gw_driver_device *gw_simulated_create(size_t size, double rate, double seed, char *why,
                                      size_t why_size);

/* Operations for a driver's table. place() restarts the noise generator and sets the operator's
 * wrench to zero. */
void gw_simulated_close(gw_driver_device *device);
const gw_device_info *gw_simulated_info(const gw_driver_device *device);
void gw_simulated_place(gw_driver_device *device, const double p[3], const double q[4]);
void gw_simulated_exert(gw_driver_device *device, const double f[3], const double t[3]);

/* Writes all of a sample but the wrench: the quantised pose and the true velocity. */
void gw_simulated_read_motion(const gw_simulated *device, double quantum, double quantum_angular,
                              gw_device_sample *sample);

/* A number uniform in -1 .. 1; advances the generator's state. */
double gw_sim_noise(unsigned long long *state);

/* x rounded to a multiple of the quantum; 0: exact. */
double gw_sim_quantised(double x, double quantum);

/* x limited to -most .. most; 0: no limit. */
double gw_sim_clamp(double x, double most);

/* Scales a vector of three down to the length `most`, 0: no limit; true when it did. */
bool gw_sim_clamp_length(double *x, double most);

/* q = exp(r) q for a rotation vector r (rad, world axes). */
void gw_sim_rotate(double *q, const double *r);

#endif
