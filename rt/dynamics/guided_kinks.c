/*
 * Kinks of a free-form locus of a guided body: the second derivatives of the parameters jump there,
 * so the integration stops at each kink and continues behind it. On the loop's thread, RT safe.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/dynamics/rigid_body.h"
#include "rt/geometry/nurbs.h"

#define KINKS       8 /* most parts of a step; with more the body is in a corner, at rest */
#define AT_ONCE     2 /* successive parts, each shorter than ONCE of the step: on a crease */
#define ONCE        1e-2
#define AT_KINK     4e-12 /* of the domain: distance at which a parameter is on a kink */
#define KINK_OFFSET 1e-12 /* of the domain: offset that puts the body on one side of a kink */
#define KINK_STEPS  40    /* iterations for the time at which a kink is reached */

/* Number of kinks along a parameter: the knots at which a derivative of the shape by it jumps, up
 * to the fourth one. The acceleration depends on the third if the set follows the shape's
 * direction. */
static int kink_count(const gw_submanifold *set, int k)
{
    const gw_nurbs_direction *d = &set->translation.locus.nurbs->direction[k];
    return d->kink_count + d->uneven_count + d->bend_count + d->rate_count;
}

static double kink_of(const gw_nurbs_direction *d, int i)
{
    const int count[] = {d->kink_count, d->uneven_count, d->bend_count};
    const double *const list[] = {d->kinks, d->uneven, d->bends};
    for (int j = 0; j < 3; i -= count[j++])
        if (i < count[j])
            return list[j][i];
    return d->rates[i];
}

bool gw_guided_has_kinks(const gw_submanifold *set)
{
    assert(set);
    const gw_locus *l = &set->translation.locus;
    return (l->kind == GW_LOCUS_CURVE || l->kind == GW_LOCUS_SURFACE) &&
           kink_count(set, 0) + kink_count(set, 1) > 0;
}

/* True if parameter k is held on a kink. */
static bool parameter_stays(const gw_guided *body, int k)
{
    return body->on_crease && body->crease == body->def.set.rotation.dof + k;
}

/*
 * Sets `view` to the smooth part of the locus about the chart's centre: stages of a step that reach
 * over a kink use the part's polynomials, extended beyond it. A kink belongs to the part above it.
 */
static void view_part(const gw_chart *chart, gw_nurbs *view)
{
    const gw_submanifold *set = chart->set;
    const gw_nurbs *shape = set->translation.locus.nurbs;
    gw_nurbs_view(shape, view);
    for (int k = 0; k < set->translation.dof; k++) {
        const gw_nurbs_direction *d = &shape->direction[k];
        double from = -INFINITY, to = INFINITY, period = d->high - d->low;
        int count = kink_count(set, k), turns = d->closed ? 1 : 0;
        for (int turn = -turns; turn <= turns; turn++)
            for (int i = 0; i < count; i++) {
                double end = kink_of(d, i) + turn * period;
                from = end <= chart->parameter[k] ? fmax(from, end) : from;
                to = end > chart->parameter[k] ? fmin(to, end) : to;
            }
        gw_nurbs_set_part(view, k, from, to);
    }
}

/* A kink of parameter k, at the signed distance `by` from the chart's centre. */
typedef struct kink {
    int k;
    double by, offset; /* offset: KINK_OFFSET of the domain, with the sign of the motion */
} kink;

/* Finds the first kink that the parameters reach, or end next to, on the way to z. */
static bool meets_kink(const gw_guided *body, const gw_chart *chart, const double *z, kink *first)
{
    const gw_submanifold *set = chart->set;
    double share = HUGE_VAL;
    *first = (kink){0};
    for (int k = 0; k < set->translation.dof && !chart->flat; k++) {
        const gw_nurbs_direction *d = &set->translation.locus.nurbs->direction[k];
        double period = d->high - d->low, offset = KINK_OFFSET * period;
        double way = parameter_stays(body, k) ? 0 : z[set->rotation.dof + k];
        int count = way == 0 ? 0 : kink_count(set, k), turns = d->closed ? 1 : 0;
        for (int turn = -turns; turn <= turns; turn++)
            for (int i = 0; i < count; i++) {
                double by = kink_of(d, i) + turn * period - chart->parameter[k];
                bool meets = way > 0 ? by > 0 && by <= way + offset : by <= 0 && by > way - offset;
                if (!meets || !(by / way < share))
                    continue;
                share = by / way;
                *first = (kink){k, by, copysign(offset, way)};
            }
    }
    return isfinite(share);
}

/* The time, at most dt, at which the kink is reached, to KINK_OFFSET or less before it; sets z and
 * z_dot there, and the result of the step up to it. */
static double go_to_kink(const gw_guided *body, const gw_chart *chart, const gw_forces *forces,
                         double dt, const kink *at, double *z, double *z_dot, gw_step *step)
{
    const double near = 0.5 * fabs(at->offset);
    double from[6], low = 0, high = dt, f_low = fabs(at->by) - near;
    int k = body->def.set.rotation.dof + at->k;
    double f_high = f_low - fabs(z[k]), h = 0;
    low = f_high > 0 ? dt : 0;
    memcpy(from, z_dot, sizeof from);
    for (int i = 0; i < KINK_STEPS && f_low > near && low < dt; i++) {
        h = low + (high - low) * f_low / (f_low - f_high);
        if (i % 3 == 2 || !(h > low && h < high))
            h = 0.5 * (low + high);
        memcpy(z_dot, from, sizeof from);
        *step = (gw_step){.finite = true, .margin = 1};
        gw_guided_integrate(body, chart, forces, h, z, z_dot, step);
        double left = copysign(1, at->offset) * (at->by - z[k]) - near;
        if (left >= 0)
            low = h, f_low = left;
        else
            high = h, f_high = left;
    }
    memcpy(z_dot, from, sizeof from);
    *step = (gw_step){.finite = true, .margin = 1};
    step->finite = gw_guided_integrate(body, chart, forces, low, z, z_dot, step);
    return low;
}

/* The mass matrix m in the chart's coordinates at z. */
static void mass_matrix(const gw_guided *body, const gw_chart *chart, const double *z,
                        double m[6][6])
{
    static const double still[6] = {0};
    double jacobian[6][6], bias[6], mass = body->def.mass.mass;
    gw_vec3 v[6], w[6];
    gw_pose pose;
    gw_chart_eval(chart, z, still, &pose, jacobian, bias);
    gw_rigid_body r = gw_rigid_body_at(&body->def, &pose);
    for (int i = 0; i < body->def.set.dof; i++) {
        w[i] = gw_angular_part(jacobian[i]);
        v[i] = gw_add(gw_linear_part(jacobian[i]), gw_cross(w[i], r.com));
        for (int j = 0; j <= i; j++)
            m[i][j] = m[j][i] =
                mass * gw_dot(v[i], v[j]) + gw_dot(w[i], gw_mat3_mul(&r.inertia, w[j]));
    }
}

/* Splits column k of a mass matrix: along = m_EE^-1 m_Ek with the other coordinates E, which move
 * along the crease; returns the squared norm of the component across it. */
static double split_column(double (*m)[6], int n, int k, double along[6])
{
    double others[6][6], column[6] = {0}, across = m[k][k];
    int count = 0, of[6];
    for (int i = 0; i < n; i++)
        if (i != k)
            of[count++] = i;
    for (int i = 0; i < count; i++) {
        column[i] = m[of[i]][k];
        for (int j = 0; j <= i; j++)
            others[i][j] = m[of[i]][of[j]];
    }
    memset(along, 0, 6 * sizeof *along);
    if (!gw_cholesky(others, count))
        return 0;
    double solved[6];
    memcpy(solved, column, sizeof solved);
    gw_cholesky_solve(others, count, solved);
    for (int i = 0; i < count; i++) {
        along[of[i]] = solved[i];
        across -= column[i] * solved[i];
    }
    return fmax(0, across);
}

static double kinetic_energy_of(double (*m)[6], int n, const double *z_dot)
{
    double energy = 0;
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            energy += (i == j ? 0.5 : 1) * m[i][j] * z_dot[i] * z_dot[j];
    return energy;
}

/*
 * Crosses the kink as a fillet of vanishing radius: in the mass metric the velocity along the
 * crease and the speed across it are conserved, and so is the kinetic energy. With the coordinate k
 * that reaches the kink, the others E, whose columns of the Jacobian are the same on both sides,
 * and c = J_k - J_E along, along = M_EE^-1 M_Ek, these are conserved:
 *
 *   z_k' |c| and z_E' + along z_k' stay
 *
 * M_EE changes by a little on the way from z to the far side, for which the energy corrects z'.
 * The chart's shape is the part on the near side, and afterwards the whole one.
 */
static void turn_at_kink(const gw_guided *body, gw_chart *chart, const kink *at, double *z,
                         double *z_dot)
{
    const gw_submanifold *set = &body->def.set;
    int k = set->rotation.dof + at->k, n = set->dof;
    double m[2][6][6], along[2][6], across[2];
    for (int side = 0; side < 2; side++) {
        mass_matrix(body, chart, z, m[side]);
        across[side] = sqrt(split_column(m[side], n, k, along[side]));
        z[k] = at->by + at->offset;
        chart->shape = set->translation.locus.nurbs;
    }
    double before = kinetic_energy_of(m[0], n, z_dot);
    double rate = across[1] > 0 ? z_dot[k] * across[0] / across[1] : 0;
    for (int i = 0; i < n; i++)
        z_dot[i] += along[0][i] * z_dot[k] - along[1][i] * rate;
    z_dot[k] = rate;
    double after = kinetic_energy_of(m[1], n, z_dot);
    for (int i = 0; i < n && after > 0 && across[1] > 0; i++)
        z_dot[i] *= sqrt(before / after);
    if (body->on_crease) /* the crease's impulse keeps it there */
        z_dot[body->crease] = 0;
}

double gw_guided_step_to_kink(const gw_guided *body, gw_chart *chart, const gw_forces *forces,
                              double dt, double *z, double *z_dot, gw_step *step)
{
    double begin[6];
    kink at;
    gw_nurbs view;
    if (!chart->flat) {
        view_part(chart, &view);
        chart->shape = &view;
    }
    memcpy(begin, z_dot, sizeof begin);
    step->finite = gw_guided_integrate(body, chart, forces, dt, z, z_dot, step);
    if (step->finite && meets_kink(body, chart, z, &at)) {
        memcpy(z_dot, begin, sizeof begin);
        dt = go_to_kink(body, chart, forces, dt, &at, z, z_dot, step);
        if (step->finite)
            turn_at_kink(body, chart, &at, z, z_dot);
    }
    chart->shape = chart->set->translation.locus.nurbs;
    return dt;
}

/* The coordinate that is at a kink, or -1. */
static int kink_held_at(const gw_chart *chart)
{
    const gw_submanifold *set = chart->set;
    for (int k = 0; k < set->translation.dof && !chart->flat; k++) {
        const gw_nurbs_direction *d = &set->translation.locus.nurbs->direction[k];
        double period = d->high - d->low;
        for (int i = 0; i < kink_count(set, k); i++) {
            double off = chart->parameter[k] - kink_of(d, i);
            if (fabs(d->closed ? remainder(off, period) : off) <= AT_KINK * period)
                return set->rotation.dof + k;
        }
    }
    return -1;
}

/* Stops the motion across a crease, or all motion if the body is on none; the energy counts as
 * dissipated. True if it is on a crease. */
static bool stay_on_crease(gw_guided *body, gw_step *step)
{
    static const double still[6] = {0};
    double z_dot[6] = {0}, m[6][6], along[6], jacobian[6][6], bias[6];
    gw_pose pose = gw_guided_pose(body);
    gw_twist before = gw_guided_twist(body), twist = {{0, 0, 0}, {0, 0, 0}};
    gw_rigid_body r = gw_rigid_body_at(&body->def, &pose);
    gw_chart chart;
    gw_chart_at(&body->def.set, &pose, &chart);
    int k = kink_held_at(&chart);
    if (k >= 0) {
        gw_chart_velocity(&chart, &before, z_dot);
        mass_matrix(body, &chart, still, m);
        split_column(m, body->def.set.dof, k, along);
        for (int i = 0; i < body->def.set.dof; i++)
            z_dot[i] += along[i] * z_dot[k];
        z_dot[k] = 0;
        gw_chart_eval(&chart, still, z_dot, &pose, jacobian, bias);
        for (int i = 0; i < body->def.set.dof; i++) {
            twist.v = gw_mul_add(twist.v, z_dot[i], gw_linear_part(jacobian[i]));
            twist.w = gw_mul_add(twist.w, z_dot[i], gw_angular_part(jacobian[i]));
        }
    }
    step->dissipated += gw_rigid_body_kinetic_energy(body->def.mass.mass, &r, &before) -
                        gw_rigid_body_kinetic_energy(body->def.mass.mass, &r, &twist);
    gw_guided_store_state(body, 0, &pose, &twist);
    memcpy(body->z_dot, z_dot, sizeof body->z_dot);
    body->on_crease = k >= 0;
    body->crease = k;
    return k >= 0;
}

/* Steps from kink to kink, until the step's end or until AT_ONCE or KINKS is exceeded. */
static void cross_kinks(gw_guided *body, const gw_forces *forces, gw_delayed_forces *delayed,
                        double dt, gw_step *step)
{
    int at_once = 0;
    for (int i = 0; i < KINKS && at_once < AT_ONCE && delayed->since < dt && step->finite; i++) {
        gw_step part = {.finite = true, .margin = 1};
        bool first = delayed->since == 0;
        double took = gw_guided_chart_step(body, forces, dt - delayed->since, &part);
        delayed->since += took;
        at_once = took < ONCE * dt ? at_once + 1 : 0;
        gw_step_add(step, &part, first);
    }
}

/* Steps from kink to kink. A body that crosses one to and fro at once is pressed onto it from both
 * sides and continues along the crease; with too many crossings, or on two kinks, it is in a corner
 * and stops. */
void gw_guided_step_over_kinks(gw_guided *body, const gw_forces *forces, double dt, gw_step *step)
{
    assert(body && dt >= 0 && step);
    gw_delayed_forces l = {.forces = forces};
    gw_forces of_part = gw_delay_forces(&l);
    cross_kinks(body, &of_part, &l, dt, step);
    if (step->finite && l.since < dt && stay_on_crease(body, step)) {
        cross_kinks(body, &of_part, &l, dt, step);
        body->on_crease = false;
    }
    if (!step->finite || l.since >= dt)
        return;
    gw_pose pose = gw_guided_pose(body);
    gw_rigid_body r = gw_rigid_body_at(&body->def, &pose);
    step->dissipated += gw_rigid_body_kinetic_energy(body->def.mass.mass, &r, &body->twist);
    gw_guided_store_state(body, dt - l.since, &pose, &(gw_twist){{0, 0, 0}, {0, 0, 0}});
    memset(body->z_dot, 0, sizeof body->z_dot);
}
