/*
 * Saved scenes in the database, one row for each version. Files in the folder are compared by size
 * and time of change with those that were read before. Other kinds of files are replaced by rename,
 * so that a crash leaves either the old one or the new one.
 */
#include "server/files/store.h"

#include <assert.h>
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <wchar.h>
#include <wctype.h>

#include "server/app/clock.h"

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

/* Removes partial files ".NAME.PID.N" of processes that no longer run. */
static void remove_leftovers(const char *folder)
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

/* Locks the folder; the lock ends with the process, however that ends. */
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

/* True where a name contains a letter or digit of any script. */
static bool has_letters(const char *name)
{
    locale_t utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", (locale_t)0);
    if (!utf8)
        return false;
    locale_t before = uselocale(utf8);
    bool found = false;
    mbstate_t state = {0};
    wchar_t c;
    size_t size, left = strlen(name);
    for (; !found && left > 0; name += size, left -= size) {
        size = mbrtowc(&c, name, left, &state);
        if (size == 0 || size > left)
            break;
        found = iswalnum((wint_t)c) != 0;
    }
    uselocale(before);
    freelocale(utf8);
    return found;
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
    if (size == 0 && has_letters(name))
        strcpy(slug, "scene");
    return slug[0] != 0;
}

bool store_name_valid(const char *file)
{
    char slug[STORE_NAME + 1];
    return store_slug(file, slug) && strcmp(slug, file) == 0;
}

/* ---- one file ------------------------------------------------------------------------------ */

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
    done = done && rename(temporary, path) == 0;
    if (done)
        return sync_folder(folder) ||
               gw_fail(error, GW_FAILED, "", "cannot save %s: %s", path, strerror(errno));
    int why = errno;
    if (fd >= 0)
        unlink(temporary);
    return database_disk_error(path, why, "it cannot be saved", error);
}

/* ---- files that lie in the folder --------------------------------------------------------------
 */

/* The text of a file, and its error where it is not a scene. */
typedef struct scene_file {
    struct stat status;
    char *text; /* NULL: the file cannot be read */
    json_t *document;
    gw_error error;
} scene_file;

/* Does not wait for the writer of a pipe. */
static void read_file(const char *path, scene_file *f)
{
    size_t most = (size_t)GW_MAX_DOCUMENT_BYTES + 1, there = (size_t)f->status.st_size, size = 0;
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    FILE *in = fd >= 0 ? fdopen(fd, "rb") : NULL;
    f->text = in ? malloc((there < most ? there : most) + 1) : NULL;
    if (in && !f->text)
        wire_memory_missed();
    if (f->text)
        size = fread(f->text, 1, there < most ? there : most, in);
    if (f->text && !ferror(in)) {
        f->text[size] = 0;
        f->document = wire_parse_document(f->text, size, &f->error);
    } else
        gw_fail(&f->error, GW_FAILED, "", "%s: %s", path, strerror(errno));
    if (in)
        fclose(in);
    else if (fd >= 0)
        close(fd);
}

const char *store_string(const json_t *document, const char *member)
{
    assert(member);
    const char *value = json_string_value(json_object_get(document, member));
    return value ? value : "";
}

/* Inserts a version as the newest one of its file. */
static bool insert_version(gw_database *db, const char *file, const char *title,
                           const json_t *document, const char *text, const char *problem,
                           double at_s, gw_error *error)
{
    bool whole = json_is_object(document);
    return database_run(db, error,
                        "update saved set replaced = ? where file = ? and replaced is null", "ft",
                        clock_wall_s(), file) &&
           database_run(db, error,
                        "insert into saved (file, title, name, description, scene, problem, at)"
                        " values (?, ?, ?, ?, ?, ?, ?)",
                        "ttttttf", file, title, whole ? store_string(document, "name") : NULL,
                        whole ? store_string(document, "description") : NULL, text, problem,
                        at_s) &&
           database_run(db, error, "delete from saved where replaced < ?", "f",
                        clock_wall_s() - 86400.0 * STORE_FORMER_DAYS) &&
           database_run(db, error,
                        "delete from saved where file = ?1 and replaced is not null and version not"
                        " in (select version from saved where file = ?1 and replaced is not null"
                        " order by version desc limit ?2)",
                        "ti", file, (int64_t)STORE_FORMER);
}

static int64_t changed_ns(const struct stat *status)
{
    return status->st_ctim.tv_sec * INT64_C(1000000000) + status->st_ctim.tv_nsec;
}

static bool is_file_known(gw_store *store, const char *file, const struct stat *status)
{
    if (!database_read(store->database, NULL))
        return true;
    sqlite3_stmt *rows = database_query(
        store->database, NULL, "select 1 from imported where file = ? and changed = ? and size = ?",
        "tii", file, changed_ns(status), (int64_t)status->st_size);
    bool is = !rows || database_row(store->database, rows, NULL);
    database_done(rows);
    database_abandon(store->database);
    return is;
}

/* Reads the file of a scene where it is new or has changed; a name that leads out of the folder has
 * none. An error in the file is stored with it: the scene is listed, and opening it reports the
 * error. False: the database failed. */
static bool import_file(gw_store *store, const char *file, gw_error *error)
{
    char path[STORE_PATH];
    scene_file f = {0};
    gw_database *db = store->database;
    uint64_t ticket;
    snprintf(path, sizeof path, "%s/%s.json", store->folder, file);
    if (!store_name_valid(file) || stat(path, &f.status) != 0 ||
        is_file_known(store, file, &f.status))
        return true;
    read_file(path, &f);
    bool memory = !wire_memory_short() || gw_fail(error, GW_FAILED, "", "memory is short");
    bool begun = memory && database_begin(db, error);
    bool done =
        begun &&
        insert_version(db, file, NULL, f.document, f.error.code ? NULL : f.text,
                       f.error.code ? f.error.message : NULL,
                       (double)f.status.st_mtim.tv_sec + 1e-9 * (double)f.status.st_mtim.tv_nsec,
                       error) &&
        database_run(db, error,
                     "insert or replace into imported (file, changed, size)"
                     " values (?, ?, ?)",
                     "tii", file, changed_ns(&f.status), (int64_t)f.status.st_size);
    done = database_end(db, begun, done, &ticket, error);
    json_decref(f.document);
    free(f.text);
    return done;
}

/* The name without ".json"; false where the entry is not a scene. */
static bool scene_name(const char *entry, char file[STORE_NAME + 1])
{
    const char *dot = strrchr(entry, '.');
    if (!dot || strcmp(dot, ".json") != 0 || dot - entry > STORE_NAME)
        return false;
    memcpy(file, entry, (size_t)(dot - entry));
    file[dot - entry] = 0;
    return store_name_valid(file);
}

static void import_folder(gw_store *store)
{
    DIR *entries = opendir(store->folder);
    for (struct dirent *entry; entries && (entry = readdir(entries));) {
        char file[STORE_NAME + 1];
        if (scene_name(entry->d_name, file))
            import_file(store, file, NULL);
    }
    if (entries)
        closedir(entries);
    database_sync_later(store->database);
}

/* ---- saved scenes -------------------------------------------------------------------------- */

static bool missing_file(const char *file, gw_error *error)
{
    return gw_fail(error, GW_NOT_FOUND, "", "no scene is saved as \"%.80s\"", file);
}

/* Ends a transaction and waits for the disk; false with an error. */
static bool end_transaction(gw_store *store, bool begun, bool done, gw_error *error)
{
    uint64_t ticket;
    return database_end(store->database, begun, done, &ticket, error) &&
           database_sync(store->database, ticket, error);
}

json_t *store_load(gw_store *store, const char *file, int64_t *version, gw_error *error)
{
    assert(store && file);
    gw_database *db = store->database;
    json_t *document = NULL;
    if (!store_name_valid(file)) {
        missing_file(file, error);
        return NULL;
    }
    if (!import_file(store, file, error) || !database_read(db, error))
        return NULL;
    sqlite3_stmt *rows = database_query(
        db, error, "select scene, problem, version from saved where file = ? and replaced is null",
        "t", file);
    bool found = rows && database_row(db, rows, error);
    const char *text = found ? (const char *)sqlite3_column_text(rows, 0) : NULL;
    if (text)
        document = wire_parse_document(text, (size_t)sqlite3_column_bytes(rows, 0), error);
    else if (found)
        gw_fail(error, GW_BAD_INPUT, "", "%s", (const char *)sqlite3_column_text(rows, 1));
    else if (rows)
        missing_file(file, error);
    if (found && version)
        *version = sqlite3_column_int64(rows, 2);
    database_done(rows);
    database_abandon(db);
    return document;
}

/* The newest version of the file, 0: none. `known_as`: the name that its user gave it, "" where
 * that is unknown. Within a transaction. */
static int64_t newest_version(gw_database *db, const char *file, char *known_as, size_t size,
                              gw_error *error)
{
    sqlite3_stmt *rows = database_query(
        db, error, "select version, title from saved where file = ? and replaced is null", "t",
        file);
    bool found = rows && database_row(db, rows, error);
    int64_t version = found ? sqlite3_column_int64(rows, 0) : 0;
    const char *title = found ? (const char *)sqlite3_column_text(rows, 1) : NULL;
    if (known_as)
        snprintf(known_as, size, "%s", title ? title : "");
    database_done(rows);
    return version;
}

bool store_version(gw_store *store, const char *file, int64_t *version, gw_error *error)
{
    assert(store && file && version);
    gw_error bad = {0};
    bool reading = store_name_valid(file) && import_file(store, file, &bad) &&
                   database_read(store->database, &bad);
    *version = reading ? newest_version(store->database, file, NULL, 0, &bad) : 0;
    if (reading)
        database_abandon(store->database);
    return !bad.code || gw_fail(error, bad.code, "", "cannot read %s: %.300s", file, bad.message);
}

/* The version and file of the scene that has this file name or title; 0: none. */
static int64_t same_name(gw_database *db, const char *name, char file[STORE_NAME + 1],
                         gw_error *error)
{
    sqlite3_stmt *rows =
        database_query(db, error,
                       "select version, file from saved where replaced is null and"
                       " (file = ?1 or title = ?1) order by file = ?1 desc limit 1",
                       "t", name);
    bool found = rows && database_row(db, rows, error);
    int64_t version = found ? sqlite3_column_int64(rows, 0) : 0;
    if (found)
        snprintf(file, STORE_NAME + 1, "%s", (const char *)sqlite3_column_text(rows, 1));
    database_done(rows);
    return version;
}

/* The slug, with the suffix "-n" from n = 2 on. */
static void numbered_slug(const char *slug, int n, char file[STORE_NAME + 1])
{
    char number[16] = "";
    if (n > 1)
        snprintf(number, sizeof number, "-%d", n);
    size_t room = STORE_NAME - strlen(number), size = strlen(slug) < room ? strlen(slug) : room;
    while (size > 0 && n > 1 && (slug[size - 1] == '-' || slug[size - 1] == '.'))
        size--;
    snprintf(file, STORE_NAME + 1, "%.*s%s", (int)size, slug, number);
}

int64_t store_place(gw_store *store, const char *name, bool (*reserved)(const char *file),
                    char file[STORE_NAME + 1], gw_error *error)
{
    assert(store && name && reserved);
    char slug[STORE_NAME + 1], other[256];
    gw_database *db = store->database;
    gw_error bad = {0};
    if (!store_slug(name, slug)) {
        gw_fail(error, GW_BAD_INPUT, "", "a name needs at least one letter or digit");
        return -1;
    }
    bool reading = import_file(store, slug, &bad) && database_read(db, &bad);
    int64_t version = reading ? same_name(db, name, file, &bad) : 0;
    snprintf(other, sizeof other, "%s", version ? name : "");
    for (int n = 1; !version && !bad.code; n++) {
        numbered_slug(slug, n, file);
        version = newest_version(db, file, other, sizeof other, &bad);
        if (!reserved(file) && (!version || !other[0]))
            break;
        version = 0;
    }
    if (reading)
        database_abandon(db);
    if (!bad.code)
        return version;
    gw_fail(error, bad.code, "", "cannot save %s: %.300s", slug, bad.message);
    return -1;
}

/* True where version `now` is `seen`, or `seen` is negative; else false with GW_CONFLICT. */
static bool matches_version(int64_t now, int64_t seen, gw_error *error)
{
    return seen < 0 || now == seen ||
           gw_fail(error, GW_CONFLICT, "", "somebody else has saved or deleted it meanwhile");
}

bool store_save(gw_store *store, const char *file, const char *name, const json_t *document,
                int64_t over, gw_error *error)
{
    assert(store && file && name && store_name_valid(file));
    gw_database *db = store->database;
    gw_error why = {0};
    gw_text *text = wire_text(json_incref((json_t *)(size_t)document));
    bool fits = text && text->size <= GW_MAX_DOCUMENT_BYTES;
    if (!text)
        gw_fail(error, GW_FAILED, "", "the scene could not be written as text");
    else if (!fits)
        gw_fail(error, GW_TOO_LARGE, "", "the scene has %zu bytes as text, at most %u can be saved",
                text->size, GW_MAX_DOCUMENT_BYTES);
    if (!fits) {
        text_unref(text);
        return false;
    }
    bool begun = database_begin(db, &why);
    bool same =
        begun && (over < 0 || matches_version(newest_version(db, file, NULL, 0, &why), over, &why));
    bool done =
        same && insert_version(db, file, name, document, text->data, NULL, clock_wall_s(), &why);
    done = end_transaction(store, begun, done, &why);
    text_unref(text);
    return done || gw_fail(error, why.code, "", "cannot save %s: %.300s", file, why.message);
}

bool store_delete(gw_store *store, const char *file, int64_t seen, gw_error *error)
{
    assert(store && file);
    char path[STORE_PATH];
    gw_database *db = store->database;
    if (!store_name_valid(file))
        return missing_file(file, error);
    bool begun = import_file(store, file, error) && database_begin(db, error);
    int64_t now = begun ? newest_version(db, file, NULL, 0, error) : 0;
    if (begun && now == 0)
        missing_file(file, error);
    bool done =
        now > 0 && matches_version(now, seen, error) &&
        database_run(db, error, "update saved set replaced = ? where file = ? and replaced is null",
                     "ft", clock_wall_s(), file);
    if (!end_transaction(store, begun, done, error))
        return false;
    snprintf(path, sizeof path, "%s/%s.json", store->folder, file);
    unlink(path); /* the database has it; if the file stays, it counts as known */
    return true;
}

/* ---- versions ------------------------------------------------------------------------------ */

json_t *store_versions(gw_store *store, const char *file, gw_error *error)
{
    assert(store && file);
    gw_database *db = store->database;
    if (!import_file(store, file, error) || !database_read(db, error))
        return NULL;
    json_t *list = json_array();
    sqlite3_stmt *rows = database_query(
        db, error,
        "select version, name, at, replaced from saved where file = ? order by version desc", "t",
        file);
    while (rows && database_row(db, rows, error)) {
        const char *name = (const char *)sqlite3_column_text(rows, 1);
        json_t *entry =
            json_pack("{sI ss sf}", "version", (json_int_t)sqlite3_column_int64(rows, 0), "name",
                      name ? name : file, "saved", sqlite3_column_double(rows, 2));
        if (sqlite3_column_type(rows, 3) != SQLITE_NULL)
            json_object_set_new(entry, "replaced", json_real(sqlite3_column_double(rows, 3)));
        json_array_append_new(list, entry);
    }
    database_done(rows);
    database_abandon(db);
    if (json_array_size(list) > 0)
        return list;
    json_decref(list);
    missing_file(file, error);
    return NULL;
}

/* The newest former version of the file, or `version` if it is a former one; 0: none. */
static int64_t former_version(gw_database *db, const char *file, int64_t version, gw_error *error)
{
    sqlite3_stmt *rows =
        database_query(db, error,
                       "select version from saved where file = ?1 and replaced is not null and"
                       " (?2 = 0 or version = ?2) order by version desc limit 1",
                       "ti", file, version);
    bool found = rows && database_row(db, rows, error);
    int64_t which = found ? sqlite3_column_int64(rows, 0) : 0;
    database_done(rows);
    return which;
}

/* Appends the former versions of the file to the error. */
static void name_versions(gw_database *db, const char *file, gw_error *error)
{
    sqlite3_stmt *rows = database_query(db, NULL,
                                        "select version from saved where file = ? and replaced is"
                                        " not null order by version desc",
                                        "t", file);
    for (int i = 0; rows && database_row(db, rows, NULL); i++)
        gw_error_name(error, i, (const char *)sqlite3_column_text(rows, 0));
    database_done(rows);
}

bool store_restore(gw_store *store, const char *file, int64_t version, int64_t seen,
                   gw_error *error)
{
    assert(store && file && version >= 0);
    gw_database *db = store->database;
    bool begun = database_begin(db, error);
    int64_t which = begun ? former_version(db, file, version, error) : 0;
    if (begun && !which) {
        gw_fail(error, GW_NOT_FOUND, version ? "/version" : "",
                "there is no such former version of \"%.80s\"", file);
        name_versions(db, file, error);
    }
    bool done =
        which > 0 &&
        (seen < 0 || matches_version(newest_version(db, file, NULL, 0, error), seen, error)) &&
        database_run(db, error, "update saved set replaced = ? where file = ? and replaced is null",
                     "ft", clock_wall_s(), file) &&
        database_run(db, error,
                     "insert into saved (file, title, name, description, scene, problem, at)"
                     " select file, title, name, description, scene, problem, ?"
                     " from saved where version = ?",
                     "fi", clock_wall_s(), which);
    return end_transaction(store, begun, done, error);
}

/* ---- all of them ----------------------------------------------------------------------------- */

bool store_list(gw_store *store, void (*visit)(void *context, const store_entry *entry),
                void *context, gw_error *error)
{
    assert(store && visit);
    gw_error why = {0};
    gw_database *db = store->database;
    import_folder(store);
    if (!database_read(db, error))
        return false;
    sqlite3_stmt *rows = database_query(db, &why,
                                        "select file, name, description from saved"
                                        " where replaced is null order by file limit ?",
                                        "i", (int64_t)STORE_LIST);
    while (rows && database_row(db, rows, &why)) {
        store_entry entry = {(const char *)sqlite3_column_text(rows, 0),
                             (const char *)sqlite3_column_text(rows, 1),
                             (const char *)sqlite3_column_text(rows, 2)};
        visit(context, &entry);
    }
    database_done(rows);
    database_abandon(db);
    return !why.code || gw_fail(error, why.code, "", "%s", why.message);
}

bool store_newest(gw_store *store, char file[STORE_NAME + 1])
{
    assert(store);
    file[0] = 0;
    if (!database_read(store->database, NULL))
        return false;
    sqlite3_stmt *rows = database_query(
        store->database, NULL,
        "select file from saved where replaced is null order by at desc, version desc limit 1", "");
    if (rows && database_row(store->database, rows, NULL))
        snprintf(file, STORE_NAME + 1, "%s", (const char *)sqlite3_column_text(rows, 0));
    database_done(rows);
    database_abandon(store->database);
    return file[0] != 0;
}

/* ---- life ---------------------------------------------------------------------------------- */

bool store_open(gw_store *store, const char *data, gw_error *error)
{
    char meshes[sizeof store->folder], path[sizeof store->folder];
    if (!store_folder(data, "scenes", store->folder, sizeof store->folder))
        return gw_fail(error, GW_BAD_INPUT, "", "the data folder's path is too long");
    if (!store_make_folder(store->folder, error) || !lock_folder(store, data, error))
        return false;
    remove_leftovers(store->folder);
    if (store_folder(data, "meshes", meshes, sizeof meshes))
        remove_leftovers(meshes);
    if (!store_folder(data, "guideway.db", path, sizeof path))
        return gw_fail(error, GW_BAD_INPUT, "", "the data folder's path is too long");
    store->database = database_open(path, error);
    if (!store->database)
        return false;
    import_folder(store);
    return true;
}

void store_close(gw_store *store)
{
    database_close(store->database);
    if (store->lock > 0)
        close(store->lock);
    *store = (gw_store){0};
}
