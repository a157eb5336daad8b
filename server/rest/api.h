/*
 * REST without sockets: a request in, a reply out. All routes are in one table, and the OpenAPI
 * document is tested against it. Any thread.
 */
#ifndef GW_SERVER_REST_API_H
#define GW_SERVER_REST_API_H

#include "server/app/app.h"
#include "server/files/meshes.h"
#include "server/files/store.h"

#define API_PREFIX    "/api/v1"
#define API_MAX_PATH  512
#define API_MAX_QUERY 8
#define API_MAX_VALUE 256 /* bytes of a query parameter's value, including the zero */

#define API_MAX_ENTRY_ID (GW_MAX_LINK_NAME + GW_MAX_ID + 2) /* "object/feature", with the zero */

typedef struct api_pair {
    const char *name, *value; /* as sent, still percent-encoded; value may be NULL */
} api_pair;

typedef struct api_request {
    const char *method;
    const char *path; /* as sent, still percent-encoded, without the query */
    int query_count;
    api_pair query[API_MAX_QUERY];
    bool query_over;                      /* there were more parameters than fit */
    const char *content_type;             /* NULL: none */
    const char *if_match, *if_none_match; /* NULL: none */
    const char *idempotency_key;          /* NULL: none, or the request is quick */
    const char *press;                    /* the key of a halt; NULL: none */
    const char *body;                     /* zero-terminated; NULL: no body */
    size_t size;
    unsigned roles;         /* of the token: guard_role */
    const char *by;         /* the client, for events: "rest 127.0.0.1:4711" */
    gw_halt_word halt_seen; /* the halt latch when the request arrived */
    bool halted;            /* the request is a halt, which was carried out when it arrived */
    bool repeated;          /* or was carried out before, with the same key */
} api_request;

/* The rest of a long list, after its first piece. */
typedef struct api_pieces api_pieces;

/* The next piece, one reference; NULL after the last one and on failure. */
gw_text *api_pieces_next(api_pieces *pieces);
bool api_pieces_failed(const api_pieces *pieces);
void api_pieces_destroy(api_pieces *pieces); /* NULL is fine */

typedef struct api_reply {
    int status;
    const char *mime;   /* of the body */
    gw_text *body;      /* owned by the receiver; NULL: none */
    api_pieces *rest;   /* owned by the receiver; NULL: the body is all */
    bool replayed;      /* it is the stored answer to an earlier request with the same key */
    char location[256]; /* "" : none */
    char etag[48];
    char allow[64];
    char note[APP_NOTE]; /* how the effect of an edit differs from the request; "": not at all */
} api_reply;

typedef struct api_replays api_replays; /* see replay.h */

/* The parts of the server that handlers use. */
typedef struct gw_api {
    gw_app *app;
    gw_store *store;
    gw_meshes *meshes;
    api_replays *replays; /* owned by the server: http.c */
} gw_api;

/* The largest body (bytes) that is accepted for this method and path. */
size_t api_body_most(const char *method, const char *path);

/* True for the route of a halt, which is carried out whatever its body is. */
bool api_is_halt(const char *method, const char *path);

/* True where the answer takes microseconds and waits for nothing; a halt waits for its tick. */
bool api_is_quick(const gw_api *api, const char *method, const char *path);

/* Answers a request below /api/v1. */
void api_handle(const gw_api *api, const api_request *request, api_reply *reply);

/* Sets a problem+json reply on behalf of the transport. */
void api_problem(api_reply *reply, int status, const char *detail);

/* The same with a kind of problem that is not the default of its status. */
void api_problem_named(api_reply *reply, const char *kind, const char *detail);

/* Prints the route table, one "METHOD /path" a line. */
void api_print_routes(void);

/* The OpenAPI document of all routes; NULL where memory is short. */
json_t *api_openapi_document(void);

#endif
