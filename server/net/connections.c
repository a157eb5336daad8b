/*
 * A table under a lock, searched by socket: a few hundred entries at most.
 */
#include "server/net/connections.h"

#include <assert.h>
#include <sys/socket.h>
#include <time.h>

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* Index of the socket's place, or of a free one for -1; -1 where there is none. */
static int find(const gw_connections *connections, int fd)
{
    for (int i = 0; i < GW_MAX_HTTP; i++)
        if (connections->place[i].fd == fd)
            return i;
    return -1;
}

void connections_init(gw_connections *connections)
{
    pthread_mutex_init(&connections->lock, NULL);
    connections->count = 0;
    for (int i = 0; i < GW_MAX_HTTP; i++)
        connections->place[i].fd = -1;
}

void connections_finish(gw_connections *connections)
{
    pthread_mutex_destroy(&connections->lock);
}

bool connections_add(gw_connections *connections, int fd, long from_now_ms)
{
    assert(fd >= 0);
    pthread_mutex_lock(&connections->lock);
    int i = find(connections, -1);
    if (i >= 0) {
        connections->place[i].fd = fd;
        connections->place[i].deadline_ms = now_ms() + from_now_ms;
        connections->count++;
    }
    pthread_mutex_unlock(&connections->lock);
    return i >= 0;
}

void connections_remove(gw_connections *connections, int fd)
{
    pthread_mutex_lock(&connections->lock);
    int i = fd >= 0 ? find(connections, fd) : -1;
    if (i >= 0) {
        connections->place[i].fd = -1;
        connections->count--;
    }
    pthread_mutex_unlock(&connections->lock);
}

void connections_deadline(gw_connections *connections, int fd, long from_now_ms)
{
    pthread_mutex_lock(&connections->lock);
    int i = fd >= 0 ? find(connections, fd) : -1;
    if (i >= 0)
        connections->place[i].deadline_ms = now_ms() + from_now_ms;
    pthread_mutex_unlock(&connections->lock);
}

void connections_expire(gw_connections *connections)
{
    long now = now_ms();
    pthread_mutex_lock(&connections->lock);
    for (int i = 0; i < GW_MAX_HTTP; i++)
        if (connections->place[i].fd >= 0 && now > connections->place[i].deadline_ms)
            shutdown(connections->place[i].fd, SHUT_RDWR);
    pthread_mutex_unlock(&connections->lock);
}

int connections_count(gw_connections *connections)
{
    pthread_mutex_lock(&connections->lock);
    int count = connections->count;
    pthread_mutex_unlock(&connections->lock);
    return count;
}
