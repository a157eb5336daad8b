/*
 * The dynamics step of a scene: held objects, mechanisms, free bodies, and the contacts between
 * them.
 *
 * Part of a scenario: built with it on a server thread, then used by the loop's thread alone. A
 * tick fills in the systems of the tools (gw_scene_dynamics_world_system()), calls
 * gw_scene_dynamics_step(), and reads the results. Functions are RT safe unless stated otherwise.
 */
#ifndef GW_SIM_SCENE_DYNAMICS_H
#define GW_SIM_SCENE_DYNAMICS_H

#include "rt/haptics/transition.h"
#include "rt/sim/detection.h"
#include "rt/sim/new_names.h"
#include "rt/sim/simulation.h"

typedef struct gw_scene_dynamics gw_scene_dynamics;

typedef struct gw_scene_dynamics_def {
    const gw_scene *scene;
    const gw_layout *layout;
    int tool_count;
    const int *objects;          /* per tool: the object that it holds, or -1 */
    const int *systems;          /* per tool: the system of the body that it holds, or -1 */
    const int *bodies;           /* per tool: that body */
    const gw_begin *begins;      /* per object, then per link; NULL: all GW_BEGIN_GO_ON */
    int rate;                    /* steps a second */
    const gw_detector *detector; /* with the same solids, which are shared; NULL: none */
    const gw_detector *reused;   /* with other solids (gw_detector_def.reused); NULL: none */
    const gw_scene *before;      /* see gw_scenario_def */
} gw_scene_dynamics_def;

/* Not RT safe: allocates all memory. NULL with an error. */
gw_scene_dynamics *gw_scene_dynamics_create(const gw_scene_dynamics_def *def, gw_error *error);
void gw_scene_dynamics_destroy(gw_scene_dynamics *dynamics); /* NULL is fine */

/* Resets everything to the scene's initial poses and velocities. */
void gw_scene_dynamics_reset(gw_scene_dynamics *dynamics);

/* Gives bodies and joints the name hashes of the next scenario; hands release bodies that do not
 * exist there. */
void gw_scene_dynamics_rename(gw_scene_dynamics *dynamics, const gw_new_names *names);

/* Mechanisms and free bodies take over the state of those with the same name in `old`; bodies move
 * to new sets, for the present geometry in `kinematics`, by transitions within the limits. */
void gw_scene_dynamics_carry_over(gw_scene_dynamics *dynamics, const gw_scene_dynamics *old,
                                  gw_kinematics *kinematics, const gw_transition_limits *limits);

/* Replaces the motor at a coordinate of a joint of the scene's mechanism `mechanism`, or, where
 * that is -1, of joint `joint` of the scene. */
void gw_scene_dynamics_motor(gw_scene_dynamics *dynamics, int mechanism, int joint, int coordinate,
                             const gw_motor *motor);

/* The system's model of which tool `index` holds a body; NULL: it holds a single object. */
gw_model *gw_scene_dynamics_held_model(gw_scene_dynamics *dynamics, int index);

/* True if both tools hold bodies of one model. */
bool gw_scene_dynamics_hold_one_model(const gw_scene_dynamics *dynamics, int tool, int other);

/* Passes the poses of free objects and of bodies of systems to kinematics, for their followers. */
void gw_scene_dynamics_show_bodies(const gw_scene_dynamics *dynamics, gw_kinematics *kinematics);

/* The world system of tool `index`: before the step the caller sets `hand`, `still` and, for a
 * single object, `model`; after it, it reads the results. */
gw_world_system *gw_scene_dynamics_world_system(gw_scene_dynamics *dynamics, int index);

/* Drags, pushes or releases the free object that the command names; no effect if there is none.
 * `dt`: of a tick (s). */
void gw_scene_dynamics_hand(gw_scene_dynamics *dynamics, const gw_command *command, double dt);

/* Ends all drags and pushes of bodies of the system that the tool holds. */
void gw_scene_dynamics_end_drags(gw_scene_dynamics *dynamics, int tool);

/* Moves the sets of free bodies in this tick of `dt` seconds, with their geometry (`kinematics`;
 * NULL: none moves) and by transitions to new sets. The work counts under edits. Returns an object
 * whose branch no longer exists, else -1. */
int gw_scene_dynamics_move_sets(gw_scene_dynamics *dynamics, gw_kinematics *kinematics, double dt);

/* True if a tool holds a body of a system that is in a transition to the constraints of an edit. */
bool gw_scene_dynamics_in_transition(const gw_scene_dynamics *dynamics, int tool);

/* Iterates over the objects that ended a transition in this tick, starting with *at = 0; -1: no
 * more. For a system: its held body, or the first (links after objects). */
int gw_scene_dynamics_settled(const gw_scene_dynamics *dynamics, int *at);

/* Sets the pose of an object without a model (a follower, moved geometry); `dt`: time since its
 * last pose (s), 0: it is at rest. */
void gw_scene_dynamics_place_kinematic(gw_scene_dynamics *dynamics, int object, const gw_pose *pose,
                                       double dt);

/* True if there are contacts or unilateral constraints. */
bool gw_scene_dynamics_has_contacts(const gw_scene_dynamics *dynamics);

/* Updates the stated features of unilateral constraints from `kinematics`; `dt`: time since the
 * last update (s), 0: they are at rest. */
void gw_scene_dynamics_move_unilaterals(gw_scene_dynamics *dynamics,
                                        const gw_kinematics *kinematics, double dt);

/* Wrench of the unilateral constraints on a body. */
typedef struct gw_unilaterals_at {
    uint64_t touching; /* bit i: the object's unilateral constraint i exerts a force, or collided in
                          the last step (gw_scene_unilateral()) */
    double depth;      /* largest penetration (m), 0: none */
    gw_wrench wrench;  /* sum, about the point given, world axes */
} gw_unilaterals_at;

/* The unilateral constraints of an object after the last step; wrench about `point` (world). */
gw_unilaterals_at gw_scene_dynamics_unilaterals(const gw_scene_dynamics *dynamics, int object,
                                                gw_vec3 point);

/* Requests wrenches of links in snapshots from the next step on. */
void gw_scene_dynamics_report_links(gw_scene_dynamics *dynamics);

/* One step of everything. */
void gw_scene_dynamics_step(gw_scene_dynamics *dynamics, double dt);

/* Asynchronous collision detection and local models; NULL if there are neither. */
gw_detection *gw_scene_dynamics_detection(gw_scene_dynamics *dynamics);
/* Begins a moving tick: takes over results of detection and publishes poses where they are due
 * (detection.h). True if results due in this tick are missing. */
bool gw_scene_dynamics_exchange(gw_scene_dynamics *dynamics);

/* Energies of mechanisms, free bodies and contact springs, and sums of works (J). */
void gw_scene_dynamics_energy(const gw_scene_dynamics *dynamics, gw_energy *energy);

/* Writes joints, links, free bodies and contacts into the snapshot. */
void gw_scene_dynamics_publish(const gw_scene_dynamics *dynamics, gw_snapshot *snapshot);
/* After the step: writes the joints' reaction wrenches. */
void gw_scene_dynamics_publish_step(const gw_scene_dynamics *dynamics, gw_snapshot *snapshot);

/* Sets the resisted directions U^ to be computed with the next local model of a tool's
 * mechanism. */
void gw_scene_dynamics_set_resisted(gw_scene_dynamics *dynamics, int tool,
                                    const gw_resisted_def *def);
/* U^ of its local model in use; NULL: exact model, the caller has to compute them. */
const gw_resisted_directions *gw_scene_dynamics_resisted(const gw_scene_dynamics *dynamics,
                                                         int tool);

/* A body of the scene whose initial velocity, or joint position, is not the one stated. */
gw_projection gw_scene_dynamics_projection(const gw_scene_dynamics *dynamics);

/* Location of a finding: body of the scene, -1: not known; constraint, -1: none. */
typedef struct gw_found_at {
    int object, constraint;
} gw_found_at;

/* Rare conditions, which are reported as events. */
typedef struct gw_dynamics_findings {
    bool any;        /* any of the following */
    bool jammed;     /* a contact became jammed */
    bool edge;       /* a body is held by the edge of a surface, or by the end of a curve */
    bool degenerate; /* the relative curvature of a contact vanishes, or its branch has ended */
    int crowded;     /* number of collisions deferred, at most once a second */
    bool failed;     /* the step of a model that no tool holds failed; it is at rest */
    gw_found_at edge_at, degenerate_at, failed_at;
    double energy_error; /* error of a system's energy balance (J); 0 if below a millionth of its
                            kinetic energy and what it exchanged in the step, or 1e-18 J */
    double strained;     /* strain of a mechanism that has just left its local model's range of
                            validity, else 0 */
} gw_dynamics_findings;

/* The findings of the last step. */
const gw_dynamics_findings *gw_scene_dynamics_findings(const gw_scene_dynamics *dynamics);

#endif
