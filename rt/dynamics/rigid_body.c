/*
 * Newton-Euler equations of one rigid body, and Cholesky factors. RT safe.
 */
#include "rt/dynamics/rigid_body.h"

gw_wrench gw_rigid_body_constraint_wrench(const gw_rigid_body *r, const gw_wrench *rate,
                                          const gw_wrench *load)
{
    gw_vec3 f = gw_sub(rate->f, load->f);
    gw_vec3 t = gw_sub(rate->t, load->t);
    return (gw_wrench){f, gw_add(t, gw_cross(gw_sub(r->com, r->held), f))};
}

double gw_rigid_body_kinetic_energy(double mass, const gw_rigid_body *r, const gw_twist *twist)
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

gw_wrench gw_rigid_body_contact_wrench(const gw_rigid_body *r, const gw_pose *pose,
                                       const gw_twist *twist, const gw_forces *forces, double t)
{
    gw_wrench on = {{0, 0, 0}, {0, 0, 0}};
    forces->contact_wrenches(forces->contact_context, t, pose, twist, &on);
    on.t = gw_sub(on.t, gw_cross(r->com, on.f));
    return on;
}
