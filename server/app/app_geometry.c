/*
 * Geometry that moves while the simulation runs: features and fixed objects whose values alone an
 * edit changed go to the loop as small commands, so that the tool follows on its branch, up to a
 * thousand times a second. Under the edit lock.
 */
#include <string.h>

#include "server/app/app_private.h"

#define MOST_MOVED 16 /* values of one edit; more are handed over as a whole */

typedef struct moves {
    int count;
    gw_moved_geometry of[MOST_MOVED];
} moves;

static bool same_vec3(gw_vec3 a, gw_vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static bool add(moves *m, const gw_moved_geometry *moved)
{
    if (m->count == MOST_MOVED)
        return false;
    m->of[m->count++] = *moved;
    return true;
}

/* What moved between the scenes; false where that is too much, or of another kind. */
static bool find_moves(const gw_scene *base, const gw_scene *scene, moves *m)
{
    m->count = 0;
    if (base->feature_count != scene->feature_count || base->object_count != scene->object_count)
        return false;
    for (int i = 0; i < scene->feature_count; i++) {
        const gw_element *a = &base->features[i].element, *b = &scene->features[i].element;
        if (a->kind != b->kind)
            return false;
        bool moved = !same_vec3(a->p, b->p) || (a->kind != GW_POINT && !same_vec3(a->d, b->d));
        if (moved && !add(m, &(gw_moved_geometry){.feature = i, .object = -1, .element = *b}))
            return false;
    }
    for (int i = 0; i < scene->object_count; i++) {
        const gw_pose *a = &base->objects[i].pose, *b = &scene->objects[i].pose;
        bool turned = a->q.w != b->q.w || a->q.x != b->q.x || a->q.y != b->q.y || a->q.z != b->q.z;
        if (!turned && same_vec3(a->p, b->p))
            continue;
        if (!base->objects[i].fixed || !scene->objects[i].fixed ||
            !add(m, &(gw_moved_geometry){.feature = -1, .object = i, .pose = *b}))
            return false;
    }
    return true;
}

bool app_same_branches(const gw_layout *a, const gw_layout *b)
{
    bool same = a->count == b->count && a->joint_count == b->joint_count;
    for (int i = 0; same && i < a->count; i++) {
        const gw_placement *x = a->placements[i], *y = b->placements[i];
        same = x->object == y->object && x->rank == y->rank && x->follow == y->follow &&
               x->carrier == y->carrier && x->cluster == y->cluster && x->count == y->count;
        if (same && (x->follow == GW_OBJECT_HELD || x->follow == GW_OBJECT_FREE))
            same =
                x->branch >= 0 && y->branch >= 0 &&
                strcmp(x->solution.branches[x->branch].id, y->solution.branches[y->branch].id) == 0;
    }
    return same;
}

bool app_moves_geometry(const app_edit *edit)
{
    moves m;
    return edit->geometry_only && edit->document->from_current &&
           !atomic_load(&edit->app->left_behind) &&
           find_moves(edit->base->scene, edit->document->scene, &m) && m.count > 0 &&
           app_same_branches(edit->base->layout, edit->document->layout);
}

bool app_move_geometry(app_edit *edit, gw_error *error)
{
    moves m;
    app_document *document = edit->document;
    find_moves(edit->base->scene, document->scene, &m);
    document->scenario = edit->base->scenario;
    document->moved = true;
    for (int i = 0; i < m.count; i++) {
        gw_command command = {.kind = GW_COMMAND_GEOMETRY, .tag = document->revision};
        command.geometry.moved = m.of[i];
        command.geometry.revision = document->revision;
        if (!app_send_command(edit->app, &command, error))
            return false;
    }
    return true;
}

/* ---- left behind --------------------------------------------------------------------------- */

void app_left_behind(gw_app *app)
{
    atomic_store(&app->left_behind, true);
    pthread_mutex_lock(&app->task.lock);
    pthread_cond_signal(&app->task.wake);
    pthread_mutex_unlock(&app->task.lock);
}

void app_catch_up(gw_app *app)
{
    app_edit edit;
    gw_error error = {0};
    if (!app_edit_begin(app, &edit, &error))
        return;
    if (atomic_exchange(&app->left_behind, false)) {
        edit.keeps_history = true;
        if (!app_edit_commit(&edit, &error))
            app_log(app, "left-behind", "error", "No way onto the moved constraints: %s",
                    error.message);
    }
    app_edit_end(&edit);
}
