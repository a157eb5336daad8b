/*
 * Collisions at the hand: the model's impulse at the hand is rendered whole, in one tick.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/unit/playing.h"

/* A slider of 2 kg runs at 0.5 m/s against a wall 2 cm ahead; a device of 1.5 kg at it. */
static gw_scene *slider_scene(int rate, double restitution, gw_control_kind control)
{
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    s->rate = rate;
    s->contact.enabled = true;
    put_material(s, restitution, 0);
    put(s, "wall", box(0.02, 0.2, 0.2), gw_v3(0.08, 0, 0))->fixed = true;
    gw_mechanism *m = gw_scene_add_mechanism(s, NULL);
    strcpy(m->id, "slider");
    m->base = gw_pose_identity();
    gw_mechanism_resize(m, 1);
    m->links[0].kind = GW_JOINT_PRISMATIC;
    m->links[0].axis = gw_v3(1, 0, 0);
    m->links[0].mass =
        (gw_mass){.mass = 2, .inertia = {{{1e-3, 0, 0}, {0, 1e-3, 0}, {0, 0, 1e-3}}}};
    m->geometries[0].has_geometry = true;
    m->geometries[0].shape = (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.05};
    strcpy(m->geometries[0].material, "stuff");
    m->velocity[0] = 0.5;
    gw_tool *t = put_tool(s, "sim-impedance");
    strcpy(t->mechanism, "slider");
    t->control = control;
    t->rendering.kind = (gw_control_law)(control - GW_CONTROL_IMPEDANCE);
    t->rendering.passivity = false;
    t->rendering.coordination = (gw_spring_damper){1e-6, 1e-6, 1e-6, 1e-6}; /* nothing slows it */
    set_device(s, "mass", 1.5);
    return s;
}

typedef struct felt {
    double impulse, largest; /* sum of F dt (N s), and the largest F (N), impulsive part */
    double quiet;            /* the largest F of the rest of the command */
    int ticks;               /* in which there was an impulse */
    double device_kick;      /* what it did to the device's momentum over those ticks */
} felt;

static felt feel(gw_scene *scene)
{
    play p;
    felt f = {0};
    double dt = 1.0 / scene->rate;
    int ticks = scene->rate / 5;
    assert_true(start_play(&p, scene));
    for (int i = 0; i < ticks; i++) {
        const gw_tool_state *t = &tick_play(&p)->tools[0];
        double hit = t->impulse.f.x, rest = fabs(t->command.f.x - hit);
        f.impulse += dt * hit;
        f.largest = fmax(f.largest, fabs(hit));
        f.quiet = fmax(f.quiet, rest);
        f.ticks += hit != 0;
    }
    stop_play(&p);
    return f;
}

/* M_d J_h D^-1 J_c^T p: the hand's change of velocity is -(1 + e) v, the device weighs 1.5 kg. */
static void check_felt(int rate, double e, gw_control_kind control)
{
    felt f = feel(slider_scene(rate, e, control));
    double whole = -1.5 * (1 + e) * 0.5;
    print_message("%d Hz, e = %g: %.6f N s of %.6f in %d ticks, %.3g N beside %.3g N\n", rate, e,
                  f.impulse, whole, f.ticks, f.largest, f.quiet);
    assert_true(fabs(f.impulse - whole) <= 0.01 * fabs(whole));
    assert_int_equal(f.ticks, 1);
}

static void the_impulse_arrives_whole_at_every_rate(void **state)
{
    static const int rates[] = {250, 1000, 8000};
    (void)state;
    for (int i = 0; i < 3; i++)
        for (int control = GW_CONTROL_IMPEDANCE; control <= GW_CONTROL_FOUR_CHANNEL; control++)
            if (control != GW_CONTROL_COUPLING) {
                check_felt(rates[i], 0, (gw_control_kind)control);
                check_felt(rates[i], 1, (gw_control_kind)control);
            }
}

/* 100 N for 20 ms are 2 N s: what is more is dropped, and told. */
static void a_clamp_spreads_an_impulse_and_tells_what_it_drops(void **state)
{
    (void)state;
    gw_scene *s = slider_scene(1000, 1, GW_CONTROL_IMPEDANCE);
    set_device(s, "force_max", 60);
    play p;
    double given = 0;
    int ticks = 0;
    assert_true(start_play(&p, s));
    const gw_tool_state *t = NULL;
    for (int i = 0; i < 200; i++) {
        t = &tick_play(&p)->tools[0];
        given += 1e-3 * t->impulse.f.x;
        ticks += t->impulse.f.x != 0;
        assert_true(fabs(t->command.f.x) <= 60 + 1e-9);
    }
    print_message("%.4f N s given in %d ticks, %.4f withheld\n", given, ticks, t->withheld);
    assert_true(ticks > 1 && ticks <= 21);
    assert_true(t->withheld > 0);
    assert_true(fabs(fabs(given) + t->withheld - 1.5) <= 0.015);
    stop_play(&p);
}

/* Let go while it moves: without a hand or a command it would keep its velocity. */
static void a_device_that_is_armed_comes_to_rest(void **state)
{
    (void)state;
    play p;
    gw_scene *scene = slider_scene(1000, 1, GW_CONTROL_IMPEDANCE);
    scene->contact.enabled = false;
    assert_true(start_play(&p, scene));
    command_play(&p, (gw_command){.kind = GW_COMMAND_PUSH, .push.f = {4, 0, 0}});
    for (int i = 0; i < 300; i++)
        tick_play(&p);
    command_play(&p, (gw_command){.kind = GW_COMMAND_HALT});
    tick_play(&p);
    command_play(&p, (gw_command){.kind = GW_COMMAND_ARM});
    double from = tick_play(&p)->tools[0].device.p.x;
    for (int i = 0; i < 1000; i++)
        tick_play(&p);
    double at = gw_simulation_snapshot(p.simulation)->tools[0].device.p.x;
    for (int i = 0; i < 1000; i++)
        tick_play(&p);
    double later = gw_simulation_snapshot(p.simulation)->tools[0].device.p.x;
    print_message("goes on by %.4f m, then by %.1e m\n", at - from, later - at);
    assert_true(at - from > 0.01 && at - from < 0.1);
    assert_true(fabs(later - at) < 1e-9);
    stop_play(&p);
}

/* 300 ticks of a push and a hit; after each a pause of so many. What is felt is summed up. */
static gw_tool_state stepped(int pauses, double *given)
{
    play p;
    gw_scene *scene = slider_scene(1000, 1, GW_CONTROL_PENALTY);
    scene->tools[0].rendering.passivity = true;
    set_device(scene, "force_noise", 0.1);
    assert_true(start_play(&p, scene));
    command_play(&p, (gw_command){.kind = GW_COMMAND_PUSH, .push.f = {4, 0, 0}});
    if (pauses)
        command_play(&p, (gw_command){.kind = GW_COMMAND_STATE, .state = GW_PAUSED});
    *given = 0;
    for (int i = 0; i < 300; i++) {
        if (pauses)
            command_play(&p, (gw_command){.kind = GW_COMMAND_STEP, .ticks = 1});
        *given += 1e-3 * tick_play(&p)->tools[0].impulse.f.x;
        for (int k = 0; k < pauses; k++)
            gw_simulation_tick(p.simulation);
    }
    command_play(&p, (gw_command){.kind = GW_COMMAND_STATE, .state = GW_PAUSED});
    gw_simulation_tick(p.simulation);
    gw_tool_state end = gw_simulation_snapshot(p.simulation)->tools[0];
    stop_play(&p);
    return end;
}

/* Its sensors' noise, control and the impulse under way wait with the model. */
static void ticks_one_by_one_are_those_of_a_run(void **state)
{
    (void)state;
    double given, given_stepped;
    gw_tool_state run = stepped(0, &given), one_by_one = stepped(7, &given_stepped);
    print_message("%.6f N s felt, %.6f one by one\n", given, given_stepped);
    assert_true(given < -0.1 && given == given_stepped);
    assert_memory_equal(&run.device_true, &one_by_one.device_true, sizeof run.device_true);
    assert_memory_equal(&run.world_from_tool, &one_by_one.world_from_tool,
                        sizeof run.world_from_tool);
    assert_memory_equal(&run.twist, &one_by_one.twist, sizeof run.twist);
}

/* The detection before tick 0 reaches as far as bodies move that start fast: a
 * slider and a loose ball of 150 m/s, 2 cm before a wall of 2 cm. */
static void what_starts_quick_does_not_pass(void **state)
{
    (void)state;
    play p;
    gw_scene *s = slider_scene(1000, 1, GW_CONTROL_PENALTY);
    s->mechanisms[0].velocity[0] = 150;
    put_loose(s, "ball", (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.01}, gw_v3(0.04, 0.08, 0),
              0.1);
    gw_object *ball = &s->objects[s->object_count - 1];
    ball->velocity = gw_v3(150, 0, 0);
    strcpy(ball->material, "stuff");
    assert_true(start_play(&p, s));
    for (int i = 0; i < 5; i++) {
        const gw_snapshot *now = tick_play(&p);
        assert_true(now->tools[0].world_from_tool.p.x <= 0.02 + 1e-9);
        assert_true(now->free[0].pose.p.x <= 0.06 + 1e-9);
    }
    const gw_snapshot *end = gw_simulation_snapshot(p.simulation);
    assert_true(end->tools[0].twist.v.x < -140);
    assert_true(fabs(end->free[0].twist.v.x + 150) < 1e-6);
    stop_play(&p);
}

/* The wall as a hand feels it. */
typedef struct felt_wall {
    double deepest;   /* of the device (m) */
    double force;     /* of the wall on the tool, in the end (N) */
    double speed;     /* of tool and device, at most in the last quarter (m/s) */
    int parted;       /* ticks without contact in the last quarter */
    double imbalance; /* energy balance (J) */
} felt_wall;

/* A held box of `mass` that 2 N push for 2 s against a wall 1 cm below. */
static felt_wall pressed_in(gw_control_kind control, double mass)
{
    play p;
    felt_wall at = {0};
    bool admittance = control == GW_CONTROL_ADMITTANCE;
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    put(s, "base", box(0.2, 0.2, 0.02), gw_v3(0, 0, -0.05))->fixed = true;
    put(s, "peg", box(0.02, 0.02, 0.02), gw_v3(0, 0, 0))->body =
        (gw_body){.source = GW_MASS_GIVEN, .mass = mass};
    s->objects[0].material[0] = s->objects[1].material[0] = 0;
    gw_scene_constraint *c = gw_scene_add_constraint(s, NULL);
    *c = (gw_scene_constraint){.id = "wall",
                               .enabled = true,
                               .kind = GW_DISTANCE,
                               .a = {"peg", "center"},
                               .b = {"base", "+z"},
                               .value = 0.03,
                               .bound = GW_BOUND_AT_LEAST};
    gw_tool *t = put_tool(s, admittance ? "sim" : "sim-impedance");
    strcpy(t->object, "peg");
    t->control = control;
    if (!admittance)
        t->rendering.kind = (gw_control_law)(control - GW_CONTROL_IMPEDANCE);
    assert_true(start_play(&p, s));
    command_play(&p, (gw_command){.kind = GW_COMMAND_PUSH, .push.f = {0, 0, -2}});
    gw_vec3 before = {0, 0, 0};
    for (int i = 0; i < 2000; i++) {
        const gw_snapshot *now = tick_play(&p);
        const gw_tool_state *tool = &now->tools[0];
        const gw_energy *e = &now->energy;
        at.deepest = fmax(at.deepest, -0.01 - tool->device_true.p.z);
        at.force = tool->contact.f.z;
        at.imbalance = fmax(at.imbalance, fabs(e->kinetic + e->potential + e->dissipated -
                                               e->initial - e->work_in - e->edits));
        if (i >= 1500) {
            double device = gw_distance(tool->device_true.p, before) * 1000; /* at 1 kHz */
            at.parted += tool->walls == 0;
            at.speed = fmax(at.speed, fmax(gw_norm(tool->twist.v), device));
        }
        before = tool->device_true.p;
    }
    stop_play(&p);
    print_message(
        "control %d, %g kg: %.2f mm in, held with %.6f N; %.1g m/s, apart in %d ticks; energy "
        "balance off by %.1g J\n",
        control, mass, 1e3 * at.deepest, at.force, at.speed, at.parted, at.imbalance);
    return at;
}

static void a_wall_is_felt_by_every_control(void **state)
{
    (void)state;
    for (int control = GW_CONTROL_ADMITTANCE; control <= GW_CONTROL_FOUR_CHANNEL; control++) {
        felt_wall at = pressed_in((gw_control_kind)control, 1);
        assert_true(at.deepest <= 1e-3);
        assert_true(fabs(at.force - 2) < 0.1);
        assert_true(at.speed < 2e-4 && at.parted == 0); /* no buzz */
        assert_true(at.imbalance < 1e-9);
    }
}

/* A body far lighter than the device: what the wall takes from the hand is given back, not as much
 * for each kilogram of the device. */
static void a_light_body_at_a_wall_does_not_throw_the_device_back(void **state)
{
    (void)state;
    felt_wall at = pressed_in(GW_CONTROL_FOUR_CHANNEL, 0.07);
    assert_true(at.deepest <= 1e-3 && fabs(at.force - 2) < 0.01);
    assert_true(at.speed < 2e-3 && at.parted == 0); /* led back by a weak coordination */
    assert_true(at.imbalance < 1e-9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_impulse_arrives_whole_at_every_rate),
        cmocka_unit_test(what_starts_quick_does_not_pass),
        cmocka_unit_test(a_wall_is_felt_by_every_control),
        cmocka_unit_test(a_light_body_at_a_wall_does_not_throw_the_device_back),
        cmocka_unit_test(a_device_that_is_armed_comes_to_rest),
        cmocka_unit_test(ticks_one_by_one_are_those_of_a_run),
        cmocka_unit_test(a_clamp_spreads_an_impulse_and_tells_what_it_drops),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
