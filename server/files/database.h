/*
 * The database of the data folder: SQLite with a write-ahead log, its schema and migrations, one
 * connection for all threads, and durability in two steps.
 *
 * A transaction that database_end() has written is in the log and survives any end of the process.
 * It survives a crash of the machine once database_sync() has returned, which one thread does for
 * all that wait (group commit): transactions written while the disk is busy are part of the next
 * sync. Any server thread, never the rt thread.
 */
#ifndef GW_SERVER_FILES_DATABASE_H
#define GW_SERVER_FILES_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "rt/guideway.h"

#define DATABASE_LATER_MS                                                                          \
    100 /* longest time until transactions before database_sync_later() are synced */

typedef struct gw_database gw_database;

/* Opens the file, creates it, or migrates it to this version's schema; NULL with an error, also
 * where a later version has written it. */
gw_database *database_open(const char *path, gw_error *error);
void database_close(gw_database *database); /* syncs first; NULL has no effect */

/* ---- transactions -------------------------------------------------------------------------- */

/* Takes the connection for this thread and begins a transaction; false with an error, and the
 * connection is not taken. */
bool database_begin(gw_database *database, gw_error *error);

/* Ends a transaction (`begun`: the result of database_begin()): writes it to the log where it is
 * `done`, else rolls it back; then releases the connection. `ticket`: for database_sync(). False:
 * nothing has changed, and the error is set by the commit or by the caller. */
bool database_end(gw_database *database, bool begun, bool done, uint64_t *ticket, gw_error *error);

/* Takes the connection for this thread, for reading; database_abandon() releases it. */
bool database_read(gw_database *database, gw_error *error);

/* Rolls back the transaction and releases the connection. */
void database_abandon(gw_database *database);

/* ---- statements, within a transaction -------------------------------------------------------- */

/*
 * Runs a statement. `sql` must be a literal, since prepared statements are found by its address.
 * Arguments by the letters of `types`: i int64_t; f double; t const char *, NULL is null; b const
 * void * and size_t.
 */
bool database_run(gw_database *database, gw_error *error, const char *sql, const char *types, ...);

/* The same for a statement that returns rows: NULL with an error. database_row() steps to the next
 * row (false: there is none, or an error), database_done() ends the statement. */
sqlite3_stmt *database_query(gw_database *database, gw_error *error, const char *sql,
                             const char *types, ...);
bool database_row(gw_database *database, sqlite3_stmt *rows, gw_error *error);
void database_done(sqlite3_stmt *rows); /* NULL is fine */

/* ---- durability ---------------------------------------------------------------------------- */

/* Sets the error of a file that could not be written, which is unchanged: by its errno (0:
 * unknown), or `words` where neither space nor permission is missing. Returns false. */
bool database_disk_error(const char *path, int why, const char *words, gw_error *error);

/* Waits until the transaction is on the disk. False with an error: it may not be, and the database
 * accepts no more transactions. */
bool database_sync(gw_database *database, uint64_t ticket, gw_error *error);

/* The transactions so far will be on the disk within DATABASE_LATER_MS; does not wait. */
void database_sync_later(gw_database *database);

#endif
