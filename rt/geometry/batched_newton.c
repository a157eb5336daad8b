/*
 * Newton's method on f = |d|^2 + (L theta)^2, along the rotational factor of a set. Any thread, RT
 * safe.
 *
 * If the body is rotated about its origin by D from the wanted rotation, the point is at X(D), and
 * has to move to the nearest point Y of the locus. With the shift of the locus included in X, d = X
 * - O is linear in the matrix D (relational-positioning eqs. 11 to 14):
 *
 *   d_c = k_c + <B_c, D>,  and for D turned on by w,  M_c = B_c D^T:
 *   d_c' = g_c . w,  g_c the axial vector of M_c,     d_c'' = w . (sym M_c - tr M_c I) w
 *
 * so that f, its gradient and its second derivative are closed forms. Several descents run side by
 * side in the lanes of a vector.
 */
#include <assert.h>

#include "rt/geometry/locus.h"
#include "rt/geometry/batched_newton.h"
#include "rt/geometry/two_angles.h"

#define STEPS    40
#define FARTHEST 0.7   /* rad: largest step */
#define CLOSE    0.999 /* cosine of half the angle: 5 degrees */

/* ---- d as a function of the rotation --------------------------------------------------------- */

/* Adds scale a b^T. */
static void add_product(gw_mat3 *m, double scale, gw_vec3 a, gw_vec3 b)
{
    const double x[3] = {scale * a.x, scale * a.y, scale * a.z}, y[3] = {b.x, b.y, b.z};
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            m->m[i][j] += x[i] * y[j];
}

/* e . R v = <e (R0 v)^T, D>,  e . R^T a = <a (R0 e)^T, D> */
static void add_arm(const gw_batched_newton *s, gw_mat3 *b, double scale, gw_vec3 e, gw_vec3 arm)
{
    if (s->set->translation.in_mobile)
        add_product(b, scale, arm, gw_rotate(s->near->q, e));
    else
        add_product(b, scale, e, gw_rotate(s->near->q, arm));
}

void gw_batched_newton_init(gw_batched_newton *s, const gw_submanifold *set, const gw_pose *near,
                            double length)
{
    static const int parts[] = {
        [GW_LOCUS_FREE] = 0,   [GW_LOCUS_PLANE] = 1,    [GW_LOCUS_LINE] = 2,
        [GW_LOCUS_POINT] = 3,  [GW_LOCUS_CIRCLE] = 3,   [GW_LOCUS_ELLIPSE] = 3,
        [GW_LOCUS_SPHERE] = 3, [GW_LOCUS_CYLINDER] = 3, [GW_LOCUS_GENERAL] = 0};
    const gw_translation_set *t = &set->translation;
    const gw_locus *l = &t->locus;
    assert(l->kind != GW_LOCUS_CURVE && l->kind != GW_LOCUS_SURFACE); /* they do not shift */
    s->set = set;
    s->rotation = set->rotation;
    s->rotation.axis_body = gw_rotate(near->q, set->rotation.axis_body);
    s->rotation.second.axis_body = gw_rotate(near->q, set->rotation.second.axis_body);
    s->rotation.second.body = gw_quat_mul(near->q, set->rotation.second.body);
    s->near = near;
    s->length = length;
    s->count = parts[l->kind];
    s->curved = l->kind == GW_LOCUS_SPHERE || l->kind == GW_LOCUS_CYLINDER ||
                l->kind == GW_LOCUS_CIRCLE || l->kind == GW_LOCUS_ELLIPSE;
    s->e[0] = l->kind == GW_LOCUS_PLANE ? l->e3 : l->e1;
    s->e[1] = l->e2;
    s->e[2] = l->e3;
    gw_vec3 arm = t->in_mobile ? gw_sub(t->of, near->p) : t->of;
    double bb = 0;
    gw_vec3 from = t->in_mobile ? gw_neg(l->origin) : gw_sub(near->p, l->origin);
    for (int c = 0; c < s->count; c++) {
        s->b[c] = (gw_mat3){{{0}}};
        s->k[c] = gw_dot(s->e[c], from);
        add_arm(s, &s->b[c], 1, s->e[c], arm);
        for (int i = 0; i < t->shift_count; i++)
            add_arm(s, &s->b[c], gw_dot(s->e[c], t->shifts[i].along), t->shifts[i].normal,
                    t->shifts[i].arm);
        for (int j = 0; j < 9; j++)
            bb += s->b[c].m[j / 3][j % 3] * s->b[c].m[j / 3][j % 3];
    }
    for (int c = s->count; c < 3; c++) {
        s->k[c] = 0;
        s->b[c] = (gw_mat3){{{0}}};
    }
    s->rate_ratio2 = bb / (length * length);
}

/* ---- f and its derivatives ------------------------------------------------------------------- */

/* Symmetric matrices, three by three at most, are their lower triangles row by row. */
#define LOWER(i, j) ((i) * ((i) + 1) / 2 + (j))

/* Half of f, half its gradient and half its second derivative along the n freedoms of the factor;
 * `gauss`: the latter without the second derivatives of d, which is positive (Gauss-Newton). For
 * two angles, the axis of rotation along the curve and its rate of change. */
typedef struct expansion {
    gw_lanes f, g[3], h[6], gauss[6];
    gw_lanes axis[3], rate[3];
} expansion;

/* The kinds and counts that bound a descent's loops: constants at each call, so that the compiler
 * unrolls them. */
typedef struct family {
    gw_rotation_kind kind;
    int n;     /* freedoms of the rotation */
    int count; /* components of d; those that the locus does not have are zero */
    bool curved;
} family;

/* Gradient and second derivative by w, for exp(w) D. */
typedef struct derivatives {
    gw_lanes g[3], h[6];
} derivatives;

/* f = L^2 theta^2 / 2: its gradient is the rotation vector, its curvature theta/2 cot(theta/2)
 * across. */
GW_LANE_INLINE void expand_turn(double length, const gw_quat_lanes *d, gw_lanes *f, derivatives *at)
{
    double ll = length * length;
    gw_mask negative = d->w < 0;
    gw_lanes w = GW_SELECT(negative, -d->w, d->w), v[3] = {d->x, d->y, d->z}, ss, a;
    gw_lanes_dot(v, v, &ss);
    gw_lanes_half_angle_over_sine(&w, &a);
    gw_lanes around = a * w, least = ss + 1e-12, k = ll * (1 - around) / least;
    *f = 2 * ll * a * a * ss;
    gw_lanes along = 2 * ll * GW_SELECT(negative, -a, a);
    for (int i = 0; i < 3; i++) {
        at->g[i] = along * v[i];
        for (int j = 0; j < i; j++)
            at->h[LOWER(i, j)] = k * v[i] * v[j];
        at->h[LOWER(i, i)] = k * v[i] * v[i] + ll * around;
    }
}

/* d less the point of the locus nearest to it, in the axes of e; N, the derivative of that by d. */
static void subtract_nearest(const gw_batched_newton *s, double d[3], double n[3][3])
{
    const gw_locus *l = &s->set->translation.locus;
    gw_vec3 x = l->origin;
    for (int c = 0; c < 3; c++)
        x = gw_mul_add(x, d[c], s->e[c]);
    gw_vec3 y = gw_locus_nearest(l, x), off = gw_sub(x, y);
    gw_mat3 derivative = gw_locus_nearest_derivative(l, y, off);
    for (int i = 0; i < 3; i++) {
        d[i] = gw_dot(off, s->e[i]);
        for (int j = 0; j < 3; j++)
            n[i][j] = gw_dot(s->e[i], gw_mat3_mul(&derivative, s->e[j]));
    }
}

/* The same in every lane: n by its lower triangle. */
void gw_batched_newton_subtract_nearest(const gw_batched_newton *s, gw_lanes d[3], gw_lanes n[6])
{
    for (int lane = 0; lane < GW_LANES; lane++) {
        double one[3] = {d[0][lane], d[1][lane], d[2][lane]}, derivative[3][3];
        subtract_nearest(s, one, derivative);
        for (int i = 0; i < 3; i++) {
            d[i][lane] = one[i];
            for (int j = 0; j <= i; j++)
                n[LOWER(i, j)][lane] = derivative[i][j];
        }
    }
}

/* a . M b of the symmetric M. */
GW_LANE_INLINE void product(const gw_lanes a[3], const gw_lanes m[6], const gw_lanes b[3],
                            gw_lanes *out)
{
    *out = a[0] * (m[0] * b[0] + m[1] * b[1] + m[3] * b[2]) +
           a[1] * (m[1] * b[0] + m[2] * b[1] + m[4] * b[2]) +
           a[2] * (m[3] * b[0] + m[4] * b[1] + m[5] * b[2]);
}

/*
 * From derivatives by w to those along the factor: `at`, and d_c' = g_c . w, into u. exp(a k0)
 * exp(b k1) turns by a k0 + b k1 + a b k0 x k1 / 2, to second order; the axis of a curve changes at
 * its rate.
 */
GW_LANE_INLINE void reduce(const gw_batched_newton *s, const family *of, const gw_quat_lanes *d,
                           const derivatives *at, const gw_lanes g[3][3], expansion *to,
                           gw_lanes u[3][3])
{
    const gw_rotation_set *r = &s->rotation;
    const bool curve = of->kind == GW_ROTATION_TWO_ANGLES;
    gw_lanes k[2][3], part, across[3];
    gw_lanes_fill(r->axis, k[0]);
    if (curve)
        gw_two_angles_axes(r, d, k[0], to->rate);
    if (of->kind == GW_ROTATION_ANGLE)
        gw_quat_lanes_rotate(d, r->axis_body, k[1]);
    for (int i = 0; i < of->n; i++) {
        gw_lanes_dot(at->g, k[i], &to->g[i]);
        for (int c = 0; c < of->count; c++)
            gw_lanes_dot(g[c], k[i], &u[c][i]);
        for (int j = 0; j <= i; j++) {
            product(k[i], at->h, k[j], &to->h[LOWER(i, j)]);
            gw_lanes_dot(k[i], k[j], &part);
            to->gauss[LOWER(i, j)] = s->length * s->length * part;
        }
    }
    if (curve) {
        gw_lanes_dot(at->g, to->rate, &part);
        to->h[0] += part;
        for (int i = 0; i < 3; i++)
            to->axis[i] = k[0][i];
    } else if (of->kind == GW_ROTATION_ANGLE) {
        gw_lanes_cross(k[0], k[1], across);
        gw_lanes_dot(at->g, across, &part);
        to->h[1] += 0.5 * part;
    }
}

GW_LANE_INLINE void expand(const gw_batched_newton *s, const family *of, const gw_quat_lanes *q,
                           expansion *to)
{
    gw_lanes xx = 2 * q->x * q->x, yy = 2 * q->y * q->y, zz = 2 * q->z * q->z;
    gw_lanes xy = 2 * q->x * q->y, xz = 2 * q->x * q->z, yz = 2 * q->y * q->z;
    gw_lanes wx = 2 * q->w * q->x, wy = 2 * q->w * q->y, wz = 2 * q->w * q->z;
    gw_lanes r[3][3] = {{1 - yy - zz, xy - wz, xz + wy},
                        {xy + wz, 1 - xx - zz, yz - wx},
                        {xz - wy, yz + wx, 1 - xx - yy}};
    gw_lanes d[3], m[3][3][3], g[3][3], n[6], sum[3][3] = {{{0}}};
    derivatives at;
    expand_turn(s->length, q, &to->f, &at);
    for (int c = 0; c < of->count; c++) {
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                m[c][i][j] = s->b[c].m[i][0] * r[j][0] + s->b[c].m[i][1] * r[j][1] +
                             s->b[c].m[i][2] * r[j][2];
        d[c] = s->k[c] + (m[c][0][0] + m[c][1][1] + m[c][2][2]);
        g[c][0] = m[c][2][1] - m[c][1][2];
        g[c][1] = m[c][0][2] - m[c][2][0];
        g[c][2] = m[c][1][0] - m[c][0][1];
    }
    if (of->curved)
        gw_batched_newton_subtract_nearest(s, d, n);
    for (int c = 0; c < of->count; c++) {
        to->f += 0.5 * d[c] * d[c];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                sum[i][j] = c == 0 ? d[c] * m[c][i][j] : sum[i][j] + d[c] * m[c][i][j];
    }
    /* M, the sum of d_c M_c: its axial vector, and sym M - tr M I */
    at.g[0] += sum[2][1] - sum[1][2];
    at.g[1] += sum[0][2] - sum[2][0];
    at.g[2] += sum[1][0] - sum[0][1];
    at.h[LOWER(0, 0)] -= sum[1][1] + sum[2][2];
    at.h[LOWER(1, 1)] -= sum[0][0] + sum[2][2];
    at.h[LOWER(2, 2)] -= sum[0][0] + sum[1][1];
    at.h[LOWER(1, 0)] += 0.5 * (sum[1][0] + sum[0][1]);
    at.h[LOWER(2, 0)] += 0.5 * (sum[2][0] + sum[0][2]);
    at.h[LOWER(2, 1)] += 0.5 * (sum[2][1] + sum[1][2]);
    /* along the factor */
    gw_lanes along[3][3], (*u)[3] = g;
    if (of->kind == GW_ROTATION_FREE) {
        for (int i = 0; i < 3; i++)
            to->g[i] = at.g[i];
        for (int i = 0; i < 6; i++)
            to->h[i] = at.h[i];
    } else {
        reduce(s, of, q, &at, (const gw_lanes(*)[3])g, to, along);
        u = along;
    }
    for (int i = 0; i < of->n; i++)
        for (int j = 0; j <= i; j++) {
            gw_lanes squares = {0};
            for (int c = 0; c < of->count && !of->curved; c++)
                squares = c == 0 ? u[c][i] * u[c][j] : squares + u[c][i] * u[c][j];
            for (int c = 0; c < of->count && of->curved; c++)
                for (int e = 0; e < of->count; e++)
                    squares += n[c > e ? LOWER(c, e) : LOWER(e, c)] * u[c][i] * u[e][j];
            to->h[LOWER(i, j)] += squares;
            if (of->kind != GW_ROTATION_FREE)
                to->gauss[LOWER(i, j)] += squares;
            else
                to->gauss[LOWER(i, j)] = i == j ? squares + s->length * s->length : squares;
        }
}

/* ---- along the factor ------------------------------------------------------------------------ */

/* Solves (M + raise) x = g by L D L^T, n from 1 to 3; x is undefined where M + raise is not
 * positive. */
GW_LANE_INLINE void solve(int n, const gw_lanes m[6], const gw_lanes *raise, const gw_lanes g[3],
                          gw_lanes x[3], gw_mask *positive)
{
    gw_lanes d0 = m[0] + *raise, i0 = 1 / d0;
    *positive = d0 > 0;
    x[0] = g[0] * i0;
    if (n == 1)
        return;
    gw_lanes l1 = m[1] * i0, d1 = m[2] + *raise - l1 * m[1], i1 = 1 / d1, y1 = g[1] - l1 * g[0];
    *positive &= d1 > 0;
    x[1] = y1 * i1;
    if (n == 3) {
        gw_lanes l2 = m[3] * i0, c = m[4] - l2 * m[1], l3 = c * i1;
        gw_lanes d2 = m[5] + *raise - l2 * m[3] - l3 * c;
        *positive &= d2 > 0;
        x[2] = (g[2] - l2 * g[0] - l3 * y1) / d2;
        x[1] -= l3 * x[2];
        x[0] -= l2 * x[2];
    }
    x[0] -= l1 * x[1];
}

/* A step along the factor's freedoms. `newton`: a Newton step; else a Gauss-Newton step, where f is
 * not convex. `fall`: the first-order part of the decrease of f. */
typedef struct descent_step {
    gw_lanes by[3], size, fall;
    gw_mask newton;
} descent_step;

GW_LANE_INLINE void step_of(int n, const expansion *r, const gw_lanes *raise, descent_step *step)
{
    gw_lanes scale = (gw_lanes){0} + 1e-300, square = {0}, other[3], damping;
    gw_mask always;
    for (int k = 0; k < n; k++)
        scale = GW_SELECT(scale > r->gauss[LOWER(k, k)], scale, r->gauss[LOWER(k, k)]);
    damping = *raise * scale;
    solve(n, r->h, &damping, r->g, step->by, &step->newton);
    gw_mask gauss = ~step->newton;
    if (gw_any_lane(&gauss)) {
        damping = (*raise + 1e-12) * scale;
        solve(n, r->gauss, &damping, r->g, other, &always);
        for (int k = 0; k < n; k++)
            step->by[k] = GW_SELECT(gauss, other[k], step->by[k]);
    }
    step->fall = (gw_lanes){0};
    for (int k = 0; k < n; k++) {
        step->fall += step->by[k] * r->g[k];
        square += step->by[k] * step->by[k];
    }
    gw_lanes_sqrt(&square, &step->size);
    gw_mask far = step->size > FARTHEST;
    gw_lanes share = -FARTHEST / step->size, one = (gw_lanes){0} - 1;
    share = GW_SELECT(far, share, one);
    for (int k = 0; k < n; k++)
        step->by[k] *= share;
}

/* Projects onto the curve after a step, except small ones; `on`: false if that failed, or led to
 * the other of two loops. */
static void project_onto_curve(const gw_rotation_set *r, const gw_lanes *size, gw_quat_lanes *d,
                               gw_mask *on)
{
    const gw_second_angle *s = &r->second;
    gw_two_angles_project_all(r, d);
    for (int lane = 0; lane < GW_LANES; lane++) {
        if ((*size)[lane] < 0.02 && s->half > 0.01)
            continue;
        gw_quat q = gw_quat_lanes_get(d, lane);
        double h = gw_dot(r->axis, gw_rotate(q, r->axis_body)) - s->cosine;
        double g = gw_dot(s->axis, gw_rotate(q, s->axis_body)) - s->cosine_2;
        bool is_on =
            fabs(h) + fabs(g) < 1e-13 && (s->loops == 1 || gw_two_angles_loop(r, q) == s->loop);
        (*on)[lane] = is_on ? -1 : 0;
    }
}

/* d turned by the step. */
GW_LANE_INLINE void turn(const family *of, const gw_rotation_set *set, const expansion *r,
                         const descent_step *step, gw_quat_lanes *d, gw_mask *on)
{
    gw_lanes by[3], axis[3], half = 0.5 * step->by[0];
    gw_lanes_fill(set->axis, axis);
    for (int i = 0; i < 3; i++) {
        if (of->kind == GW_ROTATION_FREE)
            by[i] = 0.5 * step->by[i];
        else if (of->kind == GW_ROTATION_TWO_ANGLES)
            by[i] = half * (r->axis[i] + half * r->rate[i]);
        else
            by[i] = half * axis[i];
    }
    gw_quat_lanes_turn(d, by);
    if (of->kind == GW_ROTATION_ANGLE) {
        gw_lanes second = 0.5 * step->by[1];
        gw_lanes_fill(set->axis_body, by);
        for (int i = 0; i < 3; i++)
            by[i] *= second;
        gw_quat_lanes_turn_body(d, by);
    }
    gw_quat_lanes_unit(d);
    *on = ~(gw_mask){0};
    if (of->kind == GW_ROTATION_TWO_ANGLES)
        project_onto_curve(set, &step->size, d, on);
}

/* ---- descents -------------------------------------------------------------------------------- */

/* Copies the lanes of the mask. */
GW_LANE_INLINE void take(const gw_mask *mask, const family *of, const expansion *from,
                         expansion *to)
{
    to->f = GW_SELECT(*mask, from->f, to->f);
    for (int i = 0; i < of->n; i++)
        to->g[i] = GW_SELECT(*mask, from->g[i], to->g[i]);
    for (int i = 0; i < LOWER(of->n, 0); i++) {
        to->h[i] = GW_SELECT(*mask, from->h[i], to->h[i]);
        to->gauss[i] = GW_SELECT(*mask, from->gauss[i], to->gauss[i]);
    }
    for (int i = 0; i < 3 && of->kind == GW_ROTATION_TWO_ANGLES; i++) {
        to->axis[i] = GW_SELECT(*mask, from->axis[i], to->axis[i]);
        to->rate[i] = GW_SELECT(*mask, from->rate[i], to->rate[i]);
    }
}

/*
 * Descends from each of the starts with steps that are damped until f falls, one descent per lane.
 * A descent is given up if its next step ends near the lowest rotation so far, or near a lower one
 * of another lane, or if the gradient shows that f will remain above the least value.
 */
GW_LANE_INLINE void descend(const gw_batched_newton *s, const family *of, const gw_quat *starts,
                            int count, gw_batched_newton_best *best)
{
    expansion at = {.f = {0}}, trial;
    gw_quat_lanes d = {.w = {0}}, next;
    descent_step step = {.size = {0}};
    gw_lanes raise = {0};
    gw_mask on = ~(gw_mask){0}, steps = {0}, used;
    int begun = 0, active = 0;
    double least = HUGE_VAL;
    const double rounding = 1e-28 * s->length * s->length; /* of f about 0 */
    for (int lane = 0; lane < GW_LANES; lane++) {
        used[lane] = begun < count ? -1 : 0;
        active += begun < count;
        gw_quat_lanes_set(&next, lane, starts[begun < count ? begun++ : 0]);
        at.f[lane] = HUGE_VAL;
    }
    gw_quat_lanes_unit(&next);
    while (active > 0) {
        expand(s, of, &next, &trial);
        gw_mask begins = at.f == HUGE_VAL, lower = (trial.f < at.f) & on;
        gw_mask stuck = ~lower & ((step.size < 1e-7) | (raise > 1e8));
        gw_lanes more = 6 * raise, some = (gw_lanes){0} + 1e-2, less = 0.1 * raise;
        more = GW_SELECT(more > some, more, some);
        less = (gw_lanes)((gw_mask)less & (raise > 1e-4));
        raise = GW_SELECT(lower, less, more);
        d.w = GW_SELECT(lower, next.w, d.w), d.x = GW_SELECT(lower, next.x, d.x);
        d.y = GW_SELECT(lower, next.y, d.y), d.z = GW_SELECT(lower, next.z, d.z);
        take(&lower, of, &trial, &at);
        step_of(of->n, &at, &raise, &step);
        next = d;
        turn(of, &s->rotation, &at, &step, &next, &on);

        /* the lowest rotation of a descent that is near its minimum */
        gw_mask soon = step.newton & (step.size < 0.3);
        gw_batched_newton_best lowest = *best;
        for (int lane = 0; lane < GW_LANES; lane++) {
            least = at.f[lane] < least ? at.f[lane] : least;
            if (soon[lane] && at.f[lane] < lowest.f)
                lowest = (gw_batched_newton_best){gw_quat_lanes_get(&next, lane), at.f[lane]};
        }
        gw_lanes nearness =
            lowest.d.w * next.w + lowest.d.x * next.x + lowest.d.y * next.y + lowest.d.z * next.z;
        gw_mask hopeless = (raise == 0) & ~begins & (at.f - step.fall > least);
        gw_mask known = soon & (nearness * nearness > CLOSE * CLOSE) & (at.f > lowest.f);
        gw_mask last = step.newton & (raise == 0) & (step.size < 1e-7) & on;
        steps += 1;
        gw_mask ends = (hopeless | known | last | stuck | (steps >= STEPS)) & used;
        for (int lane = 0; lane < GW_LANES && gw_any_lane(&ends); lane++) {
            if (!ends[lane])
                continue;
            ends[lane] = 0;
            /* the last step leaves an error of its square; of descents to the same minimum the
             * first counts */
            if (at.f[lane] + rounding < best->f * (1 - 1e-14))
                *best = (gw_batched_newton_best){gw_quat_lanes_get(last[lane] ? &next : &d, lane),
                                                 at.f[lane]};
            used[lane] = begun < count ? -1 : 0;
            active -= begun == count;
            gw_quat_lanes_set(&next, lane, starts[begun < count ? begun++ : 0]);
            at.f[lane] = HUGE_VAL;
            raise[lane] = 0;
            steps[lane] = 0;
            on[lane] = -1;
        }
    }
}

GW_TARGET_CLONES_512
void gw_batched_newton_descend(const gw_batched_newton *s, const gw_quat *starts, int count,
                               gw_batched_newton_best *best)
{
    assert(s && starts && count > 0 && best);
    if (s->rotation.kind == GW_ROTATION_FREE && s->curved)
        descend(s, &(family){GW_ROTATION_FREE, 3, 3, true}, starts, count, best);
    else if (s->rotation.kind == GW_ROTATION_FREE && s->count == 3)
        descend(s, &(family){GW_ROTATION_FREE, 3, 3, false}, starts, count, best);
    else if (s->rotation.kind == GW_ROTATION_FREE)
        descend(s, &(family){GW_ROTATION_FREE, 3, 2, false}, starts, count, best);
    else if (s->rotation.kind == GW_ROTATION_ANGLE)
        descend(s, &(family){GW_ROTATION_ANGLE, 2, 3, s->curved}, starts, count, best);
    else if (s->rotation.kind == GW_ROTATION_AXIS)
        descend(s, &(family){GW_ROTATION_AXIS, 1, 3, s->curved}, starts, count, best);
    else if (s->count == 0)
        descend(s, &(family){GW_ROTATION_TWO_ANGLES, 1, 0, false}, starts, count, best);
    else
        descend(s, &(family){GW_ROTATION_TWO_ANGLES, 1, 3, s->curved}, starts, count, best);
}

GW_TARGET_CLONES_512
void gw_batched_newton_values(const gw_batched_newton *s, const gw_quat_lanes *d, gw_lanes *f)
{
    const family any = {GW_ROTATION_FREE, 3, s->count, s->curved};
    expansion at;
    expand(s, &any, d, &at);
    *f = at.f;
}
