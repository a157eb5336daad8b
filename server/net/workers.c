/*
 * A queue under a lock, and the threads that wait on it.
 */
#include "server/net/workers.h"

#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

#include "server/net/niceness.h"

#define MOST 16

struct gw_workers {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    worker_job *first, **last; /* lock */
    bool finishing;            /* lock */
    int count;
    pthread_t threads[MOST];
};

/* Waits for the next job; NULL once the queue is empty and finishing. */
static worker_job *next_job(gw_workers *workers)
{
    pthread_mutex_lock(&workers->lock);
    while (!workers->first && !workers->finishing)
        pthread_cond_wait(&workers->wake, &workers->lock);
    worker_job *job = workers->first;
    if (job && !(workers->first = job->next))
        workers->last = &workers->first;
    pthread_mutex_unlock(&workers->lock);
    return job;
}

static void *worker_thread(void *context)
{
    worker_job *job;
    niceness_set(NICENESS_WORK);
    while ((job = next_job(context)))
        job->run(job);
    return NULL;
}

bool workers_do(gw_workers *workers, worker_job *job)
{
    assert(workers && job && job->run);
    job->next = NULL;
    pthread_mutex_lock(&workers->lock);
    bool taken = !workers->finishing;
    if (taken) {
        *workers->last = job;
        workers->last = &job->next;
        pthread_cond_signal(&workers->wake);
    }
    pthread_mutex_unlock(&workers->lock);
    return taken;
}

gw_workers *workers_create(int count, gw_error *error)
{
    assert(count > 0 && count <= MOST);
    gw_workers *workers = calloc(1, sizeof *workers);
    if (!workers) {
        gw_fail(error, GW_FAILED, "", "memory is short");
        return NULL;
    }
    pthread_mutex_init(&workers->lock, NULL);
    pthread_cond_init(&workers->wake, NULL);
    workers->last = &workers->first;
    for (; workers->count < count; workers->count++) {
        if (pthread_create(&workers->threads[workers->count], NULL, worker_thread, workers) != 0) {
            gw_fail(error, GW_FAILED, "", "the system refuses threads for requests");
            workers_destroy(workers);
            return NULL;
        }
        pthread_setname_np(workers->threads[workers->count], "gw-work");
    }
    return workers;
}

void workers_finish(gw_workers *workers)
{
    assert(workers);
    pthread_mutex_lock(&workers->lock);
    workers->finishing = true;
    pthread_cond_broadcast(&workers->wake);
    pthread_mutex_unlock(&workers->lock);
    for (int i = 0; i < workers->count; i++)
        pthread_join(workers->threads[i], NULL);
    workers->count = 0;
}

void workers_destroy(gw_workers *workers)
{
    if (!workers)
        return;
    workers_finish(workers);
    pthread_mutex_destroy(&workers->lock);
    pthread_cond_destroy(&workers->wake);
    free(workers);
}
