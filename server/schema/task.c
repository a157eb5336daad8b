/*
 * Tasks, and the progress of one that runs.
 */
#include <string.h>

#include "server/schema/field.h"

/* ---- steps --------------------------------------------------------------------------------- */

DECODE(decode_id)
{
    const char *id = json_string_value(value);
    if (!id || !gw_id_valid(id))
        return wire_refuse(at, error, "must be the id of a constraint");
    strcpy(owner, id);
    return true;
}

ENCODE(encode_id)
{
    return json_string(owner);
}

static const wire_type constraint_id = {decode_id, encode_id, wire_schema_id};
static const wire_field an_id = {"id", &constraint_id};

static const wire_field of_constrain[] = {
    {"enable", LIST_WITHIN, AT(gw_task_step, enable), .item = &an_id,
     COUNTED(gw_task_step, enable_count, char[GW_MAX_ID + 1]), .most = GW_MAX_STEP_IDS},
    {"disable", LIST_WITHIN, AT(gw_task_step, disable), .item = &an_id,
     COUNTED(gw_task_step, disable_count, char[GW_MAX_ID + 1]), .most = GW_MAX_STEP_IDS},
    {"branch", STRING, AT(gw_task_step, branch), OMITTED},
    {0}};
static const wire_table constrain = {.name = "ConstrainStep",
                                     .about = "Which constraints hold from here on: an edit.",
                                     .fields = of_constrain,
                                     .size = sizeof(gw_task_step)};

/* "to" or "by": a number for each named parameter. */
DECODE(decode_targets)
{
    gw_task_step *step = owner;
    const char *parameter;
    json_t *target;
    if (!json_is_object(value))
        return wire_refuse(at, error, "%s: must be an object of parameters", f->name);
    json_object_foreach((json_t *)value, parameter, target)
    {
        const wire_path here = {.parent = at, .name = parameter};
        const wire_field number = {.name = parameter, AT(gw_step_target, value)};
        gw_step_target *next = &step->targets[step->target_count];
        if (step->target_count == 6)
            return wire_refuse(&here, error, "a body has at most six parameters");
        if (strlen(parameter) >= sizeof next->name)
            return wire_refuse(&here, error, "\"%.40s\" is no parameter", parameter);
        *next = (gw_step_target){.relative = strcmp(f->name, "by") == 0};
        strcpy(next->name, parameter);
        if (!NUMBER->decode(&number, target, &here, next, error))
            return false;
        step->target_count++;
    }
    return true;
}

ENCODE(encode_targets)
{
    const gw_task_step *step = owner;
    json_t *targets = json_object();
    for (int i = 0; i < step->target_count; i++)
        if (step->targets[i].relative == (strcmp(f->name, "by") == 0))
            json_object_set_new(targets, step->targets[i].name, json_real(step->targets[i].value));
    return targets;
}

static const wire_field a_number = {"number", NUMBER};
static const wire_type targets = {decode_targets, encode_targets, wire_schema_map};

WHEN(is_guarded, gw_task_step, it->guarded)

static const wire_field of_guard[] = {
    {"reaction", NUMBER, AT(gw_task_step, reaction), OMITTED | EXCLUSIVE, LOW(0),
     .must = "must be greater than 0 (N along a slide, N m about a turn)",
     .unit = "N along a slide, N m about a turn"},
    {"contact", BOOLEAN, AT(gw_task_step, contact),
     .about = "a wall touches that did not when the move began"},
    {0}};
static const wire_table guard_table = {
    .name = "Guard", .fields = of_guard, .size = sizeof(gw_task_step)};

static void default_move(void *step)
{
    ((gw_task_step *)step)->speed = GW_STEP_SPEED;
    ((gw_task_step *)step)->spin = GW_STEP_SPIN;
}

/* A guard must fire by default: `required` is true where there is `until`. */
HOOK(guard)
{
    gw_task_step *step = owner;
    step->required = json_object_get(value, "until") != NULL;
    return true;
}

static const wire_field of_move[] = {
    {"to", &targets, .item = &a_number, AT(gw_task_step, target_count), OMITTED,
     .about = "m or rad (1 of a free-form shape), by the names that the branch's parameters have"},
    {"by", &targets, .item = &a_number, AT(gw_task_step, target_count), OMITTED},
    {"speed", NUMBER, AT(gw_task_step, speed), LOW(1e-4), .unit = "m/s"},
    {"spin", NUMBER, AT(gw_task_step, spin), LOW(1e-3), .unit = "rad/s"},
    {"until", OBJECT, HAS(gw_task_step, guarded), .table = &guard_table},
    {"required", BOOLEAN, AT(gw_task_step, required), .when = is_guarded,
     .about = "the guard must fire; true unless told otherwise where there is one"},
    {0}};
static const wire_table move = {
    .name = "MoveStep",
    .about = "Along the freedoms: to a value, by an amount, until something pushes back.",
    .fields = of_move,
    .size = sizeof(gw_task_step),
    .initial = default_move,
    .before = guard};

static const wire_field of_wait[] = {
    {"seconds", NUMBER, AT(gw_task_step, seconds), REQUIRED, RANGE(0, 3600), .unit = "s"}, {0}};
static const wire_table pause = {
    .name = "WaitStep", .fields = of_wait, .size = sizeof(gw_task_step)};

static const char *const step_types[] = {
    [GW_STEP_CONSTRAIN] = "constrain", [GW_STEP_MOVE] = "move", [GW_STEP_WAIT] = "wait", NULL};
static const wire_table *const steps[] = {
    [GW_STEP_CONSTRAIN] = &constrain, [GW_STEP_MOVE] = &move, [GW_STEP_WAIT] = &pause};
static const wire_field of_step[] = {
    {"type", CHOICE, AT(gw_task_step, kind), REQUIRED, .choices = step_types}, {0}};
static const wire_table step_table = {.name = "Step",
                                      .fields = of_step,
                                      .size = sizeof(gw_task_step),
                                      .no_object = "a step is an object with a type",
                                      .of_kind = steps};

/* ---- progress ------------------------------------------------------------------------------ */

static const char *task_state(int state)
{
    return state <= GW_TASK_STOPPED ? gw_task_state_name((gw_task_state)state) : NULL;
}

/* The name of a step's state; a step that has not begun is "waiting". */
static const char *step_state(int state)
{
    return state == GW_TASK_IDLE ? "waiting" : task_state(state);
}

static const char *step_reason(int reason)
{
    return reason <= GW_STEP_STOPPED ? gw_step_reason_name((gw_step_reason)reason) : NULL;
}

ENCODE(encode_parameters)
{
    const gw_step_progress *p = owner;
    json_t *parameters = json_object();
    for (int i = 0; i < p->parameter_count; i++) {
        const wire_field number = {.name = f->name, .offset = 0};
        json_object_set_new(parameters, p->names[i],
                            NUMBER->encode(&number, &p->parameters[i], context));
    }
    return parameters;
}

static const wire_type parameters = {NULL, encode_parameters, wire_schema_map};

static const wire_field of_step_progress[] = {
    {"state", CHOICE, AT(gw_step_progress, state), .name_of = step_state},
    {"reason", CHOICE, AT(gw_step_progress, reason), .name_of = step_reason,
     .about = "why it ended"},
    {"parameters", &parameters, .item = &a_number, .about = "where the object was at its end"},
    {"reaction", NUMBER, AT(gw_step_progress, reaction), .about = "along the motion at its end",
     .unit = "N, N m"},
    {"seconds", NUMBER, AT(gw_step_progress, seconds), .unit = "s"},
    {0}};
static const wire_table step_progress_table = {
    .name = "StepProgress", .fields = of_step_progress, .answered = true};

static const wire_field of_task_progress[] = {
    {"state", CHOICE, AT(gw_task_progress, state), .name_of = task_state},
    {"step", WHOLE, AT(gw_task_progress, step), .about = "index of the step that runs or ran last"},
    {"steps", LIST_WITHIN, AT(gw_task_progress, steps), .table = &step_progress_table,
     COUNTED(gw_task_progress, step_count, gw_step_progress)},
    {"message", STRING, AT(gw_task_progress, message), .about = "how it ended"},
    {0}};
const wire_table wire_table_task_progress = {
    .name = "TaskProgress",
    .about = "Of the task that runs or ran last; any other is idle.",
    .fields = of_task_progress,
    .answered = true};

json_t *wire_task_progress(const gw_task_progress *progress)
{
    return wire_encode(&wire_table_task_progress, progress, &(wire_context){.clamp = true});
}

/* ---- tasks --------------------------------------------------------------------------------- */

INITIAL(no_task, gw_task, (gw_task){0})
FINISH(finish_task, gw_task, gw_task_finish(it))

static const wire_field of_task[] = {
    {"id", ID, AT(gw_task, id), REQUIRED | IN_ADDRESS},
    {"name", STRING, AT(gw_task, name)},
    {"object", ID, AT(gw_task, object), REQUIRED},
    {"steps", LIST, AT(gw_task, steps), REQUIRED, .table = &step_table,
     COUNTED(gw_task, step_count, gw_task_step), .least = 1, .most = GW_MAX_STEPS,
     .must = "a task has 1 to 64 steps"},
    {"progress", OBJECT, .flags = READ_ONLY | SENT_BACK, .table = &wire_table_task_progress},
    {0}};
_Static_assert(GW_MAX_STEPS == 64, "as `must` says");

const wire_table wire_table_task = {
    .name = "Task",
    .about = "A sequence of steps that brings one held object somewhere along its freedoms.",
    .read = {"TaskRead", NULL},
    .given = {"TaskGiven", "A task whose id is the address's."},
    .patch = {"TaskPatch", "Merge patch of a task; steps are replaced whole."},
    .fields = of_task,
    .size = sizeof(gw_task),
    .initial = no_task,
    .finish = finish_task};

CODEC(task, gw_task)
