/*
 * A haptic tool: a held object or mechanism. It has the simulated model (the proxy), the workspace
 * map to its device, the control that couples both, and the operators that act on it. The
 * simulation has one per tool of the scene. On the loop's thread, RT safe.
 *
 * A tick calls gw_haptic_tool_sense() and gw_haptic_tool_pre_step(), steps all models, then calls
 * gw_haptic_tool_post_step() and gw_haptic_tool_actuate(); with substeps several times in a tick.
 */
#ifndef GW_SIM_HAPTIC_TOOL_H
#define GW_SIM_HAPTIC_TOOL_H

#include "rt/haptics/admittance.h"
#include "rt/haptics/desired_impedance.h"
#include "rt/haptics/impedance.h"
#include "rt/sim/motion_executor.h"
#include "rt/sim/scenario_private.h"
#include "rt/sim/scene_dynamics.h"

typedef struct gw_haptic_tool {
    const gw_scenario_tool *def;
    gw_guided body;   /* the held object; unused if `shared` is not NULL */
    gw_model *shared; /* the held mechanism or system of bodies, owned by the scene's dynamics;
                         NULL: a single object */
    gw_workspace_map map;
    gw_pid pid;                   /* admittance device */
    gw_virtual_coupling coupling; /* admittance device */
    gw_impedance_control control; /* impedance device */
    gw_desired_impedance desired;
    gw_pose desired_at; /* body_from_held to which the state of `desired` refers */
    int couplings;      /* virtual couplings at the model, of all tools that hold it */
    gw_transition transition;
    gw_drag drag;
    gw_motion_executor motion;
    gw_wrench push;
    double felt_mass,
        felt_inertia;   /* lower bounds of the mass and inertia that the hand moves (kg, kg m^2) */
    bool clutch_wanted; /* by command; or the device's button */
    bool clutched;
    gw_twist free_twist; /* of an admittance device's free motion, device space: while clutched, and
                            its rotation about a held point */
    bool lost;           /* the device was silent, or sent values that are not finite */
    bool coasts;         /* the device was released while the model was still: it is braked */
    bool step_failed;    /* the step was not finite */
    bool command_failed; /* the command was not finite: the device got none */
    bool was_limited;    /* in the last tick */

    /* of this tick, task space, world axes */
    gw_device_reading reading; /* device space */
    gw_pose pose; /* of the virtual tool: the held frame, displaced during a transition */
    gw_twist twist;
    gw_wrench wrench;          /* of the operator at the tool frame */
    gw_wrench direct_wrench;   /* of operators, that acts on the model, not at the device */
    gw_wrench wrench_on_model; /* that control exerts on the model */
    gw_impedance_out output;
    gw_unilaterals_at unilaterals; /* of the held object, after the last step; at the tool frame */
    gw_wrench constraint;          /* lambda at the tool frame */
    bool limited;                  /* a limit acted on wrench, speed or command */
    bool arrived;                  /* a transition ended in this tick */
    bool singular;                 /* near a singular point of its set */

    double unrendered;                /* gw_desired_unrendered(), to tell in this tick (J) */
    gw_pose start;                    /* of the body, before the step */
    double speed, spin;               /* of the model's held frame, before the step (m/s, rad/s) */
    double kinetic_before;            /* J */
    double impulse[GW_MODEL_MAX_DOF]; /* of contacts in the last step, generalised */
    bool had_impulse;
    bool control_active; /* control has begun this tick and has to end it */

    /* sums since tick 0 or the last switch of scenario (J) */
    double work, dissipated, motors, edits; /* motors: work of the desired mass */
    double damped, withheld; /* by the passivity controller (J), by the device's limits (N s) */
} gw_haptic_tool;

/* The present step, common to all tools. */
typedef struct gw_tick {
    uint64_t tick;
    double within; /* time in the tick (s), with substeps */
    double dt;     /* of this step (s) */
    int rate;      /* Hz */
    bool moving;   /* the model steps in this tick */
    bool paused;   /* it does not, but will continue from its state */
    bool engaged;  /* devices are engaged: they get commands */
} gw_tick;

/* ---- taking hold ---------------------------------------------------------------------------- */

/* Initialises the tool at the layout's pose with the scene's initial twist (a mechanism: at its
 * present state), places the device there and zeroes the sums. `shared`: the held mechanism or
 * system; NULL: a single object. */
void gw_haptic_tool_reset(gw_haptic_tool *tool, const gw_scenario_tool *def, gw_model *shared,
                          double dt);

/* The same as tick 0 begins, keeping drags, pushes, guided motion and clutch. */
void gw_haptic_tool_restart(gw_haptic_tool *tool, double dt);

/* True where the initial velocity of a held single object is not the one stated in the scene, as
 * its set does not allow that. */
bool gw_haptic_tool_is_projected(const gw_haptic_tool *tool);

/* Initialises the tool of a new scenario by a bumpless transition from `old`, the tool that held
 * the same object or mechanism (NULL: none). Sums begin at zero. */
void gw_haptic_tool_switch(gw_haptic_tool *tool, const gw_haptic_tool *old,
                           const gw_scenario_tool *def, gw_model *shared,
                           const gw_scenario *scenario);

/* The virtual tool (`pose`, `twist`) from the model: its held frame, displaced while a transition
 * lasts. */
void gw_haptic_tool_update_pose(gw_haptic_tool *tool);

/* ---- a tick --------------------------------------------------------------------------------- */

/* True if a virtual coupling connects the tool with its device. */
bool gw_haptic_tool_is_coupled(const gw_haptic_tool *tool);

/* Operators, device read, wrench on the model. `dynamics` and `index` (of the tool) are used where
 * control needs the resisted directions. */
void gw_haptic_tool_sense(gw_haptic_tool *tool, const gw_tick *tick,
                          const gw_scene_dynamics *dynamics, int index);

/* Springs and dampers of two tools at one model that are too stiff for explicit stages act in one
 * implicit step, and a desired mass of one feels the other's wrench. Between sense and pre-step. */
void gw_haptic_tool_hold_together(gw_haptic_tool *tool, gw_haptic_tool *other);

/* Moves the tool's set with its geometry in this tick of `dt` seconds (`kinematics`; NULL: none
 * moves): the body is carried along (moving_submanifold.h), and the energy counts under edits.
 * False where its branch no longer exists. Between sense and pre-step. */
bool gw_haptic_tool_move_set(gw_haptic_tool *tool, gw_kinematics *kinematics, double dt);

void gw_haptic_tool_pre_step(gw_haptic_tool *tool, const gw_tick *tick, gw_world_system *system);
void gw_haptic_tool_post_step(gw_haptic_tool *tool, const gw_tick *tick,
                              const gw_world_system *system);

/* Reverts the step of `dt` seconds, except for the motion of the set itself, as followers could not
 * follow it. */
void gw_haptic_tool_undo_step(gw_haptic_tool *tool, double dt);

/* Commands the device, through the last gate (rt/haptics/limits.h). */
void gw_haptic_tool_actuate(gw_haptic_tool *tool, const gw_tick *tick);

/* Stops the tool (halt); its kinetic energy counts as dissipated. */
void gw_haptic_tool_stop(gw_haptic_tool *tool);

/* ---- what it tells -------------------------------------------------------------------------- */

/* Pose of the held object or link as displayed, with a transition's displacement. */
gw_pose gw_haptic_tool_object_pose(const gw_haptic_tool *tool);

/* Effective mass and inertia at the held frame: those of a held object; of a mechanism lower bounds
 * over all directions. */
gw_mass gw_haptic_tool_mass(const gw_haptic_tool *tool);

/* Energy of the held object (J); 0 for a mechanism, which the scene's dynamics counts. */
void gw_haptic_tool_energy(const gw_haptic_tool *tool, double *kinetic, double *potential);

/* Into the snapshot: the state before the step, between sense and pre-step; and what the step adds,
 * after gw_haptic_tool_actuate(). */
void gw_haptic_tool_publish_state(const gw_haptic_tool *tool, gw_tool_state *state);
void gw_haptic_tool_publish_step(const gw_haptic_tool *tool, gw_tool_state *state);

#endif
