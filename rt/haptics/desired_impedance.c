/*
 * The desired impedance as a wrench on the model. A tick computes the matrices of eq. 4 at the
 * model's pose (gw_desired_begin), takes the wrench of hand and control (gw_desired_apply), and the
 * stages of the model's step evaluate the wrench (gw_desired_wrench). On the loop's thread, RT
 * safe.
 */
#include "rt/haptics/desired_impedance.h"

#include <assert.h>
#include <float.h>
#include <lapacke.h>
#include <math.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/base/spatial.h"
#include "rt/haptics/desired_basis.h"

#define STIFF                                                                                      \
    0.5 /* h |Lambda_d^-1 b_d| + h sqrt|Lambda_d^-1 k_d|: more is integrated implicitly            \
         */
#define STIFF_INSIDE 0.2  /* D/(M_d + D) of the model's own dampers and springs: the same */
#define ALL_MASS     0.5  /* L/(L + D): the model's own mass shows in full, */
#define NO_MASS      0.2  /* or not at all: another one cannot be felt in its place */
#define JUMP         0.05 /* of the gains in a tick */

/* ---- spring and damper ----------------------------------------------------------------------- */

/* x_h in the axes of the frame at rest: displacement, and rotation vector. */
static void displacement_from_rest(const gw_desired_impedance *d, const gw_pose *pose, double x[6])
{
    gw_vec3 p = gw_unrotate(d->rest.q, gw_sub(pose->p, d->rest.p));
    gw_vec3 r = gw_quat_log(gw_quat_mul(gw_quat_conj(d->rest.q), pose->q));
    memcpy(x, (double[6]){p.x, p.y, p.z, r.x, r.y, r.z}, 6 * sizeof *x);
}

double gw_desired_energy(const gw_desired_impedance *d, const gw_pose *pose)
{
    double x[6], sum = 0;
    if (!d->active)
        return 0;
    displacement_from_rest(d, pose, x);
    for (int i = 0; i < 6; i++)
        sum += 0.5 * d->def.stiffness[i] * x[i] * x[i];
    return sum;
}

/* By Simpson's rule: with the displacement D of the tick the velocity amid it is that of a
 * parabola, 3/2 D/h - (u_0 + u_1)/4. */
double gw_desired_damping_work(const gw_desired_impedance *d, const gw_pose *pose,
                               const gw_twist *twist)
{
    double displacement[6], u[6], sum = 0;
    gw_twist by = gw_pose_sub(pose, &d->pose);
    gw_quat amid = gw_quat_mul(d->pose.q, gw_quat_exp(gw_scale(0.5, gw_unrotate(d->pose.q, by.w))));
    gw_held_in_axes(amid, by.v, by.w, displacement);
    gw_held_in_axes(pose->q, twist->v, twist->w, u);
    for (int i = 0; i < 6; i++) {
        double mid = 1.5 * displacement[i] / d->dt - 0.25 * (d->twist[i] + u[i]);
        sum += d->def.damping[i] * (d->twist[i] * d->twist[i] + 4 * mid * mid + u[i] * u[i]);
    }
    return sum * d->dt / 6;
}

/* -k_d x_h, the gradient of the energy: the torque is -J_l^-1(r) k r in the axes at rest for the
 * rotation vector r, J_l the left Jacobian of SO(3). In world axes. */
static gw_wrench spring_wrench(const gw_desired_impedance *d, const gw_pose *pose)
{
    double x[6];
    const double *k = d->def.stiffness;
    displacement_from_rest(d, pose, x);
    gw_vec3 f = gw_v3(-k[0] * x[0], -k[1] * x[1], -k[2] * x[2]), r = gw_v3(x[3], x[4], x[5]);
    gw_vec3 t = gw_v3(-k[3] * r.x, -k[4] * r.y, -k[5] * r.z);
    /* in the moving axes, for w there: r' = J_r^-1(r) w, J_r^-T = J_l^-1 */
    return (gw_wrench){gw_rotate(d->rest.q, f),
                       gw_rotate(pose->q, gw_so3_left_jacobian_inverse(r, t))};
}

/* -b_d x_h' - k_d x_h */
static gw_wrench spring_and_damper(const gw_desired_impedance *d, const gw_pose *pose,
                                   const gw_twist *twist)
{
    double u[6];
    gw_held_in_axes(pose->q, twist->v, twist->w, u);
    for (int i = 0; i < 6; i++)
        u[i] *= -d->def.damping[i];
    return gw_wrench_add(spring_wrench(d, pose), gw_held_in_world(pose->q, u));
}

/*
 * Stiff springs and dampers, by a linearly implicit step of u = x_h' over h:
 *
 *   u_1 = u_0 + h (Lambda_d^-1 (F - k x_0 - (b + h k) u_1) + a),   B = b + h k
 *
 * with z = B^(1/2) u_1 a positive definite system, (I + h B^(1/2) Lambda_d^-1 B^(1/2)) z = B^(1/2)
 * u_f, u_f the velocity without B. Stable for any stiffness; the rest pose is exact.
 */
static void hold_implicit(gw_desired_impedance *d, const gw_wrench *applied)
{
    double root[6], m[6][6] = {{0}}, f[6], u[6], z[6] = {0};
    gw_wrench spring = spring_wrench(d, &d->pose), sum = gw_wrench_add(*applied, spring);
    gw_held_in_axes(d->pose.q, sum.f, sum.t, f);
    gw_matrix6_apply((const double(*)[6])d->inverse, f, u);
    for (int i = 0; i < 6; i++) {
        root[i] = sqrt(d->def.damping[i] + d->dt * d->def.stiffness[i]);
        u[i] = root[i] * (d->twist[i] + d->dt * (u[i] + d->free[i]));
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++)
            m[i][j] = d->dt * root[i] * d->inverse[i][j] * root[j];
    gw_small_cholesky_solve(6, (const double(*)[6])m, 1, u, z);
    for (int i = 0; i < 6; i++)
        z[i] *= -root[i];
    d->held = gw_wrench_add(spring, gw_held_in_world(d->pose.q, z));
}

/* ---- two hands at one model ------------------------------------------------------------------ */

bool gw_desired_is_stiff_with(const gw_desired_impedance *a, const gw_desired_impedance *b)
{
    bool stiff = (a->active && a->is_held) || (b->active && b->is_held);
    return stiff && !(a->active && a->def.has_mass) && !(b->active && b->def.has_mass);
}

/* The wrench that is known as the tick begins: all but what the implicit step adds. */
static gw_wrench known_wrench(const gw_desired_hold *x)
{
    const gw_desired_impedance *d = x->desired;
    if (!d->active)
        return x->applied;
    gw_twist twist = {gw_rotate(d->pose.q, gw_v3(d->twist[0], d->twist[1], d->twist[2])),
                      gw_rotate(d->pose.q, gw_v3(d->twist[3], d->twist[4], d->twist[5]))};
    gw_wrench own =
        d->is_held ? spring_wrench(d, &d->pose) : spring_and_damper(d, &d->pose, &twist);
    return gw_wrench_add(x->applied, own);
}

/* The velocity u_f of a hand without what the implicit step adds, times B^(1/2), and that root. */
static void velocity_ahead(const gw_desired_hold *x, const gw_wrench *other,
                           const double by_other[6][6], double root[6], double u[6])
{
    const gw_desired_impedance *d = x->desired;
    gw_wrench own = known_wrench(x);
    const double w[6] = {other->f.x, other->f.y, other->f.z, other->t.x, other->t.y, other->t.z};
    double f[6], through[6];
    gw_held_in_axes(d->pose.q, own.f, own.t, f);
    gw_matrix6_apply((const double(*)[6])d->inverse, f, u);
    gw_matrix6_apply(by_other, w, through);
    gw_held_row_in_axes(d->pose.q, through, through);
    for (int i = 0; i < 6; i++) {
        root[i] = sqrt(d->def.damping[i] + d->dt * d->def.stiffness[i]);
        u[i] = root[i] * (d->twist[i] + d->dt * (u[i] + d->free[i] + through[i]));
    }
}

/*
 * hold_implicit() for the velocities of both held frames, u = [u_a; u_b]:
 *
 *   (I + h B^(1/2) N B^(1/2)) z = B^(1/2) u_f,   N = J D^-1 J^T of both Jacobians
 *
 * A spring or damper that takes no account of the other hand's would err by its share of the
 * other's force, and two stiff ones would each stop the body in a step.
 */
void gw_desired_hold_together(const gw_desired_hold *a, const gw_desired_hold *b,
                              const double between[6][6])
{
    const gw_desired_hold *hands[2] = {a, b};
    double root[12], z[12], m[12 * 12], back[6][6], turned[6][6];
    double dt = a->desired->active ? a->desired->dt : b->desired->dt;
    int at[2], n = 0;
    if (!gw_desired_is_stiff_with(a->desired, b->desired))
        return;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            back[i][j] = between[j][i];
    for (int k = 0; k < 2; k++) {
        const gw_desired_impedance *d = hands[k]->desired;
        gw_wrench other = known_wrench(hands[1 - k]);
        at[k] = d->active && d->is_held ? n : -1;
        if (at[k] < 0)
            continue;
        velocity_ahead(hands[k], &other, k == 0 ? between : (const double(*)[6])back, root + n,
                       z + n);
        n += 6;
    }
    memset(m, 0, sizeof m);
    for (int k = 0; k < 2; k++)
        for (int i = 0; i < 6 && at[k] >= 0; i++)
            for (int j = 0; j < 6; j++)
                m[(at[k] + j) * n + at[k] + i] = hands[k]->desired->inverse[i][j];
    if (n == 12) { /* J_b D^-1 J_a^T, in the axes of both frames: the lower triangle */
        for (int i = 0; i < 6; i++)
            gw_held_row_in_axes(a->desired->pose.q, back[i], turned[i]);
        for (int j = 0; j < 6; j++) {
            double column[6];
            for (int i = 0; i < 6; i++)
                column[i] = turned[i][j];
            gw_held_row_in_axes(b->desired->pose.q, column, column);
            for (int i = 0; i < 6; i++)
                m[j * n + 6 + i] = column[i];
        }
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j <= i; j++)
            m[j * n + i] = (i == j) + dt * root[i] * m[j * n + i] * root[j];
    if (LAPACKE_dposv_work(LAPACK_COL_MAJOR, 'L', n, 1, m, n, z, n) != 0)
        return;
    for (int k = 0; k < 2; k++) {
        gw_desired_impedance *d = hands[k]->desired;
        double f[6];
        if (at[k] < 0)
            continue;
        for (int i = 0; i < 6; i++)
            f[i] = -root[at[k] + i] * z[at[k] + i];
        d->held = gw_wrench_add(spring_wrench(d, &d->pose), gw_held_in_world(d->pose.q, f));
    }
}

/* ---- the desired mass ------------------------------------------------------------------------ */

/* V^T m A m V, of an inverse inertia A in the axes of the held frame. */
static void into_basis(const gw_desired_basis *x, const double a[6][6], double out[6][6])
{
    double half[6][6];
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) {
            half[i][k] = 0;
            for (int j = 0; j < 6; j++)
                half[i][k] += x->m[i] * a[i][j] * x->m[j] * x->v[j][k];
        }
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++) {
            out[i][k] = 0;
            for (int j = 0; j < 6; j++)
                out[i][k] += x->v[j][i] * half[j][k];
        }
}

/* V A V^T, rows times `left`, columns times `right`. */
static void out_of_basis(const gw_desired_basis *x, const double a[6][6], const double left[6],
                         const double right[6], double out[6][6])
{
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            double sum = 0;
            for (int k = 0; k < 6; k++)
                for (int l = 0; l < 6; l++)
                    sum += x->v[i][k] * a[k][l] * x->v[j][l];
            out[i][j] = left[i] * sum * right[j];
        }
}

/* A^-1 by Gauss and Jordan with pivots in rows; A is regular. */
static void invert(double a[6][6], double out[6][6])
{
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            out[i][j] = i == j;
    for (int k = 0; k < 6; k++) {
        int best = k;
        for (int i = k + 1; i < 6; i++)
            best = fabs(a[i][k]) > fabs(a[best][k]) ? i : best;
        for (int j = 0; j < 6; j++) {
            double x = a[k][j], y = out[k][j];
            a[k][j] = a[best][j], a[best][j] = x;
            out[k][j] = out[best][j], out[best][j] = y;
        }
        double pivot = 1 / a[k][k];
        for (int j = 0; j < 6; j++)
            a[k][j] *= pivot, out[k][j] *= pivot;
        for (int i = 0; i < 6; i++) {
            double factor = i == k ? 0 : a[i][k];
            for (int j = 0; j < 6 && factor != 0; j++)
                a[i][j] -= factor * a[k][j], out[i][j] -= factor * out[k][j];
        }
    }
}

/*
 * With T = m Lambda^-1 m in the basis, M = S^-1/g there (M_d, bounded) and L = S^-1:
 *
 *   G = (1 + (M - L) T)^-1,   F = m V G V^T m^-1 F_felt + m V G (L - M) V^T m a,
 *   Lambda_d^-1 = m^-1 V T G V^T m^-1
 *
 * accelerates the model, whose own free acceleration is a + c + J-dot v, by
 * Lambda_d^-1 (F_felt + Lambda a) + c + J-dot v: eq. 4 with F_env = Lambda a (eq. 13), as T = S and
 * G = g = 1/S.
 *
 * Where the model's own dampers and springs are stiff for the step, T and a are means over an
 * implicit one: T^-1 = L + D with D = h C + h^2 K as it acts at the held frame, T G = (M + D)^-1.
 * Scaled as it is when the step begins, what they exert would grow from step to step.
 *
 * c is the part that is quadratic in the velocities (Coriolis and centripetal terms). Like J-dot v
 * it is not scaled: only the sum of both is independent of the coordinates. Scaled by g it would do
 * work on the bodies joined to the held one, and a light load would accelerate without bound.
 */
static void impose_mass(gw_desired_impedance *d, const gw_desired_basis *x, const double t[6][6],
                        const double a[6], double lighter[6])
{
    double gain[6][6], from[6][6], tg[6][6], sum[6][6], back[6];
    for (int i = 0; i < 6; i++) {
        back[i] = 1 / x->m[i];
        for (int j = 0; j < 6; j++)
            sum[i][j] = (i == j) + x->change[i] * t[i][j];
    }
    invert(sum, gain);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++) {
            from[i][j] = -gain[i][j] * x->change[j];
            tg[i][j] = 0;
            for (int k = 0; k < 6; k++)
                tg[i][j] += t[i][k] * gain[k][j];
        }
    out_of_basis(x, (const double(*)[6])gain, x->m, back, d->gain);
    out_of_basis(x, (const double(*)[6])from, x->m, x->m, d->by_acceleration);
    gw_matrix6_apply((const double(*)[6])d->by_acceleration, a, d->by_environment);
    for (int j = 0; j < 6; j++)
        for (int i = 0; i < 6 && x->change[j] >= 0; i++)
            from[i][j] = 0;
    out_of_basis(x, (const double(*)[6])from, x->m, x->m, sum);
    gw_matrix6_apply((const double(*)[6])sum, a, lighter);
    out_of_basis(x, (const double(*)[6])t, back, back, sum);
    gw_matrix6_apply((const double(*)[6])sum, d->by_environment, d->free);
    for (int i = 0; i < 6; i++) {
        d->free[i] += a[i];
        for (int j = 0; j < 6; j++)
            sum[i][j] = 0.5 * (tg[i][j] + tg[j][i]);
    }
    out_of_basis(x, (const double(*)[6])sum, back, back, d->inverse);
}

/* The free acceleration is a mean over the step where M_d is lighter than the model. */
static void take_means(const gw_desired_basis *x, const double mean[6], double a[6])
{
    double along[6] = {0};
    for (int k = 0; k < 6; k++)
        for (int i = 0; i < 6 && x->change[k] < 0; i++)
            along[k] += x->v[i][k] * x->m[i] * (mean[i] - a[i]);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++)
            a[i] += x->v[i][k] * along[k] / x->m[i];
}

/* True if dampers and springs of the model's own are stiff for the step, against M_d where it is
 * lighter than the model, else against the model: by the diagonals of 1 - M (M + D)^-1 and 1 - L (L
 * + D)^-1. `t` then has the means over the step where M_d is lighter, as far as the model's mass
 * shows at all beside D. Where M_d is heavier, what they exert is partly taken back, which needs no
 * mean. */
static bool is_stiff_inside(gw_desired_basis *x, double t[6][6])
{
    double sum[6][6], gain[6][6], share = 0, change[6];
    for (int i = 0; i < 6; i++) {
        double mass_shows = x->s[i] > 0 ? t[i][i] / x->s[i] : 1;
        change[i] = x->change[i];
        if (change[i] < 0) {
            change[i] *= fmin(fmax((mass_shows - NO_MASS) / (ALL_MASS - NO_MASS), 0), 1);
            continue;
        }
        share += 1 - mass_shows;
        for (int j = 0; j < 6; j++)
            t[i][j] = t[j][i] = i == j ? x->s[i] : 0;
    }
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            sum[i][j] = (i == j) + x->change[i] * t[i][j];
    invert(sum, gain);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6 && x->change[i] < 0; k++)
            share += (i == k) - t[i][k] * gain[k][i] * (x->change[i] + 1 / x->s[i]);
    if (!(share > STIFF_INSIDE))
        return false;
    memcpy(x->change, change, sizeof change);
    return true;
}

/* True if the gains changed too much in a tick to be extrapolated: near a singular posture. */
static bool has_jumped(const double *gain, const double *before)
{
    double change = 0, size = 0;
    for (int i = 0; i < 36; i++) {
        change += (gain[i] - before[i]) * (gain[i] - before[i]);
        size += before[i] * before[i];
    }
    return change > JUMP * JUMP * size;
}

/*
 * A wrench computed as the step begins acts throughout it, h/2 late: a pendulum felt lighter than
 * it is would swing up by itself. Values amid the step follow from the last ones (Adams and
 * Bashforth),
 *
 *   (23 x - 16 x_1 + 5 x_2) / 12,   (3 x - x_1) / 2
 *
 * the first for gains and what is added to the environment's force where M_d is lighter, the second
 * for what is taken from it where M_d is heavier: each errs by a little damping there.
 */
static void take_amid(gw_desired_impedance *d, const double lighter[6])
{
    double now[GW_DESIRED_KEPT], amid[GW_DESIRED_KEPT];
    memcpy(now, d->gain, sizeof d->gain);
    for (int i = 0; i < 6; i++) {
        now[36 + i] = lighter[i];
        now[42 + i] = d->by_environment[i] - lighter[i];
    }
    if (d->known > 0 && has_jumped(now, d->past[0]))
        d->known = 0;
    for (int i = 0; i < GW_DESIRED_KEPT; i++) {
        double x = now[i], x1 = d->past[0][i], x2 = d->past[1][i];
        amid[i] = d->known > 1 && i < 42 ? (23 * x - 16 * x1 + 5 * x2) / 12
                  : d->known > 0         ? 1.5 * x - 0.5 * x1
                                         : x;
    }
    memcpy(d->gain, amid, sizeof d->gain);
    for (int i = 0; i < 6; i++)
        d->by_environment[i] = amid[36 + i] + amid[42 + i];
    memcpy(d->past[1], d->past[0], sizeof now);
    memcpy(d->past[0], now, sizeof now);
    d->known += d->known < 2;
}

/* ---- a tick ---------------------------------------------------------------------------------- */

static bool is_stated(const gw_desired_def *def)
{
    bool any = def->has_mass;
    for (int i = 0; i < 6; i++)
        any = any || def->damping[i] > 0 || def->stiffness[i] > 0;
    return any;
}

void gw_desired_take(gw_desired_impedance *d, const gw_desired_def *def, const gw_pose *held)
{
    assert(d && def && held);
    bool same = d->active && memcmp(d->def.stiffness, def->stiffness, sizeof def->stiffness) == 0;
    gw_pose rest = same ? d->rest : *held;
    *d = (gw_desired_impedance){.def = *def, .active = is_stated(def), .rest = rest};
}

/* True if spring and damper are too stiff for explicit stages of a step. */
static bool is_stiff(const gw_desired_impedance *d)
{
    double damping = 0, stiffness = 0;
    for (int i = 0; i < 6; i++) {
        damping += d->inverse[i][i] * d->def.damping[i];
        stiffness += d->inverse[i][i] * d->def.stiffness[i];
    }
    return d->dt * (damping + sqrt(stiffness)) > STIFF;
}

/* The model's own free acceleration but for the part that is quadratic in the velocities. */
static void free_in_axes(gw_quat q, const gw_operational_state *state, double a[6])
{
    for (int i = 0; i < 6; i++)
        a[i] = state->free_acceleration[i] - state->inertial[i];
    gw_held_row_in_axes(q, a, a);
}

void gw_desired_begin(gw_desired_impedance *d, gw_operational_state *state, double dt)
{
    const gw_wrench none = {{0, 0, 0}, {0, 0, 0}};
    double own[6][6], t[6][6];
    assert(d->active && dt > 0);
    gw_quat q = state->pose.q;
    d->pose = state->pose;
    d->dt = dt;
    gw_held_in_axes(q, state->twist.v, state->twist.w, d->twist);
    d->energy = gw_desired_energy(d, &state->pose);
    gw_held_matrix_in_axes(q, (const double(*)[6])state->inverse_inertia, own);
    const gw_operational_state *from = state;
    if (d->def.has_mass) {
        gw_desired_basis x;
        gw_desired_basis_of(d, (const double(*)[6])own, &x);
        gw_desired_basis_remember(d, &x);
        if (state->over) {
            gw_held_matrix_in_axes(q, (const double(*)[6])state->over->inverse_inertia, own);
            into_basis(&x, (const double(*)[6])own, t);
            from = is_stiff_inside(&x, t) ? state->over : state;
        }
        if (from == state) {
            memset(t, 0, sizeof t);
            for (int i = 0; i < 6; i++)
                t[i][i] = x.s[i];
        }
        double a[6], mean[6], lighter[6];
        free_in_axes(q, state, a);
        free_in_axes(q, from, mean);
        take_means(&x, mean, a);
        impose_mass(d, &x, (const double(*)[6])t, a, lighter);
        gw_desired_note_hidden(d, &x, state->kinetic);
        if (from == state) {
            double quadratic[6];
            for (int i = 0; i < 6; i++)
                quadratic[i] = state->inertial[i] + state->jdot_v[i];
            gw_held_row_in_axes(q, quadratic, quadratic);
            gw_held_matrix_in_axes(q, (const double(*)[6])state->inverse_inertia, own);
            if (d->shows_all)
                gw_desired_take_out_work(d, &x, (const double(*)[6])own, quadratic);
        }
        gw_held_matrix_in_world(q, (const double(*)[6])d->inverse, state->inverse_inertia);
        d->is_audited = from == state;
        d->shaped = gw_desired_shaped_energy(&x, d->twist);
        if (from == state)
            take_amid(d, lighter);
        else
            d->known = 0;
    } else {
        memcpy(d->inverse, own, sizeof own);
        free_in_axes(q, from, d->free);
    }
    double bias[6];
    for (int i = 0; i < 6; i++)
        bias[i] = state->jdot_v[i] + from->inertial[i];
    gw_held_row_in_axes(q, bias, bias);
    for (int i = 0; i < 6; i++)
        d->free[i] += bias[i];
    d->is_held = is_stiff(d);
    gw_desired_apply(d, &none);
    /* what the control laws see: the motion without hand and control */
    gw_wrench passive = d->is_held ? d->held : spring_and_damper(d, &state->pose, &state->twist);
    double f[6], by[6];
    gw_held_in_axes(q, passive.f, passive.t, f);
    gw_matrix6_apply((const double(*)[6])d->inverse, f, by);
    for (int i = 0; i < 6; i++)
        by[i] += d->free[i];
    gw_wrench felt = gw_held_in_world(q, by);
    const double acceleration[6] = {felt.f.x, felt.f.y, felt.f.z, felt.t.x, felt.t.y, felt.t.z};
    for (int i = 0; i < 6; i++)
        state->free_acceleration[i] = acceleration[i] - state->jdot_v[i];
}

void gw_desired_apply(gw_desired_impedance *d, const gw_wrench *applied)
{
    assert(d && applied);
    if (d->is_held)
        hold_implicit(d, applied);
}

gw_wrench gw_desired_wrench(const gw_desired_impedance *d, const gw_wrench *applied,
                            const gw_pose *pose, const gw_twist *twist)
{
    assert(d && applied && pose && twist);
    gw_wrench felt =
        gw_wrench_add(*applied, d->is_held ? d->held : spring_and_damper(d, pose, twist));
    double f[6], on[6];
    if (!d->def.has_mass)
        return felt;
    gw_held_in_axes(pose->q, felt.f, felt.t, f);
    gw_matrix6_apply((const double(*)[6])d->gain, f, on);
    for (int i = 0; i < 6; i++)
        on[i] += d->by_environment[i];
    return gw_held_in_world(pose->q, on);
}

void gw_desired_feel_other(gw_desired_impedance *d, const gw_desired_hold *other,
                           const double between[6][6])
{
    if (!d->active || !d->def.has_mass)
        return;
    gw_wrench w = known_wrench(other);
    const double f[6] = {w.f.x, w.f.y, w.f.z, w.t.x, w.t.y, w.t.z};
    double a[6], on[6];
    gw_matrix6_apply(between, f, a);
    gw_held_row_in_axes(d->pose.q, a, a);
    gw_matrix6_apply((const double(*)[6])d->by_acceleration, a, on);
    for (int i = 0; i < 6; i++)
        d->by_environment[i] += on[i];
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static double least_of(const gw_desired_def *def, int first)
{
    const double *m = def->mass + first;
    return def->has_mass ? fmin(m[0], fmin(m[1], m[2])) : 0;
}

double gw_desired_least_mass(const gw_desired_def *def)
{
    return least_of(def, 0);
}

double gw_desired_least_inertia(const gw_desired_def *def)
{
    return least_of(def, 3);
}
