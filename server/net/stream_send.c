/*
 * The stream's messages: their texts, which of them a client gets next, and the writing of it. A
 * client has no queue except for direct answers: it has cursors into the documents, the events and
 * the samples. Its next item is, in this order: answers, the document, every event, the state,
 * samples, wrenches, the newest poses. Periodic frames are written at once, several together and
 * without a copy; all else, and frames that the socket refuses, when the socket accepts more. On
 * the stream's thread.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "server/app/describe.h"
#include "server/cli/version.h"
#include "server/net/stream_private.h"
#include "server/schema/wire.h"

_Static_assert(TEXT_ROOM >= LWS_PRE, "room for a frame's header before a text");

/* ---- texts ------------------------------------------------------------------------------------
 */

static gw_text *simulation_text(const app_document *document, const gw_snapshot *snapshot)
{
    wire_memory_clear();
    return wire_text(describe_simulation(document, snapshot));
}

static char *put_bytes(char *at, const void *value, size_t size)
{
    memcpy(at, value, size);
    return at + size;
}

/* `client`: whose name is added, NULL for a text that all clients get. */
static gw_text *scene_text(const char *op, const stream_client *client,
                           const app_document *document, const gw_snapshot *snapshot)
{
    gw_text *simulation = simulation_text(document, snapshot);
    gw_text *members = simulation ? app_document_text(document) : NULL;
    char by[PEER_NAME] = "", head[128 + PEER_NAME];
    static const char between[] = ",\"simulation\":";
    if (client)
        stream_client_name(client, by);
    int begun = snprintf(
        head, sizeof head, "{\"op\":\"%s\",\"protocol\":\"guideway.v1\",\"version\":\"%s\",%s%s%s",
        op, GUIDEWAY_VERSION, client ? "\"client\":\"" : "", by, client ? "\"," : "");
    size_t size = simulation ? simulation->size : 0;
    gw_text *text =
        members ? text_new((size_t)begun + members->size + sizeof between - 1 + size + 1) : NULL;
    if (text) {
        char *at = put_bytes(text->data, head, (size_t)begun);
        at = put_bytes(at, members->data, members->size);
        at = put_bytes(put_bytes(at, between, sizeof between - 1), simulation->data, size);
        *at = '}';
    }
    text_unref(members);
    text_unref(simulation);
    return text;
}

static gw_text *state_text(gw_app *app, const app_document *document, const gw_snapshot *snapshot)
{
    gw_text *simulation = simulation_text(document, snapshot), *text = NULL;
    wire_memory_clear();
    gw_text *task = wire_text(describe_task(app, document));
    if (simulation && task)
        text = text_format("{\"op\":\"state\",\"simulation\":%s,\"task\":%s,\"saved\":%s}",
                           simulation->data, task->data,
                           app_is_saved(app, document) ? "true" : "false");
    text_unref(task);
    text_unref(simulation);
    return text;
}

static gw_text *event_text(const gw_text *event)
{
    return text_format("{\"op\":\"event\",\"event\":%s}", event->data);
}

/* ---- binary: little-endian, as every machine that this runs on ------------------------------ */

static char *put_u32(char *at, uint32_t value)
{
    return put_bytes(at, &value, sizeof value);
}

static char *put_pose(char *at, uint32_t index, const gw_pose *pose)
{
    const float values[7] = {(float)pose->p.x, (float)pose->p.y, (float)pose->p.z, (float)pose->q.w,
                             (float)pose->q.x, (float)pose->q.y, (float)pose->q.z};
    return put_bytes(put_u32(at, index), values, sizeof values);
}

static gw_text *pose_frame(const app_document *document, const gw_snapshot *snapshot)
{
    size_t count = (size_t)document->moving_count, links = (size_t)document->link_count;
    gw_pose *poses = app_poses(document, snapshot), *link = app_links(document, snapshot);
    gw_text *frame = poses && link ? text_new(24 + 32 * (count + links)) : NULL;
    if (frame) {
        char *at = put_u32(put_u32(frame->data, 1), (uint32_t)(count + links));
        at = put_bytes(at, &snapshot->tick, sizeof snapshot->tick);
        at = put_bytes(at, &snapshot->time, sizeof snapshot->time);
        for (size_t i = 0; i < count; i++)
            at = put_pose(at, (uint32_t)i, &poses[document->moving[i]]);
        for (size_t i = 0; i < links; i++)
            at = put_pose(at, (uint32_t)(count + i), &link[i]);
    }
    free(poses);
    free(link);
    return frame;
}

/* ---- sending ------------------------------------------------------------------------------- */

/* A message or frame as it is sent: its head is written into the room before the text. */
static struct iovec framed(const gw_text *text, ws_opcode kind)
{
    unsigned char head[WS_HEAD];
    size_t size = ws_head(kind, text->size, head);
    memcpy(text->data - size, head, size);
    return (struct iovec){text->data - size, size + text->size};
}

/* libwebsockets keeps what the socket does not accept. False: the connection ends. */
static bool write_bytes(stream_client *client, void *data, size_t size)
{
    if (lws_write(client->wsi, data, size, LWS_WRITE_RAW) < 0)
        return false;
    if (lws_partial_buffered(client->wsi))
        stream_ask(client);
    return true;
}

/* Sends one message or frame. False: the connection ends. */
static bool write_text(stream_client *client, const gw_text *text, ws_opcode kind)
{
    struct iovec frame = framed(text, kind);
    return write_bytes(client, frame.iov_base, frame.iov_len);
}

/* Sends a control frame of `size` bytes, WS_CONTROL at most. */
static bool write_control(stream_client *client, ws_opcode kind, const void *data, size_t size)
{
    unsigned char frame[LWS_PRE + WS_HEAD + WS_CONTROL], *at = frame + LWS_PRE;
    size_t head = ws_head(kind, size, at);
    memcpy(at + head, data, size);
    return write_bytes(client, at, head + size);
}

/* Sends the answer to the client's handshake. */
static bool write_accept(stream_client *client)
{
    char room[LWS_PRE + 256], *answer = room + LWS_PRE;
    int size =
        snprintf(answer, 256,
                 "HTTP/1.1 101 Switching Protocols\r\nUpgrade: WebSocket\r\n"
                 "Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n%s\r\n",
                 client->accept, client->named ? "Sec-WebSocket-Protocol: guideway.v1\r\n" : "");
    client->accept[0] = 0;
    return write_bytes(client, answer, (size_t)size);
}

static bool send_hello(gw_stream *stream, stream_client *client)
{
    app_document *document;
    app_try_read_state(stream->app, &document, &stream->now);
    gw_text *hello = scene_text("hello", client, document, &stream->now);
    client->greeted = true;
    client->version_seen = document->version;
    client->shape_seen = document->shape;
    client->scene_next_us = stream_now_us() + STREAM_SCENE_US;
    client->event_next = app_log_last(stream->app) + 1;
    client->state = (stream_period){.wanted = true, .period_us = STREAM_STATE_US};
    client->poses.wanted = client->poses.due = true;
    if (!client->poses.period_us)
        client->poses.period_us = 1000000 / 60;
    bool sent = hello && write_text(client, hello, WS_TEXT);
    text_unref(hello);
    app_document_put(document);
    return sent;
}

static bool send_scene(gw_stream *stream, stream_client *client)
{
    app_document *document;
    app_try_read_state(stream->app, &document, &stream->now);
    if (!stream->scene || stream->scene_version != document->version) {
        text_unref(stream->scene);
        stream->scene = scene_text("scene", NULL, document, &stream->now);
        stream->scene_version = document->version;
    }
    client->version_seen = document->version;
    client->shape_seen = document->shape;
    client->scene_next_us = stream_now_us() + STREAM_SCENE_US;
    bool sent = stream->scene && write_text(client, stream->scene, WS_TEXT);
    app_document_put(document);
    return sent;
}

static bool send_reply(stream_client *client)
{
    gw_text *text = client->replies[0];
    client->reply_count--;
    memmove(client->replies, client->replies + 1, (size_t)client->reply_count * sizeof(gw_text *));
    bool sent = write_text(client, text, WS_TEXT);
    text_unref(text);
    return sent;
}

static bool send_event(gw_stream *stream, stream_client *client)
{
    gw_text *event = app_log_get(stream->app, client->event_next);
    if (!event) {
        client->close = STREAM_CLOSE_TOO_SLOW;
        stream_ask(client);
        return true;
    }
    client->event_next++;
    gw_text *text = event_text(event);
    bool sent = text && write_text(client, text, WS_TEXT);
    text_unref(text);
    text_unref(event);
    return sent;
}

static bool send_samples(gw_stream *stream, stream_client *client)
{
    if (client->columns_sent != stream->columns) { /* another scene has other joints */
        gw_text *names = stream_columns_text(stream->columns);
        client->columns_sent = stream->columns;
        bool sent = names && write_text(client, names, WS_TEXT);
        text_unref(names);
        return sent;
    }
    gw_text *frame = stream_sample_frame(stream, client);
    bool sent = !frame || write_text(client, frame, WS_BINARY);
    text_unref(frame);
    return sent;
}

/* ---- periodic frames ------------------------------------------------------------------------ */

/* Renews the message `state` unless it is of the present document and events, and recent. False:
 * the loop does not yet run the document. */
static bool state_ready(gw_stream *stream, const stream_news *news)
{
    uint64_t now = stream_now_us();
    if (stream->state && now < stream->state_until_us && stream->state_event == news->event &&
        stream->state_version == news->version)
        return true;
    app_document *document;
    bool read = app_try_read_state(stream->app, &document, &stream->now);
    gw_text *text = read ? state_text(stream->app, document, &stream->now) : NULL;
    if (text) {
        text_unref(stream->state);
        stream->state = text;
        stream->state_event = news->event;
        stream->state_version = document->version;
        stream->state_until_us = now + STREAM_YOUNG_US;
    }
    app_document_put(document);
    return text != NULL;
}

static bool wrenches_ready(gw_stream *stream)
{
    uint64_t now = stream_now_us();
    if (now >= stream->wrenches_us + STREAM_NEWEST_US) {
        app_document *document;
        if (app_try_read_state(stream->app, &document, &stream->now)) {
            stream_refresh_wrenches(stream, document, &stream->now);
            stream->wrenches_us = now;
        }
        app_document_put(document);
    }
    return stream->wrenches != NULL;
}

static void refresh_poses(gw_stream *stream, const app_document *document, uint64_t now)
{
    text_unref(stream->poses);
    stream->poses = pose_frame(document, &stream->now);
    stream->poses_shape = document->shape;
    stream->poses_us = now;
}

/* Replaces poses that are no longer the newest, also amid the writes of one pass. True if the
 * client knows their index. */
static bool poses_ready(gw_stream *stream, const stream_client *client)
{
    uint64_t now = stream_now_us();
    if (now >= stream->poses_us + STREAM_NEWEST_US) {
        app_document *document;
        if (app_try_read_state(stream->app, &document, &stream->now))
            refresh_poses(stream, document, now);
        app_document_put(document);
    }
    return stream->poses && stream->poses_shape == client->shape_seen;
}

/* Frames to be sent together, each of which ends the wait of a period. */
typedef struct frame_set {
    int count;
    struct iovec parts[3];
    stream_period *periods[3];
} frame_set;

static void add_frame(frame_set *set, stream_period *period, const gw_text *text, ws_opcode kind)
{
    set->periods[set->count] = period;
    set->parts[set->count++] = framed(text, kind);
}

static bool names_wrenches(const gw_stream *stream, const stream_client *client)
{
    return client->wrenches_sent == stream->wrenches_named;
}

/* The frames that are due; `state_only`: samples come before the others. */
static frame_set due_frames(gw_stream *stream, stream_client *client, const stream_news *news,
                            bool state_only)
{
    frame_set set = {0};
    if (client->state.due && state_ready(stream, news))
        add_frame(&set, &client->state, stream->state, WS_TEXT);
    if (state_only)
        return set;
    if (client->wrenches.due && wrenches_ready(stream) && names_wrenches(stream, client))
        add_frame(&set, &client->wrenches, stream->wrenches, WS_BINARY);
    if (client->poses.due && poses_ready(stream, client))
        add_frame(&set, &client->poses, stream->poses, WS_BINARY);
    return set;
}

/* Writes the frames without their first `done` bytes. False: the connection ends. */
static bool write_frames(stream_client *client, const frame_set *set, size_t done)
{
    bool open = true;
    for (int i = 0; i < set->count; i++) {
        const struct iovec *part = &set->parts[i];
        size_t skip = done < part->iov_len ? done : part->iov_len;
        done -= skip;
        if (open && skip < part->iov_len)
            open = write_bytes(client, (char *)part->iov_base + skip, part->iov_len - skip);
        set->periods[i]->due = false;
    }
    return open;
}

/* Writes the frames that are due, by one system call, without waiting for the socket to be polled.
 * MSG_EOR keeps the kernel from adding a frame to an unsent one before TCP_NOTSENT_LOWAT is
 * checked: where the client does not read, the frames stay due, and newer ones are sent later. */
static void send_frames(gw_stream *stream, stream_client *client, const stream_news *news)
{
    frame_set set = due_frames(stream, client, news, false);
    struct msghdr message = {.msg_iov = set.parts, .msg_iovlen = (size_t)set.count};
    if (set.count == 0)
        return;
    ssize_t sent = -1;
    if (!lws_partial_buffered(client->wsi))
        sent = sendmsg(lws_get_socket_fd(client->wsi), &message,
                       MSG_DONTWAIT | MSG_NOSIGNAL | MSG_EOR);
    if (sent <= 0) /* full, or broken, which libwebsockets finds out too */
        stream_ask(client);
    else if (!write_frames(client, &set, (size_t)sent))
        lws_set_timeout(client->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
}

/* ---- the order of items --------------------------------------------------------------------- */

static bool send_wrench_names(gw_stream *stream, stream_client *client)
{
    client->wrenches_sent = stream->wrenches_named;
    return write_text(client, stream->wrench_names, WS_TEXT);
}

static bool has_samples(const gw_stream *stream, const stream_client *client)
{
    return client->samples && client->sample_next < stream->row_count;
}

stream_news stream_news_now(gw_stream *stream)
{
    app_document *document = app_document_get(stream->app);
    uint64_t now = stream_now_us();
    if (stream->newest_version != document->version) {
        stream->newest_version = document->version;
        stream->newest_since_us = now;
    }
    stream_news news = {.now_us = now,
                        .version = document->version,
                        .shape = document->shape,
                        .since_us = stream->newest_since_us,
                        .event = app_log_last(stream->app)};
    app_document_put(document);
    return news;
}

/* A document with another index is sent at once. One with the same index waits for the event that
 * it is in effect, and is sent at most once in STREAM_SCENE_US. */
static bool scene_due(const stream_client *client, const stream_news *news)
{
    return client->version_seen < news->shape ||
           (client->version_seen != news->version && news->now_us >= client->scene_next_us &&
            news->now_us >= news->since_us + STREAM_EVENT_US);
}

/* Sends the most urgent item that is due. False: the connection ends. */
static bool send_next(gw_stream *stream, stream_client *client)
{
    stream_news news = stream_news_now(stream);
    if (!client->greeted)
        return send_hello(stream, client);
    if (client->reply_count > 0)
        return send_reply(client);
    if (scene_due(client, &news))
        return send_scene(stream, client);
    if (client->event_next <= news.event)
        return send_event(stream, client);
    bool samples = has_samples(stream, client);
    if (!samples && client->wrenches.due && wrenches_ready(stream) &&
        !names_wrenches(stream, client))
        return send_wrench_names(stream, client);
    frame_set set = due_frames(stream, client, &news, samples);
    if (set.count > 0)
        return write_frames(client, &set, 0);
    return !samples || send_samples(stream, client);
}

typedef enum due_items {
    DUE_NOTHING,
    DUE_FRAMES, /* periodic frames only, which can be written at once */
    DUE_OTHERS  /* others, or others too */
} due_items;

static due_items items_due(const gw_stream *stream, const stream_client *client,
                           const stream_news *news)
{
    if (client->closed)
        return DUE_NOTHING;
    if (client->close || client->left || client->accept[0] || client->pong_due ||
        client->ping_due || client->reply_count > 0)
        return DUE_OTHERS;
    if (!client->authorised)
        return DUE_NOTHING;
    if (!client->greeted || scene_due(client, news) || client->event_next <= news->event ||
        has_samples(stream, client) || (client->wrenches.due && !names_wrenches(stream, client)))
        return DUE_OTHERS;
    return client->state.due || client->poses.due || client->wrenches.due ? DUE_FRAMES
                                                                          : DUE_NOTHING;
}

void stream_serve(gw_stream *stream, stream_client *client, const stream_news *news)
{
    switch (items_due(stream, client, news)) {
    case DUE_NOTHING:
        return;
    case DUE_FRAMES:
        send_frames(stream, client, news);
        return;
    case DUE_OTHERS:
        stream_ask(client);
        return;
    }
}

static const char *reason_of(stream_close close)
{
    switch (close) {
    case STREAM_CLOSE_NONE:
        return "";
    case STREAM_CLOSE_PROTOCOL:
        return "a frame against RFC 6455";
    case STREAM_CLOSE_NOT_UTF8:
        return "a text that is no UTF-8";
    case STREAM_CLOSE_TOO_LARGE:
        return "message too large";
    case STREAM_CLOSE_NO_TOKEN:
        return "token needed";
    case STREAM_CLOSE_TOO_SLOW:
        return "too slow";
    case STREAM_CLOSE_TOO_MANY:
        return "too many messages";
    }
    return "";
}

/* Sends back the client's close, which ends the connection, or sends the server's, which the client
 * answers. */
static bool write_close(stream_client *client)
{
    unsigned char payload[WS_CONTROL];
    int code = client->left ? client->left_with : (int)client->close;
    const char *reason = client->left ? "" : reason_of(client->close);
    payload[0] = (unsigned char)(code >> 8);
    payload[1] = (unsigned char)code;
    memcpy(payload + 2, reason, strlen(reason));
    client->closed = true;
    return write_control(client, WS_CLOSE, payload, code ? 2 + strlen(reason) : 0) && !client->left;
}

/* Sends one item. False: the connection ends. */
static bool write_next(gw_stream *stream, stream_client *client)
{
    if (client->closed)
        return !client->left;
    if (client->accept[0])
        return write_accept(client);
    if (client->close || client->left)
        return write_close(client);
    if (client->ping_due) {
        client->ping_due = false;
        return write_control(client, WS_PING, "", 0);
    }
    if (client->pong_due) {
        client->pong_due = false;
        return write_control(client, WS_PONG, client->pong, client->pong_size);
    }
    if (!client->authorised)
        return client->reply_count == 0 || send_reply(client);
    return send_next(stream, client);
}

bool stream_write(gw_stream *stream, stream_client *client)
{
    if (!write_next(stream, client))
        return false;
    stream_news news = stream_news_now(stream);
    stream_serve(stream, client, &news);
    return true;
}

bool stream_tells_event(gw_stream *stream, const stream_news *news)
{
    if (news->event == stream->told_event || !state_ready(stream, news))
        return false;
    stream->told_event = news->event;
    return true;
}
