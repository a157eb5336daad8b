/*
 * Counted texts. Any thread.
 */
#include "server/schema/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

gw_text *text_new(size_t size)
{
    gw_text *shared = calloc(1, sizeof *shared + TEXT_ROOM + size + 1);
    if (!shared)
        return NULL;
    atomic_init(&shared->refs, 1);
    shared->size = size;
    shared->data = (char *)(shared + 1) + TEXT_ROOM;
    return shared;
}

gw_text *text_format(const char *format, ...)
{
    va_list list, again;
    va_start(list, format);
    va_copy(again, list);
    int size = vsnprintf(NULL, 0, format, list);
    va_end(list);
    gw_text *shared = size < 0 ? NULL : text_new((size_t)size);
    if (shared)
        vsnprintf(shared->data, (size_t)size + 1, format, again);
    va_end(again);
    return shared;
}

void text_put(text_builder *b, const char *data, size_t size)
{
    assert(b && (data || size == 0));
    if (!b->short_of_memory && b->size + size > b->room) {
        size_t room = 2 * (b->size + size) + 256;
        char *more = realloc(b->data, room);
        b->short_of_memory = !more;
        if (more) {
            b->data = more;
            b->room = room;
        }
    }
    if (b->short_of_memory)
        return;
    memcpy(b->data + b->size, data, size);
    b->size += size;
}

void text_put_format(text_builder *b, const char *format, ...)
{
    char text[128];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert(size >= 0 && (size_t)size < sizeof text);
    text_put(b, text, (size_t)size);
}

gw_text *text_take(text_builder *b)
{
    assert(b);
    gw_text *text = b->short_of_memory ? NULL : text_new(b->size);
    if (text && b->size > 0)
        memcpy(text->data, b->data, b->size);
    free(b->data);
    *b = (text_builder){0};
    return text;
}

gw_text *text_ref(gw_text *shared)
{
    atomic_fetch_add(&shared->refs, 1);
    return shared;
}

void text_unref(gw_text *shared)
{
    if (shared && atomic_fetch_sub(&shared->refs, 1) == 1)
        free(shared);
}
