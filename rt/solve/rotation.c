/*
 * Combination rules of vector-vector angles, and the rotations that three of them leave (stated in
 * README.md). Any thread, RT safe.
 *
 * u_1, u_2 on the body, sigma_a apart; f_1, f_2 in the world, sigma_b apart; alpha and beta between
 * R u_i and f_i: the sides of a spherical quadrilateral.
 */
#include "rt/solve/solve_internal.h"

#include <complex.h>

#include "rt/base/small.h"

#define SAME_ANGLE GW_SNAP

static bool same_angle(double a, double b)
{
    return fabs(a - b) <= SAME_ANGLE;
}

/* R with R u1 = f1 and R u2 in the half plane of f1, f2. */
static gw_quat pairs_to_pairs(gw_vec3 u1, gw_vec3 u2, gw_vec3 f1, gw_vec3 f2)
{
    gw_vec3 uz = gw_unit(gw_cross(u1, u2)), fz = gw_unit(gw_cross(f1, f2));
    gw_quat from_u = gw_quat_from_axes(u1, gw_cross(uz, u1), uz);
    gw_quat from_f = gw_quat_from_axes(f1, gw_cross(fz, f1), fz);
    return gw_quat_mul(from_f, gw_quat_conj(from_u));
}

/*
 * Unit vectors y with y . a = cos alpha, y . b = cos beta, c = a . b, s^2 = 1 - c^2:
 * y = A a + B b +- C a x b, A = (cos alpha - c cos beta) / s^2, B alike,
 * C^2 = (1 - A^2 - B^2 - 2 A B c) / s^2. Returns how many (two, or one where they touch).
 */
static int two_cones(gw_vec3 a, double alpha, gw_vec3 b, double beta, gw_vec3 out[2])
{
    gw_vec3 across = gw_cross(a, b);
    double c = gw_dot(a, b), ss = gw_norm2(across), sigma = atan2(sqrt(ss), c);
    double ca = cos(alpha), cb = cos(beta);
    double ka = (ca - c * cb) / ss, kb = (cb - c * ca) / ss;
    bool touch = same_angle(sigma, alpha + beta) || same_angle(sigma, fabs(alpha - beta)) ||
                 same_angle(sigma + alpha + beta, 2 * GW_PI);
    double cc = (1 - ka * ka - kb * kb - 2 * ka * kb * c) / ss;
    double k = touch ? 0 : sqrt(fmax(0, cc));
    gw_vec3 middle = gw_add(gw_scale(ka, a), gw_scale(kb, b));
    out[0] = gw_unit(gw_mul_add(middle, k, across));
    out[1] = gw_unit(gw_mul_add(middle, -k, across));
    return k > 0 ? 2 : 1;
}

static void put_direction(gw_edit *e, gw_vec3 u, gw_vec3 f, double angle, unsigned long from)
{
    e->directions[e->direction_count++] = gw_direction_of(u, f, angle, from);
}

static void put_rotation(gw_run *run, const char *rule, gw_quat rotation)
{
    gw_edit *e = gw_option(run, rule);
    e->fix = true;
    e->rotation = gw_quat_unit(rotation);
}

/* Every side at most the sum of the other three, and any three less the fourth at most 2 pi. */
static double quadrilateral_excess(double alpha, double beta, double sigma_a, double sigma_b)
{
    double side[4] = {alpha, beta, sigma_a, sigma_b}, worst = -HUGE_VAL;
    double sum = alpha + beta + sigma_a + sigma_b;
    for (int i = 0; i < 4; i++) {
        worst = fmax(worst, 2 * side[i] - sum);
        worst = fmax(worst, sum - 2 * side[i] - 2 * GW_PI);
    }
    return worst;
}

static void clash(gw_run *run, unsigned long from, double alpha, double beta, double sigma_a,
                  double sigma_b)
{
    gw_clash(run, from,
             "each of alpha, beta, sigma_a, sigma_b <= the sum of the other three, and the sum of "
             "any three - the fourth <= 2 pi",
             "Two angles cannot hold together: no orientation of the object gives both.");
    gw_clash_value(run, "alpha", alpha);
    gw_clash_value(run, "beta", beta);
    gw_clash_value(run, "sigma_a", sigma_a);
    gw_clash_value(run, "sigma_b", sigma_b);
}

/* An equality holds: the four vectors lie in one plane, and the signs there are found by trial. */
static void in_one_plane(gw_run *run, const gw_direction *x, const gw_direction *y, double sigma_a)
{
    gw_vec3 n = gw_unit(gw_cross(x->f, y->f));
    double best = HUGE_VAL;
    gw_vec3 best1 = x->f, best2 = y->f;
    for (int i = 0; i < 4; i++) {
        gw_vec3 y1 = gw_rotate(gw_quat_axis(n, i & 1 ? x->angle : -x->angle), x->f);
        gw_vec3 y2 = gw_rotate(gw_quat_axis(n, i & 2 ? y->angle : -y->angle), y->f);
        double off = fabs(gw_angle_between(y1, y2) - sigma_a);
        if (off < best)
            best = off, best1 = y1, best2 = y2;
    }
    if (best < 8 * SAME_ANGLE)
        put_rotation(run, "two angles at their limit: one rotation",
                     pairs_to_pairs(x->u, y->u, best1, best2));
}

/* y turned so that parallel vectors point the same way. */
static gw_direction aligned(const gw_direction *x, const gw_direction *y)
{
    gw_direction z = *y;
    if (gw_dot(x->u, z.u) < 0 && gw_norm(gw_cross(x->u, z.u)) <= SAME_ANGLE) {
        z.u = gw_neg(z.u);
        z.angle = GW_PI - z.angle;
    }
    if (gw_dot(x->f, z.f) < 0 && gw_norm(gw_cross(x->f, z.f)) <= SAME_ANGLE) {
        z.f = gw_neg(z.f);
        z.angle = GW_PI - z.angle;
    }
    return z;
}

/* One vector on the body: R u is on two cones; or one in the world, its mirror. */
static void shared_vector(gw_run *run, const gw_direction *x, const gw_direction *y, bool on_body)
{
    unsigned long from = x->from | y->from;
    gw_vec3 on[2];
    int n = on_body ? two_cones(x->f, x->angle, y->f, y->angle, on)
                    : two_cones(x->u, x->angle, y->u, y->angle, on);
    for (int i = 0; i < n; i++) {
        gw_edit *e = gw_option(run, "two angles that share a vector: parallel");
        if (on_body)
            put_direction(e, x->u, on[i], 0, from);
        else
            put_direction(e, on[i], x->f, 0, from);
    }
}

/* x pinned: R u_2 is at sigma_a from f_1 and at beta from f_2. */
static void pinned_and_angle(gw_run *run, const gw_direction *x, const gw_direction *y,
                             double sigma_a)
{
    gw_vec3 on[2];
    int n = 1;
    on[0] = y->f;
    if (y->angle > 0)
        n = two_cones(x->f, sigma_a, y->f, y->angle, on);
    for (int i = 0; i < n; i++)
        put_rotation(run, "a parallel and an angle: the rotation",
                     pairs_to_pairs(x->u, y->u, x->f, on[i]));
}

void gw_rule_directions(gw_run *run, const gw_direction *x, const gw_direction *given)
{
    gw_direction turned = aligned(x, given);
    const gw_direction *y = &turned;
    double sigma_a = gw_angle_between(x->u, y->u), sigma_b = gw_angle_between(x->f, y->f);
    bool one_u = sigma_a <= SAME_ANGLE, one_f = sigma_b <= SAME_ANGLE;
    double excess = quadrilateral_excess(x->angle, y->angle, sigma_a, sigma_b);
    if (excess > SAME_ANGLE) {
        clash(run, x->from | y->from, x->angle, y->angle, sigma_a, sigma_b);
    } else if (one_u && one_f) {
        gw_edit *e = gw_option(run, "the same angle twice");
        e->directions[e->direction_count++] = *x;
    } else if (x->angle <= SAME_ANGLE && (one_u || one_f)) {
        gw_edit *e = gw_option(run, "an angle that a parallel implies");
        e->directions[e->direction_count++] = *x;
    } else if (y->angle <= SAME_ANGLE && (one_u || one_f)) {
        gw_edit *e = gw_option(run, "an angle that a parallel implies");
        e->directions[e->direction_count++] = *given;
    } else if (x->angle <= SAME_ANGLE) {
        pinned_and_angle(run, x, y, sigma_a);
    } else if (y->angle <= SAME_ANGLE) {
        pinned_and_angle(run, y, x, sigma_a);
    } else if (one_u || one_f) {
        shared_vector(run, x, y, one_u);
    } else if (excess >= -SAME_ANGLE) {
        in_one_plane(run, x, y, sigma_a);
    }
}

void gw_rule_fixed_direction(gw_run *run, const gw_state *state, const gw_direction *x)
{
    double angle = gw_angle_between(gw_rotate(state->rotation, x->u), x->f);
    if (fabs(angle - x->angle) <= 5 * SAME_ANGLE) {
        gw_option(run, "the rotation gives the angle");
        return;
    }
    gw_clash(run, x->from | state->fixed_from, "angle = alpha",
             "The orientation that other constraints give contradicts an angle.");
    gw_clash_value(run, "angle", angle);
    gw_clash_value(run, "alpha", x->angle);
}

/* ---- three angles ------------------------------------------------------------------------------
 */

/*
 * R = R(f_1, phi) R0 R(u_1, theta). The other two angles are linear in cos theta, sin theta:
 *   a_i + b_i cos theta + c_i sin theta = 0, with a, b, c linear in cos phi, sin phi.
 * Eliminating theta: N_c^2 + N_s^2 - D^2 = 0, D = b_2 c_3 - b_3 c_2, N_c = c_2 a_3 - c_3 a_2,
 * N_s = b_3 a_2 - b_2 a_3: a trigonometric polynomial of degree four, that is one of degree eight
 * in exp(i phi).
 */
#define MAX_POLISHED 16 /* angles that refine a root together */

typedef struct triple {
    const gw_state *state;
    const gw_direction *d[3];
    gw_quat zero; /* R0 */
} triple;

typedef struct pencil {
    double a, b, c;
} pencil;

static pencil pencil_at(const triple *t, int i, double phi)
{
    gw_vec3 u1 = t->d[0]->u, v = t->d[i]->u;
    gw_quat turn = gw_quat_mul(gw_quat_axis(t->d[0]->f, phi), t->zero);
    gw_vec3 g = gw_unrotate(turn, t->d[i]->f), out = gw_reject(v, u1);
    return (pencil){gw_dot(g, u1) * gw_dot(u1, v) - t->d[i]->cosine, gw_dot(g, out),
                    gw_dot(g, gw_cross(u1, out))};
}

static double resultant(const triple *t, double phi)
{
    pencil x = pencil_at(t, 1, phi), y = pencil_at(t, 2, phi);
    double d = x.b * y.c - y.b * x.c, nc = x.c * y.a - y.c * x.a, ns = y.b * x.a - x.b * y.a;
    return nc * nc + ns * ns - d * d;
}

#define DEGREE 8
#define DFT    16

/* Coefficients of z^8 ... z^0 out of samples; false where the polynomial vanishes. */
static bool coefficients(const triple *t, double complex c[DEGREE + 1])
{
    double sample[DFT], most = 0;
    for (int k = 0; k < DFT; k++)
        sample[k] = resultant(t, 2 * GW_PI * k / DFT);
    for (int n = 0; n <= DEGREE; n++) {
        c[n] = 0;
        for (int k = 0; k < DFT; k++)
            c[n] += sample[k] * cexp(-2 * GW_PI * I * k * (n - 4) / DFT) / DFT;
        most = fmax(most, cabs(c[n]));
    }
    return most > 1e-12;
}

/* All roots at once (Weierstrass' iteration), lowest coefficient first; returns their number. */
static int all_roots(const double complex *c, double complex z[DEGREE])
{
    int n = DEGREE, low = 0;
    double most = 0;
    for (int i = 0; i <= DEGREE; i++)
        most = fmax(most, cabs(c[i]));
    while (n > 0 && cabs(c[n]) < 1e-13 * most)
        n--;
    while (low < n && cabs(c[low]) < 1e-13 * most)
        low++;
    int degree = n - low;
    for (int i = 0; i < degree; i++)
        z[i] = cpow(0.4 + 0.9 * I, i) * 1.03;
    for (int iteration = 0; iteration < 400; iteration++) {
        double moved = 0;
        for (int i = 0; i < degree; i++) {
            double complex value = c[n], others = c[n];
            for (int k = n - 1; k >= low; k--)
                value = value * z[i] + c[k];
            for (int k = 0; k < degree; k++)
                others *= k == i ? 1 : z[i] - z[k];
            double complex step = others != 0 ? value / others : 1e-8;
            z[i] -= step;
            moved = fmax(moved, cabs(step) / (1 + cabs(z[i])));
        }
        if (moved < 1e-15)
            break;
    }
    return degree;
}

/* Newton's method on `count` angles, at most MAX_POLISHED; the residual afterwards. Rough: where
 * their surfaces nearly touch. */
static double polish(const gw_direction *const *d, int count, gw_quat *q, bool *rough)
{
    double worst = HUGE_VAL;
    for (int k = 0; k < 60; k++) {
        double a[MAX_POLISHED][6] = {{0}}, h[MAX_POLISHED], s[6], v[6][6], step[6], now = 0;
        for (int i = 0; i < count; i++) {
            gw_vec3 y = gw_rotate(*q, d[i]->u), g = gw_cross(y, d[i]->f);
            h[i] = gw_dot(y, d[i]->f) - d[i]->cosine;
            a[i][0] = g.x, a[i][1] = g.y, a[i][2] = g.z;
            now = fmax(now, fabs(h[i]));
        }
        if (!(now < worst) && now < 1e-13)
            break;
        worst = now;
        gw_small_svd(count, a, s, v);
        *rough = s[2] < 1e-4 * s[0];
        gw_small_solve(count, (const double(*)[6])a, s, (const double(*)[6])v,
                       gw_small_rank(s, 1e-10), h, step);
        gw_vec3 turn = gw_v3(-step[0], -step[1], -step[2]);
        double size = gw_norm(turn);
        *q = gw_quat_unit(
            gw_quat_mul(gw_quat_exp(size > 0.5 ? gw_scale(0.5 / size, turn) : turn), *q));
    }
    return worst;
}

/* Where there are more angles than three they make a nearly double root a sharp one. */
static void polish_all(const gw_state *state, gw_quat *q, bool *rough)
{
    const gw_direction *all[MAX_POLISHED];
    int count = state->direction_count < MAX_POLISHED ? state->direction_count : MAX_POLISHED;
    for (int i = 0; i < count; i++)
        all[i] = &state->directions[i];
    gw_quat better = *q;
    bool still_rough = true;
    if (count > 3 && polish(all, count, &better, &still_rough) < 1e-12 &&
        gw_quat_angle(better, *q) < 1e-3) {
        *q = better;
        *rough = still_rough;
    }
}

static void try_rotation(gw_run *run, const triple *t, double phi, double theta)
{
    gw_quat q = gw_quat_mul(gw_quat_mul(gw_quat_axis(t->d[0]->f, phi), t->zero),
                            gw_quat_axis(t->d[0]->u, theta));
    bool rough = false;
    if (polish(t->d, 3, &q, &rough) > 1e-12 || run->finding.count == GW_MAX_OPTIONS)
        return;
    if (rough)
        polish_all(t->state, &q, &rough);
    for (int i = 0; i < run->finding.count; i++)
        if (gw_quat_angle(q, run->finding.edits[i].rotation) < (rough ? 1e-4 : 1e-6))
            return;
    put_rotation(run, "three angles: the rotations", q);
    run->finding.edits[run->finding.count - 1].rough = rough;
}

/* The thetas at a root: of both equations together, and of each alone where D vanishes. False
 * where both vanish for every theta: then the rotations are not finite in number. */
static bool try_thetas(gw_run *run, const triple *t, double phi)
{
    pencil x = pencil_at(t, 1, phi), y = pencil_at(t, 2, phi);
    double d = x.b * y.c - y.b * x.c;
    double nc = x.c * y.a - y.c * x.a, ns = y.b * x.a - x.b * y.a;
    if (hypot(hypot(x.a, x.b), x.c) < 1e-3 && hypot(hypot(y.a, y.b), y.c) < 1e-3)
        return false;
    if (fabs(d) > 1e-9)
        try_rotation(run, t, phi, atan2(ns / d, nc / d));
    for (int i = 0; i < 2 && fabs(d) < 1e-3; i++) {
        const pencil *p = i == 0 ? &x : &y;
        double r = hypot(p->b, p->c);
        if (r < 1e-12)
            continue;
        double middle = atan2(p->c, p->b), half = gw_acos(-p->a / r);
        try_rotation(run, t, phi, middle + half);
        try_rotation(run, t, phi, middle - half);
    }
    return true;
}

/* False where the three are not independent everywhere. */
static bool solve_triple(gw_run *run, const gw_state *state, const int pick[3])
{
    const gw_direction *all = state->directions, *x = &all[pick[0]];
    triple t = {state, {x, &all[pick[1]], &all[pick[2]]}, gw_quat_identity()};
    gw_vec3 w = gw_cross(x->u, x->f);
    double sine = gw_norm(w), sigma = atan2(sine, gw_dot(x->u, x->f));
    w = sine > 1e-12 ? gw_scale(1 / sine, w) : gw_any_normal(x->u);
    t.zero = gw_quat_axis(w, sigma - x->angle);
    double complex c[DEGREE + 1], roots[DEGREE];
    if (!coefficients(&t, c))
        return false;
    int n = all_roots(c, roots);
    run->finding.outcome = GW_NO_ROOT;
    for (int i = 0; i < n; i++)
        if (fabs(cabs(roots[i]) - 1) < 2e-2 && !try_thetas(run, &t, carg(roots[i]))) {
            run->finding.outcome = GW_KEEP;
            run->finding.count = 0;
            return false;
        }
    return true;
}

void gw_rule_three_directions(gw_run *run, const gw_state *state)
{
    int n = state->direction_count < MAX_POLISHED ? state->direction_count : MAX_POLISHED;
    for (int i = 0; i < n - 2; i++)
        for (int j = i + 1; j < n - 1; j++)
            for (int k = j + 1; k < n; k++)
                if (solve_triple(run, state, (int[3]){i, j, k}))
                    return;
}
