/*
 * An axis along a surface's normal or a curve's tangent. Any thread, RT safe.
 *
 * About a centre with normal n0 and A0, the chart turns the axis with the normal the short way:
 *
 *   A = Q(n) exp(z1 n0) A0,  Q the least rotation from n0 to n
 *   w_Q = h x n' / (1 + c),  h = n0 + n,  c = n0 . n           (Q is a half turn about n0, then one
 *   w_Q' = (h x n'' - (n0 . n') w_Q) / (1 + c)                  about h)
 *   w_A = w_Q + z1' n,       w_A' = w_Q' + z1' n'
 *
 * Where the shape is the body's, R = A^T turns with w = -R w_A, and w' = -R w_A'.
 */
#include "rt/geometry/along_normal.h"

#include <stddef.h>

#include "rt/geometry/nurbs_motion.h"

/* A vector of the locus's axes. */
static gw_vec3 turned(const gw_locus *l, gw_vec3 v)
{
    return gw_mul_add(gw_mul_add(gw_scale(v.x, l->e1), v.y, l->e2), v.z, l->e3);
}

/* A point of the shape's side in the frame of the locus. */
static gw_vec3 in_frame(const gw_locus *l, gw_vec3 x)
{
    gw_vec3 d = gw_sub(x, l->origin);
    return gw_v3(gw_dot(d, l->e1), gw_dot(d, l->e2), gw_dot(d, l->e3));
}

/* P and n beside the shape, with their derivatives, in the axes of its side; of a curve those by
 * the second parameter are zero. */
typedef struct beside {
    gw_vec3 p, p_by[2], p_rate, p_bias;
    gw_vec3 n, n_by[2], n_rate, n_bias;
} beside;

/* By the parameters, or with a plane by x and y of it. */
static beside beside_at(const gw_locus *l, const gw_nurbs_plane *plane, const double parameter[2],
                        const double rate[2])
{
    gw_nurbs_motion m;
    gw_nurbs_turn t;
    gw_nurbs_move_and_turn(l->nurbs, plane, parameter, rate, l->a, &m, &t);
    beside b = {.p = gw_add(l->origin, turned(l, m.p)),
                .p_rate = turned(l, m.velocity),
                .p_bias = turned(l, m.bias),
                .n = turned(l, t.n),
                .n_rate = turned(l, t.velocity),
                .n_bias = turned(l, t.bias)};
    for (int i = 0; i < l->nurbs->dimension; i++) {
        b.p_by[i] = turned(l, m.d[i]);
        b.n_by[i] = turned(l, t.d[i]);
    }
    return b;
}

/* P and n at parameters, by the coordinates that serve best there; and S_u, which at a pole is its
 * direction in the limit. */
static beside beside_near(const gw_locus *l, const double parameter[2])
{
    static const double still[2] = {0, 0};
    double coordinates[2];
    const gw_nurbs_plane *plane = gw_nurbs_coordinates(l->nurbs, parameter, coordinates);
    beside b = beside_at(l, plane, coordinates, still);
    gw_nurbs_point at;
    if (l->nurbs->dimension == 1)
        return b;
    gw_nurbs_evaluate(l->nurbs, parameter, 2, NULL, &at);
    b.p_by[0] = turned(l, at.d[1][0]);
    if (plane && plane->pole->out == 1 && !(gw_norm(at.d[1][0]) > 1e-9 * l->nurbs->size))
        b.p_by[0] = turned(l, gw_scale(plane->pole->sign, at.d[1][1]));
    if (!(gw_norm2(b.n) > 0)) { /* no tangent plane: the limit along the parameter */
        b.n = turned(l, gw_nurbs_normal(l->nurbs, parameter, &at));
        b.p = gw_mul_add(b.p, l->a, b.n);
    }
    return b;
}

/* The pose with A q = given, and P. */
static gw_pose pose_of(const gw_submanifold *set, gw_quat a, gw_vec3 p)
{
    const gw_translation_set *t = &set->translation;
    gw_pose x = {.q = t->in_mobile ? gw_quat_conj(a) : a};
    x.p = t->in_mobile ? gw_sub(t->of, gw_rotate(x.q, p)) : gw_sub(p, gw_rotate(x.q, t->of));
    return x;
}

/* The rotation A of a pose, and the place of s on the surface's side. */
static gw_quat axis_side(const gw_submanifold *set, const gw_pose *x, gw_vec3 *s)
{
    const gw_translation_set *t = &set->translation;
    *s = t->in_mobile ? gw_unrotate(x->q, gw_sub(t->of, x->p)) : gw_pose_point(x, t->of);
    return t->in_mobile ? gw_quat_conj(x->q) : x->q;
}

/* F: x along S_u, z along n; of a curve the least rotation from e3. */
static gw_quat frame_of(const gw_locus *l, const beside *b)
{
    gw_quat to_n = gw_quat_between(gw_v3(0, 0, 1), b->n);
    if (l->nurbs->dimension == 1)
        return gw_quat_mul(gw_quat_between(l->e3, b->n), gw_quat_between(gw_v3(0, 0, 1), l->e3));
    gw_vec3 e = gw_reject(b->p_by[0], b->n);
    gw_vec3 x = gw_norm2(e) > 0 ? gw_unit(e) : gw_any_normal(b->n);
    gw_vec3 from = gw_rotate(to_n, gw_v3(1, 0, 0));
    double angle = atan2(gw_dot(b->n, gw_cross(from, x)), gw_dot(from, x));
    return gw_quat_mul(gw_quat_axis(b->n, angle), to_n);
}

gw_pose gw_along_normal_pose(const gw_submanifold *set, const double *z)
{
    const gw_locus *l = &set->translation.locus;
    double parameter[2] = {z[1], set->translation.dof == 2 ? z[2] : 0};
    gw_nurbs_into_domain(l->nurbs, parameter);
    beside b = beside_near(l, parameter);
    gw_quat turn = gw_quat_mul(gw_quat_axis(gw_v3(0, 0, 1), z[0]), set->rotation.zero);
    return pose_of(set, gw_quat_unit(gw_quat_mul(frame_of(l, &b), turn)), b.p);
}

/* The parameters of the shape's point closest to s, wherever it is. */
static void closest(const gw_locus *l, gw_vec3 s, double parameter[2])
{
    gw_nurbs_nearest nearest;
    gw_nurbs_nearest_point(l->nurbs, in_frame(l, s), &nearest);
    parameter[0] = nearest.parameter[0];
    parameter[1] = nearest.parameter[1];
}

void gw_along_normal_parameters(const gw_submanifold *set, const gw_pose *x, double *z)
{
    const gw_locus *l = &set->translation.locus;
    gw_vec3 s;
    gw_quat a = axis_side(set, x, &s);
    double parameter[2];
    closest(l, s, parameter);
    for (int k = 0; k < set->translation.dof; k++)
        z[1 + k] = parameter[k];
    beside b = beside_near(l, parameter);
    gw_quat rest = gw_quat_mul(gw_quat_mul(gw_quat_conj(frame_of(l, &b)), a),
                               gw_quat_conj(set->rotation.zero));
    z[0] = remainder(2 * atan2(rest.z, rest.w), 2 * GW_PI);
}

/* A with the axis turned along n the short way. */
static gw_quat aligned(const gw_submanifold *set, gw_quat a, gw_vec3 n)
{
    gw_vec3 d = gw_rotate(a, gw_along_normal_axis(set));
    return gw_quat_unit(gw_quat_mul(gw_quat_between(d, n), a));
}

gw_pose gw_along_normal_near(const gw_submanifold *set, const gw_pose *near)
{
    const gw_locus *l = &set->translation.locus;
    gw_vec3 s;
    gw_quat a = axis_side(set, near, &s);
    double parameter[2];
    closest(l, s, parameter);
    beside b = beside_near(l, parameter);
    return pose_of(set, aligned(set, a, b.n), b.p);
}

void gw_along_normal_chart_at(const gw_submanifold *set, const gw_pose *x, gw_chart *chart)
{
    const gw_locus *l = &set->translation.locus;
    gw_nurbs_point at;
    gw_vec3 s;
    gw_quat a = axis_side(set, x, &s);
    chart->point = l->origin;
    double parameter[2] = {l->start[0], l->start[1]};
    gw_nurbs_closest(l->nurbs, in_frame(l, s), l->a, parameter, &at);
    gw_chart_centre_at(chart, parameter);
    static const double still[2] = {0, 0};
    beside b = beside_at(l, chart->flat ? &chart->plane : NULL, chart->parameter, still);
    chart->e3 = b.n;
    chart->centre = pose_of(set, aligned(set, a, b.n), b.p);
}

void gw_along_normal_velocity(const gw_chart *chart, const gw_twist *twist, double *z_dot)
{
    const gw_translation_set *t = &chart->set->translation;
    const gw_pose *x = &chart->centre;
    gw_vec3 velocity, spin;
    if (t->in_mobile) {
        velocity = gw_neg(gw_add(twist->v, gw_cross(twist->w, gw_sub(t->of, x->p))));
        velocity = gw_unrotate(x->q, velocity);
        spin = gw_neg(gw_unrotate(x->q, twist->w));
    } else {
        velocity = gw_add(twist->v, gw_cross(twist->w, gw_rotate(x->q, t->of)));
        spin = twist->w;
    }
    z_dot[0] = gw_dot(chart->e3, spin);
    static const double still[2] = {0, 0};
    beside b = beside_at(&t->locus, chart->flat ? &chart->plane : NULL, chart->parameter, still);
    if (t->dof == 1) {
        z_dot[1] = gw_dot(b.p_by[0], velocity) / gw_norm2(b.p_by[0]);
        return;
    }
    double uu = gw_norm2(b.p_by[0]), uv = gw_dot(b.p_by[0], b.p_by[1]), vv = gw_norm2(b.p_by[1]);
    double u = gw_dot(b.p_by[0], velocity), v = gw_dot(b.p_by[1], velocity);
    double det = uu * vv - uv * uv;
    z_dot[1] = det > 0 ? (u * vv - v * uv) / det : 0;
    z_dot[2] = det > 0 ? (v * uu - u * uv) / det : 0;
}

static void put(double *row, gw_vec3 v, gw_vec3 w)
{
    row[0] = v.x, row[1] = v.y, row[2] = v.z;
    row[3] = w.x, row[4] = w.y, row[5] = w.z;
}

/*
 * Shape of the world:  t = P - R s,    t' = P' - w x R s,    t'' = P'' - w' x R s - w x (w x R s)
 * Shape of the body:   t = s - R P,    t' = -R P' - w x R P,
 *                      t'' = -R P'' - 2 w x R P' - w' x R P - w x (w x R P)
 */
void gw_along_normal_eval(const gw_chart *chart, const double *z, const double *z_dot,
                          gw_pose *pose, double (*jacobian)[6], double *bias)
{
    const gw_submanifold *set = chart->set;
    const gw_translation_set *t = &set->translation;
    double parameter[2] = {chart->parameter[0], chart->parameter[1]}, rate[2] = {0, 0};
    for (int k = 0; k < t->dof; k++) {
        parameter[k] += z[1 + k];
        rate[k] = z_dot[1 + k];
    }
    beside b = beside_at(&t->locus, chart->flat ? &chart->plane : NULL, parameter, rate);
    gw_vec3 n0 = chart->e3, h = gw_add(n0, b.n);
    double over = 1 / (1 + gw_dot(n0, b.n));
    gw_quat a0 = t->in_mobile ? gw_quat_conj(chart->centre.q) : chart->centre.q;
    gw_quat a = gw_quat_mul(gw_quat_between(n0, b.n), gw_quat_mul(gw_quat_axis(n0, z[0]), a0));

    /* angular velocity of A: columns, its value, and its rate at z'' = 0 */
    gw_vec3 column[3] = {b.n, gw_scale(over, gw_cross(h, b.n_by[0])),
                         gw_scale(over, gw_cross(h, b.n_by[1]))};
    gw_vec3 least = gw_scale(over, gw_cross(h, b.n_rate));
    gw_vec3 w = gw_mul_add(least, z_dot[0], b.n);
    gw_vec3 w_bias =
        gw_scale(over, gw_mul_add(gw_cross(h, b.n_bias), -gw_dot(n0, b.n_rate), least));
    w_bias = gw_mul_add(w_bias, z_dot[0], b.n_rate);

    *pose = pose_of(set, a, b.p);
    gw_vec3 arm = gw_rotate(pose->q, t->in_mobile ? b.p : t->of);
    if (t->in_mobile) {
        for (int k = 0; k < 3; k++)
            column[k] = gw_neg(gw_rotate(pose->q, column[k]));
        w = gw_neg(gw_rotate(pose->q, w));
        w_bias = gw_neg(gw_rotate(pose->q, w_bias));
    }
    for (int k = 0; k < set->dof; k++) {
        gw_vec3 v = gw_cross(arm, column[k]);
        if (k > 0)
            v = t->in_mobile ? gw_sub(v, gw_rotate(pose->q, b.p_by[k - 1]))
                             : gw_add(v, b.p_by[k - 1]);
        put(jacobian[k], v, column[k]);
    }
    gw_vec3 moves = b.p_bias;
    if (t->in_mobile)
        moves = gw_neg(gw_add(gw_rotate(pose->q, b.p_bias),
                              gw_scale(2, gw_cross(w, gw_rotate(pose->q, b.p_rate)))));
    gw_vec3 inward = gw_cross(w, gw_cross(w, arm));
    put(bias, gw_sub(gw_add(moves, gw_cross(arm, w_bias)), inward), w_bias);
}
