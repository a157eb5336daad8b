/*
 * The command line: one function a command, given the words after its name. Each returns the
 * process's exit code.
 */
#ifndef GW_SERVER_CLI_COMMAND_H
#define GW_SERVER_CLI_COMMAND_H

#include <stddef.h>

#include "rt/base/error.h"
#include "rt/scene/scene.h"

enum { EXIT_DONE = 0, EXIT_WORK_FAILED = 1, EXIT_BAD_INPUT = 2 };

int command_solve(int argc, char **argv);
int command_run(int argc, char **argv);
int command_bench(int argc, char **argv);
int command_import(int argc, char **argv);

/* "file: /pointer: message" on standard error; EXIT_WORK_FAILED for what the system refused, else
 * EXIT_BAD_INPUT. */
int command_error(const char *file, const gw_error *error);

/* A line on standard output; EXIT_WORK_FAILED, with a message, where it could not be written. */
int command_print(const char *text);

/* The bytes of a file ("-": standard input), at most GW_MAX_BODY_BYTES; NULL with an error. To be
 * freed by the caller. */
char *command_read(const char *file, size_t *size, gw_error *error);

/* The scene of a file, or of a bundled scene by its name; NULL with an error. */
gw_scene *command_scene(const char *file, gw_error *error);

/* Set when the user asked the process to end (SIGINT, SIGTERM), once command_catch() was called. */
void command_catch(void);
bool command_interrupted(void);

/* Monotonic time (us). */
double command_now_us(void);

#endif
