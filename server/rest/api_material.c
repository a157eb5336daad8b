/*
 * Materials: what surfaces are like. Add, read, change, rename, remove.
 */
#include <stdio.h>
#include <string.h>

#include "server/rest/api_call.h"

void api_materials_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    json_t *list = json_array();
    for (int i = 0; i < document->scene->material_count; i++)
        json_array_append_new(list, wire_material(&document->scene->materials[i]));
    api_part(call, 200, document, list);
    app_document_put(document);
}

static bool no_such(api_call *call, int index)
{
    if (index < 0)
        api_refuse(call, 404, "", "there is no material %s", call->part[0]);
    return index < 0;
}

void api_material_get(api_call *call)
{
    app_document *document = app_document_get(call->app);
    int index = gw_scene_material(document->scene, call->part[0]);
    if (!no_such(call, index))
        api_part(call, 200, document, wire_material(&document->scene->materials[index]));
    app_document_put(document);
}

/* Commits and answers the material at `index`. */
static void finish(api_call *call, app_edit *edit, int index, int status)
{
    char item[64];
    snprintf(item, sizeof item, "/materials/%d", index);
    if (!api_commit(call, edit, item, NULL))
        return;
    const gw_material *material = &edit->document->scene->materials[index];
    if (status == 201)
        api_location(call, "materials", material->id);
    api_part(call, status, edit->document, wire_material(material));
    app_edit_end(edit);
}

static bool taken(api_call *call, app_edit *edit, const char *id)
{
    if (gw_scene_material(edit->scene, id) < 0)
        return false;
    api_refuse(call, 409, "/id", "there is a material %s already", id);
    app_edit_end(edit);
    return true;
}

void api_materials_post(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_material material;
    if (!wire_get_material(call->body, "", &material, &error)) {
        api_error(call, &error);
        return;
    }
    if (!api_begin(call, &edit) || taken(call, &edit, material.id))
        return;
    gw_material *place = gw_scene_add_material(edit.scene, &error);
    if (!place) {
        api_abandon(call, &edit, &error);
        return;
    }
    *place = material;
    finish(call, &edit, edit.scene->material_count - 1, 201);
}

/* Begins an edit of the material that the address names: its index, or -1 with the reply set. */
static int begin(api_call *call, app_edit *edit)
{
    if (!api_begin(call, edit))
        return -1;
    int index = gw_scene_material(edit->scene, call->part[0]);
    if (no_such(call, index))
        app_edit_end(edit);
    return index;
}

void api_material_patch(api_call *call)
{
    app_edit edit;
    gw_error error = {0};
    gw_material material;
    int index = begin(call, &edit);
    if (index < 0)
        return;
    json_t *merged = api_merge(call, wire_material(&edit.scene->materials[index]));
    bool read = wire_get_material(merged, "", &material, &error);
    json_decref(merged);
    if (!read) {
        api_abandon(call, &edit, &error);
        return;
    }
    bool renamed = strcmp(material.id, call->part[0]) != 0;
    if (renamed && taken(call, &edit, material.id))
        return;
    if (renamed)
        gw_scene_rename_material(edit.scene, call->part[0], material.id);
    edit.scene->materials[index] = material;
    finish(call, &edit, index, 200);
}

/* Names everything that is made of it. */
static void dependents(const gw_scene *scene, const char *id, char *list, size_t size)
{
    list[0] = 0;
    for (int i = 0; i < scene->object_count; i++)
        if (strcmp(scene->objects[i].material, id) == 0)
            api_name(list, size, "object", scene->objects[i].id);
    for (int i = 0; i < scene->mechanism_count; i++)
        for (int k = 0; k < scene->mechanisms[i].link_count; k++) {
            char name[GW_MAX_LINK_NAME + 1];
            gw_link_name(&scene->mechanisms[i], k, name);
            if (strcmp(scene->mechanisms[i].looks[k].material, id) == 0)
                api_name(list, size, "link", name);
        }
}

void api_material_delete(api_call *call)
{
    app_edit edit;
    char list[300];
    int index = begin(call, &edit);
    if (index < 0)
        return;
    dependents(edit.scene, call->part[0], list, sizeof list);
    if (*list) {
        api_refuse(call, 409, "", "%s is referred to by %s: change these first", call->part[0],
                   list);
        app_edit_end(&edit);
        return;
    }
    gw_scene_remove_material(edit.scene, index);
    if (!api_commit(call, &edit, NULL, NULL))
        return;
    call->reply->status = 204;
    app_edit_end(&edit);
}
