/*
 * Newton and Euler for one rigid body, and the small dense algebra that goes with it. RT safe.
 */
#include "rt/model/dynamics.h"

/* R I R^T, the lower triangle mirrored. */
static gw_mat3 turned(const gw_mat3 *r, const gw_mat3 *inertia)
{
    double t[3][3];
    gw_mat3 out;
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            t[i][j] = r->m[i][0] * inertia->m[0][j] + r->m[i][1] * inertia->m[1][j] +
                      r->m[i][2] * inertia->m[2][j];
    for (int i = 0; i < 3; i++)
        for (int j = 0; j <= i; j++)
            out.m[i][j] = out.m[j][i] =
                t[i][0] * r->m[j][0] + t[i][1] * r->m[j][1] + t[i][2] * r->m[j][2];
    return out;
}

gw_rigid gw_rigid_at(const gw_guided_def *def, const gw_pose *world_from_body)
{
    gw_mat3 r = gw_quat_to_mat3(world_from_body->q);
    return (gw_rigid){gw_mat3_mul(&r, def->mass.com), gw_mat3_mul(&r, def->body_from_held.p),
                      gw_quat_mul(world_from_body->q, def->body_from_held.q),
                      turned(&r, &def->mass.inertia)};
}

void gw_rigid_held(const gw_rigid *r, const gw_pose *pose, const gw_twist *twist, gw_pose *held,
                   gw_twist *held_twist)
{
    *held = (gw_pose){gw_add(pose->p, r->held), r->held_q};
    *held_twist = (gw_twist){gw_add(twist->v, gw_cross(twist->w, r->held)), twist->w};
}

gw_load gw_rigid_load(const gw_guided_def *def, const gw_rigid *r, const gw_pose *pose,
                      const gw_twist *twist, const gw_forces *forces, double t)
{
    gw_pose held;
    gw_twist v;
    gw_rigid_held(r, pose, twist, &held, &v);
    gw_wrench a = forces ? forces->at(forces->context, t, &held, &v) : (gw_wrench){0};
    double power = gw_dot(a.f, v.v) + gw_dot(a.t, v.w);
    double dissipation = def->damping_linear * gw_norm2(v.v) + def->damping_angular * gw_norm2(v.w);
    gw_vec3 f = gw_mul_add(a.f, -def->damping_linear, v.v);
    gw_vec3 torque = gw_mul_add(a.t, -def->damping_angular, v.w);
    torque = gw_add(torque, gw_cross(gw_sub(r->held, r->com), f));
    return (gw_load){{gw_mul_add(f, def->mass.mass, def->gravity), torque}, power, dissipation};
}

/* m (a + alpha x c + w x (w x c)) and I alpha + w x I w */
gw_wrench gw_rigid_rate(double mass, const gw_rigid *r, gw_vec3 w, gw_vec3 a, gw_vec3 alpha)
{
    gw_vec3 at_com = gw_add(gw_add(a, gw_cross(alpha, r->com)), gw_cross(w, gw_cross(w, r->com)));
    gw_vec3 spin =
        gw_add(gw_mat3_mul(&r->inertia, alpha), gw_cross(w, gw_mat3_mul(&r->inertia, w)));
    return (gw_wrench){gw_scale(mass, at_com), spin};
}

gw_wrench gw_rigid_constraint(const gw_rigid *r, const gw_wrench *rate, const gw_wrench *load)
{
    gw_vec3 f = gw_sub(rate->f, load->f);
    gw_vec3 t = gw_sub(rate->t, load->t);
    return (gw_wrench){f, gw_add(t, gw_cross(gw_sub(r->com, r->held), f))};
}

double gw_rigid_kinetic(double mass, const gw_rigid *r, const gw_twist *twist)
{
    gw_vec3 v = gw_add(twist->v, gw_cross(twist->w, r->com));
    return 0.5 * (mass * gw_norm2(v) + gw_dot(twist->w, gw_mat3_mul(&r->inertia, twist->w)));
}

bool gw_cholesky(double (*m)[6], int n)
{
    for (int j = 0; j < n; j++) {
        double d = m[j][j];
        for (int k = 0; k < j; k++)
            d -= m[j][k] * m[j][k];
        if (!(d > 0))
            return false;
        m[j][j] = sqrt(d);
        for (int i = j + 1; i < n; i++) {
            double s = m[i][j];
            for (int k = 0; k < j; k++)
                s -= m[i][k] * m[j][k];
            m[i][j] = s / m[j][j];
        }
    }
    return true;
}

void gw_cholesky_solve(double (*l)[6], int n, double *x)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= l[i][k] * x[k];
        x[i] /= l[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            x[i] -= l[k][i] * x[k];
        x[i] /= l[i][i];
    }
}

/* The common small cases by hand: a plane or a circle has two or three freedoms. */
static bool ldl_of_three(double (*m)[6], int n)
{
    double d0 = m[0][0], a = m[1][0], b = m[2][0];
    m[0][0] = 1 / d0;
    if (n == 1)
        return d0 > 0;
    m[1][0] = a * m[0][0];
    double d1 = m[1][1] - a * m[1][0];
    m[1][1] = 1 / d1;
    if (n == 2)
        return d0 > 0 && d1 > 0;
    m[2][0] = b * m[0][0];
    double c = m[2][1] - b * m[1][0];
    m[2][1] = c * m[1][1];
    double d2 = m[2][2] - b * m[2][0] - c * m[2][1];
    m[2][2] = 1 / d2;
    return d0 > 0 && d1 > 0 && d2 > 0;
}

bool gw_ldl(double (*m)[6], int n)
{
    double scaled[6];
    if (n >= 1 && n <= 3)
        return ldl_of_three(m, n);
    for (int i = 0; i < n; i++) {
        double d = m[i][i];
        for (int j = 0; j < i; j++) {
            double s = m[i][j];
            for (int k = 0; k < j; k++)
                s -= scaled[k] * m[j][k];
            scaled[j] = s;
            m[i][j] = s * m[j][j];
            d -= s * m[i][j];
        }
        if (!(d > 0))
            return false;
        m[i][i] = 1 / d;
    }
    return true;
}

static void solve_three(double (*l)[6], int n, double *x)
{
    if (n > 1)
        x[1] -= l[1][0] * x[0];
    if (n > 2) {
        x[2] = (x[2] - l[2][0] * x[0] - l[2][1] * x[1]) * l[2][2];
        x[1] = x[1] * l[1][1] - l[2][1] * x[2];
        x[0] = x[0] * l[0][0] - l[1][0] * x[1] - l[2][0] * x[2];
        return;
    }
    x[0] *= l[0][0];
    if (n > 1) {
        x[1] *= l[1][1];
        x[0] -= l[1][0] * x[1];
    }
}

void gw_ldl_solve(double (*l)[6], int n, double *x)
{
    if (n >= 1 && n <= 3) {
        solve_three(l, n, x);
        return;
    }
    for (int i = 1; i < n; i++)
        for (int k = 0; k < i; k++)
            x[i] -= l[i][k] * x[k];
    for (int i = n - 1; i >= 0; i--) {
        x[i] *= l[i][i];
        for (int k = i + 1; k < n; k++)
            x[i] -= l[k][i] * x[k];
    }
}
