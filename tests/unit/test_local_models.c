/*
 * Mechanisms that run on local models in the loop: against the exact ones under the same hand, with
 * a world's thread that is late, in the real loop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <time.h>

#include "rt/sim/detection.h"
#include "rt/sim/loop.h"
#include "tests/unit/link_fixture.h"
#include "tests/unit/scene_building.h"

/* ---- a scene: mechanisms VI, held at the middle link --------------------------------------- */

typedef struct play {
    gw_scene *scene;
    gw_layout *layout;
    gw_device_slot *slot;
    gw_simulation *simulation;
    uint64_t tick;
} play;

static void add_arm(gw_scene *s)
{
    serial_def def = fixture_table_one(0);
    gw_mechanism *m = gw_scene_add_mechanism(s, NULL);
    assert_true(m && gw_mechanism_resize(m, 3));
    strcpy(m->id, "arm");
    memcpy(m->links, def.links, 3 * sizeof *m->links);
    memcpy(m->position, (double[3]){-GW_PI / 4, GW_PI / 6, -GW_PI / 6}, 3 * sizeof(double));
}

static void hold_arm(gw_scene *s, gw_vec3 force)
{
    gw_device *d = gw_scene_add_device(s, NULL);
    gw_tool *t = gw_scene_add_tool(s, NULL);
    assert_true(d && t);
    strcpy(d->id, "sim");
    strcpy(d->driver, "sim-impedance");
    d->setting_count = 2;
    d->settings[0] = (gw_setting){"mass", 1};
    d->settings[1] = (gw_setting){"inertia", 1};
    d->operator.kind = GW_OPERATOR_WRENCH;
    d->operator.count = 1;
    d->operator.samples = calloc(1, sizeof *d->operator.samples);
    d->operator.samples[0].wrench.f = force;
    *t = gw_tool_default();
    strcpy(t->mechanism, "arm");
    strcpy(t->device, "sim");
    t->link = 1;
    t->at = (gw_pose){{0.021, 0, 0}, gw_quat_identity()};
    t->control = GW_CONTROL_PENALTY;
    t->rendering = gw_impedance_def_default();
    t->rendering.kind = GW_LAW_PENALTY;
    t->rendering.passivity = false;
}

static gw_scenario *scenario_of(const play *p)
{
    gw_scenario_def def = {.scene = p->scene,
                           .layout = p->layout,
                           .slots = &p->slot,
                           .slot_count = p->slot ? 1 : 0,
                           .revision = 1};
    gw_scenario *s = gw_scenario_create(&def, NULL);
    assert_non_null(s);
    return s;
}

/* rate 0: exact. */
static void open_scene(play *p, double newtons, double rate)
{
    memset(p, 0, sizeof *p);
    p->scene = new_scene();
    p->scene->rate = 1000;
    p->scene->contact.local = rate > 0;
    p->scene->contact.rate = rate;
    add_arm(p->scene);
    hold_arm(p->scene, gw_v3(newtons, 0, 0));
    p->layout = gw_layout_create(p->scene, NULL, NULL);
    p->slot = gw_device_slot_open(&p->scene->devices[0], 1000, NULL);
    assert_true(p->layout && p->slot);
}

static void open_play(play *p, double newtons, double rate)
{
    gw_command retired, go = {.kind = GW_COMMAND_STATE, .state = GW_RUNNING};
    open_scene(p, newtons, rate);
    p->simulation = gw_simulation_create(scenario_of(p), NULL);
    assert_non_null(p->simulation);
    gw_simulation_apply(p->simulation, &go, &retired);
}

static void close_play(play *p)
{
    gw_simulation_destroy(p->simulation);
    gw_device_slot_close(p->slot);
    gw_layout_destroy(p->layout);
    gw_scene_destroy(p->scene);
}

/* A tick, then the look that it asks for; looks: the world's thread is not late. */
static const gw_snapshot *tick(play *p, bool looks)
{
    gw_simulation_tick(p->simulation);
    gw_detection *d = gw_simulation_detection(p->simulation);
    if (d && looks)
        gw_detection_run(d);
    return gw_simulation_snapshot(p->simulation);
}

static void balanced(const gw_snapshot *s)
{
    const gw_energy *e = &s->energy;
    double come = e->work_in + e->motors + e->edits - e->dissipated;
    assert_true(fabs(e->kinetic + e->potential - e->initial - come) <= 1e-9 * e->work_in + 1e-12);
}

static int count_events(play *p, gw_event_kind kind)
{
    gw_event events[64];
    int sum = 0, count = gw_simulation_events(p->simulation, events, 64);
    for (int i = 0; i < count; i++)
        sum += events[i].kind == kind;
    return sum;
}

/* ---- against the exact model ---------------------------------------------------------------- */

typedef struct apart {
    double way;             /* that the exact one went (m) */
    double position, angle; /* of the held point (m, rad) */
    double force, largest;  /* at the hand: of what the device exerts (N) */
    double edits;           /* what looks brought (J) */
} apart;

static apart compare(double newtons, double rate, int ticks)
{
    play exact, local;
    apart a = {0};
    open_play(&exact, newtons, 0);
    open_play(&local, newtons, rate);
    gw_vec3 from = {0, 0, 0};
    assert_null(gw_simulation_detection(exact.simulation));
    for (int i = 0; i < ticks; i++) {
        const gw_snapshot *se = tick(&exact, true), *sl = tick(&local, true);
        const gw_tool_state *x = &se->tools[0], *y = &sl->tools[0];
        gw_twist off = gw_pose_sub(&y->world_from_tool, &x->world_from_tool);
        if (i == 0)
            from = x->world_from_tool.p;
        a.way = fmax(a.way, gw_distance(from, x->world_from_tool.p));
        a.position = fmax(a.position, gw_norm(off.v));
        a.angle = fmax(a.angle, gw_norm(off.w));
        a.force = fmax(a.force, gw_distance(x->command.f, y->command.f));
        a.largest = fmax(a.largest, gw_norm(x->command.f));
        a.edits = sl->energy.edits;
        balanced(sl);
    }
    assert_int_equal(count_events(&local, GW_EVENT_STRAINED), 0);
    print_message("%4.1f N, %4.0f Hz: held point %.2g of %.2g m, %.2g rad; force at the hand %.2g "
                  "of %.2g N; looks %.2g J\n",
                  newtons, rate, a.position, a.way, a.angle, a.force, a.largest, a.edits);
    close_play(&exact);
    close_play(&local);
    return a;
}

static void a_hand_moves_and_feels_nearly_the_same(void **state)
{
    (void)state;
    const double rates[3] = {1000, 200, 50};
    for (int i = 0; i < 3; i++) {
        apart gentle = compare(0.4, rates[i], 3000), strong = compare(4, rates[i], 1000);
        assert_true(gentle.way > 0.05 && strong.way > 0.05);
        assert_true(gentle.position <= 0.006 * gentle.way && gentle.angle <= 0.02);
        assert_true(strong.position <= 0.006 * strong.way && strong.angle <= 0.02);
        assert_true(gentle.force <= 0.003 * gentle.largest);
        assert_true(strong.force <= 0.003 * strong.largest);
        assert_true(gentle.position > 0 && gentle.edits != 0);
    }
}

/* ---- the world's thread is late ------------------------------------------------------------- */

static double speed_of(const gw_snapshot *s)
{
    double sum = 0;
    for (int i = 0; i < s->joint_count; i++)
        sum += fabs(s->v[i]);
    return sum;
}

static void a_late_look_is_said_and_brakes_until_it_comes(void **state)
{
    (void)state;
    play p;
    const gw_snapshot *s;
    open_play(&p, 4, 200);
    for (int i = 0; i < 500; i++)
        s = tick(&p, true);
    double driven = speed_of(s), dissipated = s->energy.dissipated;
    assert_int_equal(count_events(&p, GW_EVENT_STRAINED), 0);
    for (int i = 0; i < 6; i++) /* the last one came at tick 495: two periods are its due */
        tick(&p, false);
    assert_int_equal(count_events(&p, GW_EVENT_STRAINED), 0);
    for (int i = 0; i < 200; i++)
        s = tick(&p, false);
    assert_int_equal(count_events(&p, GW_EVENT_STRAINED), 1); /* and it is said once */
    assert_true(s->energy.dissipated > dissipated + 1e-3);
    assert_true(speed_of(s) < 0.2 * driven);
    balanced(s);
    for (int i = 0; i < 10; i++)
        s = tick(&p, true);
    dissipated = s->energy.dissipated;
    for (int i = 0; i < 200; i++)
        s = tick(&p, true);
    assert_int_equal(count_events(&p, GW_EVENT_STRAINED), 0);
    assert_true(s->energy.dissipated <= dissipated + 1e-5); /* but for what looks are paid */
    balanced(s);
    close_play(&p);
}

/* ---- energy --------------------------------------------------------------------------------- */

static double true_energy(const serial_def *def, const gw_snapshot *s)
{
    serial exact;
    serial_open(&exact, def, s->q, s->v);
    serial_close(&exact);
    return exact.kinetic + exact.potential;
}

/* Ten seconds of a free chain that swings from horizontal. Without the correction, new local models
 * would add as much energy as there was. */
static void a_whirling_chain_gains_nothing(void **state)
{
    (void)state;
    const double rates[3] = {1000, 200, 50}, above_most[3] = {0.01, 0.03, 0.15};
    serial_def def = fixture_table_one(9.81);
    for (int i = 0; i < 3; i++) {
        play p = {.scene = new_scene()};
        gw_command retired, go = {.kind = GW_COMMAND_STATE, .state = GW_RUNNING};
        double above = 0, most = -INFINITY, least = INFINITY, peak = 0, brought = 0;
        p.scene->rate = 1000;
        p.scene->gravity = gw_v3(0, -9.81, 0);
        p.scene->contact.local = true;
        p.scene->contact.rate = rates[i];
        add_arm(p.scene);
        memset(p.scene->mechanisms[0].position, 0, 3 * sizeof(double));
        p.layout = gw_layout_create(p.scene, NULL, NULL);
        p.simulation = gw_simulation_create(scenario_of(&p), NULL);
        gw_simulation_apply(p.simulation, &go, &retired);
        for (int k = 0; k < 10000; k++) {
            const gw_snapshot *s = tick(&p, true);
            double truly = true_energy(&def, s) - s->energy.initial;
            above = fmax(above, s->energy.kinetic + s->energy.potential - s->energy.initial);
            peak = fmax(peak, s->energy.kinetic);
            most = fmax(most, truly);
            least = fmin(least, truly);
            brought = s->energy.edits;
            balanced(s);
        }
        print_message("%4.0f Hz: looks brought %.2g J; energy above the start %.1g J, truly %.2g "
                      "J to %.2g J, peak kinetic %.2g J\n",
                      rates[i], brought, above, least, most, peak);
        assert_true(above <= 1e-9);
        assert_true(most <= above_most[i] * peak && least >= -0.3 * peak);
        assert_true(peak > 2);
        close_play(&p);
    }
}

/* A chain that no local step can integrate is stepped exactly: it creeps at weight over damping. */
static void a_chain_with_stiff_joints_goes_exactly(void **state)
{
    (void)state;
    serial_def def = fixture_table_one(9.81);
    play p = {.scene = new_scene()};
    gw_command retired, go = {.kind = GW_COMMAND_STATE, .state = GW_RUNNING};
    p.scene->rate = 1000;
    p.scene->gravity = gw_v3(0, -9.81, 0);
    p.scene->contact.local = true;
    p.scene->contact.rate = 200;
    add_arm(p.scene);
    memset(p.scene->mechanisms[0].position, 0, 3 * sizeof(double));
    p.scene->mechanisms[0].links[0].damping = 1e6;
    p.scene->mechanisms[0].links[1].motor = (gw_motor){.damping = 1e6};
    p.scene->mechanisms[0].links[2].motor = (gw_motor){.stiffness = 1e6, .damping = 1e4};
    p.layout = gw_layout_create(p.scene, NULL, NULL);
    p.simulation = gw_simulation_create(scenario_of(&p), NULL);
    gw_simulation_apply(p.simulation, &go, &retired);
    for (int k = 0; k < 1000; k++) {
        const gw_snapshot *s = tick(&p, true);
        assert_true(s->energy.edits == 0);
        if (k < 100)
            continue;
        assert_true(fabs(true_energy(&def, s) - s->energy.kinetic - s->energy.potential) < 1e-9);
        assert_true(s->energy.kinetic < 1e-9);
    }
    assert_int_equal(count_events(&p, GW_EVENT_STRAINED), 0);
    close_play(&p);
}

/* ---- tick 0, commands, another scenario ----------------------------------------------------- */

static void two_runs_are_the_same_to_the_bit(void **state)
{
    (void)state;
    play p;
    double first[3];
    gw_command retired, stop = {.kind = GW_COMMAND_STATE, .state = GW_STOPPED};
    gw_command go = {.kind = GW_COMMAND_STATE, .state = GW_RUNNING};
    open_play(&p, 4, 200);
    for (int i = 0; i < 700; i++)
        memcpy(first, tick(&p, true)->q, sizeof first);
    gw_simulation_apply(p.simulation, &stop, &retired);
    gw_simulation_apply(p.simulation, &go, &retired);
    p.tick = 0; /* the look of before the stop that is still on its way is not taken */
    for (int i = 0; i < 699; i++)
        tick(&p, true);
    assert_memory_equal(first, tick(&p, true)->q, sizeof first);
    close_play(&p);
}

static void looks_find_the_directions_that_control_asks_for(void **state)
{
    (void)state;
    play p;
    gw_command retired, command = {.kind = GW_COMMAND_CONTROL};
    open_play(&p, 0.4, 200);
    const gw_resisted_directions *r = &tick(&p, true)->tools[0].resisted;
    assert_int_equal(r->count, 4); /* three of the plane's, one of the middle link */
    assert_true(r->length == 0.05);
    double before[6];
    memcpy(before, r->direction[3], sizeof before);
    for (int i = 0; i < 3; i++)
        tick(&p, true);
    assert_memory_equal(before, r->direction[3], sizeof before); /* those of the look */
    command.rendering = p.scene->tools[0].rendering;
    command.rendering.resisted.length = 0.2;
    gw_simulation_apply(p.simulation, &command, &retired);
    for (int i = 0; i < 10; i++)
        tick(&p, true);
    assert_true(r->length == 0.2);
    close_play(&p);
}

static void a_switch_between_exact_and_local_goes_on_and_books_its_energy(void **state)
{
    (void)state;
    play p;
    const gw_snapshot *s;
    open_play(&p, 4, 0);
    for (int i = 0; i < 300; i++)
        s = tick(&p, true);
    for (int round = 0; round < 4; round++) {
        gw_command retired, command = {.kind = GW_COMMAND_SCENARIO};
        double q = s->q[0], v = s->v[0];
        p.scene->contact.local = round % 2 == 0;
        p.scene->contact.rate = 100;
        command.scenario = scenario_of(&p);
        gw_simulation_apply(p.simulation, &command, &retired);
        gw_scenario_destroy(retired.scenario);
        assert_true((gw_simulation_detection(p.simulation) != NULL) == (round % 2 == 0));
        s = tick(&p, true);
        s = tick(&p, true);
        assert_true(fabs(s->q[0] - q - 2e-3 * v) < 1e-4 && fabs(s->v[0] - v) < 0.05);
        for (int i = 0; i < 100; i++)
            s = tick(&p, true);
        balanced(s);
    }
    close_play(&p);
}

/* ---- in the loop ---------------------------------------------------------------------------- */

static void nap(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

static void the_loops_own_thread_looks(void **state)
{
    (void)state;
    play p;
    gw_command go = {.kind = GW_COMMAND_STATE, .state = GW_RUNNING};
    open_scene(&p, 0.4, 200);
    gw_loop *loop = gw_loop_create(&(gw_loop_def){.rate = 1000, .scenario = scenario_of(&p)}, NULL);
    static gw_snapshot s;
    assert_non_null(loop);
    assert_true(gw_loop_send(loop, &go));
    for (int i = 0; i < 400 && s.energy.edits == 0; i++) {
        nap(10);
        gw_loop_snapshot(loop, &s);
    }
    assert_true(s.energy.edits != 0); /* looks came */
    balanced(&s);
    gw_loop_destroy(loop);
    gw_device_slot_close(p.slot);
    gw_layout_destroy(p.layout);
    gw_scene_destroy(p.scene);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hand_moves_and_feels_nearly_the_same),
        cmocka_unit_test(a_late_look_is_said_and_brakes_until_it_comes),
        cmocka_unit_test(a_whirling_chain_gains_nothing),
        cmocka_unit_test(a_chain_with_stiff_joints_goes_exactly),
        cmocka_unit_test(two_runs_are_the_same_to_the_bit),
        cmocka_unit_test(looks_find_the_directions_that_control_asks_for),
        cmocka_unit_test(a_switch_between_exact_and_local_goes_on_and_books_its_energy),
        cmocka_unit_test(the_loops_own_thread_looks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
