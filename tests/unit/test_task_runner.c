/*
 * The run of a task, fed with snapshots made by hand: what it asks for, when a step ends and why.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "rt/scene/scene.h"
#include "rt/sim/task_runner.h"
#include "tests/unit/scenario_fixture.h"

/* A world that the test moves: one tool on a plane, parameters phi, s, t. */
typedef struct world {
    gw_task task;
    gw_task_step steps[4];
    gw_task_run run;
    gw_snapshot snapshot;
    gw_submanifold set;
} world;

static void begin(world *w, int steps)
{
    w->task = (gw_task){.id = "t", .object = "cone", .step_count = steps, .steps = w->steps};
    w->set = fixture_turning(GW_LOCUS_PLANE);
    w->snapshot = (gw_snapshot){.revision = 1, .state = GW_RUNNING, .tool_count = 1};
    w->snapshot.tools[0].world_from_object = (gw_pose){{0.3, -0.2, 0}, gw_quat_identity()};
    gw_task_begin(&w->run, &w->task, 0, 100);
}

static gw_task_action polled(world *w)
{
    gw_task_view view = {&w->snapshot, &w->set};
    return gw_task_poll(&w->run, &view);
}

static gw_task_step waiting(double seconds)
{
    return (gw_task_step){.kind = GW_STEP_WAIT, .seconds = seconds};
}

static gw_task_step moving(const char *name, bool relative, double value)
{
    gw_task_step step = {.kind = GW_STEP_MOVE, .target_count = 1, .speed = 0.1, .spin = 1};
    strcpy(step.targets[0].name, name);
    step.targets[0].relative = relative;
    step.targets[0].value = value;
    return step;
}

static gw_task_step constraining(const char *enable)
{
    gw_task_step step = {.kind = GW_STEP_CONSTRAIN, .enable_count = 1};
    strcpy(step.enable[0], enable);
    return step;
}

/* The robot's way of the newest command, over or not. */
static void guided(world *w, bool moves, gw_motion_outcome outcome, double reaction)
{
    w->snapshot.tools[0].guide = (gw_motion_state){.active = true,
                                                   .moving = moves,
                                                   .tag = w->run.tag,
                                                   .outcome = outcome,
                                                   .reaction = reaction};
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void a_wait_counts_the_simulations_time(void **state)
{
    (void)state;
    world w = {.steps = {waiting(0.5), waiting(0)}};
    begin(&w, 2);
    w.snapshot.time = 3;
    polled(&w);
    w.snapshot.time = 3.4999;
    polled(&w);
    assert_int_equal(w.run.progress.step, 0);
    w.snapshot.state = GW_PAUSED; /* time stands: so does the task */
    for (int i = 0; i < 1000; i++)
        polled(&w);
    assert_int_equal(w.run.progress.step, 0);
    w.snapshot.time = 3.5;
    polled(&w);
    assert_int_equal(w.run.progress.step, 1);
    assert_int_equal(w.run.progress.steps[0].reason, GW_STEP_WAITED);
    assert_true(w.run.progress.steps[0].seconds == 0.5);
    polled(&w), polled(&w);
    assert_int_equal(w.run.progress.state, GW_TASK_DONE);
    assert_string_equal(w.run.progress.message, "Done: 2 steps in 0.50 s.");
    assert_int_equal(polled(&w).kind, GW_TASK_NOTHING);
}

static void a_move_is_one_command_by_the_parameters_names(void **state)
{
    (void)state;
    world w = {.steps = {moving("t", true, 0.25)}};
    w.steps[0].targets[w.steps[0].target_count++] = (gw_step_target){"phi", false, 1.5};
    w.steps[0].guarded = w.steps[0].required = w.steps[0].contact = true;
    w.steps[0].reaction = 7;
    begin(&w, 1);
    gw_task_action a = polled(&w);
    assert_int_equal(a.kind, GW_TASK_COMMAND);
    assert_int_equal(a.command.kind, GW_COMMAND_MOTION);
    const gw_motion_target *g = &a.command.guide;
    assert_true(g->on && g->to[0] == 1.5 && isnan(g->to[1]) && isnan(g->to[2]));
    assert_true(isnan(g->by[0]) && isnan(g->by[1]) && g->by[2] == 0.25);
    assert_true(g->speed == 0.1 && g->spin == 1 && g->force == 7 && g->torque == 7 && g->contact);
    assert_true(a.command.tag == 101);
    for (int i = 0; i < 100; i++) /* the loop has not taken it yet, then moves */
        assert_int_equal(polled(&w).kind, GW_TASK_NOTHING);
    guided(&w, true, GW_MOTION_NONE, 0);
    assert_int_equal(polled(&w).kind, GW_TASK_NOTHING);
    assert_int_equal(w.run.progress.state, GW_TASK_RUNNING);
    guided(&w, false, GW_MOTION_CONTACT, 2.5);
    w.snapshot.time = 1.25;
    polled(&w);
    const gw_step_progress *p = &w.run.progress.steps[0];
    assert_int_equal(w.run.progress.state, GW_TASK_DONE);
    assert_int_equal(p->reason, GW_STEP_CONTACT);
    assert_true(p->reaction == 2.5 && p->seconds == 1.25 && p->parameter_count == 3);
    assert_string_equal(p->names[2], "t");
    assert_true(fabs(p->parameters[1] - 0.3) < 1e-12 && fabs(p->parameters[2] + 0.2) < 1e-12);
}

static void how_a_way_ends_is_how_the_step_does(void **state)
{
    (void)state;
    const struct {
        gw_motion_outcome outcome;
        bool required;
        gw_task_state then;
        gw_step_reason reason;
    } cases[] = {
        {GW_MOTION_REACHED, false, GW_TASK_DONE, GW_STEP_REACHED},
        {GW_MOTION_REACHED, true, GW_TASK_FAILED, GW_STEP_NO_GUARD},
        {GW_MOTION_REACTION, true, GW_TASK_DONE, GW_STEP_REACTION},
        {GW_MOTION_CONTACT, false, GW_TASK_DONE, GW_STEP_CONTACT},
        {GW_MOTION_BLOCKED, false, GW_TASK_FAILED, GW_STEP_BLOCKED},
        {GW_MOTION_LOST, true, GW_TASK_FAILED, GW_STEP_LOST},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        world w = {.steps = {moving("s", true, 0.1), waiting(1)}};
        w.steps[0].required = w.steps[0].guarded = cases[i].required;
        begin(&w, 2);
        polled(&w);
        guided(&w, false, cases[i].outcome, 1);
        polled(&w);
        assert_int_equal(w.run.progress.steps[0].state, cases[i].then);
        assert_int_equal(w.run.progress.steps[0].reason, cases[i].reason);
        bool failed = cases[i].then == GW_TASK_FAILED;
        assert_int_equal(w.run.progress.state, failed ? GW_TASK_FAILED : GW_TASK_RUNNING);
        assert_int_equal(w.run.progress.step, failed ? 0 : 1);
        assert_true(!failed || strncmp(w.run.progress.message, "Step 1 of 2 failed: ", 20) == 0);
    }
}

static void a_constrain_step_ends_on_its_set(void **state)
{
    (void)state;
    world w = {.steps = {constraining("c1"), waiting(0)}};
    begin(&w, 2);
    gw_task_action a = polled(&w);
    assert_int_equal(a.kind, GW_TASK_EDIT);
    assert_ptr_equal(a.step, &w.steps[0]);
    assert_int_equal(polled(&w).kind, GW_TASK_NOTHING); /* the host is at it */
    gw_task_edited(&w.run, true, 5, "");
    polled(&w);
    assert_int_equal(w.run.progress.step, 0); /* the loop still runs revision 1 */
    w.snapshot.revision = 5;
    w.snapshot.tools[0].travelling = true;
    polled(&w);
    assert_int_equal(w.run.progress.step, 0);
    w.snapshot.tools[0].travelling = false;
    w.snapshot.time = 0.4;
    polled(&w);
    assert_int_equal(w.run.progress.step, 1);
    assert_int_equal(w.run.progress.steps[0].reason, GW_STEP_APPLIED);
    assert_true(w.run.progress.steps[0].seconds == 0.4);
}

/* ---- failures ------------------------------------------------------------------------------- */

static void a_refused_edit_says_why(void **state)
{
    (void)state;
    world w = {.steps = {constraining("c1")}};
    begin(&w, 1);
    polled(&w);
    gw_task_edited(&w.run, false, 0, "the constraints of cone contradict one another");
    assert_int_equal(w.run.progress.state, GW_TASK_FAILED);
    assert_int_equal(w.run.progress.steps[0].reason, GW_STEP_REFUSED);
    assert_non_null(strstr(w.run.progress.message, "refused: the constraints of cone contradict"));
}

static void a_parameter_that_is_not_there_is_named(void **state)
{
    (void)state;
    world w = {.steps = {moving("theta", false, 1)}};
    begin(&w, 1);
    assert_int_equal(polled(&w).kind, GW_TASK_NOTHING);
    assert_int_equal(w.run.progress.steps[0].reason, GW_STEP_NO_PARAMETER);
    assert_non_null(strstr(w.run.progress.message, "no parameter \"theta\" here"));
    assert_non_null(strstr(w.run.progress.message, "the branch has phi, s, t."));
}

static void a_travel_that_is_held_up_is_given_up(void **state)
{
    (void)state;
    world w = {.steps = {constraining("c1")}};
    begin(&w, 1);
    polled(&w);
    gw_task_edited(&w.run, true, 1, "");
    w.snapshot.tools[0].travelling = true;
    w.snapshot.time = 59;
    polled(&w);
    assert_int_equal(w.run.progress.state, GW_TASK_RUNNING);
    w.snapshot.time = 61;
    polled(&w);
    assert_int_equal(w.run.progress.steps[0].reason, GW_STEP_BLOCKED);
}

static void another_command_or_none_is_a_loss(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        world w = {.steps = {moving("s", true, 0.1)}};
        begin(&w, 1);
        polled(&w);
        if (i == 0)
            w.snapshot.tools[0].guide.tag = w.run.tag + 7;
        else
            w.snapshot.time = 2.5; /* the loop never showed the command */
        polled(&w);
        assert_int_equal(w.run.progress.steps[0].reason, GW_STEP_LOST);
    }
}

/* ---- stops ---------------------------------------------------------------------------------- */

static void halts_and_stops_end_it(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++) {
        world w = {.steps = {waiting(0), waiting(10)}};
        begin(&w, 2);
        w.snapshot.time = 1;
        polled(&w), polled(&w), polled(&w);
        w.snapshot.halted = i == 0;
        w.snapshot.state = i == 1 ? GW_STOPPED : GW_RUNNING;
        w.snapshot.time = i == 2 ? 0 : 1; /* another scene's time */
        assert_int_equal(polled(&w).kind, GW_TASK_NOTHING);
        assert_int_equal(w.run.progress.state, GW_TASK_STOPPED);
        assert_int_equal(w.run.progress.steps[1].reason, i ? GW_STEP_STOPPED : GW_STEP_HALTED);
        assert_int_equal(w.run.progress.steps[0].state, GW_TASK_DONE);
    }
}

static void a_stop_holds_the_object_where_it_is(void **state)
{
    (void)state;
    world w = {.steps = {moving("s", true, 0.1)}};
    begin(&w, 1);
    polled(&w);
    gw_task_action a = gw_task_stop(&w.run, GW_STEP_STOPPED, "Stopped on request.");
    assert_int_equal(a.kind, GW_TASK_COMMAND);
    assert_true(a.command.guide.on && a.command.tag == w.run.tag);
    for (int i = 0; i < 6; i++)
        assert_true(isnan(a.command.guide.to[i]) && isnan(a.command.guide.by[i]));
    assert_string_equal(w.run.progress.message, "Stopped on request.");
    assert_int_equal(gw_task_stop(&w.run, GW_STEP_STOPPED, "Again.").kind, GW_TASK_NOTHING);
}

static void it_waits_while_the_host_has_another_document(void **state)
{
    (void)state;
    world w = {.steps = {moving("s", true, 0.1)}};
    begin(&w, 1);
    gw_task_view view = {&w.snapshot, NULL};
    for (int i = 0; i < 10; i++)
        assert_int_equal(gw_task_poll(&w.run, &view).kind, GW_TASK_NOTHING);
    assert_int_equal(polled(&w).kind, GW_TASK_COMMAND);
}

/* ---- words ---------------------------------------------------------------------------------- */

static void steps_are_told_in_sentences(void **state)
{
    (void)state;
    char words[200];
    world w = {.steps = {moving("s", true, 0.1), moving("phi", true, 0.1), waiting(0)}};
    begin(&w, 3);
    gw_step_progress *p = w.run.progress.steps;
    p[0] = p[1] =
        (gw_step_progress){GW_TASK_DONE, GW_STEP_REACTION, .reaction = 5.25, .seconds = 1.5};
    p[2] = (gw_step_progress){GW_TASK_DONE, GW_STEP_WAITED, .seconds = 0.2};
    gw_task_step_sentence(&w.task, &w.run.progress, 0, words, sizeof words);
    assert_string_equal(words, "Step 1 of 3: 5.2 N push back after 1.50 s.");
    gw_task_step_sentence(&w.task, &w.run.progress, 1, words, sizeof words);
    assert_string_equal(words, "Step 2 of 3: 5.2 N m push back after 1.50 s.");
    gw_task_step_sentence(&w.task, &w.run.progress, 2, words, sizeof words);
    assert_string_equal(words, "Step 3 of 3: the wait is over after 0.20 s.");
}

/* ---- in the scene --------------------------------------------------------------------------- */

static gw_scene *scene_with_task(void)
{
    gw_scene *s = malloc(sizeof *s);
    *s = gw_scene_default();
    strcpy(gw_scene_add_object(s, NULL)->id, "cone");
    for (int i = 0; i < 2; i++) {
        gw_scene_constraint *c = gw_scene_add_constraint(s, NULL);
        strcpy(c->id, i ? "c2" : "c1");
        c->enabled = !i;
    }
    strcpy(gw_scene_add_tool(s, NULL)->object, "cone");
    gw_task *t = gw_scene_add_task(s, NULL);
    strcpy(t->id, "t"), strcpy(t->object, "cone");
    t->step_count = 2;
    t->steps = calloc(2, sizeof *t->steps);
    t->steps[0] = constraining("c2");
    t->steps[0].disable_count = 1;
    strcpy(t->steps[0].disable[0], "c1");
    t->steps[1] = waiting(1);
    return s;
}

static void a_step_makes_the_scene_say_so_once(void **state)
{
    (void)state;
    gw_scene *s = scene_with_task();
    gw_task_step *step = &s->tasks[0].steps[0];
    strcpy(s->tools[0].branch, "b1");
    assert_true(gw_task_edit(s, 0, step));
    assert_true(!s->constraints[0].enabled && s->constraints[1].enabled);
    assert_string_equal(s->tools[0].branch, ""); /* of other constraints: the nearest */
    strcpy(s->tools[0].branch, "b0");            /* chosen since */
    assert_false(gw_task_edit(s, 0, step));
    assert_string_equal(s->tools[0].branch, "b0");
    strcpy(step->branch, "b7");
    assert_true(gw_task_edit(s, 0, step));
    assert_string_equal(s->tools[0].branch, "b7");
    assert_false(gw_task_edit(s, 0, step));
    gw_scene_destroy(s);
}

static void tasks_are_copied_and_renamed_with_their_scene(void **state)
{
    (void)state;
    gw_scene *s = scene_with_task(), *copy = gw_scene_copy(s);
    assert_ptr_not_equal(copy->tasks[0].steps, s->tasks[0].steps);
    gw_scene_rename_object(copy, "cone", "lid");
    gw_scene_rename_constraint(copy, "c2", "flat");
    assert_string_equal(copy->tasks[0].object, "lid");
    assert_string_equal(copy->tasks[0].steps[0].enable[0], "flat");
    assert_string_equal(s->tasks[0].steps[0].enable[0], "c2");
    assert_ptr_equal(gw_scene_task_using(s, "c2"), &s->tasks[0]);
    assert_null(gw_scene_task_using(copy, "c2"));
    gw_scene_remove_task(copy, 0);
    assert_int_equal(gw_scene_task(copy, "t"), -1);
    assert_int_equal(gw_scene_task(s, "t"), 0);
    gw_scene_destroy(copy);
    gw_scene_destroy(s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wait_counts_the_simulations_time),
        cmocka_unit_test(a_move_is_one_command_by_the_parameters_names),
        cmocka_unit_test(how_a_way_ends_is_how_the_step_does),
        cmocka_unit_test(a_constrain_step_ends_on_its_set),
        cmocka_unit_test(a_refused_edit_says_why),
        cmocka_unit_test(a_parameter_that_is_not_there_is_named),
        cmocka_unit_test(a_travel_that_is_held_up_is_given_up),
        cmocka_unit_test(another_command_or_none_is_a_loss),
        cmocka_unit_test(halts_and_stops_end_it),
        cmocka_unit_test(a_stop_holds_the_object_where_it_is),
        cmocka_unit_test(it_waits_while_the_host_has_another_document),
        cmocka_unit_test(steps_are_told_in_sentences),
        cmocka_unit_test(a_step_makes_the_scene_say_so_once),
        cmocka_unit_test(tasks_are_copied_and_renamed_with_their_scene),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
