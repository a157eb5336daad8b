/*
 * Counted texts. Any thread.
 */
#include "server/schema/text.h"

#include <assert.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD (sizeof(gw_text) + TEXT_ROOM)

/* Sets the members of a text in an allocated block. */
static gw_text *as_text(void *block, size_t size)
{
    gw_text *text = block;
    atomic_init(&text->refs, 1);
    text->size = size;
    text->data = (char *)block + HEAD;
    return text;
}

gw_text *text_new(size_t size)
{
    void *block = calloc(1, HEAD + size + 1);
    return block ? as_text(block, size) : NULL;
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

/* Room for `size` more bytes at the end; NULL when memory is short. */
static char *extend_text(text_builder *b, size_t size)
{
    if (!b->short_of_memory && b->size + size > b->room) {
        size_t room = 2 * (b->size + size) + 128;
        void *block = realloc(b->text, HEAD + room + 1);
        b->short_of_memory = !block;
        if (block) {
            b->text = block;
            b->room = room;
        }
    }
    if (b->short_of_memory)
        return NULL;
    b->size += size;
    return (char *)b->text + HEAD + b->size - size;
}

void text_put(text_builder *b, const char *data, size_t size)
{
    assert(b && (data || size == 0));
    char *at = extend_text(b, size);
    if (at)
        memcpy(at, data, size);
}

void text_put_format(text_builder *b, const char *format, ...)
{
    char text[256];
    va_list list;
    va_start(list, format);
    int size = vsnprintf(text, sizeof text, format, list);
    va_end(list);
    assert(size >= 0 && (size_t)size < sizeof text);
    text_put(b, text, (size_t)size);
}

const char *text_so_far(const text_builder *b)
{
    return b->text ? (const char *)b->text + HEAD : "";
}

gw_text *text_take(text_builder *b)
{
    assert(b);
    char *end = extend_text(b, 0);
    void *block = b->text;
    size_t size = b->size;
    bool whole = end && block;
    if (!whole)
        free(block);
    else if (b->room > size) {
        void *fitting = realloc(block, HEAD + size + 1);
        block = fitting ? fitting : block;
    }
    *b = (text_builder){0};
    if (!whole)
        return NULL;
    ((char *)block)[HEAD + size] = 0;
    return as_text(block, size);
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

uint64_t text_hash(uint64_t hash, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ (unsigned char)data[i]) * 1099511628211ull;
    return hash;
}
