/*
 * The meshes that scenes may name: files in folders, the first that has the name counts. What was
 * read is kept while its file does not change. Any thread.
 */
#ifndef GW_SERVER_FILES_MESHES_H
#define GW_SERVER_FILES_MESHES_H

#include <pthread.h>

#include "rt/guideway.h"

#define MESHES_KEPT GW_MAX_MESH_FILES /* meshes, and hulls, that are kept read */

typedef struct meshes_kept {
    char path[1400];
    bool convex;
    long long seconds, nanoseconds, size; /* of the file when it was read */
    gw_mesh *mesh;
} meshes_kept;

typedef struct gw_meshes {
    char data[1024], beside[1024]; /* the data folder's, and that of a scene file; "": none */
    pthread_mutex_t lock;
    int next;
    meshes_kept *kept[MESHES_KEPT];
} gw_meshes;

/* `data`: the data folder, NULL: the user's own; it need not be there. */
void meshes_init(gw_meshes *meshes, const char *data);
void meshes_finish(gw_meshes *meshes);

/* Looks in the folder of this file as well, and there first. */
void meshes_beside(gw_meshes *meshes, const char *scene_file);

/* The mesh, or its hull: one reference; NULL with GW_NOT_FOUND or what is wrong with it. */
gw_mesh *meshes_find(gw_meshes *meshes, const char *name, bool convex, gw_error *error);

/* This thread's scenes take their meshes from here; NULL: from nowhere. */
void meshes_use(gw_meshes *meshes);

/* ---- the data folder's --------------------------------------------------------------------- */

/* Checks and keeps a file; what it holds, one reference. NULL with an error. */
gw_mesh *meshes_save(gw_meshes *meshes, const char *name, const char *data, size_t size,
                     gw_error *error);
bool meshes_saved(const gw_meshes *meshes, const char *name);
bool meshes_delete(gw_meshes *meshes, const char *name, gw_error *error);

/* Calls `visit` with each file's name and size, in alphabetical order. */
bool meshes_list(const gw_meshes *meshes,
                 void (*visit)(void *context, const char *name, long long bytes), void *context,
                 gw_error *error);

#endif
