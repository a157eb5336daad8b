/*
 * Log of the ticks before each fault: the newest GW_FAULT_TICKS ticks are recorded, and the record
 * is kept when devices are forced off or halted, with cause and time. It outlives every loop. One
 * loop's thread at a time writes, RT safe (`writing`); any thread reads without blocking it.
 */
#ifndef GW_SIM_FAULT_LOG_H
#define GW_SIM_FAULT_LOG_H

#include "rt/sim/halt_latch.h"
#include "rt/sim/simulation.h"

#define GW_FAULT_TICKS 1000
#define GW_FAULTS_KEPT 4 /* the newest ones */

/* State of a tool in a tick, task space. */
typedef struct gw_fault_tool {
    gw_pose tool, device;
    gw_twist twist;
    gw_wrench operator, constraint, command;
    bool limited, clutched, dragging;
} gw_fault_tool;

typedef struct gw_fault_tick {
    uint64_t tick;
    int64_t at_ns; /* CLOCK_MONOTONIC at the tick's start */
    double stage_us[GW_STAGE_COUNT];
    gw_run_state state;
    bool moving, halted;
    uint64_t missed;
    int tool_count;
    gw_fault_tool tools[GW_MAX_TOOLS];
} gw_fault_tick;

/* A record: the one being written, or one that is kept. */
typedef struct gw_fault {
    atomic_uint number; /* from 1; 0: not kept */
    gw_halt_record why;
    uint64_t count; /* ticks ever written; tick n is at n % GW_FAULT_TICKS */
    gw_fault_tick ticks[GW_FAULT_TICKS];
} gw_fault;

typedef struct gw_fault_log {
    atomic_bool writing; /* lock of the writing thread, held while a tick is written */
    gw_fault faults[GW_FAULTS_KEPT + 1];
    atomic_uint kept; /* number of the newest fault */
    int filling;
    bool aside; /* the present halt is already kept */
} gw_fault_log;

/* Allocates and touches its memory; the first fault has the number after `last`. NULL: no memory.
 * Any thread. */
gw_fault_log *gw_fault_log_create(unsigned last);
void gw_fault_log_destroy(gw_fault_log *log); /* NULL is fine; after every loop that has it */

/* Records a tick. */
void gw_fault_log_add(gw_fault_log *log, const gw_snapshot *made, const gw_stages *stages,
                      int64_t at_ns);

/* Called after every tick: keeps the record once for each halt of the latch. */
void gw_fault_log_watch(gw_fault_log *log, const gw_halt_latch *halt);

/* The numbers of the faults kept, oldest first; returns how many. */
int gw_fault_log_numbers(const gw_fault_log *log, unsigned numbers[GW_FAULTS_KEPT]);

/* Copies fault `number`: at most GW_FAULT_TICKS ticks, oldest first. Returns their number; -1: not
 * kept. `ticks` NULL: counts them only. */
int gw_fault_log_read(const gw_fault_log *log, unsigned number, gw_halt_record *why,
                      gw_fault_tick *ticks);

#endif
