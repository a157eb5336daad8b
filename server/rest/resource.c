/*
 * The handlers of all collections of the scene. Their differences are in the rows of resources.c.
 * Any thread of HTTP.
 */
#include "server/rest/resource.h"

#include <assert.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for one entry of any resource. */
typedef union entry {
    max_align_t aligned;
    unsigned char bytes[RESOURCE_BYTES];
} entry;

static const gw_resource *row_of(const api_call *call)
{
    assert(call->resource && call->resource->size <= RESOURCE_BYTES);
    return call->resource;
}

static int count_of(const gw_resource *r, const gw_scene *scene)
{
    int count;
    memcpy(&count, (const char *)scene + r->count_at, sizeof count);
    return count;
}

/* The entry at `index` of the resource in the scene. */
static void *entry_of(const gw_resource *r, const gw_scene *scene, int index)
{
    char *entries;
    assert(index >= 0 && index < count_of(r, scene));
    memcpy(&entries, (const char *)scene + r->entries_at, sizeof entries);
    return entries + (size_t)index * r->size;
}

static int find_entry(const gw_resource *r, const gw_scene *scene, const char *id)
{
    if (r->find)
        return r->find(scene, id);
    for (int i = 0; i < count_of(r, scene); i++)
        if (strcmp(entry_of(r, scene, i), id) == 0)
            return i;
    return -1;
}

static void id_of(const gw_resource *r, const void *e, char id[RESOURCE_ID])
{
    if (r->id)
        r->id(e, id);
    else
        snprintf(id, RESOURCE_ID, "%s", (const char *)e);
}

void resource_address(const api_call *call, char id[RESOURCE_ID])
{
    bool two = row_of(call)->two_parts;
    snprintf(id, RESOURCE_ID, "%s%s%s", call->part[0], two ? "/" : "", two ? call->part[1] : "");
}

/* ---- answers ------------------------------------------------------------------------------- */

static json_t *entry_json(const gw_resource *r, const resource_view *view, int index)
{
    return r->show ? r->show(view, index) : r->encode(entry_of(r, view->document->scene, index));
}

/* Answers entry `index` of the document, for live rows with the call's snapshot. */
static void answer_entry(api_call *call, int status, const app_document *document, int index)
{
    const gw_resource *r = row_of(call);
    resource_view view = {call->app, document, call->snapshot};
    if (r->show) {
        api_part(call, status, document, r->show(&view, index));
        return;
    }
    api_tag(call, document);
    api_text(call, status, app_document_entry(document, r->collection, index));
}

void resource_missing(api_call *call, const gw_scene *scene)
{
    const gw_resource *r = row_of(call);
    char id[RESOURCE_ID];
    gw_error error = {0};
    resource_address(call, id);
    gw_fail(&error, GW_NOT_FOUND, "", "there is no %s %s", r->noun, id);
    if (r->missing)
        r->missing(scene, id, &error);
    else if (count_of(r, scene) > 0)
        gw_error_names(&error, entry_of(r, scene, 0), count_of(r, scene), r->size);
    api_error(call, &error);
}

/* The newest document, for live rows with the loop's state in the call's snapshot. NULL where
 * memory is short: the reply is set. */
static app_document *newest_document(api_call *call)
{
    if (!row_of(call)->live)
        return app_document_get(call->app);
    gw_snapshot *snapshot = api_snapshot(call);
    return snapshot ? app_read_state(call->app, snapshot) : NULL;
}

static json_t *entry_at(const api_entries *entries, int index)
{
    resource_view view = {entries->app, entries->document, entries->snapshot};
    return entry_json(entries->resource, &view, index);
}

void resource_list(api_call *call)
{
    const gw_resource *r = row_of(call);
    app_document *document = newest_document(call);
    if (!document)
        return;
    api_entries entries = {.at = entry_at,
                           .app = call->app,
                           .resource = r,
                           .document = document,
                           .snapshot = call->snapshot,
                           .count = count_of(r, document->scene)};
    call->snapshot = NULL;
    api_list(call, entries);
}

void resource_get(api_call *call)
{
    char id[RESOURCE_ID];
    resource_address(call, id);
    app_document *document = newest_document(call);
    if (!document)
        return;
    int index = find_entry(row_of(call), document->scene, id);
    if (index < 0)
        resource_missing(call, document->scene);
    else
        answer_entry(call, 200, document, index);
    app_document_put(document);
}

/* ---- edits --------------------------------------------------------------------------------- */

/* True where the id is taken: the reply is set and the edit has ended. */
static bool refuse_if_taken(api_call *call, app_edit *edit, const char *id)
{
    const gw_resource *r = row_of(call), *by = r;
    if (find_entry(r, edit->scene, id) < 0)
        by =
            r->shares_ids && find_entry(r->shares_ids, edit->scene, id) >= 0 ? r->shares_ids : NULL;
    if (!by)
        return false;
    api_refuse(call, 409, "/id", "there is %s %s %s already",
               strchr("aeiou", by->noun[0]) ? "an" : "a", by->noun, id);
    app_edit_end(edit);
    return true;
}

int resource_begin(api_call *call, app_edit *edit)
{
    const gw_resource *r = row_of(call);
    char id[RESOURCE_ID];
    gw_error error = {0};
    resource_address(call, id);
    if ((r->locked && r->locked(call)) || !api_begin(call, edit))
        return -1;
    int index = find_entry(r, edit->scene, id);
    if (index >= 0)
        return index;
    if (r->derived && r->derived(edit->scene, id, &error))
        api_error(call, &error);
    else
        resource_missing(call, edit->scene);
    app_edit_end(edit);
    return -1;
}

/* The object whose solution a dry run answers; "": all of them. */
static void object_of(const gw_resource *r, const gw_scene *scene, int index,
                      char object[GW_MAX_ID + 1])
{
    object[0] = 0;
    if (r->object)
        r->object(scene, index, object);
}

/* Commits and answers the entry at `index`. The edit ends before the answer is written, since the
 * answer may need the loop or a device under locks that an edit holds. */
static void finish_entry(api_call *call, app_edit *edit, int index, int status)
{
    const gw_resource *r = row_of(call);
    char item[64], object[GW_MAX_ID + 1], id[RESOURCE_ID];
    snprintf(item, sizeof item, "/%s/%d", r->collection, index);
    object_of(r, edit->scene, index, object);
    id_of(r, entry_of(r, edit->scene, index), id);
    if (!api_commit(call, edit, item, object[0] ? object : NULL))
        return;
    app_document *document = edit->document;
    atomic_fetch_add(&document->refs, 1);
    app_edit_end(edit);
    if (r->live) {
        app_document *newest = newest_document(call);
        app_document_put(newest);
        if (!newest) {
            app_document_put(document);
            return;
        }
        if (call->snapshot->scenario != document->scenario)
            call->snapshot->joint_count = call->snapshot->coordinate_count = 0;
    }
    if (status == 201)
        api_location(call, r->collection, id);
    answer_entry(call, status, document, index);
    app_document_put(document);
}

/* Appends a new entry to the scene, ownership passes. */
static void add_entry(api_call *call, app_edit *edit, void *e)
{
    const gw_resource *r = row_of(call);
    char id[RESOURCE_ID];
    gw_error error = {0};
    if (r->letter && !*(char *)e)
        wire_make_id(edit->scene, r->find, r->letter, e);
    id_of(r, e, id);
    if (refuse_if_taken(call, edit, id)) {
        r->finish(e);
        return;
    }
    bool derived = r->derived && r->derived(edit->scene, id, &error);
    void *added = derived ? NULL : r->add(edit->scene, &error);
    if (!added) {
        r->finish(e);
        api_abandon(call, edit, &error);
        return;
    }
    memcpy(added, e, r->size);
    if (r->derive && !r->derive(edit->scene, &error)) {
        api_abandon(call, edit, &error);
        return;
    }
    finish_entry(call, edit, count_of(r, edit->scene) - 1, 201);
}

/* Replaces the entry at `index`, ownership passes. */
static void replace_entry(api_call *call, app_edit *edit, int index, void *e)
{
    const gw_resource *r = row_of(call);
    void *now = entry_of(r, edit->scene, index);
    char from[RESOURCE_ID], to[RESOURCE_ID];
    id_of(r, now, from);
    id_of(r, e, to);
    bool renamed = strcmp(from, to) != 0;
    if (renamed && refuse_if_taken(call, edit, to)) {
        r->finish(e);
        return;
    }
    gw_error error = {0};
    if (renamed && !app_edit_renames(edit, r->collection, from, to, &error)) {
        r->finish(e);
        api_abandon(call, edit, &error);
        return;
    }
    if (renamed && r->rename)
        r->rename(edit->scene, from, to);
    if (r->group && !edit->group_stated)
        snprintf(edit->group, sizeof edit->group, "%s %.80s", r->group, to);
    r->finish(now);
    memcpy(now, e, r->size);
    if (r->derive && !r->derive(edit->scene, &error)) {
        api_abandon(call, edit, &error);
        return;
    }
    finish_entry(call, edit, index, 200);
}

static bool decode_entry(const gw_resource *r, json_t *body, void *e, gw_error *error)
{
    memset(e, 0, r->size);
    return r->decode(body, "", e, error);
}

/* Removes the read-only member of an answer, which may be sent back with the entry. */
static void leave_out_read_only(api_call *call)
{
    if (row_of(call)->read_only)
        json_object_del(call->body, row_of(call)->read_only);
}

void resource_post(api_call *call)
{
    const gw_resource *r = row_of(call);
    app_edit edit;
    entry e;
    gw_error error = {0};
    char note[APP_NOTE] = "";
    memset(&e, 0, r->size);
    leave_out_read_only(call);
    bool read = r->decode_posted ? r->decode_posted(call->body, &e, note, &error)
                                 : decode_entry(r, call->body, &e, &error);
    if (!read)
        api_error(call, &error);
    else if (!api_begin(call, &edit))
        r->finish(&e);
    else {
        memcpy(edit.note, note, sizeof note);
        add_entry(call, &edit, &e);
    }
}

/* Decodes a body whose id, where it has one, must be that of the address. */
static bool decode_addressed(const api_call *call, json_t *body, void *e, gw_error *error)
{
    const gw_resource *r = row_of(call);
    char address[RESOURCE_ID], id[RESOURCE_ID];
    resource_address(call, address);
    if (json_is_object(body) && !json_object_get(body, "id"))
        json_object_set_new(body, "id", json_string(address));
    if (!decode_entry(r, body, e, error))
        return false;
    id_of(r, e, id);
    if (strcmp(id, address) == 0)
        return true;
    r->finish(e);
    return gw_fail(error, GW_BAD_INPUT, "/id", r->mismatch, address);
}

void resource_put(api_call *call)
{
    const gw_resource *r = row_of(call);
    app_edit edit;
    entry e;
    char id[RESOURCE_ID];
    gw_error error = {0};
    resource_address(call, id);
    leave_out_read_only(call);
    if (!decode_addressed(call, call->body, &e, &error)) {
        api_error(call, &error);
        return;
    }
    if ((r->locked && r->locked(call)) || !api_begin(call, &edit)) {
        r->finish(&e);
        return;
    }
    int index = find_entry(r, edit.scene, id);
    if (index < 0) {
        add_entry(call, &edit, &e);
    } else if (api_replaces(call, id)) {
        replace_entry(call, &edit, index, &e);
    } else {
        r->finish(&e);
        app_edit_end(&edit);
    }
}

/* Records which initial values of the entry the patch states. */
static bool state_begin(const api_call *call, app_edit *edit, const void *e, gw_error *error)
{
    const gw_resource *r = row_of(call);
    bool position = false, motion = false;
    if (r->begins)
        r->begins(call->body, &position, &motion);
    return app_edit_states(edit, r->collection, e, position, motion, error);
}

void resource_patch(api_call *call)
{
    const gw_resource *r = row_of(call);
    app_edit edit;
    entry e;
    gw_error error = {0};
    int index = resource_begin(call, &edit);
    if (index < 0)
        return;
    const void *now = entry_of(r, edit.scene, index);
    leave_out_read_only(call);
    json_t *merged = api_merge(call, r->encode(now));
    wire_decode_like(r->shape ? r->shape(now) : NULL);
    bool read = r->two_parts ? decode_addressed(call, merged, &e, &error)
                             : decode_entry(r, merged, &e, &error);
    wire_decode_like(NULL);
    json_decref(merged);
    if (!read) {
        api_abandon(call, &edit, &error);
        return;
    }
    if (r->letter && !e.bytes[0]) /* an id that a patch removes is kept */
        strcpy((char *)e.bytes, now);
    if (r->patched)
        r->patched(call->body, now, &e);
    if (!state_begin(call, &edit, &e, &error)) {
        r->finish(&e);
        api_abandon(call, &edit, &error);
        return;
    }
    replace_entry(call, &edit, index, &e);
}

void resource_delete(api_call *call)
{
    const gw_resource *r = row_of(call);
    app_edit edit;
    char id[RESOURCE_ID], object[GW_MAX_ID + 1], list[300] = "";
    int index = resource_begin(call, &edit);
    if (index < 0)
        return;
    resource_address(call, id);
    if (r->users)
        r->users(edit.scene, index, list, sizeof list);
    if (*list) {
        api_refuse(call, 409, "", r->in_use, id, list);
        app_edit_end(&edit);
        return;
    }
    object_of(r, edit.scene, index, object);
    r->remove(edit.scene, index);
    if (!api_commit(call, &edit, NULL, object[0] ? object : NULL))
        return;
    call->reply->status = 204;
    app_edit_end(&edit);
}
