/*
 * Rows of the benchmark table about local models (mechanisms VII): the time of a tick with penalty
 * control on the exact chain and on its local model, and that of making the local model in the
 * world's thread. Three links are mechanisms' Table I, more of them have skew axes.
 */
#include <string.h>

#include "rt/rt.h"
#include "tests/bench/bench.h"
#include "server/cli/command.h"

#define BATCH_TICKS 5 /* ticks: 200 Hz */

typedef struct arm {
    int count, held;
    gw_link_def links[GW_MAX_LINKS];
} arm;

static arm arm_of(int count)
{
    double length = count == 3 ? 0.042 : 0.2, mass = count == 3 ? 3 : 1, inertia = 0.015;
    arm def = {.count = count, .held = count == 3 ? 1 : count - 1};
    for (int i = 0; i < count; i++) {
        gw_link_def *link = &def.links[i];
        *link = (gw_link_def){.parent_from_joint = {{i > 0 ? length : 0, 0, 0}, gw_quat_identity()},
                              .axis = {0, 0, 1},
                              .mass = {mass,
                                       {length / 2, 0, 0},
                                       {{{inertia, 0, 0}, {0, inertia, 0}, {0, 0, inertia}}}}};
        if (count == 3)
            continue;
        link->axis = gw_unit(gw_v3(i % 2 ? 1 : 0, i % 3 ? 0.5 : 0, 1));
        link->parent_from_joint.q = gw_quat_axis(gw_v3(1, 0, 0), 0.7 * i);
    }
    return def;
}

static gw_system *create(const arm *a)
{
    gw_system_body_def bodies[GW_MAX_LINKS];
    for (int i = 0; i < a->count; i++)
        bodies[i] = gw_link_body(&a->links[i], i - 1);
    gw_system_def def = {.body_count = a->count, .bodies = bodies, .silent_joints = true};
    gw_system *system = gw_system_create(&def, NULL);
    if (system)
        gw_system_hold(system, a->held, &(gw_pose){{0.021, 0, 0}, gw_quat_identity()});
    return system;
}

static gw_wrench felt(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    (void)t, (void)held, (void)twist;
    return *(const gw_wrench *)context;
}

/* A tick of the loop for a held mechanism: control, then a step under it. `directions` are those
 * found with the local model; NULL: found here. */
static bool tick(gw_model *model, gw_impedance_control *control,
                 const gw_resisted_directions *directions, const gw_impedance_device *device)
{
    double columns[GW_MODEL_MAX_DOF][6];
    gw_operational_state seen;
    gw_operational_step stepped;
    gw_step step;
    gw_operational_state_of(model, columns, &seen);
    seen.resisted = directions;
    gw_impedance_out out = gw_impedance_pre_step(control, &seen, device, 1e-3);
    gw_forces forces = {.at = felt, .context = &out.on_model};
    gw_model_step(model, &forces, 1e-3, &step);
    gw_operational_step_of(model, NULL, &stepped);
    gw_impedance_post_step(control, &stepped, &out);
    return step.finite;
}

/* A device beside the model's pose, with a hand's force that varies. */
static gw_impedance_device device_at(const gw_model *model, int i)
{
    gw_impedance_device d = {.mass = 1, .inertia = 0.01, .force_max = 20};
    gw_model_held(model, &d.pose, &d.twist);
    d.pose.p.x += 1e-4;
    d.hand.f = gw_v3(cos(0.006 * i), sin(0.004 * i), 0);
    return d;
}

typedef struct world_thread {
    gw_system *system;
    gw_local_model local;
    gw_resisted_directions resisted;
} world_thread;

static void make_local_model(world_thread *l, int count, const double *q, const double *v,
                             const gw_resisted_def *def)
{
    double columns[GW_MODEL_MAX_DOF][6], drift[6];
    gw_system_set_joints(l->system, q, v);
    gw_local_model_make(l->system, 0.011, &l->local);
    gw_model_jacobian(gw_system_model(l->system), columns, drift);
    gw_resisted_directions_of(def, count, (const double(*)[6])columns, &l->resisted);
}

/* Three seconds in batches of five ticks, each timed as a whole; the local model is replaced in
 * each batch. */
static bool time_ticks(bench_row *r, int count, bool local)
{
    enum { BATCHES = 600 };
    static double times[BATCHES];
    static world_thread world;
    static gw_local_model taken;
    arm def = arm_of(count);
    gw_impedance_def control_def = gw_impedance_def_default();
    gw_impedance_control control;
    gw_impedance_init(&control, &control_def);
    gw_system *system = create(&def);
    world.system = create(&def);
    bool fine = system && world.system;
    for (int i = 0; i < BATCHES && fine; i++) {
        double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
        gw_model *model = gw_system_model(system);
        for (int k = 0; k < count; k++)
            gw_system_joint(system, k, &q[k], &v[k]);
        make_local_model(&world, count, q, v, &control_def.resisted);
        gw_impedance_device device = device_at(model, i * BATCH_TICKS);
        double start = command_now_us();
        if (local) {
            memcpy(&taken, &world.local, gw_local_model_bytes(count));
            gw_system_set_local_model(system, &taken);
        }
        for (int k = 0; k < BATCH_TICKS; k++)
            fine = tick(model, &control, local ? &world.resisted : NULL, &device) && fine;
        times[i] = (command_now_us() - start) / BATCH_TICKS;
    }
    gw_system_destroy(system);
    gw_system_destroy(world.system);
    bench_quantiles(r, times, BATCHES);
    return fine;
}

static bool bench_exact(bench_row *r, int count)
{
    return time_ticks(r, count, false);
}

static bool bench_local(bench_row *r, int count)
{
    return time_ticks(r, count, true);
}

static bool bench_make(bench_row *r, int count)
{
    enum { MODELS = 1000 };
    static double times[MODELS];
    static world_thread world;
    arm def = arm_of(count);
    gw_resisted_def resisted = gw_impedance_def_default().resisted;
    world.system = create(&def);
    if (!world.system)
        return false;
    for (int i = 0; i < MODELS; i++) {
        double q[GW_MAX_LINKS], v[GW_MAX_LINKS] = {0};
        for (int k = 0; k < count; k++)
            q[k] = sin(0.01 * i + k);
        double start = command_now_us();
        make_local_model(&world, count, q, v, &resisted);
        times[i] = command_now_us() - start;
    }
    gw_system_destroy(world.system);
    bench_quantiles(r, times, MODELS);
    return true;
}

#define ROW(name, what, measure, links)                                                            \
    {                                                                                              \
        {name, what, "us", 0, false, false, 0, 0, 0}, measure, links                               \
    }

static const bench benches[] = {
    ROW("exact-3", "penalty control and step, exact", bench_exact, 3),
    ROW("local-3", "the same on the local model", bench_local, 3),
    ROW("exact-7", "penalty control and step, exact", bench_exact, 7),
    ROW("local-7", "the same on the local model", bench_local, 7),
    ROW("exact-20", "penalty control and step, exact", bench_exact, 20),
    ROW("local-20", "the same on the local model", bench_local, 20),
    ROW("exact-64", "penalty control and step, exact", bench_exact, 64),
    ROW("local-64", "the same on the local model", bench_local, 64),
    ROW("local-make-7", "making that model, on the world's thread", bench_make, 7),
    ROW("local-make-64", "making that model, on the world's thread", bench_make, 64),
};

int bench_local_rows(bench *rows, int room)
{
    int count = (int)(sizeof benches / sizeof *benches);
    count = count < room ? count : room;
    memcpy(rows, benches, (size_t)count * sizeof *rows);
    return count;
}
