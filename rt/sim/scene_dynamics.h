/*
 * The dynamics step of a scene: held objects, mechanisms, free bodies, and the contacts between
 * them.
 *
 * Part of a scenario: built with it on a server thread, then the loop's alone. A tick fills in the
 * systems of the tools (gw_scene_dynamics_world_system()), calls gw_scene_dynamics_step(), and
 * reads what came of it. Functions are RT safe unless they say otherwise.
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
    const int *objects;          /* held by each tool, or -1 */
    const int *systems;          /* or held by it at a body of that system, or -1 */
    const int *bodies;           /* which */
    const gw_begin *begins;      /* by object, then by link; NULL: all go on */
    int rate;                    /* steps a second */
    const gw_detector *detector; /* of the same solids, to share them; NULL: none */
    const gw_scene *before;      /* see gw_scenario_def */
} gw_scene_dynamics_def;

/* Not RT safe: takes all memory. NULL with an error. */
gw_scene_dynamics *gw_scene_dynamics_create(const gw_scene_dynamics_def *def, gw_error *error);
void gw_scene_dynamics_destroy(gw_scene_dynamics *dynamics); /* NULL is fine */

/* Everything where the scene says, moving as it says. */
void gw_scene_dynamics_reset(gw_scene_dynamics *dynamics);

/* Its bodies and joints get the hashes that they have in the next scenario. Hands let go of bodies
 * whose names they know no more. RT safe. */
void gw_scene_dynamics_rename(gw_scene_dynamics *dynamics, const gw_new_names *names);

/* Mechanisms and free bodies of the same name go on as they are in `old`; bodies go to new sets, as
 * geometry of `kinematics` has them now, within the limits. */
void gw_scene_dynamics_carry_over(gw_scene_dynamics *dynamics, const gw_scene_dynamics *old,
                                  gw_kinematics *kinematics, const gw_transition_limits *limits);

/* A new motor at a joint of the mechanism `mechanism` of the scene. */
void gw_scene_dynamics_motor(gw_scene_dynamics *dynamics, int mechanism, int joint,
                             const gw_motor *motor);

/* The model that tool `index` holds a body of; NULL where its object moves on its own. */
gw_model *gw_scene_dynamics_held_model(gw_scene_dynamics *dynamics, int index);

/* Whether tool `index` holds a system beside another tool: its wrench holds for a step. */
bool gw_scene_dynamics_is_second(const gw_scene_dynamics *dynamics, int index);

/* Tells kinematics where free objects and those of systems of bodies are, for what follows them. */
void gw_scene_dynamics_show_bodies(const gw_scene_dynamics *dynamics, gw_kinematics *kinematics);

/* The world system of tool `index`: the caller sets model (of an object; a system's is there),
 * hand, still before the step and reads the rest after it. */
gw_world_system *gw_scene_dynamics_world_system(gw_scene_dynamics *dynamics, int index);

/* A hand drags, pushes or lets go of the free object that the command names; nothing where there is
 * none. `dt` is the tick's. */
void gw_scene_dynamics_hand(gw_scene_dynamics *dynamics, const gw_command *command, double dt);

/* Nobody drags or pushes a body of the system that the tool holds any more. RT safe. */
void gw_scene_dynamics_end_drags(gw_scene_dynamics *dynamics, int tool);

/* Motion of geometry in this tick of `dt` seconds under free bodies that stand on it (`kinematics`;
 * NULL: none moves), and how far those go that an edit gave other sets: their sets are carried
 * along. What that brings counts as an edit's work. The object of one whose branch is gone, -1
 * where all have theirs.
 */
int gw_scene_dynamics_move_sets(gw_scene_dynamics *dynamics, gw_kinematics *kinematics, double dt);

/* Whether a tool holds a body of a system that is on its way onto what an edit asks of it. */
bool gw_scene_dynamics_travels(const gw_scene_dynamics *dynamics, int tool);

/* The next object that arrived on its set in this tick, or with its system on what relations ask
 * (one that is held, or the first; links after objects), -1: no more. Starts with *at 0. */
int gw_scene_dynamics_settled(const gw_scene_dynamics *dynamics, int *at);

/* An object that no model moves is there now (a follower, moved geometry); `dt` since it was given
 * last, 0: it does not move. */
void gw_scene_dynamics_place_kinematic(gw_scene_dynamics *dynamics, int object, const gw_pose *pose,
                                       double dt);

/* Whether anything may touch, or is kept to one side of something. */
bool gw_scene_dynamics_has_contacts(const gw_scene_dynamics *dynamics);

/* Stated features that unilateral constraints stand on are where `kinematics` has them now; `dt`
 * since they were given last, 0: they do not move. */
void gw_scene_dynamics_move_unilaterals(gw_scene_dynamics *dynamics,
                                        const gw_kinematics *kinematics, double dt);

/* Wrench of the unilateral constraints on a body. */
typedef struct gw_unilaterals_at {
    uint64_t touching; /* bit i: the object's unilateral constraint i pushes, or collided in the
                          last step (gw_scene_unilateral()) */
    double depth;      /* the deepest (m), 0: none is passed */
    gw_wrench wrench;  /* of those that push, about the point asked for, world axes */
} gw_unilaterals_at;

/* Those at an object, after the last step. */
gw_unilaterals_at gw_scene_dynamics_unilaterals(const gw_scene_dynamics *dynamics, int object,
                                                gw_vec3 point);

/* Snapshots tell wrenches of links from the next step on. */
void gw_scene_dynamics_report_links(gw_scene_dynamics *dynamics);

/* One step of everything. */
void gw_scene_dynamics_step(gw_scene_dynamics *dynamics, double dt);

/* Collision detection and local models, outside the tick; NULL where nothing touches and all runs
 * exactly. */
gw_detection *gw_scene_dynamics_detection(gw_scene_dynamics *dynamics);
/* A tick that moves something begins: takes what was detected and tells where bodies are, each in
 * its turn (detection.h). True where the tick is made without what it was to take. */
bool gw_scene_dynamics_exchange(gw_scene_dynamics *dynamics);

/* Mechanisms and free bodies now, springs of contacts; sums of what went and came (J). */
void gw_scene_dynamics_energy(const gw_scene_dynamics *dynamics, gw_energy *energy);

/* Joints, links, free bodies, contacts: into the snapshot. */
void gw_scene_dynamics_publish(const gw_scene_dynamics *dynamics, gw_snapshot *snapshot);
/* After the step: what joints bore in it. */
void gw_scene_dynamics_publish_step(const gw_scene_dynamics *dynamics, gw_snapshot *snapshot);

/* The directions that the local model of a tool's mechanism is to have (U^), from the next one on.
 */
void gw_scene_dynamics_set_resisted(gw_scene_dynamics *dynamics, int tool,
                                    const gw_resisted_def *def);
/* Those of its last local model; NULL: it runs exactly, they are to be found. */
const gw_resisted_directions *gw_scene_dynamics_resisted(const gw_scene_dynamics *dynamics,
                                                         int tool);

/* A body of the scene that begins with another velocity than it, or its joint, states, or with its
 * joint elsewhere, as its relations do not allow that; -1: all begin as stated. */
int gw_scene_dynamics_projected_body(const gw_scene_dynamics *dynamics);

/* Where something was found: the body of the scene, -1: not known; the constraint, -1: none. */
typedef struct gw_found_at {
    int object, constraint;
} gw_found_at;

/* What is rare and reported as an event. */
typedef struct gw_dynamics_findings {
    bool any;        /* one of what follows */
    bool jammed;     /* a contact began to jam */
    bool edge;       /* something is held by the edge of a surface, or the end of a curve */
    bool degenerate; /* two that touch bend alike there, or have lost their common normal */
    int crowded;     /* collisions that were put off, the first time in a second that some were */
    gw_found_at edge_at, degenerate_at;
    double energy_error; /* energy that a system could not account for (J); 0 below a millionth of
                            its kinetic energy, or 1e-18 J */
    double strained;     /* by how much a mechanism began to be beyond its local model's validity */
} gw_dynamics_findings;

/* Those of the last step. */
const gw_dynamics_findings *gw_scene_dynamics_findings(const gw_scene_dynamics *dynamics);

#endif
