/*
 * Clients of the stream, message by message: an input is a script of lines, whose first letter says
 * who speaks and what comes to pass; the rest of the line is the message. The handlers of messages
 * and the operator's lease are the server's, above an app that only judges what it is told to do.
 * After every line the stream's tables must agree with one another.
 */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/net/stream_private.h"
#include "server/schema/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CLIENTS     4 /* '0' has no token yet, '1' may only watch, '2' and '3' may operate */
#define LEAST_TOKEN "watchwatchwatch1"
#define WHOLE_TOKEN "operateoperate12"

static const char scene_text[] =
    "{\"format\":\"guideway-scene/1\",\"name\":\"s\",\"rate\":1000,\"objects\":["
    "{\"id\":\"plate\",\"geometry\":{\"type\":\"box\",\"size\":[1,1,0.1]},\"fixed\":true},"
    "{\"id\":\"ball\",\"geometry\":{\"type\":\"sphere\",\"radius\":0.1},\"free\":true,"
    "\"pose\":{\"p\":[0,0,1]},\"body\":{\"mass\":1}},"
    "{\"id\":\"rest\",\"geometry\":{\"type\":\"sphere\",\"radius\":0.1},\"pose\":{\"p\":[0,1,1]}},"
    "{\"id\":\"held\",\"geometry\":{\"type\":\"sphere\",\"radius\":0.1},\"pose\":{\"p\":[1,0,1]}},"
    "{\"id\":\"second\",\"geometry\":{\"type\":\"sphere\",\"radius\":0.1},\"pose\":{\"p\":[1,1,1]}}"
    "],\"tools\":[{\"object\":\"held\",\"device\":\"a\"},{\"object\":\"second\",\"device\":\"b\"}],"
    "\"devices\":[{\"id\":\"a\",\"driver\":\"sim\",\"safety\":\"latched\"},"
    "{\"id\":\"b\",\"driver\":\"sim\",\"safety\":\"lenient\"}]}";

static app_document document;
static uint64_t clock_us;
static bool lease_held, task_running, refusing, dragging;
static const stream_client *speaking; /* NULL: what happens is no client's doing */

static void fail(const char *what)
{
    fprintf(stderr, "untrue: %s\n", what);
    abort();
}

/* ---- what stands in for the app and libwebsockets -------------------------------------------- */

uint64_t stream_now_us(void)
{
    return clock_us;
}

void stream_ask(stream_client *client)
{
    (void)client;
}

lws_sockfd_type lws_get_socket_fd(struct lws *wsi)
{
    (void)wsi;
    return -1;
}

app_document *app_document_get(gw_app *app)
{
    (void)app;
    return &document;
}

void app_document_put(app_document *given)
{
    if (given != &document)
        fail("another document is given back");
}

static bool fine(gw_vec3 v, double most)
{
    return isfinite(v.x) && isfinite(v.y) && isfinite(v.z) && gw_norm(v) <= most * (1 + 1e-12);
}

/* Commands that reach the loop are whole, in range, and from clients that may send them. */
bool app_send(gw_app *app, const gw_command *command, gw_error *error)
{
    (void)app;
    if (!memchr(command->object, 0, sizeof command->object))
        fail("a name without an end");
    if (command->tool < 0 || command->tool >= GW_MAX_TOOLS)
        fail("a tool that there cannot be");
    if (speaking && (!speaking->authorised || !(speaking->roles & GUARD_OPERATE)))
        fail("a command of who may not operate");
    switch (command->kind) {
    case GW_COMMAND_DRAG:
        if (!fine(command->drag.point, WIRE_REACH_MAX) ||
            !fine(command->drag.target, WIRE_REACH_MAX))
            fail("a drag beyond all reach");
        break;
    case GW_COMMAND_PUSH:
        if (!fine(command->push.f, WIRE_PUSH_MAX) || !fine(command->push.t, WIRE_PUSH_MAX))
            fail("a push beyond all force");
        break;
    case GW_COMMAND_RELEASE:
    case GW_COMMAND_CLUTCH:
        break;
    default:
        fail("a command that no message asks for");
    }
    bool there = command->object[0] || command->tool < document.scene->tool_count;
    return (!refusing && there) || gw_fail(error, GW_NOT_FOUND, "/tool", "there is none");
}

bool app_tell_links(gw_app *app)
{
    (void)app;
    return !refusing;
}

bool app_dragged(gw_app *app, const app_document *given, int tool, int body)
{
    (void)app, (void)given, (void)tool, (void)body;
    return dragging;
}

bool app_task_last(gw_app *app, char id[GW_MAX_ID + 1], gw_task_progress *progress)
{
    (void)app;
    strcpy(id, "t");
    *progress = (gw_task_progress){.state = task_running ? GW_TASK_RUNNING : GW_TASK_DONE};
    return true;
}

bool app_latched(const app_document *given, int tool, const char *object)
{
    const gw_scene *scene = given->scene;
    if (object[0]) /* everything is joined to what the first tool holds */
        tool = 0;
    return tool >= 0 && tool < scene->tool_count &&
           gw_device_latched(&scene->devices[gw_scene_device(scene, scene->tools[tool].device)]);
}

bool app_lease_take(gw_app *app, const char *by, gw_error *error)
{
    (void)app, (void)by;
    if (lease_held)
        return gw_fail(error, GW_CONFLICT, "", "somebody operates");
    lease_held = true;
    return true;
}

bool app_lease_renew(gw_app *app)
{
    (void)app;
    return lease_held;
}

bool app_lease_held(const gw_app *app)
{
    (void)app;
    return lease_held;
}

void app_lease_end(gw_app *app, const char *by, app_lease_ending how)
{
    (void)app, (void)by;
    if (lease_held == (how == APP_LEASE_LAPSED))
        fail("a lease that ended otherwise");
    lease_held = false;
}

void app_record(gw_app *app, bool on)
{
    (void)app, (void)on;
}

bool app_halt_latch(gw_app *app, const char *press, const char *by)
{
    (void)app;
    if (!by[0] || (press && !press[0]))
        fail("a halt of nobody");
    return true;
}

void app_log(gw_app *app, const char *kind, const char *severity, const char *format, ...)
{
    (void)app, (void)kind, (void)severity, (void)format;
}

/* ---- judgement ------------------------------------------------------------------------------- */

static void judge_reply(const gw_text *text)
{
    gw_error error = {0};
    json_t *value = wire_parse_document(text->data, text->size, &error);
    const char *op = json_string_value(json_object_get(value, "op"));
    const char *detail = json_string_value(json_object_get(value, "detail"));
    if (!op || (strcmp(op, "subscribed") != 0 && strcmp(op, "error") != 0))
        fail("an answer that is none");
    if (strcmp(op, "error") == 0 && (!detail || !*detail))
        fail("refused without a word");
    json_decref(value);
}

static bool is_client(const stream_client *clients, const stream_client *who)
{
    return who >= clients && who < clients + CLIENTS;
}

static void judge(const gw_stream *stream, const stream_client *clients)
{
    int samples = 0;
    for (int i = 0; i < CLIENTS; i++) {
        samples += clients[i].samples;
        if (clients[i].reply_count > STREAM_REPLIES)
            fail("more answers than there is room for");
    }
    if (stream->sample_clients != samples)
        fail("clients with samples are miscounted");
    if (stream->operator&& !is_client(clients, stream->operator))
        fail("a stranger operates");
    if (lease_held && !stream->operator)
        fail("a lease that nobody holds");
    for (int i = 0; i < STREAM_GRIPS; i++) {
        const stream_hold *g = &stream->grips[i];
        if (!g->client)
            continue;
        if (!is_client(clients, g->client) ||
            (!(g->client->roles & GUARD_OPERATE) && !g->client->close))
            fail("who may not operate holds something");
        for (int j = i + 1; j < STREAM_GRIPS; j++) {
            const stream_hold *other = &stream->grips[j];
            if (other->client && other->kind == g->kind && other->tool == g->tool &&
                strcmp(other->object, g->object) == 0)
                fail("one thing is held twice");
        }
    }
}

/* ---- the script ------------------------------------------------------------------------------ */

static void come(stream_client *client, int index)
{
    static const unsigned roles[CLIENTS] = {0, GUARD_WATCH, GUARD_ALL, GUARD_ALL};
    *client = (stream_client){.authorised = index > 0, .roles = roles[index]};
}

static void drop_replies(stream_client *client)
{
    for (int i = 0; i < client->reply_count; i++) {
        judge_reply(client->replies[i]);
        text_unref(client->replies[i]);
    }
    client->reply_count = 0;
}

/* In the order in which the stream lets a client go. */
static void go(gw_stream *stream, stream_client *client)
{
    if (client->samples)
        stream->sample_clients--;
    client->samples = false;
    stream_lease_leave(stream, client);
    stream_let_go(stream, client);
    drop_replies(client);
    if (stream->operator== client)
        fail("who is gone operates");
    for (int i = 0; i < STREAM_GRIPS; i++)
        if (stream->grips[i].client == client)
            fail("who is gone holds something");
}

static void come_to_pass(gw_stream *stream, stream_client *clients, char what, char *text,
                         size_t size)
{
    stream_client *client = &clients[(unsigned char)(size ? text[0] : '0') % CLIENTS];
    switch (what) {
    case 'x':
        go(stream, client);
        come(client, (int)(client - clients));
        break;
    case 'r':
        drop_replies(client);
        break;
    case 'l':
        lease_held = false;
        stream_watch_lease(stream);
        break;
    case 'p':
        clock_us += STREAM_PUSH_US / 2;
        stream_expire_pushes(stream, clock_us);
        break;
    case 't':
        task_running = !task_running;
        break;
    case 'd':
        dragging = !dragging;
        break;
    case 'f':
        refusing = !refusing;
        break;
    default:
        break;
    }
}

static void play(gw_stream *stream, stream_client *clients, const uint8_t *data, size_t size)
{
    for (size_t at = 0; at < size;) {
        const uint8_t *end = memchr(data + at, '\n', size - at);
        size_t line = (end ? (size_t)(end - data) : size) - at;
        char *text = malloc(line + 1); /* its own block, so that no byte too far is read */
        if (!text)
            return;
        memcpy(text, data + at, line);
        char what = line > 0 ? text[0] : ' ';
        size_t rest = line > 0 ? line - 1 : 0;
        memmove(text, text + (line > 0), rest);
        text = realloc(text, rest + 1);
        if (what >= '0' && what < '0' + CLIENTS) {
            speaking = &clients[what - '0'];
            stream_message(stream, &clients[what - '0'], text, rest);
            speaking = NULL;
        } else
            come_to_pass(stream, clients, what, text, rest);
        free(text);
        judge(stream, clients);
        at += line + 1;
    }
}

static void read_document(void)
{
    gw_error error = {0};
    json_t *value = wire_parse_document(scene_text, strlen(scene_text), &error);
    document.scene = value ? wire_get_scene(value, &error) : NULL;
    document.layout = document.scene ? gw_layout_create(document.scene, NULL, &error) : NULL;
    json_decref(value);
    if (!document.layout)
        fail(error.message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static gw_stream stream;
    static stream_client clients[CLIENTS];
    gw_guard guard;
    wire_watch_memory();
    wire_memory_clear();
    if (!document.scene)
        read_document();
    if (!guard_init(&guard, "127.0.0.1", true))
        return 0;
    guard.token_count = 2;
    guard.tokens[0] = (guard_token){GUARD_WATCH, LEAST_TOKEN};
    guard.tokens[1] = (guard_token){GUARD_ALL, WHOLE_TOKEN};
    stream = (gw_stream){.guard = &guard};
    clock_us = 1000000;
    lease_held = task_running = refusing = false;
    dragging = true;
    for (int i = 0; i < CLIENTS; i++)
        come(&clients[i], i);
    play(&stream, clients, data, size);
    for (int i = 0; i < CLIENTS; i++)
        go(&stream, &clients[i]);
    if (stream.sample_clients != 0 || lease_held)
        fail("something is left of who is gone");
    text_unref(stream.wrench_names);
    guard_finish(&guard);
    return 0;
}
