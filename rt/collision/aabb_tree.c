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

/* The normals of a subtree's items are within an angle (rad) of its axis. */
typedef struct normal_cone {
    gw_vec3 axis;
    double angle, cosine, sine;
} normal_cone;

struct gw_aabb_tree {
    int item_count, node_count;
    double perimeters;  /* sum over all nodes when built (m) */
    centre *centres;    /* while building */
    normal_cone *cones; /* by node; NULL: normals are not known */
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

static bool is_before(const centre *a, const centre *b)
{
    return a->at < b->at || (!(a->at > b->at) && a->item < b->item);
}

/* Quickselect: moves the `half` items that come first to the front. */
static void split_at(centre *c, int count, int half)
{
    for (int low = 0, high = count - 1; low < high;) {
        const centre pivot = c[low + (high - low) / 2];
        int i = low, j = high;
        while (i <= j) {
            while (is_before(&c[i], &pivot))
                i++;
            while (is_before(&pivot, &c[j]))
                j--;
            if (i <= j) {
                centre swap = c[i];
                c[i++] = c[j];
                c[j--] = swap;
            }
        }
        low = half >= i ? i : low;
        high = half <= j ? j : half >= i ? high : low;
    }
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
        split_at(centres, count, count / 2);
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
    t->cones = NULL;
    build_tree(t, boxes);
    return t;
}

void gw_aabb_tree_destroy(gw_aabb_tree *t)
{
    if (t) {
        free(t->centres);
        free(t->cones);
    }
    free(t);
}

static normal_cone join_cones(const normal_cone *a, const normal_cone *b)
{
    gw_vec3 sum = gw_add(a->axis, b->axis);
    gw_vec3 axis = gw_norm2(sum) > 0 ? gw_unit(sum) : a->axis;
    double angle = fmax(gw_angle_between(axis, a->axis) + a->angle,
                        gw_angle_between(axis, b->axis) + b->angle);
    angle = fmin(GW_PI, angle);
    return (normal_cone){axis, angle, cos(angle), sin(angle)};
}

bool gw_aabb_tree_set_normals(gw_aabb_tree *t, const gw_vec3 *normals, const double *sines)
{
    assert(t && normals && sines);
    t->cones = malloc(((size_t)t->node_count + 1) * sizeof *t->cones);
    for (int i = t->node_count - 1; t->cones && i >= 0; i--) {
        int item = t->nodes[i].item;
        if (item < 0)
            t->cones[i] = join_cones(&t->cones[i + 1], &t->cones[t->nodes[i + 1].next]);
        else
            t->cones[i] = (normal_cone){normals[item], asin(sines[item]),
                                        sqrt(fmax(0, 1 - sines[item] * sines[item])), sines[item]};
    }
    return t->cones != NULL;
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

/* Two trees in frames of their own. */
typedef struct two_trees {
    const gw_aabb_tree *a, *b;
    const gw_aabb_near *near;
    gw_mat3 sizes; /* magnitudes of the rotation's entries */
    double turn_cosine, turn_sine;
} two_trees;

/* A box of b's frame in that of a. */
typedef struct turned_box {
    gw_vec3 middle, half;
} turned_box;

static bool are_near(const two_trees *t, const gw_aabb *a, const turned_box *b)
{
    const double reach = t->near->reach;
    gw_vec3 half = gw_mat3_mul(&t->sizes, b->half);
    half = gw_add(half, gw_v3(reach, reach, reach));
    gw_aabb box = {gw_sub(b->middle, half), gw_add(b->middle, half)};
    return !are_disjoint(a, &box);
}

/* Whether normals of both nodes' items may be on one line, or opposite. */
static bool may_face(const two_trees *t, int a, int b)
{
    if (!t->a->cones || !t->b->cones)
        return true;
    const normal_cone *ca = &t->a->cones[a], *cb = &t->b->cones[b];
    double most = ca->angle + cb->angle + t->near->turn,
           along = gw_dot(ca->axis, gw_mat3_mul(&t->near->rotation, cb->axis));
    double cosine = ca->cosine * cb->cosine - ca->sine * cb->sine,
           sine = ca->sine * cb->cosine + ca->cosine * cb->sine;
    cosine = cosine * t->turn_cosine - sine * t->turn_sine; /* of `most` */
    if (t->near->opposite)
        return most >= GW_PI || -along >= cosine;
    return most >= 0.5 * GW_PI || fabs(along) >= cosine;
}

static turned_box turned(const two_trees *t, const gw_aabb *b)
{
    gw_vec3 middle = gw_scale(0.5, gw_add(b->high, b->low));
    return (turned_box){gw_add(t->near->origin, gw_mat3_mul(&t->near->rotation, middle)),
                        gw_scale(0.5, gw_sub(b->high, b->low))};
}

/* A triangle of the first tree: its plane and those through its sides, outward, which bound the
 * others. */
typedef struct bounding_planes {
    gw_vec3 n[4], size[4]; /* and magnitudes in the second tree's axes */
    double offset[4];
} bounding_planes;

static bounding_planes planes_of(const gw_aabb_near *q, int item)
{
    bounding_planes p;
    gw_vec3 corner[3];
    q->triangle(q->context, item, corner);
    p.n[3] = gw_unit(gw_cross(gw_sub(corner[1], corner[0]), gw_sub(corner[2], corner[0])));
    for (int k = 0; k < 3; k++)
        p.n[k] = gw_unit(gw_cross(gw_sub(corner[(k + 1) % 3], corner[k]), p.n[3]));
    for (int k = 0; k < 4; k++) {
        gw_vec3 own = gw_mat3_tmul(&q->rotation, p.n[k]);
        p.size[k] = gw_v3(fabs(own.x), fabs(own.y), fabs(own.z));
        p.offset[k] = gw_dot(p.n[k], corner[k % 3]) + q->reach;
    }
    return p;
}

static bool is_within(const bounding_planes *p, double reach, const turned_box *b)
{
    for (int k = 0; k < 4; k++) {
        double above = gw_dot(p->n[k], b->middle) - p->offset[k],
               half = gw_dot(p->size[k], b->half);
        if (above > half || (k == 3 && above < -half - 2 * reach))
            return false;
    }
    return true;
}

/* The item of node a against those below node b; false where it ended. */
static bool near_item(const two_trees *t, int a, int b)
{
    const gw_aabb_near *q = t->near;
    int item = t->a->nodes[a].item;
    bounding_planes planes = planes_of(q, item);
    for (int i = b, end = t->b->nodes[b].next; i < end;) {
        const node *at = &t->b->nodes[i];
        turned_box box = turned(t, &at->box);
        if (!may_face(t, a, i) || !is_within(&planes, q->reach, &box)) {
            i = at->next;
            continue;
        }
        if (at->item >= 0 && !q->near(q->context, item, at->item))
            return false;
        i++;
    }
    return true;
}

static bool near_between(const two_trees *t, int a, int b)
{
    const node *na = &t->a->nodes[a], *nb = &t->b->nodes[b];
    turned_box box = turned(t, &nb->box);
    if (!may_face(t, a, b) || !are_near(t, &na->box, &box))
        return true;
    if (na->item >= 0)
        return near_item(t, a, b);
    if (nb->item >= 0 || half_perimeter(&na->box) > half_perimeter(&nb->box))
        return near_between(t, a + 1, b) && near_between(t, t->a->nodes[a + 1].next, b);
    return near_between(t, a, b + 1) && near_between(t, a, t->b->nodes[b + 1].next);
}

void gw_aabb_trees_near(const gw_aabb_tree *a, const gw_aabb_tree *b, const gw_aabb_near *near)
{
    assert(a && b && near && near->triangle && near->near);
    two_trees t = {
        .a = a, .b = b, .near = near, .turn_cosine = cos(near->turn), .turn_sine = sin(near->turn)};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            t.sizes.m[i][k] = fabs(near->rotation.m[i][k]);
    if (a->item_count > 0 && b->item_count > 0)
        near_between(&t, 0, 0);
}

/* Distance of a point from a box, squared (m^2). */
static double box_distance2(const gw_aabb *b, gw_vec3 x)
{
    return gw_norm2(gw_v3(fmax(0, fmax(b->low.x - x.x, x.x - b->high.x)),
                          fmax(0, fmax(b->low.y - x.y, x.y - b->high.y)),
                          fmax(0, fmax(b->low.z - x.z, x.z - b->high.z))));
}

int gw_aabb_tree_nearest(const gw_aabb_tree *t, gw_vec3 point,
                         double (*distance)(const void *context, int item, gw_vec3 point),
                         const void *context)
{
    enum { DEPTH = 64 };
    assert(t && distance && t->item_count > 0);
    int stack[DEPTH], count = 0, best = -1;
    double least = INFINITY;
    stack[count++] = 0;
    while (count > 0) {
        int i = stack[--count];
        const node *n = &t->nodes[i];
        if (box_distance2(&n->box, point) >= least * least)
            continue;
        if (n->item >= 0) {
            double d = distance(context, n->item, point);
            best = d < least ? n->item : best;
            least = fmin(least, d);
            continue;
        }
        int first = i + 1, other = t->nodes[first].next;
        bool nearer =
            box_distance2(&t->nodes[first].box, point) < box_distance2(&t->nodes[other].box, point);
        assert(count + 2 <= DEPTH);
        stack[count++] = nearer ? other : first;
        stack[count++] = nearer ? first : other;
    }
    return best;
}
