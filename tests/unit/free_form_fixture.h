/*
 * Contacts with free-form surfaces: queries of one pair, surfaces, and a ball that swings in a bowl
 * against the pendulum.
 */
#ifndef GW_TESTS_UNIT_FREE_FORM_FIXTURE_H
#define GW_TESTS_UNIT_FREE_FORM_FIXTURE_H

#include "tests/unit/enclosure_fixture.h"

static inline gw_detector *pair_of(const gw_shape *a, const gw_shape *b)
{
    const gw_collider colliders[2] = {{0, a, gw_pose_identity(), 0}, {1, b, gw_pose_identity(), 0}};
    const gw_detector_def def = {.body_count = 2, .collider_count = 2, .colliders = colliders};
    gw_detector *d = gw_detector_create(&def, NULL);
    assert_non_null(d);
    return d;
}

static inline int detect(const gw_detector *d, const gw_pose *a, const gw_pose *b, double reach,
                         gw_contact_candidate *found, double *gap)
{
    const gw_pair_query query = {
        .geom_b = 1, .world_from_a = *a, .world_from_b = *b, .reach = reach};
    return gw_detect_pair(d, &query, found, gap);
}

static inline gw_pose some_pose_at(unsigned *seed, gw_vec3 p)
{
    return (gw_pose){p, gw_quat_exp(some_vector(seed, 2))};
}

/* z = a x^2 + b y^2 over a square of that size. */
static inline gw_shape sheet_of(double size, double a, double b)
{
    static const double knots[] = {0, 0, 0, 1, 1, 1}, x[3] = {-0.5, 0, 0.5},
                        square[3] = {0.25, -0.25, 0.25};
    gw_vec3 points[9];
    for (int i = 0; i < 9; i++)
        points[i] = gw_v3(size * x[i / 3], size * x[i % 3],
                          size * size * (a * square[i / 3] + b * square[i % 3]));
    const gw_nurbs_def def = {.dimension = 2,
                              .degree = {2, 2},
                              .count = {3, 3},
                              .knot_count = {6, 6},
                              .knots = {knots, knots},
                              .points = points};
    gw_shape shape = {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_create(&def, NULL)};
    assert_non_null(shape.nurbs);
    return shape;
}

/* The same over a square of 1 m. */
static inline gw_shape sheet(double a, double b)
{
    return sheet_of(1, a, b);
}

/* The lower half of a sphere about the origin, open above; its normal points inwards or outwards.
 */
static inline gw_shape bowl(double r)
{
    static const double around[] = {0, 0, 0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1, 1, 1};
    static const double up[] = {0, 0, 0, 1, 1, 1};
    static const double x[9] = {1, 1, 0, -1, -1, -1, 0, 1, 1},
                        y[9] = {0, 1, 1, 1, 0, -1, -1, -1, 0};
    const double s = sqrt(0.5), out[3] = {0, r, r}, height[3] = {-r, -r, 0};
    gw_vec3 points[27];
    double weights[27];
    for (int i = 0; i < 27; i++) {
        points[i] = gw_v3(out[i % 3] * x[i / 3], out[i % 3] * y[i / 3], height[i % 3]);
        weights[i] = ((i / 3) % 2 ? s : 1) * (i % 3 == 1 ? s : 1);
    }
    const gw_nurbs_def def = {.dimension = 2,
                              .degree = {2, 2},
                              .count = {9, 3},
                              .knot_count = {12, 6},
                              .knots = {around, up},
                              .points = points,
                              .weights = weights};
    gw_shape shape = {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_create(&def, NULL)};
    assert_non_null(shape.nurbs);
    return shape;
}

/* Bodies of a shape, which is copied, on a wall, detected 200 times a second. */
static inline void shapes_on(thrown *t, const gw_shape *shape, int count, const gw_vec3 *at,
                             const gw_shape *wall, double friction, double dt)
{
    memset(t, 0, sizeof *t);
    arena_open(&t->a, (gw_contact_rules){0});
    t->a.dt = dt;
    t->a.gravity = gw_v3(0, 0, -9.81);
    t->count = count;
    t->surface = (gw_contact_material){.friction = friction};
    for (int i = 0; i < count; i++) {
        gw_shape own;
        assert_true(gw_shape_copy(&own, shape, NULL));
        thrown_body(t, i, &own, at[i]);
    }
    assert_true(gw_shape_copy(&t->wall, wall, NULL));
    gw_collider collider = {count, &t->wall, gw_pose_identity(), 0};
    thrown_start(t, &collider, 1, 0.005);
}

static inline double energy_of(const thrown *t, int m, gw_vec3 *p)
{
    gw_pose pose;
    gw_twist twist;
    gw_model_body(t->a.system[m].model, 0, &pose, &twist);
    *p = pose.p;
    double i = t->mass[m].inertia.m[0][0] / t->mass[m].mass;
    return 0.5 * gw_norm2(twist.v) + 0.5 * i * gw_norm2(twist.w) + 9.81 * pose.p.z;
}

/* A ball's motion in a bowl: the shares of its energy that it lost in all and gained at most, its
 * gap (m), by how much its period is off, and how far it went aside (m). */
typedef struct swing {
    double lost, gained, deepest, farthest, slow, aside;
} swing;

/* A ball of 2 cm, which is given away, in a bowl of 0.3 m, from 0.5 rad; so many ticks of 1 ms. */
static inline swing swing_in_a_bowl(gw_shape ball, const gw_shape *wall, double friction, int ticks)
{
    static thrown t;
    const double length = 0.28;
    gw_vec3 p, at = gw_v3(length * sin(0.5), 0, -length * cos(0.5));
    shapes_on(&t, &ball, 1, &at, wall, friction, 1e-3);
    double start = energy_of(&t, 0, &p) + 9.81 * length, first = 0, last = 0, before = p.x;
    swing s = {0};
    int swings = 0;
    for (int i = 0; i < ticks; i++) {
        thrown_tick(&t);
        double now = energy_of(&t, 0, &p), gap = length - gw_norm(p), time = 1e-3 * (i + 1);
        s.gained = fmax(s.gained, (now + 9.81 * length) / start - 1);
        s.deepest = fmin(s.deepest, gap), s.farthest = fmax(s.farthest, gap);
        s.aside = fmax(s.aside, fabs(p.y));
        if (before < 0 && p.x >= 0) {
            last = time - 1e-3 * p.x / (p.x - before);
            first = swings++ == 0 ? last : first;
        }
        before = p.x;
    }
    s.lost = 1 - (energy_of(&t, 0, &p) + 9.81 * length) / start;
    /* the arithmetic-geometric mean of 1 and cos(0.25) */
    double mean = 1, other = cos(0.25), rolls = 1;
    if (friction > 0)
        rolls += t.mass[0].inertia.m[0][0] / (t.mass[0].mass * 0.02 * 0.02);
    for (int i = 0; i < 6; i++) {
        double next = 0.5 * (mean + other);
        other = sqrt(mean * other), mean = next;
    }
    s.slow = (last - first) / (swings - 1) / (2 * GW_PI * sqrt(rolls * length / 9.81) / mean) - 1;
    thrown_close(&t);
    gw_shape_finish(&t.wall);
    gw_shape_finish(&ball);
    return s;
}

#endif
