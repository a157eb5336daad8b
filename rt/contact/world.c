/*
 * The contact world: creation, input between steps, a step island by island, and its results. RT
 * safe but for create and destroy.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "rt/base/small.h"
#include "rt/contact/world_private.h"
#include "rt/dynamics/guided.h"

#define DEFAULT_SPEED     1e-3 /* slip and rest speed where none is given (m/s) */
#define MAX_RESTING_DEPTH 2e-3 /* no spring at rest is compressed more (m) */
#define MAX_REPAID_DEEPENING                                                                       \
    1e-5 /* deepened between steps by more, a contact has a new rest                               \
            penetration (m) */

/* ---- creation ------------------------------------------------------------------------------- */

/* All arrays are in one block, in huge pages if it fills one and the system has them: an edit
 * creates a new world, and the page faults of a thousand small pages would take most of that
 * time. */
#define HUGE_PAGE  ((size_t)2 << 20) /* bytes */
#define CACHE_LINE ((size_t)64)      /* bytes: arrays begin on one, as SIMD lanes need it */

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#define GUARD CACHE_LINE /* bytes behind each array that nobody may touch */
#else
#define GUARD                               0
#define ASAN_POISON_MEMORY_REGION(at, size) ((void)(at), (void)(size))
#endif

typedef struct arena {
    unsigned char *memory; /* NULL: sizes are only summed up */
    size_t used;
} arena;

static void *arena_take(arena *a, size_t count, size_t size)
{
    size_t bytes = (count > 0 ? count : 1) * size;
    size_t next = (a->used + bytes + GUARD + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    unsigned char *array = a->memory ? a->memory + a->used : NULL;
    if (array)
        ASAN_POISON_MEMORY_REGION(array + bytes, next - a->used - bytes);
    a->used = next;
    return array;
}

static void take_arrays(gw_world *w, arena *a)
{
    const size_t contacts = (size_t)w->most, rows = GW_MAX_SIMULTANEOUS_CONTACTS;
    size_t systems = (size_t)w->system_count, bodies = (size_t)w->body_count;
    size_t unilaterals = (size_t)w->unilateral_count, dof = (size_t)w->dof_most;
    w->bodies = arena_take(a, bodies, sizeof *w->bodies);
    w->contacts = arena_take(a, contacts, sizeof *w->contacts);
    w->pairs = arena_take(a, contacts, sizeof *w->pairs);
    w->candidates = arena_take(a, w->alone ? 0 : GW_MAX_CONTACT_CANDIDATES, sizeof *w->candidates);
    w->load_rate = arena_take(a, systems * GW_MODEL_MAX_DOF, sizeof *w->load_rate);
    w->locks = arena_take(a, systems * GW_MODEL_MAX_DOF, sizeof *w->locks);
    w->load_answer = arena_take(a, systems * GW_MODEL_MAX_DOF, sizeof *w->load_answer);
    w->unilaterals = arena_take(a, unilaterals, sizeof *w->unilaterals);
    w->followed = arena_take(a, unilaterals, sizeof *w->followed);
    w->next_limit = arena_take(a, unilaterals, sizeof *w->next_limit);
    w->saved_models = arena_take(a, systems, w->model_stride);
    w->scratch_models[0] = arena_take(a, 1, w->model_stride);
    w->scratch_models[1] = arena_take(a, 1, w->model_stride);
    /* rows have none */
    const size_t batches = w->alone ? 0 : 2 * contacts / GW_LANES + GW_MAX_SYSTEM_BODIES + 3;
    w->penalty_batches = arena_take(a, batches, sizeof *w->penalty_batches);
    w->predicted = arena_take(a, bodies, sizeof *w->predicted);
    w->waveforms = arena_take(a, w->alone ? 0 : contacts, sizeof *w->waveforms);
    w->lockstep = arena_take(a, 1, w->system_count > 1 ? sizeof *w->lockstep : 1);
    w->impulse_workspace.memory =
        arena_take(a, gw_impulse_memory(GW_MAX_SIMULTANEOUS_CONTACTS, w->dof_most), sizeof(double));
    w->jacobian = arena_take(a, 2 * rows * dof, sizeof(double)); /* two across each */
    w->v = arena_take(a, dof, sizeof(double));
    w->dv = arena_take(a, dof, sizeof(double));
    w->generalised = arena_take(a, dof, sizeof(double));
    w->sticking_numbers = 2 * rows * dof;
    w->sticking = arena_take(a, 2 * w->sticking_numbers + 8 * rows * rows, sizeof(double));
}

static bool allocate_world(gw_world *w)
{
    arena a = {0};
    take_arrays(w, &a);
    size_t page = a.used > HUGE_PAGE / 2 ? HUGE_PAGE : CACHE_LINE;
    size_t bytes = (a.used + page - 1) / page * page;
    w->memory = aligned_alloc(page, bytes);
    if (!w->memory)
        return false;
    if (page == HUGE_PAGE)
        (void)madvise(w->memory, bytes, MADV_HUGEPAGE); /* where there are none: small pages */
    memset(w->memory, 0, bytes);
    a = (arena){.memory = w->memory};
    take_arrays(w, &a);
    return true;
}

/* Lists of the unilateral constraints that limit coordinates, by system. */
static void list_limits(gw_world *w)
{
    for (int m = 0; m < w->system_count; m++)
        w->first_limit[m] = -1;
    for (int i = w->unilateral_count - 1; i >= 0; i--) {
        const gw_contact_candidate *candidate = &w->unilaterals[i];
        int a = w->bodies[candidate->a].model, b = w->bodies[candidate->b].model;
        int m = a >= 0 ? a : b;
        if (!candidate->row->limits || m < 0)
            continue;
        w->next_limit[i] = w->first_limit[m];
        w->first_limit[m] = i;
    }
}

gw_world *gw_world_create(const gw_world_def *def, gw_error *error)
{
    assert(def->system_count >= 0 && def->system_count <= GW_MAX_MODELS);
    assert(def->body_count >= 0 && (def->bodies || def->body_count == 0));
    assert(def->unilateral_count >= 0);
    assert(def->dof >= 0);
    gw_world *w = calloc(1, sizeof *w);
    if (w) {
        w->system_count = def->system_count;
        w->body_count = def->body_count;
        w->dof_most = def->dof > 0 && def->dof < GW_WORLD_MAX_DOF ? def->dof : GW_WORLD_MAX_DOF;
        w->rules = def->rules;
        w->unilateral_count = def->unilateral_count;
        w->alone = def->alone;
        w->most = 2 * (def->alone && def->unilateral_count < GW_MAX_CONTACT_CANDIDATES
                           ? def->unilateral_count
                           : GW_MAX_CONTACT_CANDIDATES);
        w->model_stride = (def->model_bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
        w->candidate_count = -1;
        w->rules.slip_speed = def->rules.slip_speed > 0 ? def->rules.slip_speed : DEFAULT_SPEED;
        w->rules.rest_speed = def->rules.rest_speed > 0 ? def->rules.rest_speed : DEFAULT_SPEED;
    }
    if (w && !def->alone)
        w->near = gw_near_lists_create();
    if (!w || !allocate_world(w) || (!def->alone && !w->near)) {
        gw_world_destroy(w);
        gw_fail(error, GW_FAILED, "", "no memory for a world of contacts");
        return NULL;
    }
    for (int i = 0; i < def->unilateral_count; i++) {
        assert(def->unilaterals[i].row);
        w->unilaterals[i] = def->unilaterals[i];
        w->unilaterals[i].geom_a = w->unilaterals[i].geom_b = -1; /* no detector knows them */
        w->followed[i] = true;
    }
    gw_pairs_add_unilaterals(w);
    for (int i = 0; i < def->body_count; i++) {
        const gw_world_body *b = &def->bodies[i];
        assert(b->model >= -1 && b->model < def->system_count && b->index >= 0);
        w->bodies[i] = (gw_body_state){.model = b->model, .index = b->index, .step_pose = b->pose};
        gw_world_set_body(w, i, &b->pose, &b->twist);
    }
    list_limits(w);
    return w;
}

void gw_world_destroy(gw_world *w)
{
    if (!w)
        return;
    gw_near_lists_destroy(w->near);
    free(w->memory);
    free(w);
}

/* ---- input between steps -------------------------------------------------------------------- */

void gw_world_set_narrow_phase(gw_world *w, const gw_narrow_phase *narrow_phase)
{
    w->narrow_phase = *narrow_phase;
}

void gw_world_set_candidates(gw_world *w, const gw_contact_candidate *candidates, int count)
{
    assert(count >= 0 && !w->alone);
    w->candidate_count = count < GW_MAX_CONTACT_CANDIDATES ? count : GW_MAX_CONTACT_CANDIDATES;
    for (int i = 0; i < w->candidate_count; i++)
        assert(candidates[i].a >= 0 && candidates[i].a < w->body_count && candidates[i].b >= 0 &&
               candidates[i].b < w->body_count);
    memcpy(w->candidates, candidates, (size_t)w->candidate_count * sizeof *candidates);
}

void gw_world_follow(gw_world *w, int index, bool follow)
{
    assert(index >= 0 && index < w->unilateral_count);
    w->follows_others = w->follows_others || w->followed[index] != follow;
    w->followed[index] = follow;
}

/* Sets `unmoved` and `unchanged` of a body by a bitwise comparison with its new pose and twist. */
static void compare_state(gw_body_state *state, const gw_pose *pose, const gw_twist *twist)
{
    state->unmoved = state->unmoved && memcmp(&state->pose, pose, sizeof *pose) == 0;
    state->unchanged =
        state->unchanged && state->unmoved && memcmp(&state->twist, twist, sizeof *twist) == 0;
}

void gw_world_set_body(gw_world *w, int body, const gw_pose *pose, const gw_twist *twist)
{
    assert(body >= 0 && body < w->body_count);
    gw_body_state *state = &w->bodies[body];
    if (state->model >= 0)
        return;
    compare_state(state, pose, twist);
    state->step_pose = state->pose = state->start_pose = *pose;
    state->twist = state->start_twist = *twist;
    state->moving = gw_norm2(twist->v) > 0 || gw_norm2(twist->w) > 0;
}

gw_pose gw_world_pose(const gw_world *w, const gw_world_system *systems, int body)
{
    assert(body >= 0 && body < w->body_count);
    const gw_body_state *state = &w->bodies[body];
    gw_pose pose = state->step_pose;
    gw_twist twist;
    if (state->model >= 0)
        gw_model_body(systems[state->model].model, state->index, &pose, &twist);
    return pose;
}

void gw_world_reset(gw_world *w)
{
    assert(w);
    gw_pairs_clear(w);
    gw_pairs_add_unilaterals(w);
    w->follows_others = false;
    w->unremoved_energy = w->last_spring_energy = 0;
    memset(w->energy_drift, 0, sizeof w->energy_drift);
    w->step_count = w->redetect_from = 0;
    for (int i = 0; i < w->body_count; i++) {
        w->bodies[i].updated = 0;
        w->bodies[i].unchanged = w->bodies[i].unmoved = false;
    }
}

/* ---- start of a step ------------------------------------------------------------------------ */

/* Updates pose and twist of a body at the start of a step, once per step although it may be in
 * several pairs. The acceleration of the last step is kept if the body was in a pair then. */
static void update_body(gw_world *w, int body)
{
    gw_body_state *p = &w->bodies[body];
    gw_pose pose = p->step_pose;
    gw_twist twist = p->twist;
    if (p->updated == w->step_count + 1)
        return;
    if (p->model >= 0) {
        gw_model_body(gw_world_model(w, p->model), p->index, &pose, &twist);
        p->moving = !w->systems[p->model].still;
        if (!p->moving)
            twist = (gw_twist){{0, 0, 0}, {0, 0, 0}};
        if (p->updated == 0 || p->updated != w->step_count)
            p->acceleration = (gw_twist){{0, 0, 0}, {0, 0, 0}};
    }
    p->updated = w->step_count + 1;
    p->rounded = false;
    compare_state(p, &pose, &twist);
    p->pose = pose;
    p->twist = twist;
}

/* Gap and rate at the start of the step: those of the last step's end, unless its bodies have moved
 * or their twists have changed since, or its candidate was replaced. */
static void begin_gap(const gw_world *w, gw_contact *c)
{
    const gw_body_state *a = &w->bodies[c->candidate.a], *b = &w->bodies[c->candidate.b];
    if (c->candidate.row || c->renewed || !a->unmoved || !b->unmoved) {
        c->turned = 0;
        gw_contact_update_gap(w, c);
    } else if (!a->unchanged || !b->unchanged) {
        gw_contact_update_rate(w, c);
    }
    c->renewed = false;
}

/* True for a deep continuous contact without force that moves: it leaves the state continuous and
 * may collide again. */
static bool moves_freely(const gw_world *w, const gw_contact *c)
{
    return c->continuous && !c->bottomed_out && c->rest_penetration > MAX_RESTING_DEPTH &&
           c->rest_penetration >= -c->now.gap && fabs(c->gap_rate) > w->rules.rest_speed;
}

/* True if an impulse leaves a body's pose bitwise unchanged; systems recompute their poses. */
static bool pose_is_stored(const gw_world *w, int body)
{
    int m = w->bodies[body].model;
    return m < 0 || gw_model_is_guided(gw_world_model(w, m));
}

/* Gaps and flags of contacts at the start of the step. A contact that an edit deepened gets a new
 * rest penetration, so that its spring stores no energy of the edit. A slightly deeper one, whose
 * rolling body was represented by outdated points, is compressed, and its motion repays that
 * energy. `updated`: the pair cache changed. */
static void update_contacts(gw_world *w, bool updated)
{
    for (int i = 0; i < w->contact_count; i++) {
        gw_contact *c = &w->contacts[i];
        c->renewed =
            c->renewed ||
            (updated && !(pose_is_stored(w, c->candidate.a) && pose_is_stored(w, c->candidate.b)));
        begin_gap(w, c);
        double deeper = -c->now.gap - c->last_depth;
        double compression = gw_max(c->last_depth - c->rest_penetration, 0);
        c->energy_to_repay = 0;
        if (c->continuous && deeper > MAX_REPAID_DEEPENING)
            c->rest_penetration += deeper;
        else if (c->continuous && deeper > 0 && updated)
            c->energy_to_repay = c->stiffness * deeper * (compression + 0.5 * deeper);
        if (moves_freely(w, c)) {
            c->continuous = false;
            c->rest_penetration = 0;
            c->friction_spring.slip = gw_v3(0, 0, 0);
            c->friction_spring.spin = 0;
        }
        c->no_rebound = c->collided && c->now.gap < -GW_WORLD_DEFERRED_DEPTH;
        c->collided = c->immovable = c->reimpact = c->overcompressed = false;
        c->deferred = c->queued = false;
        c->impulse = c->load_at_start = 0;
    }
}

/* Updates pairs, their contacts and bodies at the start of the step; true if they differ from those
 * at the end of the last step. */
static bool update_pairs(gw_world *w)
{
    bool redetected = gw_pairs_apply_redetected(w), set = gw_pairs_apply_candidates(w);
    gw_pairs_apply_followed(w);
    for (int i = 0; i < w->pair_count; i++) {
        update_body(w, w->pairs[i].a);
        update_body(w, w->pairs[i].b);
    }
    gw_toi_redetect_before_step(w);
    return gw_pairs_apply_redetected(w) || redetected || set;
}

/* ---- a step --------------------------------------------------------------------------------- */

static void pre_step(gw_world *w, gw_world_step_result *out)
{
    *out = (gw_world_step_result){0};
    w->effort = w->row_work = w->friction_effort = w->deferred = w->redetections_skipped =
        w->redetection_cost = 0;
    w->recorded_count = 0;
    w->scratch_of[0] = w->scratch_of[1] = -1;
    w->budget = (int)fmax(GW_WORLD_EFFORT_MIN, GW_WORLD_EFFORT_PER_SECOND * w->dt);
    double spring = 0;
    for (int m = 0; m < w->system_count; m++) {
        gw_world_system *system = &w->systems[m];
        system->step = (gw_step){.finite = true, .margin = 1};
        system->collided = w->in_contact[m] = false;
        memset(system->impulse, 0,
               (size_t)gw_model_dof(gw_world_model(w, m)) * sizeof *system->impulse);
    }
    bool updated = update_pairs(w);
    update_contacts(w, updated);
    gw_islands_find(w);
    for (int i = 0; i < w->contact_count; i++)
        spring += gw_contact_spring_energy(&w->contacts[i]) - w->contacts[i].energy_to_repay;
    /* energy of contacts that are no longer candidates is lost; other changes come of moved bodies
     */
    if (updated && spring < w->last_spring_energy)
        out->dissipated += w->last_spring_energy - spring;
    else
        out->external_work += spring - w->last_spring_energy;
}

static void post_step(gw_world *w, gw_world_step_result *out)
{
    /* bodies moved from outside go on with their twist until they are set again */
    for (int i = 0; i < w->body_count; i++) {
        gw_body_state *p = &w->bodies[i];
        p->unchanged = p->unmoved = p->model >= 0 || !p->moving;
        if (p->unchanged)
            continue;
        p->start_pose = p->step_pose;
        p->start_twist = p->twist;
        p->step_pose = gw_body_state_extrapolate(p, w->dt, &p->twist);
    }
    for (int i = 0; i < w->contact_count; i++) {
        gw_contact *c = &w->contacts[i];
        c->last_depth = -c->now.gap;
        out->spring += gw_contact_spring_energy(c);
        out->touching +=
            c->constrained || (c->now.gap < gw_max(-c->rest_penetration, 0) && !c->spurious);
        out->immovable = out->immovable || c->immovable;
    }
    out->effort = w->effort + w->redetection_cost;
    out->deferred = w->deferred;
    out->redetections_skipped = w->redetections_skipped;
    w->last_spring_energy = out->spring;
    w->step_count++;
}

void gw_world_step_all(gw_world *w, gw_world_system *systems, double dt, gw_world_step_result *out)
{
    assert(systems || w->system_count == 0);
    assert(dt > 0 && isfinite(dt));
    w->systems = systems;
    w->dt = dt;
    pre_step(w, out);
    for (int m = 0; m < w->system_count; m++)
        if (gw_island_select(w, m))
            gw_island_step(w, out);
    post_step(w, out);
    w->systems = NULL;
}

/* ---- results -------------------------------------------------------------------------------- */

static gw_contact_status state_of(const gw_contact *c)
{
    if (c->immovable)
        return GW_CONTACT_IMMOVABLE;
    if (c->collided)
        return GW_CONTACT_COLLIDING;
    bool presses = c->now.gap < fmax(0, -c->rest_penetration) || (c->loaded && c->load > 0);
    return c->constrained || (c->continuous && presses) ? GW_CONTACT_CONTINUOUS : GW_CONTACT_NONE;
}

int gw_world_contacts(const gw_world *w, gw_contact_data *points, int capacity)
{
    assert(w && capacity >= 0 && (capacity == 0 || points));
    int count = 0;
    for (int i = 0; i < w->contact_count && count < capacity; i++) {
        const gw_contact *c = &w->contacts[i];
        gw_contact_status state = state_of(c);
        gw_vec3 couple;
        if (state == GW_CONTACT_NONE && (c->now.gap >= 0 || c->spurious))
            continue;
        points[count++] = (gw_contact_data){.a = c->candidate.a,
                                            .b = c->candidate.b,
                                            .state = state,
                                            .point = c->now.at_a,
                                            .normal = c->now.normal,
                                            .force = gw_contact_force(w, c, &couple),
                                            .impulse = c->impulse,
                                            .gap = c->now.gap,
                                            .row = c->candidate.row};
    }
    return count;
}

int gw_world_collisions(const gw_world *w, gw_world_collision *collisions, int capacity)
{
    assert(w && (collisions || capacity == 0));
    int count = w->recorded_count < capacity ? w->recorded_count : capacity;
    for (int i = 0; i < count; i++)
        collisions[i] = w->recorded[i];
    return count;
}

int gw_world_unilaterals(const gw_world *w, gw_unilateral_state *states, int capacity)
{
    assert(w && capacity >= 0 && (capacity == 0 || states));
    int count = 0;
    for (int i = 0; i < w->contact_count && count < capacity; i++) {
        const gw_contact *c = &w->contacts[i];
        if (!c->candidate.row)
            continue;
        gw_unilateral_state *s = &states[count++];
        *s = (gw_unilateral_state){
            .row = c->candidate.row, .gap = c->now.gap, .at_a = c->now.at_a, .at_b = c->now.at_b};
        s->force = gw_contact_force(w, c, &s->couple);
        const gw_gap *start = &c->gap_at_start;
        gw_wrench pushed = gw_gap_wrench(start, c->load_at_start);
        s->start_force = pushed.f;
        s->start_couple = pushed.t;
        s->start_at_a = start->at_a;
        s->touches = c->collided || c->continuous || c->constrained;
    }
    return count;
}
