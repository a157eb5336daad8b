/*
 * Solutions: the freedoms of each object, the choice among branches, motion along freedoms.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/rest/call.h"

static json_t *solution_at(const api_entries *entries, int index)
{
    const app_document *document = entries->document;
    const gw_placement *placement = document->layout->placements[index];
    return describe_solution(document->scene, document->layout, placement,
                             &entries->poses[placement->object]);
}

void api_solutions_get(api_call *call)
{
    gw_snapshot *snapshot = api_snapshot(call);
    if (!snapshot)
        return;
    app_document *document = app_read_state(call->app, snapshot);
    gw_pose *poses = app_poses(document, snapshot);
    api_list(call, (api_entries){.count = poses ? document->layout->count : 0,
                                 .at = solution_at,
                                 .document = document,
                                 .poses = poses});
}

/* The placement of the object that the address names; NULL: the reply is set. */
static const gw_placement *addressed_placement(api_call *call, const app_document *document)
{
    int index = gw_scene_object(document->scene, call->part[0]);
    const gw_placement *placement = index < 0 ? NULL : gw_layout_placement(document->layout, index);
    gw_error error = {0};
    const gw_scene *scene = document->scene;
    if (index >= 0 && !placement)
        api_refuse(call, 404, "", "%s is fixed: it has no solution", call->part[0]);
    if (index < 0) {
        gw_fail(&error, GW_NOT_FOUND, "", "there is no object %s", call->part[0]);
        gw_error_names(&error, scene->objects, scene->object_count, sizeof *scene->objects);
        api_error(call, &error);
    }
    return placement;
}

static void answer_solution(api_call *call, const app_document *document,
                            const gw_placement *placement, const gw_pose *pose)
{
    api_solution(call, document, document, placement, pose);
}

void api_solution_get(api_call *call)
{
    gw_snapshot *snapshot = api_snapshot(call);
    if (!snapshot)
        return;
    app_document *document = app_read_state(call->app, snapshot);
    const gw_placement *placement = addressed_placement(call, document);
    gw_pose *poses = placement ? app_poses(document, snapshot) : NULL;
    if (poses)
        answer_solution(call, document, placement, &poses[placement->object]);
    else if (placement)
        api_refuse(call, 500, "", "memory is short");
    free(poses);
    app_document_put(document);
}

/* The branch that the body names, by default the chosen one; -1: the reply is set. */
static int wanted_branch(api_call *call, const gw_placement *placement)
{
    const json_t *member = json_object_get(call->body, "branch");
    const char *id = json_string_value(member);
    char list[300] = "";
    if (!member)
        return placement->branch;
    for (int i = 0; i < placement->solution.branch_count; i++) {
        const char *each = placement->solution.branches[i].id;
        size_t used = strlen(list);
        if (id && strcmp(each, id) == 0)
            return i;
        snprintf(list + used, sizeof list - used, "%s%s", used ? ", " : "", each);
    }
    api_refuse(call, 400, "/branch", "%s has the branches %s", call->part[0], list);
    return -1;
}

/* The body's parameters, checked against the branch; false: the reply is set. */
static bool wanted_parameters(api_call *call, const json_t *list, const gw_submanifold *set,
                              double *values)
{
    gw_submanifold_parameter parameters[6];
    char where[32];
    int count = gw_submanifold_parameters(set, parameters);
    if (!json_is_array(list) || json_array_size(list) != (size_t)count) {
        api_refuse(call, 400, "/parameters", "this branch takes an array of %d numbers", count);
        return false;
    }
    for (int i = 0; i < count; i++) {
        const json_t *value = json_array_get(list, (size_t)i);
        const gw_submanifold_parameter *is = &parameters[i];
        values[i] = json_number_value(value);
        snprintf(where, sizeof where, "/parameters/%d", i);
        const double most = GW_MAX_COORDINATE;
        double low = is->periodic ? -most : fmax(is->low, -most);
        double high = is->periodic ? most : fmin(is->high, most);
        if (!json_is_number(value) || !(values[i] >= low && values[i] <= high)) {
            api_refuse(call, 400, where, "%s is a number from %g to %g %s", is->name, low, high,
                       is->unit);
            return false;
        }
    }
    return true;
}

/* The body's member `near`, a pose; false: the reply is set. */
static bool wanted_pose(api_call *call, const json_t *list, const json_t *near, gw_pose *pose)
{
    gw_error error = {0};
    if (list)
        gw_fail(&error, GW_BAD_INPUT, "/near", "parameters say the pose already");
    else if (wire_get_pose(near, "/near", pose, &error))
        return true;
    api_error(call, &error);
    return false;
}

/* Writes branch and pose into the scene; false: the reply is set. */
static bool choose_branch(api_call *call, app_edit *edit, const gw_placement *placement)
{
    gw_scene *scene = edit->scene;
    const json_t *list = json_object_get(call->body, "parameters");
    const json_t *near = json_object_get(call->body, "near");
    bool named = json_object_get(call->body, "branch") != NULL;
    int index = wanted_branch(call, placement);
    if (index < 0)
        return false;
    const gw_branch *branch = &placement->solution.branches[index];
    gw_pose *pose = &scene->objects[placement->object].pose;
    double values[6] = {0};
    gw_pose wanted;
    if (list && !wanted_parameters(call, list, &branch->set, values))
        return false;
    if (near && !wanted_pose(call, list, near, &wanted))
        return false;
    if (list && !gw_branch_pose(branch, values, pose)) {
        api_refuse(call, 400, "/parameters", "branch %s has no pose there: it ends before",
                   branch->id);
        return false;
    }
    if (near)
        gw_branch_nearest_to(branch, &wanted, placement->length, pose);
    else if (named && !list)
        *pose = branch->nearest;
    if (placement->tool >= 0 && (named || list || near))
        strcpy(scene->tools[placement->tool].branch, branch->id);
    return true;
}

void api_solution_patch(api_call *call)
{
    app_edit edit;
    static const char *const allowed[] = {"branch", "parameters", "near", NULL};
    if (!api_only(call, allowed))
        return;
    if (!api_begin(call, &edit))
        return;
    const gw_placement *placement = addressed_placement(call, edit.base);
    if (!placement || !choose_branch(call, &edit, placement)) {
        app_edit_end(&edit);
        return;
    }
    edit.go_to_layout = placement->follow != GW_OBJECT_FREE;
    snprintf(edit.group, sizeof edit.group, "solution %s", call->part[0]);
    int index = placement->object;
    if (!api_commit(call, &edit, NULL, call->part[0]))
        return;
    const app_document *document = edit.document;
    answer_solution(call, document, gw_layout_placement(document->layout, index),
                    &document->layout->poses[index]);
    app_edit_end(&edit);
}
