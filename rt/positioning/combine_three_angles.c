/*
 * The rotations that three angles leave (relational-positioning Table III, last row).
 * Any thread, RT safe.
 *
 * R = R(f_1, phi) R0 R(u_1, theta). The other two angles are linear in cos theta, sin theta:
 *   a_i + b_i cos theta + c_i sin theta = 0, with a, b, c linear in cos phi, sin phi.
 * Eliminating theta: N_c^2 + N_s^2 - D^2 = 0, D = b_2 c_3 - b_3 c_2, N_c = c_2 a_3 - c_3 a_2,
 * N_s = b_3 a_2 - b_2 a_3: a trigonometric polynomial of degree four, that is one of degree eight
 * in exp(i phi).
 */
#include "rt/base/small.h"
#include "rt/positioning/polynomial/polynomial.h"
#include "rt/positioning/solver.h"

#define MAX_POLISHED 16 /* angles that refine a root together */

typedef struct triple {
    const gw_solver_state *state;
    const gw_angle_constraint *d[3];
    gw_quat zero;                    /* R0 */
    int copies[GW_MAX_ALTERNATIVES]; /* of each root found, where nearly double */
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

static pencil linear_combination(double p, const pencil *x, double q, const pencil *y)
{
    return (pencil){p * x->a + q * y->a, p * x->b + q * y->b, p * x->c + q * y->c};
}

/* a, b, c of angle i as k + c cos phi + s sin phi. */
static void linear_pencil(const triple *t, int i, pencil part[3])
{
    pencil front = pencil_at(t, i, 0), side = pencil_at(t, i, GW_PI / 2),
           back = pencil_at(t, i, GW_PI);
    part[0] = linear_combination(0.5, &front, 0.5, &back);
    part[1] = linear_combination(0.5, &front, -0.5, &back);
    part[2] = linear_combination(1, &side, -1, &part[0]);
}

static pencil pencil_of(const pencil part[3], double cosine, double sine)
{
    pencil turned = linear_combination(cosine, &part[1], sine, &part[2]);
    return linear_combination(1, &part[0], 1, &turned);
}

static double resultant(const pencil *x, const pencil *y)
{
    double d = x->b * y->c - y->b * x->c, nc = x->c * y->a - y->c * x->a;
    double ns = y->b * x->a - x->b * y->a;
    return nc * nc + ns * ns - d * d;
}

/* The resultant at the sampled phi. */
static void sample_resultant(const triple *t, double sample[GW_TRIGONOMETRIC_SAMPLES])
{
    pencil first[3], second[3];
    linear_pencil(t, 1, first);
    linear_pencil(t, 2, second);
    for (int k = 0; k < GW_TRIGONOMETRIC_SAMPLES; k++) {
        double cosine = gw_trigonometric_cosine(k),
               sine = gw_trigonometric_cosine(k - GW_TRIGONOMETRIC_SAMPLES / 4);
        pencil x = pencil_of(first, cosine, sine), y = pencil_of(second, cosine, sine);
        sample[k] = resultant(&x, &y);
    }
}

/* The step of Newton's method on three angles far from a double root; false near one. */
static bool plain_step(const gw_vec3 g[3], const double h[3], gw_vec3 *step)
{
    gw_vec3 g12 = gw_cross(g[1], g[2]), g20 = gw_cross(g[2], g[0]), g01 = gw_cross(g[0], g[1]);
    double det = gw_dot(g[0], g12),
           most = fmax(gw_norm2(g[0]), fmax(gw_norm2(g[1]), gw_norm2(g[2])));
    if (!(det * det > 1e-6 * most * most * most))
        return false;
    gw_vec3 sum = gw_mul_add(gw_mul_add(gw_scale(h[0], g12), h[1], g20), h[2], g01);
    *step = gw_scale(1 / det, sum);
    return true;
}

/* The least-norm step for any number of angles; nearly double where their surfaces are nearly
 * tangent. */
static gw_vec3 least_step(const gw_vec3 *g, const double *h, int count, bool *nearly_double)
{
    double a[MAX_POLISHED][6] = {{0}}, s[6], v[6][6], step[6];
    for (int i = 0; i < count; i++)
        a[i][0] = g[i].x, a[i][1] = g[i].y, a[i][2] = g[i].z;
    gw_small_svd(count, a, s, v);
    *nearly_double = s[2] < 1e-4 * s[0];
    gw_small_solve(count, (const double(*)[6])a, s, (const double(*)[6])v, gw_small_rank(s, 1e-10),
                   h, step);
    return gw_v3(step[0], step[1], step[2]);
}

/* Newton's method on `count` angles, at most MAX_POLISHED; the residual afterwards. */
static double polish_rotation(const gw_angle_constraint *const *d, int count, gw_quat *q,
                              bool *nearly_double)
{
    double worst = HUGE_VAL;
    for (int k = 0; k < 60; k++) {
        double h[MAX_POLISHED], now = 0;
        gw_vec3 g[MAX_POLISHED], step;
        for (int i = 0; i < count; i++) {
            gw_vec3 y = gw_rotate(*q, d[i]->u);
            g[i] = gw_cross(y, d[i]->f);
            h[i] = gw_dot(y, d[i]->f) - d[i]->cosine;
            now = fmax(now, fabs(h[i]));
        }
        if (!(now < worst) && now < 1e-13)
            break;
        worst = now;
        *nearly_double = false;
        if (count != 3 || !plain_step(g, h, &step))
            step = least_step(g, h, count, nearly_double);
        double size = gw_norm(step);
        *q = gw_quat_unit(
            gw_quat_mul(gw_quat_exp(gw_scale(size > 0.5 ? -0.5 / size : -1, step)), *q));
    }
    return worst;
}

/* The turn that changes the three angles least. */
static gw_vec3 weakest_axis(const gw_angle_constraint *const d[3], gw_quat q)
{
    double a[3][6] = {{0}}, s[6], v[6][6];
    for (int i = 0; i < 3; i++) {
        gw_vec3 g = gw_cross(gw_rotate(q, d[i]->u), d[i]->f);
        a[i][0] = g.x, a[i][1] = g.y, a[i][2] = g.z;
    }
    gw_small_svd(3, a, s, v);
    return gw_v3(v[0][2], v[1][2], v[2][2]);
}

/*
 * A double root is where the three surfaces are tangent: besides h = 0 the Jacobian J has a null
 * vector v. Newton's method on h_i = 0, J_i . v = 0, |v| = 1 in the turn and v converges there.
 * With J_i = y x f, y = R u:  d(J_i . v) = ((y . v) f - (y . f) v) . turn + J_i . dv. True where
 * there is such a root, and no more than two fall together; where they only lie close there is
 * none.
 */
static bool refine_double_root(const gw_angle_constraint *const d[3], gw_vec3 v, gw_quat *q)
{
    gw_quat root = *q;
    for (int k = 0; k < 40; k++) {
        double a[7][6] = {{0}}, h[7], s[6], vectors[6][6], x[6], worst = 0;
        for (int i = 0; i < 3; i++) {
            gw_vec3 f = d[i]->f, y = gw_rotate(root, d[i]->u), j = gw_cross(y, f);
            gw_vec3 turn = gw_sub(gw_scale(gw_dot(y, v), f), gw_scale(gw_dot(y, f), v));
            h[i] = gw_dot(y, f) - d[i]->cosine;
            h[3 + i] = gw_dot(j, v);
            a[i][0] = j.x, a[i][1] = j.y, a[i][2] = j.z;
            a[3 + i][0] = turn.x, a[3 + i][1] = turn.y, a[3 + i][2] = turn.z;
            a[3 + i][3] = j.x, a[3 + i][4] = j.y, a[3 + i][5] = j.z;
        }
        h[6] = 0.5 * (gw_norm2(v) - 1);
        a[6][3] = v.x, a[6][4] = v.y, a[6][5] = v.z;
        for (int i = 0; i < 7; i++)
            worst = fmax(worst, fabs(h[i]));
        gw_small_svd(7, a, s, vectors);
        if (worst < 4e-15 && gw_quat_angle(root, *q) < 1e-3) {
            *q = root;
            return s[5] > 1e-4 * s[0];
        }
        gw_small_solve(7, (const double(*)[6])a, s, (const double(*)[6])vectors,
                       gw_small_rank(s, 1e-10), h, x);
        root = gw_quat_unit(gw_quat_mul(gw_quat_exp(gw_v3(-x[0], -x[1], -x[2])), root));
        v = gw_sub(v, gw_v3(x[3], x[4], x[5]));
    }
    return false;
}

/* polish_rotation() with all angles of a state; false where it found no root. */
static bool polish_all(const gw_solver_state *state, gw_quat *q, bool *nearly_double)
{
    const gw_angle_constraint *all[MAX_POLISHED];
    int count = state->angle_count < MAX_POLISHED ? state->angle_count : MAX_POLISHED;
    for (int i = 0; i < count; i++)
        all[i] = &state->angles[i];
    return polish_rotation(all, count, q, nearly_double) < 1e-12;
}

/* More angles than three may make a nearly double root a simple one. */
static void polish_more(const gw_solver_state *state, gw_quat *q, bool *nearly_double)
{
    gw_quat better = *q;
    bool still_double = true;
    if (state->angle_count > 3 && polish_all(state, &better, &still_double) &&
        gw_quat_angle(better, *q) < 1e-3) {
        *q = better;
        *nearly_double = still_double;
    }
}

/* Copies of a multiple root scatter by a root of round-off; their mean is much nearer to it. */
static bool joins_copies(gw_solver *solver, triple *t, gw_quat q, bool nearly_double)
{
    for (int i = 0; i < solver->result.count; i++) {
        gw_alternative *e = &solver->result.alternatives[i];
        double gap = gw_quat_angle(q, e->rotation);
        if (gap < 1e-6)
            return true;
        if (!nearly_double || !e->nearly_double || gap > 5e-3)
            continue;
        double k = ++t->copies[i], sign = gw_quat_dot(q, e->rotation) < 0 ? -1 : 1;
        gw_quat m = e->rotation;
        e->rotation =
            gw_quat_unit((gw_quat){m.w + (sign * q.w - m.w) / k, m.x + (sign * q.x - m.x) / k,
                                   m.y + (sign * q.y - m.y) / k, m.z + (sign * q.z - m.z) / k});
        return true;
    }
    return false;
}

static void try_rotation(gw_solver *solver, triple *t, double phi, double theta)
{
    gw_quat q = gw_quat_mul(gw_quat_mul(gw_quat_axis(t->d[0]->f, phi), t->zero),
                            gw_quat_axis(t->d[0]->u, theta));
    bool nearly_double = false;
    if (polish_rotation(t->d, 3, &q, &nearly_double) > 1e-12 ||
        joins_copies(solver, t, q, nearly_double) || solver->result.count == GW_MAX_ALTERNATIVES)
        return;
    t->copies[solver->result.count] = 1;
    gw_add_rotation(solver, "three angles: the rotations", q);
    solver->result.alternatives[solver->result.count - 1].nearly_double = nearly_double;
}

/* Refines nearly double roots where they are exactly double, or where more angles determine them.
 */
static void refine_double_roots(gw_solver *solver, const triple *t)
{
    for (int i = 0; i < solver->result.count; i++) {
        gw_alternative *e = &solver->result.alternatives[i];
        if (!e->nearly_double)
            continue;
        gw_vec3 weak = weakest_axis(t->d, e->rotation);
        if (refine_double_root(t->d, weak, &e->rotation))
            e->nearly_double = false;
        else
            polish_more(t->state, &e->rotation, &e->nearly_double);
    }
}

/* The thetas at a root: of both equations together, and of each alone where D vanishes. False
 * where both vanish for every theta: then the rotations are not finite in number. */
static bool try_thetas(gw_solver *solver, triple *t, double phi)
{
    pencil x = pencil_at(t, 1, phi), y = pencil_at(t, 2, phi);
    double d = x.b * y.c - y.b * x.c;
    double nc = x.c * y.a - y.c * x.a, ns = y.b * x.a - x.b * y.a;
    if (hypot(hypot(x.a, x.b), x.c) < 1e-3 && hypot(hypot(y.a, y.b), y.c) < 1e-3)
        return false;
    if (fabs(d) > 1e-9)
        try_rotation(solver, t, phi, atan2(ns / d, nc / d));
    for (int i = 0; i < 2 && fabs(d) < 1e-3; i++) {
        const pencil *p = i == 0 ? &x : &y;
        double r = hypot(p->b, p->c);
        if (r < 1e-12)
            continue;
        double middle = atan2(p->c, p->b), half = gw_clamped_acos(-p->a / r);
        try_rotation(solver, t, phi, middle + half);
        try_rotation(solver, t, phi, middle - half);
    }
    return true;
}

/* No root is near the unit circle: no rotation about the first direction satisfies the other
 * angles. */
static void add_conflict(gw_solver *solver, const gw_angle_constraint *const d[3],
                         const double sample[GW_TRIGONOMETRIC_SAMPLES])
{
    double least = HUGE_VAL;
    for (int k = 0; k < GW_TRIGONOMETRIC_SAMPLES; k++)
        least = fmin(least, fabs(sample[k]));
    static const gw_inequality fails = {"N_c^2 + N_s^2 = D^2 for some phi",
                                        "No orientation of the object has all three directions.",
                                        {NULL, NULL}};
    gw_add_conflict(solver, d[0]->from, d[1]->from, least, &fails);
    solver->conflict.constraints |= solver->result.keeps_pair ? 0 : d[2]->from;
    gw_add_conflict_value(solver, "alpha", d[0]->angle);
    gw_add_conflict_value(solver, "beta", d[1]->angle);
    gw_add_conflict_value(solver, "gamma", d[2]->angle);
}

/* All rotations of three angles; false where the three are dependent at a root or everywhere. */
static bool solve_triple(gw_solver *solver, const gw_solver_state *state, const int pick[3])
{
    const gw_angle_constraint *all = state->angles, *x = &all[pick[0]];
    triple t = {state, {x, &all[pick[1]], &all[pick[2]]}, gw_quat_identity(), {0}};
    gw_vec3 w = gw_cross(x->u, x->f);
    double sine = gw_norm(w), sigma = atan2(sine, gw_dot(x->u, x->f));
    w = sine > 1e-12 ? gw_scale(1 / sine, w) : gw_any_normal(x->u);
    t.zero = gw_quat_axis(w, sigma - x->angle);
    double sample[GW_TRIGONOMETRIC_SAMPLES], phi[GW_TRIGONOMETRIC_ROOTS], most;
    sample_resultant(&t, sample);
    int n = gw_trigonometric_roots(sample, phi, &most);
    if (!(most > 1e-12))
        return false;
    solver->result.outcome = GW_RULE_NO_ROOT;
    for (int i = 0; i < n; i++)
        if (!try_thetas(solver, &t, phi[i])) {
            solver->result.outcome = GW_RULE_NONE;
            solver->result.count = 0;
            return false;
        }
    if (n == 0 && most > 1e-6)
        add_conflict(solver, t.d, sample);
    refine_double_roots(solver, &t);
    gw_label_rotations(solver);
    return true;
}

/* The rotation of a tracked branch: continued from the former rotation, by all angles together. */
static void track_rotation(gw_solver *solver, const gw_solver_state *state)
{
    const gw_branch *before = solver->tracked->before;
    const gw_angle_constraint *const d[3] = {&state->angles[0], &state->angles[1],
                                             &state->angles[2]};
    gw_quat q = before->nearest.q;
    bool nearly_double = false;
    solver->result.outcome = GW_RULE_NO_ROOT;
    if (!polish_all(state, &q, &nearly_double) ||
        solver->size * gw_quat_angle(q, before->nearest.q) > solver->tracked->reach)
        return;
    if (nearly_double && state->angle_count == 3 && refine_double_root(d, weakest_axis(d, q), &q))
        nearly_double = false;
    if (nearly_double && before->set.rotation.kind != GW_ROTATION_FIXED) {
        solver->result.outcome = GW_RULE_NONE; /* the angles are not independent */
        return;
    }
    gw_add_rotation(solver, "three angles: the rotation that is followed", q);
    solver->result.alternatives[0].nearly_double = nearly_double;
    solver->result.alternatives[0].label = before->id[1 + state->choice_count];
}

void gw_rule_three_angles(gw_solver *solver, const gw_solver_state *state)
{
    if (solver->tracked) {
        track_rotation(solver, state);
        return;
    }
    int n = state->angle_count < MAX_POLISHED ? state->angle_count : MAX_POLISHED;
    for (int i = 0; i < n - 2; i++)
        for (int j = i + 1; j < n - 1; j++)
            for (int k = j + 1; k < n; k++)
                if (solve_triple(solver, state, (int[3]){i, j, k}))
                    return;
}
