/*
 * JSON text and single members. Any server thread; no state.
 */
#include "server/schema/wire_base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const wire_constraint_types[] = {"distance", "angle",         "coincident",
                                             "parallel", "perpendicular", NULL};
const char *const wire_senses[] = {"either", "same", "opposite", NULL};
const char *const wire_bounds[] = {"equal", "at-least", "at-most", NULL};

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

json_t *wire_parse(const char *text, size_t size, gw_error *error)
{
    if (size > GW_MAX_BODY_BYTES) {
        gw_fail(error, GW_TOO_LARGE, "", "%zu bytes of JSON, at most %u are taken", size,
                GW_MAX_BODY_BYTES);
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

/* ---- pointers ------------------------------------------------------------------------------ */

void wire_pointer(char out[WIRE_POINTER], const char *at, const char *name)
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

void wire_pointer_index(char out[WIRE_POINTER], const char *at, size_t index)
{
    snprintf(out, WIRE_POINTER, "%.160s/%zu", at, index);
}

static bool refuse(const char *at, const char *name, gw_error *error, const char *message)
{
    char where[WIRE_POINTER];
    wire_pointer(where, at, name);
    return gw_fail(error, GW_BAD_INPUT, where, "%s: %s", name, message);
}

bool wire_not_yet(const char *at, const char *name, const char *what, gw_error *error)
{
    char where[WIRE_POINTER];
    wire_pointer(where, at, name);
    return gw_fail(error, GW_NOT_YET, where, "%s: %s a later version", name, what);
}

/* ---- members ------------------------------------------------------------------------------- */

bool wire_only(const json_t *object, const char *at, const char *const *allowed, gw_error *error)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)object, name, value)
    {
        int i = 0;
        while (allowed[i] && strcmp(allowed[i], name) != 0)
            i++;
        if (allowed[i])
            continue;
        char list[256] = "", where[WIRE_POINTER];
        for (int k = 0; allowed[k]; k++) {
            size_t n = strlen(list);
            snprintf(list + n, sizeof list - n, "%s%s", k ? ", " : "", allowed[k]);
        }
        wire_pointer(where, at, name);
        return gw_fail(error, GW_BAD_INPUT, where, "unknown member \"%.60s\"; known are %s", name,
                       list);
    }
    return true;
}

bool wire_open(const json_t *value, const char *at, const char *const *allowed, gw_error *error)
{
    if (!json_is_object(value))
        return gw_fail(error, GW_BAD_INPUT, at, "must be an object");
    return wire_only(value, at, allowed, error);
}

bool wire_member(const json_t *object, const char *at, const char *name, wire_need need,
                 const json_t **member, gw_error *error)
{
    *member = json_object_get(object, name);
    if (!*member && need == WIRE_REQUIRED)
        return refuse(at, name, error, "is missing");
    return true;
}

/* What is wrong with a number, or NULL: what is made of those that are taken stays a number. */
static const char *too_large(double x, char message[96])
{
    if (fabs(x) <= GW_MAX_NUMBER)
        return NULL;
    snprintf(message, 96, "is %g, must be from %g to %g", x, -GW_MAX_NUMBER, GW_MAX_NUMBER);
    return message;
}

bool wire_number(const json_t *object, const char *at, const char *name, wire_need need,
                 double *out, gw_error *error)
{
    const json_t *m;
    if (!wire_member(object, at, name, need, &m, error))
        return false;
    if (!m)
        return true;
    if (!json_is_number(m))
        return refuse(at, name, error, "must be a number");
    *out = json_number_value(m);
    char message[96];
    const char *wrong = too_large(*out, message);
    return !wrong || refuse(at, name, error, wrong);
}

bool wire_whole(const json_t *object, const char *at, const char *name, wire_need need,
                long long low, long long high, long long *out, gw_error *error)
{
    double value = (double)*out;
    if (!wire_number(object, at, name, need, &value, error))
        return false;
    if (value == floor(value) && value >= (double)low && value <= (double)high) {
        *out = (long long)value;
        return true;
    }
    char message[96];
    snprintf(message, sizeof message, "is %g, must be a whole number from %lld to %lld", value, low,
             high);
    return refuse(at, name, error, message);
}

bool wire_bool(const json_t *object, const char *at, const char *name, bool *out, gw_error *error)
{
    const json_t *m = json_object_get(object, name);
    if (!m)
        return true;
    if (!json_is_boolean(m))
        return refuse(at, name, error, "must be true or false");
    *out = json_is_true(m);
    return true;
}

bool wire_string(const json_t *object, const char *at, const char *name, wire_need need, char *out,
                 size_t size, gw_error *error)
{
    const json_t *m;
    if (!wire_member(object, at, name, need, &m, error))
        return false;
    if (!m)
        return true;
    if (!json_is_string(m))
        return refuse(at, name, error, "must be a string");
    size_t length = json_string_length(m);
    if (length >= size || memchr(json_string_value(m), 0, length)) {
        char message[64];
        snprintf(message, sizeof message, "must be at most %zu bytes without zeros", size - 1);
        return refuse(at, name, error, message);
    }
    memcpy(out, json_string_value(m), length + 1);
    return true;
}

bool wire_id(const json_t *object, const char *at, const char *name, char out[GW_MAX_ID + 1],
             gw_error *error)
{
    const json_t *m;
    if (!wire_string(object, at, name, WIRE_OPTIONAL, out, GW_MAX_ID + 1, error) ||
        !wire_member(object, at, name, WIRE_OPTIONAL, &m, error))
        return false;
    return !m || out[0] ||
           refuse(at, name, error, "must match [A-Za-z0-9_.:+-]{1,64}, or be left out");
}

bool wire_choice(const json_t *object, const char *at, const char *name, wire_need need,
                 const char *const *names, int *out, gw_error *error)
{
    const json_t *m;
    if (!wire_member(object, at, name, need, &m, error))
        return false;
    if (!m)
        return true;
    for (int i = 0; json_is_string(m) && names[i]; i++) {
        if (strcmp(json_string_value(m), names[i]) == 0) {
            *out = i;
            return true;
        }
    }
    char message[256];
    int n = snprintf(message, sizeof message, "must be one of");
    for (int i = 0; names[i] && n < (int)sizeof message; i++)
        n += snprintf(message + n, sizeof message - (size_t)n, "%s \"%s\"", i ? "," : "", names[i]);
    return refuse(at, name, error, message);
}

bool wire_array(const json_t *object, const char *at, const char *name, wire_need need, size_t most,
                const json_t **out, gw_error *error)
{
    if (!wire_member(object, at, name, need, out, error))
        return false;
    if (!*out)
        return true;
    if (!json_is_array(*out))
        return refuse(at, name, error, "must be an array");
    if (json_array_size(*out) <= most)
        return true;
    char where[WIRE_POINTER];
    wire_pointer(where, at, name);
    return gw_fail(error, GW_TOO_LARGE, where, "%s: %zu entries, at most %zu are taken", name,
                   json_array_size(*out), most);
}

/* ---- vectors and poses --------------------------------------------------------------------- */

/* `direction`: of any length. */
static bool get_numbers(const json_t *value, const char *at, int count, bool direction, double *out,
                        gw_error *error)
{
    if (!json_is_array(value) || json_array_size(value) != (size_t)count)
        return gw_fail(error, GW_BAD_INPUT, at, "must be an array of %d numbers", count);
    for (int i = 0; i < count; i++) {
        const json_t *n = json_array_get(value, (size_t)i);
        out[i] = json_number_value(n);
        char where[WIRE_POINTER], message[96];
        wire_pointer_index(where, at, (size_t)i);
        if (!json_is_number(n) || !isfinite(out[i]))
            return gw_fail(error, GW_BAD_INPUT, where, "must be a finite number");
        const char *wrong = direction ? NULL : too_large(out[i], message);
        if (wrong)
            return gw_fail(error, GW_BAD_INPUT, where, "%s", wrong);
    }
    return true;
}

bool wire_numbers(const json_t *value, const char *at, int count, double *out, gw_error *error)
{
    return get_numbers(value, at, count, false, out, error);
}

bool wire_get_vec3(const json_t *value, const char *at, gw_vec3 *v, gw_error *error)
{
    double n[3];
    if (!wire_numbers(value, at, 3, n, error))
        return false;
    *v = gw_v3(n[0], n[1], n[2]);
    return true;
}

bool wire_get_quat(const json_t *value, const char *at, gw_quat *q, gw_error *error)
{
    double n[4];
    if (!wire_numbers(value, at, 4, n, error))
        return false;
    gw_quat raw = {n[0], n[1], n[2], n[3]};
    double length = sqrt(gw_quat_dot(raw, raw));
    if (!(fabs(length - 1) <= 1e-6))
        return gw_fail(error, GW_BAD_INPUT, at,
                       "a quaternion [w,x,y,z] of length %.9g, must be 1 within 1e-6", length);
    *q = gw_quat_unit(raw);
    return true;
}

bool wire_get_pose(const json_t *value, const char *at, gw_pose *pose, gw_error *error)
{
    static const char *const allowed[] = {"p", "q", NULL};
    *pose = gw_pose_identity();
    if (!wire_open(value, at, allowed, error))
        return false;
    char where[WIRE_POINTER];
    const json_t *q = json_object_get(value, "q");
    wire_pointer(where, at, "q");
    if (q && !wire_get_quat(q, where, &pose->q, error))
        return false;
    return wire_vec3_member(value, at, "p", WIRE_OPTIONAL, &pose->p, error);
}

bool wire_vec3_member(const json_t *object, const char *at, const char *name, wire_need need,
                      gw_vec3 *out, gw_error *error)
{
    const json_t *m;
    if (!wire_member(object, at, name, need, &m, error))
        return false;
    char where[WIRE_POINTER];
    wire_pointer(where, at, name);
    return !m || wire_get_vec3(m, where, out, error);
}

bool wire_direction_member(const json_t *object, const char *at, const char *name, wire_need need,
                           gw_vec3 *out, gw_error *error)
{
    const json_t *m;
    double n[3];
    if (!wire_member(object, at, name, need, &m, error))
        return false;
    if (!m)
        return true;
    char where[WIRE_POINTER];
    wire_pointer(where, at, name);
    if (!get_numbers(m, where, 3, true, n, error))
        return false;
    *out = gw_v3(n[0], n[1], n[2]);
    /* scaled first, so that neither tiny nor huge vectors lose their length to rounding */
    double most = fmax(fabs(out->x), fmax(fabs(out->y), fabs(out->z)));
    if (!(most > 0))
        return refuse(at, name, error, "must not be zero");
    *out = gw_unit(gw_v3(out->x / most, out->y / most, out->z / most));
    return true;
}

bool wire_pose_member(const json_t *object, const char *at, const char *name, gw_pose *out,
                      gw_error *error)
{
    const json_t *m = json_object_get(object, name);
    char where[WIRE_POINTER];
    wire_pointer(where, at, name);
    return !m || wire_get_pose(m, where, out, error);
}

void wire_add(json_t *object, const char *name, json_t *value)
{
    json_object_set_new(object, name, value);
}

json_t *wire_vec3(gw_vec3 v)
{
    return json_pack("[fff]", v.x, v.y, v.z);
}

json_t *wire_quat(gw_quat q)
{
    return json_pack("[ffff]", q.w, q.x, q.y, q.z);
}

json_t *wire_pose(const gw_pose *pose)
{
    return json_pack("{so so}", "p", wire_vec3(pose->p), "q", wire_quat(pose->q));
}

/* ---- elements ------------------------------------------------------------------------------ */

/* {"point", "direction" or "normal"}: the vector of any length but zero, normalised. */
static bool get_directed(const json_t *value, const char *at, const char *vector, gw_element *e,
                         gw_error *error)
{
    const char *const allowed[] = {"point", vector, NULL};
    return wire_open(value, at, allowed, error) &&
           wire_vec3_member(value, at, "point", WIRE_REQUIRED, &e->p, error) &&
           wire_direction_member(value, at, vector, WIRE_REQUIRED, &e->d, error);
}

bool wire_get_element(const json_t *object, const char *at, gw_element *e, gw_error *error)
{
    const json_t *point = json_object_get(object, "point");
    const json_t *line = json_object_get(object, "line");
    const json_t *plane = json_object_get(object, "plane");
    if (!point + !line + !plane != 2)
        return gw_fail(error, GW_BAD_INPUT, at,
                       "must have one of \"point\", \"line\" and \"plane\"");
    char where[WIRE_POINTER];
    *e = (gw_element){point ? GW_POINT : line ? GW_LINE : GW_PLANE, {0, 0, 0}, {0, 0, 0}};
    wire_pointer(where, at, gw_element_kind_name(e->kind));
    if (point)
        return wire_get_vec3(point, where, &e->p, error);
    return line ? get_directed(line, where, "direction", e, error)
                : get_directed(plane, where, "normal", e, error);
}

json_t *wire_element(const gw_element *e)
{
    if (e->kind == GW_POINT)
        return json_pack("{so}", "point", wire_vec3(e->p));
    bool line = e->kind == GW_LINE;
    return json_pack("{s{so so}}", line ? "line" : "plane", "point", wire_vec3(e->p),
                     line ? "direction" : "normal", wire_vec3(e->d));
}
