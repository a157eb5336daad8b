/*
 * Encoding of scenes and their parts, every member written out. Any server thread; no state.
 */
#include <string.h>

#include "server/schema/wire_base.h"

json_t *wire_shape(const gw_shape *s)
{
    const char *type = gw_shape_kind_name(s->kind);
    switch (s->kind) {
    case GW_SHAPE_BOX:
        return json_pack("{ss so}", "type", type, "size", wire_vec3(s->size));
    case GW_SHAPE_SPHERE:
        return json_pack("{ss sf}", "type", type, "radius", s->radius);
    case GW_SHAPE_CYLINDER:
    case GW_SHAPE_CONE:
    case GW_SHAPE_CAPSULE:
        return json_pack("{ss sf sf}", "type", type, "radius", s->radius, "height", s->height);
    case GW_SHAPE_MESH:
        return json_pack("{ss ss sb}", "type", type, "file", s->mesh->file, "convex",
                         s->mesh->convex);
    case GW_SHAPE_COMPOUND:
        break;
    }
    json_t *parts = json_array();
    for (int i = 0; i < s->part_count; i++)
        json_array_append_new(parts,
                              json_pack("{so so}", "geometry", wire_shape(&s->parts[i].shape),
                                        "pose", wire_pose(&s->parts[i].pose)));
    return json_pack("{ss so}", "type", type, "parts", parts);
}

static json_t *body_json(const gw_body *b)
{
    json_t *body = json_object();
    if (b->source == GW_MASS_GIVEN)
        json_object_set_new(body, "mass", json_real(b->mass));
    else
        json_object_set_new(body, "density", json_real(b->density));
    if (b->has_com)
        json_object_set_new(body, "com", wire_vec3(b->com));
    if (b->has_inertia) {
        const double *i = b->inertia;
        json_object_set_new(body, "inertia",
                            json_pack("[ffffff]", i[0], i[1], i[2], i[3], i[4], i[5]));
    }
    json_object_set_new(
        body, "damping",
        json_pack("{sf sf}", "linear", b->damping_linear, "angular", b->damping_angular));
    return body;
}

json_t *wire_object(const gw_object *o)
{
    json_t *object =
        json_pack("{ss so so sb so}", "id", o->id, "geometry", wire_shape(&o->shape), "pose",
                  wire_pose(&o->pose), "fixed", o->fixed, "body", body_json(&o->body));
    if (gw_norm2(o->velocity) > 0 || gw_norm2(o->spin) > 0)
        json_object_set_new(
            object, "velocity",
            json_pack("{so so}", "v", wire_vec3(o->velocity), "w", wire_vec3(o->spin)));
    if (o->free)
        wire_add(object, "free", json_true());
    if (o->material[0])
        wire_add(object, "material", json_string(o->material));
    return object;
}

static json_t *ref_json(const char *object, const char *feature)
{
    return json_sprintf("%s/%s", object, feature);
}

json_t *wire_feature(const gw_feature *f)
{
    json_t *feature = json_pack("{so}", "id", ref_json(f->object, f->name));
    json_t *element = wire_element(&f->element);
    json_object_update(feature, element);
    json_decref(element);
    return feature;
}

json_t *wire_constraint(const gw_scene_constraint *c)
{
    json_t *constraint = json_pack(
        "{ss ss so so sf ss sb}", "id", c->id, "type", wire_constraint_types[c->kind], "a",
        ref_json(c->a.object, c->a.feature), "b", ref_json(c->b.object, c->b.feature), "value",
        c->value, "sense", wire_senses[c->sense], "enabled", c->enabled);
    if (c->bound != GW_BOUND_EQUAL)
        json_object_set_new(constraint, "bound", json_string(wire_bounds[c->bound]));
    return constraint;
}

/* The contacts' settings where the scene has any, for they say that things touch. */
static void add_contact(json_t *scene, const gw_scene *s)
{
    const gw_scene_contact none = {0};
    json_t *contact = wire_contact(&s->contact), *unsaid = wire_contact(&none);
    if (!json_equal(contact, unsaid))
        json_object_set(scene, "contact", contact);
    json_decref(contact);
    json_decref(unsaid);
}

static void add_mechanisms(json_t *scene, const gw_scene *s)
{
    json_t *mechanisms = json_array(), *materials = json_array();
    for (int i = 0; i < s->mechanism_count; i++)
        json_array_append_new(mechanisms, wire_mechanism(&s->mechanisms[i]));
    for (int i = 0; i < s->material_count; i++)
        json_array_append_new(materials, wire_material(&s->materials[i]));
    if (s->mechanism_count > 0)
        json_object_set(scene, "mechanisms", mechanisms);
    if (s->material_count > 0)
        json_object_set(scene, "materials", materials);
    json_decref(mechanisms);
    json_decref(materials);
}

json_t *wire_scene(const gw_scene *s)
{
    json_t *objects = json_array(), *features = json_array(), *constraints = json_array();
    json_t *devices = json_array(), *tools = json_array(), *tasks = json_array();
    for (int i = 0; i < s->object_count; i++)
        json_array_append_new(objects, wire_object(&s->objects[i]));
    for (int i = 0; i < s->feature_count; i++)
        json_array_append_new(features, wire_feature(&s->features[i]));
    for (int i = 0; i < s->constraint_count; i++)
        json_array_append_new(constraints, wire_constraint(&s->constraints[i]));
    for (int i = 0; i < s->tool_count; i++)
        json_array_append_new(tools, wire_tool(&s->tools[i]));
    for (int i = 0; i < s->device_count; i++)
        json_array_append_new(devices, wire_device(&s->devices[i]));
    for (int i = 0; i < s->task_count; i++)
        json_array_append_new(tasks, wire_task(&s->tasks[i]));
    json_t *scene =
        json_pack("{ss ss so si so so so so}", "format", "guideway-scene/1", "name", s->name,
                  "gravity", wire_vec3(s->gravity), "rate", s->rate, "objects", objects, "features",
                  features, "constraints", constraints, "devices", devices);
    if (s->description[0])
        json_object_set_new(scene, "description", json_string(s->description));
    if (s->tool_count == 1)
        json_object_set(scene, "tool", json_array_get(tools, 0));
    else if (s->tool_count > 1)
        json_object_set(scene, "tools", tools);
    if (s->task_count > 0)
        json_object_set(scene, "tasks", tasks);
    json_decref(tasks);
    json_decref(tools);
    add_mechanisms(scene, s);
    add_contact(scene, s);
    return scene;
}
