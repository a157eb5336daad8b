/*
 * An AABB tree: items are split at the median of their centres along the longest side of their
 * common box. Nodes are stored in preorder: a node's first child follows it, and `next` is the node
 * after its whole subtree, so a query walks the array forwards and a refit walks it backwards.
 */
#include "rt/collision/aabb_tree.h"

#include <assert.h>
#include <stdlib.h>

/* Refitted boxes grow as neighbouring items separate: the tree is rebuilt where the sum of all
 * boxes' perimeters exceeds its value at the last build by this factor. */
static const double loose = 1.3;

typedef struct node {
    gw_aabb box;
    int next; /* past the subtree */
    int item; /* of a leaf; -1: it has two children */
} node;

/* An item, and where its centre is along the side that is split. */
typedef struct centre {
    double at;
    int item;
} centre;

struct gw_aabb_tree {
    int item_count, node_count;
    double perimeters; /* sum over all nodes when built (m) */
    centre *centres;   /* while building */
    node nodes[];
};

static gw_aabb join_boxes(const gw_aabb *a, const gw_aabb *b)
{
    return (gw_aabb){
        {fmin(a->low.x, b->low.x), fmin(a->low.y, b->low.y), fmin(a->low.z, b->low.z)},
        {fmax(a->high.x, b->high.x), fmax(a->high.y, b->high.y), fmax(a->high.z, b->high.z)}};
}

static bool are_disjoint(const gw_aabb *a, const gw_aabb *b)
{
    return a->low.x > b->high.x || b->low.x > a->high.x || a->low.y > b->high.y ||
           b->low.y > a->high.y || a->low.z > b->high.z || b->low.z > a->high.z;
}

static double half_perimeter(const gw_aabb *b)
{
    return b->high.x - b->low.x + b->high.y - b->low.y + b->high.z - b->low.z;
}

/* ---- building -------------------------------------------------------------------------------- */

static gw_vec3 longest_side(const gw_aabb *box)
{
    gw_vec3 d = gw_sub(box->high, box->low);
    if (d.x >= d.y && d.x >= d.z)
        return gw_v3(1, 0, 0);
    return d.y >= d.z ? gw_v3(0, 1, 0) : gw_v3(0, 0, 1);
}

static int by_centre(const void *a, const void *b)
{
    const centre *x = a, *y = b;
    int by_place = (x->at > y->at) - (x->at < y->at);
    return by_place ? by_place : x->item - y->item;
}

/* The subtree of these items becomes the next nodes. */
static void build_subtree(gw_aabb_tree *t, const gw_aabb *boxes, centre *centres, int count)
{
    node *n = &t->nodes[t->node_count++];
    n->box = boxes[centres[0].item];
    n->item = count == 1 ? centres[0].item : -1;
    for (int i = 1; i < count; i++)
        n->box = join_boxes(&n->box, &boxes[centres[i].item]);
    if (count > 1) {
        gw_vec3 side = longest_side(&n->box);
        for (int i = 0; i < count; i++) {
            const gw_aabb *box = &boxes[centres[i].item];
            centres[i].at = gw_dot(side, gw_add(box->low, box->high));
        }
        qsort(centres, (size_t)count, sizeof *centres, by_centre);
        build_subtree(t, boxes, centres, count / 2);
        build_subtree(t, boxes, centres + count / 2, count - count / 2);
    }
    n->next = t->node_count;
}

static void build_tree(gw_aabb_tree *t, const gw_aabb *boxes)
{
    t->node_count = 0;
    t->perimeters = 0;
    for (int i = 0; i < t->item_count; i++)
        t->centres[i].item = i;
    if (t->item_count > 0)
        build_subtree(t, boxes, t->centres, t->item_count);
    for (int i = 0; i < t->node_count; i++)
        t->perimeters += half_perimeter(&t->nodes[i].box);
}

gw_aabb_tree *gw_aabb_tree_create(const gw_aabb *boxes, int count)
{
    assert(count >= 0);
    gw_aabb_tree *t = malloc(sizeof *t + 2 * ((size_t)count + 1) * sizeof *t->nodes);
    centre *centres = malloc(((size_t)count + 1) * sizeof *centres);
    if (!t || !centres) {
        free(t);
        free(centres);
        return NULL;
    }
    t->item_count = count;
    t->centres = centres;
    build_tree(t, boxes);
    return t;
}

void gw_aabb_tree_destroy(gw_aabb_tree *t)
{
    if (t)
        free(t->centres);
    free(t);
}

/* ---- refitting ------------------------------------------------------------------------------- */

void gw_aabb_tree_update(gw_aabb_tree *t, const gw_aabb *boxes)
{
    double perimeters = 0;
    for (int i = t->node_count - 1; i >= 0; i--) {
        node *n = &t->nodes[i];
        if (n->item >= 0)
            n->box = boxes[n->item];
        else
            n->box = join_boxes(&t->nodes[i + 1].box, &t->nodes[t->nodes[i + 1].next].box);
        double half = half_perimeter(&n->box);
        assert(!(half < 0)); /* low <= high; what is not finite passes */
        perimeters += half;
    }
    if (perimeters > loose * t->perimeters)
        build_tree(t, boxes);
}

/* ---- queries --------------------------------------------------------------------------------- */

int gw_aabb_tree_query(const gw_aabb_tree *t, const gw_aabb *probe, int *items, int capacity)
{
    assert(t && probe && items && capacity >= 0);
    int count = 0;
    for (int i = 0; i < t->node_count;) {
        const node *n = &t->nodes[i];
        if (are_disjoint(&n->box, probe)) {
            i = n->next;
            continue;
        }
        if (n->item >= 0 && count == capacity)
            return capacity + 1;
        if (n->item >= 0)
            items[count++] = n->item;
        i++;
    }
    return count;
}

/* Pairs of the leaf and an item below node b. */
static void pairs_with_leaf(const gw_aabb_tree *t, const node *leaf, int b,
                            void (*overlap)(void *context, int a, int b), void *context)
{
    for (int i = b, end = t->nodes[b].next; i < end;) {
        const node *n = &t->nodes[i];
        if (are_disjoint(&leaf->box, &n->box)) {
            i = n->next;
            continue;
        }
        if (n->item >= 0)
            overlap(context, leaf->item, n->item);
        i++;
    }
}

/* Pairs of an item below node a and one below node b, the larger subtree descended first. */
static void pairs_between(const gw_aabb_tree *t, int a, int b,
                          void (*overlap)(void *context, int a, int b), void *context)
{
    const node *na = &t->nodes[a], *nb = &t->nodes[b];
    if (na->item >= 0) {
        pairs_with_leaf(t, na, b, overlap, context);
    } else if (nb->item >= 0) {
        pairs_with_leaf(t, nb, a, overlap, context);
    } else if (are_disjoint(&na->box, &nb->box)) {
        return;
    } else if (na->next - a > nb->next - b) {
        pairs_between(t, a + 1, b, overlap, context);
        pairs_between(t, t->nodes[a + 1].next, b, overlap, context);
    } else {
        pairs_between(t, a, b + 1, overlap, context);
        pairs_between(t, a, t->nodes[b + 1].next, overlap, context);
    }
}

void gw_aabb_tree_pairs(const gw_aabb_tree *t, void (*overlap)(void *context, int a, int b),
                        void *context)
{
    assert(t && overlap);
    for (int i = 0; i < t->node_count; i++)
        if (t->nodes[i].item < 0)
            pairs_between(t, i + 1, t->nodes[i + 1].next, overlap, context);
}
