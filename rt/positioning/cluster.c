/*
 * Several bodies at once, by Newton's method on the rows of all edges. Any thread, RT safe.
 *
 * A row h(g) of an edge depends on g = b_from_a alone. With [u_v; u_w] its gradient in b's axes,
 * and both bodies moving, g moves as a does relative to b:
 *
 *   h-dot = u_v . R_b^T (v_a - v_b - w_b x (t_a - t_b)) + u_w . R_b^T (w_a - w_b)
 *
 * so with U = R_b u the gradients are [U_v; U_w] for a, and -[U_v; U_w + (t_a - t_b) x U_v] for b.
 * Steps solve (J^T J + e I) s = -J^T h with e of the order of round-off: of least norm if the rows
 * leave freedoms, with quadratic convergence if the rows are consistent.
 */
#include "rt/positioning/cluster.h"

#include <assert.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/base/spatial.h"
#include "rt/positioning/solver.h"

#define DAMPING  1e-13 /* of the largest diagonal entry */
#define FREE     1e-11 /* diagonal entries below this share of the largest are freedoms */
#define MAX_STEP 0.5   /* of the size, or rad: largest step */
#define CLOSE    1e-14 /* of the size: residual at which the iteration ends */
#define AT_REST  1e-9  /* rates below this are round-off */

/* ---- edges ----------------------------------------------------------------------------------- */

/* The sense, or the one that `either` has at this pose. */
static gw_sense sense_at(const gw_constraint *c, const gw_pose *b_from_a)
{
    return c->sense != GW_EITHER ? c->sense : gw_constraint_sense_at(c, b_from_a);
}

void gw_constraint_edge_resolve(gw_constraint_edge *edge, const gw_pose *world_from_a,
                                const gw_pose *world_from_b)
{
    assert(edge && world_from_a && world_from_b);
    gw_pose b_from_world = gw_pose_inverse(world_from_b);
    gw_pose b_from_a = gw_pose_mul(&b_from_world, world_from_a);
    gw_problem problem = {gw_pose_identity(), 1, 1, &edge->stated};
    gw_solver solver = {.problem = &problem};
    gw_solver_state state;
    gw_solver_state_init(&state);
    gw_decompose(&solver, &state, 0, sense_at(&edge->stated, &b_from_a));
    int n = 0;
    for (int i = 0; i < state.distance_count; i++)
        n += gw_distance_rows(&state.distances[i], edge->rows + n);
    for (int i = 0; i < state.angle_count; i++)
        n += gw_angle_rows(&state.angles[i], edge->rows + n);
    edge->row_count = n;
}

gw_constraint gw_constraint_of_edge(const gw_constraint_edge *edge, int mobile, const gw_pose *pose)
{
    bool a_moves = mobile == edge->a;
    gw_constraint c = edge->stated;
    c.reversed = !a_moves;
    c.mobile = a_moves ? edge->stated.mobile : edge->stated.fixed;
    c.fixed = gw_element_moved(pose, a_moves ? &edge->stated.fixed : &edge->stated.mobile);
    return c;
}

/* ---- rows of an edge ------------------------------------------------------------------------- */

/* Rows at these poses: values, and gradients for the motions of a and of b; lengths over the size,
 * turns in rad. */
typedef struct edge_rows {
    int count;
    double h[GW_EDGE_ROWS], a[GW_EDGE_ROWS][6], b[GW_EDGE_ROWS][6];
} edge_rows;

static void rows_of(const gw_constraint_edge *edge, double size, const gw_pose *poses,
                    edge_rows *out)
{
    const gw_pose *a = &poses[edge->a], *b = &poses[edge->b];
    gw_pose b_from_world = gw_pose_inverse(b);
    gw_pose b_from_a = gw_pose_mul(&b_from_world, a);
    double u[GW_EDGE_ROWS][6];
    gw_vec3 arm = gw_sub(a->p, b->p);
    out->count = edge->row_count;
    gw_rows_value_and_jacobian(edge->rows, edge->row_count, &b_from_a, out->h, u);
    for (int i = 0; i < edge->row_count; i++) {
        bool angle = edge->rows[i].kind == GW_ROW_ANGLE;
        double per_size = angle ? 1 : 1 / size;
        gw_vec3 uv = gw_rotate(b->q, gw_v3(u[i][0], u[i][1], u[i][2]));
        gw_vec3 uw = gw_rotate(b->q, gw_v3(u[i][3], u[i][4], u[i][5]));
        out->h[i] *= per_size;
        uw = gw_scale(per_size, uw);
        gw_vec3 across = gw_scale(per_size, gw_cross(arm, uv));
        gw_spatial_set(out->a[i], uv, uw);
        gw_spatial_set(out->b[i], gw_neg(uv), gw_neg(gw_add(uw, across)));
    }
}

double gw_cluster_size(const gw_cluster *cluster, const gw_pose *poses)
{
    assert(cluster && poses);
    double size = 1e-4;
    for (int i = 0; i < cluster->link_count; i++) {
        const gw_constraint_edge *edge = cluster->links[i];
        const gw_constraint *c = &edge->stated;
        size = fmax(size, fmax(gw_norm(c->mobile.p), gw_norm(c->fixed.p)));
        size = fmax(size, gw_constraint_has_length(c->kind) ? fabs(c->value) : 0);
        size = fmax(size, 0.1 * gw_distance(poses[edge->a].p, poses[edge->b].p));
    }
    return size;
}

static int member_index(const gw_cluster *c, int body)
{
    for (int i = 0; i < c->count; i++)
        if (c->bodies[i] == body)
            return i;
    return -1;
}

/* ---- normal equations ------------------------------------------------------------------------ */

static void add_block(gw_cluster_work *w, int i, int k, const double *a, const double *b)
{
    for (int r = 0; r < 6; r++)
        for (int c = 0; c < 6; c++)
            w->n[6 * i + r][6 * k + c] += a[r] * b[c];
}

/* J^T J's lower triangle of blocks, J^T h and |h|^2; returns the largest |h|. */
static double normal_equations(const gw_cluster *c, const gw_pose *poses, gw_cluster_work *w)
{
    double worst = 0;
    w->sum = 0;
    for (int i = 0; i < 6 * c->count; i++) {
        memset(w->n[i], 0, sizeof(double) * 6 * (size_t)c->count);
        w->g[i] = 0;
    }
    for (int l = 0; l < c->link_count; l++) {
        edge_rows rows;
        int at[2] = {member_index(c, c->links[l]->a), member_index(c, c->links[l]->b)};
        rows_of(c->links[l], c->size, poses, &rows);
        for (int r = 0; r < rows.count; r++) {
            const double *side[2] = {rows.a[r], rows.b[r]};
            worst = gw_worst(worst, fabs(rows.h[r]));
            w->sum += rows.h[r] * rows.h[r];
            for (int s = 0; s < 2; s++) {
                if (at[s] < 0)
                    continue;
                for (int k = 0; k < 6; k++)
                    w->g[6 * at[s] + k] += side[s][k] * rows.h[r];
                add_block(w, at[s], at[s], side[s], side[s]);
                if (at[1 - s] >= 0 && at[1 - s] < at[s])
                    add_block(w, at[s], at[1 - s], side[s], side[1 - s]);
            }
        }
    }
    return worst;
}

/* Cholesky's method in place, the lower triangle. */
static void factor_cholesky(gw_cluster_work *w, int n, double damping)
{
    double largest = 0;
    for (int i = 0; i < n; i++)
        largest = fmax(largest, w->n[i][i]);
    double raise = fmax(DAMPING, damping) * largest + 1e-300;
    for (int j = 0; j < n; j++) {
        double d = w->n[j][j] + raise;
        for (int k = 0; k < j; k++)
            d -= w->n[j][k] * w->n[j][k];
        d = sqrt(fmax(d, raise));
        w->n[j][j] = d;
        for (int i = j + 1; i < n; i++) {
            double s = w->n[i][j];
            for (int k = 0; k < j; k++)
                s -= w->n[i][k] * w->n[j][k];
            w->n[i][j] = s / d;
        }
    }
}

static void solve_factored(const gw_cluster_work *w, int n, double *x)
{
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < i; k++)
            x[i] -= w->n[i][k] * x[k];
        x[i] /= w->n[i][i];
    }
    for (int i = n - 1; i >= 0; i--) {
        for (int k = i + 1; k < n; k++)
            x[i] -= w->n[k][i] * x[k];
        x[i] /= w->n[i][i];
    }
}

/* ---- poses ----------------------------------------------------------------------------------- */

/* Moves the bodies by minus that share of the step in g. */
static void take_step(const gw_cluster *c, const gw_cluster_work *w, double share, gw_pose *poses)
{
    double metres = share * c->size;
    for (int i = 0; i < c->count; i++) {
        const double *s = &w->g[6 * i];
        gw_twist d = {{-metres * s[0], -metres * s[1], -metres * s[2]},
                      {-share * s[3], -share * s[4], -share * s[5]}};
        poses[c->bodies[i]] = gw_pose_add(&w->before[i], &d);
    }
}

static double largest_step(const gw_cluster *c, const gw_cluster_work *w)
{
    double most = 0;
    for (int i = 0; i < 6 * c->count; i++)
        most = fmax(most, fabs(w->g[i]));
    return most;
}

/* The Levenberg-Marquardt method, undamped at first, which converges near a solution. */
double gw_cluster_project(const gw_cluster *c, int iterations, gw_pose *poses, gw_cluster_work *w)
{
    assert(c->count >= 0 && c->count <= GW_MAX_CLUSTER);
    double damping = 0, worst = normal_equations(c, poses, w);
    for (int k = 0; k < iterations && worst > CLOSE; k++) {
        double sum = w->sum;
        factor_cholesky(w, 6 * c->count, damping);
        solve_factored(w, 6 * c->count, w->g);
        for (int i = 0; i < c->count; i++)
            w->before[i] = poses[c->bodies[i]];
        double longest = largest_step(c, w);
        take_step(c, w, longest > MAX_STEP ? MAX_STEP / longest : 1, poses);
        double now = normal_equations(c, poses, w);
        if (w->sum < sum) {
            worst = now;
            damping = damping > 1e-9 ? 0.1 * damping : 0;
            continue;
        }
        for (int i = 0; i < c->count; i++)
            poses[c->bodies[i]] = w->before[i];
        normal_equations(c, poses, w);
        if (worst < 1e-12 || damping > 1e6)
            break; /* round-off, or a minimum off the rows */
        damping = damping > 0 ? 10 * damping : 1e-4;
    }
    return worst;
}

/* ---- rank and Jacobian ----------------------------------------------------------------------- */

static void swap_rows(gw_cluster_work *w, int n, int a, int b)
{
    for (int k = 0; k < n; k++) {
        double t = w->n[a][k];
        w->n[a][k] = w->n[b][k];
        w->n[b][k] = t;
    }
    for (int k = 0; k < n; k++) {
        double t = w->n[k][a];
        w->n[k][a] = w->n[k][b];
        w->n[k][b] = t;
    }
}

static double random_symmetric(unsigned long long *s)
{
    *s = *s * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*s >> 11) / 4503599627370496.0 - 1; /* -1 .. 1 */
}

void gw_cluster_scatter(const gw_cluster *c, const gw_pose *now, int k, unsigned long long *random,
                        gw_pose *poses)
{
    double reach = k == 0 ? 0 : (0.1 + 0.1 * (k % 10));
    for (int i = 0; i < c->count; i++) {
        gw_twist d;
        gw_vec3 v = {random_symmetric(random), random_symmetric(random), random_symmetric(random)};
        gw_vec3 turn = {random_symmetric(random), random_symmetric(random),
                        random_symmetric(random)};
        d.v = gw_scale(reach * c->size, v);
        d.w = gw_scale(reach * GW_PI, turn);
        poses[c->bodies[i]] = gw_pose_add(&now[i], &d);
    }
}

int gw_cluster_dof(const gw_cluster *c, const gw_pose *poses, gw_cluster_work *w)
{
    assert(c->count >= 0 && c->count <= GW_MAX_CLUSTER);
    int n = 6 * c->count, rank = 0;
    double first = 0;
    normal_equations(c, poses, w);
    for (int i = 0; i < n; i++)
        for (int k = i + 1; k < n; k++)
            w->n[i][k] = w->n[k][i];
    /* elimination with the largest remaining diagonal entry as pivot */
    for (; rank < n; rank++) {
        int at = rank;
        for (int i = rank; i < n; i++)
            at = w->n[i][i] > w->n[at][at] ? i : at;
        first = rank == 0 ? w->n[at][at] : first;
        if (!(w->n[at][at] > FREE * first) || first == 0)
            break;
        swap_rows(w, n, rank, at);
        for (int i = rank + 1; i < n; i++) {
            double f = w->n[i][rank] / w->n[rank][rank];
            for (int k = rank; k < n; k++)
                w->n[i][k] -= f * w->n[rank][k];
        }
    }
    return n - rank;
}

/* gradient . motion of one body, its turns in rad and its slides over the size */
static double directional_derivative(const double gradient[6], const double motion[6], double size)
{
    double sum = 0;
    for (int k = 0; k < 6; k++)
        sum += gradient[k] * motion[k] * (k < 3 ? 1 / size : 1);
    return sum;
}

/* g = J^T times the rates of the rows by the motion of the other bodies (of all bodies, g
 * untouched); returns the largest rate. */
static double edge_rates(const gw_cluster *c, const gw_pose *poses, int column,
                         gw_body_jacobian *motions, bool all, gw_cluster_work *w)
{
    double most = 0;
    for (int l = 0; l < c->link_count; l++) {
        edge_rows rows;
        const gw_constraint_edge *edge = c->links[l];
        int at[2] = {member_index(c, edge->a), member_index(c, edge->b)};
        rows_of(edge, c->size, poses, &rows);
        for (int r = 0; r < rows.count; r++) {
            double rate = 0;
            if (all || at[0] < 0)
                rate += directional_derivative(rows.a[r], motions[edge->a][column], c->size);
            if (all || at[1] < 0)
                rate += directional_derivative(rows.b[r], motions[edge->b][column], c->size);
            most = fmax(most, fabs(rate));
            for (int k = 0; k < 6 && !all; k++) {
                if (at[0] >= 0)
                    w->g[6 * at[0] + k] += rows.a[r][k] * rate;
                if (at[1] >= 0)
                    w->g[6 * at[1] + k] += rows.b[r][k] * rate;
            }
        }
    }
    return most;
}

double gw_cluster_jacobian(const gw_cluster *c, const gw_pose *poses, int columns,
                           gw_body_jacobian *motions, gw_cluster_work *w)
{
    assert(c->count >= 0 && c->count <= GW_MAX_CLUSTER);
    assert(columns >= 0 && columns <= GW_MAX_MOTION);
    int n = 6 * c->count;
    double worst = 0;
    normal_equations(c, poses, w);
    factor_cholesky(w, n, 0);
    for (int column = 0; column < columns; column++) {
        memset(w->g, 0, sizeof(double) * (size_t)n);
        double asked = edge_rates(c, poses, column, motions, false, w);
        solve_factored(w, n, w->g);
        for (int i = 0; i < n; i++)
            motions[c->bodies[i / 6]][column][i % 6] = -w->g[i] * (i % 6 < 3 ? c->size : 1);
        double left = edge_rates(c, poses, column, motions, true, w);
        worst = fmax(worst, asked > AT_REST ? left / asked : 0);
    }
    return worst;
}
