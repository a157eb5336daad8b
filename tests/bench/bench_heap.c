/*
 * Rows of the benchmark table about a heap: 64 boxes and balls in an enclosure, detected 200 times
 * a second and again within steps, and stepped at 1 kHz. They fall, lie at rest, and are stirred by
 * a ball that a force moves through them. gw_world_step_all() is timed.
 *
 * The time is the thread's processor time. Runs are deterministic, and each tick keeps the shorter
 * time of two runs, so that the host's interference is left out.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt/rt.h"
#include "tests/bench/bench.h"

enum { HEAP = 64, PADDLE = HEAP - 1, WALLS = 6, BODIES = HEAP + WALLS };
enum { FALL = 800, REST = 2500, REST_END = 3200, TICKS = 4000, DETECTION_TICKS = 5, RUNS = 2 };

#define WIDE  0.5 /* the enclosure, across and high (m) */
#define HIGH  0.8
#define ABOVE 0.7 /* height at which the stirring ball waits (m) */

typedef struct heap {
    gw_guided body[HEAP];
    gw_world_system system[HEAP];
    gw_shape shape[BODIES];
    gw_pose pose[BODIES];
    gw_twist twist[BODIES];
    gw_contact_candidate near[GW_MAX_CONTACT_CANDIDATES];
    gw_world *world;
    gw_detector *detector;
    int tick;
} heap;

static double some(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1u << 23) - 1;
}

static bool stands(const void *context, int body)
{
    (void)context;
    return body >= HEAP;
}

static gw_contact_material wood(const void *context, int a, int b)
{
    (void)context, (void)a, (void)b;
    return (gw_contact_material){.restitution = 0.3, .friction = 0.4};
}

/* The force that holds the ball high above the heap at first, then moves it through on a circle. */
static gw_wrench lead(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    const heap *h = context;
    double at = ((double)h->tick - REST_END) * 1e-3 + t;
    double down = fmax(0, at), wide = fmin(0.15, 0.3 * down);
    gw_vec3 to = {wide * cos(3 * down), wide * sin(3 * down), fmax(0.08, ABOVE - down)};
    gw_vec3 pull = gw_scale(2000, gw_sub(to, held->p));
    return (gw_wrench){gw_mul_add(pull, -60, twist->v), gw_scale(-0.05, twist->w)};
}

static void add_body(heap *h, int i, unsigned *seed)
{
    bool ball = i % 2;
    double size = i == PADDLE ? 0.12 : 0.09;
    h->shape[i] = ball ? (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = size / 2}
                       : (gw_shape){.kind = GW_SHAPE_BOX, .size = {size, size, size}};
    gw_guided_def def = {.set = gw_submanifold_free(),
                         .mass = gw_shape_mass(&h->shape[i], i == PADDLE ? 2000 : 500),
                         .gravity = {0, 0, -9.81},
                         .body_from_held = gw_pose_identity()};
    gw_pose at = {{-0.18 + 0.12 * (i % 4), -0.18 + 0.12 * (i / 4 % 4), 0.06 + 0.12 * (i / 16)},
                  gw_quat_exp(gw_v3(0.2 * some(seed), 0.2 * some(seed), 0.2 * some(seed)))};
    if (i == PADDLE)
        at.p = gw_v3(0, 0, ABOVE);
    gw_twist twist = {{0.3 * some(seed), 0.3 * some(seed), 0},
                      {some(seed), some(seed), some(seed)}};
    gw_guided_init(&h->body[i], &def, &at);
    gw_guided_set_twist(&h->body[i], &twist);
    h->system[i] = (gw_world_system){.model = &h->body[i].model};
    if (i == PADDLE)
        h->system[i].hand = (gw_forces){.at = lead, .context = h};
}

/* Slabs around a space of WIDE x WIDE x HIGH over the origin. */
static void add_walls(heap *h)
{
    for (int i = 0; i < WALLS; i++) {
        double way = i % 2 ? 0.5 : -0.5;
        gw_vec3 out = gw_v3(i / 2 == 0, i / 2 == 1, i / 2 == 2);
        gw_vec3 size = {i / 2 == 0 ? 0.1 : WIDE, i / 2 == 1 ? 0.1 : WIDE, i / 2 == 2 ? 0.1 : HIGH};
        gw_vec3 off = {(WIDE + 0.1) * way, (WIDE + 0.1) * way, (HIGH + 0.1) * way};
        h->shape[HEAP + i] = (gw_shape){.kind = GW_SHAPE_BOX, .size = size};
        h->pose[HEAP + i] = gw_pose_identity();
        h->pose[HEAP + i].p = gw_v3(out.x * off.x, out.y * off.y, 0.5 * HIGH + out.z * off.z);
    }
}

static bool heap_open(heap *h)
{
    gw_collider collider[BODIES];
    gw_world_body body[BODIES];
    unsigned seed = 1;
    memset(h, 0, sizeof *h);
    for (int i = 0; i < HEAP; i++)
        add_body(h, i, &seed);
    add_walls(h);
    for (int i = 0; i < BODIES; i++) {
        collider[i] =
            (gw_collider){.body = i, .shape = &h->shape[i], .body_from_shape = gw_pose_identity()};
        body[i] = (gw_world_body){.model = i < HEAP ? i : -1, .pose = h->pose[i]};
    }
    gw_detector_def detector = {.body_count = BODIES,
                                .collider_count = BODIES,
                                .colliders = collider,
                                .is_static = stands,
                                .surface = wood};
    gw_world_def world = {.system_count = HEAP,
                          .model_bytes = sizeof(gw_guided),
                          .body_count = BODIES,
                          .bodies = body};
    h->detector = gw_detector_create(&detector, NULL);
    h->world = gw_world_create(&world, NULL);
    if (!h->detector || !h->world)
        return false;
    gw_world_set_narrow_phase(h->world, &(gw_narrow_phase){h->detector, gw_detector_bounding_sphere,
                                                           gw_detect_pair, gw_detector_query_cost,
                                                           gw_detector_breaking_distance});
    return true;
}

static void heap_close(heap *h)
{
    gw_detector_destroy(h->detector);
    gw_world_destroy(h->world);
}

static double own_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* Contact candidates of the next two detections, as the loop's world thread finds them. */
static void detect(heap *h)
{
    int lost;
    for (int i = 0; i < HEAP; i++)
        gw_model_body(h->system[i].model, 0, &h->pose[i], &h->twist[i]);
    int count = gw_detect(h->detector, h->pose, h->twist, 2e-3 * DETECTION_TICKS, 0.002, h->near,
                          GW_MAX_CONTACT_CANDIDATES, &lost);
    gw_world_set_candidates(h->world, h->near, count);
}

/* The least time of each tick over all runs (us). */
static bool run(heap *h, double *times)
{
    gw_world_step_result told;
    if (!heap_open(h)) {
        heap_close(h);
        return false;
    }
    for (h->tick = 0; h->tick < TICKS; h->tick++) {
        if (h->tick % DETECTION_TICKS == 0)
            detect(h);
        double start = own_us();
        gw_world_step_all(h->world, h->system, 1e-3, &told);
        times[h->tick] = fmin(times[h->tick], own_us() - start);
    }
    heap_close(h);
    return true;
}

/* 0: falling; 1: at rest; 2: stirred; 3: the longest of all ticks */
static bool bench_heap(bench_row *r, int which)
{
    static const int from[] = {0, REST, REST_END, 0}, to[] = {FALL, REST_END, TICKS, TICKS};
    static double times[TICKS];
    heap *h = malloc(sizeof *h);
    for (int i = 0; i < TICKS; i++)
        times[i] = INFINITY;
    bool done = h != NULL;
    for (int i = 0; done && i < RUNS; i++)
        done = run(h, times);
    free(h);
    bench_quantiles(r, times + from[which], to[which] - from[which]);
    if (which == 3)
        r->median = r->p99 = times[TICKS - 1];
    return done;
}

int bench_heap_rows(bench *rows, int room)
{
    static const bench mine[] = {
        {{"contact-heap-fall", "64 boxes and balls, falling together", "us", 200, false, true, 0, 0,
          0},
         bench_heap,
         0},
        {{"contact-heap-rest", "the same at rest", "us", 200, false, true, 0, 0, 0}, bench_heap, 1},
        {{"contact-heap-stir", "the same, a held ball stirs them", "us", 200, false, true, 0, 0, 0},
         bench_heap,
         2},
        {{"contact-heap-worst", "the longest tick of these", "us", 600, false, true, 0, 0, 0},
         bench_heap,
         3},
    };
    int count = (int)(sizeof mine / sizeof *mine);
    for (int i = 0; i < count && i < room; i++)
        rows[i] = mine[i];
    return count < room ? count : room;
}
