/*
 * Resisted directions, and the inverse inertia at the held frame.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/haptics/operational_space.h"
#include "tests/unit/link_fixture.h"
#include "tests/unit/planar_three.h"

static double random_of(unsigned *state)
{
    *state = *state * 1664525u + 1013904223u;
    return (double)*state / 4294967296.0 * 2 - 1;
}

static void random_columns(unsigned *seed, int dof, double (*j)[6])
{
    for (int i = 0; i < dof; i++)
        for (int k = 0; k < 6; k++)
            j[i][k] = random_of(seed);
}

/* sum w n n^T */
static void projector(const gw_resisted_directions *r, double p[6][6])
{
    memset(p, 0, 36 * sizeof(double));
    for (int k = 0; k < r->count; k++)
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                p[i][j] += r->weight[k] * r->direction[k][i] * r->direction[k][j];
}

static double distance_of(const double a[6][6], const double b[6][6])
{
    double sum = 0;
    for (int i = 0; i < 36; i++)
        sum += pow((&a[0][0])[i] - (&b[0][0])[i], 2);
    return sqrt(sum);
}

static void directions_are_unit_and_no_column_moves_along_them(void **state)
{
    (void)state;
    unsigned seed = 3;
    for (int round = 0; round < 200; round++) {
        double j[4][6];
        gw_resisted_directions r;
        random_columns(&seed, 4, j);
        gw_resisted_directions_of(&(gw_resisted_def){.length = 0.1}, 4, (const double(*)[6])j, &r);
        assert_int_equal(r.count, 2);
        for (int k = 0; k < r.count; k++) {
            double norm = 0;
            for (int i = 0; i < 6; i++)
                norm += r.direction[k][i] * r.direction[k][i];
            assert_true(fabs(norm - 1) < 1e-12 && r.weight[k] == 1);
            for (int c = 0; c < 4; c++) {
                double dot = 0;
                for (int i = 0; i < 6; i++)
                    dot += r.direction[k][i] * j[c][i] / (i < 3 ? 0.1 : 1);
                assert_true(fabs(dot) < 1e-12);
            }
        }
    }
}

/* 64 columns are reduced to six rows; singular values are those of J J^T all the same. */
static void many_columns_have_the_singular_values_of_their_gram_matrix(void **state)
{
    (void)state;
    unsigned seed = 5;
    double j[64][6], trace = 0, product = 0;
    gw_resisted_directions r, by_default;
    random_columns(&seed, 64, j);
    gw_resisted_directions_of(&(gw_resisted_def){.length = 1}, 64, (const double(*)[6])j,
                              &by_default);
    gw_resisted_directions_of(&(gw_resisted_def){.length = 1, .threshold = 1}, 64,
                              (const double(*)[6])j, &r);
    for (int c = 0; c < 64; c++)
        for (int i = 0; i < 6; i++)
            trace += j[c][i] * j[c][i];
    for (int i = 0; i < 6; i++)
        product += r.singular[i] * r.singular[i];
    assert_true(fabs(trace - product) < 1e-10 * trace);
    double fourth = 0, gram = 0;
    for (int a = 0; a < 6; a++)
        for (int b = 0; b < 6; b++) {
            double g = 0;
            for (int c = 0; c < 64; c++)
                g += j[c][a] * j[c][b];
            gram += g * g;
        }
    for (int i = 0; i < 6; i++)
        fourth += pow(r.singular[i], 4);
    assert_true(fabs(fourth - gram) < 1e-10 * gram && by_default.count == 0);
}

/* Singular values are left out only where none is as small as a hundredth of the largest. */
static void directions_are_resisted_from_a_hundredth_of_the_largest_on(void **state)
{
    (void)state;
    unsigned seed = 7;
    int resisted = 0, told = 0;
    for (int n = 0; n < 2000; n++) {
        double j[6][6];
        gw_resisted_directions all, r;
        random_columns(&seed, 6, j);
        for (int c = 0; c < 6; c++)
            j[c][5] *= pow(10, -2.0 * n / 2000);
        gw_resisted_directions_of(&(gw_resisted_def){.length = 1, .threshold = 1}, 6,
                                  (const double(*)[6])j, &all);
        gw_resisted_directions_of(&(gw_resisted_def){.length = 1}, 6, (const double(*)[6])j, &r);
        assert_true((r.count > 0) == (all.singular[5] < 0.01 * all.singular[0]));
        resisted += r.count > 0;
        told += r.singular[0] > 0;
    }
    assert_true(resisted > 100 && told < 2000 - 100);
}

static void a_body_that_cannot_move_resists_everything(void **state)
{
    (void)state;
    gw_resisted_directions r;
    double none[1][6] = {{0}};
    gw_resisted_directions_of(&(gw_resisted_def){0}, 1, (const double(*)[6])none, &r);
    assert_int_equal(r.count, 6);
    assert_true(r.length == 0.05);
}

/* The last link of the planar arm as its elbow straightens: P by steps of the angle. */
static double largest_jump(gw_direction_weighting weighting, double step)
{
    gw_resisted_def def = {.length = 0.05, .threshold = 1e-2, .weighting = weighting};
    double before[6][6], p[6][6], most = 0;
    serial_def arm = fixture_table_one(0);
    arm.held = 2;
    for (int n = 0; n * step < 0.8; n++) {
        static serial chain;
        double q[3] = {0.3, -0.4 + n * step, 0.9}, j[3][6], drift[6];
        gw_resisted_directions r;
        serial_open(&chain, &arm, q, NULL);
        gw_model_jacobian(chain.model, j, drift);
        gw_resisted_directions_of(&def, 3, (const double(*)[6])j, &r);
        projector(&r, p);
        if (n > 0)
            most = fmax(most, distance_of((const double(*)[6])p, (const double(*)[6])before));
        memcpy(before, p, sizeof p);
    }
    return most;
}

static void smooth_weights_make_the_projector_continuous(void **state)
{
    (void)state;
    double coarse = largest_jump(GW_WEIGHTS_SMOOTH, 1e-3),
           fine = largest_jump(GW_WEIGHTS_SMOOTH, 1e-4);
    assert_true(fine < 0.12 * coarse);
    assert_true(largest_jump(GW_WEIGHTS_ON_OFF, 1e-4) > 0.9);
}

static void lambda_inverse_is_that_of_the_closed_form(void **state)
{
    (void)state;
    static const int at[3] = {0, 1, 5};
    for (int held = 1; held <= 2; held++) {
        static serial chain;
        serial_def def = fixture_table_one(0);
        three c = three_of_table(held);
        double q[3] = {0.2, -0.7, 1.1}, v[3] = {0}, d[3][3], b[3], x[3], j[3][3], drift[3];
        double columns[3][6], six[6], inverse[6][6];
        def.held = held;
        def.link_from_held.p = def.links[held].mass.com;
        serial_open(&chain, &def, q, v);
        gw_model_jacobian(chain.model, columns, six);
        gw_operational_inverse_inertia(chain.model, 3, (const double(*)[6])columns, inverse);
        three_dynamics(&c, q, v, d, b);
        three_held(&c, q, v, x, j, drift);
        for (int k = 0; k < 3; k++) {
            double f[3] = {j[0][k], j[1][k], j[2][k]};
            three_solve((const double(*)[3])d, f);
            for (int i = 0; i < 3; i++) {
                double sum = j[0][i] * f[0] + j[1][i] * f[1] + j[2][i] * f[2];
                assert_true(fabs(inverse[at[i]][at[k]] - sum) < 1e-10);
            }
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(directions_are_unit_and_no_column_moves_along_them),
        cmocka_unit_test(many_columns_have_the_singular_values_of_their_gram_matrix),
        cmocka_unit_test(directions_are_resisted_from_a_hundredth_of_the_largest_on),
        cmocka_unit_test(a_body_that_cannot_move_resists_everything),
        cmocka_unit_test(smooth_weights_make_the_projector_continuous),
        cmocka_unit_test(lambda_inverse_is_that_of_the_closed_form),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
