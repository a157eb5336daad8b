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

int command_import(int argc, char **argv)
{
    const char *file = NULL, *tip = NULL;
    bool usage = false;
    for (int i = 0; i < argc; i++) {
        if (strcmp(argv[i], "--tip") == 0 && i + 1 < argc)
            tip = argv[++i];
        else if (file || (argv[i][0] == '-' && argv[i][1]))
            usage = true;
        else
            file = argv[i];
    }
    if (usage || !file) {
        fputs("guideway: usage: guideway import FILE [--tip LINK] (-: standard input)\n", stderr);
        return EXIT_BAD_INPUT;
    }
    gw_error error = {0};
    size_t size;
    char *text = command_read(file, &size, &error);
    if (!text)
        return command_error(file, &error);
    int code = print(file, text, size, tip);
    free(text);
    return code;
}
