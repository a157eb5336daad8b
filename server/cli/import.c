/*
 * `guideway import`: reads a robot description, writes a mechanism as JSON, or an object where the
 * description has no moving joint. Notes about differences from the description go to standard
 * error.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/cli/command.h"
#include "server/files/urdf.h"
#include "server/schema/wire.h"

/* "meshes/arm.stl" of "package://robot/meshes/arm.stl" and of "file://meshes/arm.stl". */
static const char *path_of(const char *mesh)
{
    const char *package = strncmp(mesh, "package://", 10) == 0 ? strchr(mesh + 10, '/') : NULL;
    return package ? package + 1 : strncmp(mesh, "file://", 7) == 0 ? mesh + 7 : mesh;
}

/* True if the mesh is at its path, from the folder of the description or the one above, where
 * packages have it, or beside the description. */
static bool is_mesh_there(const char *description, const char *mesh)
{
    const char *slash = strrchr(description, '/'), *path = path_of(mesh);
    const char *last = strrchr(path, '/'), *name = last ? last + 1 : path;
    int folder = slash ? (int)(slash + 1 - description) : 0;
    const struct {
        const char *up, *path;
    } places[] = {{"", path}, {"../", path}, {"", name}};
    bool found = path[0] == '/' && access(path, R_OK) == 0;
    for (size_t i = 0; i < sizeof places / sizeof *places && !found; i++) {
        char at[PATH_MAX];
        int size =
            snprintf(at, sizeof at, "%.*s%s%s", folder, description, places[i].up, places[i].path);
        found = size < (int)sizeof at && access(at, R_OK) == 0;
    }
    return found;
}

static void note_missing_meshes(const char *file, const gw_mechanism *m)
{
    for (int i = 0; i < m->link_count; i++)
        if (m->geometries[i].mesh[0] && !is_mesh_there(file, m->geometries[i].mesh))
            fprintf(stderr,
                    "guideway: %s: note: link \"%s\": there is no mesh %s here; the page draws "
                    "the link without it\n",
                    file, m->geometries[i].id, m->geometries[i].mesh);
}

static int print_import(const char *file, const char *text, size_t size, const char *tip)
{
    gw_error error = {0};
    urdf_robot *robot = malloc(sizeof *robot);
    if (!robot) {
        gw_fail(&error, GW_FAILED, "", "no memory for a robot description");
        return command_error(file, &error);
    }
    if (!urdf_read(text, size, tip, robot, &error)) {
        free(robot);
        return command_error(file, &error);
    }
    for (int i = 0; i < robot->note_count; i++)
        fprintf(stderr, "guideway: %s: note: %s\n", file, robot->notes[i]);
    if (!robot->one_body)
        note_missing_meshes(file, &robot->mechanism);
    json_t *value =
        robot->one_body ? wire_object(&robot->object) : wire_mechanism(&robot->mechanism);
    gw_text *out = wire_text(value);
    if (!out)
        gw_fail(&error, GW_FAILED, "", "the mechanism could not be written: memory is short");
    int code = out ? command_print(out->data) : command_error(file, &error);
    text_unref(out);
    urdf_finish(robot);
    free(robot);
    return code;
}

int command_import(const command_line *line)
{
    gw_error error = {0};
    size_t size;
    char *text = command_read(line->argument, GW_MAX_BODY_BYTES, &size, &error);
    if (!text)
        return command_error(line->argument, &error);
    int code = print_import(line->argument, text, size, command_value(line, "tip"));
    free(text);
    return code;
}
