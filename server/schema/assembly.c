/*
 * Assembly: the request and its result.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/schema/field.h"

#define MOST_STARTS     1000
#define MOST_ITERATIONS 100000
#define MOST_THREADS    4

INITIAL(initial, wire_assembly_request, (wire_assembly_request){.seed = 1})

static void finish_request(void *owner)
{
    wire_assembly_request *r = owner;
    free(r->ground);
    free(r->poses);
    r->ground = NULL;
    r->poses = NULL;
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

static const wire_field of_placed[] = {
    {"id", STRING, AT(wire_placed, id), REQUIRED,
     .must = "must be the id of an object, or a link as mechanism.number"},
    {"pose", OBJECT, AT(wire_placed, pose), REQUIRED, .table = &wire_table_pose},
    {0}};
static const wire_table placed = {.fields = of_placed, .size = sizeof(wire_placed)};

static const wire_field of_progress[] = {
    {"start", WHOLE, AT(gw_assembly_progress, start), RANGE(0, MOST_STARTS),
     .about = "0: from the poses given; others are random, the same ones for a seed"},
    {"iteration", WHOLE, AT(gw_assembly_progress, iteration), RANGE(0, MOST_ITERATIONS),
     .about = "that this start has made; 0: it begins"},
    {"damping", NUMBER, AT(gw_assembly_progress, damping), RANGE(0, 1e12),
     .must = "must be from 0 to 1e12",
     .about = "of lm, over the largest diagonal entry of the normal equations; of gradient the "
              "factor of a step"},
    {"slow", WHOLE, AT(gw_assembly_progress, slow), RANGE(0, MOST_ITERATIONS),
     .about = "of lm: iterations in a row that brought little"},
    {0}};
static const wire_table progress = {
    .name = "AssemblyProgress",
    .about = "How far an assembly has come: sent back with the poses of the same answer, the next "
             "call goes on from there.",
    .fields = of_progress,
    .size = sizeof(gw_assembly_progress)};

static const wire_field of_request[] = {
    {"method", CHOICE, AT(wire_assembly_request, method), .choices = gw_assembly_methods,
     .about = "auto is Levenberg and Marquardt's"},
    {"ground", LIST, AT(wire_assembly_request, ground), .item = &an_object,
     COUNTED(wire_assembly_request, ground_count, char[GW_MAX_ID + 1]), .most = GW_MAX_OBJECTS,
     .about = "objects that stand, fixed or not; what is fixed where it is not given"},
    {"seed", WHOLE, AT(wire_assembly_request, seed), RANGE(0, 1LL << 53),
     .about = "of the random starts that follow the one from where the parts are"},
    {"starts", WHOLE, AT(wire_assembly_request, starts), RANGE(0, MOST_STARTS),
     .about = "at most, those before `progress` counted; 0: 64"},
    {"iterations", WHOLE, AT(wire_assembly_request, iterations), RANGE(0, MOST_ITERATIONS),
     HAS(wire_assembly_request, has_iterations),
     .about = "of this call at most; 0: none, the poses are taken as they are; else as many as "
              "two seconds allow"},
    {"poses", LIST, AT(wire_assembly_request, poses), .table = &placed,
     COUNTED(wire_assembly_request, pose_count, wire_placed),
     .most = GW_MAX_OBJECTS + GW_MAX_SCENE_JOINTS,
     .about = "to begin from, of bodies that are not where the scene has them"},
    {"progress", OBJECT, AT(wire_assembly_request, progress), .table = &progress,
     .about = "as the call before answered it, to go on from there; else from the beginning"},
    {"trace", BOOLEAN, AT(wire_assembly_request, trace),
     .about = "answers the residual of every iteration"},
    {"commit", BOOLEAN, AT(wire_assembly_request, commit),
     .about = "takes the poses over as one edit where every relation holds"},
    {"apply", BOOLEAN, AT(wire_assembly_request, apply),
     .about = "takes the poses over as one edit, also where relations remain"},
    {0}};
const wire_table wire_table_assembly_request = {
    .name = "AssemblyRequest",
    .about =
        "Parts are brought from where the scene has them to where its constraints and joints "
        "hold; stated positions of joints are kept, limits not passed, and gears keep their ratio "
        "where the scene's poses have their joints closed. A call takes two seconds at most: where "
        "it "
        "ended as `stopped`, one with its `poses` and `progress` goes on.",
    .fields = of_request,
    .size = sizeof(wire_assembly_request),
    .initial = initial,
    .finish = finish_request};

bool wire_get_assembly_request(const json_t *value, wire_assembly_request *out, gw_error *error)
{
    return wire_decode(&wire_table_assembly_request, value, "", out, error);
}

void wire_assembly_request_finish(wire_assembly_request *request)
{
    finish_request(request);
}

static bool take_ground(const wire_assembly_request *r, const gw_scene *scene, bool *ground,
                        gw_error *error)
{
    for (int i = 0; i < r->ground_count; i++) {
        int object = gw_scene_object(scene, r->ground[i]);
        if (object < 0) {
            char where[32];
            snprintf(where, sizeof where, "/ground/%d", i);
            gw_fail(error, GW_BAD_INPUT, where, "there is no object \"%s\" to stand", r->ground[i]);
            return gw_error_names(error, scene->objects, scene->object_count,
                                  sizeof *scene->objects);
        }
        ground[object] = true;
    }
    return true;
}

static bool take_poses(const wire_assembly_request *r, const gw_scene *scene, gw_pose *poses,
                       gw_error *error)
{
    for (int i = 0; i < scene->object_count; i++)
        poses[i] = scene->objects[i].pose;
    for (int i = 0; i < scene->mechanism_count; i++)
        gw_mechanism_poses(&scene->mechanisms[i], NULL,
                           poses + scene->object_count + gw_scene_first_joint(scene, i));
    for (int i = 0; i < r->pose_count; i++) {
        int body = gw_scene_body_number(scene, r->poses[i].id);
        if (body < 0) {
            char where[32];
            snprintf(where, sizeof where, "/poses/%d/id", i);
            gw_fail(error, GW_BAD_INPUT, where, "there is no object or link \"%s\"",
                    r->poses[i].id);
            return gw_error_names(error, scene->objects, scene->object_count,
                                  sizeof *scene->objects);
        }
        poses[body] = r->poses[i].pose;
    }
    return true;
}

bool wire_assembly_def(const wire_assembly_request *r, const gw_scene *scene, gw_assembly_def *def,
                       gw_error *error)
{
    size_t bodies = (size_t)gw_scene_body_count(scene) + 1;
    bool *ground = r->ground ? calloc(bodies, sizeof *ground) : NULL;
    gw_pose *poses = r->poses ? calloc(bodies, sizeof *poses) : NULL;
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    *def =
        (gw_assembly_def){.scene = scene,
                          .ground = ground,
                          .poses = poses,
                          .limits = true,
                          .threads = (int)(processors < MOST_THREADS ? processors : MOST_THREADS)};
    if ((r->ground && !ground) || (r->poses && !poses))
        return gw_fail(error, GW_FAILED, "", "no memory for an assembly");
    return (!ground || take_ground(r, scene, ground, error)) &&
           (!poses || take_poses(r, scene, poses, error));
}

void wire_assembly_def_finish(gw_assembly_def *def)
{
    free((void *)def->ground);
    free((void *)def->poses);
    *def = (gw_assembly_def){0};
}

/* ---- the answer ---------------------------------------------------------------------------- */

static const wire_field an_id = {"id", ID};
static const wire_field of_answered_pose[] = {
    {"id", STRING}, {"pose", OBJECT, .table = &wire_table_pose_read}, {0}};
static const wire_table answered_pose = {.fields = of_answered_pose, .answered = true};

static const wire_field of_best[] = {
    {"residual", NUMBER, .unit = "m"}, {"poses", LIST, .table = &answered_pose}, {0}};
static const wire_table best = {.fields = of_best, .answered = true};

static const char *const stopped_by[] = {"iterations", "time", NULL};

static const wire_field of_iteration[] = {
    {"start", WHOLE},
    {"iteration", WHOLE, .about = "of that start, from 1"},
    {"residual", NUMBER, .unit = "m"},
    {"step", NUMBER, .about = "the longest of a body; of turns, rad times the scene's length",
     .unit = "m"},
    {0}};
static const wire_table iteration = {.fields = of_iteration, .answered = true};

static const wire_field of_assembly[] = {
    {"residual", NUMBER, .about = "the largest; of angles, rad times the scene's length",
     .unit = "m"},
    {"iterations", WHOLE, .about = "of this call, all starts together"},
    {"starts", WHOLE, .about = "1: from where the parts are"},
    {"method", CHOICE, .choices = gw_assembly_methods, .about = "that was used"},
    {"remaining", LIST, .item = &an_id, .about = "constraints and joints that do not hold"},
    {"ended", CHOICE, .choices = gw_assembly_ends,
     .about = "held: every relation does; starts: none is left, and the poses are the best ones "
              "that were found; stopped: by `iterations` or after two seconds"},
    {"stopped_by", CHOICE, .flags = SOMETIMES, .choices = stopped_by,
     .about =
         "where it was stopped: by `iterations` of the request, or because two seconds were up"},
    {"best", OBJECT, .flags = SOMETIMES, .table = &best,
     .about = "where the time was up: the best place of this call, which `apply` takes over; "
              "`poses` are the last one, to go on from"},
    {"progress", OBJECT, .table = &progress, .about = "to be sent back with the poses"},
    {"size", NUMBER,
     .about =
         "the scene's length: a step's square is |dp|^2 / size^2 + |dtheta|^2, summed over the "
         "bodies that move",
     .unit = "m"},
    {"poses", LIST, .table = &answered_pose,
     .about = "of the objects that may move, and of links that follow"},
    {"committed", BOOLEAN, .about = "the scene has these poses now"},
    {"trace", LIST, .flags = SOMETIMES, .table = &iteration,
     .about = "the last 4096 iterations, where it is asked for"},
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

static json_t *placed_body(const char *id, const gw_pose *pose)
{
    return json_pack("{ss so}", "id", id, "pose", wire_pose(pose));
}

static json_t *poses_of(gw_assembly *assembly, const gw_assembly_def *def)
{
    const gw_scene *s = def->scene;
    const gw_pose *poses = gw_assembly_poses(assembly);
    json_t *list = json_array();
    for (int i = 0; i < s->object_count; i++)
        if (!(def->ground ? def->ground[i] : s->objects[i].fixed))
            json_array_append_new(list, placed_body(s->objects[i].id, &poses[i]));
    for (int i = 0; i < s->mechanism_count; i++) {
        int first = s->object_count + gw_scene_first_joint(s, i);
        for (int k = 0; k < s->mechanisms[i].link_count; k++) {
            char name[GW_MAX_LINK_NAME + 1];
            gw_link_name(&s->mechanisms[i], k, name);
            if (gw_assembly_moves(assembly, first + k))
                json_array_append_new(list, placed_body(name, &poses[first + k]));
        }
    }
    return list;
}

json_t *wire_assembly_step(gw_assembly *assembly, const gw_assembly_def *def,
                           const gw_assembly_result *result)
{
    json_t *answer = wire_assembly(assembly, result);
    wire_add(answer, "ended", json_string(gw_assembly_ends[result->end]));
    wire_add(answer, "progress", wire_encode(&progress, &result->progress, NULL));
    wire_add(answer, "size", json_real(gw_assembly_size(assembly)));
    wire_add(answer, "poses", poses_of(assembly, def));
    return answer;
}

void wire_add_stopped(json_t *answer, gw_assembly *assembly, const gw_assembly_def *def, bool late)
{
    wire_add(answer, "stopped_by", json_string(stopped_by[late]));
    if (!late)
        return;
    double residual = gw_assembly_take_best(assembly);
    wire_add(answer, "best",
             json_pack("{sf so}", "residual", residual, "poses", poses_of(assembly, def)));
}
