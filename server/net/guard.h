/*
 * Who may talk to the appliance: the Host that a request names, the Origin of the page that sends
 * it, the token. The same for HTTP and for the stream. Immutable once set up; any thread.
 */
#ifndef GW_SERVER_NET_GUARD_H
#define GW_SERVER_NET_GUARD_H

#include <stdbool.h>
#include <stddef.h>

#define GUARD_TOKEN_MIN 16 /* characters: shorter ones can be guessed */
#define GUARD_TOKEN_MAX 512

typedef struct gw_guard {
    bool loopback;     /* listening on loopback only */
    char host[256];    /* the listening address as written in a Host header, without port */
    char machine[256]; /* this machine's name */
    char token[GUARD_TOKEN_MAX + 1]; /* "": none asked for */
} gw_guard;

/* `host`: the listening address, IPv6 in brackets. */
void guard_init(gw_guard *guard, const char *host, bool loopback);

/* Reads the token, one line of a file; false with a sentence in `why`. */
bool guard_read_token(gw_guard *guard, const char *path, char *why, size_t why_size);

/* True where a Host header (NULL: missing) names this appliance. A page elsewhere that resolves
 * its own name to this address (DNS rebinding) does not. */
bool guard_host(const gw_guard *guard, const char *host);

/* True where a request that carries this Origin (NULL: none, it is no browser) to this Host comes
 * from the appliance's own page. */
bool guard_origin(const gw_guard *guard, const char *origin, const char *host);

/* Fields of a request's head of which two readers of it must not take different ones. */
typedef struct guard_head {
    int hosts, origins, lengths;
    bool odd; /* a name that is no token; a length that is no number; an unknown encoding */
    const char *host, *origin;
} guard_head;

/* Takes one field in; `value` may be NULL. */
void guard_head_add(guard_head *head, const char *name, const char *value);

/* Where a request ends, and who sent it, must be told once: 400; 421 and 403 as above; 0 where
 * nothing is wrong. `detail` is the sentence. */
int guard_head_ambiguous(const guard_head *head, const char **detail);
int guard_head_sender(const gw_guard *guard, const guard_head *head, const char **detail);

/* True where no token is asked for, or this is it. Takes the same time for every wrong token. */
bool guard_token(const gw_guard *guard, const char *token);

/* The same for an Authorization header (NULL: missing). */
bool guard_authorization(const gw_guard *guard, const char *header);

/* "WAY ADDRESS:PORT" of who is at the other end of a socket, for people; "WAY" where that is not
 * known. `out`: PEER_NAME bytes. */
#define PEER_NAME 64
void peer_name(int fd, const char *way, char out[PEER_NAME]);

#endif
