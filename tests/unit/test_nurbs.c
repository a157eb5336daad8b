/* NURBS curves and surfaces against de Boor's algorithm in long double, the primitives' closed
 * forms, central differences, and one another after refinement. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <float.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nurbs_fixture.h"
#include "rt/geometry/nurbs_primitive.h"
#include "rt/geometry/nurbs_tree.h"

/* ---- an independent evaluation -------------------------------------------------------------- */

typedef struct long4 {
    long double c[4];
} long4;

/* De Boor's algorithm on control points d[0..p] of the span at knots U[k]. */
static long4 de_boor(const gw_nurbs_direction *dir, int k, long double u, long4 *d)
{
    int p = dir->degree;
    for (int r = 1; r <= p; r++)
        for (int j = p; j >= r; j--) {
            long double low = dir->knots[j + k - p], high = dir->knots[j + 1 + k - r];
            long double a = (u - low) / (high - low);
            for (int c = 0; c < 4; c++)
                d[j].c[c] = (1 - a) * d[j - 1].c[c] + a * d[j].c[c];
        }
    return d[p];
}

static int span_by_search(const gw_nurbs_direction *d, double u)
{
    int k = d->degree;
    while (k < d->count - 1 && !(d->knots[k] <= u && u < d->knots[k + 1]))
        k++;
    while (d->knots[k] >= d->knots[k + 1])
        k--;
    return k;
}

static void point_by_de_boor(const gw_nurbs *s, long double u, long double v, long double out[3])
{
    const gw_nurbs_direction *a = &s->direction[0], *b = &s->direction[1];
    int k = span_by_search(a, (double)u), l = span_by_search(b, (double)v);
    long4 rows[GW_MAX_NURBS_DEGREE + 1], row[GW_MAX_NURBS_DEGREE + 1];
    for (int i = 0; i <= a->degree; i++) {
        for (int j = 0; j <= b->degree; j++)
            for (int c = 0; c < 4; c++)
                row[j].c[c] = s->points[(k - a->degree + i) * b->count + l - b->degree + j][c];
        rows[i] = de_boor(b, l, v, row);
    }
    long4 h = de_boor(a, k, u, rows);
    for (int c = 0; c < 3; c++)
        out[c] = h.c[c] / h.c[3];
}

static double relative_error(const gw_nurbs *s, const double x[2])
{
    long double expected[3];
    gw_nurbs_point at;
    point_by_de_boor(s, x[0], x[1], expected);
    gw_nurbs_evaluate(s, x, 0, NULL, &at);
    gw_vec3 p = at.d[0][0];
    long double e[3] = {p.x - expected[0], p.y - expected[1], p.z - expected[2]};
    return (double)sqrtl(e[0] * e[0] + e[1] * e[1] + e[2] * e[2]) / s->size;
}

static void points_agree_with_de_boor(void **state)
{
    (void)state;
    unsigned long long seed = 1;
    double worst = 0;
    for (int trial = 0; trial < 300; trial++) {
        gw_nurbs *s = random_nurbs(&seed, trial);
        for (int i = 0; i < 40; i++) {
            double x[2];
            random_parameter(&seed, s, x);
            worst = fmax(worst, relative_error(s, x));
        }
        gw_nurbs_put(s);
    }
    print_message("points: %.1e of the size\n", worst);
    assert_true(worst < 1e-13);
}

/* Derivatives by polynomials through de Boor's points: the k-th derivative of a rational function
 * from Richardson's extrapolation of central differences in long double. */
static long double difference(const gw_nurbs *s, const double x[2], int k, int l, long double h,
                              int c)
{
    static const int weights[4][4] = {{1}, {1, -1}, {1, -2, 1}, {1, -3, 3, -1}};
    long double sum = 0, out[3];
    for (int i = 0; i <= k; i++)
        for (int j = 0; j <= l; j++) {
            point_by_de_boor(s, x[0] + (0.5L * k - i) * h, x[1] + (0.5L * l - j) * h, out);
            sum += weights[k][i] * weights[l][j] * out[c];
        }
    return sum / powl(h, k + l);
}

static long double extrapolated(const gw_nurbs *s, const double x[2], int k, int l, long double h,
                                int c)
{
    enum { LEVELS = 5 };
    long double t[LEVELS][LEVELS];
    for (int i = 0; i < LEVELS; i++) {
        t[i][0] = difference(s, x, k, l, h / (1 << i), c);
        for (int j = 1; j <= i; j++)
            t[i][j] = t[i][j - 1] + (t[i][j - 1] - t[i - 1][j - 1]) / (powl(4, j) - 1);
    }
    return t[LEVELS - 1][LEVELS - 1];
}

/* The distance of x from the nearest knot of its span, of both directions. */
static double room_about(const gw_nurbs *s, const double x[2])
{
    double room = HUGE_VAL;
    for (int k = 0; k < s->dimension; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        int span = span_by_search(d, x[k]);
        room = fmin(room, fmin(x[k] - d->knots[span], d->knots[span + 1] - x[k]));
    }
    return room;
}

static void derivatives_agree_with_differences_to_third_order(void **state)
{
    (void)state;
    unsigned long long seed = 2;
    double worst[4] = {0};
    int checked = 0;
    for (int trial = 0; trial < 200; trial++) {
        gw_nurbs *s = random_nurbs(&seed, trial);
        double x[2];
        random_parameter(&seed, s, x);
        double room = room_about(s, x);
        gw_nurbs_point at;
        gw_nurbs_evaluate(s, x, 3, NULL, &at);
        for (int k = 0; k <= 3 && room > 0.05; k++)
            for (int l = 0; k + l <= 3 && (l == 0 || s->dimension == 2); l++) {
                gw_vec3 d = at.d[k][l];
                double own[3] = {d.x, d.y, d.z}, most = s->size;
                for (int c = 0; c < 3; c++)
                    most = fmax(most, fabs(own[c]));
                for (int c = 0; c < 3; c++) {
                    double expected = (double)extrapolated(s, x, k, l, 0.6 * room, c);
                    worst[k + l] = fmax(worst[k + l], fabs(own[c] - expected) / most);
                }
                checked++;
            }
        gw_nurbs_put(s);
    }
    print_message("derivatives by order: %.1e %.1e %.1e %.1e, %d checked\n", worst[0], worst[1],
                  worst[2], worst[3], checked);
    assert_true(checked > 500);
    assert_true(worst[0] < 1e-13 && worst[1] < 1e-8 && worst[2] < 1e-7 && worst[3] < 1e-6);
}

/* ---- truncated power series through de Boor's algorithm: exact derivatives ------------------- */

/* sum c[k][l] du^k dv^l, k + l <= 3 */
typedef struct series {
    long double c[4][4];
} series;

static series product(const series *a, const series *b)
{
    series out = {{{0}}};
    for (int k = 0; k <= 3; k++)
        for (int l = 0; k + l <= 3; l++)
            for (int i = 0; i <= k; i++)
                for (int j = 0; j <= l; j++)
                    out.c[k][l] += a->c[i][j] * b->c[k - i][l - j];
    return out;
}

/* q with q b = a */
static series quotient(const series *a, const series *b)
{
    series q = {{{0}}};
    for (int k = 0; k <= 3; k++)
        for (int l = 0; k + l <= 3; l++) {
            long double sum = a->c[k][l];
            for (int i = 0; i <= k; i++)
                for (int j = 0; j <= l; j++)
                    sum -= (i || j) ? b->c[i][j] * q.c[k - i][l - j] : 0;
            q.c[k][l] = sum / b->c[0][0];
        }
    return q;
}

/* De Boor's algorithm at u + du (direction 0) or v + dv, on the p + 1 series in d. */
static series de_boor_series(const gw_nurbs_direction *dir, int k, int direction, long double u,
                             series *d)
{
    int p = dir->degree;
    for (int r = 1; r <= p; r++)
        for (int j = p; j >= r; j--) {
            long double low = dir->knots[j + k - p], high = dir->knots[j + 1 + k - r];
            series a = {{{(u - low) / (high - low)}}}, b = {{{1 - a.c[0][0]}}};
            a.c[direction == 0][direction == 1] = 1 / (high - low);
            b.c[direction == 0][direction == 1] = -1 / (high - low);
            series x = product(&a, &d[j]), y = product(&b, &d[j - 1]);
            for (int i = 0; i < 16; i++)
                d[j].c[i / 4][i % 4] = x.c[i / 4][i % 4] + y.c[i / 4][i % 4];
        }
    return d[p];
}

/* The series of coordinate c (3: the weight) of the homogeneous sum. */
static series homogeneous_series(const gw_nurbs *s, const double x[2], int c)
{
    const gw_nurbs_direction *a = &s->direction[0], *b = &s->direction[1];
    int k = span_by_search(a, x[0]), l = span_by_search(b, x[1]);
    series rows[GW_MAX_NURBS_DEGREE + 1], row[GW_MAX_NURBS_DEGREE + 1];
    for (int i = 0; i <= a->degree; i++) {
        for (int j = 0; j <= b->degree; j++)
            row[j] = (series){{{s->points[(k - a->degree + i) * b->count + l - b->degree + j][c]}}};
        rows[i] = b->degree ? de_boor_series(b, l, 1, x[1], row) : row[0];
    }
    return de_boor_series(a, k, 0, x[0], rows);
}

static void derivatives_agree_with_series_to_1e_12(void **state)
{
    (void)state;
    static const double factorial[4] = {1, 1, 2, 6};
    unsigned long long seed = 12;
    double worst[4] = {0};
    for (int trial = 0; trial < 300; trial++) {
        gw_nurbs *s = random_nurbs(&seed, trial);
        for (int n = 0; n < 10; n++) {
            double x[2];
            gw_nurbs_point at;
            random_parameter(&seed, s, x);
            gw_nurbs_evaluate(s, x, 3, NULL, &at);
            series w = homogeneous_series(s, x, 3), q[3];
            for (int c = 0; c < 3; c++) {
                series sum = homogeneous_series(s, x, c);
                q[c] = quotient(&sum, &w);
            }
            for (int k = 0; k <= 3; k++)
                for (int l = 0; k + l <= 3; l++) {
                    double f = factorial[k] * factorial[l];
                    gw_vec3 expected = {(double)(f * q[0].c[k][l]), (double)(f * q[1].c[k][l]),
                                        (double)(f * q[2].c[k][l])};
                    double error = gw_distance(at.d[k][l], expected);
                    worst[k + l] = fmax(worst[k + l], error / fmax(s->size, gw_norm(expected)));
                }
        }
        gw_nurbs_put(s);
    }
    print_message("derivatives against series, by order: %.1e %.1e %.1e %.1e\n", worst[0], worst[1],
                  worst[2], worst[3]);
    for (int k = 0; k <= 3; k++)
        assert_true(worst[k] < 1e-12);
}

/* A polynomial surface has exact derivatives by de Boor on differences of its control points: here
 * of one span with known coefficients, S = (u, v, u^3 v^2). */
static void derivatives_of_a_polynomial_are_exact(void **state)
{
    (void)state;
    /* Bezier coefficients of u^3: (0, 0, 0, 1), of u: i/3; of v^2: (0, 0, 1), of v: j/2 */
    gw_vec3 points[4 * 3];
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 3; j++)
            points[i * 3 + j] = gw_v3(i / 3.0, j / 2.0, i == 3 && j == 2 ? 1 : 0);
    gw_nurbs *s = gw_nurbs_create(
        &(gw_nurbs_def){.dimension = 2,
                        .degree = {3, 2},
                        .count = {4, 3},
                        .knot_count = {8, 6},
                        .knots = {(double[]){0, 0, 0, 0, 1, 1, 1, 1}, (double[]){0, 0, 0, 1, 1, 1}},
                        .points = points},
        NULL);
    for (double u = 0; u <= 1; u += 0.125)
        for (double v = 0; v <= 1; v += 0.125) {
            double us[4] = {u * u * u, 3 * u * u, 6 * u, 6}, vs[4] = {v * v, 2 * v, 2, 0};
            gw_nurbs_point at;
            gw_nurbs_evaluate(s, (double[]){u, v}, 3, NULL, &at);
            for (int k = 0; k <= 3; k++)
                for (int l = 0; k + l <= 3; l++)
                    assert_true(fabs(at.d[k][l].z - us[k] * vs[l]) < 4e-15);
            assert_true(fabs(at.d[1][0].x - 1) < 1e-15 && fabs(at.d[0][1].y - 1) < 1e-15);
        }
    gw_nurbs_put(s);
}

/* ---- primitives ----------------------------------------------------------------------------- */

/* The equation of a primitive, scaled to a distance over its size. */
typedef double equation(gw_vec3 p);

static double on_sphere(gw_vec3 p)
{
    return gw_norm(p) - 1;
}
static double on_ellipsoid(gw_vec3 p)
{
    return 0.5 * (p.x * p.x / 9 + p.y * p.y / 4 + p.z * p.z - 1) / 3;
}
static double on_cylinder(gw_vec3 p)
{
    return hypot(p.x, p.y) - 1;
}
static double on_cone(gw_vec3 p)
{
    return hypot(p.x, p.y) - (1 - p.z / 2);
}
static double on_torus(gw_vec3 p)
{
    return hypot(hypot(p.x, p.y) - 2, p.z) - 0.5;
}

static double on_capsule(gw_vec3 p)
{
    double beyond = fmax(fabs(p.z) - 1, 0);
    return hypot(hypot(p.x, p.y), beyond) - 1;
}
static double on_disc(gw_vec3 p)
{
    return fabs(p.z) + fmax(hypot(p.x, p.y) - 1, 0);
}
static double on_circle(gw_vec3 p)
{
    return fabs(p.z) + fabs(hypot(p.x, p.y) - 1);
}
static double on_plane(gw_vec3 p)
{
    return fabs(p.z) + fmax(fabs(p.x) - 0.5, 0) + fmax(fabs(p.y) - 1, 0);
}

static double worst_of(const gw_nurbs *s, equation *of)
{
    double worst = 0;
    for (int i = 0; i <= 60; i++)
        for (int j = 0; j <= 60; j++) {
            const gw_nurbs_direction *u = &s->direction[0], *v = &s->direction[1];
            gw_nurbs_point at;
            double x[2] = {u->low + (u->high - u->low) * i / 60,
                           v->low + (v->high - v->low) * j / 60};
            gw_nurbs_evaluate(s, x, 1, NULL, &at);
            worst = fmax(worst, fabs(of(at.d[0][0])));
        }
    return worst;
}

static void primitives_meet_their_equations(void **state)
{
    (void)state;
    const struct {
        gw_primitive p;
        equation *of;
        gw_vec3 inner; /* on the axis or circle from which normals point away; NaN: along +z */
    } all[] = {
        {{GW_PRIMITIVE_CIRCLE, .radius = 1}, on_circle, {0, 0, 0}},
        {{GW_PRIMITIVE_PLANE, .size = {1, 2}}, on_plane, {NAN, 0, 0}},
        {{GW_PRIMITIVE_DISC, .radius = 1}, on_disc, {NAN, 0, 0}},
        {{GW_PRIMITIVE_SPHERE, .radius = 1}, on_sphere, {0, 0, 0}},
        {{GW_PRIMITIVE_CYLINDER, .radius = 1, .height = 2}, on_cylinder, {0, 0, 0}},
        {{GW_PRIMITIVE_CAPSULE, .radius = 1, .height = 2}, on_capsule, {0, 0, 0}},
        {{GW_PRIMITIVE_CONE, .radius = 1, .height = 2}, on_cone, {0, 0, 0}},
        {{GW_PRIMITIVE_TORUS, .radius = 2, .tube_radius = 0.5}, on_torus, {2, 0, 0}},
        {{GW_PRIMITIVE_ELLIPSOID, .semi_axes = {3, 2, 1}}, on_ellipsoid, {0, 0, 0}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        gw_nurbs *s = gw_nurbs_convert(&all[i].p, NULL);
        double worst = worst_of(s, all[i].of);
        print_message("%s: %.1e\n", gw_primitive_kind_name(all[i].p.kind), worst);
        assert_true(worst < 2e-15);
        for (int k = 0; s->dimension == 2 && k < 8; k++) {
            /* v about the torus, half way along the others; u near 0, where x is outward */
            const gw_nurbs_direction *v = &s->direction[1];
            double x[2] = {1e-9, v->low + (v->high - v->low) * (k + 0.5) / 8};
            gw_nurbs_point at;
            gw_nurbs_evaluate(s, x, 2, NULL, &at);
            gw_vec3 n = gw_nurbs_normal(s, x, &at);
            bool flat = isnan(all[i].inner.x);
            assert_true(flat ? n.z == 1 : gw_dot(n, gw_sub(at.d[0][0], all[i].inner)) > 0.1);
        }
        gw_nurbs_put(s);
    }
}

static void a_primitive_without_a_length_is_refused_by_member(void **state)
{
    (void)state;
    const struct {
        gw_primitive p;
        const char *where;
    } bad[] = {{{GW_PRIMITIVE_SPHERE, .radius = 0}, "/radius"},
               {{GW_PRIMITIVE_CONE, .radius = 1, .height = -1}, "/height"},
               {{GW_PRIMITIVE_TORUS, .radius = 1, .tube_radius = 1}, "/tube_radius"},
               {{GW_PRIMITIVE_ELLIPSOID, .semi_axes = {1, NAN, 1}}, "/semi_axes/1"},
               {{GW_PRIMITIVE_PLANE, .size = {HUGE_VAL, 1}}, "/size/0"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gw_error error = {0};
        assert_null(gw_nurbs_convert(&bad[i].p, &error));
        assert_int_equal(error.code, GW_BAD_INPUT);
        assert_string_equal(error.where, bad[i].where);
    }
}

static void a_sphere_has_its_normal_and_curvature_everywhere(void **state)
{
    (void)state;
    gw_nurbs *s = gw_nurbs_ellipsoid(gw_v3(2, 2, 2), NULL);
    for (int i = 0; i <= 40; i++)
        for (int j = 0; j <= 40; j++) {
            double x[2] = {i / 10.0, j / 40.0};
            gw_nurbs_point at;
            gw_nurbs_evaluate(s, x, 2, NULL, &at);
            gw_vec3 n = gw_nurbs_normal(s, x, &at);
            /* the outward normal is p / r, also at both poles */
            assert_true(gw_distance(n, gw_scale(0.5, at.d[0][0])) < 1e-13);
            /* the second fundamental form is the first one over -r */
            gw_vec3 u = at.d[1][0], v = at.d[0][1];
            assert_true(fabs(gw_dot(n, at.d[2][0]) + gw_norm2(u) / 2) < 1e-12);
            assert_true(fabs(gw_dot(n, at.d[1][1]) + gw_dot(u, v) / 2) < 1e-12);
            assert_true(fabs(gw_dot(n, at.d[0][2]) + gw_norm2(v) / 2) < 1e-11);
        }
    assert_true(s->direction[0].closed && !s->direction[1].closed);
    assert_int_equal(s->direction[0].kink_count + s->direction[1].kink_count, 0);
    gw_nurbs_put(s);
}

static void a_closed_direction_wraps_around(void **state)
{
    (void)state;
    gw_nurbs *s = gw_nurbs_circle(1.5, NULL);
    gw_nurbs_point a, b;
    for (double u = 0.1; u < 4; u += 0.37) {
        gw_nurbs_evaluate(s, (double[]){u, 0}, 3, NULL, &a);
        gw_nurbs_evaluate(s, (double[]){u - 8, 0}, 3, NULL, &b);
        for (int k = 0; k <= 3; k++)
            assert_true(gw_distance(a.d[k][0], b.d[k][0]) < 1e-11);
        assert_true(fabs(gw_norm(a.d[0][0]) - 1.5) < 1e-15);
    }
    double x[2] = {-0.5, 0};
    assert_false(gw_nurbs_into_domain(s, x));
    assert_true(x[0] == 3.5);
    gw_nurbs_put(s);
}

/* ---- refinement ----------------------------------------------------------------------------- */

static double worst_difference(const gw_nurbs *a, const gw_nurbs *b, unsigned long long *seed)
{
    double worst = 0;
    for (int i = 0; i < 60; i++) {
        double x[2];
        gw_nurbs_point p, q;
        random_parameter(seed, a, x);
        gw_nurbs_evaluate(a, x, 0, NULL, &p);
        gw_nurbs_evaluate(b, x, 0, NULL, &q);
        worst = fmax(worst, gw_distance(p.d[0][0], q.d[0][0]) / a->size);
    }
    return worst;
}

static void refinement_keeps_the_shape(void **state)
{
    (void)state;
    unsigned long long seed = 3;
    double inserted = 0, elevated = 0;
    int elevations = 0;
    for (int trial = 0; trial < 200; trial++) {
        gw_nurbs *s = random_nurbs(&seed, trial);
        int k = s->dimension == 2 ? trial % 2 : 0;
        const gw_nurbs_direction *d = &s->direction[k];
        double knots[3] = {d->low + 0.2 * (d->high - d->low), d->low + 0.21 * (d->high - d->low),
                           d->low + 0.77 * (d->high - d->low)};
        gw_nurbs *finer = gw_nurbs_insert_knots(s, k, 3, knots, NULL);
        assert_non_null(finer);
        inserted = fmax(inserted, worst_difference(s, finer, &seed));
        gw_nurbs_put(finer);
        if (d->degree < GW_MAX_NURBS_DEGREE) {
            gw_nurbs *higher = gw_nurbs_elevate(s, k, NULL);
            assert_non_null(higher);
            assert_int_equal(higher->direction[k].degree, d->degree + 1);
            elevated = fmax(elevated, worst_difference(s, higher, &seed));
            elevations++;
            gw_nurbs_put(higher);
        }
        gw_nurbs_put(s);
    }
    print_message("inserted %.1e, elevated %.1e (%d)\n", inserted, elevated, elevations);
    assert_true(elevations > 100);
    assert_true(inserted < 1e-12 && elevated < 1e-11);
}

static void bezier_pieces_are_the_shape_and_contain_it(void **state)
{
    (void)state;
    unsigned long long seed = 4;
    for (int trial = 0; trial < 60; trial++) {
        gw_nurbs *s = random_nurbs(&seed, trial);
        double x[2], low[2] = {0, 0}, high[2] = {1, 1};
        int span[2] = {0, 0};
        random_parameter(&seed, s, x);
        for (int k = 0; k < s->dimension; k++) {
            span[k] = span_by_search(&s->direction[k], x[k]);
            low[k] = s->direction[k].knots[span[k]];
            high[k] = s->direction[k].knots[span[k] + 1];
        }
        gw_homogeneous b[GW_BEZIER_POINTS];
        gw_nurbs_bezier(s, span, low, high, b);
        int p = s->direction[0].degree, q = s->direction[1].degree;
        gw_nurbs_point corner, at;
        gw_nurbs_evaluate(s, low, 0, NULL, &corner);
        gw_vec3 first = {b[0][0] / b[0][3], b[0][1] / b[0][3], b[0][2] / b[0][3]};
        assert_true(gw_distance(first, corner.d[0][0]) < 1e-13 * s->size);
        gw_nurbs_evaluate(s, x, 0, NULL, &at);
        double top = -HUGE_VAL, bottom = HUGE_VAL;
        for (int i = 0; i < (p + 1) * (q + 1); i++) {
            top = fmax(top, b[i][2] / b[i][3]);
            bottom = fmin(bottom, b[i][2] / b[i][3]);
        }
        assert_true(at.d[0][0].z <= top + 1e-12 && at.d[0][0].z >= bottom - 1e-12);
        gw_nurbs_put(s);
    }
}

/* A trimmed shape is a part of the whole: it ends at its trims, its box and its edges with it, and
 * what is refined is cut out of the whole. */
static void a_trimmed_shape_is_a_part_of_the_whole(void **state)
{
    (void)state;
    unsigned long long seed = 5;
    double cut = 0, edges = 0, outside = 0;
    int trimmed = 0;
    for (int trial = 0; trial < 210; trial++) {
        gw_nurbs *s = random_nurbs(&seed, trial);
        for (int k = 0; k < s->dimension; k++) {
            const gw_nurbs_direction *d = &s->direction[k];
            if (!d->trimmed)
                continue;
            trimmed++;
            assert_false(d->closed);
            gw_nurbs *part = gw_nurbs_insert_knots(s, k, 0, NULL, NULL);
            assert_non_null(part);
            assert_false(part->direction[k].trimmed);
            assert_true(part->direction[k].low == d->low && part->direction[k].high == d->high);
            cut = fmax(cut, worst_difference(s, part, &seed));
            gw_nurbs_put(part);
        }
        for (int i = 0; i < 60; i++) {
            double x[2];
            gw_nurbs_point at, on_edge;
            random_parameter(&seed, s, x);
            gw_nurbs_evaluate(s, x, 0, NULL, &at);
            gw_vec3 p = at.d[0][0], low = s->bounds.low, high = s->bounds.high;
            outside =
                fmax(outside,
                     fmax(fmax(low.x - p.x, p.x - high.x),
                          fmax(fmax(low.y - p.y, p.y - high.y), fmax(low.z - p.z, p.z - high.z))));
            int e = i % 4;
            if (s->dimension == 1 || !s->edge[e])
                continue;
            const gw_nurbs_direction *d = &s->direction[e / 2];
            double along = x[1 - e / 2];
            x[e / 2] = e % 2 ? d->high : d->low;
            gw_nurbs_evaluate(s, x, 0, NULL, &at);
            gw_nurbs_evaluate(s->edge[e], (double[]){along, 0}, 0, NULL, &on_edge);
            assert_true(s->edge[e]->direction[0].low == s->direction[1 - e / 2].low);
            edges = fmax(edges, gw_distance(at.d[0][0], on_edge.d[0][0]) / s->size);
        }
        gw_nurbs_put(s);
    }
    print_message("%d trims: cut out within %.1e, edges within %.1e, %.1e out of the box\n",
                  trimmed, cut, edges, outside);
    assert_true(trimmed > 50);
    assert_true(cut < 1e-12 && edges < 1e-12 && outside < 1e-12);
}

/* ---- refusals ------------------------------------------------------------------------------- */

static void assert_refused(const gw_nurbs_def *def, const char *where, const char *word)
{
    gw_error error = {0};
    assert_null(gw_nurbs_create(def, &error));
    assert_string_equal(error.where, where);
    assert_non_null(strstr(error.message, word));
}

static void bad_input_is_refused_by_member(void **state)
{
    (void)state;
    gw_vec3 points[4] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}};
    double knots[7] = {0, 0, 0, 0.5, 1, 1, 1}, weights[4] = {1, 1, 1, 1};
    gw_nurbs_def good = {.dimension = 1,
                         .degree = {2},
                         .count = {4},
                         .knot_count = {7},
                         .knots = {knots},
                         .points = points,
                         .weights = weights};
    gw_nurbs *s = gw_nurbs_create(&good, NULL);
    assert_non_null(s);
    assert_false(s->direction[0].closed);
    gw_nurbs_put(s);
    gw_nurbs_def bad = good;
    bad.degree[0] = 10;
    assert_refused(&bad, "/degree", "1 to 9");
    bad = good;
    bad.knot_count[0] = 6;
    assert_refused(&bad, "/knots", "7");
    bad = good;
    bad.count[0] = 2;
    assert_refused(&bad, "/points", "at least 3");
    bad = good;
    bad.knots[0] = (double[]){0, 0, 0, 0.5, 0.4, 1, 1};
    assert_refused(&bad, "/knots/4", "fall");
    bad.knots[0] = (double[]){0, 0, 0.1, 0.5, 1, 1, 1};
    assert_refused(&bad, "/knots", "clamped");
    bad.knots[0] = (double[]){1, 1, 1, 1, 1, 1, 1};
    assert_refused(&bad, "/knots", "empty");
    bad = good;
    bad.trimmed[0] = true;
    bad.trim[0][0] = 0.2, bad.trim[0][1] = 1.1;
    assert_refused(&bad, "/trim", "0 to 1");
    bad.trim[0][1] = 0.2;
    assert_refused(&bad, "/trim", "0.2 to 0.2");
    bad.trim[0][1] = NAN;
    assert_refused(&bad, "/trim", "part of the domain");
    bad = good;
    weights[2] = 0;
    assert_refused(&bad, "/weights/2", "weight");
    weights[2] = 1;
    points[3].y = NAN;
    assert_refused(&good, "/points/3", "finite");
    gw_vec3 one[4] = {{1, 2, 3}, {1, 2, 3}, {1, 2, 3}, {1, 2, 3}};
    bad = good;
    bad.points = one;
    assert_refused(&bad, "/points", "one");
    gw_nurbs_def surface = {.dimension = 2,
                            .degree = {1, 1},
                            .count = {2, 2},
                            .knot_count = {4, 4},
                            .knots = {(double[]){0, 0, 1, 1}, (double[]){0, 0, 1, 1}},
                            .points = points};
    assert_refused(&surface, "/points/1/1", "finite");
    surface.knots[1] = (double[]){0, 0, NAN, 1};
    assert_refused(&surface, "/knots/1/2", "number");
}

static void a_sharp_bend_is_a_kink_and_a_round_one_is_none(void **state)
{
    (void)state;
    /* a square, degree 1: three bends and the seam */
    gw_vec3 square[5] = {{0, 0, 0}, {1, 0, 0}, {1, 1, 0}, {0, 1, 0}, {0, 0, 0}};
    double knots[7] = {0, 0, 1, 2, 3, 4, 4};
    gw_nurbs *s = gw_nurbs_create(&(gw_nurbs_def){.dimension = 1,
                                                  .degree = {1},
                                                  .count = {5},
                                                  .knot_count = {7},
                                                  .knots = {knots},
                                                  .points = square},
                                  NULL);
    assert_true(s->direction[0].closed);
    assert_int_equal(s->direction[0].kink_count, 4);
    gw_nurbs_put(s);
    s = gw_nurbs_circle(1, NULL);
    assert_int_equal(s->direction[0].kink_count, 0);
    gw_nurbs_put(s);
}

static void assert_same_numbers(const double *a, int a_count, const double *b, int b_count)
{
    assert_int_equal(a_count, b_count);
    assert_memory_equal(a, b, (size_t)a_count * sizeof *a);
}

static void assert_same_shape(const gw_nurbs *a, const gw_nurbs *b)
{
    assert_true(gw_nurbs_equal(a, b));
    assert_memory_equal(&a->bounds, &b->bounds, sizeof a->bounds);
    assert_true(a->size == b->size);
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *p = &a->direction[k], *q = &b->direction[k];
        assert_int_equal(p->closed, q->closed);
        assert_same_numbers(p->kinks, p->kink_count, q->kinks, q->kink_count);
        assert_same_numbers(p->bends, p->bend_count, q->bends, q->bend_count);
        assert_same_numbers(p->rates, p->rate_count, q->rates, q->rate_count);
    }
    assert_int_equal(a->tree->node_count, b->tree->node_count);
    assert_int_equal(a->tree->leaf_count, b->tree->leaf_count);
    assert_memory_equal(a->tree->nodes, b->tree->nodes,
                        (size_t)a->tree->node_count * sizeof *a->tree->nodes);
    assert_memory_equal(a->tree->leaves, b->tree->leaves,
                        (size_t)a->tree->leaf_count * sizeof *a->tree->leaves);
    for (int k = 0; k < 4; k++) {
        assert_true(!a->edge[k] == !b->edge[k]);
        assert_true(!a->pole[k] == !b->pole[k]);
        if (a->edge[k])
            assert_same_shape(a->edge[k], b->edge[k]);
    }
}

/* A series of shapes, each of which reuses parts of the one before, against shapes made anew. */
static void a_shape_that_reuses_parts_is_the_same_to_the_last_bit(void **state)
{
    (void)state;
    unsigned long long seed = 11;
    for (int trial = 0; trial < 120; trial++) {
        gw_nurbs *last = trial < 8 ? random_bicubic(&seed, 2 + trial, 0.05 * (1 + trial % 4))
                                   : random_nurbs(&seed, trial);
        int all = last->direction[0].count * last->direction[1].count;
        gw_nurbs *same = with_points(last, last->stated, last);
        assert_ptr_equal(same, last);
        gw_nurbs_put(same);
        gw_vec3 *points = malloc((size_t)all * sizeof *points);
        memcpy(points, last->stated, (size_t)all * sizeof *points);
        for (int k = 0; k < 4; k++) {
            int moved = (int)gw_random_uniform(&seed, 0, all), most = k < 3 ? moved : all - 1;
            for (int i = k < 3 ? moved : 0; i <= most; i++)
                points[i].z += gw_random_uniform(&seed, -0.1, 0.1);
            gw_nurbs *reused = with_points(last, points, last),
                     *fresh = with_points(last, points, NULL);
            assert_same_shape(reused, fresh);
            gw_nurbs_put(fresh);
            gw_nurbs_put(last);
            last = reused;
        }
        gw_nurbs_put(last);
        free(points);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(points_agree_with_de_boor),
        cmocka_unit_test(derivatives_agree_with_differences_to_third_order),
        cmocka_unit_test(derivatives_agree_with_series_to_1e_12),
        cmocka_unit_test(derivatives_of_a_polynomial_are_exact),
        cmocka_unit_test(primitives_meet_their_equations),
        cmocka_unit_test(a_primitive_without_a_length_is_refused_by_member),
        cmocka_unit_test(a_sphere_has_its_normal_and_curvature_everywhere),
        cmocka_unit_test(a_closed_direction_wraps_around),
        cmocka_unit_test(refinement_keeps_the_shape),
        cmocka_unit_test(bezier_pieces_are_the_shape_and_contain_it),
        cmocka_unit_test(a_trimmed_shape_is_a_part_of_the_whole),
        cmocka_unit_test(bad_input_is_refused_by_member),
        cmocka_unit_test(a_sharp_bend_is_a_kink_and_a_round_one_is_none),
        cmocka_unit_test(a_shape_that_reuses_parts_is_the_same_to_the_last_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
