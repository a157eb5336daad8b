/*
 * `guideway import`: a robot description in, a mechanism as JSON out.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/cli/command.h"
#include "server/files/urdf.h"
#include "server/schema/wire.h"

static int print(const char *file, const char *text, size_t size, const char *tip)
{
    gw_error error = {0};
    gw_mechanism mechanism;
    if (!urdf_read(text, size, tip, &mechanism, &error))
        return command_error(file, &error);
    json_t *value = wire_mechanism(&mechanism);
    char *out = wire_text(value);
    if (!out)
        gw_fail(&error, GW_FAILED, "", "the mechanism could not be written: memory is short");
    int code = out ? command_print(out) : command_error(file, &error);
    free(out);
    json_decref(value);
    gw_mechanism_finish(&mechanism);
    return code;
}

int command_import(const command_line *line)
{
    gw_error error = {0};
    size_t size;
    char *text = command_read(line->argument, GW_MAX_BODY_BYTES, &size, &error);
    if (!text)
        return command_error(line->argument, &error);
    int code = print(line->argument, text, size, command_value(line, "tip"));
    free(text);
    return code;
}
