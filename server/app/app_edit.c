/*
 * Edits: a copy of the scene is changed, checked, laid out and handed over; the document that
 * comes of it takes the place of the old one. Undo and redo are edits too.
 */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "server/app/app_private.h"

bool app_edit_begin(gw_app *app, app_edit *edit, gw_error *error)
{
    pthread_mutex_lock(&app->edit);
    *edit = (app_edit){.app = app, .base = app_document_get(app)};
    edit->scene = gw_scene_copy(edit->base->scene);
    if (edit->scene)
        return true;
    app_edit_end(edit);
    return gw_fail(error, GW_FAILED, "", "memory is short for an edit");
}

void app_edit_end(app_edit *edit)
{
    gw_scene_destroy(edit->scene);
    app_document_put(edit->base);
    app_document_put(edit->document);
    free(edit->placed);
    pthread_mutex_unlock(&edit->app->edit);
    *edit = (app_edit){0};
}

void app_edit_replace(app_edit *edit, gw_scene *scene)
{
    gw_scene_destroy(edit->scene);
    edit->scene = scene;
}

static bool same_pose(const gw_pose *a, const gw_pose *b)
{
    return a->p.x == b->p.x && a->p.y == b->p.y && a->p.z == b->p.z && a->q.w == b->q.w &&
           a->q.x == b->q.x && a->q.y == b->q.y && a->q.z == b->q.z;
}

static bool held(const gw_scene *scene, const char *id)
{
    for (int i = 0; i < scene->tool_count; i++)
        if (strcmp(scene->tools[i].object, id) == 0)
            return true;
    return false;
}

/* Where the objects of the changed scene are now: where the loop has them, unless the edit states
 * another pose: a held object travels there, a free one is put there. A renamed object is found by
 * its place. */
static gw_pose *poses_now(app_edit *edit, const gw_snapshot *snapshot)
{
    const gw_scene *base = edit->base->scene, *scene = edit->scene;
    gw_pose *before = app_poses(edit->base, snapshot);
    gw_pose *poses = malloc(((size_t)scene->object_count + 1) * sizeof *poses);
    free(edit->placed);
    edit->placed = calloc((size_t)scene->object_count + 1, sizeof *edit->placed);
    bool memory = before && poses && edit->placed;
    for (int i = 0; memory && i < scene->object_count; i++) {
        const gw_object *object = &scene->objects[i];
        int old = gw_scene_object(base, object->id);
        if (old < 0 && base->object_count == scene->object_count)
            old = i;
        poses[i] = object->pose;
        if (old < 0 || object->fixed)
            continue;
        if (same_pose(&object->pose, &base->objects[old].pose))
            poses[i] = before[old];
        else if (held(scene, object->id))
            edit->go_to_layout = true;
        else
            edit->placed[i] = true;
    }
    if (!memory) {
        free(poses);
        poses = NULL;
    }
    free(before);
    return poses;
}

static gw_layout *lay_out(app_edit *edit, gw_error *error, bool *from_current)
{
    gw_snapshot snapshot;
    app_document_put(app_view(edit->app, &snapshot));
    *from_current = snapshot.state != GW_STOPPED && !edit->restart &&
                    edit->scene->rate == edit->base->scene->rate;
    if (!*from_current)
        return gw_layout_create(edit->scene, NULL, error);
    gw_pose *poses = poses_now(edit, &snapshot);
    if (!poses) {
        gw_fail(error, GW_FAILED, "", "memory is short for an edit");
        return NULL;
    }
    gw_layout *layout = gw_layout_create(edit->scene, poses, error);
    free(poses);
    return layout;
}

static bool refuse(app_edit *edit, gw_error *error)
{
    bool clash = edit->failed->solution.status == GW_STATUS_INCOMPATIBLE;
    const char *object = edit->document->scene->objects[edit->failed->object].id;
    return clash ? gw_fail(error, GW_INCOMPATIBLE, "",
                           "the constraints of %s contradict one another", object)
                 : gw_fail(error, GW_UNHANDLED, "",
                           "no pose of %s was found, and none was proven impossible", object);
}

static double now_s(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* A copy of what undo will go back to, NULL where this edit adds none; taken before the edit is in
 * effect, so that no step of the history is missing after it. False: memory is short. */
static bool copy_past(const app_edit *edit, gw_scene **past, gw_error *error)
{
    const gw_app *app = edit->app;
    bool follows = edit->group[0] && strcmp(edit->group, app->group) == 0 &&
                   now_s() - app->group_s < APP_GROUP_S;
    bool adds = !edit->keeps_history && !follows;
    *past = adds ? gw_scene_copy(edit->base->scene) : NULL;
    return !adds || *past || gw_fail(error, GW_FAILED, "", "memory is short for an edit");
}

static void remember(app_edit *edit, gw_scene *past)
{
    gw_app *app = edit->app;
    memcpy(app->group, edit->group, sizeof app->group);
    app->group_s = now_s();
    if (past)
        app_history_put(&app->undo, past);
    if (!edit->keeps_history)
        app_history_clear(&app->redo);
}

bool app_edit_commit(app_edit *edit, gw_error *error)
{
    gw_app *app = edit->app;
    bool from_current;
    if (!gw_scene_check(edit->scene, error))
        return false;
    gw_layout *layout = lay_out(edit, error, &from_current);
    if (!layout)
        return false;
    edit->document = app_document_new(edit->scene, layout, error);
    edit->scene = NULL;
    if (!edit->document)
        return false;
    edit->failed = gw_layout_unsolved(edit->document->layout);
    if (edit->dry_run)
        return true;
    if (edit->failed)
        return refuse(edit, error);
    edit->document->revision = edit->base->revision + 1;
    edit->document->from_current = from_current;
    edit->document->undo = edit->keeps_history ? app->undo.count > 0 : true;
    edit->document->redo = edit->keeps_history && app->redo.count > 0;
    gw_scene *past = NULL;
    if (!app_document_write(edit->document, error) || !copy_past(edit, &past, error) ||
        !app_hand_over(edit, error)) {
        gw_scene_destroy(past);
        return false;
    }
    remember(edit, past);
    if (edit->restart)
        app_task_forget(app);
    atomic_fetch_add(&edit->document->refs, 1);
    app_publish(app, edit->document);
    return true;
}

/* Takes a scene from one history and puts the present one on the other; where that fails, both are
 * as they were. */
static bool travel(gw_app *app, app_history *from, app_history *to, const char *none,
                   gw_error *error)
{
    app_edit edit;
    if (!app_edit_begin(app, &edit, error))
        return false;
    gw_scene *scene = app_history_pop(from);
    if (!scene) {
        app_edit_end(&edit);
        return gw_fail(error, GW_CONFLICT, "", "%s", none);
    }
    gw_scene *there = gw_scene_copy(scene), *here = gw_scene_copy(edit.base->scene);
    bool done = there && here;
    if (done) {
        app_history_put(to, here);
        app_edit_replace(&edit, there);
        edit.keeps_history = true;
        edit.restart = strcmp(scene->name, edit.base->scene->name) != 0; /* another scene */
        done = app_edit_commit(&edit, error);
        here = done ? NULL : app_history_pop(to);
    } else {
        gw_scene_destroy(there);
        gw_fail(error, GW_FAILED, "", "memory is short");
    }
    if (!done)
        app_history_put(from, scene);
    gw_scene_destroy(done ? scene : here);
    app_edit_end(&edit);
    return done;
}

bool app_undo(gw_app *app, gw_error *error)
{
    return travel(app, &app->undo, &app->redo, "there is nothing to undo", error);
}

bool app_redo(gw_app *app, gw_error *error)
{
    return travel(app, &app->redo, &app->undo, "there is nothing to redo", error);
}
