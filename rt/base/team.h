/*
 * A team of threads that do the parts of one job: the caller's own and its helpers, which
 * wait between two jobs. For work that may block; not for use inside a tick.
 */
#ifndef GW_BASE_TEAM_H
#define GW_BASE_TEAM_H

typedef struct gw_team gw_team;

/* `threads` of them with the caller's, as many as can be had. NULL: fewer than two. */
gw_team *gw_team_create(int threads);
void gw_team_destroy(gw_team *team); /* NULL is fine */

/* Calls work(context, i) once for each i in 0 .. count - 1, on any of the threads and in any order,
 * and returns when all are done. One thread at a time may call. NULL: the caller does it alone. */
void gw_team_do(gw_team *team, void (*work)(void *context, int i), void *context, int count);

#endif
