/*
 * An AABB tree: items are split at the median of their centres along the longest side of their
 * common box. Nodes are stored in preorder: a node's first child follows it, and `next` is the node
 * after its whole subtree, so a query walks the array forwards and a refit walks it backwards.
 */
#include "rt/collision/aabb_tree.h"

#include <assert.h>
#include <stdlib.h>

#include "rt/base/small.h"

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

enum { DEPTH = 64 /* of the stack of a search */ };

/* Two children, at distances d, onto the stack of a search that takes the nearer one next. */
static void push_farther_first(const int child[2], const double d[2], int stack[DEPTH],
                               double away[DEPTH], int *count)
{
    assert(*count + 2 <= DEPTH);
    int nearer = d[0] < d[1] ? 0 : 1;
    for (int k = 0; k < 2; k++) {
        int which = k == 0 ? 1 - nearer : nearer;
        stack[*count] = child[which];
        away[(*count)++] = d[which];
    }
}

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

/* An oriented box and the magnitudes of its axes' entries. */
typedef struct oriented_probe {
    const gw_oriented_box *box;
    gw_mat3 sizes;
    gw_vec3 half; /* along the tree's axes */
} oriented_probe;

static oriented_probe probe_of(const gw_oriented_box *box)
{
    oriented_probe p = {.box = box};
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            p.sizes.m[i][k] = fabs(box->rotation.m[i][k]);
    p.half = gw_mat3_mul(&p.sizes, box->half);
    return p;
}

static double largest(double x, double y, double z)
{
    return gw_max(gw_max(x, y), z);
}

/* The largest separation along an axis of either box (m), at most their distance. */
static double separation(const oriented_probe *p, const gw_aabb *b)
{
    gw_vec3 d = gw_sub(gw_scale(0.5, gw_add(b->low, b->high)), p->box->centre),
            half = gw_scale(0.5, gw_sub(b->high, b->low));
    double of_tree = largest(fabs(d.x) - half.x - p->half.x, fabs(d.y) - half.y - p->half.y,
                             fabs(d.z) - half.z - p->half.z);
    gw_vec3 own = gw_mat3_tmul(&p->box->rotation, d), size = gw_mat3_tmul(&p->sizes, half);
    double of_box =
        largest(fabs(own.x) - size.x - p->box->half.x, fabs(own.y) - size.y - p->box->half.y,
                fabs(own.z) - size.z - p->box->half.z);
    return gw_max(of_tree, of_box);
}

int gw_aabb_tree_query_oriented(const gw_aabb_tree *t, const gw_oriented_box *probe, double reach,
                                int *items, int capacity)
{
    assert(t && probe && items && capacity >= 0);
    const oriented_probe p = probe_of(probe);
    int count = 0;
    for (int i = 0; i < t->node_count;) {
        const node *n = &t->nodes[i];
        if (separation(&p, &n->box) > reach) {
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

void gw_aabb_tree_approach(const gw_aabb_tree *t, const gw_oriented_box *probe, double reach,
                           double (*visit)(void *context, int item), void *context)
{
    assert(t && probe && visit);
    const oriented_probe p = probe_of(probe);
    int stack[DEPTH], count = 0;
    double away[DEPTH];
    if (t->item_count > 0) {
        stack[0] = 0;
        away[count++] = separation(&p, &t->nodes[0].box);
    }
    while (count > 0 && reach >= 0) {
        int i = stack[--count];
        const node *n = &t->nodes[i];
        if (away[count] > reach)
            continue;
        if (n->item >= 0) {
            reach = visit(context, n->item);
            continue;
        }
        int child[2] = {i + 1, t->nodes[i + 1].next};
        double d[2];
        for (int k = 0; k < 2; k++)
            d[k] = separation(&p, &t->nodes[child[k]].box);
        push_farther_first(child, d, stack, away, &count);
    }
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

/* Whether normals within the cones may be on one line, or opposite; `along`: the cosine between
 * their axes. */
static bool may_face(const two_trees *t, const normal_cone *ca, const normal_cone *cb, double along)
{
    double most = ca->angle + cb->angle + t->near->turn;
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

/* An item of the first tree in the frame of the second: the plane of its triangle and those through
 * its sides, outward, which bound what is near; and the axis of its normals. */
typedef struct bounding_planes {
    gw_vec3 n[4], size[4], axis; /* size: magnitudes of n's entries */
    double offset[4], reach;
} bounding_planes;

static bounding_planes planes_of(const two_trees *t, int a)
{
    const gw_aabb_near *q = t->near;
    bounding_planes p;
    gw_vec3 corner[3];
    p.reach = q->triangle(q->context, t->a->nodes[a].item, corner);
    p.n[3] = gw_unit(gw_cross(gw_sub(corner[1], corner[0]), gw_sub(corner[2], corner[0])));
    for (int k = 0; k < 3; k++)
        p.n[k] = gw_unit(gw_cross(gw_sub(corner[(k + 1) % 3], corner[k]), p.n[3]));
    for (int k = 0; k < 4; k++) {
        p.offset[k] = gw_dot(p.n[k], gw_sub(corner[k % 3], q->origin)) + p.reach;
        p.n[k] = gw_mat3_tmul(&q->rotation, p.n[k]);
        p.size[k] = gw_v3(fabs(p.n[k].x), fabs(p.n[k].y), fabs(p.n[k].z));
    }
    p.axis = t->a->cones ? gw_mat3_tmul(&q->rotation, t->a->cones[a].axis) : gw_v3(0, 0, 0);
    return p;
}

static bool is_within(const bounding_planes *p, const gw_aabb *b)
{
    gw_vec3 middle = gw_scale(0.5, gw_add(b->high, b->low)),
            size = gw_scale(0.5, gw_sub(b->high, b->low));
    for (int k = 3; k >= 0; k--) {
        double above = gw_dot(p->n[k], middle) - p->offset[k], half = gw_dot(p->size[k], size);
        if (above > half || (k == 3 && above < -half - 2 * p->reach))
            return false;
    }
    return true;
}

/* The item of node a against those below node b; false where it ended. */
static bool near_item(const two_trees *t, int a, int b)
{
    const gw_aabb_near *q = t->near;
    int item = t->a->nodes[a].item;
    bounding_planes planes = planes_of(t, a);
    bool cones = t->a->cones && t->b->cones;
    for (int i = b, end = t->b->nodes[b].next; i < end;) {
        const node *at = &t->b->nodes[i];
        const normal_cone *cone = cones ? &t->b->cones[i] : NULL;
        if (!is_within(&planes, &at->box) ||
            (cones && !may_face(t, &t->a->cones[a], cone, gw_dot(planes.axis, cone->axis)))) {
            i = at->next;
            continue;
        }
        if (at->item >= 0 && !q->near(q->context, item, at->item))
            return false;
        i++;
    }
    return true;
}

static bool may_nodes_face(const two_trees *t, int a, int b)
{
    if (!t->a->cones || !t->b->cones)
        return true;
    const normal_cone *ca = &t->a->cones[a], *cb = &t->b->cones[b];
    return may_face(t, ca, cb, gw_dot(ca->axis, gw_mat3_mul(&t->near->rotation, cb->axis)));
}

static bool near_between(const two_trees *t, int a, int b)
{
    const node *na = &t->a->nodes[a], *nb = &t->b->nodes[b];
    turned_box box = turned(t, &nb->box);
    if (!are_near(t, &na->box, &box) || !may_nodes_face(t, a, b))
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
    return gw_norm2(gw_v3(largest(0, b->low.x - x.x, x.x - b->high.x),
                          largest(0, b->low.y - x.y, x.y - b->high.y),
                          largest(0, b->low.z - x.z, x.z - b->high.z)));
}

int gw_aabb_tree_nearest(const gw_aabb_tree *t, gw_vec3 point, double range,
                         double (*distance)(const void *context, int item, gw_vec3 point),
                         const void *context)
{
    const double slack = 1 + 1e-12; /* an item's distance is rounded */
    assert(t && distance && range >= 0);
    int stack[DEPTH], count = 0, best = -1;
    double least = range, most2 = range * range * slack, away[DEPTH]; /* squared */
    if (t->item_count > 0) {
        stack[0] = 0;
        away[count++] = box_distance2(&t->nodes[0].box, point);
    }
    while (count > 0) {
        int i = stack[--count];
        const node *n = &t->nodes[i];
        if (away[count] > most2)
            continue;
        if (n->item >= 0) {
            double d = distance(context, n->item, point);
            if (d < least || (d <= least && (best < 0 || i < best))) {
                best = i;
                least = d;
                most2 = d * d * slack;
            }
            continue;
        }
        int child[2] = {i + 1, t->nodes[i + 1].next};
        double d[2];
        for (int k = 0; k < 2; k++)
            d[k] = box_distance2(&t->nodes[child[k]].box, point);
        push_farther_first(child, d, stack, away, &count);
    }
    return best < 0 ? -1 : t->nodes[best].item;
}
