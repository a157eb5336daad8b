/*
 * Documents: a scene, its layout, and their texts, which the stream sends and the database stores.
 * The texts of the scene are written with the document, those of solutions at the first reading;
 * entries that an edit did not change share the text of the document before.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/app/describe.h"
#include "server/app/diff.h"
#include "server/app/private.h"
#include "server/schema/wire.h"

#define PARTS 24 /* members of a scene file */

struct app_texts {
    int part_count;
    app_part parts[PARTS]; /* in the order of the scene file */
    size_t bytes;          /* of the scene as text */
    int written;           /* entries of long lists that are not shared with `base` */

    pthread_mutex_t lock; /* protects the members below */
    gw_text *whole;       /* NULL: not read yet */
    gw_text **solutions;  /* by placement of the layout; NULL: not written yet */
};

/* ---- life ---------------------------------------------------------------------------------- */

static app_texts *texts_create(int placements)
{
    app_texts *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    t->solutions = calloc((size_t)placements + 1, sizeof *t->solutions);
    return t;
}

static void release_texts(gw_text **list, int count)
{
    for (int i = 0; list && i < count; i++)
        text_unref(list[i]);
    free(list);
}

static void texts_destroy(app_document *document)
{
    app_texts *t = document->texts;
    if (!t)
        return;
    for (int i = 0; i < t->part_count; i++)
        release_texts(t->parts[i].texts, t->parts[i].count);
    release_texts(t->solutions, document->layout->count);
    text_unref(t->whole);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static void document_free(app_document *document)
{
    texts_destroy(document);
    gw_layout_destroy(document->layout);
    gw_layout_destroy(document->opening);
    gw_scene_destroy(document->scene);
    free(document->moving);
    free(document);
}

void app_document_put(app_document *document)
{
    if (document && atomic_fetch_sub(&document->refs, 1) == 1)
        document_free(document);
}

static bool list_moving(app_document *document)
{
    const gw_scene *scene = document->scene;
    document->link_count = gw_scene_joints(scene);
    document->moving = calloc((size_t)scene->object_count + 1, sizeof *document->moving);
    if (!document->moving)
        return false;
    for (int i = 0; i < scene->object_count; i++)
        if (!scene->objects[i].fixed)
            document->moving[document->moving_count++] = i;
    return true;
}

app_document *app_document_new(gw_scene *scene, gw_layout *layout, gw_error *error)
{
    assert(scene && layout);
    app_document *document = calloc(1, sizeof *document);
    if (!document) {
        gw_layout_destroy(layout);
        gw_scene_destroy(scene);
        gw_fail(error, GW_FAILED, "", "memory is short for this scene");
        return NULL;
    }
    atomic_init(&document->refs, 1);
    document->scene = scene;
    document->layout = layout;
    document->texts = texts_create(layout->count);
    if (!list_moving(document) || !document->texts || !document->texts->solutions) {
        gw_fail(error, GW_FAILED, "", "memory is short for this scene");
        document_free(document);
        return NULL;
    }
    return document;
}

static json_t *index_of(const app_document *document)
{
    json_t *index = json_array();
    for (int i = 0; i < document->moving_count; i++)
        json_array_append_new(index, json_string(document->scene->objects[document->moving[i]].id));
    for (int i = 0; i < document->scene->mechanism_count; i++)
        for (int k = 0; k < document->scene->mechanisms[i].link_count; k++)
            json_array_append_new(index,
                                  json_sprintf("%s.%d", document->scene->mechanisms[i].id, k));
    return index;
}

/* ---- the scene's members --------------------------------------------------------------------- */

/* Long lists, whose entries are compared one by one before they are written; the other members are
 * short. */
typedef struct long_list {
    const char *name;
    size_t entries_at, count_at, size; /* in gw_scene, and of an entry */
    json_t *(*encode)(const void *entry);
    bool (*same)(const void *a, const void *b);
} long_list;

static json_t *encode_object(const void *entry)
{
    return wire_object(entry);
}

static json_t *encode_feature(const void *entry)
{
    return wire_feature(entry);
}

static json_t *encode_constraint(const void *entry)
{
    return wire_constraint(entry);
}

static bool same_object(const void *a, const void *b)
{
    return strcmp(((const gw_object *)a)->id, ((const gw_object *)b)->id) == 0 &&
           app_same_object(a, b);
}

static bool same_feature(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(gw_feature)) == 0;
}

static bool same_constraint(const void *a, const void *b)
{
    return memcmp(a, b, sizeof(gw_scene_constraint)) == 0;
}

static const long_list long_lists[] = {
    {"objects", offsetof(gw_scene, objects), offsetof(gw_scene, object_count), sizeof(gw_object),
     encode_object, same_object},
    {"features", offsetof(gw_scene, features), offsetof(gw_scene, feature_count),
     sizeof(gw_feature), encode_feature, same_feature},
    {"constraints", offsetof(gw_scene, constraints), offsetof(gw_scene, constraint_count),
     sizeof(gw_scene_constraint), encode_constraint, same_constraint}};

#define LONG_LISTS ((int)(sizeof long_lists / sizeof long_lists[0]))

static const long_list *long_list_of(const char *name)
{
    for (int i = 0; i < LONG_LISTS; i++)
        if (strcmp(long_lists[i].name, name) == 0)
            return &long_lists[i];
    return NULL;
}

static int count_of(const long_list *l, const gw_scene *scene)
{
    int count;
    memcpy(&count, (const char *)scene + l->count_at, sizeof count);
    return count;
}

static const char *entries_of(const long_list *l, const gw_scene *scene)
{
    const char *entries;
    memcpy(&entries, (const char *)scene + l->entries_at, sizeof entries);
    return entries;
}

static const app_part *part_of(const app_document *document, const char *name)
{
    const app_texts *t = document->texts;
    for (int i = 0; i < t->part_count; i++)
        if (strcmp(t->parts[i].name, name) == 0)
            return &t->parts[i];
    return NULL;
}

/* The text of entry `i` in `base`, where the same entry has the same index there, counted from the
 * front or from the end; else NULL. */
static gw_text *text_before(const long_list *l, const app_document *base, const gw_scene *scene,
                            int i)
{
    const app_part *part = base ? part_of(base, l->name) : NULL;
    int before = part ? part->count : 0;
    int candidates[] = {i, i + before - count_of(l, scene)};
    const char *entry = entries_of(l, scene) + (size_t)i * l->size;
    for (int k = 0; k < 2; k++) {
        int at = candidates[k];
        if (at >= 0 && at < before &&
            l->same(entries_of(l, base->scene) + (size_t)at * l->size, entry))
            return text_ref(part->texts[at]);
    }
    return NULL;
}

static bool write_long_list(app_part *part, const long_list *l, const gw_scene *scene,
                            const app_document *base, int *fresh)
{
    int count = count_of(l, scene);
    bool written = true;
    part->list = true;
    part->texts = calloc((size_t)count + 1, sizeof *part->texts);
    part->count = part->texts ? count : 0;
    for (int i = 0; written && i < part->count; i++) {
        part->texts[i] = text_before(l, base, scene, i);
        if (!part->texts[i]) {
            part->texts[i] = wire_text(l->encode(entries_of(l, scene) + (size_t)i * l->size));
            ++*fresh;
        }
        written = part->texts[i] != NULL;
    }
    return written && part->texts;
}

static bool write_value(app_part *part, json_t *value)
{
    bool written = true;
    part->list = json_is_array(value) && json_is_object(json_array_get(value, 0));
    int count = part->list ? (int)json_array_size(value) : 1;
    part->texts = calloc((size_t)count + 1, sizeof *part->texts);
    part->count = part->texts ? count : 0;
    for (int i = 0; written && i < part->count; i++) {
        json_t *entry = part->list ? json_array_get(value, (size_t)i) : value;
        part->texts[i] = wire_text(json_incref(entry));
        written = part->texts[i] != NULL;
    }
    return written && part->texts;
}

/* Writes all members; long lists are excluded from the encoding of the whole scene. */
static bool write_parts(app_document *document, const app_document *base)
{
    app_texts *t = document->texts;
    gw_scene bare = *document->scene;
    bool written = true;
    const char *name;
    json_t *value;
    bare.object_count = bare.feature_count = bare.constraint_count = 0;
    json_t *members = wire_scene(&bare);
    if (wire_memory_short() || !members) {
        json_decref(members);
        return false;
    }
    json_object_foreach(members, name, value)
    {
        const long_list *l = long_list_of(name);
        assert(t->part_count < PARTS && strlen(name) < sizeof t->parts[0].name);
        app_part *part = &t->parts[t->part_count++];
        strcpy(part->name, name);
        written = l ? write_long_list(part, l, document->scene, base, &t->written)
                    : write_value(part, value);
        if (!written)
            break;
    }
    json_decref(members);
    for (int i = 0; written && i < LONG_LISTS; i++)
        assert(part_of(document, long_lists[i].name)); /* written also where the list is empty */
    return written;
}

static size_t total_size(gw_text *const *list, int count)
{
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += list[i]->size + 1; /* and a comma */
    return size;
}

bool app_document_write(app_document *document, const app_document *base, gw_error *error)
{
    assert(document && document->texts && document->texts->part_count == 0);
    app_texts *t = document->texts;
    if (!write_parts(document, base))
        return gw_fail(error, GW_FAILED, "", "memory is short for this scene");
    t->bytes = 2;
    for (int i = 0; i < t->part_count; i++)
        t->bytes += strlen(t->parts[i].name) + 6 + total_size(t->parts[i].texts, t->parts[i].count);
    return t->bytes <= GW_MAX_DOCUMENT_BYTES ||
           gw_fail(error, GW_TOO_LARGE, "", "the scene would have %zu bytes as text, at most %u",
                   t->bytes, GW_MAX_DOCUMENT_BYTES);
}

size_t app_document_bytes(const app_document *document)
{
    return document->texts->bytes;
}

int app_document_written(const app_document *document)
{
    return document->texts->written;
}

const app_part *app_document_parts(const app_document *document, int *count)
{
    *count = document->texts->part_count;
    return document->texts->parts;
}

gw_text *app_document_entry(const app_document *document, const char *list, int index)
{
    const app_part *part = part_of(document, list);
    assert(part && index >= 0 && index < part->count);
    return text_ref(part->texts[index]);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static char *append_bytes(char *at, const char *data, size_t size)
{
    memcpy(at, data, size);
    return at + size;
}

static char *put_string(char *at, const char *text)
{
    return append_bytes(at, text, strlen(text));
}

/* Writes the texts with commas between them. */
static char *put_all(char *at, gw_text *const *list, int count)
{
    for (int i = 0; i < count; i++) {
        if (i > 0)
            *at++ = ',';
        at = append_bytes(at, list[i]->data, list[i]->size);
    }
    return at;
}

static char *put_scene(char *at, const app_texts *t)
{
    *at++ = '{';
    for (int i = 0; i < t->part_count; i++) {
        const app_part *part = &t->parts[i];
        at = put_string(put_string(at, i > 0 ? ",\"" : "\""), part->name);
        at = put_all(put_string(at, part->list ? "\":[" : "\":"), part->texts, part->count);
        if (part->list)
            *at++ = ']';
    }
    *at++ = '}';
    return at;
}

gw_text *app_document_scene(const app_document *document)
{
    assert(document && document->texts);
    gw_text *text = text_new(document->texts->bytes);
    if (!text)
        return NULL;
    char *end = put_scene(text->data, document->texts);
    *end = 0;
    text->size = (size_t)(end - text->data);
    return text;
}

static bool write_solutions(const app_document *document)
{
    const gw_layout *layout = document->layout;
    app_texts *t = document->texts;
    bool written = true;
    for (int i = 0; written && i < layout->count; i++) {
        const gw_placement *placement = layout->placements[i];
        if (!t->solutions[i])
            t->solutions[i] = wire_text(describe_solution(document->scene, layout, placement,
                                                          &layout->poses[placement->object]));
        written = t->solutions[i] != NULL;
    }
    return written;
}

static gw_text *join_texts(const app_document *document, const gw_text *index)
{
    const app_texts *t = document->texts;
    int placements = document->layout->count;
    char head[64], tail[64];
    snprintf(head, sizeof head,
             "\"revision\":%llu,\"scene\":", (unsigned long long)document->revision);
    snprintf(tail, sizeof tail, ",\"undo\":%s,\"redo\":%s", document->undo ? "true" : "false",
             document->redo ? "true" : "false");
    gw_text *whole = text_new(strlen(head) + t->bytes + total_size(t->solutions, placements) +
                              index->size + strlen(tail) + 32);
    if (!whole)
        return NULL;
    char *at = put_scene(put_string(whole->data, head), t);
    at = put_all(put_string(at, ",\"solutions\":["), t->solutions, placements);
    at = append_bytes(put_string(at, "],\"index\":"), index->data, index->size);
    at = put_string(at, tail);
    *at = 0;
    whole->size = (size_t)(at - whole->data);
    return whole;
}

static gw_text *write_whole(const app_document *document)
{
    wire_memory_clear();
    gw_text *index = wire_text(index_of(document));
    gw_text *whole = index && write_solutions(document) ? join_texts(document, index) : NULL;
    text_unref(index);
    return whole;
}

gw_text *app_document_text(const app_document *document)
{
    assert(document && document->texts);
    app_texts *t = document->texts;
    pthread_mutex_lock(&t->lock);
    if (!t->whole)
        t->whole = write_whole(document);
    gw_text *text = t->whole ? text_ref(t->whole) : NULL;
    pthread_mutex_unlock(&t->lock);
    return text;
}

/* ---- texts shared with the document before --------------------------------------------------- */

static bool same_solution(const app_document *a, const app_document *b, int i)
{
    const gw_placement *x = a->layout->placements[i], *y = b->layout->placements[i];
    return y->reused && x->object == y->object && x->tool == y->tool && x->follow == y->follow &&
           x->branch == y->branch && x->cluster < 0 && y->cluster < 0 &&
           memcmp(x->ids, y->ids, (size_t)y->count * sizeof *y->ids) == 0 &&
           memcmp(&a->layout->poses[x->object], &b->layout->poses[y->object], sizeof(gw_pose)) == 0;
}

void app_document_inherit(app_document *document, app_document *base, const app_diff *diff)
{
    assert(document && base && diff);
    app_texts *from = base->texts, *to = document->texts;
    bool solutions = !diff->names && base->layout->count == document->layout->count;
    pthread_mutex_lock(&from->lock);
    for (int i = 0; solutions && i < document->layout->count; i++)
        if (from->solutions[i] && same_solution(base, document, i))
            to->solutions[i] = text_ref(from->solutions[i]);
    pthread_mutex_unlock(&from->lock);
}
