/*
 * A body goes over to its moved set. On the loop's thread, RT safe.
 */
#include "rt/loop/moved_set.h"

#include <string.h>

gw_set_moved gw_set_follow(gw_network *network, int object, const char *branch, gw_guided *body)
{
    gw_constraint constraints[GW_MAX_PROBLEM];
    int count = gw_network_problem(network, object, constraints);
    if (count < 0)
        return GW_SET_STANDS;
    gw_problem problem = {body->pose, body->def.length, count, constraints};
    gw_branch before = {.set = body->def.set, .nearest = body->pose}, after;
    gw_twist twist = body->twist;
    strcpy(before.id, branch);
    if (!gw_solve_branch(&problem, &before, &after))
        return GW_SET_GONE;
    body->def.set = after.set;
    gw_guided_init(body, &body->def, &after.nearest);
    gw_guided_set_twist(body, &twist);
    return GW_SET_MOVED;
}
