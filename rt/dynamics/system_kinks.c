/*
 * Points of closures on free-form curves and surfaces with kinks (the tangent or normal is
 * discontinuous) and bends (the curvature is discontinuous). An integrator is not accurate across
 * either: rows use one smooth part, extrapolated by its polynomials, and a substep ends where the
 * point reaches the end of the part. RT safe.
 *
 * At a kink two parts A and B meet, with rows J_A, J_B, in addition to all other rows. A point
 * crosses it as it would a fillet of vanishing radius: in the mass metric M the velocity u_E that
 * both rows allow is kept, and so is the kinetic energy of the remainder u_A,
 *
 *   J_A u = 0,   u = u_E + u_A,   u' = u_E + c (|u_A| / |c|),   c = D^-1 P_B F,
 *   |u_A|^2 = r . K^-1 r,  r = [J_A; J_B] u,      |c|^2 = F . (the point's velocity by c)
 *
 * with F = n_A on a surface, the tangent of B on a curve, so that c is M-orthogonal to the
 * velocities that both rows allow; the sign of c is that by which the parameter enters B. A point
 * that crosses back at once is pressed onto the kink from both sides: both rows then hold it, u' =
 * u_E, and the energy of u_A is dissipated. It is released when one of the rows would have to pull.
 * With F_A, F_B the rows' forces on the point and d_A, d_B the directions from the kink into the
 * parts, it is held while
 *
 *   F_B . d_A >= 0   and   F_A . d_B >= 0       (of a curve: the whole force, along either)
 */
#include "rt/dynamics/system_kinks.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/geometry/nurbs_motion.h"

#define AT_KINK       1e-12 /* of the domain: so near a parameter is on it */
#define NEAR_KINK     1e-6  /* of it: what trials may leave of the way there */
#define SAME_KNOT     1e-13 /* of it */
#define TRIALS        6     /* of a substep up to one kink */
#define LEAST_WAY     1e-7  /* sixteenths: a kink reached earlier is at the substep's start */
#define FLAT_TURN     1e-4  /* sine of the angle between the parts: a smaller one is a bend's */
#define MOST_TURNS    6     /* over kinks, of a point in a step: more go to and fro */
#define MOST_BENDS    8     /* over bends: more, and it sees the whole shape until the step ends */
#define GIVE_UP       20    /* the same of kinks */
#define AT_ONCE       1e-2  /* of the step: a second crossing within that goes to and fro */
#define PULLS         1e-9  /* of the force at a kink: rows pull by rounding */
#define CLOSING_STEPS 6

/* ---- parts of a shape ----------------------------------------------------------------------- */

static const gw_row *row_of(const gw_system *s, const gw_kinked_closure *k)
{
    return &s->closures[k->closure].rows[k->first];
}

/* True if a closure has a row that follows the shape's direction. */
static bool follows_direction(const gw_closure_def *c, const gw_nurbs *shape)
{
    bool follows = false;
    for (int i = 0; i < c->row_count; i++)
        follows = follows || (c->rows[i].nurbs == shape && gw_row_of_direction(c->rows[i].kind));
    return follows;
}

/* Number of ends of the parts of a shape: kinks and bends. Accelerations of rows that follow the
 * shape's direction depend on its third derivatives: parts end at all knots where these jump. */
static int end_count(const gw_nurbs_direction *d, bool follows)
{
    return d->kink_count + d->bend_count + (follows ? d->rate_count : 0);
}

/* End i: kinks, then bends, then the others. */
static double end_of(const gw_nurbs_direction *d, int i)
{
    if (i < d->kink_count)
        return d->kinks[i];
    i -= d->kink_count;
    return i < d->bend_count ? d->bends[i] : d->rates[i - d->bend_count];
}

static bool has_ends(const gw_nurbs *shape, bool follows)
{
    return end_count(&shape->direction[0], follows) + end_count(&shape->direction[1], follows) > 0;
}

static bool is_kink(const gw_nurbs_direction *d, double x)
{
    double period = d->high - d->low;
    for (int i = 0; i < d->kink_count; i++) {
        double off = d->kinks[i] - x;
        if (fabs(d->closed ? remainder(off, period) : off) < SAME_KNOT * period)
            return true;
    }
    return false;
}

/* The smooth part about x; an end belongs to the part above it. */
static void find_part(const gw_nurbs_direction *d, bool follows, double x, double part[2])
{
    double period = d->high - d->low;
    part[0] = -INFINITY, part[1] = INFINITY;
    for (int i = 0; i < end_count(d, follows); i++)
        for (int turn = d->closed ? -1 : 0; turn <= (d->closed ? 1 : 0); turn++) {
            double end = end_of(d, i) + turn * period;
            if (end <= x)
                part[0] = fmax(part[0], end);
            else
                part[1] = fmin(part[1], end);
        }
}

int gw_kinks_extra_rows(const gw_closure_def *c)
{
    const gw_row *row = gw_closure_free_form_row(c);
    if (!row || row->nurbs->dimension == 1 || c->row_count > GW_MAX_ROWS - 2)
        return 0;
    bool u = row->nurbs->direction[0].kink_count > 0, v = row->nurbs->direction[1].kink_count > 0;
    return u + v;
}

/* A surface with kinks is treated here only if there is room for rows on the other side. */
static bool is_kinked(const gw_closure_def *c)
{
    const gw_row *row = gw_closure_free_form_row(c);
    if (!row || !has_ends(row->nurbs, follows_direction(c, row->nurbs)))
        return false;
    bool turns = row->nurbs->direction[0].kink_count + row->nurbs->direction[1].kink_count > 0;
    return row->nurbs->dimension == 1 || !turns || gw_kinks_extra_rows(c) > 0;
}

int gw_kinks_count(const gw_closure_def *closures, int count)
{
    int found = 0;
    for (int i = 0; i < count; i++)
        found += is_kinked(&closures[i]);
    return found;
}

/* Activates the first `held` of the rows on parts beyond. */
static void put_aside(gw_system *s, const gw_kinked_closure *k, int held)
{
    gw_closure_block *block = &s->blocks[k->closure];
    unsigned all = ((1u << k->twins) - 1) << k->twin;
    s->closures[k->closure].twins_held = held;
    block->aside = ((1u << (k->twins - held)) - 1) << (k->twin + held);
    block->idle = (block->idle & ~all) | block->aside;
}

/* The rows on parts beyond are copies of the surface's first row. */
static void init_kink(gw_system *s, int closure, gw_kinked_closure *k)
{
    gw_closure_def *c = &s->closures[closure];
    const gw_row *row = gw_closure_free_form_row(c);
    const gw_nurbs *shape = row->nurbs;
    *k = (gw_kinked_closure){.closure = closure,
                             .first = (int)(row - c->rows),
                             .twin = -1,
                             .follows = follows_direction(c, shape)};
    gw_nurbs_view(shape, &k->view);
    gw_nurbs_view(shape, &k->beyond);
    for (int i = k->first; i < c->row_count; i++)
        if (c->rows[i].nurbs == shape) {
            c->rows[i].nurbs = &k->view;
            k->last = i;
        }
    if (c->twin_count == 0)
        return;
    k->twin = c->row_count, k->twins = c->twin_count;
    for (int i = 0; i < k->twins; i++) {
        c->rows[k->twin + i] = c->rows[k->first];
        c->rows[k->twin + i].nurbs = &k->beyond;
    }
    put_aside(s, k, 0);
}

bool gw_kinks_init(gw_system *s)
{
    s->kinks = calloc((size_t)s->kink_count + 1, sizeof *s->kinks);
    if (!s->kinks)
        return false;
    int count = 0;
    for (int i = 0; i < s->closure_count; i++)
        if (is_kinked(&s->closures[i]))
            init_kink(s, i, &s->kinks[count++]);
    assert(count == s->kink_count);
    gw_kinks_release(s);
    return true;
}

void gw_kinks_free(gw_system *s)
{
    free(s->kinks);
}

/* ---- parts under points --------------------------------------------------------------------- */

static void apply(gw_system *s, int index)
{
    gw_kinked_closure *k = &s->kinks[index];
    const gw_kink_state *x = &s->kink_states[index];
    gw_closure_def *c = &s->closures[k->closure];
    bool held = x->held >= 0;
    for (int d = 0; d < k->view.dimension; d++) {
        bool known = x->known && !k->given_up;
        gw_nurbs_set_part(&k->view, d, known ? x->part[d][0] : -INFINITY,
                          known ? x->part[d][1] : INFINITY);
        gw_nurbs_set_part(&k->beyond, d, held ? x->beyond[d][0] : -INFINITY,
                          held ? x->beyond[d][1] : INFINITY);
    }
    for (int i = k->first; i <= k->last && k->twin < 0; i++)
        c->rows[i].still = held;
    for (int i = 0; k->twin >= 0 && i < 3; i++) { /* pinned: three rows e . (x - S) */
        static const gw_vec3 axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
        gw_row *row = &c->rows[i == 0 ? k->first : k->twin + i - 1];
        if (i <= k->twins)
            row->still = x->pinned, row->n = axes[i];
    }
    if (k->twin >= 0)
        put_aside(s, k, x->pinned ? 2 : held);
}

void gw_kinks_apply(gw_system *s)
{
    for (int i = 0; i < s->kink_count; i++)
        apply(s, i);
}

void gw_kinks_release(gw_system *s)
{
    for (int i = 0; i < s->kink_count; i++) {
        s->kink_states[i] = (gw_kink_state){.held = -1};
        s->kinks[i].given_up = false;
        apply(s, i);
    }
}

static void set_parameter(gw_system *s, const gw_kinked_closure *k, int direction, double x)
{
    gw_closure_def *c = &s->closures[k->closure];
    for (int i = k->first; i <= k->last; i++)
        if (c->rows[i].nurbs == &k->view)
            c->rows[i].start[direction] = x;
    for (int i = 0; i < k->twins; i++)
        c->rows[k->twin + i].start[direction] = x;
}

/* Sets the part that contains the parameters; in a closed direction one that begins in the
 * domain. */
static void choose_part(gw_system *s, int index)
{
    gw_kinked_closure *k = &s->kinks[index];
    gw_kink_state *x = &s->kink_states[index];
    *x = (gw_kink_state){.known = true, .held = -1};
    for (int d = 0; d < k->view.dimension; d++) {
        const gw_nurbs_direction *of = &k->view.direction[d];
        double at = row_of(s, k)->start[d], period = of->high - of->low;
        if (of->closed)
            at -= period * floor((at - of->low) / period);
        find_part(of, k->follows, at, x->part[d]);
        if (x->part[d][0] < of->low && of->closed && isfinite(x->part[d][0])) {
            x->part[d][0] += period, x->part[d][1] += period;
            at += period;
        }
        set_parameter(s, k, d, at);
    }
    apply(s, index);
}

static bool is_past_part(const gw_kinked_closure *k, const gw_kink_state *x, int d, double at)
{
    double near = AT_KINK * (k->view.direction[d].high - k->view.direction[d].low);
    return at > x->part[d][1] + near || at < x->part[d][0] - near;
}

void gw_kinks_begin_step(gw_system *s)
{
    bool chosen = false;
    for (int i = 0; i < s->kink_count; i++) {
        gw_kinked_closure *k = &s->kinks[i];
        const gw_kink_state *x = &s->kink_states[i];
        bool known = x->known && !k->given_up;
        for (int d = 0; d < k->view.dimension; d++)
            known = known &&
                    (d == x->held || x->pinned || !is_past_part(k, x, d, row_of(s, k)->start[d]));
        k->crossings = 0, k->crossed = -INFINITY, k->given_up = false;
        if (known)
            continue;
        choose_part(s, i);
        chosen = true;
    }
    if (chosen)
        gw_system_update(s);
}

/* ---- the point of a closure ----------------------------------------------------------------- */

/* Frames of the bodies of a closure, and the point of its row relative to the shape. */
typedef struct point_on_shape {
    gw_body_frame a, b;
    gw_row_point p;
    gw_quat world_from_shape;
    int point_body, shape_body;
} point_on_shape;

static void find_point(const gw_system *s, const gw_kinked_closure *k, point_on_shape *x)
{
    const gw_closure_def *c = &s->closures[k->closure];
    const gw_row *row = row_of(s, k);
    bool on_a = gw_row_owned_by_body(row->kind);
    x->a = gw_body_frame_of(s, c->a), x->b = gw_body_frame_of(s, c->b);
    x->p = gw_row_point_of(row, &x->a, &x->b);
    x->world_from_shape = gw_quat_mul(gw_body_of(s, on_a ? c->a : c->b)->pose.q, row->q);
    x->point_body = on_a ? c->b : c->a, x->shape_body = on_a ? c->a : c->b;
}

/* Velocity of the point relative to the shape, in the shape's frame. */
static gw_vec3 velocity_over(const point_on_shape *x)
{
    const gw_body_frame *p = x->p.point, *f = x->p.shape;
    gw_vec3 v = gw_add(p->twist.v, gw_cross(p->twist.w, gw_sub(x->p.x, p->p)));
    gw_vec3 u = gw_add(f->twist.v, gw_cross(f->twist.w, gw_sub(x->p.x, f->p)));
    return gw_unrotate(x->world_from_shape, gw_sub(v, u));
}

/* The rate of a parameter of the closest point (1/s). */
static double parameter_rate(const gw_system *s, const gw_kinked_closure *k, int direction)
{
    point_on_shape x;
    gw_vec3 gradient;
    find_point(s, k, &x);
    gw_nurbs_parameter_gradient(&k->view, x.p.over, row_of(s, k)->start, direction, &gradient);
    return gw_dot(gradient, velocity_over(&x));
}

/* ---- when a part ends ----------------------------------------------------------------------- */

/* Adds a node to Newton's interpolation polynomial, by divided differences. At a repeated node
 * (Hermite) `value` is the rate. */
static void add_node(gw_kink_search *x, double at, double value)
{
    int n = x->count;
    if (n == GW_KINK_NODES)
        return;
    bool again = n > 0 && x->at[n - 1] == at;
    double difference = again ? x->value[n - 1] : value, slope = again ? value : 0;
    x->at[n] = at;
    x->value[n] = difference;
    for (int i = 0; i < n; i++) {
        double change = at - x->at[i];
        difference = change == 0 ? slope : (difference - x->coefficient[i]) / change;
        slope = change == 0 ? 0 : (slope - difference) / change;
    }
    x->coefficient[n] = difference;
    x->count++;
}

static double polynomial(const gw_kink_search *x, double at)
{
    double sum = 0;
    for (int i = x->count - 1; i >= 0; i--)
        sum = sum * (at - x->at[i]) + x->coefficient[i];
    return sum;
}

/* The last upward zero crossing of the polynomial before `end`, where it is positive; 0: none. */
static double last_crossing(const gw_kink_search *x, double end)
{
    enum { SAMPLES = 16, HALVINGS = 50 };
    double low = 0, high = end;
    bool inside = false;
    for (int i = SAMPLES - 1; i >= 0 && !inside; i--) {
        low = end * i / SAMPLES;
        inside = polynomial(x, i == 0 ? end * 1e-4 : low) < 0;
        high = inside ? high : low;
    }
    if (!inside)
        return 0;
    for (int i = 0; i < HALVINGS; i++) {
        double middle = 0.5 * (low + high);
        if (polynomial(x, middle) < 0)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

/* How far the parameter is past the end searched for. */
static double past(const gw_kink_search *x, double at)
{
    return x->up ? at - x->bound : x->bound - at;
}

/* Finds the first point that left its part, by linear interpolation of the parameters. */
static bool find_left(const gw_system *s, gw_kink_search *x)
{
    double first = INFINITY;
    for (int i = 0; i < s->kink_count; i++) {
        const gw_kinked_closure *k = &s->kinks[i];
        const gw_kink_state *state = &s->kink_states[i];
        for (int d = 0; d < k->view.dimension && !k->given_up && !state->pinned; d++) {
            double at = row_of(s, k)->start[d];
            if (d == state->held || !is_past_part(k, state, d, at))
                continue;
            bool up = at > state->part[d][1];
            double bound = state->part[d][up], change = at - k->home[d];
            double share = change != 0 ? (bound - k->home[d]) / change : 0;
            if (!(share < first))
                continue;
            first = share;
            *x = (gw_kink_search){
                .active = true, .kink = i, .direction = d, .up = up, .bound = bound};
        }
    }
    return isfinite(first);
}

/* The root finding failed, as the closest point jumped: until the step ends rows use the whole
 * shape, from the parameters at the substep's start. */
static void give_up(gw_system *s, gw_kink_search *x)
{
    gw_kinked_closure *k = &s->kinks[x->kink];
    k->given_up = true;
    for (int d = 0; d < k->view.dimension; d++)
        set_parameter(s, k, d, k->home[d]);
    apply(s, x->kink);
    *x = (gw_kink_search){.met = INFINITY};
}

bool gw_kinks_detect(gw_system *s, double wide, double dt, gw_kink_search *x)
{
    double sixteenth = dt / 16;
    if (!x->active) {
        if (!find_left(s, x))
            return false;
        const gw_kinked_closure *k = &s->kinks[x->kink];
        double rate = parameter_rate(s, k, x->direction);
        /* gw_kinks_locate() adds the nodes at home */
        x->met = wide;
        x->value[0] = past(x, row_of(s, k)->start[x->direction]);
        x->value[1] = (x->up ? rate : -rate) * sixteenth;
        return true;
    }
    const gw_kinked_closure *k = &s->kinks[x->kink];
    double period = k->view.direction[x->direction].high - k->view.direction[x->direction].low;
    double out = past(x, row_of(s, k)->start[x->direction]);
    if (wide < x->met) { /* the substep now ends before the estimate */
        *x = (gw_kink_search){.met = INFINITY};
        return gw_kinks_detect(s, wide, dt, x);
    }
    if (fabs(out) <= AT_KINK * period || x->trials >= TRIALS || x->count == GW_KINK_NODES) {
        gw_kink_search other = {0};
        if (fabs(out) > NEAR_KINK * period) {
            give_up(s, x);
            return true;
        }
        if (!find_left(s, &other) || (other.kink == x->kink && other.direction == x->direction))
            return false;
        *x = (gw_kink_search){.met = INFINITY};
        return gw_kinks_detect(s, wide, dt, x);
    }
    double end = x->at[2];
    add_node(x, wide, out);
    x->trials++;
    double met = last_crossing(x, end);
    if (!(fabs(met - wide) > 1e-15 * wide))
        return false;
    x->met = met;
    return true;
}

bool gw_kinks_locate(gw_system *s, double dt, gw_kink_search *x)
{
    if (!x->active || x->count > 0)
        return x->active && x->met < LEAST_WAY;
    const gw_kinked_closure *k = &s->kinks[x->kink];
    double wide = x->met, end = x->value[0], end_rate = x->value[1];
    double period = k->view.direction[x->direction].high - k->view.direction[x->direction].low;
    double rate = parameter_rate(s, k, x->direction), begin = past(x, k->home[x->direction]);
    if (fabs(begin) <= AT_KINK * period)
        begin = 0;
    add_node(x, 0, begin);
    add_node(x, 0, (x->up ? rate : -rate) * dt / 16);
    add_node(x, wide, end);
    add_node(x, wide, end_rate);
    x->met = last_crossing(x, wide);
    x->trials = 1;
    if (x->met < LEAST_WAY && fabs(begin) > NEAR_KINK * period) {
        give_up(s, x);
        gw_system_update(s);
    }
    return x->met < LEAST_WAY;
}

/* ---- over it -------------------------------------------------------------------------------- */

/* Sets the part on the other side of an end; a closed parameter is shifted by the period if
 * necessary. */
static void take_next_part(gw_system *s, int index, const gw_kink_search *at)
{
    gw_kinked_closure *k = &s->kinks[index];
    gw_kink_state *x = &s->kink_states[index];
    const gw_nurbs_direction *of = &k->view.direction[at->direction];
    double period = of->high - of->low, *part = x->part[at->direction], bound = at->bound;
    double inside = row_of(s, k)->start[at->direction];
    if (at->up) {
        part[0] = bound;
        find_part(of, k->follows, bound, part);
        part[0] = bound;
    } else {
        find_part(of, k->follows, nextafter(bound, -INFINITY), part);
        part[1] = bound;
    }
    if (of->closed && isfinite(part[0]) && (part[0] < of->low || part[0] >= of->high)) {
        double by = part[0] < of->low ? period : -period;
        part[0] += by, part[1] += by;
        inside += by;
    }
    set_parameter(s, k, at->direction, inside);
}

/* The unit normal of a surface, or the unit tangent of a curve, of the part that a view is on, and
 * the way along a direction from the kink into that part; world axes. */
static gw_vec3 direction_at(const gw_nurbs *view, const point_on_shape *x,
                            const double parameter[2], int direction, bool up, gw_vec3 *into)
{
    gw_nurbs_point at;
    gw_nurbs_evaluate(view, parameter, 2, NULL, &at);
    gw_vec3 along = direction == 0 ? at.d[1][0] : at.d[0][1];
    *into = gw_rotate(x->world_from_shape, gw_scale(up ? 1 : -1, gw_unit(along)));
    gw_vec3 n = view->dimension == 1 ? gw_unit(at.d[1][0]) : gw_nurbs_normal(view, parameter, &at);
    return gw_rotate(x->world_from_shape, n);
}

/* Holds the point by both parts and projects velocities; returns the kinetic energy removed (J). */
static double hold(gw_system *s, const gw_kink_search *at, const gw_kink_state *from,
                   const gw_kink_state *to)
{
    gw_kinked_closure *k = &s->kinks[at->kink];
    gw_kink_state *x = &s->kink_states[at->kink];
    double other = row_of(s, k)->start[at->direction];
    *x = *from;
    memcpy(x->beyond, to->part, sizeof x->beyond);
    x->held = at->direction, x->up = at->up;
    x->shift = other - at->bound;
    set_parameter(s, k, at->direction, at->bound);
    if (k->twin >= 0) {
        double *twin = s->closures[k->closure].rows[k->twin].start;
        twin[1 - at->direction] = row_of(s, k)->start[1 - at->direction];
        twin[at->direction] = other;
    }
    apply(s, at->kink);
    gw_system_update(s);
    return gw_closures_project_velocities(s);
}

/* Applies the impulse F to the point and -F to its shape: adds c = D^-1 P F to the velocities (also
 * in s->scratch); returns |c|^2 = F . (the point's velocity by c). */
static double answer(gw_system *s, const gw_kinked_closure *k, gw_vec3 force)
{
    point_on_shape x;
    find_point(s, k, &x);
    memset(s->on, 0, (size_t)s->body_count * sizeof *s->on);
    memset(s->generalised, 0, (size_t)s->dof * sizeof *s->generalised);
    for (int side = 0; side < 2; side++) {
        int body = side ? x.shape_body : x.point_body;
        gw_vec3 f = side ? gw_neg(force) : force;
        if (body >= 0)
            s->on[body] = (gw_wrench){f, gw_cross(gw_sub(x.p.x, s->bodies[body].pose.p), f)};
    }
    double before = gw_dot(force, gw_rotate(x.world_from_shape, velocity_over(&x)));
    gw_system_apply_inverse_inertia(s, true);
    gw_system_gather(s, s->scratch);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] += s->scratch[s->bodies[i].first + j];
    gw_tree_update_velocities(s);
    find_point(s, k, &x);
    return gw_dot(force, gw_rotate(x.world_from_shape, velocity_over(&x))) - before;
}

/* Adds kinetic energy `energy` (J) along D^-1 P F, with the sign for which the parameter moves
 * `up`. */
static void turn(gw_system *s, int index, int direction, bool up, gw_vec3 force, double energy)
{
    gw_kinked_closure *k = &s->kinks[index];
    double still = parameter_rate(s, k, direction), power = answer(s, k, force);
    double rate = parameter_rate(s, k, direction) - still;
    double by = power > 0 ? sqrt(2 * energy / power) : 0;
    by *= (rate > 0) == up ? 1 : -1;
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] += (by - 1) * s->scratch[s->bodies[i].first + j];
    gw_tree_update_velocities(s);
    gw_closures_update_rates(s);
}

/* ---- corners: held at one kink, it comes to another ----------------------------------------- */

/* The unit direction from the corner into a part, along the kink of the other parameter. */
static gw_vec3 way_along(gw_system *s, gw_kinked_closure *k, const double part[2], int direction,
                         bool up, double shift)
{
    point_on_shape p;
    gw_vec3 into;
    const double *own = row_of(s, k)->start;
    double at[2] = {own[0], own[1]};
    at[direction] += shift;
    gw_nurbs_direction *d = &k->beyond.direction[direction], was = *d;
    gw_nurbs_set_part(&k->beyond, direction, part[0], part[1]);
    find_point(s, k, &p);
    direction_at(&k->beyond, &p, at, direction, up, &into);
    *d = was;
    return into;
}

/* Holds the point by all parts at the corner; returns as hold(). */
static double pin(gw_system *s, const gw_kink_search *at, const gw_kink_state *from,
                  const gw_kink_state *to)
{
    gw_kinked_closure *k = &s->kinks[at->kink];
    gw_kink_state *x = &s->kink_states[at->kink];
    int d = at->direction;
    double there = row_of(s, k)->start[d];
    *x = *from;
    x->pinned = true, x->corner_up = at->up;
    x->corner[0] = to->part[d][0], x->corner[1] = to->part[d][1];
    x->corner_shift = there - at->bound;
    set_parameter(s, k, d, at->bound);
    for (int i = 0; i < k->twins; i++) /* the same point, from the other side */
        s->closures[k->closure].rows[k->twin + i].start[x->held] =
            row_of(s, k)->start[x->held] + x->shift;
    apply(s, at->kink);
    gw_system_update(s);
    return gw_closures_project_velocities(s);
}

/* The point stays held at the same kink and moves along it into the part `to`. */
static void go_on_along(gw_system *s, const gw_kink_search *at, const gw_kink_state *to,
                        double energy)
{
    gw_kinked_closure *k = &s->kinks[at->kink];
    gw_kink_state *x = &s->kink_states[at->kink];
    int d = at->direction;
    gw_vec3 along = way_along(s, k, to->part[d], d, at->up, x->corner_shift);
    double there = at->bound + x->corner_shift;
    *x = *to;
    x->beyond[d][0] = x->part[d][0], x->beyond[d][1] = x->part[d][1];
    for (int i = k->first; i <= k->last; i++)
        s->closures[k->closure].rows[i].start[d] = there;
    s->closures[k->closure].rows[k->twin].start[d] = there;
    apply(s, at->kink);
    gw_system_update(s);
    turn(s, at->kink, d, at->up, along, energy);
}

/* ---- bends ---------------------------------------------------------------------------------- *
 *
 * Rows that follow the normal or the tangent rotate a body at another rate beyond a bend. The
 * velocities that both sides allow are those with x' = 0 for the parameter x that reaches the bend:
 * with F the gradient of x by the point, in either part, and c = D^-1 P F as above,
 *
 *   u_E = u - c x' / (F . c),   |u_A|^2 = x'^2 / (F . c) */

static gw_vec3 gradient_of(const gw_system *s, const gw_kinked_closure *k, int direction)
{
    point_on_shape x;
    gw_vec3 gradient;
    find_point(s, k, &x);
    gw_nurbs_parameter_gradient(&k->view, x.p.over, row_of(s, k)->start, direction, &gradient);
    return gw_rotate(x.world_from_shape, gradient);
}

/* Removes u_A, so that the parameter's rate is 0, by the present part; returns its kinetic
 * energy. */
static double stop_parameter(gw_system *s, const gw_kinked_closure *k, int direction)
{
    double rate = parameter_rate(s, k, direction);
    double power = answer(s, k, gradient_of(s, k, direction));
    double by = power > 0 ? -rate / power : 0;
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] += (by - 1) * s->scratch[s->bodies[i].first + j];
    gw_tree_update_velocities(s);
    return power > 0 ? 0.5 * rate * rate / power : 0;
}

/* A kink with an angle below FLAT_TURN is treated as a bend: rows and velocities on both sides are
 * nearly equal. */
static bool turns_little(const gw_vec3 a, const gw_vec3 b)
{
    return gw_dot(a, b) > 0 && gw_norm(gw_cross(a, b)) < FLAT_TURN;
}

double gw_kinks_cross(gw_system *s, const gw_kink_search *at, double t, double dt,
                      gw_system_work *work)
{
    gw_kinked_closure *k = &s->kinks[at->kink];
    gw_kink_state *x = &s->kink_states[at->kink], from = *x, to;
    double before = s->kinetic + s->potential, dissipated = 0;
    bool kink = is_kink(&k->view.direction[at->direction], at->bound), held = x->held >= 0;
    bool at_once = t - k->crossed <= AT_ONCE * dt && k->over == at->bound;
    point_on_shape point;
    gw_vec3 into;
    int d = at->direction;
    k->crossings++;
    k->crossed = t, k->over = at->bound;
    set_parameter(s, k, d, at->bound);
    find_point(s, k, &point);
    gw_vec3 a = direction_at(&k->view, &point, row_of(s, k)->start, d, !at->up, &into);
    bool bends = !kink && !held && k->follows;
    double turned = bends ? stop_parameter(s, k, d) : 0;
    take_next_part(s, at->kink, at);
    to = *x;
    apply(s, at->kink);
    gw_vec3 b = direction_at(&k->view, &point, row_of(s, k)->start, d, at->up, &into);
    bool flat = !kink || turns_little(a, b);
    if (k->crossings > GIVE_UP || (flat && !held && k->crossings > MOST_BENDS)) {
        x->held = -1, x->pinned = false;
        k->given_up = true;
        apply(s, at->kink);
    } else if (held && kink) {
        double across = pin(s, at, &from, &to);
        if (k->crossings > MOST_TURNS || at_once)
            dissipated = across;
        else
            go_on_along(s, at, &to, across);
    } else if (held) {
        x->beyond[d][0] = x->part[d][0], x->beyond[d][1] = x->part[d][1];
        apply(s, at->kink);
        gw_system_update(s);
        dissipated = gw_closures_project_velocities(s);
    } else if (!flat) {
        double there = row_of(s, k)->start[d], across = hold(s, at, &from, &to);
        if (k->crossings > MOST_TURNS || at_once) {
            dissipated = across;
        } else {
            *x = to;
            set_parameter(s, k, d, there);
            apply(s, at->kink);
            gw_system_update(s);
            turn(s, at->kink, d, at->up, k->twin >= 0 ? a : b, across);
        }
    }
    gw_closures_project(s, CLOSING_STEPS);
    if (bends)
        turn(s, at->kink, d, at->up, gradient_of(s, k, d), turned);
    gw_system_energy(s, &s->kinetic, &s->potential);
    work->dissipated += dissipated;
    double out = s->kinetic + s->potential - before + dissipated;
    if (!s->moving)
        return out;
    work->base += out;
    return 0;
}

/* ---- held at it ----------------------------------------------------------------------------- */

/* The force of a closure's row n on the point's body, by the present multipliers. */
static gw_vec3 force_of_row(const gw_system *s, const gw_kinked_closure *k, bool point_on_a, int n)
{
    const gw_closure_block *block = &s->blocks[k->closure];
    for (int i = 0; i < block->active; i++) {
        if (s->live[block->first + i] != n)
            continue;
        const gw_closure_row *r = gw_active_row(s, block, i);
        double by = r->scale * s->solution[block->first + i];
        return gw_scale(by, gw_linear_part(point_on_a ? r->on_a : r->on_b));
    }
    return gw_v3(0, 0, 0);
}

/* True if neither part would have to pull; else sets the part into which the point leaves: 0 its
 * own, 1 the part beyond. */
static bool stays(const gw_system *s, int index, int *goes_to)
{
    const gw_kinked_closure *k = &s->kinks[index];
    const gw_kink_state *x = &s->kink_states[index];
    const gw_closure_def *c = &s->closures[k->closure];
    const double *own = row_of(s, k)->start;
    bool point_on_a;
    point_on_shape p;
    gw_vec3 into[2], force[2] = {{0, 0, 0}, {0, 0, 0}};
    find_point(s, k, &p);
    point_on_a = p.point_body == c->a;
    direction_at(&k->view, &p, own, x->held, !x->up, &into[0]);
    double other[2] = {own[0], own[1]};
    other[x->held] += x->shift;
    direction_at(&k->beyond, &p, other, x->held, x->up, &into[1]);
    if (k->twin >= 0) {
        force[0] = force_of_row(s, k, point_on_a, k->first);
        force[1] = force_of_row(s, k, point_on_a, k->twin);
    } else {
        for (int i = k->first; i <= k->last; i++)
            force[0] = gw_add(force[0], force_of_row(s, k, point_on_a, i));
        force[1] = force[0];
    }
    double least = PULLS * (gw_norm(force[0]) + gw_norm(force[1]));
    double pulls[2] = {gw_dot(force[1], into[0]), gw_dot(force[0], into[1])};
    *goes_to = pulls[1] < pulls[0];
    return pulls[*goes_to] >= -least;
}

/* Releases a point in a corner along that of the four kinks against whose direction the force on it
 * pushes most; it stays held at that kink. False: it stays in the corner. */
static bool leaves_corner(gw_system *s, int index)
{
    gw_kinked_closure *k = &s->kinks[index];
    gw_kink_state *x = &s->kink_states[index], next = *x;
    const gw_closure_def *c = &s->closures[k->closure];
    point_on_shape p;
    find_point(s, k, &p);
    bool point_on_a = p.point_body == c->a;
    gw_vec3 force = force_of_row(s, k, point_on_a, k->first);
    for (int i = 0; i < k->twins; i++)
        force = gw_add(force, force_of_row(s, k, point_on_a, k->twin + i));
    double least = -PULLS * gw_norm(force);
    int d = 1 - x->held, e = x->held;
    for (int i = 0; i < 4; i++) {
        bool over = i % 2; /* into the part beyond, of: */
        int to = i < 2 ? d : e;
        const double *part =
            to == d ? (over ? x->corner : x->part[d]) : (over ? x->beyond[e] : x->part[e]);
        double shift = !over ? 0 : to == d ? x->corner_shift : x->shift;
        bool up = (to == d ? x->corner_up : x->up) == over;
        double pull = gw_dot(force, way_along(s, k, part, to, up, shift));
        if (!(pull < least))
            continue;
        least = pull;
        next = *x;
        next.pinned = false;
        next.part[to][0] = next.beyond[to][0] = part[0];
        next.part[to][1] = next.beyond[to][1] = part[1];
        if (to == e) { /* now held at the other kink */
            next.held = d, next.up = x->corner_up, next.shift = x->corner_shift;
            next.part[d][0] = x->part[d][0], next.part[d][1] = x->part[d][1];
            next.beyond[d][0] = x->corner[0], next.beyond[d][1] = x->corner[1];
        }
    }
    if (next.pinned)
        return false;
    double own[2] = {row_of(s, k)->start[0], row_of(s, k)->start[1]};
    if (next.held == d && next.part[e][0] == x->beyond[e][0])
        own[e] += x->shift;
    if (next.held == e && next.part[d][0] == x->corner[0])
        own[d] += x->corner_shift;
    *x = next;
    for (int i = 0; i < 2; i++)
        set_parameter(s, k, i, own[i]);
    s->closures[k->closure].rows[k->twin].start[x->held] += x->shift;
    apply(s, index);
    return true;
}

void gw_kinks_begin_substep(gw_system *s, const gw_forces *forces, double t)
{
    bool any = false;
    for (int i = 0; i < s->kink_count; i++)
        any = any || s->kink_states[i].held >= 0;
    if (any) {
        gw_system_work power = {0};
        gw_system_evaluate_forces(s, forces, t);
        gw_system_outer_power(s, forces, &power);
        gw_system_accelerate(s, &power);
    }
    bool went = false;
    for (int i = 0; i < s->kink_count; i++) {
        gw_kink_state *x = &s->kink_states[i];
        int to;
        if (x->pinned) {
            went = leaves_corner(s, i) || went;
        } else if (x->held >= 0 && !stays(s, i, &to)) {
            gw_kinked_closure *k = &s->kinks[i];
            if (to == 1) {
                set_parameter(s, k, x->held, row_of(s, k)->start[x->held] + x->shift);
                memcpy(x->part, x->beyond, sizeof x->part);
            }
            x->held = -1;
            apply(s, i);
            went = true;
        }
        memcpy(s->kinks[i].home, row_of(s, &s->kinks[i])->start, sizeof s->kinks[i].home);
    }
    if (went)
        gw_system_update(s);
}
