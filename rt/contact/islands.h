/*
 * Groups of movers that may meet within a step. RT safe.
 */
#ifndef GW_CONTACT_ISLANDS_H
#define GW_CONTACT_ISLANDS_H

#include "rt/contact/world_private.h"

/* As a step begins: who moves, whose contacts they are, how many each mover has. */
void gw_islands_find(gw_world *w);

/* Makes the island whose root is mover m the one to be stepped; false where m is no root. */
bool gw_islands_take(gw_world *w, int m);

/* A touch more of the island that is stepped; NULL where there is no room. */
gw_touch *gw_islands_add(gw_world *w, const gw_couple *p, const gw_near *near);

#endif
