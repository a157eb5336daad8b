/*
 * Text shared by several threads and connections: written once, reference counted, freed by the
 * last user. TEXT_ROOM writable bytes lie before the data, for the header of a frame.
 */
#ifndef GW_SERVER_SCHEMA_TEXT_H
#define GW_SERVER_SCHEMA_TEXT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TEXT_ROOM 32

typedef struct gw_text {
    atomic_int refs;
    size_t size; /* without the terminating zero */
    char *data;
} gw_text;

/* `size` bytes, zeroed, one reference; NULL when memory is short. */
gw_text *text_new(size_t size);

/* Like printf; NULL when memory is short. */
gw_text *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Text that grows; an all-zero struct is empty. After a shortage of memory additions are
 * dropped. */
typedef struct text_builder {
    gw_text *text; /* not shared yet; NULL: nothing was added */
    size_t size, room;
    bool short_of_memory;
} text_builder;

void text_put(text_builder *builder, const char *data, size_t size);
void text_put_format(text_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* at most 255 bytes */

/* The bytes so far, not terminated; `size` may be lowered to take back the last of them. */
const char *text_so_far(const text_builder *builder);

/* The text so far, one reference; NULL when memory was short. The builder is then empty. */
gw_text *text_take(text_builder *builder);

gw_text *text_ref(gw_text *shared);
void text_unref(gw_text *shared); /* NULL is fine */

/* FNV-1a of the data, continuing from `hash` (TEXT_HASH at first). */
#define TEXT_HASH 1469598103934665603ull
uint64_t text_hash(uint64_t hash, const char *data, size_t size);

#endif
