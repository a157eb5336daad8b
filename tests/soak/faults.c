/*
 * A device that fails: the simulated admittance device, which now and then falls silent, tells
 * garbage, is stuck, late, unplugged, runs away or has its stop button pressed, one after the
 * other. Linked into the server that `make soak` runs, and into no other.
 *
 * read() and write() run on the loop's thread; a late one sleeps there, which is what it is for.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "drivers/driver.h"

extern const gw_driver gw_driver_sim_admittance;
extern const gw_driver gw_driver_faults;

enum setting { PERIOD, LASTS, SETTING_COUNT };

static const gw_driver_setting settings[SETTING_COUNT] = {
    [PERIOD] = {"fault_period", "s", "from one fault to the next", 5, 0.1, 3600},
    [LASTS] = {"fault_lasts", "s", "how long each goes on", 0.05, 0.001, 10},
};

typedef enum fault { SILENT, GARBAGE, STUCK, LATE, UNPLUGGED, RUNAWAY, BUTTON, FAULTS } fault;

struct gw_driver_device {
    gw_driver_device *inner;
    double value[SETTING_COUNT];
    double rate;
    long long reads;
    gw_device_info info;
    gw_device_sample last;
};

static gw_driver_device *open_device(const char *profile, const gw_named_value *given, int count,
                                     double rate, char *why, size_t why_size)
{
    double value[SETTING_COUNT];
    if (!gw_driver_resolve_settings(&gw_driver_faults, profile, given, count, value, why, why_size))
        return NULL;
    gw_driver_device *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    memcpy(d->value, value, sizeof value);
    d->rate = rate;
    d->inner = gw_driver_sim_admittance.open("", NULL, 0, rate, why, why_size);
    if (!d->inner) {
        free(d);
        return NULL;
    }
    d->info = *gw_driver_sim_admittance.info(d->inner);
    d->info.speed_max = 5;
    return d;
}

static void close_device(gw_driver_device *d)
{
    if (!d)
        return;
    gw_driver_sim_admittance.close(d->inner);
    free(d);
}

static const gw_device_info *info(const gw_driver_device *d)
{
    return &d->info;
}

static void distort(gw_driver_device *d, fault kind, bool first, gw_device_sample *s)
{
    switch (kind) {
    case SILENT:
    case UNPLUGGED:
        s->valid = false;
        break;
    case GARBAGE:
        s->p[1] = NAN;
        s->f[0] = INFINITY;
        break;
    case STUCK:
        *s = d->last;
        break;
    case LATE:
        if (first)
            nanosleep(&(struct timespec){0, 50000000}, NULL);
        break;
    case RUNAWAY:
        s->v[0] = 10;
        break;
    case BUTTON:
        s->buttons = GW_BUTTON_STOP;
        break;
    case FAULTS:
        break;
    }
}

static void read_device(gw_driver_device *d, gw_device_sample *s)
{
    long long period = (long long)(d->value[PERIOD] * d->rate);
    long long lasts = (long long)(d->value[LASTS] * d->rate), at = d->reads++ % period;
    fault kind = (fault)(d->reads / period % FAULTS);
    gw_driver_sim_admittance.read(d->inner, s);
    if (d->reads > period && at <= lasts * (kind == UNPLUGGED ? 10 : 1))
        distort(d, kind, at == 0, s);
    else
        d->last = *s;
}

static void write_device(gw_driver_device *d, const gw_device_command *command)
{
    gw_driver_sim_admittance.write(d->inner, command);
}

static void place(gw_driver_device *d, const double p[3], const double q[4])
{
    gw_driver_sim_admittance.place(d->inner, p, q);
}

static void exert(gw_driver_device *d, const double f[3], const double t[3])
{
    gw_driver_sim_admittance.exert(d->inner, f, t);
}

static void truth(const gw_driver_device *d, gw_device_truth *out)
{
    gw_driver_sim_admittance.truth(d->inner, out);
}

static const char *const profiles[] = {"ideal", NULL};

const gw_driver gw_driver_faults = {.name = "faults",
                                    .class = GW_DEVICE_ADMITTANCE,
                                    .profiles = profiles,
                                    .settings = settings,
                                    .setting_count = SETTING_COUNT,
                                    .open = open_device,
                                    .close = close_device,
                                    .info = info,
                                    .read = read_device,
                                    .write = write_device,
                                    .place = place,
                                    .exert = exert,
                                    .truth = truth};
