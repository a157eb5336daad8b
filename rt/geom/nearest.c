/*
 * The pose of a submanifold nearest to a given one, by f = |dp|^2 + (L theta)^2. Any thread, RT
 * safe.
 *
 * Given the rotation R, the translation follows in closed form: the point that the locus is for
 * stands at X(R) when the body turns about its origin where it is, and has to move by the shortest
 * way to the locus, |dp| = |X - Y|. What is left is a search over the rotational factor:
 *
 *   - none, where turning does not change that distance: the nearest rotation is the answer;
 *   - one angle, where X runs on a circle: axis sets, and free rotations whose locus is alike
 *     around one direction (plane, sphere, point), which turn towards it and no other way. Samples
 *     bracket every minimum, the derivative's root is found in each bracket;
 *   - two or three angles else: Levenberg's method from a spread of starts, the best of them taken.
 *
 * The gradient of |X - Y|^2 is 2 (X - Y), whatever the locus.
 */
#include "rt/base/small.h"
#include "rt/geom/locus.h"

typedef struct search {
    const gw_submanifold *set;
    const gw_pose *near;
    double length;
} search;

typedef struct candidate {
    gw_pose pose;
    double f; /* |dp|^2 + (L theta)^2 */
} candidate;

/* X(R), in the frame of the locus. */
static gw_vec3 point_at(const search *s, gw_quat q)
{
    const gw_translation_set *t = &s->set->translation;
    return t->in_mobile ? gw_unrotate(q, gw_sub(t->of, s->near->p))
                        : gw_add(s->near->p, gw_rotate(q, t->of));
}

/* The best pose with rotation q, and its f. */
static candidate best_with(const search *s, gw_quat q)
{
    const gw_translation_set *t = &s->set->translation;
    gw_vec3 x = point_at(s, q), y = gw_locus_nearest(&t->locus, x);
    gw_vec3 move = gw_sub(y, x);
    candidate c;
    c.pose.q = q;
    /* exact on the locus: from Y, not by adding the move */
    c.pose.p = t->in_mobile ? gw_sub(t->of, gw_rotate(q, y)) : gw_sub(y, gw_rotate(q, t->of));
    double turn = s->length * gw_quat_angle(q, s->near->q);
    c.f = gw_norm2(move) + turn * turn;
    return c;
}

/* The rotation of the factor nearest to q. */
static gw_quat nearest_rotation(const gw_rotation_set *r, gw_quat q)
{
    if (r->kind == GW_ROTATION_FREE)
        return q;
    if (r->kind == GW_ROTATION_ANGLE) {
        /* turn y = R u about axis x y until its angle with the axis is right */
        gw_vec3 y = gw_rotate(q, r->axis_body), across = gw_cross(r->axis, y);
        double sine = gw_norm(across);
        gw_vec3 about = sine > 1e-12 ? gw_scale(1 / sine, across) : gw_any_normal(r->axis);
        double now = atan2(sine, gw_dot(r->axis, y));
        return gw_quat_unit(gw_quat_mul(gw_quat_axis(about, r->angle - now), q));
    }
    if (r->kind == GW_ROTATION_AXIS) {
        /* half angle of the turn about the axis that is contained in q R0^T */
        gw_quat d = gw_quat_mul(q, gw_quat_conj(r->zero));
        double along = d.x * r->axis.x + d.y * r->axis.y + d.z * r->axis.z;
        double n = hypot(along, d.w);
        if (n < 1e-12)
            return r->zero;
        gw_quat turn = {d.w / n, along / n * r->axis.x, along / n * r->axis.y,
                        along / n * r->axis.z};
        return gw_quat_mul(turn, r->zero);
    }
    return r->zero;
}

/* ---- one angle ----------------------------------------------------------------------------- */

#define SAMPLES 16

static const double cosines[SAMPLES] = {
    1, 0.92387953251128674, 0.70710678118654752, 0.38268343236508977,
    0, -0.38268343236508977, -0.70710678118654752, -0.92387953251128674,
    -1, -0.92387953251128674, -0.70710678118654752, -0.38268343236508977,
    0, 0.38268343236508977, 0.70710678118654752, 0.92387953251128674};

/* X(psi) = c + cos psi a + sin psi b, while the body turns by psi about an axis from the nearest
 * rotation, whose half angle has the cosine c0: cos(theta/2) = c0 cos(psi/2). */
typedef struct ring {
    gw_vec3 c, a, b;
    double c0, length;
    const gw_locus *locus;
} ring;

/* f and f' at an angle given with its cosine and sine. */
static double ring_value(const ring *r, double psi, double cosine, double sine, double *slope)
{
    gw_vec3 x = gw_mul_add(gw_mul_add(r->c, cosine, r->a), sine, r->b);
    gw_vec3 dx = gw_mul_add(gw_scale(cosine, r->b), -sine, r->a);
    gw_vec3 d = gw_sub(x, gw_locus_nearest(r->locus, x));
    double theta = psi, theta_slope = psi; /* theta theta' */
    if (r->c0 < 1) {
        double half = r->c0 * cos(0.5 * psi), s = sqrt(fmax(0, 1 - half * half));
        theta = 2 * atan2(s, half);
        theta_slope = s > 1e-9 ? theta * r->c0 * sin(0.5 * psi) / s : psi;
    }
    double ll = r->length * r->length;
    *slope = 2 * gw_dot(d, dx) + 2 * ll * theta_slope;
    return gw_norm2(d) + ll * theta * theta;
}

/* Root of f' between two angles where it changes sign from - to +: Illinois' regula falsi. */
static double ring_minimum(const ring *r, double low, double high, double slope_low,
                           double slope_high)
{
    double psi = low;
    int side = 0;
    for (int i = 0; i < 60 && high - low > 1e-15; i++) {
        double slope;
        psi = i % 8 == 7 ? 0.5 * (low + high)
                         : (slope_high * low - slope_low * high) / (slope_high - slope_low);
        ring_value(r, psi, cos(psi), sin(psi), &slope);
        if (slope == 0)
            break;
        double last = slope > 0 ? high : low;
        if (slope > 0) {
            high = psi, slope_high = slope;
            slope_low *= side > 0 ? 0.5 : 1;
            side = 1;
        } else {
            low = psi, slope_low = slope;
            slope_high *= side < 0 ? 0.5 : 1;
            side = -1;
        }
        if (fabs(last - psi) < 1e-14)
            break;
    }
    return psi;
}

/* The angle of the smallest f over the ring. */
static double ring_search(const ring *r)
{
    double f[SAMPLES], slope[SAMPLES];
    int least = 0;
    const double step = 2 * GW_PI / SAMPLES;
    for (int i = 0; i < SAMPLES; i++) {
        double psi = step * (i <= SAMPLES / 2 ? i : i - SAMPLES);
        f[i] = ring_value(r, psi, cosines[i], cosines[(i + SAMPLES - SAMPLES / 4) % SAMPLES],
                          &slope[i]);
        if (f[i] < f[least])
            least = i;
    }
    double best = step * (least <= SAMPLES / 2 ? least : least - SAMPLES), best_f = f[least];
    for (int i = -SAMPLES / 2; i < SAMPLES / 2; i++) {
        /* a minimum lies between samples i and i + 1 where the slope turns from - to + */
        int j = (i + SAMPLES) % SAMPLES, k = (i + 1 + SAMPLES) % SAMPLES;
        double left = slope[j];
        if (i == -SAMPLES / 2) /* sample SAMPLES / 2 is psi = pi: at -pi theta theta' = -pi c0 */
            left -= 4 * GW_PI * r->c0 * r->length * r->length;
        if (!(left < 0 && slope[k] > 0))
            continue;
        double ignored, psi = ring_minimum(r, step * i, step * (i + 1), left, slope[k]);
        double value = ring_value(r, psi, cos(psi), sin(psi), &ignored);
        if (value < best_f)
            best = psi, best_f = value;
    }
    return best;
}

/* Searches q(psi) = R(axis, psi) q1. */
static candidate along_ring(const search *s, gw_vec3 axis, gw_quat q1)
{
    const gw_translation_set *t = &s->set->translation;
    ring r = {.length = s->length, .locus = &t->locus};
    gw_vec3 arm = t->in_mobile ? gw_sub(t->of, s->near->p) : gw_rotate(q1, t->of);
    gw_vec3 along = gw_scale(gw_dot(arm, axis), axis), out = gw_sub(arm, along);
    gw_vec3 side = gw_cross(axis, out);
    if (t->in_mobile) { /* X = R1^T R(axis, -psi) arm */
        r.c = gw_unrotate(q1, along);
        r.a = gw_unrotate(q1, out);
        r.b = gw_neg(gw_unrotate(q1, side));
    } else {
        r.c = gw_add(s->near->p, along);
        r.a = out;
        r.b = side;
    }
    double c0 = fabs(gw_quat_dot(q1, s->near->q));
    r.c0 = c0 > 1 - 1e-15 ? 1 : c0;
    return best_with(s, gw_quat_unit(gw_quat_mul(gw_quat_axis(axis, ring_search(&r)), q1)));
}

/* ---- more angles --------------------------------------------------------------------------- */

/* World axes that the factor may turn about at q. */
static int turns_at(const gw_rotation_set *r, gw_quat q, gw_vec3 out[3])
{
    if (r->kind == GW_ROTATION_ANGLE) {
        out[0] = r->axis;
        out[1] = gw_rotate(q, r->axis_body);
        return 2;
    }
    out[0] = gw_v3(1, 0, 0), out[1] = gw_v3(0, 1, 0), out[2] = gw_v3(0, 0, 1);
    return 3;
}

static gw_quat turned(const gw_rotation_set *r, gw_quat q, const double *by)
{
    if (r->kind == GW_ROTATION_ANGLE)
        return gw_quat_unit(gw_quat_mul(gw_quat_mul(gw_quat_axis(r->axis, by[0]), q),
                                        gw_quat_axis(r->axis_body, by[1])));
    return gw_quat_unit(gw_quat_mul(gw_quat_exp(gw_v3(by[0], by[1], by[2])), q));
}

/*
 * Half gradient and Gauss-Newton matrix of f along the turns: with d = X - Y in world axes, the
 * arm r from the body's origin to the point, and k_i the turns,
 *   f'_i / 2 = k_i . (r x d) + L^2 k_i . log,   f''_ij / 2 ~ (k_i x r)_N . (k_j x r)_N + L^2 k_i . k_j
 * N leaving out the locus's tangent. For a locus of the body d changes its sign.
 */
static int normal_equations(const search *s, gw_quat q, double g[3], double m[3][3])
{
    const gw_translation_set *t = &s->set->translation;
    gw_vec3 k[3], slides[3], swing[3];
    int n = turns_at(&s->set->rotation, q, k);
    gw_vec3 x = point_at(s, q), y = gw_locus_nearest(&t->locus, x), d = gw_sub(x, y);
    gw_vec3 arm = t->in_mobile ? gw_sub(t->of, s->near->p) : gw_rotate(q, t->of);
    int tangents = gw_locus_tangent(&t->locus, y, slides);
    if (t->in_mobile)
        d = gw_neg(gw_rotate(q, d));
    gw_vec3 turn = gw_quat_log(gw_quat_mul(q, gw_quat_conj(s->near->q)));
    double ll = s->length * s->length;
    for (int i = 0; i < n; i++) {
        swing[i] = gw_cross(k[i], arm);
        g[i] = gw_dot(swing[i], d) + ll * gw_dot(k[i], turn);
        for (int j = 0; j < tangents; j++)
            swing[i] = gw_reject(swing[i], t->in_mobile ? gw_rotate(q, slides[j]) : slides[j]);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            m[i][j] = gw_dot(swing[i], swing[j]) + ll * gw_dot(k[i], k[j]);
    return n;
}

/* Solves the n x n system by elimination, n <= 3, the diagonal raised by `damping` times its
 * largest entry. */
static void solve3(int n, double m[3][3], double damping, const double *g, double *x)
{
    double a[3][4], most = 0;
    for (int i = 0; i < n; i++)
        most = fmax(most, fabs(m[i][i]));
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++)
            a[i][j] = m[i][j] + (i == j ? damping * most : 0);
        a[i][n] = g[i];
    }
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++) {
            double c = a[i][i] != 0 ? a[k][i] / a[i][i] : 0;
            for (int j = i; j <= n; j++)
                a[k][j] -= c * a[i][j];
        }
    for (int i = n - 1; i >= 0; i--) {
        double sum = a[i][n];
        for (int j = i + 1; j < n; j++)
            sum -= a[i][j] * x[j];
        x[i] = a[i][i] != 0 ? sum / a[i][i] : 0;
    }
}

/* The whole second derivative, by central differences of the gradient: it carries the curvature
 * that the Gauss-Newton matrix leaves out, and with it the last digits. */
static int curvature(const search *s, gw_quat q, double g[3], double m[3][3])
{
    const double h = 1e-5;
    double ignored[3][3], plus[3], minus[3];
    int n = normal_equations(s, q, g, ignored);
    for (int i = 0; i < n; i++) {
        double by[3] = {0, 0, 0};
        by[i] = h;
        normal_equations(s, turned(&s->set->rotation, q, by), plus, ignored);
        by[i] = -h;
        normal_equations(s, turned(&s->set->rotation, q, by), minus, ignored);
        for (int j = 0; j < n; j++)
            m[i][j] = (plus[j] - minus[j]) / (2 * h);
    }
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            m[i][j] = m[j][i] = 0.5 * (m[i][j] + m[j][i]);
    return n;
}

/* Levenberg's method with either matrix. */
static candidate descend_by(const search *s, candidate from, int steps,
                            int (*matrix)(const search *, gw_quat, double[3], double[3][3]))
{
    double damping = 1e-6;
    for (int i = 0; i < steps; i++) {
        double g[3], m[3][3], step[3] = {0, 0, 0};
        int n = matrix(s, from.pose.q, g, m);
        candidate next = from;
        for (int tries = 0; tries < 14 && !(next.f < from.f); tries++) {
            solve3(n, m, damping, g, step);
            for (int j = 0; j < n; j++)
                step[j] = -step[j];
            next = best_with(s, turned(&s->set->rotation, from.pose.q, step));
            damping *= next.f < from.f ? 0.1 : 5;
        }
        if (!(next.f < from.f))
            break;
        bool small = from.f - next.f < 1e-15 * from.f;
        from = next;
        damping = fmax(damping, 1e-12);
        if (small)
            break;
    }
    return from;
}

static candidate descend(const search *s, candidate from)
{
    from = descend_by(s, from, 12, normal_equations);
    return descend_by(s, from, 20, curvature);
}

#define STARTS 5

/* Keeps the STARTS best, best first. */
static int keep_best(candidate *list, int count, const candidate *c)
{
    int at = count < STARTS ? count : STARTS;
    if (at == STARTS && c->f >= list[STARTS - 1].f)
        return count;
    if (at == STARTS)
        at = STARTS - 1;
    while (at > 0 && list[at - 1].f > c->f) {
        list[at] = list[at - 1];
        at--;
    }
    list[at] = *c;
    return count < STARTS ? count + 1 : STARTS;
}

/* Turns of a spread: azimuth a and size b of 12 x 6 for two angles normal to the arm, or 12 x 12. */
static gw_quat spread_start(const search *s, gw_quat q1, gw_vec3 e1, gw_vec3 e2, int i)
{
    double a = 2 * GW_PI * (i % 12) / 12;
    if (s->set->rotation.kind == GW_ROTATION_ANGLE) {
        double by[2] = {a, 2 * GW_PI * (i / 12) / 12};
        return turned(&s->set->rotation, q1, by);
    }
    double b = GW_PI * (i / 12 + 1) / 6.0;
    gw_vec3 v = gw_add(gw_scale(b * cos(a), e1), gw_scale(b * sin(a), e2));
    return gw_quat_mul(gw_quat_exp(v), q1);
}

/*
 * Where the locus is convex and the arm r short, f is convex along every turn that could beat the
 * first minimum (theta <= sqrt(f) / L), and no other start is needed: |X - Y| r < L^2 there.
 */
static bool one_minimum(const search *s, const candidate *found, double r)
{
    gw_locus_kind kind = s->set->translation.locus.kind;
    if (kind != GW_LOCUS_LINE && kind != GW_LOCUS_PLANE && kind != GW_LOCUS_POINT)
        return false;
    if (s->set->rotation.kind != GW_ROTATION_FREE)
        return false;
    gw_quat q = s->near->q;
    gw_vec3 x = point_at(s, q);
    double gap = gw_distance(x, gw_locus_nearest(&s->set->translation.locus, x));
    double reach = sqrt(found->f) / s->length;
    return reach < 1.5 && (gap + r * reach) * r < s->length * s->length;
}

static candidate over_turns(const search *s, gw_quat q1, const candidate *first)
{
    const gw_translation_set *t = &s->set->translation;
    gw_vec3 arm = t->in_mobile ? gw_sub(t->of, s->near->p) : gw_rotate(q1, t->of);
    candidate best = descend(s, *first), list[STARTS];
    if (one_minimum(s, &best, gw_norm(arm)))
        return best;
    gw_vec3 u = gw_unit(arm), e1 = gw_any_normal(u), e2 = gw_cross(u, e1);
    int count = 0, spread = s->set->rotation.kind == GW_ROTATION_ANGLE ? 144 : 72;
    for (int i = 0; i < spread; i++) {
        candidate c = best_with(s, spread_start(s, q1, e1, e2, i));
        count = keep_best(list, count, &c);
    }
    for (int i = 0; i < count; i++) {
        candidate c = descend(s, list[i]);
        if (c.f < best.f)
            best = c;
    }
    return best;
}

/* ---- which search -------------------------------------------------------------------------- */

/* True where turning within the factor does not change |X - Y|. */
static bool decoupled(const search *s)
{
    const gw_rotation_set *r = &s->set->rotation;
    const gw_translation_set *t = &s->set->translation;
    if (t->locus.kind == GW_LOCUS_FREE || r->kind == GW_ROTATION_FIXED)
        return true;
    gw_vec3 arm = t->in_mobile ? gw_sub(t->of, s->near->p) : t->of;
    double small = 1e-14 * (gw_norm(arm) + s->length);
    if (gw_norm(arm) <= small)
        return true;
    if (r->kind != GW_ROTATION_AXIS)
        return false;
    gw_vec3 axis = t->in_mobile ? r->axis : r->axis_body;
    if (gw_norm(gw_reject(arm, axis)) <= small)
        return true;
    gw_vec3 normal_axis = t->in_mobile ? r->axis_body : r->axis;
    return t->locus.kind == GW_LOCUS_PLANE &&
           gw_norm(gw_cross(t->locus.e3, normal_axis)) < 1e-14;
}

/* A free rotation about a locus that is alike around one direction: the axis to turn about. */
static bool turning_axis(const search *s, gw_vec3 *axis)
{
    const gw_translation_set *t = &s->set->translation;
    gw_locus_kind kind = t->locus.kind;
    if (kind != GW_LOCUS_PLANE && kind != GW_LOCUS_SPHERE && kind != GW_LOCUS_POINT)
        return false;
    gw_quat q = s->near->q;
    gw_vec3 pivot = t->in_mobile ? gw_v3(0, 0, 0) : s->near->p;
    gw_vec3 arm = gw_sub(point_at(s, q), pivot);
    gw_vec3 c = kind == GW_LOCUS_PLANE ? t->locus.e3 : gw_sub(t->locus.origin, pivot);
    gw_vec3 k = gw_cross(arm, c);
    double small = 1e-12 * gw_norm(arm) * gw_norm(c);
    gw_vec3 about = gw_norm(k) > small ? gw_unit(k) : gw_any_normal(gw_unit(arm));
    *axis = t->in_mobile ? gw_neg(gw_rotate(q, about)) : about;
    return true;
}

static candidate closed_nearest(const search *s)
{
    gw_quat q1 = nearest_rotation(&s->set->rotation, s->near->q);
    candidate first = best_with(s, q1);
    if (decoupled(s))
        return first;
    double turn = s->length * gw_quat_angle(q1, s->near->q);
    if (first.f <= turn * turn)
        return first; /* neither part can be smaller */
    gw_vec3 axis = s->set->rotation.axis;
    candidate c;
    if (s->set->rotation.kind == GW_ROTATION_AXIS)
        c = along_ring(s, axis, q1);
    else if (s->set->rotation.kind == GW_ROTATION_FREE && turning_axis(s, &axis))
        c = along_ring(s, axis, q1);
    else
        c = over_turns(s, q1, &first);
    return c.f < first.f ? c : first;
}

/* ---- general sets -------------------------------------------------------------------------- */

/* From a pose on the set: steps along the tangent space towards `near`, back onto the rows each
 * time, the step halved until it helps. */
static double approach(const gw_submanifold *set, const gw_pose *near, double length, gw_pose *x)
{
    double best = gw_pose_distance(x, near, length), share = 1;
    for (int i = 0; i < 400 && share > 1e-7; i++) {
        double basis[6][6], step[6] = {0};
        gw_submanifold_tangent(set, x, length, basis);
        gw_twist d = gw_pose_sub(near, x);
        double l2 = length * length;
        double delta[6] = {d.v.x, d.v.y, d.v.z, l2 * d.w.x, l2 * d.w.y, l2 * d.w.z};
        for (int k = 0; k < set->dof; k++) {
            double c = 0;
            for (int j = 0; j < 6; j++)
                c += basis[k][j] * delta[j];
            for (int j = 0; j < 6; j++)
                step[j] += share * c * basis[k][j];
        }
        gw_twist move = {{step[0], step[1], step[2]}, {step[3], step[4], step[5]}};
        gw_pose next = gw_pose_add(x, &move);
        double residual = gw_rows_project(set->rows, set->row_count, length, 12, &next);
        double now = gw_pose_distance(&next, near, length);
        if (residual < 1e-9 * length && now < best && gw_submanifold_same_sense(set, &next)) {
            bool small = best - now < 1e-14 * best;
            *x = next;
            best = now;
            share = fmin(1, 2 * share);
            if (small)
                break;
        } else {
            share *= 0.5;
        }
    }
    return best;
}

static double general_nearest(const gw_submanifold *set, const gw_pose *near, double length,
                              gw_pose *nearest)
{
    gw_pose a = set->seed, b = *near;
    double from_seed = approach(set, near, length, &a), from_near = HUGE_VAL;
    if (gw_rows_project(set->rows, set->row_count, length, 40, &b) < 1e-10 * length &&
        gw_submanifold_same_sense(set, &b))
        from_near = approach(set, near, length, &b);
    *nearest = from_near < from_seed ? b : a;
    return fmin(from_near, from_seed);
}

double gw_submanifold_nearest(const gw_submanifold *set, const gw_pose *near, double length,
                              gw_pose *nearest)
{
    if (set->general)
        return general_nearest(set, near, length, nearest);
    search s = {set, near, length};
    candidate c = closed_nearest(&s);
    *nearest = c.pose;
    return sqrt(c.f);
}
