#include "tests/bench/baseline.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>

#include "rt/dynamics/surface_contact.h"
#include "rt/rt.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/unit/assembly_fixture.h"

static double now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static baseline_result result(double *times, int count, double loss)
{
    qsort(times, (size_t)count, sizeof *times, ascending);
    return (baseline_result){times[count / 2], times[count * 99 / 100], loss};
}

/* ---- the contact point's derivatives --------------------------------------------------------- */

#define RADIUS_A 0.05
#define RADIUS_B 0.1 /* m */

typedef struct two_balls {
    gw_closure_contact contact;
    gw_body_frame a, b;
    gw_quat turn; /* of a */
    gw_contact_point point;
    gw_nurbs *on_a, *on_b;
} two_balls;

static void point_a(two_balls *s, gw_vec3 direction, double gap)
{
    s->a.p = gw_scale(RADIUS_A + RADIUS_B + gap, direction);
}

static two_balls two_balls_made(void)
{
    two_balls s = {.on_a = gw_nurbs_ellipsoid(gw_v3(RADIUS_A, RADIUS_A, RADIUS_A), NULL),
                   .on_b = gw_nurbs_ellipsoid(gw_v3(RADIUS_B, RADIUS_B, RADIUS_B), NULL)};
    assert(s.on_a && s.on_b);
    gw_surface a = {.kind = GW_SURFACE_FREE_FORM, .axis = {0, 0, 1}, .turn = gw_quat_identity()};
    gw_surface b = a;
    a.nurbs = s.on_a, b.nurbs = s.on_b;
    s.contact = (gw_closure_contact){.on_a = a, .on_b = b, .motion = GW_CONTACT_SLIDES};
    s.turn = gw_quat_exp(gw_v3(0.3, -0.2, 0.5));
    s.a.turn = gw_quat_to_mat3(s.turn);
    s.b.turn = gw_quat_to_mat3(gw_quat_exp(gw_v3(-0.4, 0.1, 0.2)));
    return s;
}

/* The contact point on a with it displaced by h along freedom i: a translation, or a turn about
 * a's origin. */
static gw_vec3 displaced(const two_balls *s, int i, double h)
{
    gw_vec3 e = {i % 3 == 0, i % 3 == 1, i % 3 == 2};
    gw_body_frame a = s->a;
    gw_contact_point point = s->point;
    gw_contact_state x;
    if (i < 3) {
        a.p = gw_mul_add(a.p, h, e);
    } else {
        a.turn = gw_quat_to_mat3(gw_quat_mul(gw_quat_exp(gw_scale(h, e)), s->turn));
    }
    gw_surface_contact_at(&s->contact, &a, &s->b, &point, &x);
    return x.c;
}

/* The derivative of the contact point by freedom i, with the steps of least error here (m, rad). */
static gw_vec3 column(two_balls *s, baseline_jacobian method, int i, gw_vec3 c)
{
    const double forward = 1e-8, central = 2e-6, wide = 1e-4;
    gw_vec3 plus, minus;
    gw_contact_state x;
    switch (method) {
    case BASELINE_EXACT:
        s->a.twist = (gw_twist){{i == 0, i == 1, i == 2}, {i == 3, i == 4, i == 5}};
        gw_surface_contact_at(&s->contact, &s->a, &s->b, &s->point, &x);
        s->a.twist = (gw_twist){{0, 0, 0}, {0, 0, 0}};
        return x.c_dot;
    case BASELINE_FORWARD:
        return gw_scale(1 / forward, gw_sub(displaced(s, i, forward), c));
    case BASELINE_CENTRAL:
        plus = displaced(s, i, central), minus = displaced(s, i, -central);
        return gw_scale(0.5 / central, gw_sub(plus, minus));
    case BASELINE_RICHARDSON:
        plus = displaced(s, i, wide), minus = displaced(s, i, -wide);
        gw_vec3 once = gw_scale(0.5 / wide, gw_sub(plus, minus));
        plus = displaced(s, i, 2 * wide), minus = displaced(s, i, -2 * wide);
        gw_vec3 twice = gw_scale(0.25 / wide, gw_sub(plus, minus));
        return gw_scale(1. / 3, gw_sub(gw_scale(4, once), twice));
    }
    return c;
}

baseline_result baseline_contact_jacobian(baseline_jacobian method)
{
    enum { PLACES = 200 };
    static double times[PLACES];
    two_balls s = two_balls_made();
    unsigned long long random = 1;
    double loss = 0;
    for (int k = 0; k < PLACES; k++) {
        gw_contact_state x;
        gw_vec3 n = {random_uniform(&random, -1, 1), random_uniform(&random, -1, 1),
                     random_uniform(&random, 0.1, 1)};
        double gap = random_uniform(&random, 0, 0.02), reach = RADIUS_A + RADIUS_B + gap;
        n = gw_unit(n);
        point_a(&s, n, gap);
        s.point.known = false;
        gw_surface_contact_at(&s.contact, &s.a, &s.b, &s.point, &x);
        gw_vec3 columns[6];
        double start = now_us();
        for (int i = 0; i < 6; i++)
            columns[i] = column(&s, method, i, x.c);
        times[k] = now_us() - start;
        /* c = x_a - r_a n: dc/dt = v - r_a / (r_a + r_b + gap) (1 - n n^T) v, and 0 by rotation */
        for (int i = 0; i < 6; i++) {
            gw_vec3 v = {i == 0, i == 1, i == 2};
            gw_vec3 moved = gw_mul_add(v, -RADIUS_A / reach, gw_mul_add(v, -gw_dot(n, v), n));
            loss = fmax(loss, gw_distance(columns[i], moved));
        }
    }
    gw_nurbs_put(s.on_a);
    gw_nurbs_put(s.on_b);
    return result(times, PLACES, loss);
}

/* ---- assembly ------------------------------------------------------------------------------- */

baseline_result baseline_four_bar(baseline_assembly method)
{
    enum { SEEDS = 100 };
    static const gw_assembly_method methods[] = {[BASELINE_LM] = GW_ASSEMBLY_LM,
                                                 [BASELINE_GRADIENT] = GW_ASSEMBLY_GRADIENT,
                                                 [BASELINE_NEWTON] = GW_ASSEMBLY_NEWTON};
    double times[SEEDS];
    int open = 0;
    for (unsigned long long i = 0; i < SEEDS; i++) {
        unsigned long long random = i;
        gw_scene *s = four_bar_of_joints();
        scatter_parts(s, &random);
        const gw_assembly_def def = {.scene = s};
        const gw_assembly_options options = {
            .method = methods[method], .seed = 1, .starts = 1, .iterations = 20000};
        gw_assembly_result r = {0};
        gw_assembly *a = gw_assembly_create(&def, NULL);
        assert(a);
        double start = now_us();
        gw_assembly_solve(a, &options, &r);
        times[i] = now_us() - start;
        open += !r.held;
        gw_assembly_destroy(a);
        gw_scene_destroy(s);
    }
    return result(times, SEEDS, (double)open / SEEDS);
}

/* ---- orientation ---------------------------------------------------------------------------- */

/* The body-frame rates of a free body with moments of inertia 1, 2 and 3. */
static void free_rates(const double w[3], double *rate)
{
    rate[0] = (2. - 3.) / 1. * w[1] * w[2];
    rate[1] = (3. - 1.) / 2. * w[2] * w[0];
    rate[2] = (1. - 2.) / 3. * w[0] * w[1];
}

/* x: roll, pitch, yaw and the body-frame rates */
static void euler_rates(const double *x, double *rate)
{
    const double *w = x + 3;
    double across = w[1] * sin(x[0]) + w[2] * cos(x[0]);
    rate[0] = w[0] + across * tan(x[1]);
    rate[1] = w[1] * cos(x[0]) - w[2] * sin(x[0]);
    rate[2] = across / cos(x[1]);
    free_rates(w, rate + 3);
}

/* x: w, x, y, z and the body-frame rates */
static void quaternion_rates(const double *x, double *rate)
{
    gw_quat q = {x[0], x[1], x[2], x[3]}, turning = {0, 0.5 * x[4], 0.5 * x[5], 0.5 * x[6]};
    gw_quat d = gw_quat_mul(q, turning);
    rate[0] = d.w, rate[1] = d.x, rate[2] = d.y, rate[3] = d.z;
    free_rates(x + 4, rate + 4);
}

/* A step of the classical fourth-order method of Runge and Kutta. */
static void rk4(void (*rates)(const double *, double *), int n, double dt, double *x)
{
    static const double part[] = {0, 0.5, 0.5, 1}, weight[] = {1. / 6, 1. / 3, 1. / 3, 1. / 6};
    double k[7] = {0}, at[7], sum[7] = {0};
    for (int stage = 0; stage < 4; stage++) {
        for (int i = 0; i < n; i++)
            at[i] = x[i] + part[stage] * dt * k[i];
        rates(at, k);
        for (int i = 0; i < n; i++)
            sum[i] += weight[stage] * k[i];
    }
    for (int i = 0; i < n; i++)
        x[i] += dt * sum[i];
}

enum { BATCHES = 200, STEPS = 50 }; /* 10 s */

static gw_quat by_manifold(double *times)
{
    static gw_guided body;
    gw_guided_def def = {
        .set = gw_submanifold_free(),
        .mass = {.mass = 1, .inertia = {{{1, 0, 0}, {0, 2, 0}, {0, 0, 3}}}},
        .body_from_held = gw_pose_identity(),
        .length = 1,
    };
    gw_pose start = gw_pose_identity(), pose;
    gw_twist twist = {{0, 0, 0}, {0.01, 1, 0.01}};
    gw_guided_init(&body, &def, &start);
    gw_guided_set_twist(&body, &twist);
    gw_forces none = {0};
    for (int i = 0; i < BATCHES; i++) {
        double begin = now_us();
        gw_step step;
        for (int k = 0; k < STEPS; k++)
            gw_model_step(&body.model, &none, 1e-3, &step);
        times[i] = (now_us() - begin) / STEPS;
    }
    gw_model_body(&body.model, 0, &pose, &twist);
    return pose.q;
}

baseline_result baseline_spinning_body(baseline_orientation method)
{
    static double times[BATCHES];
    /* the exact orientation after 10 s, by elliptic functions */
    const gw_quat there = {0.242702990920, 0.118144126725, -0.822720146747, -0.500268711449};
    double euler[7] = {0, 0, 0, 0.01, 1, 0.01}, four[7] = {1, 0, 0, 0, 0.01, 1, 0.01};
    gw_quat q = gw_quat_identity();
    if (method == BASELINE_MANIFOLD)
        q = by_manifold(times);
    for (int i = 0; i < BATCHES && method != BASELINE_MANIFOLD; i++) {
        double begin = now_us();
        for (int k = 0; k < STEPS && method == BASELINE_EULER; k++)
            rk4(euler_rates, 6, 1e-3, euler);
        for (int k = 0; k < STEPS && method == BASELINE_QUATERNION; k++) {
            rk4(quaternion_rates, 7, 1e-3, four);
            double norm =
                sqrt(four[0] * four[0] + four[1] * four[1] + four[2] * four[2] + four[3] * four[3]);
            for (int c = 0; c < 4; c++)
                four[c] /= norm;
        }
        times[i] = (now_us() - begin) / STEPS;
    }
    if (method == BASELINE_QUATERNION)
        q = (gw_quat){four[0], four[1], four[2], four[3]};
    if (method == BASELINE_EULER)
        q = gw_quat_mul(gw_quat_axis(gw_v3(0, 0, 1), euler[2]),
                        gw_quat_mul(gw_quat_axis(gw_v3(0, 1, 0), euler[1]),
                                    gw_quat_axis(gw_v3(1, 0, 0), euler[0])));
    return result(times, BATCHES, gw_quat_angle(q, there));
}
