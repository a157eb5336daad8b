/*
 * Springs, friction, limits and motors of ball joints, against closed forms.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/free_fixture.h"

#define G       9.81
#define INERTIA (0.4 * 1 * 0.05 * 0.05) /* of the ball below, about any axis (kg m^2) */

static const gw_vec3 axis = {0.6, 0, 0.8};

/* A ball of 1 kg and 0.05 m that turns about its centre; the joint's frames are askew. */
static gw_scene *turning(gw_scene_joint **joint)
{
    gw_scene *s = new_scene();
    s->gravity = gw_v3(0, 0, 0);
    gw_object *o = add_ball(s, "ball", gw_v3(0, 0, 0), 0.05);
    o->body = (gw_body){.source = GW_MASS_GIVEN, .mass = 1};
    gw_scene_joint *j = gw_scene_add_joint(s, NULL);
    strcpy(j->id, "j");
    j->type = GW_MOBILIZER_SPHERICAL;
    j->enabled = true;
    strcpy(j->a.object, "ball");
    strcpy(j->b.object, GW_WORLD_FRAME);
    j->a.at = j->b.at = gw_pose_identity();
    *joint = j;
    return s;
}

static void set(double to[6], gw_vec3 x)
{
    to[0] = x.x, to[1] = x.y, to[2] = x.z;
}

static gw_vec3 first_three(const double *x)
{
    return gw_v3(x[0], x[1], x[2]);
}

/* From rest `amplitude` off, about a skew axis: amplitude cos(sqrt(k / I) t). */
static void a_spring_swings_about_any_axis(void **state)
{
    (void)state;
    const double k = 2, amplitude = 1.2, rate = sqrt(k / INERTIA);
    gw_scene_joint *j;
    running r;
    gw_scene *s = turning(&j);
    gw_vec3 rest = gw_scale(0.5, axis);
    double off = 0, worst = 0;
    set(j->stiffness, gw_v3(k, k, k));
    set(j->rest, rest);
    j->has_position = true;
    set(j->position, gw_scale(0.5 + amplitude, axis));
    running_open(&r, s);
    for (int i = 0; i < 1000; i++) {
        const gw_snapshot *now = running_tick(&r);
        gw_vec3 turn = first_three(now->coordinates);
        gw_vec3 right = gw_scale(0.5 + amplitude * cos(rate * i * 1e-3), axis);
        off = fmax(off, gw_distance(turn, right));
        worst = fmax(worst, fabs(energy_error(now)));
    }
    print_message("spring: %.2g rad off, energy balance off by %.2g J\n", off, worst);
    assert_true(off < 1e-7 && worst < 1e-9);
    running_close(&r);
}

/* Stiffness of its own about each axis: the energy stays, whatever the body does. */
static void a_spring_with_three_stiffnesses_keeps_energy(void **state)
{
    (void)state;
    gw_scene_joint *j;
    running r;
    gw_scene *s = turning(&j);
    set(j->stiffness, gw_v3(1, 3, 0.5));
    set(j->rest, gw_v3(0.2, -0.1, 0.3));
    j->has_position = true;
    set(j->position, gw_v3(0.9, 0.4, -0.6));
    running_open(&r, s);
    double worst = 0, first = 0;
    for (int i = 0; i < 2000; i++) {
        const gw_energy *e = &running_tick(&r)->energy;
        if (i == 0)
            first = e->kinetic + e->potential;
        worst = fmax(worst, fabs(e->kinetic + e->potential - first));
    }
    print_message("anisotropic: energy %.6g J, out by %.2g\n", first, worst);
    assert_true(first > 0.1 && worst < 1e-8 * first);
    running_close(&r);
}

/* As stiff as no explicit step bears: it yields to a push by torque / k. */
static void a_stiff_spring_holds(void **state)
{
    (void)state;
    gw_scene_joint *j;
    running r;
    gw_scene *s = turning(&j);
    set(j->stiffness, gw_v3(1e6, 1e6, 1e6));
    set(j->damping, gw_v3(10, 10, 10));
    running_open(&r, s);
    gw_command retired, push = {.kind = GW_COMMAND_PUSH, .push.t = gw_scale(50, axis)};
    strcpy(push.object, "ball");
    gw_simulation_apply(r.simulation, &push, &retired);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 500; i++)
        now = running_tick(&r);
    gw_vec3 turn = first_three(now->coordinates);
    print_message("stiff: (%.3g %.3g %.3g) rad\n", turn.x, turn.y, turn.z);
    assert_true(gw_distance(turn, gw_scale(50 / 1e6, axis)) < 1e-9);
    running_close(&r);
}

/* Coulomb: w = w0 - F t / I along w, until it stops; then a torque below F moves it no more. */
static void friction_stops_a_spin_about_any_axis(void **state)
{
    (void)state;
    const double friction = 1e-3, spin = 0.5, stops = INERTIA * spin / friction;
    gw_scene_joint *j;
    running r;
    gw_scene *s = turning(&j);
    set(j->friction, gw_v3(friction, friction, friction));
    j->has_velocity = true;
    set(j->velocity, gw_scale(spin, axis));
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    double off = 0, worst = 0;
    for (int i = 0; i < 1500; i++) {
        now = running_tick(&r);
        double t = i * 1e-3;
        if (t < stops - 0.02)
            off = fmax(off, gw_norm(gw_reject(first_three(now->rates), axis)));
        worst = fmax(worst, fabs(energy_error(now)));
        if (i == 250)
            assert_true(fabs(gw_dot(first_three(now->rates), axis) -
                             (spin - friction * t / INERTIA)) < 1e-9 * spin);
    }
    double left = gw_norm(first_three(now->rates));
    print_message(
        "friction: %.2g rad/s across, %.2g left after %.3g s; %.9f J of %.9f went; energy "
        "balance off by %.2g J\n",
        off, left, stops, now->energy.dissipated, 0.5 * INERTIA * spin * spin, worst);
    assert_true(off < 1e-9 && left < 1e-6 && worst < 1e-9);
    assert_true(fabs(now->energy.dissipated - 0.5 * INERTIA * spin * spin) < 1e-5);
    gw_vec3 at = first_three(now->coordinates);
    gw_command retired, push = {.kind = GW_COMMAND_PUSH, .push.t = gw_scale(0.8 * friction, axis)};
    strcpy(push.object, "ball");
    gw_simulation_apply(r.simulation, &push, &retired);
    for (int i = 0; i < 1000; i++)
        now = running_tick(&r);
    assert_true(gw_distance(first_three(now->coordinates), at) < 1e-3);
    assert_true(gw_norm(first_three(now->rates)) < 1e-6);
    running_close(&r);
}

/* A rod on a ball joint falls over to the cone's edge and rests there, however it spins; a whole
 * rotation is bounded as a swing is. */
static void a_ball_stays_within_its_limits(void **state)
{
    (void)state;
    for (int whole = 0; whole < 2; whole++) {
        gw_scene_joint *j;
        running r;
        gw_scene *s = turning(&j);
        s->gravity = gw_v3(0, 0, -G);
        j->a.at.p = gw_v3(0, 0, -0.2);
        j->b.at.p = gw_v3(0, 0, -0.2);
        set(j->damping, gw_v3(0.02, 0.02, 0.02));
        j->limited[whole] = true;
        j->upper[whole] = 0.7;
        j->has_velocity = true;
        set(j->velocity, gw_v3(0.3, 0.1, whole ? 0 : 2));
        running_open(&r, s);
        const gw_snapshot *now = NULL;
        double beyond = -1, worst = 0;
        for (int i = 0; i < 4000; i++) {
            now = running_tick(&r);
            gw_quat q = gw_quat_exp(first_three(now->coordinates));
            gw_vec3 z = gw_rotate(q, gw_v3(0, 0, 1));
            double angle = whole ? gw_norm(first_three(now->coordinates)) : acos(fmin(1, z.z));
            beyond = fmax(beyond, angle - 0.7);
            worst = fmax(worst, fabs(energy_error(now)));
        }
        double speed = gw_norm(first_three(now->rates));
        print_message(
            "%s: %.2g rad beyond at most, in the end %.2g rad/s; energy balance off by %.2g J\n",
            whole ? "rotation" : "swing", beyond, speed, worst);
        assert_true(beyond > -1e-6 && beyond < 1e-4 && speed < 1e-3 && worst < 1e-8);
        running_close(&r);
    }
}

/* ---- motors --------------------------------------------------------------------------------- */

static double spring_energy(const gw_motor m[3], gw_quat turn)
{
    gw_quat target = gw_quat_exp(gw_v3(m[0].target, m[1].target, m[2].target));
    gw_vec3 e = gw_quat_log(gw_quat_mul(turn, gw_quat_conj(target)));
    return 0.5 *
           (m[0].stiffness * e.x * e.x + m[1].stiffness * e.y * e.y + m[2].stiffness * e.z * e.z);
}

/* Torques: stiffness by differences of its energy, each axis within its bound. */
static gw_vec3 servo_torque(const gw_motor m[3], gw_quat turn, gw_vec3 w)
{
    const double step = 1e-5, speed[3] = {w.x, w.y, w.z};
    double torque[3];
    for (int j = 0; j < 3; j++) {
        gw_vec3 by = {j == 0 ? step : 0, j == 1 ? step : 0, j == 2 ? step : 0};
        double up = spring_energy(m, gw_quat_mul(gw_quat_exp(by), turn));
        double down = spring_energy(m, gw_quat_mul(gw_quat_exp(gw_neg(by)), turn));
        torque[j] = m[j].torque - (up - down) / (2 * step) + m[j].damping * (m[j].rate - speed[j]);
        if (m[j].max > 0)
            torque[j] = fmax(-m[j].max, fmin(m[j].max, torque[j]));
    }
    return gw_v3(torque[0], torque[1], torque[2]);
}

/* A midpoint step of the ball's rotation. */
static void midpoint_step(const gw_motor m[3], double h, gw_quat *turn, gw_vec3 *w)
{
    gw_vec3 amid = gw_mul_add(*w, 0.5 * h / INERTIA, servo_torque(m, *turn, *w));
    gw_quat half = gw_quat_mul(gw_quat_exp(gw_scale(0.5 * h, *w)), *turn);
    *turn = gw_quat_mul(gw_quat_exp(gw_scale(h, amid)), *turn);
    *w = gw_mul_add(*w, h / INERTIA, servo_torque(m, half, amid));
}

/* Servos of the three axes, unlike ones, against an integration of its own. */
static void motors_turn_it_as_their_law_says(void **state)
{
    (void)state;
    static const gw_motor motors[][3] = {
        {{.target = 0.5, .stiffness = 0.1, .damping = 1e-3},
         {.target = -0.7, .stiffness = 0.3, .damping = 2e-3},
         {.target = 0.4, .stiffness = 0.05, .damping = 1e-3}},
        {{.rate = 3, .damping = 0.01},
         {.torque = 2e-3, .damping = 1e-3},
         {.rate = -2, .damping = 0.02}},
        {{.target = 2, .stiffness = 0.2, .damping = 5e-3, .max = 0.01},
         {.rate = 2, .damping = 0.01, .max = 5e-3},
         {.target = -1, .stiffness = 0.1, .damping = 4e-3, .max = 0.02}}};
    for (size_t n = 0; n < sizeof motors / sizeof *motors; n++) {
        const gw_motor *m = motors[n];
        const int parts = 50;
        gw_scene_joint *j;
        running r;
        gw_scene *s = turning(&j);
        gw_quat turn = gw_quat_exp(gw_v3(0.3, 0.1, -0.2));
        gw_vec3 w = {0.5, -1, 2};
        j->has_position = j->has_velocity = true;
        set(j->position, gw_quat_log(turn));
        set(j->velocity, w);
        for (int i = 0; i < 3; i++)
            j->has_motor[i] = true, j->motor[i] = m[i];
        running_open(&r, s);
        double off = 0, worst = 0;
        for (int i = 0; i < 500; i++) {
            const gw_snapshot *now = running_tick(&r);
            gw_quat q = gw_quat_exp(first_three(now->coordinates));
            off = fmax(off, gw_norm(gw_quat_log(gw_quat_mul(q, gw_quat_conj(turn)))));
            worst = fmax(worst, fabs(energy_error(now) - now->energy.motors));
            for (int k = 0; k < parts; k++)
                midpoint_step(m, 1e-3 / parts, &turn, &w);
        }
        print_message("servos %zu: %.2g rad off, energy balance off by %.2g J\n", n, off, worst);
        assert_true(off < 2e-6 && worst < 1e-9);
        running_close(&r);
    }
}

/* As stiff as no explicit step bears: there in an instant, it yields to a push by torque / k; and
 * where the push exceeds its bound it is driven back. */
static void stiff_motors_hold(void **state)
{
    (void)state;
    const gw_vec3 target = gw_scale(0.8, axis);
    const double targets[3] = {target.x, target.y, target.z};
    gw_scene_joint *j;
    running r;
    gw_scene *s = turning(&j);
    for (int i = 0; i < 3; i++) {
        j->has_motor[i] = true;
        j->motor[i] = (gw_motor){
            .target = targets[i], .stiffness = 1e6, .damping = 100, .max = i == 1 ? 20 : 0};
    }
    running_open(&r, s);
    gw_command retired, push = {.kind = GW_COMMAND_PUSH, .push.t = gw_v3(0, 10, 0)};
    strcpy(push.object, "ball");
    gw_simulation_apply(r.simulation, &push, &retired);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 1000; i++)
        now = running_tick(&r);
    gw_quat reached = gw_quat_exp(first_three(now->coordinates));
    gw_vec3 off = gw_quat_log(gw_quat_mul(reached, gw_quat_conj(gw_quat_exp(target))));
    print_message("stiff motors: (%.3g %.3g %.3g) rad off\n", off.x, off.y, off.z);
    assert_true(gw_distance(off, gw_v3(0, 10 / 1e6, 0)) < 1e-9);
    push.push.t = gw_v3(0, 20.001, 0);
    gw_simulation_apply(r.simulation, &push, &retired);
    double from = 0;
    for (int i = 0; i <= 100; i++) {
        now = running_tick(&r);
        from = i == 50 ? now->rates[1] : from;
    }
    double faster = (now->rates[1] - from) / 0.05, right = 1e-3 / INERTIA;
    print_message("overcome: %.9g rad/s^2 of %.9g\n", faster, right);
    assert_true(fabs(faster - right) < 1e-3 * right);
    running_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_spring_swings_about_any_axis),
        cmocka_unit_test(a_spring_with_three_stiffnesses_keeps_energy),
        cmocka_unit_test(a_stiff_spring_holds),
        cmocka_unit_test(friction_stops_a_spin_about_any_axis),
        cmocka_unit_test(a_ball_stays_within_its_limits),
        cmocka_unit_test(motors_turn_it_as_their_law_says),
        cmocka_unit_test(stiff_motors_hold),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
