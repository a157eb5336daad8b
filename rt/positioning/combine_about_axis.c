/*
 * The rotations about a known direction that points on points, lines and planes leave, whichever
 * body owns these. Any thread, RT safe.
 *
 * With R u = f known, R = R(f, phi) R0, and each row is linear in t and in (1, cos phi, sin phi):
 *
 *   plane of the world   n . (R m + t - F) = 0         a = n,    b = n . (F - R m)
 *   plane of the body    (R n) . (F - t) - n . m = 0   a = R n,  b = (R n) . F - n . m
 *
 * a . t = b. Where the rows a have rank r for general phi, t is eliminated by a determinant: r + 1
 * combinations of rows, projected on r directions, with their b. That is a trigonometric polynomial
 * of degree r + 1 <= 4; its roots are polished with all rows, which also drops the roots that only
 * the combinations have.
 */
#include <string.h>

#include "rt/base/small.h"
#include "rt/positioning/polynomial/polynomial.h"
#include "rt/positioning/solver.h"

#define MAX_LINEAR GW_MAX_ROWS /* rows; more are left to the numeric completion */
#define RANK       1e-7
#define VANISHING  1e-9  /* a determinant whose coefficients are all below this is no condition */
#define SATISFIED  1e-10 /* of the size: largest residual of a root */
#define TANGENT    1e-4  /* slope below which a root is nearly double */

typedef struct axis_problem {
    const gw_angle_constraint *axis;
    gw_quat zero; /* R0 */
    double size;
    int count;
    gw_row rows[MAX_LINEAR];
} axis_problem;

/* Rows a . t = b at R, lengths over the size. */
typedef struct linear_rows {
    double a[MAX_LINEAR][3], b[MAX_LINEAR];
} linear_rows;

static gw_quat rotation_at(const axis_problem *t, double phi)
{
    return gw_quat_mul(gw_quat_axis(t->axis->f, phi), t->zero);
}

static void linear_rows_at(const axis_problem *t, gw_quat r, linear_rows *s)
{
    for (int i = 0; i < t->count; i++) {
        const gw_row *row = &t->rows[i];
        bool body = row->kind == GW_ROW_PLANE_BODY;
        gw_vec3 n = body ? gw_rotate(r, row->n) : row->n;
        double b = body ? gw_dot(n, row->f) - gw_dot(row->n, row->m)
                        : gw_dot(n, gw_sub(row->f, gw_rotate(r, row->m)));
        s->a[i][0] = n.x, s->a[i][1] = n.y, s->a[i][2] = n.z;
        s->b[i] = b / t->size;
    }
}

/* ---- elimination of t ------------------------------------------------------------------------ */

static int rank_at(const axis_problem *t, double phi)
{
    linear_rows s;
    double a[MAX_LINEAR][6] = {{0}};
    int order[MAX_LINEAR];
    gw_small_lq q;
    linear_rows_at(t, rotation_at(t, phi), &s);
    for (int i = 0; i < t->count; i++)
        memcpy(a[i], s.a[i], sizeof s.a[i]);
    gw_small_lq_factor(t->count, a, RANK, order, &q);
    return q.rank;
}

static double determinant_of(int n, double m[4][4])
{
    double det = 1;
    for (int k = 0; k < n; k++) {
        int pick = k;
        for (int i = k + 1; i < n; i++)
            pick = fabs(m[i][k]) > fabs(m[pick][k]) ? i : pick;
        if (m[pick][k] == 0)
            return 0;
        det *= pick == k ? m[pick][k] : -m[pick][k];
        for (int c = k; c < n; c++) {
            double x = m[k][c];
            m[k][c] = m[pick][c];
            m[pick][c] = x;
        }
        for (int i = k + 1; i < n; i++)
            for (int c = n - 1; c >= k; c--)
                m[i][c] -= m[i][k] / m[k][k] * m[k][c];
    }
    return det;
}

/* det [A P | b] of rank + 1 combinations of the rows. */
static double condition_at(const axis_problem *t, int rank, gw_quat r)
{
    linear_rows s;
    double m[4][4] = {{0}};
    linear_rows_at(t, r, &s);
    for (int i = 0; i < t->count; i++)
        for (int k = 0; k <= rank; k++) {
            double share = t->count == rank + 1 ? i == k : gw_generic_number(i, k);
            for (int c = 0; c < rank; c++)
                for (int j = 0; j < 3; j++)
                    m[k][c] +=
                        share * s.a[i][j] * (rank == 3 ? j == c : gw_generic_number(j, 7 + c));
            m[k][rank] += share * s.b[i];
        }
    return determinant_of(rank + 1, m);
}

/* ---- roots ----------------------------------------------------------------------------------- */

/* The derivative of a row's residual by phi, the body at t (over the size). */
static double slope_of(const axis_problem *t, const gw_row *row, gw_quat r, const double at[3])
{
    gw_vec3 f = t->axis->f, x = {t->size * at[0], t->size * at[1], t->size * at[2]};
    if (row->kind == GW_ROW_PLANE_BODY)
        return gw_dot(gw_cross(f, gw_rotate(r, row->n)), gw_sub(x, row->f)) / t->size;
    return gw_dot(row->n, gw_cross(f, gw_rotate(r, row->m))) / t->size;
}

/* Newton's method in (t, phi) on all rows, from the best t; the largest residual afterwards. */
static double polish_root(const axis_problem *t, double *phi)
{
    double at[3] = {0, 0, 0}, worst = HUGE_VAL;
    for (int k = 0; k < 12; k++) {
        linear_rows s;
        double a[MAX_LINEAR][6] = {{0}}, h[MAX_LINEAR], step[6], now = 0;
        gw_quat r = rotation_at(t, *phi);
        linear_rows_at(t, r, &s);
        for (int i = 0; i < t->count; i++) {
            memcpy(a[i], s.a[i], sizeof s.a[i]);
            /* the first step moves t alone */
            a[i][3] = k == 0 ? 0 : slope_of(t, &t->rows[i], r, at);
            h[i] = s.a[i][0] * at[0] + s.a[i][1] * at[1] + s.a[i][2] * at[2] - s.b[i];
            now = fmax(now, fabs(h[i]));
        }
        if (k > 1 && (now < 1e-15 || (now >= worst && worst < 1e-12)))
            return fmin(now, worst);
        worst = now;
        gw_small_least_squares(t->count, a, 1e-9, 6, h, step);
        for (int c = 0; c < 3; c++)
            at[c] -= step[c];
        *phi -= step[3];
    }
    return worst;
}

static bool found_before(const gw_solver *solver, gw_quat q)
{
    for (int i = 0; i < solver->result.count; i++)
        if (gw_quat_angle(q, solver->result.alternatives[i].rotation) < 1e-7)
            return true;
    return false;
}

/* Polishes a root and adds its rotation, unless it is spurious or known already. */
static void try_root(gw_solver *solver, const axis_problem *t, int rank, double most, double phi)
{
    const double h = 1e-4;
    double from = phi;
    if (polish_root(t, &phi) > SATISFIED || fabs(remainder(phi - from, 2 * GW_PI)) > 0.1)
        return;
    gw_quat q = gw_quat_unit(rotation_at(t, phi));
    if (found_before(solver, q) || solver->result.count == GW_MAX_ALTERNATIVES)
        return;
    double slope = condition_at(t, rank, rotation_at(t, phi + h)) -
                   condition_at(t, rank, rotation_at(t, phi - h));
    gw_add_rotation(solver, "places about a known direction: the turns", q);
    solver->result.alternatives[solver->result.count - 1].nearly_double =
        fabs(slope) / (2 * h) < TANGENT * most;
}

/* The rows of all distances; false where one is not zero, or they are too many. */
static bool collect_rows(const gw_solver_state *state, axis_problem *t)
{
    for (int i = 0; i < state->distance_count; i++) {
        if (state->distances[i].p > 0 || gw_is_free_form(state->distances[i].surface) ||
            t->count + 3 > MAX_LINEAR)
            return false;
        t->count += gw_distance_rows(&state->distances[i], t->rows + t->count);
    }
    return true;
}

void gw_rule_rotation_about_axis(gw_solver *solver, const gw_solver_state *state)
{
    if (state->angle_count != 1 || state->angles[0].angle > 0)
        return;
    axis_problem t; /* rows beyond the count are not read */
    t.axis = &state->angles[0];
    t.zero = gw_quat_between(t.axis->u, t.axis->f);
    t.size = solver->size;
    t.count = 0;
    if (!collect_rows(state, &t))
        return;
    int rank = rank_at(&t, 0.7), again = rank_at(&t, 2.9);
    rank = again > rank ? again : rank;
    if (t.count <= rank)
        return;
    double sample[GW_TRIGONOMETRIC_SAMPLES], phi[GW_TRIGONOMETRIC_ROOTS], most;
    for (int k = 0; k < GW_TRIGONOMETRIC_SAMPLES; k++)
        sample[k] =
            condition_at(&t, rank, rotation_at(&t, 2 * GW_PI * k / GW_TRIGONOMETRIC_SAMPLES));
    int n = gw_trigonometric_roots(sample, phi, &most);
    if (!(most > VANISHING))
        return;
    solver->result.outcome = GW_RULE_NO_ROOT;
    for (int i = 0; i < n; i++)
        try_root(solver, &t, rank, most, phi[i]);
    if (solver->tracked)
        gw_keep_tracked_rotation(solver, state);
    else
        gw_label_rotations(solver);
}
