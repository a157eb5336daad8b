/*
 * Queries inside a step: within a query's breaking distance nothing else touches, a pair is not
 * queried again there and moves the same, and the cost of queries is bounded and counted.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "tests/unit/contact_fixture.h"
#include "tests/unit/detector_fixture.h"

/* ---- breaking distance ------------------------------------------------------------------------
 */

/* A ball against a box, a cylinder, a cone or a ball, either of them first. */
static void open_pair(stage *s, int kind, bool ball_first)
{
    static const int others[] = {1, 3, 4, 0};
    gw_shape ball = round_shape(GW_SHAPE_SPHERE, 0.05, 0), other = some_shape(others[kind]);
    *s = (stage){.count = 2, .moving = 2};
    s->shapes[0] = ball_first ? ball : other;
    s->shapes[1] = ball_first ? other : ball;
    stage_open(s);
}

/* Random poses with a small gap along the line between their centres. */
static void place_pair(stage *s, unsigned *seed)
{
    gw_vec3 way = gw_unit(some_vector(seed, 1));
    s->poses[0] = (gw_pose){some_vector(seed, 1), some_turn(seed)};
    s->poses[1] = (gw_pose){s->poses[0].p, some_turn(seed)};
    for (int i = 0; i < 30; i++) {
        gw_vec3 n = gw_neg(way);
        double apart = proven(&s->shapes[0], &s->poses[0], &s->shapes[1], &s->poses[1], n);
        if (apart > -1e-4)
            break;
        s->poses[1].p = gw_mul_add(s->poses[1].p, -apart, way);
    }
}

static int query_geoms(const stage *s, gw_contact_candidate candidates[GW_PAIR_CANDIDATES],
                       double *gap, double *breaking_distance)
{
    gw_pair_query query = {.geom_a = 0,
                           .geom_b = 1,
                           .world_from_a = s->poses[0],
                           .world_from_b = s->poses[1],
                           .reach = 0.02};
    int count = gw_detect_pair(s->detector, &query, candidates, gap);
    *breaking_distance =
        count == 1 ? gw_detector_breaking_distance(s->detector, &query, candidates) : 0;
    return count;
}

/* Moves both by no more than `far`, as the world bounds their motion. */
static void move_pair(stage *s, double far, unsigned *seed)
{
    gw_vec3 unused;
    double radius[2];
    for (int k = 0; k < 2; k++)
        assert_true(gw_detector_bounding_sphere(s->detector, k, &unused, &radius[k]));
    double shares[3] = {fabs(some(seed)), fabs(some(seed)), fabs(some(seed))};
    double all = shares[0] + shares[1] + shares[2];
    gw_vec3 together = some_vector(seed, 1);
    for (int k = 0; k < 2; k++) {
        double angle = radius[k] > 0 ? far * shares[1 + k] / all / radius[k] : 3 * some(seed);
        gw_twist by = {together, gw_scale(angle, gw_unit(some_vector(seed, 1)))};
        if (k == 0)
            by.v = gw_mul_add(by.v, far * shares[0] / all, gw_unit(some_vector(seed, 1)));
        s->poses[k] = gw_pose_add(&s->poses[k], &by);
    }
}

/* Within the breaking distance the only candidate has the gap, however the geoms turned. */
static void geoms_touch_nowhere_else_within_the_breaking_distance(void **state)
{
    (void)state;
    unsigned seed = 5;
    for (int kind = 0; kind < 4; kind++) {
        stage s;
        int held = 0;
        double off = 0, longest = 0;
        open_pair(&s, kind, kind % 2);
        for (int i = 0; i < 4000; i++) {
            gw_contact_candidate candidates[GW_PAIR_CANDIDATES], then[GW_PAIR_CANDIDATES];
            double gap, breaking_distance, unused;
            place_pair(&s, &seed);
            query_geoms(&s, candidates, &gap, &breaking_distance);
            if (!(breaking_distance > 1e-3))
                continue;
            held++;
            longest = fmax(longest, fmin(breaking_distance, 1));
            move_pair(&s, 0.999 * fmin(breaking_distance, 0.01), &seed);
            if (query_geoms(&s, then, &gap, &unused) == 0)
                continue;
            off = fmax(off, fabs(follow(&candidates[0], s.poses).gap - gap));
        }
        print_message("kind %d: %d breaking distances, up to %.3f m, gap off by %.1e m\n", kind,
                      held, longest, off);
        assert_true(held > 50);
        assert_true(off <= 1e-13);
        gw_detector_destroy(s.detector);
    }
}

/* ---- a ball on a floor ------------------------------------------------------------------------
 */

static int queries_made;

static int query_and_count(const void *detector, const gw_pair_query *query,
                           gw_contact_candidate candidates[GW_PAIR_CANDIDATES], double *gap)
{
    queries_made++;
    return gw_detect_pair(detector, query, candidates, gap);
}

static gw_contact_material rough(const void *context, int a, int b)
{
    (void)context, (void)a, (void)b;
    return (gw_contact_material){.restitution = 0.5, .friction = 0.4};
}

static gw_detector *floor_and(const arena *a, const gw_shape *shapes)
{
    static gw_shape floor = {.kind = GW_SHAPE_BOX, .size = {2, 2, 1}};
    gw_collider colliders[SOME_SYSTEMS + 1];
    for (int m = 0; m < a->count; m++)
        colliders[m] = (gw_collider){m, &shapes[m], gw_pose_identity(), 0};
    colliders[a->count] = (gw_collider){ground(a), &floor, {{0, 0, -0.5}, {1, 0, 0, 0}}, 0};
    gw_detector_def def = {.body_count = a->count + 1,
                           .collider_count = a->count + 1,
                           .colliders = colliders,
                           .surface = rough};
    return gw_detector_create(&def, NULL);
}

static void detect(arena *a, gw_detector *detector)
{
    gw_pose poses[SOME_SYSTEMS + 1];
    gw_twist twists[SOME_SYSTEMS + 1];
    poses[a->count] = gw_pose_identity();
    memset(&twists[a->count], 0, sizeof *twists);
    for (int m = 0; m < a->count; m++)
        gw_model_body(a->system[m].model, 0, &poses[m], &twists[m]);
    int count =
        gw_detect(detector, poses, twists, 0.01, 0.002, a->candidates, SOME_CANDIDATES, NULL);
    gw_world_set_candidates(a->world, a->candidates, count);
}

/* Bounces, slides, rolls; where it is after a second. */
static gw_pose roll(bool with_breaking_distance, int *queries)
{
    static arena a;
    static const gw_shape ball = {.kind = GW_SHAPE_SPHERE, .radius = 0.05};
    arena_open(&a, (gw_contact_rules){0});
    a.gravity = gw_v3(0, 0, -9.81);
    arena_ball(&a, 0.5, 0.05, gw_v3(-0.5, 0, 0.08), gw_v3(0.7, 0.1, 0));
    gw_detector *detector = floor_and(&a, &ball);
    assert_non_null(detector);
    arena_start(&a);
    gw_world_set_narrow_phase(
        a.world, &(gw_narrow_phase){detector, gw_detector_bounding_sphere, query_and_count,
                                    gw_detector_query_cost,
                                    with_breaking_distance ? gw_detector_breaking_distance : NULL});
    queries_made = 0;
    for (int i = 0; i < 1000; i++) {
        if (i % 5 == 0)
            detect(&a, detector);
        arena_step(&a);
    }
    *queries = queries_made;
    gw_pose at = a.body[0].pose;
    assert_true(a.last.touching == 1);
    arena_close(&a);
    gw_detector_destroy(detector);
    return at;
}

static void a_ball_on_a_floor_is_queried_once_and_moves_the_same(void **state)
{
    (void)state;
    int queries, without;
    gw_pose at = roll(true, &queries), other = roll(false, &without);
    double off = gw_pose_distance(&at, &other, 0.05);
    print_message("%d queries in a second, %d without breaking distances; %.1e m off\n", queries,
                  without, off);
    assert_true(queries <= 20);
    assert_true(without > 400);
    assert_true(off <= 1e-12);
    assert_true(at.p.x > -0.2);
}

/* ---- cost of queries --------------------------------------------------------------------------
 */

enum { MANY = 36 };

static int expensive(const void *context, int piece)
{
    (void)context, (void)piece;
    return 4;
}

/* Boxes that tumble down side by side and on one another; a query costs nine steps. */
static void costly_queries_stay_within_the_steps_effort(void **state)
{
    (void)state;
    static arena a;
    static gw_shape shapes[MANY];
    unsigned seed = 2;
    int most = 0;
    long redetections_skipped = 0;
    double lowest, rise = 0;
    arena_open(&a, (gw_contact_rules){0});
    a.gravity = gw_v3(0, 0, -9.81);
    for (int i = 0; i < MANY; i++) {
        gw_vec3 at = {0.1 * (i % 3), 0.1 * (i / 3 % 3), 0.07 + 0.11 * (i / 9)};
        arena_box(&a, 0.3, gw_v3(0.045, 0.045, 0.045), at);
        shapes[i] = box_shape(0.09, 0.09, 0.09);
        gw_guided_set_twist(&a.body[i],
                            &(gw_twist){some_vector(&seed, 0.5), some_vector(&seed, 5)});
    }
    gw_detector *detector = floor_and(&a, shapes);
    assert_non_null(detector);
    arena_start(&a);
    gw_world_set_narrow_phase(a.world, &(gw_narrow_phase){detector, gw_detector_bounding_sphere,
                                                          query_and_count, expensive,
                                                          gw_detector_breaking_distance});
    lowest = arena_energy(&a);
    for (int i = 0; i < 600; i++) {
        if (i % 5 == 0)
            detect(&a, detector);
        queries_made = 0;
        arena_step(&a);
        assert_true(9 * queries_made <=
                    GW_WORLD_REDETECTIONS_MIN + GW_WORLD_REDETECTIONS_PER_SECOND * 1e-3);
        most = a.last.effort > most ? a.last.effort : most;
        redetections_skipped += a.last.redetections_skipped;
        double now = arena_energy(&a) - a.work - a.external_work;
        rise = fmax(rise, now - lowest);
        lowest = fmin(lowest, now);
    }
    print_message("%ld queries skipped, at most %d steps' effort, energy rises by %.1e J\n",
                  redetections_skipped, most, rise);
    assert_true(redetections_skipped > 1000);
    assert_true(most <= (GW_WORLD_EFFORT_PER_SECOND + GW_WORLD_REDETECTIONS_PER_SECOND) * 1e-3 +
                            GW_WORLD_REDETECTIONS_MIN + 3 * MANY);
    assert_true(rise <= 1e-9);
    arena_close(&a);
    gw_detector_destroy(detector);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(geoms_touch_nowhere_else_within_the_breaking_distance),
        cmocka_unit_test(a_ball_on_a_floor_is_queried_once_and_moves_the_same),
        cmocka_unit_test(costly_queries_stay_within_the_steps_effort),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
