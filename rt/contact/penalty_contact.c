/*
 * Continuous contacts: a spring with damping that never pulls, and friction (impulsive-forces eq. 2
 * to 4 as corrected):
 *
 *   F_n = max(0, K p - B d(gap)/dt) n,   p = -gap - rest penetration
 *
 * evaluated in penalty_batch.c. In this file: stiffness and damping, from the effective mass and
 * the step; a system's forces at the stages of its integrator; the state of a contact through its
 * substeps. RT safe.
 */
#include "rt/contact/penalty_contact.h"

#include <assert.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/contact/unilateral_row.h"
#include "rt/contact/world_private.h"

/* A spring at the effective mass m is stable in a Runge-Kutta step far beyond k dt^2 / m = 0.4. */
#define STIFFNESS_SHARE 0.4
#define DAMPING_RATIO   0.5
#define VISCOUS_SHARE   2.0 /* d dt / m of friction, of all contacts of a system */
/* Number of contacts at a system from which on they share stiffness, damping along the normal, and
 * damping of friction that sticks, which all acts along one way: each of two systems steps with the
 * other's motion as predicted, which a light one below a heavy one does not bear at d dt / m = 2.5,
 * that of four contacts. */
#define SHARED_STIFFNESS 8.0
#define SHARED_DAMPING   4.0
#define SHARED_FRICTION  2.0
#define RELEASE_GAP      1e-6 /* gap at which the state continuous ends (m), */
#define SURELY_CLOSED    1e-6 /* what began to rest with a force sinks so deep (m), */
#define SINKING_TIME     0.05 /* over so long (s) */
#define MAX_COMPRESSION  2e-3 /* of a spring (m), */
#define RADIUS_SHARE     0.5  /* or this part of the radii of balls that touch */
#define BOTTOMING_RATIO  30.0 /* a surface bottoms out that is softer by this than a step bears */
#define TANGENTIAL_MASS                                                                            \
    4.0 /* bound of the mass along the normal, in tangential ones: a body may                      \
           turn as it touches */

/* ---- stiffness and damping --------------------------------------------------------------------
 */

/* Effective mass of the contact along a direction, 1 / (J D^-1 J^T) (kg). */
static double effective_mass(const gw_world *w, const gw_contact *c, gw_vec3 direction)
{
    gw_contact_jacobian_row row;
    gw_contact_jacobian(w, c, direction, true, true, &row);
    double inverse =
        gw_jacobian_row_max(w, &row) > 1e-9 ? gw_jacobian_row_inverse_mass(w, &row) : 0;
    return inverse > 0 ? 1 / inverse : INFINITY;
}

/* The least effective mass in the plane of t1 and t2, along which it is m1 and m2. It is less than
 * both at the corners of a body that rotates on its face. */
static double least_tangential_mass(const gw_world *w, const gw_contact *c, gw_vec3 t1, gw_vec3 t2,
                                    double m1, double m2)
{
    double mean = 0.5 * (1 / m1 + 1 / m2), apart = 0.5 * (1 / m1 - 1 / m2);
    double diagonal = 1 / effective_mass(w, c, gw_scale(sqrt(0.5), gw_add(t1, t2)));
    return 1 / (mean + hypot(apart, diagonal - mean));
}

/* The larger number of continuous contacts of its two systems. */
static double contacts_at_system(const gw_world *w, const gw_contact *c)
{
    int most = 0;
    if (c->system_a >= 0)
        most = w->continuous_count[c->system_a];
    if (c->system_b >= 0 && w->continuous_count[c->system_b] > most)
        most = w->continuous_count[c->system_b];
    return most;
}

/* Inertia about the normal, 1 / (J D^-1 J^T) of a couple there (kg m^2). */
static double effective_inertia(const gw_world *w, const gw_contact *c)
{
    gw_contact turns = *c;
    turns.now.lever = 1;
    return effective_mass(w, &turns, c->now.normal);
}

void gw_contact_stable_stiffness(const gw_world *w, const gw_contact *c, double *stiffness,
                                 double *damping, gw_friction_spring *spring)
{
    gw_vec3 n = c->now.normal, t1 = gw_any_normal(n), t2 = gw_cross(n, t1);
    bool turns = gw_gap_has_no_tangents(&c->now);
    double m1 = turns ? INFINITY : effective_mass(w, c, t1);
    double m2 = turns ? INFINITY : effective_mass(w, c, t2), across = fmin(m1, m2);
    double along = effective_mass(w, c, n), mass = along;
    /* a bound acts far from where a body turns, say at a line */
    if (!c->candidate.row || gw_contact_rolls(c))
        mass = fmin(along, TANGENTIAL_MASS * across);
    double contacts = contacts_at_system(w, c), dt = w->dt;
    double stiff = STIFFNESS_SHARE / fmax(1, contacts / SHARED_STIFFNESS) / (dt * dt);
    double share = fmax(1, contacts / SHARED_DAMPING);
    *stiffness = *damping = 0;
    *spring = (gw_friction_spring){.slip = spring->slip, .spin = spring->spin};
    if (!isfinite(along))
        return;
    *stiffness = stiff * mass;
    *damping = 2 * DAMPING_RATIO * sqrt(stiff) * mass / share;
    if (isfinite(across)) {
        double least = least_tangential_mass(w, c, t1, t2, m1, m2);
        spring->stiffness = stiff * least;
        double shared = gw_contact_rolls(c) ? share : fmax(1, contacts / SHARED_FRICTION);
        spring->damping = 2 * DAMPING_RATIO * sqrt(stiff) * least / shared;
        spring->viscous = VISCOUS_SHARE * across / dt / fmax(1, contacts);
    }
    if (c->candidate.row && c->candidate.row->traction == GW_TRACTION_SLIP_AND_SPIN) {
        double inertia = effective_inertia(w, c);
        spring->spin_stiffness = isfinite(inertia) ? stiff * inertia : 0;
        spring->spin_damping =
            isfinite(inertia) ? 2 * DAMPING_RATIO * sqrt(stiff) * inertia / share : 0;
    }
}

/* The surface's own value if it is stated and within the stability limit `most`. */
static double stated_or(double value, double most)
{
    return value > 0 ? fmin(value, most) : most;
}

/* ---- entering and leaving the state continuous -------------------------------------------------
 */

static void count_continuous(gw_world *w, const gw_contact *c, int change)
{
    if (c->system_a >= 0)
        w->continuous_count[c->system_a] += change;
    if (c->system_b >= 0 && c->system_b != c->system_a)
        w->continuous_count[c->system_b] += change;
}

void gw_contact_make_continuous(gw_world *w, gw_contact *c)
{
    assert(!c->continuous);
    if (c->constrained || gw_contact_may_be_constrained(w, c) ||
        gw_contact_lies_beside_constrained(w, c))
        return; /* then the next substep begins with that */
    count_continuous(w, c, 1);
    gw_contact_stable_stiffness(w, c, &c->stiffness, &c->damping, &c->friction_spring);
    if (c->stiffness == 0) {
        count_continuous(w, c, -1);
        c->immovable = true;
        return;
    }
    c->continuous = true;
    c->yields = false;
    c->loaded = gw_contact_has_solved_force(c);
    c->weighed = false;
    c->load = c->load_before = c->stored = c->tried = 0;
    c->load_slope = 0;
    gw_island_forget_loads(w);
    c->stiffness = stated_or(c->candidate.surface.stiffness, c->stiffness);
    c->damping = stated_or(c->candidate.surface.damping, c->damping);
    c->friction_spring.slip = gw_v3(0, 0, 0);
    c->friction_spring.spin = 0;
    c->rest_penetration = fmax(0, -c->now.gap);
    c->bottomed_out = false;
}

static void release_contact(gw_world *w, gw_contact *c)
{
    c->continuous = c->loaded = c->unconstrained = false;
    c->rest_penetration = 0;
    c->friction_spring.slip = gw_v3(0, 0, 0);
    c->friction_spring.spin = 0;
    count_continuous(w, c, -1);
}

double gw_contact_max_compression(const gw_contact *c)
{
    double size = RADIUS_SHARE * (c->candidate.radius_a + c->candidate.radius_b);
    return size > 0 ? fmin(size, MAX_COMPRESSION) : MAX_COMPRESSION;
}

/* Bottoming out of a soft surface under a heavy body: the stiffness rises to the stability limit K'
 * with the same force, K' (p - s) = K p, and the energy that the spring loses is dissipated. Only
 * once: a lower limit in a later step does not make the surface softer. */
static void bottom_out(const gw_world *w, gw_contact *c)
{
    double depth = -c->now.gap - c->rest_penetration, most, damping;
    gw_friction_spring unused = {0};
    if (c->bottomed_out || !(depth > gw_contact_max_compression(c)))
        return;
    gw_contact_stable_stiffness(w, c, &most, &damping, &unused);
    if (!(most > BOTTOMING_RATIO * c->stiffness))
        return;
    c->rest_penetration += depth * (1 - c->stiffness / most);
    c->stiffness = most;
    c->damping = damping;
    c->bottomed_out = true;
}

void gw_contact_soften(gw_world *w, gw_contact *c)
{
    gw_friction_spring *own = &c->friction_spring, spring;
    double stiffness, damping;
    spring = *own;
    gw_contact_stable_stiffness(w, c, &stiffness, &damping, &spring);
    if (stiffness == 0)
        return; /* nothing of it can move at present */
    c->stiffness = fmin(c->stiffness, stiffness);
    c->damping = fmin(c->damping, damping);
    own->stiffness = fmin(own->stiffness, spring.stiffness);
    own->damping = fmin(own->damping, spring.damping);
    own->viscous = spring.viscous;
    own->spin_stiffness = fmin(own->spin_stiffness, spring.spin_stiffness);
    own->spin_damping = fmin(own->spin_damping, spring.spin_damping);
}

double gw_contact_spring_energy(const gw_contact *c)
{
    const gw_friction_spring *t = &c->friction_spring;
    if (!c->continuous)
        return 0;
    double depth = gw_max(-c->now.gap - c->rest_penetration, 0);
    if (c->loaded && !gw_contact_is_rigid(c))
        return c->stored;
    if (c->loaded)
        depth = 0;
    return (c->loaded ? c->stored : 0) +
           0.5 * (c->stiffness * depth * depth + t->stiffness * gw_norm2(t->slip) +
                  t->spin_stiffness * t->spin * t->spin);
}

/* ---- forces at the stages of an integrator ------------------------------------------------------
 */

static bool is_damped(const gw_contact *c)
{
    return c->damping_active && !c->overcompressed;
}

bool gw_contact_has_solved_force(const gw_contact *c)
{
    return c->candidate.row && !c->yields;
}

/* Parameters with body a (or b) of the pair as `mine`. */
static gw_penalty_contact penalty_parameters(const gw_world *w, const gw_contact *c, bool is_a)
{
    bool sticks = w->rules.friction == GW_FRICTION_STICK;
    const gw_friction_spring *t = &c->friction_spring;
    return (gw_penalty_contact){.candidate = &c->candidate,
                                .is_a = is_a,
                                .stiffness = c->stiffness,
                                .damping = is_damped(c) ? c->damping : 0,
                                .rest_penetration = c->rest_penetration,
                                .friction = c->damping_active ? c->candidate.surface.friction : 0,
                                .viscous = t->viscous,
                                .tangential_stiffness = sticks ? t->stiffness : 0,
                                .tangential_damping = sticks ? t->damping : 0,
                                .slip = t->slip,
                                .anchor_a = c->anchor_a,
                                .anchor_b = c->anchor_b,
                                .anchor_offset = c->anchor_offset};
}

/* Force at the contact points and couple on a; the opposite acts on b. */
typedef struct row_force {
    gw_vec3 force, couple;
    gw_gap at;
} row_force;

/* Velocity of slip and of spin about the normal, of a against b. */
static gw_vec3 slip_rate(const gw_body_state *a, const gw_body_state *b, const gw_gap *g,
                         double *spin_rate)
{
    gw_vec3 v = gw_sub(gw_velocity_at(&a->pose, &a->twist, g->at_a),
                       gw_velocity_at(&b->pose, &b->twist, g->at_b));
    *spin_rate = gw_dot(g->normal, gw_sub(a->twist.w, b->twist.w));
    return gw_reject(v, g->normal);
}

/*
 * Force of a unilateral constraint for these states of its bodies, `since` s after the start of the
 * substep: F_n = max(0, K p - B d(gap)/dt), and while it is pressed the traction of a rolling
 * contact, without Coulomb's limit, x and theta being its slip and spin, integrated by the
 * trapezoidal rule:
 *
 *   F_t = -(k x + d v_t),   M_n = -(k_s theta + d_s w_n)
 */
static row_force row_force_of(const gw_contact *c, const gw_body_state *a, const gw_body_state *b,
                              double since)
{
    const gw_friction_spring *t = &c->friction_spring;
    double rate, spin_rate;
    row_force f = {.at = {.gap = 0}};
    if (gw_contact_is_rigid(c) && !(c->load > 0))
        return f;
    f.at = gw_gap_of_states(&c->candidate, a, b, &rate);
    double depth = -f.at.gap - c->rest_penetration, damped = is_damped(c) ? c->damping * rate : 0;
    double push = depth > 0 ? c->stiffness * depth - damped : 0;
    push = gw_contact_is_rigid(c) ? gw_contact_load_at(c, since) : push;
    if (!(push > 0))
        return f;
    gw_vec3 n = f.at.normal;
    gw_wrench pushes = gw_gap_wrench(&f.at, push);
    f.force = pushes.f, f.couple = pushes.t;
    if (!gw_contact_rolls(c) || !c->damping_active)
        return f;
    gw_vec3 v = slip_rate(a, b, &f.at, &spin_rate);
    gw_vec3 slip = gw_mul_add(t->slip, 0.5 * since, gw_add(c->start_slip_rate, v));
    double spin = t->spin + 0.5 * since * (c->start_spin_rate + spin_rate);
    gw_vec3 pulls = gw_scale(-t->stiffness, gw_reject(slip, n));
    pulls = gw_mul_add(pulls, -t->damping, v);
    double most = c->candidate.surface.friction * push, traction = gw_norm(pulls);
    f.force = gw_add(f.force, traction > most ? gw_scale(most / traction, pulls) : pulls);
    f.couple = gw_mul_add(f.couple, -(t->spin_stiffness * spin + t->spin_damping * spin_rate), n);
    return f;
}

gw_wrench gw_contact_spring_wrench(const gw_world *w, const gw_contact *c, const gw_body_motion *a,
                                   const gw_body_motion *b)
{
    gw_penalty_batch f;
    gw_penalty_contact contact = penalty_parameters(w, c, true);
    gw_wrench on = {{0, 0, 0}, {0, 0, 0}};
    gw_penalty_batch_init(&f, 0);
    gw_penalty_batch_add(&f, &contact, 0);
    gw_penalty_batch_set_other(&f, 0, b);
    gw_penalty_batch_apply(&f, a, w->rules.slip_speed, &on);
    return on;
}

gw_vec3 gw_contact_force(const gw_world *w, const gw_contact *c, gw_vec3 *couple)
{
    const gw_body_state *a = &w->bodies[c->candidate.a], *b = &w->bodies[c->candidate.b];
    gw_wrench on = {{0, 0, 0}, {0, 0, 0}};
    *couple = on.t;
    if (c->constrained)
        return gw_contact_constraint_force(w, c, couple);
    if (!c->continuous)
        return on.f;
    if (c->loaded && !gw_contact_is_rigid(c)) {
        on = gw_gap_wrench(&c->now, c->load);
        *couple = on.t;
        return on.f;
    }
    if (c->candidate.row) {
        row_force f = row_force_of(c, a, b, 0);
        *couple = f.couple;
        return f.force;
    }
    gw_body_motion motion_a = gw_body_motion_of(&a->pose, &a->twist);
    gw_body_motion motion_b = gw_body_motion_of(&b->pose, &b->twist);
    return gw_contact_spring_wrench(w, c, &motion_a, &motion_b).f;
}

static bool has_waveform(const gw_world *w, const gw_contact *c)
{
    return gw_waveform_is_set(&w->waveforms[c - w->contacts]);
}

/* A batch of that body with a free lane. */
static gw_penalty_batch *batch_of(gw_world *w, gw_contact_force_query *query, int body)
{
    for (int i = query->count - 1; i >= 0; i--)
        if (w->penalty_batches[i].body == body && w->penalty_batches[i].count < GW_LANES)
            return &w->penalty_batches[i];
    gw_penalty_batch_init(&w->penalty_batches[query->count], body);
    return &w->penalty_batches[query->count++];
}

void gw_contact_gather_forces(gw_world *w, int system, gw_contact_force_query *query)
{
    assert(system >= 0 && system < w->system_count);
    query->count = 0;
    query->any_rows = query->any_waveforms = false;
    query->t = NAN;
    for (int i = w->contacts_of.first[system]; i >= 0; i = w->contacts_of.next[i]) {
        const gw_contact *c = &w->contacts[w->contacts_of.of[i]];
        bool springs = c->continuous && !c->loaded && !c->candidate.row;
        query->any_rows = query->any_rows || (c->candidate.row && c->continuous);
        if (springs && has_waveform(w, c)) {
            query->any_waveforms = true;
            continue;
        }
        for (int side = 0; springs && side < 2; side++) {
            if ((side == 0 ? c->system_a : c->system_b) != system)
                continue;
            int mine = side == 0 ? c->candidate.a : c->candidate.b;
            int other = side == 0 ? c->candidate.b : c->candidate.a;
            gw_penalty_contact contact = penalty_parameters(w, c, side == 0);
            gw_penalty_batch_add(batch_of(w, query, w->bodies[mine].index), &contact, other);
        }
    }
}

/* Motion of a body of another system, extrapolated to t s after the start of the substep. */
static const gw_body_motion *predicted_motion(gw_world *w, int body, double t)
{
    const gw_body_state *state = &w->bodies[body];
    gw_predicted_motion *a = &w->predicted[body];
    if (a->motion_epoch != w->motion_epoch)
        *a = (gw_predicted_motion){.motion_epoch = w->motion_epoch};
    for (int i = 0; i < a->count; i++)
        if (a->t[i] == t)
            return &a->motion[i];
    int at = a->next;
    gw_twist twist;
    gw_pose pose = gw_body_state_extrapolate(state, t, &twist);
    a->t[at] = t;
    a->motion[at] = gw_body_motion_of(&pose, &twist);
    a->next = (at + 1) % GW_PREDICTED_TIMES;
    a->count = a->count < GW_PREDICTED_TIMES ? a->count + 1 : GW_PREDICTED_TIMES;
    return &a->motion[at];
}

/* Sets the other bodies' motions; for bodies of the same system those of the stage, stored in
 * `own`.
 */
static void set_others(gw_contact_force_query *query, gw_penalty_batch *f, double t,
                       const gw_pose *pose, const gw_twist *twist, gw_body_motion own[GW_LANES])
{
    gw_world *w = query->world;
    for (int lane = 0; lane < f->count; lane++) {
        const gw_body_state *state = &w->bodies[f->other[lane]];
        if (state->model == query->system) {
            own[lane] = gw_body_motion_of(&pose[state->index], &twist[state->index]);
            gw_penalty_batch_set_other(f, lane, &own[lane]);
        } else if (t != query->t && (state->moving || isnan(query->t))) {
            double start = state->model < 0 ? w->substep_start[query->system] : 0;
            gw_penalty_batch_set_other(f, lane, predicted_motion(w, f->other[lane], start + t));
        }
    }
}

/* A body at a stage: of the system as the integrator has it, of others extrapolated. */
static gw_body_state stage_state(const gw_contact_force_query *query, int body, double t,
                                 const gw_pose *pose, const gw_twist *twist)
{
    const gw_world *w = query->world;
    gw_body_state state = w->bodies[body];
    if (state.model == query->system) {
        state.pose = pose[state.index];
        state.twist = twist[state.index];
        return state;
    }
    double start = state.model < 0 ? w->substep_start[query->system] : 0;
    state.pose = gw_body_state_extrapolate(&w->bodies[body], start + t, &state.twist);
    return state;
}

/* Unilateral constraints, one by one. */
static void add_row_forces(const gw_contact_force_query *query, double t, const gw_pose *pose,
                           const gw_twist *twist, gw_wrench *on)
{
    gw_world *w = query->world;
    int system = query->system;
    for (int i = w->contacts_of.first[system]; i >= 0; i = w->contacts_of.next[i]) {
        const gw_contact *c = &w->contacts[w->contacts_of.of[i]];
        if (!c->candidate.row || !c->continuous || (c->loaded && !gw_contact_is_rigid(c)))
            continue;
        gw_body_state a = stage_state(query, c->candidate.a, t, pose, twist);
        gw_body_state b = stage_state(query, c->candidate.b, t, pose, twist);
        w->row_work += gw_contact_row_work(c);
        row_force f = row_force_of(c, &a, &b, t);
        for (int side = 0; side < 2; side++) {
            const gw_body_state *mine = side == 0 ? &a : &b;
            double sign = side == 0 ? 1 : -1;
            if ((side == 0 ? c->system_a : c->system_b) != system)
                continue;
            gw_wrench wrench = gw_wrench_at(&mine->pose, side == 0 ? f.at.at_a : f.at.at_b,
                                            gw_scale(sign, f.force));
            wrench.t = gw_mul_add(wrench.t, sign, f.couple);
            on[mine->index] = gw_wrench_add(on[mine->index], wrench);
        }
    }
}

/* Notes that springs act on a system, if `force` is not zero. */
static void note_press(gw_world *w, int system, gw_vec3 force)
{
    if (system >= 0 && (force.x != 0 || force.y != 0 || force.z != 0))
        w->pressed[system] = true;
}

/* Forces that are functions of time, one by one. */
static void add_waveforms(const gw_contact_force_query *query, double t, const gw_pose *pose,
                          gw_wrench *on)
{
    const gw_world *w = query->world;
    for (int i = w->contacts_of.first[query->system]; i >= 0; i = w->contacts_of.next[i]) {
        const gw_contact *c = &w->contacts[w->contacts_of.of[i]];
        bool is_a = c->system_a == query->system;
        if (!c->continuous || c->loaded || c->candidate.row || !has_waveform(w, c))
            continue;
        int body = w->bodies[is_a ? c->candidate.a : c->candidate.b].index;
        gw_waveform_add(&w->waveforms[c - w->contacts], t, is_a ? 1 : -1, pose[body].p, &on[body]);
    }
}

void gw_contact_stage_forces(const void *context, double t, const gw_pose *pose,
                             const gw_twist *twist, gw_wrench *on)
{
    gw_contact_force_query *query = (gw_contact_force_query *)context;
    gw_world *w = query->world;
    int bodies = gw_model_bodies(gw_world_model(w, query->system)), body = -1;
    gw_body_motion mine, own[GW_LANES];
    memset(on, 0, (size_t)bodies * sizeof *on);
    for (int i = 0; i < query->count; i++) {
        gw_penalty_batch *f = &w->penalty_batches[i];
        if (f->body != body)
            mine = gw_body_motion_of(&pose[f->body], &twist[f->body]);
        body = f->body;
        set_others(query, f, t, pose, twist, own);
        gw_penalty_batch_apply(f, &mine, w->rules.slip_speed, &on[f->body]);
        note_press(w, query->system, on[f->body].f);
    }
    if (query->any_rows)
        add_row_forces(query, t, pose, twist, on);
    if (query->any_waveforms)
        add_waveforms(query, t, pose, on);
    query->t = t;
}

/* ---- forces on systems that step in lockstep ----------------------------------------------------
 */

/* Kinds of batches, by the motion of the other body. */
typedef enum lockstep_kind {
    STANDING, /* the other body stays where it is */
    ALONE,    /* it steps by itself, or is moved from outside: its motion is extrapolated */
    TOGETHER  /* it steps along */
} lockstep_kind;

/* Whether a system steps in lockstep from `start`. */
static bool steps_from(const gw_world *w, int system, double start)
{
    return system >= 0 && w->lockstep_of[system] >= 0 && w->substep_start[system] == start;
}

/* A contact's parameters with `mine` of a system in lockstep (the first, if both are), and the
 * other body; false if neither is or no spring acts. */
static bool lockstep_contact(const gw_world *w, const gw_contact *c, double start,
                             lockstep_kind *kind, int *mine, int *other)
{
    bool a = steps_from(w, c->system_a, start), b = steps_from(w, c->system_b, start);
    if (!c->continuous || c->loaded || !(a || b))
        return false;
    *mine = a ? c->candidate.a : c->candidate.b;
    *other = a ? c->candidate.b : c->candidate.a;
    *kind = a && b ? TOGETHER : w->bodies[*other].moving ? ALONE : STANDING;
    return true;
}

/* A batch of that kind with a free lane; open[kind]: the last of it, -1: none. */
static gw_penalty_batch *lockstep_batch(gw_world *w, gw_lockstep_query *query, lockstep_kind kind,
                                        int open[3])
{
    if (open[kind] < 0 || w->penalty_batches[open[kind]].count == GW_LANES) {
        open[kind] = query->count++;
        gw_penalty_batch_init(&w->penalty_batches[open[kind]], (int)kind);
    }
    return &w->penalty_batches[open[kind]];
}

void gw_contact_gather_lockstep_forces(gw_world *w, gw_lockstep_query *query)
{
    int mine, other, open[3] = {-1, -1, -1};
    lockstep_kind kind;
    query->count = 0;
    query->any_waveforms = false;
    for (int i = 0; i < w->active.contact_count; i++) {
        const gw_contact *c = &w->contacts[w->active.contacts[i]];
        if (!lockstep_contact(w, c, query->start, &kind, &mine, &other))
            continue;
        if (has_waveform(w, c)) {
            query->any_waveforms = true;
            continue;
        }
        gw_penalty_batch *f = lockstep_batch(w, query, kind, open);
        gw_penalty_contact contact = penalty_parameters(w, c, mine == c->candidate.a);
        int lane = f->count, m = w->bodies[other].model;
        f->mine[lane] = w->lockstep_of[w->bodies[mine].model];
        gw_penalty_batch_add(f, &contact, other);
        gw_penalty_batch_set_other(f, lane,
                                   kind == TOGETHER ? &w->lockstep->motion[w->lockstep_of[m]]
                                                    : predicted_motion(w, other, 0));
    }
}

/* Adds the forces of a batch's contacts to its bodies; `both`: also to the other ones. */
static void add_lockstep_forces(gw_world *w, gw_penalty_batch *f, bool both)
{
    gw_lockstep *s = w->lockstep;
    const gw_body_motion *mine[GW_LANES];
    gw_penalty_forces forces;
    for (int lane = 0; lane < GW_LANES; lane++)
        mine[lane] = &s->motion[f->mine[lane]];
    gw_penalty_batch_apply_between(f, mine, w->rules.slip_speed, &forces);
    for (int lane = 0; lane < f->count; lane++) {
        gw_wrench *on = &s->on[f->mine[lane]];
        gw_vec3 force = {forces.force.x[lane], forces.force.y[lane], forces.force.z[lane]};
        if (f->body == ALONE)
            note_press(w, w->bodies[f->other[lane]].model, force);
        on->f = gw_add(on->f, force);
        on->t = gw_add(on->t,
                       gw_v3(forces.torque.x[lane], forces.torque.y[lane], forces.torque.z[lane]));
        if (!both)
            continue;
        on = &s->on[w->lockstep_of[w->bodies[f->other[lane]].model]];
        on->f = gw_sub(on->f, force);
        on->t = gw_add(on->t, gw_v3(forces.other_torque.x[lane], forces.other_torque.y[lane],
                                    forces.other_torque.z[lane]));
    }
}

/* Adds forces that are functions of time to the systems in lockstep. */
static void add_lockstep_waveforms(const gw_world *w, double start, double t)
{
    gw_lockstep *s = w->lockstep;
    for (int i = 0; i < w->active.contact_count; i++) {
        const gw_contact *c = &w->contacts[w->active.contacts[i]];
        lockstep_kind kind;
        int mine, other;
        if (!lockstep_contact(w, c, start, &kind, &mine, &other) || !has_waveform(w, c))
            continue;
        const int system[2] = {c->system_a, c->system_b};
        for (int side = 0; side < 2; side++)
            if (steps_from(w, system[side], start)) {
                int at = w->lockstep_of[system[side]];
                gw_waveform_add(&w->waveforms[c - w->contacts], t, side == 0 ? 1 : -1,
                                s->motion[at].p, &s->on[at]);
            }
    }
}

void gw_contact_lockstep_forces(void *context, double t)
{
    const gw_lockstep_query *query = context;
    gw_world *w = query->world;
    for (int i = 0; i < query->count; i++) {
        gw_penalty_batch *f = &w->penalty_batches[i];
        for (int lane = 0; f->body == ALONE && lane < f->count; lane++) {
            double start = w->bodies[f->other[lane]].model < 0 ? query->start : 0;
            gw_penalty_batch_set_other(f, lane, predicted_motion(w, f->other[lane], start + t));
        }
        f->moved = f->moved || f->body == TOGETHER;
        add_lockstep_forces(w, f, f->body == TOGETHER);
    }
    if (query->any_waveforms)
        add_lockstep_waveforms(w, query->start, t);
}

/* ---- substeps -----------------------------------------------------------------------------------
 */

/* Power of bodies moved from outside through the contact (W), `since` the substep began. */
static double external_power(const gw_world *w, const gw_contact *c, double since)
{
    const gw_body_state *a = &w->bodies[c->candidate.a], *b = &w->bodies[c->candidate.b];
    bool by_a = a->model < 0 && a->moving, by_b = b->model < 0 && b->moving;
    double power = 0;
    if (!by_a && !by_b)
        return 0;
    gw_vec3 couple, force = gw_contact_force(w, c, &couple);
    if (c->candidate.row && c->continuous && (!c->loaded || gw_contact_is_rigid(c))) {
        row_force f = row_force_of(c, a, b, since);
        force = f.force;
        couple = f.couple;
    }
    if (by_a)
        power -= gw_dot(force, gw_velocity_at(&a->pose, &a->twist, c->now.at_a)) +
                 gw_dot(couple, a->twist.w);
    if (by_b)
        power += gw_dot(force, gw_velocity_at(&b->pose, &b->twist, c->now.at_b)) +
                 gw_dot(couple, b->twist.w);
    return power;
}

/* True for rows, balls, crossing edges and curved surfaces: their material contact points change as
 * they roll, so slip is integrated from its rate instead of measured between anchor points. */
static bool slips_by_rate(const gw_contact *c)
{
    return gw_contact_rolls(c) || c->candidate.bend.tilts ||
           c->candidate.kind == GW_NORMAL_ACROSS ||
           c->candidate.radius_a + c->candidate.radius_b > 0;
}

/* Anchors friction at the material points that touch now. */
static void set_anchors(const gw_world *w, gw_contact *c)
{
    const gw_body_state *a = &w->bodies[c->candidate.a], *b = &w->bodies[c->candidate.b];
    if (!c->anchored) {
        c->anchor_a = gw_unrotate(a->pose.q, gw_sub(c->now.at_a, a->pose.p));
        c->anchor_b = gw_unrotate(b->pose.q, gw_sub(c->now.at_b, b->pose.p));
        c->anchor_offset = gw_sub(c->now.at_a, c->now.at_b);
    }
    c->anchored = true;
    c->friction_spring.slip = gw_reject(c->friction_spring.slip, c->now.normal);
    if (slips_by_rate(c))
        c->start_slip_rate = slip_rate(a, b, &c->now, &c->start_spin_rate);
}

/* Slip (m) and spin (rad) of such a contact in a substep of h seconds, by the trapezoidal rule. */
static gw_vec3 slip_and_spin(const gw_world *w, const gw_contact *c, double h, double *spin)
{
    double rate;
    gw_vec3 v = slip_rate(&w->bodies[c->candidate.a], &w->bodies[c->candidate.b], &c->now, &rate);
    *spin = 0.5 * h * (c->start_spin_rate + rate);
    return gw_scale(0.5 * h, gw_add(c->start_slip_rate, v));
}

/* Relative motion of the anchor points since they were set (m, world axes). */
static gw_vec3 anchor_motion(const gw_world *w, const gw_contact *c)
{
    const gw_pose *a = &w->bodies[c->candidate.a].pose, *b = &w->bodies[c->candidate.b].pose;
    gw_vec3 apart = gw_sub(gw_pose_point(a, c->anchor_a), gw_pose_point(b, c->anchor_b));
    return gw_sub(apart, c->anchor_offset);
}

/* The slip of a substep, and its spin: none where no friction acted. A frozen system stays where it
 * is, whatever its velocity. */
static gw_vec3 slip_in_substep(const gw_world *w, const gw_contact *c, double h, double *spin)
{
    bool frozen = w->frozen[w->group[gw_contact_any_system(c)]];
    if (!c->damping_active)
        return gw_v3(0, 0, 0);
    return gw_reject(slips_by_rate(c) && !frozen ? slip_and_spin(w, c, h, spin)
                                                 : anchor_motion(w, c),
                     c->now.normal);
}

/* F_n now (N). */
static double normal_force(const gw_contact *c)
{
    double depth = -c->now.gap - c->rest_penetration;
    if (c->continuous && c->loaded)
        return c->load;
    if (!c->continuous || !(depth > 0))
        return 0;
    return fmax(0, c->stiffness * depth - (is_damped(c) ? c->damping * c->gap_rate : 0));
}

/* mu F_n (N); infinite for a contact that rolls without a limit, while it is pressed. */
static double friction_limit(const gw_contact *c)
{
    double normal = normal_force(c);
    return normal > 0 ? c->candidate.surface.friction * normal : 0;
}

/* The slip x after a tangential motion: it slides beyond mu F_n / k. `limit`: mu F_n (N). */
static gw_vec3 slip_after(const gw_friction_spring *spring, double limit, gw_vec3 motion)
{
    gw_vec3 x = gw_add(spring->slip, motion);
    double pull = spring->stiffness * gw_norm(x);
    if (!(limit > 0))
        return gw_v3(0, 0, 0);
    return pull > limit ? gw_scale(limit / pull, x) : x;
}

void gw_contact_begin_substep(gw_world *w, gw_contact *c)
{
    c->slow_impact = false;
    if (!w->alone)
        w->waveforms[c - w->contacts].end = w->waveforms[c - w->contacts].start = 0;
    gw_contact_rest_if_slow(w, c);
    if (c->continuous && c->yields && w->substep_start[gw_contact_any_system(c)] == 0)
        gw_contact_make_rigid(c);
    c->start = c->now;
    c->start_gap_rate = c->gap_rate;
    c->impact_gap = c->continuous ? 0 : fmin(0, c->start.gap);
    c->start_time = w->substep_start[gw_contact_any_system(c)];
    c->damping_active =
        c->continuous &&
        (gw_contact_is_rigid(c) || c->now.gap + c->rest_penetration <= GW_CONTACT_CLOSED_GAP);
    c->external_power = 0;
    if (!c->continuous)
        return;
    if (gw_contact_is_rigid(c)) {
        c->load_before = c->load;
        gw_contact_predict_load(w, c, w->dt - c->start_time);
    }
    bottom_out(w, c);
    set_anchors(w, c);
    c->external_power = external_power(w, c, 0);
}

/* The rest penetration after a substep: it decreases with the penetration; under a load it is kept
 * within GW_CONTACT_LOADED_DEPTH of it. A negative one (initial force) rises until the contact is
 * closed by SURELY_CLOSED. */
static double rest_after(const gw_contact *c, double h)
{
    double depth = -c->now.gap;
    if (c->rest_penetration < 0)
        return fmin(0, c->rest_penetration + fmax(0, SURELY_CLOSED - depth) * h / SINKING_TIME);
    if (!c->loaded || c->load == 0 || gw_contact_is_rigid(c))
        return fmax(0, fmin(c->rest_penetration, depth));
    return fmax(c->rest_penetration, depth - GW_CONTACT_LOADED_DEPTH);
}

/* Work done on the load as the contact sinks, stored for its return (J). */
static double stored_after(const gw_contact *c)
{
    double deeper = c->start.gap - c->now.gap;
    return c->loaded && c->load > 0 ? fmax(0, c->stored + c->load * deeper) : 0;
}

void gw_contact_end_substep(gw_world *w, gw_contact *c, double h)
{
    assert(w && c && h >= 0);
    c->gap_acceleration = h > 0 ? (c->gap_rate - c->start_gap_rate) / h : 0;
    gw_contact_end_constrained(c);
    if (!c->continuous)
        return;
    if (gw_contact_is_rigid(c) && w->substep_start[gw_contact_any_system(c)] == 0) {
        c->load_at_start = gw_contact_load_at(c, 0);
        c->gap_at_start = c->start;
    }
    double limit = friction_limit(c), spin = 0;
    gw_vec3 motion = slip_in_substep(w, c, h, &spin);
    w->external_work += 0.5 * h * (c->external_power + external_power(w, c, h));
    w->any_contact = true;
    bool springs = !c->loaded || gw_contact_is_rigid(c);
    if ((w->rules.friction == GW_FRICTION_STICK || gw_contact_rolls(c)) && springs)
        c->friction_spring.slip = slip_after(&c->friction_spring, limit, motion);
    if (gw_contact_rolls(c) && springs)
        c->friction_spring.spin = limit > 0 ? c->friction_spring.spin + spin : 0;
    c->stored = stored_after(c);
    c->rest_penetration = rest_after(c, h);
    set_anchors(w, c);
    if (gw_contact_is_rigid(c))
        gw_contact_keep_load(w, c, h);
    double open = c->now.gap + fmin(0, c->rest_penetration);
    bool pushed = gw_contact_is_rigid(c) && c->load > 0 && open < gw_contact_slack(w, c);
    if (!pushed && (open > RELEASE_GAP || (open > 0 && c->gap_rate > w->rules.rest_speed)))
        release_contact(w, c);
}
