/*
 * Errors that remain in a scene beside those of its decoding: what is left without the invalid
 * entries is decoded and checked as a scene of its own.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/schema/field.h"

/* An invalid entry of a collection: its member, its index there and its id, NULL if it has none. */
typedef struct entry {
    char name[32];
    size_t index;
    const char *id;
} entry;

typedef struct partial {
    const json_t *whole;
    json_t *rest; /* shares all values with `whole` but the arrays that lack entries */
    int count;
    entry gone[WIRE_ERRORS];
} partial;

static bool is_gone(const partial *p, const char *name, size_t index)
{
    for (int i = 0; i < p->count; i++)
        if (p->gone[i].index == index && strcmp(p->gone[i].name, name) == 0)
            return true;
    return false;
}

/* The member of a pointer; true where an index follows. */
static bool split(const char *where, char name[32], size_t *index, int *used)
{
    *used = 0;
    name[0] = '\0';
    int found = sscanf(where, "/%31[a-z]%n/%zu%n", name, used, index, used);
    return found == 2 && (where[*used] == '\0' || where[*used] == '/');
}

/* Takes the entry or the member at the pointer out of the rest. False where others may refer to
 * what would be gone. */
static bool take_out(partial *p, const wire_table *table, const char *where)
{
    char name[32];
    size_t index;
    int used;
    bool indexed = split(where, name, &index, &used);
    const wire_field *f = table->fields;
    while (f->name && strcmp(f->name, name) != 0)
        f++;
    if (!f->name || f->type != LIST) {
        /* Also an unknown member, whose name may have any characters. */
        char member[WIRE_POINTER];
        snprintf(member, sizeof member, "%.*s", (int)strcspn(where + 1, "/"), where + 1);
        json_object_del(p->rest, member);
        return where[0] == '/' && !strchr(member, '~') && (!f->name || !(f->flags & REQUIRED));
    }
    const json_t *list = json_object_get(p->whole, name);
    if (!indexed || index >= json_array_size(list))
        return false;
    if (is_gone(p, name, index))
        return true;
    entry *gone = &p->gone[p->count++];
    snprintf(gone->name, sizeof gone->name, "%s", name);
    gone->index = index;
    gone->id = json_string_value(json_object_get(json_array_get(list, index), "id"));
    return true;
}

/* Replaces the arrays of entries that are gone. */
static bool leave_out(partial *p)
{
    for (int i = 0; i < p->count; i++) {
        const char *name = p->gone[i].name;
        const json_t *list = json_object_get(p->whole, name);
        json_t *left = json_array(), *value;
        size_t k;
        json_array_foreach((json_t *)list, k, value)
        {
            if (!is_gone(p, name, k))
                json_array_append(left, value);
        }
        if (json_object_set_new(p->rest, name, left) != 0)
            return false;
    }
    return true;
}

/* The index in the document of an entry of the rest. */
static size_t original(const partial *p, const char *name, size_t index)
{
    size_t at = 0;
    for (size_t left = index;; at++)
        if (!is_gone(p, name, at) && left-- == 0)
            return at;
}

/* True if a text of the value names an entry that is gone, or a part of it ("object/feature",
 * "mechanism.link"). */
static bool mentions_gone(const partial *p, const json_t *value)
{
    const char *text = json_string_value(value), *key;
    size_t k;
    json_t *part;
    for (int i = 0; text && i < p->count; i++) {
        const char *id = p->gone[i].id;
        size_t n = id ? strlen(id) : 0;
        if (id && strncmp(text, id, n) == 0 && (!text[n] || text[n] == '/' || text[n] == '.'))
            return true;
    }
    json_object_foreach((json_t *)value, key, part)
    {
        if (mentions_gone(p, part))
            return true;
    }
    json_array_foreach((json_t *)value, k, part)
    {
        if (mentions_gone(p, part))
            return true;
    }
    return false;
}

/* Changes indices of the rest to those of the document; an id that is taken tells one in words. A
 * list of names would lack those of the entries that are gone. */
static void renumber(const partial *p, gw_error *error)
{
    static const char taken[] = " is taken by ";
    char *names = strstr(error->message, ": there are ");
    if (names)
        *names = '\0';
    gw_error found = *error;
    char name[32], *by = strstr(found.message, taken);
    size_t index;
    int used;
    if (split(found.where, name, &index, &used))
        snprintf(error->where, sizeof error->where, "/%s/%zu%.140s", name, original(p, name, index),
                 found.where + used);
    if (!by || found.code != GW_CONFLICT)
        return;
    by += strlen(taken);
    if (split(by, name, &index, &used))
        snprintf(error->message, sizeof error->message, "%.*s/%s/%zu", (int)(by - found.message),
                 found.message, name, original(p, name, index));
}

static void note_rest(const partial *p, const gw_error_list *found)
{
    for (int i = 0; i < found->count; i++) {
        gw_error error = found->errors[i];
        char name[32];
        size_t index;
        int used;
        bool indexed = split(error.where, name, &index, &used);
        const json_t *at = json_object_get(p->rest, name);
        if (error.code != GW_BAD_INPUT && error.code != GW_CONFLICT)
            continue;
        if (mentions_gone(p, indexed ? json_array_get(at, index) : at))
            continue;
        renumber(p, &error);
        wire_note(&error);
    }
}

/* Ids of entries that are gone and that others have as well. */
static void note_taken(const partial *p)
{
    for (int i = 0; i < p->count; i++) {
        const entry *gone = &p->gone[i];
        const json_t *list = json_object_get(p->whole, gone->name), *value;
        size_t k, first = SIZE_MAX;
        json_array_foreach((json_t *)list, k, value)
        {
            const char *id = json_string_value(json_object_get(value, "id"));
            gw_error error;
            char where[WIRE_POINTER];
            if (!id || !gone->id || strcmp(id, gone->id) != 0)
                continue;
            snprintf(where, sizeof where, "/%s/%zu/id", gone->name, k);
            if (first < k && !gw_fail(&error, GW_CONFLICT, where, "the id %s is taken by /%s/%zu",
                                      id, gone->name, first))
                wire_note(&error);
            first = first < k ? first : k;
        }
    }
}

void wire_note_rest(const wire_table *table, const json_t *whole,
                    void (*check)(const json_t *rest, gw_error_list *list))
{
    const gw_error *noted;
    gw_error found[WIRE_ERRORS];
    gw_error_list list = {.errors = found, .most = WIRE_ERRORS};
    int count = wire_errors(&noted);
    assert(table && check);
    if (count == 0 || count == WIRE_ERRORS || !json_is_object(whole))
        return;
    partial p = {.whole = whole, .rest = json_copy((json_t *)whole)};
    bool possible = p.rest != NULL;
    for (int i = 0; possible && i < count; i++)
        possible = take_out(&p, table, noted[i].where);
    if (possible && leave_out(&p)) {
        check(p.rest, &list);
        wire_errors_cut(count); /* of decoding the rest: with other indices */
        note_rest(&p, &list);
        note_taken(&p);
    }
    json_decref(p.rest);
}
