/*
 * Threads that carry out long jobs in order of arrival, so that the thread that hands them over
 * need not wait. They have a lower priority than the server's other threads. Any thread.
 */
#ifndef GW_SERVER_NET_WORKERS_H
#define GW_SERVER_NET_WORKERS_H

#include "rt/guideway.h"

typedef struct gw_workers gw_workers;

/* The first member of a struct that describes a job; the workers do not touch it once it runs. */
typedef struct worker_job {
    struct worker_job *next;
    void (*run)(struct worker_job *job);
} worker_job;

gw_workers *workers_create(int count, gw_error *error);

/* Carries out the jobs in the queue, then ends the threads. NULL has no effect. */
void workers_destroy(gw_workers *workers);

/* Takes no more jobs, and returns once those in the queue have been carried out. */
void workers_finish(gw_workers *workers);

/* Adds a job; false where the workers are finishing. */
bool workers_do(gw_workers *workers, worker_job *job);

#endif
