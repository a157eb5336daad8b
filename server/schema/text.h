/*
 * Text that several threads and connections share: written once, counted, freed by the last.
 * TEXT_ROOM writable bytes lie before the data, for a frame header that a sender puts there.
 */
#ifndef GW_SERVER_SCHEMA_TEXT_H
#define GW_SERVER_SCHEMA_TEXT_H

#include <stdatomic.h>
#include <stddef.h>

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

gw_text *text_ref(gw_text *shared);
void text_unref(gw_text *shared); /* NULL is fine */

#endif
