/*
 * Solving a scene outward from its fixed objects, in rounds: what a round learns, an object that
 * has to go before the held one or a cycle, the next one heeds. Not for use inside a tick.
 */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rt/scene/layout_work.h"

#define MOST_ROUNDS 200 /* each learns something: a bound that no scene was seen to come near */

/* ---- constraints by object ----------------------------------------------------------------- */

static bool refuse_two_hands(const gw_layout_work *w, int constraint, gw_error *error)
{
    const gw_scene_constraint *c = &w->scene->constraints[constraint];
    char where[64];
    snprintf(where, sizeof where, "/constraints/%d", constraint);
    return gw_fail(error, GW_NOT_YET, where,
                   "%s joins \"%s\" and \"%s\", which two hands would move: that comes with a "
                   "later version; hold one of them only",
                   c->id, c->a.object, c->b.object);
}

static void resolve_joint(const gw_layout_work *w, int constraint, gw_layout_edge *j)
{
    const gw_scene *s = w->scene;
    const gw_scene_constraint *c = &s->constraints[constraint];
    gw_constraint_edge *link = &j->link;
    *j = (gw_layout_edge){.index = constraint};
    link->stated = (gw_constraint){.kind = c->kind, .sense = c->sense, .value = c->value};
    link->a = gw_scene_object(s, c->a.object);
    link->b = gw_scene_object(s, c->b.object);
    gw_scene_element(s, &c->a, &link->stated.mobile);
    gw_scene_element(s, &c->b, &link->stated.fixed);
    j->feature[0] = gw_scene_feature(s, c->a.object, c->a.feature);
    j->feature[1] = gw_scene_feature(s, c->b.object, c->b.feature);
    j->length = gw_object_length(&s->objects[s->objects[link->a].fixed ? link->b : link->a]);
}

static bool resolve_joints(gw_layout_work *w, gw_error *error)
{
    gw_layout *l = w->layout;
    for (int i = 0; i < w->scene->constraint_count; i++) {
        const gw_scene_constraint *c = &w->scene->constraints[i];
        if (!c->enabled || c->bound != GW_BOUND_EQUAL)
            continue; /* one-sided ones are walls, for the loop */
        gw_layout_edge *j = &l->joints[l->joint_count++];
        resolve_joint(w, i, j);
        if (w->tool[j->link.a] >= 0 && w->tool[j->link.b] >= 0)
            return refuse_two_hands(w, i, error);
    }
    return true;
}

static bool gather(gw_layout_work *w, int object, gw_placement *p, gw_error *error)
{
    for (int i = w->first[object]; i < w->first[object + 1]; i++) {
        const gw_layout_edge *j = &w->layout->joints[w->joint_of[i]];
        int other = gw_layout_other(j, object);
        if (!w->placed[other])
            continue;
        if (p->count == GW_MAX_PROBLEM)
            return gw_fail(error, GW_TOO_LARGE, "/constraints",
                           "\"%s\" has more than %d constraints", w->scene->objects[object].id,
                           GW_MAX_PROBLEM);
        p->constraints[p->count] =
            gw_constraint_of_edge(&j->link, object, &w->layout->poses[other]);
        p->ids[p->count++] = j->index;
    }
    return true;
}

/* ---- one object ---------------------------------------------------------------------------- */

/* The branch that a tool asks for, else the nearest; -1 where there is none. */
static int choose(const gw_layout_work *w, const gw_placement *p)
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

/* True where the object could be elsewhere: along its freedoms, on another branch, or because what
 * it is joined to could. */
static bool could_move(const gw_layout_work *w, const gw_placement *p)
{
    const gw_solution *s = w->scratch;
    if (p->branch >= 0 && (s->branch_count > 1 || s->branches[p->branch].set.dof > 0))
        return true;
    for (int i = w->first[p->object]; i < w->first[p->object + 1]; i++) {
        int other = gw_layout_other(&w->layout->joints[w->joint_of[i]], p->object);
        if (w->placed[other] && w->loose[other])
            return true;
    }
    return false;
}

/* Solves one object against all that is placed, and places it. NULL with an error. */
static gw_placement *place(gw_layout_work *w, int object, gw_error *error)
{
    gw_layout *l = w->layout;
    gw_placement *p = w->draft;
    memset(p, 0, offsetof(gw_placement, constraints));
    p->object = object;
    p->tool = w->tool[object];
    p->rank = l->count;
    p->carrier = -1;
    p->cluster = w->cluster[object];
    p->length = gw_object_length(&w->scene->objects[object]);
    p->from = l->poses[object];
    if (!gather(w, object, p, error))
        return NULL;
    gw_problem problem = {p->from, p->length, p->count, p->constraints};
    gw_solve(&problem, w->scratch);
    p->branch = choose(w, p);
    if (p->branch >= 0)
        l->poses[object] = w->scratch->branches[p->branch].nearest;
    w->loose[object] = could_move(w, p);
    w->placed[object] = true;
    gw_placement *kept = keep(p, w->scratch);
    if (!kept)
        gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    else
        l->placements[l->count++] = kept;
    return kept;
}

/* No proof where the conflict is with several objects of which one could move: then it is only that
 * nothing was found. */
static void soften(const gw_layout_work *w, gw_placement *p)
{
    int frame = -2; /* of what the conflict is with: an object that may move, -1 for fixed ones */
    bool several = false;
    if (p->solution.status != GW_STATUS_INCOMPATIBLE)
        return;
    for (int i = 0; i < p->count; i++) {
        const gw_scene_constraint *c = &w->scene->constraints[p->ids[i]];
        int a = gw_scene_object(w->scene, c->a.object), b = gw_scene_object(w->scene, c->b.object);
        int other = a == p->object ? b : a;
        other = w->scene->objects[other].fixed ? -1 : other;
        if (!(p->solution.conflict.constraints >> i & 1))
            continue;
        several = several || (frame != -2 && frame != other);
        frame = other;
    }
    if (!several)
        return;
    p->solution.status = GW_STATUS_UNHANDLED;
    p->solution.left = p->count >= 64 ? ~0ul : (1ul << p->count) - 1;
    p->solution.reason = "This object is joined to several that could move; no pose of all of them "
                         "together was found from many starts, which does not prove that there is "
                         "none.";
}

/* ---- rounds -------------------------------------------------------------------------------- */

/* What a held object is joined to has to stand, or to be moved from outside: not by another hand.
 */
static bool stands(const gw_layout_work *w, int object, gw_error *error)
{
    for (int i = w->first[object]; i < w->first[object + 1] && w->tool[object] >= 0; i++) {
        const gw_layout_edge *j = &w->layout->joints[w->joint_of[i]];
        int other = gw_layout_other(j, object);
        if (w->placed[other] && w->carrier[other] >= 0)
            return refuse_two_hands(w, j->index, error);
    }
    return true;
}

/* Places the object, or the whole of its cluster. */
static bool place_next(gw_layout_work *w, int object, gw_error *error)
{
    gw_placement *placed[GW_MAX_CLUSTER];
    int count = 0, cluster = w->cluster[object];
    if (!stands(w, object, error))
        return false;
    if (cluster >= 0)
        gw_layout_solve_cluster(w, cluster);
    for (int i = 0; i < w->scene->object_count; i++) {
        if (cluster >= 0 ? w->cluster[i] != cluster : i != object)
            continue;
        placed[count] = place(w, i, error);
        if (!placed[count])
            return false;
        count++;
    }
    bool solved = true;
    for (int i = 0; i < count; i++)
        solved = solved && placed[i]->branch >= 0;
    for (int i = 0; i < count && !solved; i++)
        if (placed[i]->branch < 0 && gw_layout_learn(w, placed[i]))
            return true;
    for (int i = 0; i < count && !solved; i++)
        soften(w, placed[i]);
    if (!gw_layout_move_with(w, placed, count))
        gw_layout_learn(w, placed[0]);
    return true;
}

static void forget_round(gw_layout_work *w)
{
    const gw_scene *s = w->scene;
    gw_layout *l = w->layout;
    for (int i = 0; i < l->count; i++)
        free(l->placements[i]);
    l->count = 0;
    w->columns = 0;
    w->again = false;
    for (int i = 0; i < s->object_count; i++) {
        l->poses[i] = w->from && !s->objects[i].fixed ? w->from[i] : s->objects[i].pose;
        w->placed[i] = s->objects[i].fixed;
        w->loose[i] = false;
        w->carrier[i] = -1;
    }
    if (w->motions)
        memset(w->motions, 0, (size_t)s->object_count * sizeof *w->motions);
}

static bool place_all(gw_layout_work *w, gw_error *error)
{
    for (int round = 0; round < MOST_ROUNDS; round++) {
        forget_round(w);
        for (int object; !w->again && (object = gw_layout_next(w)) >= 0;)
            if (!place_next(w, object, error))
                return false;
        if (!w->again)
            return true;
    }
    return gw_fail(error, GW_FAILED, "/constraints", "no order to place the objects in was found");
}

static int by_object(const void *a, const void *b)
{
    const gw_placement *x = *(gw_placement *const *)a, *y = *(gw_placement *const *)b;
    return x->object - y->object;
}

static void number_clusters(gw_layout_work *w)
{
    for (int i = 0; i < w->layout->count; i++) {
        gw_placement *p = w->layout->placements[i];
        if (p->cluster >= 0)
            p->cluster_dof = gw_layout_cluster_dof(w, p->cluster);
    }
}

/* ---- the whole ----------------------------------------------------------------------------- */

static bool take_memory(gw_layout_work *w, gw_error *error)
{
    const gw_scene *s = w->scene;
    size_t n = (size_t)s->object_count + 2;
    gw_layout *l = w->layout;
    l->placements = calloc(n, sizeof(gw_placement *));
    l->poses = malloc(n * sizeof *l->poses);
    l->joints = calloc((size_t)s->constraint_count + 1, sizeof *l->joints);
    w->tool = malloc(n * sizeof *w->tool);
    w->with_hand = calloc(n, sizeof *w->with_hand);
    w->first = calloc(n, sizeof *w->first);
    w->joint_of = malloc(2 * ((size_t)s->constraint_count + 1) * sizeof *w->joint_of);
    w->ahead = calloc(n, sizeof *w->ahead);
    w->cluster = malloc(n * sizeof *w->cluster);
    w->placed = calloc(n, sizeof *w->placed);
    w->loose = calloc(n, sizeof *w->loose);
    w->carrier = malloc(n * sizeof *w->carrier);
    w->motions = s->tool_count > 0 ? malloc(n * sizeof *w->motions) : NULL;
    w->scratch = malloc(sizeof *w->scratch);
    w->draft = malloc(sizeof *w->draft);
    w->cluster_work = malloc(sizeof *w->cluster_work);
    if (!l->placements || !l->poses || !l->joints || !w->tool || !w->with_hand || !w->first ||
        !w->joint_of || !w->ahead || !w->cluster || !w->placed || !w->loose || !w->carrier ||
        (s->tool_count > 0 && !w->motions) || !w->scratch || !w->draft || !w->cluster_work)
        return gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    for (int i = 0; i < s->object_count; i++)
        w->tool[i] = w->cluster[i] = -1;
    for (int i = 0; i < s->tool_count; i++) {
        int object = gw_scene_object(s, s->tools[i].object);
        if (object >= 0) /* else it holds a mechanism, which is none of the layout's */
            w->tool[object] = i;
    }
    return true;
}

static void give_back(gw_layout_work *w)
{
    free(w->tool);
    free(w->with_hand);
    free(w->first);
    free(w->joint_of);
    free(w->ahead);
    free(w->cluster);
    free(w->placed);
    free(w->loose);
    free(w->carrier);
    free(w->motions);
    free(w->scratch);
    free(w->draft);
    free(w->cluster_work);
}

static bool lay_out(gw_layout_work *w, gw_error *error)
{
    if (!take_memory(w, error) || !resolve_joints(w, error))
        return false;
    if (!gw_layout_connect(w))
        return gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    if (!place_all(w, error))
        return false;
    for (int i = 0; i < w->layout->joint_count; i++) {
        gw_constraint_edge *link = &w->layout->joints[i].link;
        gw_constraint_edge_resolve(link, &w->layout->poses[link->a], &w->layout->poses[link->b]);
    }
    number_clusters(w);
    return true;
}

gw_layout *gw_layout_create(const gw_scene *scene, const gw_pose *poses, gw_error *error)
{
    gw_layout_work w = {.scene = scene, .from = poses, .layout = calloc(1, sizeof(gw_layout))};
    if (!w.layout) {
        gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
        return NULL;
    }
    bool ok = lay_out(&w, error);
    give_back(&w);
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

const gw_placement *gw_layout_unsolved(const gw_layout *layout)
{
    for (int i = 0; i < layout->count; i++)
        if (layout->placements[i]->branch < 0)
            return layout->placements[i];
    return NULL;
}

const gw_placement *gw_layout_placement(const gw_layout *layout, int object)
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
        const gw_layout_edge *j = &layout->joints[i];
        gw_constraint c = gw_constraint_of_edge(&j->link, j->link.a, &poses[j->link.b]);
        worst = fmax(worst, gw_constraint_residual(&c, &poses[j->link.a], j->length));
    }
    return worst;
}
