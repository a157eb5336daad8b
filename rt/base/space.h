/*
 * Vectors, rotations and poses of three-dimensional space.
 *
 * Right-handed frames, SI units, radians. A quaternion is [w, x, y, z], of unit length where it
 * stands for a rotation. A variable named `world_from_body` maps coordinates in the body's frame
 * to coordinates in the world's. Twists and wrenches are taken at a named point in world axes.
 *
 * Everything here is a pure function of its arguments: any thread, RT safe.
 */
#ifndef GW_BASE_SPACE_H
#define GW_BASE_SPACE_H

#include <math.h>
#include <stdbool.h>

#define GW_PI 3.14159265358979323846

typedef struct gw_vec3 {
    double x, y, z;
} gw_vec3;

typedef struct gw_quat {
    double w, x, y, z;
} gw_quat;

/* Row-major: m[row][column]. */
typedef struct gw_mat3 {
    double m[3][3];
} gw_mat3;

/* p: position of the frame's origin (m); q: orientation (unit quaternion). */
typedef struct gw_pose {
    gw_vec3 p;
    gw_quat q;
} gw_pose;

/* v: velocity of a stated point (m/s); w: angular velocity (rad/s). */
typedef struct gw_twist {
    gw_vec3 v, w;
} gw_twist;

/* f: force (N); t: torque about a stated point (N m). */
typedef struct gw_wrench {
    gw_vec3 f, t;
} gw_wrench;

static inline gw_vec3 gw_v3(double x, double y, double z)
{
    return (gw_vec3){x, y, z};
}

static inline gw_vec3 gw_add(gw_vec3 a, gw_vec3 b)
{
    return (gw_vec3){a.x + b.x, a.y + b.y, a.z + b.z};
}

static inline gw_vec3 gw_sub(gw_vec3 a, gw_vec3 b)
{
    return (gw_vec3){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline gw_vec3 gw_scale(double s, gw_vec3 a)
{
    return (gw_vec3){s * a.x, s * a.y, s * a.z};
}

static inline gw_vec3 gw_neg(gw_vec3 a)
{
    return (gw_vec3){-a.x, -a.y, -a.z};
}

/* a + s b */
static inline gw_vec3 gw_mul_add(gw_vec3 a, double s, gw_vec3 b)
{
    return (gw_vec3){a.x + s * b.x, a.y + s * b.y, a.z + s * b.z};
}

static inline gw_wrench gw_wrench_add(gw_wrench a, gw_wrench b)
{
    return (gw_wrench){gw_add(a.f, b.f), gw_add(a.t, b.t)};
}

static inline gw_wrench gw_wrench_sub(gw_wrench a, gw_wrench b)
{
    return (gw_wrench){gw_sub(a.f, b.f), gw_sub(a.t, b.t)};
}

static inline gw_wrench gw_wrench_scale(double s, gw_wrench a)
{
    return (gw_wrench){gw_scale(s, a.f), gw_scale(s, a.t)};
}

static inline gw_wrench gw_wrench_neg(gw_wrench a)
{
    return (gw_wrench){gw_neg(a.f), gw_neg(a.t)};
}

static inline double gw_dot(gw_vec3 a, gw_vec3 b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline gw_vec3 gw_cross(gw_vec3 a, gw_vec3 b)
{
    return (gw_vec3){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

static inline double gw_norm2(gw_vec3 a)
{
    return gw_dot(a, a);
}

static inline double gw_norm(gw_vec3 a)
{
    return sqrt(gw_dot(a, a));
}

static inline double gw_distance(gw_vec3 a, gw_vec3 b)
{
    return gw_norm(gw_sub(a, b));
}

/* a / |a|; the zero vector stays zero. */
static inline gw_vec3 gw_unit(gw_vec3 a)
{
    double n = gw_norm(a);
    return n > 0 ? gw_scale(1 / n, a) : a;
}

/* The part of `a` normal to the unit vector `n`. */
static inline gw_vec3 gw_reject(gw_vec3 a, gw_vec3 n)
{
    return gw_mul_add(a, -gw_dot(a, n), n);
}

static inline bool gw_finite3(gw_vec3 a)
{
    return isfinite(a.x) && isfinite(a.y) && isfinite(a.z);
}

/* Angle between two unit vectors, 0 .. pi, accurate at both ends. */
static inline double gw_angle_between(gw_vec3 a, gw_vec3 b)
{
    return atan2(gw_norm(gw_cross(a, b)), gw_dot(a, b));
}

/* Any unit vector normal to the unit vector `n`; continuous away from the switch of its axis. */
static inline gw_vec3 gw_any_normal(gw_vec3 n)
{
    double ax = fabs(n.x), ay = fabs(n.y), az = fabs(n.z);
    gw_vec3 least = ax <= ay && ax <= az ? gw_v3(1, 0, 0)
                    : ay <= az           ? gw_v3(0, 1, 0)
                                         : gw_v3(0, 0, 1);
    return gw_unit(gw_reject(least, n));
}

static inline gw_quat gw_quat_identity(void)
{
    return (gw_quat){1, 0, 0, 0};
}

static inline gw_quat gw_quat_mul(gw_quat a, gw_quat b)
{
    return (gw_quat){a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                     a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                     a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                     a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
}

static inline gw_quat gw_quat_conj(gw_quat q)
{
    return (gw_quat){q.w, -q.x, -q.y, -q.z};
}

static inline double gw_quat_dot(gw_quat a, gw_quat b)
{
    return a.w * b.w + a.x * b.x + a.y * b.y + a.z * b.z;
}

static inline gw_quat gw_quat_unit(gw_quat q)
{
    double s = 1 / sqrt(gw_quat_dot(q, q));
    return (gw_quat){s * q.w, s * q.x, s * q.y, s * q.z};
}

/* R(q) a, by a + 2 w (u x a) + 2 u x (u x a) with u the vector part. */
static inline gw_vec3 gw_rotate(gw_quat q, gw_vec3 a)
{
    gw_vec3 u = {q.x, q.y, q.z};
    gw_vec3 t = gw_scale(2, gw_cross(u, a));
    return gw_add(gw_mul_add(a, q.w, t), gw_cross(u, t));
}

/* R(q)^T a */
static inline gw_vec3 gw_unrotate(gw_quat q, gw_vec3 a)
{
    return gw_rotate(gw_quat_conj(q), a);
}

/* Rotation by `angle` (rad) about the unit vector `axis`. */
static inline gw_quat gw_quat_axis(gw_vec3 axis, double angle)
{
    double s = sin(0.5 * angle);
    return (gw_quat){cos(0.5 * angle), s * axis.x, s * axis.y, s * axis.z};
}

static inline gw_mat3 gw_quat_to_mat3(gw_quat q)
{
    double xx = q.x * q.x, yy = q.y * q.y, zz = q.z * q.z;
    double xy = q.x * q.y, xz = q.x * q.z, yz = q.y * q.z;
    double wx = q.w * q.x, wy = q.w * q.y, wz = q.w * q.z;
    return (gw_mat3){{{1 - 2 * (yy + zz), 2 * (xy - wz), 2 * (xz + wy)},
                      {2 * (xy + wz), 1 - 2 * (xx + zz), 2 * (yz - wx)},
                      {2 * (xz - wy), 2 * (yz + wx), 1 - 2 * (xx + yy)}}};
}

/* Rotation vector (axis times angle, rad) to quaternion, and back (angle 0 .. pi). */
gw_quat gw_quat_exp(gw_vec3 rotation);
gw_vec3 gw_quat_log(gw_quat q);

/* The left Jacobian of SO(3), angular velocity of exp(r) by the rate r_dot, and its inverse. */
gw_vec3 gw_so3_left_jacobian(gw_vec3 r, gw_vec3 r_dot);
gw_vec3 gw_so3_left_jacobian_inverse(gw_vec3 r, gw_vec3 spin);

/* The smallest rotation that takes the unit vector `a` to the unit vector `b`; where they are
 * opposite, half a turn about any normal. */
gw_quat gw_quat_between(gw_vec3 a, gw_vec3 b);

/* Unit quaternion of a rotation matrix. */
gw_quat gw_quat_from_mat3(const gw_mat3 *m);

/* Quaternion whose matrix has the columns x, y, z (orthonormal, right-handed). */
gw_quat gw_quat_from_axes(gw_vec3 x, gw_vec3 y, gw_vec3 z);

static inline gw_vec3 gw_mat3_mul(const gw_mat3 *a, gw_vec3 v)
{
    return (gw_vec3){a->m[0][0] * v.x + a->m[0][1] * v.y + a->m[0][2] * v.z,
                     a->m[1][0] * v.x + a->m[1][1] * v.y + a->m[1][2] * v.z,
                     a->m[2][0] * v.x + a->m[2][1] * v.y + a->m[2][2] * v.z};
}

static inline gw_vec3 gw_mat3_tmul(const gw_mat3 *a, gw_vec3 v)
{
    return (gw_vec3){a->m[0][0] * v.x + a->m[1][0] * v.y + a->m[2][0] * v.z,
                     a->m[0][1] * v.x + a->m[1][1] * v.y + a->m[2][1] * v.z,
                     a->m[0][2] * v.x + a->m[1][2] * v.y + a->m[2][2] * v.z};
}

static inline gw_pose gw_pose_identity(void)
{
    return (gw_pose){{0, 0, 0}, {1, 0, 0, 0}};
}

static inline gw_vec3 gw_pose_point(const gw_pose *a, gw_vec3 x)
{
    return gw_add(a->p, gw_rotate(a->q, x));
}

/* a_from_c = a_from_b * b_from_c */
static inline gw_pose gw_pose_mul(const gw_pose *a, const gw_pose *b)
{
    return (gw_pose){gw_pose_point(a, b->p), gw_quat_mul(a->q, b->q)};
}

static inline gw_pose gw_pose_inverse(const gw_pose *a)
{
    gw_quat q = gw_quat_conj(a->q);
    return (gw_pose){gw_neg(gw_rotate(q, a->p)), q};
}

/* Angle of the rotation that takes a to b, 0 .. pi. */
double gw_quat_angle(gw_quat a, gw_quat b);

/* sqrt(|dp|^2 + (length theta)^2), in metres: the distance of poses used everywhere. */
double gw_pose_distance(const gw_pose *a, const gw_pose *b, double length);

/* `pose` moved by the small displacement d (dp, then rotation vector) in world axes:
 * p + d.v, exp(d.w) q. */
gw_pose gw_pose_add(const gw_pose *pose, const gw_twist *displacement);

/* The displacement that gw_pose_add() needs to go from a to b. */
gw_twist gw_pose_sub(const gw_pose *b, const gw_pose *a);

/* The exponential of se(3), the displacement by one second of a constant twist of the world's
 * origin, and its inverse. */
gw_pose gw_screw_exp(const gw_twist *screw);
gw_twist gw_screw_log(const gw_pose *motion);

bool gw_finite_pose(const gw_pose *a);

#endif
