/*
 * What acts on free bodies in a step: hands that drag or push them, and their walls; what came of
 * it in the books. On the loop's thread, RT safe.
 */
#include "rt/sim/scene_dynamics_private.h"

#include <string.h>

/* A hand carries a heavy object as easily as a light one: per kg beyond the first, and beyond its
 * weight twice. */
#define HAND_STIFFNESS 500.0 /* N/m */
#define HAND_FORCE_MAX 30.0  /* N */
#define HAND_WEIGHTS   2.0

/* ---- hands ----------------------------------------------------------------------------------- */

/* The drag's own defaults are those of a hand at a device. */
static void start_drag(gw_dynamic_free_body *b, const gw_command *command, double dt)
{
    gw_command bounded = *command;
    double mass = b->def.mass.mass;
    if (!(bounded.drag.stiffness > 0))
        bounded.drag.stiffness = HAND_STIFFNESS * fmax(mass, 1);
    if (!(bounded.drag.force_max > 0))
        bounded.drag.force_max = HAND_FORCE_MAX + HAND_WEIGHTS * mass * gw_norm(b->def.gravity);
    gw_drag_start(&b->hand.drag, &bounded, &b->def.mass, dt);
}

void gw_scene_dynamics_hand(gw_scene_dynamics *m, const gw_command *command, double dt)
{
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        if (strcmp(b->id, command->object) != 0)
            continue;
        if (command->kind == GW_COMMAND_DRAG)
            start_drag(b, command, dt);
        else if (command->kind == GW_COMMAND_RELEASE)
            b->hand.drag.active = false;
        else
            b->hand.push = command->push;
        return;
    }
}

/* Held over the step, as at a device. */
static bool take_hand(gw_dynamic_free_body *b)
{
    const gw_guided *body = &b->body;
    gw_wrench drag =
        gw_drag_wrench(&b->hand.drag, &body->pose, b->def.mass.com, &body->pose, &body->twist);
    b->hand.acting = gw_wrench_add(drag, b->hand.push);
    b->hand.start = body->pose;
    return gw_norm2(b->hand.acting.f) + gw_norm2(b->hand.acting.t) > 0;
}

/* W = f . dp + tau . dtheta of a wrench that is constant during the step. */
static double hand_work(const gw_dynamic_free_body *b)
{
    gw_twist way = gw_pose_sub(&b->body.pose, &b->hand.start);
    return gw_dot(b->hand.acting.f, way.v) + gw_dot(b->hand.acting.t, way.w);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static bool near_walls(const gw_dynamic_free_body *b)
{
    return b->walls && b->walls->state.near;
}

static gw_wrench acting(const void *context, double t, const gw_pose *pose, const gw_twist *twist)
{
    (void)t;
    const gw_dynamic_free_body *b = context;
    if (!near_walls(b))
        return b->hand.acting;
    return gw_wrench_add(b->hand.acting, gw_unilaterals_wrench(&b->walls->state, pose, twist));
}

static void look_at_walls(gw_scene_dynamics *m, gw_dynamic_free_body *b, double dt)
{
    if (!b->walls)
        return;
    uint64_t lay = b->walls->state.touching & ~b->walls->met;
    gw_unilaterals_detect(&b->walls->state, &b->body.model, b->def.mass.mass,
                          &b->def.body_from_held, &b->body.pose, &b->body.twist, dt);
    gw_bound_impacts_resolve(m, b, lay, dt);
    b->walls->spring = gw_free_body_spring_energy(b);
    b->walls->before = gw_free_body_energy(b);
    b->walls->power = gw_unilaterals_power(&b->walls->state, &b->body.pose, &b->body.twist);
}

void gw_free_bodies_pre_step(gw_scene_dynamics *m, double dt)
{
    for (int i = 0; i < m->free_count; i++) {
        gw_dynamic_free_body *b = &m->bodies[i];
        look_at_walls(m, b, dt);
        bool loaded = take_hand(b) || near_walls(b);
        m->mover[m->first_free + i].hand =
            loaded ? (gw_forces){acting, b, NULL, NULL} : (gw_forces){0};
    }
}

/*
 * What walls took and their springs do not hold went into their damping. The world has seen to it
 * that the motion got no more than the work told of; without one, its energy says itself what it
 * got, kinks inside a step included.
 */
static double close_walls(const gw_scene_dynamics *m, const gw_dynamic_free_body *b,
                          const gw_step *step, double work)
{
    double got = m->world
                     ? step->work
                     : gw_free_body_energy(b) - b->walls->before + step->dissipated - step->ride;
    return b->walls->spring - gw_free_body_spring_energy(b) - (got - work);
}

/* Work of what moves walls, by their damping. */
static double walls_work(const gw_dynamic_free_body *b, double dt)
{
    double power = gw_unilaterals_power(&b->walls->state, &b->body.pose, &b->body.twist);
    return 0.5 * dt * (b->walls->power + power);
}

void gw_free_bodies_post_step(gw_scene_dynamics *m, double dt)
{
    for (int i = 0; i < m->free_count; i++) {
        const gw_dynamic_free_body *b = &m->bodies[i];
        const gw_step *step = &m->mover[m->first_free + i].step;
        if (!step->finite)
            continue;
        double work = near_walls(b) ? hand_work(b) : step->work;
        m->work += work;
        if (!near_walls(b))
            continue;
        double given = walls_work(b, dt);
        m->edits += given;
        m->dissipated += close_walls(m, b, step, work) + given;
    }
}

double gw_free_bodies_spring_energy(const gw_scene_dynamics *m)
{
    double sum = 0;
    for (int i = 0; i < m->free_count; i++)
        sum += gw_free_body_spring_energy(&m->bodies[i]);
    return sum;
}
