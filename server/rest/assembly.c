/*
 * Assembly of the scene: a question, or an edit of all objects' poses in one revision.
 */
#include <stdlib.h>

#include "server/rest/call.h"

static json_t *poses_json(const gw_scene *scene, gw_assembly *assembly, const bool *ground)
{
    const gw_pose *poses = gw_assembly_poses(assembly);
    json_t *list = json_array();
    for (int i = 0; i < scene->object_count; i++)
        if (!(ground ? ground[i] : scene->objects[i].fixed))
            json_array_append_new(list, json_pack("{ss so}", "id", scene->objects[i].id, "pose",
                                                  wire_pose(&poses[i])));
    return list;
}

/* Where the parts of a scene go; NULL with an error. */
static gw_assembly *assemble(const gw_scene *scene, const wire_assembly_request *request,
                             gw_assembly_result *result, json_t **answer, gw_error *error)
{
    bool *ground;
    if (!wire_assembly_ground(request, scene, &ground, error))
        return NULL;
    const gw_assembly_def def = {.scene = scene, .ground = ground};
    const gw_assembly_options options = {.method = request->method, .seed = request->seed};
    gw_assembly *assembly = gw_assembly_create(&def, error);
    if (assembly) {
        gw_assembly_solve(assembly, &options, result);
        *answer = wire_assembly(assembly, result);
        wire_add(*answer, "poses", poses_json(scene, assembly, ground));
        wire_add(*answer, "committed", json_boolean(request->commit && result->held));
    }
    free(ground);
    return assembly;
}

static void ask(api_call *call, const wire_assembly_request *request)
{
    gw_error error = {0};
    gw_assembly_result result;
    json_t *answer = NULL;
    app_document *document = app_document_get(call->app);
    gw_assembly *assembly = assemble(document->scene, request, &result, &answer, &error);
    if (assembly)
        api_part(call, 200, document, answer);
    else
        api_error(call, &error);
    gw_assembly_destroy(assembly);
    app_document_put(document);
}

/* The edit is made where every relation holds. */
static void commit(api_call *call, const wire_assembly_request *request)
{
    gw_error error = {0};
    gw_assembly_result result;
    json_t *answer = NULL;
    app_edit edit;
    if (!api_begin(call, &edit))
        return;
    gw_assembly *assembly = assemble(edit.base->scene, request, &result, &answer, &error);
    if (!assembly) {
        api_abandon(call, &edit, &error);
        return;
    }
    if (result.held)
        gw_assembly_apply(assembly, edit.scene);
    gw_assembly_destroy(assembly);
    if (result.held && !api_commit(call, &edit, NULL, NULL)) {
        json_decref(answer);
        return;
    }
    api_part(call, 200, result.held ? edit.document : edit.base, answer);
    app_edit_end(&edit);
}

void api_assemble(api_call *call)
{
    gw_error error = {0};
    wire_assembly_request request = {0};
    if (!wire_get_assembly_request(call->body, &request, &error))
        api_error(call, &error);
    else if (request.commit)
        commit(call, &request);
    else
        ask(call, &request);
    wire_assembly_request_finish(&request);
}
