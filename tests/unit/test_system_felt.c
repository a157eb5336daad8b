/*
 * Everything joined is felt: at every body of a four-bar and of a Stewart platform the inertia, the
 * weight and the collision are those of the reduced mechanism. That one is computed apart from the
 * recursion, in six velocities a body: with J the rows of all joints, written down here, N = null J
 * by singular values, and M the bodies' inertias,
 *
 *   Y = N (N^T M N)^-1 N^T,    inverse inertia Y_bb,   acceleration by weight (Y f)_b,
 *   twists after an impulse p along n at b:  Y_ib n p,   p = (1 + e) v / (n^T Y_bb n + 1 / m)
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <lapacke.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/contact/world.h"
#include "rt/dynamics/system.h"
#include "rt/haptics/operational_space.h"
#include "tests/random.h"

#define BODIES 13
#define N      (6 * BODIES)
#define ROWS   (18 * 5 + 1)
#define SAME   1e-6 /* of the largest entry */

static const gw_vec3 gravity = {0.7, -9.81, 2};

/* ---- mechanisms ------------------------------------------------------------------------------ */

/* A joint of b on a (-1: the ground), where its frame is in the world. */
typedef struct link_joint {
    gw_mobilizer type;
    int a, b;
    gw_pose at;
} link_joint;

typedef struct mechanism {
    int body_count, joint_count, freedoms;
    gw_pose pose[BODIES];
    gw_mass mass[BODIES];
    link_joint joints[3 * 6];
} mechanism;

static void put_body(mechanism *m, unsigned long long *random, gw_vec3 p, double mass)
{
    gw_vec3 turn = {random_uniform(random, -2, 2), random_uniform(random, -2, 2), 1};
    double a[3];
    for (int k = 0; k < 3; k++)
        a[k] = mass * 0.01 * random_uniform(random, 0.3, 1);
    m->pose[m->body_count] = (gw_pose){p, gw_quat_exp(turn)};
    m->mass[m->body_count++] =
        (gw_mass){mass,
                  {random_uniform(random, -0.05, 0.05), random_uniform(random, -0.05, 0.05), 0.02},
                  {{{a[1] + a[2], 0, 0}, {0, a[0] + a[2], 0}, {0, 0, a[0] + a[1]}}}};
}

/* A frame at p whose z is d. */
static gw_pose frame_along(gw_vec3 p, gw_vec3 d)
{
    gw_vec3 z = {0, 0, 1}, axis = gw_cross(z, d);
    double s = gw_norm(axis), angle = atan2(s, gw_dot(z, d));
    return (gw_pose){p, s > 0 ? gw_quat_axis(gw_scale(1 / s, axis), angle) : gw_quat_identity()};
}

static void put_joint(mechanism *m, gw_mobilizer type, int a, int b, gw_pose at)
{
    m->joints[m->joint_count++] = (link_joint){type, a, b, at};
}

static mechanism four_bar(void)
{
    static const gw_vec3 pins[4] = {{0, 0, 0}, {0.03, 0.1, 0}, {0.3, 0.25, 0}, {0.35, 0, 0}};
    const gw_vec3 tilted = gw_unit(gw_v3(0.2, -0.3, 1)); /* the plane's normal */
    gw_quat turn = frame_along(gw_v3(0, 0, 0), tilted).q;
    mechanism m = {.freedoms = 1};
    unsigned long long random = 1;
    for (int i = 0; i < 3; i++)
        put_body(&m, &random, gw_rotate(turn, gw_scale(0.5, gw_add(pins[i], pins[i + 1]))),
                 pow(10, 1 - i));
    for (int i = 0; i < 4; i++)
        put_joint(&m, GW_MOBILIZER_REVOLUTE, i - 1, i < 3 ? i : -1,
                  (gw_pose){gw_rotate(turn, pins[i]), turn});
    return m;
}

/* Legs of two bodies, universal on the ground, prismatic, spherical on the plate, which is body 2:
 * the first leg bears it in the tree. */
static mechanism stewart_platform(void)
{
    mechanism m = {.freedoms = 6};
    unsigned long long random = 2;
    gw_vec3 foot[6], head[6];
    for (int i = 0; i < 6; i++) {
        double low = GW_PI / 3 * i + (i % 2 ? 0.2 : -0.2),
               high = GW_PI / 3 * i + (i % 2 ? -0.3 : 0.3);
        foot[i] = gw_v3(0.5 * cos(low), 0.5 * sin(low), 0);
        head[i] = gw_v3(0.3 * cos(high) + 0.05, 0.3 * sin(high), 0.6 + 0.03 * i);
    }
    for (int i = 0; i < 6; i++) {
        gw_vec3 way = gw_sub(head[i], foot[i]);
        put_body(&m, &random, gw_mul_add(foot[i], 0.3, way), 0.3 + 0.5 * i);
        put_body(&m, &random, gw_mul_add(foot[i], 0.7, way), 0.01 * (1 + i));
        if (i == 0)
            put_body(&m, &random, gw_v3(0.05, 0, 0.65), 20);
    }
    for (int i = 0; i < 6; i++) {
        int lower = i ? 2 * i + 1 : 0;
        gw_pose along = frame_along(foot[i], gw_unit(gw_sub(head[i], foot[i])));
        put_joint(&m, GW_MOBILIZER_UNIVERSAL, -1, lower, along);
        put_joint(&m, GW_MOBILIZER_PRISMATIC, lower, lower + 1, along);
        put_joint(&m, GW_MOBILIZER_SPHERICAL, lower + 1, 2, (gw_pose){head[i], along.q});
    }
    return m;
}

static gw_pose in_body(const mechanism *m, int body, const gw_pose *at)
{
    gw_pose back = gw_pose_identity();
    if (body >= 0)
        back = gw_pose_inverse(&m->pose[body]);
    return gw_pose_mul(&back, at);
}

/* The first joint of each body that a body before it bears is in the tree. */
static gw_system *system_of(const mechanism *m)
{
    static gw_closure_def closures[3 * 6];
    gw_system_body_def bodies[BODIES] = {{.parent = 0}};
    bool borne[BODIES] = {false};
    gw_system_def def = {
        .body_count = m->body_count, .bodies = bodies, .closures = closures, .gravity = gravity};
    for (int i = 0; i < m->joint_count; i++) {
        const link_joint *j = &m->joints[i];
        gw_pose at_a = in_body(m, j->a, &j->at), at_b = in_body(m, j->b, &j->at);
        if (j->b >= 0 && !borne[j->b] && j->a < j->b) {
            borne[j->b] = true;
            bodies[j->b] = (gw_system_body_def){.mass = m->mass[j->b],
                                                .parent = j->a,
                                                .joint = j->type,
                                                .parent_from_f = at_a,
                                                .body_from_m = at_b};
            continue;
        }
        gw_closure_def *c = &closures[def.closure_count++];
        bool turned = j->b < 0; /* the ground comes second */
        *c = (gw_closure_def){.a = turned ? j->a : j->b, .b = turned ? -1 : j->a};
        c->row_count =
            gw_mobilizer_rows(j->type, turned ? &at_b : &at_a, turned ? &at_a : &at_b, c->rows);
    }
    gw_error error = {0};
    gw_system *s = gw_system_create(&def, &error);
    if (!s)
        print_message("%s %s\n", error.where, error.message);
    assert_non_null(s);
    assert_int_equal(gw_system_mobility(s), m->freedoms);
    return s;
}

/* ---- the reduced mechanism ------------------------------------------------------------------- */

/* Column-major, N x N whatever the number of bodies is. */
typedef struct reduced {
    double y[N * N];
    double by_weight[N];
} reduced;

/* The row of the velocity along d of b's point at x against that of a's, or of spin about d. */
static void put_row(const mechanism *m, double *j, int row, const link_joint *k, gw_vec3 d,
                    bool spin)
{
    const int ends[2] = {k->b, k->a};
    for (int side = 0; side < 2; side++) {
        if (ends[side] < 0)
            continue;
        gw_vec3 arm = gw_sub(k->at.p, m->pose[ends[side]].p);
        gw_vec3 v = spin ? gw_v3(0, 0, 0) : d, w = spin ? d : gw_cross(arm, d);
        const double entries[6] = {v.x, v.y, v.z, w.x, w.y, w.z};
        for (int i = 0; i < 6; i++)
            j[row + ROWS * (6 * ends[side] + i)] += (side ? -1 : 1) * entries[i];
    }
}

static int put_rows(const mechanism *m, double *j)
{
    int rows = 0;
    for (int i = 0; i < m->joint_count; i++) {
        const link_joint *k = &m->joints[i];
        for (int axis = 0; axis < 3; axis++) {
            gw_vec3 d = gw_rotate(k->at.q, gw_v3(axis == 0, axis == 1, axis == 2));
            bool slides = k->type == GW_MOBILIZER_PRISMATIC && axis == 2;
            bool turns = k->type == GW_MOBILIZER_SPHERICAL ||
                         (k->type == GW_MOBILIZER_REVOLUTE && axis == 2) ||
                         (k->type == GW_MOBILIZER_UNIVERSAL && axis < 2);
            if (!slides)
                put_row(m, j, rows++, k, d, false);
            if (!turns)
                put_row(m, j, rows++, k, d, true);
        }
    }
    assert_true(rows <= ROWS);
    return rows;
}

/* M of a body about its origin, from the twists of its centre of mass; and the weight. */
static void put_inertia(const mechanism *m, int body, double *inertia, double *weight)
{
    const gw_mass *own = &m->mass[body];
    gw_vec3 com = gw_rotate(m->pose[body].q, own->com);
    gw_mat3 turn = gw_quat_to_mat3(m->pose[body].q);
    for (int i = 0; i < 6; i++) {
        gw_vec3 v = gw_v3(i == 0, i == 1, i == 2), w = gw_v3(i == 3, i == 4, i == 5);
        gw_vec3 p = gw_scale(own->mass, gw_add(v, gw_cross(w, com)));
        gw_vec3 local = gw_unrotate(m->pose[body].q, w), l = {0, 0, 0};
        l = gw_mat3_mul(&own->inertia, local);
        l = gw_add(gw_mat3_mul(&turn, l), gw_cross(com, p));
        const double column[6] = {p.x, p.y, p.z, l.x, l.y, l.z};
        for (int k = 0; k < 6; k++)
            inertia[6 * body + k + N * (6 * body + i)] = column[k];
    }
    gw_vec3 f = gw_scale(own->mass, gravity), t = gw_cross(com, f);
    const double load[6] = {f.x, f.y, f.z, t.x, t.y, t.z};
    memcpy(weight + 6 * body, load, sizeof load);
}

static void reduce(const mechanism *m, reduced *out)
{
    static double j[ROWS * N], inertia[N * N], s[N], u[ROWS * ROWS], vt[N * N], work[N], mn[N * N];
    static double h[N * N], x[N * N];
    double weight[N] = {0};
    int n = 6 * m->body_count, rows, rank = 0, free, pivots[N];
    memset(j, 0, sizeof j);
    memset(inertia, 0, sizeof inertia);
    rows = put_rows(m, j);
    assert_int_equal(
        LAPACKE_dgesvd(LAPACK_COL_MAJOR, 'A', 'A', rows, n, j, ROWS, s, u, ROWS, vt, N, work), 0);
    for (int i = 0; i < (rows < n ? rows : n); i++)
        rank += s[i] > 1e-10 * s[0];
    free = n - rank;
    assert_int_equal(free, m->freedoms);
    for (int b = 0; b < m->body_count; b++)
        put_inertia(m, b, inertia, weight);
    /* rows rank .. n - 1 of vt are N^T; mn = M N, h = N^T M N, x = h^-1 N^T */
    for (int c = 0; c < free; c++)
        for (int i = 0; i < n; i++) {
            mn[i + N * c] = 0;
            for (int k = 0; k < n; k++)
                mn[i + N * c] += inertia[i + N * k] * vt[rank + c + N * k];
        }
    for (int r = 0; r < free; r++) {
        for (int c = 0; c < free; c++) {
            h[r + N * c] = 0;
            for (int k = 0; k < n; k++)
                h[r + N * c] += vt[rank + r + N * k] * mn[k + N * c];
        }
        for (int c = 0; c < n; c++)
            x[r + N * c] = vt[rank + r + N * c];
    }
    assert_int_equal(LAPACKE_dgesv(LAPACK_COL_MAJOR, free, n, h, N, pivots, x, N), 0);
    memset(out->by_weight, 0, sizeof out->by_weight);
    for (int r = 0; r < n; r++)
        for (int c = 0; c < n; c++) {
            double sum = 0;
            for (int k = 0; k < free; k++)
                sum += vt[rank + k + N * r] * x[k + N * c];
            out->y[r + N * c] = sum;
            out->by_weight[r] += sum * weight[c];
        }
}

/* ---- what is felt ---------------------------------------------------------------------------- */

/* The largest difference of two lists as a share of the largest entry. */
static double unlike(const double *a, const double *b, int count)
{
    double size = 0, worst = 0;
    for (int i = 0; i < count; i++) {
        size = fmax(size, fabs(b[i]));
        worst = fmax(worst, fabs(a[i] - b[i]));
    }
    return worst / size;
}

/* The inverse inertia at a frame of the body, and the acceleration there by weight, at rest. */
static void inertia_and_weight_at(gw_system *s, const reduced *r, const mechanism *m, int body,
                                  double *worst_inertia, double *worst_weight)
{
    const gw_pose held = {{0.1, -0.2, 0.05}, gw_quat_exp(gw_v3(0.3, 0.4, -0.5))};
    gw_model *model = gw_system_model(s);
    int dof = gw_model_dof(model);
    double columns[N][6], bias[6], a[N], felt[6][6], by[36], own[36], falls[6] = {0}, weight[6];
    gw_vec3 arm = gw_rotate(m->pose[body].q, held.p);
    double shift[6][6] = {{0}};
    for (int i = 0; i < 6; i++) { /* twists at the held frame of those at the origin */
        gw_vec3 v = gw_v3(i == 0, i == 1, i == 2), w = gw_v3(i == 3, i == 4, i == 5);
        v = gw_add(v, gw_cross(w, arm));
        const double column[6] = {v.x, v.y, v.z, w.x, w.y, w.z};
        for (int k = 0; k < 6; k++)
            shift[k][i] = column[k];
    }
    gw_system_hold(s, body, &held);
    gw_model_jacobian(model, columns, bias);
    gw_operational_inverse_inertia(model, dof, (const double(*)[6])columns, felt);
    gw_model_free_acceleration(model, a);
    memset(weight, 0, sizeof weight);
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < dof; k++)
            falls[i] += columns[k][i] * a[k];
        for (int k = 0; k < 6; k++) {
            own[6 * i + k] = 0;
            by[6 * i + k] = felt[i][k];
            weight[i] += shift[i][k] * r->by_weight[6 * body + k];
            for (int p = 0; p < 6; p++)
                for (int q = 0; q < 6; q++)
                    own[6 * i + k] +=
                        shift[i][p] * r->y[6 * body + p + N * (6 * body + q)] * shift[k][q];
        }
    }
    *worst_inertia = fmax(*worst_inertia, unlike(by, own, 36));
    *worst_weight = fmax(*worst_weight, unlike(falls, weight, 6));
}

/* A ball of 1 kg hits the body at 1 m/s: the twists of all bodies after. */
static double collision_at(const mechanism *m, const reduced *r, int body, gw_vec3 n)
{
    const double e = 0.5, dt = 1e-9, radius = 0.05, i = 1e-3;
    const gw_vec3 at = {0.03, 0.02, -0.04}; /* in the body's frame */
    gw_vec3 arm = gw_rotate(m->pose[body].q, at), where = gw_add(m->pose[body].p, arm);
    gw_vec3 turn = gw_cross(arm, n);
    const double row[6] = {n.x, n.y, n.z, turn.x, turn.y, turn.z};
    double soft = 1, told[N], own[N];
    for (int p = 0; p < 6; p++)
        for (int q = 0; q < 6; q++)
            soft += row[p] * r->y[6 * body + p + N * (6 * body + q)] * row[q];
    for (int k = 0; k < 6 * m->body_count; k++) {
        own[k] = 0;
        for (int q = 0; q < 6; q++)
            own[k] += r->y[k + N * (6 * body + q)] * row[q] * (1 + e) / soft;
    }
    gw_system_body_def ball = {.mass = {1, {0, 0, 0}, {{{i, 0, 0}, {0, i, 0}, {0, 0, i}}}},
                               .parent = GW_GROUND,
                               .joint = GW_MOBILIZER_FREE,
                               .parent_from_f = gw_pose_identity(),
                               .body_from_m = gw_pose_identity()};
    gw_vec3 centre = gw_mul_add(where, -radius, n);
    const double start[6] = {centre.x, centre.y, centre.z}, v[6] = {n.x, n.y, n.z};
    memcpy(ball.position, start, sizeof start);
    memcpy(ball.velocity, v, sizeof v);
    gw_system_def def = {.body_count = 1, .bodies = &ball};
    gw_system *thrown = gw_system_create(&def, NULL), *s = system_of(m);
    gw_world_system systems[2] = {{.model = gw_system_model(s)},
                                  {.model = gw_system_model(thrown)}};
    gw_world_body bodies[BODIES + 1];
    for (int k = 0; k < m->body_count; k++)
        bodies[k] = (gw_world_body){.model = 0, .index = k};
    bodies[m->body_count] = (gw_world_body){.model = 1, .index = 0};
    gw_world *w = gw_world_create(&(gw_world_def){.system_count = 2,
                                                  .model_bytes = systems[0].model->ops->size,
                                                  .body_count = m->body_count + 1,
                                                  .bodies = bodies},
                                  NULL);
    gw_contact_candidate touch = {.key = 1,
                                  .a = body,
                                  .b = m->body_count,
                                  .point_a = at,
                                  .kind = GW_NORMAL_IN_B,
                                  .normal = n,
                                  .radius_b = radius,
                                  .surface = {.restitution = e}};
    gw_world_step_result result;
    gw_world_set_candidates(w, &touch, 1);
    gw_world_step_all(w, systems, dt, &result);
    assert_int_equal(result.collisions, 1);
    for (int k = 0; k < m->body_count; k++) {
        gw_pose pose;
        gw_twist t;
        gw_model_body(systems[0].model, k, &pose, &t);
        const double twist[6] = {t.v.x, t.v.y, t.v.z, t.w.x, t.w.y, t.w.z};
        memcpy(told + 6 * k, twist, sizeof twist);
    }
    gw_world_destroy(w);
    gw_system_destroy(s);
    gw_system_destroy(thrown);
    return unlike(told, own, 6 * m->body_count);
}

static void feel(const char *name, const mechanism *m)
{
    static reduced r;
    double inertia = 0, weight = 0, collision = 0;
    gw_system *s = system_of(m);
    reduce(m, &r);
    for (int b = 0; b < m->body_count; b++) {
        inertia_and_weight_at(s, &r, m, b, &inertia, &weight);
        for (int k = 0; k < 3; k++) {
            gw_vec3 n = gw_rotate(m->pose[b].q, gw_unit(gw_v3(k == 0, k == 1, 0.5)));
            collision = fmax(collision, collision_at(m, &r, b, n));
        }
    }
    print_message("%s: inertia within %.1e, weight %.1e, collision %.1e at all of %d bodies\n",
                  name, inertia, weight, collision, m->body_count);
    assert_true(inertia < SAME && weight < SAME && collision < SAME);
    gw_system_destroy(s);
}

static void every_body_of_a_four_bar_has_the_reduced_inertia_weight_and_collision(void **state)
{
    (void)state;
    mechanism m = four_bar();
    feel("four-bar", &m);
}

static void every_body_of_a_stewart_platform_has_them(void **state)
{
    (void)state;
    mechanism m = stewart_platform();
    assert_int_equal(m.body_count, BODIES);
    feel("Stewart platform", &m);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_body_of_a_four_bar_has_the_reduced_inertia_weight_and_collision),
        cmocka_unit_test(every_body_of_a_stewart_platform_has_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
