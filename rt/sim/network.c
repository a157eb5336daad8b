/*
 * Followers: objects that a hand carries along, or that are solved again between what moves and
 * what stands, each from where it was a tick ago. On the loop's thread, RT safe.
 */
#include <string.h>

#include "rt/sim/network_data.h"

#define STEPS_A_TICK 12
#define FOLLOWED     1e-9  /* of a unit's size: as far off as a solved pose may be */
#define SAME_MOTION  1e-12 /* m: motions of a tick that differ by less are one */

void gw_kinematics_reset(gw_kinematics *n)
{
    size_t count = (size_t)n->object_count;
    memcpy(n->poses, n->rest, count * sizeof *n->poses);
    memset(n->moved, 0, count * sizeof *n->moved);
    memset(n->displaced, 0, count * sizeof *n->displaced);
    for (int i = 0; i < n->unit_count; i++)
        n->units[i].stale = false;
    for (int i = 0; i < n->feature_count && n->way_count > 0; i++) {
        n->features[i] = n->laid_out[i];
        gw_kinematics_take_element(n, i);
    }
    n->way_count = 0;
}

void gw_kinematics_set_held(gw_kinematics *n, int object, const gw_pose *world_from_object)
{
    n->poses[object] = *world_from_object;
}

/* A held or a free object: where it is, its model says. */
static bool has_model(const gw_kinematic_group *u)
{
    return u->follow == GW_OBJECT_HELD || u->follow == GW_OBJECT_FREE;
}

/* ---- one unit -------------------------------------------------------------------------------- */

static bool resolve(gw_kinematics *n, gw_kinematic_group *u)
{
    return gw_cluster_project(&u->cluster, STEPS_A_TICK, n->poses, n->work) <= FOLLOWED;
}

static void note_moved(gw_kinematics *n, const gw_kinematic_group *u)
{
    for (int i = 0; i < u->cluster.count; i++)
        n->moved[u->cluster.bodies[i]] = n->displaced[u->cluster.bodies[i]] = true;
}

/* Carried objects whose own constraints moved are solved once, and carried from there. */
static bool carry(gw_kinematics *n, gw_kinematic_group *u)
{
    gw_pose *object = &n->poses[u->cluster.bodies[0]];
    *object = gw_pose_mul(&n->poses[u->carrier], &u->carrier_from_object);
    if (!u->stale)
        return true;
    bool solved = resolve(n, u);
    gw_pose carrier_from_world = gw_pose_inverse(&n->poses[u->carrier]);
    u->carrier_from_object = gw_pose_mul(&carrier_from_world, object);
    return solved;
}

static void save(gw_kinematics *n)
{
    for (int i = 0; i < n->unit_count; i++)
        for (int k = 0; k < n->units[i].cluster.count; k++) {
            int object = n->units[i].cluster.bodies[k];
            n->saved[object] = n->poses[object];
        }
}

static void restore(gw_kinematics *n)
{
    for (int i = 0; i < n->unit_count; i++)
        for (int k = 0; k < n->units[i].cluster.count && !has_model(&n->units[i]); k++) {
            int object = n->units[i].cluster.bodies[k];
            n->poses[object] = n->saved[object];
        }
}

bool gw_kinematics_follow(gw_kinematics *n, bool forced)
{
    bool followed = true;
    save(n);
    for (int i = 0; i < n->unit_count; i++) {
        gw_kinematic_group *u = &n->units[i];
        if (u->follow == GW_OBJECT_CARRIED)
            followed = carry(n, u) && followed;
        else if (u->follow == GW_OBJECT_SOLVED)
            followed = resolve(n, u) && followed;
        else
            continue;
        u->stale = false;
        note_moved(n, u);
    }
    if (!followed && !forced)
        restore(n);
    return followed;
}

int gw_kinematics_followers(const gw_kinematics *n, gw_follower *followers, int capacity)
{
    int count = 0;
    for (int i = 0; i < n->unit_count; i++) {
        const gw_kinematic_group *u = &n->units[i];
        bool follows = u->follow == GW_OBJECT_CARRIED || u->follow == GW_OBJECT_SOLVED;
        for (int k = 0; k < u->cluster.count && count < capacity; k++) {
            int object = u->cluster.bodies[k];
            if (follows || (u->follow == GW_OBJECT_STATIC && n->displaced[object]))
                followers[count++] = (gw_follower){object, n->poses[object]};
        }
    }
    return count;
}

/* ---- what stands on moved geometry ------------------------------------------------------------
 */

/* Links of which an end that is not the unit's moved, or an element did. */
bool gw_kinematics_depends_on_moved(const gw_kinematics *n, const gw_kinematic_group *u)
{
    for (int i = 0; i < u->cluster.link_count; i++) {
        const gw_constraint_edge *link = u->cluster.links[i];
        if (n->dirty[link - n->links] || n->moved[link->a] || n->moved[link->b])
            return true;
    }
    return false;
}

/* In the order of solving, so that what moves for it is seen by what comes after. */
void gw_kinematics_solve_moved(gw_kinematics *n)
{
    for (int i = 0; i < n->unit_count; i++) {
        gw_kinematic_group *u = &n->units[i];
        if (!gw_kinematics_depends_on_moved(n, u))
            continue;
        u->stale = true;
        if (u->follow != GW_OBJECT_STATIC)
            continue;
        resolve(n, u);
        u->stale = false;
        note_moved(n, u);
    }
}

static double eased(const gw_geometry_motion *w)
{
    double x = (double)w->done / w->ticks;
    return w->smooth ? 0.5 - 0.5 * cos(GW_PI * x) : x;
}

/* From a to b by the share s; directions along the great circle. */
static gw_element between_elements(const gw_element *a, const gw_element *b, double s)
{
    gw_element e = *b;
    e.p = gw_mul_add(a->p, s, gw_sub(b->p, a->p));
    if (b->kind == GW_POINT)
        return e;
    gw_quat whole = gw_quat_between(a->d, b->d);
    gw_vec3 turn = gw_quat_log(whole);
    e.d = gw_unit(gw_rotate(gw_quat_exp(gw_scale(s, turn)), a->d));
    return e;
}

static gw_pose between_poses(const gw_pose *a, const gw_pose *b, double s)
{
    gw_twist d = gw_pose_sub(b, a);
    d = (gw_twist){gw_scale(s, d.v), gw_scale(s, d.w)};
    return gw_pose_add(a, &d);
}

/* The links of a feature take its element; their rows, whatever sense the bodies have. */
void gw_kinematics_take_element(gw_kinematics *n, int feature)
{
    for (int i = 0; i < n->link_count; i++) {
        gw_constraint_edge *link = &n->links[i];
        if (n->feature[i][0] != feature && n->feature[i][1] != feature)
            continue;
        if (n->feature[i][0] == feature)
            link->stated.mobile = n->features[feature];
        if (n->feature[i][1] == feature)
            link->stated.fixed = n->features[feature];
        gw_constraint_edge_resolve(link, &n->poses[link->a], &n->poses[link->b]);
        n->dirty[i] = true;
    }
}

/* The least turn and shift that take an element from a to b. */
static gw_pose element_motion(const gw_element *a, const gw_element *b)
{
    gw_quat q = a->kind == GW_POINT ? gw_quat_identity() : gw_quat_between(a->d, b->d);
    return (gw_pose){gw_sub(b->p, gw_rotate(q, a->p)), q};
}

static gw_pose pose_motion(const gw_pose *a, const gw_pose *b)
{
    gw_pose back = gw_pose_inverse(a);
    return gw_pose_mul(b, &back);
}

static void go_on(gw_kinematics *n, gw_geometry_motion *w)
{
    double s = ++w->done >= w->ticks ? 1 : eased(w);
    bool last = w->done >= w->ticks;
    if (w->to.feature >= 0) {
        gw_element *now = &n->features[w->to.feature], was = *now;
        *now = last ? w->to.element : between_elements(&w->from.element, &w->to.element, s);
        w->motion = element_motion(&was, now);
        gw_kinematics_take_element(n, w->to.feature);
    } else {
        gw_pose *now = &n->poses[w->to.object], was = *now;
        *now = last ? w->to.pose : between_poses(&w->from.pose, &w->to.pose, s);
        w->motion = pose_motion(&was, now);
        n->moved[w->to.object] = true;
    }
    w->arrived = last;
    w->went = true;
}

bool gw_kinematics_advance(gw_kinematics *n)
{
    bool any = false;
    for (int i = 0; i < n->way_count; i++) {
        n->ways[i].went = false;
        if (n->ways[i].arrived)
            continue;
        if (!any) {
            memset(n->moved, 0, (size_t)n->object_count * sizeof *n->moved);
            memset(n->dirty, 0, (size_t)n->link_count * sizeof *n->dirty);
        }
        any = true;
        go_on(n, &n->ways[i]);
    }
    if (any)
        gw_kinematics_solve_moved(n);
    return any;
}

int gw_kinematics_moved_fixed(const gw_kinematics *n, gw_follower *moved, int capacity)
{
    int count = 0;
    for (int i = 0; i < n->way_count && count < capacity; i++)
        if (n->ways[i].to.feature < 0)
            moved[count++] = (gw_follower){n->ways[i].to.object, n->poses[n->ways[i].to.object]};
    return count;
}

bool gw_kinematics_moved(const gw_kinematics *n)
{
    return n->way_count > 0;
}

gw_element gw_kinematics_element(const gw_kinematics *n, const gw_geometry_feature *end)
{
    return end->feature >= 0 ? n->features[end->feature] : end->element;
}

gw_pose gw_kinematics_pose(const gw_kinematics *n, int object)
{
    for (int i = 0; i < n->unit_count; i++) {
        const gw_kinematic_group *u = &n->units[i];
        for (int k = 0; k < u->cluster.count && u->follow != GW_OBJECT_STATIC; k++)
            if (u->cluster.bodies[k] == object)
                return n->rest[object];
    }
    return n->poses[object];
}

/* ---- new values -------------------------------------------------------------------------------
 */

/* The way of this feature or object, an old one that has arrived, or one that is finished early. */
static gw_geometry_motion *way_of(gw_kinematics *n, const gw_moved_geometry *m)
{
    gw_geometry_motion *free_one = NULL;
    for (int i = 0; i < n->way_count; i++) {
        gw_geometry_motion *w = &n->ways[i];
        if (w->to.feature == m->feature && (m->feature >= 0 || w->to.object == m->object))
            return w;
        if (w->arrived)
            free_one = w;
    }
    if (n->way_count < GW_MAX_GEOMETRY_MOTIONS)
        free_one = &n->ways[n->way_count++];
    else if (!free_one) {
        free_one = &n->ways[0];
        free_one->done = free_one->ticks;
        go_on(n, free_one);
    }
    free_one->since = 0;
    return free_one;
}

/* How far the value goes: where the element is not its own image (m), and how far it turns. */
static void measure(const gw_moved_geometry *from, const gw_moved_geometry *to, double *way,
                    double *turn)
{
    if (to->feature < 0) {
        gw_twist d = gw_pose_sub(&to->pose, &from->pose);
        *way = gw_norm(d.v);
        *turn = gw_norm(d.w);
        return;
    }
    gw_vec3 d = gw_sub(to->element.p, from->element.p);
    const gw_element *e = &to->element;
    *turn = e->kind == GW_POINT ? 0 : gw_angle_between(from->element.d, e->d);
    *way = e->kind == GW_POINT  ? gw_norm(d)
           : e->kind == GW_LINE ? gw_norm(gw_reject(d, e->d))
                                : fabs(gw_dot(d, e->d));
}

void gw_kinematics_move(gw_kinematics *n, const gw_moved_geometry *m, uint64_t tick, int rate)
{
    const double stream_s = 0.1, speed = 0.25, spin = 1.0; /* s, m/s, rad/s */
    double way, turn;
    gw_geometry_motion *w = way_of(n, m);
    uint64_t since = w->since > 0 ? tick + 1 - w->since : UINT64_MAX;
    w->from = *m;
    if (m->feature >= 0)
        w->from.element = n->features[m->feature];
    else
        w->from.pose = n->poses[m->object];
    w->to = *m;
    measure(&w->from, m, &way, &turn);
    int least = (int)ceil(fmax(way / speed, turn / spin) * rate);
    w->smooth = since > stream_s * rate;
    w->ticks = w->smooth ? (int)ceil(0.5 * GW_PI * least) : (int)since;
    w->ticks = w->ticks > least ? w->ticks : least;
    w->ticks = w->ticks > 1 ? w->ticks : 1;
    w->done = 0;
    w->arrived = false;
    w->since = tick + 1; /* 0 stands for never */
}

/* ---- objects with a model ---------------------------------------------------------------------
 */

static gw_kinematic_group *unit_of(gw_kinematics *n, int object)
{
    for (int i = 0; i < n->unit_count; i++)
        if (has_model(&n->units[i]) && n->units[i].cluster.bodies[0] == object)
            return &n->units[i];
    return NULL;
}

int gw_kinematics_problem(gw_kinematics *n, int object, gw_constraint *constraints)
{
    gw_kinematic_group *u = unit_of(n, object);
    if (!u || !u->stale)
        return -1;
    u->stale = false;
    int count = 0;
    for (; count < u->cluster.link_count && count < GW_MAX_PROBLEM; count++) {
        const gw_constraint_edge *link = u->cluster.links[count];
        int other = link->a == object ? link->b : link->a;
        constraints[count] = gw_constraint_of_edge(link, object, &n->poses[other]);
    }
    return count;
}

/* The way that a feature, or where that is -1 an object, went in this tick. */
static const gw_geometry_motion *went(const gw_kinematics *n, int feature, int object)
{
    for (int i = 0; i < n->way_count; i++) {
        const gw_geometry_motion *w = &n->ways[i];
        if (w->went && w->to.feature == feature && (feature >= 0 || w->to.object == object))
            return w;
    }
    return NULL;
}

/* What the tick did in the world to what the link joins the object to; false: not one motion. */
static bool link_motion(const gw_kinematics *n, const gw_constraint_edge *link, int object,
                        gw_pose *motion)
{
    int own = link->a == object ? 0 : 1, other = own == 0 ? link->b : link->a;
    const int *feature = n->feature[link - n->links];
    const gw_geometry_motion *place = went(n, -1, other);
    const gw_geometry_motion *shape = feature[1 - own] >= 0 ? went(n, feature[1 - own], -1) : NULL;
    *motion = gw_pose_identity();
    if ((place && shape) || (feature[own] >= 0 && went(n, feature[own], -1)))
        return false;
    if (place)
        *motion = place->motion;
    if (shape) {
        gw_pose in_world = gw_pose_mul(&n->poses[other], &shape->motion);
        gw_pose back = gw_pose_inverse(&n->poses[other]);
        *motion = gw_pose_mul(&in_world, &back);
    }
    return true;
}

bool gw_kinematics_motion(gw_kinematics *n, int object, gw_pose *motion)
{
    const gw_kinematic_group *u = unit_of(n, object);
    for (int i = 0; u && i < u->cluster.link_count; i++) {
        gw_pose one;
        if (!link_motion(n, u->cluster.links[i], object, &one))
            return false;
        if (i == 0)
            *motion = one;
        else if (gw_pose_distance(&one, motion, 1) > SAME_MOTION)
            return false;
    }
    return u && u->cluster.link_count > 0;
}
