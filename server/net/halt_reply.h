/*
 * Answers to halts, on a thread of their own: the listener sets the latch when the request arrives,
 * and this thread answers once a tick has heeded the latch. It shares nothing with other requests
 * (no worker, lock, queue or count of connections) and does not allocate while it runs.
 */
#ifndef GW_SERVER_NET_HALT_REPLY_H
#define GW_SERVER_NET_HALT_REPLY_H

#include "server/app/app.h"
#include "server/net/request_head.h"

typedef struct gw_halt_replies gw_halt_replies;

gw_halt_replies *halt_replies_create(gw_app *app, gw_error *error);
void halt_replies_destroy(gw_halt_replies *replies); /* NULL is fine */

/* Takes over a socket whose request (`id`) was read to its end and has halted. `body`: the request
 * had a body, which is ignored; `repeated`: a halt with the same key was carried out before. To be
 * called on one thread only. */
void halt_replies_adopt(gw_halt_replies *replies, int fd, const char id[HEAD_REQUEST_ID + 1],
                        bool body, bool repeated);

#endif
