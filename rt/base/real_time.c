/*
 * Priorities, processors, page faults and waiting of real-time threads, on Linux.
 */
#include "rt/base/real_time.h"

#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "rt/base/clock.h"

#define STACK_TOUCHED (512 * 1024)

/* ---- waiting -------------------------------------------------------------------------------- */

void gw_sleep_until(int64_t ns)
{
    struct timespec t = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
        ;
}

void gw_spin_until(int64_t ns)
{
    while (gw_now_ns() < ns)
        ;
}

/* ---- the calling thread --------------------------------------------------------------------- */

bool gw_claim_priority(int priority)
{
    struct sched_param p = {.sched_priority = priority};
    return pthread_setschedparam(pthread_self(), SCHED_FIFO, &p) == 0;
}

static bool run_on(const cpu_set_t *set)
{
    return pthread_setaffinity_np(pthread_self(), sizeof *set, set) == 0;
}

bool gw_claim_processor(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET((size_t)processor, &set);
    return run_on(&set);
}

/* The processors on which the calling thread may run, and the last one of them; -1 if there is one
 * only. */
static int last_processor(cpu_set_t *set)
{
    if (pthread_getaffinity_np(pthread_self(), sizeof *set, set) != 0 || CPU_COUNT(set) < 2)
        return -1;
    int i = CPU_SETSIZE - 1;
    while (!CPU_ISSET((size_t)i, set))
        i--;
    return i;
}

bool gw_claim_last_processor(void)
{
    cpu_set_t set;
    int last = last_processor(&set);
    return last >= 0 && gw_claim_processor(last);
}

bool gw_avoid_last_processor(void)
{
    cpu_set_t set;
    int last = last_processor(&set);
    if (last < 0)
        return false;
    CPU_CLR((size_t)last, &set);
    return run_on(&set);
}

void gw_prefault_stack(void)
{
    volatile unsigned char page[STACK_TOUCHED];
    for (size_t i = 0; i < sizeof page; i += GW_PAGE_BYTES)
        page[i] = 0;
}

/* ---- memory --------------------------------------------------------------------------------- */

/* At once where the system can, which takes a tenth of the time, else one by one. */
void gw_populate_pages(unsigned char *memory, size_t bytes)
{
    if (madvise(memory, bytes, MADV_POPULATE_WRITE) == 0)
        return;
    for (size_t i = 0; i < bytes; i += GW_PAGE_BYTES)
        *(volatile unsigned char *)&memory[i] = 0;
}

/* Touches the pages of a loaded object that ticks use: the program, the C and the mathematical
 * library. It also reads between variables, which the address sanitizer would report. */
__attribute__((no_sanitize("address"))) static int touch_object(struct dl_phdr_info *object,
                                                                size_t size, void *context)
{
    (void)size, (void)context;
    const char *name = object->dlpi_name;
    if (name[0] && !strstr(name, "/libc.so") && !strstr(name, "/libm.so"))
        return 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        const volatile unsigned char *page =
            (const volatile unsigned char *)(object->dlpi_addr + part->p_vaddr);
        for (size_t k = 0; part->p_type == PT_LOAD && (part->p_flags & PF_R) && k < part->p_filesz;
             k += GW_PAGE_BYTES)
            (void)page[k];
    }
    return 0;
}

bool gw_lock_memory(void)
{
    dl_iterate_phdr(touch_object, NULL);
    return mlockall(MCL_CURRENT | MCL_ONFAULT) == 0;
}
