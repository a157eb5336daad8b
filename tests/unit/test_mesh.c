/* Meshes: welded, closed, weighed against closed forms; hulls against their definition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "tests/unit/mesh_fixture.h"

static soup s;

static void start(void)
{
    s.vertex_count = s.triangle_count = 0;
}

static gw_mass mass_of(gw_mesh *mesh, double density)
{
    gw_shape shape = {.kind = GW_SHAPE_MESH, .mesh = mesh};
    return gw_shape_mass(&shape, density);
}

static void assert_same(const gw_mass *a, const gw_mass *b, double tolerance)
{
    assert_true(fabs(a->mass - b->mass) < tolerance * b->mass);
    assert_true(gw_distance(a->com, b->com) < tolerance);
    for (int i = 0; i < 9; i++)
        assert_true(fabs(a->inertia.m[i / 3][i % 3] - b->inertia.m[i / 3][i % 3]) <
                    tolerance * b->inertia.m[0][0]);
}

static void a_box_of_triangles_has_a_boxs_mass_properties(void **state)
{
    (void)state;
    gw_part part = {{.kind = GW_SHAPE_BOX, .size = {0.2, 0.3, 0.5}},
                    {{10.1, 20.15, 30.25}, {1, 0, 0, 0}}};
    gw_shape box = {.kind = GW_SHAPE_COMPOUND, .part_count = 1, .parts = &part};
    gw_mass of_box = gw_shape_mass(&box, 700);
    start();
    add_block(&s, gw_v3(10, 20, 30), gw_v3(10.2, 20.3, 30.5), 3);
    gw_mesh *mesh = mesh_of(&s, NULL);
    assert_true(mesh->closed);
    assert_int_equal(mesh->triangle_count, 108);
    assert_int_equal(mesh->vertex_count, 56); /* 4^3 - 2^3 */
    gw_mass mass = mass_of(mesh, 700);
    assert_same(&mass, &of_box, 1e-11);
    gw_mesh_put(mesh);
    /* inside out: turned */
    for (int i = 0; i < s.triangle_count; i++) {
        int swap = s.triangles[i][0];
        s.triangles[i][0] = s.triangles[i][1];
        s.triangles[i][1] = swap;
    }
    mesh = mesh_of(&s, NULL);
    mass = mass_of(mesh, 700);
    assert_same(&mass, &of_box, 1e-11);
    gw_mesh_put(mesh);
}

static void a_corner_has_the_mass_properties_of_its_two_blocks(void **state)
{
    (void)state;
    gw_part parts[2] = {
        {{.kind = GW_SHAPE_BOX, .size = {0.4, 0.2, 0.1}}, {{0.2, 0.1, 0.05}, {1, 0, 0, 0}}},
        {{.kind = GW_SHAPE_BOX, .size = {0.1, 0.2, 0.2}}, {{0.05, 0.1, 0.2}, {1, 0, 0, 0}}}};
    gw_shape blocks = {.kind = GW_SHAPE_COMPOUND, .part_count = 2, .parts = parts};
    gw_mass both = gw_shape_mass(&blocks, 1000);
    start();
    add_corner(&s);
    gw_mesh *mesh = mesh_of(&s, NULL);
    assert_true(mesh->closed);
    gw_mass mass = mass_of(mesh, 1000);
    assert_same(&mass, &both, 1e-12);
    gw_mesh_put(mesh);
}

static void open_meshes_are_not_solid_but_have_hulls(void **state)
{
    (void)state;
    gw_error error = {0};
    start();
    add_block(&s, gw_v3(0, 0, 0), gw_v3(1, 2, 3), 1);
    s.triangle_count--;
    gw_mesh *mesh = mesh_of(&s, &error);
    assert_false(mesh->closed);
    gw_shape shape = {.kind = GW_SHAPE_MESH, .mesh = mesh};
    assert_false(gw_shape_check(&shape, &error));
    assert_string_equal(error.where, "/file");
    assert_non_null(strstr(error.message, "m.stl is open"));
    gw_mesh *hull = gw_mesh_hull(mesh, &error);
    assert_true(hull->closed && hull->convex);
    assert_true(fabs(mass_of(hull, 1).mass - 6) < 1e-12);
    gw_mesh_put(hull);
    gw_mesh_put(mesh);
}

static void two_blocks_on_one_edge_are_refused(void **state)
{
    (void)state;
    start();
    add_block(&s, gw_v3(0, 0, 0), gw_v3(1, 1, 1), 1);
    add_block(&s, gw_v3(1, 1, 0), gw_v3(2, 2, 1), 1);
    gw_mesh *mesh = mesh_of(&s, NULL);
    assert_false(mesh->closed);
    gw_mesh_put(mesh);
}

static void bad_meshes_are_named(void **state)
{
    (void)state;
    gw_error error = {0};
    start();
    add_block(&s, gw_v3(0, 0, 0), gw_v3(1, 1, 1), 1);
    s.triangles[5][2] = 36;
    assert_null(mesh_of(&s, &error));
    assert_string_equal(error.message, "triangle 5 names vertex 36 of 36");
    s.triangles[5][2] = -1;
    assert_null(mesh_of(&s, &error));
    s.triangles[5][2] = 0;
    s.vertices[7].y = NAN;
    assert_null(mesh_of(&s, &error));
    assert_non_null(strstr(error.message, "vertex 7"));
    start();
    add_triangle(&s, gw_v3(0, 0, 0), gw_v3(0, 0, 0), gw_v3(1, 0, 0));
    assert_null(mesh_of(&s, &error));
    s.triangle_count = GW_MAX_MESH_TRIANGLES + 1;
    assert_null(mesh_of(&s, &error));
    assert_int_equal(error.code, GW_TOO_LARGE);
    /* flat: no hull, no inside */
    start();
    add_square(&s, gw_v3(0, 0, 0), gw_v3(1, 0, 0), gw_v3(0, 1, 0), 3);
    gw_mesh *mesh = mesh_of(&s, NULL);
    assert_false(mesh->closed);
    assert_null(gw_mesh_hull(mesh, &error));
    assert_non_null(strstr(error.message, "plane"));
    gw_mesh_put(mesh);
}

static double some(unsigned *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1u << 23) - 1;
}

static void hulls_contain_their_points_and_are_minimal(void **state)
{
    (void)state;
    static gw_vec3 points[400];
    static int triangles[2 * GW_MAX_HULL][3];
    unsigned seed = 3;
    for (int round = 0; round < 60; round++) {
        int count = 4 + round * 6;
        for (int i = 0; i < count; i++) {
            points[i] = gw_v3(some(&seed), some(&seed), some(&seed));
            if (round % 3 == 1) /* on a ball */
                points[i] = gw_unit(points[i]);
            if (round % 3 == 2) /* on a grid: many in one plane */
                points[i] =
                    gw_v3(floor(3 * points[i].x), floor(3 * points[i].y), floor(3 * points[i].z));
        }
        int sides = gw_convex_hull(count, points, GW_MAX_HULL, triangles);
        assert_true(sides >= 4);
        double volume = 0;
        for (int k = 0; k < sides; k++) {
            gw_vec3 a = points[triangles[k][0]], b = points[triangles[k][1]],
                    c = points[triangles[k][2]];
            gw_vec3 n = gw_unit(gw_cross(gw_sub(b, a), gw_sub(c, a)));
            for (int i = 0; i < count; i++)
                assert_true(gw_dot(n, gw_sub(points[i], a)) < 1e-9);
            volume += gw_dot(a, gw_cross(b, c)) / 6;
        }
        assert_true(volume > 0);
        /* each edge in two of them */
        for (int k = 0; k < sides; k++) {
            for (int e = 0; e < 3; e++) {
                int other = 0, from = triangles[k][e], to = triangles[k][(e + 1) % 3];
                for (int i = 0; i < sides; i++)
                    for (int f = 0; f < 3; f++)
                        other += triangles[i][f] == to && triangles[i][(f + 1) % 3] == from;
                assert_int_equal(other, 1);
            }
        }
    }
}

static void too_many_corners_are_refused(void **state)
{
    (void)state;
    static gw_vec3 points[GW_MAX_HULL + 40];
    static int triangles[2 * GW_MAX_HULL][3];
    unsigned seed = 5;
    for (int i = 0; i < GW_MAX_HULL + 40; i++)
        points[i] = gw_unit(gw_v3(some(&seed), some(&seed), some(&seed)));
    assert_int_equal(gw_convex_hull(GW_MAX_HULL + 40, points, GW_MAX_HULL, triangles), -1);
    assert_int_equal(gw_convex_hull(GW_MAX_HULL, points, GW_MAX_HULL, triangles),
                     2 * GW_MAX_HULL - 4);
}

static void shapes_share_their_mesh(void **state)
{
    (void)state;
    start();
    add_block(&s, gw_v3(0, 0, 0), gw_v3(1, 1, 1), 1);
    gw_part part = {{.kind = GW_SHAPE_MESH, .mesh = mesh_of(&s, NULL)}, {{0, 0, 1}, {1, 0, 0, 0}}};
    gw_mesh *mesh = part.shape.mesh;
    gw_shape compound = {.kind = GW_SHAPE_COMPOUND, .part_count = 1, .parts = &part}, copy, again;
    assert_true(gw_shape_check(&compound, NULL));
    assert_true(gw_shape_copy(&copy, &compound, NULL));
    assert_true(gw_shape_copy(&again, &part.shape, NULL));
    assert_int_equal(atomic_load(&mesh->references), 3);
    assert_true(gw_distance(gw_shape_bounds(&copy).high, gw_v3(1, 1, 2)) < 1e-15);
    assert_true(gw_distance(gw_shape_mass(&copy, 1).com, gw_v3(0.5, 0.5, 1.5)) < 1e-12);
    gw_shape_finish(&copy);
    gw_shape_finish(&again);
    assert_int_equal(atomic_load(&mesh->references), 1);
    gw_mesh_put(mesh);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_box_of_triangles_has_a_boxs_mass_properties),
        cmocka_unit_test(a_corner_has_the_mass_properties_of_its_two_blocks),
        cmocka_unit_test(open_meshes_are_not_solid_but_have_hulls),
        cmocka_unit_test(two_blocks_on_one_edge_are_refused),
        cmocka_unit_test(bad_meshes_are_named),
        cmocka_unit_test(hulls_contain_their_points_and_are_minimal),
        cmocka_unit_test(too_many_corners_are_refused),
        cmocka_unit_test(shapes_share_their_mesh),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
