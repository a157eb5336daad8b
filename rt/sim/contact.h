/*
 * The walls in a tick of the tool: where they act on it while it is shown displaced, and the energy
 * that they hold and take. Parts of hold.c's sense and step. On the loop's thread, RT safe.
 */
#ifndef GW_SIM_CONTACT_H
#define GW_SIM_CONTACT_H

#include "rt/sim/haptic_tool.h"

/* As the tick begins: who is near, who touches, and the wrench that they give, into hold->contact.
 */
void gw_tool_unilateral_look(gw_haptic_tool *hold, double dt);

/* The walls' wrench at the held frame of a model there. They act where the object is shown. */
gw_wrench gw_tool_unilateral_wrench(const gw_haptic_tool *hold, gw_pose held, gw_twist twist);

/* What their springs hold (J). */
double gw_tool_unilateral_energy(const gw_haptic_tool *hold);

/* Geometry moves in this tick (walls.h); `network`: NULL where none does. */
void gw_tool_unilateral_move(gw_haptic_tool *hold, const gw_kinematics *network, double dt);

/* Goes on with a travel, to which walls yield; true when it ends. */
bool gw_tool_unilateral_transition(gw_haptic_tool *hold, double dt, double pace);

gw_tool_unilateral_step gw_tool_unilateral_pre_step(const gw_haptic_tool *hold, double energy);

/* Corrects work and dissipation of the step of `dt` seconds. `went`: by limits since the step,
 * booked elsewhere (J). */
void gw_tool_unilateral_post_step(gw_haptic_tool *hold, const gw_tool_unilateral_step *open,
                                  const gw_step *step, double went, double dt);

#endif
