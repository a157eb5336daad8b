/*
 * Closures of a system: their rows, multipliers, and the projection that keeps them closed. RT
 * safe.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/dynamics/surface_contact.h"
#include "rt/dynamics/system_unilateral.h"

#define CLOSED      1e-15 /* of the length: residual at which projection ends; */
#define FAR         10.0  /* of the length: with bodies farther from the world's origin */
#define FAR_CLOSED  2e-15 /* it ends at this share of the distance */
#define FLOOR       1e-12 /* of the length: below it, projection has to halve the residual */
#define CORRECTIONS 4     /* of positions after a substep, at most */

/* ---- closures ------------------------------------------------------------------------------- */

/* A point of a: arms from both origins, its velocity s relative to b, and the drift s x w_b + w_a x
 * (w_a x r_a) - w_b x (v_a + w_a x r_a - v_b); J-dot v = n . drift for a normal n fixed in b. */
typedef struct point_motion {
    gw_vec3 r_a, r_b, slip, drift;
} point_motion;

static point_motion motion_of_point(gw_vec3 in_a, const gw_system_body *a, const gw_system_body *b)
{
    point_motion x = {.r_a = gw_mat3_mul(&a->turn, in_a)};
    x.r_b = gw_add(gw_sub(a->pose.p, b->pose.p), x.r_a);
    gw_vec3 turning = gw_cross(a->twist.w, x.r_a);
    gw_vec3 apart = gw_add(gw_sub(a->twist.v, b->twist.v), turning);
    x.slip = gw_sub(apart, gw_cross(b->twist.w, x.r_b));
    x.drift = gw_sub(gw_cross(a->twist.w, turning), gw_cross(b->twist.w, gw_add(apart, x.slip)));
    return x;
}

/* A point of a stays in a plane of b: n . (X - f) - value. `rates`: these alone. */
static void plane_row(const gw_row *row, const point_motion *x, const gw_system_body *b, bool rates,
                      gw_closure_row *r)
{
    gw_vec3 n = rates ? gw_linear_part(r->on_a) : gw_mat3_mul(&b->turn, row->n);
    r->rate = gw_dot(n, x->slip);
    r->bias = gw_dot(n, x->drift);
    if (rates)
        return;
    gw_spatial_set(r->on_a, n, gw_cross(x->r_a, n));
    gw_spatial_set(r->on_b, gw_neg(n), gw_cross(n, x->r_b));
    r->scale = 1;
    r->value = gw_dot(n, gw_sub(x->r_b, gw_mat3_mul(&b->turn, row->f))) - row->value;
}

/* A direction u of a and a direction n of b keep their angle: n . u - value. */
static void angle_row(const gw_row *row, const gw_system_body *a, const gw_system_body *b,
                      double length, gw_closure_row *r)
{
    gw_vec3 u = gw_mat3_mul(&a->turn, row->m), n = gw_mat3_mul(&b->turn, row->n);
    gw_vec3 u_dot = gw_cross(a->twist.w, u), n_dot = gw_cross(b->twist.w, n);
    gw_put_spin_row(r, a->twist.w, b->twist.w, length, gw_cross(u, n),
                    gw_add(gw_cross(u_dot, n), gw_cross(u, n_dot)));
    r->value = gw_dot(n, u) - row->value;
}

/* Rows of positions as functions of b_from_a: with b's axes R, d = p_a - p_b, and what
 * a does as b sees it [v; w] = [v_a - v_b - w_b x d; w_a - w_b], a row (f, t) on a is
 * (-f, -t - d x f) on b, and
 *   J-dot v = drift - f . (w_b x (w_b x d) + 2 w_b x v) - t . (w_b x w) */
static void general_rows(const gw_system *s, gw_closure_def *c, gw_closure_row *r)
{
    const gw_system_body *a = &s->bodies[c->a], *b = gw_body_of(s, c->b);
    gw_pose world_from_b = b->pose;
    gw_twist moves = b->twist;
    gw_pose b_from_world = gw_pose_inverse(&world_from_b);
    gw_pose b_from_a = gw_pose_mul(&b_from_world, &a->pose);
    gw_vec3 d = gw_sub(a->pose.p, world_from_b.p);
    gw_vec3 v = gw_sub(gw_sub(a->twist.v, moves.v), gw_cross(moves.w, d));
    gw_vec3 w = gw_sub(a->twist.w, moves.w);
    gw_twist seen = {gw_unrotate(world_from_b.q, v), gw_unrotate(world_from_b.q, w)};
    double h[GW_MAX_ROWS], j[GW_MAX_ROWS][6], drift[GW_MAX_ROWS];
    int count = c->row_count + c->twins_held;
    gw_rows_follow(c->rows, count, &b_from_a);
    gw_rows_value_and_jacobian(c->rows, count, &b_from_a, h, j);
    gw_rows_bias(c->rows, count, &b_from_a, &seen, drift);
    gw_vec3 turning =
        gw_add(gw_cross(moves.w, gw_cross(moves.w, d)), gw_scale(2, gw_cross(moves.w, v)));
    for (int k = count; k < c->row_count + c->twin_count; k++)
        r[k] = (gw_closure_row){.a = c->a, .b = c->b, .scale = 1};
    for (int k = 0; k < count; k++, r++) {
        if (c->rows[k].implied) {
            *r = (gw_closure_row){.a = c->a, .b = c->b, .scale = 1};
            continue;
        }
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

static bool same_vector(gw_vec3 a, gw_vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static void simple_rows(const gw_system *s, const gw_closure_def *c, unsigned idle, bool rates,
                        gw_closure_row *rows)
{
    const gw_system_body *a = gw_body_of(s, c->a), *b = gw_body_of(s, c->b);
    const gw_row *last = NULL; /* the row that `point` belongs to */
    point_motion point = {0};
    for (int k = 0; k < c->row_count; k++) {
        const gw_row *row = &c->rows[k];
        if (idle >> k & 1)
            continue;
        rows[k].a = c->a, rows[k].b = c->b;
        if (row->kind == GW_ROW_ANGLE) {
            angle_row(row, a, b, s->length, &rows[k]);
            continue;
        }
        if (!last || !same_vector(last->m, row->m))
            point = motion_of_point(row->m, a, b);
        last = row;
        plane_row(row, &point, b, rates, &rows[k]);
    }
}

static void update_closure(const gw_system *s, int index, bool rates)
{
    gw_closure_def *c = &s->closures[index];
    const gw_closure_block *k = &s->blocks[index];
    gw_closure_row *rows = s->rows + k->first;
    if (c->unilateral && k->aside == gw_all_rows(k))
        return; /* inactive */
    if (k->simple)
        simple_rows(s, c, k->idle, rates, rows);
    else if (c->kind == GW_CLOSURE_ROWS)
        general_rows(s, c, rows);
    else
        gw_contact_rows(s, c, rows, rows + k->position_rows);
}

void gw_closures_flatten(const gw_system *s, const gw_closure_block *k)
{
    const gw_plane *a = s->bodies[k->a].flat.plane;
    const gw_plane *b = k->b >= 0 ? s->bodies[k->b].flat.plane : NULL;
    for (int n = 0; n < k->rows && (a || b); n++) {
        gw_closure_row *r = &s->rows[k->first + n];
        if ((k->idle & ~k->aside) >> n & 1)
            continue;
        if (a)
            gw_planar_wrench(a, gw_linear_part(r->on_a), gw_angular_part(r->on_a), r->flat_a);
        if (b)
            gw_planar_wrench(b, gw_linear_part(r->on_b), gw_angular_part(r->on_b), r->flat_b);
    }
}

/* Rows with offsets: g - share g_0; 0 for rows that are left out. */
static void take_offsets(gw_system *s)
{
    for (int i = 0; i < s->closure_count; i++)
        for (int n = 0; n < s->blocks[i].rows; n++) {
            int at = s->blocks[i].first + n;
            bool out = s->blocks[i].idle >> n & 1;
            s->rows[at].value = out ? 0 : s->rows[at].value - s->apart_now * s->row_offsets[at];
            s->rows[at].rate = out ? 0 : s->rows[at].rate - s->apart.rate * s->row_offsets[at];
        }
}

void gw_closures_leave_out_dependent(gw_system *s)
{
    for (int i = 0; i < s->closure_count; i++) {
        gw_closure_block *k = &s->blocks[i];
        k->left_out = 0;
        for (int at = k->rank; at < k->active; at++)
            k->left_out |= 1u << s->live[k->first + s->pivots[k->first + at]];
        k->idle = k->left_out | k->aside;
    }
}

void gw_closures_update_rows(gw_system *s)
{
    for (int i = 0; i < s->closure_count; i++) {
        update_closure(s, i, false);
        gw_closures_flatten(s, &s->blocks[i]);
    }
    if (s->is_offset)
        take_offsets(s);
}

void gw_closures_update_rates(gw_system *s)
{
    if (s->is_offset) {
        gw_closures_update_rows(s);
        return;
    }
    for (int i = 0; i < s->closure_count; i++) {
        update_closure(s, i, true);
        if (!s->blocks[i].simple) /* the directions of simple rows depend on positions only */
            gw_closures_flatten(s, &s->blocks[i]);
    }
}

/* True if a direction fixed in a planar body is normal to the plane. */
static bool is_across(const gw_planar_body *b, gw_vec3 direction)
{
    return gw_norm(gw_cross(gw_rotate(b->upright, direction), b->plane->normal)) < 1e-13;
}

void gw_closures_classify(gw_system *s)
{
    for (int i = 0; i < s->closure_count; i++) {
        const gw_closure_def *c = &s->closures[i];
        s->blocks[i].idle = s->blocks[i].aside | (s->is_offset ? s->blocks[i].left_out : 0);
        s->blocks[i].simple = c->kind == GW_CLOSURE_ROWS;
        for (int k = 0; k < c->row_count; k++)
            s->blocks[i].simple = s->blocks[i].simple && is_simple(&c->rows[k]);
    }
    gw_tree_update_positions(s);
    gw_tree_update_velocities(s);
    gw_closures_update_rows(s);
    for (int i = 0; i < s->closure_count; i++)
        s->closures[i].first = s->closures[i].contact.point;
    for (int i = 0; i < s->closure_count && !s->moving && !s->is_offset; i++) {
        const gw_closure_def *c = &s->closures[i];
        gw_planar_body a = s->bodies[c->a].flat, b = gw_body_of(s, c->b)->flat;
        if (c->b < 0)
            b.plane = a.plane;
        if (c->kind != GW_CLOSURE_ROWS || !a.plane || !b.plane ||
            gw_norm(gw_cross(a.plane->normal, b.plane->normal)) > 1e-13)
            continue;
        /* n . (X - f) with n across the plane, n . u with one of them across it */
        for (int k = 0; k < c->row_count; k++) {
            const gw_row *row = &c->rows[k];
            bool across_b = is_across(&b, row->n);
            bool across = row->kind == GW_ROW_PLANE   ? across_b
                          : row->kind == GW_ROW_ANGLE ? across_b || is_across(&a, row->m)
                                                      : false;
            s->blocks[i].idle |= (unsigned)across << k;
        }
    }
}

static double simple_value(const gw_row *row, const gw_system_body *a, const gw_system_body *b)
{
    gw_vec3 m = gw_mat3_mul(&a->turn, row->m), n = gw_mat3_mul(&b->turn, row->n);
    if (row->kind == GW_ROW_PLANE)
        m = gw_sub(gw_add(a->pose.p, m), gw_add(b->pose.p, gw_mat3_mul(&b->turn, row->f)));
    return gw_dot(n, m) - row->value;
}

/* The values of positions alone. */
static void update_values(gw_system *s)
{
    if (s->is_offset) {
        gw_closures_update_rows(s);
        return;
    }
    for (int i = 0; i < s->closure_count; i++) {
        const gw_closure_def *c = &s->closures[i];
        const gw_system_body *a = gw_body_of(s, c->a), *b = gw_body_of(s, c->b);
        const gw_closure_block *block = &s->blocks[i];
        for (int k = 0; k < c->row_count && block->simple; k++)
            if (!(block->idle >> k & 1))
                s->rows[block->first + k].value = simple_value(&c->rows[k], a, b);
        if (block->simple)
            continue;
        update_closure(s, i, false);
        gw_closures_flatten(s, block);
    }
}

/* ---- multipliers ---------------------------------------------------------------------------- */

/* s->right -= x . (L^-1 u): the accelerations of a block's rows by the joint forces. */
static void take_responses(gw_system *s, const gw_closure_block *c)
{
    double *right = s->right + c->first;
    for (int l = 0; l < c->path_count; l++) {
        const gw_path_body *at = &s->path[c->path + l];
        const gw_system_body *k = &s->bodies[at->body];
        const double *x = s->answers + at->answers;
        for (int r = 0; r < c->active; r++)
            for (int j = 0; j < k->dof; j++)
                right[r] -= *x++ * k->rest[j];
    }
}

/* L^-1 u += x lambda of a block's rows. */
static void give_multipliers(gw_system *s, const gw_closure_block *c)
{
    const double *multiplier = s->solution + c->first;
    for (int l = 0; l < c->path_count; l++) {
        const gw_path_body *at = &s->path[c->path + l];
        gw_system_body *k = &s->bodies[at->body];
        const double *x = s->answers + at->answers;
        for (int r = 0; r < c->active; r++)
            for (int j = 0; j < k->dof; j++)
                k->rest[j] += *x++ * multiplier[r];
    }
}

static void respond_once(gw_system *s)
{
    for (int i = 0; i < s->block_count; i++)
        if (s->blocks[i].active > 0)
            take_responses(s, &s->blocks[i]);
    gw_closures_solve(s);
    for (int i = 0; i < s->block_count; i++)
        if (s->blocks[i].active > 0)
            give_multipliers(s, &s->blocks[i]);
}

/* With a relative pivot p accelerations have a relative error of eps / p. Where rows have small
 * pivots, a step of iterative refinement reduces it to eps / sqrt(p). */
void gw_closures_respond(gw_system *s)
{
    int rows = s->rows_in_blocks;
    size_t size = (size_t)rows * sizeof(double);
    double *right = s->least_multipliers, *first = right + rows; /* scratch */
    bool refine = s->firm < s->rank;
    if (refine)
        memcpy(right, s->right, size);
    respond_once(s);
    if (!refine)
        return;
    memcpy(first, s->solution, size);
    memcpy(s->right, right, size);
    respond_once(s);
    for (int i = 0; i < rows; i++)
        s->solution[i] += first[i];
}

void gw_closures_apply_inverse(gw_system *s)
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
            const gw_closure_row *r = gw_active_row(s, &s->blocks[i], n);
            double by = r->scale * s->solution[s->blocks[i].first + n];
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
    assert(closure >= 0 && closure < s->closure_count);
    double worst = 0;
    for (int n = 0; n < s->blocks[closure].position_rows; n++) {
        const gw_closure_row *r = &s->rows[s->blocks[closure].first + n];
        worst = gw_worst(worst, fabs(r->scale * r->value));
    }
    return worst;
}

double gw_closures_residual(const gw_system *s)
{
    double worst = 0;
    for (int i = 0; i < s->closure_count; i++)
        worst = gw_worst(worst, gw_closure_residual(s, i));
    return worst;
}

#define FARTHEST 0.3 /* rad, or of the length: no joint goes farther in one Newton step */

/* The share of Newton's step that moves no joint by more than FARTHEST, where the linearisation is
 * not valid. */
static double share_of_step(gw_system *s)
{
    double most = 0;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        for (int j = 0; j < k->dof; j++) {
            bool turns = gw_mobilizers[k->def.joint].turns >> j & 1;
            most = fmax(most, fabs(k->rest[j]) / (turns ? 1 : s->length));
        }
    }
    s->corrected += fmin(most, FARTHEST);
    return most > FARTHEST ? FARTHEST / most : 1;
}

/* The right-hand sides of a Newton step of positions; returns the largest residual that it is to
 * remove (m). Near a posture where a row becomes dependent its residual g is of second order in the
 * distance x from there, and the step g / (dg/dx) = x / 2 leads into the posture, where nothing
 * holds the motion along the row: weak rows, whose residuals are small, are left out. */
static double set_residuals(gw_system *s)
{
    double worst = 0;
    for (int i = 0; i < s->block_count; i++)
        for (int n = 0; n < s->blocks[i].active; n++) {
            const gw_closure_block *k = &s->blocks[i];
            const gw_closure_row *r = gw_active_row(s, k, n);
            bool closes = i < s->closure_count && s->live[k->first + n] < k->position_rows;
            s->right[k->first + n] = closes ? -r->scale * r->value : 0;
        }
    for (int i = 0; i < s->firm && s->firm < s->rank; i++)
        worst = gw_worst(worst, fabs(s->right[s->dense_rows[s->dense_order[i]]]));
    return s->firm < s->rank ? worst : gw_closures_residual(s);
}

/* One such step, by the present factors. */
static void move_onto_rows(gw_system *s)
{
    int rank = s->rank;
    set_residuals(s);
    for (int i = s->firm; i < s->rank; i++)
        s->solution[s->dense_rows[s->dense_order[i]]] = 0;
    s->rank = s->firm;
    gw_closures_apply_inverse(s);
    s->rank = rank;
    double share = share_of_step(s);
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        gw_mobilizer_state from = k->joint;
        for (int j = 0; j < k->dof && share < 1; j++)
            k->rest[j] *= share;
        gw_joint_move(k, &from, k->rest, &k->joint);
    }
}

double gw_closures_project_velocities(gw_system *s)
{
    double energy = 0;
    for (int i = 0; i < s->closure_count; i++)
        for (int n = 0; n < s->blocks[i].active; n++) {
            const gw_closure_row *r = gw_active_row(s, &s->blocks[i], n);
            s->right[s->blocks[i].first + n] = -r->scale * r->rate;
        }
    gw_closures_apply_inverse(s);
    for (int i = 0; i < s->closure_count; i++)
        for (int n = 0; n < s->blocks[i].active; n++) {
            const gw_closure_row *r = gw_active_row(s, &s->blocks[i], n);
            energy -= 0.5 * r->scale * r->rate * s->solution[s->blocks[i].first + n];
        }
    for (int i = 0; i < s->body_count; i++)
        for (int j = 0; j < s->bodies[i].dof; j++)
            s->bodies[i].joint.u[j] += s->bodies[i].rest[j];
    gw_tree_update_velocities(s);
    gw_closures_update_rates(s);
    return energy;
}

/* True if a further projection is worthwhile at the residual `now`, after `before`. */
static bool is_open(const gw_system *s, double now, double before)
{
    double farthest = 0;
    if (!(now > CLOSED * s->length) || !(now < 0.5 * before || now > FLOOR * s->length))
        return false;
    for (int i = 0; i < s->body_count; i++)
        farthest = fmax(farthest, gw_norm2(s->bodies[i].pose.p));
    farthest = sqrt(farthest);
    return !(farthest > FAR * s->length && now < FAR_CLOSED * farthest);
}

static void project_positions(gw_system *s, int steps)
{
    double before = INFINITY, now = 0;
    gw_system_update(s);
    for (int n = 0; n < steps; n++, before = now) {
        now = set_residuals(s);
        if (!is_open(s, now, before))
            break;
        gw_closures_factor(s, GW_ROWS_OF_POSITIONS);
        move_onto_rows(s);
        gw_system_update(s);
    }
}

double gw_closures_project(gw_system *s, int steps)
{
    project_positions(s, s->row_count > 0 ? steps : 0);
    if (s->row_count == 0)
        return 0;
    gw_closures_project_velocities(s);
    return gw_closures_residual(s);
}

/* Joints that keep their coordinates at creation, as far as the closures allow it. */
typedef enum kept_joints {
    KEEPS_POSITION, /* joints with a stated position */
    KEEPS_TURNS,    /* these, and the rotation of ball and free joints */
    KEEPS_VELOCITY
} kept_joints;

static bool is_kept(const gw_system_body *k, int j, kept_joints what)
{
    if (what == KEEPS_VELOCITY)
        return k->def.keeps_velocity;
    return k->def.keeps_position ||
           (what == KEEPS_TURNS && j >= gw_mobilizer_rotation(k->def.joint));
}

/* Updates everything for the joints' states, with KEPT times the inertia of what is kept. */
static void update_kept(gw_system *s, kept_joints what, gw_active_rows rows)
{
    gw_system_update(s);
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        for (int j = 0; j < k->dof; j++)
            s->added[k->first + j] = is_kept(k, j, what) ? KEPT * gw_tree_joint_inertia(k, j) : 0;
    }
    gw_tree_articulate(s, 0, s->added);
    gw_closures_factor(s, rows);
}

void gw_closures_factor_kept(gw_system *s)
{
    update_kept(s, KEEPS_VELOCITY, GW_ROWS_OF_CLOSURES);
}

/* Satisfies the closures with what is kept, then without; returns the residual (m). */
static double assemble_once(gw_system *s, int steps, kept_joints what)
{
    double before = INFINITY, now = 0;
    bool kept = what == KEEPS_TURNS;
    for (int i = 0; i < s->body_count; i++)
        kept = kept || s->bodies[i].def.keeps_position || s->bodies[i].def.keeps_velocity;
    for (int n = 0; n < steps && kept && s->row_count > 0; n++, before = now) {
        update_kept(s, what, GW_ROWS_OF_POSITIONS);
        now = set_residuals(s);
        if (!is_open(s, now, before))
            break;
        move_onto_rows(s);
    }
    if (kept && s->row_count > 0) {
        update_kept(s, KEEPS_VELOCITY, GW_ROWS_OF_CLOSURES);
        gw_closures_project_velocities(s);
    }
    return gw_closures_project(s, steps);
}

static bool has_followed_contact(const gw_system *s)
{
    for (int i = 0; i < s->closure_count; i++) {
        const gw_closure_def *c = &s->closures[i];
        if (c->kind == GW_CLOSURE_CONTACT && !c->unilateral &&
            gw_surface_contact_is_general(&c->contact))
            return true;
    }
    return false;
}

/* A body that is far from a surface, in proportion to its radius of gyration, turns so far on its
 * way there that it may come over an edge. Then it keeps its orientation. */
double gw_closures_assemble(gw_system *s, const gw_closure_def *stated, int steps, double closed)
{
    static const kept_joints tries[] = {KEEPS_POSITION, KEEPS_TURNS, KEEPS_POSITION};
    double left = 0;
    for (int i = 0; i < s->body_count; i++)
        gw_joint_copy(&s->bodies[i], &s->bodies[i].joint, &s->start[i]);
    int most = has_followed_contact(s) ? 3 : 1;
    for (int n = 0; n < most; n++) { /* the third one as the first, for its error */
        gw_error lost = {0};
        for (int i = 0; i < s->body_count && n > 0; i++)
            gw_joint_copy(&s->bodies[i], &s->start[i], &s->bodies[i].joint);
        for (int i = 0; i < s->closure_count; i++) {
            s->closures[i].contact.point = stated[i].contact.point;
            s->closures[i].contact.point.in_step = false;
        }
        left = assemble_once(s, steps, tries[n]);
        if (most > 1 && left <= closed && gw_contacts_check(s, &lost))
            break;
    }
    for (int i = 0; i < s->closure_count; i++)
        s->closures[i].start = s->closures[i].contact.point;
    return left;
}

double gw_closures_correct(gw_system *s)
{
    double before = INFINITY, now = INFINITY;
    s->corrected = 0;
    if (s->row_count == 0) {
        gw_system_update(s);
        return 0;
    }
    gw_tree_update_positions(s);
    update_values(s);
    for (int n = 0; n <= CORRECTIONS; n++, before = now) {
        now = set_residuals(s);
        if (n == CORRECTIONS || !is_open(s, now, before))
            break;
        move_onto_rows(s);
        gw_tree_update_positions(s);
        update_values(s);
    }
    if (now > FLOOR * s->length)
        project_positions(s, CORRECTIONS);
    else
        gw_system_update_velocities(s);
    return gw_closures_project_velocities(s);
}

/* ---- degrees of freedom and residuals ------------------------------------------------------- */

int gw_system_mobility(gw_system *s)
{
    assert(s);
    gw_system_update_all(s);
    return s->dof - s->rank;
}

int gw_system_position_dof(gw_system *s)
{
    assert(s);
    gw_system_update_all(s);
    gw_closures_factor(s, GW_ROWS_OF_POSITIONS);
    int rank = s->rank;
    gw_closures_factor(s, GW_ROWS_OF_CLOSURES);
    return s->dof - rank;
}

double gw_system_slip_velocity(gw_system *s)
{
    assert(s);
    double worst = 0;
    gw_system_update_all(s);
    for (int i = 0; i < s->closure_count; i++)
        for (int n = 0; n < s->blocks[i].rows; n++) {
            const gw_closure_row *r = &s->rows[s->blocks[i].first + n];
            if (!(s->blocks[i].aside >> n & 1))
                worst = gw_worst(worst, fabs(r->scale * r->rate));
        }
    return worst;
}

double gw_system_residual(gw_system *s)
{
    assert(s);
    gw_system_update_all(s);
    return gw_closures_residual(s);
}
