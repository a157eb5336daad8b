/*
 * The operator's lease. The time of expiry is one atomic word, so renewal and expiry cannot both
 * succeed; the holder's name is guarded by a sequence counter, odd while the name changes. Any
 * thread, RT safe.
 */
#include "rt/sim/lease.h"

#include <assert.h>
#include <string.h>
#include <time.h>

#define READS 8 /* attempts to read a name that changes meanwhile */

void gw_lease_init(gw_lease *lease)
{
    assert(lease);
    memset(lease, 0, sizeof *lease);
}

static void write_holder(gw_lease *lease, const char *by)
{
    struct timespec t;
    uint64_t words[GW_LEASE_WORDS] = {0};
    gw_lease_holder holder = {0};
    clock_gettime(CLOCK_REALTIME, &t);
    holder.since_ns = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
    memcpy(holder.by, by, strnlen(by, GW_LEASE_BY - 1));
    memcpy(words, &holder, sizeof holder);
    atomic_fetch_add(&lease->written, 1);
    for (size_t i = 0; i < GW_LEASE_WORDS; i++)
        atomic_store(&lease->word[i], words[i]);
    atomic_fetch_add(&lease->written, 1);
}

bool gw_lease_take(gw_lease *lease, const char *by, int64_t now_ns)
{
    assert(lease && by && now_ns > 0);
    if (atomic_load(&lease->until_ns) != 0)
        return false;
    write_holder(lease, by);
    atomic_store(&lease->until_ns, now_ns + GW_LEASE_NS);
    return true;
}

bool gw_lease_renew(gw_lease *lease, int64_t now_ns)
{
    assert(lease);
    long long until = atomic_load(&lease->until_ns);
    do {
        if (until == 0 || now_ns > until) /* expired, although no loop has noticed it yet */
            return false;
    } while (!atomic_compare_exchange_weak(&lease->until_ns, &until, now_ns + GW_LEASE_NS));
    return true;
}

void gw_lease_give_back(gw_lease *lease)
{
    assert(lease);
    atomic_store(&lease->until_ns, 0);
}

void gw_lease_abandon(gw_lease *lease)
{
    assert(lease);
    long long until = atomic_load(&lease->until_ns);
    while (until > 1 && !atomic_compare_exchange_weak(&lease->until_ns, &until, 1))
        ;
}

bool gw_lease_lapse(gw_lease *lease, int64_t now_ns)
{
    long long until = atomic_load(&lease->until_ns);
    while (until != 0 && now_ns > until)
        if (atomic_compare_exchange_weak(&lease->until_ns, &until, 0))
            return true;
    return false;
}

bool gw_lease_read(const gw_lease *lease, gw_lease_holder *holder)
{
    assert(lease);
    bool held = atomic_load(&lease->until_ns) != 0;
    if (!holder)
        return held;
    *holder = (gw_lease_holder){0};
    for (int tries = 0; tries < READS; tries++) {
        uint64_t words[GW_LEASE_WORDS];
        unsigned before = atomic_load(&lease->written);
        for (size_t i = 0; i < GW_LEASE_WORDS; i++)
            words[i] = atomic_load(&lease->word[i]);
        if (before % 2 == 1 || atomic_load(&lease->written) != before)
            continue;
        memcpy(holder, words, sizeof *holder);
        break;
    }
    return held;
}
