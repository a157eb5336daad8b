/*
 * A guided body on a moving base: equation of motion in the base frame. RT safe.
 *
 * world_from_base is exp(s (V, w)) from, with s the time since the motion's start: a body at rest
 * in the base moves with V + w x x, constant in world axes (twist) and in base axes (inner). Chart,
 * rows and integrator work in the base frame as on a fixed base; the load is rotated into it, and
 * inertial forces are added (in base axes; m: mass, c: centre of mass, W: the body's angular
 * velocity in the base):
 *
 *   f' = -m (w x (V + w x c) + 2 w x c')
 *   t' = I (W x w) - W x I w - w x I (W + w)          about the centre of mass
 *
 * The constraint wrench lambda is the same in both frames. The base does the work
 *
 *   P = lambda . (V + w x x, w)                       x: the point where lambda acts
 */
#include <assert.h>

#include "rt/dynamics/rigid_body.h"

gw_base_motion gw_base_motion_from_twist(const gw_pose *from, const gw_twist *twist)
{
    assert(from && twist);
    gw_vec3 at_frame = gw_add(twist->v, gw_cross(twist->w, from->p));
    gw_twist inner = {gw_unrotate(from->q, at_frame), gw_unrotate(from->q, twist->w)};
    return (gw_base_motion){.moves = true, .twist = *twist, .inner = inner, .from = *from};
}

gw_base_motion gw_base_motion_between(const gw_pose *from, const gw_pose *to, double dt)
{
    assert(dt > 0);
    gw_pose back = gw_pose_inverse(from), motion = gw_pose_mul(to, &back);
    gw_twist screw = gw_screw_log(&motion);
    screw = (gw_twist){gw_scale(1 / dt, screw.v), gw_scale(1 / dt, screw.w)};
    return gw_base_motion_from_twist(from, &screw);
}

gw_pose gw_base_motion_frame(const gw_base_motion *base, double t)
{
    assert(base && isfinite(t));
    double s = base->time + t;
    gw_twist screw = {gw_scale(s, base->twist.v), gw_scale(s, base->twist.w)};
    gw_pose motion = gw_screw_exp(&screw);
    return gw_pose_mul(&motion, &base->from);
}

/* Velocity of a point that moves with the twist. */
static gw_vec3 velocity_at(const gw_twist *twist, gw_vec3 point)
{
    return gw_add(twist->v, gw_cross(twist->w, point));
}

gw_pose gw_base_from_world_pose(const gw_base_motion *base, const gw_pose *world_from_body)
{
    assert(base && world_from_body);
    gw_pose world_from_base = gw_base_motion_frame(base, 0),
            back = gw_pose_inverse(&world_from_base);
    return gw_pose_mul(&back, world_from_body);
}

gw_pose gw_base_to_world_pose(const gw_base_motion *base, double t, const gw_pose *base_from_body)
{
    gw_pose world_from_base = gw_base_motion_frame(base, t),
            out = gw_pose_mul(&world_from_base, base_from_body);
    return (gw_pose){out.p, gw_quat_unit(out.q)};
}

gw_twist gw_base_from_world_twist(const gw_base_motion *base, const gw_pose *world_from_body,
                                  const gw_twist *twist)
{
    assert(base && world_from_body && twist);
    gw_quat q = gw_base_motion_frame(base, 0).q;
    gw_vec3 v = gw_sub(twist->v, velocity_at(&base->twist, world_from_body->p));
    return (gw_twist){gw_unrotate(q, v), gw_unrotate(q, gw_sub(twist->w, base->twist.w))};
}

gw_twist gw_base_to_world_twist(const gw_base_motion *base, double t,
                                const gw_pose *world_from_body, const gw_twist *twist)
{
    gw_quat q = gw_base_motion_frame(base, t).q;
    return (gw_twist){gw_add(gw_rotate(q, twist->v), velocity_at(&base->twist, world_from_body->p)),
                      gw_add(gw_rotate(q, twist->w), base->twist.w)};
}

gw_twist gw_base_motion_twist_at(const gw_base_motion *base, const gw_pose *base_from_body)
{
    return (gw_twist){velocity_at(&base->inner, base_from_body->p), base->inner.w};
}

gw_twist gw_base_motion_bias(const gw_base_motion *base, gw_vec3 point, const gw_twist *twist)
{
    gw_vec3 w = base->inner.w, whole = gw_mul_add(velocity_at(&base->inner, point), 2, twist->v);
    return (gw_twist){gw_cross(w, whole), gw_cross(w, twist->w)};
}

/* The inertial force f' and torque t'. */
static gw_wrench inertial_wrench(const gw_base_motion *base, double mass, const gw_rigid_body *r,
                                 const gw_pose *pose, const gw_twist *twist)
{
    gw_vec3 w = base->inner.w, spin = twist->w;
    gw_vec3 at_com = gw_add(twist->v, gw_cross(spin, r->com));
    gw_twist bias = gw_base_motion_bias(base, gw_add(pose->p, r->com), &(gw_twist){at_com, spin});
    gw_vec3 whole = gw_mat3_mul(&r->inertia, gw_add(spin, w));
    gw_vec3 t = gw_mat3_mul(&r->inertia, gw_cross(spin, w));
    t = gw_sub(t, gw_cross(spin, gw_mat3_mul(&r->inertia, w)));
    return (gw_wrench){gw_scale(-mass, bias.v), gw_sub(t, gw_cross(w, whole))};
}

gw_load gw_base_motion_load(const gw_guided *body, const gw_rigid_body *r, const gw_pose *pose,
                            const gw_twist *twist, const gw_forces *forces, double t)
{
    const gw_base_motion *base = &body->base;
    gw_quat q = gw_base_motion_frame(base, t).q;
    gw_pose out = gw_base_to_world_pose(base, t, pose);
    gw_twist moving = gw_base_to_world_twist(base, t, &out, twist);
    gw_rigid_body seen = {.com = gw_rotate(q, r->com),
                          .held = gw_rotate(q, r->held),
                          .held_q = gw_quat_mul(q, r->held_q)};
    gw_load load = gw_rigid_body_load(&body->def, &seen, &out, &moving, forces, t);
    gw_wrench in = {gw_unrotate(q, load.about_com.f), gw_unrotate(q, load.about_com.t)};
    gw_wrench inertia = inertial_wrench(base, body->def.mass.mass, r, pose, twist);
    load.about_com = gw_wrench_add(in, inertia);
    return load;
}

double gw_base_motion_power(const gw_base_motion *base, const gw_rigid_body *r, const gw_pose *pose,
                            const gw_wrench *constraint)
{
    gw_vec3 v = velocity_at(&base->inner, gw_add(pose->p, r->held));
    return gw_dot(constraint->f, v) + gw_dot(constraint->t, base->inner.w);
}
