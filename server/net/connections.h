/*
 * The HTTP connections that are open, counted, each with the time by which it has to be through
 * with what it is at. libmicrohttpd's own time-out counts inactivity only: a header a second would
 * hold a place for ever. Any thread.
 */
#ifndef GW_SERVER_NET_CONNECTIONS_H
#define GW_SERVER_NET_CONNECTIONS_H

#include <pthread.h>
#include <stdbool.h>

#include "rt/guideway.h"

#define CONNECTIONS_IDLE_MS 1000 /* a connection that rests for so long gives way to a new one */

typedef struct gw_connections {
    pthread_mutex_t lock;
    int count; /* without those that were shut down */
    struct {
        int fd;              /* -1: free */
        bool at_work;        /* a request has begun, and its answer is not out */
        bool gone;           /* shut down; its owner has yet to close it */
        long deadline_ms;    /* CLOCK_MONOTONIC */
        long rests_since_ms; /* where it is not at work */
    } place[2 * GW_MAX_HTTP];
} gw_connections;

void connections_init(gw_connections *connections);
void connections_finish(gw_connections *connections);

/* Beyond GW_MAX_HTTP the one that has rested longest makes room; false where none rests. */
bool connections_add(gw_connections *connections, int fd, long from_now_ms);

/* Before the socket is closed: afterwards another may have its number. */
void connections_remove(gw_connections *connections, int fd);

/* It is at work, or rests between two requests, and has so long for it. */
void connections_work(gw_connections *connections, int fd, long from_now_ms);
void connections_rest(gw_connections *connections, int fd, long from_now_ms);

/* Shuts down the one that has rested longest, and long enough. */
void connections_make_room(gw_connections *connections);

/* Shuts down those that are over their time; their owner then closes them. */
void connections_expire(gw_connections *connections);

int connections_count(gw_connections *connections);

#endif
