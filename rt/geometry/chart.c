/*
 * Local charts of a submanifold for integration: coordinates z about a centre, small for a step,
 * recentred every step, so that no chart reaches its edge. Functions of small angles are evaluated
 * by short series, of others by the trigonometric functions.
 *
 * Coordinates are ordered rotation first. Pure functions: any thread, RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/base/simd.h"
#include "rt/geometry/along_normal.h"
#include "rt/geometry/locus.h"
#include "rt/geometry/nurbs_motion.h"
#include "rt/geometry/two_angles.h"

/* For functions that every stage of a step calls. */
#define STEP_INLINE static inline __attribute__((always_inline))

/* sin x and cos x; the series is exact to rounding below 1/16. */
STEP_INLINE void sine_cosine(double x, double *s, double *c)
{
    if (fabs(x) > 0.0625) {
        *s = sin(x);
        *c = cos(x);
        return;
    }
    double y = x * x;
    *s = x - x * y * (1. / 6 - y * (1. / 120 - y * (1. / 5040 - y * (1. / 362880))));
    *c = 1 - y * (0.5 - y * (1. / 24 - y * (1. / 720 - y * (1. / 40320 - y * (1. / 3628800)))));
}

/* exp(angle axis), axis of unit length. */
static gw_quat turn_about(gw_vec3 axis, double angle)
{
    double s, c;
    sine_cosine(0.5 * angle, &s, &c);
    return (gw_quat){c, s * axis.x, s * axis.y, s * axis.z};
}

/* ---- recentring: the exact point of the set at a pose that is on it but for rounding -------- */

/* The rotation next to q that obeys the rotational factor. */
static gw_quat rotation_on_set(const gw_rotation_set *set, gw_quat q)
{
    gw_vec3 b, n;
    double c, s;
    switch (set->kind) {
    case GW_ROTATION_FIXED:
        return set->zero;
    case GW_ROTATION_AXIS:
        b = gw_rotate(q, set->axis_body);
        return gw_quat_unit(gw_quat_mul(gw_quat_between(b, set->axis), q));
    case GW_ROTATION_ANGLE:
        /* rotate R b about axis x R b by the error of its angle to the axis */
        b = gw_rotate(q, set->axis_body);
        n = gw_cross(set->axis, b);
        s = gw_norm(n);
        c = gw_dot(set->axis, b);
        if (s < 1e-12)
            return gw_quat_unit(q);
        double lack = atan2(sin(set->angle) * c - cos(set->angle) * s,
                            cos(set->angle) * c + sin(set->angle) * s);
        return gw_quat_unit(gw_quat_mul(turn_about(gw_scale(1 / s, n), lack), q));
    case GW_ROTATION_TWO_ANGLES:
        return gw_two_angles_project(set, q);
    case GW_ROTATION_FREE:
    case GW_ROTATION_NORMAL:
    case GW_ROTATION_TANGENT:
    case GW_ROTATION_GENERAL:
        break;
    }
    return gw_quat_unit(q);
}

/* Cosine and sine of the angle of (x, y); angle 0 if both are zero. */
static void direction_of(double x, double y, gw_chart *chart)
{
    double r = sqrt(x * x + y * y);
    chart->cosine = r > 0 ? x / r : 1;
    chart->sine = r > 0 ? y / r : 0;
}

#define BESIDE_CORNER 1e-4 /* of the domain: inset from an edge that is one point, not a pole */

void gw_chart_bounds(const gw_nurbs *s, int k, double *low, double *high)
{
    assert(s && k >= 0 && k < s->dimension);
    const gw_nurbs_direction *d = &s->direction[k];
    double inset = s->dimension == 2 ? BESIDE_CORNER * (d->high - d->low) : 0;
    *low = d->low + (s->edge[2 * k] || s->pole[2 * k] ? 0 : inset);
    *high = d->high - (s->edge[2 * k + 1] || s->pole[2 * k + 1] ? 0 : inset);
}

void gw_chart_centre_at(gw_chart *chart, const double parameter[2])
{
    const gw_nurbs *s = chart->set->translation.locus.nurbs;
    double x[2] = {parameter[0], parameter[1]}, low, high;
    for (int k = 0; k < s->dimension; k++) {
        gw_chart_bounds(s, k, &low, &high);
        x[k] = s->direction[k].closed ? x[k] : fmin(fmax(x[k], low), high);
    }
    const gw_tangent_plane *pole = gw_nurbs_coordinates(s, x, chart->parameter);
    chart->flat = pole != NULL;
    if (pole)
        chart->plane = *pole;
}

/* Stores the shape's derivatives at the centre: `at`, which is of second order at `parameter`, if
 * that is the centre and the order suffices. */
static void keep_centre(const gw_locus *l, const double parameter[2], const gw_nurbs_point *at,
                        gw_chart *chart)
{
    int order = gw_nurbs_motion_order(l->nurbs, l->a);
    const double *p = chart->parameter;
    if (chart->flat)
        return;
    if (order == 2 && p[0] == parameter[0] && (l->nurbs->dimension == 1 || p[1] == parameter[1]))
        chart->at = *at;
    else
        gw_nurbs_evaluate(l->nurbs, p, order, NULL, &chart->at);
}

/* The point of the locus nearest to x, and the chart's data there. */
static void locus_centre(const gw_locus *l, gw_vec3 x, gw_chart *chart)
{
    gw_vec3 d = gw_sub(x, l->origin);
    double s = gw_dot(d, l->e1), t = gw_dot(d, l->e2);
    switch (l->kind) {
    case GW_LOCUS_FREE:
    case GW_LOCUS_GENERAL:
        chart->point = x;
        return;
    case GW_LOCUS_PLANE:
        chart->point = gw_mul_add(gw_mul_add(l->origin, s, l->e1), t, l->e2);
        return;
    case GW_LOCUS_SPHERE:
        chart->e3 = gw_norm2(d) > 0 ? gw_unit(d) : l->e3;
        chart->e1 = gw_any_normal(chart->e3);
        chart->e2 = gw_cross(chart->e3, chart->e1);
        chart->point = gw_mul_add(l->origin, l->a, chart->e3);
        return;
    case GW_LOCUS_CYLINDER:
        direction_of(s, t, chart); /* fall through */
    case GW_LOCUS_LINE:
        chart->point = gw_mul_add(l->origin, gw_dot(d, l->e3), l->e3);
        return;
    case GW_LOCUS_CIRCLE:
        direction_of(s, t, chart);
        chart->point = l->origin;
        return;
    case GW_LOCUS_ELLIPSE:
        direction_of(s / l->a, t / l->b, chart); /* fall through */
    case GW_LOCUS_POINT:
        chart->point = l->origin;
        return;
    case GW_LOCUS_CURVE:
    case GW_LOCUS_SURFACE: {
        gw_nurbs_point at;
        chart->point = l->origin;
        double parameter[2] = {l->start[0], l->start[1]};
        gw_nurbs_closest(l->nurbs, gw_v3(s, t, gw_dot(d, l->e3)), l->a, parameter, &at);
        gw_chart_centre_at(chart, parameter);
        keep_centre(l, parameter, &at, chart);
        return;
    }
    }
}

/* ---- the locus about its centre ------------------------------------------------------------- */

/* Point, derivatives by z and acceleration at z_ddot = 0, in the locus's own frame. */
typedef struct locus_motion {
    gw_vec3 p;
    gw_vec3 d[3];
    gw_vec3 velocity, bias;
} locus_motion;

/* origin + a cos e1 + b sin e2, the angle z past the centre's. */
STEP_INLINE void arc_motion(const gw_chart *chart, double a, double b, double z, double z_dot,
                            int k, locus_motion *m)
{
    const gw_locus *l = &chart->set->translation.locus;
    double sz, cz;
    sine_cosine(z, &sz, &cz);
    double c = chart->cosine * cz - chart->sine * sz;
    double s = chart->sine * cz + chart->cosine * sz;
    gw_vec3 out = gw_mul_add(gw_scale(a * c, l->e1), b * s, l->e2);
    m->p = gw_add(m->p, out);
    m->d[k] = gw_mul_add(gw_scale(-a * s, l->e1), b * c, l->e2);
    m->bias = gw_scale(-z_dot * z_dot, out);
}

/* u = d/|d| with d = e3 + z1 e1 + z2 e2;  u'' = -2 (u . d')/|d| u' - |u'|^2 u  for d'' = 0. */
static void sphere_motion(const gw_chart *chart, const double *z, const double *z_dot,
                          locus_motion *m)
{
    const gw_locus *l = &chart->set->translation.locus;
    gw_vec3 d = gw_mul_add(gw_mul_add(chart->e3, z[0], chart->e1), z[1], chart->e2);
    gw_vec3 d_dot = gw_mul_add(gw_scale(z_dot[0], chart->e1), z_dot[1], chart->e2);
    double over = 1 / gw_norm(d);
    gw_vec3 u = gw_scale(over, d);
    double along = gw_dot(u, d_dot);
    gw_vec3 u_dot = gw_scale(over, gw_mul_add(d_dot, -along, u));
    m->p = gw_mul_add(l->origin, l->a, u);
    m->d[0] = gw_scale(l->a * over, gw_mul_add(chart->e1, -gw_dot(u, chart->e1), u));
    m->d[1] = gw_scale(l->a * over, gw_mul_add(chart->e2, -gw_dot(u, chart->e2), u));
    m->bias = gw_scale(-l->a, gw_mul_add(gw_scale(2 * along * over, u_dot), gw_norm2(u_dot), u));
}

/* A free-form locus, from its frame's axes to those of its owner. */
static void free_form_motion(const gw_chart *chart, const double *z, const double *z_dot, int dof,
                             locus_motion *m)
{
    const gw_locus *l = &chart->set->translation.locus;
    double at[2] = {chart->parameter[0] + z[0], chart->parameter[1] + (dof == 2 ? z[1] : 0)};
    double rate[2] = {z_dot[0], dof == 2 ? z_dot[1] : 0};
    gw_nurbs_motion own;
    if (!chart->flat && z[0] == 0 && (dof == 1 || z[1] == 0))
        gw_nurbs_motion_at(chart->shape, &chart->at, rate, l->a, &own);
    else
        gw_nurbs_motion_of(chart->shape, chart->flat ? &chart->plane : NULL, at, rate, l->a, &own);
    gw_vec3 from[4] = {own.p, own.d[0], own.d[1], own.bias};
    gw_vec3 *to[4] = {&m->p, &m->d[0], &m->d[1], &m->bias};
    for (int i = 0; i < 4; i++) {
        gw_vec3 v =
            gw_mul_add(gw_mul_add(gw_scale(from[i].x, l->e1), from[i].y, l->e2), from[i].z, l->e3);
        *to[i] = i == 0 ? gw_add(l->origin, v) : v;
    }
}

STEP_INLINE void locus_at(const gw_chart *chart, const double *z, const double *z_dot,
                          locus_motion *m)
{
    const gw_locus *l = &chart->set->translation.locus;
    int dof = chart->set->translation.dof;
    m->p = chart->point;
    m->bias = m->velocity = gw_v3(0, 0, 0);
    switch (l->kind) {
    case GW_LOCUS_FREE:
    case GW_LOCUS_PLANE:
        m->d[0] = l->e1;
        m->d[1] = l->e2;
        m->d[2] = l->e3;
        for (int k = 0; k < dof; k++)
            m->p = gw_mul_add(m->p, z[k], m->d[k]);
        break;
    case GW_LOCUS_SPHERE:
        sphere_motion(chart, z, z_dot, m);
        break;
    case GW_LOCUS_CYLINDER:
        arc_motion(chart, l->a, l->a, z[1], z_dot[1], 1, m);
        m->d[0] = l->e3;
        m->p = gw_mul_add(m->p, z[0], l->e3);
        break;
    case GW_LOCUS_LINE:
        m->d[0] = l->e3;
        m->p = gw_mul_add(m->p, z[0], l->e3);
        break;
    case GW_LOCUS_CIRCLE:
        arc_motion(chart, l->a, l->a, z[0], z_dot[0], 0, m);
        break;
    case GW_LOCUS_ELLIPSE:
        arc_motion(chart, l->a, l->b, z[0], z_dot[0], 0, m);
        break;
    case GW_LOCUS_CURVE:
    case GW_LOCUS_SURFACE:
        free_form_motion(chart, z, z_dot, dof, m);
        break;
    case GW_LOCUS_POINT:
    case GW_LOCUS_GENERAL:
        break;
    }
    for (int k = 0; k < dof; k++)
        m->velocity = gw_mul_add(m->velocity, z_dot[k], m->d[k]);
}

/* ---- the rotation about its centre ---------------------------------------------------------- */

/* Rotation, columns of the angular velocity, and its rate at z_ddot = 0. */
typedef struct rotation_motion {
    gw_quat q;
    gw_vec3 w[3];
    gw_vec3 velocity, bias;
} rotation_motion;

/* The functions of s = |z|^2 in the exponential map's derivative: b = (1 - cos)/s,
 * c = (angle - sin)/(s angle), and their derivatives by s. */
typedef struct exp_terms {
    double b, c, b_s, c_s;
} exp_terms;

static exp_terms exp_terms_at(double s)
{
    if (s < 0.01) {
        return (exp_terms){
            1. / 2 - s * (1. / 24 - s * (1. / 720 - s * (1. / 40320 - s * (1. / 3628800)))),
            1. / 6 - s * (1. / 120 - s * (1. / 5040 - s * (1. / 362880 - s * (1. / 39916800)))),
            -1. / 24 + s * (1. / 360 - s * (1. / 13440 - s * (1. / 907200))),
            -1. / 120 + s * (1. / 2520 - s * (1. / 120960 - s * (1. / 9979200)))};
    }
    double angle = sqrt(s);
    double a = sin(angle) / angle;
    double half = sin(0.5 * angle);
    double b = 2 * half * half / s;
    double c = (1 - a) / s;
    return (exp_terms){b, c, (a - 2 * b) / (2 * s), (b - 3 * c) / (2 * s)};
}

/*
 * R = exp(z) R_centre:
 *   w  = z' + b z x z' + c z x (z x z')
 *   w' = b' z x z' + c' z x (z x z') + c z' x (z x z')   at z'' = 0, with b' = 2 z.z' db/ds
 */
static void free_motion(const gw_chart *chart, const double *z, const double *z_dot,
                        rotation_motion *m)
{
    gw_vec3 r = {z[0], z[1], z[2]}, r_dot = {z_dot[0], z_dot[1], z_dot[2]};
    double s = gw_norm2(r);
    exp_terms e = exp_terms_at(s);
    double half_s, half_c;
    double angle = sqrt(s);
    sine_cosine(0.5 * angle, &half_s, &half_c);
    double k = angle > 1e-8 ? half_s / angle : 0.5;
    m->q = gw_quat_mul((gw_quat){half_c, k * r.x, k * r.y, k * r.z}, chart->centre.q);
    double i = 1 - e.c * s;
    m->w[0] = gw_v3(i + e.c * r.x * r.x, e.c * r.x * r.y + e.b * r.z, e.c * r.x * r.z - e.b * r.y);
    m->w[1] = gw_v3(e.c * r.x * r.y - e.b * r.z, i + e.c * r.y * r.y, e.c * r.y * r.z + e.b * r.x);
    m->w[2] = gw_v3(e.c * r.x * r.z + e.b * r.y, e.c * r.y * r.z - e.b * r.x, i + e.c * r.z * r.z);
    gw_vec3 across = gw_cross(r, r_dot);
    gw_vec3 twice = gw_cross(r, across);
    double s_dot = 2 * gw_dot(r, r_dot);
    m->velocity = gw_mul_add(gw_mul_add(r_dot, e.b, across), e.c, twice);
    m->bias = gw_mul_add(gw_scale(e.b_s * s_dot, across), e.c_s * s_dot, twice);
    m->bias = gw_mul_add(m->bias, e.c, gw_cross(r_dot, across));
}

/*
 * Two angles, R = exp(p1 f1) R_centre exp(p2 u1): the first angle is constant for any p, the second
 * is g(p) = f2 . R u2 = cos beta. Its derivatives, with x = R u1 and y = R u2:
 *   g1 = f2 . f1 x y,  g2 = f2 . x x y,  g11 = f2 . f1 x (f1 x y),  g12 = f2 . f1 x (x x y), ...
 */
typedef struct second_angle_motion {
    gw_quat q;
    gw_vec3 x;
    double g, g1, g2, g11, g12, g22;
} second_angle_motion;

static second_angle_motion second_angle_at(const gw_chart *chart, const double p[2])
{
    const gw_rotation_set *set = &chart->set->rotation;
    second_angle_motion m;
    m.q = gw_quat_mul(gw_quat_mul(turn_about(set->axis, p[0]), chart->centre.q),
                      turn_about(set->axis_body, p[1]));
    m.x = gw_rotate(m.q, set->axis_body);
    gw_vec3 y = gw_rotate(m.q, set->second.axis_body), f = set->second.axis;
    gw_vec3 by1 = gw_cross(set->axis, y), by2 = gw_cross(m.x, y);
    m.g = gw_dot(f, y) - set->second.cosine_2;
    m.g1 = gw_dot(f, by1);
    m.g2 = gw_dot(f, by2);
    m.g11 = gw_dot(f, gw_cross(set->axis, by1));
    m.g12 = gw_dot(f, gw_cross(set->axis, by2));
    m.g22 = gw_dot(f, gw_cross(m.x, by2));
    return m;
}

/* p with turn . p = along and g1 p1 + g2 p2 = across; along `turn` if the two equations are
 * dependent. */
static void solve_turns(const gw_chart *chart, const second_angle_motion *m, double along,
                        double across, double p[2])
{
    double det = chart->turn[0] * m->g2 - chart->turn[1] * m->g1;
    bool regular = fabs(det) > 1e-12;
    p[0] = regular ? (along * m->g2 - across * chart->turn[1]) / det : along * chart->turn[0];
    p[1] = regular ? (across * chart->turn[0] - along * m->g1) / det : along * chart->turn[1];
}

/* z is the part of p along the tangent at the centre; g(p) = 0 by Newton's method. Then
 * w = p1' f1 + p2' x,  w' = p1'' f1 + p2'' x + p1' p2' f1 x x. */
static void two_angles_motion(const gw_chart *chart, double z, double z_dot, rotation_motion *m)
{
    const gw_rotation_set *set = &chart->set->rotation;
    double p[2] = {z * chart->turn[0], z * chart->turn[1]}, step[2], rate[2], unit[2], second[2];
    second_angle_motion at = second_angle_at(chart, p);
    for (int i = 0; i < 8 && fabs(at.g) > 2e-16; i++) {
        solve_turns(chart, &at, 0, -at.g, step);
        p[0] += step[0];
        p[1] += step[1];
        at = second_angle_at(chart, p);
    }
    solve_turns(chart, &at, 1, 0, unit);
    rate[0] = z_dot * unit[0], rate[1] = z_dot * unit[1];
    double curvature =
        at.g11 * rate[0] * rate[0] + 2 * at.g12 * rate[0] * rate[1] + at.g22 * rate[1] * rate[1];
    solve_turns(chart, &at, 0, -curvature, second);
    m->q = at.q;
    m->w[0] = gw_add(gw_scale(unit[0], set->axis), gw_scale(unit[1], at.x));
    m->velocity = gw_scale(z_dot, m->w[0]);
    m->bias = gw_add(gw_scale(second[0], set->axis), gw_scale(second[1], at.x));
    m->bias = gw_mul_add(m->bias, rate[0] * rate[1], gw_cross(set->axis, at.x));
}

STEP_INLINE void rotation_at(const gw_chart *chart, const double *z, const double *z_dot,
                             rotation_motion *m)
{
    const gw_rotation_set *set = &chart->set->rotation;
    m->velocity = m->bias = gw_v3(0, 0, 0);
    switch (set->kind) {
    case GW_ROTATION_FREE:
        free_motion(chart, z, z_dot, m);
        return;
    case GW_ROTATION_ANGLE:
        /* exp(z1 axis) R_centre exp(z2 b): the second axis turns with the first angle */
        m->q = gw_quat_mul(gw_quat_mul(turn_about(set->axis, z[0]), chart->centre.q),
                           turn_about(set->axis_body, z[1]));
        m->w[0] = set->axis;
        m->w[1] = gw_rotate(m->q, set->axis_body);
        m->velocity = gw_mul_add(gw_scale(z_dot[0], m->w[0]), z_dot[1], m->w[1]);
        m->bias = gw_scale(z_dot[0] * z_dot[1], gw_cross(set->axis, m->w[1]));
        return;
    case GW_ROTATION_AXIS:
        m->q = gw_quat_mul(turn_about(set->axis, z[0]), chart->centre.q);
        m->w[0] = set->axis;
        m->velocity = gw_scale(z_dot[0], set->axis);
        return;
    case GW_ROTATION_TWO_ANGLES:
        two_angles_motion(chart, z[0], z_dot[0], m);
        return;
    case GW_ROTATION_FIXED:
    case GW_ROTATION_NORMAL:
    case GW_ROTATION_TANGENT:
    case GW_ROTATION_GENERAL:
        m->q = chart->centre.q;
        return;
    }
}

/* ---- both together -------------------------------------------------------------------------- */

STEP_INLINE void put(double *row, gw_vec3 v, gw_vec3 w)
{
    row[0] = v.x;
    row[1] = v.y;
    row[2] = v.z;
    row[3] = w.x;
    row[4] = w.y;
    row[5] = w.z;
}

/* The tangent of a curve of two angles at the centre, in (p1, p2). */
static void put_tangent_turn(gw_chart *chart)
{
    static const double none[2] = {0, 0};
    second_angle_motion at = second_angle_at(chart, none);
    double size = hypot(at.g1, at.g2);
    chart->turn[0] = size > 0 ? at.g2 / size : 1;
    chart->turn[1] = size > 0 ? -at.g1 / size : 0;
}

void gw_chart_at(const gw_submanifold *set, const gw_pose *world_from_body, gw_chart *chart)
{
    assert(set->dof >= 0 && set->dof <= 6);
    chart->set = set;
    chart->shape = set->translation.locus.nurbs;
    chart->flat = false;
    chart->centre = *world_from_body;
    if (set->general) {
        gw_rows_project(set->rows, set->row_count, 6 - set->dof, 1, 20, &chart->centre);
        gw_submanifold_tangent(set, &chart->centre, 1, chart->basis);
        return;
    }
    if (gw_rotation_follows_locus(set->rotation.kind)) {
        gw_along_normal_chart_at(set, world_from_body, chart);
        return;
    }
    const gw_translation_set *t = &set->translation;
    gw_quat q = rotation_on_set(&set->rotation, world_from_body->q);
    chart->centre.q = q;
    if (set->rotation.kind == GW_ROTATION_TWO_ANGLES)
        put_tangent_turn(chart);
    gw_vec3 shift = set->translation.shift_count > 0 ? gw_shift_at(t, q) : gw_v3(0, 0, 0);
    gw_vec3 x = t->in_mobile ? gw_unrotate(q, gw_sub(t->of, world_from_body->p))
                             : gw_add(world_from_body->p, gw_rotate(q, t->of));
    if (set->translation.shift_count > 0)
        x = gw_sub(x, shift);
    locus_centre(&t->locus, x, chart);
    static const double none[6] = {0};
    locus_motion m;
    locus_at(chart, none, none, &m);
    if (set->translation.shift_count > 0)
        m.p = gw_add(m.p, shift);
    chart->centre.p =
        t->in_mobile ? gw_sub(t->of, gw_rotate(q, m.p)) : gw_sub(m.p, gw_rotate(q, t->of));
}

/* z_dot of the locus from the velocity of the point on it. */
static void locus_velocity(const gw_chart *chart, gw_vec3 velocity, double *z_dot)
{
    static const double none[6] = {0};
    locus_motion m;
    locus_at(chart, none, none, &m);
    if (chart->set->translation.locus.kind == GW_LOCUS_SURFACE) {
        double uu = gw_norm2(m.d[0]), uv = gw_dot(m.d[0], m.d[1]), vv = gw_norm2(m.d[1]);
        double a = gw_dot(m.d[0], velocity), b = gw_dot(m.d[1], velocity), det = uu * vv - uv * uv;
        z_dot[0] = det > 0 ? (a * vv - b * uv) / det : 0;
        z_dot[1] = det > 0 ? (b * uu - a * uv) / det : 0;
        return;
    }
    /* the columns are orthogonal in every other kind */
    for (int k = 0; k < chart->set->translation.dof; k++)
        z_dot[k] = gw_dot(m.d[k], velocity) / gw_norm2(m.d[k]);
}

void gw_chart_velocity(const gw_chart *chart, const gw_twist *twist, double *z_dot)
{
    assert(chart && twist && z_dot);
    const gw_submanifold *set = chart->set;
    const gw_rotation_set *r = &set->rotation;
    gw_vec3 w = gw_v3(0, 0, 0), b;
    double c, wa, wb, turns[2];
    if (gw_rotation_follows_locus(r->kind)) {
        gw_along_normal_velocity(chart, twist, z_dot);
        return;
    }
    switch (r->kind) {
    case GW_ROTATION_FREE:
        z_dot[0] = twist->w.x;
        z_dot[1] = twist->w.y;
        z_dot[2] = twist->w.z;
        w = twist->w;
        break;
    case GW_ROTATION_ANGLE:
    case GW_ROTATION_TWO_ANGLES:
        b = gw_rotate(chart->centre.q, r->axis_body);
        c = gw_dot(r->axis, b);
        wa = gw_dot(r->axis, twist->w);
        wb = gw_dot(b, twist->w);
        turns[0] = (wa - c * wb) / (1 - c * c);
        turns[1] = (wb - c * wa) / (1 - c * c);
        if (r->kind == GW_ROTATION_TWO_ANGLES) {
            z_dot[0] = chart->turn[0] * turns[0] + chart->turn[1] * turns[1];
            turns[0] = z_dot[0] * chart->turn[0];
            turns[1] = z_dot[0] * chart->turn[1];
        } else {
            z_dot[0] = turns[0], z_dot[1] = turns[1];
        }
        w = gw_mul_add(gw_scale(turns[0], r->axis), turns[1], b);
        break;
    case GW_ROTATION_AXIS:
        z_dot[0] = gw_dot(r->axis, twist->w);
        w = gw_scale(z_dot[0], r->axis);
        break;
    case GW_ROTATION_NORMAL:
    case GW_ROTATION_TANGENT:
    case GW_ROTATION_FIXED:
    case GW_ROTATION_GENERAL:
        break;
    }
    const gw_translation_set *t = &set->translation;
    gw_vec3 velocity;
    if (t->in_mobile) {
        /* R P' = -(t' + w x R P) */
        gw_vec3 arm = gw_sub(t->of, chart->centre.p);
        velocity = gw_unrotate(chart->centre.q, gw_neg(gw_add(twist->v, gw_cross(w, arm))));
    } else {
        velocity = gw_add(twist->v, gw_cross(w, gw_rotate(chart->centre.q, t->of)));
    }
    if (t->shift_count > 0)
        velocity = gw_sub(velocity, gw_shift_rate(t, chart->centre.q, w));
    locus_velocity(chart, velocity, z_dot + r->dof);
}

/*
 * Locus in the world, t = P - R s: t' = P' - w x R s, t'' = P'' - w' x R s - w x (w x R s) Locus in
 * the body, t = s - R P: t' = -R P' - w x R P,
 *                                       t'' = -R P'' - 2 w x R P' - w' x R P - w x (w x R P)
 * P is the locus's point, with the shift of its origin.
 */
GW_TARGET_CLONES
void gw_chart_eval(const gw_chart *chart, const double *z, const double *z_dot, gw_pose *pose,
                   double (*jacobian)[6], double *bias)
{
    assert(chart && z && pose);
    const gw_translation_set *t = &chart->set->translation;
    int turns = chart->set->rotation.dof;
    if (__builtin_expect(gw_rotation_follows_locus(chart->set->rotation.kind), 0)) {
        gw_along_normal_eval(chart, z, z_dot, pose, jacobian, bias);
        return;
    }
    rotation_motion r;
    locus_motion l;
    rotation_at(chart, z, z_dot, &r);
    locus_at(chart, z + turns, z_dot + turns, &l);
    if (t->shift_count > 0) {
        l.p = gw_add(l.p, gw_shift_at(t, r.q));
        l.velocity = gw_add(l.velocity, gw_shift_rate(t, r.q, r.velocity));
        l.bias = gw_add(l.bias, gw_shift_acceleration(t, r.q, r.velocity, r.bias));
    }
    gw_vec3 arm = gw_rotate(r.q, t->in_mobile ? l.p : t->of);
    gw_vec3 acceleration = l.bias;
    if (t->in_mobile) {
        gw_vec3 slide = gw_rotate(r.q, l.velocity);
        acceleration =
            gw_neg(gw_add(gw_rotate(r.q, l.bias), gw_scale(2, gw_cross(r.velocity, slide))));
    }
    pose->q = r.q;
    pose->p = gw_sub(t->in_mobile ? t->of : l.p, arm);
    for (int k = 0; k < turns; k++) {
        gw_vec3 v = gw_cross(arm, r.w[k]);
        if (t->shift_count > 0) {
            gw_vec3 shift = gw_shift_rate(t, r.q, r.w[k]);
            v = t->in_mobile ? gw_sub(v, gw_rotate(r.q, shift)) : gw_add(v, shift);
        }
        put(jacobian[k], v, r.w[k]);
    }
    for (int k = 0; k < t->dof; k++) {
        gw_vec3 d = t->in_mobile ? gw_neg(gw_rotate(r.q, l.d[k])) : l.d[k];
        put(jacobian[turns + k], d, gw_v3(0, 0, 0));
    }
    gw_vec3 inward = gw_cross(r.velocity, gw_cross(r.velocity, arm));
    acceleration = gw_sub(gw_add(acceleration, gw_cross(arm, r.bias)), inward);
    put(bias, acceleration, r.bias);
}

static bool is_free_form(const gw_submanifold *set)
{
    gw_locus_kind kind = set->translation.locus.kind;
    return !set->general && (kind == GW_LOCUS_CURVE || kind == GW_LOCUS_SURFACE);
}

bool gw_chart_range(const gw_chart *chart, int k, double *low, double *high)
{
    assert(chart && k >= 0 && low && high);
    if (!is_free_form(chart->set) || chart->flat)
        return false;
    const gw_nurbs *s = chart->set->translation.locus.nurbs;
    bool closed = s->direction[k].closed;
    gw_chart_bounds(s, k, low, high);
    *low = closed ? -HUGE_VAL : *low - chart->parameter[k];
    *high = closed ? HUGE_VAL : *high - chart->parameter[k];
    return true;
}

bool gw_chart_serves(const gw_chart *chart, const double *z)
{
    assert(chart && z);
    if (!is_free_form(chart->set))
        return true;
    double at[2] = {chart->parameter[0], chart->parameter[1]};
    for (int k = 0; k < chart->set->translation.dof; k++)
        at[k] += z[chart->set->rotation.dof + k];
    if (chart->flat)
        return hypot(at[0], at[1]) < GW_POLE_SERVES * chart->plane.reach;
    double coordinates[2];
    return !gw_nurbs_coordinates(chart->set->translation.locus.nurbs, at, coordinates);
}

void gw_chart_update_start(const gw_chart *chart, const double *z, gw_submanifold *set)
{
    assert(chart && z && set);
    gw_locus *l = &set->translation.locus;
    if (!is_free_form(set))
        return;
    double at[2] = {chart->parameter[0], chart->parameter[1]};
    for (int k = 0; k < set->translation.dof; k++)
        at[k] += z[set->rotation.dof + k];
    if (chart->flat)
        gw_tangent_plane_evaluate(l->nurbs, &chart->plane, at, 0, l->start, NULL);
    else
        memcpy(l->start, at, sizeof at);
    gw_nurbs_into_domain(l->nurbs, l->start);
}
