/* The detector against closed forms, and against proofs: for any pair of solids the normal that is
 * told proves the gap from below by the supports, the points prove it from above by belonging to
 * the solids; overlapping, no direction of many tried may be better. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <pthread.h>
#include <string.h>

#include "rt/contact/kinematics.h"
#include "tests/unit/detector_fixture.h"

enum { KINDS = 6, ROOM = 256 };

/* The nearest pair of two bodies; its gap is infinite where there is none. */
static followed nearest_of(stage *s, double margin)
{
    gw_contact_candidate near[ROOM];
    int count = stage_detect(s, margin, near, ROOM);
    return count > 0 ? follow(&near[0], s->poses) : (followed){.gap = INFINITY};
}

/* ---- closed forms -------------------------------------------------------------------------- */

static void expect_gap(gw_shape a, gw_pose pa, gw_shape b, gw_pose pb, double gap, gw_vec3 normal,
                       double tolerance)
{
    stage s = {.count = 2, .moving = 1, .shapes = {a, b}, .poses = {pa, pb}};
    stage_open(&s);
    followed f = nearest_of(&s, 1);
    if (!(fabs(f.gap - gap) < tolerance && gw_distance(f.n, normal) < tolerance))
        print_message("%s and %s: gap %.12g, not %.12g; normal %.10g %.10g %.10g\n",
                      gw_shape_kind_name(a.kind), gw_shape_kind_name(b.kind), f.gap, gap, f.n.x,
                      f.n.y, f.n.z);
    assert_true(fabs(f.gap - gap) < tolerance);
    assert_true(gw_distance(f.n, normal) < tolerance);
    gw_detector_destroy(s.detector);
}

/* Both where they are, and the whole turned and moved away from the axes. */
static void expect(gw_shape a, gw_pose pa, gw_shape b, gw_pose pb, double gap, gw_vec3 normal,
                   double tolerance)
{
    gw_pose moved = {{1.3, -0.7, 0.4}, gw_quat_exp(gw_v3(0.7, -1.1, 0.4))};
    expect_gap(a, pa, b, pb, gap, normal, tolerance);
    expect_gap(a, gw_pose_mul(&moved, &pa), b, gw_pose_mul(&moved, &pb), gap,
               gw_rotate(moved.q, normal), tolerance);
}

static void balls(void **state)
{
    (void)state;
    gw_shape ball = round_shape(GW_SHAPE_SPHERE, 0.1, 0), box = box_shape(0.4, 0.4, 0.4);
    gw_vec3 n = gw_unit(gw_v3(1, 2, 3));
    gw_pose away = {gw_scale(0.25, n), {1, 0, 0, 0}}, into = {gw_scale(0.15, n), {1, 0, 0, 0}};
    expect(ball, away, ball, at(0, 0, 0), 0.05, n, 1e-12);
    expect(ball, into, ball, at(0, 0, 0), -0.05, n, 1e-12);
    expect(ball, at(0.05, 0.1, 0.33), box, at(0, 0, 0), 0.03, gw_v3(0, 0, 1), 1e-12);
    expect(ball, at(0.05, 0.1, 0.25), box, at(0, 0, 0), -0.05, gw_v3(0, 0, 1), 1e-12);
    expect(ball, at(0.05, 0.1, 0.15), box, at(0, 0, 0), -0.15, gw_v3(0, 0, 1), 1e-12);
    expect(ball, at(0.3, 0.1, 0.3), box, at(0, 0, 0), 0.1 * (sqrt(2) - 1), gw_unit(gw_v3(1, 0, 1)),
           1e-10);
    expect(ball, at(0.3, 0.3, 0.3), box, at(0, 0, 0), 0.1 * (sqrt(3) - 1), gw_unit(gw_v3(1, 1, 1)),
           1e-10);
}

static void boxes(void **state)
{
    (void)state;
    gw_shape box = box_shape(0.2, 0.2, 0.2), floor = box_shape(2, 2, 0.1);
    gw_vec3 up = {0, 0, 1};
    expect(box, at(0.3, 0.2, 0.151), floor, at(0, 0, 0), 0.001, up, 1e-12);
    expect(box, at(0.3, 0.2, 0.149), floor, at(0, 0, 0), -0.001, up, 1e-12);
    expect(box, at(0.3, 0.2, 0.15), floor, at(0, 0, 0), 0, up, 1e-12);
    expect(box, at_turned(0.3, 0.2, 0.2, gw_v3(0.3, 0, 0)), floor, at(0, 0, 0),
           0.15 - 0.1 * (sin(0.3) + cos(0.3)), up, 1e-12);
    /* an edge across an edge: each box stands on its edge, the edges at right angles */
    double half = 0.1 * sqrt(2);
    expect(box, at_turned(0, 0, 2 * half + 0.01, gw_v3(GW_PI / 4, 0, 0)), box,
           at_turned(0, 0, 0, gw_v3(0, GW_PI / 4, 0)), 0.01, up, 1e-10);
    expect(box, at_turned(0, 0, 2 * half - 0.01, gw_v3(GW_PI / 4, 0, 0)), box,
           at_turned(0, 0, 0, gw_v3(0, GW_PI / 4, 0)), -0.01, up, 1e-10);
    /* corner to corner */
    expect(box, at(0.21, 0.22, 0.22), box, at(0, 0, 0), 0.03, gw_scale(1.0 / 3, gw_v3(1, 2, 2)),
           1e-10);
}

static void capsules(void **state)
{
    (void)state;
    gw_shape capsule = round_shape(GW_SHAPE_CAPSULE, 0.05, 0.3), floor = box_shape(2, 2, 0.1);
    gw_shape ball = round_shape(GW_SHAPE_SPHERE, 0.1, 0);
    gw_vec3 up = {0, 0, 1}, lie = {0, GW_PI / 2, 0};
    expect(capsule, at(0.1, 0, 0.26), floor, at(0, 0, 0), 0.01, up, 1e-12);
    expect(capsule, at_turned(0.1, 0, 0.12, lie), floor, at(0, 0, 0), 0.02, up, 1e-12);
    expect(capsule, at_turned(0.1, 0, 0.09, lie), floor, at(0, 0, 0), -0.01, up, 1e-12);
    expect(capsule, at_turned(0, 0, 0.25, lie), ball, at(0, 0, 0), 0.1, up, 1e-12);
    expect(capsule, at_turned(0, 0, 0.12, lie), capsule, at_turned(0, 0, 0, gw_v3(GW_PI / 2, 0, 0)),
           0.02, up, 1e-12);
    expect(capsule, at_turned(0, 0, 0.08, lie), capsule, at_turned(0, 0, 0, gw_v3(GW_PI / 2, 0, 0)),
           -0.02, up, 1e-12);
    expect(capsule, at(0.12, 0, 0.2), capsule, at(0, 0, 0), 0.02, gw_v3(1, 0, 0), 1e-12);
    expect(capsule, at(0.03, 0.04, 0), capsule, at(0, 0, 0), -0.05, gw_v3(0.6, 0.8, 0), 1e-12);
}

static void cylinders_and_cones(void **state)
{
    (void)state;
    gw_shape cylinder = round_shape(GW_SHAPE_CYLINDER, 0.1, 0.4), floor = box_shape(2, 2, 0.1);
    gw_shape cone = round_shape(GW_SHAPE_CONE, 0.1, 0.2),
             ball = round_shape(GW_SHAPE_SPHERE, 0.05, 0);
    gw_vec3 up = {0, 0, 1}, lie = {0, GW_PI / 2, 0};
    expect(cylinder, at(0, 0, 0.26), floor, at(0, 0, 0), 0.01, up, 1e-12);
    expect(cylinder, at(0, 0, 0.24), floor, at(0, 0, 0), -0.01, up, 1e-12);
    expect(cylinder, at_turned(0, 0, 0.16, lie), floor, at(0, 0, 0), 0.01, up, 1e-12);
    expect(cylinder, at_turned(0, 0, 0.14, lie), floor, at(0, 0, 0), -0.01, up, 1e-12);
    expect(cylinder, at_turned(0, 0, 0.3, gw_v3(0.4, 0, 0)), floor, at(0, 0, 0),
           0.25 - 0.2 * cos(0.4) - 0.1 * sin(0.4), up, 1e-9);
    expect(ball, at(0.12, 0.16, 0.1), cylinder, at(0, 0, 0), 0.05, gw_v3(0.6, 0.8, 0), 1e-9);
    expect(ball, at(0.08, 0.06, 0.1), cylinder, at(0, 0, 0), -0.05, gw_v3(0.8, 0.6, 0), 1e-9);
    expect(ball, at(0.13, 0, 0.24), cylinder, at(0, 0, 0), 0, gw_v3(0.6, 0, 0.8), 1e-8);
    expect(cylinder, at_turned(0, 0, 0.21, lie), cylinder,
           at_turned(0, 0, 0, gw_v3(GW_PI / 2, 0, 0)), 0.01, up, 1e-9);
    expect(cylinder, at_turned(0, 0, 0.19, lie), cylinder,
           at_turned(0, 0, 0, gw_v3(GW_PI / 2, 0, 0)), -0.01, up, 1e-9);
    expect(cylinder, at(0.12, 0.16, 0.1), cylinder, at(0, 0, 0), 0, gw_v3(0.6, 0.8, 0), 1e-8);
    expect(cone, at(0.2, 0, 0.06), floor, at(0, 0, 0), 0.01, up, 1e-12);
    expect(cone, at(0.2, 0, 0.04), floor, at(0, 0, 0), -0.01, up, 1e-12);
    expect(cone, at_turned(0, 0, 0.26, gw_v3(GW_PI, 0, 0)), floor, at(0, 0, 0), 0.01, up, 1e-12);
    expect(cone, at_turned(0, 0, 0.24, gw_v3(GW_PI, 0, 0)), floor, at(0, 0, 0), -0.01, up, 1e-12);
    /* its side flat on the floor: 0.1 cos(alpha) high where the base's centre is */
    double alpha = atan(0.5);
    expect(cone, at_turned(0, 0, 0.06 + 0.1 * cos(alpha), gw_v3(0, GW_PI / 2 + alpha, 0)), floor,
           at(0, 0, 0), 0.01, up, 1e-9);
    gw_vec3 side = {cos(alpha), 0, sin(alpha)}, on = {0.05, 0, 0.1};
    gw_pose ball_at = {gw_mul_add(on, 0.07, side), {1, 0, 0, 0}};
    expect(ball, ball_at, cone, at(0, 0, 0), 0.02, side, 1e-9);
}

/* ---- proofs -------------------------------------------------------------------------------- */

/* The best lower bound of the gap that many directions and a climb from the best of them give. */
static double best_proven(const stage *s, unsigned *seed)
{
    double best = -INFINITY;
    gw_vec3 n = {0, 0, 1};
    for (int i = 0; i < 3000; i++) {
        gw_vec3 d = gw_unit(some_vector(seed, 1));
        double bound = proven(&s->shapes[0], &s->poses[0], &s->shapes[1], &s->poses[1], d);
        if (bound > best) {
            best = bound;
            n = d;
        }
    }
    for (double step = 0.05; step > 1e-7;) {
        bool better = false;
        for (int i = 0; i < 12; i++) {
            gw_vec3 d = gw_unit(gw_add(n, some_vector(seed, step)));
            double bound = proven(&s->shapes[0], &s->poses[0], &s->shapes[1], &s->poses[1], d);
            if (bound > best) {
                best = bound;
                n = d;
                better = true;
            }
        }
        step *= better ? 1 : 0.6;
    }
    return best;
}

static double point_off(const stage *s, int body, gw_vec3 x)
{
    gw_pose in = gw_pose_inverse(&s->poses[body]);
    return outside(&s->shapes[body], gw_pose_point(&in, x));
}

typedef struct worst {
    double below, point, gap, tried;
} worst;

/* Each body stays, the others come to it from all sides, near and deep. */
static void prove(stage *s, unsigned *seed, worst *w)
{
    gw_contact_candidate near[ROOM];
    int count = stage_detect(s, 2, near, ROOM);
    assert_true(count >= 1 && count <= 4);
    followed f = follow(&near[0], s->poses);
    double bound = proven(&s->shapes[0], &s->poses[0], &s->shapes[1], &s->poses[1], f.n);
    w->below = fmax(w->below, fabs(f.gap - bound));
    w->tried = fmax(w->tried, best_proven(s, seed) - f.gap);
    for (int i = 0; i < count; i++) {
        f = follow(&near[i], s->poses);
        w->gap = fmax(w->gap, fabs(f.gap - near[i].gap));
        assert_true(fabs(gw_norm(f.n) - 1) < 1e-12);
        assert_true(near[i].gap >= near[0].gap - 1e-9);
        gw_vec3 on_a = gw_mul_add(f.a, -near[i].radius_a, f.n);
        gw_vec3 on_b = gw_mul_add(f.b, near[i].radius_b, f.n);
        w->point = fmax(w->point, point_off(s, 0, on_a));
        if (near[i].gap > 0 || i == 0)
            w->point = fmax(w->point, point_off(s, 1, on_b));
    }
}

static void every_pair_of_primitives_has_a_proven_distance(void **state)
{
    (void)state;
    unsigned seed = 7;
    for (int k = 0; k < KINDS * KINDS; k++) {
        stage s = {
            .count = 2, .moving = 1, .shapes = {some_shape(k / KINDS), some_shape(k % KINDS)}};
        stage_open(&s);
        worst w = {0};
        for (int i = 0; i < 200; i++) {
            s.poses[0] = (gw_pose){some_vector(&seed, i % 2 ? 0.3 : 0.1), some_turn(&seed)};
            s.poses[1] = (gw_pose){some_vector(&seed, 0.02), some_turn(&seed)};
            prove(&s, &seed, &w);
        }
        bool round = k / KINDS == 4 || k % KINDS == 4 || k / KINDS == 3 || k % KINDS == 3;
        double tolerance = round ? 1e-6 : 1e-9;
        bool ok =
            w.below < tolerance && w.tried < tolerance && w.point < tolerance && w.gap < 1e-12;
        if (!ok)
            print_message("%s and %s: off by %.2g, points by %.2g, better by %.2g, gap %.2g\n",
                          gw_shape_kind_name(s.shapes[0].kind),
                          gw_shape_kind_name(s.shapes[1].kind), w.below, w.point, w.tried, w.gap);
        assert_true(ok);
        gw_detector_destroy(s.detector);
    }
}

/* ---- what lies on what --------------------------------------------------------------------- */

/* How many pairs of two bodies are found within `margin`, all of them at `gap`. */
static int resting(gw_shape a, gw_pose pa, gw_shape b, gw_pose pb, double margin, double gap,
                   double *width)
{
    stage s = {.count = 2, .moving = 1, .shapes = {a, b}, .poses = {pa, pb}};
    gw_contact_candidate near[ROOM];
    stage_open(&s);
    int count = stage_detect(&s, margin, near, ROOM);
    *width = 0;
    for (int i = 0; i < count; i++) {
        followed f = follow(&near[i], s.poses);
        assert_true(fabs(f.gap - gap) < 1e-9);
        assert_int_equal(near[i].a, 0);
        for (int k = 0; k < i; k++)
            *width = fmax(*width, gw_distance(f.a, follow(&near[k], s.poses).a));
    }
    gw_detector_destroy(s.detector);
    return count;
}

static void faces_rest_on_their_corners(void **state)
{
    (void)state;
    gw_shape box = box_shape(0.2, 0.2, 0.2), floor = box_shape(2, 2, 0.1);
    gw_shape bar = box_shape(0.6, 0.05, 0.1);
    double width;
    for (double gap = -1e-4; gap < 2e-4; gap += 1e-4) {
        assert_int_equal(
            resting(box, at(0.3, 0.2, 0.15 + gap), floor, at(0, 0, 0), 0.01, gap, &width), 4);
        assert_true(fabs(width - 0.2 * sqrt(2)) < 1e-9);
        /* half over the border; two bars across one another; the large one on the small one */
        assert_int_equal(
            resting(box, at(1, 0.2, 0.15 + gap), floor, at(0, 0, 0), 0.01, gap, &width), 4);
        assert_true(fabs(width - sqrt(0.05)) < 1e-9);
        assert_int_equal(resting(bar, at(0, 0, 0.1 + gap), bar,
                                 at_turned(0, 0, 0, gw_v3(0, 0, GW_PI / 2)), 0.01, gap, &width),
                         4);
        assert_true(fabs(width - 0.05 * sqrt(2)) < 1e-9);
        assert_int_equal(
            resting(floor, at(0.3, 0.2, 0.15 + gap), box, at(0, 0, 0), 0.01, gap, &width), 4);
        assert_true(fabs(width - 0.2 * sqrt(2)) < 1e-9);
    }
}

static void round_solids_rest_on_ends_sides_and_rims(void **state)
{
    (void)state;
    gw_shape cylinder = round_shape(GW_SHAPE_CYLINDER, 0.1, 0.4), floor = box_shape(2, 2, 0.1);
    gw_shape capsule = round_shape(GW_SHAPE_CAPSULE, 0.1, 0.4), box = box_shape(0.2, 0.2, 0.1);
    gw_vec3 lie = {0, GW_PI / 2, 0};
    double width;
    for (double gap = -1e-4; gap < 2e-4; gap += 1e-4) {
        assert_int_equal(
            resting(cylinder, at(0, 0, 0.25 + gap), floor, at(0, 0, 0), 0.01, gap, &width), 4);
        assert_true(fabs(width - 0.2) < 1e-9);
        assert_int_equal(resting(cylinder, at_turned(0, 0, 0.15 + gap, lie), floor, at(0, 0, 0),
                                 0.01, gap, &width),
                         2);
        assert_true(fabs(width - 0.4) < 1e-9);
        assert_int_equal(resting(capsule, at_turned(0, 0, 0.15 + gap, lie), floor, at(0, 0, 0),
                                 0.01, gap, &width),
                         2);
        assert_true(fabs(width - 0.4) < 1e-9);
        /* longer than what it lies on */
        assert_int_equal(
            resting(capsule, at_turned(0, 0, 0.15 + gap, lie), box, at(0, 0, 0), 0.01, gap, &width),
            2);
        assert_true(fabs(width - 0.2) < 1e-9);
        assert_int_equal(resting(capsule, at_turned(0, 0.2 + gap, 0, lie), capsule,
                                 at_turned(0.1, 0, 0, lie), 0.01, gap, &width),
                         2);
        assert_true(fabs(width - 0.3) < 1e-9);
    }
}

/* ---- between two detections ---------------------------------------------------------------- */

static void a_candidate_follows_a_ball_wherever_it_goes(void **state)
{
    (void)state;
    stage s = {
        .count = 2,
        .moving = 2,
        .shapes = {round_shape(GW_SHAPE_SPHERE, 0.1, 0), round_shape(GW_SHAPE_SPHERE, 0.2, 0)},
        .poses = {at(0.35, 0, 0), at(0, 0, 0)}};
    gw_contact_candidate near[ROOM];
    stage_open(&s);
    assert_int_equal(stage_detect(&s, 0.1, near, ROOM), 1);
    gw_contact_candidate found = near[0];
    s.poses[0] = at_turned(0.1, 0.28, 0.05, gw_v3(1, 2, 3));
    s.poses[1] = at_turned(-0.02, 0, 0.01, gw_v3(1, -2, 0.3));
    followed f = follow(&found, s.poses);
    assert_int_equal(stage_detect(&s, 0.1, near, ROOM), 1);
    assert_true(fabs(f.gap - near[0].gap) < 1e-12);
    assert_int_equal(found.key, near[0].key);
    gw_detector_destroy(s.detector);

    /* on a face, and rolling on the turning face */
    s = (stage){.count = 2,
                .moving = 1,
                .shapes = {round_shape(GW_SHAPE_CAPSULE, 0.1, 0.3), box_shape(2, 2, 0.1)},
                .poses = {at_turned(0, 0, 0.16, gw_v3(0, GW_PI / 2, 0)), at(0, 0, 0)}};
    stage_open(&s);
    assert_int_equal(stage_detect(&s, 0.1, near, ROOM), 2);
    gw_contact_candidate ends[2] = {near[0], near[1]};
    s.poses[0] = at_turned(0.1, 0.1, 0.18, gw_v3(0.3, GW_PI / 2 + 0.1, 0.4));
    s.poses[1].q = gw_quat_exp(gw_v3(0.05, 0.1, 0.2));
    double low = fmin(follow(&ends[0], s.poses).gap, follow(&ends[1], s.poses).gap);
    assert_true(stage_detect(&s, 0.1, near, ROOM) > 0);
    assert_true(fabs(low - near[0].gap) < 1e-12);
    gw_detector_destroy(s.detector);
}

/* A ball that goes along an edge as it goes round it. */
static void a_candidate_follows_a_ball_along_an_edge(void **state)
{
    (void)state;
    const double far = 0.11, from = 0.8, to = 1;
    stage s = {.count = 2,
               .moving = 1,
               .shapes = {round_shape(GW_SHAPE_SPHERE, 0.1, 0), box_shape(2, 2, 0.1)},
               .poses = {at(0.02, 1 + far * cos(from), 0.05 + far * sin(from)), at(0, 0, 0)}};
    gw_contact_candidate near[ROOM];
    stage_open(&s);
    assert_int_equal(stage_detect(&s, 0.1, near, ROOM), 1);
    gw_contact_candidate found = near[0];
    s.poses[0].p = gw_v3(0.05, 1 + far * cos(to), 0.05 + far * sin(to));
    gw_gap gap = gw_gap_at(&found, &s.poses[0], &s.poses[1]);
    print_message("gap off by %.1e m\n", gap.gap - (far - 0.1));
    assert_true(fabs(gap.gap - (far - 0.1)) < 1e-4);
    assert_true(gw_distance(gap.normal, gw_v3(0, cos(to), sin(to))) < 0.01);
    gw_detector_destroy(s.detector);
}

/* A box that slides and tips a little, detected at 200 Hz: each pair keeps its name. */
static void keys_stay_while_a_box_slides(void **state)
{
    (void)state;
    stage s = {.count = 2, .moving = 1, .shapes = {box_shape(0.2, 0.2, 0.2), box_shape(9, 9, 0.1)}};
    s.poses[1] = at(0, 0, 0);
    stage_open(&s);
    gw_contact_candidate first[ROOM], near[ROOM];
    for (int i = 0; i < 100; i++) {
        double t = 0.005 * i;
        s.poses[0] =
            at_turned(t, 0.3 * t, 0.15, gw_v3(1e-3 * sin(20 * t), 1e-3 * cos(31 * t), 2 * t));
        int count = stage_detect(&s, 0.01, i ? near : first, ROOM);
        assert_int_equal(count, 4);
        for (int k = 0; i > 0 && k < 4; k++) {
            int same = 0;
            for (int j = 0; j < 4; j++)
                same += first[j].key == near[k].key;
            assert_int_equal(same, 1);
        }
    }
    gw_detector_destroy(s.detector);
}

/* ---- thin walls, speed --------------------------------------------------------------------- */

static void a_fast_ball_sees_a_thin_wall_and_its_side(void **state)
{
    (void)state;
    stage s = {.count = 2,
               .moving = 1,
               .shapes = {round_shape(GW_SHAPE_SPHERE, 0.01, 0), box_shape(1, 1, 0.001)},
               .poses = {at(0.1, 0.1, 0), at(0, 0, 0)}};
    s.twists[0].v = gw_v3(0, 0, -20);
    gw_contact_candidate near[ROOM];
    stage_open(&s);
    for (double z = 0.11; z > 0.00001; z *= 0.9) { /* down to half of the wall */
        s.poses[0].p.z = z;
        assert_int_equal(stage_detect(&s, 0.001, near, ROOM), 1);
        followed f = follow(&near[0], s.poses);
        assert_true(f.n.z > 1 - 1e-12 && fabs(f.gap - (z - 0.0105)) < 1e-12);
    }
    s.poses[0].p.z = 0.13; /* farther than it goes in 5 ms */
    assert_int_equal(stage_detect(&s, 0.001, near, ROOM), 0);
    s.twists[0].v.z = 0;
    s.poses[0].p.z = 0.015;
    assert_int_equal(stage_detect(&s, 0.001, near, ROOM), 0);
    gw_detector_destroy(s.detector);
}

static void spin_brings_far_corners_near(void **state)
{
    (void)state;
    stage s = {.count = 2,
               .moving = 1,
               .shapes = {box_shape(1, 0.02, 0.02), box_shape(3, 3, 0.1)},
               .poses = {at(0, 0, 0.1), at(0, 0, 0)}};
    gw_contact_candidate near[ROOM];
    stage_open(&s);
    assert_int_equal(stage_detect(&s, 0.001, near, ROOM), 0);
    s.twists[0].w = gw_v3(0, 30, 0); /* its ends move by 75 mm */
    assert_int_equal(stage_detect(&s, 0.001, near, ROOM), 4);
    gw_detector_destroy(s.detector);
}

/* ---- many ---------------------------------------------------------------------------------- */

static void the_nearest_candidates_are_told_and_the_rest_counted(void **state)
{
    (void)state;
    stage s = {.count = 60, .moving = 59};
    for (int i = 0; i < 59; i++) {
        s.shapes[i] = box_shape(0.02, 0.02, 0.02);
        s.poses[i] = at(-1 + 0.03 * i, 0, 0.06 + 1e-5 * (i * 7 % 59));
    }
    s.shapes[59] = box_shape(4, 4, 0.1);
    s.poses[59] = at(0, 0, 0);
    stage_open(&s);
    gw_contact_candidate near[ROOM];
    int lost, count = gw_detect(s.detector, s.poses, s.twists, 0.005, 0.005, near, 100, &lost);
    assert_int_equal(count, 100);
    assert_int_equal(lost, 59 * 4 - 100);
    for (int i = 0; i < count; i++) {
        assert_true(i == 0 || near[i].gap >= near[i - 1].gap);
        assert_true(near[i].gap < 26e-5);
        assert_int_equal(near[i].b, 59);
        for (int k = 0; k < i; k++)
            assert_int_not_equal(near[i].key, near[k].key);
    }
    gw_detector_destroy(s.detector);
}

/* A ball before one of the slabs of an enclosure, or in it: always told. */
static void no_pair_within_reach_is_missed(void **state)
{
    (void)state;
    unsigned seed = 5;
    int told = 0;
    for (int i = 0; i < 4000; i++) {
        stage s = {
            .count = 2,
            .moving = 1,
            .shapes = {round_shape(GW_SHAPE_SPHERE, 0.045, 0), box_shape(0.5, 0.1, 0.8)},
            .poses = {at(0.2 * some(&seed), 0.22 + 0.02 * some(&seed), 0.25 + 0.2 * some(&seed)),
                      at(0, 0.3, 0.4)}};
        stage_open(&s);
        bool near = s.poses[0].p.y > 0.205;
        told += near;
        assert_true(!near || nearest_of(&s, 0.002).gap < 0.002);
        gw_detector_destroy(s.detector);
    }
    assert_true(told > 1000);
}

/* Detectors live on threads of their own, and say the same on any. */
static void *detect_much(void *context)
{
    double *sum = context;
    stage s = {.count = 20, .moving = 19};
    unsigned seed = 17;
    for (int i = 0; i < 19; i++)
        s.shapes[i] = some_shape(i % KINDS);
    s.shapes[19] = box_shape(2, 2, 0.1);
    stage_open(&s);
    gw_contact_candidate near[ROOM];
    for (int k = 0; k < 100; k++) {
        for (int i = 0; i < 20; i++)
            s.poses[i] = (gw_pose){some_vector(&seed, 0.5), some_turn(&seed)};
        int count = stage_detect(&s, 0.05, near, ROOM);
        for (int i = 0; i < count; i++)
            *sum += near[i].gap;
    }
    gw_detector_destroy(s.detector);
    return NULL;
}

static void detectors_live_on_threads_of_their_own(void **state)
{
    (void)state;
    pthread_t threads[3];
    double sums[4] = {0};
    for (int i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, detect_much, &sums[i]), 0);
    detect_much(&sums[3]);
    for (int i = 0; i < 3; i++) {
        pthread_join(threads[i], NULL);
        assert_true(sums[i] == sums[3]);
    }
    assert_true(sums[3] != 0);
}

static bool neighbours(const void *context, int a, int b)
{
    (void)context;
    return a == b + 1 || b == a + 1;
}

/* The same poses after others, which moved the boxes of the tree, and as the first ones. */
static void candidates_do_not_depend_on_earlier_detections(void **state)
{
    (void)state;
    unsigned seed = 23;
    int found = 0;
    static stage used = {.count = 60, .moving = 55}, fresh;
    for (int i = 0; i < used.count; i++)
        used.shapes[i] = some_shape(i % KINDS);
    stage_open(&used);
    for (int k = 0; k < 40; k++) {
        for (int i = 0; i < used.count; i++)
            used.poses[i] = (gw_pose){some_vector(&seed, k % 4 ? 0.4 : 3), some_turn(&seed)};
        fresh = used;
        stage_open(&fresh);
        gw_contact_candidate a[ROOM] = {0}, b[ROOM] = {0};
        int count = stage_detect(&used, 0.01, a, ROOM);
        assert_int_equal(stage_detect(&fresh, 0.01, b, ROOM), count);
        found += count;
        for (int i = 0; i < count; i++) {
            assert_true(a[i].key == b[i].key && a[i].gap == b[i].gap);
            assert_true(a[i].geom_a == b[i].geom_a && a[i].geom_b == b[i].geom_b);
            assert_memory_equal(&a[i].point_a, &b[i].point_a, sizeof a[i].point_a);
            assert_memory_equal(&a[i].normal, &b[i].normal, sizeof a[i].normal);
        }
        gw_detector_destroy(fresh.detector);
    }
    assert_true(found > 2000);
    gw_detector_destroy(used.detector);
}

/* A diverging simulation may ask with poses that are not finite: no answer is of use, none is
 * fatal. */
static void poses_that_are_not_finite_do_no_harm(void **state)
{
    (void)state;
    for (int k = 0; k < KINDS * KINDS; k++) {
        stage s = {
            .count = 2, .moving = 1, .shapes = {some_shape(k / KINDS), some_shape(k % KINDS)}};
        stage_open(&s);
        for (int i = 0; i < 3; i++) {
            double bad = i == 0 ? NAN : i == 1 ? INFINITY : 1e200;
            gw_contact_candidate near[ROOM];
            double gap;
            s.poses[0] = at(bad, 0, 0);
            s.poses[1] = at(0, 0, 0);
            assert_in_range(stage_detect(&s, 1, near, ROOM), 0, 4);
            gw_pair_query query = {
                .geom_b = 1, .world_from_a = s.poses[0], .world_from_b = s.poses[1], .reach = 1};
            query.world_from_a.q.w = bad;
            assert_in_range(gw_detect_pair(s.detector, &query, near, &gap), 0, 4);
        }
        gw_detector_destroy(s.detector);
    }
}

static void ignored_pairs_give_no_candidates(void **state)
{
    (void)state;
    gw_shape ball = round_shape(GW_SHAPE_SPHERE, 0.1, 0);
    gw_collider c[3];
    gw_pose poses[3] = {at(0, 0, 0), at(0.05, 0, 0), at(0.1, 0, 0)};
    gw_twist twists[3] = {0};
    for (int i = 0; i < 3; i++)
        c[i] = (gw_collider){
            .body = i, .shape = &ball, .body_from_shape = at(0, 0, 0.1 * i), .material = i + 1};
    gw_detector_def def = {.body_count = 3,
                           .collider_count = 3,
                           .colliders = c,
                           .ignore = neighbours,
                           .surface = plain_surface};
    gw_detector *d = gw_detector_create(&def, NULL);
    gw_contact_candidate near[8];
    int lost;
    assert_int_equal(gw_detect(d, poses, twists, 0, 0.1, near, 8, &lost), 1);
    assert_int_equal(lost, 0);
    assert_true(near[0].a == 0 && near[0].b == 2);
    assert_true(fabs(near[0].gap - (hypot(0.1, 0.2) - 0.2)) < 1e-12);
    assert_true(near[0].surface.restitution == 0.1 && near[0].surface.friction == 0.1 * 3);
    gw_detector_destroy(d);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(balls),
        cmocka_unit_test(boxes),
        cmocka_unit_test(capsules),
        cmocka_unit_test(cylinders_and_cones),
        cmocka_unit_test(every_pair_of_primitives_has_a_proven_distance),
        cmocka_unit_test(faces_rest_on_their_corners),
        cmocka_unit_test(round_solids_rest_on_ends_sides_and_rims),
        cmocka_unit_test(a_candidate_follows_a_ball_wherever_it_goes),
        cmocka_unit_test(a_candidate_follows_a_ball_along_an_edge),
        cmocka_unit_test(keys_stay_while_a_box_slides),
        cmocka_unit_test(a_fast_ball_sees_a_thin_wall_and_its_side),
        cmocka_unit_test(spin_brings_far_corners_near),
        cmocka_unit_test(the_nearest_candidates_are_told_and_the_rest_counted),
        cmocka_unit_test(no_pair_within_reach_is_missed),
        cmocka_unit_test(detectors_live_on_threads_of_their_own),
        cmocka_unit_test(candidates_do_not_depend_on_earlier_detections),
        cmocka_unit_test(poses_that_are_not_finite_do_no_harm),
        cmocka_unit_test(ignored_pairs_give_no_candidates),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
