/*
 * The shapes: flat, bent, saddle-like, closed, with poles, an apex, trims, kinks, periodic knots,
 * degrees up to 7, weights. Single-threaded; allocates.
 */
#include "tests/oracle/shapes.h"

#include <assert.h>
#include <math.h>
#include <stddef.h>

#include "rt/geometry/nurbs_primitive.h"
#include "tests/random.h"

#define DECADES 11 /* 1e-6 to 1e4; control points are at most 1e6 m away */
#define UNIT    6  /* index of the size 1 */
#define MOST    12 /* control points along a direction */

static const gw_nurbs *made[SHAPE_COUNT][DECADES];

/* Knots 0, 1, 2 .. between clamped ends, or continued beyond them (periodic). */
static void number_knots(int degree, int count, bool periodic, double *knots)
{
    for (int i = 0; i < count + degree + 1; i++) {
        int inner = i - degree, last = count - degree;
        knots[i] = periodic ? inner : inner < 0 ? 0 : inner > last ? last : inner;
    }
}

/* A surface over a square of side 1 about the origin, of random heights; or a curve. */
typedef struct recipe {
    int dimension, degree[2], count[2];
    double height;
    bool rational, periodic, trimmed;
} recipe;

static gw_nurbs *cook(const recipe *r, unsigned long long seed)
{
    double knots[2][2 * MOST], weights[MOST * MOST];
    gw_vec3 points[MOST * MOST];
    gw_nurbs_def def = {.dimension = r->dimension,
                        .knots = {knots[0], knots[1]},
                        .points = points,
                        .weights = r->rational ? weights : NULL};
    int across = r->dimension == 2 ? r->count[1] : 1, along = r->count[0];
    int ring = along - r->degree[0]; /* distinct points of a periodic direction */
    for (int k = 0; k < r->dimension; k++) {
        def.degree[k] = r->degree[k];
        def.count[k] = r->count[k];
        def.knot_count[k] = r->count[k] + r->degree[k] + 1;
        number_knots(r->degree[k], r->count[k], k == 0 && r->periodic, knots[k]);
        def.trimmed[k] = r->trimmed;
        def.trim[k][0] = 0.2 * (r->count[k] - r->degree[k]);
        def.trim[k][1] = 0.7 * (r->count[k] - r->degree[k]);
    }
    for (int i = 0; i < along * across; i++) {
        double u = (double)(i / across) / (along - 1), v = across > 1 ? (double)(i % across) : 0;
        double h = random_uniform(&seed, -r->height, r->height);
        double side = across > 1 ? v / (across - 1) - 0.5 : random_uniform(&seed, -0.4, 0.4);
        weights[i] = random_uniform(&seed, 0.5, 2);
        points[i] = gw_v3(u - 0.5, side, h);
        if (!r->periodic)
            continue;
        double turn = 2 * GW_PI * (i / across % ring) / ring;
        points[i] = i / across < ring
                        ? gw_v3(0.5 * cos(turn), 0.4 * sin(turn), across > 1 ? side : h)
                        : points[i - ring * across];
    }
    gw_error error = {0};
    gw_nurbs *s = gw_nurbs_create(&def, &error);
    assert(s);
    return s;
}

static gw_nurbs *make(int which)
{
    static const recipe recipes[] = {
        {2, {1, 1}, {2, 2}, 0, false, false, false},
        {2, {3, 3}, {5, 5}, 0.15, false, false, false},
        {2, {2, 2}, {3, 3}, 0.4, false, false, false},
        {2, {7, 3}, {9, 4}, 0.3, false, false, false},
        {2, {2, 2}, {4, 5}, 0.2, true, false, true},
        {2, {3, 1}, {9, 2}, 0, false, true, false},
        {1, {1, 0}, {2, 0}, 0.3, false, false, false},
        {1, {3, 0}, {6, 0}, 0.4, false, false, false},
        {1, {5, 0}, {8, 0}, 0.4, true, false, true},
        {1, {1, 0}, {3, 0}, 0.3, false, false, false},
        {1, {3, 0}, {9, 0}, 0.2, false, true, false},
    };
    enum { COOKED_SURFACES = 6, COOKED = sizeof recipes / sizeof *recipes };
    gw_error error = {0};
    if (which < COOKED_SURFACES)
        return cook(&recipes[which], 7 + (unsigned)which);
    if (which >= SHAPE_SURFACES && which - SHAPE_SURFACES < COOKED - COOKED_SURFACES)
        return cook(&recipes[which - SHAPE_SURFACES + COOKED_SURFACES], 70 + (unsigned)which);
    switch (which - COOKED_SURFACES) {
    case 0:
        return gw_nurbs_cylinder(0.5, 1, &error);
    case 1:
        return gw_nurbs_ellipsoid(gw_v3(0.5, 0.4, 0.3), &error);
    case 2:
        return gw_nurbs_torus(0.6, 0.2, &error);
    case 3:
        return gw_nurbs_cone(0.5, 0.8, &error);
    case 4:
        return gw_nurbs_ellipsoid(gw_v3(0.5, 0.5, 0.5), &error);
    default:
        return gw_nurbs_circle(0.5, &error);
    }
}

static gw_nurbs *times(const gw_nurbs *s, double k)
{
    int n = s->direction[0].count * (s->dimension == 2 ? s->direction[1].count : 1);
    gw_vec3 points[MOST * MOST];
    gw_nurbs_def def = {.dimension = s->dimension, .points = points, .weights = s->weights};
    assert(n <= MOST * MOST);
    for (int i = 0; i < n; i++)
        points[i] = gw_scale(k, s->stated[i]);
    for (int i = 0; i < s->dimension; i++) {
        const gw_nurbs_direction *d = &s->direction[i];
        def.degree[i] = d->degree;
        def.count[i] = d->count;
        def.knot_count[i] = d->count + d->degree + 1;
        def.knots[i] = d->knots;
        gw_nurbs_keep_trim(d, &def, i);
    }
    gw_error error = {0};
    gw_nurbs *scaled = gw_nurbs_create(&def, &error);
    assert(scaled);
    return scaled;
}

const gw_nurbs *shape_numbered(int which)
{
    assert(which >= 0 && which < SHAPE_COUNT);
    if (!made[which][UNIT])
        made[which][UNIT] = make(which);
    return made[which][UNIT];
}

bool shape_is_smooth(const gw_nurbs *s)
{
    return s->direction[0].kink_count == 0 && s->direction[1].kink_count == 0;
}

const gw_nurbs *shape_scaled(const gw_nurbs *shape, double k)
{
    int decades = (int)lround(log10(k));
    for (int i = 0; i < SHAPE_COUNT; i++)
        for (int j = 0; j < DECADES; j++) {
            if (made[i][j] != shape)
                continue;
            int to = j + decades;
            assert(to >= 0 && to < DECADES);
            if (!made[i][to])
                made[i][to] = times(shape_numbered(i), pow(10, to - UNIT));
            return made[i][to];
        }
    assert(false);
    return NULL;
}
