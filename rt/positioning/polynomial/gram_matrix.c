/*
 * Systems whose rotation takes two vectors m_1, m_2 of the body to two vectors f_1, f_2 of the
 * world, all four linear in three unknowns x. Such a rotation exists if their Gram matrices are
 * equal, f_i . f_j = m_i . m_j: three quadrics in P^3 with eight common points (three_quadrics.c).
 * Any thread, RT safe.
 *
 * Case 1: two points P_1, P_2 of the body on lines L_1, L_2, and a line of the body through a point
 * Q. The vectors are P_2 - P_1 and Q - P_1. P_2 - P_1 = delta w + rho (x_0 e_1 + x_1 e_2), w the
 * lines' common normal, determines P_1; Q is at x_2 on its line.
 *
 * Case 2: a point P of the body on a line, a line of the body through a point Q, a point of the
 * body on a plane, and the angle of a direction u of the body with the plane's normal n. The
 * vectors are Q - P and n. P is at x_0 and Q at x_1 on their lines; n in the body follows from the
 * angle and from P except for its component x_2 normal to u and to the vector between the two
 * points of the body.
 *
 * Systems of these kinds with body and world exchanged are solved for the inverse pose.
 */
#include <string.h>

#include "rt/positioning/polynomial/quaternion_equations.h"

#define TINY 1e-6 /* a sine, radius or determinant below this counts as zero */

/* A vector that is linear in (x_0, x_1, x_2, 1). */
typedef struct linear {
    gw_vec3 x[4];
} linear;

/* R m[i] = f[i], R `p` + t = `at`. */
typedef struct fit {
    bool mirrored;
    gw_vec3 p;
    linear m[2], f[2], at;
} fit;

/* The constraints of a system, as seen from one side. */
typedef struct parts {
    int points, lines, planes; /* points on lines, lines through points, points on planes */
    gw_distance_constraint point[2], line, plane;
    gw_vec3 u, f; /* of the angle constraint */
    double cosine;
} parts;

static gw_vec3 scaled_point(const gw_pose_system *c, gw_vec3 p, bool world)
{
    return gw_scale(1 / c->size, gw_sub(p, world ? c->middle_f : c->middle_m));
}

/* Sorts the constraints by kind; false if there are others. */
static bool take_apart(const gw_pose_system *c, bool mirrored, parts *to)
{
    *to = (parts){0};
    if (c->distance_count != 3 || c->angle_count > 1 || c->rotation_known)
        return false;
    for (int i = 0; i < 3; i++) {
        gw_distance_constraint p = c->distances[i];
        bool own = p.body_owns != mirrored;
        p.a = scaled_point(c, p.a, p.body_owns);
        p.b = scaled_point(c, p.b, !p.body_owns);
        if (p.p != 0 || p.surface == GW_POINT || (own && p.surface == GW_PLANE))
            return false;
        if (p.surface == GW_PLANE && to->planes++ == 0)
            to->plane = p;
        else if (p.surface == GW_LINE && own && to->lines++ == 0)
            to->line = p;
        else if (p.surface == GW_LINE && !own && to->points < 2)
            to->point[to->points++] = p;
        else
            return false;
    }
    if (c->angle_count == 0)
        return true;
    const gw_angle_constraint *d = &c->angles[0];
    to->u = mirrored ? d->f : d->u;
    to->f = mirrored ? d->u : d->f;
    to->cosine = d->cosine;
    return d->angle > 0;
}

/* ---- the two kinds --------------------------------------------------------------------------- */

/* True if there is no angle, or if the distances imply it: the angle of P_2 - P_1 with the lines'
 * common normal. */
static bool is_angle_implied(const gw_pose_system *s)
{
    unsigned long from = 0;
    for (int i = 0; i < s->distance_count; i++)
        from |= s->distances[i].from;
    return s->angle_count == 0 || (s->angles[0].from & ~from) == 0;
}

static bool two_points(const parts *p, fit *to)
{
    const gw_distance_constraint *one = &p->point[0], *two = &p->point[1];
    gw_vec3 u = gw_sub(two->a, one->a), gap = gw_sub(two->b, one->b), w = gw_cross(one->d, two->d);
    double sine = gw_norm(w);
    if (sine < TINY)
        return false;
    w = gw_scale(1 / sine, w);
    double delta = gw_dot(w, gap), rho2 = gw_norm2(u) - delta * delta, rho = sqrt(fmax(0, rho2));
    if (rho < TINY)
        return false;
    gw_vec3 e1 = gw_scale(rho, one->d), e2 = gw_cross(w, e1), across = gw_cross(two->d, w);
    double k = gw_dot(one->d, across); /* position along L_1: from the component normal to L_2 */
    gw_vec3 none = {0, 0, 0}, along = gw_scale(1 / k, one->d);
    to->p = one->a;
    to->f[0] = (linear){{e1, e2, none, gw_scale(delta, w)}};
    to->m[0] = (linear){{none, none, none, u}};
    to->at = (linear){{gw_scale(-gw_dot(e1, across), along), gw_scale(-gw_dot(e2, across), along),
                       none, gw_mul_add(one->b, gw_dot(gap, across), along)}};
    to->m[1] = (linear){{none, none, p->line.d, gw_sub(p->line.b, one->a)}};
    for (int i = 0; i < 4; i++)
        to->f[1].x[i] = gw_sub(i == 3 ? p->line.a : none, to->at.x[i]);
    return true;
}

static bool point_and_plane(const parts *p, fit *to)
{
    const gw_distance_constraint *on = &p->point[0], *plane = &p->plane;
    gw_vec3 none = {0, 0, 0}, v = gw_sub(plane->a, on->a), across = gw_cross(p->u, v);
    double c = gw_dot(p->u, v), det = gw_norm2(across), side = gw_dot(p->f, plane->d);
    if (det < TINY || fabs(side) < 1 - 1e-12)
        return false;
    /* y . u = cosine and y . v = n . (F - P), y = R^T n */
    double first = side < 0 ? -p->cosine : p->cosine;
    double second[2] = {-gw_dot(plane->d, on->d), gw_dot(plane->d, gw_sub(plane->b, on->b))};
    gw_vec3 by_first = gw_sub(gw_scale(gw_norm2(v) / det, p->u), gw_scale(c / det, v));
    gw_vec3 by_second = gw_sub(gw_scale(1 / det, v), gw_scale(c / det, p->u));
    to->p = on->a;
    to->at = (linear){{on->d, none, none, on->b}};
    to->f[0] = (linear){{gw_neg(on->d), none, none, gw_sub(p->line.a, on->b)}};
    to->m[0] = (linear){{none, p->line.d, none, gw_sub(p->line.b, on->a)}};
    to->f[1] = (linear){{none, none, none, plane->d}};
    to->m[1] = (linear){{gw_scale(second[0], by_second), none, gw_unit(across),
                         gw_mul_add(gw_scale(first, by_first), second[1], by_second)}};
    return true;
}

static bool fit_of(const gw_pose_system *c, fit *to)
{
    parts p;
    for (int side = 0; side < 2; side++) {
        to->mirrored = side > 0;
        if (!take_apart(c, to->mirrored, &p))
            continue;
        if (p.points == 2 && p.lines == 1 && is_angle_implied(c))
            return two_points(&p, to);
        if (p.points == 1 && p.lines == 1 && p.planes == 1 && c->angle_count == 1)
            return point_and_plane(&p, to);
    }
    return false;
}

/* ---- their roots ----------------------------------------------------------------------------- */

/* q += k a . b */
static void add_product(double *q, double k, const linear *a, const linear *b)
{
    static const int at[4][4] = {{0, 1, 2, 3}, {1, 4, 5, 6}, {2, 5, 7, 8}, {3, 6, 8, 9}};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++)
            q[at[i][j]] += k * gw_dot(a->x[i], b->x[j]);
}

static void gram_quadrics(const fit *x, gw_three_equations *s)
{
    *s = (gw_three_equations){.degree = {2, 2, 2}};
    for (int n = 0; n < 3; n++) {
        int i = n > 1, j = n > 0;
        double ss = 0, *q = s->quadric[n];
        add_product(q, 1, &x->f[i], &x->f[j]);
        add_product(q, -1, &x->m[i], &x->m[j]);
        for (int k = 0; k < GW_MONOMIALS; k++)
            ss += q[k] * q[k];
        for (int k = 0; k < GW_MONOMIALS && ss > 0; k++)
            q[k] /= sqrt(ss);
    }
}

static gw_vec3 value_of(const linear *v, const double x[3])
{
    gw_vec3 sum = v->x[3];
    for (int i = 0; i < 3; i++)
        sum = gw_mul_add(sum, x[i], v->x[i]);
    return sum;
}

/* The rotation that takes u to the direction of a, and the half-plane of u and v to that of a and
 * b. */
static gw_quat turn_between(gw_vec3 u, gw_vec3 v, gw_vec3 a, gw_vec3 b)
{
    gw_quat q = gw_quat_between(gw_unit(u), gw_unit(a));
    gw_vec3 axis = gw_unit(a), from = gw_reject(gw_rotate(q, v), axis), to = gw_reject(b, axis);
    double angle = atan2(gw_dot(axis, gw_cross(from, to)), gw_dot(from, to));
    return gw_quat_mul(gw_quat_axis(axis, angle), q);
}

static gw_pose pose_of(const gw_pose_system *c, const fit *s, const double x[3])
{
    gw_quat q = turn_between(value_of(&s->m[0], x), value_of(&s->m[1], x), value_of(&s->f[0], x),
                             value_of(&s->f[1], x));
    gw_pose pose = {gw_sub(value_of(&s->at, x), gw_rotate(q, s->p)), q};
    if (s->mirrored)
        pose = gw_pose_inverse(&pose);
    gw_vec3 middle = gw_rotate(pose.q, c->middle_m);
    pose.p = gw_sub(gw_mul_add(c->middle_f, c->size, pose.p), middle);
    return pose;
}

/* Reports the pose of a root's real part if the root is nearly real; false if the root is multiple
 * or at infinity. */
static bool take_root(const gw_pose_system *c, const fit *s, const gw_homotopy_path *path)
{
    const gw_complex *x = path->x;
    double real[3], off = 0, size = 1;
    if (cabs(x[3]) < 1e-8)
        return false;
    for (int i = 0; i < 3; i++) {
        real[i] = creal(x[i] / x[3]);
        off = fmax(off, fabs(cimag(x[i] / x[3])));
        size = fmax(size, cabs(x[i] / x[3]));
    }
    if (off < 0.05 * size) {
        gw_pose pose = pose_of(c, s, real);
        c->report(c->context, &pose);
    }
    return path->end == GW_END_REGULAR;
}

bool gw_gram_matrix_roots(const gw_pose_system *c, gw_root_summary *found)
{
    fit s;
    gw_three_equations equations;
    gw_quaternion_homotopy homotopy;
    gw_homotopy paths = {4, &homotopy, gw_quaternion_evaluate, c->work, GW_QUATERNION_STEP_COST};
    gw_homotopy_path path[8];
    gw_complex x[8][4];
    if (!fit_of(c, &s))
        return false;
    gram_quadrics(&s, &equations);
    *c->work -= 1200;
    if (!gw_three_quadrics_roots((const double(*)[GW_MONOMIALS])equations.quadric, x))
        return false;
    int simple = 0;
    gw_quaternion_homotopy_of(&equations, 0, &homotopy);
    for (int i = 0; i < 8; i++)
        memcpy(path[i].x, x[i], sizeof x[i]);
    gw_refine_endpoints(&paths, path, 8);
    for (int i = 0; i < 8; i++)
        simple += take_root(c, &s, &path[i]);
    *found = (gw_root_summary){simple == 8, simple == 8, 8};
    return simple == 8;
}
