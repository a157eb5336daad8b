/*
 * What stands between the sockets of clients and libmicrohttpd, which answers what it cannot read
 * with a page of its own and has no hook before it does: the bytes of every connection pass through
 * here, and only whole, well-formed requests reach the library (server/net/framing.h). What is
 * refused is answered with a problem once the requests before it are, and ends the connection. The
 * library has one end of a pair of sockets for each connection; a thread passes the bytes on.
 */
#ifndef GW_SERVER_NET_GATE_H
#define GW_SERVER_NET_GATE_H

#include "rt/guideway.h"

typedef struct gw_gate gw_gate;

gw_gate *gate_create(gw_error *error);

/* Passes on what the library has written so far, and closes all. After the library's end. */
void gate_destroy(gw_gate *gate); /* NULL is fine */

/* A pair of sockets for a client: the library's end, by whose number the connection is called here;
 * -1 where files or places are short. The client's socket stays the caller's until gate_open(),
 * from which on it is read, or where it is cancelled, both ends closed. Any thread. */
int gate_pair(gw_gate *gate, int client);
void gate_open(gw_gate *gate, int inner);
void gate_cancel(gw_gate *gate, int inner);

/* The library is about to answer a request: a refusal of what is left of it would be a second
 * answer. Any thread. */
void gate_answers(gw_gate *gate, int inner);

#endif
