/*
 * Kinks and edges of a free-form locus of a guided body: at a kink the second derivatives of the
 * parameters jump, at an edge (guided_edges.c) the body stops, so the integration stops at each of
 * them and continues behind it. On the loop's thread, RT safe.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/dynamics/rigid_body.h"
#include "rt/geometry/nurbs.h"

#define KINKS       8  /* most parts of a step; with more the body is in a corner, at rest */
#define EDGES       16 /* most parts that end at edges beside these */
#define AT_ONCE     2  /* successive parts, each shorter than ONCE of the step: on a crease */
#define ONCE        1e-2
#define AT_KINK     4e-12 /* of the domain: distance at which a parameter is on a kink */
#define KINK_OFFSET 1e-12 /* of the domain: offset that puts the body on one side of a kink */
#define KINK_STEPS  40    /* iterations for the time at which a kink is reached */
#define BEYOND_KINK 1.05  /* times the time to a kink: length of a step that leads over it, */
#define LEAST_PART  1e-5  /* of the whole step at least */
#define HALVINGS    30    /* of the time, to find where the body has left the edge it began at */

/* Number of kinks along a parameter: the knots at which a derivative of the shape by it jumps, up
 * to the fourth one. The acceleration depends on the third if the set follows the shape's
 * direction. */
static int kink_count(const gw_submanifold *set, int k)
{
    const gw_nurbs_direction *d = &set->translation.locus.nurbs->direction[k];
    return d->kink_count + d->bend_count + d->rate_count;
}

static double kink_of(const gw_nurbs_direction *d, int i)
{
    if (i < d->kink_count)
        return d->kinks[i];
    i -= d->kink_count;
    return i < d->bend_count ? d->bends[i] : d->rates[i - d->bend_count];
}

/* True if parameter k has ends. */
static bool has_edges(const gw_nurbs *shape, int k)
{
    return k < shape->dimension && !shape->direction[k].closed;
}

bool gw_guided_has_kinks(const gw_submanifold *set)
{
    assert(set);
    const gw_locus *l = &set->translation.locus;
    return (l->kind == GW_LOCUS_CURVE || l->kind == GW_LOCUS_SURFACE) &&
           (kink_count(set, 0) + kink_count(set, 1) > 0 || has_edges(l->nurbs, 0) ||
            has_edges(l->nurbs, 1));
}

/* True if parameter k is held on a kink or at an edge. */
static bool parameter_stays(const gw_guided *body, int k)
{
    return body->held & 1U << (body->def.set.rotation.dof + k);
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

/* A kink or an edge of parameter k, at the signed distance `by` from the chart's centre. */
typedef struct kink {
    int k;
    double by, offset; /* offset: KINK_OFFSET of the domain, with the sign of the motion */
    bool edge;
} kink;

/* The first kink or edge of parameter k ahead, in the direction of `change`; false if there is
 * none. A kink at the centre itself is ahead of what goes down, since it belongs to the part above
 * it. */
static bool kink_ahead(const gw_chart *chart, int k, double change, kink *ahead)
{
    const gw_nurbs_direction *d = &chart->set->translation.locus.nurbs->direction[k];
    double period = d->high - d->low, low, high;
    int count = kink_count(chart->set, k), turns = d->closed ? 1 : 0;
    *ahead = (kink){k, copysign(HUGE_VAL, change), copysign(KINK_OFFSET * period, change), false};
    if (gw_chart_range(chart, k, &low, &high)) {
        ahead->by = change > 0 ? high : low;
        ahead->edge = true;
    }
    for (int turn = -turns; turn <= turns; turn++)
        for (int i = 0; i < count; i++) {
            double by = kink_of(d, i) + turn * period - chart->parameter[k];
            if (change > 0 ? by > 0 && by < ahead->by : by <= 0 && by > ahead->by) {
                ahead->by = by;
                ahead->edge = false;
            }
        }
    return isfinite(ahead->by);
}

/* Finds the first kink or edge that the parameters reach, or end next to, on the way to z. */
static bool meets_kink(const gw_guided *body, const gw_chart *chart, const double *z, kink *first)
{
    const gw_submanifold *set = chart->set;
    double share = HUGE_VAL;
    *first = (kink){0};
    for (int k = 0; k < set->translation.dof && !chart->flat; k++) {
        double change = parameter_stays(body, k) ? 0 : z[set->rotation.dof + k];
        kink ahead;
        if (change == 0 || !kink_ahead(chart, k, change, &ahead) ||
            !(fabs(ahead.by) <= fabs(change) + fabs(ahead.offset)) || !(ahead.by / change < share))
            continue;
        share = ahead.by / change;
        *first = ahead;
    }
    return isfinite(share);
}

/* A time not much beyond the one at which the first kink is reached at these speeds, at most dt:
 * beyond a kink stages use the part's polynomials, which may be singular soon where it is short. */
static double time_to_kink(const gw_guided *body, const gw_chart *chart, const double *z_dot,
                           double dt)
{
    const gw_submanifold *set = chart->set;
    double time = dt;
    for (int k = 0; k < set->translation.dof && !chart->flat; k++) {
        double rate = parameter_stays(body, k) ? 0 : z_dot[set->rotation.dof + k];
        kink ahead;
        if (rate != 0 && kink_ahead(chart, k, rate, &ahead))
            time = fmin(time, fmax(BEYOND_KINK * ahead.by / rate, LEAST_PART * dt));
    }
    return time;
}

/* How far the body is before the kink, less half the offset, after h seconds from z' = from; z,
 * z_dot and the step's result are those then. */
static double change_left(const gw_guided *body, const gw_chart *chart, const gw_forces *forces,
                          double h, const kink *at, const double *from, double *z, double *z_dot,
                          gw_step *step)
{
    int k = body->def.set.rotation.dof + at->k;
    memcpy(z_dot, from, 6 * sizeof *z_dot);
    *step = (gw_step){.finite = true, .margin = 1};
    step->finite = gw_guided_integrate(body, chart, forces, h, z, z_dot, step);
    return copysign(1, at->offset) * (at->by - z[k]) - 0.5 * fabs(at->offset);
}

/* The time, at most dt, at which the kink is reached, to KINK_OFFSET or less before it; sets z and
 * z_dot there, and the result of the step up to it. A body that begins at an edge reaches it again
 * where it has left it meanwhile: zero if it has not. */
static double go_to_kink(const gw_guided *body, const gw_chart *chart, const gw_forces *forces,
                         double dt, const kink *at, double *z, double *z_dot, gw_step *step)
{
    const double near = 0.5 * fabs(at->offset);
    double from[6], low = 0, high = dt, f_low = fabs(at->by) - near;
    double f_high = f_low - fabs(z[body->def.set.rotation.dof + at->k]), h = dt;
    low = f_high > 0 ? dt : 0;
    memcpy(from, z_dot, sizeof from);
    for (int i = 0; i < HALVINGS && at->edge && f_low <= near && low == 0; i++) {
        h *= 0.5;
        double left = change_left(body, chart, forces, h, at, from, z, z_dot, step);
        if (left > near)
            low = h, f_low = left;
        else
            high = h, f_high = left;
    }
    for (int i = 0; i < KINK_STEPS && f_low > near && low < dt; i++) {
        h = low + (high - low) * f_low / (f_low - f_high);
        if (i % 3 == 2 || !(h > low && h < high))
            h = 0.5 * (low + high);
        double left = change_left(body, chart, forces, h, at, from, z, z_dot, step);
        if (left >= 0)
            low = h, f_low = left;
        else
            high = h, f_high = left;
    }
    change_left(body, chart, forces, low, at, from, z, z_dot, step);
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
    if (body->crease >= 0) /* the crease's impulse keeps it there */
        z_dot[body->crease] = 0;
}

/* Integrates for dt, or to the first kink or edge, which is then *at; returns the time used. A body
 * that began at an edge over which it would go at once is held there. */
static double integrate_to_kink(gw_guided *body, gw_chart *chart, const gw_forces *forces,
                                double dt, kink *at, double *z, double *z_dot, gw_step *step)
{
    double begin[6];
    bool meets;
    memcpy(begin, z_dot, sizeof begin);
    dt = time_to_kink(body, chart, z_dot, dt);
    for (;;) {
        *step = (gw_step){.finite = true, .margin = 1};
        step->finite = gw_guided_integrate(body, chart, forces, dt, z, z_dot, step);
        meets = step->finite && meets_kink(body, chart, z, at);
        if (!meets)
            return dt;
        memcpy(z_dot, begin, sizeof begin);
        double took = go_to_kink(body, chart, forces, dt, at, z, z_dot, step);
        if (took > 0 || !at->edge || fabs(at->by) > fabs(at->offset))
            return took;
        int k = body->def.set.rotation.dof + at->k;
        body->held |= 1U << k;
        begin[k] = 0;
        memcpy(z_dot, begin, sizeof begin);
    }
}

/* Moves coordinates that are held at edges by what they lack of these, which is rounding. */
static void put_on_edges(const gw_guided *body, const gw_chart *chart, double *z)
{
    gw_edge_stops stops = gw_guided_edges_at(chart, z);
    for (int i = 0; i < stops.count && body->held != 0; i++)
        if (body->held & 1U << stops.k[i] && stops.k[i] != body->crease)
            z[stops.k[i]] = stops.at[i];
}

double gw_guided_step_to_kink(gw_guided *body, gw_chart *chart, const gw_forces *forces, double dt,
                              double *z, double *z_dot, gw_step *step)
{
    double begin[6];
    kink at = {.edge = false};
    gw_nurbs view;
    gw_step start = {.dissipated = 0};
    if (!chart->flat) {
        view_part(chart, &view);
        chart->shape = &view;
    }
    gw_guided_begin_at_edges(body, chart, forces, z_dot, &start);
    memcpy(begin, z_dot, sizeof begin);
    double took = integrate_to_kink(body, chart, forces, dt, &at, z, z_dot, step);
    bool met = at.offset != 0 && step->finite;
    if (step->finite) {
        double pressed = gw_guided_pressed_until(body, chart, forces, took, begin, z, z_dot, step);
        met = met && pressed == took;
        took = pressed;
    }
    if (step->finite)
        put_on_edges(body, chart, z);
    if (met && at.edge && step->finite) {
        z[body->def.set.rotation.dof + at.k] = at.by;
        gw_guided_stop_at_edges(body, chart, z, z_dot, step);
    } else if (met && step->finite) {
        turn_at_kink(body, chart, &at, z, z_dot);
    }
    body->met_a_kink = met && !at.edge;
    step->dissipated += start.dissipated;
    step->edge = step->edge || start.edge;
    chart->shape = chart->set->translation.locus.nurbs;
    return took;
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
    body->crease = k;
    return k >= 0;
}

/* Steps from kink to kink, until the step's end or until AT_ONCE or KINKS is exceeded. */
static void cross_kinks(gw_guided *body, const gw_forces *forces, gw_delayed_forces *delayed,
                        double dt, gw_step *step)
{
    int at_once = 0, edges = 0;
    for (int i = 0;
         i < KINKS && edges < EDGES && at_once < AT_ONCE && delayed->since < dt && step->finite;) {
        gw_step part = {.finite = true, .margin = 1};
        bool first = delayed->since == 0;
        double took = gw_guided_chart_step(body, forces, dt - delayed->since, &part);
        delayed->since += took;
        i += body->met_a_kink;
        edges += !body->met_a_kink;
        at_once = took >= ONCE * dt ? 0 : body->met_a_kink ? at_once + 1 : at_once;
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
        body->crease = -1;
    }
    if (!step->finite || l.since >= dt)
        return;
    gw_pose pose = gw_guided_pose(body);
    gw_rigid_body r = gw_rigid_body_at(&body->def, &pose);
    step->dissipated += gw_rigid_body_kinetic_energy(body->def.mass.mass, &r, &body->twist);
    gw_guided_store_state(body, dt - l.since, &pose, &(gw_twist){{0, 0, 0}, {0, 0, 0}});
    memset(body->z_dot, 0, sizeof body->z_dot);
}
