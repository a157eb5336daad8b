/*
 * The loop: a simulation on a thread of its own at its rate, SCHED_FIFO where granted, with
 * absolute deadlines. It communicates without blocking: a ring of commands in, the halt latch, the
 * operator's lease, a mailbox with the newest snapshot out, and rings of per-tick records, events
 * and retired memory out. A second thread detects collision candidates (detection.h) at the rate of
 * the scene's contacts. A third, the watchdog, has a higher priority than the loop and ramps the
 * devices' last commands down to zero when the loop's heartbeat stops. A fourth, the standby, has a
 * processor to itself among those of the loop: it makes a tick that the loop's thread has not begun
 * a quarter of a period after its deadline, as happens where a hypervisor stops one of the
 * processors or the kernel cannot be preempted. There is none where SCHED_FIFO is not granted, the
 * loop is pinned to a processor, or the machine has only one.
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

/* Processor of the loop's thread and how it waits; all zero: any processor but the standby's,
 * sleeping. */
typedef struct gw_loop_placement {
    bool pinned;
    int processor; /* to which it is pinned */
    int spin_us;   /* busy wait before each deadline (us), at most GW_SPIN_MAX_US */
} gw_loop_placement;

/* A real-time thread that takes more than 95 % of a processor is stopped by the system. */
#define GW_SPIN_MAX_US 100

typedef struct gw_loop_def {
    int rate;         /* Hz, GW_RATE_MIN_HZ .. GW_RATE_MAX_HZ; 0: 1000 */
    int priority;     /* of SCHED_FIFO; 0: 80 */
    bool best_effort; /* does not request SCHED_FIFO */
    gw_loop_placement placement;
    gw_halt_latch *halt;   /* outlives the loop; NULL: one of its own */
    gw_lease *lease;       /* the operator's lease, outlives the loop; NULL: none */
    gw_fault_log *faults;  /* outlives the loop; NULL: no log */
    gw_scenario *scenario; /* ownership passes */
} gw_loop_def;

gw_loop_def gw_loop_def_default(void);

/* Allocates all memory and starts the threads; the simulation is stopped at tick 0. NULL with an
 * error. */
gw_loop *gw_loop_create(const gw_loop_def *def, gw_error *error);

/* A loop that stalls for longer (ns) forces latched devices off; by then commands are ramped down
 * to zero. */
#define GW_STALL_NS 20000000

/* Stops the threads, puts devices into their safe state and frees everything except the device
 * slots. */
void gw_loop_destroy(gw_loop *loop);

/* Queues a command; false when the ring is full (the caller keeps ownership). Never blocks. Halting
 * and arming do not use the ring: gw_halt_latch_halt() may be called from any thread. */
bool gw_loop_send(gw_loop *loop, const gw_command *command);

/* Frees memory retired by the loop. To be called regularly on the sending thread. */
void gw_loop_collect(gw_loop *loop);

/* Waits until no thread of the loop uses a device that the newest snapshot's scenario does not
 * have; call it before such a device is closed. */
void gw_loop_release_devices(gw_loop *loop);

/* Copies the newest snapshot, of its arrays only the entries in use. Never blocks, never torn. The
 * halt state is that of the latch at the time of the call. */
void gw_loop_snapshot(gw_loop *loop, gw_snapshot *snapshot);

/* The newest snapshot in place, valid until the next call of this or of gw_loop_snapshot(). */
const gw_snapshot *gw_loop_latest(gw_loop *loop);

/* The oldest event not yet taken; false when there is none. */
bool gw_loop_event(gw_loop *loop, gw_event *event);

/* At most `capacity` per-tick snapshots, oldest first; *lost counts the ticks that were dropped
 * since the last call because nobody read. Without followers. Written only while asked for; the
 * first request takes some 10 ms and 29 MB. Calls of gw_loop_record() may not overlap. */
void gw_loop_record(gw_loop *loop, bool on);
int gw_loop_records(gw_loop *loop, gw_snapshot *records, int capacity, uint64_t *lost);

/* Timing figures of the loop, and the scheduling granted by the operating system. */
typedef struct gw_loop_figures {
    int rate, priority; /* Hz; of SCHED_FIFO, 0 if not granted */
    bool memory_locked;
    bool kept_awake; /* deep idle states are disabled: requested while devices may exert force */
    int thread_id;
    gw_loop_placement placement; /* `pinned` only if granted */
    uint64_t relieved;           /* ticks that the standby made */
    uint64_t records_lost;       /* ticks missing in gw_loop_records() */
    uint64_t events_lost;        /* events not taken in time */
    uint64_t commands_refused;   /* the ring was full */
    double sample_age_us; /* age of the last tick with valid samples of all devices; 0: no device */
    gw_tick_figures ticks;
} gw_loop_figures;

/* Updated every 64 ticks. On the thread that reads snapshots. */
void gw_loop_figures_read(gw_loop *loop, gw_loop_figures *figures);

#endif
