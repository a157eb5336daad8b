/*
 * Fits the map between task and device space to a submanifold. RT safe.
 */
#include "rt/haptics/workspace.h"

#include <assert.h>

#include "rt/geometry/locus.h"

#define BOUNDED_FRACTION   0.5 /* of the workspace radius, so that there is room left to turn */
#define UNBOUNDED_FRACTION 0.5 /* n of (30) */

/* The largest radius of a bounded locus, 0 for the others. */
static double locus_reach(const gw_locus *locus)
{
    switch (locus->kind) {
    case GW_LOCUS_SPHERE:
    case GW_LOCUS_CIRCLE:
    case GW_LOCUS_ELLIPSE:
        return locus->a;
    case GW_LOCUS_FREE:
    case GW_LOCUS_PLANE:
    case GW_LOCUS_CYLINDER:
    case GW_LOCUS_LINE:
    case GW_LOCUS_CURVE:
    case GW_LOCUS_SURFACE:
    case GW_LOCUS_POINT:
    case GW_LOCUS_GENERAL:
        break;
    }
    return 0;
}

/* The tool's position if the point on the locus were at the locus's centre. */
static gw_vec3 locus_centre_of_tool(const gw_workspace_fit *fit)
{
    const gw_translation_set *t = &fit->set->translation;
    gw_quat q = fit->world_from_body.q;
    gw_vec3 tool = fit->body_from_tool.p;
    gw_vec3 centre = gw_add(t->locus.origin, gw_shift_at(t, q));
    if (t->in_mobile)
        return gw_add(t->of, gw_rotate(q, gw_sub(tool, centre)));
    return gw_add(centre, gw_rotate(q, gw_sub(tool, t->of)));
}

bool gw_workspace_fits_locus(const gw_workspace_fit *fit)
{
    assert(fit);
    return fit->workspace_radius > 0 && !fit->set->general &&
           locus_reach(&fit->set->translation.locus) > 0;
}

gw_workspace_map gw_workspace_fitted(const gw_workspace_fit *fit)
{
    assert(fit);
    gw_workspace_map map = {1, {0, 0, 0}, {1, 0, 0, 0}, 1};
    if (!(fit->workspace_radius > 0))
        return map;
    if (gw_workspace_fits_locus(fit)) {
        double reach = locus_reach(&fit->set->translation.locus);
        map.scale = BOUNDED_FRACTION * fit->workspace_radius / reach;
        map.centre = locus_centre_of_tool(fit);
    } else {
        map.scale = 2 * UNBOUNDED_FRACTION * fit->workspace_radius / fit->scene_diagonal;
        map.centre = gw_pose_point(&fit->world_from_body, fit->body_from_tool.p);
    }
    return map;
}

gw_workspace_map gw_workspace_recentred(const gw_workspace_map *map, const gw_pose *task,
                                        const gw_pose *device)
{
    assert(map && task && device && map->scale > 0);
    return (gw_workspace_map){map->scale, gw_mul_add(task->p, -1 / map->scale, device->p),
                              gw_quat_unit(gw_quat_mul(gw_quat_conj(task->q), device->q)),
                              map->force};
}
