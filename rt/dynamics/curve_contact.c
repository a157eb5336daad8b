/*
 * Contacts of two curves by their common tangent (surface-constraints Fig. 8). RT safe.
 *
 * Curves A(s) of body a and B(t) of body b touch where A = B and A' || B': five equations for s, t
 * and three rows. With d = A - B, a direction e fixed in b, P = B' x e and Q = P x B', which span
 * the plane across B', s and t follow from
 *
 *   F = (B' . d, Q . A') = 0
 *
 * and the rows are the distances and the angle that remain:
 *
 *   h = (Q . d / |Q|,  P . d / |P|,  P . A' / |P| |A'|)
 *
 * These rows are regular at contact where the relative curvature k = A''/A'^2 - B''/B'^2 has a part
 * along Q: e is chosen along k, and again when k or B' has rotated far from there. The motion does
 * not depend on e: where the rows are satisfied they span the same wrenches. Curves in a common
 * plane have one row in it, the gap; the other two keep them in the plane.
 *
 * With the multipliers M = h_z F_z^-1, z = (s, t), gradients by the bodies' twists are those of h -
 * M F at fixed z, and the same holds of second derivatives with z'' = 0. Functions of d, A', B', e
 * that do not depend on the frame have the gradient (f_d, r_a x f_d + A' x f_A') by a's twist, and
 * (-f_d, -(r_a x f_d) - A' x f_A') by b's with r_a taken from b's origin.
 */
#include "rt/dynamics/curve_contact.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/base/simd.h"
#include "rt/dynamics/common_normal.h"
#include "rt/geometry/nurbs_nearest.h"

#define NEWTON_STEPS 20
#define CONVERGED    1e-8  /* of the size: after a step this short the error is of its square */
#define THERE        1e-14 /* of the size: no step */
#define FARTHEST     0.25  /* of the size: the longest Newton step along a curve */
#define JUMP         0.2   /* of the size: a total path this long has left the branch */
#define CONFORMING   1e-7  /* of the inverse size: the least relative curvature */
#define TURNED       0.7   /* of a unit vector: e is chosen again when its component is smaller */
#define SAMPLES      24    /* of a curve, for a search */

/* ---- second-order Taylor coefficients -------------------------------------------------------- */

/* A value that moves, its rate and second derivative. */
typedef struct jet {
    double x, v, a;
} jet;

typedef struct jet3 {
    gw_vec3 x, v, a;
} jet3;

/* These functions compute second derivatives only if `second`. */
GW_LANE_INLINE jet dot(bool second, const jet3 *p, const jet3 *q)
{
    jet to = {gw_dot(p->x, q->x), gw_dot(p->v, q->x) + gw_dot(p->x, q->v), 0};
    if (second)
        to.a = gw_dot(p->a, q->x) + 2 * gw_dot(p->v, q->v) + gw_dot(p->x, q->a);
    return to;
}

GW_LANE_INLINE jet3 cross(bool second, const jet3 *p, const jet3 *q)
{
    jet3 to = {gw_cross(p->x, q->x), gw_add(gw_cross(p->v, q->x), gw_cross(p->x, q->v)), {0, 0, 0}};
    if (second)
        to.a = gw_add(gw_add(gw_cross(p->a, q->x), gw_cross(p->x, q->a)),
                      gw_scale(2, gw_cross(p->v, q->v)));
    return to;
}

GW_LANE_INLINE jet norm(bool second, const jet3 *p)
{
    jet square = dot(second, p, p);
    double n = sqrt(square.x), v = 0.5 * square.v / n;
    return (jet){n, v, second ? (0.5 * square.a - v * v) / n : 0};
}

/* p / n */
GW_LANE_INLINE jet over(bool second, const jet *p, const jet *n)
{
    double x = p->x / n->x, v = (p->v - x * n->v) / n->x;
    return (jet){x, v, second ? (p->a - 2 * v * n->v - x * n->a) / n->x : 0};
}

/* ---- one curve ------------------------------------------------------------------------------ */

bool gw_contact_is_of_curves(const gw_closure_contact *k)
{
    return gw_surface_is_curve(&k->on_a) && gw_surface_is_curve(&k->on_b);
}

static double size_of(const gw_surface *s)
{
    return s->kind == GW_SURFACE_RIM ? s->radius : 0.5 * s->nurbs->size;
}

static double size_of_both(const gw_closure_contact *k)
{
    return fmin(size_of(&k->on_a), size_of(&k->on_b));
}

/* The point and its derivatives to third order by the parameter, world axes. Rims: by the angle. */
static void curve_at(const gw_surface *s, const gw_body_frame *frame, double z, gw_vec3 x[4])
{
    if (s->kind == GW_SURFACE_RIM) {
        gw_vec3 e = gw_any_normal(s->axis), f = gw_cross(s->axis, e);
        double c = s->radius * cos(z), k = s->radius * sin(z);
        x[2] = gw_neg(gw_mul_add(gw_scale(c, e), k, f));
        x[0] = gw_sub(s->point, x[2]);
        x[1] = gw_mul_add(gw_scale(-k, e), c, f);
        x[3] = gw_neg(x[1]);
    } else {
        gw_nurbs_point at;
        gw_nurbs_evaluate(s->nurbs, (double[2]){z, 0}, 3, NULL, &at);
        for (int i = 0; i < 4; i++)
            x[i] = gw_rotate(s->turn, at.d[i][0]);
        x[0] = gw_add(s->point, x[0]);
    }
    for (int i = 0; i < 4; i++)
        x[i] = gw_mat3_mul(&frame->turn, x[i]);
    x[0] = gw_add(frame->p, x[0]);
}

/* The parameter of the closest point to x (world). */
static double nearest_on(const gw_surface *s, const gw_body_frame *frame, gw_vec3 x)
{
    gw_vec3 d = gw_sub(gw_mat3_tmul(&frame->turn, gw_sub(x, frame->p)), s->point);
    if (s->kind == GW_SURFACE_RIM) {
        gw_vec3 e = gw_any_normal(s->axis), f = gw_cross(s->axis, e);
        return atan2(gw_dot(d, f), gw_dot(d, e));
    }
    gw_nurbs_nearest nearest;
    gw_nurbs_nearest_point(s->nurbs, gw_unrotate(s->turn, d), &nearest);
    return nearest.parameter[0];
}

static double sample_of(const gw_surface *s, int i)
{
    double low = 0, high = 2 * GW_PI;
    if (s->nurbs)
        low = s->nurbs->direction[0].low, high = s->nurbs->direction[0].high;
    return low + (high - low) * (i + 0.5) / SAMPLES;
}

static bool is_beyond(const gw_surface *s, double z)
{
    return s->nurbs && gw_nurbs_into_domain(s->nurbs, (double[2]){z, 0});
}

/* ---- the pair ------------------------------------------------------------------------------- */

/* Both curves at a contact point, with F, h and their derivatives by s and t. */
typedef struct pair {
    gw_vec3 a[4], b[4], e; /* e in world axes */
    double f[2], inverse[2][2];
    double m[GW_CURVE_ROWS][2]; /* the multipliers M */
    double h[GW_CURVE_ROWS];
} pair;

/* F and h with their time derivatives, from those of d, A', B' and e. */
GW_LANE_INLINE void functions(bool second, const jet3 *d, const jet3 *a, const jet3 *b,
                              const jet3 *e, jet f[2], jet h[GW_CURVE_ROWS])
{
    jet3 p = cross(second, b, e), q = cross(second, &p, b);
    jet np = norm(second, &p), nq = norm(second, &q), na = norm(second, a), of[GW_CURVE_ROWS];
    f[0] = dot(second, b, d), f[1] = dot(second, &q, a);
    of[0] = dot(second, &q, d), of[1] = dot(second, &p, d), of[2] = dot(second, &p, a);
    h[0] = over(second, &of[0], &nq), h[1] = over(second, &of[1], &np);
    h[2] = over(second, &of[2], &np), h[2] = over(second, &h[2], &na);
}

GW_TARGET_CLONES
static bool pair_at(const gw_closure_contact *k, const gw_body_frame *fa, const gw_body_frame *fb,
                    const gw_contact_point *point, pair *x)
{
    const gw_vec3 none = {0, 0, 0};
    curve_at(&k->on_a, fa, point->a[0], x->a);
    curve_at(&k->on_b, fb, point->b[0], x->b);
    x->e = gw_mat3_mul(&fb->turn, point->across);
    jet f[2][2], h[2][GW_CURVE_ROWS]; /* by s, by t */
    for (int i = 0; i < 2; i++) {
        gw_vec3 moved = i ? gw_neg(x->b[1]) : x->a[1];
        jet3 d = {gw_sub(x->a[0], x->b[0]), moved, none}, e = {x->e, none, none};
        jet3 a = {x->a[1], i ? none : x->a[2], none}, b = {x->b[1], i ? x->b[2] : none, none};
        functions(false, &d, &a, &b, &e, f[i], h[i]);
    }
    double det = f[0][0].v * f[1][1].v - f[1][0].v * f[0][1].v;
    x->inverse[0][0] = f[1][1].v / det, x->inverse[0][1] = -f[1][0].v / det;
    x->inverse[1][0] = -f[0][1].v / det, x->inverse[1][1] = f[0][0].v / det;
    for (int i = 0; i < 2; i++)
        x->f[i] = f[0][i].x;
    for (int n = 0; n < GW_CURVE_ROWS; n++) {
        x->h[n] = h[0][n].x;
        for (int i = 0; i < 2; i++)
            x->m[n][i] = h[0][n].v * x->inverse[0][i] + h[1][n].v * x->inverse[1][i];
    }
    return isfinite(1 / det) && isfinite(det);
}

/* The curvature vector. */
static gw_vec3 curvature_of(const gw_vec3 x[4])
{
    double speed2 = gw_norm2(x[1]);
    return gw_scale(1 / speed2, gw_mul_add(x[2], -gw_dot(x[2], x[1]) / speed2, x[1]));
}

static double relative_curvature(const pair *x, gw_vec3 *across)
{
    gw_vec3 t = gw_unit(x->b[1]), k = gw_sub(curvature_of(x->a), curvature_of(x->b));
    *across = gw_mul_add(k, -gw_dot(k, t), t);
    return gw_norm(*across);
}

/* With the sign of its component along e. */
static double signed_curvature(const pair *x)
{
    gw_vec3 across;
    double curvature = relative_curvature(x, &across);
    return copysign(curvature, gw_dot(across, x->e));
}

/* Chooses e again if the present one is unsuitable, with the curves at `x`; false if it is kept. */
static bool choose_direction(const gw_body_frame *b, double size, gw_contact_point *point,
                             const pair *x)
{
    gw_vec3 k, t = gw_unit(x->b[1]), old = gw_mul_add(x->e, -gw_dot(x->e, t), t);
    double curvature = relative_curvature(x, &k), left = gw_norm(old);
    if (!(curvature > CONFORMING / size)) {
        k = left > TURNED ? old : gw_any_normal(t);
        curvature = gw_norm(k);
    } else if (left > TURNED && fabs(gw_dot(old, k)) > TURNED * left * curvature) {
        return false;
    }
    gw_vec3 e = gw_scale((gw_dot(old, k) < 0 ? -1 : 1) / curvature, k);
    point->across = gw_mat3_tmul(&b->turn, e);
    return true;
}

/* Newton's method from a contact point; false where it does not converge. `distance`: distance
 * along the curves, relative to the size. */
static bool follow_contact(const gw_closure_contact *k, const gw_body_frame *a,
                           const gw_body_frame *b, gw_contact_point *point, pair *x,
                           double *distance)
{
    double size = size_of_both(k);
    *distance = 0;
    bool regular = pair_at(k, a, b, point, x);
    if (choose_direction(b, size, point, x))
        regular = pair_at(k, a, b, point, x);
    for (int i = 0; i < NEWTON_STEPS && regular; i++) {
        double y[2];
        for (int j = 0; j < 2; j++)
            y[j] = -(x->inverse[j][0] * x->f[0] + x->inverse[j][1] * x->f[1]);
        double far = fmax(fabs(y[0]) * gw_norm(x->a[1]), fabs(y[1]) * gw_norm(x->b[1]));
        if (!isfinite(far))
            return false;
        if (far < THERE * size)
            return true;
        double share = far > FARTHEST * size ? FARTHEST * size / far : 1;
        point->a[0] += share * y[0], point->b[0] += share * y[1];
        *distance += share * far / size;
        regular = pair_at(k, a, b, point, x);
        if (far < CONVERGED * size)
            return regular;
    }
    return false;
}

/* Searches both curves for the contact point with the smallest rows. */
static bool search_contact(const gw_closure_contact *k, const gw_body_frame *a,
                           const gw_body_frame *b, gw_contact_point *point, pair *x)
{
    double size = size_of_both(k), least = HUGE_VAL, closest = HUGE_VAL;
    gw_contact_point start = *point;
    for (int i = 0; i < SAMPLES; i++) {
        gw_contact_point at = {.known = true, .a = {sample_of(&k->on_a, i)}};
        pair there;
        double distance;
        curve_at(&k->on_a, a, at.a[0], there.a);
        at.b[0] = nearest_on(&k->on_b, b, there.a[0]);
        curve_at(&k->on_b, b, at.b[0], there.b);
        at.a[0] = nearest_on(&k->on_a, a, there.b[0]);
        bool found = follow_contact(k, a, b, &at, &there, &distance);
        double apart = gw_distance(there.a[0], there.b[0]);
        if (apart < closest)
            closest = apart, start = at;
        double open = hypot(there.h[0], hypot(there.h[1], size * there.h[2]));
        if (!found || is_beyond(&k->on_a, at.a[0]) || is_beyond(&k->on_b, at.b[0]) ||
            !(open < least))
            continue;
        least = open;
        *point = at, *x = there;
    }
    double distance;
    if (isfinite(least)) /* again, with the best direction there */
        return follow_contact(k, a, b, point, x, &distance);
    *point = start;
    point->known = false;
    pair_at(k, a, b, point, x);
    return false;
}

/* ---- rows ----------------------------------------------------------------------------------- */

/* The wrenches on a and on b of a function with these gradients by d and A'. */
static void put_gradient(const pair *x, gw_vec3 by_d, gw_vec3 by_tangent, const gw_body_frame *a,
                         const gw_body_frame *b, gw_wrench *on_a, gw_wrench *on_b)
{
    gw_vec3 turn = gw_cross(x->a[1], by_tangent);
    *on_a = (gw_wrench){by_d, gw_add(gw_cross(gw_sub(x->a[0], a->p), by_d), turn)};
    gw_vec3 across = gw_add(gw_cross(gw_sub(x->a[0], b->p), by_d), turn);
    *on_b = (gw_wrench){gw_neg(by_d), gw_neg(across)};
}

/* Of h - M F: F has the gradients B' by d, and Q by A'. */
static void gradient_of(const pair *x, int row, const gw_body_frame *a, const gw_body_frame *b,
                        gw_curve_contact *c)
{
    gw_vec3 p = gw_cross(x->b[1], x->e), q = gw_cross(p, x->b[1]);
    gw_vec3 by_d = gw_scale(-x->m[row][0], x->b[1]), by_tangent = gw_scale(-x->m[row][1], q);
    double speed = gw_norm(x->a[1]);
    if (row == 0)
        by_d = gw_mul_add(by_d, 1 / gw_norm(q), q);
    else if (row == 1)
        by_d = gw_mul_add(by_d, 1 / gw_norm(p), p);
    else
        by_tangent = gw_add(by_tangent,
                            gw_scale(1 / speed, gw_mul_add(gw_unit(p), -x->h[2] / speed, x->a[1])));
    put_gradient(x, by_d, by_tangent, a, b, &c->on_a[row], &c->on_b[row]);
}

/* Motion of a curve's point with parameter rate z', z'' = 0, and of its tangent. */
static void move_along(const gw_vec3 x[4], const gw_body_frame *f, double rate, jet3 *point,
                       jet3 *tangent)
{
    gw_vec3 w = f->twist.w, r = gw_sub(x[0], f->p);
    gw_vec3 over = gw_cross(w, x[1]), second = gw_cross(w, x[2]);
    *point = (jet3){x[0], gw_add(f->twist.v, gw_cross(w, r)), gw_cross(w, gw_cross(w, r))};
    *tangent = (jet3){x[1], over, gw_cross(w, over)};
    point->v = gw_mul_add(point->v, rate, x[1]);
    point->a = gw_mul_add(gw_mul_add(point->a, 2 * rate, over), rate * rate, x[2]);
    tangent->v = gw_mul_add(tangent->v, rate, x[2]);
    tangent->a = gw_mul_add(gw_mul_add(tangent->a, 2 * rate, second), rate * rate, x[3]);
}

static jet3 jet_difference(const jet3 *p, const jet3 *q)
{
    return (jet3){gw_sub(p->x, q->x), gw_sub(p->v, q->v), gw_sub(p->a, q->a)};
}

/* F and h with their time derivatives for the bodies' motion and these rates of s and t. */
GW_TARGET_CLONES
static void functions_moving(const pair *x, const gw_body_frame *a, const gw_body_frame *b,
                             const double rate[2], jet f[2], jet h[GW_CURVE_ROWS])
{
    jet3 on_a, on_b, tangent_a, tangent_b, e;
    move_along(x->a, a, rate[0], &on_a, &tangent_a);
    move_along(x->b, b, rate[1], &on_b, &tangent_b);
    jet3 d = jet_difference(&on_a, &on_b);
    gw_vec3 turned = gw_cross(b->twist.w, x->e);
    e = (jet3){x->e, turned, gw_cross(b->twist.w, turned)};
    functions(true, &d, &tangent_a, &tangent_b, &e, f, h);
}

static void put_rates(const pair *x, const gw_body_frame *a, const gw_body_frame *b,
                      gw_curve_contact *c)
{
    const double still[2] = {0, 0};
    jet f[2], h[GW_CURVE_ROWS];
    double rate[2];
    functions_moving(x, a, b, still, f, h);
    for (int i = 0; i < 2; i++)
        rate[i] = -(x->inverse[i][0] * f[0].v + x->inverse[i][1] * f[1].v);
    functions_moving(x, a, b, rate, f, h);
    for (int n = 0; n < GW_CURVE_ROWS; n++) {
        c->rate[n] = gw_dot(c->on_a[n].f, a->twist.v) + gw_dot(c->on_a[n].t, a->twist.w) +
                     gw_dot(c->on_b[n].f, b->twist.v) + gw_dot(c->on_b[n].t, b->twist.w);
        c->bias[n] = h[n].a - x->m[n][0] * f[0].a - x->m[n][1] * f[1].a;
    }
    jet3 point, tangent;
    move_along(x->b, b, rate[1], &point, &tangent);
    double speed = gw_norm(x->b[1]);
    c->c_dot = point.v;
    c->t_dot = gw_scale(1 / speed, gw_mul_add(tangent.v, -gw_dot(tangent.v, c->t), c->t));
}

/* In a step: as that of surface_contact.c. */
static bool follow_branch(const gw_closure_contact *k, const gw_body_frame *a,
                          const gw_body_frame *b, gw_contact_point *point, pair *x)
{
    double distance;
    bool found = follow_contact(k, a, b, point, x, &distance) && distance < JUMP;
    if (!point->in_step || (found && signed_curvature(x) > 0))
        return found;
    memcpy(point->a, point->start_a, sizeof point->a);
    memcpy(point->b, point->start_b, sizeof point->b);
    return follow_contact(k, a, b, point, x, &distance) && distance < JUMP &&
           signed_curvature(x) > 0;
}

GW_TARGET_CLONES
bool gw_curve_contact_at(const gw_closure_contact *k, const gw_body_frame *a,
                         const gw_body_frame *b, gw_contact_point *point, gw_curve_contact *c)
{
    pair x;
    double size = size_of_both(k);
    gw_contact_point at = *point;
    assert(gw_contact_is_of_curves(k));
    bool found = point->known && !point->lost && follow_branch(k, a, b, &at, &x);
    if (!found) {
        at = *point;
        if (gw_contact_point_is_lost(&at)) {
            pair_at(k, a, b, &at, &x);
        } else {
            found = search_contact(k, a, b, &at, &x);
            gw_contact_point_replaces(&at, point);
        }
    }
    *point = at;
    double curvature = signed_curvature(&x);
    *c = (gw_curve_contact){.c = x.b[0], .t = gw_unit(x.b[1])};
    c->n = gw_unit(gw_mul_add(x.e, -gw_dot(x.e, c->t), c->t));
    c->conforms = !(fabs(curvature) > CONFORMING / size);
    point->now.at = gw_mat3_tmul(&b->turn, gw_sub(c->c, b->p));
    point->now.on_a = gw_mat3_tmul(&a->turn, gw_sub(c->c, a->p));
    point->now.curvature = found ? curvature : 0;
    c->beyond = is_beyond(&k->on_a, at.a[0]) || is_beyond(&k->on_b, at.b[0]);
    for (int n = 0; n < GW_CURVE_ROWS; n++) {
        c->value[n] = x.h[n];
        gradient_of(&x, n, a, b, c);
    }
    put_rates(&x, a, b, c);
    return found && !c->conforms;
}

gw_curvature_change gw_curve_contact_change(const gw_closure_contact *k, const gw_body_frame *a,
                                            const gw_body_frame *b)
{
    const double still[2] = {0, 0};
    pair x, then;
    jet f[2], h[GW_CURVE_ROWS];
    double size = size_of_both(k), rate[2];
    pair_at(k, a, b, &k->point, &x);
    functions_moving(&x, a, b, still, f, h);
    for (int i = 0; i < 2; i++)
        rate[i] = -(x.inverse[i][0] * f[0].v + x.inverse[i][1] * f[1].v);
    double speed = fmax(fabs(rate[0]) * gw_norm(x.a[1]), fabs(rate[1]) * gw_norm(x.b[1]));
    speed = fmax(speed, size * fmax(gw_norm(a->twist.w), gw_norm(b->twist.w)));
    speed = fmax(speed, fmax(gw_norm(a->twist.v), gw_norm(b->twist.v)));
    double t = GW_SHORT_WAY * size / fmax(speed, GW_SLOW * size);
    double found[2];
    for (int i = 0; i < 2; i++) {
        double by = i ? t : -t;
        gw_body_frame to_a = gw_frame_after(a, by), to_b = gw_frame_after(b, by);
        gw_contact_point at = k->point;
        at.a[0] += by * rate[0], at.b[0] += by * rate[1];
        bool there = pair_at(k, &to_a, &to_b, &at, &then);
        found[i] = there ? signed_curvature(&then) : NAN;
    }
    return (gw_curvature_change){t, found[0], found[1]};
}

/* z' = -F_z^-1 F', which gives the gradients of s and t. */
int gw_curve_contact_edges(const gw_closure_contact *k, const gw_body_frame *a,
                           const gw_body_frame *b, bool all, gw_edge *edges)
{
    int count = 0;
    bool found = false;
    pair x;
    for (int side = 0; side < 2; side++) {
        const gw_nurbs *shape = (side ? &k->on_b : &k->on_a)->nurbs;
        gw_edge *e = &edges[count];
        double z = side ? k->point.b[0] : k->point.a[0];
        if (!shape || !gw_edge_at(shape, side, 0, z, all, e))
            continue;
        found = found || pair_at(k, a, b, &k->point, &x);
        if (!found)
            return 0;
        gw_vec3 q = gw_cross(gw_cross(x.b[1], x.e), x.b[1]);
        const double *by = x.inverse[side];
        put_gradient(&x, gw_scale(-e->per_parameter * by[0], x.b[1]),
                     gw_scale(-e->per_parameter * by[1], q), a, b, &e->on_a, &e->on_b);
        count++;
    }
    return count;
}
