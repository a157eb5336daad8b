/*
 * The stream: libwebsockets on a thread of its own, with sockets that the listener accepted. A
 * client has no queue except for direct answers: it has cursors into the documents, the events and
 * the samples. When its socket accepts more, it gets the next of: answers, the document, every
 * event, the state, samples, wrenches, the newest poses. Other threads may only call
 * stream_adopt(), stream_wake() and stream_count().
 */
#include "server/net/stream.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/app/describe.h"
#include "server/cli/version.h"
#include "server/net/niceness.h"
#include "server/net/stream_private.h"
#include "server/schema/wire.h"

_Static_assert(TEXT_ROOM >= LWS_PRE, "room for a frame's header before a text");

#define PHASE_STEP        0x9e3779b9u /* 2^32 by the golden ratio: its multiples lie evenly */
#define SENT_UNREAD_BYTES 2048        /* TCP_NOTSENT_LOWAT: limits outdated frames in the kernel */

uint64_t stream_now_us(void)
{
    return (uint64_t)lws_now_usecs();
}

/* ---- messages ----------------------------------------------------------------------------------
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

/* Sends one message or frame, whose head is written into the room before it. False: the connection
 * ends. */
static bool write_text(stream_client *client, gw_text *text, ws_opcode kind)
{
    unsigned char head[WS_HEAD];
    size_t size = ws_head(kind, text->size, head);
    unsigned char *start = (unsigned char *)text->data - size;
    memcpy(start, head, size);
    return lws_write(client->wsi, start, size + text->size, LWS_WRITE_RAW) >= 0;
}

/* Sends a control frame of `size` bytes, WS_CONTROL at most. */
static bool write_control(stream_client *client, ws_opcode kind, const void *data, size_t size)
{
    unsigned char frame[LWS_PRE + WS_HEAD + WS_CONTROL], *at = frame + LWS_PRE;
    size_t head = ws_head(kind, size, at);
    memcpy(at + head, data, size);
    return lws_write(client->wsi, at, head + size, LWS_WRITE_RAW) >= 0;
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
    return lws_write(client->wsi, (unsigned char *)answer, (size_t)size, LWS_WRITE_RAW) >= 0;
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
        lws_callback_on_writable(client->wsi);
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

static bool send_wrenches(gw_stream *stream, stream_client *client)
{
    if (client->wrenches_sent != stream->wrenches_named) {
        client->wrenches_sent = stream->wrenches_named;
        return write_text(client, stream->wrench_names, WS_TEXT);
    }
    client->wrenches.due = false;
    return write_text(client, stream->wrenches, WS_BINARY);
}

static void refresh_poses(gw_stream *stream, const app_document *document, uint64_t now)
{
    text_unref(stream->poses);
    stream->poses = pose_frame(document, &stream->now);
    stream->poses_shape = document->shape;
    stream->poses_us = now;
}

/* Replaces poses that waited behind other clients' writes. True if the client knows their index. */
static bool poses_ready(gw_stream *stream, const stream_client *client)
{
    uint64_t now = stream_now_us();
    if (now >= stream->poses_us + STREAM_TICK_US) {
        app_document *document;
        if (app_try_read_state(stream->app, &document, &stream->now))
            refresh_poses(stream, document, now);
        app_document_put(document);
    }
    return stream->poses && stream->poses_shape == client->shape_seen;
}

static bool has_samples(const gw_stream *stream, const stream_client *client)
{
    return client->samples && client->sample_next < stream->row_count;
}

static bool has_event(gw_stream *stream, const stream_client *client)
{
    return client->event_next <= app_log_last(stream->app);
}

/* The newest document's versions, and the time since which the stream knows it (us). */
typedef struct versions {
    uint64_t version, shape, since_us;
} versions;

static versions versions_now(gw_stream *stream)
{
    app_document *document = app_document_get(stream->app);
    if (stream->newest_version != document->version) {
        stream->newest_version = document->version;
        stream->newest_since_us = stream_now_us();
    }
    versions now = {document->version, document->shape, stream->newest_since_us};
    app_document_put(document);
    return now;
}

/* A document with another index is sent at once. One with the same index waits for the event that
 * it is in effect, and is sent at most once in STREAM_SCENE_US. */
static bool scene_due(const stream_client *client, versions newest)
{
    uint64_t now_us = stream_now_us();
    return client->version_seen < newest.shape ||
           (client->version_seen != newest.version && now_us >= client->scene_next_us &&
            now_us >= newest.since_us + STREAM_EVENT_US);
}

/* Sends the most urgent item that is due. False: the connection ends. */
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
    if (client->state.due && stream->state) {
        client->state.due = false;
        return write_text(client, stream->state, WS_TEXT);
    }
    if (has_samples(stream, client))
        return send_samples(stream, client);
    if (client->wrenches.due && stream->wrenches)
        return send_wrenches(stream, client);
    if (client->poses.due && poses_ready(stream, client)) {
        client->poses.due = false;
        return write_text(client, stream->poses, WS_BINARY);
    }
    return true;
}

static bool something_due(gw_stream *stream, const stream_client *client, versions newest)
{
    if (client->closed)
        return false;
    if (client->close || client->left || client->accept[0] || client->pong_due ||
        client->ping_due || client->reply_count > 0)
        return true;
    if (!client->authorised)
        return false;
    return !client->greeted || scene_due(client, newest) || has_event(stream, client) ||
           client->state.due || client->poses.due || client->wrenches.due ||
           has_samples(stream, client);
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

static int on_writable(gw_stream *stream, stream_client *client)
{
    if (!write_next(stream, client))
        return -1;
    if (something_due(stream, client, versions_now(stream)))
        lws_callback_on_writable(client->wsi);
    return 0;
}

/* ---- the timer ----------------------------------------------------------------------------- */

/* True while a frame of this pace is due. After the first one they are at the client's own phase of
 * the period, which it keeps where frames are skipped after a delay: so clients stay spread over
 * the period, and a pass serves a part of them. */
static bool frame_wanted(const stream_client *client, stream_period *pace, uint64_t now)
{
    if (!pace->wanted || !client->greeted || now < pace->next_us)
        return pace->due;
    if (!pace->next_us)
        pace->next_us = now - (client->phase * pace->period_us >> 32);
    pace->next_us += pace->period_us;
    if (pace->next_us + pace->period_us < now)
        pace->next_us += (now - pace->next_us) / pace->period_us * pace->period_us;
    pace->due = true;
    return true;
}

/* Makes sure that the message `state` is of the present document and recent. False: later. */
static bool renew_state(gw_stream *stream, uint64_t now, uint64_t event)
{
    app_document *document;
    bool read = app_try_read_state(stream->app, &document, &stream->now);
    bool renews = event != stream->state_event || document->version != stream->state_version ||
                  now >= stream->state_until_us;
    if (read && renews) {
        text_unref(stream->state);
        stream->state = state_text(stream->app, document, &stream->now);
        stream->state_event = event;
        stream->state_version = document->version;
        stream->state_until_us = now + STREAM_YOUNG_US;
    }
    app_document_put(document);
    return read;
}

/* Every client gets the message `state` every STREAM_STATE_US and at every event. */
static void refresh_state(gw_stream *stream, uint64_t now)
{
    uint64_t event = app_log_last(stream->app);
    bool news = event != stream->state_event, wanted = news;
    for (stream_client *each = stream->clients; each && !wanted; each = each->next)
        wanted = each->greeted && now >= each->state.next_us;
    if (!wanted || !renew_state(stream, now, event))
        return;
    for (stream_client *each = stream->clients; each; each = each->next)
        each->state.due = frame_wanted(each, &each->state, now) || (news && each->greeted);
}

static void refresh_frames(gw_stream *stream, uint64_t now)
{
    app_document *document;
    bool poses = false, wrenches = false;
    for (stream_client *each = stream->clients; each; each = each->next) {
        poses = frame_wanted(each, &each->poses, now) || poses;
        wrenches = frame_wanted(each, &each->wrenches, now) || wrenches;
    }
    if (!poses && !wrenches)
        return;
    if (app_try_read_state(stream->app, &document, &stream->now)) {
        if (poses)
            refresh_poses(stream, document, now);
        if (wrenches)
            stream_refresh_wrenches(stream, document, &stream->now);
    }
    app_document_put(document);
}

/* Sends a ping on a silent connection; cuts one that does not answer, or that does not answer a
 * close. */
static void watch_client(stream_client *client, uint64_t now)
{
    bool gone = now > client->heard_us + 2 * STREAM_SILENT_US;
    if (client->close && !client->closing_us)
        client->closing_us = now;
    if (gone || (client->closing_us && now > client->closing_us + STREAM_CLOSING_US))
        lws_set_timeout(client->wsi, PENDING_TIMEOUT_USER_OK, LWS_TO_KILL_ASYNC);
    else if (!client->asked && !client->closed && now > client->heard_us + STREAM_SILENT_US) {
        client->asked = true;
        client->ping_due = true;
    }
}

/* Schedules a write for every client for which something is due. */
static void ask_to_write(gw_stream *stream)
{
    versions newest = versions_now(stream);
    for (stream_client *each = stream->clients; each; each = each->next)
        if (something_due(stream, each, newest))
            lws_callback_on_writable(each->wsi);
}

/* New events are sent before memory is freed and texts are written: the rest is left to the next
 * pass, which follows at once and is not put off again. */
static void serve_clients(gw_stream *stream)
{
    uint64_t now = stream_now_us();
    bool events = app_take_events(stream->app);
    stream->put_off = events && !stream->put_off && stream->clients;
    if (stream->put_off) {
        ask_to_write(stream);
        return;
    }
    app_collect(stream->app);
    stream_watch_lease(stream);
    stream_expire_pushes(stream, now);
    if (!stream->clients)
        return;
    refresh_state(stream, now);
    refresh_frames(stream, now);
    if (stream->sample_clients > 0)
        stream_take_records(stream);
    for (stream_client *each = stream->clients; each; each = each->next) {
        if (!each->authorised && now > each->auth_until_us)
            each->close = STREAM_CLOSE_NO_TOKEN;
        watch_client(each, now);
    }
    ask_to_write(stream);
}

/* ---- clients ------------------------------------------------------------------------------- */

static void enter_client(gw_stream *stream, stream_client *client, struct lws *wsi)
{
    *client = (stream_client){.wsi = wsi,
                              .next = stream->clients,
                              .phase = stream->next_phase,
                              .heard_us = stream_now_us()};
    stream->next_phase += PHASE_STEP;
    client->roles = guard_roles(stream->guard, NULL);
    client->authorised = client->roles != 0;
    client->auth_until_us = stream_now_us() + STREAM_AUTH_US;
    stream->clients = client;
    lws_callback_on_writable(wsi);
}

static void leave_client(gw_stream *stream, stream_client *client)
{
    stream_client **place = &stream->clients;
    while (*place && *place != client)
        place = &(*place)->next;
    if (*place)
        *place = client->next;
    if (client->samples && --stream->sample_clients == 0)
        app_record(stream->app, false);
    stream_lease_leave(stream, client);
    stream_let_go(stream, client);
    for (int i = 0; i < client->reply_count; i++)
        text_unref(client->replies[i]);
    free(client->message);
    client->message = NULL;
}

static void take_part(gw_stream *stream, stream_client *client, const unsigned char *data,
                      size_t size, bool last)
{
    if (client->message_size + size > STREAM_MESSAGE) {
        client->close = STREAM_CLOSE_TOO_LARGE;
        lws_callback_on_writable(client->wsi);
        return;
    }
    char *more = realloc(client->message, client->message_size + size + 1);
    if (!more) { /* the rest of it would be taken for another message */
        client->close = STREAM_CLOSE_TOO_LARGE;
        lws_callback_on_writable(client->wsi);
        return;
    }
    client->message = more;
    memcpy(more + client->message_size, data, size);
    client->message_size += size;
    if (!last)
        return;
    stream_message(stream, client, client->message, client->message_size);
    free(client->message);
    client->message = NULL;
    client->message_size = 0;
}

static void close_client(stream_client *client, stream_close close)
{
    client->close = close;
    lws_callback_on_writable(client->wsi);
}

/* Handles one piece of a frame. False: the connection ends. */
static bool take_piece(gw_stream *stream, stream_client *client, const ws_piece *piece)
{
    switch (piece->found) {
    case WS_NOTHING:
    case WS_PONGED:
        return true;
    case WS_PART:
        take_part(stream, client, piece->data, piece->size, piece->last);
        return true;
    case WS_PINGED: /* the newest one is answered: RFC 6455, 5.5.3 */
        memcpy(client->pong, piece->data, piece->size);
        client->pong_size = piece->size;
        client->pong_due = true;
        lws_callback_on_writable(client->wsi);
        return true;
    case WS_CLOSED:
        client->left = true;
        client->left_with = piece->code;
        lws_callback_on_writable(client->wsi);
        return !client->closed;
    case WS_BROKEN:
        close_client(client, (stream_close)piece->code);
        return true;
    }
    return true;
}

/* While a connection is being closed only the client's close is heeded; after an error of framing,
 * any bytes end the connection. */
static int receive_bytes(gw_stream *stream, stream_client *client, unsigned char *data, size_t size)
{
    size_t taken;
    ws_piece piece;
    client->heard_us = stream_now_us();
    client->asked = false;
    do {
        if (client->left)
            return 0;
        if (client->close == STREAM_CLOSE_PROTOCOL || client->close == STREAM_CLOSE_NOT_UTF8)
            return client->closed ? -1 : 0;
        piece = ws_read(&client->reader, data, size, &taken);
        bool heard = !client->close || piece.found == WS_CLOSED;
        if (heard && !take_piece(stream, client, &piece))
            return -1;
        data += taken;
        size -= taken;
    } while (piece.found != WS_NOTHING);
    return 0;
}

/* ---- sockets that come in ------------------------------------------------------------------ */

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *data,
                    size_t size);

/* Raw sockets: handshakes are read by the listener and frames here, so that no parser of
 * libwebsockets is reached. */
static const struct lws_protocols protocols[] = {
    {.name = "guideway.v1",
     .callback = on_event,
     .per_session_data_size = sizeof(stream_client),
     .rx_buffer_size = 4096},
    {0},
};

static bool next_adopted(gw_stream *stream, int *fd, stream_client *about)
{
    pthread_mutex_lock(&stream->lock);
    bool any = stream->adopted_count > 0;
    if (any) {
        int last = --stream->adopted_count;
        *fd = stream->adopted[last].fd;
        about->named = stream->adopted[last].named;
        memcpy(about->accept, stream->adopted[last].accept, WS_ACCEPT);
    }
    pthread_mutex_unlock(&stream->lock);
    return any;
}

static void adopt_waiting(gw_stream *stream)
{
    int fd;
    stream_client about;
    while (next_adopted(stream, &fd, &about)) {
        lws_sock_file_fd_type socket = {.sockfd = fd};
        struct lws *wsi = lws_adopt_descriptor_vhost(stream->vhost, LWS_ADOPT_SOCKET, socket,
                                                     protocols[0].name, NULL);
        if (!wsi) {
            atomic_fetch_sub(&stream->open, 1);
            continue;
        }
        stream_client *client = lws_wsi_user(wsi);
        enter_client(stream, client, wsi);
        client->named = about.named;
        memcpy(client->accept, about.accept, WS_ACCEPT);
    }
}

bool stream_adopt(gw_stream *stream, int fd, const char accept[WS_ACCEPT], bool named)
{
    assert(stream && fd >= 0 && accept[0]);
    int unread = SENT_UNREAD_BYTES;
    bool room = false;
    if (atomic_fetch_add(&stream->open, 1) < GW_MAX_STREAMS) {
        setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unread, sizeof unread);
        pthread_mutex_lock(&stream->lock);
        room = stream->adopted_count < STREAM_ADOPTED;
        if (room) {
            int last = stream->adopted_count++;
            stream->adopted[last].fd = fd;
            stream->adopted[last].named = named;
            memcpy(stream->adopted[last].accept, accept, WS_ACCEPT);
        }
        pthread_mutex_unlock(&stream->lock);
    }
    if (room)
        stream_wake(stream);
    else
        atomic_fetch_sub(&stream->open, 1);
    return room;
}

void stream_wake(void *stream)
{
    gw_stream *s = stream;
    if (atomic_load(&s->open) > 0)
        lws_cancel_service(s->context);
}

int stream_count(gw_stream *stream)
{
    return atomic_load(&stream->open);
}

/* ---- libwebsockets ------------------------------------------------------------------------- */

static void on_timer(lws_sorted_usec_list_t *timer);

/* Serves the clients and sets the timer: to a tick, or less while the event of a new document is
 * awaited. */
static void serve_on(gw_stream *stream)
{
    serve_clients(stream);
    bool fresh = stream->clients && stream_now_us() < stream->newest_since_us + STREAM_EVENT_US;
    lws_sul_schedule(stream->context, 0, &stream->timer, on_timer,
                     fresh || stream->put_off ? STREAM_FRESH_US : STREAM_TICK_US);
}

static void on_timer(lws_sorted_usec_list_t *timer)
{
    serve_on(lws_container_of(timer, gw_stream, timer));
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *data,
                    size_t size)
{
    gw_stream *stream = lws_context_user(lws_get_context(wsi));
    stream_client *client = user;
    switch (reason) {
    case LWS_CALLBACK_RAW_RX:
        return receive_bytes(stream, client, data, size);
    case LWS_CALLBACK_RAW_WRITEABLE:
        return on_writable(stream, client);
    case LWS_CALLBACK_RAW_CLOSE:
        leave_client(stream, client);
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        /* for sockets only: the context's own pipe is closed after the thread */
        if (!atomic_load(&stream->stopping))
            atomic_fetch_sub(&stream->open, 1);
        return 0;
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
        adopt_waiting(stream);
        serve_on(stream);
        return 0;
    default:
        return 0;
    }
}

static void *stream_thread(void *context)
{
    gw_stream *stream = context;
    niceness_set(NICENESS_SOCKETS);
    lws_sul_schedule(stream->context, 0, &stream->timer, on_timer, STREAM_TICK_US);
    while (!atomic_load(&stream->stopping))
        if (lws_service(stream->context, 0) < 0)
            break;
    return NULL;
}

static bool start_stream(gw_stream *stream)
{
    struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN_SERVER,
                                             .protocols = protocols,
                                             .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
                                             .gid = -1,
                                             .uid = -1,
                                             .user = stream};
    lws_set_log_level(0, NULL);
    stream->context = lws_create_context(&info);
    stream->vhost = stream->context ? lws_create_vhost(stream->context, &info) : NULL;
    if (!stream->vhost || pthread_create(&stream->thread, NULL, stream_thread, stream) != 0)
        return false;
    pthread_setname_np(stream->thread, "gw-stream");
    stream->started = true;
    return true;
}

gw_stream *stream_create(gw_app *app, const gw_guard *guard, gw_error *error)
{
    assert(app && guard);
    gw_stream *stream = calloc(1, sizeof *stream);
    if (stream) {
        stream->app = app;
        stream->guard = guard;
        stream->columns = wire_sample_columns(0);
        pthread_mutex_init(&stream->lock, NULL);
        size_t cells = STREAM_ROWS * (size_t)stream->columns;
        stream->rows = calloc(cells, sizeof *stream->rows);
        stream->ticks = calloc(STREAM_ROWS, sizeof *stream->ticks);
        stream->records = calloc(STREAM_RECORDS, sizeof *stream->records);
    }
    if (stream && stream->rows && stream->ticks && stream->records && start_stream(stream))
        return stream;
    gw_fail(error, GW_FAILED, "", "the stream could not be started");
    stream_destroy(stream);
    return NULL;
}

void stream_destroy(gw_stream *stream)
{
    if (!stream)
        return;
    atomic_store(&stream->stopping, true);
    if (stream->started) {
        lws_cancel_service(stream->context);
        pthread_join(stream->thread, NULL);
    }
    for (int i = 0; i < stream->adopted_count; i++)
        close(stream->adopted[i].fd);
    if (stream->context)
        lws_context_destroy(stream->context);
    text_unref(stream->scene);
    text_unref(stream->state);
    text_unref(stream->poses);
    text_unref(stream->wrenches);
    text_unref(stream->wrench_names);
    free(stream->rows);
    free(stream->ticks);
    free(stream->records);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}
