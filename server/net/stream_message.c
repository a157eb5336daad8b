/*
 * Messages of the stream's clients: subscriptions, drags and pushes of tools and free objects,
 * which client holds what, and the end of its drags when a client disconnects. A message is checked
 * whole before it has any effect; an invalid one is answered with an `error`. On the stream's
 * thread.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/app/describe.h"
#include "server/app/diff.h"
#include "server/net/stream_private.h"
#include "server/schema/wire.h"

/* A client's message while it is handled; `error` says what is wrong with it. */
typedef struct stream_request {
    gw_stream *stream;
    stream_client *client;
    wire_message said;
    gw_error error;
} stream_request;

typedef bool handler(stream_request *now);

void stream_client_name(const stream_client *client, char by[PEER_NAME])
{
    struct sockaddr_storage peer = peer_address(lws_get_socket_fd(client->wsi));
    peer_name(&peer, "stream", by);
}

/* ---- answers ------------------------------------------------------------------------------- */

static void reply_text(stream_client *client, gw_text *text)
{
    if (text && client->reply_count < STREAM_REPLIES)
        client->replies[client->reply_count++] = text;
    else {
        text_unref(text);
        client->close = STREAM_CLOSE_TOO_MANY;
    }
    stream_ask(client);
}

static void send_reply(stream_client *client, json_t *value)
{
    reply_text(client, wire_text(value));
}

static void reply_error(stream_client *client, const gw_error *error, const json_t *id)
{
    wire_memory_clear();
    json_t *detail = describe_text(error->message), *pointer = describe_text(error->where);
    json_t *value = wire_refusal(json_string_value(detail), json_string_value(pointer), id);
    json_decref(detail);
    json_decref(pointer);
    send_reply(client, value);
}

/* ---- subscriptions ------------------------------------------------------------------------- */

static void set_samples(gw_stream *stream, stream_client *client, bool on)
{
    if (client->samples == on)
        return;
    client->samples = on;
    stream->sample_clients += on ? 1 : -1;
    if (on && stream->sample_clients == 1)
        app_record(stream->app, true);
    if (stream->sample_clients == 0)
        app_record(stream->app, false);
    client->sample_next = stream->row_count;
}

static void answer_samples(const stream_request *now)
{
    app_document *document = app_document_get(now->stream->app);
    int columns = now->client->columns_sent = wire_sample_columns(document->link_count);
    app_document_put(document);
    send_reply(now->client, wire_subscribed(WIRE_SAMPLES, wire_sample_names(columns)));
}

static void answer_wrenches(const stream_request *now)
{
    gw_stream *stream = now->stream;
    app_document *document = app_document_get(stream->app);
    bool named = stream_name_wrenches(stream, document);
    app_document_put(document);
    now->client->wrenches_sent = stream->wrenches_named;
    reply_text(now->client, named ? text_ref(stream->wrench_names) : NULL);
}

static stream_period so_often(double hz)
{
    return (stream_period){.wanted = true, .period_us = (uint64_t)(1e6 / hz)};
}

static bool on_subscribe(stream_request *now)
{
    switch (now->said.stream) {
    case WIRE_POSES:
        now->client->poses = so_often(now->said.hz);
        send_reply(now->client, wire_subscribed(WIRE_POSES, NULL));
        return true;
    case WIRE_SAMPLES:
        set_samples(now->stream, now->client, true);
        answer_samples(now);
        return true;
    case WIRE_WRENCHES:
        now->client->wrenches = so_often(now->said.hz);
        answer_wrenches(now);
        return true;
    }
    return true;
}

static bool on_unsubscribe(stream_request *now)
{
    stream_client *client = now->client;
    if (now->said.stream == WIRE_SAMPLES)
        set_samples(now->stream, client, false);
    else if (now->said.stream == WIRE_WRENCHES)
        client->wrenches = (stream_period){0};
    else
        client->poses = (stream_period){.period_us = client->poses.period_us};
    return true;
}

static bool on_auth(stream_request *now)
{
    struct sockaddr_storage peer = peer_address(lws_get_socket_fd(now->client->wsi));
    unsigned roles;
    guard_answer judged = guard_judge(now->stream->guard, now->said.token, &peer, &roles);
    if (judged == GUARD_WRONG) {
        char by[PEER_NAME];
        stream_client_name(now->client, by);
        app_log(now->stream->app, "token", "warning", "A wrong token was refused: %s.", by);
    }
    if (judged != GUARD_WELCOME) { /* its drags end while it still has the former roles */
        stream_let_go(now->stream, now->client);
        now->client->roles = 0;
        now->client->close = STREAM_CLOSE_NO_TOKEN;
        stream_ask(now->client);
        return true;
    }
    if (!(roles & GUARD_OPERATE)) { /* while it has its former roles, which allow it */
        stream_let_go(now->stream, now->client);
        stream_lease_give_back(now->stream, now->client);
    }
    now->client->authorised = true;
    now->client->roles = roles;
    stream_ask(now->client);
    return true;
}

/* ---- the hand -------------------------------------------------------------------------------- */

static bool send_hand(stream_request *now, const gw_command *command)
{
    return app_send(now->stream->app, command, &now->error);
}

/* ---- the addressed body ---------------------------------------------------------------------- */

/* A command to the tool or the body that the message names. */
static gw_command command_of(const stream_request *now, gw_command_kind kind)
{
    gw_command command = {.kind = kind, .tool = now->said.tool};
    strcpy(command.object, now->said.object);
    return command;
}

/* Only a free object, or one in a system of bodies, can be dragged without a tool; a body that
 * several tools hold has several hands at it, of which one is meant. */
static bool can_be_taken(stream_request *now, const app_document *document, const char *id)
{
    const gw_scene *scene = document->scene;
    int body = gw_scene_body_number(scene, id);
    if (body < 0) {
        gw_fail(&now->error, GW_NOT_FOUND, "/object", "there is no object %s", id);
        return gw_error_names(&now->error, scene->objects, scene->object_count,
                              sizeof *scene->objects);
    }
    int tools = gw_scene_tools_at(scene, body);
    if (tools > 1)
        return gw_fail(&now->error, GW_CONFLICT, "/object",
                       "%s is held by %d tools: name one of them as `tool`", id, tools);
    if (document->layout->system_of[body] >= 0 || body >= scene->object_count)
        return true;
    int tool = app_tool_of(scene, id);
    if (tool >= 0)
        return gw_fail(&now->error, GW_CONFLICT, "/object", "%s is held by tool %d: name that tool",
                       id, tool);
    return scene->objects[body].free ||
           gw_fail(&now->error, GW_CONFLICT, "/object",
                   "%s does not move by itself: make it free, join it to what does, or hold it by "
                   "a tool",
                   id);
}

/* ---- drags and pushes by client -------------------------------------------------------------- */

static stream_hold *grip_of(gw_stream *stream, const gw_command *command, gw_command_kind kind)
{
    for (int i = 0; i < STREAM_GRIPS; i++) {
        stream_hold *g = &stream->grips[i];
        if (g->client && g->kind == kind && g->tool == command->tool &&
            strcmp(g->object, command->object) == 0)
            return g;
    }
    return NULL;
}

static bool take_grip(stream_request *now, const gw_command *command)
{
    stream_hold *g = grip_of(now->stream, command, command->kind);
    for (int i = 0; i < STREAM_GRIPS && !g; i++)
        if (!now->stream->grips[i].client)
            g = &now->stream->grips[i];
    if (!g)
        return gw_fail(&now->error, GW_CONFLICT, "", "%d things are dragged or pushed: no more",
                       STREAM_GRIPS);
    *g = (stream_hold){.client = now->client, .kind = command->kind, .tool = command->tool};
    strcpy(g->object, command->object);
    if (g->kind == GW_COMMAND_PUSH)
        g->until_us = stream_now_us() + STREAM_PUSH_US;
    return true;
}

static bool held_by_other(stream_request *now, const gw_command *command, gw_command_kind kind)
{
    const stream_hold *g = grip_of(now->stream, command, kind);
    if (!g || g->client == now->client)
        return false;
    if (command->object[0])
        gw_fail(&now->error, GW_CONFLICT, "/object", "another operator holds %s", command->object);
    else
        gw_fail(&now->error, GW_CONFLICT, "/tool", "another operator holds tool %d", command->tool);
    return true;
}

/* True where this client may take the object or tool. A recorded drag that the loop does not know,
 * since another scene was opened, does not count. */
static bool may_take(stream_request *now, const gw_command *command, gw_command_kind kind)
{
    app_document *document = app_document_get(now->stream->app);
    int body = command->object[0] ? gw_scene_body_number(document->scene, command->object) : -1;
    bool dragged = (body >= 0 || !command->object[0]) &&
                   app_dragged(now->stream->app, document, command->tool, body);
    bool there = !command->object[0] || command->kind == GW_COMMAND_RELEASE ||
                 can_be_taken(now, document, command->object);
    app_document_put(document);
    return there && ((kind == GW_COMMAND_DRAG && !dragged) || !held_by_other(now, command, kind));
}

/* ---- messages -------------------------------------------------------------------------------- */

static bool at_latched(stream_request *now, const gw_command *command)
{
    app_document *document = app_document_get(now->stream->app);
    bool latched = app_latched(document, command->tool, command->object);
    app_document_put(document);
    return latched;
}

/* Only its operator commands force at a latched device; this message takes or renews the lease. */
static bool send_operator_command(stream_request *now, const gw_command *command)
{
    return !at_latched(now, command) ||
           stream_lease_take(now->stream, now->client, false, &now->error);
}

static bool on_drag(stream_request *now)
{
    gw_command command = command_of(now, GW_COMMAND_DRAG);
    command.drag.point = now->said.point;
    command.drag.target = now->said.target;
    command.drag.turn = now->said.on;
    return may_take(now, &command, GW_COMMAND_DRAG) && send_operator_command(now, &command) &&
           send_hand(now, &command) && take_grip(now, &command);
}

/* True while a task runs: a client without a drag then has nothing to release. */
static bool task_runs(const stream_request *now)
{
    char id[GW_MAX_ID + 1];
    gw_task_progress progress;
    return app_task_last(now->stream->app, id, &progress) && progress.state == GW_TASK_RUNNING;
}

static bool on_release(stream_request *now)
{
    gw_command command = command_of(now, GW_COMMAND_RELEASE);
    if (!may_take(now, &command, GW_COMMAND_DRAG))
        return false;
    stream_hold *g = grip_of(now->stream, &command, GW_COMMAND_DRAG);
    if (!g && !command.object[0] && task_runs(now))
        return true;
    if (g)
        g->client = NULL;
    stream_lease_rest(now->stream, now->client);
    return send_hand(now, &command);
}

/* A push of zero ends the push, and at a latched device the lease that it held. */
static bool end_push(stream_request *now, const gw_command *command)
{
    stream_hold *g = grip_of(now->stream, command, GW_COMMAND_PUSH);
    if (g)
        g->client = NULL;
    stream_lease_rest(now->stream, now->client);
    return send_hand(now, command);
}

static bool on_push(stream_request *now)
{
    gw_command command = command_of(now, GW_COMMAND_PUSH);
    command.push = (gw_wrench){now->said.force, now->said.torque};
    if (!may_take(now, &command, GW_COMMAND_PUSH))
        return false;
    bool none = gw_norm(command.push.f) == 0 && gw_norm(command.push.t) == 0;
    if (none && at_latched(now, &command))
        return end_push(now, &command);
    return send_operator_command(now, &command) && send_hand(now, &command) &&
           take_grip(now, &command);
}

static bool on_lease(stream_request *now)
{
    if (now->said.on || !now->said.says_on)
        return stream_lease_take(now->stream, now->client, true, &now->error);
    stream_lease_give_back(now->stream, now->client);
    return true;
}

/* True unless another client operates the latched device of the clutch. */
static bool may_clutch(stream_request *now, const gw_command *command)
{
    return !at_latched(now, command) || stream_lease_open(now->stream, now->client, &now->error);
}

static bool on_clutch(stream_request *now)
{
    gw_command command = command_of(now, GW_COMMAND_CLUTCH);
    command.clutch = now->said.on;
    return may_clutch(now, &command) && send_hand(now, &command);
}

static bool on_halt(stream_request *now)
{
    char by[GW_HALT_BY];
    stream_client_name(now->client, by);
    (void)app_halt_latch(now->stream->app, now->said.press, by);
    return true;
}

/* ---- ends of drags and pushes ---------------------------------------------------------------- */

/* Releases the drag, or sets the push to zero. */
static void end_grip(gw_stream *stream, stream_hold *g)
{
    gw_command command = {.kind = g->kind == GW_COMMAND_DRAG ? GW_COMMAND_RELEASE : GW_COMMAND_PUSH,
                          .tool = g->tool};
    strcpy(command.object, g->object);
    const stream_client *client = g->client;
    g->client = NULL;
    app_send(stream->app, &command, NULL);
    stream_lease_rest(stream, client);
}

void stream_expire_pushes(gw_stream *stream, uint64_t now_us)
{
    for (int i = 0; i < STREAM_GRIPS; i++) {
        stream_hold *g = &stream->grips[i];
        if (g->client && g->kind == GW_COMMAND_PUSH && now_us > g->until_us &&
            !stream_lease_guards(stream, g))
            end_grip(stream, g);
    }
}

void stream_let_go(gw_stream *stream, stream_client *client)
{
    for (int i = 0; i < STREAM_GRIPS; i++)
        if (stream->grips[i].client == client)
            end_grip(stream, &stream->grips[i]);
}

/* ---- dispatch ------------------------------------------------------------------------------ */

static const struct {
    handler *handle;
    unsigned role; /* 0: any */
} operations[WIRE_OPS] = {
    [WIRE_AUTH] = {on_auth, 0},
    [WIRE_SUBSCRIBE] = {on_subscribe, 0},
    [WIRE_UNSUBSCRIBE] = {on_unsubscribe, 0},
    [WIRE_DRAG] = {on_drag, GUARD_OPERATE},
    [WIRE_RELEASE] = {on_release, GUARD_OPERATE},
    [WIRE_PUSH] = {on_push, GUARD_OPERATE},
    [WIRE_LEASE] = {on_lease, GUARD_OPERATE},
    [WIRE_CLUTCH] = {on_clutch, GUARD_OPERATE},
    [WIRE_HALT] = {on_halt, 0},
};

static bool dispatch_message(stream_request *now, const json_t *json)
{
    const char *name = json_string_value(json_object_get(json, "op"));
    int op = 0;
    while (op < WIRE_OPS && !(name && strcmp(wire_ops[op], name) == 0))
        op++;
    if (!now->client->authorised && op != WIRE_AUTH) {
        now->client->close = STREAM_CLOSE_NO_TOKEN;
        stream_ask(now->client);
        return true;
    }
    if (op < WIRE_OPS && operations[op].role & ~now->client->roles)
        return gw_fail(&now->error, GW_CONFLICT, "/op",
                       "this token may not operate: %s is for those that may", name);
    return wire_get_message(json, &now->said, &now->error) && operations[op].handle(now);
}

void stream_message(gw_stream *stream, stream_client *client, const char *data, size_t size)
{
    assert(stream && client && data);
    stream_request now = {.stream = stream, .client = client};
    wire_memory_clear();
    json_t *json = wire_parse(data, size, &now.error);
    if (!json || !dispatch_message(&now, json))
        reply_error(client, &now.error, json_object_get(json, "id"));
    json_decref(json);
}
