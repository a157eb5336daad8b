/*
 * Energy and control of impedance devices: weights that change at singular points, and what comes
 * out of the device's port in random play.
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
static unsigned seed;

static double either(double most)
{
    seed = seed * 1664525u + 1013904223u;
    return most * (seed / 2147483648.0 - 1);
}

static gw_vec3 somewhere(double most)
{
    double x = either(most), y = either(most);
    return gw_v3(x, y, either(most));
}

/* ---- a six-axis arm, held at every link ----------------------------------------------------- */

/* An arm with a shoulder, an elbow and a wrist whose axes meet, of a common industrial size;
 * masses and inertias are ours. */
static serial_def six_axes(int held)
{
    static const gw_vec3 at[6] = {{0, 0, 0.3}, {0, 0.15, 0}, {0.43, -0.1, 0},
                                  {0.2, 0, 0}, {0.23, 0, 0}, {0.06, 0, 0}};
    static const gw_vec3 axis[6] = {{0, 0, 1}, {0, 1, 0}, {0, 1, 0},
                                    {1, 0, 0}, {0, 1, 0}, {1, 0, 0}};
    static const double mass[6] = {8, 12, 5, 1.2, 0.5, 0.3}, gyration[6] = {8, 7, 6, 5, 5, 4};
    static const double com[6] = {0.1, 0.2, 0.1, 0.1, 0.03, 0.03};
    serial_def def = {.count = 6, .world_from_base = gw_pose_identity(), .held = held};
    for (int i = 0; i < 6; i++) {
        double inertia = 0.5e-4 * mass[i] * gyration[i] * gyration[i];
        def.links[i] = (gw_link_def){
            .kind = GW_JOINT_REVOLUTE,
            .parent_from_joint = {at[i], {1, 0, 0, 0}},
            .axis = axis[i],
            .mass = {mass[i],
                     {com[i], 0.01, 0.02},
                     {{{inertia, 0, 0}, {0, 1.5 * inertia, 0}, {0, 0, 1.5 * inertia}}}}};
    }
    def.link_from_held = (gw_pose){{0.1, 0.02, 0.03}, {1, 0, 0, 0}};
    return def;
}

/* Straight elbow, straight wrist, both, or neither, give or take 3 degrees. */
static void near_singular(double q[6])
{
    int which = (int)(either(2) + 2);
    for (int i = 0; i < 6; i++)
        q[i] = either(1.5);
    if (which & 1)
        q[2] = either(0.05);
    if (which & 2)
        q[4] = either(0.05);
}

static void six_of(const gw_twist *a, double length, double out[6])
{
    const double x[6] = {a->v.x / length, a->v.y / length, a->v.z / length, a->w.x, a->w.y, a->w.z};
    memcpy(out, x, sizeof x);
}

/* The penalties' wrench with directions and weights as `p` has them, the spring stretched by the
 * motion since then: k X^T (s + X (e - e_0)) + b X^T X e'. */
static gw_wrench frozen(const gw_penalty *p, const held_play *play)
{
    double e[6], de[6], f[6] = {0}, length = play->rendering.resisted.length;
    gw_twist error = gw_pose_sub(&play->seen.pose, &play->at.pose);
    gw_twist rate = {gw_sub(play->seen.twist.v, play->at.twist.v),
                     gw_sub(play->seen.twist.w, play->at.twist.w)};
    six_of(&error, length, e);
    six_of(&rate, length, de);
    for (int i = 0; i < 6; i++) {
        double y = play->rendering.def.penalty * p->stretch[i];
        for (int j = 0; j < 6; j++)
            y += p->factor[i][j] * (play->rendering.def.penalty * (e[j] - p->error[j]) +
                                    play->rendering.def.penalty_damping * de[j]);
        for (int j = 0; j < 6; j++)
            f[j] += p->factor[i][j] * y;
    }
    return (gw_wrench){{f[0] / length, f[1] / length, f[2] / length}, {f[3], f[4], f[5]}};
}

typedef struct pushed {
    double jump, jump_turn; /* against frozen weights, within a tick (N, N m) */
    double force;           /* of the penalties (N) */
    double excess, at_end;  /* of energy (J) */
    double kinetic;         /* of the arm (J) */
} pushed;

/* 0.3 s of a push by a hand that gives way, from rest, with the device `off` the arm. */
static void push_once(pushed *out, int held, gw_direction_weighting weighting, double off)
{
    const gw_named_value set[] = {{"inertia", 0.02}};
    gw_impedance_def def = gw_impedance_def_default();
    double q[6], kinetic, potential;
    held_play p;
    near_singular(q);
    gw_wrench push = {somewhere(10), somewhere(0.3)};
    gw_twist offset = {somewhere(off), somewhere(10 * off)};
    def.passivity = true;
    def.resisted.weighting = weighting;
    chain_def = six_axes(held);
    serial_open(&chain, &chain_def, q, NULL);
    assert_true(held_open(&p, chain.model, "ideal", set, 1, 1000, &def));
    held_place(&p, offset);
    for (int t = 0; t < 300; t++) {
        gw_penalty before = p.rendering.penalty;
        p.push.f = gw_mul_add(push.f, -10, p.at.twist.v);
        p.push.t = gw_mul_add(push.t, -0.1, p.at.twist.w);
        held_tick(&p);
        gw_penalty after = p.rendering.penalty;
        if (t > 0) {
            gw_twist error = gw_pose_sub(&p.seen.pose, &p.at.pose);
            six_of(&error, p.rendering.resisted.length, after.error);
            gw_wrench was = frozen(&before, &p), is = frozen(&after, &p);
            out->jump = fmax(out->jump, gw_distance(was.f, is.f));
            out->jump_turn = fmax(out->jump_turn, gw_distance(was.t, is.t));
            out->force = fmax(out->force, gw_norm(is.f));
        }
        out->excess = fmax(out->excess, p.rendering.observer.excess);
    }
    gw_model_energy(chain.model, &kinetic, &potential);
    out->kinetic = fmax(out->kinetic, kinetic);
    out->at_end = fmax(out->at_end, p.rendering.observer.excess);
    held_close(&p);
}

static pushed push_often(int held, int times, gw_direction_weighting weighting, double off)
{
    pushed out = {.excess = -1, .at_end = -1};
    for (int n = 0; n < times; n++)
        push_once(&out, held, weighting, off);
    print_message("link %d, %d pushes, device off by up to %.0f mm, weights %s: force changes by "
                  "%.3f N and %.4f N m at most (penalties up to %.1f N), excess %.1e J, at the end "
                  "%.1e J (arm up to %.2f J)\n",
                  held, times, 1e3 * off, weighting == GW_WEIGHTS_SMOOTH ? "smooth" : "on/off",
                  out.jump, out.jump_turn, out.force, out.excess, out.at_end, out.kinetic);
    return out;
}

static void singular_points_are_passed_without_a_jump_at_every_link(void **state)
{
    (void)state;
    seed = 1;
    for (int held = 0; held < 6; held++) {
        pushed with_offset = push_often(held, 84, GW_WEIGHTS_SMOOTH, 0.003);
        pushed without = push_often(held, 84, GW_WEIGHTS_SMOOTH, 0);
        assert_true(with_offset.jump < 0.2 && without.jump < 0.2);
        assert_true(with_offset.jump_turn < 0.01 && without.jump_turn < 0.01);
        assert_true(with_offset.excess <= 1e-9 && without.excess <= 1e-9);
    }
}

/* The same measure does see what it is to see. */
static void on_and_off_weights_do_jump(void **state)
{
    (void)state;
    seed = 1;
    assert_true(push_often(5, 100, GW_WEIGHTS_ON_OFF, 0.003).jump > 0.2);
}

/* ---- the penalty's spring ------------------------------------------------------------------- */

/* Directions that turn and weights that come and go, a device that wanders: what the spring had at
 * first, less what it gave and still has. Without damper, and so without a tank to pay from. */
static double least_balance(bool at_once)
{
    gw_penalty p = {.started = false};
    gw_penalty_def def = {.stiffness = 200, .mass = 1, .inertia = 0.01, .at_once = at_once};
    gw_twist error = {{0.002, 0, 0}, {0, 0.01, 0}};
    gw_twist moved = {{0, 0, 0}, {0, 0, 0}};
    gw_wrench last = {{0, 0, 0}, {0, 0, 0}};
    double given = 0, start = 0, weights, least = 0, dt = 1e-4;
    for (int t = 0; t < 200000; t++) {
        double a = t * 3e-4, w = 0.5 + 0.5 * sin(t * 1.7e-3), c = cos(a), s = sin(a);
        gw_resisted_directions r = {.count = 2,
                                    .direction = {{c, s, 0, 0, 0, 0}, {0, 0, 0, s, c, 0}},
                                    .weight = {w, 1 - w},
                                    .length = 0.05};
        gw_twist rate = {gw_v3(0.02 * sin(t * 1.1e-3), 0.03 * cos(t * 0.7e-3), 0),
                         gw_v3(0.2 * cos(t * 0.9e-3), 0.3 * sin(t * 0.5e-3), 0)};
        gw_wrench f = gw_penalty_tick(&p, &def, &r, &error, &rate, dt, &weights);
        if (t == 0)
            start = p.stored;
        else /* the device is what moves: d error = -d device */
            given -= 0.5 * dt *
                     (gw_dot(gw_add(f.f, last.f), moved.v) + gw_dot(gw_add(f.t, last.t), moved.w));
        least = fmin(least, start - given - p.stored);
        last = f;
        moved = rate;
        error = (gw_twist){gw_mul_add(error.v, dt, rate.v), gw_mul_add(error.w, dt, rate.w)};
    }
    return least;
}

static void changing_weights_give_nothing_away(void **state)
{
    (void)state;
    double kept = least_balance(false), made = least_balance(true);
    print_message("balance of the spring at least %.1e J; with weights that act at once %.1e J\n",
                  kept, made);
    assert_true(kept > -1e-5);
    assert_true(made < -1e-3);
}

/* ---- random play at the device's port ------------------------------------------------------- */

/* A hand that drags the held point about: a spring of 300 N/m and 0.5 N m/rad to targets that
 * change every 0.7 s. */
typedef struct dragging {
    double x, y, turn, to_x, to_y, to_turn;
} dragging;

static gw_wrench drag(dragging *d, int tick, const held_play *p)
{
    gw_pose at = held_truth(p);
    if (tick % 700 == 0) {
        d->to_x = either(0.06);
        d->to_y = either(0.06);
        d->to_turn = either(1.5);
    }
    d->x += 0.01 * (d->to_x - d->x);
    d->y += 0.01 * (d->to_y - d->y);
    d->turn += 0.01 * (d->to_turn - d->turn);
    gw_vec3 v = p->at.twist.v, w = p->at.twist.w;
    return (gw_wrench){{300 * (d->x - at.p.x) - 10 * v.x, 300 * (d->y - at.p.y) - 10 * v.y, 0},
                       {0, 0, 0.5 * (d->turn - gw_quat_log(at.q).z) - 0.02 * w.z}};
}

/* An impulse on the joints that takes energy out; NULL where this one would not. */
static const double *collide(double p[3])
{
    double dv[3], before, after, potential;
    for (int i = 0; i < 3; i++)
        p[i] = either(0.02);
    gw_model_apply_inverse(chain.model, p, dv);
    gw_model_energy(chain.model, &before, &potential);
    gw_model_kick(chain.model, dv);
    gw_model_energy(chain.model, &after, &potential);
    if (after <= before)
        return p;
    for (int i = 0; i < 3; i++)
        dv[i] = -dv[i];
    gw_model_kick(chain.model, dv);
    return NULL;
}

/* The most that comes out in any second of `seconds`, and what was damped for it (J). */
static double play_randomly(const char *profile, bool controlled, int kind, bool collisions,
                            int seconds, double *damped)
{
    static double excess[1000];
    const gw_named_value set[] = {{"workspace_radius", 0}, {"planar", 1}, {"inertia", 0.03}};
    gw_impedance_def def = gw_impedance_def_default();
    dragging hand = {.x = 0.05};
    double p[3], worst = -1;
    held_play play;
    seed = 7;
    def.passivity = controlled;
    def.kind = kind < 0 ? GW_LAW_PENALTY : (gw_control_law)kind;
    chain_def = fixture_table_one(0);
    chain_def.held = 2;
    chain_def.link_from_held.p = chain_def.links[2].mass.com;
    serial_open(&chain, &chain_def, (double[]){0, GW_PI / 6, -GW_PI / 3}, NULL);
    assert_true(held_open(&play, chain.model, profile, set, 3, 1000, &def));
    held_place(&play, (gw_twist){{0, 0, 0}, {0, 0, 0}});
    *damped = 0;
    for (int t = 0; t < 1000 * seconds; t++) {
        play.push = drag(&hand, t, &play);
        if (kind < 0 && t % 1700 == 1699) {
            def.kind = (gw_control_law)((def.kind + 1) % 4);
            gw_impedance_switch(&play.rendering, &def);
        }
        held_begin(&play);
        held_end(&play, collisions && t % 333 == 332 ? collide(p) : NULL);
        if (t >= 1000)
            worst = fmax(worst, play.rendering.observer.excess - excess[t % 1000]);
        excess[t % 1000] = play.rendering.observer.excess;
        *damped += play.out.damped;
    }
    held_close(&play);
    return worst;
}

static void nothing_comes_out_of_the_port_in_any_second(void **state)
{
    static const char *const names[] = {"all in turn", "impedance", "penalty", "coupling",
                                        "four-channel"};
    static const char *const profiles[] = {"ideal", "planar-haptic-interface"};
    (void)state;
    for (int i = 0; i < 2; i++)
        for (int kind = -1; kind < 4; kind++)
            for (int collisions = 0; collisions < 2; collisions++) {
                double damped, none;
                double worst = play_randomly(profiles[i], true, kind, collisions, 10, &damped);
                double without = play_randomly(profiles[i], false, kind, collisions, 10, &none);
                print_message("%s, %s%s: %.1e J in a second at most, %.2f J damped; without "
                              "control %.1e J\n",
                              profiles[i], names[kind + 1], collisions ? ", collisions" : "", worst,
                              damped, without);
                assert_true(worst <= 1e-9);
            }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(singular_points_are_passed_without_a_jump_at_every_link),
        cmocka_unit_test(on_and_off_weights_do_jump),
        cmocka_unit_test(changing_weights_give_nothing_away),
        cmocka_unit_test(nothing_comes_out_of_the_port_in_any_second),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
