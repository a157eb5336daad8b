/*
 * Features: those that shapes have, read only, and those that the scene states.
 */
#include <stdio.h>
#include <string.h>

#include "server/rest/api_call.h"

/* {"id","derived","point"/"line"/"plane"} */
static json_t *feature_json(const char *object, const char *name, bool derived,
                            const gw_element *element)
{
    char id[2 * GW_MAX_ID + 2];
    snprintf(id, sizeof id, "%s/%s", object, name);
    json_t *json = json_pack("{s:s, s:b}", "id", id, "derived", derived);
    json_t *shape = wire_element(element);
    json_object_update(json, shape);
    json_decref(shape);
    return json;
}

static json_t *stated_json(const gw_feature *feature)
{
    return feature_json(feature->object, feature->name, false, &feature->element);
}

static void list_object(const gw_scene *scene, const gw_object *object, json_t *list)
{
    int count = gw_feature_count(&object->shape);
    for (int i = 0; i < count; i++) {
        char name[GW_FEATURE_NAME];
        gw_element element;
        gw_feature_at(&object->shape, i, name, &element);
        if (gw_scene_feature(scene, object->id, name) < 0)
            json_array_append_new(list, feature_json(object->id, name, true, &element));
    }
    for (int i = 0; i < scene->feature_count; i++)
        if (strcmp(scene->features[i].object, object->id) == 0)
            json_array_append_new(list, stated_json(&scene->features[i]));
}

void api_features_get(api_call *call)
{
    char object[GW_MAX_ID + 1] = "";
    app_document *document = app_document_get(call->app);
    const gw_scene *scene = document->scene;
    bool one = api_query(call, "object", object, sizeof object);
    if (one && gw_scene_object(scene, object) < 0)
        api_refuse(call, 404, "", "there is no object %s", object);
    else {
        json_t *list = json_array();
        for (int i = 0; i < scene->object_count; i++)
            if (!one || strcmp(scene->objects[i].id, object) == 0)
                list_object(scene, &scene->objects[i], list);
        api_part(call, 200, document, list);
    }
    app_document_put(document);
}

static void no_such(api_call *call)
{
    api_refuse(call, 404, "", "there is no feature %s/%s", call->part[0], call->part[1]);
}

void api_feature_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    gw_feature_ref ref;
    gw_element element;
    memcpy(ref.object, call->part[0], sizeof ref.object);
    memcpy(ref.feature, call->part[1], sizeof ref.feature);
    bool stated = gw_scene_feature(document->scene, ref.object, ref.feature) >= 0;
    if (gw_scene_element(document->scene, &ref, &element))
        api_part(call, 200, document, feature_json(ref.object, ref.feature, !stated, &element));
    else
        no_such(call);
    app_document_put(document);
}

/* ---- edits --------------------------------------------------------------------------------- */

/* A change of a value: while it runs, what stands on the feature comes along. Changes that come in
 * a row are one for undo. */
static void moves(app_edit *edit, const gw_feature *feature)
{
    edit->geometry_only = true;
    snprintf(edit->group, sizeof edit->group, "feature %.40s/%.40s", feature->object,
             feature->name);
}

/* Commits and answers the feature at `index`. */
static void finish(api_call *call, app_edit *edit, int index, int status)
{
    char item[64], id[2 * GW_MAX_ID + 2];
    gw_feature feature = edit->scene->features[index];
    snprintf(item, sizeof item, "/features/%d", index);
    if (!api_commit(call, edit, item, feature.object))
        return;
    snprintf(id, sizeof id, "%s/%s", feature.object, feature.name);
    if (status == 201)
        api_location(call, "features", id);
    api_part(call, status, edit->document, stated_json(&feature));
    app_edit_end(edit);
}

/* Whether the shape has a feature of that name: then the edit ends. One that a scene states would
 * take its place under the constraints that name it. */
static bool refuse_derived(api_call *call, app_edit *edit, const char *object, const char *name)
{
    gw_feature_ref ref;
    gw_element element;
    snprintf(ref.object, sizeof ref.object, "%s", object);
    snprintf(ref.feature, sizeof ref.feature, "%s", name);
    if (!gw_scene_element(edit->scene, &ref, &element))
        return false;
    api_refuse(call, 409, "", "%s/%s comes from the shape: it can only be read", object, name);
    app_edit_end(edit);
    return true;
}

static void add(api_call *call, app_edit *edit, const gw_feature *feature)
{
    gw_error error = {0};
    if (refuse_derived(call, edit, feature->object, feature->name))
        return;
    gw_feature *place = gw_scene_add_feature(edit->scene, &error);
    if (!place) {
        api_abandon(call, edit, &error);
        return;
    }
    *place = *feature;
    finish(call, edit, edit->scene->feature_count - 1, 201);
}

void api_features_post(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_feature feature = {0};
    if (!wire_get_feature(call->body, "", &feature, &error)) {
        api_error(call, &error);
        return;
    }
    if (!api_begin(call, &edit))
        return;
    if (gw_scene_feature(edit.scene, feature.object, feature.name) >= 0) {
        api_refuse(call, 409, "/id", "there is a feature %s/%s already", feature.object,
                   feature.name);
        app_edit_end(&edit);
        return;
    }
    add(call, &edit, &feature);
}

/* The address says the id: a body without one gets it. */
static bool read_addressed(const api_call *call, json_t *body, gw_feature *feature, gw_error *error)
{
    char id[2 * GW_MAX_ID + 2];
    snprintf(id, sizeof id, "%s/%s", call->part[0], call->part[1]);
    if (json_is_object(body) && !json_object_get(body, "id"))
        json_object_set_new(body, "id", json_string(id));
    if (!wire_get_feature(body, "", feature, error))
        return false;
    bool same =
        strcmp(feature->object, call->part[0]) == 0 && strcmp(feature->name, call->part[1]) == 0;
    return same || gw_fail(error, GW_BAD_INPUT, "/id", "the address says %s", id);
}

void api_feature_put(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_feature feature = {0};
    if (!read_addressed(call, call->body, &feature, &error)) {
        api_error(call, &error);
        return;
    }
    if (!api_begin(call, &edit))
        return;
    int index = gw_scene_feature(edit.scene, feature.object, feature.name);
    if (index < 0) {
        add(call, &edit, &feature);
        return;
    }
    edit.scene->features[index] = feature;
    moves(&edit, &feature);
    finish(call, &edit, index, 200);
}

/* The index of the stated feature that the address names; -1: the edit has ended. */
static int addressed(api_call *call, app_edit *edit)
{
    int index = gw_scene_feature(edit->scene, call->part[0], call->part[1]);
    if (index >= 0 || refuse_derived(call, edit, call->part[0], call->part[1]))
        return index;
    no_such(call);
    app_edit_end(edit);
    return -1;
}

void api_feature_patch(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_feature feature = {0};
    int index = api_begin(call, &edit) ? addressed(call, &edit) : -1;
    if (index < 0)
        return;
    json_t *merged = api_merge(call, wire_feature(&edit.scene->features[index]));
    bool read = read_addressed(call, merged, &feature, &error);
    json_decref(merged);
    if (!read) {
        api_abandon(call, &edit, &error);
        return;
    }
    edit.scene->features[index] = feature;
    moves(&edit, &feature);
    finish(call, &edit, index, 200);
}

static bool names(const gw_feature_ref *ref, const gw_feature *feature)
{
    return strcmp(ref->object, feature->object) == 0 && strcmp(ref->feature, feature->name) == 0;
}

void api_feature_delete(api_call *call)
{
    app_edit edit;
    char list[300] = "";
    int index = api_begin(call, &edit) ? addressed(call, &edit) : -1;
    if (index < 0)
        return;
    const gw_scene *scene = edit.scene;
    for (int i = 0; i < scene->constraint_count; i++) {
        const gw_scene_constraint *constraint = &scene->constraints[i];
        size_t used = strlen(list);
        if (names(&constraint->a, &scene->features[index]) ||
            names(&constraint->b, &scene->features[index]))
            snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", constraint->id);
    }
    if (*list) {
        api_refuse(call, 409, "", "%s/%s is used by constraint %s: delete these first",
                   call->part[0], call->part[1], list);
        app_edit_end(&edit);
        return;
    }
    gw_scene_remove_feature(edit.scene, index);
    if (!api_commit(call, &edit, NULL, call->part[0]))
        return;
    call->reply->status = 204;
    app_edit_end(&edit);
}
