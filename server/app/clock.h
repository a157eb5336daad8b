/*
 * Clocks. Any thread.
 */
#ifndef GW_SERVER_APP_CLOCK_H
#define GW_SERVER_APP_CLOCK_H

#include <stdint.h>
#include <time.h>

/* The steady clock, for durations and deadlines. */
static inline int64_t clock_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static inline int64_t clock_ms(void)
{
    return clock_ns() / 1000000;
}

static inline double clock_s(void)
{
    return 1e-9 * (double)clock_ns();
}

/* Processor time of the calling thread (s). */
static inline double clock_thread_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Seconds since 1970. */
static inline double clock_wall_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

#endif
