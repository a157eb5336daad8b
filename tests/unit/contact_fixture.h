/*
 * A contact world of free bodies among planes; its contact candidates are made by hand.
 */
#ifndef GW_TESTS_UNIT_CONTACT_FIXTURE_H
#define GW_TESTS_UNIT_CONTACT_FIXTURE_H

#include "rt/contact/world.h"
#include "rt/dynamics/guided.h"
#include "tests/unit/scenario_fixture.h"

enum { SOME_SYSTEMS = 64, SOME_CANDIDATES = 512 };

/* Body m belongs to system m; body `ground()` is static, at the origin. */
typedef struct arena {
    int count, candidate_count;
    gw_guided body[SOME_SYSTEMS];
    gw_world_system system[SOME_SYSTEMS];
    gw_contact_candidate candidates[SOME_CANDIDATES];
    gw_world *world;
    gw_contact_rules rules;
    gw_vec3 gravity;
    double dt;
    gw_world_step_result last;
    double start, work, generated, dissipated, external_work; /* energy (J) */
    double worst; /* largest rise of energy that nobody gave, in one step (J) */
} arena;

static inline int ground(const arena *a)
{
    return a->count;
}

static inline void arena_open(arena *a, gw_contact_rules rules)
{
    memset(a, 0, sizeof *a);
    a->rules = rules;
    a->dt = 1e-3;
}

static inline gw_guided_def arena_def(const arena *a, double mass, gw_vec3 inertia)
{
    gw_guided_def def = fixture_body(fixture_set(GW_ROTATION_FREE, GW_LOCUS_FREE, false));
    def.mass.mass = mass;
    def.mass.inertia = (gw_mat3){{{inertia.x, 0, 0}, {0, inertia.y, 0}, {0, 0, inertia.z}}};
    def.gravity = a->gravity;
    return def;
}

static inline int arena_add(arena *a, const gw_guided_def *def, gw_vec3 at, gw_vec3 velocity)
{
    int m = a->count++;
    gw_pose pose = {at, gw_quat_identity()};
    gw_twist twist = {velocity, {0, 0, 0}};
    gw_guided_init(&a->body[m], def, &pose);
    gw_guided_set_twist(&a->body[m], &twist);
    a->system[m].model = &a->body[m].model;
    return m;
}

/* A solid ball. */
static inline int arena_ball(arena *a, double mass, double radius, gw_vec3 at, gw_vec3 velocity)
{
    double i = 0.4 * mass * radius * radius;
    gw_guided_def def = arena_def(a, mass, gw_v3(i, i, i));
    return arena_add(a, &def, at, velocity);
}

/* A box of half-sizes h. */
static inline int arena_box(arena *a, double mass, gw_vec3 h, gw_vec3 at)
{
    double k = mass / 3;
    gw_guided_def def = arena_def(a, mass,
                                  gw_v3(k * (h.y * h.y + h.z * h.z), k * (h.x * h.x + h.z * h.z),
                                        k * (h.x * h.x + h.y * h.y)));
    return arena_add(a, &def, at, gw_v3(0, 0, 0));
}

static inline gw_contact_candidate *arena_candidate(arena *a, gw_contact_material surface)
{
    gw_contact_candidate *n = &a->candidates[a->candidate_count++];
    *n = (gw_contact_candidate){.key = (uint64_t)a->candidate_count, .surface = surface};
    return n;
}

/* A point of body m, with a ball around it, over the ground's plane through `at`. */
static inline void arena_over_plane(arena *a, int m, gw_vec3 point, double radius, gw_vec3 at,
                                    gw_vec3 normal, gw_contact_material surface)
{
    gw_contact_candidate *n = arena_candidate(a, surface);
    n->a = m;
    n->b = -1; /* the ground's index is known when all bodies are */
    n->point_a = point;
    n->radius_a = radius;
    n->point_b = at;
    n->kind = GW_NORMAL_IN_B;
    n->normal = normal;
}

static inline void arena_balls(arena *a, int m, double radius_m, int k, double radius_k,
                               gw_contact_material surface)
{
    gw_contact_candidate *n = arena_candidate(a, surface);
    n->a = m;
    n->b = k;
    n->radius_a = radius_m;
    n->radius_b = radius_k;
    n->kind = GW_NORMAL_BETWEEN;
}

static inline double arena_energy(const arena *a)
{
    double sum = a->last.spring;
    for (int i = 0; i < a->count; i++) {
        double kinetic, potential;
        gw_model_energy(a->system[i].model, &kinetic, &potential);
        sum += kinetic + potential;
    }
    return sum;
}

static inline void arena_start(arena *a)
{
    gw_world_body bodies[SOME_SYSTEMS + 1];
    gw_world_def def = {.system_count = a->count,
                        .model_bytes = sizeof(gw_guided),
                        .body_count = a->count + 1,
                        .bodies = bodies,
                        .rules = a->rules};
    for (int i = 0; i <= a->count; i++)
        bodies[i] = (gw_world_body){.model = i < a->count ? i : -1, .pose = gw_pose_identity()};
    for (int i = 0; i < a->candidate_count; i++)
        if (a->candidates[i].b < 0)
            a->candidates[i].b = ground(a);
    a->world = gw_world_create(&def, NULL);
    gw_world_set_candidates(a->world, a->candidates, a->candidate_count);
    a->start = arena_energy(a);
}

/* A step, and its energies. */
static inline void arena_step(arena *a)
{
    double before = arena_energy(a), given = 0;
    gw_world_step_all(a->world, a->system, a->dt, &a->last);
    for (int i = 0; i < a->count; i++) {
        assert_true(a->system[i].step.finite);
        given += a->system[i].step.work;
    }
    a->work += given;
    a->external_work += a->last.external_work;
    a->generated += a->last.generated;
    a->dissipated += a->last.dissipated;
    a->worst = fmax(a->worst, arena_energy(a) - before - given - a->last.external_work);
}

static inline void arena_close(arena *a)
{
    gw_world_destroy(a->world);
}

#endif
