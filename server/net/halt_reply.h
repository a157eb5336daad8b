/*
 * Answers to halts on a thread of their own: the listener sets the latch where the request comes,
 * and this says so once a tick has heeded it. It shares nothing with other requests: no worker, no
 * lock, no queue, no count of connections, and takes no memory while it runs.
 */
#ifndef GW_SERVER_NET_HALT_REPLY_H
#define GW_SERVER_NET_HALT_REPLY_H

#include "server/app/app.h"
#include "server/net/request_head.h"

typedef struct gw_halt_replies gw_halt_replies;

gw_halt_replies *halt_replies_create(gw_app *app, gw_error *error);
void halt_replies_destroy(gw_halt_replies *replies); /* NULL is fine */

/* Takes over a socket whose request, of that id, has halted and was read to its end; `body`: it
 * had one that is not heeded; `repeated`: its key was carried out before. One thread. */
void halt_replies_adopt(gw_halt_replies *replies, int fd, const char id[HEAD_REQUEST_ID + 1],
                        bool body, bool repeated);

#endif
