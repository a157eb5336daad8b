/* Solids of several parts: what is between the parts is no surface, what they leave open is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/detector_fixture.h"

enum { ROOM = 256 };

/* Tiles as parts of one floor: what slides over their borders meets no edges. */
static void internal_faces_of_parts_give_no_contact(void **state)
{
    (void)state;
    gw_part tiles[16];
    for (int i = 0; i < 16; i++)
        tiles[i] = (gw_part){box_shape(0.25, 0.25, 0.1),
                             at(-0.375 + 0.25 * (i % 4), -0.375 + 0.25 * (i / 4), 0)};
    gw_shape floor = {.kind = GW_SHAPE_COMPOUND, .part_count = 16, .parts = tiles};
    gw_shape what[] = {box_shape(0.15, 0.1, 0.1), round_shape(GW_SHAPE_SPHERE, 0.05, 0),
                       round_shape(GW_SHAPE_CYLINDER, 0.05, 0.1)};
    for (int k = 0; k < 3; k++) {
        stage s = {.count = 2, .moving = 1, .shapes = {what[k], floor}};
        s.poses[1] = at(0, 0, 0);
        stage_open(&s);
        gw_contact_candidate near[ROOM];
        for (int i = 0; i < 400; i++) {
            s.poses[0] =
                at_turned(-0.3 + 0.0015 * i, 0.2 - 0.001 * i, 0.1 - 1e-5, gw_v3(0, 0, 0.01 * i));
            int count = stage_detect(&s, 0.005, near, ROOM), touching = 0;
            for (int j = 0; j < count; j++) {
                followed f = follow(&near[j], s.poses);
                assert_true(f.n.z > 0.99 || f.gap > 1e-4);
                touching += f.gap < 0;
            }
            assert_true(touching >= (k == 1 ? 1 : 4));
        }
        gw_detector_destroy(s.detector);
    }
}

/* Two walls as parts of one body, overlapping or side by side: what is in the corner between them,
 * by much or little, touches both. */
static void a_corner_between_parts_touches_both(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        bool overlap = k & 1, round = k & 2;
        gw_part walls[2] = {{box_shape(1, 2, 2), at(-0.5, overlap ? 0 : 1, 0)},
                            {box_shape(2, 1, 2), at(0, -0.5, 0)}};
        gw_shape body = {.kind = GW_SHAPE_COMPOUND, .part_count = 2, .parts = walls};
        gw_shape what = round ? round_shape(GW_SHAPE_SPHERE, 0.05, 0) : box_shape(0.1, 0.1, 0.1);
        stage s = {.count = 2, .moving = 1, .shapes = {what, body}};
        s.poses[1] = at(0, 0, 0);
        stage_open(&s);
        for (double x = -3e-3; x < 4e-3; x += 1e-3)
            for (double y = -3e-3; y < 4e-3; y += 1e-3) {
                gw_contact_candidate near[ROOM];
                double least[2] = {INFINITY, INFINITY};
                s.poses[0] = at(0.05 + x, 0.05 + y, 0);
                int count = stage_detect(&s, 0.01, near, ROOM);
                for (int i = 0; i < count; i++) {
                    followed f = follow(&near[i], s.poses);
                    least[0] = f.n.x > 1 - 1e-9 ? fmin(least[0], f.gap) : least[0];
                    least[1] = f.n.y > 1 - 1e-9 ? fmin(least[1], f.gap) : least[1];
                }
                assert_true(fabs(least[0] - x) < 1e-9 && fabs(least[1] - y) < 1e-9);
            }
        gw_detector_destroy(s.detector);
    }
}

/* ---- in a corner ----------------------------------------------------------------------------- */

/* A floor z < 0 and a wall x < 0, butted, stacked, overlapping, edge to edge: where each begins. */
typedef struct joint {
    double floor_x, wall_z;
} joint;

static bool covered(const followed *pairs, int count, gw_vec3 corner, gw_vec3 out, double slack)
{
    double height = gw_dot(out, corner);
    for (int i = 0; i < count; i++) {
        const followed *f = &pairs[i];
        if (gw_dot(f->n, out) > 0.99 && fabs(f->gap - height) < slack &&
            gw_norm(gw_reject(gw_sub(f->a, corner), out)) < slack)
            return true;
    }
    return false;
}

/* The box's lowest corner is `down` over the floor, its leftmost `aside` of the wall: each corner
 * near either is told, with its gap. */
static void slide_into(stage *s, gw_vec3 size, gw_quat turn, double down, double aside)
{
    gw_contact_candidate near[ROOM];
    followed pairs[ROOM];
    gw_vec3 corner[8], low = {0, 0, 0};
    for (int k = 0; k < 8; k++) {
        gw_vec3 c = {k & 1 ? 0.5 : -0.5, k & 2 ? 0.5 : -0.5, k & 4 ? 0.5 : -0.5};
        corner[k] = gw_rotate(turn, gw_v3(c.x * size.x, c.y * size.y, c.z * size.z));
        low = gw_v3(fmin(low.x, corner[k].x), 0, fmin(low.z, corner[k].z));
    }
    s->poses[0] = (gw_pose){{aside - low.x, 0.03, down - low.z}, turn};
    int count = stage_detect(s, 2e-3, near, ROOM);
    for (int i = 0; i < count; i++)
        pairs[i] = follow(&near[i], s->poses);
    double slack = 2 * (fmax(0, -down) + fmax(0, -aside)) + 1e-6;
    for (int k = 0; k < 8; k++) {
        gw_vec3 x = gw_add(s->poses[0].p, corner[k]);
        assert_true(x.z > 5e-4 || covered(pairs, count, x, gw_v3(0, 0, 1), slack));
        assert_true(x.x > 5e-4 || covered(pairs, count, x, gw_v3(1, 0, 0), slack));
    }
}

static void a_box_in_a_corner_keeps_all_its_vertices(void **state)
{
    (void)state;
    const joint joints[] = {{0, -0.1}, {-0.1, 0}, {-0.1, -0.05}, {0, 0}};
    const double gaps[] = {1e-4, 1e-6, -1e-9, -1e-7, -1e-6, -1e-5, -1e-4, -5e-4, -2e-3};
    const double yaws[] = {0, 1e-9, 1e-6, 1e-4, 1e-2}, tilts[] = {0, 1e-5, -1e-5, 1e-3, -1e-3};
    gw_vec3 size = {0.1, 0.14, 0.08};
    for (int k = 0; k < 4; k++) {
        double x = joints[k].floor_x, z = joints[k].wall_z;
        gw_part parts[2] = {{box_shape(1 - x, 2, 0.1), at(0.5 * (1 + x), 0, -0.05)},
                            {box_shape(0.1, 2, 0.5 - z), at(-0.05, 0, 0.5 * (0.5 + z))}};
        gw_shape body = {.kind = GW_SHAPE_COMPOUND, .part_count = 2, .parts = parts};
        stage s = {.count = 2, .moving = 1, .shapes = {box_shape(size.x, size.y, size.z), body}};
        s.poses[1] = at(0, 0, 0);
        stage_open(&s);
        for (int i = 0; i < 9 * 9 * 5 * 5; i++) {
            gw_quat turn = gw_quat_mul(gw_quat_exp(gw_v3(0, 0, yaws[i % 5])),
                                       gw_quat_exp(gw_v3(0, tilts[i / 5 % 5], 0)));
            slide_into(&s, size, turn, gaps[i / 25 % 9], gaps[i / 225]);
        }
        gw_detector_destroy(s.detector);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(internal_faces_of_parts_give_no_contact),
        cmocka_unit_test(a_corner_between_parts_touches_both),
        cmocka_unit_test(a_box_in_a_corner_keeps_all_its_vertices),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
