/*
 * The turn: the right to make the loop's next tick, which one of two threads takes. All data of the
 * tick belong to the thread that has the turn; giving it releases what was written, taking it
 * acquires. RT safe.
 */
#ifndef GW_SIM_TURN_H
#define GW_SIM_TURN_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct gw_turn {
    /* deadline of the next tick (CLOCK_MONOTONIC, ns, above 0); its negative while a thread has
     * the turn; 0 before the first tick */
    _Alignas(64) atomic_llong word;
} gw_turn;

/* Takes the turn for the tick of this deadline; false if another thread has it or made that tick.
 */
static inline bool gw_turn_take(gw_turn *turn, int64_t deadline)
{
    long long free = deadline;
    return atomic_compare_exchange_strong_explicit(&turn->word, &free, -deadline,
                                                   memory_order_acquire, memory_order_relaxed);
}

/* Gives the turn back; the next tick has this deadline. */
static inline void gw_turn_give(gw_turn *turn, int64_t deadline)
{
    atomic_store_explicit(&turn->word, deadline, memory_order_release);
}

/* The deadline of the next tick, or of the one that is being made (*taken); 0: none yet. */
static inline int64_t gw_turn_deadline(const gw_turn *turn, bool *taken)
{
    long long word = atomic_load_explicit(&turn->word, memory_order_relaxed);
    *taken = word < 0;
    return word < 0 ? -word : word;
}

#endif
