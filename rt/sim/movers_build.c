/*
 * Movers out of a scene and its layout. On a server thread or in `run`, never in a tick.
 */
#include "rt/sim/scene_dynamics_private.h"

#include <stdlib.h>
#include <string.h>

/* ---- mechanisms ------------------------------------------------------------------------------ */

/* What the loop cannot do without of a mechanism. */
static void build_chain(const gw_scene_dynamics_def *def, int index, gw_dynamic_mechanism *c)
{
    const gw_mechanism *from = &def->scene->mechanisms[index];
    memcpy(c->id, from->id, sizeof c->id);
    c->def = (gw_chain_def){.count = from->link_count,
                            .world_from_base = from->base,
                            .gravity = def->scene->gravity,
                            .held = -1,
                            .link_from_held = gw_pose_identity(),
                            .dt = 1.0 / def->rate};
    c->base = from->base;
    for (int i = 0; i < from->link_count; i++) {
        c->def.links[i] = from->links[i];
        c->q0[i] = from->position[i];
        c->v0[i] = from->velocity[i];
    }
    for (int t = 0; t < def->tool_count; t++) {
        if (def->mechanisms[t] != index)
            continue;
        c->def.held = def->scene->tools[t].link;
        c->def.link_from_held = def->scene->tools[t].at;
        c->resisted = def->scene->tools[t].rendering.resisted;
    }
}

/* ---- who is whose mover --------------------------------------------------------------------- */

/* Held objects first, then mechanisms, then free bodies. */
static void number_movers(gw_scene_dynamics *m, const gw_scene_dynamics_def *def)
{
    int held = 0;
    for (int t = 0; t < def->tool_count; t++)
        if (def->objects[t] >= 0) {
            m->held[held] = def->objects[t];
            m->tool_mover[t] = held++;
        }
    m->first_chain = held;
    m->first_free = held + m->chain_count;
    m->mover_count = m->first_free + m->free_count;
    for (int t = 0; t < def->tool_count; t++)
        if (def->objects[t] < 0)
            m->tool_mover[t] = m->first_chain + def->mechanisms[t];
    for (int i = 0; i < m->chain_count; i++)
        m->mover[m->first_chain + i].model = &m->chains[i].chain.model;
    for (int i = 0; i < m->free_count; i++)
        m->mover[m->first_free + i].model = &m->bodies[i].body.model;
}

static bool fill(gw_scene_dynamics *m, const gw_scene_dynamics_def *def)
{
    m->tool_count = def->tool_count;
    m->object_count = def->scene->object_count;
    m->chain_count = def->scene->mechanism_count;
    m->chains = calloc((size_t)m->chain_count + 1, sizeof *m->chains);
    if (!m->chains || !gw_free_bodies_create(m, def))
        return false;
    m->body_count = m->object_count;
    for (int i = 0; i < m->chain_count; i++) {
        build_chain(def, i, &m->chains[i]);
        m->chains[i].body = m->body_count;
        m->body_count += m->chains[i].def.count;
    }
    number_movers(m, def);
    return true;
}

/* ---- looks ---------------------------------------------------------------------------------- */

double gw_scene_dynamics_detection_period(const gw_scene_dynamics_def *def)
{
    double rate = def->scene->contact.rate;
    return 1 / (rate > 0 ? rate : GW_CONTACT_RATE);
}

static bool build_locals(gw_scene_dynamics *m, const gw_scene_dynamics_def *def, gw_error *error)
{
    int tick_rate = def->scene->rate > 0 ? def->scene->rate : 1000;
    gw_local_models_def locals = {.count = m->chain_count,
                                  .period = gw_scene_dynamics_detection_period(def),
                                  .dt = 1.0 / tick_rate};
    if (!def->scene->contact.local || m->chain_count == 0)
        return true;
    for (int i = 0; i < m->chain_count; i++)
        locals.chains[i] = &m->chains[i].def;
    m->locals = gw_local_models_create(&locals, error);
    return m->locals;
}

/* Where nothing touches, local models alone are looked at. */
static bool build_looks(gw_scene_dynamics *m, const gw_scene_dynamics_def *def, gw_error *error)
{
    gw_detection_def looks = {.locals = m->locals,
                              .period = gw_scene_dynamics_detection_period(def)};
    if (!m->locals || m->detection)
        return true;
    m->detection = gw_detection_create(&looks, error);
    return m->detection;
}

gw_scene_dynamics *gw_scene_dynamics_create(const gw_scene_dynamics_def *def, gw_error *error)
{
    gw_scene_dynamics *m = calloc(1, sizeof *m);
    if (!m || !fill(m, def)) {
        gw_fail(error, GW_FAILED, "", "no memory for what moves");
        gw_scene_dynamics_destroy(m);
        return NULL;
    }
    bool built = build_locals(m, def, error);
    if (built)
        gw_scene_dynamics_reset(m);
    if (!built || !gw_scene_dynamics_build_contacts(m, def, error) || !build_looks(m, def, error)) {
        gw_scene_dynamics_destroy(m);
        return NULL;
    }
    return m;
}

void gw_scene_dynamics_destroy(gw_scene_dynamics *m)
{
    if (!m)
        return;
    gw_scene_dynamics_drop_contacts(m);
    gw_local_models_destroy(m->locals);
    gw_free_bodies_destroy(m);
    free(m->chains);
    free(m);
}
