/*
 * Mechanisms out of URDF: the robot description of ROS, an XML text.
 *
 * Read: the tree of joints (revolute, continuous, prismatic, planar, floating; fixed joints merge
 * two links, and their axes and limits are ignored), their origins, axes, position limits, damping
 * and friction; limits of effort and velocity, as those of motors that exert nothing yet; mimic, as
 * gears; masses, centres of mass and inertias; boxes, cylinders, spheres and capsules as geometry,
 * those of collision elements first; the name of the first visual mesh. Ignored: colours,
 * transmissions and all other elements.
 *
 * Links that no joint moves are the ground. A description without a moving joint is one body.
 * Entities and document types are refused. Any server thread; no state.
 */
#ifndef GW_SERVER_FILES_URDF_H
#define GW_SERVER_FILES_URDF_H

#include <stddef.h>

#include "rt/guideway.h"

#define URDF_NOTES 64     /* most notes that are kept for one description */
#define URDF_TIP   "/tip" /* pointer of an error that concerns `tip`, not the description */

typedef struct urdf_robot {
    bool one_body; /* the result is an object, not a mechanism */
    gw_mechanism mechanism;
    gw_object object;
    int note_count; /* sentences about differences from the description */
    char notes[URDF_NOTES][200];
} urdf_robot;

/* Reads a description. `tip` (or NULL) names the link that is the mechanism's tip. The id is the
 * robot's name. Joints start at 0, or at the limit nearest to 0, or at the position given by the
 * joint that they mimic. False with an error that names element, attribute and line; else
 * urdf_finish() frees the result. */
bool urdf_read(const char *text, size_t length, const char *tip, urdf_robot *out, gw_error *error);
void urdf_finish(urdf_robot *robot);

/* Writes the notes as one line of printable ASCII, as many as have room, and the number of others;
 * "" where there are none. */
void urdf_notes(const urdf_robot *robot, char *out, size_t size);

#endif
