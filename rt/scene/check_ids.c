/*
 * Checks of a scene's ids: well formed, and unique within their collections. Not for use in a tick.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/scene/scene.h"

/* An id with its index, so that duplicates are found by sorting: scenes have thousands. */
typedef struct entry {
    const char *id, *second;
    int index;
} entry;

static int compare_entries(const void *a, const void *b)
{
    const entry *x = a, *y = b;
    int order = strcmp(x->id, y->id);
    if (order == 0 && x->second)
        order = strcmp(x->second, y->second);
    return order ? order : x->index - y->index;
}

static bool same_entry(const entry *x, const entry *y)
{
    return strcmp(x->id, y->id) == 0 && (!x->second || strcmp(x->second, y->second) == 0);
}

/* These functions return true once the list is full. */
static bool list_duplicates(entry *entries, int count, const char *collection, gw_error_list *list)
{
    qsort(entries, (size_t)count, sizeof *entries, compare_entries);
    for (int i = 1, first = 0; i < count; i++) {
        if (!same_entry(&entries[first], &entries[i])) {
            first = i;
            continue;
        }
        const entry *e = &entries[i];
        char where[64];
        snprintf(where, sizeof where, "/%s/%d/id", collection, e->index);
        if (gw_count_error(list,
                           gw_fail(gw_next_error(list), GW_CONFLICT, where,
                                   "the id %s%s%s is taken by /%s/%d", e->id, e->second ? "/" : "",
                                   e->second ? e->second : "", collection, entries[first].index)))
            return true;
    }
    return false;
}

static bool check_id(const char *id, const char *collection, int index, gw_error *error)
{
    if (gw_id_valid(id))
        return true;
    char where[64];
    snprintf(where, sizeof where, "/%s/%d/id", collection, index);
    return gw_fail(error, GW_BAD_INPUT, where,
                   "the id \"%s\" must be 1 to %d of the characters A-Z a-z 0-9 _ . : + -", id,
                   GW_MAX_ID);
}

/* An id must not be the name "mechanism.link" of a link. */
static bool check_not_link(const gw_scene *s, const char *id, const char *collection, int index,
                           gw_error *error)
{
    int link, mechanism = gw_scene_link(s, id, &link);
    return mechanism < 0 || gw_scene_invalid(error, collection, index, "/id",
                                             "\"%s\" is the name of link %d of mechanism %s", id,
                                             link, s->mechanisms[mechanism].id);
}

/* Objects and mechanisms share one set of ids. */
static bool check_mechanism_id(const gw_scene *s, int index, gw_error *error)
{
    const char *id = s->mechanisms[index].id;
    char where[64];
    int object = gw_scene_object(s, id), first = gw_scene_mechanism(s, id);
    snprintf(where, sizeof where, "/mechanisms/%d/id", index);
    if (!check_id(id, "mechanisms", index, error))
        return false;
    if (object >= 0 || first < index)
        return gw_fail(error, GW_CONFLICT, where, "the id %s is taken by /%s/%d", id,
                       object >= 0 ? "objects" : "mechanisms", object >= 0 ? object : first);
    return check_not_link(s, id, "mechanisms", index, error);
}

/* The ids of a collection whose entries begin with them. */
static bool list_collection(entry *entries, const void *array, int count, size_t size,
                            const char *collection, gw_error_list *list)
{
    for (int i = 0; i < count; i++) {
        const char *id = (const char *)array + (size_t)i * size;
        if (gw_count_error(list, check_id(id, collection, i, gw_next_error(list))))
            return true;
        entries[i] = (entry){id, NULL, i};
    }
    return list_duplicates(entries, count, collection, list);
}

static bool list_features(const gw_scene *s, entry *entries, gw_error_list *list)
{
    for (int i = 0; i < s->feature_count; i++) {
        const gw_feature *f = &s->features[i];
        if (gw_count_error(list, check_id(f->name, "features", i, gw_next_error(list))))
            return true;
        entries[i] = (entry){f->object, f->name, i};
    }
    return list_duplicates(entries, s->feature_count, "features", list);
}

/* The names of links, by which gears and columns name the links' joints too, belong to no object
 * and no joint. */
static void list_links(const gw_scene *s, gw_error_list *list)
{
    for (int i = 0; i < s->mechanism_count; i++)
        if (gw_count_error(list, check_mechanism_id(s, i, gw_next_error(list))))
            return;
    if (s->mechanism_count == 0)
        return;
    for (int i = 0; i < s->object_count; i++)
        if (gw_count_error(list,
                           check_not_link(s, s->objects[i].id, "objects", i, gw_next_error(list))))
            return;
    for (int i = 0; i < s->joint_count; i++)
        if (gw_count_error(list,
                           check_not_link(s, s->joints[i].id, "joints", i, gw_next_error(list))))
            return;
}

void gw_scene_check_ids(const gw_scene *s, gw_error_list *list)
{
    int most = 1;
#define LARGEST(name, type, cap, id) most = s->name##_count > most ? s->name##_count : most;
    GW_SCENE_ARRAYS(LARGEST)
    entry *entries = calloc((size_t)most, sizeof *entries);
    if (!entries) {
        gw_count_error(list,
                       gw_fail(gw_next_error(list), GW_FAILED, "", "no memory to check the scene"));
        return;
    }
    bool full = false;
#define IDS(name, type, cap, id)                                                                   \
    full = full || ((id) && list_collection(entries, s->name##s, s->name##_count, sizeof(type),    \
                                            #name "s", list));
    GW_SCENE_ARRAYS(IDS)
    full = full || list_features(s, entries, list);
    free(entries);
    if (!full)
        list_links(s, list);
}
