/*
 * Gaps of unilateral constraints, their normals and contact points, by kind of row; the header has
 * the equations. Pure functions: any thread, RT safe.
 */
#include "rt/contact/unilateral_row.h"

#include <assert.h>
#include <math.h>

#include "rt/geometry/nurbs_nearest.h"

#define COINCIDENT 1e-12 /* m: points nearer have no direction between them */
#define PARALLEL   1e-3  /* sine of the angle from which on lines have a common normal */
#define UNIT       1e-12 /* of the square of a unit vector's length */
#define ALIGNED    1e-9  /* sine from which on an angle has an axis */

/* A row with d(gap)/dt = n . (v_a - v_b), the velocities of both bodies' points at `at`. */
static gw_gap gap_along(gw_vec3 n, double h, gw_vec3 at)
{
    return (gw_gap){.gap = h, .normal = n, .at_a = at, .at_b = at};
}

/* h = |d|, n = d / |d|; `either`: the direction if d vanishes. */
static gw_gap length_of(gw_vec3 d, gw_vec3 either, gw_vec3 at)
{
    double h = gw_norm(d);
    return gap_along(h > COINCIDENT ? gw_scale(1 / h, d) : either, h, at);
}

/* Height of point x of a, or of the point of another element of a, over a plane: h = n . (x - p).
 */
static gw_gap over_plane(const gw_element *plane, gw_vec3 x)
{
    return gap_along(plane->d, gw_dot(plane->d, gw_sub(x, plane->p)), x);
}

static gw_gap from_line(const gw_element *line, gw_vec3 x)
{
    return length_of(gw_reject(gw_sub(x, line->p), line->d), gw_any_normal(line->d), x);
}

/* The nearest of the row's minima, or the first one; searched for where it has none. */
static gw_distance_minimum minimum_of(const gw_unilateral_row *row, const gw_element *a,
                                      const gw_element *b, gw_distance_at *at)
{
    gw_distance_minimum least = {.known = false};
    gw_distance_at there;
    for (int i = 0; i < (row->nearest ? GW_BOUND_MINIMA : 1); i++) {
        gw_distance_minimum minimum = row->minima[i];
        if (!minimum.known)
            continue;
        gw_distance_follow(a, b, row->of, &minimum, &there);
        if (least.known && gw_distance(at->on_a, at->on_b) <= gw_distance(there.on_a, there.on_b))
            continue;
        least = minimum;
        *at = there;
    }
    if (!least.known)
        gw_distance_nearest(a, b, row->of, GW_NURBS_TICK_CELLS, &least, at);
    return least;
}

static gw_gap from_free_form(const gw_unilateral_row *row, const gw_element *a, const gw_element *b)
{
    gw_distance_at at;
    minimum_of(row, a, b, &at);
    gw_gap g = gap_along(at.normal, at.value, at.at);
    g.general = fabs(gw_norm2(at.normal) - 1) > UNIT;
    return g;
}

/* The gap with bodies a and b exchanged. */
static gw_gap exchange_sides(gw_gap g)
{
    g.normal = gw_neg(g.normal);
    return g;
}

/* h = |n . (p_a - p_b)|, n = d_a x d_b / |d_a x d_b|; it acts where the common normal meets a. */
static gw_gap between_lines(const gw_element *a, const gw_element *b)
{
    gw_vec3 across = gw_cross(a->d, b->d), apart = gw_sub(a->p, b->p);
    double s2 = gw_norm2(across);
    if (s2 < PARALLEL * PARALLEL)
        return from_line(b, a->p);
    gw_vec3 n = gw_scale(1 / sqrt(s2), across);
    double h = gw_dot(n, apart), way = gw_dot(gw_cross(b->d, apart), across) / s2;
    if (h < 0)
        n = gw_neg(n);
    return gap_along(n, fabs(h), gw_mul_add(a->p, way, a->d));
}

static gw_gap distance_between(const gw_unilateral_row *row, const gw_element *a,
                               const gw_element *b)
{
    if (gw_is_free_form(a->kind) || gw_is_free_form(b->kind))
        return from_free_form(row, a, b);
    if (b->kind == GW_PLANE)
        return over_plane(b, a->p);
    if (a->kind == GW_PLANE)
        return exchange_sides(over_plane(a, b->p));
    if (a->kind == GW_LINE && b->kind == GW_LINE)
        return between_lines(a, b);
    if (b->kind == GW_LINE)
        return from_line(b, a->p);
    if (a->kind == GW_LINE)
        return exchange_sides(from_line(a, b->p));
    return length_of(gw_sub(a->p, b->p), gw_v3(0, 0, 1), a->p);
}

/*
 * The angle to the tangent of a curve or the normal of a surface, t, at its point closest to the
 * other element's point x: with c = d x t, f = d . t and w of d's body relative to t's,
 *
 *   df/dt = w . c + grad_x f . x',    d(angle)/dt = -+ df/dt / |c|
 */
static gw_gap angle_to_shape(const gw_unilateral_row *row, const gw_element *a, const gw_element *b)
{
    bool is_a = gw_is_free_form(a->kind);
    const gw_element *shape = is_a ? a : b, *other = is_a ? b : a;
    gw_element point = {.kind = GW_POINT, .p = other->p};
    gw_distance_at at;
    gw_distance_minimum minimum = minimum_of(row, is_a ? a : &point, is_a ? &point : b, &at);
    gw_vec3 d = other->d, t, gradient;
    gw_distance_direction(is_a ? a : &point, is_a ? &point : b, &minimum, d, &t, &gradient);
    gw_vec3 c = gw_cross(d, t);
    double s = gw_norm(c), cosine = gw_dot(d, t);
    bool mixed = (other->kind == GW_LINE) == (shape->kind == GW_SURFACE);
    double over = (mixed ? 1 : -1) * (is_a ? -1 : 1) / fmax(s, ALIGNED);
    gw_gap g =
        gap_along(gw_scale(over, gradient), mixed ? atan2(cosine, s) : atan2(s, cosine), other->p);
    g.general = true;
    g.couple = gw_scale(over, s > ALIGNED ? c : gw_any_normal(d));
    return g;
}

/*
 * cos(angle) = d_a . d_b, of a line and a plane sin(angle) = d . n. With c = d_a x d_b,
 *
 *   d(d_a . d_b)/dt = (w_a - w_b) . c,    so  d(angle)/dt = -+ (w_a - w_b) . c / |c|
 */
static gw_gap angle_between(const gw_unilateral_row *row, const gw_element *a, const gw_element *b)
{
    if (gw_is_free_form(a->kind) || gw_is_free_form(b->kind))
        return angle_to_shape(row, a, b);
    gw_vec3 c = gw_cross(a->d, b->d);
    double s = gw_norm(c), cosine = gw_dot(a->d, b->d);
    gw_vec3 axis = s > ALIGNED ? gw_scale(1 / s, c) : gw_any_normal(a->d);
    bool mixed = (a->kind == GW_PLANE) != (b->kind == GW_PLANE);
    if (mixed)
        return gap_along(axis, atan2(cosine, s), a->p);
    return gap_along(gw_neg(axis), atan2(s, cosine), a->p);
}

/*
 * Of directions across the axis n,
 *
 *   angle = atan2(n . (d_b x d_a), d_b . d_a),    d(angle)/dt = (w_a - w_b) . n
 */
static gw_gap turn_between(const gw_unilateral_row *row, const gw_pose *a, const gw_pose *b)
{
    gw_vec3 n = gw_rotate(row->axis_in_a ? a->q : b->q, row->axis);
    gw_vec3 d_a = gw_rotate(a->q, row->a.d), d_b = gw_rotate(b->q, row->b.d);
    double angle = atan2(gw_dot(n, gw_cross(d_b, d_a)), gw_dot(d_b, d_a));
    return gap_along(n, row->near + remainder(angle - row->near, 2 * GW_PI),
                     gw_pose_point(a, row->a.p));
}

/* angle = |log(R_b^T R_a)|, d(angle)/dt = (w_a - w_b) . log / |log| */
static gw_gap rotation_between(const gw_unilateral_row *row, const gw_pose *a, const gw_pose *b)
{
    gw_quat at_a = gw_quat_mul(a->q, row->frame_a), at_b = gw_quat_mul(b->q, row->frame_b);
    gw_vec3 turn = gw_quat_log(gw_quat_mul(at_a, gw_quat_conj(at_b)));
    return length_of(turn, gw_v3(0, 0, 1), gw_pose_point(a, row->a.p));
}

/* General row of an edge: force and couple about the origin of a. */
static gw_gap at_edge(const gw_unilateral_row *row, const gw_pose *a, const gw_pose *b)
{
    gw_pose end = gw_pose_mul(b, &row->b_from_end);
    gw_wrench on_a;
    double gap;
    gw_system_edge_gap(row->system, &row->edge, a, &end, &gap, &on_a);
    gw_gap g = gap_along(on_a.f, gap, a->p);
    g.general = true;
    g.couple = on_a.t;
    return g;
}

gw_gap gw_unilateral_row_gap(const gw_unilateral_row *row, const gw_pose *a, const gw_pose *b)
{
    if (row->kind == GW_UNILATERAL_SURFACES) {
        gw_vec3 normal, point;
        double gap;
        gw_closure_contact_gap(&row->surfaces, a, b, &gap, &normal, &point);
        return gap_along(normal, gap, point);
    }
    if (row->kind == GW_UNILATERAL_EDGE)
        return at_edge(row, a, b);
    assert(row->sign == 1 || row->sign == -1);
    gw_element at_a = gw_element_moved(a, &row->a), at_b = gw_element_moved(b, &row->b);
    bool turn = row->kind == GW_UNILATERAL_TURN, whole = row->kind == GW_UNILATERAL_ROTATION;
    bool angle = turn || whole || row->kind == GW_UNILATERAL_ANGLE;
    gw_gap g = turn    ? turn_between(row, a, b)
               : whole ? rotation_between(row, a, b)
               : angle ? angle_between(row, &at_a, &at_b)
                       : distance_between(row, &at_a, &at_b);
    double scale = angle ? row->length : 1;
    g.gap = scale * row->sign * (g.gap - row->value);
    g.normal = gw_scale(g.general ? scale * row->sign : row->sign, g.normal);
    g.couple = gw_scale(scale * row->sign, g.couple);
    g.lever = angle && !g.general ? row->length : 0;
    return g;
}
