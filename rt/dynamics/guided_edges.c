/*
 * Edges of a free-form locus of a guided body, folds of its offset, and the energy balance of steps
 * at both. Edges are inelastic stops; at a corner there are two. With w the speeds (or
 * accelerations) of the parameters out over the edges and A their inverse inertia, impulses (or
 * forces) p along them satisfy
 *
 *   p >= 0,   w' = w - A p <= 0,   p . w' = 0
 *
 * which has a unique solution, since A is positive definite. Treating one edge after the other
 * fails where the edges are not orthogonal in the metric of the inertia: each stop drives the body
 * over the other edge.
 *
 * A part of a step ends where an edge is reached (guided_kinks.c). From there the parameters with
 * p > 0 are held, z''_k = 0, until their p becomes zero, where the part ends as well: the motion
 * along an edge has the order of the integrator. On the loop's thread, RT safe.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/base/simd.h"
#include "rt/dynamics/rigid_body.h"
#include "rt/geometry/nurbs_motion.h"

#define AT_EDGE       4e-12 /* of the range: distance at which a parameter is at an edge, */
#define SLOW          1e-10 /* 1/s, 1/s^2: rates of it that are rounding */
#define RELEASE_STEPS 40    /* iterations for the time at which an edge is no longer pressed, */
#define RELEASE_TIME  1e-9  /* to this part of the step */

gw_edge_stops gw_guided_edges_at(const gw_chart *chart, const double *z)
{
    const gw_submanifold *set = chart->set;
    gw_edge_stops stops = {.count = 0};
    double low, high;
    for (int i = 0, k = set->rotation.dof; i < set->translation.dof; i++, k++) {
        if (!gw_chart_range(chart, i, &low, &high))
            break;
        double near = AT_EDGE * (high - low);
        if (!isfinite(near) || (z[k] > low + near && z[k] < high - near))
            continue;
        bool above = z[k] >= high - near;
        stops.k[stops.count] = k;
        stops.at[stops.count] = above ? high : low;
        stops.period[stops.count] = high - low;
        stops.out[stops.count++] = above ? 1 : -1;
    }
    return stops;
}

/* Inelastic stop at edges: impulses p >= 0 remove from the n velocities (or accelerations) v what
 * leads out over the edges. `inertia` is factored by gw_ldl(). */
static void stop_outward(double (*inertia)[6], int n, const gw_edge_stops *stops, double *v,
                         double p[2])
{
    assert(inertia && stops && v && stops->count >= 0 && stops->count <= 2);
    double push[2][6] = {{0}}, a[2][2] = {{0}}, w[2] = {0, 0};
    p[0] = p[1] = 0;
    for (int i = 0; i < stops->count; i++) {
        push[i][stops->k[i]] = stops->out[i];
        gw_ldl_solve(inertia, n, push[i]);
        w[i] = stops->out[i] * v[stops->k[i]];
        for (int j = 0; j <= i; j++)
            a[i][j] = a[j][i] = stops->out[j] * push[i][stops->k[j]];
    }
    bool done = !(fmax(w[0], w[1]) > 0);
    for (int i = 0; i < stops->count && !done; i++) {
        bool alone = stops->count == 1;
        p[0] = p[1] = 0;
        p[i] = w[i] / a[i][i];
        done = w[i] > 0 && (alone || w[1 - i] - a[0][1] * p[i] <= 0);
    }
    if (!done) {
        double det = a[0][0] * a[1][1] - a[0][1] * a[0][1];
        p[0] = fmax(0, (a[1][1] * w[0] - a[0][1] * w[1]) / det);
        p[1] = fmax(0, (a[0][0] * w[1] - a[0][1] * w[0]) / det);
    }
    for (int i = 0; i < stops->count; i++)
        for (int j = 0; j < n; j++)
            v[j] -= p[i] * push[i][j];
}

void gw_guided_hold(double (*inertia)[6], int n, unsigned held, double *v, double p[6])
{
    double column[2][6] = {{0}}, a[2][2], x[2];
    int count = 0, k[2] = {0, 0};
    memset(p, 0, 6 * sizeof *p);
    for (int i = 0; i < n && count < 2; i++) {
        if (!(held & 1U << i))
            continue;
        column[count][i] = 1;
        gw_ldl_solve(inertia, n, column[count]);
        k[count++] = i;
    }
    assert(count > 0);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < count; j++)
            a[i][j] = column[j][k[i]];
    x[0] = v[k[0]] / a[0][0];
    x[1] = 0;
    if (count == 2) {
        double det = a[0][0] * a[1][1] - a[0][1] * a[1][0];
        x[0] = (a[1][1] * v[k[0]] - a[0][1] * v[k[1]]) / det;
        x[1] = (a[0][0] * v[k[1]] - a[1][0] * v[k[0]]) / det;
    }
    for (int i = 0; i < count; i++) {
        p[k[i]] = x[i];
        for (int j = 0; j < n; j++)
            v[j] -= x[i] * column[i][j];
    }
    for (int i = 0; i < count; i++)
        v[k[i]] = 0;
}

void gw_guided_stop_at_edges(const gw_guided *body, const gw_chart *chart, const double *z,
                             double *z_dot, gw_step *step)
{
    gw_edge_stops stops = gw_guided_edges_at(chart, z);
    double inertia[6][6], p[2];
    bool outward = false;
    for (int i = 0; i < stops.count; i++) {
        double *rate = &z_dot[stops.k[i]];
        *rate = fabs(*rate) <= SLOW * stops.period[i] ? 0 : *rate;
        outward = outward || stops.out[i] * *rate > 0;
    }
    if (!outward)
        return;
    double before = gw_guided_inertia_at(body, chart, z, z_dot, inertia);
    stop_outward(inertia, body->def.set.dof, &stops, z_dot, p);
    for (int i = 0; i < stops.count; i++)
        z_dot[stops.k[i]] = p[i] > 0 ? 0 : z_dot[stops.k[i]];
    step->edge = true;
    step->dissipated += before - gw_guided_inertia_at(body, chart, z, z_dot, inertia);
}

void gw_guided_begin_at_edges(gw_guided *body, const gw_chart *chart, const gw_forces *forces,
                              double *z_dot, gw_step *step)
{
    static const double here[6] = {0};
    double inertia[6][6], z_ddot[6], p[2];
    gw_edge_stops stops = gw_guided_edges_at(chart, here), still = {.count = 0};
    body->held = body->crease >= 0 ? 1U << body->crease : 0;
    if (stops.count == 0)
        return;
    gw_guided_stop_at_edges(body, chart, here, z_dot, step);
    for (int i = 0; i < stops.count; i++) {
        if (z_dot[stops.k[i]] != 0)
            continue;
        still.k[still.count] = stops.k[i];
        still.out[still.count++] = stops.out[i];
    }
    gw_guided_acceleration_at(body, chart, forces, 0, here, z_dot, inertia, z_ddot);
    stop_outward(inertia, body->def.set.dof, &still, z_ddot, p);
    for (int i = 0; i < still.count; i++)
        body->held |= p[i] > 0 ? 1U << still.k[i] : 0;
    step->edge = step->edge || p[0] > 0 || p[1] > 0;
}

/* The least of the accelerations towards which edges hold the body (1/s^2 of the range): below zero
 * where one would have to pull. */
static double pressure(const gw_guided *body, const gw_chart *chart, const gw_forces *forces,
                       double t, const double *z, const double *z_dot)
{
    double inertia[6][6], z_ddot[6], p[6], least = HUGE_VAL;
    gw_edge_stops stops = gw_guided_edges_at(chart, z);
    gw_guided_acceleration_at(body, chart, forces, t, z, z_dot, inertia, z_ddot);
    gw_guided_hold(inertia, body->def.set.dof, body->held, z_ddot, p);
    for (int i = 0; i < stops.count; i++) {
        int k = stops.k[i];
        double by_one[6] = {[0] = 0};
        if (!(body->held & 1U << k) || k == body->crease)
            continue;
        by_one[k] = 1;
        gw_ldl_solve(inertia, body->def.set.dof, by_one);
        least = fmin(least, stops.out[i] * p[k] * by_one[k] / stops.period[i]);
    }
    return least;
}

double gw_guided_pressed_until(const gw_guided *body, const gw_chart *chart,
                               const gw_forces *forces, double dt, const double *begin, double *z,
                               double *z_dot, gw_step *step)
{
    unsigned edges = body->crease >= 0 ? body->held & ~(1U << body->crease) : body->held;
    if (edges == 0)
        return dt;
    double f_high = pressure(body, chart, forces, dt, z, z_dot), high = dt, low = 0, f_low;
    static const double here[6] = {0};
    if (!(f_high < -SLOW))
        return dt;
    f_low = fmax(SLOW, pressure(body, chart, forces, 0, here, begin));
    for (int i = 0; i < RELEASE_STEPS && high - low > RELEASE_TIME * dt; i++) {
        double h = low + (high - low) * f_low / (f_low - f_high);
        if (i % 3 == 2 || !(h > low && h < high))
            h = 0.5 * (low + high);
        memcpy(z_dot, begin, 6 * sizeof *z_dot);
        *step = (gw_step){.finite = true, .margin = 1};
        step->finite = gw_guided_integrate(body, chart, forces, h, z, z_dot, step);
        double f = step->finite ? pressure(body, chart, forces, h, z, z_dot) : f_high;
        if (f > 0)
            low = h, f_low = f;
        else
            high = h, f_high = f;
    }
    memcpy(z_dot, begin, 6 * sizeof *z_dot);
    *step = (gw_step){.finite = true, .margin = 1};
    step->finite = gw_guided_integrate(body, chart, forces, high, z, z_dot, step);
    return high;
}

GW_TARGET_CLONES
gw_step_energies gw_guided_energies(const gw_guided *body, const gw_pose *from, const gw_pose *to,
                                    const gw_twist *twist, const gw_step *step)
{
    const gw_guided_def *def = &body->def;
    gw_rigid_body r = gw_rigid_body_at(def, from), s = gw_rigid_body_at(def, to);
    gw_vec3 displacement = gw_sub(gw_add(to->p, s.com), gw_add(from->p, r.com));
    return (gw_step_energies){gw_rigid_body_kinetic_energy(def->mass.mass, &r, &body->twist),
                              gw_rigid_body_kinetic_energy(def->mass.mass, &s, twist),
                              step->work + def->mass.mass * gw_dot(def->gravity, displacement)};
}

/*
 * Free-form shapes may be singular where no chart is regular, at the apex of a cone or at a
 * discontinuous normal: a step over such a point creates energy. A step that creates more than the
 * energy involved is rejected.
 */
bool gw_guided_balances(const gw_step *step, const gw_step_energies *e)
{
    double about = e->before + fabs(e->work) + 1e-9;
    return fabs(e->after - e->before - e->work + step->dissipated) <= about &&
           fabs(step->dissipated) <= 2 * about;
}

bool gw_guided_may_fold(const gw_submanifold *set)
{
    const gw_locus *l = &set->translation.locus;
    return !set->general && l->kind == GW_LOCUS_SURFACE && l->a != 0;
}

#define BALANCE    1e-9 /* of the kinetic energy: a smaller error is rounding */
#define MOST_SCALE 2    /* what is missing beyond counts as dissipated */

double gw_guided_energy_scale(const gw_step_energies *e, gw_step *step)
{
    double there = e->before + e->work - step->dissipated, missing = there - e->after;
    if (!(fabs(missing) > BALANCE * fmax(there, e->after)))
        return 1;
    double scale = there > 0 && e->after > 0 ? sqrt(there / e->after) : 0;
    if (scale < MOST_SCALE && scale > 1.0 / MOST_SCALE)
        return scale;
    step->dissipated += fmax(0, missing);
    return 1;
}

#define FAR_FROM_FOLD 0.5 /* fold margin above which no step leads over a fold */

/* True where the centre of mass moved farther than its energy and the load allow: stages beyond a
 * fold give arbitrary results. */
static bool moved_beyond_energy(const gw_guided *body, const gw_chart *chart, const double *z,
                                const gw_forces *forces, double dt)
{
    static const double still[6] = {0};
    double jacobian[6][6], bias[6], mass = body->def.mass.mass;
    gw_pose from = gw_guided_pose(body), to;
    gw_twist twist = gw_guided_twist(body);
    gw_rigid_body r = gw_rigid_body_at(&body->def, &from);
    gw_load load = gw_guided_load(body, &r, &from, &twist, forces, 0);
    double speed = sqrt(2 * gw_rigid_body_kinetic_energy(mass, &r, &twist) / mass);
    double force = gw_norm(load.about_com.f) + gw_norm(load.about_com.t) / body->def.length;
    gw_chart_eval(chart, z, still, &to, jacobian, bias);
    double displacement = gw_distance(gw_pose_point(&from, body->def.mass.com),
                                      gw_pose_point(&to, body->def.mass.com));
    return !(displacement <= 2 * speed * dt + 4 * force / mass * dt * dt + 1e-9 * body->def.length);
}

bool gw_guided_meets_fold(const gw_guided *body, const gw_chart *chart, const double *z,
                          const gw_forces *forces, double dt)
{
    if (!gw_guided_may_fold(chart->set) || chart->flat)
        return false;
    const gw_locus *l = &chart->set->translation.locus;
    double began = gw_nurbs_fold_margin(l->nurbs, chart->parameter, &chart->at, l->a), at[2];
    gw_nurbs_point there;
    if (began > FAR_FROM_FOLD)
        return false;
    for (int k = 0; k < 2; k++)
        at[k] = chart->parameter[k] + z[chart->set->rotation.dof + k];
    gw_nurbs_evaluate(l->nurbs, at, 2, NULL, &there);
    double ended = gw_nurbs_fold_margin(l->nurbs, at, &there, l->a);
    return (ended < GW_FOLD_MARGIN && ended < began) ||
           moved_beyond_energy(body, chart, z, forces, dt);
}

double gw_guided_stop_at_fold(gw_guided *body, const gw_pose *from, double dt, gw_step *step)
{
    static const gw_twist still = {{0, 0, 0}, {0, 0, 0}};
    gw_twist begin = gw_guided_twist(body);
    gw_rigid_body r = gw_rigid_body_at(&body->def, from);
    step->edge = step->finite = true;
    step->work = step->base_work = 0;
    step->dissipated = gw_rigid_body_kinetic_energy(body->def.mass.mass, &r, &begin);
    gw_guided_store_state(body, dt, from, &still);
    memset(body->z_dot, 0, sizeof body->z_dot);
    return dt;
}
