/*
 * Hands that drag or push links of mechanisms which no system of bodies has, held by a tool or not:
 * a spring from the grabbed point, as stiff as the mass that it feels there, or a wrench at the
 * link's origin, both held over a step. On the loop's thread, RT safe.
 */
#include <string.h>

#include "rt/haptics/operational_space.h"
#include "rt/sim/scene_dynamics_private.h"

void gw_link_hands_name(gw_link_hands *hands, const gw_mechanism *mechanism)
{
    char label[GW_MAX_LINK_NAME + 1];
    for (int i = 0; i < mechanism->link_count; i++) {
        gw_link_name(mechanism, i, label);
        hands->labels[i] = gw_name_hash(label, 0);
    }
}

void gw_link_hands_let_go(gw_dynamic_mechanism *c)
{
    memset(c->hands.hand, 0, sizeof c->hands.hand);
    c->hands.any = false;
    c->chain.pushed = NULL;
}

void gw_link_hands_carry_over(gw_link_hands *hands, int count, const gw_link_hands *was,
                              int was_count)
{
    for (int i = 0; i < count && i < was_count; i++)
        hands->hand[i] = was->hand[i];
    hands->any = was->any;
}

gw_mass gw_felt_mass(const gw_model *model, int body, gw_vec3 com, double *work)
{
    double inverse[6][6];
    gw_operational_body_inverse_inertia(model, body, work, inverse);
    double light = inverse[0][0] + inverse[1][1] + inverse[2][2];
    double nimble = inverse[3][3] + inverse[4][4] + inverse[5][5];
    gw_mass out = {.mass = light > 1e-6 ? 1 / light : 1e6, .com = com};
    for (int i = 0; i < 3; i++)
        out.inertia.m[i][i] = nimble > 1e-6 ? 1 / nimble : 1e6;
    return out;
}

bool gw_mechanisms_hand(gw_scene_dynamics *m, const gw_command *command, double dt)
{
    double work[7 * GW_MAX_LINKS];
    uint64_t name = gw_name_hash(command->object, 0);
    for (int i = 0; i < m->chain_count; i++) {
        gw_dynamic_mechanism *c = &m->chains[i];
        for (int k = 0; k < c->def.count; k++) {
            if (c->hands.labels[k] != name)
                continue;
            gw_mass mass = gw_felt_mass(&c->chain.model, k, c->def.links[k].mass.com, work);
            gw_free_body_hand_take(&c->hands.hand[k], command, &mass, c->def.gravity, dt);
            c->hands.any = true;
            return true;
        }
    }
    return false;
}

/* What hands do to the links, *acts: whether anything. */
static void take_hands(gw_dynamic_mechanism *c, bool *held, bool *acts)
{
    *held = *acts = false;
    for (int k = 0; k < c->def.count; k++) {
        gw_free_body_hand *hand = &c->hands.hand[k];
        gw_pose pose;
        gw_twist twist;
        gw_model_body(&c->chain.model, k, &pose, &twist);
        gw_wrench drag =
            gw_drag_wrench(&hand->drag, &pose, c->def.links[k].mass.com, &pose, &twist);
        c->hands.pushed[k] = hand->acting = gw_wrench_add(drag, hand->push);
        bool pushes = gw_norm2(hand->acting.f) + gw_norm2(hand->acting.t) > 0;
        *acts = *acts || pushes;
        *held = *held || pushes || hand->drag.active;
    }
}

void gw_mechanisms_pre_step(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->chain_count; i++) {
        gw_dynamic_mechanism *c = &m->chains[i];
        bool acts = false;
        if (c->hands.any)
            take_hands(c, &c->hands.any, &acts);
        c->chain.pushed = acts ? c->hands.pushed : NULL;
    }
}

void gw_mechanisms_post_step(gw_scene_dynamics *m)
{
    for (int i = 0; i < m->chain_count; i++) {
        const gw_world_system *mover = &m->mover[m->first_chain + i];
        if (m->chains[i].chain.pushed && !mover->still)
            m->work += mover->step.pushed;
    }
}
