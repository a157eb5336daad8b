/*
 * The world: what it is told between steps, and a step, island by island. RT safe but for create
 * and destroy.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rt/contact/world_private.h"

#define SPEED  1e-3 /* v_th and rest speed where none is given (m/s) */
#define ADRIFT 2e-3 /* as deep as a spring is ever pressed (m) */
#define YIELDS 1e-5 /* a contact put deeper than this between steps lets it be (m) */

/* ---- creation ------------------------------------------------------------------------------- */

/* Aligned as side by side numbers want it. */
static void *zeroed(size_t count, size_t size)
{
    size_t bytes = ((count > 0 ? count : 1) * size + 63) / 64 * 64;
    void *memory = aligned_alloc(64, bytes);
    if (memory)
        memset(memory, 0, bytes);
    return memory;
}

static bool allocate(gw_world *w)
{
    size_t movers = (size_t)w->mover_count, entries = GW_WORLD_MAX_DOF;
    w->places = zeroed((size_t)w->body_count, sizeof *w->places);
    w->touches = zeroed(2 * GW_MAX_CONTACT_CANDIDATES, sizeof *w->touches);
    w->couples = zeroed(2 * GW_MAX_CONTACT_CANDIDATES, sizeof *w->couples);
    w->arrived = zeroed(GW_MAX_CONTACT_CANDIDATES, sizeof *w->arrived);
    w->saved = zeroed(movers, w->stride);
    w->scratch[0] = zeroed(1, w->stride);
    w->scratch[1] = zeroed(1, w->stride);
    w->pressing =
        zeroed(2 * GW_MAX_CONTACT_CANDIDATES / GW_LANES + GW_MAX_LINKS, sizeof *w->pressing);
    w->ahead = zeroed((size_t)w->body_count, sizeof *w->ahead);
    w->work.memory =
        zeroed(gw_impulse_memory(GW_MAX_SIMULTANEOUS_CONTACTS, GW_WORLD_MAX_DOF), sizeof(double));
    w->rows =
        zeroed(2 * GW_MAX_SIMULTANEOUS_CONTACTS * entries, sizeof(double)); /* two across each */
    w->v = zeroed(3 * entries, sizeof(double));
    return w->places && w->touches && w->couples && w->arrived && w->saved && w->scratch[0] &&
           w->scratch[1] && w->pressing && w->ahead && w->work.memory && w->rows && w->v;
}

gw_world *gw_world_create(const gw_world_def *def, gw_error *error)
{
    assert(def->system_count >= 0 && def->system_count <= GW_MAX_MODELS);
    gw_world *w = calloc(1, sizeof *w);
    if (w) {
        w->mover_count = def->system_count;
        w->body_count = def->body_count;
        w->rules = def->rules;
        w->stride = (def->model_bytes + 63) / 64 * 64;
        w->arrived_count = -1;
        w->rules.slip_speed = def->rules.slip_speed > 0 ? def->rules.slip_speed : SPEED;
        w->rules.rest_speed = def->rules.rest_speed > 0 ? def->rules.rest_speed : SPEED;
    }
    if (!w || !allocate(w)) {
        gw_world_destroy(w);
        gw_fail(error, GW_FAILED, "", "no memory for a world of contacts");
        return NULL;
    }
    w->dv = w->v + GW_WORLD_MAX_DOF;
    w->generalised = w->dv + GW_WORLD_MAX_DOF;
    for (int i = 0; i < def->body_count; i++) {
        const gw_world_body *b = &def->bodies[i];
        w->places[i] = (gw_body_state){.model = b->model, .index = b->index, .home = b->pose};
        gw_world_set_body(w, i, &b->pose, &b->twist);
    }
    return w;
}

void gw_world_destroy(gw_world *w)
{
    if (!w)
        return;
    free(w->places);
    free(w->touches);
    free(w->couples);
    free(w->arrived);
    free(w->saved);
    free(w->scratch[0]);
    free(w->scratch[1]);
    free(w->pressing);
    free(w->ahead);
    free(w->work.memory);
    free(w->rows);
    free(w->v);
    free(w);
}

/* ---- between steps -------------------------------------------------------------------------- */

void gw_world_set_narrow_phase(gw_world *w, const gw_narrow_phase *looker)
{
    w->looker = *looker;
}

void gw_world_set_candidates(gw_world *w, const gw_contact_candidate *near, int count)
{
    w->arrived_count = count < GW_MAX_CONTACT_CANDIDATES ? count : GW_MAX_CONTACT_CANDIDATES;
    memcpy(w->arrived, near, (size_t)w->arrived_count * sizeof *near);
}

void gw_world_set_body(gw_world *w, int body, const gw_pose *pose, const gw_twist *twist)
{
    gw_body_state *place = &w->places[body];
    if (place->model >= 0)
        return;
    place->home = place->pose = place->start = *pose;
    place->twist = place->start_twist = *twist;
    place->moves = gw_norm2(twist->v) > 0 || gw_norm2(twist->w) > 0;
}

void gw_world_reset(gw_world *w)
{
    gw_pairs_clear(w);
    w->owed = w->spring_last = 0;
    memset(w->drift, 0, sizeof w->drift);
    w->turn = w->look_from = 0;
    for (int i = 0; i < w->body_count; i++)
        w->places[i].seen = 0;
}

/* ---- what is near --------------------------------------------------------------------------- */

/* A body as it is now. */
static void place(gw_world *w, int body)
{
    gw_body_state *p = &w->places[body];
    if (p->model < 0) {
        p->pose = p->home;
        return;
    }
    bool still = w->movers[p->model].still;
    gw_model_body(gw_world_model(w, p->model), p->index, &p->pose, &p->twist);
    p->moves = !still;
    if (p->seen + 1 != w->turn)
        p->rate = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    p->seen = w->turn;
    if (still)
        p->twist = (gw_twist){{0, 0, 0}, {0, 0, 0}};
}

/* Deep in, not pressed, and on its way: it is no rest, and collides where it comes on. */
static bool adrift(const gw_world *w, const gw_contact *c)
{
    return c->continuous && !c->bottomed && c->slack > ADRIFT && c->slack >= -c->now.gap &&
           fabs(c->rate) > w->rules.rest_speed;
}

/* Gaps as they are now. A spring is not pressed by an edit. Where it is a little deeper because
 * what rolls was followed by points that it had left, it is pressed, and its motion pays. */
static void look_around(gw_world *w, bool adopted)
{
    for (int i = 0; i < w->touch_count; i++) {
        gw_contact *c = &w->touches[i];
        gw_contact_update_gap(w, c);
        double deeper = -c->now.gap - c->depth_last, pressed = fmax(0, c->depth_last - c->slack);
        c->owes = 0;
        if (c->continuous && deeper > YIELDS)
            c->slack += deeper;
        else if (c->continuous && deeper > 0 && adopted)
            c->owes = c->stiffness * deeper * (pressed + 0.5 * deeper);
        if (adrift(w, c)) {
            c->continuous = false;
            c->slack = 0;
            c->grip.slip = gw_v3(0, 0, 0);
        }
        c->again = c->hit && c->now.gap < -GW_WORLD_DEFERRED_DEPTH;
        c->hit = c->immovable = c->struck = c->stopped = c->deferred = c->awaited = false;
        c->impulse = 0;
    }
}

/* What is near now, and where; true where it is not as the last step left it. */
static bool gather_near(gw_world *w)
{
    bool settled = gw_pairs_apply_redetected(w), arrived = gw_pairs_apply_candidates(w);
    for (int i = 0; i < w->couple_count; i++) {
        place(w, w->couples[i].a);
        place(w, w->couples[i].b);
    }
    gw_toi_redetect_before_step(w);
    return gw_pairs_apply_redetected(w) || settled || arrived;
}

/* ---- a step --------------------------------------------------------------------------------- */

static void open_step(gw_world *w, gw_world_step_result *out)
{
    *out = (gw_world_step_result){0};
    w->effort = w->deferred = w->redetections_skipped = w->looking = 0;
    w->budget = (int)fmax(GW_WORLD_EFFORT_MIN, GW_WORLD_EFFORT_PER_SECOND * w->dt);
    double spring = 0;
    for (int m = 0; m < w->mover_count; m++) {
        gw_world_system *mover = &w->movers[m];
        mover->step = (gw_step){.finite = true, .margin = 1};
        mover->collided = w->felt[m] = false;
        memset(mover->impulse, 0, sizeof mover->impulse);
    }
    bool adopted = gather_near(w);
    look_around(w, adopted);
    gw_islands_find(w);
    for (int i = 0; i < w->touch_count; i++)
        spring += gw_contact_spring_energy(&w->touches[i]) - w->touches[i].owes;
    /* what is no more near lets go; other changes are those of places */
    if (adopted && spring < w->spring_last)
        out->dissipated += w->spring_last - spring;
    else
        out->external_work += spring - w->spring_last;
}

static void close_step(gw_world *w, gw_world_step_result *out)
{
    for (int i = 0; i < w->body_count; i++) {
        gw_body_state *p = &w->places[i];
        if (p->model >= 0 || !p->moves)
            continue;
        p->start = p->home;
        p->start_twist = p->twist;
        p->home = gw_body_state_extrapolate(p, w->dt, &p->twist);
    }
    for (int i = 0; i < w->touch_count; i++) {
        gw_contact *c = &w->touches[i];
        c->depth_last = -c->now.gap;
        out->spring += gw_contact_spring_energy(c);
        out->touching += c->now.gap < 0 && !c->aside;
        out->immovable = out->immovable || c->immovable;
    }
    out->effort = w->effort + w->looking;
    out->deferred = w->deferred;
    out->redetections_skipped = w->redetections_skipped;
    w->spring_last = out->spring;
    w->turn++;
}

void gw_world_step_all(gw_world *w, gw_world_system *movers, double dt, gw_world_step_result *out)
{
    w->movers = movers;
    w->dt = dt;
    open_step(w, out);
    for (int m = 0; m < w->mover_count; m++)
        if (gw_island_select(w, m))
            gw_island_step(w, out);
    close_step(w, out);
    w->movers = NULL;
}

/* ---- what it tells -------------------------------------------------------------------------- */

static void body_now(const gw_world *w, const gw_world_system *movers, int body, gw_pose *pose,
                     gw_twist *twist)
{
    const gw_body_state *p = &w->places[body];
    *pose = p->home;
    *twist = p->twist;
    if (p->model >= 0)
        gw_model_body(movers[p->model].model, p->index, pose, twist);
}

void gw_world_contact_force(const gw_world *w, const gw_world_system *movers, int m, double *force)
{
    gw_model *model = movers[m].model;
    memset(force, 0, (size_t)gw_model_dof(model) * sizeof *force);
    for (int i = 0; i < w->touch_count; i++) {
        const gw_contact *c = &w->touches[i];
        int of_a = w->places[c->near.a].model, of_b = w->places[c->near.b].model;
        if (!c->continuous || (of_a != m && of_b != m))
            continue;
        gw_pose a, b;
        gw_twist twist_a, twist_b;
        body_now(w, movers, c->near.a, &a, &twist_a);
        body_now(w, movers, c->near.b, &b, &twist_b);
        gw_gap gap = gw_gap_at(&c->near, &a, &b);
        gw_vec3 f = gw_contact_force(w, c, &a, &twist_a, &b, &twist_b);
        gw_wrench on_a = gw_wrench_at(&a, gap.at_a, f),
                  on_b = gw_wrench_at(&b, gap.at_b, gw_neg(f));
        if (of_a == m)
            gw_model_pull_back(model, w->places[c->near.a].index, &on_a, force);
        if (of_b == m)
            gw_model_pull_back(model, w->places[c->near.b].index, &on_b, force);
    }
}

static gw_contact_state state_of(const gw_contact *c)
{
    if (c->immovable)
        return GW_CONTACT_IMMOVABLE;
    if (c->hit)
        return GW_CONTACT_COLLIDING;
    return c->continuous && c->now.gap < 0 ? GW_CONTACT_CONTINUOUS : GW_CONTACT_NONE;
}

int gw_world_contacts(const gw_world *w, gw_contact_point *points, int capacity)
{
    int count = 0;
    for (int i = 0; i < w->touch_count && count < capacity; i++) {
        const gw_contact *c = &w->touches[i];
        gw_contact_state state = state_of(c);
        if (state == GW_CONTACT_NONE && (c->now.gap >= 0 || c->aside))
            continue;
        points[count++] = (gw_contact_point){.a = c->near.a,
                                             .b = c->near.b,
                                             .state = state,
                                             .point = c->now.at_a,
                                             .normal = c->now.normal,
                                             .force = gw_contact_force_now(w, c),
                                             .impulse = c->impulse,
                                             .gap = c->now.gap};
    }
    return count;
}
