/* Hulls and meshes in contact: a box made of triangles must be as good as a box; a floor of many
 * triangles must be as smooth as one of two. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/detector_fixture.h"
#include "tests/unit/mesh_fixture.h"

enum { ROOM = 256 };

static soup triangles;
static bool as_cells;

static int by_cells(void **state)
{
    (void)state;
    as_cells = true;
    return 0;
}

static int by_triangles(void **state)
{
    (void)state;
    as_cells = false;
    return 0;
}

/* Triangles begin; so many that they are taken one by one, far below what is tested. */
static void begin(void)
{
    triangles.vertex_count = triangles.triangle_count = 0;
    if (!as_cells)
        add_block(&triangles, gw_v3(-0.1, -0.1, -2), gw_v3(0.1, 0.1, -1.9), 10);
}

static gw_shape block(gw_vec3 size, int n, bool convex)
{
    begin();
    if (convex)
        triangles.vertex_count = triangles.triangle_count = 0;
    add_block(&triangles, gw_scale(-0.5, size), gw_scale(0.5, size), n);
    gw_mesh *mesh = mesh_of(&triangles, NULL);
    if (convex) {
        gw_mesh *hull = gw_mesh_hull(mesh, NULL);
        gw_mesh_put(mesh);
        mesh = hull;
    }
    return (gw_shape){.kind = GW_SHAPE_MESH, .mesh = mesh};
}

/* Against a box and against the same box in triangles: the same nearest gap and normal. */
static void compare(int kind, int cuts, bool convex, double near_by, double deepest)
{
    unsigned seed = 11;
    gw_vec3 size = {0.5, 0.3, 0.2};
    stage plain = {
        .count = 2, .moving = 1, .shapes = {some_shape(kind), box_shape(size.x, size.y, size.z)}};
    stage mesh = {.count = 2, .moving = 1, .shapes = {some_shape(kind), block(size, cuts, convex)}};
    stage_open(&plain);
    stage_open(&mesh);
    for (int i = 0, compared = 0; compared < 60; i++) {
        gw_contact_candidate a[ROOM], b[ROOM];
        plain.poses[0] = mesh.poses[0] = (gw_pose){some_vector(&seed, near_by), some_turn(&seed)};
        plain.poses[1] = mesh.poses[1] = (gw_pose){some_vector(&seed, 0.05), some_turn(&seed)};
        if (stage_detect(&plain, 0.4, a, ROOM) < 1 || a[0].gap < deepest)
            continue;
        compared++;
        int count = stage_detect(&mesh, 0.4, b, ROOM);
        assert_true(count >= 1);
        followed f = follow(&a[0], plain.poses), g = follow(&b[0], mesh.poses);
        /* cut through, a triangle says how deep along its own normal: never shallower */
        if (f.gap > 0 || convex) {
            assert_true(fabs(f.gap - g.gap) < 1e-7);
            assert_true(gw_distance(f.n, g.n) < 1e-5);
        }
        for (int k = 0; k < count; k++)
            assert_true(b[k].gap > f.gap - 1e-7);
    }
    stage_close(&plain);
    stage_close(&mesh);
}

static void a_hull_is_as_good_as_a_box(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        compare(kind, 1, true, 0.4, -INFINITY);
        compare(kind, 3, true, 0.4, -INFINITY);
    }
}

static void triangles_are_as_good_as_a_box(void **state)
{
    (void)state;
    for (int kind = 0; kind < 5; kind++) {
        compare(kind, 1, false, 0.4, 1e-6);
        compare(kind, 4, false, 0.4, 1e-6);
    }
}

static void rest(gw_shape what, double height, gw_shape on, int expected)
{
    stage s = {.count = 2, .moving = 1, .shapes = {what, on}};
    stage_open(&s);
    gw_contact_candidate near[ROOM];
    for (double gap = -1e-4; gap < 2e-4; gap += 1e-4) {
        s.poses[0] = (gw_pose){{0.013, 0.027, height + gap}, gw_quat_exp(gw_v3(0, 0, 0.3))};
        s.poses[1] = at(0, 0, 0);
        int count = stage_detect(&s, 0.01, near, ROOM);
        assert_int_equal(count, expected);
        double width = 0;
        for (int i = 0; i < count; i++) {
            followed f = follow(&near[i], s.poses);
            assert_true(f.n.z > 1 - 1e-9 && fabs(f.gap - gap) < 1e-9);
            width = fmax(width, gw_distance(f.a, follow(&near[0], s.poses).a));
        }
        assert_true(expected == 1 || width > 0.15);
    }
    stage_close(&s);
}

static void solids_rest_on_floors_of_triangles(void **state)
{
    (void)state;
    gw_vec3 floor = {1, 1, 0.1}, cube = {0.2, 0.2, 0.2};
    for (int n = 1; n < 10; n += 4) {
        rest(round_shape(GW_SHAPE_SPHERE, 0.1, 0), 0.15, block(floor, n, false), 1);
        rest(box_shape(0.2, 0.2, 0.2), 0.15, block(floor, n, false), 4);
        rest(block(cube, n, true), 0.15, block(floor, n, false), 4);
        rest(round_shape(GW_SHAPE_CYLINDER, 0.1, 0.2), 0.15, block(floor, n, false), 4);
    }
    rest(block(cube, 1, false), 0.15, block(floor, 1, false), 4);
    rest(block(cube, 3, false), 0.15, block(floor, 4, false), 4);
    rest(block(cube, 3, false), 0.15, box_shape(1, 1, 0.1), 4);
}

/* Over the borders of triangles in a plane: one normal, no steps, and names that stay. */
static void a_ball_rolls_smoothly_over_flat_borders(void **state)
{
    (void)state;
    stage s = {
        .count = 2,
        .moving = 1,
        .shapes = {round_shape(GW_SHAPE_SPHERE, 0.05, 0), block(gw_v3(1, 1, 0.1), 8, false)}};
    s.poses[1] = at(0, 0, 0);
    stage_open(&s);
    gw_contact_candidate near[ROOM];
    uint64_t key = 0;
    for (int i = 0; i < 400; i++) {
        s.poses[0] = at(-0.4 + 0.002 * i, 0.3 - 0.0013 * i, 0.1 - 1e-5);
        assert_int_equal(stage_detect(&s, 0.005, near, ROOM), 1);
        followed f = follow(&near[0], s.poses);
        assert_true(f.n.z > 1 - 1e-12 && fabs(f.gap + 1e-5) < 1e-12);
        assert_true(i == 0 || near[0].key == key);
        key = near[0].key;
    }
    stage_close(&s);
}

static void a_box_slides_smoothly_over_flat_borders(void **state)
{
    (void)state;
    stage s = {.count = 2,
               .moving = 1,
               .shapes = {box_shape(0.15, 0.1, 0.1), block(gw_v3(1, 1, 0.1), 8, false)}};
    s.poses[1] = at(0, 0, 0);
    stage_open(&s);
    gw_contact_candidate near[ROOM];
    for (int i = 0; i < 400; i++) {
        s.poses[0] = (gw_pose){{-0.3 + 0.0015 * i, 0.2 - 0.001 * i, 0.1 - 1e-5},
                               gw_quat_exp(gw_v3(0, 0, 0.01 * i))};
        int count = stage_detect(&s, 0.005, near, ROOM);
        assert_int_equal(count, 4);
        for (int k = 0; k < count; k++) {
            followed f = follow(&near[k], s.poses);
            assert_true(f.n.z > 1 - 1e-12 && fabs(f.gap + 1e-5) < 1e-9);
        }
    }
    stage_close(&s);
}

/* In the inner corner of an L: the floor below and the wall beside, nothing from what is behind. */
static void a_ball_in_a_corner_touches_floor_and_wall(void **state)
{
    (void)state;
    begin();
    add_corner(&triangles);
    gw_shape corner = {.kind = GW_SHAPE_MESH, .mesh = mesh_of(&triangles, NULL)};
    stage s = {.count = 2, .moving = 1, .shapes = {round_shape(GW_SHAPE_SPHERE, 0.05, 0), corner}};
    s.poses[1] = at(0, 0, 0);
    s.poses[0] = at(0.152, 0.1, 0.151);
    stage_open(&s);
    gw_contact_candidate near[ROOM];
    assert_int_equal(stage_detect(&s, 0.02, near, ROOM), 2);
    followed f = follow(&near[0], s.poses), g = follow(&near[1], s.poses);
    assert_true(f.n.z > 1 - 1e-12 && fabs(f.gap - 0.001) < 1e-12);
    assert_true(g.n.x > 1 - 1e-12 && fabs(g.gap - 0.002) < 1e-12);
    /* and on the outer edge of the wall's top */
    s.poses[0] = at(0.1 + 0.06 * 0.6, 0.1, 0.3 + 0.06 * 0.8);
    assert_int_equal(stage_detect(&s, 0.02, near, ROOM), 1);
    f = follow(&near[0], s.poses);
    assert_true(gw_distance(f.n, gw_v3(0.6, 0, 0.8)) < 1e-9 && fabs(f.gap - 0.01) < 1e-12);
    stage_close(&s);
}

/* A plate on a wall of 1 mm: what is on the wall's other side is not its business. */
static void a_thin_wall_of_triangles_has_two_sides(void **state)
{
    (void)state;
    stage s = {.count = 2,
               .moving = 1,
               .shapes = {box_shape(0.2, 0.2, 0.001), block(gw_v3(1, 1, 0.001), 3, false)}};
    s.poses[1] = at(0, 0, 0);
    stage_open(&s);
    gw_contact_candidate near[ROOM];
    for (int side = -1; side < 2; side += 2) {
        s.poses[0] = at(0.02, 0.03, side * 0.00095);
        int count = stage_detect(&s, 0.005, near, ROOM);
        assert_int_equal(count, 4);
        for (int k = 0; k < count; k++) {
            followed f = follow(&near[k], s.poses);
            assert_true(side * f.n.z > 1 - 1e-12 && fabs(f.gap + 5e-5) < 1e-9);
        }
    }
    stage_close(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hull_is_as_good_as_a_box),
        cmocka_unit_test_setup(triangles_are_as_good_as_a_box, by_triangles),
        cmocka_unit_test_setup(triangles_are_as_good_as_a_box, by_cells),
        cmocka_unit_test_setup(solids_rest_on_floors_of_triangles, by_triangles),
        cmocka_unit_test_setup(solids_rest_on_floors_of_triangles, by_cells),
        cmocka_unit_test_setup(a_ball_rolls_smoothly_over_flat_borders, by_triangles),
        cmocka_unit_test_setup(a_ball_rolls_smoothly_over_flat_borders, by_cells),
        cmocka_unit_test_setup(a_box_slides_smoothly_over_flat_borders, by_triangles),
        cmocka_unit_test_setup(a_box_slides_smoothly_over_flat_borders, by_cells),
        cmocka_unit_test_setup(a_ball_in_a_corner_touches_floor_and_wall, by_triangles),
        cmocka_unit_test_setup(a_ball_in_a_corner_touches_floor_and_wall, by_cells),
        cmocka_unit_test_setup(a_thin_wall_of_triangles_has_two_sides, by_triangles),
        cmocka_unit_test_setup(a_thin_wall_of_triangles_has_two_sides, by_cells),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
