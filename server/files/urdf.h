/*
 * Mechanisms out of URDF: the robot description of ROS, an XML text.
 *
 * Taken over: the tree of joints (revolute, continuous, prismatic, planar, floating; fixed ones
 * join two links into one, whatever they say of axes or limits), their origins, axes, limits of
 * position, damping and friction, limits of effort and speed as those of a motor that gives nothing
 * yet; mimic as gears; masses, centres of mass and inertias; boxes, cylinders, spheres and capsules
 * as geometry, collision ones first; the name of the first visual mesh. Left out: colours,
 * transmissions, whatever else.
 *
 * Links that no joint moves are the ground. A description of which nothing moves is one body.
 * Entities and document types are refused. Any server thread; no state.
 */
#ifndef GW_SERVER_FILES_URDF_H
#define GW_SERVER_FILES_URDF_H

#include <stddef.h>

#include "rt/guideway.h"

#define URDF_NOTES 64     /* kept of those that a description gives rise to */
#define URDF_TIP   "/tip" /* where an error is that is not the description's */

typedef struct urdf_robot {
    bool one_body; /* an object, and no mechanism */
    gw_mechanism mechanism;
    gw_object object;
    int note_count; /* sentences about what was not taken as it is written */
    char notes[URDF_NOTES][200];
} urdf_robot;

/* Reads a description. `tip` (or NULL) names the link that is the mechanism's tip. Ids are the
 * robot's name; joints start at 0, or at their limit next to it, or where what they mimic has them.
 * False with an error that names element, attribute and line; else urdf_finish() ends it. */
bool urdf_read(const char *text, size_t length, const char *tip, urdf_robot *out, gw_error *error);
void urdf_finish(urdf_robot *robot);

#endif
