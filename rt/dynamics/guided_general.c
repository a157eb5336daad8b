/*
 * The guided body on a set without closed form: acceleration by the rows (framework eq. 8 with
 * A-dot), integrated in six coordinates about the step's start, then pose and twist projected onto
 * the set. Runs on the loop's thread, RT safe.
 *
 * Over a kink of a free-form shape as over a fillet whose radius vanishes: its normals turn from
 * those before to those after, and push nowhere else. With P the projection onto the rows after, in
 * the mass metric, and Q onto the rows of both sides,
 *
 *   v+ = Q v + c (P v - Q v),  c >= 0 so that kinetic energy is what the step's balance asks for
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/dynamics/rigid_body.h"
#include "rt/dynamics/runge_kutta.h"
#include "rt/geometry/nurbs.h"

/* Rows below this fraction of the largest, in the mass metric, count as dependent. */
#define RANK_TOLERANCE 1e-7
#define BENT_RANK      1e-2 /* the same for the rows of both sides, which differ slightly */
#define BALANCE        1e-9 /* of the kinetic energy: a larger error indicates a kink */
#define MOST_TURN      4    /* c: what would turn by more is stopped by the kink, */
#define MOST_BEND      1.5  /* where the curvature jumps scaled instead, as a whole */

/* Spatial inertia about the body's origin, [v; w] order, and `lag` times the damping's matrix
 * (gw_rigid_body_lagging), as the Cholesky factor of the sum. */
static bool factor_spatial(const gw_guided_def *def, const gw_rigid_body *r, double lag,
                           double (*m)[6])
{
    const double mass = def->mass.mass, k = lag * def->damping_linear;
    const double h[3] = {r->held.x, r->held.y, r->held.z}, h2 = gw_norm2(r->held);
    const double of_held[3][3] = {{0, -h[2], h[1]}, {h[2], 0, -h[0]}, {-h[1], h[0], 0}};
    gw_vec3 c = r->com;
    double skew[3][3] = {{0, -c.z, c.y}, {c.z, 0, -c.x}, {-c.y, c.x, 0}};
    double c2 = gw_norm2(c), cc[3] = {c.x, c.y, c.z};
    memset(m, 0, 36 * sizeof m[0][0]);
    for (int i = 0; i < 3; i++) {
        m[i][i] = mass + k;
        for (int j = 0; j < 3; j++) {
            m[3 + i][j] = mass * skew[i][j] + k * of_held[i][j];
            m[3 + i][3 + j] = r->inertia.m[i][j] + mass * ((i == j ? c2 : 0) - cc[i] * cc[j]) +
                              k * ((i == j ? h2 : 0) - h[i] * h[j]);
        }
        m[3 + i][3 + i] += lag * def->damping_angular;
    }
    return gw_cholesky(m, 6);
}

/* x = L^-1 x and x = L^-T x */
static void solve_lower(double (*l)[6], double *x)
{
    for (int i = 0; i < 6; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= l[i][k] * x[k];
        x[i] /= l[i][i];
    }
}

static void solve_lower_transposed(double (*l)[6], double *x)
{
    for (int i = 5; i >= 0; i--) {
        for (int k = i + 1; k < 6; k++)
            x[i] -= l[k][i] * x[k];
        x[i] /= l[i][i];
    }
}

/*
 * Least-norm y with rows . y = rhs: pivoted Gram-Schmidt up to the rank. Rows and right-hand sides
 * are overwritten. Returns the norm of the last of `rank` pivots relative to the largest, which
 * vanishes at a singular point of the set.
 */
static double least_norm(double (*rows)[6], double *rhs, int count, int rank, double tolerance,
                         double *y)
{
    double first = 0, margin = rank > 0 ? 0 : 1;
    memset(y, 0, 6 * sizeof *y);
    for (int done = 0; done < count && done < 6; done++) {
        int pick = done;
        for (int i = done; i < count; i++)
            if (gw_dot6(rows[i], rows[i]) > gw_dot6(rows[pick], rows[pick]))
                pick = i;
        double norm = sqrt(gw_dot6(rows[pick], rows[pick]));
        first = done == 0 ? norm : first;
        if (norm <= tolerance * first || norm == 0)
            break;
        margin = done + 1 == rank ? norm / first : margin;
        double q[6], b = rhs[pick] / norm;
        for (int k = 0; k < 6; k++)
            q[k] = rows[pick][k] / norm;
        memcpy(rows[pick], rows[done], sizeof q);
        rhs[pick] = rhs[done];
        for (int i = done + 1; i < count; i++) {
            double along = gw_dot6(rows[i], q);
            for (int k = 0; k < 6; k++)
                rows[i][k] -= along * q[k];
            rhs[i] -= along * b;
        }
        for (int k = 0; k < 6; k++)
            y[k] += b * q[k];
    }
    return margin;
}

/* The smallest change of x in the mass metric with A x = target: x += M^-1 A^T mu. Returns the
 * rows' distance from dependence, 0 to 1. */
static double satisfy_rows(const gw_guided_def *def, const gw_pose *pose, double (*l)[6],
                           const double *target, double *x)
{
    double a[GW_MAX_ROWS][6], rhs[GW_MAX_ROWS], y[6];
    int count = def->set.row_count;
    gw_rows_jacobian(def->set.rows, count, pose, a);
    for (int i = 0; i < count; i++) {
        if (def->set.rows[i].implied) { /* of no rank on a curve, and at no stage beside it */
            memset(a[i], 0, sizeof a[i]);
            rhs[i] = 0;
            continue;
        }
        rhs[i] = target[i] - gw_dot6(a[i], x);
        solve_lower(l, a[i]);
    }
    double margin = least_norm(a, rhs, count, 6 - def->set.dof, RANK_TOLERANCE, y);
    solve_lower_transposed(l, y);
    for (int k = 0; k < 6; k++)
        x[k] += y[k];
    return margin;
}

/* Acceleration of the origin at this pose and twist, load and constraint wrench; all relative to
 * the base. */
static bool acceleration_at(const gw_guided *body, const gw_pose *pose, const gw_twist *twist,
                            const gw_forces *forces, double t, gw_load *load, double *a,
                            gw_wrench *constraint)
{
    double l[6][6], target[GW_MAX_ROWS];
    const gw_guided_def *def = &body->def;
    gw_rigid_body r = gw_rigid_body_at(def, pose);
    if (!factor_spatial(def, &r, body->lag, l))
        return false;
    *load = gw_guided_load(body, &r, pose, twist, forces, t);
    gw_vec3 none = {0, 0, 0};
    gw_wrench rate = gw_rigid_body_momentum_rate(def->mass.mass, &r, twist->w, none, none);
    gw_vec3 f = gw_sub(load->about_com.f, rate.f);
    gw_vec3 torque = gw_add(gw_sub(load->about_com.t, rate.t), gw_cross(r.com, f));
    memcpy(a, (double[6]){f.x, f.y, f.z, torque.x, torque.y, torque.z}, 6 * sizeof *a);
    gw_cholesky_solve(l, 6, a);
    gw_rows_bias(def->set.rows, def->set.row_count, pose, twist, target);
    for (int i = 0; i < def->set.row_count; i++)
        target[i] = -target[i];
    satisfy_rows(def, pose, l, target, a);
    if (body->lag > 0) {
        gw_wrench more = gw_rigid_body_lagging(def, &r, body->lag, gw_v3(a[0], a[1], a[2]),
                                               gw_v3(a[3], a[4], a[5]));
        load->about_com = (gw_wrench){gw_add(load->about_com.f, more.f), //
                                      gw_add(load->about_com.t, more.t)};
        load->dissipation += gw_rigid_body_dissipates(&r, &more, twist);
    }
    gw_wrench need = gw_rigid_body_momentum_rate(def->mass.mass, &r, twist->w,
                                                 gw_v3(a[0], a[1], a[2]), gw_v3(a[3], a[4], a[5]));
    *constraint = gw_rigid_body_constraint_wrench(&r, &need, &load->about_com);
    return true;
}

/* The twist of the set nearest to `twist` in the mass metric, and the rows' margin there. */
static gw_twist project_twist(const gw_guided *body, const gw_pose *pose, const gw_twist *twist,
                              double *margin)
{
    static const double none[GW_MAX_ROWS] = {0};
    double l[6][6];
    double x[6] = {twist->v.x, twist->v.y, twist->v.z, twist->w.x, twist->w.y, twist->w.z};
    gw_rigid_body r = gw_rigid_body_at(&body->def, pose);
    if (!factor_spatial(&body->def, &r, 0, l))
        return (gw_twist){{0, 0, 0}, {0, 0, 0}};
    *margin = satisfy_rows(&body->def, pose, l, none, x);
    return (gw_twist){{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
}

gw_twist gw_guided_general_project(const gw_guided *body, const gw_twist *twist)
{
    double margin;
    gw_pose pose = gw_guided_pose(body);
    return project_twist(body, &pose, twist, &margin);
}

/* z' of exp(z): w - z x w / 2 + (1/12 + |z|^2/720) z x (z x w), |z| being a step's small angle. */
static gw_vec3 chart_rate(gw_vec3 z, gw_vec3 w)
{
    gw_vec3 across = gw_cross(z, w);
    double c = 1.0 / 12 + gw_norm2(z) / 720;
    return gw_mul_add(gw_mul_add(w, -0.5, across), c, gw_cross(z, across));
}

/* Rates of the six coordinates about the step's start and of the twist, at one stage. */
typedef struct rates {
    gw_twist move, twist;
} rates;

/* sum += s x */
static void twist_add_scaled(gw_twist *sum, double s, const gw_twist *x)
{
    sum->v = gw_mul_add(sum->v, s, x->v);
    sum->w = gw_mul_add(sum->w, s, x->w);
}

/* All stages; afterwards `move` and `twist` are those of the step's end. */
static bool runge_kutta(const gw_guided *body, const gw_pose *start, const gw_forces *forces,
                        double h, gw_twist *move, gw_twist *twist, gw_step *step)
{
    const gw_tableau *rk = &gw_butcher6;
    const gw_twist begin = gw_guided_twist(body);
    rates k[GW_RK_MAX_STAGES];
    for (int i = 0; i <= rk->stages; i++) {
        *move = (gw_twist){{0, 0, 0}, {0, 0, 0}};
        *twist = begin;
        for (int j = 0; j < i; j++) {
            twist_add_scaled(move, h * rk->a[i][j], &k[j].move);
            twist_add_scaled(twist, h * rk->a[i][j], &k[j].twist);
        }
        if (i == rk->stages)
            break;
        gw_pose pose = gw_pose_add(start, move);
        gw_wrench constraint;
        gw_load load;
        double a[6];
        if (!acceleration_at(body, &pose, twist, forces, rk->c[i] * h, &load, a, &constraint))
            return false;
        if (i == 0)
            step->constraint = constraint;
        if (body->base.moves) {
            gw_rigid_body r = gw_rigid_body_at(&body->def, &pose);
            step->base_work +=
                rk->b[i] * h * gw_base_motion_power(&body->base, &r, &pose, &constraint);
        }
        step->work += rk->b[i] * h * load.power;
        step->dissipated += rk->b[i] * h * load.dissipation;
        k[i] = (rates){{twist->v, chart_rate(move->w, twist->w)},
                       {{a[0], a[1], a[2]}, {a[3], a[4], a[5]}}};
    }
    return true;
}

/* ---- kinks ----------------------------------------------------------------------------- */

static bool has_kinks(const gw_submanifold *set)
{
    for (int i = 0; i < set->row_count; i++) {
        const gw_nurbs *shape = set->rows[i].nurbs;
        if (shape && shape->direction[0].kink_count + shape->direction[1].kink_count > 0)
            return true;
    }
    return false;
}

/* True if rows follow the direction of a shape, whose derivative is discontinuous at bends;
 * `bends`: one of these shapes has bends. */
static bool follows_direction(const gw_submanifold *set, bool *bends)
{
    bool follows = *bends = false;
    for (int i = 0; i < set->row_count; i++) {
        const gw_nurbs *shape = set->rows[i].nurbs;
        if (!gw_row_of_direction(set->rows[i].kind))
            continue;
        follows = true;
        *bends = *bends || shape->direction[0].bend_count + shape->direction[1].bend_count > 0;
    }
    return follows;
}

/* Q v: the projection of the twist onto those at `there` that the rows of both poses allow. */
static gw_twist project_onto_both_rows(const gw_guided *body, const gw_pose *here,
                                       const gw_pose *there, const gw_twist *v)
{
    double l[6][6], a[2 * GW_MAX_ROWS][6], rhs[2 * GW_MAX_ROWS], y[6];
    double x[6] = {v->v.x, v->v.y, v->v.z, v->w.x, v->w.y, v->w.z};
    const gw_submanifold *set = &body->def.set;
    gw_rigid_body r = gw_rigid_body_at(&body->def, there);
    if (!factor_spatial(&body->def, &r, 0, l))
        return (gw_twist){{0, 0, 0}, {0, 0, 0}};
    gw_rows_jacobian(set->rows, set->row_count, here, a);
    gw_rows_jacobian(set->rows, set->row_count, there, a + set->row_count);
    for (int i = 0; i < 2 * set->row_count; i++) {
        rhs[i] = -gw_dot6(a[i], x);
        solve_lower(l, a[i]);
    }
    least_norm(a, rhs, 2 * set->row_count, 6, BENT_RANK, y);
    solve_lower_transposed(l, y);
    return (gw_twist){{x[0] + y[0], x[1] + y[1], x[2] + y[2]},
                      {x[3] + y[3], x[4] + y[4], x[5] + y[5]}};
}

/* Relative to the base. */
static double kinetic_at(const gw_guided *body, const gw_pose *x, const gw_twist *v)
{
    gw_rigid_body r = gw_rigid_body_at(&body->def, x);
    return gw_rigid_body_kinetic_energy(body->def.mass.mass, &r, v);
}

static bool all_work_is_known(const gw_guided *body, const gw_forces *forces)
{
    return !body->base.moves && !(forces && forces->contact_wrenches);
}

/* The kinetic energy at the step's end by its energy balance. */
static double due_energy(const gw_guided *body, const gw_pose *start, const gw_pose *next,
                         const gw_step *step)
{
    const gw_twist begin = gw_guided_twist(body);
    gw_step_energies e = gw_guided_energies(body, start, next, &begin, step);
    return e.before + e.work - step->dissipated;
}

/* The twist behind a kink, if the step's energy balance indicates one: `twist` is projected,
 * `free` is the twist before projection. Returns the missing energy (J) if c would exceed `most`,
 * else 0. */
static double turn_at_kink(const gw_guided *body, const gw_pose *start, const gw_pose *next,
                           const gw_twist *free, double most, gw_twist *twist, const gw_step *step)
{
    double due = due_energy(body, start, next, step), now = kinetic_at(body, next, twist);
    if (!(fabs(due - now) > BALANCE * fmax(due, now)))
        return 0;
    double margin;
    gw_twist kept = project_onto_both_rows(body, start, next, free);
    kept = project_twist(body, next, &kept, &margin);
    gw_twist turned = {gw_sub(twist->v, kept.v), gw_sub(twist->w, kept.w)};
    double of_kept = kinetic_at(body, next, &kept), of_turned = kinetic_at(body, next, &turned);
    double of_both = 0.5 * (now - of_kept - of_turned); /* c^2 T + 2 c B + K is due */
    double root = of_both * of_both + of_turned * (due - of_kept);
    double c = (sqrt(fmax(0, root)) - of_both) / of_turned;
    if (!(root >= 0 && c >= 0 && c < most))
        return due - now;
    twist_add_scaled(&kept, c, &turned);
    *twist = kept;
    return 0;
}

/* ---- edges ------------------------------------------------------------------------------
 *
 * Rows of free-form shapes are extrapolated by polynomials past edges. A step that ends there is
 * corrected: the pose is projected onto the rows and the edges passed, the twist onto those that do
 * not lead farther out, both in the mass metric. */

#define MOST_EDGES (2 * GW_MAX_ROWS)
#define PUT_BACK   4     /* steps of Newton's method */
#define AT_EDGE    1e-12 /* of the body's length: distance at which a point is on an edge */

typedef struct edge {
    int row, k;
} edge;

static double past_of(const gw_guided *body, const gw_pose *x, const edge *e, double gradient[6])
{
    double past = -HUGE_VAL;
    gw_row_past_edge(body->def.set.rows, e->row, x, e->k, &past, gradient);
    return past;
}

/* Finds the edges that points of free-form rows are past; returns their number. */
static int edges_past(const gw_guided *body, const gw_pose *x, edge *edges)
{
    const gw_submanifold *set = &body->def.set;
    double gradient[6];
    int count = 0;
    for (int i = 0; i < set->row_count; i++)
        for (int k = 0; k < 2; k++) {
            edges[count] = (edge){i, k};
            count += past_of(body, x, &edges[count], gradient) > AT_EDGE * body->def.length;
        }
    return count;
}

/* The smallest change of x in the mass metric that makes the rows' rates `target`, and those of
 * edges `of_edges`. */
static void satisfy_at_edges(const gw_guided *body, const gw_pose *pose, const double *target,
                             const edge *edges, const double *of_edges, int count, double *x)
{
    const gw_submanifold *set = &body->def.set;
    double a[GW_MAX_ROWS + MOST_EDGES][6], rhs[GW_MAX_ROWS + MOST_EDGES], y[6], l[6][6];
    int rows = set->row_count;
    gw_rigid_body r = gw_rigid_body_at(&body->def, pose);
    if (!factor_spatial(&body->def, &r, 0, l))
        return;
    gw_rows_jacobian(set->rows, rows, pose, a);
    for (int i = 0; i < count; i++)
        past_of(body, pose, &edges[i], a[rows + i]);
    for (int i = 0; i < rows + count; i++) {
        rhs[i] = (i < rows ? target[i] : of_edges[i - rows]) - gw_dot6(a[i], x);
        solve_lower(l, a[i]);
    }
    least_norm(a, rhs, rows + count, 6, RANK_TOLERANCE, y);
    solve_lower_transposed(l, y);
    for (int k = 0; k < 6; k++)
        x[k] += y[k];
}

static void put_back(gw_guided *body, const edge *edges, int count, gw_pose *next)
{
    gw_submanifold *set = &body->def.set;
    for (int n = 0; n < PUT_BACK; n++) {
        double h[GW_MAX_ROWS], of_edges[MOST_EDGES], x[6] = {0}, gradient[6];
        gw_rows_value(set->rows, set->row_count, next, h);
        for (int i = 0; i < set->row_count; i++)
            h[i] = -h[i];
        for (int i = 0; i < count; i++)
            of_edges[i] = -past_of(body, next, &edges[i], gradient);
        satisfy_at_edges(body, next, h, edges, of_edges, count, x);
        gw_twist by = {{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
        *next = gw_pose_add(next, &by);
        gw_rows_follow(set->rows, set->row_count, next);
    }
}

/* Inelastic stop: removes from the twist what leads out over the edges. */
static void stop_outward(const gw_guided *body, const gw_pose *pose, edge *edges, int count,
                         gw_twist *twist)
{
    static const double none[GW_MAX_ROWS + MOST_EDGES] = {0};
    double x[6] = {twist->v.x, twist->v.y, twist->v.z, twist->w.x, twist->w.y, twist->w.z};
    int stopped = 0;
    for (bool more = true; more;) {
        more = false;
        for (int i = stopped; i < count; i++) {
            double gradient[6];
            past_of(body, pose, &edges[i], gradient);
            if (!(gw_dot6(gradient, x) > 0))
                continue;
            edge e = edges[i];
            edges[i] = edges[stopped];
            edges[stopped++] = e;
            more = true;
        }
        if (more)
            satisfy_at_edges(body, pose, none, edges, none, stopped, x);
    }
    *twist = (gw_twist){{x[0], x[1], x[2]}, {x[3], x[4], x[5]}};
}

/* The energy that stops remove counts as dissipated: by the energy balance or, if not all work is
 * known (contacts, moving base), by the kinetic energy that the impulses remove. */
static void count_energy_of_stops(const gw_guided *body, const gw_forces *forces,
                                  const gw_pose *start, const gw_pose *next, const gw_twist *free,
                                  const gw_twist *twist, gw_step *step)
{
    double due = all_work_is_known(body, forces) ? due_energy(body, start, next, step)
                                                 : kinetic_at(body, next, free);
    step->edge = true;
    step->dissipated += due - kinetic_at(body, next, twist);
}

/* Corrects a step that ended past edges. */
static void stop_at_edges(gw_guided *body, const gw_forces *forces, const gw_pose *start,
                          gw_pose *next, gw_twist *twist, gw_step *step)
{
    edge edges[MOST_EDGES + 1];
    int count = edges_past(body, next, edges);
    if (count == 0)
        return;
    double margin;
    put_back(body, edges, count, next);
    gw_twist free = project_twist(body, next, twist, &margin);
    *twist = free;
    stop_outward(body, next, edges, count, twist);
    count_energy_of_stops(body, forces, start, next, &free, twist, step);
}

#define ON_ROWS 1e-9 /* of the body's length: residual of a pose on the set */

/* True if the step's pose is on the rows and its energy is near its balance; stages that reach over
 * a fold give arbitrary results. */
static bool step_converges(const gw_guided *body, const gw_forces *forces, const gw_pose *start,
                           const gw_pose *next, const gw_twist *twist, const gw_step *step)
{
    double h[GW_MAX_ROWS];
    gw_rows_value(body->def.set.rows, body->def.set.row_count, next, h);
    for (int i = 0; i < body->def.set.row_count; i++)
        if (!(fabs(h[i]) <= ON_ROWS * body->def.length))
            return false;
    gw_step_energies e = gw_guided_energies(body, start, next, twist, step);
    return !all_work_is_known(body, forces) || gw_guided_balances(step, &e);
}

/* Near a fold, and over knots and bends, steps are less accurate: the velocity is scaled to close
 * the energy balance, or the missing energy counts as dissipated. */
static void close_energy_balance_near_fold(const gw_guided *body, const gw_pose *start,
                                           const gw_pose *next, gw_twist *twist, gw_step *step)
{
    gw_step_energies e = gw_guided_energies(body, start, next, twist, step);
    double scale = gw_guided_energy_scale(&e, step);
    double left = e.before + e.work - step->dissipated - scale * scale * e.after;
    *twist = (gw_twist){gw_scale(scale, twist->v), gw_scale(scale, twist->w)};
    if (fabs(left) > BALANCE * fmax(e.before, e.after))
        step->dissipated += left;
}

static bool has_offsets(const gw_submanifold *set)
{
    for (int i = 0; i < set->row_count; i++)
        if (set->rows[i].nurbs && set->rows[i].value != 0)
            return true;
    return false;
}

void gw_guided_general_step(gw_guided *body, const gw_forces *forces, double dt, gw_step *step)
{
    assert(body && dt >= 0 && step);
    gw_twist move, twist, free;
    gw_pose start = gw_guided_pose(body);
    gw_submanifold *set = &body->def.set;
    bool smooth = !has_kinks(set), offset = smooth && has_offsets(set);
    if (smooth)
        gw_rows_follow(set->rows, set->row_count, &start);
    step->finite = runge_kutta(body, &start, forces, dt, &move, &twist, step);
    if (!step->finite)
        return;
    gw_pose next = gw_pose_add(&start, &move);
    step->finite = gw_finite_pose(&next) && gw_finite3(twist.v) && gw_finite3(twist.w);
    if (!step->finite)
        return;
    gw_rows_project(set->rows, set->row_count, 6 - set->dof, body->def.length, 4, &next);
    bool unfolded = !smooth || gw_rows_follow_unfolded(set->rows, set->row_count, &start, &next);
    free = twist;
    twist = project_twist(body, &next, &twist, &step->margin);
    if (!unfolded || (offset && !step_converges(body, forces, &start, &next, &twist, step))) {
        gw_rows_follow(set->rows, set->row_count, &start);
        gw_guided_stop_at_fold(body, &start, dt, step);
        return;
    }
    bool bends, follows = follows_direction(set, &bends);
    bool known = smooth && all_work_is_known(body, forces);
    if (bends && known)
        turn_at_kink(body, &start, &next, &free, MOST_BEND, &twist, step);
    if ((offset || follows) && known)
        close_energy_balance_near_fold(body, &start, &next, &twist, step);
    if (smooth)
        stop_at_edges(body, forces, &start, &next, &twist, step);
    else if (!body->base.moves)
        step->dissipated += turn_at_kink(body, &start, &next, &free, MOST_TURN, &twist, step);
    gw_guided_store_state(body, dt, &next, &twist);
}
