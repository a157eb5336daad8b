/*
 * `guideway solve`: one positioning problem in, its solution out.
 */
#include <stdlib.h>

#include "server/cli/command.h"
#include "server/schema/wire.h"

static int solve_text(const char *file, const char *text, size_t size)
{
    gw_error error = {0};
    json_t *value = wire_parse(text, size, &error);
    wire_problem *problem = value ? wire_get_problem(value, &error) : NULL;
    json_t *answer = problem ? wire_solve(problem, &error) : NULL;
    gw_text *out = wire_text(answer);
    int code = EXIT_DONE;
    if (!out && !error.code)
        gw_fail(&error, GW_FAILED, "",
                "the answer could not be written: memory is short, or a "
                "figure is not finite");
    if (out)
        code = command_print(out->data);
    else
        code = command_error(file, &error);
    text_unref(out);
    wire_problem_destroy(problem);
    json_decref(value);
    return code;
}

int command_solve(const command_line *line)
{
    gw_error error = {0};
    size_t size;
    char *text = command_read(line->argument, GW_MAX_BODY_BYTES, &size, &error);
    if (!text)
        return command_error(line->argument, &error);
    int code = solve_text(line->argument, text, size);
    free(text);
    return code;
}
