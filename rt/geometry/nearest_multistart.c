/*
 * The nearest pose of sets whose locus shifts while the body rotates, and of two angles, by
 * f = |dp|^2 + (L theta)^2: descents (batched_newton.h) from the best points of a grid over the
 * rotational factor. The grid has the icosahedron's 60 rotations, 64 pairs of angles or 16 points
 * of a curve, ranked by what a linear model leaves of f. 4, 8 or 16 of the lowest are starts, the
 * more the larger |B|^2 / L^2, B being the rate of X - Y (nearest.c). Any thread, RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/geometry/locus.h"
#include "rt/geometry/batched_newton.h"
#include "rt/geometry/two_angles.h"

#define GRID       64
#define STARTS     16
#define NEAR_CURVE 0.1 /* error of both cosines below which the wanted rotation is a start, too */

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
 * The planes whose intersection is a shifting locus, as unit normals in the axes e: those that
 * shift, and others normal to the directions of the shifts. If planes meet at small angles, |d| is
 * many times the distance from them.
 */
static void planes_of(const gw_batched_newton *s, double n[3][3])
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

/* The distances from those planes, each scaled to its residual after the best rotation of a linear
 * model: d^2 L^2 / (L^2 + g^2), with g^2 on average two thirds of B^2. */
static void rank_forms(const gw_batched_newton *s, double a[3][10])
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
GW_TARGET_CLONES_512
static void evaluate_flat(const gw_batched_newton *s, grid *g)
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

static void evaluate_curved(const gw_batched_newton *s, grid *g)
{
    for (int i = 0; i < g->count / GW_LANES; i++) {
        gw_lanes f;
        gw_quat_lanes_unit(&g->d[i]);
        gw_batched_newton_values(s, &g->d[i], &f);
        memcpy(g->f + i * GW_LANES, &f, sizeof f);
    }
}

static void put_in(grid *g, int i, gw_quat q)
{
    gw_quat_lanes_set(&g->d[i / GW_LANES], i % GW_LANES, q);
}

/* The 60 rotations of an icosahedron: none of SO(3) is farther than 45 degrees from one. */
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
GW_TARGET_CLONES_512
static void angle_grid(const gw_batched_newton *s, gw_quat q1, grid *g)
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
GW_TARGET_CLONES_512
static void evaluate_curve(const gw_batched_newton *s, grid *g)
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
        gw_two_angles_rough_frames(r, &sine, &cosine, frame);
        for (int j = 0; j < 3; j++)
            for (int i = 0; i < 3; i++)
                trace += body.m[i][j] * frame[j][i];
        for (int c = 0; c < s->count; c++) {
            d[c] = (gw_lanes){0} + s->k[c];
            for (int j = 0; j < 3; j++)
                for (int i = 0; i < 3; i++)
                    d[c] += b[c].m[i][j] * frame[j][i];
        }
        if (s->curved)
            gw_batched_newton_subtract_nearest(s, d, n);
        for (int c = 0; c < s->count; c++)
            f += d[c] * d[c];
        gw_lanes square = 0.25 * (1 + trace), half;
        square = (gw_lanes)((gw_mask)square & (square > 0));
        gw_lanes_sqrt(&square, &half);
        f = 0.5 * f + 2 * s->length * s->length * HALF_ANGLE_SQUARED(half);
        memcpy(g->f + k, &f, sizeof f);
    }
}

/* The rotations where parabolas through three neighbours have their minima. */
static void curve_starts(const gw_batched_newton *s, const grid *g, const int *lows, int count,
                         gw_quat *starts)
{
    for (int first = 0; first < count; first += GW_LANES) {
        int many = count - first < GW_LANES ? count - first : GW_LANES;
        gw_lanes sine = {0}, cosine = (gw_lanes){0} + 1;
        for (int lane = 0; lane < many; lane++) {
            int i = lows[first + lane];
            double before = g->f[(i + CURVE - 1) % CURVE], after = g->f[(i + 1) % CURVE];
            double curvature = before - 2 * g->f[i] + after;
            double share =
                curvature > 0 ? fmax(-1, fmin(1, 0.5 * (before - after) / curvature)) : 0;
            /* the change of psi / 2, at most 0.1 */
            double by = share * (GW_PI / CURVE), dd = by * by;
            double c = 1 - dd / 2 * (1 - dd / 12 * (1 - dd / 30 * (1 - dd / 56)));
            double t = by * (1 - dd / 6 * (1 - dd / 20 * (1 - dd / 42 * (1 - dd / 72))));
            sine[lane] = curve_sine[i] * c + curve_cosine[i] * t;
            cosine[lane] = curve_cosine[i] * c - curve_sine[i] * t;
        }
        gw_two_angles_rotations(&s->rotation, &sine, &cosine, many, starts + first);
    }
}

/* True where the wanted rotation is on the curve, or nearly. */
static bool is_near_curve(const gw_rotation_set *r)
{
    return fabs(gw_dot(r->axis, r->axis_body) - r->second.cosine) +
               fabs(gw_dot(r->second.axis, r->second.axis_body) - r->second.cosine_2) <
           NEAR_CURVE;
}

#define RING 16

static void axis_grid(const gw_batched_newton *s, gw_quat q1, grid *g)
{
    const gw_rotation_set *r = &s->set->rotation;
    gw_quat last = gw_quat_conj(s->near->q);
    g->count = RING;
    for (int i = 0; i < g->count; i++)
        put_in(g, i,
               gw_quat_mul(gw_quat_mul(gw_quat_axis(r->axis, 2 * GW_PI * i / g->count), q1), last));
}

/*
 * Number of the grid's lowest points that become starts. The faster d changes relative to L theta,
 * the more minima there are between grid points. In 60 000 random sets of points on lines and
 * planes the result equals that of 24 starts, except for one in 200 of those with |B|^2 > 1000 L^2.
 */
static int starts_asked(const gw_batched_newton *s)
{
    if (s->curved) /* f has kinks */
        return STARTS;
    return s->rate_ratio2 < 2 ? 4 : s->rate_ratio2 < 100 ? 8 : STARTS;
}

/* The lowest points of the grid, lowest first; on a ring (an axis or a curve) only the local
 * minima, if these suffice. */
static int lowest_of(const gw_batched_newton *s, const grid *g, int starts[STARTS])
{
    const int n = g->count;
    const bool ring = n == RING || n == CURVE, minima = ring && !s->curved && s->rate_ratio2 < 2;
    const int most = ring ? STARTS : starts_asked(s);
    int count = 0;
    for (int i = 0; i < n; i++) {
        if (count == most && g->f[i] >= g->f[starts[most - 1]])
            continue;
        if (minima && (g->f[(i + 1) % n] < g->f[i] || g->f[(i + n - 1) % n] < g->f[i]))
            continue;
        int at = count < most ? count++ : most - 1;
        for (; at > 0 && g->f[starts[at - 1]] > g->f[i]; at--)
            starts[at] = starts[at - 1];
        starts[at] = i;
    }
    return count;
}

static gw_pose pose_at(const gw_batched_newton *s, gw_quat q)
{
    const gw_translation_set *t = &s->set->translation;
    gw_vec3 shift = gw_shift_at(t, q), x = t->in_mobile ? gw_unrotate(q, gw_sub(t->of, s->near->p))
                                                        : gw_add(s->near->p, gw_rotate(q, t->of));
    gw_vec3 y = gw_add(gw_locus_nearest(&t->locus, gw_sub(x, shift)), shift);
    return (gw_pose){t->in_mobile ? gw_sub(t->of, gw_rotate(q, y)) : gw_sub(y, gw_rotate(q, t->of)),
                     q};
}

double gw_submanifold_nearest_multistart(const gw_submanifold *set, const gw_pose *near,
                                         double length, gw_quat q1, gw_pose *nearest)
{
    assert(set && near && length > 0 && nearest);
    gw_batched_newton s;
    grid g;
    gw_batched_newton_init(&s, set, near, length);
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
    if (curve)
        curve_starts(&s, &g, lows, count, starts);
    for (int i = 0; i < count && !curve; i++)
        starts[i] = gw_quat_lanes_get(&g.d[lows[i] / GW_LANES], lows[i] % GW_LANES);
    if (curve && is_near_curve(&s.rotation))
        starts[count++] = gw_two_angles_rotation(
            &s.rotation, gw_two_angles_parameter(&s.rotation, gw_quat_identity()));
    gw_batched_newton_best best = {.f = HUGE_VAL};
    gw_batched_newton_descend(&s, starts, count, &best);
    *nearest = pose_at(&s, gw_quat_unit(gw_quat_mul(best.d, near->q)));
    return gw_pose_distance(nearest, near, length);
}
