/*
 * The walls in a tick of the tool: where they act on it while it is shown displaced, and the energy
 * that they hold and take. Parts of hold.c's sense and step. On the loop's thread, RT safe.
 */
#ifndef GW_SIM_CONTACT_H
#define GW_SIM_CONTACT_H

#include "rt/sim/hold.h"

/* As the tick begins: who is near, who touches, and the wrench that they give, into hold->contact.
 */
void gw_contact_look(gw_hold *hold, double dt);

/* The walls' wrench at the held frame of a model there. They act where the object is shown. */
gw_wrench gw_contact_at(const gw_hold *hold, gw_pose held, gw_twist twist);

/* What their springs hold (J). */
double gw_contact_energy(const gw_hold *hold);

/* Geometry moves in this tick (walls.h); `network`: NULL where none does. */
void gw_contact_move(gw_hold *hold, const gw_network *network, double dt);

/* Goes on with a travel, to which walls yield; true when it ends. */
bool gw_contact_travel(gw_hold *hold, double dt, double pace);

gw_contact_step gw_contact_open(const gw_hold *hold, double energy);

/* Corrects work and dissipation of the step of `dt` seconds. `went`: by limits since the step,
 * booked elsewhere (J). */
void gw_contact_close(gw_hold *hold, const gw_contact_step *open, const gw_step *step, double went,
                      double dt);

#endif
