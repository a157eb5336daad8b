/*
 * Poses seen from a fixed, arbitrary point of view, to name them by where they are: which side they
 * are on, and how high. Any thread, RT safe.
 */
#include "rt/solve/solve_internal.h"

static const gw_vec3 in_world[] = {{0.48, 0.6, 0.64}, {0.8, -0.36, 0.48}, {-0.28, 0.6, 0.749}};
static const gw_vec3 in_body[] = {{0.36, 0.48, 0.8}, {-0.6, 0.64, 0.48}, {0.8, 0.28, -0.531}};

gw_view gw_view_rotation(gw_quat q)
{
    gw_view v = {0, 0};
    for (int i = 0; i < 3; i++) {
        double turn = gw_dot(gw_rotate(q, in_body[i]), in_world[i]);
        v.side = 2 * v.side + (turn > 0);
        v.height += turn;
    }
    return v;
}

/* The elements' points tell where the body is: their mean on either side. */
gw_view gw_view_pose(const gw_run *run, const gw_pose *x)
{
    gw_view v = gw_view_rotation(x->q);
    gw_vec3 off = {0, 0, 0};
    for (int i = 0; i < run->problem->count; i++) {
        const gw_constraint *c = &run->problem->constraints[i];
        off = gw_add(off, gw_sub(gw_pose_point(x, c->mobile.p), c->fixed.p));
    }
    double along = gw_dot(off, in_world[0]) / (run->size * fmax(1, run->problem->count));
    v.side = 2 * v.side + (along > 0.217); /* 0 is where elements are met point by point */
    v.height += along;
    return v;
}
