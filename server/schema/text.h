/*
 * Text that several threads and connections share: written once, counted, freed by the last.
 * TEXT_ROOM writable bytes lie before the data, for a frame header that a sender puts there.
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

/* Text that grows; zero is an empty one. What is put when memory was short once is dropped. */
typedef struct text_builder {
    gw_text *text; /* not counted yet; NULL: nothing was put */
    size_t size, room;
    bool short_of_memory;
} text_builder;

void text_put(text_builder *builder, const char *data, size_t size);
void text_put_format(text_builder *builder, const char *format, ...)
    __attribute__((format(printf, 2, 3))); /* at most 255 bytes */

/* The text so far, one reference; NULL where memory was short. The builder is empty again. */
gw_text *text_take(text_builder *builder);

gw_text *text_ref(gw_text *shared);
void text_unref(gw_text *shared); /* NULL is fine */

/* FNV-1a of what is hashed already, TEXT_HASH at first, and the data. */
#define TEXT_HASH 1469598103934665603ull
uint64_t text_hash(uint64_t hash, const char *data, size_t size);

#endif
