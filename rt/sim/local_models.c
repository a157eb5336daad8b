/*
 * The mailboxes between loop and world for local models, and what goes through them.
 */
#include "rt/sim/local_models.h"

#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base/mailbox.h"

typedef struct told_joints {
    uint64_t number; /* of the telling, from 1 */
    gw_resisted_def resisted;
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
} told_joints;

/* A chain with few links uses the first part of it (gw_chain_local_model_bytes). */
typedef struct look {
    uint64_t number; /* of the telling that it is of */
    gw_resisted_directions resisted;
    gw_chain_local_model local;
} look;

typedef struct looked_chain {
    gw_mailbox joints, looks;
    told_joints joint_room[3];
    look look_room[3];
    /* the loop's */
    uint64_t number, since; /* of the newest telling; of the one before which all is forgotten */
    look taken;
    /* the world's */
    gw_chain_def def;
    gw_chain chain;
    told_joints seen;
} looked_chain;

struct gw_local_models {
    int count;
    double horizon; /* s that a local model serves for, and as many tells */
    uint64_t tells;
    looked_chain *chains;
};

/* Motors, losses and limits are the loop's: a local model has inertia and weight. */
static gw_chain_def bare(const gw_chain_def *def)
{
    gw_chain_def out = *def;
    for (int i = 0; i < out.count; i++) {
        out.links[i].motor = (gw_motor){0};
        out.links[i].damping = out.links[i].friction = 0;
        out.links[i].limited = false;
    }
    return out;
}

static size_t bytes_of(const looked_chain *c)
{
    return offsetof(look, local) + gw_chain_local_model_bytes(c->def.count);
}

gw_local_models *gw_local_models_create(const gw_local_models_def *def, gw_error *error)
{
    gw_local_models *locals = calloc(1, sizeof *locals);
    size_t bytes = (size_t)(def->count + 1) * sizeof *locals->chains;
    if (locals)
        locals->chains = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    if (!locals || !locals->chains) {
        gw_fail(error, GW_FAILED, "", "no memory for local models");
        gw_local_models_destroy(locals);
        return NULL;
    }
    memset(locals->chains, 0, bytes);
    locals->count = def->count;
    locals->horizon = 2 * def->period + def->dt;
    locals->tells = (uint64_t)(locals->horizon / def->dt + 0.5);
    for (int i = 0; i < def->count; i++) {
        looked_chain *c = &locals->chains[i];
        c->def = bare(def->chains[i]);
        gw_mailbox_init(&c->joints, c->joint_room, sizeof c->seen, &c->seen);
        gw_mailbox_init(&c->looks, c->look_room, sizeof c->taken, &c->taken);
    }
    return locals;
}

void gw_local_models_destroy(gw_local_models *locals)
{
    if (!locals)
        return;
    free(locals->chains);
    free(locals);
}

/* ---- the world's side ----------------------------------------------------------------------- */

static void look_at(const gw_chain *chain, double horizon, const gw_resisted_def *def, look *out)
{
    double columns[GW_MAX_LINKS][6], drift[6];
    gw_chain_local_model_make(chain, horizon, &out->local);
    gw_model_jacobian(&chain->model, columns, drift);
    gw_resisted_directions_of(def, chain->def->count, (const double(*)[6])columns, &out->resisted);
}

void gw_local_models_update(gw_local_models *locals)
{
    for (int i = 0; i < locals->count; i++) {
        looked_chain *c = &locals->chains[i];
        look *out = gw_mailbox_back(&c->looks);
        if (!gw_mailbox_read(&c->joints, &c->seen))
            continue;
        gw_chain_init(&c->chain, &c->def, c->seen.q, c->seen.v);
        look_at(&c->chain, locals->horizon, &c->seen.resisted, out);
        out->number = c->seen.number;
        gw_mailbox_give(&c->looks);
    }
}

/* ---- the loop's side ------------------------------------------------------------------------ */

void gw_local_models_start(gw_local_models *locals, int index, gw_chain *chain,
                           const gw_resisted_def *def)
{
    looked_chain *c = &locals->chains[index];
    look_at(chain, locals->horizon, def, &c->taken);
    c->since = c->taken.number = c->number + 1;
    gw_chain_set_local_model(chain, gw_chain_is_stiff(chain) ? NULL : &c->taken.local);
    gw_local_models_publish(locals, index, chain, def);
}

void gw_local_models_publish(gw_local_models *locals, int index, const gw_chain *chain,
                             const gw_resisted_def *def)
{
    looked_chain *c = &locals->chains[index];
    told_joints *out = gw_mailbox_back(&c->joints);
    size_t bytes = (size_t)c->def.count * sizeof *out->q;
    out->number = ++c->number;
    out->resisted = *def;
    memcpy(out->q, chain->q, bytes);
    memcpy(out->v, chain->v, bytes);
    gw_mailbox_give(&c->joints);
}

/* Joints that are too stiff for a local model go exactly, from the tick on in which they are. */
double gw_local_models_adopt(gw_local_models *locals, int index, gw_chain *chain)
{
    looked_chain *c = &locals->chains[index];
    bool stiff = gw_chain_is_stiff(chain), fresh = gw_mailbox_fresh(&c->looks);
    if (fresh) {
        const look *newest = gw_mailbox_take(&c->looks);
        fresh = newest->number >= c->since;
        if (fresh)
            memcpy(&c->taken, newest, bytes_of(c));
    }
    if (stiff)
        return chain->local ? gw_chain_set_local_model(chain, NULL) : 0;
    return fresh ? gw_chain_set_local_model(chain, &c->taken.local) : 0;
}

double gw_local_models_strain(const gw_local_models *locals, int index, const gw_chain *chain)
{
    const looked_chain *c = &locals->chains[index];
    double age = (double)(c->number - c->taken.number) / (double)locals->tells;
    return fmax(gw_chain_local_model_strain(chain), age);
}

const gw_resisted_directions *gw_local_models_resisted(const gw_local_models *locals, int index)
{
    return &locals->chains[index].taken.resisted;
}
