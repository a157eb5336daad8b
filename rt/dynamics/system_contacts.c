/*
 * Closures of two surfaces that touch and slide or roll, knife edges and gears. RT safe.
 *
 * All rows of a contact act along a direction d at the contact point c, a's on the common normal,
 * which moves over both bodies. With r from a body's origin to c:
 *
 *   rate   = d . (v_a + w_a x r_a - v_b - w_b x r_b)
 *   bias   = d-dot . (the same) + d . (w_a x (c-dot - v_a) - w_b x (c-dot - v_b))
 *
 * along the normal n of b's surface (from b to a) the rate is that of the gap, as c lies on the
 * common normal; along two tangents it is the slip. Two curves have rows of their own for the
 * common tangent (curve_contact.c), and slip along it.
 */
#include <assert.h>
#include <math.h>
#include <string.h>
#include <stdio.h>

#include "rt/dynamics/common_normal.h"
#include "rt/dynamics/curve_contact.h"
#include "rt/dynamics/system_fold.h"
#include "rt/dynamics/system_rim.h"

#define FLAT                                                                                       \
    1e-7 /* sine of the angle at which a rim lies on its plane, and the like: no smaller           \
          */

/* The velocity of the body's point that is at x. */
static gw_vec3 velocity_at(const gw_body_frame *f, gw_vec3 x)
{
    return gw_add(f->twist.v, gw_cross(f->twist.w, gw_sub(x, f->p)));
}

static gw_vec3 point_of(const gw_body_frame *f, gw_vec3 x)
{
    return gw_add(f->p, gw_mat3_mul(&f->turn, x));
}

/* e / |e| and its rate. */
static gw_vec3 unit_and_rate(gw_vec3 e, gw_vec3 e_dot, double least, double *length, gw_vec3 *rate)
{
    *length = gw_norm(e);
    double inverse = 1 / fmax(*length, least);
    gw_vec3 n = gw_scale(inverse, e);
    *rate = gw_scale(inverse, gw_mul_add(e_dot, -gw_dot(n, e_dot), n));
    return n;
}

/* The part of x across the unit vector u, and its rate. */
static gw_vec3 part_across(gw_vec3 x, gw_vec3 x_dot, gw_vec3 u, gw_vec3 u_dot, gw_vec3 *rate)
{
    double along = gw_dot(x, u);
    *rate = gw_mul_add(gw_mul_add(x_dot, -along, u_dot), -(gw_dot(x_dot, u) + gw_dot(x, u_dot)), u);
    return gw_mul_add(x, -along, u);
}

/* A sphere at o on a plane, on a sphere or a cylinder, or within one of these. */
static void sphere_contact(const gw_closure_contact *k, gw_vec3 o, gw_vec3 o_dot,
                           const gw_body_frame *b, gw_contact_state *x)
{
    gw_vec3 f = point_of(b, k->on_b.point), u = gw_mat3_mul(&b->turn, k->on_b.axis);
    gw_vec3 u_dot = gw_cross(b->twist.w, u), d = gw_sub(o, f), e = d, e_dot;
    gw_vec3 d_dot = gw_sub(o_dot, velocity_at(b, f));
    double radius = k->on_a.radius, length;
    if (k->on_b.kind == GW_SURFACE_PLANE) {
        x->n = u, x->n_dot = u_dot;
        x->gap = gw_dot(u, d) - radius;
    } else {
        e_dot = d_dot;
        if (k->on_b.kind == GW_SURFACE_CYLINDER)
            e = part_across(d, d_dot, u, u_dot, &e_dot);
        x->n = unit_and_rate(e, e_dot, FLAT * k->on_b.radius, &length, &x->n_dot);
        x->gap = length - k->on_b.radius - radius;
        if (k->inside) {
            x->n = gw_neg(x->n), x->n_dot = gw_neg(x->n_dot);
            x->gap = k->on_b.radius - radius - length;
        }
    }
    x->c = gw_mul_add(o, -radius, x->n);
    x->c_dot = gw_mul_add(o_dot, -radius, x->n_dot);
}

/* The rim of radius R about o on a plane: c = o + R m, m the lowest direction across the axis. */
static void rim_contact(const gw_closure_contact *k, gw_vec3 o, gw_vec3 o_dot,
                        const gw_body_frame *a, const gw_body_frame *b, gw_contact_state *x)
{
    gw_vec3 f = point_of(b, k->on_b.point), n = gw_mat3_mul(&b->turn, k->on_b.axis);
    gw_vec3 u = gw_mat3_mul(&a->turn, k->on_a.axis), u_dot = gw_cross(a->twist.w, u), e_dot, up_dot;
    x->n = n, x->n_dot = gw_cross(b->twist.w, n);
    gw_vec3 e = part_across(n, x->n_dot, u, u_dot, &e_dot);
    double length, radius = k->on_a.radius;
    gw_vec3 up = unit_and_rate(e, e_dot, FLAT, &length, &up_dot);
    x->c = gw_mul_add(o, -radius, up);
    x->c_dot = gw_mul_add(o_dot, -radius, up_dot);
    x->gap = gw_dot(n, gw_sub(o, f)) - radius * length;
}

/* A cylinder touches a plane, or a parallel cylinder, along a line; c is the projection of the
 * stated point of its axis onto the line. */
static void line_contact(const gw_closure_contact *k, gw_vec3 o, gw_vec3 o_dot,
                         const gw_body_frame *a, const gw_body_frame *b, gw_contact_state *x)
{
    sphere_contact(k, o, o_dot, b, x);
    x->axis = gw_mat3_mul(&a->turn, k->on_a.axis);
    x->axis_dot = gw_cross(a->twist.w, x->axis);
}

static bool are_parallel_cylinders(const gw_closure_contact *k)
{
    return k->line && k->on_a.kind == GW_SURFACE_CYLINDER && k->on_b.kind == GW_SURFACE_CYLINDER;
}

static bool is_line_contact(const gw_closure_contact *k)
{
    return are_parallel_cylinders(k) ||
           (k->on_a.kind == GW_SURFACE_CYLINDER && k->on_b.kind == GW_SURFACE_PLANE);
}

/* The contact of two surfaces; `point` is followed if there is no closed form. */
static gw_contact_state contact_of(const gw_closure_contact *k, const gw_body_frame *a,
                                   const gw_body_frame *b, gw_contact_point *point)
{
    gw_contact_state x = {0};
    if (gw_surface_contact_is_general(k)) {
        gw_surface_contact_at(k, a, b, point, &x);
        return x;
    }
    gw_vec3 o = point_of(a, k->on_a.point), o_dot = velocity_at(a, o);
    if (is_line_contact(k))
        line_contact(k, o, o_dot, a, b, &x);
    else if (k->on_a.kind == GW_SURFACE_RIM)
        rim_contact(k, o, o_dot, a, b, &x);
    else
        sphere_contact(k, o, o_dot, b, &x);
    return x;
}

static gw_body_frame frame_at(const gw_pose *world_from_body)
{
    return (gw_body_frame){.turn = gw_quat_to_mat3(world_from_body->q), .p = world_from_body->p};
}

bool gw_closure_contact_may_part(const gw_closure_contact *contact)
{
    return !gw_contact_is_of_curves(contact);
}

void gw_closure_contact_gap(const gw_closure_contact *contact, const gw_pose *a, const gw_pose *b,
                            double *gap, gw_vec3 *normal, gw_vec3 *point)
{
    assert(contact && a && b && gap);
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    gw_contact_point at = contact->point;
    gw_contact_state x;
    if (gw_contact_is_of_curves(contact)) {
        gw_curve_contact c;
        gw_curve_contact_at(contact, &frame_a, &frame_b, &at, &c);
        *gap = c.value[0], *normal = c.n;
        *point = gw_mul_add(c.c, 0.5 * c.value[0], c.n);
        return;
    }
    if (at.known)
        gw_surface_contact_near(contact, &frame_a, &frame_b, &at, &x);
    else
        x = contact_of(contact, &frame_a, &frame_b, &at);
    *gap = x.gap;
    *normal = x.n;
    *point = gw_mul_add(x.c, -0.5 * x.gap, x.n); /* the midpoint */
}

void gw_system_contact(const gw_system *s, int closure, gw_vec3 *point, gw_vec3 *normal,
                       double *gap)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_def *c = &s->closures[closure];
    assert(c->kind == GW_CLOSURE_CONTACT);
    gw_closure_contact_gap(&c->contact, &gw_body_of(s, c->a)->pose, &gw_body_of(s, c->b)->pose, gap,
                           normal, point);
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* Two unit vectors across n, and their rates. */
static void tangents_of(const gw_contact_state *x, gw_vec3 t[2], gw_vec3 t_dot[2])
{
    gw_vec3 n = x->n, zero = {0, 0, 0}, e_dot, axis;
    double length;
    axis = fabs(n.x) < 0.6 ? gw_v3(1, 0, 0) : fabs(n.y) < 0.6 ? gw_v3(0, 1, 0) : gw_v3(0, 0, 1);
    gw_vec3 e = part_across(axis, zero, n, x->n_dot, &e_dot);
    t[0] = unit_and_rate(e, e_dot, FLAT, &length, &t_dot[0]);
    t[1] = gw_cross(n, t[0]);
    t_dot[1] = gw_add(gw_cross(x->n_dot, t[0]), gw_cross(n, t_dot[0]));
}

static void curve_rows(gw_closure_contact *k, const gw_body_frame *a, const gw_body_frame *b,
                       double length, gw_closure_row *positions, gw_closure_row *velocities)
{
    gw_curve_contact x;
    gw_curve_contact_at(k, a, b, &k->point, &x);
    for (int n = 0; n < GW_CURVE_ROWS; n++, positions++) {
        gw_spatial_set(positions->on_a, x.on_a[n].f, x.on_a[n].t);
        gw_spatial_set(positions->on_b, x.on_b[n].f, x.on_b[n].t);
        positions->value = x.value[n], positions->rate = x.rate[n], positions->bias = x.bias[n];
        positions->scale = n < 2 ? 1 : length;
    }
    if (k->motion != GW_CONTACT_SLIDES)
        gw_put_point_row(velocities++, a, b, x.c, x.c_dot, x.t, x.t_dot);
    if (k->motion == GW_CONTACT_ROLLS_PURELY)
        gw_put_spin_row(velocities, a->twist.w, b->twist.w, length, x.t, x.t_dot);
}

/* Parallel axes: u_a . e = 0 for two directions e of b normal to its axis; rate (w_a - w_b) . (u_a
 * x e). */
static void parallel_rows(const gw_closure_contact *k, const gw_body_frame *a,
                          const gw_body_frame *b, double length, const gw_contact_state *x,
                          gw_closure_row *row)
{
    gw_vec3 side = gw_any_normal(k->on_b.axis);
    const gw_vec3 sides[2] = {side, gw_cross(k->on_b.axis, side)};
    for (int i = 0; i < 2; i++, row++) {
        gw_vec3 e = gw_mat3_mul(&b->turn, sides[i]), e_dot = gw_cross(b->twist.w, e);
        row->value = gw_dot(x->axis, e);
        gw_put_spin_row(row, a->twist.w, b->twist.w, length, gw_cross(x->axis, e),
                        gw_add(gw_cross(x->axis_dot, e), gw_cross(x->axis, e_dot)));
    }
}

static void surface_rows(gw_closure_contact *k, const gw_body_frame *a, const gw_body_frame *b,
                         double length, gw_closure_row *positions, gw_closure_row *velocities)
{
    gw_contact_state x = contact_of(k, a, b, &k->point);
    gw_vec3 t[2], t_dot[2];
    positions->value = x.gap;
    gw_put_point_row(positions++, a, b, x.c, x.c_dot, x.n, x.n_dot);
    if (are_parallel_cylinders(k)) {
        parallel_rows(k, a, b, length, &x, positions);
    } else if (is_line_contact(k)) {
        positions->value = gw_dot(x.axis, x.n);
        gw_put_spin_row(positions, a->twist.w, b->twist.w, length, gw_cross(x.axis, x.n),
                        gw_add(gw_cross(x.axis_dot, x.n), gw_cross(x.axis, x.n_dot)));
    }
    if (k->motion == GW_CONTACT_SLIDES)
        return;
    tangents_of(&x, t, t_dot);
    for (int i = 0; i < 2; i++)
        gw_put_point_row(velocities++, a, b, x.c, x.c_dot, t[i], t_dot[i]);
    bool spins =
        are_parallel_cylinders(k) || (k->motion == GW_CONTACT_ROLLS && !is_line_contact(k));
    if (!spins)
        gw_put_spin_row(velocities, a->twist.w, b->twist.w, length, x.n, x.n_dot);
}

/* A rim on a plane that may lie flat: its gap, two tilts, and the rows of rolling with the spin, of
 * which those that its posture does not have are inactive (gw_rim_rows_aside()). */
static void rim_rows(const gw_closure_contact *k, const gw_contact_mode *mode,
                     const gw_body_frame *a, const gw_body_frame *b, double length,
                     gw_closure_row *positions, gw_closure_row *velocities)
{
    gw_vec3 o = point_of(a, k->on_a.point), t[2], t_dot[2];
    bool flat = mode->posture == GW_RIM_FLAT;
    gw_contact_state x = {0};
    if (mode->posture == GW_RIM_TILTED) {
        rim_contact(k, o, velocity_at(a, o), a, b, &x);
    } else {
        x.n = gw_mat3_mul(&b->turn, k->on_b.axis), x.n_dot = gw_cross(b->twist.w, x.n);
        x.c = flat ? o : point_of(a, mode->pin);
        x.c_dot = velocity_at(a, x.c);
        x.gap = gw_dot(x.n, gw_sub(x.c, point_of(b, k->on_b.point)));
    }
    positions->value = x.gap;
    gw_put_point_row(positions++, a, b, x.c, x.c_dot, x.n, x.n_dot);
    if (flat) {
        x.axis = gw_mat3_mul(&a->turn, k->on_a.axis);
        x.axis_dot = gw_cross(a->twist.w, x.axis);
        parallel_rows(k, a, b, length, &x, positions);
    }
    if (k->motion == GW_CONTACT_SLIDES)
        return;
    tangents_of(&x, t, t_dot);
    for (int i = 0; i < 2; i++)
        gw_put_point_row(velocities++, a, b, x.c, x.c_dot, t[i], t_dot[i]);
    if (flat || k->motion == GW_CONTACT_ROLLS_PURELY)
        gw_put_spin_row(velocities, a->twist.w, b->twist.w, length, x.n, x.n_dot);
}

static void knife_edge_row(const gw_closure_def *def, const gw_body_frame *a,
                           const gw_body_frame *b, gw_closure_row *r)
{
    gw_vec3 d = gw_mat3_mul(&a->turn, def->knife_edge.direction);
    gw_vec3 c = point_of(a, def->knife_edge.point);
    gw_put_point_row(r, a, b, c, velocity_at(a, c), d, gw_cross(a->twist.w, d));
}

/* The rows of a contact or a knife edge. */
static void rows_between(gw_closure_def *def, const gw_body_frame *a, const gw_body_frame *b,
                         double length, gw_closure_row *positions, gw_closure_row *velocities)
{
    if (def->kind == GW_CLOSURE_KNIFE_EDGE)
        knife_edge_row(def, a, b, velocities);
    else if (gw_contact_is_of_curves(&def->contact))
        curve_rows(&def->contact, a, b, length, positions, velocities);
    else
        surface_rows(&def->contact, a, b, length, positions, velocities);
}

static void gear_row(const gw_system *s, const gw_closure_def *def, gw_closure_row *r)
{
    const gw_system_body *a = &s->bodies[def->a], *b = &s->bodies[def->b];
    int i = def->gear.coordinate_a, j = def->gear.coordinate_b;
    double ratio = def->gear.ratio;
    r->coordinate_a = i, r->coordinate_b = j;
    r->on_coordinate_a = 1, r->on_coordinate_b = -ratio;
    r->value = a->joint.z[i] - ratio * b->joint.z[j] - def->gear.offset;
    r->rate = a->joint.u[i] - ratio * b->joint.u[j];
    r->scale = gw_mobilizers[a->def.joint].turns >> i & 1 ? s->length : 1;
}

void gw_contact_rows(const gw_system *s, gw_closure_def *def, gw_closure_row *positions,
                     gw_closure_row *velocities)
{
    int position_count, velocity_count;
    gw_closure_row blank = {.a = def->a, .b = def->b};
    gw_body_frame a, b;
    gw_closure_row_counts(def, &position_count, &velocity_count);
    for (int i = 0; i < position_count; i++)
        positions[i] = blank;
    for (int i = 0; i < velocity_count; i++)
        velocities[i] = blank;
    switch (def->kind) {
    case GW_CLOSURE_CONTACT:
    case GW_CLOSURE_KNIFE_EDGE:
        a = gw_body_frame_of(s, def->a), b = gw_body_frame_of(s, def->b);
        if (gw_rim_may_lie(def))
            rim_rows(&def->contact, &s->unilateral->mode[def - s->closures], &a, &b, s->length,
                     positions, velocities);
        else
            rows_between(def, &a, &b, s->length, positions, velocities);
        break;
    case GW_CLOSURE_GEAR:
        gear_row(s, def, positions);
        break;
    case GW_CLOSURE_ROWS:
        break;
    }
}

/* gw_closure_row_counts() without the rows of rims that lie flat. */
static void row_counts_between(const gw_closure_def *def, int *positions, int *velocities)
{
    const gw_closure_contact *k = &def->contact;
    bool parallel = are_parallel_cylinders(k), line = is_line_contact(k) && !parallel;
    *positions = *velocities = 0;
    switch (def->kind) {
    case GW_CLOSURE_ROWS:
        *positions = def->row_count + def->twin_count;
        break;
    case GW_CLOSURE_GEAR:
        *positions = 1;
        break;
    case GW_CLOSURE_KNIFE_EDGE:
        *velocities = 1;
        break;
    case GW_CLOSURE_CONTACT:
        if (gw_contact_is_of_curves(k)) {
            *positions = GW_CURVE_ROWS;
            *velocities = k->motion == GW_CONTACT_SLIDES  ? 0
                          : k->motion == GW_CONTACT_ROLLS ? 1
                                                          : 2;
            break;
        }
        *positions = parallel ? 3 : line ? 2 : 1;
        *velocities = 2 * (k->motion != GW_CONTACT_SLIDES);
        if (k->motion == GW_CONTACT_ROLLS_PURELY ||
            line) /* spin row, unless the axes' rows imply it */
            *velocities += *velocities > 0 && !parallel;
        break;
    }
}

void gw_closure_row_counts(const gw_closure_def *def, int *positions, int *velocities)
{
    assert(def && positions && velocities);
    row_counts_between(def, positions, velocities);
    if (!gw_rim_may_lie(def))
        return;
    *positions = GW_RIM_ROWS;
    *velocities = def->contact.motion == GW_CONTACT_SLIDES ? 0 : 3;
}

int gw_closure_wrenches(const gw_closure_def *closure, const gw_pose *a, const gw_pose *b,
                        gw_wrench on_a[GW_CLOSURE_WRENCHES], gw_wrench on_b[GW_CLOSURE_WRENCHES])
{
    assert(closure->kind == GW_CLOSURE_CONTACT || closure->kind == GW_CLOSURE_KNIFE_EDGE);
    gw_closure_def def = *closure;
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    gw_closure_row rows[GW_CLOSURE_WRENCHES] = {0};
    int positions, velocities;
    row_counts_between(&def, &positions, &velocities);
    assert(positions + velocities <= GW_CLOSURE_WRENCHES);
    rows_between(&def, &frame_a, &frame_b, 1, rows, rows + positions);
    for (int i = 0; i < positions + velocities; i++) {
        on_a[i] = (gw_wrench){gw_linear_part(rows[i].on_a), gw_angular_part(rows[i].on_a)};
        on_b[i] = (gw_wrench){gw_linear_part(rows[i].on_b), gw_angular_part(rows[i].on_b)};
    }
    return positions + velocities;
}

static bool is_followed(const gw_closure_def *c)
{
    return c->kind == GW_CLOSURE_CONTACT && gw_surface_contact_is_general(&c->contact);
}

const gw_contact_point *gw_system_contact_point(const gw_system *s, int closure)
{
    assert(s && closure >= 0 && closure < s->closure_count);
    return is_followed(&s->closures[closure]) ? &s->closures[closure].contact.point : NULL;
}

const gw_contact_point *gw_system_first_point(const gw_system *s, int closure)
{
    assert(s && closure >= 0 && closure < s->closure_count);
    return is_followed(&s->closures[closure]) ? &s->closures[closure].first : NULL;
}

void gw_system_continue_contact(gw_system *s, int closure, const gw_contact_point *point)
{
    assert(s && closure >= 0 && closure < s->closure_count && point);
    gw_contact_point *now = &s->closures[closure].contact.point;
    if (!is_followed(&s->closures[closure]) || !point->known)
        return;
    *now = *point;
    now->searched = false;
}

void gw_contacts_begin(gw_system *s, const gw_forces *forces)
{
    for (int i = 0; i < s->closure_count; i++) {
        gw_contact_point *point = &s->closures[i].contact.point;
        point->before = point->now;
    }
    gw_unilateral_begin_step(s, forces ? forces->effort : NULL);
}

int gw_system_degenerate_closure(const gw_system *s)
{
    for (int i = 0; i < s->closure_count; i++)
        if (is_followed(&s->closures[i]) && !s->closures[i].unilateral &&
            (s->unilateral->mode[i].at_fold || gw_contact_is_degenerate(&s->closures[i].contact)))
            return i;
    return -1;
}

int gw_system_closure_body(const gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    return s->closures[closure].a;
}

void gw_system_closure_ends(const gw_system *s, int closure, int *a, int *b)
{
    assert(s && closure >= 0 && closure < s->closure_count && a && b);
    *a = s->closures[closure].a;
    *b = s->closures[closure].b;
}

int gw_system_closure_count(const gw_system *s)
{
    assert(s);
    return s->closure_count;
}

/* Checks pairs without a closed form. */
static bool check_followed(const gw_closure_contact *k, gw_error *error)
{
    if (gw_contact_is_of_curves(k) && !k->inside)
        return true;
    if (gw_contact_is_of_curves(k))
        return gw_fail(error, GW_BAD_INPUT, "", "a curve has no inside");
    if (gw_surface_is_curve(&k->on_b) || k->on_a.kind == GW_SURFACE_PLANE)
        return gw_fail(error, GW_BAD_INPUT, "",
                       "a curve or a rim touches a surface or a curve, and something that bends a "
                       "plane: two planes do not touch");
    if (k->inside && k->on_b.kind == GW_SURFACE_PLANE)
        return gw_fail(error, GW_BAD_INPUT, "", "a plane has no inside");
    return true;
}

bool gw_closure_check(const gw_closure_def *def, gw_error *error)
{
    static const char *const names[] = {
        "plane", "sphere", "cylinder", "rim", "ellipsoid", "free-form surface", "free-form curve"};
    const gw_surface *a = &def->contact.on_a, *b = &def->contact.on_b;
    if (def->kind != GW_CLOSURE_CONTACT)
        return true;
    if (gw_surface_contact_is_general(&def->contact))
        return check_followed(&def->contact, error);
    bool parallel = are_parallel_cylinders(&def->contact);
    bool known = a->kind == GW_SURFACE_SPHERE || parallel ||
                 (a->kind != GW_SURFACE_PLANE && b->kind == GW_SURFACE_PLANE);
    if (!known || (def->contact.inside && b->kind == GW_SURFACE_PLANE)) {
        gw_fail(error, GW_BAD_INPUT, "",
                "a %s cannot touch %s %s: a sphere and a rim can touch a plane, a sphere or a "
                "cylinder, the latter two also from within, a cylinder a cylinder or a plane, and "
                "all of them "
                "what is of free form",
                names[a->kind], def->contact.inside ? "the inside of a" : "a", names[b->kind]);
        return false;
    }
    if (def->contact.inside && !(a->radius < b->radius)) {
        gw_fail(error, GW_BAD_INPUT, "",
                "a %s of radius %g m cannot roll within a %s of radius %g m: it must be smaller",
                names[a->kind], a->radius, names[b->kind], b->radius);
        return false;
    }
    return true;
}

static bool check_curves(gw_closure_contact *k, const gw_body_frame *a, const gw_body_frame *b,
                         const char *where, gw_error *error)
{
    gw_curve_contact x;
    if (gw_curve_contact_at(k, a, b, &k->point, &x))
        return true;
    if (x.conforms)
        return gw_fail(error, GW_BAD_INPUT, where,
                       "the curves conform: where they touch they bend alike, so that they touch "
                       "along an arc and not in a point");
    return gw_fail(error, GW_BAD_INPUT, where,
                   "the curves have no common tangent where they could touch: bring them nearer "
                   "to one another, away from their ends");
}

bool gw_contacts_check(gw_system *s, gw_error *error)
{
    for (int i = 0; i < s->closure_count; i++) {
        gw_closure_def *c = &s->closures[i];
        if (!is_followed(c) || c->unilateral)
            continue;
        char where[16];
        gw_body_frame a = gw_body_frame_of(s, c->a), b = gw_body_frame_of(s, c->b);
        gw_contact_state x = {0};
        if (gw_contact_is_of_curves(&c->contact)) {
            snprintf(where, sizeof where, "%d", i);
            if (!check_curves(&c->contact, &a, &b, where, error))
                return false;
            continue;
        }
        bool found = gw_surface_contact_at(&c->contact, &a, &b, &c->contact.point, &x);
        snprintf(where, sizeof where, "%d", i);
        if (x.conforms)
            return gw_fail(error, GW_BAD_INPUT, where,
                           GW_SURFACES_CONFORM
                           "; a cylinder on a plane takes the cylinder's own \"surface\"");
        if (!found)
            return gw_fail(error, GW_BAD_INPUT, where,
                           "the surfaces have no common normal where they could touch: bring them "
                           "nearer to one another, away from edges");
        if (x.curvature < 0)
            return gw_fail(error, GW_BAD_INPUT, where,
                           "the surfaces cross beside the point where they touch (relative "
                           "curvature %g 1/m): one is bent too sharply for the other",
                           x.curvature);
    }
    return true;
}
