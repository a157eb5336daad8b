/*
 * Contact points on free-form surfaces, from the triangles that are near. The surface's closest
 * point S to a point x, its foot, is found by Newton's method from the parameters of the closest
 * point of a triangle. With the unit normal n towards the solid and h = n . (x - S) the distance
 * has to second order in a motion d of x
 *
 *   h + n . d + 1/2 d . H d,   H = sum k_i' e_i e_i^T,   k_i' = -k_i / (1 - h k_i)
 *
 * e_i and k_i being the principal directions and curvatures of the surface, k_i > 0 where it bends
 * towards n. Past an edge or on a kink, n leads from S to x, and k' is 1 / h across it.
 * RT safe but for the creation.
 */
#include "rt/collision/free_form_private.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "rt/geometry/nurbs_nearest.h"
#include "rt/geometry/nurbs_pole.h"

enum {
    SEEDS_MAX = 24, /* parts of the surface that Newton's method starts from */
    FEET_MAX = 8    /* local minima of a ball */
};

#define BESIDE      1e-6 /* sine of what is not along the normal: an edge or a kink */
#define FOCAL_LEAST 1e-3 /* 1 - h k is no less */
#define SPEED_LEAST 1e-6 /* of the size: where |S_u| or |S_v| is less, a pole may be near */

/* ---- creation -------------------------------------------------------------------------------- */

void gw_triangle_parameters(const gw_free_form *f, int t, const double share[3], double x[2])
{
    for (int k = 0; k < 2; k++)
        x[k] = share[0] * f->parameters[t][0][k] + share[1] * f->parameters[t][1][k] +
               share[2] * f->parameters[t][2][k];
}

/* Marks triangles with a corner at a kink, where a tangent is discontinuous. */
static void mark_kinks(gw_free_form *f)
{
    for (int k = 0; k < 2; k++) {
        const gw_nurbs_direction *d = &f->surface->direction[k];
        const double same = 1e-9 * (d->high - d->low);
        for (int i = 0; i < 3 * f->mesh->triangle_count && d->kink_count > 0; i++) {
            double x = f->parameters[i / 3][i % 3][k];
            x = d->closed && x > d->high - same ? d->low : x;
            for (int j = 0; j < d->kink_count; j++)
                if (fabs(x - d->kinks[j]) < same)
                    f->lean[i / 3] = 1;
        }
    }
}

/* Triangles at a border: one of their edges is met once. */
static bool mark_border(gw_free_form *f)
{
    size_t count = 3 * (size_t)f->mesh->triangle_count;
    gw_mesh_edge *edges = gw_mesh_sorted_edges(f->mesh);
    for (size_t i = 0; edges && i < count;) {
        size_t next = i + 1;
        while (next < count && gw_mesh_same_edge(&edges[i], &edges[next]))
            next++;
        if (next == i + 1)
            f->lean[edges[i].triangle] = 1;
        i = next;
    }
    free(edges);
    return edges != NULL;
}

/* Samples the surface over a triangle, a little within its corners: these may be on a kink. */
static gw_triangle_sample sample_triangle(const gw_free_form *f, int t)
{
    enum { CORNERS = 3, SAMPLES = 7 };
    static const double shares[SAMPLES][3] = {
        {0.98, 0.01, 0.01}, {0.01, 0.98, 0.01}, {0.01, 0.01, 0.98},      {0, 0.5, 0.5},
        {0.5, 0, 0.5},      {0.5, 0.5, 0},      {1. / 3, 1. / 3, 1. / 3}};
    const gw_nurbs_direction *d = f->surface->direction;
    gw_vec3 a = gw_triangle_corner(f, t, 0), b = gw_triangle_corner(f, t, 1),
            c = gw_triangle_corner(f, t, 2), n = f->normals[t];
    gw_triangle_sample sample = {.speed = HUGE_VAL};
    double sine = 0;
    for (int i = 0; i < SAMPLES; i++) {
        const double *s = shares[i];
        double x[2];
        gw_nurbs_point at;
        gw_triangle_parameters(f, t, s, x);
        gw_nurbs_evaluate(f->surface, x, 2, NULL, &at);
        gw_vec3 on = at.d[0][0], own = gw_nurbs_normal(f->surface, x, &at);
        for (int k = 0; k < 2; k++)
            sample.speed = fmin(sample.speed,
                                gw_norm(k == 0 ? at.d[1][0] : at.d[0][1]) * (d[k].high - d[k].low));
        sample.along = gw_dot(own, n);
        if (i < CORNERS) {
            sine = fmax(sine, gw_norm(gw_cross(own, n)));
            continue;
        }
        gw_vec3 flat = gw_mul_add(gw_mul_add(gw_scale(s[0], a), s[1], b), s[2], c);
        sample.deviation = fmax(sample.deviation, 1.5 * gw_distance(on, flat));
        sample.sag = fmax(sample.sag, 1.5 * fabs(gw_dot(n, gw_sub(on, a))));
    }
    sample.lean = fmin(1, 2 * sine + 1e-3);
    return sample;
}

/* True if samples over triangle t of `like` are those over triangle t of the form: both have the
 * same corners, away from the part where the surfaces differ, and from poles, which
 * gw_nurbs_normal() tells by the size of the whole surface. */
static bool is_same_triangle(const gw_free_form *f, const gw_free_form *like, int t,
                             double part[2][2])
{
    double(*x)[2] = f->parameters[t];
    bool apart = false;
    for (int k = 0; k < 2; k++)
        apart = apart || fmax(fmax(x[0][k], x[1][k]), x[2][k]) < part[k][0] ||
                fmin(fmin(x[0][k], x[1][k]), x[2][k]) > part[k][1];
    if (!apart || memcmp(x, like->parameters[t], sizeof f->parameters[t]) != 0)
        return false;
    for (int k = 0; k < 3; k++) {
        const gw_vec3 a = gw_triangle_corner(f, t, k), b = gw_triangle_corner(like, t, k);
        if (memcmp(&a, &b, sizeof a) != 0)
            return false;
    }
    return like->sampled[t].speed > SPEED_LEAST * fmax(f->surface->size, like->surface->size);
}

static void sample_triangles(gw_free_form *f, const gw_free_form *like)
{
    double turned = 0, part[2][2];
    const bool near = like && like->mesh->triangle_count == f->mesh->triangle_count &&
                      gw_nurbs_same_spans(f->surface, like->surface);
    if (near)
        gw_nurbs_changed_part(f->surface, like->surface, part);
    for (int t = 0; t < f->mesh->triangle_count; t++) {
        gw_vec3 a = gw_triangle_corner(f, t, 0), b = gw_triangle_corner(f, t, 1),
                c = gw_triangle_corner(f, t, 2);
        f->normals[t] = gw_unit(gw_cross(gw_sub(b, a), gw_sub(c, a)));
        f->sampled[t] =
            near && is_same_triangle(f, like, t, part) ? like->sampled[t] : sample_triangle(f, t);
        f->lean[t] = f->sampled[t].lean;
        f->deviation = fmax(f->deviation, f->sampled[t].deviation);
        f->sag = fmax(f->sag, f->sampled[t].sag);
        turned += f->sampled[t].along;
    }
    f->outward = turned < 0 ? -1 : 1;
}

static void sample_surface(gw_free_form *f)
{
    const gw_nurbs_direction *d = f->surface->direction;
    for (int i = 0; i < GW_FREE_FORM_SAMPLES; i++) {
        const double share[2] = {(i / 3 + 0.5) / 3, (i % 3 + 0.5) / 3};
        const double x[2] = {d[0].low + share[0] * (d[0].high - d[0].low),
                             d[1].low + share[1] * (d[1].high - d[1].low)};
        gw_nurbs_point at;
        gw_nurbs_evaluate(f->surface, x, 0, NULL, &at);
        f->samples[i] = at.d[0][0];
    }
}

/* Tells the tree of the triangles which normals the surface has over each. */
static bool tell_normals(const gw_free_form *f)
{
    const double safety = 1.2; /* of sines that were sampled at the corners */
    double *sines = malloc(((size_t)f->mesh->triangle_count + 1) * sizeof *sines);
    for (int t = 0; sines && t < f->mesh->triangle_count; t++)
        sines[t] = f->lean[t] < 1 ? 0.5 * safety * f->lean[t] : 1;
    bool told = sines && gw_trimesh_set_normals(f->trimesh, f->normals, sines);
    free(sines);
    return told;
}

static bool make_triangles(gw_free_form *f, gw_error *error)
{
    gw_mesh *mesh = gw_nurbs_mesh(f->surface, &f->parameters, error);
    f->trimesh = mesh ? gw_trimesh_create(mesh, error) : NULL;
    f->mesh = mesh; /* that the trimesh holds */
    gw_mesh_put(mesh);
    return f->trimesh != NULL;
}

gw_free_form *gw_free_form_create(gw_nurbs *surface, gw_free_form *like, gw_error *error)
{
    assert(surface);
    if (like && like->surface == surface) {
        atomic_fetch_add_explicit(&like->references, 1, memory_order_relaxed);
        return like;
    }
    gw_free_form *f = calloc(1, sizeof *f);
    if (!f) {
        gw_fail(error, GW_FAILED, "", "no memory for a surface's triangles");
        return NULL;
    }
    atomic_init(&f->references, 1);
    f->surface = gw_nurbs_get(surface);
    if (!make_triangles(f, error)) {
        gw_free_form_put(f);
        return NULL;
    }
    size_t count = (size_t)f->mesh->triangle_count + 1;
    f->normals = malloc(count * sizeof *f->normals);
    f->sampled = malloc(count * sizeof *f->sampled);
    f->lean = malloc(count * sizeof *f->lean);
    if (f->normals && f->sampled && f->lean) {
        sample_triangles(f, like);
        sample_surface(f);
        mark_kinks(f);
        if (mark_border(f) && tell_normals(f))
            return f;
    }
    gw_free_form_put(f);
    gw_fail(error, GW_FAILED, "", "no memory for a surface's triangles");
    return NULL;
}

void gw_free_form_put(gw_free_form *f)
{
    if (!f || atomic_fetch_sub_explicit(&f->references, 1, memory_order_acq_rel) > 1)
        return;
    gw_trimesh_destroy(f->trimesh);
    gw_nurbs_put(f->surface);
    free(f->parameters);
    free(f->normals);
    free(f->sampled);
    free(f->lean);
    free(f);
}

const gw_nurbs *gw_free_form_surface(const gw_free_form *f)
{
    return f->surface;
}

gw_trimesh *gw_free_form_trimesh(gw_free_form *f)
{
    return f->trimesh;
}

double gw_free_form_deviation(const gw_free_form *f)
{
    return f->deviation;
}

/* ---- the foot of a point ----------------------------------------------------------------------
 */

bool gw_foot_find(const gw_free_form *f, gw_vec3 x, const double from[2], gw_foot *t)
{
    t->parameter[0] = from[0], t->parameter[1] = from[1];
    gw_nurbs_event event = gw_nurbs_follow(f->surface, x, t->parameter, NULL, &t->at);
    gw_nurbs_into_domain(f->surface, t->parameter);
    t->point = t->at.d[0][0];
    t->normal = gw_scale(f->outward, gw_nurbs_normal(f->surface, t->parameter, &t->at));
    gw_vec3 d = gw_sub(x, t->point);
    t->distance = gw_norm(d);
    t->height = gw_dot(d, t->normal);
    double aside = gw_norm(gw_reject(d, t->normal));
    t->sharp = aside > BESIDE * t->distance + GW_FREE_FORM_CONVERGED * f->surface->size;
    t->away = t->distance > 0 ? gw_scale(1 / t->distance, d) : t->normal;
    bool blocked = event == GW_NURBS_EDGE || event == GW_NURBS_KINK;
    return gw_norm2(t->normal) > 0 && isfinite(t->distance) && (blocked || !t->sharp);
}

gw_curvatures gw_foot_curvatures(const gw_free_form *f, const gw_foot *t, gw_vec3 n)
{
    gw_curvatures bend = {.curvature = {0, 0}};
    gw_nurbs_point here = t->at;
    double xy[2], x[2] = {t->parameter[0], t->parameter[1]};
    const gw_tangent_plane *plane = gw_nurbs_coordinates(f->surface, x, xy);
    if (plane && !gw_tangent_plane_evaluate(f->surface, plane, xy, 2, x, &here))
        return bend;
    gw_vec3 su = here.d[1][0], sv = here.d[0][1], e = gw_unit(su), g = gw_cross(n, e);
    double u1 = gw_norm(su), v1 = gw_dot(sv, e), v2 = gw_dot(sv, g);
    if (!(u1 > 0) || !(fabs(v2) > 1e-12 * f->surface->size))
        return bend;
    /* the second fundamental form along e and g = (S_v - v1 e) / v2 */
    double uu = gw_dot(n, here.d[2][0]) / (u1 * u1), uv = gw_dot(n, here.d[1][1]) / (u1 * v2);
    double vv = gw_dot(n, here.d[0][2]) / (v2 * v2), slant = v1 / v2;
    double b12 = uv - slant * uu, b22 = vv - 2 * slant * uv + slant * slant * uu;
    double mean = 0.5 * (uu + b22), apart = 0.5 * (uu - b22), r = hypot(apart, b12);
    double turn = 0.5 * atan2(b12, apart), c = cos(turn), s = sin(turn);
    bend.curvature[0] = mean + r;
    bend.curvature[1] = mean - r;
    bend.direction[0] = gw_add(gw_scale(c, e), gw_scale(s, g));
    bend.direction[1] = gw_add(gw_scale(-s, e), gw_scale(c, g));
    return bend;
}

/* -k / (1 - h k) */
static double at_distance(double k, double h)
{
    return -k / fmax(1 - h * k, FOCAL_LEAST);
}

gw_curvatures gw_foot_curvatures_above(const gw_free_form *f, const gw_foot *t, gw_vec3 n, double h)
{
    gw_curvatures bend = gw_foot_curvatures(f, t, n);
    for (int i = 0; i < 2; i++)
        bend.curvature[i] = at_distance(bend.curvature[i], h);
    return bend;
}

/* The same past an edge, beside a kink or a corner: along the parameter that goes on it is a
 * curve. */
static gw_curvatures bend_beside(const gw_foot *t)
{
    gw_vec3 d[2] = {t->at.d[1][0], t->at.d[0][1]}, dd[2] = {t->at.d[2][0], t->at.d[0][2]};
    gw_curvatures bend = {.curvature = {1 / t->distance, 1 / t->distance}};
    int along = -1;
    for (int k = 0; k < 2; k++)
        if (fabs(gw_dot(t->away, d[k])) < BESIDE * gw_norm(d[k]))
            along = k;
    gw_vec3 e = gw_any_normal(t->away);
    if (along >= 0) {
        e = gw_unit(gw_reject(d[along], t->away));
        bend.curvature[0] =
            at_distance(gw_dot(dd[along], t->away) / gw_norm2(d[along]), t->distance);
    }
    bend.direction[0] = e;
    bend.direction[1] = gw_cross(t->away, e);
    return bend;
}

/* ---- triangles --------------------------------------------------------------------------------
 */

gw_vec3 gw_triangle_closest(const gw_free_form *f, int t, gw_vec3 x, double share[3])
{
    gw_vec3 a = gw_triangle_corner(f, t, 0), b = gw_triangle_corner(f, t, 1),
            c = gw_triangle_corner(f, t, 2);
    gw_vec3 ab = gw_sub(b, a), ac = gw_sub(c, a), bc = gw_sub(c, b);
    double d1 = gw_dot(ab, gw_sub(x, a)), d2 = gw_dot(ac, gw_sub(x, a));
    double d3 = gw_dot(ab, gw_sub(x, b)), d4 = gw_dot(ac, gw_sub(x, b));
    double d5 = gw_dot(ab, gw_sub(x, c)), d6 = gw_dot(ac, gw_sub(x, c));
    double va = d3 * d6 - d5 * d4, vb = d5 * d2 - d1 * d6, vc = d1 * d4 - d3 * d2;
    share[0] = share[1] = share[2] = 0;
    if (d1 <= 0 && d2 <= 0) {
        share[0] = 1;
    } else if (d3 >= 0 && d4 <= d3) {
        share[1] = 1;
    } else if (d6 >= 0 && d5 <= d6) {
        share[2] = 1;
    } else if (vc <= 0 && d1 >= 0 && d3 <= 0) {
        share[1] = d1 / (d1 - d3);
        share[0] = 1 - share[1];
    } else if (vb <= 0 && d2 >= 0 && d6 <= 0) {
        share[2] = d2 / (d2 - d6);
        share[0] = 1 - share[2];
    } else if (va <= 0 && d4 >= d3 && d5 >= d6) {
        share[2] = (d4 - d3) / (d4 - d3 + d5 - d6);
        share[1] = 1 - share[2];
        return gw_mul_add(b, share[2], bc);
    } else {
        double sum = va + vb + vc;
        share[1] = vb / sum;
        share[2] = vc / sum;
        share[0] = 1 - share[1] - share[2];
    }
    return gw_mul_add(gw_mul_add(a, share[1], ab), share[2], ac);
}

/* Where Newton's method may start: the closest point of a triangle. */
typedef struct seed {
    double distance, parameter[2];
    int triangle;
    gw_vec3 point;
} seed;

/* The closest point of triangle t to x; false where it contains no foot of x: the direction to x is
 * not within the range of the surface's normals there. */
static bool seed_of(const gw_free_form *f, int t, gw_vec3 x, seed *s)
{
    double share[3];
    s->triangle = t;
    s->point = gw_triangle_closest(f, t, x, share);
    gw_vec3 d = gw_sub(x, s->point);
    s->distance = gw_norm(d);
    gw_triangle_parameters(f, t, share, s->parameter);
    double aside = gw_norm(gw_reject(d, f->normals[t]));
    return aside <= f->lean[t] * s->distance + f->deviation;
}

/* The triangles within `range` of x that may contain a foot of it, nearest first; *nearest: the
 * distance of x from the mesh (m), at most the range. */
static int find_seeds(const gw_free_form *f, gw_vec3 x, double range, seed seeds[SEEDS_MAX],
                      double *nearest)
{
    int triangles[GW_FREE_FORM_TRIANGLES], count = 0;
    int near = gw_trimesh_near(f->trimesh, x, range, triangles, GW_FREE_FORM_TRIANGLES);
    *nearest = near > GW_FREE_FORM_TRIANGLES ? 0 : range;
    near = near > GW_FREE_FORM_TRIANGLES ? GW_FREE_FORM_TRIANGLES : near;
    for (int i = 0; i < near; i++) {
        seed s;
        bool may = seed_of(f, triangles[i], x, &s);
        *nearest = fmin(*nearest, s.distance);
        if (!may || s.distance > range ||
            (count == SEEDS_MAX && s.distance >= seeds[count - 1].distance))
            continue;
        int k = count < SEEDS_MAX ? count++ : count - 1;
        for (; k > 0 && seeds[k - 1].distance > s.distance; k--)
            seeds[k] = seeds[k - 1];
        seeds[k] = s;
    }
    return count;
}

/* True if the seed leads to a foot that was found: their distance is less than the size of the
 * seed's triangle, and the normals between them hardly change. */
static bool leads_to(const gw_free_form *f, const seed *s, const gw_foot *t)
{
    double size =
        gw_distance(gw_triangle_corner(f, s->triangle, 0), gw_triangle_corner(f, s->triangle, 1)) +
        gw_distance(gw_triangle_corner(f, s->triangle, 0), gw_triangle_corner(f, s->triangle, 2));
    double sine = gw_norm(gw_cross(
        f->outward > 0 ? f->normals[s->triangle] : gw_neg(f->normals[s->triangle]), t->normal));
    return gw_distance(s->point, t->point) < size && sine < f->lean[s->triangle];
}

static bool is_same(const gw_free_form *f, const gw_foot *a, const gw_foot *b)
{
    return gw_distance(a->point, b->point) < GW_FREE_FORM_SAME * f->surface->size;
}

/* The foot that a seed leads to. False also if it is farther than the seed: Newton's method jumped
 * past a centre of curvature. */
static bool foot_of_seed(const gw_free_form *f, gw_vec3 x, const seed *s, gw_foot *t)
{
    return gw_foot_find(f, x, s->parameter, t) && t->distance <= s->distance + f->deviation;
}

/* Distance of x from a triangle that may contain a foot of it (m). */
static double seed_distance(const void *form, int triangle, gw_vec3 x)
{
    seed s;
    return seed_of(form, triangle, x, &s) ? s.distance : INFINITY;
}

bool gw_foot_nearest(const gw_free_form *f, gw_vec3 x, double range, gw_foot *t)
{
    int nearest = gw_trimesh_nearest(f->trimesh, x, range, seed_distance, f);
    seed first, seeds[SEEDS_MAX];
    if (nearest < 0)
        return false;
    seed_of(f, nearest, x, &first);
    if (foot_of_seed(f, x, &first, t))
        return true;
    double distance;
    int count = find_seeds(f, x, range, seeds, &distance);
    for (int i = 0; i < count; i++)
        if (seeds[i].triangle != nearest && foot_of_seed(f, x, &seeds[i], t))
            return true;
    return false;
}

/* ---- points -----------------------------------------------------------------------------------
 */

gw_vec3 gw_into_surface(const gw_free_form_query *q, gw_vec3 x)
{
    return gw_mat3_tmul(&q->rotation, gw_sub(x, q->origin));
}

gw_vec3 gw_out_of_surface(const gw_free_form_query *q, gw_vec3 x)
{
    return gw_add(q->origin, gw_mat3_mul(&q->rotation, x));
}

bool gw_foot_of_centre(gw_free_form_query *q, gw_foot *t)
{
    const gw_convex *c = q->convex;
    double near = fmax(c->rounding + q->reach + q->form->deviation, 0.1 * c->size);
    double farthest = c->size + c->rounding + q->reach + q->form->deviation;
    gw_vec3 x = gw_into_surface(q, q->centre);
    bool found = false;
    /* the triangles within a range are as many as its square */
    for (double range = near; !found && gw_finite3(q->centre); range *= 2) {
        gw_add_effort(q->effort, GW_EFFORT_OF_SEARCH);
        found = gw_foot_nearest(q->form, x, fmin(range, farthest), t);
        if (range >= farthest)
            break;
    }
    if (!found)
        return false;
    q->side = t->height < 0 && !q->form->mesh->closed ? -1 : 1;
    return true;
}

/* 1, or -1 where the solid is on the other side of an open surface than its normal. */
double gw_foot_side(const gw_free_form_query *q, const gw_foot *t)
{
    if (q->side != 0 || q->form->mesh->closed)
        return q->side < 0 ? -1 : 1;
    return gw_dot(t->normal, gw_sub(gw_into_surface(q, q->centre), t->point)) < 0 ? -1 : 1;
}

gw_manifold_point gw_foot_point(const gw_free_form_query *q, gw_vec3 x, double radius,
                                const gw_foot *t, gw_vec3 n, double h, gw_curvatures bend)
{
    gw_manifold_point m = {.a = gw_out_of_surface(q, x),
                           .b = gw_out_of_surface(q, t->point),
                           .radius_a = radius,
                           .kind = GW_NORMAL_IN_B,
                           .normal = gw_mat3_mul(&q->rotation, n),
                           .of_face = !t->sharp,
                           .gap = h - radius,
                           .bend = bend};
    for (int i = 0; i < 2; i++)
        m.bend.direction[i] = gw_mat3_mul(&q->rotation, bend.direction[i]);
    return m;
}

bool gw_foot_ball(const gw_free_form_query *q, gw_vec3 x, double radius, const gw_foot *t,
                  gw_manifold_point *m)
{
    double side = gw_foot_side(q, t), h = t->sharp ? t->distance : side * t->height;
    gw_vec3 n = t->sharp ? t->away : gw_scale(side, t->normal);
    double deepest =
        radius > 0 ? 0 : -GW_FREE_FORM_DEEPEST * (q->convex->size + q->convex->rounding);
    if (t->sharp && (radius == 0 || t->height * side < 0))
        return false;
    if (!(h > deepest) || h - radius > q->reach)
        return false;
    gw_curvatures bend = t->sharp ? bend_beside(t) : gw_foot_curvatures_above(q->form, t, n, h);
    *m = gw_foot_point(q, x, radius, t, n, h, bend);
    return true;
}

/* Numbers the feet by the order of their parameters, for the feature ids. */
static void number_feet(const gw_foot *feet, int count, int number[FEET_MAX])
{
    for (int i = 0; i < count; i++) {
        number[i] = 0;
        for (int k = 0; k < count; k++)
            number[i] += feet[k].parameter[0] < feet[i].parameter[0] ||
                         (feet[k].parameter[0] == feet[i].parameter[0] && k < i);
    }
}

int gw_free_form_ball(const gw_free_form_query *q, gw_manifold_point *points, int capacity,
                      double *gap)
{
    assert(q->form && q->convex && q->reach >= 0 && capacity >= 0 && gap);
    const gw_free_form *f = q->form;
    const double radius = q->convex->rounding;
    gw_vec3 x = gw_into_surface(q, q->convex->origin);
    gw_manifold_point found[FEET_MAX];
    seed seeds[SEEDS_MAX];
    gw_foot feet[FEET_MAX];
    int number[FEET_MAX], feet_count = 0, count = 0;
    double nearest;
    if (!gw_finite3(x))
        return 0;
    int seed_count = find_seeds(f, x, radius + q->reach + f->deviation, seeds, &nearest);
    gw_add_effort(q->effort, GW_EFFORT_OF_SEARCH + seed_count * GW_EFFORT_OF_LISTED);
    for (int i = 0; i < seed_count && feet_count < FEET_MAX; i++) {
        bool known = false;
        for (int k = 0; k < feet_count && !known; k++)
            known = leads_to(f, &seeds[i], &feet[k]);
        gw_foot *t = &feet[feet_count];
        if (known || !foot_of_seed(f, x, &seeds[i], t) ||
            !gw_foot_ball(q, x, radius, t, &found[feet_count]))
            continue;
        for (int k = 0; k < feet_count && !known; k++)
            known = is_same(f, t, &feet[k]);
        feet_count += !known;
    }
    /* the nearest triangle tells how near the surface is where it has no gw_foot */
    *gap = fmin(q->reach, nearest - f->deviation - radius);
    *gap = feet_count > 0 ? INFINITY : *gap;
    number_feet(feet, feet_count, number);
    for (int i = 0; i < feet_count; i++) {
        found[i].feature_b = (uint32_t)number[i];
        *gap = fmin(*gap, found[i].gap);
    }
    gw_trimesh_sort(found, feet_count);
    for (int i = 0; i < feet_count && count < capacity; i++)
        points[count++] = found[i];
    return count;
}
