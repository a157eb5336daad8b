/*
 * The thread that runs tasks: it polls the current run and carries out its actions as ordinary
 * edits and commands. Other threads see a copy of the progress. The thread also sends a whole
 * scenario where moving geometry took a branch away from a tool, and checks openings
 * (open_check.c).
 */
#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/app/diff.h"
#include "server/app/private.h"

#define POLL_NS      2000000 /* between two polls: two ticks of the usual loop */
#define STOP_WAIT_MS 1000    /* for the thread to notice a stop; an edit may delay it */
#define TAGS         65536   /* most commands of one run: a step has one */

/* ---- actions of a run ---------------------------------------------------------------------- */

static bool on_branch(const app_document *document, int tool, const char *branch)
{
    int object = gw_scene_object(document->scene, document->scene->tools[tool].object);
    const gw_placement *p = gw_layout_placement(document->layout, object);
    return !*branch || (p && strcmp(p->solution.branches[p->branch].id, branch) == 0);
}

/* Carries out the step's edit as any other: one step for undo, and a trajectory to the new pose. */
static void carry_out_edit(gw_app *app, const gw_task_step *step)
{
    app_edit edit;
    gw_error error = {0};
    gw_task_run *run = &app->task.run;
    if (!app_edit_begin(app, &edit, &error)) {
        gw_task_edited(run, false, 0, error.message);
        return;
    }
    uint64_t revision = edit.base->scenario;
    bool done = run->tool < edit.scene->tool_count;
    if (done && gw_task_edit(edit.scene, run->tool, step)) {
        done = app_edit_commit(&edit, &error);
        revision = done ? edit.document->scenario : 0;
        if (done && !on_branch(edit.document, run->tool, step->branch))
            done = gw_fail(&error, GW_NOT_FOUND, "", "there is no branch %s", step->branch);
    }
    app_edit_end(&edit);
    gw_task_edited(run, done, revision, error.message);
}

static void carry_out(gw_app *app, const gw_task_action *action)
{
    if (action->kind == GW_TASK_EDIT)
        carry_out_edit(app, action->step);
    else if (action->kind == GW_TASK_COMMAND)
        app_send_command(app, &action->command, NULL);
}

/* The submanifold of the task's tool; NULL while the loop does not run the document's scenario.
 * `there`: the tool still holds the task's object. */
static const gw_submanifold *set_of(const app_task *task, const app_document *document, bool match,
                                    bool *there)
{
    const gw_scene *scene = document->scene;
    int tool = task->run.tool;
    *there = tool < scene->tool_count && strcmp(scene->tools[tool].object, task->task.object) == 0;
    const gw_placement *p =
        *there ? gw_layout_placement(document->layout, gw_scene_object(scene, task->task.object))
               : NULL;
    return match && p && p->branch >= 0 ? &p->solution.branches[p->branch].set : NULL;
}

static void report_step(gw_app *app, int step)
{
    char words[300];
    const gw_task_progress *p = &app->task.run.progress;
    gw_task_step_sentence(&app->task.task, p, step, words, sizeof words);
    app_log(app, "task", p->steps[step].state == GW_TASK_FAILED ? "error" : "info", "%s", words);
}

static void report_end(gw_app *app)
{
    const char *id = app->task.task.id;
    const gw_task_progress *p = &app->task.run.progress;
    if (p->state == GW_TASK_DONE)
        app_log(app, "task", "info", "Task %s is done. %s", id, p->message);
    else if (p->state == GW_TASK_FAILED)
        app_log(app, "task", "error", "Task %s failed.", id);
    else
        app_log(app, "task", "warning", "Task %s was left at step %d. %s", id, p->step + 1,
                p->message);
}

/* One poll of the run. True when the run is over. */
static bool advance_task(gw_app *app, bool stop)
{
    app_document *document;
    bool there;
    gw_task_run *run = &app->task.run;
    int step = run->progress.step;
    bool match = app_try_read_state(app, &document, &app->task.now);
    gw_task_view view = {&app->task.now, set_of(&app->task, document, match, &there)};
    gw_task_action action =
        stop || !there
            ? gw_task_stop(run, GW_STEP_STOPPED,
                           there ? "Stopped on request." : "Stopped: the scene changed under it.")
            : gw_task_poll(run, &view);
    carry_out(app, &action);
    app_document_put(document);
    gw_task_state ended = run->progress.steps[step].state;
    if (ended == GW_TASK_DONE || ended == GW_TASK_FAILED)
        report_step(app, step);
    if (run->progress.state == GW_TASK_RUNNING)
        return false;
    report_end(app);
    return true;
}

/* Waits for a signal, `most_ms` at most where that is not negative. */
static void wait_for_wake(app_task *t, int64_t most_ms)
{
    struct timespec until;
    if (most_ms < 0) {
        pthread_cond_wait(&t->wake, &t->lock);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    int64_t ns = until.tv_nsec + most_ms * 1000000;
    until.tv_sec += ns / 1000000000;
    until.tv_nsec = ns % 1000000000;
    pthread_cond_timedwait(&t->wake, &t->lock, &until);
}

static void *task_thread(void *context)
{
    gw_app *app = context;
    app_task *t = &app->task;
    pthread_mutex_lock(&t->lock);
    while (!t->quit) {
        if (atomic_load(&app->branch_lost)) {
            pthread_mutex_unlock(&t->lock);
            app_resend_scenario(app);
            pthread_mutex_lock(&t->lock);
            continue;
        }
        int64_t left_ms = app_opening_due(app);
        if (left_ms == 0) {
            pthread_mutex_unlock(&t->lock);
            app_check_opening(app);
            pthread_mutex_lock(&t->lock);
            continue;
        }
        if (!t->ready) {
            wait_for_wake(t, left_ms);
            continue;
        }
        bool stop = t->stop;
        pthread_mutex_unlock(&t->lock);
        bool over = advance_task(app, stop);
        if (!over)
            nanosleep(&(struct timespec){0, POLL_NS}, NULL);
        pthread_mutex_lock(&t->lock);
        t->progress = t->run.progress;
        t->ready = t->busy = !over;
        if (over && t->forget)
            gw_task_finish(&t->task);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

void app_branch_lost(gw_app *app)
{
    atomic_store(&app->branch_lost, true);
    app_wake_tasks(app);
}

void app_wake_tasks(gw_app *app)
{
    pthread_mutex_lock(&app->task.lock);
    pthread_cond_signal(&app->task.wake);
    pthread_mutex_unlock(&app->task.lock);
}

/* ---- from other threads -------------------------------------------------------------------- */

bool app_task_create(gw_app *app, gw_error *error)
{
    app_task *t = &app->task;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->wake, NULL);
    t->created = pthread_create(&t->thread, NULL, task_thread, app) == 0;
    return t->created || gw_fail(error, GW_FAILED, "", "the system refuses a thread for tasks");
}

void app_task_destroy(gw_app *app)
{
    app_task *t = &app->task;
    if (!t->created)
        return;
    pthread_mutex_lock(&t->lock);
    t->quit = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    pthread_join(t->thread, NULL);
    gw_task_finish(&t->task);
    pthread_mutex_destroy(&t->lock);
    pthread_cond_destroy(&t->wake);
}

/* Checks that the task may start; outputs a copy of the task and its tool. False with an error. */
static bool may_start(gw_app *app, const char *id, gw_task *copy, int *tool, gw_error *error)
{
    app_document *document = app_document_get(app);
    const gw_scene *scene = document->scene;
    int index = gw_scene_task(scene, id);
    bool may = index >= 0 || gw_fail(error, GW_NOT_FOUND, "", "there is no task %s", id);
    *tool = may ? app_tool_of(scene, scene->tasks[index].object) : -1;
    if (may && *tool < 0)
        may = gw_fail(error, GW_CONFLICT, "", "no tool holds %s: take it first",
                      scene->tasks[index].object);
    if (may && app_loop_now(app).halted)
        may = gw_fail(error, GW_CONFLICT, "",
                      "halted: nothing moves until POST /api/v1/simulation/arm");
    if (may && !gw_task_copy(copy, &scene->tasks[index])) {
        gw_task_finish(copy);
        may = gw_fail(error, GW_FAILED, "", "memory is short");
    }
    app_document_put(document);
    return may;
}

/* Reserves the thread for a run; false with an error where a task runs. */
static bool claim_run(app_task *t, gw_error *error)
{
    pthread_mutex_lock(&t->lock);
    bool free = !t->busy || gw_fail(error, GW_CONFLICT, "",
                                    "task %s runs: one at a time, stop it first", t->task.id);
    t->busy = true;
    pthread_mutex_unlock(&t->lock);
    return free;
}

static void abandon_run(app_task *t)
{
    pthread_mutex_lock(&t->lock);
    t->busy = false;
    pthread_mutex_unlock(&t->lock);
}

bool app_task_start(gw_app *app, const char *id, gw_error *error)
{
    assert(app && id);
    app_task *t = &app->task;
    gw_task copy = {0};
    int tool;
    if (!may_start(app, id, &copy, &tool, error))
        return false;
    if (!claim_run(t, error)) {
        gw_task_finish(&copy);
        return false;
    }
    if (app_loop_now(app).state != GW_RUNNING && !app_set_state(app, GW_RUNNING, error)) {
        gw_task_finish(&copy);
        abandon_run(t);
        return false;
    }
    app_log(app, "task", "info", "Task %s%s%s%s starts: %d steps.", copy.id,
            copy.name[0] ? " (" : "", copy.name, copy.name[0] ? ")" : "", copy.step_count);
    pthread_mutex_lock(&t->lock);
    gw_task_finish(&t->task);
    t->task = copy;
    gw_task_begin(&t->run, &t->task, tool, ++t->runs * TAGS);
    t->progress = t->run.progress;
    t->stop = t->forget = false;
    t->ready = true;
    pthread_cond_signal(&t->wake);
    pthread_mutex_unlock(&t->lock);
    return true;
}

bool app_task_runs(gw_app *app, const char *id)
{
    app_task *t = &app->task;
    pthread_mutex_lock(&t->lock);
    bool runs = t->ready && strcmp(t->task.id, id) == 0;
    pthread_mutex_unlock(&t->lock);
    return runs;
}

void app_task_stop(gw_app *app, const char *id)
{
    assert(app && id);
    app_task *t = &app->task;
    pthread_mutex_lock(&t->lock);
    t->stop = t->ready && strcmp(t->task.id, id) == 0;
    pthread_mutex_unlock(&t->lock);
    for (int waited = 0; waited < STOP_WAIT_MS && app_task_runs(app, id); waited++)
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

void app_task_forget(gw_app *app)
{
    app_task *t = &app->task;
    pthread_mutex_lock(&t->lock);
    t->forget = t->busy;
    if (!t->busy)
        gw_task_finish(&t->task);
    pthread_mutex_unlock(&t->lock);
}

bool app_task_last(gw_app *app, char id[GW_MAX_ID + 1], gw_task_progress *progress)
{
    assert(app && id && progress);
    app_task *t = &app->task;
    pthread_mutex_lock(&t->lock);
    memcpy(id, t->task.id, GW_MAX_ID + 1);
    *progress = t->progress;
    pthread_mutex_unlock(&t->lock);
    return *id;
}
