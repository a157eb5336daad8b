/*
 * Contact of two curves with a common tangent: its rows and their derivatives. Inside of
 * rt/dynamics, and for assembly; RT safe.
 */
#ifndef GW_DYNAMICS_CURVE_CONTACT_H
#define GW_DYNAMICS_CURVE_CONTACT_H

#include "rt/dynamics/surface_contact.h"

#define GW_CURVE_ROWS 3

/* The contact point and its rows: two distances across b's tangent (m) and the angle between the
 * tangents (rad), with gradients by the bodies' twists (world axes), rates and bias accelerations
 * (J-dot v). */
typedef struct gw_curve_contact {
    gw_vec3 c, c_dot; /* on b */
    gw_vec3 t, t_dot; /* b's unit tangent */
    gw_vec3 n;        /* across it, along the relative curvature: of the first row */
    double value[GW_CURVE_ROWS], rate[GW_CURVE_ROWS], bias[GW_CURVE_ROWS];
    gw_wrench on_a[GW_CURVE_ROWS], on_b[GW_CURVE_ROWS];
    bool conforms; /* their curvatures agree */
    bool beyond;   /* past the end of one */
} gw_curve_contact;

/* True if both sides are curves (free-form or rims). */
bool gw_contact_is_of_curves(const gw_closure_contact *contact);

/* The contact with the bodies in these frames, followed from `point`, which is updated; both curves
 * are searched where the contact point is not known or Newton's method fails from there. False
 * where no common tangent is found; the state is then that of the closest points.
 */
bool gw_curve_contact_at(const gw_closure_contact *contact, const gw_body_frame *a,
                         const gw_body_frame *b, gw_contact_point *point, gw_curve_contact *state);

/* As gw_surface_contact_change(), of the relative curvature along the first row's direction. */
gw_curvature_change gw_curve_contact_change(const gw_closure_contact *contact,
                                            const gw_body_frame *a, const gw_body_frame *b);

/* As gw_surface_contact_edges(). */
int gw_curve_contact_edges(const gw_closure_contact *contact, const gw_body_frame *a,
                           const gw_body_frame *b, bool all, gw_edge *edges);

#endif
