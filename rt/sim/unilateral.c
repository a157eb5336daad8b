/*
 * Unilateral constraints: stiffness of their springs, when they begin to act, their wrench and
 * energy. On the loop's thread, RT safe, but for gw_unilaterals_build().
 */
#include "rt/sim/unilateral.h"

#include <string.h>

/* A spring at the effective mass m is stable in a Runge-Kutta step far beyond k dt^2 / m = 0.1. */
#define STIFFNESS_SHARE 0.1
#define DAMPING_RATIO   0.5
#define SHARED_FROM     4.0 /* bounds near at once, from where on they share the stiffness */
#define AHEAD_TICKS     4   /* a bound that would be passed within so many is near */

/* ---- building ------------------------------------------------------------------------------ */

/* The distance of a body's element and one of the world, one of them a point, as a row. */
static gw_row row_of(const gw_element *body, const gw_element *world, double value)
{
    gw_row row = {.m = body->p, .f = world->p, .n = world->d, .value = value};
    if (body->kind != GW_POINT)
        row.n = body->d;
    if (body->kind == GW_PLANE)
        row.kind = GW_ROW_PLANE_BODY;
    else if (body->kind == GW_LINE)
        row.kind = GW_ROW_CYLINDER_BODY;
    else if (world->kind == GW_PLANE)
        row.kind = GW_ROW_PLANE;
    else
        row.kind = world->kind == GW_LINE ? GW_ROW_CYLINDER : GW_ROW_SPHERE;
    return row;
}

static gw_geometry_feature end_of(const gw_scene *scene, const gw_feature_ref *ref)
{
    gw_geometry_feature end = {.object = gw_scene_object(scene, ref->object),
                               .feature = gw_scene_feature(scene, ref->object, ref->feature)};
    gw_scene_element(scene, ref, &end.element);
    return end;
}

int gw_unilaterals_build(const gw_scene *scene, const gw_pose *poses, int object,
                         gw_unilateral *out)
{
    int count = 0;
    for (int i; count < GW_MAX_UNILATERALS && (i = gw_scene_unilateral(scene, object, count)) >= 0;
         count++) {
        const gw_scene_constraint *c = &scene->constraints[i];
        bool own_a = gw_scene_object(scene, c->a.object) == object;
        const gw_feature_ref *own = own_a ? &c->a : &c->b, *other = own_a ? &c->b : &c->a;
        gw_unilateral *wall = &out[count];
        *wall = (gw_unilateral){.sign = c->bound == GW_BOUND_AT_MOST ? 1 : -1,
                                .own = end_of(scene, own),
                                .other = end_of(scene, other)};
        gw_element world = gw_element_moved(&poses[wall->other.object], &wall->other.element);
        wall->row = row_of(&wall->own.element, &world, c->value);
    }
    return count;
}

/* Of geometry as it is now. */
static gw_row row_now(const gw_unilateral *wall, const gw_kinematics *kinematics)
{
    if (!gw_kinematics_moved(kinematics))
        return wall->row;
    gw_element body = gw_kinematics_element(kinematics, &wall->own);
    gw_element other = gw_kinematics_element(kinematics, &wall->other);
    gw_pose at = gw_kinematics_pose(kinematics, wall->other.object);
    gw_element world = gw_element_moved(&at, &other);
    return row_of(&body, &world, wall->row.value);
}

/* ---- change -------------------------------------------------------------------------------- */

static bool same_vector(gw_vec3 a, gw_vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

/* Both are where they are now. */
static bool same_constraint(const gw_unilaterals *a, int i, const gw_unilaterals *b, int k)
{
    const gw_row *x = &a->row[i], *y = &b->row[k];
    return x->kind == y->kind && a->wall[i].sign == b->wall[k].sign && x->value == y->value &&
           same_vector(x->m, y->m) && same_vector(x->f, y->f) && same_vector(x->n, y->n);
}

uint64_t gw_unilaterals_switch(gw_unilaterals *set, const gw_unilateral *wall, int count,
                               const gw_kinematics *kinematics, uint64_t mask)
{
    const gw_unilaterals old = *set;
    uint64_t carried = 0;
    *set = (gw_unilaterals){.count = count, .wall = wall};
    for (int i = 0; i < count; i++) {
        set->row[i] = kinematics ? row_now(&wall[i], kinematics) : wall[i].row;
        for (int k = 0; k < old.count; k++) {
            if (!same_constraint(set, i, &old, k))
                continue;
            carried |= (mask >> k & 1) << i;
            set->coming[i] = old.coming[k];
            set->moving = old.moving;
            set->stiffness[i] = old.stiffness[k];
            set->damping[i] = old.damping[k];
            set->slack[i] = old.slack[k];
            set->near |= (old.near >> k & 1) << i;
            break;
        }
    }
    return carried;
}

void gw_unilaterals_move(gw_unilaterals *set, const gw_kinematics *kinematics, const gw_pose *pose,
                         double dt)
{
    if (!kinematics && !set->moving)
        return;
    set->moving = kinematics != NULL;
    for (int i = 0; i < set->count; i++) {
        double before, after;
        gw_rows_value(&set->row[i], 1, pose, &before);
        if (kinematics)
            set->row[i] = row_now(&set->wall[i], kinematics);
        gw_rows_value(&set->row[i], 1, pose, &after);
        set->coming[i] = set->wall[i].sign * (after - before) / dt;
    }
}

/* ---- a tick -------------------------------------------------------------------------------- */

static double along(const double a[6], const gw_twist *t)
{
    return a[0] * t->v.x + a[1] * t->v.y + a[2] * t->v.z + a[3] * t->w.x + a[4] * t->w.y +
           a[5] * t->w.z;
}

/* The mass that the model presents along a row (kg): 1 / (u D^-1 u), u = J^T A^T, J that of the
 * held frame, whose origin lies `arm` from the body's. */
static double mass_along(const gw_model *model, const double a[6], gw_vec3 arm)
{
    double columns[6][6], drift[6], force[6], answer[6], yield = 0, most = 0;
    int dof = gw_model_dof(model);
    gw_vec3 f = {a[0], a[1], a[2]};
    gw_vec3 t = gw_sub(gw_v3(a[3], a[4], a[5]), gw_cross(arm, f));
    gw_model_jacobian(model, columns, drift);
    for (int k = 0; k < dof; k++)
        force[k] = gw_dot(gw_v3(columns[k][0], columns[k][1], columns[k][2]), f) +
                   gw_dot(gw_v3(columns[k][3], columns[k][4], columns[k][5]), t);
    gw_model_apply_inverse(model, force, answer);
    for (int k = 0; k < dof; k++) {
        yield += force[k] * answer[k];
        most = fmax(most, fabs(force[k]));
    }
    return yield > 0 && most > 1e-9 ? 1 / yield : INFINITY; /* no freedom leads that way */
}

static int bits(uint64_t mask)
{
    int count = 0;
    for (; mask; mask &= mask - 1)
        count++;
    return count;
}

/* Stiffness and damping of a bound that comes near, for as long as it touches. */
static void set_stiffness(gw_unilaterals *set, int i, double mass, double dt)
{
    double share = fmax(1, (bits(set->near) + 1) / SHARED_FROM);
    set->stiffness[i] = STIFFNESS_SHARE * mass / (dt * dt) / (share * share);
    set->damping[i] = 2 * DAMPING_RATIO * sqrt(set->stiffness[i] * mass) / share;
    set->near = set->stiffness[i] > 0 ? set->near | 1ull << i : set->near & ~(1ull << i);
}

void gw_unilaterals_detect(gw_unilaterals *set, const gw_model *model, double mass,
                           const gw_pose *body_from_held, const gw_pose *pose,
                           const gw_twist *twist, double dt)
{
    set->touching = 0;
    set->depth = 0;
    gw_vec3 arm = gw_rotate(pose->q, body_from_held->p);
    for (int i = 0; i < set->count; i++) {
        const gw_unilateral *wall = &set->wall[i];
        double h, a[1][6];
        gw_rows_value_and_jacobian(&set->row[i], 1, pose, &h, a);
        double depth = wall->sign * h;
        double rate = wall->sign * along(a[0], twist) + set->coming[i];
        bool near = set->near >> i & 1;
        set->depth = fmax(set->depth, depth);
        set->slack[i] = fmax(0, fmin(set->slack[i], depth));
        if (depth > set->slack[i] && near) {
            set->touching |= 1ull << i;
        } else if (depth > 0 && !near) {
            set->slack[i] = depth; /* found beyond: it may come back, not go further */
            set_stiffness(set, i, fmin(mass_along(model, a[0], arm), mass), dt);
        } else if (depth - set->slack[i] + AHEAD_TICKS * dt * rate > 0) {
            if (!near)
                set_stiffness(set, i, fmin(mass_along(model, a[0], arm), mass), dt);
        } else if (depth <= 0) {
            set->stiffness[i] = 0;
            set->near &= ~(1ull << i);
        }
    }
}

void gw_unilaterals_yield(gw_unilaterals *set, const gw_pose *from, const gw_pose *to)
{
    for (int i = 0; i < set->count; i++) {
        double before, after;
        gw_rows_value(&set->row[i], 1, from, &before);
        gw_rows_value(&set->row[i], 1, to, &after);
        double pressed = fmax(set->wall[i].sign * before - set->slack[i], 0);
        set->slack[i] = fmax(set->slack[i], set->wall[i].sign * after - pressed);
    }
}

/* Its spring's force, and what damping adds to it (N), with the row there; 0: it does not touch. */
static double force_of(const gw_unilaterals *set, int i, const gw_pose *pose, const gw_twist *twist,
                       double a[1][6], double *damping)
{
    double h, sign = set->wall[i].sign;
    *damping = 0;
    if (!(set->near >> i & 1))
        return 0;
    gw_rows_value_and_jacobian(&set->row[i], 1, pose, &h, a);
    double depth = sign * h - set->slack[i];
    if (!(depth > 0))
        return 0;
    double force = set->stiffness[i] * depth;
    if (set->touching >> i & 1)
        *damping = set->damping[i] * (sign * along(a[0], twist) + set->coming[i]);
    *damping = fmax(*damping, -force);
    return force;
}

gw_wrench gw_unilaterals_wrench(const gw_unilaterals *set, const gw_pose *pose,
                                const gw_twist *twist)
{
    gw_wrench sum = {{0, 0, 0}, {0, 0, 0}};
    for (int i = 0; i < set->count; i++) {
        double a[1][6] = {{0}}, damping, spring = force_of(set, i, pose, twist, a, &damping);
        double force = -set->wall[i].sign * (spring + damping);
        sum.f = gw_mul_add(sum.f, force, gw_v3(a[0][0], a[0][1], a[0][2]));
        sum.t = gw_mul_add(sum.t, force, gw_v3(a[0][3], a[0][4], a[0][5]));
    }
    return sum;
}

double gw_unilaterals_power(const gw_unilaterals *set, const gw_pose *pose, const gw_twist *twist)
{
    double sum = 0;
    for (int i = 0; set->moving && i < set->count; i++) {
        double a[1][6], damping;
        force_of(set, i, pose, twist, a, &damping);
        sum += damping * set->coming[i];
    }
    return sum;
}

double gw_unilaterals_energy(const gw_unilaterals *set, const gw_pose *pose)
{
    double sum = 0;
    for (int i = 0; i < set->count; i++) {
        double h;
        if (!(set->near >> i & 1))
            continue;
        gw_rows_value(&set->row[i], 1, pose, &h);
        double depth = fmax(set->wall[i].sign * h - set->slack[i], 0);
        sum += 0.5 * set->stiffness[i] * depth * depth;
    }
    return sum;
}
