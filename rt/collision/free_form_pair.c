/*
 * Contact points of two free-form surfaces, a and b, in the frame of b. Pairs of triangles that are
 * near give starts, the local minima of their heights; from each Newton's method goes to the local
 * minimum of the height h(u, v) of a's points over their feet on b (free_form.c). There
 *
 *   n . S_u = n . S_v = 0,   K = M + H positive definite
 *
 * n being b's normal at the foot, towards a, M the second fundamental form of a along n, and H that
 * of the distance from b. When a is displaced by d and n, fixed to a, tilts by w, the touching
 * points move over b by x = K^-1 (M d + w), and to second order
 *
 *   gap = h + n . d + 1/2 d . P d + d . H K^-1 w - 1/2 w . K^-1 w,    P = H K^-1 M
 *
 * The candidate (candidate.h) has a ball that touches a from inside, of the radius r of its mean
 * curvature, so that d is that of the ball's centre, and rotation of a sphere changes nothing:
 *
 *   T = H K^-1 (1 - r M),    W = r^2 P - r (H K^-1 + K^-1 H) - K^-1 + r
 *
 * RT safe.
 */
#include <assert.h>

#include "rt/collision/near_triangles.h"
#include "rt/geometry/nurbs_pole.h"

enum {
    STEPS_MAX = 16,  /* of Newton's method */
    HALVINGS_MAX = 4 /* of one */
};

#define BENDS_LEAST  1e-2 /* relative curvature times the size that is reckoned with, at least */
#define NEARLY_LEVEL 0.02 /* sine */

/* ---- second order ---------------------------------------------------------------------------- */

typedef struct matrix2 {
    double m[2][2];
} matrix2;

static matrix2 multiply(matrix2 a, matrix2 b)
{
    matrix2 out;
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            out.m[i][k] = a.m[i][0] * b.m[0][k] + a.m[i][1] * b.m[1][k];
    return out;
}

/* G^T m G, G the rotation by the angle with that cosine and sine. */
static matrix2 rotate(matrix2 m, double c, double s)
{
    return multiply((matrix2){{{c, s}, {-s, c}}}, multiply(m, (matrix2){{{c, -s}, {s, c}}}));
}

/* The bend of two surfaces: `h` is H, `m` M (curvatures towards n), r as above (m). *least: the
 * smaller eigenvalue of K (1/m), which counts as no less than `floor`. */
static gw_curvatures bend_of_two(const gw_curvatures *h, const gw_curvatures *m, gw_vec3 n,
                                 double r, double floor, double *least)
{
    gw_curvatures bend = {.tilts = true, .other = n};
    matrix2 hh = {{{h->curvature[0], 0}, {0, h->curvature[1]}}}, mm = {{{0, 0}, {0, 0}}};
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++)
            for (int j = 0; j < 2; j++)
                mm.m[i][k] += m->curvature[j] * gw_dot(m->direction[j], h->direction[i]) *
                              gw_dot(m->direction[j], h->direction[k]);
    double uu = hh.m[0][0] + mm.m[0][0], uv = mm.m[0][1], vv = hh.m[1][1] + mm.m[1][1];
    *least = 0.5 * (uu + vv) - hypot(0.5 * (uu - vv), uv);
    double more = fmax(0, floor - *least); /* as if a were a little more curved */
    mm.m[0][0] += more, mm.m[1][1] += more;
    uu += more, vv += more;
    double det = uu * vv - uv * uv;
    matrix2 inverse = {{{vv / det, -uv / det}, {-uv / det, uu / det}}}, t, w;
    matrix2 hk = multiply(hh, inverse), p = multiply(hk, mm);
    for (int i = 0; i < 2; i++)
        for (int k = 0; k < 2; k++) {
            t.m[i][k] = hk.m[i][k] - r * p.m[i][k];
            w.m[i][k] = r * r * p.m[i][k] - r * (hk.m[i][k] + hk.m[k][i]) - inverse.m[i][k] +
                        (i == k ? r : 0);
        }
    double twist = 0.5 * (p.m[0][1] + p.m[1][0]), half = 0.5 * (p.m[0][0] - p.m[1][1]);
    double turn = 0.5 * atan2(twist, half), c = cos(turn), s = sin(turn);
    bend.curvature[0] = 0.5 * (p.m[0][0] + p.m[1][1]) + hypot(half, twist);
    bend.curvature[1] = 0.5 * (p.m[0][0] + p.m[1][1]) - hypot(half, twist);
    bend.direction[0] = gw_add(gw_scale(c, h->direction[0]), gw_scale(s, h->direction[1]));
    bend.direction[1] = gw_add(gw_scale(-s, h->direction[0]), gw_scale(c, h->direction[1]));
    t = rotate(t, c, s);
    w = rotate(w, c, s);
    for (int i = 0; i < 4; i++) {
        bend.across[i / 2][i % 2] = t.m[i / 2][i % 2];
        bend.tilt[i / 2][i % 2] = w.m[i / 2][i % 2];
    }
    return bend;
}

/* Two surfaces, and what is near of them. */
typedef struct pair_search {
    const gw_free_form_query *query; /* of b */
    const gw_free_form *a, *b;
    gw_vec3 origin; /* of a's frame in that of b */
    gw_mat3 rotation;
    gw_near_list *list;
    double height[GW_NEAR_MAX]; /* of its triangles (m) */
} pair_search;

static gw_vec3 of_a(const pair_search *s, gw_vec3 x)
{
    return gw_add(s->origin, gw_mat3_mul(&s->rotation, x));
}

/* ---- the common normal ------------------------------------------------------------------------
 */

/* A common normal of both, in the frame of b. */
typedef struct common_normal {
    double of[2]; /* parameters of a */
    gw_vec3 point, n;
    gw_foot foot; /* on b */
    double height;
    gw_curvatures above, own; /* H and M */
} common_normal;

/* a at x, or at xy of the plane of a pole, and its derivatives to second order, in b's frame. */
static bool evaluate(const pair_search *s, const gw_tangent_plane *plane, const double xy[2],
                     double x[2], gw_nurbs_point *p)
{
    if (plane && !gw_tangent_plane_evaluate(s->a->surface, plane, xy, 2, x, p))
        return false;
    if (!plane)
        gw_nurbs_evaluate(s->a->surface, x, 2, NULL, p);
    for (int i = 0; i <= 2; i++)
        for (int k = 0; i + k <= 2; k++)
            p->d[i][k] = gw_mat3_mul(&s->rotation, p->d[i][k]);
    p->d[0][0] = gw_add(p->d[0][0], s->origin);
    return true;
}

static double apply(const gw_curvatures *b, gw_vec3 x, gw_vec3 y)
{
    return b->curvature[0] * gw_dot(b->direction[0], x) * gw_dot(b->direction[0], y) +
           b->curvature[1] * gw_dot(b->direction[1], x) * gw_dot(b->direction[1], y);
}

/* The step of Newton's method for n . S_u = n . S_v = 0, in a's coordinates, with curvatures that
 * are no less than `floor` (1/m); returns its length (m). */
static double newton_step(const gw_nurbs_point *p, gw_vec3 n, const gw_curvatures *above,
                          double floor, double step[2])
{
    gw_vec3 su = p->d[1][0], sv = p->d[0][1];
    double uu = gw_norm2(su), uv = gw_dot(su, sv), vv = gw_norm2(sv), metric = uu * vv - uv * uv;
    double kuu = apply(above, su, su) + gw_dot(n, p->d[2][0]);
    double kuv = apply(above, su, sv) + gw_dot(n, p->d[1][1]);
    double kvv = apply(above, sv, sv) + gw_dot(n, p->d[0][2]);
    /* the smaller eigenvalue of G^-1 K */
    double trace = (kuu * vv + kvv * uu - 2 * kuv * uv) / metric;
    double product = (kuu * kvv - kuv * kuv) / metric;
    double least = 0.5 * trace - sqrt(fmax(0, 0.25 * trace * trace - product));
    double more = fmax(0, floor - least);
    kuu += more * uu, kuv += more * uv, kvv += more * vv;
    double det = kuu * kvv - kuv * kuv, gu = gw_dot(n, su), gv = gw_dot(n, sv);
    step[0] = -(kvv * gu - kuv * gv) / det;
    step[1] = -(kuu * gv - kuv * gu) / det;
    return gw_norm(gw_add(gw_scale(step[0], su), gw_scale(step[1], sv)));
}

/* Second fundamental form of a along n, in b's frame. */
static gw_curvatures own_bend(const pair_search *s, const common_normal *c)
{
    gw_foot there = {.parameter = {c->of[0], c->of[1]}};
    gw_nurbs_evaluate(s->a->surface, c->of, 2, NULL, &there.at);
    gw_curvatures own = gw_foot_curvatures(s->a, &there, gw_mat3_tmul(&s->rotation, c->n));
    for (int i = 0; i < 2; i++)
        own.direction[i] = gw_mat3_mul(&s->rotation, own.direction[i]);
    return own;
}

/* The height over b and its derivatives with a at c->of, from the foot that was found last; false
 * where a's coordinates end or b has an edge or a kink. */
static bool height_at(const pair_search *s, const gw_tangent_plane *plane, const double xy[2],
                      double side, common_normal *c, gw_nurbs_point *p)
{
    const double from[2] = {c->foot.parameter[0], c->foot.parameter[1]};
    gw_add_effort(s->query->effort, GW_EFFORT_OF_FOOT);
    if (!evaluate(s, plane, xy, c->of, p))
        return false;
    c->point = p->d[0][0];
    if (!gw_foot_find(s->b, c->point, from, &c->foot) || c->foot.sharp)
        return false;
    c->n = gw_scale(side, c->foot.normal);
    c->height = side * c->foot.height;
    c->above = gw_foot_curvatures_above(s->b, &c->foot, c->n, c->height);
    return true;
}

/* Newton's method for the least height, from a start; steps after which it is higher are shortened.
 * False where it does not converge, or at an edge or a kink. */
static bool find_common_normal(const pair_search *s, const gw_near_triangle *from, double side,
                               common_normal *c)
{
    const gw_nurbs *surface = s->a->surface;
    const double size = fmin(surface->size, s->b->surface->size),
                 last = GW_FREE_FORM_CONVERGED * size;
    double xy[2], step[2];
    gw_nurbs_point p;
    c->of[0] = from->of[0], c->of[1] = from->of[1];
    c->foot.parameter[0] = from->x[0], c->foot.parameter[1] = from->x[1];
    const gw_tangent_plane *plane = gw_nurbs_coordinates(surface, c->of, xy);
    if (!height_at(s, plane, xy, side, c, &p))
        return false;
    for (int i = 0, ends = 0; i < STEPS_MAX; i++) {
        double far = newton_step(&p, c->n, &c->above, BENDS_LEAST / size, step);
        if (!isfinite(far))
            return false;
        if (far < last) {
            c->own = own_bend(s, c);
            return true;
        }
        double share = far > 0.1 * size ? 0.1 * size / far : 1;
        for (int k = 0; k < HALVINGS_MAX; k++, share *= 0.25) {
            common_normal to = *c;
            gw_nurbs_point there;
            double way[2] = {plane ? xy[0] : c->of[0], plane ? xy[1] : c->of[1]};
            way[0] += share * step[0], way[1] += share * step[1];
            if (plane && !gw_tangent_plane_evaluate(surface, plane, way, 0, to.of, NULL))
                return false;
            if (!plane)
                to.of[0] = way[0], to.of[1] = way[1];
            if (gw_nurbs_into_domain(surface, to.of) && ++ends > 2)
                return false;
            double at[2];
            const gw_tangent_plane *next = gw_nurbs_coordinates(surface, to.of, at);
            if (!height_at(s, next, at, side, &to, &there))
                return false;
            if (to.height > c->height + last && k < HALVINGS_MAX - 1)
                continue;
            *c = to;
            p = there;
            plane = next;
            xy[0] = at[0], xy[1] = at[1];
            break;
        }
    }
    /* where both bend nearly alike it is as good all about */
    c->own = own_bend(s, c);
    return gw_norm(gw_reject(c->n, gw_unit(gw_cross(p.d[1][0], p.d[0][1])))) < NEARLY_LEVEL;
}

/* ---- contact points ---------------------------------------------------------------------------
 */

static double triangle_distance(const void *context, int triangle, gw_vec3 x)
{
    double share[3];
    return gw_distance(x, gw_triangle_closest(context, triangle, x, share));
}

/* 1, or -1 where a is on the side of an open surface b opposite to its normal, by the mean height
 * of points of a. */
static double side_of(const pair_search *s)
{
    double sum = 0, share[3];
    for (int i = 0; i < GW_FREE_FORM_SAMPLES && !s->b->mesh->closed; i++) {
        gw_vec3 x = of_a(s, s->a->samples[i]);
        gw_add_effort(s->query->effort, GW_EFFORT_OF_SEARCH);
        int t = gw_trimesh_nearest(s->b->trimesh, x, INFINITY, triangle_distance, s->b);
        sum += gw_dot(s->b->normals[t], gw_sub(x, gw_triangle_closest(s->b, t, x, share)));
    }
    return sum < 0 ? -1 : 1;
}

/* The contact point at a common normal; false where both do not touch there. */
static bool point_at(const pair_search *s, const common_normal *c, gw_manifold_point *m)
{
    const gw_free_form_query *q = s->query;
    double size = fmin(s->a->surface->size, s->b->surface->size), least;
    double mean = 0.5 * (c->own.curvature[0] + c->own.curvature[1]);
    double r = mean * s->a->surface->size > 1 ? 1 / mean : 0;
    if (c->height > q->reach || c->height < -GW_FREE_FORM_DEEPEST * size)
        return false;
    if (s->a->mesh->closed) {
        gw_nurbs_point at;
        gw_nurbs_evaluate(s->a->surface, c->of, 2, NULL, &at);
        gw_vec3 out = gw_scale(s->a->outward, gw_nurbs_normal(s->a->surface, c->of, &at));
        if (gw_dot(gw_mat3_mul(&s->rotation, out), c->n) > 0)
            return false;
    }
    gw_curvatures bend = bend_of_two(&c->above, &c->own, c->n, r, BENDS_LEAST / size, &least);
    if (!(least * size > -BENDS_LEAST))
        return false;
    *m = gw_foot_point(q, gw_mul_add(c->point, r, c->n), r, &c->foot, c->n, c->height + r, bend);
    m->bend.other = m->normal;
    return true;
}

static bool is_known(const common_normal *found, int count, double size)
{
    for (int i = 0; i < count; i++)
        if (gw_distance(found[i].point, found[count].point) < GW_FREE_FORM_SAME * size)
            return true;
    return false;
}

static int points_between(const pair_search *s, double side,
                          gw_manifold_point points[GW_NEAR_STARTS_MAX])
{
    int starts[GW_NEAR_STARTS_MAX], count = 0;
    common_normal found[GW_NEAR_STARTS_MAX];
    double size = fmin(s->a->surface->size, s->b->surface->size);
    int start_count = gw_near_minima(s->list, s->height, side, starts);
    for (int i = 0; i < start_count; i++)
        if (find_common_normal(s, &s->list->near[starts[i]], side, &found[count]) &&
            !is_known(found, count, size) && point_at(s, &found[count], &points[count]))
            count++;
    /* numbered by a's parameters, for the feature ids */
    for (int i = 0; i < count; i++) {
        points[i].feature_a = GW_FEATURE_FACE;
        for (int k = 0; k < count; k++)
            points[i].feature_b +=
                found[k].of[0] < found[i].of[0] || (found[k].of[0] == found[i].of[0] && k < i);
    }
    return count;
}

/* Triangles of one surface at edges and kinks, `form` in the frame of the other. */
static gw_edged_form edged(const pair_search *s, int which)
{
    gw_edged_form e = {.form = which == 0 ? s->a : s->b, .count = s->list->edge_count[which]};
    e.origin = which == 0 ? s->origin : gw_neg(gw_mat3_tmul(&s->rotation, s->origin));
    for (int i = 0; i < 9; i++)
        e.rotation.m[i / 3][i % 3] =
            which == 0 ? s->rotation.m[i / 3][i % 3] : s->rotation.m[i % 3][i / 3];
    for (int i = 0; i < e.count; i++)
        e.triangles[i] = s->list->edges[which][i];
    return e;
}

/* Edges and kinks of a over b, and those of b over a. */
static int points_of_edges(const pair_search *s, double side, gw_manifold_point *points,
                           int capacity)
{
    gw_free_form_query over = *s->query, under = over;
    const gw_near_list *l = s->list;
    int lowest = 0, count = 0;
    for (int i = 1; i < l->count; i++)
        if (side * s->height[i] < side * s->height[lowest])
            lowest = i;
    over.side = side;
    if (l->edge_count[0] > 0) {
        gw_edged_form of_a = edged(s, 0);
        count = gw_free_form_edges(&over, &of_a, points, capacity);
    }
    if (l->edge_count[1] == 0 || l->count == 0)
        return count;
    /* of a, the side where b is */
    const gw_near_triangle *at = &l->near[lowest];
    gw_vec3 na = gw_mat3_mul(&s->rotation, s->a->normals[at->a]), nb = s->b->normals[at->b];
    gw_convex frame = {.size = s->query->convex->size};
    under.side = s->a->mesh->closed || side * gw_dot(na, nb) < 0 ? 1 : -1;
    under.form = s->a;
    under.origin = s->query->convex->origin;
    under.rotation = s->query->convex->rotation;
    under.convex = &frame;
    gw_edged_form of_b = edged(s, 1);
    int more = gw_free_form_edges(&under, &of_b, points + count, capacity - count);
    for (int i = count; i < count + more; i++)
        points[i] = gw_manifold_point_swapped(&points[i]);
    return count + more;
}

int gw_free_form_pair(const gw_free_form_query *query, const gw_free_form *other,
                      gw_manifold_point *points, int capacity, double *gap)
{
    assert(query->form && query->convex && other && points && gap);
    /* b is the closed one, whose side is known; else the larger one */
    const gw_free_form *form = query->form;
    bool closed = other->mesh->closed, larger = other->surface->size > form->surface->size;
    bool swap = closed == form->mesh->closed ? larger : closed;
    gw_free_form_query q = *query;
    pair_search s; /* not cleared: */
    s.query = &q;
    s.a = swap ? form : other;
    s.b = swap ? other : form;
    gw_convex frame = {.origin = query->convex->origin, .rotation = query->convex->rotation};
    if (swap) {
        q.form = other;
        q.origin = query->convex->origin;
        q.rotation = query->convex->rotation;
        frame.origin = query->origin;
        frame.rotation = query->rotation;
    }
    frame.size = fmin(s.a->surface->size, s.b->surface->size);
    q.convex = &frame;
    if (!gw_finite3(q.origin) || !gw_finite3(q.convex->origin))
        return 0;
    s.origin = gw_into_surface(&q, q.convex->origin);
    for (int k = 0; k < 3; k++) {
        const gw_mat3 *m = &q.convex->rotation;
        gw_vec3 axis = gw_mat3_tmul(&q.rotation, gw_v3(m->m[0][k], m->m[1][k], m->m[2][k]));
        s.rotation.m[0][k] = axis.x, s.rotation.m[1][k] = axis.y, s.rotation.m[2][k] = axis.z;
    }
    gw_near_list own; /* 60 kB: not cleared */
    s.list = query->near ? query->near : &own;
    if (!query->near)
        own.found = false, own.plain_ahead = 1;
    gw_near_query near = {
        s.a, s.b, s.origin, s.rotation, q.reach, query->near ? query->ahead : 0, q.effort};
    gw_near_find(&near, s.list, s.height);
    gw_manifold_point found[GW_NEAR_STARTS_MAX + GW_TRIMESH_POINTS];
    double side = s.list->count > 0 ? side_of(&s) : 1;
    int count = points_between(&s, side, found);
    count += points_of_edges(&s, side, found + count, GW_TRIMESH_POINTS);
    if (count == 0 && s.list->edge_count[0] > 0 && s.list->edge_count[1] > 0)
        return -1;
    gw_trimesh_sort(found, count);
    *gap = count > 0 ? found[0].gap : q.reach;
    count = gw_trimesh_reduce(found, count, capacity);
    for (int i = 0; i < count; i++)
        points[i] = swap ? gw_manifold_point_swapped(&found[i]) : found[i];
    return count;
}
