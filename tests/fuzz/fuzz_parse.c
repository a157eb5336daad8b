/*
 * One input for every parser that reads what strangers send: the first byte chooses the parser, the
 * rest is its text. A parser takes it or refuses it with an error that says something; what it took
 * is checked, written and read again, to the same text.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/files/mesh_file.h"
#include "server/files/urdf.h"
#include "server/net/framing.h"
#include "server/net/guard.h"
#include "server/net/request_head.h"
#include "server/net/ws_frame.h"
#include "server/schema/field.h"
#include "server/schema/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fail(const char *what)
{
    fprintf(stderr, "untrue: %s\n", what);
    abort();
}

static void judge_refusal(bool taken, const gw_error *error)
{
    if (!taken && (!error->code || !error->message[0]))
        fail("refused without a word");
    if (taken && error->code)
        fail("taken with an error");
}

/* ---- documents ----------------------------------------------------------------------------- */

/* The written text reads back and is written the same. */
static void judge_text(json_t *value)
{
    gw_error error = {0};
    gw_text *first = wire_text(value);
    if (!first)
        fail("what was taken cannot be written");
    json_t *again = wire_parse_document(first->data, first->size, &error);
    if (!again)
        fail("what was written cannot be read");
    gw_text *second = wire_text(again);
    if (!second || second->size != first->size ||
        memcmp(first->data, second->data, first->size) != 0)
        fail("what was read is written otherwise");
    text_unref(first);
    text_unref(second);
}

static void read_scene(const char *text, size_t size)
{
    gw_error error = {0};
    json_t *value = wire_parse_document(text, size, &error);
    gw_scene *scene = value ? wire_get_scene(value, &error) : NULL;
    judge_refusal(scene != NULL, &error);
    json_decref(value);
    if (scene && gw_scene_check(scene, &error))
        judge_text(wire_scene(scene));
    gw_scene_destroy(scene);
}

static void read_problem(const char *text, size_t size)
{
    gw_error error = {0};
    json_t *value = wire_parse(text, size, &error);
    wire_problem *problem = value ? wire_get_problem(value, &error) : NULL;
    judge_refusal(problem != NULL, &error);
    wire_problem_destroy(problem);
    json_decref(value);
}

/* Bodies of requests: an entry of each kind. */
static void read_body(const char *text, size_t size)
{
    gw_error error = {0};
    json_t *value = wire_parse(text, size, &error);
    gw_object object = {0};
    gw_feature feature = {0};
    gw_scene_constraint constraint = {0};
    gw_tool tool = {0};
    gw_device device = {0};
    gw_task task = {0};
    gw_scene_joint joint = {0};
    gw_scene_spring spring = {0};
    gw_material material = {0};
    gw_motor motor = {0};
    if (!value)
        return;
    if (wire_get_object(value, "", &object, &error)) {
        judge_text(wire_object(&object));
        gw_shape_finish(&object.shape);
    }
    error = (gw_error){0};
    judge_refusal(wire_get_feature(value, "", &feature, &error), &error);
    error = (gw_error){0};
    judge_refusal(wire_get_constraint(value, "", &constraint, &error), &error);
    error = (gw_error){0};
    judge_refusal(wire_get_tool(value, "", &tool, &error), &error);
    error = (gw_error){0};
    if (wire_get_device(value, "", &device, &error)) {
        judge_text(wire_device(&device));
        gw_operator_finish(&device.operator);
    }
    error = (gw_error){0};
    if (wire_get_task(value, "", &task, &error)) {
        judge_text(wire_task(&task));
        gw_task_finish(&task);
    }
    error = (gw_error){0};
    judge_refusal(wire_get_joint(value, "", &joint, &error), &error);
    error = (gw_error){0};
    judge_refusal(wire_get_spring(value, "", &spring, &error), &error);
    error = (gw_error){0};
    judge_refusal(wire_get_material(value, "", &material, &error), &error);
    error = (gw_error){0};
    judge_refusal(wire_get_motor(value, "", &motor, &error), &error);
    json_decref(value);
}

/* A surface that is made is a geometry that reads back. */
static void read_surface(const char *text, size_t size)
{
    gw_error error = {0};
    json_t *value = wire_parse(text, size, &error);
    json_t *made = value ? wire_make_surface(value, &error) : NULL;
    gw_shape shape;
    judge_refusal(made != NULL, &error);
    if (made) {
        if (!wire_decode(&wire_table_shape, json_object_get(made, "geometry"), "", &shape, &error))
            fail("a surface that is made is refused as a geometry");
        gw_shape_finish(&shape);
        judge_text(made);
    }
    json_decref(value);
}

/* ---- files --------------------------------------------------------------------------------- */

static void read_urdf(const char *text, size_t size)
{
    static urdf_robot robot;
    gw_error error = {0};
    bool taken = urdf_read(text, size, NULL, &robot, &error);
    judge_refusal(taken, &error);
    if (!taken)
        return;
    judge_text(robot.one_body ? wire_object(&robot.object) : wire_mechanism(&robot.mechanism));
    urdf_finish(&robot);
}

static void read_mesh(const char *name, const char *text, size_t size)
{
    gw_error error = {0};
    gw_mesh *mesh = mesh_file_parse(name, text, size, &error);
    judge_refusal(mesh != NULL, &error);
    gw_mesh_put(mesh);
}

/* ---- heads --------------------------------------------------------------------------------- */

static void read_head(char *text, size_t size)
{
    request_head head;
    guard_head fields = {0};
    const char *detail;
    gw_guard guard = {.loopback = true, .host = "127.0.0.1"};
    if (head_parse(text, size, &head) != HEAD_WHOLE)
        return;
    if (head.size > size || head.field_count > HEAD_FIELDS || !head.target[0])
        fail("a head that is none");
    for (int i = 0; i < head.field_count; i++)
        guard_head_add(&fields, head.field[i].name, head.field[i].value);
    if (!guard_head_ambiguous(&fields, &detail) && fields.lengths > 1)
        fail("a length that is stated twice");
    (void)guard_head_sender(&guard, &fields, &detail);
    (void)guard_roles(&guard, guard_bearer(head_find(&head, "Authorization")));
}

/* The bytes of a connection that pass, given `step` at a time: a sum over them and over why the
 * rest is refused. At most a head's size is held back. */
static uint64_t read_requests(const char *text, size_t size, size_t step)
{
    static char held[HEAD_BYTES];
    request_framing framing = {0};
    uint64_t sum = 0;
    size_t kept = 0;
    for (size_t at = 0; at < size;) {
        size_t more = size - at < step ? size - at : step;
        more = more < HEAD_BYTES - kept ? more : HEAD_BYTES - kept;
        if (more == 0)
            fail("more is wanted than there is room for");
        memcpy(held + kept, text + at, more);
        kept += more;
        at += more;
        for (framing_step next = {1, 0}; next.pass + next.skip > 0;) {
            next = framing_read(&framing, held, kept);
            size_t taken = next.pass + next.skip;
            if (taken > kept)
                fail("bytes that there are not");
            for (size_t i = 0; i < next.pass; i++)
                sum = sum * 31 + (unsigned char)held[i];
            memmove(held, held + taken, kept - taken);
            kept -= taken;
        }
        if (framing.phase == FRAMING_REFUSED)
            return sum * 31 + (uint64_t)framing.status + 1000 * framing.refused;
    }
    return sum;
}

static void judge_requests(const char *text, size_t size)
{
    uint64_t whole = read_requests(text, size, HEAD_BYTES);
    if (read_requests(text, size, 1) != whole || read_requests(text, size, 7) != whole)
        fail("requests that depend on how their bytes come");
}

/* ---- frames -------------------------------------------------------------------------------- */

/* A reader's findings in a client's bytes, given `step` at a time: a sum over messages' bytes,
 * their ends, control frames, and the code that it ends with. */
static uint64_t read_frames(const char *text, size_t size, size_t step)
{
    static unsigned char copy[1 << 16];
    ws_reader reader = {0};
    uint64_t sum = 0, message = 0; /* of what is whole; of the message under way */
    size_t taken;
    size = size < sizeof copy ? size : sizeof copy;
    memcpy(copy, text, size);
    for (size_t at = 0; at < size; at += step) {
        unsigned char *next = copy + at;
        size_t left = size - at < step ? size - at : step;
        ws_piece piece;
        do {
            piece = ws_read(&reader, next, left, &taken);
            if (taken > left)
                fail("a frame beyond its bytes");
            next += taken;
            left -= taken;
            bool part = piece.found == WS_PART;
            for (size_t i = 0; i < piece.size; i++)
                *(part ? &message : &sum) = *(part ? &message : &sum) * 31 + piece.data[i];
            if (part && piece.last) {
                sum = sum * 31 + message;
                message = 1;
            }
            if (!part && piece.found != WS_NOTHING)
                sum = sum * 31 + (uint64_t)piece.found * 5000 + (uint64_t)piece.code;
            if (piece.found == WS_BROKEN || piece.found == WS_CLOSED)
                return sum;
        } while (piece.found != WS_NOTHING);
        if (left > 0)
            fail("bytes that nobody took");
    }
    return sum;
}

static void judge_frames(const char *text, size_t size)
{
    uint64_t whole = read_frames(text, size, size ? size : 1);
    if (read_frames(text, size, 1) != whole || read_frames(text, size, 7) != whole)
        fail("frames that depend on how their bytes come");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size < 1)
        return 0;
    size_t rest = size - 1;
    char *text = malloc(rest + 1); /* its own block, so that no byte too far is read */
    if (!text)
        return 0;
    memcpy(text, data + 1, rest);
    text[rest] = 0;
    wire_watch_memory();
    wire_memory_clear();
    switch (data[0]) {
    case 's':
        read_scene(text, rest);
        break;
    case 'p':
        read_problem(text, rest);
        break;
    case 'b':
        read_body(text, rest);
        break;
    case 'f':
        read_surface(text, rest);
        break;
    case 'u':
        read_urdf(text, rest);
        break;
    case 't':
        read_mesh("a.stl", text, rest);
        break;
    case 'o':
        read_mesh("a.obj", text, rest);
        break;
    case 'h':
        read_head(text, rest);
        break;
    case 'r':
        judge_requests(text, rest);
        break;
    case 'w':
        judge_frames(text, rest);
        break;
    default:
        break;
    }
    free(text);
    return 0;
}
