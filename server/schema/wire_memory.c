/*
 * jansson drops a member, without a word, where memory for it is short: half a document would pass
 * for a whole one. So its memory calls go through here, and a thread that was refused one knows.
 */
#include <jansson.h>
#include <stdlib.h>

#include "server/schema/wire.h"

static _Thread_local bool missed;

static void *take(size_t size)
{
    void *block = malloc(size);
    missed = missed || !block;
    return block;
}

void wire_watch_memory(void)
{
    json_set_alloc_funcs(take, free);
}

void wire_memory_missed(void)
{
    missed = true;
}

bool wire_memory_short(void)
{
    return missed;
}

void wire_memory_clear(void)
{
    missed = false;
}
