/*
 * The database of the data folder: SQLite with a write-ahead log, its schema and migrations, one
 * connection that threads take turns with, and durability in two steps.
 *
 * A transaction that database_end() has written is in the log: it survives the process, however
 * that ends. It survives the machine once database_sync() has returned, which one thread does for
 * all that wait (group commit): what was written while the disk was busy goes with the next sync.
 * Any server thread; the rt thread never.
 */
#ifndef GW_SERVER_FILES_DATABASE_H
#define GW_SERVER_FILES_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

#include "rt/guideway.h"

#define DATABASE_LATER_MS                                                                          \
    100 /* at most, until what database_sync_later() was given is synced                           \
         */

typedef struct gw_database gw_database;

/* Opens the file, made or brought to this version's schema where it is older; NULL with an error,
 * also where a later version has written it. */
gw_database *database_open(const char *path, gw_error *error);
void database_close(gw_database *database); /* synced; NULL is fine */

/* ---- transactions -------------------------------------------------------------------------- */

/* Takes the connection for this thread and begins to write; false with an error, not taken. */
bool database_begin(gw_database *database, gw_error *error);

/* Ends a transaction, `begun` as database_begin() said: where all of it is done, writes it into the
 * log. Gives the connection back. `ticket`: for database_sync(). False: nothing has changed; the
 * error is the commit's, or the caller has it already. */
bool database_end(gw_database *database, bool begun, bool done, uint64_t *ticket, gw_error *error);

/* Takes the connection for this thread, to read. To be given back by database_abandon(). */
bool database_read(gw_database *database, gw_error *error);

/* Ends the transaction without a change and gives the connection back. */
void database_abandon(gw_database *database);

/* ---- statements, within a transaction -------------------------------------------------------- */

/*
 * Runs a statement. `sql` is a literal: its statement is kept by its address. The arguments, by the
 * letters of `types`: i int64_t; f double; t const char *, NULL is null; b const void * and size_t.
 */
bool database_run(gw_database *database, gw_error *error, const char *sql, const char *types, ...);

/* The same for a statement with rows: NULL with an error. database_row() steps to the next row
 * (false: none is left, or an error), database_done() ends it. */
sqlite3_stmt *database_query(gw_database *database, gw_error *error, const char *sql,
                             const char *types, ...);
bool database_row(gw_database *database, sqlite3_stmt *rows, gw_error *error);
void database_done(sqlite3_stmt *rows); /* NULL is fine */

/* ---- durability ---------------------------------------------------------------------------- */

/* Waits until the transaction is on the disk. False with an error: it is not known to be, and the
 * database takes no more transactions. */
bool database_sync(gw_database *database, uint64_t ticket, gw_error *error);

/* The transactions so far are on the disk within DATABASE_LATER_MS, without anybody waiting. */
void database_sync_later(gw_database *database);

#endif
