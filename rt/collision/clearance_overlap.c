/*
 * Directions of least overlap. Any thread, no memory taken.
 *
 * Two polytopes: the least overlap is along a normal of a face of either, or across an edge of
 * each, and these are few enough to be tried. Any cores whose set of differences has a volume: a
 * polytope inside that set is grown where its surface is nearest to the origin until it stays
 * there (the expanding polytope of van den Bergen 2001; here from any start: the origin need not
 * be inside, so that solids that all but touch are not special).
 */
#include <string.h>

#include "rt/collision/gjk_epa.h"

/* ---- faces and edges of polytopes ---------------------------------------------------------- */

static void try_direction(const gw_convex *a, const gw_convex *b, gw_vec3 n,
                          gw_signed_distance *best)
{
    double s = gw_separation_along(a, b, n);
    if (s > best->gap)
        *best = (gw_signed_distance){s, n};
}

/* Polytopes: what says how far they reach along n says it for the other way. */
static void try_both(const gw_convex *a, const gw_convex *b, gw_vec3 n, gw_signed_distance *best)
{
    double low_a, high_a, low_b, high_b, apart = gw_dot(n, gw_sub(a->at, b->at));
    gw_convex_project(a, n, &low_a, &high_a);
    gw_convex_project(b, n, &low_b, &high_b);
    double along = apart + low_a - high_b, against = low_b - high_a - apart;
    if (along > best->gap)
        *best = (gw_signed_distance){along, n};
    if (against > best->gap)
        *best = (gw_signed_distance){against, gw_neg(n)};
}

static void try_faces(const gw_convex *a, const gw_convex *b, const gw_convex *of, double sign,
                      gw_signed_distance *best)
{
    const gw_polytope *p = of->polytope;
    for (int i = 0; i < p->face_count; i++)
        try_direction(a, b, gw_scale(sign, gw_mat3_mul(&of->turn, p->faces[i].normal)), best);
}

/* Across a line that meets a point or a line along it; across nothing where both are points. */
static void try_thin(const gw_convex *a, const gw_convex *b, const gw_convex *thin,
                     gw_signed_distance *best)
{
    const gw_polytope *p = thin->polytope;
    if (p->face_count > 0)
        return;
    gw_vec3 n = {0, 0, 1};
    if (p->direction_count > 0)
        n = gw_any_normal(gw_mat3_mul(&thin->turn, p->directions[0]));
    try_both(a, b, n, best);
}

void gw_sat_polytopes(const gw_convex *a, const gw_convex *b, gw_signed_distance *gap)
{
    const gw_polytope *pa = a->polytope, *pb = b->polytope;
    *gap = (gw_signed_distance){-INFINITY, {0, 0, 1}};
    try_faces(a, b, a, -1, gap);
    try_faces(a, b, b, 1, gap);
    for (int i = 0; i < pa->direction_count; i++) {
        gw_vec3 along = gw_mat3_mul(&a->turn, pa->directions[i]);
        for (int k = 0; k < pb->direction_count; k++) {
            gw_vec3 n = gw_cross(along, gw_mat3_mul(&b->turn, pb->directions[k]));
            double length = gw_norm(n);
            if (length > 1e-6)
                try_both(a, b, gw_scale(1 / length, n), gap);
        }
    }
    try_thin(a, b, a, gap);
    try_thin(a, b, b, gap);
}

/* ---- the growing polytope ------------------------------------------------------------------ */

enum { POINTS = 100, FACES = 2 * POINTS, EDGES = FACES };

typedef struct side {
    int w[3]; /* counter-clockwise from outside */
    gw_vec3 normal;
    double offset;
} side;

typedef struct growth {
    const gw_convex *a, *b;
    int point_count, side_count;
    gw_vec3 w[POINTS];
    side sides[FACES];
} growth;

static gw_vec3 farthest(const growth *g, gw_vec3 n)
{
    return gw_sub(gw_convex_support(g->a, n), gw_convex_support(g->b, gw_neg(n)));
}

/* False where the three are on a line, or there is no room. */
static bool add_side(growth *g, int i, int j, int k)
{
    gw_vec3 *w = g->w, n = gw_cross(gw_sub(w[j], w[i]), gw_sub(w[k], w[i]));
    double length = gw_norm(n);
    if (g->side_count == FACES || length == 0)
        return false;
    n = gw_scale(1 / length, n);
    g->sides[g->side_count++] = (side){{i, j, k}, n, gw_dot(n, w[i])};
    return true;
}

/* Of the farthest points along and against d, the one that `measure` finds larger. */
static gw_vec3 out_of(const growth *g, gw_vec3 from, gw_vec3 d)
{
    gw_vec3 p = farthest(g, d), q = farthest(g, gw_neg(d));
    return fabs(gw_dot(d, gw_sub(p, from))) >= fabs(gw_dot(d, gw_sub(q, from))) ? p : q;
}

/* A tetrahedron to begin with, as large as four directions make it. */
static bool begin(growth *g, double size)
{
    g->point_count = 4;
    g->side_count = 0;
    g->w[0] = farthest(g, gw_v3(1, 0, 0));
    g->w[1] = farthest(g, gw_v3(-1, 0, 0));
    gw_vec3 along = gw_unit(gw_sub(g->w[1], g->w[0]));
    if (gw_norm2(along) == 0)
        return false;
    gw_vec3 across = gw_any_normal(along);
    g->w[2] = out_of(g, g->w[0], across);
    if (gw_norm(gw_reject(gw_sub(g->w[2], g->w[0]), along)) < 1e-9 * size)
        g->w[2] = out_of(g, g->w[0], gw_cross(along, across));
    gw_vec3 n = gw_unit(gw_cross(along, gw_sub(g->w[2], g->w[0])));
    g->w[3] = out_of(g, g->w[0], n);
    double height = gw_dot(n, gw_sub(g->w[3], g->w[0]));
    if (gw_norm2(n) == 0 || fabs(height) < 1e-9 * size)
        return false;
    int j = height > 0 ? 2 : 1, k = 3 - j; /* the fourth is below the first three */
    return add_side(g, 0, j, k) && add_side(g, 0, 3, j) && add_side(g, j, 3, k) &&
           add_side(g, k, 3, 0);
}

/* Notes the edge, or strikes out its other direction: what is left goes round the hole. */
static void note(int (*edges)[2], int *count, int from, int to)
{
    for (int i = 0; i < *count; i++) {
        if (edges[i][0] == to && edges[i][1] == from) {
            edges[i][0] = edges[*count - 1][0];
            edges[i][1] = edges[*count - 1][1];
            --*count;
            return;
        }
    }
    edges[*count][0] = from;
    edges[(*count)++][1] = to;
}

/* Adds a point outside: what it sees goes, its rim is joined to the point. False where it is no
 * longer a proper polytope. */
static bool grow(growth *g, gw_vec3 point, double slack)
{
    int edges[EDGES + 3][2], count = 0, kept = 0;
    if (g->point_count == POINTS)
        return false;
    for (int i = 0; i < g->side_count; i++) {
        side *s = &g->sides[i];
        if (gw_dot(s->normal, point) <= s->offset + slack) {
            g->sides[kept++] = *s;
            continue;
        }
        for (int k = 0; k < 3; k++) {
            if (count >= EDGES)
                return false;
            note(edges, &count, s->w[k], s->w[(k + 1) % 3]);
        }
    }
    g->side_count = kept;
    int p = g->point_count++;
    g->w[p] = point;
    for (int i = 0; i < count; i++)
        if (!add_side(g, edges[i][0], edges[i][1], p))
            return false;
    return count > 0;
}

void gw_epa(const gw_convex *a, const gw_convex *b, gw_signed_distance *gap)
{
    growth g = {.a = a, .b = b};
    double size = a->size + b->size;
    /* round solids have no last side: polishing does the rest */
    bool round = gw_convex_is_curved(a) || gw_convex_is_curved(b);
    double enough = (round ? 1e-5 : 1e-13) * size;
    *gap = (gw_signed_distance){-INFINITY, {0, 0, 1}};
    if (!begin(&g, size))
        return;
    for (bool more = true; more;) {
        const side *nearest = &g.sides[0];
        for (int i = 1; i < g.side_count; i++)
            if (g.sides[i].offset < nearest->offset)
                nearest = &g.sides[i];
        gw_vec3 n = nearest->normal, w = farthest(&g, n);
        double offset = nearest->offset, beyond = gw_dot(n, w);
        if (-beyond > gap->gap)
            *gap = (gw_signed_distance){-beyond, gw_neg(n)};
        more = beyond - offset > enough && grow(&g, w, 1e-14 * size);
    }
}
