/*
 * What comes in on the stream: subscriptions, and a person's hand: drags and pushes of tools and
 * free objects, who holds what, and what is let go when a client goes. Every message is checked
 * whole before it does anything; what is wrong is answered with an `error`. On the stream's thread.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/app/describe.h"
#include "server/net/stream_private.h"
#include "server/schema/wire.h"

#define REACH_MAX 1e4 /* m: a target or a grabbed point beyond is a mistake */
#define FORCE_MAX 1e4 /* N and N m of a push: the same */

/* A client's message at work; what is wrong with it goes into `error`. */
typedef struct stream_request {
    gw_stream *stream;
    stream_client *client;
    const json_t *json;
    gw_error error;
} stream_request;

typedef bool handler(stream_request *now);

/* ---- answers ------------------------------------------------------------------------------- */

static void reply(stream_client *client, json_t *value)
{
    gw_text *text = wire_text(value);
    if (text && client->reply_count < STREAM_REPLIES)
        client->replies[client->reply_count++] = text;
    else {
        text_unref(text);
        client->close = STREAM_CLOSE_TOO_MANY;
    }
    lws_callback_on_writable(client->wsi);
}

static void reply_error(stream_client *client, const gw_error *error, const json_t *id)
{
    wire_memory_clear();
    json_t *value =
        json_pack("{s:s, s:o, s:o}", "op", "error", "detail", describe_text(error->message),
                  "pointer", describe_text(error->where));
    if (id)
        json_object_set(value, "id", (json_t *)(size_t)id);
    reply(client, value);
}

/* ---- members ------------------------------------------------------------------------------- */

static const json_t *member(const stream_request *now, const char *name)
{
    return json_object_get(now->json, name);
}

static bool only(stream_request *now, const char *const *allowed)
{
    return wire_only(now->json, "", allowed, &now->error);
}

static bool get_vec3(stream_request *now, const char *name, bool needed, double most, gw_vec3 *v)
{
    char at[32];
    const json_t *value = member(now, name);
    snprintf(at, sizeof at, "/%s", name);
    if (!value && !needed)
        return true;
    if (!value)
        return gw_fail(&now->error, GW_BAD_INPUT, at, "%s must be given: [x,y,z]", name);
    if (!wire_get_vec3(value, at, v, &now->error))
        return false;
    return gw_norm(*v) <= most ||
           gw_fail(&now->error, GW_BAD_INPUT, at, "%s is longer than %g", name, most);
}

static bool get_bool(stream_request *now, const char *name, bool needed, bool *out)
{
    char at[32];
    const json_t *value = member(now, name);
    snprintf(at, sizeof at, "/%s", name);
    if (value ? !json_is_boolean(value) : needed)
        return gw_fail(&now->error, GW_BAD_INPUT, at, "%s is true or false", name);
    if (value)
        *out = json_is_true(value);
    return true;
}

/* ---- subscriptions ------------------------------------------------------------------------- */

static bool get_stream(stream_request *now, bool *samples)
{
    const char *name = json_string_value(member(now, "stream"));
    *samples = name && strcmp(name, "samples") == 0;
    return *samples || (name && strcmp(name, "poses") == 0) ||
           gw_fail(&now->error, GW_BAD_INPUT, "/stream", "a stream is poses or samples");
}

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

static void answer_subscription(const stream_request *now, bool samples)
{
    if (!samples) {
        reply(now->client, json_pack("{s:s, s:s}", "op", "subscribed", "stream", "poses"));
        return;
    }
    app_document *document = app_document_get(now->stream->app);
    now->client->columns_told = wire_sample_columns(document->link_count);
    app_document_put(document);
    reply(now->client, stream_columns(now->client->columns_told));
}

static bool on_subscribe(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "stream", "hz", NULL};
    bool samples;
    const json_t *hz = member(now, "hz");
    double rate = hz ? json_number_value(hz) : 60;
    if (!only(now, allowed) || !get_stream(now, &samples))
        return false;
    if (hz && (samples || !json_is_number(hz) || rate < 1 || rate > 250))
        return gw_fail(&now->error, GW_BAD_INPUT, "/hz",
                       samples ? "samples come as they are made: no hz"
                               : "poses come 1 to 250 times a second");
    stream_client *client = now->client;
    if (samples)
        set_samples(now->stream, client, true);
    else {
        client->poses = true;
        client->pose_period_us = (uint64_t)(1e6 / rate);
        client->pose_next_us = 0;
    }
    answer_subscription(now, samples);
    return true;
}

static bool on_unsubscribe(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "stream", NULL};
    bool samples;
    if (!only(now, allowed) || !get_stream(now, &samples))
        return false;
    if (samples)
        set_samples(now->stream, now->client, false);
    else
        now->client->poses = now->client->pose_due = false;
    return true;
}

static bool on_auth(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "token", NULL};
    if (!only(now, allowed))
        return false;
    const char *token = json_string_value(member(now, "token"));
    int fd = lws_get_socket_fd(now->client->wsi);
    guard_answer judged =
        guard_judge(now->stream->guard, token ? token : "", fd, &now->client->roles);
    if (judged == GUARD_WRONG) {
        char by[PEER_NAME];
        peer_name(fd, "stream", by);
        app_log(now->stream->app, "token", "warning", "A wrong token was refused: %s.", by);
    }
    if (judged != GUARD_WELCOME) {
        now->client->close = STREAM_CLOSE_NO_TOKEN;
        lws_callback_on_writable(now->client->wsi);
        return true;
    }
    now->client->authorised = true;
    lws_callback_on_writable(now->client->wsi);
    return true;
}

/* ---- a hand ---------------------------------------------------------------------------------- */

static bool send_hand(stream_request *now, const gw_command *command)
{
    return app_send(now->stream->app, command, &now->error);
}

/* ---- what is meant --------------------------------------------------------------------------- */

static bool get_tool(stream_request *now, int *tool)
{
    const json_t *value = member(now, "tool");
    *tool = (int)json_integer_value(value);
    if (!value || (json_is_integer(value) && *tool >= 0 && *tool < GW_MAX_TOOLS &&
                   *tool == json_integer_value(value)))
        return true;
    return gw_fail(&now->error, GW_BAD_INPUT, "/tool", "a tool is a number from 0 to %d",
                   GW_MAX_TOOLS - 1);
}

/* `tool`, or as `object` the name of a body that moves by itself. */
static bool get_grasp(stream_request *now, gw_command *command)
{
    const json_t *object = member(now, "object");
    const char *id = json_string_value(object);
    if (!object)
        return get_tool(now, &command->tool);
    if (member(now, "tool"))
        return gw_fail(&now->error, GW_BAD_INPUT, "/object",
                       "either a tool or an object is meant, not both");
    if (!id || !*id || strlen(id) > GW_MAX_LINK_NAME)
        return gw_fail(&now->error, GW_BAD_INPUT, "/object",
                       "object is the id of an object that moves by itself, or of a link");
    strcpy(command->object, id);
    return true;
}

/* Only what moves by itself can be taken without a tool. */
static bool can_be_taken(stream_request *now, const app_document *document, const char *id)
{
    const gw_scene *scene = document->scene;
    int body = gw_scene_body_number(scene, id);
    if (body < 0)
        return gw_fail(&now->error, GW_NOT_FOUND, "/object", "there is no object %s", id);
    if (document->layout->system_of[body] >= 0 || body >= scene->object_count)
        return true;
    for (int t = 0; t < scene->tool_count; t++)
        if (strcmp(scene->tools[t].object, id) == 0)
            return gw_fail(&now->error, GW_CONFLICT, "/object",
                           "%s is held by tool %d: name that tool", id, t);
    return scene->objects[body].free ||
           gw_fail(&now->error, GW_CONFLICT, "/object",
                   "%s does not move by itself: make it free, join it to what does, or hold it by "
                   "a tool",
                   id);
}

/* ---- who holds what -------------------------------------------------------------------------- */

static stream_grip *grip_of(gw_stream *stream, const gw_command *command, gw_command_kind kind)
{
    for (int i = 0; i < STREAM_GRIPS; i++) {
        stream_grip *g = &stream->grips[i];
        if (g->client && g->kind == kind && g->tool == command->tool &&
            strcmp(g->object, command->object) == 0)
            return g;
    }
    return NULL;
}

static bool take_grip(stream_request *now, const gw_command *command)
{
    stream_grip *g = grip_of(now->stream, command, command->kind);
    for (int i = 0; i < STREAM_GRIPS && !g; i++)
        if (!now->stream->grips[i].client)
            g = &now->stream->grips[i];
    if (!g)
        return gw_fail(&now->error, GW_CONFLICT, "", "%d things are dragged or pushed: no more",
                       STREAM_GRIPS);
    *g = (stream_grip){.client = now->client, .kind = command->kind, .tool = command->tool};
    strcpy(g->object, command->object);
    if (g->kind == GW_COMMAND_PUSH)
        g->until_us = stream_now_us() + STREAM_PUSH_US;
    return true;
}

static bool held_by_other(stream_request *now, const gw_command *command, gw_command_kind kind)
{
    const stream_grip *g = grip_of(now->stream, command, kind);
    if (!g || g->client == now->client)
        return false;
    if (command->object[0])
        gw_fail(&now->error, GW_CONFLICT, "/object", "another operator holds %s", command->object);
    else
        gw_fail(&now->error, GW_CONFLICT, "/tool", "another operator holds tool %d", command->tool);
    return true;
}

/* It may be taken, by this client: a drag that the loop knows nothing of (another scene was opened
 * meanwhile) holds nobody up. */
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
    bool latched = !command->object[0] && app_latched_tool(document, command->tool);
    app_document_put(document);
    return latched;
}

/* Force at a latched device is commanded by its operator alone, whom this message keeps alive. */
static bool operate(stream_request *now, const gw_command *command)
{
    return !at_latched(now, command) ||
           stream_lease_take(now->stream, now->client, false, &now->error);
}

static bool on_drag(stream_request *now)
{
    static const char *const allowed[] = {"op",    "id",     "tool", "object",
                                          "point", "target", "turn", NULL};
    gw_command command = {.kind = GW_COMMAND_DRAG};
    bool turn = false;
    if (!only(now, allowed) || !get_grasp(now, &command) ||
        !get_vec3(now, "point", true, REACH_MAX, &command.drag.point) ||
        !get_vec3(now, "target", true, REACH_MAX, &command.drag.target) ||
        !get_bool(now, "turn", false, &turn) || !may_take(now, &command, GW_COMMAND_DRAG) ||
        !operate(now, &command))
        return false;
    command.drag.turn = turn;
    return send_hand(now, &command) && take_grip(now, &command);
}

/* A task has the tool: who drags nothing has nothing to let go of. */
static bool task_runs(const stream_request *now)
{
    char id[GW_MAX_ID + 1];
    gw_task_progress progress;
    return app_task_last(now->stream->app, id, &progress) && progress.state == GW_TASK_RUNNING;
}

static bool on_release(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "tool", "object", NULL};
    gw_command command = {.kind = GW_COMMAND_RELEASE};
    if (!only(now, allowed) || !get_grasp(now, &command) ||
        !may_take(now, &command, GW_COMMAND_DRAG))
        return false;
    stream_grip *g = grip_of(now->stream, &command, GW_COMMAND_DRAG);
    if (!g && !command.object[0] && task_runs(now))
        return true;
    if (g)
        g->client = NULL;
    stream_lease_rest(now->stream, now->client);
    return send_hand(now, &command);
}

/* A push of nothing ends the one that there was; at a latched device that ends operating. */
static bool end_push(stream_request *now, const gw_command *command)
{
    stream_grip *g = grip_of(now->stream, command, GW_COMMAND_PUSH);
    if (g)
        g->client = NULL;
    stream_lease_rest(now->stream, now->client);
    return send_hand(now, command);
}

static bool on_push(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "tool", "object", "force", "torque", NULL};
    gw_command command = {.kind = GW_COMMAND_PUSH};
    if (!only(now, allowed) || !get_grasp(now, &command) ||
        !get_vec3(now, "force", false, FORCE_MAX, &command.push.f) ||
        !get_vec3(now, "torque", false, FORCE_MAX, &command.push.t) ||
        !may_take(now, &command, GW_COMMAND_PUSH))
        return false;
    bool none = gw_norm(command.push.f) == 0 && gw_norm(command.push.t) == 0;
    if (none && at_latched(now, &command))
        return end_push(now, &command);
    return operate(now, &command) && send_hand(now, &command) && take_grip(now, &command);
}

static bool on_lease(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "on", NULL};
    bool on = true;
    if (!only(now, allowed) || !get_bool(now, "on", false, &on))
        return false;
    if (on)
        return stream_lease_take(now->stream, now->client, true, &now->error);
    stream_lease_give_back(now->stream, now->client);
    return true;
}

static bool on_clutch(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "tool", "on", NULL};
    gw_command command = {.kind = GW_COMMAND_CLUTCH};
    bool closed = false;
    if (!only(now, allowed) || !get_tool(now, &command.tool) || !get_bool(now, "on", true, &closed))
        return false;
    command.clutch = closed;
    return send_hand(now, &command);
}

static bool on_halt(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", NULL};
    char by[GW_HALT_BY];
    if (!only(now, allowed))
        return false;
    peer_name(lws_get_socket_fd(now->client->wsi), "stream", by);
    app_halt_latch(now->stream->app, by);
    return true;
}

/* ---- letting go ------------------------------------------------------------------------------ */

/* A drag is released, a push becomes none. */
static void end(gw_stream *stream, stream_grip *g)
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
        stream_grip *g = &stream->grips[i];
        if (g->client && g->kind == GW_COMMAND_PUSH && now_us > g->until_us &&
            !stream_lease_guards(stream, g))
            end(stream, g);
    }
}

void stream_let_go(gw_stream *stream, stream_client *client)
{
    for (int i = 0; i < STREAM_GRIPS; i++)
        if (stream->grips[i].client == client)
            end(stream, &stream->grips[i]);
}

/* ---- dispatch ------------------------------------------------------------------------------ */

static const struct {
    const char *op;
    handler *handle;
    unsigned role; /* 0: any */
} operations[] = {
    {"auth", on_auth, 0},
    {"subscribe", on_subscribe, 0},
    {"unsubscribe", on_unsubscribe, 0},
    {"drag", on_drag, GUARD_OPERATE},
    {"release", on_release, GUARD_OPERATE},
    {"push", on_push, GUARD_OPERATE},
    {"clutch", on_clutch, GUARD_OPERATE},
    {"halt", on_halt, 0},
    {"lease", on_lease, GUARD_OPERATE},
};

static bool dispatch(stream_request *now)
{
    const char *op = json_string_value(member(now, "op"));
    if (!now->client->authorised && (!op || strcmp(op, "auth") != 0)) {
        now->client->close = STREAM_CLOSE_NO_TOKEN;
        lws_callback_on_writable(now->client->wsi);
        return true;
    }
    for (size_t i = 0; op && i < sizeof operations / sizeof operations[0]; i++)
        if (strcmp(operations[i].op, op) == 0)
            return operations[i].role & ~now->client->roles
                       ? gw_fail(&now->error, GW_CONFLICT, "/op",
                                 "this token may not operate: %s is for those that may", op)
                       : operations[i].handle(now);
    return gw_fail(
        &now->error, GW_BAD_INPUT, "/op",
        "an op is auth, subscribe, unsubscribe, drag, release, push, clutch, lease or halt");
}

void stream_message(gw_stream *stream, stream_client *client, const char *data, size_t size)
{
    assert(stream && client && data);
    stream_request now = {.stream = stream, .client = client};
    wire_memory_clear();
    json_t *json = wire_parse(data, size, &now.error);
    now.json = json;
    if (json && !json_is_object(json))
        gw_fail(&now.error, GW_BAD_INPUT, "", "a message is a JSON object with op");
    if (!json_is_object(json) || !dispatch(&now))
        reply_error(client, &now.error, json_object_get(json, "id"));
    json_decref(json);
}
