/*
 * Closures of a system: their rows, the Delassus operator and its factors, and the projection that
 * keeps them closed. RT safe.
 */
#include <math.h>
#include <string.h>

#include "rt/dynamics/system_private.h"

#define SAME_ROW 1e-11 /* of a row's share that is left beside others: less follows from them */
#define NO_ROW   1e-13 /* of the largest J D^-1 J^T: less is moved by nothing */
#define CLOSED   1e-15 /* of the length: no more to project */
#define FLOOR    1e-12 /* of the length: below it, projection goes on while it halves what is left */

/* ---- closures ------------------------------------------------------------------------------- */

/* Rows of positions as functions of b_from_a: with b's axes R, d = p_a - p_b, and what
 * a does as b sees it [v; w] = [v_a - v_b - w_b x d; w_a - w_b], a row (f, t) on a is
 * (-f, -t - d x f) on b, and
 *   J-dot v = drift - f . (w_b x (w_b x d) + 2 w_b x v) - t . (w_b x w) */
static void pose_rows(const gw_system *s, const gw_closure_def *c, gw_closure_row *r)
{
    const gw_system_body *a = &s->bodies[c->a], *b = c->b >= 0 ? &s->bodies[c->b] : NULL;
    gw_pose world_from_b = b ? b->pose : gw_pose_identity();
    gw_twist moves = b ? b->twist : (gw_twist){0};
    gw_pose b_from_world = gw_pose_inverse(&world_from_b);
    gw_pose b_from_a = gw_pose_mul(&b_from_world, &a->pose);
    gw_vec3 d = gw_sub(a->pose.p, world_from_b.p);
    gw_vec3 v = gw_sub(gw_sub(a->twist.v, moves.v), gw_cross(moves.w, d));
    gw_vec3 w = gw_sub(a->twist.w, moves.w);
    gw_twist seen = {gw_unrotate(world_from_b.q, v), gw_unrotate(world_from_b.q, w)};
    double h[GW_MAX_ROWS], j[GW_MAX_ROWS][6], drift[GW_MAX_ROWS];
    gw_rows_value_and_jacobian(c->rows, c->row_count, &b_from_a, h, j);
    gw_rows_bias(c->rows, c->row_count, &b_from_a, &seen, drift);
    gw_vec3 turning =
        gw_add(gw_cross(moves.w, gw_cross(moves.w, d)), gw_scale(2, gw_cross(moves.w, v)));
    for (int k = 0; k < c->row_count; k++, r++) {
        gw_vec3 f = gw_rotate(world_from_b.q, gw_linear_part(j[k]));
        gw_vec3 t = gw_rotate(world_from_b.q, gw_angular_part(j[k]));
        *r = (gw_closure_row){.a = c->a, .b = c->b};
        gw_spatial_set(r->on_a, f, t);
        gw_spatial_set(r->on_b, gw_neg(f), gw_neg(gw_add(t, gw_cross(d, f))));
        r->value = h[k];
        r->rate = gw_dot(f, v) + gw_dot(t, w);
        r->bias = drift[k] - gw_dot(f, turning) - gw_dot(t, gw_cross(moves.w, w));
        r->scale = c->rows[k].kind == GW_ROW_ANGLE ? s->length : 1;
    }
}

void gw_closures_update_rows(gw_system *s)
{
    gw_closure_row *positions = s->rows, *velocities = s->rows + s->position_rows;
    for (int i = 0; i < s->closure_count; i++) {
        const gw_closure_def *c = &s->closures[i];
        int position_count, velocity_count;
        gw_closure_row_counts(c, &position_count, &velocity_count);
        if (c->kind == GW_CLOSURE_ROWS)
            pose_rows(s, c, positions);
        else
            gw_contact_rows(s, c, positions, velocities);
        positions += position_count;
        velocities += velocity_count;
    }
}

static void push(gw_system *s, const gw_closure_row *r, double by)
{
    s->bodies[r->a].rest[r->coordinate_a] += by * r->on_coordinate_a;
    if (r->b >= 0)
        s->bodies[r->b].rest[r->coordinate_b] += by * r->on_coordinate_b;
    for (int l = 0; l < 6; l++) {
        s->bodies[r->a].force[l] += by * r->on_a[l];
        if (r->b >= 0)
            s->bodies[r->b].force[l] += by * r->on_b[l];
    }
}

double gw_closures_row_of(const gw_system *s, const gw_closure_row *r)
{
    const gw_system_body *a = &s->bodies[r->a], *b = r->b >= 0 ? &s->bodies[r->b] : NULL;
    double sum = gw_dot6(r->on_a, a->acceleration) + r->on_coordinate_a * a->rest[r->coordinate_a];
    if (b)
        sum += gw_dot6(r->on_b, b->acceleration) + r->on_coordinate_b * b->rest[r->coordinate_b];
    return sum;
}

/* The Delassus operator J D^-1 J^T in metres, factored with the row that has most left first; rows
 * of which nothing is left beside those before them are out of it. */
void gw_closures_factor(gw_system *s, int count)
{
    int m = s->active_rows = count;
    double *k = s->delassus, *l = s->factor, most = 0;
    for (int i = 0; i < m; i++) {
        gw_tree_clear_forces(s);
        push(s, &s->rows[i], s->rows[i].scale);
        gw_tree_accelerations(s, false);
        for (int j = 0; j < m; j++)
            k[i * m + j] = s->rows[j].scale * gw_closures_row_of(s, &s->rows[j]);
        if (s->rows[i].compliant)
            k[i * m + i] += 1;
        else
            most = fmax(most, k[i * m + i]);
        s->order[i] = i;
    }
    s->rank = 0;
    for (int at = 0; at < m; at++) {
        /* pivot: the largest share of its own diagonal that is left */
        int best = -1;
        double left = SAME_ROW;
        for (int i = at; i < m; i++) {
            int r = s->order[i];
            double d = k[r * m + r], rest = d;
            if (!s->rows[r].compliant && d <= NO_ROW * most)
                continue;
            for (int j = 0; j < at; j++)
                rest -= l[r * m + j] * l[r * m + j];
            if (rest / d > left)
                left = rest / d, best = i;
        }
        if (best < 0)
            break;
        int r = s->order[best];
        s->order[best] = s->order[at];
        s->order[at] = r;
        double pivot = sqrt(left * k[r * m + r]);
        l[r * m + at] = pivot;
        for (int i = at + 1; i < m; i++) {
            int q = s->order[i];
            double sum = k[q * m + r];
            for (int j = 0; j < at; j++)
                sum -= l[q * m + j] * l[r * m + j];
            l[q * m + at] = sum / pivot;
        }
        s->rank = at + 1;
    }
}

/* multiplier := (J D^-1 J^T)^+ right, both of rows in metres. */
void gw_closures_solve(gw_system *s)
{
    int m = s->active_rows;
    const double *l = s->factor;
    double *x = s->multiplier;
    memset(x, 0, (size_t)m * sizeof *x);
    for (int i = 0; i < s->rank; i++) {
        int r = s->order[i];
        x[r] = s->right[r];
        for (int j = 0; j < i; j++)
            x[r] -= l[r * m + j] * x[s->order[j]];
        x[r] /= l[r * m + i];
    }
    for (int i = s->rank - 1; i >= 0; i--) {
        int r = s->order[i];
        for (int j = i + 1; j < s->rank; j++)
            x[r] -= l[s->order[j] * m + i] * x[s->order[j]];
        x[r] /= l[r * m + i];
    }
}

void gw_closures_push_multipliers(gw_system *s)
{
    for (int i = 0; i < s->active_rows; i++)
        push(s, &s->rows[i], s->rows[i].scale * s->multiplier[i]);
}

/* ---- projection ----------------------------------------------------------------------------- */

double gw_closures_residual(const gw_system *s)
{
    double worst = 0;
    for (int i = 0; i < s->position_rows; i++)
        worst = fmax(worst, fabs(s->rows[i].scale * s->rows[i].value));
    return worst;
}

void gw_closures_answer(gw_system *s)
{
    gw_closures_solve(s);
    gw_tree_clear_forces(s);
    gw_closures_push_multipliers(s);
    gw_tree_accelerations(s, false);
}

double gw_closures_project(gw_system *s, int steps)
{
    double before = INFINITY, now = 0;
    gw_system_update(s);
    if (s->row_count == 0)
        return 0;
    for (int n = 0; n < steps; n++, before = now) {
        now = gw_closures_residual(s);
        if (now <= CLOSED * s->length || !(now < 0.5 * before || now > FLOOR * s->length))
            break;
        if (s->position_rows < s->row_count)
            gw_closures_factor(s, s->position_rows);
        for (int i = 0; i < s->position_rows; i++)
            s->right[i] = -s->rows[i].scale * s->rows[i].value;
        gw_closures_answer(s);
        for (int i = 0; i < s->body_count; i++) {
            gw_system_body *k = &s->bodies[i];
            gw_mobilizer_state from = k->joint;
            gw_mobilizer_move(k->def.joint, &from, k->rest, &k->joint);
        }
        gw_system_update(s);
    }
    for (int i = 0; i < s->row_count; i++)
        s->right[i] = -s->rows[i].scale * s->rows[i].rate;
    gw_closures_answer(s);
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] += s->bodies[i].rest[j];
    gw_tree_update_velocities(s);
    gw_closures_update_rows(s);
    return gw_closures_residual(s);
}
