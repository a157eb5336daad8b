/*
 * Contacts that an edit keeps go on from where they were followed: on the branch that they were on,
 * though a search would find another one, and by a search where that branch has ended.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/scene/surface.h"
#include "tests/unit/free_fixture.h"

/* ---- a ball between two walls ---------------------------------------------------------------- */

#define HALF   0.1  /* m, of the trough's width */
#define BEND   20.0 /* 1/m: z = BEND x^2 */
#define RADIUS 0.06 /* m, of a ball that is too large to lie at the bottom */

/* The trough z = BEND x^2, its left edge `in` to the right and raised as much; another knot in the
 * middle of u where `refined` is set, and weights of its left edge. */
static gw_shape trough(double in, double weight, bool refined)
{
    static const double coarse[] = {0, 0, 0, 1, 1, 1}, fine[] = {0, 0, 0, 0.5, 1, 1, 1};
    static const double along[] = {0, 0, 1, 1};
    const double high = BEND * HALF * HALF;
    gw_vec3 rows[4] = {{-HALF + in, 0, high + in}, {0, 0, -high}, {HALF, 0, high}}, points[8];
    double weights[8];
    int count = refined ? 4 : 3;
    if (refined) {
        rows[3] = rows[2];
        rows[2] = gw_scale(0.5, gw_add(rows[1], rows[3]));
        rows[1] = gw_scale(0.5, gw_add(rows[0], rows[1]));
    }
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 2; k++) {
            points[2 * i + k] = gw_add(rows[i], gw_v3(0, 0.2 * k - 0.1, 0));
            weights[2 * i + k] = i == 0 ? weight : 1;
        }
    gw_nurbs_def def = {.dimension = 2,
                        .degree = {2, 1},
                        .count = {count, 2},
                        .knot_count = {count + 3, 4},
                        .knots = {refined ? fine : coarse, along},
                        .points = points,
                        .weights = weight != 1 ? weights : NULL};
    gw_shape shape = {.kind = GW_SHAPE_NURBS_SURFACE, .nurbs = gw_nurbs_create(&def, NULL)};
    assert_non_null(shape.nurbs);
    return shape;
}

/* A ball that slides on it, a little nearer to the right wall. */
static gw_scene *ball_in_a_trough(void)
{
    gw_scene *s = new_scene();
    double centre = BEND * (RADIUS * RADIUS - 0.25 / (BEND * BEND)) + 0.5 / BEND;
    add_box(s, "trough", gw_v3(0, 0, 0), true)->shape = trough(0, 1, false);
    add_ball(s, "ball", gw_v3(0.001, 0, centre), RADIUS);
    join(s, "touches", GW_SLIDING, "ball", "surface", "trough", "surface");
    return s;
}

static void reshape(gw_scene *s, gw_shape shape)
{
    gw_nurbs_put(s->objects[0].shape.nurbs);
    s->objects[0].shape = shape;
}

static gw_layout *lay_out(const gw_scene *s, const gw_pose *poses, const gw_contact_start *start)
{
    gw_error error = {0};
    gw_layout_known known = {.starts = {start ? 1 : 0, start}};
    gw_layout *l = gw_layout_update(s, poses, &known, &error);
    if (!l)
        fail_msg("%s", error.message);
    return l;
}

static const gw_placed_contact *contact_of(const gw_layout *l)
{
    assert_int_equal(l->system_count, 1);
    assert_int_equal(l->systems[0]->contact_count, 1);
    return &l->systems[0]->contacts[0];
}

/* A branch is followed although the other wall has come nearer to the ball than the one that it
 * touches; a search goes over to that. */
static void the_branch_stays_where_another_one_is_nearer(void **state)
{
    (void)state;
    gw_scene *s = ball_in_a_trough();
    gw_layout *first = gw_layout_create(s, NULL, NULL);
    gw_contact_start start;
    assert_non_null(first);
    assert_int_equal(gw_layout_contacts(first, &start, 1), 1);
    assert_true(start.point.b[0] > 0.6); /* u: on the right */
    assert_false(contact_of(first)->continues);
    reshape(s, trough(0.004, 1, false));
    gw_layout *searched = lay_out(s, first->poses, NULL);
    gw_layout *followed = lay_out(s, first->poses, &start);
    assert_true(contact_of(searched)->first.b[0] < 0.4);
    assert_false(contact_of(searched)->continues);
    assert_true(fabs(contact_of(followed)->first.b[0] - start.point.b[0]) < 0.02);
    assert_true(contact_of(followed)->continues);
    double goes = gw_distance(searched->poses[1].p, first->poses[1].p);
    double stays = gw_distance(followed->poses[1].p, first->poses[1].p);
    print_message("the ball goes by %.2g m, by %.2g m where it is searched for\n", stays, goes);
    assert_true(goes > 1e-3 && stays < 0.4e-3);
    gw_layout_destroy(first);
    gw_layout_destroy(searched);
    gw_layout_destroy(followed);
    gw_scene_destroy(s);
}

/* Where the branch has ended the contact is searched for, and the answer is that of a search. */
static void what_leads_nowhere_is_searched_for(void **state)
{
    (void)state;
    gw_scene *s = ball_in_a_trough();
    gw_layout *first = gw_layout_create(s, NULL, NULL);
    gw_contact_start start;
    assert_non_null(first);
    gw_layout_contacts(first, &start, 1);
    for (int n = 0; n < 3; n++) {
        gw_contact_start off = start;
        gw_pose poses[2] = {first->poses[0], first->poses[1]};
        if (n == 0)
            off.point.b[0] = 0.02, off.point.b[1] = 0.99; /* elsewhere */
        else if (n == 1)
            poses[1].p.x += 0.05, poses[1].p.z += 0.1; /* the ball has gone */
        else
            reshape(s, trough(0, 1, true)); /* other parameters */
        gw_layout *searched = lay_out(s, poses, NULL), *followed = lay_out(s, poses, &off);
        assert_false(contact_of(followed)->continues);
        assert_memory_equal(searched->poses, followed->poses, 2 * sizeof(gw_pose));
        gw_layout_destroy(searched);
        gw_layout_destroy(followed);
    }
    gw_layout_destroy(first);
    gw_scene_destroy(s);
}

/* A start from which the contact closes nowhere: surfaces that cross there, where another branch
 * does not. */
static void a_start_that_does_not_hold_is_left(void **state)
{
    (void)state;
    gw_scene *s = ball_in_a_trough();
    gw_layout *first = gw_layout_create(s, NULL, NULL);
    gw_contact_start start;
    assert_non_null(first);
    gw_layout_contacts(first, &start, 1);
    start.point.b[0] = 0.5; /* the bottom bends more than the ball: its minus is a crossing */
    start.point.a[0] = start.point.a[1] = 0, start.point.a[2] = -1;
    s->objects[1].pose.p.x = 0;
    gw_layout *searched = lay_out(s, NULL, NULL), *followed = lay_out(s, NULL, &start);
    assert_memory_equal(searched->poses, followed->poses, 2 * sizeof(gw_pose));
    assert_false(contact_of(followed)->continues);
    gw_layout_destroy(first);
    gw_layout_destroy(searched);
    gw_layout_destroy(followed);
    gw_scene_destroy(s);
}

/* ---- keys ------------------------------------------------------------------------------------ */

static uint64_t key_of(const gw_scene *s)
{
    gw_closure_def closure;
    bool swapped;
    assert_true(gw_scene_velocity_closure(s, 0, &closure, &swapped, NULL));
    return gw_contact_key(&s->constraints[0], &closure.contact);
}

static void a_key_is_of_what_the_parameters_are_of(void **state)
{
    (void)state;
    gw_scene *s = ball_in_a_trough();
    uint64_t key = key_of(s);
    reshape(s, trough(0.02, 1, false));
    assert_true(key_of(s) == key);
    reshape(s, trough(0.02, 0.7, false));
    assert_true(key_of(s) == key);
    s->constraints[0].kind = GW_ROLLING;
    assert_true(key_of(s) == key);
    reshape(s, trough(0, 1, true));
    assert_true(key_of(s) != key);
    reshape(s, trough(0, 1, false));
    assert_true(key_of(s) == key);
    strcpy(s->objects[1].id, "other");
    strcpy(s->constraints[0].a.object, "other");
    assert_true(key_of(s) != key);
    gw_scene_destroy(s);
}

/* ---- while it runs --------------------------------------------------------------------------- */

/* Two hundred edits of control points and weights, one every five ticks: the contact
 * point goes on, so does the ball, and no energy comes from nowhere. */
static void the_point_goes_on_over_edits(void **state)
{
    (void)state;
    running r;
    double jump = 0, worst = 0, bent = 0;
    running_open(&r, ball_in_a_trough());
    const gw_snapshot *now = running_tick(&r);
    assert_int_equal(now->followed_count, 1);
    gw_contact_start before = now->followed[0];
    gw_vec3 was[2] = {body(now, &r, "ball")->pose.p, body(now, &r, "ball")->pose.p};
    for (int i = 1; i <= 1000; i++) {
        if (i % 5 == 0) {
            double in = 0.006 * (0.5 - 0.5 * cos(i * 0.01));
            reshape(r.scene, trough(in, 1 + 10 * in, false));
            hand_over(&r, now, NULL);
        }
        now = running_tick(&r);
        assert_int_equal(now->followed_count, 1);
        assert_true(now->followed[0].key == before.key &&
                    now->followed[0].point.searched == (i < 5));
        jump = fmax(jump, fabs(now->followed[0].point.b[0] - before.point.b[0]));
        gw_vec3 p = body(now, &r, "ball")->pose.p;
        bent = fmax(bent, gw_norm(gw_add(gw_sub(p, gw_scale(2, was[1])), was[0])));
        was[0] = was[1], was[1] = p;
        before = now->followed[0];
        worst = fmax(worst, fabs(energy_error(now)));
    }
    print_message("the place goes by %.2g of the trough in a tick, the path bends by %.2g m, the "
                  "energy balance is off by %.2g J\n",
                  jump, bent, worst);
    assert_true(before.point.b[0] > 0.6);
    assert_true(jump < 2e-3 && bent < 1e-5 && worst < 1e-9);
    running_close(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_branch_stays_where_another_one_is_nearer),
        cmocka_unit_test(what_leads_nowhere_is_searched_for),
        cmocka_unit_test(a_start_that_does_not_hold_is_left),
        cmocka_unit_test(a_key_is_of_what_the_parameters_are_of),
        cmocka_unit_test(the_point_goes_on_over_edits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
