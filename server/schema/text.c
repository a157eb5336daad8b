/*
 * Counted texts. Any thread.
 */
#include "server/schema/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

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
