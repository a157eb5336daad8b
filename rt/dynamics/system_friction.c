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
 * which replaces v / |v| for a slip below `onset`; one that reverses does so within
 * GW_SLIP_STOPPING. Otherwise substeps are short enough for the change of direction. A slip that
 * would end within GW_SLIP_STOPPING is stopped. RT safe.
 */
#include "rt/dynamics/system_friction.h"

#include <math.h>
#include <string.h>

#include "rt/dynamics/system_rim.h"

#define JAMMED         1e-3 /* smallest pivot of 1 - C mu */
#define DIRECTIONS     50   /* iterations of the direction of a slip that grows */
#define SAME           1e-15
#define RIM_SAME       1e-10
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
    const gw_closure_block *k = &s->blocks[closure];
    return s->closures[closure].unilateral && isfinite(s->closures[closure].friction) &&
           k->rows >= k->position_rows + 2;
}

const gw_closure_row *gw_rolling_rows(const gw_system *s, int closure)
{
    const gw_closure_block *k = &s->blocks[closure];
    return &s->rows[k->first + k->position_rows];
}

/* The axes x, y, n of a contact's slip, along which `rows` of it act by `lever`; the number of
 * these rows. */
static int axes_of(const gw_system *s, int closure, gw_vec3 axis[3], double lever[3])
{
    const gw_closure_row *t = gw_rolling_rows(s, closure);
    bool spins = gw_rim_spins(s, closure);
    axis[0] = gw_linear_part(t[0].on_a), axis[1] = gw_linear_part(t[1].on_a);
    axis[2] = gw_cross(axis[0], axis[1]);
    lever[0] = lever[1] = 1;
    lever[2] = s->closures[closure].contact.on_a.radius;
    return spins ? 3 : 2;
}

gw_vec3 gw_contact_slip(const gw_system *s, int closure)
{
    const gw_closure_row *t = gw_rolling_rows(s, closure);
    gw_vec3 axis[3];
    double lever[3];
    int count = axes_of(s, closure, axis, lever);
    gw_vec3 v = gw_scale(t[0].rate, axis[0]);
    for (int i = 1; i < count; i++)
        v = gw_mul_add(v, lever[i] * t[i].rate, axis[i]);
    return v;
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
    gw_vec3 sum = {0, 0, 0}, axis[3];
    double lever[3];
    int count = axes_of(s, closure, axis, lever);
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

void gw_friction_set_row(gw_system *s, int closure)
{
    gw_contact_friction *f = &s->unilateral->friction[closure];
    const gw_closure_row *t = gw_rolling_rows(s, closure);
    gw_vec3 axis[3];
    double lever[3];
    int count = axes_of(s, closure, axis, lever);
    gw_vec3 along = count == 3 ? f->along : gw_unit(gw_reject(f->along, axis[2]));
    gw_vec3 d = direction_of(f, gw_contact_slip(s, closure), along);
    double by[3] = {gw_dot(axis[0], d), gw_dot(axis[1], d), gw_dot(axis[2], d)};
    if (count == 3)
        rim_friction_along(f, axis, by);
    f->row = (gw_closure_row){.a = t->a, .b = t->b, .scale = 1};
    for (int i = 0; i < count; i++) {
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

bool gw_friction_solve(int n, double *m, double *x)
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

gw_vec3 gw_contact_slip_acceleration(const gw_system *s, int closure)
{
    const gw_closure_row *row = gw_rolling_rows(s, closure);
    gw_vec3 a = {0, 0, 0}, axis[3];
    double lever[3];
    int count = axes_of(s, closure, axis, lever);
    for (int i = 0; i < count; i++, row++) {
        double along = row->bias + acceleration_along(&s->bodies[row->a], row->on_a);
        if (row->b != GW_GROUND)
            along += acceleration_along(gw_body_of(s, row->b), row->on_b);
        a = gw_mul_add(a, lever[i] * along, axis[i]);
    }
    return a;
}

/* What a contact's friction does along its axes, with the friction of the others as it is: for a
 * force -F d, slip acceleration = free - F inverse d, lambda = lambda + F push . d. */
typedef struct tangential_response {
    double free[3], inverse[3][3]; /* m/s^2; 1/kg */
    double lambda, push[3];        /* N; N/N */
    bool line;                     /* other rows hold it along one tangent, */
    bool held;                     /* or along both */
} tangential_response;

static tangential_response find_response(gw_system *s, int closure)
{
    gw_contact_friction *f = &s->unilateral->friction[closure], kept = *f;
    const gw_closure_row *t = gw_rolling_rows(s, closure);
    gw_vec3 axis[3];
    double lever[3];
    int count = axes_of(s, closure, axis, lever);
    tangential_response r = {.lambda = 0};
    double unit = fmax(1, fabs(kept.force));
    for (int k = 0; k <= count; k++) {
        f->force = k == 0 ? 0 : k == 3 ? unit * lever[2] : unit;
        f->row = k > 0 ? t[k - 1] : f->row;
        gw_system_solve_rows(s);
        gw_tree_accelerate(s);
        gw_vec3 slip = gw_contact_slip_acceleration(s, closure);
        double a[3] = {gw_dot(slip, axis[0]), gw_dot(slip, axis[1]), gw_dot(slip, axis[2])};
        double lambda = gw_contact_normal_force(s, closure, gw_contact_multipliers(s));
        if (k == 0) {
            memcpy(r.free, a, sizeof a);
            r.lambda = lambda;
            continue;
        }
        for (int i = 0; i < count; i++)
            r.inverse[i][k - 1] = (r.free[i] - a[i]) / unit;
        r.push[k - 1] = (lambda - r.lambda) / unit;
    }
    *f = kept;
    double trace = r.inverse[0][0] + r.inverse[1][1] + r.inverse[2][2];
    double det = r.inverse[0][0] * r.inverse[1][1] - r.inverse[0][1] * r.inverse[1][0];
    r.line = !(det > GW_SLIP_HELD * trace * trace);
    r.held = !(trace > GW_SLIP_HELD / s->total_mass);
    return r;
}

/* The direction of (F N + c) ^-1 free, along the only free tangent of a line; false: none. */
static bool next_direction(const tangential_response *r, double force, double c, double d[2])
{
    const double(*n)[3] = r->inverse, *a = r->free;
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

/* What friction does at a flat rim that slips along d: A(d) d into `on`, N A(d) d into `resists`.
 * Returns F (N). */
static double rim_resistance(const gw_system *s, int closure, const tangential_response *r,
                             const gw_rim_friction *a, const double d[3], double resists[3])
{
    double mu = s->closures[closure].friction, more = 0, on[3];
    for (int j = 0; j < 3; j++) {
        on[j] = a->at[j][0] * d[0] + a->at[j][1] * d[1] + a->at[j][2] * d[2];
        more += mu * r->push[j] * on[j];
    }
    for (int j = 0; j < 3; j++)
        resists[j] = r->inverse[j][0] * on[0] + r->inverse[j][1] * on[1] + r->inverse[j][2] * on[2];
    return mu * r->lambda / fmax(JAMMED, 1 - more);
}

/* d := (F N A + c)^-1 free and its length; returns the change, < 0: there is none. */
static double next_rim_direction(const tangential_response *r, const gw_rim_friction *a,
                                 double force, double c, double d[3])
{
    double m[3][3], next[3] = {r->free[0], r->free[1], r->free[2]}, change = 0;
    for (int j = 0; j < 3; j++)
        for (int l = 0; l < 3; l++) {
            m[j][l] = (j == l) * c;
            for (int k = 0; k < 3; k++)
                m[j][l] += force * r->inverse[j][k] * a->at[k][l];
        }
    if (!gw_rim_solve((const double(*)[3])m, next))
        return -1;
    double size = gw_norm(gw_v3(next[0], next[1], next[2]));
    if (!(size > 0))
        return -1;
    for (int j = 0; j < 3; j++) {
        change = fmax(change, fabs(next[j] / size - d[j]));
        d[j] = next[j] / size;
    }
    return change;
}

/* find_growth() of a flat rim that may spin: a_0 - F N A(d) d = c d, by iteration from the growth
 * that was found last. */
static double find_rim_growth(gw_system *s, int closure, const tangential_response *r,
                              double *resistance)
{
    gw_contact_friction *f = &s->unilateral->friction[closure];
    double excess = -INFINITY, lever[3], resists[3];
    gw_vec3 axis[3], was = f->growth;
    axes_of(s, closure, axis, lever);
    const double e[2] = {gw_dot(f->pressure, axis[0]), gw_dot(f->pressure, axis[1])};
    double d[3] = {gw_dot(axis[0], f->along), gw_dot(axis[1], f->along), gw_dot(axis[2], f->along)};
    double pull = gw_norm(gw_v3(r->free[0], r->free[1], r->free[2]));
    gw_rim_friction a = gw_rim_friction_of(d, e);
    double force = rim_resistance(s, closure, r, &a, d, resists);
    *resistance = r->held ? 0 : force * gw_norm(gw_v3(resists[0], resists[1], resists[2]));
    f->growth = f->along;
    if (!(pull > GW_SLIP_TIE * *resistance) || r->held)
        return excess;
    if (gw_norm2(was) > 0.5)
        d[0] = gw_dot(axis[0], was), d[1] = gw_dot(axis[1], was), d[2] = gw_dot(axis[2], was);
    for (int i = 0; i < DIRECTIONS; i++, s->unilateral->effort++) {
        a = gw_rim_friction_of(d, e);
        force = rim_resistance(s, closure, r, &a, d, resists);
        excess = 0;
        for (int j = 0; j < 3; j++)
            excess += d[j] * (r->free[j] - force * resists[j]);
        double change = next_rim_direction(r, &a, force, fmax(excess, GW_SLIP_HELD * pull), d);
        if (change < 0)
            break;
        f->growth = gw_mul_add(gw_mul_add(gw_scale(d[0], axis[0]), d[1], axis[1]), d[2], axis[2]);
        if (change < RIM_SAME)
            break;
    }
    return excess;
}

/* Sets the direction in which a contact's slip grows, and F |N d| (m/s^2) of the direction d in
 * which it slips: the growing one may jam. Returns c, < 0 where the contact could stick. Where the
 * other rows hold the contact F |N d| is 0, and friction keeps its direction. */
static double find_growth(gw_system *s, int closure, double *resistance)
{
    gw_contact_friction *f = &s->unilateral->friction[closure];
    const gw_closure_row *t = gw_rolling_rows(s, closure);
    const gw_vec3 x = gw_linear_part(t[0].on_a), y = gw_linear_part(t[1].on_a);
    const tangential_response r = find_response(s, closure);
    if (gw_rim_spins(s, closure))
        return find_rim_growth(s, closure, &r, resistance);
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

/* Sets the centres of pressure of flat rims under the present friction. Returns the largest change,
 * of the radius. */
static double find_pressures(gw_system *s, int count, const int *slips)
{
    gw_unilateral_contacts *u = s->unilateral;
    bool solved = false;
    double most = 0;
    for (int i = 0; i < count; i++) {
        if (!gw_rim_spins(s, slips[i]))
            continue;
        if (!solved)
            gw_system_solve_rows(s);
        solved = true;
        gw_vec3 was = u->friction[slips[i]].pressure;
        u->friction[slips[i]].pressure = gw_rim_pressure(s, slips[i], gw_contact_multipliers(s));
        most = fmax(most, gw_distance(was, u->friction[slips[i]].pressure));
    }
    return most;
}

/* gw_friction_find() for the present centres of pressure; the contacts that slip into `slips`. */
static int find_forces(gw_system *s, int *slips)
{
    gw_unilateral_contacts *u = s->unilateral;
    int count = 0;
    double *m = u->matrix, *lambda = u->normal;
    for (int i = 0; i < s->closure_count; i++)
        if (u->mode[i].phase == GW_CONTACT_SLIPS)
            gw_friction_set_row(s, slips[count++] = i);
    for (int i = 0; i < count; i++) {
        double resistance;
        u->slip.count = gw_friction_group(s, slips[i], u->slip.contact);
        if (u->slip.count > 1 && gw_friction_is_first(&u->slip, slips[i]))
            gw_friction_find_growth(s, &u->slip);
        if (u->slip.count > 1 || !(u->friction[slips[i]].onset > 0))
            continue;
        find_growth(s, slips[i], &resistance);
        gw_friction_set_row(s, slips[i]);
    }
    for (int i = 0; i < count; i++)
        u->friction[slips[i]].force = 0;
    gw_system_solve_rows(s);
    const double *multipliers = gw_contact_multipliers(s);
    for (int i = 0; i < count; i++)
        lambda[i] = gw_contact_normal_force(s, slips[i], multipliers);
    for (int j = 0; j < count; j++) {
        gw_contact_friction *f = &u->friction[slips[j]];
        double unit = fmax(1, fabs(lambda[j])), mu = s->closures[slips[j]].friction;
        f->force = unit;
        gw_system_solve_rows(s);
        multipliers = gw_contact_multipliers(s);
        f->force = 0;
        for (int i = 0; i < count; i++) {
            double more = gw_contact_normal_force(s, slips[i], multipliers) - lambda[i];
            m[i * count + j] = (i == j) - mu * more / unit;
        }
    }
    u->jammed = !gw_friction_solve(count, m, lambda);
    for (int i = 0; i < count && !u->jammed; i++)
        u->friction[slips[i]].force = s->closures[slips[i]].friction * lambda[i];
    return count;
}

void gw_friction_find(gw_system *s)
{
    double change = INFINITY;
    for (int i = 0; i < PRESSURES && change > CENTRED; i++) {
        int count = find_forces(s, s->unilateral->list);
        if (s->unilateral->jammed)
            break;
        double was = change;
        change = find_pressures(s, count, s->unilateral->list);
        if (change < ROUNDING && change > 0.5 * was)
            break;
    }
}

/* The least slip of a point of a flat rim (m/s). */
static double least_slip_of(const gw_system *s, int closure)
{
    gw_vec3 axis[3], v = gw_contact_slip(s, closure);
    double lever[3];
    axes_of(s, closure, axis, lever);
    return fabs(gw_norm(gw_reject(v, axis[2])) - fabs(gw_dot(v, axis[2])));
}

double gw_friction_onset(const gw_system *s, int closure, double excess, double resistance)
{
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
    bool rim = gw_rim_may_lie(&s->closures[closure]);
    double longest = (rim ? RIM_TURNING : GW_SLIP_TURNING) * speed / resistance;
    if (spins)
        longest = fmin(longest, fmax(PASSING, least_slip_of(s, closure) / resistance));
    return gw_dot(a, f->along) > 0 ? longest : fmin(longest, SLOWING * speed / gw_norm(a));
}

double gw_friction_begin_substep(gw_system *s, int closure)
{
    double resistance;
    gw_vec3 a = gw_contact_slip_acceleration(s, closure);
    double excess = find_growth(s, closure, &resistance);
    return gw_friction_substep(s, closure, a, excess, resistance);
}
