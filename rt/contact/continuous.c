/*
 * Continuous contacts: a spring with damping that never pulls, and friction (impulsive-forces eq. 2
 * to 4 as corrected; the law is pressing.h's).
 *
 *   F_n = max(0, K p - B v_n) n,   p = -gap - slack,   v_n = d(gap)/dt
 *
 * RT safe.
 */
#include <string.h>

#include "rt/contact/world_private.h"

/* A spring at the effective mass m is stable in a Runge-Kutta step far beyond k dt^2 / m = 0.1. */
#define STIFFNESS_SHARE 0.4
#define DAMPING_RATIO   0.5
#define VISCOUS_SUM     2.0 /* d dt / m of friction, of all contacts of a mover */
/* Contacts at a mover, from where on they share what a step bears of stiffness, of damping. */
#define CROWD_STIFF  8.0
#define CROWD_DAMPED 4.0
#define LETS_GO      1e-6 /* gap at which a contact is over (m) */
#define DEEP         2e-3 /* how far a spring is pressed (m) at most, and */
#define HALF         0.5  /* what part of the balls that touch */
#define STIFFER      30.0 /* times softer than a step bears: what bottoms out */
#define TURNS        4.0  /* of the mass across, how much counts: a body may turn as it touches */

/* ---- stiffness ------------------------------------------------------------------------------ */

static double mass_along(const gw_world *w, const gw_contact *c, gw_vec3 direction)
{
    gw_contact_jacobian_row row;
    gw_contact_jacobian(w, c, direction, true, true, &row);
    double yield = gw_jacobian_row_max(w, &row) > 1e-9 ? gw_jacobian_row_inverse_mass(w, &row) : 0;
    return yield > 0 ? 1 / yield : INFINITY;
}

/* The least mass in the plane of t1 and t2, where along these it is m1 and m2: the corners of what
 * turns on its face are held along that. */
static double least_across(const gw_world *w, const gw_contact *c, gw_vec3 t1, gw_vec3 t2,
                           double m1, double m2)
{
    double mean = 0.5 * (1 / m1 + 1 / m2), apart = 0.5 * (1 / m1 - 1 / m2);
    double diagonal = 1 / mass_along(w, c, gw_scale(sqrt(0.5), gw_add(t1, t2)));
    return 1 / (mean + hypot(apart, diagonal - mean));
}

/* Continuous contacts at its mover that has most. */
static double crowd_of(const gw_world *w, const gw_contact *c)
{
    int most = 0;
    if (c->mover_a >= 0)
        most = w->crowd[c->mover_a];
    if (c->mover_b >= 0 && w->crowd[c->mover_b] > most)
        most = w->crowd[c->mover_b];
    return most;
}

/* What the contact's movers bear now: zero where nothing moves. */
static void bearable(const gw_world *w, const gw_contact *c, double *stiffness, double *damping,
                     gw_friction_spring *grip)
{
    gw_vec3 n = c->now.normal, t1 = gw_any_normal(n), t2 = gw_cross(n, t1);
    double m1 = mass_along(w, c, t1), m2 = mass_along(w, c, t2), across = fmin(m1, m2);
    double along = mass_along(w, c, n), mass = fmin(along, TURNS * across);
    double crowd = crowd_of(w, c), dt = w->dt;
    double stiff = STIFFNESS_SHARE / fmax(1, crowd / CROWD_STIFF) / (dt * dt);
    double share = fmax(1, crowd / CROWD_DAMPED);
    *stiffness = *damping = 0;
    grip->stiffness = grip->damping = grip->viscous = 0;
    if (!isfinite(along))
        return;
    *stiffness = stiff * mass;
    *damping = 2 * DAMPING_RATIO * sqrt(stiff) * mass / share;
    if (isfinite(across)) {
        double held = least_across(w, c, t1, t2, m1, m2);
        grip->stiffness = stiff * held;
        grip->damping = 2 * DAMPING_RATIO * sqrt(stiff) * held / share;
        grip->viscous = VISCOUS_SUM * across / dt / fmax(1, crowd);
    }
}

/* A surface's own figure where it has one and the step bears it. */
static double asked(double value, double most)
{
    return value > 0 ? fmin(value, most) : most;
}

static void count(gw_world *w, const gw_contact *c, int by)
{
    if (c->mover_a >= 0)
        w->crowd[c->mover_a] += by;
    if (c->mover_b >= 0 && c->mover_b != c->mover_a)
        w->crowd[c->mover_b] += by;
}

void gw_contact_make_continuous(gw_world *w, gw_contact *c)
{
    count(w, c, 1);
    bearable(w, c, &c->stiffness, &c->damping, &c->grip);
    if (c->stiffness == 0) {
        count(w, c, -1);
        c->immovable = true;
        return;
    }
    c->continuous = true;
    c->stiffness = asked(c->near.surface.stiffness, c->stiffness);
    c->damping = asked(c->near.surface.damping, c->damping);
    c->grip.slip = gw_v3(0, 0, 0);
    c->slack = fmax(0, -c->now.gap);
    c->bottomed = false;
}

double gw_contact_max_compression(const gw_contact *c)
{
    double size = HALF * (c->near.radius_a + c->near.radius_b);
    return size > 0 ? fmin(size, DEEP) : DEEP;
}

/* A soft surface under a heavy body bottoms out: from there on it is as stiff as a step bears. The
 * force stays, K' (p - s) = K p, and what the spring gives up is dissipated. Once: where a step
 * bears less later, that is no softer surface. */
static void bottom_out(const gw_world *w, gw_contact *c)
{
    double depth = -c->now.gap - c->slack, most, damping;
    gw_friction_spring grip;
    if (c->bottomed || !(depth > gw_contact_max_compression(c)))
        return;
    bearable(w, c, &most, &damping, &grip);
    if (!(most > STIFFER * c->stiffness))
        return;
    c->slack += depth * (1 - c->stiffness / most);
    c->stiffness = most;
    c->damping = damping;
    c->bottomed = true;
}

void gw_contact_soften(gw_world *w, gw_contact *c)
{
    gw_friction_spring grip;
    double stiffness, damping;
    bearable(w, c, &stiffness, &damping, &grip);
    c->stiffness = fmin(c->stiffness, stiffness);
    c->damping = fmin(c->damping, damping);
    c->grip.stiffness = fmin(c->grip.stiffness, grip.stiffness);
    c->grip.damping = fmin(c->grip.damping, grip.damping);
    c->grip.viscous = grip.viscous;
}

static void detach(gw_world *w, gw_contact *c)
{
    c->continuous = false;
    c->slack = 0;
    c->grip.slip = gw_v3(0, 0, 0);
    count(w, c, -1);
}

/* ---- force ---------------------------------------------------------------------------------- */

/* How far the touching points went apart since the piece began. */
static gw_vec3 moved(const gw_contact *c, const gw_pose *a, const gw_pose *b)
{
    gw_vec3 apart = gw_sub(gw_pose_point(a, c->mark_a), gw_pose_point(b, c->mark_b));
    return gw_sub(apart, c->mark_from);
}

static double normal_force(const gw_contact *c, const gw_gap *gap, double rate)
{
    double depth = -gap->gap - c->slack;
    if (!c->continuous || !(depth > 0))
        return 0;
    return fmax(0, c->stiffness * depth - (c->damps && !c->stopped ? c->damping * rate : 0));
}

/* As the body that asks for a (or b) of the pair feels it. */
static gw_penalty_contact press_of(const gw_world *w, const gw_contact *c, bool is_a)
{
    bool sticks = w->rules.friction == GW_FRICTION_STICK;
    return (gw_penalty_contact){.near = &c->near,
                                .is_a = is_a,
                                .stiffness = c->stiffness,
                                .damping = c->damps && !c->stopped ? c->damping : 0,
                                .slack = c->slack,
                                .friction = c->damps ? c->near.surface.friction : 0,
                                .viscous = c->grip.viscous,
                                .hold = sticks ? c->grip.stiffness : 0,
                                .hold_damping = sticks ? c->grip.damping : 0,
                                .slip = c->grip.slip,
                                .mark_a = c->mark_a,
                                .mark_b = c->mark_b,
                                .mark_apart = c->mark_from};
}

gw_vec3 gw_contact_force(const gw_world *w, const gw_contact *c, const gw_pose *a,
                         const gw_twist *twist_a, const gw_pose *b, const gw_twist *twist_b)
{
    gw_penalty_batch f;
    gw_penalty_contact press = press_of(w, c, true);
    gw_body_motion on_a = gw_body_motion_of(a, twist_a), on_b = gw_body_motion_of(b, twist_b);
    gw_wrench on = {{0, 0, 0}, {0, 0, 0}};
    if (!c->continuous)
        return on.f;
    gw_penalty_batch_init(&f, 0);
    gw_penalty_batch_add(&f, &press, 0);
    gw_penalty_batch_set_other(&f, 0, &on_b);
    gw_penalty_batch_apply(&f, &on_a, w->rules.slip_speed, &on);
    return on.f;
}

/* ---- stages --------------------------------------------------------------------------------- */

/* The other body of a contact goes on as it was moving. */
static const gw_body_motion *see_ahead(gw_world *w, int body, double t)
{
    const gw_body_state *place = &w->places[body];
    gw_predicted_motion *a = &w->ahead[body];
    if (a->era != w->era)
        *a = (gw_predicted_motion){.era = w->era};
    for (int i = 0; i < a->count; i++)
        if (a->t[i] == t)
            return &a->sight[i];
    int at = a->next;
    gw_twist twist;
    gw_pose pose = gw_body_state_extrapolate(place, t, &twist);
    a->t[at] = t;
    a->sight[at] = gw_body_motion_of(&pose, &twist);
    a->next = (at + 1) % GW_PREDICTED_TIMES;
    a->count = a->count < GW_PREDICTED_TIMES ? a->count + 1 : GW_PREDICTED_TIMES;
    return &a->sight[at];
}

/* Room beside the other contacts of that body. */
static gw_penalty_batch *room_for(gw_world *w, gw_contact_force_query *ask, int index)
{
    for (int i = ask->count - 1; i >= 0; i--)
        if (w->pressing[i].body == index && w->pressing[i].count < GW_LANES)
            return &w->pressing[i];
    gw_penalty_batch_init(&w->pressing[ask->count], index);
    return &w->pressing[ask->count++];
}

void gw_contact_gather_forces(gw_world *w, int mover, gw_contact_force_query *ask)
{
    ask->count = 0;
    ask->t = NAN;
    for (int i = w->touches_of.first[mover]; i >= 0; i = w->touches_of.next[i]) {
        const gw_contact *c = &w->touches[w->touches_of.of[i]];
        for (int side = 0; c->continuous && side < 2; side++) {
            if ((side == 0 ? c->mover_a : c->mover_b) != mover)
                continue;
            int mine = side == 0 ? c->near.a : c->near.b, its = side == 0 ? c->near.b : c->near.a;
            gw_penalty_contact press = press_of(w, c, side == 0);
            gw_penalty_batch_add(room_for(w, ask, w->places[mine].index), &press, its);
        }
    }
}

/* Others are where they go; a body of the mover itself is where the stage has it. */
static void see(gw_contact_force_query *ask, gw_penalty_batch *f, double t, const gw_pose *pose,
                const gw_twist *twist)
{
    gw_world *w = ask->world;
    for (int lane = 0; lane < f->count; lane++) {
        const gw_body_state *place = &w->places[f->its[lane]];
        if (place->model == ask->mover) {
            gw_body_motion own = gw_body_motion_of(&pose[place->index], &twist[place->index]);
            gw_penalty_batch_set_other(f, lane, &own);
        } else if (t != ask->t && (place->moves || isnan(ask->t))) {
            double since = place->model < 0 ? w->since[ask->mover] : 0;
            gw_penalty_batch_set_other(f, lane, see_ahead(w, f->its[lane], since + t));
        }
    }
}

void gw_contact_stage_forces(const void *asking, double t, const gw_pose *pose,
                             const gw_twist *twist, gw_wrench *on)
{
    gw_contact_force_query *ask = (gw_contact_force_query *)asking;
    gw_world *w = ask->world;
    int bodies = gw_model_bodies(gw_world_model(w, ask->mover)), seen = -1;
    gw_body_motion mine;
    memset(on, 0, (size_t)bodies * sizeof *on);
    for (int i = 0; i < ask->count; i++) {
        gw_penalty_batch *f = &w->pressing[i];
        if (f->body != seen)
            mine = gw_body_motion_of(&pose[f->body], &twist[f->body]);
        seen = f->body;
        see(ask, f, t, pose, twist);
        gw_penalty_batch_apply(f, &mine, w->rules.slip_speed, &on[f->body]);
    }
    ask->t = t;
}

/* ---- pieces --------------------------------------------------------------------------------- */

gw_vec3 gw_contact_force_now(const gw_world *w, const gw_contact *c)
{
    const gw_body_state *a = &w->places[c->near.a], *b = &w->places[c->near.b];
    return gw_contact_force(w, c, &a->pose, &a->twist, &b->pose, &b->twist);
}

/* What bodies moved from outside give through it (W). */
static double power_of(const gw_world *w, const gw_contact *c)
{
    const gw_body_state *a = &w->places[c->near.a], *b = &w->places[c->near.b];
    bool by_a = a->model < 0 && a->moves, by_b = b->model < 0 && b->moves;
    double power = 0;
    if (!by_a && !by_b)
        return 0;
    gw_vec3 force = gw_contact_force_now(w, c);
    if (by_a)
        power -= gw_dot(force, gw_velocity_at(&a->pose, &a->twist, c->now.at_a));
    if (by_b)
        power += gw_dot(force, gw_velocity_at(&b->pose, &b->twist, c->now.at_b));
    return power;
}

/* Notes the material points that touch. */
static void mark(const gw_world *w, gw_contact *c)
{
    const gw_body_state *a = &w->places[c->near.a], *b = &w->places[c->near.b];
    c->mark_a = gw_unrotate(a->pose.q, gw_sub(c->now.at_a, a->pose.p));
    c->mark_b = gw_unrotate(b->pose.q, gw_sub(c->now.at_b, b->pose.p));
    c->mark_from = gw_sub(c->now.at_a, c->now.at_b);
    c->grip.slip = gw_reject(c->grip.slip, c->now.normal);
}

/* What meets slowly, or was found so, is continuous without an impulse. */
static bool rests(const gw_world *w, const gw_contact *c)
{
    return c->now.gap <= GW_CONTACT_CLOSED_GAP && fabs(c->rate) < w->rules.rest_speed &&
           !c->immovable && !c->aside;
}

void gw_contact_rest_if_slow(gw_world *w, gw_contact *c)
{
    if (!c->continuous && rests(w, c))
        gw_contact_make_continuous(w, c);
}

void gw_contact_begin_substep(gw_world *w, gw_contact *c)
{
    c->slow = false;
    gw_contact_rest_if_slow(w, c);
    c->start = c->now;
    c->start_rate = c->rate;
    c->level = c->continuous ? 0 : fmin(0, c->start.gap);
    c->from = w->since[c->mover_a >= 0 ? c->mover_a : c->mover_b];
    c->damps = c->continuous && -c->now.gap > c->slack;
    c->power = 0;
    if (!c->continuous)
        return;
    bottom_out(w, c);
    mark(w, c);
    c->power = power_of(w, c);
}

void gw_contact_end_substep(gw_world *w, gw_contact *c, double h)
{
    const gw_body_state *a = &w->places[c->near.a], *b = &w->places[c->near.b];
    if (!c->continuous)
        return;
    double limit = c->near.surface.friction * normal_force(c, &c->now, c->rate);
    gw_vec3 slid = gw_reject(moved(c, &a->pose, &b->pose), c->now.normal);
    w->moved += 0.5 * h * (c->power + power_of(w, c));
    w->touched = true;
    if (w->rules.friction == GW_FRICTION_STICK)
        c->grip.slip = gw_friction_spring_slip(&c->grip, limit, slid);
    c->slack = fmax(0, fmin(c->slack, -c->now.gap));
    mark(w, c);
    if (c->now.gap > LETS_GO || (c->now.gap > 0 && c->rate > w->rules.rest_speed))
        detach(w, c);
}

double gw_contact_spring_energy(const gw_contact *c)
{
    double depth = fmax(0, -c->now.gap - c->slack);
    if (!c->continuous)
        return 0;
    return 0.5 * (c->stiffness * depth * depth + c->grip.stiffness * gw_norm2(c->grip.slip));
}
