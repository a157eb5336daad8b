/*
 * Shared by the simulated devices: their state and the operations on it alone; noise, quantisation,
 * limits, rotation.
 */
#include "drivers/sim_common.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- a device ------------------------------------------------------------------------------- */

gw_driver_device *gw_simulated_create(size_t size, double rate, double seed, char *why,
                                      size_t why_size)
{
    gw_simulated *d = calloc(1, size);
    if (!d) {
        snprintf(why, why_size, "no memory for a device");
        return NULL;
    }
    d->dt = 1 / rate;
    d->q[0] = 1;
    d->seed = d->random = (unsigned long long)seed;
    return (gw_driver_device *)d;
}

void gw_simulated_close(gw_driver_device *device)
{
    free(device);
}

const gw_device_info *gw_simulated_info(const gw_driver_device *device)
{
    return &((const gw_simulated *)device)->info;
}

void gw_simulated_place(gw_driver_device *device, const double p[3], const double q[4])
{
    gw_simulated *d = (gw_simulated *)device;
    memcpy(d->p, p, sizeof d->p);
    memcpy(d->q, q, sizeof d->q);
    memset(d->v, 0, sizeof d->v);
    memset(d->w, 0, sizeof d->w);
    memset(d->f, 0, sizeof d->f);
    memset(d->t, 0, sizeof d->t);
    d->random = d->seed;
}

void gw_simulated_exert(gw_driver_device *device, const double f[3], const double t[3])
{
    gw_simulated *d = (gw_simulated *)device;
    memcpy(d->f, f, sizeof d->f);
    memcpy(d->t, t, sizeof d->t);
}

/* q with its entries rounded to multiples of quantum / 2, normalised again. */
static void quantised_rotation(const double *q, double quantum, double *out)
{
    double norm = 0;
    for (int i = 0; i < 4; i++) {
        out[i] = gw_sim_quantised(q[i], 0.5 * quantum);
        norm += out[i] * out[i];
    }
    if (quantum > 0)
        for (int i = 0; i < 4; i++)
            out[i] /= sqrt(norm);
}

void gw_simulated_read_motion(const gw_simulated *d, double quantum, double quantum_angular,
                              gw_device_sample *s)
{
    for (int i = 0; i < 3; i++) {
        s->p[i] = gw_sim_quantised(d->p[i], quantum);
        s->v[i] = d->v[i];
        s->w[i] = d->w[i];
    }
    quantised_rotation(d->q, quantum_angular, s->q);
    s->buttons = 0;
    s->valid = true;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* splitmix64: uniform in -1 .. 1 */
double gw_sim_noise(unsigned long long *state)
{
    unsigned long long z = *state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    return (double)(z >> 11) * 0x1p-52 - 1;
}

double gw_sim_quantised(double x, double quantum)
{
    return quantum > 0 ? quantum * nearbyint(x / quantum) : x;
}

double gw_sim_clamp(double x, double most)
{
    return most > 0 ? fmin(fmax(x, -most), most) : x;
}

bool gw_sim_clamp_length(double *x, double most)
{
    double length = sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2]);
    if (!(most > 0 && length > most))
        return false;
    for (int i = 0; i < 3; i++)
        x[i] *= most / length;
    return true;
}

void gw_sim_rotate(double *q, const double *r)
{
    double a2 = r[0] * r[0] + r[1] * r[1] + r[2] * r[2];
    double a = sqrt(a2);
    double s = a > 1e-4 ? sin(0.5 * a) / a : 0.5 - a2 / 48;
    double c = a > 1e-4 ? cos(0.5 * a) : 1 - a2 / 8;
    double e[4] = {c, s * r[0], s * r[1], s * r[2]};
    double o[4] = {e[0] * q[0] - e[1] * q[1] - e[2] * q[2] - e[3] * q[3],
                   e[0] * q[1] + e[1] * q[0] + e[2] * q[3] - e[3] * q[2],
                   e[0] * q[2] - e[1] * q[3] + e[2] * q[0] + e[3] * q[1],
                   e[0] * q[3] + e[1] * q[2] - e[2] * q[1] + e[3] * q[0]};
    double n = sqrt(o[0] * o[0] + o[1] * o[1] + o[2] * o[2] + o[3] * o[3]);
    for (int i = 0; i < 4; i++)
        q[i] = o[i] / n;
}
