/*
 * Where a thread's scenes take their meshes from: decoding knows nothing of files, and whoever
 * decodes says once for its thread who does.
 */
#include "server/schema/wire_base.h"

static _Thread_local wire_mesh_finder *finder;
static _Thread_local void *finder_context;

void wire_use_meshes(wire_mesh_finder *find, void *context)
{
    finder = find;
    finder_context = context;
}

gw_mesh *wire_find_mesh(const char *file, bool convex, gw_error *error)
{
    if (finder)
        return finder(finder_context, file, convex, error);
    gw_fail(error, GW_NOT_FOUND, "", "there is no folder of meshes here, and no \"%.64s\"", file);
    return NULL;
}
