/*
 * Checks that a scene could be opened as a file. A file begins at the poses that it states, not at
 * the loop's present ones; on free-form shapes contacts and closest points are sought from there,
 * so a scene that is laid out now may have no layout at its opening. An edit that leads to such a
 * scene is refused.
 *
 * Opening searches for every contact over both whole surfaces, which takes longer than the rest of
 * an edit that moves a control point. In a series of edits that move control points by little since
 * the last search, contacts are followed from where the check before found them, and so are objects
 * that constraints place on a changed shape, where there are no systems of bodies. Once the series
 * rests, the thread of tasks searches as opening does, and an event reports a failure. Until then,
 * and after a failure, the history stores where the contacts were found, and a server that restarts
 * continues from there.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "server/app/clock.h"
#include "server/app/private.h"
#include "server/schema/wire.h"

#define SERIES_MS 1000 /* longest time between two edits of a series */
#define LITTLE    0.01 /* largest move, relative to the shape's size or to the weight */
#define PLACE     9    /* numbers that locate a contact: a[3], b[3], across */

static bool has_free_form(const gw_scene *scene)
{
    for (int i = 0; i < scene->object_count; i++)
        if (scene->objects[i].shape.nurbs)
            return true;
    return false;
}

static bool is_shape_close(const gw_nurbs *a, const gw_nurbs *b)
{
    int count = a->direction[0].count * a->direction[1].count;
    bool little = a == b || (count == b->direction[0].count * b->direction[1].count &&
                             !a->weights == !b->weights);
    for (int i = 0; little && a != b && i < count; i++)
        little = gw_distance(a->stated[i], b->stated[i]) <= LITTLE * a->size &&
                 (!a->weights || fabs(b->weights[i] - a->weights[i]) <= LITTLE * a->weights[i]);
    return little;
}

/* True where both scenes state the same poses and their free-form shapes differ by LITTLE at
 * most. */
static bool is_scene_close(const gw_scene *from, const gw_scene *to)
{
    bool little = from->object_count == to->object_count;
    for (int i = 0; little && i < to->object_count; i++) {
        const gw_object *a = &from->objects[i], *b = &to->objects[i];
        little = memcmp(&a->pose, &b->pose, sizeof a->pose) == 0 &&
                 !a->shape.nurbs == !b->shape.nurbs &&
                 (!a->shape.nurbs || is_shape_close(a->shape.nurbs, b->shape.nurbs));
    }
    return little;
}

static bool is_of_shape(const gw_shape *shape, const gw_nurbs *nurbs)
{
    bool found = shape->nurbs == nurbs || shape->rim == nurbs;
    for (int i = 0; shape->kind == GW_SHAPE_COMPOUND && i < shape->part_count; i++)
        found = found || is_of_shape(&shape->parts[i].shape, nurbs);
    return found;
}

static bool has_shape(const gw_scene *scene, const gw_nurbs *nurbs)
{
    bool found = !nurbs;
    for (int i = 0; i < scene->object_count && !found; i++)
        found = is_of_shape(&scene->objects[i].shape, nurbs);
    return found;
}

/* The poses from which a series goes on, to be freed with free(): of objects that were placed on a
 * shape that is not in the scene any more, where that was; of others, whose solutions may be
 * reused, where their placement began. NULL: the stated ones. */
static gw_pose *poses_to_follow(const gw_layout *before, const gw_scene *scene)
{
    size_t count = (size_t)scene->object_count + 1;
    gw_pose *poses = before->system_count == 0 ? malloc(count * sizeof *poses) : NULL;
    for (int i = 0; poses && i < scene->object_count; i++) {
        const gw_placement *p = gw_layout_placement(before, i);
        bool moved = false;
        for (int k = 0; p && k < p->count; k++)
            moved = moved || !has_shape(scene, p->constraints[k].fixed.nurbs) ||
                    !has_shape(scene, p->constraints[k].mobile.nurbs);
        poses[i] = moved ? before->poses[i] : p ? p->from : scene->objects[i].pose;
    }
    return poses;
}

/* The layout from the poses that the scene states, or from these (NULL: none); NULL with an error.
 */
static gw_layout *lay_out_stated(const gw_scene *scene, const gw_pose *poses,
                                 const gw_layout_known *known, gw_error *error)
{
    gw_error why = {0};
    gw_layout *layout = gw_layout_update(scene, poses, known, &why);
    const gw_placement *failed = layout ? gw_layout_unsolved(layout) : NULL;
    if (!layout)
        gw_fail(error, why.code, why.where,
                "a file of this scene could not be opened, from the poses that it states: %.240s",
                why.message);
    if (!failed)
        return layout;
    gw_fail(error, GW_UNHANDLED, "",
            "a file of this scene could not be opened: %s has no place there, from the poses that "
            "it states",
            scene->objects[failed->object].id);
    gw_layout_destroy(layout);
    return NULL;
}

bool app_opens_again(app_edit *edit, gw_error *error)
{
    assert(edit && edit->scene);
    gw_app *app = edit->app;
    const gw_layout *before = edit->base->opening;
    gw_contact_start starts[GW_MAX_SHOWN_CONTACTS];
    gw_layout_known known = {.layout = before, .starts = {0, starts}};
    int64_t now_ms = clock_ms();
    if (!has_free_form(edit->scene))
        return true;
    bool series = before && now_ms - app->opening_ms < SERIES_MS;
    gw_pose *poses = NULL;
    if (series && app->searched && is_scene_close(app->searched->scene, edit->scene)) {
        known.starts.count = gw_layout_contacts(before, starts, GW_MAX_SHOWN_CONTACTS);
        poses = poses_to_follow(before, edit->scene);
    }
    edit->opening = lay_out_stated(edit->scene, poses, &known, error);
    app->opening_ms = now_ms;
    edit->opening_followed = poses || known.starts.count > 0;
    free(poses);
    return edit->opening;
}

/* ---- kept for another start ------------------------------------------------------------------ */

gw_text *app_write_contacts(const gw_layout *opening)
{
    assert(opening);
    gw_contact_start found[GW_MAX_SHOWN_CONTACTS];
    int count = gw_layout_contacts(opening, found, GW_MAX_SHOWN_CONTACTS);
    wire_memory_clear();
    json_t *list = json_array();
    for (int i = 0; i < count; i++) {
        const gw_contact_point *p = &found[i].point;
        const double at[PLACE] = {p->a[0], p->a[1],     p->a[2],     p->b[0],    p->b[1],
                                  p->b[2], p->across.x, p->across.y, p->across.z};
        json_t *numbers = json_array();
        json_array_append_new(numbers, json_integer((json_int_t)found[i].key));
        for (int k = 0; k < PLACE; k++)
            json_array_append_new(numbers, json_real(at[k]));
        json_array_append_new(list, numbers);
    }
    return wire_text(list);
}

/* Reads stored contacts; malformed entries are skipped, and those contacts are searched for. */
static int read_contacts(const json_t *list, gw_contact_start *starts, int room)
{
    int count = 0;
    const json_t *numbers;
    size_t i;
    json_array_foreach(list, i, numbers)
    {
        double at[PLACE];
        bool whole = json_array_size(numbers) == 1 + PLACE;
        for (size_t k = 0; whole && k < PLACE; k++) {
            whole = json_is_number(json_array_get(numbers, k + 1));
            at[k] = json_number_value(json_array_get(numbers, k + 1));
        }
        if (!whole || count == room)
            continue;
        gw_contact_start *s = &starts[count++];
        *s = (gw_contact_start){.key = (uint64_t)json_integer_value(json_array_get(numbers, 0)),
                                .point = {.known = true, .across = {at[6], at[7], at[8]}}};
        memcpy(s->point.a, at, sizeof s->point.a);
        memcpy(s->point.b, at + 3, sizeof s->point.b);
    }
    return count;
}

gw_layout *app_open_layout(const gw_scene *scene, const json_t *contacts, gw_error *error)
{
    assert(scene);
    gw_contact_start starts[GW_MAX_SHOWN_CONTACTS];
    int count = read_contacts(contacts, starts, GW_MAX_SHOWN_CONTACTS);
    return gw_layout_update(scene, NULL, &(gw_layout_known){.starts = {count, starts}}, error);
}

/* ---- the check in the background ------------------------------------------------------------- */

void app_keep_opening(app_edit *edit)
{
    gw_app *app = edit->app;
    edit->document->opening = edit->opening;
    edit->document->opening_followed = edit->opening_followed;
    bool searched = edit->opening && !edit->opening_followed;
    edit->opening = NULL;
    if (!searched)
        return;
    app_document_put(app->searched);
    app->searched = edit->document;
    atomic_fetch_add(&app->searched->refs, 1);
}

void app_check_opening_later(gw_app *app)
{
    if (atomic_exchange(&app->check_opening_ms, clock_ms() + SERIES_MS) == 0)
        app_wake_tasks(app);
}

int64_t app_opening_due(const gw_app *app)
{
    int64_t due_ms = atomic_load(&app->check_opening_ms), left_ms = due_ms - clock_ms();
    return due_ms == 0 ? -1 : left_ms > 0 ? left_ms : 0;
}

void app_check_opening(gw_app *app)
{
    atomic_store(&app->check_opening_ms, 0);
    app_document *document = app_document_get(app);
    gw_error error = {0};
    gw_layout *layout =
        document->opening_followed ? lay_out_stated(document->scene, NULL, NULL, &error) : NULL;
    if (document->opening_followed && !layout)
        app_log(app, "edit", "error",
                "After the last edits %s; undo them, or change poses or shapes.", error.message);
    gw_layout_destroy(layout);
    app_document_put(document);
}
