/*
 * Messages of the stream: unions by `op`. Clients' messages are decoded by these rows. The server's
 * frequent messages are put together from texts that all clients share (server/net/stream.c) and
 * only described here; its short answers are encoded.
 */
#include <string.h>

#include "server/schema/field.h"

/* ---- from clients -------------------------------------------------------------------------- */

const char *const wire_ops[WIRE_OPS + 1] = {
    [WIRE_AUTH] = "auth",   [WIRE_SUBSCRIBE] = "subscribe", [WIRE_UNSUBSCRIBE] = "unsubscribe",
    [WIRE_DRAG] = "drag",   [WIRE_RELEASE] = "release",     [WIRE_PUSH] = "push",
    [WIRE_LEASE] = "lease", [WIRE_CLUTCH] = "clutch",       [WIRE_HALT] = "halt"};

static const char *const streams[] = {
    [WIRE_POSES] = "poses", [WIRE_SAMPLES] = "samples", [WIRE_WRENCHES] = "wrenches", NULL};

SCHEMA(schema_anything)
{
    return json_pack("{s[ssssss]}", "type", "string", "number", "boolean", "array", "object",
                     "null");
}

DECODE(pass_over)
{
    return true;
}

/* An identifier that the client gives to a message, of any type; errors repeat it. */
static const wire_type anything = {pass_over, NULL, schema_anything};

/* A value that is not a string is a wrong token, for the guard to judge. */
DECODE(decode_token)
{
    ((wire_message *)owner)->token = json_is_string(value) ? json_string_value(value) : "";
    return true;
}

static const wire_type a_token = {decode_token, NULL, wire_schema_string};

DECODE(decode_name)
{
    const char *name = json_string_value(value);
    wire_message *m = owner;
    if (!name || !*name || strlen(name) >= sizeof m->object)
        return wire_refuse(at, error,
                           "object is the id of an object that moves by itself, or of a link");
    strcpy(m->object, name);
    return true;
}

static const wire_type a_body = {decode_name, NULL, wire_schema_string};

static bool check_length(gw_vec3 v, double most, const char *name, const wire_path *at,
                         gw_error *error)
{
    return gw_norm(v) <= most || wire_refuse(&(wire_path){.parent = at, .name = name}, error,
                                             "%s is longer than %g", name, most);
}

#define PRESS_MAX 64

DECODE(decode_press)
{
    const char *press = json_string_value(value);
    if (!press || !*press || strlen(press) > PRESS_MAX)
        return wire_refuse(at, error, "press is a text of 1 to %d characters", PRESS_MAX);
    ((wire_message *)owner)->press = press;
    return true;
}

static const wire_type a_press = {decode_press, NULL, wire_schema_string};

/* Checks that the message names a tool by number or a body as `object`, not both. */
static bool names_one_grasp(const wire_message *m, const wire_path *at, gw_error *error)
{
    return !(m->names_tool && m->names_object) ||
           wire_refuse(&(wire_path){.parent = at, .name = "object"}, error,
                       "either a tool or an object is meant, not both");
}

HOOK(check_grasp)
{
    return names_one_grasp(owner, at, error);
}

HOOK(check_drag)
{
    const wire_message *m = owner;
    return names_one_grasp(m, at, error) &&
           check_length(m->point, WIRE_REACH_MAX, "point", at, error) &&
           check_length(m->target, WIRE_REACH_MAX, "target", at, error);
}

HOOK(check_push)
{
    const wire_message *m = owner;
    return names_one_grasp(m, at, error) &&
           check_length(m->force, WIRE_PUSH_MAX, "force", at, error) &&
           check_length(m->torque, WIRE_PUSH_MAX, "torque", at, error);
}

HOOK(check_subscription)
{
    const wire_message *m = owner;
    return !(m->stream == WIRE_SAMPLES && m->says_hz) ||
           wire_refuse(&(wire_path){.parent = at, .name = "hz"}, error,
                       "samples come as they are made: no hz");
}

#define TOOL                                                                                       \
    {                                                                                              \
        "tool", WHOLE, AT(wire_message, tool), HAS(wire_message, names_tool),                      \
            RANGE(0, GW_MAX_TOOLS - 1), .about = "its number, 0 unless given"                      \
    }
#define GRASP                                                                                      \
    TOOL,                                                                                          \
    {                                                                                              \
        "object", &a_body, HAS(wire_message, names_object),                                        \
            .about = "instead of a tool: what moves by itself, or a link"                          \
    }
#define STREAM                                                                                     \
    {                                                                                              \
        "stream", CHOICE, AT(wire_message, stream), REQUIRED,                                      \
            .choices = streams, .must = "a stream is poses, samples or wrenches"                   \
    }
#define MESSAGE(variable, name_, about_, after_, ...)                                              \
    static const wire_field of_##variable[] = {__VA_ARGS__};                                       \
    static const wire_table variable = {                                                           \
        .name = name_, .about = about_, .fields = of_##variable, .after = after_};

MESSAGE(auth, "AuthMessage", "The first message, where a token is needed.", NULL,
        {"token", &a_token}, {0})
MESSAGE(subscribe, "SubscribeMessage", NULL, check_subscription, STREAM,
        {"hz", NUMBER, AT(wire_message, hz), HAS(wire_message, says_hz), RANGE(1, 250),
         .must = "poses and wrenches come 1 to 250 times a second",
         .about = "of poses and wrenches, 60 unless given"},
        {0})
MESSAGE(unsubscribe, "UnsubscribeMessage", NULL, NULL, STREAM, {0})
MESSAGE(drag, "DragMessage", "Pulls a point of a body to a target; one that turns it as well.",
        check_drag, GRASP,
        {"point", VEC3, AT(wire_message, point), REQUIRED, .about = "in the body's axes",
         .unit = "m"},
        {"target", VEC3, AT(wire_message, target), REQUIRED, .about = "in the world", .unit = "m"},
        {"turn", BOOLEAN, AT(wire_message, on)}, {0})
MESSAGE(release, "ReleaseMessage", "Lets go of what was dragged.", check_grasp, GRASP, {0})
MESSAGE(push, "PushMessage", "A wrench on the body for 0.25 s, unless it is said again.",
        check_push, GRASP, {"force", VEC3, AT(wire_message, force), .unit = "N"},
        {"torque", VEC3, AT(wire_message, torque), .unit = "N m"}, {0})
MESSAGE(lease, "LeaseMessage", "Renews the operator's lease, or gives it back.", NULL,
        {"on", BOOLEAN, AT(wire_message, on), HAS(wire_message, says_on),
         .about = "true unless given"},
        {0})
MESSAGE(clutch, "ClutchMessage", "Lets the device move without the tool, or ends that.", NULL, TOOL,
        {"on", BOOLEAN, AT(wire_message, on), REQUIRED}, {0})
MESSAGE(halt, "HaltMessage", "Devices to their safe state.", NULL,
        {"press", &a_press,
         .about = "the Idempotency-Key of the same halt by REST: the later of the two is none"},
        {0})

static const wire_field of_client_message[] = {
    {"op", CHOICE, AT(wire_message, op), REQUIRED, .choices = wire_ops,
     .must = "an op is auth, subscribe, unsubscribe, drag, release, push, lease, clutch or halt"},
    {"id", &anything, .about = "of any type; an error that answers the message says it again"},
    {0}};
static const wire_table *const client_messages[WIRE_OPS] = {
    [WIRE_AUTH] = &auth,   [WIRE_SUBSCRIBE] = &subscribe, [WIRE_UNSUBSCRIBE] = &unsubscribe,
    [WIRE_DRAG] = &drag,   [WIRE_RELEASE] = &release,     [WIRE_PUSH] = &push,
    [WIRE_LEASE] = &lease, [WIRE_CLUTCH] = &clutch,       [WIRE_HALT] = &halt};

INITIAL(no_message, wire_message, (wire_message){.hz = 60, .token = ""})

const wire_table wire_table_client_message = {.name = "ClientMessage",
                                              .about = "A message of a client, by its op.",
                                              .fields = of_client_message,
                                              .size = sizeof(wire_message),
                                              .initial = no_message,
                                              .no_object = "a message is a JSON object with op",
                                              .of_kind = client_messages};

bool wire_get_message(const json_t *value, wire_message *message, gw_error *error)
{
    return wire_decode(&wire_table_client_message, value, "", message, error);
}

/* ---- from the server ------------------------------------------------------------------------- */

/* The server's messages, and the members of those that are encoded here. */
typedef enum answer_op { HELLO, SCENE, STATE, EVENT, ERROR, SUBSCRIBED } answer_op;
typedef struct stream_answer {
    answer_op op;
    const char *detail, *pointer;
    const json_t *id;
    wire_stream stream;
    json_t *columns; /* the columns' names; NULL for poses */
} stream_answer;

static const char *const answer_ops[] = {[HELLO] = "hello",
                                         [SCENE] = "scene",
                                         [STATE] = "state",
                                         [EVENT] = "event",
                                         [ERROR] = "error",
                                         [SUBSCRIBED] = "subscribed",
                                         NULL};

ENCODE(encode_id)
{
    return json_incref((json_t *)(size_t)((const stream_answer *)owner)->id);
}

WHEN(has_id, stream_answer, it->id)
WHEN(has_columns, stream_answer, it->columns)

ENCODE(encode_columns)
{
    return json_incref(((const stream_answer *)owner)->columns);
}

SCHEMA(schema_running)
{
    return json_pack("{s[o{ss}]}", "anyOf", wire_schema_object(f), "type", "null");
}

static const wire_field a_name = {"name", ID}, a_column = {"column", TEXT};
static const wire_type answered_id = {NULL, encode_id, schema_anything};
static const wire_type columns = {NULL, encode_columns, wire_schema_list};
static const wire_type or_null = {NULL, NULL, schema_running};

static const wire_field of_task_now[] = {
    {"id", ID}, {"progress", OBJECT, .table = &wire_table_task_progress}, {0}};
static const wire_table task_now = {.name = "TaskNow",
                                    .about = "The task that runs, or ran last.",
                                    .fields = of_task_now,
                                    .answered = true};

#define ANSWER(variable, name_, about_, ...)                                                       \
    static const wire_field of_##variable[] = {__VA_ARGS__, {0}};                                  \
    static const wire_table variable = {                                                           \
        .name = name_, .about = about_, .fields = of_##variable, .answered = true};
#define DOCUMENT                                                                                   \
    {"revision", WHOLE, .flags = ELSEWHERE},                                                       \
        {"scene", OBJECT, .flags = ELSEWHERE, .table = &wire_table_scene},                         \
        {"solutions", LIST, .flags = ELSEWHERE, .table = &wire_table_solution},                    \
        {"index", LIST, .flags = ELSEWHERE, .item = &a_name,                                       \
         .about = "of what moves, in the order of pose frames"},                                   \
        {"undo", BOOLEAN, .flags = ELSEWHERE}, {"redo", BOOLEAN, .flags = ELSEWHERE},              \
    {                                                                                              \
        "simulation", OBJECT, .flags = ELSEWHERE, .table = &wire_table_simulation                  \
    }

ANSWER(hello, "HelloMessage", "The document, once a client may have it.",
       {"protocol", TEXT, .flags = ELSEWHERE}, {"version", TEXT, .flags = ELSEWHERE},
       {"client", TEXT, .flags = ELSEWHERE,
        .about = "its name where who operates or halted is shown"},
       DOCUMENT)
ANSWER(scene, "SceneMessage", "The document after an edit, undo or open.",
       {"protocol", TEXT, .flags = ELSEWHERE}, {"version", TEXT, .flags = ELSEWHERE}, DOCUMENT)
ANSWER(state, "StateMessage", "Ten a second and at every change.",
       {"simulation", OBJECT, .flags = ELSEWHERE, .table = &wire_table_simulation},
       {"task", &or_null, .flags = ELSEWHERE, .table = &task_now},
       {"saved", BOOLEAN, .flags = ELSEWHERE,
        .about = "the document is as it was saved or opened last"})
ANSWER(event, "EventMessage", NULL,
       {"event", OBJECT, .flags = ELSEWHERE, .table = &wire_table_event})
ANSWER(error, "ErrorMessage", "The message was refused and did nothing.",
       {"detail", TEXT, AT(stream_answer, detail)}, {"pointer", TEXT, AT(stream_answer, pointer)},
       {"id", &answered_id, .when = has_id, .about = "of the message, where it had one"})
ANSWER(subscribed, "SubscribedMessage", NULL,
       {"stream", CHOICE, AT(stream_answer, stream), .choices = streams},
       {"columns", &columns, .when = has_columns, .item = &a_column,
        .about = "of samples and wrenches; again before the first frame with others. Wrenches: of "
                 "joints, ID.fx to ID.tz of b on a about the origin of a's frame, then of links, "
                 "MECHANISM.NUMBER.fx to .tz of the parent on it about the origin of its frame"})

static const wire_field of_server_message[] = {
    {"op", CHOICE, AT(stream_answer, op), REQUIRED, .choices = answer_ops}, {0}};
static const wire_table *const server_messages[] = {
    [HELLO] = &hello, [SCENE] = &scene, [STATE] = &state,
    [EVENT] = &event, [ERROR] = &error, [SUBSCRIBED] = &subscribed};
const wire_table wire_table_server_message = {.name = "ServerMessage",
                                              .about = "A message of the server, by its op.",
                                              .fields = of_server_message,
                                              .of_kind = server_messages};

json_t *wire_refusal(const char *detail, const char *pointer, const json_t *id)
{
    const stream_answer answer = {.op = ERROR, .detail = detail, .pointer = pointer, .id = id};
    return wire_encode(&wire_table_server_message, &answer, NULL);
}

json_t *wire_subscribed(wire_stream stream, json_t *names)
{
    const stream_answer answer = {.op = SUBSCRIBED, .stream = stream, .columns = names};
    json_t *message = wire_encode(&wire_table_server_message, &answer, NULL);
    json_decref(names);
    return message;
}
