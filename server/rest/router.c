/*
 * The steps of a request through the route table: path, method, content type, body, query, handler.
 * A request that can be refused without knowing its route's meaning is refused here. Any thread of
 * HTTP.
 */
#include "server/rest/api.h"

#include <assert.h>
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/net/guard.h"
#include "server/rest/call.h"
#include "server/rest/replay.h"

/* Resources of a later version. */
static const char *const later[] = {"/recordings", NULL};

/* ---- the way in ---------------------------------------------------------------------------- */

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes `size` bytes; false where the text is malformed, contains a zero, or does not
 * fit. An unencoded space becomes `space`. */
static bool percent_decode(const char *in, size_t size, char space, char *out, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        int c = (unsigned char)in[i];
        if (c == '%') {
            int high = i + 2 < size ? hex_digit(in[i + 1]) : -1;
            int low = high >= 0 ? hex_digit(in[i + 2]) : -1;
            if (low < 0)
                return false;
            c = high * 16 + low;
            i += 2;
        } else if (c == ' ')
            c = space;
        if (c == 0 || used + 1 >= room)
            return false;
        out[used++] = (char)c;
    }
    out[used] = 0;
    return true;
}

/* libmicrohttpd turns a plus sign in the query into a space; an encoded space is still %20. */
static bool query_value(const api_call *call, const char *name, char plus, char *out, size_t size)
{
    const api_request *request = call->request;
    for (int i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, name) == 0) {
            const char *value = request->query[i].value ? request->query[i].value : "";
            return percent_decode(value, strlen(value), plus, out, size);
        }
    return false;
}

bool api_query(const api_call *call, const char *name, char *out, size_t size)
{
    return query_value(call, name, '+', out, size);
}

bool api_query_form(const api_call *call, const char *name, char *out, size_t size)
{
    return query_value(call, name, ' ', out, size);
}

/* Matches a path against a pattern and extracts its parameters. */
static bool match_path(const char *pattern, const char *path, char part[2][GW_MAX_ID + 1])
{
    int count = 0;
    while (*pattern && *path) {
        if (*pattern == '{') {
            size_t size = strcspn(path, "/");
            if (size == 0 || count == 2 ||
                !percent_decode(path, size, ' ', part[count++], GW_MAX_ID + 1))
                return false;
            pattern += strcspn(pattern, "}") + 1;
            path += size;
            continue;
        }
        char c[2] = "";
        size_t taken = *path == '%' && path[1] && path[2] ? 3 : 1;
        if (!percent_decode(path, taken, ' ', c, sizeof c) || *pattern++ != *c ||
            (taken == 3 && *c == '/'))
            return false;
        path += taken;
    }
    return *pattern == 0 && *path == 0;
}

const api_route *api_find_route(api_call *call, const char *path, char allow[64])
{
    allow[0] = 0;
    int count;
    const api_route *routes = api_routes(&count), *found = NULL;
    const char *method = call->request->method;
    bool head = strcmp(method, "HEAD") == 0;
    for (int i = 0; i < count; i++) {
        const wire_operation *about = &routes[i].about;
        char part[2][GW_MAX_ID + 1] = {"", ""};
        if (!match_path(about->path, path, part))
            continue;
        if (strcmp(about->method, head ? "GET" : method) == 0) {
            found = &routes[i];
            call->route = found;
            call->resource = found->resource;
            memcpy(call->part, part, sizeof part);
        }
        size_t used = strlen(allow);
        snprintf(allow + used, 64 - used, "%s%s%s", used ? ", " : "", about->method,
                 strcmp(about->method, "GET") == 0 ? ", HEAD" : "");
    }
    return found;
}

static bool is_later(const char *path)
{
    for (int i = 0; later[i]; i++) {
        size_t size = strlen(later[i]);
        if (strncmp(path, later[i], size) == 0 && (path[size] == 0 || path[size] == '/'))
            return true;
    }
    return false;
}

static bool is_json_type(const char *type)
{
    size_t size = type ? strcspn(type, "; \t") : 0;
    return (size == 16 && strncasecmp(type, "application/json", size) == 0) ||
           (size == 28 && strncasecmp(type, "application/merge-patch+json", size) == 0);
}

/* Parses the body where the route takes one; false: the reply is set. */
static bool take_body(api_call *call, const api_route *route)
{
    const api_request *request = call->request;
    bool takes = route->about.request != NULL;
    if (route->about.flags & OP_FILE)
        return true;
    if (request->size > 0 && !is_json_type(request->content_type)) {
        api_refuse(call, 415, "", "the content type is %.60s: application/json is right",
                   request->content_type ? request->content_type : "missing");
        return false;
    }
    if (request->size == 0 && !takes)
        return true;
    gw_error error = {0};
    bool none = request->size == 0 && strcmp(route->about.method, "POST") == 0;
    call->body = none ? json_object()
                      : wire_parse(request->body ? request->body : "", request->size, &error);
    if (!call->body) {
        api_error(call, &error);
        return false;
    }
    bool list = takes && strchr(route->about.request, '[');
    if (list ? !json_is_array(call->body) : !json_is_object(call->body)) {
        api_refuse(call, 400, "", "%s",
                   list ? "this body is a JSON array" : "a body is a JSON object");
        return false;
    }
    if (!takes && json_object_size(call->body) > 0) {
        api_refuse(call, 400, "", "this takes no body");
        return false;
    }
    return true;
}

/* The names of the query parameters of a route; returns their number. */
static int known_names(const wire_operation *about, const char *names[6])
{
    int count = 0;
    if (about->flags & OP_DRY_RUN)
        names[count++] = "dryRun";
    if (about->flags & (OP_STRANDS | OP_DRY_RUN))
        names[count++] = "strands";
    if (about->flags & OP_PAGED) {
        names[count++] = "limit";
        names[count++] = "offset";
        names[count++] = "after";
    }
    if (about->query)
        names[count++] = about->query;
    return count;
}

/* Decodes a value; refuses one that cannot be read, which would be ignored silently. */
static bool take_value(api_call *call, const api_pair *pair, char value[API_MAX_VALUE])
{
    const char *text = pair->value ? pair->value : "";
    if (percent_decode(text, strlen(text), '+', value, API_MAX_VALUE))
        return true;
    api_refuse(call, 400, "",
               "%.40s is %.60s: a value has at most %d bytes, none of them zero, and a %% stands "
               "before two hexadecimal digits",
               pair->name, text, API_MAX_VALUE - 1);
    return false;
}

/* True where an earlier parameter of the query has the same name as parameter `i`. */
static bool is_repeated(const api_request *request, int i)
{
    for (int k = 0; k < i; k++)
        if (strcmp(request->query[k].name, request->query[i].name) == 0)
            return true;
    return false;
}

/* Refuses unknown and repeated parameters, which would be ignored silently. */
static bool take_names(api_call *call, const api_route *route)
{
    const char *names[6];
    char list[80] = "", value[API_MAX_VALUE], right[WIRE_RIGHT] = "";
    int count = known_names(&route->about, names);
    bool paged = route->about.flags & OP_PAGED;
    if (call->request->query_over) {
        api_refuse(call, 400, "", "the query has more than %d parameters", API_MAX_QUERY);
        return false;
    }
    for (int i = 0; i < count; i++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i ? ", " : "", names[i]);
    for (int i = 0; i < call->request->query_count; i++) {
        const char *name = call->request->query[i].name;
        bool known = strcmp(name, "dryRun") == 0; /* which has a refusal of its own */
        if (is_repeated(call->request, i)) {
            api_refuse(call, 400, "", "the query parameter %.40s is given once", name);
            return false;
        }
        if (!take_value(call, &call->request->query[i], value))
            return false;
        for (int k = 0; k < count; k++)
            known = known || strcmp(name, names[k]) == 0;
        if (known)
            continue;
        if (paged && wire_compares(route->about.answer, name, value, right)) {
            call->filters[call->filter_count++] = name;
            continue;
        }
        if (*right) {
            api_refuse(call, 400, "", "%.40s is %.60s, must be %s", name, value, right);
            return false;
        }
        api_refuse(call, 400, "", "there is no query parameter %.40s here%s%s%s", name,
                   count ? ": there are " : ", nor any other", list,
                   paged ? ", and the entries' members" : "");
        return false;
    }
    return true;
}

bool api_whole(const char *text, uint64_t *number)
{
    size_t digits = strspn(text, "0123456789");
    *number = strtoull(text, NULL, 10);
    return digits > 0 && !text[digits];
}

/* ?limit=N, ?offset=N */
static bool take_page(api_call *call)
{
    static const char *const names[] = {"limit", "offset"};
    int *const values[] = {&call->limit, &call->offset};
    call->limit = -1;
    for (int i = 0; i < 2; i++) {
        char value[API_MAX_VALUE];
        uint64_t n;
        if (!api_query(call, names[i], value, sizeof value))
            continue;
        if (!api_whole(value, &n) || n > 1000000) {
            api_refuse(call, 400, "", "%s is %.40s, must be a whole number from 0 to 1000000",
                       names[i], value);
            return false;
        }
        *values[i] = (int)n;
    }
    return true;
}

/* ?strands=N */
static bool read_strands(api_call *call)
{
    char value[API_MAX_VALUE];
    uint64_t n;
    if (!api_query(call, "strands", value, sizeof value))
        return true;
    if (!api_whole(value, &n) || n < 1 || n > GW_COORDINATE_CURVE_MAX) {
        api_refuse(call, 400, "", "strands is %.40s, must be a whole number from 1 to %d", value,
                   GW_COORDINATE_CURVE_MAX);
        return false;
    }
    call->strands = (int)n;
    return true;
}

/* ?group=ID */
static bool take_group(api_call *call)
{
    char id[API_MAX_VALUE];
    if (!api_query(call, "group", id, sizeof id))
        return true;
    if (!gw_id_valid(id)) {
        api_refuse(call, 400, "", "group is %.60s, must match [A-Za-z0-9_.:+-]{1,%d}", id,
                   GW_MAX_ID);
        return false;
    }
    snprintf(call->group, sizeof call->group, "%.*s", GW_MAX_ID, id);
    return true;
}

static bool take_dry_run(api_call *call, const api_route *route)
{
    char value[API_MAX_VALUE];
    if (!api_query(call, "dryRun", value, sizeof value))
        return true;
    call->dry_run = strcmp(value, "true") == 0;
    if (!call->dry_run && strcmp(value, "false") != 0) {
        api_refuse(call, 400, "", "dryRun is %.40s, must be true or false", value);
        return false;
    }
    if (call->dry_run && !(route->about.flags & OP_DRY_RUN)) {
        api_refuse(call, 400, "", "this route has no dry run");
        return false;
    }
    return true;
}

/* The role that a route needs: any for a halt, watch for routes that change nothing. */
static unsigned role_of(const wire_operation *about)
{
    const char *path = about->path;
    size_t size = strlen(path);
    bool starts = size > 6 && strcmp(path + size - 6, "/start") == 0;
    bool stops = size > 5 && strcmp(path + size - 5, "/stop") == 0;
    if (strcmp(path, "/simulation/halt") == 0)
        return 0;
    if (strcmp(about->method, "GET") == 0 || strcmp(path, "/solve") == 0)
        return GUARD_WATCH;
    return strncmp(path, "/simulation", 11) == 0 || starts || stops ? GUARD_OPERATE : GUARD_EDIT;
}

static bool may_call(api_call *call)
{
    unsigned role = role_of(&call->route->about);
    if (!(role & ~call->request->roles))
        return true;
    api_refuse(call, 403, "", "this token may not %s",
               role == GUARD_WATCH  ? "watch"
               : role == GUARD_EDIT ? "edit"
                                    : "operate");
    return false;
}

static void answer_unrouted(api_call *call, const char *path, const char *allow)
{
    if (is_later(path))
        api_refuse(call, 501, "", "%.60s comes with a later version", path);
    else if (!*allow)
        api_refuse(call, 404, "",
                   "there is nothing at " API_PREFIX "%.200s: GET " API_PREFIX
                   " lists what there is",
                   path);
    else if (strcmp(call->request->method, "OPTIONS") == 0)
        call->reply->status = 204;
    else
        api_refuse(call, 405, "", "%.20s is not for this address: %s are", call->request->method,
                   allow);
    if (*allow)
        snprintf(call->reply->allow, sizeof call->reply->allow, "%s", allow);
}

size_t api_body_most(const char *method, const char *path)
{
    const char *files = API_PREFIX "/meshes/";
    bool file = strcmp(method, "PUT") == 0 && strncmp(path, files, strlen(files)) == 0;
    return file ? GW_MAX_MESH_BYTES : GW_MAX_BODY_BYTES;
}

bool api_is_halt(const char *method, const char *path)
{
    return strcmp(method, "POST") == 0 && strcmp(path, API_PREFIX "/simulation/halt") == 0;
}

bool api_is_quick(const gw_api *api, const char *method, const char *path)
{
    if (strcmp(method, "GET") == 0 && strcmp(path, API_PREFIX "/simulation") == 0)
        return app_settled(api->app);
    return api_is_halt(method, path);
}

/* Reads query and body; a halt ignores both. */
static bool read_request(api_call *call, const api_route *route)
{
    if (route->about.flags & OP_ALWAYS)
        return true;
    return take_names(call, route) && take_page(call) && read_strands(call) && take_group(call) &&
           take_body(call, route);
}

/* Waits until the edit is on the disk, before it is acknowledged. */
static void await_durable(api_call *call)
{
    gw_error error = {0};
    if (app_keep(call->app, call->ticket, &error))
        return;
    api_pieces_destroy(call->reply->rest);
    call->reply->rest = NULL;
    call->reply->location[0] = call->reply->etag[0] = 0;
    api_error(call, &error);
}

/* True for the answer to an edit, of the document or of saved scenes, that was made. */
static bool is_stored(const api_call *call)
{
    int status = call->reply->status;
    return role_of(&call->route->about) == GUARD_EDIT && status >= 200 && status < 300 &&
           !call->dry_run;
}

/* Before the edit is acknowledged, so that one sync serves both. */
static void store_answer(api_call *call, api_replays *replays)
{
    uint64_t ticket = api_replays_store(replays, call->request, call->reply);
    if (ticket)
        call->ticket = ticket;
}

/* Sets the ETag of an answer that its revision alone does not determine: a hash of its text, behind
 * the revision where it has one. False where the answer cannot be compared. */
static bool tag_text(const api_call *call)
{
    api_reply *reply = call->reply;
    bool has_revision = reply->etag[0];
    if (reply->status != 200)
        return false;
    if (has_revision && call->route->about.flags & OP_STILL)
        return true;
    if (reply->rest) /* a list in pieces: its text is not known as a whole */
        return false;
    char *end = has_revision ? strrchr(reply->etag, '"') : reply->etag;
    uint64_t hash = text_hash(TEXT_HASH, reply->body->data, reply->body->size);
    snprintf(end, sizeof reply->etag - (size_t)(end - reply->etag), "%s%016llx\"",
             has_revision ? "." : "\"t", (unsigned long long)hash);
    return true;
}

/* Replaces an answer that the client already has by 304. */
static void answer_not_modified(api_call *call)
{
    api_reply *reply = call->reply;
    const char *known = call->request->if_none_match;
    if (!tag_text(call) || !known || (strcmp(known, "*") != 0 && !strstr(known, reply->etag)))
        return;
    text_unref(reply->body);
    api_pieces_destroy(reply->rest);
    reply->body = NULL;
    reply->rest = NULL;
    reply->mime = NULL;
    reply->status = 304;
}

void api_handle(const gw_api *api, const api_request *request, api_reply *reply)
{
    assert(api && request && request->method && request->path && reply);
    api_call call = {.app = api->app,
                     .store = api->store,
                     .meshes = api->meshes,
                     .request = request,
                     .reply = reply};
    char allow[64];
    const char *path = request->path;
    if (strncmp(path, API_PREFIX, strlen(API_PREFIX)) == 0)
        path += strlen(API_PREFIX);
    if (strcmp(path, "/") == 0)
        path++;
    wire_memory_clear();
    meshes_use(api->meshes);
    const api_route *route = api_find_route(&call, path, allow);
    if (route && !may_call(&call)) /* before the key: a stored answer belongs to another token */
        return;
    bool always = route && route->about.flags & OP_ALWAYS; /* is carried out again */
    bool keyed = request->idempotency_key && strcmp(request->method, "POST") == 0 && !always;
    if (keyed && !api_replays_begin(api->replays, request, reply))
        return;
    if (!route)
        answer_unrouted(&call, path, allow);
    else if (take_dry_run(&call, route) && read_request(&call, route))
        route->handler(&call);
    if (keyed && route && is_stored(&call))
        store_answer(&call, api->replays);
    if (call.ticket)
        await_durable(&call);
    if (route && wire_is_conditional(&route->about))
        answer_not_modified(&call);
    if (keyed)
        api_replays_end(api->replays, request, reply);
    free(call.snapshot);
    json_decref(call.body);
}

void api_print_routes(void)
{
    int count;
    const api_route *routes = api_routes(&count);
    for (int i = 0; i < count; i++)
        printf("%s " API_PREFIX "%s\n", routes[i].about.method, routes[i].about.path);
}

json_t *api_openapi_document(void)
{
    int count;
    const api_route *routes = api_routes(&count);
    json_t *document = wire_openapi();
    for (int i = 0; i < count; i++)
        wire_openapi_add(document, API_PREFIX, &routes[i].about, api_example(&routes[i].about));
    return document;
}
