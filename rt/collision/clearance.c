/*
 * Distance of convex cores. Any thread, no memory taken.
 *
 * The signed gap is the largest separation over all directions,
 *
 *   gap = max over unit n of s(n),   s(n) = min n . x_a - max n . x_b
 *
 * for cores that are apart as for cores that overlap. Any direction is therefore a lower bound, and
 * of several candidates the largest is the best. Apart, the maximum is the only one and found by
 * walking simplices of the set of differences a - b towards the origin (Gilbert, Johnson, Keerthi
 * 1988); overlapping, there are many, and they are compared.
 */
#include "rt/collision/gjk_epa.h"

#include <string.h>

enum { WALK = 64 };

double gw_separation_along(const gw_convex *a, const gw_convex *b, gw_vec3 n)
{
    return gw_dot(n, gw_sub(gw_convex_support(a, gw_neg(n)), gw_convex_support(b, n)));
}

/* ---- the point of a simplex nearest to the origin ------------------------------------------ */

typedef struct simplex {
    int count;
    gw_vec3 w[4];
} simplex;

static gw_vec3 on_segment(const gw_vec3 w[2], simplex *keep)
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

/* The foot of the origin on the triangle's plane, where it is inside. */
static bool foot_inside(const gw_vec3 w[3], gw_vec3 *foot)
{
    gw_vec3 n = gw_cross(gw_sub(w[1], w[0]), gw_sub(w[2], w[0]));
    double area = gw_norm2(n);
    if (area == 0)
        return false;
    for (int i = 0; i < 3; i++)
        if (gw_dot(n, gw_cross(w[i], w[(i + 1) % 3])) < 0)
            return false;
    /* the corner nearest to the origin rounds least */
    const gw_vec3 *near = &w[0];
    for (int i = 1; i < 3; i++)
        if (gw_norm2(w[i]) < gw_norm2(*near))
            near = &w[i];
    *foot = gw_scale(gw_dot(n, *near) / area, n);
    return true;
}

static gw_vec3 on_triangle(const gw_vec3 w[3], simplex *keep)
{
    gw_vec3 best;
    if (foot_inside(w, &best)) {
        *keep = (simplex){3, {w[0], w[1], w[2]}};
        return best;
    }
    for (int i = 0; i < 3; i++) {
        simplex part;
        gw_vec3 side[2] = {w[i], w[(i + 1) % 3]}, p = on_segment(side, &part);
        if (i == 0 || gw_norm2(p) < gw_norm2(best)) {
            best = p;
            *keep = part;
        }
    }
    return best;
}

/* The origin itself, where it is inside. */
static gw_vec3 on_tetrahedron(const gw_vec3 w[4], simplex *keep)
{
    static const int corner[4][4] = {{0, 1, 2, 3}, {0, 1, 3, 2}, {0, 2, 3, 1}, {1, 2, 3, 0}};
    gw_vec3 best = {0, 0, 0};
    bool outside = false;
    for (int i = 0; i < 4; i++) {
        gw_vec3 face[3] = {w[corner[i][0]], w[corner[i][1]], w[corner[i][2]]};
        gw_vec3 n = gw_cross(gw_sub(face[1], face[0]), gw_sub(face[2], face[0]));
        double fourth = gw_dot(n, gw_sub(w[corner[i][3]], face[0])), origin = -gw_dot(n, face[0]);
        if (fourth != 0 && fourth * origin > 0)
            continue;
        simplex part;
        gw_vec3 p = on_triangle(face, &part);
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

static gw_vec3 nearest(simplex *s)
{
    gw_vec3 w[4];
    memcpy(w, s->w, sizeof w);
    switch (s->count) {
    case 1:
        return w[0];
    case 2:
        return on_segment(w, s);
    case 3:
        return on_triangle(w, s);
    default:
        return on_tetrahedron(w, s);
    }
}

/* ---- the walk ------------------------------------------------------------------------------ */

static gw_vec3 difference(const gw_convex *a, const gw_convex *b, gw_vec3 n)
{
    return gw_sub(gw_convex_support(a, gw_neg(n)), gw_convex_support(b, n));
}

static bool has(const simplex *s, gw_vec3 w)
{
    for (int i = 0; i < s->count; i++)
        if (gw_norm2(gw_sub(s->w[i], w)) == 0)
            return true;
    return false;
}

gw_gjk_result gw_gjk(const gw_convex *a, const gw_convex *b, double reach, gw_signed_distance *gap)
{
    double size = a->size + b->size, touching = 1e-9 * size;
    gw_vec3 v = gw_sub(a->at, b->at);
    if (gw_norm2(v) == 0)
        v = gw_v3(0, 0, 1);
    simplex s = {0};
    gap->gap = -INFINITY;
    for (int i = 0; i < WALK; i++) {
        gw_vec3 n = gw_unit(v), w = difference(a, b, n);
        double bound = gw_dot(n, w);
        if (bound > gap->gap)
            *gap = (gw_signed_distance){bound, n};
        if (bound > reach)
            return GW_GJK_BEYOND_REACH;
        if (s.count > 0 && (gw_norm(v) - bound <= 1e-15 * size || has(&s, w)))
            return GW_GJK_DISJOINT;
        double before = gw_norm2(v);
        simplex old = s;
        s.w[s.count++] = w;
        v = nearest(&s);
        if (s.count == 4 || gw_norm2(v) <= touching * touching)
            return GW_GJK_OVERLAP;
        if (old.count > 0 && gw_norm2(v) >= before)
            return GW_GJK_DISJOINT;
    }
    return GW_GJK_DISJOINT;
}

/* ---- all together -------------------------------------------------------------------------- */

static void take_better(gw_signed_distance *best, const gw_signed_distance *other)
{
    if (other->gap > best->gap)
        *best = *other;
}

/* False where the cores are farther apart than `reach`. */
static bool search(const gw_convex *a, const gw_convex *b, double reach, gw_signed_distance *gap)
{
    const int many = 256; /* products of edges beyond which growing is quicker */
    gw_gjk_result apart = gw_gjk(a, b, reach, gap);
    if (apart == GW_GJK_BEYOND_REACH)
        return false;
    /* polytopes that all but touch: their faces and edges say it exactly */
    if (apart == GW_GJK_OVERLAP || gap->gap < 1e-7 * (a->size + b->size)) {
        gw_signed_distance other;
        bool flat = !gw_convex_is_curved(a) && !gw_convex_is_curved(b);
        if (flat && a->polytope->direction_count * b->polytope->direction_count <= many)
            gw_sat_polytopes(a, b, &other);
        else
            gw_epa(a, b, &other);
        take_better(gap, &other);
    }
    gw_refine_normal(a, b, gap);
    return true;
}

static bool is_box(const gw_convex *s)
{
    return s->core == GW_CORE_POLYTOPE && s->polytope->box;
}

/* Their fifteen directions cost less than a walk, and say it all where they overlap. */
static bool search_boxes(const gw_convex *a, const gw_convex *b, double reach,
                         gw_signed_distance *gap)
{
    gw_sat_boxes(a, b, gap);
    return gap->gap <= reach && (gap->gap < 0 || search(a, b, reach, gap));
}

bool gw_convex_distance(const gw_convex *a, const gw_convex *b, double reach,
                        gw_signed_distance *gap)
{
    const double rounding = a->rounding + b->rounding;
    bool boxes = is_box(a) && is_box(b);
    if (!(boxes ? search_boxes : search)(a, b, reach + rounding, gap))
        return false;
    gap->gap -= rounding;
    return gap->gap <= reach;
}

/* ---- one after the other ------------------------------------------------------------------- */

bool gw_next_separating_axis(const gw_convex *a, const gw_convex *b, gw_signed_distance *gap)
{
    const gw_convex *of[2] = {a, b};
    double rounding = a->rounding + b->rounding, below = gap->gap - 1e-9 * (a->size + b->size);
    gw_signed_distance best = {-INFINITY, gap->normal};
    for (int k = 0; k < 2; k++) {
        gw_vec3 n;
        for (int i = 0; gw_convex_face_normal(of[k], i, &n); i++) {
            n = k == 0 ? gw_neg(n) : n;
            double s = gw_separation_along(a, b, n) - rounding;
            if (s < below && s > best.gap)
                best = (gw_signed_distance){s, n};
        }
    }
    *gap = best;
    return isfinite(best.gap);
}
