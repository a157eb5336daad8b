/*
 * Supporting points of surfaces that touch nearly along a line (line_contact.c). Inside of
 * rt/dynamics; RT safe.
 */
#ifndef GW_DYNAMICS_LINE_CONTACT_H
#define GW_DYNAMICS_LINE_CONTACT_H

#include "rt/dynamics/common_normal.h"

/* True for contacts that may have supporting points along a line: of free-form surfaces or curves
 * on surfaces. */
bool gw_contact_may_be_line(const gw_closure_contact *contact);

/* Gap, normal and point of a supporting point in its section; false where there is none. */
bool gw_line_contact_at(const gw_closure_contact *contact, const gw_body_frame *a,
                        const gw_body_frame *b, const gw_contact_point *point,
                        gw_contact_state *state);

/* Follows a supporting point; false, with point->known false, where it has ended. */
bool gw_line_contact_follow(const gw_closure_contact *contact, const gw_body_frame *a,
                            const gw_body_frame *b, gw_contact_point *point, double *gap);

/* Unit coordinates along a's tangents of the direction in which the surfaces bend most alike: of
 * the smaller eigenvalue of K. */
void gw_most_alike(const gw_normal_system *s, double e[2]);

/* Pins a contact point with this system to its section across the line. */
void gw_line_contact_pin(const gw_closure_contact *contact, const gw_body_frame *a,
                         const gw_body_frame *b, const gw_normal_system *s,
                         gw_contact_point *point);

#endif
