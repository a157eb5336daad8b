/*
 * Continuous contacts: a spring with damping that never pulls, and friction (impulsive-forces eq. 2
 * to 4 as corrected).
 *
 *   F_n = max(0, K p - B v_n) n,   p = -gap - slack,   v_n = d(gap)/dt
 *
 * RT safe.
 */
#include "rt/contact/world_private.h"

/* A spring at the effective mass m is stable in a Runge-Kutta step far beyond k dt^2 / m = 0.1. */
#define STIFFNESS_SHARE 0.4
#define DAMPING_RATIO   0.5
#define VISCOUS_SUM     2.0 /* d dt / m of friction, of all contacts of a mover */
/* Contacts at a mover, from where on they share what a step bears of stiffness, of damping. */
#define CROWD_STIFF  8.0
#define CROWD_DAMPED 4.0
#define LETS_GO      1e-6 /* gap at which a contact is over (m) */
#define TURNS        4.0  /* of the mass across, how much counts: a body may turn as it touches */

/* ---- stiffness ------------------------------------------------------------------------------ */

static double mass_along(const gw_world *w, const gw_touch *c, gw_vec3 direction)
{
    gw_contact_row row;
    gw_row_of(w, c, direction, true, true, &row);
    double yield = gw_row_size(w, &row) > 1e-9 ? gw_row_yield(w, &row) : 0;
    return yield > 0 ? 1 / yield : INFINITY;
}

/* Continuous contacts at its mover that has most. */
static double crowd_of(const gw_world *w, const gw_touch *c)
{
    int most = 0;
    if (c->mover_a >= 0)
        most = w->crowd[c->mover_a];
    if (c->mover_b >= 0 && w->crowd[c->mover_b] > most)
        most = w->crowd[c->mover_b];
    return most;
}

/* What the contact's movers bear now: zero where nothing moves. */
static void bearable(const gw_world *w, const gw_touch *c, double *stiffness, double *damping,
                     gw_grip *grip)
{
    gw_vec3 n = c->now.normal, t1 = gw_any_normal(n), t2 = gw_cross(n, t1);
    double across = fmin(mass_along(w, c, t1), mass_along(w, c, t2));
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
        grip->stiffness = stiff * across;
        grip->damping = 2 * DAMPING_RATIO * sqrt(stiff) * across / share;
        grip->viscous = VISCOUS_SUM * across / dt / fmax(1, crowd);
    }
}

/* A surface's own figure where it has one and the step bears it. */
static double asked(double value, double most)
{
    return value > 0 ? fmin(value, most) : most;
}

static void count(gw_world *w, const gw_touch *c, int by)
{
    if (c->mover_a >= 0)
        w->crowd[c->mover_a] += by;
    if (c->mover_b >= 0 && c->mover_b != c->mover_a)
        w->crowd[c->mover_b] += by;
}

void gw_touch_attach(gw_world *w, gw_touch *c)
{
    count(w, c, 1);
    bearable(w, c, &c->stiffness, &c->damping, &c->grip);
    if (c->stiffness == 0) {
        count(w, c, -1);
        c->jammed = true;
        return;
    }
    c->continuous = true;
    c->stiffness = asked(c->near.surface.stiffness, c->stiffness);
    c->damping = asked(c->near.surface.damping, c->damping);
    c->grip.slip = gw_v3(0, 0, 0);
    c->slack = fmax(0, -c->now.gap);
}

void gw_touch_soften(gw_world *w, gw_touch *c)
{
    gw_grip grip;
    double stiffness, damping;
    bearable(w, c, &stiffness, &damping, &grip);
    c->stiffness = fmin(c->stiffness, stiffness);
    c->damping = fmin(c->damping, damping);
    c->grip.stiffness = fmin(c->grip.stiffness, grip.stiffness);
    c->grip.damping = fmin(c->grip.damping, grip.damping);
    c->grip.viscous = grip.viscous;
}

static void detach(gw_world *w, gw_touch *c)
{
    c->continuous = false;
    c->slack = 0;
    c->grip.slip = gw_v3(0, 0, 0);
    count(w, c, -1);
}

/* ---- force ---------------------------------------------------------------------------------- */

/* How far the touching points went apart since the piece began. */
static gw_vec3 moved(const gw_touch *c, const gw_pose *a, const gw_pose *b)
{
    gw_vec3 apart = gw_sub(gw_pose_point(a, c->mark_a), gw_pose_point(b, c->mark_b));
    return gw_sub(apart, c->mark_from);
}

static double normal_force(const gw_touch *c, const gw_gap *gap, double rate)
{
    double depth = -gap->gap - c->slack;
    if (!c->continuous || !(depth > 0))
        return 0;
    return fmax(0, c->stiffness * depth - (c->damps && !c->stopped ? c->damping * rate : 0));
}

gw_vec3 gw_touch_force(const gw_world *w, const gw_touch *c, const gw_gap *gap, const gw_pose *a,
                       const gw_twist *twist_a, const gw_pose *b, const gw_twist *twist_b)
{
    gw_vec3 n = gap->normal;
    gw_vec3 v =
        gw_sub(gw_velocity_at(a, twist_a, gap->at_a), gw_velocity_at(b, twist_b, gap->at_b));
    double force = normal_force(c, gap, gw_dot(n, v)), mu = c->near.surface.friction;
    gw_vec3 f = gw_scale(force, n);
    if (!(mu > 0) || !(force > 0) || !c->damps)
        return f;
    gw_vec3 slid =
        w->rules.friction == GW_FRICTION_STICK ? gw_reject(moved(c, a, b), n) : gw_v3(0, 0, 0);
    return gw_add(f, gw_friction(w->rules.friction, &c->grip, mu * force, w->rules.slip_speed, slid,
                                 gw_reject(v, n)));
}

static void add_wrench(gw_wrench *sum, const gw_pose *body, gw_vec3 point, gw_vec3 force)
{
    gw_wrench x = gw_wrench_at(body, point, force);
    sum->f = gw_add(sum->f, x.f);
    sum->t = gw_add(sum->t, x.t);
}

/* A body of the mover that asks is where the stage says; any other goes on as it was moving. */
static gw_pose placed(const gw_asking *ask, int body, double t, const gw_pose *pose,
                      const gw_twist *twist, gw_twist *moving)
{
    const gw_place *place = &ask->world->places[body];
    if (place->model < 0)
        return gw_place_ahead(place, ask->world->since[ask->mover] + t, moving);
    if (place->model == ask->mover) {
        *moving = twist[place->index];
        return pose[place->index];
    }
    return gw_place_ahead(place, t, moving);
}

void gw_touch_stage(const void *asking, double t, const gw_pose *pose, const gw_twist *twist,
                    gw_wrench *on)
{
    const gw_asking *ask = asking;
    const gw_world *w = ask->world;
    int bodies = gw_model_bodies(gw_world_model(w, ask->mover));
    for (int i = 0; i < bodies; i++)
        on[i] = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    for (int i = w->of_first[ask->mover]; i >= 0; i = w->of_next[i]) {
        const gw_touch *c = &w->touches[w->of[i]];
        gw_twist twist_a, twist_b;
        if (!c->continuous)
            continue;
        gw_pose a = placed(ask, c->near.a, t, pose, twist, &twist_a);
        gw_pose b = placed(ask, c->near.b, t, pose, twist, &twist_b);
        gw_gap gap = gw_gap_at(&c->near, &a, &b);
        gw_vec3 f = gw_touch_force(w, c, &gap, &a, &twist_a, &b, &twist_b);
        if (c->mover_a == ask->mover)
            add_wrench(&on[w->places[c->near.a].index], &a, gap.at_a, f);
        if (c->mover_b == ask->mover)
            add_wrench(&on[w->places[c->near.b].index], &b, gap.at_b, gw_neg(f));
    }
}

/* ---- pieces --------------------------------------------------------------------------------- */

static gw_vec3 force_now(const gw_world *w, const gw_touch *c)
{
    const gw_place *a = &w->places[c->near.a], *b = &w->places[c->near.b];
    return gw_touch_force(w, c, &c->now, &a->pose, &a->twist, &b->pose, &b->twist);
}

/* What bodies moved from outside give through it (W). */
static double power_of(const gw_world *w, const gw_touch *c, gw_vec3 force)
{
    const gw_place *a = &w->places[c->near.a], *b = &w->places[c->near.b];
    double power = 0;
    if (a->model < 0 && a->moves)
        power -= gw_dot(force, gw_velocity_at(&a->pose, &a->twist, c->now.at_a));
    if (b->model < 0 && b->moves)
        power += gw_dot(force, gw_velocity_at(&b->pose, &b->twist, c->now.at_b));
    return power;
}

/* Notes the material points that touch. */
static void mark(const gw_world *w, gw_touch *c)
{
    const gw_place *a = &w->places[c->near.a], *b = &w->places[c->near.b];
    c->mark_a = gw_unrotate(a->pose.q, gw_sub(c->now.at_a, a->pose.p));
    c->mark_b = gw_unrotate(b->pose.q, gw_sub(c->now.at_b, b->pose.p));
    c->mark_from = gw_sub(c->now.at_a, c->now.at_b);
    c->grip.slip = gw_reject(c->grip.slip, c->now.normal);
}

/* What meets slowly, or was found so, is continuous without an impulse. */
static bool rests(const gw_world *w, const gw_touch *c)
{
    return c->now.gap <= GW_WORLD_MET && fabs(c->rate) < w->rules.rest_speed && !c->jammed &&
           !c->aside;
}

void gw_touch_begin(gw_world *w, gw_touch *c)
{
    c->slow = false;
    if (!c->continuous && rests(w, c))
        gw_touch_attach(w, c);
    c->start = c->now;
    c->start_rate = c->rate;
    c->from = w->since[c->mover_a >= 0 ? c->mover_a : c->mover_b];
    c->damps = c->continuous && -c->now.gap > c->slack;
    c->power = 0;
    if (!c->continuous)
        return;
    mark(w, c);
    c->power = power_of(w, c, force_now(w, c));
}

void gw_touch_end(gw_world *w, gw_touch *c, double h)
{
    const gw_place *a = &w->places[c->near.a], *b = &w->places[c->near.b];
    if (!c->continuous)
        return;
    double limit = c->near.surface.friction * normal_force(c, &c->now, c->rate);
    gw_vec3 slid = gw_reject(moved(c, &a->pose, &b->pose), c->now.normal);
    w->moved += 0.5 * h * (c->power + power_of(w, c, force_now(w, c)));
    w->touched = true;
    if (w->rules.friction == GW_FRICTION_STICK)
        c->grip.slip = gw_friction_slip(&c->grip, limit, slid);
    c->slack = fmax(0, fmin(c->slack, -c->now.gap));
    mark(w, c);
    if (c->now.gap > LETS_GO || (c->now.gap > 0 && c->rate > w->rules.rest_speed))
        detach(w, c);
}

double gw_touch_energy(const gw_touch *c)
{
    double depth = fmax(0, -c->now.gap - c->slack);
    if (!c->continuous)
        return 0;
    return 0.5 * (c->stiffness * depth * depth + c->grip.stiffness * gw_norm2(c->grip.slip));
}
