/*
 * A loop that stalls: the watchdog brings the device's command down, a latched device stays off
 * with the cause told, a lenient one goes on, and every missed tick is counted. The device is one
 * that hangs, falls silent or tells garbage on demand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <stdatomic.h>
#include <string.h>
#include <time.h>

#include "rt/sim/device_slot.h"
#include "rt/sim/loop.h"
#include "tests/unit/scenario_fixture.h"

static int64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void nap(long ms)
{
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* The loop's next ticks bring it: in 30 ms, or however late a loaded machine makes them. */
#define WAIT_FOR(condition)                                                                        \
    do {                                                                                           \
        nap(30);                                                                                   \
        for (int ms = 0; ms < 2000 && !(condition); ms++)                                          \
            nap(1);                                                                                \
    } while (0)
#define EVENTUALLY(condition)                                                                      \
    do {                                                                                           \
        WAIT_FOR(condition);                                                                       \
        assert_true(condition);                                                                    \
    } while (0)

/* The same in a round of a test with rig `r`, which ends with "false" where the machine stalled. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            if (stalled(r)) {                                                                      \
                stop(r);                                                                           \
                return false;                                                                      \
            }                                                                                      \
            assert_true(condition);                                                                \
        }                                                                                          \
    } while (0)
#define CHECK_SOON(condition)                                                                      \
    do {                                                                                           \
        WAIT_FOR(stalled(r) || (condition));                                                       \
        CHECK(condition);                                                                          \
    } while (0)

/* ---- a device to inject faults ----------------------------------------------------------------
 */

#define SHARES 4096

static struct {
    gw_device_info info;
    atomic_int hang_us; /* the next read takes so long */
    atomic_bool silent; /* no samples */
    atomic_uint buttons;
    _Atomic double speed;
    atomic_bool garbage; /* a sample that is not finite */
    atomic_bool engaged; /* as the last command says */
    atomic_int
        since_fault; /* commands with force since a fault was to be seen; -1: there is none */
    atomic_llong written_ns;
    atomic_int shares;
    struct {
        double share;
        int64_t after_ns; /* the last write */
    } share[SHARES];
} device;

static const gw_device_info *fault_info(const gw_driver_device *d)
{
    (void)d;
    return &device.info;
}

static void fault_read(gw_driver_device *d, gw_device_sample *s)
{
    (void)d;
    int hang = atomic_exchange(&device.hang_us, 0);
    if (hang)
        nanosleep(&(struct timespec){0, 1000L * hang}, NULL);
    *s = (gw_device_sample){.q = {1}, .f = {0, 0.1, 0}, .valid = !atomic_load(&device.silent)};
    s->buttons = atomic_load(&device.buttons);
    s->v[1] = atomic_load(&device.speed);
    if (atomic_load(&device.garbage))
        s->p[0] = NAN;
    if (!s->valid || s->buttons || fabs(s->v[1]) > 1.2 || !isfinite(s->p[0])) {
        int none = -1;
        atomic_compare_exchange_strong(&device.since_fault, &none, 0);
    }
}

static void fault_write(gw_driver_device *d, const gw_device_command *c)
{
    (void)d;
    atomic_store(&device.written_ns, now_ns());
    atomic_store(&device.engaged, c->engaged);
    if (c->engaged && atomic_load(&device.since_fault) >= 0)
        atomic_fetch_add(&device.since_fault, 1);
}

static void fault_attenuate(gw_driver_device *d, double share)
{
    (void)d;
    int i = atomic_load(&device.shares);
    if (i == SHARES)
        return;
    device.share[i].share = share;
    device.share[i].after_ns = now_ns() - atomic_load(&device.written_ns);
    atomic_store(&device.shares, i + 1);
}

static void fault_close(gw_driver_device *d)
{
    (void)d;
}

static const gw_driver faults = {.name = "faults",
                                 .close = fault_close,
                                 .info = fault_info,
                                 .read = fault_read,
                                 .write = fault_write,
                                 .attenuate = fault_attenuate};

/* ---- a loop with it ---------------------------------------------------------------------------
 */

typedef struct rig {
    gw_device_slot *slot;
    gw_halt_latch halt;
    gw_lease lease;
    gw_fault_log *faults;
    gw_loop *loop;
} rig;

static rig *start(bool latched)
{
    static rig r;
    const gw_operator nobody = {0};
    memset(&device, 0, sizeof device);
    atomic_store(&device.since_fault, -1);
    device.info =
        (gw_device_info){.class = GW_DEVICE_ADMITTANCE, .measures_wrench = true, .speed_max = 1};
    r.slot = calloc(1, sizeof *r.slot);
    strcpy(r.slot->id, "faults");
    r.slot->driver = &faults;
    r.slot->device = (gw_driver_device *)&device;
    r.slot->program = gw_operator_program_create(&nobody);
    gw_guided_def body = fixture_body(fixture_turning(GW_LOCUS_PLANE));
    gw_loop_def def = gw_loop_def_default();
    def.scenario = fixture_scenario(&body, r.slot, 1000);
    def.scenario->latched = def.scenario->tools[0].latched = latched;
    gw_halt_latch_init(&r.halt);
    def.halt = &r.halt;
    gw_lease_init(&r.lease);
    r.faults = gw_fault_log_create(0);
    def.faults = r.faults;
    def.lease = &r.lease;
    r.loop = gw_loop_create(&def, NULL);
    assert_non_null(r.loop);
    assert_true(gw_loop_send(r.loop, &(gw_command){.kind = GW_COMMAND_STATE, .state = GW_RUNNING}));
    nap(50);
    return &r;
}

static void stop(rig *r)
{
    gw_loop_destroy(r->loop);
    gw_fault_log_destroy(r->faults);
    gw_device_slot_close(r->slot);
}

/* The device was forced off for a stall, in a test that makes none: the machine kept the loop from
 * its ticks for more than 20 ms. */
static bool stalled(rig *r)
{
    gw_halt_record record;
    return gw_halt_latch_read(&r->halt, &record) &&
           (record.cause == GW_HALT_OVERRUN || record.cause == GW_HALT_WATCHDOG);
}

/* Such a round says nothing and is made again. */
static void repeat_while_stalled(bool (*round)(int), int variant)
{
    for (int i = 0; i < 10; i++)
        if (round(variant))
            return;
    fail_msg("the loop stalled in each of 10 rounds");
}

static uint64_t missed(rig *r)
{
    gw_snapshot s;
    gw_loop_snapshot(r->loop, &s);
    return s.missed;
}

/* ---- tests ------------------------------------------------------------------------------------
 */

static void the_command_comes_down_while_the_loop_hangs(void **state)
{
    (void)state;
    rig *r = start(true);
    gw_halt_record record;
    int before = atomic_load(&device.shares);
    atomic_store(&device.hang_us, 100000);
    nap(200);
    int after = atomic_load(&device.shares);
    double last = 1;
    int64_t zero_ns = 0;
    assert_true(after > before + 10);
    for (int i = before; i < after; i++) {
        assert_true(device.share[i].after_ns > 1900000);
        if (device.share[i].after_ns > 25000000) /* nobody else had the processors for so long */
            assert_true(device.share[i].share == 0);
        if (device.share[i].share == 0 && zero_ns == 0 && last > 0)
            zero_ns = device.share[i].after_ns;
        last = device.share[i].share;
    }
    print_message("zero after %.1f ms\n", 1e-6 * (double)zero_ns);
    assert_true(zero_ns > 0 && zero_ns < 60000000);
    assert_true(gw_halt_latch_read(&r->halt, &record));
    assert_true(record.cause == GW_HALT_WATCHDOG || record.cause == GW_HALT_OVERRUN);
    assert_false(atomic_load(&device.engaged));
    stop(r);
}

static void a_latched_device_stays_off_until_armed(void **state)
{
    (void)state;
    rig *r = start(true);
    gw_snapshot s;
    assert_true(atomic_load(&device.engaged));
    atomic_store(&device.hang_us, 60000);
    nap(150);
    gw_loop_snapshot(r->loop, &s);
    assert_true(s.halted && s.state == GW_PAUSED && !atomic_load(&device.engaged));
    uint64_t tick = s.tick;
    nap(50);
    gw_loop_snapshot(r->loop, &s);
    assert_true(s.tick == tick && !atomic_load(&device.engaged));
    assert_true(gw_halt_latch_arm(&r->halt, gw_halt_latch_now(&r->halt)));
    nap(20);
    assert_true(atomic_load(&device.engaged));
    stop(r);
}

static void a_lenient_device_goes_on_and_missed_ticks_are_counted(void **state)
{
    (void)state;
    rig *r = start(false);
    gw_snapshot s, t;
    gw_loop_snapshot(r->loop, &s);
    uint64_t before = missed(r);
    atomic_store(&device.hang_us, 300000);
    nap(500);
    gw_loop_snapshot(r->loop, &t);
    assert_false(t.halted);
    assert_true(atomic_load(&device.engaged) && t.tick > s.tick);
    assert_true(t.missed >= before + 299 && t.missed < before + 490);
    /* none of them was made up for */
    assert_true(t.tick - s.tick < 500 - 290);
    stop(r);
}

static bool fall_silent(int garbage)
{
    gw_halt_record record;
    rig *r = start(true);
    atomic_store(garbage ? &device.garbage : &device.silent, true);
    CHECK_SOON(gw_halt_latch_read(&r->halt, &record) && !atomic_load(&device.engaged));
    CHECK(record.cause == GW_HALT_DISCONNECT);
    atomic_store(&device.silent, false);
    atomic_store(&device.garbage, false);
    nap(30);
    assert_false(atomic_load(&device.engaged));
    stop(r);
    return true;
}

static void a_latched_device_that_falls_silent_is_off_within_two_ticks(void **state)
{
    (void)state;
    repeat_while_stalled(fall_silent, false);
    repeat_while_stalled(fall_silent, true);
}

enum { SILENT, GARBAGE, RUNAWAY, BUTTON, SOFTWARE, DEAD_MAN, KINDS };

static const struct {
    const char *name;
    gw_halt_cause cause;
} kinds[KINDS] = {
    [SILENT] = {"silent", GW_HALT_DISCONNECT},   [GARBAGE] = {"garbage", GW_HALT_DISCONNECT},
    [RUNAWAY] = {"runaway", GW_HALT_VELOCITY},   [BUTTON] = {"button", GW_HALT_BUTTON},
    [SOFTWARE] = {"software", GW_HALT_SOFTWARE}, [DEAD_MAN] = {"dead man", GW_HALT_DEAD_MAN}};

static bool bring_about(int kind)
{
    gw_halt_record record;
    rig *r = start(true);
    atomic_store(&device.since_fault, -1);
    assert_true(gw_lease_take(&r->lease, "the test", now_ns()));
    if (kind == SILENT)
        atomic_store(&device.silent, true);
    if (kind == GARBAGE)
        atomic_store(&device.garbage, true);
    if (kind == RUNAWAY)
        atomic_store(&device.speed, -1.3);
    if (kind == BUTTON)
        atomic_store(&device.buttons, GW_BUTTON_STOP);
    if (kind == SOFTWARE || kind == DEAD_MAN) /* of the loop's thread, at any moment */
        atomic_store(&device.since_fault, 0);
    if (kind == SOFTWARE)
        gw_halt_latch_halt(&r->halt, GW_HALT_SOFTWARE, "the test");
    if (kind == DEAD_MAN)
        gw_lease_abandon(&r->lease);
    CHECK_SOON(gw_halt_latch_read(&r->halt, &record) && !atomic_load(&device.engaged));
    CHECK(record.cause == kinds[kind].cause);
    assert_false(atomic_load(&device.engaged));
    stop(r);
    return true;
}

/* Whatever is wrong: the commands that still had force after it could be seen, in ticks. */
static void every_cause_takes_the_force_away_within_two_ticks(void **state)
{
    (void)state;
    for (int kind = 0; kind < KINDS; kind++) {
        int worst = 0;
        for (int round = 0; round < 5; round++) {
            repeat_while_stalled(bring_about, kind);
            int ticks = atomic_load(&device.since_fault);
            worst = ticks > worst ? ticks : worst;
        }
        print_message("%s: %d ticks with force after it\n", kinds[kind].name, worst);
        assert_true(worst <= 2);
    }
}

static void a_lenient_device_that_falls_silent_comes_back(void **state)
{
    (void)state;
    rig *r = start(false);
    atomic_store(&device.silent, true);
    nap(30);
    assert_false(gw_halt_latch_read(&r->halt, NULL));
    atomic_store(&device.silent, false);
    EVENTUALLY(atomic_load(&device.engaged));
    stop(r);
}

static bool run_away(int latched)
{
    gw_halt_record record;
    rig *r = start(latched);
    atomic_store(&device.speed, 1.1);
    nap(30);
    CHECK(!gw_halt_latch_read(&r->halt, NULL));
    atomic_store(&device.speed, -1.3);
    CHECK_SOON(gw_halt_latch_read(&r->halt, &record) == (latched == 1) &&
               atomic_load(&device.engaged) == !latched);
    CHECK(!latched || record.cause == GW_HALT_VELOCITY);
    assert_true(atomic_load(&device.engaged) == !latched);
    stop(r);
    return true;
}

static void a_latched_device_that_runs_away_is_off(void **state)
{
    (void)state;
    repeat_while_stalled(run_away, false);
    repeat_while_stalled(run_away, true);
}

static void a_stop_button_halts_and_arming_while_it_is_held_does_not_last(void **state)
{
    (void)state;
    gw_halt_record record;
    rig *r = start(false); /* lenient: a button is meant */
    atomic_store(&device.buttons, GW_BUTTON_STOP);
    EVENTUALLY(gw_halt_latch_read(&r->halt, &record) && !atomic_load(&device.engaged));
    assert_true(record.cause == GW_HALT_BUTTON);
    gw_halt_latch_arm(&r->halt, gw_halt_latch_now(&r->halt));
    EVENTUALLY(gw_halt_latch_read(&r->halt, &record) && !atomic_load(&device.engaged));
    assert_true(record.cause == GW_HALT_BUTTON);
    atomic_store(&device.buttons, 0);
    nap(30); /* a tick that still saw the button would halt again */
    assert_true(gw_halt_latch_arm(&r->halt, gw_halt_latch_now(&r->halt)));
    EVENTUALLY(!gw_halt_latch_read(&r->halt, NULL) && atomic_load(&device.engaged));
    stop(r);
}

static bool lose_the_lease(int latched)
{
    gw_halt_record record;
    gw_snapshot s;
    rig *r = start(latched);
    gw_command push = {.kind = GW_COMMAND_PUSH, .push.f = {1, 0, 0}};
    assert_true(gw_lease_take(&r->lease, "the test", now_ns()));
    assert_false(gw_lease_take(&r->lease, "another", now_ns()));
    assert_true(gw_loop_send(r->loop, &push));
    for (int i = 0; i < 8; i++) {
        nap(50);
        assert_true(gw_lease_renew(&r->lease, now_ns()));
    }
    gw_loop_snapshot(r->loop, &s);
    assert_true(s.operated && strcmp(s.holder.by, "the test") == 0 && s.holder.since_ns > 0);
    CHECK(atomic_load(&device.engaged) && !s.halted);
    nap(400);
    gw_loop_snapshot(r->loop, &s);
    assert_false(s.operated || gw_lease_renew(&r->lease, now_ns()));
    CHECK(gw_halt_latch_read(&r->halt, &record) == (latched == 1));
    assert_true(atomic_load(&device.engaged) == !latched);
    if (latched) {
        CHECK(record.cause == GW_HALT_DEAD_MAN && strcmp(record.by, "the test") == 0);
        gw_halt_latch_arm(&r->halt, gw_halt_latch_now(&r->halt));
        gw_loop_send(r->loop, &(gw_command){.kind = GW_COMMAND_STATE, .state = GW_RUNNING});
        nap(50);
        gw_loop_snapshot(r->loop, &s);
        assert_true(gw_norm(s.tools[0].operator.f) < 0.5); /* the push is gone */
    }
    stop(r);
    return true;
}

static void a_lease_that_is_not_renewed_is_the_dead_man(void **state)
{
    (void)state;
    repeat_while_stalled(lose_the_lease, false);
    repeat_while_stalled(lose_the_lease, true);
}

static bool give_back_and_abandon(int latched)
{
    gw_halt_record record;
    rig *r = start(latched);
    assert_true(gw_lease_take(&r->lease, "the test", now_ns()));
    gw_lease_give_back(&r->lease);
    nap(400);
    CHECK(!gw_halt_latch_read(&r->halt, NULL));
    assert_true(gw_lease_take(&r->lease, "the next", now_ns()));
    gw_lease_abandon(&r->lease);
    CHECK_SOON(gw_halt_latch_read(&r->halt, &record) && !atomic_load(&device.engaged));
    CHECK(record.cause == GW_HALT_DEAD_MAN);
    assert_false(gw_lease_read(&r->lease, NULL));
    stop(r);
    return true;
}

static void a_lease_that_was_given_back_or_abandoned_ends(void **state)
{
    (void)state;
    repeat_while_stalled(give_back_and_abandon, true);
}

static unsigned newest(gw_fault_log *log)
{
    unsigned numbers[GW_FAULTS_KEPT];
    int count = gw_fault_log_numbers(log, numbers);
    return count ? numbers[count - 1] : 0;
}

static bool keep_ticks_before_faults(int latched)
{
    static gw_fault_tick ticks[GW_FAULT_TICKS];
    unsigned numbers[GW_FAULTS_KEPT];
    gw_halt_record why;
    rig *r = start(latched);
    nap(1200);
    CHECK(!gw_halt_latch_read(&r->halt, NULL));
    CHECK(gw_fault_log_numbers(r->faults, numbers) == 0);
    atomic_store(&device.silent, true);
    CHECK_SOON(gw_fault_log_numbers(r->faults, numbers) == 1);
    int count = gw_fault_log_read(r->faults, numbers[0], &why, ticks);
    CHECK(why.cause == GW_HALT_DISCONNECT);
    assert_true(count > 100);
    for (int i = 1; i < count; i++)
        assert_true(ticks[i].tick <= ticks[i - 1].tick + 1 && ticks[i].at_ns > ticks[i - 1].at_ns &&
                    ticks[i].stage_us[GW_STAGE_DEVICE] > 0);
    assert_true(ticks[count - 1].tick > 100 && ticks[count - 1].tool_count == 1);
    assert_int_equal(gw_fault_log_read(r->faults, numbers[0] + 1, &why, NULL), -1);
    atomic_store(&device.silent, false);
    nap(30); /* a tick that still had no sample would halt again */
    for (unsigned i = 2; i <= GW_FAULTS_KEPT + 2; i++) {
        gw_halt_latch_arm(&r->halt, gw_halt_latch_now(&r->halt));
        CHECK_SOON(atomic_load(&device.engaged));
        gw_halt_latch_halt(&r->halt, GW_HALT_SOFTWARE, "the test");
        CHECK_SOON(newest(r->faults) == i);
    }
    assert_int_equal(gw_fault_log_numbers(r->faults, numbers), GW_FAULTS_KEPT);
    assert_int_equal(numbers[GW_FAULTS_KEPT - 1], GW_FAULTS_KEPT + 2);
    assert_int_equal(gw_fault_log_read(r->faults, 1, &why, ticks), -1);
    stop(r);
    return true;
}

static void the_ticks_before_a_fault_are_kept(void **state)
{
    (void)state;
    repeat_while_stalled(keep_ticks_before_faults, true);
}

static const gw_loop_figures *figures_of(rig *r, gw_loop_figures *figures)
{
    gw_loop_figures_read(r->loop, figures);
    return figures;
}

/* The device takes so long in one tick: told with its stage and its length, and what was due
 * meanwhile is missed. A tick that woke later still was late for its waking, and says nothing. */
static bool hang_once(int hang_us)
{
    gw_loop_figures before, after;
    rig *r = start(false);
    uint64_t count = figures_of(r, &before)->ticks.overruns_by[GW_STAGE_DEVICE];
    atomic_store(&device.hang_us, hang_us);
    WAIT_FOR(figures_of(r, &after)->ticks.overruns_by[GW_STAGE_DEVICE] > count);
    bool told = false;
    for (int i = 0; i < after.ticks.worst_count; i++)
        told = told || (after.ticks.worst[i].tick_us > hang_us - 10 &&
                        after.ticks.worst[i].stage == GW_STAGE_DEVICE);
    if (told) {
        assert_true(after.ticks.overruns_by[GW_STAGE_DEVICE] > count);
        EVENTUALLY(figures_of(r, &after)->ticks.missed + 2 >=
                   before.ticks.missed + (uint64_t)hang_us / 1000);
        assert_false(gw_halt_latch_read(&r->halt, NULL));
    }
    stop(r);
    return told;
}

/* By half a millisecond over the period, five, fifty. */
static void an_overrun_of_any_length_is_told_with_its_stage(void **state)
{
    (void)state;
    repeat_while_stalled(hang_once, 1500);
    repeat_while_stalled(hang_once, 6000);
    repeat_while_stalled(hang_once, 51000);
}

static void the_age_of_the_last_sample_is_told(void **state)
{
    (void)state;
    gw_loop_figures figures;
    rig *r = start(false);
    assert_true(figures_of(r, &figures)->sample_age_us > 0);
    atomic_store(&device.silent, true);
    EVENTUALLY(figures_of(r, &figures)->sample_age_us > 250000);
    stop(r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_comes_down_while_the_loop_hangs),
        cmocka_unit_test(a_latched_device_stays_off_until_armed),
        cmocka_unit_test(a_lenient_device_goes_on_and_missed_ticks_are_counted),
        cmocka_unit_test(a_latched_device_that_falls_silent_is_off_within_two_ticks),
        cmocka_unit_test(every_cause_takes_the_force_away_within_two_ticks),
        cmocka_unit_test(a_lenient_device_that_falls_silent_comes_back),
        cmocka_unit_test(a_latched_device_that_runs_away_is_off),
        cmocka_unit_test(a_stop_button_halts_and_arming_while_it_is_held_does_not_last),
        cmocka_unit_test(a_lease_that_is_not_renewed_is_the_dead_man),
        cmocka_unit_test(a_lease_that_was_given_back_or_abandoned_ends),
        cmocka_unit_test(the_ticks_before_a_fault_are_kept),
        cmocka_unit_test(an_overrun_of_any_length_is_told_with_its_stage),
        cmocka_unit_test(the_age_of_the_last_sample_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
