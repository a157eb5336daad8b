/*
 * Threads that carry out jobs in the order in which they come: what takes long does not hold up
 * whoever hands it over. They step back behind all other threads of the server. Any thread.
 */
#ifndef GW_SERVER_NET_WORKERS_H
#define GW_SERVER_NET_WORKERS_H

#include "rt/guideway.h"

typedef struct gw_workers gw_workers;

/* Embedded in what a job is about; not touched by the workers once it runs. */
typedef struct worker_job {
    struct worker_job *next;
    void (*run)(struct worker_job *job);
} worker_job;

gw_workers *workers_create(int count, gw_error *error);

/* Carries out what was handed over, and ends. NULL is fine. */
void workers_destroy(gw_workers *workers);

/* From now on nothing more is taken; returns once all that was has been carried out. */
void workers_finish(gw_workers *workers);

/* False: they are finishing. */
bool workers_do(gw_workers *workers, worker_job *job);

#endif
