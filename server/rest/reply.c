/*
 * Replies of the API, and the steps of an edit that all handlers share: If-Match, the commit, the
 * answer of a dry run, the refusal.
 */
#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/rest/call.h"
#include "server/rest/problem.h"

/* ---- replies ------------------------------------------------------------------------------- */

/* Clears the shortage of memory first: memory that was short for the answer may suffice for the
 * problem. */
static json_t *problem_json(const problem_kind *kind, int status, const char *detail)
{
    wire_memory_clear();
    return json_pack("{s:o, s:s, s:i, s:o, s:[{s:s, s:o}]}", "type",
                     json_sprintf(PROBLEM_PATH "/%s", kind->name), "title", kind->title, "status",
                     status, "detail", describe_text(detail), "errors", "pointer", "", "detail",
                     describe_text(detail));
}

/* Sets the reply to `written`, ownership passes; NULL when memory is short. */
static void write_text(api_reply *reply, int status, const char *mime, gw_text *written)
{
    text_unref(reply->body);
    reply->body = written;
    reply->status = status;
    reply->mime = mime;
    if (reply->body)
        return;
    reply->status = 500;
    reply->mime = "application/problem+json";
    reply->body = text_format("{\"type\":\"/problems/failed\",\"title\":\"Internal Server Error\","
                              "\"status\":500,\"detail\":\"the answer could not be written\","
                              "\"errors\":[{\"pointer\":\"\",\"detail\":\"memory is short\"}]}");
}

static void write_json(api_reply *reply, int status, const char *mime, json_t *value)
{
    write_text(reply, status, mime, wire_text(value));
}

void api_problem(api_reply *reply, int status, const char *detail)
{
    assert(reply && status >= 400 && detail);
    write_json(reply, status, "application/problem+json",
               problem_json(problem_of_status(status), status, detail));
}

void api_problem_named(api_reply *reply, const char *kind, const char *detail)
{
    const problem_kind *of = problem_named(kind);
    assert(reply && of && detail);
    write_json(reply, of->status, "application/problem+json", problem_json(of, of->status, detail));
}

static json_t *all_of_list(const api_entries *entries, int index)
{
    (void)index;
    return json_incref(entries->list);
}

void api_json(api_call *call, int status, json_t *value)
{
    if (call->route && call->route->about.flags & OP_PAGED && status == 200 &&
        json_is_array(value) && !wire_memory_short())
        api_list(call, (api_entries){.count = 1, .at = all_of_list, .list = value});
    else
        write_json(call->reply, status, "application/json", value);
}

void api_text(api_call *call, int status, gw_text *text)
{
    write_text(call->reply, status, "application/json", text);
}

void api_tag(api_call *call, const app_document *document)
{
    assert(call && document);
    snprintf(call->reply->etag, sizeof call->reply->etag, "\"%llu\"",
             (unsigned long long)document->revision);
}

void api_part(api_call *call, int status, const app_document *document, json_t *value)
{
    api_tag(call, document);
    api_json(call, status, value);
}

void api_history(api_call *call, const app_document *document)
{
    api_part(call, 200, document,
             json_pack("{s:I, s:b, s:b}", "revision", (json_int_t)document->revision, "undo",
                       document->undo, "redo", document->redo));
}

void api_solution(api_call *call, const app_document *document, const app_document *of,
                  const gw_placement *placement, const gw_pose *pose)
{
    json_t *solution = describe_solution(of->scene, of->layout, placement, pose);
    if (call->strands > 0)
        describe_strands(solution, placement, pose, call->strands);
    api_part(call, 200, document, solution);
}

static int status_of(gw_error_code code)
{
    switch (code) {
    case GW_BAD_INPUT:
        return 400;
    case GW_NOT_FOUND:
        return 404;
    case GW_CONFLICT:
        return 409;
    case GW_INCOMPATIBLE:
    case GW_UNHANDLED:
        return 422;
    case GW_TOO_LARGE:
        return 413;
    case GW_NOT_YET:
        return 400;
    case GW_NO_SPACE:
        return 507;
    case GW_OK:
    case GW_FAILED:
        break;
    }
    return 500;
}

/* The JSON pointer of an error. In a batch it goes through the request's array. */
static void locate_error(const api_call *call, const gw_error *error, int status, char pointer[256])
{
    const char *part = error->where[0] ? "/body" : "";
    if (status == 404 || status == 405)
        part = status == 404 ? "/path" : "/method";
    if (call->batch)
        snprintf(pointer, 256, "/%d%s%s", call->batch->index, part, error->where);
    else
        snprintf(pointer, 256, "%s", error->where);
}

/* In a batch a missing entry is an error in the body, not in the address: 400. */
static int batch_status(const api_call *call, int status)
{
    return call->batch && (status == 404 || status == 405) ? 400 : status;
}

static json_t *problem_of(const api_call *call, const gw_error *error, int status)
{
    const gw_error *all;
    int count = wire_errors_of(error, &all);
    int answered = batch_status(call, status);
    json_t *value = problem_json(problem_of_status(answered), answered, error->message),
           *list = json_array();
    for (int i = 0; i < count; i++) {
        char pointer[256];
        locate_error(call, &all[i], status, pointer);
        json_array_append_new(list, json_pack("{s:o, s:o}", "pointer", describe_text(pointer),
                                              "detail", describe_text(all[i].message)));
    }
    json_object_set_new(value, "errors", list);
    return value;
}

static void write_problem(api_call *call, const gw_error *error, int status)
{
    write_json(call->reply, batch_status(call, status), "application/problem+json",
               problem_of(call, error, status));
}

/* Reports a shortage of memory in place of the errors that it caused. */
static const gw_error *blame_error(const gw_error *error)
{
    static const gw_error none = {.code = GW_FAILED, .message = "memory is short"};
    return wire_memory_short() ? &none : error;
}

void api_error(api_call *call, const gw_error *error)
{
    assert(call && error);
    error = blame_error(error);
    int status = status_of(error->code);
    write_problem(call, error, status);
}

void api_made(api_call *call, json_t *made, const gw_error *error)
{
    if (made)
        api_json(call, 200, made);
    else
        api_error(call, error);
}

bool api_only(api_call *call, const char *const *allowed)
{
    gw_error error = {0};
    if (wire_only(call->body, "", allowed, &error))
        return true;
    api_error(call, &error);
    return false;
}

void api_storage_error(api_call *call, const gw_error *error)
{
    api_error(call, error);
    if (call->reply->status >= 500)
        app_log_storage(call->app, error);
}

void api_refuse(api_call *call, int status, const char *where, const char *format, ...)
{
    assert(status >= 400 && where && format);
    gw_error error = {.code = GW_BAD_INPUT};
    va_list list;
    va_start(list, format);
    vsnprintf(error.message, sizeof error.message, format, list);
    va_end(list);
    snprintf(error.where, sizeof error.where, "%s", where);
    write_problem(call, &error, status);
}

void api_location(api_call *call, const char *collection, const char *id)
{
    snprintf(call->reply->location, sizeof call->reply->location, API_PREFIX "/%s/%s", collection,
             id);
}

gw_snapshot *api_snapshot(api_call *call)
{
    if (!call->snapshot)
        call->snapshot = malloc(sizeof *call->snapshot);
    if (!call->snapshot)
        api_json(call, 500, NULL);
    return call->snapshot;
}

/* ---- edits --------------------------------------------------------------------------------- */

bool api_lists_tag(const char *header, const char *tag)
{
    const char *found = strstr(header, tag);
    bool weak = found && found - header >= 2 && found[-1] == '/' && found[-2] == 'W';
    return strcmp(header, "*") == 0 || (found && !weak);
}

void api_version_tag(int64_t version, char tag[API_TAG])
{
    snprintf(tag, API_TAG, "\"s%lld\"", (long long)version);
}

bool api_lists_revision(const char *header, uint64_t revision)
{
    char tag[API_TAG], with_sum[API_TAG];
    snprintf(tag, sizeof tag, "\"%llu\"", (unsigned long long)revision);
    snprintf(with_sum, sizeof with_sum, "\"%llu.", (unsigned long long)revision);
    return api_lists_tag(header, tag) || api_lists_tag(header, with_sum);
}

bool api_begin(api_call *call, app_edit *edit)
{
    assert(call && edit);
    gw_error error = {0};
    if (call->batch) {
        *edit = call->batch->edit;
        call->batch->edit = (app_edit){0};
        return true;
    }
    if (!app_edit_begin(call->app, edit, &error)) {
        api_error(call, &error);
        return false;
    }
    edit->dry_run = call->dry_run;
    edit->group_stated = call->group[0];
    if (edit->group_stated)
        snprintf(edit->group, sizeof edit->group, "asked %s", call->group);
    const char *if_match = call->request->if_match;
    if (!if_match || api_lists_revision(if_match, edit->base->revision))
        return true;
    api_refuse(call, 412, "", "If-Match is %.40s, the scene is at revision \"%llu\"", if_match,
               (unsigned long long)edit->base->revision);
    app_edit_end(edit);
    return false;
}

bool api_replaces(api_call *call, const char *what)
{
    const char *unwanted = call->request->if_none_match;
    if (!unwanted || strcmp(unwanted, "*") != 0)
        return true;
    api_refuse(call, 412, "", "If-None-Match is *, and there is %.200s already", what);
    return false;
}

void api_abandon(api_call *call, app_edit *edit, const gw_error *error)
{
    api_error(call, error);
    app_edit_end(edit);
}

void api_name(char *list, size_t size, const char *what, const char *id)
{
    assert(strlen(list) < size);
    size_t used = strlen(list);
    snprintf(list + used, size - used, "%s%s %s", used ? ", " : "", what, id);
}

/* Turns a pointer into the scene file into one into the body, the whole body where another entry is
 * meant. */
static void rebase_pointer(gw_error *error, const char *item)
{
    size_t size = item ? strlen(item) : 0;
    char next = size && strncmp(error->where, item, size) == 0 ? error->where[size] : 'x';
    if (next == 0 || next == '/')
        memmove(error->where, error->where + size, strlen(error->where) - size + 1);
    else if (item)
        error->where[0] = 0;
}

static void answer_refusal(api_call *call, const app_edit *edit, gw_error *error, const char *item)
{
    /* A missing entry that the body refers to is an error in the body: 400. */
    int status = error->code == GW_NOT_FOUND ? 400 : status_of(error->code);
    const bool open = error->code == GW_UNHANDLED && !edit->failed && edit->scene;
    const gw_error given = *error;
    rebase_pointer(error, item);
    json_t *value = problem_of(call, error, status);
    if (edit->failed)
        describe_refusal(value, edit->document->scene, edit->failed);
    else if (open)
        describe_open_system(value, edit->scene, item, &given);
    write_json(call->reply, status, "application/problem+json", value);
}

static void answer_dry_run(api_call *call, const app_edit *edit, const char *object)
{
    const app_document *would = edit->document;
    int index = object ? gw_scene_object(would->scene, object) : -1;
    const gw_placement *placement = index < 0 ? NULL : gw_layout_placement(would->layout, index);
    if (edit->failed) { /* an object without a solution comes first */
        placement = edit->failed;
        index = placement->object;
    }
    if (placement)
        api_solution(call, edit->base, would, placement, &would->layout->poses[index]);
    else
        api_part(call, 200, edit->base,
                 describe_solutions(would->scene, would->layout, would->layout->poses));
}

/* The edit of a batch is made; the others follow in the same scene. Returns false, since the
 * handler has nothing more to do. */
static bool keep_in_batch(api_call *call, app_edit *edit, const char *item)
{
    gw_error error = {0};
    if (call->batch->checks &&
        !(gw_scene_make_surfaces(edit->scene, &error) && gw_scene_check(edit->scene, &error))) {
        answer_refusal(call, edit, &error, item);
        app_edit_end(edit);
        return false;
    }
    call->batch->edit = *edit;
    call->batch->made = true;
    return false;
}

bool api_commit(api_call *call, app_edit *edit, const char *item, const char *object)
{
    assert(call && edit && edit->scene);
    gw_error error = {0};
    if (call->batch)
        return keep_in_batch(call, edit, item);
    bool done = app_edit_commit(edit, &error);
    if (done)
        memcpy(call->reply->note, edit->note, sizeof call->reply->note);
    if (done && !call->dry_run) {
        call->ticket = edit->ticket;
        edit->ticket = 0;
        api_tag(call, edit->document);
        return true;
    }
    if (done)
        answer_dry_run(call, edit, object);
    else
        answer_refusal(call, edit, &error, item);
    app_edit_end(edit);
    return false;
}

/* ---- merge patches -------------------------------------------------------------------------- */

/* Groups of members that exclude one another: a patch that states a mass removes a density, a line
 * a point, a held mechanism an object. Another type of geometry or operator removes all members of
 * the old type. Otherwise a patch follows RFC 7396. */
static const char *const groups[][4] = {
    {"mass", "density", NULL}, {"point", "line", "plane", NULL}, {"object", "mechanism", NULL}};

static bool gives_member(const json_t *patch, const char *name)
{
    const json_t *value = json_object_get(patch, name);
    return value && !json_is_null(value);
}

static void drop_excluded(json_t *now, const json_t *patch, const char *const *group)
{
    bool given = false;
    for (int i = 0; group[i]; i++)
        given = given || gives_member(patch, group[i]);
    for (int i = 0; given && group[i]; i++)
        if (!gives_member(patch, group[i]))
            json_object_del(now, group[i]);
}

static bool other_type(const json_t *now, const json_t *patch)
{
    const char *old = json_string_value(json_object_get(now, "type"));
    const char *new = json_string_value(json_object_get(patch, "type"));
    return old && new &&strcmp(old, new) != 0;
}

/* Removes members that do not apply to the new type: another type of joint has other coordinates, a
 * gear has no ends, and other joints have no members of a gear. */
static void drop_coordinates(json_t *now, const json_t *patch)
{
    static const char *const of_type[] = {"position", "velocity", "limits", "damping",
                                          "friction", "spring",   "motor",  "pitch"};
    static const char *const of_gear[] = {"a", "b", "collide", "joints", "ratio", "coordinates"};
    const char *old = json_string_value(json_object_get(now, "type"));
    const char *new = json_string_value(json_object_get(patch, "type"));
    if (!other_type(now, patch))
        return;
    for (size_t i = 0; i < sizeof of_type / sizeof of_type[0]; i++)
        json_object_del(now, of_type[i]);
    if (strcmp(old, "gear") != 0 && strcmp(new, "gear") != 0)
        return;
    for (size_t i = 0; i < sizeof of_gear / sizeof of_gear[0]; i++)
        json_object_del(now, of_gear[i]);
}

static void drop_alternatives(json_t *now, const json_t *patch)
{
    static const char *const typed[] = {"geometry", "operator"};
    if (!json_is_object(now) || !json_is_object(patch))
        return;
    for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++)
        drop_excluded(now, patch, groups[i]);
    for (size_t i = 0; i < sizeof typed / sizeof typed[0]; i++)
        if (other_type(json_object_get(now, typed[i]), json_object_get(patch, typed[i])))
            json_object_del(now, typed[i]);
    if (gives_member(patch, "object"))
        json_object_del(now, "link");
    drop_coordinates(now, patch);
    drop_alternatives(json_object_get(now, "body"), json_object_get(patch, "body"));
}

json_t *api_merge(const api_call *call, json_t *now)
{
    drop_alternatives(now, call->body);
    json_t *merged = wire_merge(now, call->body);
    json_decref(now);
    if (!wire_memory_short())
        return merged;
    json_decref(merged); /* a partly applied patch may lack members that should stay */
    return NULL;
}
