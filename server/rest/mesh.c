/*
 * Mesh files as resources: stored in the data folder, checked at upload.
 */
#include <string.h>

#include "server/rest/call.h"

static void list_one(void *context, const char *name, long long bytes)
{
    json_array_append_new(context, json_pack("{ss sI}", "name", name, "bytes", (json_int_t)bytes));
}

void api_meshes_get(api_call *call)
{
    gw_error error = {0};
    json_t *list = json_array();
    if (list && meshes_list(call->meshes, list_one, list, &error)) {
        api_json(call, 200, list);
        return;
    }
    json_decref(list);
    api_error(call, &error);
}

void api_mesh_get(api_call *call)
{
    gw_error error = {0};
    gw_mesh *mesh = meshes_find(call->meshes, call->part[0], false, &error);
    if (mesh)
        api_json(call, 200, wire_mesh(mesh));
    else
        api_refuse(call, error.code == GW_FAILED ? 500 : 404, "", "%s", error.message);
    gw_mesh_put(mesh);
}

/* ---- references to a mesh ------------------------------------------------------------------ */

static bool names_mesh(const gw_shape *shape, const char *file)
{
    if (shape->kind == GW_SHAPE_MESH)
        return strcmp(shape->mesh->file, file) == 0;
    for (int i = 0; shape->kind == GW_SHAPE_COMPOUND && i < shape->part_count; i++)
        if (names_mesh(&shape->parts[i].shape, file))
            return true;
    return false;
}

/* True where an object or link of the scene uses the mesh: the reply is set. */
static bool refuse_if_used(api_call *call)
{
    app_document *document = app_document_get(call->app);
    const gw_scene *s = document->scene;
    char users[160] = "";
    for (int i = 0; i < s->object_count; i++)
        if (names_mesh(&s->objects[i].shape, call->part[0]))
            api_name(users, sizeof users, "object", s->objects[i].id);
    for (int i = 0; i < s->mechanism_count; i++)
        for (int k = 0; k < s->mechanisms[i].link_count; k++)
            if (s->mechanisms[i].geometries[k].has_geometry &&
                names_mesh(&s->mechanisms[i].geometries[k].shape, call->part[0]))
                api_name(users, sizeof users, "a link of", s->mechanisms[i].id);
    app_document_put(document);
    if (*users)
        api_refuse(call, 409, "", "%s is used by %s", call->part[0], users);
    return *users != 0;
}

/* ---- changes ------------------------------------------------------------------------------- */

void api_mesh_put(api_call *call)
{
    gw_error error = {0};
    const api_request *request = call->request;
    bool known = meshes_saved(call->meshes, call->part[0]);
    if (request->size == 0) {
        api_refuse(call, 400, "", "the body is the file itself, and it is empty");
        return;
    }
    if (known && (!api_replaces(call, call->part[0]) || refuse_if_used(call)))
        return;
    gw_mesh *mesh = meshes_save(call->meshes, call->part[0], request->body, request->size, &error);
    if (!mesh) {
        api_storage_error(call, &error);
        return;
    }
    if (!known)
        api_location(call, "meshes", call->part[0]);
    api_json(call, known ? 200 : 201, wire_mesh_about(mesh));
    gw_mesh_put(mesh);
}

void api_mesh_delete(api_call *call)
{
    gw_error error = {0};
    if (refuse_if_used(call))
        return;
    if (meshes_delete(call->meshes, call->part[0], &error))
        call->reply->status = 204;
    else
        api_error(call, &error);
}
