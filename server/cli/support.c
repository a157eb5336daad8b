/*
 * Shared by the commands: messages, files, scenes by name, signals, time.
 */
#include <assert.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/cli/command.h"
#include "server/files/assets.h"
#include "server/files/meshes.h"
#include "server/schema/wire.h"

void command_words(const gw_error *error, char *words, size_t size)
{
    assert(error && words);
    const char *slash = strrchr(error->where, '/'), *message = error->message;
    size_t length = slash ? strlen(slash + 1) : 0;
    if (length > 0 && strncmp(message, slash + 1, length) == 0 &&
        strncmp(message + length, ": ", 2) == 0)
        message += length + 2;
    snprintf(words, size, "%s%s%s", error->where, error->where[0] ? ": " : "", message);
}

int command_error(const char *file, const gw_error *error)
{
    char words[COMMAND_WORDS];
    const gw_error *all;
    assert(file && error);
    int count = wire_errors_of(error, &all);
    for (int i = 0; i < count; i++) {
        command_words(&all[i], words, sizeof words);
        fprintf(stderr, "guideway: %s: %s\n", file, words);
    }
    return error->code == GW_FAILED ? EXIT_WORK_FAILED : EXIT_BAD_INPUT;
}

int command_print(const char *text)
{
    if (puts(text) >= 0 && fflush(stdout) == 0)
        return EXIT_DONE;
    fprintf(stderr, "guideway: the answer could not be written: %s\n", strerror(errno));
    return EXIT_WORK_FAILED;
}

char *command_read(const char *file, size_t most, size_t *size, gw_error *error)
{
    FILE *in = strcmp(file, "-") == 0 ? stdin : fopen(file, "rb");
    if (!in) {
        gw_fail(error, GW_NOT_FOUND, "", "cannot be opened: %s", strerror(errno));
        return NULL;
    }
    char *text = malloc(most + 1);
    *size = text ? fread(text, 1, most + 1, in) : 0;
    bool failed = !text || ferror(in);
    if (in != stdin)
        fclose(in);
    if (!failed && *size <= most)
        return text;
    free(text);
    if (failed)
        gw_fail(error, GW_FAILED, "", "cannot be read");
    else
        gw_fail(error, GW_TOO_LARGE, "", "is larger than %zu bytes", most);
    return NULL;
}

bool command_create(const char *name, FILE **file, gw_error *error)
{
    assert(file && error);
    return !name || (*file = fopen(name, "w")) ||
           gw_fail(error, GW_FAILED, "", "%s cannot be written: %s", name, strerror(errno));
}

static gw_scene *parse_scene(const char *text, size_t size, gw_error *error)
{
    json_t *value = wire_parse_document(text, size, error);
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
    char *text = command_read(file, GW_MAX_DOCUMENT_BYTES, &size, error);
    gw_scene *scene = text ? parse_scene(text, size, error) : NULL;
    free(text);
    return scene;
}

gw_scene *command_scene(const char *file, gw_error *error)
{
    assert(file);
    gw_meshes meshes; /* the scene holds references to those that it uses */
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
