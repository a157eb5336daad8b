/*
 * A network from the inside: written when it is built, then by the loop's thread.
 */
#ifndef GW_SIM_NETWORK_DATA_H
#define GW_SIM_NETWORK_DATA_H

#include "rt/sim/kinematics.h"

#define GW_MAX_GEOMETRY_MOTIONS 64 /* values on their way; more at once finish one early */

/* Objects that are placed together: one, or those of a cluster that no tool holds. */
typedef struct gw_kinematic_group {
    gw_object_motion follow;
    gw_cluster cluster; /* its links belong to the network */
    gw_pose carrier_from_object;
    int carrier; /* GW_OBJECT_CARRIED */
    bool stale;  /* what it stands on has moved: solve it again */
} gw_kinematic_group;

/* A value on its way. */
typedef struct gw_geometry_motion {
    gw_moved_geometry from, to;
    bool smooth; /* from rest to rest; else at constant speed */
    int ticks, done;
    uint64_t since; /* tick of the newest value */
    bool arrived;
    bool went;      /* in this tick, */
    gw_pose motion; /* by this: of the element in its object, or of the object in the world */
} gw_geometry_motion;

struct gw_kinematics {
    int object_count, feature_count;
    gw_pose *poses, *rest; /* per object: shown, and as laid out */
    bool *moved;           /* per object: in this tick */
    bool *displaced;       /* per object: ever, since the layout */
    bool *fixed;           /* per object */
    uint64_t *names;       /* per object, then per stated feature: hashes, to find them again */
    gw_element *features, *laid_out; /* per stated feature: now, and as laid out */
    int link_count;
    gw_constraint_edge *links;
    int (*feature)[2]; /* per link: a's and b's stated feature, -1 */
    bool *dirty;       /* per link: its elements moved in this tick */
    int unit_count;
    gw_kinematic_group *units;         /* in the order of solving */
    const gw_constraint_edge **linked; /* the units' lists of links */
    gw_pose *saved;                    /* per object: before a tick's following */
    gw_cluster_work *work;
    int way_count;
    gw_geometry_motion ways[GW_MAX_GEOMETRY_MOTIONS];
};

/* The links of a feature take its element as it is now. */
void gw_kinematics_take_element(gw_kinematics *network, int feature);

/* Whether a unit stands on what moved in this tick; and all that do are solved, in the order of
 * solving, or are stale from now on. */
bool gw_kinematics_depends_on_moved(const gw_kinematics *network, const gw_kinematic_group *unit);
void gw_kinematics_solve_moved(gw_kinematics *network);

#endif
