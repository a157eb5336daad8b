/*
 * The engine behind the tables of fields: decodes JSON into structs, encodes structs, and describes
 * both as JSON Schema. The types of values come first, then the walks over a table.
 */
#include "server/schema/field.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TABLE_BYTES  4096 /* the largest struct that leaves members out where they say nothing */
#define MOST_KINDS   32   /* of a union */
#define MOST_ALLOWED 16   /* names in a call of wire_only() */

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

static void *member(const wire_field *f, void *owner)
{
    return (char *)owner + f->offset;
}

static const void *member_of(const wire_field *f, const void *owner)
{
    return (const char *)owner + f->offset;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* A number that JSON can hold: what is not finite as the nearest one, and NaN as 0, so that the
 * rest of a simulation's state can still be told. */
static double clamped(double x)
{
    return isnan(x) ? 0 : fmax(-DBL_MAX, fmin(DBL_MAX, x));
}

static json_t *number_json(double x, const wire_context *context)
{
    return json_real(context && context->clamp ? clamped(x) : x); /* NULL where not finite */
}

/* Sizes that come in stay below GW_MAX_NUMBER: products of a few of them are numbers yet. */
static bool too_large(double x, char message[96])
{
    snprintf(message, 96, "is %g, must be from %g to %g", x, -GW_MAX_NUMBER, GW_MAX_NUMBER);
    return fabs(x) > GW_MAX_NUMBER;
}

static bool out_of_range(const wire_field *f, double x)
{
    bool below = f->has_low && !(f->flags & EXCLUSIVE ? x > f->low : x >= f->low);
    return below || (f->has_high && !(x <= f->high));
}

static bool get_number(const wire_field *f, const json_t *value, const wire_path *at, double *out,
                       gw_error *error)
{
    char message[96];
    if (!json_is_number(value))
        return wire_refuse(at, error, "%s: must be a number", f->name);
    *out = json_number_value(value);
    if (too_large(*out, message))
        return wire_refuse(at, error, "%s: %s", f->name, message);
    if (!f->must || !out_of_range(f, *out))
        return true;
    if (f->flags & TELLS_VALUE)
        return wire_refuse(at, error, "%s: is %g, %s", f->name, *out, f->must);
    return wire_refuse(at, error, "%s: %s", f->name, f->must);
}

static bool decode_number(const wire_field *f, const json_t *value, const wire_path *at,
                          void *owner, gw_error *error)
{
    return get_number(f, value, at, member(f, owner), error);
}

static json_t *encode_number(const wire_field *f, const void *owner, const wire_context *context)
{
    return number_json(*(const double *)member_of(f, owner), context);
}

static void add_range(json_t *schema, const wire_field *f)
{
    bool whole = f->type == WHOLE, exclusive = f->flags & EXCLUSIVE;
    json_t *low = whole ? json_integer((json_int_t)f->low) : json_real(f->low);
    json_t *high = whole ? json_integer((json_int_t)f->high) : json_real(f->high);
    if (f->has_low)
        json_object_set(schema, exclusive ? "exclusiveMinimum" : "minimum", low);
    if (f->has_high)
        json_object_set(schema, "maximum", high);
    json_decref(low);
    json_decref(high);
}

json_t *wire_schema_number(const wire_field *f)
{
    json_t *schema = json_pack("{ss}", "type", f->type == WHOLE ? "integer" : "number");
    add_range(schema, f);
    return schema;
}

const wire_type wire_type_number = {decode_number, encode_number, wire_schema_number};

static bool decode_whole(const wire_field *f, const json_t *value, const wire_path *at, void *owner,
                         gw_error *error)
{
    double x = 0;
    assert(f->size == sizeof(int) || f->size == sizeof(uint64_t));
    if (!get_number(f, value, at, &x, error))
        return false;
    if (x != floor(x) || x < f->low || x > f->high)
        return wire_refuse(at, error, "%s: is %g, must be a whole number from %lld to %lld",
                           f->name, x, (long long)f->low, (long long)f->high);
    if (f->size == sizeof(int))
        *(int *)member(f, owner) = (int)x;
    else
        *(uint64_t *)member(f, owner) = (uint64_t)x;
    return true;
}

static json_t *encode_whole(const wire_field *f, const void *owner, const wire_context *context)
{
    const void *at = member_of(f, owner);
    (void)context;
    return json_integer(f->size == sizeof(int) ? *(const int *)at
                                               : (json_int_t) * (const uint64_t *)at);
}

const wire_type wire_type_whole = {decode_whole, encode_whole, wire_schema_number};

/* ---- rows of numbers ----------------------------------------------------------------------- */

/* `direction`: of any size. */
static bool get_numbers(const json_t *value, const wire_path *at, int count, bool direction,
                        double *out, gw_error *error)
{
    if (!json_is_array(value) || json_array_size(value) != (size_t)count)
        return wire_refuse(at, error, "must be an array of %d numbers", count);
    for (int i = 0; i < count; i++) {
        const json_t *n = json_array_get(value, (size_t)i);
        wire_path entry = {.parent = at, .index = (size_t)i};
        char message[96];
        out[i] = json_number_value(n);
        if (!json_is_number(n) || !isfinite(out[i]))
            return wire_refuse(&entry, error, "must be a finite number");
        if (!direction && too_large(out[i], message))
            return wire_refuse(&entry, error, "%s", message);
    }
    return true;
}

bool wire_get_numbers(const json_t *value, const wire_path *at, int count, double *out,
                      gw_error *error)
{
    return get_numbers(value, at, count, false, out, error);
}

json_t *wire_append(json_t *list, json_t *entry)
{
    if (json_array_append_new(list, entry) == 0)
        return list;
    json_decref(list);
    return NULL;
}

json_t *wire_numbers(const double *values, int count, const wire_context *context)
{
    json_t *list = json_array();
    for (int i = 0; list && i < count; i++)
        list = wire_append(list, number_json(values[i], context));
    return list;
}

static bool decode_numbers(const wire_field *f, const json_t *value, const wire_path *at,
                           void *owner, gw_error *error)
{
    return get_numbers(value, at, (int)f->most, false, member(f, owner), error);
}

static json_t *encode_numbers(const wire_field *f, const void *owner, const wire_context *context)
{
    return wire_numbers(member_of(f, owner), (int)f->most, context);
}

json_t *wire_schema_numbers(const wire_field *f)
{
    return json_pack("{ss s{ss} sI sI}", "type", "array", "items", "type", "number", "minItems",
                     (json_int_t)f->most, "maxItems", (json_int_t)f->most);
}

const wire_type wire_type_numbers = {decode_numbers, encode_numbers, wire_schema_numbers};

/* A vector is three doubles in a row, and a quaternion four: w x y z. */
_Static_assert(sizeof(gw_vec3) == 3 * sizeof(double) && offsetof(gw_vec3, z) == 16, "x y z");
_Static_assert(sizeof(gw_quat) == 4 * sizeof(double) && offsetof(gw_quat, w) == 0, "w x y z");

static bool decode_vec3(const wire_field *f, const json_t *value, const wire_path *at, void *owner,
                        gw_error *error)
{
    double n[3];
    if (!get_numbers(value, at, 3, false, n, error))
        return false;
    *(gw_vec3 *)member(f, owner) = gw_v3(n[0], n[1], n[2]);
    return true;
}

static json_t *encode_vec3(const wire_field *f, const void *owner, const wire_context *context)
{
    const gw_vec3 *v = member_of(f, owner);
    return wire_numbers((const double[]){v->x, v->y, v->z}, 3, context);
}

json_t *wire_schema_vec3(const wire_field *f)
{
    return wire_schema_ref(f->type == QUAT ? "Quat" : "Vec3");
}

const wire_type wire_type_vec3 = {decode_vec3, encode_vec3, wire_schema_vec3};

static bool decode_direction(const wire_field *f, const json_t *value, const wire_path *at,
                             void *owner, gw_error *error)
{
    double n[3];
    if (!get_numbers(value, at, 3, true, n, error))
        return false;
    /* scaled first, so that neither tiny nor huge vectors lose their length to rounding */
    double most = fmax(fabs(n[0]), fmax(fabs(n[1]), fabs(n[2])));
    if (!(most > 0))
        return wire_refuse(at, error, "%s: must not be zero", f->name);
    *(gw_vec3 *)member(f, owner) = gw_unit(gw_v3(n[0] / most, n[1] / most, n[2] / most));
    return true;
}

const wire_type wire_type_direction = {decode_direction, encode_vec3, wire_schema_vec3};

static bool decode_quat(const wire_field *f, const json_t *value, const wire_path *at, void *owner,
                        gw_error *error)
{
    double n[4];
    if (!get_numbers(value, at, 4, false, n, error))
        return false;
    gw_quat raw = {n[0], n[1], n[2], n[3]};
    double length = sqrt(gw_quat_dot(raw, raw));
    if (!(fabs(length - 1) <= 1e-6))
        return wire_refuse(at, error,
                           "a quaternion [w,x,y,z] of length %.9g, must be 1 within 1e-6", length);
    *(gw_quat *)member(f, owner) = gw_quat_unit(raw);
    return true;
}

static json_t *encode_quat(const wire_field *f, const void *owner, const wire_context *context)
{
    const gw_quat *q = member_of(f, owner);
    return wire_numbers((const double[]){q->w, q->x, q->y, q->z}, 4, context);
}

const wire_type wire_type_quat = {decode_quat, encode_quat, wire_schema_vec3};

/* ---- truth, text and choices --------------------------------------------------------------- */

static bool decode_boolean(const wire_field *f, const json_t *value, const wire_path *at,
                           void *owner, gw_error *error)
{
    if (!json_is_boolean(value))
        return wire_refuse(at, error, "%s: must be true or false", f->name);
    *(bool *)member(f, owner) = json_is_true(value);
    return true;
}

static json_t *encode_boolean(const wire_field *f, const void *owner, const wire_context *context)
{
    (void)context;
    return json_boolean(*(const bool *)member_of(f, owner));
}

json_t *wire_schema_boolean(const wire_field *f)
{
    (void)f;
    return json_pack("{ss}", "type", "boolean");
}

const wire_type wire_type_boolean = {decode_boolean, encode_boolean, wire_schema_boolean};

static bool decode_string(const wire_field *f, const json_t *value, const wire_path *at,
                          void *owner, gw_error *error)
{
    size_t length = json_string_length(value);
    if (!json_is_string(value))
        return wire_refuse(at, error, "%s: must be a string", f->name);
    if (length >= f->size || memchr(json_string_value(value), 0, length))
        return wire_refuse(at, error, "%s: must be at most %zu bytes without zeros", f->name,
                           f->size - 1);
    if (length == 0 && f->must)
        return wire_refuse(at, error, "%s", f->must);
    memcpy(member(f, owner), json_string_value(value), length + 1);
    return true;
}

static json_t *encode_string(const wire_field *f, const void *owner, const wire_context *context)
{
    (void)context;
    return json_string(member_of(f, owner));
}

json_t *wire_schema_string(const wire_field *f)
{
    json_t *schema = f->choices ? wire_schema_choice(f) : json_pack("{ss}", "type", "string");
    if (f->size > 1 && f->type->decode)
        json_object_set_new(schema, "maxLength", json_integer((json_int_t)f->size - 1));
    return schema;
}

const wire_type wire_type_string = {decode_string, encode_string, wire_schema_string};

json_t *wire_schema_id(const wire_field *f)
{
    return wire_schema_ref(f->type == FEATURE_ID ? "FeatureId" : "Id");
}

const wire_type wire_type_id = {decode_string, encode_string, wire_schema_id};

static json_t *encode_text(const wire_field *f, const void *owner, const wire_context *context)
{
    const char *text = *(const char *const *)member_of(f, owner);
    (void)context;
    return json_string(text ? text : "");
}

const wire_type wire_type_text = {NULL, encode_text, wire_schema_string};

/* "object/feature" in two. */
static bool decode_feature_id(const wire_field *f, const json_t *value, const wire_path *at,
                              void *owner, gw_error *error)
{
    char text[2 * GW_MAX_ID + 2];
    const wire_field whole = {.name = f->name, .size = sizeof text};
    gw_feature_ref *ref = member(f, owner);
    if (!decode_string(&whole, value, at, text, error))
        return false;
    char *slash = strchr(text, '/');
    if (slash)
        *slash = '\0';
    if (!slash || !gw_id_valid(text) || !gw_id_valid(slash + 1))
        return wire_refuse(at, error, "%s: must be \"object/feature\"", f->name);
    memcpy(ref->object, text, strlen(text) + 1);
    memcpy(ref->feature, slash + 1, strlen(slash + 1) + 1);
    return true;
}

static json_t *encode_feature_id(const wire_field *f, const void *owner,
                                 const wire_context *context)
{
    const gw_feature_ref *ref = member_of(f, owner);
    (void)context;
    return json_sprintf("%s/%s", ref->object, ref->feature);
}

const wire_type wire_type_feature_id = {decode_feature_id, encode_feature_id, wire_schema_id};

static const char *choice_name(const wire_field *f, int i)
{
    return f->name_of ? f->name_of(i) : f->choices[i];
}

static bool decode_choice(const wire_field *f, const json_t *value, const wire_path *at,
                          void *owner, gw_error *error)
{
    for (int i = 0; json_is_string(value) && choice_name(f, i); i++) {
        if (strcmp(json_string_value(value), choice_name(f, i)) != 0)
            continue;
        if (f->size == sizeof(bool))
            *(bool *)member(f, owner) = i == 1;
        else
            *(int *)member(f, owner) = i;
        return true;
    }
    char message[256];
    int n = snprintf(message, sizeof message, "must be one of");
    for (int i = 0; choice_name(f, i) && n < (int)sizeof message; i++)
        n += snprintf(message + n, sizeof message - (size_t)n, "%s \"%s\"", i ? "," : "",
                      choice_name(f, i));
    return wire_refuse(at, error, "%s: %s", f->name, message);
}

static int chosen(const wire_field *f, const void *owner)
{
    const void *at = member_of(f, owner);
    return f->size == sizeof(bool) ? *(const bool *)at : *(const int *)at;
}

static json_t *encode_choice(const wire_field *f, const void *owner, const wire_context *context)
{
    (void)context;
    return json_string(choice_name(f, chosen(f, owner)));
}

json_t *wire_schema_choice(const wire_field *f)
{
    if (!choice_name(f, 1))
        return json_pack("{ss}", "const", choice_name(f, 0));
    json_t *names = json_array();
    for (int i = 0; choice_name(f, i); i++)
        json_array_append_new(names, json_string(choice_name(f, i)));
    return json_pack("{ss so}", "type", "string", "enum", names);
}

const wire_type wire_type_choice = {decode_choice, encode_choice, wire_schema_choice};

/* ---- objects and lists --------------------------------------------------------------------- */

static bool decode_object(const wire_field *f, const json_t *value, const wire_path *at,
                          void *owner, gw_error *error)
{
    return wire_decode_at(f->table, value, at, member(f, owner), error);
}

static json_t *encode_object(const wire_field *f, const void *owner, const wire_context *context)
{
    return wire_encode(f->table, member_of(f, owner), context);
}

static json_t *schema_of_table(const wire_table *table)
{
    return table->name ? wire_schema_ref(table->name)
                       : wire_table_schema(table, WIRE_DOCUMENT, table->about);
}

json_t *wire_schema_object(const wire_field *f)
{
    return schema_of_table(f->table);
}

const wire_type wire_type_object = {decode_object, encode_object, wire_schema_object};

static const wire_field an_object = {.name = "", .type = OBJECT};

/* What an entry of the list is. */
static wire_field item_of(const wire_field *f)
{
    wire_field item = f->item ? *f->item : an_object;
    if (f->table)
        item.table = f->table;
    return item;
}

/* The entry that decoding writes next; NULL with an error where memory is short. */
static void *next_entry(const wire_field *f, void *owner, size_t i, gw_error *error)
{
    int *count = (int *)((char *)owner + f->count);
    void *array = f->type == LIST ? *(void **)member(f, owner) : member(f, owner);
    if (f->add)
        return f->add(owner, error);
    *count = (int)i + 1;
    return (char *)array + i * f->stride;
}

static bool decode_list(const wire_field *f, const json_t *value, const wire_path *at, void *owner,
                        gw_error *error)
{
    const wire_field item = item_of(f);
    size_t size = json_array_size(value);
    char where[WIRE_POINTER];
    if (!json_is_array(value))
        return wire_refuse(at, error, "%s: must be an array", f->name);
    wire_path_text(at, where);
    if (size > f->most)
        return gw_fail(error, GW_TOO_LARGE, where, "%s: %zu entries, at most %zu are taken",
                       f->name, size, f->most);
    if (size < f->least && f->must)
        return wire_refuse(at, error, "%s: %s", f->name, f->must);
    if (f->type == LIST && !f->add) {
        void **array = member(f, owner);
        *array = calloc(size + 1, f->stride); /* one too many: none is no lack of memory */
        if (!*array)
            return gw_fail(error, GW_FAILED, where, "no memory for %s", f->name);
    }
    for (size_t i = 0; i < size; i++) {
        const wire_path entry = {.parent = at, .index = i};
        void *place = next_entry(f, owner, i, error);
        if (!place || !item.type->decode(&item, json_array_get(value, i), &entry, place, error))
            return false;
    }
    return true;
}

static json_t *encode_list(const wire_field *f, const void *owner, const wire_context *context)
{
    const wire_field item = item_of(f);
    int count = *(const int *)((const char *)owner + f->count);
    const char *array = member_of(f, owner);
    if (f->type == LIST)
        array = *(const char *const *)(const void *)array;
    json_t *list = json_array();
    for (int i = 0; list && i < count; i++)
        list = wire_append(list, item.type->encode(&item, array + (size_t)i * f->stride, context));
    return list;
}

json_t *wire_schema_list(const wire_field *f)
{
    const wire_field item = item_of(f);
    json_t *schema = json_pack("{ss so}", "type", "array", "items", item.type->schema(&item));
    if (f->least > 0)
        json_object_set_new(schema, "minItems", json_integer((json_int_t)f->least));
    if (f->most > 0)
        json_object_set_new(schema, "maxItems", json_integer((json_int_t)f->most));
    return schema;
}

json_t *wire_schema_map(const wire_field *f)
{
    const wire_field item = item_of(f);
    return json_pack("{ss so}", "type", "object", "additionalProperties", item.type->schema(&item));
}

const wire_type wire_type_map = {NULL, NULL, wire_schema_map};
const wire_type wire_type_list = {decode_list, encode_list, wire_schema_list};
const wire_type wire_type_list_within = {decode_list, encode_list, wire_schema_list};

/* ---- decoding a table ---------------------------------------------------------------------- */

/* The table of a union's kind; NULL where it is no union. */
static const wire_table *variant_of(const wire_table *t, const void *owner)
{
    return t->of_kind ? t->of_kind[chosen(&t->fields[0], owner)] : NULL;
}

static bool taken(const wire_field *f)
{
    return !(f->flags & READ_ONLY);
}

static bool knows(const wire_table *t, const char *name)
{
    for (const wire_field *f = t ? t->fields : NULL; f && f->name; f++)
        if (taken(f) && strcmp(f->name, name) == 0)
            return true;
    return false;
}

static void add_known(const wire_table *t, char list[256])
{
    for (const wire_field *f = t ? t->fields : NULL; f && f->name; f++) {
        size_t n = strlen(list);
        if (taken(f))
            snprintf(list + n, 256 - n, "%s%s", n ? ", " : "", f->name);
    }
}

static bool only_known(const wire_table *t, const wire_table *variant, const json_t *value,
                       const wire_path *at, gw_error *error)
{
    const char *name;
    json_t *ignored;
    json_object_foreach((json_t *)value, name, ignored)
    {
        if (knows(t, name) || knows(variant, name))
            continue;
        char list[256] = "";
        add_known(t, list);
        add_known(variant, list);
        return wire_refuse(&(wire_path){.parent = at, .name = name}, error,
                           "unknown member \"%.60s\"; known are %s", name, list);
    }
    return true;
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

static bool decode_field(const wire_field *f, const json_t *object, const wire_path *at,
                         void *owner, gw_error *error)
{
    const json_t *value = json_object_get(object, f->name);
    const wire_path here = {.parent = at, .name = f->name};
    if (f->has_flag)
        *(bool *)((char *)owner + f->has) = value != NULL;
    if (!value && f->flags & REQUIRED)
        return wire_refuse(&here, error, "%s: is missing", f->name);
    return !value || f->type->decode(f, value, &here, owner, error);
}

/* Of members that exclude one another exactly one is there, and tells the kind. */
static bool choose_alternative(const wire_table *t, const json_t *value, const wire_path *at,
                               void *owner, gw_error *error)
{
    char list[128] = "";
    int count = 0;
    for (const wire_field *f = t->fields; f->name; f++) {
        if (!(f->flags & ALTERNATIVE))
            continue;
        bool last = !(f[1].flags & ALTERNATIVE);
        size_t n = strlen(list);
        snprintf(list + n, sizeof list - n, "%s\"%s\"", !n ? "" : last ? " and " : ", ", f->name);
        if (!json_object_get(value, f->name))
            continue;
        count++;
        *(int *)((char *)owner + t->kind) = __builtin_ctz(f->kinds);
    }
    return count == 1 || wire_refuse(at, error, "must have one of %s", list);
}

static bool decode_fields(const wire_table *t, const json_t *value, const wire_path *at,
                          void *owner, gw_error *error)
{
    bool chosen_one = false;
    if (t->before && !t->before(value, at, owner, error))
        return false;
    for (const wire_field *f = t->fields; f->name; f++) {
        if (f->flags & ALTERNATIVE && !chosen_one &&
            !choose_alternative(t, value, at, owner, error))
            return false;
        chosen_one = f->flags & ALTERNATIVE;
        if (taken(f) && f->type->decode && !decode_field(f, value, at, owner, error))
            return false;
    }
    return !t->after || t->after(value, at, owner, error);
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
    if (!only_known(t, variant, value, at, error))
        return false;
    if (variant && variant->initial)
        variant->initial(owner);
    return (!variant || decode_fields(variant, value, at, owner, error)) &&
           decode_fields(t, value, at, owner, error);
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

/* The struct where nothing is said. */
static void say_nothing(const wire_table *t, char initial[TABLE_BYTES])
{
    assert(t->size <= TABLE_BYTES && (t->size > 0 || !t->initial));
    memset(initial, 0, t->size);
    if (t->initial)
        t->initial(initial);
}

/* Whether the member says what nothing said would say as well. */
static bool unsaid(const wire_field *f, const void *owner, const void *initial,
                   const wire_context *context)
{
    if (f->size > 0 && memcmp(member_of(f, owner), member_of(f, initial), f->size) == 0)
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
           !unsaid(f, owner, initial, context);
}

/* In a document, members that are always there come before those that are not. */
static int rank_of(const wire_table *t, const wire_field *f)
{
    if (t->answered || t->in_order)
        return 0;
    return f->flags & LAST ? 2 : f->flags & OMITTED || f->has_flag || f->when || f->kinds;
}

static bool encode_fields(const wire_table *t, json_t *object, const void *owner,
                          const wire_context *context)
{
    _Alignas(max_align_t) char initial[TABLE_BYTES];
    say_nothing(t, initial);
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

/* ---- describing a table -------------------------------------------------------------------- */

json_t *wire_schema_ref(const char *component)
{
    return json_pack("{so}", "$ref", json_sprintf("#/components/schemas/%s", component));
}

static json_t *nullable(json_t *schema)
{
    return json_pack("{s[o{ss}]}", "anyOf", schema, "type", "null");
}

static void add_words(json_t *schema, const wire_field *f)
{
    if (f->about && f->unit)
        json_object_set_new(schema, "description", json_sprintf("%s (%s)", f->about, f->unit));
    else if (f->about || f->unit)
        json_object_set_new(schema, "description", json_string(f->about ? f->about : f->unit));
}

static bool has_plain_value(const wire_field *f)
{
    return f->type == NUMBER || f->type == WHOLE || f->type == BOOLEAN || f->type == CHOICE ||
           f->type == VEC3 || f->type == DIRECTION || f->type == QUAT;
}

static void add_default(json_t *schema, const wire_table *t, const wire_field *f)
{
    _Alignas(max_align_t) char initial[TABLE_BYTES];
    if (!t->initial || !has_plain_value(f) || f->flags & (REQUIRED | READ_ONLY | SOMETIMES) ||
        f->has_flag || f->kinds || (f->when && !(f->flags & OMITTED)))
        return;
    say_nothing(t, initial);
    json_object_set_new(schema, "default", f->type->encode(f, initial, NULL));
}

/* A member of a merge patch: an object is patched, anything else is replaced, null takes away. */
static json_t *patch_schema(const wire_field *f)
{
    const wire_table *t = f->type->schema == wire_schema_list ? NULL : f->table;
    if (t && t->patch.name)
        return wire_schema_ref(t->patch.name);
    return t && t->patch.about ? wire_table_schema(t, WIRE_PATCH, NULL) : f->type->schema(f);
}

static json_t *field_schema(const wire_table *t, const wire_field *f, wire_form form)
{
    json_t *schema = form == WIRE_PATCH ? patch_schema(f) : f->type->schema(f);
    add_words(schema, f);
    if (form == WIRE_DOCUMENT || form == WIRE_GIVEN)
        add_default(schema, t, f);
    return form == WIRE_PATCH ? nullable(schema) : schema;
}

static bool is_described(const wire_table *t, const wire_field *f, wire_form form)
{
    if (f->flags & READ_ONLY)
        return form == WIRE_READ || t->answered || (form != WIRE_DOCUMENT && f->flags & SENT_BACK);
    return form != WIRE_READ || !(f->flags & WRITE_ONLY);
}

static bool is_required(const wire_table *t, const wire_field *f, wire_form form)
{
    if (form == WIRE_PATCH)
        return false;
    if (f->flags & ALTERNATIVE)
        return true;
    if (form == WIRE_READ || t->answered)
        return !(f->flags & (OMITTED | SOMETIMES)) && !f->has_flag && !f->when && !f->kinds;
    return f->flags & REQUIRED && !(form == WIRE_GIVEN && f->flags & IN_ADDRESS);
}

/* `one`: of the members that exclude one another, only this. */
static void describe_fields(const wire_table *t, wire_form form, const wire_field *one,
                            json_t *properties, json_t *required)
{
    for (const wire_field *f = t->fields; f->name; f++) {
        if (!is_described(t, f, form) || (one && f->flags & ALTERNATIVE && f != one))
            continue;
        json_object_set_new(properties, f->name, field_schema(t, f, form));
        if (is_required(t, f, form))
            json_array_append_new(required, json_string(f->name));
    }
}

static json_t *object_schema(const char *about, json_t *properties, json_t *required)
{
    json_t *schema = json_pack("{ss}", "type", "object");
    if (about)
        json_object_set_new(schema, "description", json_string(about));
    json_object_set_new(schema, "properties", properties);
    if (json_array_size(required) > 0)
        json_object_set(schema, "required", required);
    json_decref(required);
    json_object_set_new(schema, "additionalProperties", json_false());
    return schema;
}

/* One alternative of a union: the kinds from `first` on that share a table. */
static json_t *variant_schema(const wire_table *t, int first, wire_form form)
{
    const wire_table *variant = t->of_kind[first];
    const char *names[MOST_KINDS + 1] = {NULL};
    int count = 0;
    for (int i = first; choice_name(&t->fields[0], i) && count < MOST_KINDS; i++)
        if (t->of_kind[i] == variant)
            names[count++] = choice_name(&t->fields[0], i);
    json_t *properties = json_object(), *required = json_array();
    const wire_field kind = {.type = CHOICE, .choices = names};
    describe_fields(t, form, NULL, properties, required);
    json_object_set_new(properties, t->fields[0].name, wire_schema_choice(&kind));
    describe_fields(variant, form, NULL, properties, required);
    return object_schema(variant->about, properties, required);
}

/* True where an earlier kind has the same table, or there is none. */
static bool is_repeated(const wire_table *t, int kind)
{
    for (int i = 0; i < kind; i++)
        if (t->of_kind[i] == t->of_kind[kind])
            return true;
    return !t->of_kind[kind];
}

static json_t *one_of(json_t *alternatives, const char *about)
{
    json_t *schema = json_object();
    if (about)
        json_object_set_new(schema, "description", json_string(about));
    json_object_set_new(schema, "oneOf", alternatives);
    return schema;
}

static json_t *union_schema(const wire_table *t, wire_form form, const char *about)
{
    json_t *alternatives = json_array();
    for (int i = 0; choice_name(&t->fields[0], i); i++)
        if (!is_repeated(t, i))
            json_array_append_new(alternatives, t->of_kind[i]->name
                                                    ? wire_schema_ref(t->of_kind[i]->name)
                                                    : variant_schema(t, i, form));
    return one_of(alternatives, about);
}

/* An object with one of several members, as an element is. */
static json_t *alternatives_schema(const wire_table *t, wire_form form, const char *about)
{
    json_t *alternatives = json_array();
    for (const wire_field *f = t->fields; f->name; f++) {
        if (!(f->flags & ALTERNATIVE))
            continue;
        json_t *properties = json_object(), *required = json_array();
        describe_fields(t, form, f, properties, required);
        json_array_append_new(alternatives, object_schema(NULL, properties, required));
    }
    return one_of(alternatives, about);
}

static bool has_alternatives(const wire_table *t)
{
    for (const wire_field *f = t->fields; f->name; f++)
        if (f->flags & ALTERNATIVE)
            return true;
    return false;
}

json_t *wire_table_schema(const wire_table *t, wire_form form, const char *about)
{
    if (t->of_kind && form != WIRE_PATCH)
        return union_schema(t, form, about);
    if (has_alternatives(t) && form != WIRE_PATCH)
        return alternatives_schema(t, form, about);
    json_t *properties = json_object(), *required = json_array();
    describe_fields(t, form, NULL, properties, required);
    for (int i = 0; t->of_kind && choice_name(&t->fields[0], i); i++)
        if (t->of_kind[i])
            describe_fields(t->of_kind[i], form, NULL, properties, required);
    return object_schema(about, properties, required);
}

static void add_component(json_t *schemas, const wire_table *t, wire_form form,
                          const wire_component *as)
{
    if (as->name)
        json_object_set_new(schemas, as->name, wire_table_schema(t, form, as->about));
}

void wire_add_components(json_t *schemas, const wire_table *t)
{
    add_component(schemas, t, WIRE_DOCUMENT, &(wire_component){t->name, t->about});
    add_component(schemas, t, WIRE_READ, &t->read);
    add_component(schemas, t, WIRE_GIVEN, &t->given);
    add_component(schemas, t, WIRE_PATCH, &t->patch);
    for (int i = 0; t->of_kind && choice_name(&t->fields[0], i); i++)
        if (!is_repeated(t, i) && t->of_kind[i]->name)
            json_object_set_new(schemas, t->of_kind[i]->name, variant_schema(t, i, WIRE_DOCUMENT));
}
