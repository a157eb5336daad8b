/*
 * What acts at the joints themselves: motors, damping, friction, and springs beyond their limits.
 * On the loop's thread, RT safe.
 */
#include "rt/dynamics/articulated_body.h"

/* Periods of the limits' springs last nine steps or 72 pieces, and they are damped to half of what
 * would stop them dead, from this far beyond the limit on (rad, m): a damper that met the joint at
 * full strength would be a step in the force, which no formula integrates. */
#define LIMIT_PHASE   0.7
#define LIMIT_DAMPING 0.5
#define LIMIT_RAMP    1e-3

/* A motor fades out over the last tenth of its speed, or as much more as the step needs. */
#define FADE_SHARE 0.1

static double period(const gw_chain *chain)
{
    return chain->def->dt > 0 ? chain->def->dt : 1e-3;
}

/* Its spring's and damper's force, as far as `max` lets it. */
static double motor_force(const gw_motor *m, double q, double v)
{
    double force = m->torque + m->stiffness * (m->target - q) + m->damping * (m->rate - v);
    return m->max > 0 ? fmax(-m->max, fmin(m->max, force)) : force;
}

double gw_motor_fade_slope(const gw_motor *m, double q, double v)
{
    return m->speed > 0 ? fabs(motor_force(m, q, v)) / (FADE_SHARE * m->speed) : 0;
}

/* What is left of a force that drives the joint on towards the motor's speed. */
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

/* Pushes back, never pulls: a joint that leaves faster than its spring follows feels nothing. */
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
 * beyond 1 follows and F times its way is lost. So friction never drives, a joint at rest does not
 * creep, and one that slides loses F times its way exactly. A bristle that holds is damped,
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
                             double v, double *lost)
{
    double w = (q - joint->root) / span_of(link, joint), w2 = w * w;
    if (w2 >= 1)
        return copysign(link->friction, -w);
    double s = w * (15 - w2 * (10 - 3 * w2)) / 8;
    double c = joint->limit_damping, x = c * v / link->friction;
    double damping = c * (1 - s * s) / (1 + x * x);
    *lost += damping * v * v;
    return -link->friction * s - damping * v;
}

static double friction_energy(const gw_chain_link *link, const gw_chain_link_state *joint, double q)
{
    double span = span_of(link, joint), w = fabs(q - joint->root) / span, w2 = w * w;
    double share = w < 1 ? w2 * (7.5 - w2 * (2.5 - 0.5 * w2)) / 8 : FULL + (w - 1);
    return link->friction * span * share;
}

void gw_chain_copy_friction(gw_chain *chain, const gw_chain *from)
{
    for (int i = 0; i < chain->def->count; i++)
        chain->joints[i].root = from->joints[i].root;
    gw_chain_update(chain);
}

double gw_chain_update_friction(gw_chain *chain)
{
    double lost = 0;
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link *link = &chain->def->links[i];
        gw_chain_link_state *joint = &chain->joints[i];
        if (!(link->friction > 0))
            continue;
        double bent = chain->q[i] - joint->root, beyond = fabs(bent) - span_of(link, joint);
        if (!(beyond > 0))
            continue;
        joint->root += copysign(beyond, bent);
        lost += link->friction * beyond;
    }
    chain->potential -= lost;
    return lost;
}

/* ---- together ------------------------------------------------------------------------------- */

void gw_chain_joint_forces(const gw_chain *chain, const double *q, const double *v, double *force,
                           double *motors, double *lost)
{
    double motor_power = 0, lost_power = 0;
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link *link = &chain->def->links[i];
        const gw_chain_link_state *joint = &chain->joints[i];
        double motor = motor_force(&link->motor, q[i], v[i]), damping = link->damping;
        motor *= motor_fade(&link->motor, joint, motor, v[i]);
        double past = past_limit(link, q[i]);
        force[i] = motor - damping * v[i];
        motor_power += motor * v[i];
        lost_power += damping * v[i] * v[i];
        if (link->friction > 0)
            force[i] += friction_force(link, joint, q[i], v[i], &lost_power);
        if (past != 0) {
            double limit = limit_force(joint, past, v[i]);
            force[i] += limit;
            lost_power -= (limit + joint->limit_stiffness * past) * v[i];
        }
    }
    *motors = motor_power;
    *lost = lost_power;
}

/* Springs beyond limits and bristles as they stand; dampers that hold them, and the joint's own. */
static void passive_law(const gw_chain *chain, int i, double q, double v, gw_joint_force_model *law)
{
    const gw_chain_link *link = &chain->def->links[i];
    const gw_chain_link_state *joint = &chain->joints[i];
    double past = past_limit(link, q), lost = 0;
    law->force[i] = -link->damping * v;
    law->damping[i] = link->damping;
    law->stiffness[i] = 0;
    if (link->friction > 0) {
        double w = (q - joint->root) / span_of(link, joint), still = fmax(0, 1 - w * w);
        law->force[i] += friction_force(link, joint, q, v, &lost);
        law->stiffness[i] += joint->limit_stiffness * still * still;
    }
    if (past != 0) {
        double force = limit_force(joint, past, v);
        law->force[i] += force;
        law->stiffness[i] += force != 0 ? joint->limit_stiffness : 0;
    }
}

void gw_chain_linearise_joint_forces(const gw_chain *chain, const double *q, const double *v,
                                     gw_joint_force_model *law)
{
    for (int i = 0; i < chain->def->count; i++) {
        const gw_motor *m = &chain->def->links[i].motor;
        passive_law(chain, i, q[i], v[i], law);
        law->motor[i] = (gw_motor_force_model){
            .force = m->torque + m->stiffness * (m->target - q[i]) + m->damping * (m->rate - v[i]),
            .damping = m->damping,
            .stiffness = m->stiffness,
            .most = m->max > 0 ? m->max : INFINITY,
            .speed = m->speed > 0 ? m->speed : INFINITY,
            .drag = gw_motor_fade_slope(m, q[i], v[i])};
    }
}

double gw_chain_joint_energy(const gw_chain *chain)
{
    double sum = 0;
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link *link = &chain->def->links[i];
        const gw_chain_link_state *joint = &chain->joints[i];
        double past = past_limit(link, chain->q[i]);
        sum += 0.5 * joint->limit_stiffness * past * past;
        if (link->friction > 0)
            sum += friction_energy(link, joint, chain->q[i]);
    }
    return sum;
}

/* (D^-1)_ii, the largest of three postures: as given, with all limited joints at one end, at the
 * other. */
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
        gw_chain_forward_kinematics(chain, q, chain->joints);
        gw_chain_articulated_inertias(chain, chain->joints);
        for (int i = 0; i < def->count; i++) {
            for (int k = 0; k < def->count; k++)
                a[k] = k == i;
            gw_chain_accelerations(chain, chain->joints, NULL, a);
            largest[i] = fmax(largest[i], a[i]);
        }
    }
}

/* As stiff as the step bears: k = (phase / dt)^2 / mobility. */
void gw_chain_set_limit_stiffness(gw_chain *chain)
{
    double mobility[GW_MAX_LINKS] = {0};
    double rate = 1 / period(chain);
    mobilities(chain, mobility);
    for (int i = 0; i < chain->def->count; i++) {
        gw_chain_link_state *joint = &chain->joints[i];
        double inertia = mobility[i] > 0 ? 1 / mobility[i] : 0;
        double limit = LIMIT_PHASE * rate;
        joint->inertia_seen = inertia;
        joint->limit_stiffness = limit * limit * inertia;
        joint->limit_damping = 2 * LIMIT_DAMPING * limit * inertia;
        joint->root = chain->q[i];
    }
}
