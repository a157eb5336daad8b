/*
 * Rows of the benchmark table about contacts: the time of gw_world_step_all(), the bodies' own
 * steps included, while boxes rest and slide on the ground on four corners each, or a ball on its
 * one point; and while a collision of as many rows is resolved.
 */
#include <string.h>

#include "rt/rt.h"
#include "tests/bench/bench.h"
#include "server/cli/command.h"

enum { MOST_BODIES = 8, CORNERS = 4 };

typedef struct yard {
    gw_guided body[MOST_BODIES];
    gw_world_system system[MOST_BODIES];
    gw_contact_candidate near[MOST_BODIES * CORNERS];
    gw_world *world;
    int bodies, contacts;
} yard;

/* A free body of 1 kg, 0.2 m wide and 0.1 m high. */
static gw_guided_def free_box(void)
{
    gw_guided_def def;
    memset(&def, 0, sizeof def);
    def.set.rotation = (gw_rotation_set){.kind = GW_ROTATION_FREE,
                                         .dof = 3,
                                         .zero = gw_quat_identity(),
                                         .axis = {0, 0, 1},
                                         .axis_body = {0, 0, 1}};
    def.set.translation.dof = 3;
    def.set.translation.locus =
        (gw_locus){.kind = GW_LOCUS_FREE, .e1 = {1, 0, 0}, .e2 = {0, 1, 0}, .e3 = {0, 0, 1}};
    def.set.dof = 6;
    def.mass.mass = 1;
    def.mass.inertia = (gw_mat3){{{0.0042, 0, 0}, {0, 0.0042, 0}, {0, 0, 0.0067}}};
    def.gravity = gw_v3(0, 0, -9.81);
    def.body_from_held = gw_pose_identity();
    def.length = 0.05;
    return def;
}

static void add_corners(yard *y, int body)
{
    int count = y->contacts == 1 ? 1 : CORNERS;
    for (int i = 0; i < count; i++) {
        int at = body * CORNERS + i;
        gw_contact_candidate *n = &y->near[at];
        *n = (gw_contact_candidate){.key = (uint64_t)at + 1,
                                    .a = body,
                                    .b = y->bodies,
                                    .point_a = {i & 1 ? 0.1 : -0.1, i & 2 ? 0.1 : -0.1, -0.05},
                                    .kind = GW_NORMAL_IN_B,
                                    .normal = {0, 0, 1},
                                    .surface = {.restitution = 0.2, .friction = 0.3}};
        if (count == 1)
            n->point_a = gw_v3(0, 0, -0.05);
    }
}

static bool yard_open(yard *y, int contacts)
{
    gw_world_body bodies[MOST_BODIES + 1];
    gw_guided_def box = free_box();
    memset(y, 0, sizeof *y);
    y->contacts = contacts;
    y->bodies = contacts < CORNERS ? 1 : contacts / CORNERS;
    for (int i = 0; i < y->bodies; i++) {
        gw_pose at = {{0.3 * i, 0, 0.05}, gw_quat_identity()};
        gw_guided_init(&y->body[i], &box, &at);
        y->system[i].model = &y->body[i].model;
        bodies[i] = (gw_world_body){.model = i, .pose = at};
        add_corners(y, i);
    }
    bodies[y->bodies] = (gw_world_body){.model = -1, .pose = gw_pose_identity()};
    gw_world_def def = {.system_count = y->bodies,
                        .model_bytes = sizeof(gw_guided),
                        .body_count = y->bodies + 1,
                        .bodies = bodies};
    y->world = gw_world_create(&def, NULL);
    if (y->world)
        gw_world_set_candidates(y->world, y->near, contacts);
    return y->world != NULL;
}

/* Sets the velocity of all bodies to a tenth of a metre a second, sliding or falling. */
static void push_all(yard *y, bool falling)
{
    gw_twist twist = {{falling ? 0 : 0.1, 0, falling ? -0.1 : 0}, {0, 0, 0}};
    for (int i = 0; i < y->bodies; i++) {
        y->body[i].pose =
            (gw_pose){{0.3 * i, 0, falling ? 0.05005 : y->body[i].pose.p.z}, gw_quat_identity()};
        gw_guided_set_twist(&y->body[i], &twist);
    }
}

static bool time_steps(bench_row *r, int contacts, bool falling)
{
    enum { STEPS = 5000 };
    static double times[STEPS];
    static yard y;
    gw_world_step_result told;
    if (!yard_open(&y, contacts))
        return false;
    for (int i = 0; i < 500; i++)
        gw_world_step_all(y.world, y.system, 1e-3, &told);
    for (int i = 0; i < STEPS; i++) {
        if (falling || i % 20 == 0)
            push_all(&y, falling);
        double start = command_now_us();
        gw_world_step_all(y.world, y.system, 1e-3, &told);
        times[i] = command_now_us() - start;
    }
    bench_quantiles(r, times, STEPS);
    gw_world_destroy(y.world);
    return falling ? told.collisions > 0 : told.touching == contacts;
}

static bool bench_resting(bench_row *r, int contacts)
{
    return time_steps(r, contacts, false);
}

static bool bench_colliding(bench_row *r, int contacts)
{
    return time_steps(r, contacts, true);
}

static const bench benches[] = {
    {{"contact-1", "gw_world_step_all, 1 contact, 1 body", "us", 300, false, true, 0, 0, 0},
     bench_resting,
     1},
    {{"contact-8", "the same, 8 contacts, 2 boxes", "us", 300, false, true, 0, 0, 0},
     bench_resting,
     8},
    {{"contact-32", "the same, 32 contacts, 8 boxes", "us", 300, false, true, 0, 0, 0},
     bench_resting,
     32},
    {{"collision-32", "the same with 8 collisions of 4 rows", "us", 300, false, true, 0, 0, 0},
     bench_colliding,
     32},
};

int bench_contact_rows(bench *rows, int room)
{
    int count = (int)(sizeof benches / sizeof *benches);
    if (count > room)
        return 0;
    memcpy(rows, benches, sizeof benches);
    return count;
}
