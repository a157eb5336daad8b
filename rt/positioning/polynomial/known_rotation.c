/*
 * Systems whose rotation is known: their conditions on t alone, as three quadrics in (t, 1), among
 * whose eight common points (three_quadrics.c) are all poses. Any thread, RT safe.
 *
 * A form in y = (R, t, s, r, 1) becomes c r + a . t + b. One form with c != 0 is a sphere and
 * eliminates r from the others, which become planes; cylinders are quadrics. A plane is made a
 * quadric by multiplication with an arbitrary plane, whose points are rejected by the residual of
 * the forms.
 */
#include <string.h>

#include "rt/positioning/polynomial/quaternion_equations.h"

#define TINY 1e-9

/* c r + (a, b) . (t, 1) */
typedef struct affine_form {
    double c, ab[4];
} affine_form;

static const int at[4][4] = {{0, 1, 2, 3}, {1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};

static affine_form form_of(const double *h, const gw_mat3 *r)
{
    affine_form p = {h[GW_Y_TT], {h[GW_Y_T], h[GW_Y_T + 1], h[GW_Y_T + 2], h[GW_Y_ONE]}};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            p.ab[i] += r->m[i][k] * h[GW_Y_S + k]; /* s = R^T t */
            p.ab[3] += r->m[i][k] * h[GW_Y_R + 3 * i + k];
        }
    return p;
}

/* q += k (u . x)(v . x) */
static void add_product(double *q, double k, const double *u, const double *v)
{
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            q[at[i][j]] += k * u[i] * v[j];
}

static void add_form(double *q, const affine_form *p)
{
    static const double one[4] = {0, 0, 0, 1};
    for (int i = 0; i < 3; i++)
        q[at[i][i]] += p->c;
    add_product(q, 1, p->ab, one);
}

/* Reduces the forms to one sphere, or none, and independent planes; returns how many planes. */
static int reduce_forms(affine_form *p, int count, affine_form *sphere)
{
    int most = 0, planes = 0;
    for (int i = 1; i < count; i++)
        most = fabs(p[i].c) > fabs(p[most].c) ? i : most;
    *sphere = count > 0 ? p[most] : (affine_form){0, {0}};
    bool any = fabs(sphere->c) > TINY;
    for (int i = 0; i < count; i++) {
        affine_form x = p[i];
        double ss = 0;
        for (int k = 0; k < 4 && any; k++)
            x.ab[k] -= p[i].c / sphere->c * sphere->ab[k];
        for (int n = 0; n < 2 * planes; n++) {
            double dot = 0;
            for (int k = 0; k < 4; k++)
                dot += x.ab[k] * p[n % planes].ab[k];
            for (int k = 0; k < 4; k++)
                x.ab[k] -= dot * p[n % planes].ab[k];
        }
        for (int k = 0; k < 4; k++)
            ss += x.ab[k] * x.ab[k];
        if (ss < TINY || planes == 3)
            continue;
        for (int k = 0; k < 4; k++)
            p[planes].ab[k] = x.ab[k] / sqrt(ss);
        p[planes++].c = 0;
    }
    if (!any)
        sphere->c = 0;
    return planes;
}

static void scale_to_one(double *q)
{
    double ss = 0;
    for (int i = 0; i < GW_MONOMIALS; i++)
        ss += q[i] * q[i];
    for (int i = 0; i < GW_MONOMIALS && ss > 0; i++)
        q[i] /= sqrt(ss);
}

bool gw_known_rotation_equations(const gw_forms *f, gw_quat rotation, gw_three_equations *s)
{
    gw_mat3 r = gw_quat_to_mat3(rotation);
    affine_form p[GW_Y], sphere;
    double quadric[1 + GW_MAX_CYLINDER_FORMS][GW_MONOMIALS] = {{0}};
    int quadrics = 0;
    for (int i = 0; i < f->linear; i++)
        p[i] = form_of(f->h[i], &r);
    int planes = reduce_forms(p, f->linear, &sphere);
    if (sphere.c != 0)
        add_form(quadric[quadrics++], &sphere);
    for (int i = 0; i < f->cylinders; i++, quadrics++) {
        affine_form h = form_of(f->cylinder[i].h, &r), l = form_of(f->cylinder[i].l, &r);
        add_form(quadric[quadrics], &h);
        add_product(quadric[quadrics], -1, l.ab, l.ab);
        scale_to_one(quadric[quadrics]);
    }
    if (planes == 3 || planes + quadrics < 3)
        return false;
    memset(s, 0, sizeof *s);
    for (int i = 0; i < 3; i++) {
        double any[4] = {gw_generic_number(i, 20), gw_generic_number(i, 21),
                         gw_generic_number(i, 22), gw_generic_number(i, 23)};
        s->degree[i] = 2;
        if (i < planes)
            add_product(s->quadric[i], 1, p[i].ab, any);
        for (int k = 0; k < quadrics && i >= planes; k++)
            for (int n = 0; n < GW_MONOMIALS; n++)
                s->quadric[i][n] +=
                    (planes + quadrics == 3 ? i - planes == k : gw_generic_number(i, k)) *
                    quadric[k][n];
        scale_to_one(s->quadric[i]);
    }
    return true;
}
