/*
 * Edges of free-form surfaces and ends of curves in closures: stops. RT safe.
 *
 * Rows continue the last span's polynomials beyond an edge, so nothing about them changes there. A
 * spring pushes back, as deep as the parameter x has gone, in metres by the length of the shape:
 *
 *   s = l (x - x_end) > 0,    F = -(k s + c s') grad s,    energy k s^2 / 2
 *
 * grad s being the exact gradient over both bodies, by the adjoint of how the parameters follow the
 * bodies. k is as stiff as steps of dt bear with the lighter body's mass; the damper comes in over
 * the first millimetre.
 */
#include <math.h>

#include "rt/dynamics/surface_contact.h"
#include "rt/geometry/nurbs_motion.h"

#define STIFF    0.15 /* of 1 / dt: the frequency of the lighter body on the spring */
#define DAMPED   1.2  /* of m times that frequency */
#define COMES_IN 1e-3 /* m, of the damper */

static double length_of(const gw_nurbs *shape, int k)
{
    const gw_nurbs_direction *d = &shape->direction[k];
    return shape->size / (d->high - d->low);
}

bool gw_edge_beyond(const gw_nurbs *shape, int k, double x, gw_edge *edge)
{
    const gw_nurbs_direction *d = &shape->direction[k];
    double past = x > d->high ? x - d->high : x < d->low ? x - d->low : 0;
    if (d->closed || past == 0)
        return false;
    *edge = (gw_edge){.past = past * length_of(shape, k),
                      .per_parameter = length_of(shape, k),
                      .size = shape->size};
    return true;
}

/* The edges that the free-form rows of a closure are past: x' = H^-1 S_i . X'. */
static int edges_of_rows(const gw_system *s, const gw_closure_def *c, gw_edge *edges)
{
    const gw_row *row = NULL;
    int count = 0;
    for (int k = 0; k < c->row_count && !row; k++)
        row = c->rows[k].nurbs ? &c->rows[k] : NULL;
    if (!row)
        return 0;
    gw_body_frame a = gw_body_frame_of(s, c->a), b = gw_body_frame_of(s, c->b);
    bool on_a = gw_row_owned_by_body(row->kind);
    const gw_body_frame *shape = on_a ? &a : &b, *point = on_a ? &b : &a;
    gw_vec3 x = gw_add(point->p, gw_mat3_mul(&point->turn, on_a ? row->f : row->m));
    for (int k = 0; k < row->nurbs->dimension; k++) {
        gw_edge *e = &edges[count];
        gw_vec3 by_point;
        if (!gw_edge_beyond(row->nurbs, k, row->start[k], e))
            continue;
        gw_vec3 origin = gw_add(shape->p, gw_mat3_mul(&shape->turn, on_a ? row->m : row->f));
        gw_vec3 d = gw_sub(x, origin), own;
        own =
            gw_v3(gw_dot(d, gw_v3(shape->turn.m[0][0], shape->turn.m[1][0], shape->turn.m[2][0])),
                  gw_dot(d, gw_v3(shape->turn.m[0][1], shape->turn.m[1][1], shape->turn.m[2][1])),
                  gw_dot(d, gw_v3(shape->turn.m[0][2], shape->turn.m[1][2], shape->turn.m[2][2])));
        gw_nurbs_parameter_gradient(row->nurbs, gw_unrotate(row->q, own), row->start, k, &by_point);
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

static int edges_of(const gw_system *s, const gw_closure_def *c, gw_edge *edges)
{
    if (c->kind == GW_CLOSURE_ROWS)
        return edges_of_rows(s, c, edges);
    if (c->kind != GW_CLOSURE_CONTACT || !(c->contact.on_a.nurbs || c->contact.on_b.nurbs))
        return 0;
    gw_body_frame a = gw_body_frame_of(s, c->a), b = gw_body_frame_of(s, c->b);
    return gw_surface_contact_edges(&c->contact, &a, &b, edges);
}

static bool has_edge(const gw_nurbs *shape)
{
    return shape &&
           (!shape->direction[0].closed || (shape->dimension == 2 && !shape->direction[1].closed));
}

bool gw_closure_has_edges(const gw_closure_def *c)
{
    bool any = c->kind == GW_CLOSURE_CONTACT &&
               (has_edge(c->contact.on_a.nurbs) || has_edge(c->contact.on_b.nurbs));
    for (int k = 0; c->kind == GW_CLOSURE_ROWS && k < c->row_count; k++)
        any = any || has_edge(c->rows[k].nurbs);
    return any;
}

/* The mass that a spring is made for: the lighter one of those that may move. */
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

/* The force along the edge's gradient; the power that the damper takes. */
static double push_of(const gw_system *s, const gw_closure_def *c, const gw_edge *e,
                      double *dissipated)
{
    double m = mass_of(s, c), w = STIFF / s->dt;
    double rate = rate_of(e, &s->bodies[c->a].twist, &gw_body_of(s, c->b)->twist);
    double damping = DAMPED * m * w * fmin(1, fabs(e->past) / COMES_IN);
    *dissipated = damping * rate * rate;
    return -m * w * w * e->past - damping * rate;
}

static void add_wrench(gw_wrench *to, double by, const gw_wrench *w)
{
    to->f = gw_mul_add(to->f, by, w->f);
    to->t = gw_mul_add(to->t, by, w->t);
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
