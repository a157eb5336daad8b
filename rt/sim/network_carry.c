/*
 * A change of scenario while geometry is on its way, or with other places for it: it does not jump
 * there. On the loop's thread, RT safe.
 */
#include <string.h>

#include "rt/sim/network_data.h"

/* By its name; mostly in the same place. -1: none. */
static int find(const uint64_t *names, int count, uint64_t name, int guess)
{
    if (guess < count && names[guess] == name)
        return guess;
    for (int i = 0; i < count; i++)
        if (names[i] == name)
            return i;
    return -1;
}

static int object_before(const gw_kinematics *n, const gw_kinematics *old, int object)
{
    return find(old->names, old->object_count, n->names[object], object);
}

static bool same_vector(gw_vec3 a, gw_vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static bool same_pose(const gw_pose *a, const gw_pose *b)
{
    return same_vector(a->p, b->p) && a->q.w == b->q.w && a->q.x == b->q.x && a->q.y == b->q.y &&
           a->q.z == b->q.z;
}

static bool same_element(const gw_element *a, const gw_element *b)
{
    return same_vector(a->p, b->p) && (a->kind == GW_POINT || same_vector(a->d, b->d));
}

static bool same_goal(const gw_moved_geometry *a, const gw_moved_geometry *b)
{
    return a->feature >= 0 ? same_element(&a->element, &b->element) : same_pose(&a->pose, &b->pose);
}

/* It goes on as it did where it went there already, else it begins anew. `feature`, `object`: what
 * it is in the old network. */
static void go_there(gw_kinematics *n, const gw_kinematics *old, int feature, int object,
                     const gw_moved_geometry *to, uint64_t tick, int rate)
{
    for (int i = 0; i < old->way_count; i++) {
        const gw_geometry_motion *w = &old->ways[i];
        if (w->arrived || w->to.feature != feature || (feature < 0 && w->to.object != object) ||
            !same_goal(&w->to, to))
            continue;
        gw_geometry_motion *on = &n->ways[n->way_count++];
        *on = *w;
        on->from.feature = on->to.feature = to->feature;
        on->from.object = on->to.object = to->object;
        return;
    }
    gw_kinematics_move(n, to, tick, rate);
}

static void carry_object(gw_kinematics *n, const gw_kinematics *old, int object, uint64_t tick,
                         int rate)
{
    int was = n->fixed[object] ? object_before(n, old, object) : -1;
    if (was < 0 || !old->fixed[was] || same_pose(&old->poses[was], &n->rest[object]))
        return;
    gw_moved_geometry to = {.feature = -1, .object = object, .pose = n->rest[object]};
    n->poses[object] = old->poses[was];
    n->moved[object] = true;
    go_there(n, old, -1, was, &to, tick, rate);
}

static void carry_feature(gw_kinematics *n, const gw_kinematics *old, int feature, uint64_t tick,
                          int rate)
{
    const gw_element *now = &n->laid_out[feature];
    int was = find(old->names + old->object_count, old->feature_count,
                   n->names[n->object_count + feature], feature);
    if (was < 0 || old->features[was].kind != now->kind || same_element(&old->features[was], now))
        return;
    gw_moved_geometry to = {.feature = feature, .object = -1, .element = *now};
    n->features[feature] = old->features[was];
    gw_kinematics_take_element(n, feature);
    go_there(n, old, was, -1, &to, tick, rate);
}

/* What stands on it begins where it stood. */
static void carry_standing(gw_kinematics *n, const gw_kinematics *old)
{
    for (int i = 0; i < n->unit_count; i++) {
        const gw_kinematic_group *u = &n->units[i];
        if (u->follow != GW_OBJECT_STATIC || !gw_kinematics_depends_on_moved(n, u))
            continue;
        for (int k = 0; k < u->cluster.count; k++) {
            int object = u->cluster.bodies[k], was = object_before(n, old, object);
            if (was >= 0)
                n->poses[object] = old->poses[was];
            n->moved[object] = true;
        }
    }
}

void gw_kinematics_carry_over(gw_kinematics *n, const gw_kinematics *old, uint64_t tick, int rate)
{
    memset(n->moved, 0, (size_t)n->object_count * sizeof *n->moved);
    memset(n->dirty, 0, (size_t)n->link_count * sizeof *n->dirty);
    for (int i = 0; i < n->object_count && n->way_count < GW_MAX_GEOMETRY_MOTIONS; i++)
        carry_object(n, old, i, tick, rate);
    for (int i = 0; i < n->feature_count && n->way_count < GW_MAX_GEOMETRY_MOTIONS; i++)
        carry_feature(n, old, i, tick, rate);
    if (n->way_count == 0)
        return;
    carry_standing(n, old);
    gw_kinematics_solve_moved(n);
}
