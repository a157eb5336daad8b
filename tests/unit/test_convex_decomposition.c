/* Solids that are not convex, filled by cells that are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/geometry/convex_decomposition.h"
#include "tests/unit/mesh_fixture.h"

static soup triangles;

static void begin(void)
{
    triangles.vertex_count = triangles.triangle_count = 0;
}

/* Cells of what was added: as many as expected, convex, the volume theirs together. */
static void check(int expected)
{
    gw_mesh *cells[GW_MAX_CONVEX_PIECES], *mesh = mesh_of(&triangles, NULL);
    assert_non_null(mesh);
    int count = gw_mesh_convex_decomposition(mesh, cells);
    assert_int_equal(count, expected);
    double volume = 0;
    for (int i = 0; i < count; i++) {
        assert_true(cells[i]->convex && cells[i]->closed);
        volume += cells[i]->mass.mass;
        gw_mesh_put(cells[i]);
    }
    assert_true(count == 0 || fabs(volume - mesh->mass.mass) < 1e-9 * mesh->mass.mass);
    gw_mesh_put(mesh);
}

static void a_block_is_one_piece(void **state)
{
    (void)state;
    for (int n = 1; n < 6; n++) {
        begin();
        add_block(&triangles, gw_v3(0, 0, 0), gw_v3(0.3, 0.2, 0.1), n);
        check(1);
    }
}

static void an_ell_is_two_pieces(void **state)
{
    (void)state;
    begin();
    add_corner(&triangles);
    check(2);
}

/* A ring of `n` corners, its hole as wide as half of it. */
static void add_ring(int n)
{
    gw_vec3 up = {0, 0, 0.05};
    for (int i = 0; i < n; i++) {
        double a = 2 * GW_PI * i / n, b = 2 * GW_PI * ((i + 1) % n) / n;
        gw_vec3 p = {0.1 * cos(a), 0.1 * sin(a), 0}, q = {0.1 * cos(b), 0.1 * sin(b), 0};
        gw_vec3 r = gw_scale(0.5, q), s = gw_scale(0.5, p), c[4] = {p, q, r, s};
        for (int k = 0; k < 4; k += 2) {
            gw_vec3 from = c[k], to = c[k + 1];
            add_triangle(&triangles, from, to, gw_add(to, up));
            add_triangle(&triangles, from, gw_add(to, up), gw_add(from, up));
        }
        add_triangle(&triangles, p, s, r);
        add_triangle(&triangles, p, r, q);
        add_triangle(&triangles, gw_add(p, up), gw_add(r, up), gw_add(s, up));
        add_triangle(&triangles, gw_add(p, up), gw_add(q, up), gw_add(r, up));
    }
}

static void a_ring_has_a_piece_for_each_side_of_its_hole(void **state)
{
    (void)state;
    for (int n = 3; n <= 40; n += 9) {
        begin();
        add_ring(n);
        check(n);
    }
}

/* Numbers of seven digits, as a file has them, turned so that no plane is exact. */
static void rounding_of_files_does_not_matter(void **state)
{
    (void)state;
    begin();
    add_corner(&triangles);
    gw_quat turn = gw_quat_exp(gw_v3(0.3, -0.7, 0.4));
    for (int i = 0; i < triangles.vertex_count; i++) {
        gw_vec3 p = gw_add(gw_rotate(turn, triangles.vertices[i]), gw_v3(0.1, -0.2, 0.3));
        triangles.vertices[i] = gw_v3((float)p.x, (float)p.y, (float)p.z);
    }
    gw_mesh *cells[GW_MAX_CONVEX_PIECES], *mesh = mesh_of(&triangles, NULL);
    assert_int_equal(gw_mesh_convex_decomposition(mesh, cells), 2);
    for (int i = 0; i < 2; i++)
        gw_mesh_put(cells[i]);
    gw_mesh_put(mesh);
}

static void too_many_pieces_are_given_up(void **state)
{
    (void)state;
    begin();
    add_ring(GW_MAX_CONVEX_PIECES + 1);
    check(0);
    begin();
    add_block(&triangles, gw_v3(0, 0, 0), gw_v3(0.3, 0.2, 0.1), 1);
    triangles.triangle_count--; /* open */
    check(0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_block_is_one_piece),
        cmocka_unit_test(an_ell_is_two_pieces),
        cmocka_unit_test(a_ring_has_a_piece_for_each_side_of_its_hole),
        cmocka_unit_test(rounding_of_files_does_not_matter),
        cmocka_unit_test(too_many_pieces_are_given_up),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
