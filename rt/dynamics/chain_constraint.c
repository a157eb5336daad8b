/*
 * What a link's neighbours do to it, by Newton and Euler. On the loop's thread, RT safe.
 */
#include "rt/dynamics/articulated_body.h"

gw_twist gw_chain_link_acceleration(const gw_chain *chain, int link, const double *a)
{
    gw_vec3 linear = {0, 0, 0}, angular = {0, 0, 0}, w = {0, 0, 0};
    for (int i = 0; i <= link; i++) {
        const gw_chain_link_state *j = &chain->joints[i];
        gw_vec3 axis = gw_chain_axis(j), along = gw_scale(chain->v[i], gw_cross(w, axis));
        linear = gw_add(linear, gw_cross(angular, j->arm));
        linear = gw_add(linear, gw_cross(w, gw_cross(w, j->arm)));
        if (j->slides) {
            linear = gw_mul_add(linear, 2, along);
            linear = gw_mul_add(linear, a ? a[i] : 0, axis);
        } else {
            angular = gw_add(angular, along);
            angular = gw_mul_add(angular, a ? a[i] : 0, axis);
        }
        w = j->twist.w;
    }
    return (gw_twist){linear, angular};
}

/*
 * lambda = momentum's rate - weight - what else acts, of the link alone. A local chain has not
 * turned its inertias.
 */
gw_wrench gw_chain_constraint_wrench(const gw_chain *chain, const double *a, const gw_wrench *on)
{
    int link = gw_chain_held_link(chain->def);
    const gw_chain_link_state *j = &chain->joints[link];
    const gw_mat3 *r = &j->world_from_axes;
    gw_vec3 com = gw_mat3_mul(r, j->com), arm = gw_mat3_mul(r, chain->held_at);
    gw_sym3 inertia = gw_sym3_turned(r, &j->inertia);
    gw_twist rate = gw_chain_link_acceleration(chain, link, a);
    rate.v = gw_sub(rate.v, chain->def->gravity);
    gw_wrench need = gw_link_newton_euler(j->mass, com, &inertia, j->twist.w, &rate);
    gw_vec3 f = gw_sub(need.f, on->f), t = gw_sub(need.t, on->t);
    return (gw_wrench){f, gw_sub(t, gw_cross(arm, f))};
}
