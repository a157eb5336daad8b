/*
 * The simulated devices' common parts. Any thread.
 */
#include "drivers/sim_common.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static int find_setting(const gw_driver *driver, const char *name)
{
    for (int i = 0; i < driver->setting_count; i++)
        if (strcmp(driver->settings[i].name, name) == 0)
            return i;
    return -1;
}

/* "a, b and c" */
static void list_profiles(const gw_driver *driver, char *text, size_t size)
{
    size_t used = 0;
    for (int i = 0; driver->profiles[i] && used < size; i++) {
        const char *before = i == 0 ? "" : driver->profiles[i + 1] ? ", " : " and ";
        used += (size_t)snprintf(text + used, size - used, "%s%s", before, driver->profiles[i]);
    }
}

static bool take_profile(const gw_driver *driver, const double *const *values, const char *profile,
                         double *out, char *why, size_t why_size)
{
    char known[128] = "";
    for (int i = 0; i < driver->setting_count; i++)
        out[i] = driver->settings[i].ideal;
    if (!profile || !profile[0] || strcmp(profile, driver->profiles[0]) == 0)
        return true;
    for (int i = 1; driver->profiles[i]; i++) {
        if (strcmp(profile, driver->profiles[i]) == 0) {
            memcpy(out, values[i - 1], (size_t)driver->setting_count * sizeof *out);
            return true;
        }
    }
    list_profiles(driver, known, sizeof known);
    snprintf(why, why_size, "the device %s has no profile named %s; it has %s", driver->name,
             profile, known);
    return false;
}

bool gw_driver_resolve_settings(const gw_driver *driver, const double *const *values,
                                const char *profile, const gw_named_value *given, int count,
                                double *out, char *why, size_t why_size)
{
    if (!take_profile(driver, values, profile, out, why, why_size))
        return false;
    for (int i = 0; i < count; i++) {
        int at = find_setting(driver, given[i].name);
        if (at < 0) {
            snprintf(why, why_size, "the device %s has no setting named %s", driver->name,
                     given[i].name);
            return false;
        }
        const gw_driver_setting *s = &driver->settings[at];
        if (!(given[i].value >= s->low && given[i].value <= s->high)) {
            snprintf(why, why_size, "%s is %g; it must lie from %g to %g %s", s->name,
                     given[i].value, s->low, s->high, s->unit);
            return false;
        }
        out[at] = given[i].value;
    }
    return true;
}

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
