/*
 * The guided body in local charts: reduced coordinates z, equation of motion
 *
 *   M_z z'' = J^T (load - M bias - gyroscopic),   M_z = J^T M J
 *
 * (framework eq. 11 in the mass metric, which is where eq. 5 to 13 lead), a Runge-Kutta
 * step over (z, z') with work and dissipation as further states. Runs on the loop's thread, RT
 * safe.
 */
#include "rt/dynamics/guided_stage.h"
#include "rt/dynamics/runge_kutta.h"

#define PIECE_TURN    0.02 /* rad that a tumbling body turns in a piece of a step, */
#define FLOATING_TURN 0.2  /* that what floats does, */
#define PIECE_DECAY   0.25 /* of the motion that damping takes in a piece, */
#define PIECES_MAX    8    /* of at most so many */
#define STRONG        20.0 /* damping (1/s) beyond which the fourth order does not do */

/* lambda: what the momentum's rate needs beyond the load. */
static gw_wrench constraint_of(const gw_guided_def *def, stage *s, const gw_load *load,
                               const double *z_ddot)
{
    gw_twist a = twist_of(s->jacobian, z_ddot, turning(&def->set), def->set.dof);
    gw_wrench rate =
        gw_rigid_body_momentum_rate(def->mass.mass, &s->rigid, s->twist.w,
                                    gw_add(a.v, linear(s->bias)), gw_add(a.w, angular(s->bias)));
    return gw_rigid_body_constraint_wrench(&s->rigid, &rate, &load->about_com);
}

static double ride_power(const gw_guided *body, stage *s, const gw_load *load, const double *z_ddot)
{
    gw_wrench constraint = constraint_of(&body->def, s, load, z_ddot);
    return gw_base_motion_power(&body->ride, &s->rigid, &s->pose, &constraint);
}

/* ---- the step ------------------------------------------------------------------------------- */

static bool finite_state(const gw_pose *pose, const gw_twist *twist)
{
    return gw_finite_pose(pose) && gw_finite3(twist->v) && gw_finite3(twist->w);
}

/* Weightless bodies, hardly damped, that turn about one axis at most, and slide along something
 * that does not turn with them, has no poles and stands, do with the fourth order. */
static const gw_tableau *tableau_for(const gw_guided *body)
{
    const gw_guided_def *def = &body->def;
    const gw_submanifold *set = &def->set;
    bool tumbles = set->rotation.dof > 1 || set->translation.in_mobile ||
                   set->translation.locus.kind == GW_LOCUS_SPHERE;
    bool damped = body->decay[0] + body->decay[1] > STRONG;
    return tumbles || damped || gw_norm2(def->gravity) > 0 || body->ride.moves ? &gw_butcher6
                                                                               : &gw_fehlberg4;
}

/* Where stage i, or the step's end (i = rk->stages), lies: from the accelerations before it. */
GW_STEP_INLINE void stage_state(const gw_tableau *rk, int i, double c, double h, int n,
                                const double *v0, double (*a)[6], double *z, double *z_dot)
{
    double sum[6] = {0}, twice[6] = {0};
    for (int j = 0; j < i; j++) {
        double first = rk->a[i][j], second = rk->aa[i][j];
#pragma GCC unroll 6
        for (int k = 0; k < n; k++) {
            sum[k] += first * a[j][k];
            twice[k] += second * a[j][k];
        }
    }
#pragma GCC unroll 6
    for (int k = 0; k < n; k++) {
        z[k] = h * (c * v0[k] + h * twice[k]);
        z_dot[k] = v0[k] + h * sum[k];
    }
}

/* All stages for n coordinates of which `turns` turn the body. */
GW_STEP_INLINE bool stages(const gw_guided *body, const gw_chart *chart, const gw_forces *forces,
                           double h, int turns, int n, double *z, double *z_dot, gw_step *step)
{
    const gw_guided_def *def = &body->def;
    const gw_tableau *rk = tableau_for(body);
    double v0[6], a[GW_RK_MAX_STAGES][6];
    stage s;
    memcpy(v0, z_dot, sizeof v0);
    for (int i = 0; i < rk->stages; i++) {
        stage_state(rk, i, rk->c[i], h, n, v0, a, z, z_dot);
        if (!stage_at(body, chart, z, z_dot, turns, n, &s))
            return false;
        gw_load load = gw_guided_load(body, &s.rigid, &s.pose, &s.twist, forces, rk->c[i] * h);
        accelerate(def->mass.mass, &s, &load, turns, n, a[i]);
        if (i == 0)
            step->constraint = constraint_of(def, &s, &load, a[0]);
        if (__builtin_expect(body->ride.moves, 0))
            step->ride += rk->b[i] * h * ride_power(body, &s, &load, a[i]);
        step->work += rk->b[i] * h * load.power;
        step->dissipated += rk->b[i] * h * load.dissipation;
    }
    stage_state(rk, rk->stages, 1, h, n, v0, a, z, z_dot);
    return true;
}

/* Runge-Kutta for z'' = f(z, z', t) from z = 0; z_dot: velocity at the start, then at the end. The
 * plane's and the circle's numbers are spelled out so that their loops unroll. */
static bool runge_kutta(const gw_guided *body, const gw_chart *chart, const gw_forces *forces,
                        double h, double *z, double *z_dot, gw_step *step)
{
    int turns = turning(&body->def.set), n = body->def.set.dof;
    if (turns == 1 && n == 3)
        return stages(body, chart, forces, h, 1, 3, z, z_dot, step);
    if (turns == 1 && n == 2)
        return stages(body, chart, forces, h, 1, 2, z, z_dot, step);
    return stages(body, chart, forces, h, turns, n, z, z_dot, step);
}

static void chart_step(gw_guided *body, const gw_forces *forces, double dt, gw_step *step)
{
    gw_chart chart;
    double z[6], z_dot[6], jacobian[6][6], bias[6];
    gw_pose pose = gw_guided_pose(body);
    gw_chart_at(&body->def.set, &pose, &chart);
    velocity_in(&chart, body, z_dot);
    step->finite = runge_kutta(body, &chart, forces, dt, z, z_dot, step);
    if (!step->finite)
        return;
    gw_chart_eval(&chart, z, z_dot, &pose, jacobian, bias);
    gw_twist twist = twist_of(jacobian, z_dot, turning(&body->def.set), body->def.set.dof);
    step->finite = finite_state(&pose, &twist);
    if (!step->finite)
        return;
    pose.q = gw_quat_unit(pose.q);
    gw_guided_store_state(body, dt, &pose, &twist);
    memcpy(body->z_dot, z_dot, sizeof z_dot);
}

/* lambda of the step's start, out of the frame that the set stood in. */
static void turn_wrench(const gw_guided *body, gw_wrench *w, double dt)
{
    gw_quat q = gw_base_motion_frame(&body->ride, -dt).q;
    *w = (gw_wrench){gw_rotate(q, w->f), gw_rotate(q, w->t)};
}

static void one_piece(gw_guided *body, const gw_forces *forces, double dt, gw_step *step)
{
    *step = (gw_step){.finite = true, .margin = 1};
    if (body->def.set.general)
        gw_guided_general_step(body, forces, dt, step);
    else if (floats(&body->def.set))
        gw_floating_step(body, forces, dt, step);
    else
        chart_step(body, forces, dt, step);
    if (body->ride.moves)
        turn_wrench(body, &step->constraint, dt);
    step->finite = step->finite && isfinite(step->work) && isfinite(step->dissipated);
}

/* What acts, in a piece that begins later than the step. */
typedef struct later {
    const gw_forces *forces;
    double since;
} later;

static gw_wrench later_at(const void *context, double t, const gw_pose *held, const gw_twist *twist)
{
    const later *l = context;
    return l->forces->at(l->forces->context, l->since + t, held, twist);
}

static void later_touch(const void *context, double t, const gw_pose *pose, const gw_twist *twist,
                        gw_wrench *on)
{
    const later *l = context;
    l->forces->touch(l->forces->touching, l->since + t, pose, twist, on);
}

static void in_pieces(gw_guided *body, const gw_forces *forces, double dt, int count, gw_step *step)
{
    const gw_guided before = *body;
    later l = {.forces = forces};
    gw_forces of_piece = {forces && forces->at ? later_at : NULL, &l,
                          forces && forces->touch ? later_touch : NULL, &l};
    *step = (gw_step){.finite = true, .margin = 1};
    for (int i = 0; i < count && step->finite; i++) {
        gw_step piece;
        l.since = i * dt / count;
        one_piece(body, &of_piece, dt / count, &piece);
        gw_step_add(step, &piece, i == 0);
    }
    if (!step->finite)
        *body = before;
}

/* A body that tumbles fast, guided above all, takes its step in pieces: the formula's error grows
 * with the seventh power of what it turns in one. */
static int pieces_of(const gw_guided *body, double dt)
{
    const gw_submanifold *set = &body->def.set;
    bool tumbles = set->general || set->rotation.dof > 1;
    double count = (body->decay[0] + body->decay[1]) * dt / PIECE_DECAY;
    if (tumbles || body->ride.moves) {
        double turn = gw_norm(body->twist.w) * dt;
        count = fmax(count, turn / (floats(set) ? FLOATING_TURN : PIECE_TURN));
    }
    return count < PIECES_MAX ? (int)count + 1 : PIECES_MAX;
}

static void take_step(gw_guided *body, const gw_forces *forces, double dt, gw_step *step)
{
    int pieces = pieces_of(body, dt);
    if (pieces == 1)
        one_piece(body, forces, dt, step);
    else
        in_pieces(body, forces, dt, pieces, step);
}

/* Each kind of damping, which takes the motion at a rate, as far as half of what the pieces of a
 * step bear: no formula with so few stages would hold more. */
static double bearable(double damping, double decay, double dt)
{
    const double most = 0.5 * PIECES_MAX * PIECE_DECAY;
    return decay * dt > most ? damping * most / (decay * dt) : damping;
}

static void take_damped_step(gw_guided *body, const gw_forces *forces, double dt, gw_step *step)
{
    double linear = body->def.damping_linear, angular = body->def.damping_angular;
    body->def.damping_linear = bearable(linear, body->decay[0], dt);
    body->def.damping_angular = bearable(angular, body->decay[1], dt);
    take_step(body, forces, dt, step);
    body->def.damping_linear = linear;
    body->def.damping_angular = angular;
}

void gw_guided_step(gw_model *model, const gw_forces *forces, double dt, gw_step *step)
{
    gw_guided *body = (gw_guided *)model;
    if (body->decay[0] + body->decay[1] > 0.5 * PIECES_MAX * PIECE_DECAY / dt)
        take_damped_step(body, forces, dt, step);
    else
        take_step(body, forces, dt, step);
    if (step->finite)
        return;
    *step = (gw_step){.finite = false};
    stop(body);
}
