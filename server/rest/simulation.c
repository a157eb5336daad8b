/*
 * The running simulation, its events, and the routes that need no scene.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/cli/version.h"
#include "server/rest/call.h"
#include "server/schema/field.h"

static void answer_simulation(api_call *call)
{
    api_text(call, 200, app_simulation_text(call->app));
}

static void answer_when(api_call *call, bool done, const gw_error *error)
{
    if (done)
        answer_simulation(call);
    else
        api_error(call, error);
}

void api_simulation_get(api_call *call)
{
    answer_simulation(call);
}

void api_simulation_put(api_call *call)
{
    static const char *const allowed[] = {"state", NULL};
    gw_error error = {0};
    if (!api_only(call, allowed))
        return;
    const char *name = json_string_value(json_object_get(call->body, "state"));
    for (int i = 0; name && wire_run_states[i]; i++)
        if (strcmp(wire_run_states[i], name) == 0) {
            answer_when(call, app_set_state(call->app, (gw_run_state)i, &error), &error);
            return;
        }
    api_refuse(call, 400, "/state", "\"%.40s\": a state is running, paused or stopped",
               name ? name : "");
}

void api_simulation_step(api_call *call)
{
    static const char *const allowed[] = {"ticks", NULL};
    gw_error error = {0};
    if (!api_only(call, allowed))
        return;
    const json_t *ticks = json_object_get(call->body, "ticks");
    const double most = 9007199254740992; /* 2^53: up to here doubles represent all whole numbers */
    if (!wire_is_whole(ticks, 1, most)) {
        api_refuse(call, 400, "/ticks", "ticks is a whole number from 1");
        return;
    }
    answer_when(call, app_step(call->app, (uint64_t)json_number_value(ticks), &error), &error);
}

void api_simulation_halt(api_call *call)
{
    const api_request *request = call->request;
    char text[WIRE_HALTED_BYTES];
    bool body = request->size > 0 && !wire_is_empty_object(request->body);
    bool repeated = request->repeated;
    if (!request->halted || request->query_count > 0)
        repeated = !app_halt_latch(call->app, request->press, request->by);
    app_halt_await(call->app);
    gw_halt_state state = app_halt_state(call->app);
    wire_halted_text(&state, body, request->query_count > 0, text);
    call->reply->replayed = repeated;
    api_text(call, 200, text_format("%s", text));
}

void api_simulation_arm(api_call *call)
{
    gw_error error = {0};
    const api_request *request = call->request;
    answer_when(call, app_arm(call->app, request->halt_seen, request->by, &error), &error);
}

void api_loop_get(api_call *call)
{
    gw_loop_figures figures;
    app_loop_figures(call->app, &figures);
    api_json(call, 200, wire_loop_figures(&figures));
}

/* ---- events -------------------------------------------------------------------------------- */

void api_events_get(api_call *call)
{
    char value[API_MAX_VALUE];
    uint64_t since = 0;
    if (api_query(call, "since", value, sizeof value) && !api_whole(value, &since)) {
        api_refuse(call, 400, "", "since is %.40s, must be the sequence number of an event", value);
        return;
    }
    uint64_t last = app_log_last(call->app), seq = app_log_first(call->app);
    json_t *list = json_array();
    if (since >= seq)
        seq = since < last ? since + 1 : last + 1; /* a number of the future: none */
    for (; seq <= last; seq++) {
        gw_text *event = app_log_get(call->app, seq);
        if (event)
            json_array_append_new(list, json_loads(event->data, 0, NULL));
        text_unref(event);
    }
    api_json(call, 200, list);
}

/* ---- routes without a scene ---------------------------------------------------------------- */

void api_solve(api_call *call)
{
    gw_error error = {0};
    wire_problem *problem = wire_get_problem(call->body, &error);
    if (!problem) {
        api_error(call, &error);
        return;
    }
    json_t *answered = wire_solve(problem, &error);
    api_made(call, answered, &error);
    wire_problem_destroy(problem);
}

void api_surface(api_call *call)
{
    gw_error error = {0};
    json_t *made = wire_make_surface(call->body, &error);
    api_made(call, made, &error);
}

void api_openapi(api_call *call)
{
    api_json(call, 200, api_openapi_document());
}

/* Adds a route to the index: a new row for its path, or one more method in the path's row. */
static void list_route(json_t *list, const wire_operation *about)
{
    size_t count = json_array_size(list);
    json_t *last = count ? json_array_get(list, count - 1) : NULL, *path;
    path = json_sprintf(API_PREFIX "%s", about->path);
    if (!json_equal(json_object_get(last, "path"), path)) {
        json_array_append_new(list, json_pack("{s:O, s:s, s:[]}", "path", path, "summary",
                                              about->summary, "methods"));
        last = json_array_get(list, count);
    }
    json_array_append_new(json_object_get(last, "methods"), json_string(about->method));
    json_decref(path);
}

void api_index(api_call *call)
{
    int count;
    const api_route *routes = api_routes(&count);
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        list_route(list, &routes[i].about);
    api_json(call, 200,
             json_pack("{s:s, s:s, s:s, s:s, s:s, s:o}", "version", GUIDEWAY_VERSION, "openapi",
                       API_PREFIX "/openapi.json", "docs", "/docs", "problems", "/problems",
                       "stream", "/ws", "resources", list));
}
