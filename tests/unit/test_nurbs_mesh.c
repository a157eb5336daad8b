/* Triangles in place of free-form surfaces: how far from them, and whether they are closed. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/geometry/nurbs_mesh.h"
#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/nurbs_primitive.h"
#include "tests/unit/nurbs_fixture.h"

static double off(const gw_nurbs *surface, gw_vec3 point)
{
    gw_nurbs_nearest nearest;
    gw_nurbs_nearest_point(surface, point, &nearest);
    return nearest.distance;
}

/* Largest distance of corners, and of the triangles' middles, from the surface, by its size. */
static void measure(const gw_nurbs *surface, const gw_mesh *m, double *corners, double *middles)
{
    *corners = *middles = 0;
    for (int i = 0; i < m->vertex_count; i++)
        *corners = fmax(*corners, off(surface, m->vertices[i]) / surface->size);
    for (int i = 0; i < m->triangle_count; i++) {
        gw_vec3 middle = {0, 0, 0};
        for (int k = 0; k < 3; k++)
            middle = gw_mul_add(middle, 1.0 / 3, m->vertices[m->triangles[i][k]]);
        *middles = fmax(*middles, off(surface, middle) / surface->size);
    }
}

static void triangles_lie_on_the_surface(void **state)
{
    (void)state;
    unsigned long long seed = 11;
    double worst = 0;
    for (int trial = 1; trial < 60; trial += 2) {
        gw_nurbs *surface = random_nurbs(&seed, trial);
        if (surface->dimension == 2) {
            gw_mesh *mesh = gw_nurbs_mesh(surface, NULL, NULL);
            double corners, middles;
            assert_non_null(mesh);
            measure(surface, mesh, &corners, &middles);
            assert_true(corners < 1e-9);
            assert_true(middles < 2e-2); /* these are as wild as 14 x 14 random points */
            worst = fmax(worst, middles);
            gw_mesh_put(mesh);
        }
        gw_nurbs_put(surface);
    }
    print_message("random surfaces: triangles within %.1e of their size\n", worst);
}

/* Volume and centre of a body that a closed surface encloses; a plane takes two triangles. */
static void what_encloses_a_volume_is_closed(void **state)
{
    (void)state;
    gw_nurbs *closed[] = {gw_nurbs_ellipsoid(gw_v3(0.3, 0.2, 0.1), NULL),
                          gw_nurbs_torus(0.2, 0.05, NULL)};
    const double volumes[] = {4.0 / 3 * M_PI * 0.3 * 0.2 * 0.1,
                              2 * M_PI * M_PI * 0.2 * 0.05 * 0.05};
    for (int i = 0; i < 2; i++) {
        double corners, middles;
        gw_mesh *mesh = gw_nurbs_mesh(closed[i], NULL, NULL);
        measure(closed[i], mesh, &corners, &middles);
        print_message("%d triangles, within %.1e of the size\n", mesh->triangle_count, middles);
        assert_true(mesh->closed);
        assert_true(corners < 1e-12 && middles < 2e-3);
        assert_true(fabs(mesh->mass.mass / volumes[i] - 1) < 0.02);
        assert_true(gw_norm(mesh->mass.com) < 1e-9);
        gw_mesh_put(mesh);
        gw_nurbs_put(closed[i]);
    }
}

static void a_plane_takes_two_triangles(void **state)
{
    (void)state;
    static const double knots[] = {0, 0, 1, 1};
    static const gw_vec3 points[] = {{0, 0, 0}, {0, 1, 0}, {1, 0, 0}, {1, 1, 0}};
    const gw_nurbs_def def = {.dimension = 2,
                              .degree = {1, 1},
                              .count = {2, 2},
                              .knot_count = {4, 4},
                              .knots = {knots, knots},
                              .points = points};
    gw_nurbs *plane = gw_nurbs_create(&def, NULL);
    gw_mesh *mesh = gw_nurbs_mesh(plane, NULL, NULL);
    assert_int_equal(mesh->triangle_count, 2);
    for (int i = 0; i < 2; i++) {
        const int *t = mesh->triangles[i];
        gw_vec3 a = mesh->vertices[t[0]];
        gw_vec3 n = gw_cross(gw_sub(mesh->vertices[t[1]], a), gw_sub(mesh->vertices[t[2]], a));
        assert_true(n.z > 0); /* S_u x S_v */
    }
    gw_mesh_put(mesh);
    gw_nurbs_put(plane);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(triangles_lie_on_the_surface),
        cmocka_unit_test(what_encloses_a_volume_is_closed),
        cmocka_unit_test(a_plane_takes_two_triangles),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
