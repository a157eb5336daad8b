/*
 * Massless objects that follow by joints. Any thread.
 */
#include "rt/scene/joined_followers.h"

#include <assert.h>

#include "rt/scene/joint_frame.h"

/* The number of a body that an end of a joint names, -1: the world. */
static int body_of(const gw_scene *s, const char *name)
{
    gw_body_ref ref;
    if (!gw_scene_body(s, name, &ref))
        return -1;
    return ref.mechanism >= 0 ? s->object_count + gw_scene_first_joint(s, ref.mechanism) + ref.link
                              : ref.object;
}

/* The object's pose by the joint's initial position: the object is its a, or its b. */
static void place_by_joint(const gw_scene *s, gw_pose *poses, const gw_scene_joint *j, bool is_a,
                           int object, int other)
{
    gw_pose a_from_m, b_from_f;
    gw_vec3 v[6], turn[6];
    double q[6];
    gw_scene_joint_frames(s, j, &a_from_m, &b_from_f);
    gw_scene_joint_position(s, j, q);
    const gw_mobilizer_state zero = {.turn = gw_quat_identity()};
    gw_mobilizer_state at = zero;
    gw_mobilizer_move(j->type, &zero, q, &at);
    const gw_pose f_from_m = gw_mobilizer_pose(j->type, j->pitch, &at, v, turn);
    const gw_pose b_from_m = gw_pose_mul(&b_from_f, &f_from_m);
    const gw_pose m_from_a = gw_pose_inverse(&a_from_m);
    const gw_pose b_from_a = gw_pose_mul(&b_from_m, &m_from_a);
    const gw_pose other_from_object = is_a ? b_from_a : gw_pose_inverse(&b_from_a);
    poses[object] = gw_pose_mul(&poses[other], &other_from_object);
}

/* Makes a massless object without constraints follow a carried or moving body to which a joint
 * connects it; false if there is none yet. */
static bool carry_by_joint(const gw_scene *s, gw_layout *l, int *carrier, gw_placement *p)
{
    for (int i = 0; i < s->joint_count; i++) {
        const gw_scene_joint *j = &s->joints[i];
        const int a = j->gear || !j->enabled ? -1 : body_of(s, j->a.object);
        const int b = j->gear || !j->enabled ? -1 : body_of(s, j->b.object);
        const int other = a == p->object ? b : b == p->object ? a : -1;
        if (other < 0 || carrier[other] < 0)
            continue;
        place_by_joint(s, l->poses, j, a == p->object, p->object, other);
        p->follow = GW_OBJECT_CARRIED;
        p->carrier = carrier[other];
        carrier[p->object] = p->carrier;
        return true;
    }
    return false;
}

static bool has_constraints(const gw_layout *l, int object)
{
    for (int i = 0; i < l->edge_count; i++)
        if (l->edges[i].edge.a == object || l->edges[i].edge.b == object)
            return true;
    return false;
}

void gw_layout_carry_joined(const gw_scene *scene, gw_layout *layout, int *carrier)
{
    assert(scene && layout && carrier);
    for (bool more = true; more;) {
        more = false;
        for (int i = 0; i < layout->count; i++) {
            gw_placement *p = layout->placements[i];
            if (scene->objects[p->object].massless && p->follow == GW_OBJECT_STATIC &&
                !has_constraints(layout, p->object))
                more = carry_by_joint(scene, layout, carrier, p) || more;
        }
    }
}
