/*
 * A person's hand on the stream: drags and pushes of tools and free objects, who holds what, and
 * what is let go when a client goes. On the stream's thread.
 */
#include <string.h>

#include "server/net/stream_private.h"

#define REACH_MAX 1e4 /* m: a target or a grabbed point beyond is a mistake */
#define FORCE_MAX 1e4 /* N and N m of a push: the same */

static bool send_hand(stream_request *now, const gw_command *command)
{
    return app_send(now->stream->app, command, &now->error);
}

/* ---- what is meant --------------------------------------------------------------------------- */

static bool get_tool(stream_request *now, int *tool)
{
    const json_t *value = stream_member(now, "tool");
    *tool = (int)json_integer_value(value);
    if (!value || (json_is_integer(value) && *tool >= 0 && *tool < GW_MAX_TOOLS &&
                   *tool == json_integer_value(value)))
        return true;
    return gw_fail(&now->error, GW_BAD_INPUT, "/tool", "a tool is a number from 0 to %d",
                   GW_MAX_TOOLS - 1);
}

/* `tool`, or the id of a free object as `object`. */
static bool get_grasp(stream_request *now, gw_command *command)
{
    const json_t *object = stream_member(now, "object");
    const char *id = json_string_value(object);
    if (!object)
        return get_tool(now, &command->tool);
    if (stream_member(now, "tool"))
        return gw_fail(&now->error, GW_BAD_INPUT, "/object",
                       "either a tool or a free object is meant, not both");
    if (!id || !*id || strlen(id) > GW_MAX_ID)
        return gw_fail(&now->error, GW_BAD_INPUT, "/object", "object is the id of a free object");
    strcpy(command->object, id);
    return true;
}

/* Only what moves by itself can be taken without a tool. */
static bool can_be_taken(stream_request *now, const gw_scene *scene, const char *id)
{
    int object = gw_scene_object(scene, id);
    if (object < 0)
        return gw_fail(&now->error, GW_NOT_FOUND, "/object", "there is no object %s", id);
    for (int t = 0; t < scene->tool_count; t++)
        if (strcmp(scene->tools[t].object, id) == 0)
            return gw_fail(&now->error, GW_CONFLICT, "/object",
                           "%s is held by tool %d: name that tool", id, t);
    return scene->objects[object].free ||
           gw_fail(&now->error, GW_CONFLICT, "/object",
                   "%s does not move by itself: make it free, or hold it by a tool", id);
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

static bool shown_dragged(const gw_scene *scene, const gw_snapshot *s, const gw_command *command)
{
    int object = command->object[0] ? gw_scene_object(scene, command->object) : -1;
    for (int i = 0; i < s->free_count && object >= 0; i++)
        if (s->free[i].object == object)
            return s->free[i].dragging;
    return object < 0 && command->tool < s->tool_count && s->tools[command->tool].dragging;
}

/* It may be taken, by this client: a drag that the loop knows nothing of (another scene was opened
 * meanwhile) holds nobody up. */
static bool may_take(stream_request *now, const gw_command *command, gw_command_kind kind)
{
    app_document *document;
    gw_snapshot snapshot;
    app_peek(now->stream->app, &document, &snapshot);
    bool dragged = shown_dragged(document->scene, &snapshot, command);
    bool there = !command->object[0] || command->kind == GW_COMMAND_RELEASE ||
                 can_be_taken(now, document->scene, command->object);
    app_document_put(document);
    return there && ((kind == GW_COMMAND_DRAG && !dragged) || !held_by_other(now, command, kind));
}

/* ---- messages -------------------------------------------------------------------------------- */

bool stream_on_drag(stream_request *now)
{
    static const char *const allowed[] = {"op",    "id",     "tool", "object",
                                          "point", "target", "turn", NULL};
    gw_command command = {.kind = GW_COMMAND_DRAG};
    bool turn = false;
    if (!stream_only(now, allowed) || !get_grasp(now, &command) ||
        !stream_get_vec3(now, "point", true, REACH_MAX, &command.drag.point) ||
        !stream_get_vec3(now, "target", true, REACH_MAX, &command.drag.target) ||
        !stream_get_bool(now, "turn", false, &turn) || !may_take(now, &command, GW_COMMAND_DRAG))
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

bool stream_on_release(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "tool", "object", NULL};
    gw_command command = {.kind = GW_COMMAND_RELEASE};
    if (!stream_only(now, allowed) || !get_grasp(now, &command) ||
        !may_take(now, &command, GW_COMMAND_DRAG))
        return false;
    stream_grip *g = grip_of(now->stream, &command, GW_COMMAND_DRAG);
    if (!g && !command.object[0] && task_runs(now))
        return true;
    if (g)
        g->client = NULL;
    return send_hand(now, &command);
}

bool stream_on_push(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "tool", "object", "force", "torque", NULL};
    gw_command command = {.kind = GW_COMMAND_PUSH};
    return stream_only(now, allowed) && get_grasp(now, &command) &&
           stream_get_vec3(now, "force", false, FORCE_MAX, &command.push.f) &&
           stream_get_vec3(now, "torque", false, FORCE_MAX, &command.push.t) &&
           may_take(now, &command, GW_COMMAND_PUSH) && send_hand(now, &command) &&
           take_grip(now, &command);
}

bool stream_on_clutch(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", "tool", "on", NULL};
    gw_command command = {.kind = GW_COMMAND_CLUTCH};
    bool closed = false;
    if (!stream_only(now, allowed) || !get_tool(now, &command.tool) ||
        !stream_get_bool(now, "on", true, &closed))
        return false;
    command.clutch = closed;
    return send_hand(now, &command);
}

bool stream_on_halt(stream_request *now)
{
    static const char *const allowed[] = {"op", "id", NULL};
    return stream_only(now, allowed) && send_hand(now, &(gw_command){.kind = GW_COMMAND_HALT});
}

/* ---- letting go ------------------------------------------------------------------------------ */

/* A drag is released, a push becomes none. */
static void end(gw_stream *stream, stream_grip *g)
{
    gw_command command = {.kind = g->kind == GW_COMMAND_DRAG ? GW_COMMAND_RELEASE : GW_COMMAND_PUSH,
                          .tool = g->tool};
    strcpy(command.object, g->object);
    g->client = NULL;
    app_send(stream->app, &command, NULL);
}

void stream_expire_pushes(gw_stream *stream, uint64_t now_us)
{
    for (int i = 0; i < STREAM_GRIPS; i++) {
        stream_grip *g = &stream->grips[i];
        if (g->client && g->kind == GW_COMMAND_PUSH && now_us > g->until_us)
            end(stream, g);
    }
}

void stream_let_go(gw_stream *stream, stream_client *client)
{
    for (int i = 0; i < STREAM_GRIPS; i++)
        if (stream->grips[i].client == client)
            end(stream, &stream->grips[i]);
}
