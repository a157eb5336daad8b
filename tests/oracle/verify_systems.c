/*
 * verify_systems SECONDS [FIRST_SEED [SYSTEMS [SPAN]]]: random systems of bodies, each for SPAN
 * simulated seconds at 1 kHz, until SECONDS have passed or SYSTEMS were made. Prints the systems in
 * which a step failed, the state jumped, loops opened, or the energy audit did not close: within
 * 1e-6 of the run's largest kinetic energy, or else reported as `energy_error`. Exit code 1 where a
 * step failed, anything jumped, loops are open by 1e-5 m, or the audit did not close without a
 * report.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "tests/random_system.h"

#define DT         1e-3
#define CLOSES     1e-6  /* of the largest kinetic energy */
#define OPEN       1e-11 /* m: loops that are open by more are printed */
#define FAILS_OPEN 1e-5  /* m: loops that are open by more count as a failure */
#define JUMPS      1e-6  /* of the largest kinetic energy: largest unreported rise of the total */
#define KINDS      4

static const char *const kind_names[KINDS] = {"smooth", "stiff", "bounded", "stiff and bounded"};

typedef struct verdict {
    int steps, failed, reports;
    double largest, energy_error, silent, risen, residual;
} verdict;

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static verdict run(gw_system *s, double span)
{
    verdict v = {.largest = 1e-9};
    double kinetic, potential, dissipated = 0, start, gained = 0;
    gw_model *model = gw_system_model(s);
    gw_model_energy(model, &kinetic, &potential);
    start = kinetic + potential;
    for (v.steps = 0; v.steps < (int)lround(span / DT); v.steps++) {
        gw_step step;
        gw_model_step(model, NULL, DT, &step);
        if (!step.finite) {
            v.failed = 1;
            return v;
        }
        gw_model_energy(model, &kinetic, &potential);
        dissipated += step.dissipated;
        gained += step.motors;
        v.energy_error += step.energy_error;
        v.reports += step.energy_error > 0;
        v.largest = fmax(v.largest, kinetic);
        v.silent = fmax(v.silent, fabs(kinetic + potential + dissipated - gained - start));
        v.risen = fmax(v.risen, kinetic + potential - gained - start - v.energy_error);
        v.residual = fmax(v.residual, gw_system_residual(s));
    }
    return v;
}

int main(int count, char **arguments)
{
    double seconds = count > 1 ? atof(arguments[1]) : 60, start = now_s();
    unsigned long long seed = count > 2 ? strtoull(arguments[2], NULL, 10) : 1;
    int systems = count > 3 ? atoi(arguments[3]) : 1000, made = 0, bad = 0;
    double span = count > 4 ? atof(arguments[4]) : 10;
    int runs[KINDS] = {0}, reported[KINDS] = {0}, wrong[KINDS] = {0};
    double most[KINDS] = {0};
    for (; made < systems && now_s() - start < seconds; made++, seed++) {
        int kind = (int)(seed % KINDS);
        random_traits traits = {.bodies = RANDOM_BODIES,
                                .loops = RANDOM_LOOPS,
                                .decades = 2,
                                .stiff = kind & 1,
                                .bounded = kind & 2};
        gw_system *s = random_system(seed, &traits);
        if (!s) {
            printf("seed %llu: cannot be made\n", seed);
            continue;
        }
        double began = now_s();
        verdict v = run(s, span);
        bool open = v.residual > OPEN, jumps = v.risen > JUMPS * v.largest;
        bool silent = v.silent > CLOSES * v.largest + v.energy_error;
        runs[kind]++;
        reported[kind] += v.reports > 0;
        most[kind] = fmax(most[kind], v.energy_error / v.largest);
        wrong[kind] += v.failed || open || jumps || silent;
        bad += v.failed || jumps || silent || v.residual > FAILS_OPEN;
        if (v.failed || open || jumps || silent || v.reports > 0)
            printf(
                "seed %llu (%s)%s%s%s%s: step %d, %d reported %.1e J of %.1e J, audit %.1e, risen "
                "%.1e, open %.1e m, %.0f us a step\n",
                seed, kind_names[kind], v.failed ? " FAILED" : "", jumps ? " JUMPED" : "",
                silent ? " SILENT" : "", open ? " OPEN" : "", v.steps, v.reports, v.energy_error,
                v.largest, v.silent, v.risen, v.residual,
                1e6 * (now_s() - began) / fmax(v.steps, 1));
        fflush(stdout);
        gw_system_destroy(s);
    }
    for (int k = 0; k < KINDS; k++)
        printf("%s: %d systems, %d reported energy, at most %.1e of the kinetic one; %d wrong\n",
               kind_names[k], runs[k], reported[k], most[k], wrong[k]);
    return bad > 0;
}
