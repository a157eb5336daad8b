/*
 * A simulation on a thread of its own. The thread takes commands from a ring, ticks at absolute
 * deadlines, and puts snapshots, events, records and retired memory into a mailbox and rings; it
 * takes no lock, does not allocate, and waits only for its next deadline. A standby thread on
 * another processor makes the ticks that the first one has not begun in time (turn.h).
 */
#include "rt/sim/loop.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "rt/base/clock.h"
#include "rt/base/fetch.h"
#include "rt/base/mailbox.h"
#include "rt/base/real_time.h"
#include "rt/base/ring.h"
#include "rt/sim/detection.h"
#include "rt/sim/scenario_private.h"
#include "rt/sim/turn.h"

#define DEFAULT_RATE      1000
#define DEFAULT_PRIORITY  80
#define COMMANDS_PER_TICK 32      /* the rest waits for the next tick, to bound its time */
#define FIGURES_PERIOD    63      /* ticks between two updates of the figures */
#define AHEAD_SHARE       0.6     /* of a period: limit of single steps, for other threads */
#define AHEAD_WAIT_NS     20000   /* until the world's thread is checked again */
#define REHEARSAL_SHARE   0.25    /* of a period: largest time between waking and the deadline */
#define REHEARSAL_MOST_NS 100000  /* and its bound: the thread is awake then in every period */
#define WAKING_STEP_NS    1000    /* increase of the margin after a late waking; decrease: */
#define WAKES             200     /* by this part of it: it suffices for all but one of 200 */
#define WORLD_PERIOD_NS   5000000 /* while there is nothing to detect */
#define RELIEF_SHARE      0.25    /* of a period after its deadline: the standby makes the tick */
#define WATCH_NS          1000000 /* of the watchdog, while a device is watched */
#define WATCH_IDLE_NS     20000000
#define RAMP_MIN_NS       4000000       /* least duration of the ramp to zero */
#define STACK_BYTES       (2048 * 1024) /* sanitizers need a part of it */
#define RECORD_BYTES      offsetof(gw_snapshot, followers)

struct gw_loop {
    gw_simulation *simulation;
    const gw_snapshot *made; /* the simulation's snapshot of its last tick */
    gw_stages *stages;       /* likewise */
    int rate, priority;
    bool best_effort;
    gw_loop_placement placement;
    atomic_bool real_time, pinned;
    gw_halt_latch *halt, own_halt;
    gw_lease *lease, own_lease;
    gw_turn turn;        /* whose holder alone uses what is marked: turn */
    int64_t waking_ns;   /* margin for waking before a rehearsal; turn */
    atomic_llong lead;   /* time awake before the next deadline (ns) */
    gw_halt_word heeded; /* the latch word last applied to the simulation; turn */
    int latency_fd;      /* /dev/cpu_dma_latency, held while deep idle states are disabled, else -1;
                            world's thread only */
    bool awake_wanted;   /* likewise */
    atomic_bool kept_awake, forces; /* deep idle states are disabled; devices may exert force */
    pthread_t thread, standby, world, watchdog;
    bool has_standby;
    atomic_ullong relieved; /* ticks of the standby */
    sem_t detect_now;       /* posted when bodies were published, or the loop waits for results */
    atomic_bool awaits;     /* the loop waits for results */
    pthread_mutex_t detecting; /* held while the world thread detects, or a scenario is destroyed */
    pthread_mutex_t watching;  /* held while the watchdog uses devices */
    _Atomic(const gw_scenario *) scenario; /* the scenario whose devices the watchdog checks */
    atomic_llong heartbeat;                /* time of the devices' last command (ns); 0: none */
    _Atomic(gw_detection *) detection;
    atomic_bool stop, recording;
    atomic_int thread_id;
    atomic_ullong lost; /* records dropped as the ring was full */
    atomic_ullong events_lost, commands_refused;
    atomic_llong
        sampled; /* time of the last tick with valid samples of all devices (ns); 0: no device */
    gw_fault_log *faults; /* NULL: no log */
    uint64_t lost_reported;
    gw_ring commands, retired, events, records;
    gw_mailbox snapshots, figures;
    bool memory_locked;
    unsigned until_figures; /* ticks; turn */
    unsigned char *memory;  /* of rings and mailboxes, mapped */
    size_t memory_bytes;
    bool can_record; /* the ring of records has its pages */
};

gw_loop_def gw_loop_def_default(void)
{
    return (gw_loop_def){.rate = DEFAULT_RATE, .priority = DEFAULT_PRIORITY};
}

/* ---- the thread ----------------------------------------------------------------------------- */

static int64_t period_ns(const gw_loop *loop)
{
    return 1000000000 / loop->rate;
}

/* Applies a changed latch. */
__attribute__((cold)) static void follow_latch(gw_loop *loop, bool halted)
{
    gw_command retired, command = {.kind = halted ? GW_COMMAND_HALT : GW_COMMAND_ARM};
    gw_simulation_apply(loop->simulation, &command, &retired);
}

/* Halts or arms the simulation as the latch requires; returns the word that this tick uses. */
static gw_halt_word apply_halt_latch(gw_loop *loop)
{
    gw_halt_word now = gw_halt_latch_now(loop->halt);
    if (gw_halt_word_halted(now) != gw_halt_word_halted(loop->heeded))
        follow_latch(loop, gw_halt_word_halted(now));
    return loop->heeded = now;
}

/* Publishes the scenario's data to the other two threads. */
static void show_scenario(gw_loop *loop)
{
    atomic_store_explicit(&loop->detection, gw_simulation_detection(loop->simulation),
                          memory_order_release);
    atomic_store_explicit(&loop->scenario, gw_simulation_scenario(loop->simulation),
                          memory_order_release);
}

/* Commands wait while the ring of retired memory has no room. */
static void take_commands(gw_loop *loop)
{
    gw_command command, retired;
    for (int i = 0; i < COMMANDS_PER_TICK && !gw_ring_full(&loop->retired) &&
                    gw_ring_pop(&loop->commands, &command);
         i++) {
        gw_simulation_apply(loop->simulation, &command, &retired);
        show_scenario(loop); /* before the old one may be destroyed */
        if (retired.kind != GW_COMMAND_STATE)
            gw_ring_push(&loop->retired, &retired);
    }
}

/* Skips empty arrays, as a branch costs less than a call. */
#define COPY_ENTRIES(to, from, array, count)                                                       \
    do {                                                                                           \
        if ((count) > 0)                                                                           \
            memcpy((to)->array, (from)->array, (size_t)(count) * sizeof *(from)->array);           \
    } while (0)

/* Copies the members that records have. Not inlined, so that a rehearsal executes the same
 * instructions. */
__attribute__((noinline)) static void copy_values(gw_snapshot *to, const gw_snapshot *s)
{
    memcpy(to, s, offsetof(gw_snapshot, halt));
    for (int i = 0; i < s->tool_count; i++)
        memcpy(&to->tools[i], &s->tools[i],
               s->tools[i].renders ? sizeof *s->tools : offsetof(gw_tool_state, command));
    COPY_ENTRIES(to, s, q, s->joint_count);
    COPY_ENTRIES(to, s, v, s->joint_count);
}

/* Copies scalars and the used entries of arrays; pages without entries are not touched. */
static void copy_snapshot(gw_snapshot *to, const gw_snapshot *s)
{
    uint64_t hits = s->hit_count < GW_MAX_SHOWN_COLLISIONS ? s->hit_count : GW_MAX_SHOWN_COLLISIONS;
    uint64_t states = s->collision_count < GW_MAX_SHOWN_COLLISION_STATES
                          ? s->collision_count
                          : GW_MAX_SHOWN_COLLISION_STATES;
    copy_values(to, s);
    if (s->joint_count > 0) {
        COPY_ENTRIES(to, s, links, s->joint_count);
        COPY_ENTRIES(to, s, link_twists, s->joint_count);
        COPY_ENTRIES(to, s, link_dragged, s->joint_count);
    }
    COPY_ENTRIES(to, s, followers, s->follower_count);
    COPY_ENTRIES(to, s, coordinates, s->coordinate_count);
    COPY_ENTRIES(to, s, rates, s->coordinate_count);
    COPY_ENTRIES(to, s, joint_wrenches, s->scene_joint_count);
    COPY_ENTRIES(to, s, link_wrenches, s->joint_count);
    COPY_ENTRIES(to, s, free, s->free_count);
    COPY_ENTRIES(to, s, contacts, s->contact_count);
    COPY_ENTRIES(to, s, hits, hits);
    COPY_ENTRIES(to, s, collisions, states);
    COPY_ENTRIES(to, s, followed, s->followed_count);
}

/* Warms the caches for publishing: a reader on another processor had the buffer of this tick last,
 * others read the latch, and other programs have used this processor's caches. The former values
 * are written to the buffer before the tick begins, and other data to be written are prefetched. */
static void rehearse_publishing(gw_loop *loop)
{
    const gw_snapshot *s = loop->made;
    gw_snapshot *to = gw_mailbox_back(&loop->snapshots);
    copy_values(to, s);
    gw_fetch(to->followers, to->followers + s->follower_count);
    gw_fetch(to->free, to->free + s->free_count);
    gw_fetch(to->contacts, to->contacts + s->contact_count);
    gw_fetch(to->followed, to->followed + s->followed_count);
    gw_fetch(&loop->snapshots.middle, &loop->snapshots.middle + 1);
    if (atomic_load_explicit(&loop->recording, memory_order_relaxed) &&
        (to = gw_ring_back(&loop->records)))
        gw_fetch(to, to->tools + s->tool_count);
    gw_fetch(&loop->halt->heeded, &loop->halt->heeded + 1);
}

/* Updates the margin for waking (ns): a quantile of the time that waking took, approached in small
 * steps. */
static void update_wake_margin(gw_loop *loop, int64_t ns, int64_t most)
{
    int64_t left =
        loop->waking_ns + (ns > loop->waking_ns ? WAKING_STEP_NS : -WAKING_STEP_NS / WAKES);
    loop->waking_ns = left < 0 ? 0 : left > most ? most : left;
}

/* The rehearsal of the next tick, where that moves and a rehearsal takes a small share of the
 * period. */
typedef struct {
    gw_rehearsal *rehearsal;  /* NULL: none */
    int64_t cost_ns, most_ns; /* its duration; the largest margin for waking before it */
} rehearsing;

static rehearsing plan_rehearsal(const gw_loop *loop)
{
    const int64_t share = (int64_t)(REHEARSAL_SHARE * (double)period_ns(loop));
    rehearsing plan = {.rehearsal = loop->made->moving && loop->real_time
                                        ? gw_simulation_scenario(loop->simulation)->rehearsal
                                        : NULL};
    if (!plan.rehearsal)
        return plan;
    plan.cost_ns = gw_rehearsal_cost_ns(plan.rehearsal);
    plan.most_ns = (share < REHEARSAL_MOST_NS ? share : REHEARSAL_MOST_NS) - 2 * plan.cost_ns;
    return plan.most_ns > 0 ? plan : (rehearsing){0};
}

/* Time awake before the next deadline: for a rehearsal, or the requested one, limited to a share of
 * the period. */
static void plan_waking(gw_loop *loop)
{
    const int64_t spin = 1000 * (int64_t)loop->placement.spin_us, most = period_ns(loop) / 4;
    int64_t lead = spin < most ? spin : most;
    rehearsing plan = plan_rehearsal(loop);
    if (plan.rehearsal && loop->waking_ns + 2 * plan.cost_ns > lead)
        lead = loop->waking_ns + 2 * plan.cost_ns;
    atomic_store_explicit(&loop->lead, lead, memory_order_relaxed);
}

/* After waking at `woken` instead of `lead` before the deadline: rehearses if there is time. */
static void rehearse(gw_loop *loop, int64_t deadline, int64_t lead, int64_t woken)
{
    rehearsing plan = plan_rehearsal(loop);
    if (plan.rehearsal) {
        update_wake_margin(loop, woken - (deadline - lead), plan.most_ns);
        if (woken + plan.cost_ns < deadline) {
            gw_rehearsal_tick(plan.rehearsal);
            gw_rehearsal_took(plan.rehearsal, gw_now_ns() - woken);
        }
        gw_simulation_fetch(loop->simulation);
    }
    rehearse_publishing(loop);
}

/* Sleeps, rehearses and spins until the deadline; true if the thread then has the turn. While it
 * spins it does not have it, as it may be kept from its processor. */
static bool wait_for_tick(gw_loop *loop, int64_t deadline)
{
    int64_t lead = atomic_load_explicit(&loop->lead, memory_order_relaxed);
    gw_sleep_until(deadline - lead);
    int64_t woken = gw_now_ns();
    if (!gw_turn_take(&loop->turn, deadline))
        return false;
    rehearse(loop, deadline, lead, woken);
    if (gw_now_ns() >= deadline)
        return true;
    gw_turn_give(&loop->turn, deadline);
    gw_spin_until(deadline);
    return gw_turn_take(&loop->turn, deadline);
}

/* Records the tick for gw_loop_records(). */
static void push_record(gw_loop *loop)
{
    gw_snapshot *to = gw_ring_back(&loop->records); /* its first RECORD_BYTES */
    if (!to) {
        atomic_fetch_add_explicit(&loop->lost, 1, memory_order_relaxed);
        return;
    }
    copy_values(to, loop->made);
    gw_ring_give(&loop->records);
}

static void publish_snapshot(gw_loop *loop)
{
    gw_event events[16];
    copy_snapshot(gw_mailbox_back(&loop->snapshots), loop->made);
    gw_mailbox_give(&loop->snapshots);
    if (atomic_load_explicit(&loop->recording, memory_order_relaxed))
        push_record(loop);
    int count = gw_simulation_events(loop->simulation, events, 16);
    for (int i = 0; i < count; i++)
        if (!gw_ring_push(&loop->events, &events[i]))
            atomic_fetch_add_explicit(&loop->events_lost, 1, memory_order_relaxed);
}

/* Forces latched devices off if the devices had no command for too long. */
static void force_off_stalled(gw_loop *loop)
{
    if (gw_simulation_scenario(loop->simulation)->latched)
        gw_halt_latch_halt(loop->halt, GW_HALT_OVERRUN, "loop");
}

/* If the operator's lease has expired: ends drags and pushes and halts if a device is latched. */
static void watch_operator(gw_loop *loop, int64_t now)
{
    gw_lease_holder holder;
    if (!gw_lease_lapse(loop->lease, now))
        return;
    gw_simulation_end_drags(loop->simulation);
    if (!gw_simulation_scenario(loop->simulation)->latched ||
        gw_halt_word_halted(gw_halt_latch_now(loop->halt)))
        return;
    gw_lease_read(loop->lease, &holder);
    gw_halt_latch_halt(loop->halt, GW_HALT_DEAD_MAN, holder.by);
}

/* Reports the tick to the latch: acknowledges this word, or halts for a reason that the tick
 * found. */
static void report_to_latch(gw_loop *loop, gw_halt_word heeded)
{
    gw_halt_cause cause;
    const gw_snapshot *made = loop->made;
    if (!gw_halt_word_halted(heeded) && gw_simulation_forced_off(loop->simulation, &cause))
        gw_halt_latch_halt(loop->halt, cause, "loop");
    gw_halt_latch_acknowledge(loop->halt, heeded, made->tick, (int)made->state);
    bool forces = made->state == GW_RUNNING && !gw_halt_word_halted(heeded) &&
                  gw_simulation_scenario(loop->simulation)->slot_count > 0;
    if (forces != atomic_load_explicit(&loop->forces, memory_order_relaxed))
        atomic_store_explicit(&loop->forces, forces, memory_order_relaxed);
}

/* Publishes figures after the first tick and then every FIGURES_PERIOD ticks. */
static void publish_figures(gw_loop *loop)
{
    if (loop->until_figures-- > 0)
        return;
    loop->until_figures = FIGURES_PERIOD;
    gw_simulation_figures(loop->simulation, gw_mailbox_back(&loop->figures));
    gw_mailbox_give(&loop->figures);
}

/* Wakes the world's thread if bodies were published, or if results that are due in the next tick
 * are missing; it then does not rest. True if the results are there. */
static bool has_detected(gw_loop *loop)
{
    gw_detection *detection = gw_simulation_detection(loop->simulation);
    bool ready = !detection || gw_detection_ready(detection);
    bool begins = !ready && !atomic_load_explicit(&loop->awaits, memory_order_relaxed);
    if (ready != !atomic_load_explicit(&loop->awaits, memory_order_relaxed))
        atomic_store(&loop->awaits, !ready);
    if (detection && (gw_detection_asked(detection) || begins))
        sem_post(&loop->detect_now);
    return ready;
}

/* Requested ticks of a paused simulation, in sequence until `end`: at most a share of the period,
 * so that commands, halts and other threads are served. */
static void step_ahead(gw_loop *loop, int64_t end)
{
    while (gw_simulation_steps_ahead(loop->simulation) && gw_now_ns() < end &&
           gw_halt_latch_now(loop->halt) == loop->heeded) {
        if (!has_detected(loop)) {
            gw_sleep_until(gw_now_ns() + AHEAD_WAIT_NS);
            continue;
        }
        gw_simulation_tick(loop->simulation);
        publish_snapshot(loop);
    }
}

/* Records the tick in the fault log. */
static void keep_tick(gw_loop *loop, int64_t begin, int64_t written)
{
    const gw_simulation *s = loop->simulation;
    int64_t sampled = gw_simulation_scenario(s)->tool_count > 0 ? written : 0;
    if (gw_simulation_sampled(s))
        atomic_store_explicit(&loop->sampled, sampled, memory_order_relaxed);
    if (!loop->faults)
        return;
    /* Two loops may run for a moment when one replaces another: the second one skips the log. */
    if (atomic_exchange_explicit(&loop->faults->writing, true, memory_order_acquire))
        return;
    gw_fault_log_add(loop->faults, loop->made, loop->stages, begin);
    gw_fault_log_watch(loop->faults, loop->halt);
    atomic_store_explicit(&loop->faults->writing, false, memory_order_release);
}

/* Makes the tick of this deadline and gives the turn back. */
static void make_tick(gw_loop *loop, int64_t deadline)
{
    const int64_t period = period_ns(loop);
    gw_stages *stages = loop->stages;
    int64_t begin = gw_now_ns();
    if (begin - deadline > GW_STALL_NS)
        force_off_stalled(loop);
    gw_stages_begin(stages, begin, (double)(begin - deadline) / 1e3);
    watch_operator(loop, begin);
    gw_halt_word halt = apply_halt_latch(loop);
    take_commands(loop);
    gw_stages_end(stages, GW_STAGE_COMMANDS);
    gw_simulation_tick(loop->simulation);
    int64_t written = stages->mark;
    atomic_store_explicit(&loop->heartbeat, written, memory_order_release);
    if (written - begin > GW_STALL_NS)
        force_off_stalled(loop); /* the command just written is the last one */
    publish_snapshot(loop);
    report_to_latch(loop, halt);
    gw_stages_end(stages, GW_STAGE_PUBLISH);
    keep_tick(loop, begin, written);
    int64_t end = gw_now_ns();
    /* ticks that became due meanwhile are skipped and counted, not made up for */
    int64_t missed = end > deadline + period ? (end - deadline) / period : 0;
    gw_tick_timing timing = {.tick_us = (double)(end - begin) / 1e3,
                             .late_us = (double)(begin - deadline) / 1e3,
                             .missed = (uint64_t)missed,
                             .overrun = end - begin > period || begin - deadline > period,
                             .real_time = loop->real_time};
    gw_simulation_timing(loop->simulation, &timing);
    publish_figures(loop);
    stages->counts = false;
    has_detected(loop);
    step_ahead(loop, begin + (int64_t)(AHEAD_SHARE * (double)period));
    plan_waking(loop);
    gw_turn_give(&loop->turn, deadline + period * (1 + missed));
}

/* Waits while another thread has the turn, checking every period; the deadline of the next tick. */
static int64_t await_turn(gw_loop *loop)
{
    const int64_t period = period_ns(loop);
    bool taken;
    int64_t deadline = gw_turn_deadline(&loop->turn, &taken);
    while (taken) {
        int64_t now = gw_now_ns();
        gw_sleep_until(now + period - (now - deadline) % period);
        deadline = gw_turn_deadline(&loop->turn, &taken);
    }
    return deadline;
}

static void *loop_thread(void *arg)
{
    gw_loop *loop = arg;
    const int64_t period = period_ns(loop);
    gw_prefault_stack();
    loop->pinned = loop->placement.pinned && gw_claim_processor(loop->placement.processor);
    loop->real_time = !loop->best_effort && gw_claim_priority(loop->priority);
    if (loop->real_time && loop->has_standby)
        gw_avoid_last_processor();
    atomic_store(&loop->thread_id, (int)syscall(SYS_gettid));
    plan_waking(loop);
    /* offset by half a period from its multiples, where kernels have their tick interrupts */
    gw_turn_give(&loop->turn, (gw_now_ns() / period + 1) * period + period / 2);
    while (!atomic_load_explicit(&loop->stop, memory_order_acquire)) {
        int64_t deadline = await_turn(loop);
        if (wait_for_tick(loop, deadline))
            make_tick(loop, deadline);
    }
    return NULL;
}

/* The standby's thread: makes the ticks that the loop's thread has not begun a share of the period
 * after their deadline, as the kernel or a hypervisor keeps it from its processor. */
static void *standby_thread(void *arg)
{
    gw_loop *loop = arg;
    const int64_t period = period_ns(loop), relief = (int64_t)(RELIEF_SHARE * (double)period);
    gw_prefault_stack();
    if (!gw_claim_priority(loop->priority) || !gw_claim_last_processor())
        return NULL;
    while (!atomic_load_explicit(&loop->stop, memory_order_acquire)) {
        bool taken;
        int64_t deadline = gw_turn_deadline(&loop->turn, &taken), now = gw_now_ns();
        if (taken || deadline == 0) {
            deadline += period; /* of the tick after it, unless that one takes longer */
            gw_sleep_until(deadline > now ? deadline + relief : now + period);
        } else {
            gw_sleep_until(deadline + relief);
        }
        if (deadline > 0 && gw_turn_take(&loop->turn, deadline)) {
            atomic_fetch_add_explicit(&loop->relieved, 1, memory_order_relaxed);
            gw_simulation_fetch(loop->simulation);
            rehearse_publishing(loop);
            make_tick(loop, deadline);
        }
    }
    return NULL;
}

/* ---- the watchdog ---------------------------------------------------------------------------- */

/* The share of its last command that a device exerts `still_ns` after it was written: 1 for two
 * ticks, 0 from GW_STALL_NS - 2 WATCH_NS on, linear between. */
static double share_of_command(int64_t still_ns, int64_t period_ns)
{
    int64_t held = 2 * period_ns, ramp = GW_STALL_NS - 2 * WATCH_NS - held;
    ramp = ramp > RAMP_MIN_NS ? ramp : RAMP_MIN_NS;
    double share = 1 - (double)(still_ns - held) / (double)ramp;
    return share > 1 ? 1 : share > 0 ? share : 0;
}

/* Checks the loop's heartbeat once; returns the time until the next check (ns). */
static int64_t check_heartbeat(gw_loop *loop)
{
    int64_t period = period_ns(loop);
    bool watched = false;
    pthread_mutex_lock(&loop->watching);
    const gw_scenario *s = atomic_load_explicit(&loop->scenario, memory_order_acquire);
    int64_t heartbeat = atomic_load_explicit(&loop->heartbeat, memory_order_acquire);
    int64_t still = heartbeat ? gw_now_ns() - heartbeat : 0;
    double share = share_of_command(still, period);
    for (int i = 0; i < s->slot_count; i++) {
        const gw_driver *driver = s->slots[i]->driver;
        watched = watched || driver->attenuate;
        if (driver->attenuate && share < 1)
            driver->attenuate(s->slots[i]->device, share);
    }
    bool latched = s->latched;
    pthread_mutex_unlock(&loop->watching);
    if (latched && still > GW_STALL_NS + period)
        gw_halt_latch_halt(loop->halt, GW_HALT_WATCHDOG, "watchdog");
    return watched || latched ? WATCH_NS : WATCH_IDLE_NS;
}

/* The watchdog's thread, one priority above the loop, so that a loop that occupies its processor
 * does not block it. */
static void *watchdog_thread(void *arg)
{
    gw_loop *loop = arg;
    if (!loop->best_effort)
        gw_claim_priority(loop->priority + 1);
    while (!atomic_load_explicit(&loop->stop, memory_order_acquire))
        gw_sleep_until(gw_now_ns() + check_heartbeat(loop));
    return NULL;
}

/* ---- the world's thread --------------------------------------------------------------------- */

/* Waits until `ns`; true if the loop woke it before. */
static bool rest_until(gw_loop *loop, int64_t ns)
{
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    int woken;
    while ((woken = sem_clockwait(&loop->detect_now, CLOCK_MONOTONIC, &t)) != 0 && errno == EINTR)
        ;
    return woken == 0;
}

/* Disables deep idle states while devices may exert force, as waking from them takes longer than a
 * tick may be late. Optional: failure is no error. */
static void hold_wake_latency_low(gw_loop *loop, bool wanted)
{
    const int32_t none = 0;
    if (wanted == loop->awake_wanted)
        return;
    loop->awake_wanted = wanted;
    if (loop->latency_fd >= 0)
        close(loop->latency_fd);
    loop->latency_fd = wanted ? open("/dev/cpu_dma_latency", O_WRONLY | O_CLOEXEC) : -1;
    if (loop->latency_fd >= 0 && write(loop->latency_fd, &none, sizeof none) != sizeof none) {
        close(loop->latency_fd);
        loop->latency_fd = -1;
    }
    atomic_store(&loop->kept_awake, loop->latency_fd >= 0);
}

/* The world's thread: detects collision candidates when bodies were published, at a priority below
 * the loop only: an ordinary thread may be late by tens of milliseconds on a busy machine, which
 * would delay the loop or find bodies only after they overlap. It rests at least as long as it ran,
 * to leave processor time to others, unless the loop waits. */
static void *detection_thread(void *arg)
{
    gw_loop *loop = arg;
    if (!loop->best_effort)
        gw_claim_priority(loop->priority / 2);
    while (!atomic_load_explicit(&loop->stop, memory_order_acquire)) {
        int64_t begin = gw_now_ns();
        hold_wake_latency_low(loop, atomic_load_explicit(&loop->forces, memory_order_relaxed));
        pthread_mutex_lock(&loop->detecting);
        gw_detection *d = atomic_load_explicit(&loop->detection, memory_order_acquire);
        if (d)
            gw_detection_run(d);
        pthread_mutex_unlock(&loop->detecting);
        int64_t end = gw_now_ns(), rested = end + (end - begin);
        bool woken = false;
        while (rest_until(loop, rested)) {
            woken = true;
            if (atomic_load(&loop->awaits))
                break;
        }
        if (!woken)
            rest_until(loop, end + WORLD_PERIOD_NS);
    }
    return NULL;
}

/* Locks with priority inheritance: a thread that destroys a scenario while one of these threads
 * waits runs at that thread's priority. */
static void init_locks(gw_loop *loop)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setprotocol(&attr, PTHREAD_PRIO_INHERIT);
    pthread_mutex_init(&loop->detecting, &attr);
    pthread_mutex_init(&loop->watching, &attr);
    sem_init(&loop->detect_now, 0, 0);
    pthread_mutexattr_destroy(&attr);
}

static void finish_locks(gw_loop *loop)
{
    pthread_mutex_destroy(&loop->detecting);
    pthread_mutex_destroy(&loop->watching);
    sem_destroy(&loop->detect_now);
}

/* ---- creation and destruction --------------------------------------------------------------- */

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

static size_t round_to_cache_line(size_t bytes)
{
    return round_up(bytes, 64);
}

/* All rings and the mailboxes in one mapping. The records are its last and largest part, which most
 * loops never use: gw_loop_record() fills it in. */
static bool take_memory(gw_loop *loop)
{
    size_t commands = round_to_cache_line(GW_COMMAND_RING * sizeof(gw_command));
    size_t events = round_to_cache_line(GW_EVENT_RING * sizeof(gw_event));
    size_t snapshots = round_to_cache_line(3 * sizeof(gw_snapshot));
    size_t figures = round_to_cache_line(3 * sizeof(gw_tick_figures));
    size_t always = round_up(2 * commands + events + snapshots + figures, GW_PAGE_BYTES);
    size_t all = always + GW_RECORD_RING * RECORD_BYTES;
    unsigned char *m = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (m == MAP_FAILED)
        return false;
    gw_populate_pages(m, always);
    loop->memory = m;
    loop->memory_bytes = all;
    gw_ring_init(&loop->records, m + always, RECORD_BYTES, GW_RECORD_RING);
    gw_ring_init(&loop->commands, m, sizeof(gw_command), GW_COMMAND_RING);
    gw_ring_init(&loop->retired, m += commands, sizeof(gw_command), GW_COMMAND_RING);
    gw_ring_init(&loop->events, m += commands, sizeof(gw_event), GW_EVENT_RING);
    gw_mailbox_init(&loop->snapshots, m += events, sizeof(gw_snapshot), loop->made);
    gw_mailbox_init(&loop->figures, m += snapshots, sizeof(gw_tick_figures), &(gw_tick_figures){0});
    return true;
}

static bool start_threads(gw_loop *loop)
{
    void *(*const runs[])(void *) = {detection_thread, watchdog_thread, loop_thread,
                                     standby_thread};
    pthread_t *const threads[] = {&loop->world, &loop->watchdog, &loop->thread, &loop->standby};
    const int count = loop->has_standby ? 4 : 3;
    pthread_attr_t attr;
    int started = 0;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    while (started < count && pthread_create(threads[started], &attr, runs[started], loop) == 0)
        started++;
    pthread_attr_destroy(&attr);
    if (started == count)
        return true;
    atomic_store_explicit(&loop->stop, true, memory_order_release);
    while (started > 0)
        pthread_join(*threads[--started], NULL);
    return false;
}

/* A loop that is created while halted starts halted, without an event. */
static void keep_halted(gw_loop *loop)
{
    gw_event events[GW_MAX_TOOLS + 1];
    apply_halt_latch(loop);
    gw_simulation_events(loop->simulation, events, GW_MAX_TOOLS + 1);
}

gw_loop *gw_loop_create(const gw_loop_def *def, gw_error *error)
{
    assert(def->placement.processor >= 0 && def->placement.processor < CPU_SETSIZE);
    assert(def->placement.spin_us >= 0 && def->placement.spin_us <= GW_SPIN_MAX_US);
    gw_loop *loop = aligned_alloc(64, round_to_cache_line(sizeof *loop));
    if (!loop) {
        gw_scenario_destroy(def->scenario);
        gw_fail(error, GW_FAILED, "", "no memory for a loop");
        return NULL;
    }
    memset(loop, 0, sizeof *loop);
    loop->latency_fd = -1;
    loop->rate = def->rate > 0 ? def->rate : DEFAULT_RATE;
    loop->priority = def->priority > 0 ? def->priority : DEFAULT_PRIORITY;
    loop->best_effort = def->best_effort;
    loop->placement = def->placement;
    loop->has_standby = !def->best_effort && !def->placement.pinned;
    loop->halt = def->halt ? def->halt : &loop->own_halt;
    loop->lease = def->lease ? def->lease : &loop->own_lease;
    loop->faults = def->faults;
    loop->simulation = gw_simulation_create(def->scenario, error);
    if (!loop->simulation)
        goto fail;
    loop->made = gw_simulation_snapshot(loop->simulation);
    loop->stages = gw_simulation_stages(loop->simulation);
    if (!take_memory(loop)) {
        gw_fail(error, GW_FAILED, "", "no memory for a loop's rings");
        goto fail_simulation;
    }
    gw_simulation_engage_softly(loop->simulation);
    keep_halted(loop);
    loop->memory_locked = gw_lock_memory();
    init_locks(loop);
    show_scenario(loop);
    if (!start_threads(loop)) {
        gw_fail(error, GW_FAILED, "", "the system refuses a thread for the loop");
        goto fail_memory;
    }
    return loop;
fail_memory:
    finish_locks(loop);
    hold_wake_latency_low(loop, false);
    munmap(loop->memory, loop->memory_bytes);
fail_simulation:
    gw_simulation_destroy(loop->simulation);
fail:
    free(loop);
    return NULL;
}

void gw_loop_release_devices(gw_loop *loop)
{
    pthread_mutex_lock(&loop->watching);
    pthread_mutex_unlock(&loop->watching);
}

static void destroy_retired(gw_loop *loop, const gw_command *command)
{
    if (command->kind == GW_COMMAND_SCENARIO)
        gw_loop_release_devices(loop);
    pthread_mutex_lock(&loop->detecting);
    if (command->kind == GW_COMMAND_SCENARIO)
        gw_scenario_destroy(command->scenario);
    pthread_mutex_unlock(&loop->detecting);
    if (command->kind == GW_COMMAND_OPERATOR)
        gw_operator_program_destroy(command->operator.program);
}

void gw_loop_destroy(gw_loop *loop)
{
    gw_command command, halt = {.kind = GW_COMMAND_HALT};
    if (!loop)
        return;
    atomic_store_explicit(&loop->stop, true, memory_order_release);
    pthread_join(loop->thread, NULL);
    if (loop->has_standby)
        pthread_join(loop->standby, NULL);
    pthread_join(loop->world, NULL);
    pthread_join(loop->watchdog, NULL);
    gw_simulation_apply(loop->simulation, &halt, &command);
    gw_simulation_tick(loop->simulation);
    while (gw_ring_pop(&loop->commands, &command))
        destroy_retired(loop, &command);
    gw_loop_collect(loop);
    gw_simulation_destroy(loop->simulation);
    finish_locks(loop);
    hold_wake_latency_low(loop, false);
    munmap(loop->memory, loop->memory_bytes);
    free(loop);
}

/* ---- the other threads' side ---------------------------------------------------------------- */

bool gw_loop_send(gw_loop *loop, const gw_command *command)
{
    assert(loop && command);
    gw_loop_collect(loop);
    if (command->kind == GW_COMMAND_HALT) {
        gw_halt_latch_halt(loop->halt, GW_HALT_SOFTWARE, "program");
        return true;
    }
    if (command->kind == GW_COMMAND_ARM)
        return gw_halt_latch_arm(loop->halt, gw_halt_latch_now(loop->halt));
    bool taken = gw_ring_push(&loop->commands, command);
    if (!taken)
        atomic_fetch_add_explicit(&loop->commands_refused, 1, memory_order_relaxed);
    return taken;
}

void gw_loop_collect(gw_loop *loop)
{
    gw_command command;
    while (gw_ring_pop(&loop->retired, &command))
        destroy_retired(loop, &command);
}

/* Zeros in place of what copy_values() skips of the tools. */
static void clear_renderings(gw_snapshot *snapshot)
{
    for (int i = 0; i < snapshot->tool_count; i++) {
        gw_tool_state *tool = &snapshot->tools[i];
        if (!tool->renders)
            memset(&tool->command, 0, sizeof *tool - offsetof(gw_tool_state, command));
    }
}

void gw_loop_snapshot(gw_loop *loop, gw_snapshot *snapshot)
{
    assert(loop && snapshot);
    copy_snapshot(snapshot, gw_mailbox_take(&loop->snapshots));
    clear_renderings(snapshot);
    snapshot->halted = gw_halt_latch_read(loop->halt, &snapshot->halt) || snapshot->halted;
    snapshot->operated = gw_lease_read(loop->lease, &snapshot->holder);
}

const gw_snapshot *gw_loop_latest(gw_loop *loop)
{
    return gw_mailbox_take(&loop->snapshots);
}

bool gw_loop_event(gw_loop *loop, gw_event *event)
{
    assert(loop && event);
    return gw_ring_pop(&loop->events, event);
}

void gw_loop_record(gw_loop *loop, bool on)
{
    if (on && !loop->can_record)
        gw_populate_pages(loop->records.storage, GW_RECORD_RING * RECORD_BYTES);
    loop->can_record = loop->can_record || on;
    atomic_store_explicit(&loop->recording, on, memory_order_relaxed);
}

int gw_loop_records(gw_loop *loop, gw_snapshot *records, int capacity, uint64_t *lost)
{
    assert(loop && capacity >= 0 && lost);
    int count = 0;
    while (count < capacity && gw_ring_pop(&loop->records, &records[count])) {
        gw_snapshot *r = &records[count++];
        clear_renderings(r);
        r->follower_count = r->free_count = r->contact_count = 0;
        r->coordinate_count = r->scene_joint_count = 0;
        r->hit_count = r->collision_count = 0;
    }
    uint64_t all = atomic_load_explicit(&loop->lost, memory_order_relaxed);
    *lost = all - loop->lost_reported;
    loop->lost_reported = all;
    return count;
}

void gw_loop_figures_read(gw_loop *loop, gw_loop_figures *figures)
{
    assert(loop && figures);
    *figures = (gw_loop_figures){.rate = loop->rate,
                                 .memory_locked = loop->memory_locked,
                                 .kept_awake = atomic_load(&loop->kept_awake),
                                 .thread_id = atomic_load(&loop->thread_id),
                                 .placement = loop->placement,
                                 .relieved = atomic_load(&loop->relieved),
                                 .records_lost = atomic_load(&loop->lost),
                                 .events_lost = atomic_load(&loop->events_lost),
                                 .commands_refused = atomic_load(&loop->commands_refused)};
    figures->placement.pinned = atomic_load(&loop->pinned);
    int64_t sampled = atomic_load(&loop->sampled);
    figures->sample_age_us = sampled ? (double)(gw_now_ns() - sampled) / 1e3 : 0;
    memcpy(&figures->ticks, gw_mailbox_take(&loop->figures), sizeof figures->ticks);
    if (atomic_load(&loop->real_time))
        figures->priority = loop->priority;
}
