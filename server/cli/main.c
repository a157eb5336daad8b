/*
 * The command line's front: which command, and what all of them share.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/files/assets.h"
#include "server/cli/command.h"
#include "server/files/meshes.h"
#include "server/cli/serve.h"
#include "server/cli/version.h"
#include "server/schema/wire.h"

/* What a command takes, and is for. */
#define SERVE_USAGE                                                                                \
    "  guideway serve [--listen ADDR:PORT] [--scene FILE] [--data DIR] [--token-file FILE]\n"      \
    "      the appliance: page, REST and stream; loopback port 8080 unless told otherwise\n"
#define SOLVE_USAGE                                                                                \
    "  guideway solve FILE\n"                                                                      \
    "      one positioning problem (JSON; -: standard input) to its solution\n"
#define RUN_USAGE                                                                                  \
    "  guideway run SCENE [--seconds S] [--task ID] [--csv FILE] [--real-time]\n"                  \
    "      a scene file, or a bundled scene by name, without a server, for so long (10 s) or\n"    \
    "      until its task ends; the summary on standard output\n"
#define IMPORT_USAGE                                                                               \
    "  guideway import FILE [--tip LINK]\n"                                                        \
    "      a robot description (URDF; -: standard input) to a mechanism (JSON)\n"
#define BENCH_USAGE                                                                                \
    "  guideway bench [NAME] [--csv FILE]\n"                                                       \
    "      the benchmark table\n"

static const char usage[] =
    "Guideway: constrained motion, from picked features to a submanifold you can feel.\n"
    "\n" SERVE_USAGE SOLVE_USAGE RUN_USAGE IMPORT_USAGE BENCH_USAGE
    "  guideway --help | --version | COMMAND --help\n"
    "\n"
    "Exit codes: 0 done; 1 the work failed; 2 bad usage or bad input.\n";

/* ---- shared by the commands ---------------------------------------------------------------- */

int command_error(const char *file, const gw_error *error)
{
    fprintf(stderr, "guideway: %s: %s%s%s\n", file, error->where, error->where[0] ? ": " : "",
            error->message);
    return error->code == GW_FAILED ? EXIT_WORK_FAILED : EXIT_BAD_INPUT;
}

int command_print(const char *text)
{
    if (puts(text) >= 0 && fflush(stdout) == 0)
        return EXIT_DONE;
    fprintf(stderr, "guideway: the answer could not be written: %s\n", strerror(errno));
    return EXIT_WORK_FAILED;
}

char *command_read(const char *file, size_t *size, gw_error *error)
{
    FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "rb");
    if (!in) {
        gw_fail(error, GW_NOT_FOUND, "", "cannot be opened: %s", strerror(errno));
        return NULL;
    }
    char *text = malloc(GW_MAX_BODY_BYTES + 1);
    *size = text ? fread(text, 1, GW_MAX_BODY_BYTES + 1, in) : 0;
    bool failed = !text || ferror(in);
    if (in != stdin)
        fclose(in);
    if (!failed && *size <= GW_MAX_BODY_BYTES)
        return text;
    free(text);
    if (failed)
        gw_fail(error, GW_FAILED, "", "cannot be read");
    else
        gw_fail(error, GW_TOO_LARGE, "", "is larger than %u bytes", GW_MAX_BODY_BYTES);
    return NULL;
}

static gw_scene *parse_scene(const char *text, size_t size, gw_error *error)
{
    json_t *value = wire_parse(text, size, error);
    gw_scene *scene = value ? wire_get_scene(value, error) : NULL;
    json_decref(value);
    return scene;
}

static gw_scene *read_scene(const char *file, gw_error *error)
{
    size_t size;
    char path[128];
    snprintf(path, sizeof path, "scenes/%.96s.json", file);
    const asset *bundled = strchr(file, '/') ? NULL : asset_find(path);
    if (bundled)
        return parse_scene(bundled->start, asset_size(bundled), error);
    char *text = command_read(file, &size, error);
    gw_scene *scene = text ? parse_scene(text, size, error) : NULL;
    free(text);
    return scene;
}

gw_scene *command_scene(const char *file, gw_error *error)
{
    gw_meshes meshes; /* the scene keeps those that it has */
    meshes_init(&meshes, NULL);
    meshes_beside(&meshes, file);
    meshes_use(&meshes);
    gw_scene *scene = read_scene(file, error);
    meshes_use(NULL);
    meshes_finish(&meshes);
    return scene;
}

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void)number;
    interrupted = 1;
}

void command_catch(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
}

bool command_interrupted(void)
{
    return interrupted;
}

double command_now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* ---- solve --------------------------------------------------------------------------------- */

static int solve_text(const char *file, const char *text, size_t size)
{
    gw_error error = {0};
    json_t *value = wire_parse(text, size, &error);
    wire_problem *problem = value ? wire_get_problem(value, &error) : NULL;
    json_t *answer = problem ? wire_solve(problem, &error) : NULL;
    char *out = answer ? wire_text(answer) : NULL;
    int code = EXIT_DONE;
    if (!out && !error.code)
        gw_fail(&error, GW_FAILED, "",
                "the answer could not be written: memory is short, or a "
                "figure is not finite");
    if (out)
        code = command_print(out);
    else
        code = command_error(file, &error);
    free(out);
    json_decref(answer);
    wire_problem_destroy(problem);
    json_decref(value);
    return code;
}

int command_solve(int argc, char **argv)
{
    if (argc != 1) {
        fputs("guideway: usage: guideway solve FILE (-: standard input)\n", stderr);
        return EXIT_BAD_INPUT;
    }
    gw_error error = {0};
    size_t size;
    char *text = command_read(argv[0], &size, &error);
    if (!text)
        return command_error(argv[0], &error);
    int code = solve_text(argv[0], text, size);
    free(text);
    return code;
}

/* ---- which command ------------------------------------------------------------------------- */

typedef struct command {
    const char *name;
    int (*run)(int argc, char **argv);
    const char *usage; /* NULL: the command's own affair */
} command;

static const command commands[] = {{"serve", serve_main, NULL},
                                   {"solve", command_solve, SOLVE_USAGE},
                                   {"run", command_run, RUN_USAGE},
                                   {"bench", command_bench, BENCH_USAGE},
                                   {"import", command_import, IMPORT_USAGE},
                                   {"routes", serve_routes, NULL},
                                   {"openapi", serve_openapi, NULL}};

static bool asks_for_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

static int carry_out(const command *c, int argc, char **argv)
{
    for (int i = 0; i < argc && c->usage; i++)
        if (asks_for_help(argv[i]))
            return fputs(c->usage, stdout) >= 0 ? EXIT_DONE : EXIT_WORK_FAILED;
    return c->run(argc, argv);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    wire_watch_memory();
    if (asks_for_help(name) || strcmp(name, "help") == 0) {
        fputs(usage, stdout);
        return EXIT_DONE;
    }
    if (strcmp(name, "--version") == 0) {
        puts("guideway " GUIDEWAY_VERSION);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        if (strcmp(name, commands[i].name) == 0)
            return carry_out(&commands[i], argc - 2, argv + 2);
    if (name[0])
        fprintf(stderr, "guideway: there is no command \"%s\"\n", name);
    fputs(usage, stderr);
    return EXIT_BAD_INPUT;
}
