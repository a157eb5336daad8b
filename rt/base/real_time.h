/*
 * What a real-time thread asks of the operating system: a priority, a processor, memory that causes
 * no page faults, and exact waiting. What is not granted is reported; the caller goes on without.
 */
#ifndef GW_BASE_REAL_TIME_H
#define GW_BASE_REAL_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- waiting: RT safe ----------------------------------------------------------------------- */

/* Sleeps until this time (CLOCK_MONOTONIC, ns). */
void gw_sleep_until(int64_t ns);

/* Busy wait until then, which is more accurate than sleeping. */
void gw_spin_until(int64_t ns);

/* ---- of the calling thread ------------------------------------------------------------------ */

/* SCHED_FIFO of this priority; true if granted. */
bool gw_claim_priority(int priority);

/* Pins the thread to this processor; true if granted. */
bool gw_claim_processor(int processor);

/* Pins the thread to the last of the processors on which it may run, or excludes that one. False
 * if there is one only. */
bool gw_claim_last_processor(void);
bool gw_avoid_last_processor(void);

/* Touches 512 KiB of the stack, more than a solve in a tick needs. */
void gw_prefault_stack(void);

/* ---- memory --------------------------------------------------------------------------------- */

#define GW_PAGE_BYTES 4096

/* Puts pages behind `bytes` of mapped memory. */
void gw_populate_pages(unsigned char *memory, size_t bytes);

/* Loads the program and the C and mathematical libraries and locks all memory; true if granted.
 * Untouched pages, as most of other threads' stacks, are not loaded. */
bool gw_lock_memory(void);

#endif
