/*
 * An axis along a surface's normal or a curve's tangent. Any thread, RT safe.
 *
 * About a centre with normal n0 and A0, the chart rotates the axis with the normal by the least
 * rotation:
 *
 *   A = Q(n) exp(z1 n0) A0,  Q the least rotation from n0 to n
 *   w_Q = h x n' / (1 + c),  h = n0 + n,  c = n0 . n           (Q is a half turn about n0, then one
 *   w_Q' = (h x n'' - (n0 . n') w_Q) / (1 + c)                  about h)
 *   w_A = w_Q + z1' n,       w_A' = w_Q' + z1' n'
 *
 * Where the shape is the body's, R = A^T turns with w = -R w_A, and w' = -R w_A'.
 */
#include "rt/geometry/along_normal.h"

#include <assert.h>
#include <stddef.h>

#include "rt/base/small.h"
#include "rt/base/spatial.h"
#include "rt/geometry/locus.h"
#include "rt/geometry/nurbs_motion.h"

/* A vector from the axes of the locus to those of its side. */
static gw_vec3 rotate_to_locus(const gw_locus *l, gw_vec3 v)
{
    return gw_mul_add(gw_mul_add(gw_scale(v.x, l->e1), v.y, l->e2), v.z, l->e3);
}

/* A point of the shape's side in the frame of the locus. */
static gw_vec3 in_frame(const gw_locus *l, gw_vec3 x)
{
    gw_vec3 d = gw_sub(x, l->origin);
    return gw_v3(gw_dot(d, l->e1), gw_dot(d, l->e2), gw_dot(d, l->e3));
}

/* P and n at a point of the shape, with their derivatives, in the axes of its side; the derivatives
 * of a curve by the second parameter are zero. */
typedef struct axis_motion {
    gw_vec3 p, p_by[2], p_rate, p_bias;
    gw_vec3 n, n_by[2], n_rate, n_bias;
} axis_motion;

/* P and n by the parameters of `shape`, the locus's or a part of it, or by the coordinates x and y
 * of `plane` unless it is NULL. */
static axis_motion axis_motion_of(const gw_locus *l, const gw_nurbs *shape,
                                  const gw_tangent_plane *plane, const double parameter[2],
                                  const double rate[2])
{
    gw_nurbs_motion m;
    gw_nurbs_direction_motion t;
    gw_nurbs_motion_with_direction(shape, plane, parameter, rate, l->a, &m, &t);
    axis_motion b = {.p = gw_add(l->origin, rotate_to_locus(l, m.p)),
                     .p_rate = rotate_to_locus(l, m.velocity),
                     .p_bias = rotate_to_locus(l, m.bias),
                     .n = rotate_to_locus(l, t.n),
                     .n_rate = rotate_to_locus(l, t.velocity),
                     .n_bias = rotate_to_locus(l, t.bias)};
    for (int i = 0; i < l->nurbs->dimension; i++) {
        b.p_by[i] = rotate_to_locus(l, m.d[i]);
        b.n_by[i] = rotate_to_locus(l, t.d[i]);
    }
    return b;
}

static axis_motion axis_motion_at(const gw_locus *l, const gw_tangent_plane *plane,
                                  const double parameter[2], const double rate[2])
{
    return axis_motion_of(l, l->nurbs, plane, parameter, rate);
}

/* P and n at parameters, by the coordinates that are regular there; p_by[0] is S_u, at a pole the
 * limit of its direction. */
static axis_motion regular_axis_motion(const gw_locus *l, const double parameter[2])
{
    static const double still[2] = {0, 0};
    double coordinates[2];
    const gw_tangent_plane *plane = gw_nurbs_coordinates(l->nurbs, parameter, coordinates);
    axis_motion b = axis_motion_at(l, plane, coordinates, still);
    gw_nurbs_point at;
    if (l->nurbs->dimension == 1)
        return b;
    gw_nurbs_evaluate(l->nurbs, parameter, 2, NULL, &at);
    b.p_by[0] = rotate_to_locus(l, at.d[1][0]);
    if (plane && plane->pole->out == 1 && !(gw_norm(at.d[1][0]) > 1e-9 * l->nurbs->size))
        b.p_by[0] = rotate_to_locus(l, gw_scale(plane->pole->sign, at.d[1][1]));
    if (!(gw_norm2(b.n) > 0)) { /* no tangent plane: the limit along the parameter */
        b.n = rotate_to_locus(l, gw_nurbs_normal(l->nurbs, parameter, &at));
        b.p = gw_mul_add(b.p, l->a, b.n);
    }
    return b;
}

/* The pose with the given A and P. */
static gw_pose pose_of(const gw_submanifold *set, gw_quat a, gw_vec3 p)
{
    const gw_translation_set *t = &set->translation;
    gw_pose x = {.q = t->in_mobile ? gw_quat_conj(a) : a};
    x.p = t->in_mobile ? gw_sub(t->of, gw_rotate(x.q, p)) : gw_sub(p, gw_rotate(x.q, t->of));
    return x;
}

/* The rotation A of a pose, and the point s in the frame of the shape's side. */
static gw_quat axis_side(const gw_submanifold *set, const gw_pose *x, gw_vec3 *s)
{
    const gw_translation_set *t = &set->translation;
    *s = t->in_mobile ? gw_unrotate(x->q, gw_sub(t->of, x->p)) : gw_pose_point(x, t->of);
    return t->in_mobile ? gw_quat_conj(x->q) : x->q;
}

/* F: x along S_u, z along n; of a curve the least rotation from e3. */
static gw_quat frame_of(const gw_locus *l, const axis_motion *b)
{
    gw_quat to_n = gw_quat_between(gw_v3(0, 0, 1), b->n);
    if (l->nurbs->dimension == 1)
        return gw_quat_mul(gw_quat_between(l->e3, b->n), gw_quat_between(gw_v3(0, 0, 1), l->e3));
    gw_vec3 e = gw_reject(b->p_by[0], b->n);
    gw_vec3 x = gw_norm2(e) > 0 ? gw_unit(e) : gw_any_normal(b->n);
    gw_vec3 from = gw_rotate(to_n, gw_v3(1, 0, 0));
    double angle = atan2(gw_dot(b->n, gw_cross(from, x)), gw_dot(from, x));
    return gw_quat_mul(gw_quat_axis(b->n, angle), to_n);
}

gw_pose gw_along_normal_pose(const gw_submanifold *set, const double *z)
{
    const gw_locus *l = &set->translation.locus;
    double parameter[2] = {z[1], set->translation.dof == 2 ? z[2] : 0};
    gw_nurbs_into_domain(l->nurbs, parameter);
    axis_motion b = regular_axis_motion(l, parameter);
    gw_quat turn = gw_quat_mul(gw_quat_axis(gw_v3(0, 0, 1), z[0]), set->rotation.zero);
    return pose_of(set, gw_quat_unit(gw_quat_mul(frame_of(l, &b), turn)), b.p);
}

void gw_along_normal_parameters(const gw_submanifold *set, const gw_pose *x, double *z)
{
    const gw_locus *l = &set->translation.locus;
    gw_vec3 s;
    gw_quat a = axis_side(set, x, &s);
    double parameter[2];
    gw_locus_closest_parameters(l, s, parameter);
    for (int k = 0; k < set->translation.dof; k++)
        z[1 + k] = parameter[k];
    axis_motion b = regular_axis_motion(l, parameter);
    gw_quat rest = gw_quat_mul(gw_quat_mul(gw_quat_conj(frame_of(l, &b)), a),
                               gw_quat_conj(set->rotation.zero));
    z[0] = remainder(2 * atan2(rest.z, rest.w), 2 * GW_PI);
}

/* A after the least rotation that aligns the axis with n. */
static gw_quat align_with_normal(const gw_submanifold *set, gw_quat a, gw_vec3 n)
{
    gw_vec3 d = gw_rotate(a, gw_along_normal_axis(set));
    return gw_quat_unit(gw_quat_mul(gw_quat_between(d, n), a));
}

/* ---- the nearest pose ------------------------------------------------------------------------ */

#define NEAREST_PER_SPAN 5  /* samples along each parameter per knot span, */
#define NEAREST_LEAST    10 /* of them along each: at least, and at most */
#define NEAREST_MOST     28
#define NEAREST_TURNS    6    /* rotations about the axis at each sample */
#define NEAREST_BEST     10   /* samples that descents start from */
#define NEAREST_STEPS    60   /* of one descent */
#define NEAREST_WORK     20   /* of one pose, see gw_submanifold_count_work() */
#define NEAREST_LOCAL    1e-3 /* of the length: a nearer pose is accepted after one descent */

typedef struct along_search {
    const gw_submanifold *set;
    const gw_pose *near;
    double length;
} along_search;

/* A pose of the set, with P and n of the shape there. */
typedef struct along_pose {
    double parameter[2];
    axis_motion b;
    gw_pose x;
    double f; /* |dp|^2 + (L theta)^2 */
} along_pose;

/* Coordinates about a pose: the rotation about the axis, then the parameters. `scale` is the
 * reciprocal of the length of [v; L w] per unit of each, so that a unit of the scaled coordinate
 * moves the body by about one metre. */
typedef struct along_slope {
    double scale[3], g[3]; /* g: half the gradient of f */
} along_slope;

static gw_quat rotation_of(const gw_submanifold *set, const gw_pose *x)
{
    return set->translation.in_mobile ? gw_quat_conj(x->q) : x->q;
}

/* Sets the pose from A by the least rotation of the axis to n, followed by a rotation about it. */
static void put_pose(const along_search *s, gw_quat a, double turn, along_pose *c)
{
    a = gw_quat_mul(gw_quat_axis(c->b.n, turn), align_with_normal(s->set, a, c->b.n));
    c->x = pose_of(s->set, gw_quat_unit(a), c->b.p);
    double off = gw_pose_distance(&c->x, s->near, s->length);
    c->f = off * off;
}

/* The range of parameter k, without ends at which there is no normal. */
static void range_of(const gw_locus *l, int k, double *low, double *high)
{
    const gw_nurbs_direction *d = &l->nurbs->direction[k];
    *low = d->low;
    *high = d->high;
    if (!d->closed)
        gw_chart_bounds(l->nurbs, k, low, high);
}

static along_pose pose_at_parameters(const along_search *s, double u, double v, gw_quat a,
                                     double turn)
{
    const gw_locus *l = &s->set->translation.locus;
    along_pose c = {.parameter = {u, v}};
    if (l->work)
        *l->work -= NEAREST_WORK;
    gw_nurbs_into_domain(l->nurbs, c.parameter);
    for (int k = 0; k < l->nurbs->dimension; k++) {
        double low, high;
        range_of(l, k, &low, &high);
        c.parameter[k] = fmin(fmax(c.parameter[k], low), high);
    }
    c.b = axis_motion_at(l, NULL, c.parameter, (const double[]){0, 0});
    double xy[2];
    if (gw_nurbs_pole_near(l->nurbs, c.parameter, xy)) {
        axis_motion at = regular_axis_motion(l, c.parameter);
        if (gw_dot(at.n, c.b.n) > 1 - 1e-6)
            c.b.p = at.p, c.b.n = at.n;
        else /* at the pole there are no derivatives by the parameters */
            c.b = (axis_motion){.p = at.p, .n = at.n};
    }
    put_pose(s, a, turn, &c);
    return c;
}

/* The twist [v; w] by coordinate k; the angular velocity of A is n, n x n_u or n x n_v. */
static gw_twist motion_by(const along_search *s, const along_pose *c, int k)
{
    const gw_translation_set *t = &s->set->translation;
    gw_vec3 spin = k == 0 ? c->b.n : gw_cross(c->b.n, c->b.n_by[k - 1]);
    gw_vec3 slide = k == 0 ? gw_v3(0, 0, 0) : c->b.p_by[k - 1];
    if (t->in_mobile) {
        spin = gw_neg(gw_rotate(c->x.q, spin));
        slide = gw_neg(gw_rotate(c->x.q, slide));
    }
    gw_vec3 arm = gw_rotate(c->x.q, t->in_mobile ? c->b.p : t->of);
    return (gw_twist){gw_add(gw_cross(arm, spin), slide), spin};
}

static void put_gradient(const along_search *s, const along_pose *c, along_slope *at)
{
    gw_twist d = gw_pose_sub(&c->x, s->near);
    for (int k = 0; k < s->set->dof; k++) {
        gw_twist m = motion_by(s, c, k);
        at->g[k] = at->scale[k] * (gw_dot(m.v, d.v) + s->length * s->length * gw_dot(m.w, d.w));
    }
}

static along_slope slope_at(const along_search *s, const along_pose *c)
{
    along_slope at;
    for (int k = 0; k < s->set->dof; k++) {
        gw_twist m = motion_by(s, c, k);
        double size = sqrt(gw_norm2(m.v) + s->length * s->length * gw_norm2(m.w));
        at.scale[k] = 1 / fmax(size, 1e-6 * fmax(s->length, s->set->translation.locus.nurbs->size));
    }
    put_gradient(s, c, &at);
    return at;
}

static along_pose add_step(const along_search *s, const along_pose *c, const double scale[3],
                           const double step[3])
{
    double to[2] = {c->parameter[0], c->parameter[1]};
    for (int k = 1; k < s->set->dof; k++)
        to[k - 1] += scale[k] * step[k];
    return pose_at_parameters(s, to[0], to[1], rotation_of(s->set, &c->x), scale[0] * step[0]);
}

/* True where coordinate k is at the low (-1) or high (1) end of the domain. */
static bool is_at_end(const along_search *s, const along_pose *c, int k, int end)
{
    const gw_nurbs_direction *d = &s->set->translation.locus.nurbs->direction[k > 0 ? k - 1 : 0];
    if (k == 0 || d->closed)
        return false;
    double low, high;
    range_of(&s->set->translation.locus, k - 1, &low, &high);
    return end < 0 ? c->parameter[k - 1] <= low : c->parameter[k - 1] >= high;
}

/* Half the second derivative of f by the free coordinates: differences of gradients, inward at an
 * end. */
static void second_derivative(const along_search *s, const along_pose *c, const along_slope *at,
                              int n, const int free[3], double h[6][6])
{
    for (int j = 0; j < n; j++) {
        double step[3] = {0, 0, 0};
        along_slope there = *at;
        step[free[j]] = 1e-6 * s->length * (is_at_end(s, c, free[j], 1) ? -1 : 1);
        along_pose y = add_step(s, c, at->scale, step);
        put_gradient(s, &y, &there);
        for (int k = 0; k < n; k++)
            h[j][k] = (there.g[free[k]] - at->g[free[k]]) / step[free[j]];
    }
    for (int j = 0; j < n; j++)
        for (int k = 0; k < j; k++)
            h[j][k] = h[k][j] = 0.5 * (h[j][k] + h[k][j]);
}

/* True if the gradient by the free coordinates is smaller at `next`: f does not tell a step of the
 * last digits from rounding. */
static bool settles(const along_search *s, const along_pose *next, const along_slope *at, int n,
                    const int free[3])
{
    along_slope there = *at;
    double before = 0, after = 0;
    put_gradient(s, next, &there);
    for (int k = 0; k < n; k++) {
        before += at->g[free[k]] * at->g[free[k]];
        after += there.g[free[k]] * there.g[free[k]];
    }
    return after < before;
}

#define SETTLES 1e-6 /* of the length: longest step of the last digits */

/* One step of Newton's method, damped until f decreases; coordinates of the bits in `held` are
 * fixed, and so are those at an end of their range where f decreases outward. Returns the step's
 * length (m); 0 if f does not decrease. */
static double newton_step(const along_search *s, unsigned held, double *raise, along_pose *c)
{
    int free[3], n = 0;
    double h[6][6], down[3], step[3];
    along_slope at = slope_at(s, c);
    for (int k = 0; k < s->set->dof; k++)
        if (!(held & 1u << k) && !(is_at_end(s, c, k, -1) && at.g[k] > 0) &&
            !(is_at_end(s, c, k, 1) && at.g[k] < 0))
            free[n++] = k;
    second_derivative(s, c, &at, n, free, h);
    for (int j = 0; j < n; j++)
        down[j] = -at.g[free[j]];
    for (; n > 0 && *raise < 1e9; *raise = fmax(6 * *raise, 0.3)) {
        if (!gw_small_cholesky_solve(n, (const double(*)[6])h, *raise, down, step))
            continue;
        double move[3] = {0, 0, 0}, longest = 0;
        for (int j = 0; j < n; j++) {
            move[free[j]] = step[j];
            longest = fmax(longest, fabs(step[j]));
        }
        along_pose next = add_step(s, c, at.scale, move);
        bool last = held == 0 && *raise == 0 && longest < SETTLES * s->length;
        if (next.f < c->f || (last && settles(s, &next, &at, n, free))) {
            *c = next;
            return longest;
        }
        if (longest < 1e-9 * s->length)
            break;
    }
    return 0;
}

/* True where `poses` more poses may be tried. */
static bool has_work_left(const along_search *s, long poses)
{
    const long *work = s->set->translation.locus.work;
    return !work || *work >= poses * NEAREST_WORK;
}

/* Newton's method within the domain. Along a knot with a jump of the curvature f has a valley: one
 * or both parameters are then held fixed and the others continue. */
static along_pose descend_along(const along_search *s, along_pose c)
{
    static const unsigned held[] = {0, 2, 4, 6};
    double raise = 0;
    for (int i = 0, h = 0; i < NEAREST_STEPS && h < 4 && has_work_left(s, 1); i++) {
        double before = c.f, moved = newton_step(s, held[h], &raise, &c);
        bool stays = moved < 1e-9 * s->length || before - c.f < 1e-12 * before;
        h = stays ? h + 1 : h > 0 && i % 4 == 0 ? 0 : h;
        raise = stays || raise < 1e-3 ? 0 : 0.1 * raise;
    }
    return c;
}

/* Inserts a start into the list of the best, best first. Returns their number. */
static int keep_start(along_pose *list, int count, const along_pose *c)
{
    int at = count < NEAREST_BEST ? count : NEAREST_BEST - 1;
    if (count == NEAREST_BEST && c->f >= list[at].f)
        return count;
    for (; at > 0 && list[at - 1].f > c->f; at--)
        list[at] = list[at - 1];
    list[at] = *c;
    return count < NEAREST_BEST ? count + 1 : count;
}

/* The samples of f over the shape, each at the best rotation about the axis. */
typedef struct along_grid {
    int n[2]; /* intervals along u and v; 0 along v for a curve */
    double f[NEAREST_MOST + 1][NEAREST_MOST + 1];
} along_grid;

static int samples_along(const gw_nurbs_direction *d)
{
    int spans = 0;
    for (int i = d->degree; i < d->count; i++)
        spans += d->knots[i + 1] > d->knots[i];
    int n = spans * NEAREST_PER_SPAN;
    return n < NEAREST_LEAST ? NEAREST_LEAST : n < NEAREST_MOST ? n : NEAREST_MOST;
}

static along_pose grid_pose(const along_search *s, const along_grid *g, gw_quat a, int i, int j)
{
    const gw_nurbs_direction *d = s->set->translation.locus.nurbs->direction;
    double u = d[0].low + (d[0].high - d[0].low) * i / g->n[0];
    double v = d[1].low + (d[1].high - d[1].low) * j / (g->n[1] > 0 ? g->n[1] : 1);
    along_pose c = pose_at_parameters(s, u, v, a, 0), turned_on = c;
    for (int k = 1; k < NEAREST_TURNS; k++) {
        put_pose(s, a, 2 * GW_PI * k / NEAREST_TURNS, &turned_on);
        c = turned_on.f < c.f ? turned_on : c;
    }
    return c;
}

/* The index of sample i of n + 1, cyclic in a closed direction; -1 if there is none. */
static int neighbour_sample(const gw_nurbs_direction *d, int i, int n)
{
    if (i >= 0 && i <= n)
        return i;
    return !d->closed ? -1 : i < 0 ? n - 1 : 1;
}

/* True if no neighbour is less (of two equal neighbours only the first counts): descents from
 * samples of the same valley end at the same pose. */
static bool is_valley(const gw_nurbs *nurbs, const along_grid *g, int i, int j)
{
    for (int k = 0; k < 9; k++) {
        int at[2] = {neighbour_sample(&nurbs->direction[0], i + k / 3 - 1, g->n[0]),
                     neighbour_sample(&nurbs->direction[1], j + k % 3 - 1, g->n[1])};
        if (k == 4 || at[0] < 0 || at[1] < 0 || (g->n[1] == 0 && k % 3 != 1))
            continue;
        double f = g->f[at[0]][at[1]];
        bool earlier = at[0] < i || (at[0] == i && at[1] < j);
        if (f < g->f[i][j] || (earlier && f == g->f[i][j]))
            return false;
    }
    return true;
}

double gw_along_normal_nearest(const gw_submanifold *set, const gw_pose *near, double length,
                               gw_pose *nearest)
{
    assert(set && near && length > 0 && nearest);
    const along_search s = {set, near, length};
    const gw_locus *l = &set->translation.locus;
    gw_vec3 point;
    gw_quat a = axis_side(set, near, &point);
    double parameter[2];
    gw_locus_closest_parameters(l, point, parameter);
    along_pose starts[NEAREST_BEST],
        first = pose_at_parameters(&s, parameter[0], parameter[1], a, 0);
    along_pose best = descend_along(&s, first);
    const gw_nurbs_direction *d = l->nurbs->direction;
    along_grid grid;
    for (int k = 0; k < 2; k++)
        grid.n[k] = k < l->nurbs->dimension ? samples_along(&d[k]) : 0;
    int count = 0;
    bool far = best.f > NEAREST_LOCAL * NEAREST_LOCAL * length * length &&
               has_work_left(&s, (grid.n[0] + 1L) * (grid.n[1] + 1L));
    for (int i = 0; far && i <= grid.n[0]; i++)
        for (int j = 0; j <= grid.n[1]; j++)
            grid.f[i][j] = grid_pose(&s, &grid, a, i, j).f;
    for (int i = 0; far && i <= grid.n[0]; i++)
        for (int j = 0; j <= grid.n[1]; j++)
            if (is_valley(l->nurbs, &grid, i, j)) {
                along_pose c = grid_pose(&s, &grid, a, i, j);
                count = keep_start(starts, count, &c);
            }
    for (int i = 0; i < count; i++) {
        along_pose c = descend_along(&s, starts[i]);
        best = c.f < best.f ? c : best;
    }
    *nearest = best.x;
    return sqrt(best.f);
}

void gw_along_normal_chart_at(const gw_submanifold *set, const gw_pose *x, gw_chart *chart)
{
    assert(set && x && chart);
    const gw_locus *l = &set->translation.locus;
    gw_nurbs_point at;
    gw_vec3 s;
    gw_quat a = axis_side(set, x, &s);
    chart->point = l->origin;
    double parameter[2] = {l->start[0], l->start[1]};
    gw_nurbs_closest(l->nurbs, in_frame(l, s), l->a, parameter, &at);
    gw_chart_centre_at(chart, parameter);
    static const double still[2] = {0, 0};
    axis_motion b = axis_motion_at(l, chart->flat ? &chart->plane : NULL, chart->parameter, still);
    chart->e3 = b.n;
    chart->centre = pose_of(set, align_with_normal(set, a, b.n), b.p);
}

void gw_along_normal_velocity(const gw_chart *chart, const gw_twist *twist, double *z_dot)
{
    const gw_translation_set *t = &chart->set->translation;
    const gw_pose *x = &chart->centre;
    gw_vec3 velocity, spin;
    if (t->in_mobile) {
        velocity = gw_neg(gw_add(twist->v, gw_cross(twist->w, gw_sub(t->of, x->p))));
        velocity = gw_unrotate(x->q, velocity);
        spin = gw_neg(gw_unrotate(x->q, twist->w));
    } else {
        velocity = gw_add(twist->v, gw_cross(twist->w, gw_rotate(x->q, t->of)));
        spin = twist->w;
    }
    z_dot[0] = gw_dot(chart->e3, spin);
    static const double still[2] = {0, 0};
    axis_motion b =
        axis_motion_at(&t->locus, chart->flat ? &chart->plane : NULL, chart->parameter, still);
    if (t->dof == 1) {
        z_dot[1] = gw_dot(b.p_by[0], velocity) / gw_norm2(b.p_by[0]);
        return;
    }
    double uu = gw_norm2(b.p_by[0]), uv = gw_dot(b.p_by[0], b.p_by[1]), vv = gw_norm2(b.p_by[1]);
    double u = gw_dot(b.p_by[0], velocity), v = gw_dot(b.p_by[1], velocity);
    double det = uu * vv - uv * uv;
    z_dot[1] = det > 0 ? (u * vv - v * uv) / det : 0;
    z_dot[2] = det > 0 ? (v * uu - u * uv) / det : 0;
}

/*
 * Shape of the world:  t = P - R s,    t' = P' - w x R s,    t'' = P'' - w' x R s - w x (w x R s)
 * Shape of the body:   t = s - R P,    t' = -R P' - w x R P,
 *                      t'' = -R P'' - 2 w x R P' - w' x R P - w x (w x R P)
 */
void gw_along_normal_eval(const gw_chart *chart, const double *z, const double *z_dot,
                          gw_pose *pose, double (*jacobian)[6], double *bias)
{
    const gw_submanifold *set = chart->set;
    const gw_translation_set *t = &set->translation;
    double parameter[2] = {chart->parameter[0], chart->parameter[1]}, rate[2] = {0, 0};
    for (int k = 0; k < t->dof; k++) {
        parameter[k] += z[1 + k];
        rate[k] = z_dot[1 + k];
    }
    axis_motion b = axis_motion_of(&t->locus, chart->shape, chart->flat ? &chart->plane : NULL,
                                   parameter, rate);
    gw_vec3 n0 = chart->e3, h = gw_add(n0, b.n);
    double over = 1 / (1 + gw_dot(n0, b.n));
    gw_quat a0 = t->in_mobile ? gw_quat_conj(chart->centre.q) : chart->centre.q;
    gw_quat a = gw_quat_mul(gw_quat_between(n0, b.n), gw_quat_mul(gw_quat_axis(n0, z[0]), a0));

    /* angular velocity of A: columns, its value, and its rate at z'' = 0 */
    gw_vec3 column[3] = {b.n, gw_scale(over, gw_cross(h, b.n_by[0])),
                         gw_scale(over, gw_cross(h, b.n_by[1]))};
    gw_vec3 least = gw_scale(over, gw_cross(h, b.n_rate));
    gw_vec3 w = gw_mul_add(least, z_dot[0], b.n);
    gw_vec3 w_bias =
        gw_scale(over, gw_mul_add(gw_cross(h, b.n_bias), -gw_dot(n0, b.n_rate), least));
    w_bias = gw_mul_add(w_bias, z_dot[0], b.n_rate);

    *pose = pose_of(set, a, b.p);
    gw_vec3 arm = gw_rotate(pose->q, t->in_mobile ? b.p : t->of);
    if (t->in_mobile) {
        for (int k = 0; k < 3; k++)
            column[k] = gw_neg(gw_rotate(pose->q, column[k]));
        w = gw_neg(gw_rotate(pose->q, w));
        w_bias = gw_neg(gw_rotate(pose->q, w_bias));
    }
    for (int k = 0; k < set->dof; k++) {
        gw_vec3 v = gw_cross(arm, column[k]);
        if (k > 0)
            v = t->in_mobile ? gw_sub(v, gw_rotate(pose->q, b.p_by[k - 1]))
                             : gw_add(v, b.p_by[k - 1]);
        gw_spatial_set(jacobian[k], v, column[k]);
    }
    gw_vec3 moves = b.p_bias;
    if (t->in_mobile)
        moves = gw_neg(gw_add(gw_rotate(pose->q, b.p_bias),
                              gw_scale(2, gw_cross(w, gw_rotate(pose->q, b.p_rate)))));
    gw_vec3 inward = gw_cross(w, gw_cross(w, arm));
    gw_spatial_set(bias, gw_sub(gw_add(moves, gw_cross(arm, w_bias)), inward), w_bias);
}
