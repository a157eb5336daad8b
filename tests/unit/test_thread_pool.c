/*
 * A thread pool: threads: every part of every piece of work is done once.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdatomic.h>
#include <string.h>

#include "rt/base/thread_pool.h"

enum { PARTS = 50 };

typedef struct count {
    atomic_int done[PARTS];
} count;

static void do_part(void *context, int i)
{
    count *c = context;
    volatile double x = 1;
    for (int k = 0; k < 20 * i; k++)
        x = x * 1.5;
    atomic_fetch_add(&c->done[i], 1);
}

static void every_part_is_done_once(void **state)
{
    (void)state;
    for (int threads = 0; threads < 5; threads++) {
        gw_thread_pool *pool = gw_thread_pool_create(threads);
        assert_true((pool == NULL) == (threads < 2));
        for (int piece = 0; piece < 3000; piece++) {
            static count c;
            int parts = piece % (PARTS + 1);
            memset(&c, 0, sizeof c);
            gw_thread_pool_run(pool, do_part, &c, parts);
            for (int i = 0; i < PARTS; i++)
                assert_int_equal(atomic_load(&c.done[i]), i < parts);
        }
        gw_thread_pool_destroy(pool);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_part_is_done_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
