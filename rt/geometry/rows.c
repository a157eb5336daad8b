/*
 * The algebraic side of a submanifold: H, its Jacobian A and the bias A-dot [v; w], row by row
 * (framework eqs. 7, 8, 14, 20, 22). Any thread, RT safe.
 *
 * Writing X = R m + t and X-dot = v + w x R m, every row is of one of two shapes:
 *
 *   linear   h = n . g            g a vector that moves with velocity s and acceleration a
 *   radial   h = |g| - value      u = g / |g|:  h-dot = u . s,
 *                                 h-dotdot = u . a + (|s|^2 - (u . s)^2) / |g|
 *
 * with v, w held constant for the bias. Rows of a free-form surface are the distance of X from it,
 * with gradient n and second derivative x' . n'; of a curve C three projections of X - C, of rank
 * two; of a direction along the normal or a tangent two products (direction_of()). For rows whose
 * line or plane belongs to the body, g, s and a are taken in the body's frame and turned into world
 * axes.
 */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/base/spatial.h"
#include "rt/geometry/along_normal.h"
#include "rt/geometry/nurbs_motion.h"
#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/element.h"
#include "rt/geometry/submanifold.h"

#define OVER 1e-9 /* of a shape's size: points no farther beyond an edge count as over it */

/* Vectors of a row in world axes. */
typedef struct arm {
    gw_vec3 m; /* R m */
    gw_vec3 n; /* n in world axes */
    gw_vec3 g; /* X - f, or f - X where the body owns the element; radial part for cylinders */
} arm;

static bool about_axis(gw_row_kind kind)
{
    return kind == GW_ROW_CYLINDER || kind == GW_ROW_CYLINDER_BODY;
}

static arm arm_of(const gw_row *row, const gw_pose *x)
{
    arm a;
    a.m = gw_rotate(x->q, row->m);
    /* the direction belongs to the other side than the shape */
    bool turns = gw_row_of_direction(row->kind) != gw_row_owned_by_body(row->kind);
    a.n = turns ? gw_rotate(x->q, row->n) : row->n;
    gw_vec3 from_f = gw_sub(gw_add(a.m, x->p), row->f);
    a.g = gw_row_owned_by_body(row->kind) ? gw_neg(from_f) : from_f;
    if (about_axis(row->kind))
        a.g = gw_reject(a.g, a.n);
    return a;
}

/* Gradient direction of a radial row; any normal where the radius vanishes. */
static gw_vec3 radial_unit(const gw_row *row, const arm *a)
{
    double r = gw_norm(a->g);
    if (r > 0)
        return gw_scale(1 / r, a->g);
    return about_axis(row->kind) ? gw_any_normal(a->n) : gw_v3(1, 0, 0);
}

void gw_submanifold_count_work(gw_submanifold *set, long *work)
{
    assert(set);
    set->translation.locus.work = work;
    for (int i = 0; i < set->row_count; i++)
        set->rows[i].work = set->rows[i].nurbs ? work : NULL;
}

bool gw_rows_out_of_work(const gw_row *rows, int count)
{
    for (int i = 0; i < count; i++)
        if (rows[i].work && *rows[i].work <= 0)
            return true;
    return false;
}

/* Counts the work of a closest point, followed or known, and of a search of `cells` cells. */
static void count_work(const gw_row *row, bool known, int cells)
{
    int point = known ? GW_NURBS_POINT_WORK : GW_NURBS_FOLLOW_WORK;
    if (row->work)
        *row->work -= point + (long)cells * gw_nurbs_cell_work(row->nurbs);
}

static bool is_free_form(gw_row_kind kind)
{
    return kind >= GW_ROW_SURFACE && kind <= GW_ROW_CURVE_BODY;
}

/* The parameters that the closest point of a free-form row is followed from, replaced by its
 * own. */
typedef struct follower {
    double start[2];
    int cells;  /* searched, by this row or an earlier one with the same closest point */
    bool known; /* an earlier row with the same point has found it, at `start` */
} follower;

/* The distance that identifies the closest point: that of the point which a search has found for an
 * earlier row, else the row's value (m). */
static double expected_distance(const gw_row *row, const follower *f, gw_vec3 to)
{
    gw_nurbs_point at;
    if (f->cells == 0 || row->past_edges)
        return row->value;
    gw_nurbs_evaluate(row->nurbs, f->start, 0, NULL, &at);
    return gw_distance(at.d[0][0], to);
}

/*
 * A free-form row, of a point that moves relative to the shape with velocity s (world axes): its
 * value, its gradient u by the point, and u . s rate for s' = 0; `f` moves to the parameters.
 * arm.g is that point less the frame of the shape, or, where the body owns it, the same from the
 * body's frame.
 */
static double free_form(const gw_row *row, const gw_pose *x, const arm *a, gw_vec3 s, follower *f,
                        gw_vec3 *u, double *second)
{
    gw_quat world_from_shape = gw_row_owned_by_body(row->kind) ? gw_quat_mul(x->q, row->q) : row->q;
    gw_vec3 at = gw_unrotate(world_from_shape, a->g);
    gw_nurbs_distance d;
    if (row->still) { /* h = n . (x - C) of a point C */
        gw_nurbs_point c;
        gw_nurbs_evaluate(row->nurbs, f->start, 0, NULL, &c);
        *u = gw_rotate(world_from_shape, row->n);
        *second = 0;
        return gw_dot(row->n, gw_sub(at, c.d[0][0])) - row->value;
    }
    gw_nurbs_distance_at(row->nurbs, at, gw_unrotate(world_from_shape, s), row->n,
                         expected_distance(row, f, at), row->past_edges, f->start, &d);
    *u = gw_rotate(world_from_shape, d.gradient);
    *second = d.second;
    f->cells += d.cells;
    f->known = !row->past_edges;
    count_work(row, false, d.cells);
    return d.value - row->value;
}

/*
 * h = T . N of a direction T and N, the normal or tangent at the point closest to X, which both
 * move relative to the shape; T' = +-w x T, the sign of the side that turns:
 *   h' = T' . N + T . N',   h'' = T'' . N + 2 T' . N' + T . N''
 * With G the gradient of T . N by X, for T' = 0.
 */
typedef struct of_direction {
    gw_vec3 n, rate, second; /* N, N', and N'' for X'' = 0 (world axes) */
    gw_vec3 gradient;        /* G */
} of_direction;

/* s: velocity of X relative to the shape; NULL: N and G alone. `f` moves to the parameters. */
static of_direction direction_of(const gw_row *row, const gw_pose *x, const arm *a,
                                 const gw_vec3 *s, follower *f)
{
    gw_quat q = gw_row_owned_by_body(row->kind) ? gw_quat_mul(x->q, row->q) : row->q;
    gw_vec3 at = gw_unrotate(q, a->g), along = gw_unrotate(q, a->n);
    gw_vec3 velocity = s ? gw_unrotate(q, *s) : gw_v3(0, 0, 0);
    of_direction m = {.n = {0, 0, 0}};
    int before = f->cells;
    bool known = f->known;
    if (row->kind == GW_ROW_TANGENT || row->kind == GW_ROW_TANGENT_BODY) {
        f->cells += gw_nurbs_tangent_at(row->nurbs, at, velocity, along, row->past_edges, f->start,
                                        &m.n, &m.rate, &m.second, &m.gradient);
    } else if (known) {
        gw_nurbs_normal_here(row->nurbs, at, along, f->start, &m.n, &m.gradient, &m.second);
        if (s)
            gw_nurbs_normal_here(row->nurbs, at, velocity, f->start, &m.n, &m.rate, &m.second);
    } else {
        double distance = expected_distance(row, f, at);
        f->cells += gw_nurbs_normal_at(row->nurbs, at, along, distance, row->past_edges, f->start,
                                       &m.n, &m.gradient, &m.second);
        distance = expected_distance(row, f, at);
        if (s)
            gw_nurbs_normal_at(row->nurbs, at, velocity, distance, row->past_edges, f->start, &m.n,
                               &m.rate, &m.second);
    }
    f->known = !row->past_edges;
    count_work(row, known, f->cells - before);
    m.n = gw_rotate(q, m.n);
    m.rate = gw_rotate(q, m.rate);
    m.second = gw_rotate(q, m.second);
    m.gradient = gw_rotate(q, m.gradient);
    return m;
}

/* True if two rows have the same closest point. */
static bool share_point(const gw_row *a, const gw_row *b)
{
    return a->nurbs == b->nurbs && gw_distance(a->m, b->m) == 0 && gw_distance(a->f, b->f) == 0 &&
           a->q.w == b->q.w && a->q.x == b->q.x && a->q.y == b->q.y && a->q.z == b->q.z &&
           gw_row_owned_by_body(a->kind) == gw_row_owned_by_body(b->kind);
}

/* Sets the start of row i's search: where the row before it found the same point, else its own
 * start, or that of `starts`. */
static void start_row(const gw_row *rows, int i, const double (*starts)[2], follower *f)
{
    if (!rows[i].nurbs || (i > 0 && rows[i - 1].nurbs && share_point(&rows[i - 1], &rows[i])))
        return;
    f->start[0] = starts ? starts[i][0] : rows[i].start[0];
    f->start[1] = starts ? starts[i][1] : rows[i].start[1];
    f->cells = 0;
    f->known = false;
}

void gw_rows_start_at(gw_row *rows, int count, const gw_pose *x)
{
    assert(count >= 0 && (count == 0 || rows) && x);
    double start[2] = {0, 0};
    for (int i = 0; i < count; i++) {
        gw_row *row = &rows[i];
        gw_nurbs_point at;
        if (!row->nurbs || row->past_edges)
            continue;
        if (i == 0 || !share_point(&rows[i - 1], row)) {
            arm a = arm_of(row, x);
            gw_quat q = gw_row_owned_by_body(row->kind) ? gw_quat_mul(x->q, row->q) : row->q;
            start[0] = row->start[0], start[1] = row->start[1];
            int cells = gw_nurbs_closest(row->nurbs, gw_unrotate(q, a.g), row->value, start, &at);
            count_work(row, false, cells);
        }
        row->start[0] = start[0], row->start[1] = start[1];
    }
}

#define NEARER 2 /* times: an axis is that much nearer to the tangent before it takes over */

/* A point on a curve has a row along each of three axes, of rank two on the curve. Beside it, as at
 * the stages of a step, the rank is three by a share of the distance, and which two rows are solved
 * would change the motion along the tangent: the row nearest to the tangent is marked. */
static void mark_implied(gw_row *rows, int count)
{
    for (int i = 0; i + 2 < count; i++) {
        gw_row *r = &rows[i];
        gw_nurbs_point at;
        bool curve = r->kind == GW_ROW_CURVE || r->kind == GW_ROW_CURVE_BODY;
        if (!curve || r[1].kind != r->kind || r[2].kind != r->kind || !share_point(r, r + 1) ||
            !share_point(r, r + 2))
            continue;
        gw_nurbs_evaluate(r->nurbs, r->start, 1, NULL, &at);
        int nearest = 0;
        double most = 0;
        for (int k = 0; k < 3; k++) {
            double along = fabs(gw_dot(r[k].n, at.d[1][0])) * (r[k].implied ? NEARER : 1);
            if (along > most)
                most = along, nearest = k;
        }
        for (int k = 0; k < 3; k++)
            r[k].implied = k == nearest && !r[k].still;
        i += 2;
    }
}

void gw_rows_follow(gw_row *rows, int count, const gw_pose *x)
{
    const gw_row *first = NULL;
    for (int i = 0; i < count; i++) {
        gw_row *row = &rows[i];
        gw_nurbs_point at;
        if (!row->nurbs || row->still)
            continue;
        arm a = arm_of(row, x);
        gw_quat q = gw_row_owned_by_body(row->kind) ? gw_quat_mul(x->q, row->q) : row->q;
        gw_vec3 to = gw_unrotate(q, a.g);
        bool same = first && share_point(first, row);
        if (same) {
            row->start[0] = first->start[0], row->start[1] = first->start[1];
        } else {
            if (!row->past_edges) {
                gw_nurbs_nearest nearest;
                gw_nurbs_nearest_point(row->nurbs, to, &nearest);
                row->start[0] = nearest.parameter[0], row->start[1] = nearest.parameter[1];
            }
            gw_nurbs_pass_edges(row->nurbs, to, row->start, &at);
        }
        row->past_edges = true;
        first = same ? first : row;
    }
    mark_implied(rows, count);
}

/* The point of a free-form row, in the frame of its shape. */
static gw_vec3 point_of(const gw_row *row, const gw_pose *x)
{
    gw_quat q = gw_row_owned_by_body(row->kind) ? gw_quat_mul(x->q, row->q) : row->q;
    return gw_unrotate(q, arm_of(row, x).g);
}

/*
 * True if a row's point reached a fold of its offset surface while its closest point was followed
 * from `before`. A foot moves at most 1 / margin times as fast as the point; if it moved farther it
 * jumped.
 */
static bool met_fold(const gw_row *row, const double before[2], const gw_pose *from,
                     const gw_pose *to)
{
    gw_nurbs_point was, is;
    gw_nurbs_evaluate(row->nurbs, before, 2, NULL, &was);
    gw_nurbs_evaluate(row->nurbs, row->start, 2, NULL, &is);
    double started = gw_nurbs_fold_margin(row->nurbs, before, &was, row->value);
    double ended = gw_nurbs_fold_margin(row->nurbs, row->start, &is, row->value);
    double least = fmax(fmin(started, ended), GW_FOLD_MARGIN);
    double way = gw_distance(point_of(row, from), point_of(row, to));
    double reach = 2 * way / least + 1e-6 * row->nurbs->size;
    return (ended < GW_FOLD_MARGIN && ended < started) ||
           gw_distance(was.d[0][0], is.d[0][0]) > reach;
}

bool gw_rows_follow_unfolded(gw_row *rows, int count, const gw_pose *from, const gw_pose *to)
{
    double before[GW_MAX_ROWS][2];
    bool unfolded = true;
    assert(count >= 0 && count <= GW_MAX_ROWS && (count == 0 || rows) && from && to);
    for (int i = 0; i < count; i++)
        memcpy(before[i], rows[i].start, sizeof before[i]);
    gw_rows_follow(rows, count, to);
    for (int i = 0; i < count; i++) {
        bool surface = rows[i].kind == GW_ROW_SURFACE || rows[i].kind == GW_ROW_SURFACE_BODY;
        if (surface && rows[i].value != 0)
            unfolded = unfolded && !met_fold(&rows[i], before[i], from, to);
    }
    for (int i = 0; i < count && !unfolded; i++)
        memcpy(rows[i].start, before[i], sizeof before[i]);
    return unfolded;
}

static double row_value(const gw_row *row, const gw_pose *x, follower *f)
{
    gw_vec3 u, none = {0, 0, 0};
    double second;
    if (gw_row_of_direction(row->kind)) {
        arm at = arm_of(row, x);
        return gw_dot(at.n, direction_of(row, x, &at, NULL, f).n);
    }
    if (is_free_form(row->kind)) {
        arm at = arm_of(row, x);
        return free_form(row, x, &at, none, f, &u, &second);
    }
    if (row->kind == GW_ROW_ANGLE)
        return gw_dot(row->n, gw_rotate(x->q, row->m)) - row->value;
    arm a = arm_of(row, x);
    if (row->kind == GW_ROW_PLANE || row->kind == GW_ROW_PLANE_BODY)
        return gw_dot(a.n, a.g) - row->value;
    return gw_norm(a.g) - row->value;
}

void gw_rows_value(const gw_row *rows, int count, const gw_pose *x, double *h)
{
    assert(count >= 0 && (count == 0 || rows) && x && h);
    follower f = {.start = {0, 0}};
    for (int i = 0; i < count; i++) {
        start_row(rows, i, NULL, &f);
        h[i] = row_value(&rows[i], x, &f);
    }
}

/* The row of h = u . g for a unit vector u that stays with the element: see row_linear(). */
static void put_gradient(const gw_row *row, const gw_pose *x, const arm *a, gw_vec3 u,
                         double out[6])
{
    if (gw_row_owned_by_body(row->kind))
        gw_spatial_set(out, gw_neg(u), gw_cross(u, gw_sub(row->f, x->p)));
    else
        gw_spatial_set(out, u, gw_cross(a->m, u));
}

/*
 * With u the row's gradient at its point:
 *   world's element   h-dot = u . (v + w x R m)            = u . v + (R m x u) . w
 *   body's element    h-dot = -u . (v + w x (f - t))       = -u . v + (u x (f - t)) . w
 *   angle             h-dot = n . (w x R m)                = (R m x n) . w
 */
static double row_linear(const gw_row *row, const gw_pose *x, follower *f, double out[6])
{
    if (row->kind == GW_ROW_ANGLE) {
        gw_vec3 m = gw_rotate(x->q, row->m);
        gw_spatial_set(out, gw_v3(0, 0, 0), gw_cross(m, row->n));
        return gw_dot(row->n, m) - row->value;
    }
    arm a = arm_of(row, x);
    if (gw_row_of_direction(row->kind)) {
        bool body = gw_row_owned_by_body(row->kind);
        of_direction m = direction_of(row, x, &a, NULL, f);
        gw_vec3 turn = gw_cross(a.n, m.n);
        if (body)
            gw_spatial_set(out, gw_neg(m.gradient),
                           gw_sub(gw_cross(m.gradient, gw_sub(row->f, x->p)), turn));
        else
            gw_spatial_set(out, m.gradient, gw_add(gw_cross(a.m, m.gradient), turn));
        return gw_dot(a.n, m.n);
    }
    double value = 0, second;
    bool flat = row->kind == GW_ROW_PLANE || row->kind == GW_ROW_PLANE_BODY;
    gw_vec3 u = flat ? a.n : radial_unit(row, &a);
    bool free = is_free_form(row->kind);
    if (free)
        value = free_form(row, x, &a, gw_v3(0, 0, 0), f, &u, &second);
    put_gradient(row, x, &a, u, out);
    return free ? value : gw_dot(u, a.g) - row->value;
}

double gw_row_overhang(const gw_row *row, const gw_pose *x, double gradient[6])
{
    bool surface = row->kind == GW_ROW_SURFACE || row->kind == GW_ROW_SURFACE_BODY;
    if (!surface || row->value == 0 || row->past_edges)
        return 0;
    arm a = arm_of(row, x);
    gw_quat q = gw_row_owned_by_body(row->kind) ? gw_quat_mul(x->q, row->q) : row->q;
    double start[2] = {row->start[0], row->start[1]};
    gw_nurbs_point at;
    gw_vec3 to = gw_unrotate(q, a.g);
    count_work(row, false, gw_nurbs_closest(row->nurbs, to, row->value, start, &at));
    gw_vec3 n = gw_nurbs_normal(row->nurbs, start, &at);
    gw_vec3 over = gw_reject(gw_sub(to, at.d[0][0]), n);
    double length = gw_norm(over);
    if (length < OVER * row->nurbs->size)
        return 0;
    put_gradient(row, x, &a, gw_rotate(q, gw_scale(1 / length, over)), gradient);
    return length;
}

bool gw_row_past_edge(const gw_row *rows, int i, const gw_pose *x, int k, double *past,
                      double gradient[6])
{
    assert(rows && i >= 0 && x && past && gradient);
    const gw_row *row = &rows[i];
    if (!row->nurbs || !row->past_edges || k >= row->nurbs->dimension ||
        row->nurbs->direction[k].closed ||
        (i > 0 && rows[i - 1].nurbs && share_point(row - 1, row)))
        return false;
    const gw_nurbs_direction *d = &row->nurbs->direction[k];
    double per = row->nurbs->size / (d->high - d->low), at = row->start[k];
    double out = at - d->high > d->low - at ? 1 : -1;
    gw_vec3 by_point;
    *past = per * fmax(at - d->high, d->low - at);
    gw_nurbs_parameter_gradient(row->nurbs, point_of(row, x), row->start, k, &by_point);
    gw_quat q = gw_row_owned_by_body(row->kind) ? gw_quat_mul(x->q, row->q) : row->q;
    arm a = arm_of(row, x);
    put_gradient(row, x, &a, gw_rotate(q, gw_scale(out * per, by_point)), gradient);
    return true;
}

/* True where the closest point of a direction along a normal is at an edge that is one point and
 * not a pole, the apex of a cone, where there is no normal: nearer to it than charts go. */
static bool is_at_apex(const gw_row *row, const gw_pose *x)
{
    const gw_nurbs *s = row->nurbs;
    for (int k = 0; k < 2; k++) {
        double low, high, start[2] = {row->start[0], row->start[1]};
        gw_nurbs_point at;
        gw_chart_bounds(s, k, &low, &high);
        if (s->direction[k].closed || (low == s->direction[k].low && high == s->direction[k].high))
            continue;
        gw_vec3 to = point_of(row, x);
        count_work(row, false, gw_nurbs_closest(s, to, row->value, start, &at));
        if (start[k] < low || start[k] > high)
            return true;
    }
    return false;
}

bool gw_rows_over_surfaces(const gw_row *rows, int count, const gw_pose *x)
{
    assert(count >= 0 && (count == 0 || rows) && x);
    for (int i = 0; i < count; i++) {
        const gw_row *row = &rows[i];
        bool normal = row->kind == GW_ROW_NORMAL || row->kind == GW_ROW_NORMAL_BODY;
        if (normal && !row->past_edges && is_at_apex(row, x))
            return false;
        bool surface = row->kind == GW_ROW_SURFACE || row->kind == GW_ROW_SURFACE_BODY;
        double gradient[6];
        if (!surface || row->value == 0 || row->past_edges)
            continue;
        arm a = arm_of(row, x);
        gw_quat q = gw_row_owned_by_body(row->kind) ? gw_quat_mul(x->q, row->q) : row->q;
        double closer = fabs(row->value) - OVER * row->nurbs->size;
        int cells = GW_NURBS_TICK_CELLS;
        bool within = gw_nurbs_is_within(row->nurbs, gw_unrotate(q, a.g), closer, &cells);
        count_work(row, false, cells);
        if (within || gw_row_overhang(row, x, gradient) > 0)
            return false;
    }
    return true;
}

void gw_rows_jacobian(const gw_row *rows, int count, const gw_pose *x, double (*a)[6])
{
    assert(count >= 0 && (count == 0 || rows) && x && a);
    follower f = {.start = {0, 0}};
    for (int i = 0; i < count; i++) {
        start_row(rows, i, NULL, &f);
        row_linear(&rows[i], x, &f, a[i]);
    }
}

void gw_rows_value_and_jacobian_from(const gw_row *rows, int count, const gw_pose *x,
                                     double (*starts)[2], double *h, double (*a)[6])
{
    assert(count >= 0 && (count == 0 || (rows && h && a)) && x);
    follower f = {.start = {0, 0}};
    for (int i = 0; i < count; i++) {
        start_row(rows, i, (const double(*)[2])starts, &f);
        h[i] = row_linear(&rows[i], x, &f, a[i]);
        if (starts)
            starts[i][0] = f.start[0], starts[i][1] = f.start[1];
    }
}

void gw_rows_value_and_jacobian(const gw_row *rows, int count, const gw_pose *x, double *h,
                                double (*a)[6])
{
    gw_rows_value_and_jacobian_from(rows, count, x, NULL, h, a);
}

/*
 * Velocity s and acceleration a of g at constant v, w:
 *   world's element   s = v + w x R m,      a = w x (w x R m)
 *   body's element    s = -v - w x (f - t), a = 2 w x v + w x (w x (f - t))
 */
static double row_bias(const gw_row *row, const gw_pose *x, const gw_twist *twist, follower *f)
{
    arm b = arm_of(row, x);
    gw_vec3 w = twist->w, s, a;
    if (gw_row_owned_by_body(row->kind)) {
        gw_vec3 turning = gw_cross(w, gw_sub(row->f, x->p));
        s = gw_neg(gw_add(twist->v, turning));
        a = gw_add(gw_scale(2, gw_cross(w, twist->v)), gw_cross(w, turning));
    } else {
        gw_vec3 turning = gw_cross(w, b.m);
        s = gw_add(twist->v, turning);
        a = gw_cross(w, turning);
    }
    if (gw_row_of_direction(row->kind)) {
        of_direction m = direction_of(row, x, &b, &s, f);
        gw_vec3 n_rate = gw_cross(w, b.n);
        double turn = gw_row_owned_by_body(row->kind) ? -2 : 2;
        return gw_dot(gw_cross(w, n_rate), m.n) + turn * gw_dot(n_rate, m.rate) +
               gw_dot(b.n, m.second) + gw_dot(m.gradient, a);
    }
    if (is_free_form(row->kind)) {
        gw_vec3 u;
        double second;
        free_form(row, x, &b, s, f, &u, &second);
        return gw_dot(u, a) + second;
    }
    if (row->kind == GW_ROW_ANGLE)
        return gw_dot(row->n, gw_cross(w, gw_cross(w, b.m)));
    if (row->kind == GW_ROW_PLANE || row->kind == GW_ROW_PLANE_BODY)
        return gw_dot(b.n, a);
    if (about_axis(row->kind))
        s = gw_reject(s, b.n);
    gw_vec3 u = radial_unit(row, &b);
    double r = gw_norm(b.g), along = gw_dot(u, s);
    double centripetal = r > 0 ? (gw_norm2(s) - along * along) / r : 0;
    return gw_dot(u, a) + centripetal;
}

void gw_rows_bias(const gw_row *rows, int count, const gw_pose *x, const gw_twist *twist,
                  double *bias)
{
    assert(count >= 0 && (count == 0 || rows) && x && twist && bias);
    follower f = {.start = {0, 0}};
    for (int i = 0; i < count; i++) {
        start_row(rows, i, NULL, &f);
        bias[i] = row_bias(&rows[i], x, twist, &f);
    }
}

/* Rows in metres (an angle's row times `length`), and A with rotations in metres (w times length).
 * Returns the largest entry of h. */
static double scaled_rows(const gw_row *rows, int count, double length, const gw_pose *x,
                          double (*starts)[2], double *h, double (*a)[6])
{
    double worst = 0;
    gw_rows_value_and_jacobian_from(rows, count, x, starts, h, a);
    for (int i = 0; i < count; i++) {
        bool angle = rows[i].kind == GW_ROW_ANGLE;
        h[i] *= angle ? length : 1;
        for (int j = 3; j < 6; j++)
            a[i][j] *= angle ? 1 : 1 / length;
        worst = gw_worst(worst, fabs(h[i]));
    }
    return worst;
}

double gw_rows_project(const gw_row *rows, int count, int rank, double length, int iterations,
                       gw_pose *x)
{
    assert(count >= 0 && count <= GW_MAX_ROWS && length > 0 && x);
    double h[GW_MAX_ROWS], a[GW_MAX_ROWS][6], starts[GW_MAX_ROWS][2], step[6];
    for (int i = 0; i < count; i++)
        starts[i][0] = rows[i].start[0], starts[i][1] = rows[i].start[1];
    double worst = scaled_rows(rows, count, length, x, starts, h, a);
    for (int k = 0; k < iterations && worst > 1e-15 * length && !gw_rows_out_of_work(rows, count);
         k++) {
        gw_small_least_squares(count, a, 1e-7, rank, h, step);
        gw_twist d = {{-step[0], -step[1], -step[2]},
                      {-step[3] / length, -step[4] / length, -step[5] / length}};
        gw_pose next = gw_pose_add(x, &d);
        double now = scaled_rows(rows, count, length, &next, starts, h, a);
        if (!(now < worst) && worst < 1e-12 * length)
            break; /* rounding level */
        *x = next;
        worst = now;
    }
    return worst;
}
