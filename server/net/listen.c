/*
 * Accepts connections, peeks at their first bytes and hands them over. Waiting connections are
 * watched edge-triggered and have a deadline, so that a client that sends half a request line and
 * stops costs no processor time. Halts come first: handing over to HTTP takes longer than accepting
 * and peeking, and is done for a few connections at a time.
 */
#include "server/net/listen.h"

#include <assert.h>
#include <arpa/inet.h>
#include <errno.h>
#include <libwebsockets.h> /* SHA-1, base64 */
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <strings.h>
#include <time.h>
#include <unistd.h>

#include "server/app/clock.h"
#include "server/net/event_loop.h"
#include "server/net/halt_reply.h"
#include "server/net/niceness.h"
#include "server/net/request_head.h"
#include "server/net/state_reply.h"
#include "server/net/reject.h"
#include "server/schema/wire.h"

#define MAX_WAITING 1024 /* connections whose request is not recognised yet */
#define EXPIRE_MS   250
#define IN_ROUND    4  /* connections handed over before sockets are attended to again */
#define AT_ONCE     32 /* connections accepted before sockets that wait are attended to */
#define ID_LISTEN   (MAX_WAITING + 1)

typedef struct waiting {
    int fd;                /* -1: free */
    bool halted, repeated; /* a halt was carried out; its key had been carried out before */
    bool recognised;       /* the entry is in `queue` */
    long deadline_ms;
} waiting;

struct gw_listener {
    int fd;
    int port;
    bool loopback;
    char host[128];
    listener_def def;
    gw_halt_replies *halts;
    gw_state_replies *states;
    event_loop loop;
    waiting waiting[MAX_WAITING];
    struct sockaddr_storage peer[MAX_WAITING]; /* of each */
    int queue[MAX_WAITING], first, queued;     /* ring of entries to be handed over */
};

/* ---- classification of requests ------------------------------------------------------------ */

typedef enum wish { WISH_UNKNOWN, WISH_HTTP, WISH_STREAM, WISH_HALT, WISH_STATE, WISH_GONE } wish;

/* The bytes of a request, read without taking them from the socket. */
typedef struct peeked {
    char data[HEAD_BYTES + 1];
    size_t size;
    request_head head;
    bool whole;   /* the head is whole and well-formed */
    bool halts;   /* it is the head of a halt whose sender may halt */
    size_t taken; /* bytes of a halt's head and body */
    bool ignored; /* the body has members, which a halt ignores */
} peeked;

/* A halt from a permitted sender is carried out as soon as its head is there, whatever its body is
 * and whether or not the body arrives. A halt that is to be refused, or whose body is long, is
 * answered by HTTP. */
static wish halt_wish(const gw_guard *guard, peeked *p)
{
    const request_head *head = &p->head;
    const char *length = head_find(head, "Content-Length");
    size_t body = length ? strtoul(length, NULL, 10) : 0;
    p->halts = guard_may_halt(guard, head);
    if (!p->halts || head->old || head_find(head, "Transfer-Encoding") ||
        head_find(head, "Expect") || body > HEAD_BYTES - head->size)
        return WISH_HTTP;
    p->taken = head->size + body;
    if (p->size < p->taken)
        return WISH_UNKNOWN;
    p->data[p->taken] = 0;
    p->ignored = body > 0 && !wire_is_empty_object(head->body);
    return WISH_HALT;
}

static bool starts_with(const peeked *p, const char *with, bool *undecided)
{
    size_t size = strlen(with), known = p->size < size ? p->size : size;
    bool same = memcmp(p->data, with, known) == 0;
    *undecided = same && p->size <= size;
    return same && p->size > size;
}

static wish classify_request(const gw_listener *listener, int fd, peeked *p)
{
    bool stream_later, halt_later;
    p->halts = false;
    ssize_t size = recv(fd, p->data, HEAD_BYTES, MSG_PEEK | MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
        return WISH_GONE;
    p->size = size > 0 ? (size_t)size : 0;
    p->data[p->size] = 0;
    bool stream = starts_with(p, "GET /ws", &stream_later) && strchr(" ?", p->data[7]);
    bool halt = starts_with(p, "POST /api/v1/simulation/halt ", &halt_later);
    if (stream_later || halt_later)
        return WISH_UNKNOWN;
    head_status read = head_parse(p->data, p->size, &p->head);
    p->whole = read == HEAD_WHOLE;
    if (read == HEAD_PARTIAL && p->size < HEAD_BYTES)
        return WISH_UNKNOWN;
    if (stream)
        return WISH_STREAM;
    if (halt && p->whole)
        return halt_wish(listener->def.guard, p);
    return p->whole && strcmp(p->head.method, "GET") == 0 &&
                   strcmp(p->head.target, STATE_REPLY_PATH) == 0
               ? WISH_STATE
               : WISH_HTTP;
}

/* ---- handing over -------------------------------------------------------------------------- */

static bool lists_word(const char *value, const char *word)
{
    size_t size = strlen(word);
    for (; value && *value; value += strcspn(value, ","), value += *value == ',') {
        value += strspn(value, " \t");
        if (strncasecmp(value, word, size) == 0 && strchr(" \t,", value[size]))
            return true;
    }
    return false;
}

/* The Sec-WebSocket-Accept of a Sec-WebSocket-Key (RFC 6455, 4.2.2); false where the key is not
 * sixteen bytes in base64. */
static bool accept_of(const char *key, char accept[WS_ACCEPT])
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    char joined[64];
    unsigned char digest[20];
    if (!key || strlen(key) != 24 || strspn(key, letters) != 22 || strcmp(key + 22, "==") != 0)
        return false;
    int size = snprintf(joined, sizeof joined, "%s258EAFA5-E914-47DA-95CA-C5AB0DC85B11", key);
    lws_SHA1((const unsigned char *)joined, (size_t)size, digest);
    char text[WS_ACCEPT + 4]; /* the encoder asks for more room than it uses */
    if (lws_b64_encode_string((const char *)digest, sizeof digest, text, sizeof text) !=
        WS_ACCEPT - 1)
        return false;
    memcpy(accept, text, WS_ACCEPT);
    return true;
}

/* Reads a handshake whole and takes it from the socket; refuses what is not WebSocket or not
 * permitted. */
static void admit_stream(gw_listener *listener, int fd, peeked *p)
{
    const request_head *head = &p->head;
    guard_head fields = guard_head_of(head);
    const char *detail, *shape, *upgrade = head_find(head, "Upgrade");
    const char *version = head_find(head, "Sec-WebSocket-Version");
    const char *named = head_find(head, "Sec-WebSocket-Protocol");
    const char *id = p->whole ? head_find(head, "X-Request-Id") : NULL;
    char accept[WS_ACCEPT];
    int status = guard_head_sender(listener->def.guard, &fields, &detail);
    if (!p->whole || head->old || guard_head_ambiguous(&fields, &shape) || fields.lengths > 0)
        reject(fd, 400, id, "", "this is no head of an HTTP/1.1 handshake");
    else if (status)
        reject(fd, status, id, "", detail);
    else if (head_count(head, "Upgrade") != 1 || strcasecmp(upgrade, "websocket") != 0 ||
             !lists_word(head_find(head, "Connection"), "upgrade"))
        reject(fd, 426, id, "Upgrade: websocket\r\n", "a WebSocket handshake is wanted here");
    else if (!version || strcmp(version, "13") != 0)
        reject(fd, 426, id, "Sec-WebSocket-Version: 13\r\n",
               "version 13 of WebSocket is spoken here");
    else if (head_count(head, "Sec-WebSocket-Key") != 1 ||
             !accept_of(head_find(head, "Sec-WebSocket-Key"), accept))
        reject(fd, 400, id, "", "Sec-WebSocket-Key must be sixteen bytes in base64");
    else if (named && !lists_word(named, "guideway.v1"))
        reject(fd, 400, id, "", "the sub-protocol here is guideway.v1");
    else {
        recv(fd, p->data, head->size, MSG_DONTWAIT); /* it is read */
        if (!stream_adopt(listener->def.stream, fd, accept, named != NULL))
            reject_busy(fd);
    }
}

static struct sockaddr_storage *peer_of(gw_listener *listener, const waiting *entry)
{
    return &listener->peer[entry - listener->waiting];
}

/* Carries out a halt, once for each connection; its body may be still to come. */
static void carry_out_halt(gw_listener *listener, waiting *entry, const peeked *p)
{
    char by[PEER_NAME];
    if (!p->halts || entry->halted)
        return;
    entry->halted = true;
    peer_name(peer_of(listener, entry), head_find(&p->head, "Origin") ? "page" : "rest", by);
    entry->repeated =
        !app_halt_latch(listener->def.app, head_find(&p->head, "Idempotency-Key"), by);
}

/* Takes the request of a halt from the socket; gw-halt answers it. */
static void answer_halt(gw_listener *listener, int fd, peeked *p, bool repeated)
{
    char name[HEAD_REQUEST_ID + 1];
    head_request_id(head_find(&p->head, "X-Request-Id"), name);
    recv(fd, p->data, p->taken, MSG_DONTWAIT);
    halt_replies_adopt(listener->halts, fd, name, p->ignored, repeated);
}

static void release_socket(gw_listener *listener, waiting *entry, wish wanted, peeked *p)
{
    int fd = entry->fd;
    event_loop_watch(&listener->loop, EPOLL_CTL_DEL, fd, 0, 0);
    entry->fd = -1;
    if (wanted == WISH_GONE)
        close(fd);
    else if (wanted == WISH_HALT)
        answer_halt(listener, fd, p, entry->repeated);
    else if (wanted == WISH_STREAM)
        admit_stream(listener, fd, p);
    else if (wanted == WISH_STATE && state_replies_adopt(listener->states, fd))
        return;
    else if (!http_adopt(listener->def.http, fd, peer_of(listener, entry)))
        reject_busy(fd);
}

/* Answers a halt at once; other recognised requests are queued. */
static void recognise_request(gw_listener *listener, waiting *entry)
{
    peeked p;
    if (entry->fd < 0)
        return;
    wish wanted = classify_request(listener, entry->fd, &p);
    carry_out_halt(listener, entry, &p);
    if (wanted == WISH_HALT || wanted == WISH_GONE) {
        release_socket(listener, entry, wanted, &p);
    } else if (wanted != WISH_UNKNOWN && !entry->recognised) {
        entry->recognised = true;
        int last = (listener->first + listener->queued++) % MAX_WAITING;
        listener->queue[last] = (int)(entry - listener->waiting);
    }
}

/* Hands over the first of the queue; its entry may have been closed or taken anew since. */
static void hand_over_next(gw_listener *listener)
{
    peeked p;
    waiting *entry = &listener->waiting[listener->queue[listener->first]];
    listener->first = (listener->first + 1) % MAX_WAITING;
    listener->queued--;
    entry->recognised = false;
    if (entry->fd < 0)
        return;
    wish wanted = classify_request(listener, entry->fd, &p);
    carry_out_halt(listener, entry, &p);
    if (wanted != WISH_UNKNOWN)
        release_socket(listener, entry, wanted, &p);
}

static bool hand_over_some(void *context)
{
    gw_listener *listener = context;
    for (int i = 0; i < IN_ROUND && listener->queued > 0; i++)
        hand_over_next(listener);
    return listener->queued > 0;
}

/* ---- accepting ----------------------------------------------------------------------------- */

/* The connection that has waited longest, NULL where none waits. */
static waiting *oldest_waiting(gw_listener *listener)
{
    waiting *oldest = NULL;
    for (int i = 0; i < MAX_WAITING; i++) {
        waiting *each = &listener->waiting[i];
        if (each->fd >= 0 && (!oldest || each->deadline_ms < oldest->deadline_ms))
            oldest = each;
    }
    return oldest;
}

/* A free entry; where there is none, the connection that has waited longest is closed. */
static waiting *free_place(gw_listener *listener)
{
    for (int i = 0; i < MAX_WAITING; i++)
        if (listener->waiting[i].fd < 0)
            return &listener->waiting[i];
    waiting *oldest = oldest_waiting(listener);
    release_socket(listener, oldest, WISH_GONE, NULL);
    return oldest;
}

/* The process has no file descriptor left: closes a waiting or an idle connection, so that a halt
 * can be accepted. */
static void free_file(gw_listener *listener)
{
    waiting *oldest = oldest_waiting(listener);
    if (oldest)
        release_socket(listener, oldest, WISH_GONE, NULL);
    else
        http_make_room(listener->def.http);
    nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/* False where none is pending, or no file descriptor is left. */
static bool accept_one(gw_listener *listener)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    int one = 1;
    int fd = accept4(listener->fd, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            free_file(listener);
        return false;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    waiting *entry = free_place(listener);
    *entry = (waiting){.fd = fd,
                       .recognised = entry->recognised,
                       .deadline_ms = clock_ms() + GW_HEADER_TIMEOUT_MS};
    *peer_of(listener, entry) = peer;
    if (!event_loop_watch(&listener->loop, EPOLL_CTL_ADD, fd, (uint32_t)(entry - listener->waiting),
                          EPOLLIN | EPOLLRDHUP | EPOLLET)) {
        entry->fd = -1;
        close(fd);
        return true;
    }
    recognise_request(listener, entry);
    return true;
}

static void accept_some(gw_listener *listener)
{
    int count = 0;
    while (count < AT_ONCE && accept_one(listener))
        count++;
}

static void expire_waiting(void *context)
{
    gw_listener *listener = context;
    long now = clock_ms();
    for (int i = 0; i < MAX_WAITING; i++)
        if (listener->waiting[i].fd >= 0 && now > listener->waiting[i].deadline_ms)
            release_socket(listener, &listener->waiting[i], WISH_GONE, NULL);
    http_expire(listener->def.http);
}

static void attend_socket(void *context, uint32_t id, uint32_t events)
{
    gw_listener *listener = context;
    (void)events;
    if (id == ID_LISTEN)
        accept_some(listener);
    else
        recognise_request(listener, &listener->waiting[id]);
}

/* ---- life ---------------------------------------------------------------------------------- */

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *v6 = (const void *)address;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* Splits "ADDR:PORT"; false where it is not of that form. */
static bool split_address(const char *address, char host[128], char port[8])
{
    const char *colon = strrchr(address, ':');
    size_t size = colon ? (size_t)(colon - address) : 0;
    if (size == 0 || size >= 127 || strlen(colon + 1) == 0 || strlen(colon + 1) > 5 ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) || atoi(colon + 1) > 65535)
        return false;
    bool brackets = address[0] == '[' && address[size - 1] == ']';
    if (!brackets && memchr(address, ':', size))
        return false;
    memcpy(host, address + brackets, size - 2 * (size_t)brackets);
    host[size - 2 * (size_t)brackets] = 0;
    strcpy(port, colon + 1);
    return true;
}

static bool open_socket(gw_listener *listener, const struct addrinfo *at, const char *address,
                        gw_error *error)
{
    int one = 1;
    listener->fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener->fd >= 0)
        setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (listener->fd < 0 || bind(listener->fd, at->ai_addr, at->ai_addrlen) != 0 ||
        listen(listener->fd, SOMAXCONN) != 0) {
        if (errno == EADDRINUSE)
            return gw_fail(error, GW_FAILED, "",
                           "%s is taken by another program: choose another with --listen", address);
        return gw_fail(error, GW_FAILED, "", "cannot listen at %s: %s", address, strerror(errno));
    }
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    getsockname(listener->fd, (struct sockaddr *)&bound, &size);
    listener->port =
        ntohs(bound.ss_family == AF_INET ? ((const struct sockaddr_in *)&bound)->sin_port
                                         : ((const struct sockaddr_in6 *)&bound)->sin6_port);
    return true;
}

gw_listener *listener_bind(const char *address, gw_error *error)
{
    assert(address);
    char host[128], port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    if (!split_address(address, host, port) || getaddrinfo(host, port, &hints, &found) != 0) {
        gw_fail(error, GW_BAD_INPUT, "",
                "%s is not an address to listen at: 127.0.0.1:8080 or [::1]:8080 are", address);
        return NULL;
    }
    gw_listener *listener = calloc(1, sizeof *listener);
    if (!listener) {
        gw_fail(error, GW_FAILED, "", "memory is short");
        freeaddrinfo(found);
        return NULL;
    }
    listener->fd = -1;
    for (int i = 0; i < MAX_WAITING; i++)
        listener->waiting[i].fd = -1;
    listener->loopback = is_loopback(found->ai_addr);
    snprintf(listener->host, sizeof listener->host, strchr(host, ':') ? "[%.120s]" : "%.120s",
             host);
    bool open = open_socket(listener, found, address, error);
    freeaddrinfo(found);
    if (open)
        return listener;
    listener_destroy(listener);
    return NULL;
}

bool listener_is_loopback(const gw_listener *listener)
{
    return listener->loopback;
}

int listener_port(const gw_listener *listener)
{
    return listener->port;
}

const char *listener_host(const gw_listener *listener)
{
    return listener->host;
}

bool listener_start(gw_listener *listener, const listener_def *def, gw_error *error)
{
    assert(listener && def && def->http && def->stream);
    listener->def = *def;
    listener->halts = halt_replies_create(def->app, error);
    state_reply_def states = {def->app, def->guard, def->http};
    listener->states = listener->halts ? state_replies_create(&states, error) : NULL;
    if (!listener->states)
        return false;
    const event_loop_def loop = {.thread = "gw-listen",
                                 .what = "the listener",
                                 .niceness = NICENESS_LISTENER,
                                 .period_ms = EXPIRE_MS,
                                 .context = listener,
                                 .on_event = attend_socket,
                                 .on_timer = expire_waiting,
                                 .on_round = hand_over_some};
    if (!event_loop_open(&listener->loop, &loop, error))
        return false;
    if (!event_loop_watch(&listener->loop, EPOLL_CTL_ADD, listener->fd, ID_LISTEN, EPOLLIN))
        return gw_fail(error, GW_FAILED, "", "the listener could not be started: %s",
                       strerror(errno));
    return event_loop_start(&listener->loop, error);
}

void listener_destroy(gw_listener *listener)
{
    if (!listener)
        return;
    event_loop_finish(&listener->loop);
    halt_replies_destroy(listener->halts);
    state_replies_destroy(listener->states);
    for (int i = 0; i < MAX_WAITING; i++)
        if (listener->waiting[i].fd >= 0)
            close(listener->waiting[i].fd);
    if (listener->fd >= 0)
        close(listener->fd);
    free(listener);
}
