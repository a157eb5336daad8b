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
 * with C of the response of all slips (system_slip_response.c). Where this has no solution with
 * positive pivots (Painleve's paradox) the contacts jam: the caller ends their slip.
 *
 * The direction of a small slip changes quickly (at a rate |a| / |v|). One that grows follows the
 * direction of its acceleration (system_slip_group.c), which replaces v / |v| for a slip below
 * `onset`; one that reverses does so within GW_SLIP_STOPPING. Otherwise substeps are short enough
 * for the change of direction. A slip that would end within GW_SLIP_STOPPING is stopped. RT safe.
 */
#include "rt/dynamics/system_friction.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/dynamics/system_rim.h"

#define JAMMED         1e-3  /* smallest pivot of 1 - C mu */
#define HELD_SLIP      1e-8  /* m/s: a contact that others hold is at rest */
#define RIM_ONSET      0.5   /* GW_SLIP_ONSET of a flat rim */
#define SLOW           0.05  /* of friction: slip that grows more slowly has a larger onset */
#define SAME_DIRECTION 0.9   /* cosine */
#define SLOWING        0.7   /* of the time in which a slip would end: longest substep; */
#define RIM_TURNING    0.5   /* GW_SLIP_TURNING of a rim: friction slows it less along its slip */
#define PASSING        1e-4  /* s: substep in which the slip of a point of a flat rim may reverse */
#define PRESSURES      50    /* iterations of the centres of pressure of flat rims */
#define CENTRED        1e-14 /* of the radius: their change, */
#define ROUNDING       1e-11 /* and the same where it no longer becomes less */

bool gw_contact_may_slip(const gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_block *k = &s->blocks[closure];
    return s->closures[closure].unilateral && isfinite(s->closures[closure].friction) &&
           k->rows >= k->position_rows + 2;
}

const gw_closure_row *gw_rolling_rows(const gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_block *k = &s->blocks[closure];
    return &s->rows[k->first + k->position_rows];
}

gw_vec3 gw_contact_slip(const gw_system *s, int closure)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_row *t = gw_rolling_rows(s, closure);
    gw_vec3 axis[3];
    double lever[3];
    int count = gw_slip_axes(s, closure, axis, lever);
    gw_vec3 v = gw_scale(t[0].rate, axis[0]);
    for (int i = 1; i < count; i++)
        v = gw_mul_add(v, lever[i] * t[i].rate, axis[i]);
    return v;
}

double gw_contact_normal_force(const gw_system *s, int closure, const double *multipliers)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_block *k = &s->blocks[closure];
    for (int n = 0; n < k->active; n++)
        if (s->live[k->first + n] == 0)
            return s->rows[k->first].scale * multipliers[k->first + n];
    return 0;
}

gw_vec3 gw_contact_traction(const gw_system *s, int closure, const double *multipliers)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_closure_block *k = &s->blocks[closure];
    gw_vec3 sum = {0, 0, 0}, axis[3];
    double lever[3];
    int count = gw_slip_axes(s, closure, axis, lever);
    for (int n = 0; n < k->active; n++) {
        int tangent = s->live[k->first + n] - k->position_rows;
        if (tangent < 0 || tangent >= count)
            continue;
        double scale = gw_active_row(s, k, n)->scale;
        sum = gw_mul_add(sum, scale * multipliers[k->first + n] / lever[tangent], axis[tangent]);
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

/* The friction of a flat rim that slips along `by`, which it replaces. */
static void rim_friction_along(const gw_contact_friction *f, const gw_vec3 axis[3], double by[3])
{
    const double e[2] = {gw_dot(f->pressure, axis[0]), gw_dot(f->pressure, axis[1])};
    const double slip[3] = {by[0], by[1], by[2]};
    const gw_rim_friction r = gw_rim_friction_of(slip, e);
    for (int i = 0; i < 3; i++)
        by[i] = r.at[i][0] * slip[0] + r.at[i][1] * slip[1] + r.at[i][2] * slip[2];
}

/* Sets the row of friction of a contact where the bodies are. */
static void set_row(gw_system *s, int closure)
{
    gw_contact_friction *f = &s->unilateral->friction[closure];
    const gw_closure_row *t = gw_rolling_rows(s, closure);
    gw_vec3 axis[3];
    double lever[3];
    int count = gw_slip_axes(s, closure, axis, lever);
    gw_vec3 along = count == 3 ? f->along : gw_unit(gw_reject(f->along, axis[2]));
    gw_vec3 d = along;
    if (!s->unilateral->coarse)
        d = direction_of(f, gw_contact_slip(s, closure), along);
    double by[3] = {gw_dot(axis[0], d), gw_dot(axis[1], d), gw_dot(axis[2], d)};
    if (count == 3) {
        rim_friction_along(f, axis, by);
        *s->unilateral->effort += 1;
    }
    f->row = (gw_closure_row){.a = t->a, .b = t->b, .scale = 1};
    for (int i = 0; i < count; i++) {
        f->by[i] = by[i];
        by[i] *= lever[i];
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
    assert(closure >= 0 && closure < s->closure_count);
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

/* x := m^-1 x by Gaussian elimination; false: a pivot is too small. */
static bool solve_dense(int n, double *m, double *x)
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

/* The size of the friction of all contacts with their present directions, into `force`: of the
 * present columns. */
static void find_sizes(gw_system *s)
{
    gw_unilateral_contacts *u = s->unilateral;
    gw_slip_response *r = &u->response;
    int n = r->count;
    double *m = u->matrix, *lambda = u->normal;
    memcpy(lambda, r->normal, (size_t)n * sizeof *lambda);
    for (int j = 0; j < n; j++) {
        const gw_contact_friction *f = &u->friction[r->contact[j]];
        double mu = s->closures[r->contact[j]].friction;
        for (int i = 0; i < n; i++) {
            double more = 0;
            for (int k = r->first[j]; k < r->first[j + 1]; k++)
                more += (r->complete ? f->by[k - r->first[j]] : 1) * r->normal[k * n + i];
            m[i * n + j] = (i == j) - mu * more;
        }
    }
    u->jammed = !solve_dense(n, m, lambda);
    for (int i = 0; i < n && !u->jammed; i++) {
        u->friction[r->contact[i]].force = s->closures[r->contact[i]].friction * lambda[i];
        if (r->complete)
            gw_slip_take_friction(s, i);
    }
}

/* Sets the directions in which slips with an `onset` grow. */
static void find_directions(gw_system *s)
{
    gw_unilateral_contacts *u = s->unilateral;
    for (int i = 0; i < u->response.count; i++) {
        gw_friction_group(s, u->response.contact[i], &u->slip);
        if (gw_friction_is_first(&u->slip, u->response.contact[i]))
            gw_friction_find_growth(s, &u->slip);
    }
    for (int i = 0; i < u->response.count; i++)
        gw_slip_take_friction(s, i);
}

/* The next centres of pressure of flat rims, by those under the present friction. Returns how far
 * these are from the former ones, of the radius; 0 without any. */
static double find_pressures(gw_system *s)
{
    gw_unilateral_contacts *u = s->unilateral;
    double a[3], lambda, *x = u->pressures, *image = x + u->centres.most;
    int size = 0;
    for (int i = 0; i < u->response.count; i++) {
        gw_vec3 was = u->friction[u->response.contact[i]].pressure, moment;
        if (!gw_rim_spins(s, u->response.contact[i]))
            continue;
        gw_slip_motion(&u->response, i, a, &lambda, &moment);
        gw_vec3 is = gw_rim_centre(moment, lambda);
        x[size] = was.x, x[size + 1] = was.y, x[size + 2] = was.z;
        image[size] = is.x, image[size + 1] = is.y, image[size + 2] = is.z;
        size += 3;
    }
    if (u->centres.count == 0)
        gw_fixed_point_begin(&u->centres, size);
    double change = gw_fixed_point_next(&u->centres, x, image);
    for (int i = 0, at = 0; i < u->response.count; i++)
        if (gw_rim_spins(s, u->response.contact[i])) {
            gw_vec3 next = {x[at], x[at + 1], x[at + 2]};
            u->friction[u->response.contact[i]].pressure = gw_rim_centre(next, 1);
            at += 3;
        }
    return change;
}

void gw_friction_find(gw_system *s)
{
    gw_unilateral_contacts *u = s->unilateral;
    bool complete = false;
    double change = INFINITY;
    for (int i = 0; i < s->closure_count; i++) {
        if (u->mode[i].phase != GW_CONTACT_SLIPS)
            continue;
        set_row(s, i);
        complete = complete || gw_rim_spins(s, i) || u->friction[i].onset > 0;
    }
    gw_slip_find_response(s, complete);
    u->centres.count = 0;
    if (u->response.complete)
        find_directions(s);
    for (int i = 0; i < PRESSURES && change > CENTRED; i++) {
        for (int n = 0; n < u->response.count && u->response.complete; n++)
            set_row(s, u->response.contact[n]);
        find_sizes(s);
        if (u->jammed || !u->response.complete)
            break;
        double was = change;
        change = find_pressures(s);
        if (change < ROUNDING && change > 0.5 * was)
            break;
    }
}

/* The least slip of a point of a flat rim (m/s). */
static double least_slip_of(const gw_system *s, int closure)
{
    gw_vec3 axis[3], v = gw_contact_slip(s, closure);
    double lever[3];
    gw_slip_axes(s, closure, axis, lever);
    return fabs(gw_norm(gw_reject(v, axis[2])) - fabs(gw_dot(v, axis[2])));
}

double gw_friction_onset(const gw_system *s, int closure, double excess, double resistance)
{
    assert(closure >= 0 && closure < s->closure_count);
    const gw_contact_friction *f = &s->unilateral->friction[closure];
    double along = gw_dot(f->growth, f->along);
    bool slow = excess > -GW_SLIP_TIE * resistance && excess < SLOW * resistance;
    bool ready = f->begin <= GW_SLIP_ONSET * s->dt * resistance || along > SAME_DIRECTION;
    if (f->begin > GW_NO_SLIP && along < 0)
        return GW_SLIP_STOPPING * resistance;
    return (slow && ready ? GW_SLIP_SLOW_ONSET : GW_SLIP_ONSET) * s->dt * resistance;
}

double gw_friction_substep(gw_system *s, int closure, gw_vec3 a, double excess, double resistance)
{
    assert(closure >= 0 && closure < s->closure_count);
    gw_contact_friction *f = &s->unilateral->friction[closure];
    bool grows = excess > -GW_SLIP_TIE * resistance, spins = gw_rim_spins(s, closure);
    double speed = f->begin;
    if (resistance == 0 && speed <= HELD_SLIP) {
        f->onset = HELD_SLIP;
        return INFINITY;
    }
    if (!grows && speed <= GW_SLIP_STOPPING * resistance)
        return 0;
    bool reverses = speed > GW_NO_SLIP && gw_dot(f->growth, f->along) < 0;
    double most = gw_friction_onset(s, closure, excess, resistance);
    double onset = fmax(most, GW_SLIP_ONSET * s->dt * resistance);
    if (spins) {
        onset = RIM_ONSET * s->dt * resistance;
        most = reverses ? most : onset;
    }
    if (speed <= GW_NO_SLIP || (reverses && grows && speed <= GW_SLIP_STOPPING * resistance))
        f->along = f->growth;
    f->onset = grows && speed <= most ? onset : 0;
    if (f->onset > 0)
        return spins ? RIM_TURNING * f->onset / resistance : INFINITY;
    double longest = INFINITY; /* but for turning_rate() (system_slip_group.c) */
    if (gw_rim_may_lie(&s->closures[closure]))
        longest = RIM_TURNING * speed / resistance;
    if (spins)
        longest = fmin(longest, fmax(PASSING, least_slip_of(s, closure) / resistance));
    return gw_dot(a, f->along) > 0 ? longest : fmin(longest, SLOWING * speed / gw_norm(a));
}
