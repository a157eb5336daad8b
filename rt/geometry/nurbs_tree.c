/*
 * The subdivision tree of a free-form shape: boxes of Bezier control points, and bounds of the
 * derivatives over its leaves. Built with the shape, not RT safe; the bounds of a part are for any
 * thread.
 */
#include "rt/geometry/nurbs_tree.h"

#include <stdlib.h>
#include <string.h>

#define FLAT       0.2       /* of a leaf: deviation from its tangents, relative to its radius */
#define MAX_DEPTH  10        /* halvings of a span in the tree */
#define MAX_LEAVES (1 << 17) /* above which spans are not halved further: 30 MB */

static const double binomial[GW_NURBS_ORDERS][GW_NURBS_ORDERS] = {
    {1}, {1, 1}, {1, 2, 1}, {1, 3, 3, 1}};

static double norm2_of_point(const gw_homogeneous *a)
{
    return (*a)[0] * (*a)[0] + (*a)[1] * (*a)[1] + (*a)[2] * (*a)[2];
}

/* fmax() of numbers, without a call. */
static inline double larger_of(double a, double b)
{
    return a > b ? a : b;
}

/* Differences of Bezier control points along one direction: the derivative's, times range/degree.
 */
static void differentiate_controls(gw_homogeneous *b, int rows, int columns, int stride,
                                   bool along_rows)
{
    int last_row = along_rows ? rows - 1 : rows, last_column = along_rows ? columns : columns - 1;
    for (int i = 0; i < last_row; i++)
        for (int j = 0; j < last_column; j++)
            b[i * stride + j] =
                (along_rows ? b[(i + 1) * stride + j] : b[i * stride + j + 1]) - b[i * stride + j];
}

/* degree / length along direction k; 0 for an edge, which has no extent there. */
static double per_length(int degree, const gw_nurbs_leaf *leaf, int k)
{
    double length = leaf->high[k] - leaf->low[k];
    return length > 0 ? degree / length : 0;
}

/*
 * Bounds of the derivatives over a Bezier part: those of the sums A - c w and w, with c a point of
 * the part, by the hulls of their control points, then the quotient rule with absolute values.
 */
static void derivative_bounds(const gw_nurbs *s, gw_nurbs_leaf *leaf, const gw_homogeneous *points,
                              gw_vec3 centre)
{
    int p = s->direction[0].degree, q = s->direction[1].degree, stride = q + 1;
    int count = (p + 1) * stride;
    double top[GW_NURBS_ORDERS][GW_NURBS_ORDERS] = {{0}},
           weight[GW_NURBS_ORDERS][GW_NURBS_ORDERS] = {{0}}, least = HUGE_VAL;
    gw_homogeneous by_u[GW_BEZIER_POINTS], b[GW_BEZIER_POINTS];
    for (int i = 0; i < count; i++) {
        double w = points[i][3];
        by_u[i] = points[i] - w * (gw_homogeneous){centre.x, centre.y, centre.z, 0};
        least = w < least ? w : least;
    }
    double scale_u = 1;
    for (int k = 0; k <= GW_NURBS_ORDER && k <= p; k++) {
        double scale = scale_u;
        memcpy(b, by_u, (size_t)count * sizeof *b);
        for (int l = 0; k + l <= GW_NURBS_ORDER && l <= q; l++) {
            double most = 0, most_weight = 0;
            for (int i = 0; i <= p - k; i++) {
                for (int j = 0; j <= q - l; j++) {
                    most = larger_of(most, norm2_of_point(&b[i * stride + j]));
                    most_weight = larger_of(most_weight, fabs(b[i * stride + j][3]));
                }
            }
            top[k][l] = scale * sqrt(most);
            weight[k][l] = scale * most_weight;
            differentiate_controls(b, p + 1 - k, q + 1 - l, stride, false);
            scale *= per_length(q - l, leaf, 1);
        }
        differentiate_controls(by_u, p + 1 - k, q + 1, stride, true);
        scale_u *= per_length(p - k, leaf, 0);
    }
    for (int k = 0; k <= GW_NURBS_ORDER; k++) {
        for (int l = 0; k + l <= GW_NURBS_ORDER; l++) {
            double sum = top[k][l];
            for (int i = 0; s->rational && i <= k; i++)
                for (int j = i == 0; j <= l; j++)
                    sum +=
                        binomial[k][i] * binomial[l][j] * weight[i][j] * leaf->bound[k - i][l - j];
            leaf->bound[k][l] = sum / least;
        }
    }
}

/* The entries of `size` bytes, with room for `count` more; NULL if memory is exhausted. */
static void *with_room(void *entries, int used, int *room, int count, size_t size)
{
    int most = *room ? *room : 64;
    while (most < used + count)
        most *= 2;
    void *grown = most > *room ? realloc(entries, (size_t)most * size) : entries;
    if (grown)
        *room = most;
    return grown;
}

/* The first of `count` new nodes; -1 if memory is exhausted. */
static int new_nodes(gw_nurbs_tree *t, int count)
{
    gw_nurbs_node *nodes =
        with_room(t->nodes, t->node_count, &t->node_room, count, sizeof *t->nodes);
    if (!nodes)
        return -1;
    t->nodes = nodes;
    t->node_count += count;
    return t->node_count - count;
}

static int new_leaves(gw_nurbs_tree *t, int count)
{
    gw_nurbs_leaf *leaves =
        with_room(t->leaves, t->leaf_count, &t->leaf_room, count, sizeof *t->leaves);
    if (!leaves)
        return -1;
    t->leaves = leaves;
    t->leaf_count += count;
    return t->leaf_count - count;
}

/* Joins two subtrees under a node; -1 where one failed. */
static int join_subtrees(gw_nurbs_tree *t, int node, int first, int second)
{
    if (first < 0 || second < 0)
        return -1;
    const gw_aabb *a = &t->nodes[first].box, *b = &t->nodes[second].box;
    t->nodes[node] = (gw_nurbs_node){
        {{fmin(a->low.x, b->low.x), fmin(a->low.y, b->low.y), fmin(a->low.z, b->low.z)},
         {fmax(a->high.x, b->high.x), fmax(a->high.y, b->high.y), fmax(a->high.z, b->high.z)}},
        {first, second}};
    return node;
}

gw_aabb gw_nurbs_bound_part(const gw_nurbs *s, gw_nurbs_leaf *part)
{
    gw_homogeneous points[GW_BEZIER_POINTS];
    gw_nurbs_bezier(s, part->span, part->low, part->high, points);
    gw_aabb box =
        gw_nurbs_hull_box(points, (s->direction[0].degree + 1) * (s->direction[1].degree + 1));
    derivative_bounds(s, part, points, gw_scale(0.5, gw_add(box.low, box.high)));
    return box;
}

/* The subtree of a part of one span, halved until it is flat; its node, or -1. */
static int build_part(gw_nurbs_tree *t, const gw_nurbs *s, gw_nurbs_leaf part, int depth)
{
    int node = new_nodes(t, 1);
    if (node < 0)
        return -1;
    gw_aabb box = gw_nurbs_bound_part(s, &part);
    double h[2];
    for (int k = 0; k < 2; k++)
        h[k] = k < s->dimension ? 0.5 * (part.high[k] - part.low[k]) : 0;
    double e = gw_nurbs_part_deviation(&part, h);
    double radius = part.bound[1][0] * h[0] + part.bound[0][1] * h[1];
    if (e <= FLAT * radius || depth == MAX_DEPTH || t->leaf_count >= MAX_LEAVES) {
        int leaf = new_leaves(t, 1);
        if (leaf < 0)
            return -1;
        t->leaves[leaf] = part;
        t->nodes[node] = (gw_nurbs_node){box, {~leaf, ~leaf}};
        return node;
    }
    gw_nurbs_leaf first = part, second = part;
    int k = gw_nurbs_worse_direction(&part, h);
    first.high[k] = second.low[k] = 0.5 * (part.low[k] + part.high[k]);
    int a = build_part(t, s, first, depth + 1);
    int b = a < 0 ? -1 : build_part(t, s, second, depth + 1);
    return join_subtrees(t, node, a, b);
}

/* ---- the whole -------------------------------------------------------------------------------
 *
 * Nodes and leaves are numbered in preorder, so that a subtree is a range of both. The nodes above
 * the parts of one span depend on the spans alone: a shape with the same ones has its subtree of a
 * span in the same position, and where the control points of the span are the same too, it is
 * copied.
 */

typedef struct builder {
    gw_nurbs_tree *tree;
    const gw_nurbs *nurbs;
    const gw_nurbs *like; /* a shape with the same spans; NULL: none */
} builder;

/* Spans from first to last of both directions, and the range of nodes that `like` has for them. */
typedef struct span_block {
    const int *spans[2];
    int first[2], last[2];
    int node, end;
} span_block;

/* The first (side 0) or last leaf of a subtree. */
static int end_leaf(const gw_nurbs_tree *t, int node, int side)
{
    while (t->nodes[node].child[0] >= 0)
        node = t->nodes[node].child[side];
    return ~t->nodes[node].child[0];
}

static bool same_controls(const gw_nurbs *a, const gw_nurbs *b, const int span[2])
{
    const gw_nurbs_direction *u = &a->direction[0], *v = &a->direction[1];
    bool same = true;
    for (int i = span[0] - u->degree; same && i <= span[0]; i++) {
        int at = i * v->count + span[1] - v->degree;
        same = memcmp(&a->points[at], &b->points[at],
                      (size_t)(v->degree + 1) * sizeof *a->points) == 0;
    }
    return same;
}

/* Appends nodes node .. end - 1 of `from`, a subtree; its new root, or -1. */
static int copy_subtree(gw_nurbs_tree *t, const gw_nurbs_tree *from, int node, int end)
{
    int first = end_leaf(from, node, 0), leaves = end_leaf(from, node, 1) - first + 1;
    int root = new_nodes(t, end - node), leaf = root < 0 ? -1 : new_leaves(t, leaves);
    if (leaf < 0)
        return -1;
    memcpy(&t->leaves[leaf], &from->leaves[first], (size_t)leaves * sizeof *t->leaves);
    memcpy(&t->nodes[root], &from->nodes[node], (size_t)(end - node) * sizeof *t->nodes);
    for (int i = root; i < root + end - node; i++)
        for (int k = 0; k < 2; k++)
            t->nodes[i].child[k] += t->nodes[i].child[k] < 0 ? first - leaf : root - node;
    return root;
}

/* The subtree of one pair of spans. */
static int build_span(const builder *b, const span_block *block)
{
    gw_nurbs_tree *t = b->tree;
    gw_nurbs_leaf part = {.span = {0, 0}};
    for (int k = 0; k < 2; k++) {
        part.span[k] = block->spans[k][block->first[k]];
        const gw_nurbs_direction *d = &b->nurbs->direction[k];
        part.low[k] = fmax(d->knots[part.span[k]], d->low);
        part.high[k] = fmin(d->knots[part.span[k] + 1], d->high);
    }
    /* the bound of the number of leaves changes no subtree where both trees stay below it */
    if (b->like && same_controls(b->nurbs, b->like, part.span) &&
        t->leaf_count + b->like->tree->leaf_count < MAX_LEAVES)
        return copy_subtree(t, b->like->tree, block->node, block->end);
    return build_part(t, b->nurbs, part, 0);
}

static int build_block(const builder *b, span_block block)
{
    int length[2] = {block.last[0] - block.first[0], block.last[1] - block.first[1]};
    if (length[0] == 0 && length[1] == 0)
        return build_span(b, &block);
    int k = length[1] > length[0], node = new_nodes(b->tree, 1);
    if (node < 0)
        return -1;
    span_block first = block, second = block;
    first.last[k] = (block.first[k] + block.last[k]) / 2;
    second.first[k] = first.last[k] + 1;
    if (b->like) {
        first.node = block.node + 1;
        first.end = second.node = b->like->tree->nodes[block.node].child[1];
    }
    int one = build_block(b, first);
    int other = one < 0 ? -1 : build_block(b, second);
    return join_subtrees(b->tree, node, one, other);
}

gw_nurbs_tree *gw_nurbs_tree_create(const gw_nurbs *s, const gw_nurbs *like)
{
    gw_nurbs_tree *t = calloc(1, sizeof *t);
    int counts[2] = {gw_nurbs_spans(s, 0, NULL), gw_nurbs_spans(s, 1, NULL)};
    int *spans = malloc((size_t)(counts[0] + counts[1]) * sizeof *spans);
    int root = -1;
    if (t && spans) {
        const builder b = {t, s, like};
        gw_nurbs_spans(s, 0, spans);
        gw_nurbs_spans(s, 1, spans + counts[0]);
        root = build_block(&b, (span_block){.spans = {spans, spans + counts[0]},
                                            .last = {counts[0] - 1, counts[1] - 1},
                                            .end = like ? like->tree->node_count : 0});
    }
    free(spans);
    if (root == 0)
        return t;
    gw_nurbs_tree_destroy(t);
    return NULL;
}

gw_aabb gw_nurbs_tree_bounds(const gw_nurbs_tree *t)
{
    return t->nodes[0].box;
}

void gw_nurbs_tree_destroy(gw_nurbs_tree *t)
{
    if (!t)
        return;
    free(t->nodes);
    free(t->leaves);
    free(t);
}
