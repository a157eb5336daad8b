/*
 * Many bodies: impulses of many rows, and heaps of up to 64 boxes and balls in an enclosure, with
 * their energy audit, bound of effort, and the same bits twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/collision/detector.h"
#include "rt/contact/impulse.h"
#include "tests/unit/contact_fixture.h"

static unsigned seed = 3;

static double some(void)
{
    seed = seed * 1664525u + 1013904223u;
    return (double)(seed >> 8) / (1u << 23) - 1;
}

/* ---- impulses of many rows --------------------------------------------------------------------
 */

enum { LUMPS = 24, EACH = 6, FREEDOMS = LUMPS * EACH };

/* Lumps with a diagonal inertia, each row between two of them. */
typedef struct crowd {
    int rows, from[LUMPS + 1], of[GW_MAX_SIMULTANEOUS_CONTACTS][2];
    double mass[FREEDOMS], j[GW_MAX_SIMULTANEOUS_CONTACTS * FREEDOMS], v[FREEDOMS],
        e[GW_MAX_SIMULTANEOUS_CONTACTS];
    double dv[FREEDOMS], g[FREEDOMS], p[GW_MAX_SIMULTANEOUS_CONTACTS];
} crowd;

static void by_mass(const void *context, int block, const double *w, double *y)
{
    const crowd *c = context;
    for (int i = 0; i < EACH; i++)
        y[i] = w[i] / c->mass[block * EACH + i];
}

/* A third of the rows follows from others of the same two lumps, or nearly. */
static void fill_row(crowd *c, int i)
{
    double *row = c->j + i * FREEDOMS;
    int like = i > 3 && some() > 0.3 ? (int)((some() + 1) / 2 * (i - 1)) : -1;
    double noise = like < 0 ? 1 : some() > 0 ? 0 : pow(10, -3 + 2 * some());
    int a = (int)((some() + 1) / 2 * LUMPS) % LUMPS, b = (a + 1 + i % (LUMPS - 1)) % LUMPS;
    c->of[i][0] = like < 0 ? a : c->of[like][0];
    c->of[i][1] = like < 0 ? (i % 4 ? b : -1) : c->of[like][1];
    for (int k = 0; k < 2; k++)
        for (int m = 0; c->of[i][k] >= 0 && m < EACH; m++) {
            int at = c->of[i][k] * EACH + m;
            row[at] = noise * some() + (like < 0 ? 0 : c->j[like * FREEDOMS + at]);
        }
}

static void some_crowd(crowd *c, double e)
{
    memset(c, 0, sizeof *c);
    c->rows = 24 + (int)(20 * (some() + 1));
    for (int i = 0; i <= LUMPS; i++)
        c->from[i] = i * EACH;
    for (int i = 0; i < FREEDOMS; i++) {
        c->mass[i] = pow(10, 0.5 * some());
        c->v[i] = some();
    }
    for (int i = 0; i < c->rows; i++) {
        fill_row(c, i);
        c->e[i] = e >= 0 ? e : (some() + 1) / 2;
    }
}

static double kinetic(const crowd *c)
{
    double sum = 0;
    for (int i = 0; i < FREEDOMS; i++)
        sum += 0.5 * c->mass[i] * c->v[i] * c->v[i];
    return sum;
}

static double along(const crowd *c, int i)
{
    double sum = 0;
    for (int k = 0; k < 2; k++)
        for (int m = 0; c->of[i][k] >= 0 && m < EACH; m++)
            sum += c->j[i * FREEDOMS + c->of[i][k] * EACH + m] * c->v[c->of[i][k] * EACH + m];
    return sum;
}

/* The part of the kinetic energy that came, and the worst miss of Newton's law (m/s). */
static double resolve(crowd *c, bool only_push, double *miss)
{
    static gw_impulse_work work;
    static double memory[2 * GW_MAX_SIMULTANEOUS_CONTACTS * FREEDOMS];
    double before[GW_MAX_SIMULTANEOUS_CONTACTS], was = kinetic(c);
    gw_impulse_problem problem = {.rows = c->rows,
                                  .dof = FREEDOMS,
                                  .blocks = LUMPS,
                                  .from = c->from,
                                  .of = (const int(*)[2])c->of,
                                  .j = c->j,
                                  .v = c->v,
                                  .e = c->e,
                                  .only_push = only_push,
                                  .inverse = by_mass,
                                  .context = c};
    work.memory = memory;
    for (int i = 0; i < c->rows; i++)
        before[i] = along(c, i);
    gw_impulse_solve(&problem, &work, c->dv, c->g, c->p);
    for (int i = 0; i < FREEDOMS; i++)
        c->v[i] += c->dv[i];
    for (int i = 0; i < c->rows; i++)
        *miss = fmax(*miss, fabs(along(c, i) + c->e[i] * before[i]));
    return (kinetic(c) - was) / was;
}

static void impulses_of_many_rows_are_passive(void **state)
{
    (void)state;
    static crowd c;
    double most[4] = {0, 0, 0, 0}, miss[4] = {0, 0, 0, 0};
    for (int i = 0; i < 4000; i++) {
        int kind = i % 4;
        some_crowd(&c, kind == 0 ? 0 : kind == 1 ? 1 : kind == 2 ? -1 : 0.5);
        double rise = resolve(&c, kind == 3, &miss[kind]);
        most[kind] = fmax(most[kind], kind == 1 ? fabs(rise) : rise);
    }
    print_message("e = 0: %.1e more, e = 1: within %.1e, mixed: %.1e more, pushing: %.1e more\n"
                  "  rebound off by %.1e, %.1e m/s\n",
                  most[0], most[1], most[2], most[3], miss[0], miss[1]);
    assert_true(most[0] <= 1e-15 && most[1] <= 1e-12 && most[2] <= 1e-13 && most[3] <= 1e-13);
    assert_true(miss[0] <= 1e-6 && miss[1] <= 1e-6);
}

/* ---- a heap -----------------------------------------------------------------------------------
 */

enum { HEAP = 64, WALLS = 6 };
enum { FALL = 800, STIR = 1500, TICKS = 2500 }; /* ends of falling and of rest, of all */

typedef struct heap {
    arena a;
    gw_shape shapes[HEAP];
    gw_detector *detector;
    double t; /* of the step that begins (s) */
} heap;

static gw_contact_material wood(const void *context, int a, int b)
{
    (void)context, (void)a, (void)b;
    return (gw_contact_material){.restitution = 0.3, .friction = 0.4};
}

/* Holds a ball high above the heap until STIR, then leads it through on a circle. */
static gw_wrench lead(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    const heap *h = context;
    double down = fmax(0, h->t + t - 1e-3 * STIR), wide = fmin(0.15, 0.3 * down);
    gw_vec3 to = {wide * cos(3 * down), wide * sin(3 * down), fmax(0.08, 0.45 - down)};
    gw_vec3 pull = gw_scale(2000, gw_sub(to, held->p));
    return (gw_wrench){gw_mul_add(pull, -60, twist->v), gw_scale(-0.05, twist->w)};
}

/* `stirred`: the last body is the ball that a hand leads. */
static void throw_heap(heap *h, int count, bool stirred)
{
    arena *a = &h->a;
    arena_open(a, (gw_contact_rules){0});
    a->gravity = gw_v3(0, 0, -9.81);
    h->t = 0;
    seed = 3;
    for (int i = 0; i < count; i++) {
        bool held = stirred && i == count - 1;
        gw_vec3 at = {-0.18 + 0.12 * (i % 4), -0.18 + 0.12 * (i / 4 % 4), 0.06 + 0.1 * (i / 16)};
        if (held)
            at = gw_v3(0, 0, 0.45);
        if (i % 2)
            arena_ball(a, held ? 0.8 : 0.2, 0.045, at, gw_v3(0, 0, 0));
        else
            arena_box(a, 0.3, gw_v3(0.045, 0.045, 0.045), at);
        h->shapes[i] = i % 2 ? (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.045}
                             : (gw_shape){.kind = GW_SHAPE_BOX, .size = {0.09, 0.09, 0.09}};
        gw_twist twist = {{some(), some(), some()}, {some(), some(), some()}};
        gw_guided_set_twist(&a->body[i], &twist);
        if (held)
            a->system[i].hand = (gw_forces){.at = lead, .context = h};
    }
}

static gw_detector *watch(heap *h)
{
    gw_collider colliders[HEAP + WALLS];
    static gw_shape wall = {.kind = GW_SHAPE_BOX, .size = {2, 2, 2}};
    int count = h->a.count;
    for (int i = 0; i < count; i++)
        colliders[i] = (gw_collider){i, &h->shapes[i], gw_pose_identity(), 0};
    for (int k = 0; k < WALLS; k++) {
        gw_vec3 out = gw_v3(k / 2 == 0, k / 2 == 1, k / 2 == 2);
        gw_pose at = {gw_scale(k & 1 ? -1.25 : 1.25, out), gw_quat_identity()};
        at.p.z += 0.25;
        colliders[count + k] = (gw_collider){ground(&h->a), &wall, at, 0};
    }
    gw_detector_def def = {.body_count = count + 1,
                           .collider_count = count + WALLS,
                           .colliders = colliders,
                           .surface = wood};
    return gw_detector_create(&def, NULL);
}

static void look(heap *h)
{
    arena *a = &h->a;
    gw_pose poses[HEAP + 1] = {[0] = gw_pose_identity()};
    gw_twist twists[HEAP + 1] = {[0] = {{0, 0, 0}, {0, 0, 0}}};
    int lost;
    poses[ground(a)] = gw_pose_identity();
    for (int m = 0; m < a->count; m++)
        gw_model_body(a->system[m].model, 0, &poses[m], &twists[m]);
    int count =
        gw_detect(h->detector, poses, twists, 0.01, 0.002, a->candidates, SOME_CANDIDATES, &lost);
    assert_int_equal(lost, 0);
    gw_world_set_candidates(a->world, a->candidates, count);
}

static void heap_open(heap *h, int count, bool stirred)
{
    throw_heap(h, count, stirred);
    h->detector = watch(h);
    assert_non_null(h->detector);
    arena_start(&h->a);
}

static void heap_step(heap *h, int tick)
{
    if (tick % 5 == 0)
        look(h);
    h->t = 1e-3 * tick;
    arena_step(&h->a);
}

static void heap_close(heap *h)
{
    gw_detector_destroy(h->detector);
    arena_close(&h->a);
}

typedef struct outcome {
    gw_pose poses[HEAP];
    long collisions, deferred;
    int work;
    double deep, rise;
} outcome;

static void run(outcome *o, int ticks)
{
    static heap h;
    arena *a = &h.a;
    memset(o, 0, sizeof *o);
    heap_open(&h, HEAP, false);
    double lowest = arena_energy(a);
    for (int k = 0; k < ticks; k++) {
        gw_contact_data at[GW_MAX_SHOWN_CONTACTS];
        heap_step(&h, k);
        double now = arena_energy(a) - a->work - a->external_work;
        o->rise = fmax(o->rise, now - lowest);
        lowest = fmin(lowest, now);
        o->collisions += a->last.collisions;
        o->deferred += a->last.deferred;
        o->work = a->last.effort > o->work ? a->last.effort : o->work;
        int count = gw_world_contacts(a->world, at, GW_MAX_SHOWN_CONTACTS);
        for (int i = 0; i < count; i++)
            o->deep = fmax(o->deep, at[i].state == GW_CONTACT_CONTINUOUS ? -at[i].gap : 0);
    }
    for (int m = 0; m < HEAP; m++)
        o->poses[m] = a->body[m].pose;
    heap_close(&h);
}

/* The work of a step is bounded, what was put off is told, nothing is won, and it is the same each
 * time. */
static void a_falling_heap_stays_within_the_steps_effort(void **state)
{
    (void)state;
    static outcome one, other;
    run(&one, 1500);
    run(&other, 1500);
    print_message("%ld collisions, %ld put off, at most %d steps' work, %.2f mm deep, "
                  "rises by %.1e J\n",
                  one.collisions, one.deferred, one.work, 1e3 * one.deep, one.rise);
    assert_true(one.collisions > 500);
    assert_true(one.deferred > 0);
    /* what is driven slowly is left to its spring: small hits do not run through all of it */
    assert_true(one.deferred < 2 * one.collisions);
    assert_true(one.work <= (int)(GW_WORLD_EFFORT_PER_SECOND * 1e-3) + 3 * HEAP);
    assert_true(one.deep < 5e-3);
    assert_true(one.rise <= 1e-9);
    assert_memory_equal(one.poses, other.poses, sizeof one.poses);
}

/* The energy that the audit has to remove, falling, at rest and stirred, is 1e-7 of the energy that
 * contacts dissipate: where a step leaves systems frozen, too. */
static void heaps_generate_no_energy(void **state)
{
    (void)state;
    static heap h;
    const int sizes[] = {16, 40, 64}, ends[] = {FALL, STIR, TICKS};
    for (int i = 0; i < 3; i++) {
        heap_open(&h, sizes[i], true);
        double generated[3], before = 0;
        for (int k = 0, tick = 0; k < 3; k++) {
            while (tick < ends[k])
                heap_step(&h, tick++);
            generated[k] = h.a.generated - before;
            before = h.a.generated;
        }
        print_message("%d bodies generate %.1e J falling, %.1e J at rest, %.1e J stirred, of "
                      "%.1f J dissipated\n",
                      sizes[i], generated[0], generated[1], generated[2], h.a.dissipated);
        assert_true(h.a.dissipated > 1);
        assert_true(before <= 1e-7 * h.a.dissipated);
        heap_close(&h);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(impulses_of_many_rows_are_passive),
        cmocka_unit_test(a_falling_heap_stays_within_the_steps_effort),
        cmocka_unit_test(heaps_generate_no_energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
