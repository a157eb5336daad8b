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

static int new_node(gw_nurbs_tree *t)
{
    if (t->node_count == t->node_room) {
        int room = t->node_room ? 2 * t->node_room : 64;
        gw_nurbs_node *grown = realloc(t->nodes, (size_t)room * sizeof *grown);
        if (!grown)
            return -1;
        t->nodes = grown;
        t->node_room = room;
    }
    return t->node_count++;
}

static int new_leaf(gw_nurbs_tree *t)
{
    if (t->leaf_count == t->leaf_room) {
        int room = t->leaf_room ? 2 * t->leaf_room : 64;
        gw_nurbs_leaf *grown = realloc(t->leaves, (size_t)room * sizeof *grown);
        if (!grown)
            return -1;
        t->leaves = grown;
        t->leaf_room = room;
    }
    return t->leaf_count++;
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
    int node = new_node(t);
    if (node < 0)
        return -1;
    gw_aabb box = gw_nurbs_bound_part(s, &part);
    double h[2];
    for (int k = 0; k < 2; k++)
        h[k] = k < s->dimension ? 0.5 * (part.high[k] - part.low[k]) : 0;
    double e = gw_nurbs_part_deviation(&part, h);
    double radius = part.bound[1][0] * h[0] + part.bound[0][1] * h[1];
    if (e <= FLAT * radius || depth == MAX_DEPTH || t->leaf_count >= MAX_LEAVES) {
        int leaf = new_leaf(t);
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

/* Spans from first to last of both directions. */
typedef struct span_block {
    const int *spans[2];
    int first[2], last[2];
} span_block;

static int build_block(gw_nurbs_tree *t, const gw_nurbs *s, span_block block)
{
    int length[2] = {block.last[0] - block.first[0], block.last[1] - block.first[1]};
    if (length[0] == 0 && length[1] == 0) {
        gw_nurbs_leaf part = {.span = {0, 0}};
        for (int k = 0; k < 2; k++) {
            part.span[k] = block.spans[k][block.first[k]];
            const gw_nurbs_direction *d = &s->direction[k];
            part.low[k] = fmax(d->knots[part.span[k]], d->low);
            part.high[k] = fmin(d->knots[part.span[k] + 1], d->high);
        }
        return build_part(t, s, part, 0);
    }
    int k = length[1] > length[0], node = new_node(t);
    if (node < 0)
        return -1;
    span_block first = block, second = block;
    first.last[k] = (block.first[k] + block.last[k]) / 2;
    second.first[k] = first.last[k] + 1;
    int a = build_block(t, s, first);
    int b = a < 0 ? -1 : build_block(t, s, second);
    return join_subtrees(t, node, a, b);
}

gw_nurbs_tree *gw_nurbs_tree_create(const gw_nurbs *s)
{
    gw_nurbs_tree *t = calloc(1, sizeof *t);
    int counts[2] = {gw_nurbs_spans(s, 0, NULL), gw_nurbs_spans(s, 1, NULL)};
    int *spans = malloc((size_t)(counts[0] + counts[1]) * sizeof *spans);
    int root = -1;
    if (t && spans) {
        gw_nurbs_spans(s, 0, spans);
        gw_nurbs_spans(s, 1, spans + counts[0]);
        root = build_block(
            t, s, (span_block){{spans, spans + counts[0]}, {0, 0}, {counts[0] - 1, counts[1] - 1}});
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
