/*
 * A serial mechanism as a system, against closed forms, published solutions, finite differences and
 * itself.
 */
#include "tests/unit/link_fixture.h"

static void run(serial *chain, const gw_forces *forces, double dt, int steps)
{
    gw_step step;
    for (int i = 0; i < steps; i++) {
        serial_step(chain, forces, dt, &step);
        assert_true(step.finite);
    }
}

/* ---- problems with known answers ------------------------------------------------------------ */

/* IFToMM library of computational benchmark problems, A01. */
static void simple_pendulum_matches_the_library_of_problems(void **state)
{
    (void)state;
    serial_def def = fixture_rods(1, 2, 1, 0, 9.81);
    double start = GW_PI, period = 2.367841947576237;
    gw_pose held;
    gw_twist twist;
    serial chain;
    def.link_from_held.p.x = 1;
    def.held = 0;
    serial_open(&chain, &def, &start, NULL);
    run(&chain, NULL, 1e-3, 1000);
    gw_model_held(chain.model, &held, &twist);
    near3(held.p, gw_v3(0.98629175113188, -0.16501085312554, 0), 1e-10);
    run(&chain, NULL, 1e-3, 4000);
    gw_model_held(chain.model, &held, &twist);
    near3(held.p, gw_v3(-0.94230543504376, -0.334754338414, 0), 1e-10);
    run(&chain, NULL, 1e-3, 5000);
    gw_model_held(chain.model, &held, &twist);
    near3(held.p, gw_v3(-0.27508746257612, -0.96141920509913, 0), 1e-9);
    serial_open(&chain, &def, &start, NULL);
    run(&chain, NULL, period / 2368, 2368);
    near(chain.q[0], start, 1e-10);
    near(chain.v[0], 0, 1e-10);
}

/* Point masses of 1 kg on rods of 1 m, both let go from horizontal: by long double integration with
 * an energy error below 1e-14. */
static void double_pendulum_follows_its_reference(void **state)
{
    (void)state;
    serial_def def = fixture_rods(2, 1, 1, 0, 9.81);
    double start[2] = {0, 0};
    serial chain;
    for (int i = 0; i < 2; i++)
        def.links[i].mass.com.x = 1;
    serial_open(&chain, &def, start, NULL);
    const double at[3][3] = {{1000, -0.6250876998064, -1.0345850856800},
                             {1000, -0.4829715342518, -1.3240487123024},
                             {3000, -0.6271867050665, -1.3013155502098}};
    for (int i = 0; i < 3; i++) {
        run(&chain, NULL, 1e-3, (int)at[i][0]);
        /* angles from down */
        near(chain.q[0] + GW_PI / 2, at[i][1], 1e-7);
        near(chain.q[0] + chain.q[1] + GW_PI / 2, at[i][2], 1e-7);
    }
}

/* Mechanisms, Table I: 0.4 N at the centre of mass of a link; long double integration. */
static void table_one(int held, double arm, const double *at_one, const double *at_five)
{
    serial_def def = fixture_table_one(0);
    double start[3] = {-GW_PI / 4, GW_PI / 6, -GW_PI / 6};
    gw_wrench push = {{0.4, 0, 0}, {0, 0, 0}};
    gw_forces forces = {.at = constant, .context = &push};
    serial chain;
    def.held = held;
    def.link_from_held.p.x = arm;
    serial_open(&chain, &def, start, NULL);
    run(&chain, &forces, 1e-3, 1000);
    for (int i = 0; i < 3; i++)
        near(chain.q[i], at_one[i], 1e-12);
    run(&chain, &forces, 1e-3, 4000);
    for (int i = 0; i < 3; i++)
        near(chain.q[i], at_five[i], 1e-10);
}

static void planar_chain_held_at_its_middle_moves_as_computed_elsewhere(void **state)
{
    (void)state;
    table_one(1, 0.021, (double[]){-0.542665404168883, 0.287282286696226, -0.559620335212593},
              (double[]){0.405244083808917, 0.097857478250625, -1.458906217239951});
}

static void planar_chain_held_at_its_last_link_moves_as_computed_elsewhere(void **state)
{
    (void)state;
    table_one(2, 0.015, (double[]){-0.559759122655306, 0.352383924898412, -0.231200884589350},
              (double[]){0.546616124718270, -0.192631531935809, -0.529333014676313});
}

/* ---- energy --------------------------------------------------------------------------------- */

/* The largest energy error of ten seconds' swing from horizontal, of the peak kinetic energy. */
static double swing_at(const serial_def *def, double rate)
{
    serial chain;
    serial_open(&chain, def, NULL, NULL);
    double start = serial_energy(&chain), worst = 0, peak = 0;
    for (int i = 0; i < 10 * rate; i++) {
        run(&chain, NULL, 1 / rate, 1);
        worst = fmax(worst, fabs(serial_energy(&chain) - start));
        peak = fmax(peak, chain.kinetic);
    }
    assert_true(peak > 1);
    return worst / peak;
}

static double swing(const serial_def *def)
{
    return swing_at(def, 1000);
}

static void three_links_keep_their_energy_at_any_rate(void **state)
{
    (void)state;
    const double rates[] = {250, 500, 2000, 8000};
    serial_def paper = fixture_table_one(9.81), rods = fixture_rods(3, 1, 1, 1. / 12, 9.81);
    for (int i = 0; i < 4; i++) {
        assert_true(swing_at(&paper, rates[i]) <= 1e-9);
        assert_true(swing_at(&rods, rates[i]) <= 1e-9);
    }
}

static void three_links_keep_their_energy(void **state)
{
    (void)state;
    serial_def paper = fixture_table_one(9.81), rods = fixture_rods(3, 1, 1, 1. / 12, 9.81);
    /* each of 10000 steps may be out by 1e-12 of the kinetic energy */
    assert_true(swing(&paper) <= 1e-10);
    assert_true(swing(&rods) <= 1e-10);
}

static void whips_keep_their_energy_in_substeps(void **state)
{
    (void)state;
    serial_def whip = fixture_rods(20, 1, 1, 1. / 12, 9.81);
    serial_def snake = fixture_rods(64, 1, 1, 1. / 12, 9.81);
    assert_true(swing(&whip) <= 5e-10);
    assert_true(swing(&snake) <= 5e-10);
    /* no step of a millisecond resolves these */
    serial_def lash = fixture_rods(20, 0.05, 0.05, 0.05 * 0.05 * 0.05 / 12, 9.81);
    assert_true(swing(&lash) <= 5e-7);
}

/* Counts the stages of steps. */
static gw_wrench count_stages(const void *context, double t, const gw_pose *held,
                              const gw_twist *twist)
{
    (void)t, (void)held, (void)twist;
    ++*(int *)context;
    return (gw_wrench){{0, 0, 0}, {0, 0, 0}};
}

/* 20 m of rods in a row across the weight, at rest: their heights are rounded by more than their
 * first motion has energy, which no finer step mends. */
static void rounding_asks_for_no_finer_steps(void **state)
{
    (void)state;
    serial_def def = fixture_rods(20, 1, 1, 1. / 12, 9.81);
    serial chain;
    int stages = 0;
    gw_forces forces = {.at = count_stages, .context = &stages};
    for (int i = 0; i < def.count; i++) {
        def.links[i].axis = gw_unit(gw_v3(i % 2 ? 1 : 0, i % 3 ? 0.5 : 0, 1));
        def.links[i].parent_from_joint.q = gw_quat_axis(gw_v3(1, 0, 0), 0.7 * i);
    }
    def.world_from_base.q = gw_quat_exp(gw_v3(0.3, -0.4, 0.2));
    def.gravity = gw_rotate(def.world_from_base.q, def.gravity);
    serial_open(&chain, &def, NULL, NULL);
    run(&chain, &forces, 1e-3, 500);
    print_message("%d stages in 500 steps from rest\n", stages);
    assert_true(stages <= 8 * 500);
    near(serial_energy(&chain), 0, 1e-10 * chain.kinetic);
}

static void skew_chain_with_slides_keeps_its_energy(void **state)
{
    (void)state;
    serial_def def = fixture_skew(6);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    serial chain;
    fixture_joints(q, v);
    serial_open(&chain, &def, q, v);
    double start = serial_energy(&chain);
    run(&chain, NULL, 1e-3, 2000);
    assert_true(chain.kinetic > 10);
    near(serial_energy(&chain), start, 1e-9 * chain.kinetic);
}

static int calls;

static gw_wrench counted(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    (void)context, (void)t, (void)held, (void)twist;
    calls++;
    return (gw_wrench){{0, 0, 0}, {0, 0, 0}};
}

static void a_step_takes_a_bounded_number_of_substeps(void **state)
{
    (void)state;
    serial_def def = fixture_rods(20, 0.01, 0.001, 1e-9, 9.81);
    gw_forces forces = {.at = counted, .context = NULL};
    serial chain;
    serial_open(&chain, &def, NULL, NULL);
    int most = 0;
    for (int i = 0; i < 1000; i++) {
        calls = 0;
        run(&chain, &forces, 1e-3, 1);
        most = calls > most ? calls : most;
    }
    assert_true(most > 7); /* it needed more than one */
    print_message("at most %d stages\n", most);
    assert_true(most <= 11 * 24); /* sixteen substeps of eighth order, and those repeated */
}

/* ---- dynamics ------------------------------------------------------------------------------- */

static void free_acceleration_is_the_steps_derivative(void **state)
{
    (void)state;
    serial_def def = fixture_skew(7);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], a[GW_MAX_LINKS], h = 1e-6;
    serial chain;
    fixture_joints(q, v);
    def.links[1].damping = 0.2;
    def.links[3].motor = (gw_motor){.torque = 0.7, .stiffness = 5, .target = 1};
    serial_open(&chain, &def, q, v);
    gw_model_free_acceleration(chain.model, a);
    run(&chain, NULL, h, 1);
    for (int i = 0; i < 7; i++)
        near((chain.v[i] - v[i]) / h, a[i], 2e-3 * fmax(1, fabs(a[i])));
    serial_open(&chain, &def, q, v);
    run(&chain, NULL, -h, 1);
    for (int i = 0; i < 7; i++) {
        serial ahead;
        serial_open(&ahead, &def, q, v);
        run(&ahead, NULL, h, 1);
        near((ahead.v[i] - chain.v[i]) / (2 * h), a[i], 1e-7 * fmax(1, fabs(a[i])));
    }
}

/* ---- momentum: slides along x and y and a turn are a free body in the plane ------------------ */

static void body_on_slides_flies_as_a_free_one(void **state)
{
    (void)state;
    serial_def def = fixture_rods(3, 0, 0, 0, 9.81);
    double v[3] = {2, 5, 7};
    serial chain;
    def.links[0].kind = def.links[1].kind = GW_JOINT_PRISMATIC;
    def.links[0].axis = gw_v3(1, 0, 0);
    def.links[1].axis = gw_v3(0, 1, 0);
    def.links[2].mass = fixture_rod_mass(0.5, 2, 0.1);
    serial_open(&chain, &def, NULL, v);
    run(&chain, NULL, 1e-3, 1000);
    gw_twist twist;
    gw_pose pose;
    gw_model_body(chain.model, 2, &pose, &twist);
    gw_vec3 com = gw_pose_point(&pose, gw_v3(0.25, 0, 0));
    gw_vec3 velocity = gw_add(twist.v, gw_cross(twist.w, gw_sub(com, pose.p)));
    /* its centre of mass set out from (0.25, 0) with (2, 5 + 7 x 0.25) */
    near3(com, gw_v3(2.25, 6.75 - 9.81 / 2, 0), 1e-11);
    near3(velocity, gw_v3(2, 6.75 - 9.81, 0), 1e-11);
    near(twist.w.z, 7, 1e-12);
}

/* ---- what acts on it ------------------------------------------------------------------------ */

typedef struct touching {
    int link;
    gw_wrench wrench;
} touching;

static void touch_one(const void *context, double t, const gw_pose *pose, const gw_twist *twist,
                      gw_wrench *on)
{
    const touching *one = context;
    (void)t, (void)pose, (void)twist;
    on[one->link] = one->wrench;
}

static void wrenches_on_links_act_as_pulled_back_and_as_held(void **state)
{
    (void)state;
    serial_def def = fixture_skew(6);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], h = 1e-7;
    double free[GW_MAX_LINKS], force[GW_MAX_LINKS] = {0}, more[GW_MAX_LINKS];
    touching one = {3, {{0.3, -0.8, 0.5}, {0.1, 0.2, -0.4}}};
    gw_forces touched = {.contact_wrenches = touch_one, .contact_context = &one};
    gw_forces held = {.at = constant, .context = &one.wrench};
    serial a, b;
    gw_step step;
    fixture_joints(q, v);
    serial_open(&a, &def, q, v);
    gw_model_free_acceleration(a.model, free);
    gw_model_pull_back(a.model, 3, &one.wrench, force);
    gw_model_apply_inverse(a.model, force, more);
    serial_step(&a, &touched, h, &step);
    assert_true(step.finite && step.work == 0);
    for (int i = 0; i < 6; i++)
        near((a.v[i] - v[i]) / h, free[i] + more[i], 1e-3);
    def.held = 3;
    def.link_from_held = gw_pose_identity();
    serial_open(&a, &def, q, v);
    serial_open(&b, &def, q, v);
    run(&a, &touched, 1e-3, 100);
    run(&b, &held, 1e-3, 100);
    for (int i = 0; i < 6; i++)
        near(a.q[i], b.q[i], 1e-10);
}

static gw_wrench pulling(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    (void)context;
    gw_vec3 to = gw_sub(gw_v3(0.3, 0.4 + t, 0.1), held->p);
    gw_vec3 x = gw_rotate(held->q, gw_v3(1, 0, 0));
    return (gw_wrench){gw_mul_add(gw_scale(40, to), -1, twist->v),
                       gw_mul_add(gw_cross(x, gw_v3(0.5, 0, 0.5)), -0.1, twist->w)};
}

static void drag_all(const void *context, double t, const gw_pose *pose, const gw_twist *twist,
                     gw_wrench *on)
{
    (void)t;
    for (int i = 0; i < *(const int *)context; i++)
        on[i] = (gw_wrench){gw_mul_add(gw_scale(-0.2, twist[i].v), -0.3, pose[i].p),
                            gw_rotate(pose[i].q, gw_v3(0.01, 0.02, 0.03))};
}

/* The recursion in the plane against the general one, whatever way the plane lies. */
static void planar_chain_moves_as_a_general_one(void **state)
{
    (void)state;
    serial_def def = fixture_rods(5, 0.3, 1, 0.01, 0);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], work[2] = {0, 0};
    gw_forces forces = {.at = pulling,
                        .context = NULL,
                        .contact_wrenches = drag_all,
                        .contact_context = &def.count};
    serial planar, general;
    gw_step step;
    def.world_from_base = (gw_pose){{0.1, -0.2, 0.3}, gw_quat_exp(gw_v3(0.3, -0.4, 0.2))};
    def.gravity = gw_v3(1, -2, -9);
    for (int i = 0; i < 5; i++) {
        gw_link_def *link = &def.links[i];
        link->axis = gw_rotate(gw_quat_exp(gw_v3(0.4 * i, 0.2, 0)), gw_v3(0, 0, 1));
        gw_quat last = gw_quat_exp(gw_v3(0.4 * (i - 1), 0.2, 0));
        gw_quat now = gw_quat_conj(gw_quat_exp(gw_v3(0.4 * i, 0.2, 0)));
        gw_quat about = gw_quat_axis(gw_v3(0, 0, 1), 0.3 * i);
        link->parent_from_joint.q =
            i > 0 ? gw_quat_mul(last, gw_quat_mul(about, now)) : gw_quat_exp(gw_v3(1, 2, 3));
        link->parent_from_joint.p = gw_v3(0.1 * i, 0.2, 0.05);
        link->mass.com = gw_v3(0.1, 0.03 * i, -0.05);
        link->mass.inertia =
            (gw_mat3){{{.02, .002, -.001}, {.002, .03, .004}, {-.001, .004, .025}}};
    }
    def.held = 3;
    def.link_from_held = (gw_pose){{0.1, 0.07, -0.03}, gw_quat_exp(gw_v3(0.1, 0.9, -0.3))};
    fixture_joints(q, v);
    serial_open(&planar, &def, q, v);
    serial_open(&general, &def, q, v);
    assert_true(planar.system->all_planar);
    serial_in_space(&general);
    for (int i = 0; i < 500; i++) {
        serial_step(&planar, &forces, 1e-3, &step);
        work[0] += step.work;
        serial_step(&general, &forces, 1e-3, &step);
        work[1] += step.work;
    }
    for (int i = 0; i < 5; i++)
        near(planar.q[i], general.q[i], 1e-9);
    assert_true(fabs(work[0]) > 0.1);
    near(work[0], work[1], 1e-9);
}

static void energy_gained_is_the_hands_work(void **state)
{
    (void)state;
    serial_def def = fixture_skew(5);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], work = 0;
    gw_wrench push = {{3, -2, 5}, {0.4, 0.1, -0.3}};
    gw_forces forces = {.at = constant, .context = &push};
    serial chain;
    gw_step step;
    fixture_joints(q, v);
    serial_open(&chain, &def, q, v);
    double start = serial_energy(&chain);
    for (int i = 0; i < 1000; i++) {
        serial_step(&chain, &forces, 1e-3, &step);
        work += step.work;
    }
    assert_true(fabs(work) > 0.1);
    near(serial_energy(&chain) - start, work, 1e-9 * chain.kinetic);
}

/* ---- the table's other parts ---------------------------------------------------------------- */

static void velocity_changes_change_the_kinetic_energy(void **state)
{
    (void)state;
    serial_def def = fixture_skew(5);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], dv[5] = {0.1, -0.2, 0.3, 0.4, -0.5}, now[5];
    serial chain, other;
    fixture_joints(q, v);
    serial_open(&chain, &def, q, v);
    gw_model_kick(chain.model, dv);
    serial_read(&chain);
    for (int i = 0; i < 5; i++)
        v[i] += dv[i];
    serial_open(&other, &def, q, v);
    gw_model_velocity(chain.model, now);
    assert_memory_equal(now, v, sizeof now);
    gw_pose pose[2];
    gw_twist twist[2];
    gw_model_body(chain.model, 4, &pose[0], &twist[0]);
    gw_model_body(other.model, 4, &pose[1], &twist[1]);
    assert_memory_equal(&twist[0], &twist[1], sizeof twist[0]);
    double before = chain.kinetic;
    near(gw_system_scale_velocity(chain.system, 0.5), 0.75 * before, 1e-14 * before);
    serial_read(&chain);
    near(chain.kinetic, 0.25 * before, 1e-14 * before);
}

static void a_restored_copy_continues_bit_for_bit(void **state)
{
    (void)state;
    const int counts[] = {3, 5, 17, 64};
    for (int c = 0; c < 4; c++) {
        serial_def def = fixture_skew(counts[c]);
        static unsigned char copy[100000];
        double q[GW_MAX_LINKS];
        serial chain;
        serial_open(&chain, &def, NULL, NULL);
        run(&chain, NULL, 1e-3, 50);
        size_t size = chain.model->ops->size;
        assert_true(size <= sizeof copy);
        memcpy(copy, chain.model, size);
        run(&chain, NULL, 1e-3, 50);
        memcpy(q, chain.q, sizeof q);
        memcpy(chain.model, copy, size);
        run(&chain, NULL, 1e-3, 50);
        assert_memory_equal(chain.q, q, (size_t)counts[c] * sizeof *q);
    }
}

static void a_failed_step_leaves_the_chain_at_rest_in_place(void **state)
{
    (void)state;
    serial_def def = fixture_skew(4);
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    gw_wrench push = {{NAN, 0, 0}, {0, 0, 0}};
    gw_forces forces = {.at = constant, .context = &push};
    serial chain;
    gw_step step;
    fixture_joints(q, v);
    serial_open(&chain, &def, q, v);
    serial_step(&chain, &forces, 1e-3, &step);
    assert_false(step.finite);
    assert_memory_equal(chain.q, q, 4 * sizeof *q);
    for (int i = 0; i < 4; i++)
        assert_true(chain.v[i] == 0);
    assert_true(chain.kinetic == 0);
    run(&chain, NULL, 1e-3, 10);
    assert_true(chain.kinetic > 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(simple_pendulum_matches_the_library_of_problems),
        cmocka_unit_test(double_pendulum_follows_its_reference),
        cmocka_unit_test(planar_chain_held_at_its_middle_moves_as_computed_elsewhere),
        cmocka_unit_test(planar_chain_held_at_its_last_link_moves_as_computed_elsewhere),
        cmocka_unit_test(three_links_keep_their_energy),
        cmocka_unit_test(three_links_keep_their_energy_at_any_rate),
        cmocka_unit_test(whips_keep_their_energy_in_substeps),
        cmocka_unit_test(rounding_asks_for_no_finer_steps),
        cmocka_unit_test(skew_chain_with_slides_keeps_its_energy),
        cmocka_unit_test(a_step_takes_a_bounded_number_of_substeps),
        cmocka_unit_test(free_acceleration_is_the_steps_derivative),
        cmocka_unit_test(body_on_slides_flies_as_a_free_one),
        cmocka_unit_test(wrenches_on_links_act_as_pulled_back_and_as_held),
        cmocka_unit_test(planar_chain_moves_as_a_general_one),
        cmocka_unit_test(energy_gained_is_the_hands_work),
        cmocka_unit_test(velocity_changes_change_the_kinetic_energy),
        cmocka_unit_test(a_restored_copy_continues_bit_for_bit),
        cmocka_unit_test(a_failed_step_leaves_the_chain_at_rest_in_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
