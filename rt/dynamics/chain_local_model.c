/*
 * A chain's local model: how it is made, and forward dynamics by it. On the world thread and the
 * loop's thread, RT safe.
 */
#include "rt/dynamics/chain_local_model.h"

#include <assert.h>
#include <string.h>

#include "rt/dynamics/articulated_body.h"

size_t gw_chain_local_model_bytes(int count)
{
    return offsetof(gw_chain_local_model, factor) +
           (size_t)count * (size_t)(count + 1) / 2 * sizeof(((gw_chain_local_model *)0)->factor[0]);
}

/* ---- making a model ------------------------------------------------------------------------- */

/* Cholesky factor L of D, row after row, with inverse diagonal; a joint without any mass does not
 * move. */
static void factorise(int n, const double (*d)[GW_MAX_LINKS], double *factor)
{
    double *row = factor;
    for (int i = 0; i < n; row += ++i) {
        const double *column = factor;
        for (int j = 0; j <= i; column += ++j) {
            double sum = d[i][j];
            for (int k = 0; k < j; k++)
                sum -= row[k] * column[k];
            if (j < i)
                row[j] = sum * column[j];
            else
                row[j] = sum > 0 ? 1 / sqrt(sum) : 0;
        }
    }
}

/* G_i = -s_i . sum over the links from i on of m g, or of its moment about the joint; returns V. */
static double weight_forces(const gw_chain *at, double *gravity)
{
    gw_vec3 g = at->def->gravity, moment = {0, 0, 0};
    double mass = 0;
    for (int i = at->def->count - 1; i >= 0; i--) {
        const gw_chain_link_state *j = &at->states[i];
        gw_vec3 s = gw_chain_axis(j);
        mass += j->mass;
        moment = gw_mul_add(moment, j->mass, gw_add(j->origin, j->world_com));
        gw_vec3 arm = gw_mul_add(moment, -mass, j->origin);
        gravity[i] = j->prismatic ? -mass * gw_dot(s, g) : -gw_dot(s, gw_cross(arm, g));
    }
    return -gw_dot(g, moment);
}

/* h |v| + h^2 (|free acceleration| + |D^-1 J^T hand|): twice the way at constant acceleration,
 * since accelerations grow on the way. */
static void compute_reach(const gw_chain *at, double h, double *reach)
{
    const double hand[6] = {GW_LOCAL_MODEL_FORCE,  GW_LOCAL_MODEL_FORCE,  GW_LOCAL_MODEL_FORCE,
                            GW_LOCAL_MODEL_TORQUE, GW_LOCAL_MODEL_TORQUE, GW_LOCAL_MODEL_TORQUE};
    double columns[GW_MAX_LINKS][6], drift[6], a[GW_MAX_LINKS];
    int n = at->def->count;
    gw_model_jacobian(&at->model, columns, drift);
    gw_model_free_acceleration(&at->model, a);
    for (int i = 0; i < n; i++)
        reach[i] = h * fabs(at->v[i]) + h * h * fabs(a[i]);
    for (int k = 0; k < 6; k++) {
        for (int i = 0; i < n; i++)
            a[i] = hand[k] * columns[i][k];
        gw_model_apply_inverse(&at->model, a, a);
        for (int i = 0; i < n; i++)
            reach[i] += h * h * fabs(a[i]);
    }
}

void gw_chain_local_model_make(const gw_chain *at, double horizon, gw_chain_local_model *out)
{
    double d[GW_MAX_LINKS][GW_MAX_LINKS];
    assert(!at->local && horizon > 0);
    out->count = at->def->count;
    memcpy(out->q, at->q, (size_t)out->count * sizeof *out->q);
    gw_chain_mass_matrix(at, &d[0][0], GW_MAX_LINKS);
    factorise(out->count, (const double(*)[GW_MAX_LINKS])d, out->factor);
    out->potential = weight_forces(at, out->gravity);
    compute_reach(at, horizon, out->reach);
}

/* ---- dynamics by the model ------------------------------------------------------------------ */

double gw_chain_set_local_model(gw_chain *chain, const gw_chain_local_model *local)
{
    double before = chain->kinetic + chain->potential;
    assert(!local || local->count == chain->def->count);
    chain->local = local;
    gw_chain_update(chain);
    return chain->kinetic + chain->potential - before;
}

double gw_chain_local_model_strain(const gw_chain *chain)
{
    double strain = 0;
    if (!chain->local)
        return 0;
    for (int i = 0; i < chain->def->count; i++) {
        double way = fabs(chain->q[i] - chain->local->q[i]);
        if (way > 0)
            strain = fmax(strain, way / chain->local->reach[i]);
    }
    return strain;
}

/* 1/2 |L^T v|^2 */
double gw_chain_local_kinetic(const gw_chain *chain)
{
    double sum[GW_MAX_LINKS], total = 0;
    const double *row = chain->local->factor;
    for (int i = 0; i < chain->def->count; row += ++i) {
        for (int k = 0; k < i; k++)
            sum[k] += row[k] * chain->v[i];
        sum[i] = row[i] > 0 ? chain->v[i] / row[i] : 0;
    }
    for (int i = 0; i < chain->def->count; i++)
        total += sum[i] * sum[i];
    return 0.5 * total;
}

double gw_chain_local_weight_energy(const gw_chain *chain)
{
    const gw_chain_local_model *local = chain->local;
    double sum = local->potential;
    for (int i = 0; i < chain->def->count; i++)
        sum += local->gravity[i] * (chain->q[i] - local->q[i]);
    return sum;
}

/* L y = x, then L^T z = y, in place. */
static void solve_factored(int n, const double *factor, double *x)
{
    const double *row = factor;
    for (int i = 0; i < n; row += ++i) {
        double sum = x[i];
        for (int k = 0; k < i; k++)
            sum -= row[k] * x[k];
        x[i] = sum * row[i];
    }
    for (int i = n - 1; i >= 0; i--) {
        row -= i + 1;
        x[i] *= row[i];
        for (int k = 0; k < i; k++)
            x[k] -= row[k] * x[i];
    }
}

/* q'' = D^^-1 (force - J^T bias - G^), J at the frames as they are. */
void gw_chain_local_accelerations(const gw_chain *chain, const gw_chain_link_state *at,
                                  const gw_wrench *bias, double *force)
{
    gw_wrench p = {{0, 0, 0}, {0, 0, 0}};
    int n = chain->def->count;
    for (int i = n - 1; i >= 0 && bias; i--) {
        const gw_chain_link_state *j = &at[i];
        p.f = gw_add(p.f, bias[i].f);
        p.t = gw_add(p.t, bias[i].t);
        force[i] -= gw_dot(gw_chain_axis(j), chain->states[i].prismatic ? p.f : p.t);
        force[i] -= chain->local->gravity[i];
        p.t = gw_add(p.t, gw_cross(j->arm, p.f));
    }
    solve_factored(n, chain->local->factor, force);
}
