/*
 * libmicrohttpd in poll mode without a listening socket. Its epoll mode stalls above about a
 * hundred connections, and exceeding its connection limit by added sockets deadlocks it; so
 * connections are counted here, with a limit far below its own. Handlers run on its worker threads.
 */
#include "server/net/http.h"

#include <assert.h>
#include <microhttpd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>

#include "server/files/assets.h"
#include "server/net/connections.h"
#include "server/net/reject.h"
#include "server/net/relay.h"
#include "server/net/metrics.h"
#include "server/net/niceness.h"
#include "server/net/request_head.h"
#include "server/net/workers.h"
#include "server/rest/problem.h"
#include "server/rest/replay.h"

#define IO_THREADS       4 /* of libmicrohttpd: sockets, files, and quick answers */
#define READERS          3 /* for GET: so many large answers are written at once */
#define WORKERS          6 /* for the other methods; a request that waits for the loop holds one */
#define IDLE_TIMEOUT_S   30
#define REPLY_TIMEOUT_MS 60000       /* for the client to read an answer */
#define KEPT_TIMEOUT_MS  60000       /* between requests, the next one's headers included */
#define PIECE_BYTES      (16 * 1024) /* of a long list, handed to a socket at once */
#define PACK_BYTES       1024        /* least size of a body that is compressed */
#define HEADER_MEMORY    (32 * 1024)
#define FREE_BODY        (64 * 1024) /* granted to each request, whatever the others take */

struct gw_http {
    struct MHD_Daemon *daemon;
    gw_relay *relay;
    gw_workers *readers, *workers;
    http_def def;
    gw_connections connections;
    atomic_size_t bodies; /* bytes reserved for the bodies of all requests */
};

/* One request. While a worker has it, its connection is suspended and everything here belongs to
 * that worker. */
typedef struct exchange {
    worker_job job; /* first */
    gw_http *http;
    struct MHD_Connection *mhd;
    const char *path, *method;
    bool elsewhere; /* an absolute target that names another host than the Host header */
    bool answered;  /* the reply is ready */
    char *body;
    size_t size, room, reserved;
    size_t most; /* most bytes of the body, by its address */
    size_t discarded;
    bool crowded;           /* the bodies of other requests leave no memory for this one */
    gw_halt_word halt_seen; /* at the time when the headers arrived */
    api_reply reply;
    char id[HEAD_REQUEST_ID + 1];
    unsigned roles;     /* of its token */
    bool packed;        /* the body is compressed with gzip */
    bool ended, failed; /* a long list: no further piece; and because memory was short */
    size_t sent;        /* of the piece of a long list that is in the reply's body */
} exchange;

/* ---- connections --------------------------------------------------------------------------- */

static int fd_of(struct MHD_Connection *mhd)
{
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

static void on_connection(void *context, struct MHD_Connection *mhd, void **socket_context,
                          enum MHD_ConnectionNotificationCode code)
{
    gw_http *http = context;
    (void)socket_context;
    if (code == MHD_CONNECTION_NOTIFY_CLOSED)
        connections_remove(&http->connections, fd_of(mhd));
}

/* The address of the client at the other end of the relay. */
static const struct sockaddr_storage *peer_of(struct MHD_Connection *mhd)
{
    static const struct sockaddr_storage nobody;
    const union MHD_ConnectionInfo *info =
        MHD_get_connection_info(mhd, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
    return info && info->client_addr ? (const void *)info->client_addr : &nobody;
}

static void set_deadline(gw_http *http, struct MHD_Connection *mhd, long from_now_ms)
{
    connections_work(&http->connections, fd_of(mhd), from_now_ms);
}

bool http_adopt(gw_http *http, int fd, const struct sockaddr_storage *peer)
{
    assert(http && fd >= 0 && peer);
    int inner;
    gw_passage *passage = relay_pair(http->relay, fd, &inner);
    if (!passage)
        return false;
    if (!connections_add(&http->connections, inner, GW_HEADER_TIMEOUT_MS)) {
        close(inner);
        relay_cancel(http->relay, passage);
        return false;
    }
    if (MHD_add_connection(http->daemon, inner, (const struct sockaddr *)peer, sizeof *peer) !=
        MHD_YES) {
        /* libmicrohttpd has closed the socket without calling on_connection() */
        connections_remove(&http->connections, inner);
        relay_cancel(http->relay, passage);
        return false;
    }
    relay_open(http->relay, passage);
    return true;
}

void http_make_room(gw_http *http)
{
    connections_evict_idle(&http->connections);
}

void http_expire(gw_http *http)
{
    connections_expire(&http->connections);
}

/* ---- replies ------------------------------------------------------------------------------- */

static void add_header(struct MHD_Response *response, const char *name, const char *value)
{
    if (value && *value)
        MHD_add_response_header(response, name, value);
}

static void common_headers(const exchange *now, struct MHD_Response *response)
{
    add_header(response, "X-Request-Id", now->id);
#define ADD_HEADER(name, value) add_header(response, name, value);
    RESPONSE_HARDENING(ADD_HEADER)
#undef ADD_HEADER
}

static void release_text(void *context)
{
    text_unref(context);
}

static void write_piece(worker_job *job)
{
    exchange *now = (exchange *)job;
    struct MHD_Connection *mhd = now->mhd;
    now->reply.body = api_pieces_next(now->reply.rest);
    now->sent = 0;
    if (!now->reply.body) {
        now->failed = api_pieces_failed(now->reply.rest);
        now->ended = true;
    }
    MHD_resume_connection(mhd); /* read_pieces() is called again */
}

/* Gives libmicrohttpd the present piece of a long list. The next piece is written by a worker,
 * while the connection is suspended. */
static ssize_t read_pieces(void *context, uint64_t position, char *out, size_t most)
{
    exchange *now = context;
    (void)position;
    gw_text *piece = now->reply.body;
    if (now->ended)
        return now->failed ? MHD_CONTENT_READER_END_WITH_ERROR : MHD_CONTENT_READER_END_OF_STREAM;
    if (!piece) {
        now->job.run = write_piece;
        MHD_suspend_connection(now->mhd);
        if (!workers_do(now->http->readers, &now->job)) {
            now->ended = now->failed = true;
            MHD_resume_connection(now->mhd);
        }
        return 0;
    }
    size_t left = piece->size - now->sent, size = left < most ? left : most;
    memcpy(out, piece->data + now->sent, size);
    now->sent += size;
    if (size == left) {
        text_unref(piece);
        now->reply.body = NULL;
    }
    return (ssize_t)size;
}

/* A response whose pieces belong to the exchange, which outlives it. For HEAD libmicrohttpd would
 * send a last chunk after the head, which the client would read as the beginning of the next
 * answer; in HTTP/1.0 mode, without chunks and with a closed connection, it sends nothing. */
static struct MHD_Response *response_in_pieces(exchange *now)
{
    struct MHD_Response *response =
        MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE_BYTES, read_pieces, now, NULL);
    if (response && strcmp(now->method, "HEAD") == 0)
        MHD_set_response_options(response, MHD_RF_HTTP_1_0_COMPATIBLE_STRICT, MHD_RO_END);
    return response;
}

/* The response takes over the reply's body. */
static struct MHD_Response *response_of(api_reply *reply, exchange *now)
{
    static char nothing[1];
    if (reply->rest)
        return response_in_pieces(now);
    gw_text *body = reply->body;
    reply->body = NULL;
    if (!body)
        return MHD_create_response_from_buffer(0, nothing, MHD_RESPMEM_PERSISTENT);
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        body->size, body->data, release_text, body);
    if (!response)
        text_unref(body);
    return response;
}

static enum MHD_Result queue_response(const exchange *now, int status,
                                      struct MHD_Response *response)
{
    relay_answers(now->http->relay, fd_of(now->mhd));
    enum MHD_Result queued = MHD_queue_response(now->mhd, (unsigned)status, response);
    MHD_destroy_response(response);
    return queued;
}

static enum MHD_Result send_reply(exchange *now, api_reply *reply)
{
    struct MHD_Response *response = response_of(reply, now);
    if (!response)
        return MHD_NO;
    common_headers(now, response);
    add_header(response, "Content-Type", reply->mime);
    add_header(response, "Cache-Control", "no-store");
    add_header(response, "Location", reply->location);
    add_header(response, "ETag", reply->etag);
    add_header(response, "Allow", reply->allow);
    add_header(response, "Guideway-Note", reply->note);
    if (now->packed) {
        add_header(response, "Content-Encoding", "gzip");
        add_header(response, "Vary", "Accept-Encoding");
    }
    if (reply->replayed)
        add_header(response, "Idempotency-Replayed", "true");
    if (reply->status == 401)
        add_header(response, "WWW-Authenticate", "Bearer realm=\"guideway\"");
    if (reply->status == 503)
        add_header(response, "Retry-After", "1");
    if (reply->status == 429)
        add_header(response, "Retry-After", "60");
    return queue_response(now, reply->status, response);
}

static enum MHD_Result refuse_request(exchange *now, int status, const char *detail)
{
    api_reply reply = {0};
    api_problem(&reply, status, detail);
    return send_reply(now, &reply);
}

/* ---- the page ------------------------------------------------------------------------------ */

static const char *header_of(struct MHD_Connection *mhd, const char *name)
{
    return MHD_lookup_connection_value(mhd, MHD_HEADER_KIND, name);
}

/* Allows this origin only; the stream is named explicitly, since some browsers take ws: for another
 * origin. */
static void page_policy(struct MHD_Response *response, const char *host)
{
    char policy[768];
    snprintf(policy, sizeof policy,
             "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; "
             "font-src 'self'; connect-src 'self' ws://%s; worker-src 'self'; base-uri 'none'; "
             "form-action 'none'; frame-ancestors 'none'",
             host);
    add_header(response, "Content-Security-Policy", policy);
    add_header(response, "Cross-Origin-Opener-Policy", "same-origin");
}

/* True where a list of codings, each with an optional weight, accepts gzip. */
static bool takes_gzip(const char *accepts)
{
    bool takes = false;
    for (const char *at = accepts ? accepts : ""; *at; at += *at == ',') {
        at += strspn(at, " \t");
        size_t size = strcspn(at, ",;\t ");
        bool named = size == 4 && strncasecmp(at, "gzip", size) == 0;
        at += size;
        at += strspn(at, "; \t");
        bool weighted = strncasecmp(at, "q=", 2) == 0;
        takes = takes || (named && (!weighted || strtod(at + 2, NULL) > 0));
        at += strcspn(at, ",");
    }
    return takes;
}

static enum MHD_Result send_file(exchange *now, const asset *file)
{
    struct MHD_Connection *mhd = now->mhd;
    const char *accepts = header_of(mhd, "Accept-Encoding");
    const char *known = header_of(mhd, "If-None-Match");
    bool packed = file->packed && takes_gzip(accepts);
    char etag[32];
    uint64_t hash = text_hash(TEXT_HASH, file->start, (size_t)(file->end - file->start));
    snprintf(etag, sizeof etag, "\"%016llx%s\"", (unsigned long long)hash, packed ? "-gz" : "");
    bool same = known && strcmp(known, etag) == 0;
    const char *start = packed ? file->packed : file->start;
    size_t size = same ? 0 : (size_t)((packed ? file->packed_end : file->end) - start);
    struct MHD_Response *response =
        MHD_create_response_from_buffer(size, (void *)(size_t)start, MHD_RESPMEM_PERSISTENT);
    if (!response)
        return MHD_NO;
    common_headers(now, response);
    page_policy(response, header_of(mhd, "Host"));
    add_header(response, "Content-Type", file->mime);
    add_header(response, "Cache-Control", "no-cache");
    add_header(response, "Vary", "Accept-Encoding");
    add_header(response, "ETag", etag);
    if (packed)
        add_header(response, "Content-Encoding", "gzip");
    return queue_response(now, same ? 304 : 200, response);
}

/* ---- pages, files, metrics ----------------------------------------------------------------- */

static enum MHD_Result send_text(exchange *now, gw_text *body)
{
    api_reply reply = {.status = 200, .mime = "text/plain; version=0.0.4; charset=utf-8"};
    reply.body = body;
    return body ? send_reply(now, &reply) : refuse_request(now, 500, "memory is short");
}

/* Sends the page about a type of problem; 404 where there is no such type. */
static enum MHD_Result send_problem_page(exchange *now)
{
    gw_text *page = problem_page(now->path);
    if (!page)
        return refuse_request(now, 404, "there is no such problem: /problems lists them");
    struct MHD_Response *response = MHD_create_response_from_buffer_with_free_callback_cls(
        page->size, page->data, release_text, page);
    if (!response) {
        text_unref(page);
        return MHD_NO;
    }
    common_headers(now, response);
    page_policy(response, header_of(now->mhd, "Host"));
    add_header(response, "Content-Type", "text/html; charset=utf-8");
    return queue_response(now, 200, response);
}

static const asset *file_of(const char *path)
{
    if (strcmp(path, "/") == 0)
        return asset_find("/index.html");
    return asset_find(strcmp(path, "/docs") == 0 ? "/docs.html" : path);
}

static enum MHD_Result serve_file(gw_http *http, exchange *now)
{
    const char *path = now->path, *method = now->method;
    const size_t about = strlen(PROBLEM_PATH);
    const asset *file = file_of(path);
    bool health = strcmp(path, "/healthz") == 0, metrics = strcmp(path, "/metrics") == 0;
    bool stream = strcmp(path, "/ws") == 0;
    bool problem = strncmp(path, PROBLEM_PATH, about) == 0 && (!path[about] || path[about] == '/');
    if (path[0] != '/' || (!file && !health && !metrics && !stream && !problem))
        return refuse_request(now, 404, "there is nothing at this address");
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
        api_reply reply = {0};
        api_problem(&reply, 405, "only GET and HEAD are for this address");
        snprintf(reply.allow, sizeof reply.allow, "GET, HEAD");
        return send_reply(now, &reply);
    }
    if (stream)
        return refuse_request(now, 426,
                              "a WebSocket handshake on a connection of its own is wanted here");
    if (health)
        return send_text(now, text_format("ok\n"));
    if (problem)
        return send_problem_page(now);
    if (!metrics)
        return send_file(now, file);
    int streams = http->def.streams ? http->def.streams(http->def.context) : 0;
    return send_text(
        now, metrics_text(http->def.api.app, connections_count(&http->connections), streams));
}

/* ---- gzip ---------------------------------------------------------------------------------- */

/* Compresses the body where there is memory for it. Long lists are not compressed. */
static void compress_body(exchange *now)
{
    gw_text *body = now->reply.body, *packed = NULL;
    z_stream z = {0};
    if (!body || now->reply.rest || body->size < PACK_BYTES ||
        deflateInit2(&z, Z_BEST_SPEED, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) != Z_OK)
        return;
    packed = text_new(deflateBound(&z, body->size));
    if (packed) {
        z.next_in = (unsigned char *)body->data;
        z.avail_in = (unsigned)body->size;
        z.next_out = (unsigned char *)packed->data;
        z.avail_out = (unsigned)packed->size;
        now->packed = deflate(&z, Z_FINISH) == Z_STREAM_END;
        packed->size = z.total_out;
    }
    deflateEnd(&z);
    text_unref(now->packed ? body : packed);
    now->reply.body = now->packed ? packed : body;
}

/* ---- REST ---------------------------------------------------------------------------------- */

static enum MHD_Result add_query(void *context, enum MHD_ValueKind kind, const char *name,
                                 const char *value)
{
    api_request *request = context;
    (void)kind;
    request->query_over = request->query_count == API_MAX_QUERY;
    if (!request->query_over)
        request->query[request->query_count++] = (api_pair){name, value};
    return MHD_YES;
}

/* Answers of 500 and more that the server itself causes are logged as events, too. */
static void log_failure(const exchange *now)
{
    const api_reply *reply = &now->reply;
    if (reply->status >= 500 && reply->status != 501 && reply->status != 503)
        app_log(now->http->def.api.app, "request", "error", "%s %.100s was answered %d: request %s",
                now->method, now->path, reply->status, now->id);
}

/* Handles the request and fills the reply. */
static void handle_api(exchange *now, bool quick)
{
    char by[PEER_NAME] = "";
    struct MHD_Connection *mhd = now->mhd;
    if (strcmp(now->method, "GET") != 0)
        peer_name(peer_of(mhd), header_of(mhd, "Origin") ? "page" : "rest", by);
    relay_halt halt = quick ? relay_halted(now->http->relay, fd_of(mhd)) : RELAY_HALT_REFUSED;
    api_request request = {.method = now->method,
                           .path = now->path,
                           .content_type = header_of(mhd, "Content-Type"),
                           .if_match = header_of(mhd, "If-Match"),
                           .if_none_match = header_of(mhd, "If-None-Match"),
                           .idempotency_key = quick ? NULL : header_of(mhd, "Idempotency-Key"),
                           .press = quick ? header_of(mhd, "Idempotency-Key") : NULL,
                           .body = now->body,
                           .size = now->size,
                           .by = by,
                           .roles = now->roles,
                           .halt_seen = now->halt_seen,
                           .halted = halt != RELAY_HALT_REFUSED,
                           .repeated = halt == RELAY_HALT_REPEATED};
    MHD_get_connection_values(mhd, MHD_GET_ARGUMENT_KIND, add_query, &request);
    api_handle(&now->http->def.api, &request, &now->reply);
    log_failure(now);
    if (!quick && takes_gzip(header_of(mhd, "Accept-Encoding")))
        compress_body(now);
    now->answered = true;
}

static void run_job(worker_job *job)
{
    exchange *now = (exchange *)job;
    struct MHD_Connection *mhd = now->mhd;
    handle_api(now, false);
    MHD_resume_connection(mhd); /* on_request() is called again */
}

/* Requests that take microseconds are answered at once, the others on a worker, so that the threads
 * that read sockets, and halts on them, never wait. */
static enum MHD_Result serve_api(gw_http *http, exchange *now)
{
    struct MHD_Connection *mhd = now->mhd;
    const char *path = now->path, *method = now->method;
    if (strlen(path) > API_MAX_PATH)
        return refuse_request(now, 404, "the address is too long");
    now->job.run = run_job;
    if (api_is_quick(&http->def.api, method, path)) {
        handle_api(now, true);
        return send_reply(now, &now->reply);
    }
    MHD_suspend_connection(mhd);
    bool reads = strcmp(method, "GET") == 0 || strcmp(method, "HEAD") == 0;
    if (workers_do(reads ? http->readers : http->workers, &now->job))
        return MHD_YES;
    api_problem(&now->reply, 503, "the server is stopping");
    now->answered = true;
    MHD_resume_connection(mhd);
    return MHD_YES;
}

/* ---- one request --------------------------------------------------------------------------- */

static bool is_api(const char *path)
{
    return strncmp(path, "/api/", 5) == 0;
}

static enum MHD_Result add_head(void *context, enum MHD_ValueKind kind, const char *name,
                                const char *value)
{
    (void)kind;
    guard_head_add(context, name, value);
    return MHD_YES;
}

static guard_head head_of(struct MHD_Connection *mhd)
{
    guard_head head = {0};
    MHD_get_connection_values(mhd, MHD_HEADER_KIND, add_head, &head);
    return head;
}

static int check_token(exchange *now, const char **detail)
{
    char by[PEER_NAME];
    const char *token = guard_bearer(header_of(now->mhd, "Authorization"));
    const struct sockaddr_storage *peer = peer_of(now->mhd);
    *detail = "a bearer token is needed: Authorization: Bearer TOKEN";
    switch (guard_judge(now->http->def.guard, token, peer, &now->roles)) {
    case GUARD_WELCOME:
        return 0;
    case GUARD_NO_TOKEN:
        return 401;
    case GUARD_WRONG:
        peer_name(peer, "rest", by);
        app_log(now->http->def.api.app, "token", "warning",
                "A wrong token was refused: %s, request %s.", by, now->id);
        return 401;
    case GUARD_LIMITED: /* a halt with a valid token passes */
        now->roles = guard_roles(now->http->def.guard, token);
        if (now->roles && api_is_halt(now->method, now->path))
            return 0;
        *detail = "too many wrong tokens came from this address: wait a minute";
        return 429;
    }
    return 401;
}

/* Checks Host, Origin and token: the status of a refusal, or 0. */
static int check_sender(exchange *now, const char **detail)
{
    const gw_guard *guard = now->http->def.guard;
    guard_head head = head_of(now->mhd);
    int status = guard_head_sender(guard, &head, detail);
    if (status)
        return status;
    *detail = "the address and the Host header name two servers";
    if (now->elsewhere)
        return 421;
    return is_api(now->path) || strcmp(now->path, "/metrics") == 0 ? check_token(now, detail) : 0;
}

/* Reserves memory for a body of `size` bytes out of GW_MAX_BODIES_BYTES; false where too much is
 * taken. */
static bool reserve_body(exchange *now, size_t size)
{
    size_t wanted = size > FREE_BODY ? size : 0;
    if (wanted <= now->reserved)
        return true;
    size_t more = wanted - now->reserved;
    if (atomic_fetch_add(&now->http->bodies, more) + more > GW_MAX_BODIES_BYTES) {
        atomic_fetch_sub(&now->http->bodies, more);
        return false;
    }
    now->reserved = wanted;
    return true;
}

/* Stores the bytes of a body up to the cap, counts those beyond. False when memory is short. */
static bool collect_body(exchange *now, const char *data, size_t size)
{
    if (now->crowded || now->discarded > 0 || now->size + size > now->most) {
        now->discarded += size;
        return true;
    }
    if (now->size + size + 1 > now->room) {
        size_t room = now->room ? 2 * now->room : 4096;
        while (room < now->size + size + 1)
            room *= 2;
        if (!reserve_body(now, room < now->most ? room : now->most)) {
            now->crowded = true;
            now->discarded += size;
            return true;
        }
        char *more = realloc(now->body, room);
        if (!more)
            return false;
        now->body = more;
        now->room = room;
    }
    memcpy(now->body + now->size, data, size);
    now->size += size;
    now->body[now->size] = 0;
    return true;
}

static const char crowded[] =
    "bodies of other requests take all the memory that they may: try again";

/* The Content-Length, 0 where there is none. */
static size_t stated_length(struct MHD_Connection *mhd)
{
    const char *length = header_of(mhd, "Content-Length");
    return length ? strtoull(length, NULL, 10) : 0;
}

static enum MHD_Result answer_request(gw_http *http, exchange *now)
{
    const char *detail;
    char too_large[80];
    snprintf(too_large, sizeof too_large, "a body has at most %zu bytes here", now->most);
    set_deadline(http, now->mhd, REPLY_TIMEOUT_MS);
    int status = check_sender(now, &detail);
    if (status)
        return refuse_request(now, status, detail);
    bool heeded = !api_is_halt(now->method, now->path); /* the body matters */
    if (heeded && now->crowded)
        return refuse_request(now, 503, crowded);
    if (heeded && now->discarded > 0)
        return refuse_request(now, 413, too_large);
    return is_api(now->path) ? serve_api(http, now) : serve_file(http, now);
}

/* The path of a target. An absolute target (RFC 9112, 3.2.2) also names a host, which must equal
 * that of the Host header. */
static const char *path_of(const char *target, const char *host, bool *elsewhere)
{
    static const char scheme[] = "http://";
    const size_t before = sizeof scheme - 1;
    if (strncasecmp(target, scheme, before) != 0)
        return target;
    size_t size = strcspn(target + before, "/");
    const char *path = target + before + size;
    *elsewhere = !host || strlen(host) != size || strncasecmp(target + before, host, size) != 0;
    return *path ? path : "/";
}

static enum MHD_Result on_request(void *context, struct MHD_Connection *mhd, const char *path,
                                  const char *method, const char *version, const char *data,
                                  size_t *size, void **request_context)
{
    gw_http *http = context;
    exchange *now = *request_context;
    (void)version;
    if (!now) {
        *request_context = now = calloc(1, sizeof *now);
        set_deadline(http, mhd, GW_BODY_TIMEOUT_MS);
        if (now) {
            now->http = http;
            now->mhd = mhd;
            now->path = path = path_of(path, header_of(mhd, "Host"), &now->elsewhere);
            now->method = method;
            head_request_id(header_of(mhd, "X-Request-Id"), now->id);
            now->most = api_body_most(method, path);
            now->halt_seen = app_halt_seen(http->def.api.app);
        }
        size_t length = stated_length(mhd);
        if (now && length <= now->most)
            now->crowded = !reserve_body(now, length);
        return now ? MHD_YES : MHD_NO;
    }
    if (now->answered)
        return send_reply(now, &now->reply);
    if (*size == 0)
        return answer_request(http, now);
    bool taken = collect_body(now, data, *size);
    *size = 0;
    return taken ? MHD_YES : MHD_NO;
}

static void on_completed(void *context, struct MHD_Connection *mhd, void **request_context,
                         enum MHD_RequestTerminationCode code)
{
    exchange *now = *request_context;
    (void)code;
    connections_rest(&((gw_http *)context)->connections, fd_of(mhd), KEPT_TIMEOUT_MS);
    if (!now)
        return;
    text_unref(now->reply.body);
    api_pieces_destroy(now->reply.rest);
    atomic_fetch_sub(&now->http->bodies, now->reserved);
    free(now->body);
    free(now);
    *request_context = NULL;
}

/* Keeps paths and queries percent-encoded, since they are decoded after they are split. */
static size_t keep_encoded(void *context, struct MHD_Connection *mhd, char *value)
{
    (void)context, (void)mhd;
    return strlen(value);
}

/* ---- halts that arrive --------------------------------------------------------------------- */

static relay_halt halt_on_arrival(void *context, int client, const request_head *head)
{
    const gw_http *http = context;
    char by[PEER_NAME];
    struct sockaddr_storage peer = peer_address(client);
    if (!guard_may_halt(http->def.guard, head))
        return RELAY_HALT_REFUSED;
    peer_name(&peer, head_find(head, "Origin") ? "page" : "rest", by);
    return app_halt_latch(http->def.api.app, head_find(head, "Idempotency-Key"), by)
               ? RELAY_HALT_MADE
               : RELAY_HALT_REPEATED;
}

/* ---- life ---------------------------------------------------------------------------------- */

gw_http *http_create(const http_def *def, gw_error *error)
{
    gw_http *http = calloc(1, sizeof *http);
    if (!http) {
        gw_fail(error, GW_FAILED, "", "memory is short");
        return NULL;
    }
    http->def = *def;
    connections_init(&http->connections);
    http->def.api.replays = api_replays_create(def->api.store->database);
    if (!http->def.api.replays)
        gw_fail(error, GW_FAILED, "", "memory is short");
    const relay_def relay = {halt_on_arrival, http};
    http->relay = http->def.api.replays ? relay_create(&relay, error) : NULL;
    http->readers = http->relay ? workers_create(READERS, error) : NULL;
    http->workers = http->readers ? workers_create(WORKERS, error) : NULL;
    if (!http->workers) {
        http_destroy(http);
        return NULL;
    }
    int niceness = niceness_set(NICENESS_SOCKETS); /* for the daemon's threads */
    http->daemon = MHD_start_daemon(
        MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME | MHD_USE_POLL_INTERNAL_THREAD, 0, NULL,
        NULL, on_request, http, MHD_OPTION_CONNECTION_LIMIT, 4u * IO_THREADS * GW_MAX_HTTP,
        MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_TIMEOUT_S, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        (size_t)HEADER_MEMORY, MHD_OPTION_THREAD_POOL_SIZE, (unsigned)IO_THREADS,
        MHD_OPTION_NOTIFY_CONNECTION, on_connection, http, MHD_OPTION_NOTIFY_COMPLETED,
        on_completed, http, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_UNESCAPE_CALLBACK,
        keep_encoded, NULL, MHD_OPTION_END);
    niceness_set(niceness);
    if (http->daemon)
        return http;
    gw_fail(error, GW_FAILED, "", "the HTTP server could not be started");
    http_destroy(http);
    return NULL;
}

void http_destroy(gw_http *http)
{
    if (!http)
        return;
    /* from here on no connection is suspended */
    if (http->readers)
        workers_finish(http->readers);
    if (http->workers)
        workers_finish(http->workers);
    if (http->daemon)
        MHD_stop_daemon(http->daemon);
    relay_destroy(http->relay);
    workers_destroy(http->readers);
    workers_destroy(http->workers);
    connections_finish(&http->connections);
    api_replays_destroy(http->def.api.replays);
    free(http);
}
