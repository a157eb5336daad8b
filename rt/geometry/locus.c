/*
 * Loci of one point (relational-positioning Table V). Any thread, RT safe.
 *
 * The nearest point is in closed form except for the ellipse, whose quartic is solved by Newton's
 * method on the first quadrant, from the side where it converges monotonically.
 */
#include "rt/geometry/locus.h"

#include <assert.h>
#include <stddef.h>

#include "rt/geometry/nurbs_motion.h"

int gw_locus_dof(gw_locus_kind kind)
{
    static const int dof[] = {3, 2, 2, 2, 1, 1, 1, 1, 2, 0, -1};
    assert(kind >= GW_LOCUS_FREE && kind <= GW_LOCUS_GENERAL);
    return dof[kind];
}

/* The point at coordinates a, b, c along the axes of the locus. */
static gw_vec3 at_coordinates(const gw_locus *l, double a, double b, double c)
{
    return gw_mul_add(gw_mul_add(gw_mul_add(l->origin, a, l->e1), b, l->e2), c, l->e3);
}

/* A vector from the axes of the locus to those of its owner; a point the other way. */
static gw_vec3 rotate_to_frame(const gw_locus *l, gw_vec3 v)
{
    return gw_mul_add(gw_mul_add(gw_scale(v.x, l->e1), v.y, l->e2), v.z, l->e3);
}

static gw_vec3 in_frame(const gw_locus *l, gw_vec3 x)
{
    gw_vec3 d = gw_sub(x, l->origin);
    return gw_v3(gw_dot(d, l->e1), gw_dot(d, l->e2), gw_dot(d, l->e3));
}

/* The point of a free-form locus at parameters z. */
static gw_vec3 free_form_point(const gw_locus *l, const double *z)
{
    gw_nurbs_motion m;
    double x[2] = {z[0], l->kind == GW_LOCUS_SURFACE ? z[1] : 0}, at[2];
    gw_nurbs_into_domain(l->nurbs, x);
    const gw_tangent_plane *plane = gw_nurbs_coordinates(l->nurbs, x, at);
    gw_nurbs_motion_of(l->nurbs, plane, at, (const double[]){0, 0}, l->a, &m);
    return gw_add(l->origin, rotate_to_frame(l, m.p));
}

#define EDGE_STEPS   20
#define EDGE_LONGEST 0.1  /* of the domain: largest step along an edge */
#define APEX         1e-6 /* of the domain: n is taken that far from an apex, which has none */
#define AROUND_APEX  16   /* directions from an apex, to begin from the closest one */

/* At the apex of a cone, say, P is a curve round it: moves z beside the apex, in the direction from
 * it in which P is closest to x. */
static void leave_apex(const gw_locus *l, gw_vec3 x, int k, double z[2])
{
    const gw_nurbs_direction *d = &l->nurbs->direction[k], *across = &l->nurbs->direction[!k];
    double inset = APEX * (across->high - across->low), least = HUGE_VAL, closest = z[k];
    z[!k] = fmax(across->low + inset, fmin(across->high - inset, z[!k]));
    for (int i = 0; i < AROUND_APEX; i++) {
        gw_nurbs_motion m;
        z[k] = d->low + (d->high - d->low) * (i + 0.5) / AROUND_APEX;
        gw_nurbs_motion_of(l->nurbs, NULL, z, (const double[]){0, 0}, l->a, &m);
        double distance = gw_distance(m.p, x);
        closest = distance < least ? z[k] : closest;
        least = fmin(least, distance);
    }
    z[k] = closest;
}

/* Moves z from the point closest to x on S to that on P = S + a n. The two differ at an edge, where
 * x - S is not along n: Newton's method along the edge for (P - x) . P' = 0. */
static void closest_of_offset(const gw_locus *l, gw_vec3 x, double z[2])
{
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *d = &l->nurbs->direction[k], *across = &l->nurbs->direction[!k];
        double near = APEX * (across->high - across->low), range = d->high - d->low, step = range;
        int edge = 2 * !k + (z[!k] > across->low + near);
        bool is_point = !l->nurbs->edge[edge], at_pole = is_point && l->nurbs->pole[edge];
        near = is_point ? near : 0;
        bool at_edge = z[!k] <= across->low + near || z[!k] >= across->high - near;
        if (across->closed || !at_edge || at_pole)
            continue;
        if (is_point)
            leave_apex(l, x, k, z);
        for (int i = 0; i < EDGE_STEPS && fabs(step) > 1e-14 * range; i++) {
            gw_nurbs_motion m;
            gw_nurbs_motion_of(l->nurbs, NULL, z, (const double[]){k == 0, k == 1}, l->a, &m);
            gw_vec3 off = gw_sub(m.p, x);
            double slope = gw_dot(off, m.velocity), was = z[k];
            double bend = gw_norm2(m.velocity) + gw_dot(off, m.bias);
            step = bend > 0 ? -slope / bend : -copysign(range, slope);
            step = fmax(-EDGE_LONGEST * range, fmin(EDGE_LONGEST * range, step));
            z[k] = d->closed ? was + step : fmax(d->low, fmin(d->high, was + step));
            step = z[k] - was;
        }
        gw_nurbs_into_domain(l->nurbs, z);
    }
}

#define LEAST_CELLS 64 /* of a search when no work is left */

void gw_locus_closest_parameters(const gw_locus *l, gw_vec3 point, double x[2])
{
    gw_nurbs_nearest nearest;
    int cost = gw_nurbs_cell_work(l->nurbs), cells = GW_NURBS_MAX_CELLS;
    if (l->work && *l->work < (long)cells * cost)
        cells = *l->work > LEAST_CELLS * cost ? (int)(*l->work / cost) : LEAST_CELLS;
    gw_nurbs_nearest_within(l->nurbs, in_frame(l, point), cells, &nearest);
    if (l->work)
        *l->work -= GW_NURBS_FOLLOW_WORK + (long)nearest.cells * cost;
    x[0] = nearest.parameter[0];
    x[1] = nearest.parameter[1];
    if (l->kind == GW_LOCUS_SURFACE && l->a != 0)
        closest_of_offset(l, in_frame(l, point), x);
}

gw_vec3 gw_locus_point(const gw_locus *l, const double *z)
{
    assert(l && z);
    switch (l->kind) {
    case GW_LOCUS_FREE:
        return at_coordinates(l, z[0], z[1], z[2]);
    case GW_LOCUS_PLANE:
        return at_coordinates(l, z[0], z[1], 0);
    case GW_LOCUS_SPHERE: {
        /* z = azimuth, polar */
        double s = l->a * sin(z[1]);
        return at_coordinates(l, s * cos(z[0]), s * sin(z[0]), l->a * cos(z[1]));
    }
    case GW_LOCUS_CYLINDER:
        return at_coordinates(l, l->a * cos(z[1]), l->a * sin(z[1]), z[0]);
    case GW_LOCUS_LINE:
        return at_coordinates(l, 0, 0, z[0]);
    case GW_LOCUS_CIRCLE:
        return at_coordinates(l, l->a * cos(z[0]), l->a * sin(z[0]), 0);
    case GW_LOCUS_ELLIPSE:
        return at_coordinates(l, l->a * cos(z[0]), l->b * sin(z[0]), 0);
    case GW_LOCUS_CURVE:
    case GW_LOCUS_SURFACE:
        return free_form_point(l, z);
    case GW_LOCUS_POINT:
    case GW_LOCUS_GENERAL:
        break;
    }
    return l->origin;
}

void gw_locus_parameters(const gw_locus *l, gw_vec3 point, double *z)
{
    assert(l && z);
    gw_vec3 d = gw_sub(point, l->origin);
    double x = gw_dot(d, l->e1), y = gw_dot(d, l->e2), h = gw_dot(d, l->e3);
    switch (l->kind) {
    case GW_LOCUS_FREE:
        z[2] = h; /* fall through */
    case GW_LOCUS_PLANE:
        z[0] = x;
        z[1] = y;
        break;
    case GW_LOCUS_SPHERE:
        z[0] = atan2(y, x);
        z[1] = atan2(hypot(x, y), h);
        break;
    case GW_LOCUS_CYLINDER:
        z[0] = h;
        z[1] = atan2(y, x);
        break;
    case GW_LOCUS_LINE:
        z[0] = h;
        break;
    case GW_LOCUS_CIRCLE:
        z[0] = atan2(y, x);
        break;
    case GW_LOCUS_ELLIPSE:
        z[0] = atan2(y / l->b, x / l->a);
        break;
    case GW_LOCUS_CURVE:
    case GW_LOCUS_SURFACE: {
        double at[2];
        gw_locus_closest_parameters(l, point, at);
        for (int i = 0; i < gw_locus_dof(l->kind); i++)
            z[i] = at[i];
        break;
    }
    case GW_LOCUS_POINT:
    case GW_LOCUS_GENERAL:
        break;
    }
}

/*
 * Nearest point of x^2/a^2 + y^2/b^2 = 1, a >= b > 0, to (x, y) with x, y >= 0:
 * (a^2 x / (t + a^2), b^2 y / (t + b^2)) with t the largest root of
 * g(t) = (a x / (t + a^2))^2 + (b y / (t + b^2))^2 - 1, convex and falling on t > -b^2.
 */
static void ellipse_nearest(double a, double b, double x, double y, double *px, double *py)
{
    double aa = a * a, bb = b * b;
    if (y <= 1e-15 * b) { /* on the long axis: the ends, or above a point inside the evolute */
        double c = aa > bb ? a * x / (aa - bb) : 2;
        *px = c < 1 ? a * c : a;
        *py = c < 1 ? b * sqrt(1 - c * c) : 0;
        return;
    }
    double t = b * y - bb; /* g >= 0 here, and Newton runs upward from below the root */
    for (int i = 0; i < 60; i++) {
        double u = a * x / (t + aa), v = b * y / (t + bb);
        double g = u * u + v * v - 1;
        double slope = -2 * (u * u / (t + aa) + v * v / (t + bb));
        double next = t - g / slope;
        if (!(next > t))
            break;
        t = next;
    }
    *px = aa * x / (t + aa);
    *py = bb * y / (t + bb);
}

/* Unit vector along the part of d normal to e3; e1 where that vanishes. */
static gw_vec3 radial_direction(const gw_locus *l, gw_vec3 d)
{
    gw_vec3 r = gw_reject(d, l->e3);
    double n2 = gw_norm2(r);
    return n2 > 0 ? gw_scale(1 / sqrt(n2), r) : l->e1;
}

static gw_vec3 nearest_on_ellipse(const gw_locus *l, gw_vec3 d)
{
    double x = gw_dot(d, l->e1), y = gw_dot(d, l->e2), px, py;
    ellipse_nearest(l->a, l->b, fabs(x), fabs(y), &px, &py);
    return at_coordinates(l, copysign(px, x), copysign(py, y), 0);
}

gw_vec3 gw_locus_nearest(const gw_locus *l, gw_vec3 point)
{
    gw_vec3 d = gw_sub(point, l->origin);
    switch (l->kind) {
    case GW_LOCUS_PLANE:
        return gw_mul_add(point, -gw_dot(d, l->e3), l->e3);
    case GW_LOCUS_SPHERE: {
        double n = gw_norm(d);
        return gw_mul_add(l->origin, l->a, n > 0 ? gw_scale(1 / n, d) : l->e1);
    }
    case GW_LOCUS_CYLINDER:
        return gw_mul_add(gw_mul_add(l->origin, gw_dot(d, l->e3), l->e3), l->a,
                          radial_direction(l, d));
    case GW_LOCUS_LINE:
        return gw_mul_add(l->origin, gw_dot(d, l->e3), l->e3);
    case GW_LOCUS_CIRCLE:
        return gw_mul_add(l->origin, l->a, radial_direction(l, d));
    case GW_LOCUS_ELLIPSE:
        return nearest_on_ellipse(l, d);
    case GW_LOCUS_CURVE:
    case GW_LOCUS_SURFACE: {
        double at[2];
        gw_locus_closest_parameters(l, point, at);
        return free_form_point(l, at);
    }
    case GW_LOCUS_POINT:
        return l->origin;
    case GW_LOCUS_FREE:
    case GW_LOCUS_GENERAL:
        break;
    }
    return point;
}

int gw_locus_tangent(const gw_locus *l, gw_vec3 point, gw_vec3 out[3])
{
    assert(l && out);
    gw_vec3 d = gw_sub(point, l->origin);
    switch (l->kind) {
    case GW_LOCUS_FREE:
        out[0] = l->e1, out[1] = l->e2, out[2] = l->e3;
        return 3;
    case GW_LOCUS_PLANE:
        out[0] = l->e1, out[1] = l->e2;
        return 2;
    case GW_LOCUS_SPHERE: {
        gw_vec3 u = gw_unit(d);
        out[0] = gw_any_normal(u);
        out[1] = gw_cross(u, out[0]);
        return 2;
    }
    case GW_LOCUS_CYLINDER:
        out[0] = l->e3;
        out[1] = gw_cross(l->e3, radial_direction(l, d));
        return 2;
    case GW_LOCUS_LINE:
        out[0] = l->e3;
        return 1;
    case GW_LOCUS_CIRCLE:
        out[0] = gw_cross(l->e3, radial_direction(l, d));
        return 1;
    case GW_LOCUS_ELLIPSE: {
        double c = gw_dot(d, l->e1) / l->a, s = gw_dot(d, l->e2) / l->b;
        out[0] = gw_unit(gw_add(gw_scale(-l->a * s, l->e1), gw_scale(l->b * c, l->e2)));
        return 1;
    }
    case GW_LOCUS_CURVE:
    case GW_LOCUS_SURFACE: {
        gw_nurbs_motion m;
        double x[2], at[2];
        gw_locus_closest_parameters(l, point, x);
        const gw_tangent_plane *plane = gw_nurbs_coordinates(l->nurbs, x, at);
        gw_nurbs_motion_of(l->nurbs, plane, at, (const double[]){0, 0}, l->a, &m);
        out[0] = gw_unit(rotate_to_frame(l, m.d[0]));
        out[1] = gw_unit(gw_reject(rotate_to_frame(l, m.d[1]), out[0]));
        return gw_locus_dof(l->kind);
    }
    case GW_LOCUS_POINT:
    case GW_LOCUS_GENERAL:
        break;
    }
    return 0;
}

/* Subtracts share t t^T from the symmetric matrix m. */
static void subtract_square(gw_mat3 *m, double share, gw_vec3 t)
{
    const double x[3] = {t.x, t.y, t.z};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m->m[i][j] -= share * x[i] * x[j];
}

#define LEAST_SHARE 1e-9 /* of P_i . P_i: the least curvature of the distance, at focal points */

/* The same of a free-form locus: y does not leave an edge that it is at. The matrix is diagonal in
 * P_0 and the part of P_1 conjugate to it. */
static void subtract_free_form(const gw_locus *l, gw_vec3 y, gw_vec3 d, gw_mat3 *n)
{
    static const double rates[3][2] = {{1, 0}, {0, 1}, {1, 1}};
    const int count = gw_locus_dof(l->kind);
    gw_nurbs_motion m[3];
    double x[2], at[2];
    gw_locus_closest_parameters(l, y, x);
    const gw_tangent_plane *plane = gw_nurbs_coordinates(l->nurbs, x, at);
    for (int k = 0; k < 2 * count - 1; k++)
        gw_nurbs_motion_of(l->nurbs, plane, at, rates[k], l->a, &m[k]);
    const gw_vec3 off = gw_v3(gw_dot(d, l->e1), gw_dot(d, l->e2), gw_dot(d, l->e3));
    gw_vec3 p[2] = {m[0].d[0], m[0].d[1]};
    double bend[2], mixed = 0;
    bool free[2];
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *of = &l->nurbs->direction[k];
        free[k] = k < count && (plane || of->closed || (x[k] > of->low && x[k] < of->high));
        bend[k] = free[k] ? gw_norm2(p[k]) - gw_dot(off, m[k].bias) : 0;
    }
    if (free[0] && free[1]) {
        mixed =
            gw_dot(p[0], p[1]) - 0.5 * gw_dot(off, gw_sub(m[2].bias, gw_add(m[0].bias, m[1].bias)));
        bend[0] = fmax(bend[0], LEAST_SHARE * gw_norm2(p[0]));
        p[1] = gw_mul_add(p[1], -mixed / bend[0], p[0]);
        bend[1] -= mixed * mixed / bend[0];
    }
    for (int k = 0; k < 2; k++)
        if (free[k] && gw_norm2(p[k]) > 0)
            subtract_square(n, 1 / fmax(bend[k], LEAST_SHARE * gw_norm2(p[k])),
                            rotate_to_frame(l, p[k]));
}

/* 1 / (1 + kappa d . out): Y moves along a tangent where the locus has the curvature kappa, its
 * centre being opposite to `out`. */
static double share_along(double kappa, gw_vec3 d, gw_vec3 out)
{
    double curvature = 1 + kappa * gw_dot(d, out);
    return curvature > LEAST_SHARE ? 1 / curvature : 1 / LEAST_SHARE;
}

gw_mat3 gw_locus_nearest_derivative(const gw_locus *l, gw_vec3 y, gw_vec3 d)
{
    gw_mat3 n = {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
    gw_vec3 at = gw_sub(y, l->origin), out, way[3];
    double share[3] = {1, 1, 1};
    int tangents = 0;
    if (l->kind == GW_LOCUS_CURVE || l->kind == GW_LOCUS_SURFACE)
        subtract_free_form(l, y, d, &n);
    else
        tangents = gw_locus_tangent(l, y, way);
    if (l->kind == GW_LOCUS_CIRCLE || l->kind == GW_LOCUS_CYLINDER) {
        out = gw_scale(1 / l->a, gw_reject(at, l->e3));
        share[tangents - 1] = share_along(1 / l->a, d, out);
    } else if (l->kind == GW_LOCUS_SPHERE) {
        share[0] = share[1] = share_along(1 / l->a, d, gw_unit(at));
    } else if (l->kind == GW_LOCUS_ELLIPSE) {
        double c = gw_dot(at, l->e1) / l->a, s = gw_dot(at, l->e2) / l->b;
        double speed = hypot(l->a * s, l->b * c);
        out = gw_unit(gw_add(gw_scale(c / l->a, l->e1), gw_scale(s / l->b, l->e2)));
        share[0] = share_along(l->a * l->b / (speed * speed * speed), d, out);
    }
    for (int k = 0; k < tangents; k++)
        subtract_square(&n, share[k], way[k]);
    return n;
}

/* ---- loci that shift as the body rotates ----------------------------------------------------- */

gw_vec3 gw_shift_at(const gw_translation_set *t, gw_quat q)
{
    gw_vec3 to = {0, 0, 0};
    for (int i = 0; i < t->shift_count; i++) {
        const gw_locus_shift *s = &t->shifts[i];
        gw_vec3 arm = t->in_mobile ? gw_unrotate(q, s->arm) : gw_rotate(q, s->arm);
        to = gw_mul_add(to, -gw_dot(s->normal, arm), s->along);
    }
    return to;
}

/* The vector d/dt (R a) = w x R a, or d/dt (R^T a) = -R^T (w x a), of every arm. */
gw_vec3 gw_shift_rate(const gw_translation_set *t, gw_quat q, gw_vec3 w)
{
    gw_vec3 rate = {0, 0, 0};
    for (int i = 0; i < t->shift_count; i++) {
        const gw_locus_shift *s = &t->shifts[i];
        gw_vec3 arm = t->in_mobile ? gw_neg(gw_unrotate(q, gw_cross(w, s->arm)))
                                   : gw_cross(w, gw_rotate(q, s->arm));
        rate = gw_mul_add(rate, -gw_dot(s->normal, arm), s->along);
    }
    return rate;
}

/* w' x R a + w x (w x R a), or R^T (w x (w x a) - w' x a) */
gw_vec3 gw_shift_acceleration(const gw_translation_set *t, gw_quat q, gw_vec3 w, gw_vec3 w_dot)
{
    gw_vec3 sum = {0, 0, 0};
    for (int i = 0; i < t->shift_count; i++) {
        const gw_locus_shift *s = &t->shifts[i];
        gw_vec3 arm = t->in_mobile ? s->arm : gw_rotate(q, s->arm);
        gw_vec3 centripetal = gw_cross(w, gw_cross(w, arm)), tangential = gw_cross(w_dot, arm);
        gw_vec3 a = t->in_mobile ? gw_unrotate(q, gw_sub(centripetal, tangential))
                                 : gw_add(tangential, centripetal);
        sum = gw_mul_add(sum, -gw_dot(s->normal, a), s->along);
    }
    return sum;
}
