/*
 * The stream: an event loop, and the sockets that the listener accepted, which libwebsockets reads
 * and writes when the loop finds them ready. A pass
 * over all clients every STREAM_TICK_US, and at every wake-up, makes their periodic frames due and
 * sends what is due (stream_send.c). Other threads may only call stream_adopt(), stream_wake() and
 * stream_count().
 */
#include "server/net/stream.h"

#include <assert.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "server/net/niceness.h"
#include "server/net/stream_private.h"
#include "server/schema/wire.h"

#define PHASE_STEP        0x9e3779b9u /* 2^32 by the golden ratio: its multiples lie evenly */
#define CLOSE_MS          250 /* of the period in which connections that are being closed are seen to */
#define SENT_UNREAD_BYTES 1024 /* TCP_NOTSENT_LOWAT: limits outdated frames in the kernel */

uint64_t stream_now_us(void)
{
    return (uint64_t)lws_now_usecs();
}

/* ---- the timer ----------------------------------------------------------------------------- */

/* Makes a frame of this period due. After the first one they are at the client's own phase of the
 * period, which it keeps where frames are skipped after a delay: so clients stay spread over the
 * period, and a pass serves a part of them. */
static void advance_period(const stream_client *client, stream_period *pace, uint64_t now)
{
    if (!pace->wanted || now < pace->next_us)
        return;
    if (!pace->next_us)
        pace->next_us = now - (client->phase * pace->period_us >> 32);
    pace->next_us += pace->period_us;
    if (pace->next_us + pace->period_us < now)
        pace->next_us += (now - pace->next_us) / pace->period_us * pace->period_us;
    pace->due = true;
}

/* Every client gets the message `state` every STREAM_STATE_US and at every event. The periodic one
 * waits for poses that are due soon, as it costs little to send both together. */
static void advance_periods(stream_client *client, uint64_t now, bool event)
{
    if (!client->greeted)
        return;
    advance_period(client, &client->poses, now);
    advance_period(client, &client->wrenches, now);
    if (client->poses.due || !client->poses.wanted ||
        client->poses.next_us > client->state.next_us + STREAM_JOIN_US)
        advance_period(client, &client->state, now);
    client->state.due = client->state.due || event;
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

/* New events are sent before memory is freed and texts are written: the rest is left to the next
 * pass, which follows at once and is not put off again. */
static void serve_clients(gw_stream *stream)
{
    uint64_t now = stream_now_us();
    bool events = app_take_events(stream->app);
    stream->put_off = events && !stream->put_off && stream->clients;
    stream_news news = stream_news_now(stream);
    if (stream->put_off) {
        for (stream_client *each = stream->clients; each; each = each->next)
            stream_serve(stream, each, &news);
        return;
    }
    app_collect(stream->app);
    stream_watch_lease(stream);
    stream_expire_pushes(stream, now);
    if (!stream->clients)
        return;
    if (stream->sample_clients > 0)
        stream_take_records(stream);
    bool event = stream_tells_event(stream, &news);
    for (stream_client *each = stream->clients; each; each = each->next) {
        if (!each->authorised && now > each->auth_until_us)
            each->close = STREAM_CLOSE_NO_TOKEN;
        watch_client(each, now);
        advance_periods(each, now, event);
        stream_serve(stream, each, &news);
    }
}

/* ---- readiness of sockets -------------------------------------------------------------------- */

/* Has the event loop watch for what the client needs: bytes to read, and room to write if it asks.
 * Where the system refuses, on_period() finds both out. */
static void await_socket(stream_client *client)
{
    int fd = lws_get_socket_fd(client->wsi);
    uint32_t events = client->asks ? EPOLLIN | EPOLLOUT : EPOLLIN;
    if (client->asks != client->awaited &&
        event_loop_watch(&client->stream->loop, EPOLL_CTL_MOD, fd, (uint32_t)fd, events))
        client->awaited = client->asks;
}

void stream_ask(stream_client *client)
{
    lws_callback_on_writable(client->wsi);
    client->asks = true;
    await_socket(client);
}

/* The socket accepts more. False: the connection ends. */
static bool on_writable(gw_stream *stream, stream_client *client)
{
    client->asks = false;
    bool open = stream_write(stream, client);
    client->asks = client->asks && open;
    await_socket(client);
    return open;
}

/* ---- clients ------------------------------------------------------------------------------- */

static void enter_client(gw_stream *stream, stream_client *client, struct lws *wsi)
{
    *client = (stream_client){.stream = stream,
                              .wsi = wsi,
                              .next = stream->clients,
                              .phase = stream->next_phase,
                              .heard_us = stream_now_us()};
    stream->next_phase += PHASE_STEP;
    client->roles = guard_roles(stream->guard, NULL);
    client->authorised = client->roles != 0;
    client->auth_until_us = stream_now_us() + STREAM_AUTH_US;
    stream->clients = client;
    stream_ask(client);
}

static void leave_client(gw_stream *stream, stream_client *client)
{
    stream_client **entry = &stream->clients;
    while (*entry && *entry != client)
        entry = &(*entry)->next;
    if (*entry)
        *entry = client->next;
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
        stream_ask(client);
        return;
    }
    char *more = realloc(client->message, client->message_size + size + 1);
    if (!more) { /* the rest of it would be taken for another message */
        client->close = STREAM_CLOSE_TOO_LARGE;
        stream_ask(client);
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
    stream_ask(client);
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
        stream_ask(client);
        return true;
    case WS_CLOSED:
        client->left = true;
        client->left_with = piece->code;
        stream_ask(client);
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
        (void)event_loop_watch(&stream->loop, EPOLL_CTL_ADD, fd, (uint32_t)fd, EPOLLIN);
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
        eventfd_write(s->wake, 1);
}

int stream_count(gw_stream *stream)
{
    return atomic_load(&stream->open);
}

/* ---- the event loop -------------------------------------------------------------------------- */

/* Setting the timer makes it unreadable until it expires. */
static void set_timer(gw_stream *stream, uint64_t after_us)
{
    const struct itimerspec at = {.it_value = {.tv_nsec = (long)(1000 * after_us)}};
    timerfd_settime(stream->timer, 0, &at, NULL);
}

/* Serves the clients and sets the timer: to a tick after the pass began, or less while the event of
 * a new document is awaited. */
static void serve_on(gw_stream *stream)
{
    uint64_t began = stream_now_us();
    serve_clients(stream);
    uint64_t now = stream_now_us(), next = began + STREAM_TICK_US;
    bool fresh = stream->clients && now < stream->newest_since_us + STREAM_EVENT_US;
    if (fresh || stream->put_off || next < now + STREAM_FRESH_US)
        next = now + STREAM_FRESH_US;
    set_timer(stream, next - now);
}

/* An event of libwebsockets. -1: it closes the connection. */
static int on_event(struct lws *wsi, enum lws_callback_reasons reason, void *user, void *data,
                    size_t size)
{
    gw_stream *stream = lws_context_user(lws_get_context(wsi));
    stream_client *client = user;
    switch (reason) {
    case LWS_CALLBACK_RAW_RX:
        if (receive_bytes(stream, client, data, size) == 0)
            return 0;
        client->asks = false; /* while it is being closed */
        await_socket(client);
        return -1;
    case LWS_CALLBACK_RAW_WRITEABLE:
        return on_writable(stream, client) ? 0 : -1;
    case LWS_CALLBACK_RAW_CLOSE:
        leave_client(stream, client);
        return 0;
    case LWS_CALLBACK_WSI_DESTROY:
        /* for sockets only: the context's own pipe is closed after the thread */
        if (!atomic_load(&stream->stopping))
            atomic_fetch_sub(&stream->open, 1);
        return 0;
    default:
        return 0;
    }
}

/* libwebsockets handles only sockets that are ready: its own loop would poll all of them each
 * time. */
static void on_ready(void *context, uint32_t id, uint32_t events)
{
    gw_stream *stream = context;
    eventfd_t count;
    if (id == (uint32_t)stream->timer)
        serve_on(stream);
    else if (id == (uint32_t)stream->wake) {
        eventfd_read(stream->wake, &count);
        adopt_waiting(stream);
        serve_on(stream);
    } else {
        struct lws_pollfd ready = {(int)id, POLLIN | POLLOUT, (short)events};
        lws_service_fd(stream->context, &ready);
    }
}

/* Runs the time-outs of libwebsockets, for connections that are being closed. */
static void on_period(void *context)
{
    gw_stream *stream = context;
    lws_service(stream->context, -1);
}

static bool watch(gw_stream *stream, int fd)
{
    return fd >= 0 && event_loop_watch(&stream->loop, EPOLL_CTL_ADD, fd, (uint32_t)fd, EPOLLIN);
}

static bool start_stream(gw_stream *stream, gw_error *error)
{
    struct lws_context_creation_info info = {.port = CONTEXT_PORT_NO_LISTEN_SERVER,
                                             .protocols = protocols,
                                             .options = LWS_SERVER_OPTION_EXPLICIT_VHOSTS,
                                             .gid = -1,
                                             .uid = -1,
                                             .user = stream};
    const event_loop_def def = {.thread = "gw-stream",
                                .what = "the stream",
                                .niceness = NICENESS_SOCKETS,
                                .period_ms = CLOSE_MS,
                                .context = stream,
                                .on_event = on_ready,
                                .on_timer = on_period};
    if (!event_loop_open(&stream->loop, &def, error))
        return false;
    lws_set_log_level(0, NULL);
    stream->timer = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    stream->wake = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    stream->context = lws_create_context(&info);
    stream->vhost = stream->context ? lws_create_vhost(stream->context, &info) : NULL;
    if (!stream->vhost || !watch(stream, stream->timer) || !watch(stream, stream->wake))
        return gw_fail(error, GW_FAILED, "", "the stream could not be started");
    set_timer(stream, STREAM_TICK_US);
    return event_loop_start(&stream->loop, error);
}

static bool allocate_rows(gw_stream *stream)
{
    stream->columns = wire_sample_columns(0);
    size_t cells = STREAM_ROWS * (size_t)stream->columns;
    stream->rows = calloc(cells, sizeof *stream->rows);
    stream->ticks = calloc(STREAM_ROWS, sizeof *stream->ticks);
    stream->records = calloc(STREAM_RECORDS, sizeof *stream->records);
    return stream->rows && stream->ticks && stream->records;
}

gw_stream *stream_create(gw_app *app, const gw_guard *guard, gw_error *error)
{
    assert(app && guard);
    gw_stream *stream = calloc(1, sizeof *stream);
    if (!stream) {
        gw_fail(error, GW_FAILED, "", "memory is short");
        return NULL;
    }
    stream->app = app;
    stream->guard = guard;
    stream->timer = stream->wake = -1;
    pthread_mutex_init(&stream->lock, NULL);
    if (!allocate_rows(stream))
        gw_fail(error, GW_FAILED, "", "memory is short");
    else if (start_stream(stream, error))
        return stream;
    stream_destroy(stream);
    return NULL;
}

static void close_open(int fd)
{
    if (fd >= 0)
        close(fd);
}

void stream_destroy(gw_stream *stream)
{
    if (!stream)
        return;
    atomic_store(&stream->stopping, true);
    event_loop_stop(&stream->loop);
    for (int i = 0; i < stream->adopted_count; i++)
        close(stream->adopted[i].fd);
    if (stream->context)
        lws_context_destroy(stream->context);
    event_loop_finish(&stream->loop);
    close_open(stream->timer);
    close_open(stream->wake);
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
