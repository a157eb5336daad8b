/*
 * One step of a system. RT safe.
 *
 * Ordinary systems take explicit Runge-Kutta substeps, with work and dissipation as further states;
 * the energy balance of each substep decides the order of the formula and the number of substeps.
 * Where joint forces are too stiff, substeps are linearly implicit Euler steps, extrapolated to
 * fourth or eighth order. Joints move in exponential coordinates `by` about their state at the
 * substep's start. After each substep positions and velocities are projected onto closures.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/base/simd.h"
#include "rt/dynamics/system_fold.h"
#include "rt/dynamics/system_bristles.h"
#include "rt/dynamics/system_kinks.h"
#include "rt/dynamics/system_step.h"
#include "rt/dynamics/system_unilateral.h"

/* ---- states --------------------------------------------------------------------------------- */

static void save_state(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        gw_joint_copy(k, &k->joint, &s->home[i]);
        for (int j = 0; j < k->dof; j++)
            s->home_velocity[k->first + j] = k->joint.u[j];
    }
}

/* Restores joint states kept t s into the step, and updates the system. */
static void return_to(gw_system *s, const gw_mobilizer_state *states, double t)
{
    if (s->moving)
        gw_grounds_go_to(s, t);
    for (int i = 0; i < s->body_count; i++)
        gw_joint_copy(&s->bodies[i], &states[i], &s->bodies[i].joint);
    gw_system_update(s);
}

/* ---- explicit integration: Runge-Kutta ------------------------------------------------------ */

/*
 * Levels of accuracy: one substep by a formula of fourth, sixth or eighth order, then two, four,
 * eight and sixteen substeps of eighth order; higher levels are used within a step only. A local
 * model, whose stages are cheap, uses two, four or eight substeps of fourth order instead.
 */
#define MAX_LEVEL      6
#define FINEST_LEVEL   16
#define REGULAR        1e-6 /* margin of rows below which shorter substeps do not help */
#define FINEST_TRIES   192  /* substeps of a step at levels above MAX_LEVEL, */
#define FINEST_WORK    4096 /* and so many more times their bodies: about 10 ms */
#define WORTH          1e-8 /* of the kinetic energy: less is reported instead */
#define STUCK          3    /* refinements that did not halve the error: no more are tried */
#define FINEST_LOCAL   3
#define FINEST_TOUCHED 4  /* of trees: shorter substeps do not resolve kinks of contact forces */
#define WHOLE          16 /* a step, in sixteenths */
#define DOUBT_LEVEL    4
#define CROSSING_LEVEL 2    /* a step of eighth order */
#define LEAST_CUT      1e-4 /* sixteenths: the shortest substep that ends at a kink */
#define TURNED         0.01 /* rad in a step about several axes: above it sixth order, */
#define TURNED_FAR     0.06 /* eighth order, */
#define TURNED_MOST    0.12 /* and substeps with at most this rotation */

static const gw_tableau *const tableaus[] = {&gw_kutta4, &gw_butcher6, &gw_cooper8};

/* Fehlberg's last weight is -1/5: a contact force that begins late in the step would pull. */
static const gw_tableau *tableau_of(const gw_system *s)
{
    int level = s->integrator.level;
    if (level == 0 && s->plain_tree && !s->local && !s->touched)
        return &gw_fehlberg4;
    return s->local ? &gw_kutta4 : tableaus[level < 2 ? level : 2];
}

static double width_of(const gw_system *s)
{
    int level = s->integrator.level;
    return (double)WHOLE / (1 << (s->local ? level : level < 3 ? 0 : level - 2));
}

/* At a singular posture shorter substeps do not help, so the level is bounded. */
static int finest_level(const gw_system *s)
{
    if (s->local)
        return FINEST_LOCAL;
    if (s->touched && s->plain_tree)
        return FINEST_TOUCHED;
    return s->margin > REGULAR && s->firm == s->rank ? FINEST_LEVEL : MAX_LEVEL;
}

/* Displacement from home into s->by and velocities into s->scratch, of stage i of the formula or of
 * its end (i = rk->stages), from the stages before. */
GW_TARGET_CLONES
static void add_stages(gw_system *s, const gw_tableau *rk, int i, double h)
{
    int stride = gw_stage_stride(s);
    for (int k = 0; k < stride; k += GW_LANES) {
        gw_lanes by = {0}, u, rate, acceleration;
        memcpy(&u, s->home_velocity + k, sizeof u);
        for (int l = 0; l < i; l++) {
            double weight = h * rk->a[i][l];
            memcpy(&rate, s->rates + l * stride + k, sizeof rate);
            memcpy(&acceleration, s->accelerations + l * stride + k, sizeof acceleration);
            by += weight * rate;
            u += weight * acceleration;
        }
        memcpy(s->by + k, &by, sizeof by);
        memcpy(s->scratch + k, &u, sizeof u);
    }
}

static void set_stage_state(gw_system *s, const gw_tableau *rk, int i, double h)
{
    add_stages(s, rk, i, h);
    gw_system_set_displacement(s, s->scratch);
}

/* True if all bodies are planar and only joint forces and the hand act on them. */
static bool acts_in_planes(const gw_system *s)
{
    return s->all_planar && s->row_count == 0 && !gw_has_springs(s) && !s->is_pushed &&
           !s->moving && !s->is_damped && !s->touched;
}

/* Integrates from home over h (s), t s into the step; at the step's start (t = 0) keeps the joint
 * wrenches and sets `constraint`. */
static void integrate_explicitly(gw_system *s, const gw_forces *forces, double t, double h,
                                 gw_system_work *sum, gw_wrench *constraint)
{
    const gw_tableau *rk = tableau_of(s);
    bool in_planes = acts_in_planes(s);
    int stride = gw_stage_stride(s);
    for (int i = 0; i < rk->stages; i++) {
        gw_system_work power = {0};
        s->in_stage = i > 0;
        s->one_pass = s->plain_tree && !s->local && i > 0;
        s->flat_only = in_planes && i > 0;
        if (i > 0) {
            set_stage_state(s, rk, i, h);
            gw_system_rates(s, s->by, s->scratch, s->rates + i * stride);
            if (s->moving)
                gw_grounds_go_to(s, t + rk->c[i] * h);
            gw_system_update(s);
        } else {
            memset(s->by, 0, (size_t)s->dof * sizeof *s->by);
            gw_system_rates(s, s->by, s->home_velocity, s->rates);
        }
        gw_system_evaluate_forces(s, forces, t + rk->c[i] * h);
        gw_system_outer_power(s, forces, &power);
        gw_system_accelerate(s, &power);
        gw_system_gather(s, s->accelerations + i * stride);
        if (s->moving)
            power.base = gw_grounds_power(s);
        gw_system_add_work(sum, rk->b[i] * h, &power);
        if (i == 0 && t == 0)
            gw_keep_joint_wrenches(s, constraint);
    }
    s->in_stage = s->one_pass = s->flat_only = false;
    set_stage_state(s, rk, rk->stages, h);
    if (s->moving)
        gw_grounds_go_to(s, t + h);
}

#define HIGH_ORDER_LEVEL 4 /* implicit level from which explicit substeps may do better */
#define UNSTIFF_LIMIT    4 /* h C + h^2 K over D of the shortest explicit substep */

/* ---- energy balance of a substep ------------------------------------------------------------ */

/* Tolerance of a substep's energy balance, relative to the kinetic energy; rounding is added. */
#define BALANCE      1e-11
#define TREE_BALANCE 1e-12 /* without closures */
#define ROUNDING     1e-14
#define NOTHING      1e-290 /* J: below it the motion has decayed to the underflow range */

#define IMPLICIT_BALANCE 1e-10 /* of the kinetic energy: surplus of an implicit substep */
#define PATIENCE         32    /* steps for which sixth order is kept after fourth has failed */
typedef enum accuracy { TOO_COARSE, GOOD, VERY_GOOD } accuracy;

/* Compares the change of energy since `kinetic` and `potential` with the work done. An error within
 * rounding counts as VERY_GOOD. */
static accuracy judge_energy(const gw_system *s, double kinetic, double potential,
                             const gw_system_work *sum)
{
    double come = sum->hand + sum->contact + sum->motors + sum->base - sum->dissipated;
    double out = fabs((s->kinetic - kinetic) + (s->potential - potential) - come);
    double share = s->row_count > 0 ? BALANCE : TREE_BALANCE;
    double scale =
        share * (s->kinetic + kinetic) + ROUNDING * (fabs(s->potential) + fabs(potential));
    if (!isfinite(scale))
        return TOO_COARSE;
    if (out <= NOTHING || out <= scale / 512 || out <= gw_system_energy_rounding(s))
        return VERY_GOOD;
    return out <= scale ? GOOD : TOO_COARSE;
}

/* Rounding of the energy of a substep that began with `potential` (J). */
static double rounding_of(const gw_system *s, double potential)
{
    return ROUNDING * (fabs(s->potential) + fabs(potential)) + gw_system_energy_rounding(s);
}

/* Closes the energy balance of a substep that cannot be refined further: missing energy counts as
 * dissipated, surplus is removed from the motion. energy_error: both beyond rounding. */
static void close_energy_balance(gw_system *s, bool stiff, double kinetic, double potential,
                                 gw_system_work *sum)
{
    double come = sum->hand + sum->contact + sum->motors + sum->base;
    double lost = come - (s->kinetic - kinetic) - (s->potential - potential);
    double error = fabs(lost - sum->dissipated);
    sum->energy_error = error > rounding_of(s, potential) ? error : 0;
    sum->dissipated = fmax(0, lost);
    if (lost < 0 && s->moving && stiff) /* the grounds take up the surplus */
        sum->base -= lost;
    else if (lost < 0)
        sum->energy_error +=
            s->moving ? gw_grounds_remove_energy(s, -lost) : gw_system_remove_energy(s, -lost);
}

/* ---- substeps ------------------------------------------------------------------------------- */

#define MOST_CORRECTED 0.1  /* of the largest joint motion: correction by projection */
#define SURELY_CLOSED  1e-7 /* rad; of the length: a smaller correction is always accepted */
#define LEFT_OPEN      1e-9 /* of the length: bound of the residual after projection */

/* Projects onto the closures; removes kinetic energy (J). False if the correction is too large for
 * the linearisation, or the residual exceeds its bound and `open` (m), that at the begin. */
static bool finish_substep(gw_system *s, double open, double *removed)
{
    double most = 0;
    *removed = gw_closures_correct(s);
    gw_system_energy(s, &s->kinetic, &s->potential);
    if (!(gw_closures_residual(s) <= fmax(LEFT_OPEN * s->length, open)))
        return false;
    if (s->corrected <= SURELY_CLOSED)
        return true;
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++) {
            bool turns = gw_mobilizers[s->bodies[i].def.joint].turns >> j & 1;
            most = fmax(most, fabs(s->by[s->bodies[i].first + j]) / (turns ? 1 : s->length));
        }
    return s->corrected <= MOST_CORRECTED * most;
}

static bool all_finite(const gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        if (!gw_finite_pose(&k->pose) || !gw_finite3(k->twist.v) || !gw_finite3(k->twist.w))
            return false;
    }
    return true;
}

/* Bristles at the end of a substep, t s into the step: slip; with `turns` deflections at rest. */
static void slip_bristles(gw_system *s, bool turns, const gw_forces *forces, double t,
                          gw_system_work *sum)
{
    double dissipated = gw_system_slip(s) + (turns ? gw_system_turn_bristles(s, forces, t) : 0);
    if (dissipated != 0) /* as it is found for a state that is restored, to the bit */
        gw_system_energy(s, &s->kinetic, &s->potential);
    sum->dissipated += dissipated;
}

/* True if the step is stiff by the mobilities of the present configuration. */
static bool is_step_stiff_here(gw_system *s, double dt)
{
    gw_system_update_mobilities(s);
    return gw_system_is_stiff(s, dt / GW_EXPLICIT_SUBSTEPS, GW_EXPLICIT_LIMIT);
}

/* True if the shortest explicit substeps are stable in a step that is stiff for longer ones. */
static bool is_stable_explicitly(gw_system *s, double dt)
{
    return !gw_system_is_stiff(s, dt / WHOLE, UNSTIFF_LIMIT);
}

/* The fraction of a substep of h, from home to the present joint positions, after which a
 * coordinate first reaches or leaves a limit or the end of its damper's ramp, a kink of the force
 * that no formula crosses accurately. 2: none. */
static double first_kink(const gw_system *s, double h)
{
    double first = 2;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        const gw_mobilizer_state *a = &s->home[i], *b = &k->joint;
        for (int j = 0; j < k->dof && !k->only_springs; j++) {
            const double lower = k->def.lower[j], upper = k->def.upper[j];
            const double levels[4] = {lower, upper, lower - GW_LIMIT_RAMP, upper + GW_LIMIT_RAMP};
            for (int n = 0; n < 4 && k->def.limited[j]; n++)
                first = fmin(first, gw_joint_passing_fraction(a->z[j], h * a->u[j], b->z[j],
                                                              h * b->u[j], levels[n]));
        }
    }
    return first;
}

/* Missing energy counts as work of stiff motors, up to their largest; the rest as dissipated.
 * Returns the surplus (J). */
static double credit_motors(const gw_system *s, double kinetic, double potential,
                            gw_system_work *own)
{
    double kept = (s->kinetic - kinetic) + (s->potential - potential);
    double needed = kept - own->hand - own->contact - own->base;
    own->motors = fmin(fmax(own->motors, needed), gw_system_motor_work_max(s));
    own->dissipated = fmax(0, own->hand + own->contact + own->motors + own->base - kept);
    return fmax(0, kept - own->hand - own->contact - own->motors - own->base);
}

/* At a posture in which no joint moves along a row (a parallelogram linkage in line), accelerations
 * lose accuracy with decreasing distance from it. One substep of eighth order crosses it, placed so
 * that the posture is in the middle of a gap between its stages, as wide as the step allows. */
typedef enum crossing_state {
    NOT_CROSSED,
    TO_BE_PLACED,
    PLACED,
    UNDER_WAY,
    CROSSED /* or tried */
} crossing_state;

typedef struct crossing {
    crossing_state state;
    double motion;   /* least motion along a row at the end of the substep that failed */
    double from, to; /* sixteenths of the step */
} crossing;

/* The present substep: begin and width in sixteenths of the step, and the energies at its begin. */
typedef struct substep {
    bool stiff;                         /* linearly implicit */
    int most_tries, tries, good, stuck; /* above MAX_LEVEL: tries in this step; successive good
                       substeps; tries of this one that did not improve much on that before */
    double begin, wide, cut;
    double kinetic, potential, out; /* energies at the begin; error of the last try */
    int rank, firm;                 /* of the rows at the begin */
    double least;                   /* error of the best try, */
    int best;                       /* and its level */
    bool worse, settled, held; /* a finer try was worse; the best is repeated; at singular row */
    crossing over;
    gw_kink_search kink; /* search for its end at a kink of a curve or surface, */
    gw_lift_off lift;    /* and where a phase of a unilateral contact ends */
} substep;

static accuracy judge_substep(const gw_system *s, const substep *b, gw_system_work *own)
{
    if (!b->stiff)
        return judge_energy(s, b->kinetic, b->potential, own);
    double surplus = credit_motors(s, b->kinetic, b->potential, own);
    double most = fmax(IMPLICIT_BALANCE * (s->kinetic + b->kinetic), rounding_of(s, b->potential));
    return surplus <= NOTHING ? VERY_GOOD : surplus <= most ? GOOD : TOO_COARSE;
}

/* At a posture that is rigid to second order (a slider held by a bar normal to its way) a dependent
 * row becomes independent after a small motion and stops it, an inelastic impact. */
static bool is_held_at_singular_posture(const gw_system *s, const substep *b)
{
    return s->firm < s->rank && (b->firm < b->rank || b->rank < s->rank);
}

/* Error of a substep's energy balance (J). */
static double energy_imbalance(const gw_system *s, const substep *b, const gw_system_work *own)
{
    double come = own->hand + own->contact + own->motors + own->base - own->dissipated;
    return (s->kinetic - b->kinetic) + (s->potential - b->potential) - come;
}

/* At a posture in which no joint moves along a row, accelerations lose accuracy with decreasing
 * distance from it: long substeps cross it, shorter ones end near it. There, once a finer try was
 * worse, the best try is taken if its error is small enough to be reported. */
#define NEAR_SINGULAR 1e-3
#define CROSSES       0.1 /* of the least motion at both ends: less indicates such a posture */

/* The least motion along a row t s after home at constant velocity; 0 if a row became inactive. */
static double least_motion_after(gw_system *s, double t, int rows)
{
    for (int i = 0; i < s->dof; i++)
        s->by[i] = t * s->home_velocity[i];
    gw_system_set_displacement(s, s->home_velocity);
    gw_system_update(s);
    gw_closures_factor(s, GW_ROWS_OF_CLOSURES);
    return s->active_rows < rows ? 0 : gw_closures_least_motion(s);
}

/* The least motion along a row is proportional to the square of the distance to the posture: if it
 * is near 0 between home and the end of the substep that failed, the crossing substep is placed
 * there. Returns to home. */
static void place_crossing(gw_system *s, substep *b, double t, double dt)
{
    static const double gaps[][2] = {/* between stages of Cooper's formula */
                                     {0, 0.17},
                                     {0.17, 0.5},
                                     {0.5, 0.83},
                                     {0.83, 1}};
    crossing *over = &b->over;
    double farthest = 0, end = over->motion, begin = least_motion_after(s, 0, 0);
    double at = b->wide * sqrt(begin) / (sqrt(begin) + sqrt(end)), left = WHOLE - b->begin;
    bool crosses = fmin(begin, end) > 0 && least_motion_after(s, at * dt / WHOLE, s->active_rows) <
                                               CROSSES * fmin(begin, end);
    return_to(s, s->home, t);
    for (int i = 0; i < 4 && crosses; i++) {
        double share = 0.5 * (gaps[i][0] + gaps[i][1]), gap = gaps[i][1] - gaps[i][0];
        double wide = fmin(at / share, (left - at) / (1 - share));
        if (!(gap * wide > farthest))
            continue;
        farthest = gap * wide;
        over->from = b->begin + at - share * wide;
        over->to = over->from + wide;
    }
    over->state = farthest > LEAST_CUT ? PLACED : CROSSED;
}

/* Ends the next substep where the crossing substep begins, or makes it the crossing substep. */
static void end_before_crossing(gw_system *s, substep *b)
{
    if (b->over.state != PLACED)
        return;
    if (b->over.from - b->begin > LEAST_CUT) {
        b->cut = fmin(b->cut, b->over.from - b->begin);
        return;
    }
    b->over.state = UNDER_WAY;
    b->cut = b->over.to - b->begin;
    s->integrator.level = CROSSING_LEVEL;
}

static bool is_converging(gw_system *s, substep *b, double out)
{
    bool worse = !(out <= b->least);
    if (!worse)
        b->least = out, b->best = s->integrator.level;
    b->worse = b->worse || worse;
    return b->worse && b->least <= WORTH * fmin(s->kinetic, b->kinetic) &&
           gw_closures_least_motion(s) < NEAR_SINGULAR;
}

/* True if the level is above those with which a step may begin. */
static bool is_above_start_level(const gw_system_integrator *at, bool stiff)
{
    return stiff ? at->implicit_level > GW_MAX_IMPLICIT_LEVEL : at->level > MAX_LEVEL;
}

/* True if a substep that was too coarse can be repeated: up to its first kink (`kink`: fraction),
 * or one level higher. */
static bool refine_substep(gw_system *s, substep *b, double kink, double out)
{
    gw_system_integrator *at = &s->integrator;
    if (b->settled)
        return false;
    if (b->over.state == UNDER_WAY) {
        b->over.state = CROSSED;
        if (out <= WORTH * fmin(s->kinetic, b->kinetic))
            return false;
    }
    if (b->over.state == NOT_CROSSED && !b->stiff && kink > 1 && s->row_count > 0 && !s->moving) {
        b->over.motion = gw_closures_least_motion(s);
        if (b->over.motion < NEAR_SINGULAR) {
            b->over.state = TO_BE_PLACED;
            return true;
        }
    }
    if (!b->stiff && kink > 1 && b->cut == WHOLE && is_converging(s, b, out)) {
        b->settled = at->level != b->best; /* repeat the best try */
        at->level = b->best;
        return b->settled;
    }
    bool cuts = b->cut == WHOLE && fmin(kink, 1 - kink) * b->wide > LEAST_CUT;
    b->cut = cuts ? kink * b->wide : WHOLE;
    if (cuts)
        return true;
    if (!b->stiff && at->level == 0)
        at->patience = PATIENCE;
    if (b->stiff ? at->implicit_level >= GW_MAX_IMPLICIT_LEVEL : at->level >= MAX_LEVEL) {
        b->stuck += is_above_start_level(at, b->stiff) && out > 0.5 * b->out &&
                    (s->row_count > 0 || out < b->kinetic);
        b->out = out;
        if (b->stuck == STUCK || b->tries >= b->most_tries ||
            out <= WORTH * fmin(s->kinetic, b->kinetic))
            return false;
    }
    if (b->stiff)
        return at->implicit_level < GW_FINEST_IMPLICIT_LEVEL && ++at->implicit_level;
    return at->level < finest_level(s) && ++at->level;
}

/* Above the regular levels: back to longer substeps after good ones, or where finer ones fail. */
#define GOOD_ENOUGH 4

static void widen_substep(gw_system *s, substep *b, accuracy last)
{
    int *level = b->stiff ? &s->integrator.implicit_level : &s->integrator.level;
    int most = b->stiff ? GW_MAX_IMPLICIT_LEVEL : MAX_LEVEL;
    if (b->over.state == UNDER_WAY)
        b->over.state = CROSSED;
    bool resolved = b->stuck < STUCK && b->tries < b->most_tries && b->out < b->kinetic;
    b->stuck = 0, b->worse = b->settled = false, b->least = b->out = INFINITY;
    if (*level <= most)
        return;
    b->good = last == GOOD ? b->good + 1 : 0;
    if (last == TOO_COARSE && (s->row_count > 0 || !resolved))
        *level = most;
    else if (last == VERY_GOOD || b->good == GOOD_ENOUGH)
        *level -= 1, b->good = 0;
}

/* The next step begins one level lower if the last substep was more accurate than required. */
static void coarsen_step(gw_system *s, bool stiff, accuracy last)
{
    gw_system_integrator *at = &s->integrator;
    if (stiff) {
        at->implicit_level -= at->implicit_level > 0 && last == VERY_GOOD;
        return;
    }
    at->patience -= at->patience > 0;
    if (last == VERY_GOOD && at->level > 0 && (at->level > 1 || at->patience == 0))
        at->level--;
}

/*
 * At a posture where rows become dependent (a parallelogram linkage in line), accelerations
 * slightly off the rows are arbitrary, and no formula crosses it. There the substep coasts: it uses
 * the acceleration at its begin, with only the rows that are clearly independent, then projects
 * onto those rows and scales the velocities to close the energy balance. If the imbalance is too
 * large for coasting, the system stops there. With moving grounds the grounds do the missing work
 * instead.
 */
#define KINK_BALANCE   1e-6 /* of the kinetic energy: energy error caused by the kink of a limit */
#define COAST_BALANCE  1e-2 /* of it: largest energy error of coasting */
#define CLOSING_STEPS  8
#define COAST_RESIDUAL 1e-6 /* of the length: largest residual after coasting */

static bool coast_over(gw_system *s, const gw_forces *forces, double t, double h, const substep *b,
                       gw_system_work *sum)
{
    gw_system_work before = {0}, after = {0};
    double removed;
    return_to(s, s->home, t);
    gw_system_evaluate_forces(s, forces, t);
    gw_system_outer_power(s, forces, &before);
    gw_system_accelerate(s, &before);
    gw_system_gather(s, s->accelerations);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++) {
            int at = s->bodies[i].first + j;
            double u = s->home[i].u[j], a = s->accelerations[at];
            s->by[at] = h * (u + h / 2 * a);
            s->scratch[at] = u + h * a;
        }
    gw_system_set_displacement(s, s->scratch);
    bool closed = finish_substep(s, INFINITY, &removed);
    gw_system_evaluate_forces(s, forces, t + h);
    gw_system_outer_power(s, forces, &after);
    gw_system_accelerate(s, &after);
    gw_system_add_work(sum, h / 2, &before);
    gw_system_add_work(sum, h / 2, &after);
    double surplus = energy_imbalance(s, b, sum);
    if (!closed || !(fabs(surplus) <= COAST_BALANCE * fmax(b->kinetic, s->kinetic)) ||
        !(gw_closures_residual(s) <= COAST_RESIDUAL * s->length))
        return false;
    sum->energy_error = fabs(surplus) + gw_system_remove_energy(s, surplus);
    return true;
}

/* Returns to the substep's begin with the motion that the momentum requires only, and closes loops
 * left open: finish_substep() would not accept their correction in substeps from rest. */
static void stop_there(gw_system *s, const substep *b, double t, gw_system_work *sum)
{
    return_to(s, s->home, t);
    s->kinetic = b->kinetic, s->potential = b->potential;
    gw_system_remove_energy(s, INFINITY);
    if (s->row_count > 0) {
        gw_closures_project(s, CLOSING_STEPS);
        gw_system_energy(s, &s->kinetic, &s->potential);
    }
    double lost = b->kinetic + b->potential - s->kinetic - s->potential;
    *sum = (gw_system_work){.dissipated = lost, .energy_error = fabs(lost)};
}

/* A substep over a singular posture that no formula crosses. */
static void pass_singular_posture(gw_system *s, const gw_forces *forces, double t, double h,
                                  const substep *b, gw_system_work *own)
{
    *own = (gw_system_work){0};
    s->same_row = s->no_row = GW_SINGULAR_ROW;
    bool passed = coast_over(s, forces, t, h, b, own);
    s->same_row = GW_SAME_ROW, s->no_row = GW_NO_ROW;
    if (!passed)
        stop_there(s, b, t, own);
    gw_system_update(s);
}

/* True for an implicit substep that diverged: it leaves loops open, or its kinetic energy exceeds
 * that of the whole mass moving by the system's length in h. */
static bool runs_away(const gw_system *s, double h)
{
    return !(s->kinetic < 0.5 * s->total_mass * s->length * s->length / (h * h)) ||
           !(gw_closures_residual(s) <= COAST_RESIDUAL * s->length);
}

/* True if the energy error of a substep at the finest level is many times the energy involved. */
static bool is_energy_error_too_large(const gw_system *s, const substep *b,
                                      const gw_system_work *own)
{
    double there = b->kinetic + fabs(b->potential) + fabs(own->hand + own->contact + own->motors);
    double out = energy_imbalance(s, b, own); /* not finite: the step fails */
    return isfinite(out) && out > 10 * there + 1e-9;
}

/* Each substep may have an error up to BALANCE; their sum is removed from the motion. */
#define PAID_FROM  2e-9  /* of the largest recent kinetic energy: smaller sums wait; */
#define PAID_ALONE 4e-13 /* of a body by itself, to be as exact as a guided one */
#define PAID_TO    1e-7  /* of the present kinetic energy: larger sums wait for more motion */
#define FADING     1e-4  /* decay of the largest kinetic energy per substep */

static void remove_energy_error(gw_system *s, double out)
{
    double *owed = &s->integrator.owed, *most = &s->integrator.most;
    double from = s->body_count == 1 ? PAID_ALONE : PAID_FROM;
    *owed += out;
    *most = fmax(s->kinetic, (1 - FADING) * *most);
    if (fabs(*owed) > from * *most && fabs(*owed) < PAID_TO * s->kinetic && !s->moving)
        *owed = gw_system_remove_energy(s, *owed);
}

typedef enum outcome { FAILED, DONE, TURNED_STIFF } outcome;

/*
 * The rotation of ball and free joints indicates errors that the energy balance does not: at fourth
 * order a spinning top keeps its energy but precesses at a wrong rate.
 */
static int least_level(const gw_system *s, double dt)
{
    double most = 0;
    if (s->single || s->local)
        return 0;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        int first = gw_mobilizer_rotation(k->def.joint);
        if (k->dof < 3 || first >= k->dof)
            continue;
        const double *w = k->joint.u + first;
        most = fmax(most, w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    }
    double turned = sqrt(most) * dt;
    int level = turned > TURNED_FAR ? 2 : turned > TURNED;
    for (; turned > TURNED_MOST && level < MAX_LEVEL; turned *= 0.5)
        level++;
    return level;
}

static void begin_substep(gw_system *s, const gw_forces *forces, double dt, substep *b,
                          gw_system_work *sum)
{
    const gw_system_integrator *at = &s->integrator;
    end_before_crossing(s, b);
    b->wide = b->stiff ? (double)WHOLE / gw_implicit_formula_of(at->implicit_level).substeps
                       : width_of(s);
    gw_kinks_begin_substep(s, forces, dt * b->begin / WHOLE);
    double most = gw_unilateral_begin_substep(s, forces, dt * b->begin / WHOLE, sum) / fabs(dt);
    b->wide = fmin(fmin(b->wide, b->cut), fmin(b->kink.met, b->lift.met));
    b->wide = fmin(b->wide, fmin(WHOLE * most, WHOLE - b->begin));
    b->tries += is_above_start_level(at, b->stiff);
    b->kinetic = s->kinetic, b->potential = s->potential, b->rank = s->rank, b->firm = s->firm;
    save_state(s);
}

/* Returns to the substep's begin. */
static void restore_substep_start(gw_system *s, const substep *b, double dt)
{
    gw_contacts_follow_again(s);
    return_to(s, s->home, dt * b->begin / WHOLE);
    s->kinetic = b->kinetic, s->potential = b->potential;
}

typedef enum repetition { TAKEN, REPEATED, REPEATED_STIFF } repetition;

/* Handles a substep that was too coarse. When explicit substeps reach DOUBT_LEVEL, or the finest
 * are not enough, stiffness is evaluated again with the present inertias. */
static repetition repeat_substep(gw_system *s, substep *b, double dt, const gw_system_work *own,
                                 bool *doubted)
{
    gw_system_integrator *at = &s->integrator;
    double kink = first_kink(s, dt * b->wide / WHOLE);
    bool refined = refine_substep(s, b, kink, fabs(energy_imbalance(s, b, own)));
    bool doubts = (refined ? !b->stiff && at->level == DOUBT_LEVEL : !*doubted) &&
                  (b->stiff || (b->cut == WHOLE && at->unstiff <= 0 && !s->is_free));
    if (!refined && !doubts)
        return TAKEN;
    restore_substep_start(s, b, dt);
    if (b->over.state == TO_BE_PLACED)
        place_crossing(s, b, dt * b->begin / WHOLE, dt);
    if (doubts && !b->stiff && is_step_stiff_here(s, dt))
        return REPEATED_STIFF;
    *doubted = *doubted || !refined;
    if (b->stiff && !s->lock && at->implicit_level > HIGH_ORDER_LEVEL &&
        (at->unstiff == 0 || doubts) && is_stable_explicitly(s, dt)) {
        b->stiff = false;
        at->implicit_level = HIGH_ORDER_LEVEL - 1, at->level = MAX_LEVEL;
        at->unstiff = at->unstiff == 0 ? PATIENCE : at->unstiff;
    }
    return REPEATED;
}

/* True if the substep is to be repeated, to end where a sliding coordinate comes to rest. */
static bool cut_at_rest(gw_system *s, substep *b, double dt)
{
    double rest = b->cut == WHOLE ? gw_system_first_rest(s) : 2;
    if (!(fmin(rest, 1 - rest) * b->wide > LEAST_CUT))
        return false;
    restore_substep_start(s, b, dt);
    b->cut = rest * b->wide;
    return true;
}

/* Crosses the kink at the substep's end (or begin). */
static void cross_kink(gw_system *s, substep *b, double t, double dt, gw_system_work *own)
{
    remove_energy_error(s, gw_kinks_cross(s, &b->kink, t, dt, own));
    b->kink = (gw_kink_search){.met = INFINITY};
}

/* True if the substep is to be repeated, up to a kink of a shape; one at its begin is crossed. */
static bool cut_at_kink(gw_system *s, substep *b, double dt, gw_system_work *sum)
{
    gw_system_work own = {0};
    if (!gw_kinks_detect(s, b->wide, dt, &b->kink))
        return false;
    restore_substep_start(s, b, dt);
    if (gw_kinks_locate(s, dt, &b->kink))
        cross_kink(s, b, dt * b->begin / WHOLE, dt, &own);
    gw_system_add_work(sum, 1, &own);
    return true;
}

/* True if the substep is to be repeated, up to where a contact's phase ends (also at its begin). */
static bool cut_at_end(gw_system *s, substep *b, const gw_forces *f, double dt, gw_system_work *w)
{
    if (!gw_unilateral_detect(s, f, dt * (b->begin + b->wide) / WHOLE, b->wide, &b->lift))
        return false;
    restore_substep_start(s, b, dt);
    if (b->lift.met == 0)
        gw_unilateral_lift_off(s, 0, &b->lift, w);
    return true;
}

/* Accepts the substep, corrects the error of its energy balance where possible, and reports it. */
static void take_substep(gw_system *s, const gw_forces *forces, double dt, const substep *b,
                         accuracy last, bool closed, gw_system_work *own)
{
    double t = dt * b->begin / WHOLE, h = dt * b->wide / WHOLE;
    if (!b->stiff && last == TOO_COARSE && s->integrator.unstiff > 0)
        s->integrator.unstiff = -PATIENCE;
    bool coarse = !b->stiff && last == TOO_COARSE && s->row_count > 0 && !s->moving && !b->held;
    double most = (s->margin > GW_SINGULAR_ROW ? COAST_BALANCE : KINK_BALANCE) * b->kinetic;
    own->dissipated += b->held ? fmax(0, -energy_imbalance(s, b, own)) : 0; /* by the impact */
    if (coarse && !(closed && fabs(energy_imbalance(s, b, own)) <= most))
        pass_singular_posture(s, forces, t, h, b, own);
    else if (last == TOO_COARSE &&
             (is_energy_error_too_large(s, b, own) || (b->stiff && runs_away(s, h))))
        stop_there(s, b, t, own);
    else if (b->stiff || last == TOO_COARSE)
        close_energy_balance(s, b->stiff, b->kinetic, b->potential, own);
    else
        remove_energy_error(s, energy_imbalance(s, b, own));
}

/* Starts at the level at which the last step ended; repeats substeps whose energy balance fails. */
static outcome take_substeps(gw_system *s, bool stiff, const gw_forces *forces, double dt,
                             gw_system_work *sum, gw_wrench *constraint)
{
    gw_system_integrator *at = &s->integrator;
    substep b = {.stiff = stiff,
                 .most_tries = FINEST_TRIES + FINEST_WORK / s->body_count,
                 .cut = WHOLE,
                 .least = INFINITY,
                 .kink.met = INFINITY,
                 .lift.met = INFINITY};
    accuracy last = GOOD;
    bool doubted = false;
    int least = stiff ? 0 : least_level(s, dt);
    at->level = at->level > least ? at->level : least;
    while (b.begin < WHOLE) {
        gw_system_work own = {0};
        begin_substep(s, forces, dt, &b, sum);
        if (gw_folds_hold(s, forces, dt * b.begin / WHOLE, dt * (1 - b.begin / WHOLE), sum))
            break;
        double open = gw_closures_residual(s), removed;
        (b.stiff ? gw_system_integrate_implicitly : integrate_explicitly)(
            s, forces, dt * b.begin / WHOLE, dt * b.wide / WHOLE, &own, constraint);
        bool closed = finish_substep(s, open, &removed);
        b.held = closed && is_held_at_singular_posture(s, &b);
        own.dissipated += b.held ? removed : 0;
        if ((closed || gw_any_contact_is_lost(s)) &&
            (cut_at_kink(s, &b, dt, sum) || cut_at_end(s, &b, forces, dt, sum)))
            continue;
        last = closed ? judge_substep(s, &b, &own) : TOO_COARSE;
        repetition again = last == TOO_COARSE ? repeat_substep(s, &b, dt, &own, &doubted) : TAKEN;
        if (again == REPEATED_STIFF)
            return TURNED_STIFF;
        bool turns = !b.stiff && !s->local && last != TOO_COARSE;
        if (again == REPEATED || (turns && cut_at_rest(s, &b, dt)))
            continue;
        if (s->is_offset && last == TOO_COARSE && !closed) /* the edit's joints cannot be reached */
            return FAILED;
        take_substep(s, forces, dt, &b, last, closed, &own);
        slip_bristles(s, turns, forces, dt * (b.begin + b.wide) / WHOLE, &own);
        if (b.kink.active)
            cross_kink(s, &b, dt * (b.begin + b.wide) / WHOLE, dt, &own);
        gw_unilateral_lift_off(s, b.wide, &b.lift, &own);
        gw_system_add_work(sum, 1, &own);
        if (!all_finite(s))
            return FAILED;
        b.begin += b.wide;
        b.cut = WHOLE;
        widen_substep(s, &b, last);
    }
    at->level = at->level < MAX_LEVEL ? at->level : MAX_LEVEL;
    if (at->implicit_level > GW_MAX_IMPLICIT_LEVEL)
        at->implicit_level = GW_MAX_IMPLICIT_LEVEL;
    coarsen_step(s, b.stiff, last);
    return DONE;
}

void gw_system_step(gw_system *s, const gw_forces *forces, double dt, gw_step *step)
{
    gw_system_work sum = {0};
    gw_wrench constraint = {{0, 0, 0}, {0, 0, 0}};
    double kinetic = s->kinetic, owed = s->integrator.owed, fitted;
    assert(isfinite(dt));
    s->load = forces ? forces->load : NULL;
    s->lock = forces ? forces->lock : NULL;
    s->touched = forces && (forces->contact_wrenches || forces->load);
    s->continues = forces && forces->continues;
    gw_contacts_begin(s, forces);
    gw_kinks_begin_step(s);
    gw_set_joints_recentre(s);
    bool in_doubt =
        s->integrator.level >= DOUBT_LEVEL || s->integrator.implicit_level >= HIGH_ORDER_LEVEL;
    fitted = gw_system_begin_bristles(s, in_doubt && !s->local);
    for (int i = 0; i < s->body_count; i++)
        gw_joint_copy(&s->bodies[i], &s->bodies[i].joint, &s->begin[i]);
    gw_system_meet_limits(s, dt);
    bool stiff = s->lock ||
                 (!s->local && gw_system_is_stiff(s, dt / GW_EXPLICIT_SUBSTEPS, GW_EXPLICIT_LIMIT));
    if (stiff && !s->lock && s->integrator.unstiff > 0 && is_stable_explicitly(s, dt)) {
        s->integrator.unstiff--;
        stiff = false;
    } else {
        s->integrator.unstiff = s->integrator.unstiff < 0 ? s->integrator.unstiff + 1 : 0;
    }
    double potential = s->potential;
    outcome made = take_substeps(s, stiff, forces, dt, &sum, &constraint);
    if (made == TURNED_STIFF) {
        return_to(s, s->begin, 0);
        s->kinetic = kinetic, s->potential = potential;
        s->integrator.owed = owed;
        sum = (gw_system_work){0};
        stiff = true;
        made = take_substeps(s, true, forces, dt, &sum, &constraint);
    }
    s->integrator.implicit_dt = stiff ? dt : 0;
    s->load = s->lock = NULL;
    if (made == FAILED) { /* back to the start, at rest */
        for (int i = 0; i < s->body_count; i++)
            memset(s->begin[i].u, 0, sizeof s->begin[i].u);
        return_to(s, s->begin, 0);
        if (s->moving) {
            gw_grounds_stop(s);
            gw_system_update(s);
        }
        s->integrator.level = 0;
        *step = (gw_step){.dissipated = fitted + (isfinite(kinetic) ? kinetic : 0),
                          .degenerate = gw_system_degenerate_closure(s) >= 0,
                          .finite = false};
        return;
    }
    if (sum.energy_error > 0 && sum.energy_error <= gw_system_energy_rounding(s))
        sum.energy_error = 0;
    if (s->moving)
        gw_grounds_advance(s, dt);
    *step = (gw_step){.constraint = constraint,
                      .work = sum.hand,
                      .dissipated = fitted + sum.dissipated,
                      .motors = sum.motors,
                      .pushed = sum.pushed,
                      .second = sum.second,
                      .base_work = sum.base,
                      .energy_error = sum.energy_error,
                      .edge = gw_system_closure_at_edge(s) >= 0,
                      .degenerate = gw_system_degenerate_closure(s) >= 0,
                      .margin = 1,
                      .finite = true};
}
