/*
 * Signed distance of two convex solids, read from top to bottom: support of the Minkowski
 * difference, GJK, SAT, EPA, refinement of the normal, and gw_convex_distance(), which calls them.
 *
 * For cores A and B, disjoint or overlapping, the signed distance is the largest separation over
 * all directions:
 *
 *   distance = max over unit n of s(n),   s(n) = min n . x_a - max n . x_b
 *
 * Each s(n) is a lower bound of it, so of several candidate directions the one with the largest
 * s(n) is the best. While the cores are disjoint, s has one maximum, and GJK finds it. While they
 * overlap, s has many local maxima: SAT compares all that polytopes can have, EPA searches the
 * surface of the Minkowski difference. Any thread, no memory taken.
 */
#include "rt/collision/gjk_epa.h"

#include <assert.h>
#include <string.h>

/* ---- the Minkowski difference A - B ---------------------------------------------------------- */

/* Its farthest point along d. */
static gw_vec3 minkowski_support(const gw_convex *a, const gw_convex *b, gw_vec3 d)
{
    return gw_sub(gw_convex_support(a, d), gw_convex_support(b, gw_neg(d)));
}

double gw_separation_along(const gw_convex *a, const gw_convex *b, gw_vec3 n)
{
    return gw_dot(n, minkowski_support(a, b, gw_neg(n)));
}

/* Takes n where its separation exceeds the best one by more than -lead (m); true if it did. */
static bool try_direction(const gw_convex *a, const gw_convex *b, gw_vec3 n, double lead,
                          gw_signed_distance *best)
{
    double s = gw_separation_along(a, b, n);
    if (!(s + lead > best->distance))
        return false;
    *best = (gw_signed_distance){s, n};
    return true;
}

/* ---- GJK: the closest point of a simplex to the origin --------------------------------------- */

typedef struct simplex {
    int count;
    gw_vec3 w[4];
} simplex;

/* Each of these returns the closest point, and in *keep the sub-simplex that it lies on. */
static gw_vec3 closest_on_segment(const gw_vec3 w[2], simplex *keep)
{
    gw_vec3 d = gw_sub(w[1], w[0]);
    double t = -gw_dot(w[0], d), length = gw_norm2(d);
    *keep = (simplex){1, {w[0]}};
    if (t <= 0 || length == 0)
        return w[0];
    if (t >= length) {
        keep->w[0] = w[1];
        return w[1];
    }
    *keep = (simplex){2, {w[0], w[1]}};
    return gw_mul_add(w[0], t / length, d);
}

/* The origin projected to the triangle's plane; false if it is outside of the triangle. */
static bool project_into_triangle(const gw_vec3 w[3], gw_vec3 *foot)
{
    gw_vec3 n = gw_cross(gw_sub(w[1], w[0]), gw_sub(w[2], w[0]));
    double area = gw_norm2(n);
    if (area == 0)
        return false;
    for (int i = 0; i < 3; i++)
        if (gw_dot(n, gw_cross(w[i], w[(i + 1) % 3])) < 0)
            return false;
    /* the vertex nearest to the origin gives the smallest rounding error */
    const gw_vec3 *closest = &w[0];
    for (int i = 1; i < 3; i++)
        if (gw_norm2(w[i]) < gw_norm2(*closest))
            closest = &w[i];
    *foot = gw_scale(gw_dot(n, *closest) / area, n);
    return true;
}

static gw_vec3 closest_on_triangle(const gw_vec3 w[3], simplex *keep)
{
    gw_vec3 best;
    if (project_into_triangle(w, &best)) {
        *keep = (simplex){3, {w[0], w[1], w[2]}};
        return best;
    }
    for (int i = 0; i < 3; i++) {
        simplex part;
        gw_vec3 edge[2] = {w[i], w[(i + 1) % 3]}, p = closest_on_segment(edge, &part);
        if (i == 0 || gw_norm2(p) < gw_norm2(best)) {
            best = p;
            *keep = part;
        }
    }
    return best;
}

/* The origin itself where it is inside: all four vertices are kept then. */
static gw_vec3 closest_on_tetrahedron(const gw_vec3 w[4], simplex *keep)
{
    static const int index[4][4] = {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {1, 2, 3, 0}};
    gw_vec3 best = {0, 0, 0};
    bool outside = false;
    for (int i = 0; i < 4; i++) {
        /* the origin is beyond this face unless it is on the fourth vertex's side */
        gw_vec3 face[3] = {w[index[i][0]], w[index[i][1]], w[index[i][2]]};
        gw_vec3 n = gw_cross(gw_sub(face[1], face[0]), gw_sub(face[2], face[0]));
        double fourth = gw_dot(n, gw_sub(w[index[i][3]], face[0])), origin = -gw_dot(n, face[0]);
        if (fourth != 0 && fourth * origin > 0)
            continue;
        simplex part;
        gw_vec3 p = closest_on_triangle(face, &part);
        if (!outside || gw_norm2(p) < gw_norm2(best)) {
            best = p;
            *keep = part;
        }
        outside = true;
    }
    if (!outside) {
        keep->count = 4;
        memcpy(keep->w, w, 4 * sizeof *w);
    }
    return best;
}

static gw_vec3 closest_on_simplex(simplex *s)
{
    gw_vec3 w[4];
    memcpy(w, s->w, sizeof w);
    switch (s->count) {
    case 1:
        return w[0];
    case 2:
        return closest_on_segment(w, s);
    case 3:
        return closest_on_triangle(w, s);
    default:
        return closest_on_tetrahedron(w, s);
    }
}

static bool has_vertex(const simplex *s, gw_vec3 w)
{
    for (int i = 0; i < s->count; i++)
        if (gw_norm2(gw_sub(s->w[i], w)) == 0)
            return true;
    return false;
}

/* ---- GJK: the iteration ---------------------------------------------------------------------- */

enum { GJK_ITERATIONS = 64 };

typedef enum gjk_result { GJK_DISJOINT, GJK_BEYOND_REACH, GJK_OVERLAP } gjk_result;

/*
 * Gilbert, Johnson, Keerthi 1988: v is the point closest to the origin of a simplex inside A - B,
 * and the simplex gains the support point w along -v until that is no closer to the origin than v.
 *
 *   n . w <= distance <= |v|,   n = v / |v|
 *
 * *best: the largest lower bound of all iterations, with its direction.
 */
static gjk_result run_gjk(const gw_convex *a, const gw_convex *b, double reach,
                          gw_signed_distance *best)
{
    double size = a->size + b->size, touching = 1e-9 * size;
    gw_vec3 v = gw_sub(a->origin, b->origin);
    if (gw_norm2(v) == 0)
        v = gw_v3(0, 0, 1);
    simplex s = {0};
    *best = (gw_signed_distance){-INFINITY, {0, 0, 1}};
    for (int i = 0; i < GJK_ITERATIONS; i++) {
        gw_vec3 n = gw_unit(v), w = minkowski_support(a, b, gw_neg(n));
        double bound = gw_dot(n, w);
        if (bound > best->distance)
            *best = (gw_signed_distance){bound, n};
        if (bound > reach)
            return GJK_BEYOND_REACH;

        /* the bounds have met, or the support point is known already */
        if (s.count > 0 && (gw_norm(v) - bound <= 1e-15 * size || has_vertex(&s, w)))
            return GJK_DISJOINT;

        double before = gw_norm2(v);
        bool first = s.count == 0;
        s.w[s.count++] = w;
        v = closest_on_simplex(&s);
        if (s.count == 4 || gw_norm2(v) <= touching * touching)
            return GJK_OVERLAP;
        if (!first && gw_norm2(v) >= before)
            return GJK_DISJOINT; /* rounding: no progress any more */
    }
    return GJK_DISJOINT;
}

/* ---- SAT of two polytopes -------------------------------------------------------------------- */

/* The projections of both polytopes onto n give the separation along n and that along -n. */
static void try_both_senses(const gw_convex *a, const gw_convex *b, gw_vec3 n,
                            gw_signed_distance *best)
{
    double low_a, high_a, low_b, high_b, offset = gw_dot(n, gw_sub(a->origin, b->origin));
    gw_convex_project(a, n, &low_a, &high_a);
    gw_convex_project(b, n, &low_b, &high_b);
    double along = offset + low_a - high_b, against = low_b - high_a - offset;
    if (along > best->distance)
        *best = (gw_signed_distance){along, n};
    if (against > best->distance)
        *best = (gw_signed_distance){against, gw_neg(n)};
}

/* `sign`: 1 for the normals of b, -1 for those of a. */
static void try_face_normals(const gw_convex *a, const gw_convex *b, const gw_convex *of,
                             double sign, gw_signed_distance *best)
{
    const gw_polytope *p = of->polytope;
    for (int i = 0; i < p->face_count; i++)
        try_direction(a, b, gw_scale(sign, gw_mat3_mul(&of->rotation, p->faces[i].normal)), 0,
                      best);
}

/* A segment or a point has no face: any direction across the segment, any at all of a point. */
static void try_faceless(const gw_convex *a, const gw_convex *b, const gw_convex *of,
                         gw_signed_distance *best)
{
    const gw_polytope *p = of->polytope;
    if (p->face_count > 0)
        return;
    gw_vec3 n = {0, 0, 1};
    if (p->direction_count > 0)
        n = gw_any_normal(gw_mat3_mul(&of->rotation, p->directions[0]));
    try_both_senses(a, b, n, best);
}

/* Separating axis test: the best direction of two overlapping polytopes is a face normal of either
 * or the cross product of an edge of each. */
static void sat_polytopes(const gw_convex *a, const gw_convex *b, gw_signed_distance *best)
{
    const gw_polytope *pa = a->polytope, *pb = b->polytope;
    *best = (gw_signed_distance){-INFINITY, {0, 0, 1}};
    try_face_normals(a, b, a, -1, best);
    try_face_normals(a, b, b, 1, best);
    for (int i = 0; i < pa->direction_count; i++) {
        gw_vec3 along = gw_mat3_mul(&a->rotation, pa->directions[i]);
        for (int k = 0; k < pb->direction_count; k++) {
            gw_vec3 n = gw_cross(along, gw_mat3_mul(&b->rotation, pb->directions[k]));
            double length = gw_norm(n);
            if (length > 1e-6)
                try_both_senses(a, b, gw_scale(1 / length, n), best);
        }
    }
    try_faceless(a, b, a, best);
    try_faceless(a, b, b, best);
}

/* ---- SAT of two boxes ------------------------------------------------------------------------ */

#define PARALLEL  1e-6  /* edges whose directions differ by less have no cross product (rad) */
#define EDGE_LEAD 1e-14 /* of their sizes: by so much an edge axis must be better than a face */

/*
 * Two boxes have fifteen axes. In a's frame, with half lengths h, t = A^T (x_b - x_a), R = A^T B:
 *
 *   faces of a:  |t_i| - h_ai - sum_k |R_ik| h_bk,          faces of b likewise with t R
 *   edges i, k:  (|l . t| - sum |l_m| h_am - sum |(R^T l)_m| h_bm) / |l|,   l = e_i x R e_k
 */
typedef struct box_axes {
    double half_a[3], half_b[3], t[3], r[3][3];
    double best;
    int i, k; /* the best axis: a face of a (k < 0), a face of b (i < 0), or two edges */
} box_axes;

static void consider_axis(box_axes *x, double s, int i, int k)
{
    if (s > x->best) {
        x->best = s;
        x->i = i;
        x->k = k;
    }
}

static void try_box_faces(box_axes *x)
{
    for (int i = 0; i < 3; i++) {
        double b = 0;
        for (int k = 0; k < 3; k++)
            b += fabs(x->r[i][k]) * x->half_b[k];
        consider_axis(x, fabs(x->t[i]) - x->half_a[i] - b, i, -1);
    }
    for (int k = 0; k < 3; k++) {
        double a = 0, along = 0;
        for (int i = 0; i < 3; i++) {
            a += fabs(x->r[i][k]) * x->half_a[i];
            along += x->t[i] * x->r[i][k];
        }
        consider_axis(x, fabs(along) - x->half_b[k] - a, -1, k);
    }
}

static void try_box_edges(box_axes *x, double lead)
{
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++) {
            int p = (i + 1) % 3, q = (i + 2) % 3, m = (k + 1) % 3, n = (k + 2) % 3;
            double up = x->r[p][k], uq = x->r[q][k], length = sqrt(up * up + uq * uq);
            if (length < PARALLEL)
                continue;
            double t = fabs(x->t[q] * up - x->t[p] * uq);
            double a = x->half_a[p] * fabs(uq) + x->half_a[q] * fabs(up);
            double b = x->half_b[m] * fabs(x->r[i][n]) + x->half_b[n] * fabs(x->r[i][m]);
            consider_axis(x, (t - a - b) / length - lead, i, k);
        }
}

static gw_vec3 box_axis(const gw_convex *s, int i)
{
    return gw_v3(s->rotation.m[0][i], s->rotation.m[1][i], s->rotation.m[2][i]);
}

static void store3(double *to, gw_vec3 v)
{
    to[0] = v.x;
    to[1] = v.y;
    to[2] = v.z;
}

static void sat_boxes(const gw_convex *a, const gw_convex *b, gw_signed_distance *best)
{
    gw_vec3 b_to_a = gw_sub(a->origin, b->origin);
    box_axes x = {.best = -INFINITY};
    store3(x.half_a, a->polytope->vertices[7]); /* the vertex whose coordinates are all positive */
    store3(x.half_b, b->polytope->vertices[7]);
    store3(x.t, gw_neg(gw_mat3_tmul(&a->rotation, b_to_a)));
    for (int i = 0; i < 3; i++)
        store3(x.r[i], gw_mat3_tmul(&b->rotation, box_axis(a, i)));
    try_box_faces(&x);
    try_box_edges(&x, EDGE_LEAD * (a->size + b->size));
    gw_vec3 n = x.k < 0   ? box_axis(a, x.i)
                : x.i < 0 ? box_axis(b, x.k)
                          : gw_unit(gw_cross(box_axis(a, x.i), box_axis(b, x.k)));
    n = gw_dot(n, b_to_a) < 0 ? gw_neg(n) : n;
    *best = (gw_signed_distance){gw_separation_along(a, b, n), n};
}

/* ---- EPA ------------------------------------------------------------------------------------- */

enum { EPA_VERTICES = 100, EPA_FACES = 2 * EPA_VERTICES, EPA_EDGES = EPA_FACES };

typedef struct epa_face {
    int w[3]; /* counter-clockwise from outside */
    gw_vec3 normal;
    double offset;
} epa_face;

/* A polytope inside the Minkowski difference, its vertices on the surface of that. */
typedef struct epa_polytope {
    const gw_convex *a, *b;
    int vertex_count, face_count;
    gw_vec3 w[EPA_VERTICES];
    epa_face faces[EPA_FACES];
} epa_polytope;

/* False where the three are collinear, or the capacity is used up. */
static bool epa_add_face(epa_polytope *e, int i, int j, int k)
{
    gw_vec3 *w = e->w, n = gw_cross(gw_sub(w[j], w[i]), gw_sub(w[k], w[i]));
    double length = gw_norm(n);
    if (e->face_count == EPA_FACES || length == 0)
        return false;
    n = gw_scale(1 / length, n);
    e->faces[e->face_count++] = (epa_face){{i, j, k}, n, gw_dot(n, w[i])};
    return true;
}

/* Of the support points along d and -d the one that is farther from the plane d . (x - from) = 0.
 */
static gw_vec3 epa_farther_support(const epa_polytope *e, gw_vec3 from, gw_vec3 d)
{
    gw_vec3 p = minkowski_support(e->a, e->b, d), q = minkowski_support(e->a, e->b, gw_neg(d));
    return fabs(gw_dot(d, gw_sub(p, from))) >= fabs(gw_dot(d, gw_sub(q, from))) ? p : q;
}

/* The first tetrahedron; false where the Minkowski difference has no volume. */
static bool epa_begin(epa_polytope *e, double size)
{
    e->vertex_count = 4;
    e->face_count = 0;
    e->w[0] = minkowski_support(e->a, e->b, gw_v3(1, 0, 0));
    e->w[1] = minkowski_support(e->a, e->b, gw_v3(-1, 0, 0));
    gw_vec3 along = gw_unit(gw_sub(e->w[1], e->w[0]));
    if (gw_norm2(along) == 0)
        return false;
    gw_vec3 across = gw_any_normal(along);
    e->w[2] = epa_farther_support(e, e->w[0], across);
    if (gw_norm(gw_reject(gw_sub(e->w[2], e->w[0]), along)) < 1e-9 * size)
        e->w[2] = epa_farther_support(e, e->w[0], gw_cross(along, across));
    gw_vec3 n = gw_unit(gw_cross(along, gw_sub(e->w[2], e->w[0])));
    e->w[3] = epa_farther_support(e, e->w[0], n);
    double height = gw_dot(n, gw_sub(e->w[3], e->w[0]));
    if (gw_norm2(n) == 0 || fabs(height) < 1e-9 * size)
        return false;
    /* wound so that the fourth vertex is below the face of the first three */
    int j = height > 0 ? 2 : 1, k = 3 - j;
    return epa_add_face(e, 0, j, k) && epa_add_face(e, 0, 3, j) && epa_add_face(e, j, 3, k) &&
           epa_add_face(e, k, 3, 0);
}

/* Adds a directed edge to the horizon, or removes its reverse: what is left goes round the hole. */
static void epa_horizon_edge(int (*edges)[2], int *count, int from, int to)
{
    for (int i = 0; i < *count; i++) {
        if (edges[i][0] == to && edges[i][1] == from) {
            edges[i][0] = edges[*count - 1][0];
            edges[i][1] = edges[*count - 1][1];
            --*count;
            return;
        }
    }
    edges[*count][0] = from;
    edges[(*count)++][1] = to;
}

/* Adds a vertex outside of the polytope: the faces that it sees are removed, their horizon is
 * joined to it. False where the result is no proper polytope, or the capacity is used up. */
static bool epa_expand(epa_polytope *e, gw_vec3 w, double slack)
{
    int edges[EPA_EDGES + 3][2], count = 0, kept = 0;
    if (e->vertex_count == EPA_VERTICES)
        return false;
    for (int i = 0; i < e->face_count; i++) {
        epa_face *f = &e->faces[i];
        if (gw_dot(f->normal, w) <= f->offset + slack) {
            e->faces[kept++] = *f;
            continue;
        }
        for (int k = 0; k < 3; k++) {
            if (count >= EPA_EDGES)
                return false;
            epa_horizon_edge(edges, &count, f->w[k], f->w[(k + 1) % 3]);
        }
    }
    e->face_count = kept;
    int p = e->vertex_count++;
    e->w[p] = w;
    for (int i = 0; i < count; i++)
        if (!epa_add_face(e, edges[i][0], edges[i][1], p))
            return false;
    return count > 0;
}

/*
 * Expanding polytope algorithm (van den Bergen 2001): the polytope inside the Minkowski difference
 * gains the support point of its face nearest to the origin until that face is on the surface. The
 * first tetrahedron is any large one and the origin need not be inside (offsets are signed), so
 * solids that nearly touch are no special case.
 */
static void run_epa(const gw_convex *a, const gw_convex *b, gw_signed_distance *best)
{
    epa_polytope e = {.a = a, .b = b};
    double size = a->size + b->size;
    /* curved solids have no last face: the refinement does the rest */
    bool curved = gw_convex_is_curved(a) || gw_convex_is_curved(b);
    double enough = (curved ? 1e-5 : 1e-13) * size;
    *best = (gw_signed_distance){-INFINITY, {0, 0, 1}};
    if (!epa_begin(&e, size))
        return;
    for (bool more = true; more;) {
        const epa_face *nearest = &e.faces[0];
        for (int i = 1; i < e.face_count; i++)
            if (e.faces[i].offset < nearest->offset)
                nearest = &e.faces[i];
        gw_vec3 n = nearest->normal, w = minkowski_support(a, b, n);
        double offset = nearest->offset, beyond = gw_dot(n, w);
        if (-beyond > best->distance)
            *best = (gw_signed_distance){-beyond, gw_neg(n)};
        more = beyond - offset > enough && epa_expand(&e, w, 1e-14 * size);
    }
}

/* ---- refinement: a face normal --------------------------------------------------------------- */

/*
 * GJK and EPA end near the best direction. Where a face decides, its normal is the direction. A
 * straight line of a surface (an edge, a generator of a cylinder's or a cone's side) that stays
 * level keeps n on a circle d . n = c: two of them fix n, one leaves an angle. Otherwise both
 * angles are free and found from the slope of the separation, whose gradient over n is x_a - x_b.
 */

enum { CIRCLES = 6 };

static const double snap = 0.02; /* rad: directions within this angle are tried */

/* True if a face normal is the best direction: no direction tried before is better by more than
 * rounding, and, for curved solids, the other solid's support point is above the face. */
static bool refine_to_face(const gw_convex *a, const gw_convex *b, gw_signed_distance *best)
{
    double size = a->size + b->size, lead = 1e-14 * size;
    bool curved = gw_convex_is_curved(a) || gw_convex_is_curved(b), done = false;
    gw_vec3 start = best->normal;
    gw_reference_face face;
    if (gw_convex_reference_face(b, start, 1 - snap * snap, &face) &&
        try_direction(a, b, face.normal, lead, best))
        done = !curved || gw_reference_face_contains(
                              &face, gw_convex_support(a, gw_neg(face.normal)), 1e-9 * size);
    if (!done && gw_convex_reference_face(a, gw_neg(start), 1 - snap * snap, &face) &&
        try_direction(a, b, gw_neg(face.normal), lead, best))
        done = !curved || gw_reference_face_contains(
                              &face, gw_convex_support(b, gw_neg(face.normal)), 1e-9 * size);
    return done;
}

/* ---- refinement: level lines of both solids -------------------------------------------------- */

/* The unit n nearest to `start` with p.d . n = p.c and q.d . n = q.c; false where there is none. */
static bool intersect_circles(const gw_normal_circle *p, const gw_normal_circle *q, gw_vec3 start,
                              gw_vec3 *n)
{
    gw_vec3 across = gw_cross(p->d, q->d);
    double sine2 = gw_norm2(across), cosine = gw_dot(p->d, q->d);
    if (sine2 < 1e-10)
        return false;
    double x = (p->c - cosine * q->c) / sine2, y = (q->c - cosine * p->c) / sine2;
    gw_vec3 in = gw_mul_add(gw_scale(x, p->d), y, q->d);
    double left = 1 - gw_norm2(in);
    if (left < 0)
        return false;
    double out = copysign(sqrt(left / sine2), gw_dot(across, start));
    *n = gw_unit(gw_mul_add(in, out, across));
    return true;
}

/* ---- refinement: a level line of one solid, an angle is free --------------------------------- */

typedef struct arc {
    const gw_convex *a, *b;
    gw_vec3 centre, x, y; /* n = centre + cos(angle) x + sin(angle) y */
} arc;

static gw_vec3 on_arc(const arc *c, double angle)
{
    return gw_add(c->centre, gw_mul_add(gw_scale(cos(angle), c->x), sin(angle), c->y));
}

/* ds / d angle = (x_a - x_b) . dn / d angle */
static double slope_on_arc(const arc *c, double angle)
{
    gw_vec3 n = on_arc(c, angle), b_to_a = minkowski_support(c->a, c->b, gw_neg(n));
    return gw_dot(b_to_a, gw_mul_add(gw_scale(-sin(angle), c->x), cos(angle), c->y));
}

/* The angle near zero where the slope falls through zero, by false position with the Illinois rule
 * (no end of the bracket stays for long); false where it does not fall. */
static bool best_angle(const arc *c, double *angle)
{
    double low = -snap, high = snap, at_low = slope_on_arc(c, low), at_high = slope_on_arc(c, high);
    for (int i = 0; i < 3 && !(at_low > 0 && at_high < 0); i++) {
        low *= 2, high *= 2;
        at_low = slope_on_arc(c, low), at_high = slope_on_arc(c, high);
    }
    if (!(at_low > 0 && at_high < 0))
        return false;
    for (int i = 0, last = 0; i < 100 && high - low > 1e-15; i++) {
        double middle = low + (high - low) * at_low / (at_low - at_high);
        if (i % 4 == 3 || !(middle > low && middle < high))
            middle = low + 0.5 * (high - low);
        double at = slope_on_arc(c, middle);
        if (at > 0) {
            low = middle, at_low = at;
            at_high = last == 1 ? 0.5 * at_high : at_high;
            last = 1;
        } else if (at < 0) {
            high = middle, at_high = at;
            at_low = last == -1 ? 0.5 * at_low : at_low;
            last = -1;
        } else {
            low = high = middle;
        }
    }
    *angle = 0.5 * (low + high);
    return true;
}

static void refine_on_circle(const gw_convex *a, const gw_convex *b, const gw_normal_circle *f,
                             gw_vec3 start, gw_signed_distance *best)
{
    gw_vec3 x = gw_unit(gw_reject(start, f->d));
    double radius = sqrt(fmax(0, 1 - f->c * f->c)), angle;
    arc c = {a, b, gw_scale(f->c, f->d), gw_scale(radius, x), gw_scale(radius, gw_cross(f->d, x))};
    if (gw_norm2(x) > 0 && best_angle(&c, &angle))
        try_direction(a, b, gw_unit(on_arc(&c, angle)), 1e-14 * (a->size + b->size), best);
}

/* ---- refinement: both angles are free -------------------------------------------------------- */

/* The components of x_a - x_b along the axes e, which are across n: zero at the best n. */
static void tangential_gap(const gw_convex *a, const gw_convex *b, gw_vec3 n, const gw_vec3 e[2],
                           double out[2])
{
    gw_vec3 b_to_a = minkowski_support(a, b, gw_neg(n));
    for (int i = 0; i < 2; i++)
        out[i] = gw_dot(b_to_a, e[i]);
}

/* A step of Newton's method on the unit sphere, derivatives by central differences; false where the
 * Jacobian is singular or the step is too long. */
static bool newton_step(const gw_convex *a, const gw_convex *b, gw_vec3 n, gw_vec3 *next)
{
    const double h = 1e-6;
    gw_vec3 e[2] = {gw_any_normal(n)};
    e[1] = gw_cross(n, e[0]);
    double g[2], up[2], down[2], m[2][2];
    tangential_gap(a, b, n, e, g);
    for (int k = 0; k < 2; k++) {
        tangential_gap(a, b, gw_unit(gw_mul_add(n, h, e[k])), e, up);
        tangential_gap(a, b, gw_unit(gw_mul_add(n, -h, e[k])), e, down);
        for (int i = 0; i < 2; i++)
            m[i][k] = (up[i] - down[i]) / (2 * h);
    }
    /* turning n turns the axes too, which subtracts s from the diagonal */
    double s = gw_separation_along(a, b, n);
    m[0][0] -= s, m[1][1] -= s;
    double det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    if (!(fabs(det) > 1e-18))
        return false;
    double x = -(m[1][1] * g[0] - m[0][1] * g[1]) / det;
    double y = -(m[0][0] * g[1] - m[1][0] * g[0]) / det, step = hypot(x, y);
    if (!isfinite(step) || step > 0.5)
        return false;
    *next = gw_unit(gw_add(n, gw_mul_add(gw_scale(x, e[0]), y, e[1])));
    return true;
}

static void refine_freely(const gw_convex *a, const gw_convex *b, gw_vec3 start,
                          gw_signed_distance *best)
{
    gw_vec3 n = start;
    for (int i = 0; i < 8 && newton_step(a, b, n, &n); i++)
        try_direction(a, b, n, 0, best);
}

/* ---- refinement ------------------------------------------------------------------------------ */

/* With level lines of both solids, of one of them, and of none. */
static void refine_to_lines(const gw_convex *a, const gw_convex *b, double slack,
                            gw_signed_distance *best)
{
    gw_vec3 start = best->normal, n;
    gw_normal_circle of_a[CIRCLES], of_b[CIRCLES];
    int a_count = gw_convex_normal_circles(a, gw_neg(start), slack, of_a, CIRCLES);
    int b_count = gw_convex_normal_circles(b, start, slack, of_b, CIRCLES);
    double lead = 1e-14 * (a->size + b->size);
    for (int i = 0; i < a_count; i++) {
        of_a[i].c = -of_a[i].c; /* a's normal is -n */
        for (int k = 0; k < b_count; k++)
            if (intersect_circles(&of_a[i], &of_b[k], start, &n))
                try_direction(a, b, n, lead, best);
    }
    if (!gw_convex_is_curved(a) && !gw_convex_is_curved(b))
        return;
    for (int i = 0; i < a_count; i++)
        refine_on_circle(a, b, &of_a[i], start, best);
    for (int i = 0; i < b_count; i++)
        refine_on_circle(a, b, &of_b[i], start, best);
    refine_freely(a, b, start, best);
}

static void refine_normal(const gw_convex *a, const gw_convex *b, gw_signed_distance *best)
{
    bool curved = gw_convex_is_curved(a) || gw_convex_is_curved(b);
    if (refine_to_face(a, b, best))
        return;
    double before = best->distance;
    refine_to_lines(a, b, snap, best);
    /* EPA ends farther from the answer than GJK: a direction that has moved may move again */
    for (int i = 0; curved && i < 4 && best->distance > before + 1e-10 * (a->size + b->size); i++) {
        before = best->distance;
        if (refine_to_face(a, b, best))
            return;
        refine_to_lines(a, b, 5 * snap, best);
    }
}

/* ---- signed distance ------------------------------------------------------------------------- */

/* Of the cores; false where they are farther apart than `reach`. */
static bool core_distance(const gw_convex *a, const gw_convex *b, double reach,
                          gw_signed_distance *best)
{
    const int sat_max = 256; /* cross products of edges beyond which EPA is quicker */
    gjk_result result = run_gjk(a, b, reach, best);
    if (result == GJK_BEYOND_REACH)
        return false;
    /* polytopes that all but touch: SAT is exact where GJK rounds */
    if (result == GJK_OVERLAP || best->distance < 1e-7 * (a->size + b->size)) {
        gw_signed_distance other;
        bool flat = !gw_convex_is_curved(a) && !gw_convex_is_curved(b);
        if (flat && a->polytope->direction_count * b->polytope->direction_count <= sat_max)
            sat_polytopes(a, b, &other);
        else
            run_epa(a, b, &other);
        if (other.distance > best->distance)
            *best = other;
    }
    refine_normal(a, b, best);
    return true;
}

static bool is_box(const gw_convex *s)
{
    return s->core == GW_CORE_POLYTOPE && s->polytope->box;
}

/* Two boxes by SAT: fifteen axes cost less than GJK, and give the exact result for an overlap. */
static bool box_distance(const gw_convex *a, const gw_convex *b, double reach,
                         gw_signed_distance *best)
{
    sat_boxes(a, b, best);
    return best->distance <= reach && (best->distance < 0 || core_distance(a, b, reach, best));
}

bool gw_convex_distance(const gw_convex *a, const gw_convex *b, double reach,
                        gw_signed_distance *result)
{
    assert(a->size >= 0 && b->size >= 0);
    const double rounding = a->rounding + b->rounding;
    bool boxes = is_box(a) && is_box(b);
    if (!(boxes ? box_distance : core_distance)(a, b, reach + rounding, result))
        return false;
    result->distance -= rounding;
    return result->distance <= reach;
}

bool gw_next_separating_axis(const gw_convex *a, const gw_convex *b, gw_signed_distance *axis)
{
    const gw_convex *of[2] = {a, b};
    double rounding = a->rounding + b->rounding,
           below = axis->distance - 1e-9 * (a->size + b->size);
    gw_signed_distance best = {-INFINITY, axis->normal};
    for (int k = 0; k < 2; k++) {
        gw_vec3 n;
        for (int i = 0; gw_convex_face_normal(of[k], i, &n); i++) {
            n = k == 0 ? gw_neg(n) : n;
            double s = gw_separation_along(a, b, n) - rounding;
            if (s < below && s > best.distance)
                best = (gw_signed_distance){s, n};
        }
    }
    *axis = best;
    return isfinite(best.distance);
}
