/*
 * The log of the ticks before each fault. The loop fills the buffers in turn; a reader copies a
 * kept one and detects by its number if it was overwritten meanwhile.
 */
#include "rt/sim/fault_log.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

const char *const gw_stage_names[] = {
    [GW_STAGE_WAKE] = "wake",         [GW_STAGE_COMMANDS] = "commands",
    [GW_STAGE_DEVICE] = "device",     [GW_STAGE_GEOMETRY] = "geometry",
    [GW_STAGE_DYNAMICS] = "dynamics", [GW_STAGE_CONTROL] = "control",
    [GW_STAGE_PUBLISH] = "publish",   NULL};

gw_fault_log *gw_fault_log_create(unsigned last)
{
    gw_fault_log *log = aligned_alloc(64, (sizeof *log + 63) & ~(size_t)63);
    if (!log)
        return NULL;
    memset(log, 0, sizeof *log); /* touches the pages before a loop writes */
    atomic_init(&log->kept, last);
    return log;
}

void gw_fault_log_destroy(gw_fault_log *log)
{
    free(log);
}

void gw_fault_log_add(gw_fault_log *log, const gw_snapshot *made, const gw_stages *stages,
                      int64_t at_ns)
{
    assert(log && made && stages);
    gw_fault *f = &log->faults[log->filling];
    gw_fault_tick *t = &f->ticks[f->count++ % GW_FAULT_TICKS];
    t->tick = made->tick;
    t->at_ns = at_ns;
    t->state = made->state;
    t->moving = made->moving;
    t->halted = made->halted;
    t->missed = made->missed;
    t->tool_count = made->tool_count; /* others are not written, to save cache lines */
    memcpy(t->stage_us, stages->us, sizeof t->stage_us);
    for (int i = 0; i < made->tool_count; i++) {
        const gw_tool_state *s = &made->tools[i];
        t->tools[i] = (gw_fault_tool){.tool = s->world_from_tool,
                                      .device = s->device,
                                      .twist = s->twist,
                                      .operator= s->operator,
                                      .constraint = s->constraint,
                                      .command = s->command,
                                      .limited = s->limited,
                                      .clutched = s->clutched,
                                      .dragging = s->dragging};
    }
}

void gw_fault_log_watch(gw_fault_log *log, const gw_halt_latch *halt)
{
    assert(log && halt);
    bool halted = gw_halt_latch_read(halt, NULL);
    if (!halted || log->aside) {
        log->aside = halted;
        return;
    }
    log->aside = true;
    gw_fault *f = &log->faults[log->filling];
    gw_halt_latch_read(halt, &f->why);
    atomic_store_explicit(&f->number, atomic_load(&log->kept) + 1, memory_order_release);
    atomic_fetch_add(&log->kept, 1);
    /* the oldest one is filled next: its number is cleared for readers */
    log->filling = (log->filling + 1) % (GW_FAULTS_KEPT + 1);
    atomic_store(&log->faults[log->filling].number, 0);
    atomic_thread_fence(memory_order_seq_cst);
    log->faults[log->filling].count = 0;
}

static const gw_fault *find_fault(const gw_fault_log *log, unsigned number)
{
    for (int i = 0; i <= GW_FAULTS_KEPT && number; i++)
        if (atomic_load_explicit(&log->faults[i].number, memory_order_acquire) == number)
            return &log->faults[i];
    return NULL;
}

int gw_fault_log_numbers(const gw_fault_log *log, unsigned numbers[GW_FAULTS_KEPT])
{
    assert(log && numbers);
    unsigned kept = atomic_load(&log->kept);
    int count = 0;
    for (unsigned n = kept > GW_FAULTS_KEPT ? kept - GW_FAULTS_KEPT + 1 : 1; n <= kept; n++)
        if (find_fault(log, n))
            numbers[count++] = n;
    return count;
}

int gw_fault_log_read(const gw_fault_log *log, unsigned number, gw_halt_record *why,
                      gw_fault_tick *ticks)
{
    assert(log && why);
    const gw_fault *f = find_fault(log, number);
    if (!f)
        return -1;
    *why = f->why;
    uint64_t end = f->count, begin = end > GW_FAULT_TICKS ? end - GW_FAULT_TICKS : 0;
    for (uint64_t i = begin; ticks && i < end; i++) {
        gw_fault_tick *t = &ticks[i - begin];
        *t = f->ticks[i % GW_FAULT_TICKS];
        for (int k = t->tool_count; k < GW_MAX_TOOLS; k++) /* left from an older tick */
            t->tools[k] = (gw_fault_tool){0};
    }
    atomic_thread_fence(memory_order_seq_cst);
    return atomic_load(&f->number) == number ? (int)(end - begin) : -1;
}
