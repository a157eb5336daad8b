/*
 * The tick of a haptic tool: sense, step, command. Its initialisation and bumpless transitions are
 * in haptic_tool_switch.c. On the loop's thread, RT safe.
 *
 * For impedance devices control is in rt/haptics/impedance.c, for admittance devices it is here,
 * with the PID of rt/haptics/admittance.c. Every command passes the last gate
 * (rt/haptics/limits.h).
 */
#include "rt/sim/haptic_tool.h"

#include <assert.h>
#include <string.h>

#include "rt/haptics/limits.h"
#include "rt/sim/moving_submanifold.h"

#define BRAKE_TIME        0.05 /* s, time constant of braking a device without a hand */
#define PACE_FORCE        30.0 /* N: operator's force above which a transition slows down */
#define PACE_FORCE_STOP   45.0 /* N: force above which it stops */
#define FREE_DAMPING      5.0  /* N s/m, of the device while clutched */
#define FREE_INERTIA      0.01 /* kg m^2 */
#define FREE_DAMPING_TURN 0.1  /* N m s/rad */
#define SINGULAR          0.01 /* gw_step.margin below which the tool is near a singular point */
#define GROWTH_SHARE      0.2  /* of a speed limit: largest growth per step extrapolated */

static const gw_wrench no_wrench = {{0, 0, 0}, {0, 0, 0}};

/* ---- model and energy -------------------------------------------------------------------------
 */

static gw_model *model_of(gw_haptic_tool *tool)
{
    return tool->shared ? tool->shared : &tool->body.model;
}

static const gw_model *const_model_of(const gw_haptic_tool *tool)
{
    return tool->shared ? tool->shared : &tool->body.model;
}

void gw_haptic_tool_update_pose(gw_haptic_tool *tool)
{
    gw_model_held(model_of(tool), &tool->pose, &tool->twist);
    gw_transition_apply(&tool->transition, &tool->pose, &tool->twist);
}

gw_pose gw_haptic_tool_object_pose(const gw_haptic_tool *tool)
{
    if (tool->shared) {
        gw_pose held;
        gw_twist twist;
        gw_model_body(tool->shared, tool->def->body, &held, &twist);
        return held;
    }
    gw_pose tool_from_body = gw_pose_inverse(&tool->body.def.body_from_held);
    gw_pose body = tool->body.pose;
    if (tool->transition.active)
        body = gw_pose_mul(&tool->pose, &tool_from_body);
    return body;
}

/* Mass and inertia at the held frame; of a mechanism 1 / trace of each half of Lambda^-1, a lower
 * bound of the effective mass in any direction. */
static gw_mass own_mass(const gw_haptic_tool *tool)
{
    double columns[GW_MODEL_MAX_DOF][6], drift[6], inverse[6][6];
    if (!tool->shared)
        return tool->body.def.mass;
    const gw_model *model = tool->shared;
    int dof = gw_model_dof(model);
    gw_model_jacobian(model, columns, drift);
    gw_operational_inverse_inertia(model, dof, (const double(*)[6])columns, inverse);
    double light = inverse[0][0] + inverse[1][1] + inverse[2][2];
    double nimble = inverse[3][3] + inverse[4][4] + inverse[5][5];
    double mass = light > 1e-6 ? 1 / light : 1e6, inertia = nimble > 1e-6 ? 1 / nimble : 1e6;
    gw_mass out = {.mass = mass};
    for (int i = 0; i < 3; i++)
        out.inertia.m[i][i] = inertia;
    return out;
}

gw_mass gw_haptic_tool_mass(const gw_haptic_tool *tool)
{
    const gw_desired_def *desired = &tool->desired.def;
    gw_mass mass = own_mass(tool);
    if (!desired->has_mass)
        return mass;
    mass.mass = gw_desired_least_mass(desired);
    mass.inertia = (gw_mat3){{{0}}};
    for (int i = 0; i < 3; i++)
        mass.inertia.m[i][i] = gw_desired_least_inertia(desired);
    return mass;
}

/* Scales the velocity of the model; returns the kinetic energy lost (J). */
static double slow_down(gw_haptic_tool *tool, double factor)
{
    double v[GW_MODEL_MAX_DOF], before, after, potential;
    gw_model *model = model_of(tool);
    int dof = gw_model_dof(model);
    if (!tool->shared)
        return gw_guided_scale_velocity(&tool->body, factor);
    gw_model_energy(model, &before, &potential);
    gw_model_velocity(model, v);
    for (int i = 0; i < dof; i++)
        v[i] *= factor - 1;
    gw_model_kick(model, v);
    gw_model_energy(model, &after, &potential);
    return before - after;
}

/* Energy of the desired impedance's spring (J). */
static double desired_energy(const gw_haptic_tool *tool)
{
    gw_pose held;
    gw_twist twist;
    if (!tool->desired.active)
        return 0;
    gw_model_held(const_model_of(tool), &held, &twist);
    return gw_desired_energy(&tool->desired, &held);
}

void gw_haptic_tool_energy(const gw_haptic_tool *tool, double *kinetic, double *potential)
{
    *kinetic = *potential = 0;
    if (!tool->shared) {
        gw_model_energy(&tool->body.model, kinetic, potential);
    }
    *potential += desired_energy(tool);
}

static double total_energy(const gw_haptic_tool *tool)
{
    double kinetic, potential;
    gw_haptic_tool_energy(tool, &kinetic, &potential);
    return kinetic + potential;
}

/* Energy lost (J) counts as dissipated, energy gained under edits: it can only come from moving
 * geometry. */
static void count_energy_loss(gw_haptic_tool *tool, double lost)
{
    tool->dissipated += fmax(lost, 0);
    tool->edits += fmax(-lost, 0);
}

void gw_haptic_tool_stop(gw_haptic_tool *tool)
{
    if (tool->shared) {
        count_energy_loss(tool, slow_down(tool, 0));
    } else {
        double before = total_energy(tool);
        gw_guided_stop(&tool->body);
        count_energy_loss(tool, before - total_energy(tool));
    }
    tool->transition.pace = 0;
    gw_haptic_tool_update_pose(tool);
}

/* ---- control of an impedance device -----------------------------------------------------------
 */

/* True if the grasp is a point: the hand exerts no torque, and its rotation is free. */
static bool holds_point(const gw_haptic_tool *tool)
{
    return tool->def->grasp == GW_GRASP_POINT;
}

/* The device's properties in task space, where scaled forces scale its mass; with the stricter of
 * the device's and the tool's limits. */
static gw_impedance_device device_state(const gw_haptic_tool *tool)
{
    const gw_device_info *info = gw_device_slot_info(tool->def->slot);
    const gw_command_limits *limits = &tool->def->limits;
    double k = tool->map.scale, s = tool->map.force;
    gw_impedance_device d = {
        .pose = gw_workspace_to_task(&tool->map, &tool->reading.pose),
        .twist = gw_workspace_twist_to_task(&tool->map, &tool->reading.twist),
        .mass = s * info->mass,
        .inertia = s * info->inertia / (k * k),
        .damping = s * info->damping,
        .damping_angular = s * info->damping_angular / (k * k),
        .force_max = gw_stricter_limit(s * info->force_max / k, s * limits->force),
        .torque_max = gw_stricter_limit(s * info->torque_max / (k * k), s * limits->torque),
        .delay = info->delay,
        .velocity_delay = info->velocity_delay,
        .planar = info->planar};
    if (info->measures_wrench)
        d.hand = gw_workspace_wrench_to_task(&tool->map, &tool->reading.wrench);
    if (holds_point(tool)) {
        d.point = true;
        d.pose.q = gw_quat_identity();
        d.twist.w = d.hand.t = gw_v3(0, 0, 0);
    }
    return d;
}

/* Brakes the device: M_d x'' = -M_d x' / tau. */
static gw_wrench braking_wrench(const gw_haptic_tool *tool)
{
    gw_impedance_device d = device_state(tool);
    return (gw_wrench){gw_scale(-d.mass / BRAKE_TIME, d.twist.v),
                       gw_scale(-d.inertia / BRAKE_TIME, d.twist.w)};
}

/* True while a simulated device and its control are paused with the model, so that single ticks
 * give the same results as a run. A device released meanwhile (halted, clutched) is not paused but
 * braked, as it would continue at its old speed. */
static bool is_held_paused(const gw_haptic_tool *tool, const gw_tick *tick)
{
    bool simulated = tool->def->slot->driver->place != NULL;
    return tick->paused && !tick->moving && tick->engaged && simulated && !tool->coasts &&
           !tool->clutch_wanted;
}

/* Without control in this tick: the device of a paused model is braked, a clutched, lost or halted
 * one gets no wrench. */
static void disengage_control(gw_haptic_tool *tool, const gw_tick *tick)
{
    tool->output = (gw_impedance_out){0};
    if (!tick->moving && tick->engaged && tool->reading.valid && !tool->clutched)
        tool->output.command = braking_wrench(tool);
    gw_impedance_disengage(&tool->control, tick->dt);
    tool->had_impulse = false;
}

static void begin_desired(gw_haptic_tool *tool, const gw_tick *tick, gw_operational_state *state)
{
    gw_operational_state means;
    if (tool->desired.def.has_mass) {
        gw_operational_inertial_of(model_of(tool), state);
        gw_operational_over_of(model_of(tool), tick->dt, &means, state);
        if (holds_point(tool) && state->over)
            gw_operational_linear_of(&means);
    }
    if (holds_point(tool))
        gw_operational_linear_of(state);
    gw_desired_begin(&tool->desired, state, tick->dt);
    state->over = NULL;
}

bool gw_haptic_tool_is_coupled(const gw_haptic_tool *tool)
{
    return tool->def->renders && tool->control.def.kind == GW_LAW_COUPLING;
}

/* Impedance control before the model's step: the wrench on the model. */
static void control_pre_step(gw_haptic_tool *tool, const gw_tick *tick,
                             const gw_scene_dynamics *dynamics, int index)
{
    double columns[GW_MODEL_MAX_DOF][6], positional[GW_MODEL_MAX_DOF][6];
    gw_operational_state seen;
    gw_impedance_device device;
    tool->control_active = tick->moving && tick->engaged && tool->reading.valid && !tool->clutched;
    if (!tool->control_active) {
        disengage_control(tool, tick);
        return;
    }
    gw_operational_state_of(model_of(tool), columns, &seen);
    if (tool->desired.active)
        begin_desired(tool, tick, &seen);
    seen.pose = tool->pose;
    seen.twist = tool->twist;
    seen.resisted = gw_scene_dynamics_resisted(dynamics, index);
    seen.couplings = tool->couplings;
    if (gw_model_positional_jacobian(model_of(tool), positional))
        seen.positional = (const double(*)[6])positional;
    device = device_state(tool);
    if (device.point)
        gw_operational_point_of(&seen, columns);
    tool->output = gw_impedance_pre_step(&tool->control, &seen, &device, tick->dt);
    tool->wrench = tool->output.hand;
    tool->wrench_on_model = gw_wrench_add(tool->output.on_model, tool->direct_wrench);
    gw_desired_apply(&tool->desired, &tool->wrench_on_model);
}

/* Impedance control after the model's step: the command to the device. */
static void control_post_step(gw_haptic_tool *tool)
{
    gw_operational_step step;
    if (!tool->control_active)
        return;
    tool->control_active = false;
    gw_operational_step_of(model_of(tool), tool->had_impulse ? tool->impulse : NULL, &step);
    step.pose = tool->pose;
    step.twist = tool->twist;
    if (holds_point(tool))
        gw_operational_point_step_of(&step);
    gw_impedance_post_step(&tool->control, &step, &tool->output);
    tool->damped += tool->output.damped;
    tool->withheld += tool->output.withheld;
    tool->limited = tool->limited || tool->output.limited;
}

/* The desired impedance at an admittance device, which follows the model. */
static void desired_pre_step(gw_haptic_tool *tool, const gw_tick *tick)
{
    double columns[GW_MODEL_MAX_DOF][6];
    gw_operational_state state;
    if (!tool->desired.active || !tick->moving || !tool->reading.valid || tool->clutched)
        return;
    gw_operational_state_of(model_of(tool), columns, &state);
    begin_desired(tool, tick, &state);
    gw_desired_apply(&tool->desired, &tool->wrench_on_model);
}

/* ---- sense ------------------------------------------------------------------------------------
 */

/* The motion executor's wrench at the tool frame. It uses the model's pose, without a transition's
 * displacement. */
static gw_wrench motion_wrench(gw_haptic_tool *tool, double dt)
{
    const gw_guided_def *def = &tool->body.def;
    if (!tool->motion.active && !tool->motion.fresh)
        return no_wrench;
    gw_motion_input in = {.set = &def->set,
                          .mass = &def->mass,
                          .gravity = def->gravity,
                          .body_from_tool = def->body_from_held,
                          .body = tool->body.pose,
                          .contact = tool->unilaterals.wrench,
                          .touching = tool->unilaterals.touching,
                          .length = def->length,
                          .dt = dt};
    gw_model_held(&tool->body.model, &in.tool, &in.twist);
    gw_twist carried = gw_guided_base_velocity(&tool->body, in.tool.p);
    in.twist = (gw_twist){gw_sub(in.twist.v, carried.v), gw_sub(in.twist.w, carried.w)};
    return gw_motion_tick(&tool->motion, &in);
}

/* The twist in the hand: with a point grasp the device's own rotation, else the tool's. */
static gw_twist twist_in_hand(const gw_haptic_tool *tool)
{
    gw_twist twist = tool->twist;
    if (holds_point(tool))
        twist.w = tool->def->renders ? tool->reading.twist.w : tool->free_twist.w;
    return twist;
}

/* The wrench of all operators at the tool frame (world axes): the program's, scaled by the
 * workspace map, and those of drag, push and guided motion. Returns the part that acts at the
 * device; *direct: the part that acts on the model directly, as forces cannot be exerted on a real
 * device and a point grasp transmits no torque. */
static gw_wrench operator_wrench(gw_haptic_tool *tool, const gw_tick *tick, gw_wrench *direct)
{
    gw_device_slot *slot = tool->def->slot;
    gw_mass mass = gw_haptic_tool_mass(tool);
    tool->felt_mass = mass.mass;
    tool->felt_inertia = gw_inertia_lower_bound(&mass.inertia);
    gw_pose hand, object = gw_haptic_tool_object_pose(tool);
    hand = gw_device_slot_true_pose(slot, &hand) ? gw_workspace_to_task(&tool->map, &hand)
                                                 : tool->pose;
    double s = tool->map.force;
    gw_operator_input in = {hand, twist_in_hand(tool), mass.mass / s, tool->felt_inertia / s,
                            tick->dt};
    double t = (double)(tick->tick - slot->start) / tick->rate + tick->within;
    gw_wrench program = gw_operator_wrench(slot->program, t, &in);
    gw_wrench drag = gw_drag_wrench(&tool->drag, &object, mass.com, &tool->pose, &tool->twist);
    gw_wrench robot = tool->shared ? no_wrench : motion_wrench(tool, tick->dt);
    program = gw_wrench_scale(s, program);
    gw_wrench all = gw_wrench_add(gw_wrench_add(program, drag), gw_wrench_add(tool->push, robot));
    *direct = slot->driver->exert ? no_wrench : all;
    if (!holds_point(tool))
        return all;
    direct->t = gw_sub(all.t, program.t);
    all.t = program.t;
    return all;
}

/* Sets the operator's wrench from the sensed one. At an admittance device it is clamped to the
 * tool's force limits, and the virtual coupling is added if tool and device differ; at an impedance
 * device control uses the hand's wrench directly. */
static void take_wrench(gw_haptic_tool *tool, bool limits)
{
    const gw_scenario_tool *def = tool->def;
    double s = tool->map.force;
    tool->wrench = tool->direct_wrench;
    if (tool->reading.valid && gw_device_slot_info(def->slot)->measures_wrench) {
        gw_wrench hand = gw_workspace_wrench_to_task(&tool->map, &tool->reading.wrench);
        if (holds_point(tool))
            hand.t = gw_v3(0, 0, 0);
        tool->wrench = gw_wrench_add(tool->wrench, hand);
    }
    if (limits && !def->renders) {
        bool cut = gw_clamp_norm(&tool->wrench.f, s * def->limits.force);
        tool->limited =
            gw_clamp_norm(&tool->wrench.t, s * def->limits.torque) || cut || tool->limited;
    }
    tool->wrench_on_model = tool->wrench;
    if (!tool->reading.valid || tool->clutched || def->renders)
        return;
    gw_pose device = gw_workspace_to_task(&tool->map, &tool->reading.pose);
    gw_vec3 pull =
        gw_virtual_coupling_force(&tool->coupling, tool->pose.p, tool->twist.v, device.p);
    tool->wrench.f = tool->wrench_on_model.f = gw_add(tool->wrench.f, pull);
}

/* Holds the tool at its pose while the clutch is requested; at its end the map is re-centred. */
static void update_clutch(gw_haptic_tool *tool)
{
    bool wanted = tool->clutch_wanted || (tool->reading.valid && tool->reading.clutch);
    if (wanted && !tool->clutched) {
        gw_haptic_tool_stop(tool);
        tool->free_twist = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    }
    if (!wanted && tool->clutched) {
        if (tool->reading.valid)
            tool->map = gw_workspace_recentred(&tool->map, &tool->pose, &tool->reading.pose);
        gw_pid_reset(&tool->pid);
    }
    tool->clutched = wanted;
}

/* The unilateral constraints of the held object; wrench at the model's tool frame, without a
 * transition's displacement. */
static void read_unilaterals(gw_haptic_tool *tool, const gw_scene_dynamics *dynamics)
{
    gw_pose held;
    gw_twist twist;
    tool->unilaterals = (gw_unilaterals_at){.wrench = no_wrench};
    if (tool->def->object < 0)
        return;
    gw_model_held(model_of(tool), &held, &twist);
    tool->unilaterals = gw_scene_dynamics_unilaterals(dynamics, tool->def->object, held.p);
}

void gw_haptic_tool_sense(gw_haptic_tool *tool, const gw_tick *tick,
                          const gw_scene_dynamics *dynamics, int index)
{
    gw_device_slot *slot = tool->def->slot;
    assert(tick->dt > 0);
    tool->limited = tool->motion.ended = false;
    tool->coasts =
        !tick->moving && (tool->coasts || !tick->engaged || tool->clutched || tool->lost);
    gw_haptic_tool_update_pose(tool);
    read_unilaterals(tool, dynamics);
    if (is_held_paused(tool, tick)) { /* the sensors are not read, so that the sequence of their
                                         noise is that of a run */
        if (gw_device_slot_true_pose(slot, &tool->reading.pose))
            tool->reading.valid = true;
        return;
    }
    tool->direct_wrench = no_wrench;
    gw_wrench wanted = tick->moving ? operator_wrench(tool, tick, &tool->direct_wrench) : no_wrench;
    gw_wrench exerted = gw_workspace_wrench_to_device(&tool->map, &wanted);
    gw_device_slot_apply_operator(slot, &exerted);
    tool->reading = gw_device_slot_read(slot);
    tool->lost = !tool->reading.valid;
    if (tool->lost) {
        gw_haptic_tool_stop(tool);
        gw_motion_hold(&tool->motion);
    }
    update_clutch(tool);
    take_wrench(tool, tick->moving);
    if (tool->def->renders)
        control_pre_step(tool, tick, dynamics, index);
    else
        desired_pre_step(tool, tick);
}

void gw_haptic_tool_hold_together(gw_haptic_tool *tool, gw_haptic_tool *other)
{
    double between[6][6], back[6][6];
    const gw_desired_hold a = {&tool->desired, tool->wrench_on_model},
                          b = {&other->desired, other->wrench_on_model};
    if (!gw_desired_is_stiff_with(a.desired, b.desired) && !a.desired->def.has_mass &&
        !b.desired->def.has_mass)
        return;
    gw_operational_inverse_between(model_of(tool), model_of(other), between);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            back[i][j] = between[j][i];
    gw_desired_hold_together(&a, &b, (const double(*)[6])between);
    gw_desired_feel_other(&tool->desired, &b, (const double(*)[6])between);
    gw_desired_feel_other(&other->desired, &a, (const double(*)[6])back);
}

/* ---- step -------------------------------------------------------------------------------------
 */

static gw_wrench held_wrench(const void *context, double t, const gw_pose *held,
                             const gw_twist *twist)
{
    (void)t;
    const gw_haptic_tool *tool = context;
    gw_wrench w = tool->wrench_on_model;
    if (__builtin_expect(tool->desired.active, 0))
        w = gw_desired_wrench(&tool->desired, &w, held, twist);
    return w;
}

static double work_along(const gw_wrench *w, const gw_twist *displacement)
{
    return gw_dot(w->f, displacement->v) + gw_dot(w->t, displacement->w);
}

/* Takes out what the step gained from the desired mass, by an impulse at the held frame. */
static void make_desired_passive(gw_haptic_tool *tool, double shaping)
{
    double columns[GW_MODEL_MAX_DOF][6], dv[GW_MODEL_MAX_DOF], force[GW_MODEL_MAX_DOF];
    double by_impulses[6] = {0}, before, after, potential;
    gw_operational_state end = {0};
    gw_model *model = model_of(tool);
    end.dof = gw_model_dof(model);
    gw_model_held(model, &end.pose, &end.twist);
    gw_model_jacobian(model, columns, end.jdot_v);
    gw_operational_inverse_inertia(model, end.dof, (const double(*)[6])columns,
                                   end.inverse_inertia);
    if (holds_point(tool))
        gw_operational_linear_of(&end);
    if (tool->had_impulse) {
        gw_model_apply_inverse(model, tool->impulse, dv);
        for (int k = 0; k < end.dof; k++)
            for (int i = 0; i < 6; i++)
                by_impulses[i] += columns[k][i] * dv[k];
    }
    gw_wrench p = gw_desired_make_passive(&tool->desired, &end, by_impulses, shaping);
    for (int k = 0; k < end.dof; k++)
        force[k] = columns[k][0] * p.f.x + columns[k][1] * p.f.y + columns[k][2] * p.f.z +
                   columns[k][3] * p.t.x + columns[k][4] * p.t.y + columns[k][5] * p.t.z;
    gw_model_apply_inverse(model, force, dv);
    gw_model_energy(model, &before, &potential);
    gw_model_kick(model, dv);
    gw_model_energy(model, &after, &potential);
    tool->motors += after - before;
    tool->unrendered = gw_desired_unrendered(&tool->desired, after);
}

/*
 * The work of the step minus that of hand and control, W - W_applied, is done by the desired
 * impedance: a part is stored in its spring, a part dissipated by its damper, and the rest, the
 * work of inertia shaping, counts under motors. Without a desired mass there is no rest: the
 * damper's part then follows from the energy balance.
 */
static void count_desired_energy(gw_haptic_tool *tool, const gw_step *step)
{
    const gw_desired_impedance *d = &tool->desired;
    gw_pose held;
    gw_twist twist;
    if (!d->active || !step->finite)
        return;
    gw_model_held(model_of(tool), &held, &twist);
    gw_twist displacement = gw_pose_sub(&held, &d->pose);
    double applied = work_along(&tool->wrench_on_model, &displacement), done = step->work;
    double stored = gw_desired_energy(d, &held) - d->energy;
    double left = done - applied + stored;
    double damped = d->def.has_mass ? gw_desired_damping_work(d, &held, &twist) : -left;
    tool->work += applied - done;
    tool->dissipated += damped;
    tool->motors += left + damped;
    if (d->is_audited)
        make_desired_passive(tool, left + damped);
}

/* The factor that keeps a speed within its limit in the coming step as well: the growth g of this
 * step is assumed again, and the mean over the next step must not exceed the limit. */
static double speed_factor(double speed, double before, double most)
{
    double growth = fmin(fmax(speed - before, 0), GROWTH_SHARE * most);
    double target = most - 0.5 * growth;
    return most > 0 && speed > target ? target / speed : 1;
}

/* Scales the velocity so that the tool keeps within its limits of speed. */
static void limit_speed(gw_haptic_tool *tool)
{
    const gw_command_limits *limits = &tool->def->limits;
    gw_pose pose;
    gw_twist twist;
    if (!(limits->speed > 0) && !(limits->spin > 0))
        return;
    gw_model_held(model_of(tool), &pose, &twist);
    double factor = fmin(speed_factor(gw_norm(twist.v), tool->speed, limits->speed),
                         speed_factor(gw_norm(twist.w), tool->spin, limits->spin));
    if (factor >= 1)
        return;
    count_energy_loss(tool, slow_down(tool, factor));
    tool->limited = true;
}

/* A transition slows down under an opposing force of the hand: 1 full speed, 0 stopped. */
static double transition_pace(const gw_haptic_tool *tool)
{
    double pace = (PACE_FORCE_STOP - gw_norm(tool->wrench.f)) / (PACE_FORCE_STOP - PACE_FORCE);
    return fmin(fmax(pace, 0), 1);
}

void gw_haptic_tool_pre_step(gw_haptic_tool *tool, const gw_tick *tick, gw_world_system *system)
{
    assert(tool && tick);
    double kinetic, potential;
    gw_pose held;
    gw_twist twist;
    tool->constraint = no_wrench;
    tool->arrived = false;
    tool->step_failed = false;
    tool->unrendered = 0;
    system->model = model_of(tool);
    system->hand = (gw_forces){.at = held_wrench, .context = tool};
    system->still = !tick->moving || tool->clutched || !tool->reading.valid;
    if (system->still)
        return;
    gw_haptic_tool_energy(tool, &kinetic, &potential);
    tool->kinetic_before = kinetic;
    tool->start = tool->body.pose;
    gw_model_held(system->model, &held, &twist);
    tool->speed = gw_norm(twist.v);
    tool->spin = gw_norm(twist.w);
}

/* Stores the impulses of this step for control. */
static void remember_impulse(gw_haptic_tool *tool, const gw_world_system *system)
{
    tool->had_impulse = system->collided;
    if (system->collided)
        memcpy(tool->impulse, system->impulse,
               (size_t)gw_model_dof(system->model) * sizeof *tool->impulse);
}

/* Moves a body at rest with its moving set. */
static void move_with_base_at_rest(gw_haptic_tool *tool, const gw_tick *tick)
{
    if (!tick->moving || tool->shared || !tool->body.base.moves)
        return;
    double before = total_energy(tool);
    gw_guided_move_with_base(&tool->body, tick->dt);
    tool->edits += total_energy(tool) - before;
}

void gw_haptic_tool_post_step(gw_haptic_tool *tool, const gw_tick *tick,
                              const gw_world_system *system)
{
    assert(tool && tick);
    const gw_step *step = &system->step;
    remember_impulse(tool, system);
    if (system->still) {
        move_with_base_at_rest(tool, tick);
        return;
    }
    tool->constraint = step->constraint;
    tool->step_failed = !step->finite;
    if (step->finite) /* a failed step has no margin */
        tool->singular = step->margin < (tool->singular ? 2 * SINGULAR : SINGULAR);
    tool->work += step->work;
    /* after a failed step a shared model reports the energy lost, a guided body does not */
    tool->dissipated += step->dissipated;
    if (!step->finite && isfinite(tool->kinetic_before))
        tool->dissipated += tool->kinetic_before;
    count_desired_energy(tool, step);
    limit_speed(tool);
    if (tool->transition.active)
        tool->arrived = gw_transition_advance(&tool->transition, tick->dt, transition_pace(tool));
}

void gw_haptic_tool_undo_step(gw_haptic_tool *tool, double dt)
{
    assert(tool && dt > 0);
    if (tool->shared)
        return;
    double before = total_energy(tool);
    gw_guided_revert_step(&tool->body, &tool->start, dt);
    count_energy_loss(tool, before - total_energy(tool));
}

bool gw_haptic_tool_move_set(gw_haptic_tool *tool, gw_kinematics *kinematics, double dt)
{
    const gw_pose shown = gw_pose_identity();
    if (tool->shared || !(kinematics || tool->body.base.moves))
        return true;
    double before = total_energy(tool);
    gw_moving_submanifold_status moved = gw_moving_submanifold_advance(
        kinematics, tool->def->object, tool->def->branch, &tool->body, &shown, &shown, dt);
    tool->edits += total_energy(tool) - before;
    return moved != GW_SUBMANIFOLD_GONE;
}

/* ---- command ----------------------------------------------------------------------------------
 */

/* A clutched admittance device moves as a free body under the hand; with a point grasp its rotation
 * always does. */
static gw_twist free_motion(gw_haptic_tool *tool, double dt)
{
    double mass = gw_haptic_tool_mass(tool).mass;
    gw_wrench f = tool->reading.wrench;
    gw_vec3 v = gw_mul_add(tool->free_twist.v, dt / mass, f.f);
    gw_vec3 w = gw_mul_add(tool->free_twist.w, dt / FREE_INERTIA, f.t);
    tool->free_twist.v = gw_scale(1 / (1 + dt * FREE_DAMPING / mass), v);
    tool->free_twist.w = gw_scale(1 / (1 + dt * FREE_DAMPING_TURN / FREE_INERTIA), w);
    return tool->free_twist;
}

/* The state of the device in this tick, for the gate. */
static gw_gate_input gate_input(const gw_haptic_tool *tool, const gw_tick *tick, bool engaged)
{
    return (gw_gate_input){.at = tool->reading.pose.p,
                           .dt = tick->dt,
                           .guarded = tool->def->latched,
                           .engaged = engaged && tick->engaged && !tool->reading.stop};
}

/* Sends a gated command. A non-finite one stops the device and resets control. */
static void send_command(gw_haptic_tool *tool, const gw_gated_command *gated, const gw_tick *tick)
{
    tool->limited = tool->limited || (gated->limited && tick->moving);
    tool->command_failed = !gated->finite;
    gw_device_slot_write(tool->def->slot, &gated->command);
    if (gated->finite)
        return;
    const gw_impedance_def def = tool->control.def;
    gw_impedance_init(&tool->control, &def);
    gw_pid_reset(&tool->pid);
}

/* Commands the wrench of control to an impedance device. */
static void command_wrench(gw_haptic_tool *tool, const gw_command_limits *limits,
                           const gw_tick *tick)
{
    control_post_step(tool);
    if (is_held_paused(tool, tick))
        return;
    gw_wrench u = gw_workspace_wrench_to_device(&tool->map, &tool->output.command);
    gw_gate_input in = gate_input(tool, tick, tool->reading.valid);
    gw_gated_command gated = gw_gate_wrench(&tool->def->slot->gate, &u, limits, &in);
    send_command(tool, &gated, tick);
}

/* Commands the velocity that takes an admittance device to the virtual tool, which was at
 * `before`. */
static void command_velocity(gw_haptic_tool *tool, const gw_command_limits *limits,
                             const gw_pose *before, const gw_tick *tick)
{
    gw_twist u = {{0, 0, 0}, {0, 0, 0}};
    bool saturated = false;
    if (tool->reading.valid && tick->engaged && tool->clutched) {
        u = free_motion(tool, tick->dt);
    } else if (tool->reading.valid && tick->engaged) {
        /* feed-forward is the displacement from this tick's pose to the next one's */
        gw_twist displacement = gw_pose_sub(&tool->pose, before);
        displacement = gw_workspace_twist_to_device(&tool->map, &displacement);
        gw_twist forward = {gw_scale(1 / tick->dt, displacement.v),
                            gw_scale(1 / tick->dt, displacement.w)};
        gw_pose target = gw_workspace_to_device(&tool->map, before);
        gw_twist error = gw_pose_sub(&target, &tool->reading.pose);
        gw_vec3 turn = gw_v3(0, 0, 0);
        if (holds_point(tool)) {
            turn = free_motion(tool, tick->dt).w;
            forward.w = error.w = gw_v3(0, 0, 0);
        }
        gw_command_limits now = gw_gate_limits(&tool->def->slot->gate, limits, tool->def->latched);
        u = gw_pid_command(&tool->pid, &forward, &error, &now, tick->dt, &saturated);
        u.w = gw_add(u.w, turn);
    }
    tool->limited = tool->limited || (saturated && tick->moving);
    gw_gate_input in = gate_input(tool, tick, true);
    gw_gated_command gated = gw_gate_velocity(&tool->def->slot->gate, &u, limits, &in);
    send_command(tool, &gated, tick);
}

void gw_haptic_tool_actuate(gw_haptic_tool *tool, const gw_tick *tick)
{
    assert(tool && tick);
    const gw_device_info *info = gw_device_slot_info(tool->def->slot);
    gw_command_limits limits =
        gw_command_limits_of(&tool->def->limits, tool->map.scale, info, tool->def->latched);
    gw_pose before = tool->pose;
    gw_haptic_tool_update_pose(tool);
    if (tool->def->renders)
        command_wrench(tool, &limits, tick);
    else if (!is_held_paused(tool, tick))
        command_velocity(tool, &limits, &before, tick);
}
