/*
 * A mechanism of the document: its memory, and where its links are. Not for use inside a tick.
 */
#include <stdlib.h>
#include <string.h>

#include "rt/scene/scene.h"

gw_contact_material gw_contact_material_default(void)
{
    /* dry wood or plastic; as stiff as a tick of a millisecond bears with a kilogram in hand */
    return (gw_contact_material){
        .restitution = 0.5, .friction = 0.3, .stiffness = 2e4, .damping = 50};
}

/* ---- memory -------------------------------------------------------------------------------- */

void gw_mechanism_finish(gw_mechanism *m)
{
    for (int i = 0; i < m->link_count; i++)
        gw_shape_finish(&m->looks[i].shape);
    free(m->links);
    free(m->looks);
    free(m->position);
    free(m->velocity);
    m->link_count = 0;
    m->links = NULL;
    m->looks = NULL;
    m->position = m->velocity = NULL;
}

bool gw_mechanism_resize(gw_mechanism *m, int count)
{
    gw_mechanism_finish(m);
    size_t n = (size_t)count + 1; /* one too many: none is no lack of memory */
    m->links = calloc(n, sizeof *m->links);
    m->looks = calloc(n, sizeof *m->looks);
    m->position = calloc(n, sizeof *m->position);
    m->velocity = calloc(n, sizeof *m->velocity);
    if (!m->links || !m->looks || !m->position || !m->velocity) {
        gw_mechanism_finish(m);
        return false;
    }
    m->link_count = count;
    for (int i = 0; i < count; i++) {
        m->links[i].parent_from_joint = m->looks[i].pose = gw_pose_identity();
        m->links[i].axis = gw_v3(0, 0, 1);
    }
    return true;
}

bool gw_mechanism_copy(gw_mechanism *to, const gw_mechanism *from)
{
    size_t n = (size_t)from->link_count;
    *to = (gw_mechanism){.base = from->base};
    memcpy(to->id, from->id, sizeof to->id);
    if (!gw_mechanism_resize(to, from->link_count))
        return false;
    memcpy(to->links, from->links, n * sizeof *to->links);
    memcpy(to->position, from->position, n * sizeof *to->position);
    memcpy(to->velocity, from->velocity, n * sizeof *to->velocity);
    bool ok = true;
    for (size_t i = 0; i < n; i++) {
        to->looks[i] = from->looks[i];
        to->looks[i].shape = (gw_shape){0};
        if (from->looks[i].has_geometry)
            ok &= gw_shape_copy(&to->looks[i].shape, &from->looks[i].shape, NULL);
    }
    return ok;
}

/* ---- where its links are ------------------------------------------------------------------- */

gw_pose gw_joint_pose(const gw_chain_link *link, double q)
{
    gw_pose moved = gw_pose_identity();
    if (link->kind == GW_JOINT_REVOLUTE)
        moved.q = gw_quat_axis(link->axis, q);
    else
        moved.p = gw_scale(q, link->axis);
    return gw_pose_mul(&link->parent_from_joint, &moved);
}

void gw_mechanism_poses(const gw_mechanism *m, const double *q, gw_pose *world_from_link)
{
    gw_pose parent = m->base;
    for (int i = 0; i < m->link_count; i++) {
        gw_pose joint = gw_joint_pose(&m->links[i], q ? q[i] : m->position[i]);
        world_from_link[i] = gw_pose_mul(&parent, &joint);
        world_from_link[i].q = gw_quat_unit(world_from_link[i].q);
        parent = world_from_link[i];
    }
}
