/*
 * Collisions of free bodies conserve linear and angular momentum, and with e = 1 energy.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/unit/playing.h"

#define THROWS 60

static double random_in(unsigned *seed, double size)
{
    *seed = *seed * 1664525u + 1013904223u;
    return size * (2 * (double)(*seed >> 8) / 16777216 - 1);
}

static gw_vec3 random_vector(unsigned *seed, double size)
{
    double x = random_in(seed, size), y = random_in(seed, size), z = random_in(seed, size);
    return gw_v3(x, y, z);
}

/* At rest about its middle but for the turning, or on its way along x. */
static void throw_one(gw_scene *s, const char *id, int kind, double x, double v, unsigned *seed)
{
    const gw_shape shape[] = {box(0.1, 0.08, 0.06),
                              {.kind = GW_SHAPE_CAPSULE, .radius = 0.03, .height = 0.08},
                              {.kind = GW_SHAPE_CYLINDER, .radius = 0.04, .height = 0.08}};
    put_loose(s, id, shape[kind], gw_v3(x, random_in(seed, 0.02), random_in(seed, 0.02)), 1);
    gw_object *o = &s->objects[s->object_count - 1];
    o->pose.q = gw_quat_exp(random_vector(seed, 1.8));
    o->velocity = gw_v3(v, 0, 0);
    o->spin = random_vector(seed, 5);
}

typedef struct motion {
    gw_vec3 momentum, moment;
} motion;

static motion motion_of(const play *p)
{
    motion sum = {{0, 0, 0}, {0, 0, 0}};
    const gw_snapshot *s = gw_simulation_snapshot(p->simulation);
    for (int i = 0; i < s->free_count; i++) {
        const gw_free_body *b = &s->free[i];
        gw_mass mass = gw_object_mass(&p->scene->objects[b->object]);
        gw_vec3 v = gw_scale(mass.mass, b->twist.v), w = gw_unrotate(b->pose.q, b->twist.w);
        gw_vec3 own = gw_rotate(b->pose.q, gw_mat3_mul(&mass.inertia, w));
        sum.momentum = gw_add(sum.momentum, v);
        sum.moment = gw_add(sum.moment, gw_add(gw_cross(b->pose.p, v), own));
    }
    return sum;
}

static void collisions_conserve_linear_and_angular_momentum(void **state)
{
    (void)state;
    unsigned seed = 7;
    double worst = 0, turned = 0;
    int hits = 0;
    for (int i = 0; i < THROWS; i++) {
        play p;
        gw_scene *s = malloc(sizeof *s);
        *s = gw_scene_default();
        s->contact.enabled = true;
        put_material(s, 1, 0);
        throw_one(s, "a", i % 3, -0.15, 1.5, &seed);
        throw_one(s, "b", i / 3 % 3, 0.15, -0.5, &seed);
        assert_true(start_play(&p, s));
        tick_play(&p);
        motion before = motion_of(&p);
        for (int k = 0; k < 300; k++)
            tick_play(&p);
        motion after = motion_of(&p);
        worst = fmax(worst, gw_distance(before.momentum, after.momentum));
        turned = fmax(turned, gw_distance(before.moment, after.moment));
        hits += gw_simulation_snapshot(p.simulation)->contact.collisions > 0;
        stop_play(&p);
    }
    print_message("%d of %d hit: off by %.1e N s, %.1e N m s\n", hits, THROWS, worst, turned);
    assert_true(hits > THROWS / 2);
    assert_true(worst < 1e-9 && turned < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(collisions_conserve_linear_and_angular_momentum),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
