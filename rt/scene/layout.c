/*
 * Solving a scene outward from its fixed objects. Not for use inside a tick.
 */
#include "rt/scene/layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* An enabled constraint with its references resolved. */
typedef struct gw_joint {
    int index;                       /* in the scene */
    int a, b;                        /* objects */
    double length;                   /* of the one that moves (m) */
    gw_element element_a, element_b; /* in their objects' frames */
    gw_constraint_kind kind;
    gw_sense sense;
    double value;
} gw_joint;

/* What is being built. */
typedef struct work {
    const gw_scene *scene;
    gw_layout *layout;
    bool *placed; /* per object */
    int *tool;    /* per object: the tool that holds it, -1 */
    gw_solution *scratch;
} work;

/* ---- constraints by object ----------------------------------------------------------------- */

static bool resolve_joints(work *w, gw_error *error)
{
    const gw_scene *s = w->scene;
    gw_layout *l = w->layout;
    l->joints = calloc((size_t)s->constraint_count + 1, sizeof *l->joints);
    if (!l->joints)
        return gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    for (int i = 0; i < s->constraint_count; i++) {
        const gw_scene_constraint *c = &s->constraints[i];
        if (!c->enabled || c->bound != GW_BOUND_EQUAL)
            continue; /* one-sided ones are walls, for the loop */
        gw_joint *j = &l->joints[l->joint_count++];
        *j = (gw_joint){.index = i, .kind = c->kind, .sense = c->sense, .value = c->value};
        j->a = gw_scene_object(s, c->a.object);
        j->b = gw_scene_object(s, c->b.object);
        gw_scene_element(s, &c->a, &j->element_a);
        gw_scene_element(s, &c->b, &j->element_b);
        j->length = gw_object_length(&s->objects[s->objects[j->a].fixed ? j->b : j->a]);
        if (w->tool[j->a] >= 0 && w->tool[j->b] >= 0) {
            char where[64];
            snprintf(where, sizeof where, "/constraints/%d", i);
            return gw_fail(error, GW_NOT_YET, where,
                           "%s joins two held objects, \"%s\" and \"%s\": that comes with a later "
                           "version; hold one of them only",
                           c->id, c->a.object, c->b.object);
        }
    }
    return true;
}

/* The joint as a constraint on its side `mobile`, the other one standing at `pose`. */
static gw_constraint as_constraint(const gw_joint *j, int mobile, const gw_pose *pose)
{
    bool a_moves = mobile == j->a;
    const gw_element *other = a_moves ? &j->element_b : &j->element_a;
    return (gw_constraint){.kind = j->kind,
                           .sense = j->sense,
                           .value = j->value,
                           .reversed = !a_moves,
                           .mobile = a_moves ? j->element_a : j->element_b,
                           .fixed = gw_element_moved(pose, other)};
}

/* The object at the far end of the joint, -1 where `object` is at neither end. */
static int other_end(const gw_joint *j, int object)
{
    return j->a == object ? j->b : j->b == object ? j->a : -1;
}

static bool gather(work *w, int object, gw_placement *p, gw_error *error)
{
    for (int i = 0; i < w->layout->joint_count; i++) {
        const gw_joint *j = &w->layout->joints[i];
        int other = other_end(j, object);
        if (other < 0 || !w->placed[other])
            continue;
        if (p->count == GW_MAX_PROBLEM)
            return gw_fail(error, GW_TOO_LARGE, "/constraints",
                           "\"%s\" has more than %d constraints", w->scene->objects[object].id,
                           GW_MAX_PROBLEM);
        p->constraints[p->count] = as_constraint(j, object, &w->layout->poses[other]);
        p->ids[p->count++] = j->index;
    }
    return true;
}

/* ---- one object ---------------------------------------------------------------------------- */

/* The branch that a tool asks for, else the nearest; -1 where there is none. */
static int choose(const work *w, const gw_placement *p)
{
    const gw_solution *s = w->scratch;
    if (s->status != GW_SOLVED || s->branch_count == 0)
        return -1;
    const char *wanted = p->tool >= 0 ? w->scene->tools[p->tool].branch : "";
    for (int i = 0; wanted[0] && i < s->branch_count; i++)
        if (strcmp(s->branches[i].id, wanted) == 0)
            return i;
    return 0;
}

/* A placement that is long enough for the branches found. */
static gw_placement *keep(const gw_placement *p, const gw_solution *solution)
{
    size_t branches = (size_t)solution->branch_count * sizeof(gw_branch);
    size_t head = offsetof(gw_placement, solution), body = offsetof(gw_solution, branches);
    gw_placement *kept = malloc(head + body + (branches ? branches : sizeof(gw_branch)));
    if (!kept)
        return NULL;
    memcpy(kept, p, head);
    memcpy((char *)kept + head, solution, body + branches);
    return kept;
}

static bool place(work *w, int object, gw_placement *p, gw_error *error)
{
    gw_layout *l = w->layout;
    memset(p, 0, offsetof(gw_placement, constraints));
    p->object = object;
    p->tool = w->tool[object];
    p->length = gw_object_length(&w->scene->objects[object]);
    p->from = l->poses[object];
    if (!gather(w, object, p, error))
        return false;
    gw_problem problem = {p->from, p->length, p->count, p->constraints};
    gw_solve(&problem, w->scratch);
    p->branch = choose(w, p);
    if (p->branch >= 0)
        l->poses[object] = w->scratch->branches[p->branch].nearest;
    w->placed[object] = true;
    l->placements[l->count] = keep(p, w->scratch);
    if (!l->placements[l->count])
        return gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    l->count++;
    return true;
}

/* ---- the order ----------------------------------------------------------------------------- */

static bool touches_placed(const work *w, int object)
{
    for (int i = 0; i < w->layout->joint_count; i++) {
        int other = other_end(&w->layout->joints[i], object);
        if (other >= 0 && w->placed[other])
            return true;
    }
    return false;
}

/* The next object to place: one that is joined to what is placed, else the first one; held objects
 * after all others. -1 when all are placed. */
static int next_object(const work *w)
{
    for (int held = 0; held < 2; held++) {
        int first = -1;
        for (int i = 0; i < w->scene->object_count; i++) {
            if (w->placed[i] || (w->tool[i] >= 0) != (held == 1))
                continue;
            if (touches_placed(w, i))
                return i;
            if (first < 0)
                first = i;
        }
        if (first >= 0)
            return first;
    }
    return -1;
}

/* Objects that no constraint names, and no tool holds, need no order: they go first. */
static bool place_loose(work *w, gw_placement *p, gw_error *error)
{
    bool *joined = calloc((size_t)w->scene->object_count + 1, sizeof *joined);
    if (!joined)
        return gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    for (int i = 0; i < w->layout->joint_count; i++)
        joined[w->layout->joints[i].a] = joined[w->layout->joints[i].b] = true;
    bool ok = true;
    for (int i = 0; ok && i < w->scene->object_count; i++)
        if (!w->placed[i] && !joined[i] && w->tool[i] < 0)
            ok = place(w, i, p, error);
    free(joined);
    return ok;
}

static bool place_all(work *w, gw_error *error)
{
    gw_placement *p = malloc(sizeof *p);
    if (!p)
        return gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    bool ok = place_loose(w, p, error);
    for (int object; ok && (object = next_object(w)) >= 0;)
        ok = place(w, object, p, error);
    free(p);
    return ok;
}

static int by_object(const void *a, const void *b)
{
    const gw_placement *x = *(gw_placement *const *)a, *y = *(gw_placement *const *)b;
    return x->object - y->object;
}

/* ---- the whole ----------------------------------------------------------------------------- */

static bool start(work *w, const gw_pose *poses, gw_error *error)
{
    const gw_scene *s = w->scene;
    size_t n = (size_t)s->object_count + 1;
    gw_layout *l = w->layout;
    l->placements = calloc(n, sizeof(gw_placement *));
    l->poses = malloc(n * sizeof *l->poses);
    w->placed = calloc(n, sizeof *w->placed);
    w->tool = malloc(n * sizeof *w->tool);
    w->scratch = malloc(sizeof *w->scratch);
    if (!l->placements || !l->poses || !w->placed || !w->tool || !w->scratch)
        return gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    for (int i = 0; i < s->object_count; i++) {
        l->poses[i] = poses && !s->objects[i].fixed ? poses[i] : s->objects[i].pose;
        w->placed[i] = s->objects[i].fixed;
        w->tool[i] = -1;
    }
    for (int i = 0; i < s->tool_count; i++)
        w->tool[gw_scene_object(s, s->tools[i].object)] = i;
    return true;
}

gw_layout *gw_layout_create(const gw_scene *scene, const gw_pose *poses, gw_error *error)
{
    work w = {.scene = scene, .layout = calloc(1, sizeof(gw_layout))};
    if (!w.layout) {
        gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
        return NULL;
    }
    bool ok = start(&w, poses, error) && resolve_joints(&w, error) && place_all(&w, error);
    free(w.placed);
    free(w.tool);
    free(w.scratch);
    if (!ok) {
        gw_layout_destroy(w.layout);
        return NULL;
    }
    qsort(w.layout->placements, (size_t)w.layout->count, sizeof(gw_placement *), by_object);
    return w.layout;
}

void gw_layout_destroy(gw_layout *layout)
{
    if (!layout)
        return;
    for (int i = 0; i < layout->count; i++)
        free(layout->placements[i]);
    free(layout->placements);
    free(layout->poses);
    free(layout->joints);
    free(layout);
}

const gw_placement *gw_layout_problem(const gw_layout *layout)
{
    for (int i = 0; i < layout->count; i++)
        if (layout->placements[i]->branch < 0)
            return layout->placements[i];
    return NULL;
}

const gw_placement *gw_layout_of(const gw_layout *layout, int object)
{
    for (int i = 0; i < layout->count; i++)
        if (layout->placements[i]->object == object)
            return layout->placements[i];
    return NULL;
}

double gw_layout_residual(const gw_layout *layout, const gw_pose *poses)
{
    double worst = 0;
    for (int i = 0; i < layout->joint_count; i++) {
        const gw_joint *j = &layout->joints[i];
        gw_constraint c = as_constraint(j, j->a, &poses[j->b]);
        worst = fmax(worst, gw_constraint_residual(&c, &poses[j->a], j->length));
    }
    return worst;
}
