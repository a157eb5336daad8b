/*
 * Where two curved surfaces touch, or a curve and a surface, and how that moves: the common normal
 * of free-form surfaces, ellipsoids and other curved surfaces, followed along its branch. Inside of
 * rt/dynamics, and for assembly; RT safe.
 */
#ifndef GW_DYNAMICS_SURFACE_CONTACT_H
#define GW_DYNAMICS_SURFACE_CONTACT_H

#include "rt/dynamics/system_private.h"

/* Where two surfaces touch, and how that moves. */
typedef struct gw_contact_state {
    double gap;                 /* m, along n */
    gw_vec3 c, c_dot, n, n_dot; /* on b's surface; its normal, towards a */
    gw_vec3 axis, axis_dot;     /* of a cylinder that lies on a plane */
    double curvature;           /* least relative curvature (1/m); 0 where it is not known */
    bool conforms; /* they have one curvature in a direction: they touch along a line */
    bool beyond;   /* past the edge of a surface or the end of a curve */
} gw_contact_state;

/* True where the contact is one of these, or of two curves (curve_contact.h), and no closed form
 * serves. */
bool gw_surface_contact_is_general(const gw_closure_contact *contact);

/* Said of surfaces that conform. */
#define GW_SURFACES_CONFORM                                                                        \
    "the surfaces conform: where they touch they bend alike in one direction at least, so that "   \
    "they touch along a line, or everywhere, and not in a point"

/*
 * The contact with the bodies in these frames, followed from `place`, which moves along; searched
 * for over the whole of both where the place is not known, or nothing is found from there. False
 * where there is no common normal; the state is then that of the closest points that were found.
 */
bool gw_surface_contact_at(const gw_closure_contact *contact, const gw_body_frame *a,
                           const gw_body_frame *b, gw_contact_place *place,
                           gw_contact_state *state);

/* gw_system_degenerate_closure() of one contact without a closed form. */
bool gw_contact_is_degenerate(const gw_closure_contact *contact);

/* Gap, normal and point alone, on the branch near `place`; where that has ended of the tangent
 * plane there. */
void gw_surface_contact_near(const gw_closure_contact *contact, const gw_body_frame *a,
                             const gw_body_frame *b, const gw_contact_place *place,
                             gw_contact_state *state);

/* How far a parameter is past an edge, or the end of a curve: in metres, outward counted with the
 * parameter's sign; and the gradients of that by both bodies' twists. */
typedef struct gw_edge {
    double past, per_parameter, size; /* m; m per unit of the parameter; m, of the shape */
    int side, direction;              /* of the shape on a (0) or b (1) */
    double within[2]; /* m that the parameter is above the low end, below the high */
    gw_wrench on_a, on_b;
} gw_edge;

#define GW_MAX_EDGES 4 /* of a closure: two directions of two surfaces */

/* Fills all but the gradients where x, of direction k, is past an end, or, for `all`, where there
 * are ends; else false. */
bool gw_edge_at(const gw_nurbs *shape, int side, int k, double x, bool all, gw_edge *edge);

/* The edges that a contact is past, or `all`, with the bodies in these frames. */
int gw_surface_contact_edges(const gw_closure_contact *contact, const gw_body_frame *a,
                             const gw_body_frame *b, bool all, gw_edge *edges);

#endif
