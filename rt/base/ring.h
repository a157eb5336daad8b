/*
 * A ring of values between one writing and one reading thread, without locks: neither side ever
 * waits. Storage is the caller's, `capacity` entries of `size` bytes, capacity a power of two.
 *
 * gw_ring_push() on the writer's thread, gw_ring_pop() on the reader's: both RT safe.
 */
#ifndef GW_BASE_RING_H
#define GW_BASE_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>

typedef struct gw_ring {
    unsigned char *storage;
    size_t size, capacity;
    _Alignas(64) atomic_size_t head; /* next to write; the writer's */
    _Alignas(64) atomic_size_t tail; /* next to read; the reader's */
} gw_ring;

static inline void gw_ring_init(gw_ring *ring, void *storage, size_t size, size_t capacity)
{
    ring->storage = storage;
    ring->size = size;
    ring->capacity = capacity;
    atomic_init(&ring->head, 0);
    atomic_init(&ring->tail, 0);
}

/* On the writer's thread: the entry that is given next, to be filled in place; NULL when the ring
 * is full. Parts not written are those of an older entry. */
static inline void *gw_ring_back(gw_ring *ring)
{
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_acquire);
    if (head - tail == ring->capacity)
        return NULL;
    return ring->storage + (head & (ring->capacity - 1)) * ring->size;
}

/* Gives the entry of gw_ring_back(), which was not NULL, to the reader. */
static inline void gw_ring_give(gw_ring *ring)
{
    size_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    atomic_store_explicit(&ring->head, head + 1, memory_order_release);
}

/* False when the ring is full; nothing is written then. */
static inline bool gw_ring_push(gw_ring *ring, const void *entry)
{
    void *back = gw_ring_back(ring);
    if (!back)
        return false;
    memcpy(back, entry, ring->size);
    gw_ring_give(ring);
    return true;
}

/* On the writer's thread: true when the next push would find no room. */
static inline bool gw_ring_full(gw_ring *ring)
{
    return !gw_ring_back(ring);
}

/* False when the ring is empty. */
static inline bool gw_ring_pop(gw_ring *ring, void *entry)
{
    size_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    size_t head = atomic_load_explicit(&ring->head, memory_order_acquire);
    if (head == tail)
        return false;
    memcpy(entry, ring->storage + (tail & (ring->capacity - 1)) * ring->size, ring->size);
    atomic_store_explicit(&ring->tail, tail + 1, memory_order_release);
    return true;
}

#endif
