/*
 * Chains with joints whose springs and dampers an explicit formula does not bear: linearly implicit
 * Euler steps, extrapolated. On the loop's thread, RT safe.
 *
 *   (D + h C + h^2 K) a = f(q, v) - h K v,   v += h a,   q += h v
 *
 * with C and K the joints' own, diagonal, which articulated bodies take as an inertia of each joint
 * added to the links': O(n) all the same. In 1, 2 and 3 steps, T = (T1 - 8 T2 + 9 T3) / 2, of third
 * order (Deuflhard 1985), and whatever is stiffer than h decays: 1/2 R1 - 4 R2 + 9/2 R3 -> 0.
 */
#include <string.h>

#include "rt/dynamics/articulated_body.h"

/* What the finest piece of an explicit step bears of all joints together: decay and squared phase.
 */
#define BORNE 2.0

/* Turns of the power iteration that looks for it: a lower bound within a tenth. */
#define TURNS 6

/* Of what books of energy add up. */
#define ROUNDING 1e-12

/* Which motors are at their most is looked for in so many turns; from the second half on none is
 * let go again. */
#define SETTLE 8

/* ---- how stiff ------------------------------------------------------------------------------- */

/* h C + h^2 K of a piece; their sum over the inertias that the joints feel, above all they could
 * be together. */
static double stiffness_of(const gw_chain *chain, double h, double *added)
{
    double sum = 0;
    for (int i = 0; i < chain->def->count; i++) {
        const gw_chain_link *link = &chain->def->links[i];
        double damping = link->damping + link->motor.damping;
        damping = fmax(damping, gw_motor_fade_slope(&link->motor, chain->q[i], chain->v[i]));
        added[i] = h * (damping + h * link->motor.stiffness);
        if (added[i] > 0)
            sum += added[i] / chain->joints[i].inertia_seen;
    }
    return sum;
}

/* The largest eigenvalue of D^-1 diag(a), as a Rayleigh quotient. */
static double largest(const gw_chain *chain, const double *added)
{
    double x[GW_MAX_LINKS], y[GW_MAX_LINKS], found = 0;
    int n = chain->def->count;
    for (int i = 0; i < n; i++)
        x[i] = (i % 2 ? -1 : 1) / sqrt(chain->joints[i].inertia_seen);
    for (int turn = 0; turn < TURNS; turn++) {
        double before = 0, after = 0;
        for (int i = 0; i < n; i++)
            y[i] = added[i] * x[i];
        gw_chain_accelerations(chain, chain->joints, NULL, y);
        for (int i = 0; i < n; i++) {
            before += x[i] * added[i] * x[i];
            after += y[i] * added[i] * x[i];
        }
        if (!(before > 0))
            return found;
        found = after / before;
        for (int i = 0; i < n; i++)
            x[i] = y[i] / found;
    }
    return found;
}

bool gw_chain_is_stiff(const gw_chain *chain)
{
    double added[GW_MAX_LINKS], dt = chain->def->dt > 0 ? chain->def->dt : 1e-3;
    return stiffness_of(chain, dt / GW_CHAIN_MAX_SUBSTEPS, added) > BORNE;
}

void gw_chain_detect_stiffness(gw_chain *chain, double dt)
{
    double added[GW_MAX_LINKS];
    bool stiff = !chain->local &&
                 stiffness_of(chain, dt / GW_CHAIN_MAX_SUBSTEPS, added) > BORNE / 2 &&
                 largest(chain, added) > BORNE;
    chain->stiff = stiff ? dt : 0;
}

/* ---- one step -------------------------------------------------------------------------------- */

/* How a motor is bound: by its law alone, at its most either way, by its speed, beyond that. */
enum { BACKWARD = -1, LAW, FORWARD, AT_SPEED, BEYOND };

/* What a motor's law comes to where the joint accelerates so. */
static double motor_at(const gw_motor_force_model *m, double h, double v, double a)
{
    return m->force - m->damping * h * a - m->stiffness * h * (v + h * a);
}

/* A motor that drives forward or backward, at that speed: what it gives at most. */
static double at_speed(const gw_motor_force_model *m, double v)
{
    return m->drag * (copysign(m->speed, m->force) - v);
}

static double motor_gives(const gw_motor_force_model *m, int how, double h, double v, double a)
{
    switch (how) {
    case LAW:
        return motor_at(m, h, v, a);
    case AT_SPEED:
        return at_speed(m, v + h * a);
    case BEYOND:
        return 0;
    default:
        return how * m->most;
    }
}

/* The speed's bound is tried before what lies beyond it, which comes from being driven there. */
static int bound_how(const gw_motor_force_model *m, int how, double h, double v, double a)
{
    double force = motor_at(m, h, v, a), to = v + h * a, ahead = copysign(1, m->force);
    double most = ahead * at_speed(m, to);
    if (isfinite(m->speed) && ahead * force > 0 && most < fmin(fabs(force), m->most))
        return most > 0 || how != AT_SPEED ? (how == BEYOND && !(most > 0) ? BEYOND : AT_SPEED)
                                           : BEYOND;
    return force > m->most ? FORWARD : force < -m->most ? BACKWARD : LAW;
}

/* How all motors are bound by what they would give. True where that changed. */
static bool bound(const gw_chain *chain, const gw_joint_force_model *law, bool let_go, double h,
                  const double *v, const double *a, signed char *how)
{
    bool changed = false;
    for (int i = 0; i < chain->def->count; i++) {
        signed char now = (signed char)bound_how(&law->motor[i], how[i], h, v[i], a[i]);
        if (now == how[i] || (now == LAW && !let_go))
            continue;
        how[i] = now;
        changed = true;
    }
    return changed;
}

/* The law as motors are bound: forces in `a`, what it adds to inertias. */
static void lay_out(const gw_chain *chain, const gw_joint_force_model *law, double h,
                    const double *v, const signed char *how, double *a, double *added)
{
    for (int i = 0; i < chain->def->count; i++) {
        const gw_motor_force_model *m = &law->motor[i];
        double damping = law->damping[i], stiffness = law->stiffness[i];
        double force = how[i] == LAW ? m->force : motor_gives(m, how[i], h, v[i], 0);
        if (how[i] == LAW) {
            damping += m->damping;
            stiffness += m->stiffness;
        }
        if (how[i] == AT_SPEED)
            damping += m->drag;
        a[i] = law->force[i] + force - h * stiffness * v[i];
        added[i] = h * (damping + h * stiffness);
    }
}

/* The joints' accelerations by the law, `bias` the links' wrenches; `how` as it was last, or LAW.
 */
static void settle(const gw_chain *chain, const gw_joint_force_model *law, const gw_wrench *bias,
                   double h, const double *v, gw_chain_link_state *at, double *a, signed char *how)
{
    for (int turn = 0; turn < SETTLE; turn++) {
        double added[GW_MAX_LINKS];
        gw_wrench used[GW_MAX_LINKS];
        memcpy(used, bias, (size_t)chain->def->count * sizeof *used);
        lay_out(chain, law, h, v, how, a, added);
        gw_chain_articulated_inertias_with(chain, added, at);
        gw_chain_accelerations(chain, at, used, a);
        if (!bound(chain, law, turn < SETTLE / 2, h, v, a, how))
            return;
    }
}

/* Of the wrenches that were taken from `bias`, at the twists in `at` (W). */
static double power(int n, const gw_wrench *taken, const gw_chain_link_state *at)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum -= gw_dot(taken[i].f, at[i].twist.v) + gw_dot(taken[i].t, at[i].twist.w);
    return sum;
}

/* J^T of them. */
static void pull_back(const gw_chain *chain, const gw_wrench *taken, const gw_chain_link_state *at,
                      double *force)
{
    gw_wrench p = {{0, 0, 0}, {0, 0, 0}};
    for (int i = chain->def->count - 1; i >= 0; i--) {
        p = gw_wrench_add(p, taken[i]);
        force[i] = -gw_dot(gw_chain_axis(&at[i]), chain->joints[i].slides ? p.f : p.t);
        p.t = gw_add(p.t, gw_cross(at[i].arm, p.f));
    }
}

static void add_wrenches(int n, const gw_wrench *w, gw_wrench *sum)
{
    for (int i = 0; i < n; i++)
        sum[i] = gw_wrench_add(sum[i], w[i]);
}

/* A run from the chain's state in equal steps. */
typedef struct run {
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], pushed[GW_MAX_LINKS];
    signed char how[GW_MAX_LINKS]; /* motors are bound */
    bool turned;                   /* which they are changed on the way */
    gw_chain_work sum;
    gw_wrench on_held; /* at its start */
} run;

/* h on; what the links are asked for, and what for by whom. */
static void euler(const gw_chain *chain, const gw_forces *forces, double t, double h, run *r)
{
    gw_chain_link_state at[GW_MAX_LINKS];
    gw_wrench bias[GW_MAX_LINKS], hand[GW_MAX_LINKS], touch[GW_MAX_LINKS];
    gw_joint_force_model law;
    gw_chain_stage_load flow = {0};
    double a[GW_MAX_LINKS];
    int n = chain->def->count;
    memset(hand, 0, (size_t)n * sizeof *hand);
    memset(touch, 0, (size_t)n * sizeof *touch);
    gw_chain_forward_kinematics(chain, r->q, at);
    gw_chain_twists(chain, r->v, at);
    gw_chain_bias_forces(chain, r->v, at, bias);
    if (forces && forces->at)
        gw_chain_apply_hand(chain, at, forces, t, hand, &flow);
    if (forces && forces->touch)
        gw_chain_apply_contacts(chain, at, forces, t, touch, &flow);
    pull_back(chain, hand, at, r->pushed);
    add_wrenches(n, hand, bias);
    add_wrenches(n, touch, bias);
    gw_chain_linearise_joint_forces(chain, r->q, r->v, &law);
    settle(chain, &law, bias, h, r->v, at, a, r->how);
    for (int i = 0; i < n; i++) {
        double force = motor_gives(&law.motor[i], r->how[i], h, r->v[i], a[i]);
        r->v[i] += h * a[i];
        r->q[i] += h * r->v[i];
        r->sum.motors += h * force * r->v[i];
    }
    gw_chain_twists(chain, r->v, at);
    r->sum.work += h * power(n, hand, at);
    r->sum.touched += h * power(n, touch, at);
    r->on_held = flow.on_held;
}

static void take_run(const gw_chain *chain, const gw_forces *forces, double t, double h, int steps,
                     run *r)
{
    signed char before[GW_MAX_LINKS];
    gw_wrench first = {{0, 0, 0}, {0, 0, 0}};
    size_t n = (size_t)chain->def->count;
    memcpy(r->q, chain->q, n * sizeof *r->q);
    memcpy(r->v, chain->v, n * sizeof *r->v);
    memset(r->how, 0, n);
    r->sum = (gw_chain_work){0};
    r->turned = false;
    for (int i = 0; i < steps; i++) {
        memcpy(before, r->how, n);
        euler(chain, forces, t + i * h / steps, h / steps, r);
        r->turned = r->turned || (i > 0 && memcmp(before, r->how, n) != 0);
        first = i ? first : r->on_held;
    }
    r->on_held = first;
}

/* ---- extrapolated ---------------------------------------------------------------------------- */

#define RUNS 3

static const double smooth[RUNS] = {1. / 2, -4, 9. / 2}, finest[RUNS] = {0, 0, 1};

/* Motors that come to their most on the way make a bend, which nothing is to be extrapolated over:
 * then the finest run alone counts. */
static const double *weights_of(const gw_chain *chain, const run runs[RUNS])
{
    size_t n = (size_t)chain->def->count;
    for (int i = 0; i < RUNS; i++)
        if (runs[i].turned || memcmp(runs[i].how, runs[0].how, n) != 0)
            return finest;
    return smooth;
}

void gw_chain_implicit_substep(const gw_chain *chain, const gw_forces *forces, double t, double h,
                               double *q, double *v, double *pushed, gw_chain_work *sum,
                               gw_wrench *constraint)
{
    double a[GW_MAX_LINKS];
    run runs[RUNS];
    size_t n = (size_t)chain->def->count;
    for (int i = 0; i < RUNS; i++)
        take_run(chain, forces, t, h, i + 1, &runs[i]);
    const double *w = weights_of(chain, runs);
    for (size_t k = 0; k < n; k++) {
        q[k] = w[0] * runs[0].q[k] + w[1] * runs[1].q[k] + w[2] * runs[2].q[k];
        v[k] = w[0] * runs[0].v[k] + w[1] * runs[1].v[k] + w[2] * runs[2].v[k];
        a[k] = (v[k] - chain->v[k]) / h;
    }
    for (int i = 0; i < RUNS; i++) {
        sum->work += w[i] * runs[i].sum.work;
        sum->touched += w[i] * runs[i].sum.touched;
        sum->motors += w[i] * runs[i].sum.motors;
    }
    memcpy(pushed, runs[RUNS - 1].pushed, n * sizeof *pushed);
    if (t == 0 && chain->def->held >= 0)
        *constraint = gw_chain_constraint_wrench(chain, a, &runs[0].on_held);
}

/* A spring gives what it held, b (rate - v) no more than b rate, and one that may come to its most
 * no more than that. */
double gw_chain_motor_work_max(const gw_chain *chain, const double *q0, const double *q1)
{
    double sum = 0, size = 0;
    for (int i = 0; i < chain->def->count; i++) {
        const gw_motor *m = &chain->def->links[i].motor;
        double way = q1[i] - q0[i], amid = m->target - 0.5 * (q0[i] + q1[i]);
        double given = (m->torque + m->stiffness * amid + m->damping * m->rate) * way;
        sum += m->max > 0 ? m->max * fabs(way) : given;
        size += fabs(given);
    }
    return sum + ROUNDING * size;
}

/* ---- between steps --------------------------------------------------------------------------- */

/*
 * D^-1 (f - C v) is no acceleration that lasts: what stiff joints do to a motion is over within the
 * step. Control adds D^-1 J^T F of the hand, so that what is told is, with F as it was,
 *
 *   (D + h C + h^2 K)^-1 (f - h K v + J^T F) - D^-1 J^T F
 *
 * and both together the coming step's mean.
 */
void gw_chain_implicit_acceleration(const gw_chain *chain, double *a)
{
    gw_chain_link_state at[GW_MAX_LINKS];
    gw_wrench bias[GW_MAX_LINKS];
    double direct[GW_MAX_LINKS];
    gw_joint_force_model law;
    signed char how[GW_MAX_LINKS] = {0};
    size_t n = (size_t)chain->def->count;
    memcpy(at, chain->joints, n * sizeof *at);
    memcpy(direct, chain->pushed, n * sizeof *direct);
    gw_chain_bias_forces(chain, chain->v, at, bias);
    gw_chain_linearise_joint_forces(chain, chain->q, chain->v, &law);
    for (size_t i = 0; i < n; i++)
        law.force[i] += chain->pushed[i];
    settle(chain, &law, bias, chain->stiff, chain->v, at, a, how);
    gw_chain_accelerations(chain, chain->joints, NULL, direct);
    for (size_t i = 0; i < n; i++)
        a[i] -= direct[i];
}
