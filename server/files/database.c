/*
 * One connection under a mutex. Commits go into the write-ahead log without a sync
 * (synchronous=NORMAL), and the log is synced here by the first of the waiting threads, for all of
 * them. This gives the durability of synchronous=FULL with one sync for many commits: SQLite syncs
 * the log itself before it copies pages out of it, so a transaction is either in the synced log or
 * in the synced file. A failed sync is final, since the kernel may have dropped the pages.
 *
 * The connection has exclusive access to the file (locking_mode=EXCLUSIVE): the index of the log is
 * in memory, and no other process can write in between.
 */
#include "server/files/database.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/app/clock.h"

#define STATEMENTS 48         /* prepared statements; more than the server has */
#define LOG_BYTES  (16 << 20) /* size to which the log is truncated on a restart of the log */
#define LOG_ROOM   (9 << 19)  /* initial size of the log: a little more than it grows to */

typedef struct kept_statement {
    const char *sql;
    sqlite3_stmt *statement;
} kept_statement;

struct gw_database {
    char path[1100], log_path[1104];
    dev_t device; /* of the opened file */
    ino_t inode;
    pthread_mutex_t connection;
    sqlite3 *sql;
    kept_statement kept[STATEMENTS];

    pthread_mutex_t state; /* protects the members below; locked after `connection` */
    pthread_cond_t changed;
    uint64_t written, synced; /* numbers of transactions */
    bool syncing;             /* a thread is syncing */
    bool later;               /* database_sync_later() was called: the thread below shall sync */
    int64_t due_ns;           /* when, by clock_ns() */
    bool quit;
    int failed; /* errno of the sync that failed; 0: none has */
    int log;    /* descriptor of the log; -1: not opened; used by the thread that syncs */
    pthread_t thread;
    bool threaded;
};

/* ---- errors -------------------------------------------------------------------------------- */

bool database_disk_error(const char *path, int why, const char *words, gw_error *error)
{
    if (why == ENOSPC || why == EDQUOT)
        return gw_fail(error, GW_NO_SPACE, "",
                       "the disk of %s is full, nothing was changed: free some space and repeat",
                       path);
    if (why == EROFS)
        return gw_fail(error, GW_FAILED, "",
                       "%s is read-only, nothing was changed: make its disk writable and repeat",
                       path);
    return gw_fail(error, GW_FAILED, "", "%s, nothing was changed: %s%s%s", path, words,
                   why ? ": " : "", why ? strerror(why) : "");
}

/* Sets the error from SQLite's; returns false. For a commit SQLite does not store the system's
 * reason, which directly after it is still in errno. */
static bool sqlite_error(const gw_database *db, gw_error *error)
{
    int last = errno, code = sqlite3_errcode(db->sql), system = sqlite3_system_errno(db->sql);
    if (code == SQLITE_FULL)
        system = ENOSPC;
    else if (code == SQLITE_READONLY)
        system = EROFS;
    else if (!system && code == SQLITE_IOERR)
        system = last;
    return database_disk_error(db->path, system, sqlite3_errmsg(db->sql), error);
}

static bool fail_synced(const gw_database *db, int why, gw_error *error)
{
    return gw_fail(error, GW_FAILED, "",
                   "the disk of %s did not keep what was written (%s): mend it and start again",
                   db->path, strerror(why));
}

/* ---- statements ---------------------------------------------------------------------------- */

static sqlite3_stmt *prepare(gw_database *db, const char *sql)
{
    kept_statement *k = db->kept;
    while (k < db->kept + STATEMENTS && k->sql && k->sql != sql)
        k++;
    assert(k < db->kept + STATEMENTS);
    if (k->sql)
        return k->statement;
    if (sqlite3_prepare_v3(db->sql, sql, -1, SQLITE_PREPARE_PERSISTENT, &k->statement, NULL) !=
        SQLITE_OK)
        return NULL;
    k->sql = sql;
    return k->statement;
}

static void bind_values(sqlite3_stmt *statement, const char *types, va_list list)
{
    for (int i = 1; *types; i++, types++) {
        if (*types == 'i')
            sqlite3_bind_int64(statement, i, va_arg(list, int64_t));
        else if (*types == 'f')
            sqlite3_bind_double(statement, i, va_arg(list, double));
        else if (*types == 't')
            sqlite3_bind_text(statement, i, va_arg(list, const char *), -1, SQLITE_STATIC);
        else {
            assert(*types == 'b');
            const void *bytes = va_arg(list, const void *);
            sqlite3_bind_text64(statement, i, bytes, va_arg(list, size_t), SQLITE_STATIC,
                                SQLITE_UTF8);
        }
    }
}

bool database_run(gw_database *db, gw_error *error, const char *sql, const char *types, ...)
{
    assert(db && sql && types);
    sqlite3_stmt *statement = prepare(db, sql);
    if (!statement)
        return sqlite_error(db, error);
    va_list list;
    va_start(list, types);
    bind_values(statement, types, list);
    va_end(list);
    errno = 0;
    bool done = sqlite3_step(statement) == SQLITE_DONE || sqlite_error(db, error);
    database_done(statement);
    return done;
}

sqlite3_stmt *database_query(gw_database *db, gw_error *error, const char *sql, const char *types,
                             ...)
{
    assert(db && sql && types);
    sqlite3_stmt *rows = prepare(db, sql);
    if (!rows) {
        sqlite_error(db, error);
        return NULL;
    }
    va_list list;
    va_start(list, types);
    bind_values(rows, types, list);
    va_end(list);
    return rows;
}

bool database_row(gw_database *db, sqlite3_stmt *rows, gw_error *error)
{
    int code = sqlite3_step(rows);
    if (code != SQLITE_ROW && code != SQLITE_DONE)
        sqlite_error(db, error);
    return code == SQLITE_ROW;
}

void database_done(sqlite3_stmt *rows)
{
    if (!rows)
        return;
    sqlite3_reset(rows);
    sqlite3_clear_bindings(rows);
}

/* ---- transactions -------------------------------------------------------------------------- */

/* True where the path still names the opened file; SQLite would go on writing to a deleted one. */
static bool is_file_in_place(const gw_database *db, gw_error *error)
{
    struct stat status;
    if (stat(db->path, &status) == 0 && status.st_ino == db->inode && status.st_dev == db->device)
        return true;
    return gw_fail(error, GW_FAILED, "",
                   "%s was taken away under the server, nothing was changed: start it again",
                   db->path);
}

static int sync_failed(gw_database *db)
{
    pthread_mutex_lock(&db->state);
    int failed = db->failed;
    pthread_mutex_unlock(&db->state);
    return failed;
}

bool database_begin(gw_database *db, gw_error *error)
{
    assert(db);
    int failed = sync_failed(db);
    if (failed)
        return fail_synced(db, failed, error);
    pthread_mutex_lock(&db->connection);
    if (is_file_in_place(db, error) && database_run(db, error, "begin immediate", ""))
        return true;
    pthread_mutex_unlock(&db->connection);
    return false;
}

bool database_read(gw_database *db, gw_error *error)
{
    assert(db);
    pthread_mutex_lock(&db->connection);
    if (is_file_in_place(db, error))
        return true;
    pthread_mutex_unlock(&db->connection);
    return false;
}

void database_abandon(gw_database *db)
{
    assert(db);
    if (!sqlite3_get_autocommit(db->sql))
        database_run(db, NULL, "rollback", "");
    pthread_mutex_unlock(&db->connection);
}

bool database_end(gw_database *db, bool begun, bool done, uint64_t *ticket, gw_error *error)
{
    assert(db && ticket && (begun || !done));
    if (!begun)
        return false;
    if (!done || !database_run(db, error, "commit", "")) {
        database_abandon(db);
        return false;
    }
    pthread_mutex_lock(&db->state);
    *ticket = ++db->written;
    pthread_mutex_unlock(&db->state);
    pthread_mutex_unlock(&db->connection);
    return true;
}

/* ---- durability ---------------------------------------------------------------------------- */

/* Extends the log with zeros, which are not valid frames: the sync of a file that does not grow
 * need not write the file system's journal. Where the disk is full the log is left shorter. */
static void make_room(int log)
{
    static const char zeros[1 << 16];
    off_t size = lseek(log, 0, SEEK_END);
    while (size >= 0 && size < LOG_ROOM && write(log, zeros, sizeof zeros) == sizeof zeros)
        size += (off_t)sizeof zeros;
}

/* Syncs the log; 0 or errno. One thread at a time. */
static int sync_log(gw_database *db)
{
    if (db->log < 0) {
        db->log = open(db->log_path, O_RDWR | O_CLOEXEC);
        pthread_mutex_lock(&db->connection); /* so that nothing is written to the log meanwhile */
        make_room(db->log);
        pthread_mutex_unlock(&db->connection);
    }
    return db->log >= 0 && fdatasync(db->log) == 0 ? 0 : errno;
}

/* Waits until everything up to the ticket is synced, or syncs it. Under `state`. */
static void sync_up_to(gw_database *db, uint64_t ticket)
{
    while (db->synced < ticket && !db->failed) {
        if (db->syncing) {
            pthread_cond_wait(&db->changed, &db->state);
            continue;
        }
        uint64_t reached = db->written;
        db->syncing = true;
        pthread_mutex_unlock(&db->state);
        int failed = sync_log(db);
        pthread_mutex_lock(&db->state);
        db->syncing = false;
        db->failed = failed;
        if (!failed)
            db->synced = reached;
        pthread_cond_broadcast(&db->changed);
    }
}

bool database_sync(gw_database *db, uint64_t ticket, gw_error *error)
{
    assert(db);
    pthread_mutex_lock(&db->state);
    sync_up_to(db, ticket);
    int failed = db->synced >= ticket ? 0 : db->failed;
    pthread_mutex_unlock(&db->state);
    return !failed || fail_synced(db, failed, error);
}

void database_sync_later(gw_database *db)
{
    assert(db);
    pthread_mutex_lock(&db->state);
    if (!db->later)
        db->due_ns = clock_ns() + DATABASE_LATER_MS / 2 * 1000000;
    db->later = true;
    pthread_cond_broadcast(&db->changed);
    pthread_mutex_unlock(&db->state);
}

static void *delayed_sync_thread(void *context)
{
    gw_database *db = context;
    pthread_mutex_lock(&db->state);
    while (!db->quit) {
        if (!db->later) {
            pthread_cond_wait(&db->changed, &db->state);
            continue;
        }
        const struct timespec due = {db->due_ns / 1000000000, db->due_ns % 1000000000};
        pthread_mutex_unlock(&db->state);
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        pthread_mutex_lock(&db->state);
        db->later = false; /* the sync below takes in all that is written now */
        sync_up_to(db, db->written);
    }
    pthread_mutex_unlock(&db->state);
    return NULL;
}

/* ---- schema -------------------------------------------------------------------------------- */

/*
 * The migrations of a database from one version to the next. `saved`: saved scenes, the newest
 * version of each file and the versions that it replaced. `imported`: the files in the folder of
 * scenes when they were read. `step`: the states of the working document, each whole or as the
 * change from its parent, and the contact points that are followed at opening. `work`:
 * the present state, the newest state that can be redone, and the state that was saved last.
 * `fault`: the ticks before the newest faults. `answer`: the newest answers to requests with a key.
 */
static const char *const migrations[] = {
    "create table saved (version integer primary key autoincrement, file text not null, title text,"
    " name text, description text, scene text, problem text, at real not null, replaced real);"
    "create unique index saved_newest on saved (file) where replaced is null;"
    "create index saved_replaced on saved (file, version) where replaced is not null;"
    "create table imported (file text primary key, changed integer not null, size integer not null)"
    " without rowid;"
    "create table step (id integer primary key autoincrement, parent integer not null,"
    " whole integer not null, size integer not null, text text not null);"
    "create table work (only integer primary key check (only = 1), current integer not null,"
    " tip integer not null, revision integer not null);",
    "alter table work add column saved integer not null default 0",
    "alter table step add column contacts text",
    "create table fault (number integer primary key, cause text not null, by text not null,"
    " since_ns integer not null, ticks integer not null, csv text not null)",
    "create table answer (number integer primary key autoincrement, key text not null unique,"
    " hash integer not null, at real not null, status integer not null, etag text not null,"
    " location text not null, note text not null, body blob not null)"};

#define VERSION ((int)(sizeof migrations / sizeof migrations[0]))

static int version_of(gw_database *db)
{
    sqlite3_stmt *rows = NULL;
    int version = -1;
    if (sqlite3_prepare_v2(db->sql, "pragma user_version", -1, &rows, NULL) == SQLITE_OK &&
        sqlite3_step(rows) == SQLITE_ROW)
        version = sqlite3_column_int(rows, 0);
    sqlite3_finalize(rows);
    return version;
}

static bool migrate_schema(gw_database *db, gw_error *error)
{
    int version = version_of(db);
    if (version < 0)
        return sqlite_error(db, error);
    if (version > VERSION)
        return gw_fail(error, GW_BAD_INPUT, "",
                       "%s is of version %d, this program knows %d: it was written by a later one",
                       db->path, version, VERSION);
    for (; version < VERSION; version++) {
        char set[64];
        snprintf(set, sizeof set, "pragma user_version=%d; commit", version + 1);
        if (sqlite3_exec(db->sql, "begin immediate", NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_exec(db->sql, migrations[version], NULL, NULL, NULL) != SQLITE_OK ||
            sqlite3_exec(db->sql, set, NULL, NULL, NULL) != SQLITE_OK)
            return sqlite_error(db, error);
    }
    return true;
}

/* ---- life ---------------------------------------------------------------------------------- */

static bool open_connection(gw_database *db, gw_error *error)
{
    char settings[200];
    struct stat status;
    snprintf(settings, sizeof settings,
             "pragma locking_mode=exclusive; pragma journal_mode=wal; pragma synchronous=normal;"
             "pragma journal_size_limit=%d",
             LOG_BYTES);
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(db->path, &db->sql, flags, NULL) != SQLITE_OK ||
        sqlite3_exec(db->sql, settings, NULL, NULL, NULL) != SQLITE_OK)
        return sqlite_error(db, error);
    if (!migrate_schema(db, error))
        return false;
    if (stat(db->path, &status) != 0)
        return gw_fail(error, GW_FAILED, "", "%s: %s", db->path, strerror(errno));
    db->device = status.st_dev;
    db->inode = status.st_ino;
    return true;
}

gw_database *database_open(const char *path, gw_error *error)
{
    assert(path);
    gw_database *db = calloc(1, sizeof *db);
    if (!db) {
        gw_fail(error, GW_FAILED, "", "memory is short");
        return NULL;
    }
    pthread_mutex_init(&db->connection, NULL);
    pthread_mutex_init(&db->state, NULL);
    pthread_cond_init(&db->changed, NULL);
    db->log = -1;
    snprintf(db->path, sizeof db->path, "%s", path);
    snprintf(db->log_path, sizeof db->log_path, "%s-wal", db->path);
    bool open = open_connection(db, error);
    db->threaded = open && pthread_create(&db->thread, NULL, delayed_sync_thread, db) == 0;
    if (db->threaded)
        return db;
    if (open)
        gw_fail(error, GW_FAILED, "", "the system refuses a thread for the database");
    database_close(db);
    return NULL;
}

void database_close(gw_database *db)
{
    if (!db)
        return;
    if (db->threaded) {
        pthread_mutex_lock(&db->state);
        db->quit = true;
        pthread_cond_broadcast(&db->changed);
        sync_up_to(db, db->written);
        pthread_mutex_unlock(&db->state);
        pthread_join(db->thread, NULL);
    }
    for (int i = 0; i < STATEMENTS; i++)
        sqlite3_finalize(db->kept[i].statement);
    sqlite3_close(db->sql);
    if (db->log >= 0)
        close(db->log);
    pthread_mutex_destroy(&db->connection);
    pthread_mutex_destroy(&db->state);
    pthread_cond_destroy(&db->changed);
    free(db);
}
