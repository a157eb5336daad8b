/*
 * Prefetching: requests memory that is about to be read and written from other caches or main
 * memory before it is needed.
 */
#ifndef GW_BASE_FETCH_H
#define GW_BASE_FETCH_H

#define GW_CACHE_LINE 64 /* bytes */

/* Prefetches the cache lines from `first` to before `end`. Any thread, RT safe. */
static inline void gw_fetch(const void *first, const void *end)
{
    for (const char *at = first; at < (const char *)end; at += GW_CACHE_LINE)
        __builtin_prefetch(at, 1);
}

#endif
