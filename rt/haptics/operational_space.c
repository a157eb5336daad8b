/*
 * Resisted directions, inverse inertia and state of the held frame. A Jacobian of more than six
 * columns is first brought to six rows by Householder reflections, which leave J J^T as it is.
 * On the loop's or the world's thread, RT safe.
 */
#include "rt/haptics/operational_space.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/base/small.h"

#define LENGTH    0.05
#define THRESHOLD 1e-3
#define FADE      10.0
#define ROUNDING  1e-12 /* of the largest squared singular value: rounding of squares */

/* Ratios s_i / s_1: directions are fully resisted below *low, and free from *high on. */
static void ratios_of(const gw_resisted_def *def, double *low, double *high)
{
    *low = *high = def->threshold > 0 ? def->threshold : THRESHOLD;
    if (def->weighting == GW_WEIGHTS_SMOOTH)
        *high *= def->fade > 1 ? def->fade : FADE;
}

/* 1 up to `low`, 0 from `high` on, between them 1 - 10 t^3 + 15 t^4 - 6 t^5: two continuous
 * derivatives, so that P(J J^T) has them too. */
static double weight_of(const gw_resisted_def *def, double ratio)
{
    double low, high;
    ratios_of(def, &low, &high);
    if (def->weighting == GW_WEIGHTS_ON_OFF)
        return ratio <= low ? 1 : 0;
    double t = fmin(fmax((ratio - low) / (high - low), 0), 1);
    return 1 - t * t * t * (10 + t * (6 * t - 15));
}

/* rows x 6 to at most six rows with the same A^T A: R of A = Q R. */
static void reduce_to_triangle(int rows, double (*a)[6])
{
    for (int k = 0; k < 6 && k < rows - 1; k++) {
        double norm2 = 0;
        for (int i = k; i < rows; i++)
            norm2 += a[i][k] * a[i][k];
        if (!(norm2 > 0))
            continue;
        double norm = a[k][k] > 0 ? -sqrt(norm2) : sqrt(norm2);
        double first = a[k][k] - norm; /* u = (first, a[k+1..][k]), |u|^2 = 2 (norm2 - norm a_kk) */
        double scale = 1 / (norm2 - norm * a[k][k]);
        for (int j = k + 1; j < 6; j++) {
            double dot = first * a[k][j];
            for (int i = k + 1; i < rows; i++)
                dot += a[i][k] * a[i][j];
            dot *= scale;
            a[k][j] -= dot * first;
            for (int i = k + 1; i < rows; i++)
                a[i][j] -= dot * a[i][k];
        }
        a[k][k] = norm;
        for (int i = k + 1; i < rows; i++)
            a[i][k] = 0;
    }
}

/* True if six rows certainly have no singular value below `high` times the largest, which is at
 * most the root of |A^T A|: A^T A - high^2 |A^T A| I is positive definite, by a Cholesky
 * factorisation. */
static bool is_surely_regular(const double (*a)[6], double high)
{
    double g[6][6], sum = 0;
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) {
            g[i][j] = 0;
            for (int k = 0; k < 6; k++)
                g[i][j] += a[k][i] * a[k][j];
            sum += (i == j ? 1 : 2) * g[i][j] * g[i][j];
        }
    double shift = (high * high + ROUNDING) * sqrt(sum);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j <= i; j++) {
            double rest = g[i][j] - (i == j ? shift : 0);
            for (int k = 0; k < j; k++)
                rest -= g[i][k] * g[j][k];
            if (i == j && !(rest > 0))
                return false;
            g[i][j] = i == j ? sqrt(rest) : rest / g[j][j];
        }
    return true;
}

void gw_resisted_directions_of(const gw_resisted_def *def, int dof, const double (*jacobian)[6],
                               gw_resisted_directions *out)
{
    double a[GW_MODEL_MAX_DOF][6], v[6][6];
    assert(dof >= 0 && dof <= GW_MODEL_MAX_DOF);
    *out = (gw_resisted_directions){.length = def->length > 0 ? def->length : LENGTH};
    for (int i = 0; i < dof; i++)
        for (int j = 0; j < 6; j++)
            a[i][j] = j < 3 ? jacobian[i][j] / out->length : def->point ? 0 : jacobian[i][j];
    if (dof > 6)
        reduce_to_triangle(dof, a);
    double low, high;
    ratios_of(def, &low, &high);
    if (dof >= 6 && !def->point && is_surely_regular((const double(*)[6])a, high))
        return;
    gw_small_svd(dof < 6 ? dof : 6, a, out->singular, v);
    double largest = out->singular[0];
    for (int k = 5; k >= 0; k--) {
        double w = largest > 0 ? weight_of(def, out->singular[k] / largest) : 1;
        bool turn = v[0][k] == 0 && v[1][k] == 0 && v[2][k] == 0;
        if (!(w > 0) || (def->point && turn))
            continue;
        for (int j = 0; j < 6; j++)
            out->direction[out->count][j] = v[j][k];
        out->weight[out->count++] = w;
    }
}

#define BEYOND 0.1 /* length of what is left of a unit vector that leads beyond */

/* a - (a . n) n */
static void reject_along(double a[6], const double n[6])
{
    double along = 0;
    for (int i = 0; i < 6; i++)
        along += a[i] * n[i];
    for (int i = 0; i < 6; i++)
        a[i] -= along * n[i];
}

void gw_resisted_directions_beyond(const gw_resisted_directions *all,
                                   const gw_resisted_directions *part, gw_resisted_directions *out)
{
    gw_resisted_directions found = {.length = all->length};
    memcpy(found.singular, all->singular, sizeof found.singular);
    for (int k = 0; k < all->count; k++) {
        double *a = found.direction[found.count], norm2 = 0;
        memcpy(a, all->direction[k], sizeof all->direction[k]);
        for (int i = 0; i < part->count; i++)
            reject_along(a, part->direction[i]);
        for (int i = 0; i < found.count; i++)
            reject_along(a, found.direction[i]);
        for (int i = 0; i < 6; i++)
            norm2 += a[i] * a[i];
        if (norm2 < BEYOND * BEYOND)
            continue;
        for (int i = 0; i < 6; i++)
            a[i] /= sqrt(norm2);
        found.weight[found.count++] = all->weight[k];
    }
    *out = found;
}

/* D^-1 J^T, a row of 6 for each generalised velocity. */
static void apply_inverse(const gw_model *model, int dof, const double (*jacobian)[6],
                          double (*out)[6])
{
    double force[GW_MODEL_MAX_DOF], a[GW_MODEL_MAX_DOF];
    for (int j = 0; j < 6; j++) {
        bool any = false;
        for (int i = 0; i < dof; i++) {
            force[i] = jacobian[i][j];
            any = any || force[i] != 0;
            a[i] = 0;
        }
        if (any) /* a planar chain has three rows of zeros */
            gw_model_apply_inverse(model, force, a);
        for (int i = 0; i < dof; i++)
            out[i][j] = a[i];
    }
}

static bool is_zero(const double a[6])
{
    return a[0] == 0 && a[1] == 0 && a[2] == 0 && a[3] == 0 && a[4] == 0 && a[5] == 0;
}

/* J (D^-1 J_b^T). Most coordinates of a tree do not move the held frame. */
static void at_held_frame(int dof, const double (*jacobian)[6], const double (*applied)[6],
                          double out[6][6])
{
    memset(out, 0, 36 * sizeof(double));
    for (int k = 0; k < dof; k++) {
        if (is_zero(jacobian[k]))
            continue;
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++)
                out[i][j] += jacobian[k][i] * applied[k][j];
    }
}

/* J (D^-1 J^T), symmetric but for rounding, which is averaged away. */
static void inverse_inertia(int dof, const double (*jacobian)[6], const double (*applied)[6],
                            double out[6][6])
{
    double full[6][6];
    at_held_frame(dof, jacobian, applied, full);
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            out[i][j] = 0.5 * (full[i][j] + full[j][i]);
}

/* a - P a */
static void subtract_projection(const gw_resisted_directions *directions, double a[6])
{
    double rest[6];
    memcpy(rest, a, sizeof rest);
    for (int k = 0; k < directions->count; k++) {
        const double *n = directions->direction[k];
        double along = 0;
        for (int i = 0; i < 6; i++)
            along += n[i] * a[i];
        for (int i = 0; i < 6; i++)
            rest[i] -= directions->weight[k] * along * n[i];
    }
    memcpy(a, rest, sizeof rest);
}

gw_twist gw_resisted_free_part_of_twist(const gw_resisted_directions *directions,
                                        const gw_twist *twist)
{
    double l = directions->length;
    double a[6] = {twist->v.x / l, twist->v.y / l, twist->v.z / l,
                   twist->w.x,     twist->w.y,     twist->w.z};
    subtract_projection(directions, a);
    return (gw_twist){{l * a[0], l * a[1], l * a[2]}, {a[3], a[4], a[5]}};
}

gw_wrench gw_resisted_free_part_of_wrench(const gw_resisted_directions *directions,
                                          const gw_wrench *wrench)
{
    double l = directions->length;
    double a[6] = {l * wrench->f.x, l * wrench->f.y, l * wrench->f.z,
                   wrench->t.x,     wrench->t.y,     wrench->t.z};
    subtract_projection(directions, a);
    return (gw_wrench){{a[0] / l, a[1] / l, a[2] / l}, {a[3], a[4], a[5]}};
}

void gw_operational_inverse_inertia(const gw_model *model, int dof, const double (*jacobian)[6],
                                    double out[6][6])
{
    assert(model && dof >= 0 && jacobian && out);
    double applied[GW_MODEL_MAX_DOF][6];
    apply_inverse(model, dof, jacobian, applied);
    inverse_inertia(dof, jacobian, (const double(*)[6])applied, out);
}

void gw_operational_inverse_between(const gw_model *a, const gw_model *b, double out[6][6])
{
    assert(a && b && out && gw_model_dof(a) == gw_model_dof(b));
    double of_a[GW_MODEL_MAX_DOF][6], of_b[GW_MODEL_MAX_DOF][6], applied[GW_MODEL_MAX_DOF][6];
    double unused[6];
    int dof = gw_model_dof(a);
    gw_model_jacobian(a, of_a, unused);
    gw_model_jacobian(b, of_b, unused);
    apply_inverse(b, dof, (const double(*)[6])of_b, applied);
    at_held_frame(dof, (const double(*)[6])of_a, (const double(*)[6])applied, out);
}

/* ---- state at the held frame ---------------------------------------------------------------- */

/* out += J a */
static void add_at_held_frame(int dof, const double (*jacobian)[6], const double *a, double out[6])
{
    for (int k = 0; k < dof; k++)
        for (int i = 0; i < 6; i++)
            out[i] += jacobian[k][i] * a[k];
}

void gw_operational_body_inverse_inertia(const gw_model *model, int body, double *work,
                                         double out[6][6])
{
    size_t dof = (size_t)gw_model_dof(model);
    double *answer = work + 6 * dof;
    memset(work, 0, 6 * dof * sizeof *work);
    for (int i = 0; i < 6; i++) {
        double unit[6] = {0};
        unit[i] = 1;
        gw_wrench w = {{unit[0], unit[1], unit[2]}, {unit[3], unit[4], unit[5]}};
        gw_model_pull_back(model, body, &w, work + (size_t)i * dof);
    }
    for (int i = 0; i < 6; i++) {
        gw_model_apply_inverse(model, work + (size_t)i * dof, answer);
        for (int k = 0; k < 6; k++) {
            out[i][k] = 0;
            for (size_t j = 0; j < dof; j++)
                out[i][k] += work[(size_t)k * dof + j] * answer[j];
        }
    }
}

#define SAME_MOTION 1e-9  /* of the largest of J D^-1 J^T: less is no freedom */
#define NO_MOTION   1e-11 /* of the body's inverse mass: less is rounding, where rows lock a body */

/* The rank of a symmetric positive semidefinite 6 x 6 matrix whose entries are exact to `least`, by
 * Cholesky with pivots. */
static int rank_of(double m[6][6], double least)
{
    double largest = least / SAME_MOTION;
    for (int i = 0; i < 6; i++)
        largest = fmax(largest, m[i][i]);
    for (int rank = 0; rank < 6; rank++) {
        int best = 0;
        for (int i = 1; i < 6; i++)
            best = m[i][i] > m[best][best] ? i : best;
        double pivot = m[best][best];
        if (!(pivot > SAME_MOTION * largest))
            return rank;
        double row[6];
        memcpy(row, m[best], sizeof row);
        for (int i = 0; i < 6; i++)
            for (int k = 0; k < 6; k++)
                m[i][k] -= row[i] * row[k] / pivot;
    }
    return 6;
}

int gw_operational_body_freedoms(const gw_model *model, int body, double mass, double length,
                                 double *work)
{
    double inverse[6][6];
    gw_operational_body_inverse_inertia(model, body, work, inverse);
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++)
            inverse[i][k] *= (i < 3 ? 1 : length) * (k < 3 ? 1 : length);
    return rank_of(inverse, NO_MOTION / mass);
}

void gw_operational_state_of(const gw_model *model, double (*jacobian)[6],
                             gw_operational_state *out)
{
    assert(model && jacobian && out);
    double acceleration[GW_MODEL_MAX_DOF];
    const double(*columns)[6] = (const double(*)[6])jacobian;
    memset(out, 0, sizeof *out);
    out->dof = gw_model_dof(model);
    out->jacobian = columns;
    gw_model_held(model, &out->pose, &out->twist);
    gw_model_jacobian(model, jacobian, out->jdot_v);
    gw_operational_inverse_inertia(model, out->dof, columns, out->inverse_inertia);
    gw_model_free_acceleration(model, acceleration);
    add_at_held_frame(out->dof, columns, acceleration, out->free_acceleration);
}

/* The quadratic part c(v, v) of a(v) = a + b v + c(v, v) is (a(v) + a(-v)) / 2 - a(0). It excludes
 * forces that are odd in the velocities, such as dampers and friction. */
static void inertial_part(const gw_operational_state *state, double *ahead, const double *back,
                          const double *rest, double out[6])
{
    for (int k = 0; k < state->dof; k++)
        ahead[k] = 0.5 * (ahead[k] + back[k]) - rest[k];
    memset(out, 0, 6 * sizeof *out);
    add_at_held_frame(state->dof, state->jacobian, ahead, out);
}

void gw_operational_inertial_of(const gw_model *model, gw_operational_state *state)
{
    double ahead[GW_MODEL_MAX_DOF], back[GW_MODEL_MAX_DOF], rest[GW_MODEL_MAX_DOF];
    gw_model_free_acceleration_at(model, 1, ahead);
    gw_model_free_acceleration_at(model, -1, back);
    gw_model_free_acceleration_at(model, 0, rest);
    inertial_part(state, ahead, back, rest, state->inertial);
    double potential;
    gw_model_energy(model, &state->kinetic, &potential);
}

void gw_operational_over_of(const gw_model *model, double h, gw_operational_state *means,
                            gw_operational_state *state)
{
    double applied[GW_MODEL_MAX_DOF][6], force[GW_MODEL_MAX_DOF], a[GW_MODEL_MAX_DOF];
    double ahead[GW_MODEL_MAX_DOF], back[GW_MODEL_MAX_DOF], rest[GW_MODEL_MAX_DOF];
    if (!gw_model_takes_load(model) || !model->ops->free_acceleration_over)
        return;
    *means = *state;
    memset(means->free_acceleration, 0, sizeof means->free_acceleration);
    gw_model_free_acceleration_over(model, h, 1, ahead);
    add_at_held_frame(state->dof, state->jacobian, ahead, means->free_acceleration);
    gw_model_free_acceleration_over(model, h, -1, back);
    gw_model_free_acceleration_over(model, h, 0, rest);
    inertial_part(state, ahead, back, rest, means->inertial);
    for (int j = 0; j < 6; j++) {
        for (int i = 0; i < state->dof; i++)
            force[i] = state->jacobian[i][j];
        gw_model_apply_inverse_over(model, h, true, force, a);
        for (int i = 0; i < state->dof; i++)
            applied[i][j] = a[i];
    }
    inverse_inertia(state->dof, state->jacobian, (const double(*)[6])applied,
                    means->inverse_inertia);
    state->over = means;
}

void gw_operational_step_of(const gw_model *model, const double *impulse, gw_operational_step *out)
{
    double columns[GW_MODEL_MAX_DOF][6], change[GW_MODEL_MAX_DOF];
    memset(out, 0, sizeof *out);
    gw_model_held(model, &out->pose, &out->twist);
    gw_model_jacobian(model, columns, out->jdot_v);
    if (!impulse)
        return;
    gw_model_apply_inverse(model, impulse, change);
    add_at_held_frame(gw_model_dof(model), (const double(*)[6])columns, change,
                      out->impulse_velocity);
}

/* ---- a point --------------------------------------------------------------------------------- */

void gw_operational_linear_of(gw_operational_state *state)
{
    for (int i = 0; i < 6; i++)
        for (int j = 0; j < 6; j++)
            if (i >= 3 || j >= 3)
                state->inverse_inertia[i][j] = 0;
    memset(state->jdot_v + 3, 0, 3 * sizeof(double));
    memset(state->free_acceleration + 3, 0, 3 * sizeof(double));
    memset(state->inertial + 3, 0, 3 * sizeof(double));
}

void gw_operational_point_of(gw_operational_state *state, double (*jacobian)[6])
{
    state->pose.q = gw_quat_identity();
    state->twist.w = gw_v3(0, 0, 0);
    state->resisted = NULL;
    for (int k = 0; k < state->dof; k++)
        memset(jacobian[k] + 3, 0, 3 * sizeof(double));
    gw_operational_linear_of(state);
}

void gw_operational_point_step_of(gw_operational_step *step)
{
    step->pose.q = gw_quat_identity();
    step->twist.w = gw_v3(0, 0, 0);
    memset(step->jdot_v + 3, 0, 3 * sizeof(double));
    memset(step->impulse_velocity + 3, 0, 3 * sizeof(double));
}
