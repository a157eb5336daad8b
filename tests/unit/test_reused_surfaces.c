/* Contact data of surfaces that reuse those of a surface before: the same to the last bit as made
 * anew, over a series of moves of control points. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "nurbs_fixture.h"
#include "rt/collision/detector.h"
#include "rt/collision/free_form_private.h"
#include "rt/geometry/nurbs_primitive.h"

static void assert_same_form(const gw_free_form *a, const gw_free_form *b)
{
    int vertices = a->mesh->vertex_count, triangles = a->mesh->triangle_count;
    size_t count = (size_t)triangles;
    assert_int_equal(vertices, b->mesh->vertex_count);
    assert_int_equal(triangles, b->mesh->triangle_count);
    assert_memory_equal(a->mesh->vertices, b->mesh->vertices,
                        (size_t)vertices * sizeof *a->mesh->vertices);
    assert_memory_equal(a->mesh->triangles, b->mesh->triangles, count * sizeof *a->mesh->triangles);
    assert_memory_equal(a->parameters, b->parameters, count * sizeof *a->parameters);
    assert_memory_equal(a->normals, b->normals, count * sizeof *a->normals);
    assert_memory_equal(a->sampled, b->sampled, count * sizeof *a->sampled);
    assert_memory_equal(a->lean, b->lean, count * sizeof *a->lean);
    assert_memory_equal(a->samples, b->samples, sizeof a->samples);
    assert_true(a->outward == b->outward && a->deviation == b->deviation && a->sag == b->sag);
}

/* Moves one control point after another, then two far apart, of the surface, which it releases. */
static void follow_moves(gw_nurbs *surface, unsigned long long *seed, double most)
{
    int all = surface->direction[0].count * surface->direction[1].count;
    gw_vec3 *points = malloc((size_t)all * sizeof *points);
    memcpy(points, surface->stated, (size_t)all * sizeof *points);
    gw_free_form *last = gw_free_form_create(surface, NULL, NULL);
    assert_non_null(last);
    for (int k = 0; k < 5; k++) {
        for (int i = 0; i <= k / 3; i++)
            points[(int)gw_random_uniform(seed, 0, all)].z += gw_random_uniform(seed, -most, most);
        gw_nurbs *moved = with_points(surface, points, surface);
        gw_free_form *reused = gw_free_form_create(moved, last, NULL);
        gw_free_form *fresh = gw_free_form_create(moved, NULL, NULL);
        gw_free_form *same = gw_free_form_create(moved, reused, NULL);
        assert_ptr_equal(same, reused);
        assert_same_form(reused, fresh);
        gw_free_form_put(same);
        gw_free_form_put(fresh);
        gw_free_form_put(last);
        gw_nurbs_put(surface);
        surface = moved;
        last = reused;
    }
    gw_free_form_put(last);
    gw_nurbs_put(surface);
    free(points);
}

static void a_form_that_reuses_samples_is_the_same_to_the_last_bit(void **state)
{
    (void)state;
    unsigned long long seed = 5;
    for (int n = 1; n <= 12; n++)
        follow_moves(random_bicubic(&seed, n, 0.05), &seed, 0.02);
    follow_moves(gw_nurbs_ellipsoid(gw_v3(1, 1, 1), NULL), &seed, 0.05);
    follow_moves(gw_nurbs_torus(1, 0.3, NULL), &seed, 0.05);
    follow_moves(gw_nurbs_cylinder(1, 2, NULL), &seed, 0.05);
    follow_moves(gw_nurbs_cone(1, 2, NULL), &seed, 0.05);
}

/* A ball falls on a surface of which a point was moved: candidates of a detector that reuses the
 * one before, which is gone by then, are those of one made anew. */
static void a_detector_that_reuses_surfaces_finds_the_same(void **state)
{
    (void)state;
    unsigned long long seed = 9;
    gw_nurbs *surface = random_bicubic(&seed, 8, 0.1);
    gw_vec3 points[11 * 11];
    memcpy(points, surface->stated, sizeof points);
    points[60].z += 0.05;
    gw_nurbs *moved = with_points(surface, points, surface);
    const gw_shape before = {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = surface},
                   after = {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = moved},
                   ball = {.kind = GW_SHAPE_SPHERE, .radius = 0.1};
    gw_collider colliders[2] = {{0, &ball, gw_pose_identity(), 0},
                                {1, &before, gw_pose_identity(), 0}};
    gw_detector_def def = {.body_count = 2, .collider_count = 2, .colliders = colliders};
    gw_detector *last = gw_detector_create(&def, NULL);
    assert_non_null(last);
    colliders[1].shape = &after;
    gw_detector *fresh = gw_detector_create(&def, NULL);
    def.reused = last;
    gw_detector *reused = gw_detector_create(&def, NULL);
    assert_non_null(fresh);
    assert_non_null(reused);
    gw_detector_destroy(last);
    gw_nurbs_put(surface);
    for (int i = 0; i < 200; i++) {
        gw_contact_candidate found[2][GW_PAIR_CANDIDATES];
        double gap[2];
        gw_pose at = gw_pose_identity();
        at.p = gw_v3(gw_random_uniform(&seed, 0, 1), gw_random_uniform(&seed, 0, 1),
                     gw_random_uniform(&seed, -0.2, 0.2));
        const gw_pair_query query = {
            .geom_b = 1, .world_from_a = at, .world_from_b = gw_pose_identity(), .reach = 0.05};
        int count = gw_detect_pair(reused, &query, found[0], &gap[0]);
        assert_int_equal(count, gw_detect_pair(fresh, &query, found[1], &gap[1]));
        assert_true(gap[0] == gap[1]);
        for (int k = 0; k < count; k++) {
            assert_true(found[0][k].gap == found[1][k].gap);
            assert_memory_equal(&found[0][k].normal, &found[1][k].normal,
                                sizeof found[0][k].normal);
        }
    }
    gw_detector_destroy(reused);
    gw_detector_destroy(fresh);
    gw_nurbs_put(moved);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_form_that_reuses_samples_is_the_same_to_the_last_bit),
        cmocka_unit_test(a_detector_that_reuses_surfaces_finds_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
