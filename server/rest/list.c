/*
 * Lists, answered piece by piece, so that a slow client, or a list of all features of thousands of
 * objects, has one piece in memory at a time. The first piece is written with the answer, each
 * further one when the client has taken the one before. The selection of entries is the same for
 * all collections: ?offset, ?limit, ?after=ID, and ?MEMBER=VALUE for any member of the entries. Any
 * thread of HTTP, one at a time.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/rest/call.h"

#define PIECE_BYTES (64 << 10) /* of text, exceeded by the last entry of the piece */

/* The two readings of a query's value: ids contain plus signs and names spaces, and a plus sign in
 * a query can mean either. An entry matches by one of them. */
typedef struct asked_value {
    char text[API_MAX_VALUE], form[API_MAX_VALUE];
} asked_value;

typedef struct filter {
    char name[40];
    asked_value value;
} filter;

struct api_pieces {
    api_entries entries;
    int next;      /* the group to read next */
    json_t *group; /* the current group, written from `at` on; NULL: none */
    size_t at;
    int skip, left; /* of the page; left -1: no limit */
    asked_value after;
    bool passed; /* the entry given by ?after was passed; true where none was given */
    int filter_count;
    filter filters[API_MAX_QUERY];
    bool begun, ended, written, failed;
};

/* ---- which entries ------------------------------------------------------------------------- */

static bool take_value(const api_call *call, const char *name, asked_value *value)
{
    return api_query(call, name, value->text, sizeof value->text) &&
           api_query_form(call, name, value->form, sizeof value->form);
}

static bool value_means(const asked_value *value, const char *text)
{
    return strcmp(text, value->text) == 0 || strcmp(text, value->form) == 0;
}

/* True where the entry's id equals this one; the first of these members that the entry has is its
 * id. */
static bool has_id(const json_t *entry, const asked_value *id)
{
    static const char *const names[] = {"id", "file", "object", "name", "mechanism"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *value = json_string_value(json_object_get(entry, names[i]));
        if (value)
            return value_means(id, value);
    }
    return false;
}

static bool fits_filter(const json_t *entry, const filter *f)
{
    const json_t *value = json_object_get(entry, f->name);
    const char *text = json_string_value(value);
    char *end;
    if (text)
        return value_means(&f->value, text);
    if (json_is_boolean(value))
        return value_means(&f->value, json_is_true(value) ? "true" : "false");
    double number = strtod(f->value.text, &end);
    return json_is_number(value) && end != f->value.text && !*end &&
           json_number_value(value) == number;
}

static bool passes_filters(api_pieces *p, const json_t *entry)
{
    if (!p->passed) {
        p->passed = has_id(entry, &p->after);
        return false;
    }
    for (int i = 0; i < p->filter_count; i++)
        if (!fits_filter(entry, &p->filters[i]))
            return false;
    if (p->skip > 0) {
        p->skip--;
        return false;
    }
    return true;
}

/* ---- pieces -------------------------------------------------------------------------------- */

/* The next entry, borrowed until the following call; NULL: there is none, or memory is short. */
static const json_t *next_entry(api_pieces *p)
{
    while (!p->group || (json_is_array(p->group) && p->at == json_array_size(p->group))) {
        json_decref(p->group);
        p->group = NULL;
        p->at = 0;
        if (p->next == p->entries.count)
            return NULL;
        p->group = p->entries.at(&p->entries, p->next++);
        p->failed = !p->group || wire_memory_short();
        if (p->failed)
            return NULL;
        if (!json_is_array(p->group)) {
            json_t *list = json_array();
            if (json_array_append_new(list, p->group) != 0)
                p->failed = true;
            p->group = list;
        }
    }
    return json_array_get(p->group, p->at++);
}

static void put_entry(api_pieces *p, text_builder *piece, const json_t *entry)
{
    gw_text *text = wire_text(json_incref((json_t *)(size_t)entry));
    p->failed = p->failed || !text;
    if (p->written)
        text_put(piece, ",", 1);
    if (text)
        text_put(piece, text->data, text->size);
    p->written = true;
    text_unref(text);
}

gw_text *api_pieces_next(api_pieces *p)
{
    text_builder piece = {0};
    if (p->ended || p->failed)
        return NULL;
    wire_memory_clear();
    if (!p->begun)
        text_put(&piece, "[", 1);
    p->begun = true;
    while (!p->failed && !p->ended && piece.size < PIECE_BYTES) {
        const json_t *entry = p->passed && p->left == 0 ? NULL : next_entry(p);
        p->ended = !entry;
        if (!entry || !passes_filters(p, entry))
            continue;
        put_entry(p, &piece, entry);
        p->left -= p->left > 0;
    }
    if (p->ended)
        text_put(&piece, "]", 1);
    gw_text *text = text_take(&piece);
    p->failed = p->failed || !text;
    if (!p->failed)
        return text;
    text_unref(text);
    return NULL;
}

bool api_pieces_failed(const api_pieces *p)
{
    return p->failed;
}

static void drop_entries(api_entries *entries)
{
    app_document_put(entries->document);
    free(entries->snapshot);
    free(entries->poses);
    json_decref(entries->list);
}

void api_pieces_destroy(api_pieces *p)
{
    if (!p)
        return;
    json_decref(p->group);
    drop_entries(&p->entries);
    free(p);
}

/* ---- the answer ---------------------------------------------------------------------------- */

/* Reads the list's query parameters. */
static void take_query(const api_call *call, api_pieces *p)
{
    p->skip = call->offset;
    p->left = call->limit;
    p->passed = !take_value(call, "after", &p->after);
    for (int i = 0; i < call->filter_count; i++) {
        filter *f = &p->filters[p->filter_count++];
        snprintf(f->name, sizeof f->name, "%s", call->filters[i]);
        take_value(call, f->name, &f->value);
    }
}

/* Answers the first piece. True where more pieces follow, so that `p` is still needed. */
static bool answer_piece(api_call *call, api_pieces *p)
{
    take_query(call, p);
    gw_text *first = api_pieces_next(p);
    if (!first) {
        api_json(call, 500, NULL);
        return false;
    }
    if (p->ended && !p->passed) {
        text_unref(first);
        api_refuse(call, 400, "", "after: there is no entry %.150s", p->after.text);
        return false;
    }
    if (p->entries.document)
        api_tag(call, p->entries.document);
    call->reply->status = 200;
    call->reply->mime = "application/json";
    call->reply->body = first;
    return !p->ended;
}

void api_list(api_call *call, api_entries entries)
{
    assert(call && entries.at);
    api_pieces *p = calloc(1, sizeof *p);
    if (!p) {
        drop_entries(&entries);
        api_json(call, 500, NULL);
        return;
    }
    p->entries = entries;
    if (answer_piece(call, p))
        call->reply->rest = p;
    else
        api_pieces_destroy(p);
}
