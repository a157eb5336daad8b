/*
 * An event loop on a thread of its own: readiness of sockets by epoll, a periodic timer, and an end
 * that can be asked for. The listener, the relay and the replies of state each run one.
 *
 * Zero is a loop that was never opened. watch() on any thread, all else on the one that made it.
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
    int niceness;       /* asked for, not insisted on */
    long period_ms;     /* of on_timer */
    void *context;
    void (*on_event)(void *context, uint32_t id, uint32_t events);
    void (*on_timer)(void *context);
    void (*on_round)(void *context); /* after the events of one wait; NULL: nothing */
} event_loop_def;

typedef struct event_loop {
    event_loop_def def;
    int epoll, stop; /* where `open` */
    bool open, started;
    pthread_t thread;
} event_loop;

/* False with an error where the system refuses; to be finished either way. Sockets may be watched
 * from `event_loop_open` on, before the thread starts. */
bool event_loop_open(event_loop *loop, const event_loop_def *def, gw_error *error);
bool event_loop_start(event_loop *loop, gw_error *error);

/* Ends the thread; sockets can still be watched or left. Then gives back what open() took: does
 * both where they are left to do. The sockets stay the caller's. */
void event_loop_stop(event_loop *loop);
void event_loop_finish(event_loop *loop);

/* `how` is an EPOLL_CTL_*; `id` comes with the socket's events, and is not UINT32_MAX. False where
 * the system refuses. */
bool event_loop_watch(event_loop *loop, int how, int fd, uint32_t id, uint32_t events);

#endif
