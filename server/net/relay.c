/*
 * One thread, level-triggered. A connection stores the bytes of an incomplete head or line, and the
 * bytes of an answer that its client has not taken; while there are any, libmicrohttpd's end is not
 * read, so that it stops writing.
 */
#include "server/net/relay.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "server/app/clock.h"
#include "server/net/event_loop.h"
#include "server/net/framing.h"
#include "server/net/niceness.h"
#include "server/net/reject.h"

#define SLOTS       (2 * GW_MAX_HTTP) /* libmicrohttpd's, and those that it closed */
#define OUT_BYTES   (16 * 1024)       /* of an answer, read at once */
#define PAIR_BYTES  (64 * 1024)       /* that wait in a pair of sockets */
#define LINGER_MS   20000             /* for the client to read the rest of the last answer */
#define EXPIRE_MS   500
#define ROUNDS      16 /* reads from one connection before the others are served */
#define SIDE_OUTER  1  /* bit of an event's number: the relay's end of the pair, else the client */
#define NOT_WATCHED UINT32_MAX

typedef struct gw_passage {
    int client, outer; /* client's socket; relay's end of the pair, -1: the other is closed */
    int inner;         /* relay's lock: libmicrohttpd's end while it is open, else -1 */
    int slot;
    gw_relay *relay;
    atomic_ullong answered; /* number of requests */
    atomic_ullong halted;   /* number of the last request that halted when it arrived */
    atomic_bool repeated;   /* that halt had been carried out before */
    request_framing framing;
    size_t in_size, pass; /* bytes read, of which the first `pass` go to libmicrohttpd */
    size_t out_size, out_sent;
    bool heard;    /* the client sends no more, or its bytes are ignored */
    bool shut;     /* nothing more is sent to libmicrohttpd */
    bool deaf;     /* libmicrohttpd accepts no more bytes */
    bool last;     /* the refusal is written */
    bool over;     /* all is sent; the client is to close */
    bool ended;    /* to be freed */
    long until_ms; /* deadline, CLOCK_MONOTONIC; 0: none */
    uint32_t client_events, outer_events;
    struct gw_passage *next_ended;
    char in[HEAD_BYTES], out[OUT_BYTES];
} gw_passage;

struct gw_relay {
    relay_def def;
    event_loop loop;
    pthread_mutex_t lock; /* protects the table and the sockets' numbers in it */
    gw_passage *slots[SLOTS];
    gw_passage *ended; /* used by the thread: pending events may still name them */
};

/* ---- towards the library ------------------------------------------------------------------- */

/* A whole head has arrived: a halt is carried out before its body and before earlier requests. */
static void carry_out_halt(gw_passage *p, const char *data, size_t size)
{
    static const char begin[] = "POST " RELAY_HALT " ";
    char copy[HEAD_BYTES + 1];
    request_head head;
    if (size < sizeof begin || memcmp(data, begin, sizeof begin - 1) != 0)
        return;
    memcpy(copy, data, size);
    copy[size] = 0;
    relay_halt halt = head_parse(copy, size, &head) == HEAD_WHOLE
                          ? p->relay->def.halt(p->relay->def.context, p->client, &head)
                          : RELAY_HALT_REFUSED;
    if (halt == RELAY_HALT_REFUSED)
        return;
    atomic_store(&p->repeated, halt == RELAY_HALT_REPEATED);
    atomic_store(&p->halted, p->framing.requests);
}

/* Marks the bytes that may pass and removes those that are left out or refused. */
static void check_requests(gw_passage *p)
{
    for (;;) {
        bool head = p->framing.phase == FRAMING_HEAD;
        framing_step step = framing_read(&p->framing, p->in + p->pass, p->in_size - p->pass);
        if (head && step.pass > 0)
            carry_out_halt(p, p->in + p->pass, step.pass);
        p->pass += step.pass;
        p->in_size -= step.skip;
        memmove(p->in + p->pass, p->in + p->pass + step.skip, p->in_size - p->pass);
        if (step.pass + step.skip == 0)
            break;
    }
    if (p->framing.phase == FRAMING_REFUSED)
        p->in_size = p->pass;
}

/* True where nothing more will be sent to libmicrohttpd. On an end of input it drops a request that
 * it has not begun to answer, so the end is passed on only once every whole request is being
 * answered. */
static bool is_last(const gw_passage *p)
{
    const request_framing *f = &p->framing;
    bool refused = f->phase == FRAMING_REFUSED;
    bool within = refused ? f->refused == f->requests : f->phase != FRAMING_HEAD;
    return p->pass == 0 && (p->heard || refused) &&
           (p->deaf || atomic_load(&p->answered) + within >= f->requests);
}

/* Sends the bytes that may pass, and the end of input where nothing more follows. */
static void send_in(gw_passage *p)
{
    while (p->pass > 0 && !p->deaf) {
        ssize_t sent = send(p->outer, p->in, p->pass, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0 && errno == EAGAIN)
            return;
        p->deaf = sent < 0;
        p->pass -= sent > 0 ? (size_t)sent : 0;
        p->in_size -= sent > 0 ? (size_t)sent : 0;
        memmove(p->in, p->in + (sent > 0 ? sent : 0), p->in_size);
    }
    if (p->deaf)
        p->in_size = p->pass = 0;
    if (!p->shut && is_last(p)) {
        if (p->outer >= 0)
            shutdown(p->outer, SHUT_WR);
        p->shut = true;
    }
}

/* Reads from the client. False: the connection is gone. */
static bool read_client(gw_passage *p)
{
    char dropped[HEAD_BYTES];
    for (int i = 0; i < ROUNDS && !p->heard; i++) {
        bool drops = p->deaf || p->over || p->framing.phase == FRAMING_REFUSED;
        char *to = drops ? dropped : p->in + p->in_size;
        size_t room = drops ? sizeof dropped : HEAD_BYTES - p->in_size;
        ssize_t got = room > 0 ? recv(p->client, to, room, MSG_DONTWAIT) : 0;
        if (room == 0 || (got < 0 && errno == EAGAIN))
            break;
        if (got < 0 && errno != EINTR)
            return false;
        p->heard = got == 0;
        if (got <= 0 || drops)
            continue;
        p->in_size += (size_t)got;
        check_requests(p);
        send_in(p);
    }
    return true;
}

/* ---- towards the client -------------------------------------------------------------------- */

static void watch_socket(gw_relay *relay, gw_passage *p, bool outer, uint32_t events)
{
    uint32_t *now = outer ? &p->outer_events : &p->client_events;
    int fd = outer ? p->outer : p->client;
    if (fd < 0 || *now == events)
        return;
    int how = events == NOT_WATCHED ? EPOLL_CTL_DEL
              : *now == NOT_WATCHED ? EPOLL_CTL_ADD
                                    : EPOLL_CTL_MOD;
    *now = events; /* stored before the thread can handle the socket */
    event_loop_watch(&relay->loop, how, fd, (uint32_t)(2 * p->slot + outer), events);
}

static void leave_library(gw_relay *relay, gw_passage *p)
{
    watch_socket(relay, p, true, NOT_WATCHED);
    close(p->outer);
    p->outer = -1;
    p->shut = p->deaf = true;
    p->in_size = p->pass = 0;
    pthread_mutex_lock(&relay->lock);
    p->inner = -1;
    pthread_mutex_unlock(&relay->lock);
    if (!p->until_ms)
        p->until_ms = clock_ms() + LINGER_MS;
}

/* libmicrohttpd has closed its end: writes the refusal of the request that it has not answered, or
 * that it did not answer it. */
static void write_last(gw_passage *p)
{
    const request_framing *f = &p->framing;
    uint64_t answered = atomic_load(&p->answered);
    bool within = f->phase != FRAMING_HEAD;
    p->last = true;
    if (f->refused && answered + 1 == f->refused)
        p->out_size = reject_text(f->status, NULL, "", f->detail, p->out);
    else if (!f->refused && !p->heard && answered + 1 == f->requests)
        p->out_size = within ? reject_text(408, NULL, "", "the body did not come in time", p->out)
                             : reject_text(503, NULL, "Retry-After: 1\r\n", "too busy now", p->out);
}

/* Writes to the client. False: the connection is gone. */
static bool write_client(gw_relay *relay, gw_passage *p)
{
    while (!p->over) {
        ssize_t sent = p->out_sent < p->out_size
                           ? send(p->client, p->out + p->out_sent, p->out_size - p->out_sent,
                                  MSG_DONTWAIT | MSG_NOSIGNAL)
                           : 0;
        if (sent < 0 && errno == EINTR)
            continue;
        if (sent < 0)
            return errno == EAGAIN;
        p->out_sent += (size_t)sent;
        if (p->out_sent < p->out_size)
            continue;
        p->out_sent = p->out_size = 0;
        if (p->outer < 0 && !p->last)
            write_last(p);
        else if (p->outer < 0) {
            /* closing with unread bytes would cause a reset, which discards the answer */
            shutdown(p->client, SHUT_WR);
            p->over = true;
        } else {
            ssize_t got = recv(p->outer, p->out, OUT_BYTES, MSG_DONTWAIT);
            if (got < 0 && errno == EAGAIN)
                return true;
            if (got > 0)
                p->out_size = (size_t)got;
            else if (got == 0 || errno != EINTR)
                leave_library(relay, p);
        }
    }
    return true;
}

/* ---- passages ------------------------------------------------------------------------------ */

static void end_passage(gw_relay *relay, gw_passage *p)
{
    if (p->outer >= 0)
        leave_library(relay, p);
    event_loop_watch(&relay->loop, EPOLL_CTL_DEL, p->client, 0, 0);
    close(p->client);
    p->ended = true;
    p->next_ended = relay->ended;
    relay->ended = p;
}

/* Watches the sockets on which something can be done. */
static void watch_both(gw_relay *relay, gw_passage *p)
{
    bool drops = p->deaf || p->over || p->framing.phase == FRAMING_REFUSED;
    bool reads = !p->heard && (drops || p->in_size < HEAD_BYTES);
    bool writes = p->out_sent < p->out_size;
    watch_socket(relay, p, false, (reads ? EPOLLIN : 0u) | (writes ? EPOLLOUT : 0u));
    if (p->outer_events != NOT_WATCHED)
        watch_socket(relay, p, true, (writes ? 0u : EPOLLIN) | (p->pass > 0 ? EPOLLOUT : 0u));
}

static gw_passage *passage_at(gw_relay *relay, int slot)
{
    pthread_mutex_lock(&relay->lock);
    gw_passage *p = relay->slots[slot];
    pthread_mutex_unlock(&relay->lock);
    return p;
}

static void attend_passage(void *context, uint32_t id, uint32_t events)
{
    gw_relay *relay = context;
    gw_passage *p = passage_at(relay, (int)(id / 2));
    bool outer = id % 2 == SIDE_OUTER;
    if (p->ended)
        return;
    if (!outer && events & (EPOLLHUP | EPOLLERR)) {
        end_passage(relay, p);
        return;
    }
    /* while the client reads slowly, a closed end would be reported again and again */
    if (outer && events & EPOLLHUP && p->out_sent < p->out_size) {
        watch_socket(relay, p, true, NOT_WATCHED);
        p->until_ms = clock_ms() + LINGER_MS;
    }
    bool there =
        (outer || read_client(p)) && ((!outer && !(events & EPOLLOUT)) || write_client(relay, p));
    if (!there || (p->over && p->heard)) {
        end_passage(relay, p);
        return;
    }
    send_in(p); /* after an answer the end of input may be due */
    watch_both(relay, p);
}

static bool free_ended(void *context)
{
    gw_relay *relay = context;
    while (relay->ended) {
        gw_passage *p = relay->ended;
        relay->ended = p->next_ended;
        pthread_mutex_lock(&relay->lock);
        relay->slots[p->slot] = NULL;
        pthread_mutex_unlock(&relay->lock);
        free(p);
    }
    return false;
}

static void expire_passages(void *context)
{
    gw_relay *relay = context;
    long now = clock_ms();
    for (int i = 0; i < SLOTS; i++) {
        gw_passage *p = passage_at(relay, i);
        if (p && p->until_ms && now > p->until_ms && !p->ended)
            end_passage(relay, p);
    }
}

/* ---- coming in ----------------------------------------------------------------------------- */

/* The index of the connection with that socket, or, for -1, of a free one. Under the lock. */
static int find_passage(const gw_relay *relay, int inner)
{
    for (int i = 0; i < SLOTS; i++)
        if (inner < 0 ? !relay->slots[i] : relay->slots[i] && relay->slots[i]->inner == inner)
            return i;
    return -1;
}

gw_passage *relay_pair(gw_relay *relay, int client, int *inner)
{
    assert(relay && client >= 0 && inner);
    const int room = PAIR_BYTES;
    int ends[2];
    gw_passage *p = malloc(sizeof *p);
    if (!p || socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) != 0) {
        free(p);
        return NULL;
    }
    *inner = ends[1];
    for (int i = 0; i < 2; i++)
        setsockopt(ends[i], SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
    memset(p, 0, offsetof(gw_passage, in));
    p->relay = relay;
    p->client = client;
    p->outer = ends[0];
    p->client_events = p->outer_events = NOT_WATCHED;
    pthread_mutex_lock(&relay->lock);
    int before =
        find_passage(relay, ends[1]); /* closed by libmicrohttpd, not yet noticed by this thread */
    if (before >= 0)
        relay->slots[before]->inner = -1;
    p->inner = ends[1];
    p->slot = find_passage(relay, -1);
    if (p->slot >= 0)
        relay->slots[p->slot] = p;
    pthread_mutex_unlock(&relay->lock);
    if (p->slot >= 0)
        return p;
    close(ends[0]);
    close(ends[1]);
    free(p);
    return NULL;
}

void relay_open(gw_relay *relay, gw_passage *p)
{
    assert(relay && p);
    watch_socket(relay, p, true, EPOLLIN);
    watch_socket(relay, p, false, EPOLLIN); /* from here on the relay's thread owns it */
}

void relay_cancel(gw_relay *relay, gw_passage *p)
{
    assert(relay && p);
    pthread_mutex_lock(&relay->lock);
    relay->slots[p->slot] = NULL;
    pthread_mutex_unlock(&relay->lock);
    close(p->outer);
    free(p);
}

void relay_answers(gw_relay *relay, int inner)
{
    assert(relay && inner >= 0);
    pthread_mutex_lock(&relay->lock);
    int slot = find_passage(relay, inner);
    if (slot >= 0)
        relay->slots[slot]->answered++;
    pthread_mutex_unlock(&relay->lock);
}

relay_halt relay_halted(gw_relay *relay, int inner)
{
    assert(relay && inner >= 0);
    relay_halt halt = RELAY_HALT_REFUSED;
    pthread_mutex_lock(&relay->lock);
    int slot = find_passage(relay, inner);
    const gw_passage *p = slot >= 0 ? relay->slots[slot] : NULL;
    if (p && atomic_load(&p->halted) > p->answered)
        halt = atomic_load(&p->repeated) ? RELAY_HALT_REPEATED : RELAY_HALT_MADE;
    pthread_mutex_unlock(&relay->lock);
    return halt;
}

/* ---- life ---------------------------------------------------------------------------------- */

gw_relay *relay_create(const relay_def *def, gw_error *error)
{
    assert(def && def->halt);
    gw_relay *relay = calloc(1, sizeof *relay);
    if (!relay) {
        gw_fail(error, GW_FAILED, "", "memory is short");
        return NULL;
    }
    relay->def = *def;
    pthread_mutex_init(&relay->lock, NULL);
    const event_loop_def loop = {.thread = "gw-relay",
                                 .what = "the HTTP server",
                                 .niceness = NICENESS_SOCKETS,
                                 .period_ms = EXPIRE_MS,
                                 .context = relay,
                                 .on_event = attend_passage,
                                 .on_timer = expire_passages,
                                 .on_round = free_ended};
    if (event_loop_open(&relay->loop, &loop, error) && event_loop_start(&relay->loop, error))
        return relay;
    relay_destroy(relay);
    return NULL;
}

void relay_destroy(gw_relay *relay)
{
    if (!relay)
        return;
    event_loop_stop(&relay->loop);
    for (int i = 0; i < SLOTS; i++) {
        gw_passage *p = relay->slots[i];
        if (p && !p->ended) {
            (void)write_client(relay, p);
            end_passage(relay, p);
        }
    }
    free_ended(relay);
    event_loop_finish(&relay->loop);
    pthread_mutex_destroy(&relay->lock);
    free(relay);
}
