/*
 * Devices and their operators, both ways. Any server thread; no state.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/schema/wire_base.h"

/* ---- operators ----------------------------------------------------------------------------- */

/* `t` of entry i: not negative and not before the one before it. */
static bool get_time(const json_t *entry, const char *at, double before, double *t, gw_error *error)
{
    if (!wire_number(entry, at, "t", WIRE_REQUIRED, t, error))
        return false;
    char where[WIRE_POINTER];
    wire_pointer(where, at, "t");
    return *t >= before ||
           gw_fail(error, GW_BAD_INPUT, where, "t: is %g s, must be %g s or later", *t, before);
}

static bool get_sample(const json_t *v, const char *at, double before, gw_wrench_sample *s,
                       gw_error *error)
{
    static const char *const allowed[] = {"t", "force", "torque", NULL};
    return wire_open(v, at, allowed, error) && get_time(v, at, before, &s->t, error) &&
           wire_vec3_member(v, at, "force", WIRE_OPTIONAL, &s->wrench.f, error) &&
           wire_vec3_member(v, at, "torque", WIRE_OPTIONAL, &s->wrench.t, error);
}

static bool get_knot(const json_t *v, const char *at, double before, gw_hand_knot *k,
                     gw_error *error)
{
    static const char *const allowed[] = {"t", "p", "q", NULL};
    k->pose = gw_pose_identity();
    if (!wire_open(v, at, allowed, error) || !get_time(v, at, before, &k->t, error) ||
        !wire_vec3_member(v, at, "p", WIRE_REQUIRED, &k->pose.p, error))
        return false;
    const json_t *q = json_object_get(v, "q");
    char where[WIRE_POINTER];
    wire_pointer(where, at, "q");
    return !q || wire_get_quat(q, where, &k->pose.q, error);
}

/* The array of samples or knots; memory is taken for `size` bytes an entry. */
static bool open_list(const json_t *v, const char *at, const char *name, size_t size,
                      const json_t **list, void **entries, int *count, gw_error *error)
{
    if (!wire_array(v, at, name, WIRE_REQUIRED, GW_MAX_SAMPLES, list, error))
        return false;
    *count = (int)json_array_size(*list);
    *entries = calloc((size_t)*count + 1, size);
    return *entries || gw_fail(error, GW_FAILED, at, "no memory for an operator");
}

static bool get_wrench_operator(const json_t *v, const char *at, gw_operator *o, gw_error *error)
{
    static const char *const allowed[] = {"type", "samples", NULL};
    const json_t *list;
    void *entries;
    if (!wire_open(v, at, allowed, error) ||
        !open_list(v, at, "samples", sizeof *o->samples, &list, &entries, &o->count, error))
        return false;
    o->samples = entries;
    double before = 0;
    for (int i = 0; i < o->count; i++) {
        char array[WIRE_POINTER], where[WIRE_POINTER];
        wire_pointer(array, at, "samples");
        wire_pointer_index(where, array, (size_t)i);
        if (!get_sample(json_array_get(list, (size_t)i), where, before, &o->samples[i], error))
            return false;
        before = o->samples[i].t;
    }
    return true;
}

/* A positive number, where it is given. */
static bool get_positive(const json_t *v, const char *at, const char *name, double *out,
                         gw_error *error)
{
    if (!wire_number(v, at, name, WIRE_OPTIONAL, out, error))
        return false;
    char where[WIRE_POINTER];
    wire_pointer(where, at, name);
    return *out >= 0 || gw_fail(error, GW_BAD_INPUT, where,
                                "%s: is %g, must be 0 (default) or more", name, *out);
}

static bool get_hand_operator(const json_t *v, const char *at, gw_operator *o, gw_error *error)
{
    static const char *const allowed[] = {
        "type", "mass", "stiffness", "damping", "stiffness_angular", "damping_angular",
        "path", NULL};
    const json_t *list;
    void *entries;
    if (!wire_open(v, at, allowed, error) || !get_positive(v, at, "mass", &o->mass, error) ||
        !get_positive(v, at, "stiffness", &o->stiffness, error) ||
        !get_positive(v, at, "damping", &o->damping, error) ||
        !get_positive(v, at, "stiffness_angular", &o->stiffness_angular, error) ||
        !get_positive(v, at, "damping_angular", &o->damping_angular, error) ||
        !open_list(v, at, "path", sizeof *o->path, &list, &entries, &o->count, error))
        return false;
    o->path = entries;
    double before = 0;
    for (int i = 0; i < o->count; i++) {
        char array[WIRE_POINTER], where[WIRE_POINTER];
        wire_pointer(array, at, "path");
        wire_pointer_index(where, array, (size_t)i);
        if (!get_knot(json_array_get(list, (size_t)i), where, before, &o->path[i], error))
            return false;
        before = o->path[i].t;
    }
    return true;
}

bool wire_get_operator(const json_t *v, const char *at, gw_operator *o, gw_error *error)
{
    static const char *const types[] = {"none", "wrench", "hand", NULL};
    static const char *const none[] = {"type", NULL};
    int type = 0;
    *o = (gw_operator){0};
    if (!json_is_object(v))
        return gw_fail(error, GW_BAD_INPUT, at, "must be an object");
    if (!wire_choice(v, at, "type", WIRE_REQUIRED, types, &type, error))
        return false;
    o->kind = (gw_operator_kind)type;
    bool ok = type == GW_OPERATOR_WRENCH ? get_wrench_operator(v, at, o, error)
              : type == GW_OPERATOR_HAND ? get_hand_operator(v, at, o, error)
                                         : wire_open(v, at, none, error);
    if (!ok)
        gw_operator_finish(o);
    return ok;
}

json_t *wire_operator(const gw_operator *o)
{
    if (o->kind == GW_OPERATOR_NONE)
        return json_pack("{ss}", "type", "none");
    json_t *list = json_array();
    if (o->kind == GW_OPERATOR_WRENCH) {
        for (int i = 0; i < o->count; i++)
            json_array_append_new(list, json_pack("{sf so so}", "t", o->samples[i].t, "force",
                                                  wire_vec3(o->samples[i].wrench.f), "torque",
                                                  wire_vec3(o->samples[i].wrench.t)));
        return json_pack("{ss so}", "type", "wrench", "samples", list);
    }
    for (int i = 0; i < o->count; i++)
        json_array_append_new(list, json_pack("{sf so so}", "t", o->path[i].t, "p",
                                              wire_vec3(o->path[i].pose.p), "q",
                                              wire_quat(o->path[i].pose.q)));
    return json_pack("{ss sf sf sf sf sf so}", "type", "hand", "mass", o->mass, "stiffness",
                     o->stiffness, "damping", o->damping, "stiffness_angular", o->stiffness_angular,
                     "damping_angular", o->damping_angular, "path", list);
}

/* ---- devices ------------------------------------------------------------------------------- */

/* Numbers by name, and "profile". What the driver makes of them is checked with the scene. */
static bool get_settings(const json_t *device, const char *at, gw_device *d, gw_error *error)
{
    json_t *settings = json_object_get(device, "settings");
    char where[WIRE_POINTER];
    wire_pointer(where, at, "settings");
    if (!settings)
        return true;
    if (!json_is_object(settings))
        return gw_fail(error, GW_BAD_INPUT, where, "must be an object");
    const char *name;
    json_t *value;
    json_object_foreach(settings, name, value)
    {
        if (strcmp(name, "profile") == 0) {
            if (!wire_string(settings, where, "profile", WIRE_REQUIRED, d->profile,
                             sizeof d->profile, error))
                return false;
            continue;
        }
        if (d->setting_count == GW_MAX_SETTINGS || strlen(name) >= sizeof d->settings[0].name)
            return gw_fail(error, GW_TOO_LARGE, where,
                           "at most %d settings with names below %zu "
                           "characters",
                           GW_MAX_SETTINGS, sizeof d->settings[0].name);
        gw_setting *s = &d->settings[d->setting_count++];
        memcpy(s->name, name, strlen(name) + 1);
        if (!wire_number(settings, where, name, WIRE_REQUIRED, &s->value, error))
            return false;
    }
    return true;
}

bool wire_get_device(const json_t *v, const char *at, gw_device *d, gw_error *error)
{
    static const char *const allowed[] = {"id", "driver", "profile", "settings", "operator", NULL};
    *d = (gw_device){0};
    if (!wire_open(v, at, allowed, error) ||
        !wire_string(v, at, "id", WIRE_REQUIRED, d->id, sizeof d->id, error) ||
        !wire_string(v, at, "driver", WIRE_REQUIRED, d->driver, sizeof d->driver, error) ||
        !wire_string(v, at, "profile", WIRE_OPTIONAL, d->profile, sizeof d->profile, error) ||
        !get_settings(v, at, d, error))
        return false;
    const json_t *o = json_object_get(v, "operator");
    char where[WIRE_POINTER];
    wire_pointer(where, at, "operator");
    return !o || wire_get_operator(o, where, &d->operator, error);
}

json_t *wire_device(const gw_device *d)
{
    json_t *settings = json_object();
    if (d->profile[0])
        json_object_set_new(settings, "profile", json_string(d->profile));
    for (int i = 0; i < d->setting_count; i++)
        json_object_set_new(settings, d->settings[i].name, json_real(d->settings[i].value));
    return json_pack("{ss ss so so}", "id", d->id, "driver", d->driver, "settings", settings,
                     "operator", wire_operator(&d->operator));
}
