/*
 * lambda of a held chain: what the held link's neighbours pass on to it, against closed forms, the
 * momentum's rate, and a body that constraints guide.
 */
#include "tests/unit/link_fixture.h"

#include "rt/dynamics/guided.h"
#include "tests/unit/scenario_fixture.h"

static gw_wrench constraint(serial *chain, const gw_forces *forces)
{
    gw_step step;
    serial_step(chain, forces, 1e-3, &step);
    assert_true(step.finite);
    return step.constraint;
}

static void a_push_across_the_plane_is_carried_by_the_joints(void **state)
{
    (void)state;
    serial_def def = fixture_table_one(0);
    gw_wrench push = {{0, 0, 5}, {0, 0, 0}};
    gw_forces forces = {.at = constant, .context = &push};
    def.link_from_held.p.x = 0.02;
    for (int i = 0; i < 6; i++) {
        serial chain;
        def.held = i / 2;
        serial_open(&chain, &def, (double[3]){0.3, -0.5, 0.9}, NULL);
        if (i % 2 == 1)
            serial_in_space(&chain);
        gw_wrench lambda = constraint(&chain, &forces);
        near3(lambda.f, gw_v3(0, 0, -5), 1e-12);
        near3(lambda.t, gw_v3(0, 0, 0), 1e-12);
    }
}

static void a_push_along_a_freedom_is_not_carried(void **state)
{
    (void)state;
    serial_def def = fixture_rods(1, 0, 2, 0.01, 0);
    gw_wrench push = {{5, 0, 0}, {0, 0, 0}};
    gw_forces forces = {.at = constant, .context = &push};
    serial chain;
    def.links[0].kind = GW_JOINT_PRISMATIC;
    def.links[0].axis = gw_v3(1, 0, 0);
    def.held = 0;
    serial_open(&chain, &def, NULL, NULL);
    near3(constraint(&chain, &forces).f, gw_v3(0, 0, 0), 1e-12);
    push.f = gw_v3(3, 4, 0);
    near3(constraint(&chain, &forces).f, gw_v3(0, -4, 0), 1e-12);
}

/* m g cos(a) + m l w^2 towards the pivot, a from hanging; nothing across a massless rod. */
static void a_pendulums_rod_pulls_as_in_closed_form(void **state)
{
    (void)state;
    serial_def def = fixture_rods(1, 4, 1.5, 0, 9.81);
    double a = 0.7, w = 3, length = 2, q = a - GW_PI / 2;
    serial chain;
    def.held = 0;
    def.link_from_held.p.x = length;
    for (int i = 0; i < 2; i++) {
        serial_open(&chain, &def, &q, &w);
        if (i == 1)
            serial_in_space(&chain);
        double tension = 1.5 * (9.81 * cos(a) + length * w * w);
        gw_wrench lambda = constraint(&chain, NULL);
        near3(lambda.f, gw_v3(-tension * cos(q), -tension * sin(q), 0), 1e-12 * tension);
        near3(lambda.t, gw_v3(0, 0, 0), 1e-12);
    }
}

static void a_hinge_carries_as_much_as_that_of_a_guided_body(void **state)
{
    (void)state;
    gw_guided_def guided = fixture_body(fixture_set(GW_ROTATION_AXIS, GW_LOCUS_POINT, false));
    serial_def def = fixture_rods(1, 0, 0, 0, 0);
    gw_wrench push = {{3, -2, 5}, {0.4, 0.1, 0.2}};
    gw_forces forces = {.at = constant, .context = &push};
    gw_twist spin = {{0, 0, 0}, {0, 0, 4}};
    gw_pose start = gw_pose_identity();
    gw_guided body;
    serial chain;
    gw_step step;
    guided.mass.com = gw_v3(0.1, 0.02, -0.05);
    guided.mass.inertia =
        (gw_mat3){{{0.02, 0.002, -0.001}, {0.002, 0.03, 0.004}, {-0.001, 0.004, 0.025}}};
    guided.gravity = def.gravity = gw_v3(1, -2, -9);
    guided.body_from_held.p = gw_v3(0.2, 0.1, 0.05);
    def.links[0].mass = guided.mass;
    def.link_from_held = guided.body_from_held;
    def.held = 0;
    gw_guided_init(&body, &guided, &start);
    gw_guided_set_twist(&body, &spin);
    serial_open(&chain, &def, NULL, &spin.w.z);
    for (int i = 0; i < 500; i++) {
        gw_model_step(&body.model, &forces, 1e-3, &step);
        gw_wrench lambda = constraint(&chain, &forces);
        near3(lambda.f, step.constraint.f, 1e-9);
        near3(lambda.t, step.constraint.t, 1e-9);
    }
}

/* ---- against the momentum's rate ------------------------------------------------------------ */

static void touch_all(const void *context, double t, const gw_pose *pose, const gw_twist *twist,
                      gw_wrench *on)
{
    (void)t, (void)pose, (void)twist;
    for (int i = 0; i < *(const int *)context; i++)
        on[i] = (gw_wrench){{0.3 * i, -1, 2}, {0.1, 0.02 * i, -0.3}};
}

/* The link's momentum, angular about `point`. */
static gw_wrench momentum(const serial *chain, int link, gw_vec3 point)
{
    const gw_mass *mass = &chain->def->links[link].mass;
    gw_pose pose;
    gw_twist twist;
    gw_model_body(chain->model, link, &pose, &twist);
    gw_vec3 com = gw_rotate(pose.q, mass->com);
    gw_vec3 p = gw_scale(mass->mass, gw_add(twist.v, gw_cross(twist.w, com)));
    gw_vec3 own = gw_rotate(pose.q, gw_mat3_mul(&mass->inertia, gw_unrotate(pose.q, twist.w)));
    return (gw_wrench){p, gw_add(own, gw_cross(gw_sub(gw_add(pose.p, com), point), p))};
}

/* Accelerations of the joints by another way than the step's. */
static void accelerations(const serial *chain, const gw_wrench *push, double *a)
{
    int n = chain->def->count;
    double force[GW_MAX_LINKS] = {0}, columns[GW_MAX_LINKS][6], drift[6];
    gw_wrench on[GW_MAX_LINKS];
    touch_all(&n, 0, NULL, NULL, on);
    gw_model_jacobian(chain->model, columns, drift);
    for (int i = 0; i < n; i++) {
        gw_model_pull_back(chain->model, i, &on[i], force);
        force[i] += push->f.x * columns[i][0] + push->f.y * columns[i][1] +
                    push->f.z * columns[i][2] + push->t.x * columns[i][3] +
                    push->t.y * columns[i][4] + push->t.z * columns[i][5];
    }
    gw_model_apply_inverse(chain->model, force, force);
    gw_model_free_acceleration(chain->model, a);
    for (int i = 0; i < n; i++)
        a[i] += force[i];
}

/* d(momentum)/dt - weight - hand - contact, by central differences. */
static gw_wrench expected(const serial *chain, const gw_wrench *push)
{
    const double h = 1e-5;
    const serial_def *def = chain->def;
    int link = def->held;
    double a[GW_MAX_LINKS], q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    gw_wrench m[2], on[GW_MAX_LINKS];
    gw_pose held, pose;
    gw_twist twist;
    gw_model_held(chain->model, &held, &twist);
    gw_model_body(chain->model, link, &pose, &twist);
    accelerations(chain, push, a);
    for (int side = 0; side < 2; side++) {
        serial then;
        double s = side == 0 ? h : -h;
        for (int i = 0; i < def->count; i++) {
            q[i] = chain->q[i] + s * chain->v[i] + 0.5 * s * s * a[i];
            v[i] = chain->v[i] + s * a[i];
        }
        serial_open(&then, def, q, v);
        m[side] = momentum(&then, link, held.p);
    }
    touch_all(&def->count, 0, NULL, NULL, on);
    gw_vec3 com = gw_sub(gw_pose_point(&pose, def->links[link].mass.com), held.p);
    gw_vec3 weight = gw_scale(def->links[link].mass.mass, def->gravity);
    gw_vec3 f = gw_add(weight, gw_add(push->f, on[link].f));
    gw_vec3 t = gw_add(gw_cross(com, weight), gw_add(push->t, on[link].t));
    t = gw_add(t, gw_cross(gw_sub(pose.p, held.p), on[link].f));
    return (gw_wrench){gw_sub(gw_scale(0.5 / h, gw_sub(m[0].f, m[1].f)), f),
                       gw_sub(gw_scale(0.5 / h, gw_sub(m[0].t, m[1].t)), t)};
}

static void it_is_the_momentums_rate_less_what_acts(serial_def def)
{
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    gw_wrench push = {{4, -7, 5}, {0.3, 0.4, -0.2}};
    gw_forces forces = {.at = constant,
                        .context = &push,
                        .contact_wrenches = touch_all,
                        .contact_context = &def.count};
    fixture_joints(q, v);
    def.links[0].damping = 0.2;
    def.links[1].motor = (gw_motor){.torque = 3, .stiffness = 4};
    for (def.held = 0; def.held < def.count; def.held++) {
        serial chain;
        serial_open(&chain, &def, q, v);
        gw_wrench right = expected(&chain, &push), lambda = constraint(&chain, &forces);
        assert_true(gw_norm(lambda.f) > 1 && gw_norm(lambda.t) > 0.05);
        near3(lambda.f, right.f, 1e-7);
        near3(lambda.t, right.t, 1e-7);
    }
}

static void constraint_wrench_of_skew_chains_matches_momentum_differences(void **state)
{
    (void)state;
    it_is_the_momentums_rate_less_what_acts(fixture_skew(7));
}

static void constraint_wrench_of_planar_chains_matches_momentum_differences(void **state)
{
    (void)state;
    serial_def def = fixture_rods(5, 0.3, 1, 0.01, 0);
    def.gravity = gw_v3(1, -2, -9);
    def.link_from_held.p = gw_v3(0.1, 0.07, -0.03);
    for (int i = 0; i < 5; i++) {
        def.links[i].mass.com.z = 0.1 * i;
        def.links[i].mass.inertia.m[0][2] = def.links[i].mass.inertia.m[2][0] = 0.002;
    }
    it_is_the_momentums_rate_less_what_acts(def);
}

/* An arm that comes through being outstretched, pushed along itself. */
static void constraint_wrench_is_continuous_through_a_singular_posture(void **state)
{
    (void)state;
    serial_def def = fixture_table_one(0);
    gw_wrench push = {{20, 1, 3}, {0.3, 0.1, 0.2}}, last = {{0, 0, 0}, {0, 0, 0}};
    gw_forces forces = {.at = constant, .context = &push};
    def.held = 2;
    for (int i = -1000; i <= 1000; i++) {
        serial chain;
        double bend = 1e-5 * i;
        serial_open(&chain, &def, (double[3]){0.2, bend, -2 * bend}, NULL);
        gw_wrench lambda = constraint(&chain, &forces);
        if (i > -1000) {
            near3(lambda.f, last.f, 1e-3);
            near3(lambda.t, last.t, 1e-4);
        }
        last = lambda;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_push_across_the_plane_is_carried_by_the_joints),
        cmocka_unit_test(a_push_along_a_freedom_is_not_carried),
        cmocka_unit_test(a_pendulums_rod_pulls_as_in_closed_form),
        cmocka_unit_test(a_hinge_carries_as_much_as_that_of_a_guided_body),
        cmocka_unit_test(constraint_wrench_of_skew_chains_matches_momentum_differences),
        cmocka_unit_test(constraint_wrench_of_planar_chains_matches_momentum_differences),
        cmocka_unit_test(constraint_wrench_is_continuous_through_a_singular_posture),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
