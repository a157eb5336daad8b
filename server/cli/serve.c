/*
 * `guideway serve`: starts all parts in order, stores faults until SIGINT, SIGTERM or SIGHUP, and
 * stops the parts in reverse.
 */
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "server/files/gallery.h"
#include "server/files/history.h"
#include "server/net/listen.h"
#include "server/cli/command.h"
#include "server/cli/version.h"
#include "server/schema/wire.h"

#define FILES       8192 /* open files: streams, connections, waiting ones, a reserve */
#define ARENAS      1    /* of malloc: every further one would keep the memory of large answers */
#define TRIM_BYTES  (2 << 20)   /* free memory that malloc keeps at the end of the heap */
#define BLOCK_BYTES (512 << 10) /* blocks of this size are returned to the system when freed */
#define STACK_BYTES (2 << 20)   /* of a thread: a solve (0.5 MB) and a reserve */
#define FILES_LEAST 64          /* for the server itself and a few clients */

/* From storing one fault to the next: writing the ticks of one takes some 20 ms. */
static const struct timespec store_faults_each = {.tv_nsec = 200000000};

typedef struct serve_options {
    const char *listen, *scene, *data, *token_file;
    gw_loop_placement placement;
} serve_options;

/* The parts of the server, in the order in which they start. */
typedef struct appliance {
    gw_store store;
    gw_history *history;
    gw_meshes meshes;
    gw_guard guard;
    gw_listener *listener;
    gw_loop_placement placement;
    gw_app *app;
    gw_stream *stream;
    gw_http *http;
    int steps_back;  /* states back in the history to one that opens */
    char scene[256]; /* name of the opened scene, for people */
    char lost[400];  /* why the working document was not opened; "": it was, or there is none */
} appliance;

static int print_error(const gw_error *error)
{
    char words[COMMAND_WORDS];
    command_words(error, words, sizeof words);
    fprintf(stderr, "guideway: %s\n", words);
    return error->code == GW_FAILED || error->code == GW_NO_SPACE ? 1 : 2;
}

/* ---- the first scene ----------------------------------------------------------------------- */

/* NULL without an error where the file does not exist. */
static json_t *read_file(const char *path, gw_error *error)
{
    size_t size;
    if (access(path, R_OK) != 0)
        return NULL;
    char *data = command_read(path, GW_MAX_DOCUMENT_BYTES, &size, error);
    json_t *value = data ? wire_parse_document(data, size, error) : NULL;
    free(data);
    return value;
}

/* Decodes the scene and starts the app; ownership of the document passes. `kept`: it is the
 * history's present state. */
static bool open_scene(appliance *a, json_t *value, const char *name, bool kept, gw_error *error)
{
    gw_scene *scene = value ? wire_get_scene(value, error) : NULL;
    json_decref(value);
    if (!scene)
        return false;
    snprintf(a->scene, sizeof a->scene, "%.200s", name ? name : scene->name);
    a->app = app_create(&(app_def){.scene = scene,
                                   .placement = a->placement,
                                   .database = a->store.database,
                                   .history = a->history,
                                   .kept = kept},
                        error);
    return a->app != NULL;
}

static bool open_asked(appliance *a, const char *name, gw_error *error)
{
    char words[COMMAND_WORDS];
    json_t *value = read_file(name, error);
    if (!value && !error->code)
        value = gallery_load(&a->store, name, NULL, error);
    if (open_scene(a, value, name, false, error))
        return true;
    command_words(error, words, sizeof words);
    snprintf(error->message, sizeof error->message, "%.120s: %.240s", name, words);
    error->where[0] = 0;
    if (error->code == GW_NOT_FOUND || error->code == GW_OK)
        error->code = GW_BAD_INPUT;
    return false;
}

static bool open_state(appliance *a, gw_error *error)
{
    json_t *value = history_scene(a->history, 0, app_apply_change, error);
    return open_scene(a, value, NULL, true, error);
}

/* Makes the newest earlier state that opens the present one; the states after it can be redone.
 * False where there is none: nothing has changed. */
static bool open_former(appliance *a)
{
    gw_error why = {0};
    uint64_t revision = history_revision(a->history);
    while (history_undo(a->history) && history_go(a->history, revision + 1, -1, &why)) {
        a->steps_back++;
        if (open_state(a, &why))
            return true;
    }
    history_go(a->history, revision, a->steps_back, &why);
    a->steps_back = 0;
    return false;
}

/* Opens the document as it was when the last server on the folder ended. Where it can be read but
 * has no layout, opens the newest earlier state that has one. */
static bool open_working(appliance *a, gw_error *error)
{
    if (open_state(a, error))
        return true;
    command_words(error, a->lost, sizeof a->lost);
    fprintf(stderr, "guideway: the working document cannot be opened: %s\n", a->lost);
    bool placeless = error->code == GW_UNHANDLED || error->code == GW_INCOMPATIBLE;
    *error = (gw_error){0};
    return placeless && open_former(a);
}

/* Opens the working document, else the scene saved last, else the gallery's first: the server
 * starts even where a file is damaged. */
static bool open_any(appliance *a, gw_error *error)
{
    char file[STORE_NAME + 1];
    if (!history_empty(a->history) && open_working(a, error))
        return true;
    if (store_newest(&a->store, file)) {
        if (open_scene(a, store_load(&a->store, file, NULL, error), file, false, error))
            return true;
        char words[COMMAND_WORDS];
        command_words(error, words, sizeof words);
        fprintf(stderr, "guideway: the saved scene %s cannot be opened: %s\n", file, words);
        *error = (gw_error){0};
    }
    gallery_first(file);
    if (file[0])
        return open_scene(a, gallery_load(&a->store, file, NULL, error), file, false, error);
    json_t *empty =
        json_pack("{s:s, s:s, s:[]}", "format", "guideway-scene/1", "name", "Empty", "objects");
    return open_scene(a, empty, "an empty scene", false, error);
}

/* ---- start and stop ------------------------------------------------------------------------ */

static int streams_open(void *context)
{
    return stream_count(context);
}

static bool start_servers(appliance *a, gw_error *error)
{
    a->stream = stream_create(a->app, &a->guard, error);
    if (!a->stream)
        return false;
    app_on_change(a->app, stream_wake, a->stream);
    http_def def = {.api = {a->app, &a->store, &a->meshes},
                    .guard = &a->guard,
                    .streams = streams_open,
                    .context = a->stream};
    a->http = http_create(&def, error);
    listener_def listens = {a->app, &a->guard, a->http, a->stream};
    return a->http && listener_start(a->listener, &listens, error);
}

static void stop_appliance(appliance *a)
{
    listener_destroy(a->listener);
    if (a->app)
        app_end(a->app);
    http_destroy(a->http);
    if (a->app)
        app_on_change(a->app, NULL, NULL);
    stream_destroy(a->stream);
    app_destroy(a->app);
    history_close(a->history);
    meshes_use(NULL);
    meshes_finish(&a->meshes);
    store_close(&a->store);
    guard_finish(&a->guard);
}

static bool check_access(appliance *a, const serve_options *options, gw_error *error)
{
    char why[400];
    bool loopback = listener_is_loopback(a->listener);
    if (!guard_init(&a->guard, listener_host(a->listener), loopback))
        return gw_fail(error, GW_FAILED, "", "memory is short");
    if (!loopback && !options->token_file)
        return gw_fail(error, GW_BAD_INPUT, "",
                       "%s can be reached from other machines: --token-file FILE is needed",
                       options->listen);
    if (options->token_file && !guard_read_tokens(&a->guard, options->token_file, why, sizeof why))
        return gw_fail(error, GW_BAD_INPUT, "", "%s", why);
    return true;
}

static bool enough_files(gw_error *error)
{
    struct rlimit files;
    if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur >= FILES_LEAST)
        return true;
    return gw_fail(error, GW_FAILED, "",
                   "no more than %d files may be open: %d are needed to serve anybody (ulimit -n)",
                   (int)files.rlim_cur, FILES_LEAST);
}

/* False where the process may not run on the requested processor. */
static bool check_processor(const gw_loop_placement *p, gw_error *error)
{
    cpu_set_t ours;
    if (!p->pinned)
        return true;
    bool known = sched_getaffinity(0, sizeof ours, &ours) == 0;
    return (known && CPU_ISSET((size_t)p->processor, &ours)) ||
           gw_fail(error, GW_BAD_INPUT, "", "--processor %d: this process may not run there",
                   p->processor);
}

static void log_lost(appliance *a)
{
    const char *lost = "The document that was worked on last cannot be opened";
    if (a->steps_back > 0)
        app_log(a->app, "storage", "error",
                "%s: %s. It is open as it was before; redo leads to it.", lost, a->lost);
    else
        app_log(a->app, "storage", "error", "%s: %s. Undo goes back to it.", lost, a->lost);
}

static bool start_appliance(appliance *a, const serve_options *options, gw_error *error)
{
    if (!enough_files(error) || !check_processor(&options->placement, error))
        return false;
    a->placement = options->placement;
    a->listener = listener_bind(options->listen, error);
    if (!a->listener || !check_access(a, options, error) ||
        !store_open(&a->store, options->data, error))
        return false;
    a->history = history_open(a->store.database, error);
    if (!a->history)
        return false;
    meshes_init(&a->meshes, options->data);
    meshes_use(&a->meshes);
    if (options->scene && access(options->scene, R_OK) == 0)
        meshes_beside(&a->meshes, options->scene);
    bool open = options->scene ? open_asked(a, options->scene, error) : open_any(a, error);
    if (open && a->lost[0])
        log_lost(a);
    return open && start_servers(a, error);
}

static void announce_address(const appliance *a)
{
    printf("Guideway %s at http://%s:%d/\n", GUIDEWAY_VERSION, listener_host(a->listener),
           listener_port(a->listener));
    printf("  scene: %s; %s; Ctrl-C stops\n", a->scene,
           a->guard.token_count ? "clients need the token" : "this machine only");
    printf("  try: open the address in a browser, press Run and drag the blue object,\n"
           "       or: curl http://%s:%d/api/v1/solutions\n",
           listener_host(a->listener), listener_port(a->listener));
    fflush(stdout);
}

static void limit_stacks(void)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    pthread_setattr_default_np(&attr);
    pthread_attr_destroy(&attr);
}

static void prepare_process(sigset_t *signals)
{
    struct rlimit files;
    mallopt(M_ARENA_MAX, ARENAS);
    mallopt(M_MMAP_THRESHOLD, BLOCK_BYTES);
    mallopt(M_TRIM_THRESHOLD, TRIM_BYTES);
    limit_stacks();
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN); /* exceeding the limit on file sizes is an error of write() */
    sigemptyset(signals);
    sigaddset(signals, SIGINT);
    sigaddset(signals, SIGTERM);
    sigaddset(signals, SIGHUP);
    pthread_sigmask(SIG_BLOCK, signals, NULL);
    if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max < FILES ? files.rlim_max : FILES;
        setrlimit(RLIMIT_NOFILE, &files);
    }
}

int command_serve(const command_line *line)
{
    appliance a = {0};
    gw_error error = {0};
    sigset_t signals;
    int code = EXIT_DONE;
    const char *listen = command_value(line, "listen");
    serve_options options = {.listen = listen ? listen : "127.0.0.1:8080",
                             .scene = command_value(line, "scene"),
                             .data = command_value(line, "data"),
                             .token_file = command_value(line, "token-file")};
    options.placement = (gw_loop_placement){.pinned = command_value(line, "processor"),
                                            .processor = (int)command_number(line, "processor", 0),
                                            .spin_us = (int)command_number(line, "spin", 0)};
    prepare_process(&signals);
    if (start_appliance(&a, &options, &error)) {
        announce_address(&a);
        while (sigtimedwait(&signals, NULL, &store_faults_each) < 0)
            app_store_fault(a.app);
    } else
        code = print_error(&error);
    stop_appliance(&a);
    return code;
}

int command_routes(const command_line *line)
{
    (void)line;
    api_print_routes();
    return EXIT_DONE;
}

int command_openapi(const command_line *line)
{
    (void)line;
    gw_text *text = wire_text(api_openapi_document());
    int code = text ? command_print(text->data) : EXIT_WORK_FAILED;
    text_unref(text);
    return code;
}
