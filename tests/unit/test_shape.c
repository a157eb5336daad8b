/* Mass properties by Monte Carlo-free means: closed forms against integration over slices, and
 * against one another through compounds; features by their geometry. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>

#include "rt/geometry/feature.h"
#include "rt/geometry/shape.h"

static bool close_to(double a, double b, double tolerance)
{
    return fabs(a - b) <= tolerance * fmax(1e-12, fmax(fabs(a), fabs(b)));
}

/* Mass, com and inertia of a solid of revolution by summing thin discs of radius(z). */
static gw_mass discs(double low, double high, double r_low, double r_high, double density)
{
    enum { N = 200000 };
    gw_mass m = {0};
    double dz = (high - low) / N, first = 0, zz = 0, lateral = 0, axial = 0;
    for (int i = 0; i < N; i++) {
        double z = low + (i + 0.5) * dz, r = r_low + (r_high - r_low) * (i + 0.5) / N;
        double dm = density * GW_PI * r * r * dz;
        m.mass += dm;
        first += dm * z;
        zz += dm * z * z;
        lateral += dm * r * r / 4;
        axial += dm * r * r / 2;
    }
    m.com.z = first / m.mass;
    double about = zz - m.mass * m.com.z * m.com.z + lateral;
    m.inertia = (gw_mat3){{{about, 0, 0}, {0, about, 0}, {0, 0, axial}}};
    return m;
}

static void assert_same_mass(const gw_mass *a, const gw_mass *b, double tolerance)
{
    assert_true(close_to(a->mass, b->mass, tolerance));
    assert_true(gw_distance(a->com, b->com) < tolerance);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            assert_true(fabs(a->inertia.m[i][j] - b->inertia.m[i][j]) <
                        tolerance * a->inertia.m[2][2]);
}

static void round_solids_match_their_discs(void **state)
{
    (void)state;
    gw_shape cylinder = {.kind = GW_SHAPE_CYLINDER, .radius = 0.1, .height = 0.4};
    gw_shape cone = {.kind = GW_SHAPE_CONE, .radius = 0.04, .height = 0.1};
    gw_mass a = gw_shape_mass(&cylinder, 800), b = discs(-0.2, 0.2, 0.1, 0.1, 800);
    assert_same_mass(&a, &b, 1e-8);
    a = gw_shape_mass(&cone, 1200);
    b = discs(0, 0.1, 0.04, 0, 1200);
    assert_same_mass(&a, &b, 1e-8);
}

static void sphere_has_two_fifths(void **state)
{
    (void)state;
    gw_shape sphere = {.kind = GW_SHAPE_SPHERE, .radius = 0.5};
    gw_mass m = gw_shape_mass(&sphere, 3);
    assert_true(close_to(m.mass, 3 * 4.0 / 3 * GW_PI * 0.125, 1e-14));
    assert_true(close_to(m.inertia.m[1][1], 0.4 * m.mass * 0.25, 1e-14));
}

static void a_box_of_rotated_parts_has_the_mass_of_the_whole(void **state)
{
    (void)state;
    gw_quat turn = gw_quat_exp(gw_v3(0, 0, GW_PI / 2)); /* the parts' sizes are given turned */
    gw_part parts[2] = {
        {{.kind = GW_SHAPE_BOX, .size = {0.2, 0.1, 0.3}}, {{-0.05, 0, 0}, turn}},
        {{.kind = GW_SHAPE_BOX, .size = {0.2, 0.1, 0.3}}, {{0.05, 0, 0}, turn}},
    };
    gw_shape compound = {.kind = GW_SHAPE_COMPOUND, .part_count = 2, .parts = parts};
    gw_shape whole = {.kind = GW_SHAPE_BOX, .size = {0.2, 0.2, 0.3}};
    gw_mass a = gw_shape_mass(&compound, 1000), b = gw_shape_mass(&whole, 1000);
    assert_same_mass(&a, &b, 1e-12);
    gw_aabb bounds = gw_shape_bounds(&compound);
    assert_true(gw_distance(bounds.high, gw_v3(0.1, 0.1, 0.15)) < 1e-15);
}

static void a_box_names_every_face_edge_and_corner(void **state)
{
    (void)state;
    gw_shape box = {.kind = GW_SHAPE_BOX, .size = {2, 4, 6}};
    int kinds[3] = {0};
    assert_int_equal(gw_feature_count(&box), 33);
    for (int i = 0; i < 33; i++) {
        char name[GW_FEATURE_NAME];
        gw_element e, found;
        gw_feature_at(&box, i, name, &e);
        kinds[e.kind]++;
        assert_true(gw_feature_find(&box, name, &found));
        assert_true(e.kind == found.kind && gw_distance(e.p, found.p) == 0);
        assert_true(gw_distance(e.d, found.d) == 0);
    }
    assert_int_equal(kinds[GW_POINT], 9);
    assert_int_equal(kinds[GW_LINE], 15);
    assert_int_equal(kinds[GW_PLANE], 9);
    gw_element e;
    assert_true(gw_feature_find(&box, "-y", &e));
    assert_true(gw_distance(e.p, gw_v3(0, -2, 0)) + gw_distance(e.d, gw_v3(0, -1, 0)) < 1e-15);
    assert_true(gw_feature_find(&box, "+x-z", &e));
    assert_true(gw_distance(e.p, gw_v3(1, 0, -3)) + gw_distance(e.d, gw_v3(0, 1, 0)) < 1e-15);
    assert_true(gw_feature_find(&box, "+x-y+z", &e));
    assert_true(gw_distance(e.p, gw_v3(1, -2, 3)) < 1e-15);
    assert_false(gw_feature_find(&box, "+y+x", &e));
}

static void round_solids_name_theirs(void **state)
{
    (void)state;
    gw_shape cylinder = {.kind = GW_SHAPE_CYLINDER, .radius = 1, .height = 2};
    gw_shape cone = {.kind = GW_SHAPE_CONE, .radius = 1, .height = 2};
    gw_element e;
    assert_true(gw_feature_find(&cylinder, "bottom", &e));
    assert_true(e.kind == GW_PLANE && e.p.z == -1 && e.d.z == -1);
    assert_true(gw_feature_find(&cone, "apex", &e));
    assert_true(e.kind == GW_POINT && e.p.z == 2);
    assert_true(gw_feature_find(&cone, "base", &e));
    assert_true(e.kind == GW_PLANE && e.p.z == 0 && e.d.z == -1);
}

static void a_compound_s_features_carry_their_part(void **state)
{
    (void)state;
    gw_part parts[12];
    for (int i = 0; i < 12; i++)
        parts[i] = (gw_part){{.kind = GW_SHAPE_SPHERE, .radius = 1}, {{i, 0, 0}, {1, 0, 0, 0}}};
    gw_shape compound = {.kind = GW_SHAPE_COMPOUND, .part_count = 12, .parts = parts};
    gw_element e;
    assert_true(gw_feature_find(&compound, "part11.center", &e));
    assert_true(e.p.x == 11);
    assert_false(gw_feature_find(&compound, "part12.center", &e));
}

/* A cylinder and the two halves of a ball, cut into discs. */
static void a_capsule_is_a_cylinder_with_half_balls(void **state)
{
    (void)state;
    enum { N = 200000 };
    gw_shape capsule = {.kind = GW_SHAPE_CAPSULE, .radius = 0.1, .height = 0.3};
    gw_mass m = gw_shape_mass(&capsule, 700);
    double mass = 0, across = 0, axial = 0, dz = 0.5 / N;
    for (int i = 0; i < N; i++) {
        double z = -0.25 + (i + 0.5) * dz, beyond = fmax(0, fabs(z) - 0.15);
        double r2 = 0.01 - beyond * beyond, dm = 700 * GW_PI * r2 * dz;
        mass += dm;
        across += dm * (z * z + r2 / 4);
        axial += dm * r2 / 2;
    }
    assert_true(close_to(m.mass, mass, 1e-8) && gw_norm(m.com) == 0);
    assert_true(close_to(m.inertia.m[0][0], across, 1e-8));
    assert_true(close_to(m.inertia.m[1][1], across, 1e-8));
    assert_true(close_to(m.inertia.m[2][2], axial, 1e-8));
    assert_true(gw_distance(gw_shape_bounds(&capsule).high, gw_v3(0.1, 0.1, 0.25)) < 1e-15);
    gw_element e;
    assert_true(gw_feature_find(&capsule, "top", &e) && e.kind == GW_POINT && e.p.z == 0.15);
    assert_true(gw_feature_find(&capsule, "axis", &e) && e.kind == GW_LINE && e.d.z == 1);
    assert_int_equal(gw_feature_count(&capsule), 4);
}

static void a_bad_length_is_named(void **state)
{
    (void)state;
    gw_part part = {{.kind = GW_SHAPE_CONE, .radius = 1, .height = -2}, {{0, 0, 0}, {1, 0, 0, 0}}};
    gw_shape compound = {.kind = GW_SHAPE_COMPOUND, .part_count = 1, .parts = &part};
    gw_error error = {0};
    assert_false(gw_shape_check(&compound, &error));
    assert_string_equal(error.where, "/parts/0/geometry/height");
    assert_non_null(strstr(error.message, "-2"));
}

/* Whatever the caller's memory held before. */
static void every_feature_is_an_element_as_a_whole(void **state)
{
    (void)state;
    static const gw_shape shapes[] = {
        {.kind = GW_SHAPE_BOX, .size = {1, 2, 3}},
        {.kind = GW_SHAPE_CYLINDER, .radius = 1, .height = 2},
        {.kind = GW_SHAPE_CONE, .radius = 1, .height = 2},
        {.kind = GW_SHAPE_SPHERE, .radius = 1},
        {.kind = GW_SHAPE_CAPSULE, .radius = 1, .height = 2},
    };
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++) {
        assert_true(gw_feature_count(&shapes[k]) > 0);
        for (int i = 0; i < gw_feature_count(&shapes[k]); i++) {
            char name[GW_FEATURE_NAME];
            gw_element e;
            memset(&e, 0xa5, sizeof e);
            gw_feature_at(&shapes[k], i, name, &e);
            assert_null(e.nurbs);
            assert_true(e.q.w == 0 && e.q.x == 0 && e.q.y == 0 && e.q.z == 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_feature_is_an_element_as_a_whole),
        cmocka_unit_test(round_solids_match_their_discs),
        cmocka_unit_test(sphere_has_two_fifths),
        cmocka_unit_test(a_box_of_rotated_parts_has_the_mass_of_the_whole),
        cmocka_unit_test(a_box_names_every_face_edge_and_corner),
        cmocka_unit_test(round_solids_name_theirs),
        cmocka_unit_test(a_compound_s_features_carry_their_part),
        cmocka_unit_test(a_capsule_is_a_cylinder_with_half_balls),
        cmocka_unit_test(a_bad_length_is_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
