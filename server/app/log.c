/*
 * The event log: numbered sentences; the newest APP_LOG_EVENTS are kept. Events that the loop
 * reports many times a second are logged a few times a second, with a count.
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

/* Appends the event; ownership passes. */
static void append_event(gw_app *app, json_t *event)
{
    pthread_mutex_lock(&app->log);
    uint64_t seq = app->seq + 1;
    json_object_set_new(event, "seq", json_integer((json_int_t)seq));
    gw_text *shared = wire_text(event);
    if (shared) {
        gw_text **slot = &app->events[seq % APP_LOG_EVENTS];
        text_unref(*slot);
        *slot = shared;
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
        append_event(app, event);
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
    append_event(app, event);
}

/* Adds who halted and why, or who armed. */
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

/* Logs an event that stands for `counted` events of its kind. */
static void log_event(gw_app *app, const gw_event *event, unsigned counted,
                      const app_document *document)
{
    wire_memory_clear();
    json_t *json = wire_event(event, document->scene, counted);
    if (!json)
        return;
    json_object_set_new(json, "at", json_real(clock_wall_s()));
    if (event->kind == GW_EVENT_HALTED || event->kind == GW_EVENT_ARMED)
        report_halt(app, event, json);
    append_event(app, json);
}

/* ---- floods -------------------------------------------------------------------------------- */

/* The kinds that may occur every tick: `at_once` of them are logged at once, then one in
 * `period_s`. */
static const struct {
    gw_event_kind kind;
    double period_s;
    int at_once;
} flooding[APP_FLOODS] = {
    {GW_EVENT_OVERRUN, 0.5, 1},    {GW_EVENT_LIMITED, 0.5, 1},  {GW_EVENT_STRAINED, 0.5, 1},
    {GW_EVENT_WITHHELD, 0.5, 1},   {GW_EVENT_UNBOOKED, 0.5, 1}, {GW_EVENT_JAMMED, 0.5, 1},
    {GW_EVENT_UNRENDERED, 0.5, 1}, {GW_EVENT_MOVED, 0.05, 200}, /* a client waits for it: values
                                                                   that are edited one by one */
};

/* A leaky bucket: `empty_s` is the time at which it is empty. */
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

/* The row of the kind in `flooding`; -1 where it has none. */
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
    assert(app && event && document);
    if (event->kind == GW_EVENT_MOTION_ENDED)
        return; /* the task that moves the robot reports its steps */
    int kind = flood_of(event->kind);
    if (event->kind == GW_EVENT_LEFT_BEHIND)
        app_branch_lost(app);
    if (kind < 0) {
        log_event(app, event, 1, document);
        return;
    }
    app_flood *flood = &app->floods[kind];
    bool moved = event->kind == GW_EVENT_MOVED; /* the newest event stands for all */
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
