/*
 * The meshes that scenes refer to: files in two folders, of which the first with the name is used.
 * A mesh stays in memory while its file does not change. Any thread.
 */
#ifndef GW_SERVER_FILES_MESHES_H
#define GW_SERVER_FILES_MESHES_H

#include <pthread.h>

#include "rt/guideway.h"

#define MESHES_KEPT GW_MAX_MESH_FILES /* meshes, and hulls, in memory */

typedef struct meshes_kept {
    char path[1400];
    bool convex;
    long long seconds, nanoseconds, size; /* of the file, when it was read */
    gw_mesh *mesh;
} meshes_kept;

typedef struct gw_meshes {
    char data[1024], beside[1024]; /* folders: the data's, a scene file's; "": none */
    pthread_mutex_t lock;
    int next;
    meshes_kept *kept[MESHES_KEPT];
} gw_meshes;

/* `data`: the data folder, NULL: the user's own; it need not exist. */
void meshes_init(gw_meshes *meshes, const char *data);
void meshes_finish(gw_meshes *meshes);

/* Adds the folder of this file, which is searched first. */
void meshes_beside(gw_meshes *meshes, const char *scene_file);

/* The mesh, or its convex hull: one reference; NULL with an error, GW_NOT_FOUND where there is
 * none. */
gw_mesh *meshes_find(gw_meshes *meshes, const char *name, bool convex, gw_error *error);

/* Scenes that this thread decodes take their meshes from here; NULL: from nowhere. */
void meshes_use(gw_meshes *meshes);

/* ---- the data folder's --------------------------------------------------------------------- */

/* Checks and stores a file; returns its mesh, one reference. NULL with an error. */
gw_mesh *meshes_save(gw_meshes *meshes, const char *name, const char *data, size_t size,
                     gw_error *error);
bool meshes_saved(const gw_meshes *meshes, const char *name);
bool meshes_delete(gw_meshes *meshes, const char *name, gw_error *error);

/* Calls `visit` with each file's name and size, in alphabetical order. */
bool meshes_list(const gw_meshes *meshes,
                 void (*visit)(void *context, const char *name, long long bytes), void *context,
                 gw_error *error);

#endif
