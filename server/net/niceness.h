/*
 * Niceness of the server's threads. Halts arrive on the threads that read sockets, and those of
 * libmicrohttpd answer them on kept connections: they come before all threads that are not
 * real-time. The listener, which hands bursts of connections over to the others, comes before
 * these. Requests that take long are computed after everything else.
 */
#ifndef GW_SERVER_NET_NICENESS_H
#define GW_SERVER_NET_NICENESS_H

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#define NICENESS_LISTENER -15
#define NICENESS_SOCKETS  -10
#define NICENESS_WORK     5

/* Sets the niceness of the calling thread, and of threads that it creates from then on; a refusal
 * is ignored. Returns the one before. */
static inline int niceness_set(int niceness)
{
    id_t self = (id_t)syscall(SYS_gettid);
    int before = getpriority(PRIO_PROCESS, self);
    (void)setpriority(PRIO_PROCESS, self, niceness);
    return before;
}

#endif
