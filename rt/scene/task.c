/*
 * Tasks of a scene: copies, references and checks. Not for use inside a tick.
 */
#include <assert.h>

#include "rt/scene/scene.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define SPEED_MIN   1e-4 /* m/s: slower, and standing still cannot be told from moving */
#define SPIN_MIN    1e-3 /* rad/s */
#define SECONDS_MAX 3600

bool gw_task_copy(gw_task *to, const gw_task *from)
{
    assert(to && from);
    size_t bytes = (size_t)from->step_count * sizeof *from->steps;
    *to = *from;
    to->steps = bytes ? malloc(bytes) : NULL;
    if (to->steps)
        memcpy(to->steps, from->steps, bytes);
    else
        to->step_count = 0;
    return to->steps || bytes == 0;
}

void gw_task_finish(gw_task *task)
{
    free(task->steps);
    *task = (gw_task){0};
}

static bool names_constraint(const gw_task_step *step, const char *constraint)
{
    for (int i = 0; i < step->enable_count; i++)
        if (strcmp(step->enable[i], constraint) == 0)
            return true;
    for (int i = 0; i < step->disable_count; i++)
        if (strcmp(step->disable[i], constraint) == 0)
            return true;
    return false;
}

const gw_task *gw_scene_task_using(const gw_scene *s, const char *constraint)
{
    for (int i = 0; i < s->task_count; i++)
        for (int k = 0; k < s->tasks[i].step_count; k++)
            if (names_constraint(&s->tasks[i].steps[k], constraint))
                return &s->tasks[i];
    return NULL;
}

/* ---- checks --------------------------------------------------------------------------------- */

/* The step that is being checked, and its JSON pointer. */
typedef struct step_context {
    const gw_scene *scene;
    const gw_task_step *step;
    char at[64];
    gw_error *error;
} step_context;

static bool invalid_step(const step_context *p, const char *member, const char *message)
{
    char where[160];
    snprintf(where, sizeof where, "%s%s", p->at, member);
    return gw_fail(p->error, GW_BAD_INPUT, where, "%s", message);
}

static bool check_ids(const step_context *p, const char *list, int count,
                      const char (*ids)[GW_MAX_ID + 1])
{
    for (int i = 0; i < count; i++) {
        char member[32], message[128];
        if (gw_scene_constraint_index(p->scene, ids[i]) >= 0)
            continue;
        snprintf(member, sizeof member, "/%s/%d", list, i);
        snprintf(message, sizeof message, "there is no constraint \"%s\"", ids[i]);
        invalid_step(p, member, message);
        return gw_error_names(p->error, p->scene->constraints, p->scene->constraint_count,
                              sizeof *p->scene->constraints);
    }
    return true;
}

static bool check_constrain(const step_context *p)
{
    const gw_task_step *step = p->step;
    if (!check_ids(p, "enable", step->enable_count, step->enable) ||
        !check_ids(p, "disable", step->disable_count, step->disable))
        return false;
    for (int i = 0; i < step->disable_count; i++)
        for (int k = 0; k < step->enable_count; k++)
            if (strcmp(step->enable[k], step->disable[i]) == 0)
                return invalid_step(p, "/disable",
                                    "a step enables a constraint or disables it, not both");
    return true;
}

/* True for a parameter name of some branch; whether the branch has it is known when the step
 * runs. */
static bool known_parameter(const char *name)
{
    for (const char *const *known = gw_submanifold_parameter_names(); *known; known++)
        if (strcmp(*known, name) == 0)
            return true;
    return false;
}

static bool unknown_parameter(const step_context *p, const char *member, const char *name)
{
    char message[200];
    int n = snprintf(message, sizeof message, "\"%s\" is no parameter: ", name);
    for (const char *const *known = gw_submanifold_parameter_names(); *known; known++)
        n += snprintf(message + n, sizeof message - (size_t)n, "%s, ", *known);
    snprintf(message + n - 2, sizeof message - (size_t)n + 2, " are");
    return invalid_step(p, member, message);
}

static bool check_target(const step_context *p, int index)
{
    const gw_step_target *t = &p->step->targets[index];
    char member[32];
    snprintf(member, sizeof member, "/%s/%s", t->relative ? "by" : "to", t->name);
    if (!known_parameter(t->name))
        return unknown_parameter(p, member, t->name);
    if (!isfinite(t->value))
        return invalid_step(p, member, "a parameter must be finite");
    for (int i = 0; i < index; i++)
        if (strcmp(p->step->targets[i].name, t->name) == 0)
            return invalid_step(p, member, "a parameter goes to a value or by one, not both");
    return true;
}

static bool check_move(const step_context *p)
{
    const gw_task_step *step = p->step;
    if (step->target_count == 0)
        return invalid_step(p, "", "a move needs \"to\" or \"by\" with at least one parameter");
    for (int i = 0; i < step->target_count; i++)
        if (!check_target(p, i))
            return false;
    if (!(step->speed >= SPEED_MIN && isfinite(step->speed)))
        return invalid_step(p, "/speed", "speed must be 0.0001 m/s or more");
    if (!(step->spin >= SPIN_MIN && isfinite(step->spin)))
        return invalid_step(p, "/spin", "spin must be 0.001 rad/s or more");
    if (!(step->reaction >= 0 && isfinite(step->reaction)))
        return invalid_step(p, "/until/reaction", "reaction must be greater than 0 (N, N m)");
    if (step->guarded && step->reaction == 0 && !step->contact)
        return invalid_step(p, "/until", "a guard is a reaction (N, N m), a contact, or both");
    if (step->required && !step->guarded)
        return invalid_step(p, "/required",
                            "only a guarded move can require its guard: give \"until\"");
    return true;
}

static bool check_step(const step_context *p)
{
    switch (p->step->kind) {
    case GW_STEP_CONSTRAIN:
        return check_constrain(p);
    case GW_STEP_MOVE:
        return check_move(p);
    case GW_STEP_WAIT:
        break;
    }
    if (!(p->step->seconds >= 0 && p->step->seconds <= SECONDS_MAX))
        return invalid_step(p, "/seconds", "seconds must be 0 to 3600");
    return true;
}

static bool check_head(const gw_scene *s, int index, gw_error *error)
{
    const gw_task *task = &s->tasks[index];
    char where[64];
    snprintf(where, sizeof where, "/tasks/%d/id", index);
    if (!gw_id_valid(task->id))
        return gw_fail(error, GW_BAD_INPUT, where,
                       "the id \"%s\" must be 1 to %d of the characters A-Z a-z 0-9 _ . : + -",
                       task->id, GW_MAX_ID);
    for (int i = 0; i < index; i++)
        if (strcmp(s->tasks[i].id, task->id) == 0)
            return gw_fail(error, GW_CONFLICT, where, "the id %s is taken by /tasks/%d", task->id,
                           i);
    snprintf(where, sizeof where, "/tasks/%d/object", index);
    int object = gw_scene_object(s, task->object);
    if (object < 0) {
        gw_fail(error, GW_BAD_INPUT, where, "there is no object \"%s\"", task->object);
        return gw_error_names(error, s->objects, s->object_count, sizeof *s->objects);
    }
    if (s->objects[object].fixed)
        return gw_fail(error, GW_BAD_INPUT, where,
                       "\"%s\" is fixed: a task moves an object that may move", task->object);
    snprintf(where, sizeof where, "/tasks/%d/steps", index);
    if (task->step_count < 1 || task->step_count > GW_MAX_STEPS)
        return gw_fail(error, task->step_count ? GW_TOO_LARGE : GW_BAD_INPUT, where,
                       "a task has 1 to %d steps", GW_MAX_STEPS);
    return true;
}

static bool check_task(const gw_scene *s, int index, gw_error *error)
{
    if (!check_head(s, index, error))
        return false;
    for (int k = 0; k < s->tasks[index].step_count; k++) {
        step_context p = {.scene = s, .step = &s->tasks[index].steps[k], .error = error};
        snprintf(p.at, sizeof p.at, "/tasks/%d/steps/%d", index, k);
        if (!check_step(&p))
            return false;
    }
    return true;
}

void gw_scene_check_tasks(const gw_scene *s, gw_error_list *list)
{
    for (int i = 0; i < s->task_count; i++)
        if (gw_count_error(list, check_task(s, i, gw_next_error(list))))
            return;
}
