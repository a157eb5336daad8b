/*
 * Ring, mailbox and histogram; then the loop's thread with commands, records and scenarios in
 * flight.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <time.h>

#include "rt/base/clock.h"
#include "rt/base/mailbox.h"
#include "rt/base/real_time.h"
#include "rt/base/ring.h"
#include "rt/sim/histogram.h"
#include "rt/sim/loop.h"
#include "tests/unit/scenario_fixture.h"

static void nap(long ms)
{
    struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    nanosleep(&t, NULL);
}

/* ---- ring and mailbox ----------------------------------------------------------------------- */

static void a_ring_gives_back_in_order_and_refuses_when_full(void **state)
{
    (void)state;
    int storage[4], out;
    gw_ring ring;
    gw_ring_init(&ring, storage, sizeof *storage, 4);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++)
            assert_true(gw_ring_push(&ring, &i));
        assert_true(gw_ring_full(&ring) && !gw_ring_push(&ring, &(int){9}));
        for (int i = 0; i < 4; i++)
            assert_true(gw_ring_pop(&ring, &out) && out == i);
        assert_false(gw_ring_pop(&ring, &out));
    }
}

typedef struct pair {
    uint64_t a[16];
} pair;

static gw_mailbox box;
static atomic_bool done;

static void *write_pairs(void *arg)
{
    (void)arg;
    for (uint64_t i = 1; i <= 200000; i++) {
        pair p;
        for (int k = 0; k < 16; k++)
            p.a[k] = i;
        gw_mailbox_write(&box, &p);
    }
    atomic_store(&done, true);
    return NULL;
}

static void a_mailbox_is_never_torn_and_never_goes_back(void **state)
{
    (void)state;
    static pair storage[3];
    pair first = {{0}}, p;
    uint64_t last = 0;
    pthread_t writer;
    gw_mailbox_init(&box, storage, sizeof *storage, &first);
    pthread_create(&writer, NULL, write_pairs, NULL);
    while (!atomic_load(&done)) {
        gw_mailbox_read(&box, &p);
        for (int k = 1; k < 16; k++)
            assert_true(p.a[k] == p.a[0]);
        assert_true(p.a[0] >= last);
        last = p.a[0];
    }
    pthread_join(writer, NULL);
    gw_mailbox_read(&box, &p);
    assert_true(p.a[0] == 200000);
    assert_false(gw_mailbox_read(&box, &p));
}

static void quantiles_are_right_within_their_bins(void **state)
{
    (void)state;
    static gw_histogram h;
    const double fractions[] = {0.5, 0.99, 1};
    double q[3];
    gw_histogram_quantiles(&h, 3, fractions, q);
    assert_true(q[0] == 0 && q[2] == 0);
    for (int i = 1; i <= 1000; i++)
        gw_histogram_add(&h, 0.1 * i);
    gw_histogram_quantiles(&h, 3, fractions, q);
    assert_true(fabs(q[0] / 50 - 1) < 0.07 && fabs(q[1] / 99 - 1) < 0.07 && h.max == 100);
    assert_true(q[2] >= q[1] && q[2] < 107);
    uint64_t sum = 0; /* 32 us to 64 us: 320 to 639 tenths */
    for (int i = 0; i < GW_HISTOGRAM_OCTAVES; i++)
        sum += h.octaves[i];
    assert_true(sum == 1000 && h.octaves[10] == 320 && fabs(h.sum - 50050) < 1e-6);
    gw_histogram_add(&h, 1e9);
    assert_true(h.octaves[GW_HISTOGRAM_OCTAVES - 1] == 1);
}

/* ---- the thread ----------------------------------------------------------------------------- */

static gw_device_slot *slot;

static gw_scenario *scenario_on(gw_locus_kind locus, unsigned long long revision)
{
    gw_guided_def body = fixture_body(fixture_turning(locus));
    gw_scenario *s = fixture_scenario(&body, slot, 1000);
    s->revision = revision;
    return s;
}

static gw_loop *running_loop(void)
{
    gw_wrench_sample sample = {0, {{0, 0.5, 0}, {0, 0, 0}}};
    gw_operator operator= {.kind = GW_OPERATOR_WRENCH, .count = 1, .samples = &sample};
    gw_loop_def def = gw_loop_def_default();
    slot = fixture_device("", &operator, 1000);
    def.scenario = scenario_on(GW_LOCUS_PLANE, 1);
    gw_loop *loop = gw_loop_create(&def, NULL);
    gw_command start = {.kind = GW_COMMAND_STATE, .state = GW_RUNNING};
    assert_non_null(loop);
    assert_true(gw_loop_send(loop, &start));
    return loop;
}

static void the_loop_ticks_at_its_rate(void **state)
{
    (void)state;
    gw_loop *loop = running_loop();
    gw_snapshot a, b;
    nap(50);
    gw_loop_snapshot(loop, &a);
    nap(300);
    gw_loop_snapshot(loop, &b);
    assert_true(a.state == GW_RUNNING && b.tick > a.tick + 100 && b.tick < a.tick + 1500);
    assert_true(b.tools[0].world_from_tool.p.y > a.tools[0].world_from_tool.p.y);
    gw_loop_figures figures;
    gw_loop_figures_read(loop, &figures);
    assert_true(b.tick_us_p50 > 0 && figures.thread_id > 0);
    gw_loop_destroy(loop);
    gw_device_slot_close(slot);
}

static void the_newest_snapshot_is_read_in_place(void **state)
{
    (void)state;
    gw_loop *loop = running_loop();
    gw_command drag = {.kind = GW_COMMAND_DRAG}, pause = {.kind = GW_COMMAND_STATE};
    gw_snapshot snapshot;
    const gw_snapshot *latest;
    pause.state = GW_PAUSED;
    nap(50);
    latest = gw_loop_latest(loop);
    assert_false(latest->tools[0].dragging);
    assert_true(gw_loop_send(loop, &drag) && gw_loop_send(loop, &pause));
    nap(50);
    gw_loop_snapshot(loop, &snapshot);
    latest = gw_loop_latest(loop);
    assert_true(latest->state == GW_PAUSED && latest->tick == snapshot.tick && latest->tick > 0);
    assert_true(latest->tool_count == 1 && latest->tools[0].dragging && !latest->halted);
    /* what an admittance device does not have is zero, whatever the memory held before */
    static const gw_wrench none;
    memset(snapshot.tools, 0xff, sizeof snapshot.tools);
    gw_loop_snapshot(loop, &snapshot);
    assert_false(snapshot.tools[0].renders);
    assert_memory_equal(&snapshot.tools[0].command, &none, sizeof none);
    assert_true(snapshot.tools[0].resisted.count == 0 && snapshot.tools[0].withheld == 0);
    gw_loop_destroy(loop);
    gw_device_slot_close(slot);
}

static void records_hold_every_tick(void **state)
{
    (void)state;
    static gw_snapshot records[512];
    gw_loop *loop = running_loop();
    uint64_t lost, seen = 0, next = 0;
    static const gw_wrench none; /* an admittance device has no command */
    memset(records, 0xff, sizeof records);
    gw_loop_record(loop, true);
    for (int i = 0; i < 20; i++) {
        nap(10);
        int count = gw_loop_records(loop, records, 512, &lost);
        assert_true(lost == 0);
        for (int k = 0; k < count; k++) {
            if (records[k].state == GW_RUNNING && seen++)
                assert_true(records[k].tick == next);
            assert_memory_equal(&records[k].tools[0].command, &none, sizeof none);
            next = records[k].tick + 1;
        }
    }
    assert_true(seen > 50);
    gw_loop_destroy(loop);
    gw_device_slot_close(slot);
}

static void scenarios_are_swapped_while_it_runs_and_come_back(void **state)
{
    (void)state;
    gw_loop *loop = running_loop();
    unsigned long long active = 0;
    for (unsigned long long r = 2; r < 200; r++) {
        gw_command c = {.kind = GW_COMMAND_SCENARIO, .tag = r};
        c.scenario = scenario_on(r % 2 ? GW_LOCUS_PLANE : GW_LOCUS_CIRCLE, r);
        assert_true(gw_loop_send(loop, &c));
        nap(1);
        gw_event e;
        while (gw_loop_event(loop, &e))
            if (e.kind == GW_EVENT_ACTIVE) {
                assert_true(e.tag == e.revision && e.tag > active);
                active = e.tag;
            }
    }
    nap(100);
    gw_event e;
    while (gw_loop_event(loop, &e))
        if (e.kind == GW_EVENT_ACTIVE)
            active = e.tag;
    assert_true(active == 199);
    gw_loop_destroy(loop);
    gw_device_slot_close(slot);
}

static void commands_beyond_the_ring_are_refused_not_lost(void **state)
{
    (void)state;
    gw_loop *loop = running_loop();
    gw_command push = {.kind = GW_COMMAND_PUSH};
    int sent = 0;
    for (int i = 0; i < 4 * GW_COMMAND_RING; i++)
        sent += gw_loop_send(loop, &push);
    assert_true(sent >= GW_COMMAND_RING - 1 && sent < 4 * GW_COMMAND_RING);
    nap(200);
    assert_true(gw_loop_send(loop, &push));
    gw_loop_destroy(loop);
    gw_device_slot_close(slot);
}

#define OCCUPIED_NS 100000000

/* Keeps this processor from the loop's thread, as a hypervisor that stops it would. */
static void *occupy(void *processor)
{
    if (gw_claim_processor((int)(intptr_t)processor) && gw_claim_priority(85))
        gw_spin_until(gw_now_ns() + OCCUPIED_NS);
    return NULL;
}

/* Starts occupy() on all processors but the last one; the number of threads. */
static int occupy_all_but_one(pthread_t threads[CPU_SETSIZE])
{
    cpu_set_t set;
    int count = 0, last = -1;
    assert_int_equal(pthread_getaffinity_np(pthread_self(), sizeof set, &set), 0);
    for (int i = 0; i < CPU_SETSIZE; i++) {
        if (!CPU_ISSET((size_t)i, &set))
            continue;
        if (last >= 0)
            pthread_create(&threads[count++], NULL, occupy, (void *)(intptr_t)last);
        last = i;
    }
    return count;
}

static void another_thread_ticks_while_the_first_is_kept_from_its_processor(void **state)
{
    (void)state;
    static pthread_t threads[CPU_SETSIZE];
    gw_loop *loop = running_loop();
    gw_loop_figures figures;
    gw_snapshot before, after;
    nap(50);
    gw_loop_figures_read(loop, &figures);
    uint64_t relieved = figures.relieved;
    gw_loop_snapshot(loop, &before);
    int count = figures.priority > 0 ? occupy_all_but_one(threads) : 0;
    for (int i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    gw_loop_snapshot(loop, &after);
    gw_loop_figures_read(loop, &figures);
    gw_loop_destroy(loop);
    gw_device_slot_close(slot);
    if (count == 0)
        skip(); /* one processor, or no real-time priority */
    assert_true(after.tick > before.tick + 80 && figures.relieved > relieved + 80);
    assert_true(after.tools[0].world_from_tool.p.y > before.tools[0].world_from_tool.p.y);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_gives_back_in_order_and_refuses_when_full),
        cmocka_unit_test(a_mailbox_is_never_torn_and_never_goes_back),
        cmocka_unit_test(quantiles_are_right_within_their_bins),
        cmocka_unit_test(the_loop_ticks_at_its_rate),
        cmocka_unit_test(the_newest_snapshot_is_read_in_place),
        cmocka_unit_test(records_hold_every_tick),
        cmocka_unit_test(scenarios_are_swapped_while_it_runs_and_come_back),
        cmocka_unit_test(commands_beyond_the_ring_are_refused_not_lost),
        cmocka_unit_test(another_thread_ticks_while_the_first_is_kept_from_its_processor),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
