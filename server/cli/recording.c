#include "server/cli/recording.h"

#include <math.h>
#include <stdlib.h>

#include "server/files/mcap.h"
#include "server/schema/wire.h"

#define CURVE_POINTS 200   /* of the line that a curve is drawn as */
#define LINE_WIDTH   0.001 /* m */

struct recording {
    mcap *file;
    const gw_scene *scene;
    int samples, poses, fixed, shapes, events, document; /* channels */
};

/* ---- schemas ----------------------------------------------------------------------------- */

static const char time_schema[] =
    "{\"type\":\"object\",\"title\":\"time\",\"properties\":{"
    "\"sec\":{\"type\":\"integer\"},\"nsec\":{\"type\":\"integer\"}}}";

static json_t *numbers_schema(const char *const *names)
{
    json_t *properties = json_object();
    for (; *names; names++)
        wire_add(properties, *names, json_pack("{ss}", "type", "number"));
    return json_pack("{ss so}", "type", "object", "properties", properties);
}

static json_t *vector_schema(void)
{
    static const char *const names[] = {"x", "y", "z", NULL};
    return numbers_schema(names);
}

static json_t *rotation_schema(void)
{
    static const char *const names[] = {"x", "y", "z", "w", NULL};
    return numbers_schema(names);
}

static json_t *list_schema(json_t *items)
{
    return json_pack("{ss so}", "type", "array", "items", items);
}

static json_t *transforms_schema(void)
{
    json_t *transform = json_pack("{ss ss s{so s{ss} s{ss} so so}}", "type", "object", "title",
                                  "foxglove.FrameTransform", "properties", "timestamp",
                                  json_loads(time_schema, 0, NULL), "parent_frame_id", "type",
                                  "string", "child_frame_id", "type", "string", "translation",
                                  vector_schema(), "rotation", rotation_schema());
    return json_pack("{ss ss s{so}}", "type", "object", "title", "foxglove.FrameTransforms",
                     "properties", "transforms", list_schema(transform));
}

static json_t *plain_list_schema(void)
{
    return list_schema(json_pack("{ss}", "type", "object"));
}

static json_t *shapes_schema(void)
{
    json_t *entity = json_pack(
        "{ss ss s{so s{ss} s{ss} s{ss} so so so so so}}", "type", "object", "title",
        "foxglove.SceneEntity", "properties", "timestamp", json_loads(time_schema, 0, NULL),
        "frame_id", "type", "string", "id", "type", "string", "frame_locked", "type", "boolean",
        "cubes", plain_list_schema(), "spheres", plain_list_schema(), "cylinders",
        plain_list_schema(), "lines", plain_list_schema(), "triangles", plain_list_schema());
    return json_pack("{ss ss s{so so}}", "type", "object", "title", "foxglove.SceneUpdate",
                     "properties", "deletions", plain_list_schema(), "entities",
                     list_schema(entity));
}

static json_t *samples_schema(int columns)
{
    json_t *names = wire_sample_names(columns), *properties = json_object(), *name;
    size_t i;
    json_array_foreach(names, i, name)
        wire_add(properties, json_string_value(name), json_pack("{ss}", "type", "number"));
    json_decref(names);
    return json_pack("{ss ss so}", "type", "object", "title", "guideway.Sample", "properties",
                     properties);
}

static json_t *named_schema(const char *name)
{
    return json_pack("{ss ss}", "type", "object", "title", name);
}

/* A channel, 0 where memory is short. */
static int add_channel(recording *r, const char *topic, const char *name, json_t *schema)
{
    gw_text *text = wire_text(schema);
    int channel = text ? mcap_channel(r->file, topic, name, text->data) : 0;
    text_unref(text);
    return channel;
}

static bool add_channels(recording *r)
{
    int columns = wire_sample_columns(gw_scene_joints(r->scene));
    static const char frames[] = "foxglove.FrameTransforms";
    r->samples = add_channel(r, "/samples", "guideway.Sample", samples_schema(columns));
    r->poses = add_channel(r, "/poses", frames, transforms_schema());
    r->fixed = add_channel(r, "/fixed", frames, transforms_schema());
    r->shapes = add_channel(r, "/shapes", "foxglove.SceneUpdate", shapes_schema());
    r->events = add_channel(r, "/events", "guideway.Event", named_schema("guideway.Event"));
    r->document = add_channel(r, "/scene", "guideway.Scene", named_schema("guideway.Scene"));
    return r->samples && r->poses && r->fixed && r->shapes && r->events && r->document;
}

/* ---- frames ------------------------------------------------------------------------------ */

static uint64_t nanoseconds(double seconds)
{
    return (uint64_t)llround(1e9 * seconds);
}

static json_t *time_json(double seconds)
{
    const uint64_t ns = nanoseconds(seconds), second = 1000000000;
    return json_pack("{sI sI}", "sec", (json_int_t)(ns / second), "nsec",
                     (json_int_t)(ns % second));
}

static json_t *vector_json(gw_vec3 v)
{
    return json_pack("{sf sf sf}", "x", v.x, "y", v.y, "z", v.z);
}

static json_t *rotation_json(gw_quat q)
{
    return json_pack("{sf sf sf sf}", "x", q.x, "y", q.y, "z", q.z, "w", q.w);
}

static void add_frame(json_t *list, const char *name, double time, const gw_pose *pose)
{
    json_array_append_new(list, json_pack("{so ss ss so so}", "timestamp", time_json(time),
                                          "parent_frame_id", "world", "child_frame_id", name,
                                          "translation", vector_json(pose->p), "rotation",
                                          rotation_json(pose->q)));
}

static gw_text *frames_text(json_t *list)
{
    return wire_text(json_pack("{so}", "transforms", list));
}

static json_t *frames_of(const recording *r, bool fixed, double time, const gw_pose *poses)
{
    json_t *list = json_array();
    for (int i = 0; i < r->scene->object_count; i++)
        if (r->scene->objects[i].fixed == fixed)
            add_frame(list, r->scene->objects[i].id, time, &poses[i]);
    return list;
}

/* ---- shapes ------------------------------------------------------------------------------ */

static json_t *pose_json(const gw_pose *pose)
{
    return json_pack("{so so}", "position", vector_json(pose->p), "orientation",
                     rotation_json(pose->q));
}

static json_t *colour_json(void)
{
    return json_pack("{sf sf sf sf}", "r", 0.6, "g", 0.65, "b", 0.7, "a", 1.0);
}

/* Adds a primitive with the members that all of them have. */
static void add_primitive(json_t *entity, const char *list, const gw_pose *pose, json_t *primitive)
{
    wire_add(primitive, "pose", pose_json(pose));
    wire_add(primitive, "color", colour_json());
    json_array_append_new(json_object_get(entity, list), primitive);
}

static json_t *sized(double x, double y, double z)
{
    return json_pack("{so}", "size", vector_json(gw_v3(x, y, z)));
}

/* A cylinder that is centred on its pose, or a cone (`top` 0). */
static void add_cylinder(json_t *entity, const gw_pose *pose, const gw_shape *s, double top)
{
    json_t *cylinder = sized(2 * s->radius, 2 * s->radius, s->height);
    wire_add(cylinder, "bottom_scale", json_real(1));
    wire_add(cylinder, "top_scale", json_real(top));
    add_primitive(entity, "cylinders", pose, cylinder);
}

static gw_pose along_z(const gw_pose *pose, double z)
{
    return (gw_pose){gw_pose_point(pose, gw_v3(0, 0, z)), pose->q};
}

static void add_ball(json_t *entity, const gw_pose *pose, double radius)
{
    add_primitive(entity, "spheres", pose, sized(2 * radius, 2 * radius, 2 * radius));
}

static json_t *points_json(const gw_vec3 *points, int count)
{
    json_t *list = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(list, vector_json(points[i]));
    return list;
}

static void add_mesh(json_t *entity, const gw_pose *pose, const gw_mesh *mesh)
{
    json_t *indices = json_array();
    for (int i = 0; i < mesh->triangle_count; i++)
        for (int k = 0; k < 3; k++)
            json_array_append_new(indices, json_integer(mesh->triangles[i][k]));
    add_primitive(entity, "triangles", pose,
                  json_pack("{so so so}", "points", points_json(mesh->vertices, mesh->vertex_count),
                            "indices", indices, "colors", json_array()));
}

static void add_surface(json_t *entity, const gw_pose *pose, const gw_nurbs *surface)
{
    gw_mesh *mesh = gw_nurbs_mesh(surface, NULL, NULL);
    if (!mesh) {
        wire_memory_missed();
        return;
    }
    add_mesh(entity, pose, mesh);
    gw_mesh_put(mesh);
}

static void add_curve(json_t *entity, const gw_pose *pose, const gw_nurbs *curve)
{
    const gw_nurbs_direction *u = &curve->direction[0];
    gw_vec3 points[CURVE_POINTS];
    gw_nurbs_span span = {0};
    for (int i = 0; i < CURVE_POINTS; i++) {
        double parameter[2] = {u->low + (u->high - u->low) * i / (CURVE_POINTS - 1)};
        gw_nurbs_point at;
        gw_nurbs_evaluate(curve, parameter, 0, &span, &at);
        points[i] = at.d[0][0];
    }
    add_primitive(entity, "lines", pose,
                  json_pack("{si sf sb so so so}", "type", 0, "thickness", LINE_WIDTH,
                            "scale_invariant", false, "points", points_json(points, CURVE_POINTS),
                            "colors", json_array(), "indices", json_array()));
}

/* Adds what a shape is drawn as, at `pose` in the entity's frame. */
static void add_shape(json_t *entity, const gw_pose *pose, const gw_shape *s)
{
    gw_pose middle = along_z(pose, s->height / 2);
    switch (s->kind) {
    case GW_SHAPE_BOX:
        add_primitive(entity, "cubes", pose, sized(s->size.x, s->size.y, s->size.z));
        break;
    case GW_SHAPE_CYLINDER:
        add_cylinder(entity, pose, s, 1);
        break;
    case GW_SHAPE_CONE:
        add_cylinder(entity, &middle, s, 0);
        break;
    case GW_SHAPE_SPHERE:
        add_ball(entity, pose, s->radius);
        break;
    case GW_SHAPE_CAPSULE: {
        gw_pose other = along_z(pose, -s->height / 2);
        add_cylinder(entity, pose, s, 1);
        add_ball(entity, &middle, s->radius);
        add_ball(entity, &other, s->radius);
        break;
    }
    case GW_SHAPE_MESH:
        add_mesh(entity, pose, s->mesh);
        break;
    case GW_SHAPE_NURBS_CURVE:
        add_curve(entity, pose, s->nurbs);
        break;
    case GW_SHAPE_NURBS_SURFACE:
        add_surface(entity, pose, s->nurbs);
        break;
    case GW_SHAPE_COMPOUND:
        for (int i = 0; i < s->part_count; i++) {
            gw_pose part = gw_pose_mul(pose, &s->parts[i].pose);
            add_shape(entity, &part, &s->parts[i].shape);
        }
        break;
    }
}

/* The shape of an object or a link, in its frame. */
static json_t *entity_json(const char *frame, const gw_pose *pose, const gw_shape *shape)
{
    json_t *entity =
        json_pack("{so ss ss s{si si} sb s[] s[] s[] s[] s[] s[] s[] s[] s[]}", "timestamp",
                  time_json(0), "frame_id", frame, "id", frame, "lifetime", "sec", 0, "nsec", 0,
                  "frame_locked", true, "metadata", "arrows", "cubes", "spheres", "cylinders",
                  "lines", "triangles", "texts", "models");
    add_shape(entity, pose, shape);
    return entity;
}

static gw_text *shapes_text(const gw_scene *scene)
{
    json_t *list = json_array();
    const gw_pose identity = gw_pose_identity();
    for (int i = 0; i < scene->object_count; i++)
        json_array_append_new(
            list, entity_json(scene->objects[i].id, &identity, &scene->objects[i].shape));
    for (int i = 0; i < scene->mechanism_count; i++)
        for (int k = 0; k < scene->mechanisms[i].link_count; k++) {
            const gw_link_geometry *g = &scene->mechanisms[i].geometries[k];
            char name[GW_MAX_LINK_NAME + 1];
            gw_link_name(&scene->mechanisms[i], k, name);
            if (g->has_geometry)
                json_array_append_new(list, entity_json(name, &g->pose, &g->shape));
        }
    return wire_text(json_pack("{s[] so}", "deletions", "entities", list));
}

/* ---- the file ---------------------------------------------------------------------------- */

recording *recording_create(FILE *file, const gw_scene *scene, const gw_pose *poses)
{
    recording *r = calloc(1, sizeof *r);
    if (!r)
        return NULL;
    r->scene = scene;
    r->file = mcap_create(file);
    if (!r->file || !add_channels(r)) {
        recording_destroy(r);
        return NULL;
    }
    mcap_message(r->file, r->document, 0, wire_text(wire_scene(scene)));
    mcap_message(r->file, r->shapes, 0, shapes_text(scene));
    mcap_message(r->file, r->fixed, 0, frames_text(frames_of(r, true, 0, poses)));
    return r;
}

void recording_destroy(recording *r)
{
    if (!r)
        return;
    mcap_destroy(r->file);
    free(r);
}

void recording_row(recording *r, const gw_snapshot *s, const gw_pose *poses)
{
    double row[WIRE_MOST_COLUMNS];
    int columns = wire_sample_columns(s->joint_count);
    json_t *sample = json_object(), *names = wire_sample_names(columns), *name;
    size_t i;
    wire_sample_row(s, row);
    json_array_foreach(names, i, name) wire_add(sample, json_string_value(name), json_real(row[i]));
    json_decref(names);
    mcap_message(r->file, r->samples, nanoseconds(s->time), wire_text(sample));

    json_t *frames = frames_of(r, false, s->time, poses);
    for (int m = 0, first = 0; m < r->scene->mechanism_count; m++) {
        const gw_mechanism *mechanism = &r->scene->mechanisms[m];
        for (int k = 0; k < mechanism->link_count; k++) {
            char frame[GW_MAX_LINK_NAME + 1];
            gw_link_name(mechanism, k, frame);
            add_frame(frames, frame, s->time, &s->links[first + k]);
        }
        first += mechanism->link_count;
    }
    mcap_message(r->file, r->poses, nanoseconds(s->time), frames_text(frames));
}

void recording_event(recording *r, const gw_event *event)
{
    json_t *json = wire_event(event, r->scene, 1);
    double time = json_number_value(json_object_get(json, "time"));
    mcap_message(r->file, r->events, nanoseconds(time), wire_text(json));
}

bool recording_finish(recording *r)
{
    return mcap_finish(r->file);
}
