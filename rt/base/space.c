/*
 * Functions of rotations and poses that are too long to inline. Any thread, RT safe.
 */
#include "rt/base/space.h"

#include <assert.h>

/* exp: q = [cos(a/2), sin(a/2)/a r], a = |r|; the quotient by its series near zero. */
gw_quat gw_quat_exp(gw_vec3 r)
{
    double a2 = gw_norm2(r);
    double half_sinc; /* sin(a/2)/a */
    double c;
    if (a2 < 1e-2) { /* a step's angle: the series to the last bit */
        double x2 = 0.25 * a2;
        half_sinc = 0.5 * (1 - x2 / 6 * (1 - x2 / 20 * (1 - x2 / 42 * (1 - x2 / 72))));
        c = 1 - x2 / 2 * (1 - x2 / 12 * (1 - x2 / 30 * (1 - x2 / 56)));
    } else {
        double a = sqrt(a2);
        half_sinc = sin(0.5 * a) / a;
        c = cos(0.5 * a);
    }
    return (gw_quat){c, half_sinc * r.x, half_sinc * r.y, half_sinc * r.z};
}

gw_vec3 gw_quat_log(gw_quat q)
{
    gw_vec3 u = {q.x, q.y, q.z};
    double w = q.w;
    if (w < 0) {
        w = -w;
        u = gw_neg(u);
    }
    double s = gw_norm(u);
    /* angle / sin(angle/2), by its series near zero */
    double k = s < 1e-4 ? 2 + s * s / 3 : 2 * atan2(s, w) / s;
    return gw_scale(k, u);
}

gw_quat gw_quat_between(gw_vec3 a, gw_vec3 b)
{
    double c = gw_dot(a, b);
    if (c > -0.5) {
        gw_vec3 u = gw_cross(a, b);
        return gw_quat_unit((gw_quat){1 + c, u.x, u.y, u.z});
    }
    /* Past 120 degrees 1 + c loses digits: turn a half about a normal first, then the rest. */
    gw_vec3 across = gw_reject(b, a);
    gw_vec3 axis = gw_norm2(across) > 1e-24 ? gw_unit(gw_cross(a, b)) : gw_any_normal(a);
    double angle = atan2(gw_norm(gw_cross(a, b)), c);
    return gw_quat_axis(axis, angle);
}

gw_quat gw_quat_from_mat3(const gw_mat3 *r)
{
    assert(r);
    const double(*m)[3] = r->m;
    double trace = m[0][0] + m[1][1] + m[2][2];
    gw_quat q;
    if (trace > 0) {
        q = (gw_quat){1 + trace, m[2][1] - m[1][2], m[0][2] - m[2][0], m[1][0] - m[0][1]};
    } else if (m[0][0] >= m[1][1] && m[0][0] >= m[2][2]) {
        q = (gw_quat){m[2][1] - m[1][2], 1 + m[0][0] - m[1][1] - m[2][2], m[0][1] + m[1][0],
                      m[0][2] + m[2][0]};
    } else if (m[1][1] >= m[2][2]) {
        q = (gw_quat){m[0][2] - m[2][0], m[0][1] + m[1][0], 1 - m[0][0] + m[1][1] - m[2][2],
                      m[1][2] + m[2][1]};
    } else {
        q = (gw_quat){m[1][0] - m[0][1], m[0][2] + m[2][0], m[1][2] + m[2][1],
                      1 - m[0][0] - m[1][1] + m[2][2]};
    }
    return gw_quat_unit(q);
}

gw_quat gw_quat_from_axes(gw_vec3 x, gw_vec3 y, gw_vec3 z)
{
    gw_mat3 m = {{{x.x, y.x, z.x}, {x.y, y.y, z.y}, {x.z, y.z, z.z}}};
    return gw_quat_from_mat3(&m);
}

double gw_quat_angle(gw_quat a, gw_quat b)
{
    gw_quat d = gw_quat_mul(b, gw_quat_conj(a));
    return 2 * atan2(gw_norm(gw_v3(d.x, d.y, d.z)), fabs(d.w));
}

double gw_pose_distance(const gw_pose *a, const gw_pose *b, double length)
{
    assert(a && b && length >= 0);
    double turn = length * gw_quat_angle(a->q, b->q);
    return sqrt(gw_norm2(gw_sub(a->p, b->p)) + turn * turn);
}

gw_pose gw_pose_add(const gw_pose *pose, const gw_twist *d)
{
    assert(pose && d);
    return (gw_pose){gw_add(pose->p, d->v), gw_quat_unit(gw_quat_mul(gw_quat_exp(d->w), pose->q))};
}

gw_twist gw_pose_sub(const gw_pose *b, const gw_pose *a)
{
    assert(a && b);
    return (gw_twist){gw_sub(b->p, a->p), gw_quat_log(gw_quat_mul(b->q, gw_quat_conj(a->q)))};
}

/* w = r' + b r x r' + c r x (r x r'), b = (1 - cos a)/a^2, c = (a - sin a)/a^3 */
gw_vec3 gw_so3_left_jacobian(gw_vec3 r, gw_vec3 r_dot)
{
    double s = gw_norm2(r), a = sqrt(s);
    double b = s < 1e-6 ? 0.5 - s / 24 : (1 - cos(a)) / s;
    double c = s < 1e-6 ? 1.0 / 6 - s / 120 : (a - sin(a)) / (s * a);
    gw_vec3 across = gw_cross(r, r_dot);
    return gw_mul_add(gw_mul_add(r_dot, b, across), c, gw_cross(r, across));
}

/* Its inverse: r' = w - r x w / 2 + k r x (r x w), k = (1 - a cot(a/2)/2)/a^2 */
gw_vec3 gw_so3_left_jacobian_inverse(gw_vec3 r, gw_vec3 w)
{
    double s = gw_norm2(r), a = sqrt(s);
    double k = s < 1e-4 ? 1.0 / 12 + s / 720 : (1 - 0.5 * a / tan(0.5 * a)) / s;
    gw_vec3 across = gw_cross(r, w);
    return gw_mul_add(gw_mul_add(w, -0.5, across), k, gw_cross(r, across));
}

/* exp of (v, w): the turn exp(w), and (1 + b w x + c w x w x) v, which is spin's formula. */
gw_pose gw_screw_exp(const gw_twist *screw)
{
    return (gw_pose){gw_so3_left_jacobian(screw->w, screw->v), gw_quat_exp(screw->w)};
}

gw_twist gw_screw_log(const gw_pose *motion)
{
    gw_vec3 turn = gw_quat_log(motion->q);
    return (gw_twist){gw_so3_left_jacobian_inverse(turn, motion->p), turn};
}

bool gw_finite_pose(const gw_pose *a)
{
    return gw_finite3(a->p) && isfinite(a->q.w) && isfinite(a->q.x) && isfinite(a->q.y) &&
           isfinite(a->q.z);
}
