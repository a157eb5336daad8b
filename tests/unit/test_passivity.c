/*
 * Energy over random play: pushes, drags, contacts, edits and switches of control, watched every
 * tick at the model's port and every second at the device's.
 *
 * In the environment: PLAY_SECONDS, so long instead of the short run (an hour: 3600); PLAY_GAME,
 * only the game of that index; PLAY_SEED, other dice.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/unit/playing.h"

#define SECONDS   10.0
#define ALLOWED   1e-9 /* J: at the model's port at every tick, at the device's in any second */
#define RATE_MOST 8000

static uint64_t dice = 1;

static double uniform(double low, double high)
{
    dice = dice * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * ldexp((double)(dice >> 11), -53);
}

static double told_or(const char *name, double otherwise)
{
    const char *told = getenv(name);
    return told ? atof(told) : otherwise;
}

static double seconds(void)
{
    return told_or("PLAY_SECONDS", SECONDS);
}

static gw_wrench some_push(double force, double torque)
{
    return (gw_wrench){{uniform(-force, force), uniform(-force, force), 0},
                       {0, 0, uniform(-torque, torque)}};
}

/* The energy balance at every tick: E - E0 - work in - motors - edits never rises by more than is
 * allowed over its least value so far; it may fall, by what was dissipated. What came out of the
 * device's port is held against what had come out a second ago, whichever second that is. */
typedef struct balance {
    double least, worst, dissipated, busiest;
    double port[RATE_MOST], port_worst, damped;
} balance;

static double gone(const gw_energy *e)
{
    return e->kinetic + e->potential - e->initial - e->work_in - e->motors - e->edits;
}

/* How far `now` is above what it was a second ago; nothing had come before the start. */
static double in_a_second(double *past, double now, uint64_t tick, int rate)
{
    double was = tick < (uint64_t)rate ? 0 : past[tick % (uint64_t)rate];
    past[tick % (uint64_t)rate] = now;
    return now - was;
}

static void watch(balance *b, const gw_snapshot *s, int rate)
{
    double now = gone(&s->energy);
    b->worst = fmax(b->worst, now - b->least);
    b->least = fmin(b->least, now);
    b->dissipated = s->energy.dissipated;
    b->busiest = fmax(b->busiest, s->energy.kinetic);
    const gw_tool_state *tool = &s->tools[0];
    double port = in_a_second(b->port, tool->port, s->tick, rate);
    b->port_worst = s->tick ? fmax(b->port_worst, port) : port;
    b->damped = tool->damped;
}

/* A case: the held body, the control law, the rate. */
typedef struct game {
    const char *name;
    gw_scene *(*scene)(void);
    void (*meddle)(play *p, const gw_snapshot *s, bool switching);
    int control; /* gw_control_law; -1: another one now and then */
    int rate;
} game;

static gw_scene *loop_scene(void);

static void play_on(const game *g)
{
    static balance all;
    balance *b = &all;
    play p;
    gw_scene *scene = g->scene();
    int ticks = (int)(seconds() * g->rate);
    memset(b, 0, sizeof *b);
    dice = (uint64_t)told_or("PLAY_SEED", 1);
    scene->rate = g->rate;
    if (g->control >= 0)
        scene->tools[0].rendering.kind = (gw_control_law)g->control;
    assert_true(start_play(&p, scene));
    const gw_snapshot *s = tick_play(&p);
    for (int i = 0; i < ticks; i++) {
        if (uniform(0, 1) < 4.0 / g->rate)
            g->meddle(&p, s, g->control < 0);
        s = tick_play(&p);
        watch(b, s, g->rate);
    }
    print_message("%s, %d Hz, %.0f s: %llu collisions, rise %.1e J, %.3g J dissipated, at most "
                  "%.3g J kinetic, port %.1e J in a second, %.3g J damped\n",
                  g->name, g->rate, seconds(), (unsigned long long)s->contact.collisions, b->worst,
                  b->dissipated, b->busiest, b->port_worst, b->damped);
    assert_true(s->contact.collisions > 20);
    /* a loop is closed again after each step, to a part of what moves */
    assert_true(b->worst <= ALLOWED * (g->scene == loop_scene ? 2 * fmax(1, b->busiest) : 1));
    assert_true(b->port_worst <= ALLOWED);
    stop_play(&p);
}

/* Poses of all objects as they are. */
static void edit(play *p, const gw_snapshot *s)
{
    gw_pose poses[16];
    for (int i = 0; i < p->scene->object_count; i++)
        poses[i] = p->layout->poses[i];
    for (int i = 0; i < s->tool_count; i++)
        if (s->tools[i].object >= 0)
            poses[s->tools[i].object] = s->tools[i].world_from_object;
    for (int i = 0; i < s->free_count; i++)
        poses[s->free[i].object] = s->free[i].pose;
    p->scene->materials[0].surface.restitution = uniform(0, 1);
    p->scene->materials[0].surface.friction = uniform(0, 0.6);
    assert_true(change_play(p, poses));
}

static void switch_control(play *p)
{
    gw_impedance_def def = p->scene->tools[0].rendering;
    def.kind = (gw_control_law)(uniform(0, 1) * 4);
    def.passivity = true;
    command_play(p, (gw_command){.kind = GW_COMMAND_CONTROL, .rendering = def});
}

static void push_about(play *p, const gw_snapshot *s, bool switching, double force, double torque)
{
    double what = uniform(0, 1);
    if (what < 0.7 || (what >= 0.85 && what < 0.95 && !switching))
        command_play(p, (gw_command){.kind = GW_COMMAND_PUSH, .push = some_push(force, torque)});
    else if (what < 0.85)
        edit(p, s);
    else if (what < 0.95)
        switch_control(p);
    else
        command_play(p, (gw_command){.kind = GW_COMMAND_PUSH});
}

static void meddle_with_arm(play *p, const gw_snapshot *s, bool switching)
{
    push_about(p, s, switching, 4, 0.1);
}

static void meddle_with_loop(play *p, const gw_snapshot *s, bool switching)
{
    push_about(p, s, switching, 12, 0.3);
}

static gw_scene *arm_scene(void)
{
    static const double q[3] = {0, GW_PI / 6, -GW_PI / 3};
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    s->contact.enabled = true;
    put_material(s, 0.5, 0.3);
    put_enclosure(s, 0.1, false);
    put_loose(s, "plate", box(0.03, 0.02, 0.01), gw_v3(-0.05, 0.05, 0), 0.3);
    put_loose(s, "puck", (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.012},
              gw_v3(0.06, -0.06, 0), 0.2);
    put_arm(s, q);
    gw_tool *t = put_tool(s, "sim-impedance");
    strcpy(t->mechanism, "arm");
    t->link = 2;
    t->at.p.x = 0.015;
    t->control = GW_CONTROL_PENALTY;
    t->rendering.kind = GW_LAW_PENALTY;
    t->rendering.passivity = true;
    set_device(s, "planar", 1);
    set_device(s, "mass", 1);
    set_device(s, "inertia", 0.01);
    return s;
}

/* The device is taken up where the arm is not. */
static gw_scene *arm_beside_device(void)
{
    gw_scene *s = arm_scene();
    s->tools[0].start.p = gw_v3(0.003, -0.002, 0);
    s->tools[0].start.q = gw_quat_exp(gw_v3(0, 0, 0.05));
    return s;
}

/* ---- a loop among loose things --------------------------------------------------------------- */

static gw_joint_end joint_end(const char *object, gw_vec3 at)
{
    gw_joint_end end = {.at = {at, gw_quat_identity()}};
    strcpy(end.object, object);
    return end;
}

/* A four-bar whose crank turns whole, pins about z, bars a little shorter than from pin to pin;
 * held in the middle of its coupler. */
static gw_scene *loop_scene(void)
{
    static const char *const ids[] = {"crank", "coupler", "rocker"};
    static const double lengths[] = {0.03, 0.09, 0.06}, masses[] = {0.5, 1, 0.7};
    const double ground = 0.09, crank = 2;
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    s->contact.enabled = true;
    put_material(s, 0.5, 0.3);
    put_enclosure(s, 0.1, false);
    put_loose(s, "plate", box(0.03, 0.02, 0.01), gw_v3(0, 0.08, 0), 0.3);
    put_loose(s, "puck", (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.012}, gw_v3(0, 0.01, 0),
              0.2);
    gw_vec3 pin[4] = {[0] = {-0.5 * ground, 0, 0}, [3] = {0.5 * ground, 0, 0}};
    pin[1] = gw_add(pin[0], gw_v3(lengths[0] * cos(crank), lengths[0] * sin(crank), 0));
    double dx = pin[3].x - pin[1].x, dy = pin[3].y - pin[1].y, d = hypot(dx, dy);
    double turn = atan2(dy, dx) + acos((lengths[1] * lengths[1] + d * d - lengths[2] * lengths[2]) /
                                       (2 * lengths[1] * d));
    pin[2] = gw_v3(pin[1].x + lengths[1] * cos(turn), pin[1].y + lengths[1] * sin(turn), 0);
    for (int i = 0; i < 3; i++) {
        gw_vec3 along = gw_sub(pin[i + 1], pin[i]);
        put_loose(s, ids[i], box(lengths[i] - 0.004, 0.008, 0.008),
                  gw_scale(0.5, gw_add(pin[i], pin[i + 1])), masses[i]);
        s->objects[s->object_count - 1].pose.q =
            gw_quat_axis(gw_v3(0, 0, 1), atan2(along.y, along.x));
    }
    for (int i = 0; i < 4; i++) {
        gw_scene_joint *j = gw_scene_add_joint(s, NULL);
        snprintf(j->id, sizeof j->id, "j%d", i);
        j->type = GW_MOBILIZER_REVOLUTE;
        j->enabled = true;
        j->b = i > 0 ? joint_end(ids[i - 1], gw_v3(0.5 * lengths[i - 1], 0, 0))
                     : joint_end(GW_WORLD_FRAME, pin[0]);
        j->a = i < 3 ? joint_end(ids[i], gw_v3(-0.5 * lengths[i], 0, 0))
                     : joint_end(GW_WORLD_FRAME, pin[3]);
    }
    gw_tool *t = put_tool(s, "sim-impedance");
    strcpy(t->object, "coupler");
    t->control = GW_CONTROL_PENALTY;
    t->rendering.kind = GW_LAW_PENALTY;
    t->rendering.passivity = true;
    set_device(s, "planar", 1);
    set_device(s, "mass", 1);
    set_device(s, "inertia", 0.01);
    return s;
}

/* ---- a guided body among loose things, with weight ------------------------------------------ */

static gw_scene *tray_scene(const char *driver)
{
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    s->gravity = gw_v3(0, 0, -9.81);
    s->contact.enabled = true;
    put_material(s, 0.4, 0.4);
    put_enclosure(s, 0.15, true);
    gw_object *held = put(s, "hand", box(0.04, 0.04, 0.04), gw_v3(0, 0, 0.02));
    held->body.source = GW_MASS_GIVEN;
    held->body.mass = 1;
    put_loose(s, "a", box(0.03, 0.03, 0.03), gw_v3(0.07, 0.02, 0.0), 0.4);
    put_loose(s, "b", box(0.03, 0.05, 0.02), gw_v3(-0.07, 0.03, 0.0), 0.3);
    put_loose(s, "c", (gw_shape){.kind = GW_SHAPE_SPHERE, .radius = 0.015}, gw_v3(0, 0.1, 0), 0.2);
    gw_tool *t = put_tool(s, driver);
    strcpy(t->object, "hand");
    t->rendering.passivity = true;
    return s;
}

static gw_scene *tray_by_position(void)
{
    return tray_scene("sim");
}

static gw_scene *tray_by_force(void)
{
    gw_scene *s = tray_scene("sim-impedance");
    s->tools[0].control = GW_CONTROL_PENALTY;
    set_device(s, "mass", 1);
    set_device(s, "inertia", 0.01);
    return s;
}

static void meddle_with_body(play *p, const gw_snapshot *s, bool switching)
{
    double what = uniform(0, 1);
    gw_command drag = {.kind = GW_COMMAND_DRAG};
    drag.drag.target = gw_v3(uniform(-0.15, 0.15), uniform(-0.15, 0.15), uniform(0, 0.06));
    if (what < 0.7 || (what >= 0.85 && what < 0.9 && !switching))
        command_play(p, drag);
    else if (what < 0.85)
        edit(p, s);
    else if (what < 0.9)
        switch_control(p);
    else
        command_play(p, (gw_command){.kind = GW_COMMAND_RELEASE});
}

static const game games[] = {
    {"arm, controls in turn", arm_scene, meddle_with_arm, -1, 1000},
    {"arm, impedance", arm_scene, meddle_with_arm, GW_LAW_IMPEDANCE, 1000},
    {"arm, penalty", arm_scene, meddle_with_arm, GW_LAW_PENALTY, 1000},
    {"arm, coupling", arm_scene, meddle_with_arm, GW_LAW_COUPLING, 1000},
    {"arm, four-channel", arm_scene, meddle_with_arm, GW_LAW_FOUR_CHANNEL, 1000},
    {"arm, controls in turn", arm_scene, meddle_with_arm, -1, 250},
    {"arm, controls in turn", arm_scene, meddle_with_arm, -1, 8000},
    {"arm, device beside it", arm_beside_device, meddle_with_arm, GW_LAW_PENALTY, 1000},
    {"box, admittance", tray_by_position, meddle_with_body, 0, 1000},
    {"box, controls in turn", tray_by_force, meddle_with_body, -1, 1000},
    {"box, impedance", tray_by_force, meddle_with_body, GW_LAW_IMPEDANCE, 1000},
    {"box, penalty", tray_by_force, meddle_with_body, GW_LAW_PENALTY, 1000},
    {"box, coupling", tray_by_force, meddle_with_body, GW_LAW_COUPLING, 1000},
    {"box, four-channel", tray_by_force, meddle_with_body, GW_LAW_FOUR_CHANNEL, 1000},
    {"box, controls in turn", tray_by_force, meddle_with_body, -1, 250},
    {"box, controls in turn", tray_by_force, meddle_with_body, -1, 8000},
    {"loop, controls in turn", loop_scene, meddle_with_loop, -1, 1000},
    {"loop, impedance", loop_scene, meddle_with_loop, GW_LAW_IMPEDANCE, 1000},
    {"loop, penalty", loop_scene, meddle_with_loop, GW_LAW_PENALTY, 1000},
    {"loop, coupling", loop_scene, meddle_with_loop, GW_LAW_COUPLING, 1000},
    {"loop, four-channel", loop_scene, meddle_with_loop, GW_LAW_FOUR_CHANNEL, 1000},
};

static void play_makes_no_energy(void **state)
{
    int only = (int)told_or("PLAY_GAME", -1);
    (void)state;
    for (int i = 0; i < (int)(sizeof games / sizeof *games); i++)
        if (only < 0 || only == i)
            play_on(&games[i]);
}

/* ---- nobody at the device ------------------------------------------------------------------- */

/* A pendulum of 1 kg at 1 m, let go level, a device of 1 kg at its bob. */
static gw_scene *pendulum_scene(gw_control_law kind, int rate)
{
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    s->rate = rate;
    s->gravity = gw_v3(0, 0, -9.81);
    gw_mechanism *m = gw_scene_add_mechanism(s, NULL);
    strcpy(m->id, "pendulum");
    m->base = gw_pose_identity();
    gw_mechanism_resize(m, 1);
    m->links[0].axis = gw_v3(0, 1, 0);
    m->links[0].mass = (gw_mass){.mass = 1, .com = {-1, 0, 0}};
    gw_tool *t = put_tool(s, "sim-impedance");
    strcpy(t->mechanism, "pendulum");
    t->at.p.x = -1;
    t->control = GW_CONTROL_PENALTY;
    t->rendering.kind = kind;
    t->rendering.passivity = true;
    return s;
}

/* Energy (J) that the device put into the model in 10 s; the pendulum has 9.81 J. */
static double gained(gw_control_law kind, int rate)
{
    play p;
    double most = 0;
    assert_true(start_play(&p, pendulum_scene(kind, rate)));
    for (int i = 0; i < 10 * rate; i++)
        most = fmax(most, tick_play(&p)->energy.work_in);
    stop_play(&p);
    print_message("control %d, %d Hz: the device gives %.1e J at most\n", kind, rate, most);
    return most;
}

/* It follows by forces that are held for a tick, known once the model has stepped. Impedance
 * control has nothing that holds the device on the mechanism: there it drifts. */
static void a_device_that_nobody_holds_gives_nothing(void **state)
{
    (void)state;
    for (int rate = 250; rate <= 4000; rate *= 4) {
        assert_true(gained(GW_LAW_PENALTY, rate) <= 1e-12);
        assert_true(gained(GW_LAW_COUPLING, rate) <= 1e-12);
        assert_true(gained(GW_LAW_FOUR_CHANNEL, rate) <= 1e-12);
    }
    assert_true(gained(GW_LAW_IMPEDANCE, 250) <= 1e-5);
    assert_true(gained(GW_LAW_IMPEDANCE, 1000) <= 1e-6);
}

/* ---- edits under a steady push ----------------------------------------------------------------
 */

/* Springs alone hold a device that keeps its own inertia: an edit must not make them slack. 11.3 N
 * across what the loop lets go, 100 N/m, for 10 s, five edits a second. */
static void edits_do_not_let_go_of_the_device(void **state)
{
    (void)state;
    play p;
    double most = 0;
    gw_scene *scene = loop_scene();
    scene->tools[0].rendering.kind = GW_LAW_FOUR_CHANNEL;
    assert_true(start_play(&p, scene));
    command_play(&p, (gw_command){.kind = GW_COMMAND_PUSH, .push = {{8, 8, 0}, {0, 0, 0}}});
    for (int i = 0; i < 10000; i++) {
        const gw_snapshot *s = tick_play(&p);
        if (i % 200 == 100)
            edit(&p, s);
        most = fmax(most, s->tools[0].error_p);
    }
    stop_play(&p);
    print_message("off the model by %.3g m at most\n", most);
    assert_true(most < 0.25); /* 0.11 m once it is at rest */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_device_that_nobody_holds_gives_nothing),
        cmocka_unit_test(edits_do_not_let_go_of_the_device),
        cmocka_unit_test(play_makes_no_energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
