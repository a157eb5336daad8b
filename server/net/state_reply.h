/*
 * The state by REST for clients that poll it: connections that ask for nothing else stay here, on a
 * thread of their own, and are answered with the text that is written once a tick. The first
 * request for anything else hands the connection over to HTTP, unread.
 */
#ifndef GW_SERVER_NET_STATE_REPLY_H
#define GW_SERVER_NET_STATE_REPLY_H

#include <stdbool.h>

#include "server/app/app.h"
#include "server/net/guard.h"
#include "server/net/http.h"

#define STATE_REPLY_PATH "/api/v1/simulation"

typedef struct gw_state_replies gw_state_replies;

typedef struct state_reply_def {
    gw_app *app;
    const gw_guard *guard;
    gw_http *http; /* for all other requests */
} state_reply_def;

/* NULL with an error. */
gw_state_replies *state_replies_create(const state_reply_def *def, gw_error *error);

/* Ends the thread and closes its connections. To be called before the destruction of the http that
 * it hands over to. NULL has no effect. */
void state_replies_destroy(gw_state_replies *replies);

/* Takes over a connected socket of which nothing was read; false (the socket stays the caller's)
 * where there is no place. Any thread. */
bool state_replies_adopt(gw_state_replies *replies, int fd);

#endif
