/*
 * Free bodies: rigid bodies that move by themselves, on the set that their constraints to fixed
 * objects leave them. Built on a server thread, then on the loop's, RT safe but for create and
 * destroy.
 */
#include "rt/sim/scene_dynamics_private.h"

#include <stdlib.h>
#include <string.h>

#include "rt/sim/moved_set.h"

/* ---- building ------------------------------------------------------------------------------- */

/* An object that a tool holds is the tool's, whatever else it may be. */
static bool moves_freely(const gw_scene_dynamics_def *def, int object)
{
    for (int t = 0; t < def->tool_count; t++)
        if (def->objects[t] == object)
            return false;
    return def->scene->objects[object].free;
}

static gw_submanifold guide(const gw_scene_dynamics_def *def, gw_dynamic_free_body *b)
{
    const gw_placement *p = gw_layout_placement(def->layout, b->object);
    if (!p || p->count == 0 || p->branch < 0)
        return gw_submanifold_free();
    const gw_branch *branch = &p->solution.branches[p->branch];
    memcpy(b->branch, branch->id, sizeof b->branch);
    return branch->set;
}

/* Of the two objects that wall `index` keeps apart. */
static double restitution(const gw_scene *scene, int index)
{
    const gw_scene_constraint *c = &scene->constraints[index];
    const char *ids[2] = {c->a.object, c->b.object};
    double e = 1;
    for (int k = 0; k < 2; k++) {
        const gw_object *o = &scene->objects[gw_scene_object(scene, ids[k])];
        e = fmin(e, gw_scene_contact_material(scene, o->material).restitution);
    }
    return e;
}

static bool build_walls(const gw_scene_dynamics_def *def, gw_dynamic_free_body *b)
{
    if (gw_scene_unilateral(def->scene, b->object, 0) < 0)
        return true;
    b->walls = calloc(1, sizeof *b->walls);
    if (!b->walls)
        return false;
    b->walls->count =
        gw_unilaterals_build(def->scene, def->layout->poses, b->object, b->walls->wall);
    for (int i = 0; i < b->walls->count; i++)
        b->walls->restitution[i] =
            restitution(def->scene, gw_scene_unilateral(def->scene, b->object, i));
    return true;
}

static bool build_body(const gw_scene_dynamics_def *def, int object, gw_dynamic_free_body *b)
{
    const gw_object *from = &def->scene->objects[object];
    memcpy(b->id, from->id, sizeof b->id);
    b->object = object;
    b->def = (gw_guided_def){.set = guide(def, b),
                             .mass = gw_object_mass(from),
                             .gravity = def->scene->gravity,
                             .damping_linear = from->body.damping_linear,
                             .damping_angular = from->body.damping_angular,
                             .body_from_held = gw_pose_identity(),
                             .length = gw_object_length(from)};
    b->pose = def->layout->poses[object];
    b->twist = (gw_twist){from->velocity, from->spin};
    b->placed = def->placed && def->placed[object];
    return build_walls(def, b);
}

static bool make_stops(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->free_count && !m->stops; i++)
        if (m->bodies[i].walls && !(m->stops = gw_bound_impacts_create()))
            return false;
    return true;
}

bool gw_free_bodies_create(gw_scene_dynamics *m, const gw_scene_dynamics_def *def)
{
    int count = 0;
    for (int i = 0; i < def->scene->object_count; i++)
        count += moves_freely(def, i);
    m->bodies = calloc((size_t)count + 1, sizeof *m->bodies);
    if (!m->bodies)
        return false;
    for (int i = 0; i < def->scene->object_count && m->free_count < GW_MAX_FREE; i++)
        if (moves_freely(def, i) && !build_body(def, i, &m->bodies[m->free_count++]))
            return false;
    return make_stops(m);
}

void gw_free_bodies_destroy(gw_scene_dynamics *m)
{
    free(m->stops);
    for (int i = 0; i < m->free_count; i++)
        free(m->bodies[i].walls);
    free(m->bodies);
}

/* ---- where they are -------------------------------------------------------------------------- */

static gw_world_system *mover_of(gw_scene_dynamics *m, int index)
{
    return &m->mover[m->first_free + index];
}

void gw_free_bodies_reset(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        gw_guided_init(&b->body, &b->def, &b->pose);
        gw_guided_set_twist(&b->body, &b->twist);
        b->hand = (gw_free_body_hand){0};
        b->travel = (gw_transition){0};
        b->settled = false;
        mover_of(m, i)->step = (gw_step){.finite = true, .margin = 1};
        if (!b->walls)
            continue;
        gw_unilaterals_switch(&b->walls->state, b->walls->wall, b->walls->count, NULL, 0);
        b->walls->met = 0;
    }
}

double gw_free_body_energy(const gw_dynamic_free_body *b)
{
    double kinetic, potential;
    gw_model_energy(&b->body.model, &kinetic, &potential);
    return kinetic + potential;
}

double gw_free_body_spring_energy(const gw_dynamic_free_body *b)
{
    return b->walls ? gw_unilaterals_energy(&b->walls->state, &b->body.pose) : 0;
}

/* ---- onto other sets ------------------------------------------------------------------------- */

/* By how much the set is still displaced; `rate`: its twist (of the world's point at the origin).
 */
static gw_pose displaced(const gw_dynamic_free_body *b, gw_twist *rate)
{
    gw_pose shown = b->landing, back = gw_pose_inverse(&b->landing);
    *rate = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    if (!b->travel.active)
        return gw_pose_identity();
    gw_transition_apply(&b->travel, &shown, rate);
    rate->v = gw_sub(rate->v, gw_cross(rate->w, shown.p));
    return gw_pose_mul(&shown, &back);
}

/*
 * A new set takes hold of the body where it is: displaced, and moving so that it leaves the body
 * the motion that it has. What of this the set, which may move with its geometry (`base`), does not
 * allow fades as the displacement does (rt/haptics/transition.h).
 */
static void travel_from(gw_dynamic_free_body *b, const gw_guided *was, const gw_twist *base,
                        const gw_transition_limits *limits)
{
    gw_pose back = gw_pose_inverse(&b->body.pose), at = gw_pose_mul(&was->pose, &back);
    gw_twist rate;
    gw_base_motion ride = gw_base_motion_from_twist(&at, base);
    b->landing = b->body.pose;
    b->body.pose = was->pose;
    b->body.twist = was->twist;
    gw_guided_set_base_motion(&b->body, &ride); /* what the displaced set leaves of its motion */
    gw_twist allowed = {b->body.twist.v, gw_unrotate(at.q, b->body.twist.w)};
    gw_transition_start(&b->travel, &was->pose, &was->twist, &b->landing, &allowed, limits);
    at = displaced(b, &rate);
    rate = (gw_twist){gw_add(rate.v, base->v), gw_add(rate.w, base->w)};
    ride = gw_base_motion_from_twist(&at, &rate);
    ride.moves = b->travel.active || gw_norm2(base->v) + gw_norm2(base->w) > 0;
    b->body.twist = was->twist;
    gw_guided_set_base_motion(&b->body, &ride);
}

static void carry_body(gw_dynamic_free_body *b, const gw_dynamic_free_body *was,
                       gw_kinematics *network, const gw_transition_limits *limits)
{
    gw_guided_def def = b->def;
    gw_pose to = was->body.pose;
    if (b->branch[0]) {
        gw_moved_set_at_switch(network, b->object, b->branch, &def, &to);
        gw_submanifold_nearest(&def.set, &was->body.pose, def.length, &to);
    }
    gw_guided_init(&b->body, &def, &to);
    gw_twist base = gw_moved_set_twist(network, &was->body);
    if (b->branch[0])
        travel_from(b, &was->body, &base, limits);
    else
        gw_guided_set_twist(&b->body, &was->body.twist);
    b->hand = was->hand;
    if (!b->walls)
        return;
    b->walls->state = was->walls ? was->walls->state : (gw_unilaterals){0};
    gw_unilaterals_switch(&b->walls->state, b->walls->wall, b->walls->count, network, 0);
}

void gw_free_bodies_carry_over(gw_scene_dynamics *m, const gw_scene_dynamics *old,
                               gw_kinematics *network, const gw_transition_limits *limits)
{
    for (int i = 0; i < m->free_count; i++)
        for (int k = 0; k < old->free_count && !m->bodies[i].placed; k++)
            if (strcmp(old->bodies[k].id, m->bodies[i].id) == 0)
                carry_body(&m->bodies[i], &old->bodies[k], network, limits);
}

/* The set goes on its way by a tick; walls yield to that, as to an edit. */
static void go_on(gw_dynamic_free_body *b, double dt, gw_pose *before, gw_pose *after)
{
    gw_twist rate;
    bool travels = b->travel.active;
    *before = displaced(b, &rate);
    b->settled = travels && gw_transition_advance(&b->travel, dt, 1);
    *after = displaced(b, &rate);
    if (!travels || !b->walls)
        return;
    gw_pose back = gw_pose_inverse(before), own = gw_pose_mul(&back, &b->body.pose);
    gw_pose to = gw_pose_mul(after, &own);
    gw_unilaterals_yield(&b->walls->state, &b->body.pose, &to);
}

/* False where its branch is gone. */
static bool move_set(gw_dynamic_free_body *b, gw_kinematics *network, double dt)
{
    gw_pose before, after;
    if (!b->branch[0] || !(network || b->body.ride.moves))
        return true;
    go_on(b, dt, &before, &after);
    return gw_moved_set_advance(network, b->object, b->branch, &b->body, &before, &after, dt) !=
           GW_MOVED_SET_GONE;
}

int gw_scene_dynamics_move_sets(gw_scene_dynamics *m, gw_kinematics *network, double dt)
{
    int left = -1;
    gw_mechanisms_move_bases(m, dt);
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        b->settled = false;
        if (!network && !b->body.ride.moves && !(b->walls && b->walls->state.moving))
            continue;
        double energy = gw_free_body_energy(b) + gw_free_body_spring_energy(b);
        if (!move_set(b, network, dt))
            left = b->object;
        if (b->walls)
            gw_unilaterals_move(&b->walls->state, network, &b->body.pose, dt);
        m->edits += gw_free_body_energy(b) + gw_free_body_spring_energy(b) - energy;
    }
    return left;
}

int gw_scene_dynamics_settled(const gw_scene_dynamics *m, int *at)
{
    while (*at < m->free_count) {
        const gw_dynamic_free_body *b = &m->bodies[(*at)++];
        if (b->settled)
            return b->object;
    }
    return -1;
}

/* ---- what they tell -------------------------------------------------------------------------- */

void gw_free_bodies_publish(const gw_scene_dynamics *m, gw_snapshot *s)
{
    s->free_count = m->free_count;
    for (int i = 0; i < m->free_count; i++) {
        const gw_dynamic_free_body *b = &m->bodies[i];
        s->free[i] = (gw_free_body){.object = b->object,
                                    .pose = b->body.pose,
                                    .twist = b->body.twist,
                                    .constraint = m->mover[m->first_free + i].step.constraint,
                                    .operator= b->hand.acting,
                                    .dragging = b->hand.drag.active,
                                    .travelling = b->travel.active,
                                    .walls = b->walls ? b->walls->state.touching : 0};
    }
}
