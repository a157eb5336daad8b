/*
 * Rotations that keep two angles, as curves with one parameter. Any thread, RT safe.
 *
 * With f1, f2 the axes of the world and x = R u1, y = R u2 those of the body, f1, x, y, f2 are the
 * corners of a spherical quadrilateral with sides alpha, sigma (between u1 and u2), beta and
 * sigma_b (between f2 and f1). Its diagonal c = x . f2 determines both triangles up to their signs:
 * x lies at the azimuth phi about f1, y across the great circle of x and f2,
 *
 *   x = cos alpha f1 + sin alpha (cos phi e1 + sin phi e2),   k cos phi = c - cos alpha cos sigma_b
 *   y = A x + B f2 + w / s^2 x x f2,                          s^2 = 1 - c^2
 *
 * with k = sin alpha sin sigma_b, A = (cos sigma - c cos beta) / s^2, B = (cos beta - c cos sigma)
 * / s^2, and the two square roots
 *
 *   (k sin phi)^2 = (cos(sigma_b - alpha) - c) (c - cos(sigma_b + alpha))     "azimuth"
 *   w^2           = (cos(sigma - beta) - c) (c - cos(sigma + beta))           "turn"
 *
 * c runs between the larger of the lower ends and the smaller of the upper ones. At an end one of
 * the roots passes zero and changes its sign; with c = middle + half cos(2 eta) the roots of the
 * factors that vanish are sqrt(2 half) sin eta and sqrt(2 half) cos eta, smooth and signed. If both
 * ends are of one root, eta = psi / 2 runs along one of two loops, which the sign of the other root
 * tells apart. Else eta = psi runs along the one loop. If an end is both roots', the curve crosses
 * itself there; if both ends are, two loops cross there, and psi runs along one after the other.
 */
#include <assert.h>

#include "rt/geometry/two_angles.h"

enum { AZIMUTH = 1, TURN = 2, BOTH = AZIMUTH | TURN };

#define CROSSES  1e-11 /* ends of c nearer to one another are equal */
#define LEAST    1e-12 /* least half range of c, and least sines */
#define DISTINCT 1e-4  /* least s^2: x and f2 must not become parallel */

/* ---- the curve ------------------------------------------------------------------------------- */

/* The root, or both, whose end is the limit of c. */
static unsigned char end_of(double limit, double azimuth, double turn)
{
    if (fabs(azimuth - turn) <= CROSSES)
        return BOTH;
    return limit == azimuth ? AZIMUTH : TURN;
}

/* True where both ends are of one root. */
static bool has_two_loops(const gw_second_angle *s)
{
    return s->at_low == s->at_high;
}

/* sqrt(end - c) or sqrt(c - end): signed where c's range ends there. */
GW_LANE_INLINE void factor(bool ends, const gw_lanes *is_signed, const gw_lanes *gap, gw_lanes *out)
{
    gw_lanes positive = (gw_lanes)((gw_mask)*gap & (*gap > 0));
    gw_lanes_sqrt(&positive, out);
    if (ends)
        *out = *is_signed;
}

/* c and both square roots, from the sine and cosine of psi / 2. */
GW_LANE_INLINE void square_roots_at(const gw_second_angle *s, const gw_lanes *half_sine,
                                    const gw_lanes *half_cosine, gw_lanes *c, gw_lanes *azimuth,
                                    gw_lanes *turn)
{
    const gw_lanes one = (gw_lanes){0} + 1;
    gw_lanes sine = *half_sine, cosine = *half_cosine, sign = one * s->loop, part;
    if (!has_two_loops(s) || s->at_low == BOTH) { /* eta = psi, or its magnitude */
        gw_lanes twice = 2 * sine * cosine;
        gw_mask negative = (twice < 0) & (has_two_loops(s) ? -1LL : 0LL);
        sign = GW_SELECT(negative, -one, one);
        cosine = (cosine - sine) * (cosine + sine);
        sine = GW_SELECT(negative, -twice, twice);
    }
    double root = sqrt(2 * s->half);
    gw_lanes high = root * sine, low = root * cosine, gap;
    *c = s->middle + 0.5 * (low - high) * (low + high);
    gap = s->azimuth_high - *c;
    factor(s->at_high & AZIMUTH, &high, &gap, azimuth);
    gap = *c - s->azimuth_low;
    factor(s->at_low & AZIMUTH, &low, &gap, &part);
    *azimuth *= part;
    gap = s->turn_high - *c;
    factor(s->at_high & TURN, &high, &gap, turn);
    gap = *c - s->turn_low;
    factor(s->at_low & TURN, &low, &gap, &part);
    *turn *= part;
    if (s->at_low == TURN && s->at_high == TURN)
        *azimuth *= sign;
    else
        *turn *= sign;
}

/* The two square roots at c, as one rotation has them. */
typedef struct square_roots {
    double c, azimuth, turn;
} square_roots;

/* The square roots of a rotation of the set: k sin phi = x . (f1 x f2), w = y . (x x f2). */
static square_roots square_roots_of(const gw_rotation_set *r, gw_quat q)
{
    const gw_second_angle *s = &r->second;
    gw_vec3 x = gw_rotate(q, r->axis_body), y = gw_rotate(q, s->axis_body);
    return (square_roots){gw_dot(x, s->axis), s->sine_axes * gw_dot(x, s->e2),
                          gw_dot(y, gw_cross(x, s->axis))};
}

/* product / by, or `fallback` where `by` vanishes. */
static double signed_quotient(double product, double by, double fallback)
{
    return fabs(by) > 1e-150 ? product / by : fallback;
}

GW_LANE_INLINE void to_unit(gw_lanes a[3])
{
    gw_lanes square, size;
    gw_lanes_dot(a, a, &square);
    gw_lanes_sqrt(&square, &size);
    gw_lanes scale = 1 / size;
    for (int k = 0; k < 3; k++)
        a[k] *= scale;
}

/* x and y at the sines and cosines of psi / 2, of unit length and sigma apart but for rounding,
 * which is divided by s^2. */
GW_LANE_INLINE void corners_at(const gw_second_angle *s, const gw_rotation_set *r,
                               const gw_lanes *sine, const gw_lanes *cosine, gw_lanes x[3],
                               gw_lanes y[3])
{
    gw_lanes c, azimuth, turn, square, size, first[3], e1[3], e2[3], second[3], across[3];
    square_roots_at(s, sine, cosine, &c, &azimuth, &turn);
    gw_lanes level = c - s->cosine * s->cosine_axes, ss = 1 - c * c;
    square = level * level + azimuth * azimuth;
    gw_lanes_sqrt(&square, &size);
    gw_lanes out = s->sine / size;
    gw_lanes_fill(r->axis, first);
    gw_lanes_fill(s->axis, second);
    gw_lanes_fill(s->e1, e1);
    gw_lanes_fill(s->e2, e2);
    for (int k = 0; k < 3; k++)
        x[k] = s->cosine * first[k] + out * level * e1[k] + out * azimuth * e2[k];
    gw_lanes_cross(x, second, across);
    gw_lanes of_x = (s->cosine_body - c * s->cosine_2) / ss,
             of_second = (s->cosine_2 - c * s->cosine_body) / ss, of_across = turn / ss;
    for (int k = 0; k < 3; k++)
        y[k] = of_x * x[k] + of_second * second[k] + of_across * across[k];
}

GW_TARGET_CLONES_512
void gw_two_angles_frames(const gw_rotation_set *r, const gw_lanes *sine, const gw_lanes *cosine,
                          gw_lanes frame[3][3])
{
    gw_lanes *x = frame[0], *y = frame[1];
    corners_at(&r->second, r, sine, cosine, x, y);
    gw_lanes_cross(x, y, frame[2]);
    to_unit(frame[2]);
    to_unit(x);
    gw_lanes_cross(frame[2], x, y);
}

GW_TARGET_CLONES_512
void gw_two_angles_rough_frames(const gw_rotation_set *r, const gw_lanes *sine,
                                const gw_lanes *cosine, gw_lanes frame[3][3])
{
    const double share = 1 / sqrt(1 - r->second.cosine_body * r->second.cosine_body);
    gw_lanes *x = frame[0], *y = frame[1], *z = frame[2];
    corners_at(&r->second, r, sine, cosine, x, y);
    gw_lanes_cross(x, y, z);
    for (int k = 0; k < 3; k++)
        z[k] *= share;
    gw_lanes_cross(z, x, y);
}

void gw_two_angles_rotations(const gw_rotation_set *r, const gw_lanes *sine, const gw_lanes *cosine,
                             int count, gw_quat *q)
{
    gw_lanes frame[3][3];
    gw_quat from_body = gw_quat_conj(r->second.body);
    gw_two_angles_frames(r, sine, cosine, frame);
    for (int lane = 0; lane < count; lane++) {
        gw_vec3 axis[3];
        for (int i = 0; i < 3; i++)
            axis[i] = gw_v3(frame[i][0][lane], frame[i][1][lane], frame[i][2][lane]);
        q[lane] =
            gw_quat_unit(gw_quat_mul(gw_quat_from_axes(axis[0], axis[1], axis[2]), from_body));
    }
}

gw_quat gw_two_angles_rotation(const gw_rotation_set *r, double psi)
{
    assert(r);
    gw_lanes sine = (gw_lanes){0} + sin(0.5 * psi), cosine = (gw_lanes){0} + cos(0.5 * psi);
    gw_quat q;
    gw_two_angles_rotations(r, &sine, &cosine, 1, &q);
    return q;
}

double gw_two_angles_parameter(const gw_rotation_set *r, gw_quat q)
{
    const gw_second_angle *s = &r->second;
    square_roots at = square_roots_of(r, q);
    double off = at.c - s->middle;
    if (has_two_loops(s)) {
        if (s->at_low != BOTH)
            return atan2(s->at_low == AZIMUTH ? at.azimuth : at.turn, off);
        double eta = 0.5 * atan2(at.azimuth, off);
        eta += eta < 0 ? GW_PI : 0;
        return at.azimuth * at.turn < 0 ? -eta : eta;
    }
    /* the signed factors: each by the root that has it without the other */
    double high = 1, low = 1;
    double at_high = s->at_high & AZIMUTH ? at.azimuth : at.turn;
    double at_low = s->at_low & AZIMUTH ? at.azimuth : at.turn;
    if (s->at_high == BOTH)
        at_high = s->at_low == AZIMUTH ? at.turn : at.azimuth;
    if (s->at_low == BOTH)
        at_low = s->at_high == AZIMUTH ? at.turn : at.azimuth;
    if (s->at_low == BOTH) { /* the other root is low alone, times a root that keeps its sign */
        double end = s->at_high == AZIMUTH ? s->turn_high : s->azimuth_high;
        low = at_low / sqrt(fmax(end - at.c, LEAST));
        high = signed_quotient(at_high, low, sqrt(fmax(0, s->middle + s->half - at.c)));
    } else if (s->at_high == BOTH) {
        double end = s->at_low == AZIMUTH ? s->turn_low : s->azimuth_low;
        high = at_high / sqrt(fmax(at.c - end, LEAST));
        low = signed_quotient(at_low, high, sqrt(fmax(0, at.c - s->middle + s->half)));
    } else {
        double below = s->at_high == AZIMUTH ? s->azimuth_low : s->turn_low;
        double above = s->at_low == AZIMUTH ? s->azimuth_high : s->turn_high;
        high = at_high / sqrt(fmax(at.c - below, LEAST));
        low = at_low / sqrt(fmax(above - at.c, LEAST));
    }
    return atan2(high, low);
}

int gw_two_angles_loop(const gw_rotation_set *r, gw_quat q)
{
    const gw_second_angle *s = &r->second;
    square_roots at = square_roots_of(r, q);
    return (s->at_low == TURN && s->at_high == TURN ? at.azimuth : at.turn) < 0 ? -1 : 1;
}

/* ---- along the curve ------------------------------------------------------------------------- */

GW_TARGET_CLONES_512
void gw_two_angles_axes(const gw_rotation_set *r, const gw_quat_lanes *q, gw_lanes axis[3],
                        gw_lanes rate[3])
{
    const gw_second_angle *s = &r->second;
    gw_lanes x[3], y[3], first[3], second[3], a[3], b[3], n[3], square, size, along;
    gw_lanes_fill(r->axis, first);
    gw_lanes_fill(s->axis, second);
    gw_quat_lanes_rotate(q, r->axis_body, x);
    gw_quat_lanes_rotate(q, s->axis_body, y);
    /* normal to the gradients of both angles */
    gw_lanes_cross(x, first, a);
    gw_lanes_cross(y, second, b);
    gw_lanes_cross(a, b, n);
    gw_lanes_dot(n, n, &square);
    gw_lanes_sqrt(&square, &size);
    gw_mask regular = size > LEAST;
    gw_lanes scale = 1 / size;
    for (int k = 0; k < 3; k++)
        axis[k] = scale * n[k];
    for (int lane = 0; lane < GW_LANES; lane++) {
        if (regular[lane])
            continue;
        gw_vec3 any = gw_any_normal(gw_unit(gw_v3(a[0][lane], a[1][lane], a[2][lane])));
        axis[0][lane] = any.x, axis[1][lane] = any.y, axis[2][lane] = any.z;
    }
    gw_lanes wx[3], wy[3], a_rate[3], b_rate[3], n_rate[3], other[3];
    gw_lanes_cross(axis, x, wx);
    gw_lanes_cross(wx, first, a_rate);
    gw_lanes_cross(axis, y, wy);
    gw_lanes_cross(wy, second, b_rate);
    gw_lanes_cross(a_rate, b, n_rate);
    gw_lanes_cross(a, b_rate, other);
    for (int k = 0; k < 3; k++)
        n_rate[k] += other[k];
    gw_lanes_dot(n_rate, axis, &along);
    scale = (gw_lanes)((gw_mask)scale & regular);
    for (int k = 0; k < 3; k++)
        rate[k] = scale * (n_rate[k] - along * axis[k]);
}

gw_vec3 gw_two_angles_axis(const gw_rotation_set *r, gw_quat q)
{
    gw_quat_lanes all;
    gw_lanes axis[3], rate[3];
    gw_quat_lanes_fill(&all, q);
    gw_two_angles_axes(r, &all, axis, rate);
    return gw_v3(axis[0][0], axis[1][0], axis[2][0]);
}

GW_TARGET_CLONES_512
void gw_two_angles_project_all(const gw_rotation_set *r, gw_quat_lanes *q)
{
    const gw_second_angle *s = &r->second;
    gw_mask moves = ~(gw_mask){0};
    gw_lanes first[3], second[3];
    gw_lanes_fill(r->axis, first);
    gw_lanes_fill(s->axis, second);
    for (int i = 0; i < 8; i++) {
        gw_lanes x[3], y[3], a[3], b[3], along_x, along_y, aa, bb, ab, step[3], square;
        gw_quat_lanes_rotate(q, r->axis_body, x);
        gw_quat_lanes_rotate(q, s->axis_body, y);
        gw_lanes_cross(x, first, a);
        gw_lanes_cross(y, second, b);
        gw_lanes_dot(x, first, &along_x);
        gw_lanes_dot(y, second, &along_y);
        gw_lanes_dot(a, a, &aa);
        gw_lanes_dot(b, b, &bb);
        gw_lanes_dot(a, b, &ab);
        gw_lanes h = s->cosine - along_x, g = s->cosine_2 - along_y, det = aa * bb - ab * ab;
        gw_lanes off = GW_SELECT(h > 0, h, -h) + GW_SELECT(g > 0, g, -g);
        moves &= (off >= 4e-16) & (det > 1e-18);
        if (!gw_any_lane(&moves))
            break;
        gw_lanes of_a = (bb * h - ab * g) / det, of_b = (aa * g - ab * h) / det;
        for (int k = 0; k < 3; k++)
            step[k] = of_a * a[k] + of_b * b[k];
        gw_lanes_dot(step, step, &square);
        gw_quat_lanes next = *q;
        for (int k = 0; k < 3; k++)
            step[k] *= 0.5;
        gw_quat_lanes_turn(&next, step);
        gw_quat_lanes_unit(&next);
        q->w = GW_SELECT(moves, next.w, q->w), q->x = GW_SELECT(moves, next.x, q->x);
        q->y = GW_SELECT(moves, next.y, q->y), q->z = GW_SELECT(moves, next.z, q->z);
        moves &= square >= 1e-18; /* the error left is its square */
    }
    gw_quat_lanes_unit(q);
}

gw_quat gw_two_angles_project(const gw_rotation_set *r, gw_quat q)
{
    gw_quat_lanes all;
    gw_quat_lanes_fill(&all, q);
    gw_two_angles_project_all(r, &all);
    return gw_quat_lanes_get(&all, 0);
}

/* ---- creation -------------------------------------------------------------------------------- */

/* The range of c, and the roots that end it; false if it is empty, or s^2 vanishes in it. */
static bool range_of(double alpha, double beta, double sigma_a, double sigma_b, gw_second_angle *s)
{
    s->azimuth_low = cos(sigma_b + alpha);
    s->azimuth_high = cos(sigma_b - alpha);
    s->turn_low = cos(sigma_a + beta);
    s->turn_high = cos(sigma_a - beta);
    double low = fmax(s->azimuth_low, s->turn_low), high = fmin(s->azimuth_high, s->turn_high);
    s->middle = 0.5 * (low + high);
    s->half = 0.5 * (high - low);
    s->at_low = end_of(low, s->azimuth_low, s->turn_low);
    s->at_high = end_of(high, s->azimuth_high, s->turn_high);
    return s->half > LEAST && fmin(1 - low * low, 1 - high * high) > DISTINCT;
}

static bool make_two_angles(const gw_vector_angle *first, const gw_vector_angle *second,
                            gw_rotation_set *out)
{
    gw_second_angle *s = &out->second;
    gw_vec3 across_u = gw_cross(first->axis_body, second->axis_body);
    gw_vec3 across_f = gw_cross(first->axis, second->axis);
    double sine_u = gw_norm(across_u), sine_f = gw_norm(across_f);
    double sigma_a = atan2(sine_u, gw_dot(first->axis_body, second->axis_body));
    double sigma_b = atan2(sine_f, gw_dot(first->axis, second->axis));
    if (fmin(fmin(sine_u, sine_f), fmin(sin(first->angle), sin(second->angle))) < 1e-9 ||
        !range_of(first->angle, second->angle, sigma_a, sigma_b, s))
        return false;
    out->kind = GW_ROTATION_TWO_ANGLES;
    out->dof = 1;
    out->axis = first->axis;
    out->axis_body = first->axis_body;
    out->angle = first->angle;
    s->axis = second->axis;
    s->axis_body = second->axis_body;
    s->angle = second->angle;
    s->cosine = cos(first->angle);
    s->cosine_2 = cos(second->angle);
    s->sine_axes = sine_f;
    s->cosine_axes = gw_dot(first->axis, second->axis);
    s->sine = sin(first->angle);
    s->cosine_body = cos(sigma_a);
    s->e2 = gw_scale(1 / sine_f, across_f);
    s->e1 = gw_cross(s->e2, first->axis);
    gw_vec3 z = gw_scale(1 / sine_u, across_u);
    s->body = gw_quat_from_axes(first->axis_body, gw_cross(z, first->axis_body), z);
    s->loops = has_two_loops(s) && s->at_low != BOTH ? 2 : 1;
    s->loop = 0;
    return true;
}

bool gw_two_angles(const gw_vector_angle *first, const gw_vector_angle *second,
                   gw_rotation_set *out)
{
    assert(first && second && out);
    /* the other diagonal, if the corners of this one meet */
    if (!make_two_angles(first, second, out) && !make_two_angles(second, first, out))
        return false;
    gw_two_angles_choose(out, out->second.loops == 2 ? 1 : 0);
    return true;
}

void gw_two_angles_choose(gw_rotation_set *r, int loop)
{
    assert(r->kind == GW_ROTATION_TWO_ANGLES);
    r->second.loop = r->second.loops == 2 ? loop : 0;
    r->zero = gw_two_angles_rotation(r, 0);
}
