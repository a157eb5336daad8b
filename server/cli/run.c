/*
 * `guideway run`: simulates a scene without a server, deterministically, as fast as possible or in
 * real time. On one thread; CSV and figures are written between ticks and not counted in the ticks'
 * time.
 */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "rt/guideway.h"
#include "server/cli/bodies_csv.h"
#include "server/cli/command.h"
#include "server/cli/recording.h"
#include "server/schema/wire.h"

#define TASK_SECONDS 600 /* time limit of a task, unless another one is given */

typedef struct options {
    const char *scene, *csv, *bodies, *collisions, *device, *record, *task;
    double seconds;
    bool wrenches, real_time;
} options;

enum { RUN_EVENTS = 256 };

/* The resources and figures of a run. */
typedef struct run {
    gw_scene *scene;
    gw_sim *sim;
    double *wrenches; /* one row, where the CSV has wrenches; else NULL */
    FILE *csv, *bodies_file, *collisions, *device, *record_file;
    uint64_t collision_count; /* number of rows written */
    bodies_csv *bodies;
    recording *record;
    double wall_us, residual_max, depth_max;
    double gap_min, impulse_max; /* least gap (m), largest impulse in a tick (N s) */
    gw_event *events;            /* owned, RUN_EVENTS: one for each kind and body */
    unsigned counted[RUN_EVENTS];
    int event_count;
    gw_task_run task; /* where a task is run */
} run;

/* ---- start and end ------------------------------------------------------------------------- */

/* The task of that id, and the tool that holds its object. */
static bool find_task(run *r, const char *id, gw_error *error)
{
    int index = gw_scene_task(r->scene, id), tool = -1;
    if (index < 0)
        return gw_fail(error, GW_BAD_INPUT, "/tasks", "the scene has no task \"%s\"", id);
    const gw_task *task = &r->scene->tasks[index];
    for (int i = 0; i < r->scene->tool_count; i++)
        if (strcmp(r->scene->tools[i].object, task->object) == 0)
            tool = i;
    if (tool < 0)
        return gw_fail(error, GW_BAD_INPUT, "/tool", "no tool holds \"%s\", which task %s moves",
                       task->object, id);
    gw_task_begin(&r->task, task, tool, 0);
    return true;
}

static bool start_run(run *r, const options *o, gw_error *error)
{
    gw_error open; /* of bodies that nothing moves */
    r->scene = command_scene(o->scene, error);
    if (!r->scene || (o->task && !find_task(r, o->task, error)))
        return false;
    r->sim = gw_sim_create(r->scene, error);
    if (!r->sim)
        return false;
    if (!gw_layout_standing_hold(r->scene, gw_sim_layout(r->sim), &open))
        fprintf(stderr, "guideway: %s: note: %s\n", o->scene, open.message);
    if (!(r->events = calloc(RUN_EVENTS, sizeof *r->events)))
        return gw_fail(error, GW_FAILED, "", "no memory for the events");
    if (!command_create(o->csv, &r->csv, error))
        return false;
    if (o->wrenches && !o->csv)
        return gw_fail(error, GW_BAD_INPUT, "", "--wrenches adds columns to a CSV: name its --csv");
    if (o->wrenches &&
        !(r->wrenches = calloc((size_t)wire_wrench_columns(r->scene) + 1, sizeof *r->wrenches)))
        return gw_fail(error, GW_FAILED, "", "no memory for the joints' wrenches");
    if (o->wrenches)
        gw_sim_command(r->sim, &(gw_command){.kind = GW_COMMAND_REPORT_LINKS});
    if (!command_create(o->collisions, &r->collisions, error) ||
        !command_create(o->device, &r->device, error) ||
        !command_create(o->bodies, &r->bodies_file, error) ||
        !command_create(o->record, &r->record_file, error))
        return false;
    if (r->bodies_file &&
        !(r->bodies = bodies_csv_create(r->bodies_file, r->scene, gw_sim_layout(r->sim))))
        return gw_fail(error, GW_FAILED, "", "no memory for the table of bodies");
    if (r->record_file &&
        !(r->record = recording_create(r->record_file, r->scene, gw_sim_poses(r->sim))))
        return gw_fail(error, GW_FAILED, "", "no memory for the recording");
    return true;
}

static void finish_run(run *r)
{
    gw_sim_destroy(r->sim);
    gw_scene_destroy(r->scene);
    bodies_csv_destroy(r->bodies);
    recording_destroy(r->record);
    free(r->wrenches);
    free(r->events);
    FILE *const files[] = {r->csv, r->bodies_file, r->collisions, r->device, r->record_file};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i])
            fclose(files[i]);
}

/* ---- ticks --------------------------------------------------------------------------------- */

static void write_header(const run *r)
{
    char name[WIRE_COLUMN_NAME];
    int columns = wire_columns(gw_scene_joints(r->scene));
    for (int i = 0; i < columns; i++) {
        wire_column(i, columns, name);
        fprintf(r->csv, "%s%s", i ? "," : "", name);
    }
    json_t *names = r->wrenches ? wire_wrench_names(r->scene) : NULL, *each;
    size_t i;
    json_array_foreach(names, i, each) fprintf(r->csv, ",%s", json_string_value(each));
    json_decref(names);
    fputc('\n', r->csv);
}

static void write_row(const run *r, const gw_snapshot *s)
{
    double row[WIRE_MOST_COLUMNS];
    int joints = gw_scene_joints(r->scene), columns = wire_columns(joints);
    wire_row(s, joints, row);
    for (int i = 0; i < columns; i++)
        fprintf(r->csv, "%s%.17g", i ? "," : "", row[i]);
    if (r->wrenches) {
        wire_wrench_row(r->scene, s, r->wrenches);
        for (int i = 0; i < wire_wrench_columns(r->scene); i++)
            fprintf(r->csv, ",%.17g", r->wrenches[i]);
    }
    fputc('\n', r->csv);
}

/* Writes the collision states that are new in this tick. */
static void write_collisions(run *r, const gw_snapshot *s)
{
    if (s->collision_count < r->collision_count)
        r->collision_count = 0; /* a new scenario counts from zero */
    for (; r->collision_count < s->collision_count; r->collision_count++) {
        const gw_snapshot_collision_state *c =
            &s->collisions[r->collision_count % GW_MAX_SHOWN_COLLISION_STATES];
        fprintf(r->collisions, "%.17g,%d,%.17g,%.17g,%.17g\n", (double)c->tick / r->scene->rate,
                c->of.contacts, c->of.kinetic_before, c->of.kinetic_after, c->of.impulse);
    }
}

static void write_wrench(FILE *file, const gw_wrench *w)
{
    fprintf(file, ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g", w->f.x, w->f.y, w->f.z, w->t.x, w->t.y,
            w->t.z);
}

/* Writes the wrench of the first tool's impedance device on the hand, and its impulsive part. */
static void write_device(const run *r, const gw_snapshot *s)
{
    static const gw_tool_state none;
    const gw_tool_state *t = s->tool_count ? &s->tools[0] : &none;
    fprintf(r->device, "%.17g", s->time);
    write_wrench(r->device, &t->command);
    write_wrench(r->device, &t->impulse);
    fputc('\n', r->device);
}

/* Updates the maxima over all ticks. The residual is that of the scene's constraints at the present
 * poses, including the gaps of surfaces that are kept in contact. While a tool moves to other
 * constraints (a task's edit) it is not evaluated, since they are not satisfied then. */
static void watch_residual(run *r, const gw_snapshot *s)
{
    bool travelling = false;
    for (int i = 0; i < s->tool_count; i++) {
        r->depth_max = fmax(r->depth_max, s->tools[i].depth);
        travelling = travelling || s->tools[i].travelling;
    }
    for (int i = 0; i < s->contact_count; i++)
        r->gap_min = fmin(r->gap_min, s->contacts[i].at.gap);
    r->impulse_max = fmax(r->impulse_max, s->contact.impulse);
    const gw_pose *poses = gw_sim_poses(r->sim);
    if (travelling || s->revision != gw_sim_revision(r->sim))
        return;
    double residual = gw_layout_residual(gw_sim_layout(r->sim), poses);
    for (int i = 0; i < s->contact_count; i++)
        if (s->contacts[i].kept)
            residual = fmax(residual, fabs(s->contacts[i].at.gap));
    if (residual > r->residual_max)
        r->residual_max = residual;
}

static void sleep_until(double us)
{
    struct timespec t = {.tv_sec = (time_t)(us / 1e6)};
    t.tv_nsec = (long)((us - 1e6 * (double)t.tv_sec) * 1e3);
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR &&
           !command_interrupted())
        ;
}

/* ---- the task ------------------------------------------------------------------------------ */

static void carry_out(run *r, const gw_task_action *action)
{
    gw_error error = {0};
    if (action->kind == GW_TASK_COMMAND)
        gw_sim_command(r->sim, &action->command);
    if (action->kind != GW_TASK_EDIT)
        return;
    bool changed = gw_task_edit(r->scene, r->task.tool, action->step);
    bool done = !changed || gw_sim_change(r->sim, r->scene, &error);
    gw_task_edited(&r->task, done, gw_sim_revision(r->sim), error.message);
}

/* Polls the task between two ticks; true when it has ended. */
static bool poll_task(run *r)
{
    const gw_snapshot *s = gw_sim_snapshot(r->sim);
    int object = s->tools[r->task.tool].object;
    const gw_placement *p = gw_layout_placement(gw_sim_layout(r->sim), object);
    bool match = s->revision == gw_sim_revision(r->sim) && p && p->branch >= 0;
    gw_task_view view = {s, match ? &p->solution.branches[p->branch].set : NULL};
    gw_task_action action = gw_task_poll(&r->task, &view);
    carry_out(r, &action);
    return r->task.progress.state != GW_TASK_RUNNING;
}

/* Combines events of one kind about one body: the first tick, the largest value, the count. Events
 * about the loop's own timing are reported elsewhere. */
static void take_events(run *r)
{
    gw_event event;
    while (gw_sim_event(r->sim, &event)) {
        if (event.kind == GW_EVENT_ACTIVE || event.kind == GW_EVENT_STATE ||
            event.kind == GW_EVENT_OVERRUN || event.kind == GW_EVENT_MOTION_ENDED)
            continue;
        if (r->record)
            recording_event(r->record, &event);
        int i = 0;
        while (i < r->event_count &&
               (r->events[i].kind != event.kind || r->events[i].tool != event.tool ||
                r->events[i].object != event.object))
            i++;
        if (i == RUN_EVENTS)
            continue;
        if (i == r->event_count)
            r->events[r->event_count++] = event;
        r->events[i].value = fmax(r->events[i].value, event.value);
        r->counted[i]++;
    }
}

static unsigned long long run_ticks(run *r, const options *o, unsigned long long ticks)
{
    double period_us = 1e6 / r->scene->rate, begin = command_now_us();
    unsigned long long k = 0;
    for (; k < ticks && !command_interrupted(); k++) {
        if (o->real_time)
            sleep_until(begin + (double)k * period_us);
        gw_sim_step(r->sim, 1);
        const gw_snapshot *s = gw_sim_snapshot(r->sim);
        r->wall_us += s->tick_us;
        take_events(r);
        watch_residual(r, s);
        if (r->csv)
            write_row(r, s);
        if (r->collisions)
            write_collisions(r, s);
        if (r->device)
            write_device(r, s);
        if (r->bodies)
            bodies_csv_row(r->bodies, s, gw_sim_poses(r->sim));
        if (r->record)
            recording_row(r->record, s, gw_sim_poses(r->sim));
        if (r->task.task && poll_task(r)) {
            k++;
            break;
        }
    }
    gw_sim_finish(r->sim);
    take_events(r);
    watch_residual(r, gw_sim_snapshot(r->sim));
    return k;
}

/* ---- summary ------------------------------------------------------------------------------- */

static json_t *final_json(const gw_snapshot *s)
{
    gw_tool_state none = {.world_from_tool = gw_pose_identity()};
    const gw_tool_state *t = s->tool_count ? &s->tools[0] : &none;
    return json_pack("{so s{so so}}", "pose", wire_pose(&t->world_from_tool), "twist", "v",
                     wire_vec3(t->twist.v), "w", wire_vec3(t->twist.w));
}

/* Adds figures of contacts, motors, and impulses withheld at impedance devices, where there are
 * any. */
static void add_contacts(json_t *figures, const run *r, const gw_snapshot *s)
{
    json_t *energy = json_object_get(figures, "energy");
    wire_add(energy, "motors", json_real(s->energy.motors));
    wire_add(energy, "edits", json_real(s->energy.edits));
    double withheld = 0;
    bool rendered = false;
    for (int i = 0; i < s->tool_count && i < r->scene->tool_count; i++) {
        rendered = rendered || r->scene->tools[i].control != GW_CONTROL_ADMITTANCE;
        withheld += s->tools[i].withheld;
    }
    if (rendered)
        wire_add(figures, "withheld", json_real(withheld));
    if (!r->scene->contact.enabled)
        return;
    json_t *contact = wire_contact_figures(&s->contact);
    wire_add(contact, "impulse_max", json_real(r->impulse_max));
    wire_add(contact, "penetration_max", json_real(0 - r->gap_min));
    wire_add(figures, "contact", contact);
}

/* Adds the mobility and the redundant relations at the start, and the energy of edits. */
static bool add_freedoms(json_t *figures, const run *r)
{
    const gw_scene *s = r->scene;
    const gw_layout *layout = gw_sim_layout(r->sim);
    gw_redundant_relations out = {calloc((size_t)s->constraint_count + 1, sizeof(bool)),
                                  calloc((size_t)s->joint_count + 1, sizeof(bool))};
    json_t *ids = json_array();
    bool made = out.constraints && out.joints && ids && gw_layout_redundant(s, layout, &out);
    for (int i = 0; made && i < s->constraint_count; i++)
        if (out.constraints[i])
            made = json_array_append_new(ids, json_string(s->constraints[i].id)) == 0;
    for (int i = 0; made && i < s->joint_count; i++)
        if (out.joints[i])
            made = json_array_append_new(ids, json_string(s->joints[i].id)) == 0;
    free(out.constraints);
    free(out.joints);
    if (!made) {
        json_decref(ids);
        return false;
    }
    wire_add(figures, "mobility", json_integer(gw_layout_mobility(s, layout)));
    wire_add(figures, "redundant", ids);
    wire_add(figures, "edits", json_real(gw_sim_snapshot(r->sim)->energy.edits));
    return true;
}

static json_t *events_json(const run *r)
{
    json_t *events = json_array();
    for (int i = 0; i < r->event_count; i++)
        json_array_append_new(events, wire_event(&r->events[i], r->scene, r->counted[i]));
    return events;
}

static json_t *summary_json(const run *r, unsigned long long ticks)
{
    const gw_snapshot *s = gw_sim_snapshot(r->sim);
    const gw_energy *e = &s->energy;
    json_t *figures = json_pack(
        "{ss sI sf sf s{sf sf sf} sI sI s{sf sf sf sf} sf sf so}", "scene", r->scene->name, "ticks",
        (json_int_t)ticks, "seconds", (double)ticks / r->scene->rate, "wall_s", 1e-6 * r->wall_us,
        "tick_us", "p50", s->tick_us_p50, "p99", s->tick_us_p99, "max", s->tick_us_max, "overruns",
        (json_int_t)s->overruns, "limited_ticks", (json_int_t)s->limited_ticks, "energy", "initial",
        e->initial, "final", e->kinetic + e->potential, "work_in", e->work_in, "dissipated",
        e->dissipated, "constraint_residual_max", r->residual_max, "penetration_max", r->depth_max,
        "final", final_json(s));
    if (figures && !add_freedoms(figures, r)) {
        json_decref(figures);
        return NULL;
    }
    if (figures) {
        add_contacts(figures, r, s);
        wire_add(figures, "events", events_json(r));
    }
    if (r->task.task)
        json_object_set_new(figures, "task",
                            json_pack("{ss so}", "id", r->task.task->id, "progress",
                                      wire_task_progress(&r->task.progress)));
    return figures;
}

/* A task that did not succeed is an error of the work, not of the input. */
static int report_task(const run *r)
{
    const gw_task_progress *p = &r->task.progress;
    if (!r->task.task || p->state == GW_TASK_DONE)
        return EXIT_DONE;
    fprintf(stderr, "guideway: task %s: %s\n", r->task.task->id,
            p->state == GW_TASK_RUNNING ? "the time was over before its end" : p->message);
    return EXIT_WORK_FAILED;
}

static int report_run(run *r, const options *o, unsigned long long ticks, unsigned long long wanted)
{
    json_t *value = summary_json(r, ticks);
    bool memory = value || wire_memory_short(); /* false: a figure is not finite */
    gw_text *text = wire_text(value);
    if (!text) {
        fputs(memory
                  ? "guideway: no memory for the summary\n"
                  : "guideway: the run left the numbers: a figure of its summary is not finite\n",
              stderr);
        return EXIT_WORK_FAILED;
    }
    int printed = command_print(text->data);
    text_unref(text);
    if (printed != EXIT_DONE)
        return printed;
    FILE *const files[] = {r->csv, r->bodies_file, r->collisions, r->device};
    const char *const names[] = {o->csv, o->bodies, o->collisions, o->device};
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        if (files[i] && (fflush(files[i]) || ferror(files[i]))) {
            fprintf(stderr, "guideway: %s could not be written whole\n", names[i]);
            return EXIT_WORK_FAILED;
        }
    if (r->record && !recording_finish(r->record)) {
        fprintf(stderr, "guideway: %s could not be written whole\n", o->record);
        return EXIT_WORK_FAILED;
    }
    if (r->task.task)
        return command_interrupted() ? EXIT_WORK_FAILED : report_task(r);
    if (ticks < wanted) {
        fprintf(stderr, "guideway: interrupted after %llu of %llu ticks\n", ticks, wanted);
        return EXIT_WORK_FAILED;
    }
    return EXIT_DONE;
}

/* ---- the command --------------------------------------------------------------------------- */

int command_run(const command_line *line)
{
    const char *task = command_value(line, "task");
    options o = {.scene = line->argument,
                 .csv = command_value(line, "csv"),
                 .bodies = command_value(line, "bodies"),
                 .collisions = command_value(line, "collisions"),
                 .device = command_value(line, "device"),
                 .record = command_value(line, "record"),
                 .task = task,
                 .seconds = command_number(line, "seconds", task ? TASK_SECONDS : 10),
                 .wrenches = command_value(line, "wrenches"),
                 .real_time = command_value(line, "real-time")};
    run r = {0};
    gw_error error = {0};
    command_catch();
    if (!start_run(&r, &o, &error)) {
        finish_run(&r);
        return command_error(o.scene, &error);
    }
    unsigned long long ticks = (unsigned long long)(o.seconds * r.scene->rate + 0.5);
    if (r.csv)
        write_header(&r);
    if (r.collisions)
        fputs("t,contacts,kinetic_before,kinetic_after,impulse\n", r.collisions);
    if (r.device)
        fputs("t,ux,uy,uz,utx,uty,utz,ix,iy,iz,itx,ity,itz\n", r.device);
    gw_sim_set_state(r.sim, GW_RUNNING);
    int code = report_run(&r, &o, run_ticks(&r, &o, ticks), ticks);
    finish_run(&r);
    return code;
}
