/*
 * Walls at the tool, while it may be shown displaced. On the loop's thread, RT safe.
 */
#include "rt/sim/contact.h"

/* Where the object is shown with the model's held frame there, which moves along. */
static gw_pose body_shown(const gw_haptic_tool *hold, gw_pose *held)
{
    gw_pose held_from_body = gw_pose_inverse(&hold->body.def.body_from_held);
    gw_twist unused = {{0, 0, 0}, {0, 0, 0}};
    gw_transition_apply(&hold->travel, held, &unused);
    return gw_pose_mul(held, &held_from_body);
}

static gw_pose body_now(const gw_haptic_tool *hold)
{
    gw_pose held;
    gw_twist twist;
    gw_model_held(&hold->body.model, &held, &twist);
    return body_shown(hold, &held);
}

/* The walls see the model's own motion; a travel's is none of theirs. */
gw_wrench gw_tool_unilateral_wrench(const gw_haptic_tool *hold, gw_pose held, gw_twist twist)
{
    gw_wrench none = {{0, 0, 0}, {0, 0, 0}};
    if (!hold->walls.near)
        return none;
    gw_pose body = body_shown(hold, &held);
    gw_vec3 arm = gw_sub(held.p, body.p);
    twist.v = gw_sub(twist.v, gw_cross(twist.w, arm));
    gw_wrench c = gw_unilaterals_wrench(&hold->walls, &body, &twist);
    c.t = gw_sub(c.t, gw_cross(arm, c.f));
    return c;
}

void gw_tool_unilateral_look(gw_haptic_tool *hold, double dt)
{
    const gw_guided_def *def = &hold->body.def;
    gw_pose held;
    gw_twist twist;
    hold->contact = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    if (hold->walls.count == 0)
        return;
    gw_model_held(&hold->body.model, &held, &twist);
    gw_pose model = held, body = body_shown(hold, &held);
    gw_twist origin = {gw_sub(twist.v, gw_cross(twist.w, gw_sub(held.p, body.p))), twist.w};
    gw_unilaterals_detect(&hold->walls, &hold->body.model, def->mass.mass, &def->body_from_held,
                          &body, &origin, dt);
    hold->contact = gw_tool_unilateral_wrench(hold, model, twist);
}

double gw_tool_unilateral_energy(const gw_haptic_tool *hold)
{
    if (!hold->walls.near)
        return 0;
    gw_pose body = body_now(hold);
    return gw_unilaterals_energy(&hold->walls, &body);
}

void gw_tool_unilateral_move(gw_haptic_tool *hold, const gw_kinematics *network, double dt)
{
    gw_pose body = body_now(hold);
    gw_unilaterals_move(&hold->walls, network, &body, dt);
}

bool gw_tool_unilateral_transition(gw_haptic_tool *hold, double dt, double pace)
{
    gw_pose before = body_now(hold);
    bool ended = gw_transition_advance(&hold->travel, dt, pace);
    gw_pose after = body_now(hold);
    gw_unilaterals_yield(&hold->walls, &before, &after);
    return ended;
}

/* Power of what moves the walls, by their damping (W). */
static double power_now(const gw_haptic_tool *hold)
{
    gw_pose held;
    gw_twist twist;
    if (!hold->walls.moving)
        return 0;
    gw_model_held(&hold->body.model, &held, &twist);
    gw_pose body = body_shown(hold, &held);
    twist.v = gw_sub(twist.v, gw_cross(twist.w, gw_sub(held.p, body.p)));
    return gw_unilaterals_power(&hold->walls, &body, &twist);
}

gw_tool_unilateral_step gw_tool_unilateral_pre_step(const gw_haptic_tool *hold, double energy)
{
    gw_tool_unilateral_step open = {
        .near = hold->walls.near != 0, .travels = hold->travel.active, .before = energy};
    gw_twist twist;
    if (open.near) {
        gw_model_held(&hold->body.model, &open.held, &twist);
        open.power = power_now(hold);
    }
    return open;
}

void gw_tool_unilateral_post_step(gw_haptic_tool *hold, const gw_tool_unilateral_step *open,
                                  const gw_step *step, double went, double dt)
{
    double kinetic, potential, given = 0.5 * dt * (open->power + power_now(hold));
    gw_pose held;
    gw_twist twist;
    gw_haptic_tool_energy(hold, &kinetic, &potential);
    gw_model_held(&hold->body.model, &held, &twist);
    gw_twist d = gw_pose_sub(&held, &open->held);
    double work = gw_dot(hold->wrench.f, d.v) + gw_dot(hold->wrench.t, d.w);
    double lost =
        work + given + step->ride - step->dissipated - went - (kinetic + potential - open->before);
    hold->edits += given;
    hold->work += work - step->work - (open->travels ? lost : 0);
    hold->dissipated += open->travels ? 0 : lost;
}
