/*
 * Least squares over the terms of an assembly. With d the vector from b's point to a's, all rows
 * are functions h of the two poses:
 *
 *   point   d                      (3)     line   x . d, y . d   in b's axes   (2)
 *   plane   z . d in b's axes      (1)     axis   u_a - u_b                    (3)
 *
 * and any other row is one of submanifold.h. Axes that are to be parallel are matched as the
 * difference of unit vectors, not as the two products with orthogonal vectors: those vanish for
 * opposite axes too, to which more than half of all far starts would converge.
 *
 * A row's gradients by the twists of the bodies' origins in world axes are [u; on_a] and [-u;
 * on_b]. Steps of Newton's and of Levenberg and Marquardt's method solve (J^T J + e I) s = -J^T h
 * by sparse blocks (rt/base/block_cholesky.h), so the cost of an iteration is linear in the bodies
 * of chains and loops.
 */
#include <assert.h>
#include <limits.h>
#include <math.h>
#include <string.h>

#include "rt/base/clock.h"
#include "rt/base/random.h"
#include "rt/base/small.h"
#include "rt/base/spatial.h"
#include "rt/dynamics/curve_contact.h"
#include "rt/scene/assembly_private.h"

#define CLOSE         1e-14 /* of the size: no iteration brings more */
#define RIDGE         1e-13 /* of the largest diagonal entry: directions without rows stay put */
#define GRADIENT_K    0.1   /* surface-constraints 7 */
#define FIRST_DAMPING 1e-3
#define LONGEST_TURN  1.0   /* rad, of a body in one step */
#define STUCK         1e-8  /* |J^T h|^2 below this share of |h|^2: a minimum beside the rows */
#define SLOW          0.01  /* a smaller decrease of the sum, .. */
#define PAYS          200.0 /* us of searched rows, from which on threads win */
#define ROUNDS        8     /* of a start that has come to rest where closest points are others */
#define PATIENCE      6     /* .. so many times in a row, ends a start */

/* ---- rows ----------------------------------------------------------------------------------- */

static const gw_vec3 no_vector = {0, 0, 0};
static const gw_vec3 axes[3] = {{1, 0, 0}, {0, 1, 0}, {0, 0, 1}};

/* A row of value h with gradient u at the point x of both bodies. */
static gw_pair_row row_along(gw_vec3 u, double h, gw_vec3 x, const gw_pose *a, const gw_pose *b,
                             double per_size)
{
    return (gw_pair_row){per_size * h, u, gw_scale(per_size, gw_cross(gw_sub(x, a->p), u)),
                         gw_scale(-per_size, gw_cross(gw_sub(x, b->p), u))};
}

/* Row of a screw: displacement of M along F's z less pitch times rotation about it, with the whole
 * turns of the smallest residual; its gradient is that of aligned z axes. */
static gw_pair_row screw_row(const gw_term *t, const gw_pose *a, const gw_pose *b, double per_size)
{
    gw_quat f = gw_quat_mul(b->q, t->turn), m = gw_quat_mul(a->q, t->a_turn);
    gw_quat f_from_m = gw_quat_mul(gw_quat_conj(f), m);
    gw_vec3 z = gw_rotate(f, axes[2]), x = gw_pose_point(a, t->m);
    double slide = gw_dot(z, gw_sub(x, gw_pose_point(b, t->f)));
    double turn = 2 * atan2(f_from_m.z, f_from_m.w);
    turn += 2 * GW_PI * round((slide / t->amount - turn) / (2 * GW_PI));
    gw_pair_row r = row_along(z, slide - t->amount * turn, x, a, b, per_size);
    r.on_a = gw_mul_add(r.on_a, -per_size * t->amount, z);
    r.on_b = gw_mul_add(r.on_b, per_size * t->amount, z);
    return r;
}

/* The lowest point of a rim of radius R with axis u, over a plane with normal n:
 * n . (o - f) - R |n - (n . u) u|. */
static gw_pair_row rim_row(const gw_term *t, const gw_pose *a, const gw_pose *b, double per_size)
{
    gw_vec3 o = gw_pose_point(a, t->m), f = gw_pose_point(b, t->f);
    gw_vec3 u = gw_rotate(gw_quat_mul(a->q, t->a_turn), axes[2]);
    gw_vec3 n = gw_rotate(gw_quat_mul(b->q, t->turn), axes[2]), up = gw_reject(n, u);
    double length = gw_norm(up);
    up = length > 0 ? gw_scale(1 / length, up) : gw_any_normal(u);
    gw_vec3 lowest = gw_mul_add(o, -t->amount, up);
    return row_along(n, gw_dot(n, gw_sub(o, f)) - t->amount * length, lowest, a, b, per_size);
}

/* ---- coordinates of joints ------------------------------------------------------------------ */

/* M in F. */
static gw_pose placed_by(const gw_term *t, const gw_pose *a, const gw_pose *b)
{
    gw_pose m = {t->m, t->a_turn}, f = {t->f, t->turn};
    gw_pose world_from_m = gw_pose_mul(a, &m), world_from_f = gw_pose_mul(b, &f);
    gw_pose f_from_world = gw_pose_inverse(&world_from_f);
    return gw_pose_mul(&f_from_world, &world_from_m);
}

/* The coordinate, with its gradient as if the joint's rows were satisfied: along or about the
 * direction in which the coordinate alone moves M. The coordinates of a ball joint are the angle
 * between the z axes and the angle of the whole rotation; that of a screw follows from its slide.
 */
static gw_pair_row coordinate_row(const gw_term *t, const gw_pose *a, const gw_pose *b,
                                  double per_size)
{
    gw_pose f_from_m = placed_by(t, a, b);
    gw_quat f = gw_quat_mul(b->q, t->turn);
    gw_mobilizer_state state = {.turn = gw_quat_identity()};
    gw_vec3 v[6], w[6];
    if (t->joint == GW_MOBILIZER_SPHERICAL) {
        gw_vec3 z = gw_rotate(f_from_m.q, axes[2]), by = gw_quat_log(f_from_m.q);
        gw_vec3 about = t->coordinate == 0 ? gw_cross(axes[2], z) : by;
        double sine = gw_norm(about), value = t->coordinate == 0 ? atan2(sine, z.z) : sine;
        about = sine > 0 ? gw_scale(1 / sine, about) : axes[0];
        gw_vec3 turn = gw_rotate(f, about);
        return (gw_pair_row){value, no_vector, turn, gw_neg(turn)};
    }
    if (t->joint == GW_MOBILIZER_SCREW) {
        gw_pair_row r = row_along(gw_rotate(f, axes[2]), f_from_m.p.z, gw_pose_point(a, t->m), a, b,
                                  1 / t->pitch);
        r.u = gw_scale(1 / (t->pitch * per_size), r.u);
        return r;
    }
    gw_mobilizer_position(t->joint, 0, &f_from_m, state.z);
    gw_mobilizer_pose(t->joint, 0, &state, v, w);
    double value = state.z[t->coordinate];
    if (!(gw_mobilizers[t->joint].turns >> t->coordinate & 1))
        return row_along(gw_rotate(f, v[t->coordinate]), value, gw_pose_point(a, t->m), a, b,
                         per_size);
    gw_vec3 turn = gw_rotate(f, w[t->coordinate]);
    return (gw_pair_row){value, no_vector, turn, gw_neg(turn)};
}

/* True if the coordinate is an angle; and if whole turns of it count. */
static bool is_angle(const gw_term *t)
{
    return t->joint == GW_MOBILIZER_SPHERICAL ||
           (gw_mobilizers[t->joint].turns >> t->coordinate & 1);
}

static bool counts_whole_turns(const gw_term *t)
{
    return gw_mobilizer_is_periodic(t->joint, t->coordinate);
}

/* x plus whole turns, nearest to `to`. */
static double nearest_whole_turns(double x, double to)
{
    return x + 2 * GW_PI * round((to - x) / (2 * GW_PI));
}

double gw_assembly_within(double x, double lower, double upper)
{
    return x >= lower && x <= upper ? x : nearest_whole_turns(x, 0.5 * (lower + upper));
}

double gw_assembly_coordinate(const gw_assembly *w, const gw_term *t)
{
    gw_pair_row r = coordinate_row(t, &w->poses[t->a], &w->poses[t->b], 1 / w->size);
    return is_angle(t) ? r.h : r.h * w->size;
}

/* The row of a coordinate that is beyond a limit; false if it is within. */
static bool limit_row(const gw_term *t, const gw_pose *a, const gw_pose *b, double per_size,
                      gw_pair_row *row)
{
    double scale = is_angle(t) ? 1 : per_size;
    *row = coordinate_row(t, a, b, per_size);
    double x =
        counts_whole_turns(t) ? gw_assembly_within(row->h, t->lower, t->upper) : row->h / scale;
    row->h = scale * (x > t->upper ? x - t->upper : x < t->lower ? x - t->lower : 0);
    return row->h != 0;
}

/* The coordinate of a gear's side, of which `row` is the value, with its whole turns. */
static double gear_coordinate(const gw_assembly *w, const gw_term *t, const gw_pair_row *row)
{
    double x = is_angle(t) ? row->h : row->h * w->size;
    if (!counts_whole_turns(t))
        return x;
    const gw_term *root = &w->terms[t->root];
    double of_root = root == t ? x : gw_assembly_coordinate(w, root);
    if (counts_whole_turns(root))
        of_root = nearest_whole_turns(of_root, root->start);
    return nearest_whole_turns(x, t->factor * of_root + t->constant);
}

void gw_assembly_geared(const gw_assembly *w, const gw_term *t, double z[2])
{
    for (int i = 0; i < 2; i++) {
        gw_pair_row row = coordinate_row(&t[i], &w->poses[t[i].a], &w->poses[t[i].b], 1 / w->size);
        z[i] = gear_coordinate(w, &t[i], &row);
    }
}

static void scale_row(gw_pair_row *r, double by)
{
    r->u = gw_scale(by, r->u);
    r->on_a = gw_scale(by, r->on_a), r->on_b = gw_scale(by, r->on_b);
}

/* z_0 - r z_1 - constant over the larger of the two factors, a row of four bodies: the gradients by
 * those of the first joint and by those of the second, both with the value. */
static void gear_rows(const gw_assembly *w, const gw_term *t, gw_pair_row rows[2])
{
    double z[2], per_size = 1 / w->size, unit[2];
    for (int i = 0; i < 2; i++) {
        rows[i] = coordinate_row(&t[i], &w->poses[t[i].a], &w->poses[t[i].b], per_size);
        unit[i] = is_angle(&t[i]) ? 1 : per_size;
        z[i] = gear_coordinate(w, &t[i], &rows[i]);
    }
    double ratio = t->amount * unit[0] / unit[1], most = fmax(1, fabs(ratio));
    scale_row(&rows[0], 1 / most);
    scale_row(&rows[1], -ratio / most);
    rows[0].h = rows[1].h = unit[0] * (z[0] - t->amount * z[1] - t->offset) / most;
}

/* ---- rows of terms -------------------------------------------------------------------------- */

/* A row of b_from_a: with [v; w] its gradient in b's axes turned into the world's, a has that and b
 * the opposite, with the arm from b to a. */
static gw_pair_row row_in_b(double h, const double j[6], const gw_pose *a, const gw_pose *b,
                            double scale)
{
    gw_vec3 v = gw_rotate(b->q, gw_v3(j[0], j[1], j[2]));
    gw_vec3 w = gw_rotate(b->q, gw_v3(j[3], j[4], j[5]));
    gw_vec3 across = gw_cross(gw_sub(a->p, b->p), v);
    return (gw_pair_row){scale * h, v, gw_scale(scale, w), gw_scale(-scale, gw_add(w, across))};
}

/* The row, and how far its point is beyond an edge of the surface that it offsets. */
static int stated_rows(const gw_term *t, const gw_pose *a, const gw_pose *b, double per_size,
                       gw_pair_row *rows)
{
    gw_pose b_from_world = gw_pose_inverse(b), b_from_a = gw_pose_mul(&b_from_world, a);
    double h, j[1][6], scale = t->row.kind == GW_ROW_ANGLE ? 1 : per_size;
    gw_rows_value_and_jacobian(&t->row, 1, &b_from_a, &h, j);
    rows[0] = row_in_b(h - t->amount, j[0], a, b, scale);
    double overhang = gw_row_overhang(&t->row, &b_from_a, j[0]);
    if (overhang == 0)
        return 1;
    rows[1] = row_in_b(overhang, j[0], a, b, per_size);
    return 2;
}

/* The gap along the common normal n of two surfaces: both points of it are closest points, so its
 * rate is n . (v_a - v_b) there. Of two curves the two gaps and the angle of their tangents. */
static int touch_rows(const gw_term *t, const gw_pose *a, const gw_pose *b, double per_size,
                      gw_pair_row *rows)
{
    const gw_twist still = {no_vector, no_vector};
    const gw_body_frame on_a = {gw_quat_to_mat3(a->q), a->p, still};
    const gw_body_frame on_b = {gw_quat_to_mat3(b->q), b->p, still};
    if (!gw_contact_is_of_curves(t->contact)) {
        gw_contact_state at;
        gw_surface_contact_at(t->contact, &on_a, &on_b, &t->contact->point, &at);
        rows[0] = row_along(at.n, at.gap, at.c, a, b, per_size);
        return 1;
    }
    gw_curve_contact x;
    gw_curve_contact_at(t->contact, &on_a, &on_b, &t->contact->point, &x);
    for (int i = 0; i < GW_CURVE_ROWS; i++) {
        double scale = i < 2 ? per_size : 1, length = 1 / per_size;
        gw_vec3 u = gw_scale(scale * length, x.on_a[i].f);
        rows[i] = (gw_pair_row){scale * x.value[i], u, gw_scale(scale, x.on_a[i].t),
                                gw_scale(scale, x.on_b[i].t)};
    }
    return GW_CURVE_ROWS;
}

int gw_assembly_rows(const gw_assembly *w, const gw_term *t, gw_pair_row rows[GW_TERM_ROWS])
{
    const gw_pose *a = &w->poses[t->a], *b = &w->poses[t->b];
    double per_size = 1 / w->size;
    switch (t->kind) {
    case GW_TERM_POINT: {
        gw_vec3 x = gw_pose_point(a, t->m), f = gw_pose_point(b, t->f), d = gw_sub(x, f);
        const double h[3] = {d.x, d.y, d.z};
        for (int i = 0; i < 3; i++) {
            rows[i] = row_along(axes[i], h[i], x, a, b, per_size);
            rows[i].on_b = gw_scale(-per_size, gw_cross(gw_sub(f, b->p), axes[i]));
        }
        return 3;
    }
    case GW_TERM_ALONG: {
        gw_vec3 x = gw_pose_point(a, t->m), d = gw_sub(x, gw_pose_point(b, t->f));
        gw_quat turn = gw_quat_mul(b->q, t->turn);
        int count = 0;
        for (int i = 0; i < 3; i++)
            if (gw_mobilizers[t->joint].holds_along[i]) {
                gw_vec3 u = gw_rotate(turn, axes[i]);
                rows[count++] = row_along(u, gw_dot(u, d), x, a, b, per_size);
            }
        return count;
    }
    case GW_TERM_AXIS: {
        gw_vec3 u = gw_rotate(a->q, t->m), f = gw_rotate(b->q, t->f), e = gw_sub(u, f);
        const double h[3] = {e.x, e.y, e.z};
        for (int i = 0; i < 3; i++)
            rows[i] = (gw_pair_row){h[i], no_vector, gw_cross(u, axes[i]), gw_cross(axes[i], f)};
        return 3;
    }
    case GW_TERM_SCREW:
        rows[0] = screw_row(t, a, b, per_size);
        return 1;
    case GW_TERM_TOUCH:
        return touch_rows(t, a, b, per_size, rows);
    case GW_TERM_RIM:
        rows[0] = rim_row(t, a, b, per_size);
        return 1;
    case GW_TERM_ROW:
        return stated_rows(t, a, b, per_size, rows);
    case GW_TERM_LIMIT:
        return limit_row(t, a, b, per_size, &rows[0]);
    case GW_TERM_GEAR: {
        gw_pair_row both[2];
        gear_rows(w, t, both);
        rows[0] = both[0];
        return 1;
    }
    case GW_TERM_GEARED:
        break;
    }
    return 0;
}

/* ---- rows on several threads ---------------------------------------------------------------- */

/* Evaluates a row whose closest points are searched for, which takes up to a millisecond, a
 * thousand times as long as other rows. */
static void evaluate_searched(void *context, int i)
{
    gw_assembly *w = context;
    const gw_term *t = &w->terms[w->searched[i]];
    gw_assembly_rows(w, t, &w->searched_rows[GW_TERM_ROWS * i]);
}

static double clock_microseconds(void)
{
    return 1e-3 * (double)gw_now_ns();
}

/* Evaluates these rows at the present poses, on several threads if the recent evaluations took long
 * enough: a search after a long motion takes a thousand times as long as following a closest point.
 * The values do not depend on the threads, because each row has closest points of its own. */
static void evaluate_rows(gw_assembly *w)
{
    if (w->searched_count == 0)
        return;
    bool pays = w->pool && w->searched_time > PAYS;
    double start = clock_microseconds();
    gw_thread_pool_run(pays ? w->pool : NULL, evaluate_searched, w, w->searched_count);
    w->searched_time = fmax(clock_microseconds() - start, 0.5 * w->searched_time);
}

/* The rows of a term after evaluate_rows(). */
static int rows_of(const gw_assembly *w, const gw_term *t, gw_pair_row rows[GW_TERM_ROWS])
{
    if (t->searched < 0)
        return gw_assembly_rows(w, t, rows);
    memcpy(rows, &w->searched_rows[GW_TERM_ROWS * t->searched], GW_TERM_ROWS * sizeof *rows);
    return gw_contact_is_of_curves(t->contact) ? GW_CURVE_ROWS : 1;
}

/* True if the term depends on an unknown. */
static bool depends_on_moving_body(const gw_assembly *w, const gw_term *t)
{
    return w->unknown[t->a] >= 0 || w->unknown[t->b] >= 0 ||
           (t->kind == GW_TERM_GEAR && depends_on_moving_body(w, t + 1));
}

/* The sum of squares, and the largest row. */
static double sum_of_squares(gw_assembly *w, double *worst)
{
    double sum = 0;
    gw_pair_row rows[3];
    *worst = 0;
    evaluate_rows(w);
    for (int i = 0; i < w->term_count; i++) {
        if (!depends_on_moving_body(w, &w->terms[i]))
            continue;
        int count = rows_of(w, &w->terms[i], rows);
        for (int k = 0; k < count; k++) {
            sum += rows[k].h * rows[k].h;
            *worst = gw_worst(*worst, fabs(rows[k].h));
        }
    }
    return sum;
}

/* ---- normal equations ------------------------------------------------------------------------ */

static void add_product(double *block, const double *rows, const double *columns)
{
    for (int i = 0; i < 6; i++)
        for (int k = 0; k < 6; k++)
            block[6 * i + k] += rows[i] * columns[k];
}

static void add_to(double *g, double h, const double *gradient)
{
    for (int k = 0; k < 6; k++)
        g[k] += h * gradient[k];
}

/* Adds a gear's row, of four bodies, to the normal equations. If the joints share a body its
 * gradients add up, through all products between the four. */
static void add_gear(gw_assembly *w, const gw_term *t)
{
    gw_pair_row rows[2];
    double on[4][6];
    const int body[4] = {w->unknown[t[0].a], w->unknown[t[0].b], w->unknown[t[1].a],
                         w->unknown[t[1].b]};
    gear_rows(w, t, rows);
    for (int i = 0; i < 2; i++) {
        gw_spatial_set(on[2 * i], rows[i].u, rows[i].on_a);
        gw_spatial_set(on[2 * i + 1], gw_neg(rows[i].u), rows[i].on_b);
    }
    for (int i = 0; i < 4; i++) {
        if (body[i] < 0)
            continue;
        add_to(w->g + 6 * body[i], rows[0].h, on[i]);
        for (int k = 0; k < 4; k++) {
            bool transposed;
            double *block =
                body[k] < 0 ? NULL : gw_block_matrix_at(w->matrix, body[i], body[k], &transposed);
            if (block && !transposed) /* each block once, by one of its two orders */
                add_product(block, on[i], on[k]);
        }
    }
}

/* J^T J and J^T h where the bodies are. */
static void normal_equations(gw_assembly *w)
{
    gw_pair_row rows[3];
    evaluate_rows(w);
    gw_block_matrix_clear(w->matrix);
    memset(w->g, 0, 6 * (size_t)w->moving_count * sizeof *w->g);
    for (int i = 0; i < w->term_count; i++) {
        const gw_term *t = &w->terms[i];
        if (!depends_on_moving_body(w, t))
            continue;
        if (t->kind == GW_TERM_GEAR) {
            add_gear(w, t);
            continue;
        }
        int count = rows_of(w, t, rows), a = w->unknown[t->a], b = w->unknown[t->b];
        for (int k = 0; k < count; k++) {
            double on_a[6], on_b[6];
            gw_spatial_set(on_a, rows[k].u, rows[k].on_a);
            gw_spatial_set(on_b, gw_neg(rows[k].u), rows[k].on_b);
            if (t->aa) {
                add_product(t->aa, on_a, on_a);
                add_to(w->g + 6 * a, rows[k].h, on_a);
            }
            if (t->bb) {
                add_product(t->bb, on_b, on_b);
                add_to(w->g + 6 * b, rows[k].h, on_b);
            }
            if (t->ab)
                add_product(t->ab, t->transposed ? on_b : on_a, t->transposed ? on_a : on_b);
        }
    }
}

static double largest_square(gw_vec3 v)
{
    return fmax(v.x * v.x, fmax(v.y * v.y, v.z * v.z));
}

/* J^T h, the sum of squares and the largest row, without J where the term allows. */
static double evaluate_gradient(gw_assembly *w, double *worst)
{
    double sum = 0, largest = 0, per_size = 1 / w->size;
    evaluate_rows(w);
    memset(w->g, 0, 6 * (size_t)w->moving_count * sizeof *w->g);
    for (int i = 0; i < w->term_count; i++) {
        const gw_term *t = &w->terms[i];
        const gw_pose *a = &w->poses[t->a], *b = &w->poses[t->b];
        int to[2] = {w->unknown[t->a], w->unknown[t->b]};
        gw_vec3 force[2] = {no_vector, no_vector}, torque[2];
        if (!depends_on_moving_body(w, t))
            continue;
        if (t->kind == GW_TERM_GEARED) { /* the row before, by this joint */
            gw_pair_row rows[2];
            gear_rows(w, t - 1, rows);
            force[0] = gw_scale(rows[1].h, rows[1].u), force[1] = gw_neg(force[0]);
            torque[0] = gw_scale(rows[1].h, rows[1].on_a);
            torque[1] = gw_scale(rows[1].h, rows[1].on_b);
        } else if (t->kind == GW_TERM_POINT) {
            gw_vec3 arm_a = gw_rotate(a->q, t->m), arm_b = gw_rotate(b->q, t->f);
            gw_vec3 d = gw_sub(gw_add(a->p, arm_a), gw_add(b->p, arm_b));
            force[0] = gw_scale(per_size, d), force[1] = gw_neg(force[0]);
            torque[0] = gw_scale(per_size, gw_cross(arm_a, force[0]));
            torque[1] = gw_scale(per_size, gw_cross(arm_b, force[1]));
            sum += gw_norm2(force[0]), largest = fmax(largest, largest_square(force[0]));
        } else if (t->kind == GW_TERM_AXIS) {
            gw_vec3 u = gw_rotate(a->q, t->m), f = gw_rotate(b->q, t->f);
            torque[1] = gw_cross(u, f), torque[0] = gw_neg(torque[1]);
            gw_vec3 h = gw_sub(u, f);
            sum += gw_norm2(h), largest = fmax(largest, largest_square(h));
        } else {
            gw_pair_row rows[3];
            int count = rows_of(w, t, rows);
            torque[0] = torque[1] = no_vector;
            for (int k = 0; k < count; k++) {
                double h = rows[k].h;
                force[0] = gw_mul_add(force[0], h, rows[k].u);
                torque[0] = gw_mul_add(torque[0], h, rows[k].on_a);
                torque[1] = gw_mul_add(torque[1], h, rows[k].on_b);
                sum += h * h, largest = fmax(largest, h * h);
            }
            force[1] = gw_neg(force[0]);
        }
        for (int side = 0; side < 2; side++) {
            double *g = w->g + 6 * to[side];
            if (to[side] < 0)
                continue;
            g[0] += force[side].x, g[1] += force[side].y, g[2] += force[side].z;
            g[3] += torque[side].x, g[4] += torque[side].y, g[5] += torque[side].z;
        }
    }
    *worst = sqrt(largest);
    return sum;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The longest step of a body, and its longest turn (rad). */
static double longest_step(const gw_assembly *w, const double *s, double *turn)
{
    double most = 0;
    *turn = 0;
    for (int i = 0; i < w->moving_count; i++, s += 6) {
        double v = s[0] * s[0] + s[1] * s[1] + s[2] * s[2];
        double r = s[3] * s[3] + s[4] * s[4] + s[5] * s[5];
        most = fmax(most, fmax(v, r));
        *turn = fmax(*turn, r);
    }
    *turn = sqrt(*turn);
    return sqrt(most);
}

static void copy_poses(gw_assembly *w, gw_pose *to, const gw_pose *from)
{
    memcpy(to, from, (size_t)w->body_count * sizeof *to);
}

/* Sets the poses to `before` plus that share of the step. */
static void move_bodies(gw_assembly *w, double share)
{
    double metres = share * w->size;
    for (int i = 0; i < w->moving_count; i++) {
        const double *s = w->step + 6 * i;
        gw_twist d = {{metres * s[0], metres * s[1], metres * s[2]},
                      {share * s[3], share * s[4], share * s[5]}};
        w->poses[w->body_of[i]] = gw_pose_add(&w->before[w->body_of[i]], &d);
    }
}

/* The step against the gradient, turns along the quaternion's own gradient: q - k/2 g q. */
static void step_against_gradient(gw_assembly *w, double k)
{
    for (int i = 0; i < w->moving_count; i++) {
        const double *g = w->g + 6 * i;
        gw_pose *x = &w->poses[w->body_of[i]];
        gw_quat turn = {1, -0.5 * k * g[3], -0.5 * k * g[4], -0.5 * k * g[5]};
        x->p = gw_mul_add(x->p, -k * w->size, gw_v3(g[0], g[1], g[2]));
        x->q = gw_quat_unit(gw_quat_mul(turn, x->q));
    }
}

/* s = -(J^T J + raise I)^-1 J^T h. */
static void solve_step(gw_assembly *w, double damping)
{
    double largest = gw_block_matrix_largest(w->matrix);
    gw_block_matrix_factor(w->matrix, fmax(RIDGE, damping) * largest + 1e-300);
    for (int i = 0; i < 6 * w->moving_count; i++)
        w->step[i] = -w->g[i];
    gw_block_matrix_solve(w->matrix, w->step);
}

static double norm2_of(const double *x, int count)
{
    double sum = 0;
    for (int i = 0; i < count; i++)
        sum += x[i] * x[i];
    return sum;
}

/* ---- methods: from where the bodies are; each returns the largest row --------------------------
 */

/* One start of a solution. */
typedef struct descent {
    const gw_assembly_options *options;
    gw_assembly_progress at;
    int most; /* iterations of it */
    int left; /* iterations of the call */
    bool stopped;
} descent;

/* Whether another iteration may be made. */
static bool goes_on(descent *d)
{
    if (d->at.iteration >= d->most)
        return false;
    d->stopped = d->stopped || d->left <= 0;
    return !d->stopped;
}

static void report_iteration(const gw_assembly *w, descent *d, double worst, double step)
{
    d->at.iteration++;
    d->left--;
    if (d->options->watch && !d->options->watch(d->options->context, d->at.start, d->at.iteration,
                                                worst * w->size, step * w->size))
        d->stopped = true;
}

static double by_gradient(gw_assembly *w, descent *d)
{
    double worst, turn, sum = evaluate_gradient(w, &worst);
    double *k = &d->at.damping;
    *k = d->at.iteration == 0 ? GRADIENT_K : fmin(*k, GRADIENT_K);
    while (worst > 0.1 * GW_ASSEMBLY_HELD && goes_on(d)) {
        if (!(norm2_of(w->g, 6 * w->moving_count) > STUCK * sum))
            break;
        double step = d->options->watch ? *k * longest_step(w, w->g, &turn) : 0;
        step_against_gradient(w, *k);
        double now = evaluate_gradient(w, &worst);
        if (now > sum)
            *k *= 0.5;
        sum = now;
        report_iteration(w, d, worst, step);
    }
    return worst;
}

static double by_newton(gw_assembly *w, descent *d)
{
    double worst, turn;
    sum_of_squares(w, &worst);
    while (worst > CLOSE && goes_on(d)) {
        double before = worst;
        normal_equations(w);
        solve_step(w, 0);
        double step = longest_step(w, w->step, &turn), share = turn > LONGEST_TURN ? 1 / turn : 1;
        copy_poses(w, w->before, w->poses);
        move_bodies(w, share);
        sum_of_squares(w, &worst);
        bool no_better = !(worst < before) && before <= GW_ASSEMBLY_HELD; /* round-off */
        if (no_better) {
            copy_poses(w, w->poses, w->before);
            worst = before;
        }
        report_iteration(w, d, worst, no_better ? 0 : share * step);
        if (no_better)
            break;
    }
    return worst;
}

/* The step shortened until the sum is smaller; 0: it is not. */
static double search_line(gw_assembly *w, double share, double *sum, double *worst)
{
    for (int halved = 0; halved < 4; halved++, share *= 0.5) {
        double largest;
        move_bodies(w, share);
        double now = sum_of_squares(w, &largest);
        if (now < *sum) {
            *sum = now, *worst = largest;
            return share;
        }
    }
    copy_poses(w, w->poses, w->before);
    return 0;
}

/* Levenberg-Marquardt; undamped near a solution, where it converges quadratically. */
static double by_lm(gw_assembly *w, descent *d)
{
    double worst, turn, sum = sum_of_squares(w, &worst);
    gw_assembly_progress *at = &d->at;
    if (at->iteration == 0)
        at->damping = FIRST_DAMPING, at->slow = 0;
    while (worst > CLOSE && at->slow < PATIENCE && goes_on(d)) {
        double before = sum;
        normal_equations(w);
        if (worst > GW_ASSEMBLY_HELD && norm2_of(w->g, 6 * w->moving_count) < STUCK * STUCK * sum)
            break;
        solve_step(w, at->damping);
        double step = longest_step(w, w->step, &turn), whole = turn > LONGEST_TURN ? 1 / turn : 1;
        copy_poses(w, w->before, w->poses);
        double share = search_line(w, whole, &sum, &worst), used = at->damping;
        at->damping = share == 0      ? fmax(10 * used, 1e-4)
                      : share < whole ? used
                      : used > 1e-9   ? 0.1 * used
                                      : 0;
        at->slow = sum > (1 - SLOW) * before ? at->slow + 1 : 0;
        report_iteration(w, d, worst, share * step);
        if (share == 0 && (worst <= GW_ASSEMBLY_HELD || used > 1e6))
            break; /* round-off, or a minimum beside the rows */
    }
    return worst;
}

/* ---- starts ---------------------------------------------------------------------------------- */

double gw_assembly_residual(const gw_assembly *w, const gw_relation *r)
{
    double worst = 0;
    gw_pair_row rows[3];
    for (int i = r->first; i < r->first + r->count; i++) {
        int count = gw_assembly_rows(w, &w->terms[i], rows);
        for (int k = 0; k < count; k++)
            worst = gw_worst(worst, fabs(rows[k].h));
    }
    return worst * w->size;
}

bool gw_assembly_holds(const gw_assembly *w, const gw_relation *r)
{
    return gw_assembly_residual(w, r) <= GW_ASSEMBLY_HELD * w->size;
}

static double largest_residual(const gw_assembly *w)
{
    double worst = 0;
    for (int i = 0; i < w->relation_count; i++)
        worst = gw_worst(worst, gw_assembly_residual(w, &w->relations[i]));
    return worst;
}

static double random_symmetric(unsigned long long *state)
{
    return gw_random_uniform(state, -1, 1);
}

/* Uniformly distributed orientation: a random direction in four dimensions. */
static gw_quat random_turn(unsigned long long *state)
{
    for (;;) {
        gw_quat q = {random_symmetric(state), random_symmetric(state), random_symmetric(state),
                     random_symmetric(state)};
        double square = gw_quat_dot(q, q);
        if (square > 0.01 && square < 1)
            return gw_quat_unit(q);
    }
}

/* Centre of the ground points to which the component is connected, else of its initial poses. */
static gw_vec3 middle_of(const gw_assembly *w, int component)
{
    gw_vec3 standing = no_vector, given = no_vector;
    int anchors = 0, bodies = 0;
    for (int i = 0; i < w->relation_count; i++) {
        const gw_relation *r = &w->relations[i];
        for (int k = r->first; r->component == component && k < r->first + r->count; k++) {
            const gw_term *t = &w->terms[k];
            if (t->kind == GW_TERM_AXIS || (t->kind == GW_TERM_ROW && t->row.kind == GW_ROW_ANGLE))
                continue;
            if (w->unknown[t->a] < 0)
                standing = gw_add(standing, gw_pose_point(&w->poses[t->a], t->m)), anchors++;
            if (w->unknown[t->b] < 0)
                standing = gw_add(standing, gw_pose_point(&w->poses[t->b], t->f)), anchors++;
        }
    }
    for (int i = 0; i < w->moving_count; i++)
        if (w->component[i] == component)
            given = gw_add(given, w->given[w->body_of[i]].p), bodies++;
    return anchors ? gw_scale(1.0 / anchors, standing) : gw_scale(1.0 / bodies, given);
}

/* Random poses, by the seed and the start's number, of components with unsatisfied relations. */
static void scatter_components(gw_assembly *w, unsigned long long seed, int start)
{
    unsigned long long random = seed + (unsigned long long)(start - 1) * 0xd1342543de82ef95ull;
    unsigned long long *state = &random;
    for (int i = 0; i < w->contact_count; i++)
        w->contacts[i].point.known = false;
    for (int c = 0; c < w->moving_count; c++) {
        bool held = true;
        for (int i = 0; i < w->relation_count && held; i++)
            held = w->relations[i].component != c || gw_assembly_holds(w, &w->relations[i]);
        if (held)
            continue;
        gw_vec3 middle = middle_of(w, c);
        for (int i = 0; i < w->moving_count; i++) {
            if (w->component[i] != c)
                continue;
            gw_vec3 off = {random_symmetric(state), random_symmetric(state),
                           random_symmetric(state)};
            w->poses[w->body_of[i]] =
                (gw_pose){gw_mul_add(middle, w->size, off), random_turn(state)};
        }
    }
}

/* Resolves constraints for the senses of the present poses, and finds closest points anew. */
static void resolve_all(gw_assembly *w)
{
    for (int i = 0; i < w->relation_count; i++)
        if (w->relations[i].edge.row_count > 0)
            gw_assembly_resolve(w, &w->relations[i]);
}

double gw_assembly_take_best(gw_assembly *w)
{
    copy_poses(w, w->poses, w->best);
    return largest_residual(w);
}

void gw_assembly_solve(gw_assembly *w, const gw_assembly_options *options,
                       gw_assembly_result *result)
{
    static const int iterations[GW_ASSEMBLY_METHOD_COUNT] = {
        [GW_ASSEMBLY_GRADIENT] = 20000, [GW_ASSEMBLY_NEWTON] = 100, [GW_ASSEMBLY_LM] = 200};
    static double (*const methods[GW_ASSEMBLY_METHOD_COUNT])(gw_assembly *, descent *) = {
        [GW_ASSEMBLY_GRADIENT] = by_gradient,
        [GW_ASSEMBLY_NEWTON] = by_newton,
        [GW_ASSEMBLY_LM] = by_lm};
    assert(w && options && result && options->method < GW_ASSEMBLY_METHOD_COUNT);
    assert(options->from.start >= 0 && options->from.iteration >= 0);
    gw_assembly_method method =
        options->method == GW_ASSEMBLY_AUTO ? GW_ASSEMBLY_LM : options->method;
    int starts = options->starts > 0 ? options->starts : GW_ASSEMBLY_STARTS;
    int most = options->limit > 0 ? options->limit : options->limit < 0 ? 0 : INT_MAX;
    double least = INFINITY;
    bool stopped = false;
    *result = (gw_assembly_result){.method = method};
    copy_poses(w, w->given, w->poses);
    copy_poses(w, w->best, w->poses);
    for (int k = options->from.start; k < starts && !result->held && !stopped; k++) {
        descent d = {.options = options,
                     .at = {.start = k},
                     .most = options->iterations > 0 ? options->iterations : iterations[method],
                     .left = most - result->iterations};
        if (k == options->from.start)
            d.at = options->from;
        int before = d.at.iteration;
        if (k > 0 && before == 0)
            scatter_components(w, options->seed, k);
        double worst, sum;
        int round = 0;
        do { /* far from where it was resolved, a closest point may have been followed wrongly */
            resolve_all(w);
            methods[method](w, &d);
            sum = sum_of_squares(w, &worst);
            if (worst <= GW_ASSEMBLY_HELD) {
                resolve_all(w);
                sum = sum_of_squares(w, &worst);
            } else
                break;
        } while (worst > GW_ASSEMBLY_HELD && !d.stopped && ++round < ROUNDS);
        result->iterations += d.at.iteration - before;
        result->starts = k + 1;
        result->progress = d.at;
        if (sum < least) {
            least = sum;
            copy_poses(w, w->best, w->poses);
        }
        result->held = worst <= GW_ASSEMBLY_HELD;
        stopped = d.stopped && !result->held;
    }
    if (!stopped)
        copy_poses(w, w->poses, w->best);
    result->residual = largest_residual(w);
    result->held = result->residual <= GW_ASSEMBLY_HELD * w->size;
    result->end = result->held ? GW_ASSEMBLY_ALL_HOLD
                  : stopped    ? GW_ASSEMBLY_STOPPED
                               : GW_ASSEMBLY_NO_START_LEFT;
}
