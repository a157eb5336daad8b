/*
 * Combination rules of a point on a plane and a point-line distance, or a point on another plane.
 * Notation: fundamental.h. Any thread, RT safe.
 */
#include "rt/positioning/solver.h"

/*
 * P at p from a line L along l, parallel to the plane and h above it; Q on the plane, of normal n.
 * Conflict unless |h| - d_a <= p.
 *
 *   d_a = 0, p = 0               P on L
 *   d_a = 0                      the cylinder's lines in the plane; one where |h| = p
 *   p = 0                        P on L, angle(u, n) = acos(-h / d_a)
 *   |h| = p + d_a                P on the line L - sign(h) p n, u against sign(h) n
 */
static void parallel_line(gw_solver *solver, const gw_distance_constraint *x,
                          const gw_distance_constraint *y, double d_a)
{
    double p = x->p;
    gw_vec3 l = x->d, n = y->d, low;
    double h = gw_dot(n, gw_sub(x->b, y->b));
    bool limit = gw_equal_lengths(solver, fabs(h), p + d_a);
    low = gw_mul_add(x->b, -h, n);
    if (limit)
        gw_tangency_slack(solver, p, d_a, 1);
    static const gw_inequality fails[] = {
        {"|d_b| - d_a <= p",
         "The object is too short to be at both the line and the plane.",
         {"between the points", "from the line to the plane"}},
        {"|d_b| - d_a <= p",
         "The same part would have to be at both the line and the plane at once.",
         {"between the points", "from the line to the plane"}}};
    if (gw_refuse_pair(solver, x, y, fabs(h) - d_a - p, d_a, h, 0, fails))
        return;
    gw_vec3 u = gw_unit(gw_sub(y->a, x->a));
    if (gw_zero_length(solver, d_a) && gw_zero_length(solver, p)) {
        gw_keep_distance(gw_add_alternative(solver, "a point on a line that lies in the plane"), x);
    } else if (gw_zero_length(solver, d_a)) {
        double s = limit ? 0 : gw_leg(p, h);
        gw_vec3 side = gw_unit(gw_cross(l, n));
        for (int sign = 1; sign >= (limit ? 1 : -1); sign -= 2)
            gw_put_distance(gw_add_alternative(solver, "a cylinder meets a plane along it: lines"),
                            x, GW_LINE, x->a, gw_mul_add(low, sign * s, side), l, 0);
    } else if (gw_zero_length(solver, p)) {
        gw_alternative *e =
            gw_add_alternative(solver, "a point on a line, another on a plane along it: an angle");
        gw_keep_distance(e, x);
        gw_put_angle(e, x, u, n, limit ? (h > 0 ? GW_PI : 0) : gw_clamped_acos(-h / d_a));
    } else if (limit) {
        gw_alternative *e =
            gw_add_alternative(solver, "a cylinder and a plane at the limit of reach");
        gw_put_distance(e, x, GW_LINE, x->a, gw_mul_add(x->b, -copysign(p, h), n), l, 0);
        gw_put_angle(e, x, u, n, h > 0 ? GW_PI : 0);
    }
}

/* A line that is not parallel to the plane: for d_a = p = 0 P is pinned at the intersection; for
 * d_a = 0, p > 0 the ellipse is kept, and synthesis gives its locus. */
void gw_rule_line_plane(gw_solver *solver, const gw_distance_constraint *x,
                        const gw_distance_constraint *y)
{
    double d_a = gw_distance(x->a, y->a), slope = gw_dot(x->d, y->d);
    if (fabs(slope) <= solver->direction_snap) {
        parallel_line(solver, x, y, d_a);
    } else if (gw_zero_length(solver, d_a) && gw_zero_length(solver, x->p)) {
        double s = gw_dot(gw_sub(y->b, x->b), y->d) / slope;
        gw_put_distance(gw_add_alternative(solver, "a line meets a plane"), x, GW_POINT, x->a,
                        gw_mul_add(x->b, s, x->d), x->d, 0);
    }
}

/* A point of the line common to two planes: n_1 . x = c_1, n_2 . x = c_2 about the first's point.
 */
static gw_vec3 common_point(const gw_distance_constraint *x, const gw_distance_constraint *y)
{
    double c = gw_dot(x->d, y->d), h = gw_dot(y->d, gw_sub(y->b, x->b));
    gw_vec3 in_x = gw_mul_add(y->d, -c, x->d); /* along plane x towards plane y */
    return gw_mul_add(x->b, h / gw_norm2(in_x), in_x);
}

/*
 * P on one plane, Q on another one h above it along n.
 *
 *   crossing, d_a = 0            P on the common line
 *   parallel                     conflict unless |h| <= d_a
 *   parallel, d_a = 0            the same plane twice
 *   parallel, d_a > 0            P on the first plane, angle(u, n) = acos(h / d_a)
 */
void gw_rule_plane_plane(gw_solver *solver, const gw_distance_constraint *x,
                         const gw_distance_constraint *y)
{
    double d_a = gw_distance(x->a, y->a);
    gw_vec3 n = x->d, across = gw_cross(n, y->d);
    double sine = gw_norm(across);
    if (sine > solver->direction_snap) {
        if (gw_zero_length(solver, d_a))
            gw_put_distance(gw_add_alternative(solver, "one point on two planes: their line"), x,
                            GW_LINE, x->a, common_point(x, y), gw_scale(1 / sine, across), 0);
        return;
    }
    double h = gw_dot(n, gw_sub(y->b, x->b));
    double excess = fabs(h) - d_a;
    if (excess > solver->conflict_snap) {
        static const gw_inequality fails[] = {
            {"|d_b| <= d_a",
             "Two points cannot be in parallel planes that are farther apart than the points.",
             {"between the points", "between the planes"}},
            {"|d_b| <= d_a",
             "The same part would have to be in two parallel planes at once.",
             {"between the points", "between the planes"}}};
        gw_add_conflict(solver, x->from, y->from, excess / solver->size,
                        &fails[gw_zero_length(solver, d_a)]);
        gw_add_conflict_value(solver, "d_a", d_a);
        gw_add_conflict_value(solver, "d_b", h);
    } else if (gw_zero_length(solver, d_a)) {
        gw_keep_distance(gw_add_alternative(solver, "the same plane twice"), x);
    } else {
        gw_alternative *e = gw_add_alternative(solver, "two points on parallel planes: an angle");
        bool limit = gw_equal_lengths(solver, fabs(h), d_a);
        if (limit)
            gw_tangency_slack(solver, 0, d_a, 1);
        gw_keep_distance(e, x);
        gw_put_angle(e, x, gw_scale(1 / d_a, gw_sub(y->a, x->a)), n,
                     limit ? (h > 0 ? 0 : GW_PI) : gw_clamped_acos(h / d_a));
    }
}
