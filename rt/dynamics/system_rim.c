/*
 * Rims on planes that lie flat, of contacts that may lift off and of those that are kept both ways,
 * for which lambda may have either sign while they are not flat. A tilted rim touches at its lowest
 * point, which moves around it at a rate |w| / tilt. Below a tilt of NEARLY_FLAT the contact point
 * is fixed to the rim ("pinned"). As the rim comes to lie it touches with the whole circle: the gap
 * of its centre o and two tilts are zero,
 *
 *   n . (o - f) = 0,   u . t_1 = u . t_2 = 0
 *
 * with the multipliers lambda and a couple M. They are the resultant of a pressure with its centre
 * at o + r e,
 *
 *   e = n x M / (r lambda)
 *
 * which is on the disc while |M| <= r lambda. From the time at which that fails the rim tips over
 * the point o + r e / |e|, to which it is pinned.
 *
 * Only the resultant is determined for rigid bodies. The pressure along the circle is taken as
 *
 *   p(theta) = lambda / (2 pi) (1 - e^2) / (1 - 2 e cos(theta - theta_e) + e^2)
 *
 * (Poisson's kernel), uniform if its centre is that of the circle, and a force at one point as e
 * approaches 1. It is the image of a uniform pressure under w -> (w + e) / (1 + e* w) of the unit
 * disc. With the slip xi = (v, w r) of the centre and the spin, Coulomb friction is
 *
 *   -mu lambda A(xi) xi,   A = mean of J^T J / |J xi|,   J xi = v + w r n x z
 *
 * and a rim at rest bears tractions tau = A(xi) xi s with s <= mu lambda (the limit surface). RT
 * safe.
 */
#include "rt/dynamics/system_rim.h"

#include <assert.h>
#include <complex.h>
#include <math.h>

#define NEARLY_FLAT 1e-5 /* sine of the tilt; */
#define TILTED      2e-5 /* from this on a pinned rim has a lowest point again */
#define FLAT        1e-6 /* a contact that begins with a smaller tilt is flat */
#define FALLING     0.3  /* of the time in which a tilted rim would fall flat: longest substep */
#define POINTS      64   /* of the circle */
#define INWARDS     1e-9 /* 1 - e at least: the pressure has a width */
#define STILL       1e-9 /* least k': a point of the rim is at rest */
#define LANDEN      12   /* transformations */
#define ITERATIONS  100
#define SAME        1e-13
#define SINGULAR    1e-14
#define SURE        0.9 /* of mu lambda: a traction that needs less is not computed exactly */

bool gw_rim_may_lie(const gw_closure_def *c)
{
    return c->kind == GW_CLOSURE_CONTACT && c->contact.on_a.kind == GW_SURFACE_RIM &&
           c->contact.on_b.kind == GW_SURFACE_PLANE;
}

bool gw_rim_is_flat(const gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    return s->unilateral->mode[closure].posture == GW_RIM_FLAT;
}

bool gw_rim_spins(const gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    return gw_rim_is_flat(s, closure) && s->closures[closure].contact.motion == GW_CONTACT_ROLLS;
}

unsigned gw_rim_rows_aside(const gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_def *c = &s->closures[closure];
    const unsigned tilts = 6, spin = 4u << GW_RIM_ROWS;
    bool rolls = c->contact.motion == GW_CONTACT_ROLLS, flat = gw_rim_is_flat(s, closure);
    bool slips = s->unilateral->mode[closure].phase == GW_CONTACT_SLIPS;
    if (!gw_rim_may_lie(c))
        return 0;
    return (flat ? 0 : tilts) | (rolls && (!flat || slips || !c->unilateral) ? spin : 0);
}

/* ---- geometry ------------------------------------------------------------------------------- */

static gw_vec3 axis_of(const gw_system *s, int closure)
{
    const gw_closure_def *c = &s->closures[closure];
    return gw_rotate(s->bodies[c->a].pose.q, c->contact.on_a.axis);
}

static gw_vec3 normal_of(const gw_system *s, int closure)
{
    const gw_closure_def *c = &s->closures[closure];
    return gw_rotate(gw_body_of(s, c->b)->pose.q, c->contact.on_b.axis);
}

/* The sine of the tilt. */
static double tilt_of(const gw_system *s, int closure)
{
    return gw_norm(gw_cross(axis_of(s, closure), normal_of(s, closure)));
}

static double radius_of(const gw_system *s, int closure)
{
    return s->closures[closure].contact.on_a.radius;
}

/* Pins the rim to its point in this direction (world). */
static void pin_to(gw_system *s, int closure, gw_vec3 direction)
{
    const gw_closure_def *c = &s->closures[closure];
    gw_contact_mode *m = &s->unilateral->mode[closure];
    gw_vec3 d = gw_unrotate(s->bodies[c->a].pose.q, direction), u = c->contact.on_a.axis;
    m->pin = gw_mul_add(c->contact.on_a.point, c->contact.on_a.radius, gw_unit(gw_reject(d, u)));
    m->posture = GW_RIM_PINNED;
}

/* ---- pressure and friction ------------------------------------------------------------------ */

gw_vec3 gw_rim_couple(const gw_system *s, int closure, const double *multipliers)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_block *k = &s->blocks[closure];
    gw_vec3 sum = {0, 0, 0};
    for (int n = 0; n < k->active; n++) {
        int row = s->live[k->first + n];
        if (row != 1 && row != 2)
            continue;
        const gw_closure_row *r = &s->rows[k->first + row];
        sum = gw_mul_add(sum, r->scale * multipliers[k->first + n], gw_angular_part(r->on_a));
    }
    return sum;
}

gw_vec3 gw_rim_moment(const gw_system *s, int closure, const double *multipliers)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_row *r = &s->rows[s->blocks[closure].first];
    gw_vec3 couple = gw_rim_couple(s, closure, multipliers);
    return gw_scale(1 / radius_of(s, closure), gw_cross(gw_linear_part(r->on_a), couple));
}

gw_vec3 gw_rim_centre(gw_vec3 moment, double lambda)
{
    double size = gw_norm(moment);
    if (!(lambda > 0 && size > 0 && isfinite(size)))
        return (gw_vec3){0, 0, 0};
    return gw_scale(fmin(1 / lambda, (1 - INWARDS) / size), moment);
}

gw_vec3 gw_rim_pressure(const gw_system *s, int closure, const double *multipliers)
{
    assert(closure >= 0 && closure < s->closure_count);
    return gw_rim_centre(gw_rim_moment(s, closure, multipliers),
                         gw_contact_normal_force(s, closure, multipliers));
}

/* Jacobi's functions sn, cn, dn. */
typedef struct elliptic {
    double sn, cn, dn;
} elliptic;

/* A share of the real quarter period K, which is returned, with the complementary modulus k'; by
 * descending Landen transformations. */
static double elliptic_at(double share, double k_prime, elliptic *of)
{
    double a[LANDEN + 1] = {1}, c[LANDEN + 1] = {0}, b = k_prime;
    int n = 0;
    for (; n < LANDEN && a[n] - b > SAME * SAME; n++) {
        c[n + 1] = 0.5 * (a[n] - b);
        a[n + 1] = 0.5 * (a[n] + b);
        b = sqrt(a[n] * b);
    }
    double phi = ldexp(0.5 * GW_PI * share, n), k_squared = (1 - k_prime) * (1 + k_prime);
    for (int i = n; i > 0; i--)
        phi = 0.5 * (phi + asin(c[i] / a[i] * sin(phi)));
    of->sn = sin(phi), of->cn = cos(phi);
    of->dn = sqrt(1 - k_squared * of->sn * of->sn);
    return 0.5 * GW_PI / a[n];
}

/* The functions at the sum of two arguments. */
static elliptic elliptic_sum(const elliptic *u, const elliptic *v, double k_squared)
{
    double by = 1 / (1 - k_squared * u->sn * u->sn * v->sn * v->sn);
    return (elliptic){by * (u->sn * v->cn * v->dn + v->sn * u->cn * u->dn),
                      by * (u->cn * v->cn - u->sn * u->dn * v->sn * v->dn),
                      by * (u->dn * v->dn - k_squared * u->sn * u->cn * v->sn * v->cn)};
}

/* a / |a| of a complex number; 1 of 0. */
static double complex unit_of(double complex a)
{
    double size = cabs(a);
    return size > 0 ? a / size : 1;
}

/*
 * In complex numbers, with z = (w + e) / (1 + e* w),
 *
 *   v + i w_r z = (A + B w) / (1 + e* w),   A = v + i w_r e,   B = i w_r + e* v
 *
 * The points are dense where the slip is small: with w = (A / |A|) (B* / |B|) exp(2 i phi), phi =
 * am(u) and k' = ||A| - |B|| / (|A| + |B|)
 *
 *   |A + B w| = (|A| + |B|) dn(u),   d phi = dn du
 *
 * and the trapezoidal rule over u converges exponentially.
 */
gw_rim_friction gw_rim_friction_of(const double slip[3], const double pressure[2])
{
    gw_rim_friction f = {{{0}}};
    const double complex e = pressure[0] + I * pressure[1], v = slip[0] + I * slip[1];
    const double complex a = v + I * slip[2] * e, b = I * slip[2] + conj(e) * v;
    double sum = cabs(a) + cabs(b), k_prime = fmax(fabs(cabs(a) - cabs(b)) / sum, STILL);
    const double complex turn = unit_of(a) * conj(unit_of(b));
    elliptic step, at = {0, 1, 1};
    double by = 2 * elliptic_at(2.0 / POINTS, k_prime, &step) / (GW_PI * POINTS * sum);
    const double ex = pressure[0], ey = pressure[1], tx = creal(turn), ty = cimag(turn);
    for (int i = 0; i < POINTS; i++) {
        double cosine = at.cn * at.cn - at.sn * at.sn, sine = 2 * at.sn * at.cn;
        double wx = tx * cosine - ty * sine, wy = tx * sine + ty * cosine;
        double far_x = 1 + ex * wx + ey * wy, far_y = ex * wy - ey * wx;
        double inverse = 1 / (far_x * far_x + far_y * far_y);
        double share = by * sqrt(far_x * far_x + far_y * far_y);
        double x = inverse * ((wx + ex) * far_x + (wy + ey) * far_y);
        double y = inverse * ((wy + ey) * far_x - (wx + ex) * far_y);
        at = elliptic_sum(&at, &step, (1 - k_prime) * (1 + k_prime));
        f.at[0][0] += share, f.at[0][2] -= share * y, f.at[1][2] += share * x;
    }
    f.at[1][1] = f.at[2][2] = f.at[0][0];
    f.at[2][0] = f.at[0][2], f.at[2][1] = f.at[1][2];
    return f;
}

bool gw_rim_solve(const double m[3][3], double x[3])
{
    gw_vec3 a = {m[0][0], m[1][0], m[2][0]}, b = {m[0][1], m[1][1], m[2][1]};
    gw_vec3 c = {m[0][2], m[1][2], m[2][2]}, r = {x[0], x[1], x[2]}, bc = gw_cross(b, c);
    double det = gw_dot(a, bc);
    if (!(fabs(det) > SINGULAR * gw_norm(a) * gw_norm(b) * gw_norm(c)))
        return false;
    x[0] = gw_dot(r, bc) / det;
    x[1] = gw_dot(a, gw_cross(r, c)) / det;
    x[2] = gw_dot(a, gw_cross(b, r)) / det;
    return true;
}

/*
 * The largest tau . xi / h(xi) over all slips, h = xi . A(xi) xi: by the iteration xi := A(xi)^-1
 * tau, each step of which is a lower bound. An upper one: a traction through the centre of pressure
 * counts with its size, and a couple about it is borne by the uniform part of the pressure, at
 * least (1 - e) / (1 + e) of it.
 */
double gw_rim_traction_size(const gw_system *s, int closure, gw_vec3 traction, gw_vec3 pressure,
                            double capacity)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_block *k = &s->blocks[closure];
    const gw_closure_row *t = &s->rows[k->first + k->position_rows];
    gw_vec3 x = gw_linear_part(t[0].on_a), y = gw_linear_part(t[1].on_a), n = gw_cross(x, y);
    double tau[3] = {gw_dot(traction, x), gw_dot(traction, y), gw_dot(traction, n)};
    double e[2] = {gw_dot(pressure, x), gw_dot(pressure, y)}, most = 0;
    double size = gw_norm(traction), slip[3] = {tau[0], tau[1], tau[2]};
    double wide = hypot(e[0], e[1]), twist = tau[2] - e[0] * tau[1] + e[1] * tau[0];
    double about = fabs(twist) * (1 + wide) / (1 - wide), bound = hypot(tau[0], tau[1]) + about;
    if (bound < SURE * capacity || about < SAME * capacity)
        return bound;
    for (int i = 0; i < ITERATIONS && size > 0; i++) {
        gw_rim_friction f = gw_rim_friction_of(slip, e);
        double h = 0, power = 0, next[3] = {tau[0], tau[1], tau[2]}, change = 0;
        for (int j = 0; j < 3; j++)
            for (int l = 0; l < 3; l++)
                h += slip[j] * f.at[j][l] * slip[l];
        for (int j = 0; j < 3; j++)
            power += tau[j] * slip[j];
        most = fmax(most, power / h);
        if (!gw_rim_solve((const double(*)[3])f.at, next))
            break;
        double by = 1 / sqrt(next[0] * next[0] + next[1] * next[1] + next[2] * next[2]);
        double was = 1 / sqrt(slip[0] * slip[0] + slip[1] * slip[1] + slip[2] * slip[2]);
        for (int j = 0; j < 3; j++) {
            change = fmax(change, fabs(by * next[j] - was * slip[j]));
            slip[j] = by * next[j];
        }
        if (change < SAME)
            break;
    }
    return most;
}

/* ---- changes of posture --------------------------------------------------------------------- */

double gw_rim_flat_surplus(const gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    if (!gw_rim_is_flat(s, closure) || s->is_offset)
        return INFINITY;
    return gw_contact_normal_force(s, closure, s->solution) -
           gw_norm(gw_rim_couple(s, closure, s->solution)) / radius_of(s, closure);
}

double gw_rim_tilt(const gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_def *c = &s->closures[closure];
    const gw_contact_mode *m = &s->unilateral->mode[closure];
    if (!gw_rim_may_lie(c) || m->posture == GW_RIM_FLAT || s->is_offset)
        return INFINITY;
    gw_vec3 n = normal_of(s, closure);
    if (m->posture == GW_RIM_TILTED)
        return gw_dot(gw_reject(n, axis_of(s, closure)), m->pin) - NEARLY_FLAT;
    gw_vec3 pin = gw_rotate(s->bodies[c->a].pose.q, gw_sub(m->pin, c->contact.on_a.point));
    return -gw_dot(n, pin) / radius_of(s, closure);
}

void gw_rim_begin(gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    gw_contact_mode *m = &s->unilateral->mode[closure];
    m->posture = GW_RIM_TILTED;
    if (!gw_rim_may_lie(&s->closures[closure]))
        return;
    double tilt = tilt_of(s, closure);
    if (tilt < FLAT)
        m->posture = GW_RIM_FLAT;
    else if (tilt < NEARLY_FLAT)
        gw_rim_pin(s, closure);
}

void gw_rim_tips(gw_system *s, int closure, gw_vec3 couple)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_row *r = &s->rows[s->blocks[closure].first];
    pin_to(s, closure, gw_cross(gw_linear_part(r->on_a), couple));
}

void gw_rim_pin(gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    if (tilt_of(s, closure) < TILTED) /* not turned by a right angle */
        pin_to(s, closure, gw_neg(normal_of(s, closure)));
}

bool gw_rim_begin_substep(gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    gw_contact_mode *m = &s->unilateral->mode[closure];
    const gw_closure_def *c = &s->closures[closure];
    if (!gw_rim_may_lie(c) || m->posture == GW_RIM_FLAT || s->is_offset)
        return false;
    gw_vec3 up = gw_reject(normal_of(s, closure), axis_of(s, closure));
    double tilt = gw_norm(up);
    bool was_pinned = m->posture == GW_RIM_PINNED;
    if (!c->unilateral && !was_pinned && tilt < NEARLY_FLAT) {
        gw_rim_begin(s, closure);
        return true;
    }
    if (was_pinned && !(tilt > TILTED))
        return false;
    m->posture = GW_RIM_TILTED;
    m->pin = gw_scale(1 / tilt, up);
    return was_pinned;
}

double gw_rim_longest_substep(const gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_def *c = &s->closures[closure];
    if (!gw_rim_may_lie(c) || s->unilateral->mode[closure].posture != GW_RIM_TILTED)
        return INFINITY;
    gw_vec3 spin = gw_sub(s->bodies[c->a].twist.w, gw_body_of(s, c->b)->twist.w);
    return FALLING * tilt_of(s, closure) / gw_norm(gw_cross(spin, axis_of(s, closure)));
}
