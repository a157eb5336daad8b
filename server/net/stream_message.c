/*
 * What comes in: subscriptions here, a person's hand in stream_hand.c. Every message is checked
 * whole before it does anything; what is wrong is answered with an `error`.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/app/describe.h"
#include "server/net/stream_private.h"
#include "server/schema/wire.h"

typedef bool handler(stream_request *now);

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

const json_t *stream_member(const stream_request *now, const char *name)
{
    return json_object_get(now->json, name);
}

bool stream_only(stream_request *now, const char *const *allowed)
{
    return wire_only(now->json, "", allowed, &now->error);
}

bool stream_get_vec3(stream_request *now, const char *name, bool needed, double most, gw_vec3 *v)
{
    char at[32];
    const json_t *value = stream_member(now, name);
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

bool stream_get_bool(stream_request *now, const char *name, bool needed, bool *out)
{
    char at[32];
    const json_t *value = stream_member(now, name);
    snprintf(at, sizeof at, "/%s", name);
    if (value ? !json_is_boolean(value) : needed)
        return gw_fail(&now->error, GW_BAD_INPUT, at, "%s is true or false", name);
    if (value)
        *out = json_is_true(value);
    return true;
}

/* ---- subscriptions ------------------------------------------------------------------------- */

static bool get_stream(stream_request *now, bool *samples)
{
    const char *name = json_string_value(stream_member(now, "stream"));
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

static void answer_subscription(const stream_request *now, bool samples)
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

static bool on_subscribe(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "stream", "hz", NULL};
    bool samples;
    const json_t *hz = stream_member(now, "hz");
    double rate = hz ? json_number_value(hz) : 60;
    if (!stream_only(now, allowed) || !get_stream(now, &samples))
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

static bool on_unsubscribe(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "stream", NULL};
    bool samples;
    if (!stream_only(now, allowed) || !get_stream(now, &samples))
        return false;
    if (samples)
        set_samples(now->stream, now->client, false);
    else
        now->client->poses = now->client->pose_due = false;
    return true;
}

static bool on_auth(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "token", NULL};
    if (!stream_only(now, allowed))
        return false;
    if (!guard_token(now->stream->guard, json_string_value(stream_member(now, "token")))) {
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
    {"auth", on_auth},
    {"subscribe", on_subscribe},
    {"unsubscribe", on_unsubscribe},
    {"drag", stream_on_drag},
    {"release", stream_on_release},
    {"push", stream_on_push},
    {"clutch", stream_on_clutch},
    {"halt", stream_on_halt},
};

static bool dispatch(stream_request *now)
{
    const char *op = json_string_value(stream_member(now, "op"));
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
    stream_request now = {.stream = stream, .client = client};
    wire_memory_clear();
    json_t *json = wire_parse(data, size, &now.error);
    now.json = json;
    if (json && !json_is_object(json))
        gw_fail(&now.error, GW_BAD_INPUT, "", "a message is a JSON object with op");
    if (!json_is_object(json) || !dispatch(&now))
        reply_error(client, &now.error, json_object_get(json, "id"));
    json_decref(json);
}
