/*
 * Execution of a task, step by step. One thread at a time; not for use inside a tick.
 */
#include "rt/sim/task_runner.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#define TRANSITION_MAX_S 60.0 /* s: a transition that takes longer has failed */
#define REPLY_MAX_S      2.0  /* s: for the loop to report a command as taken */

const char *gw_task_state_name(gw_task_state state)
{
    static const char *const names[] = {"idle", "running", "done", "failed", "stopped"};
    return names[state];
}

const char *gw_step_reason_name(gw_step_reason reason)
{
    static const char *const names[] = {
        "",        "applied", "reached", "reaction",     "contact", "waited", "no-guard",
        "blocked", "lost",    "refused", "no-parameter", "halted",  "stopped"};
    return names[reason];
}

gw_task_progress gw_task_progress_of(const gw_task *task)
{
    return (gw_task_progress){.step_count = task->step_count};
}

void gw_task_begin(gw_task_run *run, const gw_task *task, int tool, uint64_t tag)
{
    assert(run && task && tool >= 0);
    *run = (gw_task_run){.task = task, .tool = tool, .tag = tag};
    run->progress = gw_task_progress_of(task);
    run->progress.state = GW_TASK_RUNNING;
    run->began = -1;
}

/* ---- ends ---------------------------------------------------------------------------------- */

static const gw_task_step *step_of(const gw_task_run *run)
{
    return &run->task->steps[run->progress.step];
}

static gw_step_progress *progress_of(gw_task_run *run)
{
    return &run->progress.steps[run->progress.step];
}

/* The object's pose, and the duration of the step. */
static void take_figures(gw_task_run *run, const gw_task_view *view)
{
    gw_step_progress *p = progress_of(run);
    const gw_tool_state *tool = &view->snapshot->tools[run->tool];
    gw_submanifold_parameter parameters[6];
    if (run->began >= 0)
        p->seconds = view->snapshot->time - run->began;
    if (!view->set || run->tool >= view->snapshot->tool_count)
        return;
    p->parameter_count = gw_submanifold_parameters(view->set, parameters);
    for (int i = 0; i < p->parameter_count; i++)
        p->names[i] = parameters[i].name;
    gw_submanifold_parameters_at(view->set, &tool->world_from_object, p->parameters);
    if (step_of(run)->kind == GW_STEP_MOVE)
        p->reaction = tool->guide.reaction;
}

static void end_task(gw_task_run *run, gw_task_state state, gw_step_reason reason, const char *why)
{
    gw_step_progress *p = progress_of(run);
    p->state = state;
    p->reason = reason;
    run->progress.state = state;
    snprintf(run->progress.message, sizeof run->progress.message, "%s", why);
}

static void fail_step(gw_task_run *run, const gw_task_view *view, gw_step_reason reason,
                      const char *why)
{
    char message[256];
    take_figures(run, view);
    snprintf(message, sizeof message, "Step %d of %d failed: %.200s", run->progress.step + 1,
             run->progress.step_count, why);
    end_task(run, GW_TASK_FAILED, reason, message);
}

static void pass_step(gw_task_run *run, const gw_task_view *view, gw_step_reason reason)
{
    double seconds = 0;
    take_figures(run, view);
    progress_of(run)->state = GW_TASK_DONE;
    progress_of(run)->reason = reason;
    run->phase = GW_PHASE_BEGIN;
    run->began = -1;
    if (run->progress.step + 1 < run->progress.step_count) {
        run->progress.step++;
        return;
    }
    for (int i = 0; i < run->progress.step_count; i++)
        seconds += run->progress.steps[i].seconds;
    run->progress.state = GW_TASK_DONE;
    snprintf(run->progress.message, sizeof run->progress.message, "Done: %d steps in %.2f s.",
             run->progress.step_count, seconds);
}

static gw_task_action no_action(void)
{
    return (gw_task_action){.kind = GW_TASK_NOTHING};
}

static gw_task_action command_of(gw_task_run *run, const gw_motion_target *guide)
{
    gw_task_action action = {.kind = GW_TASK_COMMAND};
    action.command = (gw_command){
        .kind = GW_COMMAND_MOTION, .tool = run->tool, .tag = ++run->tag, .guide = *guide};
    return action;
}

static gw_motion_target target_at_rest(void)
{
    gw_motion_target guide = {.on = true};
    for (int i = 0; i < 6; i++)
        guide.to[i] = guide.by[i] = NAN;
    return guide;
}

gw_task_action gw_task_stop(gw_task_run *run, gw_step_reason reason, const char *why)
{
    gw_motion_target guide = target_at_rest();
    if (run->progress.state != GW_TASK_RUNNING)
        return no_action();
    end_task(run, GW_TASK_STOPPED, reason, why);
    return command_of(run, &guide);
}

/* ---- steps --------------------------------------------------------------------------------- */

/* The guided-motion command of a step with named parameters. Returns -1, or the index of a target
 * whose parameter the branch does not have. */
static int guide_of(const gw_task_step *step, const gw_submanifold *set, gw_motion_target *guide)
{
    gw_submanifold_parameter parameters[6];
    int count = gw_submanifold_parameters(set, parameters);
    *guide = target_at_rest();
    guide->speed = step->speed;
    guide->spin = step->spin;
    guide->force = guide->torque = step->reaction;
    guide->contact = step->contact;
    for (int i = 0; i < step->target_count; i++) {
        int k = 0;
        while (k < count && strcmp(parameters[k].name, step->targets[i].name) != 0)
            k++;
        if (k == count)
            return i;
        *(step->targets[i].relative ? &guide->by[k] : &guide->to[k]) = step->targets[i].value;
    }
    return -1;
}

static gw_task_action begin_move(gw_task_run *run, const gw_task_view *view)
{
    gw_motion_target guide;
    int missing = guide_of(step_of(run), view->set, &guide);
    if (missing < 0) {
        run->phase = GW_PHASE_MOVE;
        return command_of(run, &guide);
    }
    gw_submanifold_parameter parameters[6];
    char why[200];
    int count = gw_submanifold_parameters(view->set, parameters);
    int n = snprintf(why, sizeof why, "there is no parameter \"%s\" here, the branch has",
                     step_of(run)->targets[missing].name);
    for (int i = 0; i < count; i++)
        n += snprintf(why + n, sizeof why - (size_t)n, "%s %s", i ? "," : "", parameters[i].name);
    snprintf(why + n, sizeof why - (size_t)n, "%s.", count ? "" : " none: the object is fixed");
    fail_step(run, view, GW_STEP_NO_PARAMETER, why);
    return no_action();
}

static gw_task_action begin_step(gw_task_run *run, const gw_task_view *view)
{
    const gw_task_step *step = step_of(run);
    run->began = view->snapshot->time;
    progress_of(run)->state = GW_TASK_RUNNING;
    switch (step->kind) {
    case GW_STEP_CONSTRAIN:
        run->phase = GW_PHASE_EDIT;
        return (gw_task_action){.kind = GW_TASK_EDIT, .step = step};
    case GW_STEP_MOVE:
        return begin_move(run, view);
    case GW_STEP_WAIT:
        run->phase = GW_PHASE_WAIT;
        return no_action();
    }
    return no_action();
}

static bool set_enabled(gw_scene *scene, const char (*ids)[GW_MAX_ID + 1], int count, bool on)
{
    bool changed = false;
    for (int i = 0; i < count; i++) {
        int index = gw_scene_constraint_index(scene, ids[i]);
        if (index < 0)
            continue;
        changed = changed || scene->constraints[index].enabled != on;
        scene->constraints[index].enabled = on;
    }
    return changed;
}

bool gw_task_edit(gw_scene *scene, int tool, const gw_task_step *step)
{
    assert(scene && tool >= 0 && step);
    bool on = set_enabled(scene, step->enable, step->enable_count, true);
    bool off = set_enabled(scene, step->disable, step->disable_count, false);
    char *branch = scene->tools[tool].branch;
    bool other = step->branch[0] ? strcmp(branch, step->branch) != 0 : (on || off) && *branch;
    if (other)
        memcpy(branch, step->branch, sizeof step->branch);
    return on || off || other;
}

void gw_task_edited(gw_task_run *run, bool done, uint64_t revision, const char *why)
{
    char message[256];
    if (run->progress.state != GW_TASK_RUNNING || run->phase != GW_PHASE_EDIT)
        return;
    run->phase = GW_PHASE_TRAVEL;
    run->revision = revision;
    if (done)
        return;
    snprintf(message, sizeof message, "Step %d of %d failed: the edit was refused: %.180s",
             run->progress.step + 1, run->progress.step_count, why);
    end_task(run, GW_TASK_FAILED, GW_STEP_REFUSED, message);
}

static void poll_transition(gw_task_run *run, const gw_task_view *view)
{
    const gw_snapshot *s = view->snapshot;
    if (s->revision < run->revision)
        return;
    if (!s->tools[run->tool].travelling)
        pass_step(run, view, GW_STEP_APPLIED);
    else if (s->time - run->began > TRANSITION_MAX_S)
        fail_step(run, view, GW_STEP_BLOCKED,
                  "something holds it up on the way onto its constraints.");
}

static void poll_guided_motion(gw_task_run *run, const gw_task_view *view)
{
    const gw_motion_state *guide = &view->snapshot->tools[run->tool].guide;
    const gw_task_step *step = step_of(run);
    if (guide->tag != run->tag) {
        if (guide->tag > run->tag || view->snapshot->time - run->began > REPLY_MAX_S)
            fail_step(run, view, GW_STEP_LOST, "the robot took another command.");
        return;
    }
    if (guide->moving)
        return;
    switch (guide->outcome) {
    case GW_MOTION_REACTION:
        pass_step(run, view, GW_STEP_REACTION);
        return;
    case GW_MOTION_CONTACT:
        pass_step(run, view, GW_STEP_CONTACT);
        return;
    case GW_MOTION_REACHED:
        if (step->required)
            fail_step(run, view, GW_STEP_NO_GUARD,
                      "it reached its end, and nothing had pushed back on the way.");
        else
            pass_step(run, view, GW_STEP_REACHED);
        return;
    case GW_MOTION_BLOCKED:
        fail_step(run, view, GW_STEP_BLOCKED, "something holds it up, it does not come on.");
        return;
    case GW_MOTION_NONE:
    case GW_MOTION_LOST:
        fail_step(run, view, GW_STEP_LOST,
                  "the robot lost the object, or its way changed under it.");
    }
}

gw_task_action gw_task_poll(gw_task_run *run, const gw_task_view *view)
{
    assert(run && view);
    const gw_snapshot *s = view->snapshot;
    if (run->progress.state != GW_TASK_RUNNING)
        return no_action();
    if (s->halted) {
        take_figures(run, view);
        end_task(run, GW_TASK_STOPPED, GW_STEP_HALTED, "Stopped by a halt.");
        return no_action(); /* guided motion holds by itself */
    }
    if (s->state == GW_STOPPED || s->time < run->began) {
        end_task(run, GW_TASK_STOPPED, GW_STEP_STOPPED, "The simulation was stopped.");
        return no_action();
    }
    if (!view->set || s->tool_count <= run->tool)
        return no_action();
    switch (run->phase) {
    case GW_PHASE_BEGIN:
        return begin_step(run, view);
    case GW_PHASE_TRAVEL:
        poll_transition(run, view);
        break;
    case GW_PHASE_MOVE:
        poll_guided_motion(run, view);
        break;
    case GW_PHASE_WAIT:
        if (s->time - run->began >= step_of(run)->seconds)
            pass_step(run, view, GW_STEP_WAITED);
        break;
    case GW_PHASE_EDIT:
        break;
    }
    return no_action();
}

/* ---- words --------------------------------------------------------------------------------- */

/* The unit of the reaction: N m if the step only turns, else N. */
static const char *unit_of(const gw_task_step *step)
{
    static const char *const turns[] = {"phi", "theta", "psi", "yaw", "pitch", "roll"};
    for (int i = 0; i < step->target_count; i++) {
        bool turn = false;
        for (size_t k = 0; k < sizeof turns / sizeof turns[0]; k++)
            turn = turn || strcmp(step->targets[i].name, turns[k]) == 0;
        if (!turn)
            return "N";
    }
    return "N m";
}

void gw_task_step_sentence(const gw_task *task, const gw_task_progress *progress, int step,
                           char *out, size_t size)
{
    static const char *const words[] = {
        [GW_STEP_APPLIED] = "its constraints hold",
        [GW_STEP_REACHED] = "its end is reached",
        [GW_STEP_CONTACT] = "a wall touches",
        [GW_STEP_WAITED] = "the wait is over",
    };
    const gw_step_progress *p = &progress->steps[step];
    int n = snprintf(out, size, "Step %d of %d: ", step + 1, task->step_count);
    size_t room = (size_t)n < size ? size - (size_t)n : 0;
    if (p->reason == GW_STEP_REACTION)
        snprintf(out + n, room, "%.2g %s push back after %.2f s.", p->reaction,
                 unit_of(&task->steps[step]), p->seconds);
    else if (p->state == GW_TASK_DONE)
        snprintf(out + n, room, "%s after %.2f s.", words[p->reason], p->seconds);
    else
        snprintf(out, size, "%s", progress->message);
}
