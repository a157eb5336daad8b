/*
 * The bundled scenes, read from scenes/, from the tree's root.
 */
#ifndef GW_TESTS_UNIT_BUNDLED_H
#define GW_TESTS_UNIT_BUNDLED_H

#include <jansson.h>

#include <stdio.h>

#include "server/schema/wire.h"
#include "tests/unit/scene_running.h"

static inline gw_scene *bundled_scene(const char *name)
{
    char path[128];
    gw_error error = {0};
    snprintf(path, sizeof path, "scenes/%s.json", name);
    json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, NULL);
    assert_non_null(json);
    gw_scene *scene = wire_get_scene(json, &error);
    json_decref(json);
    if (!scene)
        print_error("%s: %s\n", error.where, error.message);
    assert_non_null(scene);
    return scene;
}

#endif
