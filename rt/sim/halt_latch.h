/*
 * The halt latch: one word with the state (halted or armed) and the number of the halt. It outlives
 * every loop, so a halt persists over loading, edits and restarts until a client arms. No locks, no
 * allocation: any thread may halt; the loop reads the latch in every tick and acknowledges it. RT
 * safe.
 *
 * Arming passes the state of the latch that the client has seen, and fails if another halt came
 * since.
 */
#ifndef GW_SIM_HALT_LATCH_H
#define GW_SIM_HALT_LATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GW_HALT_BY      64 /* bytes of a name, the zero included */
#define GW_HALT_RECORDS 64 /* more than the threads that may halt at the same time */

/* The cause of a halt. */
typedef enum gw_halt_cause {
    GW_HALT_SOFTWARE,   /* requested by a client */
    GW_HALT_BUTTON,     /* the device's own stop button */
    GW_HALT_VELOCITY,   /* the device moves too fast */
    GW_HALT_WATCHDOG,   /* the loop's heartbeat stopped */
    GW_HALT_OVERRUN,    /* the loop was late */
    GW_HALT_DISCONNECT, /* the device is silent, or sends invalid values */
    GW_HALT_DEAD_MAN,   /* the operator's lease was not renewed */
    GW_HALT_FAULT       /* a step or a command was not finite */
} gw_halt_cause;

typedef struct gw_halt_record {
    gw_halt_cause cause;
    char by[GW_HALT_BY]; /* who: "rest 127.0.0.1:4711", "loop" */
    int64_t since_ns;    /* CLOCK_REALTIME */
    int64_t steady_ns;   /* CLOCK_MONOTONIC */
} gw_halt_record;

/* The state of the latch. Low half: number of halts so far; above it the record number of the
 * present or last halt; highest bit: halted. */
typedef uint64_t gw_halt_word;
#define GW_HALT_HOLDS ((gw_halt_word)1 << 63)

/* A record as atomic words: a reader detects that its record was overwritten while it read. */
#define GW_HALT_WORDS ((sizeof(gw_halt_record) + 7) / 8)
typedef struct gw_halt_slot {
    atomic_ullong word[GW_HALT_WORDS];
} gw_halt_slot;

typedef struct gw_halt_latch {
    _Atomic gw_halt_word word;
    /* Padding: requests read `word`, ticks write the members below; they must not share a cache
     * line. */
    unsigned char apart[64];
    /* Of the newest tick that acknowledged the latch: the word it read, its number, its run
     * state. */
    _Atomic gw_halt_word heeded;
    atomic_ullong tick;
    atomic_int run_state;
    unsigned char apart_again[64];
    atomic_uint records_begun;
    gw_halt_slot records[GW_HALT_RECORDS]; /* number n is at n % GW_HALT_RECORDS */
} gw_halt_latch;

/* Armed. */
void gw_halt_latch_init(gw_halt_latch *latch);

/* The state of the latch, for gw_halt_latch_arm(). */
gw_halt_word gw_halt_latch_now(const gw_halt_latch *latch);
static inline bool gw_halt_word_halted(gw_halt_word word)
{
    return word & GW_HALT_HOLDS;
}

/* Halts. The first cause is kept until armed; every halt makes an arming fail that began before. */
__attribute__((cold)) void gw_halt_latch_halt(gw_halt_latch *latch, gw_halt_cause cause,
                                              const char *by);

/* Arms if there was no halt since `seen`; true if it is armed. */
bool gw_halt_latch_arm(gw_halt_latch *latch, gw_halt_word seen);

/* True while halted; `record` (may be NULL) is that of the present or last halt. */
bool gw_halt_latch_read(const gw_halt_latch *latch, gw_halt_record *record);

/* Acknowledges: tick `tick` in `run_state` (gw_run_state) used this word; its devices are off if
 * the word is halted. */
void gw_halt_latch_acknowledge(gw_halt_latch *latch, gw_halt_word word, uint64_t tick,
                               int run_state);

/* True where the devices are off: a tick has acknowledged the present halt. */
bool gw_halt_latch_in_effect(const gw_halt_latch *latch);

/* The complete state of the latch, for clients. */
typedef struct gw_halt_state {
    bool halted, in_effect;
    gw_halt_record record;
    uint64_t tick;
    int run_state; /* gw_run_state of the newest tick */
} gw_halt_state;

gw_halt_state gw_halt_latch_state(const gw_halt_latch *latch);

/* "software", "button", .. */
extern const char *const gw_halt_cause_names[];

#endif
