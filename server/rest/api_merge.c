/*
 * Merge patches of documents in which one member excludes another: a mass given by patch takes the
 * place of a density, a line that of a point, a held mechanism that of an object, another type of
 * geometry or operator that of all the old type's members. Apart from that it is RFC 7396.
 */
#include <string.h>

#include "server/rest/api_call.h"

static const char *const groups[][4] = {
    {"mass", "density", NULL}, {"point", "line", "plane", NULL}, {"object", "mechanism", NULL}};

static bool gives(const json_t *patch, const char *name)
{
    const json_t *value = json_object_get(patch, name);
    return value && !json_is_null(value);
}

static void drop_excluded(json_t *now, const json_t *patch, const char *const *group)
{
    bool given = false;
    for (int i = 0; group[i]; i++)
        given = given || gives(patch, group[i]);
    for (int i = 0; given && group[i]; i++)
        if (!gives(patch, group[i]))
            json_object_del(now, group[i]);
}

static bool other_type(const json_t *now, const json_t *patch)
{
    const char *old = json_string_value(json_object_get(now, "type"));
    const char *new = json_string_value(json_object_get(patch, "type"));
    return old && new &&strcmp(old, new) != 0;
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
    if (gives(patch, "object"))
        json_object_del(now, "link");
    drop_alternatives(json_object_get(now, "body"), json_object_get(patch, "body"));
}

json_t *api_merge(const api_call *call, json_t *now)
{
    drop_alternatives(now, call->body);
    json_t *merged = wire_merge(now, call->body);
    json_decref(now);
    if (!wire_memory_short())
        return merged;
    json_decref(merged); /* it may lack what nobody asked to remove */
    return NULL;
}
