/*
 * Closures of a system: their rows, multipliers, and the projection that keeps them closed. RT
 * safe.
 */
#include <math.h>
#include <string.h>

#include "rt/dynamics/system_private.h"

#define CLOSED  1e-15 /* of the length: no more to project */
#define FLOOR   1e-12 /* of the length: below it, projection goes on while it halves what is left */
#define SETTLES 4     /* projections of positions after a substep, at most */

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
    for (int i = 0; i < s->closure_count; i++) {
        const gw_closure_def *c = &s->closures[i];
        gw_closure_row *rows = s->rows + s->blocks[i].first;
        if (c->kind == GW_CLOSURE_ROWS)
            pose_rows(s, c, rows);
        else
            gw_contact_rows(s, c, rows, rows + s->blocks[i].position_rows);
    }
}

/* ---- multipliers ---------------------------------------------------------------------------- */

/* e = L^-1 u of a joint. */
static void solve_joint(const gw_system_body *k, double *e)
{
    memcpy(e, k->rest, (size_t)k->dof * sizeof *e);
    gw_tree_solve_lower(k, e);
}

void gw_closures_respond(gw_system *s)
{
    /* what the joints' forces do to the rows */
    for (int i = 0; i < s->block_count; i++) {
        const gw_closure_block *c = &s->blocks[i];
        for (int l = 0; l < c->path_count && c->active > 0; l++) {
            const gw_path_body *at = &s->path[c->path + l];
            const gw_system_body *k = &s->bodies[at->body];
            double e[6];
            solve_joint(k, e);
            for (int r = 0; r < c->active; r++)
                for (int j = 0; j < k->dof; j++)
                    s->right[c->first + r] -= s->answers[at->answers + r * k->dof + j] * e[j];
        }
    }
    gw_closures_solve(s);
    /* u += L x lambda */
    for (int i = 0; i < s->block_count; i++) {
        const gw_closure_block *c = &s->blocks[i];
        for (int l = 0; l < c->path_count && c->active > 0; l++) {
            const gw_path_body *at = &s->path[c->path + l];
            gw_system_body *k = &s->bodies[at->body];
            double e[6] = {0};
            for (int r = 0; r < c->active; r++)
                for (int j = 0; j < k->dof; j++)
                    e[j] += s->answers[at->answers + r * k->dof + j] * s->multiplier[c->first + r];
            for (int j = 0; j < k->dof; j++)
                for (int n = 0; n <= j; n++)
                    k->rest[j] += k->chol[j][n] * e[n];
        }
    }
}

void gw_closures_answer(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++)
        memset(s->bodies[i].rest, 0, sizeof s->bodies[i].rest);
    gw_closures_respond(s);
    gw_tree_accelerate(s);
}

void gw_closures_push_multipliers(gw_system *s)
{
    for (int i = 0; i < s->block_count; i++)
        for (int n = 0; n < s->blocks[i].active; n++) {
            const gw_closure_row *r = &s->rows[s->blocks[i].first + n];
            double by = r->scale * s->multiplier[s->blocks[i].first + n];
            gw_system_body *a = &s->bodies[r->a], *b = r->b >= 0 ? &s->bodies[r->b] : NULL;
            a->rest[r->coordinate_a] += by * r->on_coordinate_a;
            if (b)
                b->rest[r->coordinate_b] += by * r->on_coordinate_b;
            for (int l = 0; l < 6; l++) {
                a->force[l] += by * r->on_a[l];
                if (b)
                    b->force[l] += by * r->on_b[l];
            }
        }
}

/* ---- projection ----------------------------------------------------------------------------- */

double gw_closures_residual(const gw_system *s)
{
    double worst = 0;
    for (int i = 0; i < s->closure_count; i++)
        for (int n = 0; n < s->blocks[i].position_rows; n++) {
            const gw_closure_row *r = &s->rows[s->blocks[i].first + n];
            worst = fmax(worst, fabs(r->scale * r->value));
        }
    return worst;
}

/* Positions by what the active rows ask for; velocity rows ask for none. */
static void move_onto_rows(gw_system *s)
{
    for (int i = 0; i < s->block_count; i++)
        for (int n = 0; n < s->blocks[i].active; n++) {
            const gw_closure_row *r = &s->rows[s->blocks[i].first + n];
            bool closes = i < s->closure_count && n < s->blocks[i].position_rows;
            s->right[s->blocks[i].first + n] = closes ? -r->scale * r->value : 0;
        }
    gw_closures_answer(s);
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        gw_mobilizer_state from = k->joint;
        gw_mobilizer_move(k->def.joint, &from, k->rest, &k->joint);
    }
}

/* Velocities by J v = 0; everything else is up to date. Returns the kinetic energy that it brings.
 */
static double project_velocities(gw_system *s)
{
    double energy = 0;
    for (int i = 0; i < s->row_count; i++)
        s->right[i] = -s->rows[i].scale * s->rows[i].rate;
    gw_closures_answer(s);
    for (int i = 0; i < s->row_count; i++)
        energy += 0.5 * s->multiplier[i] * s->rows[i].scale * s->rows[i].rate;
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] += s->bodies[i].rest[j];
    gw_tree_update_velocities(s);
    gw_closures_update_rows(s);
    return energy;
}

/* Whether `now` of the rows is worth a further projection, after `before`. */
static bool is_open(const gw_system *s, double now, double before)
{
    return now > CLOSED * s->length && (now < 0.5 * before || now > FLOOR * s->length);
}

double gw_closures_project(gw_system *s, int steps)
{
    double before = INFINITY, now = 0;
    gw_system_update(s);
    if (s->row_count == 0)
        return 0;
    for (int n = 0; n < steps; n++, before = now) {
        now = gw_closures_residual(s);
        if (!is_open(s, now, before))
            break;
        gw_closures_factor(s, GW_ROWS_OF_POSITIONS);
        move_onto_rows(s);
        gw_system_update(s);
    }
    project_velocities(s);
    return gw_closures_residual(s);
}

void gw_closures_settle(gw_system *s)
{
    double before = INFINITY, now = INFINITY, weight = 0;
    gw_tree_update_positions(s);
    if (s->row_count == 0) {
        gw_system_update_velocities(s);
        return;
    }
    gw_closures_update_rows(s);
    weight = gw_system_potential(s);
    for (int n = 0; n <= SETTLES; n++, before = now) {
        now = gw_closures_residual(s);
        if (n == SETTLES || !is_open(s, now, before))
            break;
        move_onto_rows(s);
        gw_tree_update_positions(s);
        gw_closures_update_rows(s);
    }
    if (now > FLOOR * s->length) {
        gw_closures_project(s, SETTLES);
        return;
    }
    gw_system_update_velocities(s);
    s->projected += project_velocities(s) + gw_system_potential(s) - weight;
}
