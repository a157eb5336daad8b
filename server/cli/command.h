/*
 * The command line: one table of commands and their options (command.c), one function for each
 * command. Help, messages about wrong usage and the manual pages are made from the table.
 */
#ifndef GW_SERVER_CLI_COMMAND_H
#define GW_SERVER_CLI_COMMAND_H

#include <stddef.h>
#include <stdio.h>

#include "rt/base/error.h"
#include "rt/scene/scene.h"

enum { EXIT_DONE = 0, EXIT_WORK_FAILED = 1, EXIT_BAD_INPUT = 2 };

#define COMMAND_OPTIONS 10 /* one more than any command has */

typedef struct command_option {
    const char *name;     /* "listen" of --listen */
    const char *value;    /* "ADDR:PORT"; NULL: a flag */
    const char *standard; /* the default, in words; NULL: none worth stating */
    const char *words;
    double low, high; /* bounds of a number; high 0: a text */
} command_option;

/* The command line, parsed. */
typedef struct command_line {
    const struct cli_command *command;
    const char *argument;                /* NULL: none */
    const char *values[COMMAND_OPTIONS]; /* by option of the command, NULL: not given */
} command_line;

typedef struct cli_command {
    const char *name;
    const char *argument; /* "SCENE"; "[NAME]" where it may be left out; NULL: none */
    const char *note;     /* about the argument, for messages; NULL: none */
    const char *words;    /* the description, a sentence or two */
    command_option options[COMMAND_OPTIONS + 1]; /* terminated by one without a name */
    int (*run)(const command_line *line);        /* the process's exit code */
    bool hidden;
} cli_command;

/* The value of an option, or of a flag its name; NULL where it is not given. */
const char *command_value(const command_line *line, const char *option);

/* The value as a number, within the table's bounds; `otherwise` where it is not given. */
double command_number(const command_line *line, const char *option, double otherwise);

int command_serve(const command_line *line);
int command_solve(const command_line *line);
int command_run(const command_line *line);
int command_selftest(const command_line *line);
int command_bench(const command_line *line);
int command_import(const command_line *line);
int command_assemble(const command_line *line);
int command_surface(const command_line *line);
int command_routes(const command_line *line);
int command_openapi(const command_line *line);

#define COMMAND_WORDS 600 /* bytes of an error for people: a pointer and a message */

/* Writes "/pointer: message"; where the message begins with the pointer's last member, that member
 * is not repeated. */
void command_words(const gw_error *error, char *words, size_t size);

/* Prints "file: /pointer: message" on standard error, a line for each error of the document.
 * Returns EXIT_WORK_FAILED for an error of the system, else EXIT_BAD_INPUT. */
int command_error(const char *file, const gw_error *error);

/* Prints a line on standard output; EXIT_WORK_FAILED with a message where that fails. */
int command_print(const char *text);

/* The bytes of a file ("-": standard input), at most `most`; NULL with an error. The caller frees
 * them. */
char *command_read(const char *file, size_t most, size_t *size, gw_error *error);

/* Opens a file for writing; with NULL for a name there is none. */
bool command_create(const char *name, FILE **file, gw_error *error);

/* The scene of a file, or the bundled scene of that name; NULL with an error. */
gw_scene *command_scene(const char *file, gw_error *error);

/* command_catch() installs the handlers of SIGINT and SIGTERM; command_interrupted() is true after
 * one of them. */
void command_catch(void);
bool command_interrupted(void);

/* Monotonic time (us). */
double command_now_us(void);

#endif
