/*
 * The map between task and device space (framework VI-A, eq. 28 to 30):
 *
 *   x_device = k (x_task - centre),    q_device = q_task offset
 *
 * Axes stay those of the world. Wrenches go with it so that the hand feels the mass as given:
 * f_task = s f_device / k and tau_task = s tau_device / k^2 (c S^T f with S = k I and c = s/k^2),
 * with s = 1 unless the tool scales forces: at s = 10 the hand has ten times its force and feels a
 * tenth of the mass.
 * Pure values: any thread, RT safe.
 */
#ifndef GW_HAPTICS_WORKSPACE_H
#define GW_HAPTICS_WORKSPACE_H

#include "rt/geometry/submanifold.h"

typedef struct gw_workspace_map {
    double scale;   /* k, device metres per task metre */
    gw_vec3 centre; /* task point at the device's origin (m) */
    gw_quat offset; /* of the device's orientation, on its body side; identity until a clutch */
    double force;   /* s, force in the task per force of the hand, > 0 */
} gw_workspace_map;

/* The data that a map is fitted to. */
typedef struct gw_workspace_fit {
    const gw_submanifold *set; /* of the held body */
    gw_pose world_from_body;   /* on the set */
    gw_pose body_from_tool;
    double workspace_radius; /* of the device (m); 0: unlimited */
    double scene_diagonal;   /* of the scene's bounding box (m) */
} gw_workspace_fit;

/*
 * Bounded loci (circle, ellipse, sphere of radius or semi-major axis a) take half the workspace
 * and are centred on it, as the tool sees them: k = 0.5 r_w / a. Others: k = 2 n r_w / diagonal,
 * n = 0.5, centred at the tool. A device without limits gets k = 1 about the world's origin.
 */
gw_workspace_map gw_workspace_fitted(const gw_workspace_fit *fit);

/* True if the set bounds the motion of the tool, by which the map's scale is then fitted. */
bool gw_workspace_fits_locus(const gw_workspace_fit *fit);

/* The map with its centre and orientation offset changed so that the device's present pose maps to
 * the task pose. */
gw_workspace_map gw_workspace_recentred(const gw_workspace_map *map, const gw_pose *task,
                                        const gw_pose *device);

static inline gw_pose gw_workspace_to_device(const gw_workspace_map *m, const gw_pose *task)
{
    return (gw_pose){gw_scale(m->scale, gw_sub(task->p, m->centre)),
                     gw_quat_mul(task->q, m->offset)};
}

static inline gw_pose gw_workspace_to_task(const gw_workspace_map *m, const gw_pose *device)
{
    return (gw_pose){gw_mul_add(m->centre, 1 / m->scale, device->p),
                     gw_quat_mul(device->q, gw_quat_conj(m->offset))};
}

static inline gw_twist gw_workspace_twist_to_device(const gw_workspace_map *m, const gw_twist *task)
{
    return (gw_twist){gw_scale(m->scale, task->v), task->w};
}

static inline gw_twist gw_workspace_twist_to_task(const gw_workspace_map *m, const gw_twist *device)
{
    return (gw_twist){gw_scale(1 / m->scale, device->v), device->w};
}

static inline gw_wrench gw_workspace_wrench_to_task(const gw_workspace_map *m,
                                                    const gw_wrench *device)
{
    double k = m->scale, s = m->force;
    return (gw_wrench){gw_scale(s / k, device->f), gw_scale(s / (k * k), device->t)};
}

static inline gw_wrench gw_workspace_wrench_to_device(const gw_workspace_map *m,
                                                      const gw_wrench *task)
{
    double k = m->scale, s = m->force;
    return (gw_wrench){gw_scale(k / s, task->f), gw_scale(k * k / s, task->t)};
}

#endif
