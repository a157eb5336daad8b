/*
 * Continuation of systems of bodies after an edit, from their present state, with offsets of joints
 * and rows removed in a transition; and motion of their grounds. On the loop's thread, RT safe.
 *
 * A joint that begins at another position carries its descendants along; in a loop all bodies begin
 * as laid out. A transition moves at most at 0.25 m/s and 1 rad/s; if it does not end with all
 * constraints satisfied, or a step fails, the system begins as laid out. A contact without a closed
 * form that the edit keeps stays on its branch: the loop continues from its present contact point,
 * but uses a contact point as found that the layout had to search for. Unilateral contacts keep all
 * their contact points.
 */
#include <assert.h>

#include "rt/sim/scene_dynamics_private.h"

#define REACHED    1e-9  /* of the length: closures are satisfied at the given poses */
#define SAME_PLACE 1e-13 /* m, and relative to the distance: rounding of poses */

/* ---- grounds and offsets -------------------------------------------------------------------- */

static double energy_of(const gw_dynamic_system *d)
{
    double kinetic, potential;
    gw_model_energy(gw_system_model(d->system), &kinetic, &potential);
    return kinetic + potential;
}

/* The displayed pose of a mechanism's base, during a transition. */
static gw_pose base_of(const gw_dynamic_ground *g, gw_twist *rate)
{
    gw_pose base = g->start;
    *rate = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    gw_transition_apply(&g->transition, &base, rate);
    return base;
}

/* Displayed pose and twist of a mechanism's base, by the hash of its id; false: no system has
 * it. */
static bool find_base(const gw_scene_dynamics *m, uint64_t name, gw_pose *pose, gw_twist *twist)
{
    for (int i = 0; i < m->system_count; i++)
        for (int k = 0; k < m->systems[i].ground_count; k++) {
            const gw_dynamic_ground *g = &m->systems[i].grounds[k];
            if (g->object >= 0 || g->name != name)
                continue;
            *pose = base_of(g, twist);
            return true;
        }
    return false;
}

/* The displacement of a ground from its laid-out pose. */
static gw_pose ground_displacement(const gw_dynamic_ground *g, const gw_pose *now)
{
    gw_pose back = gw_pose_inverse(&g->start);
    return gw_pose_mul(now, &back);
}

/* The constant twist that moves `from` to `to` in dt; zero if they are equal within rounding. */
static gw_twist twist_between(const gw_pose *from, const gw_pose *to, double dt)
{
    gw_twist distance = gw_pose_sub(to, from);
    if (gw_norm(distance.v) + gw_norm(distance.w) < SAME_PLACE * (1 + gw_norm(from->p)))
        return (gw_twist){{0, 0, 0}, {0, 0, 0}};
    gw_twist about = gw_base_motion_between(from, to, dt).twist;
    return (gw_twist){gw_add(about.v, gw_cross(about.w, from->p)), about.w};
}

/* The remaining share of the offsets after an edit. */
static double share_of(const gw_dynamic_system *d)
{
    gw_pose largest = gw_pose_identity();
    gw_twist rate = {{0, 0, 0}, {0, 0, 0}};
    gw_transition_apply(&d->joining, &largest, &rate);
    double left = gw_norm(largest.p);
    return (left > 0 ? left : gw_norm(gw_quat_log(largest.q))) / d->apart;
}

/* Resets the system to the layout's poses, at rest, with grounds at their present poses. */
static void begin_at_layout(gw_dynamic_system *d)
{
    for (int k = 0; k < d->ground_count; k++) {
        d->poses[k] = gw_system_ground(d->system, GW_MOVING_GROUND(k)).pose;
        d->twists[k] = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    }
    gw_system_reset(d->system);
    gw_system_move_grounds(d->system, d->poses, d->twists);
}

bool gw_dynamic_system_in_transition(const gw_dynamic_system *d)
{
    return d->joining.active || d->joined;
}

bool gw_scene_dynamics_in_transition(const gw_scene_dynamics *m, int tool)
{
    assert(tool >= 0 && tool < m->tool_count);
    int system = m->tool_world_system[tool] - m->first_system;
    return system >= 0 && gw_dynamic_system_in_transition(&m->systems[system]);
}

/* Reduces the offsets of an edit by a transition; if its end cannot be reached, or the last step
 * failed, the system is reset to the layout. Returns the change of energy between two steps (J). */
static double fade_offsets(gw_dynamic_system *d, const gw_step *last, double dt)
{
    double brought = 0, before = energy_of(d);
    d->joining.active = d->joining.active && last->finite;
    if (d->joined || !last->finite) {
        gw_system_move_offsets(d->system, 0, 0);
        if (!(gw_system_residual(d->system) <= REACHED))
            begin_at_layout(d);
        brought = energy_of(d) - before;
    }
    d->joined = false;
    if (!d->joining.active)
        return brought;
    double now = share_of(d);
    gw_transition_advance(&d->joining, dt, 1);
    double next = d->joining.active ? share_of(d) : 0;
    d->joined = !d->joining.active;
    return brought + gw_system_move_offsets(d->system, now, (next - now) / dt);
}

void gw_body_systems_move_grounds(gw_scene_dynamics *m, const gw_kinematics *kinematics, double dt)
{
    for (int i = 0; i < m->system_count; i++) {
        gw_dynamic_system *d = &m->systems[i];
        if (d->joined || d->joining.active)
            m->edits += fade_offsets(d, &m->world_systems[m->first_system + i].step, dt);
        bool moved_before = d->grounds_move, moves = kinematics || moved_before;
        for (int k = 0; k < d->ground_count; k++)
            moves = moves || d->grounds[k].transition.active;
        d->grounds_move = false;
        for (int k = 0; k < d->ground_count && moves; k++) {
            gw_dynamic_ground *g = &d->grounds[k];
            gw_pose to = d->poses[k] = gw_system_ground(d->system, GW_MOVING_GROUND(k)).pose, now;
            gw_twist rate;
            if (g->object >= 0 && kinematics) {
                now = gw_kinematics_pose(kinematics, g->object);
                to = ground_displacement(g, &now);
            } else if (g->transition.active) {
                gw_transition_advance(&g->transition, dt, 1);
                now = base_of(g, &rate);
                to = ground_displacement(g, &now);
            }
            d->twists[k] = twist_between(&d->poses[k], &to, dt);
            d->grounds_move =
                d->grounds_move || gw_norm2(d->twists[k].v) + gw_norm2(d->twists[k].w) > 0;
        }
        bool local = m->locals && gw_local_models_has(m->locals, i);
        if (!moves || d->ground_count == 0 || (local && !moved_before && !d->grounds_move))
            continue;
        if (local)
            m->edits += gw_system_set_local_model(d->system, NULL);
        m->edits += gw_system_move_grounds(d->system, d->poses, d->twists);
        if (local)
            m->edits += gw_local_models_start(m->locals, i, d->system, &d->resisted);
    }
}

/* The former twist of a fixed object as a ground, for a point that is now at `at`. */
static gw_twist motion_before(const gw_scene_dynamics *old, uint64_t name, gw_vec3 at)
{
    for (int i = 0; i < old->system_count; i++)
        for (int k = 0; k < old->systems[i].ground_count; k++) {
            const gw_dynamic_ground *g = &old->systems[i].grounds[k];
            if (g->object < 0 || g->name != name)
                continue;
            gw_ground_motion was = gw_system_ground(old->systems[i].system, GW_MOVING_GROUND(k));
            gw_vec3 r = gw_sub(at, was.pose.p);
            return (gw_twist){gw_add(was.twist.v, gw_cross(was.twist.w, r)), was.twist.w};
        }
    return (gw_twist){{0, 0, 0}, {0, 0, 0}};
}

void gw_dynamic_system_rename(gw_dynamic_system *d, const gw_new_names *names)
{
    for (int i = 0; i < d->body_count; i++)
        if (gw_name_table_give(&names->bodies, &d->names[i], 1))
            d->hands[i] = (gw_free_body_hand){0};
    for (int i = 0; i < gw_model_bodies(gw_system_model(d->system)); i++)
        gw_name_table_give(&names->joints, &d->mobilizers[i].name, 1);
    for (int i = 0; i < d->ground_count; i++)
        gw_name_table_give(&names->bodies, &d->grounds[i].name, 1);
}

/* Sets the grounds to the displayed poses of geometry and bases with their former twists, so that
 * bodies on them keep their motion. */
static void carry_grounds(gw_dynamic_system *d, const gw_scene_dynamics *old,
                          const gw_kinematics *kinematics, const gw_transition_limits *limits)
{
    const gw_twist still = {{0, 0, 0}, {0, 0, 0}};
    for (int k = 0; k < d->ground_count; k++) {
        gw_dynamic_ground *g = &d->grounds[k];
        gw_pose now = g->start;
        gw_twist rate = still;
        if (g->object >= 0)
            now = gw_kinematics_pose(kinematics, g->object);
        else if (find_base(old, g->name, &now, &rate))
            gw_transition_start(&g->transition, &now, &rate, &g->start, &still, limits);
        d->poses[k] = ground_displacement(g, &now);
        gw_twist distance = gw_pose_sub(&now, &g->start);
        if (gw_norm(distance.v) + gw_norm(distance.w) < SAME_PLACE * (1 + gw_norm(now.p)))
            d->poses[k] = gw_pose_identity();
        d->twists[k] = g->object >= 0 ? motion_before(old, g->name, d->poses[k].p) : still;
    }
    gw_system_move_grounds(d->system, d->poses, d->twists);
    d->grounds_move = true; /* checked in the next tick */
}

/* Finds the mobilizers of `old` whose state those of a system take over; true if there are any. */
static bool find_joints(gw_dynamic_system *d, const gw_dynamic_system *old)
{
    int count = gw_model_bodies(gw_system_model(d->system));
    int others = gw_model_bodies(gw_system_model(old->system));
    bool any = false;
    for (int k = 0; k < count; k++) {
        const gw_dynamic_mobilizer *m = &d->mobilizers[k];
        int n = m->name && m->begin != GW_BEGIN_JOINT ? 0 : others;
        while (n < others && old->mobilizers[n].name != m->name)
            n++;
        d->before[k] = (gw_joint_before){n < others ? n : -1, m->begin == GW_BEGIN_RATE};
        any = any || n < others;
    }
    return any;
}

/* Joints of the same name take over position, velocity and number of turns. */
static void continue_joints(gw_dynamic_system *d, const gw_scene_dynamics *old)
{
    for (int i = 0; i < old->system_count; i++)
        if (find_joints(d, &old->systems[i]))
            gw_system_continue_joints(d->system, old->systems[i].system, d->before);
}

/* Contacts that the layout continued take over their present contact points. */
static void continue_contacts(gw_dynamic_system *d, const gw_scene_dynamics *old)
{
    for (int i = 0; i < old->system_count; i++) {
        const gw_dynamic_system *was = &old->systems[i];
        for (int k = 0; k < was->contact_count; k++)
            for (int j = 0; j < d->contact_count; j++) {
                const gw_placed_contact *to = &d->contacts[j], *from = &was->contacts[k];
                const gw_contact_point *point =
                    to->continues && to->key == from->key
                        ? gw_system_contact_point(was->system, from->closure)
                        : NULL;
                if (point)
                    gw_system_continue_contact(d->system, to->closure, point);
            }
    }
}

/* Drags and pushes continue at the same bodies. False if the first body was in no system. */
static bool keep_hands(gw_dynamic_system *d, const gw_scene_dynamics *old)
{
    gw_pose unused;
    gw_twist unused_too;
    for (int k = 0; k < d->body_count; k++)
        if (!gw_scene_dynamics_find_body(old, d->names[k], &unused, &unused_too, &d->hands[k]) &&
            k == 0)
            return false;
    return true;
}

/* Initial poses and twists of the bodies. In a loop a single joint cannot begin at another
 * position: all its bodies begin as laid out. */
static void find_bodies(gw_dynamic_system *d, const gw_scene_dynamics *old)
{
    const gw_model *model = gw_system_model(d->system);
    for (int k = 0; k < gw_model_bodies(model); k++)
        gw_model_body(model, k, &d->poses[k], &d->twists[k]);
    continue_joints(d, old);
    for (int k = 0; k < d->body_count; k++) {
        gw_dynamic_mobilizer *m = &d->mobilizers[k];
        bool begins = m->begin == GW_BEGIN_JOINT || m->begin == GW_BEGIN_RATE;
        bool hangs = m->parent >= 0 && d->mobilizers[m->parent].carried;
        gw_twist laid_out = d->twists[k];
        m->carried = !d->has_closures && m->begin != GW_BEGIN_POSE && (begins || hangs);
        if (m->carried)
            gw_model_body(model, k, &d->poses[k], &d->twists[k]);
        else if (m->begin == GW_BEGIN_GO_ON || m->begin == GW_BEGIN_TWIST)
            gw_scene_dynamics_find_body(old, d->names[k], &d->poses[k], &d->twists[k],
                                        &d->hands[k]);
        if (m->begin == GW_BEGIN_TWIST)
            d->twists[k] = laid_out;
    }
}

/* Bodies of the same name keep their state, unless an edit moves them; offsets under the new
 * constraints are removed in a transition. A mechanism of its own is taken over joint by joint;
 * additional joints begin as laid out. */
static void carry_system(gw_dynamic_system *d, const gw_scene_dynamics *old,
                         const gw_kinematics *kinematics, const gw_transition_limits *limits)
{
    double distance, turn;
    carry_grounds(d, old, kinematics, limits);
    if (d->mechanism && keep_hands(d, old)) {
        continue_joints(d, old);
        return;
    }
    find_bodies(d, old);
    continue_contacts(d, old);
    gw_system_place_with_offsets(d->system, d->poses, d->twists, &distance, &turn);
    const gw_pose to = gw_pose_identity(),
                  from = {{distance, 0, 0}, gw_quat_exp(gw_v3(turn, 0, 0))};
    const gw_twist still = {{0, 0, 0}, {0, 0, 0}};
    d->apart = distance > 0 ? distance : turn;
    gw_transition_start(&d->joining, &from, &still, &to, &still, limits);
    if (d->joining.active)
        return;
    if (gw_system_place(d->system, d->poses, d->twists) <= REACHED)
        gw_system_project_twists(d->system, d->twists);
    else
        begin_at_layout(d);
}

void gw_body_systems_carry_over(gw_scene_dynamics *m, const gw_scene_dynamics *old,
                                const gw_kinematics *kinematics, const gw_transition_limits *limits)
{
    for (int i = 0; i < m->system_count; i++) {
        carry_system(&m->systems[i], old, kinematics, limits);
        gw_body_systems_start_local(m, i);
    }
}
