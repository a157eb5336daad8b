/*
 * Scenes that can be opened by name: those of the gallery, in the binary, and the saved ones.
 * Any server thread.
 */
#ifndef GW_SERVER_FILES_GALLERY_H
#define GW_SERVER_FILES_GALLERY_H

#include "server/schema/wire.h"

#include "server/files/store.h"

/* True where the gallery has a scene of that file name (without ".json"). */
bool gallery_has(const char *file);

/* The document of a scene of the gallery, or else a saved one; NULL with an error. `version`,
 * unless NULL: of the saved one, 0 of one of the gallery. */
json_t *gallery_load(gw_store *store, const char *file, int64_t *version, gw_error *error);

/* The first scene of the gallery's name; "" where it is empty. */
void gallery_first(char file[STORE_NAME + 1]);

/* [{"file","name","description","saved"}], the gallery first. NULL with an error. */
json_t *gallery_list(gw_store *store, gw_error *error);

#endif
