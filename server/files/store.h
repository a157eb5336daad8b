/*
 * The data folder: its lock, its database, and the saved scenes in it. The former version of a
 * scene that is replaced or deleted is kept for a while. Scene files in the folder, written by
 * earlier versions of the program or put there by hand, are read into the database when they are
 * new or have changed. Any server thread.
 */
#ifndef GW_SERVER_FILES_STORE_H
#define GW_SERVER_FILES_STORE_H

#include "server/schema/wire.h"
#include <stdbool.h>

#include "rt/guideway.h"
#include "server/files/database.h"

#define STORE_NAME 64   /* longest name of a saved scene's file, without ".json" */
#define STORE_LIST 1000 /* saved scenes that are listed */

#define STORE_FORMER      20 /* former versions of a scene that are kept, */
#define STORE_FORMER_DAYS 30 /* and for how long */

typedef struct gw_store {
    char folder[1024]; /* of scenes as files */
    int lock;          /* descriptor of the locked file; 0: none */
    gw_database *database;
} gw_store;

/* Creates the folder where it is missing, locks it and opens its database. Only one process can
 * hold a data folder; another gets GW_BAD_INPUT. `data` NULL: the user's own data folder. */
bool store_open(gw_store *store, const char *data, gw_error *error);
void store_close(gw_store *store);

/* The path of a subfolder of the data folder (NULL: the user's own); false where it is too long. */
bool store_folder(const char *data, const char *name, char *folder, size_t size);

/* Creates the folder and those above it where they are missing. */
bool store_make_folder(const char *folder, gw_error *error);

/* Writes a file atomically: temporary file, fsync, rename, fsync of the folder. */
bool store_write(const char *folder, const char *file, const char *data, size_t size,
                 gw_error *error);

/* A file name made from a scene's name: letters, digits, dots and dashes are kept, others become
 * dashes; "scene" where no letter or digit of these remains but others are there. False where
 * nothing is left. */
bool store_slug(const char *name, char slug[STORE_NAME + 1]);

/* True where `file` is valid as the name of a saved scene; such a name cannot lead out of the
 * folder. */
bool store_name_valid(const char *file);

/* A document's member of that name, "" where it has no such text. */
const char *store_string(const json_t *document, const char *member);

/* ---- saved scenes -------------------------------------------------------------------------- */

/* The saved document and, unless NULL, its version; NULL with GW_NOT_FOUND, GW_BAD_INPUT (damaged)
 * or GW_FAILED. */
json_t *store_load(gw_store *store, const char *file, int64_t *version, gw_error *error);

/*
 * The file in which to save a scene called `name`: the file that has this name already, else the
 * slug, with a number where another scene or a `reserved` file has the slug. Returns the version in
 * that file, 0: none; -1 with an error.
 */
int64_t store_place(gw_store *store, const char *name, bool (*reserved)(const char *file),
                    char file[STORE_NAME + 1], gw_error *error);

/* Saves the document and waits for the disk. `over`: the version that it replaces, 0: none,
 * GW_CONFLICT where it is another one; -1: any. GW_TOO_LARGE where the scene could not be opened
 * again. */
bool store_save(gw_store *store, const char *file, const char *name, const json_t *document,
                int64_t over, gw_error *error);

/* The saved version of that name, as store_load() returns it, 0: none. */
bool store_version(gw_store *store, const char *file, int64_t *version, gw_error *error);

/* Deletes the saved scene. `seen`: its version, GW_CONFLICT where it is another one; -1: any. */
bool store_delete(gw_store *store, const char *file, int64_t seen, gw_error *error);

/* The newest version and the former ones, newest first: [{"version","name","saved","replaced"}],
 * times in seconds since 1970; the present version has no `replaced`. NULL with GW_NOT_FOUND. */
json_t *store_versions(gw_store *store, const char *file, gw_error *error);

/* Saves a former version again (0: the newest of them) over version `seen`, as for store_save().
 * GW_NOT_FOUND where there is none. */
bool store_restore(gw_store *store, const char *file, int64_t version, int64_t seen,
                   gw_error *error);

typedef struct store_entry {
    const char *file, *name, *description; /* the last two NULL: the scene cannot be read */
} store_entry;

/* Calls `visit` for each saved scene, in alphabetical order. */
bool store_list(gw_store *store, void (*visit)(void *context, const store_entry *entry),
                void *context, gw_error *error);

/* The name of the scene that was saved last; false where there is none. */
bool store_newest(gw_store *store, char file[STORE_NAME + 1]);

#endif
