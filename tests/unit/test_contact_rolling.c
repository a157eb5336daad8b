/*
 * A rolling cone: its contact points leave the rim's features by which they are followed.
 */
// clang-format off
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
// clang-format on

#include "tests/unit/playing.h"

/* A cone of 1 kg in the air over a floor that it sticks to. */
static void drop_cone(play *p, gw_vec3 spin, gw_quat q)
{
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    s->gravity = gw_v3(0, 0, -9.81);
    s->contact.enabled = true;
    s->contact.rules.friction = GW_FRICTION_STICK;
    put_material(s, 0.5, 0.4);
    put(s, "floor", box(4, 4, 0.2), gw_v3(0, 0, -0.1))->fixed = true;
    put_loose(s, "cone", (gw_shape){.kind = GW_SHAPE_CONE, .radius = 0.05, .height = 0.1},
              gw_v3(0, 0, 0.3), 1);
    gw_object *cone = &s->objects[1];
    cone->pose.q = gw_quat_unit(q);
    cone->velocity = gw_v3(0.5, 0, 0);
    cone->spin = spin;
    assert_true(start_play(p, s));
}

static double deepest(const gw_snapshot *s)
{
    double deep = 0;
    for (int i = 0; i < s->contact_count; i++)
        deep = fmax(deep, -s->contacts[i].at.gap);
    return deep;
}

static void run_for(play *p, double seconds)
{
    for (int i = 0; i < (int)(seconds * 1000); i++)
        tick_play(p);
}

/* It rolls about its apex, for ever: no deeper, no faster. */
static void a_rolling_cone_stays_at_its_height(void **state)
{
    (void)state;
    play p;
    drop_cone(&p, gw_v3(-5.65983, 4.029181, -0.806795),
              (gw_quat){0.785012023, 0.578501492, 0.017078753, -0.220908269});
    run_for(&p, 3);
    const gw_snapshot *s = gw_simulation_snapshot(p.simulation);
    double deep = deepest(s), kinetic = s->energy.kinetic;
    assert_true(kinetic > 0.05);
    run_for(&p, 20);
    print_message("%.3f mm deep, after 20 s more %.3f; %.6f J, then %.6f\n", 1e3 * deep,
                  1e3 * deepest(s), kinetic, s->energy.kinetic);
    assert_true(fabs(deepest(s) - deep) < 1e-5);
    assert_true(fabs(s->energy.kinetic - kinetic) < 1e-3 * kinetic);
    stop_play(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_rolling_cone_stays_at_its_height),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
