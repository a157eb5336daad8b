/*
 * Combination rules of two angles between vectors of the body and of the world. The rules are
 * stated above gw_rule_angles(). Any thread, RT safe.
 *
 * u_1, u_2 on the body, sigma_a apart; f_1, f_2 in the world, sigma_b apart; alpha and beta between
 * R u_i and f_i: the sides of a spherical quadrilateral.
 */
#include "rt/positioning/solver.h"

/* rad: between vectors nearer than this, the tolerance of equality is a rotation of more than 2e-5
 * about the other direction, which other constraints may determine better */
#define NEARLY_ONE 1e-5

static bool same_angle(const gw_solver *solver, double a, double b)
{
    return fabs(a - b) <= solver->direction_snap;
}

/* R with R u1 = f1 and R u2 in the half plane of f1, f2. */
static gw_quat pairs_to_pairs(gw_vec3 u1, gw_vec3 u2, gw_vec3 f1, gw_vec3 f2)
{
    gw_vec3 uz = gw_unit(gw_cross(u1, u2)), fz = gw_unit(gw_cross(f1, f2));
    gw_quat from_u = gw_quat_from_axes(u1, gw_cross(uz, u1), uz);
    gw_quat from_f = gw_quat_from_axes(f1, gw_cross(fz, f1), fz);
    return gw_quat_mul(from_f, gw_quat_conj(from_u));
}

/* Directions at a tangency are uncertain by the square root of the tolerance over that arm. */
static void add_turn_slack(gw_solver *solver, double arm)
{
    gw_tangency_slack(solver, 0, arm * solver->size, 1);
}

/*
 * Unit vectors y with y . a = cos alpha, y . b = cos beta. With the orthogonal unit vectors m along
 * a + b and e along b - a, whatever the angle between a and b:
 * y = M m + E e +- sqrt(1 - M^2 - E^2) m x e, M = (cos alpha + cos beta) / |a + b|,
 * E = (cos beta - cos alpha) / |b - a|. Returns their number (two, or one where the cones are
 * tangent).
 */
static int two_cones(gw_solver *solver, gw_vec3 a, double alpha, gw_vec3 b, double beta,
                     gw_vec3 out[2])
{
    gw_vec3 sum = gw_add(a, b), gap = gw_sub(b, a);
    double sigma = gw_angle_between(a, b), half = (alpha + beta) / 2, off = (beta - alpha) / 2;
    double on_m = 2 * cos(half) * cos(off) / gw_norm(sum);
    double on_e = -2 * sin(half) * sin(off) / gw_norm(gap);
    bool tangent = same_angle(solver, sigma, alpha + beta) ||
                   same_angle(solver, sigma, fabs(alpha - beta)) ||
                   same_angle(solver, sigma + alpha + beta, 2 * GW_PI);
    if (tangent)
        add_turn_slack(solver, fmin(gw_norm(sum), gw_norm(gap)));
    double k = tangent ? 0 : sqrt(fmax(0, 1 - on_m * on_m - on_e * on_e));
    gw_vec3 m = gw_unit(sum), e = gw_unit(gap), across = gw_cross(m, e);
    gw_vec3 middle = gw_add(gw_scale(on_m, m), gw_scale(on_e, e));
    out[0] = gw_unit(gw_mul_add(middle, k, across));
    out[1] = gw_unit(gw_mul_add(middle, -k, across));
    return k > 0 ? 2 : 1;
}

static void put_parallel(gw_alternative *e, gw_vec3 u, gw_vec3 f, unsigned long from)
{
    e->angles[e->angle_count++] = gw_angle_constraint_of(u, f, 0, from);
}

/* Every side at most the sum of the other three, and any three less the fourth at most 2 pi: the
 * largest and the least decide. */
static double quadrilateral_excess(double alpha, double beta, double sigma_a, double sigma_b)
{
    double side[4] = {alpha, beta, sigma_a, sigma_b}, most = alpha, least = alpha;
    double sum = alpha + beta + sigma_a + sigma_b;
    for (int i = 1; i < 4; i++) {
        most = side[i] > most ? side[i] : most;
        least = side[i] < least ? side[i] : least;
    }
    return fmax(2 * most - sum, sum - 2 * least - 2 * GW_PI);
}

static void add_conflict(gw_solver *solver, const gw_angle_constraint *x,
                         const gw_angle_constraint *y, double sigma_a, double sigma_b,
                         double excess)
{
    static const gw_inequality fails = {
        "each of alpha, beta, sigma_a, sigma_b <= the sum of the other three, and the sum of any "
        "three - the fourth <= 2 pi",
        "No orientation of the object has both directions.",
        {NULL, NULL}};
    gw_add_conflict(solver, x->from, y->from, excess, &fails);
    gw_add_conflict_value(solver, "alpha", x->angle);
    gw_add_conflict_value(solver, "beta", y->angle);
    gw_add_conflict_value(solver, "sigma_a", sigma_a);
    gw_add_conflict_value(solver, "sigma_b", sigma_b);
}

/* An equality holds: the four vectors lie in one plane, and the signs there are found by trial. */
static void in_one_plane(gw_solver *solver, const gw_angle_constraint *x,
                         const gw_angle_constraint *y, double sigma_a)
{
    gw_vec3 n = gw_unit(gw_cross(x->f, y->f));
    double best = HUGE_VAL;
    gw_vec3 best1 = x->f, best2 = y->f;
    for (int i = 0; i < 4; i++) {
        gw_vec3 y1 = gw_rotate(gw_quat_axis(n, i & 1 ? x->angle : -x->angle), x->f);
        gw_vec3 y2 = gw_rotate(gw_quat_axis(n, i & 2 ? y->angle : -y->angle), y->f);
        double off = fabs(gw_angle_between(y1, y2) - sigma_a);
        if (off < best)
            best = off, best1 = y1, best2 = y2;
    }
    double least =
        fmin(fmin(sin(x->angle), sin(y->angle)), fmin(sin(sigma_a), gw_norm(gw_cross(x->f, y->f))));
    add_turn_slack(solver, least * least);
    if (best < 8 * solver->direction_snap)
        gw_add_rotation(solver, "two angles at their limit: one rotation",
                        pairs_to_pairs(x->u, y->u, best1, best2));
}

/* y with its vectors reversed where needed, so that parallel vectors point the same way. */
static gw_angle_constraint align_senses(const gw_solver *solver, const gw_angle_constraint *x,
                                        const gw_angle_constraint *y)
{
    gw_angle_constraint z = *y;
    if (gw_dot(x->u, z.u) < 0 && gw_norm(gw_cross(x->u, z.u)) <= solver->direction_snap) {
        z.u = gw_neg(z.u);
        z.angle = GW_PI - z.angle;
    }
    if (gw_dot(x->f, z.f) < 0 && gw_norm(gw_cross(x->f, z.f)) <= solver->direction_snap) {
        z.f = gw_neg(z.f);
        z.angle = GW_PI - z.angle;
    }
    return z;
}

/* A vector of the body that both angles share: R u is on two cones; or one of the world, likewise.
 */
static void shared_vector(gw_solver *solver, const gw_angle_constraint *x,
                          const gw_angle_constraint *y, bool on_body)
{
    unsigned long from = x->from | y->from;
    gw_vec3 on[2];
    int n = on_body ? two_cones(solver, x->f, x->angle, y->f, y->angle, on)
                    : two_cones(solver, x->u, x->angle, y->u, y->angle, on);
    for (int i = 0; i < n; i++) {
        gw_alternative *e = gw_add_alternative(solver, "two angles that share a vector: parallel");
        if (on_body)
            put_parallel(e, x->u, on[i], from);
        else
            put_parallel(e, on[i], x->f, from);
    }
}

/* x pinned: R u_2 is at sigma_a from f_1 and at beta from f_2. Where u_2 is nearly u_1 (or f_2 is
 * f_1), the rotation about f_1 is ill-conditioned: a further alternative leaves the angle out, so
 * that other constraints determine the rotation; poses must satisfy the angle all the same. */
static void pinned_and_angle(gw_solver *solver, const gw_angle_constraint *x,
                             const gw_angle_constraint *y, double sigma_a, double sigma_b)
{
    gw_vec3 on[2];
    double sine_a = sin(sigma_a), sine_b = sin(sigma_b);
    int n = 1;
    on[0] = y->f;
    if (y->angle > 0)
        n = two_cones(solver, x->f, sigma_a, y->f, y->angle, on);
    if (n == 1 && y->angle > 0) /* cos turn = (cos beta - cos a cos b) / sin a sin b */
        add_turn_slack(solver, sine_a * sine_b / sin(y->angle));
    for (int i = 0; i < n; i++)
        gw_add_rotation(solver, "a parallel and an angle: the rotation",
                        pairs_to_pairs(x->u, y->u, x->f, on[i]));
    if (fmin(sine_a, sine_b) < NEARLY_ONE) {
        gw_alternative *e = gw_add_alternative(solver, "an angle that a parallel nearly implies");
        e->angles[e->angle_count++] = *x;
        e->left_out = y->from;
    }
}

/*
 * Conflict unless each of the four sides alpha, beta, sigma_a, sigma_b is at most the sum of the
 * others, and any three less the fourth at most 2 pi.
 *
 *   sigma_a = sigma_b = 0        the same angle twice
 *   sigma_a = 0                  R u is on two cones (two_cones()), a parallel for each solution;
 *                                sigma_b = 0 likewise for the vector of the body
 *   sigma_a or sigma_b = 0,
 *     alpha or beta = 0          the parallel
 *   alpha = 0                    R u_2 is on two cones about f_1 and f_2, one rotation each
 *   an equality holds            all four vectors are in one plane: one rotation
 *
 * A third angle: combine_three_angles.c. One parallel and distances: combine_about_axis.c.
 */
void gw_rule_angles(gw_solver *solver, const gw_angle_constraint *x,
                    const gw_angle_constraint *given)
{
    gw_angle_constraint turned = align_senses(solver, x, given);
    const gw_angle_constraint *y = &turned;
    double sigma_a = gw_angle_between(x->u, y->u), sigma_b = gw_angle_between(x->f, y->f);
    bool one_u = sigma_a <= solver->direction_snap, one_f = sigma_b <= solver->direction_snap;
    double excess = quadrilateral_excess(x->angle, y->angle, sigma_a, sigma_b);
    if (excess > solver->conflict_snap_angle) {
        add_conflict(solver, x, y, sigma_a, sigma_b, excess);
    } else if (one_u && one_f) {
        gw_alternative *e = gw_add_alternative(solver, "the same angle twice");
        e->angles[e->angle_count++] = *x;
    } else if (x->angle <= solver->direction_snap && (one_u || one_f)) {
        gw_alternative *e = gw_add_alternative(solver, "an angle that a parallel implies");
        e->angles[e->angle_count++] = *x;
    } else if (y->angle <= solver->direction_snap && (one_u || one_f)) {
        gw_alternative *e = gw_add_alternative(solver, "an angle that a parallel implies");
        e->angles[e->angle_count++] = *given;
    } else if (x->angle <= solver->direction_snap) {
        pinned_and_angle(solver, x, y, sigma_a, sigma_b);
    } else if (y->angle <= solver->direction_snap) {
        pinned_and_angle(solver, y, x, sigma_a, sigma_b);
    } else if (one_u || one_f) {
        shared_vector(solver, x, y, one_u);
    } else if (excess >= -solver->direction_snap) {
        in_one_plane(solver, x, y, sigma_a);
    }
}

void gw_rule_known_rotation(gw_solver *solver, const gw_solver_state *state,
                            const gw_angle_constraint *x)
{
    double angle = gw_angle_between(gw_rotate(state->rotation, x->u), x->f);
    double excess = fabs(angle - x->angle);
    if (excess <= 5 * solver->conflict_snap_angle) {
        gw_add_alternative(solver, "the rotation gives the angle");
        return;
    }
    static const gw_inequality fails = {
        "angle = alpha", "The orientation that the others leave has another angle.", {NULL, NULL}};
    gw_add_conflict(solver, x->from, state->rotation_from, excess, &fails);
    gw_add_conflict_value(solver, "angle", angle);
    gw_add_conflict_value(solver, "alpha", x->angle);
}
