/*
 * One step of a chain. On the loop's thread, RT safe.
 *
 * Ordinary chains take explicit Runge-Kutta substeps, with work and dissipation as further states;
 * the energy balance of each substep decides the order of the formula and the number of substeps.
 * Chains whose joint springs and dampers are too stiff for that take linearly implicit Euler
 * substeps, extrapolated to third order. README.md has the derivations.
 */
#include <assert.h>
#include <string.h>

#include "rt/dynamics/articulated_body.h"
#include "rt/dynamics/runge_kutta.h"

#define MAX_SUBSTEPS 4 /* of one step, explicit at the finest level or implicit */

/* Powers of a stage (W), or their integrals (J): of the hand, of contacts and what pushes links, of
 * the latter alone, of motors, and what damping takes. */
typedef struct work {
    double hand, contact, pushed, motors, dissipated;
} work;

/* What acts on the links at a stage, besides joint forces. */
typedef struct stage_load {
    work power;
    gw_wrench on_held; /* of hand, contacts and pushes on the held link, at its origin */
} stage_load;

static void add_work(work *sum, double weight, const work *power)
{
    sum->hand += weight * power->hand;
    sum->contact += weight * power->contact;
    sum->pushed += weight * power->pushed;
    sum->motors += weight * power->motors;
    sum->dissipated += weight * power->dissipated;
}

/* ---- wrenches on the links ------------------------------------------------------------------ */

static void subtract_wrench(gw_wrench *bias, gw_wrench w)
{
    bias->f = gw_sub(bias->f, w.f);
    bias->t = gw_sub(bias->t, w.t);
}

/* Subtracts the hand's wrench, with the chain at `at`, from the bias forces. */
static void apply_hand(const gw_chain *chain, const gw_chain_link_state *at,
                       const gw_forces *forces, double t, gw_wrench *bias, stage_load *load)
{
    gw_pose held;
    gw_twist twist;
    int link = gw_chain_held_link(chain->def);
    gw_chain_held_frame(chain, at, &held, &twist);
    gw_wrench w = forces->at(forces->context, t, &held, &twist);
    load->power.hand = gw_dot(w.f, twist.v) + gw_dot(w.t, twist.w);
    w.t = gw_add(w.t, gw_cross(gw_sub(held.p, at[link].origin), w.f));
    subtract_wrench(&bias[link], w);
    load->on_held = w;
}

/* Contacts or pushes act on the links, beside the hand. */
static bool loads_links(const gw_chain *chain, const gw_forces *forces)
{
    return chain->pushed || (forces && forces->touch);
}

static void add_wrenches(int n, const gw_wrench *w, gw_wrench *sum)
{
    for (int i = 0; i < n; i++)
        sum[i] = gw_wrench_add(sum[i], w[i]);
}

/* The same of the wrenches of contacts and pushes on all links. */
static void apply_to_links(const gw_chain *chain, const gw_chain_link_state *at,
                           const gw_forces *forces, double t, gw_wrench *bias, stage_load *load)
{
    gw_pose poses[GW_MAX_LINKS];
    gw_twist twists[GW_MAX_LINKS];
    gw_wrench on[GW_MAX_LINKS];
    int n = chain->def->count;
    memset(on, 0, (size_t)n * sizeof *on);
    int i = 0;
    do /* a chain has a link */
        gw_chain_link_frame(chain, at, i, &poses[i], &twists[i]);
    while (++i < n);
    if (forces && forces->touch)
        forces->touch(forces->touching, t, poses, twists, on);
    if (chain->pushed)
        add_wrenches(n, chain->pushed, on);
    for (i = 0; i < n; i++) {
        if (chain->pushed)
            load->power.pushed +=
                gw_dot(chain->pushed[i].f, twists[i].v) + gw_dot(chain->pushed[i].t, twists[i].w);
        load->power.contact += gw_dot(on[i].f, twists[i].v) + gw_dot(on[i].t, twists[i].w);
        subtract_wrench(&bias[i], on[i]);
    }
    load->on_held = gw_wrench_add(load->on_held, on[gw_chain_held_link(chain->def)]);
}

/* ---- explicit integration: Runge-Kutta ------------------------------------------------------ */

/* Joint accelerations q'' at q and v, with frames and articulated inertias already in `at`. */
static void stage_accelerations(const gw_chain *chain, const gw_chain_link_state *at,
                                const double *q, const double *v, const gw_forces *forces, double t,
                                double *a, stage_load *load)
{
    gw_wrench bias[GW_MAX_LINKS];
    *load = (stage_load){0};
    if (chain->local)
        memset(bias, 0, (size_t)chain->def->count * sizeof *bias);
    else
        gw_chain_bias_forces(chain, v, at, bias);
    gw_chain_joint_forces(chain, q, v, a, &load->power.motors, &load->power.dissipated);
    if (forces && forces->at)
        apply_hand(chain, at, forces, t, bias, load);
    if (loads_links(chain, forces))
        apply_to_links(chain, at, forces, t, bias, load);
    if (chain->local)
        gw_chain_local_accelerations(chain, at, bias, a);
    else
        gw_chain_accelerations(chain, at, bias, a);
}

/* The same of a planar chain: hand and contacts act in the plane. */
static void planar_stage(const gw_chain *chain, const gw_joint_sines *start, const double *q,
                         const double *v, const gw_forces *forces, double t, double *a,
                         stage_load *load)
{
    gw_planar_link links[GW_MAX_LINKS];
    *load = (stage_load){0};
    gw_planar_kinematics(chain, start, q, v, links);
    gw_chain_joint_forces(chain, q, v, a, &load->power.motors, &load->power.dissipated);
    if (forces && forces->at)
        load->on_held = gw_planar_apply_hand(chain, links, forces, t, &load->power.hand);
    if (loads_links(chain, forces))
        load->on_held = gw_wrench_add(
            load->on_held, gw_planar_apply_to_links(chain, links, forces, t, &load->power.contact,
                                                    &load->power.pushed));
    gw_planar_accelerations(chain, links, a);
}

/* All joints turn about parallel axes, and no local model takes the place of D. */
static bool uses_planar_recursion(const gw_chain *chain)
{
    return chain->planar && !chain->local;
}

/* q'' of one stage; the first stage's frames are the chain's own. */
static void stage(const gw_chain *chain, const gw_joint_sines *start, bool first, const double *q,
                  const double *v, const gw_forces *forces, double t, double *a, stage_load *load)
{
    gw_chain_link_state at[GW_MAX_LINKS];
    if (uses_planar_recursion(chain)) {
        planar_stage(chain, start, q, v, forces, t, a, load);
        return;
    }
    if (first) {
        stage_accelerations(chain, chain->states, q, v, forces, t, a, load);
        return;
    }
    gw_chain_configure(chain, q, v, at);
    stage_accelerations(chain, at, q, v, forces, t, a, load);
}

/* q and v at stage i, or at the end (i = rk->stages), from the accelerations of the stages before.
 */
static void stage_state(const gw_chain *chain, const gw_tableau *rk, int i, double c, double h,
                        double (*a)[GW_MAX_LINKS], double *q, double *v)
{
    for (int k = 0; k < chain->def->count; k++) {
        double once = 0, twice = 0;
        for (int j = 0; j < i; j++) {
            once += rk->a[i][j] * a[j][k];
            twice += rk->aa[i][j] * a[j][k];
        }
        q[k] = chain->q[k] + h * (c * chain->v[k] + h * twice);
        v[k] = chain->v[k] + h * once;
    }
}

/*
 * Levels of accuracy: one substep by a formula of fourth order, of sixth, of eighth, then two and
 * four substeps of eighth order. Each level costs 1.5 to 2 times the one before and leaves a
 * thousandth of its error or less. Where a stage is cheap the lowest level is sixth order. A local
 * model, which has the cheapest stages, halves the classic fourth-order step down to eighths
 * instead.
 */
#define MAX_LEVEL 4
#define WHOLE     8 /* a step, in eighths */

static const gw_tableau *const tableaus[] = {&gw_fehlberg4, &gw_butcher6, &gw_cooper8, &gw_cooper8,
                                             &gw_cooper8};
static const int substep_widths[] = {WHOLE, WHOLE, WHOLE, WHOLE / 2, WHOLE / MAX_SUBSTEPS};

static int min_level(const gw_chain *chain)
{
    return chain->planar || chain->local ? 1 : 0;
}

static const gw_tableau *tableau_of(const gw_chain *chain)
{
    return chain->local ? &gw_kutta4 : tableaus[chain->level];
}

/* Of a substep, in eighths of a step. */
static int substep_width(const gw_chain *chain)
{
    return chain->local ? WHOLE >> (chain->level - 1) : substep_widths[chain->level];
}

/* From the chain's state, h on, into q and v; the constraint wrench lambda at the step's start (t =
 * 0) of a chain that is held. */
static void integrate_explicitly(const gw_chain *chain, const gw_forces *forces, double t, double h,
                                 double *q, double *v, work *sum, gw_wrench *constraint)
{
    const gw_tableau *rk = tableau_of(chain);
    double a[GW_RK_MAX_STAGES][GW_MAX_LINKS];
    gw_joint_sines start;
    if (uses_planar_recursion(chain))
        gw_chain_sines(chain->def->count, chain->q, &start);
    for (int i = 0; i < rk->stages; i++) {
        stage_load load;
        stage_state(chain, rk, i, rk->c[i], h, a, q, v);
        stage(chain, &start, i == 0, q, v, forces, t + rk->c[i] * h, a[i], &load);
        add_work(sum, rk->b[i] * h, &load.power);
        if (i == 0 && t == 0 && chain->def->held >= 0)
            *constraint = gw_chain_constraint_wrench(chain, a[0], &load.on_held);
    }
    stage_state(chain, rk, rk->stages, 1, h, a, q, v);
}

/* ---- stiffness: is the explicit formula stable? --------------------------------------------- */

/* The largest eigenvalue of D^-1 (h C + h^2 K), decay and squared phase of a substep, that the
 * finest explicit substep bears. */
#define EXPLICIT_LIMIT   2.0
#define POWER_ITERATIONS 6 /* to find that eigenvalue: a lower bound within a tenth */

/* h C + h^2 K of a substep, per joint, into `added`; returns the sum over the joints' effective
 * inertias, an upper bound of the eigenvalue. */
static double added_inertias(const gw_chain *chain, double h, double *added)
{
    double sum = 0;
    for (int i = 0; i < chain->def->count; i++) {
        const gw_link_def *link = &chain->def->links[i];
        double damping = link->damping + link->motor.damping;
        damping = fmax(damping, gw_motor_fade_slope(&link->motor, chain->q[i], chain->v[i]));
        added[i] = h * (damping + h * link->motor.stiffness);
        if (added[i] > 0)
            sum += added[i] / chain->states[i].effective_inertia;
    }
    return sum;
}

/* The largest eigenvalue of D^-1 diag(added) by power iteration, as a Rayleigh quotient. */
static double largest_eigenvalue(const gw_chain *chain, const double *added)
{
    double x[GW_MAX_LINKS], y[GW_MAX_LINKS], found = 0;
    int n = chain->def->count;
    for (int i = 0; i < n; i++)
        x[i] = (i % 2 ? -1 : 1) / sqrt(chain->states[i].effective_inertia);
    for (int k = 0; k < POWER_ITERATIONS; k++) {
        double before = 0, after = 0;
        for (int i = 0; i < n; i++)
            y[i] = added[i] * x[i];
        gw_chain_accelerations(chain, chain->states, NULL, y);
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
    return added_inertias(chain, dt / MAX_SUBSTEPS, added) > EXPLICIT_LIMIT;
}

void gw_chain_detect_stiffness(gw_chain *chain, double dt)
{
    double added[GW_MAX_LINKS];
    bool stiff = !chain->local &&
                 added_inertias(chain, dt / MAX_SUBSTEPS, added) > EXPLICIT_LIMIT / 2 &&
                 largest_eigenvalue(chain, added) > EXPLICIT_LIMIT;
    chain->implicit_dt = stiff ? dt : 0;
}

/* ---- implicit integration: linearly implicit Euler, extrapolated -------------------------------
 *
 *   (D + h C + h^2 K) a = f(q, v) - h K v,   v += h a,   q += h v
 *
 * with C and K, the joints' own damping and stiffness, diagonal: the articulated recursion takes
 * them as an inertia of each joint added to the links', so that a substep stays O(n). In 1, 2 and 3
 * Euler steps, T = (T1 - 8 T2 + 9 T3) / 2 is of third order (Deuflhard 1985), and whatever is
 * stiffer than h decays: 1/2 R1 - 4 R2 + 9/2 R3 -> 0.
 */

/* Iterations of the search for the motors' states; from the second half on none becomes linear
 * again. */
#define MOTOR_ITERATIONS 8

/* Updates all motors' states; true where one changed. */
static bool update_motor_states(const gw_chain *chain, const gw_joint_force_model *forces,
                                bool may_become_linear, double h, const double *v, const double *a,
                                signed char *states)
{
    bool changed = false;
    for (int i = 0; i < chain->def->count; i++) {
        signed char now =
            (signed char)gw_motor_state_at(&forces[i].motor, states[i], h, v[i], a[i]);
        if (now == states[i] || (now == GW_MOTOR_LINEAR && !may_become_linear))
            continue;
        states[i] = now;
        changed = true;
    }
    return changed;
}

/* The right-hand side, in `a`, and h C + h^2 K, in `added`, for the motors' states. */
static void implicit_system(const gw_chain *chain, const gw_joint_force_model *forces, double h,
                            const double *v, const signed char *states, double *a, double *added)
{
    for (int i = 0; i < chain->def->count; i++) {
        const gw_motor_force_model *m = &forces[i].motor;
        double damping = forces[i].damping, stiffness = forces[i].stiffness;
        double force =
            states[i] == GW_MOTOR_LINEAR ? m->force : gw_motor_force_in(m, states[i], h, v[i], 0);
        if (states[i] == GW_MOTOR_LINEAR) {
            damping += m->damping;
            stiffness += m->stiffness;
        }
        if (states[i] == GW_MOTOR_AT_SPEED)
            damping += m->fade_slope;
        a[i] = forces[i].force + force - h * stiffness * v[i];
        added[i] = h * (damping + h * stiffness);
    }
}

/* Joint accelerations of one Euler step; `states` begins as it was last, or linear. */
static void implicit_accelerations(const gw_chain *chain, const gw_joint_force_model *forces,
                                   const gw_wrench *bias, double h, const double *v,
                                   gw_chain_link_state *at, double *a, signed char *states)
{
    for (int k = 0; k < MOTOR_ITERATIONS; k++) {
        double added[GW_MAX_LINKS];
        gw_wrench used[GW_MAX_LINKS];
        memcpy(used, bias, (size_t)chain->def->count * sizeof *used);
        implicit_system(chain, forces, h, v, states, a, added);
        gw_chain_articulated_inertias_with(chain, added, at);
        gw_chain_accelerations(chain, at, used, a);
        if (!update_motor_states(chain, forces, k < MOTOR_ITERATIONS / 2, h, v, a, states))
            return;
    }
}

/* Power (W) of wrenches that were subtracted from the bias forces, at the twists in `at`. */
static double power_of(int n, const gw_wrench *subtracted, const gw_chain_link_state *at)
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum -= gw_dot(subtracted[i].f, at[i].twist.v) + gw_dot(subtracted[i].t, at[i].twist.w);
    return sum;
}

/* Their generalised force J^T w. */
static void pull_back(const gw_chain *chain, const gw_wrench *subtracted,
                      const gw_chain_link_state *at, double *force)
{
    gw_wrench p = {{0, 0, 0}, {0, 0, 0}};
    for (int i = chain->def->count - 1; i >= 0; i--) {
        p = gw_wrench_add(p, subtracted[i]);
        force[i] = -gw_dot(gw_chain_axis(&at[i]), chain->states[i].prismatic ? p.f : p.t);
        p.t = gw_add(p.t, gw_cross(at[i].arm, p.f));
    }
}

/* A run of equal Euler steps from the chain's state. */
typedef struct euler_run {
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS], hand_force[GW_MAX_LINKS];
    signed char motor_states[GW_MAX_LINKS];
    bool motors_changed; /* a motor's state changed during the run */
    work sum;
    gw_wrench on_held; /* at its start */
} euler_run;

static void euler_step(const gw_chain *chain, const gw_forces *forces, double t, double h,
                       euler_run *r)
{
    gw_chain_link_state at[GW_MAX_LINKS];
    gw_wrench bias[GW_MAX_LINKS], hand[GW_MAX_LINKS], touch[GW_MAX_LINKS];
    gw_joint_force_model joint_forces[GW_MAX_LINKS];
    stage_load load = {0};
    double a[GW_MAX_LINKS];
    int n = chain->def->count;
    memset(hand, 0, (size_t)n * sizeof *hand);
    memset(touch, 0, (size_t)n * sizeof *touch);

    /* kinematics and bias forces */
    gw_chain_forward_kinematics(chain, r->q, at);
    gw_chain_twists(chain, r->v, at);
    gw_chain_bias_forces(chain, r->v, at, bias);

    /* hand and contacts, each kept apart for its work */
    if (forces && forces->at)
        apply_hand(chain, at, forces, t, hand, &load);
    if (loads_links(chain, forces))
        apply_to_links(chain, at, forces, t, touch, &load);
    pull_back(chain, hand, at, r->hand_force);
    add_wrenches(n, hand, bias);
    add_wrenches(n, touch, bias);

    /* implicit joint forces, and the step */
    gw_chain_linearise_joint_forces(chain, r->q, r->v, joint_forces);
    implicit_accelerations(chain, joint_forces, bias, h, r->v, at, a, r->motor_states);
    for (int i = 0; i < n; i++) {
        double force =
            gw_motor_force_in(&joint_forces[i].motor, r->motor_states[i], h, r->v[i], a[i]);
        r->v[i] += h * a[i];
        r->q[i] += h * r->v[i];
        r->sum.motors += h * force * r->v[i];
    }

    /* work, at the new velocities */
    gw_chain_twists(chain, r->v, at);
    r->sum.hand += h * power_of(n, hand, at);
    r->sum.contact += h * power_of(n, touch, at);
    for (int i = 0; i < n && chain->pushed; i++)
        r->sum.pushed += h * (gw_dot(chain->pushed[i].f, at[i].twist.v) +
                              gw_dot(chain->pushed[i].t, at[i].twist.w));
    r->on_held = load.on_held;
}

static void run_euler_steps(const gw_chain *chain, const gw_forces *forces, double t, double h,
                            int steps, euler_run *r)
{
    signed char before[GW_MAX_LINKS];
    gw_wrench first = {{0, 0, 0}, {0, 0, 0}};
    size_t n = (size_t)chain->def->count;
    memcpy(r->q, chain->q, n * sizeof *r->q);
    memcpy(r->v, chain->v, n * sizeof *r->v);
    memset(r->motor_states, 0, n);
    r->sum = (work){0};
    r->motors_changed = false;
    for (int i = 0; i < steps; i++) {
        memcpy(before, r->motor_states, n);
        euler_step(chain, forces, t + i * h / steps, h / steps, r);
        r->motors_changed = r->motors_changed || (i > 0 && memcmp(before, r->motor_states, n) != 0);
        first = i ? first : r->on_held;
    }
    r->on_held = first;
}

#define RUNS 3 /* of 1, 2 and 3 Euler steps */

static const double third_order[RUNS] = {1. / 2, -4, 9. / 2}, finest_run[RUNS] = {0, 0, 1};

/* A motor that reaches its maximum on the way makes a kink, which must not be extrapolated over:
 * then the finest run alone counts. */
static const double *extrapolation_weights(const gw_chain *chain, const euler_run runs[RUNS])
{
    size_t n = (size_t)chain->def->count;
    for (int i = 0; i < RUNS; i++)
        if (runs[i].motors_changed || memcmp(runs[i].motor_states, runs[0].motor_states, n) != 0)
            return finest_run;
    return third_order;
}

/* From the chain's state, h on, into q and v; the hand's generalised force of the last Euler step
 * into `hand_force`; the constraint wrench as integrate_explicitly(). */
static void integrate_implicitly(const gw_chain *chain, const gw_forces *forces, double t, double h,
                                 double *q, double *v, double *hand_force, work *sum,
                                 gw_wrench *constraint)
{
    double a[GW_MAX_LINKS];
    euler_run runs[RUNS];
    size_t n = (size_t)chain->def->count;
    for (int i = 0; i < RUNS; i++)
        run_euler_steps(chain, forces, t, h, i + 1, &runs[i]);
    const double *w = extrapolation_weights(chain, runs);
    for (size_t k = 0; k < n; k++) {
        q[k] = w[0] * runs[0].q[k] + w[1] * runs[1].q[k] + w[2] * runs[2].q[k];
        v[k] = w[0] * runs[0].v[k] + w[1] * runs[1].v[k] + w[2] * runs[2].v[k];
        a[k] = (v[k] - chain->v[k]) / h;
    }
    for (int i = 0; i < RUNS; i++) {
        sum->hand += w[i] * runs[i].sum.hand;
        sum->contact += w[i] * runs[i].sum.contact;
        sum->pushed += w[i] * runs[i].sum.pushed;
        sum->motors += w[i] * runs[i].sum.motors;
    }
    memcpy(hand_force, runs[RUNS - 1].hand_force, n * sizeof *hand_force);
    if (t == 0 && chain->def->held >= 0)
        *constraint = gw_chain_constraint_wrench(chain, a, &runs[0].on_held);
}

/*
 * D^-1 (f - C v) is not an acceleration that lasts: the effect of stiff joints on a motion is over
 * within the step. Control adds D^-1 J^T F of the hand to this, so that the answer, with F as it
 * was,
 *
 *   (D + h C + h^2 K)^-1 (f - h K v + J^T F) - D^-1 J^T F
 *
 * gives both together the coming step's mean.
 */
void gw_chain_implicit_acceleration(const gw_chain *chain, double *a)
{
    gw_chain_link_state at[GW_MAX_LINKS];
    gw_wrench bias[GW_MAX_LINKS];
    double direct[GW_MAX_LINKS];
    gw_joint_force_model forces[GW_MAX_LINKS];
    signed char states[GW_MAX_LINKS] = {0};
    size_t n = (size_t)chain->def->count;
    memcpy(at, chain->states, n * sizeof *at);
    memcpy(direct, chain->hand_force, n * sizeof *direct);
    gw_chain_bias_forces(chain, chain->v, at, bias);
    gw_chain_linearise_joint_forces(chain, chain->q, chain->v, forces);
    for (size_t i = 0; i < n; i++)
        forces[i].force += chain->hand_force[i];
    implicit_accelerations(chain, forces, bias, chain->implicit_dt, chain->v, at, a, states);
    gw_chain_accelerations(chain, chain->states, NULL, direct);
    for (size_t i = 0; i < n; i++)
        a[i] -= direct[i];
}

/* ---- energy balance of a substep ------------------------------------------------------------ */

/* A substep's balance may be out by this much of the kinetic energy, and by rounding. */
#define BALANCE  1e-12
#define ROUNDING 1e-14

/* Rounding of the sum of motors' work. */
#define MOTOR_ROUNDING 1e-12

/* After fourth order has failed, sixth order stays for so many steps. */
#define PATIENCE 32

typedef enum accuracy { UNPAYABLE, TOO_COARSE, GOOD, VERY_GOOD } accuracy;

/* Compares the change of energy since `kinetic` and `potential` with the work done. */
static accuracy judge_energy(const gw_chain *chain, double kinetic, double potential,
                             const work *sum)
{
    double come = sum->hand + sum->contact + sum->motors - sum->dissipated;
    double kept = (chain->kinetic - kinetic) + (chain->potential - potential);
    double scale = BALANCE * (chain->kinetic + kinetic) +
                   ROUNDING * (fabs(chain->potential) + fabs(potential));
    double out = fabs(kept - come);
    if (!(out <= scale))
        return TOO_COARSE;
    return out <= scale / 512 ? VERY_GOOD : GOOD;
}

/* Closes the balance of a substep that cannot be refined further: missing energy is counted as
 * dissipated, surplus energy is taken out of the motion. False where a chain at rest owes ten times
 * what was there: no such substep can be kept. */
static bool close_energy_balance(gw_chain *chain, double kinetic, double potential, work *sum)
{
    double come = sum->hand + sum->contact + sum->motors;
    double lost = come - (chain->kinetic - kinetic) - (chain->potential - potential);
    double owed = chain->potential - potential - kinetic - come;
    sum->dissipated = fmax(0, lost);
    if (lost < 0 && chain->kinetic > 0)
        gw_chain_scale_velocity(chain, sqrt(fmax(0, 1 + lost / chain->kinetic)));
    return !(owed > 10 * (kinetic + fabs(come) + fabs(potential)) + 1e-9);
}

/* The most work (J) that the motors can have done from q0 to q1. */
static double motor_work_max(const gw_chain *chain, const double *q0, const double *q1)
{
    double sum = 0, size = 0;
    for (int i = 0; i < chain->def->count; i++)
        sum += gw_motor_work_max(&chain->def->links[i].motor, q0[i], q1[i], &size);
    return sum + MOTOR_ROUNDING * size;
}

/* The same for an implicit substep: stiff motors are credited with the work that is missing, up to
 * motor_work_max(). */
static bool close_implicit_balance(gw_chain *chain, const double *q0, double kinetic,
                                   double potential, work *sum)
{
    double kept = (chain->kinetic - kinetic) + (chain->potential - potential);
    double needed = kept - sum->hand - sum->contact;
    double most = motor_work_max(chain, q0, chain->q);
    sum->motors = fmin(fmax(sum->motors, needed), most);
    return close_energy_balance(chain, kinetic, potential, sum);
}

/* ---- substeps ------------------------------------------------------------------------------- */

/* Takes over q and v; articulated inertias are left until somebody asks for them. */
static void set_state(gw_chain *chain, const double *q, const double *v)
{
    size_t bytes = (size_t)chain->def->count * sizeof *q;
    memcpy(chain->q, q, bytes);
    memcpy(chain->v, v, bytes);
    gw_chain_update_kinematics(chain);
}

/* Articulated inertias for the next substep's first stage, or for queries after the step. */
static void update_inertias(gw_chain *chain, int done)
{
    if (!chain->local && (!chain->planar || done >= WHOLE))
        gw_chain_articulated_inertias(chain, chain->states);
}

static bool state_is_finite(const gw_chain *chain, const work *sum)
{
    double all = chain->kinetic + chain->potential;
    all += sum->hand + sum->contact + sum->motors + sum->dissipated;
    for (int i = 0; i < chain->def->count; i++)
        all += chain->q[i] + chain->v[i];
    return isfinite(all);
}

static accuracy explicit_substep(gw_chain *chain, const gw_forces *forces, double t, double h,
                                 work *sum, gw_wrench *constraint)
{
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    double kinetic = chain->kinetic, potential = chain->potential;
    work own = {0};
    integrate_explicitly(chain, forces, t, h, q, v, &own, constraint);
    set_state(chain, q, v);
    accuracy result = judge_energy(chain, kinetic, potential, &own);
    if (result == TOO_COARSE && chain->level == MAX_LEVEL &&
        !close_energy_balance(chain, kinetic, potential, &own))
        result = UNPAYABLE;
    add_work(sum, 1, &own);
    return result;
}

static void refine(gw_chain *chain)
{
    if (chain->level == 0)
        chain->patience = PATIENCE;
    chain->level++;
}

/* Where the step's end was more accurate than asked, the next step begins one level lower. */
static void coarsen(gw_chain *chain, accuracy last)
{
    if (chain->patience > 0)
        chain->patience--;
    if (last == VERY_GOOD && chain->level > min_level(chain) &&
        (chain->level > 1 || chain->patience == 0))
        chain->level--;
}

/* A step starts at the level at which the last one ended, and repeats a substep one level higher
 * where its energy balance is out. False where the step failed. */
static bool step_explicitly(gw_chain *chain, const gw_forces *forces, double dt, work *sum,
                            gw_wrench *constraint)
{
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    accuracy last = GOOD;
    size_t bytes = (size_t)chain->def->count * sizeof *q;
    if (chain->level < min_level(chain))
        chain->level = min_level(chain);
    for (int done = 0; done < WHOLE;) {
        int wide = substep_width(chain);
        work before = *sum;
        memcpy(q, chain->q, bytes);
        memcpy(v, chain->v, bytes);
        last =
            explicit_substep(chain, forces, dt * done / WHOLE, dt * wide / WHOLE, sum, constraint);
        if (last == TOO_COARSE && chain->level < MAX_LEVEL) {
            set_state(chain, q, v);
            update_inertias(chain, done);
            *sum = before;
            refine(chain);
            continue;
        }
        sum->dissipated += gw_chain_update_friction(chain);
        if (last == UNPAYABLE || !state_is_finite(chain, sum))
            return false;
        done += wide;
        update_inertias(chain, done);
    }
    coarsen(chain, last);
    return true;
}

/* Always at the finest width: there is no second formula to judge by. */
static bool step_implicitly(gw_chain *chain, const gw_forces *forces, double dt, work *sum,
                            gw_wrench *constraint)
{
    double q0[GW_MAX_LINKS], q[GW_MAX_LINKS], v[GW_MAX_LINKS], h = dt / MAX_SUBSTEPS;
    for (int i = 0; i < MAX_SUBSTEPS; i++) {
        double kinetic = chain->kinetic, potential = chain->potential;
        work own = {0};
        memcpy(q0, chain->q, (size_t)chain->def->count * sizeof *q0);
        integrate_implicitly(chain, forces, i * h, h, q, v, chain->hand_force, &own, constraint);
        set_state(chain, q, v);
        bool closed = close_implicit_balance(chain, q0, kinetic, potential, &own);
        add_work(sum, 1, &own);
        sum->dissipated += gw_chain_update_friction(chain);
        if (!closed || !state_is_finite(chain, sum))
            return false;
    }
    update_inertias(chain, WHOLE);
    return true;
}

void gw_chain_step(gw_model *model, const gw_forces *forces, double dt, gw_step *step)
{
    gw_chain *chain = (gw_chain *)model;
    double q[GW_MAX_LINKS], rest[GW_MAX_LINKS] = {0};
    work sum = {0};
    gw_wrench constraint = {{0, 0, 0}, {0, 0, 0}};
    double kinetic = chain->kinetic;
    assert(chain->def && isfinite(dt));
    memcpy(q, chain->q, sizeof q);
    gw_chain_detect_stiffness(chain, dt);
    bool done = chain->implicit_dt > 0 ? step_implicitly(chain, forces, dt, &sum, &constraint)
                                       : step_explicitly(chain, forces, dt, &sum, &constraint);
    if (!done) { /* back to the start, at rest */
        set_state(chain, q, rest);
        update_inertias(chain, WHOLE);
        chain->level = min_level(chain);
        *step = (gw_step){.dissipated = isfinite(kinetic) ? kinetic : 0, .finite = false};
        return;
    }
    *step = (gw_step){.constraint = constraint,
                      .work = sum.hand,
                      .pushed = sum.pushed,
                      .dissipated = sum.dissipated,
                      .motors = sum.motors,
                      .margin = 1,
                      .finite = true};
}
