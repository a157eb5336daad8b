/* The AABB tree against all pairs of boxes, as they move. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "rt/collision/aabb_tree.h"
#include "tests/unit/detector_fixture.h"

enum { ITEMS = 150 };

static gw_aabb boxes[ITEMS];

static void put_boxes(unsigned *seed, double spread, double size)
{
    for (int i = 0; i < ITEMS; i++) {
        gw_vec3 at = some_vector(seed, spread), half = some_vector(seed, size);
        half = gw_v3(fabs(half.x), fabs(half.y), fabs(half.z));
        boxes[i] = (gw_aabb){gw_sub(at, half), gw_add(at, half)};
    }
}

static bool overlapping(const gw_aabb *a, const gw_aabb *b)
{
    return a->low.x <= b->high.x && b->low.x <= a->high.x && a->low.y <= b->high.y &&
           b->low.y <= a->high.y && a->low.z <= b->high.z && b->low.z <= a->high.z;
}

static void count_pair(void *context, int a, int b)
{
    int(*times)[ITEMS] = context;
    times[a < b ? a : b][a < b ? b : a]++;
}

static int check_pairs(const gw_aabb_tree *tree)
{
    static int times[ITEMS][ITEMS];
    int pairs = 0;
    memset(times, 0, sizeof times);
    gw_aabb_tree_pairs(tree, count_pair, times);
    for (int a = 0; a < ITEMS; a++)
        for (int b = 0; b < ITEMS; b++) {
            bool expected = a < b && overlapping(&boxes[a], &boxes[b]);
            assert_int_equal(times[a][b], expected);
            pairs += expected;
        }
    return pairs;
}

/* Small steps refit the tree, jumps to other places rebuild it. */
static void each_overlapping_pair_is_found_once(void **state)
{
    (void)state;
    unsigned seed = 3;
    int pairs = 0;
    put_boxes(&seed, 1, 0.2);
    gw_aabb_tree *tree = gw_aabb_tree_create(boxes, ITEMS);
    for (int k = 0; k < 60; k++) {
        pairs += check_pairs(tree);
        for (int i = 0; i < ITEMS; i++) {
            gw_vec3 step = some_vector(&seed, 0.05);
            boxes[i] = (gw_aabb){gw_add(boxes[i].low, step), gw_add(boxes[i].high, step)};
        }
        if (k % 10 == 9)
            put_boxes(&seed, k % 20 == 9 ? 0.1 : 2, 0.2);
        gw_aabb_tree_update(tree, boxes);
    }
    assert_true(pairs > 10000);
    gw_aabb_tree_destroy(tree);
}

static void a_query_finds_what_overlaps_the_probe(void **state)
{
    (void)state;
    unsigned seed = 5;
    int items[ITEMS], found = 0;
    put_boxes(&seed, 1, 0.2);
    gw_aabb_tree *tree = gw_aabb_tree_create(boxes, ITEMS);
    for (int k = 0; k < 200; k++) {
        gw_vec3 at = some_vector(&seed, 1);
        gw_aabb probe = {at, gw_add(at, gw_v3(0.3, 0.2, 0.1))};
        bool told[ITEMS] = {false};
        int count = gw_aabb_tree_query(tree, &probe, items, ITEMS);
        for (int i = 0; i < count; i++)
            told[items[i]] = true;
        for (int i = 0; i < ITEMS; i++)
            assert_true(told[i] == overlapping(&boxes[i], &probe));
        if (count > 1)
            assert_int_equal(gw_aabb_tree_query(tree, &probe, items, count - 1), count);
        found += count;
    }
    assert_true(found > 100);
    gw_aabb_tree_destroy(tree);
}

/* Corners of an oriented box against a box: the least distance of sampled points of both. */
static double sampled_distance(const gw_oriented_box *b, const gw_aabb *box)
{
    enum { STEPS = 8 };
    double least = INFINITY;
    for (int i = 0; i < STEPS * STEPS * STEPS; i++) {
        gw_vec3 at = gw_v3(b->half.x * (2. * (i % STEPS) / (STEPS - 1) - 1),
                           b->half.y * (2. * (i / STEPS % STEPS) / (STEPS - 1) - 1),
                           b->half.z * (2. * (i / STEPS / STEPS) / (STEPS - 1) - 1));
        at = gw_add(b->centre, gw_mat3_mul(&b->rotation, at));
        gw_vec3 near = gw_v3(fmin(box->high.x, fmax(box->low.x, at.x)),
                             fmin(box->high.y, fmax(box->low.y, at.y)),
                             fmin(box->high.z, fmax(box->low.z, at.z)));
        least = fmin(least, gw_distance(at, near));
    }
    return least;
}

static gw_oriented_box some_oriented_box(unsigned *seed)
{
    gw_oriented_box b = {.centre = some_vector(seed, 1), .half = {0.4, 0.2, 0.02}};
    gw_vec3 x = gw_unit(some_vector(seed, 1)), y = gw_any_normal(x), z = gw_cross(x, y);
    b.rotation = (gw_mat3){{{x.x, y.x, z.x}, {x.y, y.y, z.y}, {x.z, y.z, z.z}}};
    return b;
}

typedef struct approach {
    const gw_oriented_box *box;
    double gap;
    int visits;
} approach;

static double on_approach(void *context, int item)
{
    approach *a = context;
    a->visits++;
    return a->gap = fmin(a->gap, sampled_distance(a->box, &boxes[item]));
}

static void an_oriented_box_meets_all_that_is_near_and_little_more(void **state)
{
    (void)state;
    unsigned seed = 9;
    int items[ITEMS], found = 0, plain = 0, visits = 0;
    put_boxes(&seed, 1, 0.1);
    gw_aabb_tree *tree = gw_aabb_tree_create(boxes, ITEMS);
    for (int k = 0; k < 60; k++) {
        gw_oriented_box box = some_oriented_box(&seed);
        double reach = 0.05 * (k % 3), least = INFINITY;
        bool told[ITEMS] = {false};
        int count = gw_aabb_tree_query_oriented(tree, &box, reach, items, ITEMS);
        for (int i = 0; i < count; i++)
            told[items[i]] = true;
        gw_vec3 far = gw_v3(reach, reach, reach);
        gw_mat3 m = box.rotation;
        for (int i = 0; i < 9; i++)
            m.m[i / 3][i % 3] = fabs(m.m[i / 3][i % 3]);
        far = gw_add(far, gw_mat3_mul(&m, box.half));
        gw_aabb around = {gw_sub(box.centre, far), gw_add(box.centre, far)};
        for (int i = 0; i < ITEMS; i++) {
            double d = sampled_distance(&box, &boxes[i]);
            assert_true(told[i] || d > reach);
            assert_true(!told[i] || overlapping(&boxes[i], &around));
            plain += overlapping(&boxes[i], &around);
            least = fmin(least, d);
        }
        if (count > 1)
            assert_int_equal(gw_aabb_tree_query_oriented(tree, &box, reach, items, count - 1),
                             count);
        approach a = {&box, 10, 0};
        gw_aabb_tree_approach(tree, &box, a.gap, on_approach, &a);
        assert_true(a.gap == least);
        found += count;
        visits += a.visits;
    }
    assert_true(found > 100 && 2 * found < plain);
    assert_true(visits < 60 * ITEMS / 4);
    gw_aabb_tree_destroy(tree);
}

static double point_distance(const void *context, int item, gw_vec3 x)
{
    (void)context;
    const gw_aabb *box = &boxes[item];
    gw_vec3 near =
        gw_v3(fmin(box->high.x, fmax(box->low.x, x.x)), fmin(box->high.y, fmax(box->low.y, x.y)),
              fmin(box->high.z, fmax(box->low.z, x.z)));
    return gw_distance(x, near);
}

static void the_nearest_item_is_the_first_of_those_as_near(void **state)
{
    (void)state;
    unsigned seed = 11;
    int none = 0, items[ITEMS];
    put_boxes(&seed, 1, 0.3);
    gw_aabb_tree *tree = gw_aabb_tree_create(boxes, ITEMS);
    gw_aabb all = {{-9, -9, -9}, {9, 9, 9}};
    assert_int_equal(gw_aabb_tree_query(tree, &all, items, ITEMS), ITEMS);
    for (int k = 0; k < 300; k++) {
        gw_vec3 x = some_vector(&seed, 1.5);
        double least = 0.2;
        int first = -1;
        for (int i = 0; i < ITEMS; i++) {
            double d = point_distance(NULL, items[i], x);
            if (d < least || (d <= least && first < 0)) {
                least = d;
                first = items[i];
            }
        }
        assert_int_equal(gw_aabb_tree_nearest(tree, x, 0.2, point_distance, NULL), first);
        none += first < 0;
    }
    assert_true(none > 10 && none < 290);
    gw_aabb_tree_destroy(tree);
}

static void a_tree_may_have_no_items_or_one(void **state)
{
    (void)state;
    int item = -1, times[ITEMS][ITEMS] = {{0}};
    gw_aabb box = {{0, 0, 0}, {1, 1, 1}};
    gw_aabb_tree *none = gw_aabb_tree_create(NULL, 0), *one = gw_aabb_tree_create(&box, 1);
    gw_aabb_tree_update(none, NULL);
    gw_aabb_tree_update(one, &box);
    assert_int_equal(gw_aabb_tree_query(none, &box, &item, 1), 0);
    assert_int_equal(gw_aabb_tree_query(one, &box, &item, 1), 1);
    assert_int_equal(item, 0);
    gw_aabb_tree_pairs(none, count_pair, times);
    gw_aabb_tree_pairs(one, count_pair, times);
    assert_int_equal(times[0][0], 0);
    gw_aabb_tree_destroy(none);
    gw_aabb_tree_destroy(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_overlapping_pair_is_found_once),
        cmocka_unit_test(a_query_finds_what_overlaps_the_probe),
        cmocka_unit_test(an_oriented_box_meets_all_that_is_near_and_little_more),
        cmocka_unit_test(the_nearest_item_is_the_first_of_those_as_near),
        cmocka_unit_test(a_tree_may_have_no_items_or_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
