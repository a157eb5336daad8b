/*
 * Edges of a free-form locus of a guided body, folds of its offset, and the energy balance of steps
 * at both. Edges are inelastic stops; at a corner there are two. With w the speeds of the
 * parameters out over the edges and A their inverse inertia, impulses p along them satisfy
 *
 *   p >= 0,   w' = w - A p <= 0,   p . w' = 0
 *
 * which has a unique solution, since A is positive definite. Treating one edge after the other
 * fails where the edges are not orthogonal in the metric of the inertia: each stop drives the body
 * over the other edge. So the other edge counts as well where the first stop drives the body over
 * it in what is left of the step, by (w' - w) since, with `since` the time from when the first was
 * passed.
 *
 * A step ends past an edge and is taken back along the parameter k that the edge bounds, as is the
 * edge's force. Momenta along the other parameters stay, velocities do not: M changes on the way.
 * On the loop's thread, RT safe.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/base/simd.h"
#include "rt/dynamics/rigid_body.h"
#include "rt/geometry/nurbs_motion.h"

static void add_edge(gw_edge_stops *stops, int k, double at, double out)
{
    stops->k[stops->count] = k;
    stops->at[stops->count] = at;
    stops->out[stops->count++] = out;
}

bool gw_guided_find_edges(const gw_chart *chart, const double *z, const double *z_dot, double dt,
                          gw_edge_stops *stops)
{
    const gw_submanifold *set = chart->set;
    double low, high;
    bool past = false;
    *stops = (gw_edge_stops){.count = 0};
    for (int i = 0, k = set->rotation.dof; i < set->translation.dof; i++, k++) {
        if (!gw_chart_range(chart, i, &low, &high))
            break;
        if (z[k] > low && z[k] < high)
            continue;
        double out = z[k] >= high ? 1 : -1, at = out > 0 ? high : low;
        double by = out * (z[k] - at), speed = out * z_dot[k];
        past = past || by != 0;
        stops->since = fmax(stops->since, by < speed * dt ? by / speed : speed > 0 ? dt : 0);
        add_edge(stops, k, at, out);
    }
    return past;
}

bool gw_guided_is_driven_over_edge(const gw_chart *chart, const double *came, const double *z_dot,
                                   gw_edge_stops *stops, double *z)
{
    const gw_submanifold *set = chart->set;
    double low, high, to[6];
    for (int k = 0; k < set->dof; k++)
        to[k] = z[k] + stops->since * (z_dot[k] - came[k]);
    for (int i = 0; i < stops->count; i++)
        to[stops->k[i]] = stops->at[i];
    int other = 2 * set->rotation.dof + 1 - stops->k[0];
    if (stops->count < set->translation.dof &&
        gw_chart_range(chart, other - set->rotation.dof, &low, &high) &&
        !(to[other] > low && to[other] < high)) {
        bool above = to[other] >= high;
        add_edge(stops, other, above ? high : low, above ? 1 : -1);
        return true;
    }
    memcpy(z, to, (size_t)set->dof * sizeof *z);
    return false;
}

void gw_guided_stop_outward(double (*inertia)[6], int n, const gw_edge_stops *stops, double *z_dot)
{
    assert(inertia && stops && z_dot && stops->count >= 0 && stops->count <= 2);
    double push[2][6] = {{0}}, a[2][2] = {{0}}, w[2] = {0, 0}, p[2] = {0, 0};
    for (int i = 0; i < stops->count; i++) {
        push[i][stops->k[i]] = stops->out[i];
        gw_ldl_solve(inertia, n, push[i]);
        w[i] = stops->out[i] * z_dot[stops->k[i]];
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
            z_dot[j] -= p[i] * push[i][j];
}

void gw_guided_momentum(double (*ldl)[6], int n, const double *z_dot, double *momentum)
{
    double y[6];
    for (int i = 0; i < n; i++) {
        y[i] = z_dot[i];
        for (int k = i + 1; k < n; k++)
            y[i] += ldl[k][i] * z_dot[k];
        y[i] /= ldl[i][i];
        momentum[i] = y[i];
        for (int k = 0; k < i; k++)
            momentum[i] += ldl[i][k] * y[k];
    }
}

void gw_guided_stop_momentum(double (*inertia)[6], int n, const gw_edge_stops *stops,
                             const double *momentum, const double *came, double *z_dot)
{
    double stopped[6], before = 0, after = 0;
    memcpy(z_dot, momentum, (size_t)n * sizeof *z_dot);
    gw_ldl_solve(inertia, n, z_dot);
    gw_guided_stop_outward(inertia, n, stops, z_dot);
    gw_guided_momentum(inertia, n, z_dot, stopped);
    for (int i = 0; i < n; i++) {
        before += momentum[i] * came[i];
        after += stopped[i] * z_dot[i];
    }
    for (int i = 0; i < n && after > before; i++)
        z_dot[i] *= sqrt(fmax(0, before) / after);
}

GW_TARGET_CLONES
gw_step_energies gw_guided_energies(const gw_guided *body, const gw_pose *from, const gw_pose *to,
                                    const gw_twist *twist, const gw_step *step)
{
    const gw_guided_def *def = &body->def;
    gw_rigid_body r = gw_rigid_body_at(def, from), s = gw_rigid_body_at(def, to);
    gw_vec3 way = gw_sub(gw_add(to->p, s.com), gw_add(from->p, r.com));
    return (gw_step_energies){gw_rigid_body_kinetic_energy(def->mass.mass, &r, &body->twist),
                              gw_rigid_body_kinetic_energy(def->mass.mass, &s, twist),
                              step->work + def->mass.mass * gw_dot(def->gravity, way)};
}

/*
 * A stop dissipates the energy that is left over. Beside an apex, where the inertia is nearly
 * discontinuous, this differs from the loss by the impulse; if energy is missing, the velocity is
 * scaled down by the factor returned.
 */
double gw_guided_dissipate_at_edge(double dissipated, gw_step_energies *e, gw_step *step)
{
    double there = e->before + e->work - dissipated, scale = 1;
    if (e->after > there) {
        scale = there > 0 ? sqrt(there / e->after) : 0;
        e->after *= scale * scale;
    }
    step->dissipated = e->before + e->work - e->after;
    return scale;
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
    double way = gw_distance(gw_pose_point(&from, body->def.mass.com),
                             gw_pose_point(&to, body->def.mass.com));
    return !(way <= 2 * speed * dt + 4 * force / mass * dt * dt + 1e-9 * body->def.length);
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
