/*
 * Contacts of chains: five pendulums as a cradle, links that collide with one another.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "rt/contact/world.h"
#include "tests/unit/link_fixture.h"

enum { BALLS = 5 };

static const double radius = 0.05, length = 0.5;

typedef struct row {
    serial_def def[BALLS];
    serial chain[BALLS];
    gw_world_system system[BALLS];
    gw_contact_candidate candidates[BALLS];
    gw_world *world;
    gw_world_step_result last;
    double generated, dissipated;
    int collisions;
} row;

static gw_mass ball_mass(double mass, gw_vec3 at)
{
    double i = 0.4 * mass * radius * radius;
    return (gw_mass){.mass = mass, .com = at, .inertia = {{{i, 0, 0}, {0, i, 0}, {0, 0, i}}}};
}

static void open_world(row *r, int systems, int bodies_each, int candidates, gw_contact_rules rules)
{
    gw_world_body bodies[2 * BALLS];
    gw_world_def def = {.system_count = systems,
                        .model_bytes = r->chain[0].model->ops->size,
                        .body_count = systems * bodies_each,
                        .bodies = bodies,
                        .rules = rules};
    for (int i = 0; i < def.body_count; i++)
        bodies[i] = (gw_world_body){.model = i / bodies_each, .index = i % bodies_each};
    r->world = gw_world_create(&def, NULL);
    gw_world_set_candidates(r->world, r->candidates, candidates);
}

/* Balls that hang side by side; the first is drawn aside by `angle`. */
static void hang(row *r, double angle, gw_contact_rules rules)
{
    memset(r, 0, sizeof *r);
    for (int i = 0; i < BALLS; i++) {
        serial_def *d = &r->def[i];
        d->count = 1;
        d->held = -1;
        d->gravity = gw_v3(0, 0, -9.81);
        d->world_from_base = (gw_pose){{2 * radius * i, 0, 0}, gw_quat_identity()};
        d->links[0] = (gw_link_def){.parent_from_joint = gw_pose_identity(),
                                    .axis = {0, 1, 0},
                                    .mass = ball_mass(1, gw_v3(0, 0, -length))};
        double q = i == 0 ? angle : 0;
        serial_open(&r->chain[i], d, &q, NULL);
        r->system[i].model = r->chain[i].model;
    }
    for (int i = 0; i + 1 < BALLS; i++)
        r->candidates[i] = (gw_contact_candidate){.key = (uint64_t)i + 1,
                                                  .a = i + 1,
                                                  .b = i,
                                                  .point_a = {0, 0, -length},
                                                  .point_b = {0, 0, -length},
                                                  .radius_a = radius,
                                                  .radius_b = radius,
                                                  .kind = GW_NORMAL_BETWEEN,
                                                  .surface = {.restitution = 1}};
    open_world(r, BALLS, 1, BALLS - 1, rules);
}

static double energy(const row *r, int systems)
{
    double sum = r->last.spring;
    for (int i = 0; i < systems; i++) {
        double kinetic, potential;
        gw_model_energy(r->system[i].model, &kinetic, &potential);
        sum += kinetic + potential;
    }
    return sum;
}

static double narrowest(const row *r)
{
    double least = INFINITY;
    for (int i = 0; i + 1 < BALLS; i++) {
        gw_pose a, b;
        gw_twist t;
        gw_model_body(r->system[i].model, 0, &a, &t);
        gw_model_body(r->system[i + 1].model, 0, &b, &t);
        gw_vec3 hang_at = {0, 0, -length};
        gw_vec3 d = gw_sub(gw_pose_point(&b, hang_at), gw_pose_point(&a, hang_at));
        least = fmin(least, d.x < 0 ? -gw_norm(d) : gw_norm(d) - 2 * radius);
    }
    return least;
}

static void pendulums_swing_ten_times(void **state)
{
    (void)state;
    static row r;
    for (int rule = 0; rule < 3; rule++) {
        gw_contact_rules rules = {
            .colliding = rule == 1 ? GW_COLLIDING_APPROACHING : GW_COLLIDING_TOUCHING,
            .impulse = rule == 2 ? GW_IMPULSE_NON_ADHESIVE : GW_IMPULSE_PSEUDO_INVERSE};
        hang(&r, 0.4, rules);
        double hung = -BALLS * 9.81 * length; /* at rest, all down */
        double start = energy(&r, BALLS), gap = 0, rise = 0, lowest = start;
        for (int k = 0; k < 15000; k++) { /* a swing takes 1.43 s */
            gw_world_step_all(r.world, r.system, 1e-3, &r.last);
            gap = fmin(gap, narrowest(&r));
            r.collisions += r.last.collisions;
            r.generated += r.last.generated;
            rise = fmax(rise, energy(&r, BALLS) - lowest);
            lowest = energy(&r, BALLS);
        }
        double lost = (start - energy(&r, BALLS)) / (start - hung);
        print_message(
            "rule %d: %d collisions, %.2e of the energy lost, generated %.1e J, gap never "
            "below %.1e m\n",
            rule, r.collisions, lost, r.generated, gap);
        assert_true(gap > -1e-5);
        assert_true(fabs(lost) < 1e-4);
        assert_true(rise <= 1e-9);
        gw_world_destroy(r.world);
    }
}

/* ---- links of one chain ------------------------------------------------------------------------
 */

/* Two balls on one rail, the second's joint on the first link: a free pair that is one system. */
static void rail(row *r, double v0, double v1, double m1, double e, bool each)
{
    memset(r, 0, sizeof *r);
    serial_def *d = &r->def[0];
    d->count = 2;
    d->held = -1;
    d->world_from_base = gw_pose_identity();
    for (int i = 0; i < 2; i++)
        d->links[i] = (gw_link_def){.kind = GW_JOINT_PRISMATIC,
                                    .parent_from_joint = gw_pose_identity(),
                                    .axis = {1, 0, 0},
                                    .mass = ball_mass(i ? m1 : 1, gw_v3(0, 0, 0))};
    double q[2] = {0, 2 * radius + 0.0005}, v[2] = {v0, v1 - v0};
    serial_open(&r->chain[0], d, q, v);
    r->system[0].model = r->chain[0].model;
    r->candidates[0] = (gw_contact_candidate){.key = 1,
                                              .a = 1,
                                              .b = 0,
                                              .radius_a = radius,
                                              .radius_b = radius,
                                              .kind = GW_NORMAL_BETWEEN,
                                              .surface = {.restitution = e}};
    open_world(r, 1, 2, 1, (gw_contact_rules){.self_each_link = each});
}

/* eq. 11 is Newton's law on the pair; (12) and (13) turn each link round. */
static void links_that_hit_one_another_follow_their_rule(void **state)
{
    (void)state;
    static row r;
    for (int each = 0; each < 2; each++)
        for (int i = 0; i <= 4; i++) {
            double e = 0.25 * i, v0 = 1, v1 = -0.2, m1 = 3;
            rail(&r, v0, v1, m1, e, each);
            double before = energy(&r, 1);
            for (int k = 0; k < 3; k++)
                gw_world_step_all(r.world, r.system, 1e-3, &r.last);
            serial_read(&r.chain[0]);
            double a = r.chain[0].v[0], b = a + r.chain[0].v[1];
            double momentum = a + m1 * b - (v0 + m1 * v1);
            if (e == 0.5)
                print_message("%s, e = 0.5: kinetic energy %+.3f J, momentum %+.3f N s\n",
                              each ? "each link" : "the pair", energy(&r, 1) - before, momentum);
            assert_true(energy(&r, 1) <= before + 1e-12);
            if (each) {
                assert_true(fabs(a + e * v0) < 1e-9 && fabs(b + e * v1) < 1e-9);
            } else {
                assert_true(fabs(momentum) < 1e-12);
                assert_true(fabs(b - a - e * (v0 - v1)) < 1e-9);
            }
            gw_world_destroy(r.world);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pendulums_swing_ten_times),
        cmocka_unit_test(links_that_hit_one_another_follow_their_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
