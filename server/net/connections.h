/*
 * The table of open HTTP connections, each with an absolute deadline for its present phase
 * (headers, body, answer). libmicrohttpd's own time-out counts inactivity only: a client that sends
 * one header a second would keep its connection for ever. Any thread.
 */
#ifndef GW_SERVER_NET_CONNECTIONS_H
#define GW_SERVER_NET_CONNECTIONS_H

#include <pthread.h>
#include <stdbool.h>

#include "rt/guideway.h"

#define CONNECTIONS_IDLE_MS 1000 /* a connection idle for so long may be closed for a new one */

typedef struct gw_connections {
    pthread_mutex_t lock;
    int count; /* without those that were shut down */
    struct {
        int fd;              /* -1: free */
        bool at_work;        /* a request has begun, and its answer is not sent yet */
        bool gone;           /* shut down; its owner has yet to close it */
        long deadline_ms;    /* CLOCK_MONOTONIC */
        long rests_since_ms; /* where it is idle */
    } slot[2 * GW_MAX_HTTP];
} gw_connections;

void connections_init(gw_connections *connections);
void connections_finish(gw_connections *connections);

/* Adds a connection. Beyond GW_MAX_HTTP the one that has been idle longest is shut down for it;
 * false where none is idle. */
bool connections_add(gw_connections *connections, int fd, long from_now_ms);

/* To be called before the socket is closed, since afterwards another may have its number. */
void connections_remove(gw_connections *connections, int fd);

/* The connection works on a request, or is idle between two, with a deadline `from_now_ms` (ms)
 * from now. */
void connections_work(gw_connections *connections, int fd, long from_now_ms);
void connections_rest(gw_connections *connections, int fd, long from_now_ms);

/* Shuts down the connection that has been idle longest, if for CONNECTIONS_IDLE_MS at least. */
void connections_evict_idle(gw_connections *connections);

/* Shuts down the connections that are past their deadline; their owner then closes them. */
void connections_expire(gw_connections *connections);

int connections_count(gw_connections *connections);

#endif
