/*
 * What moves when a hand moves, cycles that are solved as a whole, and what the layout learns from
 * an object that finds no pose. One server thread.
 */
#include <string.h>

#include "rt/scene/layout_work.h"

#define CLUSTER_STEPS  60
#define CLUSTER_STARTS 40
#define SOLVED         1e-11 /* of a cluster's size */
#define CANNOT_FOLLOW  1e-6  /* of the motion that is asked for */

/* ---- links of a cluster ---------------------------------------------------------------------- */

typedef struct links {
    int count;
    const gw_constraint_edge *of[GW_MAX_CLUSTER * GW_MAX_PROBLEM];
} links;

/* The joints of these objects with what is placed; each once. */
static void collect(const gw_layout_work *w, const int *objects, int count, links *out)
{
    out->count = 0;
    for (int i = 0; i < count; i++)
        for (int j = w->first[objects[i]]; j < w->first[objects[i] + 1]; j++) {
            const gw_layout_edge *joint = &w->layout->joints[w->joint_of[j]];
            bool seen = !w->placed[gw_layout_other(joint, objects[i])];
            for (int k = 0; k < out->count && !seen; k++)
                seen = out->of[k] == &joint->link;
            if (!seen && out->count < GW_MAX_CLUSTER * GW_MAX_PROBLEM)
                out->of[out->count++] = &joint->link;
        }
}

static gw_cluster cluster_of(const gw_layout_work *w, const int *objects, int count, const links *l)
{
    gw_cluster c = {.count = count, .link_count = l->count, .links = l->of};
    memcpy(c.bodies, objects, (size_t)count * sizeof *objects);
    c.size = gw_cluster_size(&c, w->layout->poses);
    return c;
}

/* ---- solving a cluster ----------------------------------------------------------------------- */

static int members_of(const gw_layout_work *w, int cluster, int *objects)
{
    int count = 0;
    for (int i = 0; i < w->scene->object_count && count < GW_MAX_CLUSTER; i++)
        if (w->cluster[i] == cluster)
            objects[count++] = i;
    return count;
}

static double uniform(unsigned long long *s)
{
    *s = *s * 6364136223846793005ull + 1442695040888963407ull;
    return (double)(*s >> 11) / 4503599627370496.0 - 1; /* -1 .. 1 */
}

/* Start number `k`: where the objects are, then farther and farther away, turned about as well. */
static void set_start(gw_layout_work *w, const gw_cluster *c, const gw_pose *now, int k,
                      unsigned long long *random)
{
    double reach = k == 0 ? 0 : (0.1 + 0.1 * (k % 10));
    for (int i = 0; i < c->count; i++) {
        gw_twist d;
        gw_vec3 v = {uniform(random), uniform(random), uniform(random)};
        gw_vec3 turn = {uniform(random), uniform(random), uniform(random)};
        d.v = gw_scale(reach * c->size, v);
        d.w = gw_scale(reach * GW_PI, turn);
        w->layout->poses[c->bodies[i]] = gw_pose_add(&now[i], &d);
    }
}

/* The rows take the senses that the poses have: an open sense is settled by where it starts. */
static void resolve_links(const gw_layout_work *w, const gw_cluster *c)
{
    for (int i = 0; i < w->layout->joint_count; i++) {
        gw_constraint_edge *link = &w->layout->joints[i].link;
        for (int k = 0; k < c->count; k++)
            if (link->a == c->bodies[k] || link->b == c->bodies[k]) {
                gw_constraint_edge_resolve(link, &w->layout->poses[link->a],
                                           &w->layout->poses[link->b]);
                break;
            }
    }
}

bool gw_layout_solve_cluster(gw_layout_work *w, int cluster)
{
    int objects[GW_MAX_CLUSTER], count = members_of(w, cluster, objects);
    gw_pose now[GW_MAX_CLUSTER];
    links l;
    unsigned long long random = 1;
    for (int i = 0; i < count; i++) {
        w->placed[objects[i]] = true;
        now[i] = w->layout->poses[objects[i]];
    }
    collect(w, objects, count, &l);
    gw_cluster c = cluster_of(w, objects, count, &l);
    for (int k = 0; k < CLUSTER_STARTS; k++) {
        set_start(w, &c, now, k, &random);
        resolve_links(w, &c);
        if (gw_cluster_project(&c, CLUSTER_STEPS, w->layout->poses, w->cluster_work) <= SOLVED)
            return true;
    }
    for (int i = 0; i < count; i++)
        w->layout->poses[objects[i]] = now[i];
    return false;
}

int gw_layout_cluster_dof(const gw_layout_work *w, int cluster)
{
    int objects[GW_MAX_CLUSTER], count = members_of(w, cluster, objects);
    links l;
    collect(w, objects, count, &l);
    gw_cluster c = cluster_of(w, objects, count, &l);
    return gw_cluster_dof(&c, w->layout->poses, w->cluster_work);
}

/* ---- motion ---------------------------------------------------------------------------------- */

static bool in(const gw_placement *const *placements, int count, int object)
{
    for (int i = 0; i < count; i++)
        if (placements[i]->object == object)
            return true;
    return false;
}

/* What moves the objects from outside: -1 nothing, -2 more than one thing, else the one carrier
 * that all their joints lead to. */
static int moved_by(const gw_layout_work *w, const gw_placement *const *p, int count)
{
    int carrier = -3;
    bool moves = false;
    for (int i = 0; i < count; i++)
        for (int j = w->first[p[i]->object]; j < w->first[p[i]->object + 1]; j++) {
            int other = gw_layout_other(&w->layout->joints[w->joint_of[j]], p[i]->object);
            if (!w->placed[other] || in(p, count, other))
                continue;
            moves = moves || w->carrier[other] >= 0;
            carrier = carrier == -3 || carrier == w->carrier[other] ? w->carrier[other] : -2;
        }
    return moves ? carrier : -1;
}

/* The object moves as one with its carrier: v + w x arm. */
static void ride(gw_layout_work *w, int object, int carrier)
{
    gw_vec3 arm = gw_sub(w->layout->poses[object].p, w->layout->poses[carrier].p);
    for (int k = 0; w->motions && k < w->columns; k++) {
        const double *m = w->motions[carrier][k];
        double *to = w->motions[object][k];
        gw_vec3 turn = {m[3], m[4], m[5]}, v = gw_cross(turn, arm);
        memcpy(to, m, 6 * sizeof *to);
        to[0] += v.x, to[1] += v.y, to[2] += v.z;
    }
}

static void hold(gw_layout_work *w, gw_placement *p)
{
    p->follow = GW_OBJECT_HELD;
    w->carrier[p->object] = p->object;
    if (p->branch < 0)
        return;
    const gw_submanifold *set = &p->solution.branches[p->branch].set;
    double basis[6][6];
    gw_submanifold_tangent(set, &w->layout->poses[p->object], p->length, basis);
    for (int k = 0; k < set->dof && w->columns < GW_MAX_MOTION; k++)
        memcpy(w->motions[p->object][w->columns++], basis[k], sizeof basis[k]);
}

/* Objects between several things that move, or between those and what stands. */
static bool resolve(gw_layout_work *w, gw_placement *const *p, int count)
{
    int objects[GW_MAX_CLUSTER];
    links l;
    for (int i = 0; i < count; i++) {
        objects[i] = p[i]->object;
        p[i]->follow = GW_OBJECT_SOLVED;
        w->carrier[p[i]->object] = p[i]->object;
    }
    collect(w, objects, count, &l);
    gw_cluster c = cluster_of(w, objects, count, &l);
    resolve_links(w, &c);
    return gw_cluster_jacobian(&c, w->layout->poses, w->columns, w->motions, w->cluster_work) <=
           CANNOT_FOLLOW;
}

bool gw_layout_move_with(gw_layout_work *w, gw_placement *const *p, int count)
{
    gw_placement *free_ones[GW_MAX_CLUSTER];
    int free_count = 0;
    for (int i = 0; i < count; i++)
        if (p[i]->tool >= 0)
            hold(w, p[i]);
        else
            free_ones[free_count++] = p[i];
    int by = moved_by(w, (const gw_placement *const *)free_ones, free_count);
    if (by == -2)
        return resolve(w, free_ones, free_count);
    for (int i = 0; i < free_count; i++) {
        bool roams = w->scene->objects[free_ones[i]->object].free;
        free_ones[i]->follow = by >= 0 ? GW_OBJECT_CARRIED
                               : roams ? GW_OBJECT_FREE
                                       : GW_OBJECT_STATIC;
        free_ones[i]->carrier = by;
        w->carrier[free_ones[i]->object] = by;
        if (by >= 0)
            ride(w, free_ones[i]->object, by);
    }
    return true;
}

/* ---- what to do otherwise -------------------------------------------------------------------- */

/* Gives `object`, and the cluster that it was in, to `cluster`. */
static void take_in(gw_layout_work *w, int object, int cluster)
{
    int was = w->cluster[object];
    w->cluster[object] = cluster;
    for (int i = 0; i < w->scene->object_count && was >= 0; i++)
        if (w->cluster[i] == was)
            w->cluster[i] = cluster;
}

/* Takes neighbours that could be elsewhere into the cluster; false where there are none, or too
 * many. */
static bool grow(gw_layout_work *w, int cluster, bool held_too)
{
    int objects[GW_MAX_CLUSTER], count = members_of(w, cluster, objects), more = 0;
    for (int i = 0; i < count; i++)
        for (int j = w->first[objects[i]]; j < w->first[objects[i] + 1]; j++) {
            int other = gw_layout_other(&w->layout->joints[w->joint_of[j]], objects[i]);
            if (w->cluster[other] == cluster || !w->placed[other] || !w->loose[other])
                continue;
            if (w->tool[other] >= 0 && !held_too)
                continue;
            if (count + ++more > GW_MAX_CLUSTER)
                return false;
            take_in(w, other, cluster);
        }
    return more > 0;
}

/* True where one of them can be placed before what is held. */
static bool send_ahead(gw_layout_work *w, const int *objects, int count)
{
    bool learnt = false;
    for (int i = 0; i < count; i++) {
        learnt = learnt || (w->with_hand[objects[i]] && !w->ahead[objects[i]]);
        w->ahead[objects[i]] = true;
    }
    return learnt;
}

bool gw_layout_learn(gw_layout_work *w, const gw_placement *p)
{
    int objects[GW_MAX_CLUSTER], count;
    if (w->cluster[p->object] < 0)
        w->cluster[p->object] = w->cluster_count++;
    int cluster = w->cluster[p->object];
    w->again = true;
    if (p->tool < 0 && grow(w, cluster, false))
        return true;
    count = members_of(w, cluster, objects);
    if (p->tool < 0 && send_ahead(w, objects, count)) {
        for (int i = 0; i < count; i++)
            w->cluster[objects[i]] = -1;
        return true;
    }
    if (p->branch < 0 && grow(w, cluster, true))
        return true;
    w->again = false;
    if (count == 1)
        w->cluster[p->object] = -1;
    return false;
}
