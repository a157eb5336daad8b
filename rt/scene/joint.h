/*
 * Joints and springs as a scene states them: relations with coordinates between two objects, links
 * of mechanisms or the world.
 *
 * Plain values without memory of their own; a part of the scene document (scene.h).
 */
#ifndef GW_SCENE_JOINT_H
#define GW_SCENE_JOINT_H

#include "rt/base/limits.h"
#include "rt/dynamics/link.h"
#include "rt/dynamics/mobilizer.h"

/* End of a joint or a spring: an object, a link ("mechanism.number"), or the fixed world
 * frame, called "world" where no object is. */
#define GW_WORLD_FRAME "world"

/* Room for "mechanism.link": the id, a dot, a number. */
#define GW_MAX_LINK_NAME (GW_MAX_ID + 12)

/* One side of a joint: a frame whose z is the axis, or the frame of a feature (a line: z along it;
 * a plane: z along its normal; a point: the object's axes). */
typedef struct gw_joint_end {
    char object[GW_MAX_LINK_NAME + 1];
    char feature[GW_MAX_ID + 1]; /* empty: `at` is the frame */
    gw_pose at;                  /* object_from_frame */
} gw_joint_end;

/* `a` is placed relative to `b`: M of the mobilizer is a's frame, F is b's. Coordinates in the
 * mobilizer's order (m, rad). */
typedef struct gw_scene_joint {
    char id[GW_MAX_ID + 1];
    bool gear;         /* couples two other joints: a, b and the coordinates are not used */
    gw_mobilizer type; /* all but GW_MOBILIZER_FREE, which stands in a gear */
    gw_joint_end a, b;
    double pitch;       /* m/rad, of a screw */
    bool has_position;  /* else the position follows from the objects' poses */
    double position[6]; /* initial */
    bool has_velocity;  /* else the velocity follows from the objects' velocities */
    double velocity[6];
    bool limited[6]; /* lower .. upper bound each coordinate */
    double lower[6], upper[6];
    double restitution;  /* at its limits, 0 to 1 */
    double damping[6];   /* N s/m, N m s/rad */
    double friction[6];  /* Coulomb's (N, N m) */
    double stiffness[6]; /* of its spring towards `rest` (N/m, N m/rad) */
    double rest[6];
    bool has_motor[6];
    gw_motor motor[6]; /* of a spherical joint together: the targets are a rotation vector */
    bool collide;      /* the two bodies may collide with each other */
    bool enabled;
    /* of a gear: position of joints[0] = ratio times that of joints[1] plus a constant; each the id
     * of a joint, or the name of a link for the joint that moves it */
    char joints[2][GW_MAX_LINK_NAME + 1];
    double ratio;
    int coordinates[2]; /* of each; -1: the only one, or the only turn */
} gw_scene_joint;

/* True where the joint has one motor, of its first coordinate. */
bool gw_scene_only_first_motor(const gw_scene_joint *joint);

/* The body that an end names; all -1: the world frame. */
typedef struct gw_body_ref {
    int object;
    int mechanism, link;
} gw_body_ref;

/* One side of a gear: joint `joint` of the scene, or, if -1, the joint of a link. */
typedef struct gw_geared {
    int joint;
    int mechanism, link;
    int coordinate;
} gw_geared;

/* A point in the frame of an object, a link or the world. */
typedef struct gw_spring_end {
    char object[GW_MAX_LINK_NAME + 1];
    gw_vec3 p;
} gw_spring_end;

/* A spring along the line between two points. */
typedef struct gw_scene_spring {
    char id[GW_MAX_ID + 1];
    gw_spring_end a, b;
    double stiffness; /* N/m */
    double damping;   /* N s/m */
    double length;    /* m, at rest */
    bool enabled;
} gw_scene_spring;

#endif
