/*
 * Rows of the benchmark table about serial mechanisms: the time of gw_model_step() for rods that
 * swing from horizontal, with the order and the substeps that the motion requires.
 */
#include <string.h>

#include "rt/rt.h"
#include "tests/bench/bench.h"
#include "server/cli/command.h"

/* A serial mechanism on the ground. */
typedef struct chain {
    int count;
    gw_link_def links[GW_MAX_LINKS];
} chain;

static gw_system *create(const chain *c)
{
    gw_system_body_def bodies[GW_MAX_LINKS];
    for (int i = 0; i < c->count; i++)
        bodies[i] = gw_link_body(&c->links[i], i - 1);
    gw_system_def def = {
        .body_count = c->count, .bodies = bodies, .gravity = {0, -9.81, 0}, .silent_joints = true};
    return gw_system_create(&def, NULL);
}

/* Rods of 1 m and 1 kg, or the three links of mechanisms' Table I. */
static chain swinging(int count)
{
    double length = count == 3 ? 0.042 : 1, mass = count == 3 ? 3 : 1;
    double inertia = count == 3 ? 0.015 : 1. / 12;
    chain def = {.count = count};
    for (int i = 0; i < count; i++) {
        def.links[i] = (gw_link_def){
            .kind = GW_JOINT_REVOLUTE,
            .parent_from_joint = {{i > 0 ? length : 0, 0, 0}, gw_quat_identity()},
            .axis = {0, 0, 1},
            .mass = {
                mass, {length / 2, 0, 0}, {{{inertia, 0, 0}, {0, inertia, 0}, {0, 0, inertia}}}}};
    }
    if (count == 3) {
        def.links[2].mass.mass = 1;
        def.links[2].mass.com.x = 0.015;
        def.links[2].mass.inertia = (gw_mat3){{{0.005, 0, 0}, {0, 0.005, 0}, {0, 0, 0.005}}};
    }
    return def;
}

/* Rotates each link's joint against the one before, so that the motion is spatial. */
static void skew(chain *def)
{
    for (int i = 0; i < def->count; i++) {
        def->links[i].axis = gw_unit(gw_v3(i % 2 ? 1 : 0, i % 3 ? 0.5 : 0, 1));
        def->links[i].parent_from_joint.q = gw_quat_axis(gw_v3(1, 0, 0), 0.7 * i);
    }
}

/* Ten seconds in batches, each timed as a whole. */
static bool time_steps(bench_row *r, const chain *def)
{
    enum { BATCHES = 1000, STEPS = 10 };
    static double times[BATCHES];
    gw_system *system = create(def);
    bool finite = system != NULL;
    for (int i = 0; i < BATCHES && finite; i++) {
        double start = command_now_us();
        gw_step step;
        for (int k = 0; k < STEPS; k++)
            gw_model_step(gw_system_model(system), NULL, 1e-3, &step);
        times[i] = (command_now_us() - start) / STEPS;
        finite = step.finite;
    }
    gw_system_destroy(system);
    bench_quantiles(r, times, BATCHES);
    return finite;
}

static bool bench_planar(bench_row *r, int count)
{
    chain def = swinging(count);
    return time_steps(r, &def);
}

/* Rods of 5 cm and 50 g: steps of a millisecond do not resolve their motion. */
static bool bench_whip(bench_row *r, int count)
{
    const double length = 0.05, mass = 0.05, inertia = mass * length * length / 12;
    chain def = swinging(count);
    for (int i = 0; i < count; i++) {
        gw_link_def *link = &def.links[i];
        link->parent_from_joint.p.x *= length;
        link->mass = (gw_mass){
            mass, {length / 2, 0, 0}, {{{inertia, 0, 0}, {0, inertia, 0}, {0, 0, inertia}}}};
    }
    return time_steps(r, &def);
}

static bool bench_spatial(bench_row *r, int count)
{
    chain def = swinging(count);
    skew(&def);
    return time_steps(r, &def);
}

/* The largest energy error of ten seconds, relative to the peak kinetic energy. */
static bool bench_energy(bench_row *r, int count)
{
    static double errors[10000];
    chain def = swinging(count);
    gw_system *system = create(&def);
    double peak = 0, kinetic, potential;
    if (!system)
        return false;
    gw_model *model = gw_system_model(system);
    gw_model_energy(model, &kinetic, &potential);
    double start = kinetic + potential;
    for (int i = 0; i < 10000; i++) {
        gw_step step;
        gw_model_step(model, NULL, 1e-3, &step);
        gw_model_energy(model, &kinetic, &potential);
        peak = fmax(peak, kinetic);
        errors[i] = fabs(kinetic + potential - start);
    }
    gw_system_destroy(system);
    for (int i = 0; i < 10000; i++)
        errors[i] /= peak;
    bench_quantiles(r, errors, 10000);
    r->median = r->p99;
    return true;
}

static const bench benches[] = {
    {{"chain-3", "gw_model_step, Table I, planar", "us", 1.5, false, true, 0, 0, 0},
     bench_planar,
     3},
    {{"chain-20", "gw_model_step, 20 rods, planar", "us", 10, false, true, 0, 0, 0},
     bench_planar,
     20},
    {{"chain-64", "gw_model_step, 64 rods, planar", "us", 32, false, true, 0, 0, 0},
     bench_planar,
     64},
    {{"chain-whip-20", "gw_model_step, 20 rods of 5 cm, planar", "us", 0, false, false, 0, 0, 0},
     bench_whip,
     20},
    {{"chain-spatial-6", "gw_model_step, 6 skew axes", "us", 0, false, false, 0, 0, 0},
     bench_spatial,
     6},
    {{"chain-spatial-20", "gw_model_step, 20 skew axes", "us", 0, false, false, 0, 0, 0},
     bench_spatial,
     20},
    {{"chain-energy-3", "energy error of 10 s, Table I (p99)", "", 1e-9, false, true, 0, 0, 0},
     bench_energy,
     3},
    {{"chain-energy-20", "energy error of 10 s, 20 rods (p99)", "", 0, false, false, 0, 0, 0},
     bench_energy,
     20},
};

int bench_chain_rows(bench *rows, int room)
{
    int count = (int)(sizeof benches / sizeof *benches);
    count = count < room ? count : room;
    memcpy(rows, benches, (size_t)count * sizeof *rows);
    return count;
}
