/*
 * The simulated admittance device, six axes: a velocity servo, a compliant structure, a drive that
 * creeps under load, encoders and a force sensor with a quantum. Everything is ideal unless its
 * setting says otherwise; README.md has the equations and the source of each value.
 *
 * read() and write() run on the loop's thread, RT safe.
 */
#include <math.h>
#include <string.h>

#include "drivers/sim_common.h"

enum setting {
    WORKSPACE_RADIUS,
    BANDWIDTH,
    STIFFNESS,
    STIFFNESS_ANGULAR,
    CREEP,
    CREEP_ANGULAR,
    QUANTUM,
    QUANTUM_ANGULAR,
    FORCE_QUANTUM,
    TORQUE_QUANTUM,
    FORCE_NOISE,
    TORQUE_NOISE,
    FORCE_MAX,
    TORQUE_MAX,
    SPEED_MAX,
    SPIN_MAX,
    SEED,
    SETTING_COUNT
};

static const gw_driver_setting settings[SETTING_COUNT] = {
    [WORKSPACE_RADIUS] =
        {"workspace_radius", "m",
         "radius of the reachable ball; 0: unlimited; profile 0.08 (framework VI-A)", 0, 0, 10},
    [BANDWIDTH] = {"bandwidth", "Hz",
                   "of the velocity servo, first order; 0: exact; profile 40 (ours)", 0, 0, 4000},
    [STIFFNESS] = {"stiffness", "N/m",
                   "of structure and transmission; 0: rigid; profile 400e3 (ours)", 0, 0, 1e9},
    [STIFFNESS_ANGULAR] = {"stiffness_angular", "N m/rad",
                           "the same for turning; 0: rigid; profile 1e3 (ours)", 0, 0, 1e9},
    [CREEP] = {"creep", "m/s/N",
               "speed at which a load drives the transmission back; profile 7e-5 (ours)", 0, 0, 1},
    [CREEP_ANGULAR] = {"creep_angular", "rad/s/(N m)", "the same for turning; profile 0.08 (ours)",
                       0, 0, 100},
    [QUANTUM] = {"quantum", "m", "step of the measured position; 0: exact; profile 1e-6 (ours)", 0,
                 0, 0.01},
    [QUANTUM_ANGULAR] = {"quantum_angular", "rad",
                         "step of the measured orientation; 0: exact; profile 1e-5 (ours)", 0, 0,
                         0.1},
    [FORCE_QUANTUM] = {"force_quantum", "N",
                       "step of the force sensor; 0: exact; profile 0.01 (ours)", 0, 0, 10},
    [TORQUE_QUANTUM] = {"torque_quantum", "N m",
                        "step of the torque sensor; 0: exact; profile 5e-4 (ours)", 0, 0, 10},
    [FORCE_NOISE] = {"force_noise", "N",
                     "half width of the force sensor's uniform noise; profile 0.01 (ours)", 0, 0,
                     10},
    [TORQUE_NOISE] = {"torque_noise", "N m",
                      "half width of the torque sensor's uniform noise; profile 5e-4 (ours)", 0, 0,
                      10},
    [FORCE_MAX] = {"force_max", "N",
                   "largest force that the sensor reads; 0: unlimited; profile 50 (ours)", 0, 0,
                   1e6},
    [TORQUE_MAX] = {"torque_max", "N m",
                    "largest torque that the sensor reads; 0: unlimited; profile 5 (ours)", 0, 0,
                    1e6},
    [SPEED_MAX] = {"speed_max", "m/s", "largest speed of the servo; 0: unlimited; profile 1 (ours)",
                   0, 0, 1e3},
    [SPIN_MAX] = {"spin_max", "rad/s",
                  "largest angular speed of the servo; 0: unlimited; profile 10 (ours)", 0, 0, 1e4},
    [SEED] = {"seed", "1", "of the sensors' noise", 1, 0, 4294967295.0, GW_SETTING_COUNT},
};

/* The Cobotic Hand Controller; README.md says which values are published and which are ours. */
static const double cobotic[SETTING_COUNT] = {
    [WORKSPACE_RADIUS] = 0.08,
    [BANDWIDTH] = 40,
    [STIFFNESS] = 400e3,
    [STIFFNESS_ANGULAR] = 1e3,
    [CREEP] = 7e-5,
    [CREEP_ANGULAR] = 0.08,
    [QUANTUM] = 1e-6,
    [QUANTUM_ANGULAR] = 1e-5,
    [FORCE_QUANTUM] = 0.01,
    [TORQUE_QUANTUM] = 5e-4,
    [FORCE_NOISE] = 0.01,
    [TORQUE_NOISE] = 5e-4,
    [FORCE_MAX] = 50,
    [TORQUE_MAX] = 5,
    [SPEED_MAX] = 1,
    [SPIN_MAX] = 10,
    [SEED] = 1,
};

static const char *const profiles[] = {"ideal", "cobotic-hand-controller", NULL};
static const double *const profile_values[] = {cobotic};

extern const gw_driver gw_driver_sim_admittance;

struct gw_driver_device {
    gw_simulated sim; /* pose and velocity are those of the actuators */
    double value[SETTING_COUNT];
    double keep;      /* exp(-dt/tau): the fraction of a velocity error left after a tick */
    double slip_time; /* tau (1 - keep) */
};

static gw_device_info info_of(const double *value)
{
    return (gw_device_info){.class = GW_DEVICE_ADMITTANCE,
                            .measures_wrench = true,
                            .workspace_radius = value[WORKSPACE_RADIUS],
                            .force_max = value[FORCE_MAX],
                            .torque_max = value[TORQUE_MAX],
                            .speed_max = value[SPEED_MAX],
                            .spin_max = value[SPIN_MAX],
                            .quantum = value[QUANTUM],
                            .quantum_angular = value[QUANTUM_ANGULAR],
                            .stiffness = value[STIFFNESS],
                            .stiffness_angular = value[STIFFNESS_ANGULAR],
                            .bandwidth = value[BANDWIDTH]};
}

static gw_driver_device *sim_open(const char *profile, const gw_named_value *given, int count,
                                  double rate, char *why, size_t why_size)
{
    double value[SETTING_COUNT];
    if (!gw_driver_resolve_settings(&gw_driver_sim_admittance, profile, given, count, value, why,
                                    why_size))
        return NULL;
    gw_driver_device *d = gw_simulated_create(sizeof *d, rate, value[SEED], why, why_size);
    if (!d)
        return NULL;
    memcpy(d->value, value, sizeof value);
    d->sim.info = info_of(value);
    if (value[BANDWIDTH] > 0) {
        double tau = 1 / (6.283185307179586 * value[BANDWIDTH]);
        d->keep = exp(-d->sim.dt / tau);
        d->slip_time = tau * (1 - d->keep);
    }
    return d;
}

/* ---- sensors -------------------------------------------------------------------------------- */

static double quantised_reading(gw_driver_device *d, double x, double spread, double quantum,
                                double most)
{
    if (spread > 0)
        x += spread * gw_sim_noise(&d->sim.random);
    return gw_sim_clamp(gw_sim_quantised(x, quantum), most);
}

static void sim_read(gw_driver_device *d, gw_device_sample *s)
{
    const double *value = d->value, *f = d->sim.f, *t = d->sim.t;
    gw_simulated_read_motion(&d->sim, value[QUANTUM], value[QUANTUM_ANGULAR], s);
    for (int i = 0; i < 3; i++) {
        s->f[i] =
            quantised_reading(d, f[i], value[FORCE_NOISE], value[FORCE_QUANTUM], value[FORCE_MAX]);
        s->t[i] = quantised_reading(d, t[i], value[TORQUE_NOISE], value[TORQUE_QUANTUM],
                                    value[TORQUE_MAX]);
    }
}

/* ---- motion --------------------------------------------------------------------------------- */

/*
 * One tick of  tau v' = u - v,  x' = v + creep load, with u held: exact.
 * A disengaged device stops at once and is held by its brake, which does not creep.
 */
static void sim_write(gw_driver_device *device, const gw_device_command *command)
{
    gw_simulated *d = &device->sim;
    const double *value = device->value;
    double u[3] = {0}, uw[3] = {0}, move[3], step[3];
    if (command->engaged) {
        memcpy(u, command->v, sizeof u);
        memcpy(uw, command->w, sizeof uw);
    }
    gw_sim_clamp_length(u, value[SPEED_MAX]);
    gw_sim_clamp_length(uw, value[SPIN_MAX]);
    double creep = command->engaged ? value[CREEP] * d->dt : 0;
    double creep_angular = command->engaged ? value[CREEP_ANGULAR] * d->dt : 0;
    double keep = command->engaged ? device->keep : 0;
    double slip_time = command->engaged ? device->slip_time : 0;
    for (int i = 0; i < 3; i++) {
        move[i] = u[i] * d->dt + (d->v[i] - u[i]) * slip_time + creep * d->f[i];
        step[i] = uw[i] * d->dt + (d->w[i] - uw[i]) * slip_time + creep_angular * d->t[i];
        d->v[i] = u[i] + (d->v[i] - u[i]) * keep;
        d->w[i] = uw[i] + (d->w[i] - uw[i]) * keep;
        d->p[i] += move[i];
    }
    gw_sim_rotate(d->q, step);
    gw_sim_clamp_length(d->p, value[WORKSPACE_RADIUS]);
}

/* The pose of the tip: actuators plus the structure's deflection, load over stiffness. */
static void sim_truth(const gw_driver_device *device, gw_device_truth *truth)
{
    const gw_simulated *d = &device->sim;
    double k = device->value[STIFFNESS], ka = device->value[STIFFNESS_ANGULAR], bend[3];
    for (int i = 0; i < 3; i++) {
        truth->p[i] = d->p[i] + (k > 0 ? d->f[i] / k : 0);
        bend[i] = ka > 0 ? d->t[i] / ka : 0;
    }
    memcpy(truth->q, d->q, sizeof truth->q);
    gw_sim_rotate(truth->q, bend);
}

const gw_driver gw_driver_sim_admittance = {
    .name = "sim",
    .class = GW_DEVICE_ADMITTANCE,
    .profiles = profiles,
    .profile_values = profile_values,
    .settings = settings,
    .setting_count = SETTING_COUNT,
    .open = sim_open,
    .close = gw_simulated_close,
    .info = gw_simulated_info,
    .read = sim_read,
    .write = sim_write,
    .place = gw_simulated_place,
    .exert = gw_simulated_exert,
    .truth = sim_truth,
};
