/*
 * A filtering relay between the sockets of clients and libmicrohttpd. libmicrohttpd answers what it
 * cannot read with a page of its own, and has no hook before that; so all bytes pass through here,
 * and only whole, well-formed requests reach it (server/net/framing.h). A refused request is
 * answered with a problem after the requests before it, and ends the connection; so is a request on
 * which libmicrohttpd closes without an answer. libmicrohttpd has one end of a pair of sockets for
 * each connection; one thread passes the bytes on.
 */
#ifndef GW_SERVER_NET_RELAY_H
#define GW_SERVER_NET_RELAY_H

#include "rt/guideway.h"
#include "server/net/request_head.h"

typedef struct gw_relay gw_relay;
typedef struct gw_passage gw_passage; /* of one connection */

/* The result of a request to halt. */
typedef enum relay_halt {
    RELAY_HALT_REFUSED, /* or it is not a request to halt */
    RELAY_HALT_MADE,
    RELAY_HALT_REPEATED /* its key was carried out before: not carried out again */
} relay_halt;

/* `halt` is called when the head of a POST to RELAY_HALT has arrived, on the relay's thread, before
 * any byte of it is passed on. */
#define RELAY_HALT "/api/v1/simulation/halt"
typedef struct relay_def {
    relay_halt (*halt)(void *context, int client, const request_head *head);
    void *context;
} relay_def;

gw_relay *relay_create(const relay_def *def, gw_error *error);

/* Passes on the bytes that libmicrohttpd has written, and closes everything. To be called after
 * libmicrohttpd has ended. */
void relay_destroy(gw_relay *relay); /* NULL is fine */

/* Creates a pair of sockets for a client; `inner` is libmicrohttpd's end. NULL where files, places
 * or memory are short. relay_open() then starts to read the client's socket and takes it over;
 * relay_cancel() closes the relay's end of the pair only. Any thread. */
gw_passage *relay_pair(gw_relay *relay, int client, int *inner);
void relay_open(gw_relay *relay, gw_passage *passage);
void relay_cancel(gw_relay *relay, gw_passage *passage);

/* Tells the relay that libmicrohttpd is about to answer a request of that connection, so that the
 * relay writes no second answer. Any thread. */
void relay_answers(gw_relay *relay, int inner);

/* The result of the halt among the connection's unanswered requests, as it arrived. Any thread. */
relay_halt relay_halted(gw_relay *relay, int inner);

#endif
