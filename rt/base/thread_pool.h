/*
 * A thread pool: the caller's thread and helpers share the parts of one job (fork and join); the
 * helpers wait between two jobs. For work that may block; not for use inside a tick.
 */
#ifndef GW_BASE_THREAD_POOL_H
#define GW_BASE_THREAD_POOL_H

typedef struct gw_thread_pool gw_thread_pool;

/* A pool of `threads` threads including the caller's, or as many as can be created. NULL: fewer
 * than two. */
gw_thread_pool *gw_thread_pool_create(int threads);
void gw_thread_pool_destroy(gw_thread_pool *pool); /* NULL is fine */

/* Calls work(context, i) once for each i in 0 .. count - 1, on any of the threads and in any order,
 * and returns when all are done. One thread at a time may call. pool NULL: the caller's thread
 * alone.
 */
void gw_thread_pool_run(gw_thread_pool *pool, void (*work)(void *context, int i), void *context,
                        int count);

#endif
