/*
 * Closest points of two free-form shapes, over the whole of both. Pairs of parts, one of each, are
 * bounded by the distance of their boxes in the axes of either, and taken from a heap, the closest
 * first; the larger part of the pair is halved. Any thread, RT safe.
 */
#include <assert.h>
#include <string.h>

#include "rt/geometry/nurbs_tree.h"

#define HEAP_ROOM        768  /* pairs; those that find no room are dropped and limit `bound` */
#define WITHIN           1e-4 /* of the lesser size: accepted difference of `distance` and `bound` */
#define CONVERGED        1e-9 /* of the size: an iteration that gains less is the last one */
#define PROJECTIONS      8    /* alternating projections from the middle of a pair, at most */
#define PROJECTIONS_LAST 60   /* the same from the nearest pair found */

/* Bounds of parameters, low .. high of each. */
typedef struct rectangle {
    double low[2], high[2];
} rectangle;

/* A node of a tree, or a cell of a leaf: ~leaf, and its rectangle. */
typedef struct part_of_shape {
    int node;
    rectangle r;
} part_of_shape;

typedef struct pair_of_parts {
    double bound; /* of the distance (m) */
    part_of_shape part[2];
} pair_of_parts;

typedef struct pair_search {
    const gw_nurbs *s[2];
    gw_pose a_from_b, b_from_a;
    gw_nurbs_pair *best;
    double sampled;  /* the least distance of centres (m) */
    double given_up; /* the least bound of the pairs that found no room (m) */
    int count;
    pair_of_parts heap[HEAP_ROOM];
} pair_search;

/* Adds a pair; without room, the farthest of the pairs that have no children, or itself, is
 * dropped. */
static void push_pair(pair_search *q, const pair_of_parts *w)
{
    int i = q->count;
    if (i == HEAP_ROOM) {
        i = HEAP_ROOM / 2;
        for (int k = i + 1; k < HEAP_ROOM; k++)
            i = q->heap[k].bound > q->heap[i].bound ? k : i;
        q->given_up = fmin(q->given_up, fmax(w->bound, q->heap[i].bound));
        if (w->bound >= q->heap[i].bound)
            return;
    } else {
        q->count++;
    }
    for (; i > 0 && q->heap[(i - 1) / 2].bound > w->bound; i = (i - 1) / 2)
        q->heap[i] = q->heap[(i - 1) / 2];
    q->heap[i] = *w;
}

static pair_of_parts pop_pair(pair_search *q)
{
    pair_of_parts top = q->heap[0], last = q->heap[--q->count];
    int i = 0;
    for (int child; (child = 2 * i + 1) < q->count; i = child) {
        if (child + 1 < q->count && q->heap[child + 1].bound < q->heap[child].bound)
            child++;
        if (q->heap[child].bound >= last.bound)
            break;
        q->heap[i] = q->heap[child];
    }
    q->heap[i] = last;
    return top;
}

/* The part of a node; of a leaf, the cell that covers it. */
static part_of_shape part_at(const gw_nurbs *s, int node)
{
    const gw_nurbs_node *n = &s->tree->nodes[node];
    part_of_shape part = {.node = node};
    if (n->child[0] < 0) {
        const gw_nurbs_leaf *leaf = &s->tree->leaves[~n->child[0]];
        part.node = n->child[0];
        part.r = (rectangle){{leaf->low[0], leaf->low[1]}, {leaf->high[0], leaf->high[1]}};
    }
    return part;
}

static gw_aabb box_of_part(const gw_nurbs *s, const part_of_shape *part)
{
    gw_homogeneous points[GW_BEZIER_POINTS];
    if (part->node >= 0)
        return s->tree->nodes[part->node].box;
    gw_nurbs_bezier(s, s->tree->leaves[~part->node].span, part->r.low, part->r.high, points);
    return gw_nurbs_hull_box(points, (s->direction[0].degree + 1) * (s->direction[1].degree + 1));
}

static double interval_gap(double centre_a, double centre_b, double half)
{
    return fmax(0, fabs(centre_a - centre_b) - half);
}

/* A lower bound of the distance of two boxes, in the axes of the first. */
static double boxes_distance(const gw_aabb *a, const gw_aabb *b, const gw_pose *a_from_b)
{
    gw_vec3 half_a = gw_scale(0.5, gw_sub(a->high, a->low));
    gw_vec3 half_b = gw_scale(0.5, gw_sub(b->high, b->low));
    gw_vec3 at_a = gw_add(a->low, half_a), at_b = gw_pose_point(a_from_b, gw_add(b->low, half_b));
    gw_mat3 turn = gw_quat_to_mat3(a_from_b->q);
    double over[3];
    for (int i = 0; i < 3; i++)
        over[i] = fabs(turn.m[i][0]) * half_b.x + fabs(turn.m[i][1]) * half_b.y +
                  fabs(turn.m[i][2]) * half_b.z;
    return gw_norm(gw_v3(interval_gap(at_a.x, at_b.x, half_a.x + over[0]),
                         interval_gap(at_a.y, at_b.y, half_a.y + over[1]),
                         interval_gap(at_a.z, at_b.z, half_a.z + over[2])));
}

static void middle_of(const gw_nurbs *s, const part_of_shape *part, double x[2])
{
    for (int k = 0; k < 2; k++)
        x[k] = k < s->dimension ? 0.5 * (part->r.low[k] + part->r.high[k]) : 0;
}

/* Alternating projections: each point moves to the closest point near it of the other shape, in
 * turn. */
static void alternate_projections(pair_search *q, double x[2][2], int most)
{
    gw_nurbs_point at[2];
    double distance = HUGE_VAL;
    gw_nurbs_evaluate(q->s[0], x[0], 0, NULL, &at[0]);
    for (int i = 0; i < most; i++) {
        gw_nurbs_follow(q->s[1], gw_pose_point(&q->b_from_a, at[0].d[0][0]), x[1], NULL, &at[1]);
        gw_vec3 to = gw_pose_point(&q->a_from_b, at[1].d[0][0]);
        gw_nurbs_follow(q->s[0], to, x[0], NULL, &at[0]);
        double now = gw_distance(at[0].d[0][0], to);
        bool converged = distance - now < CONVERGED * q->s[0]->size;
        distance = now;
        if (converged)
            break;
    }
    if (distance < q->best->distance) {
        q->best->distance = distance;
        memcpy(q->best->parameter, x, sizeof q->best->parameter);
    }
}

/* Lowers the upper bound to the distance of the two cells' centres. */
static void offer_pair(pair_search *q, const pair_of_parts *w)
{
    double x[2][2];
    gw_nurbs_point at[2];
    if (w->part[0].node >= 0 || w->part[1].node >= 0)
        return;
    for (int side = 0; side < 2; side++) {
        middle_of(q->s[side], &w->part[side], x[side]);
        gw_nurbs_evaluate(q->s[side], x[side], 0, NULL, &at[side]);
    }
    double distance = gw_distance(at[0].d[0][0], gw_pose_point(&q->a_from_b, at[1].d[0][0]));
    if (distance >= q->sampled)
        return;
    q->sampled = distance;
    alternate_projections(q, x, PROJECTIONS);
}

/* Both halves of a part; of a node its children. */
static void halve_part(const gw_nurbs *s, const part_of_shape *part, part_of_shape half[2])
{
    if (part->node >= 0) {
        for (int i = 0; i < 2; i++)
            half[i] = part_at(s, s->tree->nodes[part->node].child[i]);
        return;
    }
    const gw_nurbs_leaf *leaf = &s->tree->leaves[~part->node];
    double h[2];
    for (int k = 0; k < 2; k++)
        h[k] = k < s->dimension ? 0.5 * (part->r.high[k] - part->r.low[k]) : 0;
    int k = leaf->bound[0][1] * h[1] > leaf->bound[1][0] * h[0];
    half[0] = half[1] = *part;
    half[0].r.high[k] = half[1].r.low[k] = part->r.low[k] + h[k];
}

void gw_nurbs_nearest_pair(const gw_nurbs *a, const gw_nurbs *b, const gw_pose *a_from_b, int cells,
                           gw_nurbs_pair *nearest)
{
    assert(a && a->tree && b && b->tree && gw_finite_pose(a_from_b));
    pair_search q;
    q.s[0] = a, q.s[1] = b;
    q.a_from_b = *a_from_b, q.b_from_a = gw_pose_inverse(a_from_b);
    q.best = nearest;
    q.sampled = q.given_up = HUGE_VAL;
    q.count = 0;
    *nearest = (gw_nurbs_pair){.distance = HUGE_VAL};
    push_pair(&q, &(pair_of_parts){.bound = 0, .part = {part_at(a, 0), part_at(b, 0)}});
    double within = WITHIN * fmin(a->size, b->size), bound = HUGE_VAL;
    while (q.count > 0) {
        if (q.heap[0].bound >= nearest->distance - within || nearest->cells >= cells) {
            bound = q.heap[0].bound;
            break;
        }
        pair_of_parts w = pop_pair(&q), next[2] = {w, w};
        gw_aabb box[2] = {box_of_part(a, &w.part[0]), box_of_part(b, &w.part[1])};
        int larger = gw_distance(box[1].low, box[1].high) > gw_distance(box[0].low, box[0].high);
        part_of_shape half[2];
        nearest->cells++;
        offer_pair(&q, &w);
        halve_part(q.s[larger], &w.part[larger], half);
        for (int i = 0; i < 2; i++) {
            next[i].part[larger] = half[i];
            box[larger] = box_of_part(q.s[larger], &half[i]);
            double apart = fmax(boxes_distance(&box[0], &box[1], &q.a_from_b),
                                boxes_distance(&box[1], &box[0], &q.b_from_a));
            next[i].bound = fmax(w.bound, apart);
            if (next[i].bound < nearest->distance - within)
                push_pair(&q, &next[i]);
        }
    }
    double x[2][2];
    memcpy(x, nearest->parameter, sizeof x);
    alternate_projections(&q, x, PROJECTIONS_LAST);
    for (int side = 0; side < 2; side++)
        gw_nurbs_into_domain(q.s[side], nearest->parameter[side]);
    nearest->bound = fmax(0, fmin(fmin(bound, q.given_up), nearest->distance - within));
}
