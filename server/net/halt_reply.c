/*
 * Sockets arrive through a pipe and wait until the halt is in effect, normally one tick. The thread
 * has real-time priority below the loop's, where the system grants it.
 */
#include "server/net/halt_reply.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "server/app/clock.h"
#include "server/net/reject.h"
#include "server/schema/wire.h"

#define WAITING  64 /* sockets; beyond, all are answered at once */
#define PRIORITY 10 /* of SCHED_FIFO: far below the loop, above all normal threads */
#define STOP     -1 /* sent through the pipe in place of a socket */

/* A message of the pipe. */
typedef struct adopted {
    int fd;
    bool body;     /* the request has a body, whose members are ignored */
    bool repeated; /* the halt was carried out before: answered with Idempotency-Replayed */
    char id[HEAD_REQUEST_ID + 1];
} adopted;
_Static_assert(sizeof(adopted) <= PIPE_BUF, "it goes through the pipe whole");

typedef struct waiting {
    adopted socket;
    int64_t until_ms;
} waiting;

struct gw_halt_replies {
    gw_app *app;
    int in, out; /* of the pipe */
    pthread_t thread;
    bool started;
    int count;
    waiting waiting[WAITING]; /* oldest first */
};

static void answer_halt(gw_halt_replies *replies, const adopted *socket)
{
    char body[WIRE_HALTED_BYTES], text[WIRE_HALTED_BYTES + 512];
    gw_halt_state state = app_halt_state(replies->app);
    wire_halted_text(&state, socket->body, false, body);
    int size = snprintf(text, sizeof text,
                        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
                        "Content-Length: %zu\r\nX-Request-Id: %s\r\n%s"
                        "Cache-Control: no-store\r\n" RESPONSE_HARDENING(
                            RESPONSE_LINE) "Connection: close\r\n\r\n%s",
                        strlen(body), socket->id,
                        socket->repeated ? "Idempotency-Replayed: true\r\n" : "", body);
    reject_send(socket->fd, text, (size_t)size);
}

/* Answers the sockets whose halt is in effect or whose wait is over; all of them where `all`. */
static void answer_due(gw_halt_replies *replies, bool all)
{
    int64_t now = clock_ms();
    gw_halt_state state = app_halt_state(replies->app);
    int kept = 0;
    for (int i = 0; i < replies->count; i++) {
        waiting *each = &replies->waiting[i];
        if (all || state.in_effect || !state.halted || now >= each->until_ms)
            answer_halt(replies, &each->socket);
        else
            replies->waiting[kept++] = *each;
    }
    replies->count = kept;
}

/* Reads sockets from the pipe. False: the thread shall end. */
static bool take_socket(gw_halt_replies *replies)
{
    adopted socket;
    while (read(replies->in, &socket, sizeof socket) == sizeof socket) {
        if (socket.fd == STOP)
            return false;
        if (replies->count == WAITING)
            answer_due(replies, true);
        replies->waiting[replies->count++] = (waiting){socket, clock_ms() + APP_HALT_WAIT_MS};
    }
    return true;
}

static void *halt_thread(void *context)
{
    gw_halt_replies *replies = context;
    struct pollfd ready = {.fd = replies->in, .events = POLLIN};
    struct sched_param priority = {.sched_priority = PRIORITY};
    (void)pthread_setschedparam(pthread_self(), SCHED_FIFO, &priority);
    do {
        answer_due(replies, false);
        poll(&ready, 1, replies->count > 0 ? 1 : -1);
    } while (take_socket(replies));
    answer_due(replies, true);
    return NULL;
}

void halt_replies_adopt(gw_halt_replies *replies, int fd, const char id[HEAD_REQUEST_ID + 1],
                        bool body, bool repeated)
{
    assert(replies && fd >= 0 && id);
    adopted socket = {.fd = fd, .body = body, .repeated = repeated};
    memcpy(socket.id, id, sizeof socket.id);
    if (write(replies->out, &socket, sizeof socket) != sizeof socket)
        answer_halt(replies, &socket); /* the pipe is full: the latch is set anyway */
}

/* ---- life ---------------------------------------------------------------------------------- */

gw_halt_replies *halt_replies_create(gw_app *app, gw_error *error)
{
    assert(app);
    int ends[2] = {-1, -1};
    gw_halt_replies *replies = calloc(1, sizeof *replies);
    if (!replies || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) {
        free(replies);
        gw_fail(error, GW_FAILED, "", "answers to halts could not be started: %s", strerror(errno));
        return NULL;
    }
    *replies = (gw_halt_replies){.app = app, .in = ends[0], .out = ends[1]};
    if (pthread_create(&replies->thread, NULL, halt_thread, replies) != 0) {
        gw_fail(error, GW_FAILED, "", "answers to halts could not be started");
        halt_replies_destroy(replies);
        return NULL;
    }
    pthread_setname_np(replies->thread, "gw-halt");
    replies->started = true;
    return replies;
}

void halt_replies_destroy(gw_halt_replies *replies)
{
    if (!replies)
        return;
    const adopted stop = {.fd = STOP};
    if (replies->started) {
        while (write(replies->out, &stop, sizeof stop) < 0 && (errno == EINTR || errno == EAGAIN))
            nanosleep(&(struct timespec){0, 1000000}, NULL);
        pthread_join(replies->thread, NULL);
    }
    close(replies->in);
    close(replies->out);
    free(replies);
}
