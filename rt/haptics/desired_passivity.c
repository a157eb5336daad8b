/*
 * The energy that a desired mass gives to the model and takes from it. On the loop's thread, RT
 * safe.
 */
#include <assert.h>
#include <float.h>
#include <math.h>

#include "rt/base/small.h"
#include "rt/base/spatial.h"
#include "rt/haptics/desired_basis.h"

#define SAME_ENERGY  1e-6       /* of the kinetic energy: none but the held frame's */
#define MOST_GIVEN   0.02       /* of the felt kinetic energy in a tick: the tank gives it back */
#define MOST_TAKEN   (1 - 1e-9) /* of it: what is left of a direction can still be scaled */
#define EXCESS       1e-9       /* J: less is rounding */
#define TAKEN_HIDDEN 0.5        /* of it, where bodies move that the held one does not show */
#define TOLD_AGAIN   2.0        /* of what was told */
#define MOMENT       0.02       /* s for which the held frame may show nothing of a direction */

/* ---- motion that the held frame does not show ------------------------------------------------ */

/* True if all of the model's motion is that of the held frame. */
static bool shows_all(const gw_desired_basis *x, const double twist[6], double kinetic)
{
    double y[6], whole = 0;
    gw_desired_basis_along(x, twist, y);
    for (int k = 0; k < 6; k++)
        whole += x->s[k] > 0 ? 0.5 * y[k] * y[k] / x->s[k] : 0;
    return whole >= (1 - SAME_ENERGY) * kinetic;
}

/* Whether other bodies move, decided by ticks in a row: in a singular posture the held frame shows
 * nothing of a direction for a moment, and other bodies may rest for one. */
void gw_desired_note_hidden(gw_desired_impedance *d, const gw_desired_basis *x, double kinetic)
{
    bool shows = shows_all(x, d->twist, kinetic);
    d->differs = shows == d->shows_all ? 0 : d->differs + 1;
    if (!d->is_judged || d->differs * d->dt > MOMENT) {
        d->shows_all = shows;
        d->differs = 0;
    }
    d->is_judged = true;
}

/* True where M_d is felt in full along direction k. */
static bool is_reached(const gw_desired_basis *x, int k)
{
    return x->s[k] > 0 && fabs(x->g[k] * x->s[k] - 1) < 1e-9;
}

/*
 * The part b = c + J-dot v that is quadratic in the velocities does no work on the model's own
 * inertia. Where all of the model's motion is that of the held frame, 1/2 x'^T Lambda x' = T, it
 * must do none on the inertia M that is felt in its place either, or a falling arm would gain a
 * multiple of its weight's work. Its component along x' is taken out:
 *
 *   F = -r m V g V^T m x',   r = x'^T M_d b / (x'^T M_d x')
 *
 * Nothing where bodies move that the held one does not show, as they exchange energy with it, nor
 * along directions in which M_d is out of reach, where a share of the model's own inertia is felt.
 */
void gw_desired_take_out_work(gw_desired_impedance *d, const gw_desired_basis *x,
                              const double own[6][6], const double b[6])
{
    double y[6], power = 0, felt = 0, f[6] = {0}, by[6];
    for (int k = 0; k < 6; k++) {
        double along = 0;
        y[k] = 0;
        for (int i = 0; i < 6; i++) {
            y[k] += x->v[i][k] * x->m[i] * d->twist[i];
            along += x->v[i][k] * x->m[i] * b[i];
        }
        if (!(x->s[k] > 0))
            continue;
        power += is_reached(x, k) ? y[k] * along : 0;
        felt += is_reached(x, k) ? y[k] * y[k] : 0;
    }
    if (!(felt > 0))
        return;
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++)
            if (is_reached(x, k))
                f[i] -= power / felt * x->m[i] * x->v[i][k] * x->g[k] * y[k];
    gw_matrix6_apply(own, f, by);
    for (int i = 0; i < 6; i++) {
        d->by_environment[i] += f[i];
        d->free[i] += by[i];
    }
}

/* ---- passivity of the desired mass ----------------------------------------------------------- */

/* 1/2 x'^T (M - Lambda) x' */
double gw_desired_shaped_energy(const gw_desired_basis *x, const double twist[6])
{
    double y[6], sum = 0;
    gw_desired_basis_along(x, twist, y);
    for (int k = 0; k < 6; k++)
        sum += 0.5 * x->change[k] * y[k] * y[k];
    return sum;
}

/* Scales the velocities y along the directions of `chosen` so that 1/2 x'^T M x' changes by
 * `energy`, as far as they can; returns the rest. */
static double scale_along(const gw_desired_basis *x, const bool chosen[6], double energy,
                          double most, const double y[6], double factor[6])
{
    double there = 0;
    for (int k = 0; k < 6; k++)
        there += chosen[k] && x->s[k] > 0 ? 0.5 * y[k] * y[k] / (x->g[k] * x->s[k]) : 0;
    if (!(there > 0))
        return energy;
    double change = fmin(fmax(energy, -most * there), MOST_GIVEN * there);
    for (int k = 0; k < 6; k++)
        if (chosen[k])
            factor[k] = sqrt(1 + change / there);
    return energy - change;
}

/* The energy that scaling takes from the model's own, 1/2 x'^T Lambda x', along directions of
 * `chosen`.
 */
static double taken_from(const gw_desired_basis *x, const bool chosen[6], const double y[6],
                         const double factor[6])
{
    double sum = 0;
    for (int k = 0; k < 6; k++)
        if (chosen[k] && x->s[k] > 0)
            sum += 0.5 * y[k] * y[k] / x->s[k] * (1 - factor[k] * factor[k]);
    return sum;
}

/*
 * With F_d the wrench that shows M in place of Lambda, the model and S = 1/2 x'^T (M - Lambda) x'
 * are passive to hand, weight and motors if the work of F_d and the change of S in a tick,
 *
 *   E = W_d + dS <= tank,   tank' = tank - E >= 0,   tank = 0 at first
 *
 * as 1/2 v^T D v + S = 1/2 v^T (D + J^T (M - Lambda) J) v is positive. A wrench that is held for a
 * tick and an M that varies near singular postures do not see to that by themselves. What the tank
 * lacks is taken from the motion x' at once, by an impulse that scales it: first along directions
 * near a singular posture, where M varies. What the tank has goes back to the other directions, a
 * little in each tick. It holds no more than the motion.
 *
 * Impulses of contacts meet the model's own masses: their part of dS does not count. Where bodies
 * move that the held one does not show, S also changes by what b exchanges with them, which is no
 * work of F_d: x' pays in ticks in which F_d works, as long as both the sum of W_d and that of E
 * say that the desired mass gave energy. They may gain what x' cannot pay.
 */
gw_wrench gw_desired_make_passive(gw_desired_impedance *d, const gw_operational_state *end,
                                  const double by_impulses[6], double work)
{
    double own[6][6], twist[6], before[6], y[6], f[6] = {0}, moves = 0;
    double factor[6] = {1, 1, 1, 1, 1, 1};
    bool near[6], far[6];
    gw_desired_basis x;
    gw_quat q = end->pose.q;
    assert(d->is_audited);
    d->is_audited = false;
    gw_held_matrix_in_axes(q, (const double(*)[6])end->inverse_inertia, own);
    gw_held_in_axes(q, end->twist.v, end->twist.w, twist);
    gw_held_row_in_axes(q, by_impulses, before);
    for (int i = 0; i < 6; i++)
        before[i] = twist[i] - before[i];
    gw_desired_basis_of(d, (const double(*)[6])own, &x);
    double gained = work + gw_desired_shaped_energy(&x, before) - d->shaped;
    d->worked += work;
    if (d->shows_all)
        d->tank -= gained;
    else
        d->unseen += gained;
    gw_desired_basis_along(&x, twist, y);
    for (int k = 0; k < 6; k++) {
        near[k] = x.weight[k] < 1;
        far[k] = !near[k];
        moves += x.s[k] > 0 ? 0.5 * y[k] * y[k] / (x.g[k] * x.s[k]) : 0;
    }
    double owed = fmax(fmin(fmin(d->worked, d->unseen), work), 0);
    if (!d->shows_all)
        d->tank = -owed;
    if (d->tank < 0)
        d->tank = scale_along(&x, near, d->tank, MOST_TAKEN, y, factor);
    double most = d->shows_all ? MOST_TAKEN : TAKEN_HIDDEN;
    d->tank = scale_along(&x, far, d->tank, most, y, factor);
    d->lost += fmax(d->tank - moves, 0);
    d->tank = fmin(d->tank, moves);
    double taken = taken_from(&x, near, y, factor), more = taken_from(&x, far, y, factor);
    if (!d->shows_all && owed > 0) {
        double share = fmin(d->worked / fmax(taken + more, DBL_MIN), 1);
        for (int k = 0; k < 6; k++)
            factor[k] = sqrt(1 - share * (1 - factor[k] * factor[k]));
        d->unseen -= share * (owed + d->tank);
        d->tank = 0;
        taken = share * (taken + more);
        more = 0;
    }
    d->lost += taken;
    d->worked -= taken + more;
    for (int k = 0; k < 6; k++)
        for (int i = 0; i < 6 && x.s[k] > 0; i++)
            f[i] += x.m[i] * x.v[i][k] * (factor[k] - 1) * y[k] / x.s[k];
    return gw_held_in_world(q, f);
}

/* True if a sum is worth an event, the first or another one. */
static bool is_news(double sum, double kinetic, double *told)
{
    if (!(sum > fmax(SAME_ENERGY * kinetic + EXCESS, TOLD_AGAIN * *told)))
        return false;
    *told = sum;
    return true;
}

double gw_desired_unrendered(gw_desired_impedance *d, double kinetic)
{
    double excess = fmax(-d->tank, fmin(d->worked, d->unseen));
    if (is_news(excess, kinetic, &d->told))
        return excess;
    return is_news(d->lost, kinetic, &d->told_lost) ? -d->lost : 0;
}
