/*
 * The operator's lease: which client may command latched devices, and until when. The holder renews
 * it every 100 ms; a loop that finds it expired turns those devices off (dead man). One operator at
 * a time. Like the halt latch it outlives every loop and has no locks.
 *
 * One thread takes, renews and gives it back; the loop lets it expire; any thread reads. RT safe.
 */
#ifndef GW_SIM_LEASE_H
#define GW_SIM_LEASE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GW_LEASE_NS 300000000 /* from a renewal: two renewals may be late or lost */
#define GW_LEASE_BY 64        /* bytes of a name, the zero included */

typedef struct gw_lease_holder {
    char by[GW_LEASE_BY]; /* "stream 127.0.0.1:4711" */
    int64_t since_ns;     /* CLOCK_REALTIME */
} gw_lease_holder;

#define GW_LEASE_WORDS ((sizeof(gw_lease_holder) + 7) / 8)

typedef struct gw_lease {
    atomic_llong until_ns; /* CLOCK_MONOTONIC; 0: nobody holds it */
    atomic_uint written;   /* sequence counter: twice the number of holders so far, odd while one is
                              being written */
    atomic_ullong word[GW_LEASE_WORDS];
} gw_lease;

/* Nobody holds it. */
void gw_lease_init(gw_lease *lease);

/* Gives the lease to `by` at `now_ns` (CLOCK_MONOTONIC). False if it is held. */
bool gw_lease_take(gw_lease *lease, const char *by, int64_t now_ns);

/* Extends the lease to now_ns + GW_LEASE_NS. False if it has expired: the holder has lost it. */
bool gw_lease_renew(gw_lease *lease, int64_t now_ns);

/* Ends the lease regularly: devices stay on. */
void gw_lease_give_back(gw_lease *lease);

/* The holder is gone: the lease expires at once. */
void gw_lease_abandon(gw_lease *lease);

/* True once if the lease expired before `now_ns`; it is then free. Called by the loop. */
bool gw_lease_lapse(gw_lease *lease, int64_t now_ns);

/* True while it is held; `holder` (may be NULL) is the present or last holder. */
bool gw_lease_read(const gw_lease *lease, gw_lease_holder *holder);

#endif
