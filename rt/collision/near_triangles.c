/*
 * Triangles of two free-form surfaces, a and b, that are near one another. The trees of both meshes
 * find them (aabb_tree.h); of each triangle of the surface with smaller ones the nearest of the
 * other is kept.
 *
 * A list that was found at one pose holds all triangles within its reach there. Since then no point
 * of a moved against b by more than
 *
 *   motion = |x(c) - x_0(c)| + 2 sin(angle / 2) r
 *
 * c and r being those of a sphere about the smaller surface, so the list holds all triangles within
 * `reach - motion`; the filter of normals allows for a turn by `ahead / r`. A height changes by n .
 * (x - x_0) to first order, x being the point of a and n the normal of b's triangle. RT safe.
 */
#include "rt/collision/near_triangles.h"

#include <assert.h>
#include <stdlib.h>

#include "rt/base/small.h"

enum { PLAIN_QUERIES = 64 /* without looking ahead after a list was full */ };

#define EFFORT_OF_TRIANGLE 1.0 /* of the larger ones, in steps of a free body, */
#define EFFORT_OF_PAIR     0.2 /* and of a smaller one that is near it */

/* ---- the pose --------------------------------------------------------------------------------
 */

static gw_vec3 of_a(const gw_near_query *q, gw_vec3 x)
{
    return gw_add(q->origin, gw_mat3_mul(&q->rotation, x));
}

static gw_vec3 into_a(const gw_near_query *q, gw_vec3 x)
{
    return gw_mat3_tmul(&q->rotation, gw_sub(x, q->origin));
}

static gw_mat3 transpose(const gw_mat3 *m)
{
    gw_mat3 t;
    for (int i = 0; i < 3; i++)
        for (int k = 0; k < 3; k++)
            t.m[i][k] = m->m[k][i];
    return t;
}

static double radius_of(const gw_free_form *f)
{
    return 0.5 * gw_distance(f->mesh->bounds.low, f->mesh->bounds.high);
}

/* By how much a point of a that is near b moved from the list's pose to the query's, at most (m).
 */
static double motion_since(const gw_near_query *q, const gw_near_list *l)
{
    double ra = radius_of(q->a), rb = radius_of(q->b) + l->reach, turned2 = 0;
    const gw_aabb *box = ra < rb ? &q->a->mesh->bounds : &q->b->mesh->bounds;
    gw_vec3 c = gw_scale(0.5, gw_add(box->low, box->high));
    if (!(ra < rb)) /* where it was in a's frame */
        c = gw_mat3_tmul(&l->rotation, gw_sub(c, l->origin));
    for (int i = 0; i < 9; i++) {
        double d = q->rotation.m[i / 3][i % 3] - l->rotation.m[i / 3][i % 3];
        turned2 += d * d; /* 8 sin(angle / 2)^2 */
    }
    gw_vec3 was = gw_add(l->origin, gw_mat3_mul(&l->rotation, c));
    return gw_distance(of_a(q, c), was) + sqrt(0.5 * turned2) * fmin(ra, rb);
}

/* ---- the search ------------------------------------------------------------------------------
 */

typedef struct search {
    const gw_near_query *query;
    gw_near_list *list;
    bool by_a;                   /* the triangles of a are the smaller ones: an entry for each */
    double turn;                 /* that the list allows for (rad) */
    bool full;                   /* there are more triangles than it holds */
    int slot[GW_NEAR_SLOTS_MAX]; /* index + 1, by that triangle */
} search;

static unsigned slot_of(int i)
{
    unsigned h = (unsigned)i * 0x9e3779b1u;
    return (h ^ h >> 15) % GW_NEAR_SLOTS_MAX;
}

static gw_near_triangle *entry_of(search *s, int triangle)
{
    gw_near_list *l = s->list;
    unsigned at = slot_of(triangle);
    for (; s->slot[at] != 0; at = (at + 1) % GW_NEAR_SLOTS_MAX) {
        gw_near_triangle *e = &l->near[s->slot[at] - 1];
        if ((s->by_a ? e->a : e->b) == triangle)
            return e;
    }
    if (l->count == GW_NEAR_MAX)
        return NULL;
    s->slot[at] = ++l->count;
    gw_near_triangle *e = &l->near[l->count - 1];
    e->a = e->b = triangle;
    e->height = INFINITY;
    return e;
}

static gw_vec3 middle_of(const gw_free_form *f, int t, double *radius)
{
    gw_vec3 middle = {0, 0, 0};
    *radius = 0;
    for (int k = 0; k < 3; k++)
        middle = gw_mul_add(middle, 1. / 3, gw_triangle_corner(f, t, k));
    for (int k = 0; k < 3; k++)
        *radius = fmax(*radius, gw_distance(middle, gw_triangle_corner(f, t, k)));
    return middle;
}

static void note_edge(search *s, int which, int triangle)
{
    const gw_free_form *f = which == 0 ? s->query->a : s->query->b;
    int *edges = s->list->edges[which], *count = &s->list->edge_count[which];
    if (f->lean[triangle] < 1)
        return;
    for (int i = 0; i < *count; i++)
        if (edges[i] == triangle)
            return;
    if (*count == GW_FREE_FORM_EDGED)
        s->full = true;
    else
        edges[(*count)++] = triangle;
}

/* Keeps of each smaller triangle the larger one that is nearest to its middle, unless the latter's
 * normals do not lead there. */
static bool on_near(void *context, int u, int t)
{
    search *s = context;
    const gw_near_query *q = s->query;
    const gw_free_form *fine = s->by_a ? q->a : q->b, *coarse = s->by_a ? q->b : q->a;
    int a = s->by_a ? t : u, b = s->by_a ? u : t;
    gw_add_effort(q->effort, EFFORT_OF_PAIR);
    note_edge(s, 0, a);
    note_edge(s, 1, b);
    static const double thirds[3] = {1. / 3, 1. / 3, 1. / 3};
    double radius, share[3];
    gw_vec3 middle = middle_of(fine, t, &radius), x = s->by_a ? of_a(q, middle) : into_a(q, middle);
    gw_vec3 y = gw_triangle_closest(coarse, u, x, share), d = gw_sub(x, y);
    double distance = gw_norm(d), aside = gw_norm(gw_reject(d, coarse->normals[u]));
    if (aside > (coarse->lean[u] + s->turn) * distance + coarse->sag + radius)
        return true;
    gw_near_triangle *e = entry_of(s, t);
    if (!e) {
        s->full = true;
        return false;
    }
    if (distance >= fabs(e->height))
        return true;
    gw_vec3 up = s->by_a ? d : gw_neg(gw_mat3_mul(&q->rotation, d));
    e->a = a, e->b = b;
    e->height = copysign(distance, gw_dot(up, q->b->normals[b]));
    e->at = s->by_a ? middle : y;
    gw_triangle_parameters(coarse, u, share, s->by_a ? e->x : e->of);
    gw_triangle_parameters(fine, t, thirds, s->by_a ? e->of : e->x);
    return true;
}

/* The surface over the triangle is within its own sag. */
static double corners_of(void *context, int triangle, gw_vec3 corner[3])
{
    const search *s = context;
    const gw_free_form *f = s->by_a ? s->query->b : s->query->a,
                       *fine = s->by_a ? s->query->a : s->query->b;
    for (int k = 0; k < 3; k++)
        corner[k] = gw_triangle_corner(f, triangle, k);
    gw_add_effort(s->query->effort, EFFORT_OF_TRIANGLE);
    return s->list->reach + f->sampled[triangle].sag + fine->sag;
}

/* Numbers the corners of the smaller triangles. */
static void number_corners(search *s)
{
    gw_near_list *l = s->list;
    const gw_mesh *mesh = s->by_a ? s->query->a->mesh : s->query->b->mesh;
    int vertex[3 * GW_NEAR_MAX];
    for (int i = 0; i < GW_NEAR_SLOTS_MAX; i++)
        s->slot[i] = 0;
    l->corners = 0;
    for (int i = 0; i < l->count; i++)
        for (int k = 0; k < 3; k++) {
            int v = mesh->triangles[s->by_a ? l->near[i].a : l->near[i].b][k];
            unsigned at = slot_of(v);
            while (s->slot[at] != 0 && vertex[s->slot[at] - 1] != v)
                at = (at + 1) % GW_NEAR_SLOTS_MAX;
            if (s->slot[at] == 0) {
                vertex[l->corners] = v;
                s->slot[at] = ++l->corners;
            }
            l->near[i].corner[k] = s->slot[at] - 1;
        }
}

static double triangle_size(const gw_free_form *f)
{
    return f->surface->size / sqrt(f->mesh->triangle_count + 1.);
}

/* The triangles within the query's reach and `ahead` (m) of the other surface's; false where there
 * are more than the list holds. */
static bool fill(const gw_near_query *q, double ahead, gw_near_list *l)
{
    search s = {.query = q, .list = l, .by_a = triangle_size(q->a) < triangle_size(q->b)};
    s.turn = ahead / fmin(radius_of(q->a), radius_of(q->b));
    gw_aabb_near near = {.origin = q->origin,
                         .rotation = q->rotation,
                         .reach = q->reach + ahead + q->a->sag + q->b->sag,
                         .opposite = q->a->mesh->closed && q->b->mesh->closed,
                         .turn = s.turn,
                         .triangle = corners_of,
                         .near = on_near,
                         .context = &s};
    if (!s.by_a) {
        near.origin = into_a(q, (gw_vec3){0, 0, 0});
        near.rotation = transpose(&q->rotation);
    }
    l->found = true;
    l->origin = q->origin;
    l->rotation = q->rotation;
    l->reach = q->reach + ahead;
    l->mean = 0;
    l->count = l->edge_count[0] = l->edge_count[1] = 0;
    gw_trimesh_near_pairs(s.by_a ? q->b->trimesh : q->a->trimesh,
                          s.by_a ? q->a->trimesh : q->b->trimesh, &near);
    number_corners(&s);
    return !s.full;
}

/* ---- queries ---------------------------------------------------------------------------------
 */

/* Whether the list holds all that is within the query's reach. */
static bool serves(const gw_near_query *q, const gw_near_list *l)
{
    return l->found && q->reach + motion_since(q, l) <= l->reach;
}

/* A list that is full without looking ahead is as good as it gets, for this query alone. */
static void find_anew(const gw_near_query *q, gw_near_list *l)
{
    if (l->plain_ahead == 0 && fill(q, q->ahead, l))
        return;
    l->plain_ahead = l->plain_ahead > 0 ? l->plain_ahead - 1 : PLAIN_QUERIES;
    l->found = fill(q, 0, l);
}

void gw_near_find(const gw_near_query *q, gw_near_list *l, double height[GW_NEAR_MAX])
{
    assert(q->a && q->b && q->reach >= 0 && q->ahead >= 0 && l && height);
    if (!serves(q, l))
        find_anew(q, l);
    gw_mat3 turned;
    gw_vec3 moved = gw_sub(q->origin, l->origin);
    for (int i = 0; i < 9; i++)
        turned.m[i / 3][i % 3] = q->rotation.m[i / 3][i % 3] - l->rotation.m[i / 3][i % 3];
    for (int i = 0; i < l->count; i++) {
        const gw_near_triangle *e = &l->near[i];
        gw_vec3 d = gw_add(moved, gw_mat3_mul(&turned, e->at));
        height[i] = e->height + gw_dot(q->b->normals[e->b], d);
    }
}

int gw_near_minima(const gw_near_list *l, const double *height, double side,
                   int starts[GW_NEAR_STARTS_MAX])
{
    double least[3 * GW_NEAR_MAX];
    int count = 0;
    for (int i = 0; i < l->corners; i++)
        least[i] = INFINITY;
    for (int i = 0; i < l->count; i++)
        for (int k = 0; k < 3; k++) {
            double *at = &least[l->near[i].corner[k]];
            *at = gw_min(*at, side * height[i]);
        }
    for (int i = 0; i < l->count; i++) {
        const int *corner = l->near[i].corner;
        double h = side * height[i];
        if (h > least[corner[0]] || h > least[corner[1]] || h > least[corner[2]] ||
            (count == GW_NEAR_STARTS_MAX && h >= side * height[starts[count - 1]]))
            continue;
        int k = count < GW_NEAR_STARTS_MAX ? count++ : count - 1;
        for (; k > 0 && side * height[starts[k - 1]] > h; k--)
            starts[k] = starts[k - 1];
        starts[k] = i;
    }
    return count;
}

/* ---- lists of pairs --------------------------------------------------------------------------
 */

struct gw_near_lists {
    uint64_t clock; /* of queries */
    gw_near_list list[GW_NEAR_LISTS];
};

gw_near_lists *gw_near_lists_create(void)
{
    return calloc(1, sizeof(gw_near_lists));
}

void gw_near_lists_destroy(gw_near_lists *lists)
{
    free(lists);
}

void gw_near_lists_clear(gw_near_lists *lists)
{
    lists->clock = 0;
    for (int i = 0; i < GW_NEAR_LISTS; i++) {
        lists->list[i].used = 0;
        lists->list[i].found = false;
    }
}

gw_near_list *gw_near_list_of(gw_near_lists *lists, int geom_a, int geom_b)
{
    assert(lists);
    gw_near_list *oldest = &lists->list[0], *own = NULL;
    for (int i = 0; i < GW_NEAR_LISTS; i++) {
        gw_near_list *l = &lists->list[i];
        oldest = l->used < oldest->used ? l : oldest;
        if (l->used > 0 && l->geom_a == geom_a && l->geom_b == geom_b)
            own = l;
    }
    if (!own) {
        own = oldest;
        own->geom_a = geom_a, own->geom_b = geom_b;
        own->found = false;
        own->plain_ahead = 0;
    }
    own->used = ++lists->clock;
    return own;
}
