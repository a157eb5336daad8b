/*
 * Constraints as equations, and their roots by brute force. The equations of parallel directions
 * are differences of vectors if the sense is given, else a cross product; those of coincident
 * points are differences of coordinates: all are smooth at a root. The parameters of free-form
 * shapes are unknowns beside the pose. Single-threaded; no allocation.
 */
#include "tests/oracle/free_form.h"
#include "tests/oracle/oracle.h"
#include "tests/random.h"

#include <string.h>

#define MOST_EQUATIONS (6 * GW_MAX_PROBLEM)
#define MOST_SHAPES    12 /* constraints on free-form shapes in one system */
#define MOST_UNKNOWNS  (6 + 2 * MOST_SHAPES)
#define ALONG          6e-8 /* angles nearer to 0 or pi count as these (rt/positioning README) */

/* ---- poses --------------------------------------------------------------------------------- */

/* q v q*, by the matrix of q. */
static gw_vec3 turned(gw_quat q, gw_vec3 v)
{
    double n = 2 / (q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    double xx = n * q.x * q.x, yy = n * q.y * q.y, zz = n * q.z * q.z;
    double xy = n * q.x * q.y, xz = n * q.x * q.z, yz = n * q.y * q.z;
    double wx = n * q.w * q.x, wy = n * q.w * q.y, wz = n * q.w * q.z;
    return gw_v3((1 - yy - zz) * v.x + (xy - wz) * v.y + (xz + wy) * v.z,
                 (xy + wz) * v.x + (1 - xx - zz) * v.y + (yz - wx) * v.z,
                 (xz - wy) * v.x + (yz + wx) * v.y + (1 - xx - yy) * v.z);
}

static gw_quat product(gw_quat a, gw_quat b)
{
    gw_quat q = {a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z,
                 a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
                 a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x,
                 a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w};
    double n = sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
    return (gw_quat){q.w / n, q.x / n, q.y / n, q.z / n};
}

/* x moved by s: the translation of the origin (m), and a rotation vector times size (m), in world
 * axes. */
static gw_pose moved(const gw_pose *x, const double s[6], double size)
{
    gw_vec3 half = {s[3] / (2 * size), s[4] / (2 * size), s[5] / (2 * size)};
    double h = gw_norm(half), k = h > 1e-9 ? sin(h) / h : 1;
    gw_quat turn = {cos(h), k * half.x, k * half.y, k * half.z};
    return (gw_pose){gw_add(x->p, gw_v3(s[0], s[1], s[2])), product(turn, x->q)};
}

static gw_element seen(const gw_pose *x, const gw_element *e)
{
    gw_element in_world = {.kind = e->kind, .p = gw_add(turned(x->q, e->p), x->p)};
    if (gw_is_free_form(e->kind)) {
        in_world.q = product(x->q, e->q);
        in_world.nurbs = e->nurbs;
    } else {
        in_world.d = turned(x->q, e->d);
    }
    return in_world;
}

double oracle_distance(const gw_pose *a, const gw_pose *b, double length)
{
    gw_quat d = product((gw_quat){a->q.w, -a->q.x, -a->q.y, -a->q.z}, b->q);
    double turn = 2 * atan2(sqrt(d.x * d.x + d.y * d.y + d.z * d.z), fabs(d.w));
    return hypot(gw_distance(a->p, b->p), length * turn);
}

static double reach(const gw_element *e)
{
    return gw_norm(e->p) + (gw_is_free_form(e->kind) ? e->nurbs->size : 0);
}

double oracle_size(const gw_problem *p)
{
    double size = 1e-4 * p->length;
    for (int i = 0; i < p->count; i++) {
        const gw_constraint *c = &p->constraints[i];
        if (c->kind == GW_ANGLE || c->kind == GW_PARALLEL || c->kind == GW_PERPENDICULAR)
            continue;
        size = fmax(size, fmax(reach(&c->mobile), reach(&c->fixed)));
        if (c->kind != GW_COINCIDENT)
            size = fmax(size, fabs(c->value));
    }
    return size;
}

/* ---- errors of constraints ------------------------------------------------------------------- */

/* Relation of the directions of a constraint. */
typedef enum relation { UNRELATED, ALONG_EACH_OTHER, ACROSS, AT_ANGLE } relation;

/* The relation; the sense and the angle between the directions where these are asked for. */
static relation relation_of(const gw_constraint *c, gw_sense *sense, double *turn)
{
    bool alike = c->mobile.kind == c->fixed.kind;
    *sense = c->sense;
    *turn = 0;
    if (c->mobile.kind == GW_POINT || c->fixed.kind == GW_POINT)
        return UNRELATED;
    if (c->kind == GW_PERPENDICULAR)
        return alike ? ACROSS : ALONG_EACH_OTHER;
    if (c->kind != GW_ANGLE)
        return alike ? ALONG_EACH_OTHER : ACROSS;
    *turn = alike ? c->value : GW_PI / 2 - c->value;
    if (*turn > ALONG && *turn < GW_PI - ALONG)
        return AT_ANGLE;
    *sense = *turn < 1 ? GW_SAME : GW_OPPOSITE;
    return ALONG_EACH_OTHER;
}

/* From the element that has an extent (the fixed one first) to the other's point; its direction. */
static gw_vec3 gap_of(const gw_constraint *c, const gw_element *m, gw_vec3 *along,
                      gw_element_kind *kind)
{
    const gw_element *f = &c->fixed;
    bool from_fixed = f->kind > m->kind || (f->kind == m->kind && !c->reversed);
    const gw_element *a = from_fixed ? f : m, *b = from_fixed ? m : f;
    *along = a->d;
    *kind = a->kind;
    return gw_sub(b->p, a->p);
}

/* ---- free-form shapes ------------------------------------------------------------------------ */

/* A constraint on a free-form shape at a pose: the point that has to lie on the shape, or at
 * `value` along its direction, and the direction that has to lie along that (or zero). */
typedef struct on_shape {
    const gw_nurbs *shape;
    gw_quat q; /* of the shape, world axes */
    gw_vec3 point, along;
    double value;
    gw_sense sense;
} on_shape;

static bool is_on_shape(const gw_constraint *c)
{
    return gw_is_free_form(c->mobile.kind) || gw_is_free_form(c->fixed.kind);
}

/* Point and direction in the shape's frame. */
static on_shape on_shape_at(const gw_constraint *c, const gw_pose *x)
{
    gw_element m = seen(x, &c->mobile);
    bool fixed = gw_is_free_form(c->fixed.kind);
    const gw_element *shape = fixed ? &c->fixed : &m, *other = fixed ? &m : &c->fixed;
    gw_quat back = {shape->q.w, -shape->q.x, -shape->q.y, -shape->q.z};
    on_shape s = {.shape = shape->nurbs, .q = shape->q, .sense = c->sense};
    gw_vec3 p = other->p;
    if (c->kind == GW_NORMAL || c->kind == GW_TANGENT)
        s.along = turned(back, other->d);
    if (c->kind == GW_TANGENT)
        p = gw_mul_add(p, c->value, other->d);
    else if (c->kind != GW_COINCIDENT)
        s.value = c->value;
    s.point = turned(back, gw_sub(p, shape->p));
    return s;
}

/* The angle between directions that are to lie along one another. */
static double turn_left(gw_vec3 a, gw_vec3 b, gw_sense sense)
{
    double between = gw_angle_between(a, b);
    return sense == GW_SAME       ? between
           : sense == GW_OPPOSITE ? GW_PI - between
                                  : fmin(between, GW_PI - between);
}

/* The least error of such a constraint at the feet or near them, and the parameters there. An
 * offset is measured from the closest point of the shape: if another part of it is nearer, the
 * difference counts as an error. */
static double error_at_feet(const on_shape *s, int count, double feet[MOST_FEET][2], double size,
                            double z[2])
{
    double least = HUGE_VAL, nearest = HUGE_VAL;
    for (int i = 0; i < count; i++) {
        form_point at;
        double y[2] = {feet[i][0], feet[i][1]};
        form_at(s->shape, y, &at);
        nearest = fmin(nearest, gw_distance(at.p, s->point));
        double off = form_settle_offset(s->shape, s->point, s->value, y);
        form_at(s->shape, y, &at);
        if (gw_norm(s->along) > 0.5)
            off = fmax(off, size * turn_left(s->along, at.direction, s->sense));
        if (off < least) {
            least = off;
            memcpy(z, y, sizeof y);
        }
    }
    return s->value == 0 ? least : fmax(least, fabs(s->value) - nearest);
}

/* The least error of such a constraint, and the parameters there. Closest points between samples
 * are searched if those found from samples leave an error. */
static double shape_error(const gw_constraint *c, const gw_pose *x, double size, double z[2])
{
    on_shape s = on_shape_at(c, x);
    double feet[MOST_FEET][2];
    int n = form_feet(s.shape, s.point, feet);
    double error = error_at_feet(&s, n, feet, size, z);
    if (error <= ORACLE_TRUTH * size)
        return error;
    n = form_feet_between(s.shape, s.point, n, feet);
    return error_at_feet(&s, n, feet, size, z);
}

double oracle_error(const gw_constraint *c, const gw_pose *x, double size)
{
    if (is_on_shape(c)) {
        double z[2], error = shape_error(c, x, size, z);
        return isnan(error) ? HUGE_VAL : error;
    }
    gw_element m = seen(x, &c->mobile);
    gw_sense sense;
    double turn, off = 0, wanted = c->kind == GW_DISTANCE ? c->value : 0;
    relation r = relation_of(c, &sense, &turn);
    double between = gw_angle_between(m.d, c->fixed.d);
    if (r == ACROSS)
        off = fabs(between - GW_PI / 2);
    else if (r == AT_ANGLE)
        off = fabs(between - turn);
    else if (r == ALONG_EACH_OTHER)
        off = turn_left(m.d, c->fixed.d, sense);
    double worst = size * off;
    if (c->kind == GW_DISTANCE || c->kind == GW_COINCIDENT) {
        gw_vec3 d;
        gw_element_kind kind;
        gw_vec3 gap = gap_of(c, &m, &d, &kind);
        double far = kind == GW_POINT  ? gw_norm(gap)
                     : kind == GW_LINE ? gw_norm(gw_cross(gap, d))
                                       : gw_dot(gap, d);
        worst = fmax(worst, fabs(far - wanted));
        if (isnan(far))
            return HUGE_VAL;
    }
    return isnan(worst) || isnan(off) ? HUGE_VAL : worst;
}

double oracle_worst(const gw_problem *p, unsigned long use, double size, const gw_pose *x,
                    int *worst)
{
    double most = 0;
    for (int i = 0; i < p->count; i++) {
        double e = use >> i & 1 ? oracle_error(&p->constraints[i], x, size) / size : 0;
        if (e > most) {
            most = e;
            if (worst)
                *worst = i;
        }
    }
    return most;
}

/* ---- as equations ---------------------------------------------------------------------------- */

static int put(double *out, gw_vec3 v, double scale)
{
    out[0] = scale * v.x, out[1] = scale * v.y, out[2] = scale * v.z;
    return 3;
}

static int along_equations(gw_vec3 a, gw_vec3 b, gw_sense sense, double size, double *out)
{
    return sense == GW_EITHER ? put(out, gw_cross(a, b), size)
           : sense == GW_SAME ? put(out, gw_sub(a, b), size)
                              : put(out, gw_add(a, b), size);
}

static int direction_equations(const gw_constraint *c, const gw_element *m, double size,
                               double *out)
{
    gw_sense sense;
    double turn;
    switch (relation_of(c, &sense, &turn)) {
    case ACROSS:
        out[0] = size * gw_dot(m->d, c->fixed.d);
        return 1;
    case AT_ANGLE:
        out[0] = size * (gw_angle_between(m->d, c->fixed.d) - turn);
        return 1;
    case ALONG_EACH_OTHER:
        return along_equations(m->d, c->fixed.d, sense, size, out);
    default:
        return 0;
    }
}

/* A distance of no more than round-off is a coincidence: as such it is smooth at its root. */
static int place_equations(const gw_constraint *c, const gw_element *m, double size, double *out)
{
    if (c->kind != GW_DISTANCE && c->kind != GW_COINCIDENT)
        return 0;
    gw_vec3 d;
    gw_element_kind kind;
    gw_vec3 gap = gap_of(c, m, &d, &kind);
    double wanted = c->kind == GW_DISTANCE ? c->value : 0;
    if (kind == GW_PLANE) {
        out[0] = gw_dot(gap, d) - wanted;
        return 1;
    }
    if (kind == GW_LINE)
        gap = gw_reject(gap, d);
    if (wanted < 1e-12 * size)
        return put(out, gap, 1);
    out[0] = gw_norm(gap) - wanted;
    return 1;
}

static int shape_equations(const gw_constraint *c, const gw_pose *x, const double z[2], double size,
                           double *out)
{
    on_shape s = on_shape_at(c, x);
    form_point at;
    form_at(s.shape, z, &at);
    gw_vec3 to = gw_mul_add(at.p, s.value, at.direction);
    int n = put(out, gw_sub(s.point, to), 1);
    if (gw_norm(s.along) > 0.5)
        n += along_equations(s.along, at.direction, s.sense, size, out + n);
    return n;
}

/* A pose, and the parameters of the shapes of those constraints that are on one, in their order. */
typedef struct unknowns {
    gw_pose x;
    double z[MOST_SHAPES][2];
} unknowns;

/* The constraints of `use` on shapes; -1 if there are more than MOST_SHAPES. */
static int list_shapes(const gw_problem *p, unsigned long use,
                       const gw_constraint *list[MOST_SHAPES])
{
    int n = 0;
    for (int i = 0; i < p->count; i++) {
        if (!(use >> i & 1) || !is_on_shape(&p->constraints[i]))
            continue;
        if (n == MOST_SHAPES)
            return -1;
        list[n++] = &p->constraints[i];
    }
    return n;
}

/* All equations of `use` (m); returns their number. */
static int equations(const gw_problem *p, unsigned long use, double size, const unknowns *at,
                     double *out)
{
    int n = 0, shapes = 0;
    for (int i = 0; i < p->count; i++) {
        const gw_constraint *c = &p->constraints[i];
        if (!(use >> i & 1))
            continue;
        if (is_on_shape(c)) {
            n += shape_equations(c, &at->x, at->z[shapes++], size, out + n);
            continue;
        }
        gw_element m = seen(&at->x, &c->mobile);
        n += direction_equations(c, &m, size, out + n);
        n += place_equations(c, &m, size, out + n);
    }
    return n;
}

typedef struct system {
    int count, unknowns;
    double h[MOST_EQUATIONS], a[MOST_EQUATIONS][MOST_UNKNOWNS];
    double sum; /* of squares of h */
} system_at;

/* A problem whose roots are searched. */
typedef struct search {
    const gw_problem *p;
    unsigned long use;
    double size;
    int shapes;
    const gw_constraint *on[MOST_SHAPES];
} search;

static const gw_nurbs *shape_of(const gw_constraint *c)
{
    return gw_is_free_form(c->fixed.kind) ? c->fixed.nurbs : c->mobile.nurbs;
}

/* A parameter's step is a length (m), scaled by the shape's mean speed; parameters may leave the
 * domain. */
static void advance(const search *s, const unknowns *from, const double *step, unknowns *to)
{
    to->x = moved(&from->x, step, s->size);
    for (int i = 0; i < s->shapes; i++)
        for (int k = 0; k < 2; k++) {
            const gw_nurbs *shape = shape_of(s->on[i]);
            double span = shape->direction[k].high - shape->direction[k].low;
            to->z[i][k] = from->z[i][k] + step[6 + 2 * i + k] * span / shape->size;
        }
}

/* Values and, if `slopes` is set, their central differences. */
static void take(const search *s, const unknowns *x, bool slopes, system_at *to)
{
    static double ahead[MOST_EQUATIONS], behind[MOST_EQUATIONS];
    const double step = 2e-5 * s->size;
    to->unknowns = 6 + 2 * s->shapes;
    to->count = equations(s->p, s->use, s->size, x, to->h);
    to->sum = 0;
    for (int r = 0; r < to->count; r++)
        to->sum += to->h[r] * to->h[r];
    for (int k = 0; k < to->unknowns && slopes; k++) {
        double d[MOST_UNKNOWNS] = {0};
        unknowns y;
        double by = k < 6 ? step : 2e-5 * shape_of(s->on[(k - 6) / 2])->size;
        d[k] = by;
        advance(s, x, d, &y);
        equations(s->p, s->use, s->size, &y, ahead);
        d[k] = -by;
        advance(s, x, d, &y);
        equations(s->p, s->use, s->size, &y, behind);
        for (int r = 0; r < to->count; r++)
            to->a[r][k] = (ahead[r] - behind[r]) / (2 * by);
    }
}

typedef struct normal_equations {
    double n[MOST_UNKNOWNS][MOST_UNKNOWNS], g[MOST_UNKNOWNS];
} normal_equations;

/* N = A^T A, g = A^T h. */
static void take_normal_equations(const system_at *s, normal_equations *to)
{
    memset(to, 0, sizeof *to);
    for (int r = 0; r < s->count; r++)
        for (int i = 0; i < s->unknowns; i++) {
            to->g[i] += s->a[r][i] * s->h[r];
            for (int j = 0; j < s->unknowns; j++)
                to->n[i][j] += s->a[r][i] * s->a[r][j];
        }
}

/* Fixes parameters at a bound that would leave it. */
static void hold_bounds(const search *s, const unknowns *x, normal_equations *e)
{
    for (int i = 0; i < s->shapes; i++)
        for (int k = 0; k < 2; k++) {
            const gw_nurbs_direction *d = &shape_of(s->on[i])->direction[k];
            int at = 6 + 2 * i + k;
            bool outward =
                (x->z[i][k] <= d->low && e->g[at] > 0) || (x->z[i][k] >= d->high && e->g[at] < 0);
            if (d->degree > 0 && (d->closed || !outward))
                continue;
            for (int j = 0; j < MOST_UNKNOWNS; j++)
                e->n[at][j] = e->n[j][at] = 0;
            e->g[at] = 0;
            e->n[at][at] = 1;
        }
}

/* (N + raise I) x = g of `count` unknowns by elimination; false if a pivot is not positive. */
static bool solved(int count, const normal_equations *e, double raise, double *x)
{
    double m[MOST_UNKNOWNS][MOST_UNKNOWNS + 1];
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < count; j++)
            m[i][j] = e->n[i][j] + (i == j ? raise : 0);
        m[i][count] = e->g[i];
    }
    for (int k = 0; k < count; k++) {
        if (!(m[k][k] > 0))
            return false;
        for (int i = k + 1; i < count; i++)
            for (int j = count; j >= k; j--)
                m[i][j] -= m[i][k] / m[k][k] * m[k][j];
    }
    for (int k = count - 1; k >= 0; k--) {
        x[k] = m[k][count];
        for (int j = k + 1; j < count; j++)
            x[k] -= m[k][j] * x[j];
        x[k] /= m[k][k];
    }
    return true;
}

/* Starts the parameters from the pose: the sample that satisfies the constraint best, refined. */
static void start_parameters(const search *s, unknowns *x)
{
    for (int i = 0; i < s->shapes; i++) {
        on_shape o = on_shape_at(s->on[i], &x->x);
        gw_vec3 along = o.sense == GW_OPPOSITE ? gw_neg(o.along) : o.along;
        form_start(o.shape, o.point, o.value, along, o.sense == GW_EITHER, s->size, x->z[i]);
        form_settle_offset(o.shape, o.point, o.value, x->z[i]);
    }
}

static double settle_from(const search *s, unknowns *x)
{
    static system_at at, there;
    static normal_equations e;
    double step[MOST_UNKNOWNS], raise = 1e-2, size = s->size;
    take(s, x, true, &at);
    for (int k = 0; k < 120 && at.sum > 1e-30 * size * size && raise < 1e9; k++) {
        take_normal_equations(&at, &e);
        hold_bounds(s, x, &e);
        if (solved(at.unknowns, &e, raise, step)) {
            unknowns next;
            for (int i = 0; i < at.unknowns; i++)
                step[i] = -step[i];
            advance(s, x, step, &next);
            for (int i = 0; i < s->shapes; i++)
                form_into_domain(shape_of(s->on[i]), next.z[i]);
            take(s, &next, false, &there);
            if (there.sum < at.sum) {
                double gained = at.sum - there.sum;
                *x = next;
                if (gained < 1e-7 * at.sum && at.sum > 1e-12 * size * size)
                    break; /* a minimum that is not a root */
                take(s, x, true, &at);
                raise = fmax(raise * 0.1, 1e-14);
                continue;
            }
        }
        raise *= 8;
    }
    return oracle_worst(s->p, s->use, size, &x->x, NULL);
}

/* False if there are more than MOST_SHAPES constraints on shapes. */
static bool begin(const gw_problem *p, unsigned long use, double size, search *s)
{
    *s = (search){.p = p, .use = use, .size = size};
    s->shapes = list_shapes(p, use, s->on);
    return s->shapes >= 0;
}

double oracle_settle(const gw_problem *p, unsigned long use, double size, gw_pose *x)
{
    search s;
    if (!begin(p, use, size, &s))
        return HUGE_VAL;
    unknowns at = {.x = *x};
    start_parameters(&s, &at);
    double worst = settle_from(&s, &at);
    *x = at.x;
    return worst;
}

/* ---- rank and dimension ---------------------------------------------------------------------- */

/* Eigenvalues of the first `count` unknowns' symmetric matrix by Jacobi's rotations. */
static void eigenvalues(int count, double n[MOST_UNKNOWNS][MOST_UNKNOWNS], double *values)
{
    for (int sweep = 0; sweep < 30; sweep++)
        for (int i = 0; i < count; i++)
            for (int j = i + 1; j < count; j++) {
                if (n[i][j] == 0)
                    continue;
                double t = (n[j][j] - n[i][i]) / (2 * n[i][j]);
                t = (t >= 0 ? 1 : -1) / (fabs(t) + sqrt(t * t + 1));
                double c = 1 / sqrt(t * t + 1), s = t * c;
                for (int k = 0; k < count; k++) {
                    double a = n[k][i], b = n[k][j];
                    n[k][i] = c * a - s * b, n[k][j] = s * a + c * b;
                }
                for (int k = 0; k < count; k++) {
                    double a = n[i][k], b = n[j][k];
                    n[i][k] = c * a - s * b, n[j][k] = s * a + c * b;
                }
            }
    for (int i = 0; i < count; i++)
        values[i] = n[i][i];
}

/* A curve has one parameter; the second moves nothing. */
static int idle_parameters(const search *s)
{
    int idle = 0;
    for (int i = 0; i < s->shapes; i++)
        idle += shape_of(s->on[i])->dimension == 1;
    return idle;
}

int oracle_nullity(const gw_problem *p, double size, const gw_pose *x)
{
    static system_at at;
    static normal_equations e;
    double values[MOST_UNKNOWNS], most = 1;
    search s;
    unknowns u = {.x = *x};
    int rank = 0;
    if (!begin(p, ~0ul, size, &s))
        return -1;
    for (int i = 0; i < s.shapes; i++) {
        form_point here;
        shape_error(s.on[i], x, size, u.z[i]);
        form_at(shape_of(s.on[i]), u.z[i], &here);
        if (here.degenerate)
            return -1;
    }
    take(&s, &u, true, &at);
    take_normal_equations(&at, &e);
    eigenvalues(at.unknowns, e.n, values);
    for (int i = 0; i < at.unknowns; i++)
        most = fmax(most, values[i]);
    for (int i = 0; i < at.unknowns; i++)
        rank += values[i] > 1e-10 * most;
    return at.unknowns - idle_parameters(&s) - rank;
}

int oracle_dimension(const gw_problem *p, double size, double reach, const gw_pose *x,
                     unsigned long long *random)
{
    enum { AROUND = 16 };
    double n[MOST_UNKNOWNS][MOST_UNKNOWNS] = {{0}}, values[6];
    int count = 0, dimension = 0;
    /* if x is accurate to the solver's tolerance only, so are the roots around it */
    double good = fmax(ORACLE_ROOT, 2 * oracle_worst(p, ~0ul, size, x, NULL));
    for (int k = 0; k < AROUND; k++) {
        double s[6];
        for (int i = 0; i < 6; i++)
            s[i] = random_uniform(random, -reach, reach) * size;
        gw_pose y = moved(x, s, size);
        if (oracle_settle(p, ~0ul, size, &y) > good ||
            oracle_distance(x, &y, size) > 6 * reach * size)
            continue;
        gw_vec3 dp = gw_sub(y.p, x->p);
        gw_quat t = product(y.q, (gw_quat){x->q.w, -x->q.x, -x->q.y, -x->q.z});
        double k2 = (t.w < 0 ? -2 : 2) / reach, k1 = 1 / (reach * size);
        double d[6] = {k1 * dp.x, k1 * dp.y, k1 * dp.z, k2 * t.x, k2 * t.y, k2 * t.z};
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                n[i][j] += d[i] * d[j];
        count++;
    }
    if (count < AROUND / 2)
        return -1;
    eigenvalues(6, n, values);
    for (int i = 0; i < 6; i++)
        dimension += values[i] > 4e-3 * count;
    return dimension;
}

/* ---- roots ----------------------------------------------------------------------------------- */

static gw_quat random_turn(unsigned long long *random)
{
    double a = random_uniform(random, 0, 1), b = random_uniform(random, 0, 2 * GW_PI),
           d = random_uniform(random, 0, 2 * GW_PI);
    return (gw_quat){sqrt(1 - a) * cos(b), sqrt(1 - a) * sin(b), sqrt(a) * cos(d),
                     sqrt(a) * sin(d)};
}

/* A pose that has some body point within a size of its counterpart. */
static gw_pose random_start(const gw_problem *p, double size, unsigned long long *random)
{
    gw_pose x = {{0, 0, 0}, random_turn(random)};
    int i = p->count ? (int)random_uniform(random, 0, p->count) : 0;
    gw_vec3 off = {random_uniform(random, -size, size), random_uniform(random, -size, size),
                   random_uniform(random, -size, size)};
    if (p->count) {
        const gw_constraint *c = &p->constraints[i];
        off = gw_add(off, gw_sub(c->fixed.p, turned(x.q, c->mobile.p)));
    }
    x.p = off;
    return x;
}

/* Parameters at random, every second time, else from the pose. */
static void random_parameters(const search *s, unsigned long long *random, unknowns *x)
{
    start_parameters(s, x);
    for (int i = 0; i < s->shapes; i++)
        for (int k = 0; k < 2; k++) {
            const gw_nurbs_direction *d = &shape_of(s->on[i])->direction[k];
            double z = random_uniform(random, d->low, d->high);
            x->z[i][k] = random_below(random, 2) ? z : x->z[i][k];
        }
}

int oracle_roots(const gw_problem *p, unsigned long use, double size, int starts,
                 unsigned long long *random, gw_pose *roots, int most)
{
    search s;
    int count = 0;
    if (!begin(p, use, size, &s))
        return 0;
    for (int k = 0; k < starts && count < most; k++) {
        unknowns x = {.x = random_start(p, size, random)};
        random_parameters(&s, random, &x);
        if (settle_from(&s, &x) > ORACLE_ROOT)
            continue;
        bool known = false;
        for (int i = 0; i < count && !known; i++)
            known = oracle_distance(&roots[i], &x.x, size) < 1e-5 * size;
        if (!known)
            roots[count++] = x.x;
    }
    return count;
}
