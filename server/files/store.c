/*
 * Scenes as files, each replaced by rename so that a crash leaves the old one or the new one.
 */
#include "server/files/store.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_PATH (1024 + STORE_NAME + 64)

/* ---- folders and names --------------------------------------------------------------------- */

bool store_make_folder(const char *path, gw_error *error)
{
    char part[1024];
    size_t size = strlen(path);
    if (size >= sizeof part)
        return gw_fail(error, GW_BAD_INPUT, "", "the data folder's path is longer than %zu",
                       sizeof part - 1);
    for (size_t i = 1; i <= size; i++) {
        if (path[i] != '/' && path[i] != 0)
            continue;
        memcpy(part, path, i);
        part[i] = 0;
        if (mkdir(part, 0755) != 0 && errno != EEXIST)
            return gw_fail(error, GW_FAILED, "", "cannot make the folder %s: %s", part,
                           strerror(errno));
    }
    return true;
}

/* Removes what a process that is no more left half written: ".NAME.PID.N". */
static void sweep(const char *folder)
{
    DIR *entries = opendir(folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char path[STORE_PATH + 256];
        const char *last = strrchr(entry->d_name, '.'), *dot = last;
        while (dot && dot > entry->d_name && *--dot != '.')
            ;
        long pid = dot && dot > entry->d_name ? strtol(dot + 1, NULL, 10) : 0;
        if (entry->d_name[0] != '.' || pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH)
            continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        unlink(path);
    }
    if (entries)
        closedir(entries);
}

bool store_folder(const char *data, const char *name, char *folder, size_t room)
{
    const char *xdg = getenv("XDG_DATA_HOME"), *home = getenv("HOME");
    int size;
    if (data)
        size = snprintf(folder, room, "%s/%s", data, name);
    else if (xdg && *xdg)
        size = snprintf(folder, room, "%s/guideway/%s", xdg, name);
    else
        size =
            snprintf(folder, room, "%s/.local/share/guideway/%s", home && *home ? home : ".", name);
    return size >= 0 && (size_t)size < room;
}

/* The lock is the process's: it ends with it, however it ends. */
static bool lock_folder(gw_store *store, const char *data, gw_error *error)
{
    char path[sizeof store->folder], folder[sizeof path];
    bool fits = store_folder(data, "lock", path, sizeof path) &&
                store_folder(data, "", folder, sizeof folder);
    folder[strlen(folder) - 1] = 0;
    int fd = fits ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644) : -1;
    if (fd < 0)
        return gw_fail(error, GW_FAILED, "",
                       "cannot write in the data folder %s: %s; --data names another one", folder,
                       strerror(errno));
    store->lock = fd;
    if (flock(fd, LOCK_EX | LOCK_NB) == 0)
        return true;
    return gw_fail(error, GW_BAD_INPUT, "",
                   "another server uses the data folder %s: end it, or name another folder by "
                   "--data",
                   folder);
}

bool store_open(gw_store *store, const char *data, gw_error *error)
{
    char meshes[sizeof store->folder];
    if (!store_folder(data, "scenes", store->folder, sizeof store->folder))
        return gw_fail(error, GW_BAD_INPUT, "", "the data folder's path is too long");
    if (!store_make_folder(store->folder, error) || !lock_folder(store, data, error))
        return false;
    sweep(store->folder);
    if (store_folder(data, "meshes", meshes, sizeof meshes))
        sweep(meshes);
    return true;
}

void store_close(gw_store *store)
{
    if (store->lock > 0)
        close(store->lock);
    store->lock = 0;
}

bool store_slug(const char *name, char slug[STORE_NAME + 1])
{
    assert(name && slug);
    size_t size = 0;
    for (const char *c = name; *c && size < STORE_NAME; c++) {
        bool plain = isascii((unsigned char)*c) && (isalnum((unsigned char)*c) || *c == '_');
        if (plain)
            slug[size++] = *c;
        else if (size > 0 && slug[size - 1] != '-' && slug[size - 1] != '.')
            slug[size++] = *c == '.' ? '.' : '-';
    }
    while (size > 0 && (slug[size - 1] == '-' || slug[size - 1] == '.'))
        size--;
    slug[size] = 0;
    return size > 0;
}

bool store_name_valid(const char *file)
{
    char slug[STORE_NAME + 1];
    return store_slug(file, slug) && strcmp(slug, file) == 0;
}

static void path_of(const gw_store *store, const char *file, char path[STORE_PATH])
{
    snprintf(path, STORE_PATH, "%s/%s.json", store->folder, file);
}

static bool check_name(const char *file, gw_error *error)
{
    return store_name_valid(file) ||
           gw_fail(error, GW_NOT_FOUND, "", "no scene is saved as \"%.80s\"", file);
}

/* ---- one file ------------------------------------------------------------------------------ */

static char *read_whole(const char *path, size_t *size)
{
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return NULL;
    char *data = malloc(GW_MAX_DOCUMENT_BYTES + 1);
    if (!data)
        wire_memory_missed();
    *size = data ? fread(data, 1, GW_MAX_DOCUMENT_BYTES + 1, stream) : 0;
    if (ferror(stream)) {
        free(data);
        data = NULL;
        errno = EIO;
    }
    fclose(stream);
    return data;
}

json_t *store_load(const gw_store *store, const char *file, gw_error *error)
{
    assert(store && file);
    char path[STORE_PATH];
    size_t size;
    if (!check_name(file, error))
        return NULL;
    path_of(store, file, path);
    char *data = read_whole(path, &size);
    if (!data) {
        bool missing = errno == ENOENT;
        gw_fail(error, missing ? GW_NOT_FOUND : GW_FAILED, "", "%s: %s", path, strerror(errno));
        return NULL;
    }
    json_t *document = wire_parse_document(data, size, error);
    free(data);
    return document;
}

static bool write_whole(int fd, const char *data, size_t size)
{
    while (size > 0) {
        ssize_t written = write(fd, data, size);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return false;
        data += written;
        size -= (size_t)written;
    }
    return fsync(fd) == 0;
}

static bool sync_folder(const char *folder)
{
    int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    bool done = fd >= 0 && fsync(fd) == 0;
    if (fd >= 0)
        close(fd);
    return done;
}

bool store_write(const char *folder, const char *file, const char *data, size_t size,
                 gw_error *error)
{
    static atomic_uint serial;
    char path[STORE_PATH], temporary[STORE_PATH];
    snprintf(path, sizeof path, "%s/%s", folder, file);
    snprintf(temporary, sizeof temporary, "%s/.%s.%ld.%u", folder, file, (long)getpid(),
             atomic_fetch_add(&serial, 1));
    int fd = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
    bool done = fd >= 0 && write_whole(fd, data, size);
    if (fd >= 0)
        done = close(fd) == 0 && done;
    done = done && rename(temporary, path) == 0 && sync_folder(folder);
    int why = errno;
    if (done)
        return true;
    if (fd >= 0)
        unlink(temporary);
    return gw_fail(error, GW_FAILED, "", "cannot save %s: %s", path, strerror(why));
}

bool store_save(const gw_store *store, const char *file, const json_t *document, gw_error *error)
{
    assert(store && file);
    char name[STORE_NAME + sizeof ".json"];
    if (!check_name(file, error))
        return false;
    char *data = json_dumps(document, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
    if (!data || wire_memory_short()) {
        free(data);
        return gw_fail(error, GW_FAILED, "", "the scene could not be written as text");
    }
    snprintf(name, sizeof name, "%s.json", file);
    size_t size = strlen(data);
    bool done = size <= GW_MAX_DOCUMENT_BYTES ? store_write(store->folder, name, data, size, error)
                                              : gw_fail(error, GW_TOO_LARGE, "",
                                                        "the scene has %zu bytes as text, at most "
                                                        "%u can be saved",
                                                        size, GW_MAX_DOCUMENT_BYTES);
    free(data);
    return done;
}

bool store_delete(const gw_store *store, const char *file, gw_error *error)
{
    char path[STORE_PATH];
    if (!check_name(file, error))
        return false;
    path_of(store, file, path);
    if (unlink(path) != 0)
        return gw_fail(error, errno == ENOENT ? GW_NOT_FOUND : GW_FAILED, "", "%s: %s", path,
                       strerror(errno));
    return sync_folder(store->folder) ||
           gw_fail(error, GW_FAILED, "", "%s: %s", store->folder, strerror(errno));
}

/* ---- the folder ---------------------------------------------------------------------------- */

/* The name without ".json", where it is that of a saved scene. */
static bool scene_name(const char *entry, char file[STORE_NAME + 1])
{
    const char *dot = strrchr(entry, '.');
    if (!dot || strcmp(dot, ".json") != 0 || dot - entry > STORE_NAME)
        return false;
    memcpy(file, entry, (size_t)(dot - entry));
    file[dot - entry] = 0;
    return store_name_valid(file);
}

bool store_list(const gw_store *store, void (*visit)(void *context, const char *file),
                void *context, gw_error *error)
{
    struct dirent **entries;
    int count = scandir(store->folder, &entries, NULL, alphasort), visited = 0;
    if (count < 0)
        return gw_fail(error, GW_FAILED, "", "%s: %s", store->folder, strerror(errno));
    for (int i = 0; i < count; i++) {
        char file[STORE_NAME + 1];
        if (visited < STORE_LIST && scene_name(entries[i]->d_name, file)) {
            visit(context, file);
            visited++;
        }
        free(entries[i]);
    }
    free(entries);
    return true;
}

typedef struct newest {
    const gw_store *store;
    struct timespec time;
    char *file;
} newest;

static void take_newer(void *context, const char *file)
{
    newest *best = context;
    char path[STORE_PATH];
    struct stat status;
    path_of(best->store, file, path);
    if (stat(path, &status) != 0)
        return;
    struct timespec time = status.st_mtim;
    if (time.tv_sec > best->time.tv_sec ||
        (time.tv_sec == best->time.tv_sec && time.tv_nsec > best->time.tv_nsec)) {
        best->time = time;
        strcpy(best->file, file);
    }
}

bool store_newest(const gw_store *store, char file[STORE_NAME + 1])
{
    newest best = {store, {0, 0}, file};
    file[0] = 0;
    return store_list(store, take_newer, &best, NULL) && file[0] != 0;
}
