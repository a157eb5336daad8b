/*
 * Motion along and beside free-form shapes. Any thread, RT safe.
 *
 * With N = S_u x S_v, L = |N|, n = N / L, and ' the rate along the motion of the parameters:
 *
 *   L' = n . N',   n' = (N' - L' n) / L,   L'' = n . N'' + n' . N',
 *   n'' = (N'' - L'' n - 2 L' n') / L
 *
 * and of a curve's tangent with N = C'. The closest parameters of a moving point x satisfy S_i . (S
 * - x) = 0, so H u' = (S_i . x') with H as in nurbs_nearest.c (implicit function theorem). The
 * distance phi = n . (x - S) of a surface has the gradient n, and phi'' = x' . n' + n . x''.
 */
#include "rt/geometry/nurbs_motion.h"

#include <assert.h>
#include <stddef.h>

#define NEAR     1e-3  /* of the size: a followed branch that ends farther off is another one */
#define SURE     1e-9  /* of the size: so near to the expected distance no search is made */
#define SINGULAR 1e-20 /* of the squares: least determinant; it vanishes at apexes and corners */

int gw_nurbs_closest(const gw_nurbs *s, gw_vec3 x, double distance, double parameter[2],
                     gw_nurbs_point *at)
{
    double p[2] = {parameter[0], parameter[1]};
    if (!gw_finite3(x)) { /* from a step that diverged */
        gw_nurbs_evaluate(s, p, 2, NULL, at);
        return 0;
    }
    gw_nurbs_event event = gw_nurbs_follow(s, x, p, NULL, at);
    double found = gw_distance(at->d[0][0], x), off = fabs(found - fabs(distance));
    /* at an edge, or a pole, there may be closer points inside */
    bool ended = event == GW_NURBS_EDGE && off > NEAR * s->size;
    /* a search finds no point farther than one that is too close already */
    bool too_close = found < fabs(distance) && !ended;
    int cells = 0;
    if (!too_close && ((event == GW_NURBS_FOCAL && off > SURE * s->size) || off > NEAR * s->size)) {
        gw_nurbs_nearest nearest;
        gw_nurbs_nearest_within(s, x, GW_NURBS_TICK_CELLS, &nearest);
        cells = nearest.cells;
        if (ended || fabs(nearest.distance - fabs(distance)) < off) {
            p[0] = nearest.parameter[0];
            p[1] = nearest.parameter[1];
            gw_nurbs_follow(s, x, p, NULL, at); /* to the last digits */
        }
    }
    parameter[0] = p[0];
    parameter[1] = p[1];
    return cells;
}

/* Derivatives by the parameters of N = S_u x S_v: first ones, and the second along `rate`. */
static void normal_field(const gw_nurbs_point *at, const double rate[2], gw_vec3 first[2],
                         gw_vec3 *second)
{
    const gw_vec3(*d)[GW_NURBS_ORDER + 1] = at->d;
    first[0] = gw_add(gw_cross(d[2][0], d[0][1]), gw_cross(d[1][0], d[1][1]));
    first[1] = gw_add(gw_cross(d[1][1], d[0][1]), gw_cross(d[1][0], d[0][2]));
    gw_vec3 uu = gw_add(gw_cross(d[3][0], d[0][1]),
                        gw_mul_add(gw_cross(d[1][0], d[2][1]), 2, gw_cross(d[2][0], d[1][1])));
    gw_vec3 uv = gw_add(gw_add(gw_cross(d[2][1], d[0][1]), gw_cross(d[2][0], d[0][2])),
                        gw_cross(d[1][0], d[1][2]));
    gw_vec3 vv = gw_add(gw_cross(d[1][0], d[0][3]),
                        gw_mul_add(gw_cross(d[1][2], d[0][1]), 2, gw_cross(d[1][1], d[0][2])));
    *second = gw_add(gw_add(gw_scale(rate[0] * rate[0], uu), gw_scale(rate[1] * rate[1], vv)),
                     gw_scale(2 * rate[0] * rate[1], uv));
}

/* n = N / L of the vector N and its derivatives: by the parameters, and the second along the rate;
 * false where N vanishes. */
static bool turn_of_vector(gw_vec3 vector, const gw_vec3 first[2], gw_vec3 second,
                           const double rate[2], gw_nurbs_direction_motion *t)
{
    double length = gw_norm(vector);
    *t = (gw_nurbs_direction_motion){.n = {0, 0, 0}};
    if (!(length > 0))
        return false;
    t->n = gw_scale(1 / length, vector);
    for (int i = 0; i < 2; i++)
        t->d[i] = gw_scale(1 / length, gw_reject(first[i], t->n));
    gw_vec3 rate_first = gw_add(gw_scale(rate[0], first[0]), gw_scale(rate[1], first[1]));
    t->velocity = gw_add(gw_scale(rate[0], t->d[0]), gw_scale(rate[1], t->d[1]));
    double grows = gw_dot(t->n, rate_first);
    gw_vec3 second_rate =
        gw_scale(1 / length, gw_sub(gw_reject(second, t->n), gw_scale(2 * grows, t->velocity)));
    /* along n: n . n'' = -|n'|^2 */
    t->bias = gw_mul_add(second_rate, -gw_norm2(t->velocity) - gw_dot(second_rate, t->n), t->n);
    return true;
}

/* The normal of a surface or the tangent of a curve, and its derivatives; false where there is
 * none. */
static bool turn_of(const gw_nurbs *s, const gw_nurbs_point *at, const double rate[2],
                    gw_nurbs_direction_motion *t)
{
    gw_vec3 first[2] = {at->d[2][0], {0, 0, 0}}, second;
    if (s->dimension == 1)
        return turn_of_vector(at->d[1][0], first, gw_scale(rate[0] * rate[0], at->d[3][0]), rate,
                              t);
    normal_field(at, rate, first, &second);
    return turn_of_vector(gw_cross(at->d[1][0], at->d[0][1]), first, second, rate, t);
}

static void motion_at(const gw_nurbs *s, const gw_nurbs_point *at, const double rate[2],
                      double offset, gw_nurbs_motion *m, gw_nurbs_direction_motion *turn)
{
    double u = rate[0], v = s->dimension == 2 ? rate[1] : 0, both[2] = {u, v};
    m->p = at->d[0][0];
    m->d[0] = at->d[1][0];
    m->d[1] = at->d[0][1];
    m->bias = gw_add(gw_add(gw_scale(u * u, at->d[2][0]), gw_scale(v * v, at->d[0][2])),
                     gw_scale(2 * u * v, at->d[1][1]));
    if (turn && turn_of(s, at, both, turn)) {
        m->p = gw_mul_add(m->p, offset, turn->n);
        m->d[0] = gw_mul_add(m->d[0], offset, turn->d[0]);
        m->d[1] = gw_mul_add(m->d[1], offset, turn->d[1]);
        m->bias = gw_mul_add(m->bias, offset, turn->bias);
    }
    m->velocity = gw_add(gw_scale(u, m->d[0]), gw_scale(v, m->d[1]));
}

/* The point and its derivatives by the parameters, or with a plane by x and y. */
static void point_at(const gw_nurbs *s, const gw_tangent_plane *plane, const double parameter[2],
                     int order, gw_nurbs_point *at)
{
    double found[2];
    gw_nurbs_span span = {{0, 0}};
    if (plane)
        gw_tangent_plane_evaluate(s, plane, parameter, order, found, at);
    else
        gw_nurbs_evaluate(s, parameter, order, &span, at);
}

/* The point and its derivatives, by x and y if a pole is near, else by the parameters. `at` must
 * have the latter to second order already, and is replaced only as needed. */
static void point_near(const gw_nurbs *s, const double parameter[2], int order, gw_nurbs_point *at)
{
    double coordinates[2];
    const gw_tangent_plane *plane = gw_nurbs_coordinates(s, parameter, coordinates);
    if (plane || order > 2)
        point_at(s, plane, coordinates, order, at);
}

int gw_nurbs_motion_order(const gw_nurbs *s, double offset)
{
    return offset != 0 && s->dimension == 2 ? 3 : 2;
}

void gw_nurbs_motion_at(const gw_nurbs *s, const gw_nurbs_point *at, const double rate[2],
                        double offset, gw_nurbs_motion *m)
{
    gw_nurbs_direction_motion turn;
    motion_at(s, at, rate, offset, m, gw_nurbs_motion_order(s, offset) == 3 ? &turn : NULL);
}

void gw_nurbs_motion_of(const gw_nurbs *s, const gw_tangent_plane *plane, const double parameter[2],
                        const double rate[2], double offset, gw_nurbs_motion *m)
{
    gw_nurbs_point at;
    point_at(s, plane, parameter, gw_nurbs_motion_order(s, offset), &at);
    gw_nurbs_motion_at(s, &at, rate, offset, m);
}

void gw_nurbs_motion_with_direction(const gw_nurbs *s, const gw_tangent_plane *plane,
                                    const double parameter[2], const double rate[2], double offset,
                                    gw_nurbs_motion *m, gw_nurbs_direction_motion *turn)
{
    gw_nurbs_point at;
    assert(s->dimension == 2 || offset == 0);
    point_at(s, plane, parameter, 3, &at);
    motion_at(s, &at, rate, offset, m, turn);
}

/* The rates of the closest parameters, H u' = S_i . x'. Zero where H is singular. */
static void closest_rates(const gw_nurbs *s, const gw_nurbs_point *at, gw_vec3 d, gw_vec3 velocity,
                          double rate[2])
{
    double uu = gw_norm2(at->d[1][0]) + gw_dot(d, at->d[2][0]);
    double g0 = gw_dot(at->d[1][0], velocity), g1 = gw_dot(at->d[0][1], velocity);
    rate[0] = rate[1] = 0;
    if (s->dimension == 1) {
        rate[0] = uu != 0 ? g0 / uu : 0;
        return;
    }
    double vv = gw_norm2(at->d[0][1]) + gw_dot(d, at->d[0][2]);
    double uv = gw_dot(at->d[1][0], at->d[0][1]) + gw_dot(d, at->d[1][1]);
    double det = uu * vv - uv * uv;
    if (!(fabs(det) > SINGULAR * (uu * uu + vv * vv)))
        return;
    rate[0] = (g0 * vv - g1 * uv) / det;
    rate[1] = (g1 * uu - g0 * uv) / det;
}

void gw_nurbs_parameter_gradient(const gw_nurbs *s, gw_vec3 x, const double parameter[2], int k,
                                 gw_vec3 *gradient)
{
    assert(s && parameter && (k == 0 || k == 1) && gradient);
    static const gw_vec3 axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    double g[3], rate[2];
    gw_nurbs_point at;
    gw_nurbs_evaluate(s, parameter, 2, NULL, &at);
    for (int i = 0; i < 3; i++) {
        closest_rates(s, &at, gw_sub(at.d[0][0], x), axes[i], rate);
        g[i] = rate[k];
    }
    *gradient = gw_v3(g[0], g[1], g[2]);
}

#define CONTINUES 12 /* steps of Newton's method */

/* The closest point followed: H step = S_i . (x - S) until the step is short, for its error is the
 * step's square. False where that does not converge to a minimum. */
static bool follow_past_edges(const gw_nurbs *s, gw_vec3 x, double parameter[2], gw_nurbs_point *at)
{
    double p[2] = {parameter[0], parameter[1]};
    gw_nurbs_event event;
    if (gw_nurbs_follow_about_pole(s, x, parameter, &event)) {
        gw_nurbs_evaluate(s, parameter, 2, NULL, at);
        return event == GW_NURBS_REGULAR;
    }
    for (int i = 0; i < CONTINUES; i++) {
        double step[2];
        gw_nurbs_evaluate(s, p, 2, NULL, at);
        gw_vec3 d = gw_sub(at->d[0][0], x);
        closest_rates(s, at, d, gw_neg(d), step);
        double way = fabs(step[0]) * gw_norm(at->d[1][0]) + fabs(step[1]) * gw_norm(at->d[0][1]);
        double share = way > 0.1 * s->size ? 0.1 * s->size / way : 1;
        p[0] += share * step[0];
        p[1] += s->dimension == 2 ? share * step[1] : 0;
        if (!(way > 1e-8 * s->size)) {
            gw_nurbs_evaluate(s, p, 2, NULL, at);
            double uu = gw_norm2(at->d[1][0]) + gw_dot(d, at->d[2][0]);
            bool lowest = uu > 0;
            if (s->dimension == 2) {
                double vv = gw_norm2(at->d[0][1]) + gw_dot(d, at->d[0][2]);
                double uv = gw_dot(at->d[1][0], at->d[0][1]) + gw_dot(d, at->d[1][1]);
                lowest = lowest && uu * vv > uv * uv;
            }
            parameter[0] = p[0], parameter[1] = p[1];
            return lowest;
        }
    }
    return false;
}

/*
 * The closest parameter of a curve while x moves: H s' = C' . x', and for x'' = 0
 * H s'' = C'' . x' s' - H' s',  H' = 3 C' . C'' s' + d . C''' s' - C'' . x',  d = C - x.
 * False where H vanishes.
 */
static bool curve_rates(const gw_nurbs_point *at, gw_vec3 d, gw_vec3 velocity, double *rate,
                        double *second)
{
    gw_vec3 c1 = at->d[1][0], c2 = at->d[2][0];
    double h = gw_norm2(c1) + gw_dot(d, c2), turn = gw_dot(c2, velocity);
    *rate = *second = 0;
    if (h == 0)
        return false;
    double r = gw_dot(c1, velocity) / h;
    double h_rate = 3 * gw_dot(c1, c2) * r + gw_dot(d, at->d[3][0]) * r - turn;
    *rate = r;
    *second = (turn * r - h_rate * r) / h;
    return true;
}

/* h = a . (x - C) with a fixed: h' = a . (x' - C' s'). */
static void curve_distance(const gw_nurbs_point *at, gw_vec3 x, gw_vec3 velocity, gw_vec3 along,
                           gw_nurbs_distance *out)
{
    gw_vec3 d = gw_sub(at->d[0][0], x), c1 = at->d[1][0], c2 = at->d[2][0];
    double r, r_rate;
    out->value = -gw_dot(along, d);
    out->gradient = along;
    out->second = 0;
    if (!curve_rates(at, d, velocity, &r, &r_rate))
        return;
    out->gradient = gw_mul_add(along, -gw_dot(along, c1) / (gw_norm2(c1) + gw_dot(d, c2)), c1);
    out->second = -gw_dot(along, gw_add(gw_scale(r * r, c2), gw_scale(r_rate, c1)));
}

/* ---- apexes ---------------------------------------------------------------------------------
 *
 * At an edge that is one point but not a pole, such as the apex P of a cone, the surface does not
 * continue: P is closest to the points x over it, with n = (x - P) / |x - P|,
 *
 *   n' = (x' - (n . x') n) / |x - P|,   n'' = -(2 (n . x') n' + |n'|^2 |x - P| n) / |x - P|
 */

#define AT_APEX 1e-7 /* of the domain */

/* The end at which the parameters are at an apex: 2 k, or 2 k + 1 at the high end of direction k;
 * -1 if they are not. */
static int apex_at(const gw_nurbs *s, const double parameter[2])
{
    for (int k = 0; k < 2 && s->dimension == 2; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        double near = AT_APEX * (d->high - d->low);
        bool low = parameter[k]<d->low + near, high = parameter[k]> d->high - near;
        int end = 2 * k + high;
        if (!d->closed && (low || high) && !s->edge[end] && !s->pole[end])
            return end;
    }
    return -1;
}

#define AROUND 24   /* directions from an apex */
#define CHORD  1e-3 /* of the domain */

/* The largest rate at which the distance from x falls from the apex inward, and parameters in that
 * direction. */
static double slope_from_apex(const gw_nurbs *s, int end, gw_vec3 x, double parameter[2])
{
    int k = end / 2, j = 1 - k;
    const gw_nurbs_direction *along = &s->direction[k], *round = &s->direction[j];
    double tip = end % 2 ? along->high : along->low, slope[AROUND];
    double inward = (end % 2 ? -CHORD : CHORD) * (along->high - along->low);
    double width = (round->high - round->low) / AROUND, p[2];
    gw_nurbs_point at;
    p[k] = tip, p[j] = round->low;
    gw_nurbs_evaluate(s, p, 0, NULL, &at);
    gw_vec3 apex = at.d[0][0], off = gw_sub(x, apex);
    int best = 0;
    for (int i = 0; i < AROUND; i++) {
        p[k] = tip + inward, p[j] = round->low + (i + 0.5) * width;
        gw_nurbs_evaluate(s, p, 0, NULL, &at);
        gw_vec3 chord = gw_sub(at.d[0][0], apex);
        slope[i] = gw_dot(off, chord) / fmax(gw_norm(chord), 1e-300);
        best = slope[i] > slope[best] ? i : best;
    }
    /* the vertex of a parabola through neighbours */
    double before = slope[(best + AROUND - 1) % AROUND], after = slope[(best + 1) % AROUND];
    double curvature = before - 2 * slope[best] + after;
    double share = curvature < 0 && round->closed ? 0.5 * (before - after) / curvature : 0;
    parameter[k] = tip + 10 * inward;
    parameter[j] = round->low + (best + 0.5 + share) * width;
    return slope[best] - 0.25 * (before - after) * share;
}

bool gw_nurbs_apex_distance(const gw_nurbs *s, gw_vec3 x, const double parameter[2],
                            double *distance)
{
    int end = apex_at(s, parameter);
    if (end < 0)
        return false;
    const gw_nurbs_direction *out = &s->direction[end / 2], *round = &s->direction[1 - end / 2];
    double inset = AT_APEX * (out->high - out->low), beside[2], side = 0;
    gw_nurbs_point at;
    gw_nurbs_evaluate(s, parameter, 0, NULL, &at);
    gw_vec3 off = gw_sub(x, at.d[0][0]);
    beside[end / 2] = end % 2 ? out->high - inset : out->low + inset;
    for (int i = 0; i < AROUND; i++) {
        beside[1 - end / 2] = round->low + (round->high - round->low) * (i + 0.5) / AROUND;
        gw_nurbs_evaluate(s, beside, 2, NULL, &at);
        side += gw_dot(gw_nurbs_normal(s, beside, &at), off);
    }
    *distance = side < 0 ? -gw_norm(off) : gw_norm(off);
    return true;
}

bool gw_nurbs_pass_edges(const gw_nurbs *s, gw_vec3 x, double parameter[2], gw_nurbs_point *at)
{
    int end = apex_at(s, parameter);
    if (end < 0 && follow_past_edges(s, x, parameter, at) && (end = apex_at(s, parameter)) < 0)
        return false;
    double inside[2];
    if (end >= 0 && slope_from_apex(s, end, x, inside) <= 0) {
        const gw_nurbs_direction *d = &s->direction[end / 2];
        parameter[end / 2] = end % 2 ? d->high : d->low;
        gw_nurbs_evaluate(s, parameter, 2, NULL, at);
        return true;
    }
    if (end >= 0 && follow_past_edges(s, x, inside, at) && apex_at(s, inside) < 0) {
        parameter[0] = inside[0], parameter[1] = inside[1];
        return false;
    }
    if (!s->direction[0].partial && !s->direction[1].partial) {
        gw_nurbs_nearest nearest;
        gw_nurbs_nearest_within(s, x, GW_NURBS_TICK_CELLS, &nearest);
        parameter[0] = nearest.parameter[0], parameter[1] = nearest.parameter[1];
    }
    gw_nurbs_evaluate(s, parameter, 2, NULL, at);
    return apex_at(s, parameter) >= 0;
}

/* The closest point, followed; true if it is an apex. `cells`: number of cells searched. */
static bool follow_to_apex(const gw_nurbs *s, gw_vec3 x, double expected, bool past_edges,
                           double parameter[2], gw_nurbs_point *at, int *cells)
{
    *cells = 0;
    if (past_edges)
        return gw_nurbs_pass_edges(s, x, parameter, at);
    *cells = gw_nurbs_closest(s, x, expected, parameter, at);
    return false;
}

/* n and its rates over the apex P, on the side of the sign of `side`; false in P itself. */
static bool normal_over(const gw_nurbs *s, gw_vec3 apex, gw_vec3 x, gw_vec3 velocity, double side,
                        gw_vec3 *n, gw_vec3 *rate, gw_vec3 *second)
{
    gw_vec3 off = gw_sub(x, apex);
    double signed_distance = copysign(gw_norm(off), side);
    if (!(fabs(signed_distance) > 1e-12 * s->size))
        return false;
    double per = 1 / signed_distance;
    *n = gw_scale(per, off);
    double out = gw_dot(*n, velocity);
    *rate = gw_scale(per, gw_mul_add(velocity, -out, *n));
    *second = gw_mul_add(gw_scale(-2 * out * per, *rate), -gw_norm2(*rate), *n);
    return true;
}

void gw_nurbs_distance_at(const gw_nurbs *s, gw_vec3 x, gw_vec3 velocity, gw_vec3 along,
                          double expected, bool past_edges, double parameter[2],
                          gw_nurbs_distance *out)
{
    assert(s && parameter && out);
    gw_nurbs_point at;
    gw_vec3 rate_over, second_over;
    if (follow_to_apex(s, x, expected, past_edges, parameter, &at, &out->cells) &&
        normal_over(s, at.d[0][0], x, velocity, expected, &out->gradient, &rate_over,
                    &second_over)) {
        out->value = gw_dot(out->gradient, gw_sub(x, at.d[0][0]));
        out->second = gw_dot(rate_over, velocity);
        return;
    }
    if (s->dimension == 1) {
        gw_nurbs_evaluate(s, parameter, 3, NULL, &at);
        curve_distance(&at, x, velocity, along, out);
        return;
    }
    point_near(s, parameter, 2, &at);
    gw_vec3 n = gw_nurbs_normal(s, parameter, &at), off = gw_sub(x, at.d[0][0]);
    double height = gw_dot(n, off), distance = gw_norm(off), rate[2];
    /* beyond an edge the distance is that from the edge, on the side where x is */
    bool beside = distance > fabs(height) + 1e-9 * s->size;
    out->value = beside ? copysign(distance, height) : height;
    out->gradient = beside ? gw_scale(copysign(1, height) / distance, off) : n;
    closest_rates(s, &at, gw_neg(off), velocity, rate);
    gw_vec3 first[2], second, across = gw_cross(at.d[1][0], at.d[0][1]);
    double length = gw_norm(across);
    out->second = 0;
    if (!(length > 0))
        return;
    normal_field(&at, rate, first, &second);
    gw_vec3 turn =
        gw_scale(1 / length, gw_add(gw_scale(rate[0], first[0]), gw_scale(rate[1], first[1])));
    out->second = gw_dot(velocity, gw_reject(turn, n));
}

/* u'' of the closest parameters for x'' = 0, with d = S - x and ' along u':
 *   H u'' = 2 S_i' . (x' - S') - q_i . d - S_i . q,  q = S_jk u_j' u_k',  q_i = S_ijk u_j' u_k' */
static void closest_accelerations(const gw_nurbs_point *at, gw_vec3 d, gw_vec3 velocity,
                                  const double rate[2], double out[2])
{
    const gw_vec3(*s)[GW_NURBS_ORDER + 1] = at->d;
    double u = rate[0], v = rate[1], right[2];
    gw_vec3 along = gw_add(gw_scale(u, s[1][0]), gw_scale(v, s[0][1]));
    gw_vec3 second = gw_add(gw_add(gw_scale(u * u, s[2][0]), gw_scale(v * v, s[0][2])),
                            gw_scale(2 * u * v, s[1][1]));
    gw_vec3 slip = gw_sub(velocity, along);
    for (int i = 0; i < 2; i++) {
        int a = i == 0, b = i == 1; /* S_i = s[a][b] */
        gw_vec3 turn = gw_add(gw_scale(u, s[a + 1][b]), gw_scale(v, s[a][b + 1]));
        gw_vec3 third = gw_add(gw_add(gw_scale(u * u, s[a + 2][b]), gw_scale(v * v, s[a][b + 2])),
                               gw_scale(2 * u * v, s[a + 1][b + 1]));
        right[i] = 2 * gw_dot(turn, slip) - gw_dot(third, d) - gw_dot(s[a][b], second);
    }
    double uu = gw_norm2(s[1][0]) + gw_dot(d, s[2][0]);
    double vv = gw_norm2(s[0][1]) + gw_dot(d, s[0][2]);
    double uv = gw_dot(s[1][0], s[0][1]) + gw_dot(d, s[1][1]), det = uu * vv - uv * uv;
    bool regular = fabs(det) > SINGULAR * (uu * uu + vv * vv);
    out[0] = regular ? (right[0] * vv - right[1] * uv) / det : 0;
    out[1] = regular ? (right[1] * uu - right[0] * uv) / det : 0;
}

int gw_nurbs_normal_at(const gw_nurbs *s, gw_vec3 x, gw_vec3 velocity, double expected,
                       bool past_edges, double parameter[2], gw_vec3 *n, gw_vec3 *rate,
                       gw_vec3 *second)
{
    int cells;
    gw_nurbs_point at;
    assert(s->dimension == 2);
    if (!follow_to_apex(s, x, expected, past_edges, parameter, &at, &cells) ||
        !normal_over(s, at.d[0][0], x, velocity, expected, n, rate, second))
        gw_nurbs_normal_here(s, x, velocity, parameter, n, rate, second);
    return cells;
}

void gw_nurbs_normal_here(const gw_nurbs *s, gw_vec3 x, gw_vec3 velocity, const double parameter[2],
                          gw_vec3 *n, gw_vec3 *rate, gw_vec3 *second)
{
    gw_nurbs_point at;
    gw_nurbs_direction_motion turn;
    double moves[2], accelerations[2];
    assert(s->dimension == 2);
    point_near(s, parameter, 3, &at);
    gw_vec3 d = gw_sub(at.d[0][0], x);
    closest_rates(s, &at, d, velocity, moves);
    closest_accelerations(&at, d, velocity, moves, accelerations);
    if (!turn_of(s, &at, moves, &turn))
        turn.n = gw_nurbs_normal(s, parameter, &at);
    *n = turn.n;
    *rate = turn.velocity;
    *second = gw_add(turn.bias, gw_add(gw_scale(accelerations[0], turn.d[0]),
                                       gw_scale(accelerations[1], turn.d[1])));
}

int gw_nurbs_tangent_at(const gw_nurbs *s, gw_vec3 x, gw_vec3 velocity, gw_vec3 along,
                        bool past_ends, double parameter[2], gw_vec3 *t, gw_vec3 *rate,
                        gw_vec3 *second, gw_vec3 *gradient)
{
    int cells;
    gw_nurbs_point at;
    gw_nurbs_direction_motion turn;
    double moves[2] = {0, 0}, acceleration;
    assert(s->dimension == 1);
    follow_to_apex(s, x, 0, past_ends, parameter, &at, &cells);
    gw_nurbs_evaluate(s, parameter, 3, NULL, &at);
    gw_vec3 d = gw_sub(at.d[0][0], x), c1 = at.d[1][0];
    bool regular = curve_rates(&at, d, velocity, &moves[0], &acceleration);
    turn_of(s, &at, moves, &turn);
    *t = turn.n;
    *rate = turn.velocity;
    *second = gw_mul_add(turn.bias, acceleration, turn.d[0]);
    double by_x = gw_dot(along, turn.d[0]) / (gw_norm2(c1) + gw_dot(d, at.d[2][0]));
    *gradient = regular ? gw_scale(by_x, c1) : gw_v3(0, 0, 0);
    return cells;
}

/* The greatest principal curvature towards that side at the point `at`. */
static double most_curvature(const gw_nurbs_point *at, gw_vec3 n, double side)
{
    gw_vec3 u = at->d[1][0], v = at->d[0][1];
    double uu = gw_norm2(u), uv = gw_dot(u, v), vv = gw_norm2(v), det = uu * vv - uv * uv;
    double l = gw_dot(n, at->d[2][0]), m = gw_dot(n, at->d[1][1]), r = gw_dot(n, at->d[0][2]);
    if (!(det > 1e-18 * (uu + vv) * (uu + vv)))
        return 0;
    /* k^2 - 2 mean k + gauss = 0 */
    double mean = (l * vv - 2 * m * uv + r * uu) / (2 * det), gauss = (l * r - m * m) / det;
    double root = sqrt(fmax(mean * mean - gauss, 0));
    return side < 0 ? mean - root : mean + root;
}

double gw_nurbs_focal_distance(const gw_nurbs *s, const double parameter[2], double side)
{
    gw_nurbs_point at;
    assert(s->dimension == 2);
    gw_nurbs_evaluate(s, parameter, 2, NULL, &at);
    point_near(s, parameter, 2, &at);
    double most = most_curvature(&at, gw_nurbs_normal(s, parameter, &at), side);
    return most * side > 0 ? 1 / most : copysign(HUGE_VAL, side);
}

double gw_nurbs_fold_margin(const gw_nurbs *s, const double parameter[2], const gw_nurbs_point *at,
                            double offset)
{
    assert(s->dimension == 2 && at);
    return 1 - offset * most_curvature(at, gw_nurbs_normal(s, parameter, at), offset);
}
