/*
 * The route table and the way of a request through it: path, method, content type, body, query,
 * handler. Everything that can be refused without knowing the route's meaning is refused here.
 */
#include "server/api.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/api_call.h"

#define PREFIX "/api/v1"

typedef enum route_flags {
    TAKES_BODY = 1, /* a JSON body must be there */
    CAN_DRY = 2     /* ?dryRun=true is understood */
} route_flags;

typedef struct api_route {
    const char *method, *path; /* {} stands for one segment */
    api_handler *handler;
    int flags;
} api_route;

static const api_route routes[] = {
    {"GET", "/scene", api_scene_get, 0},
    {"PUT", "/scene", api_scene_put, TAKES_BODY | CAN_DRY},
    {"PATCH", "/scene", api_scene_patch, TAKES_BODY | CAN_DRY},
    {"POST", "/scene/undo", api_scene_undo, 0},
    {"POST", "/scene/redo", api_scene_redo, 0},
    {"POST", "/scene/save", api_scene_save, TAKES_BODY},
    {"POST", "/scene/open", api_scene_open, TAKES_BODY},
    {"GET", "/scenes", api_scenes_get, 0},
    {"GET", "/scenes/{file}", api_scenes_file_get, 0},
    {"DELETE", "/scenes/{file}", api_scenes_file_delete, 0},
    {"GET", "/objects", api_objects_get, 0},
    {"POST", "/objects", api_objects_post, TAKES_BODY | CAN_DRY},
    {"GET", "/objects/{id}", api_object_get, 0},
    {"PATCH", "/objects/{id}", api_object_patch, TAKES_BODY | CAN_DRY},
    {"DELETE", "/objects/{id}", api_object_delete, CAN_DRY},
    {"GET", "/features", api_features_get, 0},
    {"POST", "/features", api_features_post, TAKES_BODY | CAN_DRY},
    {"GET", "/features/{object}/{feature}", api_feature_get, 0},
    {"PUT", "/features/{object}/{feature}", api_feature_put, TAKES_BODY | CAN_DRY},
    {"PATCH", "/features/{object}/{feature}", api_feature_patch, TAKES_BODY | CAN_DRY},
    {"DELETE", "/features/{object}/{feature}", api_feature_delete, CAN_DRY},
    {"GET", "/constraints", api_constraints_get, 0},
    {"POST", "/constraints", api_constraints_post, TAKES_BODY | CAN_DRY},
    {"GET", "/constraints/{id}", api_constraint_get, 0},
    {"PATCH", "/constraints/{id}", api_constraint_patch, TAKES_BODY | CAN_DRY},
    {"DELETE", "/constraints/{id}", api_constraint_delete, CAN_DRY},
    {"GET", "/solutions", api_solutions_get, 0},
    {"GET", "/solutions/{object}", api_solution_get, 0},
    {"PATCH", "/solutions/{object}", api_solution_patch, TAKES_BODY | CAN_DRY},
    {"GET", "/devices", api_devices_get, 0},
    {"POST", "/devices", api_devices_post, TAKES_BODY | CAN_DRY},
    {"GET", "/devices/{id}", api_device_get, 0},
    {"PATCH", "/devices/{id}", api_device_patch, TAKES_BODY | CAN_DRY},
    {"DELETE", "/devices/{id}", api_device_delete, CAN_DRY},
    {"GET", "/devices/{id}/operator", api_operator_get, 0},
    {"PUT", "/devices/{id}/operator", api_operator_put, TAKES_BODY | CAN_DRY},
    {"DELETE", "/devices/{id}/operator", api_operator_delete, CAN_DRY},
    {"GET", "/tool", api_tool_get, 0},
    {"PUT", "/tool", api_tool_put, TAKES_BODY | CAN_DRY},
    {"PATCH", "/tool", api_tool_patch, TAKES_BODY | CAN_DRY},
    {"DELETE", "/tool", api_tool_delete, CAN_DRY},
    {"GET", "/tools", api_tools_get, 0},
    {"GET", "/simulation", api_simulation_get, 0},
    {"PUT", "/simulation", api_simulation_put, TAKES_BODY},
    {"POST", "/simulation/step", api_simulation_step, TAKES_BODY},
    {"POST", "/simulation/halt", api_simulation_halt, 0},
    {"POST", "/simulation/arm", api_simulation_arm, 0},
    {"GET", "/events", api_events_get, 0},
    {"POST", "/solve", api_solve, TAKES_BODY},
    {"GET", "/openapi.json", api_openapi, 0},
};

static const int route_count = sizeof routes / sizeof routes[0];

/* Resources that a later version brings. */
static const char *const later[] = {"/recordings", "/mechanisms", NULL};

/* ---- replies ------------------------------------------------------------------------------- */

static const char *title_of(int status)
{
    switch (status) {
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 409: return "Conflict";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 415: return "Unsupported Media Type";
    case 421: return "Misdirected Request";
    case 422: return "Unprocessable Content";
    case 426: return "Upgrade Required";
    case 501: return "Not Implemented";
    case 503: return "Service Unavailable";
    default: return "Internal Server Error";
    }
}

static json_t *problem(int status, const char *detail)
{
    return json_pack("{s:s, s:s, s:i, s:o}", "type", "about:blank", "title", title_of(status),
                     "status", status, "detail", describe_text(detail));
}

static void write_json(api_reply *reply, int status, const char *mime, json_t *value)
{
    char *written = value ? wire_text(value) : NULL;
    json_decref(value);
    text_unref(reply->body);
    reply->body = written ? text_format("%s", written) : NULL;
    reply->status = status;
    reply->mime = mime;
    free(written);
    if (reply->body)
        return;
    reply->status = 500;
    reply->mime = "application/problem+json";
    reply->body = text_format("{\"type\":\"about:blank\",\"title\":\"Internal Server Error\","
                              "\"status\":500,\"detail\":\"the answer could not be written\"}");
}

void api_problem(api_reply *reply, int status, const char *detail)
{
    write_json(reply, status, "application/problem+json", problem(status, detail));
}

void api_json(api_call *call, int status, json_t *value)
{
    write_json(call->reply, status, "application/json", value);
}

void api_part(api_call *call, int status, const app_document *document, json_t *value)
{
    snprintf(call->reply->etag, sizeof call->reply->etag, "\"%llu\"",
             (unsigned long long)document->revision);
    api_json(call, status, value);
}

static int status_of(gw_error_code code)
{
    switch (code) {
    case GW_BAD_INPUT: return 400;
    case GW_NOT_FOUND: return 404;
    case GW_CONFLICT: return 409;
    case GW_INCOMPATIBLE:
    case GW_UNHANDLED: return 422;
    case GW_TOO_LARGE: return 413;
    case GW_NOT_YET: return 400;
    default: return 500;
    }
}

static json_t *problem_of(const gw_error *error, int status)
{
    json_t *value = problem(status, error->message);
    json_object_set_new(value, "errors", json_pack("[{s:o, s:o}]", "pointer",
                                                   describe_text(error->where), "detail",
                                                   describe_text(error->message)));
    return value;
}

void api_error(api_call *call, const gw_error *error)
{
    int status = status_of(error->code);
    write_json(call->reply, status, "application/problem+json", problem_of(error, status));
}

void api_refuse(api_call *call, int status, const char *where, const char *format, ...)
{
    gw_error error = {.code = GW_BAD_INPUT};
    va_list list;
    va_start(list, format);
    vsnprintf(error.message, sizeof error.message, format, list);
    va_end(list);
    snprintf(error.where, sizeof error.where, "%s", where);
    write_json(call->reply, status, "application/problem+json", problem_of(&error, status));
}

void api_location(api_call *call, const char *collection, const char *id)
{
    snprintf(call->reply->location, sizeof call->reply->location, PREFIX "/%s/%s", collection,
             id);
}

/* ---- edits --------------------------------------------------------------------------------- */

/* True where the header names the revision: a list of quoted tags, or a star. */
static bool matches(const char *if_match, uint64_t revision)
{
    char tag[32];
    snprintf(tag, sizeof tag, "\"%llu\"", (unsigned long long)revision);
    const char *found = strstr(if_match, tag);
    bool weak = found && found - if_match >= 2 && found[-1] == '/' && found[-2] == 'W';
    return strcmp(if_match, "*") == 0 || (found && !weak);
}

bool api_begin(api_call *call, app_edit *edit)
{
    gw_error error = {0};
    if (!app_edit_begin(call->app, edit, &error)) {
        api_error(call, &error);
        return false;
    }
    edit->dry_run = call->dry_run;
    const char *if_match = call->request->if_match;
    if (!if_match || matches(if_match, edit->base->revision))
        return true;
    api_refuse(call, 412, "", "If-Match is %.40s, the scene is at revision \"%llu\"", if_match,
               (unsigned long long)edit->base->revision);
    app_edit_end(edit);
    return false;
}

void api_abandon(api_call *call, app_edit *edit, const gw_error *error)
{
    api_error(call, error);
    app_edit_end(edit);
}

/* A pointer into the scene file becomes one into the body. */
static void rebase(gw_error *error, const char *item)
{
    size_t size = item ? strlen(item) : 0;
    char next = size && strncmp(error->where, item, size) == 0 ? error->where[size] : 'x';
    if (next == 0 || next == '/')
        memmove(error->where, error->where + size, strlen(error->where) - size + 1);
}

static void answer_refusal(api_call *call, const app_edit *edit, gw_error *error,
                           const char *item)
{
    /* What a body refers to and is not there is the body's fault, not the address's. */
    int status = error->code == GW_NOT_FOUND ? 400 : status_of(error->code);
    rebase(error, item);
    json_t *value = problem_of(error, status);
    if (edit->failed)
        describe_refusal(value, edit->document->scene, edit->failed);
    write_json(call->reply, status, "application/problem+json", value);
}

static void answer_dry_run(api_call *call, const app_edit *edit, const char *object)
{
    const app_document *would = edit->document;
    int index = object ? gw_scene_object(would->scene, object) : -1;
    const gw_placement *placement = index < 0 ? NULL : gw_layout_of(would->layout, index);
    if (placement)
        api_part(call, 200, edit->base,
                 describe_solution(would->scene, placement, &would->layout->poses[index]));
    else
        api_part(call, 200, edit->base,
                 describe_solutions(would->scene, would->layout, would->layout->poses));
}

bool api_commit(api_call *call, app_edit *edit, const char *item, const char *object)
{
    gw_error error = {0};
    bool done = app_edit_commit(edit, &error);
    if (done && !call->dry_run) {
        snprintf(call->reply->etag, sizeof call->reply->etag, "\"%llu\"",
                 (unsigned long long)edit->document->revision);
        return true;
    }
    if (done)
        answer_dry_run(call, edit, object);
    else
        answer_refusal(call, edit, &error, item);
    app_edit_end(edit);
    return false;
}

/* ---- the way in ---------------------------------------------------------------------------- */

static int hex(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)tolower((unsigned char)c);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Percent-decodes `size` bytes; false where it is malformed, has a zero, or does not fit. */
static bool decode(const char *in, size_t size, char *out, size_t room)
{
    size_t used = 0;
    for (size_t i = 0; i < size; i++) {
        int c = (unsigned char)in[i];
        if (c == '%') {
            int high = i + 2 < size ? hex(in[i + 1]) : -1;
            int low = high >= 0 ? hex(in[i + 2]) : -1;
            if (low < 0)
                return false;
            c = high * 16 + low;
            i += 2;
        }
        if (c == 0 || used + 1 >= room)
            return false;
        out[used++] = (char)c;
    }
    out[used] = 0;
    return true;
}

bool api_query(const api_call *call, const char *name, char *out, size_t size)
{
    const api_request *request = call->request;
    for (int i = 0; i < request->query_count; i++)
        if (strcmp(request->query[i].name, name) == 0) {
            const char *value = request->query[i].value ? request->query[i].value : "";
            return decode(value, strlen(value), out, size);
        }
    return false;
}

/* Matches a path against a pattern, taking its parameters out. */
static bool match(const char *pattern, const char *path, char part[2][GW_MAX_ID + 1])
{
    int count = 0;
    while (*pattern && *path) {
        if (*pattern == '{') {
            size_t size = strcspn(path, "/");
            if (size == 0 || count == 2 || !decode(path, size, part[count++], GW_MAX_ID + 1))
                return false;
            pattern += strcspn(pattern, "}") + 1;
            path += size;
        } else if (*pattern++ != *path++)
            return false;
    }
    return *pattern == 0 && *path == 0;
}

/* The route, or NULL with the methods that the path would take in `allow` ("" where the path is
 * unknown). */
static const api_route *find_route(api_call *call, const char *path, char allow[64])
{
    allow[0] = 0;
    const api_route *found = NULL;
    const char *method = call->request->method;
    bool head = strcmp(method, "HEAD") == 0;
    for (int i = 0; i < route_count; i++) {
        char part[2][GW_MAX_ID + 1] = {"", ""};
        if (!match(routes[i].path, path, part))
            continue;
        if (strcmp(routes[i].method, head ? "GET" : method) == 0) {
            found = &routes[i];
            memcpy(call->part, part, sizeof part);
        }
        size_t used = strlen(allow);
        snprintf(allow + used, 64 - used, "%s%s%s", used ? ", " : "", routes[i].method,
                 strcmp(routes[i].method, "GET") == 0 ? ", HEAD" : "");
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

/* Reads the body where the route takes one; false: the reply is set. */
static bool take_body(api_call *call, const api_route *route)
{
    const api_request *request = call->request;
    bool takes = route->flags & TAKES_BODY;
    if (request->size > 0 && !is_json_type(request->content_type)) {
        api_refuse(call, 415, "", "the content type is %.60s: application/json is right",
                   request->content_type ? request->content_type : "missing");
        return false;
    }
    if (request->size == 0 && !takes)
        return true;
    gw_error error = {0};
    call->body = wire_parse(request->body ? request->body : "", request->size, &error);
    if (!call->body) {
        api_error(call, &error);
        return false;
    }
    if (!takes && json_object_size(call->body) > 0) {
        api_refuse(call, 400, "", "this takes no body");
        return false;
    }
    return true;
}

static bool take_query(api_call *call, const api_route *route)
{
    char value[16] = "";
    bool given = false;
    for (int i = 0; i < call->request->query_count; i++)
        given = given || strcmp(call->request->query[i].name, "dryRun") == 0;
    if (!given)
        return true;
    bool read = api_query(call, "dryRun", value, sizeof value);
    call->dry_run = strcmp(value, "true") == 0;
    if (!read || (!call->dry_run && strcmp(value, "false") != 0)) {
        api_refuse(call, 400, "", "dryRun is true or false");
        return false;
    }
    if (call->dry_run && !(route->flags & CAN_DRY)) {
        api_refuse(call, 400, "", "this route has no dry run");
        return false;
    }
    return true;
}

static void answer_unrouted(api_call *call, const char *path, const char *allow)
{
    if (is_later(path))
        api_refuse(call, 501, "", "%.60s comes with a later version", path);
    else if (!*allow)
        api_refuse(call, 404, "", "there is nothing at " PREFIX "%.200s", path);
    else if (strcmp(call->request->method, "OPTIONS") == 0)
        call->reply->status = 204;
    else
        api_refuse(call, 405, "", "%.20s is not for this address: %s are",
                   call->request->method, allow);
    if (*allow)
        snprintf(call->reply->allow, sizeof call->reply->allow, "%s", allow);
}

void api_handle(const gw_api *api, const api_request *request, api_reply *reply)
{
    api_call call = {
        .app = api->app, .store = api->store, .request = request, .reply = reply};
    char allow[64];
    const char *path = request->path;
    if (strncmp(path, PREFIX, strlen(PREFIX)) == 0)
        path += strlen(PREFIX);
    const api_route *route = find_route(&call, path, allow);
    if (!route)
        answer_unrouted(&call, path, allow);
    else if (take_query(&call, route) && take_body(&call, route))
        route->handler(&call);
    json_decref(call.body);
}

void api_print_routes(void)
{
    for (int i = 0; i < route_count; i++)
        printf("%s " PREFIX "%s\n", routes[i].method, routes[i].path);
}
