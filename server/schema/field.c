/*
 * Decoding of an object into a struct, and encoding of a struct, by its table of fields.
 */
#include "server/schema/field.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_ALLOWED 16 /* most names in a call of wire_only() */
#define VALUE_SHOWN  60 /* most characters of a refused value in an error */

/* ---- paths and refusals -------------------------------------------------------------------- */

/* at + "/" + name, escaped (RFC 6901), cut to WIRE_POINTER bytes. */
static void append_name(char out[WIRE_POINTER], const char *at, const char *name)
{
    size_t n = (size_t)snprintf(out, WIRE_POINTER, "%.150s/", at);
    for (; *name && n + 3 < WIRE_POINTER; name++) {
        if (*name == '~' || *name == '/') {
            out[n++] = '~';
            out[n++] = *name == '~' ? '0' : '1';
        } else {
            out[n++] = *name;
        }
    }
    out[n] = '\0';
}

void wire_path_text(const wire_path *path, char out[WIRE_POINTER])
{
    char at[WIRE_POINTER];
    if (!path->parent) {
        snprintf(out, WIRE_POINTER, "%s", path->name);
        return;
    }
    wire_path_text(path->parent, at);
    if (path->name)
        append_name(out, at, path->name);
    else
        snprintf(out, WIRE_POINTER, "%.160s/%zu", at, path->index);
}

/* The errors found so far in the document that this thread decodes. */
static _Thread_local struct {
    int count;
    gw_error errors[WIRE_ERRORS];
} noted;

bool wire_refuse(const wire_path *at, gw_error *error, const char *format, ...)
{
    char where[WIRE_POINTER], message[sizeof error->message];
    va_list list;
    va_start(list, format);
    vsnprintf(message, sizeof message, format, list);
    va_end(list);
    wire_path_text(at, where);
    return gw_fail(error, GW_BAD_INPUT, where, "%s", message);
}

bool wire_refuse_within(const wire_path *at, const gw_error *found, gw_error *error)
{
    char here[WIRE_POINTER], where[WIRE_POINTER * 2];
    wire_path_text(at, here);
    snprintf(where, sizeof where, "%s%s", here, found->where);
    return gw_fail(error, found->code, where, "%s", found->message);
}

void wire_note(const gw_error *error)
{
    for (int i = 0; i < noted.count; i++)
        if (strcmp(noted.errors[i].where, error->where) == 0 &&
            strcmp(noted.errors[i].message, error->message) == 0)
            return;
    if (noted.count < WIRE_ERRORS)
        noted.errors[noted.count++] = *error;
}

bool wire_goes_on(wire_failed *failed, gw_error *error)
{
    if (error && (!failed->any || error->code != GW_BAD_INPUT))
        failed->first = *error;
    failed->any = true;
    if (!error || error->code != GW_BAD_INPUT)
        return false;
    wire_note(error);
    *error = failed->first;
    return noted.count < WIRE_ERRORS;
}

int wire_errors(const gw_error **errors)
{
    *errors = noted.errors;
    return noted.count;
}

int wire_errors_of(const gw_error *error, const gw_error **errors)
{
    bool first = noted.count > 1 && strcmp(noted.errors[0].where, error->where) == 0 &&
                 strcmp(noted.errors[0].message, error->message) == 0;
    *errors = first ? noted.errors : error;
    return first ? noted.count : 1;
}

void wire_errors_clear(void)
{
    wire_errors_cut(0);
}

void wire_errors_cut(int count)
{
    if (noted.count > count)
        noted.count = count;
}

/* ---- decoding a table ---------------------------------------------------------------------- */

const wire_table *wire_kind(const wire_table *t, int kind)
{
    return t->of_kind[kind] ? t->of_kind[kind] : t->other;
}

/* The table of a union's kind; NULL where the table is not a union. */
static const wire_table *variant_of(const wire_table *t, const void *owner)
{
    return t->of_kind ? wire_kind(t, wire_chosen(&t->fields[0], owner)) : NULL;
}

static bool is_taken_field(const wire_field *f)
{
    return !(f->flags & READ_ONLY);
}

static bool knows_member(const wire_table *t, const char *name)
{
    for (const wire_field *f = t ? t->fields : NULL; f && f->name; f++)
        if (is_taken_field(f) && strcmp(f->name, name) == 0)
            return true;
    return false;
}

static void add_known(const wire_table *t, char list[256])
{
    for (const wire_field *f = t ? t->fields : NULL; f && f->name; f++) {
        size_t n = strlen(list);
        if (is_taken_field(f))
            snprintf(list + n, 256 - n, "%s%s", n ? ", " : "", f->name);
    }
}

static bool only_known(const wire_table *t, const wire_table *variant, const json_t *value,
                       const wire_path *at, gw_error *error)
{
    const char *name;
    json_t *ignored;
    wire_failed failed = {0};
    json_object_foreach((json_t *)value, name, ignored)
    {
        if (knows_member(t, name) || knows_member(variant, name))
            continue;
        char list[256] = "";
        add_known(t, list);
        add_known(variant, list);
        wire_refuse(&(wire_path){.parent = at, .name = name}, error,
                    "unknown member \"%.60s\"; known are %s", name, list);
        if (!wire_goes_on(&failed, error))
            return false;
    }
    return !failed.any;
}

bool wire_only(const json_t *object, const char *at, const char *const *allowed, gw_error *error)
{
    wire_field fields[MOST_ALLOWED + 1] = {{0}};
    for (int i = 0; allowed[i]; i++) {
        assert(i < MOST_ALLOWED);
        fields[i].name = allowed[i];
    }
    return only_known(&(wire_table){.fields = fields}, NULL, object, &(wire_path){.name = at},
                      error);
}

/* Refuses with the sentence of the field, followed by the value where that is short. */
static bool refuse_with_value(const wire_field *f, const json_t *value, const wire_path *at,
                              gw_error *error)
{
    static const char must[] = "must be ";
    char where[WIRE_POINTER], message[sizeof error->message];
    wire_path_text(at, where);
    if (!error || error->code != GW_BAD_INPUT || strcmp(error->where, where) != 0)
        return false;
    size_t name = strlen(f->name), before = 0;
    if (strncmp(error->message, f->name, name) == 0 && strncmp(error->message + name, ": ", 2) == 0)
        before = name + 2;
    if (strncmp(error->message + before, must, sizeof must - 1) != 0)
        return false;
    gw_text *text = wire_text(json_incref((json_t *)value));
    if (text && text->size <= VALUE_SHOWN) {
        memcpy(message, error->message, sizeof message);
        snprintf(error->message + before, sizeof error->message - before, "is %s, %s", text->data,
                 message + before);
    }
    text_unref(text);
    return false;
}

static bool decode_field(const wire_field *f, const json_t *object, const wire_path *at,
                         void *owner, gw_error *error)
{
    const json_t *value = json_object_get(object, f->name);
    const wire_path here = {.parent = at, .name = f->name};
    if (f->has_flag)
        *(bool *)((char *)owner + f->has) = value != NULL;
    if (!value && f->flags & REQUIRED)
        return wire_refuse(&here, error, "%s: is missing", f->name);
    return !value || f->type->decode(f, value, &here, owner, error) ||
           refuse_with_value(f, value, &here, error);
}

/* Of the members that exclude one another exactly one must be present; it determines the kind. */
static bool choose_alternative(const wire_table *t, const json_t *value, const wire_path *at,
                               void *owner, gw_error *error)
{
    char list[128] = "";
    int count = 0;
    for (const wire_field *f = t->fields; f->name; f++) {
        if (!(f->flags & ALTERNATIVE) || !is_taken_field(f))
            continue;
        bool last = !(f[1].flags & ALTERNATIVE) || !is_taken_field(&f[1]);
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s\"%s\"", !n ? "" : last ? " and " : ", ", f->name);
        if (!json_object_get(value, f->name))
            continue;
        count++;
        if (f->kinds)
            *(int *)((char *)owner + t->kind) = __builtin_ctz(f->kinds);
    }
    return count == 1 || wire_refuse(at, error, "must have one of %s", list);
}

/* `fine`: no error so far, so that `after` can check the fields together. */
static bool decode_fields(const wire_table *t, const json_t *value, const wire_path *at,
                          void *owner, bool fine, gw_error *error)
{
    bool chosen_one = false;
    wire_failed failed = {0};
    if (t->before && !t->before(value, at, owner, error))
        return false;
    for (const wire_field *f = t->fields; f->name; f++) {
        if (f->flags & ALTERNATIVE && !chosen_one &&
            !choose_alternative(t, value, at, owner, error))
            return false;
        chosen_one = f->flags & ALTERNATIVE;
        if (!is_taken_field(f) || !f->type->decode || decode_field(f, value, at, owner, error))
            continue;
        if (!wire_goes_on(&failed, error))
            return false;
    }
    return fine && !failed.any && (!t->after || t->after(value, at, owner, error));
}

static bool decode_whole_table(const wire_table *t, const json_t *value, const wire_path *at,
                               void *owner, gw_error *error)
{
    if (!json_is_object(value))
        return wire_refuse(at, error, "%s", t->no_object ? t->no_object : "must be an object");
    if (t->of_kind && !decode_field(&t->fields[0], value, at, owner, error))
        return false;
    const wire_table *variant = variant_of(t, owner);
    if (t->of_kind && !variant)
        return wire_refuse(at, error, "%s", t->excluded);
    wire_failed failed = {0};
    if (!only_known(t, variant, value, at, error) && !wire_goes_on(&failed, error))
        return false;
    if (variant && variant->initial)
        variant->initial(owner);
    if (variant && !decode_fields(variant, value, at, owner, !failed.any, error) &&
        !wire_goes_on(&failed, error))
        return false;
    if (!decode_fields(t, value, at, owner, !failed.any, error))
        wire_goes_on(&failed, error);
    return !failed.any;
}

bool wire_decode_at(const wire_table *t, const json_t *value, const wire_path *at, void *owner,
                    gw_error *error)
{
    assert(t && at && owner);
    if (t->initial)
        t->initial(owner);
    if (decode_whole_table(t, value, at, owner, error))
        return true;
    if (t->finish)
        t->finish(owner);
    return false;
}

bool wire_decode(const wire_table *table, const json_t *value, const char *at, void *owner,
                 gw_error *error)
{
    return wire_decode_at(table, value, &(wire_path){.name = at}, owner, error);
}

/* ---- encoding a table ---------------------------------------------------------------------- */

/* The initial value of the table's struct. */
void wire_say_nothing(const wire_table *t, void *initial)
{
    assert(t->size <= WIRE_TABLE_BYTES && (t->size > 0 || !t->initial));
    memset(initial, 0, t->size > 0 ? t->size : WIRE_TABLE_BYTES); /* a part of a larger struct */
    if (t->initial)
        t->initial(initial);
}

/* True where the member would be encoded as in the initial value. */
static bool is_default(const wire_field *f, const void *owner, const void *initial,
                       const wire_context *context)
{
    const char *now_at = (const char *)owner + f->offset;
    if (f->size > 0 && memcmp(now_at, (const char *)initial + f->offset, f->size) == 0)
        return true;
    json_t *now = f->type->encode(f, owner, context), *then = f->type->encode(f, initial, context);
    bool same = now && json_equal(now, then);
    json_decref(now);
    json_decref(then);
    return same;
}

static bool is_written(const wire_table *t, const wire_field *f, const void *owner,
                       const void *initial, const wire_context *context)
{
    bool elsewhere = f->flags & ELSEWHERE || (f->flags & READ_ONLY && !t->answered);
    if (!f->type->encode || f->flags & WRITE_ONLY || elsewhere)
        return false;
    if (f->has_flag)
        return *(const bool *)((const char *)owner + f->has);
    if (f->kinds)
        return f->kinds >> *(const int *)((const char *)owner + t->kind) & 1;
    if (f->when && !(f->flags & OMITTED))
        return f->when(owner, context);
    return !(f->flags & OMITTED) || (f->when && f->when(owner, context)) ||
           !is_default(f, owner, initial, context);
}

/* In a document, members that are always written come before optional ones. */
static int rank_of(const wire_table *t, const wire_field *f)
{
    if (t->answered || t->in_order)
        return 0;
    return f->flags & LAST ? 2 : f->flags & OMITTED || f->has_flag || f->when || f->kinds;
}

static bool encode_fields(const wire_table *t, json_t *object, const void *owner,
                          const wire_context *context)
{
    _Alignas(max_align_t) char initial[WIRE_TABLE_BYTES];
    wire_say_nothing(t, initial);
    for (int rank = 0; rank < 3; rank++)
        for (const wire_field *f = t->fields; f->name; f++)
            if (rank_of(t, f) == rank && is_written(t, f, owner, initial, context) &&
                json_object_set_new(object, f->name, f->type->encode(f, owner, context)) != 0)
                return false;
    return true;
}

json_t *wire_encode(const wire_table *t, const void *owner, const wire_context *context)
{
    assert(t && owner);
    json_t *object = json_object();
    const wire_table *variant = variant_of(t, owner);
    if (object && encode_fields(t, object, owner, context) &&
        (!variant || encode_fields(variant, object, owner, context)))
        return object;
    json_decref(object);
    return NULL;
}
