/*
 * Rows of the benchmark table about collision detection: one call of gw_detect().
 */
#include <stdlib.h>

#include "tests/bench/bench.h"
#include "server/cli/command.h"
#include "rt/rt.h"

enum { CROWD = 64, WALLS = 6, LINKS = 6, BODIES = CROWD + WALLS + LINKS, CALLS = 2000 };

typedef struct ground {
    int moving; /* bodies that move; the six walls follow them */
    gw_shape shapes[BODIES];
    gw_pose poses[BODIES];
    gw_twist twists[BODIES];
    gw_contact_candidate candidates[GW_MAX_CONTACT_CANDIDATES];
} ground;

static double some(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1u << 23) - 1;
}

static bool is_static(const void *context, int body)
{
    return body >= ((const ground *)context)->moving;
}

/* Links of an arm: a chain of neighbours, the last bodies that move. */
static bool neighbours(const void *context, int a, int b)
{
    const ground *g = context;
    return a >= CROWD && b >= CROWD && a < g->moving && b < g->moving && abs(a - b) == 1;
}

static void add_walls(ground *g)
{
    for (int i = 0; i < WALLS; i++) {
        double *p[3], side = i % 2 ? 0.55 : -0.55;
        gw_pose *pose = &g->poses[g->moving + i];
        gw_vec3 size = {1.2, 1.2, 1.2};
        *pose = gw_pose_identity();
        p[0] = &pose->p.x, p[1] = &pose->p.y, p[2] = &pose->p.z;
        *p[i / 2] = side;
        *(i / 2 == 0 ? &size.x : i / 2 == 1 ? &size.y : &size.z) = 0.1;
        g->shapes[g->moving + i] = (gw_shape){.kind = GW_SHAPE_BOX, .size = size};
    }
}

static void add_crowd(ground *g)
{
    for (int i = 0; i < CROWD; i++) {
        g->shapes[i] = i % 2 ? (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.11}
                             : (gw_shape){.kind = GW_SHAPE_BOX, .size = {0.2, 0.2, 0.2}};
        g->poses[i] =
            (gw_pose){{-0.39 + 0.26 * (i % 4), -0.39 + 0.26 * (i / 4 % 4), -0.39 + 0.26 * (i / 16)},
                      {1, 0, 0, 0}};
    }
}

/* Bodies that fly about with up to 1 m/s and 5 rad/s per axis. */
static void stir(ground *g, unsigned *seed)
{
    for (int i = 0; i < CROWD; i++) {
        gw_vec3 v = {some(seed), some(seed), some(seed)}, w = {some(seed), some(seed), some(seed)};
        g->twists[i] = (gw_twist){v, gw_scale(5, w)};
        g->poses[i].q = gw_quat_exp(gw_scale(3, w));
        g->poses[i].p = gw_mul_add(g->poses[i].p, 0.02, v);
    }
}

/* Stacks of four on the floor, all boxes, face on face. */
static void heap(ground *g, unsigned *seed)
{
    for (int i = 0; i < CROWD; i++) {
        g->shapes[i] = (gw_shape){.kind = GW_SHAPE_BOX, .size = {0.1, 0.1, 0.1}};
        g->poses[i].p = gw_v3(-0.3 + 0.2 * (i % 4), -0.3 + 0.2 * (i / 4 % 4),
                              -0.45 + 0.1 * (i / 16) - 1e-5 * (i / 16 + 1));
        g->poses[i].q = gw_quat_exp(gw_v3(0, 0, some(seed)));
        g->twists[i] = (gw_twist){{1e-4 * some(seed), 0, 0}, {0, 0, 0}};
    }
}

static void add_arm(ground *g, unsigned *seed)
{
    gw_pose at = {{0, 0, -0.45}, {1, 0, 0, 0}};
    for (int i = 0; i < LINKS; i++) {
        gw_pose step = {{0, 0, 0.15}, gw_quat_exp(gw_v3(0.7 * some(seed), some(seed), 0.3))};
        at = gw_pose_mul(&at, &step);
        g->shapes[CROWD + i] = (gw_shape){.kind = GW_SHAPE_CAPSULE, .radius = 0.03, .height = 0.15};
        g->poses[CROWD + i] = at;
        g->twists[CROWD + i] = (gw_twist){{some(seed), some(seed), 0}, {1, some(seed), 0}};
    }
}

static gw_detector *start(ground *g)
{
    gw_collider colliders[BODIES];
    int count = g->moving + WALLS;
    for (int i = 0; i < count; i++)
        colliders[i] =
            (gw_collider){.body = i, .shape = &g->shapes[i], .body_from_shape = gw_pose_identity()};
    gw_detector_def def = {.body_count = count,
                           .collider_count = count,
                           .colliders = colliders,
                           .ignore = neighbours,
                           .is_static = is_static,
                           .context = g};
    return gw_detector_create(&def, NULL);
}

/* 0: flying; 1: in stacks; 2: flying about an arm */
static bool bench_detector(bench_row *r, int which)
{
    static double times[CALLS];
    unsigned seed = 1;
    ground *g = calloc(1, sizeof *g);
    if (!g)
        return false;
    g->moving = which == 2 ? CROWD + LINKS : CROWD;
    add_walls(g);
    add_crowd(g);
    if (which == 2)
        add_arm(g, &seed);
    if (which == 1)
        heap(g, &seed);
    gw_detector *detector = start(g);
    for (int i = 0; detector && i < CALLS; i++) {
        int lost;
        if (which != 1 && i % 20 == 0) {
            add_crowd(g);
            stir(g, &seed);
        }
        double before = command_now_us();
        gw_detect(detector, g->poses, g->twists, 0.005, 0.002, g->candidates,
                  GW_MAX_CONTACT_CANDIDATES, &lost);
        times[i] = command_now_us() - before;
    }
    bool done = detector != NULL;
    bench_quantiles(r, times, CALLS);
    gw_detector_destroy(detector);
    free(g);
    return done;
}

int bench_detector_rows(bench *rows, int room)
{
    static const bench mine[] = {
        {{"detector-crowd", "64 boxes and balls in an enclosure", "us", 500, false, true, 0, 0, 0},
         bench_detector,
         0},
        {{"detector-heap", "64 boxes in 16 stacks of four", "us", 500, false, true, 0, 0, 0},
         bench_detector,
         1},
        {{"detector-arm", "the same crowd about a 6-link arm", "us", 500, false, true, 0, 0, 0},
         bench_detector,
         2},
    };
    int count = (int)(sizeof mine / sizeof *mine);
    for (int i = 0; i < count && i < room; i++)
        rows[i] = mine[i];
    return count < room ? count : room;
}
