/*
 * What a client gets next: the document, then answers, every event, the state, samples, the newest
 * poses. Built once for all clients where it is the same for all.
 */
#include <string.h>

#include "server/net/stream_private.h"

_Static_assert(TEXT_ROOM >= LWS_PRE, "room for a frame's header before a text");

uint64_t stream_now_us(void)
{
    return (uint64_t)lws_now_usecs();
}

/* ---- sending ------------------------------------------------------------------------------- */

/* One message or frame; true when the connection lives on. */
static bool write_text(stream_client *client, gw_text *text, enum lws_write_protocol kind)
{
    return lws_write(client->wsi, (unsigned char *)text->data, text->size, kind) >= 0;
}

static bool send_hello(gw_stream *stream, stream_client *client)
{
    app_document *document;
    gw_snapshot snapshot;
    app_peek(stream->app, &document, &snapshot);
    gw_text *hello = stream_scene_text("hello", document, &snapshot);
    client->greeted = true;
    client->version_seen = document->version;
    client->shape_seen = document->shape;
    client->scene_next_us = stream_now_us() + STREAM_SCENE_US;
    client->event_next = app_log_last(stream->app) + 1;
    client->poses = client->pose_due = true;
    client->pose_period_us = client->pose_period_us ? client->pose_period_us : 1000000 / 60;
    bool sent = hello && write_text(client, hello, LWS_WRITE_TEXT);
    text_unref(hello);
    app_document_put(document);
    return sent;
}

static bool send_scene(gw_stream *stream, stream_client *client)
{
    app_document *document;
    gw_snapshot snapshot;
    app_peek(stream->app, &document, &snapshot);
    if (!stream->scene || stream->scene_version != document->version) {
        text_unref(stream->scene);
        stream->scene = stream_scene_text("scene", document, &snapshot);
        stream->scene_version = document->version;
    }
    client->version_seen = document->version;
    client->shape_seen = document->shape;
    client->scene_next_us = stream_now_us() + STREAM_SCENE_US;
    bool sent = stream->scene && write_text(client, stream->scene, LWS_WRITE_TEXT);
    app_document_put(document);
    return sent;
}

static bool send_reply(stream_client *client)
{
    gw_text *text = client->replies[0];
    client->reply_count--;
    memmove(client->replies, client->replies + 1, (size_t)client->reply_count * sizeof(gw_text *));
    bool sent = write_text(client, text, LWS_WRITE_TEXT);
    text_unref(text);
    return sent;
}

static bool send_event(gw_stream *stream, stream_client *client)
{
    gw_text *event = app_log_get(stream->app, client->event_next);
    if (!event) {
        client->close = STREAM_CLOSE_TOO_SLOW;
        lws_callback_on_writable(client->wsi);
        return true;
    }
    client->event_next++;
    gw_text *text = stream_event_text(event);
    bool sent = text && write_text(client, text, LWS_WRITE_TEXT);
    text_unref(text);
    text_unref(event);
    return sent;
}

static bool send_samples(gw_stream *stream, stream_client *client)
{
    if (client->columns_told != stream->columns) { /* another scene has other joints */
        gw_text *names = stream_columns_text(stream->columns);
        client->columns_told = stream->columns;
        bool told = names && write_text(client, names, LWS_WRITE_TEXT);
        text_unref(names);
        return told;
    }
    gw_text *frame = stream_sample_frame(stream, client);
    bool sent = !frame || write_text(client, frame, LWS_WRITE_BINARY);
    text_unref(frame);
    return sent;
}

static bool has_samples(const gw_stream *stream, const stream_client *client)
{
    return client->samples && client->sample_next < stream->row_count;
}

static bool has_event(gw_stream *stream, const stream_client *client)
{
    return client->event_next <= app_log_last(stream->app);
}

/* The newest document's versions. */
typedef struct versions {
    uint64_t version, shape;
} versions;

static versions versions_now(gw_stream *stream)
{
    app_document *document = app_document_get(stream->app);
    versions now = {document->version, document->shape};
    app_document_put(document);
    return now;
}

/* A newer document is sent at once, geometry that goes on moving some twenty times a second. */
static bool scene_due(const stream_client *client, versions newest)
{
    return client->version_seen < newest.shape ||
           (client->version_seen != newest.version && stream_now_us() >= client->scene_next_us);
}

/* Sends what is most due, one thing at a time. False: the connection ends. */
static bool send_next(gw_stream *stream, stream_client *client)
{
    if (!client->greeted)
        return send_hello(stream, client);
    if (client->reply_count > 0)
        return send_reply(client);
    if (scene_due(client, versions_now(stream)))
        return send_scene(stream, client);
    if (has_event(stream, client))
        return send_event(stream, client);
    if (client->state_due && stream->state) {
        client->state_due = false;
        return write_text(client, stream->state, LWS_WRITE_TEXT);
    }
    if (has_samples(stream, client))
        return send_samples(stream, client);
    if (client->pose_due && stream->poses && stream->poses_shape == client->shape_seen) {
        client->pose_due = false;
        return write_text(client, stream->poses, LWS_WRITE_BINARY);
    }
    return true;
}

static bool something_due(gw_stream *stream, const stream_client *client, versions newest)
{
    if (client->close || client->reply_count > 0)
        return true;
    if (!client->authorised)
        return false;
    return !client->greeted || scene_due(client, newest) || has_event(stream, client) ||
           client->state_due || client->pose_due || has_samples(stream, client);
}

int stream_writable(gw_stream *stream, stream_client *client)
{
    static const char *const reasons[] = {"message too large", "token needed", "too slow",
                                          "too many messages"};
    if (client->close) {
        const char *reason = client->close == STREAM_CLOSE_TOO_LARGE  ? reasons[0]
                             : client->close == STREAM_CLOSE_NO_TOKEN ? reasons[1]
                             : client->close == STREAM_CLOSE_TOO_SLOW ? reasons[2]
                                                                      : reasons[3];
        lws_close_reason(client->wsi, (enum lws_close_status)client->close,
                         (unsigned char *)(size_t)reason, strlen(reason));
        return -1;
    }
    if (!client->authorised)
        return client->reply_count == 0 || send_reply(client) ? 0 : -1;
    if (!send_next(stream, client))
        return -1;
    if (something_due(stream, client, versions_now(stream)))
        lws_callback_on_writable(client->wsi);
    return 0;
}

/* ---- the timer ----------------------------------------------------------------------------- */

/* The message `state`, ten times a second and whenever something happened. */
static void refresh_state(gw_stream *stream, uint64_t now)
{
    app_document *document;
    gw_snapshot snapshot;
    uint64_t event = app_log_last(stream->app);
    bool news = event != stream->state_event;
    if (!news && now < stream->state_next_us)
        return;
    if (app_peek(stream->app, &document, &snapshot)) {
        text_unref(stream->state);
        stream->state = stream_state_text(stream->app, document, &snapshot);
        stream->state_event = event;
        stream->state_next_us = now + STREAM_STATE_US;
        for (stream_client *each = stream->clients; each; each = each->next)
            each->state_due = each->greeted;
    }
    app_document_put(document);
}

static bool pose_wanted(stream_client *client, uint64_t now)
{
    if (!client->poses || !client->greeted || now < client->pose_next_us)
        return false;
    client->pose_next_us += client->pose_period_us;
    if (client->pose_next_us + client->pose_period_us < now)
        client->pose_next_us = now + client->pose_period_us;
    client->pose_due = true;
    return true;
}

static void refresh_poses(gw_stream *stream, uint64_t now)
{
    app_document *document;
    gw_snapshot snapshot;
    bool wanted = false;
    for (stream_client *each = stream->clients; each; each = each->next)
        wanted = pose_wanted(each, now) || each->pose_due || wanted;
    if (!wanted)
        return;
    if (app_peek(stream->app, &document, &snapshot)) {
        text_unref(stream->poses);
        stream->poses = stream_pose_frame(document, &snapshot);
        stream->poses_shape = document->shape;
    }
    app_document_put(document);
}

void stream_serve(gw_stream *stream)
{
    uint64_t now = stream_now_us();
    app_pump(stream->app);
    stream_expire_pushes(stream, now);
    if (!stream->clients)
        return;
    refresh_state(stream, now);
    refresh_poses(stream, now);
    if (stream->sample_clients > 0)
        stream_take_records(stream);
    versions newest = versions_now(stream);
    for (stream_client *each = stream->clients; each; each = each->next) {
        if (!each->authorised && now > each->auth_until_us)
            each->close = STREAM_CLOSE_NO_TOKEN;
        if (something_due(stream, each, newest))
            lws_callback_on_writable(each->wsi);
    }
}
