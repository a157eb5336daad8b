/*
 * Joint forces of a chain: motors, damping, friction by a bristle model, and springs at the limits.
 * On the loop's thread, RT safe.
 */
#include <assert.h>

#include "rt/dynamics/articulated_body.h"

/* The limits' springs have a period of nine steps and half of critical damping. The damper comes in
 * over the first LIMIT_RAMP (rad, m) beyond the limit: a jump in the force would break the order of
 * the integrator. */
#define LIMIT_PHASE   0.7
#define LIMIT_DAMPING 0.5
#define LIMIT_RAMP    1e-3

/* A motor's force fades out over the last tenth of its speed, or more where the step needs it. */
#define FADE_SHARE 0.1

static double period(const gw_chain *chain)
{
    return chain->def->dt > 0 ? chain->def->dt : 1e-3;
}

/* The motor's force by its law, clamped to `max`. */
static double motor_force(const gw_motor *m, double q, double v)
{
    double force = m->torque + m->stiffness * (m->target - q) + m->damping * (m->rate - v);
    return m->max > 0 ? fmax(-m->max, fmin(m->max, force)) : force;
}

double gw_motor_fade_slope(const gw_motor *m, double q, double v)
{
    return m->speed > 0 ? fabs(motor_force(m, q, v)) / (FADE_SHARE * m->speed) : 0;
}

/* The factor, 0 to 1, of a force that drives the joint towards the motor's speed. */
static double motor_fade(const gw_motor *m, const gw_chain_link_state *joint, double force,
                         double v)
{
    if (!(m->speed > 0 && force * v > 0))
        return 1;
    double width = fmax(FADE_SHARE * m->speed, fabs(force) / joint->limit_damping);
    return fmax(0, fmin(1, (m->speed - fabs(v)) / width));
}

static double past_limit(const gw_chain_link *link, double q)
{
    if (!link->limited)
        return 0;
    return q > link->upper ? q - link->upper : q < link->lower ? q - link->lower : 0;
}

/* The force of a limit's spring and damper; it pushes back and never pulls. */
static double limit_force(const gw_chain_link_state *joint, double past, double v)
{
    double damping = joint->limit_damping * fmin(1, fabs(past) / LIMIT_RAMP);
    double force = -joint->limit_stiffness * past - damping * v;
    return force * past > 0 ? 0 : force;
}

/* ---- friction -------------------------------------------------------------------------------
 *
 * A bristle between the link and its joint's root r, as stiff at first as a limit's spring, k:
 *
 *   w = (q - r) / span,   span = 15/8 F/k
 *   f = -F s(w),   s = (15 w - 10 w^3 + 3 w^5) / 8 up to |w| = 1, +-1 beyond
 *   U = F span (15/2 w^2 - 5/2 w^4 + 1/2 w^6) / 8, growing by F a way beyond
 *
 * Within a piece of a step it is a spring and keeps energy; after it the root of one that is bent
 * beyond 1 follows and F times its way is dissipated. So friction never drives, a joint at rest
 * does not creep, and one that slides loses F times its way exactly. A bristle that holds is
 * damped,
 *
 *   c v (1 - s^2) / (1 + (c v / F)^2)
 *
 * as a limit's spring; both together never exceed F.
 */

#define SPAN (15.0 / 8)
#define FULL (11.0 / 16) /* U / (F span) at |w| = 1 */

static double span_of(const gw_chain_link *link, const gw_chain_link_state *joint)
{
    return SPAN * link->friction / joint->limit_stiffness;
}

static double friction_force(const gw_chain_link *link, const gw_chain_link_state *joint, double q,
                             double v, double *dissipated)
{
    double w = (q - joint->bristle_root) / span_of(link, joint), w2 = w * w;
    if (w2 >= 1)
        return copysign(link->friction, -w);
    double s = w * (15 - w2 * (10 - 3 * w2)) / 8;
    double c = joint->limit_damping, x = c * v / link->friction;
    double damping = c * (1 - s * s) / (1 + x * x);
    *dissipated += damping * v * v;
    return -link->friction * s - damping * v;
}

static double friction_energy(const gw_chain_link *link, const gw_chain_link_state *joint, double q)
{
    double span = span_of(link, joint), w = fabs(q - joint->bristle_root) / span, w2 = w * w;
    double share = w < 1 ? w2 * (7.5 - w2 * (2.5 - 0.5 * w2)) / 8 : FULL + (w - 1);
    return link->friction * span * share;
}

void gw_chain_copy_friction(gw_chain *chain, const gw_chain *from)
{
    assert(chain->def->count == from->def->count);
    for (int i = 0; i < chain->def->count; i++)
        chain->states[i].bristle_root = from->states[i].bristle_root;
    gw_chain_update(chain);
}

double gw_chain_update_friction(gw_chain *chain)
{
    double dissipated = 0;
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link *link = &chain->def->links[i];
        gw_chain_link_state *joint = &chain->states[i];
        if (!(link->friction > 0))
            continue;
        double bent = chain->q[i] - joint->bristle_root, beyond = fabs(bent) - span_of(link, joint);
        if (!(beyond > 0))
            continue;
        joint->bristle_root += copysign(beyond, bent);
        dissipated += link->friction * beyond;
    }
    chain->potential -= dissipated;
    return dissipated;
}

/* ---- all joint forces ----------------------------------------------------------------------- */

void gw_chain_joint_forces(const gw_chain *chain, const double *q, const double *v, double *force,
                           double *motors, double *dissipated)
{
    double motor_power = 0, dissipated_power = 0;
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link *link = &chain->def->links[i];
        const gw_chain_link_state *joint = &chain->states[i];
        double motor = motor_force(&link->motor, q[i], v[i]), damping = link->damping;
        motor *= motor_fade(&link->motor, joint, motor, v[i]);
        double past = past_limit(link, q[i]);
        force[i] = motor - damping * v[i];
        motor_power += motor * v[i];
        dissipated_power += damping * v[i] * v[i];
        if (link->friction > 0)
            force[i] += friction_force(link, joint, q[i], v[i], &dissipated_power);
        if (past != 0) {
            double limit = limit_force(joint, past, v[i]);
            force[i] += limit;
            dissipated_power -= (limit + joint->limit_stiffness * past) * v[i];
        }
    }
    *motors = motor_power;
    *dissipated = dissipated_power;
}

/* Damping, friction and limits of joint i: force, and its slopes by v and q. */
static void passive_forces(const gw_chain *chain, int i, double q, double v,
                           gw_joint_force_model *model)
{
    const gw_chain_link *link = &chain->def->links[i];
    const gw_chain_link_state *joint = &chain->states[i];
    double past = past_limit(link, q), dissipated = 0;
    model->force[i] = -link->damping * v;
    model->damping[i] = link->damping;
    model->stiffness[i] = 0;
    if (link->friction > 0) {
        double w = (q - joint->bristle_root) / span_of(link, joint), still = fmax(0, 1 - w * w);
        model->force[i] += friction_force(link, joint, q, v, &dissipated);
        model->stiffness[i] += joint->limit_stiffness * still * still;
    }
    if (past != 0) {
        double force = limit_force(joint, past, v);
        model->force[i] += force;
        model->stiffness[i] += force != 0 ? joint->limit_stiffness : 0;
    }
}

void gw_chain_linearise_joint_forces(const gw_chain *chain, const double *q, const double *v,
                                     gw_joint_force_model *model)
{
    for (int i = 0; i < chain->def->count; i++) {
        const gw_motor *m = &chain->def->links[i].motor;
        passive_forces(chain, i, q[i], v[i], model);
        model->motor[i] = (gw_motor_force_model){
            .force = m->torque + m->stiffness * (m->target - q[i]) + m->damping * (m->rate - v[i]),
            .damping = m->damping,
            .stiffness = m->stiffness,
            .most = m->max > 0 ? m->max : INFINITY,
            .speed = m->speed > 0 ? m->speed : INFINITY,
            .fade_slope = gw_motor_fade_slope(m, q[i], v[i])};
    }
}

double gw_chain_joint_energy(const gw_chain *chain)
{
    double sum = 0;
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link *link = &chain->def->links[i];
        const gw_chain_link_state *joint = &chain->states[i];
        double past = past_limit(link, chain->q[i]);
        sum += 0.5 * joint->limit_stiffness * past * past;
        if (link->friction > 0)
            sum += friction_energy(link, joint, chain->q[i]);
    }
    return sum;
}

/* (D^-1)_ii, the largest over three postures: as given, and with all limited joints at their lower
 * and upper ends. */
static void mobilities(gw_chain *chain, double *largest)
{
    const gw_chain_def *def = chain->def;
    for (int posture = 0; posture < 3; posture++) {
        double q[GW_MAX_LINKS], a[GW_MAX_LINKS];
        for (int i = 0; i < def->count; i++) {
            const gw_chain_link *link = &def->links[i];
            bool moved = posture > 0 && link->limited;
            q[i] = !moved ? chain->q[i] : posture == 1 ? link->lower : link->upper;
        }
        gw_chain_forward_kinematics(chain, q, chain->states);
        gw_chain_articulated_inertias(chain, chain->states);
        for (int i = 0; i < def->count; i++) {
            for (int k = 0; k < def->count; k++)
                a[k] = k == i;
            gw_chain_accelerations(chain, chain->states, NULL, a);
            largest[i] = fmax(largest[i], a[i]);
        }
    }
}

/* As stiff as the step bears: k = (phase / dt)^2 / (D^-1)_ii. */
void gw_chain_set_limit_stiffness(gw_chain *chain)
{
    double mobility[GW_MAX_LINKS] = {0};
    double rate = 1 / period(chain);
    mobilities(chain, mobility);
    for (int i = 0; i < chain->def->count; i++) {
        gw_chain_link_state *joint = &chain->states[i];
        double inertia = mobility[i] > 0 ? 1 / mobility[i] : 0;
        double limit = LIMIT_PHASE * rate;
        joint->effective_inertia = inertia;
        joint->limit_stiffness = limit * limit * inertia;
        joint->limit_damping = 2 * LIMIT_DAMPING * limit * inertia;
        joint->bristle_root = chain->q[i];
    }
}
