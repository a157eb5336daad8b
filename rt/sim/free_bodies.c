/*
 * Free bodies: rigid bodies that move on the set of their constraints to fixed objects. Creation,
 * transfer to another scenario, motion with their set, and publication; their step is in
 * scene_dynamics.c. On the loop's thread, RT safe, except for create and destroy.
 *
 * Where the constraints refer to several objects with different motions, the motion of the set is
 * that to the nearest new pose, which is of first order in the tick.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rt/sim/moving_submanifold.h"
#include "rt/sim/scene_dynamics_private.h"

static double energy_of(const gw_dynamic_free_body *b)
{
    double kinetic, potential;
    gw_model_energy(&b->body.model, &kinetic, &potential);
    return kinetic + potential;
}

/* ---- building ------------------------------------------------------------------------------- */

/* True for a free object that no tool holds and no system contains. */
static bool moves_freely(const gw_scene_dynamics_def *def, int object)
{
    for (int t = 0; t < def->tool_count; t++)
        if (def->objects[t] == object)
            return false;
    return def->scene->objects[object].free && def->layout->system_of[object] < 0;
}

static gw_submanifold guiding_set(const gw_scene_dynamics_def *def, gw_dynamic_free_body *b)
{
    const gw_placement *p = gw_layout_placement(def->layout, b->object);
    if (!p || p->count == 0 || p->branch < 0)
        return gw_submanifold_free();
    const gw_branch *branch = &p->solution.branches[p->branch];
    memcpy(b->branch, branch->id, sizeof b->branch);
    return branch->set;
}

static void build_body(const gw_scene_dynamics_def *def, int object, gw_dynamic_free_body *b)
{
    const gw_object *from = &def->scene->objects[object];
    memcpy(b->id, from->id, sizeof b->id);
    b->name = gw_name_hash(b->id, 0);
    b->object = object;
    b->def = (gw_guided_def){.set = guiding_set(def, b),
                             .mass = gw_object_mass(from),
                             .gravity = def->scene->gravity,
                             .damping_linear = from->body.damping_linear,
                             .damping_angular = from->body.damping_angular,
                             .body_from_held = gw_pose_identity(),
                             .length = gw_object_length(from)};
    b->pose = def->layout->poses[object];
    b->twist = (gw_twist){from->velocity, from->spin};
    b->begin = def->begins ? def->begins[object] : GW_BEGIN_GO_ON;
}

bool gw_free_bodies_create(gw_scene_dynamics *m, const gw_scene_dynamics_def *def, gw_error *error)
{
    int count = 0;
    for (int i = 0; i < def->scene->object_count; i++)
        count += moves_freely(def, i);
    if (count > GW_MAX_FREE)
        return gw_fail(error, GW_TOO_LARGE, "/objects",
                       "a scene has at most %d free objects that are not joined to others; this "
                       "one has %d",
                       GW_MAX_FREE, count);
    m->bodies = calloc((size_t)count + 1, sizeof *m->bodies);
    if (!m->bodies)
        return gw_fail(error, GW_FAILED, "", "no memory for free objects");
    for (int i = 0; i < def->scene->object_count; i++)
        if (moves_freely(def, i))
            build_body(def, i, &m->bodies[m->free_count++]);
    return true;
}

void gw_free_bodies_destroy(gw_scene_dynamics *m)
{
    free(m->bodies);
}

/* ---- where they are -------------------------------------------------------------------------- */

static gw_world_system *world_system_of(gw_scene_dynamics *m, int index)
{
    return &m->world_systems[m->first_free + index];
}

void gw_free_bodies_reset(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        gw_guided_init(&b->body, &b->def, &b->pose);
        gw_guided_set_twist(&b->body, &b->twist);
        b->hand = (gw_free_body_hand){0};
        b->transition = (gw_transition){0};
        b->arrived = false;
        world_system_of(m, i)->step = (gw_step){.finite = true, .margin = 1};
    }
}

int gw_free_bodies_projected_body(const gw_scene_dynamics *m)
{
    for (int i = 0; i < m->free_count; i++) {
        gw_guided body;
        gw_guided_init(&body, &m->bodies[i].def, &m->bodies[i].pose);
        gw_guided_set_twist(&body, &m->bodies[i].twist);
        if (gw_projected_share(&m->bodies[i].twist, &body.twist, 0) > GW_PROJECTED_SHARE)
            return m->bodies[i].object;
    }
    return -1;
}

/* ---- onto other sets ------------------------------------------------------------------------- */

/* The remaining displacement of the set; `rate`: its twist (of the point at the world's origin). */
static gw_pose remaining_displacement(const gw_dynamic_free_body *b, gw_twist *rate)
{
    gw_pose shown = b->landing, back = gw_pose_inverse(&b->landing);
    *rate = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    if (!b->transition.active)
        return gw_pose_identity();
    gw_transition_apply(&b->transition, &shown, rate);
    rate->v = gw_sub(rate->v, gw_cross(rate->w, shown.p));
    return gw_pose_mul(&shown, &back);
}

/*
 * Begins a transition to a new set: the set is displaced to the body's pose, and moves so that the
 * body keeps its twist. The part of the twist that the set, which may move with its geometry
 * (`base`), does not allow decays with the displacement (rt/haptics/transition.h).
 */
static void begin_transition(gw_dynamic_free_body *b, const gw_guided *was, const gw_twist *base,
                             const gw_transition_limits *limits)
{
    gw_pose back = gw_pose_inverse(&b->body.pose), at = gw_pose_mul(&was->pose, &back);
    gw_twist rate;
    gw_base_motion base_motion = gw_base_motion_from_twist(&at, base);
    b->landing = b->body.pose;
    b->body.pose = was->pose;
    b->body.twist = was->twist;
    gw_guided_set_base_motion(&b->body, &base_motion); /* the twist that the displaced set allows */
    gw_twist allowed = {b->body.twist.v, gw_unrotate(at.q, b->body.twist.w)};
    gw_transition_start(&b->transition, &was->pose, &was->twist, &b->landing, &allowed, limits);
    at = remaining_displacement(b, &rate);
    rate = (gw_twist){gw_add(rate.v, base->v), gw_add(rate.w, base->w)};
    base_motion = gw_base_motion_from_twist(&at, &rate);
    base_motion.moves = b->transition.active || gw_norm2(base->v) + gw_norm2(base->w) > 0;
    b->body.twist = was->twist;
    gw_guided_set_base_motion(&b->body, &base_motion);
}

static void carry_body(gw_dynamic_free_body *b, const gw_dynamic_free_body *was,
                       gw_kinematics *kinematics, const gw_transition_limits *limits)
{
    gw_guided_def def = b->def;
    gw_pose to = was->body.pose;
    if (!gw_finite_pose(&to)) /* its last step failed: the scene's pose */
        return;
    if (b->branch[0]) {
        gw_moving_submanifold_at_switch(kinematics, b->object, b->branch, &def, &to);
        to = gw_moving_submanifold_nearest(&def, &was->body.pose, &b->pose);
    }
    gw_guided_init(&b->body, &def, &to);
    gw_twist base = gw_moving_submanifold_twist(kinematics, &was->body);
    if (b->branch[0])
        begin_transition(b, &was->body, &base, limits);
    else
        gw_guided_set_twist(&b->body, &was->body.twist);
    b->hand = was->hand;
}

/* Places a body that was part of a system or held by a tool: on its set, nearest to its former
 * pose. */
static void release_body(const gw_scene_dynamics *old, gw_dynamic_free_body *b)
{
    gw_pose was, to;
    gw_twist twist;
    if (!gw_scene_dynamics_find_body(old, b->name, &was, &twist, &b->hand))
        return;
    to = gw_moving_submanifold_nearest(&b->def, &was, &b->pose);
    gw_guided_init(&b->body, &b->def, &to);
    gw_guided_set_twist(&b->body, &twist);
}

void gw_free_bodies_carry_over(gw_scene_dynamics *m, const gw_scene_dynamics *old,
                               gw_kinematics *kinematics, const gw_transition_limits *limits)
{
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        const gw_dynamic_free_body *was = NULL;
        for (int k = 0; k < old->free_count; k++)
            if (old->bodies[k].name == b->name)
                was = &old->bodies[k];
        if (b->begin == GW_BEGIN_POSE)
            continue;
        if (was)
            carry_body(b, was, kinematics, limits);
        else
            release_body(old, b);
        if (b->begin == GW_BEGIN_TWIST)
            gw_guided_set_twist(&b->body, &b->twist);
    }
}

/* Advances the set's transition by a tick. */
static void advance_set(gw_dynamic_free_body *b, double dt, gw_pose *before, gw_pose *after)
{
    gw_twist rate;
    bool travels = b->transition.active;
    *before = remaining_displacement(b, &rate);
    b->arrived = travels && gw_transition_advance(&b->transition, dt, 1);
    *after = remaining_displacement(b, &rate);
}

/* Moves the set with its geometry. False if its branch no longer exists. */
static bool move_set(gw_dynamic_free_body *b, gw_kinematics *kinematics, double dt)
{
    gw_pose before, after;
    if (!b->branch[0] || !(kinematics || b->body.base.moves))
        return true;
    advance_set(b, dt, &before, &after);
    return gw_moving_submanifold_advance(kinematics, b->object, b->branch, &b->body, &before,
                                         &after, dt) != GW_SUBMANIFOLD_GONE;
}

int gw_scene_dynamics_move_sets(gw_scene_dynamics *m, gw_kinematics *kinematics, double dt)
{
    int left = -1;
    gw_body_systems_move_grounds(m, kinematics, dt);
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        b->arrived = false;
        if (!kinematics && !b->body.base.moves)
            continue;
        double energy = energy_of(b);
        if (!move_set(b, kinematics, dt))
            left = b->object;
        m->edits += energy_of(b) - energy;
    }
    return left;
}

int gw_scene_dynamics_settled(const gw_scene_dynamics *m, int *at)
{
    while (*at < m->free_count) {
        const gw_dynamic_free_body *b = &m->bodies[(*at)++];
        if (b->arrived)
            return b->object;
    }
    while (*at < m->free_count + m->system_count) {
        const gw_dynamic_system *d = &m->systems[(*at)++ - m->free_count];
        if (d->joined)
            return d->numbers[d->held];
    }
    return -1;
}

/* ---- what they tell -------------------------------------------------------------------------- */

void gw_free_bodies_publish(const gw_scene_dynamics *m, gw_snapshot *s)
{
    s->free_count = m->free_count;
    for (int i = 0; i < m->free_count; i++) {
        const gw_dynamic_free_body *b = &m->bodies[i];
        gw_unilaterals_at at = gw_scene_unilaterals_at(m->unilaterals, b->object, b->body.pose.p);
        s->free[i] =
            (gw_free_body){.object = b->object,
                           .pose = b->body.pose,
                           .twist = b->body.twist,
                           .constraint = m->world_systems[m->first_free + i].step.constraint,
                           .operator= b->hand.acting,
                           .dragging = b->hand.drag.active,
                           .travelling = b->transition.active,
                           .walls = at.touching};
    }
}

void gw_free_bodies_publish_step(const gw_scene_dynamics *m, gw_snapshot *s)
{
    for (int i = 0; i < m->free_count; i++)
        s->free[i].constraint = m->world_systems[m->first_free + i].step.constraint;
}
