/*
 * The mailboxes between loop and world thread for local models, and their messages.
 */
#include "rt/sim/local_models.h"

#include <assert.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "rt/base/mailbox.h"

typedef struct joint_state {
    uint64_t number; /* number of its tick, from 1 */
    gw_resisted_def resisted;
    double q[GW_MAX_LOCAL_LINKS], v[GW_MAX_LOCAL_LINKS];
} joint_state;

/* With few joints only the first part is used (gw_local_model_bytes()). */
typedef struct made_model {
    uint64_t number; /* number of the tick from whose positions it was made */
    gw_resisted_directions resisted;
    gw_local_model local;
} made_model;

typedef struct approximated_system {
    gw_mailbox joints, models;
    joint_state joint_room[3];
    made_model model_room[3];
    int count; /* joints */
    /* the loop's */
    uint64_t number, since; /* number of this tick; of the first valid one */
    made_model taken;
    /* the world's */
    gw_system *system; /* NULL: exact model */
    joint_state seen;
} approximated_system;

struct gw_local_models {
    int count;
    double horizon; /* validity of a local model (s), and in ticks */
    uint64_t horizon_ticks;
    approximated_system *systems;
};

/* Without motors, losses and limits, which the loop evaluates: a local model has inertia and weight
 * only. */
static gw_system *create_bare(const gw_scene_system *from, gw_error *error)
{
    gw_system_def def = gw_scene_system_def(from);
    gw_system_body_def bodies[GW_MAX_LOCAL_LINKS];
    assert(gw_system_takes_local_model(&def));
    for (int i = 0; i < def.body_count; i++) {
        gw_system_body_def *b = &bodies[i];
        *b = def.bodies[i];
        b->motor[0] = (gw_motor){0};
        b->damping[0] = b->friction[0] = b->stiffness[0] = 0;
        b->limited[0] = false;
    }
    def.bodies = bodies;
    return gw_system_create(&def, error);
}

static size_t bytes_of(const approximated_system *c)
{
    return offsetof(made_model, local) + gw_local_model_bytes(c->count);
}

gw_local_models *gw_local_models_create(const gw_local_models_def *def, gw_error *error)
{
    gw_local_models *locals = calloc(1, sizeof *locals);
    size_t bytes = (size_t)(def->count + 1) * sizeof *locals->systems;
    if (locals)
        locals->systems = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
    if (!locals || !locals->systems) {
        gw_fail(error, GW_FAILED, "", "no memory for local models");
        gw_local_models_destroy(locals);
        return NULL;
    }
    memset(locals->systems, 0, bytes);
    locals->count = def->count;
    locals->horizon = 2 * def->period + def->dt;
    locals->horizon_ticks = (uint64_t)(locals->horizon / def->dt + 0.5);
    for (int i = 0; i < def->count; i++) {
        approximated_system *c = &locals->systems[i];
        if (!def->systems[i])
            continue;
        c->count = def->systems[i]->body_count;
        c->system = create_bare(def->systems[i], error);
        if (!c->system) {
            gw_local_models_destroy(locals);
            return NULL;
        }
        gw_system_hold(c->system, def->held[i], &def->body_from_held[i]);
        gw_mailbox_init(&c->joints, c->joint_room, sizeof c->seen, &c->seen);
        gw_mailbox_init(&c->models, c->model_room, sizeof c->taken, &c->taken);
    }
    return locals;
}

void gw_local_models_destroy(gw_local_models *locals)
{
    if (!locals)
        return;
    for (int i = 0; i < locals->count; i++)
        gw_system_destroy(locals->systems[i].system);
    free(locals->systems);
    free(locals);
}

bool gw_local_models_has(const gw_local_models *locals, int index)
{
    assert(index >= 0 && index < locals->count);
    return locals->systems[index].system;
}

/* ---- the world's side ----------------------------------------------------------------------- */

static void make_local_model(gw_system *system, int count, double horizon,
                             const gw_resisted_def *def, made_model *out)
{
    double columns[GW_MAX_LOCAL_LINKS][6], drift[6];
    gw_local_model_make(system, horizon, &out->local);
    gw_model_jacobian(gw_system_model(system), columns, drift);
    gw_resisted_directions_of(def, count, (const double(*)[6])columns, &out->resisted);
}

void gw_local_models_update(gw_local_models *locals)
{
    for (int i = 0; i < locals->count; i++) {
        approximated_system *c = &locals->systems[i];
        if (!c->system || !gw_mailbox_read(&c->joints, &c->seen))
            continue;
        made_model *out = gw_mailbox_back(&c->models);
        gw_system_set_joints(c->system, c->seen.q, c->seen.v);
        make_local_model(c->system, c->count, locals->horizon, &c->seen.resisted, out);
        out->number = c->seen.number;
        gw_mailbox_give(&c->models);
    }
}

/* ---- the loop's side ------------------------------------------------------------------------ */

double gw_local_models_start(gw_local_models *locals, int index, gw_system *system,
                             const gw_resisted_def *def)
{
    assert(locals && index >= 0 && system);
    approximated_system *c = &locals->systems[index];
    if (!gw_local_models_has(locals, index))
        return 0;
    double brought = gw_system_set_local_model(system, NULL);
    make_local_model(system, c->count, locals->horizon, def, &c->taken);
    c->since = c->taken.number = c->number + 1;
    if (!gw_system_too_stiff_for_local_model(system))
        brought += gw_system_set_local_model(system, &c->taken.local);
    return brought;
}

void gw_local_models_tick(gw_local_models *locals, int index)
{
    assert(locals && index >= 0);
    locals->systems[index].number++;
}

void gw_local_models_publish(gw_local_models *locals, int index, gw_system *system,
                             const gw_resisted_def *def)
{
    assert(locals && index >= 0 && system);
    approximated_system *c = &locals->systems[index];
    joint_state *out = gw_mailbox_back(&c->joints);
    out->number = c->number;
    out->resisted = *def;
    for (int i = 0; i < c->count; i++)
        gw_system_joint(system, i, &out->q[i], &out->v[i]);
    gw_mailbox_give(&c->joints);
}

/* A system that outruns local models uses its exact model from the same tick on. */
double gw_local_models_adopt(gw_local_models *locals, int index, gw_system *system, bool takes)
{
    assert(locals && index >= 0 && system);
    approximated_system *c = &locals->systems[index];
    bool outruns = gw_system_too_stiff_for_local_model(system),
         fresh = takes && gw_mailbox_fresh(&c->models);
    if (fresh) {
        const made_model *newest = gw_mailbox_take(&c->models);
        fresh = newest->number >= c->since;
        if (fresh)
            memcpy(&c->taken, newest, bytes_of(c));
    }
    if (outruns)
        return gw_system_local_model(system) ? gw_system_set_local_model(system, NULL) : 0;
    return fresh ? gw_system_set_local_model(system, &c->taken.local) : 0;
}

double gw_local_models_validity(const gw_local_models *locals, int index, gw_system *system)
{
    const approximated_system *c = &locals->systems[index];
    double age = (double)(c->number - c->taken.number) / (double)locals->horizon_ticks;
    return fmax(gw_system_local_model_validity(system), age);
}

const gw_resisted_directions *gw_local_models_resisted(const gw_local_models *locals, int index)
{
    return gw_local_models_has(locals, index) ? &locals->systems[index].taken.resisted : NULL;
}
