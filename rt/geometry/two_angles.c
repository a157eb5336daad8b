/*
 * Rotations that keep two angles, as curves with one parameter. Any thread, RT safe.
 *
 * With f1, f2 the axes of the world and x = R u1, y = R u2 those of the body, f1, x, y, f2 are the
 * corners of a spherical quadrilateral with sides alpha, sigma (between u1 and u2), beta and
 * sigma_b (between f2 and f1). Its diagonal c = x . f2 gives both triangles but for their signs: x
 * lies at the azimuth phi about f1, y across the great circle of x and f2,
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

#define CROSSES  1e-11 /* ends of c nearer to one another are one */
#define LEAST    1e-12 /* half a range of c, and sines: less is no curve */
#define DISTINCT 1e-4  /* of s^2: x and f2 may not come along one another */

/* ---- the curve ------------------------------------------------------------------------------- */

/* Which of two ends the limit of c is; the ends nearly alike are one. */
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

/* The two square roots at c's angle eta. */
typedef struct square_roots {
    double c, azimuth, turn;
} square_roots;

/* sqrt(end - c) or sqrt(c - end): signed where c's range ends there. */
static double factor(bool ends, double is_signed, double gap)
{
    return ends ? is_signed : sqrt(fmax(0, gap));
}

/* From the sine and cosine of psi / 2. */
static square_roots square_roots_at(const gw_second_angle *s, double sine, double cosine)
{
    double sign = s->loop;
    if (!has_two_loops(s) || s->at_low == BOTH) { /* eta = psi, or its magnitude */
        double twice = 2 * sine * cosine;
        sign = has_two_loops(s) && twice < 0 ? -1 : 1;
        cosine = (cosine - sine) * (cosine + sine);
        sine = has_two_loops(s) ? fabs(twice) : twice;
    }
    double root = sqrt(2 * s->half), high = root * sine, low = root * cosine;
    square_roots r = {.c = s->middle + 0.5 * (low - high) * (low + high)};
    r.azimuth = factor(s->at_high & AZIMUTH, high, s->azimuth_high - r.c) *
                factor(s->at_low & AZIMUTH, low, r.c - s->azimuth_low);
    r.turn = factor(s->at_high & TURN, high, s->turn_high - r.c) *
             factor(s->at_low & TURN, low, r.c - s->turn_low);
    if (s->at_low == TURN && s->at_high == TURN)
        r.azimuth *= sign;
    else
        r.turn *= sign;
    return r;
}

/* The square roots of a rotation of the set: k sin phi = x . (f1 x f2), w = y . (x x f2). */
static square_roots square_roots_of(const gw_rotation_set *r, gw_quat q)
{
    const gw_second_angle *s = &r->second;
    gw_vec3 x = gw_rotate(q, r->axis_body), y = gw_rotate(q, s->axis_body);
    return (square_roots){gw_dot(x, s->axis), s->sine_axes * gw_dot(x, s->e2),
                          gw_dot(y, gw_cross(x, s->axis))};
}

/* The roots' parameter where one is to be told from the other's sign. */
static double signed_quotient(double product, double by, double fallback)
{
    return fabs(by) > 1e-150 ? product / by : fallback;
}

void gw_two_angles_frame(const gw_rotation_set *r, double sine, double cosine, gw_vec3 frame[3])
{
    const gw_second_angle *s = &r->second;
    square_roots at = square_roots_at(s, sine, cosine);
    double level = at.c - s->cosine * s->cosine_axes, ss = 1 - at.c * at.c;
    double out = s->sine / sqrt(level * level + at.azimuth * at.azimuth);
    gw_vec3 x = gw_mul_add(gw_scale(s->cosine, r->axis), out * level, s->e1);
    x = gw_mul_add(x, out * at.azimuth, s->e2);
    gw_vec3 y = gw_scale((s->cosine_body - at.c * s->cosine_2) / ss, x);
    y = gw_mul_add(y, (s->cosine_2 - at.c * s->cosine_body) / ss, s->axis);
    y = gw_mul_add(y, at.turn / ss, gw_cross(x, s->axis));
    frame[2] = gw_unit(gw_cross(x, y));
    frame[0] = gw_unit(x);
    frame[1] = gw_cross(frame[2], frame[0]);
}

gw_quat gw_two_angles_rotation(const gw_rotation_set *r, double psi)
{
    gw_vec3 frame[3];
    gw_two_angles_frame(r, sin(0.5 * psi), cos(0.5 * psi), frame);
    return gw_quat_unit(
        gw_quat_mul(gw_quat_from_axes(frame[0], frame[1], frame[2]), gw_quat_conj(r->second.body)));
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

gw_vec3 gw_two_angles_axis(const gw_rotation_set *r, gw_quat q, gw_vec3 *rate)
{
    const gw_second_angle *s = &r->second;
    gw_vec3 x = gw_rotate(q, r->axis_body), y = gw_rotate(q, s->axis_body);
    /* normal to the gradients of both angles */
    gw_vec3 a = gw_cross(x, r->axis), b = gw_cross(y, s->axis), n = gw_cross(a, b);
    double size = gw_norm(n);
    gw_vec3 w = size > LEAST ? gw_scale(1 / size, n) : gw_any_normal(gw_unit(a));
    if (!rate)
        return w;
    gw_vec3 a_rate = gw_cross(gw_cross(w, x), r->axis), b_rate = gw_cross(gw_cross(w, y), s->axis);
    gw_vec3 n_rate = gw_add(gw_cross(a_rate, b), gw_cross(a, b_rate));
    *rate = gw_scale(size > LEAST ? 1 / size : 0, gw_reject(n_rate, w));
    return w;
}

gw_quat gw_two_angles_project(const gw_rotation_set *r, gw_quat q)
{
    const gw_second_angle *s = &r->second;
    for (int i = 0; i < 8; i++) {
        gw_vec3 x = gw_rotate(q, r->axis_body), y = gw_rotate(q, s->axis_body);
        gw_vec3 a = gw_cross(x, r->axis), b = gw_cross(y, s->axis);
        double h = s->cosine - gw_dot(x, r->axis), g = s->cosine_2 - gw_dot(y, s->axis);
        double aa = gw_norm2(a), bb = gw_norm2(b), ab = gw_dot(a, b), det = aa * bb - ab * ab;
        if (fabs(h) + fabs(g) < 4e-16 || !(det > 1e-18))
            break;
        gw_vec3 step =
            gw_add(gw_scale((bb * h - ab * g) / det, a), gw_scale((aa * g - ab * h) / det, b));
        gw_quat turn = {1, 0.5 * step.x, 0.5 * step.y, 0.5 * step.z};
        q = gw_quat_unit(gw_quat_mul(turn, q));
        if (gw_norm2(step) < 1e-18)
            break; /* what is left is its square */
    }
    return gw_quat_unit(q);
}

/* ---- making one ------------------------------------------------------------------------------ */

/* The range of c, and whose ends it has; false where it is none, or s^2 vanishes in it. */
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

static bool make(const gw_vector_angle *first, const gw_vector_angle *second, gw_rotation_set *out)
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
    /* the other diagonal serves where this one's corners meet */
    if (!make(first, second, out) && !make(second, first, out))
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
