/*
 * A tree of boxes, halved at the median of its longest side. Nodes lie in the order in which they
 * are walked: a node whose box is missed is followed by `next`, one that is met by the one after.
 */
#include "rt/collision/aabb_tree.h"

#include <stdlib.h>

typedef struct node {
    gw_aabb box;
    int next; /* past all below this one */
    int item; /* -1: none, it has two below */
} node;

struct gw_aabb_tree {
    int count;
    node nodes[];
};

/* A box's index and where its middle is along the side that is halved. */
typedef struct place {
    double at;
    int item;
} place;

static gw_aabb around(const gw_aabb *a, const gw_aabb *b)
{
    return (gw_aabb){
        {fmin(a->low.x, b->low.x), fmin(a->low.y, b->low.y), fmin(a->low.z, b->low.z)},
        {fmax(a->high.x, b->high.x), fmax(a->high.y, b->high.y), fmax(a->high.z, b->high.z)}};
}

static bool apart(const gw_aabb *a, const gw_aabb *b)
{
    return a->low.x > b->high.x || b->low.x > a->high.x || a->low.y > b->high.y ||
           b->low.y > a->high.y || a->low.z > b->high.z || b->low.z > a->high.z;
}

static gw_vec3 longest(const gw_aabb *box)
{
    gw_vec3 d = gw_sub(box->high, box->low);
    if (d.x >= d.y && d.x >= d.z)
        return gw_v3(1, 0, 0);
    return d.y >= d.z ? gw_v3(0, 1, 0) : gw_v3(0, 0, 1);
}

static int along(const void *a, const void *b)
{
    const place *x = a, *y = b;
    int by_place = (x->at > y->at) - (x->at < y->at);
    return by_place ? by_place : x->item - y->item;
}

static void grow(gw_aabb_tree *b, const gw_aabb *boxes, place *places, int count)
{
    node *n = &b->nodes[b->count++];
    n->box = boxes[places[0].item];
    n->item = count == 1 ? places[0].item : -1;
    for (int i = 1; i < count; i++)
        n->box = around(&n->box, &boxes[places[i].item]);
    if (count > 1) {
        gw_vec3 side = longest(&n->box);
        for (int i = 0; i < count; i++) {
            const gw_aabb *box = &boxes[places[i].item];
            places[i].at = gw_dot(side, gw_add(box->low, box->high));
        }
        qsort(places, (size_t)count, sizeof *places, along);
        grow(b, boxes, places, count / 2);
        grow(b, boxes, places + count / 2, count - count / 2);
    }
    n->next = b->count;
}

gw_aabb_tree *gw_aabb_tree_create(const gw_aabb *boxes, int count)
{
    gw_aabb_tree *b = malloc(sizeof *b + 2 * ((size_t)count + 1) * sizeof *b->nodes);
    place *places = malloc(((size_t)count + 1) * sizeof *places);
    if (b)
        b->count = 0;
    for (int i = 0; places && i < count; i++)
        places[i].item = i;
    if (b && places && count > 0)
        grow(b, boxes, places, count);
    if (!places) {
        free(b);
        b = NULL;
    }
    free(places);
    return b;
}

void gw_aabb_tree_destroy(gw_aabb_tree *boxes)
{
    free(boxes);
}

int gw_aabb_tree_query(const gw_aabb_tree *b, const gw_aabb *probe, int *near, int room)
{
    int count = 0;
    for (int i = 0; i < b->count;) {
        const node *n = &b->nodes[i];
        if (apart(&n->box, probe)) {
            i = n->next;
            continue;
        }
        if (n->item >= 0 && count == room)
            return room + 1;
        if (n->item >= 0)
            near[count++] = n->item;
        i++;
    }
    return count;
}
