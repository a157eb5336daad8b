/*
 * Out of the gap of two convex solids and its direction: which points may meet. Any thread.
 *
 * Where a face leads on one side, every corner of the other solid above it is a pair of its own
 * (a body that tips towards a table comes down on any of them), with the face's normal; where edges
 * of faces cross, their crossings too. Where none of these is the nearest, the nearest pair of
 * points is added: edge against edge, ball against ball.
 */
#include "rt/collision/manifold.h"

#include <string.h>

enum { FOUND = 96 };

enum { FEATURE_EDGE = 1 << 20, FEATURE_FACE = 1 << 21, FEATURE_SIDE = 1 << 22 };

static const double same_place = 1e-9; /* m */
static const double steep = 0.1; /* an edge that rises so much touches no face's border flat */

/* What is worked on: everything is from b towards a. */
typedef struct work {
    const gw_convex *a, *b;
    gw_signed_distance gap;
    double reach;
    int count;
    gw_manifold_point found[FOUND];
    double least[FOUND], sum[FOUND]; /* of its distances from those taken (m) */
} work;

/* ---- corners over a face ------------------------------------------------------------------- */

static bool known(const work *w, gw_vec3 place, gw_vec3 normal)
{
    for (int i = 0; i < w->count; i++) {
        const gw_manifold_point *t = &w->found[i];
        gw_vec3 at = gw_mul_add(t->a, -t->radius_a, t->normal);
        if (gw_dot(t->normal, normal) > 0.999 && gw_distance(at, place) < 1e-7)
            return true;
    }
    return false;
}

/* A ball around p, of the solid that does not have the plate (`on_b`: b has it). */
static void over(work *w, const gw_reference_face *plate, bool on_b, gw_vec3 p, double radius,
                 uint32_t feature, uint32_t at)
{
    double height = gw_dot(plate->normal, p) - plate->offset, gap = height - radius;
    /* overlapping, faces of other directions lie deeper and are not what pushes */
    double least = w->gap.gap - same_place;
    gw_vec3 normal = on_b ? plate->normal : gw_neg(plate->normal);
    gw_vec3 foot = gw_mul_add(p, -height, plate->normal);
    gw_vec3 low = gw_mul_add(p, -radius, plate->normal);
    if (gap > w->reach || gap < least || w->count == FOUND || known(w, on_b ? low : foot, normal))
        return;
    gw_manifold_point *t = &w->found[w->count++];
    if (on_b)
        *t =
            (gw_manifold_point){p, foot, radius, 0, GW_NORMAL_IN_B, normal, true, gap, feature, at};
    else
        *t =
            (gw_manifold_point){foot, p, 0, radius, GW_NORMAL_IN_A, normal, true, gap, at, feature};
}

/* A sharp line along d, p on it, over a side of the plate: edge across edge, n ~ d x e. Where they
 * overlap, the nearest pair says it. */
static void across(work *w, const gw_reference_face *plate, bool on_b, gw_vec3 p, gw_vec3 d,
                   int side, double radius, uint32_t feature, uint32_t at)
{
    gw_vec3 foot = gw_mul_add(p, plate->offset - gw_dot(plate->normal, p), plate->normal);
    gw_vec3 e = gw_sub(plate->p[(side + 1) % plate->count], plate->p[side]);
    gw_vec3 n = gw_unit(gw_cross(d, e));
    n = gw_dot(n, plate->normal) < 0 ? gw_neg(n) : n;
    double gap = gw_dot(n, gw_sub(p, foot)) - radius;
    bool leads = gw_dot(n, gw_cross(e, plate->normal)) > 0;
    if (gap > w->reach || gap < fmax(0, w->gap.gap) - same_place || !leads || w->count == FOUND)
        return;
    gw_manifold_point *t = &w->found[w->count++];
    if (on_b)
        *t =
            (gw_manifold_point){p, foot, radius, 0, GW_NORMAL_IN_WORLD, n, false, gap, feature, at};
    else
        *t = (gw_manifold_point){foot,      p,     0,   radius, GW_NORMAL_IN_WORLD,
                                 gw_neg(n), false, gap, at,     feature};
}

/* The part of the segment p + t d, t in 0 .. 1, above the plate, and through which sides of it the
 * segment enters and leaves; false where none is. */
static bool part_above(const gw_reference_face *plate, gw_vec3 p, gw_vec3 d, double t[2],
                       int side[2])
{
    t[0] = 0, t[1] = 1;
    side[0] = side[1] = -1;
    if (plate->count == 0) {
        gw_vec3 from = gw_reject(gw_sub(p, plate->centre), plate->normal);
        gw_vec3 along = gw_reject(d, plate->normal);
        double x = gw_norm2(along), half = -gw_dot(from, along);
        double root = half * half - x * (gw_norm2(from) - plate->radius * plate->radius);
        if (!(root > 0) || x == 0)
            return false;
        double enter = (half - sqrt(root)) / x, leave = (half + sqrt(root)) / x;
        if (enter > t[0])
            t[0] = enter, side[0] = 0;
        if (leave < t[1])
            t[1] = leave, side[1] = 1;
        return t[0] < t[1];
    }
    for (int i = 0; i < plate->count; i++) {
        gw_vec3 from = plate->p[i], out = plate->out[i];
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

/* Corners above the plate, and where the lines between them cross its border. */
static void lay(work *w, const gw_reference_face *plate, bool on_b, const gw_support_feature *c,
                double rounding)
{
    uint32_t at = (uint32_t)plate->id | FEATURE_FACE;
    for (int i = 0; i < c->count; i++)
        if (gw_reference_face_contains(plate, c->p[i], same_place))
            over(w, plate, on_b, c->p[i], c->radius[i] + rounding, (uint32_t)c->id[i], at);
    int lines = c->closed ? c->count : c->count - 1;
    for (int i = 0; i < lines; i++) {
        int k = (i + 1) % c->count, side[2];
        double t[2];
        gw_vec3 d = gw_sub(c->p[k], c->p[i]);
        if (!part_above(plate, c->p[i], d, t, side))
            continue;
        for (int e = 0; e < 2; e++) {
            if (side[e] < 0)
                continue;
            double radius = c->radius[i] + t[e] * (c->radius[k] - c->radius[i]) + rounding;
            gw_vec3 p = gw_mul_add(c->p[i], t[e], d);
            uint32_t mine = (uint32_t)c->id[i] | FEATURE_EDGE;
            uint32_t its = at + ((uint32_t)side[e] << 8) + FEATURE_SIDE;
            bool sharp =
                rounding == 0 && c->radius[i] == 0 && c->radius[k] == 0 && plate->count > 0;
            if (sharp && fabs(gw_dot(d, plate->normal)) > steep * gw_norm(d))
                across(w, plate, on_b, p, d, side[e], radius, mine, its);
            else
                over(w, plate, on_b, p, radius, mine, its);
        }
    }
}

static void lay_faces(work *w)
{
    const double leads = 0.7;
    gw_vec3 n = w->gap.normal;
    gw_reference_face plate;
    gw_support_feature corners;
    if (gw_convex_reference_face(w->b, n, leads, &plate)) {
        gw_convex_incident_feature(w->a, gw_neg(plate.normal), &corners);
        lay(w, &plate, true, &corners, w->a->rounding);
    }
    if (gw_convex_reference_face(w->a, gw_neg(n), leads, &plate)) {
        gw_convex_incident_feature(w->b, gw_neg(plate.normal), &corners);
        lay(w, &plate, false, &corners, w->b->rounding);
    }
}

/* ---- the nearest pair ---------------------------------------------------------------------- */

/* The point of the segment nearest to p, as a part of its length. */
static double along_segment(const gw_support_feature *s, gw_vec3 p)
{
    gw_vec3 d = gw_sub(s->p[1], s->p[0]);
    return fmin(1, fmax(0, gw_dot(d, gw_sub(p, s->p[0])) / gw_norm2(d)));
}

static gw_vec3 on_segment(const gw_support_feature *s, double t)
{
    return gw_mul_add(s->p[0], t, gw_sub(s->p[1], s->p[0]));
}

/* Where two lines that are not parallel come nearest: x = (q x e) . (d x e) / |d x e|^2 */
static double towards(gw_vec3 d, gw_vec3 e, gw_vec3 q)
{
    gw_vec3 across = gw_cross(d, e);
    return fmin(1, fmax(0, gw_dot(gw_cross(q, e), across) / gw_norm2(across)));
}

static bool along_one_another(const gw_support_feature *a, const gw_support_feature *b)
{
    gw_vec3 d = gw_unit(gw_sub(a->p[1], a->p[0])), e = gw_unit(gw_sub(b->p[1], b->p[0]));
    return gw_norm(gw_cross(d, e)) < 1e-4;
}

/* The parts x, y of two segments that are nearest, once or, where they lie along one another, at
 * both ends of what they share. */
static int nearest_parts(const gw_support_feature *a, const gw_support_feature *b, double x[2],
                         double y[2])
{
    gw_vec3 d = gw_sub(a->p[1], a->p[0]), e = gw_sub(b->p[1], b->p[0]);
    if (!along_one_another(a, b)) {
        gw_vec3 q = gw_sub(b->p[0], a->p[0]);
        x[0] = towards(d, e, q);
        y[0] = along_segment(b, on_segment(a, x[0]));
        x[0] = along_segment(a, on_segment(b, y[0]));
        return 1;
    }
    double s = gw_dot(d, gw_sub(b->p[0], a->p[0])) / gw_norm2(d);
    double t = gw_dot(d, gw_sub(b->p[1], a->p[0])) / gw_norm2(d);
    x[0] = fmin(1, fmax(0, fmin(s, t)));
    x[1] = fmin(1, fmax(0, fmax(s, t)));
    for (int i = 0; i < 2; i++)
        y[i] = along_segment(b, on_segment(a, x[i]));
    return x[1] > x[0] ? 2 : 1;
}

static uint32_t feature_of(const gw_support_feature *c, double t)
{
    if (c->count < 2 || t <= 0)
        return (uint32_t)c->id[0];
    return t >= 1 ? (uint32_t)c->id[1] : (uint32_t)c->id[0] | FEATURE_EDGE;
}

/* Point against point; n where they are at one place, or where both are sharp. */
static void join(work *w, const gw_support_feature *a, double x, const gw_support_feature *b,
                 double y, gw_vec3 slide)
{
    gw_vec3 p = a->count > 1 ? on_segment(a, x) : a->p[0];
    gw_vec3 q = b->count > 1 ? on_segment(b, y) : b->p[0];
    double ra = a->radius[0] + w->a->rounding, rb = b->radius[0] + w->b->rounding;
    gw_vec3 apart = gw_sub(p, q), n = w->gap.normal;
    double distance = gw_norm(apart);
    gw_normal_kind kind = GW_NORMAL_IN_WORLD;
    bool balls = ra + rb > 0 && distance > 1e-6 * (ra + rb) && gw_dot(apart, n) > 0;
    bool lines = a->count > 1 && x > 0 && x < 1 && b->count > 1 && y > 0 && y < 1;
    if (balls && (!lines || along_one_another(a, b))) {
        const gw_support_feature *edge = a->count > 1 ? a : b->count > 1 ? b : NULL;
        gw_vec3 d = edge ? gw_unit(gw_sub(edge->p[1], edge->p[0])) : gw_v3(0, 0, 0);
        bool along = edge && fabs(gw_dot(d, slide)) > gw_norm(gw_reject(slide, d));
        n = gw_scale(1 / distance, apart);
        kind = !along ? GW_NORMAL_BETWEEN : edge == a ? GW_NORMAL_IN_A : GW_NORMAL_IN_B;
    }
    double gap = gw_dot(n, apart) - ra - rb;
    if (gap <= w->reach && w->count < FOUND)
        w->found[w->count++] = (gw_manifold_point){
            p, q, ra, rb, kind, n, false, gap, feature_of(a, x), feature_of(b, y)};
}

/* The point of the one that is less flat where it is farthest towards the other, and the one across
 * from it. */
static void join_plainly(work *w, const gw_support_feature *a, const gw_support_feature *b)
{
    gw_vec3 n = w->gap.normal, p, q;
    double apart = w->gap.gap + w->a->rounding + w->b->rounding;
    if (a->count <= b->count) {
        p = gw_convex_support(w->a, gw_neg(n));
        q = gw_mul_add(p, -apart, n);
    } else {
        q = gw_convex_support(w->b, n);
        p = gw_mul_add(q, apart, n);
    }
    w->found[w->count++] = (gw_manifold_point){p,
                                               q,
                                               w->a->rounding,
                                               w->b->rounding,
                                               GW_NORMAL_IN_WORLD,
                                               n,
                                               false,
                                               w->gap.gap,
                                               (uint32_t)a->id[0] | (a->closed ? FEATURE_FACE : 0),
                                               (uint32_t)b->id[0] | (b->closed ? FEATURE_FACE : 0)};
}

static void join_nearest(work *w, gw_vec3 slide)
{
    gw_vec3 n = w->gap.normal;
    gw_support_feature a, b;
    double x[2] = {0}, y[2] = {0};
    int count = 1;
    gw_convex_support_feature(w->a, gw_neg(n), 1e-6 * w->a->size, &a);
    gw_convex_support_feature(w->b, n, 1e-6 * w->b->size, &b);
    if (a.count > 2 || b.count > 2) {
        join_plainly(w, &a, &b);
        return;
    }
    if (a.count == 2 && b.count == 2)
        count = nearest_parts(&a, &b, x, y);
    else if (a.count == 2)
        x[0] = along_segment(&a, b.p[0]);
    else if (b.count == 2)
        y[0] = along_segment(&b, a.p[0]);
    int before = w->count;
    for (int i = 0; i < count; i++)
        join(w, &a, x[i], &b, y[i], slide);
    /* lines that are only nearly level do not say the gap */
    double nearest = INFINITY;
    for (int i = before; i < w->count; i++)
        nearest = fmin(nearest, w->found[i].gap);
    if (!(fabs(nearest - w->gap.gap) < 1e-7)) {
        w->count = before;
        join_plainly(w, &a, &b);
    }
}

/* ---- the four ------------------------------------------------------------------------------ */

/* A pair more is taken: how far those found are from what is. */
static void measure(work *w, const gw_manifold_point *taken)
{
    for (int i = 0; i < w->count; i++) {
        double far = gw_distance(taken->a, w->found[i].a);
        w->sum[i] += far;
        w->least[i] = fmin(w->least[i], far);
    }
}

static int nearest_found(const work *w)
{
    int best = w->count > 0 ? 0 : -1;
    for (int i = 1; i < w->count; i++)
        if (w->found[i].gap < w->found[best].gap - same_place)
            best = i;
    return best;
}

/* Of those about as far as any from what is taken, the outermost. */
static int farthest_found(const work *w)
{
    double most = 1e-7, outermost = 0;
    int best = -1;
    for (int i = 0; i < w->count; i++)
        most = fmax(most, w->least[i]);
    for (int i = 0; i < w->count; i++)
        if (w->least[i] > 1e-7 && w->least[i] > 0.9 * most && w->sum[i] > outermost * (1 + 1e-6)) {
            outermost = w->sum[i];
            best = i;
        }
    return best;
}

static void forget(work *w, int i)
{
    size_t after = (size_t)(--w->count - i);
    memmove(&w->found[i], &w->found[i + 1], after * sizeof *w->found);
    memmove(&w->least[i], &w->least[i + 1], after * sizeof *w->least);
    memmove(&w->sum[i], &w->sum[i + 1], after * sizeof *w->sum);
}

/* The nearest, then whatever is farthest from those taken; earlier ones where it is the same. What
 * the filter drops makes room for the next. */
static int choose(work *w, const gw_manifold_filter *filter,
                  gw_manifold_point pairs[GW_MANIFOLD_POINTS])
{
    int count = 0;
    for (int i = 0; i < w->count; i++)
        w->least[i] = INFINITY, w->sum[i] = 0;
    while (count < GW_MANIFOLD_POINTS) {
        int best = count == 0 ? nearest_found(w) : farthest_found(w);
        if (best < 0)
            break;
        if (filter && filter->drop(filter->context, &w->found[best])) {
            forget(w, best);
            continue;
        }
        pairs[count] = w->found[best];
        measure(w, &pairs[count++]);
    }
    return count;
}

/* Whether one of those found is the gap, in its direction: where edges just touch, all of what is
 * about them is as near. */
static bool says_gap(const work *w)
{
    for (int i = 0; i < w->count; i++)
        if (w->found[i].gap <= w->gap.gap + 1e-13 &&
            gw_dot(w->found[i].normal, w->gap.normal) > 1 - 1e-6)
            return true;
    return false;
}

int gw_manifold_build(const gw_convex *a, const gw_convex *b, const gw_signed_distance *gap,
                      double reach, gw_vec3 slide, const gw_manifold_filter *filter,
                      gw_manifold_point pairs[GW_MANIFOLD_POINTS])
{
    work w; /* 15 kB: what is found is not cleared beforehand */
    w.a = a;
    w.b = b;
    w.gap = *gap;
    w.reach = reach;
    w.count = 0;
    lay_faces(&w);
    if (!says_gap(&w))
        join_nearest(&w, slide);
    return choose(&w, filter, pairs);
}
