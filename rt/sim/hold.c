/*
 * One tool through a tick: sense, step, act. On the loop's thread, RT safe.
 */
#include "rt/sim/contact.h"

#include <string.h>

#define PACE_FORCE        30.0 /* N: beyond, a travel gives way to the hand */
#define PACE_FORCE_STOP   45.0
#define FREE_DAMPING      5.0   /* N s/m of the device while clutched */
#define FREE_INERTIA      0.01  /* kg m^2 */
#define FREE_DAMPING_TURN 0.1   /* N m s/rad */
#define SINGULAR          0.01  /* rows this close to dependent, as a part of the largest */
#define EDGE_SHARE        0.999 /* of the workspace radius: no further outward */

gw_pose gw_haptic_tool_object_pose(const gw_haptic_tool *hold)
{
    if (hold->chain) {
        gw_pose held;
        gw_twist twist;
        gw_model_body(&hold->chain->model, hold->tool->link, &held, &twist);
        return held;
    }
    gw_pose tool_from_body = gw_pose_inverse(&hold->body.def.body_from_held);
    gw_pose body = hold->body.pose;
    if (hold->travel.active)
        body = gw_pose_mul(&hold->shown, &tool_from_body);
    return body;
}

void gw_haptic_tool_energy(const gw_haptic_tool *hold, double *kinetic, double *potential)
{
    *kinetic = *potential = 0;
    if (hold->chain)
        return;
    gw_model_energy(&hold->body.model, kinetic, potential);
    *potential += gw_tool_unilateral_energy(hold);
}

/* ---- sense ---------------------------------------------------------------------------------- */

/* What the robot wants at the tool frame. It works on the model: a travel takes both along. */
static gw_wrench robot_wrench(gw_haptic_tool *hold, double dt)
{
    const gw_guided_def *def = &hold->body.def;
    gw_motion_input view = {.set = &def->set,
                            .mass = &def->mass,
                            .gravity = def->gravity,
                            .body_from_tool = def->body_from_held,
                            .body = hold->body.pose,
                            .contact = hold->contact,
                            .touching = hold->walls.touching,
                            .length = def->length,
                            .dt = dt};
    gw_model_held(&hold->body.model, &view.tool, &view.twist);
    gw_twist carried = gw_guided_base_velocity(&hold->body, view.tool.p);
    view.twist = (gw_twist){gw_sub(view.twist.v, carried.v), gw_sub(view.twist.w, carried.w)};
    return gw_motion_tick(&hold->robot, &view);
}

/* What operators in the task space want at the tool frame. */
static gw_wrench wanted_wrench(gw_haptic_tool *hold, const gw_tick *tick)
{
    gw_device_slot *slot = hold->tool->slot;
    gw_mass mass = gw_haptic_tool_mass(hold);
    gw_pose hand, object = gw_haptic_tool_object_pose(hold);
    hand = gw_device_slot_true_pose(slot, &hand) ? gw_workspace_to_task(&hold->map, &hand)
                                                 : hold->shown;
    gw_operator_input grip = {hand, hold->shown_twist, mass.mass,
                              gw_inertia_lower_bound(&mass.inertia), tick->dt};
    double t = (double)(tick->tick - slot->start) / tick->rate + tick->within;
    gw_wrench program = gw_operator_wrench(slot->program, t, &grip);
    gw_wrench drag =
        gw_drag_wrench(&hold->drag, &object, mass.com, &hold->shown, &hold->shown_twist);
    gw_wrench robot =
        hold->chain ? (gw_wrench){{0, 0, 0}, {0, 0, 0}} : robot_wrench(hold, tick->dt);
    return gw_wrench_add(gw_wrench_add(program, drag), gw_wrench_add(hold->push, robot));
}

/* The operator's wrench as sensed, clamped, with the coupling where device and tool are apart. */
static void take_wrench(gw_haptic_tool *hold, gw_wrench direct, bool limits)
{
    const gw_scenario_tool *tool = hold->tool;
    hold->wrench = direct;
    if (hold->sensed.valid && gw_device_slot_info(tool->slot)->measures_wrench)
        hold->wrench = gw_wrench_add(hold->wrench,
                                     gw_workspace_wrench_to_task(&hold->map, &hold->sensed.wrench));
    if (limits && gw_clamp_norm(&hold->wrench.f, tool->force_max))
        hold->limited = true;
    if (limits && gw_clamp_norm(&hold->wrench.t, tool->torque_max))
        hold->limited = true;
    hold->acting = hold->wrench;
    if (!hold->sensed.valid || hold->clutched || tool->renders)
        return;
    gw_pose device = gw_workspace_to_task(&hold->map, &hold->sensed.pose);
    gw_vec3 pull =
        gw_virtual_coupling_force(&hold->coupling, hold->shown.p, hold->shown_twist.v, device.p);
    hold->wrench.f = hold->acting.f = gw_add(hold->wrench.f, pull);
}

void gw_haptic_tool_sense(gw_haptic_tool *hold, const gw_tick *tick,
                          const gw_scene_dynamics *movers, int index)
{
    gw_wrench none = {{0, 0, 0}, {0, 0, 0}};
    gw_device_slot *slot = hold->tool->slot;
    hold->limited = hold->robot.ended = false;
    gw_haptic_tool_update_pose(hold);
    if (!hold->chain)
        gw_tool_unilateral_look(hold, tick->dt);
    if (gw_haptic_tool_waits(
            hold, tick)) { /* its sensors are not asked: their noise goes on in the run */
        gw_device_slot_true_pose(slot, &hold->sensed.pose);
        return;
    }
    gw_wrench wanted = tick->moving ? wanted_wrench(hold, tick) : none;
    gw_wrench exerted = gw_workspace_wrench_to_device(&hold->map, &wanted);
    gw_device_slot_apply_operator(slot, &exerted);
    hold->sensed = gw_device_slot_read(slot);
    hold->lost = !hold->sensed.valid;
    if (hold->lost) {
        gw_haptic_tool_stop(hold);
        gw_motion_hold(&hold->robot);
    }
    gw_haptic_tool_clutch(hold);
    take_wrench(hold, slot->driver->exert ? none : wanted, tick->moving);
    if (hold->tool->renders)
        gw_haptic_tool_control_pre_step(hold, tick, movers, index);
}

/* ---- step ----------------------------------------------------------------------------------- */

static gw_wrench held_wrench(const void *context, double t, const gw_pose *held,
                             const gw_twist *twist)
{
    (void)t;
    const gw_haptic_tool *hold = context;
    return hold->walls.near
               ? gw_wrench_add(hold->acting, gw_tool_unilateral_wrench(hold, *held, *twist))
               : hold->acting;
}

/* Scales the velocity so that the tool keeps within the scene's limits. */
static void limit_speed(gw_haptic_tool *hold)
{
    const gw_scenario_tool *tool = hold->tool;
    gw_pose pose;
    gw_twist twist;
    double factor = 1;
    if (!(tool->speed_max > 0) && !(tool->spin_max > 0))
        return;
    gw_model_held(gw_haptic_tool_model(hold), &pose, &twist);
    double speed = gw_norm(twist.v), spin = gw_norm(twist.w);
    if (tool->speed_max > 0 && speed > tool->speed_max)
        factor = tool->speed_max / speed;
    if (tool->spin_max > 0 && spin > tool->spin_max)
        factor = fmin(factor, tool->spin_max / spin);
    if (factor >= 1)
        return;
    gw_haptic_tool_book_loss(hold, gw_haptic_tool_slow(hold, factor));
    hold->limited = true;
}

/* A travel gives way to a hand that resists. */
static double pace_of(const gw_haptic_tool *hold)
{
    double pace = (PACE_FORCE_STOP - gw_norm(hold->wrench.f)) / (PACE_FORCE_STOP - PACE_FORCE);
    return fmin(fmax(pace, 0), 1);
}

void gw_haptic_tool_pre_step(gw_haptic_tool *hold, const gw_tick *tick, gw_world_system *mover)
{
    double kinetic, potential;
    hold->constraint = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    hold->settled = false;
    hold->held_still = false;
    mover->model = gw_haptic_tool_model(hold);
    mover->hand = (gw_forces){.at = held_wrench, .context = hold};
    mover->still = !tick->moving || hold->clutched || !hold->sensed.valid;
    if (mover->still)
        return;
    gw_haptic_tool_energy(hold, &kinetic, &potential);
    hold->before = kinetic;
    hold->wall = gw_tool_unilateral_pre_step(hold, kinetic + potential);
    hold->start = hold->body.pose;
}

/* The impulses of this step, for the hand's next tick. */
static void remember_hit(gw_haptic_tool *hold, const gw_world_system *mover)
{
    hold->was_hit = mover->collided;
    if (mover->collided)
        memcpy(hold->hit, mover->impulse, sizeof hold->hit);
}

/* What stays still on a set that rides is taken along. */
static void wait(gw_haptic_tool *hold, const gw_tick *tick)
{
    if (!tick->moving || hold->chain || !hold->body.ride.moves)
        return;
    double before = gw_haptic_tool_total_energy(hold);
    gw_guided_move_with_base(&hold->body, tick->dt);
    hold->edits += gw_haptic_tool_total_energy(hold) - before;
}

void gw_haptic_tool_post_step(gw_haptic_tool *hold, const gw_tick *tick,
                              const gw_world_system *mover)
{
    const gw_step *step = &mover->step;
    remember_hit(hold, mover);
    if (mover->still) {
        wait(hold, tick);
        return;
    }
    hold->constraint = step->constraint;
    hold->held_still = !step->finite;
    hold->singular = step->margin < (hold->singular ? 2 * SINGULAR : SINGULAR);
    hold->work += step->work;
    /* what a failed step took a chain tells itself, a body does not */
    hold->dissipated += step->dissipated;
    if (!step->finite && isfinite(hold->before))
        hold->dissipated += hold->before;
    double lost = hold->dissipated - hold->edits;
    limit_speed(hold);
    lost = hold->dissipated - hold->edits - lost;
    if (hold->travel.active)
        hold->settled = gw_tool_unilateral_transition(hold, tick->dt, pace_of(hold));
    if (hold->wall.near && step->finite)
        gw_tool_unilateral_post_step(hold, &hold->wall, step, lost, tick->dt);
}

/* ---- act ------------------------------------------------------------------------------------ */

/* Takes out the part of the velocity that leads out of the workspace at its edge. */
static bool stop_at_edge(const gw_haptic_tool *hold, double radius, gw_twist *u)
{
    gw_vec3 p = hold->sensed.pose.p;
    double r = gw_norm(p);
    if (!(radius > 0) || r < EDGE_SHARE * radius || !(gw_dot(u->v, p) > 0))
        return false;
    u->v = gw_reject(u->v, gw_scale(1 / r, p));
    return true;
}

/* A clutched device moves as a free body would under the hand. */
static gw_twist free_motion(gw_haptic_tool *hold, double dt)
{
    double mass = gw_haptic_tool_mass(hold).mass;
    gw_wrench f = hold->sensed.wrench;
    gw_vec3 v = gw_mul_add(hold->free.v, dt / mass, f.f);
    gw_vec3 w = gw_mul_add(hold->free.w, dt / FREE_INERTIA, f.t);
    hold->free.v = gw_scale(1 / (1 + dt * FREE_DAMPING / mass), v);
    hold->free.w = gw_scale(1 / (1 + dt * FREE_DAMPING_TURN / FREE_INERTIA), w);
    return hold->free;
}

/* An impedance device exerts what control has found. */
static void act_by_force(gw_haptic_tool *hold, const gw_tick *tick)
{
    gw_wrench u = gw_workspace_wrench_to_device(&hold->map, &hold->rendered.command);
    bool able = tick->engaged && hold->sensed.valid && gw_finite3(u.f) && gw_finite3(u.t);
    gw_device_slot_command_wrench(hold->tool->slot, &u, able);
}

void gw_haptic_tool_actuate(gw_haptic_tool *hold, const gw_tick *tick)
{
    gw_device_slot *slot = hold->tool->slot;
    const gw_device_info *info = gw_device_slot_info(slot);
    gw_pose before = hold->shown;
    bool limited = false;
    gw_twist u = {{0, 0, 0}, {0, 0, 0}};
    gw_haptic_tool_update_pose(hold);
    if (hold->tool->renders) {
        gw_haptic_tool_control_post_step(hold);
        if (!gw_haptic_tool_waits(hold, tick))
            act_by_force(hold, tick);
        return;
    }
    if (hold->sensed.valid && tick->engaged && hold->clutched) {
        u = free_motion(hold, tick->dt);
        limited = gw_clamp_norm(&u.v, info->speed_max) | gw_clamp_norm(&u.w, info->spin_max);
    } else if (hold->sensed.valid && tick->engaged) {
        gw_twist way = gw_pose_sub(&hold->shown, &before);
        way = gw_workspace_twist_to_device(&hold->map, &way);
        gw_twist forward = {gw_scale(1 / tick->dt, way.v), gw_scale(1 / tick->dt, way.w)};
        gw_pose target = gw_workspace_to_device(&hold->map, &before);
        gw_twist error = gw_pose_sub(&target, &hold->sensed.pose);
        u = gw_pid_command(&hold->pid, &forward, &error, info, tick->dt, &limited);
    }
    limited = stop_at_edge(hold, info->workspace_radius, &u) || limited;
    hold->limited = hold->limited || (limited && tick->moving);
    if (!gw_finite3(u.v) || !gw_finite3(u.w))
        u = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    gw_device_slot_command_velocity(slot, &u, tick->engaged);
}
