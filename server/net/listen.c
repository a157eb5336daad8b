/*
 * Accepts, peeks, hands over. Waiting connections are watched edge-triggered and have a deadline,
 * so one that sends half a request line and stops costs nothing and goes away.
 */
#include "server/net/listen.h"

#include <assert.h>
#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_WAITING 1024 /* connections that have not said yet what they want */
#define EXPIRE_MS   250
#define ID_LISTEN   (MAX_WAITING + 1)
#define ID_STOP     (MAX_WAITING + 2)

typedef struct waiting {
    int fd; /* -1: free */
    long deadline_ms;
    struct sockaddr_storage peer;
    socklen_t peer_size;
} waiting;

struct gw_listener {
    int fd, epoll, stop;
    int port;
    bool loopback, started;
    char host[128];
    gw_http *http;
    gw_stream *stream;
    pthread_t thread;
    waiting waiting[MAX_WAITING];
};

static long now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ---- handing over -------------------------------------------------------------------------- */

static void turn_away(int fd)
{
    static const char answer[] = "HTTP/1.1 503 Service Unavailable\r\n"
                                 "Content-Type: application/problem+json\r\n"
                                 "Content-Length: 92\r\nRetry-After: 1\r\nConnection: close\r\n\r\n"
                                 "{\"type\":\"about:blank\",\"title\":\"Service Unavailable\","
                                 "\"status\":503,\"detail\":\"too busy now\"}  ";
    char scratch[4096];
    ssize_t got = send(fd, answer, sizeof answer - 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    shutdown(fd, SHUT_WR);
    /* What is unread at close would be answered with a reset that eats the reply. */
    while (got > 0)
        got = recv(fd, scratch, sizeof scratch, MSG_DONTWAIT);
    close(fd);
}

typedef enum wish { WISH_UNKNOWN, WISH_HTTP, WISH_STREAM, WISH_GONE } wish;

static wish peek(int fd)
{
    static const char stream[] = "GET /ws";
    char start[sizeof stream];
    ssize_t size = recv(fd, start, sizeof start, MSG_PEEK | MSG_DONTWAIT);
    if (size == 0 || (size < 0 && errno != EAGAIN && errno != EINTR))
        return WISH_GONE;
    if (size < 0)
        return WISH_UNKNOWN;
    size_t known = (size_t)size < sizeof stream - 1 ? (size_t)size : sizeof stream - 1;
    if (memcmp(start, stream, known) != 0)
        return WISH_HTTP;
    if ((size_t)size < sizeof start)
        return WISH_UNKNOWN;
    char next = start[sizeof stream - 1];
    return next == ' ' || next == '?' ? WISH_STREAM : WISH_HTTP;
}

static void release(gw_listener *listener, waiting *entry, wish wanted)
{
    int fd = entry->fd;
    bool taken = true;
    epoll_ctl(listener->epoll, EPOLL_CTL_DEL, fd, NULL);
    entry->fd = -1;
    if (wanted == WISH_GONE)
        close(fd);
    else if (wanted == WISH_STREAM)
        taken = stream_adopt(listener->stream, fd);
    else
        taken =
            http_adopt(listener->http, fd, (const struct sockaddr *)&entry->peer, entry->peer_size);
    if (!taken)
        turn_away(fd);
}

static void look_at(gw_listener *listener, waiting *entry)
{
    if (entry->fd < 0)
        return;
    wish wanted = peek(entry->fd);
    if (wanted != WISH_UNKNOWN)
        release(listener, entry, wanted);
}

/* ---- accepting ----------------------------------------------------------------------------- */

static waiting *free_place(gw_listener *listener)
{
    for (int i = 0; i < MAX_WAITING; i++)
        if (listener->waiting[i].fd < 0)
            return &listener->waiting[i];
    return NULL;
}

static void accept_one(gw_listener *listener)
{
    struct sockaddr_storage peer;
    socklen_t size = sizeof peer;
    int one = 1;
    int fd = accept4(listener->fd, (struct sockaddr *)&peer, &size, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd < 0) {
        if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    waiting *entry = free_place(listener);
    if (!entry) {
        turn_away(fd);
        return;
    }
    *entry = (waiting){fd, now_ms() + GW_HEADER_TIMEOUT_MS, peer, size};
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP | EPOLLET,
                                .data.u32 = (uint32_t)(entry - listener->waiting)};
    if (epoll_ctl(listener->epoll, EPOLL_CTL_ADD, fd, &event) != 0) {
        entry->fd = -1;
        close(fd);
    }
}

static void expire(gw_listener *listener)
{
    long now = now_ms();
    for (int i = 0; i < MAX_WAITING; i++)
        if (listener->waiting[i].fd >= 0 && now > listener->waiting[i].deadline_ms)
            release(listener, &listener->waiting[i], WISH_GONE);
    http_expire(listener->http);
}

static void *run(void *context)
{
    gw_listener *listener = context;
    struct epoll_event events[64];
    long next = now_ms();
    for (;;) {
        int count = epoll_wait(listener->epoll, events, 64, EXPIRE_MS);
        for (int i = 0; i < count; i++) {
            uint32_t id = events[i].data.u32;
            if (id == ID_STOP)
                return NULL;
            if (id == ID_LISTEN)
                accept_one(listener);
            else
                look_at(listener, &listener->waiting[id]);
        }
        if (now_ms() >= next) {
            expire(listener);
            next = now_ms() + EXPIRE_MS;
        }
    }
}

/* ---- life ---------------------------------------------------------------------------------- */

static bool is_loopback(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const void *)address;
        return ntohl(v4->sin_addr.s_addr) >> 24 == 127;
    }
    const struct sockaddr_in6 *v6 = (const void *)address;
    return IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr);
}

/* Splits "ADDR:PORT"; false where it is not of that form. */
static bool split(const char *address, char host[128], char port[8])
{
    const char *colon = strrchr(address, ':');
    size_t size = colon ? (size_t)(colon - address) : 0;
    if (size == 0 || size >= 127 || strlen(colon + 1) == 0 || strlen(colon + 1) > 5 ||
        strspn(colon + 1, "0123456789") != strlen(colon + 1) || atoi(colon + 1) > 65535)
        return false;
    bool brackets = address[0] == '[' && address[size - 1] == ']';
    if (!brackets && memchr(address, ':', size))
        return false;
    memcpy(host, address + brackets, size - 2 * (size_t)brackets);
    host[size - 2 * (size_t)brackets] = 0;
    strcpy(port, colon + 1);
    return true;
}

static bool open_socket(gw_listener *listener, const struct addrinfo *at, const char *address,
                        gw_error *error)
{
    int one = 1;
    listener->fd = socket(at->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (listener->fd >= 0)
        setsockopt(listener->fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
    if (listener->fd < 0 || bind(listener->fd, at->ai_addr, at->ai_addrlen) != 0 ||
        listen(listener->fd, 512) != 0) {
        if (errno == EADDRINUSE)
            return gw_fail(error, GW_FAILED, "",
                           "%s is taken by another program: choose another with --listen", address);
        return gw_fail(error, GW_FAILED, "", "cannot listen at %s: %s", address, strerror(errno));
    }
    struct sockaddr_storage bound;
    socklen_t size = sizeof bound;
    getsockname(listener->fd, (struct sockaddr *)&bound, &size);
    listener->port =
        ntohs(bound.ss_family == AF_INET ? ((const struct sockaddr_in *)&bound)->sin_port
                                         : ((const struct sockaddr_in6 *)&bound)->sin6_port);
    return true;
}

gw_listener *listener_bind(const char *address, gw_error *error)
{
    assert(address);
    char host[128], port[8];
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    if (!split(address, host, port) || getaddrinfo(host, port, &hints, &found) != 0) {
        gw_fail(error, GW_BAD_INPUT, "",
                "%s is not an address to listen at: 127.0.0.1:8080 or [::1]:8080 are", address);
        return NULL;
    }
    gw_listener *listener = calloc(1, sizeof *listener);
    if (!listener) {
        gw_fail(error, GW_FAILED, "", "memory is short");
        freeaddrinfo(found);
        return NULL;
    }
    listener->fd = listener->epoll = listener->stop = -1;
    for (int i = 0; i < MAX_WAITING; i++)
        listener->waiting[i].fd = -1;
    listener->loopback = is_loopback(found->ai_addr);
    snprintf(listener->host, sizeof listener->host, strchr(host, ':') ? "[%.120s]" : "%.120s",
             host);
    bool open = open_socket(listener, found, address, error);
    freeaddrinfo(found);
    if (open)
        return listener;
    listener_destroy(listener);
    return NULL;
}

bool listener_is_loopback(const gw_listener *listener)
{
    return listener->loopback;
}

int listener_port(const gw_listener *listener)
{
    return listener->port;
}

const char *listener_host(const gw_listener *listener)
{
    return listener->host;
}

bool listener_start(gw_listener *listener, gw_http *http, gw_stream *stream, gw_error *error)
{
    assert(listener && http && stream && !listener->started);
    listener->http = http;
    listener->stream = stream;
    listener->epoll = epoll_create1(EPOLL_CLOEXEC);
    listener->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    struct epoll_event accepts = {.events = EPOLLIN, .data.u32 = ID_LISTEN};
    struct epoll_event stops = {.events = EPOLLIN, .data.u32 = ID_STOP};
    if (listener->epoll < 0 || listener->stop < 0 ||
        epoll_ctl(listener->epoll, EPOLL_CTL_ADD, listener->fd, &accepts) != 0 ||
        epoll_ctl(listener->epoll, EPOLL_CTL_ADD, listener->stop, &stops) != 0 ||
        pthread_create(&listener->thread, NULL, run, listener) != 0)
        return gw_fail(error, GW_FAILED, "", "the listener could not be started: %s",
                       strerror(errno));
    pthread_setname_np(listener->thread, "gw-listen");
    listener->started = true;
    return true;
}

void listener_destroy(gw_listener *listener)
{
    if (!listener)
        return;
    if (listener->started) {
        uint64_t one = 1;
        while (write(listener->stop, &one, sizeof one) < 0 && errno == EINTR)
            ;
        pthread_join(listener->thread, NULL);
    }
    for (int i = 0; i < MAX_WAITING; i++)
        if (listener->waiting[i].fd >= 0)
            close(listener->waiting[i].fd);
    if (listener->fd >= 0)
        close(listener->fd);
    if (listener->epoll >= 0)
        close(listener->epoll);
    if (listener->stop >= 0)
        close(listener->stop);
    free(listener);
}
