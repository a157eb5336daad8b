/*
 * Conflicts of a relation with a free-form shape: proofs that no point of the shape is where the
 * other constraints hold, whatever the turn of the body there.
 *
 * The relation has point a of an object on y(z) = S(z) + p n(z) of the shape's object, z being
 * parameters of the shape. Another constraint's point is then on the sphere about y of the radius
 * |w|, w its position relative to a; if a direction of either object lies along one of the other,
 * as it does for `normal` and `tangent`, along n(z), or for parallels, on a circle about that axis:
 *
 *   centre y + (w . axis) axis,    radius |w - (w . axis) axis|
 *
 * The distances of its points from a point, line or plane fill an interval [low, high]; so do the
 * angles that a direction at sigma from the axis makes with one at theta from it,
 *
 *   [|theta - sigma|, pi - |pi - theta - sigma|]
 *
 * How far the value asked for is outside of this, its miss, is a function of z that changes by no
 * more than y and the turn of n, times |w|, do. Where the least value of the largest miss over the
 * shape (geometry/nurbs_least.h) is positive, the constraints have no common pose. That is
 * necessary and sufficient for two constraints. Of several others each may be met at another turn:
 * if there is an axis, turns about it are searched as well. Any thread, RT safe; 1 to 10 ms, some
 * 50 where turns are searched.
 */
#include <assert.h>

#include "rt/geometry/nurbs_least.h"
#include "rt/positioning/solver.h"

#define CERTAIN      1e-7  /* least miss of a conflict: over the size, or rad */
#define MOST_PARTS   12000 /* of the shape, in one search: 5 ms; where turns are searched, 50 ms */
#define BISECTIONS   30
#define LEAST_ARC    4e-3 /* shortest half arc of turns (rad) */
#define ARC_HALVINGS 12

/* The question of one search: the relation with the shape, the axis and the others. */
typedef struct question {
    const gw_solver *solver;
    const gw_solver_state *state;     /* all constraints, as stated */
    const gw_distance_constraint *on; /* the relation with the shape */
    const gw_angle_constraint *along; /* a parallel, whose direction is the axis; NULL: none */
    unsigned long others;             /* bits of the constraints that may be missed */
} question;

/* By how much a constraint is missed, with the relation at a point of the shape. */
typedef struct miss {
    double by, bound;      /* over the size, or rad; and at least so much on the part */
    double asked, nearest; /* the value asked for, and of those reached the nearest (m, rad) */
    int distance, angle;   /* the constraint's index among the state's distances or angles, or -1 */
} miss;

/* A range of distances or angles. */
typedef struct range {
    double low, high;
} range;

/* Where the point of the relation is, and the axis about which the body may turn there. */
typedef struct relation {
    gw_vec3 y, axis; /* in the axes of the shape's object */
    gw_vec3 a, own;  /* the same point and axis in the other object's */
    bool has_axis;
    double moves, turns; /* bounds of their changes over the part */
    double turn, arc;    /* about the axis, and by how much it differs; an arc of pi: any turn */
} relation;

/* ---- ranges ---------------------------------------------------------------------------------- */

/*
 * Distances of the point (x, y), both not negative, from an ellipse with the half axes a >= b along
 * x and y. The closest point is at (a cos t, b sin t), the farthest at (-a cos t, -b sin t), each t
 * in the first quarter, where the derivative has one change of sign:
 *
 *   a x sin t - b y cos t -+ (a^2 - b^2) sin t cos t = 0
 */
static range ellipse_distances(double x, double y, double a, double b, bool only_low)
{
    double ends[2] = {0, HUGE_VAL};
    for (int k = 0; k < (only_low ? 1 : 2); k++) {
        double low[2] = {1, 0}, high[2] = {0, 1}, sign = k == 0 ? -1 : 1; /* cos t, sin t */
        for (int i = 0; i < BISECTIONS; i++) {
            double c = low[0] + high[0], s = low[1] + high[1], over = 1 / sqrt(c * c + s * s);
            c *= over, s *= over;
            bool before = a * x * s - b * y * c + sign * (a * a - b * b) * s * c < 0;
            double *end = before ? low : high;
            end[0] = c, end[1] = s;
        }
        ends[k] = hypot(a * low[0] + sign * x, b * low[1] + sign * y);
    }
    return (range){ends[0], ends[1]};
}

/* Distances of the points of a circle from an element; from a plane they are signed. */
static range circle_distances(gw_vec3 centre, gw_vec3 axis, double radius,
                              const gw_distance_constraint *e)
{
    gw_vec3 to = gw_sub(e->b, centre), across;
    double middle, most;
    switch (e->surface) {
    case GW_POINT:
        middle = gw_dot(to, axis);
        most = gw_norm(gw_reject(to, axis));
        return (range){hypot(middle, most - radius), hypot(middle, most + radius)};
    case GW_LINE: /* projected along the line, the circle is an ellipse */
        across = gw_cross(e->d, axis);
        if (gw_norm2(across) < 1e-24)
            across = gw_any_normal(e->d);
        across = gw_unit(across);
        return ellipse_distances(fabs(gw_dot(to, across)), fabs(gw_dot(to, gw_cross(e->d, across))),
                                 radius, radius * fabs(gw_dot(e->d, axis)), e->p == 0);
    case GW_PLANE:
        middle = -gw_dot(to, e->d);
        most = radius * gw_norm(gw_reject(e->d, axis));
        return (range){middle - most, middle + most};
    case GW_CURVE:
    case GW_SURFACE:
        break;
    }
    return (range){-HUGE_VAL, HUGE_VAL};
}

/* The same of a sphere. */
static range sphere_distances(gw_vec3 centre, double radius, const gw_distance_constraint *e)
{
    gw_vec3 to = gw_sub(e->b, centre);
    double d;
    switch (e->surface) {
    case GW_POINT:
        d = gw_norm(to);
        return (range){fabs(d - radius), d + radius};
    case GW_LINE:
        d = gw_norm(gw_reject(to, e->d));
        return (range){fmax(0, d - radius), d + radius};
    case GW_PLANE:
        d = -gw_dot(to, e->d);
        return (range){d - radius, d + radius};
    case GW_CURVE:
    case GW_SURFACE:
        break;
    }
    return (range){-HUGE_VAL, HUGE_VAL};
}

/* ---- misses ---------------------------------------------------------------------------------- */

/* The nearest of the values reached is noted; bounds change by `change` over the part. */
static void note_miss(miss *m, range reached, double asked, double scale, double change)
{
    m->asked = asked;
    m->nearest = fmin(fmax(asked, reached.low), reached.high);
    m->by = fabs(m->nearest - asked) / scale;
    m->bound = m->by - change / scale;
}

/* The arc of an angle by which a vector of length `arm` moves, as a chord. */
static double chord(double arm, double angle)
{
    return arm * fmin(angle, 2);
}

/* The rotation from the other object's axes to those of the shape's object. */
static gw_quat rotation_of(const relation *at)
{
    return gw_quat_mul(gw_quat_axis(at->axis, at->turn), gw_quat_between(at->own, at->axis));
}

static miss miss_distance(const question *q, const relation *at, int i)
{
    const gw_distance_constraint *e = &q->state->distances[i];
    miss m = {.distance = i, .angle = -1};
    bool same = e->body_owns == q->on->body_owns; /* the element is of the shape's object */
    gw_vec3 w = gw_sub(e->a, same ? at->a : at->y);
    gw_vec3 centre = same ? at->y : at->a, axis = same ? at->axis : at->own;
    double arm = gw_norm(w), change = at->moves;
    range reached;
    if (!at->has_axis) {
        reached = sphere_distances(centre, arm, e);
    } else {
        double height = gw_dot(w, same ? at->own : at->axis);
        double radius = gw_norm(gw_mul_add(w, -height, same ? at->own : at->axis));
        change += chord(arm, at->turns);
        if (at->arc < GW_PI) {
            gw_quat turn = rotation_of(at);
            w = same ? gw_rotate(turn, w) : gw_unrotate(turn, w);
            reached = sphere_distances(gw_add(centre, w), 0, e);
            change += radius * at->arc;
        } else {
            reached = circle_distances(gw_mul_add(centre, height, axis), axis, radius, e);
        }
    }
    note_miss(&m, reached, e->p, q->solver->size, change);
    return m;
}

/* The sense of input constraint i is open. */
static bool is_open(const question *q, unsigned long from)
{
    int i = __builtin_ctzl(from);
    const gw_constraint *c = &q->solver->problem->constraints[i];
    return c->sense == GW_EITHER && gw_constraint_has_sense(c->kind, c->mobile.kind, c->fixed.kind);
}

static miss miss_angle(const question *q, const relation *at, int i)
{
    const gw_angle_constraint *e = &q->state->angles[i];
    bool body = q->on->body_owns;
    gw_vec3 on_shape = body ? e->u : e->f, on_other = body ? e->f : e->u;
    double change = at->turns;
    range reached;
    if (at->arc < GW_PI) {
        reached.low = reached.high =
            gw_angle_between(on_shape, gw_rotate(rotation_of(at), on_other));
        change += at->arc;
    } else {
        double theta = gw_angle_between(on_shape, at->axis);
        double sigma = gw_angle_between(on_other, at->own);
        reached = (range){fabs(theta - sigma), GW_PI - fabs(GW_PI - theta - sigma)};
    }
    miss m = {.distance = -1, .angle = i}, opposite = m;
    note_miss(&m, reached, e->angle, 1, change);
    if (!is_open(q, e->from))
        return m;
    note_miss(&opposite, reached, GW_PI - e->angle, 1, change);
    return opposite.by < m.by ? opposite : m;
}

/* The largest miss of a relation; its bound is the largest bound. */
static miss largest_miss(const question *q, const relation *at)
{
    const gw_solver_state *s = q->state;
    miss worst = {.by = 0, .distance = -1, .angle = -1};
    for (int i = 0; i < s->distance_count + s->angle_count; i++) {
        bool distance = i < s->distance_count;
        int k = distance ? i : i - s->distance_count;
        unsigned long from = distance ? s->distances[k].from : s->angles[k].from;
        if (!(from & q->others) || (!distance && !at->has_axis))
            continue;
        miss m = distance ? miss_distance(q, at, k) : miss_angle(q, at, k);
        double bound = fmax(m.bound, worst.bound);
        worst = m.by > worst.by ? m : worst;
        worst.bound = bound;
    }
    return worst;
}

/*
 * The same for several constraints, which have to hold at one turn, where each alone may hold at
 * some: arcs of turns are halved until their bound is near the least miss found, or until they are
 * as short as the relation is uncertain.
 */
static miss least_over_turns(const question *q, relation at)
{
    struct {
        double turn, arc;
    } stack[ARC_HALVINGS + 2] = {{0, GW_PI}};
    double limit = fmax(LEAST_ARC, fmax(at.turns, at.moves / q->solver->size));
    double each = largest_miss(q, &at).bound, bound = HUGE_VAL;
    miss least = {.by = HUGE_VAL};
    for (int count = 1; count > 0;) {
        double turn = stack[--count].turn, half = 0.5 * stack[count].arc;
        for (int k = -1; k <= 1; k += 2) {
            at.turn = turn + k * half;
            at.arc = half;
            miss m = largest_miss(q, &at);
            least = m.by < least.by ? m : least;
            if (fmax(m.bound, each) >= 0.5 * least.by || half <= limit || count > ARC_HALVINGS) {
                bound = fmin(bound, m.bound);
                continue;
            }
            stack[count].turn = at.turn;
            stack[count++].arc = half;
        }
    }
    least.bound = fmax(each, bound);
    return least;
}

/* The least miss of a relation, of one constraint or of the others together. */
static miss least_miss(const question *q, const relation *at)
{
    bool several = __builtin_popcountl(q->others) > 1;
    return several && at->has_axis ? least_over_turns(q, *at) : largest_miss(q, at);
}

/* The relation at the middle of a part of the shape; `sense` -1: the axis opposite. */
static relation relation_at(const question *q, const gw_nurbs_part *part, double sense)
{
    const gw_distance_constraint *on = q->on;
    gw_vec3 n = gw_rotate(on->q, part->along);
    relation at = {.a = on->a, .has_axis = on->directed || q->along, .arc = GW_PI};
    at.y = gw_add(on->b, gw_rotate(on->q, gw_mul_add(part->point, on->p, part->along)));
    at.moves = part->reach + chord(fabs(on->p), part->turn);
    if (q->along) {
        at.axis = gw_scale(sense, on->body_owns ? q->along->u : q->along->f);
        at.own = on->body_owns ? q->along->f : q->along->u;
    } else if (on->directed) {
        at.axis = gw_scale(sense, n);
        at.own = on->along;
        at.turns = part->turn;
    }
    return at;
}

/* The largest miss, with the sense of the axis that makes it least. */
static miss miss_at(const question *q, const gw_nurbs_part *part)
{
    relation at = relation_at(q, part, 1);
    miss m = least_miss(q, &at);
    unsigned long from = q->along ? q->along->from : q->on->from;
    if (!at.has_axis || !is_open(q, from))
        return m;
    at = relation_at(q, part, -1);
    miss opposite = least_miss(q, &at);
    double bound = fmin(m.bound, opposite.bound);
    m = opposite.by < m.by ? opposite : m;
    m.bound = bound;
    return m;
}

static double value_at(const void *context, const gw_nurbs_part *part, double *bound)
{
    const question *q = context;
    *bound = 0;
    if ((q->on->directed || q->on->p != 0) && gw_norm2(part->along) == 0)
        return HUGE_VAL; /* the shape has no normal there */
    miss m = miss_at(q, part);
    *bound = m.bound;
    return m.by;
}

/* ---- the conflict ---------------------------------------------------------------------------- */

/* An angle of the state as that of the constraint's value, or between its elements' directions. */
static double stated_angle(const gw_constraint *c, const gw_angle_constraint *e, double angle)
{
    if (gw_dot(e->u, c->mobile.d) < 0)
        angle = GW_PI - angle;
    bool mixed = c->kind == GW_ANGLE && c->mobile.kind != c->fixed.kind;
    return mixed ? GW_PI / 2 - angle : angle;
}

/* Records the miss of one constraint. */
static void record(const question *q, const miss *m, gw_conflict *conflict)
{
    bool angle = m->angle >= 0, single = __builtin_popcountl(q->others) == 1;
    unsigned long from =
        angle ? q->state->angles[m->angle].from : q->state->distances[m->distance].from;
    const gw_constraint *c = &q->solver->problem->constraints[__builtin_ctzl(from)];
    unsigned long held = q->on->from | (q->along ? q->along->from : 0);
    double asked = m->asked, nearest = m->nearest;
    if (angle) {
        asked = stated_angle(c, &q->state->angles[m->angle], asked);
        nearest = stated_angle(c, &q->state->angles[m->angle], nearest);
        if (is_open(q, from) && asked > GW_PI / 2) /* either sense will do: told of the same one */
            asked = GW_PI - asked, nearest = GW_PI - nearest;
    } else if (q->state->distances[m->distance].surface == GW_PLANE) {
        double moved = gw_constraint_has_length(c->kind) ? c->value : 0; /* the plane */
        asked += moved;
        nearest += moved;
    }
    bool more = nearest > asked;
    *conflict = (gw_conflict){
        .constraints = held | q->others,
        .first = held,
        .second = from,
        .excess = m->by,
        .condition = angle ? (more ? "angle: asked >= least" : "angle: asked <= most")
                           : (more ? "distance: asked >= least" : "distance: asked <= most"),
        .value_count = 2,
        .values = {{"asked", asked}, {more ? "least" : "most", nearest}},
        .sentence = single ? "The free-form shape has no point where they hold together."
                           : "The free-form shape has no point where they all hold."};
}

/* True if the search proves that the others cannot all hold. */
static bool refutes(const question *q, gw_conflict *conflict)
{
    gw_nurbs_least least;
    gw_nurbs_least_value(q->on->nurbs, value_at, q, CERTAIN, MOST_PARTS, &least);
    if (!(least.bound > CERTAIN))
        return false;
    miss m = miss_at(q, &least.at);
    record(q, &m, conflict);
    return true;
}

/* Bits of the constraints on which the question's axis, or its absence, has a bound. */
static unsigned long bounded_others(const question *q)
{
    const gw_solver_state *s = q->state;
    unsigned long bits = 0;
    for (int i = 0; i < s->distance_count; i++)
        bits |= gw_is_free_form(s->distances[i].surface) ? 0 : s->distances[i].from;
    for (int i = 0; i < s->angle_count && (q->on->directed || q->along); i++)
        bits |= s->angles[i].from;
    bits &= ~q->on->from;
    return q->along ? bits & ~q->along->from : bits;
}

/* One other constraint that cannot hold, or the fewest that cannot all. */
static bool refutes_with_fewest(question *q, gw_conflict *conflict)
{
    unsigned long all = bounded_others(q);
    for (int i = 0; i < GW_MAX_PROBLEM; i++) {
        q->others = all & 1ul << i;
        if (q->others && refutes(q, conflict))
            return true;
    }
    q->others = all;
    if (__builtin_popcountl(all) < 2 || !refutes(q, conflict))
        return false;
    for (int i = 0; i < GW_MAX_PROBLEM; i++) {
        q->others = all & ~(1ul << i);
        if (q->others != all && refutes(q, conflict))
            all = q->others;
    }
    return true;
}

bool gw_free_form_conflict(gw_solver *solver)
{
    assert(solver);
    gw_solver_state state;
    gw_decompose_all(solver, &state);
    for (int i = 0; i < state.distance_count; i++) {
        question q = {.solver = solver, .state = &state, .on = &state.distances[i]};
        if (!gw_is_free_form(q.on->surface))
            continue;
        if (refutes_with_fewest(&q, &solver->conflict))
            return true;
        for (int k = 0; k < state.angle_count && !q.on->directed; k++) {
            q.along = &state.angles[k];
            if (q.along->angle == 0 && refutes_with_fewest(&q, &solver->conflict))
                return true;
        }
    }
    return false;
}
