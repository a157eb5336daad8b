/*
 * libwebsockets on a thread of its own, with sockets that the listener accepted. A client has no
 * queue but for direct answers: it has cursors, into the documents, the events and the samples, and
 * when its socket takes more it gets what is next and newest. Another thread may only call
 * stream_adopt(), stream_wake() and stream_count().
 */
#include "server/net/stream.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/net/stream_private.h"
#include "server/schema/wire.h"

#define SENT_UNREAD_BYTES 2048 /* TCP_NOTSENT_LOWAT: more in the kernel are frames out of date */

/* ---- clients ------------------------------------------------------------------------------- */

/* Copies a header of the handshake; false where it is missing or too long. */
static const char *handshake(struct lws *wsi, enum lws_token_indexes token, char *out, int size)
{
    int length = lws_hdr_total_length(wsi, token);
    return length > 0 && length < size && lws_hdr_copy(wsi, out, size, token) > 0 ? out : NULL;
}

static bool may_enter(const gw_stream *stream, struct lws *wsi)
{
    char host[256], origin[300];
    const char *is_host = handshake(wsi, WSI_TOKEN_HOST, host, sizeof host);
    if (!is_host || !guard_host(stream->guard, is_host))
        return false;
    if (lws_hdr_total_length(wsi, WSI_TOKEN_ORIGIN) <= 0)
        return true;
    const char *is_origin = handshake(wsi, WSI_TOKEN_ORIGIN, origin, sizeof origin);
    return is_origin && guard_origin(stream->guard, is_origin, is_host);
}

static void enter(gw_stream *stream, stream_client *client, struct lws *wsi)
{
    *client = (stream_client){.wsi = wsi, .next = stream->clients};
    client->authorised = !stream->guard->token[0];
    client->auth_until_us = stream_now_us() + STREAM_AUTH_US;
    stream->clients = client;
    lws_callback_on_writable(wsi);
}

static void leave(gw_stream *stream, stream_client *client)
{
    stream_client **place = &stream->clients;
    while (*place && *place != client)
        place = &(*place)->next;
    if (*place)
        *place = client->next;
    if (client->samples && --stream->sample_clients == 0)
        app_record(stream->app, false);
    stream_let_go(stream, client);
    for (int i = 0; i < client->reply_count; i++)
        text_unref(client->replies[i]);
    free(client->message);
    client->message = NULL;
}

static void receive(gw_stream *stream, stream_client *client, const char *data, size_t size)
{
    if (client->close)
        return;
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
    if (!lws_is_final_fragment(client->wsi) || lws_remaining_packet_payload(client->wsi) > 0)
        return;
    stream_message(stream, client, client->message, client->message_size);
    free(client->message);
    client->message = NULL;
    client->message_size = 0;
}

/* ---- sockets that come in ------------------------------------------------------------------ */

static void adopt_waiting(gw_stream *stream)
{
    int fds[STREAM_ADOPTED];
    pthread_mutex_lock(&stream->lock);
    int count = stream->adopted_count;
    memcpy(fds, stream->adopted, (size_t)count * sizeof fds[0]);
    stream->adopted_count = 0;
    pthread_mutex_unlock(&stream->lock);
    for (int i = 0; i < count; i++)
        if (!lws_adopt_socket_vhost(stream->vhost, fds[i]))
            atomic_fetch_sub(&stream->open, 1);
}

bool stream_adopt(gw_stream *stream, int fd)
{
    int unread = SENT_UNREAD_BYTES;
    bool room = false;
    if (atomic_fetch_add(&stream->open, 1) < GW_MAX_STREAMS) {
        setsockopt(fd, IPPROTO_TCP, TCP_NOTSENT_LOWAT, &unread, sizeof unread);
        pthread_mutex_lock(&stream->lock);
        room = stream->adopted_count < STREAM_ADOPTED;
        if (room)
            stream->adopted[stream->adopted_count++] = fd;
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
    lws_cancel_service(((gw_stream *)stream)->context);
}

int stream_count(gw_stream *stream)
{
    return atomic_load(&stream->open);
}

/* ---- libwebsockets ------------------------------------------------------------------------- */

static void on_timer(lws_sorted_usec_list_t *timer)
{
    gw_stream *stream = lws_container_of(timer, gw_stream, timer);
    stream_serve(stream);
    lws_sul_schedule(stream->context, 0, timer, on_timer, STREAM_TICK_US);
}

static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *data,
                    size_t size)
{
    gw_stream *stream = lws_context_user(lws_get_context(wsi));
    stream_client *client = user;
    switch (reason) {
    case LWS_CALLBACK_FILTER_PROTOCOL_CONNECTION:
        return may_enter(stream, wsi) ? 0 : -1;
    case LWS_CALLBACK_HTTP:
        lws_return_http_status(wsi, 426, NULL);
        return -1;
    case LWS_CALLBACK_ESTABLISHED:
        enter(stream, client, wsi);
        return 0;
    case LWS_CALLBACK_RECEIVE:
        receive(stream, client, data, size);
        return 0;
    case LWS_CALLBACK_SERVER_WRITEABLE:
        return stream_writable(stream, client);
    case LWS_CALLBACK_CLOSED:
        leave(stream, client);
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        /* Of sockets alone: the context's own pipe has none while the thread runs. */
        if (!atomic_load(&stream->stopping))
            atomic_fetch_sub(&stream->open, 1);
        return 0;
    case LWS_CALLBACK_EVENT_WAIT_CANCELLED:
        adopt_waiting(stream);
        stream_serve(stream);
        return 0;
    default:
        return 0;
    }
}

/* The first is also what a handshake without a sub-protocol reaches. */
static const struct lws_protocols protocols[] = {
    {.name = "guideway.v1",
     .callback = on_event,
     .per_session_data_size = sizeof(stream_client),
     .rx_buffer_size = 4096},
    {0},
};

/* A connection that has not answered for a minute is gone. */
static const lws_retry_bo_t liveness = {.secs_since_valid_ping = 30, .secs_since_valid_hangup = 60};

static void *run(void *context)
{
    gw_stream *stream = context;
    lws_sul_schedule(stream->context, 0, &stream->timer, on_timer, STREAM_TICK_US);
    while (!atomic_load(&stream->stopping))
        if (lws_service(stream->context, 0) < 0)
            break;
    return NULL;
}

static bool start(gw_stream *stream)
{
    struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN_SERVER,
                                             .protocols = protocols,
                                             .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
                                             .gid = -1,
                                             .uid = -1,
                                             .timeout_secs = GW_HEADER_TIMEOUT_MS / 1000,
                                             .retry_and_idle_policy = &liveness,
                                             .user = stream};
    lws_set_log_level(0, NULL);
    stream->context = lws_create_context(&info);
    stream->vhost = stream->context ? lws_create_vhost(stream->context, &info) : NULL;
    if (!stream->vhost || pthread_create(&stream->thread, NULL, run, stream) != 0)
        return false;
    pthread_setname_np(stream->thread, "gw-stream");
    stream->started = true;
    return true;
}

gw_stream *stream_create(gw_app *app, const gw_guard *guard, gw_error *error)
{
    gw_stream *stream = calloc(1, sizeof *stream);
    if (stream) {
        stream->app = app;
        stream->guard = guard;
        stream->columns = wire_sample_columns(0);
        pthread_mutex_init(&stream->lock, NULL);
        size_t cells = STREAM_ROWS * (size_t)stream->columns;
        stream->rows = calloc(cells, sizeof *stream->rows);
        stream->ticks = calloc(STREAM_ROWS, sizeof *stream->ticks);
        stream->records = calloc(STREAM_FRAME_ROWS, sizeof *stream->records);
    }
    if (stream && stream->rows && stream->ticks && stream->records && start(stream))
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
        close(stream->adopted[i]);
    if (stream->context)
        lws_context_destroy(stream->context);
    text_unref(stream->scene);
    text_unref(stream->state);
    text_unref(stream->poses);
    free(stream->rows);
    free(stream->ticks);
    free(stream->records);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
}
