/*
 * The route table and the way of a request through it: path, method, content type, body, query,
 * handler. Everything that can be refused without knowing the route's meaning is refused here.
 */
#include "server/rest/api.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "server/rest/api_call.h"

typedef enum route_flags {
    TAKES_BODY = 1, /* a JSON body must be there */
    CAN_DRY = 2,    /* ?dryRun=true is understood */
    TAKES_FILE = 4  /* the body is no JSON */
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
    {"GET", "/drivers", api_drivers_get, 0},
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
    {"GET", "/mechanisms", api_mechanisms_get, 0},
    {"POST", "/mechanisms", api_mechanisms_post, TAKES_BODY | CAN_DRY},
    {"GET", "/mechanisms/{id}", api_mechanism_get, 0},
    {"PATCH", "/mechanisms/{id}", api_mechanism_patch, TAKES_BODY | CAN_DRY},
    {"DELETE", "/mechanisms/{id}", api_mechanism_delete, CAN_DRY},
    {"GET", "/mechanisms/{id}/links", api_links_get, 0},
    {"POST", "/mechanisms/{id}/links", api_links_post, TAKES_BODY | CAN_DRY},
    {"GET", "/mechanisms/{id}/links/{link}", api_link_get, 0},
    {"PATCH", "/mechanisms/{id}/links/{link}", api_link_patch, TAKES_BODY | CAN_DRY},
    {"DELETE", "/mechanisms/{id}/links/{link}", api_link_delete, CAN_DRY},
    {"GET", "/mechanisms/{id}/joints/{link}/motor", api_motor_get, 0},
    {"PUT", "/mechanisms/{id}/joints/{link}/motor", api_motor_put, TAKES_BODY | CAN_DRY},
    {"DELETE", "/mechanisms/{id}/joints/{link}/motor", api_motor_delete, CAN_DRY},
    {"GET", "/materials", api_materials_get, 0},
    {"POST", "/materials", api_materials_post, TAKES_BODY | CAN_DRY},
    {"GET", "/materials/{id}", api_material_get, 0},
    {"PATCH", "/materials/{id}", api_material_patch, TAKES_BODY | CAN_DRY},
    {"DELETE", "/materials/{id}", api_material_delete, CAN_DRY},
    {"GET", "/contact", api_contact_get, 0},
    {"PATCH", "/contact", api_contact_patch, TAKES_BODY | CAN_DRY},
    {"GET", "/contacts", api_contacts_get, 0},
    {"GET", "/meshes", api_meshes_get, 0},
    {"GET", "/meshes/{name}", api_mesh_get, 0},
    {"PUT", "/meshes/{name}", api_mesh_put, TAKES_FILE},
    {"DELETE", "/meshes/{name}", api_mesh_delete, 0},
    {"GET", "/simulation", api_simulation_get, 0},
    {"PUT", "/simulation", api_simulation_put, TAKES_BODY},
    {"POST", "/simulation/step", api_simulation_step, TAKES_BODY},
    {"POST", "/simulation/halt", api_simulation_halt, 0},
    {"POST", "/simulation/arm", api_simulation_arm, 0},
    {"GET", "/tasks", api_tasks_get, 0},
    {"POST", "/tasks", api_tasks_post, TAKES_BODY | CAN_DRY},
    {"GET", "/tasks/{id}", api_task_get, 0},
    {"PUT", "/tasks/{id}", api_task_put, TAKES_BODY | CAN_DRY},
    {"PATCH", "/tasks/{id}", api_task_patch, TAKES_BODY | CAN_DRY},
    {"DELETE", "/tasks/{id}", api_task_delete, CAN_DRY},
    {"GET", "/tasks/{id}/progress", api_task_progress_get, 0},
    {"POST", "/tasks/{id}/start", api_task_start, 0},
    {"POST", "/tasks/{id}/stop", api_task_stop, 0},
    {"GET", "/events", api_events_get, 0},
    {"POST", "/solve", api_solve, TAKES_BODY},
    {"GET", "/openapi.json", api_openapi, 0},
};

static const int route_count = sizeof routes / sizeof routes[0];

/* Resources that a later version brings. */
static const char *const later[] = {"/recordings", NULL};

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
    if (route->flags & TAKES_FILE)
        return true;
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
    if (!json_is_object(call->body)) {
        api_refuse(call, 400, "", "a body is a JSON object");
        return false;
    }
    if (!takes && json_object_size(call->body) > 0) {
        api_refuse(call, 400, "", "this takes no body");
        return false;
    }
    return true;
}

/* ?strands=N */
static bool take_strands(api_call *call)
{
    char value[16] = "", *end;
    if (!api_query(call, "strands", value, sizeof value))
        return true;
    long n = strtol(value, &end, 10);
    if (*end || end == value || n < 1 || n > GW_FREEDOM_PATH_MAX) {
        api_refuse(call, 400, "", "strands is a whole number from 1 to %d", GW_FREEDOM_PATH_MAX);
        return false;
    }
    call->strands = (int)n;
    return true;
}

static bool take_dry_run(api_call *call, const api_route *route)
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
        api_refuse(call, 404, "", "there is nothing at " API_PREFIX "%.200s", path);
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

void api_handle(const gw_api *api, const api_request *request, api_reply *reply)
{
    api_call call = {.app = api->app,
                     .store = api->store,
                     .meshes = api->meshes,
                     .request = request,
                     .reply = reply};
    char allow[64];
    const char *path = request->path;
    if (strncmp(path, API_PREFIX, strlen(API_PREFIX)) == 0)
        path += strlen(API_PREFIX);
    wire_memory_clear();
    meshes_use(api->meshes);
    const api_route *route = find_route(&call, path, allow);
    if (!route)
        answer_unrouted(&call, path, allow);
    else if (take_dry_run(&call, route) && take_strands(&call) && take_body(&call, route))
        route->handler(&call);
    json_decref(call.body);
}

void api_print_routes(void)
{
    for (int i = 0; i < route_count; i++)
        printf("%s " API_PREFIX "%s\n", routes[i].method, routes[i].path);
}
