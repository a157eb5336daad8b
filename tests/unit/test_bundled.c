/*
 * The bundled scenes of contacts against what they say of themselves: the papers' enclosure, a
 * cradle, bouncing balls, sliding blocks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "rt/sim/scenario_private.h"
#include "tests/unit/bundled.h"

/* ---- impulsive-forces Fig. 4 to 7 ----------------------------------------------------------- */

enum { TICKS = 6000 };

typedef struct felt {
    int collisions;      /* ticks with one */
    int rose;            /* of these where energy came from nowhere */
    double taken;        /* by contacts in these ticks (J) */
    double peak;         /* kinetic (J) */
    double out_of_plane; /* m */
    double energy_off;   /* the most that a tick's energy was out by (J) */
    double impulse;      /* largest impulsive force at the device (N) */
    int quasi_count;     /* ticks that touch and do not collide */
    double quasi[TICKS]; /* forces at the device in them (N), ascending */
    bool walls, rectangles, self;
} felt;

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Links 0 to 2 are the arm's, objects 0 to 3 walls, 4 and 5 the rectangles. */
static void who_touches(felt *f, const gw_snapshot *s)
{
    for (int i = 0; i < s->contact_count; i++) {
        int a = s->contacts[i].a, b = s->contacts[i].b;
        int other = a < 0 ? b : a;
        if (a >= 0 && b >= 0)
            continue;
        f->self = f->self || other < 0;
        f->walls = f->walls || (other >= 0 && other < 4);
        f->rectangles = f->rectangles || other >= 4;
    }
}

static void judge_tick(felt *f, const gw_snapshot *was, const gw_snapshot *s)
{
    const gw_energy *a = &was->energy, *b = &s->energy;
    double gain = b->kinetic + b->potential - a->kinetic - a->potential;
    double come = b->work_in + b->edits - b->dissipated - a->work_in - a->edits + a->dissipated;
    const gw_tool_state *t = &s->tools[0];
    f->energy_off = fmax(f->energy_off, fabs(gain - come));
    f->peak = fmax(f->peak, b->kinetic);
    if (s->contact.collisions > was->contact.collisions) {
        double taken = s->contact.dissipated - was->contact.dissipated;
        f->collisions++;
        f->taken += taken;
        f->rose += taken < -1e-12;
    }
    for (int i = 0; i < s->joint_count; i++)
        f->out_of_plane = fmax(f->out_of_plane, fabs(s->links[i].p.z));
    for (int i = 0; i < s->free_count; i++) {
        gw_vec3 up = gw_rotate(s->free[i].pose.q, gw_v3(0, 0, 1));
        f->out_of_plane = fmax(f->out_of_plane, fabs(s->free[i].pose.p.z) + hypot(up.x, up.y));
    }
    f->impulse = fmax(f->impulse, gw_norm(t->impulse.f));
    if (s->contact.touching > 0 && !(gw_norm(t->impulse.f) > 0))
        f->quasi[f->quasi_count++] = gw_norm(t->command.f);
    who_touches(f, s);
}

/* Six seconds of it; *f is told of all. */
static void enclosure(const char *name, bool local, felt *f)
{
    static gw_snapshot was;
    running b;
    gw_scene *scene = bundled_scene(name);
    scene->contact.local = local;
    *f = (felt){0};
    running_open(&b, scene);
    was = *running_tick(&b);
    for (int i = 1; i < TICKS; i++) {
        const gw_snapshot *s = running_tick(&b);
        judge_tick(f, &was, s);
        was = *s;
    }
    qsort(f->quasi, (size_t)f->quasi_count, sizeof *f->quasi, ascending);
    print_message("%s%s: %d ticks with collisions took %.2g J, peak %.2g J; impulse at the device "
                  "%.0f N, else %.1f N (median), %.1f N (95 %%); energy off by %.1g J\n",
                  name, local ? " (local)" : "", f->collisions, f->taken, f->peak, f->impulse,
                  f->quasi[f->quasi_count / 2], f->quasi[f->quasi_count * 95 / 100], f->energy_off);
    running_close(&b);
}

static felt plastic, elastic;

/* Fig. 5 */
static void plastic_collisions_take_kinetic_energy(void **state)
{
    (void)state;
    enclosure("paper-enclosure-plastic", false, &plastic);
    assert_true(plastic.collisions >= 10);
    assert_int_equal(plastic.rose, 0);
    assert_true(plastic.taken > 0.05 * plastic.peak);
    assert_true(plastic.energy_off <= 1e-9);
    assert_true(plastic.walls && plastic.rectangles && plastic.self);
    assert_true(plastic.out_of_plane <= 1e-15);
}

/* Fig. 6 */
static void elastic_collisions_keep_it(void **state)
{
    (void)state;
    enclosure("paper-enclosure-elastic", false, &elastic);
    assert_true(elastic.collisions >= 30);
    assert_int_equal(elastic.rose, 0);
    assert_true(elastic.taken <= 1e-11 * elastic.peak);
    assert_true(elastic.energy_off <= 1e-9);
    assert_true(elastic.walls && elastic.rectangles);
    assert_true(elastic.out_of_plane <= 1e-15);
}

/* Fig. 7: an order of magnitude, at 1 kHz. */
static void impulses_stand_out_over_quasi_static_forces(void **state)
{
    (void)state;
    assert_true(plastic.quasi_count >= 500);
    double most = plastic.quasi[plastic.quasi_count * 95 / 100];
    assert_true(most > 1);
    assert_true(plastic.impulse >= 10 * most);
    assert_true(elastic.impulse >= 10 * most);
}

/* The same on the arm's local model: what looks bring is booked, collisions take energy. */
static void collisions_on_a_local_model_take_energy_too(void **state)
{
    (void)state;
    static felt f;
    enclosure("paper-enclosure-plastic", true, &f);
    assert_true(f.collisions >= 10);
    assert_int_equal(f.rose, 0);
    assert_true(f.energy_off <= 1e-9);
    assert_true(f.out_of_plane <= 1e-15);
    assert_true(f.impulse >= 10 * f.quasi[f.quasi_count / 2]);
}

/* ---- showcases ------------------------------------------------------------------------------ */

/* The first ball's speed is the last one's, and back; ten swings of both. */
static void a_cradle_passes_its_swing_on(void **state)
{
    (void)state;
    running b;
    double first = 0, last = 0, worst = 0, squeezed = 0;
    double between = 0; /* the most that the three in the middle swing, while an end one does */
    running_open(&b, bundled_scene("cradle"));
    for (int i = 0; i < 9500; i++) { /* 0.91 s a swing */
        const gw_snapshot *s = running_tick(&b);
        const gw_energy *e = &s->energy;
        first = fmax(first, s->q[0]);
        last = fmax(last, -s->q[4]);
        worst = fmax(worst, fabs(e->kinetic + e->potential - e->initial));
        for (int k = 1; k < 4; k++)
            between = fmax(between, fabs(s->q[k]));
        for (int k = 0; k < 4; k++) { /* balls swing to -x with a rising angle */
            double gap = 0.04 - 0.2 * (sin(s->q[k + 1]) - sin(s->q[k]));
            squeezed = fmax(squeezed, 0.04 - gap);
        }
    }
    print_message("cradle: ends rise to %.6f and %.6f rad, the middle to %.2g; energy off by %.2g "
                  "J, deepest %.2g m\n",
                  first, last, between, worst, squeezed);
    assert_true(fabs(first - 0.5) <= 1e-9 && fabs(last - 0.5) <= 1e-3);
    assert_true(between <= 1e-3);
    assert_true(squeezed <= 1e-6);
    assert_true(worst <= 1e-9);
    running_close(&b);
}

/* Apexes after the first bounces: 0.3 m e^(2n) over the floor. */
static void balls_bounce_as_high_as_restitution_says(void **state)
{
    (void)state;
    const double e[4] = {1, 0.8, 0.5, 0};
    running b;
    double apex[4][2] = {{0}}, down[4] = {-1, -1, -1, -1};
    int bounces[4] = {0};
    running_open(&b, bundled_scene("bouncing-ball"));
    for (int i = 0; i < 1100; i++) {
        const gw_snapshot *s = running_tick(&b);
        assert_int_equal(s->free_count, 4);
        for (int k = 0; k < 4; k++) {
            double v = s->free[k].twist.v.z, z = s->free[k].pose.p.z - 0.03;
            bounces[k] += down[k] < -1e-2 && v > 1e-2;
            down[k] = v;
            int n = bounces[k];
            if (n == 1 || n == 2)
                apex[k][n - 1] = fmax(apex[k][n - 1], z + v * fabs(v) / (2 * 9.81));
        }
    }
    for (int k = 0; k < 3; k++)
        assert_true(fabs(apex[k][0] - 0.3 * e[k] * e[k]) <= 1e-6);
    assert_true(fabs(apex[1][1] - 0.3 * pow(0.8, 4)) <= 1e-6);
    assert_true(fabs(apex[2][1] - 0.3 * pow(0.5, 4)) <= 1e-6);
    assert_int_equal(bounces[3], 0);
    running_close(&b);
}

static void blocks_slide_as_far_as_coulomb_says(void **state)
{
    (void)state;
    const double mu[3] = {0.1, 0.2, 0.4};
    running b;
    const gw_snapshot *s = NULL;
    running_open(&b, bundled_scene("sliding-block"));
    for (int i = 0; i < 1500; i++)
        s = running_tick(&b);
    for (int k = 0; k < 3; k++) {
        double way = 1 / (2 * mu[k] * 9.81);
        print_message("block %d: %.6f of %.6f m\n", k + 1, s->free[k].pose.p.x, way);
        assert_true(fabs(s->free[k].pose.p.x - way) <= 2e-3 * way);
        assert_true(gw_norm(s->free[k].twist.v) <= 1e-4);
    }
    running_close(&b);
}

static const gw_free_body *loose(const running *b, const gw_snapshot *s, const char *id)
{
    for (int i = 0; i < s->free_count; i++)
        if (strcmp(b->scene->objects[s->free[i].object].id, id) == 0)
            return &s->free[i];
    fail_msg("%s is not free", id);
    return NULL;
}

/* The hand pushes the door round its post and pulls the drawer out; the bead swings beside. */
static void a_finger_opens_door_and_drawer(void **state)
{
    (void)state;
    running b;
    double open = 0, energy_off = 0, swing = 0, low = 0, peak = 0;
    const gw_snapshot *s = NULL;
    running_open(&b, bundled_scene("door-and-drawer"));
    for (int i = 0; i < 8000; i++) {
        s = running_tick(&b);
        const gw_energy *e = &s->energy;
        gw_vec3 along = gw_rotate(loose(&b, s, "door")->pose.q, gw_v3(0, 1, 0));
        const gw_free_body *bead = loose(&b, s, "bead");
        open = fmax(open, atan2(along.x, along.y));
        swing = fmax(swing, bead->pose.p.x);
        low = fmin(low, bead->pose.p.x - 0.1);
        peak = fmax(peak, e->kinetic);
        energy_off = fmax(energy_off, fabs(e->kinetic + e->potential - e->initial - e->work_in -
                                           e->edits + e->dissipated));
    }
    double out = 0.1 - loose(&b, s, "drawer")->pose.p.x;
    print_message(
        "door opened %.3f rad, drawer %.4f m out, bead from %.4f to %.4f m; energy off by "
        "%.2g J of %.2g J\n",
        open, out, low, swing - 0.1, energy_off, peak);
    assert_true(open > 1.6 && open < 1.71);
    assert_true(fabs(low + 0.062) <= 1e-4 && fabs(swing - 0.162) <= 1e-4);
    assert_true(out > 0.085 && out <= 0.1);
    assert_true(energy_off <= 1e-9);
    running_close(&b);
}

/* ---- rehearsals ------------------------------------------------------------------------------ */

/* Bit by bit: of everything that moves, what was felt and what it took. */
static void assert_same_tick(const gw_snapshot *a, const gw_snapshot *b)
{
    assert_int_equal(a->tick, b->tick);
    assert_memory_equal(&a->energy, &b->energy, sizeof a->energy);
    assert_int_equal(a->tool_count, b->tool_count);
    for (int i = 0; i < a->tool_count; i++) {
        const gw_tool_state *s = &a->tools[i], *t = &b->tools[i];
        assert_memory_equal(&s->world_from_tool, &t->world_from_tool, sizeof s->world_from_tool);
        assert_memory_equal(&s->twist, &t->twist, sizeof s->twist);
        assert_memory_equal(&s->device_true, &t->device_true, sizeof s->device_true);
        assert_memory_equal(&s->constraint, &t->constraint, sizeof s->constraint);
        assert_memory_equal(&s->command, &t->command, sizeof s->command);
    }
    assert_int_equal(a->joint_count, b->joint_count);
    assert_memory_equal(a->q, b->q, (size_t)a->joint_count * sizeof *a->q);
    assert_int_equal(a->free_count, b->free_count);
    for (int i = 0; i < a->free_count; i++)
        assert_memory_equal(&a->free[i].pose, &b->free[i].pose, sizeof a->free[i].pose);
}

static void rehearse_between_ticks(const char *name)
{
    running plain, rehearsed;
    running_open(&plain, bundled_scene(name));
    running_open_as(&rehearsed, bundled_scene(name), true);
    gw_rehearsal *rehearsal = gw_simulation_scenario(rehearsed.simulation)->rehearsal;
    assert_non_null(rehearsal);
    for (int k = 0; k < 1500; k++) {
        for (int again = 0; again < k % 3; again++)
            gw_rehearsal_tick(rehearsal);
        assert_same_tick(running_tick(&plain), running_tick(&rehearsed));
    }
    running_close(&rehearsed);
    running_close(&plain);
}

static void rehearsals_change_no_bit(void **state)
{
    static const char *const names[] = {"cone-on-cylinder",        "paper-circle",
                                        "paper-enclosure-elastic", "four-bar",
                                        "paper-mechanism-middle",  "bouncing-ball"};
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        rehearse_between_ticks(names[i]);
}

static void an_edit_takes_over_the_rehearsal(void **state)
{
    (void)state;
    running r;
    running_open_as(&r, bundled_scene("cone-on-cylinder"), true);
    const gw_rehearsal *rehearsal = gw_simulation_scenario(r.simulation)->rehearsal;
    gw_scenario_def def = {.scene = r.scene,
                           .layout = r.layout,
                           .slots = r.slots,
                           .slot_count = r.scene->device_count};
    for (int k = 0; k < 2; k++) { /* the second has one of its own */
        def.rehearsed = k == 1;
        gw_command retired,
            next = {.kind = GW_COMMAND_SCENARIO, .scenario = gw_scenario_create(&def, NULL)};
        assert_non_null(next.scenario);
        gw_simulation_apply(r.simulation, &next, &retired);
        const gw_rehearsal *now = gw_simulation_scenario(r.simulation)->rehearsal;
        assert_true(k == 0 ? now == rehearsal && !retired.scenario->rehearsal
                           : now && now != rehearsal && retired.scenario->rehearsal == rehearsal);
        gw_scenario_destroy(retired.scenario);
        running_tick(&r);
    }
    running_close(&r);
}

static void a_large_scene_is_not_rehearsed(void **state)
{
    (void)state;
    gw_scene *scene = bundled_scene("cone-on-cylinder");
    for (int i = scene->object_count; i <= GW_REHEARSED_BODIES; i++) {
        gw_object *object = gw_scene_add_object(scene, NULL);
        assert_non_null(object);
        snprintf(object->id, sizeof object->id, "box-%d", i);
        object->fixed = true;
    }
    running r;
    running_open_as(&r, scene, true);
    assert_null(gw_simulation_scenario(r.simulation)->rehearsal);
    running_close(&r);
}

static void the_cost_of_a_rehearsal_follows_the_median(void **state)
{
    (void)state;
    running r;
    running_open_as(&r, bundled_scene("free-body"), true);
    gw_rehearsal *rehearsal = gw_simulation_scenario(r.simulation)->rehearsal;
    assert_non_null(rehearsal);
    assert_true(gw_rehearsal_cost_ns(rehearsal) > 0);
    for (int k = 0; k < 2000; k++) /* one of ten takes a thousand times as long */
        gw_rehearsal_took(rehearsal, k % 10 == 0 ? 5000000 : 5000);
    assert_true(gw_rehearsal_cost_ns(rehearsal) > 4000 && gw_rehearsal_cost_ns(rehearsal) < 7000);
    running_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plastic_collisions_take_kinetic_energy),
        cmocka_unit_test(elastic_collisions_keep_it),
        cmocka_unit_test(impulses_stand_out_over_quasi_static_forces),
        cmocka_unit_test(collisions_on_a_local_model_take_energy_too),
        cmocka_unit_test(a_cradle_passes_its_swing_on),
        cmocka_unit_test(balls_bounce_as_high_as_restitution_says),
        cmocka_unit_test(blocks_slide_as_far_as_coulomb_says),
        cmocka_unit_test(a_finger_opens_door_and_drawer),
        cmocka_unit_test(rehearsals_change_no_bit),
        cmocka_unit_test(an_edit_takes_over_the_rehearsal),
        cmocka_unit_test(a_large_scene_is_not_rehearsed),
        cmocka_unit_test(the_cost_of_a_rehearsal_follows_the_median),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
