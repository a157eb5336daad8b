/*
 * The parametric side of a submanifold: named parameters, poses, tangent spaces (framework
 * eqs. 15, 18, 21, 23; relational-positioning eqs. 3 to 6). Any thread, RT safe.
 *
 * A general set is parameterised about its seed: z are the components of the displacement from the
 * seed along the tangent basis there, and the pose is where that normal space meets the rows.
 */
#include <assert.h>

#include "rt/base/small.h"
#include "rt/base/spatial.h"
#include "rt/geometry/along_normal.h"
#include "rt/geometry/locus.h"
#include "rt/geometry/nurbs.h"
#include "rt/geometry/submanifold.h"
#include "rt/geometry/two_angles.h"

#include <stddef.h>

gw_submanifold gw_submanifold_free(void)
{
    gw_vec3 x = {1, 0, 0}, y = {0, 1, 0}, z = {0, 0, 1};
    return (gw_submanifold){
        .dof = 6,
        .rotation = {.kind = GW_ROTATION_FREE,
                     .dof = 3,
                     .zero = gw_quat_identity(),
                     .axis = z,
                     .axis_body = z},
        .translation = {.dof = 3, .locus = {.kind = GW_LOCUS_FREE, .e1 = x, .e2 = y, .e3 = z}},
        .seed = gw_pose_identity()};
}

/* ---- names ---------------------------------------------------------------------------------- */

const char *gw_rotation_kind_name(gw_rotation_kind kind)
{
    static const char *const names[] = {"free",       "angle",  "axis",    "fixed",
                                        "two-angles", "normal", "tangent", "general"};
    return names[kind];
}

const char *gw_locus_kind_name(gw_locus_kind kind)
{
    static const char *const names[] = {"free",    "plane",  "sphere",  "cylinder",
                                        "line",    "circle", "ellipse", "curve",
                                        "surface", "point",  "general"};
    return names[kind];
}

static gw_submanifold_parameter angle_parameter(const char *name, const char *part)
{
    return (gw_submanifold_parameter){name, part, "rad", -GW_PI, GW_PI, true};
}

static gw_submanifold_parameter length_parameter(const char *name)
{
    return (gw_submanifold_parameter){name, "translation", "m", -HUGE_VAL, HUGE_VAL, false};
}

static int rotation_parameters(gw_rotation_kind kind, gw_submanifold_parameter *out)
{
    switch (kind) {
    case GW_ROTATION_FREE:
        out[0] = angle_parameter("yaw", "rotation");
        out[1] =
            (gw_submanifold_parameter){"pitch", "rotation", "rad", -GW_PI / 2, GW_PI / 2, false};
        out[2] = angle_parameter("roll", "rotation");
        return 3;
    case GW_ROTATION_ANGLE:
        out[0] = angle_parameter("phi", "rotation");
        out[1] = angle_parameter("theta", "rotation");
        return 2;
    case GW_ROTATION_AXIS:
    case GW_ROTATION_NORMAL:
    case GW_ROTATION_TANGENT:
        out[0] = angle_parameter("phi", "rotation");
        return 1;
    case GW_ROTATION_TWO_ANGLES:
        out[0] = angle_parameter("psi", "rotation");
        return 1;
    case GW_ROTATION_FIXED:
    case GW_ROTATION_GENERAL:
        break;
    }
    return 0;
}

/* A parameter of a free-form shape, over its domain. */
static gw_submanifold_parameter shape_parameter(const gw_nurbs *shape, int k, const char *name)
{
    const gw_nurbs_direction *d = &shape->direction[k];
    return (gw_submanifold_parameter){name, "translation", "1", d->low, d->high, d->closed};
}

static int locus_parameters(const gw_locus *l, gw_submanifold_parameter *out)
{
    switch (l->kind) {
    case GW_LOCUS_FREE:
        out[0] = length_parameter("x"), out[1] = length_parameter("y"),
        out[2] = length_parameter("z");
        return 3;
    case GW_LOCUS_PLANE:
        out[0] = length_parameter("s"), out[1] = length_parameter("t");
        return 2;
    case GW_LOCUS_SPHERE:
        out[0] = angle_parameter("azimuth", "translation");
        out[1] = (gw_submanifold_parameter){"polar", "translation", "rad", 0, GW_PI, false};
        return 2;
    case GW_LOCUS_CYLINDER:
        out[0] = length_parameter("s");
        out[1] = angle_parameter("phi_t", "translation");
        return 2;
    case GW_LOCUS_LINE:
        out[0] = length_parameter("s");
        return 1;
    case GW_LOCUS_CIRCLE:
    case GW_LOCUS_ELLIPSE:
        out[0] = angle_parameter("phi_t", "translation");
        return 1;
    case GW_LOCUS_CURVE:
        out[0] = shape_parameter(l->nurbs, 0, "s");
        return 1;
    case GW_LOCUS_SURFACE:
        out[0] = shape_parameter(l->nurbs, 0, "u");
        out[1] = shape_parameter(l->nurbs, 1, "v");
        return 2;
    case GW_LOCUS_POINT:
    case GW_LOCUS_GENERAL:
        break;
    }
    return 0;
}

const char *const *gw_submanifold_parameter_names(void)
{
    static const char *const names[] = {
        "phi",     "theta", "psi", "yaw", "pitch", "roll", "s",  "t",  "x",  "y",  "z", "phi_t",
        "azimuth", "polar", "u",   "v",   "z1",    "z2",   "z3", "z4", "z5", "z6", NULL};
    return names;
}

int gw_submanifold_parameters(const gw_submanifold *set, gw_submanifold_parameter *out)
{
    assert(set && out);
    static const char *const names[] = {"z1", "z2", "z3", "z4", "z5", "z6"};
    if (set->general) {
        for (int i = 0; i < set->dof; i++)
            out[i] = (gw_submanifold_parameter){names[i], "pose", "m", -HUGE_VAL, HUGE_VAL, false};
        return set->dof;
    }
    int n = rotation_parameters(set->rotation.kind, out);
    return n + locus_parameters(&set->translation.locus, out + n);
}

/* ---- rotation factor ------------------------------------------------------------------------ */

static int rotation_count(gw_rotation_kind kind)
{
    static const int count[] = {3, 2, 1, 0, 1, 1, 0};
    return count[kind];
}

/* An angle brought into -pi .. pi. */
static double wrap_angle(double a)
{
    return remainder(a, 2 * GW_PI);
}

static gw_quat rotation_at(const gw_rotation_set *r, const double *z)
{
    switch (r->kind) {
    case GW_ROTATION_FREE:
        return gw_quat_mul(
            gw_quat_mul(gw_quat_axis(gw_v3(0, 0, 1), z[0]), gw_quat_axis(gw_v3(0, 1, 0), z[1])),
            gw_quat_axis(gw_v3(1, 0, 0), z[2]));
    case GW_ROTATION_ANGLE: /* relational-positioning (4) */
        return gw_quat_mul(gw_quat_mul(gw_quat_axis(r->axis, z[0]), r->zero),
                           gw_quat_axis(r->axis_body, z[1]));
    case GW_ROTATION_AXIS: /* relational-positioning (3) */
        return gw_quat_mul(gw_quat_axis(r->axis, z[0]), r->zero);
    case GW_ROTATION_TWO_ANGLES:
        return gw_two_angles_rotation(r, wrap_angle(z[0]));
    case GW_ROTATION_FIXED:
    case GW_ROTATION_NORMAL:
    case GW_ROTATION_TANGENT:
    case GW_ROTATION_GENERAL:
        break;
    }
    return r->zero;
}

/* The angle by which q turns about `axis` (unit). */
static double turn_about(gw_quat q, gw_vec3 axis)
{
    return wrap_angle(2 * atan2(gw_dot(gw_v3(q.x, q.y, q.z), axis), q.w));
}

/* R = R(k, yaw) R(j, pitch) R(i, roll) */
static void yaw_pitch_roll(gw_quat q, double *z)
{
    gw_mat3 r = gw_quat_to_mat3(q);
    double cp = hypot(r.m[0][0], r.m[1][0]);
    z[1] = atan2(-r.m[2][0], cp);
    if (cp > 1e-9) {
        z[0] = atan2(r.m[1][0], r.m[0][0]);
        z[2] = atan2(r.m[2][1], r.m[2][2]);
    } else { /* straight up or down: only yaw -+ roll is defined */
        z[0] = atan2(-r.m[0][1], r.m[1][1]);
        z[2] = 0;
    }
}

static void rotation_parameters_at(const gw_rotation_set *r, gw_quat q, double *z)
{
    if (r->kind == GW_ROTATION_FREE) {
        yaw_pitch_roll(q, z);
    } else if (r->kind == GW_ROTATION_AXIS) {
        z[0] = turn_about(gw_quat_mul(q, gw_quat_conj(r->zero)), r->axis);
    } else if (r->kind == GW_ROTATION_ANGLE) {
        gw_vec3 from = gw_reject(gw_rotate(r->zero, r->axis_body), r->axis);
        gw_vec3 to = gw_reject(gw_rotate(q, r->axis_body), r->axis);
        z[0] = atan2(gw_dot(r->axis, gw_cross(from, to)), gw_dot(from, to));
        gw_quat rest = gw_quat_mul(gw_quat_axis(r->axis, -z[0]), q);
        z[1] = turn_about(gw_quat_mul(gw_quat_conj(r->zero), rest), r->axis_body);
    } else if (r->kind == GW_ROTATION_TWO_ANGLES) {
        z[0] = gw_two_angles_parameter(r, q);
    }
}

/* ---- general sets --------------------------------------------------------------------------- */

/* Null space of the rows at a pose in the weighted metric: the dof directions of smallest change.
 */
static void general_tangent(const gw_submanifold *set, const gw_pose *x, double length,
                            double (*basis)[6])
{
    double a[GW_MAX_ROWS][6];
    int order[GW_MAX_ROWS];
    gw_small_lq q;
    gw_rows_jacobian(set->rows, set->row_count, x, a);
    for (int i = 0; i < set->row_count; i++)
        for (int j = 3; j < 6; j++)
            a[i][j] /= length;
    gw_small_lq_factor(set->row_count, a, 0, order, &q);
    gw_small_lq_columns(&q, 6 - set->dof, basis);
    for (int k = 0; k < set->dof; k++)
        for (int i = 3; i < 6; i++)
            basis[k][i] /= length;
}

/* Length of a general set's parameter metric: the largest distance of its points from the origin.
 */
static double general_length(const gw_submanifold *set)
{
    double most = 0;
    for (int i = 0; i < set->row_count; i++)
        if (set->rows[i].kind != GW_ROW_ANGLE)
            most = fmax(most, gw_norm2(set->rows[i].m));
    return most > 0 ? sqrt(most) : 1;
}

/* True if both are on the same side of zero, or if the seed is near zero. */
static bool same_side(double here, double seed)
{
    return fabs(seed) < 0.5 || here * seed > 0;
}

/* True where the rows imply that R a.m is parallel to the world vector of `b`: R a.m is normal to
 * a.n, and to R b.m, which is normal to a.n too (the rows of a fixed rotation). */
static bool rotated_along(const gw_submanifold *set, const gw_row *a, const gw_row *b)
{
    if (fabs(gw_dot(a->m, b->m)) > 1e-9 || fabs(gw_dot(a->n, b->n)) > 1e-9)
        return false;
    for (int k = 0; k < set->row_count; k++) {
        const gw_row *c = &set->rows[k];
        if (c != a && c->kind == GW_ROW_ANGLE && c->value == 0 &&
            gw_norm2(gw_sub(c->m, b->m)) == 0 && fabs(gw_dot(c->n, a->n)) > 1 - 1e-12)
            return true;
    }
    return false;
}

/* True where parallel vectors have the sense that they have at the seed. */
static bool same_sense(const gw_submanifold *set, const gw_pose *x)
{
    for (int i = 0; i < set->row_count; i++)
        for (int j = 0; j < set->row_count; j++) {
            const gw_row *a = &set->rows[i], *b = &set->rows[j];
            if (i == j || a->kind != GW_ROW_ANGLE || b->kind != GW_ROW_ANGLE || a->value != 0 ||
                b->value != 0)
                continue;
            bool shared = gw_norm2(gw_sub(a->m, b->m)) == 0;
            if (!shared && !rotated_along(set, a, b))
                continue;
            gw_vec3 here = gw_rotate(x->q, a->m), seed = gw_rotate(set->seed.q, a->m);
            gw_vec3 along = shared ? gw_cross(a->n, b->n) : b->n;
            if (!same_side(gw_dot(here, along), gw_dot(seed, along)))
                return false;
        }
    return true;
}

/* The freedoms that the rows leave at a pose to first order, and directions of them. */
static int freedoms_at(const gw_submanifold *set, double length, const gw_pose *x,
                       double (*basis)[6])
{
    double a[GW_MAX_ROWS][6];
    int order[GW_MAX_ROWS];
    gw_small_lq q;
    gw_rows_jacobian(set->rows, set->row_count, x, a);
    for (int i = 0; i < set->row_count; i++)
        for (int j = 3; j < 6 && set->rows[i].kind != GW_ROW_ANGLE; j++)
            a[i][j] /= length;
    gw_small_lq_factor(set->row_count, a, 1e-5, order, &q);
    gw_small_lq_columns(&q, q.rank, basis);
    return 6 - q.rank;
}

/* True where a pose with more freedoms to first order still has them a small step away; at a
 * crossing of sets it does not. */
static bool freedoms_persist(const gw_submanifold *set, double length, const gw_pose *x,
                             int freedoms, const double (*basis)[6])
{
    static const double any[6] = {0.71, -0.53, 0.31, -0.67, 0.43, 0.59};
    double d[6] = {0}, ignored[6][6], reach = 2e-3 * length;
    for (int k = 0; k < freedoms; k++)
        for (int i = 0; i < 6; i++)
            d[i] += reach * any[k] * basis[k][i];
    gw_twist step = {{d[0], d[1], d[2]}, {d[3] / length, d[4] / length, d[5] / length}};
    gw_pose next = gw_pose_add(x, &step);
    double off = gw_rows_project(set->rows, set->row_count, 6 - freedoms, length, 12, &next);
    if (!(off <= 1e-11 * length))
        return false;
    return freedoms_at(set, length, &next, ignored) > set->dof;
}

/* True where the rows leave exactly as many freedoms as the set has. */
static bool has_its_freedoms(const gw_submanifold *set, const gw_pose *x)
{
    double basis[6][6], length = general_length(set);
    int freedoms = freedoms_at(set, length, x, basis);
    return freedoms == set->dof ||
           (freedoms > set->dof &&
            !freedoms_persist(set, length, x, freedoms, (const double(*)[6])basis));
}

/* True where an axis along a normal or a tangent has the sense that it is stated with: two adjacent
 * rows define it, along n1 x n2. */
static bool axis_sense(const gw_submanifold *set, const gw_pose *x)
{
    for (int i = 0; i + 1 < set->row_count; i++) {
        const gw_row *a = &set->rows[i], *b = a + 1;
        if (!gw_row_of_direction(a->kind) || b->kind != a->kind)
            continue;
        gw_row along = *a;
        double cosine;
        along.n = gw_cross(a->n, b->n);
        gw_rows_value(&along, 1, x, &cosine);
        if (cosine < 0)
            return false;
        i++;
    }
    return true;
}

bool gw_submanifold_contains(const gw_submanifold *set, const gw_pose *x)
{
    assert(set && x);
    return gw_rows_over_surfaces(set->rows, set->row_count, x) && same_sense(set, x) &&
           axis_sense(set, x) && (!set->general || has_its_freedoms(set, x));
}

/* Scales a row and its residual to metres. */
static void scale_row(double factor, double length, double a[6], double *b)
{
    *b *= factor;
    for (int j = 0; j < 6; j++)
        a[j] *= j < 3 ? factor : factor / length;
}

/* Rows basis . displacement - z, in the weighted coordinates [v; length w]. */
static void along_basis(const double (*basis)[6], int dof, double length, const gw_twist *d,
                        const double *z, double (*a)[6], double *b)
{
    double l = length;
    double delta[6] = {d->v.x, d->v.y, d->v.z, l * d->w.x, l * d->w.y, l * d->w.z};
    for (int i = 0; i < dof; i++) {
        b[i] = z ? -z[i] : 0;
        for (int j = 0; j < 6; j++) {
            double e = j < 3 ? basis[i][j] : l * basis[i][j];
            b[i] += e * delta[j];
            if (a)
                a[i][j] = e;
        }
    }
}

/*
 * Newton's method on the rows and z(x) = z together, from x: rows of A, then the basis (orthonormal
 * in the metric) times the displacement from the seed. False where it does not converge.
 */
static bool solve_parameters(const gw_submanifold *set, const double (*basis)[6], double length,
                             const double *z, gw_pose *x)
{
    double a[GW_MAX_ROWS + 6][6], b[GW_MAX_ROWS + 6], step[6], worst = HUGE_VAL;
    int n = set->row_count, dof = set->dof;
    for (int k = 0; k < 25; k++) {
        gw_twist d = gw_pose_sub(x, &set->seed);
        gw_rows_value(set->rows, n, x, b);
        gw_rows_jacobian(set->rows, n, x, a);
        for (int i = 0; i < n; i++)
            scale_row(set->rows[i].kind == GW_ROW_ANGLE ? length : 1, length, a[i], &b[i]);
        along_basis(basis, dof, length, &d, z, a + n, b + n);
        worst = 0;
        for (int i = 0; i < n + dof; i++)
            worst = gw_worst(worst, fabs(b[i]));
        if (worst < 1e-15 * length)
            return true;
        gw_small_least_squares(n + dof, a, 1e-8, 6, b, step);
        gw_twist move = {{-step[0], -step[1], -step[2]},
                         {-step[3] / length, -step[4] / length, -step[5] / length}};
        *x = gw_pose_add(x, &move);
    }
    return worst < 1e-11 * length;
}

/*
 * Continuation from the seed straight to z, with adaptive steps: each must converge to the rows
 * within a slope of 8. At a fold of the set over its tangent space no step does.
 */
static bool general_pose(const gw_submanifold *set, const double *z, gw_pose *x)
{
    double basis[6][6], part[6], length = general_length(set), way = 0;
    general_tangent(set, &set->seed, length, basis);
    for (int i = 0; i < set->dof; i++)
        way += z[i] * z[i];
    way = sqrt(way);
    double step = way > 0.5 * length ? 0.5 * length / way : 1, at = 0;
    *x = set->seed;
    while (at < 1 && step > 1e-3) {
        double to = fmin(at + step, 1);
        gw_pose next = *x;
        for (int i = 0; i < set->dof; i++)
            part[i] = to * z[i];
        bool there = solve_parameters(set, (const double(*)[6])basis, length, part, &next);
        if (there && gw_pose_distance(x, &next, length) <= 8 * (to - at) * way + 1e-9 * length)
            *x = next, at = to;
        else
            step *= 0.5;
    }
    return at >= 1;
}

static void general_parameters_at(const gw_submanifold *set, const gw_pose *x, double *z)
{
    double basis[6][6], length = general_length(set);
    general_tangent(set, &set->seed, length, basis);
    gw_twist d = gw_pose_sub(x, &set->seed);
    along_basis((const double(*)[6])basis, set->dof, length, &d, NULL, NULL, z);
}

/* ---- both factors --------------------------------------------------------------------------- */

gw_pose gw_submanifold_pose_at(const gw_submanifold *set, gw_quat q, gw_vec3 point)
{
    const gw_translation_set *t = &set->translation;
    gw_pose x = {.q = q};
    if (t->shift_count > 0)
        point = gw_add(point, gw_shift_at(t, q));
    /* P = R s + t, or R P + t = s */
    x.p =
        t->in_mobile ? gw_sub(t->of, gw_rotate(x.q, point)) : gw_sub(point, gw_rotate(x.q, t->of));
    return x;
}

bool gw_submanifold_try_pose(const gw_submanifold *set, const double *z, gw_pose *x)
{
    assert(set && z && x);
    if (set->general)
        return general_pose(set, z, x) && gw_submanifold_contains(set, x);
    if (gw_rotation_follows_locus(set->rotation.kind)) {
        *x = gw_along_normal_pose(set, z);
        return true;
    }
    *x = gw_submanifold_pose_at(
        set, gw_quat_unit(rotation_at(&set->rotation, z)),
        gw_locus_point(&set->translation.locus, z + rotation_count(set->rotation.kind)));
    return true;
}

gw_pose gw_submanifold_pose(const gw_submanifold *set, const double *z)
{
    assert(set && z);
    gw_pose x;
    gw_submanifold_try_pose(set, z, &x);
    return x;
}

void gw_submanifold_parameters_at(const gw_submanifold *set, const gw_pose *x, double *z)
{
    assert(set && x && z);
    if (set->general) {
        general_parameters_at(set, x, z);
        return;
    }
    if (gw_rotation_follows_locus(set->rotation.kind)) {
        gw_along_normal_parameters(set, x, z);
        return;
    }
    const gw_translation_set *t = &set->translation;
    rotation_parameters_at(&set->rotation, x->q, z);
    gw_vec3 point = t->in_mobile ? gw_unrotate(x->q, gw_sub(t->of, x->p)) : gw_pose_point(x, t->of);
    if (t->shift_count > 0)
        point = gw_sub(point, gw_shift_at(t, x->q));
    gw_locus_parameters(&t->locus, point, z + rotation_count(set->rotation.kind));
}

/* World axes of the rotational freedoms at orientation q. */
static int rotation_axes(const gw_rotation_set *r, gw_quat q, gw_vec3 out[3])
{
    switch (r->kind) {
    case GW_ROTATION_FREE:
        out[0] = gw_v3(1, 0, 0), out[1] = gw_v3(0, 1, 0), out[2] = gw_v3(0, 0, 1);
        return 3;
    case GW_ROTATION_ANGLE:
        out[0] = r->axis;
        out[1] = gw_rotate(q, r->axis_body);
        return 2;
    case GW_ROTATION_AXIS:
        out[0] = r->axis;
        return 1;
    case GW_ROTATION_TWO_ANGLES:
        out[0] = gw_two_angles_axis(r, q);
        return 1;
    case GW_ROTATION_FIXED:
    case GW_ROTATION_NORMAL:
    case GW_ROTATION_TANGENT:
    case GW_ROTATION_GENERAL:
        break;
    }
    return 0;
}

/* The columns of a chart at x, orthonormalised. */
static void axis_tangent(const gw_submanifold *set, const gw_pose *x, double length,
                         const double *zero, double (*basis)[6])
{
    gw_chart chart;
    gw_pose centre;
    double bias[6];
    gw_chart_at(set, x, &chart);
    gw_chart_eval(&chart, zero, zero, &centre, basis, bias);
    for (int i = 0; i < set->dof; i++)
        for (int j = 3; j < 6; j++)
            basis[i][j] *= length;
    gw_small_orthonormalise(set->dof, basis);
    for (int i = 0; i < set->dof; i++)
        for (int j = 3; j < 6; j++)
            basis[i][j] /= length;
}

/*
 * Columns: rotations w with the point fixed on the locus, v = -w x r, r the arm from the body's
 * origin to the point, plus the shift of the locus; translations dP along a locus of the world,
 * -R dP along one of the body.
 */
void gw_submanifold_tangent(const gw_submanifold *set, const gw_pose *x, double length,
                            double (*basis)[6])
{
    assert(set && x && length > 0 && basis);
    if (set->general) {
        general_tangent(set, x, length, basis);
        return;
    }
    if (gw_rotation_follows_locus(set->rotation.kind)) {
        static const double none[3] = {0};
        axis_tangent(set, x, length, none, basis);
        return;
    }
    const gw_translation_set *t = &set->translation;
    gw_vec3 arm = t->in_mobile ? gw_sub(t->of, x->p) : gw_rotate(x->q, t->of);
    gw_vec3 axes[3], slides[3];
    int n = rotation_axes(&set->rotation, x->q, axes);
    for (int i = 0; i < n; i++) {
        gw_vec3 v = gw_cross(arm, axes[i]);
        if (t->shift_count > 0) {
            gw_vec3 shift = gw_shift_rate(t, x->q, axes[i]);
            v = t->in_mobile ? gw_sub(v, gw_rotate(x->q, shift)) : gw_add(v, shift);
        }
        gw_spatial_set(basis[i], v, gw_scale(length, axes[i]));
    }
    gw_vec3 point = t->in_mobile ? gw_unrotate(x->q, arm) : gw_add(arm, x->p);
    if (t->shift_count > 0)
        point = gw_sub(point, gw_shift_at(t, x->q));
    int m = gw_locus_tangent(&t->locus, point, slides);
    for (int i = 0; i < m; i++)
        gw_spatial_set(basis[n + i], t->in_mobile ? gw_neg(gw_rotate(x->q, slides[i])) : slides[i],
                       gw_v3(0, 0, 0));
    gw_small_orthonormalise(n + m, basis);
    for (int i = 0; i < n + m; i++)
        for (int j = 3; j < 6; j++)
            basis[i][j] /= length;
}
