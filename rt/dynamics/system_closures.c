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

/* A point of a stays in a plane of b: n . (X - f) - value. */
static void plane_row(const gw_row *row, const gw_body_frame *a, const gw_body_frame *b,
                      gw_closure_row *r)
{
    gw_vec3 arm = gw_mat3_mul(&a->turn, row->m), n = gw_mat3_mul(&b->turn, row->n);
    gw_vec3 c = gw_add(a->p, arm), c_dot = gw_add(a->twist.v, gw_cross(a->twist.w, arm));
    gw_vec3 f = gw_add(b->p, gw_mat3_mul(&b->turn, row->f));
    gw_put_point_row(r, a, b, c, c_dot, n, gw_cross(b->twist.w, n));
    r->value = gw_dot(n, gw_sub(c, f)) - row->value;
}

/* A direction u of a and one of b, n, keep their angle: n . u - value. */
static void angle_row(const gw_row *row, const gw_body_frame *a, const gw_body_frame *b,
                      double length, gw_closure_row *r)
{
    gw_vec3 u = gw_mat3_mul(&a->turn, row->m), n = gw_mat3_mul(&b->turn, row->n);
    gw_vec3 u_dot = gw_cross(a->twist.w, u), n_dot = gw_cross(b->twist.w, n);
    gw_put_spin_row(r, a, b, length, gw_cross(u, n),
                    gw_add(gw_cross(u_dot, n), gw_cross(u, n_dot)));
    r->value = gw_dot(n, u) - row->value;
}

/* Rows of positions as functions of b_from_a: with b's axes R, d = p_a - p_b, and what
 * a does as b sees it [v; w] = [v_a - v_b - w_b x d; w_a - w_b], a row (f, t) on a is
 * (-f, -t - d x f) on b, and
 *   J-dot v = drift - f . (w_b x (w_b x d) + 2 w_b x v) - t . (w_b x w) */
static void general_rows(const gw_system *s, const gw_closure_def *c, gw_closure_row *r)
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

static bool is_simple(const gw_row *row)
{
    return row->kind == GW_ROW_PLANE || row->kind == GW_ROW_ANGLE;
}

static void pose_rows(const gw_system *s, const gw_closure_def *c, gw_closure_row *rows)
{
    gw_body_frame a = gw_body_frame_of(s, c->a), b = gw_body_frame_of(s, c->b);
    for (int k = 0; k < c->row_count; k++)
        if (!is_simple(&c->rows[k])) {
            general_rows(s, c, rows);
            return;
        }
    for (int k = 0; k < c->row_count; k++) {
        rows[k].a = c->a, rows[k].b = c->b;
        if (c->rows[k].kind == GW_ROW_PLANE)
            plane_row(&c->rows[k], &a, &b, &rows[k]);
        else
            angle_row(&c->rows[k], &a, &b, s->length, &rows[k]);
    }
}

static void update_closure(const gw_system *s, int index)
{
    const gw_closure_def *c = &s->closures[index];
    const gw_closure_block *k = &s->blocks[index];
    gw_closure_row *rows = s->rows + k->first;
    if (c->kind == GW_CLOSURE_ROWS)
        pose_rows(s, c, rows);
    else
        gw_contact_rows(s, c, rows, rows + k->position_rows);
}

void gw_closures_update_rows(gw_system *s)
{
    for (int i = 0; i < s->closure_count; i++)
        update_closure(s, i);
}

static double simple_value(const gw_row *row, const gw_body_frame *a, const gw_body_frame *b)
{
    gw_vec3 m = gw_mat3_mul(&a->turn, row->m), n = gw_mat3_mul(&b->turn, row->n);
    if (row->kind == GW_ROW_PLANE)
        m = gw_sub(gw_add(a->p, m), gw_add(b->p, gw_mat3_mul(&b->turn, row->f)));
    return gw_dot(n, m) - row->value;
}

void gw_closures_update_values(gw_system *s)
{
    for (int i = 0; i < s->closure_count; i++) {
        const gw_closure_def *c = &s->closures[i];
        gw_body_frame a = gw_body_frame_of(s, c->a), b = gw_body_frame_of(s, c->b);
        bool simple = c->kind == GW_CLOSURE_ROWS;
        for (int k = 0; k < c->row_count && simple; k++)
            simple = is_simple(&c->rows[k]);
        for (int k = 0; k < c->row_count && simple; k++)
            s->rows[s->blocks[i].first + k].value = simple_value(&c->rows[k], &a, &b);
        if (!simple)
            update_closure(s, i);
    }
}

/* ---- multipliers ---------------------------------------------------------------------------- */

/* s->right loses what the joints' forces do to a block's rows. */
static void take_responses(gw_system *s, const gw_closure_block *c)
{
    double *right = s->right + c->first;
    const int *live = s->live + c->first;
    for (int l = 0; l < c->path_count; l++) {
        const gw_path_body *at = &s->path[c->path + l];
        const gw_system_body *k = &s->bodies[at->body];
        const double *x = s->answers + at->answers;
        double e[6];
        memcpy(e, k->rest, sizeof e);
        if (k->dof == 1)
            e[0] *= k->inverse[0];
        else
            gw_tree_solve_lower(k, e);
        for (int r = 0; r < c->active; r++)
            for (int j = 0; j < k->dof; j++)
                right[live[r]] -= x[r * k->dof + j] * e[j];
    }
}

/* u += L x lambda of a block's rows. */
static void give_multipliers(gw_system *s, const gw_closure_block *c)
{
    const double *multiplier = s->solution + c->first;
    for (int l = 0; l < c->path_count; l++) {
        const gw_path_body *at = &s->path[c->path + l];
        gw_system_body *k = &s->bodies[at->body];
        const double *x = s->answers + at->answers;
        double e[6] = {0};
        for (int r = 0; r < c->active; r++)
            for (int j = 0; j < k->dof; j++)
                e[j] += x[r * k->dof + j] * multiplier[r];
        for (int j = 0; j < k->dof; j++)
            for (int n = 0; n <= j; n++)
                k->rest[j] += k->chol[j][n] * e[n];
    }
}

void gw_closures_respond(gw_system *s)
{
    for (int i = 0; i < s->block_count; i++)
        if (s->blocks[i].active > 0)
            take_responses(s, &s->blocks[i]);
    gw_closures_solve(s);
    for (int i = 0; i < s->block_count; i++)
        if (s->blocks[i].active > 0)
            give_multipliers(s, &s->blocks[i]);
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
        for (int n = 0; n < s->blocks[i].asked; n++) {
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

#define KEPT 1e12 /* of a joint's inertia, added to one that keeps its position or velocity */

/* ---- projection ----------------------------------------------------------------------------- */

double gw_closure_residual(const gw_system *s, int closure)
{
    double worst = 0;
    for (int n = 0; n < s->blocks[closure].position_rows; n++) {
        const gw_closure_row *r = &s->rows[s->blocks[closure].first + n];
        worst = fmax(worst, fabs(r->scale * r->value));
    }
    return worst;
}

double gw_closures_residual(const gw_system *s)
{
    double worst = 0;
    for (int i = 0; i < s->closure_count; i++)
        worst = fmax(worst, gw_closure_residual(s, i));
    return worst;
}

#define FARTHEST 0.3 /* rad, or of the length: no joint goes farther in one Newton step */

/* Newton's step, or as much of it as takes no joint too far: rows are linear but near by. */
static double share_of_step(const gw_system *s)
{
    double most = 0;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        for (int j = 0; j < k->dof; j++) {
            bool turns = gw_mobilizers[k->def.joint].turns >> j & 1;
            most = fmax(most, fabs(k->rest[j]) / (turns ? 1 : s->length));
        }
    }
    return most > FARTHEST ? FARTHEST / most : 1;
}

/* Positions by what the active rows ask for; velocity rows ask for none. */
static void move_onto_rows(gw_system *s)
{
    for (int i = 0; i < s->block_count; i++)
        for (int n = 0; n < s->blocks[i].asked; n++) {
            const gw_closure_row *r = &s->rows[s->blocks[i].first + n];
            bool closes = i < s->closure_count && n < s->blocks[i].position_rows;
            s->right[s->blocks[i].first + n] = closes ? -r->scale * r->value : 0;
        }
    gw_closures_answer(s);
    double share = share_of_step(s);
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        gw_mobilizer_state from = k->joint;
        for (int j = 0; j < k->dof && share < 1; j++)
            k->rest[j] *= share;
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

/* Everything for the joints' states, with the inertia of those that keep their position or
 * velocity. */
static void update_kept(gw_system *s, bool velocities, gw_active_rows rows)
{
    gw_system_update(s);
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        bool kept = velocities ? k->def.keeps_velocity : k->def.keeps_position;
        for (int j = 0; j < k->dof; j++)
            s->added[k->first + j] = kept ? KEPT * gw_dot6(k->columns[j], k->pulled[j]) : 0;
    }
    gw_tree_articulate(s, 0, s->added);
    gw_closures_factor(s, rows);
}

void gw_closures_assemble(gw_system *s, int steps)
{
    double before = INFINITY, now = 0;
    bool kept = false;
    for (int i = 0; i < s->body_count; i++)
        kept = kept || s->bodies[i].def.keeps_position || s->bodies[i].def.keeps_velocity;
    for (int n = 0; n < steps && kept && s->row_count > 0; n++, before = now) {
        update_kept(s, false, GW_ROWS_OF_POSITIONS);
        now = gw_closures_residual(s);
        if (!is_open(s, now, before))
            break;
        move_onto_rows(s);
    }
    if (kept && s->row_count > 0) {
        update_kept(s, true, GW_ROWS_OF_CLOSURES);
        project_velocities(s);
    }
}

void gw_closures_settle(gw_system *s)
{
    double before = INFINITY, now = INFINITY, weight = 0;
    gw_tree_update_positions(s);
    if (s->row_count == 0) {
        gw_system_update_velocities(s);
        return;
    }
    gw_closures_update_values(s);
    weight = gw_system_potential(s);
    for (int n = 0; n <= SETTLES; n++, before = now) {
        now = gw_closures_residual(s);
        if (n == SETTLES || !is_open(s, now, before))
            break;
        move_onto_rows(s);
        gw_tree_update_positions(s);
        gw_closures_update_values(s);
    }
    if (now > FLOOR * s->length) {
        gw_closures_project(s, SETTLES);
        return;
    }
    gw_system_update_velocities(s);
    s->projected += project_velocities(s) + gw_system_potential(s) - weight;
}
