/*
 * Parts that the simulated devices share: noise, quantisation, limits, rotation. Any thread, RT
 * safe.
 */
#include "drivers/sim_common.h"

#include <math.h>

/* splitmix64 */
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

void gw_sim_quantised_rotation(const double *q, double quantum, double *out)
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
