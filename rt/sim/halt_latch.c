/*
 * The halt latch: a record is written before the word that refers to it, so a thread that reads the
 * word also sees the record. Any thread, RT safe.
 */
#include "rt/sim/halt_latch.h"

#include <assert.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#define HALTS(word)  ((uint32_t)(word))
#define NUMBER_MASK  0x7fffffffu
#define HOLDER(word) ((uint32_t)((word) >> 32) & NUMBER_MASK)

const char *const gw_halt_cause_names[] = {[GW_HALT_SOFTWARE] = "software",
                                           [GW_HALT_BUTTON] = "button",
                                           [GW_HALT_VELOCITY] = "velocity",
                                           [GW_HALT_WATCHDOG] = "watchdog",
                                           [GW_HALT_OVERRUN] = "overrun",
                                           [GW_HALT_DISCONNECT] = "disconnect",
                                           [GW_HALT_DEAD_MAN] = "dead-man",
                                           [GW_HALT_FAULT] = "fault",
                                           NULL};

static gw_halt_word pack_word(bool halted, uint32_t holder, uint32_t halts)
{
    return (halted ? GW_HALT_HOLDS : 0) | (gw_halt_word)holder << 32 | halts;
}

void gw_halt_latch_init(gw_halt_latch *latch)
{
    assert(latch);
    memset(latch, 0, sizeof *latch);
}

gw_halt_word gw_halt_latch_now(const gw_halt_latch *latch)
{
    assert(latch);
    return atomic_load(&latch->word);
}

static int64_t clock_ns(clockid_t clock)
{
    struct timespec t;
    clock_gettime(clock, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Writes a record; returns its number. */
static uint32_t write_record(gw_halt_latch *latch, gw_halt_cause cause, const char *by)
{
    uint64_t words[GW_HALT_WORDS] = {0};
    gw_halt_record record = {.cause = cause,
                             .since_ns = clock_ns(CLOCK_REALTIME),
                             .steady_ns = clock_ns(CLOCK_MONOTONIC)};
    memcpy(record.by, by, strnlen(by, GW_HALT_BY - 1));
    memcpy(words, &record, sizeof record);
    uint32_t number = (atomic_fetch_add(&latch->records_begun, 1) + 1) & NUMBER_MASK;
    gw_halt_slot *slot = &latch->records[number % GW_HALT_RECORDS];
    for (size_t i = 0; i < GW_HALT_WORDS; i++)
        atomic_store_explicit(&slot->word[i], words[i], memory_order_release);
    return number;
}

static gw_halt_record read_record(const gw_halt_latch *latch, uint32_t number)
{
    uint64_t words[GW_HALT_WORDS];
    gw_halt_record record;
    const gw_halt_slot *slot = &latch->records[number % GW_HALT_RECORDS];
    for (size_t i = 0; i < GW_HALT_WORDS; i++)
        words[i] = atomic_load_explicit(&slot->word[i], memory_order_acquire);
    memcpy(&record, words, sizeof record);
    return record;
}

void gw_halt_latch_halt(gw_halt_latch *latch, gw_halt_cause cause, const char *by)
{
    assert(latch && by);
    uint32_t mine = 0;
    bool written = false;
    gw_halt_word before = atomic_load(&latch->word), after;
    do {
        if (!gw_halt_word_halted(before) && !written) {
            mine = write_record(latch, cause, by);
            written = true;
        }
        uint32_t holder = gw_halt_word_halted(before) ? HOLDER(before) : mine;
        after = pack_word(true, holder, HALTS(before) + 1);
    } while (!atomic_compare_exchange_weak(&latch->word, &before, after));
}

bool gw_halt_latch_arm(gw_halt_latch *latch, gw_halt_word seen)
{
    assert(latch);
    gw_halt_word armed = seen & ~GW_HALT_HOLDS, before = seen;
    return atomic_compare_exchange_strong(&latch->word, &before, armed) || before == armed;
}

bool gw_halt_latch_read(const gw_halt_latch *latch, gw_halt_record *record)
{
    gw_halt_word word = atomic_load(&latch->word);
    if (!record)
        return gw_halt_word_halted(word);
    for (;;) {
        *record = read_record(latch, HOLDER(word));
        gw_halt_word again = atomic_load(&latch->word);
        if (HOLDER(again) == HOLDER(word))
            return gw_halt_word_halted(again);
        word = again;
    }
}

void gw_halt_latch_acknowledge(gw_halt_latch *latch, gw_halt_word word, uint64_t tick,
                               int run_state)
{
    assert(latch);
    atomic_store_explicit(&latch->tick, tick, memory_order_relaxed);
    atomic_store_explicit(&latch->run_state, run_state, memory_order_relaxed);
    atomic_store_explicit(&latch->heeded, word, memory_order_release);
}

bool gw_halt_latch_in_effect(const gw_halt_latch *latch)
{
    assert(latch);
    gw_halt_word word = atomic_load(&latch->word);
    gw_halt_word heeded = atomic_load(&latch->heeded);
    return gw_halt_word_halted(word) && gw_halt_word_halted(heeded) &&
           HOLDER(heeded) == HOLDER(word);
}

gw_halt_state gw_halt_latch_state(const gw_halt_latch *latch)
{
    assert(latch);
    gw_halt_state state = {.in_effect = gw_halt_latch_in_effect(latch)};
    state.halted = gw_halt_latch_read(latch, &state.record);
    state.tick = atomic_load_explicit(&latch->tick, memory_order_relaxed);
    state.run_state = atomic_load_explicit(&latch->run_state, memory_order_relaxed);
    return state;
}
