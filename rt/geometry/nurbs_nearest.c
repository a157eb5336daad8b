/*
 * Closest points of curves and surfaces.
 *
 * f(u, v) = |S(u, v) - X|^2 / 2 with gradient g_i = d . S_i and Hessian H_ij = S_i . S_j + d .
 * S_ij, d = S - X. The tree has a bounding box of Bezier control points at each node; its leaves
 * are parts of a span with bounds M of the derivatives to third order over the part. For a cell, a
 * part of a leaf with centre c and half lengths h, they give
 *
 *   |S - (S_c + S_u x + S_v y)| <= e = (M_uu hu^2 + 2 M_uv hu hv + M_vv hv^2) / 2
 *   |H - H_c| <= V  entry by entry, from the products of bounds and half lengths
 *
 * so X is at least as far from the cell as from the parallelogram of the tangents, less e; and,
 * with x and y in half lengths, f there is at least
 *
 *   f_c + min (g_u x + (H_uu - V_uu) x^2 / 2) + min (g_v y + (H_vv - V_vv) y^2 / 2) - |H_uv| - V_uv
 *
 * which near a centre of curvature, where g and H vanish, differs from f by terms of third order, e
 * by those of second; where H_c - V is positive definite f is convex on the cell, which then has
 * one minimum, found by Newton's method within its bounds; and where |g_c| > (|H_c| + V) h along a
 * direction, f falls all over the cell towards one edge, which is a cell of one dimension less.
 * Cells are taken from a heap, the closest bound first, and halved if none of this decides.
 */
#include "rt/geometry/nurbs_nearest.h"

#include <assert.h>
#include <string.h>

#include "rt/base/limits.h"
#include "rt/geometry/nurbs_pole.h"
#include "rt/geometry/nurbs_tree.h"

#define CERTIFIED      1e-9 /* of the size: accepted difference of `distance` and `bound` */
#define HEAP_ROOM      768  /* entries; parts that find no room are dropped and limit `bound` */
#define ITERATIONS     60
#define FOCAL_LIMIT    1e-3 /* of 1 - kappa delta */
#define POLE_STEPS     20   /* of Newton's method about a pole */
#define FARTHEST_ROUND 0.25 /* of a closed direction, in a step */

/* ---- a local minimum within bounds ---------------------------------------------------------- */

/* f, gradient and Hessian at parameters x. */
typedef struct local_model {
    gw_nurbs_point at;
    gw_vec3 d;
    double f, g[2], h[2][2], metric[2][2]; /* metric: S_i . S_j */
} local_model;

/* At the point m->at. */
static void model_of(gw_vec3 to, local_model *m)
{
    m->d = gw_sub(m->at.d[0][0], to);
    m->f = 0.5 * gw_norm2(m->d);
    gw_vec3 first[2] = {m->at.d[1][0], m->at.d[0][1]};
    gw_vec3 second[2][2] = {{m->at.d[2][0], m->at.d[1][1]}, {m->at.d[1][1], m->at.d[0][2]}};
    for (int i = 0; i < 2; i++) {
        m->g[i] = gw_dot(m->d, first[i]);
        for (int j = 0; j < 2; j++) {
            m->metric[i][j] = gw_dot(first[i], first[j]);
            m->h[i][j] = m->metric[i][j] + gw_dot(m->d, second[i][j]);
        }
    }
}

static void model_at(const gw_nurbs *s, gw_vec3 to, const double x[2], gw_nurbs_span *span,
                     local_model *m)
{
    gw_nurbs_evaluate(s, x, 2, span, &m->at);
    model_of(to, m);
}

/* Solves m step = -g for the parameters that are free; false where m is not positive definite. */
static bool solve_free(const double m[2][2], const double g[2], const bool fixed[2], double step[2])
{
    step[0] = step[1] = 0;
    if (fixed[0] || fixed[1]) {
        int k = fixed[0] ? 1 : 0;
        if (fixed[k] || !(m[k][k] > 0))
            return fixed[k];
        step[k] = -g[k] / m[k][k];
        return true;
    }
    double det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    if (!(m[0][0] > 0) || !(det > 1e-14 * m[0][0] * m[1][1]))
        return false;
    step[0] = (-g[0] * m[1][1] + g[1] * m[0][1]) / det;
    step[1] = (-g[1] * m[0][0] + g[0] * m[1][0]) / det;
    return true;
}

/* The length on the shape of a change of parameters (m). */
static double length_of(const local_model *m, const double step[2])
{
    double s2 = 0;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            s2 += step[i] * m->metric[i][j] * step[j];
    return sqrt(fmax(0, s2));
}

typedef gw_nurbs_rectangle rectangle;

/* Marks the parameters that are fixed: at a bound beyond which f falls, and v of a curve. */
static void held_at_bounds(const gw_nurbs *s, const rectangle *r, const double x[2],
                           const double g[2], bool fixed[2])
{
    for (int k = 0; k < 2; k++)
        fixed[k] = k >= s->dimension || (x[k] <= r->low[k] && g[k] >= 0) ||
                   (x[k] >= r->high[k] && g[k] <= 0);
}

/* Newton step, or Gauss-Newton step if the Hessian is not positive definite, cut at the rectangle;
 * if the cut step is not a descent direction, the steps of the single parameters. True if it is the
 * Newton step. */
static bool find_step(const gw_nurbs *s, const rectangle *r, const double x[2],
                      const local_model *m, double step[2])
{
    bool fixed[2];
    held_at_bounds(s, r, x, m->g, fixed);
    bool newton = solve_free((const double(*)[2])m->h, m->g, fixed, step);
    if (!newton && !solve_free((const double(*)[2])m->metric, m->g, fixed, step))
        step[0] = step[1] = 0;
    for (int i = 0; i < 2; i++) {
        /* near a pole a step may go round many times */
        double period = s->direction[i].high - s->direction[i].low;
        double most = s->direction[i].closed ? FARTHEST_ROUND * period : HUGE_VAL;
        step[i] = fmin(fmax(step[i], -most), most);
        step[i] = fmin(fmax(x[i] + step[i], r->low[i]), r->high[i]) - x[i];
    }
    if (m->g[0] * step[0] + m->g[1] * step[1] < 0)
        return newton;
    for (int i = 0; i < 2; i++) {
        double curvature = fmax(m->h[i][i], m->metric[i][i]);
        step[i] = fixed[i] || !(curvature > 0) ? 0 : -0.5 * m->g[i] / curvature;
        step[i] = fmin(fmax(x[i] + step[i], r->low[i]), r->high[i]) - x[i];
    }
    return false;
}

/* The minimum of f that lies downhill of x within the rectangle. Moves x, leaves the model there;
 * `from`: the point where it began; `first_step`: length of the first step (m). */
static void minimise_in_rectangle(const gw_nurbs *s, gw_vec3 to, const rectangle *r, double x[2],
                                  gw_nurbs_span *span, local_model *m, gw_vec3 *from,
                                  double *first_step)
{
    model_at(s, to, x, span, m);
    *from = m->at.d[0][0];
    bool last = false;
    for (int k = 0; k < ITERATIONS && !last; k++) {
        double step[2], start[2] = {x[0], x[1]}, f = m->f;
        bool newton = find_step(s, r, x, m, step);
        double length = length_of(m, step);
        if (k == 0)
            *first_step = length;
        /* a Newton step this short leaves an error of its square */
        last = length <= (newton ? 1e-8 : 1e-15) * s->size;
        /* a short one gains less than the distance's rounding */
        bool sure = last || (newton && length <= 1e-6 * s->size);
        double t = 1;
        do {
            for (int i = 0; i < 2; i++)
                x[i] = fmin(fmax(start[i] + t * step[i], r->low[i]), r->high[i]);
            model_at(s, to, x, span, m);
            t *= 0.5;
        } while (!sure && m->f > f && t > 1e-9);
        if (!sure && m->f > f) { /* rounding level */
            memcpy(x, start, sizeof start);
            model_at(s, to, x, span, m);
            return;
        }
    }
}

/* ---- the global search ---------------------------------------------------------------------- */

/* A part of the shape to be searched: a node of the tree, or a cell of a leaf. */
typedef struct waiting {
    double bound; /* of the distance (m) */
    int node;     /* or ~leaf for a cell */
    rectangle r;
} waiting;

typedef struct search {
    const gw_nurbs *s;
    gw_vec3 to;
    gw_nurbs_nearest *best;
    double given_up; /* the least bound of the parts that found no room (m) */
    gw_nurbs_span span;
    int count;
    waiting heap[HEAP_ROOM];
} search;

static void heap_push(search *q, const waiting *w)
{
    if (q->count == HEAP_ROOM) {
        q->given_up = fmin(q->given_up, w->bound);
        return;
    }
    int i = q->count++;
    while (i > 0 && q->heap[(i - 1) / 2].bound > w->bound) {
        q->heap[i] = q->heap[(i - 1) / 2];
        i = (i - 1) / 2;
    }
    q->heap[i] = *w;
}

static waiting heap_pop(search *q)
{
    waiting top = q->heap[0];
    const waiting *last = &q->heap[--q->count];
    int i = 0;
    for (int child; (child = 2 * i + 1) < q->count; i = child) {
        if (child + 1 < q->count && q->heap[child + 1].bound < q->heap[child].bound)
            child++;
        if (q->heap[child].bound >= last->bound)
            break;
        q->heap[i] = q->heap[child];
    }
    q->heap[i] = *last;
    return top;
}

static double distance_outside(double low, double high, double x)
{
    return x < low ? low - x : x > high ? x - high : 0;
}

static double box_distance(const gw_aabb *b, gw_vec3 x)
{
    return gw_norm(gw_v3(distance_outside(b->low.x, b->high.x, x.x),
                         distance_outside(b->low.y, b->high.y, x.y),
                         distance_outside(b->low.z, b->high.z, x.z)));
}

static double clamp_to_unit(double x)
{
    return x < -1 ? -1 : x > 1 ? 1 : x;
}

/* The distance of the parallelogram x a + y b, |x|, |y| <= 1, from -d. */
static double parallelogram_distance(gw_vec3 a, gw_vec3 b, gw_vec3 d)
{
    double aa = gw_norm2(a), ab = gw_dot(a, b), bb = gw_norm2(b);
    double da = gw_dot(d, a), db = gw_dot(d, b), det = aa * bb - ab * ab;
    if (det > 1e-12 * aa * bb) {
        double x = (-da * bb + db * ab) / det, y = (-db * aa + da * ab) / det;
        if (fabs(x) <= 1 && fabs(y) <= 1)
            return gw_norm(gw_mul_add(gw_mul_add(d, x, a), y, b));
    }
    double least = HUGE_VAL;
    for (int side = -1; side <= 1; side += 2) {
        double y = bb > 0 ? clamp_to_unit(-(db + side * ab) / bb) : 0;
        least = fmin(least, gw_norm2(gw_mul_add(gw_mul_add(d, side, a), y, b)));
        double x = aa > 0 ? clamp_to_unit(-(da + side * ab) / aa) : 0;
        least = fmin(least, gw_norm2(gw_mul_add(gw_mul_add(d, x, a), side, b)));
    }
    return sqrt(least);
}

/* The Hessian of f over a cell, in units of its half lengths: at the centre, and bounds of the
 * entries' differences from that. */
typedef struct hessian_range {
    double h[2][2], v[2][2];
} hessian_range;

static hessian_range range_over(const gw_nurbs_leaf *part, const local_model *m, const double h[2],
                                double radius)
{
    const double(*b)[GW_NURBS_ORDERS] = part->bound;
    double d = sqrt(2 * m->f);
    double a = h[0] * sqrt(m->metric[0][0]), c = h[1] * sqrt(m->metric[1][1]);
    double uu = h[0] * h[0], uv = h[0] * h[1], vv = h[1] * h[1];
    /* changes of S_u and S_v */
    double da = b[2][0] * uu + b[1][1] * uv, dc = b[1][1] * uv + b[0][2] * vv;
    hessian_range r;
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            r.h[i][j] = h[i] * h[j] * m->h[i][j];
    r.v[0][0] = da * (2 * a + da) + uu * (radius * b[2][0] + d * (b[3][0] * h[0] + b[2][1] * h[1]));
    r.v[1][1] = dc * (2 * c + dc) + vv * (radius * b[0][2] + d * (b[1][2] * h[0] + b[0][3] * h[1]));
    r.v[0][1] = r.v[1][0] =
        a * dc + c * da + da * dc + uv * (radius * b[1][1] + d * (b[2][1] * h[0] + b[1][2] * h[1]));
    return r;
}

/* True if f is convex over the cell for all signs of the entries of v. A cell without extent in a
 * direction is an edge. */
static bool is_convex(const hessian_range *r, const double h[2])
{
    double uu = r->h[0][0] - r->v[0][0], vv = r->h[1][1] - r->v[1][1];
    double uv = fabs(r->h[0][1]) + r->v[0][1];
    if (h[0] == 0 || h[1] == 0)
        return (h[0] == 0 || uu > 0) && (h[1] == 0 || vv > 0);
    return uu > 0 && vv > 0 && uu * vv > uv * uv;
}

/* The least of g t + a t^2 / 2 for |t| <= 1. */
static double least_of_parabola(double g, double a)
{
    g = fabs(g);
    return a > g ? -0.5 * g * g / a : 0.5 * a - g;
}

/* No point of the cell is closer than this (m). */
static double quadratic_bound(const hessian_range *r, const local_model *m, const double h[2])
{
    double f = m->f - fabs(r->h[0][1]) - r->v[0][1];
    for (int k = 0; k < 2; k++)
        f += least_of_parabola(h[k] * m->g[k], r->h[k][k] - r->v[k][k]);
    return sqrt(fmax(0, 2 * f));
}

/* The way along direction k, -1 or 1, in which f falls over the whole cell; 0 if there may be
 * none. */
static int falls_along(const hessian_range *r, const local_model *m, const double h[2], int k)
{
    double change = fabs(r->h[k][0]) + r->v[k][0] + fabs(r->h[k][1]) + r->v[k][1];
    if (h[k] == 0 || !(h[k] * fabs(m->g[k]) > change))
        return 0;
    return m->g[k] > 0 ? -1 : 1;
}

static void offer_candidate(search *q, const double x[2], const local_model *m)
{
    double distance = sqrt(2 * m->f);
    if (distance >= q->best->distance)
        return;
    q->best->distance = distance;
    q->best->point = m->at.d[0][0];
    memcpy(q->best->parameter, x, sizeof q->best->parameter);
}

/* True if the cell is an edge of another cell, without extent in a direction, and not one point. */
static bool is_regular_edge(const gw_nurbs *s, const rectangle *cell)
{
    bool any = false;
    for (int k = 0; k < 2 && s->dimension == 2; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        if (cell->low[k] != cell->high[k])
            continue;
        if ((cell->low[k] == d->low && !s->edge[2 * k]) ||
            (cell->low[k] == d->high && !s->edge[2 * k + 1]))
            return false;
        any = true;
    }
    return any;
}

/* A cell: its centre and half lengths, the model at the centre, bounds of distance and Hessian. */
typedef struct cell {
    double x[2], h[2];
    local_model m;
    double bound; /* no point of it is closer (m) */
    hessian_range range;
} cell;

/* True if the bounds over a part that contains the cell decide it: it is too far away, or has one
 * minimum, which is then found. */
static bool is_decided(search *q, const gw_nurbs_leaf *part, const rectangle *r, cell *c)
{
    double least = q->best->distance - CERTIFIED * q->s->size;
    gw_vec3 a = gw_scale(c->h[0], c->m.at.d[1][0]), b = gw_scale(c->h[1], c->m.at.d[0][1]);
    double e = gw_nurbs_part_deviation(part, c->h);
    c->bound = fmax(c->bound, parallelogram_distance(a, b, c->m.d) - e);
    if (c->bound >= least)
        return true;
    c->range = range_over(part, &c->m, c->h, gw_norm(a) + gw_norm(b) + e);
    c->bound = fmax(c->bound, quadratic_bound(&c->range, &c->m, c->h));
    if (c->bound >= least)
        return true;
    bool convex = is_convex(&c->range, c->h);
    if (convex || q->best->cells == 1) {
        double x[2] = {c->x[0], c->x[1]}, first;
        local_model m; /* c->m stays that of the centre, which the bounds are about */
        gw_vec3 from;
        minimise_in_rectangle(q->s, q->to, r, x, &q->span, &m, &from, &first);
        offer_candidate(q, x, &m);
    }
    return convex;
}

/*
 * Decides a cell, or replaces it by the edge towards which f falls all over the cell, or by its
 * halves. The bounds of its leaf decide most cells; the cell's own bounds are more expensive but
 * tighter, which is needed at a pole and on an edge that is one point.
 */
static void branch_cell(search *q, const waiting *w)
{
    const gw_nurbs *s = q->s;
    gw_nurbs_leaf part = s->tree->leaves[~w->node];
    const rectangle *r = &w->r;
    cell c = {.bound = w->bound};
    bool whole =
        !memcmp(r->low, part.low, sizeof r->low) && !memcmp(r->high, part.high, sizeof r->high);
    for (int k = 0; k < s->dimension; k++) {
        c.x[k] = 0.5 * (r->low[k] + r->high[k]);
        c.h[k] = 0.5 * (r->high[k] - r->low[k]);
    }
    q->best->cells++;
    q->span = (gw_nurbs_span){{part.span[0], part.span[1]}};
    model_at(s, q->to, c.x, &q->span, &c.m);
    offer_candidate(q, c.x, &c.m);
    if (is_decided(q, &part, r, &c))
        return;
    if (!whole && !is_regular_edge(s, r)) {
        memcpy(part.low, r->low, sizeof part.low);
        memcpy(part.high, r->high, sizeof part.high);
        gw_aabb box = gw_nurbs_bound_part(s, &part);
        c.bound = fmax(c.bound, box_distance(&box, q->to));
        if (is_decided(q, &part, r, &c))
            return;
    }
    waiting next = *w;
    next.bound = c.bound;
    for (int k = 0; k < s->dimension; k++) {
        int towards = falls_along(&c.range, &c.m, c.h, k);
        if (towards == 0)
            continue;
        next.r.low[k] = next.r.high[k] = towards < 0 ? r->low[k] : r->high[k];
        heap_push(q, &next);
        return;
    }
    waiting other = next;
    int k = gw_nurbs_worse_direction(&part, c.h);
    next.r.high[k] = other.r.low[k] = 0.5 * (r->low[k] + r->high[k]);
    heap_push(q, &next);
    heap_push(q, &other);
}

static void open_node(search *q, const gw_nurbs_node *node)
{
    const gw_nurbs_tree *t = q->s->tree;
    for (int i = 0; i < 2; i++) {
        const gw_nurbs_node *child = &t->nodes[node->child[i]];
        waiting w = {.bound = box_distance(&child->box, q->to), .node = node->child[i]};
        if (w.bound < q->best->distance)
            heap_push(q, &w);
    }
}

/* Makes a leaf its cell, and replaces another node by its children: then false. */
static bool is_cell(search *q, waiting *w)
{
    const gw_nurbs_tree *t = q->s->tree;
    if (w->node < 0)
        return true;
    const gw_nurbs_node *node = &t->nodes[w->node];
    if (node->child[0] >= 0) {
        open_node(q, node);
        return false;
    }
    const gw_nurbs_leaf *leaf = &t->leaves[~node->child[0]];
    w->node = node->child[0];
    w->r = (rectangle){{leaf->low[0], leaf->low[1]}, {leaf->high[0], leaf->high[1]}};
    return true;
}

/* Searches until no cell can be closer than nearest->distance, a point closer than `enough` is
 * found, or the number of cells is used up. Returns the least bound of the remaining cells (m). */
static double run_search(search *q, const gw_nurbs *s, gw_vec3 to, int cells, double enough,
                         gw_nurbs_nearest *nearest)
{
    q->s = s, q->to = to, q->best = nearest;
    q->given_up = HUGE_VAL, q->count = 0;
    heap_push(q, &(waiting){.bound = box_distance(&s->tree->nodes[0].box, to)});
    while (q->count > 0 && !(nearest->distance < enough)) {
        if (q->heap[0].bound >= nearest->distance - CERTIFIED * s->size || nearest->cells >= cells)
            return q->heap[0].bound;
        waiting w = heap_pop(q);
        if (is_cell(q, &w))
            branch_cell(q, &w);
    }
    return HUGE_VAL;
}

/* False for a point of a diverging step: not finite, or beyond GW_MAX_COORDINATE. */
static bool is_reachable(gw_vec3 x)
{
    return fmax(fabs(x.x), fmax(fabs(x.y), fabs(x.z))) <= GW_MAX_COORDINATE && gw_finite3(x);
}

bool gw_nurbs_is_within(const gw_nurbs *s, gw_vec3 to, double distance, int *cells)
{
    assert(s && s->tree && *cells > 0);
    search q;
    gw_nurbs_nearest nearest = {.distance = distance};
    if (is_reachable(to))
        run_search(&q, s, to, *cells, distance, &nearest);
    *cells = nearest.cells;
    return nearest.distance < distance;
}

void gw_nurbs_nearest_point(const gw_nurbs *s, gw_vec3 to, gw_nurbs_nearest *nearest)
{
    assert(s && nearest);
    gw_nurbs_nearest_within(s, to, GW_NURBS_MAX_CELLS, nearest);
}

void gw_nurbs_nearest_within(const gw_nurbs *s, gw_vec3 to, int cells, gw_nurbs_nearest *nearest)
{
    assert(s && s->tree && cells > 0);
    *nearest = (gw_nurbs_nearest){.distance = HUGE_VAL};
    if (!is_reachable(to)) {
        for (int k = 0; k < s->dimension; k++)
            nearest->parameter[k] = s->direction[k].low;
        gw_nurbs_point corner;
        gw_nurbs_evaluate(s, nearest->parameter, 0, NULL, &corner);
        nearest->point = corner.d[0][0];
        return;
    }
    search q;
    double certified = CERTIFIED * s->size, bound = run_search(&q, s, to, cells, 0, nearest);
    /* the distance is flat at its minimum, which is located to half the digits only */
    double parameter[2] = {nearest->parameter[0], nearest->parameter[1]};
    gw_nurbs_point at;
    gw_nurbs_follow(s, to, parameter, NULL, &at);
    gw_nurbs_into_domain(s, parameter);
    if (gw_distance(at.d[0][0], to) <= nearest->distance) {
        nearest->distance = gw_distance(at.d[0][0], to);
        nearest->point = at.d[0][0];
        memcpy(nearest->parameter, parameter, sizeof parameter);
    }
    /* cells were decided within the tolerance */
    nearest->bound = fmax(0, fmin(fmin(bound, q.given_up), nearest->distance - certified));
}

/* ---- all local minima ----------------------------------------------------------------------- */

#define SMALL_CELL 1e-3 /* of the size: a cell this small is searched from its centre */
#define STATIONARY 1e-7 /* of the size: Newton steps this short remain at a minimum */
#define SAME_POINT 1e-6 /* of the size */

/* True if no point within the cell is a local minimum: f falls across all of it, or is convex
 * nowhere. */
static bool has_no_minimum(const gw_nurbs *s, const cell *c)
{
    const hessian_range *r = &c->range;
    double uu = r->h[0][0] + r->v[0][0], vv = r->h[1][1] + r->v[1][1];
    double uv = fmax(0, fabs(r->h[0][1]) - r->v[0][1]);
    for (int k = 0; k < s->dimension; k++)
        if (falls_along(r, &c->m, c->h, k) != 0)
            return true;
    return uu < 0 || (s->dimension == 2 && (vv < 0 || uu * vv < uv * uv));
}

/* Local minima found so far, the nearest first. */
typedef struct minima_list {
    int count, capacity;
    gw_nurbs_nearest *of;
} minima_list;

static void add_minimum(search *q, minima_list *list, const gw_nurbs_nearest *found)
{
    int i = list->count;
    for (int k = 0; k < list->count; k++)
        if (gw_distance(list->of[k].point, found->point) < SAME_POINT * q->s->size)
            return;
    while (i > 0 && list->of[i - 1].distance > found->distance)
        i--;
    if (i == list->capacity)
        return;
    list->count += list->count < list->capacity;
    memmove(list->of + i + 1, list->of + i, (size_t)(list->count - 1 - i) * sizeof *list->of);
    list->of[i] = *found;
}

/* Adds the minimum of a cell with one at most, if it is not beyond the cell's bounds. */
static void find_minimum(search *q, minima_list *list, const rectangle *r, const cell *c)
{
    double x[2] = {c->x[0], c->x[1]}, first;
    local_model m;
    gw_vec3 from;
    minimise_in_rectangle(q->s, q->to, r, x, &q->span, &m, &from, &first);
    gw_nurbs_nearest found = {.distance = sqrt(2 * m.f), .point = m.at.d[0][0]};
    double to[2] = {x[0], x[1]};
    gw_nurbs_point at;
    if (!(found.distance < q->best->distance) ||
        gw_nurbs_follow(q->s, q->to, to, NULL, &at) != GW_NURBS_REGULAR ||
        gw_distance(at.d[0][0], found.point) > STATIONARY * q->s->size)
        return;
    gw_nurbs_into_domain(q->s, to);
    memcpy(found.parameter, to, sizeof to);
    found.point = at.d[0][0];
    found.distance = found.bound = gw_distance(found.point, q->to);
    add_minimum(q, list, &found);
}

/* Finds the minimum of a cell that has one at most, leaves one without out, or replaces it by its
 * halves. */
static void branch_minima(search *q, minima_list *list, const waiting *w)
{
    const gw_nurbs *s = q->s;
    const gw_nurbs_leaf *part = &s->tree->leaves[~w->node];
    const rectangle *r = &w->r;
    cell c = {.bound = w->bound};
    for (int k = 0; k < s->dimension; k++) {
        c.x[k] = 0.5 * (r->low[k] + r->high[k]);
        c.h[k] = 0.5 * (r->high[k] - r->low[k]);
    }
    q->best->cells++;
    q->span = (gw_nurbs_span){{part->span[0], part->span[1]}};
    model_at(s, q->to, c.x, &q->span, &c.m);
    gw_vec3 a = gw_scale(c.h[0], c.m.at.d[1][0]), b = gw_scale(c.h[1], c.m.at.d[0][1]);
    double e = gw_nurbs_part_deviation(part, c.h), radius = gw_norm(a) + gw_norm(b) + e;
    c.range = range_over(part, &c.m, c.h, radius);
    c.bound = fmax(c.bound, parallelogram_distance(a, b, c.m.d) - e);
    if (c.bound >= q->best->distance || has_no_minimum(s, &c))
        return;
    if (is_convex(&c.range, c.h) || radius < SMALL_CELL * s->size) {
        find_minimum(q, list, r, &c);
        return;
    }
    waiting next = *w, other = *w;
    int k = gw_norm(b) > gw_norm(a); /* the bounds of H depend on the longer side */
    next.bound = other.bound = c.bound;
    next.r.high[k] = other.r.low[k] = c.x[k];
    heap_push(q, &next);
    heap_push(q, &other);
}

int gw_nurbs_minima(const gw_nurbs *s, gw_vec3 to, double distance, int *cells, int capacity,
                    gw_nurbs_nearest *minima)
{
    assert(s && s->tree && *cells > 0 && capacity > 0 && minima);
    gw_nurbs_nearest limit = {.distance = distance};
    minima_list list = {.capacity = capacity, .of = minima};
    search q;
    q.s = s, q.to = to, q.best = &limit;
    q.given_up = HUGE_VAL, q.count = 0;
    if (is_reachable(to))
        heap_push(&q, &(waiting){.bound = box_distance(&s->tree->nodes[0].box, to)});
    while (q.count > 0 && q.heap[0].bound < distance && limit.cells < *cells) {
        waiting w = heap_pop(&q);
        if (is_cell(&q, &w))
            branch_minima(&q, &list, &w);
    }
    *cells = limit.cells;
    return list.count;
}

/* ---- following a branch --------------------------------------------------------------------- */

gw_nurbs_rectangle gw_nurbs_smooth_part(const gw_nurbs *s, const double x[2])
{
    rectangle r = {{0, 0}, {0, 0}};
    for (int k = 0; k < s->dimension; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        double period = d->high - d->low;
        double turns = d->closed ? floor((x[k] - d->low) / period) : 0;
        double inside = x[k] - turns * period;
        r.low[k] = d->closed ? -HUGE_VAL : d->low;
        r.high[k] = d->closed ? HUGE_VAL : d->high;
        for (int i = 0; i < d->kink_count; i++) {
            double kink = d->kinks[i] + turns * period;
            if (d->kinks[i] <= inside) {
                r.low[k] = kink;
                if (d->closed && i == 0 && isinf(r.high[k]))
                    r.high[k] = nextafter(kink + period, kink);
            } else {
                r.high[k] = nextafter(kink, -HUGE_VAL);
                if (d->closed && isinf(r.low[k]))
                    r.low[k] = d->kinks[d->kink_count - 1] + (turns - 1) * period;
                break;
            }
            if (d->closed && i == d->kink_count - 1)
                r.high[k] = nextafter(d->kinks[0] + (turns + 1) * period, -HUGE_VAL);
        }
    }
    return r;
}

/* The least eigenvalue of 1 - kappa delta, of G^-1 H, on the parameters that are free. */
static double focal_margin(const local_model *m, const bool fixed[2])
{
    if (fixed[0] && fixed[1])
        return 1;
    if (fixed[0] || fixed[1]) {
        int k = fixed[0] ? 1 : 0;
        return m->metric[k][k] > 0 ? m->h[k][k] / m->metric[k][k] : 1;
    }
    double det = m->metric[0][0] * m->metric[1][1] - m->metric[0][1] * m->metric[0][1];
    if (!(det > 1e-14 * m->metric[0][0] * m->metric[1][1]))
        return 1; /* at a pole */
    double trace = (m->h[0][0] * m->metric[1][1] + m->h[1][1] * m->metric[0][0] -
                    2 * m->h[0][1] * m->metric[0][1]) /
                   det;
    double product = (m->h[0][0] * m->h[1][1] - m->h[0][1] * m->h[0][1]) / det;
    return 0.5 * trace - sqrt(fmax(0, 0.25 * trace * trace - product));
}

bool gw_nurbs_follow_about_pole(const gw_nurbs *s, gw_vec3 to, double x[2], gw_nurbs_event *event)
{
    static const bool fixed[2] = {false, false};
    local_model m;
    double xy[2], step[2], found[2];
    const gw_nurbs_pole *pole = gw_nurbs_pole_near(s, x, xy);
    if (!pole)
        return false;
    bool last = false;
    for (int i = 0; i < POLE_STEPS; i++) {
        if (!gw_tangent_plane_evaluate(s, &pole->plane, xy, 2, found, &m.at))
            return false;
        model_of(to, &m);
        if (last) {
            x[0] = found[0], x[1] = found[1];
            *event = focal_margin(&m, fixed) < FOCAL_LIMIT ? GW_NURBS_FOCAL : GW_NURBS_REGULAR;
            return true;
        }
        if (!solve_free((const double(*)[2])m.h, m.g, fixed, step) &&
            !solve_free((const double(*)[2])m.metric, m.g, fixed, step))
            return false;
        double length = length_of(&m, step), most = 0.25 * pole->plane.reach;
        double share = length > most ? most / length : 1;
        xy[0] += share * step[0];
        xy[1] += share * step[1];
        if (!(hypot(xy[0], xy[1]) < pole->plane.reach))
            return false;
        last = length <= 1e-8 * s->size; /* the error left is its square */
    }
    return false;
}

gw_nurbs_event gw_nurbs_follow(const gw_nurbs *s, gw_vec3 to, double x[2], gw_nurbs_span *span,
                               gw_nurbs_point *at)
{
    assert(s && gw_finite3(to));
    gw_nurbs_span own = {{0, 0}};
    gw_nurbs_event event = GW_NURBS_REGULAR;
    local_model m;
    bool fixed[2];
    double step = 0;
    gw_vec3 from = {0, 0, 0};
    span = span ? span : &own;
    if (gw_nurbs_follow_about_pole(s, to, x, &event)) {
        gw_nurbs_evaluate(s, x, 2, span, at);
        return event;
    }
    for (int part = 0; part < 4; part++) {
        rectangle r = gw_nurbs_smooth_part(s, x);
        double first;
        gw_vec3 began;
        minimise_in_rectangle(s, to, &r, x, span, &m, &began, &first);
        from = part == 0 ? began : from;
        step += first;
        held_at_bounds(s, &r, x, m.g, fixed);
        /* over a kink, into the next smooth part; twice at the same kink stays there */
        bool over = false;
        for (int k = 0; k < s->dimension && !over; k++) {
            const gw_nurbs_direction *d = &s->direction[k];
            if (!fixed[k] || !gw_nurbs_ends_at_kink(d, x[k] <= r.low[k] ? r.low[k] : r.high[k]))
                continue;
            event = GW_NURBS_KINK;
            over = part < 3;
            x[k] =
                x[k] <= r.low[k] ? nextafter(r.low[k], -HUGE_VAL) : nextafter(r.high[k], HUGE_VAL);
        }
        if (!over)
            break;
    }
    /* a branch does not end at an edge that is a pole */
    if (gw_nurbs_follow_about_pole(s, to, x, &event)) {
        gw_nurbs_evaluate(s, x, 2, span, at);
        bool led = gw_distance(at->d[0][0], from) <= 10 * step + 1e-9 * s->size;
        return led ? event : GW_NURBS_FOCAL;
    }
    *at = m.at;
    if (focal_margin(&m, fixed) < FOCAL_LIMIT)
        return GW_NURBS_FOCAL;
    /* a branch that continues is within a few first Newton steps */
    if (gw_distance(m.at.d[0][0], from) > 10 * step + 1e-9 * s->size && event != GW_NURBS_KINK)
        return GW_NURBS_FOCAL;
    for (int k = 0; k < s->dimension && event == GW_NURBS_REGULAR; k++)
        if (fixed[k] && (x[k] <= s->direction[k].low || x[k] >= s->direction[k].high) &&
            !s->direction[k].closed)
            event = GW_NURBS_EDGE;
    return event;
}
