/*
 * The Jacobian of a held frame: columns of the tree, projected onto the motions that the rows of
 * closures allow, and its bias acceleration. They are kept for the state, as are the answers
 * D^-1 P w to its rows. RT safe.
 */
#include "rt/dynamics/system_jacobian.h"

#include <assert.h>
#include <string.h>

/* The columns of J Q with the projection Q = 1 - D^-1 A^T (A D^-1 A^T)^+ A onto the motions that
 * the rows A allow, row by row: Q^T j = j + A^T lambda for each row j of J. D^-1 Q^T j goes into
 * `answers` if not NULL. */
static void project_columns(gw_system *s, double (*columns)[6], double *answers)
{
    for (int l = 0; l < 6; l++) {
        for (int i = 0; i < s->dof; i++)
            s->generalised[i] = columns[i][l];
        gw_system_apply_inverse_inertia(s, false);
        if (answers)
            gw_system_gather(s, answers + l * s->dof);
        for (int i = 0; i < s->body_count; i++) {
            memset(s->bodies[i].force, 0, sizeof s->bodies[i].force);
            memset(s->bodies[i].rest, 0, sizeof s->bodies[i].rest);
        }
        gw_closures_push_multipliers(s);
        /* J_c^T of the multipliers' wrenches, from the leaves to the roots */
        for (int i = s->body_count - 1; i >= 0; i--) {
            gw_system_body *k = &s->bodies[i];
            for (int j = 0; j < k->dof; j++)
                columns[k->first + j][l] += k->rest[j] + gw_dot6(k->columns[j], k->force);
            if (k->def.parent < 0)
                continue;
            double *p = s->bodies[k->def.parent].force;
            gw_vec3 f = gw_linear_part(k->force);
            gw_vec3 t = gw_add(gw_angular_part(k->force), gw_cross(k->r, f));
            p[0] += f.x, p[1] += f.y, p[2] += f.z, p[3] += t.x, p[4] += t.y, p[5] += t.z;
        }
    }
}

/* The accelerations due to the rows' bias: (1 - Q) v-dot. */
static void answer_bias(gw_system *s)
{
    gw_closures_set_bias(s);
    gw_closures_apply_inverse(s);
}

/* Columns of the Jacobian of a point `at` fixed to a body, by the path to the root. */
static void tree_columns(gw_system *s, int body, gw_vec3 at, double (*columns)[6])
{
    gw_planar_expand(s);
    memset(columns, 0, (size_t)s->dof * sizeof *columns);
    for (int i = body; i >= 0; i = s->bodies[i].def.parent) {
        const gw_system_body *k = &s->bodies[i];
        gw_vec3 to = gw_sub(at, k->pose.p);
        for (int j = 0; j < k->dof; j++) {
            gw_vec3 w = gw_angular_part(k->columns[j]);
            gw_spatial_set(columns[k->first + j],
                           gw_add(gw_linear_part(k->columns[j]), gw_cross(w, to)), w);
        }
    }
}

bool gw_system_positional_of(gw_system *s, int body, const gw_pose *body_from_held,
                             double (*columns)[6])
{
    assert(body >= 0 && body < s->body_count);
    if (s->row_count == s->position_rows)
        return false;
    tree_columns(s, body, gw_pose_point(&s->bodies[body].pose, body_from_held->p), columns);
    gw_closures_factor(s, GW_ROWS_OF_POSITIONS);
    project_columns(s, columns, NULL);
    gw_closures_factor(s, GW_ROWS_OF_CLOSURES);
    return true;
}

static void compute_jacobian(gw_system *s, int body, const gw_pose *body_from_held,
                             gw_system_jacobian *out)
{
    const gw_system_body *held = &s->bodies[body];
    double(*columns)[6] = out->columns;
    gw_planar_expand(s);
    gw_vec3 arm = gw_rotate(held->pose.q, body_from_held->p), at = gw_add(held->pose.p, arm);
    gw_vec3 alpha = gw_angular_part(held->coasting);
    gw_vec3 a = gw_add(gw_linear_part(held->coasting), gw_cross(alpha, arm));
    a = gw_add(a, gw_cross(held->twist.w, gw_cross(held->twist.w, arm)));
    tree_columns(s, body, at, columns);
    if (s->row_count > 0) {
        project_columns(s, columns, out->answers);
        answer_bias(s);
        gw_twist asked = gw_acceleration_of(held);
        a = gw_add(a, gw_add(asked.v, gw_cross(asked.w, arm)));
        alpha = gw_add(alpha, asked.w);
    }
    gw_spatial_set(out->drift, a, alpha);
    out->stamp = s->stamp;
    out->body = body;
    out->body_from_held = *body_from_held;
    out->answered = s->row_count > 0 ? 0x3f : 0;
}

void gw_system_jacobian_of(gw_system *s, int slot, int body, const gw_pose *body_from_held,
                           double (*columns)[6], double *drift)
{
    assert(body >= 0 && body < s->body_count);
    gw_system_jacobian *x = &s->jacobian[slot];
    if (x->stamp != s->stamp || x->body != body ||
        memcmp(&x->body_from_held, body_from_held, sizeof *body_from_held) != 0)
        compute_jacobian(s, body, body_from_held, x);
    memcpy(columns, x->columns, (size_t)s->dof * sizeof *columns);
    memcpy(drift, x->drift, sizeof x->drift);
}

double *gw_system_answer_to(gw_system *s, const double *force, bool *kept)
{
    for (int slot = 0; slot < 2; slot++) {
        gw_system_jacobian *x = &s->jacobian[slot];
        for (int l = 0; l < 6 && x->stamp == s->stamp; l++) {
            int same = 0;
            while (same < s->dof && x->columns[same][l] == force[same])
                same++;
            if (same < s->dof)
                continue;
            *kept = x->answered >> l & 1;
            x->answered |= 1u << l;
            return x->answers + l * s->dof;
        }
    }
    return NULL;
}
