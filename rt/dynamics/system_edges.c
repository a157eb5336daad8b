/*
 * Springs at edges of free-form surfaces and ends of curves in closures. RT safe.
 *
 * Rows extrapolate the last span's polynomials beyond an edge. In a scene edges are rows of the
 * contact world with the gap l (x_end - x) (rt/sim/edge_rows.c). A system used as a library has
 * springs there, with the depth s of the parameter x (m, by the length l of the shape):
 *
 *   s = l (x - x_end) > 0,    F = -(k s + c s') grad s,    energy k s^2 / 2
 *
 * with grad s the exact gradient by both bodies' twists, from the adjoint of the equations of the
 * parameters. k is the stiffness that is stable at steps of dt with the lighter body's mass; the
 * damper ramps up over the first millimetre.
 */
#include <assert.h>
#include <math.h>

#include "rt/dynamics/curve_contact.h"
#include "rt/dynamics/surface_contact.h"
#include "rt/dynamics/system_kinks.h"
#include "rt/geometry/nurbs_motion.h"

#define STIFF    0.15 /* of 1 / dt: natural frequency of the lighter body on the spring */
#define DAMPED   1.2  /* damping, relative to m times that frequency */
#define COMES_IN 1e-3 /* m over which the damper ramps up */

static void add_wrench(gw_wrench *to, double by, const gw_wrench *w)
{
    to->f = gw_mul_add(to->f, by, w->f);
    to->t = gw_mul_add(to->t, by, w->t);
}

static double length_of(const gw_nurbs *shape, int k)
{
    const gw_nurbs_direction *d = &shape->direction[k];
    return shape->size / (d->high - d->low);
}

/* True if a shape ends there; at a pole its parameter does, and the surface goes on. */
static bool ends_at(const gw_nurbs *shape, int k, bool high)
{
    return !shape->direction[k].closed && !(shape->dimension == 2 && shape->pole[2 * k + high]);
}

bool gw_edge_at(const gw_nurbs *shape, int side, int k, double x, bool all, gw_edge *edge)
{
    assert(shape && edge && k >= 0 && k < shape->dimension);
    const gw_nurbs_direction *d = &shape->direction[k];
    bool low = ends_at(shape, k, false), high = ends_at(shape, k, true);
    double past = high && x > d->high ? x - d->high : low && x < d->low ? x - d->low : 0;
    if ((!low && !high) || (past == 0 && !all))
        return false;
    double length = length_of(shape, k);
    *edge = (gw_edge){.past = past * length,
                      .per_parameter = length,
                      .size = shape->size,
                      .side = side,
                      .direction = k,
                      .within = {low ? (x - d->low) * length : HUGE_VAL,
                                 high ? (d->high - x) * length : HUGE_VAL}};
    return true;
}

const gw_row *gw_closure_free_form_row(const gw_closure_def *c)
{
    for (int k = 0; c->kind == GW_CLOSURE_ROWS && k < c->row_count; k++)
        if (c->rows[k].nurbs)
            return &c->rows[k];
    return NULL;
}

gw_row_point gw_row_point_of(const gw_row *row, const gw_body_frame *a, const gw_body_frame *b)
{
    bool on_a = gw_row_owned_by_body(row->kind);
    gw_row_point p = {.shape = on_a ? a : b, .point = on_a ? b : a};
    p.x = gw_add(p.point->p, gw_mat3_mul(&p.point->turn, on_a ? row->f : row->m));
    gw_vec3 origin = on_a ? row->m : row->f;
    gw_vec3 own = gw_mat3_tmul(&p.shape->turn, gw_sub(p.x, p.shape->p));
    p.over = gw_unrotate(row->q, gw_sub(own, origin));
    return p;
}

/* Finds the edges that free-form rows are past (or all edges) at these parameters: x' = H^-1 S_i .
 * X'. */
static int edges_of_rows(const gw_row *row, const double at[2], const gw_body_frame *a,
                         const gw_body_frame *b, bool all, gw_edge *edges)
{
    int count = 0;
    bool on_a = gw_row_owned_by_body(row->kind);
    gw_row_point p = gw_row_point_of(row, a, b);
    const gw_body_frame *shape = p.shape, *point = p.point;
    gw_vec3 x = p.x;
    for (int k = 0; k < row->nurbs->dimension; k++) {
        gw_edge *e = &edges[count];
        gw_vec3 by_point;
        if (!gw_edge_at(row->nurbs, !on_a, k, at[k], all, e))
            continue;
        gw_nurbs_parameter_gradient(row->nurbs, p.over, at, k, &by_point);
        gw_vec3 g =
            gw_scale(e->per_parameter, gw_mat3_mul(&shape->turn, gw_rotate(row->q, by_point)));
        gw_wrench to_point = {g, gw_cross(gw_sub(x, point->p), g)};
        gw_wrench to_shape = {gw_neg(g), gw_cross(gw_sub(x, shape->p), gw_neg(g))};
        e->on_a = on_a ? to_shape : to_point;
        e->on_b = on_a ? to_point : to_shape;
        count++;
    }
    return count;
}

/* Finds the edges with an active spring. */
static int edges_of(const gw_system *s, const gw_closure_def *c, gw_edge *edges)
{
    const gw_row *row = gw_closure_free_form_row(c);
    bool touch = c->kind == GW_CLOSURE_CONTACT && (c->contact.on_a.nurbs || c->contact.on_b.nurbs);
    if (c->edges_left || c->unilateral || (!row && !touch))
        return 0;
    gw_body_frame a = gw_body_frame_of(s, c->a), b = gw_body_frame_of(s, c->b);
    return row ? edges_of_rows(row, row->start, &a, &b, false, edges)
               : gw_surface_contact_edges(&c->contact, &a, &b, false, edges);
}

static gw_body_frame frame_at(const gw_pose *pose)
{
    return (gw_body_frame){.turn = gw_quat_to_mat3(pose->q), .p = pose->p};
}

/* All edges of a closure with its bodies at these poses, followed from its present parameters. */
static int all_edges_at(const gw_closure_def *c, const gw_pose *pose_a, const gw_pose *pose_b,
                        gw_edge *edges)
{
    gw_body_frame a = frame_at(pose_a), b = frame_at(pose_b);
    const gw_row *row = gw_closure_free_form_row(c);
    if (row) {
        double at[2] = {row->start[0], row->start[1]};
        gw_nurbs_point point;
        gw_row_point p = gw_row_point_of(row, &a, &b);
        gw_nurbs_pass_edges(row->nurbs, p.over, at, &point);
        return edges_of_rows(row, at, &a, &b, true, edges);
    }
    gw_closure_contact contact = c->contact;
    gw_contact_state state;
    gw_curve_contact curves;
    if (contact.point.known)
        gw_contact_point_begin(&contact.point);
    if (gw_contact_is_of_curves(&contact))
        gw_curve_contact_at(&contact, &a, &b, &contact.point, &curves);
    else
        gw_surface_contact_at(&contact, &a, &b, &contact.point, &state);
    return gw_surface_contact_edges(&contact, &a, &b, true, edges);
}

void gw_system_edge_gap(const gw_system *s, const gw_system_edge *edge, const gw_pose *a,
                        const gw_pose *b, double *gap, gw_wrench *on_a)
{
    assert(s && edge && edge->closure >= 0 && edge->closure < s->closure_count);
    gw_edge edges[GW_MAX_EDGES];
    int count = all_edges_at(&s->closures[edge->closure], a, b, edges);
    double sign = edge->high ? -1 : 1;
    *gap = HUGE_VAL;
    *on_a = (gw_wrench){{0, 0, 0}, {0, 0, 0}};
    for (int k = 0; k < count; k++) {
        if (edges[k].side != edge->side || edges[k].direction != edge->direction)
            continue;
        *gap = edges[k].within[edge->high];
        add_wrench(on_a, sign, &edges[k].on_a);
    }
}

double gw_system_edge_distance(const gw_system *s, const gw_system_edge *edge)
{
    assert(s && edge && edge->closure >= 0 && edge->closure < s->closure_count);
    const gw_closure_def *c = &s->closures[edge->closure];
    const gw_row *row = gw_closure_free_form_row(c);
    const gw_nurbs *shape = row          ? row->nurbs
                            : edge->side ? c->contact.on_b.nurbs
                                         : c->contact.on_a.nurbs;
    const double *at = row ? row->start : edge->side ? c->contact.point.b : c->contact.point.a;
    gw_edge e;
    gw_edge_at(shape, edge->side, edge->direction, at[edge->direction], true, &e);
    return e.within[edge->high];
}

int gw_system_edges(const gw_system *s, int closure, gw_system_edge edges[GW_SYSTEM_EDGES])
{
    assert(s && closure >= 0 && closure < s->closure_count && edges);
    const gw_closure_def *c = &s->closures[closure];
    const gw_row *row = gw_closure_free_form_row(c);
    int count = 0;
    for (int side = 0; side < 2 && !c->unilateral; side++) { /* past an edge there is no contact */
        bool touches = c->kind == GW_CLOSURE_CONTACT;
        const gw_nurbs *shape = side ? c->contact.on_b.nurbs : c->contact.on_a.nurbs;
        if (row)
            shape = gw_row_owned_by_body(row->kind) == (side == 0) ? row->nurbs : NULL;
        for (int k = 0; (row || touches) && shape && k < shape->dimension; k++)
            for (int end = 0; end < 2; end++)
                if (ends_at(shape, k, end == 1))
                    edges[count++] = (gw_system_edge){closure, side, k, end == 1};
    }
    return count;
}

void gw_system_disable_edge_springs(gw_system *s, int closure)
{
    assert(s && closure >= 0 && closure < s->closure_count);
    if (!s->closures[closure].edges_left && gw_closure_has_edges(&s->closures[closure]))
        s->edge_count--;
    s->closures[closure].edges_left = true;
}

static bool has_edge(const gw_nurbs *shape)
{
    bool any = false;
    for (int k = 0; shape && k < shape->dimension; k++)
        any = any || ends_at(shape, k, false) || ends_at(shape, k, true);
    return any;
}

bool gw_closure_has_edges(const gw_closure_def *c)
{
    bool any = c->kind == GW_CLOSURE_CONTACT && !c->unilateral &&
               (has_edge(c->contact.on_a.nurbs) || has_edge(c->contact.on_b.nurbs));
    for (int k = 0; c->kind == GW_CLOSURE_ROWS && k < c->row_count; k++)
        any = any || has_edge(c->rows[k].nurbs);
    return any;
}

/* The mass to which a spring is tuned: that of the lighter movable body. */
static double mass_of(const gw_system *s, const gw_closure_def *c)
{
    double a = s->bodies[c->a].def.mass.mass, b = c->b >= 0 ? s->bodies[c->b].def.mass.mass : 0;
    return a > 0 && b > 0 ? fmin(a, b) : fmax(a, b);
}

static double rate_of(const gw_edge *e, const gw_twist *a, const gw_twist *b)
{
    return gw_dot(e->on_a.f, a->v) + gw_dot(e->on_a.t, a->w) + gw_dot(e->on_b.f, b->v) +
           gw_dot(e->on_b.t, b->w);
}

/* The force along the edge's gradient; and the power that the damper dissipates. */
static double push_of(const gw_system *s, const gw_closure_def *c, const gw_edge *e,
                      double *dissipated)
{
    double m = mass_of(s, c), w = STIFF / s->dt;
    double rate = rate_of(e, &s->bodies[c->a].twist, &gw_body_of(s, c->b)->twist);
    double damping = DAMPED * m * w * fmin(1, fabs(e->past) / COMES_IN);
    *dissipated = damping * rate * rate;
    return -m * w * w * e->past - damping * rate;
}

void gw_edges_load(gw_system *s, gw_system_work *power)
{
    gw_edge edges[GW_MAX_EDGES];
    for (int i = 0; i < s->closure_count && s->edge_count > 0; i++) {
        const gw_closure_def *c = &s->closures[i];
        int count = edges_of(s, c, edges);
        for (int k = 0; k < count; k++) {
            double dissipated, push = push_of(s, c, &edges[k], &dissipated);
            power->dissipated += dissipated;
            add_wrench(&s->by_springs[c->a], push, &edges[k].on_a);
            if (c->b >= 0)
                add_wrench(&s->by_springs[c->b], push, &edges[k].on_b);
        }
    }
}

double gw_edges_ground_power(const gw_system *s)
{
    gw_edge edges[GW_MAX_EDGES];
    double sum = 0, dissipated;
    for (int i = 0; i < s->closure_count && s->edge_count > 0; i++) {
        const gw_closure_def *c = &s->closures[i];
        int count = c->b < GW_GROUND ? edges_of(s, c, edges) : 0;
        const gw_twist still = {{0, 0, 0}, {0, 0, 0}}, *t = &gw_body_of(s, c->b)->twist;
        for (int k = 0; k < count; k++)
            sum -= push_of(s, c, &edges[k], &dissipated) * rate_of(&edges[k], &still, t);
    }
    return sum;
}

double gw_edges_energy(const gw_system *s)
{
    gw_edge edges[GW_MAX_EDGES];
    double sum = 0, w = STIFF / s->dt;
    for (int i = 0; i < s->closure_count && s->edge_count > 0; i++) {
        int count = edges_of(s, &s->closures[i], edges);
        for (int k = 0; k < count; k++)
            sum += 0.5 * mass_of(s, &s->closures[i]) * w * w * edges[k].past * edges[k].past;
    }
    return sum;
}

double gw_edges_moment(const gw_system *s)
{
    gw_edge edges[GW_MAX_EDGES];
    double sum = 0, w = STIFF / s->dt;
    for (int i = 0; i < s->closure_count && s->edge_count > 0; i++) {
        int count = edges_of(s, &s->closures[i], edges);
        for (int k = 0; k < count; k++)
            sum += mass_of(s, &s->closures[i]) * w * w * fabs(edges[k].past) *
                   fmax(edges[k].size, s->length);
    }
    return sum;
}

int gw_system_closure_at_edge(const gw_system *s)
{
    gw_edge edges[GW_MAX_EDGES];
    for (int i = 0; i < s->closure_count && s->edge_count > 0; i++)
        if (edges_of(s, &s->closures[i], edges) > 0)
            return i;
    return -1;
}
