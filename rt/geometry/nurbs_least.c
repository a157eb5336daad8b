/*
 * The least value of a function over a shape, by branch and bound. Parts of the tree's leaves are
 * halved, depth first, until their bound is near the least value found. With half lengths
 * h of the parameters about the middle c, and bounds M of the derivatives over the leaf,
 *
 *   |S - S_c| <= |S_u hu +- S_v hv| + (M_uu hu^2 + 2 M_uv hu hv + M_vv hv^2) / 2
 *   |N - N_c| <= a (|S_v| + b) + b |S_u|,    N = S_u x S_v, not normalised
 *
 * a = M_uu hu + M_uv hv and b = M_uv hu + M_vv hv being bounds of the changes of S_u and S_v. The
 * angle of N and N_c is then at most the arc sine of that over |N_c|. Where v = v_0 is one point,
 *
 *   T = S_u / (v - v_0),    |T - T_c| <= M_uuv hu + M_uvv hv / 2
 *
 * takes the place of S_u, which vanishes there: T is the mean of S_uv along the meridian. Any
 * thread, RT safe.
 */
#include "rt/geometry/nurbs_least.h"

#include <assert.h>

#include "rt/geometry/nurbs_tree.h"

#define DEPTH      60   /* halvings of a leaf: then doubles are at their end */
#define FIRST_STEP 0.02 /* of the domain, of the final descent */
#define LAST_STEP  1e-8
#define MOST_STEPS 60

/* Parts are not halved whose bound is this part of the least value: a first search is coarse. */
static const double enough_of[] = {0.5, 0.9};

typedef struct search {
    const gw_nurbs *nurbs;
    gw_nurbs_function *function;
    const void *context;
    double enough;
    gw_nurbs_span span;
    int cells; /* left */
    gw_nurbs_least *least;
} search;

/* Half lengths of a leaf's or part's parameters. */
static void half_lengths(const gw_nurbs *s, const gw_nurbs_leaf *part, double h[2])
{
    for (int k = 0; k < 2; k++)
        h[k] = k < s->dimension ? 0.5 * (part->high[k] - part->low[k]) : 0;
}

/* Largest angle that a vector of that length makes with its sum with one no longer than `change`.
 */
static double turn_by(double change, double length)
{
    return change < length ? asin(change / length) : GW_PI;
}

/* The same of the product of two vectors that change by no more than a and b. */
static double turn_of_product(gw_vec3 u, double a, gw_vec3 v, double b)
{
    return turn_by(a * (gw_norm(v) + b) + b * gw_norm(u), gw_norm(gw_cross(u, v)));
}

/* Largest angle of the normals of a part with those half lengths to that in its middle, in a leaf
 * with an end that is one point; pi if it has none. */
static double turn_about_pole(const gw_nurbs *s, const double middle[2], const double h[2],
                              const gw_nurbs_leaf *leaf, const gw_nurbs_point *at)
{
    for (int end = 0; end < 4 && s->dimension == 2; end++) {
        int out = end / 2; /* the direction away from the pole */
        const gw_nurbs_direction *d = &s->direction[out];
        double pole = end % 2 ? d->high : d->low;
        if (s->edge[end] || d->closed || middle[out] == pole ||
            (end % 2 ? leaf->high[out] : leaf->low[out]) != pole)
            continue;
        gw_vec3 su = at->d[1][0], sv = at->d[0][1];
        gw_vec3 t = gw_scale(1 / (middle[out] - pole), out ? su : sv);
        double a = leaf->bound[1][1] * h[1 - out] + leaf->bound[2 - 2 * out][2 * out] * h[out];
        double b = leaf->bound[1 + out][2 - out] * h[1 - out] +
                   0.5 * leaf->bound[2 - out][1 + out] * h[out];
        return turn_of_product(t, b, out ? sv : su, a);
    }
    return GW_PI;
}

/* The part about `middle` with half lengths h, within a leaf whose bounds are known. */
static gw_nurbs_part part_about(search *s, const double middle[2], const double h[2],
                                const gw_nurbs_leaf *leaf)
{
    gw_nurbs_part part = {.parameter = {middle[0], middle[1]}};
    gw_nurbs_point at;
    gw_nurbs_evaluate(s->nurbs, middle, 1, &s->span, &at);
    gw_vec3 su = at.d[1][0], sv = at.d[0][1], u = gw_scale(h[0], su), v = gw_scale(h[1], sv);
    part.point = at.d[0][0];
    part.reach = sqrt(fmax(gw_norm2(gw_add(u, v)), gw_norm2(gw_sub(u, v)))) +
                 gw_nurbs_part_deviation(leaf, h);
    double a = leaf->bound[2][0] * h[0] + leaf->bound[1][1] * h[1];
    double b = leaf->bound[1][1] * h[0] + leaf->bound[0][2] * h[1];
    bool curve = s->nurbs->dimension == 1;
    gw_vec3 n = curve ? su : gw_cross(su, sv);
    double length = gw_norm(n);
    part.along = length > 0 ? gw_scale(1 / length, n) : gw_v3(0, 0, 0);
    part.turn = curve ? turn_by(a, length)
                      : fmin(turn_of_product(su, a, sv, b),
                             turn_about_pole(s->nurbs, middle, h, leaf, &at));
    return part;
}

/* The function's bound on a part, whose value in the middle is noted. */
static double bound_of(search *s, const gw_nurbs_part *part)
{
    double bound, value = s->function(s->context, part, &bound);
    s->cells--;
    if (value < s->least->value) {
        s->least->value = value;
        s->least->at = *part;
        s->least->at.reach = s->least->at.turn = 0;
    }
    return bound;
}

static bool has_ended(const search *s)
{
    return s->cells <= 0 || s->least->value <= s->enough;
}

/* Searches a leaf, and lowers the bound to that of its parts; false where it was not searched to
 * the end. */
static bool search_leaf(search *s, const gw_nurbs_leaf *leaf, double share, double *bound)
{
    gw_nurbs_leaf stack[DEPTH + 1];
    int count = 1;
    stack[0] = *leaf;
    while (count > 0) {
        gw_nurbs_leaf *top = &stack[count - 1];
        double h[2], middle[2];
        if (has_ended(s))
            return false;
        half_lengths(s->nurbs, top, h);
        for (int k = 0; k < 2; k++)
            middle[k] = 0.5 * (top->low[k] + top->high[k]);
        gw_nurbs_part part = part_about(s, middle, h, leaf);
        double on_part = bound_of(s, &part);
        if (on_part >= share * s->least->value) {
            *bound = fmin(*bound, on_part);
            count--;
            continue;
        }
        if (count > DEPTH)
            return false;
        int k = leaf->bound[0][1] * h[1] > leaf->bound[1][0] * h[0];
        stack[count] = *top;
        top->high[k] = stack[count].low[k] = middle[k];
        count++;
    }
    return true;
}

/* Searches all leaves; false where that did not come to its end. */
static bool search_all(search *s, double share, double *bound)
{
    const gw_nurbs_tree *tree = s->nurbs->tree;
    *bound = HUGE_VAL;
    for (int i = 0; i < tree->leaf_count; i++)
        if (!search_leaf(s, &tree->leaves[i], share, bound))
            return false;
    return true;
}

/* Moves the least value to a local minimum, by ever smaller steps along the parameters. */
static void descend(search *s)
{
    const gw_nurbs_leaf none = {.low = {0, 0}};
    const double h[2] = {0, 0};
    double step = FIRST_STEP;
    for (int n = 0; n < MOST_STEPS && step > LAST_STEP; n++) {
        double before = s->least->value;
        for (int i = 0; i < 2 * s->nurbs->dimension; i++) {
            const gw_nurbs_direction *d = &s->nurbs->direction[i / 2];
            double x[2] = {s->least->at.parameter[0], s->least->at.parameter[1]};
            x[i / 2] += (i % 2 ? step : -step) * (d->high - d->low);
            gw_nurbs_into_domain(s->nurbs, x);
            gw_nurbs_part part = part_about(s, x, h, &none);
            bound_of(s, &part);
        }
        step *= s->least->value < before ? 1.5 : 0.5;
    }
}

void gw_nurbs_least_value(const gw_nurbs *nurbs, gw_nurbs_function *function, const void *context,
                          double enough, int cells, gw_nurbs_least *least)
{
    assert(nurbs && function && least && cells > 0);
    const gw_nurbs_tree *tree = nurbs->tree;
    search s = {nurbs, function, context, enough, {{0, 0}}, cells, least};
    *least = (gw_nurbs_least){.value = HUGE_VAL, .bound = -HUGE_VAL};
    /* a first value of each leaf: the less the least one is, the fewer parts are halved */
    for (int i = 0; i < tree->leaf_count && !has_ended(&s); i++) {
        const gw_nurbs_leaf *leaf = &tree->leaves[i];
        const double h[2] = {0, 0}, middle[2] = {0.5 * (leaf->low[0] + leaf->high[0]),
                                                 0.5 * (leaf->low[1] + leaf->high[1])};
        gw_nurbs_part part = part_about(&s, middle, h, leaf);
        bound_of(&s, &part);
    }
    double bound;
    for (int k = 0; k < 2 && search_all(&s, enough_of[k], &bound); k++)
        least->bound = bound;
    if (least->bound > enough)
        descend(&s);
}
