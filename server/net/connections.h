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

typedef struct gw_connections {
    pthread_mutex_t lock;
    int count;
    struct {
        int fd;           /* -1: free */
        long deadline_ms; /* CLOCK_MONOTONIC */
    } place[GW_MAX_HTTP];
} gw_connections;

void connections_init(gw_connections *connections);
void connections_finish(gw_connections *connections);

/* False beyond GW_MAX_HTTP. */
bool connections_add(gw_connections *connections, int fd, long from_now_ms);

/* Before the socket is closed: afterwards another may have its number. */
void connections_remove(gw_connections *connections, int fd);

void connections_deadline(gw_connections *connections, int fd, long from_now_ms);

/* Shuts down those that are over their time; their owner then closes them. */
void connections_expire(gw_connections *connections);

int connections_count(gw_connections *connections);

#endif
