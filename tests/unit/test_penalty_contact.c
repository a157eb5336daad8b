/*
 * Penalty and friction forces of a batch of contacts against the law, contact by contact.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/contact/kinematics.h"
#include "rt/contact/penalty_contact.h"
#include "tests/unit/detector_fixture.h"

enum { CONTACTS = 7, TRIES = 2000 };

static gw_pose some_pose(unsigned *seed)
{
    return (gw_pose){some_vector(seed, 1), gw_quat_exp(some_vector(seed, 1))};
}

/* A candidate of random points, with more or less penetration, and of edges that are 1.1 rad apart
 * with the bodies in these poses. */
static gw_contact_candidate some_candidate(unsigned *seed, int i, const gw_pose *a,
                                           const gw_pose *b)
{
    gw_vec3 edge = gw_unit(some_vector(seed, 1));
    gw_vec3 other = gw_unit(gw_mul_add(gw_any_normal(edge), 0.5, edge));
    gw_contact_candidate c = {.point_a = some_vector(seed, 0.1),
                              .point_b = some_vector(seed, 0.1),
                              .radius_a = 0.5 + 0.5 * some(seed),
                              .radius_b = 0.5 + 0.5 * some(seed),
                              .kind = (gw_normal_kind)(i % 4),
                              .normal = gw_unit(some_vector(seed, 1)),
                              .edge_a = gw_unrotate(a->q, edge),
                              .edge_b = gw_unrotate(b->q, other)};
    if (i % 8 == 3) { /* both are rims, or one is the axis of a cone */
        c.bow_a = gw_scale(some(seed), gw_any_normal(c.edge_a));
        if (i % 16 == 3)
            c.bow_b = gw_scale(some(seed), gw_any_normal(c.edge_b));
        else
            c.taper_b = 0.3 * some(seed);
    }
    /* some on a bent surface */
    if (i % 3 != 0 || (c.kind != GW_NORMAL_IN_A && c.kind != GW_NORMAL_IN_B))
        return c;
    c.bend = (gw_curvatures){.curvature = {3 * some(seed), 3 * some(seed)},
                             .direction = {gw_any_normal(c.normal), {0, 0, 0}}};
    c.bend.direction[1] = gw_cross(c.normal, c.bend.direction[0]);
    return c;
}

static gw_penalty_contact some_contact(unsigned *seed, const gw_contact_candidate *candidate,
                                       bool sticks)
{
    return (gw_penalty_contact){.candidate = candidate,
                                .is_a = true,
                                .stiffness = 100,
                                .damping = 1,
                                .rest_penetration = 0.01,
                                .friction = 0.4,
                                .viscous = 5,
                                .tangential_stiffness = sticks ? 50 : 0,
                                .tangential_damping = sticks ? 1 : 0,
                                .slip = sticks ? some_vector(seed, 0.1) : gw_v3(0, 0, 0),
                                .anchor_a = candidate->point_a,
                                .anchor_b = candidate->point_b};
}

/* The law for one contact: force on a. */
static gw_vec3 by_law(const gw_penalty_contact *c, const gw_gap *g, const gw_pose *a,
                      const gw_twist *va, const gw_pose *b, const gw_twist *vb)
{
    gw_vec3 u = gw_sub(gw_velocity_at(a, va, g->at_a), gw_velocity_at(b, vb, g->at_b));
    double depth = -g->gap - c->rest_penetration, rate = gw_dot(g->normal, u);
    double push = depth > 0 ? fmax(0, c->stiffness * depth - c->damping * rate) : 0;
    gw_vec3 across = gw_reject(u, g->normal), drag;
    if (c->tangential_stiffness > 0) {
        gw_vec3 apart = gw_sub(gw_pose_point(a, c->anchor_a), gw_pose_point(b, c->anchor_b));
        gw_vec3 x = gw_add(c->slip, gw_reject(apart, g->normal));
        drag =
            gw_add(gw_scale(-c->tangential_stiffness, x), gw_scale(-c->tangential_damping, across));
        drag = gw_scale(fmin(1, c->friction * push / gw_norm(drag)), drag);
    } else {
        double slow = fmin(c->viscous, c->friction * push / fmax(gw_norm(across), 1e-3));
        drag = gw_scale(-slow, across);
    }
    return gw_add(gw_scale(push, g->normal), drag);
}

static void a_batch_gives_the_sum_of_the_contacts_forces(void **state)
{
    (void)state;
    unsigned seed = 1;
    int loaded = 0;
    for (int k = 0; k < TRIES; k++) {
        gw_pose a = some_pose(&seed), b = some_pose(&seed);
        gw_twist va = {some_vector(&seed, 1), some_vector(&seed, 1)}, vb = va;
        vb.v = some_vector(&seed, 1);
        gw_body_motion on_a = gw_body_motion_of(&a, &va), on_b = gw_body_motion_of(&b, &vb);
        gw_wrench law = {{0, 0, 0}, {0, 0, 0}}, all = law, back = law;
        gw_penalty_batch f, g;
        gw_contact_candidate candidates[CONTACTS];
        gw_penalty_batch_init(&f, 0);
        gw_penalty_batch_init(&g, 0);
        for (int i = 0; i < CONTACTS; i++) {
            candidates[i] = some_candidate(&seed, i + k, &a, &b);
            gw_penalty_contact c = some_contact(&seed, &candidates[i], k % 2), other = c;
            gw_gap gap = gw_gap_at(&candidates[i], &a, &b);
            gw_vec3 force = by_law(&c, &gap, &a, &va, &b, &vb);
            gw_wrench on = gw_wrench_at(&a, gap.at_a, force);
            law = gw_wrench_add(law, on);
            loaded += gw_norm(force) > 0;
            other.is_a = false;
            gw_penalty_batch_add(&f, &c, 0);
            gw_penalty_batch_set_other(&f, f.count - 1, &on_b);
            gw_penalty_batch_add(&g, &other, 0);
            gw_penalty_batch_set_other(&g, g.count - 1, &on_a);
            if (f.count < GW_LANES && i + 1 < CONTACTS)
                continue;
            gw_penalty_batch_apply(&f, &on_a, 1e-3, &all);
            gw_penalty_batch_apply(&g, &on_b, 1e-3, &back);
            gw_penalty_batch_init(&f, 0);
            gw_penalty_batch_init(&g, 0);
        }
        double size = 1 + gw_norm(law.f) + gw_norm(law.t);
        assert_true(gw_distance(all.f, law.f) <= 1e-12 * size);
        assert_true(gw_distance(all.t, law.t) <= 1e-12 * size);
        assert_true(gw_norm(gw_add(all.f, back.f)) <= 1e-12 * size);
    }
    print_message("%d of %d contacts loaded\n", loaded, TRIES * CONTACTS);
    assert_true(loaded > TRIES);
}

/* Lanes of several bodies: each contact as by itself, on both of its bodies. */
static void lanes_of_several_bodies_give_each_contact_its_force(void **state)
{
    (void)state;
    unsigned seed = 2;
    int loaded = 0;
    for (int k = 0; k < TRIES; k++) {
        gw_body_motion mine[GW_LANES], other[GW_LANES];
        const gw_body_motion *of[GW_LANES];
        gw_contact_candidate candidates[GW_LANES];
        gw_penalty_contact contacts[GW_LANES];
        gw_penalty_batch f;
        gw_penalty_forces forces;
        gw_penalty_batch_init(&f, 0);
        for (int i = 0; i < GW_LANES; i++) {
            gw_pose a = some_pose(&seed), b = some_pose(&seed);
            gw_twist va = {some_vector(&seed, 1), some_vector(&seed, 1)};
            gw_twist vb = {some_vector(&seed, 1), some_vector(&seed, 1)};
            mine[i] = gw_body_motion_of(&a, &va);
            other[i] = gw_body_motion_of(&b, &vb);
            of[i] = &mine[i];
            candidates[i] = some_candidate(&seed, i + k, &a, &b);
            contacts[i] = some_contact(&seed, &candidates[i], k % 2);
            gw_penalty_batch_add(&f, &contacts[i], i);
            gw_penalty_batch_set_other(&f, i, &other[i]);
        }
        gw_penalty_batch_apply_between(&f, of, 1e-3, &forces);
        for (int i = 0; i < GW_LANES; i++) {
            gw_wrench on_a = {{0, 0, 0}, {0, 0, 0}}, on_b = on_a;
            gw_penalty_batch one;
            for (int side = 0; side < 2; side++) {
                contacts[i].is_a = side == 0;
                gw_penalty_batch_init(&one, 0);
                gw_penalty_batch_add(&one, &contacts[i], 0);
                gw_penalty_batch_set_other(&one, 0, side == 0 ? &other[i] : &mine[i]);
                gw_penalty_batch_apply(&one, side == 0 ? &mine[i] : &other[i], 1e-3,
                                       side == 0 ? &on_a : &on_b);
            }
            gw_wrench is_a = {{forces.force.x[i], forces.force.y[i], forces.force.z[i]},
                              {forces.torque.x[i], forces.torque.y[i], forces.torque.z[i]}};
            gw_vec3 about_b = {forces.other_torque.x[i], forces.other_torque.y[i],
                               forces.other_torque.z[i]};
            double size = 1e-12 * (1 + gw_norm(on_a.f) + gw_norm(on_a.t) + gw_norm(on_b.t));
            loaded += gw_norm(on_a.f) > 0;
            assert_true(gw_distance(is_a.f, on_a.f) <= size);
            assert_true(gw_distance(is_a.t, on_a.t) <= size);
            assert_true(gw_norm(gw_add(is_a.f, on_b.f)) <= size);
            assert_true(gw_distance(about_b, on_b.t) <= size);
        }
    }
    assert_true(loaded > TRIES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_batch_gives_the_sum_of_the_contacts_forces),
        cmocka_unit_test(lanes_of_several_bodies_give_each_contact_its_force)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
