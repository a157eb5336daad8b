/*
 * Frames of joints from the ends that a scene states. Not for use inside a tick.
 */
#include "rt/scene/joint_frame.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

/* A joint's frame on one side, in the file's poses; `turns`: the direction of its x is open. */
typedef struct joint_frame {
    gw_pose world_from_end, end_from_frame;
    bool turns;
} joint_frame;

static joint_frame frame_of(const gw_scene *s, const gw_joint_end *end)
{
    joint_frame f = {gw_scene_stated_pose(s, end->object), end->at, false};
    gw_element e;
    gw_feature_ref ref = {{0}, {0}};
    snprintf(ref.object, sizeof ref.object, "%s", end->object);
    snprintf(ref.feature, sizeof ref.feature, "%s", end->feature);
    if (!end->feature[0] || !gw_scene_element(s, &ref, &e))
        return f;
    f.end_from_frame = (gw_pose){e.p, gw_quat_identity()};
    f.turns = e.kind != GW_POINT;
    if (f.turns) {
        gw_vec3 x = gw_any_normal(e.d);
        f.end_from_frame.q = gw_quat_from_axes(x, gw_cross(e.d, x), e.d);
    }
    return f;
}

/* Rotates the frame about its z so that its x is nearest to that of `other` after aligning the z
 * axes: the joint's position is then zero at the file's poses. */
static void turn_towards(joint_frame *f, const joint_frame *other)
{
    gw_quat mine = gw_quat_mul(f->world_from_end.q, f->end_from_frame.q);
    gw_quat theirs = gw_quat_mul(other->world_from_end.q, other->end_from_frame.q);
    gw_vec3 z = gw_rotate(mine, gw_v3(0, 0, 1)), z_other = gw_rotate(theirs, gw_v3(0, 0, 1));
    gw_vec3 x = gw_rotate(gw_quat_between(z_other, z), gw_rotate(theirs, gw_v3(1, 0, 0)));
    x = gw_unit(gw_reject(x, z));
    gw_quat turned = gw_quat_from_axes(x, gw_cross(z, x), z);
    f->end_from_frame.q = gw_quat_mul(gw_quat_conj(f->world_from_end.q), turned);
}

/* Moves the frame along its z to the place of `other`: a screw's position is then zero as well. */
static void slide_towards(joint_frame *f, const joint_frame *other)
{
    gw_pose mine = gw_pose_mul(&f->world_from_end, &f->end_from_frame);
    gw_pose theirs = gw_pose_mul(&other->world_from_end, &other->end_from_frame);
    double along = gw_unrotate(mine.q, gw_sub(theirs.p, mine.p)).z;
    f->end_from_frame.p = gw_pose_point(&f->end_from_frame, gw_v3(0, 0, along));
}

bool gw_scene_joint_frames(const gw_scene *scene, const gw_scene_joint *joint, gw_pose *a_from_m,
                           gw_pose *b_from_f)
{
    assert(!joint->gear);
    joint_frame m = frame_of(scene, &joint->a), f = frame_of(scene, &joint->b);
    joint_frame *open = m.turns ? &m : &f, *other = m.turns ? &f : &m;
    if (open->turns)
        turn_towards(open, other);
    if (open->turns && joint->type == GW_MOBILIZER_SCREW)
        slide_towards(open, other);
    *a_from_m = m.end_from_frame;
    *b_from_f = f.end_from_frame;
    return m.turns || f.turns;
}

bool gw_scene_joint_stated_pose(const gw_scene_joint *joint, gw_pose *f_from_m)
{
    assert(joint && f_from_m);
    gw_mobilizer_state state = {.turn = gw_quat_identity()};
    gw_vec3 v[6], u[6];
    int at = gw_mobilizer_rotation(joint->type);
    if (joint->gear || !joint->has_position)
        return false;
    memcpy(state.z, joint->position, sizeof state.z);
    if (at < 6)
        state.turn = gw_quat_exp(gw_v3(state.z[at], state.z[at + 1], state.z[at + 2]));
    *f_from_m = gw_mobilizer_pose(joint->type, joint->pitch, &state, v, u);
    return true;
}

void gw_scene_joint_position(const gw_scene *scene, const gw_scene_joint *joint, double position[6])
{
    gw_pose a_from_m, b_from_f;
    if (joint->has_position) {
        memcpy(position, joint->position, sizeof joint->position);
        return;
    }
    gw_scene_joint_frames(scene, joint, &a_from_m, &b_from_f);
    gw_pose a = gw_scene_stated_pose(scene, joint->a.object),
            b = gw_scene_stated_pose(scene, joint->b.object);
    gw_pose m = gw_pose_mul(&a, &a_from_m), f = gw_pose_mul(&b, &b_from_f);
    gw_pose f_from_world = gw_pose_inverse(&f), f_from_m = gw_pose_mul(&f_from_world, &m);
    gw_mobilizer_position(joint->type, joint->pitch, &f_from_m, position);
}
