/*
 * The simulated impedance device, planar or six axes: a mass with friction that the hand and the
 * motors push, encoders with a quantum, a delay between command and force, motors with limits.
 * Everything is ideal unless its setting says otherwise; README.md has the equations and the source
 * of each value.
 *
 * read() and write() run on the loop's thread, RT safe.
 */
#include <math.h>
#include <string.h>

#include "drivers/sim_common.h"

#define DELAY_MAX  8
#define WINDOW_MAX 32

enum setting {
    MASS,
    INERTIA,
    VISCOUS,
    VISCOUS_ANGULAR,
    COULOMB,
    COULOMB_ANGULAR,
    PLANAR,
    WORKSPACE_RADIUS,
    QUANTUM,
    QUANTUM_ANGULAR,
    VELOCITY_WINDOW,
    DELAY,
    FORCE_MAX,
    TORQUE_MAX,
    FORCE_SENSOR,
    FORCE_NOISE,
    TORQUE_NOISE,
    SEED,
    SETTING_COUNT
};

static const gw_driver_setting settings[SETTING_COUNT] = {
    [MASS] = {"mass", "kg", "what the hand moves, the same along every axis; profile 1 (ours)", 1,
              1e-3, 1e3},
    [INERTIA] = {"inertia", "kg m^2", "the same for turning, about every axis; profile 0.01 (ours)",
                 1, 1e-6, 1e3},
    [VISCOUS] = {"viscous", "N s/m", "friction that grows with speed; profile 1 (ours)", 0, 0, 1e3},
    [VISCOUS_ANGULAR] = {"viscous_angular", "N m s/rad",
                         "the same for turning; profile 5e-3 (ours)", 0, 0, 1e3},
    [COULOMB] = {"coulomb", "N", "friction that does not, and that sticks; profile 0.02 (ours)", 0,
                 0, 1e3},
    [COULOMB_ANGULAR] = {"coulomb_angular", "N m", "the same for turning; profile 2e-4 (ours)", 0,
                         0, 1e3},
    [PLANAR] = {"planar", "1", "1: moves in x, y and turns about z only; profile 1", 0, 0, 1,
                GW_SETTING_SWITCH},
    [WORKSPACE_RADIUS] = {"workspace_radius", "m",
                          "radius of the reachable ball; 0: unlimited; profile 0.12 (ours)", 0, 0,
                          10},
    [QUANTUM] = {"quantum", "m", "step of the measured position; 0: exact; profile 1e-5 (ours)", 0,
                 0, 0.01},
    [QUANTUM_ANGULAR] = {"quantum_angular", "rad",
                         "step of the measured orientation; 0: exact; profile 1e-4 (ours)", 0, 0,
                         0.1},
    [VELOCITY_WINDOW] = {"velocity_window", "ticks",
                         "over which positions are differenced; 0: the true velocity is told; "
                         "profile 8 (ours)",
                         0, 0, WINDOW_MAX, GW_SETTING_COUNT},
    [DELAY] = {"delay", "ticks", "from a command to its force; profile 1 (ours)", 0, 0, DELAY_MAX,
               GW_SETTING_COUNT},
    [FORCE_MAX] = {"force_max", "N", "of the motors; 0: unlimited; profile 40 (ours)", 0, 0, 1e6},
    [TORQUE_MAX] = {"torque_max", "N m", "of the motors; 0: unlimited; profile 2 (ours)", 0, 0,
                    1e6},
    [FORCE_SENSOR] = {"force_sensor", "1", "1: the operator's wrench is measured; profile 1 (ours)",
                      1, 0, 1, GW_SETTING_SWITCH},
    [FORCE_NOISE] = {"force_noise", "N", "half width of its uniform noise; profile 5e-3 (ours)", 0,
                     0, 10},
    [TORQUE_NOISE] = {"torque_noise", "N m", "half width of its uniform noise; profile 1e-4 (ours)",
                      0, 0, 10},
    [SEED] = {"seed", "1", "of the sensor's noise", 1, 0, 4294967295.0, GW_SETTING_COUNT},
};

/* Similar in size to the interface of the paper's experiments; all values are ours. */
static const double planar_interface[SETTING_COUNT] = {
    [MASS] = 1,
    [INERTIA] = 0.01,
    [VISCOUS] = 1,
    [VISCOUS_ANGULAR] = 5e-3,
    [COULOMB] = 0.02,
    [COULOMB_ANGULAR] = 2e-4,
    [PLANAR] = 1,
    [WORKSPACE_RADIUS] = 0.12,
    [QUANTUM] = 1e-5,
    [QUANTUM_ANGULAR] = 1e-4,
    [VELOCITY_WINDOW] = 8,
    [DELAY] = 1,
    [FORCE_MAX] = 40,
    [TORQUE_MAX] = 2,
    [FORCE_SENSOR] = 1,
    [FORCE_NOISE] = 5e-3,
    [TORQUE_NOISE] = 1e-4,
    [SEED] = 1,
};

static const char *const profiles[] = {"ideal", "planar-haptic-interface", NULL};
static const double *const profile_values[] = {planar_interface};

extern const gw_driver gw_driver_sim_impedance;

/* A wrench: force, then torque. */
typedef struct load {
    double x[6];
} load;

/* A measured pose. */
typedef struct measured_pose {
    double p[3], q[4];
} measured_pose;

struct gw_driver_device {
    gw_simulated sim;
    double value[SETTING_COUNT];
    load commands[DELAY_MAX + 1];           /* newest at `at` */
    measured_pose measured[WINDOW_MAX + 1]; /* newest at `newest` */
    int at, newest, measured_count;
};

static gw_device_info info_of(const double *value, double rate)
{
    return (gw_device_info){.class = GW_DEVICE_IMPEDANCE,
                            .measures_wrench = value[FORCE_SENSOR] >= 0.5,
                            .workspace_radius = value[WORKSPACE_RADIUS],
                            .force_max = value[FORCE_MAX],
                            .torque_max = value[TORQUE_MAX],
                            .quantum = value[QUANTUM],
                            .quantum_angular = value[QUANTUM_ANGULAR],
                            .mass = value[MASS],
                            .inertia = value[INERTIA],
                            .damping = value[VISCOUS],
                            .damping_angular = value[VISCOUS_ANGULAR],
                            .delay = value[DELAY] / rate,
                            .velocity_delay = 0.5 * value[VELOCITY_WINDOW] / rate,
                            .planar = value[PLANAR] >= 0.5};
}

static gw_driver_device *impedance_open(const char *profile, const gw_named_value *given, int count,
                                        double rate, char *why, size_t why_size)
{
    double value[SETTING_COUNT];
    if (!gw_driver_resolve_settings(&gw_driver_sim_impedance, profile, given, count, value, why,
                                    why_size))
        return NULL;
    gw_driver_device *d = gw_simulated_create(sizeof *d, rate, value[SEED], why, why_size);
    if (!d)
        return NULL;
    value[DELAY] = nearbyint(value[DELAY]);
    value[VELOCITY_WINDOW] = nearbyint(value[VELOCITY_WINDOW]);
    memcpy(d->value, value, sizeof value);
    d->sim.info = info_of(value, rate);
    return d;
}

/* ---- sensors -------------------------------------------------------------------------------- */

/* The rotation vector that takes a to b (rad, world axes): log(b a*). */
static void small_rotation_between(const double *a, const double *b, double *r)
{
    double o[4] = {b[0] * a[0] + b[1] * a[1] + b[2] * a[2] + b[3] * a[3],
                   -b[0] * a[1] + b[1] * a[0] - b[2] * a[3] + b[3] * a[2],
                   -b[0] * a[2] + b[1] * a[3] + b[2] * a[0] - b[3] * a[1],
                   -b[0] * a[3] - b[1] * a[2] + b[2] * a[1] + b[3] * a[0]};
    double s = sqrt(o[1] * o[1] + o[2] * o[2] + o[3] * o[3]);
    double k = s > 1e-9 ? 2 * atan2(s, fabs(o[0])) / s : 2;
    for (int i = 0; i < 3; i++)
        r[i] = (o[0] < 0 ? -k : k) * o[1 + i];
}

/* Velocity as the difference of measured poses over the window. */
static void estimate_velocity(gw_driver_device *d, gw_device_sample *s)
{
    int window = (int)d->value[VELOCITY_WINDOW];
    int back = window < d->measured_count ? window : d->measured_count;
    const measured_pose *before =
        &d->measured[(d->newest - back + WINDOW_MAX + 1) % (WINDOW_MAX + 1)];
    double r[3], span = back > 0 ? back * d->sim.dt : 1;
    small_rotation_between(before->q, s->q, r);
    for (int i = 0; i < 3; i++) {
        s->v[i] = (s->p[i] - before->p[i]) / span;
        s->w[i] = r[i] / span;
    }
}

static void keep_sample(gw_driver_device *d, const gw_device_sample *s)
{
    measured_pose *here = &d->measured[d->newest];
    memcpy(here->p, s->p, sizeof here->p);
    memcpy(here->q, s->q, sizeof here->q);
}

static double noisy_reading(gw_driver_device *d, double x, double spread)
{
    if (d->value[FORCE_SENSOR] < 0.5)
        return 0;
    return spread > 0 ? x + spread * gw_sim_noise(&d->sim.random) : x;
}

static void impedance_read(gw_driver_device *d, gw_device_sample *s)
{
    const double *value = d->value;
    gw_simulated_read_motion(&d->sim, value[QUANTUM], value[QUANTUM_ANGULAR], s);
    for (int i = 0; i < 3; i++) {
        s->f[i] = noisy_reading(d, d->sim.f[i], value[FORCE_NOISE]);
        s->t[i] = noisy_reading(d, d->sim.t[i], value[TORQUE_NOISE]);
    }
    keep_sample(d, s);
    if (value[VELOCITY_WINDOW] > 0)
        estimate_velocity(d, s);
}

/* ---- motion --------------------------------------------------------------------------------- */

/* The response of  m v' = f - c v  to a constant force within h, per unit of f:
 * v(h) = keep v + gain f, x(h) - x = reach v + lift f. */
typedef struct response {
    double keep, gain, reach, lift;
} response;

static response response_of(double m, double c, double h)
{
    double z = c * h / m;
    if (z < 1e-4) /* series: the quotients below would lose digits */
        return (response){1 - z + z * z / 2, h / m * (1 - z / 2), h * (1 - z / 2),
                          h * h / m * (0.5 - z / 6)};
    double e = exp(-z);
    return (response){e, (1 - e) / c, (1 - e) * m / c, (h - (1 - e) * m / c) / c};
}

/*
 * Three axes of  m v' = f - c v - friction  over a tick with f held: exact. Coulomb friction is
 * taken as constant over the tick, opposite to the velocity at its end without friction; where it
 * can bring this velocity to zero, the mass sticks.
 */
static void step_axes(const response *r, double coulomb, const double *f, double *v, double *step)
{
    double end[3], speed = 0;
    for (int i = 0; i < 3; i++) {
        end[i] = r->keep * v[i] + r->gain * f[i];
        speed += end[i] * end[i];
    }
    speed = sqrt(speed);
    bool stops = coulomb > 0 && speed <= coulomb * r->gain;
    double drag = coulomb > 0 && !stops ? coulomb / speed : 0;
    for (int i = 0; i < 3; i++) {
        double all = stops ? -r->keep * v[i] / r->gain : f[i] - drag * end[i];
        step[i] = r->reach * v[i] + r->lift * all;
        v[i] = stops ? 0 : r->keep * v[i] + r->gain * all;
    }
}

/* At the edge of the workspace the outward component of the velocity is set to zero. */
static void stop_at_edge(gw_simulated *d, double radius)
{
    double out = 0, r2 = 0;
    if (!gw_sim_clamp_length(d->p, radius))
        return;
    for (int i = 0; i < 3; i++) {
        out += d->p[i] * d->v[i];
        r2 += d->p[i] * d->p[i];
    }
    if (out > 0)
        for (int i = 0; i < 3; i++)
            d->v[i] -= out / r2 * d->p[i];
}

/* The motors' present wrench: the command of `delay` ticks ago, within the motors' limits. */
static load motor_wrench(gw_driver_device *d, const gw_device_command *command)
{
    load now = {{0}};
    if (command->engaged) {
        memcpy(now.x, command->f, sizeof command->f);
        memcpy(now.x + 3, command->t, sizeof command->t);
    }
    d->at = (d->at + 1) % (DELAY_MAX + 1);
    d->commands[d->at] = now;
    load acts = d->commands[(d->at - (int)d->value[DELAY] + DELAY_MAX + 1) % (DELAY_MAX + 1)];
    if (!command->engaged) /* the motors are off at once */
        acts = (load){{0}};
    gw_sim_clamp_length(acts.x, d->value[FORCE_MAX]);
    gw_sim_clamp_length(acts.x + 3, d->value[TORQUE_MAX]);
    return acts;
}

static void impedance_write(gw_driver_device *device, const gw_device_command *command)
{
    gw_simulated *d = &device->sim;
    const double *value = device->value;
    load all = motor_wrench(device, command);
    double step[3], turn[3];
    for (int i = 0; i < 3; i++) {
        all.x[i] += d->f[i];
        all.x[3 + i] += d->t[i];
    }
    if (d->info.planar)
        all.x[2] = all.x[3] = all.x[4] = 0;
    response slide = response_of(value[MASS], value[VISCOUS], d->dt);
    response spin = response_of(value[INERTIA], value[VISCOUS_ANGULAR], d->dt);
    step_axes(&slide, value[COULOMB], all.x, d->v, step);
    step_axes(&spin, value[COULOMB_ANGULAR], all.x + 3, d->w, turn);
    for (int i = 0; i < 3; i++)
        d->p[i] += step[i];
    gw_sim_rotate(d->q, turn);
    stop_at_edge(d, value[WORKSPACE_RADIUS]);
    device->newest = (device->newest + 1) % (WINDOW_MAX + 1);
    device->measured_count += device->measured_count < WINDOW_MAX;
}

static void impedance_place(gw_driver_device *d, const double p[3], const double q[4])
{
    gw_simulated_place(d, p, q);
    memset(d->commands, 0, sizeof d->commands);
    d->at = d->newest = d->measured_count = 0;
}

static void impedance_truth(const gw_driver_device *d, gw_device_truth *truth)
{
    memcpy(truth->p, d->sim.p, sizeof truth->p);
    memcpy(truth->q, d->sim.q, sizeof truth->q);
}

const gw_driver gw_driver_sim_impedance = {
    .name = "sim-impedance",
    .class = GW_DEVICE_IMPEDANCE,
    .profiles = profiles,
    .profile_values = profile_values,
    .settings = settings,
    .setting_count = SETTING_COUNT,
    .open = impedance_open,
    .close = gw_simulated_close,
    .info = gw_simulated_info,
    .read = impedance_read,
    .write = impedance_write,
    .place = impedance_place,
    .exert = gw_simulated_exert,
    .truth = impedance_truth,
};
