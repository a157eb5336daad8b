/*
 * JSON text: parsing within caps, writing, merge patches, and what happens when memory is short.
 *
 * jansson drops a member, without a word, where memory for it is short: half a document would pass
 * for a whole one. So its memory calls go through here, and a thread that was refused one knows.
 */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/schema/field.h"

/* ---- memory -------------------------------------------------------------------------------- */

static _Thread_local bool missed;

static void *take(size_t size)
{
    void *block = malloc(size);
    missed = missed || !block;
    return block;
}

void wire_watch_memory(void)
{
    json_set_alloc_funcs(take, free);
}

void wire_memory_missed(void)
{
    missed = true;
}

bool wire_memory_short(void)
{
    return missed;
}

void wire_memory_clear(void)
{
    missed = false;
}

/* ---- text ---------------------------------------------------------------------------------- */

/* Deepest nesting of brackets outside strings; the parser would recurse that deep. */
static int depth_of(const char *text, size_t size)
{
    int depth = 0, deepest = 0;
    bool in_string = false;
    for (size_t i = 0; i < size; i++) {
        char c = text[i];
        if (in_string) {
            if (c == '\\')
                i++;
            else if (c == '"')
                in_string = false;
        } else if (c == '"') {
            in_string = true;
        } else if (c == '[' || c == '{') {
            deepest = ++depth > deepest ? depth : deepest;
        } else if (c == ']' || c == '}') {
            depth--;
        }
    }
    return deepest;
}

static json_t *parse(const char *text, size_t size, size_t most, gw_error *error)
{
    if (size > most) {
        gw_fail(error, GW_TOO_LARGE, "", "%zu bytes of JSON, at most %zu are taken", size, most);
        return NULL;
    }
    if (depth_of(text, size) > GW_MAX_JSON_DEPTH) {
        gw_fail(error, GW_BAD_INPUT, "", "JSON nested deeper than %d levels", GW_MAX_JSON_DEPTH);
        return NULL;
    }
    json_error_t bad;
    json_t *value = json_loadb(text, size, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &bad);
    if (wire_memory_short()) {
        json_decref(value);
        gw_fail(error, GW_FAILED, "", "memory is short");
        return NULL;
    }
    if (!value)
        gw_fail(error, GW_BAD_INPUT, "", "not JSON, line %d column %d: %s", bad.line, bad.column,
                bad.text);
    return value;
}

json_t *wire_parse(const char *text, size_t size, gw_error *error)
{
    return parse(text, size, GW_MAX_BODY_BYTES, error);
}

json_t *wire_parse_document(const char *text, size_t size, gw_error *error)
{
    return parse(text, size, GW_MAX_DOCUMENT_BYTES, error);
}

char *wire_text(const json_t *value)
{
    char *text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY | JSON_REAL_PRECISION(17));
    bool whole = !wire_memory_short();
    wire_memory_clear();
    if (whole)
        return text;
    free(text);
    return NULL;
}

json_t *wire_merge(const json_t *target, const json_t *patch)
{
    if (!json_is_object(patch))
        return json_deep_copy(patch);
    json_t *merged = json_is_object(target) ? json_copy((json_t *)target) : json_object();
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)patch, name, value)
    {
        if (json_is_null(value))
            json_object_del(merged, name);
        else
            json_object_set_new(merged, name, wire_merge(json_object_get(merged, name), value));
    }
    return merged;
}

void wire_add(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}
