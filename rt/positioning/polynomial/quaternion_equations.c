/*
 * Systems whose translation follows from the rotation: three rows without s and r give t as an
 * affine function of R, and three equations in the quaternion e remain. First the elimination of t,
 * then the equations as path tracking evaluates them. Any thread, RT safe.
 *
 * With w = (e_i e_j, i <= j), the ten quadratic monomials, R(e), N and t N = T w are linear in w:
 *
 *   condition   tr(M^T R) = c                      ->  q . w = 0
 *   coupled     with s = R^T t or r = |t|^2        ->  w . Q w = 0
 *   cylinder    h . y - (l . y)^2, l without s     ->  w . Q w = 0
 *
 *   four planes   n_1 . t + c_1 = 0, n_2 . t + c_2 = 0, N_3 . t + c_3 = 0, N_4 . t + c_4 = 0,
 *                 N_i = R n_i of planes of the body, two and two: the determinant of (n_i, c_i) is
 *                 -c_1 n_2 . R (n_3 x n_4) + c_2 n_1 . R (n_3 x n_4)
 *                   - c_3 (n_1 x n_2) . R n_4 + c_4 (n_1 x n_2) . R n_3  ->  w . Q w = 0
 *
 * Where a point is pinned, t = f - R m, then s = R^T f - m and r = f^2 + m^2 - 2 f . R m are affine
 * too, and nothing but cylinders is quartic.
 */
#include <string.h>

#include "rt/positioning/polynomial/quaternion_equations.h"

#define TINY 1e-9

/* Position of e_i e_j in w. */
static int monomial_index(int i, int j)
{
    static const int first[] = {0, 4, 7, 9};
    return i <= j ? first[i] + j - i : first[j] + i - j;
}

/* R(e) (nine rows) and N by w. */
static void turning_table(double (*p)[GW_MONOMIALS])
{
    memset(p, 0, 10 * sizeof *p);
    for (int i = 0; i < 3; i++) {
        p[4 * i][monomial_index(0, 0)] = 1;
        for (int k = 0; k < 3; k++)
            p[4 * i][monomial_index(k + 1, k + 1)] = k == i ? 1 : -1;
        int j = (i + 1) % 3, k = (i + 2) % 3; /* R_ij = 2 (e_i e_j - e_0 e_k), and its mirror */
        p[3 * i + j][monomial_index(i + 1, j + 1)] = p[3 * j + i][monomial_index(i + 1, j + 1)] = 2;
        p[3 * i + j][monomial_index(0, k + 1)] = -2;
        p[3 * j + i][monomial_index(0, k + 1)] = 2;
    }
    for (int k = 0; k < 4; k++)
        p[9][monomial_index(k, k)] = 1;
}

/* ---- elimination ----------------------------------------------------------------------------- */

/* Gauss-Jordan elimination of columns first .. first + count - 1 from rows `from` on, with the
 * largest entry as pivot; pivot rows come first, pivots are one. Returns the number of pivots. */
static int eliminate_columns(double (*h)[GW_Y], int from, int rows, int first, int count)
{
    int n = from;
    for (; n < rows; n++) {
        int row = n, column = first;
        for (int i = n; i < rows; i++)
            for (int k = first; k < first + count; k++)
                if (fabs(h[i][k]) > fabs(h[row][column]))
                    row = i, column = k;
        if (fabs(h[row][column]) < TINY)
            break;
        double pivot = h[row][column];
        for (int k = 0; k < GW_Y; k++) {
            double x = h[row][k] / pivot;
            h[row][k] = h[n][k], h[n][k] = x;
        }
        for (int i = from; i < rows; i++) {
            double m = h[i][column];
            if (i == n)
                continue;
            for (int k = 0; k < GW_Y; k++)
                h[i][k] -= m * h[n][k];
            h[i][column] = 0;
        }
    }
    return n - from;
}

/* A reduced matrix of hyperplanes. */
typedef struct reduced {
    double h[GW_Y][GW_Y];
    int coupled, sliding,
        rows; /* coupled rows (with s or r) first, then those for t, then conditions */
} reduced;

static void reduce_forms(const gw_forms *s, reduced *r)
{
    memcpy(r->h, s->h, sizeof(r->h[0]) * (size_t)s->linear);
    r->rows = s->linear;
    r->coupled = eliminate_columns(r->h, 0, r->rows, GW_Y_S, 4); /* s and r stand side by side */
    r->sliding = eliminate_columns(r->h, r->coupled, r->rows, GW_Y_T, 3);
}

/* t_i = T_i . (R, 1), from the three rows with a one at some t_i each. */
static void translation_forms(const reduced *r, double (*t)[10])
{
    for (int n = 0; n < 3; n++) {
        const double *h = r->h[r->coupled + n];
        int i = fabs(h[GW_Y_T]) > 0.5 ? 0 : fabs(h[GW_Y_T + 1]) > 0.5 ? 1 : 2;
        for (int k = 0; k < 9; k++)
            t[i][k] = -h[GW_Y_R + k];
        t[i][9] = -h[GW_Y_ONE];
    }
}

/* True where t = f - R m, a pinned point; the first row gives m. */
static bool is_point_pinned(const double (*t)[10], gw_vec3 *m, gw_vec3 *f)
{
    *m = gw_v3(-t[0][0], -t[0][1], -t[0][2]);
    *f = gw_v3(t[0][9], t[1][9], t[2][9]);
    double own[3] = {m->x, m->y, m->z}, off = 0;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 9; k++)
            off = fmax(off, fabs(t[i][k] + (k / 3 == i ? own[k % 3] : 0)));
    return off < 1e-9;
}

/* ---- forms in w ------------------------------------------------------------------------------ */

/* The parts of a form as linear functions of w: R, N and N t. */
typedef struct parts {
    double turn[10][GW_MONOMIALS]; /* R, N */
    double t[3][GW_MONOMIALS];
    bool pinned;
    gw_vec3 m, f;
} parts;

static void add_multiple(double *to, double k, const double *w)
{
    for (int i = 0; i < GW_MONOMIALS; i++)
        to[i] += k * w[i];
}

/* Substitutes s and r, which are affine in R if a point is pinned. */
static void substitute_pinned(const parts *p, double *h)
{
    double s[3] = {h[GW_Y_S], h[GW_Y_S + 1], h[GW_Y_S + 2]}, r = h[GW_Y_TT];
    double f[3] = {p->f.x, p->f.y, p->f.z}, m[3] = {p->m.x, p->m.y, p->m.z};
    for (int i = 0; i < 3; i++) {
        for (int j = 0; j < 3; j++)
            h[3 * i + j] += s[j] * f[i] - 2 * r * f[i] * m[j];
        h[GW_Y_ONE] += r * (f[i] * f[i] + m[i] * m[i]) - s[i] * m[i];
    }
    h[GW_Y_S] = h[GW_Y_S + 1] = h[GW_Y_S + 2] = h[GW_Y_TT] = 0;
}

/* The part of a form that is linear in w: of R, t and 1. */
static void linear_part(const parts *p, const double *h, double *w)
{
    memset(w, 0, GW_MONOMIALS * sizeof *w);
    for (int k = 0; k < 9; k++)
        add_multiple(w, h[GW_Y_R + k], p->turn[k]);
    for (int i = 0; i < 3; i++)
        add_multiple(w, h[GW_Y_T + i], p->t[i]);
    add_multiple(w, h[GW_Y_ONE], p->turn[9]);
}

/* Q += k a b^T, symmetric */
static void add_product(double (*q)[GW_MONOMIALS], double k, const double *a, const double *b)
{
    for (int i = 0; i < GW_MONOMIALS; i++)
        for (int j = 0; j < GW_MONOMIALS; j++)
            q[i][j] += 0.5 * k * (a[i] * b[j] + b[i] * a[j]);
}

/* N times a form, with h_s and h_r its coefficients of s and r:
 * N (linear part) + h_s . R(e)^T (N t) + h_r |N t|^2. */
static void whole_form(const parts *p, const double *h, double (*q)[GW_MONOMIALS])
{
    double w[GW_MONOMIALS];
    linear_part(p, h, w);
    add_product(q, 1, w, p->turn[9]);
    for (int i = 0; i < 3; i++) {
        add_product(q, h[GW_Y_TT], p->t[i], p->t[i]);
        for (int j = 0; j < 3; j++)
            add_product(q, h[GW_Y_S + j], p->turn[3 * i + j], p->t[i]);
    }
}

static void scale_to_one(double *q, int count)
{
    double ss = 0;
    for (int i = 0; i < count; i++)
        ss += q[i] * q[i];
    for (int i = 0; i < count && ss > 0; i++)
        q[i] /= sqrt(ss);
}

/* ---- the three equations --------------------------------------------------------------------- */

/* Adds the part of a condition that is normal to the others, if there is one. */
static void add_condition(gw_rotation_conditions *c, const double *w)
{
    double q[GW_MONOMIALS], rest = 0;
    memcpy(q, w, sizeof q);
    scale_to_one(q, GW_MONOMIALS);
    for (int pass = 0; pass < 2; pass++)
        for (int k = 0; k < c->quadrics; k++) {
            double dot = 0;
            for (int i = 0; i < GW_MONOMIALS; i++)
                dot += q[i] * c->quadric[k][i];
            add_multiple(q, -dot, c->quadric[k]);
        }
    for (int i = 0; i < GW_MONOMIALS; i++)
        rest += q[i] * q[i];
    if (rest < 1e-16 || c->quadrics == GW_MONOMIALS)
        return;
    scale_to_one(q, GW_MONOMIALS);
    memcpy(c->quadric[c->quadrics++], q, sizeof q);
}

static void add_quartic(gw_rotation_conditions *c, const double (*q)[GW_MONOMIALS])
{
    if (c->quartics == GW_MAX_QUARTICS)
        return;
    memcpy(c->quartic[c->quartics], q, sizeof c->quartic[0]);
    scale_to_one(&c->quartic[c->quartics++][0][0], GW_MONOMIALS * GW_MONOMIALS);
}

static void add_coupled(const parts *p, const double *h, gw_rotation_conditions *c)
{
    double q[GW_MONOMIALS][GW_MONOMIALS] = {{0}}, own[GW_Y], w[GW_MONOMIALS];
    memcpy(own, h, sizeof own);
    if (p->pinned) {
        substitute_pinned(p, own);
        linear_part(p, own, w);
        add_condition(c, w);
        return;
    }
    whole_form(p, own, q);
    add_quartic(c, (const double(*)[GW_MONOMIALS])q);
}

/* Adds a cylinder. One of the body, whose l has a part in s, is left out unless a point is
 * pinned. */
static void add_cylinder(const parts *p, const gw_cylinder_form *x, gw_rotation_conditions *c)
{
    double q[GW_MONOMIALS][GW_MONOMIALS] = {{0}}, h[GW_Y], l[GW_Y], w[GW_MONOMIALS];
    memcpy(h, x->h, sizeof h);
    memcpy(l, x->l, sizeof l);
    if (p->pinned) {
        substitute_pinned(p, h);
        substitute_pinned(p, l);
    }
    if (fabs(l[GW_Y_S]) + fabs(l[GW_Y_S + 1]) + fabs(l[GW_Y_S + 2]) > 0)
        return;
    whole_form(p, h, q);
    linear_part(p, l, w);
    add_product(q, -1, w, w);
    add_quartic(c, (const double(*)[GW_MONOMIALS])q);
}

/* Eliminates t from the coupled rows by the rows for t; true if neither t nor r is left in them. */
static bool eliminate_t(reduced *r)
{
    double left = 0;
    for (int i = 0; i < r->coupled; i++) {
        for (int n = r->coupled; n < r->coupled + r->sliding; n++) {
            int pivot = GW_Y_T;
            while (pivot < GW_Y_T + 2 && r->h[n][pivot] != 1)
                pivot++;
            double m = r->h[i][pivot];
            for (int k = 0; k < GW_Y; k++)
                r->h[i][k] -= m * r->h[n][k];
        }
        for (int k = 0; k < 3; k++)
            left = fmax(left, fabs(r->h[i][GW_Y_T + k]));
        left = fmax(left, fabs(r->h[i][GW_Y_TT]));
    }
    return left < TINY;
}

/* n . R m, by w. */
static void add_rotated_product(const parts *p, gw_vec3 n, gw_vec3 m, double *w)
{
    const double to[3] = {n.x, n.y, n.z}, from[3] = {m.x, m.y, m.z};
    memset(w, 0, GW_MONOMIALS * sizeof *w);
    for (int i = 0; i < 9; i++)
        add_multiple(w, to[i / 3] * from[i % 3], p->turn[i]);
}

/* Two rows for t and two for s: they determine t, and leave one condition. */
static bool add_four_planes(reduced *r, const parts *p, gw_rotation_conditions *c)
{
    gw_four_planes *f = &c->planes;
    double q[GW_MONOMIALS][GW_MONOMIALS] = {{0}}, minor[4][GW_MONOMIALS];
    if (r->coupled != 2 || r->sliding != 2 || !eliminate_t(r))
        return false;
    for (int i = 0; i < 4; i++) {
        const double *h = r->h[i < 2 ? 2 + i : i - 2], *n = h + (i < 2 ? GW_Y_T : GW_Y_S);
        double rest[GW_Y] = {0};
        memcpy(rest, h, 9 * sizeof *h);
        rest[GW_Y_ONE] = h[GW_Y_ONE];
        linear_part(p, rest, f->c[i]);
        f->n[i] = gw_v3(n[0], n[1], n[2]);
    }
    gw_vec3 world = gw_cross(f->n[0], f->n[1]), body = gw_cross(f->n[2], f->n[3]);
    add_rotated_product(p, f->n[1], body, minor[0]);
    add_rotated_product(p, f->n[0], body, minor[1]);
    add_rotated_product(p, world, f->n[3], minor[2]);
    add_rotated_product(p, world, f->n[2], minor[3]);
    for (int i = 0; i < 4; i++)
        add_product(q, i % 2 ? 1 : -1, f->c[i], minor[i]);
    add_quartic(c, (const double(*)[GW_MONOMIALS])q);
    c->four = true;
    return true;
}

/* N t by w, from three rows. */
static void put_translation(const reduced *r, parts *p)
{
    double t[3][10];
    translation_forms(r, t);
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 10; k++)
            add_multiple(p->t[i], t[i][k], p->turn[k]);
    p->pinned = is_point_pinned((const double(*)[10])t, &p->m, &p->f);
}

bool gw_rotation_conditions_of(const gw_forms *s, gw_rotation_conditions *c)
{
    reduced r;
    parts p = {.pinned = false};
    double w[GW_MONOMIALS];
    c->quadrics = c->quartics = 0;
    c->four = false;
    reduce_forms(s, &r);
    turning_table(p.turn);
    if (r.sliding == 3)
        put_translation(&r, &p);
    else if (!add_four_planes(&r, &p, c))
        return false;
    memcpy(c->t, p.t, sizeof c->t);
    for (int i = r.coupled + r.sliding; i < r.rows; i++) {
        linear_part(&p, r.h[i], w);
        add_condition(c, w);
    }
    for (int i = 0; i < r.coupled && !c->four; i++)
        add_coupled(&p, r.h[i], c);
    for (int i = 0; i < s->cylinders && !c->four; i++)
        add_cylinder(&p, &s->cylinder[i], c);
    return c->quadrics + c->quartics >= 3;
}

void gw_rotation_equations(const gw_rotation_conditions *c, gw_three_equations *s)
{
    int quadrics = c->quadrics < 3 ? c->quadrics : 3;
    memset(s, 0, sizeof *s);
    for (int i = 0; i < quadrics; i++) {
        s->degree[i] = 2;
        for (int k = 0; k < c->quadrics; k++)
            add_multiple(s->quadric[i], c->quadrics == 3 ? i == k : gw_generic_number(i, k),
                         c->quadric[k]);
        scale_to_one(s->quadric[i], GW_MONOMIALS);
    }
    for (int i = quadrics; i < 3; i++) {
        bool all = c->quartics == 3 - quadrics;
        s->degree[i] = 4;
        for (int k = 0; k < c->quartics; k++)
            for (int n = 0; n < GW_MONOMIALS; n++)
                add_multiple(s->quartic[i][n], all ? i - quadrics == k : gw_generic_number(i, k),
                             c->quartic[k][n]);
        scale_to_one(&s->quartic[i][0][0], GW_MONOMIALS * GW_MONOMIALS);
    }
}

/* ---- the homotopy, in all lanes -------------------------------------------------------------- */

/* sum_k g_k dw_k/de; g is real or complex. */
GW_LANE_INLINE void by_e(const gw_complex_lanes *e, const gw_complex_lanes *g,
                         gw_complex_lanes *out)
{
    static const int at[4][4] = {{0, 1, 2, 3}, {1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};
    for (int i = 0; i < 4; i++) {
        gw_multiply(&g[at[i][i]], &e[i], &out[i]);
        for (int j = 0; j < 4; j++)
            gw_add_product(&out[i], &g[at[i][j]], &e[j]);
    }
}

/* The start system e_i^d - e_0^d, i = 1 .. 3, with its derivatives by e_0 and e_i. */
GW_LANE_INLINE void start_at(const gw_complex_lanes *e, int i, int degree, gw_complex_lanes *f,
                             gw_complex_lanes j[2])
{
    gw_complex_lanes low = e[0], high = e[i];
    for (int k = 2; k < degree; k++) {
        gw_multiply(&low, &e[0], &low);
        gw_multiply(&high, &e[i], &high);
    }
    gw_multiply(&high, &e[i], f);
    gw_subtract_product(f, &low, &e[0]);
    j[0] = (gw_complex_lanes){-degree * low.re, -degree * low.im};
    j[1] = (gw_complex_lanes){degree * high.re, degree * high.im};
}

/* f = q . w or w . Q w, and its gradient by w. */
GW_LANE_INLINE void target_at(const gw_quaternion_homotopy *s, int i, const gw_complex_lanes *w,
                              gw_complex_lanes *f, gw_complex_lanes *g)
{
    *f = (gw_complex_lanes){{0}, {0}};
    for (int k = 0; k < GW_MONOMIALS; k++) {
        if (s->degree[i] == 2) {
            g[k] = (gw_complex_lanes){s->linear[i][k] + (gw_lanes){0}, {0}};
            gw_add_scaled(f, s->linear[i][k], &w[k]);
            continue;
        }
        gw_complex_lanes sum = {{0}, {0}};
        for (int l = 0; l < GW_MONOMIALS; l++)
            gw_add_scaled(&sum, s->square[i][k][l], &w[l]);
        gw_add_product(f, &sum, &w[k]);
        g[k] = (gw_complex_lanes){2 * sum.re, 2 * sum.im};
    }
}

GW_TARGET_CLONES
void gw_quaternion_evaluate(const void *system, const gw_complex_lanes *e, const gw_lanes *tau,
                            bool rates, gw_linearisation *out)
{
    const gw_quaternion_homotopy *s = system;
    gw_complex_lanes w[GW_MONOMIALS], g[GW_MONOMIALS];
    const gw_lanes left = 1 - *tau;
    for (int i = 0, at = 0; i < 4; i++)
        for (int j = i; j < 4; j++)
            gw_multiply(&e[i], &e[j], &w[at++]);
    for (int i = 0; i < 3; i++) {
        gw_complex_lanes f, start, by[2],
            k = {creal(s->gamma[i]) * left, cimag(s->gamma[i]) * left};
        gw_complex_lanes *j = out->j[i];
        target_at(s, i, w, &f, g);
        by_e(e, g, j);
        for (int n = 0; n < 4; n++)
            j[n].re *= *tau, j[n].im *= *tau;
        start_at(e, i + 1, s->degree[i], &start, by);
        gw_add_product(&j[0], &k, &by[0]);
        gw_add_product(&j[i + 1], &k, &by[1]);
        out->f[i] = (gw_complex_lanes){f.re * *tau, f.im * *tau};
        gw_add_product(&out->f[i], &k, &start);
        if (rates) {
            out->rate[i] = f;
            gw_add_complex_scaled(&out->rate[i], -s->gamma[i], &start);
        }
    }
}

void gw_quaternion_homotopy_of(const gw_three_equations *s, int attempt,
                               gw_quaternion_homotopy *homotopy)
{
    for (int i = 0; i < 3; i++) {
        double angle = 0.7 + 2.3 * i + 1.9 * attempt;
        homotopy->gamma[i] = cos(angle) + I * sin(angle);
        homotopy->degree[i] = s->degree[i];
    }
    memcpy(homotopy->linear, s->quadric, sizeof homotopy->linear);
    memcpy(homotopy->square, s->quartic, sizeof homotopy->square);
}

/* ---- roots as poses -------------------------------------------------------------------------- */

static void quadratic_monomials(const gw_complex *e, gw_complex *w)
{
    for (int i = 0, at = 0; i < 4; i++)
        for (int j = i; j < 4; j++)
            w[at++] = e[i] * e[j];
}

/* t from the three of four planes that determine it best. */
static void intersect_planes(const gw_four_planes *f, const gw_complex *w, gw_complex n,
                             gw_complex_pose *x)
{
    gw_complex y[GW_Y], a[4][4];
    gw_rotation_coordinates(x->e, y);
    for (int i = 0; i < 4; i++) {
        const double m[3] = {f->n[i].x, f->n[i].y, f->n[i].z};
        a[i][3] = 0;
        for (int k = 0; k < GW_MONOMIALS; k++)
            a[i][3] -= f->c[i][k] * w[k] / n;
        for (int k = 0; k < 3; k++)
            a[i][k] =
                i < 2 ? m[k] : (y[3 * k] * m[0] + y[3 * k + 1] * m[1] + y[3 * k + 2] * m[2]) / n;
    }
    for (int k = 0; k < 3; k++) {
        int best = k;
        for (int i = k + 1; i < 4; i++)
            best = cabs(a[i][k]) > cabs(a[best][k]) ? i : best;
        for (int j = 0; j < 4; j++) {
            gw_complex z = a[k][j];
            a[k][j] = a[best][j], a[best][j] = z;
        }
        for (int i = 0; i < 4; i++)
            for (int j = 3; j >= k && i != k; j--)
                a[i][j] -= a[i][k] / a[k][k] * a[k][j];
    }
    for (int k = 0; k < 3; k++)
        x->t[k] = a[k][3] / a[k][k];
}

gw_complex_pose gw_pose_of_quaternion(const gw_rotation_conditions *c, const gw_complex e[4])
{
    gw_complex_pose x = {{e[0], e[1], e[2], e[3]}, {0, 0, 0}};
    gw_complex w[GW_MONOMIALS], n = 0;
    quadratic_monomials(e, w);
    for (int i = 0; i < 4; i++)
        n += e[i] * e[i];
    if (c->four) {
        intersect_planes(&c->planes, w, n, &x);
        return x;
    }
    for (int i = 0; i < 3; i++) {
        for (int k = 0; k < GW_MONOMIALS; k++)
            x.t[i] += c->t[i][k] * w[k];
        x.t[i] /= n;
    }
    return x;
}
