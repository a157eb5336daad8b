/*
 * Makes one memory call fail, to be preloaded. Only calls that the program itself makes are
 * counted, or jansson for it: how other libraries bear a shortage is theirs.
 *
 * GUIDEWAY_FAULT=FILE a file to be mapped: what a test writes into `left` counts down to the call
 *                     that gives NULL; `counted` and `failed` say what happened; `sites` has the
 *                     places from which calls were made, each once
 * GUIDEWAY_FAIL_TURNS  main() runs once for each line of the input, in a process of its own, with
 *                      what the line says: "at N", the N-th call gives NULL, or "site N", the first
 *                      call from the place N does. So libraries are loaded once. The output and the
 *                      error output of each turn end with a byte 0; descriptor 3 tells the process
 *                      when it begins and its status (of waitpid) when it has ended.
 *
 * A place is a hash of the innermost addresses of the call stack, relative to where the program and
 * jansson were loaded, so that it is the same in each run.
 *
 *   gcc -shared -fPIC -O2 -o fault.so tests/api/alloc_fault.c
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEPTH  6    /* addresses that make a place */
#define FRAMES 12   /* those looked at: some are of other libraries, or below main() */
#define SITES  4096 /* a power of two */

struct page {
    atomic_int left;     /* calls until one fails; 0: none does */
    atomic_uint counted; /* since the program started */
    atomic_uint failed;
    atomic_uint sites[SITES]; /* open addressing; 0: free */
};

struct range {
    uintptr_t low, high;
};

static struct page alone, *page = &alone;
static struct range watched[2]; /* the program and jansson */
static int watched_count;
static unsigned failing_site; /* 0: none */
static bool places;           /* whether they are asked for */
static __thread bool inside;  /* backtrace(), which may allocate */

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
    const char *path = getenv("GUIDEWAY_FAULT");
    int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
    void *map = fd < 0 || ftruncate(fd, sizeof *page) != 0
                    ? MAP_FAILED
                    : mmap(NULL, sizeof *page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (map != MAP_FAILED)
        page = map;
    if (fd >= 0)
        close(fd);
    dl_iterate_phdr(watch, &first);
    void *frames[1];
    backtrace(frames, 1); /* loads what it needs */
    places = map != MAP_FAILED;
}

/* The address relative to its module, which is one of the watched ones; 0: of none. */
static uintptr_t place_of(const void *address)
{
    for (int i = 0; i < watched_count; i++)
        if ((uintptr_t)address >= watched[i].low && (uintptr_t)address < watched[i].high)
            return (uintptr_t)address - watched[i].low + (uintptr_t)(i + 1);
    return 0;
}

/* Notes the place of this call; true where it shall fail and has not yet. */
static bool fails_here(void)
{
    void *frames[FRAMES];
    uint32_t hash = 2166136261u;
    inside = true;
    int count = backtrace(frames, FRAMES), used = 0;
    inside = false;
    for (int i = 0; i < count && used < DEPTH; i++) {
        uintptr_t place = place_of(frames[i]);
        used += place != 0;
        for (int k = 0; place && k < 4; k++)
            hash = (hash ^ (place >> (8 * k) & 255)) * 16777619u;
    }
    hash += hash == 0;
    for (unsigned i = hash, tries = 0; tries < SITES; i++, tries++) {
        unsigned there = 0;
        if (atomic_compare_exchange_strong(&page->sites[i % SITES], &there, hash))
            return hash == failing_site;
        if (there == hash)
            return false;
    }
    return false;
}

static bool fails(const void *caller)
{
    if (inside || !place_of(caller))
        return false;
    atomic_fetch_add(&page->counted, 1);
    bool here = places && fails_here();
    if (!here && (atomic_load(&page->left) <= 0 || atomic_fetch_sub(&page->left, 1) != 1))
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

/* ---- main() in turns ---- */

#define REPORTS 3 /* the descriptor that tells of turns */

static int (*real_main)(int count, char **arguments, char **environment);

static int run_in_turns(int count, char **arguments, char **environment)
{
    char line[64];
    unsigned long n;
    size_t length = 0;
    /* byte by byte: what the library's streams read ahead would be read again by each process */
    while (read(STDIN_FILENO, line + length, 1) == 1 && length < sizeof line - 1) {
        if (line[length++] != '\n')
            continue;
        line[length] = 0;
        length = 0;
        bool at = sscanf(line, "at %lu", &n) == 1;
        if (!at && sscanf(line, "site %lu", &n) != 1)
            return EXIT_FAILURE;
        pid_t child = fork();
        if (child == 0) {
            close(STDIN_FILENO);
            close(REPORTS);
            open("/dev/null", O_RDONLY); /* the lowest descriptor that is free: the input */
            if (at)
                atomic_store(&page->left, (int)n);
            failing_site = at ? 0 : (unsigned)n;
            places = !at;
            return real_main(count, arguments, environment);
        }
        int status;
        dprintf(REPORTS, "%d\n", (int)child);
        if (child < 0 || waitpid(child, &status, 0) != child || write(STDOUT_FILENO, "", 1) != 1 ||
            write(STDERR_FILENO, "", 1) != 1)
            return EXIT_FAILURE;
        dprintf(REPORTS, "%d\n", status);
    }
    return EXIT_SUCCESS;
}

/* The C library's, which the program's first instructions call when all libraries are there. */
extern int __libc_start_main(int (*start)(int, char **, char **), int count, char **arguments,
                             void (*begin_all)(void), void (*end_all)(void),
                             void (*end_loader)(void), void *stack_end);

int __libc_start_main(int (*start)(int, char **, char **), int count, char **arguments,
                      void (*begin_all)(void), void (*end_all)(void), void (*end_loader)(void),
                      void *stack_end)
{
    __typeof__(&__libc_start_main) next = (__typeof__(next))dlsym(RTLD_NEXT, "__libc_start_main");
    real_main = start;
    return next(getenv("GUIDEWAY_FAIL_TURNS") ? run_in_turns : start, count, arguments, begin_all,
                end_all, end_loader, stack_end);
}
