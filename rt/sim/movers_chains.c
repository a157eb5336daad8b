/*
 * Mechanisms from tick to tick: where they begin, how they go on in another scenario, and a base
 * that an edit puts elsewhere. On the loop's thread, RT safe.
 */
#include "rt/sim/movers_data.h"

#include <string.h>

/* From now on, exactly or by local models. */
static void start_chain(gw_movers *m, int index, const double *q, const double *v)
{
    gw_moving_chain *c = &m->chains[index];
    gw_chain_init(&c->chain, &c->def, q, v);
    c->strain = c->owed = 0;
}

static void look_first(gw_movers *m, int index)
{
    gw_moving_chain *c = &m->chains[index];
    if (m->locals)
        gw_locals_begin(m->locals, index, &c->chain, &c->resisted);
}

void gw_chains_reset(gw_movers *m)
{
    for (int i = 0; i < m->chain_count; i++) {
        gw_moving_chain *c = &m->chains[i];
        c->travel = (gw_travel){0};
        c->def.world_from_base = c->base;
        start_chain(m, i, c->q0, c->v0);
        look_first(m, i);
    }
}

/* Where its base is shown, and how that moves. */
static gw_pose base_now(const gw_moving_chain *c, gw_twist *rate)
{
    gw_pose base = c->base;
    *rate = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    gw_travel_apply(&c->travel, &base, rate);
    return base;
}

/* Joints that it had go on as they are, those that it has more of begin. */
static void carry_chain(gw_movers *m, int index, const gw_moving_chain *was,
                        const gw_travel_limits *limits)
{
    gw_moving_chain *c = &m->chains[index];
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    gw_twist rate, still = {{0, 0, 0}, {0, 0, 0}};
    gw_pose from = base_now(was, &rate);
    for (int i = 0; i < c->def.count; i++) {
        bool had = i < was->def.count && c->def.links[i].kind == was->def.links[i].kind;
        q[i] = had ? was->chain.q[i] : c->q0[i];
        v[i] = had ? was->chain.v[i] : c->v0[i];
    }
    gw_travel_start(&c->travel, &from, &rate, &c->base, &still, limits);
    c->def.world_from_base = from;
    start_chain(m, index, q, v);
    if (c->def.count == was->def.count)
        gw_chain_lean(&c->chain, &was->chain);
    look_first(m, index);
}

void gw_chains_carry(gw_movers *m, const gw_movers *old, const gw_travel_limits *limits)
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

void gw_chains_move(gw_movers *m, double dt)
{
    for (int i = 0; i < m->chain_count; i++) {
        gw_moving_chain *c = &m->chains[i];
        gw_twist rate;
        if (!c->travel.active)
            continue;
        double before = energy_of(&c->chain);
        gw_travel_advance(&c->travel, dt, 1);
        c->def.world_from_base = base_now(c, &rate);
        gw_chain_rebase(&c->chain);
        look_first(m, i);
        m->edits += energy_of(&c->chain) - before;
    }
}
