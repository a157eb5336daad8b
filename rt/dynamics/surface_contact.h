/*
 * Contact point of two curved surfaces, or of a curve and a surface, with its derivatives: the
 * common normal of free-form surfaces, ellipsoids and other curved surfaces, followed along its
 * branch. For rt/dynamics and assembly; RT safe.
 */
#ifndef GW_DYNAMICS_SURFACE_CONTACT_H
#define GW_DYNAMICS_SURFACE_CONTACT_H

#include "rt/dynamics/system_private.h"

/* The contact of two surfaces and its rates (world axes). */
typedef struct gw_contact_state {
    double gap;                 /* m, along n */
    gw_vec3 c, c_dot, n, n_dot; /* on a's surface; the normal of b's, towards a */
    gw_vec3 axis, axis_dot;     /* of a cylinder that lies on a plane */
    double curvature;           /* least relative curvature (1/m); 0 where it is not known */
    bool conforms;              /* their curvatures agree in a direction: they touch along a line */
    bool beyond;                /* past the edge of a surface or the end of a curve */
} gw_contact_state;

/* True where the contact has no closed form: a common normal as here, or two curves
 * (curve_contact.h). */
bool gw_surface_contact_is_general(const gw_closure_contact *contact);

/* Error text for surfaces that conform. */
#define GW_SURFACES_CONFORM                                                                        \
    "the surfaces conform: where they touch they bend alike in one direction at least, so that "   \
    "they touch along a line, or everywhere, and not in a point"

/*
 * The contact with the bodies in these frames, followed from `point`, which is updated; both
 * surfaces are searched where the contact point is not known or Newton's method fails from there.
 * False where there is no common normal; the state is then that of the closest points found.
 */
bool gw_surface_contact_at(const gw_closure_contact *contact, const gw_body_frame *a,
                           const gw_body_frame *b, gw_contact_point *point,
                           gw_contact_state *state);

/* Begins a substep: from here the contact point is followed. */
void gw_contact_point_begin(gw_contact_point *point);

/* Before bodies are placed elsewhere: there it is searched for where it cannot be followed. */
void gw_contact_point_release(gw_contact_point *point);

/* Of a contact point that is not found by following it: in a step, true, and the contact point is
 * that at the substep's start, until the next one begins. Elsewhere it is to be searched for. */
bool gw_contact_point_is_lost(gw_contact_point *point);

/* Carries over what outlasts a search from the contact point that it replaces. */
void gw_contact_point_replaces(gw_contact_point *point, const gw_contact_point *before);

/* The least relative curvatures (1/m) t s before and after the present pose, at the frames' twists
 * and to first order in the motion of the contact point; t is chosen for a short path. */
typedef struct gw_curvature_change {
    double t, before, after;
} gw_curvature_change;

#define GW_SHORT_WAY 1e-6 /* of the contact's size, */
#define GW_SLOW      1e-3 /* or that at so slow a speed (sizes per second) */

gw_curvature_change gw_surface_contact_change(const gw_closure_contact *contact,
                                              const gw_body_frame *a, const gw_body_frame *b);

/* Where a frame is after t s at its twist. */
gw_body_frame gw_frame_after(const gw_body_frame *frame, double t);

/* gw_system_degenerate_closure() of one contact without a closed form. */
bool gw_contact_is_degenerate(const gw_closure_contact *contact);

/* Gap, normal and point alone, on the branch near `point`; where that branch has ended, those of
 * the tangent plane at `point`. */
void gw_surface_contact_near(const gw_closure_contact *contact, const gw_body_frame *a,
                             const gw_body_frame *b, const gw_contact_point *point,
                             gw_contact_state *state);

/*
 * An edge of a sheet (gw_surface.sheet) touches a surface with the normal n where the sheet beside
 * it is not nearer: with t the unit vector into the sheet, across the edge,
 *
 *   n . t >= 0
 *
 * which is returned. n (world) is that of the other surface, towards the edge.
 */
/* The same of a corner and each parameter, t being along that edge; that of the corner is the less.
 */
double gw_corner_opening(const gw_surface *corner, int k, const gw_body_frame *frame, gw_vec3 n);

#define GW_EDGE_OPENS 1e-9 /* an n . t that is less by this counts as 0 */

double gw_edge_opening(const gw_surface *edge, const double *z, const gw_body_frame *frame,
                       gw_vec3 n);

/* The contact point at which the contact `to` of an edge of a sheet continues `from`, that of the
 * sheet, or the other way round (`exchanged`: the sheet is on b there). False if it does not: the
 * shapes are others, or `from` is not at that edge. */
bool gw_contact_point_across(const gw_closure_contact *from, const gw_closure_contact *to,
                             bool exchanged, gw_contact_point *point);

/* Distance of a parameter past an edge, or past the end of a curve (m; the sign is the parameter's:
 * positive past the upper end), with its gradients by both bodies' twists. */
typedef struct gw_edge {
    double past, per_parameter, size; /* m; m per unit of the parameter; m, of the shape */
    int side, direction;              /* of the shape on a (0) or b (1) */
    double within[2];                 /* distance (m) above the lower end, below the upper end */
    gw_wrench on_a, on_b;
} gw_edge;

#define GW_MAX_EDGES 4 /* of a closure: two directions of two surfaces */

/* Fills in all but the gradients where parameter x of direction k is past an end (with `all`: where
 * the direction has ends); else false. */
bool gw_edge_at(const gw_nurbs *shape, int side, int k, double x, bool all, gw_edge *edge);

/* The edges that a contact is past (with `all`: all its edges), with the bodies in these frames;
 * returns their number. */
int gw_surface_contact_edges(const gw_closure_contact *contact, const gw_body_frame *a,
                             const gw_body_frame *b, bool all, gw_edge *edges);

#endif
