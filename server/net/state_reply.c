/*
 * Every request is peeked and read strictly before it is taken. A request that equals the one
 * before on its connection byte for byte was checked then and is not read again. Answers are small
 * compared to a socket's buffer; a connection that does not take one is closed.
 */
#include "server/net/state_reply.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "server/app/clock.h"
#include "server/net/event_loop.h"
#include "server/net/request_head.h"
#include "server/net/reject.h"

#define SLOTS      256   /* connections; further ones go to HTTP */
#define KEPT_MS    60000 /* between requests */
#define EXPIRE_MS  500
#define KNOWN      1024 /* bytes of a request that are compared with the next one */
#define HEAD_ROOM  640
#define DATE_BYTES 40

typedef struct slot {
    int fd; /* -1: free */
    long deadline_ms;
    size_t known_size; /* 0: no request was answered */
    char known[KNOWN];
    char id[HEAD_REQUEST_ID + 1]; /* stated by its client; empty: none */
} slot;

struct gw_state_replies {
    state_reply_def def;
    event_loop loop;
    time_t date_s; /* of `date` */
    char date[DATE_BYTES];
    pthread_mutex_t lock; /* protects which slots are free, and their deadlines */
    slot slots[SLOTS];
};

/* ---- slots -------------------------------------------------------------------------------- */

/* Frees the slot; the socket is then the caller's. */
static int leave_slot(gw_state_replies *replies, slot *p)
{
    int fd = p->fd;
    event_loop_watch(&replies->loop, EPOLL_CTL_DEL, fd, 0, 0);
    pthread_mutex_lock(&replies->lock);
    p->fd = -1;
    pthread_mutex_unlock(&replies->lock);
    return fd;
}

static void hand_over(gw_state_replies *replies, slot *p)
{
    int fd = leave_slot(replies, p);
    struct sockaddr_storage peer = peer_address(fd);
    if (!http_adopt(replies->def.http, fd, &peer))
        reject_busy(fd);
}

bool state_replies_adopt(gw_state_replies *replies, int fd)
{
    assert(replies && fd >= 0);
    bool room = false;
    pthread_mutex_lock(&replies->lock);
    for (int i = 0; i < SLOTS && !room; i++) {
        slot *p = &replies->slots[i];
        if (p->fd >= 0)
            continue;
        p->fd = fd;
        p->deadline_ms = clock_ms() + KEPT_MS;
        p->known_size = 0;
        room =
            event_loop_watch(&replies->loop, EPOLL_CTL_ADD, fd, (uint32_t)i, EPOLLIN | EPOLLRDHUP);
        if (!room) {
            p->fd = -1;
            break;
        }
    }
    pthread_mutex_unlock(&replies->lock);
    return room;
}

/* ---- reading ------------------------------------------------------------------------------- */

typedef enum finding { ASKS, ASKS_ELSE, NOT_WHOLE, GONE } finding;

static bool is_fine(const gw_guard *guard, const request_head *head)
{
    static const char *const for_http[] = {"Content-Length", "Transfer-Encoding", "Expect",
                                           "Upgrade", "If-None-Match"};
    const char *detail, *connection = head_find(head, "Connection");
    guard_head fields = guard_head_of(head);
    for (size_t i = 0; i < sizeof for_http / sizeof *for_http; i++)
        if (head_find(head, for_http[i]))
            return false;
    return !head->old && strcmp(head->method, "GET") == 0 &&
           strcmp(head->target, STATE_REPLY_PATH) == 0 &&
           (!connection || strcasecmp(connection, "keep-alive") == 0) &&
           !guard_head_ambiguous(&fields, &detail) && !guard_head_sender(guard, &fields, &detail);
}

/* True for a valid token from an address that may still guess. HTTP counts and refuses the others.
 */
static bool is_welcome(const gw_guard *guard, const request_head *head, int fd)
{
    const char *token = guard_bearer(head_find(head, "Authorization"));
    struct sockaddr_storage peer = peer_address(fd);
    unsigned roles;
    return guard_roles(guard, token) && guard_judge(guard, token, &peer, &roles) == GUARD_WELCOME;
}

/* Examines the next request; one for the state is taken from the socket. */
static finding find_request(const gw_state_replies *replies, slot *p)
{
    char data[HEAD_BYTES + 1], copy[KNOWN];
    request_head head;
    ssize_t got = recv(p->fd, data, HEAD_BYTES, MSG_PEEK | MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR))
        return GONE;
    size_t size = got > 0 ? (size_t)got : 0;
    if (p->known_size > 0 && size >= p->known_size && memcmp(data, p->known, p->known_size) == 0) {
        recv(p->fd, data, p->known_size, MSG_DONTWAIT);
        return ASKS;
    }
    data[size] = 0;
    memcpy(copy, data, size < KNOWN ? size : KNOWN);
    head_status read = head_parse(data, size, &head);
    if (read == HEAD_PARTIAL && size < HEAD_BYTES)
        return NOT_WHOLE;
    if (read != HEAD_WHOLE || head.size > KNOWN || !is_fine(replies->def.guard, &head) ||
        !is_welcome(replies->def.guard, &head, p->fd))
        return ASKS_ELSE;
    const char *given = head_find(&head, "X-Request-Id");
    p->id[0] = 0;
    if (given)
        head_request_id(given, p->id);
    p->known_size = head.size;
    memcpy(p->known, copy, head.size);
    recv(p->fd, data, head.size, MSG_DONTWAIT);
    return ASKS;
}

/* ---- answering ----------------------------------------------------------------------------- */

/* The date by RFC 9110, 5.6.7, independent of the locale. */
static const char *date_of(gw_state_replies *replies)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t now = time(NULL);
    struct tm t;
    if (now != replies->date_s && gmtime_r(&now, &t)) {
        snprintf(replies->date, sizeof replies->date, "%.3s, %02d %.3s %d %02d:%02d:%02d GMT",
                 days + 3 * t.tm_wday, t.tm_mday % 100, months + 3 * t.tm_mon,
                 (t.tm_year + 1900) % 10000, t.tm_hour % 100, t.tm_min % 100, t.tm_sec % 100);
        replies->date_s = now;
    }
    return replies->date;
}

/* Sends the state. False: the connection is to be closed. */
static bool answer_state(gw_state_replies *replies, const slot *p)
{
    char head[HEAD_ROOM], made[HEAD_REQUEST_ID + 1];
    gw_text *text = app_simulation_text(replies->def.app);
    if (!text)
        return false;
    if (!p->id[0])
        head_request_id(NULL, made);
    int size =
        snprintf(head, sizeof head,
                 "HTTP/1.1 200 OK\r\nDate: %s\r\nX-Request-Id: %s\r\n" RESPONSE_HARDENING(
                     RESPONSE_LINE) "Content-Type: application/json\r\nCache-Control: no-store\r\n"
                                    "Content-Length: %zu\r\n\r\n",
                 date_of(replies), p->id[0] ? p->id : made, text->size);
    assert(size > 0 && (size_t)size < sizeof head);
    struct iovec parts[2] = {{head, (size_t)size}, {text->data, text->size}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    ssize_t sent = sendmsg(p->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
    bool whole = sent == (ssize_t)((size_t)size + text->size);
    text_unref(text);
    return whole;
}

static void serve_slot(void *context, uint32_t id, uint32_t events)
{
    gw_state_replies *replies = context;
    slot *p = &replies->slots[id];
    (void)events;
    if (p->fd < 0)
        return;
    switch (find_request(replies, p)) {
    case ASKS:
        pthread_mutex_lock(&replies->lock);
        p->deadline_ms = clock_ms() + KEPT_MS;
        pthread_mutex_unlock(&replies->lock);
        if (!answer_state(replies, p))
            close(leave_slot(replies, p));
        return;
    case ASKS_ELSE:
    case NOT_WHOLE: /* HTTP waits for the rest and answers */
        hand_over(replies, p);
        return;
    case GONE:
        close(leave_slot(replies, p));
        return;
    }
}

static void expire_slots(void *context)
{
    gw_state_replies *replies = context;
    long now = clock_ms();
    for (int i = 0; i < SLOTS; i++) {
        slot *p = &replies->slots[i];
        pthread_mutex_lock(&replies->lock);
        bool over = p->fd >= 0 && now > p->deadline_ms;
        pthread_mutex_unlock(&replies->lock);
        if (over)
            close(leave_slot(replies, p));
    }
}

/* ---- life ---------------------------------------------------------------------------------- */

gw_state_replies *state_replies_create(const state_reply_def *def, gw_error *error)
{
    assert(def && def->app && def->guard && def->http);
    gw_state_replies *replies = calloc(1, sizeof *replies);
    if (!replies) {
        gw_fail(error, GW_FAILED, "", "memory is short");
        return NULL;
    }
    replies->def = *def;
    pthread_mutex_init(&replies->lock, NULL);
    for (int i = 0; i < SLOTS; i++)
        replies->slots[i].fd = -1;
    const event_loop_def loop = {.thread = "gw-state",
                                 .what = "answers of the state",
                                 .period_ms = EXPIRE_MS,
                                 .context = replies,
                                 .on_event = serve_slot,
                                 .on_timer = expire_slots};
    if (event_loop_open(&replies->loop, &loop, error) && event_loop_start(&replies->loop, error))
        return replies;
    state_replies_destroy(replies);
    return NULL;
}

void state_replies_destroy(gw_state_replies *replies)
{
    if (!replies)
        return;
    event_loop_finish(&replies->loop);
    for (int i = 0; i < SLOTS; i++)
        if (replies->slots[i].fd >= 0)
            close(replies->slots[i].fd);
    pthread_mutex_destroy(&replies->lock);
    free(replies);
}
