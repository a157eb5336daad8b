/*
 * Scenes that can be opened by name: those of the gallery, in the binary, and the saved ones. Any
 * server thread.
 */
#ifndef GW_SERVER_FILES_GALLERY_H
#define GW_SERVER_FILES_GALLERY_H

#include "server/schema/wire.h"

#include "server/files/store.h"

/* True where the gallery has a scene of that file name (without ".json"). */
bool gallery_has(const char *file);

/* The document of a gallery's scene, else of a saved scene; NULL with an error. `version` (or
 * NULL): the saved version, 0 for the gallery. */
json_t *gallery_load(gw_store *store, const char *file, int64_t *version, gw_error *error);

/* The name of the gallery's first scene; "" where there is none. */
void gallery_first(char file[STORE_NAME + 1]);

/* The array [{"file","name","description","saved"}], the gallery first. NULL with an error. */
json_t *gallery_list(gw_store *store, gw_error *error);

#endif
