/*
 * Mesh files by name. Files are read under the lock, so that two requests for one file read it
 * once.
 */
#include "server/files/meshes.h"

#include <assert.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "server/files/mesh_file.h"
#include "server/files/store.h"
#include "server/schema/wire.h"

typedef char mesh_path[1400];

void meshes_init(gw_meshes *m, const char *data)
{
    *m = (gw_meshes){.lock = PTHREAD_MUTEX_INITIALIZER};
    if (!store_folder(data, "meshes", m->data, sizeof m->data))
        m->data[0] = 0;
}

static void drop_mesh(meshes_kept **kept)
{
    if (*kept)
        gw_mesh_put((*kept)->mesh);
    free(*kept);
    *kept = NULL;
}

void meshes_finish(gw_meshes *m)
{
    for (int i = 0; i < MESHES_KEPT; i++)
        drop_mesh(&m->kept[i]);
    pthread_mutex_destroy(&m->lock);
}

void meshes_beside(gw_meshes *m, const char *scene_file)
{
    const char *slash = strrchr(scene_file, '/');
    int size = slash ? (int)(slash - scene_file) : 1;
    snprintf(m->beside, sizeof m->beside, "%.*s", size, slash ? scene_file : ".");
    if (slash == scene_file)
        strcpy(m->beside, "/");
}

/* True for the name of a mesh file that cannot lead out of its folder: letters, digits, dots,
 * dashes. */
static bool name_valid(const char *name)
{
    return store_name_valid(name) && mesh_file_known(name);
}

static bool check_name(const char *name, gw_error *error)
{
    return name_valid(name) ||
           gw_fail(error, GW_BAD_INPUT, "",
                   "\"%.80s\" is no name of a mesh file: letters, digits, dots and dashes, and "
                   ".stl or .obj at its end",
                   name);
}

/* ---- reading ------------------------------------------------------------------------------- */

static char *read_whole(const char *path, size_t *size, gw_error *error)
{
    FILE *in = fopen(path, "rb");
    char *data = in ? malloc((size_t)GW_MAX_MESH_BYTES + 2) : NULL;
    *size = data ? fread(data, 1, (size_t)GW_MAX_MESH_BYTES + 1, in) : 0;
    bool failed = !data || ferror(in), large = *size > GW_MAX_MESH_BYTES;
    if (in)
        fclose(in);
    if (!failed && !large) {
        data[*size] = 0;
        return data;
    }
    free(data);
    if (large)
        gw_fail(error, GW_TOO_LARGE, "", "%s is larger than %u bytes", path, GW_MAX_MESH_BYTES);
    else
        gw_fail(error, GW_FAILED, "", "%s cannot be read", path);
    return NULL;
}

static gw_mesh *read_mesh(const char *path, const char *name, bool convex, gw_error *error)
{
    size_t size;
    char *data = read_whole(path, &size, error);
    gw_mesh *mesh = data ? mesh_file_parse(name, data, size, error) : NULL;
    free(data);
    if (!mesh || !convex)
        return mesh;
    gw_mesh *hull = gw_mesh_hull(mesh, error);
    gw_mesh_put(mesh);
    return hull;
}

static bool same_file(const meshes_kept *k, const char *path, bool convex, const struct stat *s)
{
    return k->convex == convex && strcmp(k->path, path) == 0 && k->size == s->st_size &&
           k->seconds == s->st_mtim.tv_sec && k->nanoseconds == s->st_mtim.tv_nsec;
}

/* The file's mesh, from memory or read anew. Under the lock. */
static gw_mesh *load_mesh(gw_meshes *m, const char *path, const struct stat *status,
                          const char *name, bool convex, gw_error *error)
{
    for (int i = 0; i < MESHES_KEPT; i++)
        if (m->kept[i] && same_file(m->kept[i], path, convex, status))
            return gw_mesh_get(m->kept[i]->mesh);
    gw_mesh *mesh = read_mesh(path, name, convex, error);
    meshes_kept *kept = mesh ? malloc(sizeof *kept) : NULL;
    if (!kept)
        return mesh;
    *kept = (meshes_kept){.convex = convex,
                          .seconds = status->st_mtim.tv_sec,
                          .nanoseconds = status->st_mtim.tv_nsec,
                          .size = status->st_size,
                          .mesh = gw_mesh_get(mesh)};
    snprintf(kept->path, sizeof kept->path, "%s", path);
    drop_mesh(&m->kept[m->next]);
    m->kept[m->next] = kept;
    m->next = (m->next + 1) % MESHES_KEPT;
    return mesh;
}

typedef struct naming {
    gw_error *error;
    int count;
} naming;

static void name_one(void *context, const char *name, long long bytes)
{
    naming *n = context;
    (void)bytes;
    gw_error_name(n->error, n->count++, name);
}

static bool missing_mesh(const gw_meshes *m, const char *name, gw_error *error)
{
    naming all = {.error = error};
    gw_fail(error, GW_NOT_FOUND, "", "there is no mesh \"%.80s\", PUT it at /api/v1/meshes/%.80s%s",
            name, name, m->beside[0] ? " or lay it beside the scene" : "");
    meshes_list(m, name_one, &all, NULL);
    return false;
}

gw_mesh *meshes_find(gw_meshes *m, const char *name, bool convex, gw_error *error)
{
    assert(m && name);
    if (!check_name(name, error))
        return NULL;
    const char *folders[] = {m->beside, m->data};
    for (int i = 0; i < 2; i++) {
        mesh_path path;
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", folders[i], name);
        if (!folders[i][0] || stat(path, &status) != 0 || !S_ISREG(status.st_mode))
            continue;
        pthread_mutex_lock(&m->lock);
        gw_mesh *mesh = load_mesh(m, path, &status, name, convex, error);
        pthread_mutex_unlock(&m->lock);
        return mesh;
    }
    missing_mesh(m, name, error);
    return NULL;
}

static gw_mesh *find_mesh(void *context, const char *name, bool convex, gw_error *error)
{
    return meshes_find(context, name, convex, error);
}

void meshes_use(gw_meshes *m)
{
    wire_use_meshes(m ? find_mesh : NULL, m);
}

/* ---- the data folder's --------------------------------------------------------------------- */

static void count_one(void *context, const char *name, long long bytes)
{
    (void)name, (void)bytes;
    ++*(int *)context;
}

bool meshes_saved(const gw_meshes *m, const char *name)
{
    mesh_path path;
    struct stat status;
    snprintf(path, sizeof path, "%s/%s", m->data, name);
    return name_valid(name) && stat(path, &status) == 0;
}

gw_mesh *meshes_save(gw_meshes *m, const char *name, const char *data, size_t size, gw_error *error)
{
    assert(m && name && data);
    int count = 0;
    if (!check_name(name, error))
        return NULL;
    gw_mesh *mesh = mesh_file_parse(name, data, size, error);
    if (!mesh)
        return NULL;
    bool room = meshes_saved(m, name) || !meshes_list(m, count_one, &count, NULL) ||
                count < GW_MAX_MESH_FILES ||
                gw_fail(error, GW_TOO_LARGE, "",
                        "there are %d meshes already, the most that are "
                        "kept: delete one",
                        count);
    if (room && store_make_folder(m->data, error) && store_write(m->data, name, data, size, error))
        return mesh;
    gw_mesh_put(mesh);
    return NULL;
}

bool meshes_delete(gw_meshes *m, const char *name, gw_error *error)
{
    mesh_path path;
    if (!name_valid(name))
        return missing_mesh(m, name, error);
    snprintf(path, sizeof path, "%s/%s", m->data, name);
    if (unlink(path) == 0)
        return true;
    return errno == ENOENT ? missing_mesh(m, name, error)
                           : gw_fail(error, GW_FAILED, "", "%s: %s", path, strerror(errno));
}

bool meshes_list(const gw_meshes *m,
                 void (*visit)(void *context, const char *name, long long bytes), void *context,
                 gw_error *error)
{
    struct dirent **entries;
    int count = scandir(m->data, &entries, NULL, alphasort);
    if (count < 0)
        return errno == ENOENT || gw_fail(error, GW_FAILED, "", "%s: %s", m->data, strerror(errno));
    for (int i = 0; i < count; i++) {
        mesh_path path;
        struct stat status;
        snprintf(path, sizeof path, "%s/%s", m->data, entries[i]->d_name);
        if (name_valid(entries[i]->d_name) && stat(path, &status) == 0)
            visit(context, entries[i]->d_name, status.st_size);
        free(entries[i]);
    }
    free(entries);
    return true;
}
