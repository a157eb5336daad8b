/*
 * Poses seen from a fixed, arbitrary point of view, to name them by where they are: which side they
 * are on, and how high. Any thread, RT safe.
 */
#include "rt/positioning/solver.h"

/* No product of two turns about axes and diagonals by multiples of 45 and 60 degrees has a side
 * nearer than 3e-4 to none. */
static const gw_vec3 in_world[] = {
    {0.465, 0.5859, 0.6589}, {0.824, -0.3841, 0.5089}, {-0.2772, 0.6273, 0.7664}};
static const gw_vec3 in_body[] = {
    {0.3677, 0.4707, 0.7756}, {-0.6076, 0.6699, 0.4962}, {0.7984, 0.2977, -0.5147}};

gw_branch_label gw_rotation_label(gw_quat q)
{
    gw_branch_label v = {0, 0};
    for (int i = 0; i < 3; i++) {
        double turn = gw_dot(gw_rotate(q, in_body[i]), in_world[i]);
        v.side = 2 * v.side + (turn > 0);
        v.height += turn;
    }
    return v;
}

/* The elements' points tell where the body is: their mean on either side. */
gw_branch_label gw_pose_label(const gw_solver *run, const gw_pose *x)
{
    gw_branch_label v = gw_rotation_label(x->q);
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
