/*
 * Helpers wait at a condition variable for the next job; a counter assigns the parts. A job ends
 * when its parts are done, without waiting for a helper that wakes up too late to get a part.
 */
#include "rt/base/thread_pool.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct gw_thread_pool {
    pthread_mutex_t lock;
    pthread_cond_t begin, done;
    void (*work)(void *context, int i);
    void *context;
    int count;
    atomic_int next;
    unsigned long job; /* number of the newest */
    int busy;          /* helpers at work on it */
    bool ends;
    int helper_count;
    pthread_t helpers[];
};

static void take_parts(gw_thread_pool *t)
{
    for (int i; (i = atomic_fetch_add(&t->next, 1)) < t->count;)
        t->work(t->context, i);
}

static void *worker_thread(void *context)
{
    gw_thread_pool *t = context;
    unsigned long seen = 0;
    pthread_mutex_lock(&t->lock);
    for (;;) {
        while (t->job == seen && !t->ends)
            pthread_cond_wait(&t->begin, &t->lock);
        if (t->ends)
            break;
        seen = t->job;
        if (atomic_load(&t->next) >= t->count)
            continue;
        t->busy++;
        pthread_mutex_unlock(&t->lock);
        take_parts(t);
        pthread_mutex_lock(&t->lock);
        if (--t->busy == 0)
            pthread_cond_signal(&t->done);
    }
    pthread_mutex_unlock(&t->lock);
    return NULL;
}

gw_thread_pool *gw_thread_pool_create(int threads)
{
    int helpers = threads - 1;
    gw_thread_pool *t =
        helpers > 0 ? calloc(1, sizeof *t + (size_t)helpers * sizeof *t->helpers) : NULL;
    if (!t)
        return NULL;
    pthread_mutex_init(&t->lock, NULL);
    pthread_cond_init(&t->begin, NULL);
    pthread_cond_init(&t->done, NULL);
    while (t->helper_count < helpers &&
           pthread_create(&t->helpers[t->helper_count], NULL, worker_thread, t) == 0)
        t->helper_count++;
    if (t->helper_count > 0)
        return t;
    gw_thread_pool_destroy(t);
    return NULL;
}

void gw_thread_pool_destroy(gw_thread_pool *t)
{
    if (!t)
        return;
    pthread_mutex_lock(&t->lock);
    t->ends = true;
    pthread_cond_broadcast(&t->begin);
    pthread_mutex_unlock(&t->lock);
    for (int i = 0; i < t->helper_count; i++)
        pthread_join(t->helpers[i], NULL);
    pthread_cond_destroy(&t->begin);
    pthread_cond_destroy(&t->done);
    pthread_mutex_destroy(&t->lock);
    free(t);
}

void gw_thread_pool_run(gw_thread_pool *t, void (*work)(void *context, int i), void *context,
                        int count)
{
    assert(work && count >= 0);
    if (!t) {
        for (int i = 0; i < count; i++)
            work(context, i);
        return;
    }
    pthread_mutex_lock(&t->lock);
    t->work = work, t->context = context, t->count = count;
    atomic_store(&t->next, 0);
    t->job++;
    pthread_cond_broadcast(&t->begin);
    pthread_mutex_unlock(&t->lock);
    take_parts(t);
    pthread_mutex_lock(&t->lock);
    while (t->busy > 0)
        pthread_cond_wait(&t->done, &t->lock);
    pthread_mutex_unlock(&t->lock);
}
