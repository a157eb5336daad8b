/*
 * `guideway assemble`: reads a scene whose parts lie anywhere, writes the assembled scene.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/guideway.h"
#include "server/cli/command.h"
#include "server/schema/wire.h"

/* ---- options ------------------------------------------------------------------------------- */

/* Splits "a,b" into the request's ids. */
static bool take_ground(const char *list, wire_assembly_request *r, gw_error *error)
{
    size_t count = 1;
    for (const char *c = list; *c; c++)
        count += *c == ',';
    r->ground = calloc(count, sizeof *r->ground);
    if (!r->ground)
        return gw_fail(error, GW_FAILED, "", "no memory for an assembly");
    for (const char *next = list;; next++) {
        size_t size = strcspn(next, ",");
        if (size == 0 || size > GW_MAX_ID)
            return gw_fail(error, GW_BAD_INPUT, "", "--ground takes ids of objects, not \"%s\"",
                           list);
        memcpy(r->ground[r->ground_count++], next, size);
        next += size;
        if (!*next)
            return true;
    }
}

/* Checks that every id of --ground is an object of the scene. */
static bool check_ground(const wire_assembly_request *r, const gw_scene *scene, gw_error *error)
{
    for (int i = 0; i < r->ground_count; i++) {
        if (gw_scene_object(scene, r->ground[i]) >= 0)
            continue;
        gw_fail(error, GW_BAD_INPUT, "", "--ground: there is no object \"%s\"", r->ground[i]);
        return gw_error_names(error, scene->objects, scene->object_count, sizeof *scene->objects);
    }
    return true;
}

static bool take_method(const char *name, wire_assembly_request *r, gw_error *error)
{
    for (int i = 0; gw_assembly_methods[i]; i++)
        if (strcmp(gw_assembly_methods[i], name) == 0) {
            r->method = (gw_assembly_method)i;
            return true;
        }
    return gw_fail(error, GW_BAD_INPUT, "",
                   "--method takes auto, gradient, newton or lm, not \"%s\"", name);
}

static bool take_options(const command_line *line, wire_assembly_request *r, gw_error *error)
{
    const char *method = command_value(line, "method"), *ground = command_value(line, "ground");
    r->seed = (uint64_t)command_number(line, "seed", 1);
    return (!method || take_method(method, r, error)) && (!ground || take_ground(ground, r, error));
}

/* ---- files --------------------------------------------------------------------------------- */

/* Writes the CSV rows of the iterations. */
typedef struct record {
    FILE *csv, *bodies; /* NULL: not asked for */
    const gw_scene *scene;
    gw_assembly *assembly;
} record;

static void write_bodies_header(const record *r)
{
    static const char *const names[] = {"px", "py", "pz", "qw", "qx", "qy", "qz"};
    fputs("start,iteration", r->bodies);
    for (int i = 0; i < r->scene->object_count; i++)
        for (size_t k = 0; k < sizeof names / sizeof *names; k++)
            fprintf(r->bodies, ",%s.%s", r->scene->objects[i].id, names[k]);
    fputc('\n', r->bodies);
}

static void write_bodies(const record *r, int start, int iteration)
{
    const gw_pose *poses = gw_assembly_poses(r->assembly);
    fprintf(r->bodies, "%d,%d", start, iteration);
    for (int i = 0; i < r->scene->object_count; i++) {
        const gw_pose *x = &poses[i];
        fprintf(r->bodies, ",%.17g,%.17g,%.17g,%.17g,%.17g,%.17g,%.17g", x->p.x, x->p.y, x->p.z,
                x->q.w, x->q.x, x->q.y, x->q.z);
    }
    fputc('\n', r->bodies);
}

static bool write_row(void *context, int start, int iteration, double residual, double step)
{
    const record *r = context;
    if (r->csv)
        fprintf(r->csv, "%d,%d,%.17g,%.17g\n", start, iteration, residual, step);
    if (r->bodies)
        write_bodies(r, start, iteration);
    return true;
}

static bool close_file(const command_line *line, const char *option, FILE *file)
{
    if (!file || !(ferror(file) | fclose(file)))
        return true;
    fprintf(stderr, "guideway: %s could not be written whole\n", command_value(line, option));
    return false;
}

static bool write_scene(const char *file, const gw_scene *scene, gw_error *error)
{
    gw_text *text = wire_text(wire_scene(scene));
    if (!text)
        return gw_fail(error, GW_FAILED, "", "no memory for the assembled scene");
    FILE *out = fopen(file, "w");
    bool written = out && fputs(text->data, out) >= 0 && fputc('\n', out) != EOF;
    written = out && fclose(out) == 0 && written;
    text_unref(text);
    return written ||
           gw_fail(error, GW_FAILED, "", "%s cannot be written: %s", file, strerror(errno));
}

/* ---- the command --------------------------------------------------------------------------- */

static int report_result(gw_assembly *assembly, const gw_assembly_result *result)
{
    gw_text *text = wire_text(wire_assembly(assembly, result));
    if (!text) {
        fputs("guideway: no memory for the answer\n", stderr);
        return EXIT_WORK_FAILED;
    }
    int code = command_print(text->data);
    text_unref(text);
    if (code == EXIT_DONE && !result->held) {
        gw_error open;
        gw_assembly_refuse(assembly, result, &open);
        fprintf(stderr, "guideway: %s\n", open.message);
        return EXIT_WORK_FAILED;
    }
    return code;
}

static int assemble_scene(const command_line *line, gw_scene *scene,
                          const wire_assembly_request *request, record *r, gw_error *error)
{
    gw_assembly_def def;
    gw_assembly_result result;
    gw_assembly *assembly = NULL;
    const gw_assembly_options options = {.method = request->method,
                                         .seed = request->seed,
                                         .watch = r->csv || r->bodies ? write_row : NULL,
                                         .context = r};
    if (wire_assembly_def(request, scene, &def, error))
        assembly = gw_assembly_create(&def, error);
    wire_assembly_def_finish(&def);
    r->scene = scene;
    r->assembly = assembly;
    if (!assembly)
        return command_error(line->argument, error);
    if (r->csv)
        fputs("start,iteration,residual,step\n", r->csv);
    if (r->bodies)
        write_bodies_header(r);
    gw_assembly_solve(assembly, &options, &result);
    int code = report_result(assembly, &result);
    if (result.held)
        gw_assembly_apply(assembly, scene);
    gw_assembly_destroy(assembly);
    const char *out = command_value(line, "out");
    if (code == EXIT_DONE && out && !write_scene(out, scene, error))
        return command_error(line->argument, error);
    return code;
}

int command_assemble(const command_line *line)
{
    gw_error error = {0};
    wire_assembly_request request = {0};
    gw_scene *scene = NULL;
    record r = {0};
    int code = EXIT_BAD_INPUT;
    if (!take_options(line, &request, &error))
        fprintf(stderr, "guideway: %s\n", error.message);
    else if (!(scene = command_scene(line->argument, &error)))
        code = command_error(line->argument, &error);
    else if (!check_ground(&request, scene, &error))
        fprintf(stderr, "guideway: %s\n", error.message);
    else if (!command_create(command_value(line, "csv"), &r.csv, &error) ||
             !command_create(command_value(line, "bodies"), &r.bodies, &error)) {
        fprintf(stderr, "guideway: %s\n", error.message);
        code = EXIT_WORK_FAILED;
    } else
        code = assemble_scene(line, scene, &request, &r, &error);
    bool whole = close_file(line, "csv", r.csv);
    if (!close_file(line, "bodies", r.bodies) || !whole)
        code = EXIT_WORK_FAILED;
    gw_scene_destroy(scene);
    wire_assembly_request_finish(&request);
    return code;
}
