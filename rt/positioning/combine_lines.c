/*
 * Combination rules of two point-line distances on one side, and of distances whose surfaces are on
 * opposite sides. Notation: fundamental.h. The rules are stated above parallel_lines(),
 * skew_lines(), opposite_lines() and opposite_line_and_plane(); pairs to which no case applies are
 * kept. Any thread, RT safe.
 */
#include "rt/positioning/solver.h"

/* The two lines L (of x) and K (of y): feet of their common normal, its direction w from L to K,
 * and their distance. Of lines that are not parallel also n, along l x k, and the height h of K
 * along it: unlike w, these are continuous where the lines cross. */
typedef struct lines {
    gw_vec3 l, k, foot_l, foot_k, w, n;
    double d_a, d_b, h, sine; /* of the angle between them */
    gw_vec3 u;                /* from P to Q, unit; unused where d_a = 0 */
} lines;

static lines lines_of(const gw_solver *solver, const gw_distance_constraint *x,
                      const gw_distance_constraint *y)
{
    lines t;
    t.l = x->d;
    t.k = y->d;
    gw_vec3 across = gw_cross(t.l, t.k), gap = gw_sub(y->b, x->b);
    t.sine = gw_norm(across);
    if (t.sine <= solver->direction_snap) {
        t.sine = 0;
        gw_vec3 out = gw_reject(gap, t.l);
        t.d_b = gw_norm(out);
        t.foot_l = x->b;
        t.foot_k = gw_add(x->b, out);
        t.w = gw_zero_length(solver, t.d_b) ? gw_any_normal(t.l) : gw_scale(1 / t.d_b, out);
    } else {
        double ss = t.sine * t.sine;
        t.n = gw_scale(1 / t.sine, across);
        t.h = gw_dot(t.n, gap);
        /* (P_b + s l) - (Q_b + r k) along n: s = det(gap, k, l x k) / sin^2 */
        t.foot_l = gw_mul_add(x->b, gw_dot(gw_cross(gap, t.k), across) / ss, t.l);
        t.foot_k = gw_mul_add(t.foot_l, t.h, t.n);
        t.d_b = fabs(t.h);
        t.w = t.h < 0 ? gw_neg(t.n) : t.n;
    }
    gw_vec3 a = gw_sub(y->a, x->a);
    t.d_a = gw_norm(a);
    t.u = t.d_a > 0 ? gw_scale(1 / t.d_a, a) : a;
    return t;
}

static void add_conflict(gw_solver *solver, const gw_distance_constraint *x,
                         const gw_distance_constraint *y, const lines *t, double excess,
                         const gw_inequality *fails)
{
    gw_add_conflict(solver, x->from, y->from, excess / solver->size, fails);
    gw_add_conflict_distances(solver, t->d_a, t->d_b, x->p, y->p);
}

/* ---- parallel lines -------------------------------------------------------------------------- */

/* One point (d_a = 0): two circles in the plane across, centres d_b apart. */
static void parallel_one_point(gw_solver *solver, const gw_distance_constraint *x,
                               const gw_distance_constraint *y, const lines *t)
{
    double p = x->p, q = y->p, d_b = t->d_b;
    if (gw_zero_length(solver, d_b) || gw_zero_length(solver, p)) {
        gw_keep_distance(gw_add_alternative(solver, "the same distance to parallel lines twice"),
                         x);
        return;
    }
    if (gw_zero_length(solver, q)) {
        gw_keep_distance(
            gw_add_alternative(solver, "a point on a line: its distance to a parallel follows"), y);
        return;
    }
    double h = ((p - q) * (p + q) / d_b + d_b) / 2;
    bool tangent =
        gw_equal_lengths(solver, d_b, p + q) || gw_equal_lengths(solver, d_b, fabs(p - q));
    double s = tangent ? 0 : gw_leg(p, h);
    if (tangent) {
        h = copysign(p, h);
        gw_tangency_slack(solver, p, 0, 1 + (p + q) / d_b);
    }
    gw_vec3 side = gw_cross(t->l, t->w);
    for (int sign = 1; sign >= (tangent ? 1 : -1); sign -= 2)
        gw_put_distance(gw_add_alternative(solver, "parallel cylinders meet in lines"), x, GW_LINE,
                        x->a, gw_mul_add(gw_mul_add(x->b, h, t->w), sign * s, side), t->l, 0);
}

/* P on L, Q on K, both p = q = 0: the direction of u in the plane of the lines (framework III-C,
 * eqs. 3, 4). */
static void parallel_both_on(gw_solver *solver, const gw_distance_constraint *x, const lines *t)
{
    bool across = gw_equal_lengths(solver, t->d_a, t->d_b);
    double s = gw_leg_or_tangent(solver, t->d_a, t->d_b, t->d_a, 1);
    for (int sign = 1; sign >= (across ? 1 : -1); sign -= 2) {
        gw_alternative *e = gw_add_alternative(solver, "two points on parallel lines: parallel");
        gw_vec3 v = gw_add(gw_zero_length(solver, t->d_b) ? gw_v3(0, 0, 0) : gw_scale(t->d_b, t->w),
                           gw_scale(sign * s, t->l));
        gw_keep_distance(e, x);
        gw_put_angle(e, x, t->u, gw_unit(v), 0);
    }
}

/* P on L, Q at distance q > 0 from K; u from P to Q and w from L to K. */
static void parallel_one_on(gw_solver *solver, const gw_distance_constraint *x, double q,
                            const lines *t)
{
    double d_a = t->d_a, d_b = t->d_b;
    if (gw_zero_length(solver, d_b)) {
        gw_put_angles_with_axis(solver, "a point on a cylinder's axis, another on it: an angle", x,
                                t->u, t->l, q, d_a);
    } else if (gw_equal_lengths(solver, d_a, fabs(d_b - q))) {
        gw_tangency_slack(solver, 0, d_a, 1 + q / d_b);
        gw_alternative *e =
            gw_add_alternative(solver, "a cylinder at the limit of reach from a parallel line");
        gw_keep_distance(e, x);
        gw_put_angle(e, x, t->u, t->w, d_b > q ? 0 : GW_PI);
    }
}

/* p, q > 0: there are rules for the limits of reach only. */
static void parallel_neither_on(gw_solver *solver, const gw_distance_constraint *x,
                                const gw_distance_constraint *y, const lines *t)
{
    double p = x->p, q = y->p, d_a = t->d_a, d_b = t->d_b;
    if (gw_zero_length(solver, d_b)) {
        if (!gw_equal_lengths(solver, fabs(q - p), d_a))
            return;
        gw_tangency_slack(solver, fmax(p, q), d_a, 1);
        gw_alternative *e = gw_add_alternative(solver, "two points on one ray from a common axis");
        gw_put_distance(e, x, GW_LINE, gw_mul_add(x->a, q > p ? -p : p, t->u), x->b, t->l, 0);
        gw_put_angle(e, x, t->u, t->l, GW_PI / 2);
        return;
    }
    double shift, angle;
    if (gw_equal_lengths(solver, d_b, d_a + p + q))
        shift = p, angle = 0;
    else if (gw_equal_lengths(solver, q, p + d_a + d_b))
        shift = -p, angle = GW_PI;
    else if (gw_equal_lengths(solver, p, q + d_a + d_b))
        shift = p, angle = GW_PI;
    else
        return;
    gw_tangency_slack(solver, p, d_a, 1);
    gw_alternative *e = gw_add_alternative(solver, "parallel cylinders at the limit of reach");
    gw_put_distance(e, x, GW_LINE, x->a, gw_mul_add(x->b, shift, t->w), t->l, 0);
    gw_put_angle(e, x, t->u, t->w, angle);
}

/*
 * Parallel lines L and K along l. Conflict unless d_a + d_b >= |q - p| and d_b - d_a <= p + q.
 *
 *   d_a = 0                      one line, two lines, or one of the two distances
 *   p = q = 0                    P on L, u parallel to d_b w +- sqrt(d_a^2 - d_b^2) l
 *   p = 0, d_b = 0               P on L, angle(u, l) = asin(q / d_a) or pi - asin(q / d_a)
 *   p = 0, d_a = |d_b - q|       P on L, u along w (d_b > q) or against it
 *   d_b = 0, d_a = |q - p|       P -+ p u on L, u normal to l
 *   d_b = d_a + p + q            P on the line L + p w, u along w
 *   q = p + d_a + d_b            P on the line L - p w, u against w
 *   p = q + d_a + d_b            P on the line L + p w, u against w
 *
 * Cases with p = 0 apply to q = 0 likewise, with the lines exchanged.
 */
static void parallel_lines(gw_solver *solver, const gw_distance_constraint *x,
                           const gw_distance_constraint *y, lines *t)
{
    double p = x->p, q = y->p;
    double differ = fabs(q - p) - t->d_a - t->d_b, far = t->d_b - t->d_a - p - q;
    double excess = fmax(differ, far);
    if (excess > solver->conflict_snap) {
        static const gw_inequality fails[] = {
            {"d_a + d_b >= |q - p| and d_b - d_a <= p + q",
             "The object is too short to be at both of the parallel lines.",
             {"between the points", "between the lines"}},
            {"d_a + d_b >= |q - p| and d_b - d_a <= p + q",
             "The distances from the two lines differ by more than the object reaches.",
             {"between the points", "between the lines"}},
            {"d_a + d_b >= |q - p| and d_b - d_a <= p + q",
             "The same part would have to be at both of the parallel lines at once.",
             {"between the points", "between the lines"}}};
        bool one = gw_zero_length(solver, t->d_a);
        add_conflict(solver, x, y, t, excess, &fails[one ? 2 : differ > far]);
        return;
    }
    if (gw_zero_length(solver, t->d_a)) {
        parallel_one_point(solver, x, y, t);
    } else if (gw_zero_length(solver, p) && gw_zero_length(solver, q)) {
        parallel_both_on(solver, x, t);
    } else if (gw_zero_length(solver, p)) {
        parallel_one_on(solver, x, q, t);
    } else if (gw_zero_length(solver, q)) {
        lines back = *t;
        back.u = gw_neg(t->u);
        back.w = gw_neg(t->w);
        parallel_one_on(solver, y, p, &back);
    } else {
        parallel_neither_on(solver, x, y, t);
    }
}

/* ---- lines that are not parallel ------------------------------------------------------------- */

/* The points of line `on` (through `foot`) at distance q from the other line. */
static void points_at_distance(gw_solver *solver, const gw_distance_constraint *on, gw_vec3 foot,
                               double q, const lines *t)
{
    double gain = 1 / (t->sine * t->sine);
    double s = gw_leg_or_tangent(solver, q, t->d_b, 0, gain) / t->sine;
    for (int sign = 1; sign >= (s > 0 ? -1 : 1); sign -= 2)
        gw_put_distance(gw_add_alternative(solver, "a line meets a cylinder"), on, GW_POINT, on->a,
                        gw_mul_add(foot, sign * s, on->d), on->d, 0);
}

/* One point (d_a = 0) on two cylinders or lines that are not parallel. */
static void skew_one_point(gw_solver *solver, const gw_distance_constraint *x,
                           const gw_distance_constraint *y, const lines *t)
{
    double p = x->p, q = y->p;
    if (gw_zero_length(solver, p) && gw_zero_length(solver, q)) {
        gw_put_distance(
            gw_add_alternative(solver, "two lines through one point: their intersection"), x,
            GW_POINT, x->a, gw_scale(0.5, gw_add(t->foot_l, t->foot_k)), t->l, 0);
    } else if (gw_zero_length(solver, p)) {
        points_at_distance(solver, x, t->foot_l, q, t);
    } else if (gw_zero_length(solver, q)) {
        points_at_distance(solver, y, t->foot_k, p, t);
    } else if (gw_equal_lengths(solver, t->d_b, p + q)) {
        gw_tangency_slack(solver, p + q, 0, 1 / (t->sine * t->sine));
        gw_put_distance(gw_add_alternative(solver, "two cylinders touch"), x, GW_POINT, x->a,
                        gw_mul_add(t->foot_l, p, t->w), t->w, 0);
    } else if (gw_equal_lengths(solver, p, q) && gw_zero_length(solver, t->d_b)) {
        /* equal cylinders whose axes meet: two ellipses, in the planes normal to l -+ k */
        gw_tangency_slack(solver, p, 0, 1 / (t->sine * t->sine));
        for (int sign = -1; sign <= 1; sign += 2) {
            gw_alternative *e =
                gw_add_alternative(solver, "equal cylinders that cross: two ellipses");
            gw_keep_distance(e, x);
            gw_put_distance(e, x, GW_PLANE, x->a, t->foot_l, gw_unit(gw_mul_add(t->l, sign, t->k)),
                            0);
        }
    }
}

/*
 * Lines L and K that are not parallel, w along their common normal. Conflict unless
 * d_b - d_a <= p + q.
 *
 *   d_a = 0, p = q = 0           P pinned at the intersection
 *   d_a = 0, p = 0               P pinned on L, sqrt(q^2 - d_b^2) / sin(L, K) either way from the
 *                                foot of the common normal; q = 0 likewise on K
 *   d_a = 0, d_b = p + q         P pinned at the point of tangency
 *   d_a = 0, p = q, d_b = 0      two ellipses, in the planes normal to l -+ k
 *   d_b = d_a + p + q            P pinned at the foot on L + p w, u along w
 *   p = q = 0, d_a > d_b         both kept, and angle(u, n) = acos(h / d_a), n along l x k and h
 *                                the height of K over L along n
 */
static void skew_lines(gw_solver *solver, const gw_distance_constraint *x,
                       const gw_distance_constraint *y, const lines *t)
{
    double p = x->p, q = y->p, d_a = t->d_a, d_b = t->d_b;
    double excess = d_b - d_a - p - q;
    if (excess > solver->conflict_snap) {
        static const gw_inequality fails[] = {
            {"d_b - d_a <= p + q",
             "The object is too short to be at both lines.",
             {"between the points", "between the lines"}},
            {"d_b - d_a <= p + q",
             "The same part would have to be at both lines at once.",
             {"between the points", "between the lines"}}};
        add_conflict(solver, x, y, t, excess, &fails[gw_zero_length(solver, d_a)]);
    } else if (gw_zero_length(solver, d_a)) {
        skew_one_point(solver, x, y, t);
    } else if (gw_equal_lengths(solver, d_b, d_a + p + q)) {
        /* framework III-C eqs. (1), (2) where p = q = 0 */
        gw_tangency_slack(solver, d_b, d_a, 1 / (t->sine * t->sine));
        gw_alternative *e =
            gw_add_alternative(solver, "two lines at the limit of reach: their common normal");
        gw_put_distance(e, x, GW_POINT, x->a, gw_mul_add(t->foot_l, p, t->w), t->w, 0);
        gw_put_angle(e, x, t->u, t->w, 0);
    } else if (gw_zero_length(solver, p) && gw_zero_length(solver, q)) {
        /* u's component along the common normal is h / d_a */
        gw_alternative *e =
            gw_add_alternative(solver, "two points on skew lines: an angle with their normal");
        gw_keep_distance(e, x);
        gw_keep_distance(e, y);
        gw_put_angle(e, x, t->u, t->n,
                     gw_zero_length(solver, d_b) ? GW_PI / 2 : gw_clamped_acos(t->h / d_a));
        solver->result.keeps_pair = true;
    }
}

void gw_rule_line_line(gw_solver *solver, const gw_distance_constraint *x,
                       const gw_distance_constraint *y)
{
    lines t = lines_of(solver, x, y);
    if (t.sine == 0)
        parallel_lines(solver, x, y, &t);
    else
        skew_lines(solver, x, y, &t);
}

/* ---- opposite sides -------------------------------------------------------------------------- */

/* x: P of a on a line of b; y: Q of b on a line of a, both p = 0. d_a is the distance of P from
 * the line of a, d_b that of Q from the line of b. If both are 0, the points coincide or the lines
 * do (in two senses). If one is 0, both are kept, and a right angle follows. */
static void opposite_lines(gw_solver *solver, const gw_distance_constraint *x,
                           const gw_distance_constraint *y)
{
    gw_vec3 c_a = gw_reject(gw_sub(x->a, y->b), y->d), c_b = gw_reject(gw_sub(y->a, x->b), x->d);
    double d_a = gw_norm(c_a), d_b = gw_norm(c_b);
    if (gw_zero_length(solver, d_a) && gw_zero_length(solver, d_b)) {
        gw_alternative *e = gw_add_alternative(
            solver, "points on each other's lines: the points, or the lines, meet");
        gw_put_distance(e, x, GW_POINT, x->a, y->a, x->d, 0);
        for (int i = 0; i < 2; i++) {
            e = gw_add_alternative(solver,
                                   "points on each other's lines: the points, or the lines, meet");
            gw_keep_distance(e, x);
            gw_put_angle(e, x, y->d, x->d, i * GW_PI);
        }
    } else if (gw_zero_length(solver, d_a) || gw_zero_length(solver, d_b)) {
        /* the line through both points lies in the other's plane with its point */
        gw_alternative *e =
            gw_add_alternative(solver, "a point on both of a's lines: a right angle");
        gw_keep_distance(e, x);
        gw_keep_distance(e, y);
        if (gw_zero_length(solver, d_a))
            gw_put_angle(e, x, y->d, gw_cross(x->d, gw_scale(1 / d_b, c_b)), GW_PI / 2);
        else
            gw_put_angle(e, x, gw_cross(y->d, gw_scale(1 / d_a, c_a)), x->d, GW_PI / 2);
        solver->result.keeps_pair = true;
    }
}

/* x: P of a on a line of b; y: Q of b on a plane of a. Where P is in that plane and Q on that
 * line: the points coincide, or the line lies in the plane. */
static void opposite_line_and_plane(gw_solver *solver, const gw_distance_constraint *x,
                                    const gw_distance_constraint *y)
{
    double d_a = gw_dot(gw_sub(x->a, y->b), y->d);
    double d_b = gw_norm(gw_reject(gw_sub(y->a, x->b), x->d));
    if (!gw_zero_length(solver, d_a) || !gw_zero_length(solver, d_b))
        return;
    const char *rule = "a point on a line that meets its plane: the points meet, or they lie along";
    gw_put_distance(gw_add_alternative(solver, rule), x, GW_POINT, x->a, y->a, x->d, 0);
    gw_alternative *e = gw_add_alternative(solver, rule);
    gw_keep_distance(e, x);
    gw_put_angle(e, x, y->d, x->d, GW_PI / 2);
}

void gw_rule_opposite_sides(gw_solver *solver, const gw_distance_constraint *x,
                            const gw_distance_constraint *y)
{
    if (x->surface == GW_PLANE && y->surface == GW_LINE) {
        gw_rule_opposite_sides(solver, y, x);
        return;
    }
    if (x->surface != GW_LINE || !gw_zero_length(solver, x->p))
        return;
    if (y->surface == GW_LINE && gw_zero_length(solver, y->p))
        opposite_lines(solver, x, y);
    else if (y->surface == GW_PLANE)
        opposite_line_and_plane(solver, x, y);
}
