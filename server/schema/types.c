/*
 * The types to which rows refer: how each is decoded, encoded and described.
 */
#include "server/schema/field.h"

#include <assert.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static void *member_at(const wire_field *f, void *owner)
{
    return (char *)owner + f->offset;
}

static const void *member_of(const wire_field *f, const void *owner)
{
    return (const char *)owner + f->offset;
}

/* ---- numbers ------------------------------------------------------------------------------- */

/* The nearest number that JSON can represent; 0 for NaN. The rest of a simulation's state can then
 * still be written. */
static double clamp_finite(double x)
{
    return isnan(x) ? 0 : fmax(-DBL_MAX, fmin(DBL_MAX, x));
}

static json_t *number_json(double x, const wire_context *context)
{
    return json_real(context && context->clamp ? clamp_finite(x) : x); /* NULL where not finite */
}

/* Refuses input beyond GW_MAX_NUMBER, so that products of a few numbers stay finite. */
static bool too_large(double x, char message[96])
{
    if (fabs(x) <= GW_MAX_NUMBER)
        return false;
    snprintf(message, 96, "is %g, must be from %g to %g", x, -GW_MAX_NUMBER, GW_MAX_NUMBER);
    return true;
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

DECODE(decode_number)
{
    return get_number(f, value, at, member_at(f, owner), error);
}

ENCODE(encode_number)
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

bool wire_is_whole(const json_t *value, double low, double high)
{
    double x = json_number_value(value);
    return json_is_number(value) && x == floor(x) && x >= low && x <= high;
}

DECODE(decode_whole)
{
    double x = 0;
    assert(f->size == sizeof(int) || f->size == sizeof(uint64_t));
    if (f->must && !wire_is_whole(value, f->low, f->high))
        return wire_refuse(at, error, "%s", f->must);
    if (!get_number(f, value, at, &x, error))
        return false;
    if (x != floor(x) || x < f->low || x > f->high)
        return wire_refuse(at, error, "%s: is %g, must be a whole number from %lld to %lld",
                           f->name, x, (long long)f->low, (long long)f->high);
    if (f->size == sizeof(int))
        *(int *)member_at(f, owner) = (int)x;
    else
        *(uint64_t *)member_at(f, owner) = (uint64_t)x;
    return true;
}

ENCODE(encode_whole)
{
    const void *at = member_of(f, owner);
    return json_integer(f->size == sizeof(int) ? *(const int *)at
                                               : (json_int_t) * (const uint64_t *)at);
}

const wire_type wire_type_whole = {decode_whole, encode_whole, wire_schema_number};

/* ---- rows of numbers ----------------------------------------------------------------------- */

/* `direction`: a vector of any length. */
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

DECODE(decode_numbers)
{
    return get_numbers(value, at, (int)f->most, false, member_at(f, owner), error);
}

ENCODE(encode_numbers)
{
    return wire_numbers(member_of(f, owner), (int)f->most, context);
}

json_t *wire_schema_numbers(const wire_field *f)
{
    return json_pack("{ss s{ss} sI sI}", "type", "array", "items", "type", "number", "minItems",
                     (json_int_t)f->most, "maxItems", (json_int_t)f->most);
}

const wire_type wire_type_numbers = {decode_numbers, encode_numbers, wire_schema_numbers};

/* A vector is three consecutive doubles, a quaternion four: w x y z. */
_Static_assert(sizeof(gw_vec3) == 3 * sizeof(double) && offsetof(gw_vec3, z) == 16, "x y z");
_Static_assert(sizeof(gw_quat) == 4 * sizeof(double) && offsetof(gw_quat, w) == 0, "w x y z");

DECODE(decode_vec3)
{
    double n[3];
    if (!get_numbers(value, at, 3, false, n, error))
        return false;
    *(gw_vec3 *)member_at(f, owner) = gw_v3(n[0], n[1], n[2]);
    return true;
}

ENCODE(encode_vec3)
{
    const gw_vec3 *v = member_of(f, owner);
    return wire_numbers((const double[]){v->x, v->y, v->z}, 3, context);
}

static json_t *schema_vec3(const wire_field *f)
{
    return wire_schema_ref(f->type == QUAT ? "Quat" : "Vec3");
}

const wire_type wire_type_vec3 = {decode_vec3, encode_vec3, schema_vec3};

/* True for a length (`square`: its square) so close to 1 that the vector is kept bit by bit: a
 * scene that was written is read as the same scene. */
static bool is_unit(double square)
{
    return fabs(square - 1) <= 4 * DBL_EPSILON;
}

DECODE(decode_direction)
{
    double n[3];
    if (!get_numbers(value, at, 3, true, n, error))
        return false;
    gw_vec3 *direction = member_at(f, owner);
    *direction = gw_v3(n[0], n[1], n[2]);
    if (is_unit(gw_dot(*direction, *direction)))
        return true;
    /* scaled first, so that tiny and huge vectors keep their direction */
    double most = fmax(fabs(n[0]), fmax(fabs(n[1]), fabs(n[2])));
    if (!(most > 0))
        return wire_refuse(at, error, "%s: must not be zero", f->name);
    *direction = gw_unit(gw_v3(n[0] / most, n[1] / most, n[2] / most));
    return true;
}

const wire_type wire_type_direction = {decode_direction, encode_vec3, schema_vec3};

DECODE(decode_quat)
{
    double n[4];
    if (!get_numbers(value, at, 4, false, n, error))
        return false;
    gw_quat raw = {n[0], n[1], n[2], n[3]};
    double length = sqrt(gw_quat_dot(raw, raw));
    if (!(fabs(length - 1) <= 1e-6))
        return wire_refuse(at, error,
                           "a quaternion [w,x,y,z] of length %.9g, must be 1 within 1e-6", length);
    *(gw_quat *)member_at(f, owner) = is_unit(gw_quat_dot(raw, raw)) ? raw : gw_quat_unit(raw);
    return true;
}

ENCODE(encode_quat)
{
    const gw_quat *q = member_of(f, owner);
    return wire_numbers((const double[]){q->w, q->x, q->y, q->z}, 4, context);
}

const wire_type wire_type_quat = {decode_quat, encode_quat, schema_vec3};

/* ---- truth, text and choices --------------------------------------------------------------- */

DECODE(decode_boolean)
{
    if (!json_is_boolean(value))
        return wire_refuse(at, error, "%s: must be true or false", f->name);
    *(bool *)member_at(f, owner) = json_is_true(value);
    return true;
}

ENCODE(encode_boolean)
{
    return json_boolean(*(const bool *)member_of(f, owner));
}

json_t *wire_schema_boolean(const wire_field *f UNUSED)
{
    return json_pack("{ss}", "type", "boolean");
}

const wire_type wire_type_boolean = {decode_boolean, encode_boolean, wire_schema_boolean};

DECODE(decode_string)
{
    size_t length = json_string_length(value);
    if (!json_is_string(value))
        return wire_refuse(at, error, "%s: must be a string", f->name);
    if (length >= f->size || memchr(json_string_value(value), 0, length))
        return wire_refuse(at, error, "%s: must be at most %zu bytes without zeros", f->name,
                           f->size - 1);
    if (length == 0 && f->must)
        return wire_refuse(at, error, "%s", f->must);
    memcpy(member_at(f, owner), json_string_value(value), length + 1);
    return true;
}

ENCODE(encode_string)
{
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

ENCODE(encode_text)
{
    const char *text = *(const char *const *)member_of(f, owner);
    return json_string(text ? text : "");
}

const wire_type wire_type_text = {NULL, encode_text, wire_schema_string};

/* UTC, to the millisecond: 2026-03-01T12:00:00.000Z */
void wire_utc_text(int64_t ns, char out[WIRE_UTC])
{
    time_t seconds = (time_t)(ns / 1000000000);
    struct tm utc;
    gmtime_r(&seconds, &utc);
    size_t used = strftime(out, WIRE_UTC, "%Y-%m-%dT%H:%M:%S", &utc);
    snprintf(out + used, WIRE_UTC - used, ".%03dZ", (int)(ns / 1000000 % 1000));
}

ENCODE(encode_utc)
{
    char text[WIRE_UTC];
    wire_utc_text(*(const int64_t *)member_of(f, owner), text);
    return json_string(text);
}

const wire_type wire_type_utc = {NULL, encode_utc, wire_schema_string};

/* Splits "object/feature". */
DECODE(decode_feature_id)
{
    char text[GW_MAX_LINK_NAME + GW_MAX_ID + 2];
    const wire_field whole = {.name = f->name, .size = sizeof text};
    gw_feature_ref *ref = member_at(f, owner);
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

ENCODE(encode_feature_id)
{
    const gw_feature_ref *ref = member_of(f, owner);
    return json_sprintf("%s/%s", ref->object, ref->feature);
}

const wire_type wire_type_feature_id = {decode_feature_id, encode_feature_id, wire_schema_id};

const char *wire_choice_name(const wire_field *f, int i)
{
    return f->name_of ? f->name_of(i) : f->choices[i];
}

DECODE(decode_choice)
{
    const char *given = json_string_value(value); /* NULL where it is not a string */
    if (given && f->synonym && strcmp(given, f->synonym) == 0)
        given = wire_choice_name(f, f->synonym_of);
    for (int i = 0; given && wire_choice_name(f, i); i++) {
        if (strcmp(given, wire_choice_name(f, i)) != 0)
            continue;
        if (f->size == sizeof(bool))
            *(bool *)member_at(f, owner) = i == 1;
        else
            *(int *)member_at(f, owner) = i;
        return true;
    }
    if (f->must)
        return wire_refuse(at, error, "%s", f->must);
    char message[256];
    int n = snprintf(message, sizeof message, "must be one of");
    for (int i = 0; wire_choice_name(f, i) && n < (int)sizeof message; i++)
        n += snprintf(message + n, sizeof message - (size_t)n, "%s \"%s\"", i ? "," : "",
                      wire_choice_name(f, i));
    return wire_refuse(at, error, "%s: %s", f->name, message);
}

int wire_chosen(const wire_field *f, const void *owner)
{
    const void *at = member_of(f, owner);
    return f->size == sizeof(bool) ? *(const bool *)at : *(const int *)at;
}

ENCODE(encode_choice)
{
    return json_string(wire_choice_name(f, wire_chosen(f, owner)));
}

json_t *wire_schema_choice(const wire_field *f)
{
    if (!wire_choice_name(f, 1))
        return json_pack("{ss}", "const", wire_choice_name(f, 0));
    json_t *names = json_array();
    for (int i = 0; wire_choice_name(f, i); i++)
        json_array_append_new(names, json_string(wire_choice_name(f, i)));
    if (f->synonym)
        json_array_append_new(names, json_string(f->synonym));
    return json_pack("{ss so}", "type", "string", "enum", names);
}

const wire_type wire_type_choice = {decode_choice, encode_choice, wire_schema_choice};

/* ---- objects and lists --------------------------------------------------------------------- */

DECODE(decode_object)
{
    return wire_decode_at(f->table, value, at, member_at(f, owner), error);
}

ENCODE(encode_object)
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

/* The row of a list's entries. */
static wire_field item_of(const wire_field *f)
{
    wire_field item = f->item ? *f->item : an_object;
    if (f->table)
        item.table = f->table;
    return item;
}

/* The entry to be decoded next; NULL with an error when memory is short. */
static void *next_entry(const wire_field *f, void *owner, size_t i, gw_error *error)
{
    int *count = (int *)((char *)owner + f->count);
    void *array = f->type == LIST ? *(void **)member_at(f, owner) : member_at(f, owner);
    if (f->add)
        return f->add(owner, error);
    *count = (int)i + 1;
    return (char *)array + i * f->stride;
}

DECODE(decode_list)
{
    const wire_field item = item_of(f);
    size_t size = json_array_size(value);
    char where[WIRE_POINTER];
    wire_failed failed = {0};
    if (!json_is_array(value))
        return wire_refuse(at, error, "%s: must be an array", f->name);
    wire_path_text(at, where);
    if (size > f->most)
        return gw_fail(error, GW_TOO_LARGE, where, "%s: %zu entries, at most %zu are taken",
                       f->name, size, f->most);
    if (size < f->least && f->must)
        return wire_refuse(at, error, "%s: %s", f->name, f->must);
    if (f->type == LIST && !f->add) {
        void **array = member_at(f, owner);
        *array = calloc(size + 1, f->stride); /* one more, so that NULL means shortage */
        if (!*array)
            return gw_fail(error, GW_FAILED, where, "no memory for %s", f->name);
    }
    for (size_t i = 0; i < size; i++) {
        const wire_path entry = {.parent = at, .index = i};
        void *added = next_entry(f, owner, i, error);
        if (!added)
            return false;
        if (item.type->decode(&item, json_array_get(value, i), &entry, added, error))
            continue;
        if (!wire_goes_on(&failed, error))
            return false;
    }
    return !failed.any;
}

ENCODE(encode_list)
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

const wire_type wire_type_list = {decode_list, encode_list, wire_schema_list};
const wire_type wire_type_list_within = {decode_list, encode_list, wire_schema_list};

/* Two consecutive entries of the struct. */
DECODE(decode_pair)
{
    const wire_field item = item_of(f);
    if (!json_is_array(value) || json_array_size(value) != 2)
        return wire_refuse(at, error, "%s", f->must);
    for (size_t i = 0; i < 2; i++)
        if (!item.type->decode(&item, json_array_get(value, i),
                               &(wire_path){.parent = at, .index = i},
                               (char *)member_at(f, owner) + i * f->stride, error))
            return false;
    return true;
}

ENCODE(encode_pair)
{
    const wire_field item = item_of(f);
    const char *second = (const char *)member_of(f, owner) + f->stride;
    return json_pack("[oo]", item.type->encode(&item, member_of(f, owner), context),
                     item.type->encode(&item, second, context));
}

SCHEMA(schema_pair)
{
    wire_field two = *f;
    two.least = two.most = 2;
    return wire_schema_list(&two);
}

const wire_type wire_type_pair = {decode_pair, encode_pair, schema_pair};
