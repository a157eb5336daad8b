/*
 * Random systems of bodies: trees of all joint types, closed by loops, the same on every machine.
 */
#ifndef GW_TESTS_RANDOM_SYSTEM_H
#define GW_TESTS_RANDOM_SYSTEM_H

#include <math.h>
#include <stdlib.h>

#include "rt/dynamics/system.h"
#include "tests/random.h"

#define RANDOM_BODIES 30
#define RANDOM_LOOPS  3

/* The systems to make; all zero: of one body, of 1 kg. */
typedef struct random_traits {
    int bodies, loops; /* 1 to so many bodies, 0 to so many loops */
    double decades;    /* masses of 10^-decades to 10^decades kg */
    double gravity;    /* m/s^2; 0: 9.81 */
    bool stiff;        /* a quarter of the joints has a damper of 1e-3 to 1e3 N s/m (N m s/rad), a
                          quarter a spring of 1 to 1e6 N/m (N m/rad) */
    bool bounded;      /* a quarter has friction, a quarter limits */
    bool sprung;       /* all have soft springs, dampers and motors, and bodies their own damping */
} random_traits;

typedef unsigned long long random_state;

static inline double random_noise(random_state *r)
{
    return random_uniform(r, -1, 1);
}

static inline gw_vec3 random_vector(random_state *r, double size)
{
    double x = random_noise(r), y = random_noise(r);
    return gw_v3(size * x, size * y, size * random_noise(r));
}

static inline gw_pose random_pose_within(random_state *r, double size)
{
    gw_vec3 p = random_vector(r, size);
    return (gw_pose){p, gw_quat_exp(random_vector(r, 2))};
}

/* A solid box of 3 to 39 cm a side. */
static inline gw_mass random_mass(random_state *r, double decades)
{
    double m = pow(10, decades * random_noise(r)), size = 0.1 + 0.2 * fabs(random_noise(r)), a[3];
    for (int k = 0; k < 3; k++)
        a[k] = m / 3 * pow(size * (0.3 + fabs(random_noise(r))), 2);
    return (gw_mass){
        m,
        random_vector(r, 0.1),
        {{{a[1] + a[2], 0, 0}, {0, a[0] + a[2], 0}, {0, 0, a[0] + a[1]}}},
    };
}

/* Random forces at coordinate j of a joint. */
static inline void random_joint_forces(random_state *r, const random_traits *traits, int j,
                                       gw_system_body_def *b)
{
    bool straight = j < gw_mobilizer_rotation(b->joint);
    if (traits->stiff && random_below(r, 4) == 0)
        b->damping[j] = pow(10, 3 * random_noise(r));
    if (traits->stiff && straight && random_below(r, 4) == 0)
        b->stiffness[j] = pow(10, 3 + 3 * random_noise(r));
    if (traits->bounded && straight && random_below(r, 4) == 0)
        b->friction[j] = pow(10, random_noise(r));
    if (traits->bounded && straight && random_below(r, 4) == 0) {
        b->limited[j] = true;
        b->lower[j] = b->position[j] - 0.02 - 0.3 * fabs(random_noise(r));
        b->upper[j] = b->position[j] + 0.02 + 0.3 * fabs(random_noise(r));
    }
    if (!traits->sprung)
        return;
    b->damping[j] = 0.05;
    if (straight) {
        b->stiffness[j] = 3;
        b->motor[j] = (gw_motor){.torque = 0.1, .stiffness = 1, .target = -0.2};
    }
}

/* Body `index` on one before it, more often the last one, or on the ground. */
static inline gw_system_body_def random_body(random_state *r, const random_traits *traits,
                                             int index)
{
    int parent = index == 0 || random_below(r, 8) == 0 ? GW_GROUND
                 : random_below(r, 3)                  ? index - 1
                                                       : random_below(r, index);
    gw_system_body_def b = {.mass = random_mass(r, traits->decades),
                            .parent = parent,
                            .joint = (gw_mobilizer)(1 + random_below(r, GW_MOBILIZER_COUNT - 1)),
                            .parent_from_f = random_pose_within(r, 0.3),
                            .body_from_m = random_pose_within(r, 0.15),
                            .pitch = 0.05,
                            .reversed = random_below(r, 2) == 1,
                            .damping_linear = traits->sprung ? 0.2 : 0,
                            .damping_angular = traits->sprung ? 0.01 : 0};
    for (int j = 0; j < gw_mobilizers[b.joint].dof; j++) {
        b.velocity[j] = random_noise(r);
        b.position[j] = b.rest[j] = 0.3 * random_noise(r);
        random_joint_forces(r, traits, j, &b);
    }
    return b;
}

/* Two bodies joined where they are by another joint. */
static inline gw_closure_def random_closure(random_state *r, gw_system *s, int a, int b)
{
    static const gw_mobilizer kinds[] = {GW_MOBILIZER_SPHERICAL, GW_MOBILIZER_REVOLUTE,
                                         GW_MOBILIZER_PLANAR, GW_MOBILIZER_CYLINDRICAL};
    gw_closure_def c = {.a = a, .b = b};
    gw_pose at[2];
    gw_twist twist;
    gw_model_body(gw_system_model(s), a, &at[0], &twist);
    gw_model_body(gw_system_model(s), b, &at[1], &twist);
    gw_pose joint = {gw_scale(0.5, gw_add(at[0].p, at[1].p)), gw_quat_exp(random_vector(r, 2))};
    for (int i = 0; i < 2; i++) {
        gw_pose body_from_world = gw_pose_inverse(&at[i]);
        at[i] = gw_pose_mul(&body_from_world, &joint);
    }
    c.row_count = gw_mobilizer_rows(kinds[random_below(r, 4)], &at[1], &at[0], c.rows);
    return c;
}

/* NULL where there is no memory, or where loops cannot be closed. */
static inline gw_system *random_system(unsigned long long seed, const random_traits *traits)
{
    gw_system_body_def bodies[RANDOM_BODIES];
    gw_closure_def closures[RANDOM_LOOPS];
    random_state r = seed;
    int count = 1 + random_below(&r, traits->bodies > 0 ? traits->bodies : 1), loops = 0;
    for (int i = 0; i < count; i++)
        bodies[i] = random_body(&r, traits, i);
    gw_system_def def = {.body_count = count,
                         .bodies = bodies,
                         .gravity = {0.3, 0.2, traits->gravity > 0 ? -traits->gravity : -9.81}};
    gw_system *open = gw_system_create(&def, NULL);
    if (!open)
        return NULL;
    for (int want = random_below(&r, traits->loops + 1); loops < want && count > 1; loops++) {
        int a = random_below(&r, count), b = random_below(&r, count);
        closures[loops] = random_closure(&r, open, a, a == b ? (a + 1) % count : b);
    }
    def.closures = closures;
    def.closure_count = loops;
    gw_system *closed = loops > 0 ? gw_system_create(&def, NULL) : open;
    if (closed != open)
        gw_system_destroy(open);
    return closed;
}

#endif
