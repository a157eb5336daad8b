/*
 * The stream: WebSocket clients on one thread. They see the document and every event, sample the
 * newest poses, and send a person's hand. Whoever reads slowly loses poses, never events.
 */
#ifndef GW_SERVER_NET_STREAM_H
#define GW_SERVER_NET_STREAM_H

#include "server/app/app.h"
#include "server/net/guard.h"
#include "server/net/ws_frame.h"

typedef struct gw_stream gw_stream;

/* Starts the thread. `guard` outlives the stream. NULL with an error. */
gw_stream *stream_create(gw_app *app, const gw_guard *guard, gw_error *error);
void stream_destroy(gw_stream *stream); /* NULL is fine */

/* Takes a connected socket over whose handshake was read and found good, any thread: it is answered
 * with `accept`, and with the sub-protocol where one was `named`. False (the socket stays the
 * caller's) beyond GW_MAX_STREAMS. */
bool stream_adopt(gw_stream *stream, int fd, const char accept[WS_ACCEPT], bool named);

/* There is something new for clients; any thread. Without clients its timer will do. */
void stream_wake(void *stream);

int stream_count(gw_stream *stream);

#endif
