/*
 * `guideway solve`: reads one positioning problem, writes its solution. `guideway surface`: reads
 * the definition of a free-form curve or surface, writes its geometry.
 */
#include <stdlib.h>

#include "server/cli/command.h"
#include "server/schema/wire.h"

typedef json_t *answer_function(const json_t *value, gw_error *error);

static json_t *solve_problem(const json_t *value, gw_error *error)
{
    wire_problem *problem = wire_get_problem(value, error);
    json_t *answer = problem ? wire_solve(problem, error) : NULL;
    wire_problem_destroy(problem);
    return answer;
}

static int answer_text(const char *file, const char *text, size_t size, answer_function *make)
{
    gw_error error = {0};
    json_t *value = wire_parse(text, size, &error);
    json_t *answer = value ? make(value, &error) : NULL;
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
    json_decref(value);
    return code;
}

static int answer_file(const command_line *line, answer_function *make)
{
    gw_error error = {0};
    size_t size;
    char *text = command_read(line->argument, GW_MAX_BODY_BYTES, &size, &error);
    if (!text)
        return command_error(line->argument, &error);
    int code = answer_text(line->argument, text, size, make);
    free(text);
    return code;
}

int command_solve(const command_line *line)
{
    return answer_file(line, solve_problem);
}

int command_surface(const command_line *line)
{
    return answer_file(line, wire_make_surface);
}
