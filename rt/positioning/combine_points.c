/*
 * Combination rules of a point-point distance and another distance: P at distance p from the point
 * P_b, Q at distance q from another point, from a line, or on a plane. Notation: fundamental.h. The
 * rules are stated above gw_rule_point_point(), gw_rule_point_line() and gw_rule_point_plane();
 * pairs to which no case applies are kept. Any thread, RT safe.
 */
#include "rt/positioning/solver.h"

/* Unit vector from a to b, of length `length`. */
static gw_vec3 unit_towards(gw_vec3 a, gw_vec3 b, double length)
{
    return gw_scale(1 / length, gw_sub(b, a));
}

/* Both spheres about b's points, one point on a (d_a = 0): they meet in a circle about
 * P_b + h w, h = (d_b^2 + p^2 - q^2) / 2 d_b, of radius sqrt(p^2 - h^2). */
static void two_spheres(gw_solver *solver, const gw_distance_constraint *x,
                        const gw_distance_constraint *y, double d_b)
{
    double p = x->p, q = y->p;
    gw_vec3 w = unit_towards(x->b, y->b, d_b);
    if (gw_zero_length(solver, p)) {
        gw_keep_distance(gw_add_alternative(solver, "point at a point: the other distance follows"),
                         x);
        return;
    }
    if (gw_zero_length(solver, q)) {
        gw_keep_distance(gw_add_alternative(solver, "point at a point: the other distance follows"),
                         y);
        return;
    }
    double h = ((p - q) * (p + q) / d_b + d_b) / 2;
    bool tangent =
        gw_equal_lengths(solver, d_b, p + q) || gw_equal_lengths(solver, d_b, fabs(p - q));
    if (tangent) {
        gw_tangency_slack(solver, p, 0, 1 + (p + q) / d_b);
        gw_alternative *e = gw_add_alternative(solver, "two spheres touch: their common point");
        gw_put_distance(e, x, GW_POINT, x->a, gw_mul_add(x->b, copysign(p, h), w), w, 0);
        return;
    }
    gw_alternative *e = gw_add_alternative(solver, "two spheres about one point: their circle");
    gw_put_distance(e, x, GW_LINE, x->a, x->b, w, gw_leg(p, h));
    gw_put_distance(e, x, GW_PLANE, x->a, gw_mul_add(x->b, h, w), w, 0);
}

/* Distances at their limit: a's segment and b's lie along one line. */
static void at_limit(gw_solver *solver, const gw_distance_constraint *x,
                     const gw_distance_constraint *y, double d_a, double d_b)
{
    double p = x->p, q = y->p, shift, angle;
    if (gw_equal_lengths(solver, d_b, d_a + p + q) || gw_equal_lengths(solver, d_a, d_b + p + q))
        shift = d_b > d_a ? p : -p, angle = 0;
    else if (gw_equal_lengths(solver, p, d_a + d_b + q))
        shift = p, angle = GW_PI;
    else if (gw_equal_lengths(solver, q, d_a + d_b + p))
        shift = -p, angle = GW_PI;
    else
        return;
    gw_vec3 w = unit_towards(x->b, y->b, d_b);
    gw_tangency_slack(solver, p, d_a, 1);
    gw_alternative *e =
        gw_add_alternative(solver, "distances at their limit: the points are in line");
    gw_put_distance(e, x, GW_POINT, x->a, gw_mul_add(x->b, shift, w), w, 0);
    gw_put_angle(e, x, unit_towards(x->a, y->a, d_a), w, angle);
}

/*
 * P at p from P_b, Q at q from Q_b. Conflict unless max(p, q, d_a, d_b) <= the sum of the others.
 *
 *   d_a = d_b = 0                the same distance twice
 *   d_a = 0, p = 0 or q = 0      the pinned one
 *   d_a = 0                      circle of radius sqrt(p^2 - h^2) about P_b + h w,
 *                                h = (d_b^2 + p^2 - q^2) / 2 d_b, or the point of tangency
 *   d_b = 0                      as d_a = 0, body and world exchanged
 *   p = 0 or q = 0               the pinned one, and angle(u, w) =
 *                                acos((d_a^2 + d_b^2 - r^2) / 2 d_a d_b), r the other distance;
 *                                a parallel for r = |d_a - d_b| or r = d_a + d_b
 *   d_b = d_a + p + q            P pinned at P_b + p w, u along w
 *   d_a = d_b + p + q            P pinned at P_b - p w, u along w
 *   p = d_a + d_b + q            P pinned at P_b + p w, u against w
 *   q = d_a + d_b + p            P pinned at P_b - p w, u against w
 */
void gw_rule_point_point(gw_solver *solver, const gw_distance_constraint *x,
                         const gw_distance_constraint *y)
{
    double d_a = gw_distance(x->a, y->a), d_b = gw_distance(x->b, y->b), p = x->p, q = y->p;
    double most = fmax(fmax(p, q), fmax(d_a, d_b));
    double excess = 2 * most - (p + q + d_a + d_b);
    if (excess > solver->conflict_snap) {
        static const gw_inequality fails = {
            "max(p, q, d_a, d_b) <= the sum of the other three",
            "The distances do not fit: one is longer than the others reach together.",
            {"between the points on one side", "between the points on the other side"}};
        gw_add_conflict(solver, x->from, y->from, excess / solver->size, &fails);
        gw_add_conflict_distances(solver, d_a, d_b, p, q);
    } else if (gw_zero_length(solver, d_a) && gw_zero_length(solver, d_b)) {
        gw_keep_distance(gw_add_alternative(solver, "the same distance twice"), x);
    } else if (gw_zero_length(solver, d_a)) {
        two_spheres(solver, x, y, d_b);
    } else if (gw_zero_length(solver, d_b)) {
        gw_distance_constraint fx = gw_distance_exchanged(x), fy = gw_distance_exchanged(y);
        two_spheres(solver, &fx, &fy, d_a);
    } else if (gw_zero_length(solver, p) || gw_zero_length(solver, q)) {
        /* one point pinned: cos = (d_a^2 + d_b^2 - r^2) / 2 d_a d_b, r the other distance */
        const gw_distance_constraint *pin = gw_zero_length(solver, p) ? x : y;
        double r = gw_zero_length(solver, p) ? q : p;
        bool straight = gw_equal_lengths(solver, fabs(d_a - d_b), r),
             folded = gw_equal_lengths(solver, d_a + d_b, r);
        double angle = straight ? 0
                       : folded
                           ? GW_PI
                           : gw_clamped_acos((d_a * d_a + d_b * d_b - r * r) / (2 * d_a * d_b));
        if (straight || folded)
            gw_tangency_slack(solver, 0, d_a * d_b, d_a + d_b);
        gw_alternative *e =
            gw_add_alternative(solver, "one point pinned, another at a distance: an angle");
        gw_keep_distance(e, pin);
        gw_put_angle(e, x, unit_towards(x->a, y->a, d_a), unit_towards(x->b, y->b, d_b), angle);
    } else {
        at_limit(solver, x, y, d_a, d_b);
    }
}

/* The foot F of the point P_b on a line, and the direction w from P_b to F. */
typedef struct foot {
    gw_vec3 f, w, l;
    double d_b;
} foot;

static foot foot_of(const gw_solver *solver, gw_vec3 point, const gw_distance_constraint *line)
{
    foot t;
    t.l = line->d;
    t.f = gw_mul_add(line->b, gw_dot(gw_sub(point, line->b), t.l), t.l);
    t.d_b = gw_distance(point, t.f);
    t.w = gw_zero_length(solver, t.d_b) ? gw_any_normal(t.l) : unit_towards(point, t.f, t.d_b);
    return t;
}

/* One point P on a sphere and on a cylinder. */
static void sphere_and_cylinder(gw_solver *solver, const gw_distance_constraint *x,
                                const gw_distance_constraint *y, const foot *t)
{
    double p = x->p, q = y->p, d_b = t->d_b;
    if (gw_zero_length(solver, p)) {
        gw_keep_distance(
            gw_add_alternative(solver, "point at a point: its distance to the line follows"), x);
    } else if (gw_zero_length(solver, q)) {
        double s = gw_leg_or_tangent(solver, p, d_b, 0, 1);
        for (int sign = 1; sign >= (s > 0 ? -1 : 1); sign -= 2)
            gw_put_distance(gw_add_alternative(solver, "a sphere meets a line"), x, GW_POINT, x->a,
                            gw_mul_add(t->f, sign * s, t->l), t->l, 0);
    } else if (gw_zero_length(solver, d_b)) {
        double s = gw_leg_or_tangent(solver, p, q, 0, 1);
        for (int sign = 1; sign >= (s > 0 ? -1 : 1); sign -= 2) {
            gw_alternative *e =
                gw_add_alternative(solver, "a sphere on a cylinder's axis: circles");
            gw_keep_distance(e, y);
            gw_put_distance(e, x, GW_PLANE, x->a, gw_mul_add(x->b, sign * s, t->l), t->l, 0);
        }
    } else if (gw_equal_lengths(solver, d_b, p + q) || gw_equal_lengths(solver, q, p + d_b)) {
        gw_tangency_slack(solver, p, 0, 1 + q / d_b);
        gw_put_distance(gw_add_alternative(solver, "a sphere touches a cylinder"), x, GW_POINT,
                        x->a, gw_mul_add(x->b, d_b > q ? p : -p, t->w), t->w, 0);
    }
}

/* P pinned (p = 0), Q at distance q from a line. */
static void pinned_and_line(gw_solver *solver, const gw_distance_constraint *x,
                            const gw_distance_constraint *y, const foot *t, double d_a)
{
    double q = y->p, d_b = t->d_b;
    gw_vec3 u = unit_towards(x->a, y->a, d_a);
    if (gw_zero_length(solver, q)) {
        double s = gw_leg_or_tangent(solver, d_a, d_b, d_a, 1);
        for (int sign = 1; sign >= (s > 0 ? -1 : 1); sign -= 2) {
            gw_alternative *e =
                gw_add_alternative(solver, "one point pinned, another on a line: parallel");
            gw_vec3 to = gw_unit(gw_sub(gw_mul_add(t->f, sign * s, t->l), x->b));
            gw_keep_distance(e, x);
            gw_put_angle(e, x, u, to, 0);
        }
    } else if (gw_zero_length(solver, d_b)) {
        gw_put_angles_with_axis(solver, "a point pinned on a cylinder's axis: an angle", x, u, t->l,
                                q, d_a);
    } else if (gw_equal_lengths(solver, d_b, d_a + q) || gw_equal_lengths(solver, q, d_a + d_b)) {
        gw_tangency_slack(solver, 0, d_a, 1 + q / d_b);
        gw_alternative *e =
            gw_add_alternative(solver, "a point pinned, a cylinder at the limit of reach");
        gw_keep_distance(e, x);
        gw_put_angle(e, x, u, t->w, d_b > q ? 0 : GW_PI);
    }
}

/* p > 0 and d_a > 0: there are rules for the limits of reach only. */
static void sphere_and_line(gw_solver *solver, const gw_distance_constraint *x,
                            const gw_distance_constraint *y, const foot *t, double d_a)
{
    double p = x->p, q = y->p, d_b = t->d_b;
    gw_vec3 u = unit_towards(x->a, y->a, d_a);
    bool far = gw_equal_lengths(solver, d_b, d_a + p + q),
         wide = gw_equal_lengths(solver, q, p + d_a + d_b);
    if (far || wide)
        gw_tangency_slack(solver, p, d_a, 1);
    if (wide && gw_zero_length(solver, d_b)) {
        gw_alternative *e =
            gw_add_alternative(solver, "a cylinder at the limit of reach about its axis");
        gw_put_distance(e, x, GW_POINT, gw_mul_add(x->a, -p, u), x->b, x->d, 0);
        gw_put_angle(e, x, u, t->l, GW_PI / 2);
    } else if (far || wide) {
        gw_alternative *e =
            gw_add_alternative(solver, "distances at their limit: the points are in line");
        gw_put_distance(e, x, GW_POINT, x->a, gw_mul_add(x->b, far ? p : -p, t->w), t->w, 0);
        gw_put_angle(e, x, u, t->w, far ? 0 : GW_PI);
    }
}

/*
 * P at p from P_b, Q at q from a line L along l; F the foot of P_b on L, w from P_b to F. Conflict
 * unless d_a >= |d_b - q| - p.
 *
 *   d_a = 0, p = 0               P pinned
 *   d_a = 0, q = 0               P pinned at F +- sqrt(p^2 - d_b^2) l
 *   d_a = 0, d_b = 0             circles of radius q at P_b +- sqrt(p^2 - q^2) l
 *   d_a = 0, d_b = p + q         P pinned at P_b + p w
 *   d_a = 0, q = p + d_b         P pinned at P_b - p w
 *   p = 0, q = 0                 P pinned, u parallel to F +- sqrt(d_a^2 - d_b^2) l - P_b
 *   p = 0, d_b = 0               P pinned, angle(u, l) = asin(q / d_a) or pi - asin(q / d_a)
 *   p = 0, d_b = d_a + q         P pinned, u along w
 *   p = 0, q = d_a + d_b         P pinned, u against w
 *   d_b = d_a + p + q            P pinned at P_b + p w, u along w
 *   q = p + d_a + d_b            P pinned at P_b - p w, u against w
 *   d_b = 0, q = p + d_a         P - p u pinned at P_b, u normal to l
 */
void gw_rule_point_line(gw_solver *solver, const gw_distance_constraint *x,
                        const gw_distance_constraint *y)
{
    double d_a = gw_distance(x->a, y->a);
    foot t = foot_of(solver, x->b, y);
    static const gw_inequality fails[] = {
        {"d_a >= |d_b - q| - p",
         "The object is too short to be at both the point and the line.",
         {"between the points", "from the point to the line"}},
        {"d_a >= |d_b - q| - p",
         "The same part would have to be at both the point and the line at once.",
         {"between the points", "from the point to the line"}}};
    double excess = fabs(t.d_b - y->p) - x->p - d_a;
    if (gw_refuse_pair(solver, x, y, excess, d_a, t.d_b, y->p, fails))
        return;
    if (gw_zero_length(solver, d_a)) {
        sphere_and_cylinder(solver, x, y, &t);
    } else if (gw_zero_length(solver, x->p)) {
        pinned_and_line(solver, x, y, &t, d_a);
    } else {
        sphere_and_line(solver, x, y, &t, d_a);
    }
}

/*
 * P at p from P_b, Q on a plane of normal n; h the height of P_b over it. Conflict unless
 * |h| - d_a <= p.
 *
 *   d_a = 0, p = 0               P pinned
 *   d_a = 0, |h| = p             P pinned at P_b - h n, the point of tangency
 *   d_a = 0                      the circle of the sphere and the plane
 *   p = 0                        P pinned, angle(u, n) = acos(-h / d_a)
 *   |h| = p + d_a                P pinned at P_b - sign(h) p n, u against sign(h) n
 */
void gw_rule_point_plane(gw_solver *solver, const gw_distance_constraint *x,
                         const gw_distance_constraint *y)
{
    double d_a = gw_distance(x->a, y->a), p = x->p;
    gw_vec3 n = y->d;
    double h = gw_dot(n, gw_sub(x->b, y->b));
    bool limit = gw_equal_lengths(solver, fabs(h), p + d_a);
    if (limit)
        gw_tangency_slack(solver, p, d_a, 1);
    static const gw_inequality fails[] = {
        {"|d_b| - d_a <= p",
         "The object is too short to be at both the point and the plane.",
         {"between the points", "from the point to the plane"}},
        {"|d_b| - d_a <= p",
         "The same part would have to be at both the point and the plane at once.",
         {"between the points", "from the point to the plane"}}};
    if (gw_refuse_pair(solver, x, y, fabs(h) - d_a - p, d_a, h, 0, fails))
        return;
    if (gw_zero_length(solver, d_a) && gw_zero_length(solver, p)) {
        gw_keep_distance(
            gw_add_alternative(solver, "point at a point: the plane through it follows"), x);
    } else if (gw_zero_length(solver, d_a) && limit) {
        gw_put_distance(gw_add_alternative(solver, "a sphere touches a plane"), x, GW_POINT, x->a,
                        gw_mul_add(x->b, -h, n), n, 0);
    } else if (gw_zero_length(solver, d_a)) {
        gw_alternative *e = gw_add_alternative(solver, "a sphere meets a plane: a circle");
        gw_put_distance(e, x, GW_LINE, x->a, x->b, n, gw_leg(p, h));
        gw_keep_distance(e, y);
    } else if (gw_zero_length(solver, p)) {
        gw_alternative *e =
            gw_add_alternative(solver, "one point pinned, another on a plane: an angle");
        gw_keep_distance(e, x);
        gw_put_angle(e, x, unit_towards(x->a, y->a, d_a), n,
                     limit ? (h > 0 ? GW_PI : 0) : gw_clamped_acos(-h / d_a));
    } else if (limit) {
        gw_alternative *e = gw_add_alternative(solver, "a plane at the limit of reach");
        gw_put_distance(e, x, GW_POINT, x->a, gw_mul_add(x->b, -copysign(p, h), n), n, 0);
        gw_put_angle(e, x, unit_towards(x->a, y->a, d_a), n, h > 0 ? GW_PI : 0);
    }
}
