/*
 * From the signed distance of two convex solids to their contact manifold. Any thread.
 *
 * Where a face of one solid is near the normal, it is a reference face: every vertex of the other
 * solid's incident feature above it is a point of the manifold with the face's normal (a body that
 * tips towards a table comes down on any of them), and so is every crossing of an edge of the
 * incident feature with a side of the face (the clipping of Sutherland and Hodgman, by edges).
 * Where none of these has the distance that was found, the nearest pair of points is added: edge
 * against edge, ball against ball. Of all these, four at most are kept.
 */
#include "rt/collision/manifold.h"

#include <assert.h>
#include <string.h>

#include "rt/base/simd.h"
#include "rt/collision/edge_pair.h"

/* Of either face each vertex and two crossings of each edge, and the nearest pair. */
enum { FOUND_MAX = 2 * 3 * GW_FEATURE_POINTS + 2 };

static const gw_curvatures flat;       /* none */
static const double same_place = 1e-9; /* m */
static const double skew = 0.3;        /* least sine of the angle between crossing edges */
static const double level = 1e-3;      /* slope of an edge up to which it lies on a face, and */
static const double steep = 0.1;       /* up to which it does so unless it is the nearest */

/* Manifold under construction; normals point from b towards a. */
typedef struct builder {
    const gw_convex *a, *b;
    gw_signed_distance nearest;
    double reach;
    int count;
    gw_manifold_point found[FOUND_MAX];
    double least[FOUND_MAX], sum[FOUND_MAX]; /* of the distances from the points taken (m) */
} builder;

static gw_manifold_point *add_found(builder *m)
{
    assert(m->count < FOUND_MAX);
    return &m->found[m->count++];
}

/* ---- an incident feature over a reference face ----------------------------------------------- */

/* Whether a point with that normal has been found at that position on a. */
static bool is_found(const builder *m, gw_vec3 position, gw_vec3 normal)
{
    for (int i = 0; i < m->count; i++) {
        const gw_manifold_point *t = &m->found[i];
        gw_vec3 at = gw_mul_add(t->a, -t->radius_a, t->normal);
        if (gw_dot(t->normal, normal) > 0.999 && gw_distance(at, position) < 1e-7)
            return true;
    }
    return false;
}

/* A ball around p, of the incident solid, above the reference face (`on_b`: b has the face). */
static void add_above_face(builder *m, const gw_reference_face *face, bool on_b, gw_vec3 p,
                           double radius, uint32_t feature, uint32_t face_feature)
{
    double height = gw_dot(face->normal, p) - face->offset, gap = height - radius;
    /* overlapping: a point deeper than the distance is under a face that does not separate */
    double least = m->nearest.distance - same_place;
    gw_vec3 normal = on_b ? face->normal : gw_neg(face->normal);
    gw_vec3 foot = gw_mul_add(p, -height, face->normal);
    gw_vec3 low = gw_mul_add(p, -radius, face->normal);
    if (gap > m->reach || gap < least || is_found(m, on_b ? low : foot, normal))
        return;
    gw_manifold_point t = {.a = p,
                           .b = foot,
                           .radius_a = radius,
                           .kind = GW_NORMAL_IN_B,
                           .normal = face->normal,
                           .of_face = true,
                           .gap = gap,
                           .feature_a = feature,
                           .feature_b = face_feature};
    *add_found(m) = on_b ? t : gw_manifold_point_swapped(&t);
}

/* Where the line along d is nearest to the line along e that is at q from it, as a fraction of d:
 * x = (q x e) . (d x e) / |d x e|^2. */
static double line_fraction(gw_vec3 d, gw_vec3 e, gw_vec3 q)
{
    gw_vec3 across = gw_cross(d, e);
    return gw_dot(gw_cross(q, e), across) / gw_norm2(across);
}

/* Where two edges are nearest, from points near that; straight ones keep their points, which serve
 * as well. */
static void find_nearest(gw_edge_point *a, gw_edge_point *b)
{
    bool straight = gw_norm2(a->k) + gw_norm2(b->k) == 0 && !gw_edge_points_taper(a, b);
    for (int i = 0; !straight && i < 8 && gw_edge_points_approach(a, b) > 1e-15; i++) {
    }
}

/* Fixes the normal to an edge of a and one of b, which it is across, or to b where they are so
 * nearly parallel that it would turn much faster than they do. The normal of a distance near zero
 * is inaccurate; its side is not. */
static void follow_edges(gw_manifold_point *point, const gw_edge_point *a, const gw_edge_point *b)
{
    gw_vec3 across = gw_cross(a->e, b->e), n = gw_edge_points_normal(a, b);
    double size = gw_norm(across), side = gw_dot(across, point->normal) < 0 ? -1 : 1;
    point->normal = gw_edge_points_taper(a, b) ? n : gw_scale(side, n);
    point->a = a->x;
    point->b = b->x;
    point->gap = gw_dot(point->normal, gw_sub(a->x, b->x)) - point->radius_a - point->radius_b;
    point->kind = GW_NORMAL_IN_B;
    if (!(size > skew))
        return;
    point->kind = GW_NORMAL_ACROSS;
    point->edge_a = a->e;
    point->edge_b = gw_scale(side, b->e);
    point->bow_a = a->k;
    point->bow_b = b->k;
    point->taper_a = a->taper;
    point->taper_b = side * b->taper;
}

/* The edge round the reference face at a point of it that is on side i: a side or the rim. */
static gw_edge_point border_at(const gw_reference_face *face, gw_vec3 x, int i)
{
    if (face->count > 0)
        return (gw_edge_point){.x = x,
                               .e = gw_unit(gw_sub(face->p[(i + 1) % face->count], face->p[i]))};
    gw_vec3 out = gw_unit(gw_sub(x, face->centre));
    return (gw_edge_point){
        .x = x, .e = gw_cross(face->normal, out), .k = gw_scale(-1 / face->radius, out)};
}

/* Moves both points to where an edge, of which *edge is the point at the fraction `at` of d, and
 * the border of the face are nearest; false if that is beyond an end of them. */
static bool find_crossing(const gw_reference_face *face, int side, double at, gw_vec3 d,
                          gw_edge_point *edge, gw_edge_point *border)
{
    gw_vec3 p = edge->x;
    gw_edge_points_approach(edge, border);
    find_nearest(edge, border);
    double x = at + gw_dot(d, gw_sub(edge->x, p)) / gw_norm2(d), y = 0.5;
    if (face->count > 0) {
        gw_vec3 from = face->p[side], e = gw_sub(face->p[(side + 1) % face->count], from);
        y = gw_dot(e, gw_sub(border->x, from)) / gw_norm2(e);
    }
    return x > 0 && x < 1 && y > 0 && y < 1;
}

/* A sharp edge along d, p on it at the fraction `at`, over a side or the rim of the reference face:
 * edge across edge with the normal n ~ d x e. Not where they overlap: the nearest pair stands for
 * that. Where the lines are nearest beyond an end of the edges, the normal is fixed to the face. An
 * edge that is nearly level crosses only as the nearest pair; otherwise nothing is added and the
 * result is false: it lies above the face. */
static bool add_edge_crossing(builder *m, const gw_reference_face *face, bool on_b, gw_vec3 p,
                              double at, gw_vec3 d, int side, bool is_level, uint32_t feature,
                              uint32_t face_feature)
{
    gw_vec3 foot = gw_mul_add(p, face->offset - gw_dot(face->normal, p), face->normal);
    gw_edge_point edge = {.x = p, .e = gw_unit(d)}, border = border_at(face, foot, side);
    gw_edge_point from = edge, to = border;
    bool rim = face->count == 0, inside = rim && find_crossing(face, side, at, d, &from, &to);
    if (inside)
        edge = from, border = to;
    gw_vec3 n = gw_unit(gw_cross(edge.e, border.e));
    n = gw_dot(n, face->normal) < 0 ? gw_neg(n) : n;
    double gap = gw_dot(n, gw_sub(edge.x, border.x));
    bool outward = gw_dot(n, gw_cross(border.e, face->normal)) > 0;
    bool nearest = fabs(gap - m->nearest.distance) <= same_place;
    if (gap > m->reach || gap < fmax(0, m->nearest.distance) - same_place || !outward ||
        (is_level && !nearest))
        return !is_level;
    gw_manifold_point t = {.a = edge.x,
                           .b = border.x,
                           .kind = GW_NORMAL_IN_B,
                           .normal = n,
                           .gap = gap,
                           .feature_a = feature,
                           .feature_b = face_feature};
    if (inside || (!rim && find_crossing(face, side, at, d, &from, &to)))
        follow_edges(&t, &edge, &border);
    *add_found(m) = on_b ? t : gw_manifold_point_swapped(&t);
    return true;
}

/* Clips the segment p + t d, t in 0 .. 1, against the sides of the face. Out: the part t[0] .. t[1]
 * above the face, and the sides through which it enters and leaves (-1: none). False where no part
 * is above the face. */
static bool clip_segment(const gw_reference_face *face, gw_vec3 p, gw_vec3 d, double t[2],
                         int side[2])
{
    t[0] = 0, t[1] = 1;
    side[0] = side[1] = -1;
    if (face->count == 0) {
        gw_vec3 from = gw_reject(gw_sub(p, face->centre), face->normal);
        gw_vec3 along = gw_reject(d, face->normal);
        double x = gw_norm2(along), half = -gw_dot(from, along);
        double root = half * half - x * (gw_norm2(from) - face->radius * face->radius);
        if (!(root > 0) || x == 0)
            return false;
        double enter = (half - sqrt(root)) / x, leave = (half + sqrt(root)) / x;
        if (enter > t[0])
            t[0] = enter, side[0] = 0;
        if (leave < t[1])
            t[1] = leave, side[1] = 1;
        return t[0] < t[1];
    }
    for (int i = 0; i < face->count; i++) {
        gw_vec3 from = face->p[i], out = face->side[i];
        double at = gw_dot(out, gw_sub(p, from)), rate = gw_dot(out, d);
        if (rate == 0 && at > 0)
            return false;
        if (rate < 0 && -at / rate > t[0])
            t[0] = -at / rate, side[0] = i;
        else if (rate > 0 && -at / rate < t[1])
            t[1] = -at / rate, side[1] = i;
    }
    return t[0] < t[1];
}

/* Vertices of the incident feature above the face, and crossings of its edges with the sides. */
GW_TARGET_CLONES
static void add_incident_feature(builder *m, const gw_reference_face *face, bool on_b,
                                 const gw_support_feature *f, double rounding)
{
    uint32_t face_feature = (uint32_t)face->id | GW_FEATURE_FACE;
    for (int i = 0; i < f->count; i++)
        if (gw_reference_face_contains(face, f->p[i], same_place))
            add_above_face(m, face, on_b, f->p[i], f->radius[i] + rounding, (uint32_t)f->id[i],
                           face_feature);

    int edges = f->closed ? f->count : f->count - 1;
    for (int i = 0; i < edges; i++) {
        int k = (i + 1) % f->count, side[2];
        double t[2];
        gw_vec3 d = gw_sub(f->p[k], f->p[i]);
        if (!clip_segment(face, f->p[i], d, t, side))
            continue;
        bool sharp = rounding == 0 && f->radius[i] == 0 && f->radius[k] == 0;
        bool chord = sharp && f->closed && f->id[i] >= GW_ID_RIM; /* between points of a rim */
        double rise = gw_dot(d, face->normal) - (f->radius[k] - f->radius[i]); /* of low points */
        double slope = fabs(rise) / gw_norm(d);
        for (int end = 0; end < 2; end++) {
            if (side[end] < 0)
                continue;
            double radius = f->radius[i] + t[end] * (f->radius[k] - f->radius[i]) + rounding;
            gw_vec3 p = gw_mul_add(f->p[i], t[end], d);
            uint32_t edge_feature = (uint32_t)f->id[i] | GW_FEATURE_EDGE;
            uint32_t side_feature = face_feature + ((uint32_t)side[end] << 8) + GW_FEATURE_SIDE;
            bool crosses = sharp && !chord && slope > level &&
                           add_edge_crossing(m, face, on_b, p, t[end], d, side[end], slope <= steep,
                                             edge_feature, side_feature);
            if (!crosses && slope <= steep)
                add_above_face(m, face, on_b, p, radius, edge_feature, side_feature);
        }
    }
}

/* A face within 45 degrees of the normal is a reference face; both solids may have one. */
static void add_faces(builder *m)
{
    const double cosine = 0.7;
    gw_vec3 n = m->nearest.normal;
    gw_reference_face face;
    gw_support_feature incident;
    if (gw_convex_reference_face(m->b, n, cosine, &face)) {
        gw_convex_incident_feature(m->a, gw_neg(face.normal), &incident);
        add_incident_feature(m, &face, true, &incident, m->a->rounding);
    }
    if (gw_convex_reference_face(m->a, gw_neg(n), cosine, &face)) {
        gw_convex_incident_feature(m->b, gw_neg(face.normal), &incident);
        add_incident_feature(m, &face, false, &incident, m->b->rounding);
    }
}

/* ---- the nearest pair of points -------------------------------------------------------------- */

/* The point of the segment nearest to p, as a fraction of its length. */
static double nearest_fraction(const gw_support_feature *s, gw_vec3 p)
{
    gw_vec3 d = gw_sub(s->p[1], s->p[0]);
    return fmin(1, fmax(0, gw_dot(d, gw_sub(p, s->p[0])) / gw_norm2(d)));
}

static gw_vec3 on_segment(const gw_support_feature *s, double t)
{
    return gw_mul_add(s->p[0], t, gw_sub(s->p[1], s->p[0]));
}

static bool are_parallel(const gw_support_feature *a, const gw_support_feature *b)
{
    gw_vec3 d = gw_unit(gw_sub(a->p[1], a->p[0])), e = gw_unit(gw_sub(b->p[1], b->p[0]));
    return gw_norm(gw_cross(d, e)) < 1e-4;
}

/* The fractions x, y of two segments where they are nearest: once, or, where they are parallel, at
 * both ends of their common part. Returns how many. */
static int nearest_fractions(const gw_support_feature *a, const gw_support_feature *b, double x[2],
                             double y[2])
{
    gw_vec3 d = gw_sub(a->p[1], a->p[0]), e = gw_sub(b->p[1], b->p[0]);
    if (!are_parallel(a, b)) {
        gw_vec3 q = gw_sub(b->p[0], a->p[0]);
        x[0] = fmin(1, fmax(0, line_fraction(d, e, q)));
        y[0] = nearest_fraction(b, on_segment(a, x[0]));
        x[0] = nearest_fraction(a, on_segment(b, y[0]));
        return 1;
    }
    double s = gw_dot(d, gw_sub(b->p[0], a->p[0])) / gw_norm2(d);
    double t = gw_dot(d, gw_sub(b->p[1], a->p[0])) / gw_norm2(d);
    x[0] = fmin(1, fmax(0, fmin(s, t)));
    x[1] = fmin(1, fmax(0, fmax(s, t)));
    for (int i = 0; i < 2; i++)
        y[i] = nearest_fraction(b, on_segment(a, x[i]));
    return x[1] > x[0] ? 2 : 1;
}

static uint32_t feature_of(const gw_support_feature *f, double fraction)
{
    if (f->count < 2 || fraction <= 0)
        return (uint32_t)f->id[0];
    return fraction >= 1 ? (uint32_t)f->id[1] : (uint32_t)f->id[0] | GW_FEATURE_EDGE;
}

static gw_edge_point edge_through(const gw_support_feature *s, gw_vec3 x)
{
    return (gw_edge_point){.x = x, .e = gw_unit(gw_sub(s->p[1], s->p[0]))};
}

static bool is_inside(const gw_support_feature *s, double fraction)
{
    return s->count > 1 && fraction > 0 && fraction < 1;
}

/* Around a segment: the cylinder on which points have that distance from it. */
static gw_curvatures bend_around(const gw_support_feature *s, gw_vec3 n, double distance)
{
    gw_vec3 d = gw_unit(gw_sub(s->p[1], s->p[0]));
    return (gw_curvatures){.curvature = {1 / distance, 0},
                           .direction = {gw_unit(gw_cross(d, n)), d}};
}

/* Points or segments of both. Where segments cross, the normal is across both. Else, where one is
 * rounded, it follows the points, or goes round the segment that the other's point is beside; where
 * they are at one point or both are sharp it is that of the distance, fixed to the edge, or to b.
 */
static void add_nearest(builder *m, const gw_support_feature *a, double x,
                        const gw_support_feature *b, double y)
{
    gw_vec3 p = a->count > 1 ? on_segment(a, x) : a->p[0];
    gw_vec3 q = b->count > 1 ? on_segment(b, y) : b->p[0];
    double ra = a->radius[0] + m->a->rounding, rb = b->radius[0] + m->b->rounding;
    gw_vec3 q_to_p = gw_sub(p, q), n = m->nearest.normal;
    double distance = gw_norm(q_to_p);
    bool balls = ra + rb > 0 && distance > 1e-6 * (ra + rb) && gw_dot(q_to_p, n) > 0;
    gw_curvatures bend = flat;
    bool beside_a = is_inside(a, x), beside_b = is_inside(b, y);
    bool cross = beside_a && beside_b && !are_parallel(a, b);
    gw_normal_kind kind = beside_a && !beside_b ? GW_NORMAL_IN_A : GW_NORMAL_IN_B;
    if (balls && !cross) {
        n = gw_scale(1 / distance, q_to_p);
        kind = beside_a ? GW_NORMAL_IN_A : beside_b ? GW_NORMAL_IN_B : GW_NORMAL_BETWEEN;
        if (beside_a || beside_b)
            bend = bend_around(beside_a ? a : b, n, distance);
    }
    gw_manifold_point t = {.a = p,
                           .b = q,
                           .radius_a = ra,
                           .radius_b = rb,
                           .kind = kind,
                           .normal = n,
                           .gap = gw_dot(n, q_to_p) - ra - rb,
                           .feature_a = feature_of(a, x),
                           .feature_b = feature_of(b, y),
                           .bend = bend};
    if (cross) {
        gw_edge_point of_a = edge_through(a, p), of_b = edge_through(b, q);
        follow_edges(&t, &of_a, &of_b);
    }
    if (t.gap <= m->reach)
        *add_found(m) = t;
}

/* An edge with that support feature, near p: an edge or an axis, or the rim through a point. False:
 * none. */
static bool edge_of(const gw_convex *s, const gw_support_feature *f, gw_vec3 p, gw_edge_point *edge)
{
    *edge = (gw_edge_point){.x = f->p[0]};
    if (f->count == 2) {
        gw_vec3 x = on_segment(f, nearest_fraction(f, p));
        *edge = gw_convex_is_curved(s) ? gw_convex_side_at(s, x) : edge_through(f, x);
    } else if (gw_convex_is_curved(s)) {
        *edge = gw_convex_rim_at(s, f->p[0]);
    }
    edge->radius += s->rounding;
    return f->count == 2 || (gw_convex_is_curved(s) && f->id[0] != GW_ID_APEX);
}

/* True if it touches within the feature, *x as a fraction of it; a cone not near its apex, where
 * the axis would turn much faster than the solids move. */
static bool is_within(const gw_convex *s, const gw_support_feature *f, const gw_edge_point *edge,
                      double *x)
{
    *x = 0;
    if (f->count < 2)
        return true;
    if (s->core == GW_CORE_CONE) {
        double largest = s->radius / sqrt(1 - edge->taper * edge->taper);
        *x = 1 - (edge->radius - s->rounding) / largest;
        return *x > 0 && *x < 0.95;
    }
    *x = nearest_fraction(f, edge->x);
    return is_inside(f, *x);
}

/* A rim, or the side of a cone, across an edge, an axis or one of these. False where they are
 * parallel, nearest beyond an end, or do not have the distance. */
static bool add_round_crossing(builder *m, const gw_support_feature *a, const gw_support_feature *b)
{
    gw_edge_point of_a, of_b;
    double x, y;
    bool cone = (a->count == 2 && m->a->core == GW_CORE_CONE) ||
                (b->count == 2 && m->b->core == GW_CORE_CONE);
    if ((a->count == 2 && b->count == 2 && !cone) || !edge_of(m->a, a, b->p[0], &of_a) ||
        !edge_of(m->b, b, a->p[0], &of_b))
        return false;
    find_nearest(&of_a, &of_b);
    if (!(gw_norm(gw_cross(of_a.e, of_b.e)) > (cone ? skew : 1e-4)) ||
        !is_within(m->a, a, &of_a, &x) || !is_within(m->b, b, &of_b, &y))
        return false;
    gw_manifold_point t = {.radius_a = of_a.radius,
                           .radius_b = of_b.radius,
                           .normal = m->nearest.normal,
                           .feature_a = feature_of(a, x),
                           .feature_b = feature_of(b, y)};
    follow_edges(&t, &of_a, &of_b);
    if (!(fabs(t.gap - m->nearest.distance) < 1e-7 && gw_dot(t.normal, m->nearest.normal) > 0.99))
        return false;
    if (t.gap <= m->reach)
        *add_found(m) = t;
    return true;
}

/* The support point of the solid whose feature has fewer points, and the point across from it; the
 * normal is fixed to the other solid. */
static void add_support_point(builder *m, const gw_support_feature *a, const gw_support_feature *b)
{
    gw_vec3 n = m->nearest.normal, p, q;
    double separation = m->nearest.distance + m->a->rounding + m->b->rounding;
    if (a->count <= b->count) {
        p = gw_convex_support(m->a, gw_neg(n));
        q = gw_mul_add(p, -separation, n);
    } else {
        q = gw_convex_support(m->b, n);
        p = gw_mul_add(q, separation, n);
    }
    *add_found(m) =
        (gw_manifold_point){.a = p,
                            .b = q,
                            .radius_a = m->a->rounding,
                            .radius_b = m->b->rounding,
                            .kind = a->count <= b->count ? GW_NORMAL_IN_B : GW_NORMAL_IN_A,
                            .normal = n,
                            .gap = m->nearest.distance,
                            .feature_a = (uint32_t)a->id[0] | (a->closed ? GW_FEATURE_FACE : 0),
                            .feature_b = (uint32_t)b->id[0] | (b->closed ? GW_FEATURE_FACE : 0)};
}

/* Leaves out where a rounded line crosses a side of a face, with the face's normal, if the nearest
 * pair is at that side: there it touches once, across the side. */
static void remove_side_crossings(builder *m, int before, const gw_manifold_point *nearest)
{
    int count = 0;
    for (int i = 0; i < m->count; i++) {
        const gw_manifold_point *t = &m->found[i];
        bool on_b = t->kind == GW_NORMAL_IN_B;
        gw_vec3 from = on_b ? gw_sub(t->b, nearest->b) : gw_sub(t->a, nearest->a);
        gw_vec3 along = on_b ? nearest->edge_b : nearest->edge_a;
        bool rounded = t->radius_a + t->radius_b > 0;
        bool over_side = (on_b ? t->feature_b : t->feature_a) & GW_FEATURE_SIDE;
        if (i >= before || !t->of_face || !rounded || !over_side ||
            gw_norm(gw_reject(from, along)) > same_place)
            m->found[count++] = *t;
    }
    m->count = count;
}

static void add_nearest_pair(builder *m)
{
    gw_vec3 n = m->nearest.normal;
    gw_support_feature a, b;
    double x[2] = {0}, y[2] = {0};
    int count = 1;
    gw_convex_support_feature(m->a, gw_neg(n), 1e-6 * m->a->size, &a);
    gw_convex_support_feature(m->b, n, 1e-6 * m->b->size, &b);
    if (a.count > 2 || b.count > 2) {
        add_support_point(m, &a, &b);
        return;
    }
    int before = m->count;
    bool round = add_round_crossing(m, &a, &b);
    if (round)
        count = 0;
    else if (a.count == 2 && b.count == 2)
        count = nearest_fractions(&a, &b, x, y);
    else if (a.count == 2)
        x[0] = nearest_fraction(&a, b.p[0]);
    else if (b.count == 2)
        y[0] = nearest_fraction(&b, a.p[0]);
    for (int i = 0; i < count; i++)
        add_nearest(m, &a, x[i], &b, y[i]);
    /* lines that are only nearly level do not have the distance */
    double least = INFINITY;
    for (int i = before; i < m->count; i++)
        least = fmin(least, m->found[i].gap);
    if (!round && !(fabs(least - m->nearest.distance) < 1e-7)) {
        m->count = before;
        add_support_point(m, &a, &b);
    } else if (m->count > before && m->found[before].kind == GW_NORMAL_ACROSS) {
        gw_manifold_point nearest = m->found[before];
        remove_side_crossings(m, before, &nearest);
    }
}

/* ---- reduction to four points ---------------------------------------------------------------- */

static int nearest_found(const builder *m)
{
    int best = m->count > 0 ? 0 : -1;
    for (int i = 1; i < m->count; i++)
        if (m->found[i].gap < m->found[best].gap - same_place)
            best = i;
    return best;
}

/* Of those about as far as any from the points taken, the one with the largest sum of distances;
 * -1: all are where the points taken are. */
static int farthest_found(const builder *m)
{
    double most = 1e-7, outermost = 0;
    int best = -1;
    for (int i = 0; i < m->count; i++)
        most = fmax(most, m->least[i]);
    for (int i = 0; i < m->count; i++)
        if (m->least[i] > 1e-7 && m->least[i] > 0.9 * most && m->sum[i] > outermost * (1 + 1e-6)) {
            outermost = m->sum[i];
            best = i;
        }
    return best;
}

/* A point has been taken: updates the distances of those found from all that are. */
static void update_distances(builder *m, const gw_manifold_point *taken)
{
    for (int i = 0; i < m->count; i++) {
        double far = gw_distance(taken->a, m->found[i].a);
        m->sum[i] += far;
        m->least[i] = fmin(m->least[i], far);
    }
}

static void remove_found(builder *m, int i)
{
    size_t after = (size_t)(--m->count - i);
    memmove(&m->found[i], &m->found[i + 1], after * sizeof *m->found);
    memmove(&m->least[i], &m->least[i + 1], after * sizeof *m->least);
    memmove(&m->sum[i], &m->sum[i + 1], after * sizeof *m->sum);
}

/* The nearest, then the farthest from those taken; of equal ones the first. */
static int reduce_points(builder *m, const gw_manifold_filter *filter,
                         gw_manifold_point points[GW_MANIFOLD_POINTS])
{
    int count = 0;
    for (int i = 0; i < m->count; i++)
        m->least[i] = INFINITY, m->sum[i] = 0;
    while (count < GW_MANIFOLD_POINTS) {
        int best = count == 0 ? nearest_found(m) : farthest_found(m);
        if (best < 0)
            break;
        if (filter && filter->drop(filter->context, &m->found[best])) {
            remove_found(m, best);
            continue;
        }
        points[count] = m->found[best];
        update_distances(m, &points[count++]);
    }
    return count;
}

/* ---- the manifold ---------------------------------------------------------------------------- */

/* True if a point found has both the distance of the solids and its direction: where edges just
 * touch, the adjacent faces have the same distance, but other normals. */
static bool has_distance(const builder *m)
{
    for (int i = 0; i < m->count; i++)
        if (m->found[i].gap <= m->nearest.distance + 1e-13 &&
            gw_dot(m->found[i].normal, m->nearest.normal) > 1 - 1e-6)
            return true;
    return false;
}

int gw_manifold_build(const gw_convex *a, const gw_convex *b, const gw_signed_distance *distance,
                      double reach, const gw_manifold_filter *filter,
                      gw_manifold_point points[GW_MANIFOLD_POINTS])
{
    assert(a->size >= 0 && b->size >= 0);
    builder m; /* 25 kB: not cleared */
    m.a = a;
    m.b = b;
    m.nearest = *distance;
    m.reach = reach;
    m.count = 0;
    add_faces(&m);
    if (!has_distance(&m))
        add_nearest_pair(&m);
    return reduce_points(&m, filter, points);
}

gw_manifold_point gw_manifold_point_swapped(const gw_manifold_point *p)
{
    gw_manifold_point o = *p;
    o.a = p->b, o.b = p->a;
    o.radius_a = p->radius_b, o.radius_b = p->radius_a;
    o.feature_a = p->feature_b, o.feature_b = p->feature_a;
    o.edge_a = p->edge_b, o.edge_b = p->edge_a;
    o.bow_a = p->bow_b, o.bow_b = p->bow_a;
    o.taper_a = p->taper_b, o.taper_b = p->taper_a;
    o.normal = gw_neg(p->normal);
    o.bend.other = gw_neg(p->bend.other);
    o.kind = p->kind == GW_NORMAL_IN_A   ? GW_NORMAL_IN_B
             : p->kind == GW_NORMAL_IN_B ? GW_NORMAL_IN_A
                                         : p->kind;
    return o;
}
