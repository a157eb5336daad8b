/*
 * Who may talk to the appliance: the Host that a request names, the Origin of the page that sends
 * it, the token. The same for HTTP and for the stream. Immutable once set up; any thread.
 */
#ifndef GW_SERVER_NET_GUARD_H
#define GW_SERVER_NET_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "server/net/request_head.h"

#define GUARD_TOKEN_MIN 16 /* characters: shorter ones can be guessed */
#define GUARD_TOKEN_MAX 512
#define GUARD_TOKENS    16

/* Rights of a token. A halt is for all of them. */
typedef enum guard_role {
    GUARD_WATCH = 1,   /* reading, the stream; the others may, too */
    GUARD_EDIT = 2,    /* the document, saved scenes, meshes */
    GUARD_OPERATE = 4, /* the simulation, tasks, the hand on the stream */
    GUARD_ALL = 7
} guard_role;

typedef struct guard_token {
    unsigned roles;
    char text[GUARD_TOKEN_MAX + 1];
} guard_token;

/* Wrong tokens, by address; has a lock of its own. */
typedef struct guard_guesses guard_guesses;

typedef struct gw_guard {
    bool loopback;     /* listening on loopback only */
    char host[256];    /* the listening address as written in a Host header, without port */
    char machine[256]; /* this machine's name */
    int token_count;   /* 0: none asked for */
    guard_token tokens[GUARD_TOKENS];
    guard_guesses *guesses; /* owned */
} gw_guard;

/* `host`: the listening address, IPv6 in brackets. False where memory is short. */
bool guard_init(gw_guard *guard, const char *host, bool loopback);

void guard_finish(gw_guard *guard);

/* Reads the tokens, a line each: TOKEN, which has all roles, or ROLE[,ROLE..]: TOKEN, roles being
 * watch, edit and operate. False with a sentence in `why`. */
bool guard_read_tokens(gw_guard *guard, const char *path, char *why, size_t why_size);

/* Fields of a request's head of which two readers of it must not take different ones. */
typedef struct guard_head {
    int hosts, origins, lengths;
    bool odd; /* a name that is no token; a length that is no number; an unknown encoding */
    const char *host, *origin;
} guard_head;

/* Takes one field in; `value` may be NULL. */
void guard_head_add(guard_head *head, const char *name, const char *value);
guard_head guard_head_of(const request_head *head);

/* Refusal of a head that was read, whoever sent it: a status and a sentence; 0: none. */
int guard_head_refusal(head_status read, const request_head *head, const char **detail);

/* Where a request ends, and who sent it, must be stated once: 400; 421 and 403 as above; 0 where
 * nothing is wrong. `detail` is the sentence. */
int guard_head_ambiguous(const guard_head *head, const char **detail);
int guard_head_sender(const gw_guard *guard, const guard_head *head, const char **detail);

/* Whether a halt with this head is carried out: it is told apart without doubt, comes from where it
 * may, and with a token of any role where one is asked for. */
bool guard_may_halt(const gw_guard *guard, const request_head *head);

/* The roles of a token (NULL: none was given), all where none is asked for; 0: it is wrong. Takes
 * the same time for every wrong token. */
unsigned guard_roles(const gw_guard *guard, const char *token);

/* The token of an Authorization header (NULL: missing); NULL where it has none. */
const char *guard_bearer(const char *header);

typedef enum guard_answer {
    GUARD_WELCOME,
    GUARD_NO_TOKEN,
    GUARD_WRONG,  /* and answered so: an event is due */
    GUARD_LIMITED /* no token from there is looked at for a while */
} guard_answer;

/* The address of who is at the other end of a socket; no family where that is not known. */
struct sockaddr_storage peer_address(int fd);

/* The same as guard_roles() for who is at an address, who has GUARD_GUESSES wrong tokens a minute.
 */
#define GUARD_GUESSES 20
guard_answer guard_judge(const gw_guard *guard, const char *token,
                         const struct sockaddr_storage *peer, unsigned *roles);

/* "WAY ADDRESS:PORT" of a peer, for people; "WAY" where its address is not known. `out`: PEER_NAME
 * bytes. */
#define PEER_NAME 64
void peer_name(const struct sockaddr_storage *peer, const char *way, char out[PEER_NAME]);

#endif
