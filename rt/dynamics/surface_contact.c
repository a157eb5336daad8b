/*
 * Contacts of curved surfaces by their common normal. RT safe.
 *
 * a has a point x_a with orthonormal tangents a_i (one of a curve), b a point x_b with orthonormal
 * tangents b_i and the normal n towards a; second derivatives a_ij, b_ij are those in coordinates
 * with these tangents. With d = x_a - x_b the common normal is (surface-constraints 5)
 *
 *   d . b_i = 0,    a_i . n = 0                                  gap = n . d
 *
 * which is regular at contact, d = 0, while the conditions d . a_i = 0 of closest points are not.
 * With C_ij = b_i . a_j, H_ij = delta_ij - d . b_ij, N_ij = a_i . n_j = -(b_jk . n)(a_i . b_k),
 * steps of Newton's method are
 *
 *   H y_b = C y_a + d . b,     K y_a = -a . n - N H^-1 (d . b),     K = a_ij . n + N H^-1 C
 *
 * K is the relative curvature: singular where the surfaces conform. The points move over the
 * surfaces by the same equations (Montana's, with a gap), V being the bodies' velocities:
 *
 *   H y_b' = C y_a' + g,       K y_a' = -(w_a - w_b) . (a_i x n) - N H^-1 g
 *   g_i = (V_a(x_a) - V_b(x_b)) . b_i + d . (w_b x b_i)
 *   n' = w_b x n + n_j y_bj',  c = x_a = x_b + gap n,  x_b' = V_b(x_b) + b_i y_bi'
 */
#include "rt/dynamics/surface_contact.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/dynamics/common_normal.h"
#include "rt/dynamics/curve_contact.h"
#include "rt/geometry/nurbs_motion.h"
#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/nurbs_pole.h"

#define THERE       1e-14 /* of the size: a Newton step this short is zero */
#define TURNED      0.2   /* sine of a ball's turn from which its point is found anew */
#define ROLLED      2.0   /* times the path that a turn explains */
#define NEARLY      1e-3  /* of it: a smaller one at the end of a step is reported */
#define DEGENERATE  1e-12 /* of the size: the least norm of a derivative, at an apex or a corner */
#define BESIDE_APEX 1e-4  /* of the domain: least distance of a start from an apex or a corner */
#define GRID        8     /* samples of a direction, for a search */
#define PAIRS       1000  /* of parts of two shapes examined for the closest points */
#define CANDIDATES  6     /* samples that are tried */

/* ---- one side ------------------------------------------------------------------------------- */

bool gw_surface_is_curve(const gw_surface *s)
{
    return s->kind == GW_SURFACE_CURVE || s->kind == GW_SURFACE_RIM;
}

/* The length to which steps and curvatures are relative (m). */
static double size_of(const gw_surface *s)
{
    switch (s->kind) {
    case GW_SURFACE_PLANE:
    case GW_SURFACE_CORNER:
        return HUGE_VAL;
    case GW_SURFACE_SPHERE:
    case GW_SURFACE_CYLINDER:
    case GW_SURFACE_RIM:
        return s->radius;
    case GW_SURFACE_ELLIPSOID:
        return fmin(s->semi_axes.x, fmin(s->semi_axes.y, s->semi_axes.z));
    case GW_SURFACE_FREE_FORM:
    case GW_SURFACE_CURVE:
        return 0.5 * s->nurbs->size;
    }
    return 1;
}

double gw_contact_size(const gw_closure_contact *k)
{
    return fmin(size_of(&k->on_a), size_of(&k->on_b));
}

/* p = point + D q with q = (c + z1 e1 + z2 e2) / |..|, |c| = 1. */
static gw_raw_patch on_ellipsoid(const gw_surface *s, const double *z)
{
    gw_raw_patch r = {.beyond = false};
    gw_vec3 q = {z[0], z[1], z[2]}, e = gw_any_normal(q), f = gw_cross(q, e);
    gw_vec3 semi = s->semi_axes;
    if (s->kind == GW_SURFACE_SPHERE)
        semi = gw_v3(s->radius, s->radius, s->radius);
    gw_vec3 x[4] = {q, e, f, gw_v3(q.x / semi.x, q.y / semi.y, q.z / semi.z)};
    for (int i = 0; i < 3; i++)
        x[i] = gw_v3(semi.x * x[i].x, semi.y * x[i].y, semi.z * x[i].z);
    for (int i = 0; i < 4 && s->kind == GW_SURFACE_ELLIPSOID; i++)
        x[i] = gw_rotate(s->turn, x[i]);
    r.p = gw_add(s->point, x[0]);
    r.d[0] = x[1], r.d[1] = x[2];
    r.dd[0] = r.dd[2] = gw_neg(x[0]);
    r.n = gw_unit(x[3]);
    return r;
}

/* Planes: along two directions; cylinders: angle, height; rims: angle. */
static gw_raw_patch on_simple(const gw_surface *s, const double *z)
{
    gw_raw_patch r = {.beyond = false};
    gw_vec3 e = gw_any_normal(s->axis), f = gw_cross(s->axis, e);
    if (s->kind == GW_SURFACE_PLANE) {
        r.p = gw_mul_add(gw_mul_add(s->point, z[0], e), z[1], f);
        r.d[0] = e, r.d[1] = f, r.n = s->axis;
        r.beyond = s->radius > 0 && hypot(z[0], z[1]) > s->radius;
        return r;
    }
    double c = s->radius * cos(z[0]), k = s->radius * sin(z[0]);
    gw_vec3 out = gw_mul_add(gw_scale(c, e), k, f);
    r.p = gw_add(s->point, out);
    if (s->kind == GW_SURFACE_CYLINDER) {
        r.p = gw_mul_add(r.p, z[1], s->axis);
        r.beyond = s->half_length > 0 && fabs(z[1]) > s->half_length;
    }
    r.d[0] = gw_mul_add(gw_scale(-k, e), c, f);
    r.d[1] = s->axis;
    r.dd[0] = gw_neg(out);
    r.n = gw_unit(out);
    return r;
}

/* Skips the rotation for shapes in the axes of their body's frame. */
static gw_vec3 rotate_from_shape(const gw_surface *s, gw_vec3 x)
{
    bool lies = s->turn.x == 0 && s->turn.y == 0 && s->turn.z == 0;
    return lies ? x : gw_rotate(s->turn, x);
}

static gw_raw_patch on_free_form(const gw_surface *s, const double *z)
{
    gw_raw_patch r = {.beyond = false};
    gw_nurbs_point at;
    double x[2] = {z[0], z[1]};
    r.plane = gw_nurbs_coordinates(s->nurbs, x, r.xy);
    if (r.plane)
        gw_tangent_plane_evaluate(s->nurbs, r.plane, r.xy, 2, x, &at);
    else
        gw_nurbs_evaluate(s->nurbs, x, 2, NULL, &at);
    r.p = gw_add(s->point, rotate_from_shape(s, at.d[0][0]));
    r.d[0] = rotate_from_shape(s, at.d[1][0]);
    r.dd[0] = rotate_from_shape(s, at.d[2][0]);
    r.beyond = gw_nurbs_into_domain(s->nurbs, x);
    if (s->kind == GW_SURFACE_CURVE)
        return r;
    r.d[1] = rotate_from_shape(s, at.d[0][1]);
    r.dd[1] = rotate_from_shape(s, at.d[1][1]);
    r.dd[2] = rotate_from_shape(s, at.d[0][2]);
    gw_vec3 n = gw_cross(r.d[0], r.d[1]);
    double length = gw_norm(n);
    r.n = length > 0 ? gw_scale(1 / length, n)
                     : rotate_from_shape(s, gw_nurbs_normal(s->nurbs, z, &at));
    return r;
}

gw_raw_patch gw_raw_patch_at(const gw_surface *s, const double *z)
{
    switch (s->kind) {
    case GW_SURFACE_SPHERE:
    case GW_SURFACE_ELLIPSOID:
        return on_ellipsoid(s, z);
    case GW_SURFACE_FREE_FORM:
    case GW_SURFACE_CURVE:
        return on_free_form(s, z);
    case GW_SURFACE_CORNER:
        return (gw_raw_patch){.p = s->point};
    case GW_SURFACE_PLANE:
    case GW_SURFACE_CYLINDER:
    case GW_SURFACE_RIM:
        break;
    }
    return on_simple(s, z);
}

/* In coordinates whose tangents are orthonormal, and in world axes: d = t M, M upper triangular. */
gw_patch gw_patch_at(const gw_surface *s, const double *z, const gw_body_frame *frame)
{
    gw_raw_patch r = gw_raw_patch_at(s, z);
    gw_patch x = {.count = gw_surface_is_curve(s) ? 1 : 2, .beyond = r.beyond, .plane = r.plane};
    x.xy[0] = r.xy[0], x.xy[1] = r.xy[1];
    x.p = gw_add(frame->p, gw_mat3_mul(&frame->turn, r.p));
    if (s->kind == GW_SURFACE_CORNER) {
        x.count = 0;
        return x;
    }
    double least = DEGENERATE * size_of(s);
    least = isfinite(least) ? least : 0;
    double first = fmax(gw_norm(r.d[0]), least), p00 = 1 / first, p01 = 0, p11 = 0;
    x.t[0] = gw_scale(p00, r.d[0]);
    if (x.count == 2) {
        double along = gw_dot(x.t[0], r.d[1]);
        gw_vec3 across = gw_mul_add(r.d[1], -along, x.t[0]);
        double second = fmax(gw_norm(across), least);
        x.t[1] = gw_scale(1 / second, across);
        p11 = 1 / second;
        p01 = -along * p00 * p11;
    }
    x.to[0][0] = p00, x.to[0][1] = p01, x.to[1][0] = 0, x.to[1][1] = p11;
    x.second[0] = gw_scale(p00 * p00, r.dd[0]);
    x.second[1] = gw_add(gw_scale(p00 * p01, r.dd[0]), gw_scale(p00 * p11, r.dd[1]));
    x.second[2] = gw_add(gw_scale(p01 * p01, r.dd[0]), gw_scale(p11 * p11, r.dd[2]));
    x.second[2] = gw_mul_add(x.second[2], 2 * p01 * p11, r.dd[1]);
    x.n = gw_mat3_mul(&frame->turn, r.n);
    for (int i = 0; i < 2; i++)
        x.t[i] = gw_mat3_mul(&frame->turn, x.t[i]);
    for (int i = 0; i < 3; i++)
        x.second[i] = gw_mat3_mul(&frame->turn, x.second[i]);
    return x;
}

/* Moves a contact point by y along the tangents of its patch. */
void gw_patch_move(const gw_surface *s, const gw_patch *x, const double y[2], double *z)
{
    if (x->count == 0)
        return;
    double u = x->to[0][0] * y[0] + (x->count == 2 ? x->to[0][1] * y[1] : 0);
    double v = x->count == 2 ? x->to[1][1] * y[1] : 0;
    if (x->plane) {
        double xy[2] = {x->xy[0] + u, x->xy[1] + v}, far = hypot(xy[0], xy[1]);
        double share = far > x->plane->reach ? x->plane->reach / far : 1;
        xy[0] *= share, xy[1] *= share;
        gw_tangent_plane_evaluate(s->nurbs, x->plane, xy, 0, z, NULL);
        return;
    }
    if (s->kind == GW_SURFACE_SPHERE || s->kind == GW_SURFACE_ELLIPSOID) {
        gw_vec3 q = {z[0], z[1], z[2]}, e = gw_any_normal(q), f = gw_cross(q, e);
        q = gw_unit(gw_mul_add(gw_mul_add(q, u, e), v, f));
        z[0] = q.x, z[1] = q.y, z[2] = q.z;
        return;
    }
    z[0] += u;
    z[1] += v;
}

/* ---- the common normal ---------------------------------------------------------------------- */

bool gw_invert2(const double m[2][2], double out[2][2])
{
    double det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    if (!(fabs(det) > 1e-300))
        return false;
    out[0][0] = m[1][1] / det, out[1][1] = m[0][0] / det;
    out[0][1] = -m[0][1] / det, out[1][0] = -m[1][0] / det;
    return true;
}

bool gw_normal_system_at(const gw_closure_contact *k, const gw_body_frame *fa,
                         const gw_body_frame *fb, const gw_contact_point *point,
                         gw_normal_system *s)
{
    s->a = gw_patch_at(&k->on_a, point->a, fa);
    s->b = gw_patch_at(&k->on_b, point->b, fb);
    s->n = k->inside ? gw_neg(s->b.n) : s->b.n;
    s->d = gw_sub(s->a.p, s->b.p);
    double h[2][2], n[2][2] = {{0}};
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            s->c[i][j] = j < s->a.count ? gw_dot(s->b.t[i], s->a.t[j]) : 0;
            s->ii[i][j] = gw_dot(s->b.second[i + j], s->n);
            h[i][j] = (i == j) - gw_dot(s->d, s->b.second[i + j]);
        }
    if (!gw_invert2((const double(*)[2])h, s->h))
        return false;
    for (int i = 0; i < s->a.count; i++)
        for (int j = 0; j < 2; j++)
            n[i][j] = -(s->c[0][i] * s->ii[0][j] + s->c[1][i] * s->ii[1][j]);
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            s->nh[i][j] = n[i][0] * s->h[0][j] + n[i][1] * s->h[1][j];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            s->k[i][j] = gw_dot(s->a.second[i + j], s->n) + s->nh[i][0] * s->c[0][j] +
                         s->nh[i][1] * s->c[1][j];
    return true;
}

/* K y_a = right_a - N H^-1 right_b, y_b = H^-1 (C y_a + right_b). */
static bool solve_normal(const gw_normal_system *s, const double right_a[2],
                         const double right_b[2], double y_a[2], double y_b[2])
{
    double r[2], inverse[2][2];
    for (int i = 0; i < 2; i++)
        r[i] = right_a[i] - s->nh[i][0] * right_b[0] - s->nh[i][1] * right_b[1];
    if (s->a.count == 0) {
        y_a[0] = y_a[1] = 0;
    } else if (s->a.count == 1) {
        if (!(fabs(s->k[0][0]) > 0))
            return false;
        y_a[0] = r[0] / s->k[0][0], y_a[1] = 0;
    } else {
        if (!gw_invert2((const double(*)[2])s->k, inverse))
            return false;
        for (int i = 0; i < 2; i++)
            y_a[i] = inverse[i][0] * r[0] + inverse[i][1] * r[1];
    }
    double sum[2];
    for (int i = 0; i < 2; i++)
        sum[i] = s->c[i][0] * y_a[0] + s->c[i][1] * y_a[1] + right_b[i];
    for (int i = 0; i < 2; i++)
        y_b[i] = s->h[i][0] * sum[0] + s->h[i][1] * sum[1];
    return true;
}

/* The least relative curvature: the smaller eigenvalue of K, which is symmetric at a common normal;
 * negative where the surfaces cross beside it. */
double gw_least_relative_curvature(const gw_normal_system *s)
{
    if (s->a.count == 0)
        return INFINITY;
    if (s->a.count == 1)
        return s->k[0][0];
    double off = 0.5 * (s->k[0][1] + s->k[1][0]), mean = 0.5 * (s->k[0][0] + s->k[1][1]);
    return mean - hypot(0.5 * (s->k[0][0] - s->k[1][1]), off);
}

/* A ball's point under which b has the normal n, however far the ball has turned. */
static void turn_ball(const gw_surface *s, gw_vec3 n, const gw_body_frame *frame, double z[3])
{
    gw_vec3 down = gw_mat3_tmul(&frame->turn, gw_neg(n));
    z[0] = down.x, z[1] = down.y, z[2] = down.z;
    assert(s->kind == GW_SURFACE_SPHERE);
}

/* Newton's method from a contact point; false where it does not converge within its reach. */
/*
 * |K|, with which the step of a's point descends: K is the Hessian of the gap as a function of that
 * point, and with eigenvalues m +- r along (cos t, sin t) and across,
 *
 *   |K| = (|m + r| + |m - r|) / 2 I + (|m + r| - |m - r|) / 2 [cos 2t, sin 2t; sin 2t, -cos 2t]
 *
 * A positive K is left as it is, not symmetric away from the common normal: there Newton's method
 * converges quadratically.
 */
static void make_positive(double k[2][2], int count)
{
    if (count == 0)
        return;
    if (count == 1) {
        k[0][0] = fabs(k[0][0]);
        return;
    }
    double m = 0.5 * (k[0][0] + k[1][1]), half = 0.5 * (k[0][0] - k[1][1]);
    double off = 0.5 * (k[0][1] + k[1][0]), r = hypot(half, off);
    if (m > r || !(r > 0))
        return;
    double mean = 0.5 * (fabs(m + r) + fabs(m - r)),
           half_difference = 0.5 * (fabs(m + r) - fabs(m - r));
    k[0][0] = mean + half_difference * half / r;
    k[1][1] = mean - half_difference * half / r;
    k[0][1] = k[1][0] = half_difference * off / r;
}

bool gw_common_normal_follow(const gw_closure_contact *k, const gw_body_frame *a,
                             const gw_body_frame *b, gw_newton_reach reach, gw_contact_point *point,
                             gw_normal_system *s)
{
    double size = gw_contact_size(k), farthest = GW_FARTHEST * size;
    gw_branch_length length = {.steps = 0};
    if (reach == GW_ON_BRANCH)
        farthest = fmax(size_of(&k->on_a), size_of(&k->on_b));
    for (int i = 0; i < GW_NEWTON_STEPS; i++) {
        double right_a[2] = {0, 0}, right_b[2], y_a[2], y_b[2];
        if (!gw_normal_system_at(k, a, b, point, s))
            return false;
        for (int j = 0; j < 2; j++) {
            right_a[j] = j < s->a.count ? -gw_dot(s->a.t[j], s->n) : 0;
            right_b[j] = gw_dot(s->d, s->b.t[j]);
        }
        if (i == 0 && k->on_a.kind == GW_SURFACE_SPHERE && hypot(right_a[0], right_a[1]) > TURNED) {
            turn_ball(&k->on_a, s->n, a, point->a);
            continue;
        }
        if (reach == GW_DESCEND)
            make_positive(s->k, s->a.count);
        if (!solve_normal(s, right_a, right_b, y_a, y_b))
            return false;
        double far_a = y_a[0] * y_a[0] + y_a[1] * y_a[1], far_b = y_b[0] * y_b[0] + y_b[1] * y_b[1];
        double far = sqrt(far_a > far_b ? far_a : far_b);
        if (!isfinite(far_a + far_b))
            return false;
        if (far < THERE * size)
            return reach != GW_DESCEND || gw_normal_system_at(k, a, b, point, s);
        if (reach == GW_ON_BRANCH && (far > farthest || !gw_branch_length_add(&length, far, size)))
            return false;
        double share = far > farthest ? farthest / far : 1;
        for (int j = 0; j < 2; j++)
            y_a[j] *= share, y_b[j] *= share;
        gw_patch_move(&k->on_a, &s->a, y_a, point->a);
        gw_patch_move(&k->on_b, &s->b, y_b, point->b);
        if (far < GW_CONVERGED * size)
            return gw_normal_system_at(k, a, b, point, s);
    }
    return false;
}

/* ---- the search ----------------------------------------------------------------------------- */

/* Sample `i` of a surface or curve; false past the last. */
bool gw_surface_sample(const gw_surface *s, int i, double z[3])
{
    int u = i % GRID, v = i / GRID;
    double x = (u + 0.5) / GRID, y = (v + 0.5) / GRID;
    z[2] = 0;
    if (v >= (gw_surface_is_curve(s) ? 4 : GRID))
        return false;
    if (gw_surface_is_curve(s))
        x = (i + 0.5) / (4 * GRID), y = 0;
    switch (s->kind) {
    case GW_SURFACE_SPHERE:
    case GW_SURFACE_ELLIPSOID: {
        double up = 2 * y - 1, out = sqrt(1 - up * up), turn = 2 * GW_PI * x;
        z[0] = out * cos(turn), z[1] = out * sin(turn), z[2] = up;
        return true;
    }
    case GW_SURFACE_CYLINDER:
        z[0] = 2 * GW_PI * x;
        z[1] = 4 * s->radius * (2 * y - 1);
        return true;
    case GW_SURFACE_RIM:
        z[0] = 2 * GW_PI * x, z[1] = 0;
        return true;
    case GW_SURFACE_PLANE:
    case GW_SURFACE_CORNER:
        z[0] = z[1] = 0;
        return i == 0;
    case GW_SURFACE_FREE_FORM:
    case GW_SURFACE_CURVE:
        for (int k = 0; k < 2; k++) {
            const gw_nurbs_direction *d = &s->nurbs->direction[k];
            z[k] = k < s->nurbs->dimension ? d->low + (k ? y : x) * (d->high - d->low) : 0;
        }
        return true;
    }
    return false;
}

void gw_move_off_apices(const gw_nurbs *n, double z[2])
{
    for (int k = 0; k < n->dimension && n->dimension == 2; k++) {
        const gw_nurbs_direction *d = &n->direction[k];
        double least = BESIDE_APEX * (d->high - d->low);
        if (!n->edge[2 * k] && !n->pole[2 * k] && !d->closed)
            z[k] = fmax(z[k], d->low + least);
        if (!n->edge[2 * k + 1] && !n->pole[2 * k + 1] && !d->closed)
            z[k] = fmin(z[k], d->high - least);
    }
}

/* A contact point of a surface near the point x of its body's frame; the closest one if it has a
 * closed form. */
void gw_surface_point_near(const gw_surface *s, gw_vec3 x, double z[3])
{
    gw_vec3 d = gw_sub(x, s->point), e = gw_any_normal(s->axis), f = gw_cross(s->axis, e);
    gw_nurbs_nearest nearest;
    z[0] = z[1] = z[2] = 0;
    switch (s->kind) {
    case GW_SURFACE_CORNER:
        return;
    case GW_SURFACE_PLANE:
        z[0] = gw_dot(d, e), z[1] = gw_dot(d, f);
        return;
    case GW_SURFACE_CYLINDER:
    case GW_SURFACE_RIM:
        z[0] = atan2(gw_dot(d, f), gw_dot(d, e));
        z[1] = s->kind == GW_SURFACE_CYLINDER ? gw_dot(d, s->axis) : 0;
        return;
    case GW_SURFACE_SPHERE:
    case GW_SURFACE_ELLIPSOID:
        if (s->kind == GW_SURFACE_ELLIPSOID) {
            d = gw_unrotate(s->turn, d);
            d = gw_v3(d.x / s->semi_axes.x, d.y / s->semi_axes.y, d.z / s->semi_axes.z);
        }
        d = gw_norm2(d) > 0 ? gw_unit(d) : gw_v3(1, 0, 0);
        z[0] = d.x, z[1] = d.y, z[2] = d.z;
        return;
    case GW_SURFACE_FREE_FORM:
    case GW_SURFACE_CURVE:
        gw_nurbs_nearest_within(s->nurbs, gw_unrotate(s->turn, d), GW_NURBS_TICK_CELLS, &nearest);
        z[0] = nearest.parameter[0], z[1] = nearest.parameter[1];
        gw_move_off_apices(s->nurbs, z);
        return;
    }
}

gw_vec3 gw_into_body(const gw_body_frame *f, gw_vec3 x)
{
    return gw_mat3_tmul(&f->turn, gw_sub(x, f->p));
}

/* The samples of a with the least height over b, ascending; returns their number. */
static int lowest_samples(const gw_closure_contact *k, const gw_body_frame *a,
                          const gw_body_frame *b, gw_contact_point *found)
{
    double height[CANDIDATES];
    int count = 0;
    gw_contact_point at = {.known = true};
    if (k->on_a.kind == GW_SURFACE_SPHERE) { /* only the point below its centre */
        gw_vec3 centre = gw_add(a->p, gw_mat3_mul(&a->turn, k->on_a.point));
        gw_surface_point_near(&k->on_b, gw_into_body(b, centre), at.b);
        gw_vec3 down = gw_scale(k->inside ? 1 : -1, gw_patch_at(&k->on_b, at.b, b).n);
        down = gw_into_body(a, gw_add(a->p, down));
        at.a[0] = down.x, at.a[1] = down.y, at.a[2] = down.z;
        found[0] = at;
        return 1;
    }
    for (int i = 0; gw_surface_sample(&k->on_a, i, at.a); i++) {
        gw_vec3 x = gw_patch_at(&k->on_a, at.a, a).p;
        gw_surface_point_near(&k->on_b, gw_into_body(b, x), at.b);
        gw_patch below = gw_patch_at(&k->on_b, at.b, b);
        double h = gw_dot(below.n, gw_sub(x, below.p)) * (k->inside ? -1 : 1);
        if (count == CANDIDATES && h >= height[count - 1])
            continue;
        int to = count < CANDIDATES ? count++ : count - 1;
        for (; to > 0 && height[to - 1] > h; to--)
            height[to] = height[to - 1], found[to] = found[to - 1];
        height[to] = h, found[to] = at;
    }
    return count;
}

/* The closest points of two free-form shapes; false if they overlap, or for other surfaces. */
static bool closest_points(const gw_closure_contact *k, const gw_body_frame *a,
                           const gw_body_frame *b, gw_contact_point *at)
{
    const gw_surface *s[2] = {&k->on_a, &k->on_b};
    if (!s[0]->nurbs || !s[1]->nurbs || k->inside)
        return false;
    gw_pose world_from[2];
    gw_nurbs_pair nearest;
    for (int i = 0; i < 2; i++) {
        const gw_body_frame *f = i ? b : a;
        gw_pose body = {f->p, gw_quat_from_mat3(&f->turn)}, on = {s[i]->point, s[i]->turn};
        world_from[i] = gw_pose_mul(&body, &on);
    }
    gw_pose to_a = gw_pose_inverse(&world_from[0]), a_from_b = gw_pose_mul(&to_a, &world_from[1]);
    gw_nurbs_nearest_pair(s[0]->nurbs, s[1]->nurbs, &a_from_b, PAIRS, &nearest);
    *at = (gw_contact_point){.known = true};
    for (int j = 0; j < 2; j++)
        at->a[j] = nearest.parameter[0][j], at->b[j] = nearest.parameter[1][j];
    gw_move_off_apices(s[0]->nurbs, at->a);
    gw_move_off_apices(s[1]->nurbs, at->b);
    return nearest.distance > 0;
}

/* Searches both surfaces for the common normal with the least gap; those at which the surfaces do
 * not cross are preferred. */
static bool search_contact(const gw_closure_contact *k, const gw_body_frame *a,
                           const gw_body_frame *b, gw_contact_point *point, gw_normal_system *s)
{
    gw_contact_point start[CANDIDATES + 1];
    int count = lowest_samples(k, a, b, start);
    bool found = false, crosses = true;
    count += closest_points(k, a, b, &start[count]);
    double least = HUGE_VAL;
    for (int i = 0; i < count; i++) {
        gw_normal_system there;
        gw_contact_point at = start[i];
        if (!gw_common_normal_follow(k, a, b, GW_ANYWHERE, &at, &there) || there.a.beyond ||
            there.b.beyond)
            continue;
        double gap = gw_dot(there.n, there.d);
        bool cross = gw_least_relative_curvature(&there) <= 0;
        if (found && (cross > crosses || (cross == crosses && gap >= least)))
            continue;
        found = true, crosses = cross, least = gap;
        *s = there, *point = at;
    }
    if (!found && count > 0) {
        *point = start[0];
        gw_normal_system_at(k, a, b, point, s);
    }
    point->known = found;
    return found;
}

/* ---- for others ----------------------------------------------------------------------------- */

static bool is_curved(gw_surface_kind kind)
{
    return kind == GW_SURFACE_FREE_FORM || kind == GW_SURFACE_CURVE ||
           kind == GW_SURFACE_ELLIPSOID || kind == GW_SURFACE_CORNER;
}

bool gw_surface_contact_is_general(const gw_closure_contact *k)
{
    bool cylinders = k->on_a.kind == GW_SURFACE_CYLINDER && k->on_b.kind == GW_SURFACE_CYLINDER;
    bool rim = k->on_a.kind == GW_SURFACE_RIM && k->on_b.kind != GW_SURFACE_PLANE;
    return is_curved(k->on_a.kind) || is_curved(k->on_b.kind) || rim || (cylinders && !k->line);
}

/* The velocity of b's point at x. */
static gw_vec3 velocity_of(const gw_body_frame *f, gw_vec3 x)
{
    return gw_add(f->twist.v, gw_cross(f->twist.w, gw_sub(x, f->p)));
}

/* Rates of both points along their tangents. */
static bool find_rates(const gw_normal_system *s, const gw_body_frame *a, const gw_body_frame *b,
                       double y_a[2], double y_b[2])
{
    gw_vec3 slip = gw_sub(velocity_of(a, s->a.p), velocity_of(b, s->b.p));
    gw_vec3 spin = gw_sub(a->twist.w, b->twist.w);
    double right_a[2] = {0, 0}, right_b[2];
    for (int i = 0; i < 2; i++) {
        if (i < s->a.count)
            right_a[i] = -gw_dot(spin, gw_cross(s->a.t[i], s->n));
        right_b[i] = gw_dot(slip, s->b.t[i]) + gw_dot(s->d, gw_cross(b->twist.w, s->b.t[i]));
    }
    return solve_normal(s, right_a, right_b, y_a, y_b);
}

/* Rates of the contact point and the normal. */
static bool put_rates(const gw_normal_system *s, const gw_body_frame *a, const gw_body_frame *b,
                      gw_contact_state *x)
{
    gw_vec3 v_b = velocity_of(b, s->b.p), slip = gw_sub(velocity_of(a, s->a.p), v_b);
    double y_a[2] = {0, 0}, y_b[2] = {0, 0};
    bool moves = find_rates(s, a, b, y_a, y_b);
    x->c_dot = v_b;
    x->n_dot = gw_cross(b->twist.w, s->n);
    for (int j = 0; j < 2 && moves; j++) {
        x->c_dot = gw_mul_add(x->c_dot, y_b[j], s->b.t[j]);
        double turn = s->ii[0][j] * y_b[0] + s->ii[1][j] * y_b[1];
        x->n_dot = gw_mul_add(x->n_dot, -turn, s->b.t[j]);
    }
    /* of a's point c + gap n, from that of b's */
    x->c_dot = gw_add(x->c_dot, gw_mul_add(gw_scale(x->gap, x->n_dot), gw_dot(s->n, slip), s->n));
    return moves;
}

void gw_contact_point_begin(gw_contact_point *point)
{
    assert(point);
    point->in_step = true;
    point->lost = false;
    memcpy(point->start_a, point->a, sizeof point->a);
    memcpy(point->start_b, point->b, sizeof point->b);
}

void gw_contact_point_release(gw_contact_point *point)
{
    assert(point);
    point->in_step = point->lost = false;
}

bool gw_contact_point_is_lost(gw_contact_point *point)
{
    assert(point);
    point->lost = point->in_step && point->known;
    if (point->lost) {
        memcpy(point->a, point->start_a, sizeof point->a);
        memcpy(point->b, point->start_b, sizeof point->b);
    }
    return point->lost;
}

void gw_contact_point_replaces(gw_contact_point *point, const gw_contact_point *before)
{
    assert(point && before);
    point->searched = true;
    point->before = before->before;
    point->in_step = false;
}

/* In a step Newton's method may converge beside a fold of the branch, to the other branch, on which
 * the surfaces cross: then it is tried again from the substep's start. */
static bool follow_branch(const gw_closure_contact *k, const gw_body_frame *a,
                          const gw_body_frame *b, gw_contact_point *point, gw_normal_system *s)
{
    bool found = gw_common_normal_follow(k, a, b, GW_ON_BRANCH, point, s);
    if (!point->in_step || (found && gw_least_relative_curvature(s) > 0))
        return found;
    memcpy(point->a, point->start_a, sizeof point->a);
    memcpy(point->b, point->start_b, sizeof point->b);
    return gw_common_normal_follow(k, a, b, GW_ON_BRANCH, point, s) &&
           gw_least_relative_curvature(s) > 0;
}

bool gw_surface_contact_at(const gw_closure_contact *k, const gw_body_frame *a,
                           const gw_body_frame *b, gw_contact_point *point, gw_contact_state *x)
{
    gw_normal_system s = {.n = {0, 0, 1}};
    gw_contact_point at = *point;
    bool found = point->known && !point->lost && follow_branch(k, a, b, &at, &s);
    if (!found) {
        at = *point;
        if (gw_contact_point_is_lost(&at)) {
            gw_normal_system_at(k, a, b, &at, &s);
        } else {
            found = search_contact(k, a, b, &at, &s);
            gw_contact_point_replaces(&at, point);
        }
    }
    *point = at;
    *x = (gw_contact_state){.c = s.a.p, .n = s.n, .gap = gw_dot(s.n, s.d)};
    x->beyond = s.a.beyond || s.b.beyond;
    x->curvature = gw_least_relative_curvature(&s);
    point->now.at = gw_into_body(b, x->c);
    point->now.on_a = gw_into_body(a, x->c);
    point->now.curvature = found ? x->curvature : 0;
    for (int i = 0; i < 2; i++) {
        gw_vec3 axis = {a->turn.m[0][i], a->turn.m[1][i], a->turn.m[2][i]};
        point->now.axes[i] = gw_mat3_tmul(&b->turn, axis);
    }
    x->conforms = fabs(x->curvature) < GW_CONFORMING / gw_contact_size(k);
    if (!found || x->conforms)
        return false;
    return put_rates(&s, a, b, x);
}

gw_body_frame gw_frame_after(const gw_body_frame *f, double t)
{
    gw_body_frame to = *f;
    gw_quat turn = gw_quat_exp(gw_scale(t, f->twist.w));
    to.p = gw_mul_add(f->p, t, f->twist.v);
    for (int i = 0; i < 3; i++) {
        gw_vec3 axis = gw_rotate(turn, gw_v3(f->turn.m[0][i], f->turn.m[1][i], f->turn.m[2][i]));
        to.turn.m[0][i] = axis.x, to.turn.m[1][i] = axis.y, to.turn.m[2][i] = axis.z;
    }
    return to;
}

gw_curvature_change gw_surface_contact_change(const gw_closure_contact *k, const gw_body_frame *a,
                                              const gw_body_frame *b)
{
    gw_normal_system s, then;
    double y_a[2] = {0, 0}, y_b[2] = {0, 0}, size = gw_contact_size(k);
    gw_normal_system_at(k, a, b, &k->point, &s);
    find_rates(&s, a, b, y_a, y_b);
    double speed = fmax(hypot(y_a[0], y_a[1]), hypot(y_b[0], y_b[1]));
    speed = fmax(speed, size * fmax(gw_norm(a->twist.w), gw_norm(b->twist.w)));
    speed = fmax(speed, fmax(gw_norm(a->twist.v), gw_norm(b->twist.v)));
    double t = GW_SHORT_WAY * size / fmax(speed, GW_SLOW * size);
    double found[2];
    for (int i = 0; i < 2; i++) {
        double by = i ? t : -t, go_a[2] = {by * y_a[0], by * y_a[1]};
        double go_b[2] = {by * y_b[0], by * y_b[1]};
        gw_body_frame to_a = gw_frame_after(a, by), to_b = gw_frame_after(b, by);
        gw_contact_point at = k->point;
        gw_patch_move(&k->on_a, &s.a, go_a, at.a);
        gw_patch_move(&k->on_b, &s.b, go_b, at.b);
        bool there = gw_normal_system_at(k, &to_a, &to_b, &at, &then);
        found[i] = there ? gw_least_relative_curvature(&then) : NAN;
    }
    return (gw_curvature_change){t, found[0], found[1]};
}

/* A contact that stays on its branch goes theta / K where the bodies turn by theta: far, in a step,
 * over a side that is nearly flat. One that leaves it goes as far on both bodies, a small one that
 * slides on a large one far on that only. */
bool gw_contact_is_degenerate(const gw_closure_contact *k)
{
    const gw_contact_curvature *now = &k->point.now, *before = &k->point.before;
    double size = gw_contact_size(k), least = fmin(fabs(now->curvature), fabs(before->curvature));
    if (before->curvature == 0)
        return false;
    if (now->curvature * before->curvature <= 0 || fabs(now->curvature) < NEARLY / size)
        return true;
    double length = fmin(gw_distance(now->at, before->at), gw_distance(now->on_a, before->on_a));
    double turn = hypot(gw_distance(now->axes[0], before->axes[0]),
                        gw_distance(now->axes[1], before->axes[1]));
    return length > GW_JUMP * size && length * least > ROLLED * turn;
}

/*
 * The adjoint of the equations above: with x' = p . y_a' + q . y_b' and both sides' rates from
 * r = (w_a - w_b) . (n x a_i) and g,
 *   beta = H^-T q,  gamma = K^-T (p + C^T beta),  x' = gamma . r + (beta - (N H^-1)^T gamma) . g
 */
static void gradient_of(const gw_normal_system *s, const double p[2], const double q[2],
                        const gw_body_frame *a, const gw_body_frame *b, gw_edge *e)
{
    double beta[2], gamma[2] = {0, 0}, rho[2], inverse[2][2], right[2];
    for (int i = 0; i < 2; i++)
        beta[i] = s->h[0][i] * q[0] + s->h[1][i] * q[1];
    for (int i = 0; i < 2; i++)
        right[i] = p[i] + s->c[0][i] * beta[0] + s->c[1][i] * beta[1];
    if (s->a.count == 1)
        gamma[0] = right[0] / s->k[0][0];
    else if (gw_invert2((const double(*)[2])s->k, inverse))
        for (int i = 0; i < 2; i++)
            gamma[i] = inverse[0][i] * right[0] + inverse[1][i] * right[1];
    gw_vec3 f = {0, 0, 0}, spin = {0, 0, 0}, turn = {0, 0, 0};
    for (int i = 0; i < 2; i++) {
        rho[i] = beta[i] - s->nh[0][i] * gamma[0] - s->nh[1][i] * gamma[1];
        f = gw_mul_add(f, rho[i], s->b.t[i]);
        turn = gw_mul_add(turn, rho[i], gw_cross(s->b.t[i], s->d));
        if (i < s->a.count)
            spin = gw_mul_add(spin, gamma[i], gw_cross(s->n, s->a.t[i]));
    }
    double by = e->per_parameter;
    f = gw_scale(by, f), spin = gw_scale(by, spin), turn = gw_scale(by, turn);
    e->on_a = (gw_wrench){f, gw_add(gw_cross(gw_sub(s->a.p, a->p), f), spin)};
    e->on_b = (gw_wrench){gw_neg(f), gw_sub(gw_sub(turn, spin), gw_cross(gw_sub(s->b.p, b->p), f))};
}

int gw_surface_contact_edges(const gw_closure_contact *k, const gw_body_frame *a,
                             const gw_body_frame *b, bool all, gw_edge *edges)
{
    int count = 0;
    bool found = false;
    gw_normal_system s;
    if (gw_contact_is_of_curves(k))
        return gw_curve_contact_edges(k, a, b, all, edges);
    for (int side = 0; side < 2; side++) {
        const gw_nurbs *shape = (side ? &k->on_b : &k->on_a)->nurbs;
        const double *x = side ? k->point.b : k->point.a;
        for (int i = 0; shape && i < shape->dimension; i++) {
            if (!gw_edge_at(shape, side, i, x[i], all, &edges[count]))
                continue;
            found = found || gw_normal_system_at(k, a, b, &k->point, &s);
            if (!found)
                return 0;
            const gw_patch *own = side ? &s.b : &s.a;
            double none[2] = {0, 0}, rate[2] = {own->to[i][0], own->to[i][1]};
            if (own->count == 1)
                rate[1] = 0;
            gradient_of(&s, side ? none : rate, side ? rate : none, a, b, &edges[count]);
            count++;
        }
    }
    return count;
}
