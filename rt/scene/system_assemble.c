/*
 * Initial assembly of a system from distant poses: from the present ones, then from random ones;
 * and the errors of systems that cannot be assembled. Not for use inside a tick.
 */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "rt/scene/assembly.h"
#include "rt/scene/scene_system.h"

#define STARTS 8 /* of an assembly */

bool gw_scene_system_assemble(const gw_scene *scene, const int *of_body, int number, gw_pose *poses,
                              gw_error *error)
{
    assert(scene && of_body && number >= 0 && poses);
    gw_error none;
    gw_assembly_result result = {0};
    int count = gw_scene_body_count(scene);
    bool *stands = calloc((size_t)count + 1, sizeof *stands);
    for (int i = 0; stands && i < count; i++)
        stands[i] = of_body[i] != number;
    const gw_assembly_def def = {
        .scene = scene, .ground = stands, .poses = poses, .felt_only = true};
    const gw_assembly_options options = {.seed = 1, .starts = STARTS};
    gw_assembly *assembly = stands ? gw_assembly_create(&def, &none) : NULL;
    if (assembly)
        gw_assembly_solve(assembly, &options, &result);
    for (int i = 0; result.held && i < count; i++)
        if (of_body[i] == number)
            poses[i] = gw_assembly_poses(assembly)[i];
    if (assembly && !result.held)
        gw_assembly_refuse(assembly, &result, error);
    gw_assembly_destroy(assembly);
    free(stands);
    return result.held;
}

bool gw_scene_system_refuse(const gw_scene *scene, const gw_scene_system *system,
                            const gw_error *open, gw_error *error)
{
    int closure = -1;
    sscanf(open->where, "%d", &closure);
    for (int i = 0; i < system->contact_count; i++) {
        const gw_placed_contact *k = &system->contacts[i];
        const gw_scene_constraint *c = &scene->constraints[k->constraint];
        char where[48];
        if (k->closure != closure)
            continue;
        snprintf(where, sizeof where, "/constraints/%d", k->constraint);
        return gw_fail(error, GW_UNHANDLED, where, "%s cannot keep %s and %s in touch: %s", c->id,
                       c->a.object, c->b.object, open->message);
    }
    return gw_fail(error, GW_UNHANDLED, "", "the relations of %d %s do not hold together: %s",
                   system->member_count, system->member_count == 1 ? "body" : "bodies",
                   open->message);
}
