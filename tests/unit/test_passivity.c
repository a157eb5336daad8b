/*
 * Energy over random play: pushes, drags, contacts, edits and switches of control, watched every
 * tick at the model's port and every second at the device's.
 *
 * PLAY_SECONDS in the environment: so long instead of the short run (an hour: 3600).
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/unit/playing.h"

#define SECONDS           20.0
#define ALLOWED           1e-9           /* J, at the model's port */
#define ALLOWED_AT_DEVICE GW_PORT_CREDIT /* J in any second, at the device's: rt/control/port.h */

static uint64_t dice = 1;

static double uniform(double low, double high)
{
    dice = dice * 6364136223846793005ull + 1442695040888963407ull;
    return low + (high - low) * ldexp((double)(dice >> 11), -53);
}

static double seconds(void)
{
    const char *told = getenv("PLAY_SECONDS");
    return told ? atof(told) : SECONDS;
}

static gw_wrench some_push(double force, double torque)
{
    return (gw_wrench){{uniform(-force, force), uniform(-force, force), 0},
                       {0, 0, uniform(-torque, torque)}};
}

/* The books at every tick: E - E0 - work in - motors - edits never rises by more than is allowed
 * over its least value so far; it may fall, by what was dissipated. */
typedef struct books {
    double least, worst, dissipated, busiest;
    double port_start, port_worst; /* at the device's port, a second at a time */
} books;

static double gone(const gw_energy *e)
{
    return e->kinetic + e->potential - e->initial - e->work_in - e->motors - e->edits;
}

static void watch(books *b, const gw_snapshot *s)
{
    double now = gone(&s->energy);
    b->worst = fmax(b->worst, now - b->least);
    b->least = fmin(b->least, now);
    b->dissipated = s->energy.dissipated;
    b->busiest = fmax(b->busiest, s->energy.kinetic);
    if (!s->tool_count || s->tick % 1000 != 0)
        return;
    b->port_worst = fmax(b->port_worst, s->tools[0].port - b->port_start);
    b->port_start = s->tools[0].port;
}

static void play_on(play *p, books *b, void (*meddle)(play *p, const gw_snapshot *s))
{
    int ticks = (int)(seconds() * 1000);
    const gw_snapshot *s = tick_play(p, 5);
    for (int i = 0; i < ticks; i++) {
        if (uniform(0, 1) < 0.004)
            meddle(p, s);
        s = tick_play(p, 5);
        watch(b, s);
    }
    print_message(
        "%.0f s: %llu collisions, rise %.1e J, %.3g J dissipated, at most %.3g J kinetic, "
        "port %.1e J in a second\n",
        seconds(), (unsigned long long)s->contact.collisions, b->worst, b->dissipated, b->busiest,
        b->port_worst);
    assert_true(s->contact.collisions > 20);
    assert_true(b->worst <= ALLOWED);
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
    gw_rendering_def def = p->scene->tools[0].rendering;
    def.kind = (gw_rendering_kind)(uniform(0, 1) * 4);
    def.passivity = true;
    command_play(p, (gw_command){.kind = GW_COMMAND_RENDERING, .rendering = def});
}

static void meddle_with_arm(play *p, const gw_snapshot *s)
{
    double what = uniform(0, 1);
    if (what < 0.7)
        command_play(p, (gw_command){.kind = GW_COMMAND_PUSH, .push = some_push(4, 0.1)});
    else if (what < 0.85)
        edit(p, s);
    else if (what < 0.95)
        switch_control(p);
    else
        command_play(p, (gw_command){.kind = GW_COMMAND_PUSH});
}

static gw_scene *arm_scene(double restitution)
{
    static const double q[3] = {0, GW_PI / 6, -GW_PI / 3};
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    s->contact.enabled = true;
    put_material(s, restitution, 0.3);
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
    t->rendering.kind = GW_RENDER_PENALTY;
    t->rendering.passivity = true;
    set_device(s, "planar", 1);
    set_device(s, "mass", 1);
    set_device(s, "inertia", 0.01);
    return s;
}

static void an_arm_among_loose_things_makes_no_energy(void **state)
{
    play p;
    books b = {0};
    (void)state;
    dice = 1;
    assert_true(start_play(&p, arm_scene(0.5)));
    play_on(&p, &b, meddle_with_arm);
    assert_true(b.port_worst <= ALLOWED_AT_DEVICE);
    stop_play(&p);
}

/* ---- a guided body among loose things, with weight ------------------------------------------ */

static gw_scene *tray_scene(void)
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
    gw_tool *t = put_tool(s, "sim");
    strcpy(t->object, "hand");
    return s;
}

static void meddle_with_body(play *p, const gw_snapshot *s)
{
    double what = uniform(0, 1);
    gw_command drag = {.kind = GW_COMMAND_DRAG};
    drag.drag.target = gw_v3(uniform(-0.15, 0.15), uniform(-0.15, 0.15), uniform(0, 0.06));
    if (what < 0.7)
        command_play(p, drag);
    else if (what < 0.85)
        edit(p, s);
    else
        command_play(p, (gw_command){.kind = GW_COMMAND_RELEASE});
}

static void a_held_box_among_loose_things_makes_no_energy(void **state)
{
    play p;
    books b = {0};
    (void)state;
    dice = 2;
    assert_true(start_play(&p, tray_scene()));
    play_on(&p, &b, meddle_with_body);
    stop_play(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_arm_among_loose_things_makes_no_energy),
        cmocka_unit_test(a_held_box_among_loose_things_makes_no_energy),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
