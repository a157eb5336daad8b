/*
 * One thread that waits in epoll; an eventfd among the sockets tells it to end.
 */
#include "server/net/event_loop.h"

#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "server/app/clock.h"
#include "server/net/niceness.h"

#define AT_ONCE 64
#define ID_STOP UINT32_MAX

static void *event_thread(void *argument)
{
    event_loop *loop = argument;
    const event_loop_def *def = &loop->def;
    struct epoll_event events[AT_ONCE];
    if (def->niceness)
        niceness_set(def->niceness);
    long next = clock_ms() + def->period_ms;
    bool more = false;
    for (;;) {
        int count = epoll_wait(loop->epoll, events, AT_ONCE, more ? 0 : (int)def->period_ms);
        for (int i = 0; i < count; i++) {
            if (events[i].data.u32 == ID_STOP)
                return NULL;
            def->on_event(def->context, events[i].data.u32, events[i].events);
        }
        if (clock_ms() >= next) {
            def->on_timer(def->context);
            next = clock_ms() + def->period_ms;
        }
        more = def->on_round && def->on_round(def->context);
    }
}

bool event_loop_watch(event_loop *loop, int how, int fd, uint32_t id, uint32_t events)
{
    assert(loop && loop->open && fd >= 0);
    struct epoll_event event = {.events = events, .data.u32 = id};
    return epoll_ctl(loop->epoll, how, fd, &event) == 0;
}

static bool system_refused(const event_loop *loop, int cause, gw_error *error)
{
    return gw_fail(error, GW_FAILED, "", "%s could not be started: %s", loop->def.what,
                   strerror(cause));
}

bool event_loop_open(event_loop *loop, const event_loop_def *def, gw_error *error)
{
    assert(loop && !loop->open && def && def->what && def->on_event && def->on_timer);
    assert(def->thread && strlen(def->thread) < 16 && def->period_ms > 0);
    loop->def = *def;
    loop->epoll = epoll_create1(EPOLL_CLOEXEC);
    if (loop->epoll < 0)
        return system_refused(loop, errno, error);
    loop->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (loop->stop < 0) {
        close(loop->epoll);
        return system_refused(loop, errno, error);
    }
    loop->open = true;
    return event_loop_watch(loop, EPOLL_CTL_ADD, loop->stop, ID_STOP, EPOLLIN) ||
           system_refused(loop, errno, error);
}

bool event_loop_start(event_loop *loop, gw_error *error)
{
    assert(loop && loop->open && !loop->started);
    int cause = pthread_create(&loop->thread, NULL, event_thread, loop);
    if (cause)
        return system_refused(loop, cause, error);
    pthread_setname_np(loop->thread, loop->def.thread);
    return loop->started = true;
}

void event_loop_stop(event_loop *loop)
{
    assert(loop);
    const uint64_t one = 1;
    if (!loop->started)
        return;
    while (write(loop->stop, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_join(loop->thread, NULL);
    loop->started = false;
}

void event_loop_finish(event_loop *loop)
{
    event_loop_stop(loop);
    if (!loop->open)
        return;
    close(loop->epoll);
    close(loop->stop);
    loop->open = false;
}
