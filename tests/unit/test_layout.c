/* The layout of several objects: who is solved against whom, who follows whom, cycles. What follows
 * has no mass: systems of bodies are test_scene_system.c's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "tests/unit/scene_building.h"

static gw_layout *laid_out(const gw_scene *s)
{
    gw_error error = {0};
    gw_layout *l = gw_layout_create(s, NULL, &error);
    if (!l)
        fail_msg("%s: %s", error.where, error.message);
    return l;
}

static const gw_placement *of(const gw_layout *l, const gw_scene *s, const char *id)
{
    const gw_placement *p = gw_layout_placement(l, gw_scene_object(s, id));
    assert_non_null(p);
    return p;
}

/* base (fixed) <- lid lies on it, held <- knob lies on the lid <- bead on the knob */
static void an_object_on_a_held_object_is_carried(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    add_box(s, "bead", gw_v3(0.3, 0.1, 0.8), false);
    add_box(s, "knob", gw_v3(0.3, 0, 0.5), false);
    add_box(s, "lid", gw_v3(0, 0.2, 0.3), false);
    add_box(s, "base", gw_v3(0, 0, 0), true);
    join(s, "c1", GW_COINCIDENT, "lid", "-z", "base", "+z")->sense = GW_OPPOSITE;
    join(s, "c2", GW_COINCIDENT, "knob", "-z", "lid", "+z")->sense = GW_OPPOSITE;
    join(s, "c3", GW_COINCIDENT, "bead", "-z", "knob", "+z")->sense = GW_OPPOSITE;
    hold(s, "lid");
    let_others_follow(s);
    gw_layout *l = laid_out(s);
    assert_null(gw_layout_unsolved(l));
    assert_true(gw_layout_residual(l, l->poses) < 1e-12);
    assert_int_equal(of(l, s, "lid")->follow, GW_OBJECT_HELD);
    assert_int_equal(of(l, s, "lid")->solution.dof, 3);
    assert_int_equal(of(l, s, "knob")->follow, GW_OBJECT_CARRIED);
    assert_int_equal(of(l, s, "bead")->follow, GW_OBJECT_CARRIED);
    assert_int_equal(of(l, s, "bead")->carrier, gw_scene_object(s, "lid"));
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

/* The same without a hand: no object follows another. */
static void without_a_hand_all_objects_are_static(void **state)
{
    (void)state;
    gw_scene *s = four_bar();
    gw_scene_remove_tool(s, 0);
    gw_layout *l = laid_out(s);
    assert_null(gw_layout_unsolved(l));
    assert_true(gw_layout_residual(l, l->poses) < 1e-11);
    for (int i = 0; i < l->count; i++)
        assert_int_equal(l->placements[i]->follow, GW_OBJECT_STATIC);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

static void a_rod_follows_crank_and_rail(void **state)
{
    (void)state;
    gw_scene *s = slider_crank();
    let_others_follow(s);
    gw_layout *l = laid_out(s);
    assert_null(gw_layout_unsolved(l));
    assert_true(gw_layout_residual(l, l->poses) < 1e-11);
    assert_int_equal(of(l, s, "crank")->solution.dof, 1);
    assert_int_equal(of(l, s, "rod")->follow, GW_OBJECT_SOLVED);
    assert_int_equal(of(l, s, "rod")->cluster, -1);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

static void a_loop_is_solved_as_one_cluster(void **state)
{
    (void)state;
    gw_scene *s = four_bar();
    let_others_follow(s);
    gw_layout *l = laid_out(s);
    assert_null(gw_layout_unsolved(l));
    assert_true(gw_layout_residual(l, l->poses) < 1e-11);
    assert_int_equal(of(l, s, "crank")->solution.dof, 1);
    const gw_placement *coupler = of(l, s, "coupler"), *rocker = of(l, s, "rocker");
    assert_int_equal(coupler->follow, GW_OBJECT_SOLVED);
    assert_int_equal(rocker->follow, GW_OBJECT_SOLVED);
    assert_true(coupler->cluster >= 0 && coupler->cluster == rocker->cluster);
    assert_int_equal(coupler->cluster_dof, 0); /* while the crank stands */
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

/* A cycle of points 0.3, 0.3 and 0.9 m apart. */
static void a_loop_without_a_pose_is_unhandled(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    add_box(s, "a", gw_v3(0, 0, 0), true);
    add_box(s, "b", gw_v3(0.3, 0, 0), false);
    add_box(s, "c", gw_v3(0.3, 0.3, 0), false);
    join(s, "ab", GW_DISTANCE, "b", "center", "a", "center")->value = 0.3;
    join(s, "bc", GW_DISTANCE, "c", "center", "b", "center")->value = 0.3;
    join(s, "ac", GW_DISTANCE, "c", "center", "a", "center")->value = 0.9;
    gw_layout *l = laid_out(s);
    const gw_placement *p = gw_layout_unsolved(l);
    assert_non_null(p);
    assert_int_equal(p->solution.status, GW_STATUS_UNHANDLED);
    s->constraints[2].value = 0.5; /* and now there is one, with b moved from where it was put */
    gw_layout_destroy(l);
    l = laid_out(s);
    assert_null(gw_layout_unsolved(l));
    assert_true(gw_layout_residual(l, l->poses) < 1e-11);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

/* A block that its constraints to the ground leave no freedom cannot follow: the hand is bound. */
static void an_object_that_cannot_follow_constrains_the_held_one(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    add_box(s, "ground", gw_v3(0, 0, 0), true);
    add_box(s, "hand", gw_v3(0.3, 0, 0.1), false);
    add_box(s, "block", gw_v3(0.01, 0, 0.12), false);
    join(s, "c1", GW_COINCIDENT, "block", "-z", "ground", "+z")->sense = GW_OPPOSITE;
    join(s, "c2", GW_COINCIDENT, "block", "+x", "ground", "+x")->sense = GW_SAME;
    join(s, "c3", GW_COINCIDENT, "block", "+y", "ground", "+y")->sense = GW_SAME;
    join(s, "c4", GW_COINCIDENT, "hand", "-z", "ground", "+z")->sense = GW_OPPOSITE;
    join(s, "c5", GW_COINCIDENT, "hand", "-x", "block", "+x")->sense = GW_OPPOSITE;
    hold(s, "hand");
    let_others_follow(s);
    gw_layout *l = laid_out(s);
    assert_null(gw_layout_unsolved(l));
    assert_int_equal(of(l, s, "block")->follow, GW_OBJECT_STATIC);
    assert_int_equal(of(l, s, "hand")->solution.dof, 1); /* along the block's face */
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

/* Nothing is fixed: what all constraints have as b stands, or else what no hand holds. */
static void a_group_without_fixed_objects_gets_a_ground(void **state)
{
    (void)state;
    gw_scene *s = new_scene();
    add_box(s, "cup", gw_v3(0.01, 0, 0.2), false);
    add_box(s, "tray", gw_v3(0, 0, 0), false);
    join(s, "c1", GW_COINCIDENT, "cup", "-z", "tray", "+z")->sense = GW_OPPOSITE;
    hold(s, "tray");
    let_others_follow(s);
    gw_layout *l = laid_out(s);
    assert_int_equal(of(l, s, "tray")->solution.dof, 6);
    assert_int_equal(of(l, s, "cup")->follow, GW_OBJECT_CARRIED);
    gw_layout_destroy(l);
    snprintf(s->tools[0].object, sizeof s->tools[0].object, "cup");
    let_others_follow(s);
    l = laid_out(s);
    assert_int_equal(of(l, s, "tray")->follow, GW_OBJECT_STATIC);
    assert_int_equal(of(l, s, "cup")->solution.dof, 3);
    gw_layout_destroy(l);
    gw_scene_destroy(s);
}

/* A flag that follows a free body is carried, whichever of them the scene has first. */
static void a_massless_object_follows_a_free_one(void **state)
{
    (void)state;
    for (int k = 0; k < 2; k++) {
        gw_scene *s = new_scene();
        add_box(s, "base", gw_v3(0, 0, 0), true);
        for (int i = 0; i < 2; i++)
            add_box(s, i == k ? "flag" : "lid", gw_v3(0, 0, i == k ? 0.2 : 0.1), false);
        s->objects[gw_scene_object(s, "lid")].free = true;
        s->objects[gw_scene_object(s, "flag")].massless = true;
        join(s, "c1", GW_COINCIDENT, "lid", "-z", "base", "+z")->sense = GW_OPPOSITE;
        join(s, "c2", GW_COINCIDENT, "flag", "-z", "lid", "+z")->sense = GW_OPPOSITE;
        gw_layout *l = laid_out(s);
        assert_null(gw_layout_unsolved(l));
        assert_int_equal(l->system_count, 0);
        assert_int_equal(of(l, s, "lid")->follow, GW_OBJECT_FREE);
        assert_int_equal(of(l, s, "lid")->solution.dof, 3);
        assert_int_equal(of(l, s, "flag")->follow, GW_OBJECT_CARRIED);
        assert_int_equal(of(l, s, "flag")->carrier, gw_scene_object(s, "lid"));
        gw_layout_destroy(l);
        gw_scene_destroy(s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_object_on_a_held_object_is_carried),
        cmocka_unit_test(without_a_hand_all_objects_are_static),
        cmocka_unit_test(a_rod_follows_crank_and_rail),
        cmocka_unit_test(a_loop_is_solved_as_one_cluster),
        cmocka_unit_test(a_loop_without_a_pose_is_unhandled),
        cmocka_unit_test(an_object_that_cannot_follow_constrains_the_held_one),
        cmocka_unit_test(a_group_without_fixed_objects_gets_a_ground),
        cmocka_unit_test(a_massless_object_follows_a_free_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
