/*
 * The halt latch: one word that says whether devices are off, and since which halt. It outlives
 * every loop, so a halt stays whatever is loaded, edited or restarted, until somebody arms. No
 * locks and no allocation: any thread may halt, the loop reads the latch in every tick and tells
 * when it is in effect. RT safe.
 *
 * Arming names the state of the latch that it has seen, and fails where another halt came since.
 */
#ifndef GW_SIM_HALT_LATCH_H
#define GW_SIM_HALT_LATCH_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define GW_HALT_BY      64 /* bytes of a name, the zero included */
#define GW_HALT_RECORDS 64 /* threads that may halt at the same moment, and many more */

/* Why devices are off. */
typedef enum gw_halt_cause {
    GW_HALT_SOFTWARE,   /* somebody asked for it */
    GW_HALT_BUTTON,     /* the device's own */
    GW_HALT_VELOCITY,   /* the device moves too fast */
    GW_HALT_WATCHDOG,   /* the loop's heartbeat stopped, seen from outside */
    GW_HALT_OVERRUN,    /* the loop found itself late */
    GW_HALT_DISCONNECT, /* the device is silent, or tells garbage */
    GW_HALT_DEAD_MAN,   /* the operator's lease was not renewed */
    GW_HALT_FAULT       /* a step or a command was not finite */
} gw_halt_cause;

typedef struct gw_halt_record {
    gw_halt_cause cause;
    char by[GW_HALT_BY]; /* who: "rest 127.0.0.1:4711", "loop" */
    int64_t since_ns;    /* CLOCK_REALTIME */
    int64_t steady_ns;   /* CLOCK_MONOTONIC */
} gw_halt_record;

/* The latch at one moment. Low half: halts so far; above it the number of the record of the halt
 * that holds, or held last; the highest bit: it holds. */
typedef uint64_t gw_halt_word;
#define GW_HALT_HOLDS ((gw_halt_word)1 << 63)

/* A record as words, each read and written whole: a reader that is slow finds out that its record
 * was written over, and never tears one. */
#define GW_HALT_WORDS ((sizeof(gw_halt_record) + 7) / 8)
typedef struct gw_halt_slot {
    atomic_ullong word[GW_HALT_WORDS];
} gw_halt_slot;

typedef struct gw_halt_latch {
    _Atomic gw_halt_word word;
    /* Every request reads the word and every tick writes what follows: on cache lines apart. */
    unsigned char apart[64];
    /* Of the newest tick that heeded the latch: the latch then, its number, its run state. */
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

/* Halts. The first cause stays until armed; every halt makes an arming lose that began before. */
__attribute__((cold)) void gw_halt_latch_halt(gw_halt_latch *latch, gw_halt_cause cause,
                                              const char *by);

/* Arms where nobody has halted since `seen`; true where it is armed now. */
bool gw_halt_latch_arm(gw_halt_latch *latch, gw_halt_word seen);

/* True while halted; `record` (NULL: not wanted) is of the halt that holds, or held last. */
bool gw_halt_latch_read(const gw_halt_latch *latch, gw_halt_record *record);

/* The loop made tick `tick` in `run_state` (gw_run_state), which heeded this word: its devices are
 * off where that is halted. */
void gw_halt_latch_acknowledge(gw_halt_latch *latch, gw_halt_word word, uint64_t tick,
                               int run_state);

/* True where the devices are off: the halt that holds has reached a tick. */
bool gw_halt_latch_in_effect(const gw_halt_latch *latch);

/* The whole of it, for an answer. */
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
