/*
 * A disk that refuses, to be preloaded. The file that GUIDEWAY_DISK names says how, read at every
 * call: "write ENOSPC" (EROFS, EIO), "sync EIO", "sync SLOW" (20 ms each), or nothing. Only files
 * of the database and, for writes, of meshes are concerned. The file that GUIDEWAY_DISK_LOG names
 * gets a line for each write to the database's log and each sync: "write" or "sync", when it began
 * and when it ended, in ms.
 *
 *   gcc -shared -fPIC -O2 -o disk.so tests/api/disk_fault.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* The fault set for this kind of call: an errno, 0 for none, or -1 for slow. */
static int fault(const char *kind)
{
    const char *path = getenv("GUIDEWAY_DISK");
    char text[64] = "";
    int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (fd >= 0) {
        if (read(fd, text, sizeof text - 1) < 0)
            text[0] = 0;
        close(fd);
    }
    if (strncmp(text, kind, strlen(kind)) != 0)
        return 0;
    if (strstr(text, "ENOSPC"))
        return ENOSPC;
    if (strstr(text, "EROFS"))
        return EROFS;
    return strstr(text, "SLOW") ? -1 : EIO;
}

static bool is_file(int fd, const char *name)
{
    char link[64], path[512];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t size = readlink(link, path, sizeof path - 1);
    path[size > 0 ? size : 0] = 0;
    return strstr(path, name) != NULL;
}

static double now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

static void note(const char *what, double began)
{
    const char *path = getenv("GUIDEWAY_DISK_LOG");
    int fd = path ? open(path, O_WRONLY | O_APPEND | O_CLOEXEC) : -1;
    if (fd < 0)
        return;
    dprintf(fd, "%s %.3f %.3f\n", what, began, now_ms());
    close(fd);
}

ssize_t write(int fd, const void *data, size_t size)
{
    static ssize_t (*next)(int, const void *, size_t);
    int why = is_file(fd, "/meshes/") ? fault("write") : 0;
    if (!next)
        next = dlsym(RTLD_NEXT, "write");
    if (why > 0)
        errno = why;
    return why > 0 ? -1 : next(fd, data, size);
}

ssize_t pwrite64(int fd, const void *data, size_t size, off64_t at)
{
    static ssize_t (*next)(int, const void *, size_t, off64_t);
    int why = is_file(fd, "guideway.db") ? fault("write") : 0;
    double began = now_ms();
    if (!next)
        next = dlsym(RTLD_NEXT, "pwrite64");
    if (why > 0)
        errno = why;
    ssize_t done = why > 0 ? -1 : next(fd, data, size, at);
    if (is_file(fd, "guideway.db-wal"))
        note("write", began);
    return done;
}

int fdatasync(int fd)
{
    static int (*next)(int);
    int why = is_file(fd, "guideway.db") ? fault("sync") : 0;
    double began = now_ms();
    if (!next)
        next = dlsym(RTLD_NEXT, "fdatasync");
    if (why < 0)
        nanosleep(&(struct timespec){0, 20000000}, NULL);
    if (why > 0)
        errno = why;
    int done = why > 0 ? -1 : next(fd);
    if (is_file(fd, "guideway.db-wal"))
        note("sync", began);
    return done;
}
