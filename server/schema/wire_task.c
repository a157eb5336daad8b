/*
 * Tasks as JSON: decoding, encoding, and the progress of one that runs. Any server thread; no
 * state.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/schema/wire_base.h"

static const char *const step_types[] = {"constrain", "move", "wait", NULL};

/* ---- decoding ------------------------------------------------------------------------------ */

static bool get_ids(const json_t *step, const char *at, const char *name, int *count,
                    char (*ids)[GW_MAX_ID + 1], gw_error *error)
{
    const json_t *list;
    char where[WIRE_POINTER], entry[WIRE_POINTER];
    if (!wire_array(step, at, name, WIRE_OPTIONAL, GW_MAX_STEP_IDS, &list, error))
        return false;
    wire_pointer(where, at, name);
    for (size_t i = 0; list && i < json_array_size(list); i++) {
        const char *id = json_string_value(json_array_get(list, i));
        wire_pointer_index(entry, where, i);
        if (!id || !gw_id_valid(id))
            return gw_fail(error, GW_BAD_INPUT, entry, "must be the id of a constraint");
        strcpy(ids[(*count)++], id);
    }
    return true;
}

static bool get_constrain(const json_t *v, const char *at, gw_task_step *step, gw_error *error)
{
    static const char *const allowed[] = {"type", "enable", "disable", "branch", NULL};
    return wire_open(v, at, allowed, error) &&
           get_ids(v, at, "enable", &step->enable_count, step->enable, error) &&
           get_ids(v, at, "disable", &step->disable_count, step->disable, error) &&
           wire_string(v, at, "branch", WIRE_OPTIONAL, step->branch, sizeof step->branch, error);
}

/* The parameters of "to" or "by". */
static bool get_targets(const json_t *v, const char *at, const char *name, gw_task_step *step,
                        gw_error *error)
{
    const json_t *targets = json_object_get(v, name);
    char where[WIRE_POINTER], member[WIRE_POINTER];
    const char *parameter;
    json_t *value;
    wire_pointer(where, at, name);
    if (targets && !json_is_object(targets))
        return gw_fail(error, GW_BAD_INPUT, where, "%s: must be an object of parameters", name);
    json_object_foreach((json_t *)targets, parameter, value)
    {
        gw_step_target *target = &step->targets[step->target_count];
        wire_pointer(member, where, parameter);
        if (step->target_count == 6)
            return gw_fail(error, GW_BAD_INPUT, member, "a body has at most six parameters");
        if (strlen(parameter) >= sizeof target->name)
            return gw_fail(error, GW_BAD_INPUT, member, "\"%.40s\" is no parameter", parameter);
        *target = (gw_step_target){.relative = strcmp(name, "by") == 0};
        strcpy(target->name, parameter);
        if (!wire_number(targets, where, parameter, WIRE_REQUIRED, &target->value, error))
            return false;
        step->target_count++;
    }
    return true;
}

static bool get_guard(const json_t *v, const char *at, gw_task_step *step, gw_error *error)
{
    static const char *const allowed[] = {"reaction", "contact", NULL};
    const json_t *until = json_object_get(v, "until");
    char where[WIRE_POINTER], member[WIRE_POINTER];
    wire_pointer(where, at, "until");
    step->guarded = step->required = until != NULL;
    if (until && (!wire_open(until, where, allowed, error) ||
                  !wire_number(until, where, "reaction", WIRE_OPTIONAL, &step->reaction, error) ||
                  !wire_bool(until, where, "contact", &step->contact, error)))
        return false;
    wire_pointer(member, where, "reaction");
    if (json_object_get(until, "reaction") && !(step->reaction > 0))
        return gw_fail(error, GW_BAD_INPUT, member,
                       "reaction: must be greater than 0 (N along a slide, N m about a turn)");
    return wire_bool(v, at, "required", &step->required, error);
}

static bool get_move(const json_t *v, const char *at, gw_task_step *step, gw_error *error)
{
    static const char *const allowed[] = {"type", "to",    "by",       "speed",
                                          "spin", "until", "required", NULL};
    step->speed = GW_STEP_SPEED;
    step->spin = GW_STEP_SPIN;
    return wire_open(v, at, allowed, error) && get_targets(v, at, "to", step, error) &&
           get_targets(v, at, "by", step, error) &&
           wire_number(v, at, "speed", WIRE_OPTIONAL, &step->speed, error) &&
           wire_number(v, at, "spin", WIRE_OPTIONAL, &step->spin, error) &&
           get_guard(v, at, step, error);
}

static bool get_wait(const json_t *v, const char *at, gw_task_step *step, gw_error *error)
{
    static const char *const allowed[] = {"type", "seconds", NULL};
    return wire_open(v, at, allowed, error) &&
           wire_number(v, at, "seconds", WIRE_REQUIRED, &step->seconds, error);
}

static bool get_step(const json_t *v, const char *at, gw_task_step *step, gw_error *error)
{
    int kind = 0;
    if (!json_is_object(v))
        return gw_fail(error, GW_BAD_INPUT, at, "a step is an object with a type");
    if (!wire_choice(v, at, "type", WIRE_REQUIRED, step_types, &kind, error))
        return false;
    step->kind = (gw_step_kind)kind;
    switch (step->kind) {
    case GW_STEP_CONSTRAIN:
        return get_constrain(v, at, step, error);
    case GW_STEP_MOVE:
        return get_move(v, at, step, error);
    case GW_STEP_WAIT:
        return get_wait(v, at, step, error);
    }
    return false;
}

static bool get_steps(const json_t *v, const char *at, gw_task *task, gw_error *error)
{
    const json_t *list;
    char where[WIRE_POINTER], entry[WIRE_POINTER];
    if (!wire_array(v, at, "steps", WIRE_REQUIRED, GW_MAX_STEPS, &list, error))
        return false;
    size_t count = json_array_size(list);
    wire_pointer(where, at, "steps");
    if (count == 0)
        return gw_fail(error, GW_BAD_INPUT, where, "steps: a task has 1 to %d steps", GW_MAX_STEPS);
    task->steps = calloc(count, sizeof *task->steps);
    if (!task->steps)
        return gw_fail(error, GW_FAILED, "", "no memory for a task");
    for (size_t i = 0; i < count; i++) {
        wire_pointer_index(entry, where, i);
        if (!get_step(json_array_get(list, i), entry, &task->steps[i], error))
            return false;
        task->step_count++;
    }
    return true;
}

bool wire_get_task(const json_t *v, const char *at, gw_task *task, gw_error *error)
{
    static const char *const allowed[] = {"id", "name", "object", "steps", NULL};
    *task = (gw_task){0};
    if (wire_open(v, at, allowed, error) &&
        wire_string(v, at, "id", WIRE_REQUIRED, task->id, sizeof task->id, error) &&
        wire_string(v, at, "name", WIRE_OPTIONAL, task->name, sizeof task->name, error) &&
        wire_string(v, at, "object", WIRE_REQUIRED, task->object, sizeof task->object, error) &&
        get_steps(v, at, task, error))
        return true;
    gw_task_finish(task);
    return false;
}

/* ---- encoding ------------------------------------------------------------------------------ */

static json_t *ids_json(int count, const char (*ids)[GW_MAX_ID + 1])
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, json_string(ids[i]));
    return list;
}

static json_t *constrain_json(const gw_task_step *step)
{
    json_t *json = json_pack("{ss so so}", "type", "constrain", "enable",
                             ids_json(step->enable_count, step->enable), "disable",
                             ids_json(step->disable_count, step->disable));
    if (step->branch[0])
        json_object_set_new(json, "branch", json_string(step->branch));
    return json;
}

/* "to" or "by" where the step has one. */
static void add_targets(json_t *json, const gw_task_step *step, bool relative)
{
    json_t *targets = json_object();
    for (int i = 0; i < step->target_count; i++)
        if (step->targets[i].relative == relative)
            json_object_set_new(targets, step->targets[i].name, json_real(step->targets[i].value));
    if (json_object_size(targets) > 0)
        json_object_set(json, relative ? "by" : "to", targets);
    json_decref(targets);
}

static json_t *move_json(const gw_task_step *step)
{
    json_t *json =
        json_pack("{ss sf sf}", "type", "move", "speed", step->speed, "spin", step->spin);
    add_targets(json, step, false);
    add_targets(json, step, true);
    if (!step->guarded)
        return json;
    json_t *until = json_pack("{sb}", "contact", step->contact);
    if (step->reaction > 0)
        json_object_set_new(until, "reaction", json_real(step->reaction));
    json_object_set_new(json, "until", until);
    json_object_set_new(json, "required", json_boolean(step->required));
    return json;
}

static json_t *step_json(const gw_task_step *step)
{
    if (step->kind == GW_STEP_CONSTRAIN)
        return constrain_json(step);
    if (step->kind == GW_STEP_MOVE)
        return move_json(step);
    return json_pack("{ss sf}", "type", "wait", "seconds", step->seconds);
}

json_t *wire_task(const gw_task *task)
{
    json_t *steps = json_array();
    for (int i = 0; i < task->step_count; i++)
        json_array_append_new(steps, step_json(&task->steps[i]));
    return json_pack("{ss ss ss so}", "id", task->id, "name", task->name, "object", task->object,
                     "steps", steps);
}

/* ---- progress ------------------------------------------------------------------------------ */

static double shown(double x)
{
    return isfinite(x) ? x : 0;
}

static json_t *step_progress_json(const gw_step_progress *p)
{
    json_t *parameters = json_object();
    for (int i = 0; i < p->parameter_count; i++)
        json_object_set_new(parameters, p->names[i], json_real(shown(p->parameters[i])));
    const char *state = p->state == GW_TASK_IDLE ? "waiting" : gw_task_state_name(p->state);
    return json_pack("{ss ss so sf sf}", "state", state, "reason", gw_step_reason_name(p->reason),
                     "parameters", parameters, "reaction", shown(p->reaction), "seconds",
                     shown(p->seconds));
}

json_t *wire_task_progress(const gw_task_progress *p)
{
    json_t *steps = json_array();
    for (int i = 0; i < p->step_count; i++)
        json_array_append_new(steps, step_progress_json(&p->steps[i]));
    return json_pack("{ss si so ss}", "state", gw_task_state_name(p->state), "step", p->step,
                     "steps", steps, "message", p->message);
}
