/*
 * Energy correction by velocity rescaling: energy is taken out of a system's motion, or put into
 * it, at constant momentum. Velocities are scaled relative to the rigid motion with the same linear
 * and angular momentum of each group of floating bodies. Also an estimate of the energy's rounding
 * error. RT safe.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/dynamics/rigid_body.h"
#include "rt/dynamics/system_private.h"

/* ---- groups of floating bodies -------------------------------------------------------------- */

static void join_islands(gw_system *s, int a, int b)
{
    int from = s->bodies[a].island, to = b >= 0 ? s->bodies[b].island : -1;
    for (int i = 0; i < s->body_count && from != to; i++)
        if (s->bodies[i].island == (from > to ? from : to))
            s->bodies[i].island = from > to ? to : from;
}

void gw_system_find_islands(gw_system *s)
{
    for (int i = 0; i < s->body_count; i++)
        s->bodies[i].island = i;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body_def *def = &s->bodies[i].def;
        bool floats = def->joint == GW_MOBILIZER_FREE && !def->reversed && def->parent == GW_GROUND;
        if (def->parent >= 0 || !floats)
            join_islands(s, i, def->parent);
    }
    for (int i = 0; i < s->closure_count; i++)
        join_islands(s, s->closures[i].a, s->closures[i].b);
    for (int i = 0; i < s->spring_count; i++)
        join_islands(s, s->springs[i].a, s->springs[i].b);
}

/* The rigid motion with the momentum of a group of floating bodies: velocity v of its centre of
 * mass, angular velocity w. */
typedef struct rigid_motion {
    gw_vec3 centre, v, w;
    double kinetic;
} rigid_motion;

static rigid_motion motion_of(const gw_system *s, int island)
{
    rigid_motion x = {{0, 0, 0}, {0, 0, 0}, {0, 0, 0}, 0};
    gw_vec3 momentum = {0, 0, 0}, spin = {0, 0, 0};
    gw_mat3 inertia = {{{0}}};
    double mass = 0;
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        if (k->island != island)
            continue;
        gw_vec3 p = gw_scale(k->def.mass.mass, gw_add(k->twist.v, gw_cross(k->twist.w, k->com)));
        mass += k->def.mass.mass;
        x.centre = gw_mul_add(x.centre, k->def.mass.mass, gw_add(k->pose.p, k->com));
        momentum = gw_add(momentum, p);
    }
    x.centre = gw_scale(1 / mass, x.centre);
    x.v = gw_scale(1 / mass, momentum);
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        const gw_sym3 *c = &k->inertia_com;
        if (k->island != island)
            continue;
        double m = k->def.mass.mass;
        gw_vec3 arm = gw_sub(gw_add(k->pose.p, k->com), x.centre);
        gw_vec3 v = gw_add(k->twist.v, gw_cross(k->twist.w, k->com));
        spin = gw_add(spin, gw_sym3_mul(c, k->twist.w));
        spin = gw_mul_add(spin, m, gw_cross(arm, v));
        const double a[3] = {arm.x, arm.y, arm.z};
        const double own[3][3] = {
            {c->xx, c->yx, c->zx}, {c->yx, c->yy, c->zy}, {c->zx, c->zy, c->zz}};
        for (int j = 0; j < 3; j++)
            for (int l = 0; l < 3; l++)
                inertia.m[j][l] += own[j][l] + m * ((j == l ? gw_norm2(arm) : 0) - a[j] * a[l]);
    }
    gw_mat3 inverse = gw_inertia_inverse(&inertia);
    gw_vec3 w = gw_mat3_mul(&inverse, spin);
    x.w = gw_finite3(w) ? w : gw_v3(0, 0, 0);
    x.kinetic = 0.5 * mass * gw_norm2(x.v) + 0.5 * gw_dot(x.w, spin);
    return x;
}

/* Joint velocities in the rigid motion `x`: those of the group's free joints to the ground; all
 * other joints are at rest. */
static void velocity_in(const gw_system_body *k, const rigid_motion *x, double u[6])
{
    memset(u, 0, 6 * sizeof *u);
    if (k->island < 0 || k->def.parent >= 0)
        return;
    gw_vec3 m = gw_pose_point(&k->pose, k->def.body_from_m.p);
    gw_vec3 v = gw_add(x->v, gw_cross(x->w, gw_sub(m, x->centre)));
    gw_spatial_set(u, gw_unrotate(k->def.parent_from_f.q, v),
                   gw_unrotate(k->def.parent_from_f.q, x->w));
}

double gw_system_remove_energy(gw_system *s, double energy)
{
    assert(s);
    double payable = s->kinetic;
    for (int i = 0; i < s->body_count; i++)
        if (s->bodies[i].island == i)
            payable -= motion_of(s, i).kinetic;
    if (!(payable > 0))
        return energy;
    double factor = sqrt(fmax(0, 1 - energy / payable));
    for (int i = 0; i < s->body_count; i++) {
        gw_system_body *k = &s->bodies[i];
        rigid_motion x = k->island >= 0 ? motion_of(s, k->island) : (rigid_motion){.kinetic = 0};
        double u[6];
        velocity_in(k, &x, u);
        for (int j = 0; j < k->dof; j++)
            k->joint.u[j] = u[j] + factor * (k->joint.u[j] - u[j]);
    }
    gw_tree_update_velocities(s);
    gw_closures_update_rates(s);
    gw_system_energy(s, &s->kinetic, &s->potential);
    return fmax(0, energy - payable);
}

/* ---- rounding ------------------------------------------------------------------------------- */

#define POSITION_ROUNDING 1e-15 /* of a position, or a joint's coordinate */
#define REST_SPEED        1e-10 /* m/s, residual velocity of a body at rest whose forces cancel */

/*
 * A force F along a position x, each rounded by eps, makes
 *
 *   |F| |x| eps
 *
 * of potential energy: weights and springs at where they act, forces of joints at the coordinates,
 * all of a joint's friction also where it has come to rest within the step.
 * A body's position is the sum of the arms that lead there, and as exact as the longest of them.
 */
double gw_system_energy_rounding(const gw_system *s)
{
    double moments = s->local ? 0 : gw_springs_moment(s), masses = 0, weight = gw_norm(s->gravity);
    for (int i = 0; i < s->body_count; i++) {
        const gw_system_body *k = &s->bodies[i];
        masses += k->def.mass.mass;
        moments += weight * k->def.mass.mass *
                   (gw_norm(k->pose.p) + gw_norm(k->def.parent_from_f.p) +
                    gw_norm(k->def.body_from_m.p) + gw_norm(k->def.mass.com));
        for (int j = 0; j < k->dof && !k->is_free; j++)
            moments +=
                fmax(fabs(s->joint_force[k->first + j]), k->def.friction[j]) * fabs(k->joint.z[j]);
    }
    return POSITION_ROUNDING * moments + masses * REST_SPEED * REST_SPEED;
}
