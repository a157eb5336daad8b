/*
 * The nearest pose of sets whose locus shifts while the body rotates, and of two angles, by
 * f = |dp|^2 + (L theta)^2. Any thread, RT safe.
 *
 * Rotated about its origin by D from the wanted rotation, the body brings the point to X(D), which
 * has to move to the nearest point Y of the locus. With the locus's shift counted as X's, d = X - O
 * is linear in the matrix D (relational-positioning eqs. 11 to 14):
 *
 *   d_c = k_c + <B_c, D>,  and for D turned on by w,  M_c = B_c D^T:
 *   d_c' = g_c . w,  g_c the axial vector of M_c,     d_c'' = w . (sym M_c - tr M_c I) w
 *
 * so that f, its gradient and its second derivative are closed forms. A grid over the factor gives
 * starts, one a local minimum; Newton's method descends from each, several side by side in the
 * lanes of a vector, unless it cannot come below the best.
 */
#include <assert.h>
#include <string.h>

#include "rt/geometry/locus.h"
#include "rt/geometry/quat_lanes.h"
#include "rt/geometry/two_angles.h"

#define GRID     64
#define STARTS   16
#define THOROUGH 2 /* of |B|^2 / L^2 */
#define STEPS    40
#define FARTHEST 0.7   /* rad, of one step */
#define CLOSE    0.999 /* cosine of half the angle: 5 degrees */

typedef struct problem {
    const gw_submanifold *set;
    gw_rotation_set rotation; /* of D: the set's for a body that is turned to be as wanted */
    const gw_pose *near;
    double length;
    int count;    /* of the parts of d along e */
    gw_vec3 e[3]; /* axes of the locus's frame */
    double k[3];  /* d at D = 0 */
    gw_mat3 b[3];
    bool curved;   /* the nearest point is no linear function of d */
    bool thorough; /* many starts: d changes much more than L theta does, or has kinks */
} problem;

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
static void add_arm(const problem *s, gw_mat3 *b, double scale, gw_vec3 e, gw_vec3 arm)
{
    if (s->set->translation.in_mobile)
        add_product(b, scale, arm, gw_rotate(s->near->q, e));
    else
        add_product(b, scale, e, gw_rotate(s->near->q, arm));
}

static void begin(problem *s, const gw_submanifold *set, const gw_pose *near, double length)
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
    s->thorough = s->curved || bb > THOROUGH * length * length;
}

/* ---- f and its derivatives ------------------------------------------------------------------- */

/* Symmetric matrices, three by three at most, are their lower triangles row by row. */
#define LOWER(i, j) ((i) * ((i) + 1) / 2 + (j))

/* Half of f, half its gradient and half its second derivative by w, for D turned on by exp(w); and
 * that of d without its second derivatives, which is positive (Gauss and Newton). */
typedef struct expansion {
    gw_lanes f, g[3], h[6], gauss[6];
} expansion;

/* L^2 theta^2 / 2: its gradient is the rotation vector, its curvature theta/2 cot(theta/2) across.
 */
GW_LANE_INLINE void add_turn(double length, const gw_quat_lanes *d, expansion *at)
{
    double ll = length * length;
    gw_mask negative = d->w < 0;
    gw_lanes w = GW_SELECT(negative, -d->w, d->w), v[3] = {d->x, d->y, d->z}, ss, a;
    for (int i = 0; i < 3; i++)
        v[i] = GW_SELECT(negative, -v[i], v[i]);
    gw_lanes_dot(v, v, &ss);
    gw_lanes_half_angle_over_sine(&w, &a);
    gw_lanes around = a * w, least = ss + 1e-12, k = (1 - around) / least;
    at->f = 2 * ll * a * a * ss;
    for (int i = 0; i < 3; i++) {
        at->g[i] = 2 * ll * a * v[i];
        for (int j = 0; j <= i; j++) {
            at->h[LOWER(i, j)] = ll * (k * v[i] * v[j] + (i == j ? around : 0 * around));
            at->gauss[LOWER(i, j)] = (gw_lanes){0} + (i == j ? ll : 0);
        }
    }
}

/* d less the point of the locus nearest to it, in the axes of e; N, the derivative of that by d. */
static void subtract_nearest(const problem *s, double d[3], double n[3][3])
{
    const gw_locus *l = &s->set->translation.locus;
    gw_vec3 x = l->origin, way[3];
    for (int c = 0; c < 3; c++)
        x = gw_mul_add(x, d[c], s->e[c]);
    gw_vec3 y = gw_locus_nearest(l, x), off = gw_sub(x, y);
    int tangents = gw_locus_tangent(l, y, way);
    double share = gw_locus_nearest_derivative(l, y, off), t[3];
    if (l->kind == GW_LOCUS_SPHERE) {
        double out = gw_dot(off, gw_unit(gw_sub(y, l->origin)));
        share = l->a / fmax(l->a + out, 1e-9 * l->a);
    }
    for (int i = 0; i < 3; i++) {
        d[i] = gw_dot(off, s->e[i]);
        for (int j = 0; j < 3; j++)
            n[i][j] = i == j;
    }
    for (int k = 0; k < tangents; k++) {
        bool straight = l->kind == GW_LOCUS_CYLINDER && k == 0;
        for (int i = 0; i < 3; i++)
            t[i] = gw_dot(way[k], s->e[i]);
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                n[i][j] -= (straight ? 1 : share) * t[i] * t[j];
    }
}

/* The same in every lane: n by its lower triangle. */
static void subtract_nearest_of(const problem *s, gw_lanes d[3], gw_lanes n[6])
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

GW_LANE_INLINE void expand(const problem *s, const gw_quat_lanes *q, expansion *at)
{
    gw_lanes xx = 2 * q->x * q->x, yy = 2 * q->y * q->y, zz = 2 * q->z * q->z;
    gw_lanes xy = 2 * q->x * q->y, xz = 2 * q->x * q->z, yz = 2 * q->y * q->z;
    gw_lanes wx = 2 * q->w * q->x, wy = 2 * q->w * q->y, wz = 2 * q->w * q->z;
    gw_lanes r[3][3] = {{1 - yy - zz, xy - wz, xz + wy},
                        {xy + wz, 1 - xx - zz, yz - wx},
                        {xz - wy, yz + wx, 1 - xx - yy}};
    gw_lanes d[3], trace[3], m[3][6], g[3][3], n[6];
    add_turn(s->length, q, at);
    for (int c = 0; c < s->count; c++) {
        gw_lanes full[3][3];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                full[i][j] = s->b[c].m[i][0] * r[j][0] + s->b[c].m[i][1] * r[j][1] +
                             s->b[c].m[i][2] * r[j][2];
        for (int i = 0; i < 3; i++)
            for (int j = 0; j <= i; j++)
                m[c][LOWER(i, j)] = 0.5 * (full[i][j] + full[j][i]);
        trace[c] = full[0][0] + full[1][1] + full[2][2];
        d[c] = s->k[c] + trace[c];
        g[c][0] = full[2][1] - full[1][2];
        g[c][1] = full[0][2] - full[2][0];
        g[c][2] = full[1][0] - full[0][1];
    }
    if (s->curved)
        subtract_nearest_of(s, d, n);
    gw_lanes gg[6] = {{0}};
    for (int c = 0; c < s->count; c++) {
        at->f += 0.5 * d[c] * d[c];
        for (int i = 0; i < 3; i++) {
            at->g[i] += d[c] * g[c][i];
            at->h[LOWER(i, i)] -= d[c] * trace[c];
            for (int j = 0; j <= i; j++) {
                at->h[LOWER(i, j)] += d[c] * m[c][LOWER(i, j)];
                gg[LOWER(i, j)] += g[c][i] * g[c][j];
            }
        }
    }
    for (int c = 0; c < s->count && s->curved; c++)
        for (int k = 0; k < s->count; k++) {
            gw_lanes share = n[c > k ? LOWER(c, k) : LOWER(k, c)] - (k == c);
            for (int i = 0; i < 3; i++)
                for (int j = 0; j <= i; j++)
                    gg[LOWER(i, j)] += share * g[c][i] * g[k][j];
        }
    for (int i = 0; i < 6; i++)
        at->h[i] += gg[i], at->gauss[i] += gg[i];
}

/* ---- along the factor ------------------------------------------------------------------------ */

/* The gradient and second derivatives along the factor's own freedoms, n of them, about the axes k;
 * a curve's axis turns on by its rate. */
typedef struct reduced {
    int n;
    gw_lanes g[3], h[6], gauss[6];
    gw_lanes k[2][3], rate[3];
} reduced;

/* a . M b of the symmetric M. */
GW_LANE_INLINE void product(const gw_lanes a[3], const gw_lanes m[6], const gw_lanes b[3],
                            gw_lanes *out)
{
    *out = a[0] * (m[0] * b[0] + m[1] * b[1] + m[3] * b[2]) +
           a[1] * (m[1] * b[0] + m[2] * b[1] + m[4] * b[2]) +
           a[2] * (m[3] * b[0] + m[4] * b[1] + m[5] * b[2]);
}

/*
 * exp(a k0) exp(b k1) turns by a k0 + b k1 + a b k0 x k1 / 2, to second order.
 */
GW_LANE_INLINE void reduce(const problem *s, const gw_quat_lanes *d, const expansion *at,
                           reduced *to)
{
    const gw_rotation_set *r = &s->rotation;
    to->n = r->dof;
    if (r->kind == GW_ROTATION_FREE) {
        for (int i = 0; i < 3; i++)
            to->g[i] = at->g[i];
        for (int i = 0; i < 6; i++)
            to->h[i] = at->h[i], to->gauss[i] = at->gauss[i];
        return;
    }
    gw_lanes_fill(r->axis, to->k[0]);
    if (r->kind == GW_ROTATION_TWO_ANGLES)
        gw_two_angles_axes(r, d, to->k[0], to->rate);
    if (r->kind == GW_ROTATION_ANGLE)
        gw_quat_lanes_rotate(d, r->axis_body, to->k[1]);
    for (int i = 0; i < to->n; i++) {
        const gw_lanes *k = to->k[i];
        gw_lanes_dot(at->g, k, &to->g[i]);
        for (int j = 0; j <= i; j++) {
            product(k, at->h, to->k[j], &to->h[LOWER(i, j)]);
            product(k, at->gauss, to->k[j], &to->gauss[LOWER(i, j)]);
        }
    }
    gw_lanes across[3], part;
    if (r->kind == GW_ROTATION_TWO_ANGLES) {
        gw_lanes_dot(at->g, to->rate, &part);
        to->h[0] += part;
    } else if (r->kind == GW_ROTATION_ANGLE) {
        gw_lanes_cross(to->k[0], to->k[1], across);
        gw_lanes_dot(at->g, across, &part);
        to->h[1] += 0.5 * part;
    }
}

/* Solves (M + raise) x = g by L D L^T, n from 1 to 3; where M + raise is not positive, x is
 * anything. */
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

/* A step along the factor's freedoms. `newton`: by Newton's method; else by Gauss's, as f is not
 * convex there. `fall`: the gradient's part of what f falls by. */
typedef struct descent_step {
    gw_lanes by[3], size, fall;
    gw_mask newton;
} descent_step;

GW_LANE_INLINE void step_of(const reduced *r, const gw_lanes *raise, descent_step *step)
{
    gw_lanes scale = (gw_lanes){0} + 1e-300, square = {0}, other[3], damping;
    gw_mask always;
    for (int k = 0; k < r->n; k++)
        scale = GW_SELECT(scale > r->gauss[LOWER(k, k)], scale, r->gauss[LOWER(k, k)]);
    damping = *raise * scale;
    solve(r->n, r->h, &damping, r->g, step->by, &step->newton);
    gw_mask gauss = ~step->newton;
    if (gw_any_lane(&gauss)) {
        damping = (*raise + 1e-12) * scale;
        solve(r->n, r->gauss, &damping, r->g, other, &always);
        for (int k = 0; k < r->n; k++)
            step->by[k] = GW_SELECT(gauss, other[k], step->by[k]);
    }
    step->fall = (gw_lanes){0};
    for (int k = 0; k < r->n; k++) {
        step->fall += step->by[k] * r->g[k];
        square += step->by[k] * step->by[k];
    }
    gw_lanes_sqrt(&square, &step->size);
    gw_mask far = step->size > FARTHEST;
    gw_lanes share = -FARTHEST / step->size, one = (gw_lanes){0} - 1;
    share = GW_SELECT(far, share, one);
    for (int k = 0; k < r->n; k++)
        step->by[k] *= share;
}

/* Back onto a curve, where a step has led beside it; `on`: false where that failed, or led to the
 * other one of two loops. Small steps do not. */
static void project(const gw_rotation_set *r, const gw_lanes *size, gw_quat_lanes *d, gw_mask *on)
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
GW_LANE_INLINE void turn(const gw_rotation_set *set, const reduced *r, const descent_step *step,
                         gw_quat_lanes *d, gw_mask *on)
{
    gw_lanes by[3], half = 0.5 * step->by[0];
    for (int i = 0; i < 3; i++) {
        if (set->kind == GW_ROTATION_FREE)
            by[i] = 0.5 * step->by[i];
        else if (set->kind == GW_ROTATION_TWO_ANGLES)
            by[i] = half * (r->k[0][i] + half * r->rate[i]);
        else
            by[i] = half * r->k[0][i];
    }
    gw_quat_lanes_turn(d, by);
    if (set->kind == GW_ROTATION_ANGLE) {
        gw_lanes second = 0.5 * step->by[1];
        gw_lanes_fill(set->axis_body, by);
        for (int i = 0; i < 3; i++)
            by[i] *= second;
        gw_quat_lanes_turn_body(d, by);
    }
    gw_quat_lanes_unit(d);
    *on = ~(gw_mask){0};
    if (set->kind == GW_ROTATION_TWO_ANGLES)
        project(set, &step->size, d, on);
}

/* ---- descents -------------------------------------------------------------------------------- */

/* The best rotation so far, and half of f there. */
typedef struct best_rotation {
    gw_quat d;
    double f;
} best_rotation;

/*
 * Descends from each of the starts with steps that are damped until f falls, as many at a time as
 * there are lanes. A descent is given up where it comes near the best rotation so far, or the
 * gradient tells that f will stay above the least of all.
 */
GW_TARGET_CLONES
static void descend(const problem *s, const gw_quat *starts, int count, best_rotation *best)
{
    expansion at = {.f = {0}}, trial;
    gw_quat_lanes d = {.w = {0}}, next;
    reduced r;
    descent_step step = {.size = {0}};
    gw_lanes raise = {0};
    gw_mask on = ~(gw_mask){0};
    int steps[GW_LANES], begun = 0, active = 0;
    bool used[GW_LANES];
    double least = HUGE_VAL;
    for (int lane = 0; lane < GW_LANES; lane++) {
        used[lane] = begun < count;
        gw_quat_lanes_set(&next, lane, starts[used[lane] ? begun++ : 0]);
        at.f[lane] = HUGE_VAL;
        active += used[lane];
        steps[lane] = 0;
    }
    gw_quat_lanes_unit(&next);
    while (active > 0) {
        expand(s, &next, &trial);
        gw_mask begins = at.f == HUGE_VAL, lower = (trial.f < at.f) & on;
        gw_mask stuck = ~lower & ((step.size < 1e-7) | (raise > 1e8));
        gw_lanes more = 6 * raise, some = (gw_lanes){0} + 1e-2, less = 0.1 * raise;
        more = GW_SELECT(more > some, more, some);
        less = (gw_lanes)((gw_mask)less & (raise > 1e-4));
        raise = GW_SELECT(lower, less, more);
        d.w = GW_SELECT(lower, next.w, d.w), d.x = GW_SELECT(lower, next.x, d.x);
        d.y = GW_SELECT(lower, next.y, d.y), d.z = GW_SELECT(lower, next.z, d.z);
        at.f = GW_SELECT(lower, trial.f, at.f);
        for (int i = 0; i < 3; i++)
            at.g[i] = GW_SELECT(lower, trial.g[i], at.g[i]);
        for (int i = 0; i < 6; i++) {
            at.h[i] = GW_SELECT(lower, trial.h[i], at.h[i]);
            at.gauss[i] = GW_SELECT(lower, trial.gauss[i], at.gauss[i]);
        }
        for (int lane = 0; lane < GW_LANES; lane++)
            least = fmin(least, at.f[lane]);

        reduce(s, &d, &at, &r);
        step_of(&r, &raise, &step);
        next = d;
        turn(&s->rotation, &r, &step, &next, &on);

        gw_lanes nearness = best->d.w * d.w + best->d.x * d.x + best->d.y * d.y + best->d.z * d.z;
        gw_mask hopeless = (raise == 0) & ~begins & (at.f - step.fall > least);
        gw_mask known = step.newton & (step.size < 0.3) & (nearness * nearness > CLOSE * CLOSE) &
                        (at.f >= best->f);
        gw_mask last = step.newton & (raise == 0) & (step.size < 1e-7) & on;
        gw_mask ends = hopeless | known | last | stuck;
        for (int lane = 0; lane < GW_LANES; lane++) {
            if (!used[lane] || (!ends[lane] && ++steps[lane] < STEPS))
                continue;
            if (at.f[lane] < best->f) /* what the last step leaves is its square */
                *best =
                    (best_rotation){gw_quat_lanes_get(last[lane] ? &next : &d, lane), at.f[lane]};
            used[lane] = begun < count;
            active -= !used[lane];
            gw_quat_lanes_set(&next, lane, starts[used[lane] ? begun++ : 0]);
            at.f[lane] = HUGE_VAL;
            raise[lane] = 0;
            steps[lane] = 0;
            on[lane] = -1;
        }
    }
}

/* ---- starts ---------------------------------------------------------------------------------- */

#define GROUPS (GRID / GW_LANES)

/* Rotations relative to the wanted one, and half of f there. */
typedef struct grid {
    int count;
    gw_quat_lanes d[GROUPS];
    double f[GRID];
} grid;

/* theta^2 / 4 of cos(theta / 2), to some 1e-4: Abramowitz and Stegun 4.4.45. */
#define HALF_ANGLE_SQUARED(c)                                                                      \
    ((1 - (c)) * (1.5707288 + (c) * (-0.2121144 + (c) * (0.0742610 - 0.0187293 * (c)))) *          \
     (1.5707288 + (c) * (-0.2121144 + (c) * (0.0742610 - 0.0187293 * (c)))))

/* k + <B, D> as a quadratic form of the quaternion, times a factor: w w, x x, y y, z z, w x, w y, w
 * z, x y, x z, y z. */
static void quadratic_form(double k, const double b[3][3], double a[10])
{
    a[0] = k + b[0][0] + b[1][1] + b[2][2];
    a[1] = k + b[0][0] - b[1][1] - b[2][2];
    a[2] = k - b[0][0] + b[1][1] - b[2][2];
    a[3] = k - b[0][0] - b[1][1] + b[2][2];
    a[4] = 2 * (b[2][1] - b[1][2]);
    a[5] = 2 * (b[0][2] - b[2][0]);
    a[6] = 2 * (b[1][0] - b[0][1]);
    a[7] = 2 * (b[0][1] + b[1][0]);
    a[8] = 2 * (b[0][2] + b[2][0]);
    a[9] = 2 * (b[1][2] + b[2][1]);
}

/*
 * The planes that a shifting locus is common to, as unit vectors along e: those that shift, and
 * others normal to the directions in which these move it. Where planes meet at small angles |d| is
 * many times the distance from them.
 */
static void planes_of(const problem *s, double n[3][3])
{
    const gw_translation_set *t = &s->set->translation;
    gw_vec3 own[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}, along[3];
    int given = t->shift_count < s->count ? t->shift_count : 0;
    for (int i = 0; i < given; i++) {
        const gw_locus_shift *p = &t->shifts[i];
        gw_vec3 a = {0, 0, 0}, b = {0, 0, 0};
        for (int c = 0; c < s->count; c++) {
            a = gw_mul_add(a, gw_dot(s->e[c], p->normal), own[c]);
            b = gw_mul_add(b, gw_dot(s->e[c], p->along), own[c]);
        }
        n[i][0] = a.x, n[i][1] = a.y, n[i][2] = a.z;
        along[i] = b;
    }
    gw_vec3 rest[2] = {{1, 0, 0}, {0, 1, 0}};
    if (given == 1 && s->count == 2)
        rest[0] = gw_unit(gw_v3(-along[0].y, along[0].x, 0));
    else if (given == 1)
        rest[0] = gw_any_normal(gw_unit(along[0])), rest[1] = gw_cross(gw_unit(along[0]), rest[0]);
    else if (given == 2)
        rest[0] = gw_unit(gw_cross(along[0], along[1]));
    for (int i = given; i < s->count; i++) {
        gw_vec3 r = given ? rest[i - given] : own[i];
        n[i][0] = r.x, n[i][1] = r.y, n[i][2] = r.z;
    }
}

/* The distances from those planes, each scaled to what is left of it where the body rotates by the
 * best of a linear model: d^2 L^2 / (L^2 + g^2), g^2 on the average two thirds of B^2. */
static void rank_forms(const problem *s, double a[3][10])
{
    double n[3][3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};
    bool any = s->set->rotation.kind == GW_ROTATION_FREE;
    if (any)
        planes_of(s, n);
    for (int i = 0; i < s->count; i++) {
        double b[3][3] = {{0}}, k = 0, bb = 0;
        for (int c = 0; c < s->count; c++) {
            k += n[i][c] * s->k[c];
            for (int j = 0; j < 9; j++)
                b[j / 3][j % 3] += n[i][c] * s->b[c].m[j / 3][j % 3];
        }
        for (int j = 0; j < 9; j++)
            bb += b[j / 3][j % 3] * b[j / 3][j % 3];
        double ll = s->length * s->length, scale = any ? sqrt(ll / (ll + 0.67 * bb)) : 1;
        quadratic_form(k, (const double(*)[3])b, a[i]);
        for (int j = 0; j < 10; j++)
            a[i][j] *= scale;
    }
}

/* Values by which starts are chosen. */
GW_TARGET_CLONES
static void evaluate_flat(const problem *s, grid *g)
{
    const gw_mask magnitude = (gw_mask){0} + 0x7fffffffffffffff;
    const double ll = 2 * s->length * s->length;
    double a[3][10];
    rank_forms(s, a);
    for (int i = 0; i < g->count / GW_LANES; i++) {
        gw_lanes w = g->d[i].w, x = g->d[i].x, y = g->d[i].y, z = g->d[i].z;
        gw_lanes cosine = (gw_lanes)((gw_mask)w & magnitude);
        gw_lanes f = ll * HALF_ANGLE_SQUARED(cosine);
        for (int c = 0; c < s->count; c++) {
            gw_lanes d = w * (a[c][0] * w + a[c][4] * x + a[c][5] * y + a[c][6] * z) +
                         x * (a[c][1] * x + a[c][7] * y + a[c][8] * z) +
                         y * (a[c][2] * y + a[c][9] * z) + a[c][3] * z * z;
            f += 0.5 * d * d;
        }
        for (int k = 0; k < GW_LANES; k++)
            g->f[i * GW_LANES + k] = f[k];
    }
}

GW_TARGET_CLONES
static void evaluate_curved(const problem *s, grid *g)
{
    for (int i = 0; i < (g->count + GW_LANES - 1) / GW_LANES; i++) {
        expansion at;
        gw_quat_lanes_unit(&g->d[i]);
        expand(s, &g->d[i], &at);
        for (int k = 0; k < GW_LANES; k++)
            g->f[i * GW_LANES + k] = at.f[k];
    }
}

static void put_in(grid *g, int i, gw_quat q)
{
    gw_quat_lanes_set(&g->d[i / GW_LANES], i % GW_LANES, q);
}

/* The 60 rotations of an icosahedron: none of SO(3) is farther than 45 degrees from one. The
 * neighbours of each, 72 degrees away. */
static const unsigned char free_neighbours[60][12] = {
    {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12},
    {0, 2, 5, 6, 9, 11, 13, 14, 21, 22, 25, 33},
    {0, 1, 7, 8, 9, 11, 15, 16, 21, 22, 28, 35},
    {0, 4, 5, 6, 10, 12, 17, 18, 23, 24, 26, 36},
    {0, 3, 7, 8, 10, 12, 19, 20, 23, 24, 27, 34},
    {0, 1, 3, 6, 9, 10, 13, 17, 25, 26, 29, 37},
    {0, 1, 3, 5, 11, 12, 14, 18, 25, 26, 32, 39},
    {0, 2, 4, 8, 9, 10, 15, 19, 27, 28, 30, 40},
    {0, 2, 4, 7, 11, 12, 16, 20, 27, 28, 31, 38},
    {0, 1, 2, 5, 7, 10, 13, 15, 21, 29, 30, 41},
    {0, 3, 4, 5, 7, 9, 17, 19, 24, 29, 30, 43},
    {0, 1, 2, 6, 8, 12, 14, 16, 22, 31, 32, 44},
    {0, 3, 4, 6, 8, 11, 18, 20, 23, 31, 32, 42},
    {1, 5, 9, 21, 25, 29, 33, 37, 41, 48, 52, 56},
    {1, 6, 11, 22, 25, 32, 33, 39, 44, 50, 53, 59},
    {2, 7, 9, 21, 28, 30, 35, 40, 41, 49, 55, 58},
    {2, 8, 11, 22, 28, 31, 35, 38, 44, 51, 54, 57},
    {3, 5, 10, 24, 26, 29, 36, 37, 43, 51, 54, 57},
    {3, 6, 12, 23, 26, 32, 36, 39, 42, 49, 55, 58},
    {4, 7, 10, 24, 27, 30, 34, 40, 43, 50, 53, 59},
    {4, 8, 12, 23, 27, 31, 34, 38, 42, 48, 52, 56},
    {1, 2, 9, 13, 15, 22, 33, 35, 41, 45, 48, 49},
    {1, 2, 11, 14, 16, 21, 33, 35, 44, 45, 50, 51},
    {3, 4, 12, 18, 20, 24, 34, 36, 42, 45, 48, 49},
    {3, 4, 10, 17, 19, 23, 34, 36, 43, 45, 50, 51},
    {1, 5, 6, 13, 14, 26, 33, 37, 39, 46, 52, 53},
    {3, 5, 6, 17, 18, 25, 36, 37, 39, 46, 54, 55},
    {4, 7, 8, 19, 20, 28, 34, 38, 40, 46, 52, 53},
    {2, 7, 8, 15, 16, 27, 35, 38, 40, 46, 54, 55},
    {5, 9, 10, 13, 17, 30, 37, 41, 43, 47, 56, 57},
    {7, 9, 10, 15, 19, 29, 40, 41, 43, 47, 58, 59},
    {8, 11, 12, 16, 20, 32, 38, 42, 44, 47, 56, 57},
    {6, 11, 12, 14, 18, 31, 39, 42, 44, 47, 58, 59},
    {1, 13, 14, 21, 22, 25, 34, 45, 48, 50, 52, 53},
    {4, 19, 20, 23, 24, 27, 33, 45, 48, 50, 52, 53},
    {2, 15, 16, 21, 22, 28, 36, 45, 49, 51, 54, 55},
    {3, 17, 18, 23, 24, 26, 35, 45, 49, 51, 54, 55},
    {5, 13, 17, 25, 26, 29, 38, 46, 52, 54, 56, 57},
    {8, 16, 20, 27, 28, 31, 37, 46, 52, 54, 56, 57},
    {6, 14, 18, 25, 26, 32, 40, 46, 53, 55, 58, 59},
    {7, 15, 19, 27, 28, 30, 39, 46, 53, 55, 58, 59},
    {9, 13, 15, 21, 29, 30, 42, 47, 48, 49, 56, 58},
    {12, 18, 20, 23, 31, 32, 41, 47, 48, 49, 56, 58},
    {10, 17, 19, 24, 29, 30, 44, 47, 50, 51, 57, 59},
    {11, 14, 16, 22, 31, 32, 43, 47, 50, 51, 57, 59},
    {21, 22, 23, 24, 33, 34, 35, 36, 48, 49, 50, 51},
    {25, 26, 27, 28, 37, 38, 39, 40, 52, 53, 54, 55},
    {29, 30, 31, 32, 41, 42, 43, 44, 56, 57, 58, 59},
    {13, 20, 21, 23, 33, 34, 41, 42, 45, 49, 52, 56},
    {15, 18, 21, 23, 35, 36, 41, 42, 45, 48, 55, 58},
    {14, 19, 22, 24, 33, 34, 43, 44, 45, 51, 53, 59},
    {16, 17, 22, 24, 35, 36, 43, 44, 45, 50, 54, 57},
    {13, 20, 25, 27, 33, 34, 37, 38, 46, 48, 53, 56},
    {14, 19, 25, 27, 33, 34, 39, 40, 46, 50, 52, 59},
    {16, 17, 26, 28, 35, 36, 37, 38, 46, 51, 55, 57},
    {15, 18, 26, 28, 35, 36, 39, 40, 46, 49, 54, 58},
    {13, 20, 29, 31, 37, 38, 41, 42, 47, 48, 52, 57},
    {16, 17, 29, 31, 37, 38, 43, 44, 47, 51, 54, 56},
    {15, 18, 30, 32, 39, 40, 41, 42, 47, 49, 55, 59},
    {14, 19, 30, 32, 39, 40, 43, 44, 47, 50, 53, 58}};

static void free_grid(grid *g)
{
#define A 0.80901699437494742
#define B 0.5
#define C 0.30901699437494742
    static const double table[4][60] = {
        {1, A, A, A, A, A, A, A, A, A, A, A, A, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B, B,
         B, B, B, C, C, C, C, C, C, C, C, C, C, C, C, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
        {0,  B, B,  -B, -B, 0, 0,  0,  0, C, -C, C, -C, B, B,  B, B,  -B, -B, -B,
         -B, A, A,  -A, -A, C, -C, -C, C, 0, 0,  0, 0,  A, -A, A, -A, 0,  0,  0,
         0,  B, -B, -B, B,  1, 0,  0,  A, A, A,  A, B,  B, B,  B, C,  C,  C,  C},
        {0,  C, -C, C, -C, B, B, -B, -B, 0,  0,  0,  0, B, B,  -B, -B, B,  B,  -B,
         -B, 0, 0,  0, 0,  A, A, -A, -A, C,  -C, -C, C, B, -B, -B, B,  A,  -A, A,
         -A, 0, 0,  0, 0,  0, 1, 0,  C,  -C, C,  -C, A, A, -A, -A, B,  -B, -B, B},
        {0,  0, 0,  0,  0,  C, -C, C, -C, B, B,  -B, -B, B,  -B, B, -B, B,  -B, B,
         -B, C, -C, -C, C,  0, 0,  0, 0,  A, A,  -A, -A, 0,  0,  0, 0,  B,  -B, -B,
         B,  A, -A, A,  -A, 0, 0,  1, B,  B, -B, -B, C,  -C, -C, C, A,  -A, A,  -A},
    };
#undef A
#undef B
#undef C
    g->count = 60;
    for (int i = 0; i < 60; i += GW_LANES) {
        gw_quat_lanes *d = &g->d[i / GW_LANES];
        memcpy(&d->w, table[0] + i, sizeof d->w);
        memcpy(&d->x, table[1] + i, sizeof d->x);
        memcpy(&d->y, table[2] + i, sizeof d->y);
        memcpy(&d->z, table[3] + i, sizeof d->z);
    }
}

/* Multiples of 45 degrees of both angles, from the rotation q1 of the set. */
static void angle_grid(const problem *s, gw_quat q1, grid *g)
{
    static const double cosine[] = {
        1, 0.92387953251128674,  0.70710678118654752,  0.38268343236508977,
        0, -0.38268343236508977, -0.70710678118654752, -0.92387953251128674};
    static const double sine[] = {0, 0.38268343236508977, 0.70710678118654752, 0.92387953251128674,
                                  1, 0.92387953251128674, 0.70710678118654752, 0.38268343236508977};
    const gw_rotation_set *r = &s->set->rotation;
    gw_quat last = gw_quat_conj(s->near->q);
    gw_vec3 u = r->axis_body, f = r->axis;
    /* exp(phi f) q1 exp(theta u) q0^-1: bilinear in the half angles */
    gw_quat c = gw_quat_mul(q1, last),
            cu = gw_quat_mul(gw_quat_mul(q1, (gw_quat){0, u.x, u.y, u.z}), last);
    gw_quat axis = {0, f.x, f.y, f.z}, fc = gw_quat_mul(axis, c), fcu = gw_quat_mul(axis, cu);
    g->count = 64;
    for (int i = 0; i < 8; i++)
        for (int j = 0; j < 8 / GW_LANES; j++) {
            gw_lanes even, odd;
            memcpy(&even, cosine + j * GW_LANES, sizeof even);
            memcpy(&odd, sine + j * GW_LANES, sizeof odd);
            double p = cosine[i], q = sine[i];
            gw_quat_lanes *d = &g->d[i * 8 / GW_LANES + j];
            d->w = even * (p * c.w + q * fc.w) + odd * (p * cu.w + q * fcu.w);
            d->x = even * (p * c.x + q * fc.x) + odd * (p * cu.x + q * fcu.x);
            d->y = even * (p * c.y + q * fc.y) + odd * (p * cu.y + q * fcu.y);
            d->z = even * (p * c.z + q * fc.z) + odd * (p * cu.z + q * fcu.z);
        }
}

#define CURVE 32

/* sin and cos of psi / 2 at psi = (i + 1/2) 2 pi / CURVE - pi. */
static const double curve_sine[CURVE] = {
    -0.9987954562051724, -0.989176509964781,   -0.970031253194544,  -0.9415440651830208,
    -0.9039892931234433, -0.8577286100002721,  -0.8032075314806448, -0.7409511253549591,
    -0.6715589548470183, -0.5956993044924334,  -0.5141027441932217, -0.42755509343028214,
    -0.33688985339222,   -0.24298017990326393, -0.1467304744553617, -0.04906767432741807,
    0.04906767432741807, 0.1467304744553617,   0.24298017990326393, 0.33688985339222,
    0.4275550934302819,  0.5141027441932217,   0.5956993044924334,  0.6715589548470186,
    0.740951125354959,   0.8032075314806448,   0.8577286100002721,  0.9039892931234433,
    0.9415440651830207,  0.970031253194544,    0.989176509964781,   0.9987954562051724};
static const double curve_cosine[CURVE] = {
    0.049067674327418126, 0.14673047445536175, 0.24298017990326398, 0.33688985339222005,
    0.4275550934302822,   0.5141027441932217,  0.5956993044924335,  0.6715589548470183,
    0.7409511253549591,   0.8032075314806449,  0.8577286100002721,  0.9039892931234433,
    0.9415440651830208,   0.970031253194544,   0.989176509964781,   0.9987954562051724,
    0.9987954562051724,   0.989176509964781,   0.970031253194544,   0.9415440651830208,
    0.9039892931234434,   0.8577286100002721,  0.8032075314806449,  0.740951125354959,
    0.6715589548470186,   0.5956993044924335,  0.5141027441932217,  0.427555093430282,
    0.3368898533922203,   0.24298017990326398, 0.14673047445536175, 0.049067674327417904};

/* f along the curve: with the axes F of the body at R and F0 at the wanted rotation D = F F0^T has
 * the trace <F, F0> = 4 cos(theta/2)^2 - 1, and <B, D> = <B F0, F>. */
GW_TARGET_CLONES
static void evaluate_curve(const problem *s, grid *g)
{
    const gw_rotation_set *r = &s->rotation;
    gw_mat3 body = gw_quat_to_mat3(r->second.body), b[3];
    g->count = CURVE;
    for (int c = 0; c < s->count; c++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++)
                b[c].m[i][j] = s->b[c].m[i][0] * body.m[0][j] + s->b[c].m[i][1] * body.m[1][j] +
                               s->b[c].m[i][2] * body.m[2][j];
    for (int k = 0; k < CURVE; k += GW_LANES) {
        gw_lanes sine, cosine, frame[3][3], d[3], n[6], trace = {0}, f = {0};
        memcpy(&sine, curve_sine + k, sizeof sine);
        memcpy(&cosine, curve_cosine + k, sizeof cosine);
        gw_two_angles_frames(r, &sine, &cosine, frame);
        for (int c = 0; c < s->count; c++)
            d[c] = (gw_lanes){0} + s->k[c];
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++) {
                trace += body.m[i][j] * frame[j][i];
                for (int c = 0; c < s->count; c++)
                    d[c] += b[c].m[i][j] * frame[j][i];
            }
        if (s->curved)
            subtract_nearest_of(s, d, n);
        for (int c = 0; c < s->count; c++)
            f += d[c] * d[c];
        gw_lanes square = 0.25 * (1 + trace), half;
        square = (gw_lanes)((gw_mask)square & (square > 0));
        gw_lanes_sqrt(&square, &half);
        f = 0.5 * f + 2 * s->length * s->length * HALF_ANGLE_SQUARED(half);
        memcpy(g->f + k, &f, sizeof f);
    }
}

/* The rotation where a parabola through three neighbours has its minimum. */
static gw_quat curve_start(const problem *s, const grid *g, int i)
{
    double before = g->f[(i + CURVE - 1) % CURVE], after = g->f[(i + 1) % CURVE];
    double bend = before - 2 * g->f[i] + after;
    double share = bend > 0 ? 0.5 * (before - after) / bend : 0;
    double psi = (i + 0.5 + share) * (2 * GW_PI / CURVE) - GW_PI;
    return gw_two_angles_rotation(&s->rotation, remainder(psi, 2 * GW_PI));
}

static void axis_grid(const problem *s, gw_quat q1, grid *g)
{
    const gw_rotation_set *r = &s->set->rotation;
    gw_quat last = gw_quat_conj(s->near->q);
    g->count = 16;
    for (int i = 0; i < g->count; i++)
        put_in(g, i,
               gw_quat_mul(gw_quat_mul(gw_quat_axis(r->axis, 2 * GW_PI * i / g->count), q1), last));
}

/* True where no neighbour on the grid is lower: of the icosahedron, of the torus, on the ring. */
static bool is_lowest(const problem *s, const grid *g, int at)
{
    const int n = g->count;
    bool lowest = true;
    if (s->set->rotation.kind == GW_ROTATION_FREE) {
        for (int k = 0; k < 12 && lowest; k++)
            lowest = g->f[free_neighbours[at][k]] >= g->f[at];
    } else if (s->set->rotation.kind == GW_ROTATION_ANGLE) {
        for (int k = 0; k < 9 && lowest; k++) {
            int row = (at / 8 + k / 3 + 7) % 8, column = (at % 8 + k % 3 + 7) % 8;
            lowest = g->f[8 * row + column] >= g->f[at];
        }
    } else {
        lowest = g->f[(at + 1) % n] >= g->f[at] && g->f[(at + n - 1) % n] >= g->f[at];
    }
    return lowest;
}

/* The local minima of the grid, lowest first; at most STARTS. Of a curved locus, whose f has kinks,
 * all of its points are starts. */
static int lowest_of(const problem *s, const grid *g, int starts[STARTS])
{
    int count = 0;
    for (int i = 0; i < g->count; i++) {
        if ((count == STARTS && g->f[i] >= g->f[starts[STARTS - 1]]) ||
            (!s->thorough && !is_lowest(s, g, i)))
            continue;
        int at = count < STARTS ? count++ : STARTS - 1;
        for (; at > 0 && g->f[starts[at - 1]] > g->f[i]; at--)
            starts[at] = starts[at - 1];
        starts[at] = i;
    }
    return count;
}

static gw_pose pose_at(const problem *s, gw_quat q)
{
    const gw_translation_set *t = &s->set->translation;
    gw_vec3 shift = gw_shift_at(t, q), x = t->in_mobile ? gw_unrotate(q, gw_sub(t->of, s->near->p))
                                                        : gw_add(s->near->p, gw_rotate(q, t->of));
    gw_vec3 y = gw_add(gw_locus_nearest(&t->locus, gw_sub(x, shift)), shift);
    return (gw_pose){t->in_mobile ? gw_sub(t->of, gw_rotate(q, y)) : gw_sub(y, gw_rotate(q, t->of)),
                     q};
}

double gw_submanifold_nearest_shifting(const gw_submanifold *set, const gw_pose *near,
                                       double length, gw_quat q1, gw_pose *nearest)
{
    problem s;
    grid g = {.count = 0};
    begin(&s, set, near, length);
    switch (set->rotation.kind) {
    case GW_ROTATION_FREE:
        free_grid(&g);
        break;
    case GW_ROTATION_ANGLE:
        angle_grid(&s, q1, &g);
        break;
    case GW_ROTATION_TWO_ANGLES:
        evaluate_curve(&s, &g);
        break;
    case GW_ROTATION_AXIS:
        axis_grid(&s, q1, &g);
        break;
    case GW_ROTATION_FIXED:
    case GW_ROTATION_NORMAL:
    case GW_ROTATION_TANGENT: /* its locus does not shift */
    case GW_ROTATION_GENERAL:
        *nearest = pose_at(&s, set->rotation.zero);
        return gw_pose_distance(nearest, near, length);
    }
    bool curve = set->rotation.kind == GW_ROTATION_TWO_ANGLES;
    if (s.curved && !curve)
        evaluate_curved(&s, &g);
    else if (!curve)
        evaluate_flat(&s, &g);
    int lows[STARTS], count = lowest_of(&s, &g, lows);
    gw_quat starts[STARTS + 1];
    for (int i = 0; i < count; i++)
        starts[i] = curve ? curve_start(&s, &g, lows[i])
                          : gw_quat_lanes_get(&g.d[lows[i] / GW_LANES], lows[i] % GW_LANES);
    if (curve) /* the wanted rotation itself, where it is on the curve */
        starts[count++] = gw_two_angles_rotation(
            &s.rotation, gw_two_angles_parameter(&s.rotation, gw_quat_identity()));
    best_rotation best = {.f = HUGE_VAL};
    descend(&s, starts, count, &best);
    *nearest = pose_at(&s, gw_quat_unit(gw_quat_mul(best.d, near->q)));
    return gw_pose_distance(nearest, near, length);
}
