/*
 * A chain's step: an explicit formula with work and losses as further states, of as high an order
 * and in as many pieces as the books of energy ask for. On the loop's thread, RT safe.
 */
#include <string.h>

#include "rt/dynamics/articulated_body.h"
#include "rt/dynamics/runge_kutta.h"

static void book(gw_chain_work *sum, double weight, const gw_chain_work *power)
{
    sum->work += weight * power->work;
    sum->touched += weight * power->touched;
    sum->motors += weight * power->motors;
    sum->lost += weight * power->lost;
}

static void take_wrench(gw_wrench *bias, gw_wrench w)
{
    bias->f = gw_sub(bias->f, w.f);
    bias->t = gw_sub(bias->t, w.t);
}

void gw_chain_apply_hand(const gw_chain *chain, const gw_chain_link_state *at,
                         const gw_forces *forces, double t, gw_wrench *bias,
                         gw_chain_stage_load *flow)
{
    gw_pose held;
    gw_twist twist;
    int link = gw_chain_held_link(chain->def);
    gw_chain_held_frame(chain, at, &held, &twist);
    gw_wrench w = forces->at(forces->context, t, &held, &twist);
    flow->power.work = gw_dot(w.f, twist.v) + gw_dot(w.t, twist.w);
    w.t = gw_add(w.t, gw_cross(gw_sub(held.p, at[link].at), w.f));
    take_wrench(&bias[link], w);
    flow->on_held = w;
}

void gw_chain_apply_contacts(const gw_chain *chain, const gw_chain_link_state *at,
                             const gw_forces *forces, double t, gw_wrench *bias,
                             gw_chain_stage_load *flow)
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
    forces->touch(forces->touching, t, poses, twists, on);
    for (i = 0; i < n; i++) {
        flow->power.touched += gw_dot(on[i].f, twists[i].v) + gw_dot(on[i].t, twists[i].w);
        take_wrench(&bias[i], on[i]);
    }
    flow->on_held = gw_wrench_add(flow->on_held, on[gw_chain_held_link(chain->def)]);
}

/* q'' where `at` has been placed. */
static void placed_stage(const gw_chain *chain, const gw_chain_link_state *at, const double *q,
                         const double *v, const gw_forces *forces, double t, double *a,
                         gw_chain_stage_load *flow)
{
    gw_wrench bias[GW_MAX_LINKS];
    *flow = (gw_chain_stage_load){0};
    if (chain->local)
        memset(bias, 0, (size_t)chain->def->count * sizeof *bias);
    else
        gw_chain_bias_forces(chain, v, at, bias);
    gw_chain_joint_forces(chain, q, v, a, &flow->power.motors, &flow->power.lost);
    if (forces && forces->at)
        gw_chain_apply_hand(chain, at, forces, t, bias, flow);
    if (forces && forces->touch)
        gw_chain_apply_contacts(chain, at, forces, t, bias, flow);
    if (chain->local)
        gw_chain_local_accelerations(chain, at, bias, a);
    else
        gw_chain_accelerations(chain, at, bias, a);
}

/* All joints turn about parallel axes, and no look takes the place of D. */
static bool goes_by_plane(const gw_chain *chain)
{
    return chain->planar && !chain->local;
}

/* q'' of a stage, and what flows there; the first one's frames are the chain's own. */
static void stage(const gw_chain *chain, const gw_joint_sines *start, bool first, const double *q,
                  const double *v, const gw_forces *forces, double t, double *a,
                  gw_chain_stage_load *flow)
{
    gw_chain_link_state at[GW_MAX_LINKS];
    if (goes_by_plane(chain)) {
        gw_chain_planar_stage(chain, start, q, v, forces, t, a, flow);
        return;
    }
    if (first) {
        placed_stage(chain, chain->joints, q, v, forces, t, a, flow);
        return;
    }
    gw_chain_configure(chain, q, v, at);
    placed_stage(chain, at, q, v, forces, t, a, flow);
}

/* Where stage i, or the end (i = rk->stages), lies. */
static void advance(const gw_chain *chain, const gw_tableau *rk, int i, double c, double h,
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

/* Levels of fineness: one piece by a formula of fourth order, of sixth, of eighth, then two and
 * four of eighth. Each costs about half as much again as the one before, or twice, and leaves a
 * thousandth of its error or less. Where a stage is cheap nothing is coarser than sixth order; a
 * local model, whose stages are the cheapest, goes by halves down to eighths. */
#define FINEST_LEVEL 4
#define WHOLE        8 /* a step, in eighths */

static const gw_tableau *const formulas[] = {&gw_fehlberg4, &gw_butcher6, &gw_cooper8, &gw_cooper8,
                                             &gw_cooper8};
static const int widths[] = {WHOLE, WHOLE, WHOLE, WHOLE / 2, WHOLE / GW_CHAIN_MAX_SUBSTEPS};

static int coarsest(const gw_chain *chain)
{
    return chain->planar || chain->local ? 1 : 0;
}

static const gw_tableau *formula(const gw_chain *chain)
{
    return chain->local ? &gw_kutta4 : formulas[chain->level];
}

/* Of a piece, in eighths of a step. */
static int width(const gw_chain *chain)
{
    return chain->local ? WHOLE >> (chain->level - 1) : widths[chain->level];
}

/* From the chain's state, h on, into q and v; lambda at the step's start, of a chain that is held.
 */
static void integrate(const gw_chain *chain, const gw_forces *forces, double t, double h, double *q,
                      double *v, gw_chain_work *sum, gw_wrench *constraint)
{
    const gw_tableau *rk = formula(chain);
    double a[GW_RK_MAX_STAGES][GW_MAX_LINKS];
    gw_joint_sines start;
    if (goes_by_plane(chain))
        gw_chain_sines(chain->def->count, chain->q, &start);
    for (int i = 0; i < rk->stages; i++) {
        gw_chain_stage_load flow;
        advance(chain, rk, i, rk->c[i], h, a, q, v);
        stage(chain, &start, i == 0, q, v, forces, t + rk->c[i] * h, a[i], &flow);
        book(sum, rk->b[i] * h, &flow.power);
        if (i == 0 && t == 0 && chain->def->held >= 0)
            *constraint = gw_chain_constraint_wrench(chain, a[0], &flow.on_held);
    }
    advance(chain, rk, rk->stages, 1, h, a, q, v);
}

/* Articulated inertias are left until somebody asks for them. */
static void put(gw_chain *chain, const double *q, const double *v)
{
    size_t bytes = (size_t)chain->def->count * sizeof *q;
    memcpy(chain->q, q, bytes);
    memcpy(chain->v, v, bytes);
    gw_chain_update_kinematics(chain);
}

/* For the next piece's first stage, or for those who ask after the step. */
static void weigh(gw_chain *chain, int done)
{
    if (!chain->local && (!chain->planar || done >= WHOLE))
        gw_chain_articulated_inertias(chain, chain->joints);
}

/* ---- pieces --------------------------------------------------------------------------------- */

/* A step starts as finely as the last one ended, and goes on more finely where the books do not
 * close. After fourth order has failed sixth stays for so many steps. */
#define PATIENCE 32

/* A piece's books may be out by this much of the energy of motion, and by rounding. */
#define BALANCE  1e-12
#define ROUNDING 1e-14

typedef enum outcome { BROKEN, TOO_COARSE, FINE, VERY_FINE } outcome;

/* What came and went, against what there was and is. */
static outcome judge(const gw_chain *chain, double kinetic, double potential,
                     const gw_chain_work *sum)
{
    double come = sum->work + sum->touched + sum->motors - sum->lost;
    double kept = (chain->kinetic - kinetic) + (chain->potential - potential);
    double scale = BALANCE * (chain->kinetic + kinetic) +
                   ROUNDING * (fabs(chain->potential) + fabs(potential));
    double out = fabs(kept - come);
    if (!(out <= scale))
        return TOO_COARSE;
    return out <= scale / 512 ? VERY_FINE : FINE;
}

/* The finest piece is kept whatever its books say, and they are closed: what was lost or kept more
 * than damping tells is told as damping's; what came from nowhere is taken out of the motion. False
 * where a chain at rest has ten times what there was left to pay: no such piece can be kept. */
static bool close_books(gw_chain *chain, double kinetic, double potential, gw_chain_work *sum)
{
    double come = sum->work + sum->touched + sum->motors;
    double lost = come - (chain->kinetic - kinetic) - (chain->potential - potential);
    double owed = chain->potential - potential - kinetic - come;
    sum->lost = fmax(0, lost);
    if (lost < 0 && chain->kinetic > 0)
        gw_chain_scale_velocity(chain, sqrt(fmax(0, 1 + lost / chain->kinetic)));
    return !(owed > 10 * (kinetic + fabs(come) + fabs(potential)) + 1e-9);
}

static outcome piece(gw_chain *chain, const gw_forces *forces, double t, double h,
                     gw_chain_work *sum, gw_wrench *constraint)
{
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    double kinetic = chain->kinetic, potential = chain->potential;
    gw_chain_work own = {0};
    integrate(chain, forces, t, h, q, v, &own, constraint);
    put(chain, q, v);
    outcome result = judge(chain, kinetic, potential, &own);
    if (result == TOO_COARSE && chain->level == FINEST_LEVEL &&
        !close_books(chain, kinetic, potential, &own))
        result = BROKEN;
    book(sum, 1, &own);
    return result;
}

static bool finite_state(const gw_chain *chain, const gw_chain_work *sum)
{
    double all = chain->kinetic + chain->potential;
    all += sum->work + sum->touched + sum->motors + sum->lost;
    for (int i = 0; i < chain->def->count; i++)
        all += chain->q[i] + chain->v[i];
    return isfinite(all);
}

static void refine(gw_chain *chain)
{
    if (chain->level == 0)
        chain->patience = PATIENCE;
    chain->level++;
}

/* Where the step's end was kept better than asked, the next one begins more coarsely. */
static void coarsen(gw_chain *chain, outcome last)
{
    if (chain->patience > 0)
        chain->patience--;
    if (last == VERY_FINE && chain->level > coarsest(chain) &&
        (chain->level > 1 || chain->patience == 0))
        chain->level--;
}

static bool step_in_pieces(gw_chain *chain, const gw_forces *forces, double dt, gw_chain_work *sum,
                           gw_wrench *constraint)
{
    double q[GW_MAX_LINKS], v[GW_MAX_LINKS];
    outcome last = FINE;
    size_t bytes = (size_t)chain->def->count * sizeof *q;
    if (chain->level < coarsest(chain))
        chain->level = coarsest(chain);
    for (int done = 0; done < WHOLE;) {
        int wide = width(chain);
        gw_chain_work before = *sum;
        memcpy(q, chain->q, bytes);
        memcpy(v, chain->v, bytes);
        last = piece(chain, forces, dt * done / WHOLE, dt * wide / WHOLE, sum, constraint);
        if (last == TOO_COARSE && chain->level < FINEST_LEVEL) {
            put(chain, q, v);
            weigh(chain, done);
            *sum = before;
            refine(chain);
            continue;
        }
        sum->lost += gw_chain_update_friction(chain);
        if (last == BROKEN || !finite_state(chain, sum))
            return false;
        done += wide;
        weigh(chain, done);
    }
    coarsen(chain, last);
    return true;
}

/* Motors that are held to a law so stiff give what it takes, as far as their springs can have it;
 * dampers take what is missing. */
static bool close_stiffly(gw_chain *chain, const double *q0, double kinetic, double potential,
                          gw_chain_work *sum)
{
    double kept = (chain->kinetic - kinetic) + (chain->potential - potential);
    double needed = kept - sum->work - sum->touched;
    double most = gw_chain_motor_work_max(chain, q0, chain->q);
    sum->motors = fmin(fmax(sum->motors, needed), most);
    return close_books(chain, kinetic, potential, sum);
}

/* Always as fine as it goes: there is no second formula to judge by. */
static bool step_stiffly(gw_chain *chain, const gw_forces *forces, double dt, gw_chain_work *sum,
                         gw_wrench *constraint)
{
    double q0[GW_MAX_LINKS], q[GW_MAX_LINKS], v[GW_MAX_LINKS], h = dt / GW_CHAIN_MAX_SUBSTEPS;
    for (int i = 0; i < GW_CHAIN_MAX_SUBSTEPS; i++) {
        double kinetic = chain->kinetic, potential = chain->potential;
        gw_chain_work own = {0};
        memcpy(q0, chain->q, (size_t)chain->def->count * sizeof *q0);
        gw_chain_implicit_substep(chain, forces, i * h, h, q, v, chain->pushed, &own, constraint);
        put(chain, q, v);
        bool closed = close_stiffly(chain, q0, kinetic, potential, &own);
        book(sum, 1, &own);
        sum->lost += gw_chain_update_friction(chain);
        if (!closed || !finite_state(chain, sum))
            return false;
    }
    weigh(chain, WHOLE);
    return true;
}

static bool advance_by(gw_chain *chain, const gw_forces *forces, double dt, gw_chain_work *sum,
                       gw_wrench *constraint)
{
    gw_chain_detect_stiffness(chain, dt);
    return chain->stiff > 0 ? step_stiffly(chain, forces, dt, sum, constraint)
                            : step_in_pieces(chain, forces, dt, sum, constraint);
}

void gw_chain_step(gw_model *model, const gw_forces *forces, double dt, gw_step *step)
{
    gw_chain *chain = (gw_chain *)model;
    double q[GW_MAX_LINKS], rest[GW_MAX_LINKS] = {0};
    gw_chain_work sum = {0};
    gw_wrench constraint = {{0, 0, 0}, {0, 0, 0}};
    double kinetic = chain->kinetic;
    memcpy(q, chain->q, sizeof q);
    if (!advance_by(chain, forces, dt, &sum, &constraint)) {
        put(chain, q, rest);
        weigh(chain, WHOLE);
        chain->level = coarsest(chain);
        *step = (gw_step){.dissipated = isfinite(kinetic) ? kinetic : 0, .finite = false};
        return;
    }
    *step = (gw_step){.constraint = constraint,
                      .work = sum.work,
                      .dissipated = sum.lost,
                      .motors = sum.motors,
                      .margin = 1,
                      .finite = true};
}
