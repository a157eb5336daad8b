/*
 * Newton-like parts of the numeric completion: down to the rows from anywhere, and the dimension of
 * what is there. Any thread, RT safe; every evaluation is counted against the run's bound.
 */
#include "rt/base/small.h"
#include "rt/positioning/numeric_completion.h"

#define RANK 1e-6

/* N = A^T A, g = A^T h of the scaled rows at a pose. */
typedef struct normal {
    double n[6][6], g[6];
    double sum, worst; /* of squares; of magnitudes */
} normal;

/* Adds one row to the normal equations. */
static void accumulate(normal *to, const double a[6], double h)
{
    for (int i = 0; i < 6; i++) {
        to->g[i] += a[i] * h;
        for (int j = 0; j <= i; j++)
            to->n[i][j] += a[i] * a[j];
    }
    to->sum += h * h;
    to->worst = fmax(to->worst, fabs(h));
}

void gw_scaled_rows(const gw_completion *c, const gw_pose *x, double *h, double (*a)[6])
{
    gw_rows_value_and_jacobian(c->rows, c->row_count, x, h, a);
    for (int i = 0; i < c->row_count; i++) {
        bool angle = c->rows[i].kind == GW_ROW_ANGLE;
        h[i] *= angle ? c->size : 1;
        for (int j = 3; j < 6 && !angle; j++)
            a[i][j] /= c->size;
    }
}

static void evaluate(const gw_completion *c, const gw_pose *x, normal *to)
{
    double h[GW_MAX_COMPLETION_ROWS], a[GW_MAX_COMPLETION_ROWS][6];
    gw_scaled_rows(c, x, h, a);
    *to = (normal){.sum = 0};
    for (int r = 0; r < c->row_count; r++)
        accumulate(to, a[r], h[r]);
    c->run->work -= c->row_count + 6;
}

/* At a minimum of the residual that is no root: |A^T h| is small beside |h|, which it is nowhere
 * near a root, simple or multiple, while h is this large. */
static bool hopeless(const gw_completion *c, const normal *at)
{
    double gg = 0;
    for (int i = 0; i < 6; i++)
        gg += at->g[i] * at->g[i];
    return at->sum > 1e-6 * c->size * c->size && gg < 1e-6 * at->sum;
}

gw_pose gw_scaled_step(const gw_completion *c, const gw_pose *x, const double s[6], double factor)
{
    double turn = factor / c->size;
    gw_twist d = {{factor * s[0], factor * s[1], factor * s[2]},
                  {turn * s[3], turn * s[4], turn * s[5]}};
    return gw_pose_add(x, &d);
}

double gw_levenberg_marquardt(const gw_completion *c, gw_pose *x)
{
    normal at, there;
    double damping = 1e-2, step[6];
    const double goal = c->size * c->size * 1e-29, floor = c->size * c->size * 1e-24;
    evaluate(c, x, &at);
    for (int k = 0; k < 80 && at.sum > goal && damping < 1e12; k++) {
        if (hopeless(c, &at))
            break;
        if (gw_small_cholesky_solve(6, (const double(*)[6])at.n, damping, at.g, step)) {
            gw_pose next = gw_scaled_step(c, x, step, -1);
            evaluate(c, &next, &there);
            if (there.sum < at.sum) {
                *x = next, at = there;
                damping = fmax(damping * 0.05, 1e-15);
                continue;
            }
            if (at.sum < floor)
                break; /* round-off */
        }
        damping *= 6;
    }
    return at.worst / c->size;
}

/* 6 - rank at x, and as many directions of the null space. */
static int nullity_at(const gw_completion *c, const gw_pose *x, double (*basis)[6])
{
    double h[GW_MAX_COMPLETION_ROWS], a[GW_MAX_COMPLETION_ROWS][6];
    int order[GW_MAX_COMPLETION_ROWS];
    gw_small_lq q;
    gw_scaled_rows(c, x, h, a);
    gw_small_lq_factor(c->row_count, a, RANK, order, &q);
    gw_small_lq_columns(&q, q.rank, basis);
    return 6 - q.rank;
}

int gw_nullity_at(const gw_completion *c, const gw_pose *x)
{
    double ignored[6][6];
    return nullity_at(c, x, ignored);
}

/* The null space of a neighbour of x, as far along a direction of x's own: 0 where there is none. A
 * neighbour is on the rows as closely as rounding lets it, or a root of higher order would do. */
static int neighbour_nullity(gw_completion *c, const gw_pose *x, const double (*basis)[6],
                             int nullity, double reach)
{
    double step[6] = {0}, weight = 0;
    for (int j = 0; j < nullity; j++) {
        double w = gw_completion_uniform(c, -1, 1);
        weight += w * w;
        for (int i = 0; i < 6; i++)
            step[i] += w * basis[j][i];
    }
    gw_pose next = gw_scaled_step(c, x, step, reach / sqrt(weight));
    double off = gw_levenberg_marquardt(c, &next), far = gw_pose_distance(&next, x, c->size);
    if (off > 1e-11 || far < 0.2 * reach || far > 5 * reach)
        return 0;
    return gw_nullity_at(c, &next);
}

int gw_local_dimension(gw_completion *c, const gw_pose *x)
{
    /* a loop may be as small as the least element: then what is a step away is beside it */
    static const double reaches[] = {2e-2, 2e-3, 2e-4};
    double basis[6][6];
    int nullity = nullity_at(c, x, basis), dof = 0;
    for (int r = 0; r < 3 && dof == 0; r++)
        for (int k = 0; k < 4 && dof < nullity; k++) {
            /* a neighbour cannot have more freedoms than x: as many settle it */
            int here =
                neighbour_nullity(c, x, (const double(*)[6])basis, nullity, reaches[r] * c->size);
            dof = here > dof ? here : dof;
        }
    return dof < nullity ? dof : nullity;
}
