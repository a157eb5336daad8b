/*
 * The one listening socket. The first bytes of every connection are peeked: a halt sets the latch
 * at once, a handshake that passes the guard goes to the stream, everything else to HTTP. Runs on a
 * thread of its own.
 */
#ifndef GW_SERVER_NET_LISTEN_H
#define GW_SERVER_NET_LISTEN_H

#include "server/net/http.h"
#include "server/net/stream.h"

typedef struct gw_listener gw_listener;

/* Binds ADDR:PORT ("127.0.0.1:8080", "[::1]:0"); NULL with GW_BAD_INPUT where that is not an
 * address, with GW_FAILED where it cannot be bound. */
gw_listener *listener_bind(const char *address, gw_error *error);

bool listener_is_loopback(const gw_listener *listener);
int listener_port(const gw_listener *listener);
/* The address as it is written in a URL, without the port. */
const char *listener_host(const gw_listener *listener);

/* The components that take over connections. */
typedef struct listener_def {
    gw_app *app;
    const gw_guard *guard;
    gw_http *http;
    gw_stream *stream;
} listener_def;

/* Starts to accept. */
bool listener_start(gw_listener *listener, const listener_def *def, gw_error *error);

/* Stops accepting and closes; connections that were handed over stay open. NULL has no effect. */
void listener_destroy(gw_listener *listener);

#endif
