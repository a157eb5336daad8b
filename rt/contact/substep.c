/*
 * The step of one island. Each contact group is integrated on trial to the end of the step; the
 * collision with the earliest time of impact is then resolved: its groups are tried again to that
 * time, merged, given the impulse, and tried to the end of the step from there. Other groups of the
 * island are not integrated again.
 *
 *   gw_island_step
 *     start_step         groups, collisions at t = 0, trial of all
 *     next_impact        earliest contact of the queue of estimated times of impact
 *       resolve_impact   trial to its time of impact (time_of_impact.c), collision
 *                        (collision_response.c), trial to the end of the step
 *       defer_impact     where the step's effort is spent
 *     missed_impact      pairs that were not followed (time_of_impact.c)
 *
 * RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/contact/world_private.h"

#define MERGE_GAP       1e-7 /* gap up to which a collision takes other groups in (m) */
#define FEW_LOAD_TRIALS 6    /* of a substep, for loads that hold, */
#define MAX_LOAD_TRIALS 24   /* where they are bracketed, as long as the effort lasts */
#define MAX_PARTS       48   /* of a substep in which one does, and trials of them, */
#define LEAST_PART      GW_LEAST_PART
#define MAX_LIFT_OFFS   4 /* in a step that substeps end at */

#define FRICTION_PER_EFFORT 32 /* gw_forces.effort that counts as the step of a free body */

/* ---- trials --------------------------------------------------------------------------------- */

/* The hand's force for a time from the start of the substep: the callback counts from the
 * step's. */
static gw_wrench hand_at(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    const gw_contact_force_query *query = context;
    const gw_forces *hand = &query->world->systems[query->system].hand;
    return hand->at(hand->context, query->world->substep_start[query->system] + t, held, twist);
}

/* Applies the velocity change by loads over `time` (s) to a model. */
static void apply_contact_impulses(const gw_world *w, int m, gw_model *model, double time)
{
    double dv[GW_MODEL_MAX_DOF];
    if (!w->loaded[m] || gw_model_takes_load(model))
        return;
    for (int i = 0; i < gw_model_dof(model); i++)
        dv[i] = time * w->load_rate[(size_t)m * GW_MODEL_MAX_DOF + (size_t)i];
    gw_model_kick(model, dv);
}

gw_model *gw_world_scratch_model(gw_world *w, int k, int system)
{
    const gw_model *own = gw_world_model(w, system);
    size_t state = gw_model_state_size(own);
    unsigned char *copy = w->scratch_models[k];
    if (w->scratch_of[k] != system)
        memcpy(copy + state, (const unsigned char *)own + state, own->ops->size - state);
    w->scratch_of[k] = system;
    memcpy(copy, gw_world_saved(w, system), state);
    return (gw_model *)(void *)copy;
}

/* Integrates a model (the system's own, or a copy as its substep began) from the start of the
 * system's substep to t seconds into the step. */
static void integrate_model(gw_world *w, int m, gw_model *model, double t, gw_step *step)
{
    double h = t - w->substep_start[m];
    bool own = model == gw_world_model(w, m);
    if (own && w->advanced[m])
        memcpy((void *)model, gw_world_saved(w, m), gw_model_state_size(model));
    w->advanced[m] = w->advanced[m] || own;
    *step = (gw_step){.finite = true, .margin = 1};
    if (!(h > 0) || w->frozen[w->group[m]])
        return;
    gw_contact_force_query query = {.world = w, .system = m};
    if (w->continuous_count[m] > 0)
        gw_contact_gather_forces(w, m, &query);
    gw_forces forces = {.at = w->systems[m].hand.at ? hand_at : NULL,
                        .context = &query,
                        .contact_wrenches =
                            w->continuous_count[m] > 0 ? gw_contact_stage_forces : NULL,
                        .contact_context = &query,
                        .effort = &w->friction_effort,
                        .continues = w->substep_start[m] > 0};
    if (w->locked[m] || (w->loaded[m] && gw_model_takes_load(model)))
        forces.load = w->load_rate + (size_t)m * GW_MODEL_MAX_DOF;
    if (w->locked[m])
        forces.lock = w->locks + (size_t)m * GW_MODEL_MAX_DOF;
    apply_contact_impulses(w, m, model, 0.5 * h);
    int friction = w->friction_effort;
    gw_model_step(model, &forces, h, step);
    apply_contact_impulses(w, m, model, 0.5 * h);
    w->effort += 1 + gw_model_dof(model) / 8 + w->row_work / GW_ROW_WORK_PER_EFFORT;
    w->row_work %= GW_ROW_WORK_PER_EFFORT;
    w->effort += (w->friction_effort - friction) / FRICTION_PER_EFFORT;
}

/* ---- systems that step in lockstep ------------------------------------------------------------
 */

static bool any_row(const gw_world *w, int m)
{
    for (int i = w->contacts_of.first[m]; i >= 0 && w->unilateral_count > 0;
         i = w->contacts_of.next[i])
        if (w->contacts[w->contacts_of.of[i]].candidate.row)
            return true;
    return false;
}

/* True if a system is a free body on which only contacts and weight act. */
static bool may_lockstep(const gw_world *w, int m, double h)
{
    return w->continuous_count[m] > 0 && !w->systems[m].hand.at && !w->loaded[m] && !w->locked[m] &&
           !w->frozen[w->group[m]] && !any_row(w, m) && gw_lockstep_takes(gw_world_model(w, m), h);
}

/* The model, restored to its state at the start of its substep. */
static gw_model *restored_model(gw_world *w, int m)
{
    gw_model *model = gw_world_model(w, m);
    if (w->advanced[m])
        memcpy((void *)model, gw_world_saved(w, m), gw_model_state_size(model));
    w->advanced[m] = false;
    return model;
}

/* Chooses the active systems whose substep began at `start` and that step in lockstep to t. */
static void choose_lockstep(gw_world *w, double start, double t)
{
    gw_lockstep *s = w->lockstep;
    s->count = 0;
    for (int i = 0; i < w->active.system_count; i++) {
        int m = w->active.systems[i];
        if (w->substep_start[m] != start)
            continue;
        gw_model *model = restored_model(w, m);
        if (!may_lockstep(w, m, t - start))
            continue;
        s->bodies[s->count] = model;
        w->lockstep_of[m] = s->count++;
    }
}

/* Integrates these to t seconds into the step. */
static void integrate_lockstep(gw_world *w, double start, double t)
{
    bool finite[GW_LOCKSTEP_BODIES];
    gw_lockstep_query query = {.world = w, .start = start};
    gw_contact_gather_lockstep_forces(w, &query);
    gw_lockstep_step(w->lockstep, gw_contact_lockstep_forces, &query, t - start, finite);
    for (int i = 0; i < w->active.system_count; i++) {
        int m = w->active.systems[i], at = w->lockstep_of[m];
        if (at < 0 || w->substep_start[m] != start)
            continue;
        w->trial[m] = (gw_step){.finite = true, .margin = 1};
        w->advanced[m] = true;
        w->effort++;
        if (!finite[at])
            integrate_model(w, m, gw_world_model(w, m), t, &w->trial[m]);
    }
}

/* Integrates the systems of an island that may step in lockstep, grouped by the start of their
 * substeps: systems that touch have the same. */
static void step_in_lockstep(gw_world *w, double t)
{
    double start = -1; /* the last that was chosen for */
    for (int i = 0; i < w->island.system_count; i++)
        w->lockstep_of[w->island.systems[i]] = -1;
    while (w->island.system_count > 1) {
        double next = INFINITY;
        for (int i = 0; i < w->active.system_count; i++) {
            double of = w->substep_start[w->active.systems[i]];
            next = of > start ? fmin(next, of) : next;
        }
        if (!(next < t))
            return;
        choose_lockstep(w, next, t);
        if (w->lockstep->count > 0)
            integrate_lockstep(w, next, t);
        start = next;
    }
}

void gw_substep_without_contacts(gw_world *w)
{
    assert(w->island.system_count == 1);
    gw_world_system *system = &w->systems[w->island.systems[0]];
    gw_forces hand = {.at = system->hand.at, .context = system->hand.context};
    gw_model_step(system->model, &hand, w->dt, &system->step);
}

/* Integrates the active systems once to t seconds into the step. */
static void try_once(gw_world *w, double t)
{
    for (int i = 0; i < w->active.system_count; i++)
        w->pressed[w->active.systems[i]] = false;
    step_in_lockstep(w, t);
    for (int i = 0; i < w->active.system_count; i++) {
        int m = w->active.systems[i];
        if (w->lockstep_of[m] < 0)
            integrate_model(w, m, gw_world_model(w, m), t, &w->trial[m]);
        w->substep_end[m] = t;
    }
    gw_world_update_gaps(w, t);
}

void gw_substep_trial(gw_world *w, double t)
{
    assert(t >= 0 && t <= w->dt);
    bool kept = gw_waveforms_keep(w, t);
    try_once(w, t);
    if (!kept && gw_waveforms_set(w, t))
        try_once(w, t);
}

double gw_substep_latest_start(const gw_world *w)
{
    double t = 0;
    for (int i = 0; i < w->active.system_count; i++)
        t = fmax(t, w->substep_start[w->active.systems[i]]);
    return t;
}

/* State of a body at t in a trial of one contact's systems; model NULL: body of no stepped
 * system. */
static gw_body_state trial_state(const gw_world *w, int body, gw_model *model, double t)
{
    gw_body_state state = w->bodies[body];
    if (model) {
        gw_model_body(model, state.index, &state.pose, &state.twist);
        return state;
    }
    state.pose = state.start_pose;
    if (state.model < 0)
        state.pose = gw_body_state_extrapolate(&w->bodies[body], t, &state.twist);
    return state;
}

void gw_substep_trial_of_pair(gw_world *w, const gw_contact *c, double t, double *gap, double *rate)
{
    gw_model *model[2] = {NULL, NULL};
    int system[2] = {c->system_a, c->system_b};
    for (int k = 0; k < 2; k++) {
        gw_step step;
        if (system[k] < 0)
            continue;
        if (k == 1 && system[1] == system[0]) {
            model[1] = model[0];
            break;
        }
        model[k] = gw_world_scratch_model(w, k, system[k]);
        integrate_model(w, system[k], model[k], t, &step);
    }
    gw_body_state a = trial_state(w, c->candidate.a, model[0], t);
    gw_body_state b = trial_state(w, c->candidate.b, model[1], t);
    *gap = gw_gap_of_states(&c->candidate, &a, &b, rate).gap;
    *gap += gw_contact_whole_turns(c, model[c->system_a >= 0 ? 0 : 1], *gap) - c->impact_gap;
}

/* ---- substeps ------------------------------------------------------------------------------- */

/* Bodies of the active group start their substep; those of other groups go on with theirs. */
static void set_start_states(gw_world *w, const gw_island *of)
{
    int group = w->group[w->active.systems[0]];
    for (int i = 0; i < of->body_count; i++) {
        gw_body_state *state = &w->bodies[of->bodies[i]];
        if (state->model < 0 || w->group[state->model] != group)
            continue;
        state->start_pose = state->pose;
        state->start_twist = state->twist;
    }
}

static void begin_substep(gw_world *w)
{
    w->motion_epoch++;
    gw_constrain_contacts(w);
    set_start_states(w, &w->active);
    set_start_states(w, &w->boundary);
    for (int i = 0; i < w->active.contact_count; i++)
        gw_contact_begin_substep(w, &w->contacts[w->active.contacts[i]]);
    for (int i = 0; i < w->active.system_count; i++) {
        int m = w->active.systems[i];
        const gw_model *model = gw_world_model(w, m);
        w->in_contact[m] = w->in_contact[m] || w->continuous_count[m] > 0;
        memcpy(gw_world_saved(w, m), (const void *)model, gw_model_state_size(model));
        w->advanced[m] = false;
    }
}

/* Mean acceleration of a system's body in the substep that ends at t, except very short ones. Zero
 * for a system without continuous contacts, whose motion no other one extrapolates: results must
 * not depend on when the detector found its pairs. */
static void note_acceleration(gw_world *w, int body, double t)
{
    gw_body_state *p = &w->bodies[body];
    double h = p->model >= 0 ? t - w->substep_start[p->model] : 0;
    if (h < 1e-3 * w->dt)
        return;
    if (w->continuous_count[p->model] == 0) {
        p->acceleration = (gw_twist){{0, 0, 0}, {0, 0, 0}};
        return;
    }
    p->acceleration.v = gw_scale(1 / h, gw_sub(p->twist.v, p->start_twist.v));
    p->acceleration.w = gw_scale(1 / h, gw_sub(p->twist.w, p->start_twist.w));
}

/* The active systems' trials to t are accepted. */
static void end_substep(gw_world *w, double t)
{
    w->motion_epoch++;
    for (int i = 0; i < w->active.body_count; i++)
        note_acceleration(w, w->active.bodies[i], t);
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        gw_contact_end_substep(w, c, t - w->substep_start[gw_contact_any_system(c)]);
    }
    for (int i = 0; i < w->active.system_count; i++) {
        int m = w->active.systems[i];
        if (t > w->substep_start[m] && !w->frozen[w->group[m]])
            gw_step_add(&w->systems[m].step, &w->trial[m], w->substep_start[m] == 0);
        w->substep_start[m] = t;
    }
}

/* ---- estimated times of impact --------------------------------------------------------------- */

/* Queues contacts that close before the end of the step, where all bodies are. */
static void estimate_impacts(gw_world *w, const gw_island *of)
{
    for (int i = 0; i < of->contact_count; i++) {
        gw_contact *c = &w->contacts[of->contacts[i]];
        c->toi = gw_toi_estimate(w, c, w->dt);
        if (c->queued || !isfinite(c->toi))
            continue;
        c->queued = true;
        w->toi_queue[w->toi_queue_count++] = of->contacts[i];
    }
}

/* True if the step's budget does not suffice for another collision and `reserve` more. */
static bool effort_is_spent(const gw_world *w, int reserve)
{
    return w->effort + reserve >= w->budget;
}

static bool any_gave_way(const gw_world *w)
{
    for (int i = 0; i < w->active.contact_count; i++)
        if (gw_contact_is_violated(&w->contacts[w->active.contacts[i]]))
            return true;
    return false;
}

/* True if a held contact was violated, or opened by its load beyond GW_CONTACT_HELD_DEPTH. */
static bool any_load_fails(const gw_world *w)
{
    for (int i = 0; i < w->active.contact_count; i++) {
        const gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (c->continuous && gw_contact_is_rigid(c) && c->load > 0 &&
            c->now.gap > fmax(0, c->start.gap) + GW_CONTACT_HELD_DEPTH)
            return true;
    }
    return any_gave_way(w);
}

/* A trial to t with the coordinates at pressed limits locked; false if there are none. */
static bool try_locked(gw_world *w, double t)
{
    double h = t - gw_substep_latest_start(w);
    if (!gw_lock_coordinates(w, h))
        return false;
    do
        gw_substep_trial(w, t);
    while (gw_release_locks(w, h));
    return true;
}

/* Trials to t, without loads at first; contacts that hold have their last loads, and are tried
 * again while these are not right. GW_RIGID_FORCES_NONE, if `locks` may replace loads: none are. */
static gw_rigid_forces_result try_loads(gw_world *w, double t, double h, bool locks)
{
    gw_rigid_forces_result found = GW_RIGID_FORCES_BETTER;
    gw_rigid_forces_begin(w, h);
    for (int n = 0; n < MAX_LOAD_TRIALS && found == GW_RIGID_FORCES_BETTER; n++) {
        if (n >= FEW_LOAD_TRIALS &&
            (!gw_rigid_forces_are_bracketed(w) || effort_is_spent(w, w->budget / 2)))
            break;
        for (int i = 0; i < w->active.system_count; i++)
            w->loaded[w->active.systems[i]] = false;
        gw_substep_trial(w, t);
        if (locks && gw_no_load_holds(w, h))
            return GW_RIGID_FORCES_NONE;
        found = gw_rigid_forces_solve(w, h);
    }
    return found;
}

/* A trial to t with the loads solved from those before. If locks replaced them in the last trial,
 * or no constant loads hold, coordinates are locked first. */
static void try_with_loads(gw_world *w, double t)
{
    double h = t - gw_substep_latest_start(w);
    bool locked = gw_unlock_coordinates(w);
    if (!(h > 0))
        return;
    bool may_lock = gw_locks_may_hold(w);
    gw_rigid_forces_result found =
        locked && may_lock ? GW_RIGID_FORCES_NONE : try_loads(w, t, h, may_lock);
    if (found == GW_RIGID_FORCES_NONE) {
        if (try_locked(w, t) && !any_load_fails(w))
            return;
        gw_unlock_coordinates(w);
        found = try_loads(w, t, h, false);
    }
    if (found == GW_RIGID_FORCES_BETTER)
        gw_rigid_forces_end(w);
    if (found != GW_RIGID_FORCES_RIGHT)
        gw_substep_trial(w, t);
    for (int n = 0; n < FEW_LOAD_TRIALS && found == GW_RIGID_FORCES_NEW && !effort_is_spent(w, 0) &&
                    !gw_rigid_forces_reach_rates(w, h);
         n++) {
        gw_rigid_forces_solve(w, h);
        gw_substep_trial(w, t);
    }
    if (any_load_fails(w))
        try_locked(w, t);
}

/* A contact of the active part that closes until t; NULL: none does. */
static gw_contact *closing_until(gw_world *w, double t)
{
    (void)gw_toi_follow_passed_limits(w);
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (isfinite(gw_toi_estimate(w, c, t)))
            return c;
    }
    return NULL;
}

/* After a trial to the end of the step (of effort `cost`) that violated held contacts: divides it
 * into parts, halved until their loads hold, each a substep. Ends where a contact closes, which is
 * left to the queue of impacts, or where the budget beside impacts is used up. */
static void try_in_parts(gw_world *w, int cost)
{
    double part = w->dt - gw_substep_latest_start(w);
    bool at_end = true;
    for (int n = 0; n < MAX_PARTS && (any_gave_way(w) || gw_any_load_turns_far(w)); n++) {
        if (effort_is_spent(w, w->budget / 4 + 2 * cost) || part <= LEAST_PART * w->dt)
            break;
        double start = gw_substep_latest_start(w);
        part = 0.5 * fmin(part, w->dt - start);
        try_with_loads(w, start + part);
        at_end = false;
        if ((any_gave_way(w) || gw_any_load_turns_far(w)))
            continue;
        if (closing_until(w, start + part))
            break;
        end_substep(w, start + part);
        begin_substep(w);
        part *= 4;
        gw_island_make_rigid(w);
        try_with_loads(w, w->dt);
        at_end = true;
    }
    if (!at_end)
        try_with_loads(w, w->dt);
}

/* After a trial to the end of the step: ends substeps where a contact that holds lifts off. One
 * force for all of the substep would be wrong on either side. */
static void end_at_lift_offs(gw_world *w)
{
    for (int n = 0; n < MAX_LIFT_OFFS && !effort_is_spent(w, w->budget / 2); n++) {
        double start = gw_substep_latest_start(w);
        double t = start + gw_first_lift_off(w, w->dt - start);
        if (!(t < (1 - LEAST_PART) * w->dt))
            return;
        try_with_loads(w, t);
        bool clear = !any_gave_way(w) && !closing_until(w, t);
        if (clear) {
            end_substep(w, t);
            begin_substep(w);
            gw_island_make_rigid(w);
        }
        try_with_loads(w, w->dt);
        if (!clear)
            return;
    }
}

static bool has_end(const gw_world *w, int system)
{
    return system < 0 || w->trial[system].finite;
}

/* True for held bounds and surfaces, which may yield; coordinates of joints are locked instead. */
static bool may_yield(const gw_contact *c)
{
    return c->continuous && gw_contact_is_rigid(c) && !c->candidate.row->limits;
}

/* True if a trial violated the contact, opened it while its load acted, or has no finite end. */
static bool load_fails(const gw_world *w, const gw_contact *c)
{
    double slack = gw_contact_slack(w, c);
    double least = fmin(0, c->start.gap) - slack;
    double most = c->load == 0 ? INFINITY : fmax(0, c->start.gap) + slack;
    return may_yield(c) && !(c->now.gap > least && c->now.gap < most && has_end(w, c->system_a) &&
                             has_end(w, c->system_b));
}

/* Replaces loads that failed in a trial to t by springs, and repeats the trial; false: none
 * failed. */
static bool yield_where_passed(gw_world *w, double t)
{
    bool passed = false;
    for (int i = 0; i < w->active.contact_count; i++)
        passed = passed || load_fails(w, &w->contacts[w->active.contacts[i]]);
    if (!passed)
        return false;
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (may_yield(c))
            gw_contact_make_spring(c);
    }
    for (int i = 0; i < w->active.system_count; i++)
        w->loaded[w->active.systems[i]] = false;
    if (gw_island_make_rigid(w))
        try_with_loads(w, t);
    else
        gw_substep_trial(w, t);
    return true;
}

/* Tries the active part to the end of the step. */
static void try_to_end(gw_world *w)
{
    for (int i = 0; i < w->active.system_count; i++)
        w->loaded[w->active.systems[i]] = false;
    if (gw_island_make_rigid(w)) {
        int before = w->effort;
        try_with_loads(w, w->dt);
        if (w->boundary.contact_count == 0) {
            try_in_parts(w, w->effort - before);
            end_at_lift_offs(w);
        }
        yield_where_passed(w, w->dt);
    } else {
        gw_unlock_coordinates(w);
        gw_substep_trial(w, w->dt);
    }
    estimate_impacts(w, &w->active);
    for (int i = 0; i < w->boundary.contact_count; i++) {
        gw_contact *c = &w->contacts[w->boundary.contacts[i]];
        c->slow_impact = false;
        gw_contact_set_start(w, c, 0);
        gw_contact_update_gap(w, c);
    }
    estimate_impacts(w, &w->boundary);
}

/* The contact of the queue that collides first; NULL: none does. */
static gw_contact *next_impact(gw_world *w)
{
    gw_contact *first = NULL;
    int count = 0;
    for (int i = 0; i < w->toi_queue_count; i++) {
        gw_contact *c = &w->contacts[w->toi_queue[i]];
        c->queued = isfinite(c->toi);
        if (!c->queued)
            continue;
        w->toi_queue[count++] = w->toi_queue[i];
        if (!first || c->toi < first->toi)
            first = c;
    }
    w->toi_queue_count = count;
    return first;
}

/* ---- deferring collisions for lack of effort ------------------------------------------------- */

static void put_off_collision(gw_world *w, gw_contact *c)
{
    c->deferred = true;
    c->toi = INFINITY;
    w->deferred++;
}

/* Defers the collision of the active group; freezes the group if it is too deep already, or a limit
 * would be at the end of the step. */
static void defer_collision(gw_world *w)
{
    double left = w->dt - gw_substep_latest_start(w);
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (!gw_contact_collides(w, c))
            continue;
        put_off_collision(w, c);
        double limit_depth = gw_contact_bounds_coordinate(c) ? -c->now.gap - left * c->gap_rate : 0;
        if (gw_contact_too_deep(c) || limit_depth > GW_WORLD_DEFERRED_DEPTH)
            w->frozen[w->group[w->active.systems[0]]] = true;
    }
}

/* True if an impact must be deferred; resolving it takes two trials of its groups. A contact that
 * ends open has passed through, and is resolved while there is any effort left. */
static bool must_defer(const gw_world *w, const gw_contact *c)
{
    int trials = 0;
    for (int i = 0; i < w->island.system_count; i++) {
        int g = w->group[w->island.systems[i]];
        trials += (c->system_a >= 0 && g == w->group[c->system_a]) ||
                  (c->system_b >= 0 && g == w->group[c->system_b]);
    }
    return effort_is_spent(w, c->now.gap > -GW_CONTACT_CLOSED_GAP ? 0 : 2 * trials);
}

/* ---- collisions ------------------------------------------------------------------------------ */

bool gw_contact_rebounds_low(const gw_contact *c)
{
    return gw_contact_has_solved_force(c) && c->gap_rate >= 0 &&
           c->gap_rate * c->gap_rate < -2 * c->gap_acceleration * GW_CONTACT_CLOSED_GAP;
}

void gw_contact_rest_if_slow(gw_world *w, gw_contact *c)
{
    if (c->continuous || c->immovable || c->spurious)
        return;
    if (c->now.gap <= GW_CONTACT_CLOSED_GAP &&
        (fabs(c->gap_rate) < w->rules.rest_speed || gw_contact_rebounds_low(c)))
        gw_contact_make_continuous(w, c);
}

/* Whether a contact of the active part collides now; slow ones come to rest. */
static bool any_collides(gw_world *w)
{
    bool any = false;
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        gw_contact_rest_if_slow(w, c);
        any = any || gw_contact_collides(w, c);
    }
    return any;
}

/* Resolves collisions of the active group until nothing collides. After GW_WORLD_MAX_TOI_EVENTS in
 * a step collisions are plastic; after as many again the group is frozen, so that nothing is
 * penetrated. */
static void resolve_collisions(gw_world *w, int reserve, gw_world_step_result *out)
{
    int group = w->group[w->active.systems[0]];
    while (any_collides(w)) {
        if (w->collisions[group] >= 2 * GW_WORLD_MAX_TOI_EVENTS) {
            w->frozen[group] = true;
            return;
        }
        if (effort_is_spent(w, reserve)) {
            defer_collision(w);
            return;
        }
        bool rebounds = w->collisions[group]++ < GW_WORLD_MAX_TOI_EVENTS;
        gw_resolve_collision(w, rebounds ? GW_COLLISION_RESTITUTION : GW_COLLISION_PLASTIC);
        gw_island_forget_loads(w);
        out->collisions++;
    }
}

/* With the active group at t: integrates the groups that touch it there to t and merges them. */
static void merge_touching_groups(gw_world *w, double t)
{
    int group = w->group[w->active.systems[0]];
    for (int i = 0; i < w->boundary.contact_count; i++) {
        const gw_contact *c = &w->contacts[w->boundary.contacts[i]];
        bool a_is_active = w->group[c->system_a] == group;
        int other = a_is_active ? c->system_b : c->system_a, other_group = w->group[other];
        gw_body_state a = w->bodies[c->candidate.a], b = w->bodies[c->candidate.b];
        if (a_is_active)
            b = gw_body_state_interpolate(w, c->candidate.b, t);
        else
            a = gw_body_state_interpolate(w, c->candidate.a, t);
        gw_gap gap = gw_gap_at(&c->candidate, &a.pose, &b.pose);
        if (gap.gap > MERGE_GAP || c->immovable || w->substep_start[other] > t)
            continue;
        gw_groups_activate(w, other_group, other_group);
        gw_substep_trial(w, t);
        end_substep(w, t);
        gw_groups_merge(w, group, other_group);
        gw_groups_activate(w, group, group);
        gw_world_update_gaps(w, t);
        i = -1; /* the boundary is another one */
    }
}

/* After a trial of the active part to an impact at t: loads of the longer trial may be wrong for
 * this one, and are then solved again; if that changes which contact closes, or fails too, the
 * substep ends earlier. Returns its end (s into the step), to which the active part is
 * integrated. */
static double hold_until_impact(gw_world *w, double t)
{
    for (int n = 0; n < MAX_PARTS && any_gave_way(w) && !effort_is_spent(w, w->budget / 4); n++) {
        double start = gw_substep_latest_start(w);
        try_with_loads(w, t);
        gw_contact *c = closing_until(w, t);
        double at = c ? gw_toi_rewind(w, c, t) : INFINITY;
        if (at < t) {
            t = at;
        } else if (any_gave_way(w) && t - start > LEAST_PART * w->dt) {
            t = start + 0.5 * (t - start);
            gw_substep_trial(w, t);
        } else {
            break;
        }
    }
    gw_contact *c = yield_where_passed(w, t) ? closing_until(w, t) : NULL;
    return c ? fmin(t, gw_toi_rewind(w, c, t)) : t;
}

/* The impact of contact c, the earliest of the queue. */
static void resolve_impact(gw_world *w, gw_contact *c, gw_world_step_result *out)
{
    int a = w->group[gw_contact_any_system(c)];
    int b = gw_contact_both_dynamic(c) ? w->group[c->system_b] : a;
    gw_groups_activate(w, a, b);
    double t = gw_toi_rewind(w, c, w->dt);
    c->toi = INFINITY;
    if (!(t < w->dt))
        return;
    t = hold_until_impact(w, t);
    end_substep(w, t);
    gw_groups_merge(w, a, b);
    gw_groups_activate(w, a, a);
    merge_touching_groups(w, t);
    resolve_collisions(w, w->active.system_count, out);
    begin_substep(w);
    try_to_end(w);
}

/* True if the systems of contact c are still at the start of the step. */
static bool stands_at_start(const gw_world *w, const gw_contact *c)
{
    return (c->system_a < 0 || !(w->substep_start[c->system_a] > 0)) &&
           (c->system_b < 0 || !(w->substep_start[c->system_b] > 0));
}

/* Defers an impact. Groups that would overlap too much, or pass through, are frozen at the start of
 * their substep; if that is the start of the step, at the impact, for otherwise the step would
 * repeat for ever. */
static void defer_impact(gw_world *w, gw_contact *c, gw_world_step_result *out)
{
    int system[2] = {c->system_a, c->system_b};
    bool freeze = gw_contact_overshot(c) && effort_is_spent(w, 0);
    if (freeze && stands_at_start(w, c))
        resolve_impact(w, c, out);
    put_off_collision(w, c);
    for (int k = 0; freeze && k < 2; k++) {
        int group = system[k] >= 0 ? w->group[system[k]] : -1;
        if (group < 0 || w->frozen[group])
            continue;
        gw_groups_activate(w, group, group);
        w->frozen[group] = true;
        try_to_end(w);
    }
}

/* Freezes the groups of pairs that may overlap for want of a query at the start of their substep,
 * but none in two steps one after the other; false: there are none. */
static bool freeze_unsure(gw_world *w)
{
    bool any = false;
    for (int i = 0; i < w->island.pair_count; i++) {
        gw_collision_pair *p = &w->pairs[w->island.pairs[i]];
        const int system[2] = {p->system_a, p->system_b};
        for (int k = 0; p->unsure && !p->waited && k < 2; k++) {
            int group = system[k] >= 0 ? w->group[system[k]] : -1;
            if (group < 0 || w->frozen[group])
                continue;
            p->frozen = any = true;
            w->deferred++;
            gw_groups_activate(w, group, group);
            w->frozen[group] = true;
            try_to_end(w);
        }
        p->unsure = false;
    }
    return any;
}

/* True if the trials missed an impact because its features were not followed; it is then queued. */
static bool missed_impact(gw_world *w)
{
    gw_groups_activate_all(w);
    bool missed = gw_toi_redetect_after_trial(w);
    if (missed)
        estimate_impacts(w, &w->active);
    return freeze_unsure(w) || missed;
}

/* ---- the island's step ----------------------------------------------------------------------- */

/* Resets the bodies that are moved from outside for the next island; softens one contact in
 * turn. */
static void reset_island(gw_world *w, gw_world_step_result *out)
{
    const gw_island *island = &w->island;
    w->motion_epoch++;
    w->external_work = 0;
    w->any_contact = false;
    w->toi_queue_count = 0;
    for (int i = 0; i < island->body_count; i++) {
        gw_body_state *state = &w->bodies[island->bodies[i]];
        if (state->model < 0)
            state->pose = state->start_pose = state->step_pose;
    }
    if (island->contact_count == 0)
        return;
    gw_contact *c = &w->contacts[island->contacts[w->step_count % (unsigned)island->contact_count]];
    double before = gw_contact_spring_energy(c);
    if (c->continuous)
        gw_contact_soften(w, c);
    out->dissipated += before - gw_contact_spring_energy(c);
}

/* Collisions at the start of the step, group by group; then all groups are tried to its end. */
static void start_step(gw_world *w, gw_world_step_result *out)
{
    gw_groups_find(w);
    for (int i = 0; i < w->island.system_count; i++) {
        int m = w->island.systems[i];
        if (w->group[m] != m)
            continue;
        gw_groups_activate(w, m, m);
        if (gw_island_overcompressed(w))
            gw_resolve_collision(w, GW_COLLISION_OVERCOMPRESSED);
        resolve_collisions(w, w->island.system_count, out);
        begin_substep(w);
    }
    gw_groups_activate_all(w);
    for (int i = 0; i < w->active.contact_count; i++) {
        gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (!gw_contact_both_dynamic(c) || w->group[c->system_a] == w->group[c->system_b])
            continue;
        /* between groups: neither of them began a substep for it */
        c->slow_impact = false;
        c->start = c->now;
        c->start_gap_rate = c->gap_rate;
        c->impact_gap = c->continuous ? 0 : fmin(0, c->start.gap);
        c->start_time = 0;
    }
    if (w->step_count == 0)
        gw_contacts_begin_with_forces(w);
    try_to_end(w);
}

void gw_island_step(gw_world *w, gw_world_step_result *out)
{
    assert(w && out);
    gw_energy_audit audit;
    if (w->island.pair_count == 0) {
        gw_energy_audit_without_contacts(w, out);
        return;
    }
    reset_island(w, out);
    gw_energy_audit_open(w, &audit);
    start_step(w, out);
    do
        for (gw_contact *c; (c = next_impact(w));)
            if (must_defer(w, c))
                defer_impact(w, c, out);
            else
                resolve_impact(w, c, out);
    while (missed_impact(w));
    end_substep(w, w->dt);
    gw_energy_audit_close(w, &audit, out);
}
