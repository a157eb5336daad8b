/*
 * Builds networks from a layout. On a server thread or in `run`, never in a tick.
 */
#include <stdlib.h>
#include <string.h>

#include "rt/sim/network_data.h"

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
    size_t objects = (size_t)scene->object_count + 1, links = (size_t)layout->joint_count + 1;
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

/* The unit's links, in the order of the layout's constraints: those with what was placed before it,
 * and among its own. */
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

/* One unit a placement; those of a cluster that are solved again share theirs. */
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
    for (int i = 0; i < layout->joint_count; i++) {
        n->links[i] = layout->joints[i].link;
        memcpy(n->feature[i], layout->joints[i].feature, sizeof n->feature[i]);
    }
    n->link_count = layout->joint_count;
}

static bool build(gw_kinematics *n, const gw_scene *scene, const gw_layout *layout, gw_error *error)
{
    const gw_placement **ordered = malloc(((size_t)layout->count + 1) * sizeof *ordered);
    int *rank = malloc(((size_t)scene->object_count + 1) * sizeof *rank);
    int used = 0;
    bool ok = ordered && rank;
    if (ok) {
        for (int i = 0; i < scene->object_count; i++)
            rank[i] = -1; /* fixed: before all */
        for (int i = 0; i < layout->count; i++)
            ordered[i] = layout->placements[i];
        make_units(n, ordered, layout->count);
        for (int i = 0; i < layout->count; i++) { /* a cluster's are of one rank */
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
    gw_kinematics *n = calloc(1, sizeof *n);
    if (!n || !take_memory(n, scene, layout)) {
        gw_kinematics_destroy(n);
        gw_fail(error, GW_FAILED, "", "no memory for the objects that follow");
        return NULL;
    }
    n->object_count = scene->object_count;
    n->feature_count = scene->feature_count;
    if (scene->object_count)
        memcpy(n->rest, layout->poses, (size_t)scene->object_count * sizeof *n->rest);
    for (int i = 0; i < scene->feature_count; i++)
        n->features[i] = n->laid_out[i] = scene->features[i].element;
    for (int i = 0; i < scene->object_count; i++)
        n->fixed[i] = scene->objects[i].fixed;
    name_all(n, scene);
    copy_links(n, layout);
    if (!build(n, scene, layout, error)) {
        gw_kinematics_destroy(n);
        return NULL;
    }
    gw_kinematics_reset(n);
    return n;
}
