/*
 * The data folder: its lock, its database, and the saved scenes in it. A scene that is saved over
 * another one, or deleted, leaves its former version behind for a while. Scenes that lie in the
 * folder as files, as earlier versions of the program kept them or as somebody put them there, are
 * read into the database when they are new or have changed. Any server thread.
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
#define STORE_FORMER_DAYS 30 /* for so long */

typedef struct gw_store {
    char folder[1024]; /* of scenes as files */
    int lock;          /* descriptor of the locked file; 0: none */
    gw_database *database;
} gw_store;

/* Makes the folder where it is missing, locks it and opens its database: one process at a time has
 * a data folder, and another one gets GW_BAD_INPUT. `data` NULL: the user's own data folder. */
bool store_open(gw_store *store, const char *data, gw_error *error);
void store_close(gw_store *store);

/* The path of a folder of the data folder (NULL: the user's own); false where it is too long. */
bool store_folder(const char *data, const char *name, char *folder, size_t size);

/* Makes the folder, and those above it, where they are missing. */
bool store_make_folder(const char *folder, gw_error *error);

/* Writes a file of a folder whole or not at all: temporary file, fsync, rename, fsync of the
 * folder. */
bool store_write(const char *folder, const char *file, const char *data, size_t size,
                 gw_error *error);

/* A file's name out of what a person calls the scene: letters, digits, dots, dashes; the rest
 * becomes dashes; "scene" where all of it is of another script. False where nothing is left. */
bool store_slug(const char *name, char slug[STORE_NAME + 1]);

/* True where `file` could be the name of a saved scene (and cannot lead out of the folder). */
bool store_name_valid(const char *file);

/* ---- saved scenes -------------------------------------------------------------------------- */

/* The document of that name and, unless NULL, its version; NULL with GW_NOT_FOUND, GW_BAD_INPUT
 * (damaged) or GW_FAILED. */
json_t *store_load(gw_store *store, const char *file, int64_t *version, gw_error *error);

/*
 * Where a scene that a person calls `name` is saved: the file that it has already, else the slug,
 * with a number behind it where another name or a `reserved` file has that. The version that is
 * there, 0: none; -1 with an error.
 */
int64_t store_place(gw_store *store, const char *name, bool (*reserved)(const char *file),
                    char file[STORE_NAME + 1], gw_error *error);

/* Saves the document, which is on the disk then; `over`: the version that it takes the place of, 0:
 * none, GW_CONFLICT where there is another one by now; -1: any. GW_TOO_LARGE beyond what can be
 * opened. */
bool store_save(gw_store *store, const char *file, const char *name, const json_t *document,
                int64_t over, gw_error *error);

/* What is saved under the name, as store_load() tells it, 0: nothing. */
bool store_version(gw_store *store, const char *file, int64_t *version, gw_error *error);

/* `seen`: the version that is deleted, GW_CONFLICT where there is another one by now; -1: any. */
bool store_delete(gw_store *store, const char *file, int64_t seen, gw_error *error);

/* The newest version and the former ones, newest first: [{"version","name","saved","replaced"}],
 * times in seconds since 1970, without `replaced` what is saved now. NULL with GW_NOT_FOUND. */
json_t *store_versions(gw_store *store, const char *file, gw_error *error);

/* Saves a former version again, 0: the newest of them, over the one that was `seen`, as for
 * store_save(). GW_NOT_FOUND where there is none. */
bool store_restore(gw_store *store, const char *file, int64_t version, int64_t seen,
                   gw_error *error);

typedef struct store_entry {
    const char *file, *name, *description; /* NULL of the last two: the scene cannot be read */
} store_entry;

/* Calls `visit` with each saved scene, in alphabetical order. */
bool store_list(gw_store *store, void (*visit)(void *context, const store_entry *entry),
                void *context, gw_error *error);

/* The scene that was saved last; false where there is none. */
bool store_newest(gw_store *store, char file[STORE_NAME + 1]);

#endif
