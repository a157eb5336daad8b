/*
 * Local minima of the distance of a free-form shape from another element.
 *
 * Both elements are points that depend on parameters x: A and B, of a line one without bounds, of a
 * point and a plane none. With D = A - B the minimum of
 *
 *   f = |D|^2 / 2,   g_i = D . D_i,   H_ij = D_i . D_j + D . D_ij
 *
 * or, from a plane with normal n, of f = s n . D, with the size of the shape as a factor, is found
 * by Newton's method with bounds: parameters at an end beyond which f falls are fixed. Where H is
 * not positive definite it is raised by a multiple of the metric. Near a pole x and y of its
 * tangent plane take the place of the parameters; a sharp bend is crossed, and kept where f falls
 * towards it from both sides.
 *
 * At a minimum h = |D|, and dh = D / |D| . (dA - dB): the parameters' part vanishes, at an end too.
 * Of a point X signed by a surface's normal n at the closest point S,
 *
 *   h = n . (X - S),   dh/dX = n
 *
 * and so it is on the tangent plane beyond an edge. There S moves along the edge, w' = S_w . X' /
 * H_ww, and n with it:
 *
 *   dh/dX = n + (n_w . (X - S)) S_w / H_ww
 *
 * On a sharp bend h is the length of X - S with the sign of n . (X - S). Any thread, RT safe.
 */
#include "rt/geometry/free_form_distance.h"

#include <assert.h>
#include <string.h>

#include "rt/base/small.h"
#include "rt/geometry/nurbs_least.h"
#include "rt/geometry/nurbs_pole.h"
#include "rt/geometry/nurbs_tree.h"

#define ITERATIONS  60
#define PARTS       4     /* smooth parts that a search goes through at most */
#define COINCIDENT  1e-12 /* m: points nearer have no direction between them */
#define QUADRATIC   1e-8  /* of the size: a Newton step this short leaves an error of its square */
#define ROUNDING    1e-15 /* of the size */
#define LONGEST     0.25  /* of the size: a step */
#define FLAT        1e-3  /* least relative curvature, times the size, that determines a minimum */
#define ABOUT_POLE  0.2   /* of the reach of its tangent plane: farther out parameters are used */
#define BESIDE_APEX 1e-6  /* of the domain: where the normal beside an apex is taken */
#define PART_CELLS  200   /* of a search for the point closest to the middle of a part */

/* ---- a point on an element ------------------------------------------------------------------- */

typedef struct moving_point {
    const gw_element *e;
    int count;                     /* parameters */
    double *x;                     /* they themselves */
    double z[2];                   /* what Newton's method takes for them: */
    const gw_tangent_plane *plane; /* x and y of this plane; NULL: themselves */
    gw_nurbs_rectangle within;
    gw_nurbs_span span;
    gw_nurbs_point on; /* derivatives by z, in the shape's frame */
    gw_vec3 p, d[2], dd[2][2];
} moving_point;

static int parameter_count(const gw_element *e)
{
    return gw_is_free_form(e->kind) ? e->nurbs->dimension : e->kind == GW_LINE;
}

/* Chooses the coordinates at x. */
static void choose_coordinates(moving_point *m)
{
    m->plane = NULL;
    m->z[0] = m->x[0], m->z[1] = m->x[1];
    m->within = (gw_nurbs_rectangle){{-HUGE_VAL, -HUGE_VAL}, {HUGE_VAL, HUGE_VAL}};
    if (!gw_is_free_form(m->e->kind))
        return;
    m->plane = gw_nurbs_coordinates(m->e->nurbs, m->x, m->z);
    if (m->plane && hypot(m->z[0], m->z[1]) > ABOUT_POLE * m->plane->reach) {
        m->plane = NULL; /* the parameters do, and cost a third */
        m->z[0] = m->x[0], m->z[1] = m->x[1];
    }
    if (!m->plane)
        m->within = gw_nurbs_smooth_part(m->e->nurbs, m->x);
}

/* The point at z and its derivatives to second order; false where there is none. */
static bool evaluate(moving_point *m, const double z[2])
{
    const gw_element *e = m->e;
    memset(m->dd, 0, sizeof m->dd);
    memcpy(m->z, z, sizeof m->z);
    m->p = e->p;
    if (!gw_is_free_form(e->kind)) {
        m->d[0] = e->d;
        if (m->count == 1)
            m->p = gw_mul_add(e->p, z[0], e->d);
        m->x[0] = z[0];
        return true;
    }
    if (m->plane) {
        if (!(hypot(z[0], z[1]) < m->plane->reach) ||
            !gw_tangent_plane_evaluate(e->nurbs, m->plane, z, 2, m->x, &m->on))
            return false;
    } else {
        memcpy(m->x, z, sizeof m->z);
        gw_nurbs_evaluate(e->nurbs, m->x, 2, &m->span, &m->on);
    }
    m->p = gw_add(e->p, gw_rotate(e->q, m->on.d[0][0]));
    for (int i = 0; i < m->count; i++) {
        m->d[i] = gw_rotate(e->q, m->on.d[1 - i][i]);
        for (int k = 0; k <= i; k++)
            m->dd[i][k] = m->dd[k][i] = gw_rotate(e->q, m->on.d[2 - i - k][i + k]);
    }
    return true;
}

static moving_point moving_point_on(const gw_element *e, double *x)
{
    moving_point m = {.e = e, .count = parameter_count(e), .x = x};
    choose_coordinates(&m);
    evaluate(&m, m.z);
    return m;
}

/* ---- Newton's method ------------------------------------------------------------------------- */

typedef struct search {
    moving_point m[2]; /* on a and b */
    double over;       /* of a plane: factor of n . D; else 0 */
    gw_vec3 n;
    double size; /* m, of the smaller shape */
    int count;
    int of[4], k[4];                  /* unknown i is coordinate k[i] of element of[i] */
    double f, g[4], h[4][6], unit[4]; /* by the coordinates; unit: m per unit of each */
} search;

static double value_of(const search *s)
{
    gw_vec3 d = gw_sub(s->m[0].p, s->m[1].p);
    return s->over != 0 ? s->over * gw_dot(s->n, d) : 0.5 * gw_norm2(d);
}

static void find_model(search *s)
{
    gw_vec3 d = gw_sub(s->m[0].p, s->m[1].p);
    gw_vec3 along = s->over != 0 ? gw_scale(s->over, s->n) : d, di[4];
    s->f = value_of(s);
    for (int i = 0; i < s->count; i++) {
        gw_vec3 own = s->m[s->of[i]].d[s->k[i]];
        di[i] = s->of[i] ? gw_neg(own) : own;
        s->unit[i] = gw_norm(own);
        s->g[i] = gw_dot(along, di[i]);
        for (int j = 0; j <= i; j++) {
            double h = s->over != 0 ? 0 : gw_dot(di[i], di[j]);
            if (s->of[i] == s->of[j])
                h += (s->of[i] ? -1 : 1) * gw_dot(along, s->m[s->of[i]].dd[s->k[i]][s->k[j]]);
            s->h[i][j] = s->h[j][i] = h;
        }
    }
}

/* True at a bound beyond which f falls, and where the point does not move with the coordinate. */
static bool is_fixed(const search *s, int i)
{
    const moving_point *m = &s->m[s->of[i]];
    int k = s->k[i];
    return !(s->unit[i] > ROUNDING * s->size) || (m->z[k] <= m->within.low[k] && s->g[i] >= 0) ||
           (m->z[k] >= m->within.high[k] && s->g[i] <= 0);
}

static double cut(const search *s, int i, double step)
{
    const moving_point *m = &s->m[s->of[i]];
    int k = s->k[i];
    return fmin(fmax(m->z[k] + step, m->within.low[k]), m->within.high[k]) - m->z[k];
}

/* Sets a step downhill; returns its length (m), and whether it is Newton's. */
static double find_step(const search *s, double step[4], bool *newton)
{
    double h[4][6], g[4], y[4], raise = 0, length = 0, down = 0;
    int free_count = 0, at[4];
    for (int i = 0; i < s->count; i++)
        if (!is_fixed(s, i))
            at[free_count++] = i;
    for (int i = 0; i < free_count; i++) {
        g[i] = -s->g[at[i]] / s->unit[at[i]];
        for (int j = 0; j < free_count; j++)
            h[i][j] = s->h[at[i]][at[j]] / (s->unit[at[i]] * s->unit[at[j]]);
    }
    memset(step, 0, 4 * sizeof *step);
    if (free_count == 0)
        return 0;
    while (!gw_small_cholesky_solve(free_count, (const double(*)[6])h, raise, g, y) && raise < 1e9)
        raise = raise > 0 ? 10 * raise : 1e-3;
    *newton = raise == 0;
    for (int i = 0; i < free_count; i++)
        length += y[i] * y[i];
    double share = fmin(1, LONGEST * s->size / sqrt(length));
    for (int i = 0; i < free_count; i++)
        step[at[i]] = cut(s, at[i], share * y[i] / s->unit[at[i]]);
    for (int i = 0; i < s->count; i++)
        down += s->g[i] * step[i];
    for (int i = 0; i < free_count && !(down < 0); i++) { /* what was cut may lead uphill */
        double bend = fmax(h[i][i], 0) + 1;
        step[at[i]] = cut(s, at[i], 0.5 * g[i] / (bend * s->unit[at[i]]));
        *newton = false;
    }
    length = 0;
    for (int i = 0; i < s->count; i++)
        length += step[i] * step[i] * s->unit[i] * s->unit[i];
    return sqrt(length);
}

/* Sets both points at `from` + t step; false where there is none. */
static bool move(search *s, const double from[2][2], double t, const double step[4])
{
    double z[2][2];
    memcpy(z, from, sizeof z);
    for (int i = 0; i < s->count; i++)
        z[s->of[i]][s->k[i]] += t * step[i];
    for (int i = 0; i < s->count; i++) {
        const gw_nurbs_rectangle *r = &s->m[s->of[i]].within;
        double *at = &z[s->of[i]][s->k[i]];
        *at = fmin(fmax(*at, r->low[s->k[i]]), r->high[s->k[i]]);
    }
    bool is_there = evaluate(&s->m[0], z[0]);
    return evaluate(&s->m[1], z[1]) && is_there;
}

static bool has_pole(const gw_element *e)
{
    const gw_nurbs *s = gw_is_free_form(e->kind) ? e->nurbs : NULL;
    return s && (s->pole[0] || s->pole[1] || s->pole[2] || s->pole[3]);
}

/* The minimum downhill within the smooth parts; adds the length of the first step. */
static void minimise(search *s, double *first)
{
    bool last = false;
    find_model(s);
    for (int n = 0; n < ITERATIONS && !last; n++) {
        double step[4], from[2][2], t = 1, f = s->f;
        bool newton = false, is_there;
        double length = find_step(s, step, &newton);
        *first += n == 0 ? length : 0;
        last = length <= (newton ? QUADRATIC : ROUNDING) * s->size;
        for (int k = 0; k < 2; k++) {
            memcpy(from[k], s->m[k].z, sizeof from[k]);
        }
        do {
            is_there = move(s, (const double(*)[2])from, t, step);
            t *= 0.5;
        } while ((!is_there || (!last && value_of(s) > f)) && t > 1e-9);
        if (!is_there || (!last && value_of(s) > f)) { /* rounding level */
            move(s, (const double(*)[2])from, 0, step);
            find_model(s);
            return;
        }
        for (int k = 0; k < 2; k++)
            if (s->m[k].plane || has_pole(s->m[k].e)) {
                choose_coordinates(&s->m[k]);
                evaluate(&s->m[k], s->m[k].z);
            }
        find_model(s);
    }
}

/* True if coordinate k of an element is fixed at this end of a smooth part. */
static bool is_held(const search *s, int side, int k, bool at_kink)
{
    const moving_point *m = &s->m[side];
    if (!gw_is_free_form(m->e->kind) || m->plane)
        return false;
    for (int i = 0; i < s->count; i++) {
        const gw_nurbs_direction *d = &m->e->nurbs->direction[k];
        if (s->of[i] != side || s->k[i] != k || !is_fixed(s, i))
            continue;
        bool low = m->z[k] <= m->within.low[k], high = m->z[k] >= m->within.high[k];
        return (low || high) &&
               gw_nurbs_ends_at_kink(d, low ? m->within.low[k] : m->within.high[k]) == at_kink;
    }
    return false;
}

/* Moves a coordinate that is held at a sharp bend across it; false if there is none. */
static bool cross_kink(search *s)
{
    for (int side = 0; side < 2; side++)
        for (int k = 0; k < s->m[side].count; k++) {
            moving_point *m = &s->m[side];
            if (!is_held(s, side, k, true))
                continue;
            m->x[k] = m->z[k] <= m->within.low[k] ? nextafter(m->within.low[k], -HUGE_VAL)
                                                  : nextafter(m->within.high[k], HUGE_VAL);
            choose_coordinates(m);
            evaluate(m, m->z);
            return true;
        }
    return false;
}

/* The element whose parts are starts: the smaller free-form one. */
static int started_side(const gw_element *a, const gw_element *b)
{
    if (!gw_is_free_form(a->kind) || !gw_is_free_form(b->kind))
        return gw_is_free_form(a->kind) ? 0 : 1;
    return b->nurbs->size < a->nurbs->size;
}

static search search_from(const gw_element *a, const gw_element *b, gw_distance_kind kind,
                          gw_distance_minimum *minimum)
{
    search s = {.m = {moving_point_on(a, minimum->on_a), moving_point_on(b, minimum->on_b)},
                .size = HUGE_VAL};
    for (int side = 0; side < 2; side++) {
        const gw_element *e = s.m[side].e;
        if (gw_is_free_form(e->kind))
            s.size = fmin(s.size, e->nurbs->size);
        bool fixed = minimum->fixed && side == started_side(a, b);
        for (int k = 0; k < s.m[side].count && !fixed; k++) {
            if (minimum->keeps && (minimum->held >> (2 * side + k) & 1))
                continue;
            s.of[s.count] = side;
            s.k[s.count++] = k;
        }
    }
    if (a->kind == GW_PLANE || b->kind == GW_PLANE) {
        s.n = a->kind == GW_PLANE ? gw_neg(a->d) : b->d; /* the height is n . (A - B) */
        s.over = kind.side < 0 ? -s.size : s.size;
    }
    return s;
}

/* ---- the distance at a minimum --------------------------------------------------------------- */

/* The unit normal of the surface at its closest point, in its frame; beside an apex, which has
 * none. */
static gw_vec3 normal_at(const moving_point *m, gw_nurbs_point *at)
{
    const gw_nurbs *s = m->e->nurbs;
    gw_nurbs_evaluate(s, m->x, 2, NULL, at);
    gw_vec3 n = gw_nurbs_normal(s, m->x, at);
    if (gw_norm2(n) > 0)
        return n;
    double beside[2];
    gw_nurbs_point there;
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *d = &s->direction[k];
        double middle = 0.5 * (d->low + d->high), range = d->high - d->low;
        beside[k] = m->x[k] + (m->x[k] < middle ? BESIDE_APEX : -BESIDE_APEX) * range;
    }
    gw_nurbs_evaluate(s, beside, 2, NULL, &there);
    return gw_nurbs_normal(s, beside, &there);
}

/* The gradient of h past an edge along which w = direction k runs. */
static gw_vec3 gradient_past_edge(const gw_nurbs_point *at, int k, gw_vec3 n, gw_vec3 off)
{
    gw_vec3 cross = gw_cross(at->d[1][0], at->d[0][1]);
    gw_vec3 sw = at->d[1 - k][k], sww = at->d[2 - 2 * k][2 * k];
    gw_vec3 suw = at->d[2 - k][k], svw = at->d[1 - k][1 + k];
    gw_vec3 turned = gw_add(gw_cross(suw, at->d[0][1]), gw_cross(at->d[1][0], svw));
    double length = gw_norm(cross), h = gw_norm2(sw) - gw_dot(off, sww);
    if (!(length > 0) || !(h > 1e-3 * gw_norm2(sw)))
        return n;
    gw_vec3 nw = gw_scale(1 / length, gw_reject(turned, n));
    return gw_mul_add(n, gw_dot(nw, off) / h, sw);
}

static void find_signed(const search *s, int side, gw_distance_at *distance)
{
    const moving_point *m = &s->m[side];
    gw_nurbs_point at;
    gw_vec3 n = normal_at(m, &at), x = s->m[1 - side].p;
    gw_vec3 off = gw_unrotate(m->e->q, gw_sub(x, m->p)), gradient = n;
    bool ends[2] = {is_held(s, side, 0, false), is_held(s, side, 1, false)};
    bool bent = is_held(s, side, 0, true) || is_held(s, side, 1, true);
    double h = gw_dot(n, off), length = gw_norm(off);
    if (bent && length > COINCIDENT) {
        h = h < 0 ? -length : length;
        gradient = gw_scale(1 / h, off);
    } else if (ends[0] != ends[1]) {
        gradient = gradient_past_edge(&at, ends[0], n, off);
    }
    gradient = gw_rotate(m->e->q, gradient);
    distance->value = h;
    distance->at = x;
    distance->normal = side == 1 ? gradient : gw_neg(gradient);
}

static void find_distance(const search *s, gw_distance_kind kind, bool fixed,
                          gw_distance_at *distance)
{
    const moving_point *a = &s->m[0], *b = &s->m[1];
    gw_vec3 d = gw_sub(a->p, b->p);
    *distance = (gw_distance_at){.on_a = a->p, .on_b = b->p, .at = a->p};
    if (s->over != 0) {
        distance->on_a = distance->on_b = distance->at = a->e->kind == GW_PLANE ? b->p : a->p;
        distance->value = gw_dot(s->n, d);
        distance->normal = s->n;
        return;
    }
    bool point = a->e->kind == GW_POINT || b->e->kind == GW_POINT;
    int surface = a->e->kind == GW_SURFACE ? 0 : 1;
    bool is_signed = kind.signs && point && s->m[surface].e->kind == GW_SURFACE;
    if (is_signed && !fixed) {
        find_signed(s, surface, distance);
        return;
    }
    double length = gw_norm(d), sign = is_signed && kind.side < 0 ? -1 : 1;
    distance->value = sign * length;
    distance->normal = length > COINCIDENT ? gw_scale(sign / length, d) : gw_v3(0, 0, 1);
    if (b->e->kind == GW_POINT)
        distance->at = b->p;
}

/* False for an element of a diverging step: not finite, or beyond GW_MAX_COORDINATE. */
static bool is_reachable(const gw_element *e)
{
    bool turned = !gw_is_free_form(e->kind) || isfinite(e->q.w + e->q.x + e->q.y + e->q.z);
    bool aligned = e->kind == GW_POINT || gw_is_free_form(e->kind) || gw_finite3(e->d);
    return turned && aligned && gw_finite3(e->p) &&
           fmax(fabs(e->p.x), fmax(fabs(e->p.y), fabs(e->p.z))) <= GW_MAX_COORDINATE;
}

bool gw_distance_follow(const gw_element *a, const gw_element *b, gw_distance_kind kind,
                        gw_distance_minimum *minimum, gw_distance_at *distance)
{
    assert(gw_is_free_form(a->kind) || gw_is_free_form(b->kind));
    if (!is_reachable(a) || !is_reachable(b)) {
        *distance = (gw_distance_at){.value = HUGE_VAL, .normal = {0, 0, 1}};
        return false;
    }
    search s = search_from(a, b, kind, minimum);
    gw_vec3 from[2] = {s.m[0].p, s.m[1].p};
    double first = 0;
    minimise(&s, &first);
    bool bent = false;
    for (int part = 1; part < PARTS && cross_kink(&s); part++) {
        bent = true;
        minimise(&s, &first);
    }
    find_distance(&s, kind, minimum->fixed, distance);
    minimum->known = true;
    double moved = fmax(gw_distance(s.m[0].p, from[0]), gw_distance(s.m[1].p, from[1]));
    return bent || moved <= 10 * first + 1e-9 * s.size;
}

void gw_distance_hold(const gw_element *a, const gw_element *b, gw_distance_kind kind,
                      gw_distance_minimum *minimum)
{
    double h[4][6], least[4] = {0}, x[4];
    int at[4], count = 0;
    gw_distance_minimum free_minimum = *minimum;
    free_minimum.keeps = false;
    search s = search_from(a, b, kind, &free_minimum);
    find_model(&s);
    minimum->held = 0;
    for (int i = 0; i < s.count; i++) {
        if (is_fixed(&s, i))
            minimum->held |= 1u << (2 * s.of[i] + s.k[i]);
        else
            at[count++] = i;
    }
    while (count > 0) {
        int flattest = 0;
        for (int i = 0; i < count; i++) {
            for (int j = 0; j < count; j++)
                h[i][j] = s.h[at[i]][at[j]] / (s.unit[at[i]] * s.unit[at[j]]);
            flattest = h[i][i] < h[flattest][flattest] ? i : flattest;
        }
        if (gw_small_cholesky_solve(count, (const double(*)[6])h, -FLAT, least, x))
            return;
        minimum->held |= 1u << (2 * s.of[at[flattest]] + s.k[at[flattest]]);
        at[flattest] = at[--count];
    }
}

/* Derivative of the unit tangent or normal t by coordinate i. */
static gw_vec3 turn_by(const moving_point *m, gw_vec3 t, int i)
{
    if (m->count == 1)
        return gw_scale(1 / gw_norm(m->d[0]), gw_reject(m->dd[0][0], t));
    gw_vec3 turned = gw_add(gw_cross(m->dd[0][i], m->d[1]), gw_cross(m->d[0], m->dd[1][i]));
    return gw_scale(1 / gw_norm(gw_cross(m->d[0], m->d[1])), gw_reject(turned, t));
}

/* The closest point moves with x by H z' = D_i . x', so that the gradient is the sum over i of y_i
 * S_i with H y = along . t_i, of the coordinates that are not fixed. */
void gw_distance_direction(const gw_element *a, const gw_element *b,
                           const gw_distance_minimum *minimum, gw_vec3 along, gw_vec3 *t,
                           gw_vec3 *gradient)
{
    gw_distance_minimum at_minimum = *minimum;
    search s = search_from(a, b, (gw_distance_kind){0, false}, &at_minimum);
    const moving_point *m = &s.m[gw_is_free_form(a->kind) ? 0 : 1];
    double h[4][6], turn[4], y[4];
    int at[4], count = 0;
    find_model(&s);
    *gradient = gw_v3(0, 0, 0);
    gw_vec3 n = m->count == 1 ? m->d[0] : gw_cross(m->d[0], m->d[1]);
    if (!(gw_norm(n) > 0)) {
        gw_nurbs_point on;
        *t = gw_rotate(m->e->q, m->count == 1 ? gw_v3(0, 0, 1) : normal_at(m, &on));
        return;
    }
    *t = gw_unit(n);
    for (int i = 0; i < s.count; i++)
        if (!is_fixed(&s, i))
            at[count++] = i;
    for (int i = 0; i < count; i++) {
        turn[i] = gw_dot(along, turn_by(m, *t, s.k[at[i]])) / s.unit[at[i]];
        for (int j = 0; j < count; j++)
            h[i][j] = s.h[at[i]][at[j]] / (s.unit[at[i]] * s.unit[at[j]]);
    }
    if (count == 0 || !gw_small_cholesky_solve(count, (const double(*)[6])h, 0, turn, y))
        return;
    for (int i = 0; i < count; i++)
        *gradient = gw_mul_add(*gradient, y[i] / s.unit[at[i]], m->d[s.k[at[i]]]);
}

/* ---- starts ---------------------------------------------------------------------------------- */

static gw_nurbs_part part_of(const gw_nurbs *s, const gw_nurbs_leaf *leaf)
{
    gw_nurbs_part part = {.parameter = {0, 0}};
    gw_nurbs_point at;
    double h[2] = {0, 0};
    for (int k = 0; k < s->dimension; k++) {
        h[k] = 0.5 * (leaf->high[k] - leaf->low[k]);
        part.parameter[k] = leaf->low[k] + h[k];
    }
    gw_nurbs_evaluate(s, part.parameter, 1, NULL, &at);
    part.point = at.d[0][0];
    part.reach =
        gw_nurbs_part_deviation(leaf, h) + h[0] * gw_norm(at.d[1][0]) + h[1] * gw_norm(at.d[0][1]);
    return part;
}

int gw_distance_starts(const gw_element *a, const gw_element *b,
                       gw_distance_start starts[GW_DISTANCE_STARTS])
{
    const gw_nurbs *s = (started_side(a, b) ? b : a)->nurbs;
    int leaves = s->tree->leaf_count, each = (leaves - 1) / GW_DISTANCE_STARTS + 1, count = 0;
    for (int i = 0; i < leaves; i += each) {
        gw_distance_start *start = &starts[count++];
        *start = (gw_distance_start){.first = i, .count = leaves - i < each ? leaves - i : each};
        gw_vec3 middle = part_of(s, &s->tree->leaves[i + start->count / 2]).point;
        for (int k = i; k < i + start->count; k++) {
            gw_nurbs_part part = part_of(s, &s->tree->leaves[k]);
            start->reach = fmax(start->reach, gw_distance(part.point, middle) + part.reach);
        }
    }
    return count;
}

static double distance_from_box(const gw_aabb *box, gw_vec3 x)
{
    gw_vec3 inside = {fmin(fmax(x.x, box->low.x), box->high.x),
                      fmin(fmax(x.y, box->low.y), box->high.y),
                      fmin(fmax(x.z, box->low.z), box->high.z)};
    return gw_distance(x, inside);
}

void gw_distance_try_start(const gw_element *a, const gw_element *b, gw_distance_kind kind,
                           gw_distance_start *start, double within, gw_distance_minimum *minimum,
                           double *bound)
{
    int side = started_side(a, b);
    const gw_element *e = side ? b : a, *other = side ? a : b;
    double *x = side ? minimum->on_b : minimum->on_a, *y = side ? minimum->on_a : minimum->on_b;
    const gw_nurbs_leaf *leaf = &e->nurbs->tree->leaves[start->first];
    start->next = (start->next + 1) % start->count;
    gw_nurbs_part part = part_of(e->nurbs, &leaf[start->count / 2]);
    *minimum = (gw_distance_minimum){.known = true};
    for (int k = 0; k < e->nurbs->dimension; k++)
        x[k] = 0.5 * (leaf[start->next].low[k] + leaf[start->next].high[k]);
    gw_vec3 p = gw_add(e->p, gw_rotate(e->q, part.point)), off = gw_sub(p, other->p);
    double distance = gw_norm(off);
    if (other->kind == GW_LINE) {
        y[0] = gw_dot(off, other->d);
        distance = gw_norm(gw_reject(off, other->d));
    } else if (other->kind == GW_PLANE) {
        distance = (kind.side < 0 ? -1 : 1) * gw_dot(off, other->d);
    } else if (gw_is_free_form(other->kind)) {
        gw_nurbs_nearest nearest;
        gw_vec3 to = gw_unrotate(other->q, off);
        *bound = distance_from_box(&other->nurbs->bounds, to) - start->reach;
        if (*bound >= within)
            return;
        gw_nurbs_nearest_within(other->nurbs, to, PART_CELLS, &nearest);
        memcpy(y, nearest.parameter, sizeof nearest.parameter);
        distance = nearest.bound;
    }
    *bound = distance - start->reach;
}

bool gw_distance_corner(const gw_element *a, const gw_element *b, gw_distance_kind kind,
                        const gw_distance_start *start, int k, const gw_distance_minimum *minimum,
                        gw_distance_minimum *corner, gw_distance_at *distance)
{
    int side = started_side(a, b);
    const gw_element *e = side ? b : a;
    const gw_nurbs_leaf *leaf = &e->nurbs->tree->leaves[start->first + start->next];
    if (k >= 2 * e->nurbs->dimension)
        return false;
    *corner = *minimum;
    double *x = side ? corner->on_b : corner->on_a;
    corner->fixed = true;
    x[0] = k % 2 ? leaf->high[0] : leaf->low[0];
    x[1] = k / 2 ? leaf->high[1] : leaf->low[1];
    gw_distance_follow(a, b, kind, corner, distance);
    return true;
}

/* The least of the minima from all starts. */
static void nearest_from_starts(const gw_element *a, const gw_element *b, gw_distance_kind kind,
                                gw_distance_minimum *minimum, gw_distance_at *distance)
{
    gw_distance_start starts[GW_DISTANCE_STARTS];
    int count = gw_distance_starts(a, b, starts);
    bool plane = a->kind == GW_PLANE || b->kind == GW_PLANE;
    double least = HUGE_VAL, way = plane && kind.side < 0 ? -1 : 1;
    for (int i = 0; i < count; i++) {
        gw_distance_minimum from;
        gw_distance_at there;
        double bound;
        gw_distance_try_start(a, b, kind, &starts[i], least, &from, &bound);
        if (bound >= least)
            continue;
        gw_distance_follow(a, b, kind, &from, &there);
        if (way * there.value >= least)
            continue;
        least = way * there.value;
        *minimum = from;
        *distance = there;
    }
}

void gw_distance_nearest(const gw_element *a, const gw_element *b, gw_distance_kind kind, int cells,
                         gw_distance_minimum *minimum, gw_distance_at *distance)
{
    const gw_element *e[2] = {a, b};
    double *x[2] = {minimum->on_a, minimum->on_b};
    *minimum = (gw_distance_minimum){.known = true};
    if (!is_reachable(a) || !is_reachable(b)) {
        gw_distance_follow(a, b, kind, minimum, distance);
        return;
    }
    if (gw_is_free_form(a->kind) && gw_is_free_form(b->kind)) {
        gw_nurbs_pair pair;
        gw_pose world_from_a = {a->p, a->q}, world_from_b = {b->p, b->q};
        gw_pose a_from_world = gw_pose_inverse(&world_from_a);
        gw_pose a_from_b = gw_pose_mul(&a_from_world, &world_from_b);
        gw_nurbs_nearest_pair(a->nurbs, b->nurbs, &a_from_b, cells, &pair);
        for (int side = 0; side < 2; side++)
            memcpy(x[side], pair.parameter[side], sizeof pair.parameter[side]);
    } else if (a->kind == GW_POINT || b->kind == GW_POINT) {
        int side = b->kind == GW_POINT ? 0 : 1;
        gw_nurbs_nearest nearest;
        gw_vec3 to = gw_unrotate(e[side]->q, gw_sub(e[1 - side]->p, e[side]->p));
        gw_nurbs_nearest_within(e[side]->nurbs, to, cells, &nearest);
        memcpy(x[side], nearest.parameter, sizeof nearest.parameter);
    } else {
        nearest_from_starts(a, b, kind, minimum, distance);
        return;
    }
    gw_distance_follow(a, b, kind, minimum, distance);
}
