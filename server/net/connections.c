/*
 * A table of connections under a lock, searched by socket: a few hundred entries at most.
 */
#include "server/net/connections.h"

#include <assert.h>
#include <sys/socket.h>

#include "server/app/clock.h"

#define PLACES (2 * GW_MAX_HTTP)

/* The index of the socket's entry, or, for -1, of a free one; -1 where there is none. */
static int find_place(const gw_connections *connections, int fd)
{
    for (int i = 0; i < PLACES; i++)
        if (connections->slot[i].fd == fd)
            return i;
    return -1;
}

void connections_init(gw_connections *connections)
{
    pthread_mutex_init(&connections->lock, NULL);
    connections->count = 0;
    for (int i = 0; i < PLACES; i++)
        connections->slot[i].fd = -1;
}

void connections_finish(gw_connections *connections)
{
    pthread_mutex_destroy(&connections->lock);
}

static void shut_connection(gw_connections *connections, int i)
{
    shutdown(connections->slot[i].fd, SHUT_RDWR);
    if (!connections->slot[i].gone)
        connections->count--;
    connections->slot[i].gone = true;
}

/* Shuts down the connection that has been idle longest, if for CONNECTIONS_IDLE_MS at least. */
static void make_room(gw_connections *connections, long now)
{
    int oldest = -1;
    for (int i = 0; i < PLACES; i++) {
        bool rests = connections->slot[i].fd >= 0 && !connections->slot[i].at_work &&
                     !connections->slot[i].gone;
        if (rests && (oldest < 0 || connections->slot[i].rests_since_ms <
                                        connections->slot[oldest].rests_since_ms))
            oldest = i;
    }
    if (oldest >= 0 && now - connections->slot[oldest].rests_since_ms >= CONNECTIONS_IDLE_MS)
        shut_connection(connections, oldest);
}

void connections_evict_idle(gw_connections *connections)
{
    pthread_mutex_lock(&connections->lock);
    make_room(connections, clock_ms());
    pthread_mutex_unlock(&connections->lock);
}

bool connections_add(gw_connections *connections, int fd, long from_now_ms)
{
    assert(fd >= 0);
    long now = clock_ms();
    pthread_mutex_lock(&connections->lock);
    if (connections->count >= GW_MAX_HTTP)
        make_room(connections, now);
    int i = connections->count < GW_MAX_HTTP ? find_place(connections, -1) : -1;
    if (i >= 0) {
        connections->slot[i].fd = fd;
        connections->slot[i].at_work = connections->slot[i].gone = false;
        connections->slot[i].deadline_ms = now + from_now_ms;
        connections->slot[i].rests_since_ms = now;
        connections->count++;
    }
    pthread_mutex_unlock(&connections->lock);
    return i >= 0;
}

void connections_remove(gw_connections *connections, int fd)
{
    pthread_mutex_lock(&connections->lock);
    int i = fd >= 0 ? find_place(connections, fd) : -1;
    if (i >= 0) {
        connections->slot[i].fd = -1;
        connections->count -= !connections->slot[i].gone;
    }
    pthread_mutex_unlock(&connections->lock);
}

static void set_deadline_of(gw_connections *connections, int fd, long from_now_ms, bool at_work)
{
    long now = clock_ms();
    pthread_mutex_lock(&connections->lock);
    int i = fd >= 0 ? find_place(connections, fd) : -1;
    if (i >= 0) {
        connections->slot[i].deadline_ms = now + from_now_ms;
        connections->slot[i].at_work = at_work;
        connections->slot[i].rests_since_ms = now;
    }
    pthread_mutex_unlock(&connections->lock);
}

void connections_work(gw_connections *connections, int fd, long from_now_ms)
{
    set_deadline_of(connections, fd, from_now_ms, true);
}

void connections_rest(gw_connections *connections, int fd, long from_now_ms)
{
    set_deadline_of(connections, fd, from_now_ms, false);
}

void connections_expire(gw_connections *connections)
{
    long now = clock_ms();
    pthread_mutex_lock(&connections->lock);
    for (int i = 0; i < PLACES; i++)
        if (connections->slot[i].fd >= 0 && now > connections->slot[i].deadline_ms)
            shut_connection(connections, i);
    pthread_mutex_unlock(&connections->lock);
}

int connections_count(gw_connections *connections)
{
    pthread_mutex_lock(&connections->lock);
    int count = connections->count;
    pthread_mutex_unlock(&connections->lock);
    return count;
}
