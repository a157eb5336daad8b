/*
 * Bristles of joints with friction: slip, coming to rest, changes of inertia, and their deflections
 * where a motion begins. The model of one bristle is in joint_forces.c. RT safe.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/dynamics/system_bristles.h"

/* ---- slip and inertia ------------------------------------------------------------------------ */

/* Sets the bristle's root so that its deflection is `deflection`. */
static void set_deflection(gw_system_body *k, gw_vec3 deflection)
{
    gw_quat back = gw_quat_conj(gw_quat_exp(deflection));
    gw_vec3 root = gw_quat_log(gw_quat_mul(back, k->joint.turn));
    k->joint.bristle_root[0] = root.x;
    k->joint.bristle_root[1] = root.y;
    k->joint.bristle_root[2] = root.z;
}

static double ball_slip(const gw_system *s, gw_system_body *k)
{
    if (!(k->def.friction[0] > 0))
        return 0;
    gw_joint_law law = gw_system_ball_law(s, k);
    gw_vec3 deflection = gw_ball_turn_from(k, k->joint.bristle_root);
    double dissipated = gw_ball_slip(&law, &deflection);
    if (dissipated > 0)
        set_deflection(k, deflection);
    return dissipated;
}

double gw_system_slip(gw_system *s)
{
    double dissipated = 0;
    for (int i = 0; i < s->body_count && !s->is_free; i++) {
        gw_system_body *k = &s->bodies[i];
        if (gw_is_ball(k))
            dissipated += ball_slip(s, k);
        for (int j = 0; j < k->dof && !k->only_springs && !gw_is_ball(k); j++) {
            gw_joint_law law = gw_system_joint_law(s, k, j);
            dissipated += gw_joint_slip(&law, k->joint.z[j], &k->joint.bristle_root[j]);
        }
    }
    return dissipated;
}

/* Ratio of inertias, either way, at which a bristle is tuned again. */
#define UNFIT 4

/* Present mobilities of a joint with friction, where they have changed much; false: none has. */
static bool is_unfit(gw_system *s, int index, double mobility[6])
{
    const gw_system_body *k = &s->bodies[index];
    bool unfit = false;
    for (int j = 0; j < k->dof; j++) {
        double made_for = k->joint.bristle_mobility[j];
        mobility[j] = made_for;
        if (!(k->def.friction[gw_is_ball(k) ? 0 : j] > 0))
            continue;
        double now = gw_system_mobility_at(s, index, j);
        if (now > UNFIT * made_for || now < made_for / UNFIT)
            mobility[j] = now, unfit = true;
    }
    return unfit;
}

static double fit_ball(const gw_system *s, gw_system_body *k, const double mobility[6])
{
    gw_joint_law law = gw_system_ball_law(s, k);
    gw_vec3 deflection = gw_ball_turn_from(k, k->joint.bristle_root);
    double size = gw_norm(deflection), energy = gw_ball_friction_energy(&law, deflection), now;
    memcpy(k->joint.bristle_mobility, mobility, sizeof k->joint.bristle_mobility);
    law = gw_system_ball_law(s, k);
    double left = gw_joint_deflect_bristle(&law, energy, &now);
    if (size > 0)
        set_deflection(k, gw_scale(now / size, deflection));
    return left;
}

static double fit_bristles(gw_system *s)
{
    double dissipated = 0, mobility[6];
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        if (k->only_springs || !is_unfit(s, i, mobility))
            continue;
        if (gw_is_ball(k))
            dissipated += fit_ball(s, k, mobility);
        for (int j = 0; j < k->dof && !gw_is_ball(k); j++) {
            double deflected = k->joint.z[j] - k->joint.bristle_root[j], deflection;
            if (mobility[j] == k->joint.bristle_mobility[j])
                continue;
            gw_joint_law law = gw_system_joint_law(s, k, j);
            double energy = gw_joint_friction_energy(&law, k->joint.z[j]);
            k->joint.bristle_mobility[j] = mobility[j];
            law = gw_system_joint_law(s, k, j);
            dissipated += gw_joint_deflect_bristle(&law, energy, &deflection);
            k->joint.bristle_root[j] = k->joint.z[j] - copysign(deflection, deflected);
        }
    }
    return dissipated;
}

/* ---- coming to rest -------------------------------------------------------------------------- */

/* Friction changes its sign when a coordinate comes to rest. The bristle of a sliding one would
 * need some steps to bend to the other side, and would accelerate it meanwhile. */
#define AT_REST 1e-5 /* of the velocity at home: bound of the velocity at rest */

/* True if the coordinate slid at home and has come to rest or reversed since. */
static bool comes_to_rest(const gw_system *s, int index, int j)
{
    const gw_system_body *k = &s->bodies[index];
    double from = s->home[index].u[j], to = k->joint.u[j];
    if (!(k->def.friction[j] > 0) || k->only_springs || gw_is_ball(k) ||
        (from * to >= 0 && fabs(to) > AT_REST * fabs(from)))
        return false;
    gw_joint_law law = gw_system_joint_law(s, k, j);
    law.bristle_root = s->home[index].bristle_root[j];
    return gw_joint_slides(&law, s->home[index].z[j], from);
}

double gw_system_first_rest(const gw_system *s)
{
    double first = 2;
    for (int i = 0; i < s->body_count && !s->is_free; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            if (s->home[i].u[j] * s->bodies[i].joint.u[j] < 0 && comes_to_rest(s, i, j))
                first = fmin(first, 1 / (1 - s->bodies[i].joint.u[j] / s->home[i].u[j]));
    return first;
}

/* Deflects a bristle as the forces t s into a step require for rest; returns the energy dissipated
 * (J). */
static double turn_to_hold(gw_system *s, int index, int j, const gw_forces *forces, double t)
{
    gw_system_body *k = &s->bodies[index];
    gw_system_work power = {0};
    gw_system_evaluate_forces(s, forces, t);
    gw_system_outer_power(s, forces, &power);
    gw_system_accelerate(s, &power);
    gw_joint_law law = gw_system_joint_law(s, k, j);
    double acceleration = k->rest[j], z = k->joint.z[j];
    double holding = gw_joint_friction(&law, z, k->joint.u[j]) -
                     acceleration / gw_system_mobility_at(s, index, j);
    return gw_joint_turn_bristle(&law, z, holding, &k->joint.bristle_root[j]);
}

double gw_system_turn_bristles(gw_system *s, const gw_forces *forces, double t)
{
    double dissipated = 0;
    for (int i = 0; i < s->body_count && !s->is_free; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            if (comes_to_rest(s, i, j))
                dissipated += turn_to_hold(s, i, j, forces, t);
    return dissipated;
}

void gw_system_turn_struck_bristles(gw_system *s)
{
    for (int i = 0; i < s->body_count && !s->is_free; i++)
        for (int j = 0; j < s->bodies[i].dof; j++) {
            gw_system_body *k = &s->bodies[i];
            double u = k->joint.u[j];
            if (!comes_to_rest(s, i, j))
                continue;
            gw_joint_law law = gw_system_joint_law(s, k, j);
            if (fabs(u) > AT_REST * fabs(s->home[i].u[j]))
                gw_joint_turn_bristle(&law, k->joint.z[j], -copysign(law.friction, u),
                                      &k->joint.bristle_root[j]);
            else
                turn_to_hold(s, i, j, NULL, 0);
        }
}

/* ---- beginning ------------------------------------------------------------------------------- *
 *
 * A bristle that began without a force would let a loaded joint at rest move until it holds. The
 * forces f of bristles at rest, within their limits, that leave the least acceleration:
 *
 *   min 1/2 a^T D a   over |f_i| <= F_i,   a = D^-1 P (load + f)
 *
 * by the method of multipliers, with locks W on the coordinates that hold:
 *
 *   a = (D + W)^-1 P (load + f),   f -= W a
 *
 * and coordinates beyond F_i released until f_i would drive them. Of redundant forces this gives
 * the least in the norm of W^-1, D at each coordinate alone. A sliding coordinate has all of F_i;
 * its bristle is bent in the next step, so that its energy is none of the initial one.
 */
#define LOCK     1e5   /* W, relative to the coordinate's inertia */
#define PASSES   48    /* most; in the second half released coordinates stay released */
#define BALANCED 1e-13 /* of F: last change of a force */
#define DRIVEN   1e-9  /* of F: inertial force with which friction counts as driving */
#define STANDING 1e-9  /* rad/s, m/s: slower coordinates are at rest */

enum { HOLDS = 1, RELEASED, SLIDES };

/* A bristle to be set: of one coordinate, or of the three of a ball joint. */
typedef struct bristle {
    gw_system_body *body;
    int index, next;  /* of the body; the coordinate from which the next bristle is searched */
    int first, count; /* coordinates of the body */
    double most;      /* F */
    signed char *state;
    double *force; /* of each coordinate */
} bristle;

/* Goes on to the next bristle that is not kept; false: there is none. */
static bool next_bristle(gw_system *s, bristle *b)
{
    for (; b->index < s->body_count; b->index++, b->next = 0) {
        gw_system_body *k = b->body = &s->bodies[b->index];
        while (!k->only_springs && b->next < k->dof) {
            int j = b->first = b->next;
            b->count = gw_is_ball(k) ? 3 : 1;
            b->next += b->count;
            b->most = k->def.friction[j];
            b->state = &s->motor_states[k->first + j];
            b->force = &s->run_by[k->first + j];
            if (b->most > 0 && !k->keeps_bristle[j])
                return true;
        }
    }
    return false;
}

static double size_of(const double *x, int count)
{
    double sum = 0;
    for (int l = 0; l < count; l++)
        sum += x[l] * x[l];
    return sqrt(sum);
}

/* Sets the bristle so that it exerts its force. */
static void deflect(const gw_system *s, const bristle *b)
{
    gw_system_body *k = b->body;
    if (b->count == 1) {
        gw_joint_law law = gw_system_joint_law(s, k, b->first);
        gw_joint_turn_bristle(&law, k->joint.z[b->first], *b->force,
                              &k->joint.bristle_root[b->first]);
        return;
    }
    double size = size_of(b->force, 3), root;
    gw_joint_law law = gw_system_ball_law(s, k);
    gw_joint_turn_bristle(&law, 0, size, &root);
    const double *f = b->force;
    set_deflection(k, gw_scale(size > 0 ? -root / size : 0, gw_v3(f[0], f[1], f[2])));
}

static void begin_bristle(const bristle *b)
{
    const double *u = b->body->joint.u + b->first;
    double speed = size_of(u, b->count);
    *b->state = speed > STANDING ? SLIDES : HOLDS;
    for (int l = 0; l < b->count; l++) {
        b->force[l] = speed > STANDING ? -b->most * u[l] / speed : 0;
        b->body->joint.bristle_root[b->first + l] = b->body->joint.z[b->first + l];
    }
    if (b->count == 3)
        set_deflection(b->body, gw_v3(0, 0, 0));
}

/* The force after a pass, and whether it has changed. */
static bool update_bristle(const gw_system *s, const bristle *b, bool may_hold)
{
    const gw_system_body *k = b->body;
    const double *a = k->rest + b->first, *lock = s->added + k->first + b->first;
    double driven = 0, change = 0;
    if (*b->state == SLIDES)
        return false;
    if (*b->state == RELEASED) {
        for (int l = 0; l < b->count; l++)
            driven += b->force[l] * a[l] / k->mobility[b->first + l];
        bool holds = may_hold && driven > DRIVEN * b->most * b->most;
        *b->state = holds ? HOLDS : RELEASED;
        return holds;
    }
    for (int l = 0; l < b->count; l++) {
        b->force[l] -= lock[l] * a[l];
        change = fmax(change, fabs(lock[l] * a[l]));
    }
    double size = size_of(b->force, b->count);
    if (!(size > b->most))
        return change > BALANCED * b->most;
    for (int l = 0; l < b->count; l++)
        b->force[l] *= b->most / size;
    *b->state = RELEASED;
    return true;
}

static void lock_bristle(gw_system *s, const bristle *b)
{
    for (int l = b->first; l < b->first + b->count; l++)
        s->added[b->body->first + l] = *b->state == HOLDS ? LOCK / b->body->mobility[l] : 0;
}

void gw_system_balance_bristles(gw_system *s)
{
    assert(s && !s->local);
    bool changed = false;
    memset(s->run_by, 0, (size_t)s->dof * sizeof *s->run_by);
    memset(s->added, 0, (size_t)s->dof * sizeof *s->added);
    for (bristle b = {0}; next_bristle(s, &b);) {
        begin_bristle(&b);
        changed = true;
    }
    if (!changed)
        return;
    gw_system_evaluate_forces(s, NULL, 0);
    for (int pass = 0; pass < PASSES && changed; pass++) {
        gw_system_work power = {0};
        for (bristle b = {0}; next_bristle(s, &b);)
            lock_bristle(s, &b);
        gw_tree_articulate(s, 0, s->added);
        gw_closures_factor(s, GW_ROWS_OF_CLOSURES);
        s->load = s->run_by;
        gw_system_accelerate(s, &power);
        s->load = NULL;
        changed = false;
        for (bristle b = {0}; next_bristle(s, &b);)
            changed = update_bristle(s, &b, 2 * pass < PASSES) || changed;
    }
    for (bristle b = {0}; next_bristle(s, &b);)
        if (*b.state != SLIDES)
            deflect(s, &b);
    gw_system_update(s);
}

void gw_system_keep_bristles(gw_system *s, int index, const gw_system *from, int was)
{
    assert(s && from);
    gw_system_body before = from->bodies[was];
    before.joint = from->model->joints[was];
    memset(s->bodies[index].keeps_bristle, 0, sizeof s->bodies[index].keeps_bristle);
    for (bristle b = {.index = index}; next_bristle(s, &b) && b.index == index;) {
        if (!(before.def.friction[b.first] > 0))
            continue;
        if (b.count == 3) {
            double unused = 0;
            gw_joint_law law = gw_system_ball_law(from, &before);
            gw_vec3 deflection = gw_ball_turn_from(&before, before.joint.bristle_root);
            gw_vec3 torque = gw_ball_friction(&law, deflection, gw_v3(0, 0, 0), &unused);
            b.force[0] = torque.x, b.force[1] = torque.y, b.force[2] = torque.z;
        } else {
            gw_joint_law law = gw_system_joint_law(from, &before, b.first);
            *b.force = gw_joint_friction(&law, before.joint.z[b.first], 0);
        }
        deflect(s, &b);
        b.body->keeps_bristle[b.first] = true;
    }
}

/* ---- a step's start --------------------------------------------------------------------------
 *
 * A coordinate slides from the start, or from a blow on. Its bristle would let F come in over its
 * span; it is bent at once, and its energy taken from what sliding dissipates,
 *
 *   F x - U,   U = 11/16 F span,
 *
 * if it slides that far within the step. */

#define UNBENT 1e-9 /* of U */
#define FAST   4    /* of U: kinetic energy with which F x exceeds U after a step */

static double begin_sliding(const gw_system *s, bristle *b)
{
    const gw_system_body *k = b->body;
    const double *u = k->joint.u + b->first;
    bool ball = b->count == 3;
    gw_joint_law law = ball ? gw_system_ball_law(s, k) : gw_system_joint_law(s, k, b->first);
    double energy = ball
                        ? gw_ball_friction_energy(&law, gw_ball_turn_from(k, k->joint.bristle_root))
                        : gw_joint_friction_energy(&law, k->joint.z[b->first]);
    double speed = size_of(u, b->count), most = gw_joint_bristle_capacity(&law), force[3];
    double kinetic = 0.5 * speed * speed / k->joint.bristle_mobility[b->first];
    if (energy > UNBENT * most || !(kinetic > FAST * most))
        return 0;
    for (int l = 0; l < b->count; l++)
        force[l] = -b->most * u[l] / speed;
    b->force = force;
    deflect(s, b);
    return energy - most;
}

double gw_system_begin_bristles(gw_system *s, bool fits)
{
    assert(s);
    double dissipated = fits ? fit_bristles(s) : 0;
    for (bristle b = {0}; !s->is_free && next_bristle(s, &b);)
        dissipated += begin_sliding(s, &b);
    if (dissipated != 0)
        gw_system_energy(s, &s->kinetic, &s->potential);
    return dissipated;
}
