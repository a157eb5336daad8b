/*
 * Assembly: what is asked, and what came of it.
 */
#include <stdlib.h>
#include <string.h>

#include "server/schema/field.h"

static void initial(void *owner)
{
    *(wire_assembly_request *)owner = (wire_assembly_request){.seed = 1};
}

static void finish(void *owner)
{
    wire_assembly_request *r = owner;
    free(r->ground);
    r->ground = NULL;
}

DECODE(decode_object_id)
{
    const char *id = json_string_value(value);
    if (!id || !gw_id_valid(id))
        return wire_refuse(at, error, "must be the id of an object");
    strcpy(owner, id);
    return true;
}

static const wire_type object_id = {decode_object_id, NULL, wire_schema_id};
static const wire_field an_object = {"id", &object_id};

static const wire_field of_request[] = {
    {"method", CHOICE, AT(wire_assembly_request, method), .choices = gw_assembly_methods,
     .about = "auto is Levenberg and Marquardt's"},
    {"ground", LIST, AT(wire_assembly_request, ground), .item = &an_object,
     COUNTED(wire_assembly_request, ground_count, char[GW_MAX_ID + 1]), .most = GW_MAX_OBJECTS,
     .about = "objects that stand, fixed or not; what is fixed where it is not given"},
    {"seed", WHOLE, AT(wire_assembly_request, seed), RANGE(0, 1LL << 53),
     .about = "of the random starts that follow the one from where the parts are"},
    {"commit", BOOLEAN, AT(wire_assembly_request, commit),
     .about = "takes the poses over as one edit where every relation holds"},
    {0}};
const wire_table wire_table_assembly_request = {
    .name = "AssemblyRequest",
    .about = "Parts are brought from where the scene has them to where its constraints and joints "
             "hold; stated positions of joints are kept.",
    .fields = of_request,
    .size = sizeof(wire_assembly_request),
    .initial = initial,
    .finish = finish};

bool wire_get_assembly_request(const json_t *value, wire_assembly_request *out, gw_error *error)
{
    return wire_decode(&wire_table_assembly_request, value, "", out, error);
}

void wire_assembly_request_finish(wire_assembly_request *request)
{
    finish(request);
}

bool wire_assembly_ground(const wire_assembly_request *request, const gw_scene *scene, bool **flags,
                          gw_error *error)
{
    *flags = NULL;
    if (!request->ground)
        return true;
    bool *ground = calloc((size_t)gw_scene_body_count(scene) + 1, sizeof *ground);
    if (!ground)
        return gw_fail(error, GW_FAILED, "", "no memory for an assembly");
    for (int i = 0; i < request->ground_count; i++) {
        int object = gw_scene_object(scene, request->ground[i]);
        if (object < 0) {
            char where[32];
            snprintf(where, sizeof where, "/ground/%d", i);
            free(ground);
            return gw_fail(error, GW_BAD_INPUT, where, "there is no object \"%s\" to stand",
                           request->ground[i]);
        }
        ground[object] = true;
    }
    *flags = ground;
    return true;
}

/* ---- the answer ---------------------------------------------------------------------------- */

static const wire_field an_id = {"id", ID};
static const wire_field of_placed[] = {
    {"id", ID}, {"pose", OBJECT, .table = &wire_table_pose_read}, {0}};
static const wire_table placed = {.fields = of_placed, .answered = true};

static const wire_field of_assembly[] = {
    {"residual", NUMBER, .about = "the largest; of angles, rad times the scene's length",
     .unit = "m"},
    {"iterations", WHOLE, .about = "of all starts together"},
    {"starts", WHOLE, .about = "1: from where the parts are"},
    {"method", CHOICE, .choices = gw_assembly_methods, .about = "that was used"},
    {"remaining", LIST, .item = &an_id, .about = "constraints and joints that do not hold"},
    {"poses", LIST, .table = &placed, .about = "of the objects that may move"},
    {"committed", BOOLEAN, .about = "the scene has these poses now"},
    {0}};
const wire_table wire_table_assembly = {
    .name = "Assembly", .fields = of_assembly, .answered = true};

json_t *wire_assembly(const gw_assembly *assembly, const gw_assembly_result *result)
{
    json_t *remaining = json_array();
    const char *id;
    for (int i = 0; (id = gw_assembly_remaining(assembly, i)) != NULL; i++)
        json_array_append_new(remaining, json_string(id));
    return json_pack("{sf si si ss so}", "residual", result->residual, "iterations",
                     result->iterations, "starts", result->starts, "method",
                     gw_assembly_methods[result->method], "remaining", remaining);
}
