/*
 * Control of impedance devices: impulses, switches, the coupling's bound, the estimated hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/link_fixture.h"
#include "tests/unit/held_play.h"

static serial chain;
static serial_def chain_def;

static const gw_twist at_rest = {{0, 0, 0}, {0, 0, 0}};

/* Table I's arm, the last link's centre of mass held, at an ideal planar device. */
static void open_arm(held_play *p, const gw_named_value *set, int count, double rate,
                     const gw_impedance_def *def)
{
    chain_def = fixture_table_one(0);
    chain_def.held = 2;
    chain_def.link_from_held.p = chain_def.links[2].mass.com;
    serial_open(&chain, &chain_def, (double[]){-0.7, 0.5, 0.8}, NULL);
    assert_true(held_open(p, chain.model, "ideal", set, count, rate, def));
    held_place(p, at_rest);
}

/* ---- impulses ------------------------------------------------------------------------------- */

typedef struct struck {
    gw_wrench given;        /* sum of the impulsive command times the period (N s, N m s) */
    gw_wrench expected;     /* M_d J D^-1 J_c^T p */
    gw_twist device, model; /* change of velocity within 20 ms */
    double withheld, withheld_turn;
    int ticks;   /* in which there was some */
    double most; /* largest force commanded (N) */
} struck;

/* One collision, an impulse p (N s, N m s) on the joints, and what the hand gets of it. */
static struck strike(double rate, gw_control_law kind, double force_max, const double p[3])
{
    gw_named_value set[] = {{"planar", 1}, {"force_max", force_max}};
    gw_impedance_def def = gw_impedance_def_default();
    struck out = {.ticks = 0};
    held_play play;
    double dv[3];
    def.kind = kind;
    open_arm(&play, set, 2, rate, &def);
    for (int k = 0; k < (int)(0.05 * rate); k++)
        held_tick(&play);
    gw_twist device = play.at.twist, model = play.seen.twist;
    for (int k = 0; k < (int)(0.03 * rate); k++) {
        held_begin(&play);
        if (k == 0) {
            gw_model_apply_inverse(chain.model, p, dv);
            gw_model_kick(chain.model, dv);
        }
        held_end(&play, k == 0 ? p : NULL);
        if (k == 0) {
            const double *hit = play.stepped.impulse_velocity;
            out.expected = (gw_wrench){{hit[0], hit[1], hit[2]}, {hit[3], hit[4], hit[5]}};
        }
        gw_wrench w = play.out.impulse;
        out.given = (gw_wrench){gw_mul_add(out.given.f, play.dt, w.f),
                                gw_mul_add(out.given.t, play.dt, w.t)};
        out.ticks += gw_norm(w.f) + gw_norm(w.t) > 0;
        out.withheld += play.out.withheld;
        out.withheld_turn += play.out.withheld_turn;
        out.most = fmax(out.most, gw_norm(play.out.command.f));
    }
    held_read(&play);
    out.device = (gw_twist){gw_sub(play.at.twist.v, device.v), gw_sub(play.at.twist.w, device.w)};
    out.model = (gw_twist){gw_sub(play.seen.twist.v, model.v), gw_sub(play.seen.twist.w, model.w)};
    held_close(&play);
    return out;
}

static double off(const gw_wrench *a, const gw_wrench *b)
{
    return gw_distance(a->f, b->f) + gw_distance(a->t, b->t);
}

static void the_hand_gets_the_whole_impulse_in_one_tick(void **state)
{
    static const double rates[] = {250, 1000, 8000}, p[3] = {0.01, -0.004, 0.002};
    (void)state;
    for (int i = 0; i < 3; i++) {
        struck s = strike(rates[i], GW_LAW_PENALTY, 0, p);
        double size = gw_norm(s.expected.f) + gw_norm(s.expected.t);
        double jump = gw_distance(s.device.v, s.model.v) / gw_norm(s.model.v);
        print_message("%.0f Hz: impulse off by %.2g, velocity of device and model by %.2g\n",
                      rates[i], off(&s.given, &s.expected) / size, jump);
        assert_true(size > 0.05 && s.ticks == 1);
        assert_true(off(&s.given, &s.expected) < 1e-9 * size);
        assert_true(jump < 0.01);
        assert_true(s.withheld == 0 && s.withheld_turn == 0);
    }
}

static void a_limited_device_gets_it_within_twenty_milliseconds(void **state)
{
    static const double p[3] = {0.01, -0.004, 0.002};
    (void)state;
    struck free = strike(1000, GW_LAW_PENALTY, 0, p);
    double size = gw_norm(free.expected.f);
    struck late = strike(1000, GW_LAW_PENALTY, size / 0.008, p);
    assert_true(late.ticks > 5 && late.ticks <= 20 && late.withheld == 0);
    assert_true(off(&late.given, &late.expected) < 1e-9);
    struck less = strike(1000, GW_LAW_PENALTY, size / 0.060, p);
    assert_true(less.ticks == 20 && less.most <= size / 0.060 * (1 + 1e-12));
    assert_true(less.withheld > 0.5 * size);
    assert_true(fabs(gw_norm(less.given.f) + less.withheld - size) < 1e-9);
}

static void a_coupling_is_shown_no_impulse(void **state)
{
    static const double p[3] = {0.01, -0.004, 0.002};
    (void)state;
    assert_true(strike(1000, GW_LAW_COUPLING, 0, p).ticks == 0);
}

/* A contact that chatters at every tick is cut by the budget, and that is told. */
static void the_budget_keeps_a_chattering_contact_from_hammering(void **state)
{
    (void)state;
    gw_impulse_rendering s = {.spent = 0};
    gw_wrench hit = {{0.5, 0, 0}, {0, 0, 0}}, quiet = {{0, 0, 0}, {0, 0, 0}};
    double given = 0, withheld = 0;
    for (int k = 0; k < 1000; k++) {
        gw_impulse_rendered out = gw_impulse_rendering_tick(&s, &hit, &quiet, 0, 0, 5, 1e-3);
        given += out.wrench.f.x * 1e-3;
        withheld += out.withheld.f.x;
    }
    assert_true(fabs(given + withheld - 500) < 1e-9);
    assert_true(given < 10.01 && given > 9.9);
}

/* ---- switches ------------------------------------------------------------------------------- */

static void another_control_takes_over_without_a_bump(void **state)
{
    (void)state;
    const gw_named_value set[] = {{"planar", 1}, {"inertia", 0.03}};
    gw_impedance_def def = gw_impedance_def_default();
    held_play p;
    double at_switch = 0, before = 0;
    gw_wrench last = {{0, 0, 0}, {0, 0, 0}};
    open_arm(&p, set, 2, 1000, &def);
    for (int t = 0; t < 8000; t++) {
        p.push = (gw_wrench){{2 * sin(t * 2e-3), cos(t * 3e-3), 0}, {0, 0, 0.01 * sin(t * 5e-3)}};
        p.push.f = gw_mul_add(p.push.f, -20, p.at.twist.v);
        p.push.t = gw_mul_add(p.push.t, -0.1, p.at.twist.w);
        if (t % 250 == 249) {
            def.kind = (gw_control_law)((def.kind + 1) % 4);
            gw_impedance_switch(&p.rendering, &def);
        }
        held_tick(&p);
        double jump = gw_distance(p.out.command.f, last.f);
        if (t % 250 == 249)
            at_switch = fmax(at_switch, jump);
        else if (t > 0)
            before = fmax(before, jump);
        last = p.out.command;
    }
    print_message("force changes by %.3f N at a switch, %.3f N at most elsewhere\n", at_switch,
                  before);
    assert_true(at_switch < 0.05 && before < 1.5); /* the slew limit is 1 N a tick */
    held_close(&p);
}

/* ---- the coupling's bound ------------------------------------------------------------------- */

/* A mass on a slide, coupled to a device that starts 1 mm off; how far apart they are at the end,
 * in parts of that. */
static double coupled(double mass, double device, int delay, double stiffer)
{
    gw_named_value set[] = {{"mass", device}, {"delay", delay}};
    gw_impedance_def def = gw_impedance_def_default();
    held_play p;
    double last = 0;
    chain_def = fixture_rods(1, 0.1, mass, 0.01, 0);
    chain_def.links[0].kind = GW_JOINT_PRISMATIC;
    chain_def.links[0].axis = gw_v3(1, 0, 0);
    chain_def.held = 0;
    serial_open(&chain, &chain_def, NULL, NULL);
    def.kind = GW_LAW_COUPLING;
    def.coupling = gw_virtual_coupling_bound(device, 1, mass, 1, 1e-3, delay * 1e-3);
    def.coupling.linear *= stiffer * stiffer;
    def.coupling.linear_damping *= stiffer;
    assert_true(held_open(&p, chain.model, "ideal", set, 2, 1000, &def));
    held_place(&p, (gw_twist){{1e-3, 0, 0}, {0, 0, 0}});
    for (int t = 0; t < 1500; t++) {
        held_tick(&p);
        if (t >= 1400 || !(held_apart(&p) < 10))
            last = fmax(last, held_apart(&p) < 10 ? held_apart(&p) : 10);
    }
    held_close(&p);
    return last / 1e-3;
}

static void the_bound_is_stable_with_every_delay_and_not_far_off(void **state)
{
    static const double masses[] = {0.05, 1, 20};
    (void)state;
    for (int delay = 0; delay <= 8; delay++) {
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                assert_true(coupled(masses[i], masses[j], delay, 1) < 1e-3);
        /* 2.5 times as quick is too much for a device that is lighter than its model */
        assert_true(coupled(20, 0.05, delay, 2.5) > 10);
    }
}

/* ---- the hand, where nobody measures it ------------------------------------------------------ */

static void the_estimate_comes_to_what_the_hand_exerts(void **state)
{
    (void)state;
    for (int delay = 0; delay <= 3; delay += 3) {
        const gw_named_value set[] = {
            {"planar", 1}, {"viscous", 2}, {"force_sensor", 0}, {"delay", delay}};
        gw_impedance_def def = gw_impedance_def_default();
        held_play p;
        def.hand = GW_HAND_ESTIMATED;
        open_arm(&p, set, 4, 1000, &def);
        p.push = (gw_wrench){{0.4, -0.3, 0}, {0, 0, 0.02}};
        for (int t = 0; t < 60; t++)
            held_tick(&p);
        assert_true(gw_distance(p.out.hand.f, p.push.f) < 0.01);
        assert_true(gw_distance(p.out.hand.t, p.push.t) < 0.002);
        assert_true(gw_norm(p.at.hand.f) == 0);
        held_close(&p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_hand_gets_the_whole_impulse_in_one_tick),
        cmocka_unit_test(a_limited_device_gets_it_within_twenty_milliseconds),
        cmocka_unit_test(a_coupling_is_shown_no_impulse),
        cmocka_unit_test(the_budget_keeps_a_chattering_contact_from_hammering),
        cmocka_unit_test(another_control_takes_over_without_a_bump),
        cmocka_unit_test(the_bound_is_stable_with_every_delay_and_not_far_off),
        cmocka_unit_test(the_estimate_comes_to_what_the_hand_exerts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
