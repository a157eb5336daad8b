/*
 * What comes in: subscriptions and a person's hand. Every message is checked whole before it does
 * anything; what is wrong is answered with an `error`.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/describe.h"
#include "server/stream_private.h"
#include "server/wire.h"

#define REACH_MAX 1e4 /* m: a target or a grabbed point beyond is a mistake */
#define FORCE_MAX 1e4 /* N and N m of a push: the same */

/* One message at work. */
typedef struct message {
    gw_stream *stream;
    stream_client *client;
    const json_t *json;
    gw_error error;
} message;

typedef bool handler(message *now);

/* ---- answers ------------------------------------------------------------------------------- */

static void reply(stream_client *client, json_t *value)
{
    char *written = value ? wire_text(value) : NULL;
    json_decref(value);
    gw_text *text = written ? text_format("%s", written) : NULL;
    free(written);
    if (text && client->reply_count < STREAM_REPLIES)
        client->replies[client->reply_count++] = text;
    else {
        text_unref(text);
        client->close = STREAM_CLOSE_TOO_MANY;
    }
    lws_callback_on_writable(client->wsi);
}

static void reply_error(stream_client *client, const gw_error *error, const json_t *id)
{
    wire_memory_clear();
    json_t *value =
        json_pack("{s:s, s:o, s:o}", "op", "error", "detail", describe_text(error->message),
                  "pointer", describe_text(error->where));
    if (id)
        json_object_set(value, "id", (json_t *)(size_t)id);
    reply(client, value);
}

/* ---- members ------------------------------------------------------------------------------- */

static const json_t *member(const message *now, const char *name)
{
    return json_object_get(now->json, name);
}

static bool only(message *now, const char *const *allowed)
{
    return wire_only(now->json, "", allowed, &now->error);
}

static bool get_tool(message *now, int *tool)
{
    const json_t *value = member(now, "tool");
    *tool = (int)json_integer_value(value);
    if (!value || (json_is_integer(value) && *tool >= 0 && *tool < GW_MAX_TOOLS &&
                   *tool == json_integer_value(value)))
        return true;
    return gw_fail(&now->error, GW_BAD_INPUT, "/tool", "a tool is a number from 0 to %d",
                   GW_MAX_TOOLS - 1);
}

static bool get_vec3(message *now, const char *name, bool needed, double most, gw_vec3 *v)
{
    char at[32];
    const json_t *value = member(now, name);
    snprintf(at, sizeof at, "/%s", name);
    if (!value && !needed)
        return true;
    if (!value)
        return gw_fail(&now->error, GW_BAD_INPUT, at, "%s must be given: [x,y,z]", name);
    if (!wire_get_vec3(value, at, v, &now->error))
        return false;
    return gw_norm(*v) <= most ||
           gw_fail(&now->error, GW_BAD_INPUT, at, "%s is longer than %g", name, most);
}

static bool get_bool(message *now, const char *name, bool needed, bool *out)
{
    char at[32];
    const json_t *value = member(now, name);
    snprintf(at, sizeof at, "/%s", name);
    if (value ? !json_is_boolean(value) : needed)
        return gw_fail(&now->error, GW_BAD_INPUT, at, "%s is true or false", name);
    if (value)
        *out = json_is_true(value);
    return true;
}

/* ---- a person's hand ----------------------------------------------------------------------- */

static bool send_hand(message *now, const gw_command *command)
{
    return app_send(now->stream->app, command, &now->error);
}

static bool held_by_other(message *now, stream_client *const *owners, int tool)
{
    return owners[tool] && owners[tool] != now->client &&
           !gw_fail(&now->error, GW_CONFLICT, "/tool", "another operator holds tool %d", tool);
}

/* A drag that the loop knows nothing of (another scene was opened meanwhile) holds nobody up. */
static bool dragged_by_other(message *now, int tool)
{
    app_document *document;
    gw_snapshot snapshot;
    app_peek(now->stream->app, &document, &snapshot);
    app_document_put(document);
    return tool < snapshot.tool_count && snapshot.tools[tool].dragging &&
           held_by_other(now, now->stream->drags, tool);
}

static bool on_drag(message *now)
{
    static const char *const allowed[] = {"op", "id", "tool", "point", "target", "turn", NULL};
    gw_command command = {.kind = GW_COMMAND_DRAG};
    bool turn = false;
    if (!only(now, allowed) || !get_tool(now, &command.tool) ||
        !get_vec3(now, "point", true, REACH_MAX, &command.drag.point) ||
        !get_vec3(now, "target", true, REACH_MAX, &command.drag.target) ||
        !get_bool(now, "turn", false, &turn) || dragged_by_other(now, command.tool))
        return false;
    command.drag.turn = turn;
    if (!send_hand(now, &command))
        return false;
    now->stream->drags[command.tool] = now->client;
    return true;
}

/* A task has the tool: who drags nothing has nothing to let go of. */
static bool task_runs(const message *now)
{
    char id[GW_MAX_ID + 1];
    gw_task_progress progress;
    return app_task_last(now->stream->app, id, &progress) && progress.state == GW_TASK_RUNNING;
}

static bool on_release(message *now)
{
    static const char *const allowed[] = {"op", "id", "tool", NULL};
    gw_command command = {.kind = GW_COMMAND_RELEASE};
    if (!only(now, allowed) || !get_tool(now, &command.tool) || dragged_by_other(now, command.tool))
        return false;
    if (!now->stream->drags[command.tool] && task_runs(now))
        return true;
    now->stream->drags[command.tool] = NULL;
    return send_hand(now, &command);
}

static bool on_push(message *now)
{
    static const char *const allowed[] = {"op", "id", "tool", "force", "torque", NULL};
    gw_command command = {.kind = GW_COMMAND_PUSH};
    if (!only(now, allowed) || !get_tool(now, &command.tool) ||
        !get_vec3(now, "force", false, FORCE_MAX, &command.push.f) ||
        !get_vec3(now, "torque", false, FORCE_MAX, &command.push.t) ||
        held_by_other(now, now->stream->pushes, command.tool) || !send_hand(now, &command))
        return false;
    now->stream->pushes[command.tool] = now->client;
    now->stream->push_until_us[command.tool] = stream_now_us() + STREAM_PUSH_US;
    return true;
}

static bool on_clutch(message *now)
{
    static const char *const allowed[] = {"op", "id", "tool", "on", NULL};
    gw_command command = {.kind = GW_COMMAND_CLUTCH};
    bool closed = false;
    if (!only(now, allowed) || !get_tool(now, &command.tool) || !get_bool(now, "on", true, &closed))
        return false;
    command.clutch = closed;
    return send_hand(now, &command);
}

static bool on_halt(message *now)
{
    static const char *const allowed[] = {"op", "id", NULL};
    return only(now, allowed) && send_hand(now, &(gw_command){.kind = GW_COMMAND_HALT});
}

static void end_push(gw_stream *stream, int tool)
{
    stream->pushes[tool] = NULL;
    app_send(stream->app, &(gw_command){.kind = GW_COMMAND_PUSH, .tool = tool}, NULL);
}

void stream_expire_pushes(gw_stream *stream, uint64_t now_us)
{
    for (int i = 0; i < GW_MAX_TOOLS; i++)
        if (stream->pushes[i] && now_us > stream->push_until_us[i])
            end_push(stream, i);
}

void stream_let_go(gw_stream *stream, stream_client *client)
{
    for (int i = 0; i < GW_MAX_TOOLS; i++) {
        if (stream->pushes[i] == client)
            end_push(stream, i);
        if (stream->drags[i] != client)
            continue;
        stream->drags[i] = NULL;
        app_send(stream->app, &(gw_command){.kind = GW_COMMAND_RELEASE, .tool = i}, NULL);
    }
}

/* ---- subscriptions ------------------------------------------------------------------------- */

static bool get_stream(message *now, bool *samples)
{
    const char *name = json_string_value(member(now, "stream"));
    *samples = name && strcmp(name, "samples") == 0;
    return *samples || (name && strcmp(name, "poses") == 0) ||
           gw_fail(&now->error, GW_BAD_INPUT, "/stream", "a stream is poses or samples");
}

static void set_samples(gw_stream *stream, stream_client *client, bool on)
{
    if (client->samples == on)
        return;
    client->samples = on;
    stream->sample_clients += on ? 1 : -1;
    if (on && stream->sample_clients == 1)
        app_record(stream->app, true);
    if (stream->sample_clients == 0)
        app_record(stream->app, false);
    client->sample_next = stream->row_count;
}

static void answer_subscription(const message *now, bool samples)
{
    if (!samples) {
        reply(now->client, json_pack("{s:s, s:s}", "op", "subscribed", "stream", "poses"));
        return;
    }
    app_document *document = app_document_get(now->stream->app);
    now->client->columns_told = wire_sample_columns(document->link_count);
    app_document_put(document);
    reply(now->client, stream_columns(now->client->columns_told));
}

static bool on_subscribe(message *now)
{
    static const char *const allowed[] = {"op", "id", "stream", "hz", NULL};
    bool samples;
    const json_t *hz = member(now, "hz");
    double rate = hz ? json_number_value(hz) : 60;
    if (!only(now, allowed) || !get_stream(now, &samples))
        return false;
    if (hz && (samples || !json_is_number(hz) || rate < 1 || rate > 250))
        return gw_fail(&now->error, GW_BAD_INPUT, "/hz",
                       samples ? "samples come as they are made: no hz"
                               : "poses come 1 to 250 times a second");
    stream_client *client = now->client;
    if (samples)
        set_samples(now->stream, client, true);
    else {
        client->poses = true;
        client->pose_period_us = (uint64_t)(1e6 / rate);
        client->pose_next_us = 0;
    }
    answer_subscription(now, samples);
    return true;
}

static bool on_unsubscribe(message *now)
{
    static const char *const allowed[] = {"op", "id", "stream", NULL};
    bool samples;
    if (!only(now, allowed) || !get_stream(now, &samples))
        return false;
    if (samples)
        set_samples(now->stream, now->client, false);
    else
        now->client->poses = now->client->pose_due = false;
    return true;
}

static bool on_auth(message *now)
{
    static const char *const allowed[] = {"op", "id", "token", NULL};
    if (!only(now, allowed))
        return false;
    if (!guard_token(now->stream->guard, json_string_value(member(now, "token")))) {
        now->client->close = STREAM_CLOSE_NO_TOKEN;
        lws_callback_on_writable(now->client->wsi);
        return true;
    }
    now->client->authorised = true;
    lws_callback_on_writable(now->client->wsi);
    return true;
}

/* ---- dispatch ------------------------------------------------------------------------------ */

static const struct {
    const char *op;
    handler *handle;
} operations[] = {
    {"auth", on_auth},     {"subscribe", on_subscribe}, {"unsubscribe", on_unsubscribe},
    {"drag", on_drag},     {"release", on_release},     {"push", on_push},
    {"clutch", on_clutch}, {"halt", on_halt},
};

static bool dispatch(message *now)
{
    const char *op = json_string_value(member(now, "op"));
    if (!now->client->authorised && (!op || strcmp(op, "auth") != 0)) {
        now->client->close = STREAM_CLOSE_NO_TOKEN;
        lws_callback_on_writable(now->client->wsi);
        return true;
    }
    for (size_t i = 0; op && i < sizeof operations / sizeof operations[0]; i++)
        if (strcmp(operations[i].op, op) == 0)
            return operations[i].handle(now);
    return gw_fail(&now->error, GW_BAD_INPUT, "/op",
                   "an op is auth, subscribe, unsubscribe, drag, release, push, clutch or halt");
}

void stream_message(gw_stream *stream, stream_client *client, const char *data, size_t size)
{
    message now = {.stream = stream, .client = client};
    wire_memory_clear();
    json_t *json = wire_parse(data, size, &now.error);
    now.json = json;
    if (json && !json_is_object(json))
        gw_fail(&now.error, GW_BAD_INPUT, "", "a message is a JSON object with op");
    if (!json_is_object(json) || !dispatch(&now))
        reply_error(client, &now.error, json_object_get(json, "id"));
    json_decref(json);
}
