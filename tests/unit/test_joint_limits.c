/*
 * Limits of joints of systems of bodies: contacts of the loop's world. A hit is an impulse through
 * the linkage, with the joint's restitution; what presses on a limit is held there, however stiff,
 * and stands still.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/free_fixture.h"

#define G 9.81

static gw_object *add_body(gw_scene *s, const char *id, gw_vec3 at, double mass)
{
    gw_object *o = add_box(s, id, at, false);
    o->free = true;
    o->body = (gw_body){.source = GW_MASS_GIVEN, .mass = mass};
    return o;
}

static gw_joint_end at_world(gw_pose frame)
{
    return (gw_joint_end){.object = GW_WORLD_FRAME, .at = frame};
}

static gw_joint_end at_body(const char *id, gw_vec3 p)
{
    gw_joint_end end = {.at = {p, gw_quat_identity()}};
    snprintf(end.object, sizeof end.object, "%s", id);
    return end;
}

static gw_scene_joint *add_joint(gw_scene *s, const char *id, gw_mobilizer type, gw_joint_end a,
                                 gw_joint_end b)
{
    gw_scene_joint *j = gw_scene_add_joint(s, NULL);
    assert_non_null(j);
    snprintf(j->id, sizeof j->id, "%s", id);
    j->type = type;
    j->enabled = true;
    j->a = a;
    j->b = b;
    return j;
}

static void limit(gw_scene_joint *j, int i, double lower, double upper)
{
    j->limited[i] = true;
    j->lower[i] = lower;
    j->upper[i] = upper;
}

/* Crank of 0.1 m, coupler of 0.3 m, rocker of 0.2 m, pins on the ground 0.3 m apart, all about z;
 * the crank stands at 2 rad. Joint i is the pin before bar i, the last one the rocker's on the
 * ground. */
static gw_scene *four_bar_of_joints(void)
{
    static const char *const ids[] = {"crank", "coupler", "rocker"};
    static const double lengths[] = {0.1, 0.3, 0.2};
    const double ground = 0.3, crank = 2;
    gw_scene *s = new_scene();
    gw_vec3 pin[4] = {
        {0, 0, 0}, {0.1 * cos(crank), 0.1 * sin(crank), 0}, {0, 0, 0}, {ground, 0, 0}};
    double dx = ground - pin[1].x, dy = -pin[1].y, d2 = dx * dx + dy * dy;
    double turn = atan2(dy, dx) + acos((0.09 + d2 - 0.04) / (2 * 0.3 * sqrt(d2)));
    pin[2] = gw_v3(pin[1].x + 0.3 * cos(turn), pin[1].y + 0.3 * sin(turn), 0);
    for (int i = 0; i < 3; i++) {
        gw_vec3 along = gw_sub(pin[i + 1], pin[i]);
        gw_object *o = add_body(s, ids[i], gw_scale(0.5, gw_add(pin[i], pin[i + 1])), 1);
        o->pose.q = gw_quat_axis(gw_v3(0, 0, 1), atan2(along.y, along.x));
    }
    for (int i = 0; i < 4; i++) {
        char id[16];
        snprintf(id, sizeof id, "j%d", i);
        gw_joint_end before = at_world((gw_pose){pin[i], gw_quat_identity()});
        gw_joint_end after = before;
        if (i > 0)
            before = at_body(ids[i - 1], gw_v3(0.5 * lengths[i - 1], 0, 0));
        if (i < 3)
            after = at_body(ids[i], gw_v3(-0.5 * lengths[i], 0, 0));
        add_joint(s, id, GW_MOBILIZER_REVOLUTE, after, before);
    }
    return s;
}

/* ---- a hit ---------------------------------------------------------------------------------- */

/* A rod that is let fall from level: it has m g l sin(a) at the angle a, of which a hit leaves e^2.
 */
static void a_pendulum_hits_its_limit(void **state)
{
    (void)state;
    static const double restitutions[] = {0, 0.5, 1};
    const double l = 0.5, angle = 1, fallen = 1 * G * l * sin(angle);
    for (int k = 0; k < 3; k++) {
        double e = restitutions[k], before = 0, q = 0, v = 0, beyond = 0, worst = 0;
        gw_scene *s = new_scene();
        running r;
        s->gravity = gw_v3(0, -G, 0);
        add_body(s, "rod", gw_v3(l, 0, 0), 1);
        gw_scene_joint *j =
            add_joint(s, "j", GW_MOBILIZER_REVOLUTE, at_body("rod", gw_v3(-l, 0, 0)),
                      at_world(gw_pose_identity()));
        limit(j, 0, -angle, 2);
        j->restitution = e;
        running_open(&r, s);
        const gw_snapshot *now = running_tick(&r);
        for (int i = 0; i < 1000 && now->contact.collisions == 0; i++) {
            before = now->energy.kinetic + now->energy.potential - now->energy.initial;
            now = running_tick(&r);
        }
        double lost = now->energy.dissipated;
        assert_true(fabs(before) < 1e-9);
        assert_true(fabs(lost - (1 - e * e) * fallen) < 1e-6);
        for (int i = 0; i < 3000; i++) {
            now = running_tick(&r);
            q = now->coordinates[0], v = now->rates[0];
            beyond = fmax(beyond, -angle - q);
            worst = fmax(worst, fabs(energy_error(now)));
            assert_true(now->energy.dissipated >= lost - 1e-9);
        }
        print_message(
            "e = %g: lost %.9f J of %.9f; %.2g rad beyond at most, in the end %.2g rad/s; "
            "energy balance off by %.2g J\n",
            e, lost, (1 - e * e) * fallen, beyond, v, worst);
        assert_true(beyond < 2e-5 && worst < 1e-9);
        if (e < 1)
            assert_true(fabs(q + angle) < 1e-9 && fabs(v) < 1e-6);
        else
            assert_true(now->energy.dissipated < 1e-6);
        running_close(&r);
    }
}

/* The rocker of a four-bar has a limit: there the whole linkage stops, and stays. */
static void a_linkage_stops_at_the_limit_of_one_joint(void **state)
{
    (void)state;
    for (int which = 0; which < 4; which++) { /* one of the four closes the loop */
        gw_scene *s = four_bar_of_joints();
        running r;
        s->gravity = gw_v3(0, -G, 0);
        running_open(&r, s);
        double from = running_tick(&r)->coordinates[which], to = from;
        for (int i = 0; i < 100; i++)
            to = gw_simulation_snapshot(r.simulation)->coordinates[which], running_tick(&r);
        running_close(&r);
        s = four_bar_of_joints();
        s->gravity = gw_v3(0, -G, 0);
        limit(&s->joints[which], 0, fmin(from, to), fmax(from, to));
        running_open(&r, s);
        double fastest = 0, beyond = 0, worst = 0;
        for (int i = 0; i < 1500; i++) {
            const gw_snapshot *now = running_tick(&r);
            double q = now->coordinates[which];
            beyond = fmax(beyond, fmax(fmin(from, to) - q, q - fmax(from, to)));
            worst = fmax(worst, fabs(energy_error(now)));
            for (int k = 0; k < 4 && i >= 1000; k++)
                fastest = fmax(fastest, fabs(now->rates[k]));
        }
        print_message(
            "limit at joint %d: %.2g rad beyond, then %.2g rad/s; energy balance off by %.2g J\n",
            which, beyond, fastest, worst);
        assert_true(beyond < 1e-5 && fastest < 1e-6 && worst < 1e-9);
        running_close(&r);
    }
}

/* ---- what is held ---------------------------------------------------------------------------- */

/* A slider that falls onto its limit rests there; so does one that a motor of 1e6 N/m drives 0.1 m
 * beyond it. */
static void what_presses_on_a_limit_stands_still(void **state)
{
    (void)state;
    static const gw_motor motors[] = {
        {0},
        {.stiffness = 1e6, .damping = 2000, .target = -0.1},
        {.stiffness = 1e6, .damping = 2000, .target = -0.1, .max = 200},
        {.rate = -1, .damping = 1e5}};
    for (size_t k = 0; k < sizeof motors / sizeof *motors; k++) {
        gw_scene *s = new_scene();
        running r;
        double fastest = 0, beyond = 0, worst = 0, q = 0;
        s->gravity = gw_v3(0, 0, -G);
        add_body(s, "car", gw_v3(0, 0, 0.2), 2);
        gw_scene_joint *j = add_joint(s, "j", GW_MOBILIZER_PRISMATIC,
                                      at_body("car", gw_v3(0, 0, 0)), at_world(gw_pose_identity()));
        limit(j, 0, 0, 1);
        j->has_motor[0] = k > 0;
        j->motor[0] = motors[k];
        running_open(&r, s);
        for (int i = 0; i < 2000; i++) {
            const gw_snapshot *now = running_tick(&r);
            const gw_energy *e = &now->energy;
            q = now->coordinates[0];
            beyond = fmax(beyond, -q);
            worst = fmax(worst, fabs(e->kinetic + e->potential + e->dissipated - e->initial -
                                     e->work_in - e->motors - e->edits));
            fastest = i >= 1000 ? fmax(fastest, fabs(now->rates[0])) : 0;
        }
        print_message(
            "motor %zu: %.2g m beyond at most, at rest %.2g m, %.2g m/s; energy balance off by "
            "%.2g J\n",
            k, beyond, -q, fastest, worst);
        assert_true(beyond < 1e-5 && fabs(q) < 1e-9 && fastest < 1e-8 && worst < 1e-6);
        running_close(&r);
    }
}

/* A slider that a spring presses on its limit by 200 N stands still while another of 0.5 kg swings
 * on it by a spring of 10 kN/m, at 141 rad/s and with up to 100 N: it holds like the ground.
 *
 *   x = v0 / w sin(w t),   w = sqrt(k / m) */
static void what_swings_on_a_held_slider_keeps_its_energy(void **state)
{
    (void)state;
    const double k = 1e4, m = 0.5, v0 = sqrt(2), w = sqrt(k / m);
    gw_scene *s = new_scene();
    running r;
    double moved = 0, off = 0, least = INFINITY;
    s->gravity = gw_v3(0, 0, 0);
    add_body(s, "held", gw_v3(0, 0, 0), 1);
    add_body(s, "swings", gw_v3(0, 0, 0.2), m);
    gw_scene_joint *j = add_joint(s, "j", GW_MOBILIZER_PRISMATIC, at_body("held", gw_v3(0, 0, 0)),
                                  at_world(gw_pose_identity()));
    limit(j, 0, 0, 0.02);
    j->stiffness[0] = k;
    j->rest[0] = -200 / k;
    j = add_joint(s, "i", GW_MOBILIZER_PRISMATIC, at_body("swings", gw_v3(0, 0, 0)),
                  at_body("held", gw_v3(0, 0, 0.2)));
    j->stiffness[0] = k;
    j->has_velocity = true;
    j->velocity[0] = v0;
    running_open(&r, s);
    for (int i = 0; i < 500; i++) {
        const gw_snapshot *now = running_tick(&r);
        double q = now->coordinates[1], v = now->rates[1];
        moved = fmax(moved, fabs(now->coordinates[0]));
        off = fmax(off, fabs(q - v0 / w * sin(w * now->time)));
        least = fmin(least, (m * v * v + k * q * q) / (m * v0 * v0));
    }
    print_message("the slider moves by %.2g m; of the swing's energy %.2g are lost, it is %.2g m "
                  "off\n",
                  moved, 1 - least, off);
    assert_true(moved < 1e-10 && least > 0.999 && off < 1e-5);
    running_close(&r);
}

/* An edit of the limit under way: what rests on it goes on to where it is now; a limit that is put
 * behind it lets it come back but throws it nowhere. */
static void a_limit_that_is_edited_throws_nothing(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    running r;
    s->gravity = gw_v3(0, 0, -G);
    add_body(s, "car", gw_v3(0, 0, 0.2), 2);
    gw_scene_joint *j = add_joint(s, "j", GW_MOBILIZER_PRISMATIC, at_body("car", gw_v3(0, 0, 0)),
                                  at_world(gw_pose_identity()));
    limit(j, 0, 0.1, 1);
    running_open(&r, s);
    const gw_snapshot *now = NULL;
    for (int i = 0; i < 500; i++)
        now = running_tick(&r);
    assert_true(fabs(now->coordinates[0] - 0.1) < 1e-9);
    s->joints[0].damping[0] = 1; /* another edit leaves it where it is */
    hand_over(&r, now, NULL);
    for (int i = 0; i < 100; i++) {
        now = running_tick(&r);
        assert_true(fabs(now->coordinates[0] - 0.1) < 1e-7);
    }
    s->joints[0].lower[0] = 0.05;
    hand_over(&r, now, NULL);
    for (int i = 0; i < 500; i++)
        now = running_tick(&r);
    assert_true(fabs(now->coordinates[0] - 0.05) < 1e-7);
    s->joints[0].lower[0] = 0.15;
    hand_over(&r, now, NULL);
    for (int i = 0; i < 500; i++) {
        now = running_tick(&r);
        assert_true(fabs(now->coordinates[0] - 0.05) < 1e-4 && fabs(now->rates[0]) < 0.02);
    }
    assert_true(fabs(now->rates[0]) < 1e-6);
    running_close(&r);
}

/* Six links, each with a motor that pushes far beyond its limit. */
static void an_arm_is_held_at_all_its_limits(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    running r;
    double fastest = 0, beyond = 0;
    s->gravity = gw_v3(0, -G, 0);
    for (int i = 0; i < 6; i++) {
        char id[16], last[16];
        snprintf(id, sizeof id, "l%d", i);
        snprintf(last, sizeof last, "l%d", i - 1);
        add_body(s, id, gw_v3(0.1 + 0.2 * i, 0, 0), 10 * pow(0.5, i));
        gw_scene_joint *j =
            add_joint(s, id, GW_MOBILIZER_REVOLUTE, at_body(id, gw_v3(-0.1, 0, 0)),
                      i ? at_body(last, gw_v3(0.1, 0, 0)) : at_world(gw_pose_identity()));
        strcat(j->id, "-joint");
        limit(j, 0, -0.5, 0.3);
        j->has_motor[0] = true;
        j->motor[0] = (gw_motor){
            .stiffness = 1e4, .damping = 200, .target = i % 2 ? 2 : -2, .max = 300 * pow(0.4, i)};
    }
    running_open(&r, s);
    for (int i = 0; i < 2000; i++) {
        const gw_snapshot *now = running_tick(&r);
        for (int k = 0; k < 6; k++) {
            double q = now->coordinates[k];
            beyond = fmax(beyond, fmax(-0.5 - q, q - 0.3));
            fastest = i >= 1500 ? fmax(fastest, fabs(now->rates[k])) : 0;
            assert_true(i < 1500 || fabs(q - (k % 2 ? 0.3 : -0.5)) < 1e-6);
        }
    }
    print_message("arm: %.2g rad beyond at most, in the end %.2g rad/s\n", beyond, fastest);
    assert_true(beyond < 2e-3 && fastest < 1e-4);
    running_close(&r);
}

/* Motors that drive a link of 3 g through many turns in one step, were it free. */
static void strong_motors_do_not_pass_limits(void **state)
{
    (void)state;
    static const gw_motor motors[] = {{.torque = 80},
                                      {.torque = -400},
                                      {.torque = 80, .speed = 20},
                                      {.rate = 50, .damping = 10, .max = 80},
                                      {.stiffness = 1e3, .damping = 1, .target = 3},
                                      {.stiffness = 1e4, .damping = 10, .target = 3, .max = 80},
                                      {.stiffness = 1e5, .damping = 0.01, .target = 3},
                                      {.stiffness = 1e6, .damping = 100, .target = -3}};
    for (int n = 0; n < 3; n++) /* links before it, of 1 kg, that are free to turn */
        for (size_t k = 0; k < sizeof motors / sizeof *motors; k++) {
            gw_scene *s = new_scene();
            running r;
            double beyond = 0, fastest = 0, q = 0, worst = 0;
            s->gravity = gw_v3(0, 0, 0);
            for (int i = 0; i <= n; i++) {
                char id[16], last[16];
                snprintf(id, sizeof id, "l%d", i);
                snprintf(last, sizeof last, "l%d", i - 1);
                add_body(s, id, gw_v3(0.05 + 0.1 * i, 0, 0), i < n ? 1 : 0.003);
                gw_scene_joint *j =
                    add_joint(s, id, GW_MOBILIZER_REVOLUTE, at_body(id, gw_v3(-0.05, 0, 0)),
                              i ? at_body(last, gw_v3(0.05, 0, 0)) : at_world(gw_pose_identity()));
                strcat(j->id, "-joint");
                if (i < n)
                    continue;
                limit(j, 0, -0.5, 0.7);
                j->has_motor[0] = true;
                j->motor[0] = motors[k];
            }
            running_open(&r, s);
            for (int i = 0; i < 2000; i++) {
                const gw_snapshot *now = running_tick(&r);
                const gw_energy *e = &now->energy;
                q = now->coordinates[n];
                beyond = fmax(beyond, fmax(-0.5 - q, q - 0.7));
                fastest = i >= 1500 ? fmax(fastest, fabs(now->rates[n])) : 0;
                worst = fmax(worst, fabs(e->kinetic + e->potential + e->dissipated - e->initial -
                                         e->work_in - e->motors - e->edits));
            }
            double from = fmin(fabs(q + 0.5), fabs(q - 0.7));
            print_message("%d links, motor %zu: %.2g rad beyond, rests %.2g rad off, %.2g rad/s; "
                          "energy balance off by %.2g J\n",
                          n + 1, k, beyond, from, fastest, worst);
            assert_true(beyond < 1e-6 && from < 1e-6);
            assert_true(fastest < 1e-4 && worst < 1e-6);
            running_close(&r);
        }
}

/* ---- every coordinate ------------------------------------------------------------------------ */

/* A spring draws each coordinate of each type beyond either limit; turns count on beyond pi. */
static void every_coordinate_has_its_limits(void **state)
{
    (void)state;
    static const gw_mobilizer types[] = {GW_MOBILIZER_REVOLUTE,    GW_MOBILIZER_PRISMATIC,
                                         GW_MOBILIZER_CYLINDRICAL, GW_MOBILIZER_SCREW,
                                         GW_MOBILIZER_UNIVERSAL,   GW_MOBILIZER_PLANAR};
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        for (int i = 0; i < gw_mobilizers[types[k]].dof; i++)
            for (int upper = 0; upper < 2; upper++) {
                bool turns = gw_mobilizers[types[k]].turns >> i & 1;
                double middle = turns && types[k] != GW_MOBILIZER_UNIVERSAL ? 7 : 0, beyond = 0;
                double room = turns ? 0.5 : 0.05;
                gw_scene *s = new_scene();
                running r;
                s->gravity = gw_v3(0, 0, 0);
                add_body(s, "box", gw_v3(0, 0, 0), 1);
                gw_pose f = {{0.1, 0.2, 0.3}, gw_quat_exp(gw_v3(0.3, -0.5, 0.8))};
                gw_scene_joint *j =
                    add_joint(s, "j", types[k], at_body("box", gw_v3(0, 0, 0)), at_world(f));
                j->pitch = types[k] == GW_MOBILIZER_SCREW ? 0.01 : 0;
                j->has_position = true;
                j->position[i] = middle;
                limit(j, i, middle - room, middle + room);
                j->stiffness[i] = 10;
                j->damping[i] = 0.1;
                j->rest[i] = middle + (upper ? 3 : -3) * room;
                running_open(&r, s);
                double q = 0;
                for (int n = 0; n < 2000; n++) {
                    q = running_tick(&r)->coordinates[i];
                    beyond = fmax(beyond, fabs(q - middle) - room);
                }
                if (!(beyond < 1e-5 && fabs(q - middle - (upper ? room : -room)) < 1e-7))
                    print_message("%s, coordinate %d: %.3g beyond, rests at %.3g\n",
                                  gw_mobilizers[types[k]].name, i, beyond, q - middle);
                assert_true(beyond < 1e-5);
                assert_true(fabs(q - middle - (upper ? room : -room)) < 1e-7);
                running_close(&r);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_pendulum_hits_its_limit),
        cmocka_unit_test(a_linkage_stops_at_the_limit_of_one_joint),
        cmocka_unit_test(what_presses_on_a_limit_stands_still),
        cmocka_unit_test(what_swings_on_a_held_slider_keeps_its_energy),
        cmocka_unit_test(a_limit_that_is_edited_throws_nothing),
        cmocka_unit_test(an_arm_is_held_at_all_its_limits),
        cmocka_unit_test(strong_motors_do_not_pass_limits),
        cmocka_unit_test(every_coordinate_has_its_limits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
