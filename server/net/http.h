/*
 * HTTP: connections that the listener hands over, the page's files, REST, health and metrics.
 * libmicrohttpd reads and writes the protocol on a few threads of its own, behind a relay that
 * passes only well-formed requests. Connections are counted here and have absolute time-outs.
 */
#ifndef GW_SERVER_NET_HTTP_H
#define GW_SERVER_NET_HTTP_H

#include <sys/socket.h>

#include "server/rest/api.h"
#include "server/net/guard.h"

typedef struct gw_http gw_http;

typedef struct http_def {
    gw_api api;
    const gw_guard *guard;
    /* the number of open streams, for the metrics */
    int (*streams)(void *context);
    void *context;
} http_def;

gw_http *http_create(const http_def *def, gw_error *error);
void http_destroy(gw_http *http); /* NULL is fine */

/* Takes a connected socket over; false (the socket stays the caller's) beyond GW_MAX_HTTP. */
bool http_adopt(gw_http *http, int fd, const struct sockaddr_storage *peer);

/* Closes the connection that has been idle longest, if for CONNECTIONS_IDLE_MS at least. */
void http_make_room(gw_http *http);

/* Closes the connections that are past their deadline. To be called about twice a second. */
void http_expire(gw_http *http);

#endif
