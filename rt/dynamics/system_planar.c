/*
 * Bodies of a system that move in a plane, as those of most linkages: every joint between the
 * ground and them rotates about the plane's normal n, slides along the plane, or both. Of twists,
 * wrenches and inertias three components remain, at a quarter of the cost in space. With the angle
 * phi of a body, R = R(phi) in the plane, and ' for a quarter turn,
 *
 *   revolute    phi = phi_p + z,   x = x_p + R_p j + R b,            S = (-b_y, b_x, 1)
 *   prismatic   phi = phi_p,       x = x_p + R_p (j + z d) + R b,    S = (R_p d, 0)
 *   planar      both, with two directions d
 *   at u-dot = 0   a = a_p - w_p^2 (r - R b) - w^2 R b,    of what slides + 2 w_p (R_p d)' u
 *
 * and no angular acceleration. A planar joint holds nothing in the plane: I^a is zero there, unless
 * dampers and springs of the joint count in D. A body in space that hangs on one in a plane passes
 * on what the plane feels of its inertia and forces. What stands on a ground that moves counts as
 * in space. RT safe.
 */
#include <math.h>

#include "rt/dynamics/system_private.h"

#define IN_PLANE 1e-13 /* largest sine of the angle between an axis and the normal */

/* ---- finding planes ------------------------------------------------------------------------- */

/* Orientation of a body while all angles are zero. */
static gw_quat upright_of(const gw_system *s, int body)
{
    return gw_body_of(s, body)->flat.upright;
}

static gw_vec3 axis_of(const gw_system *s, int body)
{
    const gw_system_body_def *def = &s->bodies[body].def;
    gw_quat at = gw_quat_mul(upright_of(s, def->parent), def->parent_from_f.q);
    return gw_rotate(at, gw_v3(0, 0, 1));
}

/* A planar joint that may be treated in its plane; a reversed one has its coordinates in the
 * body. */
static bool is_planar(const gw_system_body *k)
{
    return k->def.joint == GW_MOBILIZER_PLANAR && !k->def.reversed && !k->set;
}

static bool only_slides(const gw_system_body *k)
{
    return k->def.joint == GW_MOBILIZER_PRISMATIC || k->def.joint == GW_MOBILIZER_FIXED;
}

/* The normal of a tree's plane: the axis of its first rotating joint with only sliding joints
 * before it, so that the axis is fixed. */
static gw_vec3 normal_of(const gw_system *s, int root)
{
    for (int i = root; i < s->body_count; i++) {
        int at = i;
        if (s->bodies[i].def.joint != GW_MOBILIZER_REVOLUTE && !is_planar(&s->bodies[i]))
            continue;
        while (at != root && s->bodies[at].def.parent >= root &&
               only_slides(&s->bodies[s->bodies[at].def.parent]))
            at = s->bodies[at].def.parent;
        if (at == root)
            return axis_of(s, i);
    }
    return gw_any_normal(axis_of(s, root));
}

static void place_in_plane(gw_system *s, int index, const gw_plane *plane)
{
    gw_system_body *k = &s->bodies[index];
    gw_planar_body *b = &k->flat;
    const gw_system_body_def *def = &k->def;
    gw_quat parent = upright_of(s, def->parent);
    gw_quat joint = gw_quat_mul(parent, def->parent_from_f.q);
    gw_vec3 axis = axis_of(s, index), from_joint = gw_rotate(joint, k->m_from_body.p);
    gw_vec3 from_parent = gw_rotate(parent, def->parent_from_f.p);
    if (def->parent < GW_GROUND)
        from_parent = gw_add(gw_body_of(s, def->parent)->pose.p, from_parent);
    gw_vec3 com = gw_rotate(b->upright, def->mass.com);
    gw_vec3 damped = gw_rotate(b->upright, def->damping_at);
    gw_vec3 n = gw_unrotate(b->upright, plane->normal);
    b->plane = plane;
    b->mass = def->mass.mass;
    b->turns = def->joint == GW_MOBILIZER_REVOLUTE || is_planar(k);
    b->sign = def->reversed ? -1 : 1;
    if (b->turns && gw_dot(axis, plane->normal) < 0)
        b->sign = -b->sign;
    b->joint_at[0] = gw_dot(plane->x, from_parent), b->joint_at[1] = gw_dot(plane->y, from_parent);
    b->body_at[0] = gw_dot(plane->x, from_joint), b->body_at[1] = gw_dot(plane->y, from_joint);
    if (def->joint == GW_MOBILIZER_PRISMATIC)
        b->slide[0] = gw_dot(plane->x, axis), b->slide[1] = gw_dot(plane->y, axis);
    if (is_planar(k)) {
        gw_vec3 along = gw_rotate(joint, gw_v3(1, 0, 0)), across = gw_rotate(joint, gw_v3(0, 1, 0));
        b->slide[0] = gw_dot(plane->x, along), b->slide[1] = gw_dot(plane->y, along);
        k->slide_across[0] = gw_dot(plane->x, across);
        k->slide_across[1] = gw_dot(plane->y, across);
    }
    b->centre_at[0] = gw_dot(plane->x, com), b->centre_at[1] = gw_dot(plane->y, com);
    b->damped_at[0] = gw_dot(plane->x, damped), b->damped_at[1] = gw_dot(plane->y, damped);
    b->height = gw_dot(plane->normal, gw_add(from_parent, from_joint)) +
                (def->parent >= 0 ? s->bodies[def->parent].flat.height : 0);
    b->crossed =
        gw_quat_mul((gw_quat){0, plane->normal.x, plane->normal.y, plane->normal.z}, b->upright);
    b->spin_inertia = gw_dot(n, gw_sym3_mul(&k->inertia_in_body, n));
}

void gw_planar_find(gw_system *s)
{
    s->all_planar = true;
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        const gw_system_body_def *def = &k->def;
        gw_quat joint = gw_quat_mul(upright_of(s, def->parent), def->parent_from_f.q);
        k->flat.upright = gw_quat_unit(gw_quat_mul(joint, k->m_from_body.q));
        k->flat.plane = NULL;
    }
    for (int i = 0, root = 0; i < s->body_count; i++) {
        const gw_system_body_def *def = &s->bodies[i].def;
        int parent = def->parent;
        for (root = i; s->bodies[root].def.parent >= 0;)
            root = s->bodies[root].def.parent;
        gw_plane *plane = &s->planes[root];
        if (parent < 0) {
            gw_vec3 n = gw_unit(normal_of(s, i)), x = gw_any_normal(n), y = gw_cross(n, x);
            *plane = (gw_plane){x, y, n, {gw_dot(x, s->gravity), gw_dot(y, s->gravity)}};
        }
        gw_vec3 axis = axis_of(s, i);
        bool turns = (def->joint == GW_MOBILIZER_REVOLUTE || is_planar(&s->bodies[i])) &&
                     gw_norm(gw_cross(axis, plane->normal)) < IN_PLANE;
        bool slides =
            def->joint == GW_MOBILIZER_FIXED ||
            (def->joint == GW_MOBILIZER_PRISMATIC && fabs(gw_dot(axis, plane->normal)) < IN_PLANE);
        int ground = s->bodies[i].ground;
        bool in_space =
            s->is_offset || (ground != GW_GROUND && s->grounds[GW_MOVING_GROUND(ground)].in_space);
        if ((turns || slides) && !in_space && (parent < 0 || s->bodies[parent].flat.plane))
            place_in_plane(s, i, plane);
        else
            s->all_planar = false;
    }
}

/* ---- kinematics ----------------------------------------------------------------------------- */

/* Functions inlined into one pass over the bodies. */
#define PASS static inline __attribute__((always_inline))

/* Columns of a planar joint: the last one is that of a revolute joint. */
PASS void place_columns(gw_system_body *k, const gw_planar_body *q)
{
    const double *along = k->flat.slide, *across = k->slide_across;
    double(*s)[3] = k->flat_columns;
    s[0][0] = q->cosine * along[0] - q->sine * along[1];
    s[0][1] = q->sine * along[0] + q->cosine * along[1];
    s[1][0] = q->cosine * across[0] - q->sine * across[1];
    s[1][1] = q->sine * across[0] + q->cosine * across[1];
    s[2][0] = k->flat.column[0], s[2][1] = k->flat.column[1], s[2][2] = k->flat.column[2];
}

PASS void update_position(gw_system_body *k, const gw_system_body *p, bool in_stage)
{
    gw_planar_body *b = &k->flat;
    const gw_planar_body *q = p ? &p->flat : &gw_ground_body.flat;
    bool free = gw_planar_is_free(k);
    double z = b->sign * k->joint.z[free ? 2 : 0], x = b->joint_at[0], y = b->joint_at[1];
    b->expanded = false;
    b->angle = q->angle;
    if (b->turns)
        b->angle += z;
    else
        x += z * b->slide[0], y += z * b->slide[1];
    if (free) {
        const double *at = k->joint.z;
        x += at[0] * b->slide[0] + at[1] * k->slide_across[0];
        y += at[0] * b->slide[1] + at[1] * k->slide_across[1];
    }
    if (b->turns)
        gw_turn_half(&b->begin, b->angle, in_stage, b->half);
    else
        b->half[0] = q->half[0], b->half[1] = q->half[1];
    double c = b->half[0], s = b->half[1];
    b->cosine = 1 - 2 * s * s, b->sine = 2 * s * c;
    b->arm[0] = b->cosine * b->body_at[0] - b->sine * b->body_at[1];
    b->arm[1] = b->sine * b->body_at[0] + b->cosine * b->body_at[1];
    b->com[0] = b->cosine * b->centre_at[0] - b->sine * b->centre_at[1];
    b->com[1] = b->sine * b->centre_at[0] + b->cosine * b->centre_at[1];
    if (k->damping_rate > 0) {
        b->damper[0] = b->cosine * b->damped_at[0] - b->sine * b->damped_at[1];
        b->damper[1] = b->sine * b->damped_at[0] + b->cosine * b->damped_at[1];
        k->damper = gw_planar_vector(b->plane, b->damper[0], b->damper[1]);
    }
    b->r[0] = q->cosine * x - q->sine * y + b->arm[0];
    b->r[1] = q->sine * x + q->cosine * y + b->arm[1];
    b->position[0] = q->position[0] + b->r[0], b->position[1] = q->position[1] + b->r[1];
    if (b->turns) {
        b->column[0] = -b->sign * b->arm[1], b->column[1] = b->sign * b->arm[0];
        b->column[2] = b->sign;
        if (free)
            place_columns(k, q);
    } else {
        b->column[0] = b->sign * (q->cosine * b->slide[0] - q->sine * b->slide[1]);
        b->column[1] = b->sign * (q->sine * b->slide[0] + q->cosine * b->slide[1]);
    }
}

PASS void place(gw_system_body *k)
{
    const gw_planar_body *b = &k->flat;
    const gw_plane *plane = b->plane;
    double c = b->half[0], s = b->half[1];
    k->pose.p = gw_mul_add(gw_planar_vector(plane, b->position[0], b->position[1]), b->height,
                           plane->normal);
    k->pose.q = (gw_quat){c * b->upright.w + s * b->crossed.w, c * b->upright.x + s * b->crossed.x,
                          c * b->upright.y + s * b->crossed.y, c * b->upright.z + s * b->crossed.z};
    k->turn = gw_quat_to_mat3(k->pose.q);
}

PASS void update_velocity(gw_system_body *k, const gw_system_body *p)
{
    gw_planar_body *b = &k->flat;
    const gw_planar_body *q = p ? &p->flat : &gw_ground_body.flat;
    bool free = gw_planar_is_free(k);
    double u = k->joint.u[free ? 2 : 0], m = b->mass, w_p = q->twist[2];
    double x = u * b->column[0], y = u * b->column[1], w = w_p + u * b->column[2];
    double slides_x = x, slides_y = y; /* of M's origin in F */
    if (free) {
        const double *v = k->joint.u, (*s)[3] = (const double(*)[3])k->flat_columns;
        slides_x = v[0] * s[0][0] + v[1] * s[1][0], slides_y = v[0] * s[0][1] + v[1] * s[1][1];
        x += slides_x, y += slides_y;
    }
    b->expanded = false;
    b->twist[0] = q->twist[0] - w_p * b->r[1] + x;
    b->twist[1] = q->twist[1] + w_p * b->r[0] + y;
    b->twist[2] = w;
    double inner = w_p * w_p, outer = w * w;
    b->coasting[0] = q->coasting[0] - inner * (b->r[0] - b->arm[0]) - outer * b->arm[0];
    b->coasting[1] = q->coasting[1] - inner * (b->r[1] - b->arm[1]) - outer * b->arm[1];
    if (b->column[2] == 0 || free) {
        b->coasting[0] -= 2 * w_p * slides_y;
        b->coasting[1] += 2 * w_p * slides_x;
    }
    b->needed[0] = m * (b->coasting[0] - outer * b->com[0]);
    b->needed[1] = m * (b->coasting[1] - outer * b->com[1]);
    b->needed[2] = b->com[0] * b->needed[1] - b->com[1] * b->needed[0];
}

PASS void move(gw_system_body *k)
{
    const gw_planar_body *b = &k->flat;
    k->twist.v = gw_planar_vector(b->plane, b->twist[0], b->twist[1]);
    k->twist.w = gw_scale(b->twist[2], b->plane->normal);
}

/* f = m (a + alpha n x c - w^2 c),   t = I n alpha + w^2 n x I n + c x f */
gw_wrench gw_planar_momentum_rate(const gw_system_body *k, gw_vec3 gravity)
{
    const gw_planar_body *b = &k->flat;
    const gw_plane *plane = b->plane;
    gw_vec3 n = plane->normal, c = gw_mat3_mul(&k->turn, k->def.mass.com);
    gw_vec3 n_in_body = gw_unrotate(b->upright, n);
    gw_vec3 spin = gw_mat3_mul(&k->turn, gw_sym3_mul(&k->inertia_in_body, n_in_body));
    double w2 = b->twist[2] * b->twist[2], alpha = b->acceleration[2];
    gw_vec3 a = gw_planar_vector(plane, b->coasting[0] + b->acceleration[0],
                                 b->coasting[1] + b->acceleration[1]);
    gw_vec3 round = gw_mul_add(gw_scale(alpha, gw_cross(n, c)), w2, gw_cross(n, gw_cross(n, c)));
    gw_vec3 f = gw_scale(k->def.mass.mass, gw_sub(gw_add(a, round), gravity));
    gw_vec3 t = gw_mul_add(gw_scale(alpha, spin), w2, gw_cross(n, spin));
    return (gw_wrench){f, gw_add(t, gw_cross(c, f))};
}

static void expand_body(gw_system_body *k, const gw_system_body *p)
{
    gw_planar_body *b = &k->flat;
    const gw_plane *plane = b->plane;
    k->r = p ? gw_sub(k->pose.p, p->pose.p) : k->pose.p;
    k->arm = gw_planar_vector(plane, b->arm[0], b->arm[1]);
    k->com = gw_mat3_mul(&k->turn, k->def.mass.com);
    k->inertia_com = gw_sym3_turned(&k->turn, &k->inertia_in_body);
    gw_spatial_set(k->columns[0], gw_planar_vector(plane, b->column[0], b->column[1]),
                   gw_scale(b->column[2], plane->normal));
    for (int j = 0; j < 3 && gw_planar_is_free(k); j++) {
        const double *s = k->flat_columns[j];
        gw_spatial_set(k->columns[j], gw_planar_vector(plane, s[0], s[1]),
                       gw_scale(s[2], plane->normal));
    }
    gw_spatial_set(k->coasting, gw_planar_vector(plane, b->coasting[0], b->coasting[1]),
                   gw_v3(0, 0, 0));
    b->expanded = true;
}

void gw_planar_expand(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        if (k->flat.plane && !k->flat.expanded)
            expand_body(k, k->def.parent >= 0 ? &s->bodies[k->def.parent] : NULL);
    }
}

/* ---- the articulated-body algorithm ---------------------------------------------------------
 *
 * Inertias [xx, yx, yy, nx, ny, nn] of (a_x, a_y, alpha); shifted to the parent with
 * a = a_p + alpha (-r_y, r_x):
 *
 *   (nx, ny)' = (nx, ny) + M (-r_y, r_x),   nn' = nn + (-r_y, r_x) . ((nx, ny) + (nx, ny)')
 */

PASS void rigid_inertia(gw_system_body *k, double h)
{
    gw_planar_body *b = &k->flat;
    double m = b->mass, *i = b->inertia;
    i[0] = m, i[1] = 0, i[2] = m;
    i[3] = -m * b->com[1], i[4] = m * b->com[0];
    i[5] = b->spin_inertia + m * (b->com[0] * b->com[0] + b->com[1] * b->com[1]);
    if (h == 0 || k->damping_rate == 0)
        return;
    const double *r = b->damper, d = h * k->def.damping_linear;
    i[0] += d, i[2] += d;
    i[3] -= d * r[1], i[4] += d * r[0];
    i[5] += h * k->def.damping_angular + d * (r[0] * r[0] + r[1] * r[1]);
}

void gw_planar_rigid_inertia(gw_system_body *k, double h)
{
    rigid_inertia(k, h);
}

void gw_planar_update_position(gw_system_body *k, const gw_system_body *p, bool in_stage,
                               bool in_space)
{
    update_position(k, p, in_stage);
    if (in_space)
        place(k);
}

void gw_planar_update_velocity(gw_system_body *k, const gw_system_body *p, bool in_space)
{
    update_velocity(k, p);
    if (in_space)
        move(k);
}

void gw_planar_update(gw_system_body *k, const gw_system_body *p, bool in_stage, bool in_space,
                      bool inertia)
{
    update_position(k, p, in_stage);
    update_velocity(k, p);
    if (in_space) {
        place(k);
        move(k);
    }
    if (inertia)
        rigid_inertia(k, 0);
}

static void add_shifted(const double x[6], double r_x, double r_y, double to[6])
{
    double nx = x[3] + (r_x * x[1] - r_y * x[0]), ny = x[4] + (r_x * x[2] - r_y * x[1]);
    to[0] += x[0], to[1] += x[1], to[2] += x[2];
    to[3] += nx, to[4] += ny;
    to[5] += x[5] + (r_x * (x[4] + ny) - r_y * (x[3] + nx));
}

/* U = I^A S of one column. */
PASS void pull_column(const double i[6], const double s[3], double u[3])
{
    u[0] = i[0] * s[0] + i[1] * s[1] + i[3] * s[2];
    u[1] = i[1] * s[0] + i[2] * s[1] + i[4] * s[2];
    u[2] = i[3] * s[0] + i[4] * s[1] + i[5] * s[2];
}

/* i -= u u^T by */
PASS void subtract_square(double i[6], const double u[3], double by)
{
    i[0] -= by * u[0] * u[0], i[1] -= by * u[1] * u[0], i[2] -= by * u[1] * u[1];
    i[3] -= by * u[2] * u[0], i[4] -= by * u[2] * u[1], i[5] -= by * u[2] * u[2];
}

/* Of a planar joint: U and L of D = S^T I^A S + added; I^A - U D^-1 U^T, by the columns of U L^-T,
 * is added to the parent. */
static void articulate_planar(gw_system_body *k, const double *added, gw_system_body *p)
{
    double *i = k->flat.inertia, d[3][3], largest = 0;
    for (int j = 0; j < 3; j++) {
        pull_column(i, k->flat_columns[j], k->flat_pulled[j]);
        for (int n = 0; n <= j; n++)
            d[j][n] = gw_dot3(k->flat_columns[j], k->flat_pulled[n]);
        d[j][j] += added ? added[j] : 0;
        largest = d[j][j] > largest ? d[j][j] : largest;
    }
    for (int j = 0; j < 3; j++) {
        bool moves = d[j][j] > 1e-14 * largest;
        k->chol[j][j] = moves ? sqrt(d[j][j]) : 0;
        k->inverse[j] = moves ? 1 / k->chol[j][j] : 0;
        for (int n = j + 1; n < 3; n++) {
            double l = k->chol[n][j] = d[n][j] * k->inverse[j];
            for (int m = j + 1; m <= n; m++)
                d[n][m] -= l * k->chol[m][j];
        }
    }
    if (!p || !added)
        return;
    double u[3][3];
    for (int j = 0; j < 3; j++) {
        for (int l = 0; l < 3; l++) {
            u[j][l] = k->flat_pulled[j][l];
            for (int n = 0; n < j; n++)
                u[j][l] -= k->chol[j][n] * u[n][l];
            u[j][l] *= k->inverse[j];
        }
        subtract_square(i, u[j], 1);
    }
    add_shifted(i, k->flat.r[0], k->flat.r[1], p->flat.inertia);
}

void gw_planar_articulate(gw_system_body *k, const double *added, gw_system_body *p)
{
    gw_planar_body *b = &k->flat;
    double *i = b->inertia, *u = b->pulled;
    const double *s = b->column;
    if (gw_planar_is_free(k)) {
        articulate_planar(k, added, p);
        return;
    }
    pull_column(i, s, u);
    double d = s[0] * u[0] + s[1] * u[1] + s[2] * u[2] + (added && k->dof > 0 ? added[0] : 0);
    double by = d > 0 ? 1 / d : 0;
    k->inverse_d = by;
    k->chol[0][0] = sqrt(d);
    k->inverse[0] = by * k->chol[0][0];
    if (!p)
        return;
    subtract_square(i, u, by);
    add_shifted(i, b->r[0], b->r[1], p->flat.inertia);
}

void gw_planar_add_inertia(const gw_articulated *x, gw_vec3 r, gw_system_body *p)
{
    const gw_plane *plane = p->flat.plane;
    gw_vec3 mx = gw_sym3_mul(&x->m, plane->x), my = gw_sym3_mul(&x->m, plane->y);
    gw_vec3 bn = gw_mat3_mul(&x->b, plane->normal), in = gw_sym3_mul(&x->i, plane->normal);
    const double flat[6] = {gw_dot(plane->x, mx), gw_dot(plane->x, my), gw_dot(plane->y, my),
                            gw_dot(plane->x, bn), gw_dot(plane->y, bn), gw_dot(plane->normal, in)};
    add_shifted(flat, gw_dot(plane->x, r), gw_dot(plane->y, r), p->flat.inertia);
}

void gw_planar_add_wrench(const double x[6], gw_vec3 r, gw_system_body *p)
{
    const gw_plane *plane = p->flat.plane;
    double f[3];
    gw_planar_wrench(plane, gw_linear_part(x), gw_angular_part(x), f);
    gw_planar_add_shifted(f, gw_dot(plane->x, r), gw_dot(plane->y, r), p->flat.force);
}

/* x := L^-1 x and L^-T x of a planar joint. */
PASS void solve_lower(const gw_system_body *k, double x[3])
{
    const double(*l)[6] = (const double(*)[6])k->chol;
    x[0] *= k->inverse[0];
    x[1] = (x[1] - l[1][0] * x[0]) * k->inverse[1];
    x[2] = (x[2] - l[2][0] * x[0] - l[2][1] * x[1]) * k->inverse[2];
}

PASS void solve_upper(const gw_system_body *k, double x[3])
{
    const double(*l)[6] = (const double(*)[6])k->chol;
    x[2] *= k->inverse[2];
    x[1] = (x[1] - l[2][1] * x[2]) * k->inverse[1];
    x[0] = (x[0] - l[1][0] * x[1] - l[2][0] * x[2]) * k->inverse[0];
}

/* L^-1 u with u = rest + S^T f of a planar joint; f - U D^-1 u onto the parent. */
static void reduce_planar(gw_system_body *k, gw_system_body *p)
{
    const double *f = k->flat.force, (*u)[3] = (const double(*)[3])k->flat_pulled;
    double x[3], passed[3];
    for (int j = 0; j < 3; j++)
        k->rest[j] += gw_dot3(k->flat_columns[j], f);
    solve_lower(k, k->rest);
    if (!p)
        return;
    for (int j = 0; j < 3; j++)
        x[j] = k->rest[j];
    solve_upper(k, x);
    for (int l = 0; l < 3; l++)
        passed[l] = f[l] - (u[0][l] * x[0] + u[1][l] * x[1] + u[2][l] * x[2]);
    gw_planar_add_shifted(passed, k->flat.r[0], k->flat.r[1], p->flat.force);
}

/* L^T u-dot = rest - L^-1 U^T a with a the parent's acceleration, shifted, of which this makes the
 * body's. */
static void accelerate_planar(gw_system_body *k, double a[3])
{
    double pulled[3];
    for (int j = 0; j < 3; j++)
        pulled[j] = gw_dot3(k->flat_pulled[j], a);
    solve_lower(k, pulled);
    for (int j = 0; j < 3; j++)
        k->rest[j] -= pulled[j];
    solve_upper(k, k->rest);
    for (int j = 0; j < 3; j++)
        for (int l = 0; l < 3; l++)
            a[l] += k->flat_columns[j][l] * k->rest[j];
}

void gw_planar_reduce(gw_system_body *k, gw_system_body *p)
{
    const gw_planar_body *b = &k->flat;
    const double *s = b->column, *f = b->force, *u = b->pulled;
    if (gw_planar_is_free(k)) {
        reduce_planar(k, p);
        return;
    }
    k->rest[0] = (k->rest[0] + gw_dot3(s, f)) * k->inverse[0];
    if (!p)
        return;
    double x = k->rest[0] * k->inverse[0];
    const double passed[3] = {f[0] - u[0] * x, f[1] - u[1] * x, f[2] - u[2] * x};
    gw_planar_add_shifted(passed, b->r[0], b->r[1], p->flat.force);
}

void gw_planar_accelerate(gw_system_body *k, const gw_system_body *p)
{
    gw_planar_body *b = &k->flat;
    const gw_planar_body *parent = p ? &p->flat : &gw_ground_body.flat;
    const double *q = parent->acceleration, *u = b->pulled;
    double x = q[0] - q[2] * b->r[1], y = q[1] + q[2] * b->r[0], n = q[2];
    if (gw_planar_is_free(k)) {
        b->acceleration[0] = x, b->acceleration[1] = y, b->acceleration[2] = n;
        accelerate_planar(k, b->acceleration);
        return;
    }
    k->rest[0] = k->rest[0] * k->inverse[0] - (u[0] * x + u[1] * y + u[2] * n) * k->inverse_d;
    b->acceleration[0] = x + b->column[0] * k->rest[0];
    b->acceleration[1] = y + b->column[1] * k->rest[0];
    b->acceleration[2] = n + b->column[2] * k->rest[0];
}

/* ---- both passes at once: gw_tree_solve() ---------------------------------------------------- *
 *
 * A hinge at the body's origin transmits no torque about it (except its own): I^a reduces to a
 * symmetric 2 x 2 matrix. */

PASS void pass_inertia(gw_system_body *k, gw_system_body *p)
{
    gw_planar_body *b = &k->flat;
    const double *i = b->inertia, x = b->r[0], y = b->r[1], *s = b->column;
    if (s[0] != 0 || s[1] != 0 || s[2] == 0) {
        gw_planar_articulate(k, NULL, p);
        return;
    }
    double d = i[5], by = k->inverse_d = d > 0 ? 1 / d : 0;
    b->pulled[0] = s[2] * i[3], b->pulled[1] = s[2] * i[4], b->pulled[2] = s[2] * d;
    if (!p)
        return;
    double fx = by * i[3], fy = by * i[4], *to = p->flat.inertia;
    double xx = i[0] - fx * i[3], yx = i[1] - fx * i[4], yy = i[2] - fy * i[4];
    double nx = x * yx - y * xx, ny = x * yy - y * yx;
    to[0] += xx, to[1] += yx, to[2] += yy, to[3] += nx, to[4] += ny;
    to[5] += x * ny - y * nx;
}

PASS void pass_force(gw_system_body *k, gw_system_body *p)
{
    const gw_planar_body *b = &k->flat;
    const double *f = b->force, *u = b->pulled;
    double x = k->rest[0] = (k->rest[0] + gw_dot3(b->column, f)) * k->inverse_d;
    if (!p)
        return;
    const double passed[3] = {f[0] - u[0] * x, f[1] - u[1] * x, f[2] - u[2] * x};
    gw_planar_add_shifted(passed, b->r[0], b->r[1], p->flat.force);
}

void gw_planar_pass(gw_system_body *k, gw_system_body *p)
{
    pass_inertia(k, p);
    pass_force(k, p);
}

void gw_planar_take_acceleration(gw_system_body *k, const gw_system_body *p)
{
    gw_planar_body *b = &k->flat;
    const double *q = p ? p->flat.acceleration : gw_ground_body.flat.acceleration;
    double x = q[0] - q[2] * b->r[1], y = q[1] + q[2] * b->r[0], n = q[2];
    double u = k->rest[0] -=
        (b->pulled[0] * x + b->pulled[1] * y + b->pulled[2] * n) * k->inverse_d;
    b->acceleration[0] = x + b->column[0] * u;
    b->acceleration[1] = y + b->column[1] * u;
    b->acceleration[2] = n + b->column[2] * u;
}
