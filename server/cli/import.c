/*
 * `guideway import`: reads a robot description, writes a mechanism as JSON, or an object where the
 * description has no moving joint. Notes about differences from the description go to standard
 * error.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/cli/command.h"
#include "server/files/urdf.h"
#include "server/schema/wire.h"

static int print_import(const char *file, const char *text, size_t size, const char *tip)
{
    gw_error error = {0};
    urdf_robot *robot = malloc(sizeof *robot);
    if (!robot) {
        gw_fail(&error, GW_FAILED, "", "no memory for a robot description");
        return command_error(file, &error);
    }
    if (!urdf_read(text, size, tip, robot, &error)) {
        free(robot);
        return command_error(file, &error);
    }
    for (int i = 0; i < robot->note_count; i++)
        fprintf(stderr, "guideway: %s: note: %s\n", file, robot->notes[i]);
    json_t *value =
        robot->one_body ? wire_object(&robot->object) : wire_mechanism(&robot->mechanism);
    gw_text *out = wire_text(value);
    if (!out)
        gw_fail(&error, GW_FAILED, "", "the mechanism could not be written: memory is short");
    int code = out ? command_print(out->data) : command_error(file, &error);
    text_unref(out);
    urdf_finish(robot);
    free(robot);
    return code;
}

int command_import(const command_line *line)
{
    gw_error error = {0};
    size_t size;
    char *text = command_read(line->argument, GW_MAX_BODY_BYTES, &size, &error);
    if (!text)
        return command_error(line->argument, &error);
    int code = print_import(line->argument, text, size, command_value(line, "tip"));
    free(text);
    return code;
}
