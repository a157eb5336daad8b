/*
 * The ticks before every fault: the newest GW_FAULT_TICKS are kept as they are made, and set aside
 * when devices are forced off or halted, with cause and time. It outlives every loop. The loop's
 * thread writes, RT safe, one at a time (`writing`); any thread reads, without holding it up.
 */
#ifndef GW_SIM_FAULT_LOG_H
#define GW_SIM_FAULT_LOG_H

#include "rt/sim/halt_latch.h"
#include "rt/sim/simulation.h"

#define GW_FAULT_TICKS 1000
#define GW_FAULTS_KEPT 4 /* the newest ones */

/* A tool in a tick, task space. */
typedef struct gw_fault_tool {
    gw_pose tool, device;
    gw_twist twist;
    gw_wrench operator, constraint, command;
    bool limited, clutched, dragging;
} gw_fault_tool;

typedef struct gw_fault_tick {
    uint64_t tick;
    int64_t at_ns; /* CLOCK_MONOTONIC, as it began */
    double stage_us[GW_STAGE_COUNT];
    gw_run_state state;
    bool moving, halted;
    uint64_t missed;
    int tool_count;
    gw_fault_tool tools[GW_MAX_TOOLS];
} gw_fault_tick;

/* One that is being filled, or one that was set aside. */
typedef struct gw_fault {
    atomic_uint number; /* from 1; 0: not set aside (any more) */
    gw_halt_record why;
    uint64_t count; /* ticks ever written; tick n is at n % GW_FAULT_TICKS */
    gw_fault_tick ticks[GW_FAULT_TICKS];
} gw_fault;

typedef struct gw_fault_log {
    atomic_bool writing; /* a loop's thread is: taken and given back around each tick's writing */
    gw_fault faults[GW_FAULTS_KEPT + 1];
    atomic_uint kept; /* so far */
    int filling;
    bool aside; /* the halt that holds is kept already */
} gw_fault_log;

/* Takes its memory, and brings its pages in. NULL: memory. Any thread. */
gw_fault_log *gw_fault_log_create(void);
void gw_fault_log_destroy(gw_fault_log *log); /* NULL is fine; after every loop that has it */

/* A tick was made. */
void gw_fault_log_add(gw_fault_log *log, const gw_snapshot *made, const gw_stages *stages,
                      int64_t at_ns);

/* Sets the ticks aside once for a halt: called after every tick, with what the latch says. */
void gw_fault_log_watch(gw_fault_log *log, const gw_halt_latch *halt);

/* The numbers of the faults that are kept, the oldest first. */
int gw_fault_log_numbers(const gw_fault_log *log, unsigned numbers[GW_FAULTS_KEPT]);

/* Copies fault `number`: at most GW_FAULT_TICKS ticks, the oldest first. How many; -1: it is not
 * kept (any more). `ticks` NULL: only counts them. */
int gw_fault_log_read(const gw_fault_log *log, unsigned number, gw_halt_record *why,
                      gw_fault_tick *ticks);

#endif
