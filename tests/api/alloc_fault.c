/*
 * Makes one memory call fail, to be preloaded. Only calls that the program itself makes are
 * counted, or jansson for it: how other libraries bear a shortage is theirs.
 *
 * GUIDEWAY_FAIL_AT=N  the N-th call since the start gives NULL
 * GUIDEWAY_FAULT=FILE a file to be mapped: what a test writes into `left` counts down to the call
 *                     that gives NULL; `counted` and `failed` say what happened
 *
 *   gcc -shared -fPIC -O2 -o fault.so tests/api/alloc_fault.c
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

struct page {
    atomic_int left;     /* calls until one fails; 0: none does */
    atomic_uint counted; /* since the program started */
    atomic_uint failed;
};

struct range {
    uintptr_t low, high;
};

static struct page alone, *page = &alone;
static struct range watched[2]; /* the program and jansson */
static int watched_count;

extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *block, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);

static struct range range_of(const struct dl_phdr_info *info)
{
    struct range found = {UINTPTR_MAX, 0};
    for (int i = 0; i < info->dlpi_phnum; i++) {
        uintptr_t low = info->dlpi_addr + info->dlpi_phdr[i].p_vaddr;
        uintptr_t high = low + info->dlpi_phdr[i].p_memsz;
        if (info->dlpi_phdr[i].p_type != PT_LOAD)
            continue;
        found.low = low < found.low ? low : found.low;
        found.high = high > found.high ? high : found.high;
    }
    return found;
}

/* The program is listed first, under an empty name. */
static int watch(struct dl_phdr_info *info, size_t size, void *first)
{
    bool program = *(bool *)first;
    (void)size;
    *(bool *)first = false;
    if ((program || strstr(info->dlpi_name, "libjansson")) && watched_count < 2)
        watched[watched_count++] = range_of(info);
    return 0;
}

__attribute__((constructor)) static void begin(void)
{
    bool first = true;
    const char *at = getenv("GUIDEWAY_FAIL_AT"), *path = getenv("GUIDEWAY_FAULT");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *map =
        fd < 0 ? MAP_FAILED : mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED)
        page = map;
    if (fd >= 0)
        close(fd);
    if (at)
        atomic_store(&page->left, atoi(at));
    dl_iterate_phdr(watch, &first);
}

static bool fails(const void *caller)
{
    bool ours = false;
    for (int i = 0; i < watched_count; i++)
        ours = ours || ((uintptr_t)caller >= watched[i].low && (uintptr_t)caller < watched[i].high);
    if (!ours)
        return false;
    atomic_fetch_add(&page->counted, 1);
    if (atomic_load(&page->left) <= 0 || atomic_fetch_sub(&page->left, 1) != 1)
        return false;
    atomic_fetch_add(&page->failed, 1);
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_malloc(size);
}

void *calloc(size_t members, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_calloc(members, size);
}

void *realloc(void *block, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_realloc(block, size);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails(__builtin_return_address(0)) ? NULL : __libc_memalign(alignment, size);
}
