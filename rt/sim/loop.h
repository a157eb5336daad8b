/*
 * The loop: a simulation on a thread of its own at its rate, SCHED_FIFO where granted, absolute
 * deadlines. It shares five things with the rest and waits for nobody: a ring of commands in, the
 * halt latch, the operator's lease, a mailbox with the newest snapshot out, rings of per-tick
 * records, events and retired memory out. A second thread detects collision candidates
 * (detection.h) at the rate of the scene's contacts. A third, the watchdog, runs above the loop and
 * brings the devices' last commands down to nothing when the loop's heartbeat stops.
 *
 * One thread (or one lock) sends commands and collects retired memory and events; one thread (or
 * one lock) reads snapshots; one thread reads records.
 */
#ifndef GW_SIM_LOOP_H
#define GW_SIM_LOOP_H

#include "rt/sim/halt_latch.h"
#include "rt/sim/fault_log.h"
#include "rt/sim/lease.h"
#include "rt/sim/simulation.h"

typedef struct gw_loop gw_loop;

/* Where the loop's thread runs, and how it waits; zeros: anywhere, asleep. */
typedef struct gw_loop_placement {
    bool pinned;
    int processor; /* where it is pinned to */
    int spin_us;   /* awake for so long before each deadline, at most GW_SPIN_MAX_US */
} gw_loop_placement;

/* A real-time thread that takes more than 95 % of a processor is stopped by the system. */
#define GW_SPIN_MAX_US 100

typedef struct gw_loop_def {
    int rate;         /* Hz, GW_RATE_MIN_HZ .. GW_RATE_MAX_HZ; 0: 1000 */
    int priority;     /* of SCHED_FIFO; 0: 80 */
    bool best_effort; /* do not ask for SCHED_FIFO */
    gw_loop_placement placement;
    gw_halt_latch *halt;   /* outlives the loop; NULL: one of its own */
    gw_lease *lease;       /* of the operator, outlives the loop; NULL: nobody has one */
    gw_fault_log *faults;  /* the ticks before them; outlives the loop; NULL: none are kept */
    gw_scenario *scenario; /* ownership passes */
} gw_loop_def;

gw_loop_def gw_loop_def_default(void);

/* Takes all memory, starts the thread stopped at tick 0. NULL with an error. */
gw_loop *gw_loop_create(const gw_loop_def *def, gw_error *error);

/* A loop that stands for longer is a force-off where a device is latched; by then devices exert
 * nothing any more. */
#define GW_STALL_NS 20000000

/* Stops the thread, devices to their safe state, frees everything but the device slots. */
void gw_loop_destroy(gw_loop *loop);

/* Queues a command; false when the ring is full (the caller keeps ownership). Never blocks. Halting
 * and arming go to the latch, past the ring: gw_halt_latch_halt() may be called from any thread. */
bool gw_loop_send(gw_loop *loop, const gw_command *command);

/* Frees what the loop has handed back. Call now and then from the sending thread. */
void gw_loop_collect(gw_loop *loop);

/* Returns once no thread of the loop uses a device that the newest snapshot's scenario does not
 * have: before such a device is closed. */
void gw_loop_release_devices(gw_loop *loop);

/* Copies the newest snapshot: of its arrays as many entries as they have. Never blocks, never torn.
 * Whether and why it is halted is as the latch has it now. */
void gw_loop_snapshot(gw_loop *loop, gw_snapshot *snapshot);

/* The newest snapshot in place, until the next call of this or of gw_loop_snapshot(): for a few
 * numbers out of it. */
const gw_snapshot *gw_loop_latest(gw_loop *loop);

/* The oldest event not yet taken; false when there is none. */
bool gw_loop_event(gw_loop *loop, gw_event *event);

/* At most `capacity` per-tick snapshots, oldest first; *lost counts the ticks that were dropped
 * since the last call because nobody read. Without followers. Written only while asked for. */
void gw_loop_record(gw_loop *loop, bool on);
int gw_loop_records(gw_loop *loop, gw_snapshot *records, int capacity, uint64_t *lost);

/* How the loop does, and what the system grants it. */
typedef struct gw_loop_figures {
    int rate, priority; /* Hz; of SCHED_FIFO, 0 where it is not granted */
    bool memory_locked;
    bool kept_awake; /* the processors do not sleep deeply: asked for while devices may push */
    int thread_id;
    gw_loop_placement placement; /* pinned: where that was granted */
    uint64_t records_lost;       /* ticks that a reader of every tick did not get */
    uint64_t events_lost;        /* that nobody took in time */
    uint64_t commands_refused;   /* the ring was full */
    double sample_age_us;        /* since every device gave a valid sample; 0: there is no device */
    gw_tick_figures ticks;
} gw_loop_figures;

/* As of the last 64 ticks. On the thread that reads snapshots. */
void gw_loop_figures_read(gw_loop *loop, gw_loop_figures *figures);

/* The rt thread's malloc counter hook is not here: tests interpose malloc and ask for the id. */
int gw_loop_thread_id(const gw_loop *loop);

#endif
