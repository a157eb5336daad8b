/*
 * Starts of the numeric completion where rows are of free-form shapes. Their parameters z are
 * unknowns beside the pose: no closest point is searched for, and the rows are smooth. With x the
 * point that has to lie on a shape, y(z) = b + Q (S(z) + p n(z)) the shape's, in world axes, and
 * the shape's size L,
 *
 *   h = x - y(z),     h = L (R along - Q n(z))   where a direction lies along n, or a tangent
 *
 * beside the rows without shapes. Each z is in rows of its own alone, which leaves the pose in the
 * normal equations N = [A B; B^T C], C of blocks of two:
 *
 *   (A - B C^-1 B^T) s = g - B C^-1 g_z,     s_z = C^-1 (g_z - B^T s)
 *
 * by the Levenberg-Marquardt method; parameters stop at their bounds. Any thread, RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/geometry/nurbs.h"
#include "rt/positioning/numeric_completion.h"

#define MAX_SHAPES 12
#define STEPS      60
#define SHAPE_WORK 8    /* work of evaluating a shape, in rows */
#define GOAL       1e-9 /* worst row, by the size: then the descent on the rows continues */

typedef struct shape {
    const gw_distance_constraint *d;
    double sense; /* factor of `along`: 1, or -1 if both senses are allowed */
} shape;

typedef struct parameters {
    double z[2];
} parameters;

/* Normal equations of one shape's parameters, in metres: z moves by `unit` times the step. */
typedef struct block {
    double unit[2], g[2], c[2][2], b[2][6];
} block;

typedef struct equations {
    gw_normal_equations pose;
    block of[MAX_SHAPES];
} equations;

/* S + p n, n or the tangent, and their derivatives, in the shape's frame. */
typedef struct shape_point {
    gw_vec3 y, y_z[2], n, n_z[2];
} shape_point;

static gw_vec3 unit_rate(gw_vec3 unit, double length, gw_vec3 rate)
{
    return gw_scale(1 / length, gw_reject(rate, unit));
}

static void shape_at(const gw_distance_constraint *d, const double z[2], shape_point *out)
{
    gw_nurbs_point at;
    bool curve = d->surface == GW_CURVE, bends = d->directed || d->p != 0;
    gw_nurbs_evaluate(d->nurbs, z, bends ? 2 : 1, NULL, &at);
    *out = (shape_point){.y = at.d[0][0], .y_z = {at.d[1][0], at.d[0][1]}};
    if (!bends)
        return;
    gw_vec3 along = curve ? at.d[1][0] : gw_cross(at.d[1][0], at.d[0][1]);
    double length = gw_norm(along), size = d->nurbs->size;
    if (length <= 1e-9 * (curve ? size : size * size)) {
        out->n = curve ? gw_v3(0, 0, 0) : gw_nurbs_normal(d->nurbs, z, &at);
    } else {
        out->n = gw_scale(1 / length, along);
        gw_vec3 rate_u =
            curve ? at.d[2][0]
                  : gw_add(gw_cross(at.d[2][0], at.d[0][1]), gw_cross(at.d[1][0], at.d[1][1]));
        gw_vec3 rate_v =
            curve ? gw_v3(0, 0, 0)
                  : gw_add(gw_cross(at.d[1][1], at.d[0][1]), gw_cross(at.d[1][0], at.d[0][2]));
        out->n_z[0] = unit_rate(out->n, length, rate_u);
        out->n_z[1] = unit_rate(out->n, length, rate_v);
    }
    out->y = gw_mul_add(out->y, d->p, out->n);
    for (int k = 0; k < 2; k++)
        out->y_z[k] = gw_mul_add(out->y_z[k], d->p, out->n_z[k]);
}

/* Three rows h with columns v (times `moves`), w x r, and z. */
static void add_rows(equations *to, block *b, const double h[3], double moves, gw_vec3 r,
                     double size, const gw_vec3 z[2])
{
    const double cross[3][3] = {{0, r.z, -r.y}, {-r.z, 0, r.x}, {r.y, -r.x, 0}}; /* w x r */
    for (int i = 0; i < 3; i++) {
        double a[6] = {0}, own[2];
        a[i] = moves;
        for (int j = 0; j < 3; j++)
            a[3 + j] = cross[i][j] / size;
        for (int k = 0; k < 2; k++)
            own[k] = b->unit[k] * (i == 0 ? z[k].x : i == 1 ? z[k].y : z[k].z);
        gw_normal_equations_add(&to->pose, h[i], a);
        for (int k = 0; k < 2; k++) {
            b->g[k] += own[k] * h[i];
            for (int j = 0; j < 6; j++)
                b->b[k][j] += own[k] * a[j];
            for (int l = 0; l < 2; l++)
                b->c[k][l] += own[k] * own[l];
        }
    }
}

/* Fixes parameters at a bound whose step would leave the domain. */
static void hold_bounds(const gw_distance_constraint *d, const parameters *p, block *b)
{
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *way = &d->nurbs->direction[k];
        bool held = b->unit[k] == 0;
        if (!way->closed)
            held = held || (p->z[k] <= way->low && b->g[k] > 0) ||
                   (p->z[k] >= way->high && b->g[k] < 0);
        if (!held)
            continue;
        b->unit[k] = b->g[k] = b->c[k][1 - k] = b->c[1 - k][k] = 0;
        b->c[k][k] = 1;
        memset(b->b[k], 0, sizeof b->b[k]);
    }
}

static void add_shape(const gw_completion *c, const shape *s, const gw_pose *x, const parameters *p,
                      equations *to, block *b)
{
    const gw_distance_constraint *d = s->d;
    shape_point at;
    shape_at(d, p->z, &at);
    *b = (block){.unit = {0}};
    for (int k = 0; k < 2; k++) {
        double speed = gw_norm(at.y_z[k]);
        b->unit[k] = speed > 1e-9 * d->nurbs->size ? 1 / speed : 0;
    }
    gw_quat q = d->body_owns ? gw_quat_mul(x->q, d->q) : d->q;
    gw_vec3 arm = gw_rotate(x->q, d->body_owns ? d->b : d->a), z[2], n[2];
    if (d->body_owns)
        arm = gw_add(arm, gw_rotate(q, at.y));
    gw_vec3 mobile = gw_add(x->p, arm);
    gw_vec3 h =
        d->body_owns ? gw_sub(mobile, d->a) : gw_sub(mobile, gw_add(d->b, gw_rotate(q, at.y)));
    double sign = d->body_owns ? 1 : -1, length = d->nurbs->size;
    for (int k = 0; k < 2; k++) {
        z[k] = gw_scale(sign, gw_rotate(q, at.y_z[k]));
        n[k] = gw_scale(sign * length, gw_rotate(q, at.n_z[k]));
    }
    add_rows(to, b, (const double[]){h.x, h.y, h.z}, 1, arm, c->size, z);
    if (d->directed) {
        gw_vec3 normal = gw_scale(length, gw_rotate(q, at.n));
        gw_vec3 along =
            gw_scale(s->sense * length, d->body_owns ? d->along : gw_rotate(x->q, d->along));
        gw_vec3 turns = d->body_owns ? normal : along;
        h = d->body_owns ? gw_sub(normal, along) : gw_sub(along, normal);
        add_rows(to, b, (const double[]){h.x, h.y, h.z}, 0, turns, c->size, n);
    }
    hold_bounds(d, p, b);
}

static void evaluate_equations(gw_completion *c, int count, const shape *shapes, const gw_pose *x,
                               const parameters *p, equations *to)
{
    to->pose = (gw_normal_equations){.sum = 0};
    for (int i = 0; i < c->row_count; i++) {
        double h, a[1][6];
        if (c->rows[i].nurbs)
            continue;
        gw_rows_value_and_jacobian(&c->rows[i], 1, x, &h, a);
        gw_scale_row(&c->rows[i], c->size, &h, a[0]);
        gw_normal_equations_add(&to->pose, h, a[0]);
    }
    for (int i = 0; i < count; i++)
        add_shape(c, &shapes[i], x, &p[i], to, &to->of[i]);
    c->solver->work -= c->row_count + 6 + SHAPE_WORK * count;
}

/* C^-1 with damping, of one block. */
static void invert_block(const block *b, double damping, double inverse[2][2])
{
    double u = b->c[0][0] + damping, v = b->c[1][1] + damping, w = b->c[0][1];
    double det = u * v - w * w;
    inverse[0][0] = v / det;
    inverse[1][1] = u / det;
    inverse[0][1] = inverse[1][0] = -w / det;
}

/* One step of pose and parameters; false where the equations are singular. */
static bool newton_step(const gw_completion *c, int count, const shape *shapes, const equations *at,
                        double damping, gw_pose *x, parameters *p)
{
    double n[6][6], g[6], s[6], inverse[MAX_SHAPES][2][2];
    memcpy(n, at->pose.n, sizeof n);
    memcpy(g, at->pose.g, sizeof g);
    for (int i = 0; i < count; i++) {
        const block *b = &at->of[i];
        invert_block(b, damping, inverse[i]);
        for (int r = 0; r < 6; r++) {
            double row[2];
            for (int k = 0; k < 2; k++)
                row[k] = b->b[0][r] * inverse[i][0][k] + b->b[1][r] * inverse[i][1][k];
            g[r] -= row[0] * b->g[0] + row[1] * b->g[1];
            for (int l = 0; l <= r; l++)
                n[r][l] -= row[0] * b->b[0][l] + row[1] * b->b[1][l];
        }
    }
    if (!gw_small_cholesky_solve(6, (const double(*)[6])n, damping, g, s))
        return false;
    *x = gw_scaled_step(c->size, x, s, -1);
    for (int i = 0; i < count; i++) {
        const block *b = &at->of[i];
        double left[2] = {b->g[0], b->g[1]};
        for (int k = 0; k < 2; k++)
            for (int r = 0; r < 6; r++)
                left[k] -= b->b[k][r] * s[r];
        for (int k = 0; k < 2; k++)
            p[i].z[k] -= b->unit[k] * (inverse[i][k][0] * left[0] + inverse[i][k][1] * left[1]);
        gw_nurbs_into_domain(shapes[i].d->nurbs, p[i].z);
    }
    return true;
}

/* Random parameters, and the position at which the points are on their shapes on average. */
static void random_start(gw_completion *c, int count, shape *shapes, gw_pose *x, parameters *p)
{
    gw_vec3 off = {0, 0, 0};
    for (int i = 0; i < count; i++) {
        const gw_distance_constraint *d = shapes[i].d;
        shape_point at;
        for (int k = 0; k < 2; k++)
            p[i].z[k] =
                gw_completion_uniform(c, d->nurbs->direction[k].low, d->nurbs->direction[k].high);
        shape_at(d, p[i].z, &at);
        gw_vec3 y = gw_add(d->b, gw_rotate(d->q, at.y));
        gw_vec3 to = d->body_owns ? d->a : y, from = d->body_owns ? y : d->a;
        off = gw_mul_add(off, 1.0 / count, gw_sub(to, gw_pose_point(x, from)));
        gw_quat q = d->body_owns ? gw_quat_mul(x->q, d->q) : d->q;
        gw_vec3 along = d->body_owns ? d->along : gw_rotate(x->q, d->along);
        bool against = d->directed && gw_dot(along, gw_rotate(q, at.n)) < 0;
        shapes[i].sense = c->any_sense && against ? -1 : 1;
    }
    x->p = gw_add(x->p, off);
}

double gw_free_form_start(gw_completion *c, gw_pose *x)
{
    shape shapes[MAX_SHAPES];
    parameters p[MAX_SHAPES], next_p[MAX_SHAPES];
    equations at, there;
    int count = 0;
    for (int i = 0; i < c->state->distance_count; i++) {
        const gw_distance_constraint *d = &c->state->distances[i];
        if (!gw_is_free_form(d->surface))
            continue;
        if (count == MAX_SHAPES || (d->surface == GW_CURVE && d->p != 0))
            return 0;
        shapes[count++].d = d;
    }
    if (count == 0)
        return 0;
    random_start(c, count, shapes, x, p);
    evaluate_equations(c, count, shapes, x, p, &at);
    double damping = 1e-2;
    for (int k = 0; k < STEPS && at.pose.worst > GOAL * c->size && damping < 1e6; k++) {
        gw_pose next = *x;
        memcpy(next_p, p, sizeof p);
        if (newton_step(c, count, shapes, &at, damping, &next, next_p)) {
            evaluate_equations(c, count, shapes, &next, next_p, &there);
            if (there.pose.sum < at.pose.sum) {
                bool stays = there.pose.sum > 0.999 * at.pose.sum;
                *x = next, at = there;
                memcpy(p, next_p, sizeof p);
                damping = fmax(0.1 * damping, 1e-12);
                if (stays && at.pose.worst > 1e-3 * c->size)
                    break; /* a minimum that is not a root */
                continue;
            }
        }
        damping = fmax(6 * damping, 1e-8);
    }
    return at.pose.worst / c->size;
}
