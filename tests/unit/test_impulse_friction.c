/*
 * Impact friction: Coulomb's law of impulses, its closed forms, and that it never adds energy.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/contact/impulse.h"
#include "tests/unit/enclosure_fixture.h"

/* ---- matrices ------------------------------------------------------------------------------- */

enum { BODIES = 3, DOF = 6 * BODIES, CONTACTS = 6, STATES = 100000 };

/* Free bodies with contacts anywhere: three rows a contact, along the normal and across. */
typedef struct state {
    double mass[DOF], normal[CONTACTS][DOF], across[2 * CONTACTS][DOF], v[DOF];
    int from[BODIES + 1], of[2 * CONTACTS][2], contacts;
    double e[CONTACTS];
} state;

static void apply_inverse(const void *context, int block, const double *w, double *answer)
{
    const state *s = context;
    for (int i = 0; i < 6; i++)
        answer[i] = w[i] / s->mass[6 * block + i];
}

static double kinetic(const state *s, const double *v)
{
    double sum = 0;
    for (int i = 0; i < DOF; i++)
        sum += 0.5 * s->mass[i] * v[i] * v[i];
    return sum;
}

static void put(double *row, int body, double sign, gw_vec3 arm, gw_vec3 n)
{
    gw_vec3 t = gw_cross(arm, n);
    const double entry[6] = {n.x, n.y, n.z, t.x, t.y, t.z};
    for (int i = 0; body >= 0 && i < 6; i++)
        row[6 * body + i] = sign * entry[i];
}

/* A contact of two bodies, or of one with what stands. */
static void some_contact(state *s, int i, unsigned *seed)
{
    int a = (int)(1.5 * (1 + some(seed))) % BODIES, b = (a + 1 + (some(seed) > 0)) % BODIES;
    b = some(seed) > 0.5 ? -1 : b;
    gw_vec3 n = gw_unit(some_vector(seed, 1)), t = gw_any_normal(n), u = gw_cross(n, t);
    gw_vec3 arm_a = some_vector(seed, 1), arm_b = some_vector(seed, 1);
    put(s->normal[i], a, 1, arm_a, n);
    put(s->normal[i], b, -1, arm_b, n);
    put(s->across[2 * i], a, 1, arm_a, t);
    put(s->across[2 * i], b, -1, arm_b, t);
    put(s->across[2 * i + 1], a, 1, arm_a, u);
    put(s->across[2 * i + 1], b, -1, arm_b, u);
    for (int k = 0; k < 2; k++) {
        s->of[2 * i + k][0] = a;
        s->of[2 * i + k][1] = b;
    }
}

static void some_state(state *s, unsigned *seed)
{
    *s = (state){.contacts = 1 + (int)(0.499 * CONTACTS * (1 + some(seed)))};
    for (int k = 0; k < BODIES; k++) {
        double mass = pow(10, some(seed));
        s->from[k + 1] = 6 * (k + 1);
        for (int i = 0; i < 6; i++)
            s->mass[6 * k + i] = i < 3 ? mass : mass * (0.05 + 0.3 * fabs(some(seed)));
    }
    for (int i = 0; i < DOF; i++)
        s->v[i] = some(seed);
    for (int i = 0; i < s->contacts; i++) {
        some_contact(s, i, seed);
        s->e[i] = fabs(some(seed));
    }
}

/* The worst of all states: kinetic energy gained, distance out of the cone (relative);
 * slip speed of sticking contacts, slip of sliding ones not against their impulse (m/s). */
typedef struct worst {
    double gain, out, slip;
} worst;

static void measure(const state *s, const double *limit, const double *p, const double *v, worst *w)
{
    double most = 0;
    for (int i = 0; i < s->contacts; i++)
        most = fmax(most, limit[i]);
    for (int i = 0; i < s->contacts; i++) {
        double u[2] = {0, 0}, size = hypot(p[2 * i], p[2 * i + 1]);
        if (!(limit[i] > 1e-6 * most)) /* what hardly pushes does not matter */
            continue;
        for (int k = 0; k < 2; k++)
            for (int m = 0; m < DOF; m++)
                u[k] += s->across[2 * i + k][m] * v[m];
        double along = size > 0 ? (u[0] * p[2 * i] + u[1] * p[2 * i + 1]) / size : 0;
        bool slides = size > (1 - 1e-9) * limit[i];
        double rest = slides && along < 0 ? sqrt(fmax(0, u[0] * u[0] + u[1] * u[1] - along * along))
                                          : hypot(u[0], u[1]);
        w->slip = fmax(w->slip, rest);
        w->out = fmax(w->out, size / limit[i] - 1);
    }
}

static void no_state_gains_energy(void **unused)
{
    (void)unused;
    static gw_impulse_work work;
    static double memory[4 * CONTACTS * DOF], images[2 * CONTACTS * DOF];
    unsigned seed = 7;
    worst w = {-INFINITY, 0, 0};
    int slow = 0;
    work.memory = memory;
    for (int n = 0; n < STATES; n++) {
        state s;
        double dv[DOF], generalised[DOF], p[CONTACTS], across[2 * CONTACTS], after[DOF];
        double limit[CONTACTS], mu = 1 + some(&seed);
        some_state(&s, &seed);
        int of[CONTACTS][2];
        for (int i = 0; i < s.contacts; i++)
            of[i][0] = s.of[2 * i][0], of[i][1] = s.of[2 * i][1];
        gw_impulse_problem problem = {.rows = s.contacts,
                                      .dof = DOF,
                                      .blocks = BODIES,
                                      .from = s.from,
                                      .of = (const int(*)[2])of,
                                      .j = s.normal[0],
                                      .v = s.v,
                                      .e = s.e,
                                      .only_push = n % 2 == 0,
                                      .inverse = apply_inverse,
                                      .context = &s};
        gw_impulse_solve(&problem, &work, dv, generalised, p);
        for (int i = 0; i < s.contacts; i++)
            limit[i] = fmax(0, mu * p[i]);
        for (int i = 0; i < DOF; i++)
            after[i] = s.v[i] + dv[i];
        double before = kinetic(&s, after), start = kinetic(&s, s.v);
        problem.rows = 2 * s.contacts;
        problem.of = (const int(*)[2])s.of;
        problem.j = s.across[0];
        gw_impulse_friction(&problem, limit, images, dv, generalised, across);
        for (int i = 0; i < DOF; i++) {
            after[i] = s.v[i] + dv[i];
            assert_true(fabs(generalised[i] - s.mass[i] * dv[i]) <
                        1e-9 * (1 + fabs(generalised[i])));
        }
        w.gain = fmax(w.gain, (kinetic(&s, after) - fmin(before, start)) / start);
        double slip = w.slip;
        w.slip = 0;
        measure(&s, limit, across, after, &w);
        slow += w.slip > 1e-6;
        w.slip = fmax(w.slip, slip);
    }
    print_message("%d states: gain of energy %.1e of it at most, out of the cone by %.1e; slips by "
                  "%.1e m/s other than it may, in %d states by more than 1e-6\n",
                  STATES, w.gain, w.out, w.slip, slow);
    assert_true(w.gain < 1e-14);
    assert_true(w.out < 1e-12);
    assert_true(slow < STATES / 50);
}

/* ---- balls ---------------------------------------------------------------------------------- */

typedef struct bounce {
    double vx, vy, spin; /* before, about y */
    double mu, e;
} bounce;

/* A solid ball of radius 0.05 comes down at 2 m/s. What it would take to stop its rim is 2/7 of its
 * speed there. */
static gw_twist after(const bounce *b)
{
    static arena a;
    arena_open(&a, (gw_contact_rules){.impact_friction = true});
    int m = arena_ball(&a, 0.3, 0.05, gw_v3(0, 0, 0.051), gw_v3(b->vx, b->vy, -2));
    gw_twist twist = {{b->vx, b->vy, -2}, {0, b->spin, 0}};
    gw_guided_set_twist(&a.body[m], &twist);
    arena_over_plane(&a, m, gw_v3(0, 0, 0), 0.05, gw_v3(0, 0, 0), gw_v3(0, 0, 1),
                     (gw_contact_material){.restitution = b->e, .friction = b->mu});
    arena_start(&a);
    for (int i = 0; i < 3; i++)
        arena_step(&a);
    assert_true(a.worst < 1e-12);
    twist = a.body[m].twist;
    arena_close(&a);
    return twist;
}

static void a_ball_bounces_as_coulomb_says(void **unused)
{
    (void)unused;
    const double r = 0.05, e = 0.5;
    for (int i = 0; i < 60; i++) {
        bounce b = {3 - 0.1 * (i % 10), 0.2 * (i % 3), 20.0 * (i % 7 - 3), 0.02 * i, e};
        double rim_x = b.vx - r * b.spin, rim_y = b.vy, rim = hypot(rim_x, rim_y);
        double given = fmin(b.mu * (1 + e) * 2, 2 * rim / 7) / rim; /* of the rim's speed */
        gw_twist t = after(&b);
        assert_true(fabs(t.v.x - (b.vx - given * rim_x)) < 1e-10);
        assert_true(fabs(t.v.y - (b.vy - given * rim_y)) < 1e-10);
        assert_true(fabs(t.v.z - e * 2) < 1e-10);
        assert_true(fabs(t.w.y - (b.spin + 2.5 * given * rim_x / r)) < 1e-8);
    }
    /* sticking, without spin: 5/7 of its speed are left, and it rolls */
    gw_twist t = after(&(bounce){3, 0, 0, 1, e});
    assert_true(fabs(t.v.x - 15.0 / 7) < 1e-10 && fabs(t.w.y - t.v.x / r) < 1e-8);
}

/* Without the rule nothing is held back, whatever the surfaces say. */
static void impact_friction_is_off_by_default(void **unused)
{
    (void)unused;
    static arena a;
    arena_open(&a, (gw_contact_rules){0});
    int m = arena_ball(&a, 0.3, 0.05, gw_v3(0, 0, 0.051), gw_v3(3, 0, -2));
    arena_over_plane(&a, m, gw_v3(0, 0, 0), 0.05, gw_v3(0, 0, 0), gw_v3(0, 0, 1),
                     (gw_contact_material){.restitution = 0.5, .friction = 1});
    arena_start(&a);
    for (int i = 0; i < 3; i++)
        arena_step(&a);
    assert_true(a.body[m].twist.v.x == 3 && a.body[m].twist.w.y == 0);
    arena_close(&a);
}

/* ---- what is thrown about ------------------------------------------------------------------- */

static void thrown_bodies_with_friction_pass_the_energy_audit(void **unused)
{
    (void)unused;
    for (int kind = 0; kind <= THROWN_ELLS; kind++) {
        static thrown t;
        double deep = 0;
        thrown_open_by(&t, (gw_contact_rules){.impact_friction = true}, kind, 1e-3, 5e-3);
        for (int k = 0; k < 2000; k++) {
            thrown_push(&t);
            thrown_tick(&t);
            deep = fmax(deep, -thrown_gap(&t));
        }
        print_message("%d: %.2f mm deep at most, a step adds %.1e J at most\n", kind, 1e3 * deep,
                      t.a.worst);
        assert_true(t.a.worst <= 1e-9 && deep < 8e-3);
        thrown_close(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_state_gains_energy),
        cmocka_unit_test(a_ball_bounces_as_coulomb_says),
        cmocka_unit_test(impact_friction_is_off_by_default),
        cmocka_unit_test(thrown_bodies_with_friction_pass_the_energy_audit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
