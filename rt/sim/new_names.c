/*
 * Tables of hashes, built and sorted outside the loop and searched by it.
 */
#include "rt/sim/new_names.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static void add_name(gw_name_table *table, uint64_t from, uint64_t to)
{
    table->of[table->count++] = (gw_new_name){from, to};
}

/* Features are identified by the names of their object and their own. */
static void add_object(gw_new_names *names, const gw_scene *scene, const gw_renamed *r)
{
    add_name(&names->bodies, gw_name_hash(r->from, 0), gw_name_hash(r->to, 0));
    for (int i = 0; i < scene->feature_count; i++) {
        const gw_feature *f = &scene->features[i];
        if (strcmp(f->object, r->to) == 0)
            add_name(&names->bodies, gw_name_hash(f->name, gw_name_hash(r->from, 0)),
                     gw_name_hash(f->name, gw_name_hash(r->to, 0)));
    }
}

/* Links and joints are identified by the name of their mechanism and their number. */
static void add_mechanism(gw_new_names *names, const gw_scene *scene, const gw_renamed *r)
{
    int index = gw_scene_mechanism(scene, r->to);
    add_name(&names->bodies, gw_name_hash(r->from, 0), gw_name_hash(r->to, 0));
    for (int k = 0; index >= 0 && k < scene->mechanisms[index].link_count; k++) {
        const uint64_t from = gw_name_hash(r->from, (uint64_t)k + 1),
                       to = gw_name_hash(r->to, (uint64_t)k + 1);
        add_name(&names->bodies, from, to);
        add_name(&names->joints, from, to);
    }
}

static int compare_former_names(const void *a, const void *b)
{
    const uint64_t x = ((const gw_new_name *)a)->from, y = ((const gw_new_name *)b)->from;
    return (x > y) - (x < y);
}

bool gw_new_names_create(gw_new_names *names, const gw_scenario_def *def, gw_error *error)
{
    assert(names && def);
    const gw_scene *scene = def->scene;
    *names = (gw_new_names){0};
    if (def->renamed_count == 0)
        return true;
    size_t most = (size_t)(def->renamed_count + scene->feature_count + gw_scene_joints(scene));
    names->bodies.of = calloc(most, sizeof *names->bodies.of);
    names->joints.of = calloc(most, sizeof *names->joints.of);
    if (!names->bodies.of || !names->joints.of)
        return gw_fail(error, GW_FAILED, "", "no memory for a scenario's names");
    for (int i = 0; i < def->renamed_count; i++) {
        const gw_renamed *r = &def->renamed[i];
        switch (r->kind) {
        case GW_RENAMED_OBJECT:
            add_object(names, scene, r);
            break;
        case GW_RENAMED_MECHANISM:
            add_mechanism(names, scene, r);
            break;
        case GW_RENAMED_JOINT:
            add_name(&names->joints, gw_name_hash(r->from, 0), gw_name_hash(r->to, 0));
            break;
        }
    }
    qsort(names->bodies.of, (size_t)names->bodies.count, sizeof *names->bodies.of,
          compare_former_names);
    qsort(names->joints.of, (size_t)names->joints.count, sizeof *names->joints.of,
          compare_former_names);
    return true;
}

void gw_new_names_destroy(gw_new_names *names)
{
    free(names->bodies.of);
    free(names->joints.of);
}

bool gw_name_table_give(const gw_name_table *table, uint64_t *names, int count)
{
    bool any = false;
    for (int i = 0; table->count > 0 && i < count; i++) {
        const gw_new_name key = {names[i], 0}, *found = NULL;
        int low = 0, high = table->count - 1;
        while (!found && low <= high) {
            int middle = low + (high - low) / 2,
                order = compare_former_names(&key, &table->of[middle]);
            if (order == 0)
                found = &table->of[middle];
            else if (order < 0)
                high = middle - 1;
            else
                low = middle + 1;
        }
        if (found)
            names[i] = found->to;
        any = any || found;
    }
    return any;
}
