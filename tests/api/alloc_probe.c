/*
 * Counts memory calls of one thread of a running program, to be preloaded. The file named by
 * GUIDEWAY_PROBE is mapped: a test writes the thread's id into `watched` and reads the counts.
 *
 *   gcc -shared -fPIC -O2 -o probe.so tests/api/alloc_probe.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

struct page {
    atomic_int watched;     /* thread id, 0: nobody */
    atomic_uint of_watched; /* calls of that thread */
    atomic_uint of_all;     /* calls of all threads, since the program started */
};

static struct page nowhere, *page = &nowhere;
static __thread int own_id __attribute__((tls_model("initial-exec")));

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
extern void __libc_free(void *block);

__attribute__((constructor)) static void map_page(void)
{
    const char *path = getenv("GUIDEWAY_PROBE");
    int fd = path ? open(path, O_RDWR) : -1;
    if (fd < 0)
        return;
    void *map = mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED)
        page = map;
    close(fd);
}

static void count(void)
{
    if (own_id == 0)
        own_id = (int)syscall(SYS_gettid);
    atomic_fetch_add_explicit(&page->of_all, 1, memory_order_relaxed);
    if (own_id == atomic_load_explicit(&page->watched, memory_order_relaxed))
        atomic_fetch_add_explicit(&page->of_watched, 1, memory_order_relaxed);
}

void *malloc(size_t size)
{
    count();
    return __libc_malloc(size);
}

void *calloc(size_t members, size_t size)
{
    count();
    return __libc_calloc(members, size);
}

void *realloc(void *block, size_t size)
{
    count();
    return __libc_realloc(block, size);
}

void *memalign(size_t alignment, size_t size)
{
    count();
    return __libc_memalign(alignment, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    count();
    return __libc_memalign(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
    count();
    *block = __libc_memalign(alignment, size);
    return *block ? 0 : 12;
}

void free(void *block)
{
    if (block)
        count();
    __libc_free(block);
}
