/*
 * A filtering relay between the sockets of clients and libmicrohttpd, which answers what it cannot
 * read with a page of its own and has no hook before it does: the bytes of every connection pass
 * through here, and only whole, well-formed requests reach the library (server/net/framing.h). What
 * is refused is answered with a problem once the requests before it are, and ends the connection;
 * so is a request that the library hangs up on. The library has one end of a pair of sockets for
 * each connection; a thread passes the bytes on.
 */
#ifndef GW_SERVER_NET_RELAY_H
#define GW_SERVER_NET_RELAY_H

#include "rt/guideway.h"
#include "server/net/request_head.h"

typedef struct gw_relay gw_relay;
typedef struct gw_passage gw_passage; /* of one connection */

/* What became of a request of a halt when it came. */
typedef enum relay_halt {
    RELAY_HALT_REFUSED, /* or it is none */
    RELAY_HALT_MADE,
    RELAY_HALT_REPEATED /* of a key that was carried out before: not carried out again */
} relay_halt;

/* `halt` is called when the head of a POST to RELAY_HALT has come, on the relay's thread, before
 * any byte of it is passed on. */
#define RELAY_HALT "/api/v1/simulation/halt"
typedef struct relay_def {
    relay_halt (*halt)(void *context, int client, const request_head *head);
    void *context;
} relay_def;

gw_relay *relay_create(const relay_def *def, gw_error *error);

/* Passes on what the library has written so far, and closes all. After the library's end. */
void relay_destroy(gw_relay *relay); /* NULL is fine */

/* A pair of sockets for a client; `inner` is the library's end. NULL where files, places or memory
 * are short. The client's socket stays the caller's until relay_open(), from which on it is read,
 * or where it is cancelled: that closes this end of the pair alone. Any thread. */
gw_passage *relay_pair(gw_relay *relay, int client, int *inner);
void relay_open(gw_relay *relay, gw_passage *passage);
void relay_cancel(gw_relay *relay, gw_passage *passage);

/* The library is about to answer a request of the connection that has that end: whatever else is
 * wrong with it, there is no second answer. Any thread. */
void relay_answers(gw_relay *relay, int inner);

/* Whether the request of that connection that is to be answered next, or one behind it, halted when
 * it arrived. Any thread. */
relay_halt relay_halted(gw_relay *relay, int inner);

#endif
