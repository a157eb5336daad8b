/*
 * The stream: WebSocket clients on one thread. They receive the document and every event, sample
 * the newest poses, and send drags and pushes. A client that reads slowly loses poses and samples,
 * never events.
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

/* Takes over a connected socket whose handshake was read and accepted: answers it with `accept`,
 * and with the sub-protocol where the client `named` it. False (the socket stays the caller's)
 * beyond GW_MAX_STREAMS. Any thread. */
bool stream_adopt(gw_stream *stream, int fd, const char accept[WS_ACCEPT], bool named);

/* Tells the stream that there is something new for clients; any thread. Does nothing where there
 * are no clients. */
void stream_wake(void *stream);

int stream_count(gw_stream *stream);

#endif
