/*
 * Parts that the simulated devices share: the state of a body that motors move and the operations
 * that only need it; a seeded generator, quantisation, limits, rotation. RT safe but for creating
 * and closing.
 */
#ifndef GW_DRIVERS_SIM_COMMON_H
#define GW_DRIVERS_SIM_COMMON_H

#include "drivers/driver.h"

/* The first member of a simulated device: its operations take the one for the other. */
typedef struct gw_simulated {
    gw_device_info info;
    double dt;         /* s, of a tick */
    double p[3], q[4]; /* pose of what the motors move */
    double v[3], w[3]; /* its velocity */
    double f[3], t[3]; /* the operator's wrench */
    unsigned long long seed, random;
} gw_simulated;

/* A device of `size` bytes at rest in the middle, the rest zero; NULL with a sentence. */
gw_driver_device *gw_simulated_create(size_t size, double rate, double seed, char *why,
                                      size_t why_size);

/* Operations of a driver's table. place() begins the noise anew, and nobody pushes any more. */
void gw_simulated_close(gw_driver_device *device);
const gw_device_info *gw_simulated_info(const gw_driver_device *device);
void gw_simulated_place(gw_driver_device *device, const double p[3], const double q[4]);
void gw_simulated_exert(gw_driver_device *device, const double f[3], const double t[3]);

/* All of a sample but the wrench: the pose by encoders with a quantum, the true velocity. */
void gw_simulated_read_motion(const gw_simulated *device, double quantum, double quantum_angular,
                              gw_device_sample *sample);

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

#endif
