/*
 * Supporting points of surfaces that touch nearly along a line: a ring that lies flat, a cylinder
 * on its side. There the relative curvature K (surface_contact.c) nearly vanishes in one direction,
 * so that the minimum of the gap is anywhere along the line and moves far by a small rotation.
 * Points spread over the line are contacts of their own. Each lies in a section that is fixed to
 * the surface that bends more across the line, called a here: the plane through q with normal e,
 * both fixed in a, in which the gap is least,
 *
 *   e . (x_a - q) = 0,    H y_b = C y_a + d . b,    w . (K y_a + a . n + N H^-1 (d . b)) = 0
 *
 * with w the direction across e, e_i w_i = 0, e_i = e . a_i. As a's point moves in its own frame
 * along w only, where a_i . n w_i = 0, d(gap)/dt is that of the bodies' points. RT safe.
 */
#include <assert.h>
#include <math.h>

#include "rt/dynamics/line_contact.h"

#define THERE      1e-11 /* of the size: a Newton step this short is zero */
#define STRIDE     0.15  /* of the size: between points traced along a line, */
#define STRIDES    48    /* of them in one direction, at most */
#define HALVINGS   8     /* of the last stride before an edge */
#define RISES      0.5   /* of the size: gap above that at the seed up to which a line goes on */
#define BENDS      0.2   /* of the inverse size: the least relative curvature across a line, */
#define ALIKE      0.5   /* and times that across the most along it */
#define DEEPEST    0.5   /* of the size: overlap from which on bodies are on the wrong sides */
#define TOWARDS    0.5   /* cosine of the greatest turn of the line in a stride */
#define NEWTON_WAY 0.5   /* of the size: the longest path of Newton's method in a section */

typedef gw_contact_point line_point;

/* The contact with a and b exchanged; `inside`: the former a's normal points away from b. */
static gw_closure_contact exchanged_contact(const gw_closure_contact *k, bool inside)
{
    gw_closure_contact x = *k;
    x.on_a = k->on_b;
    x.on_b = k->on_a;
    x.inside = inside;
    return x;
}

static void exchange_point(gw_contact_point *point)
{
    for (int i = 0; i < 3; i++) {
        double z = point->a[i];
        point->a[i] = point->b[i];
        point->b[i] = z;
    }
}

/* ---- a section ------------------------------------------------------------------------------ */

/* y_a within the section, and y_b; false where that is singular. */
static bool solve_section(const gw_normal_system *s, const double e[2], double off, double y_a[2],
                          double y_b[2])
{
    double right_a[2] = {0, 0}, right_b[2], e2 = e[0] * e[0] + e[1] * e[1];
    if (!(e2 > 0))
        return false;
    for (int i = 0; i < 2; i++) {
        right_a[i] = i < s->a.count ? -gw_dot(s->a.t[i], s->n) : 0;
        right_b[i] = gw_dot(s->d, s->b.t[i]);
    }
    y_a[0] = e[0] * off / e2, y_a[1] = e[1] * off / e2;
    if (s->a.count == 2) {
        double w[2] = {-e[1], e[0]}, bend = 0, right = 0;
        for (int i = 0; i < 2; i++) {
            double k_w = s->k[i][0] * w[0] + s->k[i][1] * w[1];
            double k_y = s->k[i][0] * y_a[0] + s->k[i][1] * y_a[1];
            bend += w[i] * k_w;
            right +=
                w[i] * (right_a[i] - s->nh[i][0] * right_b[0] - s->nh[i][1] * right_b[1] - k_y);
        }
        double by = right / fabs(bend);
        if (!isfinite(by))
            return false;
        y_a[0] += by * w[0], y_a[1] += by * w[1];
    }
    for (int i = 0; i < 2; i++) {
        double sum[2];
        for (int j = 0; j < 2; j++)
            sum[j] = s->c[j][0] * y_a[0] + s->c[j][1] * y_a[1] + right_b[j];
        y_b[i] = s->h[i][0] * sum[0] + s->h[i][1] * sum[1];
    }
    return true;
}

/* Relative curvatures across a section and along it: of the plane across e. */
static void section_curvatures(const gw_normal_system *s, const double e[2], double *across,
                               double *along)
{
    double e2 = e[0] * e[0] + e[1] * e[1], w[2] = {-e[1], e[0]};
    *across = *along = 0;
    for (int i = 0; i < s->a.count; i++)
        for (int j = 0; j < s->a.count; j++) {
            *across += w[i] * s->k[i][j] * w[j] / e2;
            *along += e[i] * s->k[i][j] * e[j] / e2;
        }
}

static bool is_within(const gw_normal_system *s, double size)
{
    return !s->a.beyond && !s->b.beyond && gw_dot(s->n, s->d) > -DEEPEST * size;
}

/* The contact point in its section by Newton's method, a being the side that the section is fixed
 * to; ON_BRANCH: near where it was. */
static bool follow_section(const gw_closure_contact *k, const gw_body_frame *a,
                           const gw_body_frame *b, gw_newton_reach reach, gw_contact_point *point,
                           gw_normal_system *s)
{
    double size = gw_contact_size(k), arc = 0;
    gw_vec3 e = gw_mat3_mul(&a->turn, point->along);
    gw_vec3 q = gw_add(a->p, gw_mat3_mul(&a->turn, point->through));
    bool last = false;
    for (int i = 0; i < GW_NEWTON_STEPS; i++) {
        double y_a[2], y_b[2], along[2];
        if (!gw_normal_system_at(k, a, b, point, s))
            return false;
        if (last)
            return is_within(s, size);
        for (int j = 0; j < 2; j++)
            along[j] = j < s->a.count ? gw_dot(e, s->a.t[j]) : 0;
        if (!solve_section(s, along, gw_dot(e, gw_sub(q, s->a.p)), y_a, y_b))
            return false;
        double far = fmax(hypot(y_a[0], y_a[1]), hypot(y_b[0], y_b[1]));
        arc += far;
        if (!isfinite(far) || (reach == GW_ON_BRANCH && arc > NEWTON_WAY * size))
            return false;
        double share = fmin(1, GW_FARTHEST * size / far);
        for (int j = 0; j < 2 && share < 1; j++)
            y_a[j] *= share, y_b[j] *= share;
        if (far < THERE * size)
            return is_within(s, size);
        last = far < GW_CONVERGED * size;
        gw_patch_move(&k->on_a, &s->a, y_a, point->a);
        gw_patch_move(&k->on_b, &s->b, y_b, point->b);
    }
    return false;
}

/* The same of the contact as it is stated; the state has a's point and the normal of b. */
static bool section_at(const gw_closure_contact *k, const gw_body_frame *a, const gw_body_frame *b,
                       gw_contact_point *point, gw_normal_system *s)
{
    if (!point->exchanged)
        return follow_section(k, a, b, GW_ON_BRANCH, point, s);
    gw_closure_contact x = exchanged_contact(k, point->faces_in);
    exchange_point(point);
    bool found = follow_section(&x, b, a, GW_ON_BRANCH, point, s);
    exchange_point(point);
    return found;
}

bool gw_line_contact_at(const gw_closure_contact *k, const gw_body_frame *a, const gw_body_frame *b,
                        const gw_contact_point *point, gw_contact_state *x)
{
    gw_contact_point at = *point;
    gw_normal_system s;
    if (!section_at(k, a, b, &at, &s))
        return false;
    gw_vec3 n = at.exchanged ? gw_neg(s.n) : s.n;
    *x = (gw_contact_state){.gap = gw_dot(s.n, s.d), .c = at.exchanged ? s.b.p : s.a.p, .n = n};
    return true;
}

bool gw_line_contact_follow(const gw_closure_contact *k, const gw_body_frame *a,
                            const gw_body_frame *b, gw_contact_point *point, double *gap)
{
    gw_normal_system s;
    assert(point->known && point->pinned);
    point->known = section_at(k, a, b, point, &s);
    *gap = point->known ? gw_dot(s.n, s.d) : INFINITY;
    return point->known;
}

/* ---- the line ------------------------------------------------------------------------------- */

bool gw_contact_may_be_line(const gw_closure_contact *k)
{
    bool forms = k->on_a.kind == GW_SURFACE_FREE_FORM || k->on_a.kind == GW_SURFACE_CURVE;
    return forms && !k->on_a.sheet && !gw_surface_is_curve(&k->on_b);
}

void gw_most_alike(const gw_normal_system *s, double e[2])
{
    double off = 0.5 * (s->k[0][1] + s->k[1][0]), half = 0.5 * (s->k[0][0] - s->k[1][1]);
    double turn = 0.5 * atan2(-off, -half);
    e[0] = s->a.count == 1 ? 1 : cos(turn);
    e[1] = s->a.count == 1 ? 0 : sin(turn);
}

/* The unit direction of the line (world). */
static gw_vec3 line_direction(const gw_normal_system *s)
{
    double e[2];
    gw_most_alike(s, e);
    gw_vec3 t = gw_scale(e[0], s->a.t[0]);
    return gw_unit(s->a.count == 1 ? t : gw_mul_add(t, e[1], s->a.t[1]));
}

/* True if b bends more than a across the line. */
static bool bends_more(const gw_normal_system *s, const double e[2])
{
    double on_a = 0, on_b = 0, w[2] = {-e[1], e[0]}, v[2];
    for (int i = 0; i < 2; i++)
        v[i] = s->c[i][0] * w[0] + s->c[i][1] * w[1];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++) {
            on_a += w[i] * w[j] * gw_dot(s->a.second[i + j], s->n);
            on_b += v[i] * v[j] * s->ii[i][j];
        }
    return fabs(on_b) > (1 + BENDS) * fabs(on_a);
}

void gw_line_contact_pin(const gw_closure_contact *k, const gw_body_frame *a,
                         const gw_body_frame *b, const gw_normal_system *s, gw_contact_point *point)
{
    double e[2];
    gw_most_alike(s, e);
    gw_vec3 t = line_direction(s);
    point->exchanged = s->a.count == 2 && !gw_surface_is_curve(&k->on_a) && bends_more(s, e);
    point->faces_in = gw_dot(s->a.n, s->n) > 0;
    const gw_body_frame *on = point->exchanged ? b : a;
    point->through = gw_into_body(on, point->exchanged ? s->b.p : s->a.p);
    point->along = gw_mat3_tmul(&on->turn, t);
    point->pinned = true;
}

/* A line being traced: the contact, with the sections fixed to a. */
typedef struct line {
    const gw_closure_contact *contact;
    const gw_body_frame *a, *b;
    double size, most; /* m; the gap up to which it goes on */
} line;

/* True if the surfaces bend alike along t alone. */
static bool is_line(const line *l, const gw_normal_system *s, gw_vec3 t)
{
    double e[2] = {0, 0}, across, along;
    for (int j = 0; j < s->a.count; j++)
        e[j] = gw_dot(t, s->a.t[j]);
    section_curvatures(s, e, &across, &along);
    return s->a.count == 1 || (across * l->size > BENDS && fabs(along) < ALIKE * across);
}

/* Fixes a section across the direction t (world) to a, through the contact point. */
static void set_section(const line *l, const gw_normal_system *s, gw_vec3 t, line_point *at)
{
    at->through = gw_into_body(l->a, s->a.p);
    at->along = gw_mat3_tmul(&l->a->turn, gw_unit(t));
    at->pinned = at->known = true;
}

/* The point of the line `arc` (m) along t from `from`, and the line's direction there; false where
 * the line has ended before. */
static bool next_point(const line *l, const line_point *from, double arc, gw_vec3 *t,
                       line_point *to)
{
    gw_normal_system s;
    double y_a[2] = {0, 0}, y_b[2];
    *to = *from;
    if (!gw_normal_system_at(l->contact, l->a, l->b, from, &s))
        return false;
    for (int j = 0; j < s.a.count; j++)
        y_a[j] = arc * gw_dot(*t, s.a.t[j]);
    for (int j = 0; j < 2; j++)
        y_b[j] = s.c[j][0] * y_a[0] + s.c[j][1] * y_a[1];
    gw_vec3 was = s.a.p;
    gw_patch_move(&l->contact->on_a, &s.a, y_a, to->a);
    gw_patch_move(&l->contact->on_b, &s.b, y_b, to->b);
    if (!gw_normal_system_at(l->contact, l->a, l->b, to, &s) || s.a.beyond || s.b.beyond)
        return false;
    set_section(l, &s, *t, to);
    if (!follow_section(l->contact, l->a, l->b, GW_ON_BRANCH, to, &s) || gw_dot(s.n, s.d) > l->most)
        return false;
    if (!is_line(l, &s, *t))
        return false;
    gw_vec3 step = gw_sub(s.a.p, was);
    if (!(gw_dot(gw_unit(step), *t) > TOWARDS))
        return false;
    gw_vec3 alike = line_direction(&s);
    *t = gw_dot(alike, step) < 0 ? gw_neg(alike) : alike;
    set_section(l, &s, *t, to);
    return true;
}

/* Traces the line from points[0] along t: points, and their arc lengths from it (m). Returns their
 * number; *closed: it came back. */
static int trace(const line *l, gw_vec3 t, line_point points[STRIDES], double arcs[STRIDES],
                 bool *closed)
{
    double stride = STRIDE * l->size;
    const gw_vec3 start = points[0].through;
    int count = 1, halvings = 0;
    *closed = false;
    arcs[0] = 0;
    while (count < STRIDES && halvings <= HALVINGS) {
        gw_vec3 to = t;
        if (!next_point(l, &points[count - 1], stride, &to, &points[count])) {
            stride *= 0.5;
            halvings++;
            continue;
        }
        arcs[count] =
            arcs[count - 1] + gw_distance(points[count].through, points[count - 1].through);
        t = to;
        double back = gw_distance(points[count].through, start);
        if (count > 3 && back < 0.75 * STRIDE * l->size && halvings == 0) {
            *closed = true;
            arcs[count] +=
                gw_dot(gw_sub(start, points[count].through), gw_mat3_tmul(&l->a->turn, t));
            return count + 1;
        }
        count++;
    }
    return count;
}

/* The point of a traced line at this arc length. */
static bool point_at(const line *l, const line_point points[STRIDES], const double arcs[STRIDES],
                     int count, double arc, line_point *to)
{
    int i = 0;
    while (i + 1 < count && arcs[i + 1] <= arc)
        i++;
    gw_vec3 t = gw_mat3_mul(&l->a->turn, points[i].along);
    *to = points[i];
    double rest = arc - arcs[i];
    return rest < GW_CONVERGED * l->size || next_point(l, &points[i], rest, &t, to) ||
           (*to = points[i], true);
}

int gw_closure_contact_trace(const gw_closure_contact *k, const gw_pose *pose_a,
                             const gw_pose *pose_b, const gw_contact_point *near,
                             gw_contact_point points[GW_CONTACT_SUPPORTS], bool *closed)
{
    line_point ahead[STRIDES], behind[STRIDES];
    double arc_ahead[STRIDES], arc_behind[STRIDES], e[2];
    gw_body_frame a = {.turn = gw_quat_to_mat3(pose_a->q), .p = pose_a->p};
    gw_body_frame b = {.turn = gw_quat_to_mat3(pose_b->q), .p = pose_b->p};
    gw_closure_contact exchanged;
    line l = {.contact = k, .a = &a, .b = &b, .size = gw_contact_size(k)};
    gw_normal_system s;
    line_point seed = *near;
    seed.exchanged = false;
    *closed = false;
    if (!gw_contact_may_be_line(k) || !gw_normal_system_at(k, &a, &b, near, &s))
        return 0;
    gw_most_alike(&s, e);
    if (s.a.count == 2 && bends_more(&s, e)) {
        bool faces = gw_dot(s.a.n, s.n) > 0;
        exchanged = exchanged_contact(k, faces);
        l = (line){.contact = &exchanged, .a = &b, .b = &a, .size = l.size};
        exchange_point(&seed);
        seed.exchanged = true;
        seed.faces_in = faces;
        if (!gw_normal_system_at(l.contact, l.a, l.b, &seed, &s))
            return 0;
        gw_most_alike(&s, e);
    }
    gw_vec3 t = line_direction(&s);
    for (int i = 0; i < 2; i++) { /* the line's direction is that at its own point */
        set_section(&l, &s, t, &seed);
        if (!follow_section(l.contact, l.a, l.b, GW_DESCEND, &seed, &s))
            return 0;
        t = line_direction(&s);
    }
    if (!is_line(&l, &s, t))
        return 0;
    l.most = gw_dot(s.n, s.d) + RISES * l.size;
    set_section(&l, &s, t, &seed);
    ahead[0] = behind[0] = seed;
    int more = 1, count = trace(&l, t, ahead, arc_ahead, closed);
    arc_behind[0] = 0;
    if (!*closed) {
        bool same;
        behind[0].along = gw_neg(behind[0].along);
        more = trace(&l, gw_neg(t), behind, arc_behind, &same);
    }
    double from = *closed ? 0 : -arc_behind[more - 1], to = arc_ahead[count - 1];
    int found = 0, spans = *closed ? GW_CONTACT_SUPPORTS : GW_CONTACT_SUPPORTS - 1;
    for (int i = 0; i < GW_CONTACT_SUPPORTS && to - from > STRIDE * l.size; i++) {
        double arc = from + (to - from) * i / spans;
        if (!(arc >= 0 ? point_at(&l, ahead, arc_ahead, count, arc, &points[found])
                       : point_at(&l, behind, arc_behind, more, -arc, &points[found])))
            continue;
        if (points[found].exchanged)
            exchange_point(&points[found]);
        found++;
    }
    return found;
}
