/*
 * Access control: the Host that a request names, the Origin of the page that sends it, the token.
 * The same for HTTP and for the stream. Immutable after initialisation; any thread.
 */
#ifndef GW_SERVER_NET_GUARD_H
#define GW_SERVER_NET_GUARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

#include "server/net/request_head.h"

#define GUARD_TOKEN_MIN 16 /* characters; shorter tokens could be guessed */
#define GUARD_TOKEN_MAX 512
#define GUARD_TOKENS    16

/* The rights of a token. Every token may halt. */
typedef enum guard_role {
    GUARD_WATCH = 1,   /* reading and the stream; included in the two others */
    GUARD_EDIT = 2,    /* the document, saved scenes, meshes */
    GUARD_OPERATE = 4, /* the simulation, tasks, drags and pushes on the stream */
    GUARD_ALL = 7
} guard_role;

typedef struct guard_token {
    unsigned roles;
    char text[GUARD_TOKEN_MAX + 1];
} guard_token;

/* Counts of wrong tokens by address; protected by a lock of its own. */
typedef struct token_failures token_failures;

typedef struct gw_guard {
    bool loopback;     /* listening on loopback only */
    char host[256];    /* the listening address as written in a Host header, without port */
    char machine[256]; /* this machine's name */
    int token_count;   /* 0: no token is asked for */
    guard_token tokens[GUARD_TOKENS];
    token_failures *guesses; /* owned */
} gw_guard;

/* `host`: the listening address, IPv6 in brackets. False when memory is short. */
bool guard_init(gw_guard *guard, const char *host, bool loopback);

void guard_finish(gw_guard *guard);

/* Reads a file of tokens, one a line: TOKEN, which has all roles, or ROLE[,ROLE..]: TOKEN with the
 * roles watch, edit and operate. False with a sentence in `why`. */
bool guard_read_tokens(gw_guard *guard, const char *path, char *why, size_t why_size);

/* The fields of a head that must be unambiguous, since another reader of the same head might take a
 * different one of two. */
typedef struct guard_head {
    int hosts, origins, lengths;
    bool odd; /* a name that is no token; a length that is no number; an unknown encoding */
    const char *host, *origin;
} guard_head;

/* Adds one field; `value` may be NULL. */
void guard_head_add(guard_head *head, const char *name, const char *value);
guard_head guard_head_of(const request_head *head);

/* The status, with a sentence, by which a head is refused whoever sent it; 0: none. */
int guard_head_refusal(head_status read, const request_head *head, const char **detail);

/* guard_head_ambiguous(): 400 where the length, Host or Origin is stated more than once or
 * malformed. guard_head_sender(): 421 for another Host, 403 for another Origin. Both 0 where
 * nothing is wrong; `detail` is the sentence. */
int guard_head_ambiguous(const guard_head *head, const char **detail);
int guard_head_sender(const gw_guard *guard, const guard_head *head, const char **detail);

/* True where a halt with this head is to be carried out: the head is unambiguous, Host and Origin
 * are allowed, and the token, where one is asked for, has any role. */
bool guard_may_halt(const gw_guard *guard, const request_head *head);

/* The roles of a token (NULL: none was given); all of them where no token is asked for; 0: a wrong
 * token. Takes the same time for every wrong token. */
unsigned guard_roles(const gw_guard *guard, const char *token);

/* The token of an Authorization header (NULL: missing header); NULL where it contains none. */
const char *guard_bearer(const char *header);

typedef enum guard_answer {
    GUARD_WELCOME,
    GUARD_NO_TOKEN,
    GUARD_WRONG,  /* answered so, and to be logged as an event */
    GUARD_LIMITED /* tokens from this address are not compared until the minute is over */
} guard_answer;

/* The address of a socket's peer; its family is AF_UNSPEC where it is not known. */
struct sockaddr_storage peer_address(int fd);

/* As guard_roles(), with a limit: GUARD_GUESSES wrong tokens a minute for each address. */
#define GUARD_GUESSES 20
guard_answer guard_judge(const gw_guard *guard, const char *token,
                         const struct sockaddr_storage *peer, unsigned *roles);

/* Writes "WAY ADDRESS:PORT" of a peer, for people; "WAY" where its address is not known. `out` has
 * PEER_NAME bytes. */
#define PEER_NAME 64
void peer_name(const struct sockaddr_storage *peer, const char *way, char out[PEER_NAME]);

#endif
