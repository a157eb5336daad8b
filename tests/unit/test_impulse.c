/*
 * Impulses as a function of matrices: energy, redundancy, restitution, and the problems with known
 * outcomes (flat bars, cradles).
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/contact/impulse.h"

enum { ROWS = 20, DOF = 24 };

/* ---- a system with a dense inertia ---------------------------------------------------------- */

typedef struct system {
    int n;
    double d[DOF][DOF], factor[DOF][DOF]; /* D = F F^T */
} inertia;

static uint64_t seed = 1;

static double random_unit(void)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (double)(seed >> 11) / 9007199254740992.0;
}

static double random_signed(void)
{
    return 2 * random_unit() - 1;
}

static void factor(inertia *s)
{
    for (int j = 0; j < s->n; j++)
        for (int i = j; i < s->n; i++) {
            double sum = s->d[i][j];
            for (int k = 0; k < j; k++)
                sum -= s->factor[i][k] * s->factor[j][k];
            s->factor[i][j] = i == j ? sqrt(sum) : sum / s->factor[j][j];
        }
}

static void apply_inverse(const void *context, int block, const double *w, double *x)
{
    (void)block;
    const inertia *s = context;
    for (int i = 0; i < s->n; i++) {
        x[i] = w[i];
        for (int k = 0; k < i; k++)
            x[i] -= s->factor[i][k] * x[k];
        x[i] /= s->factor[i][i];
    }
    for (int i = s->n - 1; i >= 0; i--) {
        for (int k = i + 1; k < s->n; k++)
            x[i] -= s->factor[k][i] * x[k];
        x[i] /= s->factor[i][i];
    }
}

/* Masses from 0.1 to 10, coupled. */
static void random_inertia(inertia *s, int n)
{
    double b[DOF][DOF], mass[DOF];
    s->n = n;
    for (int i = 0; i < n; i++) {
        mass[i] = pow(10, 0.5 * random_signed());
        for (int j = 0; j < n; j++)
            b[i][j] = random_signed() / sqrt(n);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            s->d[i][j] = i == j;
            for (int k = 0; k < n; k++)
                s->d[i][j] += b[i][k] * b[j][k];
            s->d[i][j] *= mass[i] * mass[j];
        }
    factor(s);
}

static void diagonal_inertia(inertia *s, int n, const double *mass)
{
    memset(s, 0, sizeof *s);
    s->n = n;
    for (int i = 0; i < n; i++)
        s->d[i][i] = mass[i];
    factor(s);
}

static double kinetic(const inertia *s, const double *v)
{
    double sum = 0;
    for (int i = 0; i < s->n; i++)
        for (int j = 0; j < s->n; j++)
            sum += 0.5 * v[i] * s->d[i][j] * v[j];
    return sum;
}

/* ---- a collision ---------------------------------------------------------------------------- */

typedef struct collision {
    inertia system;
    int rows, rank;
    bool share; /* of impulses that only push, the least */
    double j[ROWS * DOF], v[DOF], e[ROWS], offset[ROWS];
    double before[ROWS], after[ROWS]; /* u */
    double dv[DOF], g[DOF], p[ROWS], was, is;
} collision;

static double speed(const collision *c, int row, const double *v)
{
    double sum = c->offset[row];
    for (int k = 0; k < c->system.n; k++)
        sum += c->j[row * c->system.n + k] * v[k];
    return sum;
}

static void resolve(collision *c, bool only_push)
{
    static gw_impulse_work work;
    static double memory[2 * ROWS * DOF];
    gw_impulse_problem problem = {.rows = c->rows,
                                  .dof = c->system.n,
                                  .j = c->j,
                                  .v = c->v,
                                  .e = c->e,
                                  .offset = c->offset,
                                  .only_push = only_push,
                                  .share = c->share,
                                  .inverse = apply_inverse,
                                  .context = &c->system};
    work.memory = memory;
    c->was = kinetic(&c->system, c->v);
    for (int i = 0; i < c->rows; i++)
        c->before[i] = speed(c, i, c->v);
    c->rank = gw_impulse_solve(&problem, &work, c->dv, c->g, c->p);
    for (int k = 0; k < c->system.n; k++)
        c->v[k] += c->dv[k];
    for (int i = 0; i < c->rows; i++)
        c->after[i] = speed(c, i, c->v);
    c->is = kinetic(&c->system, c->v);
}

/* Row `to` is a combination of the rows before it, off by `noise`. */
static void combine(collision *c, int to, double noise)
{
    int n = c->system.n, one = (int)(random_unit() * to), other = (int)(random_unit() * to);
    double mix = random_unit() < 0.5 ? 0 : random_unit();
    for (int k = 0; k < n; k++)
        c->j[to * n + k] =
            (1 - mix) * c->j[one * n + k] + mix * c->j[other * n + k] + noise * random_signed();
}

/* Up to 16 rows over up to 12 freedoms; a third of the rows depends on others, or nearly. */
static void random_collision(collision *c, double e)
{
    memset(c, 0, sizeof *c);
    int n = 1 + (int)(random_unit() * 12);
    random_inertia(&c->system, n);
    c->rows = 1 + (int)(random_unit() * 16);
    for (int k = 0; k < n; k++)
        c->v[k] = random_signed();
    for (int i = 0; i < c->rows; i++) {
        double kind = random_unit();
        if (i == 0 || kind < 0.67)
            for (int k = 0; k < n; k++)
                c->j[i * n + k] = random_unit() < 0.3 ? 0 : random_signed();
        else
            combine(c, i, kind < 0.75 ? 0 : pow(10, -3 - 7 * random_unit()));
        c->e[i] = e >= 0 ? e : random_unit();
        if (speed(c, i, c->v) > 0) /* what is resolved approaches */
            for (int k = 0; k < n; k++)
                c->j[i * n + k] *= -1;
    }
}

static void plastic_collisions_never_raise_the_energy(void **state)
{
    (void)state;
    static collision c;
    double worst = -1;
    for (int i = 0; i < 100000; i++) {
        random_collision(&c, 0);
        resolve(&c, i & 1);
        worst = fmax(worst, (c.is - c.was) / c.was);
        for (int k = 0; k < c.rows; k++)
            assert_true(c.after[k] >= -1e-10);
    }
    print_message("e = 0: at most %.2e of the kinetic energy more\n", worst);
    assert_true(worst <= 1e-15);
}

static void elastic_collisions_keep_the_energy(void **state)
{
    (void)state;
    static collision c;
    double worst = 0;
    long redundant = 0;
    for (int i = 0; i < 100000; i++) {
        random_collision(&c, 1);
        resolve(&c, false);
        redundant += c.rank < c.rows;
        worst = fmax(worst, fabs(c.is - c.was) / c.was);
    }
    print_message("e = 1: energy within %.2e, %ld of 100000 redundant\n", worst, redundant);
    assert_true(worst <= 1e-12);
    assert_true(redundant > 10000);
}

static void elastic_non_adhesive_impulses_keep_the_energy(void **state)
{
    (void)state;
    static collision c;
    double worst = 0;
    for (int i = 0; i < 100000; i++) {
        random_collision(&c, 1);
        resolve(&c, true);
        worst = fmax(worst, fabs(c.is - c.was) / c.was);
    }
    print_message("e = 1, only pushing: energy within %.2e\n", worst);
    assert_true(worst <= 1e-12);
}

static void rows_rebound_by_newtons_law(void **state)
{
    (void)state;
    static collision c;
    double worst = 0;
    for (int i = 0; i < 20000; i++) {
        random_collision(&c, 0.25 * (i % 5));
        resolve(&c, false);
        for (int k = 0; k < c.rows; k++)
            worst = fmax(worst, fabs(c.after[k] + c.e[k] * c.before[k]));
    }
    print_message("rebound off by at most %.2e m/s\n", worst);
    assert_true(worst <= 1e-10);
}

static void rows_that_differ_in_restitution_stay_passive(void **state)
{
    (void)state;
    static collision c;
    double worst = -1;
    for (int i = 0; i < 100000; i++) {
        random_collision(&c, -1);
        resolve(&c, i & 1);
        worst = fmax(worst, (c.is - c.was) / c.was);
    }
    print_message("mixed e: at most %.2e of the kinetic energy more\n", worst);
    assert_true(worst <= 1e-13);
}

/* p >= 0, A p + (1+e) u >= 0, and one of both is zero: conditions of the minimum. */
static void non_adhesive_impulses_meet_the_conditions_of_the_minimum(void **state)
{
    (void)state;
    static collision c;
    double dual = 0, slack = 0;
    for (int i = 0; i < 20000; i++) {
        double e = 0.25 * (i % 5);
        random_collision(&c, e);
        resolve(&c, true);
        double total = 0;
        for (int k = 0; k < c.rows; k++)
            total += c.p[k];
        for (int k = 0; k < c.rows; k++) {
            double y = c.after[k] + e * c.before[k];
            assert_true(c.p[k] >= 0);
            dual = fmax(dual, -y);
            slack = fmax(slack, fabs(c.p[k] * y) / fmax(total, 1e-3));
            assert_true(c.after[k] >= -1e-10);
        }
    }
    print_message("only pushing: dual %.2e, slackness %.2e\n", dual, slack);
    assert_true(dual <= 1e-10 && slack <= 1e-10);
}

static void impulses_of_rows_add_up_to_the_change(void **state)
{
    (void)state;
    static collision c;
    for (int i = 0; i < 2000; i++) {
        double momentum[DOF], sum[DOF] = {0}, size = 0;
        random_collision(&c, 0.5);
        resolve(&c, i & 1);
        for (int k = 0; k < c.rows; k++)
            size = fmax(size, fabs(c.p[k]));
        for (int a = 0; a < c.system.n; a++) {
            momentum[a] = 0;
            for (int b = 0; b < c.system.n; b++)
                momentum[a] += c.system.d[a][b] * c.dv[b];
            for (int k = 0; k < c.rows; k++)
                sum[a] += c.j[k * c.system.n + a] * c.p[k];
            assert_true(fabs(momentum[a] - c.g[a]) <= 1e-11);
            /* a row of which less than 1e-11 is new counts as one that follows from others */
            assert_true(fabs(sum[a] - c.g[a]) <= 1e-10 + 1e-10 * size);
        }
    }
}

/* ---- known outcomes ------------------------------------------------------------------------- */

/* Balls in a line at 1 m/s for the first; e; rows between all neighbours, or approaching ones. */
static void cradle(collision *c, int balls, double e)
{
    double mass[5] = {1, 1, 1, 1, 1};
    memset(c, 0, sizeof *c);
    diagonal_inertia(&c->system, balls, mass);
    c->rows = balls - 1;
    c->v[0] = 1;
    for (int i = 0; i < c->rows; i++) {
        c->j[i * balls + i] = -1;
        c->j[i * balls + i + 1] = 1;
        c->e[i] = e;
    }
}

static void velocities_are(const collision *c, const double *v)
{
    for (int i = 0; i < c->system.n; i++) {
        if (fabs(c->v[i] - v[i]) > 1e-14)
            print_error("velocity %d is %.17g, not %.17g\n", i, c->v[i], v[i]);
        assert_true(fabs(c->v[i] - v[i]) <= 1e-14);
    }
}

static void cradles_end_as_documented(void **state)
{
    (void)state;
    static collision c;
    cradle(&c, 3, 1);
    resolve(&c, false);
    velocities_are(&c, (double[]){-1. / 3, 2. / 3, 2. / 3});
    cradle(&c, 3, 0.5);
    resolve(&c, false);
    velocities_are(&c, (double[]){0, 0.5, 0.5});
    cradle(&c, 3, 0);
    resolve(&c, false);
    velocities_are(&c, (double[]){1. / 3, 1. / 3, 1. / 3});
    cradle(&c, 5, 1);
    resolve(&c, false);
    velocities_are(&c, (double[]){-0.6, 0.4, 0.4, 0.4, 0.4});
}

static void approaching_pairs_pass_the_motion_on(void **state)
{
    (void)state;
    static collision c;
    cradle(&c, 3, 1);
    c.rows = 1; /* the first pair alone approaches */
    resolve(&c, false);
    velocities_are(&c, (double[]){0, 1, 0});
    double v[3];
    memcpy(v, c.v, sizeof v);
    cradle(&c, 3, 1);
    memcpy(c.v, v, sizeof v);
    memmove(c.j, c.j + 3, 3 * sizeof c.j[0]);
    c.rows = 1;
    resolve(&c, false);
    velocities_are(&c, (double[]){0, 0, 1});
}

/* A bar of 1 kg, half-length 0.1, falls flat on points in line, turning. */
static void a_flat_bar_rebounds_the_same_on_any_number_of_points(void **state)
{
    (void)state;
    static const double at[3][4] = {{-0.1, 0.1}, {-0.1, 0, 0.1}, {-0.1, -0.1 / 3, 0.1 / 3, 0.1}};
    static collision c;
    for (int points = 2; points <= 4; points++)
        for (int e = 0; e <= 1; e++)
            for (int push = 0; push <= 1; push++) {
                memset(&c, 0, sizeof c);
                diagonal_inertia(&c.system, 2, (double[]){1, 0.01 / 3});
                c.v[0] = -1;
                c.v[1] = 3;
                for (c.rows = 0; c.rows < points; c.rows++) {
                    c.j[2 * c.rows] = 1;
                    c.j[2 * c.rows + 1] = at[points - 2][c.rows];
                    c.e[c.rows] = e;
                }
                resolve(&c, push);
                velocities_are(&c, (double[]){e, -3 * e});
            }
}

/* A bar that falls turning on points in line: of all impulses that stop it the least ones are
 * a + b x of the point's place x where that is positive, else none. Equal ones where it falls flat.
 */
static void redundant_rows_share_the_least_impulses(void **state)
{
    (void)state;
    enum { POINTS = 7 };
    static collision c;
    for (int turns = -3; turns <= 3; turns++) {
        double dv[2], least = 0, other = 0, x[POINTS];
        for (int share = 0; share <= 1; share++) {
            memset(&c, 0, sizeof c);
            diagonal_inertia(&c.system, 2, (double[]){1, 0.01 / 3});
            c.v[0] = -1;
            c.v[1] = 9 * turns;
            c.share = share;
            for (c.rows = 0; c.rows < POINTS; c.rows++) {
                x[c.rows] = 0.1 * (c.rows - 3) / 3;
                c.j[2 * c.rows] = 1;
                c.j[2 * c.rows + 1] = x[c.rows];
            }
            resolve(&c, true);
            if (!share)
                memcpy(dv, c.dv, sizeof dv);
            for (int i = 0; i < POINTS; i++)
                *(share ? &least : &other) += c.p[i] * c.p[i];
        }
        assert_memory_equal(dv, c.dv, sizeof dv);
        assert_true(least < other);
        int end = turns > 0 ? 0 : POINTS - 1, next = turns > 0 ? 1 : POINTS - 2;
        double slope = (c.p[next] - c.p[end]) / (x[next] - x[end]);
        for (int i = 0; i < POINTS; i++)
            assert_true(fabs(c.p[i] - fmax(0, c.p[end] + slope * (x[i] - x[end]))) < 1e-13);
        for (int i = 0; i < POINTS && turns == 0; i++)
            assert_true(fabs(c.p[i] - 1. / POINTS) < 1e-14);
    }
}

/* A table that comes up at 1 m/s under a ball at rest throws it at 1 + e. */
static void an_offset_is_added_to_the_systems_speed(void **state)
{
    (void)state;
    static collision c;
    for (int push = 0; push <= 1; push++) {
        memset(&c, 0, sizeof c);
        diagonal_inertia(&c.system, 1, (double[]){2});
        c.rows = 1;
        c.j[0] = 1;
        c.e[0] = 0.5;
        c.offset[0] = -1;
        resolve(&c, push);
        velocities_are(&c, (double[]){1.5});
        assert_true(fabs(c.p[0] - 3) < 1e-15);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plastic_collisions_never_raise_the_energy),
        cmocka_unit_test(elastic_collisions_keep_the_energy),
        cmocka_unit_test(elastic_non_adhesive_impulses_keep_the_energy),
        cmocka_unit_test(rows_rebound_by_newtons_law),
        cmocka_unit_test(rows_that_differ_in_restitution_stay_passive),
        cmocka_unit_test(non_adhesive_impulses_meet_the_conditions_of_the_minimum),
        cmocka_unit_test(impulses_of_rows_add_up_to_the_change),
        cmocka_unit_test(cradles_end_as_documented),
        cmocka_unit_test(approaching_pairs_pass_the_motion_on),
        cmocka_unit_test(a_flat_bar_rebounds_the_same_on_any_number_of_points),
        cmocka_unit_test(redundant_rows_share_the_least_impulses),
        cmocka_unit_test(an_offset_is_added_to_the_systems_speed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
