/*
 * The halt latch: the first cause stays, arming loses against a newer halt, and no halt is lost
 * among threads that halt and arm at once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <string.h>

#include "rt/sim/halt_latch.h"

static void the_first_cause_stays_until_armed(void **state)
{
    (void)state;
    gw_halt_latch latch;
    gw_halt_record record;
    gw_halt_latch_init(&latch);
    assert_false(gw_halt_latch_read(&latch, &record));
    gw_halt_latch_halt(&latch, GW_HALT_OVERRUN, "loop");
    gw_halt_latch_halt(&latch, GW_HALT_SOFTWARE, "rest");
    assert_true(gw_halt_latch_read(&latch, &record));
    assert_true(record.cause == GW_HALT_OVERRUN && strcmp(record.by, "loop") == 0);
    assert_true(gw_halt_latch_arm(&latch, gw_halt_latch_now(&latch)));
    assert_false(gw_halt_latch_read(&latch, NULL));
    gw_halt_latch_halt(&latch, GW_HALT_SOFTWARE, "rest");
    assert_true(gw_halt_latch_read(&latch, &record) && record.cause == GW_HALT_SOFTWARE);
}

static void arming_loses_against_a_halt_since(void **state)
{
    (void)state;
    gw_halt_latch latch;
    gw_halt_latch_init(&latch);
    gw_halt_latch_halt(&latch, GW_HALT_SOFTWARE, "one");
    gw_halt_word seen = gw_halt_latch_now(&latch);
    gw_halt_latch_halt(&latch, GW_HALT_SOFTWARE, "two");
    assert_false(gw_halt_latch_arm(&latch, seen));
    assert_true(gw_halt_latch_read(&latch, NULL));
    seen = gw_halt_latch_now(&latch);
    assert_true(gw_halt_latch_arm(&latch, seen));
    assert_true(gw_halt_latch_arm(&latch, seen)); /* somebody else has armed: so it is */
}

static void it_is_in_effect_once_a_tick_heeded_it(void **state)
{
    (void)state;
    gw_halt_latch latch;
    gw_halt_latch_init(&latch);
    gw_halt_word before = gw_halt_latch_now(&latch);
    gw_halt_latch_halt(&latch, GW_HALT_SOFTWARE, "one");
    gw_halt_latch_acknowledge(&latch, before, 1, 1);
    assert_false(gw_halt_latch_in_effect(&latch));
    gw_halt_latch_acknowledge(&latch, gw_halt_latch_now(&latch), 2, 2);
    assert_true(gw_halt_latch_in_effect(&latch));
    gw_halt_state whole = gw_halt_latch_state(&latch);
    assert_true(whole.halted && whole.in_effect && whole.tick == 2 && whole.run_state == 2);
    gw_halt_latch_halt(&latch, GW_HALT_SOFTWARE, "again");
    assert_true(gw_halt_latch_in_effect(&latch)); /* devices are off since the first */
}

#define ROUNDS 20000

static gw_halt_latch shared;
static atomic_bool over;

static void *arm_for_ever(void *arg)
{
    (void)arg;
    while (!atomic_load(&over))
        gw_halt_latch_arm(&shared, gw_halt_latch_now(&shared));
    return NULL;
}

static void *halt_often(void *arg)
{
    gw_halt_record record;
    for (int i = 0; i < ROUNDS; i++) {
        gw_halt_word seen = gw_halt_latch_now(&shared);
        gw_halt_latch_halt(&shared, GW_HALT_SOFTWARE, arg);
        assert_false(gw_halt_latch_arm(&shared, seen) && gw_halt_latch_now(&shared) == seen);
        if (gw_halt_latch_read(&shared, &record))
            assert_true(strlen(record.by) == 3);
    }
    return NULL;
}

static void no_halt_is_lost_among_threads(void **state)
{
    (void)state;
    pthread_t armer, halters[3];
    static char *const names[] = {"one", "two", "six"};
    gw_halt_latch_init(&shared);
    pthread_create(&armer, NULL, arm_for_ever, NULL);
    for (int i = 0; i < 3; i++)
        pthread_create(&halters[i], NULL, halt_often, names[i]);
    for (int i = 0; i < 3; i++)
        pthread_join(halters[i], NULL);
    atomic_store(&over, true);
    pthread_join(armer, NULL);
    assert_true((uint32_t)gw_halt_latch_now(&shared) == 3 * ROUNDS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_cause_stays_until_armed),
        cmocka_unit_test(arming_loses_against_a_halt_since),
        cmocka_unit_test(it_is_in_effect_once_a_tick_heeded_it),
        cmocka_unit_test(no_halt_is_lost_among_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
