/*
 * Latest-value mailbox (triple buffer) from one writing to one reading thread: each side owns one
 * of three buffers, the third is exchanged. Neither side waits, values are never torn, older values
 * are lost.
 *
 * gw_mailbox_write() on the writer's thread, gw_mailbox_read() on the reader's: both RT safe.
 */
#ifndef GW_BASE_MAILBOX_H
#define GW_BASE_MAILBOX_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

#define GW_MAILBOX_FRESH                                                                           \
    4u /* flag of the buffer that changes hands: written since the last read                       \
        */

typedef struct gw_mailbox {
    unsigned char *storage; /* three values */
    size_t size;
    /* a cache line each for the writer, the reader and the exchanged index */
    _Alignas(64) unsigned back;  /* the writer's buffer */
    _Alignas(64) unsigned front; /* the reader's buffer */
    _Alignas(64) atomic_uint middle;
} gw_mailbox;

/* `storage` of three times `size` bytes; the reader finds `initial` before the first write. */
static inline void gw_mailbox_init(gw_mailbox *box, void *storage, size_t size, const void *initial)
{
    box->storage = storage;
    box->size = size;
    box->back = 0;
    box->front = 1;
    atomic_init(&box->middle, 2);
    for (size_t i = 0; i < 3; i++)
        memcpy(box->storage + i * size, initial, size);
}

/* The writer's buffer, to be filled in place; parts not written are those of an older value. */
static inline void *gw_mailbox_back(gw_mailbox *box)
{
    return box->storage + box->back * box->size;
}

/* Publishes the writer's buffer as the newest value. */
static inline void gw_mailbox_give(gw_mailbox *box)
{
    unsigned old =
        atomic_exchange_explicit(&box->middle, box->back | GW_MAILBOX_FRESH, memory_order_acq_rel);
    box->back = old & 3u;
}

/* Writes the first `used` bytes of a value; the remaining bytes are those of an older value. */
static inline void gw_mailbox_write_head(gw_mailbox *box, const void *value, size_t used)
{
    memcpy(gw_mailbox_back(box), value, used);
    gw_mailbox_give(box);
}

/* True if there is a value that was not read before. */
static inline bool gw_mailbox_fresh(gw_mailbox *box)
{
    return atomic_load_explicit(&box->middle, memory_order_acquire) & GW_MAILBOX_FRESH;
}

static inline void gw_mailbox_write(gw_mailbox *box, const void *value)
{
    gw_mailbox_write_head(box, value, box->size);
}

/* The newest value in place, valid until the next take or read. */
static inline const void *gw_mailbox_take(gw_mailbox *box)
{
    if (gw_mailbox_fresh(box))
        box->front = atomic_exchange_explicit(&box->middle, box->front, memory_order_acq_rel) & 3u;
    return box->storage + box->front * box->size;
}

/* Copies the newest value; true if it was not read before. */
static inline bool gw_mailbox_read(gw_mailbox *box, void *value)
{
    bool fresh = gw_mailbox_fresh(box);
    memcpy(value, gw_mailbox_take(box), box->size);
    return fresh;
}

#endif
