/*
 * The structure of a scenario. Written when it is built, read by the loop's thread.
 */
#ifndef GW_SIM_SCENARIO_PRIVATE_H
#define GW_SIM_SCENARIO_PRIVATE_H

#include "rt/haptics/desired_impedance.h"
#include "rt/haptics/impedance.h"
#include "rt/haptics/transition.h"
#include "rt/haptics/workspace.h"
#include "rt/sim/scene_dynamics.h"
#include "rt/sim/kinematics.h"
#include "rt/sim/new_names.h"
#include "rt/sim/device_slot.h"
#include "rt/sim/rehearsal.h"
#include "rt/dynamics/guided.h"

#define GW_TRANSITION_ACCELERATION 10.0 /* m/s^2 in a transition's ramps */

typedef struct gw_scenario_tool {
    uint64_t name;       /* hash of the id of the held object or mechanism */
    int object;          /* index in the scene, -1 where a mechanism is held */
    int mechanism, link; /* index in the scene, or -1 */
    int system, body;    /* of the layout, or -1; body of the mechanism or the system */
    bool renders;        /* an impedance device: `rendering` is its control */
    gw_impedance_def rendering;
    gw_desired_def desired;
    gw_grasp grasp;
    gw_pose start;        /* of the device relative to the tool at tick 0 */
    gw_guided_def guided; /* set, mass, damping, tool frame */
    char branch[16];      /* id of the set */
    gw_pose pose;         /* world_from_object of the layout */
    gw_twist twist;       /* initial, of the object's origin */
    gw_device_slot *slot;
    bool latched; /* the device is latched: off until armed after it is lost or its command is not
                     finite */
    gw_workspace_map map;
    bool scale_stated; /* in the scene: applied to a running simulation as well */
    bool scale_fitted; /* computed from the extent of the set: applied with another set */
    double gain_p, gain_i, gain_d;
    gw_command_limits limits;                 /* of the scene, task space */
    int unilateral_count;                     /* of the object (gw_scene_unilateral()), */
    uint64_t unilaterals[GW_MAX_UNILATERALS]; /* hashes of their names */
} gw_scenario_tool;

struct gw_scenario {
    unsigned long long built;    /* revision from which it was built */
    unsigned long long revision; /* in effect */
    int rate;
    int substeps;          /* substeps of a tick; 1 unless a simulated device needs more */
    double dt;             /* of a tick */
    double rest_potential; /* of the movable objects that no tool holds (J) */
    bool go_to_layout;
    double transition_speed, transition_spin;
    int slot_count;
    gw_device_slot *slots[GW_MAX_DEVICES];
    bool latched;                /* one of the devices */
    gw_kinematics *kinematics;   /* owned */
    gw_scene_dynamics *dynamics; /* owned */
    gw_new_names new_names;      /* of entries renamed since the former scenario */
    int shape_count;
    gw_nurbs **shapes;       /* free-form shapes of sets and constraints, one reference each */
    gw_rehearsal *rehearsal; /* owned; NULL: its ticks are not rehearsed */
    int tool_count;
    gw_scenario_tool tools[GW_MAX_TOOLS];
};

/* Limits of the transition of a free object to a new set. RT safe. */
static inline gw_transition_limits gw_scenario_transition_limits(const gw_scenario *scenario)
{
    return (gw_transition_limits){.speed = scenario->transition_speed,
                                  .spin = scenario->transition_spin,
                                  .acceleration = GW_TRANSITION_ACCELERATION};
}

#endif
