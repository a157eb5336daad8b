/* Detection between loop and world's thread: when bodies go out and candidates are taken up, what
 * is detected anew, and what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "rt/sim/detection.h"
#include "tests/unit/detector_fixture.h"

enum { PERIOD = 5, DUE = 2 }; /* ticks: from a message to the next, to what comes of it */

static gw_contact_material counted(const void *context, int a, int b)
{
    (void)a, (void)b;
    ++*(int *)(uintptr_t)context;
    return (gw_contact_material){0};
}

/* Two balls 1 mm apart. */
typedef struct pair {
    int looks;
    gw_detection_body bodies[2];
    gw_detection *detection;
} pair;

static void open_pair(pair *p)
{
    gw_shape ball = round_shape(GW_SHAPE_SPHERE, 0.05, 0);
    gw_collider colliders[] = {{0, &ball, at(0, 0, 0), 0}, {1, &ball, at(0, 0, 0), 0}};
    gw_pose poses[] = {at(0, 0, 0), at(0.101, 0, 0)};
    gw_detection_def def = {
        .detector = {.body_count = 2,
                     .collider_count = 2,
                     .colliders = colliders,
                     .surface = counted,
                     .context = &p->looks},
        .poses = poses,
        .moving = 2,
        .period = PERIOD * 1e-3,
        .tick = 1e-3,
        .margin = 0.005,
    };
    *p = (pair){.bodies = {{.body = 0, .pose = poses[0]}, {.body = 1, .pose = poses[1]}}};
    p->detection = gw_detection_create(&def, NULL);
    assert_non_null(p->detection);
}

/* A tick; where it takes candidates, the one that there is in *taken. */
static gw_detection_turn tick(pair *p, gw_contact_candidate *taken)
{
    int count;
    gw_detection_turn turn = gw_detection_begin_tick(p->detection);
    if (turn.takes) {
        const gw_contact_candidate *near = gw_detection_candidates(p->detection, &count);
        assert_non_null(near);
        assert_int_equal(count, 1);
        *taken = *near;
    }
    if (turn.asks)
        gw_detection_publish(p->detection, p->bodies, 2);
    return turn;
}

/* Candidates of bodies that stand still are told again without another detection. */
static void bodies_at_rest_are_detected_once(void **state)
{
    (void)state;
    pair p;
    gw_contact_candidate taken;
    open_pair(&p);
    int first = p.looks;
    assert_true(first > 0);
    for (int i = 0; i < 5 * PERIOD; i++) {
        tick(&p, &taken);
        gw_detection_run(p.detection);
        assert_int_equal(p.looks, first);
    }
    p.bodies[1].pose.p.x += 1e-4;
    assert_true(tick(&p, &taken).asks);
    gw_detection_run(p.detection);
    assert_true(p.looks > first);
    int second = p.looks;
    p.bodies[1].twist.v.x = -1; /* where it is, but faster */
    for (int i = 0; i < PERIOD; i++)
        tick(&p, &taken);
    gw_detection_run(p.detection);
    assert_true(p.looks > second);
    gw_detection_destroy(p.detection);
}

/* Whenever the world's thread runs, the candidates are taken up so many ticks after the bodies went
 * out, and are those of the bodies as they were then. */
static void candidates_are_taken_up_in_a_tick_fixed_beforehand(void **state)
{
    (void)state;
    pair p;
    gw_contact_candidate taken = {0};
    for (int late = 0; late < DUE; late++) {
        open_pair(&p);
        for (int i = 0; i < 8 * PERIOD; i++) {
            assert_true(gw_detection_ready(p.detection));
            p.bodies[1].pose.p.x = 0.101 + 1e-5 * i;
            gw_detection_turn turn = tick(&p, &taken);
            assert_int_equal(turn.asks, i % PERIOD == 0);
            assert_int_equal(turn.takes, i % PERIOD == DUE);
            assert_false(turn.overdue);
            assert_int_equal(gw_detection_asked(p.detection), turn.asks);
            if (turn.takes)
                assert_true(fabs(taken.gap - (0.001 + 1e-5 * (i - DUE))) < 1e-12);
            if (i % PERIOD == late)
                gw_detection_run(p.detection);
        }
        gw_detection_destroy(p.detection);
    }
}

/* A tick that is made without them says so; they are taken up as soon as they come. */
static void candidates_that_come_late_are_overdue(void **state)
{
    (void)state;
    pair p;
    gw_contact_candidate taken = {0};
    open_pair(&p);
    for (int i = 0; i < DUE; i++)
        assert_true(gw_detection_ready(p.detection) && !tick(&p, &taken).overdue);
    for (int i = DUE; i < PERIOD + 1; i++) {
        assert_false(gw_detection_ready(p.detection));
        gw_detection_turn turn = tick(&p, &taken);
        assert_true(turn.overdue && !turn.takes && !turn.asks);
    }
    gw_detection_run(p.detection);
    gw_detection_turn turn = tick(&p, &taken);
    assert_true(turn.takes && turn.asks && !turn.overdue);
    assert_true(gw_detection_overdue(p.detection));
    gw_detection_run(p.detection);
    for (int i = 0; i < DUE; i++)
        turn = tick(&p, &taken);
    assert_true(turn.takes);
    assert_false(gw_detection_overdue(p.detection));
    gw_detection_destroy(p.detection);
}

/* Candidates found before tick 0 are dropped; after an edit the first candidates come at once. */
static void a_restart_and_an_edit_begin_anew(void **state)
{
    (void)state;
    pair p;
    gw_contact_candidate taken = {0};
    open_pair(&p);
    assert_true(tick(&p, &taken).asks);
    gw_detection_run(p.detection);
    gw_detection_restart(p.detection);
    gw_detection_expedite(p.detection);
    assert_true(gw_detection_ready(p.detection));
    gw_detection_turn turn = tick(&p, &taken);
    assert_true(turn.asks && !turn.takes);
    assert_false(gw_detection_ready(p.detection));
    gw_detection_run(p.detection);
    turn = tick(&p, &taken);
    assert_true(turn.asks && turn.takes);
    gw_detection_destroy(p.detection);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bodies_at_rest_are_detected_once),
        cmocka_unit_test(candidates_are_taken_up_in_a_tick_fixed_beforehand),
        cmocka_unit_test(candidates_that_come_late_are_overdue),
        cmocka_unit_test(a_restart_and_an_edit_begin_anew)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
