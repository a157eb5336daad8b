/*
 * The dynamics that the hand feels: the desired impedance (mechanisms eq. 4) against closed
 * forms and its own equations, scaled forces, a grasp at a point; under every control, with the
 * energy that close.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include <math.h>

#include "rt/haptics/desired_impedance.h"
#include "tests/random.h"
#include "tests/unit/playing.h"

static void set_six(double *six, double linear, double angular)
{
    for (int i = 0; i < 6; i++)
        six[i] = i < 3 ? linear : angular;
}

/* ---- pure functions ---------------------------------------------------------------------------
 */

/* A random Lambda^-1 = J J^T of that rank, free acceleration in its range, J-dot v anywhere. */
static void random_state(unsigned long long *seed, int rank, gw_operational_state *out)
{
    double j[6][6], a[6];
    *out = (gw_operational_state){.pose = {{0.1, -0.2, 0.3}, gw_quat_exp(gw_v3(0.4, -0.9, 0.7))},
                                  .twist = {{0.1, 0.2, -0.1}, {0.3, -0.2, 0.4}}};
    for (int k = 0; k < rank; k++) {
        for (int i = 0; i < 6; i++)
            j[k][i] = random_uniform(seed, -1, 1);
        a[k] = random_uniform(seed, -1, 1);
    }
    for (int i = 0; i < 6; i++) {
        out->jdot_v[i] = random_uniform(seed, -0.1, 0.1);
        for (int k = 0; k < rank; k++) {
            out->free_acceleration[i] += j[k][i] * a[k];
            for (int m = 0; m < 6; m++)
                out->inverse_inertia[i][m] += j[k][i] * j[k][m];
        }
    }
}

static void apply(const double m[6][6], gw_wrench w, double out[6])
{
    const double x[6] = {w.f.x, w.f.y, w.f.z, w.t.x, w.t.y, w.t.z};
    for (int i = 0; i < 6; i++) {
        out[i] = 0;
        for (int k = 0; k < 6; k++)
            out[i] += m[i][k] * x[k];
    }
}

/* The model's motion under the wrench is that of the felt state: its own Lambda^-1 F + a equals
 * Lambda_d^-1 F_applied + a_felt, in every direction, whatever the rank. */
static void the_model_moves_as_it_is_felt(void **state)
{
    unsigned long long seed = 7;
    (void)state;
    for (int n = 0; n < 200; n++) {
        gw_operational_state own, felt;
        random_state(&seed, 1 + n % 6, &own);
        gw_desired_impedance d = {.active = false};
        gw_desired_def def = {.has_mass = n % 3 > 0};
        for (int i = 0; i < 6; i++) {
            def.mass[i] = random_uniform(&seed, 0.2, 3);
            def.damping[i] = random_uniform(&seed, 0, 5);
            def.stiffness[i] = random_uniform(&seed, 0, 50);
        }
        gw_desired_take(&d, &def, &(gw_pose){{0.11, -0.2, 0.3}, own.pose.q});
        felt = own;
        gw_desired_begin(&d, &felt, 1e-3);
        gw_wrench applied = {{random_uniform(&seed, -5, 5), 1, -2}, {0.3, -0.1, 0.2}};
        gw_desired_apply(&d, &applied);
        gw_wrench on = gw_desired_wrench(&d, &applied, &own.pose, &own.twist);
        double by_model[6], by_felt[6];
        apply((const double(*)[6])own.inverse_inertia, on, by_model);
        apply((const double(*)[6])felt.inverse_inertia, applied, by_felt);
        for (int i = 0; i < 6; i++) {
            double is = by_model[i] + own.free_acceleration[i],
                   says = by_felt[i] + felt.free_acceleration[i];
            assert_true(fabs(is - says) <= 1e-8 * (1 + fabs(is)));
        }
    }
}

/* On the range of Lambda^-1, M_d times the acceleration is the wrench: n^T M_d Lambda_d^-1 F =
 * n^T F for the motions n that are free (eq. 4), here the columns of Lambda_d^-1 themselves. */
static void free_directions_have_the_desired_mass(void **state)
{
    unsigned long long seed = 11;
    (void)state;
    for (int n = 0; n < 100; n++) {
        gw_operational_state s;
        random_state(&seed, 1 + n % 6, &s);
        s.pose.q = gw_quat_identity();
        gw_desired_def def = {.has_mass = true};
        for (int i = 0; i < 6; i++)
            def.mass[i] = random_uniform(&seed, 1, 3);
        gw_desired_impedance d = {.active = false};
        gw_desired_take(&d, &def, &s.pose);
        gw_desired_begin(&d, &s, 1e-3);
        if (d.too_light > 0)
            continue;
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < 6; k++) {
                double sum = 0;
                for (int m = 0; m < 6; m++)
                    sum += s.inverse_inertia[i][m] * def.mass[m] * s.inverse_inertia[m][k];
                assert_true(fabs(sum - s.inverse_inertia[i][k]) <= 1e-9);
            }
    }
}

/* The spring's wrench is the gradient of its energy, by central differences of the exponential. */
static void the_spring_is_the_gradient_of_its_energy(void **state)
{
    unsigned long long seed = 3;
    (void)state;
    for (int n = 0; n < 50; n++) {
        gw_desired_def def = {.has_mass = false};
        gw_pose rest = {{0.1, 0.2, 0.3}, gw_quat_exp(gw_v3(0.3, 0.5, -0.2))};
        gw_vec3 turn = {random_uniform(&seed, -1, 1), random_uniform(&seed, -1, 1), 0.7};
        gw_pose at = {{0.15, 0.1, 0.33}, gw_quat_mul(rest.q, gw_quat_exp(turn))};
        for (int i = 0; i < 6; i++)
            def.stiffness[i] = random_uniform(&seed, 0, 100);
        gw_desired_impedance d = {.active = false};
        gw_desired_take(&d, &def, &rest);
        const gw_wrench none = {{0, 0, 0}, {0, 0, 0}};
        const gw_twist still = {{0, 0, 0}, {0, 0, 0}};
        gw_wrench w = gw_desired_wrench(&d, &none, &at, &still);
        const double f[6] = {w.f.x, w.f.y, w.f.z, w.t.x, w.t.y, w.t.z};
        for (int i = 0; i < 6; i++) {
            double h = 1e-5, step[6] = {0};
            step[i] = h;
            gw_twist to = {{step[0], step[1], step[2]}, {step[3], step[4], step[5]}};
            gw_twist back = {gw_neg(to.v), gw_neg(to.w)};
            gw_pose ahead = gw_pose_add(&at, &to), behind = gw_pose_add(&at, &back);
            double slope =
                (gw_desired_energy(&d, &ahead) - gw_desired_energy(&d, &behind)) / (2 * h);
            assert_true(fabs(f[i] + slope) <= 1e-7 * (1 + fabs(slope)));
        }
    }
}

/* ---- one body, closed forms -------------------------------------------------------------------
 */

/* A box of 2 kg in the hand, pushed by a scripted wrench. */
static gw_scene *box_scene(const char *driver, gw_wrench push)
{
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    gw_object *o = put(s, "box", box(0.1, 0.2, 0.3), gw_v3(0, 0, 0));
    o->material[0] = 0;
    o->body.source = GW_MASS_GIVEN;
    o->body.mass = 2;
    gw_tool *t = put_tool(s, driver);
    strcpy(t->object, "box");
    gw_operator *op = &s->devices[0].operator;
    op->kind = GW_OPERATOR_WRENCH;
    op->samples = calloc(1, sizeof *op->samples);
    op->samples[0].wrench = push;
    op->count = 1;
    return s;
}

/* So many ticks; the last snapshot's tool and energy. */
static gw_tool_state run_for(gw_scene *scene, int ticks, gw_energy *energy)
{
    play p;
    assert_true(start_play(&p, scene));
    for (int i = 0; i <= ticks; i++)
        tick_play(&p);
    const gw_snapshot *now = gw_simulation_snapshot(p.simulation);
    gw_tool_state state = now->tools[0];
    *energy = now->energy;
    stop_play(&p);
    return state;
}

static void a_box_feels_as_heavy_as_desired(void **state)
{
    gw_energy e;
    (void)state;
    gw_scene *s = box_scene("sim", (gw_wrench){{1, 1, 0}, {0, 0, 0}});
    gw_desired_def *d = &s->tools[0].desired;
    /* the tool's x is the world's y: 4 kg there, 1 kg along the world's x */
    s->tools[0].at.q = gw_quat_axis(gw_v3(0, 0, 1), GW_PI / 2);
    d->has_mass = true;
    set_six(d->mass, 1, 0.1);
    d->mass[0] = 4;
    gw_tool_state end = run_for(s, 1000, &e);
    assert_true(fabs(end.world_from_tool.p.x - 0.5) < 1e-12);
    assert_true(fabs(end.world_from_tool.p.y - 0.125) < 1e-12);
    assert_true(fabs(e.work_in - 0.625) < 1e-12 && fabs(energy_residual(&e)) < 1e-12);
    s = box_scene("sim", (gw_wrench){{0, 0, 0}, {0, 0.01, 0}});
    d = &s->tools[0].desired;
    d->has_mass = true;
    set_six(d->mass, 1, 0.2);
    end = run_for(s, 1000, &e);
    assert_true(fabs(end.twist.w.y - 0.05) < 1e-12 && fabs(energy_residual(&e)) < 1e-12);
}

/* m x'' + b x' + k x = F from rest */
static double oscillator(double m, double b, double k, double f, double t)
{
    double w0 = sqrt(k / m), z = b / (2 * sqrt(k * m)), wd = w0 * sqrt(1 - z * z);
    return f / k * (1 - exp(-z * w0 * t) * (cos(wd * t) + z * w0 / wd * sin(wd * t)));
}

static void a_box_swings_as_desired(void **state)
{
    gw_energy e;
    (void)state;
    for (int with_mass = 0; with_mass < 2; with_mass++) {
        gw_scene *s = box_scene("sim", (gw_wrench){{1, 0, 0}, {0, 0, 0}});
        gw_desired_def *d = &s->tools[0].desired;
        d->has_mass = with_mass;
        set_six(d->mass, 0.5, 0.01);
        set_six(d->damping, 1, 0.1);
        set_six(d->stiffness, 50, 1);
        double m = with_mass ? 0.5 : 2, x = oscillator(m, 1, 50, 1, 2);
        gw_tool_state end = run_for(s, 2000, &e);
        print_message("%g kg: %.3g m from the closed form, energy residual %.3g J\n", m,
                      end.world_from_tool.p.x - x, energy_residual(&e));
        assert_true(fabs(end.world_from_tool.p.x - x) < 1e-9);
        assert_true(fabs(energy_residual(&e)) < 1e-12);
        assert_true(with_mass || e.motors == 0);
    }
}

/* However stiff: it rests at F/k, or creeps at F/b. */
static void stiff_ones_are_right_too(void **state)
{
    gw_energy e;
    (void)state;
    gw_scene *s = box_scene("sim", (gw_wrench){{1, 0, 0}, {0, 0, 0}});
    set_six(s->tools[0].desired.stiffness, 1e7, 1e3);
    gw_tool_state end = run_for(s, 1000, &e);
    assert_true(fabs(end.world_from_tool.p.x - 1e-7) < 1e-12 && fabs(energy_residual(&e)) < 1e-12);
    s = box_scene("sim", (gw_wrench){{1, 0, 0}, {0, 0, 0}});
    set_six(s->tools[0].desired.damping, 1e5, 1e3);
    end = run_for(s, 1000, &e);
    assert_true(fabs(end.twist.v.x - 1e-5) < 1e-12 && fabs(energy_residual(&e)) < 1e-12);
}

/* A mass as the body's own changes nothing, spinning about its middle axis too. */
static void its_own_mass_changes_nothing(void **state)
{
    gw_energy e;
    (void)state;
    gw_pose at[2];
    for (int k = 0; k < 2; k++) {
        gw_scene *s = box_scene("sim", (gw_wrench){{0.2, 0, 0.1}, {0.01, 0, 0}});
        gw_mass own = gw_object_mass(&s->objects[0]);
        s->objects[0].spin = gw_v3(0.1, 3, 0.05);
        s->gravity = gw_v3(0, 0, -9.81);
        gw_desired_def *d = &s->tools[0].desired;
        d->has_mass = k == 1;
        set_six(d->mass, own.mass, 0);
        for (int i = 0; i < 3; i++)
            d->mass[3 + i] = own.inertia.m[i][i];
        at[k] = run_for(s, 1000, &e).world_from_tool;
        assert_true(fabs(energy_residual(&e)) < 1e-8);
    }
    assert_true(gw_pose_distance(&at[0], &at[1], 1) < 1e-9);
}

/* ---- controls, arms, edits --------------------------------------------------------------------
 */

/* Pushed at an impedance device whose mass is the desired one, the device moves as the closed form
 * has it under every control, but for what a coupling stretches and weighs besides. */
static void every_control_shows_it(void **state)
{
    gw_energy e;
    (void)state;
    for (int control = GW_CONTROL_IMPEDANCE; control <= GW_CONTROL_FOUR_CHANNEL; control++) {
        gw_scene *s = box_scene("sim-impedance", (gw_wrench){{1, 0, 0}, {0, 0, 0}});
        gw_tool *t = &s->tools[0];
        gw_desired_def *d = &t->desired;
        t->control = (gw_control_kind)control;
        t->rendering.kind = (gw_control_law)(control - GW_CONTROL_IMPEDANCE);
        t->rendering.passivity = false;
        d->has_mass = true;
        set_six(d->mass, 1, 1);
        set_six(d->damping, 4, 0.1);
        set_six(d->stiffness, 50, 1);
        bool coupled = control == GW_CONTROL_COUPLING;
        double x = oscillator(coupled ? 2 : 1, 4, 50, 1, 0.6);
        gw_tool_state end = run_for(s, 600, &e);
        print_message("control %d: device %.4g m off, energy residual %.2g J\n", control,
                      end.device.p.x - x, energy_residual(&e));
        assert_true(fabs(end.device.p.x - x) < (coupled ? 1e-3 : 3e-5));
        assert_true(fabs(energy_residual(&e)) < 1e-12);
    }
}

/* The arm of Table I at its middle link, two freedoms: along what its joints allow the hand has the
 * desired mass, across nothing moves; at the first tick to rounding. */
static void an_arm_feels_as_heavy_as_desired(void **state)
{
    (void)state;
    play p;
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    put_arm(s, (const double[3]){-0.785, 0.5236, -0.5236});
    for (int i = 0; i < 3; i++)
        s->mechanisms[0].geometries[i].material[0] = 0;
    gw_tool *t = put_tool(s, "sim");
    strcpy(t->mechanism, "arm");
    t->link = 1;
    t->at.p.x = 0.021;
    t->desired.has_mass = true;
    set_six(t->desired.mass, 3, 0.02);
    assert_true(start_play(&p, s));
    command_play(&p, (gw_command){.kind = GW_COMMAND_PUSH, .push.f = {0.4, 0.3, 0}});
    tick_play(&p);
    gw_tool_state one = tick_play(&p)->tools[0];
    /* n^T (F - M_d x'') = 0 for the free motions n, x'' itself among them; of the two here another
     * is its turn by the joints: the link's own, about the joint */
    gw_vec3 a = gw_scale(1e3, one.twist.v);
    double alpha = 1e3 * one.twist.w.z;
    double power = gw_dot((gw_vec3){0.4, 0.3, 0}, a);
    double inertial = 3 * gw_norm2(a) + 0.02 * alpha * alpha;
    print_message("F.a %.9g, a.M_d a %.9g\n", power, inertial);
    assert_true(fabs(power - inertial) < 1e-6 * inertial && inertial > 1e-3);
    for (int i = 0; i < 2000; i++)
        tick_play(&p);
    gw_energy e = gw_simulation_snapshot(p.simulation)->energy;
    assert_true(fabs(energy_residual(&e)) < 1e-12);
    stop_play(&p);
}

/* Nothing pushes and nothing weighs: whatever mass is desired, the links whirl about as they would
 * without a hand, and do not gain from their own motion. */
static void what_whirls_about_gains_nothing(void **state)
{
    (void)state;
    play p;
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    put_arm(s, (const double[3]){-0.785, 0.5236, -0.5236});
    s->gravity = gw_v3(0, 0, 0);
    for (int i = 0; i < 3; i++) {
        s->mechanisms[0].geometries[i].material[0] = 0;
        s->mechanisms[0].velocity[i] = 4 - 7 * i;
    }
    gw_tool *t = put_tool(s, "sim");
    strcpy(t->mechanism, "arm");
    t->link = 1;
    t->at.p.x = 0.021;
    t->desired.has_mass = true;
    set_six(t->desired.mass, 0.02, 2e-5);
    assert_true(start_play(&p, s));
    double initial = tick_play(&p)->energy.kinetic, off = 0;
    for (int i = 0; i < 3000; i++)
        off = fmax(off, fabs(tick_play(&p)->energy.kinetic - initial));
    const gw_snapshot *now = gw_simulation_snapshot(p.simulation);
    print_message("of %.3g J: %.2g gained or lost, motors %.2g J\n", initial, off,
                  now->energy.motors);
    assert_true(initial > 1e-3 && off < 1e-9 * initial && fabs(now->energy.motors) < 1e-12);
    stop_play(&p);
}

/* An edit of the impedance takes effect without a bump and keeps the energy balance. */
static void an_edit_takes_effect_where_the_hand_is(void **state)
{
    (void)state;
    play p;
    gw_scene *s = box_scene("sim", (gw_wrench){{1, 0, 0}, {0, 0, 0}});
    assert_true(start_play(&p, s));
    for (int i = 0; i < 1000; i++)
        tick_play(&p);
    gw_tool_state was = gw_simulation_snapshot(p.simulation)->tools[0];
    set_six(s->tools[0].desired.stiffness, 100, 1);
    set_six(s->tools[0].desired.damping, 30, 1);
    assert_true(change_play(&p, NULL));
    gw_tool_state now = tick_play(&p)->tools[0];
    assert_true(gw_distance(now.world_from_tool.p, was.world_from_tool.p) < 1e-3);
    for (int i = 0; i < 5000; i++)
        now = tick_play(&p)->tools[0];
    gw_energy e = gw_simulation_snapshot(p.simulation)->energy;
    /* at rest 1 cm from where it took effect */
    double from = was.world_from_tool.p.x;
    assert_true(fabs(now.world_from_tool.p.x - from - 0.01) < 1e-3);
    assert_true(gw_norm(now.twist.v) < 1e-6 && fabs(energy_residual(&e)) < 1e-12);
    stop_play(&p);
}

/* ---- scaled forces, a point -------------------------------------------------------------------
 */

/* At s the hand's force counts s times: what is held weighs an s-th in the hand. */
static void scaled_forces_make_light_work(void **state)
{
    gw_energy e;
    (void)state;
    for (int control = GW_CONTROL_ADMITTANCE; control <= GW_CONTROL_PENALTY; control++) {
        bool renders = control != GW_CONTROL_ADMITTANCE;
        for (int k = 0; k < 2; k++) {
            double s = k ? 4 : 0.25;
            gw_scene *scene =
                box_scene(renders ? "sim-impedance" : "sim", (gw_wrench){{1, 0, 0}, {0, 0, 0.01}});
            gw_tool *t = &scene->tools[0];
            double inertia = gw_object_mass(&scene->objects[0]).inertia.m[2][2];
            t->control = (gw_control_kind)control;
            t->rendering.kind = (gw_control_law)(control - GW_CONTROL_IMPEDANCE);
            t->rendering.passivity = false;
            t->force_scale = s;
            gw_tool_state end = run_for(scene, 500, &e);
            double x = s * 0.5 * 0.25 / 2, turn = s * 0.01 * 0.5 / inertia;
            assert_true(fabs(end.device.p.x - x) < 1e-3 * x);
            assert_true(fabs(end.twist.w.z - turn) < 1e-3 * turn);
            assert_true(fabs(end.operator.f.x - s) < 1e-12);
            assert_true(fabs(e.work_in - s * (x + 0.01 * turn * 0.25)) < 1e-3 * e.work_in);
            assert_true(fabs(energy_residual(&e)) < 1e-12);
        }
    }
}

/* A wall's reaction is scaled down: the device gets 1/s of the force on the model. */
static void what_is_felt_goes_out_divided(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        gw_energy e;
        gw_scene *s = box_scene("sim-impedance", (gw_wrench){{1, 0, 0}, {0, 0, 0}});
        s->tools[0].control = GW_CONTROL_COUPLING;
        s->tools[0].rendering.kind = GW_LAW_COUPLING;
        s->tools[0].force_scale = k ? 5 : 0;
        set_six(s->tools[0].desired.stiffness, 1000, 10);
        set_six(s->tools[0].desired.damping, 200, 2);
        gw_tool_state end = run_for(s, 4000, &e);
        print_message("%.9g N, %.9g m\n", end.command.f.x, end.world_from_tool.p.x);
        /* at rest the device holds against the hand's newton, the model feels it scaled */
        assert_true(fabs(end.command.f.x + 1) < 1e-6);
        assert_true(fabs(end.world_from_tool.p.x - (k ? 5e-3 : 1e-3)) < 1e-5);
    }
}

/* Three components of force act and are felt, off the centre of mass they turn the box; the hand's
 * torque turns the device alone. */
static void at_a_point_torques_do_not_act(void **state)
{
    (void)state;
    for (int control = GW_CONTROL_ADMITTANCE; control <= GW_CONTROL_FOUR_CHANNEL; control++) {
        gw_energy e;
        bool renders = control != GW_CONTROL_ADMITTANCE;
        gw_tool_state end[2];
        for (int k = 0; k < 2; k++) {
            gw_wrench push = {{0, 0.1, 0}, {0, 0, k * 0.02}};
            gw_scene *s = box_scene(renders ? "sim-impedance" : "sim", push);
            gw_tool *t = &s->tools[0];
            t->grasp = GW_GRASP_POINT;
            t->at.p.x = 0.05;
            t->control = (gw_control_kind)control;
            t->rendering.kind = (gw_control_law)(control - GW_CONTROL_IMPEDANCE);
            end[k] = run_for(s, 1000, &e);
            assert_true(fabs(energy_residual(&e)) < 1e-12);
        }
        assert_true(gw_pose_distance(&end[0].world_from_tool, &end[1].world_from_tool, 1) < 1e-12);
        assert_true(gw_distance(end[0].device.p, end[1].device.p) < 1e-12);
        assert_true(end[0].twist.w.z > 0.05);
        assert_true(gw_quat_angle(end[0].device.q, gw_quat_identity()) < 1e-9);
        assert_true(gw_quat_angle(end[1].device.q, gw_quat_identity()) > 5e-3);
        assert_true(end[1].operator.t.z == 0 && end[1].command.t.z == 0);
        assert_int_equal(end[1].resisted.count, 0);
    }
}

/* ---- the workspace ----------------------------------------------------------------------------
 */

/* A box kept so far from a point goes as far in half the device's workspace; told, and fitted anew
 * when an edit lets it go farther, with the hand where it is (framework VI-A). */
static void the_map_follows_how_far_the_set_goes(void **state)
{
    (void)state;
    play p;
    gw_scene *s = box_scene("sim", (gw_wrench){{0.5, 0.2, 0}, {0, 0, 0}});
    set_device(s, "workspace_radius", 0.08);
    put(s, "post", box(0.02, 0.02, 0.02), gw_v3(0, 0, -0.2))->fixed = true;
    s->objects[1].material[0] = 0;
    gw_scene_constraint *c = gw_scene_add_constraint(s, NULL);
    strcpy(c->id, "c1");
    c->kind = GW_DISTANCE;
    c->value = 0.2;
    c->enabled = true;
    strcpy(c->a.object, "box");
    strcpy(c->a.feature, "center");
    strcpy(c->b.object, "post");
    strcpy(c->b.feature, "center");
    assert_true(start_play(&p, s));
    for (int i = 0; i < 300; i++)
        tick_play(&p);
    gw_tool_state was = gw_simulation_snapshot(p.simulation)->tools[0];
    assert_true(fabs(was.map_scale - 0.5 * 0.08 / 0.2) < 1e-12);
    assert_true(gw_distance(was.map_centre, gw_v3(0, 0, -0.2)) < 1e-9);
    s->constraints[0].value = 0.4;
    const gw_pose poses[2] = {was.world_from_object, s->objects[1].pose};
    assert_true(change_play(&p, poses));
    gw_tool_state now = tick_play(&p)->tools[0];
    assert_true(fabs(now.map_scale - 0.5 * 0.08 / 0.4) < 1e-12);
    assert_true(now.error_p < 1e-6 && gw_distance(now.device.p, was.device.p) < 1e-3);
    for (int i = 0; i < 3000; i++)
        now = tick_play(&p)->tools[0];
    assert_true(now.error_p < 1e-6);
    assert_true(fabs(gw_distance(now.world_from_object.p, gw_v3(0, 0, -0.2)) - 0.4) < 1e-9);
    stop_play(&p);
}

/* ---- nonholonomic rows, singular postures ------------------------------------------------------
 */

/* A sleigh: rows of positions keep it in the plane, the knife edge lets it not go sideways. Beside
 * its line it is damped and not drawn back; out of the plane it is drawn back. */
static void what_velocities_forbid_is_damped(void **state)
{
    (void)state;
    const double both[3][6] = {{1, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 1}, {0, 0, 0, 0, 0, 0}};
    const double plane[3][6] = {{1, 0, 0, 0, 0, 0}, {0, 0, 0, 0, 0, 1}, {0, 1, 0, 0, 0, 0}};
    gw_impedance_def def = gw_impedance_def_default();
    gw_operational_state s = {.dof = 3, .pose = gw_pose_identity(), .jacobian = both};
    s.positional = plane;
    s.inverse_inertia[0][0] = s.inverse_inertia[5][5] = 1;
    gw_impedance_device d = {.pose = {{0, 0.01, 0.01}, {1, 0, 0, 0}}, .mass = 1, .inertia = 1};
    for (int moves = 0; moves < 2; moves++) {
        gw_impedance_control c;
        gw_impedance_init(&c, &def);
        d.twist.v.y = moves ? 0.1 : 0;
        gw_impedance_pre_step(&c, &s, &d, 1e-3);
        assert_int_equal(c.resisted.count, 4);
        assert_int_equal(c.by_velocities.count, 1);
        assert_true(fabs(c.by_velocities.direction[0][1]) == 1);
        assert_true(fabs(c.work.penalty.f.y + (moves ? 50 * 0.1 : 0)) < 1e-9);
        assert_true(fabs(c.work.penalty.f.z + 200 * 0.01) < 1e-9);
    }
}

static void set_control(gw_tool *t, int control)
{
    t->control = (gw_control_kind)control;
    t->rendering.kind = (gw_control_law)(control - GW_CONTROL_IMPEDANCE);
}

/* So long pushed, with an energy balance that closes and nothing that runs away. */
static void push_through(gw_scene *scene, gw_wrench push, const char *what)
{
    play p;
    double quickest = 0, out = 0;
    assert_true(start_play(&p, scene));
    for (int i = 0; i < 4000; i++) {
        /* there, back and there again */
        gw_command command = {.kind = GW_COMMAND_PUSH};
        double sign = i / 1000 % 2 ? -1 : 1;
        command.push.f = gw_scale(sign, push.f);
        command.push.t = gw_scale(sign, push.t);
        command_play(&p, command);
        const gw_snapshot *s = tick_play(&p);
        quickest = fmax(quickest, gw_norm(s->tools[0].twist.w));
        quickest = fmax(quickest, gw_norm(s->tools[0].twist.v));
        out = fmax(out, fabs(energy_residual(&s->energy)));
    }
    print_message("%s: at most %.3g m/s or rad/s, energy off by %.2g J\n", what, quickest, out);
    assert_true(isfinite(quickest) && quickest < 30);
    assert_true(out < 1e-9);
    stop_play(&p);
}

/* The arm of Table I, stretched out along the push and nearly so, at its last link. */
static void an_arm_passes_singular_postures(void **state)
{
    (void)state;
    for (int control = GW_CONTROL_ADMITTANCE; control <= GW_CONTROL_FOUR_CHANNEL; control++)
        for (int desired = 0; desired < 2; desired++) {
            char what[48];
            gw_scene *s = malloc(sizeof *s);
            *s = gw_scene_default();
            put_arm(s, (const double[3]){0, desired ? 1e-3 : 0, 0});
            for (int i = 0; i < 3; i++)
                s->mechanisms[0].geometries[i].material[0] = 0;
            gw_tool *t = put_tool(s, control ? "sim-impedance" : "sim");
            strcpy(t->mechanism, "arm");
            t->link = 2;
            t->at.p.x = 0.015;
            set_control(t, control);
            t->desired.has_mass = desired;
            set_six(t->desired.mass, 2, 0.05);
            set_six(t->desired.damping, 2 * desired, 0.02 * desired);
            snprintf(what, sizeof what, "arm, control %d, desired %d", control, desired);
            push_through(s, (gw_wrench){{0.6, 0.4, 0}, {0, 0, 0.01}}, what);
        }
}

static void turn_about(gw_scene *s, const char *id, const char *a, double on_a, const char *b,
                       double on_b)
{
    gw_scene_joint *j = gw_scene_add_joint(s, NULL);
    snprintf(j->id, sizeof j->id, "%s", id);
    snprintf(j->a.object, sizeof j->a.object, "%s", a);
    snprintf(j->b.object, sizeof j->b.object, "%s", b);
    j->type = GW_MOBILIZER_REVOLUTE;
    j->a.at = j->b.at = gw_pose_identity();
    j->a.at.p.x = on_a;
    j->b.at.p.x = on_b;
    j->enabled = true;
}

/* A parallelogram that lies in line, where a second motion begins, held at its coupler. */
static void a_loop_passes_singular_postures(void **state)
{
    static const char *const bars[] = {"crank", "coupler", "rocker"};
    static const double at[] = {0, 0.1, 0.3};
    (void)state;
    for (int control = GW_CONTROL_ADMITTANCE; control <= GW_CONTROL_FOUR_CHANNEL; control++)
        for (int desired = 0; desired < 2; desired++) {
            char what[48];
            gw_scene *s = malloc(sizeof *s);
            *s = gw_scene_default();
            for (int i = 0; i < 3; i++) {
                gw_object *o = put(s, bars[i], box(0.1, 0.01, 0.01), gw_v3(at[i], 0, 0));
                o->material[0] = 0;
                o->body.source = GW_MASS_GIVEN;
                o->body.mass = 1;
                o->body.damping_angular = 0.002;
            }
            put(s, "ground", box(0.01, 0.01, 0.01), gw_v3(0, 0, -1))->fixed = true;
            s->objects[3].material[0] = 0;
            s->objects[3].pose.p = gw_v3(0, 0, 0);
            turn_about(s, "j1", "crank", 0, "ground", 0);
            turn_about(s, "j2", "coupler", 0, "crank", 0.1);
            turn_about(s, "j3", "rocker", 0, "ground", 0.3);
            turn_about(s, "j4", "coupler", 0.3, "rocker", 0.1);
            gw_tool *t = put_tool(s, control ? "sim-impedance" : "sim");
            strcpy(t->object, "coupler");
            t->at.p.x = 0.15;
            set_control(t, control);
            t->desired.has_mass = desired;
            set_six(t->desired.mass, 2, 0.05);
            snprintf(what, sizeof what, "loop, control %d, desired %d", control, desired);
            push_through(s, (gw_wrench){{0.2, 0.3, 0}, {0, 0, 0}}, what);
        }
}

/* ---- what is refused, what is told ------------------------------------------------------------
 */

static void what_cannot_be_is_told(void **state)
{
    gw_error error = {0};
    (void)state;
    gw_scene *s = box_scene("sim", (gw_wrench){{1, 0, 0}, {0, 0, 0}});
    s->tools[0].desired.has_mass = true;
    set_six(s->tools[0].desired.mass, 1, 0);
    assert_false(gw_scene_check(s, &error));
    assert_string_equal(error.where, "/tools/0/desired/mass/3");
    set_six(s->tools[0].desired.mass, 1e-3, 1);
    s->tools[0].desired.damping[2] = -1;
    assert_false(gw_scene_check(s, &error));
    assert_string_equal(error.where, "/tools/0/desired/damping/2");
    s->tools[0].desired.damping[2] = 0;
    gw_energy e;
    gw_tool_state end = run_for(s, 1000, &e); /* 1 g of 2 kg: 20 g are felt, along three axes */
    assert_int_equal(end.too_light, 3);
    assert_true(fabs(end.world_from_tool.p.x - 25) < 1e-6 && fabs(energy_residual(&e)) < 1e-6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_model_moves_as_it_is_felt),
        cmocka_unit_test(free_directions_have_the_desired_mass),
        cmocka_unit_test(the_spring_is_the_gradient_of_its_energy),
        cmocka_unit_test(a_box_feels_as_heavy_as_desired),
        cmocka_unit_test(a_box_swings_as_desired),
        cmocka_unit_test(stiff_ones_are_right_too),
        cmocka_unit_test(its_own_mass_changes_nothing),
        cmocka_unit_test(every_control_shows_it),
        cmocka_unit_test(an_arm_feels_as_heavy_as_desired),
        cmocka_unit_test(what_whirls_about_gains_nothing),
        cmocka_unit_test(an_edit_takes_effect_where_the_hand_is),
        cmocka_unit_test(scaled_forces_make_light_work),
        cmocka_unit_test(what_is_felt_goes_out_divided),
        cmocka_unit_test(at_a_point_torques_do_not_act),
        cmocka_unit_test(the_map_follows_how_far_the_set_goes),
        cmocka_unit_test(what_velocities_forbid_is_damped),
        cmocka_unit_test(an_arm_passes_singular_postures),
        cmocka_unit_test(a_loop_passes_singular_postures),
        cmocka_unit_test(what_cannot_be_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
