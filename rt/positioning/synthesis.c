/*
 * Synthesis of the submanifold of a state that no rule rewrites (relational-positioning Tables III
 * to V, framework Table II). The rotational factor is free, one angle, one parallel, two angles
 * (one loop, or two, a branch each) or a known rotation. The translational factor is the locus of
 * the one point that the distances share, or the line or point in which the planes of several
 * points meet. The rows are those of both. Any thread, RT safe.
 */
#include "rt/geometry/locus.h"
#include "rt/geometry/nurbs.h"
#include "rt/geometry/two_angles.h"
#include "rt/positioning/solver.h"

/* ---- rows ------------------------------------------------------------------------------------ */

int gw_rotation_rows(gw_quat rotation, gw_row *rows)
{
    gw_mat3 r = gw_quat_to_mat3(rotation);
    gw_vec3 y = {r.m[0][1], r.m[1][1], r.m[2][1]};
    gw_vec3 z = {r.m[0][2], r.m[1][2], r.m[2][2]}, none = {0, 0, 0};
    /* R e_x normal to y and z of R0, R e_y normal to its z */
    rows[0] = (gw_row){.kind = GW_ROW_ANGLE, .m = {1, 0, 0}, .f = none, .n = y, .value = 0};
    rows[1] = (gw_row){.kind = GW_ROW_ANGLE, .m = {1, 0, 0}, .f = none, .n = z, .value = 0};
    rows[2] = (gw_row){.kind = GW_ROW_ANGLE, .m = {0, 1, 0}, .f = none, .n = z, .value = 0};
    return 3;
}

int gw_angle_rows(const gw_angle_constraint *d, gw_row *rows)
{
    gw_vec3 none = {0, 0, 0};
    if (d->angle > 0) {
        rows[0] =
            (gw_row){.kind = GW_ROW_ANGLE, .m = d->u, .f = none, .n = d->f, .value = d->cosine};
        return 1;
    }
    /* parallel: normal to two directions normal to f. Opposite vectors satisfy these rows, too; the
     * seed of a set has the sense that is meant. */
    gw_vec3 n = gw_any_normal(d->f);
    rows[0] = (gw_row){.kind = GW_ROW_ANGLE, .m = d->u, .f = none, .n = n, .value = 0};
    rows[1] =
        (gw_row){.kind = GW_ROW_ANGLE, .m = d->u, .f = none, .n = gw_cross(d->f, n), .value = 0};
    return 2;
}

/* One row of a surface; of a curve one along each axis of its frame, of rank two; and two more
 * where a direction is along the normal or the tangent. */
static int free_form_rows(const gw_distance_constraint *x, gw_vec3 m, gw_vec3 f, gw_row *rows)
{
    bool surface = x->surface == GW_SURFACE;
    gw_row row = {.kind = surface ? GW_ROW_SURFACE : GW_ROW_CURVE,
                  .m = m,
                  .f = f,
                  .value = x->p,
                  .q = x->q,
                  .nurbs = x->nurbs};
    if (x->body_owns)
        row.kind = surface ? GW_ROW_SURFACE_BODY : GW_ROW_CURVE_BODY;
    int n = surface ? 1 : 3;
    for (int i = 0; i < n; i++) {
        rows[i] = row;
        rows[i].n = surface ? gw_v3(0, 0, 0) : gw_v3(i == 0, i == 1, i == 2);
    }
    if (!x->directed)
        return n;
    /* across `along`, in metres: n1 x n2 is along it */
    gw_vec3 across = gw_any_normal(x->along);
    gw_row_kind of_world = surface ? GW_ROW_NORMAL : GW_ROW_TANGENT;
    gw_row_kind of_body = surface ? GW_ROW_NORMAL_BODY : GW_ROW_TANGENT_BODY;
    for (int i = 0; i < 2; i++) {
        rows[n + i] = row;
        rows[n + i].kind = x->body_owns ? of_body : of_world;
        rows[n + i].n = gw_scale(x->span, i == 0 ? across : gw_cross(x->along, across));
    }
    return n + 2;
}

/* A distance of the order of rounding counts as zero: a sphere or cylinder of such a radius has no
 * tangent plane that a motion could follow. */
#define NO_DISTANCE 1e-12 /* m */

int gw_distance_rows(const gw_distance_constraint *x, gw_row *rows)
{
    gw_row_kind plane = x->body_owns ? GW_ROW_PLANE_BODY : GW_ROW_PLANE;
    gw_row_kind cylinder = x->body_owns ? GW_ROW_CYLINDER_BODY : GW_ROW_CYLINDER;
    gw_vec3 m = x->body_owns ? x->b : x->a, f = x->body_owns ? x->a : x->b;
    if (gw_is_free_form(x->surface))
        return free_form_rows(x, m, f, rows);
    if (x->surface == GW_PLANE) {
        rows[0] = (gw_row){.kind = plane, .m = m, .f = f, .n = x->d, .value = 0};
        return 1;
    }
    if (x->p > NO_DISTANCE) {
        rows[0] = (gw_row){.kind = x->surface == GW_LINE ? cylinder : GW_ROW_SPHERE,
                           .m = m,
                           .f = f,
                           .n = x->d,
                           .value = x->p};
        return 1;
    }
    if (x->surface == GW_LINE) {
        gw_vec3 n = gw_any_normal(x->d);
        rows[0] = (gw_row){.kind = plane, .m = m, .f = f, .n = n, .value = 0};
        rows[1] = (gw_row){.kind = plane, .m = m, .f = f, .n = gw_cross(x->d, n), .value = 0};
        return 2;
    }
    rows[0] = (gw_row){.kind = plane, .m = m, .f = f, .n = {1, 0, 0}, .value = 0};
    rows[1] = (gw_row){.kind = plane, .m = m, .f = f, .n = {0, 1, 0}, .value = 0};
    rows[2] = (gw_row){.kind = plane, .m = m, .f = f, .n = {0, 0, 1}, .value = 0};
    return 3;
}

static void fill_rows(const gw_solver_state *state, gw_submanifold *set)
{
    int n = 0;
    if (state->rotation_known)
        n = gw_rotation_rows(state->rotation, set->rows);
    for (int i = 0; i < state->angle_count && n + 2 <= GW_MAX_ROWS; i++)
        n += gw_angle_rows(&state->angles[i], set->rows + n);
    for (int i = 0; i < state->distance_count; i++)
        if (n + (state->distances[i].directed ? GW_DISTANCE_ROWS : 3) <= GW_MAX_ROWS)
            n += gw_distance_rows(&state->distances[i], set->rows + n);
    set->row_count = n;
}

/* ---- rotational factor ----------------------------------------------------------------------- */

/* R(phi, theta) = R(f, phi) R(w, sigma - alpha) R(u, theta), w = u x f, sigma the angle between u
 * and f (relational-positioning (3), (4)). */
static void rotation_by_angle(const gw_angle_constraint *d, gw_rotation_set *r)
{
    r->axis = d->f;
    r->axis_body = d->u;
    r->angle = d->angle;
    if (d->angle == 0) {
        r->kind = GW_ROTATION_AXIS;
        r->dof = 1;
        r->zero = gw_quat_between(d->u, d->f);
        return;
    }
    gw_vec3 w = gw_cross(d->u, d->f);
    double sine = gw_norm(w), sigma = atan2(sine, gw_dot(d->u, d->f));
    w = sine > 1e-12 ? gw_scale(1 / sine, w) : gw_any_normal(d->u);
    r->kind = GW_ROTATION_ANGLE;
    r->dof = 2;
    r->zero = gw_quat_axis(w, sigma - d->angle);
}

bool gw_rotation_by_two_angles(const gw_solver_state *state, gw_rotation_set *r)
{
    gw_vector_angle pair[2];
    if (state->rotation_known || state->angle_count != 2)
        return false;
    for (int i = 0; i < 2; i++) {
        const gw_angle_constraint *d = &state->angles[i];
        pair[i] = (gw_vector_angle){d->f, d->u, d->angle};
    }
    if (state->loops)
        *r = *state->loops;
    else if (!gw_two_angles(&pair[0], &pair[1], r))
        return false;
    if (r->second.loops == 2 && r->second.loop != state->loop)
        gw_two_angles_choose(r, state->loop);
    return true;
}

/* The rotational factor; false where there is none in closed form. */
static bool rotational_factor(const gw_solver_state *state, gw_rotation_set *r)
{
    *r = (gw_rotation_set){.kind = GW_ROTATION_FREE, .dof = 3, .zero = {1, 0, 0, 0}};
    if (state->rotation_known) {
        r->kind = GW_ROTATION_FIXED;
        r->dof = 0;
        r->zero = state->rotation;
        return true;
    }
    if (state->angle_count == 1)
        rotation_by_angle(&state->angles[0], r);
    if (state->angle_count < 2)
        return true;
    if (gw_rotation_by_two_angles(state, r))
        return r->second.loops == 1 || state->loop != 0;
    r->kind = GW_ROTATION_GENERAL, r->dof = 0;
    return false;
}

/* ---- translational factor -------------------------------------------------------------------- */

static void axes_about(gw_locus *l, gw_vec3 e3)
{
    l->e3 = e3;
    l->e1 = gw_any_normal(e3);
    l->e2 = gw_cross(e3, l->e1);
}

static void single_locus(const gw_distance_constraint *x, gw_locus *l)
{
    static const gw_locus_kind exact[] = {GW_LOCUS_POINT, GW_LOCUS_LINE, GW_LOCUS_PLANE};
    static const gw_locus_kind apart[] = {GW_LOCUS_SPHERE, GW_LOCUS_CYLINDER, GW_LOCUS_PLANE};
    if (gw_is_free_form(x->surface)) {
        gw_mat3 r = gw_quat_to_mat3(x->q);
        *l = (gw_locus){.kind = x->surface == GW_CURVE ? GW_LOCUS_CURVE : GW_LOCUS_SURFACE,
                        .origin = x->b,
                        .e1 = {r.m[0][0], r.m[1][0], r.m[2][0]},
                        .e2 = {r.m[0][1], r.m[1][1], r.m[2][1]},
                        .e3 = {r.m[0][2], r.m[1][2], r.m[2][2]},
                        .a = x->p,
                        .nurbs = x->nurbs};
        return;
    }
    l->kind = x->p > 0 ? apart[x->surface] : exact[x->surface];
    l->origin = x->b;
    l->a = x->p;
    l->b = 0;
    axes_about(l, x->surface == GW_POINT ? gw_v3(0, 0, 1) : x->d);
}

/*
 * A cylinder of radius p about K, cut by a plane with normal n: an ellipse about K n Pi with
 * semi-axes p / |n . k| along n x k x n and p along n x k (relational-positioning (10), whose
 * second semi-axis this corrects); a circle where K is normal to the plane.
 */
static void ellipse_locus(const gw_distance_constraint *cylinder,
                          const gw_distance_constraint *plane, gw_locus *l)
{
    gw_vec3 k = cylinder->d, n = plane->d, d1 = gw_cross(n, k);
    double slope = gw_dot(k, n), sine = gw_norm(d1);
    double s = gw_dot(gw_sub(plane->b, cylinder->b), n) / slope;
    l->origin = gw_mul_add(cylinder->b, s, k);
    l->b = cylinder->p;
    if (sine <= GW_SNAP) {
        l->kind = GW_LOCUS_CIRCLE;
        l->a = l->b;
        axes_about(l, n);
        return;
    }
    l->kind = GW_LOCUS_ELLIPSE;
    l->a = cylinder->p / fabs(slope);
    l->e2 = gw_scale(1 / sine, d1);
    l->e1 = gw_cross(l->e2, n);
    l->e3 = n;
}

/* One plane row n . (X(P) + arm - f) = 0 of a distance without value; `arm` from the reference
 * point P, on the side that has the point. */
typedef struct plane_row {
    gw_vec3 n, f, arm;
} plane_row;

/* Rows of the distances, the first one's point the reference; 0 where they are not of one side, or
 * not of lines and planes without a value. */
static int plane_rows(const gw_solver_state *state, plane_row *rows)
{
    const gw_distance_constraint *first = &state->distances[0];
    int n = 0;
    for (int i = 0; i < state->distance_count; i++) {
        const gw_distance_constraint *x = &state->distances[i];
        if (x->surface == GW_POINT || x->p > 0 || x->body_owns != first->body_owns ||
            n + 2 > GW_MAX_ROWS)
            return 0;
        gw_vec3 arm = gw_sub(x->a, first->a);
        if (x->surface == GW_PLANE) {
            rows[n++] = (plane_row){x->d, x->b, arm};
        } else {
            gw_vec3 normal = gw_any_normal(x->d);
            rows[n++] = (plane_row){normal, x->b, arm};
            rows[n++] = (plane_row){gw_cross(x->d, normal), x->b, arm};
        }
    }
    return n;
}

#define INDEPENDENT 1e-6 /* sine between a normal and those before it */

/* Moves rows with independent normals to the front, the most independent of the remaining ones each
 * time; returns their number. The others follow from them and the rotation, or the verification
 * fails. */
static int choose_independent(plane_row *rows, int count)
{
    gw_vec3 across[GW_MAX_ROWS];
    int n = 0;
    for (int i = 0; i < count; i++)
        across[i] = rows[i].n;
    while (n < count && n < 3) {
        int best = n;
        for (int i = n + 1; i < count; i++)
            best = gw_norm2(across[i]) > 1.01 * gw_norm2(across[best]) ? i : best;
        double size = gw_norm(across[best]);
        if (size < INDEPENDENT)
            break;
        plane_row row = rows[best];
        gw_vec3 unit = gw_scale(1 / size, across[best]);
        for (int i = best; i > n; i--)
            rows[i] = rows[i - 1], across[i] = across[i - 1];
        rows[n++] = row;
        for (int i = n; i < count; i++)
            across[i] = gw_reject(across[i], unit);
    }
    return n;
}

/* The vectors w_i with w_i . n_j = (i == j), of two or three normals. */
static void dual_basis(const plane_row *rows, int n, gw_vec3 dual[3])
{
    gw_vec3 a = rows[0].n, b = rows[1].n;
    gw_vec3 c = n == 3 ? rows[2].n : gw_unit(gw_cross(a, b));
    double det = gw_dot(a, gw_cross(b, c));
    dual[0] = gw_scale(1 / det, gw_cross(b, c));
    dual[1] = gw_scale(1 / det, gw_cross(c, a));
    dual[2] = gw_scale(1 / det, gw_cross(a, b));
}

/*
 * Different points on lines and planes (Table IV, second, third and sixth row): the planes of the
 * others are moved by R times their arm, n . (X - (f - R arm)) = 0, and meet in a line or a point,
 * whose place is linear in R (relational-positioning (11) to (14)).
 */
static bool shifting_locus(const gw_solver_state *state, gw_translation_set *t)
{
    plane_row rows[GW_MAX_ROWS];
    gw_vec3 dual[3];
    int n = choose_independent(rows, plane_rows(state, rows));
    if (n < 2)
        return false;
    gw_locus *l = &t->locus;
    dual_basis(rows, n, dual);
    l->kind = n == 3 ? GW_LOCUS_POINT : GW_LOCUS_LINE;
    l->a = l->b = 0;
    l->origin = rows[0].f;
    axes_about(l, n == 3 ? gw_v3(0, 0, 1) : gw_unit(gw_cross(rows[0].n, rows[1].n)));
    for (int i = 0; i < n; i++) {
        double off = gw_dot(rows[i].n, gw_sub(rows[i].f, rows[0].f));
        l->origin = gw_mul_add(l->origin, off, dual[i]);
        if (gw_norm2(rows[i].arm) > 0)
            t->shifts[t->shift_count++] = (gw_locus_shift){dual[i], rows[i].n, rows[i].arm};
    }
    return true;
}

/* An ellipse: a point on a cylinder and a plane, or two points, whose plane then moves by R times
 * their arm. */
static bool cylinder_and_plane(const gw_solver *solver, const gw_solver_state *state,
                               gw_translation_set *t)
{
    const gw_distance_constraint *x = &state->distances[0], *y = &state->distances[1];
    const gw_distance_constraint *cylinder = x->surface == GW_LINE ? x : y,
                                 *plane = cylinder == x ? y : x;
    if (cylinder->surface != GW_LINE || plane->surface != GW_PLANE ||
        x->body_owns != y->body_owns || fabs(gw_dot(cylinder->d, plane->d)) <= GW_SNAP)
        return false;
    ellipse_locus(cylinder, plane, &t->locus);
    t->of = cylinder->a;
    gw_vec3 arm = gw_sub(plane->a, cylinder->a);
    if (gw_norm(arm) > solver->snap)
        t->shifts[t->shift_count++] = (gw_locus_shift){
            gw_scale(1 / gw_dot(cylinder->d, plane->d), cylinder->d), plane->d, arm};
    return true;
}

/* The translational factor; false where there is none in closed form. */
static bool translational_factor(const gw_solver *solver, const gw_solver_state *state,
                                 gw_translation_set *t)
{
    const gw_distance_constraint *x = &state->distances[0];
    t->of = gw_v3(0, 0, 0);
    t->in_mobile = false;
    t->shift_count = 0;
    if (state->distance_count > 0) {
        t->of = x->a;
        t->in_mobile = x->body_owns;
    }
    if (state->distance_count == 0)
        t->locus =
            (gw_locus){.kind = GW_LOCUS_FREE, .e1 = {1, 0, 0}, .e2 = {0, 1, 0}, .e3 = {0, 0, 1}};
    else if (state->distance_count == 1)
        single_locus(x, &t->locus);
    else if (!shifting_locus(state, t) &&
             (state->distance_count > 2 || !cylinder_and_plane(solver, state, t)))
        return false;
    t->dof = gw_locus_dof(t->locus.kind);
    return true;
}

/* A direction along a normal or a tangent has a closed form if there are no other constraints. */
static bool along_shape(const gw_solver_state *state, gw_rotation_set *r)
{
    const gw_distance_constraint *x = &state->distances[0];
    if (state->distance_count != 1 || state->angle_count > 0 || state->rotation_known)
        return false;
    *r =
        (gw_rotation_set){.kind = x->surface == GW_CURVE ? GW_ROTATION_TANGENT : GW_ROTATION_NORMAL,
                          .dof = 1,
                          .zero = gw_quat_between(x->along, gw_v3(0, 0, 1)),
                          .axis = {0, 0, 1},
                          .axis_body = {0, 0, 1}};
    *(x->body_owns ? &r->axis : &r->axis_body) = x->along;
    return true;
}

bool gw_synthesise(const gw_solver *solver, const gw_solver_state *state, gw_submanifold *set)
{
    bool closed = rotational_factor(state, &set->rotation);
    fill_rows(state, set);
    for (int i = 0; i < state->distance_count; i++)
        if (state->distances[i].directed)
            closed = along_shape(state, &set->rotation);
    closed = closed && !state->capped && translational_factor(solver, state, &set->translation);
    set->general = !closed;
    if (!closed) {
        set->translation = (gw_translation_set){.dof = 0, .locus = {.kind = GW_LOCUS_GENERAL}};
        return false;
    }
    set->dof = set->rotation.dof + set->translation.dof;
    return true;
}

void gw_synthesise_pose(const gw_solver *solver, const gw_solver_state *state, const gw_pose *x,
                        gw_submanifold *set)
{
    gw_distance_constraint point = {.surface = GW_POINT,
                                    .body_owns = false,
                                    .a = {0, 0, 0},
                                    .b = x->p,
                                    .d = {0, 0, 1},
                                    .p = 0,
                                    .from = 0,
                                    .serial = 0};
    if (state->distance_count > 0) {
        const gw_distance_constraint *p = &state->distances[0];
        point.a = p->body_owns ? p->b : p->a;
        point.b = gw_pose_point(x, point.a);
    }
    gw_solver_state pose;
    gw_solver_state_init(&pose);
    pose.rotation_known = true;
    pose.rotation = x->q;
    gw_add_distance(&pose, &point);
    gw_synthesise(solver, &pose, set);
}
