/*
 * Makes a direction exact. Any thread, no memory taken.
 *
 * What walks and growing leave is near the best direction. Where a face decides, that is its
 * normal. A straight line of a surface (an edge, a generator of a cylinder's or a cone's side) that
 * stays level keeps n on a circle d . n = c: two of them fix n, one leaves an angle. What is left
 * free is found from the slope of the separation, whose gradient over n is x_a - x_b. All are lower
 * bounds: the largest wins.
 */
#include "rt/collision/gjk_epa.h"

enum { FLATS = 6 };

static const double snap = 0.02; /* rad: directions so near are tried */

static bool try_direction(const gw_convex *a, const gw_convex *b, gw_vec3 n, double lead,
                          gw_signed_distance *best)
{
    double s = gw_separation_along(a, b, n);
    if (s + lead <= best->gap)
        return false;
    *best = (gw_signed_distance){s, n};
    return true;
}

/* ---- faces --------------------------------------------------------------------------------- */

/* True where a face is the answer: no direction nearby is better by more than rounding, and what
 * comes down on it comes down inside. (Of polytopes the first says it all.) */
static bool try_faces(const gw_convex *a, const gw_convex *b, gw_signed_distance *best)
{
    double size = a->size + b->size, lead = 1e-14 * size;
    bool round = gw_convex_is_curved(a) || gw_convex_is_curved(b), done = false;
    gw_vec3 start = best->normal;
    gw_reference_face plate;
    if (gw_convex_reference_face(b, start, 1 - snap * snap, &plate) &&
        try_direction(a, b, plate.normal, lead, best))
        done = !round || gw_reference_face_contains(
                             &plate, gw_convex_support(a, gw_neg(plate.normal)), 1e-9 * size);
    if (!done && gw_convex_reference_face(a, gw_neg(start), 1 - snap * snap, &plate) &&
        try_direction(a, b, gw_neg(plate.normal), lead, best))
        done = !round || gw_reference_face_contains(
                             &plate, gw_convex_support(b, gw_neg(plate.normal)), 1e-9 * size);
    return done;
}

/* ---- two lines ----------------------------------------------------------------------------- */

/* The unit n nearest to `start` with p.d . n = p.c and q.d . n = q.c. */
static bool on_two(const gw_normal_circle *p, const gw_normal_circle *q, gw_vec3 start, gw_vec3 *n)
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

/* ---- one line: an angle is free ------------------------------------------------------------ */

typedef struct circle {
    const gw_convex *a, *b;
    gw_vec3 centre, x, y; /* n = centre + cos(angle) x + sin(angle) y */
} circle;

static gw_vec3 on_circle(const circle *c, double angle)
{
    return gw_add(c->centre, gw_mul_add(gw_scale(cos(angle), c->x), sin(angle), c->y));
}

/* ds / d angle = (x_a - x_b) . dn / d angle */
static double slope(const circle *c, double angle)
{
    gw_vec3 n = on_circle(c, angle);
    gw_vec3 apart = gw_sub(gw_convex_support(c->a, gw_neg(n)), gw_convex_support(c->b, n));
    return gw_dot(apart, gw_mul_add(gw_scale(-sin(angle), c->x), cos(angle), c->y));
}

/* The angle near zero where the slope falls through zero; false where it does not. */
static bool level_angle(const circle *c, double *angle)
{
    double low = -snap, high = snap, at_low = slope(c, low), at_high = slope(c, high);
    for (int i = 0; i < 3 && !(at_low > 0 && at_high < 0); i++) {
        low *= 2, high *= 2;
        at_low = slope(c, low), at_high = slope(c, high);
    }
    if (!(at_low > 0 && at_high < 0))
        return false;
    for (int i = 0, last = 0; i < 100 && high - low > 1e-15; i++) {
        double middle = low + (high - low) * at_low / (at_low - at_high);
        if (i % 4 == 3 || !(middle > low && middle < high))
            middle = low + 0.5 * (high - low);
        double at = slope(c, middle);
        if (at > 0) {
            low = middle, at_low = at;
            at_high = last == 1 ? 0.5 * at_high : at_high; /* Illinois: no end stays for long */
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

static void try_line(const gw_convex *a, const gw_convex *b, const gw_normal_circle *f,
                     gw_vec3 start, gw_signed_distance *best)
{
    gw_vec3 x = gw_unit(gw_reject(start, f->d));
    double radius = sqrt(fmax(0, 1 - f->c * f->c)), angle;
    circle c = {a, b, gw_scale(f->c, f->d), gw_scale(radius, x),
                gw_scale(radius, gw_cross(f->d, x))};
    if (gw_norm2(x) > 0 && level_angle(&c, &angle))
        try_direction(a, b, gw_unit(on_circle(&c, angle)), 0, best);
}

/* ---- no line: both angles are free --------------------------------------------------------- */

/* The part of x_a - x_b across n, in the axes e, which vanishes at the best n. */
static void across(const gw_convex *a, const gw_convex *b, gw_vec3 n, const gw_vec3 e[2],
                   double out[2])
{
    gw_vec3 apart = gw_sub(gw_convex_support(a, gw_neg(n)), gw_convex_support(b, n));
    for (int i = 0; i < 2; i++)
        out[i] = gw_dot(apart, e[i]);
}

/* Newton's step on the sphere, derivatives by differences; false where there is none. */
static bool newton(const gw_convex *a, const gw_convex *b, gw_vec3 n, gw_vec3 *next)
{
    const double h = 1e-6;
    gw_vec3 e[2] = {gw_any_normal(n)};
    e[1] = gw_cross(n, e[0]);
    double g[2], up[2], down[2], m[2][2];
    across(a, b, n, e, g);
    for (int k = 0; k < 2; k++) {
        across(a, b, gw_unit(gw_mul_add(n, h, e[k])), e, up);
        across(a, b, gw_unit(gw_mul_add(n, -h, e[k])), e, down);
        for (int i = 0; i < 2; i++)
            m[i][k] = (up[i] - down[i]) / (2 * h);
    }
    /* moving n turns the axes too: the part of the gap that this adds */
    double gap = gw_separation_along(a, b, n);
    m[0][0] -= gap, m[1][1] -= gap;
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

static void try_free(const gw_convex *a, const gw_convex *b, gw_vec3 start,
                     gw_signed_distance *best)
{
    gw_vec3 n = start;
    for (int i = 0; i < 8 && newton(a, b, n, &n); i++)
        try_direction(a, b, n, 0, best);
}

/* ---- all together -------------------------------------------------------------------------- */

/* Lines of either solid, one of each, and where angles are left one or none. */
static void try_lines(const gw_convex *a, const gw_convex *b, double slack,
                      gw_signed_distance *best)
{
    gw_vec3 start = best->normal, n;
    gw_normal_circle of_a[FLATS], of_b[FLATS];
    int a_count = gw_convex_normal_circles(a, gw_neg(start), slack, of_a, FLATS);
    int b_count = gw_convex_normal_circles(b, start, slack, of_b, FLATS);
    double lead = 1e-14 * (a->size + b->size);
    for (int i = 0; i < a_count; i++) {
        of_a[i].c = -of_a[i].c; /* a's normal is -n */
        for (int k = 0; k < b_count; k++)
            if (on_two(&of_a[i], &of_b[k], start, &n))
                try_direction(a, b, n, lead, best);
    }
    if (!gw_convex_is_curved(a) && !gw_convex_is_curved(b))
        return;
    for (int i = 0; i < a_count; i++)
        try_line(a, b, &of_a[i], start, best);
    for (int i = 0; i < b_count; i++)
        try_line(a, b, &of_b[i], start, best);
    try_free(a, b, start, best);
}

void gw_refine_normal(const gw_convex *a, const gw_convex *b, gw_signed_distance *best)
{
    bool round = gw_convex_is_curved(a) || gw_convex_is_curved(b);
    if (try_faces(a, b, best))
        return;
    double before = best->gap;
    try_lines(a, b, snap, best);
    /* growing ends farther away than walking: what has moved may move again */
    for (int i = 0; round && i < 4 && best->gap > before + 1e-10 * (a->size + b->size); i++) {
        before = best->gap;
        if (try_faces(a, b, best))
            return;
        try_lines(a, b, 5 * snap, best);
    }
}
