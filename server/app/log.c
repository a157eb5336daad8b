/*
 * The event log: what happened, in sentences, numbered; the newest thousand are kept. What the
 * loop reports many times a second is written down a few times a second, with a count.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/app/private.h"
#include "server/app/clock.h"
#include "server/app/describe.h"
#include "server/schema/wire.h"

/* Takes the event over. */
static void append(gw_app *app, json_t *event)
{
    pthread_mutex_lock(&app->log);
    uint64_t seq = app->seq + 1;
    json_object_set_new(event, "seq", json_integer((json_int_t)seq));
    gw_text *shared = wire_text(event);
    if (shared) {
        gw_text **place = &app->events[seq % APP_LOG_EVENTS];
        text_unref(*place);
        *place = shared;
        app->seq = seq;
    }
    pthread_mutex_unlock(&app->log);
}

static json_t *event_new(uint64_t tick, double time, const char *kind, const char *severity,
                         const char *message)
{
    wire_memory_clear();
    return json_pack("{s:i, s:f, s:I, s:f, s:s, s:s, s:o}", "seq", 0, "time", time, "tick",
                     (json_int_t)tick, "at", clock_wall_s(), "kind", kind, "severity", severity,
                     "message", describe_text(message));
}

void app_log(gw_app *app, const char *kind, const char *severity, const char *format, ...)
{
    assert(app && kind && severity && format);
    char message[512];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    app_loop_state now = app_loop_now(app);
    json_t *event = event_new(now.tick, now.time, kind, severity, message);
    if (event)
        append(app, event);
    app_wake(app);
}

void app_log_storage(gw_app *app, const gw_error *error)
{
    assert(app && error);
    double now_s = clock_s();
    pthread_mutex_lock(&app->log);
    bool due = now_s - app->storage_s >= APP_STORAGE_S;
    if (due)
        app->storage_s = now_s;
    pthread_mutex_unlock(&app->log);
    if (due)
        app_log(app, "storage", "error", "Not kept: %s.", error->message);
}

void app_log_in_effect(gw_app *app, uint64_t revision)
{
    app_loop_state now = app_loop_now(app);
    json_t *event = event_new(now.tick, now.time, "active", "info", "The edit is in effect.");
    if (!event)
        return;
    json_object_set_new(event, "revision", json_integer((json_int_t)revision));
    append(app, event);
}

typedef struct kind_words {
    const char *kind, *severity, *message;
} kind_words;

static const kind_words words_of[] = {
    [GW_EVENT_ACTIVE] = {"active", "info", "The edit is in effect."},
    [GW_EVENT_STATE] = {"state", "info", "The simulation is %s."},
    [GW_EVENT_SETTLED] = {"settled", "info", "%s has arrived on its constraints."},
    [GW_EVENT_LIMITED] = {"limited", "warning", "A limit holds %s back."},
    [GW_EVENT_HALTED] = {"halted", "warning", "Halted: nothing moves until armed."},
    [GW_EVENT_ARMED] = {"armed", "info", "Armed again."},
    [GW_EVENT_OVERRUN] = {"overrun", "warning", "A tick was late or took too long."},
    [GW_EVENT_DEVICE_LOST] = {"device-lost", "error", "The device of %s is silent: at rest."},
    [GW_EVENT_NOT_FINITE] = {"not-finite", "error", "The step of %s failed: it is held."},
    [GW_EVENT_MOVED] = {"active", "info", "The edit is in effect."},
    [GW_EVENT_BOUND] = {"bound", "warning", "What follows can go no farther: the hand is stopped."},
    [GW_EVENT_SINGULAR] = {"singular", "info",
                           "%s passes a singular point of its constraints: more than one way leads "
                           "on from there."},
    [GW_EVENT_LEFT_BEHIND] = {"left-behind", "warning",
                              "The moved geometry has no place for %s on its branch: it stays on "
                              "the former constraints."},
    [GW_EVENT_JAMMED] = {"jammed", "warning",
                         "A contact stands where its body cannot move out of it."},
    [GW_EVENT_CROWDED] = {"crowded", "warning",
                          "More collides at once than a tick bears: some of it waits for the next "
                          "one, up to 1 mm deep."},
    [GW_EVENT_STRAINED] = {"strained", "warning",
                           "A mechanism has outrun its local model, or the world's thread is late: "
                           "it is braked until it has been looked at again."},
    [GW_EVENT_UNBOOKED] =
        {"unbooked", "warning",
         "A step of the linkage could not account for a part of its energy: stiff "
         "springs or limits and light bodies ask for a higher rate."},
    [GW_EVENT_PROJECTED] = {"projected", "warning",
                            "%s begins elsewhere, or with another velocity than stated: its "
                            "relations do not allow that."},
    [GW_EVENT_EDGE] = {"edge", "info",
                       "What slides or rolls on a free-form shape has come to its edge, which "
                       "stops it."},
    [GW_EVENT_DEGENERATE] = {"degenerate", "warning",
                             "Curves or surfaces that touch bend alike there, or have lost their "
                             "common normal: their contact is not one point."},
    [GW_EVENT_WITHHELD] = {"withheld", "warning",
                           "The device's limits dropped a part of an impulse on %s."},
};

/* Who halted and why, who armed. */
static void report_halt(gw_app *app, const gw_event *event, json_t *json)
{
    gw_halt_record record;
    char by[GW_HALT_BY];
    gw_halt_latch_read(&app->halt, &record);
    pthread_mutex_lock(&app->log);
    memcpy(by, app->armed_by, sizeof by);
    pthread_mutex_unlock(&app->log);
    bool halted = event->kind == GW_EVENT_HALTED;
    const char *cause = gw_halt_cause_names[record.cause];
    json_object_set_new(json, "by", json_string(halted ? record.by : by));
    json_object_set_new(
        json, "message",
        halted ? json_sprintf("Halted (%s) by %s: nothing moves until armed.", cause, record.by)
               : json_sprintf("Armed again by %s.", by));
    if (halted)
        json_object_set_new(json, "cause", json_string(cause));
}

static const char *object_of(const gw_event *event, const gw_scene *scene)
{
    if (event->tool >= 0 && event->tool < scene->tool_count)
        return gw_tool_held_id(&scene->tools[event->tool]);
    bool named = event->tool < 0 && event->object >= 0 && event->object < scene->object_count;
    bool link = event->tool < 0 && event->object >= scene->object_count;
    return named ? scene->objects[event->object].id : link ? "A mechanism" : "the tool";
}

/* Writes down an event that stands for `counted` of its kind. */
static void log_event(gw_app *app, const gw_event *event, unsigned counted,
                      const app_document *document)
{
    const kind_words *words = &words_of[event->kind];
    const gw_scene *scene = document->scene;
    const char *object = object_of(event, scene);
    /* Place of the name of a tool or an object; NULL: the event is not about one. */
    const char *hole = event->kind == GW_EVENT_STATE ? NULL : strstr(words->message, "%s");
    char message[256];
    if (event->kind == GW_EVENT_STATE)
        snprintf(message, sizeof message, "The simulation is %s.", wire_run_states[event->state]);
    else if (hole)
        snprintf(message, sizeof message, "%.*s%s%s", (int)(hole - words->message), words->message,
                 object, hole + 2);
    else
        snprintf(message, sizeof message, "%s", words->message);
    json_t *json = event_new(event->tick, (double)event->tick / scene->rate, words->kind,
                             words->severity, message);
    if (!json)
        return;
    if (event->kind == GW_EVENT_ACTIVE || event->kind == GW_EVENT_MOVED)
        json_object_set_new(json, "revision",
                            json_integer((json_int_t)(event->tag ? event->tag : event->revision)));
    if (event->kind == GW_EVENT_STATE)
        json_object_set_new(json, "state", json_string(wire_run_states[event->state]));
    if (hole && event->tool >= 0)
        json_object_set_new(json, "tool", json_integer(event->tool));
    else if (hole)
        json_object_set_new(json, "object", json_string(object));
    if (event->kind == GW_EVENT_OVERRUN) {
        json_object_set_new(json, "over_us", json_real(event->value));
        json_object_set_new(json, "stage", json_string(gw_stage_names[event->stage]));
    }
    if (event->kind == GW_EVENT_WITHHELD)
        json_object_set_new(json, "withheld", json_real(event->value));
    if (event->kind == GW_EVENT_HALTED || event->kind == GW_EVENT_ARMED)
        report_halt(app, event, json);
    if (counted > 1)
        json_object_set_new(json, "count", json_integer(counted));
    append(app, json);
}

/* ---- floods -------------------------------------------------------------------------------- */

/* The kinds that may come every tick: so many are written down at once, then one a period. */
static const struct {
    gw_event_kind kind;
    double period_s;
    int at_once;
} flooding[APP_FLOODS] = {
    {GW_EVENT_OVERRUN, 0.5, 1},  {GW_EVENT_LIMITED, 0.5, 1},  {GW_EVENT_STRAINED, 0.5, 1},
    {GW_EVENT_WITHHELD, 0.5, 1}, {GW_EVENT_UNBOOKED, 0.5, 1}, {GW_EVENT_JAMMED, 0.5, 1},
    {GW_EVENT_MOVED, 0.05, 200}, /* somebody waits for it: values that are edited one by one */
};

/* A leaky bucket: `empty_s` is when it will have run empty. */
static bool flood_due(const app_flood *flood, int i)
{
    double room_s = (flooding[i].at_once - 1) * flooding[i].period_s;
    return flood->count > 0 && clock_s() + room_s >= flood->empty_s;
}

static void log_flood(gw_app *app, int i, const app_document *document)
{
    app_flood *flood = &app->floods[i];
    double now_s = clock_s();
    if (!flood_due(flood, i))
        return;
    log_event(app, &flood->worst, flood->count, document);
    flood->count = 0;
    flood->empty_s = (flood->empty_s > now_s ? flood->empty_s : now_s) + flooding[i].period_s;
}

/* The place of the kind among those that flood; -1: it does not. */
static int flood_of(gw_event_kind kind)
{
    for (int i = 0; i < APP_FLOODS; i++)
        if (flooding[i].kind == kind)
            return i;
    return -1;
}

bool app_log_due(const gw_app *app)
{
    bool due = false;
    for (int i = 0; i < APP_FLOODS; i++)
        due = due || flood_due(&app->floods[i], i);
    return due;
}

void app_log_floods(gw_app *app, const app_document *document)
{
    for (int i = 0; i < APP_FLOODS; i++)
        log_flood(app, i, document);
}

void app_log_loop(gw_app *app, const gw_event *event, const app_document *document)
{
    assert(event && event->kind < sizeof words_of / sizeof words_of[0]);
    if (event->kind == GW_EVENT_MOTION_ENDED)
        return; /* the task that moves the robot tells of its steps */
    int kind = flood_of(event->kind);
    if (event->kind == GW_EVENT_LEFT_BEHIND)
        app_left_behind(app);
    if (kind < 0) {
        log_event(app, event, 1, document);
        return;
    }
    app_flood *flood = &app->floods[kind];
    bool moved = event->kind == GW_EVENT_MOVED; /* the newest stands for all of them */
    if (flood->count == 0 || moved || event->value > flood->worst.value)
        flood->worst = *event;
    flood->count += moved ? (unsigned)event->value : 1;
    log_flood(app, kind, document);
}

/* ---- reading ------------------------------------------------------------------------------- */

uint64_t app_log_last(gw_app *app)
{
    pthread_mutex_lock(&app->log);
    uint64_t seq = app->seq;
    pthread_mutex_unlock(&app->log);
    return seq;
}

uint64_t app_log_first(gw_app *app)
{
    uint64_t last = app_log_last(app);
    return last > APP_LOG_EVENTS ? last - APP_LOG_EVENTS + 1 : 1;
}

gw_text *app_log_get(gw_app *app, uint64_t seq)
{
    assert(app);
    gw_text *shared = NULL;
    pthread_mutex_lock(&app->log);
    if (seq >= 1 && seq <= app->seq && seq + APP_LOG_EVENTS > app->seq)
        shared = text_ref(app->events[seq % APP_LOG_EVENTS]);
    pthread_mutex_unlock(&app->log);
    return shared;
}
