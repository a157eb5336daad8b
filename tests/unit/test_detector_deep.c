/* Primitives that overlap deeply: what a pair of points pushes along goes through what they share.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/detector_fixture.h"

enum { ROOM = 64, KINDS = 7 };

static gw_shape some_solid(int kind)
{
    const gw_shape shapes[KINDS] = {box_shape(0.1, 0.16, 0.24),
                                    round_shape(GW_SHAPE_CYLINDER, 0.06, 0.18),
                                    round_shape(GW_SHAPE_CONE, 0.08, 0.15),
                                    round_shape(GW_SHAPE_CAPSULE, 0.04, 0.2),
                                    round_shape(GW_SHAPE_SPHERE, 0.07, 0),
                                    round_shape(GW_SHAPE_CYLINDER, 0.1, 0.04),
                                    round_shape(GW_SHAPE_CONE, 0.03, 0.2)};
    return shapes[kind];
}

static double outside_of(const stage *s, int body, gw_vec3 point)
{
    gw_vec3 local = gw_unrotate(s->poses[body].q, gw_sub(point, s->poses[body].p));
    return outside(&s->shapes[body], local);
}

/* How far the line from one point to the other, and half as far beyond, stays outside of what both
 * solids share; 0: it goes through that. */
static double aside(const stage *s, const gw_contact_candidate *near)
{
    followed f = follow(near, s->poses);
    gw_vec3 a = gw_mul_add(f.a, -near->radius_a, f.n), b = gw_mul_add(f.b, near->radius_b, f.n);
    double least = INFINITY;
    for (int i = -50; i <= 150; i++) {
        gw_vec3 x = gw_mul_add(a, 0.01 * i, gw_sub(b, a));
        least = fmin(least, fmax(outside_of(s, 0, x), outside_of(s, 1, x)));
    }
    return fmax(0, least);
}

static void normals_of_deep_overlaps_go_through_the_intersection(void **state)
{
    (void)state;
    const double shallow = 5e-4, deep = 0.012;
    unsigned seed = 3;
    int pairs = 0, off = 0;
    double worst = 0;
    for (int k = 0; k < KINDS * KINDS; k++) {
        stage s = {
            .count = 2, .moving = 1, .shapes = {some_solid(k / KINDS), some_solid(k % KINDS)}};
        stage_open(&s);
        for (int done = 0; done < 60;) {
            gw_contact_candidate near[ROOM];
            s.poses[0] = (gw_pose){some_vector(&seed, 0.1), some_turn(&seed)};
            s.poses[1] = (gw_pose){some_vector(&seed, 0.05), some_turn(&seed)};
            int count = stage_detect(&s, 1e-3, near, ROOM);
            if (count == 0 || near[0].gap > -shallow || near[0].gap < -deep)
                continue;
            done++;
            for (int i = 0; i < count && near[i].gap < -1e-4; i++) {
                double by = aside(&s, &near[i]);
                pairs++;
                off += by > 1e-6;
                worst = fmax(worst, by / -near[0].gap);
            }
        }
        gw_detector_destroy(s.detector);
    }
    print_message("%d pairs of points in overlaps of 0.5 to 12 mm, %d beside what is shared, by "
                  "%.2f of the depth at most\n",
                  pairs, off, worst);
    assert_true(off < pairs / 50 && worst < 0.4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(normals_of_deep_overlaps_go_through_the_intersection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
