/*
 * What a hold tells of itself in a snapshot. On the loop's thread, RT safe.
 */
#include "rt/sim/haptic_tool.h"

/* Splits the force along what the tool's origin can do and what it cannot. */
static void split_force(const gw_haptic_tool *hold, gw_tool_state *state)
{
    double columns[GW_MODEL_MAX_DOF][6], drift[6];
    gw_vec3 free[3], force = state->operator.f, normal = force;
    const gw_model *model = gw_haptic_tool_model_const(hold);
    int count = 0, dof = gw_model_dof(model);
    if (gw_norm2(force) == 0)
        return;
    gw_model_jacobian(model, columns, drift);
    for (int k = 0; k < dof && count < 3; k++) {
        gw_vec3 d = {columns[k][0], columns[k][1], columns[k][2]};
        double whole = gw_norm(d);
        for (int i = 0; i < count; i++)
            d = gw_reject(d, free[i]);
        if (gw_norm(d) <= 1e-6 * whole || whole < 1e-9)
            continue;
        free[count++] = gw_unit(d);
    }
    for (int i = 0; i < count; i++)
        normal = gw_reject(normal, free[i]);
    state->force_normal = count == 3 ? 0 : gw_norm(normal);
    state->force_tangential = gw_norm(count == 3 ? force : gw_sub(force, normal));
}

static void show_robot(const gw_haptic_tool *hold, gw_motion_state *s)
{
    const gw_motion_executor *robot = &hold->robot;
    *s = (gw_motion_state){.active = robot->active,
                           .moving = robot->moving,
                           .tag = robot->tag,
                           .outcome = robot->outcome,
                           .reaction = robot->reaction};
    if (!robot->active)
        return;
    s->parameter_count = hold->body.def.set.dof;
    gw_submanifold_parameters_at(&hold->body.def.set, &hold->body.pose, s->parameters);
}

static void show_rendering(const gw_haptic_tool *hold, gw_tool_state *s)
{
    s->hand = hold->rendered.hand;
    s->resisted = hold->rendering.resisted;
    s->port = hold->rendering.observer.excess;
}

void gw_haptic_tool_publish_state(const gw_haptic_tool *hold, gw_tool_state *s)
{
    gw_pose truth;
    *s = (gw_tool_state){
        .object = hold->tool->object, .mechanism = hold->tool->mechanism, .link = hold->tool->link};
    s->world_from_object = gw_haptic_tool_object_pose(hold);
    s->world_from_tool = hold->shown;
    s->twist = hold->shown_twist;
    s->device = s->device_true = hold->shown;
    if (hold->sensed.valid)
        s->device = s->device_true = gw_workspace_to_task(&hold->map, &hold->sensed.pose);
    if (gw_device_slot_true_pose(hold->tool->slot, &truth))
        s->device_true = gw_workspace_to_task(&hold->map, &truth);
    s->operator= hold->wrench;
    gw_twist error = gw_pose_sub(&s->device, &s->world_from_tool);
    s->error_p = gw_norm(error.v);
    s->error_r = gw_norm(error.w);
    s->residual = hold->chain ? 0 : gw_guided_residual(&hold->body, &s->world_from_object);
    s->travelling = hold->travel.active;
    s->clutched = hold->clutched;
    s->dragging = hold->drag.active;
    s->contact = hold->contact;
    s->walls = hold->walls.touching;
    s->depth = hold->walls.depth;
    if (!hold->chain)
        show_robot(hold, &s->guide);
    if (hold->tool->renders)
        show_rendering(hold, s);
    split_force(hold, s);
}

void gw_haptic_tool_publish_step(const gw_haptic_tool *hold, gw_tool_state *state)
{
    state->constraint = hold->constraint;
    state->limited = hold->limited;
    if (!hold->tool->renders)
        return;
    state->command = hold->rendered.command;
    state->impulse = hold->rendered.impulse;
    state->damped = hold->damped;
    state->withheld = hold->withheld;
}
