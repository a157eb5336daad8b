/*
 * HTTP: connections that the listener hands over, the page's files, REST, health and metrics.
 * libmicrohttpd does the protocol on a few threads of its own, behind a relay that lets only
 * well-formed requests through; this counts its connections and
 * holds them to absolute time-outs.
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
    /* Streams open now, for the metrics. */
    int (*streams)(void *context);
    void *context;
} http_def;

gw_http *http_create(const http_def *def, gw_error *error);
void http_destroy(gw_http *http); /* NULL is fine */

/* Takes a connected socket over; false (the socket stays the caller's) beyond GW_MAX_HTTP. */
bool http_adopt(gw_http *http, int fd, const struct sockaddr_storage *peer);

/* Cuts the connection that has rested longest, where one has rested long enough. */
void http_make_room(gw_http *http);

/* Cuts connections that are over their time. Call twice a second or so. */
void http_expire(gw_http *http);

#endif
