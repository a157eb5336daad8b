/*
 * The pose of a general set nearest to a given one: Newton's method in the tangent space, each step
 * brought back onto the rows. Any thread, RT safe.
 *
 * In the weighted coordinates [v; L w] the half gradient of f = |dp|^2 + (L theta)^2 is
 * g = [dp; L log], and with the multipliers lambda of g = A^T lambda + Z g_Z, Z the tangent space,
 * the second derivative along the set is Z^T d(g - A^T lambda) Z: by differences of Jacobians.
 */
#include <assert.h>

#include "rt/base/small.h"
#include "rt/base/spatial.h"
#include "rt/geometry/implicit_curve.h"
#include "rt/geometry/locus.h"

typedef struct stationarity {
    double z[6][6];             /* rows: the tangent basis */
    double lambda[GW_MAX_ROWS]; /* of all rows; 0 for rows that depend on others */
    double along[6];            /* Z^T g */
} stationarity;

typedef struct problem {
    gw_submanifold *set; /* the parameters of its free-form rows are updated */
    const gw_pose *near;
    double length;
} problem;

static gw_pose displace(const problem *s, const gw_pose *x, const double d[6])
{
    double l = s->length;
    gw_twist t = {{d[0], d[1], d[2]}, {d[3] / l, d[4] / l, d[5] / l}};
    return gw_pose_add(x, &t);
}

/* The half gradient of f. */
static void half_gradient(const problem *s, const gw_pose *x, double g[6])
{
    gw_twist d = gw_pose_sub(x, s->near);
    double l = s->length;
    g[0] = d.v.x, g[1] = d.v.y, g[2] = d.v.z;
    g[3] = l * d.w.x, g[4] = l * d.w.y, g[5] = l * d.w.z;
}

static void weighed_jacobian(const problem *s, const gw_pose *x, double (*a)[6])
{
    gw_rows_jacobian(s->set->rows, s->set->row_count, x, a);
    for (int i = 0; i < s->set->row_count; i++)
        for (int j = 3; j < 6; j++)
            a[i][j] /= s->length;
}

/* Z, lambda and Z^T g at x: A P = L Q^T, so that L^T lambda = the first entries of Q^T g. */
static void stationarity_at(const problem *s, const gw_pose *x, stationarity *at)
{
    double a[GW_MAX_ROWS][6], g[6], q[6][6], c[6];
    int order[GW_MAX_ROWS], n = 6 - s->set->dof;
    gw_small_lq lq;
    gw_rows_start_at(s->set->rows, s->set->row_count, x);
    half_gradient(s, x, g);
    weighed_jacobian(s, x, a);
    gw_small_lq_factor(s->set->row_count, a, 1e-9, order, &lq);
    gw_small_lq_columns(&lq, 0, q);
    n = lq.rank < n ? lq.rank : n;
    for (int i = 0; i < s->set->row_count; i++)
        at->lambda[i] = 0;
    for (int i = n - 1; i >= 0; i--) {
        c[i] = gw_dot6(q[i], g);
        for (int k = i + 1; k < n; k++)
            c[i] -= a[k][i] * at->lambda[order[k]];
        at->lambda[order[i]] = c[i] / a[i][i];
    }
    for (int k = 0; k < s->set->dof; k++) {
        for (int i = 0; i < 6; i++)
            at->z[k][i] = q[6 - s->set->dof + k][i];
        at->along[k] = gw_dot6(at->z[k], g);
    }
}

/* g - A^T lambda at y. */
static void lagrangian_gradient(const problem *s, const stationarity *at, const gw_pose *y,
                                double g[6])
{
    double a[GW_MAX_ROWS][6];
    half_gradient(s, y, g);
    weighed_jacobian(s, y, a);
    for (int r = 0; r < s->set->row_count; r++)
        for (int i = 0; i < 6; i++)
            g[i] -= at->lambda[r] * a[r][i];
}

/* Half the second derivative of f along the set, of the size dof. */
static void reduced_half_hessian(const problem *s, const stationarity *at, const gw_pose *x,
                                 double h[6][6])
{
    const int n = s->set->dof;
    const double e = 1e-6 * s->length;
    double here[6], there[6], step[6];
    lagrangian_gradient(s, at, x, here);
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < 6; i++)
            step[i] = e * at->z[k][i];
        gw_pose y = displace(s, x, step);
        lagrangian_gradient(s, at, &y, there);
        for (int j = 0; j < n; j++)
            h[k][j] = (gw_dot6(at->z[j], there) - gw_dot6(at->z[j], here)) / e;
    }
    for (int k = 0; k < n; k++)
        for (int j = 0; j < k; j++)
            h[k][j] = h[j][k] = 0.5 * (h[k][j] + h[j][k]);
}

/* The descent step [v; L w] from x by (H + raise)^-1, raised until it is positive definite; at most
 * `reach` long. */
static double newton_direction(const problem *s, const stationarity *at, double h[6][6],
                               double *raise, double reach, double step[6])
{
    const int n = s->set->dof;
    double c[6] = {0}, size = 0;
    while (!gw_small_cholesky_solve(n, (const double(*)[6])h, *raise, at->along, c) &&
           *raise < 1e18)
        *raise = fmax(4 * *raise, 0.1);
    for (int i = 0; i < 6; i++) {
        step[i] = 0;
        for (int k = 0; k < n; k++)
            step[i] -= c[k] * at->z[k][i];
        size += step[i] * step[i];
    }
    size = sqrt(size);
    for (int i = 0; i < 6 && size > reach; i++)
        step[i] *= reach / size;
    return fmin(size, reach);
}

/* Descends from a pose on the set to a local minimum; returns its distance (m). */
static double descend_on_set(const problem *s, gw_pose *x)
{
    double best = gw_pose_distance(x, s->near, s->length), raise = 0;
    stationarity at;
    double h[6][6], step[6];
    bool fresh = false;
    for (int i = 0; i < 40 && !gw_rows_out_of_work(s->set->rows, s->set->row_count); i++) {
        if (!fresh) {
            stationarity_at(s, x, &at);
            reduced_half_hessian(s, &at, x, h);
        }
        double size = newton_direction(s, &at, h, &raise, fmax(0.5 * best, 1e-3 * s->length), step);
        gw_pose next = displace(s, x, step);
        double off =
            gw_rows_project(s->set->rows, s->set->row_count, 6 - s->set->dof, s->length, 12, &next);
        double now = gw_pose_distance(&next, s->near, s->length);
        fresh = !(off < 1e-9 * s->length && now < best && gw_submanifold_contains(s->set, &next));
        if (fresh && (size < 1e-7 * best || raise > 1e9))
            break;
        raise = fresh ? fmax(6 * raise, 0.3) : 0.1 * raise;
        if (fresh)
            continue;
        *x = next;
        bool small = best - now < 1e-13 * best;
        best = now;
        if (small)
            break;
    }
    return best;
}

/* The largest distance of the set's points from the origin, the size for curve tracing. */
static double problem_size(const gw_submanifold *set, double length)
{
    double most = 0;
    for (int i = 0; i < set->row_count; i++)
        if (set->rows[i].kind != GW_ROW_ANGLE)
            most = fmax(most, fmax(gw_norm2(set->rows[i].m), gw_norm2(set->rows[i].f)));
    return fmax(sqrt(most), 1e-4 * length);
}

double gw_submanifold_nearest_local(const gw_submanifold *set, const gw_pose *near, double length,
                                    gw_pose *nearest)
{
    gw_submanifold followed = *set;
    const problem s = {&followed, near, length};
    *nearest = set->seed;
    return descend_on_set(&s, nearest);
}

double gw_submanifold_nearest_general(const gw_submanifold *set, const gw_pose *near, double length,
                                      gw_pose *nearest)
{
    assert(set && near && length > 0 && nearest);
    gw_submanifold followed = *set;
    const problem s = {&followed, near, length};
    gw_pose a = set->seed, b = *near;
    if (set->dof == 1) /* other curves may satisfy the same rows */
        return gw_implicit_curve_nearest(set, problem_size(set, length), near, length, nearest);
    double from_seed = descend_on_set(&s, &a), from_near = HUGE_VAL;
    *nearest = a;
    if (gw_rows_project(set->rows, set->row_count, 6 - set->dof, length, 40, &b) < 1e-10 * length &&
        gw_submanifold_contains(set, &b))
        from_near = descend_on_set(&s, &b);
    if (!(from_near < from_seed))
        return from_seed;
    *nearest = b;
    return from_near;
}
