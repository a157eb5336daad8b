/*
 * Changes between two documents, member by member and entry by entry, as the database stores them
 * for an edit. Pure functions; any thread.
 */
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "server/app/private.h"

/* ---- comparing ------------------------------------------------------------------------------- */

static bool same_text(const gw_text *a, const gw_text *b)
{
    return a == b || (a->size == b->size && memcmp(a->data, b->data, a->size) == 0);
}

static const app_part *find_part(const app_part *parts, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(parts[i].name, name) == 0)
            return &parts[i];
    return NULL;
}

static void put_value(text_builder *g, const app_part *part)
{
    if (part->list)
        text_put(g, "[", 1);
    for (int i = 0; i < part->count; i++) {
        if (i > 0)
            text_put(g, ",", 1);
        text_put(g, part->texts[i]->data, part->texts[i]->size);
    }
    if (part->list)
        text_put(g, "]", 1);
}

/* Writes the entries that remain between the common front and the common end of two lists. */
static void put_splice(text_builder *g, const app_part *a, const app_part *b)
{
    int least = a->count < b->count ? a->count : b->count, front = 0, back = 0;
    while (front < least && same_text(a->texts[front], b->texts[front]))
        front++;
    while (back < least - front &&
           same_text(a->texts[a->count - 1 - back], b->texts[b->count - 1 - back]))
        back++;
    app_part added = *b;
    added.texts += front;
    added.count -= front + back;
    int removed = a->count - front - back;
    if (added.count == 0 && removed == 0)
        return;
    text_put_format(g, "%s[\"%s\",%d,%d,", g->size > 1 ? "," : "", b->name, front, removed);
    put_value(g, &added);
    text_put(g, "]", 1);
}

static void put_part(text_builder *g, const app_part *a, const app_part *b)
{
    if (a && a->list && b->list) {
        put_splice(g, a, b);
        return;
    }
    if (a && !a->list && !b->list && same_text(a->texts[0], b->texts[0]))
        return;
    text_put_format(g, "%s[\"%s\",", g->size > 1 ? "," : "", b->name);
    put_value(g, b);
    text_put(g, "]", 1);
}

gw_text *app_change(const app_document *from, const app_document *to)
{
    assert(from && to);
    int before, now;
    const app_part *a = app_document_parts(from, &before), *b = app_document_parts(to, &now);
    text_builder g = {0};
    text_put(&g, "[", 1);
    for (int i = 0; i < now; i++)
        put_part(&g, find_part(a, before, b[i].name), &b[i]);
    for (int i = 0; i < before; i++)
        if (!find_part(b, now, a[i].name))
            text_put_format(&g, "%s[\"%s\"]", g.size > 1 ? "," : "", a[i].name);
    text_put(&g, "]", 1);
    return text_take(&g);
}

/* ---- applying ------------------------------------------------------------------------------ */

static bool splice_list(json_t *list, json_int_t at, json_int_t removed, const json_t *added)
{
    json_int_t size = (json_int_t)json_array_size(list);
    bool fits = json_is_array(list) && json_is_array(added) && at >= 0 && removed >= 0 &&
                at <= size && removed <= size - at;
    for (json_int_t i = 0; fits && i < removed; i++)
        fits = json_array_remove(list, (size_t)at) == 0;
    for (size_t i = 0; fits && i < json_array_size(added); i++)
        fits = json_array_insert(list, (size_t)at + i, json_array_get(added, i)) == 0;
    return fits;
}

static bool apply_change(json_t *scene, const json_t *step)
{
    const char *name = json_string_value(json_array_get(step, 0));
    size_t size = json_array_size(step);
    if (!name)
        return false;
    if (size == 1)
        return json_object_del(scene, name) == 0;
    if (size == 2)
        return json_object_set(scene, name, json_array_get(step, 1)) == 0;
    return size == 4 &&
           splice_list(json_object_get(scene, name), json_integer_value(json_array_get(step, 1)),
                       json_integer_value(json_array_get(step, 2)), json_array_get(step, 3));
}

bool app_apply_change(json_t *scene, const json_t *change)
{
    bool fits = json_is_object(scene) && json_is_array(change);
    for (size_t i = 0; fits && i < json_array_size(change); i++)
        fits = apply_change(scene, json_array_get(change, i));
    return fits;
}
