/* Solids of several parts: what is between the parts is no surface, what they leave open is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/detector_fixture.h"

enum { ROOM = 256 };

static gw_pose at(double x, double y, double z)
{
    return (gw_pose){{x, y, z}, {1, 0, 0, 0}};
}

static gw_pose at_turned(double x, double y, double z, gw_vec3 rotation)
{
    return (gw_pose){{x, y, z}, gw_quat_exp(rotation)};
}

/* Tiles as parts of one floor: what slides over their borders meets no edges. */
static void borders_of_parts_do_not_exist(void **state)
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
        gw_near near[ROOM];
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
                gw_near near[ROOM];
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(borders_of_parts_do_not_exist),
        cmocka_unit_test(a_corner_between_parts_touches_both),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
