/*
 * The start system of homotopies in Study's coordinates: sections by generic forms, and their
 * roots. The coefficients are arbitrary; start_roots.c and start_roots_3.c have the roots, found by
 * tests/tools/make_start_system.c. Any thread, RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/base/random.h"
#include "rt/positioning/polynomial/study_equations.h"

/* A generic complex number in the square of side two, by splitmix64. */
static gw_complex generic_complex(unsigned long long index)
{
    double part[2];
    for (unsigned long long k = 0; k < 2; k++) {
        unsigned long long z = gw_splitmix64_mix((2 * index + k + 1) * GW_SPLITMIX64_STEP);
        part[k] = 2 * ((double)(z >> 11) / 9007199254740992.0) - 1;
    }
    return part[0] + part[1] * I;
}

int gw_start_root_count(int cylinders)
{
    assert(cylinders >= 0 && cylinders <= GW_MAX_START_CYLINDERS);
    return 40 << cylinders;
}

/* The cylinders are of the world: their l has no part in s. */
void gw_start_system(int cylinders, gw_study_homotopy *s)
{
    s->linear = 6 - cylinders;
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < GW_Y; k++) {
            bool axis = i >= s->linear && (k < GW_Y_S || k == GW_Y_ONE);
            unsigned long long at = (unsigned long long)(i * GW_Y + k);
            s->from[i][k] = 0.3 * generic_complex(at);
            s->from_axis[i][k] = axis ? 0.3 * generic_complex(at + 6 * GW_Y) : 0;
        }
}

/* t from e: four of the hyperplanes are linear in t and r. */
static void find_translation(const gw_study_homotopy *s, gw_complex_pose *x)
{
    gw_complex y[GW_Y], a[4][5];
    x->t[0] = x->t[1] = x->t[2] = 0;
    gw_forms_coordinates(x, y);
    for (int i = 0; i < 4; i++) {
        const gw_complex *h = s->from[i];
        for (int k = 0; k < 3; k++) {
            a[i][k] = y[GW_Y_ONE] * h[GW_Y_T + k];
            for (int j = 0; j < 3; j++)
                a[i][k] += y[3 * k + j] * h[GW_Y_S + j];
        }
        a[i][3] = y[GW_Y_ONE] * h[GW_Y_TT];
        a[i][4] = -y[GW_Y_ONE] * h[GW_Y_ONE];
        for (int k = 0; k < 9; k++)
            a[i][4] -= h[k] * y[k];
    }
    for (int k = 0; k < 4; k++) {
        int p = k;
        for (int i = k; i < 4; i++)
            p = cabs(a[i][k]) > cabs(a[p][k]) ? i : p;
        for (int j = 0; j < 5; j++) {
            gw_complex z = a[p][j];
            a[p][j] = a[k][j], a[k][j] = z;
        }
        for (int i = 0; i < 4; i++) {
            gw_complex m = i == k ? 0 : a[i][k] / a[k][k];
            for (int j = 0; j < 5; j++)
                a[i][j] -= m * a[k][j];
        }
    }
    for (int k = 0; k < 3; k++)
        x->t[k] = a[k][4] / a[k][k];
}

gw_complex_pose gw_start_root(int cylinders, const gw_study_homotopy *s, int i)
{
    assert(i >= 0 && i < gw_start_root_count(cylinders));
    const double *e = cylinders == 0   ? gw_start_roots_0[i]
                      : cylinders == 1 ? gw_start_roots_1[i]
                      : cylinders == 2 ? gw_start_roots_2[i]
                                       : gw_start_roots_3[i];
    gw_complex_pose x = {{1, e[0] + e[1] * I, e[2] + e[3] * I, e[4] + e[5] * I}, {0, 0, 0}};
    if (cylinders < 3)
        find_translation(s, &x);
    for (int k = 0; k < 3 && cylinders == 3; k++)
        x.t[k] = e[6 + 2 * k] + e[7 + 2 * k] * I;
    return x;
}
