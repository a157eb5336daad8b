/*
 * Contact points of features of solids on free-form surfaces. A feature that is a curve C(t) (an
 * edge, an axis with a radius, a rim) touches where the height h of its points over their feet
 * (free_form.c), less the radius r(t) of the balls about these points, is least:
 *
 *   n . C' = r',    C' . H C' + n . C'' > 0
 *
 *   ball, vertex, end of a capsule    h is least: each foot is a point, with GW_NORMAL_IN_B of the
 *                                     surface
 *   edge, axis of a capsule or a      h - r is least along the line. The line slides along itself
 *   cylinder, side of a cone            without a change of the gap: the part of H along it is
 *                                       removed
 *   rim                               h is least along it, as a ball that hardly moves while the
 *                                       solid rotates about its axis; if it lies flat (45 degrees),
 *                                       also eight points fixed in the solid
 *   flat face of normal N             N . S_u = N . S_v = 0 and N . S is largest, over a convex
 *                                       region: as a ball of the mean radius of curvature, with
 *                                       the normal fixed in the solid
 *
 * RT safe.
 */
#include <assert.h>
#include <stdlib.h>

#include "rt/collision/free_form_private.h"
#include "rt/geometry/nurbs_pole.h"

enum {
    RIM_POINTS = 8,   /* of a rim that lies on the surface */
    STEPS_MAX = 12,   /* of Newton's method along a curve or over a face */
    VERTICES_MAX = 16 /* of a polytope that is taken feature by feature */
};

#define NEARLY_FLAT 1e-3 /* curvature times the surface's size of what does not bend */
#define LIES        0.7  /* cosine from which on a rim lies */
#define LOWER       1e-6 /* m that its lowest point is under those that are fixed */

/* ---- features of solids ------------------------------------------------------------------------
 */

/* C(t) of a solid (in the surface's frame) with balls of a radius about its points: a line from -
 * to, or the rim about an axis; or an edge of another surface, along a parameter from its lower
 * end.
 */
typedef struct curve {
    bool rim;
    const gw_edged_form *edged; /* NULL: of a solid; else with the other parameter */
    int along;
    double at;
    bool closed;
    gw_vec3 from, d; /* C = from + t d; of a rim its centre and axis, */
    gw_vec3 e, g;    /* and C = from + r (cos t e + sin t g) */
    double high;     /* t = 0 .. high */
    double radius;   /* of the ball at t = 0, or of the rim */
    double taper;    /* and by how much that of the ball grows with t */
} curve;

typedef enum refined {
    KEPT,  /* as it is: nothing better is known */
    MOVED, /* to the surface */
    GONE   /* this feature does not touch the surface here */
} refined;

/* Nothing of the solid is deeper (m). */
static double deepest(const gw_free_form_query *q)
{
    return GW_FREE_FORM_DEEPEST * (q->convex->size + q->convex->rounding);
}

static gw_vec3 curve_at(const curve *c, double t, gw_vec3 *first, gw_vec3 *second)
{
    if (c->edged) {
        const gw_nurbs *s = c->edged->form->surface;
        double x[2];
        gw_nurbs_point p;
        x[c->along] = s->direction[c->along].low + t;
        x[1 - c->along] = c->at;
        gw_nurbs_evaluate(s, x, 2, NULL, &p);
        *first = gw_mat3_mul(&c->edged->rotation, c->along ? p.d[0][1] : p.d[1][0]);
        *second = gw_mat3_mul(&c->edged->rotation, c->along ? p.d[0][2] : p.d[2][0]);
        return gw_add(c->edged->origin, gw_mat3_mul(&c->edged->rotation, p.d[0][0]));
    }
    if (!c->rim) {
        *first = c->d;
        *second = gw_v3(0, 0, 0);
        return gw_mul_add(c->from, t, c->d);
    }
    double x = c->radius * cos(t), y = c->radius * sin(t);
    gw_vec3 out = gw_add(gw_scale(x, c->e), gw_scale(y, c->g));
    *first = gw_add(gw_scale(-y, c->e), gw_scale(x, c->g));
    *second = gw_neg(out);
    return gw_add(c->from, out);
}

static double apply_bend(const gw_curvatures *b, gw_vec3 x, gw_vec3 *h)
{
    *h = gw_v3(0, 0, 0);
    for (int i = 0; i < 2; i++)
        *h = gw_mul_add(*h, b->curvature[i] * gw_dot(b->direction[i], x), b->direction[i]);
    return gw_dot(*h, x);
}

/* H - H e (H e)^T / (e . H e): what slides along e keeps its gap. `h` = H e, `he` = e . H e. */
static gw_curvatures without(gw_curvatures b, gw_vec3 n, gw_vec3 h, double he)
{
    gw_vec3 u = b.direction[0], v = b.direction[1];
    double hu = gw_dot(h, u), hv = gw_dot(h, v);
    double uu = b.curvature[0] - hu * hu / he, vv = b.curvature[1] - hv * hv / he,
           uv = -hu * hv / he;
    double mean = 0.5 * (uu + vv), apart = 0.5 * (uu - vv), r = hypot(apart, uv);
    double turn = 0.5 * atan2(uv, apart);
    b.curvature[0] = mean + r;
    b.curvature[1] = mean - r;
    b.direction[0] = gw_unit(gw_add(gw_scale(cos(turn), u), gw_scale(sin(turn), v)));
    b.direction[1] = gw_cross(n, b.direction[0]);
    return b;
}

/* The same of a curve with its tangent e (unit) and the curvature k of the height along it, which
 * tilts: of those displaced by d and tilted by w (candidate.h) the point that touches is the one at
 * s = (w - H d) . e / k, where the height is less by k s^2 / 2. */
static gw_curvatures bend_of_curve(gw_curvatures b, gw_vec3 n, gw_vec3 e, double k)
{
    gw_vec3 h;
    apply_bend(&b, e, &h);
    b = without(b, n, h, k);
    b.tilts = true;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            double along = gw_dot(e, b.direction[j]) / k;
            b.across[i][j] = gw_dot(h, b.direction[i]) * along;
            b.tilt[i][j] = -gw_dot(e, b.direction[i]) * along;
        }
    return b;
}

/* A point x of the solid with a ball of that radius. */
static refined refine_ball(const gw_free_form_query *q, gw_vec3 x, double radius, uint32_t feature,
                           gw_manifold_point *m)
{
    gw_foot t;
    double range = fmax(0, m->gap) + radius + fabs(fmin(0, m->gap)) + 3 * q->form->deviation;
    gw_add_effort(q->effort, GW_EFFORT_OF_SEARCH);
    if (!gw_foot_nearest(q->form, x, range, &t))
        return KEPT;
    gw_manifold_point moved;
    if (!gw_foot_ball(q, x, radius, &t, &moved))
        return GONE;
    *m = moved;
    m->feature_a = feature;
    return MOVED;
}

/* Newton's method for the least distance along the curve, from `at`, near whose gw_foot t is; the
 * same where it ends at an end of a line, whose vertex or rim touches then: *end is -1 or 1 there.
 */
static refined refine_curve(const gw_free_form_query *q, const curve *c, double at,
                            const gw_foot *from, uint32_t feature, int *end, gw_manifold_point *m)
{
    const gw_free_form *f = q->form;
    gw_vec3 first, second, h;
    gw_foot t = *from;
    *end = 0;
    for (int i = 0; i < STEPS_MAX; i++) {
        gw_vec3 x = curve_at(c, at, &first, &second);
        gw_add_effort(q->effort, GW_EFFORT_OF_FOOT);
        if (!gw_foot_find(f, x, t.parameter, &t) || t.sharp)
            return KEPT;
        double side = gw_foot_side(q, &t), length = gw_norm(first), height = side * t.height;
        gw_vec3 n = gw_scale(side, t.normal);
        gw_curvatures bend = gw_foot_curvatures_above(f, &t, n, height);
        double slope = gw_dot(n, first) - c->taper, he = apply_bend(&bend, first, &h);
        double rise = he + gw_dot(n, second);
        if (fabs(rise) * f->surface->size < NEARLY_FLAT * length * length)
            return KEPT;
        if (rise < 0)
            return GONE;
        double step = -slope / rise, most = 0.1 * f->surface->size / length;
        step = fmin(most, fmax(-most, step));
        bool ends = !c->rim && !c->closed;
        double to = ends ? fmin(c->high, fmax(0, at + step)) : at + step;
        bool last = fabs(to - at) * length < GW_FREE_FORM_CONVERGED * f->surface->size;
        if (last && to != at + step) {
            *end = to > 0 ? 1 : -1;
            return GONE;
        }
        at = to;
        if (!last)
            continue;
        double radius = c->rim ? 0 : c->radius + at * c->taper;
        if (height - radius > q->reach || !(height > -deepest(q)))
            return GONE;
        if (c->rim) {
            /* as a ball that hardly moves while the solid turns about its axis */
            radius = c->radius * gw_norm(gw_cross(c->d, n));
            x = gw_mul_add(x, radius, n);
            height += radius;
            bend = gw_foot_curvatures_above(f, &t, n, height);
        } else if (c->edged) {
            bend = bend_of_curve(bend, n, gw_scale(1 / length, first), rise / (length * length));
        } else {
            bend = without(bend, n, h, he);
        }
        *m = gw_foot_point(q, x, radius, &t, n, height, bend);
        m->bend.other = bend.tilts ? m->normal : m->bend.other;
        m->feature_a = feature;
        return MOVED;
    }
    return KEPT;
}

/* The same from a point on the triangles. */
static refined refine_curve_near(const gw_free_form_query *q, const curve *c, double at,
                                 uint32_t feature, int *end, gw_manifold_point *m)
{
    gw_foot t;
    gw_vec3 first, second, x = curve_at(c, at, &first, &second);
    double range = fabs(m->gap) + (c->rim ? 0 : c->radius) + 4 * q->form->deviation;
    *end = 0;
    gw_add_effort(q->effort, GW_EFFORT_OF_SEARCH);
    if (!gw_foot_nearest(q->form, x, range, &t))
        return KEPT;
    return refine_curve(q, c, at, &t, feature, end, m);
}

/* A flat face over a part of the surface that bends away from it: S is where N . S is most, N
 * being the normal of the point, from the surface to the face. */
static refined refine_face(const gw_free_form_query *q, const gw_foot *from, gw_manifold_point *m)
{
    const gw_free_form *f = q->form;
    gw_vec3 n = gw_mat3_tmul(&q->rotation, m->normal);
    gw_foot t = *from;
    double x[2], size = f->surface->size;
    x[0] = t.parameter[0], x[1] = t.parameter[1];
    for (int i = 0; i < STEPS_MAX; i++) {
        gw_nurbs_point p;
        double xy[2];
        const gw_tangent_plane *plane = gw_nurbs_coordinates(f->surface, x, xy);
        if (plane && !gw_tangent_plane_evaluate(f->surface, plane, xy, 2, x, &p))
            return KEPT;
        if (!plane)
            gw_nurbs_evaluate(f->surface, x, 2, NULL, &p);
        gw_vec3 su = p.d[1][0], sv = p.d[0][1];
        double uu = gw_dot(n, p.d[2][0]), uv = gw_dot(n, p.d[1][1]), vv = gw_dot(n, p.d[0][2]);
        double gu = gw_dot(n, su), gv = gw_dot(n, sv), det = uu * vv - uv * uv;
        double metric = gw_norm2(su) * gw_norm2(sv);
        if (fabs(det) * size * size < NEARLY_FLAT * NEARLY_FLAT * metric)
            return KEPT;
        if (det < 0 || uu > 0)
            return GONE;
        double du = -(vv * gu - uv * gv) / det, dv = -(uu * gv - uv * gu) / det;
        double length = gw_norm(gw_add(gw_scale(du, su), gw_scale(dv, sv)));
        double share = length > 0.1 * size ? 0.1 * size / length : 1;
        xy[0] += share * du, xy[1] += share * dv;
        if (plane && !gw_tangent_plane_evaluate(f->surface, plane, xy, 0, x, NULL))
            return KEPT;
        if (!plane)
            x[0] = xy[0], x[1] = xy[1];
        if (gw_nurbs_into_domain(f->surface, x))
            return KEPT; /* an edge of the surface */
        if (length > GW_FREE_FORM_CONVERGED * size)
            continue;
        gw_nurbs_evaluate(f->surface, x, 2, NULL, &t.at);
        t.parameter[0] = x[0], t.parameter[1] = x[1];
        t.normal = gw_scale(f->outward, gw_nurbs_normal(f->surface, x, &t.at));
        gw_reference_face face;
        gw_vec3 s = gw_out_of_surface(q, t.at.d[0][0]);
        if (!gw_convex_reference_face(q->convex, gw_neg(m->normal), 0.99, &face) ||
            !gw_reference_face_contains(&face, s, 0))
            return GONE;
        gw_curvatures own = gw_foot_curvatures(f, &t, n);
        double k = -0.5 * (own.curvature[0] + own.curvature[1]);
        double r = fmin(1 / k, size), height = gw_dot(face.normal, s) - face.offset;
        *m = (gw_manifold_point){.a = gw_mul_add(s, -height, face.normal),
                                 .b = gw_mul_add(s, r, face.normal),
                                 .radius_b = r,
                                 .kind = GW_NORMAL_IN_A,
                                 .normal = gw_neg(face.normal),
                                 .of_face = true,
                                 .gap = height,
                                 .feature_a = m->feature_a & ~(uint32_t)GW_FEATURE_SIDE};
        return height <= q->reach && height > -deepest(q) ? MOVED : GONE;
    }
    return KEPT;
}

static refined refine_face_near(const gw_free_form_query *q, gw_manifold_point *m)
{
    const gw_free_form *f = q->form;
    gw_foot t;
    gw_add_effort(q->effort, GW_EFFORT_OF_SEARCH);
    if (!gw_foot_nearest(f, gw_into_surface(q, m->b), 4 * f->deviation + 1e-3 * f->surface->size,
                         &t) ||
        t.sharp)
        return KEPT;
    return refine_face(q, &t, m);
}

/* The edge of a polytope that is nearest to x (world); -1: it has none. */
static int nearest_edge(const gw_convex *s, gw_vec3 x, double *share)
{
    const gw_polytope *p = s->polytope;
    gw_vec3 local = gw_mat3_tmul(&s->rotation, gw_sub(x, s->origin));
    int best = -1;
    double least = INFINITY;
    for (int i = 0; i < p->edge_count; i++) {
        gw_vec3 a = p->vertices[p->edges[i][0]], d = gw_sub(p->vertices[p->edges[i][1]], a);
        double t = fmin(1, fmax(0, gw_dot(gw_sub(local, a), d) / gw_norm2(d)));
        double far = gw_distance(local, gw_mul_add(a, t, d));
        if (far < least) {
            least = far;
            best = i;
            *share = t;
        }
    }
    return best;
}

static gw_vec3 of_solid(const gw_free_form_query *q, gw_vec3 local)
{
    const gw_convex *c = q->convex;
    return gw_into_surface(q, gw_add(c->origin, gw_mat3_mul(&c->rotation, local)));
}

static gw_vec3 axis_of(const gw_free_form_query *q)
{
    const gw_mat3 *r = &q->convex->rotation;
    return gw_mat3_tmul(&q->rotation, gw_v3(r->m[0][2], r->m[1][2], r->m[2][2]));
}

/* An edge of a polytope, the one nearest to the point, or a vertex at its end. */
static refined refine_edge(const gw_free_form_query *q, gw_manifold_point *m)
{
    const gw_convex *s = q->convex;
    double share = 0;
    int e = nearest_edge(s, m->a, &share), end;
    if (e < 0)
        return KEPT;
    const int *ends = s->polytope->edges[e];
    gw_vec3 from = of_solid(q, s->polytope->vertices[ends[0]]);
    gw_vec3 to = of_solid(q, s->polytope->vertices[ends[1]]);
    curve c = {.from = from, .d = gw_sub(to, from), .high = 1, .radius = s->rounding};
    uint32_t feature = (uint32_t)e | GW_FEATURE_EDGE;
    refined r = refine_curve_near(q, &c, share, feature, &end, m);
    if (end != 0)
        return refine_ball(q, end > 0 ? to : from, s->rounding, (uint32_t)ends[end > 0], m);
    if (r == KEPT)
        return refine_ball(q, gw_mul_add(from, share, c.d), s->rounding, m->feature_a, m);
    return r;
}

static uint32_t rim_id(const gw_convex *s, double z)
{
    return z > 0.5 * (s->low + s->high) ? GW_ID_TOP : GW_ID_BASE;
}

/* The rim of a cylinder or a cone at that height, from the point x of it. */
static refined refine_rim(const gw_free_form_query *q, double z, gw_vec3 x, gw_manifold_point *m)
{
    const gw_convex *s = q->convex;
    curve c = {
        .rim = true, .from = of_solid(q, gw_v3(0, 0, z)), .d = axis_of(q), .radius = s->radius};
    gw_vec3 out = gw_reject(gw_sub(gw_into_surface(q, x), c.from), c.d);
    int end;
    if (!(gw_norm(out) > 1e-6 * s->radius))
        return KEPT;
    c.e = gw_unit(out);
    c.g = gw_cross(c.d, c.e);
    return refine_curve_near(q, &c, 0, rim_id(s, z), &end, m);
}

/* The point where the ball of a point of the manifold touches (world). */
static gw_vec3 lowest(const gw_manifold_point *m)
{
    return gw_mul_add(m->a, -m->radius_a, m->normal);
}

/* The side of a cylinder or a cone: balls about its axis. Those of a cone have the radius
 * (high - z) sin(alpha), tan(alpha) = radius / length; they touch its side from z = low -
 * length tan(alpha)^2 on. */
static curve side_of(const gw_free_form_query *q)
{
    const gw_convex *s = q->convex;
    bool cone = s->core == GW_CORE_CONE;
    double length = s->high - s->low, slope = cone ? s->radius / length : 0;
    curve c = {.high = 1, .from = of_solid(q, gw_v3(0, 0, s->low - length * slope * slope))};
    length *= 1 + slope * slope;
    c.d = gw_scale(length, axis_of(q));
    c.radius = cone ? length * slope / hypot(1, slope) : s->radius;
    c.taper = cone ? -c.radius : 0;
    return c;
}

/* The same, or the rim or the apex where it ends. */
static refined refine_side(const gw_free_form_query *q, gw_manifold_point *m)
{
    const gw_convex *s = q->convex;
    curve c = side_of(q);
    double along = gw_dot(gw_sub(gw_into_surface(q, m->a), c.from), c.d) / gw_norm2(c.d);
    int end;
    refined r =
        refine_curve_near(q, &c, fmin(1, fmax(0, along)), GW_ID_BASE | GW_FEATURE_EDGE, &end, m);
    if (end == 0)
        return r;
    if (end > 0 && s->core == GW_CORE_CONE)
        return refine_ball(q, of_solid(q, gw_v3(0, 0, s->high)), 0, GW_ID_APEX, m);
    return refine_rim(q, end > 0 ? s->high : s->low, lowest(m), m);
}

/* A point of the solid: an apex, or one of the four of a rim. */
static bool is_fixed(uint32_t id)
{
    return id == GW_ID_APEX || (id >= GW_ID_RIM && id < GW_ID_RIM + 4);
}

static refined refine_curved(const gw_free_form_query *q, gw_manifold_point *m)
{
    const gw_convex *s = q->convex;
    uint32_t id = m->feature_a & (GW_FEATURE_EDGE - 1);
    bool edge = m->feature_a & GW_FEATURE_EDGE;
    double z = gw_mat3_tmul(&s->rotation, gw_sub(lowest(m), s->origin)).z;
    double end = z > 0.5 * (s->low + s->high) ? s->high : s->low;
    if (id == GW_ID_RIM + 4 || (edge && id >= GW_ID_RIM))
        return refine_rim(q, end, lowest(m), m);
    if (id >= GW_ID_RIM)
        return refine_ball(q, gw_into_surface(q, m->a), 0, m->feature_a, m);
    if (edge)
        return refine_side(q, m);
    if (id == GW_ID_APEX)
        return refine_ball(q, gw_into_surface(q, m->a), 0, m->feature_a, m);
    return refine_rim(q, end, lowest(m), m);
}

static refined refine_point(const gw_free_form_query *q, gw_manifold_point *m)
{
    const gw_convex *s = q->convex;
    bool side = m->feature_a & GW_FEATURE_SIDE, face = m->feature_a & GW_FEATURE_FACE;
    if (face && !side)
        return refine_face_near(q, m);
    if (s->core != GW_CORE_POLYTOPE)
        return face ? KEPT : refine_curved(q, m);
    if (side || (m->feature_a & GW_FEATURE_EDGE))
        return refine_edge(q, m);
    uint32_t vertex = m->feature_a;
    if (vertex >= (uint32_t)s->polytope->vertex_count)
        return KEPT;
    return refine_ball(q, of_solid(q, s->polytope->vertices[vertex]), s->rounding, vertex, m);
}

/* Features of the solid from which Newton's method was started, and how often. */
typedef struct starts {
    int count, times[GW_TRIMESH_POINTS];
    uint32_t feature[GW_TRIMESH_POINTS];
} starts;

/* Whether it may be started once more: of an edge from two points, of a rim or a face from three,
 * of what is a point once. */
static bool may_start(const gw_free_form_query *q, starts *s, const gw_manifold_point *m)
{
    uint32_t feature = m->feature_a;
    int most = 1, i = 0;
    double share;
    bool polytope = q->convex->core == GW_CORE_POLYTOPE;
    if (feature & (GW_FEATURE_EDGE | GW_FEATURE_SIDE)) {
        feature = polytope ? (uint32_t)nearest_edge(q->convex, m->a, &share) : feature;
        feature |= GW_FEATURE_EDGE;
        most = 2;
    } else if ((feature & GW_FEATURE_FACE) || (!polytope && !is_fixed(feature))) {
        most = 3;
    }
    while (i < s->count && s->feature[i] != feature)
        i++;
    if (i == GW_TRIMESH_POINTS)
        return false;
    if (i == s->count) {
        s->count++;
        s->feature[i] = feature;
        s->times[i] = 0;
    }
    return s->times[i]++ < most;
}

/* Whether a point that was kept is this one: the same feature at the same place. */
static bool is_one_of(const gw_free_form_query *q, const gw_manifold_point *points, int count,
                      const gw_manifold_point *m)
{
    double near = 10 * GW_FREE_FORM_SAME * q->form->surface->size;
    for (int i = 0; i < count; i++)
        if (points[i].feature_a == m->feature_a && gw_dot(points[i].normal, m->normal) > 0.999 &&
            gw_distance(points[i].a, m->a) < near && gw_distance(points[i].b, m->b) < near)
            return true;
    return false;
}

/* The height of a rim of a cylinder or a cone that lies on the surface, as the point has its
 * normal: its axis is within 45 degrees of that. */
static bool rim_lies(const gw_free_form_query *q, const gw_manifold_point *m, double *z)
{
    const gw_convex *s = q->convex;
    if (s->core == GW_CORE_POLYTOPE)
        return false;
    double up = gw_dot(gw_mat3_tmul(&s->rotation, m->normal), gw_v3(0, 0, 1));
    *z = up > 0 ? s->low : s->high;
    return up > LIES || (s->core == GW_CORE_CYLINDER && up < -LIES);
}

/* Points of such a rim that are fixed in the solid, so that each stays where it is while it lies.
 */
static int add_rim_points(const gw_free_form_query *q, double z, const gw_manifold_point *near,
                          gw_manifold_point points[RIM_POINTS])
{
    int n = 0;
    for (int i = 0; i < RIM_POINTS; i++) {
        double turn = 2 * GW_PI * i / RIM_POINTS, r = q->convex->radius;
        gw_vec3 x = of_solid(q, gw_v3(r * cos(turn), r * sin(turn), z));
        gw_manifold_point m = *near;
        m.gap = q->reach;
        uint32_t feature = (uint32_t)(GW_ID_RIM + RIM_POINTS + i);
        if (refine_ball(q, x, 0, feature, &m) == MOVED)
            points[n++] = m;
    }
    return n;
}

/* Whether it is the lowest point of such a rim, and no lower than one that is fixed. */
static bool is_on_rim(const gw_manifold_point *m, const gw_manifold_point *points, int rim_points)
{
    double least = INFINITY;
    for (int i = 0; i < rim_points; i++)
        least = fmin(least, points[i].gap);
    bool rim = m->feature_a == GW_ID_TOP || m->feature_a == GW_ID_BASE || m->feature_a >= GW_ID_RIM;
    rim = rim && !(m->feature_a & (GW_FEATURE_EDGE | GW_FEATURE_FACE));
    return rim && m->gap > least - LOWER;
}

int gw_free_form_refine(const gw_free_form_query *query, const gw_manifold_point *found, int count,
                        gw_manifold_point *points, int capacity)
{
    assert(query->form && query->convex && found && points);
    gw_free_form_query own = *query;
    const gw_free_form_query *q = &own;
    gw_foot centre;
    gw_foot_of_centre(&own, &centre);
    gw_manifold_point left[GW_TRIMESH_POINTS];
    starts s = {.count = 0};
    double z;
    bool lies = count > 0 && rim_lies(q, &found[0], &z);
    int rim_points = lies ? add_rim_points(q, z, &found[0], left) : 0, n = rim_points;
    for (int i = 0; i < count && n < GW_TRIMESH_POINTS; i++) {
        gw_manifold_point m = found[i];
        if ((lies && m.feature_a >= GW_ID_RIM && m.feature_a < GW_ID_RIM + 4) ||
            !may_start(q, &s, &m))
            continue;
        refined r = refine_point(q, &m);
        if (r == GONE || m.gap > q->reach || is_one_of(q, left, n, &m) ||
            (rim_points > 0 && is_on_rim(&m, left, rim_points)))
            continue;
        m.feature_b = r == MOVED ? 0 : m.feature_b;
        left[n++] = m;
    }
    for (int i = 0; i < n; i++)
        for (int k = 0; k < i; k++)
            left[i].feature_b += left[k].feature_a == left[i].feature_a;
    gw_trimesh_sort(left, n);
    /* what overlaps so deep that nothing of it is found keeps its points on the triangles */
    if (n == 0)
        while (n < count && n < GW_TRIMESH_POINTS && found[n].gap < 0)
            left[n] = found[n], n++;
    n = gw_trimesh_reduce(left, n, capacity);
    for (int i = 0; i < n; i++)
        points[i] = left[i];
    return n;
}

/* ---- solids of few features: boxes and small hulls, capsules, cylinders, cones -----------------
 */

/* Points found so far of such a solid. */
typedef struct gathered {
    gw_vec3 up; /* all triangles that are near lie below `top` along it (the surface's frame) */
    double top;
    int count;
    gw_manifold_point points[GW_TRIMESH_POINTS];
} gathered;

/* The foot of a point (in the surface's frame) with a ball of that radius that is within the reach
 * and `slack`, or below the surface. */
static bool foot_near(const gw_free_form_query *q, const gathered *g, gw_vec3 x, double radius,
                      double slack, gw_foot *t)
{
    double above = radius + q->reach + q->form->deviation + slack;
    if (gw_dot(g->up, x) - g->top >= above)
        return false;
    gw_add_effort(q->effort, GW_EFFORT_OF_SEARCH);
    return gw_foot_nearest(q->form, x, fmax(above, deepest(q)), t);
}

static void gather(const gw_free_form_query *q, gathered *g, const gw_manifold_point *m)
{
    if (g->count < GW_TRIMESH_POINTS && m->gap <= q->reach && !is_one_of(q, g->points, g->count, m))
        g->points[g->count++] = *m;
}

/* Whether the surface is smooth, and goes on, wherever the solid is near; *none: it is nowhere
 * near. */
static bool is_smooth_near(const gw_free_form_query *q, gathered *g, bool *none)
{
    const gw_free_form *f = q->form;
    const gw_convex *c = q->convex;
    gw_vec3 centre = gw_into_surface(q, c->origin), sum = {0, 0, 0};
    int triangles[GW_FREE_FORM_TRIANGLES];
    double range = c->size + c->rounding + q->reach + f->deviation;
    int count = gw_trimesh_near(f->trimesh, centre, range, triangles, GW_FREE_FORM_TRIANGLES);
    gw_add_effort(q->effort, count * GW_EFFORT_OF_LISTED);
    *none = count == 0;
    if (*none || count > GW_FREE_FORM_TRIANGLES)
        return *none;
    for (int i = 0; i < count; i++) {
        if (f->lean[triangles[i]] == 1)
            return false;
        sum = gw_add(sum, f->normals[triangles[i]]);
    }
    g->top = -INFINITY;
    g->up = gw_norm2(sum) > 0 ? gw_unit(sum) : gw_v3(0, 0, 1);
    if (gw_dot(g->up, gw_sub(centre, gw_triangle_corner(f, triangles[0], 0))) < 0)
        g->up = gw_neg(g->up);
    for (int i = 0; i < count; i++)
        for (int k = 0; k < 3; k++)
            g->top = fmax(g->top, gw_dot(g->up, gw_triangle_corner(f, triangles[i], k)));
    return true;
}

/* A ball of that radius about a point of the solid. */
static void gather_ball(const gw_free_form_query *q, gw_vec3 x, double radius, uint32_t feature,
                        gathered *g)
{
    gw_manifold_point m = {.gap = q->reach};
    if (refine_ball(q, x, radius, feature, &m) == MOVED)
        gather(q, g, &m);
}

/* A line with balls about its points: each point between its ends where it is nearest. */
static void gather_line(const gw_free_form_query *q, const curve *c, uint32_t feature, gathered *g)
{
    enum { SAMPLES = 5 };
    const double between = c->high * gw_norm(c->d) / (SAMPLES - 1), sagitta = 0.1 * between;
    gw_vec3 first, second;
    gw_foot feet[SAMPLES];
    double gap[SAMPLES + 2]; /* and beyond both ends */
    gap[0] = gap[SAMPLES + 1] = INFINITY;
    for (int i = 0; i < SAMPLES; i++) {
        double s = c->high * i / (SAMPLES - 1), radius = c->radius + s * c->taper;
        gw_vec3 x = curve_at(c, s, &first, &second);
        gap[i + 1] = INFINITY;
        if (foot_near(q, g, x, radius, sagitta, &feet[i]) && !feet[i].sharp)
            gap[i + 1] = gw_foot_side(q, &feet[i]) * feet[i].height - radius;
    }
    for (int i = 0; i < SAMPLES; i++) {
        gw_manifold_point m;
        int end;
        if (isfinite(gap[i + 1]) && gap[i + 1] <= gap[i] && gap[i + 1] <= gap[i + 2] &&
            refine_curve(q, c, c->high * i / (SAMPLES - 1), &feet[i], feature, &end, &m) == MOVED)
            gather(q, g, &m);
    }
}

/* A rim: where it lies, points of it that are fixed in the solid; and its lowest points. *lowest:
 * the foot of one near these; false where there is none. */
static bool gather_rim(const gw_free_form_query *q, double z, gathered *g, gw_foot *lowest)
{
    const gw_convex *s = q->convex;
    const double sagitta = 0.1 * s->radius; /* of the rim between two points */
    curve c = {
        .rim = true, .from = of_solid(q, gw_v3(0, 0, z)), .d = axis_of(q), .radius = s->radius};
    c.e = gw_mat3_tmul(&q->rotation,
                       gw_mat3_mul(&s->rotation, gw_v3(1, 0, 0))); /* fixed in the solid */
    c.g = gw_cross(c.d, c.e);
    double height[RIM_POINTS], out = z > 0.5 * (s->low + s->high) ? 1 : -1;
    gw_foot feet[RIM_POINTS];
    int first_point = g->count, least = -1;
    for (int i = 0; i < RIM_POINTS; i++) {
        gw_vec3 first, second, x = curve_at(&c, 2 * GW_PI * i / RIM_POINTS, &first, &second);
        height[i] = INFINITY;
        if (!foot_near(q, g, x, 0, sagitta, &feet[i]) || feet[i].sharp)
            continue;
        double side = gw_foot_side(q, &feet[i]);
        gw_manifold_point m;
        height[i] = side * feet[i].height;
        least = least < 0 || height[i] < height[least] ? i : least;
        bool lies = -out * side * gw_dot(c.d, feet[i].normal) > LIES;
        if (!lies || !gw_foot_ball(q, x, 0, &feet[i], &m))
            continue;
        m.feature_a = (uint32_t)(GW_ID_RIM + RIM_POINTS + i);
        gather(q, g, &m);
    }
    int rim_points = g->count - first_point;
    for (int i = 0; i < RIM_POINTS; i++) {
        double before = height[(i + RIM_POINTS - 1) % RIM_POINTS];
        gw_manifold_point m;
        int end;
        if (!isfinite(height[i]) || height[i] > before ||
            height[i] > height[(i + 1) % RIM_POINTS] ||
            refine_curve(q, &c, 2 * GW_PI * i / RIM_POINTS, &feet[i], rim_id(s, z), &end, &m) !=
                MOVED)
            continue;
        if (rim_points == 0 || !is_on_rim(&m, &g->points[first_point], rim_points))
            gather(q, g, &m);
    }
    if (least >= 0)
        *lowest = feet[least];
    return least >= 0;
}

/* The flat face of the solid that is most opposite to the surface at a foot, over what bends away
 * from it: from there. */
static void gather_face(const gw_free_form_query *q, const gw_foot *foot, gathered *g)
{
    gw_reference_face face;
    gw_vec3 n = gw_mat3_mul(&q->rotation, gw_scale(gw_foot_side(q, foot), foot->normal));
    if (foot->sharp || !gw_convex_reference_face(q->convex, gw_neg(n), LIES, &face))
        return;
    gw_manifold_point m = {.normal = gw_neg(face.normal),
                           .feature_a = (uint32_t)face.id | GW_FEATURE_FACE};
    if (refine_face(q, foot, &m) == MOVED)
        gather(q, g, &m);
}

/* Vertices and edges of a polytope. *lowest as of gather_rim(). */
static bool gather_polytope(const gw_free_form_query *q, gathered *g, gw_foot *lowest)
{
    const gw_polytope *p = q->convex->polytope;
    const double rounding = q->convex->rounding;
    double least = INFINITY;
    for (int i = 0; i < p->vertex_count; i++) {
        gw_vec3 x = of_solid(q, p->vertices[i]);
        gw_manifold_point m;
        gw_foot t;
        if (!foot_near(q, g, x, rounding, 0, &t) || !gw_foot_ball(q, x, rounding, &t, &m))
            continue;
        m.feature_a = (uint32_t)i;
        gather(q, g, &m);
        if (m.gap < least)
            least = m.gap, *lowest = t;
    }
    for (int i = 0; i < p->edge_count; i++) {
        gw_vec3 from = of_solid(q, p->vertices[p->edges[i][0]]);
        gw_vec3 to = of_solid(q, p->vertices[p->edges[i][1]]);
        curve c = {.from = from, .d = gw_sub(to, from), .high = 1, .radius = rounding};
        gather_line(q, &c, (uint32_t)i | GW_FEATURE_EDGE, g);
    }
    return isfinite(least);
}

int gw_free_form_solid(const gw_free_form_query *query, gw_manifold_point *points, int capacity,
                       double *gap)
{
    assert(query->form && query->convex && points && gap);
    const gw_convex *s = query->convex;
    gw_free_form_query q = *query;
    bool polytope = s->core == GW_CORE_POLYTOPE, none, known;
    gathered g = {.count = 0};
    gw_foot centre, lowest, top;
    if ((polytope && s->polytope->vertex_count > VERTICES_MAX) || !gw_finite3(s->origin) ||
        !is_smooth_near(&q, &g, &none))
        return -1;
    *gap = q.reach;
    if (none)
        return 0;
    bool found = gw_foot_of_centre(&q, &centre);
    if (polytope) {
        known = gather_polytope(&q, &g, &lowest);
    } else {
        curve side = side_of(&q);
        known = gather_rim(&q, s->low, &g, &lowest);
        if (s->core == GW_CORE_CONE)
            gather_ball(&q, of_solid(&q, gw_v3(0, 0, s->high)), 0, GW_ID_APEX, &g);
        else if (gather_rim(&q, s->high, &g, &top))
            gather_face(&q, &top, &g);
        gather_line(&q, &side, GW_ID_BASE | GW_FEATURE_EDGE, &g);
    }
    if (known)
        gather_face(&q, &lowest, &g);
    if (found)
        gather_face(&q, &centre, &g);
    for (int i = 0; i < g.count; i++)
        for (int k = 0; k < i; k++)
            g.points[i].feature_b += g.points[k].feature_a == g.points[i].feature_a;
    gw_trimesh_sort(g.points, g.count);
    *gap = g.count > 0 ? g.points[0].gap : *gap;
    g.count = gw_trimesh_reduce(g.points, g.count, capacity);
    for (int i = 0; i < g.count; i++)
        points[i] = g.points[i];
    return g.count;
}

/* ---- edges of another surface ------------------------------------------------------------------
 */

/* Whether side k of a triangle is along an edge or a kink, and which: the curve and its feature. */
static bool edge_of_side(const gw_edged_form *edged, int triangle, int k, curve *c,
                         uint32_t *feature)
{
    const gw_free_form *f = edged->form;
    const double *from = f->parameters[triangle][k], *to = f->parameters[triangle][(k + 1) % 3];
    for (int across = 0; across < 2; across++) {
        const gw_nurbs_direction *d = &f->surface->direction[across];
        const gw_nurbs_direction *along = &f->surface->direction[1 - across];
        const double same = 1e-9 * (d->high - d->low);
        for (int i = 0; i < d->kink_count + 2; i++) {
            double at = i < 2 ? (i ? d->high : d->low) : d->kinks[i - 2];
            if ((i < 2 && d->closed) || fabs(from[across] - at) > same ||
                fabs(to[across] - at) > same)
                continue;
            *c = (curve){.edged = edged,
                         .along = 1 - across,
                         .at = at,
                         .closed = along->closed,
                         .high = along->high - along->low};
            *feature = (uint32_t)(2 * i + across) | GW_FEATURE_EDGE;
            return true;
        }
    }
    return false;
}

/*/* A point along such an edge: its foot, and the slope of its height. */
typedef struct edge_place {
    bool known;
    double at, slope;
    gw_vec3 point;
    gw_foot foot;
} edge_place;

static edge_place edge_place_at(const gw_free_form_query *q, const curve *c, double at)
{
    edge_place p = {.at = at};
    gw_vec3 first, second;
    p.point = curve_at(c, at, &first, &second);
    gw_add_effort(q->effort, GW_EFFORT_OF_SEARCH);
    p.known = gw_norm(first) > 0 &&
              gw_foot_nearest(q->form, p.point, q->reach + q->form->deviation, &p.foot) &&
              !p.foot.sharp;
    if (p.known)
        p.slope = gw_foot_side(q, &p.foot) * gw_dot(p.foot.normal, first) / gw_norm(first);
    return p;
}

/* A corner of the triangles that is at an end of the edge, or where this is level. */
static void gather_edge_corner(const gw_free_form_query *q, const curve *c, const edge_place *p,
                               uint32_t vertex, gathered *g)
{
    const double level = 0.1; /* sine */
    bool end = !c->closed && (p->at <= 0 || p->at >= c->high);
    gw_manifold_point m;
    if (!p->known || (!end && fabs(p->slope) > level) ||
        !gw_foot_ball(q, p->point, 0, &p->foot, &m))
        return;
    m.feature_a = vertex;
    gather(q, g, &m);
}

int gw_free_form_edges(const gw_free_form_query *q, const gw_edged_form *edged,
                       gw_manifold_point *points, int capacity)
{
    const gw_free_form *f = edged->form;
    gathered g = {.count = 0};
    for (int i = 0; i < 3 * edged->count; i++) {
        int t = edged->triangles[i / 3], k = i % 3;
        curve c;
        uint32_t feature;
        if (!edge_of_side(edged, t, k, &c, &feature))
            continue;
        const gw_nurbs_direction *d = &f->surface->direction[c.along];
        edge_place ends[2];
        for (int j = 0; j < 2; j++) {
            int corner = (k + j) % 3;
            ends[j] = edge_place_at(q, &c, f->parameters[t][corner][c.along] - d->low);
            gather_edge_corner(q, &c, &ends[j], (uint32_t)f->mesh->triangles[t][corner], &g);
        }
        /* the height falls into the side from both ends */
        double turn = ends[1].at > ends[0].at ? 1 : -1, slope[2];
        for (int j = 0; j < 2; j++)
            slope[j] = turn * ends[j].slope;
        if (!ends[0].known || !ends[1].known || slope[0] > 0 || slope[1] < 0 ||
            !(slope[1] - slope[0] > NEARLY_FLAT))
            continue;
        double share = slope[0] / (slope[0] - slope[1]);
        const edge_place *nearer = share < 0.5 ? &ends[0] : &ends[1];
        gw_manifold_point m;
        int end;
        if (refine_curve(q, &c, ends[0].at + share * (ends[1].at - ends[0].at), &nearer->foot,
                         feature, &end, &m) == MOVED)
            gather(q, &g, &m);
    }
    int count = g.count < capacity ? g.count : capacity;
    for (int i = 0; i < count; i++)
        points[i] = g.points[i];
    return count;
}
