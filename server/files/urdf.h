/*
 * Serial chains out of URDF: the robot description of ROS, an XML text.
 *
 * Taken over: joints (revolute, continuous, prismatic; fixed ones join two links into one), their
 * origins, axes, limits of position, damping and friction, limits of effort and speed as those of a
 * motor that gives nothing yet; masses, centres of mass and inertias; boxes,
 * cylinders, spheres and capsules as geometry, collision ones first; the name of the first visual
 * mesh. Left out: colours, transmissions, whatever else.
 *
 * What does not move with a joint is the ground. Entities and document types are refused. Any
 * server thread; no state.
 */
#ifndef GW_SERVER_FILES_URDF_H
#define GW_SERVER_FILES_URDF_H

#include <stddef.h>

#include "rt/guideway.h"

/* The chain from the root to link `tip` (NULL: to the end, which asks that no link has two joints
 * that move); what branches off with a joint of its own is left out. The mechanism's id is the
 * robot's name; joints start at 0, or at their limit next to it. Errors name element, attribute and
 * line. */
bool urdf_read(const char *text, size_t length, const char *tip, gw_mechanism *out,
               gw_error *error);

#endif
