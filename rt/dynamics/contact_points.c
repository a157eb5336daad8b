/*
 * Contact points of unilateral contacts of curved surfaces, the local minima of their distance:
 * search, tracking, and evaluation within a step. Equations: surface_contact.c. RT safe.
 *
 * A rim that lies nearly flat on a surface has no distinct lowest point: over a plane the relative
 * curvature K is sin(tilt) / r, so that the point moves around it by a radian when the rim rotates
 * by the tilt. Its contact points are therefore fixed to the rim: supporting points, evenly
 * distributed, and its lowest points at the step's start (`pinned`), with an error of K (r turn)^2
 * / 2 at the step's end. With x the point on the rim and x_b the closest one of b,
 *
 *   gap = n . (x - x_b),    H y_b = (x - x_b) . b
 *
 * Where contacts over the edges of a sheet are rows of their own, the distance from the sheet with
 * its edges is that of the sheet within them and that of an edge where it opens
 * (gw_edge_opening()); elsewhere the gaps are larger by the contact's size, so that one of both is
 * closed.
 */
#include <assert.h>
#include <math.h>
#include <string.h>

#include "rt/dynamics/common_normal.h"
#include "rt/dynamics/line_contact.h"
#include "rt/dynamics/surface_contact.h"
#include "rt/geometry/nurbs_motion.h"
#include "rt/geometry/nurbs_nearest.h"

#define ALIKE 1e-6 /* of a ball's radius: a surface whose radius differs by less conforms */

/* Closest points are a minimum of the distance where both H and K are positive definite; with a
 * penetration above this share of the size the bodies are on the wrong sides of each other. */
#define DEEPEST     0.5
#define SAME        1e-3 /* of the size: contact points nearer than this are the same */
#define FLAT        0.9  /* cosine: a rim whose axis is nearer to the normal lies nearly flat */
#define NEARLY_FLAT 0.05 /* of the inverse radius: points with less curvature are pinned */
#define NARROW                                                                                     \
    0.5 /* of the inverse size: less relative curvature, and the surfaces come near                \
           one another beside the contact point */
#define LEVEL                                                                                      \
    0.04 /* of the inverse size: less relative curvature, and the contact is nearly along a line   \
          */
#define AT_EDGE      1e-9 /* of the size: a point this near to an edge is at it */
#define BESIDE       0.1  /* of the size: contact points so little past an edge are followed */
#define NEAR_EDGE    0.1  /* n . t of an edge below which the sheet's is followed as well */
#define RIM_SUPPORTS GW_CONTACT_SUPPORTS
#define RIM_STARTS   6   /* starts around a rim whose lowest point was lost, */
#define RIM_TURN     2.4 /* rad, from each to the next */

static bool is_positive(const double m[2][2], int count)
{
    return count == 0 || (m[0][0] > 0 && (count == 1 || m[0][0] * m[1][1] - m[0][1] * m[1][0] > 0));
}

static gw_body_frame frame_at(const gw_pose *world_from_body)
{
    return (gw_body_frame){.turn = gw_quat_to_mat3(world_from_body->q), .p = world_from_body->p};
}

static bool is_point(const gw_normal_system *s, double size, double *gap)
{
    *gap = gw_dot(s->n, s->d);
    return !s->a.beyond && !s->b.beyond && is_positive(s->h, 2) && is_positive(s->k, s->a.count) &&
           *gap > -DEEPEST * size;
}

/* Keeps the relative curvature at a contact point; one nearly along a line is pinned to its
 * section. */
static void note_curvature(const gw_closure_contact *k, const gw_body_frame *a,
                           const gw_body_frame *b, const gw_normal_system *s,
                           gw_contact_point *point)
{
    point->now.curvature = point->known ? gw_least_relative_curvature(s) : 0;
    if (point->known && gw_contact_may_be_line(k) &&
        point->now.curvature * gw_contact_size(k) < LEVEL)
        gw_line_contact_pin(k, a, b, s, point);
}

/* ---- edges of sheets ------------------------------------------------------------------------- */

/* The value of parameter k of a sheet at its lower or its upper end. */
static double end_of(const gw_nurbs *sheet, int k, bool upper)
{
    return upper ? sheet->direction[k].high : sheet->direction[k].low;
}

/* The unit vector into the sheet from one of its ends of parameter k, across the other parameter's
 * direction (of a corner along k), in the body's frame; 0 where the derivative vanishes. */
static gw_vec3 into_sheet(const gw_surface *edge, const double at[2], int k, bool upper)
{
    gw_nurbs_point x;
    gw_nurbs_evaluate(edge->sheet, at, 1, NULL, &x);
    gw_vec3 inward = k ? x.d[0][1] : x.d[1][0], along = k ? x.d[1][0] : x.d[0][1];
    double length = gw_norm2(along);
    if (edge->kind == GW_SURFACE_CURVE && length > 0)
        inward = gw_mul_add(inward, -gw_dot(inward, along) / length, along);
    length = gw_norm(inward);
    inward = gw_scale(length > 0 ? (upper ? -1 : 1) / length : 0, inward);
    return gw_rotate(edge->turn, inward);
}

double gw_corner_opening(const gw_surface *corner, int k, const gw_body_frame *frame, gw_vec3 n)
{
    const double at[2] = {end_of(corner->sheet, 0, corner->end & 1),
                          end_of(corner->sheet, 1, corner->end >> 1)};
    assert(corner->kind == GW_SURFACE_CORNER);
    return gw_dot(gw_mat3_tmul(&frame->turn, n), into_sheet(corner, at, k, corner->end >> k & 1));
}

double gw_edge_opening(const gw_surface *edge, const double *z, const gw_body_frame *frame,
                       gw_vec3 n)
{
    if (edge->kind == GW_SURFACE_CORNER)
        return fmin(gw_corner_opening(edge, 0, frame, n), gw_corner_opening(edge, 1, frame, n));
    int k = edge->end / 2;
    bool upper = edge->end % 2;
    double at[2] = {z[0], z[0]};
    at[k] = end_of(edge->sheet, k, upper);
    return gw_dot(gw_mat3_tmul(&frame->turn, n), into_sheet(edge, at, k, upper));
}

/* The distance (m) by which a contact point is past edges of its surfaces, at most. */
static double way_past_edges(const gw_closure_contact *k, const gw_contact_point *point)
{
    double most = 0;
    for (int side = 0; side < 2; side++) {
        const gw_nurbs *shape = (side ? &k->on_b : &k->on_a)->nurbs;
        gw_edge edge;
        for (int i = 0; shape && i < shape->dimension; i++)
            if (gw_edge_at(shape, side, i, (side ? point->b : point->a)[i], false, &edge))
                most = fmax(most, fabs(edge.past));
    }
    return most;
}

/* is_place(), or one that is a little past an edge, which has a contact of its own. */
static bool is_point_or_beside(const gw_closure_contact *k, const gw_contact_point *point,
                               gw_normal_system *s, double *gap)
{
    bool beside = k->edged && (s->a.beyond || s->b.beyond) &&
                  way_past_edges(k, point) < BESIDE * gw_contact_size(k);
    if (beside)
        s->a.beyond = s->b.beyond = false;
    return is_point(s, gw_contact_size(k), gap);
}

/* True where a contact is open since its contact point is past an edge, or the sheet is nearer than
 * the edge. */
static bool is_elsewhere(const gw_closure_contact *k, const gw_body_frame *a,
                         const gw_contact_point *point, bool beyond, gw_vec3 n)
{
    if (k->on_a.sheet && gw_edge_opening(&k->on_a, point->a, a, n) < -GW_EDGE_OPENS)
        return true;
    return k->edged && beyond;
}

/* The sheet's contact point from that of its edge (`exchanged`: the sheet is on b). */
static gw_contact_point point_from_edge(const gw_closure_contact *edge, bool exchanged,
                                        const gw_contact_point *at)
{
    gw_contact_point point = {.known = true};
    int k = edge->on_a.end / 2;
    double *on_sheet = exchanged ? point.b : point.a;
    memcpy(exchanged ? point.a : point.b, at->b, sizeof point.a);
    on_sheet[1 - k] = at->a[0];
    on_sheet[k] = end_of(edge->on_a.sheet, k, edge->on_a.end % 2);
    return point;
}

static bool is_same_surface(const gw_surface *x, const gw_surface *y)
{
    return x->kind == y->kind && x->nurbs == y->nurbs && x->radius == y->radius &&
           gw_distance(x->point, y->point) == 0;
}

/* The parameter of an edge at a corner of its sheet; false: the corner is not on the edge. */
static bool corner_on_edge(const gw_surface *edge, const gw_surface *corner, double *at)
{
    int k = edge->end / 2;
    *at = end_of(edge->sheet, 1 - k, corner->end >> (1 - k) & 1);
    return edge->sheet == corner->sheet && (corner->end >> k & 1) == edge->end % 2;
}

/* Between an edge and a corner of the same sheet. */
static bool point_at_corner(const gw_closure_contact *from, const gw_closure_contact *to,
                            gw_contact_point *point)
{
    bool leaves = from->on_a.kind == GW_SURFACE_CORNER;
    double at;
    const gw_surface *edge = leaves ? &to->on_a : &from->on_a;
    if (!corner_on_edge(edge, leaves ? &from->on_a : &to->on_a, &at))
        return false;
    double per = edge->nurbs->size /
                 fabs(edge->nurbs->direction[0].high - edge->nurbs->direction[0].low); /* about */
    if (!leaves && fabs(from->point.a[0] - at) * per > AT_EDGE * edge->nurbs->size)
        return false;
    *point = (gw_contact_point){.known = true, .a = {leaves ? at : 0, 0, 0}};
    memcpy(point->b, from->point.b, sizeof point->b);
    return true;
}

/* True if a contact point on a sheet is at the lower or upper end of parameter k. */
static bool is_at_end(const gw_nurbs *sheet, const double *on_sheet, int k, bool upper)
{
    gw_edge edge;
    return gw_edge_at(sheet, 0, k, on_sheet[k], true, &edge) &&
           edge.within[upper] < AT_EDGE * edge.size;
}

/* From a sheet (on b if `exchanged`) to its edge or corner. */
static bool point_on_end(const gw_closure_contact *from, const gw_surface *end, bool exchanged,
                         gw_contact_point *point)
{
    const double *on_sheet = exchanged ? from->point.b : from->point.a;
    bool corner = end->kind == GW_SURFACE_CORNER;
    int k = corner ? 0 : end->end / 2;
    *point = (gw_contact_point){.known = true, .a = {corner ? 0 : on_sheet[1 - k], 0, 0}};
    memcpy(point->b, exchanged ? from->point.a : from->point.b, sizeof point->b);
    return is_at_end(end->sheet, on_sheet, k, end->end & 1) &&
           (!corner || is_at_end(end->sheet, on_sheet, 1, end->end >> 1));
}

bool gw_contact_point_across(const gw_closure_contact *from, const gw_closure_contact *to,
                             bool exchanged, gw_contact_point *point)
{
    bool corners[2] = {from->on_a.kind == GW_SURFACE_CORNER, to->on_a.kind == GW_SURFACE_CORNER};
    if (from->on_a.sheet && to->on_a.sheet)
        return corners[0] != corners[1] && !exchanged && is_same_surface(&from->on_b, &to->on_b) &&
               point_at_corner(from, to, point);
    const gw_closure_contact *edge = to->on_a.sheet ? to : from;
    const gw_closure_contact *whole = to->on_a.sheet ? from : to;
    const gw_surface *sheet = exchanged ? &whole->on_b : &whole->on_a;
    const gw_surface *other = exchanged ? &whole->on_a : &whole->on_b;
    if (corners[0] || !edge->on_a.sheet || sheet->nurbs != edge->on_a.sheet ||
        !is_same_surface(other, &edge->on_b))
        return false;
    if (edge == to)
        return point_on_end(from, &to->on_a, exchanged, point);
    const gw_nurbs_direction *along = &sheet->nurbs->direction[1 - edge->on_a.end / 2];
    *point = point_from_edge(edge, exchanged, &from->point);
    return along->closed || (from->point.a[0] >= along->low && from->point.a[0] <= along->high);
}

bool gw_closure_contact_from_edge(const gw_closure_contact *k, const gw_pose *a, const gw_pose *b,
                                  const gw_closure_contact *edge, bool exchanged,
                                  gw_contact_point *point, double *gap)
{
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    const gw_body_frame *frame = exchanged ? &frame_b : &frame_a;
    const gw_body_frame *other = exchanged ? &frame_a : &frame_b;
    gw_vec3 n = gw_patch_at(&edge->on_b, edge->point.b, other).n;
    assert(edge->on_a.sheet && edge->point.known);
    if (edge->on_a.kind == GW_SURFACE_CORNER ||
        gw_edge_opening(&edge->on_a, edge->point.a, frame, edge->inside ? gw_neg(n) : n) >
            NEAR_EDGE)
        return false;
    *point = point_from_edge(edge, exchanged, &edge->point);
    return gw_closure_contact_follow(k, a, b, point, gap);
}

static bool may_lie_flat(const gw_closure_contact *k)
{
    return k->on_a.kind == GW_SURFACE_RIM && k->on_b.kind != GW_SURFACE_PLANE;
}

bool gw_closure_contact_has_points(const gw_closure_contact *k)
{
    return gw_surface_contact_is_general(k);
}

int gw_closure_contact_points(const gw_closure_contact *k)
{
    bool one = !k->on_a.nurbs && !k->on_b.nurbs && !k->inside && !may_lie_flat(k);
    if (k->on_a.sheet)
        return !k->on_a.nurbs || k->on_a.nurbs->direction[0].count == 2 ? 1 : 2;
    return !gw_surface_contact_is_general(k) || one ? 1 : GW_CONTACT_POINTS;
}

/*
 * The point of b closest to x, with the gap of a sphere of that `radius` about x: with d = x - x_b,
 * H y_b = d . b, which needs no tangents of a. False where Newton's method does not converge
 * nearby, or past an edge.
 */
static bool closest_near(const gw_closure_contact *k, const gw_body_frame *b, gw_vec3 x,
                         double radius, double z[3], gw_contact_state *state)
{
    double size = gw_contact_size(k);
    gw_branch_length length = {.steps = 0};
    bool last = false;
    for (int i = 0; i <= GW_NEWTON_STEPS; i++) {
        gw_patch p = gw_patch_at(&k->on_b, z, b);
        gw_vec3 d = gw_sub(x, p.p), n = k->inside ? gw_neg(p.n) : p.n;
        if (last) {
            *state = (gw_contact_state){
                .gap = gw_dot(n, d) - radius, .c = gw_mul_add(x, -radius, n), .n = n};
            return !p.beyond;
        }
        double h[2][2], inverse[2][2], y[2], right[2] = {gw_dot(d, p.t[0]), gw_dot(d, p.t[1])};
        for (int j = 0; j < 2; j++)
            for (int l = 0; l < 2; l++)
                h[j][l] = (j == l) - gw_dot(d, p.second[j + l]);
        if (!is_positive((const double(*)[2])h, 2) || !gw_invert2((const double(*)[2])h, inverse))
            return false;
        for (int j = 0; j < 2; j++)
            y[j] = inverse[j][0] * right[0] + inverse[j][1] * right[1];
        double far = hypot(y[0], y[1]);
        if (!isfinite(far) || !gw_branch_length_add(&length, far, size))
            return false;
        last = far < GW_CONVERGED * size;
        gw_patch_move(&k->on_b, &p, y, z);
    }
    return false;
}

/* A point fixed to a rim that lies nearly flat. */
static bool pin_rim_point(const gw_closure_contact *k, const gw_body_frame *a,
                          const gw_body_frame *b, gw_contact_point *point, double *gap)
{
    gw_contact_state x = {.gap = 0};
    gw_vec3 axis = gw_mat3_mul(&a->turn, k->on_a.axis), at = gw_patch_at(&k->on_a, point->a, a).p;
    point->pinned = true;
    point->known = closest_near(k, b, at, 0, point->b, &x) && fabs(gw_dot(axis, x.n)) > FLAT &&
                   x.gap > -DEEPEST * gw_contact_size(k);
    *gap = x.gap;
    return point->known;
}

/* The contact point of a rim that lies nearly flat, whose lowest point was found or not: pinned if
 * the relative curvature is small. False if the rim does not lie flat. */
static bool lowest_of_flat(const gw_closure_contact *k, const gw_body_frame *a,
                           const gw_body_frame *b, const gw_contact_point *was, gw_normal_system *s,
                           gw_contact_point *point, double *gap)
{
    double size = gw_contact_size(k), r = k->on_a.radius;
    gw_contact_point at = *was;
    at.pinned = false;
    if (!point->known && gw_common_normal_follow(k, a, b, GW_DESCEND, &at, s) &&
        is_point(s, size, gap)) {
        *point = at;
        point->known = true;
    }
    if (point->known && !(s->k[0][0] * r < NEARLY_FLAT))
        return true;
    at = point->known ? *point : *was;
    if (!pin_rim_point(k, a, b, &at, gap))
        return false;
    *point = at;
    if (gw_normal_system_at(k, a, b, point, s) && fabs(gw_dot(s->a.t[0], s->n)) > NEARLY_FLAT)
        point->known = false;
    return true;
}

bool gw_closure_contact_lowest(const gw_closure_contact *k, const gw_pose *a, const gw_pose *b,
                               double turn, const gw_contact_point *near, gw_contact_point *point,
                               double *gap)
{
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    *point = *near;
    if (!may_lie_flat(k)) {
        gw_normal_system s;
        point->pinned = point->exchanged = false;
        point->known = gw_common_normal_follow(k, &frame_a, &frame_b, GW_DESCEND, point, &s) &&
                       is_point(&s, gw_contact_size(k), gap);
        note_curvature(k, &frame_a, &frame_b, &s, point);
        return point->known;
    }
    point->a[0] += turn;
    point->known = pin_rim_point(k, &frame_a, &frame_b, point, gap) &&
                   gw_closure_contact_follow(k, a, b, point, gap);
    return point->known;
}

int gw_closure_contact_supports(const gw_closure_contact *k)
{
    return may_lie_flat(k) || gw_contact_may_be_line(k) ? GW_CONTACT_SUPPORTS : 0;
}

bool gw_closure_contact_support(const gw_closure_contact *k, const gw_pose *a, const gw_pose *b,
                                int i, gw_contact_point *point, double *gap)
{
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    assert(i >= 0 && i < gw_closure_contact_supports(k));
    if (!may_lie_flat(k))
        return point->known && gw_line_contact_follow(k, &frame_a, &frame_b, point, gap);
    if (!point->known) {
        *point = (gw_contact_point){.a = {2 * GW_PI * i / RIM_SUPPORTS, 0, 0}};
        gw_surface_point_near(&k->on_b,
                              gw_into_body(&frame_b, gw_patch_at(&k->on_a, point->a, &frame_a).p),
                              point->b);
    }
    return pin_rim_point(k, &frame_a, &frame_b, point, gap);
}

/* The contact point of a surface near the point x of its body's frame; on a free-form surface by
 * local descent from z, which is cheap however far the bodies moved. */
static void follow_near(const gw_surface *s, gw_vec3 x, double z[3])
{
    gw_nurbs_point at;
    if (!s->nurbs) {
        gw_surface_point_near(s, x, z);
        return;
    }
    gw_nurbs_follow(s->nurbs, gw_unrotate(s->turn, gw_sub(x, s->point)), z, NULL, &at);
    gw_move_off_apices(s->nurbs, z);
}

bool gw_closure_contact_follow(const gw_closure_contact *k, const gw_pose *a, const gw_pose *b,
                               gw_contact_point *point, double *gap)
{
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    const gw_contact_point was = *point;
    double size = gw_contact_size(k), there;
    gw_normal_system s;
    assert(point->known);
    point->pinned = point->exchanged = false;
    point->known = gw_common_normal_follow(k, &frame_a, &frame_b, GW_ON_BRANCH, point, &s) &&
                   is_point_or_beside(k, point, &s, gap);
    if (may_lie_flat(k) && lowest_of_flat(k, &frame_a, &frame_b, &was, &s, point, gap))
        return point->known;
    /* otherwise, as over a kink, from the closest points to the former contact point; of a rim from
     * several points, as its lowest point moves around when the rim passes a flat pose */
    int starts = point->known ? 0 : k->on_a.kind == GW_SURFACE_RIM ? RIM_STARTS : 1;
    for (int i = 0; i < starts && !(i == 1 && point->known); i++) {
        gw_contact_point at = was;
        at.a[0] += i > 0 ? i * RIM_TURN : 0;
        follow_near(&k->on_b, gw_into_body(&frame_b, gw_patch_at(&k->on_a, at.a, &frame_a).p),
                    at.b);
        if (i == 0)
            follow_near(&k->on_a, gw_into_body(&frame_a, gw_patch_at(&k->on_b, at.b, &frame_b).p),
                        at.a);
        if (gw_common_normal_follow(k, &frame_a, &frame_b,
                                    gw_surface_is_curve(&k->on_a) ? GW_DESCEND : GW_ON_BRANCH, &at,
                                    &s) &&
            is_point(&s, size, &there) && !(point->known && there >= *gap))
            *point = at, *gap = there;
    }
    note_curvature(k, &frame_a, &frame_b, &s, point);
    return point->known;
}

bool gw_closure_contact_is_narrow(const gw_closure_contact *k, const gw_contact_point *point)
{
    return !may_lie_flat(k) && point->now.curvature * gw_contact_size(k) < NARROW;
}

/* The centre of a surface (world). */
static gw_vec3 centre_of(const gw_surface *s, const gw_body_frame *frame)
{
    gw_vec3 centre = {0, 0, 0};
    if (s->nurbs)
        centre = gw_scale(0.5, gw_add(s->nurbs->bounds.low, s->nurbs->bounds.high));
    centre = gw_add(s->point, gw_rotate(s->turn, centre));
    return gw_add(frame->p, gw_mat3_mul(&frame->turn, centre));
}

/* Sets the point of a that belongs to that of b in a start: towards it from a's centre. */
static void start_on_a(const gw_closure_contact *k, const gw_body_frame *a, const gw_body_frame *b,
                       gw_contact_point *at)
{
    gw_patch below = gw_patch_at(&k->on_b, at->b, b);
    gw_vec3 down = gw_scale(k->inside ? 1 : -1, below.n);
    if (k->on_a.kind == GW_SURFACE_SPHERE)
        gw_surface_point_near(&k->on_a, gw_add(k->on_a.point, gw_into_body(a, gw_add(a->p, down))),
                              at->a);
    else
        gw_surface_point_near(&k->on_a, gw_into_body(a, below.p), at->a);
}

/* The start of a search: below a's centre, or at a sample; false: no such sample. */
static bool start_of(const gw_closure_contact *k, const gw_body_frame *a, const gw_body_frame *b,
                     int trial, gw_contact_point *at)
{
    bool ball = k->on_a.kind == GW_SURFACE_SPHERE;
    *at = (gw_contact_point){.known = true};
    if (trial > 0 && !ball) {
        if (!gw_surface_sample(&k->on_a, trial - 1, at->a))
            return false;
        gw_surface_point_near(&k->on_b, gw_into_body(b, gw_patch_at(&k->on_a, at->a, a).p), at->b);
        return true;
    }
    if (trial == 0)
        gw_surface_point_near(&k->on_b, gw_into_body(b, centre_of(&k->on_a, a)), at->b);
    else if (!gw_surface_sample(&k->on_b, trial - 1, at->b))
        return false;
    start_on_a(k, a, b, at);
    return true;
}

bool gw_closure_contact_below(const gw_closure_contact *k, const gw_pose *a, const gw_pose *b,
                              gw_contact_point *point)
{
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    return !gw_surface_is_curve(&k->on_a) && start_of(k, &frame_a, &frame_b, 0, point);
}

void gw_closure_contact_pin(const gw_closure_contact *k, const gw_contact_point *support,
                            gw_contact_point *point)
{
    point->pinned = true;
    point->exchanged = support->exchanged;
    point->faces_in = support->faces_in;
    point->along = support->along;
    point->through = gw_raw_patch_at(support->exchanged ? &k->on_b : &k->on_a,
                                     support->exchanged ? point->b : point->a)
                         .p;
}

#define UNDER_NEAR 0.01 /* m: farther surfaces are left to the complete search */

bool gw_closure_contact_find_under(const gw_closure_contact *k, const gw_pose *a, const gw_pose *b,
                                   gw_contact_point *under, gw_contact_point *point, double *gap)
{
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    gw_vec3 middle = gw_add(a->p, gw_mat3_mul(&frame_a.turn, k->on_a.point));
    double size = gw_contact_size(k);
    gw_contact_state x;
    gw_normal_system s;
    if (!under->known)
        gw_surface_point_near(&k->on_b, gw_into_body(&frame_b, middle), under->b);
    under->known = closest_near(k, &frame_b, middle, 0, under->b, &x);
    if (!under->known)
        return false;
    *point = *under;
    gw_surface_point_near(&k->on_a, gw_into_body(&frame_a, x.c), point->a);
    gw_vec3 d = gw_sub(gw_patch_at(&k->on_a, point->a, &frame_a).p, x.c);
    if (!(fabs(gw_dot(d, x.n)) < UNDER_NEAR))
        return false;
    point->known = gw_common_normal_follow(k, &frame_a, &frame_b, GW_DESCEND, point, &s) &&
                   is_point(&s, size, gap);
    return point->known;
}

/* At an edge of a surface, or an end of a curve, or past it. */
static bool is_at_edge(const gw_surface *s, const double *z)
{
    const gw_nurbs *shape = s->nurbs;
    for (int i = 0; shape && i < shape->dimension; i++) {
        const gw_nurbs_direction *d = &shape->direction[i];
        double least = GW_CONVERGED * (d->high - d->low);
        bool curve = shape->dimension == 1;
        if (!d->closed && (((curve || shape->edge[2 * i]) && z[i] <= d->low + least) ||
                           ((curve || shape->edge[2 * i + 1]) && z[i] >= d->high - least)))
            return true;
    }
    return gw_raw_patch_at(s, z).beyond;
}

#define OVER_EDGE 1e-3 /* of the size: depth at which a body overlaps an edge */

/* True if a overlaps the point of an edge of b that is closest to its centre. */
static bool overlaps_edge(const gw_closure_contact *k, const gw_body_frame *a,
                          const gw_body_frame *b, const gw_contact_point *at)
{
    double size = gw_contact_size(k);
    if (k->on_a.kind == GW_SURFACE_FREE_FORM && k->edged && !is_at_edge(&k->on_a, at->a)) {
        gw_patch near = gw_patch_at(&k->on_a, at->a, a);
        gw_vec3 d = gw_sub(near.p, gw_patch_at(&k->on_b, at->b, b).p);
        double depth = gw_dot(k->faces_away ? gw_neg(near.n) : near.n, d);
        return depth > OVER_EDGE * size && depth < DEEPEST * size;
    }
    gw_vec3 centre = gw_add(a->p, gw_mat3_mul(&a->turn, k->on_a.point));
    return k->on_a.kind == GW_SURFACE_SPHERE && k->on_b.kind == GW_SURFACE_FREE_FORM &&
           gw_distance(centre, gw_patch_at(&k->on_b, at->b, b).p) <
               (1 - OVER_EDGE) * k->on_a.radius;
}

/* Distance of the two points of a contact point (m), negative on penetration; at an edge only if a
 * ball overlaps it. */
static double signed_gap(const gw_closure_contact *k, const gw_body_frame *a,
                         const gw_body_frame *b, const gw_contact_point *at)
{
    gw_vec3 d = gw_sub(gw_patch_at(&k->on_a, at->a, a).p, gw_patch_at(&k->on_b, at->b, b).p);
    gw_vec3 n = gw_patch_at(&k->on_b, at->b, b).n;
    double height = gw_dot(d, k->inside ? gw_neg(n) : n);
    bool past = height < 0 && height > -DEEPEST * gw_contact_size(k);
    bool at_edge = is_at_edge(&k->on_a, at->a) || is_at_edge(&k->on_b, at->b);
    past = at_edge ? overlaps_edge(k, a, b, at) : past;
    return past ? -gw_norm(d) : gw_norm(d);
}

bool gw_closure_contact_conforms(const gw_closure_contact *k, const gw_pose *a, const gw_pose *b,
                                 const gw_contact_point *point)
{
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    gw_contact_point at = *point;
    gw_normal_system s;
    if (!at.known && !start_of(k, &frame_a, &frame_b, 0, &at))
        return false;
    if (is_at_edge(&k->on_a, at.a) || is_at_edge(&k->on_b, at.b))
        return false;
    /* a ball conforms only to a surface of its own radius */
    if (k->on_a.kind == GW_SURFACE_SPHERE && k->on_b.kind == GW_SURFACE_FREE_FORM) {
        double side = k->inside ? -1 : 1, r = k->on_a.radius;
        return fabs(1 - r / fabs(gw_nurbs_focal_distance(k->on_b.nurbs, at.b, side))) < ALIKE;
    }
    return gw_normal_system_at(k, &frame_a, &frame_b, &at, &s) &&
           fabs(gw_least_relative_curvature(&s)) < GW_CONFORMING / gw_contact_size(k);
}

/* Descends from a start; true where that leads to a contact point. */
static bool descend(const gw_closure_contact *k, const gw_body_frame *a, const gw_body_frame *b,
                    gw_contact_point *point, double *gap)
{
    gw_normal_system s;
    point->known = gw_common_normal_follow(k, a, b, GW_DESCEND, point, &s) &&
                   is_point(&s, gw_contact_size(k), gap);
    note_curvature(k, a, b, &s, point);
    return point->known;
}

/* Radius of a ball about a surface's centre that contains it. */
static double radius_of(const gw_surface *s)
{
    if (s->nurbs)
        return 0.5 * gw_distance(s->nurbs->bounds.low, s->nurbs->bounds.high);
    if (s->kind == GW_SURFACE_ELLIPSOID)
        return fmax(s->semi_axes.x, fmax(s->semi_axes.y, s->semi_axes.z));
    if (s->kind == GW_SURFACE_PLANE)
        return HUGE_VAL;
    return s->kind == GW_SURFACE_CYLINDER ? hypot(s->radius, s->half_length) : s->radius;
}

/* The displacement of a surface's points relative to the other body (m), at most. */
static double way_of(const gw_surface *s, const gw_pose *then, const gw_pose *now)
{
    const gw_body_frame home = {.turn = gw_quat_to_mat3(gw_quat_identity())};
    gw_vec3 centre = centre_of(s, &home);
    double turn = gw_norm(gw_quat_log(gw_quat_mul(now->q, gw_quat_conj(then->q))));
    return gw_distance(gw_pose_point(then, centre), gw_pose_point(now, centre)) +
           turn * radius_of(s);
}

double gw_closure_contact_moved(const gw_closure_contact *k, const gw_pose *then,
                                const gw_pose *now)
{
    bool ball = k->on_b.kind == GW_SURFACE_SPHERE; /* whose turn moves nothing */
    if (!ball && radius_of(&k->on_a) < radius_of(&k->on_b))
        return way_of(&k->on_a, then, now);
    gw_pose back_then = gw_pose_inverse(then), back_now = gw_pose_inverse(now);
    if (ball)
        back_now.q = back_then.q = gw_quat_identity();
    return way_of(&k->on_b, &back_then, &back_now);
}

/* Of an edge and a surface b that is smaller: contact points from the points of the edge near b's
 * centre.
 */
static int find_near_edge(const gw_closure_contact *k, const gw_body_frame *a,
                          const gw_body_frame *b, double reach,
                          gw_contact_point points[GW_CONTACT_MINIMA],
                          double gaps[GW_CONTACT_MINIMA])
{
    const gw_surface *edge = &k->on_a;
    gw_nurbs_nearest minima[GW_CONTACT_MINIMA];
    int found = 0, cells = GW_NURBS_TICK_CELLS;
    double radius = radius_of(&k->on_b);
    if (edge->kind == GW_SURFACE_CORNER) {
        gw_contact_point at = {.known = true};
        gw_surface_point_near(&k->on_b, gw_into_body(b, gw_patch_at(edge, at.a, a).p), at.b);
        points[0] = at;
        return descend(k, a, b, &points[0], &gaps[0]);
    }
    if (radius > radius_of(edge))
        return -1;
    gw_vec3 centre = gw_sub(gw_into_body(a, centre_of(&k->on_b, b)), edge->point);
    int count = gw_nurbs_minima(edge->nurbs, gw_unrotate(edge->turn, centre), radius + reach,
                                &cells, GW_CONTACT_MINIMA, minima);
    for (int i = 0; i < count; i++) {
        gw_contact_point at = {.known = true, .a = {minima[i].parameter[0], 0, 0}};
        gw_surface_point_near(&k->on_b, gw_into_body(b, gw_patch_at(edge, at.a, a).p), at.b);
        bool known = !descend(k, a, b, &at, &gaps[found]);
        for (int j = 0; j < found; j++)
            known = known || gw_closure_contact_same(k, &points[j], &at);
        if (!known)
            points[found++] = at;
    }
    return found;
}

int gw_closure_contact_find_near(const gw_closure_contact *k, const gw_pose *a, const gw_pose *b,
                                 double reach, gw_contact_point points[GW_CONTACT_MINIMA],
                                 double gaps[GW_CONTACT_MINIMA])
{
    const gw_surface *on_b = &k->on_b;
    gw_nurbs_nearest minima[GW_CONTACT_MINIMA];
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    int found = 0, cells = GW_NURBS_TICK_CELLS;
    if (k->on_a.sheet)
        return find_near_edge(k, &frame_a, &frame_b, reach, points, gaps);
    if (on_b->kind != GW_SURFACE_FREE_FORM || k->on_a.kind == GW_SURFACE_RIM ||
        k->on_a.kind == GW_SURFACE_CURVE)
        return -1;
    gw_vec3 centre = gw_sub(gw_into_body(&frame_b, centre_of(&k->on_a, &frame_a)), on_b->point);
    int count = gw_nurbs_minima(on_b->nurbs, gw_unrotate(on_b->turn, centre),
                                radius_of(&k->on_a) + reach, &cells, GW_CONTACT_MINIMA, minima);
    for (int i = 0; i < count; i++) {
        gw_contact_point at = {.known = true};
        at.b[0] = minima[i].parameter[0], at.b[1] = minima[i].parameter[1];
        start_on_a(k, &frame_a, &frame_b, &at);
        bool known = !descend(k, &frame_a, &frame_b, &at, &gaps[found]);
        for (int j = 0; j < found; j++)
            known = known || gw_closure_contact_same(k, &points[j], &at);
        if (!known)
            points[found++] = at;
    }
    return found;
}

bool gw_closure_contact_find(const gw_closure_contact *k, const gw_pose *a, const gw_pose *b,
                             int trial, gw_contact_point *point, double *gap)
{
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    double found;
    assert(trial >= 0 && trial < GW_CONTACT_TRIALS);
    point->known = start_of(k, &frame_a, &frame_b, trial, point);
    *gap = point->known ? signed_gap(k, &frame_a, &frame_b, point) : HUGE_VAL;
    if (!point->known)
        return false;
    const gw_contact_point start = *point;
    if (descend(k, &frame_a, &frame_b, point, &found)) {
        *gap = found;
        return true;
    }
    *point = start;
    point->known = false;
    return false;
}

bool gw_closure_contact_find_beside(const gw_closure_contact *k, const gw_pose *a, const gw_pose *b,
                                    const gw_contact_point *near, int i, gw_contact_point *point,
                                    double *gap)
{
    static const double far[GW_CONTACT_BESIDE / 2] = {0.25, 0.5, 1}; /* of the size */
    assert(near->known && i >= 0 && i < GW_CONTACT_BESIDE);
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    double size = gw_contact_size(k), e[2], on_a[2], on_b[2];
    gw_normal_system s;
    *point = *near;
    point->pinned = point->exchanged = false;
    gw_normal_system_at(k, &frame_a, &frame_b, near, &s);
    gw_most_alike(&s, e);
    for (int j = 0; j < 2; j++)
        on_a[j] = (i % 2 ? -1 : 1) * far[i / 2] * size * e[j];
    for (int j = 0; j < 2; j++)
        on_b[j] = s.c[j][0] * on_a[0] + s.c[j][1] * on_a[1];
    gw_patch_move(&k->on_a, &s.a, on_a, point->a);
    gw_patch_move(&k->on_b, &s.b, on_b, point->b);
    point->known = gw_common_normal_follow(k, &frame_a, &frame_b, GW_DESCEND, point, &s) &&
                   is_point(&s, size, gap);
    note_curvature(k, &frame_a, &frame_b, &s, point);
    return point->known;
}

double gw_closure_contact_distance(const gw_closure_contact *k, const gw_contact_point *x,
                                   const gw_contact_point *y)
{
    return gw_distance(gw_raw_patch_at(&k->on_b, x->b).p, gw_raw_patch_at(&k->on_b, y->b).p);
}

bool gw_closure_contact_faces_away(const gw_closure_contact *k, const gw_pose *a, const gw_pose *b)
{
    gw_body_frame frame_a = frame_at(a), frame_b = frame_at(b);
    gw_contact_point point;
    double gap;
    bool found = gw_closure_contact_find(k, a, b, 0, &point, &gap);
    if (!found && !start_of(k, &frame_a, &frame_b, 0, &point))
        return false;
    gw_vec3 n = gw_patch_at(&k->on_b, point.b, &frame_b).n;
    return gw_dot(gw_patch_at(&k->on_a, point.a, &frame_a).n, k->inside ? gw_neg(n) : n) > 0;
}

bool gw_closure_contact_at_edge(const gw_closure_contact *k, const gw_contact_point *point)
{
    return is_at_edge(&k->on_a, point->a) || is_at_edge(&k->on_b, point->b);
}

/* Compares the points on b; those on a then agree as well. */
bool gw_closure_contact_same(const gw_closure_contact *k, const gw_contact_point *x,
                             const gw_contact_point *y)
{
    return gw_closure_contact_distance(k, x, y) < SAME * gw_contact_size(k);
}

void gw_surface_contact_near(const gw_closure_contact *k, const gw_body_frame *a,
                             const gw_body_frame *b, const gw_contact_point *point,
                             gw_contact_state *x)
{
    gw_contact_point at = *point;
    gw_normal_system s = {.n = {0, 0, 1}};
    double size = gw_contact_size(k), gap;
    bool ball = k->on_a.kind == GW_SURFACE_SPHERE && k->on_b.kind == GW_SURFACE_FREE_FORM;
    if (point->pinned && !may_lie_flat(k)) {
        if (gw_line_contact_at(k, a, b, point, x))
            return;
        gw_normal_system_at(k, a, b, point, &s);
        *x = (gw_contact_state){.gap = gw_dot(s.n, s.d), .c = s.a.p, .n = s.n};
        return;
    }
    gw_vec3 centre = point->pinned ? gw_patch_at(&k->on_a, point->a, a).p
                                   : gw_add(a->p, gw_mat3_mul(&a->turn, k->on_a.point));
    if ((ball || point->pinned) && closest_near(k, b, centre, ball ? k->on_a.radius : 0, at.b, x))
        return;
    at = *point;
    bool found = !point->pinned && gw_common_normal_follow(k, a, b, GW_ON_BRANCH, &at, &s);
    bool runs = gw_surface_is_curve(&k->on_a) ||
                (gw_contact_may_be_line(k) && point->now.curvature * size < NARROW);
    if (!found && runs && !point->pinned) {
        at = *point;
        found = gw_common_normal_follow(k, a, b, GW_DESCEND, &at, &s) && is_point(&s, size, &gap);
    }
    if (!found)
        gw_normal_system_at(k, a, b, point, &s);
    bool beyond = s.a.beyond || s.b.beyond;
    bool elsewhere = is_elsewhere(k, a, found ? &at : point, beyond, s.n);
    if (found && beyond && !elsewhere)
        gw_normal_system_at(k, a, b, point, &s);
    *x = (gw_contact_state){.gap = gw_dot(s.n, s.d), .c = s.a.p, .n = s.n};
    x->gap += elsewhere ? size : 0;
}
