/* NURBS that tests are made of: random curves and surfaces, and parameters on them; saddles. */
#ifndef GW_TEST_NURBS_FIXTURE_H
#define GW_TEST_NURBS_FIXTURE_H

#include <assert.h>
#include <stdio.h>

#include "rt/base/random.h"
#include "rt/geometry/nurbs.h"

/* Knots of a direction with `count` points: clamped with some repeated, or periodic. */
static inline void random_knots(unsigned long long *seed, int degree, int count, bool periodic,
                                double *knots)
{
    int all = count + degree + 1;
    for (int i = 0; i < all; i++)
        knots[i] = i - degree;
    if (periodic)
        return;
    for (int i = 0; i < all; i++) {
        double inner = knots[i - 1 < 0 ? 0 : i - 1] + gw_random_uniform(seed, 0.3, 2);
        if (degree > 1 && gw_random_uniform(seed, 0, 1) < 0.15)
            inner = knots[i - 1 < 0 ? 0 : i - 1];
        knots[i] = i <= degree ? 0 : i >= count ? knots[count - 1] + 1.5 : inner;
    }
    for (int i = count; i < all; i++)
        knots[i] = knots[count];
}

/* No inner knot more often than the degree. */
static inline bool knots_hold(int degree, int count, const double *knots)
{
    int run = 1;
    for (int i = degree + 1; i < count; i++) {
        run = knots[i] == knots[i - 1] ? run + 1 : 1;
        if (run > (knots[i] == knots[degree] ? 1 : degree))
            return false;
    }
    return true;
}

/* Trimmed somewhere within the domain of its knots. */
static inline void random_trim(unsigned long long *seed, gw_nurbs_def *def, int k)
{
    double low = def->knots[k][def->degree[k]], high = def->knots[k][def->count[k]];
    double a = gw_random_uniform(seed, low, high), b = gw_random_uniform(seed, low, high);
    def->trimmed[k] = fabs(a - b) > 0.1 * (high - low);
    def->trim[k][0] = fmin(a, b);
    def->trim[k][1] = fmax(a, b);
}

/* Curves and surfaces in turn, of degrees 1 to 9, rational or not, clamped or periodic along u,
 * every seventh and eighth trimmed. */
static inline gw_nurbs *random_nurbs(unsigned long long *seed, int trial)
{
    enum { MOST = 14 };
    static double knots[2][2 * MOST], weights[MOST * MOST];
    static gw_vec3 points[MOST * MOST];
    gw_nurbs_def def = {
        .dimension = 1 + trial % 2, .points = points, .knots = {knots[0], knots[1]}};
    for (int k = 0; k < 2; k++) {
        bool periodic = k == 0 && trial % 5 == 0;
        def.degree[k] = 1 + (int)gw_random_uniform(seed, 0, trial % 2 ? 5 : 9);
        def.count[k] = def.degree[k] + 1 + (int)gw_random_uniform(seed, periodic ? 1 : 0, 4);
        if (periodic)
            def.count[k] = 2 * def.degree[k] < MOST ? 2 * def.degree[k] : MOST;
        if (periodic && def.count[k] < def.degree[k] + 2)
            def.count[k] = def.degree[k] + 2;
        def.knot_count[k] = def.count[k] + def.degree[k] + 1;
        do
            random_knots(seed, def.degree[k], def.count[k], periodic, knots[k]);
        while (!periodic && !knots_hold(def.degree[k], def.count[k], knots[k]));
    }
    int across = def.dimension == 2 ? def.count[1] : 1;
    for (int i = 0; i < def.count[0] * across; i++) {
        points[i] =
            gw_v3(gw_random_uniform(seed, -0.4, 0.4) + i / across,
                  gw_random_uniform(seed, -0.4, 0.4) + i % across, gw_random_uniform(seed, -1, 1));
        weights[i] = gw_random_uniform(seed, 0.5, 2);
    }
    def.weights = trial % 3 ? weights : NULL;
    for (int k = 0; trial % 7 < 2 && k < def.dimension; k++)
        random_trim(seed, &def, k);
    gw_error error = {0};
    gw_nurbs *s = gw_nurbs_create(&def, &error);
    if (!s)
        printf("refused: %s %s\n", error.where, error.message);
    assert(s);
    return s;
}

/* The shape with other control points; it reuses parts of `like`, where that is not NULL. */
static inline gw_nurbs *with_points(const gw_nurbs *s, const gw_vec3 *points, gw_nurbs *like)
{
    const gw_nurbs_direction *u = &s->direction[0], *v = &s->direction[1];
    gw_nurbs_def def = {.dimension = s->dimension,
                        .degree = {u->degree, v->degree},
                        .count = {u->count, v->count},
                        .knot_count = {u->count + u->degree + 1, v->count + v->degree + 1},
                        .knots = {u->knots, v->knots},
                        .points = points,
                        .weights = s->weights,
                        .like = like};
    for (int k = 0; k < s->dimension; k++)
        gw_nurbs_keep_trim(&s->direction[k], &def, k);
    gw_nurbs *made = gw_nurbs_create(&def, NULL);
    assert(made);
    return made;
}

/* A bicubic surface of n x n patches over a square of side 1, of random heights. */
static inline gw_nurbs *random_bicubic(unsigned long long *seed, int n, double height)
{
    enum { MOST = 24 };
    static gw_vec3 points[MOST * MOST];
    double knots[MOST + 4];
    int count = n + 3;
    assert(count <= MOST);
    for (int i = 0; i < count + 4; i++)
        knots[i] = i < 4 ? 0 : i >= count ? n : i - 3;
    for (int i = 0; i < count * count; i++)
        points[i] = gw_v3((double)(i / count) / (count - 1), (double)(i % count) / (count - 1),
                          gw_random_uniform(seed, -height, height));
    gw_nurbs *s = gw_nurbs_create(&(gw_nurbs_def){.dimension = 2,
                                                  .degree = {3, 3},
                                                  .count = {count, count},
                                                  .knot_count = {count + 4, count + 4},
                                                  .knots = {knots, knots},
                                                  .points = points},
                                  NULL);
    assert(s);
    return s;
}

/* z = (x^2 - y^2) / (2 r) over -w .. w. */
static inline gw_nurbs *saddle_of(double w, double r)
{
    static const double knots[] = {0, 0, 0, 1, 1, 1}, bend[] = {1, -1, 1};
    gw_vec3 points[9];
    for (int i = 0; i < 9; i++)
        points[i] =
            gw_v3(w * (i / 3 - 1), w * (i % 3 - 1), w * w / (2 * r) * (bend[i / 3] - bend[i % 3]));
    gw_nurbs *s = gw_nurbs_create(&(gw_nurbs_def){.dimension = 2,
                                                  .degree = {2, 2},
                                                  .count = {3, 3},
                                                  .knot_count = {6, 6},
                                                  .knots = {knots, knots},
                                                  .points = points},
                                  NULL);
    assert(s);
    return s;
}

static inline void random_parameter(unsigned long long *seed, const gw_nurbs *s, double x[2])
{
    x[1] = 0;
    for (int k = 0; k < s->dimension; k++)
        x[k] = gw_random_uniform(seed, s->direction[k].low, s->direction[k].high);
}

#endif
