/*
 * Which bodies of a scene move together: its systems, numbered by union-find over constraints,
 * joints, gears and springs. Not for use inside a tick.
 */
#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "rt/scene/scene_system.h"

static bool has_body(const gw_scene *s, int body)
{
    return body >= s->object_count ||
           (body >= 0 && !s->objects[body].fixed && !s->objects[body].massless);
}

static int root_of(int *parent, int i)
{
    while (parent[i] != i)
        i = parent[i] = parent[parent[i]];
    return i;
}

/* The enabled constraints of a body: those on distances; those on free-form shapes with bends or
 * ends; the others; whether one follows a normal or tangent. */
typedef struct bent_body {
    int distances, bent, others;
    bool follows;
} bent_body;

/* Groups by union-find; related: the group is a system, also if it is connected to ground alone;
 * joined: it has relations that the layout does not solve. */
typedef struct grouping {
    const gw_scene *scene;
    int *parent;
    bool *related, *joined;
    bent_body *bent; /* of each body */
} grouping;

/* Joins two objects by a relation; alone: the relation makes a system even with a fixed object. */
static void relate_objects(grouping *g, int a, int b, bool alone)
{
    bool has_a = has_body(g->scene, a), has_b = has_body(g->scene, b);
    if (has_a && has_b && a != b) {
        int x = root_of(g->parent, a), y = root_of(g->parent, b);
        g->parent[x] = y;
        g->related[y] = true;
        g->joined[y] |= g->joined[x] || alone;
    } else if (has_a || has_b) {
        int moves = has_a ? a : b;
        bool link = moves >= g->scene->object_count;
        bool follower =
            gw_scene_body_is_massless(g->scene, a) || gw_scene_body_is_massless(g->scene, b);
        int root = root_of(g->parent, moves);
        if ((alone || link) && !follower) /* a link has no submanifold of its own to move on */
            g->related[root] = g->joined[root] = true;
    }
}

/* A body that moves by a geared joint, -1: none does. */
static int moving_end(const gw_scene *s, const gw_geared *side)
{
    if (side->joint < 0)
        return s->object_count + gw_scene_first_joint(s, side->mechanism) + side->link;
    int a = gw_scene_body_number(s, s->joints[side->joint].a.object);
    int b = gw_scene_body_number(s, s->joints[side->joint].b.object);
    return has_body(s, a) ? a : has_body(s, b) ? b : -1;
}

/* Links of one mechanism move together: they are a system by themselves. */
static void relate_links(grouping *g)
{
    const gw_scene *s = g->scene;
    for (int i = 0; i < s->mechanism_count; i++) {
        int first = s->object_count + gw_scene_first_joint(s, i);
        for (int k = 1; k < s->mechanisms[i].link_count; k++)
            g->parent[root_of(g->parent, first + k)] = root_of(g->parent, first);
        g->related[root_of(g->parent, first)] = true;
    }
}

/* An object that several tools hold moves as a system: each has a held frame of its own. */
static void relate_held(grouping *g)
{
    const gw_scene *s = g->scene;
    for (int i = 0; i < s->tool_count; i++) {
        int held = gw_scene_object(s, s->tools[i].object);
        if (has_body(s, held) && gw_scene_tools_at(s, held) > 1)
            g->related[root_of(g->parent, held)] = true;
    }
}

/* True if the body moves only through its relations. */
static bool moves_with_others(const gw_scene *s, int body)
{
    if (!gw_scene_body_is_object(s, body) || !has_body(s, body) || s->objects[body].free)
        return false;
    for (int i = 0; i < s->tool_count; i++)
        if (gw_scene_object(s, s->tools[i].object) == body)
            return false;
    return true;
}

/* True if the body's set has no closed form and its substeps are to end at bends and ends, as those
 * of closures do (rt/dynamics/system_kinks.c). */
static bool is_general_on_bends(const grouping *g, int body)
{
    const bent_body *b = body >= 0 ? &g->bent[body] : NULL;
    return b && b->bent > 0 && (b->distances > 1 || (b->follows && b->others > 0));
}

/* A bound joins two bodies only if one of them moves only through its relations. */
static void relate_bound(grouping *g, const gw_scene_constraint *c)
{
    int a = gw_scene_body_number(g->scene, c->a.object);
    int b = gw_scene_body_number(g->scene, c->b.object);
    if (has_body(g->scene, a) && has_body(g->scene, b) &&
        (moves_with_others(g->scene, a) || moves_with_others(g->scene, b)))
        relate_objects(g, a, b, false);
}

/* True if a feature is a free-form shape with bends, or a smooth one with ends. */
static bool is_bent(const gw_scene *s, const gw_feature_ref *ref)
{
    gw_element e;
    if (!gw_scene_element(s, ref, &e) || !e.nurbs)
        return false;
    bool bends = false, kinks = false, ends = false;
    for (int k = 0; k < e.nurbs->dimension; k++) {
        const gw_nurbs_direction *d = &e.nurbs->direction[k];
        bends = bends || d->bend_count > 0;
        kinks = kinks || d->kink_count > 0;
        ends = ends || !d->closed;
    }
    return bends || (ends && !kinks);
}

static void count_bent(const gw_scene *s, bent_body *of_body)
{
    for (int i = 0; i < s->constraint_count; i++) {
        const gw_scene_constraint *c = &s->constraints[i];
        if (!c->enabled || c->bound != GW_BOUND_EQUAL || !gw_constraint_is_positional(c->kind))
            continue;
        bool bent = is_bent(s, &c->a) || is_bent(s, &c->b);
        const char *const ends[] = {c->a.object, c->b.object};
        for (int k = 0; k < 2; k++) {
            int body = gw_scene_body_number(s, ends[k]);
            if (!has_body(s, body))
                continue;
            of_body[body].distances += gw_constraint_has_distance(c->kind);
            of_body[body].bent += bent;
            of_body[body].others += !bent;
            of_body[body].follows |= c->kind == GW_NORMAL || c->kind == GW_TANGENT;
        }
    }
}

static void relate_all(grouping *g)
{
    const gw_scene *s = g->scene;
    relate_links(g);
    relate_held(g);
    count_bent(s, g->bent);
    for (int i = 0; i < s->constraint_count; i++) {
        const gw_scene_constraint *c = &s->constraints[i];
        if (c->enabled && c->bound != GW_BOUND_EQUAL)
            relate_bound(g, c);
        else if (c->enabled) {
            int a = gw_scene_body_number(s, c->a.object);
            int b = gw_scene_body_number(s, c->b.object);
            bool alone = !gw_constraint_is_positional(c->kind) || is_general_on_bends(g, a) ||
                         is_general_on_bends(g, b);
            relate_objects(g, a, b, alone);
        }
    }
    for (int i = 0; i < s->joint_count; i++) {
        const gw_scene_joint *j = &s->joints[i];
        if (j->enabled && !j->gear)
            relate_objects(g, gw_scene_body_number(s, j->a.object),
                           gw_scene_body_number(s, j->b.object), true);
    }
    for (int i = 0; i < s->joint_count; i++) { /* a gear joins what its joints join */
        gw_geared side[2];
        if (!s->joints[i].gear || !s->joints[i].enabled ||
            !gw_scene_geared(s, i, 0, &side[0], NULL) || !gw_scene_geared(s, i, 1, &side[1], NULL))
            continue;
        int a = moving_end(s, &side[0]), b = moving_end(s, &side[1]);
        if (a >= 0 && b >= 0)
            relate_objects(g, a, b, true);
    }
    for (int i = 0; i < s->spring_count; i++) {
        const gw_scene_spring *k = &s->springs[i];
        if (k->enabled)
            relate_objects(g, gw_scene_body_number(s, k->a.object),
                           gw_scene_body_number(s, k->b.object), true);
    }
}

int gw_scene_number_systems(const gw_scene *s, bool standing, int *of_body)
{
    assert(s && of_body);
    int bodies = gw_scene_body_count(s), count = 0;
    size_t n = (size_t)bodies + 1;
    grouping g = {s, malloc(n * sizeof *g.parent), calloc(n, sizeof *g.related),
                  calloc(n, sizeof *g.joined), calloc(n, sizeof *g.bent)};
    bool *moves = calloc(n, sizeof *moves);
    int *number = malloc(n * sizeof *number);
    bool memory = g.parent && g.related && g.joined && g.bent && moves && number;
    for (int i = 0; memory && i < bodies; i++)
        g.parent[i] = i, number[i] = -1;
    if (memory)
        relate_all(&g);
    for (int i = 0; memory && i < bodies; i++)
        moves[root_of(g.parent, i)] |=
            i >= s->object_count || (s->objects[i].free && has_body(s, i));
    for (int i = 0; memory && i < s->tool_count; i++) {
        int held = gw_scene_object(s, s->tools[i].object);
        if (has_body(s, held))
            moves[root_of(g.parent, held)] = true;
    }
    for (int i = 0; memory && i < bodies; i++) {
        int root = root_of(g.parent, i);
        of_body[i] = -1;
        if (!has_body(s, i) || moves[root] == standing || !g.related[root] ||
            (standing && !g.joined[root]))
            continue;
        if (number[root] < 0)
            number[root] = count++;
        of_body[i] = number[root];
    }
    free(g.parent);
    free(g.related);
    free(g.joined);
    free(g.bent);
    free(moves);
    free(number);
    return memory ? count : -1;
}

double gw_scene_system_length(const gw_scene *s, const int *of_body, int number,
                              const gw_pose *poses)
{
    assert(s && of_body && poses);
    gw_vec3 middle = {0, 0, 0};
    double length = 0;
    int count = 0;
    for (int i = 0; i < gw_scene_body_count(s); i++)
        if (of_body[i] == number)
            middle = gw_add(middle, poses[i].p), count++;
    middle = gw_scale(1.0 / count, middle);
    for (int i = 0; i < gw_scene_body_count(s); i++)
        if (of_body[i] == number)
            length = fmax(length, gw_distance(poses[i].p, middle) + gw_scene_body_length(s, i));
    return length;
}
