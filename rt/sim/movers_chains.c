/*
 * Mechanisms from tick to tick: where they begin, how they go on in another scenario, and a base
 * that an edit puts elsewhere. On the loop's thread, RT safe.
 */
#include "rt/sim/scene_dynamics_private.h"

#include <string.h>

/* From now on, exactly or by local models. */
static void start_chain(gw_scene_dynamics *m, int index, const double *q, const double *v)
{
    gw_dynamic_mechanism *c = &m->chains[index];
    gw_chain_init(&c->chain, &c->def, q, v);
    c->strain = c->owed = 0;
}

static void look_first(gw_scene_dynamics *m, int index)
{
    gw_dynamic_mechanism *c = &m->chains[index];
    if (m->locals)
        gw_local_models_start(m->locals, index, &c->chain, &c->resisted);
}

void gw_mechanisms_reset(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->chain_count; i++) {
        gw_dynamic_mechanism *c = &m->chains[i];
        c->travel = (gw_transition){0};
        c->def.world_from_base = c->base;
        start_chain(m, i, c->q0, c->v0);
        look_first(m, i);
    }
}

/* Where its base is shown, and how that moves. */
static gw_pose base_now(const gw_dynamic_mechanism *c, gw_twist *rate)
{
    gw_pose base = c->base;
    *rate = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    gw_transition_apply(&c->travel, &base, rate);
    return base;
}

/* Joints that it had go on as they are, those that it has more of begin. */
static void carry_chain(gw_scene_dynamics *m, int index, const gw_dynamic_mechanism *was,
                        const gw_transition_limits *limits)
{
    gw_dynamic_mechanism *c = &m->chains[index];
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    gw_twist rate, still = {{0, 0, 0}, {0, 0, 0}};
    gw_pose from = base_now(was, &rate);
    for (int i = 0; i < c->def.count; i++) {
        bool had = i < was->def.count && c->def.links[i].kind == was->def.links[i].kind;
        q[i] = had ? was->chain.q[i] : c->q0[i];
        v[i] = had ? was->chain.v[i] : c->v0[i];
    }
    gw_transition_start(&c->travel, &from, &rate, &c->base, &still, limits);
    c->def.world_from_base = from;
    start_chain(m, index, q, v);
    if (c->def.count == was->def.count)
        gw_chain_copy_friction(&c->chain, &was->chain);
    look_first(m, index);
}

void gw_mechanisms_carry_over(gw_scene_dynamics *m, const gw_scene_dynamics *old,
                              const gw_transition_limits *limits)
{
    for (int i = 0; i < m->chain_count; i++)
        for (int k = 0; k < old->chain_count; k++)
            if (strcmp(old->chains[k].id, m->chains[i].id) == 0)
                carry_chain(m, i, &old->chains[k], limits);
}

static double energy_of(const gw_chain *chain)
{
    double kinetic, potential;
    gw_model_energy(&chain->model, &kinetic, &potential);
    return kinetic + potential;
}

void gw_mechanisms_move_bases(gw_scene_dynamics *m, double dt)
{
    for (int i = 0; i < m->chain_count; i++) {
        gw_dynamic_mechanism *c = &m->chains[i];
        gw_twist rate;
        if (!c->travel.active)
            continue;
        double before = energy_of(&c->chain);
        gw_transition_advance(&c->travel, dt, 1);
        c->def.world_from_base = base_now(c, &rate);
        gw_chain_update_base(&c->chain);
        look_first(m, i);
        m->edits += energy_of(&c->chain) - before;
    }
}
