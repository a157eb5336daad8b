/*
 * The layout: a scene solved outward from its fixed objects along the constraint graph. Not for use
 * inside a tick.
 *
 * Objects are the vertices, enabled two-sided constraints the edges. A round places one object
 * after the other relative to the placed ones (a spanning tree from the fixed objects outward). If
 * an object finds no pose, or cannot follow the hands, the round records a change of plan: a loop
 * is solved as one cluster, or an object is placed before a held one. The next round starts anew
 * with these changes.
 */
#include "rt/scene/layout.h"

#include "rt/scene/assembly.h"
#include "rt/scene/joined_followers.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_ROUNDS      200 /* each learns something: a bound that no scene was seen to come near */
#define CLUSTER_STEPS   60  /* of Levenberg-Marquardt, from each start */
#define CLUSTER_STARTS  40
#define ASSEMBLY_STARTS 16
#define SOLVED          1e-11 /* residual, of a cluster's size */
#define CANNOT_FOLLOW   1e-6  /* residual rate, of the motion that is asked for */

typedef struct builder {
    const gw_scene *scene;
    const gw_pose *from; /* present poses of the objects, NULL: those of the scene */
    gw_pose *assembled;  /* poses where all relations hold together, NULL: not needed */
    gw_layout *layout;
    const gw_layout_known *known; /* never NULL */

    /* per object */
    int *asked;      /* the tool that holds it, whose branch it takes, -1 */
    int *tool;       /* the same of objects that are in no system of bodies */
    bool *with_hand; /* connected to a held object through movable objects; for massless objects: to
                        any body with a model */
    int *first;      /* of its edges in `edge_of`; one more entry closes the list */
    int *edge_of;    /* indices of edges, object by object */

    /* per object, learnt from one round to the next */
    bool *ahead;  /* is placed before held objects, since it cannot follow them */
    int *cluster; /* the cluster that it is solved in, -1 */
    int cluster_count;

    /* per object, in a round */
    bool *placed;
    bool *loose;                 /* has freedoms or branches, or depends on an object that has */
    int *carrier;                /* the object that it moves rigidly with, -1: it does not move */
    gw_body_jacobian *jacobians; /* by the freedoms of the held objects */
    int columns;
    bool again; /* something was learnt: start a new round */

    gw_solution *scratch;
    gw_placement *draft;
    gw_cluster_work *cluster_work;
} builder;

/* ---- the constraint graph ------------------------------------------------------------------- */

/* The object at the other end of an edge of `object`. */
static int other_end(const gw_layout_edge *e, int object)
{
    return e->edge.a == object ? e->edge.b : e->edge.a;
}

/* Fills the lists of edges by object; false when memory is short. */
static bool list_edges(builder *w)
{
    const gw_layout *l = w->layout;
    int objects = gw_scene_body_count(w->scene);
    int *next = calloc((size_t)objects + 1, sizeof *next);
    if (!next)
        return false;
    for (int i = 0; i < l->edge_count; i++) {
        w->first[l->edges[i].edge.a + 1]++;
        w->first[l->edges[i].edge.b + 1]++;
    }
    for (int i = 0; i < objects; i++) {
        w->first[i + 1] += w->first[i];
        next[i] = w->first[i];
    }
    for (int i = 0; i < l->edge_count; i++) {
        w->edge_of[next[l->edges[i].edge.a]++] = i;
        w->edge_of[next[l->edges[i].edge.b]++] = i;
    }
    free(next);
    return true;
}

/* Marks the objects reached from queue[0 .. count) through movable objects, or through massless
 * ones only. */
static void mark_from(builder *w, int *queue, int count, bool massless)
{
    for (int k = 0; k < count; k++)
        for (int j = w->first[queue[k]]; j < w->first[queue[k] + 1]; j++) {
            int other = other_end(&w->layout->edges[w->edge_of[j]], queue[k]);
            const gw_object *o = other < w->scene->object_count ? &w->scene->objects[other] : NULL;
            if (w->with_hand[other] || !o || o->fixed || (massless && !o->massless))
                continue;
            w->with_hand[other] = true;
            queue[count++] = other;
        }
}

/* Marks objects connected to held ones, and massless ones connected to any body with a model. */
static bool mark_with_hand(builder *w)
{
    int objects = w->scene->object_count, count = 0;
    int bodies = gw_scene_body_count(w->scene);
    int *queue = malloc((size_t)(objects + bodies + 1) * sizeof *queue);
    if (!queue)
        return false;
    for (int i = 0; i < objects; i++)
        if (w->tool[i] >= 0) {
            w->with_hand[i] = true;
            queue[count++] = i;
        }
    mark_from(w, queue, count, false);
    count = 0;
    for (int i = 0; i < bodies; i++)
        if (i >= objects || (w->scene->objects[i].free && w->tool[i] < 0) ||
            w->layout->system_of[i] >= 0)
            queue[count++] = i;
    mark_from(w, queue, count, true);
    free(queue);
    return true;
}

/* ---- order of placing ----------------------------------------------------------------------- */

/* True where a neighbour is placed. */
static bool has_placed_neighbour(const builder *w, int object)
{
    for (int j = w->first[object]; j < w->first[object + 1]; j++)
        if (w->placed[other_end(&w->layout->edges[w->edge_of[j]], object)])
            return true;
    return false;
}

/* True if the object is b, the fixed part, of all its constraints. */
static bool always_b(const builder *w, int object)
{
    for (int j = w->first[object]; j < w->first[object + 1]; j++)
        if (w->layout->edges[w->edge_of[j]].edge.b != object)
            return false;
    return w->first[object] < w->first[object + 1];
}

/*
 * Rank of an object, smallest first. Objects with a placed neighbour: those that no hand moves, or
 * that cannot follow one; held objects; objects that follow them. If no object has a placed
 * neighbour, one becomes the ground: an object without a hand; in a group with a hand, the held
 * object if it is b of all its constraints, else another one.
 */
static int placing_order(const builder *w, int object)
{
    bool held = w->tool[object] >= 0;
    if (w->first[object] == w->first[object + 1] && !held)
        return 0; /* needs no order */
    if (has_placed_neighbour(w, object))
        return held ? 2 : w->with_hand[object] && !w->ahead[object] ? 3 : 1;
    if (!held)
        return w->with_hand[object] ? 6 : 4;
    return always_b(w, object) ? 5 : 7;
}

/* The next object to place, -1 when all are. */
static int next_object(const builder *w)
{
    int best = -1, least = 8;
    for (int i = 0; i < w->scene->object_count && least > 0; i++) {
        int u = w->placed[i] ? 8 : placing_order(w, i);
        if (u < least)
            best = i, least = u;
    }
    return best;
}

/* ---- edges ---------------------------------------------------------------------------------- */

static bool refuse_two_hands(const builder *w, int constraint, gw_error *error)
{
    const gw_scene_constraint *c = &w->scene->constraints[constraint];
    char where[64];
    snprintf(where, sizeof where, "/constraints/%d", constraint);
    return gw_fail(error, GW_NOT_YET, where,
                   "%s joins \"%s\" and \"%s\", which two hands would move: that comes with a "
                   "later version; hold one of them only",
                   c->id, c->a.object, c->b.object);
}

static void resolve_edge(const builder *w, int constraint, gw_layout_edge *e)
{
    const gw_scene *s = w->scene;
    const gw_scene_constraint *c = &s->constraints[constraint];
    gw_constraint_edge *edge = &e->edge;
    *e = (gw_layout_edge){.index = constraint};
    edge->stated = (gw_constraint){.kind = c->kind, .sense = c->sense, .value = c->value};
    edge->a = gw_scene_body_number(s, c->a.object);
    edge->b = gw_scene_body_number(s, c->b.object);
    gw_scene_element(s, &c->a, &edge->stated.mobile);
    gw_scene_element(s, &c->b, &edge->stated.fixed);
    e->feature[0] = gw_scene_feature(s, c->a.object, c->a.feature);
    e->feature[1] = gw_scene_feature(s, c->b.object, c->b.feature);
    bool a_moves = edge->a >= s->object_count || !s->objects[edge->a].fixed;
    e->length = gw_scene_body_length(s, a_moves ? edge->a : edge->b);
}

static bool collect_constraints(builder *w, gw_error *error)
{
    gw_layout *l = w->layout;
    for (int i = 0; i < w->scene->constraint_count; i++) {
        const gw_scene_constraint *c = &w->scene->constraints[i];
        if (!c->enabled || c->bound != GW_BOUND_EQUAL || !gw_constraint_is_positional(c->kind))
            continue; /* unilateral ones are the loop's, velocity constraints the systems' */
        gw_layout_edge *e = &l->edges[l->edge_count++];
        resolve_edge(w, i, e);
        if (w->tool[e->edge.a] >= 0 && w->tool[e->edge.b] >= 0) /* links have none here */
            return refuse_two_hands(w, i, error);
    }
    return true;
}

/* ---- clusters: objects of a loop, solved together ------------------------------------------- */

typedef struct edge_list {
    int count;
    const gw_constraint_edge *of[GW_MAX_CLUSTER * GW_MAX_PROBLEM];
} edge_list;

/* The edges of these objects to placed ones, each once. */
static void collect_edges(const builder *w, const int *objects, int count, edge_list *out)
{
    out->count = 0;
    for (int i = 0; i < count; i++)
        for (int j = w->first[objects[i]]; j < w->first[objects[i] + 1]; j++) {
            const gw_layout_edge *e = &w->layout->edges[w->edge_of[j]];
            bool seen = !w->placed[other_end(e, objects[i])];
            for (int k = 0; k < out->count && !seen; k++)
                seen = out->of[k] == &e->edge;
            if (!seen && out->count < GW_MAX_CLUSTER * GW_MAX_PROBLEM)
                out->of[out->count++] = &e->edge;
        }
}

static gw_cluster cluster_of(const builder *w, const int *objects, int count, const edge_list *l)
{
    gw_cluster c = {.count = count, .link_count = l->count, .links = l->of};
    memcpy(c.bodies, objects, (size_t)count * sizeof *objects);
    c.size = gw_cluster_size(&c, w->layout->poses);
    return c;
}

static int members_of(const builder *w, int cluster, int *objects)
{
    int count = 0;
    for (int i = 0; i < w->scene->object_count && count < GW_MAX_CLUSTER; i++)
        if (w->cluster[i] == cluster)
            objects[count++] = i;
    return count;
}

/* Determines the rows of the cluster's edges; an open sense becomes that of the poses. */
static void resolve_edges(const builder *w, const gw_cluster *c)
{
    for (int i = 0; i < w->layout->edge_count; i++) {
        gw_constraint_edge *link = &w->layout->edges[i].edge;
        for (int k = 0; k < c->count; k++)
            if (link->a == c->bodies[k] || link->b == c->bodies[k]) {
                gw_constraint_edge_resolve(link, &w->layout->poses[link->a],
                                           &w->layout->poses[link->b]);
                break;
            }
    }
}

/* Places all objects of a cluster together; false where no common pose was found. */
static bool solve_cluster(builder *w, int cluster)
{
    int objects[GW_MAX_CLUSTER], count = members_of(w, cluster, objects);
    gw_pose now[GW_MAX_CLUSTER];
    edge_list l;
    unsigned long long random = 1;
    for (int i = 0; i < count; i++) {
        w->placed[objects[i]] = true;
        now[i] = w->layout->poses[objects[i]];
    }
    collect_edges(w, objects, count, &l);
    gw_cluster c = cluster_of(w, objects, count, &l);
    for (int k = 0; k < CLUSTER_STARTS; k++) {
        gw_cluster_scatter(&c, now, k, &random, w->layout->poses);
        resolve_edges(w, &c);
        if (gw_cluster_project(&c, CLUSTER_STEPS, w->layout->poses, w->cluster_work) <= SOLVED)
            return true;
    }
    for (int i = 0; i < count; i++)
        w->layout->poses[objects[i]] = now[i];
    return false;
}

/* Freedoms of the cluster while all other objects are fixed. */
static int cluster_dof(const builder *w, int cluster)
{
    int objects[GW_MAX_CLUSTER], count = members_of(w, cluster, objects);
    edge_list l;
    collect_edges(w, objects, count, &l);
    gw_cluster c = cluster_of(w, objects, count, &l);
    return gw_cluster_dof(&c, w->layout->poses, w->cluster_work);
}

/* ---- motion with the hands ------------------------------------------------------------------ */

static bool contains_object(const gw_placement *const *placements, int count, int object)
{
    for (int i = 0; i < count; i++)
        if (placements[i]->object == object)
            return true;
    return false;
}

/* The moving body outside the objects p to which all their edges lead; -1: none, -2: several. */
static int moved_by(const builder *w, const gw_placement *const *p, int count)
{
    int carrier = -3;
    bool moves = false;
    for (int i = 0; i < count; i++)
        for (int j = w->first[p[i]->object]; j < w->first[p[i]->object + 1]; j++) {
            int other = other_end(&w->layout->edges[w->edge_of[j]], p[i]->object);
            if (!w->placed[other] || contains_object(p, count, other))
                continue;
            moves = moves || w->carrier[other] >= 0;
            carrier = carrier == -3 || carrier == w->carrier[other] ? w->carrier[other] : -2;
        }
    return moves ? carrier : -1;
}

/* The object moves rigidly with its carrier: v + w x arm. */
static void move_with_carrier(builder *w, int object, int carrier)
{
    gw_vec3 arm = gw_sub(w->layout->poses[object].p, w->layout->poses[carrier].p);
    for (int k = 0; k < w->columns; k++) {
        const double *m = w->jacobians[carrier][k];
        double *to = w->jacobians[object][k];
        gw_vec3 turn = {m[3], m[4], m[5]}, v = gw_cross(turn, arm);
        memcpy(to, m, 6 * sizeof *to);
        to[0] += v.x, to[1] += v.y, to[2] += v.z;
    }
}

/* Adds the freedoms of a held object as columns of all Jacobians. */
static void add_held_freedoms(builder *w, gw_placement *p)
{
    p->follow = GW_OBJECT_HELD;
    w->carrier[p->object] = p->object;
    if (p->branch < 0)
        return;
    const gw_submanifold *set = &p->solution.branches[p->branch].set;
    double basis[6][6];
    gw_submanifold_tangent(set, &w->layout->poses[p->object], p->length, basis);
    for (int k = 0; k < set->dof && w->columns < GW_MAX_MOTION; k++)
        memcpy(w->jacobians[p->object][w->columns++], basis[k], sizeof basis[k]);
}

/* Objects between several moving ones, or between moving and fixed ones; false where they cannot
 * follow. */
static bool solve_motion(builder *w, gw_placement *const *p, int count)
{
    int objects[GW_MAX_CLUSTER];
    edge_list l;
    for (int i = 0; i < count; i++) {
        objects[i] = p[i]->object;
        p[i]->follow = GW_OBJECT_SOLVED;
        w->carrier[p[i]->object] = p[i]->object;
    }
    collect_edges(w, objects, count, &l);
    gw_cluster c = cluster_of(w, objects, count, &l);
    resolve_edges(w, &c);
    return gw_cluster_jacobian(&c, w->layout->poses, w->columns, w->jacobians, w->cluster_work) <=
           CANNOT_FOLLOW;
}

/* Sets `follow` and `carrier` of the placed objects p (one, or a cluster's). False if they cannot
 * follow the hands in every direction. */
static bool enter_motion(builder *w, gw_placement *const *p, int count)
{
    gw_placement *free_ones[GW_MAX_CLUSTER];
    int free_count = 0;
    for (int i = 0; i < count; i++)
        if (w->layout->system_of[p[i]->object] >= 0) {
            p[i]->follow = GW_OBJECT_FREE;
            w->carrier[p[i]->object] = p[i]->object;
        } else if (p[i]->tool >= 0)
            add_held_freedoms(w, p[i]);
        else
            free_ones[free_count++] = p[i];
    if (free_count == 0)
        return true;
    int by = moved_by(w, (const gw_placement *const *)free_ones, free_count);
    if (by == -2)
        return solve_motion(w, free_ones, free_count);
    for (int i = 0; i < free_count; i++) {
        bool roams = w->scene->objects[free_ones[i]->object].free;
        free_ones[i]->follow = by >= 0 ? GW_OBJECT_CARRIED
                               : roams ? GW_OBJECT_FREE
                                       : GW_OBJECT_STATIC;
        free_ones[i]->carrier = by;
        w->carrier[free_ones[i]->object] = by < 0 && roams ? free_ones[i]->object : by;
        if (by >= 0)
            move_with_carrier(w, free_ones[i]->object, by);
    }
    return true;
}

/* ---- learning from an object without a pose ------------------------------------------------- */

/* Moves `object`, and the cluster that it was in, into `cluster`. */
static void join_cluster(builder *w, int object, int cluster)
{
    int was = w->cluster[object];
    w->cluster[object] = cluster;
    for (int i = 0; i < w->scene->object_count && was >= 0; i++)
        if (w->cluster[i] == was)
            w->cluster[i] = cluster;
}

/* Adds loose neighbours to the cluster; false if there are none, or too many. */
static bool grow_cluster(builder *w, int cluster, bool held_too)
{
    int objects[GW_MAX_CLUSTER], count = members_of(w, cluster, objects), more = 0;
    for (int i = 0; i < count; i++)
        for (int j = w->first[objects[i]]; j < w->first[objects[i] + 1]; j++) {
            int other = other_end(&w->layout->edges[w->edge_of[j]], objects[i]);
            if (w->cluster[other] == cluster || !w->placed[other] || !w->loose[other] ||
                other >= w->scene->object_count)
                continue;
            if (w->tool[other] >= 0 && !held_too)
                continue;
            if (count + ++more > GW_MAX_CLUSTER)
                return false;
            join_cluster(w, other, cluster);
        }
    return more > 0;
}

/* Marks the objects to be placed before held ones; true if this is new for one of them. */
static bool place_ahead(builder *w, const int *objects, int count)
{
    bool learnt = false;
    for (int i = 0; i < count; i++) {
        learnt = learnt || (w->with_hand[objects[i]] && !w->ahead[objects[i]]);
        w->ahead[objects[i]] = true;
    }
    return learnt;
}

/* For an object without a pose, or that cannot follow: changes clusters or order and requests
 * another round; false if nothing is left to try. */
static bool retry_with_clusters(builder *w, const gw_placement *p)
{
    int objects[GW_MAX_CLUSTER], count;
    if (w->cluster[p->object] < 0)
        w->cluster[p->object] = w->cluster_count++;
    int cluster = w->cluster[p->object];
    w->again = true;
    if (p->tool < 0 && grow_cluster(w, cluster, false))
        return true;
    count = members_of(w, cluster, objects);
    if (p->tool < 0 && place_ahead(w, objects, count)) {
        for (int i = 0; i < count; i++)
            w->cluster[objects[i]] = -1;
        return true;
    }
    if (p->branch < 0 && grow_cluster(w, cluster, true))
        return true;
    w->again = false;
    if (count == 1)
        w->cluster[p->object] = -1;
    return false;
}

/* ---- one object ----------------------------------------------------------------------------- */

/* The constraints of an object with its placed neighbours. */
static bool gather_constraints(builder *w, int object, gw_placement *p, gw_error *error)
{
    for (int i = w->first[object]; i < w->first[object + 1]; i++) {
        const gw_layout_edge *e = &w->layout->edges[w->edge_of[i]];
        int other = other_end(e, object);
        if (!w->placed[other])
            continue;
        if (p->count == GW_MAX_PROBLEM)
            return gw_fail(error, GW_TOO_LARGE, "/constraints",
                           "\"%s\" has more than %d constraints", w->scene->objects[object].id,
                           GW_MAX_PROBLEM);
        p->constraints[p->count] =
            gw_constraint_of_edge(&e->edge, object, &w->layout->poses[other]);
        p->ids[p->count++] = e->index;
    }
    return true;
}

/* The branch that a tool asks for, else the nearest; -1 where there is none. */
static int choose_branch(const builder *w, const gw_placement *p)
{
    const gw_solution *s = w->scratch;
    if (s->status != GW_SOLVED || s->branch_count == 0)
        return -1;
    int tool = w->asked[p->object];
    const char *wanted = tool >= 0 ? w->scene->tools[tool].branch : "";
    for (int i = 0; wanted[0] && i < s->branch_count; i++)
        if (strcmp(s->branches[i].id, wanted) == 0)
            return i;
    return 0;
}

/* A heap copy of the placement, sized for the branches found. */
static gw_placement *keep_placement(const gw_placement *p, const gw_solution *solution)
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

/* True if the object has freedoms or other branches, or a neighbour is loose. */
static bool is_loose(const builder *w, const gw_placement *p)
{
    const gw_solution *s = w->scratch;
    if (p->branch >= 0 && (s->branch_count > 1 || s->branches[p->branch].set.dof > 0))
        return true;
    for (int i = w->first[p->object]; i < w->first[p->object + 1]; i++) {
        int other = other_end(&w->layout->edges[w->edge_of[i]], p->object);
        if (w->placed[other] && w->loose[other])
            return true;
    }
    return false;
}

/* Takes over the solution of the known layout if the problem is the same, of which alone the
 * solution is a function. */
static bool reuse_known_solution(const builder *w, const gw_placement *p)
{
    const gw_layout *known = w->known->layout;
    const gw_placement *k = known ? gw_layout_placement(known, p->object) : NULL;
    if (!k || k->count != p->count || k->length != p->length ||
        memcmp(&k->from, &p->from, sizeof p->from) != 0 ||
        memcmp(k->constraints, p->constraints, (size_t)p->count * sizeof *p->constraints) != 0)
        return false;
    size_t branches = (size_t)k->solution.branch_count * sizeof(gw_branch);
    memcpy(w->scratch, &k->solution, offsetof(gw_solution, branches) + branches);
    return true;
}

/* Solves one object against its placed neighbours, and places it. NULL with an error. */
static gw_placement *place_object(builder *w, int object, gw_error *error)
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
    if (!gather_constraints(w, object, p, error))
        return NULL;
    gw_problem problem = {p->from, p->length, p->count, p->constraints};
    p->reused = reuse_known_solution(w, p);
    if (!p->reused)
        gw_solve(&problem, w->scratch);
    p->branch = choose_branch(w, p);
    if (p->branch >= 0)
        l->poses[object] = w->scratch->branches[p->branch].nearest;
    w->loose[object] = is_loose(w, p);
    w->placed[object] = true;
    gw_placement *kept = keep_placement(p, w->scratch);
    if (!kept)
        gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    else
        l->placements[l->count++] = kept;
    return kept;
}

/* A conflict with several objects of which one may move is no proof: incompatible becomes
 * unhandled. */
static void weaken_conflict(const builder *w, gw_placement *p)
{
    int frame = -2; /* the object that may move with which the conflict is, -1 for fixed ones */
    bool several = false;
    if (p->solution.status != GW_STATUS_INCOMPATIBLE)
        return;
    for (int i = 0; i < p->count; i++) {
        const gw_scene_constraint *c = &w->scene->constraints[p->ids[i]];
        int a = gw_scene_body_number(w->scene, c->a.object);
        int b = gw_scene_body_number(w->scene, c->b.object), other = a == p->object ? b : a;
        bool fixed = other < w->scene->object_count && w->scene->objects[other].fixed;
        other = fixed ? -1 : other;
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

/* ---- rounds --------------------------------------------------------------------------------- */

/* A held object must not be connected to an object that another hand moves. */
static bool moved_by_one_hand(const builder *w, int object, gw_error *error)
{
    for (int i = w->first[object]; i < w->first[object + 1] && w->tool[object] >= 0; i++) {
        const gw_layout_edge *e = &w->layout->edges[w->edge_of[i]];
        int other = other_end(e, object);
        if (w->placed[other] && w->carrier[other] >= 0)
            return refuse_two_hands(w, e->index, error);
    }
    return true;
}

/* Places the object, or the whole of its cluster. */
static bool place_next(builder *w, int object, gw_error *error)
{
    gw_placement *placed[GW_MAX_CLUSTER];
    int count = 0, cluster = w->cluster[object];
    if (!moved_by_one_hand(w, object, error))
        return false;
    if (cluster >= 0)
        solve_cluster(w, cluster);
    for (int i = 0; i < w->scene->object_count; i++) {
        if (cluster >= 0 ? w->cluster[i] != cluster : i != object)
            continue;
        placed[count] = place_object(w, i, error);
        if (!placed[count])
            return false;
        count++;
    }
    bool solved = true;
    for (int i = 0; i < count; i++)
        solved = solved && placed[i]->branch >= 0;
    for (int i = 0; i < count && !solved; i++)
        if (placed[i]->branch < 0 && retry_with_clusters(w, placed[i]))
            return true;
    for (int i = 0; i < count && !solved; i++)
        weaken_conflict(w, placed[i]);
    if (!enter_motion(w, placed, count))
        retry_with_clusters(w, placed[0]);
    return true;
}

static void begin_round(builder *w)
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
    for (int i = 0; i < s->mechanism_count; i++)
        gw_mechanism_poses(&s->mechanisms[i], NULL,
                           l->poses + s->object_count + gw_scene_first_joint(s, i));
    for (int i = s->object_count; i < gw_scene_body_count(s); i++) {
        w->placed[i] = w->loose[i] = true; /* links move, and are placed as the scene says */
        w->carrier[i] = i;
    }
    memset(w->jacobians, 0, (size_t)gw_scene_body_count(s) * sizeof *w->jacobians);
}

static bool place_all(builder *w, gw_error *error)
{
    for (int round = 0; round < MAX_ROUNDS; round++) {
        begin_round(w);
        for (int object; !w->again && (object = next_object(w)) >= 0;)
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

static void count_cluster_freedoms(builder *w)
{
    for (int i = 0; i < w->layout->count; i++) {
        gw_placement *p = w->layout->placements[i];
        if (p->cluster >= 0)
            p->cluster_dof = cluster_dof(w, p->cluster);
    }
}

/* ---- the whole scene ------------------------------------------------------------------------ */

static bool take_memory(builder *w, gw_error *error)
{
    const gw_scene *s = w->scene;
    size_t n = (size_t)gw_scene_body_count(s) + 2;
    gw_layout *l = w->layout;
    l->placements = calloc(n, sizeof(gw_placement *));
    l->poses = malloc(n * sizeof *l->poses);
    l->edges = calloc((size_t)s->constraint_count + 1, sizeof *l->edges);
    l->system_of = malloc(n * sizeof *l->system_of);
    w->asked = malloc(n * sizeof *w->asked);
    w->tool = malloc(n * sizeof *w->tool);
    w->with_hand = calloc(n, sizeof *w->with_hand);
    w->first = calloc(n, sizeof *w->first);
    w->edge_of = malloc(2 * ((size_t)s->constraint_count + 1) * sizeof *w->edge_of);
    w->ahead = calloc(n, sizeof *w->ahead);
    w->cluster = malloc(n * sizeof *w->cluster);
    w->placed = calloc(n, sizeof *w->placed);
    w->loose = calloc(n, sizeof *w->loose);
    w->carrier = malloc(n * sizeof *w->carrier);
    w->jacobians = malloc(n * sizeof *w->jacobians);
    w->scratch = malloc(sizeof *w->scratch);
    w->draft = malloc(sizeof *w->draft);
    w->cluster_work = malloc(sizeof *w->cluster_work);
    if (!l->placements || !l->poses || !l->edges || !w->tool || !w->with_hand || !w->first ||
        !w->edge_of || !w->ahead || !w->cluster || !w->placed || !w->loose || !w->carrier ||
        !w->jacobians || !l->system_of || !w->asked || !w->scratch || !w->draft || !w->cluster_work)
        return gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    for (int i = 0; i < gw_scene_body_count(s); i++)
        w->asked[i] = w->tool[i] = w->cluster[i] = -1;
    l->system_count = gw_scene_number_systems(s, false, l->system_of);
    l->systems = l->system_count >= 0
                     ? calloc((size_t)l->system_count + 1, sizeof(gw_scene_system *))
                     : NULL;
    if (!l->systems)
        return gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    for (int i = 0; i < s->tool_count; i++) {
        int object = gw_scene_object(s, s->tools[i].object);
        if (object < 0) /* it holds a mechanism, which is none of the layout's */
            continue;
        int *asked = &w->asked[object]; /* the first tool that states a branch, else the first */
        if (*asked < 0 || (!s->tools[*asked].branch[0] && s->tools[i].branch[0]))
            *asked = i;
        w->tool[object] = l->system_of[object] < 0 ? i : -1;
    }
    return true;
}

static void give_back(builder *w)
{
    free(w->asked);
    free(w->tool);
    free(w->with_hand);
    free(w->first);
    free(w->edge_of);
    free(w->ahead);
    free(w->cluster);
    free(w->placed);
    free(w->loose);
    free(w->carrier);
    free(w->jacobians);
    free(w->scratch);
    free(w->draft);
    free(w->cluster_work);
    free(w->assembled);
}

/* Assembles every system; none if an object has no solution. */
static bool assemble_systems(builder *w, gw_error *error)
{
    gw_layout *l = w->layout;
    const gw_constraint_edge **edges = malloc(((size_t)l->edge_count + 1) * sizeof *edges);
    if (!edges)
        return gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    for (int i = 0; i < l->edge_count; i++)
        edges[i] = &l->edges[i].edge;
    bool made = true;
    for (int i = 0; i < l->system_count && made && !gw_layout_unsolved(l); i++) {
        l->systems[i] = gw_scene_system_create(w->scene, l->system_of, i, edges, l->edge_count,
                                               &w->known->starts, l->poses, error);
        made = l->systems[i];
    }
    free((void *)edges);
    for (int i = 0; i < l->count; i++)
        l->placements[i]->tool = w->asked[l->placements[i]->object];
    return made;
}

/* True if an object found no pose, and no problem was proven incompatible. */
static bool is_unhandled(const builder *w)
{
    const gw_placement *p = gw_layout_unsolved(w->layout);
    return p && p->solution.status == GW_STATUS_UNHANDLED;
}

/* Assembles the whole scene from the present poses; true if all relations are satisfied: objects
 * are then placed from the assembled poses. */
static bool assemble_scene(builder *w)
{
    int bodies = gw_scene_body_count(w->scene);
    bool *stands = calloc((size_t)bodies + 1, sizeof *stands);
    w->assembled = malloc(((size_t)bodies + 1) * sizeof *w->assembled);
    gw_error none;
    gw_assembly_result result = {0};
    gw_assembly *assembly = NULL;
    begin_round(w);
    if (stands && w->assembled) {
        for (int i = 0; i < bodies; i++)
            stands[i] = i >= w->scene->object_count || w->scene->objects[i].fixed;
        const gw_assembly_def def = {
            .scene = w->scene, .ground = stands, .poses = w->layout->poses};
        assembly = gw_assembly_create(&def, &none);
    }
    if (assembly) {
        const gw_assembly_options options = {.seed = 1, .starts = ASSEMBLY_STARTS};
        gw_assembly_solve(assembly, &options, &result);
        memcpy(w->assembled, gw_assembly_poses(assembly), (size_t)bodies * sizeof *w->assembled);
    }
    gw_assembly_destroy(assembly);
    free(stands);
    return result.held;
}

/* Places objects one after the other; if one finds no pose, assembles all together first. */
static bool place_or_assemble(builder *w, gw_error *error)
{
    const gw_pose *given = w->from;
    if (!place_all(w, error))
        return false;
    if (!is_unhandled(w))
        return true;
    if (assemble_scene(w))
        w->from = w->assembled;
    bool placed = place_all(w, error);
    w->from = given;
    return placed;
}

static bool lay_out(builder *w, gw_error *error)
{
    if (!take_memory(w, error) || !collect_constraints(w, error))
        return false;
    if (!list_edges(w) || !mark_with_hand(w))
        return gw_fail(error, GW_FAILED, "", "no memory to lay out the scene");
    if (!place_or_assemble(w, error) || !assemble_systems(w, error))
        return false;
    gw_layout_carry_joined(w->scene, w->layout, w->carrier);
    for (int i = 0; i < w->layout->edge_count; i++) {
        gw_constraint_edge *link = &w->layout->edges[i].edge;
        gw_constraint_edge_resolve(link, &w->layout->poses[link->a], &w->layout->poses[link->b]);
    }
    count_cluster_freedoms(w);
    return true;
}

gw_layout *gw_layout_create(const gw_scene *scene, const gw_pose *poses, gw_error *error)
{
    assert(scene);
    return gw_layout_update(scene, poses, NULL, error);
}

gw_layout *gw_layout_update(const gw_scene *scene, const gw_pose *poses,
                            const gw_layout_known *known, gw_error *error)
{
    assert(scene);
    const gw_layout_known nothing = {.layout = NULL};
    builder w = {.scene = scene, .from = poses, .known = known ? known : &nothing};
    w.layout = calloc(1, sizeof *w.layout);
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
