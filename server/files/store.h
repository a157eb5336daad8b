/*
 * Saved scenes: one file each in the data folder, written whole or not at all. The format's
 * version is inside the file. Any server thread; calls do not share state but the folder.
 */
#ifndef GW_SERVER_FILES_STORE_H
#define GW_SERVER_FILES_STORE_H

#include "server/schema/wire.h"
#include <stdbool.h>

#include "rt/guideway.h"

#define STORE_NAME 64   /* longest name of a saved scene's file, without ".json" */
#define STORE_LIST 1000 /* saved scenes that are listed */

typedef struct gw_store {
    char folder[1024]; /* of the scenes */
    int lock;          /* descriptor of the locked file; 0: none */
} gw_store;

/* Makes the folder where it is missing and locks it: one process at a time has a data folder, and
 * another one gets GW_BAD_INPUT. `data` NULL: the user's own data folder. */
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
 * becomes dashes. False where nothing is left of it. */
bool store_slug(const char *name, char slug[STORE_NAME + 1]);

/* True where `file` could be the name of a saved scene (and cannot lead out of the folder). */
bool store_name_valid(const char *file);

/* The document of that name; NULL with GW_NOT_FOUND, GW_BAD_INPUT (damaged) or GW_FAILED. */
json_t *store_load(const gw_store *store, const char *file, gw_error *error);

/* Temporary file, fsync, rename, fsync of the folder. */
bool store_save(const gw_store *store, const char *file, const json_t *document, gw_error *error);

bool store_delete(const gw_store *store, const char *file, gw_error *error);

/* Calls `visit` with each saved scene's file name, in alphabetical order. */
bool store_list(const gw_store *store, void (*visit)(void *context, const char *file),
                void *context, gw_error *error);

/* The scene that was saved last; false where there is none. */
bool store_newest(const gw_store *store, char file[STORE_NAME + 1]);

#endif
