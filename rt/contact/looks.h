/*
 * What looks at couples within a step share. RT safe.
 */
#ifndef GW_CONTACT_LOOKS_H
#define GW_CONTACT_LOOKS_H

#include "rt/contact/world_private.h"

#define GW_LOOK_JUST 1e-5 /* so much before they touch, a look tells what will (m) */

/* What its pieces may come nearer by in a second, as their bodies move there (m/s). */
double gw_look_speed(const gw_couple *p, const gw_place *a, const gw_place *b);

/* Looks at it with its bodies there; false where no more looks are to be had. */
bool gw_look_there(gw_world *w, gw_couple *p, const gw_place *a, const gw_place *b);

/* When the piece of both its bodies began, and ends (s into the step). */
double gw_look_from(const gw_world *w, const gw_couple *p);
double gw_look_until(const gw_world *w, const gw_couple *p);

/* What the last look found, which was of `from`, is followed from then on; true where it meets. */
bool gw_look_follow(gw_world *w, gw_couple *p, double from);

/* How far its pieces may have come nearer in the piece of both (m); 0: its end says it all. */
double gw_look_way(const gw_world *w, const gw_couple *p);

/* What was found as the piece ends tells of no meeting, but `way` may be: it may have met and
 * parted, or met elsewhere. True where it has: what meets is followed. */
bool gw_look_between(gw_world *w, gw_couple *p, double way);

#endif
