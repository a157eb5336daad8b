/*
 * A chain's frames, Jacobians and inertia against composed poses, finite differences and itself.
 */
#include "tests/unit/link_fixture.h"

/* ---- frames against composition of poses ---------------------------------------------------- */

static gw_pose link_by_composition(const serial_def *def, const double *q, int link)
{
    gw_pose pose = def->world_from_base;
    for (int i = 0; i <= link; i++) {
        const gw_link_def *l = &def->links[i];
        gw_pose joint = gw_pose_identity();
        if (l->kind == GW_JOINT_REVOLUTE)
            joint.q = gw_quat_axis(l->axis, q[i]);
        else
            joint.p = gw_scale(q[i], l->axis);
        pose = gw_pose_mul(&pose, &l->parent_from_joint);
        pose = gw_pose_mul(&pose, &joint);
    }
    return pose;
}

static void link_poses_are_composed_joint_poses(void **state)
{
    (void)state;
    serial_def def = fixture_skew(9);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    gw_pose poses[GW_MAX_LINKS], held;
    gw_twist twists[GW_MAX_LINKS], twist;
    serial chain;
    fixture_joints(q, v);
    def.held = 5;
    serial_open(&chain, &def, q, v);
    for (int i = 0; i < 9; i++)
        gw_model_body(chain.model, i, &poses[i], &twists[i]);
    for (int i = 0; i < 9; i++) {
        gw_pose by_hand = link_by_composition(&def, q, i);
        assert_true(gw_pose_distance(&poses[i], &by_hand, 1) <= 1e-14);
    }
    gw_model_held(chain.model, &held, &twist);
    gw_pose by_hand = gw_pose_mul(&poses[5], &def.link_from_held);
    assert_true(gw_pose_distance(&held, &by_hand, 1) <= 1e-14);
}

/* The held frame's twist after the joints went on by s v. */
static gw_twist held_twist(const serial_def *def, const double *q, const double *v, double s)
{
    double moved[GW_MAX_LINKS];
    serial chain;
    gw_pose held;
    gw_twist twist;
    for (int i = 0; i < def->count; i++)
        moved[i] = q[i] + s * v[i];
    serial_open(&chain, def, moved, v);
    gw_model_held(chain.model, &held, &twist);
    return twist;
}

static void jacobian_and_bias_match_finite_differences(void **state)
{
    (void)state;
    serial_def def = fixture_skew(7);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], columns[GW_MAX_LINKS][6], drift[6], h = 1e-5;
    fixture_joints(q, v);
    for (def.held = 0; def.held < 7; def.held++) {
        serial chain;
        gw_twist sum = {{0, 0, 0}, {0, 0, 0}};
        serial_open(&chain, &def, q, v);
        gw_model_jacobian(chain.model, columns, drift);
        for (int k = 0; k < 7; k++) {
            const double *c = columns[k];
            double ahead[GW_MAX_LINKS] = {0};
            ahead[k] = 1;
            gw_twist t = held_twist(&def, q, ahead, 0);
            near3(t.v, gw_v3(c[0], c[1], c[2]), 1e-14);
            near3(t.w, gw_v3(c[3], c[4], c[5]), 1e-14);
            /* against poses: a step of the joint moves the frame along its column */
            double there[GW_MAX_LINKS];
            memcpy(there, q, sizeof there);
            there[k] += h;
            gw_pose held = link_by_composition(&def, there, def.held);
            held = gw_pose_mul(&held, &def.link_from_held);
            there[k] -= 2 * h;
            gw_pose back = link_by_composition(&def, there, def.held);
            back = gw_pose_mul(&back, &def.link_from_held);
            gw_twist d = gw_pose_sub(&held, &back);
            near3(gw_scale(0.5 / h, d.v), t.v, 1e-9);
            near3(gw_scale(0.5 / h, d.w), t.w, 1e-9);
            sum.v = gw_mul_add(sum.v, v[k], t.v);
            sum.w = gw_mul_add(sum.w, v[k], t.w);
        }
        gw_twist now = held_twist(&def, q, v, 0);
        near3(now.v, sum.v, 1e-13);
        near3(now.w, sum.w, 1e-13);
        gw_twist after = held_twist(&def, q, v, h), before = held_twist(&def, q, v, -h);
        near3(gw_scale(0.5 / h, gw_sub(after.v, before.v)), gw_v3(drift[0], drift[1], drift[2]),
              1e-8);
        near3(gw_scale(0.5 / h, gw_sub(after.w, before.w)), gw_v3(drift[3], drift[4], drift[5]),
              1e-8);
    }
}

/* ---- inertia -------------------------------------------------------------------------------- */

static void inverse_by_recursion_undoes_composite_bodies(int count)
{
    serial_def def = fixture_skew(count);
    static double d[GW_MAX_LINKS][GW_MAX_LINKS];
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], kinetic = 0;
    serial chain;
    fixture_joints(q, v);
    serial_open(&chain, &def, q, v);
    gw_tree_mass_matrix(chain.system, &d[0][0], GW_MAX_LINKS);
    for (int k = 0; k < count; k++) {
        double unit[GW_MAX_LINKS] = {0}, a[GW_MAX_LINKS], size = 0;
        unit[k] = 1;
        gw_model_apply_inverse(chain.model, unit, a);
        for (int i = 0; i < count; i++)
            size = fmax(size, fabs(a[i]) * d[i][i]);
        for (int i = 0; i < count; i++) {
            double sum = 0;
            for (int j = 0; j < count; j++)
                sum += d[i][j] * a[j];
            near(sum, unit[i], 1e-12 * fmax(1, size));
            kinetic += i == k ? 0.5 * v[k] * d[k][k] * v[k] : 0.5 * v[i] * d[i][k] * v[k];
        }
    }
    near(kinetic, chain.kinetic, 1e-12 * kinetic);
}

static void inverse_inertia_undoes_the_composite_body_matrix(void **state)
{
    (void)state;
    inverse_by_recursion_undoes_composite_bodies(1);
    inverse_by_recursion_undoes_composite_bodies(7);
    inverse_by_recursion_undoes_composite_bodies(64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(link_poses_are_composed_joint_poses),
        cmocka_unit_test(jacobian_and_bias_match_finite_differences),
        cmocka_unit_test(inverse_inertia_undoes_the_composite_body_matrix),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
