/*
 * An event loop on a thread of its own: readiness of sockets by epoll, a periodic timer, and a stop
 * on request. The listener, the relay, the replies of state and the stream each run one.
 *
 * An all-zero struct is a loop that was never opened. watch() may be called on any thread, the
 * others on the thread that owns the loop.
 */
#ifndef GW_SERVER_NET_EVENT_LOOP_H
#define GW_SERVER_NET_EVENT_LOOP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "rt/base/error.h"

/* The callbacks run on the loop's thread. */
typedef struct event_loop_def {
    const char *thread; /* its name, fifteen characters at most */
    const char *what;   /* for the error: "WHAT could not be started" */
    int niceness;       /* requested; a refusal is ignored */
    long period_ms;     /* of on_timer */
    void *context;
    void (*on_event)(void *context, uint32_t id, uint32_t events);
    void (*on_timer)(void *context);
    /* after the events of one wait; true: more is to be done, the next wait does not block; NULL:
     * nothing */
    bool (*on_round)(void *context);
} event_loop_def;

typedef struct event_loop {
    event_loop_def def;
    int epoll, stop; /* where `open` */
    bool open, started;
    pthread_t thread;
} event_loop;

/* Opens the loop, then starts its thread. False with an error where the system refuses;
 * event_loop_finish() is to be called either way. Sockets may be watched from event_loop_open() on,
 * before the thread starts. */
bool event_loop_open(event_loop *loop, const event_loop_def *def, gw_error *error);
bool event_loop_start(event_loop *loop, gw_error *error);

/* event_loop_stop() ends the thread; sockets can still be added or removed. event_loop_finish()
 * releases the loop's descriptors, and stops it first where that was not done. The sockets stay the
 * caller's. */
void event_loop_stop(event_loop *loop);
void event_loop_finish(event_loop *loop);

/* Adds, changes or removes a socket (`how`: EPOLL_CTL_*). `id` is reported with the socket's events
 * and must not be UINT32_MAX. False where the system refuses. */
bool event_loop_watch(event_loop *loop, int how, int fd, uint32_t id, uint32_t events);

#endif
