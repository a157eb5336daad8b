/*
 * Assembly of the scene's parts: as a query, or as one edit of all objects' poses.
 */
#include <stdlib.h>

#include "server/app/clock.h"
#include "server/rest/call.h"

#define CALL_TIME_MAX 2.0 /* s */
#define TRACE_MAX     4096

/* Watches the iterations of an assembly: its deadline and the trace for the answer. */
typedef struct assembly_watch {
    double until;
    json_t *trace; /* NULL: not asked for */
    bool late;     /* the deadline has passed */
} assembly_watch;

static bool watch_iteration(void *context, int start, int iteration, double residual, double step)
{
    assembly_watch *w = context;
    if (w->trace) {
        if (json_array_size(w->trace) == TRACE_MAX)
            json_array_remove(w->trace, 0);
        json_array_append_new(w->trace, json_pack("{si si sf sf}", "start", start, "iteration",
                                                  iteration, "residual", residual, "step", step));
    }
    w->late = clock_s() >= w->until;
    return !w->late;
}

/* Assembles the parts of a scene; NULL with an error. */
static gw_assembly *assemble_scene(const gw_scene *scene, const wire_assembly_request *request,
                                   gw_assembly_result *result, json_t **answer, gw_error *error)
{
    gw_assembly_def def;
    gw_assembly *assembly = NULL;
    if (wire_assembly_def(request, scene, &def, error))
        assembly = gw_assembly_create(&def, error);
    if (assembly) {
        assembly_watch watched = {.until = clock_s() + CALL_TIME_MAX,
                                  .trace = request->trace ? json_array() : NULL};
        int limit = !request->has_iterations  ? 0
                    : request->iterations > 0 ? request->iterations
                                              : -1;
        const gw_assembly_options options = {.method = request->method,
                                             .seed = request->seed,
                                             .starts = request->starts,
                                             .limit = limit,
                                             .from = request->progress,
                                             .watch = watch_iteration,
                                             .context = &watched};
        gw_assembly_solve(assembly, &options, result);
        *answer = wire_assembly_step(assembly, &def, result);
        if (result->end == GW_ASSEMBLY_STOPPED)
            wire_add_stopped(*answer, assembly, &def, watched.late);
        wire_add(*answer, "committed",
                 json_boolean(request->apply || (request->commit && result->held)));
        if (watched.trace)
            wire_add(*answer, "trace", watched.trace);
    }
    wire_assembly_def_finish(&def);
    return assembly;
}

static void answer_assembly(api_call *call, const wire_assembly_request *request)
{
    gw_error error = {0};
    gw_assembly_result result;
    json_t *answer = NULL;
    app_document *document = app_document_get(call->app);
    gw_assembly *assembly = assemble_scene(document->scene, request, &result, &answer, &error);
    if (assembly)
        api_part(call, 200, document, answer);
    else
        api_error(call, &error);
    gw_assembly_destroy(assembly);
    app_document_put(document);
}

/* Edits the scene where every relation is satisfied, or where the request applies the best result
 * anyway. */
static void commit_assembly(api_call *call, const wire_assembly_request *request)
{
    gw_error error = {0};
    gw_assembly_result result;
    json_t *answer = NULL;
    app_edit edit;
    if (!api_begin(call, &edit))
        return;
    gw_assembly *assembly = assemble_scene(edit.base->scene, request, &result, &answer, &error);
    if (!assembly) {
        api_abandon(call, &edit, &error);
        return;
    }
    bool made = result.held || request->apply;
    if (made)
        gw_assembly_apply(assembly, edit.scene);
    gw_assembly_destroy(assembly);
    if (made && !api_commit(call, &edit, NULL, NULL)) {
        json_decref(answer);
        return;
    }
    api_part(call, 200, made ? edit.document : edit.base, answer);
    app_edit_end(&edit);
}

void api_assemble(api_call *call)
{
    gw_error error = {0};
    wire_assembly_request request = {0};
    if (!wire_get_assembly_request(call->body, &request, &error))
        api_error(call, &error);
    else if (request.commit || request.apply)
        commit_assembly(call, &request);
    else
        answer_assembly(call, &request);
    wire_assembly_request_finish(&request);
}
