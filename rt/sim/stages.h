/*
 * Durations of the stages of a tick. The owner of the clock begins a tick; each stage ends where
 * the next one begins. Without gw_stages_begin() a call costs one comparison. On the loop's thread,
 * RT safe.
 */
#ifndef GW_SIM_STAGES_H
#define GW_SIM_STAGES_H

#include <stdbool.h>
#include <stdint.h>

#include "rt/base/clock.h"

typedef enum gw_stage {
    GW_STAGE_WAKE, /* lateness of waking: before the tick begins */
    GW_STAGE_COMMANDS,
    GW_STAGE_DEVICE,   /* operators, reading devices, control's wrench on the model */
    GW_STAGE_GEOMETRY, /* moving features and fixed objects, publishing the state before the step */
    GW_STAGE_DYNAMICS, /* the step: bodies, constraints, contacts, followers */
    GW_STAGE_CONTROL,  /* commands to devices, through the last gate; detection of faults */
    GW_STAGE_PUBLISH,  /* snapshot, records and events to other threads */
    GW_STAGE_COUNT
} gw_stage;

extern const char *const gw_stage_names[]; /* "wake", .. */

typedef struct gw_stages {
    bool counts;
    int64_t mark;              /* CLOCK_MONOTONIC (ns) */
    double us[GW_STAGE_COUNT]; /* of this tick so far */
} gw_stages;

/* A tick begins at `now_ns`, `late_us` after its time. */
static inline void gw_stages_begin(gw_stages *stages, int64_t now_ns, double late_us)
{
    *stages = (gw_stages){.counts = true, .mark = now_ns, .us = {[GW_STAGE_WAKE] = late_us}};
}

/* Adds the time since the last call to this stage. */
static inline void gw_stages_end(gw_stages *stages, gw_stage stage)
{
    if (!stages->counts)
        return;
    int64_t now = gw_now_ns();
    stages->us[stage] += (double)(now - stages->mark) / 1e3;
    stages->mark = now;
}

/* The stage that took longest. */
static inline gw_stage gw_stages_longest(const gw_stages *stages)
{
    int longest = 0;
    for (int i = 1; i < GW_STAGE_COUNT; i++)
        longest = stages->us[i] > stages->us[longest] ? i : longest;
    return (gw_stage)longest;
}

#endif
