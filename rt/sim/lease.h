/*
 * The operator's lease: who commands force at the devices that are latched, and until when. Whoever
 * holds it renews it every 100 ms; a loop that finds it run out turns those devices off (dead man).
 * One operator at a time. Like the halt latch it outlives every loop and has no locks.
 *
 * One thread takes, renews and gives back; the loop lets it lapse; any thread reads. RT safe.
 */
#ifndef GW_SIM_LEASE_H
#define GW_SIM_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GW_LEASE_NS 300000000 /* from a renewal on: two of them may be late, or be lost */
#define GW_LEASE_BY 64        /* bytes of a name, the zero included */

typedef struct gw_lease_holder {
    char by[GW_LEASE_BY]; /* "stream 127.0.0.1:4711" */
    int64_t since_ns;     /* CLOCK_REALTIME */
} gw_lease_holder;

#define GW_LEASE_WORDS ((sizeof(gw_lease_holder) + 7) / 8)

typedef struct gw_lease {
    atomic_llong until_ns; /* CLOCK_MONOTONIC; 0: nobody holds it */
    atomic_uint written;   /* holders so far, doubled; odd while one is being written */
    atomic_ullong word[GW_LEASE_WORDS];
} gw_lease;

/* Nobody holds it. */
void gw_lease_init(gw_lease *lease);

/* Gives it to `by` at `now_ns` (CLOCK_MONOTONIC). False where somebody has it. */
bool gw_lease_take(gw_lease *lease, const char *by, int64_t now_ns);

/* For another GW_LEASE_NS. False where it has run out: the holder has it no more. */
bool gw_lease_renew(gw_lease *lease, int64_t now_ns);

/* In order: nothing is turned off. */
void gw_lease_give_back(gw_lease *lease);

/* The holder is gone: it has run out. */
void gw_lease_abandon(gw_lease *lease);

/* True once, where it ran out before `now_ns`: nobody holds it any more. By the loop. */
bool gw_lease_lapse(gw_lease *lease, int64_t now_ns);

/* True while somebody holds it; `holder` (NULL: not wanted) is who does, or did last. */
bool gw_lease_read(const gw_lease *lease, gw_lease_holder *holder);

#endif
