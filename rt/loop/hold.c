/*
 * One tool through a tick: sense, step, act. On the loop's thread, RT safe.
 */
#include "rt/loop/contact.h"

#include <string.h>

#define TRAVEL_ACCELERATION 10.0 /* m/s^2 in a travel's ramps */
#define HAND_FORCE_RATE     45.0 /* N/s: 0.05 N per ms with a margin for rounding off */
#define HAND_DAMPING_LEAST  1.4  /* of sqrt(k m), twice the damping ratio */
#define PACE_FORCE          30.0 /* N: beyond, a travel gives way to the hand */
#define PACE_FORCE_STOP     45.0
#define FREE_DAMPING        5.0   /* N s/m of the device while clutched */
#define FREE_INERTIA        0.01  /* kg m^2 */
#define FREE_DAMPING_TURN   0.1   /* N m s/rad */
#define SINGULAR            0.01  /* rows this close to dependent, as a part of the largest */
#define EDGE_SHARE          0.999 /* of the workspace radius: no further outward */

static gw_wrench add_wrench(gw_wrench a, gw_wrench b)
{
    return (gw_wrench){gw_add(a.f, b.f), gw_add(a.t, b.t)};
}

/* Virtual tool: the model's held frame, displaced while a travel lasts. */
static void show(gw_hold *hold)
{
    gw_model_held(&hold->body.model, &hold->shown, &hold->shown_twist);
    gw_travel_apply(&hold->travel, &hold->shown, &hold->shown_twist);
}

gw_pose gw_hold_object(const gw_hold *hold)
{
    gw_pose tool_from_body = gw_pose_inverse(&hold->body.def.body_from_held);
    gw_pose body = hold->body.pose;
    if (hold->travel.active)
        body = gw_pose_mul(&hold->shown, &tool_from_body);
    return body;
}

void gw_hold_energy(const gw_hold *hold, double *kinetic, double *potential)
{
    gw_model_energy(&hold->body.model, kinetic, potential);
    *potential += gw_contact_energy(hold);
}

static void take_settings(gw_hold *hold, const gw_scenario_tool *tool, double dt)
{
    hold->tool = tool;
    hold->pid.p = tool->gain_p;
    hold->pid.i = tool->gain_i;
    hold->pid.d = tool->gain_d;
    hold->coupling = gw_coupling_for(tool->guided.mass.mass, hold->map.scale, dt);
}

/* The device at the tool: placed where the driver can, else the map is centred on it. */
static void join_device(gw_hold *hold)
{
    gw_pose device = gw_map_to_device(&hold->map, &hold->shown);
    if (gw_slot_place(hold->tool->slot, &device))
        return;
    hold->sensed = gw_slot_read(hold->tool->slot);
    if (hold->sensed.valid)
        hold->map = gw_map_recentred(&hold->map, &hold->shown, &hold->sensed.pose);
}

void gw_hold_reset(gw_hold *hold, const gw_scenario_tool *tool, double dt)
{
    memset(hold, 0, sizeof *hold);
    hold->map = tool->map;
    take_settings(hold, tool, dt);
    gw_guided_init(&hold->body, &tool->guided, &tool->pose);
    gw_guided_set_twist(&hold->body, &tool->twist);
    gw_walls_switch(&hold->walls, tool->walls, tool->wall_count);
    gw_pid_reset(&hold->pid);
    show(hold);
    join_device(hold);
}

/* ---- change of scenario --------------------------------------------------------------------- */

static gw_travel_limits travel_limits(const gw_hold *hold, const gw_scenario *scenario)
{
    gw_hand hand = gw_operator_hand(hold->tool->slot->program);
    if (hold->drag.active)
        hand = (gw_hand){hand.stiffness + hold->drag.stiffness, hand.damping + hold->drag.damping,
                         hand.mass};
    /* a hand that would ring is brought along as slowly as one that would not */
    hand.damping = fmax(hand.damping, HAND_DAMPING_LEAST * sqrt(hand.stiffness * hand.mass));
    return (gw_travel_limits){.speed = scenario->travel_speed,
                              .spin = scenario->travel_spin,
                              .acceleration = TRAVEL_ACCELERATION,
                              .hand_stiffness = hand.stiffness,
                              .hand_damping = hand.damping,
                              .hand_mass = hand.mass,
                              .hand_force_rate = HAND_FORCE_RATE};
}

/* The device stays where it is: where the tool's frame, its device, its object or the stated scale
 * changed, the map is centred anew on it; else the hand keeps the map it has. */
static void keep_device(gw_hold *hold, const gw_hold *old, const gw_pose *shown)
{
    bool same = old && old->tool->slot == hold->tool->slot;
    bool rescaled = same && hold->tool->scale_stated && hold->tool->map.scale != old->map.scale;
    hold->map = same ? old->map : hold->tool->map;
    if (rescaled)
        hold->map.scale = hold->tool->map.scale;
    if (!same || rescaled || gw_pose_distance(shown, &old->shown, 1) > 1e-12) {
        gw_sensed s = gw_slot_read(hold->tool->slot);
        if (s.valid)
            hold->map = gw_map_recentred(&hold->map, shown, &s.pose);
        gw_pid_reset(&hold->pid);
    }
}

void gw_hold_switch(gw_hold *hold, const gw_hold *old, const gw_scenario_tool *tool,
                    const gw_scenario *scenario)
{
    if (!old) {
        memset(hold, 0, sizeof *hold);
        hold->tool = tool;
        gw_guided_init(&hold->body, &tool->guided, &tool->pose);
        gw_walls_switch(&hold->walls, tool->walls, tool->wall_count);
        show(hold);
        keep_device(hold, NULL, &hold->shown);
        take_settings(hold, tool, scenario->dt);
        return;
    }
    gw_pose from = gw_hold_object(old), at, to = tool->pose;
    gw_vec3 arm = gw_sub(from.p, old->shown.p);
    gw_twist twist = {gw_add(old->shown_twist.v, gw_cross(old->shown_twist.w, arm)),
                      old->shown_twist.w};
    *hold = *old;
    hold->tool = tool;
    hold->work = hold->dissipated = hold->edits = 0;
    at = gw_pose_mul(&from, &tool->guided.body_from_held);
    arm = gw_sub(at.p, from.p);
    gw_twist at_twist = {gw_add(twist.v, gw_cross(twist.w, arm)), twist.w};
    keep_device(hold, old, &at);
    take_settings(hold, tool, scenario->dt);
    if (!scenario->go_to_layout)
        gw_submanifold_nearest(&tool->guided.set, &from, tool->guided.length, &to);
    gw_guided_init(&hold->body, &tool->guided, &to);
    if (!scenario->go_to_layout)
        gw_guided_set_twist(&hold->body, &twist);
    gw_pose model;
    gw_twist model_twist;
    gw_model_held(&hold->body.model, &model, &model_twist);
    gw_travel_limits limits = travel_limits(hold, scenario);
    gw_travel_start(&hold->travel, &at, &at_twist, &model, &model_twist, &limits);
    hold->robot.touched =
        gw_walls_carry(&hold->walls, tool->walls, tool->wall_count, hold->robot.touched);
    gw_walls_switch(&hold->walls, tool->walls, tool->wall_count);
    gw_robot_switch(&hold->robot, &old->tool->guided.set, &tool->guided.set, &hold->body.pose,
                    &tool->guided.body_from_held);
    hold->settled = !hold->travel.active;
    show(hold);
}

/* ---- clutch --------------------------------------------------------------------------------- */

static void update_clutch(gw_hold *hold)
{
    bool wanted = hold->clutch_wanted || (hold->sensed.valid && hold->sensed.clutch);
    if (wanted && !hold->clutched) {
        gw_hold_rest(hold);
        hold->free = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    }
    if (!wanted && hold->clutched) {
        if (hold->sensed.valid)
            hold->map = gw_map_recentred(&hold->map, &hold->shown, &hold->sensed.pose);
        gw_pid_reset(&hold->pid);
    }
    hold->clutched = wanted;
}

void gw_hold_rest(gw_hold *hold)
{
    hold->dissipated += gw_guided_slow(&hold->body, 0);
    hold->travel.pace = 0;
    show(hold);
}

/* ---- sense ---------------------------------------------------------------------------------- */

/* What the robot wants at the tool frame. It works on the model: a travel takes both along. */
static gw_wrench robot_wrench(gw_hold *hold, double dt)
{
    const gw_guided_def *def = &hold->body.def;
    gw_robot_view view = {.set = &def->set,
                          .mass = &def->mass,
                          .gravity = def->gravity,
                          .body_from_tool = def->body_from_held,
                          .body = hold->body.pose,
                          .contact = hold->contact,
                          .touching = hold->walls.touching,
                          .length = def->length,
                          .dt = dt};
    gw_model_held(&hold->body.model, &view.tool, &view.twist);
    return gw_robot_wrench(&hold->robot, &view);
}

/* What operators in the task space want at the tool frame. */
static gw_wrench wanted_wrench(gw_hold *hold, const gw_tick *tick)
{
    gw_device_slot *slot = hold->tool->slot;
    const gw_mass *mass = &hold->body.def.mass;
    gw_pose hand, object = gw_hold_object(hold);
    hand = gw_slot_truth(slot, &hand) ? gw_map_to_task(&hold->map, &hand) : hold->shown;
    gw_grip grip = {hand, hold->shown_twist, mass->mass, gw_inertia_floor(&mass->inertia),
                    tick->dt};
    double t = (double)(tick->tick - slot->start) / tick->rate;
    gw_wrench program = gw_operator_wrench(slot->program, t, &grip);
    gw_wrench drag =
        gw_drag_wrench(&hold->drag, &object, mass->com, &hold->shown, &hold->shown_twist);
    gw_wrench robot = robot_wrench(hold, tick->dt);
    return add_wrench(add_wrench(program, drag), add_wrench(hold->push, robot));
}

/* The operator's wrench as sensed, clamped, with the coupling where device and tool are apart. */
static void take_wrench(gw_hold *hold, gw_wrench direct, bool limits)
{
    const gw_scenario_tool *tool = hold->tool;
    hold->wrench = direct;
    if (hold->sensed.valid && gw_device_slot_info(tool->slot)->measures_wrench)
        hold->wrench =
            add_wrench(hold->wrench, gw_map_wrench_to_task(&hold->map, &hold->sensed.wrench));
    if (limits && gw_limit3(&hold->wrench.f, tool->force_max))
        hold->limited = true;
    if (limits && gw_limit3(&hold->wrench.t, tool->torque_max))
        hold->limited = true;
    if (!hold->sensed.valid || hold->clutched)
        return;
    gw_pose device = gw_map_to_task(&hold->map, &hold->sensed.pose);
    gw_vec3 pull = gw_coupling_force(&hold->coupling, hold->shown.p, hold->shown_twist.v, device.p);
    hold->wrench.f = gw_add(hold->wrench.f, pull);
}

void gw_hold_sense(gw_hold *hold, const gw_tick *tick)
{
    gw_wrench none = {{0, 0, 0}, {0, 0, 0}};
    gw_device_slot *slot = hold->tool->slot;
    hold->limited = hold->robot.ended = false;
    show(hold);
    gw_contact_look(hold, tick->dt);
    gw_wrench wanted = tick->moving ? wanted_wrench(hold, tick) : none;
    gw_wrench exerted = gw_map_wrench_to_device(&hold->map, &wanted);
    gw_slot_exert(slot, &exerted);
    hold->sensed = gw_slot_read(slot);
    hold->lost = !hold->sensed.valid;
    if (hold->lost) {
        gw_hold_rest(hold);
        gw_robot_stay(&hold->robot);
    }
    update_clutch(hold);
    take_wrench(hold, slot->driver->exert ? none : wanted, tick->moving);
}

/* ---- step ----------------------------------------------------------------------------------- */

static gw_wrench held_wrench(const void *context, double t, const gw_pose *held,
                             const gw_twist *twist)
{
    (void)t;
    const gw_hold *hold = context;
    return hold->walls.near ? add_wrench(hold->wrench, gw_contact_at(hold, *held, *twist))
                            : hold->wrench;
}

/* Scales the velocity so that the tool keeps within the scene's limits. */
static void limit_speed(gw_hold *hold)
{
    const gw_scenario_tool *tool = hold->tool;
    gw_pose pose;
    gw_twist twist;
    double factor = 1;
    if (!(tool->speed_max > 0) && !(tool->spin_max > 0))
        return;
    gw_model_held(&hold->body.model, &pose, &twist);
    double speed = gw_norm(twist.v), spin = gw_norm(twist.w);
    if (tool->speed_max > 0 && speed > tool->speed_max)
        factor = tool->speed_max / speed;
    if (tool->spin_max > 0 && spin > tool->spin_max)
        factor = fmin(factor, tool->spin_max / spin);
    if (factor >= 1)
        return;
    hold->dissipated += gw_guided_slow(&hold->body, factor);
    hold->limited = true;
}

/* A travel gives way to a hand that resists. */
static double pace_of(const gw_hold *hold)
{
    double pace = (PACE_FORCE_STOP - gw_norm(hold->wrench.f)) / (PACE_FORCE_STOP - PACE_FORCE);
    return fmin(fmax(pace, 0), 1);
}

void gw_hold_step(gw_hold *hold, const gw_tick *tick)
{
    gw_step step;
    gw_forces forces = {.at = held_wrench, .context = hold};
    hold->constraint = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    hold->settled = false;
    hold->held_still = false;
    if (!tick->moving || hold->clutched || !hold->sensed.valid)
        return;
    double kinetic, potential;
    bool travelled = hold->travel.active;
    gw_hold_energy(hold, &kinetic, &potential);
    gw_contact_step wall = gw_contact_open(hold, kinetic + potential);
    hold->start = hold->body.pose;
    gw_model_step(&hold->body.model, &forces, tick->dt, &step);
    hold->constraint = step.constraint;
    hold->held_still = !step.finite;
    hold->singular = step.margin < (hold->singular ? 2 * SINGULAR : SINGULAR);
    hold->work += step.work;
    hold->dissipated += step.finite ? step.dissipated : isfinite(kinetic) ? kinetic : 0;
    double dissipated = hold->dissipated;
    limit_speed(hold);
    if (travelled)
        hold->settled = gw_contact_travel(hold, tick->dt, pace_of(hold));
    if (wall.near && step.finite)
        gw_contact_close(hold, &wall, &step, hold->dissipated - dissipated, travelled);
}

void gw_hold_undo(gw_hold *hold)
{
    gw_guided *body = &hold->body;
    double kinetic, potential, before, level;
    gw_hold_energy(hold, &kinetic, &potential);
    gw_guided_init(body, &body->def, &hold->start);
    gw_hold_energy(hold, &before, &level);
    hold->dissipated += kinetic + potential - before - level;
}

/* ---- geometry that moves -------------------------------------------------------------------- */

bool gw_hold_move_set(gw_hold *hold, const gw_constraint *constraints, int count)
{
    gw_guided *body = &hold->body;
    gw_problem problem = {body->pose, body->def.length, count, constraints};
    gw_branch before = {.set = body->def.set, .nearest = body->pose}, after;
    gw_twist twist = body->twist;
    double kinetic, potential, now, level;
    memcpy(before.id, hold->tool->branch, sizeof before.id);
    if (!gw_solve_branch(&problem, &before, &after))
        return false;
    gw_hold_energy(hold, &kinetic, &potential);
    body->def.set = after.set;
    gw_guided_init(body, &body->def, &after.nearest);
    gw_guided_set_twist(body, &twist);
    gw_hold_energy(hold, &now, &level);
    hold->edits += now + level - kinetic - potential;
    return true;
}

/* ---- act ------------------------------------------------------------------------------------ */

/* Takes out the part of the velocity that leads out of the workspace at its edge. */
static bool stop_at_edge(const gw_hold *hold, double radius, gw_twist *u)
{
    gw_vec3 p = hold->sensed.pose.p;
    double r = gw_norm(p);
    if (!(radius > 0) || r < EDGE_SHARE * radius || !(gw_dot(u->v, p) > 0))
        return false;
    u->v = gw_reject(u->v, gw_scale(1 / r, p));
    return true;
}

/* A clutched device moves as a free body would under the hand. */
static gw_twist free_motion(gw_hold *hold, double dt)
{
    double mass = hold->body.def.mass.mass;
    gw_wrench f = hold->sensed.wrench;
    gw_vec3 v = gw_mul_add(hold->free.v, dt / mass, f.f);
    gw_vec3 w = gw_mul_add(hold->free.w, dt / FREE_INERTIA, f.t);
    hold->free.v = gw_scale(1 / (1 + dt * FREE_DAMPING / mass), v);
    hold->free.w = gw_scale(1 / (1 + dt * FREE_DAMPING_TURN / FREE_INERTIA), w);
    return hold->free;
}

void gw_hold_act(gw_hold *hold, const gw_tick *tick)
{
    gw_device_slot *slot = hold->tool->slot;
    const gw_device_info *info = gw_device_slot_info(slot);
    gw_pose before = hold->shown;
    bool limited = false;
    gw_twist u = {{0, 0, 0}, {0, 0, 0}};
    show(hold);
    if (hold->sensed.valid && tick->engaged && hold->clutched) {
        u = free_motion(hold, tick->dt);
        limited = gw_limit3(&u.v, info->speed_max) | gw_limit3(&u.w, info->spin_max);
    } else if (hold->sensed.valid && tick->engaged) {
        gw_twist way = gw_pose_sub(&hold->shown, &before);
        way = gw_map_twist_to_device(&hold->map, &way);
        gw_twist forward = {gw_scale(1 / tick->dt, way.v), gw_scale(1 / tick->dt, way.w)};
        gw_pose target = gw_map_to_device(&hold->map, &before);
        gw_twist error = gw_pose_sub(&target, &hold->sensed.pose);
        u = gw_pid_command(&hold->pid, &forward, &error, info, tick->dt, &limited);
    }
    limited = stop_at_edge(hold, info->workspace_radius, &u) || limited;
    hold->limited = hold->limited || (limited && tick->moving);
    if (!gw_finite3(u.v) || !gw_finite3(u.w))
        u = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    gw_slot_write(slot, &u, tick->engaged);
}

/* ---- publish -------------------------------------------------------------------------------- */

/* Splits the force along what the tool's origin can do and what it cannot. */
static void split_force(const gw_hold *hold, gw_tool_state *state)
{
    double columns[6][6], drift[6];
    gw_vec3 free[3], force = state->operator.f, normal = force;
    int count = 0, dof = gw_model_dof(&hold->body.model);
    gw_model_jacobian(&hold->body.model, columns, drift);
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

static void show_robot(const gw_hold *hold, gw_guide_state *s)
{
    const gw_robot *robot = &hold->robot;
    *s = (gw_guide_state){.active = robot->active,
                          .moving = robot->moving,
                          .tag = robot->tag,
                          .outcome = robot->outcome,
                          .reaction = robot->reaction};
    if (!robot->active)
        return;
    s->parameter_count = hold->body.def.set.dof;
    gw_submanifold_parameters_at(&hold->body.def.set, &hold->body.pose, s->parameters);
}

void gw_hold_before(const gw_hold *hold, gw_tool_state *s)
{
    gw_pose truth;
    *s = (gw_tool_state){.object = hold->tool->object};
    s->world_from_object = gw_hold_object(hold);
    s->world_from_tool = hold->shown;
    s->twist = hold->shown_twist;
    s->device = s->device_true = hold->shown;
    if (hold->sensed.valid)
        s->device = s->device_true = gw_map_to_task(&hold->map, &hold->sensed.pose);
    if (gw_slot_truth(hold->tool->slot, &truth))
        s->device_true = gw_map_to_task(&hold->map, &truth);
    s->operator= hold->wrench;
    gw_twist error = gw_pose_sub(&s->device, &s->world_from_tool);
    s->error_p = gw_norm(error.v);
    s->error_r = gw_norm(error.w);
    s->residual = gw_guided_residual(&hold->body, &s->world_from_object);
    s->travelling = hold->travel.active;
    s->clutched = hold->clutched;
    s->dragging = hold->drag.active;
    s->contact = hold->contact;
    s->walls = hold->walls.touching;
    s->depth = hold->walls.depth;
    show_robot(hold, &s->guide);
    split_force(hold, s);
}

void gw_hold_publish(const gw_hold *hold, gw_tool_state *state)
{
    state->constraint = hold->constraint;
    state->limited = hold->limited;
}
