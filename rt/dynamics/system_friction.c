/*
 * Coulomb friction of the unilateral contacts of a system that slip. The rows of rolling are
 * inactive; instead acts, with v the slip and lambda the multiplier along the normal,
 *
 *   f = -mu lambda d,   d = v / |v|
 *
 * lambda is an affine function of the forces F = mu lambda of all contacts that slip,
 *
 *   lambda = lambda_0 + C F,   (1 - C mu) lambda = lambda_0
 *
 * with C by one solution of the rows per contact. Where this has no solution with positive pivots
 * (Painleve's paradox) the contacts jam: the caller ends their slip.
 *
 * The direction of a small slip changes quickly (at a rate |a| / |v|). One that grows follows the
 * direction of its acceleration, with N the inverse inertia along the tangents:
 *
 *   a_0 - F N d = c d,   c > 0
 *
 * which replaces v / |v| for a slip below `onset`; one that reverses does so within STOPPING.
 * Otherwise substeps are short enough for the change of direction. A slip that would end within
 * STOPPING is stopped. RT safe.
 */
#include "rt/dynamics/system_friction.h"

#include <math.h>
#include <string.h>

#include "rt/dynamics/system_unilateral.h"

#define JAMMED     1e-3 /* smallest pivot of 1 - C mu */
#define DIRECTIONS 50   /* iterations of the direction of a slip that grows */
#define SAME       1e-15
#define HELD       1e-10 /* of the inverse inertia: rounding, the other rows hold it */
#define HELD_SLIP  1e-8  /* m/s: a contact that others hold is at rest */
#define ONSET      0.06  /* of a step's slip by friction alone: below, `growth` */
#define TIE        1e-9  /* of friction: rounding of the acceleration as slip begins */
#define STOPPING   1e-6  /* s: slip that would end within it is stopped */
#define SLOWING    0.7   /* of the time in which a slip would end: longest substep; */
#define TURNING    2.0   /* the same of that in which friction alone would end it */

bool gw_contact_may_slip(const gw_system *s, int closure)
{
    const gw_closure_block *k = &s->blocks[closure];
    return s->closures[closure].unilateral && isfinite(s->closures[closure].friction) &&
           k->rows >= k->position_rows + 2;
}

/* The two rows of rolling along tangents. */
static const gw_closure_row *tangents_of(const gw_system *s, int closure)
{
    const gw_closure_block *k = &s->blocks[closure];
    return &s->rows[k->first + k->position_rows];
}

gw_vec3 gw_contact_slip(const gw_system *s, int closure)
{
    const gw_closure_row *t = tangents_of(s, closure);
    gw_vec3 v = gw_scale(t[0].rate, gw_linear_part(t[0].on_a));
    return gw_mul_add(v, t[1].rate, gw_linear_part(t[1].on_a));
}

double gw_contact_normal_force(const gw_system *s, int closure, const double *multipliers)
{
    const gw_closure_block *k = &s->blocks[closure];
    for (int n = 0; n < k->active; n++)
        if (s->live[k->first + n] == 0)
            return s->rows[k->first].scale * multipliers[k->first + n];
    return 0;
}

gw_vec3 gw_contact_traction(const gw_system *s, int closure, const double *multipliers)
{
    const gw_closure_block *k = &s->blocks[closure];
    gw_vec3 sum = {0, 0, 0};
    for (int n = 0; n < k->active; n++) {
        int tangent = s->live[k->first + n] - k->position_rows;
        if (tangent == 0 || tangent == 1)
            sum = gw_mul_add(sum, multipliers[k->first + n],
                             gw_linear_part(gw_active_row(s, k, n)->on_a));
    }
    return sum;
}

/* ---- direction ------------------------------------------------------------------------------ */

static gw_vec3 direction_of(const gw_contact_friction *f, gw_vec3 v, gw_vec3 along)
{
    double rest = f->onset > 0 ? fmax(0, 1 - gw_norm(v) / f->onset) : 0;
    if (f->onset > 0)
        v = gw_mul_add(v, f->onset * rest * rest, f->growth);
    return gw_dot(v, along) > 0 ? gw_unit(v) : along;
}

/* The row of a contact's friction where the bodies are. */
static void set_row(gw_system *s, int closure)
{
    gw_contact_friction *f = &s->unilateral->friction[closure];
    const gw_closure_row *t = tangents_of(s, closure);
    gw_vec3 x = gw_linear_part(t[0].on_a), y = gw_linear_part(t[1].on_a), n = gw_cross(x, y);
    gw_vec3 along = gw_unit(gw_reject(f->along, n));
    gw_vec3 d = direction_of(f, gw_contact_slip(s, closure), along);
    const double by[2] = {gw_dot(x, d), gw_dot(y, d)};
    f->row = (gw_closure_row){.a = t->a, .b = t->b, .scale = 1};
    for (int i = 0; i < 2; i++) {
        for (int l = 0; l < 6; l++)
            f->row.on_a[l] += by[i] * t[i].on_a[l], f->row.on_b[l] += by[i] * t[i].on_b[l];
        for (int l = 0; l < 3; l++)
            f->row.flat_a[l] += by[i] * t[i].flat_a[l], f->row.flat_b[l] += by[i] * t[i].flat_b[l];
        f->row.rate += by[i] * t[i].rate;
        f->row.bias += by[i] * t[i].bias;
    }
}

/* ---- forces --------------------------------------------------------------------------------- */

static void push(gw_system_body *k, double by, const double on[6], const double flat[3])
{
    for (int l = 0; l < 3 && k->flat.plane; l++)
        k->flat.force[l] += by * flat[l];
    for (int l = 0; l < 6 && !k->flat.plane; l++)
        k->force[l] += by * on[l];
}

void gw_friction_load(gw_system *s)
{
    for (int i = 0; i < s->closure_count && s->unilateral->slipping > 0; i++) {
        double by;
        const gw_closure_row *r = gw_friction_row(s, i, &by);
        if (!r)
            continue;
        push(&s->bodies[r->a], by, r->on_a, r->flat_a);
        if (r->b >= 0)
            push(&s->bodies[r->b], by, r->on_b, r->flat_b);
    }
}

const gw_closure_row *gw_friction_row(const gw_system *s, int closure, double *multiplier)
{
    const gw_contact_friction *f = &s->unilateral->friction[closure];
    if (s->unilateral->mode[closure].phase != GW_CONTACT_SLIPS)
        return NULL;
    *multiplier = -f->force;
    return &f->row;
}

double gw_friction_power(const gw_system *s)
{
    double sum = 0, by;
    for (int i = 0; i < s->closure_count && s->unilateral->slipping > 0; i++) {
        const gw_closure_row *r = gw_friction_row(s, i, &by);
        sum -= r ? by * r->rate : 0;
    }
    return sum;
}

/* x := m^-1 x by Gaussian elimination; false: a pivot below JAMMED. */
static bool solve(int n, double *m, double *x)
{
    for (int at = 0; at < n; at++) {
        if (!(m[at * n + at] > JAMMED))
            return false;
        for (int i = at + 1; i < n; i++) {
            double by = m[i * n + at] / m[at * n + at];
            for (int j = at; j < n; j++)
                m[i * n + j] -= by * m[at * n + j];
            x[i] -= by * x[at];
        }
    }
    for (int at = n - 1; at >= 0; at--) {
        for (int j = at + 1; j < n; j++)
            x[at] -= m[at * n + j] * x[j];
        x[at] /= m[at * n + at];
    }
    return true;
}

/* ---- a slip that grows ---------------------------------------------------------------------- */

static double acceleration_along(const gw_system_body *k, const double on[6])
{
    gw_twist bias = gw_bias_acceleration_of(k), own = gw_acceleration_of(k);
    return gw_dot(gw_linear_part(on), gw_add(bias.v, own.v)) +
           gw_dot(gw_angular_part(on), gw_add(bias.w, own.w));
}

static gw_vec3 acceleration_of_slip(const gw_system *s, int closure)
{
    const gw_closure_row *row = tangents_of(s, closure);
    gw_vec3 a = {0, 0, 0};
    for (int i = 0; i < 2; i++, row++) {
        double along = row->bias + acceleration_along(&s->bodies[row->a], row->on_a);
        if (row->b != GW_GROUND)
            along += acceleration_along(gw_body_of(s, row->b), row->on_b);
        a = gw_mul_add(a, along, gw_linear_part(row->on_a));
    }
    return a;
}

/* What a contact's friction does along its tangents, with the friction of the others as it is: for
 * a force -F d, slip acceleration = free - F inverse d, lambda = lambda + F push . d. */
typedef struct tangential_response {
    double free[2], inverse[2][2]; /* m/s^2; 1/kg */
    double lambda, push[2];        /* N; N/N */
    bool line;                     /* other rows hold it along one tangent, */
    bool held;                     /* or along both */
} tangential_response;

static tangential_response find_response(gw_system *s, int closure)
{
    gw_contact_friction *f = &s->unilateral->friction[closure], kept = *f;
    const gw_closure_row *t = tangents_of(s, closure);
    const gw_vec3 x = gw_linear_part(t[0].on_a), y = gw_linear_part(t[1].on_a);
    tangential_response r = {.lambda = 0};
    double unit = fmax(1, fabs(kept.force));
    for (int k = 0; k < 3; k++) {
        f->force = k > 0 ? unit : 0;
        f->row = k > 0 ? t[k - 1] : f->row;
        gw_system_solve_rows(s);
        gw_tree_accelerate(s);
        gw_vec3 slip = acceleration_of_slip(s, closure);
        double a[2] = {gw_dot(slip, x), gw_dot(slip, y)};
        double lambda = gw_contact_normal_force(s, closure, s->solution);
        if (k == 0) {
            r.free[0] = a[0], r.free[1] = a[1], r.lambda = lambda;
            continue;
        }
        for (int i = 0; i < 2; i++)
            r.inverse[i][k - 1] = (r.free[i] - a[i]) / unit;
        r.push[k - 1] = (lambda - r.lambda) / unit;
    }
    *f = kept;
    double trace = r.inverse[0][0] + r.inverse[1][1];
    double det = r.inverse[0][0] * r.inverse[1][1] - r.inverse[0][1] * r.inverse[1][0];
    r.line = !(det > HELD * trace * trace);
    r.held = !(trace > HELD / s->total_mass);
    return r;
}

/* The direction of (F N + c) ^-1 free, along the only free tangent of a line; false: none. */
static bool next_direction(const tangential_response *r, double force, double c, double d[2])
{
    const double(*n)[2] = r->inverse, *a = r->free;
    int widest = n[1][1] > n[0][0];
    double m[2][2] = {{force * n[0][0] + c, force * n[0][1]},
                      {force * n[1][0], force * n[1][1] + c}};
    double det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    double next[2] = {m[1][1] * a[0] - m[0][1] * a[1], m[0][0] * a[1] - m[1][0] * a[0]};
    if (r->line) {
        double sign = copysign(1, n[widest][0] * a[0] + n[widest][1] * a[1]);
        next[0] = sign * n[widest][0], next[1] = sign * n[widest][1];
    }
    double size = hypot(next[0], next[1]);
    if (!(r->line || det > 0) || !(size > 0))
        return false;
    d[0] = next[0] / size, d[1] = next[1] / size;
    return true;
}

/* Sets the direction in which a contact's slip grows, and F |N d| (m/s^2) of the direction d in
 * which it slips: the growing one may jam. Returns c, < 0 where the contact could stick. Where the
 * other rows hold the contact F |N d| is 0, and friction keeps its direction. */
static double find_growth(gw_system *s, int closure, double *resistance)
{
    gw_contact_friction *f = &s->unilateral->friction[closure];
    const gw_closure_row *t = tangents_of(s, closure);
    const gw_vec3 x = gw_linear_part(t[0].on_a), y = gw_linear_part(t[1].on_a);
    const tangential_response r = find_response(s, closure);
    double mu = s->closures[closure].friction, excess = -INFINITY;
    double d[2] = {gw_dot(x, f->along), gw_dot(y, f->along)};
    *resistance = 0;
    f->growth = f->along;
    for (int i = 0; i < DIRECTIONS && !r.held; i++) {
        double more = mu * r.push[0] * d[0] + mu * r.push[1] * d[1], before[2] = {d[0], d[1]};
        double force = mu * r.lambda / fmax(JAMMED, 1 - more);
        if (i == 0)
            *resistance = force * hypot(r.inverse[0][0] * d[0] + r.inverse[0][1] * d[1],
                                        r.inverse[1][0] * d[0] + r.inverse[1][1] * d[1]);
        if (!next_direction(&r, force, fmax(0, excess), d))
            break;
        double resists = d[0] * (r.inverse[0][0] * d[0] + r.inverse[0][1] * d[1]) +
                         d[1] * (r.inverse[1][0] * d[0] + r.inverse[1][1] * d[1]);
        excess = d[0] * r.free[0] + d[1] * r.free[1] - force * resists;
        f->growth = gw_mul_add(gw_scale(d[0], x), d[1], y);
        if (hypot(d[0] - before[0], d[1] - before[1]) < SAME)
            break;
    }
    return excess;
}

void gw_friction_find(gw_system *s)
{
    gw_unilateral_contacts *u = s->unilateral;
    int count = 0, *slips = u->list;
    double *m = u->matrix, *lambda = u->normal;
    for (int i = 0; i < s->closure_count; i++)
        if (u->mode[i].phase == GW_CONTACT_SLIPS)
            set_row(s, slips[count++] = i);
    for (int i = 0; i < count; i++) {
        if (!(u->friction[slips[i]].onset > 0))
            continue;
        double resistance;
        find_growth(s, slips[i], &resistance);
        set_row(s, slips[i]);
    }
    for (int i = 0; i < count; i++)
        u->friction[slips[i]].force = 0;
    gw_system_solve_rows(s);
    for (int i = 0; i < count; i++)
        lambda[i] = gw_contact_normal_force(s, slips[i], s->solution);
    for (int j = 0; j < count; j++) {
        gw_contact_friction *f = &u->friction[slips[j]];
        double unit = fmax(1, fabs(lambda[j])), mu = s->closures[slips[j]].friction;
        f->force = unit;
        gw_system_solve_rows(s);
        f->force = 0;
        for (int i = 0; i < count; i++) {
            double more = gw_contact_normal_force(s, slips[i], s->solution) - lambda[i];
            m[i * count + j] = (i == j) - mu * more / unit;
        }
    }
    u->jammed = !solve(count, m, lambda);
    for (int i = 0; i < count && !u->jammed; i++)
        u->friction[slips[i]].force = s->closures[slips[i]].friction * lambda[i];
}

double gw_friction_begin_substep(gw_system *s, int closure)
{
    gw_contact_friction *f = &s->unilateral->friction[closure];
    double resistance, speed = f->begin;
    gw_vec3 a = acceleration_of_slip(s, closure);
    double excess = find_growth(s, closure, &resistance);
    if (resistance == 0 && speed <= HELD_SLIP) {
        f->onset = HELD_SLIP;
        return INFINITY;
    }
    bool grows = excess > -TIE * resistance;
    if (!grows && speed <= STOPPING * resistance)
        return 0;
    bool reverses = speed > GW_NO_SLIP && gw_dot(f->growth, f->along) < 0;
    if (speed <= GW_NO_SLIP || (reverses && grows && speed <= STOPPING * resistance))
        f->along = f->growth;
    double most = (reverses ? STOPPING : ONSET * s->dt) * resistance;
    f->onset = grows && speed <= most ? ONSET * s->dt * resistance : 0;
    if (f->onset > 0)
        return INFINITY;
    double longest = TURNING * speed / resistance;
    return gw_dot(a, f->along) > 0 ? longest : fmin(longest, SLOWING * speed / gw_norm(a));
}
