/*
 * Kinematics of a scene: geometry that is moved from outside, objects that depend on it, and
 * followers, which are carried by a held object or solved by continuation from their pose in the
 * last tick. On the loop's thread, RT safe, except for create and destroy.
 */
#include "rt/sim/kinematics.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_A_TICK 12
#define FOLLOWED     1e-9  /* of a group's size: largest residual of a solved pose */
#define SAME_MOTION  1e-12 /* m: motions in a tick that differ by less are equal */
#define MAX_MOTIONS  64    /* simultaneous motions; a further one completes one of them at once */

/* Objects that are solved together: one, or those of a cluster without a held object. */
typedef struct gw_kinematic_group {
    gw_object_motion follow;
    gw_cluster cluster; /* its links belong to the network */
    gw_pose carrier_from_object;
    int carrier; /* GW_OBJECT_CARRIED */
    bool stale;  /* geometry that it depends on has moved */
} gw_kinematic_group;

/* The motion of a feature or object to a new value. */
typedef struct gw_geometry_motion {
    gw_moved_geometry from, to;
    bool smooth; /* from rest to rest; else at constant speed */
    int ticks, done;
    uint64_t since; /* tick of the newest value */
    bool arrived;
    bool went;      /* it moved in this tick, */
    gw_pose motion; /* by this: of the element in its object, or of the object in the world */
} gw_geometry_motion;

struct gw_kinematics {
    int object_count, body_count, feature_count; /* bodies: objects, then links */
    gw_pose *poses, *rest;                       /* per object: displayed, and as laid out */
    bool *moved;                                 /* per object: moved in this tick */
    bool *displaced;                             /* per object: moved since the layout */
    bool *fixed;                                 /* per object */
    uint64_t *names;                 /* per object, then per stated feature: hashes of their ids */
    gw_element *features, *laid_out; /* per stated feature: now, and as laid out */
    int link_count;
    gw_constraint_edge *links;
    int (*feature)[2]; /* per link: a's and b's stated feature, -1 */
    bool *dirty;       /* per link: its elements moved in this tick */
    int unit_count;
    gw_kinematic_group *units;         /* in the order of solving */
    const gw_constraint_edge **linked; /* the groups' lists of links */
    gw_pose *saved; /* per object: pose before followers were solved in this tick */
    gw_cluster_work *work;
    int motion_count;
    gw_geometry_motion motions[MAX_MOTIONS];
};

void gw_kinematics_set_held(gw_kinematics *n, int object, const gw_pose *world_from_object)
{
    assert(object >= 0);
    n->poses[object] = *world_from_object;
}

/* True for a held or free object, whose pose is that of its model. */
static bool has_model(const gw_kinematic_group *u)
{
    return u->follow == GW_OBJECT_HELD || u->follow == GW_OBJECT_FREE;
}

/* ---- one unit -------------------------------------------------------------------------------- */

static bool solve_group(gw_kinematics *n, gw_kinematic_group *u)
{
    return gw_cluster_project(&u->cluster, STEPS_A_TICK, n->poses, n->work) <= FOLLOWED;
}

static void mark_moved(gw_kinematics *n, const gw_kinematic_group *u)
{
    for (int i = 0; i < u->cluster.count; i++)
        n->moved[u->cluster.bodies[i]] = n->displaced[u->cluster.bodies[i]] = true;
}

/* Moves a carried object with its carrier; if its own constraints moved it is solved once and
 * carried from there. */
static bool carry_group(gw_kinematics *n, gw_kinematic_group *u)
{
    gw_pose *object = &n->poses[u->cluster.bodies[0]];
    *object = gw_pose_mul(&n->poses[u->carrier], &u->carrier_from_object);
    if (!u->stale)
        return true;
    bool solved = solve_group(n, u);
    gw_pose carrier_from_world = gw_pose_inverse(&n->poses[u->carrier]);
    u->carrier_from_object = gw_pose_mul(&carrier_from_world, object);
    return solved;
}

static void save_placements(gw_kinematics *n)
{
    for (int i = 0; i < n->unit_count; i++)
        for (int k = 0; k < n->units[i].cluster.count; k++) {
            int object = n->units[i].cluster.bodies[k];
            n->saved[object] = n->poses[object];
        }
}

static void restore_placements(gw_kinematics *n)
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
    save_placements(n);
    for (int i = 0; i < n->unit_count; i++) {
        gw_kinematic_group *u = &n->units[i];
        if (u->follow == GW_OBJECT_CARRIED)
            followed = carry_group(n, u) && followed;
        else if (u->follow == GW_OBJECT_SOLVED)
            followed = solve_group(n, u) && followed;
        else
            continue;
        u->stale = false;
        mark_moved(n, u);
    }
    if (!followed && !forced)
        restore_placements(n);
    return followed;
}

int gw_kinematics_followers(const gw_kinematics *n, gw_follower *followers, int capacity)
{
    assert(n && capacity >= 0 && (capacity == 0 || followers));
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

/* True if a link's other end, or one of its elements, moved. */
static bool depends_on_moved(const gw_kinematics *n, const gw_kinematic_group *u)
{
    for (int i = 0; i < u->cluster.link_count; i++) {
        const gw_constraint_edge *link = u->cluster.links[i];
        if (n->dirty[link - n->links] || n->moved[link->a] || n->moved[link->b])
            return true;
    }
    return false;
}

/* Solves groups in order, so that later ones use the new poses of earlier ones. */
static void solve_moved(gw_kinematics *n)
{
    for (int i = 0; i < n->unit_count; i++) {
        gw_kinematic_group *u = &n->units[i];
        if (!depends_on_moved(n, u))
            continue;
        u->stale = true;
        if (u->follow != GW_OBJECT_STATIC)
            continue;
        solve_group(n, u);
        u->stale = false;
        mark_moved(n, u);
    }
}

static double eased_fraction(const gw_geometry_motion *w)
{
    double x = (double)w->done / w->ticks;
    return w->smooth ? 0.5 - 0.5 * cos(GW_PI * x) : x;
}

/* Interpolates from a to b by the share s; directions along the great circle. */
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

/* Copies a feature's element to its links and updates their rows. */
static void take_element(gw_kinematics *n, int feature)
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

void gw_kinematics_reset(gw_kinematics *n)
{
    size_t count = (size_t)n->body_count;
    memcpy(n->poses, n->rest, count * sizeof *n->poses);
    memset(n->moved, 0, count * sizeof *n->moved);
    memset(n->displaced, 0, count * sizeof *n->displaced);
    for (int i = 0; i < n->unit_count; i++)
        n->units[i].stale = false;
    for (int i = 0; i < n->feature_count && n->motion_count > 0; i++) {
        n->features[i] = n->laid_out[i];
        take_element(n, i);
    }
    n->motion_count = 0;
}

/* The smallest rotation and translation that take an element from a to b. */
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

static void advance_motion(gw_kinematics *n, gw_geometry_motion *w)
{
    double s = ++w->done >= w->ticks ? 1 : eased_fraction(w);
    bool last = w->done >= w->ticks;
    if (w->to.feature >= 0) {
        gw_element *now = &n->features[w->to.feature], was = *now;
        *now = last ? w->to.element : between_elements(&w->from.element, &w->to.element, s);
        w->motion = element_motion(&was, now);
        take_element(n, w->to.feature);
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
    for (int i = 0; i < n->motion_count; i++) {
        n->motions[i].went = false;
        if (n->motions[i].arrived)
            continue;
        if (!any) {
            memset(n->moved, 0, (size_t)n->body_count * sizeof *n->moved);
            memset(n->dirty, 0, (size_t)n->link_count * sizeof *n->dirty);
        }
        any = true;
        advance_motion(n, &n->motions[i]);
    }
    if (any)
        solve_moved(n);
    return any;
}

int gw_kinematics_moved_fixed(const gw_kinematics *n, gw_follower *moved, int capacity)
{
    int count = 0;
    for (int i = 0; i < n->motion_count && count < capacity; i++)
        if (n->motions[i].to.feature < 0)
            moved[count++] =
                (gw_follower){n->motions[i].to.object, n->poses[n->motions[i].to.object]};
    return count;
}

bool gw_kinematics_moved(const gw_kinematics *n)
{
    return n->motion_count > 0;
}

gw_element gw_kinematics_element(const gw_kinematics *n, const gw_geometry_feature *end)
{
    return end->feature >= 0 ? n->features[end->feature] : end->element;
}

gw_pose gw_kinematics_pose(const gw_kinematics *n, int object)
{
    assert(object >= 0);
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

/* The slot of this feature's or object's motion, that of a completed one, or one that is completed
 * at once. */
static gw_geometry_motion *motion_slot(gw_kinematics *n, const gw_moved_geometry *m)
{
    gw_geometry_motion *free_one = NULL;
    for (int i = 0; i < n->motion_count; i++) {
        gw_geometry_motion *w = &n->motions[i];
        if (w->to.feature == m->feature && (m->feature >= 0 || w->to.object == m->object))
            return w;
        if (w->arrived)
            free_one = w;
    }
    if (n->motion_count < MAX_MOTIONS)
        free_one = &n->motions[n->motion_count++];
    else if (!free_one) {
        free_one = &n->motions[0];
        free_one->done = free_one->ticks;
        advance_motion(n, free_one);
    }
    free_one->since = 0;
    return free_one;
}

/* The size of a displacement: translation that is no symmetry of the element (m), and rotation
 * (rad). */
static void measure_displacement(const gw_moved_geometry *from, const gw_moved_geometry *to,
                                 double *distance, double *turn)
{
    if (to->feature < 0) {
        gw_twist d = gw_pose_sub(&to->pose, &from->pose);
        *distance = gw_norm(d.v);
        *turn = gw_norm(d.w);
        return;
    }
    gw_vec3 d = gw_sub(to->element.p, from->element.p);
    const gw_element *e = &to->element;
    *turn = e->kind == GW_POINT ? 0 : gw_angle_between(from->element.d, e->d);
    *distance = e->kind == GW_POINT  ? gw_norm(d)
                : e->kind == GW_LINE ? gw_norm(gw_reject(d, e->d))
                                     : fabs(gw_dot(d, e->d));
}

void gw_kinematics_move(gw_kinematics *n, const gw_moved_geometry *m, uint64_t tick, int rate)
{
    assert(m->feature < n->feature_count && (m->feature >= 0 || m->object >= 0) &&
           m->object < n->object_count && rate > 0);
    const double stream_s = 0.1, speed = 0.25, spin = 1.0; /* s, m/s, rad/s */
    double distance, turn;
    gw_geometry_motion *w = motion_slot(n, m);
    uint64_t since = w->since > 0 ? tick + 1 - w->since : UINT64_MAX;
    w->from = *m;
    if (m->feature >= 0)
        w->from.element = n->features[m->feature];
    else
        w->from.pose = n->poses[m->object];
    w->to = *m;
    measure_displacement(&w->from, m, &distance, &turn);
    int least = (int)ceil(fmax(distance / speed, turn / spin) * rate);
    w->smooth = since > stream_s * rate;
    w->ticks = w->smooth ? (int)ceil(0.5 * GW_PI * least) : (int)since;
    w->ticks = w->ticks > least ? w->ticks : least;
    w->ticks = w->ticks > 1 ? w->ticks : 1;
    w->done = 0;
    w->arrived = false;
    w->since = tick + 1; /* 0 means never */
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

/* Displacement in this tick of a feature or, where that is -1, of an object. */
static const gw_geometry_motion *motion_in_tick(const gw_kinematics *n, int feature, int object)
{
    for (int i = 0; i < n->motion_count; i++) {
        const gw_geometry_motion *w = &n->motions[i];
        if (w->went && w->to.feature == feature && (feature >= 0 || w->to.object == object))
            return w;
    }
    return NULL;
}

/* Motion (world) in this tick of the geometry at the link's other end; false: not a single rigid
 * motion. */
static bool link_motion(const gw_kinematics *n, const gw_constraint_edge *link, int object,
                        gw_pose *motion)
{
    int own = link->a == object ? 0 : 1, other = own == 0 ? link->b : link->a;
    const int *feature = n->feature[link - n->links];
    const gw_geometry_motion *moved = motion_in_tick(n, -1, other);
    const gw_geometry_motion *shape =
        feature[1 - own] >= 0 ? motion_in_tick(n, feature[1 - own], -1) : NULL;
    *motion = gw_pose_identity();
    if ((moved && shape) || (feature[own] >= 0 && motion_in_tick(n, feature[own], -1)))
        return false;
    if (moved)
        *motion = moved->motion;
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

/* ---- change of scenario --- */

/* Index of a name, `guess` first; -1: none. */
static int find_by_name(const uint64_t *names, int count, uint64_t name, int guess)
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
    return find_by_name(old->names, old->object_count, n->names[object], object);
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

/* Continues a motion to the same value, else begins a new one. `feature`, `object`: indices in the
 * old network. */
static void continue_motion(gw_kinematics *n, const gw_kinematics *old, int feature, int object,
                            const gw_moved_geometry *to, uint64_t tick, int rate)
{
    for (int i = 0; i < old->motion_count; i++) {
        const gw_geometry_motion *w = &old->motions[i];
        if (w->arrived || w->to.feature != feature || (feature < 0 && w->to.object != object) ||
            !same_goal(&w->to, to))
            continue;
        gw_geometry_motion *on = &n->motions[n->motion_count++];
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
    continue_motion(n, old, -1, was, &to, tick, rate);
}

static void carry_feature(gw_kinematics *n, const gw_kinematics *old, int feature, uint64_t tick,
                          int rate)
{
    const gw_element *now = &n->laid_out[feature];
    int was = find_by_name(old->names + old->object_count, old->feature_count,
                           n->names[n->object_count + feature], feature);
    if (was < 0 || old->features[was].kind != now->kind || same_element(&old->features[was], now))
        return;
    gw_moved_geometry to = {.feature = feature, .object = -1, .element = *now};
    n->features[feature] = old->features[was];
    take_element(n, feature);
    continue_motion(n, old, was, -1, &to, tick, rate);
}

/* Dependent objects begin at their present poses. */
static void carry_base_frames(gw_kinematics *n, const gw_kinematics *old)
{
    for (int i = 0; i < n->unit_count; i++) {
        const gw_kinematic_group *u = &n->units[i];
        if (u->follow != GW_OBJECT_STATIC || !depends_on_moved(n, u))
            continue;
        for (int k = 0; k < u->cluster.count; k++) {
            int object = u->cluster.bodies[k], was = object_before(n, old, object);
            if (was >= 0)
                n->poses[object] = old->poses[was];
            n->moved[object] = true;
        }
    }
}

void gw_kinematics_rename(gw_kinematics *n, const gw_new_names *names)
{
    assert(n && names);
    gw_name_table_give(&names->bodies, n->names, n->object_count + n->feature_count);
}

void gw_kinematics_carry_over(gw_kinematics *n, const gw_kinematics *old, uint64_t tick, int rate)
{
    assert(n && old && rate > 0);
    memset(n->moved, 0, (size_t)n->body_count * sizeof *n->moved);
    memset(n->dirty, 0, (size_t)n->link_count * sizeof *n->dirty);
    for (int i = 0; i < n->object_count && n->motion_count < MAX_MOTIONS; i++)
        carry_object(n, old, i, tick, rate);
    for (int i = 0; i < n->feature_count && n->motion_count < MAX_MOTIONS; i++)
        carry_feature(n, old, i, tick, rate);
    if (n->motion_count == 0)
        return;
    carry_base_frames(n, old);
    solve_moved(n);
}

/* ---- create and destroy --- */

void gw_kinematics_destroy(gw_kinematics *n)
{
    if (!n)
        return;
    free(n->poses);
    free(n->rest);
    free(n->moved);
    free(n->displaced);
    free(n->fixed);
    free(n->names);
    free(n->features);
    free(n->laid_out);
    free(n->links);
    free(n->feature);
    free(n->dirty);
    free(n->units);
    free(n->linked);
    free(n->saved);
    free(n->work);
    free(n);
}

static bool take_memory(gw_kinematics *n, const gw_scene *scene, const gw_layout *layout)
{
    size_t objects = (size_t)gw_scene_body_count(scene) + 1, links = (size_t)layout->edge_count + 1;
    size_t features = (size_t)scene->feature_count + 1;
    n->poses = malloc(objects * sizeof *n->poses);
    n->rest = malloc(objects * sizeof *n->rest);
    n->moved = calloc(objects, sizeof *n->moved);
    n->displaced = calloc(objects, sizeof *n->displaced);
    n->fixed = calloc(objects, sizeof *n->fixed);
    n->names = calloc(objects + features, sizeof *n->names);
    n->features = malloc(features * sizeof *n->features);
    n->laid_out = malloc(features * sizeof *n->laid_out);
    n->links = malloc(links * sizeof *n->links);
    n->feature = malloc(links * sizeof *n->feature);
    n->dirty = calloc(links, sizeof *n->dirty);
    n->units = calloc((size_t)layout->count + 1, sizeof *n->units);
    n->linked = malloc(2 * links * sizeof *n->linked);
    n->saved = malloc(objects * sizeof *n->saved);
    n->work = calloc(1, sizeof *n->work);
    return n->poses && n->rest && n->moved && n->displaced && n->fixed && n->names && n->features &&
           n->laid_out && n->links && n->feature && n->dirty && n->units && n->linked && n->saved &&
           n->work;
}

/* ---- units ----------------------------------------------------------------------------------- */

static bool has_body(const gw_kinematic_group *u, int object)
{
    for (int i = 0; i < u->cluster.count; i++)
        if (u->cluster.bodies[i] == object)
            return true;
    return false;
}

/* The group's links in the order of the layout's constraints: those to objects solved before it,
 * and within the group. */
static void link_unit(gw_kinematics *n, const int *rank, gw_kinematic_group *u, int *used)
{
    int own = rank[u->cluster.bodies[0]], count = 0;
    const gw_constraint_edge **list = n->linked + *used;
    for (int i = 0; i < n->link_count; i++) {
        const gw_constraint_edge *link = &n->links[i];
        bool a = has_body(u, link->a), b = has_body(u, link->b);
        if ((a && rank[link->b] <= own) || (b && rank[link->a] <= own))
            list[count++] = link;
    }
    u->cluster.links = list;
    u->cluster.link_count = count;
    u->cluster.size = gw_cluster_size(&u->cluster, n->rest);
    *used += count;
}

static void add_unit(gw_kinematics *n, const gw_placement *p)
{
    gw_kinematic_group *u = &n->units[n->unit_count++];
    *u = (gw_kinematic_group){.follow = p->follow, .carrier = p->carrier};
    u->cluster.bodies[u->cluster.count++] = p->object;
    if (p->follow != GW_OBJECT_CARRIED)
        return;
    gw_pose carrier_from_world = gw_pose_inverse(&n->rest[p->carrier]);
    u->carrier_from_object = gw_pose_mul(&carrier_from_world, &n->rest[p->object]);
}

static int by_rank(const void *a, const void *b)
{
    return (*(const gw_placement *const *)a)->rank - (*(const gw_placement *const *)b)->rank;
}

/* One group per placement; objects of a cluster that is solved together share one. */
static void make_units(gw_kinematics *n, const gw_placement **ordered, int count)
{
    qsort(ordered, (size_t)count, sizeof *ordered, by_rank);
    for (int i = 0; i < count; i++) {
        const gw_placement *p = ordered[i];
        gw_kinematic_group *last = n->unit_count > 0 ? &n->units[n->unit_count - 1] : NULL;
        const gw_placement *before = i > 0 ? ordered[i - 1] : NULL;
        bool together = before && p->cluster >= 0 && before->cluster == p->cluster &&
                        before->follow == p->follow &&
                        (p->follow == GW_OBJECT_SOLVED || p->follow == GW_OBJECT_STATIC);
        if (together && last->cluster.count < GW_MAX_CLUSTER)
            last->cluster.bodies[last->cluster.count++] = p->object;
        else if (p->count > 0 || (p->follow != GW_OBJECT_STATIC && p->follow != GW_OBJECT_FREE))
            add_unit(n, p);
    }
}

static void copy_links(gw_kinematics *n, const gw_layout *layout)
{
    for (int i = 0; i < layout->edge_count; i++) {
        n->links[i] = layout->edges[i].edge;
        memcpy(n->feature[i], layout->edges[i].feature, sizeof n->feature[i]);
    }
    n->link_count = layout->edge_count;
}

static bool build_groups(gw_kinematics *n, const gw_layout *layout, gw_error *error)
{
    const gw_placement **ordered = malloc(((size_t)layout->count + 1) * sizeof *ordered);
    int *rank = malloc(((size_t)n->body_count + 1) * sizeof *rank);
    int used = 0;
    bool ok = ordered && rank;
    if (ok) {
        for (int i = 0; i < n->body_count; i++)
            rank[i] = -1; /* fixed, or a link: before all */
        for (int i = 0; i < layout->count; i++)
            ordered[i] = layout->placements[i];
        make_units(n, ordered, layout->count);
        for (int i = 0; i < layout->count; i++) { /* objects of a cluster have the same rank */
            bool same =
                i > 0 && ordered[i]->cluster >= 0 && ordered[i]->cluster == ordered[i - 1]->cluster;
            rank[ordered[i]->object] = same ? rank[ordered[i - 1]->object] : ordered[i]->rank;
        }
        for (int i = 0; i < n->unit_count; i++)
            link_unit(n, rank, &n->units[i], &used);
    }
    free(ordered);
    free(rank);
    return ok || gw_fail(error, GW_FAILED, "", "no memory for the objects that follow");
}

static void name_all(gw_kinematics *n, const gw_scene *scene)
{
    for (int i = 0; i < scene->object_count; i++)
        n->names[i] = gw_name_hash(scene->objects[i].id, 0);
    for (int i = 0; i < scene->feature_count; i++) {
        const gw_feature *f = &scene->features[i];
        n->names[scene->object_count + i] = gw_name_hash(f->name, gw_name_hash(f->object, 0));
    }
}

gw_kinematics *gw_kinematics_create(const gw_scene *scene, const gw_layout *layout, gw_error *error)
{
    assert(scene && layout);
    gw_kinematics *n = calloc(1, sizeof *n);
    if (!n || !take_memory(n, scene, layout)) {
        gw_kinematics_destroy(n);
        gw_fail(error, GW_FAILED, "", "no memory for the objects that follow");
        return NULL;
    }
    n->object_count = scene->object_count;
    n->body_count = gw_scene_body_count(scene);
    n->feature_count = scene->feature_count;
    if (n->body_count)
        memcpy(n->rest, layout->poses, (size_t)n->body_count * sizeof *n->rest);
    for (int i = 0; i < scene->feature_count; i++)
        n->features[i] = n->laid_out[i] = scene->features[i].element;
    for (int i = 0; i < scene->object_count; i++)
        n->fixed[i] = scene->objects[i].fixed;
    name_all(n, scene);
    copy_links(n, layout);
    if (!build_groups(n, layout, error)) {
        gw_kinematics_destroy(n);
        return NULL;
    }
    gw_kinematics_reset(n);
    return n;
}
