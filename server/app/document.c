/*
 * Documents: a scene, its layout, and the texts that the stream sends of them. A text is written
 * when somebody reads it; what an edit did not change keeps the text of the document before.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "server/app/describe.h"
#include "server/app/diff.h"
#include "server/app/private.h"
#include "server/schema/wire.h"

struct app_texts {
    pthread_mutex_t lock;
    gw_text *whole;      /* NULL: nobody has read it yet */
    gw_text **objects;   /* by object of the scene; NULL: not written yet */
    gw_text **solutions; /* by placement of the layout */
};

/* ---- life ---------------------------------------------------------------------------------- */

static app_texts *texts_create(int objects, int placements)
{
    app_texts *t = calloc(1, sizeof *t);
    if (!t)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    t->objects = calloc((size_t)objects + 1, sizeof *t->objects);
    t->solutions = calloc((size_t)placements + 1, sizeof *t->solutions);
    return t;
}

static void drop(gw_text **list, int count)
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
    drop(t->objects, document->scene->object_count);
    drop(t->solutions, document->layout->count);
    text_unref(t->whole);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

static void document_free(app_document *document)
{
    texts_destroy(document);
    gw_layout_destroy(document->layout);
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
    document->texts = texts_create(scene->object_count, layout->count);
    if (!list_moving(document) || !document->texts || !document->texts->objects ||
        !document->texts->solutions) {
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

/* ---- texts --------------------------------------------------------------------------------- */

/* The text of a value, which is taken over; NULL where memory is short or a number is not finite.
 */
static gw_text *text_of(json_t *value)
{
    char *written = value ? wire_text(value) : NULL;
    json_decref(value);
    gw_text *text = written ? text_format("%s", written) : NULL;
    free(written);
    return text;
}

/* Writes the entries that have no text yet. */
static bool write_entries(const app_document *document)
{
    const gw_scene *scene = document->scene;
    const gw_layout *layout = document->layout;
    app_texts *t = document->texts;
    bool written = true;
    for (int i = 0; written && i < scene->object_count; i++) {
        if (!t->objects[i])
            t->objects[i] = text_of(wire_object(&scene->objects[i]));
        written = t->objects[i] != NULL;
    }
    for (int i = 0; written && i < layout->count; i++) {
        const gw_placement *placement = layout->placements[i];
        if (!t->solutions[i])
            t->solutions[i] = text_of(
                describe_solution(scene, layout, placement, &layout->poses[placement->object]));
        written = t->solutions[i] != NULL;
    }
    return written;
}

static size_t total(gw_text *const *list, int count)
{
    size_t size = 0;
    for (int i = 0; i < count; i++)
        size += list[i]->size + 1; /* and a comma */
    return size;
}

static char *put(char *at, const char *data, size_t size)
{
    memcpy(at, data, size);
    return at + size;
}

static char *put_string(char *at, const char *text)
{
    return put(at, text, strlen(text));
}

/* The texts with commas between them. */
static char *put_all(char *at, gw_text *const *list, int count)
{
    for (int i = 0; i < count; i++) {
        if (i > 0)
            *at++ = ',';
        at = put(at, list[i]->data, list[i]->size);
    }
    return at;
}

/* All members in one text: the objects go into the place that an empty list holds in the rest of
 * the scene. In a string of JSON no such list can stand: its quotes would be escaped. */
static gw_text *join(const app_document *document, const gw_text *rest, const gw_text *index)
{
    static const char empty[] = "\"objects\":[]";
    const app_texts *t = document->texts;
    int objects = document->scene->object_count, placements = document->layout->count;
    const char *hole = strstr(rest->data, empty);
    char head[64], tail[64];
    assert(hole);
    size_t before = (size_t)(hole - rest->data) + sizeof empty - 2;
    snprintf(head, sizeof head,
             "\"revision\":%llu,\"scene\":", (unsigned long long)document->revision);
    snprintf(tail, sizeof tail, ",\"undo\":%s,\"redo\":%s", document->undo ? "true" : "false",
             document->redo ? "true" : "false");
    gw_text *whole = text_new(strlen(head) + rest->size + total(t->objects, objects) +
                              total(t->solutions, placements) + index->size + strlen(tail) + 32);
    if (!whole)
        return NULL;
    char *at = put(put_string(whole->data, head), rest->data, before);
    at = put_all(at, t->objects, objects);
    at = put(at, rest->data + before, rest->size - before);
    at = put_all(put_string(at, ",\"solutions\":["), t->solutions, placements);
    at = put(put_string(at, "],\"index\":"), index->data, index->size);
    at = put_string(at, tail);
    *at = 0;
    whole->size = (size_t)(at - whole->data);
    return whole;
}

static gw_text *write_whole(const app_document *document)
{
    gw_scene bare = *document->scene;
    bare.object_count = 0;
    wire_memory_clear();
    gw_text *rest = text_of(wire_scene(&bare)), *index = text_of(index_of(document));
    gw_text *whole = rest && index && write_entries(document) ? join(document, rest, index) : NULL;
    text_unref(rest);
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

/* ---- what an edit did not change ------------------------------------------------------------- */

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
    const gw_scene *a = base->scene, *b = document->scene;
    app_texts *from = base->texts, *to = document->texts;
    bool solutions = !diff->names && base->layout->count == document->layout->count;
    pthread_mutex_lock(&from->lock);
    for (int i = 0; i < a->object_count && i < b->object_count; i++)
        if (from->objects[i] && strcmp(a->objects[i].id, b->objects[i].id) == 0 &&
            app_same_object(&a->objects[i], &b->objects[i]))
            to->objects[i] = text_ref(from->objects[i]);
    for (int i = 0; solutions && i < document->layout->count; i++)
        if (from->solutions[i] && same_solution(base, document, i))
            to->solutions[i] = text_ref(from->solutions[i]);
    pthread_mutex_unlock(&from->lock);
}
