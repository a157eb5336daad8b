/*
 * The pose of a submanifold nearest to a given one, by f = |dp|^2 + (L theta)^2. Any thread, RT
 * safe.
 *
 * Given the rotation R, the translation follows in closed form: the point that has to be on the
 * locus is at X(R) when the body rotates about its origin, and moves to the nearest point Y of the
 * locus, |dp| = |X - Y|. A search over the rotational factor remains:
 *
 *   - none, where rotation does not change that distance: the nearest rotation is the answer;
 *   - one angle, where X moves on a circle: axis sets, and free rotations whose locus is symmetric
 *     about one direction (plane, sphere, point), which rotate towards it;
 *   - a sphere, for other free rotations;
 *   - one angle again for an angle set whose plane is normal to one of its axes (a line that is
 *     parallel to a plane);
 *   - both angles of other angle sets: Levenberg's method from a grid of starts, the best of them;
 *   - one loop, of two angles with a free-form locus (other loci: nearest_multistart.c).
 *
 * The gradient of |X - Y|^2 is 2 (X - Y), whatever the locus.
 */
#include <assert.h>

#include "rt/geometry/along_normal.h"
#include "rt/geometry/locus.h"
#include "rt/geometry/two_angles.h"

typedef struct search {
    const gw_submanifold *set;
    const gw_pose *near;
    double length;
} search;

typedef struct candidate {
    gw_pose pose;
    double turn; /* L theta */
    double f;    /* |dp|^2 + (L theta)^2 */
} candidate;

/* X(R), in the frame of the locus. */
static gw_vec3 point_at(const search *s, gw_quat q)
{
    const gw_translation_set *t = &s->set->translation;
    return t->in_mobile ? gw_unrotate(q, gw_sub(t->of, s->near->p))
                        : gw_add(s->near->p, gw_rotate(q, t->of));
}

/* True for the wanted rotation itself, whose angle is exactly zero. */
static bool same_rotation(gw_quat a, gw_quat b)
{
    return a.w == b.w && a.x == b.x && a.y == b.y && a.z == b.z;
}

/* The best pose with rotation q, and its f. */
static candidate best_at_rotation(const search *s, gw_quat q)
{
    const gw_translation_set *t = &s->set->translation;
    gw_vec3 x = point_at(s, q), y = gw_locus_nearest(&t->locus, x);
    gw_vec3 move = gw_sub(y, x);
    candidate c;
    c.pose.q = q;
    /* exact on the locus: from Y, not by adding the move */
    c.pose.p = t->in_mobile ? gw_sub(t->of, gw_rotate(q, y)) : gw_sub(y, gw_rotate(q, t->of));
    c.turn = same_rotation(q, s->near->q) ? 0 : s->length * gw_quat_angle(q, s->near->q);
    c.f = gw_norm2(move) + c.turn * c.turn;
    return c;
}

/* R(axis, psi) q0 nearest to q: the half angle of the turn about the axis contained in q q0^-1. */
static gw_quat nearest_about(gw_vec3 axis, gw_quat q0, gw_quat q)
{
    gw_quat d = gw_quat_mul(q, gw_quat_conj(q0));
    double along = d.x * axis.x + d.y * axis.y + d.z * axis.z, n = hypot(along, d.w);
    if (n < 1e-12)
        return q0;
    double s = along / n;
    return gw_quat_mul((gw_quat){d.w / n, s * axis.x, s * axis.y, s * axis.z}, q0);
}

/* The rotation of the factor nearest to q. */
static gw_quat nearest_rotation(const gw_rotation_set *r, gw_quat q)
{
    if (r->kind == GW_ROTATION_FREE)
        return q;
    if (r->kind == GW_ROTATION_AXIS)
        return nearest_about(r->axis, r->zero, q);
    if (r->kind != GW_ROTATION_ANGLE)
        return r->zero;
    /* turn y = R u about axis x y until its angle with the axis is right */
    gw_vec3 y = gw_rotate(q, r->axis_body), across = gw_cross(r->axis, y);
    double sine = gw_norm(across);
    gw_vec3 about = sine > 1e-12 ? gw_scale(1 / sine, across) : gw_any_normal(r->axis);
    double now = atan2(sine, gw_dot(r->axis, y));
    return gw_quat_unit(gw_quat_mul(gw_quat_axis(about, r->angle - now), q));
}

/* ---- searches on a circle or a sphere ------------------------------------------------------- */

/* The circle of X under the rotations R(axis, psi) q1. */
static gw_circle_distance circle_about(const search *s, gw_vec3 axis, gw_quat q1)
{
    const gw_translation_set *t = &s->set->translation;
    gw_circle_distance r = {.length = s->length, .locus = &t->locus};
    gw_vec3 arm = t->in_mobile ? gw_sub(t->of, s->near->p) : gw_rotate(q1, t->of);
    gw_vec3 along = gw_scale(gw_dot(arm, axis), axis), out = gw_sub(arm, along);
    gw_vec3 side = gw_cross(axis, out);
    if (t->in_mobile) { /* X = R1^T R(axis, -psi) arm */
        r.c = gw_unrotate(q1, along);
        r.a = gw_unrotate(q1, out);
        r.b = gw_neg(gw_unrotate(q1, side));
    } else {
        r.c = gw_add(s->near->p, along);
        r.a = out;
        r.b = side;
    }
    return r;
}

static candidate at_turn(const search *s, gw_vec3 axis, double psi, gw_quat q1)
{
    return best_at_rotation(s, gw_quat_unit(gw_quat_mul(gw_quat_axis(axis, psi), q1)));
}

/* Searches q(psi) = R(axis, psi) q1, q1 the nearest: cos(theta/2) = c0 cos(psi/2). */
static candidate over_circle(const search *s, gw_vec3 axis, gw_quat q1)
{
    gw_circle_distance r = circle_about(s, axis, q1);
    double c0 = fabs(gw_quat_dot(q1, s->near->q));
    r.straight = c0 > 1 - 1e-15;
    r.k0 = r.k1 = 0.5 * c0 * c0;
    r.k2 = 0;
    return at_turn(s, axis, gw_circle_distance_minimum(&r), q1);
}

/* The coefficients of cos(theta/2)^2 in psi, theta being the least angle over rotations about
 * `free` from the wanted rotation to cos(psi/2) d0 + sin(psi/2) d1. */
static void half_angles(gw_quat d0, gw_quat d1, gw_vec3 free, gw_circle_distance *r)
{
    double a0 = d0.w, b0 = gw_dot(gw_v3(d0.x, d0.y, d0.z), free);
    double a1 = d1.w, b1 = gw_dot(gw_v3(d1.x, d1.y, d1.z), free);
    double even = a0 * a0 + b0 * b0, odd = a1 * a1 + b1 * b1;
    r->straight = false;
    r->k0 = 0.5 * (even + odd);
    r->k1 = 0.5 * (even - odd);
    r->k2 = a0 * a1 + b0 * b1;
}

/*
 * Angle sets whose plane is normal to one of the two axes: rotation about that axis moves X within
 * the plane, so the search is over the other angle, and the first one is the nearest for it.
 */
static candidate over_plane(const search *s, gw_quat q1)
{
    const gw_rotation_set *r = &s->set->rotation;
    gw_quat back = gw_quat_conj(s->near->q);
    if (s->set->translation.in_mobile) {
        gw_quat k = {0, r->axis.x, r->axis.y, r->axis.z};
        gw_circle_distance circle = circle_about(s, r->axis, q1);
        half_angles(gw_quat_mul(back, q1), gw_quat_mul(gw_quat_mul(back, k), q1), r->axis_body,
                    &circle);
        gw_quat q = gw_quat_mul(gw_quat_axis(r->axis, gw_circle_distance_minimum(&circle)), q1);
        return best_at_rotation(
            s, gw_quat_unit(nearest_about(gw_rotate(q, r->axis_body), q, s->near->q)));
    }
    gw_vec3 axis = gw_rotate(q1, r->axis_body);
    gw_quat k = {0, axis.x, axis.y, axis.z};
    gw_circle_distance circle = circle_about(s, axis, q1);
    half_angles(gw_quat_mul(q1, back), gw_quat_mul(gw_quat_mul(k, q1), back), r->axis, &circle);
    gw_quat q = gw_quat_mul(gw_quat_axis(axis, gw_circle_distance_minimum(&circle)), q1);
    return best_at_rotation(s, gw_quat_unit(nearest_about(r->axis, q, s->near->q)));
}

/* Free rotations: the point may be anywhere on a sphere about its pivot, by the smallest rotation
 * that takes it there. */
static candidate over_sphere(const search *s)
{
    const gw_translation_set *t = &s->set->translation;
    gw_quat q = s->near->q;
    gw_vec3 pivot = t->in_mobile ? gw_v3(0, 0, 0) : s->near->p;
    gw_vec3 arm = gw_sub(point_at(s, q), pivot);
    gw_sphere_distance sphere = {pivot, gw_norm(arm), gw_unit(arm), s->length, &t->locus};
    gw_quat turn = gw_quat_between(sphere.u0, gw_sphere_distance_minimum(&sphere));
    return best_at_rotation(
        s, gw_quat_unit(t->in_mobile ? gw_quat_mul(q, gw_quat_conj(turn)) : gw_quat_mul(turn, q)));
}

/* ---- more angles ---------------------------------------------------------------------------- */

/* World axes of an angle set's rotations at q. */
static void turns_at(const gw_rotation_set *r, gw_quat q, gw_vec3 out[2])
{
    out[0] = r->axis;
    out[1] = gw_rotate(q, r->axis_body);
}

static gw_quat rotate_in_set(const gw_rotation_set *r, gw_quat q, const double *by)
{
    return gw_quat_unit(gw_quat_mul(gw_quat_mul(gw_quat_axis(r->axis, by[0]), q),
                                    gw_quat_axis(r->axis_body, by[1])));
}

/*
 * Half gradient and Gauss-Newton matrix of f along the angle set's axes k_i: with d = X - Y in
 * world axes and the arm r from the body's origin to the point,
 *   f'_i / 2 = k_i . (r x d) + L^2 k_i . log
 *   f''_ij / 2 ~ (k_i x r)_N . (k_j x r)_N + L^2 k_i . k_j
 * where N leaves out the components along the locus's tangents. For a locus of the body d changes
 * its sign.
 */
static void normal_equations(const search *s, gw_quat q, double g[2], double m[2][2])
{
    const gw_translation_set *t = &s->set->translation;
    gw_vec3 k[2], slides[3], swing[2];
    turns_at(&s->set->rotation, q, k);
    gw_vec3 x = point_at(s, q), y = gw_locus_nearest(&t->locus, x), d = gw_sub(x, y);
    gw_vec3 arm = t->in_mobile ? gw_sub(t->of, s->near->p) : gw_rotate(q, t->of);
    int tangents = gw_locus_tangent(&t->locus, y, slides);
    if (t->in_mobile)
        d = gw_neg(gw_rotate(q, d));
    gw_vec3 turn = gw_quat_log(gw_quat_mul(q, gw_quat_conj(s->near->q)));
    double ll = s->length * s->length;
    for (int i = 0; i < 2; i++) {
        swing[i] = gw_cross(k[i], arm);
        g[i] = gw_dot(swing[i], d) + ll * gw_dot(k[i], turn);
        for (int j = 0; j < tangents; j++)
            swing[i] = gw_reject(swing[i], t->in_mobile ? gw_rotate(q, slides[j]) : slides[j]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            m[i][j] = gw_dot(swing[i], swing[j]) + ll * gw_dot(k[i], k[j]);
}

/* Solves (M + damping max|m_ii| I) x = g. */
static void solve2(double m[2][2], double damping, const double *g, double *x)
{
    double raise = damping * fmax(fabs(m[0][0]), fabs(m[1][1]));
    double a = m[0][0] + raise, d = m[1][1] + raise, b = m[0][1], det = a * d - b * b;
    x[0] = det != 0 ? (d * g[0] - b * g[1]) / det : 0;
    x[1] = det != 0 ? (a * g[1] - b * g[0]) / det : 0;
}

/* The whole second derivative, by central differences of the gradient: it includes the curvature
 * that the Gauss-Newton matrix leaves out, so that the last digits converge. */
static void hessian_by_differences(const search *s, gw_quat q, double g[2], double m[2][2])
{
    const double h = 1e-5;
    double ignored[2][2], plus[2], minus[2];
    normal_equations(s, q, g, ignored);
    for (int i = 0; i < 2; i++) {
        double by[2] = {0, 0};
        by[i] = h;
        normal_equations(s, rotate_in_set(&s->set->rotation, q, by), plus, ignored);
        by[i] = -h;
        normal_equations(s, rotate_in_set(&s->set->rotation, q, by), minus, ignored);
        for (int j = 0; j < 2; j++)
            m[i][j] = (plus[j] - minus[j]) / (2 * h);
    }
    m[0][1] = m[1][0] = 0.5 * (m[0][1] + m[1][0]);
}

/* Levenberg's method with either matrix. */
static candidate descend_by_levenberg(const search *s, candidate from, int steps,
                                      void (*matrix)(const search *, gw_quat, double[2],
                                                     double[2][2]))
{
    double damping = 1e-6;
    for (int i = 0; i < steps; i++) {
        double g[2], m[2][2], step[2];
        matrix(s, from.pose.q, g, m);
        candidate next = from;
        for (int tries = 0; tries < 14 && !(next.f < from.f); tries++) {
            solve2(m, damping, g, step);
            step[0] = -step[0];
            step[1] = -step[1];
            next = best_at_rotation(s, rotate_in_set(&s->set->rotation, from.pose.q, step));
            damping *= next.f < from.f ? 0.1 : 5;
        }
        if (!(next.f < from.f))
            break;
        bool small = from.f - next.f < 1e-15 * from.f;
        from = next;
        damping = fmax(damping, 1e-12);
        if (small)
            break;
    }
    return from;
}

static candidate descend_to_minimum(const search *s, candidate from)
{
    from = descend_by_levenberg(s, from, 12, normal_equations);
    return descend_by_levenberg(s, from, 20, hessian_by_differences);
}

#define MAX_STARTS 5

/* Inserts a candidate into the list of the MAX_STARTS best, best first. Returns their number. */
static int keep_best(candidate *list, int count, const candidate *c)
{
    int at = count < MAX_STARTS ? count : MAX_STARTS;
    if (at == MAX_STARTS && c->f >= list[MAX_STARTS - 1].f)
        return count;
    if (at == MAX_STARTS)
        at = MAX_STARTS - 1;
    while (at > 0 && list[at - 1].f > c->f) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = *c;
    return count < MAX_STARTS ? count + 1 : MAX_STARTS;
}

/* Angle sets: a grid of both angles, and descents from its best. */
static candidate over_turns(const search *s, gw_quat q1, const candidate *first)
{
    candidate best = descend_to_minimum(s, *first), list[MAX_STARTS];
    int count = 0;
    for (int i = 0; i < 144; i++) {
        double by[2] = {2 * GW_PI * (i % 12) / 12, 2 * GW_PI * (i / 12) / 12};
        candidate c = best_at_rotation(s, rotate_in_set(&s->set->rotation, q1, by));
        count = keep_best(list, count, &c);
    }
    for (int i = 0; i < count; i++) {
        candidate c = descend_to_minimum(s, list[i]);
        if (c.f < best.f)
            best = c;
    }
    return best;
}

/* ---- two angles ----------------------------------------------------------------------------- */

#define LOOP_SAMPLES 64
#define LOOP_STEPS   60

typedef struct loop_point {
    candidate c;
    double psi;
    double slope; /* of f by psi, times a positive factor */
} loop_point;

/*
 * The best pose at psi of two angles. With k the axis about which R turns while psi rises, r the
 * arm from the body's origin to the point, and dp the move,
 *   f' / 2 = L^2 k . log - (k x r) . dp.
 */
static loop_point at_loop(const search *s, double psi)
{
    const double h = 1e-4;
    const gw_translation_set *t = &s->set->translation;
    const gw_rotation_set *r = &s->set->rotation;
    loop_point at = {.psi = psi};
    gw_quat q = gw_two_angles_rotation(r, psi);
    at.c = best_at_rotation(s, q);
    gw_vec3 arm = t->in_mobile ? gw_sub(t->of, s->near->p) : gw_rotate(q, t->of);
    gw_vec3 turn = gw_quat_log(gw_quat_mul(q, gw_quat_conj(s->near->q)));
    gw_vec3 k = gw_two_angles_axis(r, q);
    at.slope = s->length * s->length * gw_dot(k, turn) -
               gw_dot(gw_cross(k, arm), gw_sub(at.c.pose.p, s->near->p));
    gw_quat back = gw_quat_conj(gw_two_angles_rotation(r, psi - h));
    if (gw_dot(k, gw_quat_log(gw_quat_mul(gw_two_angles_rotation(r, psi + h), back))) < 0)
        at.slope = -at.slope;
    return at;
}

/* The minimum between a falling and a rising point, by the slope: false position with halved ends
 * (Illinois), and bisection where the slope jumps, as where another part of the locus is nearer. */
static candidate bracketed_minimum(const search *s, loop_point a, loop_point b)
{
    candidate best = a.c.f < b.c.f ? a.c : b.c;
    for (int i = 0, side = 0; i < LOOP_STEPS && b.psi - a.psi > 1e-15; i++) {
        double share = i % 3 == 2 ? 0.5 : a.slope / (a.slope - b.slope);
        loop_point m = at_loop(s, a.psi + share * (b.psi - a.psi));
        if (m.c.f < best.f)
            best = m.c;
        if (m.slope == 0 || m.psi <= a.psi || m.psi >= b.psi)
            break;
        int now = m.slope < 0 ? -1 : 1;
        *(now < 0 ? &a : &b) = m;
        if (now == side)
            *(now < 0 ? &b.slope : &a.slope) *= 0.5;
        side = now;
    }
    return best;
}

/* Two angles: the best of the minima between samples round the loop. */
static candidate over_loop(const search *s)
{
    loop_point last = at_loop(s, -GW_PI);
    candidate best = last.c;
    for (int i = 1; i <= LOOP_SAMPLES; i++) {
        loop_point next = at_loop(s, 2 * GW_PI * i / LOOP_SAMPLES - GW_PI);
        candidate c = last.slope < 0 && next.slope >= 0 ? bracketed_minimum(s, last, next) : next.c;
        if (c.f < best.f)
            best = c;
        last = next;
    }
    return best;
}

/* ---- selection of the search ----------------------------------------------------------------- */

/* True where rotations within the factor do not change |X - Y|. */
static bool rotation_is_decoupled(const search *s)
{
    const gw_rotation_set *r = &s->set->rotation;
    const gw_translation_set *t = &s->set->translation;
    if (t->locus.kind == GW_LOCUS_FREE || r->kind == GW_ROTATION_FIXED)
        return true;
    gw_vec3 arm = t->in_mobile ? gw_sub(t->of, s->near->p) : t->of;
    double small = 1e-14 * (gw_norm(arm) + s->length);
    if (gw_norm(arm) <= small)
        return true;
    if (r->kind != GW_ROTATION_AXIS)
        return false;
    gw_vec3 axis = t->in_mobile ? r->axis : r->axis_body;
    if (gw_norm(gw_reject(arm, axis)) <= small)
        return true;
    gw_vec3 normal_axis = t->in_mobile ? r->axis_body : r->axis;
    return t->locus.kind == GW_LOCUS_PLANE && gw_norm(gw_cross(t->locus.e3, normal_axis)) < 1e-14;
}

/* A free rotation with a locus symmetric about one direction: the axis to rotate about. */
static bool turning_axis(const search *s, gw_vec3 *axis)
{
    const gw_translation_set *t = &s->set->translation;
    gw_locus_kind kind = t->locus.kind;
    if (kind != GW_LOCUS_PLANE && kind != GW_LOCUS_SPHERE && kind != GW_LOCUS_POINT)
        return false;
    gw_quat q = s->near->q;
    gw_vec3 pivot = t->in_mobile ? gw_v3(0, 0, 0) : s->near->p;
    gw_vec3 arm = gw_sub(point_at(s, q), pivot);
    gw_vec3 c = kind == GW_LOCUS_PLANE ? t->locus.e3 : gw_sub(t->locus.origin, pivot);
    gw_vec3 k = gw_cross(arm, c);
    double small = 1e-12 * gw_norm(arm) * gw_norm(c);
    gw_vec3 about = gw_norm(k) > small ? gw_unit(k) : gw_any_normal(gw_unit(arm));
    *axis = t->in_mobile ? gw_neg(gw_rotate(q, about)) : about;
    return true;
}

/* An angle set with a plane normal to the axis on its side. */
static bool plane_across(const search *s)
{
    const gw_translation_set *t = &s->set->translation;
    gw_vec3 axis = t->in_mobile ? s->set->rotation.axis_body : s->set->rotation.axis;
    return t->locus.kind == GW_LOCUS_PLANE && gw_norm(gw_cross(t->locus.e3, axis)) < 1e-14;
}

static candidate closed_nearest(const search *s)
{
    gw_quat q1 = nearest_rotation(&s->set->rotation, s->near->q);
    candidate first = best_at_rotation(s, q1);
    if (rotation_is_decoupled(s))
        return first;
    if (first.f <= first.turn * first.turn)
        return first; /* neither part can be smaller */
    gw_vec3 axis = s->set->rotation.axis;
    candidate c;
    if (s->set->rotation.kind == GW_ROTATION_AXIS)
        c = over_circle(s, axis, q1);
    else if (s->set->rotation.kind == GW_ROTATION_FREE && turning_axis(s, &axis))
        c = over_circle(s, axis, q1);
    else if (s->set->rotation.kind == GW_ROTATION_FREE)
        c = over_sphere(s);
    else if (plane_across(s))
        c = over_plane(s, q1);
    else
        c = over_turns(s, q1, &first);
    return c.f < first.f ? c : first;
}

double gw_submanifold_nearest(const gw_submanifold *set, const gw_pose *near, double length,
                              gw_pose *nearest)
{
    assert(length > 0 && nearest);
    if (set->general)
        return gw_submanifold_nearest_general(set, near, length, nearest);
    search s = {set, near, length};
    gw_locus_kind locus = set->translation.locus.kind;
    bool two_angles = set->rotation.kind == GW_ROTATION_TWO_ANGLES;
    if (two_angles && (locus == GW_LOCUS_CURVE || locus == GW_LOCUS_SURFACE)) {
        candidate c = over_loop(&s);
        *nearest = c.pose;
        return sqrt(c.f);
    }
    if (set->translation.shift_count > 0 || two_angles)
        return gw_submanifold_nearest_multistart(
            set, near, length, nearest_rotation(&set->rotation, near->q), nearest);
    if (gw_rotation_follows_locus(set->rotation.kind))
        return gw_along_normal_nearest(set, near, length, nearest);
    candidate c = closed_nearest(&s);
    *nearest = c.pose;
    return sqrt(c.f);
}
