/*
 * `guideway assemble`: a scene whose parts lie anywhere in, the assembled one out.
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

static bool write_row(void *file, int start, int iteration, double residual, double step)
{
    fprintf(file, "%d,%d,%.17g,%.17g\n", start, iteration, residual, step);
    return true;
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

static int report(gw_assembly *assembly, const gw_assembly_result *result)
{
    gw_text *text = wire_text(wire_assembly(assembly, result));
    if (!text) {
        fputs("guideway: no memory for the answer\n", stderr);
        return EXIT_WORK_FAILED;
    }
    int code = command_print(text->data);
    text_unref(text);
    if (code == EXIT_DONE && !result->held) {
        fprintf(stderr, "guideway: %s does not hold, at %.3g m from it after %d starts\n",
                gw_assembly_remaining(assembly, 0), result->residual, result->starts);
        return EXIT_WORK_FAILED;
    }
    return code;
}

static int assemble(const command_line *line, gw_scene *scene, const wire_assembly_request *request,
                    FILE *csv, gw_error *error)
{
    gw_assembly_def def;
    gw_assembly_result result;
    gw_assembly *assembly = NULL;
    const gw_assembly_options options = {.method = request->method,
                                         .seed = request->seed,
                                         .watch = csv ? write_row : NULL,
                                         .context = csv};
    if (wire_assembly_def(request, scene, &def, error))
        assembly = gw_assembly_create(&def, error);
    wire_assembly_def_finish(&def);
    if (!assembly)
        return command_error(line->argument, error);
    if (csv)
        fputs("start,iteration,residual,step\n", csv);
    gw_assembly_solve(assembly, &options, &result);
    int code = report(assembly, &result);
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
    const char *file = command_value(line, "csv");
    gw_scene *scene = NULL;
    FILE *csv = NULL;
    int code = EXIT_BAD_INPUT;
    if (!take_options(line, &request, &error))
        fprintf(stderr, "guideway: %s\n", error.message);
    else if (!(scene = command_scene(line->argument, &error)))
        code = command_error(line->argument, &error);
    else if (file && !(csv = fopen(file, "w"))) {
        fprintf(stderr, "guideway: %s cannot be written: %s\n", file, strerror(errno));
        code = EXIT_WORK_FAILED;
    } else
        code = assemble(line, scene, &request, csv, &error);
    if (csv && (ferror(csv) | fclose(csv))) {
        fprintf(stderr, "guideway: %s could not be written whole\n", file);
        code = EXIT_WORK_FAILED;
    }
    gw_scene_destroy(scene);
    wire_assembly_request_finish(&request);
    return code;
}
